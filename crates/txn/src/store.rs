//! The store: engines, journal, binlog, locks and coordinator of one data directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use cohort_engine::{Engine, EngineId, KeyRange, WriteError};
use cohort_io::{Clock, FileSystem};
use cohort_log::binlog::{
    BinlogFiles, BinlogOptions, BinlogPosition, EventOptions, FileStart, GtidSet, RowMetadata, ServerIdentity,
    ServerUuid, TransactionEvents,
};
use cohort_log::journal::{Journal, JournalOptions};
use parking_lot::{Condvar, Mutex};

use crate::checkpoint::{self, Background};
use crate::commit::{CommitError, CommitSettings, Committed, Coordinator, Published, Reply};
use crate::figures::CommitFigures;
use crate::locks::{HeldLocks, LockManager, TransactionId};
use crate::overlay::Overlay;
use crate::recovery::{self, RecoverError, RecoveryReport};
use crate::transaction::Transaction;

/// How to open a store.
pub struct StoreOptions {
    /// Directory of the journal's segments.
    pub journal_dir: PathBuf,
    /// Size of segments and the like.
    pub journal: JournalOptions,
    /// Where the binlog is and what its events say about the server.
    pub binlog: BinlogOptions,
    /// What events say about the server.
    pub identity: ServerIdentity,
    /// The source part of new GTIDs.
    pub server_uuid: ServerUuid,
    /// Durability and file sizes at the start.
    pub settings: CommitSettings,
    /// Journal bytes between checkpoints.
    pub checkpoint_bytes: u64,
}

/// An open store. Shared by all sessions.
pub struct Store {
    coordinator: Arc<Coordinator>,
    locks: LockManager,
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

    /// [`Store::open`] without threads: every commit is written by its session, and checkpoints are
    /// taken by hand.
    pub(crate) fn recover(
        options: StoreOptions,
        fs: Arc<dyn FileSystem>,
        clock: Arc<dyn Clock>,
        engines: Vec<Arc<dyn Engine>>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Arc<Store>, RecoveryReport), RecoverError> {
        let (journal, scan) = Journal::open(fs.clone(), &options.journal_dir, options.journal)?;
        let journal = Arc::new(journal);
        for engine in &engines {
            let journal = Arc::downgrade(&journal);
            // A failure seals the journal, which the next commit reports.
            engine.sync_log_first(Box::new(move || drop(journal.upgrade().map(|journal| journal.sync()))));
        }
        let binlog = BinlogFiles::open(fs, options.binlog)?;
        let (start, report) = recovery::recover(&journal, scan, &binlog, &engines, progress)?;
        let event_options = EventOptions { server_id: options.identity.server_id, ..EventOptions::default() };
        let coordinator = Coordinator::new(
            engines,
            journal,
            binlog,
            options.settings,
            Background::new(options.checkpoint_bytes),
            clock,
            options.server_uuid,
            options.identity,
            start,
        );
        let store = Arc::new(Store {
            coordinator: Arc::new(coordinator),
            locks: LockManager::new(),
            next_transaction: AtomicU64::new(1),
            event_options,
            threads: Mutex::default(),
        });
        checkpoint::prepare_ahead(&store.coordinator);
        store.begin_file(FileStart::ServerStart)?;
        Ok((store, report))
    }

    fn start_threads(&self) {
        let mut threads = self.threads.lock();
        for number in 1..=LOG_WRITERS {
            let coordinator = self.coordinator.clone();
            threads.push(spawn(&format!("log-writer-{number}"), move || coordinator.write_log()));
        }
        let coordinator = self.coordinator.clone();
        threads.push(spawn("checkpoint", move || coordinator.background.run(&coordinator)));
    }

    /// Begins a transaction.
    pub fn begin(self: &Arc<Self>) -> Transaction {
        let id = TransactionId(self.next_transaction.fetch_add(1, Ordering::Relaxed));
        let row_metadata = match self.settings().full_row_metadata.load(Ordering::Relaxed) {
            false => RowMetadata::Minimal,
            true => RowMetadata::Full,
        };
        let options = EventOptions { row_metadata, ..self.event_options.clone() };
        Transaction::new(self.clone(), HeldLocks::new(id), TransactionEvents::new(options))
    }

    /// Commits; `reply` gets the outcome, from this thread or from a log writer, maybe before this
    /// returns.
    pub fn commit(&self, transaction: Transaction, reply: Box<dyn Reply>) {
        self.coordinator.commit(transaction, reply);
    }

    /// Commits and waits for the outcome.
    pub fn commit_and_wait(&self, transaction: Transaction) -> Result<Committed, CommitError> {
        let (reply, outcome) = WaitingReply::with_outcome();
        self.coordinator.commit(transaction, reply);
        outcome.wait()
    }

    /// Ends the current binlog file and begins the next (FLUSH BINARY LOGS).
    pub fn rotate_binlog(&self) -> Result<Committed, CommitError> {
        self.begin_file(FileStart::Rotation)
    }

    fn begin_file(&self, start: FileStart) -> Result<Committed, CommitError> {
        let (reply, outcome) = WaitingReply::with_outcome();
        self.coordinator.begin_file(start, reply);
        outcome.wait()
    }

    /// The newest snapshot: order, binlog position, and a view of every engine.
    pub fn published(&self) -> Arc<Published> {
        self.coordinator.published()
    }

    /// The binlog position and the GTIDs of everything applied, as one consistent pair.
    pub fn executed(&self) -> (BinlogPosition, GtidSet) {
        let frontier = self.coordinator.frontier();
        (frontier.note.position, frontier.note.gtids)
    }

    /// Why commits are refused, if they are (a failed log write, a shutdown).
    pub fn closed(&self) -> Option<CommitError> {
        self.coordinator.closed()
    }

    /// The binlog's files.
    pub fn binlog(&self) -> &BinlogFiles {
        &self.coordinator.binlog
    }

    /// The journal.
    pub fn journal(&self) -> &Journal {
        &self.coordinator.journal
    }

    /// Settings that may change while the store is open.
    pub fn settings(&self) -> &CommitSettings {
        &self.coordinator.settings
    }

    /// What the commit path counted.
    pub fn commit_figures(&self) -> &CommitFigures {
        &self.coordinator.figures
    }

    /// Lock waits, deadlocks and lock wait timeouts so far.
    pub fn lock_figures(&self) -> [u64; 3] {
        self.locks.figures()
    }

    /// The engines, by [`EngineId`].
    pub fn engines(&self) -> &[Arc<dyn Engine>] {
        &self.coordinator.engines
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

    /// Asks for a checkpoint soon.
    pub fn want_checkpoint(&self) {
        self.coordinator.background.want_checkpoint();
    }

    /// Refuses new commits, finishes those in the queue, takes a last checkpoint and ends the threads.
    /// Returns what went wrong with the checkpoint, if anything: the next start then replays more.
    pub fn close(&self) -> Result<(), String> {
        self.coordinator.drain();
        self.coordinator.stop_writers();
        self.coordinator.background.stop();
        for thread in self.threads.lock().drain(..) {
            thread.join().map_err(|_| "a background thread panicked".to_owned())?;
        }
        match self.coordinator.closed() {
            Some(CommitError::Sealed(reason)) => Err(reason),
            _ => checkpoint::take_last(&self.coordinator).map_err(|error| error.to_string()),
        }
    }

    #[cfg(test)]
    pub(crate) fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    pub(crate) fn engine(&self, engine: EngineId) -> &dyn Engine {
        &*self.coordinator.engines[usize::from(engine.0)]
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.coordinator.overlay
    }

    pub(crate) fn locks(&self) -> &LockManager {
        &self.locks
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
        loop {
            match outcome.take() {
                Some(outcome) => return outcome,
                None => self.there.wait(&mut outcome),
            }
        }
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
