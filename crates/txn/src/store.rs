//! The store: engines, logs, locks and commit path of one data directory, open.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;

use cohort_binlog::{
    BinlogError, BinlogFiles, BinlogPosition, EventOptions, FileStart, Gtid, GtidSet, RowMetadata, ServerUuid,
    TransactionEvents,
};
use cohort_engine::{Engine, EngineId, KeyRange, WriteError};
use cohort_io::SyncStats;
use cohort_journal::Journal;

use crate::blocking_hook::blocking;
use crate::change_capture::ChangeCapture;
use crate::commit_path::CommitPath;
use crate::given_gtids::{GtidClaim, OwnedGtid};
use crate::journaled::commit::{Coordinator, LaidOutCohort};
use crate::lock_profile::LockProfile;
use crate::locks::MetadataName;
use crate::options::GtidMode;
use crate::outcome::{CommitError, CommitSettings, Committed, Reply};
use crate::rests_on::RestsOn;
use crate::session_locks::{MetadataLock, SessionLocks};
use crate::shared::{Published, Shared};
use crate::stats::CommitStats;
use crate::sync::{Condvar, Mutex};
use crate::transaction::Transaction;

/// An open store. Shared by all sessions.
pub struct Store {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: Arc<dyn CommitPath>,
    event_options: EventOptions,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// A store without threads.
    pub(crate) fn new(shared: Arc<Shared>, path: Arc<dyn CommitPath>) -> Arc<Store> {
        let (server_id, number_xa) = (shared.identity.server_id, path.numbers_xa());
        let event_options = EventOptions { server_id, number_xa, ..EventOptions::default() };
        Arc::new(Store { shared, path, event_options, threads: Mutex::default() })
    }

    pub(crate) fn start_threads(&self) {
        let workers = self.path.clone().workers().into_iter().map(|(name, body)| {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
            thread.expect("a server that cannot start its few own threads cannot run")
        });
        self.threads.lock().extend(workers);
    }

    /// Begins a transaction.
    pub fn begin(self: &Arc<Self>) -> Transaction {
        let row_metadata = match self.settings().full_row_metadata.load(Ordering::Relaxed) {
            false => RowMetadata::Minimal,
            true => RowMetadata::Full,
        };
        let options = EventOptions { row_metadata, ..self.event_options.clone() };
        self.shared.open_transactions.fetch_add(1, Ordering::Relaxed);
        Transaction::new(self.shared.clone(), TransactionEvents::new(options))
    }

    /// Locks for a session, none as yet.
    pub fn session_locks(&self) -> SessionLocks {
        SessionLocks::new(self.shared.clone())
    }

    /// Whether somebody keeps definitions, and the files of the binlog, from changing for a backup.
    pub fn is_locked_for_backup(&self) -> bool {
        self.shared.locks.strong_holder(&MetadataName::Backup).is_some()
    }

    /// Every metadata lock of the server.
    pub fn metadata_locks(&self) -> Vec<MetadataLock> {
        let all = self.shared.locks.all_metadata().into_iter();
        all.map(|(id, name, mode, granted)| MetadataLock { owner: id.0, name, mode, granted }).collect()
    }

    /// Commits; `reply` gets the outcome, from this thread or from a log writer, maybe before this
    /// returns.
    pub fn commit(&self, transaction: Transaction, reply: Box<dyn Reply>) {
        self.path.commit(transaction, reply);
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
        let durable = self.path.is_durable(order);
        if durable {
            rests_on.take();
        }
        durable
    }

    /// Takes what `rests_on` notes; `reply` gets `Ok` when that is durable and [`CommitError::Unknown`] when it could not
    /// be made so: the transaction that saw it must be rolled back. From this thread or from a log writer, maybe before
    /// this returns.
    pub fn when_durable(&self, rests_on: &RestsOn, reply: Box<dyn Reply>) {
        self.path.when_durable(rests_on.take(), reply);
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

    /// Waits until everything that has its place in the commit order is durable, in the binlog's files, and seen by readers:
    /// from now on these change by later commits only. [`CommitError::Unknown`] if that could not be made so.
    pub fn settle(&self) -> Result<(), CommitError> {
        let (reply, outcome) = WaitingReply::with_outcome();
        self.path.when_durable(self.path.newest_ordered(), reply);
        outcome.wait().map(drop)
    }

    /// `server_id`, of the events in the binlog.
    pub fn server_id(&self) -> u32 {
        self.shared.identity.server_id
    }

    /// Whether new transactions have GTIDs.
    pub fn gtid_mode(&self) -> GtidMode {
        self.shared.gtid_mode
    }

    /// The source in this server's GTIDs.
    pub fn server_uuid(&self) -> ServerUuid {
        self.shared.server_uuid
    }

    /// Whether transactions go into the binlog.
    pub fn log_bin(&self) -> bool {
        self.shared.log_bin
    }

    /// Ends the current binlog file and begins the next (FLUSH BINARY LOGS); without a binlog nothing happens. Where
    /// there is no room for a file nothing happens either ([`CommitError::NoSpace`]).
    pub fn rotate_binlog(&self) -> Result<Committed, CommitError> {
        if self.shared.log_bin {
            self.shared.prepare_binlog_file()?;
        }
        // Where another rotation has taken that file since, it ended the one that was current.
        self.begin_file(FileStart::Rotation)
    }

    /// Removes the binlog files before `first_kept` (PURGE BINARY LOGS), but for those that the next start needs, from
    /// the last checkpoint on, which is taken now if that can be, and those that somebody reads.
    pub fn purge_binlog(&self, first_kept: u64) -> Result<Vec<String>, BinlogError> {
        if let Err(error) = self.take_checkpoint() {
            log::warn!("no checkpoint before the purge, which may remove less: {error}");
        }
        let needed = self.path.purge_floor().min(self.binlog().tail().oldest_followed().unwrap_or(u64::MAX));
        let oldest = self.binlog().list().first().map_or(0, |file| file.number);
        self.binlog().purge_before(first_kept.min(needed).max(oldest))
    }

    pub(crate) fn begin_file(&self, start: FileStart) -> Result<Committed, CommitError> {
        if !self.shared.log_bin {
            return Ok(Committed { gtid: None, position: self.published().position });
        }
        let (reply, outcome) = WaitingReply::with_outcome();
        self.path.begin_file(start, reply);
        outcome.wait()
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

    /// Waits until all of `set` is executed; false if `deadline` came first or `ended` is so, which is asked several times
    /// a second.
    pub fn wait_until_executed(&self, set: &GtidSet, deadline: Option<Instant>, ended: &dyn Fn() -> bool) -> bool {
        self.shared.wait_until_executed(set, deadline, ended)
    }

    /// Makes `gtid` the caller's, for a transaction to come ([`Transaction::set_gtid`]). Waits while another session owns
    /// it; `ended` is asked several times a second whether the caller is to end. `connection` is the caller's.
    pub fn claim_gtid(&self, gtid: Gtid, connection: u64, ended: &dyn Fn() -> bool) -> GtidClaim {
        OwnedGtid::claim(&self.shared, gtid, connection, ended)
    }

    /// GTIDs that sessions own, in order, with their connections (`gtid_owned`).
    pub fn owned_gtids(&self) -> Vec<(Gtid, u64)> {
        self.shared.given_gtids.lock().owned().iter().map(|(gtid, connection)| (*gtid, *connection)).collect()
    }

    /// Why commits are refused, if they are (a failed log write, a shutdown).
    pub fn closed(&self) -> Option<CommitError> {
        self.path.closed()
    }

    /// The binlog's files.
    pub fn binlog(&self) -> &BinlogFiles {
        &self.shared.binlog
    }

    /// The journal; none with a classic protocol.
    pub fn journal(&self) -> Option<&Journal> {
        self.path.journal()
    }

    /// The commit path's locks and what they cost so far, those that were waited for longest first.
    pub fn lock_profile(&self) -> Vec<LockProfile> {
        let mut profile = self.path.lock_profile();
        profile.sort_by_key(|line| (std::cmp::Reverse(line.cost.wait_ns), line.lock, line.caller));
        profile
    }

    /// Writes and syncs of the coordinator's log, where that is neither journal nor binlog.
    pub fn coordinator_log(&self) -> Option<SyncStats> {
        self.path.coordinator_log()
    }

    /// Settings that may change while the store is open.
    pub fn settings(&self) -> &CommitSettings {
        &self.shared.settings
    }

    /// What the commit path counted.
    pub fn commit_stats(&self) -> &CommitStats {
        &self.shared.stats
    }

    /// Lock waits, deadlocks and lock wait timeouts so far.
    pub fn lock_stats(&self) -> [u64; 3] {
        self.shared.locks.stats()
    }

    /// The engines, by [`EngineId`].
    pub fn engines(&self) -> &[Arc<dyn Engine>] {
        &self.shared.engines
    }

    /// Notes from now on which keys of `range` commits change. The caller keeps every transaction that has changed one
    /// away, and lets new ones begin afterwards: the changes of others might be missed.
    pub fn capture_changes(&self, engine: EngineId, range: KeyRange) -> ChangeCapture {
        ChangeCapture::begin(&self.shared.captures, engine, range)
    }

    /// Adds sorted entries of a range that nothing committed refers to; durable when it returns
    /// (see [`Engine::load`]).
    pub fn load(
        &self,
        engine: EngineId,
        entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>,
    ) -> Result<(), WriteError> {
        self.shared.engine(engine).load(entries)
    }

    /// Removes a range that nothing committed refers to any more (see [`Engine::erase`]).
    pub fn erase(&self, engine: EngineId, range: &KeyRange) -> Result<(), WriteError> {
        self.shared.engine(engine).erase(range)
    }

    /// Why the last checkpoint was not taken, if it was not: the journal keeps growing.
    pub fn checkpoint_refusal(&self) -> Option<String> {
        self.path.checkpoint_refusal()
    }

    /// Asks for a checkpoint soon.
    pub fn want_checkpoint(&self) {
        self.path.want_checkpoint();
    }

    /// Refuses new commits, finishes those in the queue, takes a last checkpoint and ends the threads.
    /// Returns what went wrong with the checkpoint, if anything: the next start then replays more.
    pub fn close(&self) -> Result<(), String> {
        self.drain();
        self.path.stop();
        for thread in self.threads.lock().drain(..) {
            thread.join().map_err(|_| "a background thread panicked".to_owned())?;
        }
        match self.closed() {
            Some(CommitError::Sealed(reason)) => Err(reason),
            _ => self.path.close(),
        }
    }

    /// Refuses new commits and finishes those on the way.
    pub(crate) fn drain(&self) {
        self.path.drain();
    }

    /// While commits are held, they join the queue and stay there until [`Store::take_cohort`]; a commit that
    /// waits for its outcome would wait for ever. Only for a store without threads, and not for a classic
    /// protocol.
    pub fn hold_commits(&self, held: bool) {
        if let Some(coordinator) = (&*self.path as &dyn Any).downcast_ref::<Coordinator>() {
            coordinator.hold(held);
        }
    }

    /// Takes everything queued as the next cohort. Only for a store without threads.
    pub fn take_cohort(&self) -> Option<LaidOutCohort> {
        let path: Arc<dyn Any + Send + Sync> = self.path.clone();
        path.downcast::<Coordinator>().ok()?.take_cohort()
    }

    /// Takes a checkpoint now; the one before still counts after an error. A classic protocol has none.
    pub fn take_checkpoint(&self) -> Result<(), String> {
        self.path.take_checkpoint()
    }

    /// What the background does ahead of need: journal segments, the next binlog file.
    pub fn prepare_ahead(&self) {
        self.path.prepare_ahead();
    }

    /// The commit path, which is a `P`.
    #[cfg(test)]
    pub(crate) fn path<P: CommitPath>(&self) -> &P {
        (&*self.path as &dyn Any).downcast_ref().expect("the store commits so")
    }
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

#[cfg(test)]
mod tests;
