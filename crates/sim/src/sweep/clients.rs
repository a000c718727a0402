//! Sessions that take turns, and what they received.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use cohort_io::SimDisk;
use cohort_io::sync::Mutex;
use cohort_sql::error::{ER_ERROR_DURING_COMMIT, ER_XAER_RMERR, SqlError};
use cohort_sql::session::StandIn;
use cohort_sql::{Database, SessionState, Value};
use cohort_txn::{CommitError, Committed, Reply, Transaction};

use super::listener::Heard;
use super::state::{Change, DATABASE};
use crate::history::Fate;
use crate::replica::Logged;
use crate::rows::Rows;

/// How long a leader waits for others at most, microseconds: those whose preparing failed do not come.
const GROUP_US_MAX: u64 = 20_000;

/// What a session does in a turn.
#[derive(Clone, Debug)]
pub enum Do {
    Begin,
    Commit,
    RollBack,
    /// A statement: in the open transaction, or as one of its own.
    Make(Change),
    /// Reads a table in the open transaction, whose snapshot must not change.
    Look(&'static str),
    XaStart(String),
    /// XA END and XA PREPARE
    XaPrepare(String),
    /// XA END and XA COMMIT ... ONE PHASE
    XaCommitOnePhase(String),
    /// Several sessions, each with a transaction of its own, commit at the same time.
    Together(Vec<Vec<Change>>),
    /// Not a session's: a checkpoint.
    Checkpoint,
    /// Not a session's: segments and files ahead of need.
    Upkeep,
    /// FLUSH BINARY LOGS
    Rotate,
}

/// Something that is done whole or not at all, and what its client received.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What it does.
    pub changes: Vec<Change>,
    /// What it is called, in a binlog too.
    pub label: String,
    /// What became of it.
    pub fate: Fate,
    /// When its end was asked for.
    pub began: u64,
    /// When that was answered; never, where nobody knows.
    pub ended: u64,
}

/// Everything that clients received, over all starts of a server.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// In the order of the answers.
    pub attempts: Vec<Attempt>,
    /// What was refused, and why.
    pub refused: Vec<String>,
    /// What a reader of the binlog got.
    pub heard: Vec<Heard>,
    clock: u64,
}

/// What a transaction is called by what it does; engines are named as SQL does.
fn label(changes: &[Change], engines: [&str; 2]) -> String {
    let insert = changes.iter().find_map(|change| match change {
        Change::Insert(table, id, _) => Some(format!("{table}#{id}")),
        _ => None,
    });
    insert.unwrap_or_else(|| changes.first().map_or_else(String::new, |change| change.sql(engines)))
}

/// The same for what a binlog holds.
pub fn logged_label(logged: &Logged) -> String {
    match logged {
        Logged::Rows(rows) => {
            let insert = rows.iter().find(|change| change.before.is_none());
            let row = insert.and_then(|change| Some(format!("{}#{}", change.table, change.after.as_ref()?.first()?)));
            row.unwrap_or_default()
        }
        Logged::Statement(sql) => sql.clone(),
        Logged::Prepared(name, _) => format!("XA PREPARE {name}"),
        Logged::Committed(name) => format!("XA COMMIT {name}"),
        Logged::RolledBack(name) => format!("XA ROLLBACK {name}"),
    }
}

/// A connection.
struct Session {
    state: SessionState,
    /// What its open transaction did.
    open: Option<Vec<Change>>,
    /// A statement of it failed: the rest of the transaction is left out.
    lost: bool,
    /// What it read first in its transaction.
    looked: Option<Vec<Vec<Value>>>,
}

/// Sessions of a server.
pub struct Clients<'a> {
    database: Arc<Database>,
    disk: &'a SimDisk,
    engines: [&'static str; 2],
    sessions: Vec<Session>,
    memory: &'a mut Memory,
}

type Outcome = Arc<Mutex<Option<Result<Committed, CommitError>>>>;

/// Keeps the outcome of a commit.
struct Slot(Outcome);

impl Reply for Slot {
    fn send(self: Box<Self>, outcome: Result<Committed, CommitError>) {
        *self.0.lock() = Some(outcome);
    }
}

impl<'a> Clients<'a> {
    /// Sessions that remember in `memory`; `first_engine` is its name in SQL.
    pub fn new(
        database: Arc<Database>,
        disk: &'a SimDisk,
        first_engine: &'static str,
        memory: &'a mut Memory,
    ) -> Clients<'a> {
        Clients { database, disk, engines: [first_engine, "redb"], sessions: Vec::new(), memory }
    }

    /// Does everything, turn by turn, until the power is off. An error is a violation.
    pub fn run(&mut self, script: &[(usize, Do)]) -> Result<()> {
        for (number, what) in script {
            if !self.disk.is_powered() {
                break;
            }
            while self.sessions.len() <= *number {
                let mut state = session();
                state.compresses_binlog = self.sessions.len() % 2 == 1;
                self.sessions.push(Session { state, open: None, lost: false, looked: None });
            }
            self.turn(*number, what)?;
        }
        Ok(())
    }

    fn turn(&mut self, number: usize, what: &Do) -> Result<()> {
        let session = &mut self.sessions[number];
        match what {
            Do::Begin => {
                self.sql(number, "BEGIN");
                let session = &mut self.sessions[number];
                (session.open, session.lost, session.looked) = (Some(Vec::new()), false, None);
            }
            Do::XaStart(name) => {
                let begun = self.sql(number, &format!("XA START {name}")).is_some();
                let session = &mut self.sessions[number];
                (session.open, session.lost) = (Some(Vec::new()), !begun);
            }
            Do::RollBack => {
                session.state.rollback();
                session.open = None;
            }
            Do::Make(change) => self.make(number, change),
            Do::Look(table) => self.look(number, table)?,
            Do::Commit => {
                if let Some(changes) = self.end(number)
                    && let Some(Some(transaction)) = self.sql(number, "COMMIT")
                {
                    self.commit(changes, transaction);
                }
            }
            Do::XaCommitOnePhase(name) => {
                if let Some(changes) = self.end(number)
                    && self.sql(number, &format!("XA END {name}")).is_some()
                    && let Some(Some(transaction)) = self.sql(number, &format!("XA COMMIT {name} ONE PHASE"))
                {
                    self.commit(changes, transaction);
                }
            }
            Do::XaPrepare(name) => {
                if let Some(changes) = self.end(number)
                    && self.sql(number, &format!("XA END {name}")).is_some()
                {
                    self.make(number, &Change::Prepare(name.clone(), changes));
                }
            }
            Do::Together(transactions) => self.together(transactions),
            Do::Checkpoint => self.upkeep(|database| database.store().take_checkpoint()),
            Do::Rotate => {
                self.upkeep(|database| database.store().rotate_binlog().map(drop).map_err(|error| error.to_string()));
            }
            Do::Upkeep => self.database.store().prepare_ahead(),
        }
        Ok(())
    }

    /// What the open transaction did, if it can be committed.
    fn end(&mut self, number: usize) -> Option<Vec<Change>> {
        let session = &mut self.sessions[number];
        let changes = session.open.take();
        changes.filter(|_| !session.lost)
    }

    /// Runs a statement of the open transaction, or one that is a transaction of its own.
    fn make(&mut self, number: usize, change: &Change) {
        if self.sessions[number].open.is_some() && self.sessions[number].lost {
            return;
        }
        let was_closed = self.database.store().closed().is_some();
        let sql = change.sql(self.engines);
        let began = self.memory.tick();
        let outcome = execute(&self.database, &mut self.sessions[number].state, &sql);
        let session = &mut self.sessions[number];
        match (outcome, &mut session.open) {
            (Ok(_), Some(changes)) => changes.push(change.clone()),
            (Err(error), Some(_)) => {
                session.state.rollback();
                session.lost = true;
                self.memory.refused.push(format!("{sql}: {error}"));
            }
            (Ok(Some(transaction)), None) => self.commit(vec![change.clone()], transaction),
            (Ok(None), None) => self.record(vec![change.clone()], began, Fate::Committed),
            (Err(error), None) => {
                let unknown = error.is(ER_ERROR_DURING_COMMIT) || error.is(ER_XAER_RMERR);
                let fate = if unknown && !was_closed { Fate::InDoubt } else { Fate::Absent };
                self.memory.refused.push(format!("{sql}: {error}"));
                self.record(vec![change.clone()], began, fate);
            }
        }
    }

    fn look(&mut self, number: usize, table: &str) -> Result<()> {
        let session = &mut self.sessions[number];
        let mut rows = Rows::default();
        let sql = format!("SELECT * FROM {table}");
        let looked = self.database.execute(&mut session.state, &StandIn, sql.as_bytes(), &mut rows);
        match (looked, &session.looked) {
            (Err(error), _) => self.memory.refused.push(format!("{sql}: {error}")),
            (Ok(_), None) => session.looked = Some(rows.0),
            (Ok(_), Some(before)) => ensure!(*before == rows.0, "a snapshot was {before:?} and is {:?}", rows.0),
        }
        Ok(())
    }

    /// Runs a statement that must not fail where there is no fault; `None` if it did.
    fn sql(&mut self, number: usize, sql: &str) -> Option<Option<Transaction>> {
        let outcome = execute(&self.database, &mut self.sessions[number].state, sql);
        outcome.map_err(|error| self.memory.refused.push(format!("{sql}: {error}"))).ok()
    }

    fn commit(&mut self, changes: Vec<Change>, transaction: Transaction) {
        let began = self.memory.tick();
        let outcome = self.database.store().commit_and_wait(transaction);
        self.answered(changes, began, Some(outcome));
    }

    fn answered(&mut self, changes: Vec<Change>, began: u64, outcome: Option<Result<Committed, CommitError>>) {
        let fate = match &outcome {
            Some(Ok(_)) => Fate::Committed,
            Some(Err(CommitError::Unknown(_))) | None => Fate::InDoubt,
            Some(Err(_)) => Fate::Absent,
        };
        if let Some(Err(error)) = outcome {
            self.memory.refused.push(format!("COMMIT: {error}"));
        }
        self.record(changes, began, fate);
    }

    fn record(&mut self, changes: Vec<Change>, began: u64, fate: Fate) {
        let ended = if fate == Fate::InDoubt { u64::MAX } else { self.memory.tick() };
        let label = label(&changes, self.engines);
        self.memory.attempts.push(Attempt { changes, label, fate, began, ended });
    }

    fn upkeep(&mut self, what: impl FnOnce(&Database) -> Result<(), String>) {
        if let Err(error) = what(&self.database) {
            self.memory.refused.push(format!("upkeep: {error}"));
        }
    }

    /// Under the journal the transactions are two cohorts, of which the later one is written first. Elsewhere each
    /// has its thread, and where there are groups one waits for as many.
    fn together(&mut self, transactions: &[Vec<Change>]) {
        let mut ready = Vec::new();
        for changes in transactions {
            match open_transaction(&self.database, changes, self.engines) {
                Ok(Some(transaction)) => ready.push((changes.clone(), transaction)),
                Ok(None) => {}
                Err(error) => self.memory.refused.push(error.to_string()),
            }
        }
        let began = self.memory.tick();
        let store = self.database.store();
        let outcomes: Vec<(Vec<Change>, Outcome)> = if store.journal().is_some() {
            store.hold_commits(true);
            let (mut cohorts, mut outcomes) = (Vec::new(), Vec::new());
            let enough = ready.len().div_ceil(2);
            for (at, (changes, transaction)) in ready.into_iter().enumerate() {
                let outcome = Outcome::default();
                store.commit(transaction, Box::new(Slot(outcome.clone())));
                outcomes.push((changes, outcome));
                if (at + 1) % enough == 0 {
                    cohorts.extend(store.take_cohort());
                }
            }
            cohorts.extend(store.take_cohort());
            let written: Vec<_> = cohorts.into_iter().rev().map(cohort_txn::LaidOutCohort::write).collect();
            written.into_iter().for_each(cohort_txn::WrittenCohort::finish);
            store.hold_commits(false);
            outcomes
        } else {
            let delay = &store.settings().sync_delay;
            delay.enough.store(ready.len() as _, Ordering::Relaxed);
            delay.max_us.store(GROUP_US_MAX as _, Ordering::Relaxed);
            let outcomes = thread::scope(|scope| {
                let threads: Vec<_> = ready
                    .into_iter()
                    .map(|(changes, transaction)| {
                        scope.spawn(move || (changes, Arc::new(Mutex::new(Some(store.commit_and_wait(transaction))))))
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().expect("a commit does not panic")).collect()
            });
            delay.max_us.store(0, Ordering::Relaxed);
            outcomes
        };
        for (changes, outcome) in outcomes {
            let outcome = outcome.lock().take();
            self.answered(changes, began, outcome);
        }
    }
}

impl Memory {
    /// How many were never sent their outcome.
    pub fn in_doubt(&self) -> u64 {
        self.attempts.iter().filter(|attempt| attempt.fate == Fate::InDoubt).count() as u64
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

fn session() -> SessionState {
    let mut state = SessionState::new();
    state.database = Some(DATABASE.into());
    state.row_lock_timeout = Duration::ZERO;
    state.table_lock_timeout = Duration::ZERO;
    state.fixed_now_us = Some(1_700_000_000_000_000);
    state
}

fn execute(database: &Database, state: &mut SessionState, sql: &str) -> Result<Option<Transaction>, SqlError> {
    let outcome = database.execute(state, &StandIn, sql.as_bytes(), &mut Rows::default())?;
    Ok(outcome.commit)
}

/// A transaction of its own session, to be committed.
fn open_transaction(
    database: &Database,
    changes: &[Change],
    engines: [&str; 2],
) -> Result<Option<Transaction>, SqlError> {
    let mut state = session();
    drop(execute(database, &mut state, "BEGIN")?);
    for change in changes {
        drop(execute(database, &mut state, &change.sql(engines))?);
    }
    execute(database, &mut state, "COMMIT")
}

/// The rows of a statement.
pub fn query(database: &Database, sql: &str) -> Result<Vec<Vec<Value>>> {
    let mut rows = Rows::default();
    let outcome = database.execute(&mut session(), &StandIn, sql.as_bytes(), &mut rows)?;
    ensure!(outcome.commit.is_none(), "{sql} writes");
    Ok(rows.0)
}
