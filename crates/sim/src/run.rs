//! One run: sessions, cohorts, upkeep, faults and restarts in an order that the seed chooses.
//!
//! Outline of [`run`]: make the tables; then lives of the server, each ended by a power cut, a kill, a log
//! that failed or a clean stop, and followed by recovery, which may itself be cut, and maybe by another commit
//! protocol. After each the tables are settled with what clients received; at the end all answers are judged.
//!
//! A client gets an answer when what it rests on is durable, and then what it says must hold, whatever becomes of its
//! transaction.
//!
//! Under the journal, cohorts are laid out, written and finished step by step. Under a classic protocol a commit is
//! one step.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cohort_io::sync::Mutex;
use cohort_io::{Fault, SeededRandom};
use cohort_sql::error::{
    ER_DISK_FULL, ER_DUP_ENTRY, ER_ERROR_DURING_COMMIT, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, ER_QUERY_INTERRUPTED,
    ER_SERVER_SHUTDOWN, ER_TABLE_DEF_CHANGED, SqlError,
};
use cohort_sql::session::StandIn;
use cohort_sql::{Database, SessionState, Value};
use cohort_txn::{
    ClassicReport, CommitError, CommitProtocol, Committed, GtidMode, LaidOutCohort, Reply, StartReport, Store,
    WrittenCohort,
};

use crate::check::{self, Tables};
use crate::client::{Answer, Answered, Client, State, now_us};
use crate::history::{Fate, Record, Seen};
use crate::machine::{Machine, Settings};
use crate::rows::Rows;
use crate::workload::{Probe, Script, Shape, Step, elements, schema};

/// What a run did, for people and for comparing two runs of a seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Transactions whose commit was acknowledged.
    pub committed: u64,
    /// Transactions without an answer, of which a restart showed the fate.
    pub in_doubt: u64,
    /// Cohorts of more than one transaction.
    pub shared_cohorts: u64,
    pub restarts: u64,
    /// Recoveries that were cut short.
    pub cut_recoveries: u64,
    /// Restarts with another commit protocol than the one before.
    pub switches: u64,
    /// Runs that ended because binlog and engines differed, under a protocol that allows it, and recovery said so.
    pub divergences: u64,
    /// Answers that had to wait for what they rest on.
    pub withheld: u64,
    pub lock_waits: u64,
    /// Of these, ended because of a deadlock.
    pub deadlocks: u64,
    /// And by a timeout.
    pub timeouts: u64,
    /// Changes of the disk's content or names.
    pub disk_operations: u64,
    /// A hash of every choice and every answer.
    pub trace: u64,
}

/// A statement whose wait was ended is tried so often, then the transaction is rolled back.
const TRIES: u32 = 4;
/// Cohorts laid out or written at a time.
const COHORTS_MAX: usize = 2;

type Outcome = Arc<Mutex<Option<(u64, Result<Committed, CommitError>)>>>;

/// Where the outcome of a commit goes, with the time.
struct Slot {
    outcome: Outcome,
    clock: Arc<AtomicU64>,
}

impl Reply for Slot {
    fn send(self: Box<Self>, outcome: Result<Committed, CommitError>) {
        *self.outcome.lock() = Some((self.clock.load(Ordering::Relaxed), outcome));
    }
}

/// A connection and what it is doing.
struct Session {
    client: Client,
    running: Option<Running>,
}

struct Running {
    record: Record,
    begun: bool,
    tries: u32,
    outcome: Option<Outcome>,
    /// An answer that rests on what is not durable, and whether that is by now.
    withheld: Option<(Answer, Outcome)>,
}

/// A server between two starts.
struct Life {
    database: Arc<Database>,
    sessions: Vec<Session>,
    laid_out: Vec<LaidOutCohort>,
    written: Vec<WrittenCohort>,
    /// Commits only join the queue; see [`Store::hold_commits`].
    held: bool,
}

struct Run {
    random: SeededRandom,
    settings: Settings,
    /// Those that the server goes through.
    protocols: &'static [CommitProtocol],
    /// The one that was asked for last.
    protocol: CommitProtocol,
    sessions: u64,
    clock: Arc<AtomicU64>,
    next_id: u64,
    records: Vec<Record>,
    report: Report,
    trace: DefaultHasher,
    /// Every choice is printed.
    prints: bool,
}

/// What is printed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Printing {
    Nothing,
    /// Every choice and every answer.
    Everything,
}

/// Runs `seed` from beginning to end. An error is a violation of what the server promises.
pub fn run(seed: u64, printing: Printing) -> Result<Report> {
    let random = SeededRandom::new(seed);
    let (protocols, log_bin) = match random.below(20) {
        0..6 => (&[CommitProtocol::Journal][..], true),
        6..16 => (&CONSISTENT[..], true),
        // `tc.log` keeps the engines together then, or the journal.
        16..18 => (&CommitProtocol::ALL[..], false),
        _ => (&DIVERGING[..], true),
    };
    let (segment_bytes, binlog_bytes) = (4096 * (3 + random.below(12)), 600 + random.below(8000));
    let settings = Settings { segment_bytes, binlog_bytes, log_bin, gtid_mode: GtidMode::On };
    let protocol = protocols[random.below(protocols.len() as u64) as usize];
    let sessions = 1 + random.below(8);
    let mut machine = Machine::new(random.below(u64::MAX));
    let mut run = Run {
        random,
        settings,
        protocols,
        protocol,
        sessions,
        clock: Arc::default(),
        next_id: 1,
        records: Vec::new(),
        report: Report::default(),
        trace: DefaultHasher::new(),
        prints: printing == Printing::Everything,
    };
    run.note((protocol.to_string(), log_bin));
    let (mut database, _) = machine.open_under(settings, protocol)?;
    make_tables(&database)?;
    let lives = 1 + run.random.below(4);
    for _ in 0..lives {
        machine = run.live(&machine, database)?;
        run.note(machine.binlog_directory());
        let report;
        (machine, database, report) = run.recover(machine)?;
        match report {
            StartReport::Classic(report) if !report.divergences.is_empty() => {
                // It said so, which is all that is promised.
                ensure!(protocols == *DIVERGING, "a protocol with prepare diverged: {report}");
                run.report.divergences += 1;
                run.report.trace = run.trace.finish();
                return Ok(run.report);
            }
            _ => run.settle(&database, &machine)?,
        }
    }
    check::answers(&run.records, &Tables::read(&database)?)?;
    // What a stop leaves is what the next start finds, without anything to do again.
    database.store().close().map_err(anyhow::Error::msg).context("a clean stop")?;
    let machine = machine.after_power_cut();
    run.choose_start();
    let (database, report) = machine.open_under(run.settings, run.protocol).context("the start after a clean stop")?;
    ensure!(report.is_clean(), "a clean stop left something to do: {report}");
    run.settle(&database, &machine)?;
    run.report.trace = run.trace.finish();
    Ok(run.report)
}

/// Those that keep binlog and engines together, and the journal.
static CONSISTENT: LazyLock<Vec<CommitProtocol>> =
    LazyLock::new(|| those(|protocol| protocol.has_binlog() && !protocol.may_diverge()));
/// Those that a crash may leave with another binlog than engines.
static DIVERGING: LazyLock<Vec<CommitProtocol>> = LazyLock::new(|| those(CommitProtocol::may_diverge));

fn those(has: impl Fn(CommitProtocol) -> bool) -> Vec<CommitProtocol> {
    CommitProtocol::ALL.into_iter().filter(|protocol| has(*protocol)).collect()
}

fn make_tables(database: &Database) -> Result<()> {
    let mut state = SessionState::new();
    state.fixed_now_us = Some(1_700_000_000_000_000);
    for sql in schema() {
        let outcome = database.execute(&mut state, &StandIn, sql.as_bytes(), &mut Rows::default());
        if let Some(transaction) = outcome.with_context(|| sql.clone())?.commit {
            database.store().commit_and_wait(transaction)?;
        }
    }
    Ok(())
}

impl Run {
    fn chance(&self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn note(&mut self, what: impl Hash + std::fmt::Debug) {
        if self.prints {
            println!("{} {what:?}", self.now());
        }
        what.hash(&mut self.trace);
    }

    /// Runs sessions until the server is gone, or for as many turns as the seed says; gives the machine that
    /// the next start finds.
    fn live(&mut self, machine: &Machine, database: Arc<Database>) -> Result<Machine> {
        let mut life = Life::new(database, self.sessions);
        let turns = 50 + self.random.below(600);
        let faults_from = self.random.below(turns * 2);
        for turn in 0..turns {
            self.clock.fetch_add(1, Ordering::Relaxed);
            if turn == faults_from {
                self.set_fault(machine);
            }
            if self.chance(3) {
                // Backwards as well.
                machine.clock().set_us(self.random.below(2_000_000_000_000_000));
            }
            if !machine.disk().is_powered() || life.store().closed().is_some() {
                break;
            }
            self.turn(&mut life)?;
            self.collect(&mut life)?;
            for session in &mut life.sessions {
                session.client.wait_is_over();
            }
        }
        self.end(life, machine)
    }

    /// Starts the server again; every other time the start is cut short first.
    fn recover(&mut self, mut machine: Machine) -> Result<(Machine, Arc<Database>, StartReport)> {
        // What a cut recovery found to differ, the next one does not report again.
        while self.protocols != *DIVERGING && self.chance(40) {
            self.choose_start();
            let operation = self.random.below(60);
            machine.disk().set_fault(operation, Fault::PowerCut);
            // Whether it came up or not: the power goes.
            let outcome = machine.open_under(self.settings, self.protocol).err().map(|error| format!("{error:#}"));
            self.note(("recovery cut at operation", operation, outcome));
            self.report.cut_recoveries += u64::from(machine.disk().operations() > operation);
            machine = machine.after_power_cut();
            self.note(machine.binlog_directory());
        }
        self.choose_start();
        let opened = machine.open_under(self.settings, self.protocol);
        let (database, report) = opened.context("the server does not start again")?;
        // Without the times that it took.
        let found = match &report {
            StartReport::Journal(report) => format!("{} transactions kept", report.transactions_kept),
            StartReport::Classic(report) => {
                let ClassicReport { protocol, in_binlog, in_tc_log, divergences, .. } = report;
                format!("{protocol}: {in_binlog} in the binlog, {in_tc_log} in tc.log; {divergences:?}")
            }
        };
        self.note(("started", format!("{:?}", database.store().executed()), found));
        Ok((machine, database, report))
    }

    /// Which protocol and which mode the next start asks for.
    fn choose_start(&mut self) {
        let gtid_mode = if self.chance(30) { GtidMode::Off } else { GtidMode::On };
        self.settings.gtid_mode = gtid_mode;
        self.note(format!("{gtid_mode:?}"));
        if self.chance(40) {
            let next = self.protocols[self.random.below(self.protocols.len() as u64) as usize];
            self.report.switches += u64::from(next != self.protocol);
            self.protocol = next;
            self.note(next.to_string());
        }
    }

    fn set_fault(&mut self, machine: &Machine) {
        let fault = match self.random.below(6) {
            0..=2 => Fault::PowerCut,
            3 => Fault::Error,
            4 => Fault::NoSpace,
            _ => Fault::ShortWrite,
        };
        let operation = machine.disk().operations() + self.random.below(25);
        machine.disk().set_fault(operation, fault);
        self.note(("fault", format!("{fault:?}"), operation));
    }

    /// One choice.
    fn turn(&mut self, life: &mut Life) -> Result<()> {
        let choice = self.random.below(100);
        self.note(("turn", choice));
        match choice {
            0..70 => {
                let number = self.random.below(life.sessions.len() as u64) as usize;
                self.advance(life, number)?;
            }
            70..79 if life.laid_out.len() + life.written.len() < COHORTS_MAX => {
                if let Some(cohort) = life.store().take_cohort() {
                    self.report.shared_cohorts += u64::from(cohort.members() > 1);
                    life.laid_out.push(cohort);
                }
            }
            79..87 if !life.laid_out.is_empty() => {
                let at = self.random.below(life.laid_out.len() as u64) as usize;
                life.written.push(life.laid_out.swap_remove(at).write());
            }
            87..94 if !life.written.is_empty() => {
                let at = self.random.below(life.written.len() as u64) as usize;
                life.written.swap_remove(at).finish();
            }
            // After an error the checkpoint before counts, or the store has closed itself.
            94 => drop(life.store().take_checkpoint()),
            95 => life.store().prepare_ahead(),
            96 => {
                life.drain();
                life.held = !life.held;
                life.store().hold_commits(life.held);
            }
            97 => self.between_cohorts(life)?,
            _ => {}
        }
        Ok(())
    }

    /// What waits for its own commit: possible only when nothing else is on its way.
    fn between_cohorts(&mut self, life: &mut Life) -> Result<()> {
        life.drain();
        life.store().hold_commits(false);
        if self.chance(50) {
            // A failure has closed the store, or there was no room.
            drop(life.store().rotate_binlog());
        } else {
            let engine = self.random.below(2);
            let sql = match self.random.below(2) {
                0 => format!("CREATE INDEX extra ON accounts{engine} (balance, id)"),
                _ => format!("DROP INDEX extra ON accounts{engine}"),
            };
            let mut state = session_state();
            state.fixed_now_us = Some(now_us(self.now()));
            let outcome = life.database.execute(&mut state, &StandIn, sql.as_bytes(), &mut Rows::default());
            self.note(("ddl", outcome.as_ref().err().map(ToString::to_string)));
        }
        life.store().hold_commits(life.held);
        Ok(())
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Takes a session one statement further, or to its next wait.
    fn advance(&mut self, life: &mut Life, number: usize) -> Result<()> {
        let answer = match life.sessions[number].client.state() {
            State::Idle => self.next_statement(life, number)?,
            State::Ready => life.sessions[number].client.go_on(),
            State::Waiting => {
                let client = &mut life.sessions[number].client;
                match self.random.below(60) {
                    0..2 => client.expire_wait(),
                    2 => client.kill_query(),
                    _ => {}
                }
                None
            }
        };
        answer.map_or(Ok(()), |answer| self.answer(life, number, answer))
    }

    /// A statement has come to its end. Its client gets the answer when what it rests on is durable, with its commit
    /// or by itself.
    fn answer(&mut self, life: &mut Life, number: usize, answer: Answer) -> Result<()> {
        let rests_on = life.sessions[number].client.rests_on();
        let commits = answer.as_ref().is_ok_and(|answered| answered.commit.is_some());
        if commits || life.store().is_durable(rests_on) {
            return self.answered(life, number, answer);
        }
        let outcome = Outcome::default();
        let slot = Slot { outcome: outcome.clone(), clock: self.clock.clone() };
        life.database.store().when_durable(rests_on, Box::new(slot));
        self.report.withheld += 1;
        self.note("withheld");
        let running = life.sessions[number].running.as_mut().expect("it runs");
        running.withheld = Some((answer, outcome));
        Ok(())
    }

    /// Sends a session's next statement; gives the answer if it has come to that.
    fn next_statement(&mut self, life: &mut Life, number: usize) -> Result<Option<Answer>> {
        let now = self.now();
        let session = &mut life.sessions[number];
        if session.running.is_none() {
            let script = Script::new(&self.random, self.next_id);
            let id = self.next_id;
            self.next_id += 1;
            self.note((id, format!("{:?}", script.steps)));
            let record = Record { id, script, seen: Vec::new(), began: now, ended: now, fate: Fate::Absent };
            session.running = Some(Running { record, begun: false, tries: 0, outcome: None, withheld: None });
        }
        let running = session.running.as_mut().expect("just begun if there was none");
        if running.outcome.is_some() || running.withheld.is_some() {
            return Ok(None);
        }
        let script = &running.record.script;
        if !running.begun && !script.autocommit {
            let serializable = script.shape == Shape::Serializable;
            let level = serializable.then_some("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
            for sql in level.into_iter().chain(["BEGIN"]) {
                drop(session.client.execute(sql, now).with_context(|| format!("{sql} waits"))?.context(sql)?);
            }
            running.begun = true;
            return Ok(None);
        }
        let sql = match script.steps.get(running.record.seen.len()) {
            Some(step) => step.sql(),
            None if script.rolled_back => "ROLLBACK".to_owned(),
            None => "COMMIT".to_owned(),
        };
        Ok(session.client.execute(&sql, now))
    }

    /// A statement has its answer.
    fn answered(&mut self, life: &mut Life, number: usize, answer: Answer) -> Result<()> {
        let running = life.sessions[number].running.as_ref().expect("it runs");
        let next = running.record.script.steps.get(running.record.seen.len()).cloned();
        match answer {
            Ok(Answered { rows, affected, commit }) => {
                if let Some(step) = next {
                    let seen = seen(&step, rows, affected)?;
                    self.note(format!("{seen:?}"));
                    let running = life.sessions[number].running.as_mut().expect("it runs");
                    running.record.seen.push(seen);
                    running.tries = 0;
                    if !running.record.script.autocommit {
                        return Ok(());
                    }
                }
                self.hand_over(life, number, commit);
            }
            Err(error) => match next {
                Some(Step::Probe { how: Probe::Insert, .. }) if error.is(ER_DUP_ENTRY) => {
                    self.note("found");
                    let running = life.sessions[number].running.as_mut().expect("it runs");
                    running.record.seen.push(Seen::Found(true));
                    running.tries = 0;
                }
                _ => self.refused(life, number, &error)?,
            },
        }
        Ok(())
    }

    /// The transaction's statements are done: its commit goes to the store, if there is one.
    fn hand_over(&mut self, life: &mut Life, number: usize, commit: Option<cohort_txn::Transaction>) {
        let session = &mut life.sessions[number];
        let Some(transaction) = commit else {
            // A rollback, or nothing to commit: a plain read with autocommit.
            let running = session.running.take().expect("it runs");
            let fate = if running.record.script.rolled_back { Fate::Absent } else { Fate::Committed };
            return self.keep(running, fate, self.now());
        };
        let outcome = Outcome::default();
        session.running.as_mut().expect("it runs").outcome = Some(outcome.clone());
        life.database.store().commit(transaction, Box::new(Slot { outcome, clock: self.clock.clone() }));
    }

    /// A statement failed.
    fn refused(&mut self, life: &mut Life, number: usize, error: &SqlError) -> Result<()> {
        self.note(error.to_string());
        let session = &mut life.sessions[number];
        let running = session.running.as_mut().expect("it runs");
        running.tries += 1;
        let waits = error.is(ER_LOCK_WAIT_TIMEOUT) || error.is(ER_QUERY_INTERRUPTED);
        if waits && running.tries < TRIES {
            return Ok(());
        }
        let excused = waits
            || [ER_LOCK_DEADLOCK, ER_DISK_FULL, ER_ERROR_DURING_COMMIT, ER_SERVER_SHUTDOWN, ER_TABLE_DEF_CHANGED]
                .iter()
                .any(|code| error.is(*code));
        let broken = life.database.store().closed().is_some() || error.to_string().contains("the power is off");
        ensure!(excused || broken, "{:?}: {error}", running.record.script.steps);
        session.client.rollback();
        let running = session.running.take().expect("it runs");
        self.keep(running, Fate::Absent, self.now());
        Ok(())
    }

    fn keep(&mut self, running: Running, fate: Fate, ended: u64) {
        let mut record = running.record;
        self.note((record.id, format!("{fate:?}"), ended));
        match fate {
            Fate::Committed => self.report.committed += 1,
            Fate::InDoubt => self.report.in_doubt += 1,
            Fate::Absent => {}
        }
        (record.fate, record.ended) = (fate, ended);
        self.records.push(record);
    }

    /// Takes the outcomes that were sent.
    fn collect(&mut self, life: &mut Life) -> Result<()> {
        for number in 0..life.sessions.len() {
            self.collect_withheld(life, number)?;
            let session = &mut life.sessions[number];
            let sent = session.running.as_ref().and_then(|running| running.outcome.as_ref()?.lock().take());
            let Some((at, outcome)) = sent else { continue };
            let running = session.running.take().expect("it has an outcome");
            let fate = match outcome {
                Ok(_) => Fate::Committed,
                Err(CommitError::Unknown(_)) => Fate::InDoubt,
                Err(_) => Fate::Absent,
            };
            self.keep(running, fate, at);
        }
        Ok(())
    }

    /// Takes an answer that rested on something in flight, if that has come to its end.
    fn collect_withheld(&mut self, life: &mut Life, number: usize) -> Result<()> {
        let Some(running) = &mut life.sessions[number].running else { return Ok(()) };
        let Some((answer, outcome)) = running.withheld.take() else { return Ok(()) };
        let sent = outcome.lock().take();
        match sent {
            None => running.withheld = Some((answer, outcome)),
            Some((_, Ok(_))) => self.answered(life, number, answer)?,
            Some((at, Err(error))) => {
                self.note(error.to_string());
                drop(answer);
                let session = &mut life.sessions[number];
                session.client.rollback();
                let running = session.running.take().expect("it runs");
                self.keep(running, Fate::Absent, at);
            }
        }
        Ok(())
    }

    /// The server goes, mostly without a word for those who wait: the power is cut, or the process killed, before
    /// anything of it can tidy up.
    fn end(&mut self, mut life: Life, machine: &Machine) -> Result<Machine> {
        if machine.disk().is_powered() && self.chance(20) {
            life.drain();
        }
        self.collect(&mut life)?;
        for session in &mut life.sessions {
            if let Some(running) = session.running.take() {
                let fate = if running.outcome.is_some() { Fate::InDoubt } else { Fate::Absent };
                self.keep(running, fate, u64::MAX);
            }
        }
        if machine.disk().is_powered() && life.store().closed().is_none() && self.chance(15) {
            // Nobody is there any more. A fault on the way leaves a crash.
            life.sessions.clear();
            life.drain();
            let stopped = life.store().close();
            self.note(("stopped", stopped));
        }
        let [waits, deadlocks, timeouts] = life.store().lock_stats();
        self.report.lock_waits += waits;
        self.report.deadlocks += deadlocks;
        self.report.timeouts += timeouts;
        self.report.disk_operations += machine.disk().operations();
        self.report.restarts += 1;
        let powered = machine.disk().is_powered();
        self.note(("end", powered, life.store().closed().map(|closed| closed.to_string())));
        Ok(if powered && self.chance(30) { machine.after_kill() } else { machine.after_power_cut() })
    }

    fn settle(&mut self, database: &Database, machine: &Machine) -> Result<()> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        let tables = Tables::read(database)?;
        check::settle(&tables, &mut self.records, now)?;
        check::logs_and_indexes(database, machine.disk(), &tables)
    }
}

impl Life {
    fn new(database: Arc<Database>, sessions: u64) -> Life {
        let sessions = (0..sessions)
            .map(|number| Session { client: Client::new(database.clone(), number % 2 == 1), running: None });
        let sessions = sessions.collect();
        database.store().hold_commits(true);
        Life { database, sessions, laid_out: Vec::new(), written: Vec::new(), held: true }
    }

    fn store(&self) -> &Arc<Store> {
        self.database.store()
    }

    /// Brings everything that was handed over to its end.
    fn drain(&mut self) {
        loop {
            self.written.extend(self.laid_out.drain(..).map(LaidOutCohort::write));
            self.written.drain(..).for_each(WrittenCohort::finish);
            match self.store().take_cohort() {
                Some(cohort) => self.laid_out.push(cohort),
                None => return,
            }
        }
    }
}

/// A session that never waits for a lock.
fn session_state() -> SessionState {
    let mut state = SessionState::new();
    state.database = Some("sim".into());
    state.row_lock_timeout = Duration::ZERO;
    state.table_lock_timeout = Duration::ZERO;
    state
}

fn seen(step: &Step, rows: Vec<Vec<Value>>, affected: u64) -> Result<Seen> {
    Ok(match (step, rows.as_slice()) {
        (Step::Read { .. }, [row]) => Seen::List(elements(&row[0])),
        (Step::Sum { .. }, [row]) => Seen::Sum(row[0].to_string().parse()?),
        (Step::Probe { how: Probe::Insert, .. }, []) => Seen::Found(false),
        (Step::Probe { how: Probe::Delete, .. }, []) => Seen::Found(affected > 0),
        (Step::Probe { how: Probe::Lock, .. }, rows) => Seen::Found(!rows.is_empty()),
        (Step::Range { .. }, rows) => {
            let ids = rows.iter().map(|row| Ok(row[0].to_string().parse()?));
            Seen::Items(ids.collect::<Result<_>>()?)
        }
        (Step::LockAccount { .. }, [_]) => Seen::Done,
        (Step::Append { .. } | Step::Put { .. } | Step::Move { .. } | Step::Token { .. }, []) => Seen::Done,
        _ => bail!("{step:?} gave {rows:?}"),
    })
}
