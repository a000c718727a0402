//! The store: engines, journal, binlog, locks and coordinator of one data directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use cohort_binlog::{
    BinlogError, BinlogFiles, BinlogOptions, BinlogPosition, EventOptions, FileStart, GtidSet, RowMetadata,
    ServerIdentity, ServerUuid, TransactionEvents,
};
use cohort_engine::{Engine, EngineId, KeyRange, TwoPhase, WriteError};
use cohort_io::{Clock, FileSystem, SyncFigures};
use cohort_journal::{Journal, JournalOptions, Lsn};

use crate::carrier::blocking;
use crate::checkpoint::{self, Background};
use crate::commit::{
    ALL_DURABLE, CommitError, CommitSettings, Committed, Coordinator, Frontier, LaidOutCohort, Published, Reply, Shared,
};
use crate::figures::CommitFigures;
use crate::held_snapshot::HeldSnapshots;
use crate::lock_profile::LockProfile;
use crate::locks::{HeldLocks, LockManager, TransactionId};
use crate::overlay::Overlay;
use crate::protocols::recovery::TwoPhaseReport;
use crate::protocols::{self, CommitProtocol, Steps, TcLog};
use crate::recovery::{self, RecoverError, RecoveryReport};
use crate::rests_on::RestsOn;
use crate::sync::{Condvar, Mutex};
use crate::transaction::Transaction;
use crate::xa::XaRegistry;

/// How to open a store.
pub struct StoreOptions {
    /// Directory of the journal's segments.
    pub journal_dir: PathBuf,
    /// Size of segments and the like.
    pub journal: JournalOptions,
    /// Where the binlog is.
    pub binlog: BinlogOptions,
    /// Where the operator gives the binlog up, if the start of a classic protocol stops there for damage.
    pub binlog_cut_at: Option<BinlogPosition>,
    /// Whether transactions go into the binlog (`log_bin`). Without, its files stay as they are.
    pub log_bin: bool,
    /// The coordinator's log of transactions that are not in the binlog, unless the journal has them; in a
    /// directory that is there.
    pub tc_log: PathBuf,
    /// What events say about the server.
    pub identity: ServerIdentity,
    /// The source part of new GTIDs.
    pub server_uuid: ServerUuid,
    /// Durability and file sizes at the start.
    pub settings: CommitSettings,
    /// Journal bytes between checkpoints.
    pub checkpoint_bytes: u64,
}

/// How an open store commits.
enum CommitPath {
    Journal(Arc<Coordinator>),
    TwoPhase(Arc<Steps>),
}

/// An open store. Shared by all sessions.
pub struct Store {
    shared: Arc<Shared>,
    path: CommitPath,
    locks: LockManager,
    xa: Arc<XaRegistry>,
    next_transaction: AtomicU64,
    event_options: EventOptions,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

const LOG_WRITERS: usize = 2;

impl Store {
    /// Opens the store: recovers, begins a new binlog file, starts the log writers. `progress` gets
    /// lines for the operator while recovery runs.
    pub fn open(
        options: StoreOptions,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Vec<Arc<dyn Engine>>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Arc<Store>, RecoveryReport), RecoverError> {
        let (store, report) = Store::recover(options, fs, clock, engines, progress)?;
        store.start_threads();
        Ok((store, report))
    }

    /// [`Store::open`] without threads, for simulators: every commit is written by its session or step by
    /// step ([`Store::hold_commits`]), and upkeep is done by hand ([`Store::prepare_ahead`],
    /// [`Store::take_checkpoint`]).
    pub fn recover(
        options: StoreOptions,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Vec<Arc<dyn Engine>>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Arc<Store>, RecoveryReport), RecoverError> {
        let (store, mut report) = Store::recovered(options, fs, clock, engines, progress)?;
        report.xa_prepared = store.restore_xa()?;
        store.prepare_ahead();
        store.begin_file(FileStart::ServerStart)?;
        Ok((store, report))
    }

    /// The store as recovery leaves it: what was there is whole and durable, nothing new is begun.
    fn recovered(
        options: StoreOptions,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Vec<Arc<dyn Engine>>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Arc<Store>, RecoveryReport), RecoverError> {
        let (journal, scan) = Journal::open(fs.clone(), &options.journal_dir, options.journal)?;
        let journal = Arc::new(journal);
        for engine in &engines {
            let journal = journal.clone();
            // A failure seals the journal too, which the next commit reports.
            let sync_log = move || journal.sync_completed().map_err(|error| error.to_string());
            engine.sync_log_first(Box::new(sync_log));
        }
        let binlog = BinlogFiles::open(fs, options.binlog)?;
        let (start, report) = recovery::recover(&journal, scan, &binlog, &engines, progress)?;
        let shared = Arc::new(Shared::new(
            engines,
            binlog,
            options.log_bin,
            options.settings,
            clock,
            options.server_uuid,
            options.identity,
            start.frontier,
            start.next_order - 1,
        ));
        let background = Background::new(options.checkpoint_bytes, shared.frontier().note.position.file_number);
        let coordinator = Coordinator::new(shared.clone(), journal, background, start.next_order);
        Ok((Store::new(shared, CommitPath::Journal(Arc::new(coordinator))), report))
    }

    /// Recovers a directory that the journal wrote and closes it as a clean stop does, so that another
    /// protocol can go on there.
    pub(crate) fn settle(
        options: StoreOptions,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Vec<Arc<dyn Engine>>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<RecoveryReport, RecoverError> {
        let (store, report) = Store::recovered(options, fs, clock, engines, progress)?;
        // The next protocol's recovery reads the last file, and nothing in that is to look lost to it.
        store.begin_file(FileStart::ServerStart)?;
        store.close().map_err(RecoverError::Settle)?;
        Ok(report)
    }

    /// Opens the store with a classic protocol: the binlog decides what becomes of the transactions that
    /// the engines found prepared. It wrote the logs that are there, if any: see
    /// [`DataDirectory`](crate::DataDirectory). `options.journal` is not used.
    ///
    /// `tell` gets what was found and done; in what binlog and engines differ, before anything is done too. Nothing of
    /// that may be found again by then: should the server end before, the next start tells it.
    ///
    /// Without threads, for simulators, as [`Store::recover`].
    ///
    /// # Panics
    /// When `protocol` is [`CommitProtocol::Journal`].
    pub fn recover_two_phase(
        options: StoreOptions,
        protocol: CommitProtocol,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Vec<Arc<dyn TwoPhase>>,
        tell: &mut dyn FnMut(TwoPhaseReport),
    ) -> Result<Arc<Store>, RecoverError> {
        let (store, mut report) = Store::recovered_two_phase(options, protocol, fs, clock, engines, tell)?;
        report.xa_prepared = store.restore_xa()?;
        tell(report);
        if let CommitPath::TwoPhase(steps) = &store.path {
            steps.leave_note()?;
        }
        store.prepare_ahead();
        store.begin_file(FileStart::ServerStart)?;
        Ok(store)
    }

    fn recovered_two_phase(
        options: StoreOptions,
        wrote: CommitProtocol,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Vec<Arc<dyn TwoPhase>>,
        tell: &mut dyn FnMut(TwoPhaseReport),
    ) -> Result<(Arc<Store>, TwoPhaseReport), RecoverError> {
        let binlog = BinlogFiles::open(fs.clone(), options.binlog)?;
        assert_ne!(wrote, CommitProtocol::Journal, "a protocol with two phases");
        let tc_log = protocols::recovery::read_tc_log(&*fs, &options.tc_log, &engines)?;
        let cut_at = options.binlog_cut_at;
        let (note, report) = protocols::recovery::recover(wrote, &binlog, cut_at, &tc_log, &engines, tell)?;
        // Everything is decided, durably: the names of this run can begin anew.
        let tc_log = TcLog::create(&*fs, &options.tc_log, clock.now_us())?;
        let shared = Arc::new(Shared::new(
            engines.iter().map(|engine| engine.clone() as Arc<dyn Engine>).collect(),
            binlog,
            options.log_bin,
            options.settings,
            clock,
            options.server_uuid,
            options.identity,
            Frontier { lsn: Lsn(0), note },
            0,
        ));
        let steps = Arc::new(Steps::new(shared.clone(), engines, wrote.with_binlog(), tc_log));
        Ok((Store::new(shared, CommitPath::TwoPhase(steps)), report))
    }

    /// Recovers a directory that the classic protocol `wrote` wrote and closes it as a clean stop does, so
    /// that the protocol `next` can go on there; the journal gets a checkpoint at the end of the binlog. `tell` as
    /// for [`Store::recover_two_phase`].
    ///
    /// # Panics
    /// When `wrote` is [`CommitProtocol::Journal`].
    pub(crate) fn settle_two_phase(
        options: StoreOptions,
        wrote: CommitProtocol,
        next: CommitProtocol,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Vec<Arc<dyn TwoPhase>>,
        tell: &mut dyn FnMut(TwoPhaseReport),
    ) -> Result<(), RecoverError> {
        let (journal_dir, journal) = (options.journal_dir.clone(), options.journal.clone());
        let (store, report) = Store::recovered_two_phase(options, wrote, fs.clone(), clock, engines, tell)?;
        let left: u64 = report.engines.iter().map(|engine| engine.left).sum();
        tell(report);
        if next == CommitProtocol::Journal && left > 0 {
            return Err(RecoverError::PreparedLeft(left));
        }
        store.close().map_err(RecoverError::Settle)?;
        if next == CommitProtocol::Journal {
            checkpoint::take_over(fs, &journal_dir, journal, &store.shared.frontier().note)?;
        }
        Ok(())
    }

    fn new(shared: Arc<Shared>, path: CommitPath) -> Arc<Store> {
        let number_xa = matches!(path, CommitPath::TwoPhase(_));
        let event_options = EventOptions { server_id: shared.identity.server_id, number_xa, ..EventOptions::default() };
        Arc::new(Store {
            shared,
            path,
            locks: LockManager::new(),
            xa: Arc::default(),
            next_transaction: AtomicU64::new(1),
            event_options,
            threads: Mutex::default(),
        })
    }

    pub(crate) fn start_threads(&self) {
        let mut threads = self.threads.lock();
        let coordinator = match &self.path {
            CommitPath::Journal(coordinator) => coordinator,
            CommitPath::TwoPhase(steps) => {
                let steps = steps.clone();
                return threads.push(spawn("upkeep", move || steps.run_upkeep()));
            }
        };
        for number in 1..=LOG_WRITERS {
            let coordinator = coordinator.clone();
            threads.push(spawn(&format!("log-writer-{number}"), move || coordinator.write_log()));
        }
        let coordinator = coordinator.clone();
        let upkeep = coordinator.clone();
        threads.push(spawn("upkeep", move || upkeep.background.run_upkeep(&upkeep)));
        threads.push(spawn("checkpoint", move || coordinator.background.run_checkpoints(&coordinator)));
    }

    /// Begins a transaction.
    pub fn begin(self: &Arc<Self>) -> Transaction {
        let row_metadata = match self.settings().full_row_metadata.load(Ordering::Relaxed) {
            false => RowMetadata::Minimal,
            true => RowMetadata::Full,
        };
        let options = EventOptions { row_metadata, ..self.event_options.clone() };
        self.shared.open_transactions.fetch_add(1, Ordering::Relaxed);
        Transaction::new(self.clone(), self.new_locks(), TransactionEvents::new(options))
    }

    /// A transaction that was begun has ended, one way or another.
    pub(crate) fn count_end(&self) {
        self.shared.open_transactions.fetch_sub(1, Ordering::Relaxed);
    }

    /// Commits; `reply` gets the outcome, from this thread or from a log writer, maybe before this
    /// returns.
    pub fn commit(&self, transaction: Transaction, reply: Box<dyn Reply>) {
        match &self.path {
            CommitPath::Journal(coordinator) => coordinator.commit(transaction, reply),
            CommitPath::TwoPhase(steps) => blocking(|| steps.commit(transaction, reply)),
        }
    }

    /// Commits and waits for the outcome.
    pub fn commit_and_wait(&self, transaction: Transaction) -> Result<Committed, CommitError> {
        let (reply, outcome) = WaitingReply::with_outcome();
        self.commit(transaction, reply);
        outcome.wait()
    }

    /// Whether what `rests_on` notes is durable: an answer may leave. What is durable is forgotten.
    pub fn is_durable(&self, rests_on: &RestsOn) -> bool {
        let Some(order) = rests_on.order() else { return true };
        let durable = match &self.path {
            CommitPath::Journal(coordinator) => coordinator.is_durable(order),
            CommitPath::TwoPhase(steps) => steps.is_durable(order),
        };
        if durable {
            rests_on.take();
        }
        durable
    }

    /// Takes what `rests_on` notes; `reply` gets `Ok` when that is durable and [`CommitError::Unknown`] when it could not
    /// be made so: the transaction that saw it must be rolled back. From this thread or from a log writer, maybe before
    /// this returns.
    pub fn when_durable(&self, rests_on: &RestsOn, reply: Box<dyn Reply>) {
        match &self.path {
            CommitPath::Journal(coordinator) => coordinator.when_durable(rests_on.take(), reply),
            CommitPath::TwoPhase(steps) => steps.when_durable(rests_on.take(), reply),
        }
    }

    /// [`Store::when_durable`] for a caller that waits.
    pub fn wait_until_durable(&self, rests_on: &RestsOn) -> Result<(), CommitError> {
        if self.is_durable(rests_on) {
            return Ok(());
        }
        let (reply, outcome) = WaitingReply::with_outcome();
        self.when_durable(rests_on, reply);
        outcome.wait().map(drop)
    }

    /// Notes that a read found in an engine what is not durable, if it may have: in the newest version, or in the
    /// snapshot of this order.
    pub(crate) fn note_engine_read(&self, snapshot: Option<u64>, rests_on: &RestsOn) {
        let oldest = self.shared.oldest_undurable.load(Ordering::Acquire);
        if oldest == ALL_DURABLE {
            return;
        }
        let newest = match (&self.path, snapshot) {
            (_, Some(snapshot)) => Some(snapshot).filter(|snapshot| *snapshot >= oldest),
            (CommitPath::TwoPhase(steps), None) => steps.newest_undurable(),
            (CommitPath::Journal(_), None) => None,
        };
        newest.into_iter().for_each(|order| rests_on.note(order));
    }

    /// Whether transactions go into the binlog.
    pub fn log_bin(&self) -> bool {
        self.shared.log_bin
    }

    /// Ends the current binlog file and begins the next (FLUSH BINARY LOGS); without a binlog nothing happens. Where
    /// there is no room for a file nothing happens either ([`CommitError::NoSpace`]).
    pub fn rotate_binlog(&self) -> Result<Committed, CommitError> {
        if !self.shared.log_bin {
            return self.begin_file(FileStart::Rotation);
        }
        let before = self.binlog().end().map_or(0, |end| end.file_number);
        loop {
            self.shared.prepare_binlog_file()?;
            let begun = self.begin_file(FileStart::Rotation)?;
            // The file may have been taken by a rotation that came in between.
            if begun.position.file_number > before {
                return Ok(begun);
            }
        }
    }

    /// Removes the binlog files before `first_kept` (PURGE BINARY LOGS), but for those that the next start needs: from
    /// the last checkpoint on, which is taken now if that can be.
    pub fn purge_binlog(&self, first_kept: u64) -> Result<Vec<String>, BinlogError> {
        let needed = match &self.path {
            CommitPath::Journal(coordinator) => {
                if let Err(error) = self.take_checkpoint() {
                    log::warn!("no checkpoint before the purge, which may remove less: {error}");
                }
                coordinator.background.checkpoint_file()
            }
            CommitPath::TwoPhase(_) => self.executed().0.file_number,
        };
        let oldest = self.binlog().list().first().map_or(0, |file| file.number);
        self.binlog().purge_before(first_kept.min(needed).max(oldest))
    }

    fn begin_file(&self, start: FileStart) -> Result<Committed, CommitError> {
        if !self.shared.log_bin {
            return Ok(Committed { gtid: None, position: self.published().position });
        }
        match &self.path {
            CommitPath::Journal(coordinator) => {
                let (reply, outcome) = WaitingReply::with_outcome();
                coordinator.begin_file(start, reply);
                outcome.wait()
            }
            CommitPath::TwoPhase(steps) => blocking(|| steps.begin_file(start)),
        }
    }

    /// The newest snapshot: order, binlog position, and a view of every engine.
    pub fn published(&self) -> Arc<Published> {
        self.shared.published()
    }

    /// The binlog position and the GTIDs of everything applied, as one consistent pair.
    pub fn executed(&self) -> (BinlogPosition, GtidSet) {
        let frontier = self.shared.frontier();
        (frontier.note.position, frontier.note.gtids)
    }

    /// Why commits are refused, if they are (a failed log write, a shutdown).
    pub fn closed(&self) -> Option<CommitError> {
        match &self.path {
            CommitPath::Journal(coordinator) => coordinator.closed(),
            CommitPath::TwoPhase(steps) => steps.closed(),
        }
    }

    /// The binlog's files.
    pub fn binlog(&self) -> &BinlogFiles {
        &self.shared.binlog
    }

    /// The journal; none with a classic protocol.
    pub fn journal(&self) -> Option<&Journal> {
        match &self.path {
            CommitPath::Journal(coordinator) => Some(&coordinator.journal),
            CommitPath::TwoPhase(_) => None,
        }
    }

    /// The commit path's locks and what they cost so far, those that were waited for longest first.
    pub fn lock_profile(&self) -> Vec<LockProfile> {
        let mut profile = match &self.path {
            CommitPath::Journal(coordinator) => coordinator.lock_profile(),
            CommitPath::TwoPhase(steps) => steps.lock_profile(),
        };
        profile.sort_by_key(|line| (std::cmp::Reverse(line.cost.wait_ns), line.lock, line.caller));
        profile
    }

    /// Writes and syncs of the coordinator's log, where that is neither journal nor binlog.
    pub fn coordinator_log(&self) -> Option<SyncFigures> {
        match &self.path {
            CommitPath::Journal(_) => None,
            CommitPath::TwoPhase(steps) => Some(steps.coordinator_log()),
        }
    }

    /// Settings that may change while the store is open.
    pub fn settings(&self) -> &CommitSettings {
        &self.shared.settings
    }

    /// What the commit path counted.
    pub fn commit_figures(&self) -> &CommitFigures {
        &self.shared.figures
    }

    /// Lock waits, deadlocks and lock wait timeouts so far.
    pub fn lock_figures(&self) -> [u64; 3] {
        self.locks.figures()
    }

    /// The engines, by [`EngineId`].
    pub fn engines(&self) -> &[Arc<dyn Engine>] {
        &self.shared.engines
    }

    /// Adds sorted entries of a range that nothing committed refers to; durable when it returns
    /// (see [`Engine::load`]).
    pub fn load(
        &self,
        engine: EngineId,
        entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>,
    ) -> Result<(), WriteError> {
        self.engine(engine).load(entries)
    }

    /// Removes a range that nothing committed refers to any more (see [`Engine::erase`]).
    pub fn erase(&self, engine: EngineId, range: &KeyRange) -> Result<(), WriteError> {
        self.engine(engine).erase(range)
    }

    /// Why the last checkpoint was not taken, if it was not: the journal keeps growing.
    pub fn checkpoint_refusal(&self) -> Option<String> {
        match &self.path {
            CommitPath::Journal(coordinator) => coordinator.background.refusal(),
            CommitPath::TwoPhase(_) => None,
        }
    }

    /// Asks for a checkpoint soon.
    pub fn want_checkpoint(&self) {
        if let CommitPath::Journal(coordinator) = &self.path {
            coordinator.background.want_checkpoint();
        }
    }

    /// Refuses new commits, finishes those in the queue, takes a last checkpoint and ends the threads.
    /// Returns what went wrong with the checkpoint, if anything: the next start then replays more.
    pub fn close(&self) -> Result<(), String> {
        self.drain();
        if let CommitPath::Journal(coordinator) = &self.path {
            coordinator.stop_writers();
            coordinator.background.stop();
        }
        for thread in self.threads.lock().drain(..) {
            thread.join().map_err(|_| "a background thread panicked".to_owned())?;
        }
        match (self.closed(), &self.path) {
            (Some(CommitError::Sealed(reason)), _) => Err(reason),
            (_, CommitPath::Journal(coordinator)) => {
                checkpoint::take_last(coordinator).map_err(|error| error.to_string())
            }
            (_, CommitPath::TwoPhase(steps)) => steps.close().map_err(|error| error.to_string()),
        }
    }

    /// Refuses new commits and finishes those on the way.
    pub(crate) fn drain(&self) {
        match &self.path {
            CommitPath::Journal(coordinator) => coordinator.drain(),
            CommitPath::TwoPhase(steps) => steps.drain(),
        }
    }

    /// While commits are held, they join the queue and stay there until [`Store::take_cohort`]; a commit that
    /// waits for its outcome would wait for ever. Only for a store without threads, and not for a classic
    /// protocol.
    pub fn hold_commits(&self, held: bool) {
        if let CommitPath::Journal(coordinator) = &self.path {
            coordinator.hold(held);
        }
    }

    /// Takes everything queued as the next cohort. Only for a store without threads.
    pub fn take_cohort(&self) -> Option<LaidOutCohort> {
        match &self.path {
            CommitPath::Journal(coordinator) => coordinator.take_cohort(),
            CommitPath::TwoPhase(_) => None,
        }
    }

    /// Takes a checkpoint now; the one before still counts after an error. A classic protocol has none.
    pub fn take_checkpoint(&self) -> Result<(), String> {
        match &self.path {
            CommitPath::Journal(coordinator) => checkpoint::take(coordinator).map_err(|error| error.to_string()),
            CommitPath::TwoPhase(_) => Ok(()),
        }
    }

    /// What the background does ahead of need: journal segments, the next binlog file.
    pub fn prepare_ahead(&self) {
        match &self.path {
            CommitPath::Journal(coordinator) => checkpoint::prepare_ahead(coordinator),
            CommitPath::TwoPhase(steps) => steps.prepare_ahead(),
        }
    }

    #[cfg(test)]
    pub(crate) fn coordinator(&self) -> &Coordinator {
        match &self.path {
            CommitPath::Journal(coordinator) => coordinator,
            CommitPath::TwoPhase(_) => panic!("the store has no journal"),
        }
    }

    #[cfg(test)]
    pub(crate) fn steps(&self) -> &Steps {
        match &self.path {
            CommitPath::Journal(_) => panic!("the journal has no steps"),
            CommitPath::TwoPhase(steps) => steps,
        }
    }

    pub(crate) fn engine(&self, engine: EngineId) -> &dyn Engine {
        &*self.shared.engines[usize::from(engine.0)]
    }

    pub(crate) fn check_size(&self, log_bytes: u64) -> Result<(), CommitError> {
        self.shared.check_size(log_bytes)
    }

    pub(crate) fn held_snapshots(&self) -> &HeldSnapshots {
        &self.shared.held_snapshots
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.shared.overlay
    }

    pub(crate) fn locks(&self) -> &LockManager {
        &self.locks
    }

    /// For a new holder of locks, which has none.
    pub(crate) fn new_locks(&self) -> HeldLocks {
        HeldLocks::new(TransactionId(self.next_transaction.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn xa(&self) -> &Arc<XaRegistry> {
        &self.xa
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.expect("a server that cannot start its few own threads cannot run")
}

#[derive(Default)]
struct Outcome {
    outcome: Mutex<Option<Result<Committed, CommitError>>>,
    there: Condvar,
}

impl Outcome {
    fn wait(&self) -> Result<Committed, CommitError> {
        let mut outcome = self.outcome.lock();
        if let Some(outcome) = outcome.take() {
            return outcome;
        }
        blocking(|| {
            loop {
                self.there.wait(&mut outcome);
                if let Some(outcome) = outcome.take() {
                    return outcome;
                }
            }
        })
    }
}

/// The reply of a committer that waits.
struct WaitingReply(Arc<Outcome>);

impl WaitingReply {
    fn with_outcome() -> (Box<dyn Reply>, Arc<Outcome>) {
        let outcome = Arc::<Outcome>::default();
        (Box::new(WaitingReply(outcome.clone())), outcome)
    }
}

impl Reply for WaitingReply {
    fn send(self: Box<Self>, outcome: Result<Committed, CommitError>) {
        *self.0.outcome.lock() = Some(outcome);
        self.0.there.notify_all();
    }
}
