//! What every way to commit shares: the engines, the binlog, and what readers see of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use cohort_binlog::{
    BinlogError, BinlogFiles, BinlogPosition, FileStart, GtidSet, LargeEvents, ServerIdentity, ServerUuid,
    TransactionEvents,
};
use cohort_engine::{Engine, EngineId, Position, Snapshot, WriteError};
use cohort_io::Clock;
use cohort_journal::Lsn;

use crate::blocking_hook::blocking;
use crate::change_capture::{CapturedCommit, Captures};
use crate::given_gtids::{GivenGtids, NewGtids, OwnedGtid};
use crate::held_snapshot::HeldSnapshots;
use crate::large::{LargeParts, LargeStore};
use crate::locks::{HeldLocks, LockManager, TransactionId};
use crate::options::GtidMode;
use crate::outcome::{CommitError, CommitSettings, Committed};
use crate::overlay::Overlay;
use crate::rests_on::RestsOn;
use crate::stats::CommitStats;
#[cfg(test)]
use crate::sync;
use crate::sync::{AtomicU64, AtomicUsize, Mutex};
use crate::write_set::WriteSet;
use crate::xa::registry::XaRegistry;

/// Whatever readers see is durable.
pub(crate) const ALL_DURABLE: u64 = u64::MAX;

/// Why an answer that rests on a failed write is an error.
pub(crate) const READ_UNWRITTEN: &str = "it read what could not be written";

/// How often an engine without room is asked again.
pub(crate) const ROOM_RETRY: Duration = Duration::from_millis(100);

/// How often one who waits for GTIDs looks whether it was killed.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Room for a ROTATE event and the header of a new file without its GTID set, bytes. Some is left for GTIDs that sessions
/// come to own after it was set aside.
pub(crate) const ROTATION_BYTES_MAX: u64 = 4096;

/// Upper bound of what the head of a journal record grows by for one more transaction, bytes.
const HEAD_BYTES_PER_TRANSACTION: u64 = 128;

/// Why no commits are taken.
#[derive(Clone)]
pub(crate) enum Closed {
    Sealed(String),
    ShuttingDown,
}

impl From<Closed> for CommitError {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::Sealed(reason) => CommitError::Sealed(reason),
            Closed::ShuttingDown => CommitError::ShuttingDown,
        }
    }
}

/// A prefix of the commit order, readable in every engine.
pub struct Published {
    /// Order of the last transaction in it.
    pub order: u64,
    /// Where it ends in the binlog.
    pub position: BinlogPosition,
    snapshots: Vec<Arc<dyn Snapshot>>,
    /// By engine, the order of the last transaction that changed it.
    changed: Vec<u64>,
}

impl Published {
    /// By engine.
    pub(crate) fn views(&self) -> &[Arc<dyn Snapshot>] {
        &self.snapshots
    }

    /// The order of the last transaction that changed `engine`, or a later one.
    pub(crate) fn changed(&self, engine: EngineId) -> u64 {
        self.changed[usize::from(engine.0)]
    }

    pub(crate) fn engine(&self, engine: EngineId) -> &dyn Snapshot {
        &*self.snapshots[usize::from(engine.0)]
    }
}

/// The end of the binlog somewhere in the commit order, and the GTIDs executed by then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub position: BinlogPosition,
    pub gtids: GtidSet,
}

/// Up to where everything is applied: where a checkpoint may be taken.
#[derive(Clone, Debug)]
pub(crate) struct Frontier {
    pub lsn: Lsn,
    pub note: Note,
}

/// What the binlog's order and the engines need of a transaction.
pub(crate) struct Member {
    /// Place in the commit order; 0 before it has one.
    pub order: u64,
    /// Number in its XID event.
    pub xid: u64,
    pub redo: Vec<(EngineId, Vec<u8>)>,
    pub events: Option<TransactionEvents>,
    /// What a large transaction has in files instead of both.
    pub large: Option<LargeParts>,
    /// A file that begins here; such a member has no events.
    pub begins_file: Option<FileStart>,
    /// Order of a transaction whose versions this one wrote over while they were in flight.
    pub depends_on: Option<u64>,
    /// The GTID that its session chose; it stays owned until the member is gone.
    pub gtid: Option<OwnedGtid>,
    /// What captures have noted of its changes; they are in flight until the member is gone.
    pub captured: Vec<CapturedCommit>,
    /// Binlog bytes set aside, for a rotation in front of its events too.
    pub binlog_room: u64,
    /// Of them, those for the rotation.
    pub rotation_room: u64,
    /// Filled in by the layout.
    pub committed: Option<Committed>,
}

impl Member {
    /// One that begins a file.
    pub fn of_file(start: FileStart, binlog_room: u64) -> Member {
        Member { begins_file: Some(start), rotation_room: binlog_room, ..Member::new(Vec::new(), None, binlog_room) }
    }

    /// Whether it is in the binlog.
    pub fn is_logged(&self) -> bool {
        self.events.is_some() || self.large_events().is_some()
    }

    /// Its events, if they are in a file of their own.
    pub fn large_events(&self) -> Option<&LargeEvents> {
        self.large.as_ref()?.events.as_ref()
    }

    /// Bytes that a log of everything it does would take.
    pub fn log_bytes(&self) -> u64 {
        let redo: u64 = self.redo.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        // The file's header names the GTIDs that are added, and so does the head of the record.
        let added = if self.begins_file == Some(FileStart::GtidsAdded) { self.rotation_room } else { 0 };
        self.binlog_room + redo + added + HEAD_BYTES_PER_TRANSACTION
    }

    pub fn new(redo: Vec<(EngineId, Vec<u8>)>, events: Option<TransactionEvents>, binlog_room: u64) -> Member {
        Member {
            order: 0,
            xid: 0,
            redo,
            events,
            large: None,
            begins_file: None,
            depends_on: None,
            gtid: None,
            captured: Vec::new(),
            binlog_room,
            rotation_room: 0,
            committed: None,
        }
    }
}

pub(crate) struct Shared {
    pub engines: Vec<Arc<dyn Engine>>,
    pub overlay: Overlay,
    pub binlog: Arc<BinlogFiles>,
    /// Where large transactions have their files; `None` where there are none.
    pub large: Option<Arc<LargeStore>>,
    /// Whether anything goes into it.
    pub log_bin: bool,
    pub settings: CommitSettings,
    pub stats: CommitStats,
    pub locks: LockManager,
    pub xa: Arc<XaRegistry>,
    next_transaction: std::sync::atomic::AtomicU64,
    /// Transactions that have begun and not ended, prepared ones included; one in the queue has ended.
    pub open_transactions: AtomicUsize,
    /// The oldest transaction that readers see and that is not durable; [`ALL_DURABLE`] under the journal.
    pub oldest_undurable: AtomicU64,
    /// The newest such transaction; written before the oldest, so that whoever finds one there finds it here.
    pub newest_undurable: AtomicU64,
    pub held_snapshots: HeldSnapshots,
    pub captures: Arc<Captures>,
    pub clock: Arc<dyn Clock>,
    pub gtid_mode: GtidMode,
    pub server_uuid: ServerUuid,
    pub identity: ServerIdentity,
    frontier: Mutex<Frontier>,
    executed_waiters: GtidWaiters,
    /// GTIDs of ordered transactions and of owners.
    pub given_gtids: GivenGtids,
    /// Those who wait for an owner to give its GTID up.
    pub gtid_waiters: GtidWaiters,
    published: ArcSwap<Published>,
}

impl Shared {
    /// Begins after the last transaction of `frontier`, whose order is `order`.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        engines: Vec<Arc<dyn Engine>>,
        binlog: Arc<BinlogFiles>,
        log_bin: bool,
        settings: CommitSettings,
        clock: Arc<dyn Clock>,
        gtid_mode: GtidMode,
        server_uuid: ServerUuid,
        identity: ServerIdentity,
        frontier: Frontier,
        order: u64,
    ) -> Self {
        let snapshots = engines.iter().map(|engine| engine.snapshot()).collect();
        let changed = vec![order; engines.len()];
        binlog.tail().announce(frontier.note.position);
        let published = Published { order, position: frontier.note.position, snapshots, changed };
        Shared {
            overlay: Overlay::new(engines.len()),
            engines,
            binlog,
            large: None,
            log_bin,
            settings,
            stats: CommitStats::default(),
            locks: LockManager::new(),
            xa: Arc::default(),
            next_transaction: std::sync::atomic::AtomicU64::new(1),
            open_transactions: AtomicUsize::new(0),
            oldest_undurable: AtomicU64::new(ALL_DURABLE),
            newest_undurable: AtomicU64::new(ALL_DURABLE),
            held_snapshots: HeldSnapshots::default(),
            captures: Arc::default(),
            clock,
            gtid_mode,
            server_uuid,
            identity,
            given_gtids: GivenGtids::after(frontier.note.gtids.clone()),
            gtid_waiters: GtidWaiters::default(),
            frontier: Mutex::new(frontier),
            executed_waiters: GtidWaiters::default(),
            published: ArcSwap::from_pointee(published),
        }
    }

    /// Has large transactions go to files while they run.
    pub fn take_large_transactions(&mut self) {
        self.large = Some(Arc::new(LargeStore::new(self.binlog.clone(), self.engines.clone())));
    }

    /// What a transaction with `writes` and `events` commits; `None` when that is nothing. Room for its events is set
    /// aside in the binlog. After an error nothing is; [`CommitError::Sealed`] then says that an engine
    /// or the binlog takes no more writes.
    pub fn admit(&self, writes: &WriteSet, events: Option<TransactionEvents>) -> Result<Option<Member>, CommitError> {
        if writes.is_empty() && events.is_none() {
            return Ok(None);
        }
        let redo: Vec<_> = writes.engines().map(|(engine, keys)| (engine, WriteSet::redo(keys))).collect();
        let rotation_room = if events.is_some() { self.rotation_room() } else { 0 };
        let binlog_room = events.as_ref().map_or(0, |events| events.byte_len() + rotation_room);
        let mut member = Member { rotation_room, ..Member::new(redo, events, binlog_room) };
        self.check_size(member.log_bytes())?;
        for (engine, _) in &member.redo {
            self.engines[usize::from(engine.0)].ready().map_err(CommitError::of_engine)?;
        }
        self.reserve_binlog(member.binlog_room)?;
        member.captured = self.captures.note(writes, || self.settings.capture_bytes_max.load(Ordering::Relaxed));
        Ok(Some(member))
    }

    pub fn engine(&self, engine: EngineId) -> &dyn Engine {
        &*self.engines[usize::from(engine.0)]
    }

    /// For a new holder of locks, which has none.
    pub fn new_locks(&self) -> HeldLocks {
        HeldLocks::new(TransactionId(self.next_transaction.fetch_add(1, Ordering::Relaxed)))
    }

    /// Notes that a read found in an engine what is not durable, if it may have: in the newest version, or in the
    /// snapshot of this order.
    pub fn note_engine_read(&self, snapshot: Option<u64>, rests_on: &RestsOn) {
        let oldest = self.oldest_undurable.load(Ordering::Acquire);
        if oldest == ALL_DURABLE {
            return;
        }
        let newest = match snapshot {
            Some(snapshot) => Some(snapshot).filter(|snapshot| *snapshot >= oldest),
            None => Some(self.newest_undurable.load(Ordering::Acquire)).filter(|newest| *newest != ALL_DURABLE),
        };
        newest.into_iter().for_each(|order| rests_on.note(order));
    }

    /// Refuses a transaction with so many bytes of log.
    pub fn check_size(&self, bytes: u64) -> Result<(), CommitError> {
        let max = self.transaction_bytes_max();
        if bytes > max { Err(CommitError::TooLarge { bytes, max }) } else { Ok(()) }
    }

    pub fn transaction_bytes_max(&self) -> u64 {
        self.settings.transaction_bytes_max.load(Ordering::Relaxed)
    }

    /// Room for a rotation, bytes.
    pub fn rotation_room(&self) -> u64 {
        ROTATION_BYTES_MAX + self.given_gtids.header_bytes_max()
    }

    /// Sets room aside in the binlog, so that nothing ordered can fail for lack of it (I8).
    pub fn reserve_binlog(&self, bytes: u64) -> Result<(), CommitError> {
        self.binlog.reserve(bytes).map_err(|error| refused(&error))
    }

    /// Holds so many transactions, whose events are durable and end at `end`, until replicas have them, where that is
    /// enabled. Nobody sees them before.
    pub fn wait_for_replicas(&self, end: BinlogPosition, transactions: u64) {
        let acks = self.binlog.acks();
        if transactions > 0 && acks.are_enabled() {
            blocking(|| acks.wait(end, transactions));
        }
    }

    /// Gives the room back that was set aside in the binlog for one that is not ordered.
    pub fn give_binlog_room_back(&self, member: &Member) {
        self.binlog.release(member.binlog_room);
        member.large_events().into_iter().for_each(|events| self.binlog.refuse_large(events));
    }

    /// Makes the next binlog file ready, so that a rotation finds it.
    pub fn prepare_binlog_file(&self) -> Result<(), CommitError> {
        self.binlog.prepare_next().map_err(|error| refused(&error))
    }

    /// The same ahead of need.
    pub fn prepare_binlog_file_ahead(&self) {
        if self.log_bin
            && let Err(error) = self.binlog.prepare_next()
        {
            log::warn!("cannot prepare the next binlog file: {error}");
        }
        self.binlog.store_points();
    }

    /// The newest snapshot.
    pub fn published(&self) -> Arc<Published> {
        self.published.load_full()
    }

    /// The newest snapshot, and the GTIDs of everything in it.
    pub fn published_with_gtids(&self) -> (Arc<Published>, GtidSet) {
        // A publication changes both under this mutex.
        let frontier = self.frontier.lock();
        (self.published(), frontier.note.gtids.clone())
    }

    pub fn frontier(&self) -> Frontier {
        self.frontier.lock().clone()
    }

    /// Shows readers what the engines have, `last` with it, of which `wrote` were changed; `gtids` are new since the call before, and
    /// the log ends at `end`. Order and position never go back, whoever is the last to call.
    pub fn publish(&self, last: &Member, wrote: &[EngineId], gtids: &NewGtids, end: Lsn) {
        let position = last.committed.as_ref().expect("layout filled it in").position;
        let mut frontier = self.frontier.lock();
        let before = self.published.load();
        let position = before.position.max(position);
        let order = before.order.max(last.order);
        let mut changed = before.changed.clone();
        wrote.iter().for_each(|engine| changed[usize::from(engine.0)] = order);
        self.published.store(Arc::new(Published {
            order,
            position,
            snapshots: self.engines.iter().map(|engine| engine.snapshot()).collect(),
            changed,
        }));
        frontier.lsn = end;
        frontier.note.position = position;
        gtids.add_to(&mut frontier.note.gtids);
        drop(frontier);
        self.executed_waiters.wake();
    }

    /// Waits until all of `set` is executed; false if `deadline` came first or `ended` is so, which is asked several times
    /// a second.
    pub fn wait_until_executed(&self, set: &GtidSet, deadline: Option<Instant>, ended: &dyn Fn() -> bool) -> bool {
        self.executed_waiters.wait(deadline, ended, || set.is_subset(&self.frontier.lock().note.gtids))
    }
}

/// Those who wait for something about GTIDs.
#[derive(Default)]
pub(crate) struct GtidWaiters {
    count: std::sync::atomic::AtomicUsize,
    waiting: cohort_io::sync::Mutex<()>,
    changed: cohort_io::sync::Condvar,
}

impl GtidWaiters {
    /// Waits until `is_so`, which is asked first and then whenever somebody calls [`GtidWaiters::wake`]; false if `deadline`
    /// came first or `ended` is so, which is asked several times a second.
    pub fn wait(&self, deadline: Option<Instant>, ended: &dyn Fn() -> bool, mut is_so: impl FnMut() -> bool) -> bool {
        // Counted before it looks, under the same mutex that whoever changes something takes before it looks for waiters.
        self.count.fetch_add(1, Ordering::SeqCst);
        let became_so = blocking(|| {
            let mut waiting = self.waiting.lock();
            loop {
                if is_so() {
                    return true;
                }
                let now = Instant::now();
                if ended() || deadline.is_some_and(|deadline| now >= deadline) {
                    return false;
                }
                let ask_again = now + ASK_EVERY;
                let until = deadline.map_or(ask_again, |deadline| deadline.min(ask_again));
                self.changed.wait_until(&mut waiting, until);
            }
        });
        self.count.fetch_sub(1, Ordering::SeqCst);
        became_so
    }

    /// Has everybody look again.
    pub fn wake(&self) {
        if self.count.load(Ordering::SeqCst) > 0 {
            let _waiting = self.waiting.lock();
            self.changed.notify_all();
        }
    }
}

/// Why the binlog did not take what was asked of it before anything was ordered.
pub(crate) fn refused(error: &BinlogError) -> CommitError {
    match error.is_no_space() {
        true => CommitError::NoSpace(error.to_string()),
        false => CommitError::Sealed(error.to_string()),
    }
}

/// How long a clean shutdown waits for room: RocksDB looks every five seconds whether there is some again.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(6);

/// Makes an engine durable at a clean shutdown, for which it may still have to find out that a disk that was full
/// is not any more.
pub(crate) fn sync_last(engine: &dyn Engine) -> Result<Position, WriteError> {
    let began = Instant::now();
    loop {
        match engine.sync() {
            Err(WriteError::NoSpace { .. }) if began.elapsed() < ROOM_WAIT_MAX => thread::sleep(ROOM_RETRY),
            synced => return synced,
        }
    }
}

/// Ends the process when it is dropped, which only a panic does.
pub(crate) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        #[cfg(test)]
        if sync::is_exploring() {
            // The schedule that failed is printed, and unwinds the other threads.
            return;
        }
        log::error!("the commit path panicked; stopping at once, recovery will repair");
        log::logger().flush();
        std::process::abort();
    }
}
