//! One transaction: its view, its locks, its write set and its binlog events.
//!
//! Everything a statement changes passes through here, as redo for the engine and as an event for the
//! binlog, into the same object; savepoints take both back together.
//!
//! Invariants
//! 1. A version is written only under an exclusive lock of its key: the caller locks first. A key that is new is
//!    claimed first, so that locking scans find it ([`Transaction::claim`]).
//! 2. Whatever way a transaction ends, its locks are released: dropping it is a rollback.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cohort_binlog::{BinlogPosition, EventOptions, EventsMark, GtidSet, TransactionEvents};
use cohort_engine::{Direction, EngineId, KeyRange, ReadError, Snapshot, next_key};

use crate::given_gtids::OwnedGtid;
use crate::held_snapshot::{EnginesRead, HeldSnapshot};
use crate::locking_scan::Obstructed;
use crate::locks::{
    Claim, Granted, HeldLocks, Hold, KillHandle, LockError, LockManager, LockMode, MetadataMode, MetadataName,
    RangeLook,
};
use crate::outcome::CommitError;
use crate::rests_on::RestsOn;
use crate::scan::Scan;
use crate::session_locks::SessionLocks;
use crate::shared::{Published, Shared};
use crate::write_set::WriteSet;

mod spill;

/// When a transaction's snapshot is taken, and what its locking scans keep others from (`transaction_isolation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// A snapshot for every statement; rows are locked, ranges are not.
    ReadCommitted,
    /// One snapshot, at the first snapshot read; locking scans lock the ranges they have seen, too.
    RepeatableRead,
    /// The same, and the caller makes every read of a transaction a locking one.
    Serializable,
}

/// Which versions a read sees; the transaction's own writes always come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The durable prefix of the commit order that the transaction's snapshot names.
    Snapshot,
    /// The newest ordered version. Meaningful for keys the transaction holds a lock on.
    Current,
}

/// A point that [`Transaction::rollback_to`] goes back to.
#[derive(Clone, Debug)]
pub struct Savepoint {
    writes: u64,
    claims: usize,
    events: EventsMark,
}

/// A transaction's snapshot.
enum SnapshotViews {
    /// As it was published.
    Whole(Arc<Published>),
    /// Of a transaction that stayed open.
    Held(Arc<HeldSnapshot>),
}

impl SnapshotViews {
    fn order(&self) -> u64 {
        match self {
            SnapshotViews::Whole(published) => published.order,
            SnapshotViews::Held(held) => held.order,
        }
    }
}

/// An open transaction of one session.
pub struct Transaction {
    shared: Arc<Shared>,
    isolation: Isolation,
    snapshot: Option<SnapshotViews>,
    /// In the snapshot.
    engines_read: EnginesRead,
    lock_wait: Duration,
    lock_name: Vec<u8>,
    pub(crate) locks: HeldLocks,
    pub(crate) writes: WriteSet,
    pub(crate) events: TransactionEvents,
    logged: bool,
    gtid: Option<OwnedGtid>,
    rests_on: RestsOn,
    /// Its number among the large ones, once it has files.
    large: Option<u64>,
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("isolation", &self.isolation).field("locks", &self.locks).finish()
    }
}

impl Transaction {
    pub(crate) fn new(shared: Arc<Shared>, events: TransactionEvents) -> Self {
        let (logged, locks) = (shared.log_bin, shared.new_locks());
        Transaction {
            shared,
            isolation: Isolation::RepeatableRead,
            snapshot: None,
            engines_read: EnginesRead::default(),
            lock_wait: Duration::from_secs(50),
            lock_name: Vec::new(),
            locks,
            writes: WriteSet::default(),
            events,
            logged,
            gtid: None,
            rests_on: RestsOn::default(),
            large: None,
        }
    }

    /// Sets when snapshots are taken; default [`Isolation::RepeatableRead`].
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// Sets how long a lock wait may take (`innodb_lock_wait_timeout`); default 50 s.
    pub fn set_lock_wait(&mut self, timeout: Duration) {
        self.lock_wait = timeout;
    }

    /// Whether the transaction goes into the binlog (`sql_log_bin`), if the store has one; default true.
    pub fn set_binlog(&mut self, binlog: bool) {
        self.logged = binlog && self.shared.log_bin;
    }

    /// Whether the transaction goes into the binlog; events of one that does not are not needed.
    pub fn is_logged(&self) -> bool {
        self.logged
    }

    /// Commits the transaction under this GTID, even if it changes nothing. A rollback frees it again, and so does the
    /// commit of a transaction that is not logged.
    pub fn set_gtid(&mut self, gtid: OwnedGtid) {
        self.gtid = Some(gtid);
    }

    /// Sets where the transaction notes what its reads saw in flight; by default that is its own.
    pub fn set_rests_on(&mut self, rests_on: RestsOn) {
        self.rests_on = rests_on;
    }

    /// What an answer about this transaction rests on.
    pub fn rests_on(&self) -> &RestsOn {
        &self.rests_on
    }

    /// Begins a statement and returns the point to roll back to if it fails. Under
    /// [`Isolation::ReadCommitted`] the statement gets a snapshot of its own.
    pub fn start_statement(&mut self) -> Savepoint {
        if self.isolation == Isolation::ReadCommitted {
            self.snapshot = None;
        }
        self.savepoint()
    }

    /// Ends a statement after which the transaction stays open: see [`held_snapshot`](crate::held_snapshot).
    pub fn stay_open(&mut self) {
        if self.isolation == Isolation::ReadCommitted {
            self.snapshot = None;
        }
        if let Some(SnapshotViews::Whole(published)) = &self.snapshot
            && self.engines_read != EnginesRead::all(self.shared.engines.len())
        {
            let held = self.shared.held_snapshots.hold(published, self.engines_read);
            self.snapshot = Some(SnapshotViews::Held(held));
        }
    }

    /// The place in the commit order of this transaction's snapshot, which is taken now unless it was before.
    pub fn take_snapshot(&mut self) -> u64 {
        self.views().order()
    }

    /// Takes the snapshot for all engines to the end of the transaction (WITH CONSISTENT SNAPSHOT).
    /// Returns where it ends in the binlog, and the GTIDs up to there.
    pub fn pin_snapshot(&mut self) -> (BinlogPosition, GtidSet) {
        self.engines_read = EnginesRead::all(self.shared.engines.len());
        let (published, gtids) = self.shared.published_with_gtids();
        let position = published.position;
        self.snapshot = Some(SnapshotViews::Whole(published));
        (position, gtids)
    }

    /// Makes sure that `engine` can be read in the snapshot from now on; false if that can no longer be had: the
    /// transaction has stayed open for long without reading there, and others have changed what it would have found.
    pub fn pin_view(&mut self, engine: EngineId) -> bool {
        self.engines_read.add(engine);
        let SnapshotViews::Held(held) = self.views() else { return true };
        held.view(engine).is_some() || held.clone().renew(engine, &self.shared.published())
    }

    fn views(&mut self) -> &SnapshotViews {
        let shared = &self.shared;
        self.snapshot.get_or_insert_with(|| SnapshotViews::Whole(shared.published()))
    }

    /// Reads `engine` in the snapshot.
    fn in_snapshot<T>(
        &mut self,
        engine: EngineId,
        read: impl FnOnce(&dyn Snapshot) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.engines_read.add(engine);
        let view = match self.views() {
            SnapshotViews::Whole(published) => return read(published.engine(engine)),
            SnapshotViews::Held(held) => held.view(engine),
        };
        let too_old = || ReadError {
            engine: self.shared.engine(engine).name(),
            detail: "the transaction's snapshot is too old to be read here for the first time".to_owned(),
        };
        read(&*view.ok_or_else(too_old)?)
    }

    /// Puts the version of `key` into `value` (cleared first) and says whether there is one.
    pub fn get(&mut self, engine: EngineId, read: Read, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        let own = match self.writes.get(engine, key) {
            Some(own) => Some(own.clone()),
            None => self.writes.get_large(engine, key)?,
        };
        let above = match own {
            Some(own) => Some(own),
            None if read == Read::Current => self.shared.overlay.get(engine, key).map(|(version, order)| {
                self.rests_on.note(order);
                version
            }),
            None => None,
        };
        match above {
            Some(version) => {
                value.clear();
                value.extend_from_slice(version.as_deref().unwrap_or_default());
                Ok(version.is_some())
            }
            None => {
                let there = match read {
                    Read::Current => self.shared.engine(engine).get(key, value)?,
                    Read::Snapshot => self.in_snapshot(engine, |view| view.get(key, value))?,
                };
                self.note_engine_read(read);
                Ok(there)
            }
        }
    }

    /// What an engine was just found to have may not be durable.
    fn note_engine_read(&self, read: Read) {
        let snapshot = self.snapshot.as_ref().filter(|_| read == Read::Snapshot);
        self.shared.note_engine_read(snapshot.map(SnapshotViews::order), &self.rests_on);
    }

    /// Walks the entries of `range`. Own writes made later do not show in it.
    pub fn scan(
        &mut self,
        engine: EngineId,
        read: Read,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Scan, ReadError> {
        let own = self.writes.range(engine, range);
        // The overlay first, the engine second: see the invariants of `Overlay`.
        let (mut in_flight, mut cursor) = match read {
            Read::Current => {
                let (in_flight, newest) = self.shared.overlay.range(engine, range);
                newest.into_iter().for_each(|order| self.rests_on.note(order));
                (in_flight, self.shared.engine(engine).cursor(range, direction)?)
            }
            Read::Snapshot => (Vec::new(), self.in_snapshot(engine, |view| view.cursor(range, direction))?),
        };
        self.note_engine_read(read);
        if let Some(large) = self.writes.large() {
            // Own versions hide those in flight, too.
            let mut hidden = Vec::with_capacity(in_flight.len());
            for (key, _) in &in_flight {
                hidden.push(large.get(engine, key)?.is_some());
            }
            let mut hidden = hidden.into_iter();
            in_flight.retain(|_| !hidden.next().unwrap_or_default());
            cursor = Box::new(large.over(cursor, engine, range, direction)?);
        }
        Ok(Scan::new(cursor, direction, [own, in_flight]))
    }

    /// The same in the snapshot, for who will [move](Transaction::move_scan) the scan within `bounds`.
    pub fn scan_within(
        &mut self,
        engine: EngineId,
        range: &KeyRange,
        bounds: &KeyRange,
        direction: Direction,
    ) -> Result<Scan, ReadError> {
        if self.writes.large().is_some() {
            return self.scan(engine, Read::Snapshot, range, direction);
        }
        let own = self.writes.range(engine, range);
        let cursor = self.in_snapshot(engine, |view| view.cursor_within(range, bounds, direction))?;
        self.note_engine_read(Read::Snapshot);
        Ok(Scan::new(cursor, direction, [own, Vec::new()]))
    }

    /// Has a scan of this statement begin anew with another range within its bounds. False, and nothing is done, if that
    /// is not possible: then a new one does the same.
    pub fn move_scan(&mut self, scan: &mut Scan, engine: EngineId, range: &KeyRange) -> bool {
        self.writes.large().is_none() && scan.move_to(range, self.writes.range(engine, range))
    }

    /// About what share of a range of the snapshot a part of it has; `None` if that is not known.
    pub fn share(&mut self, engine: EngineId, part: &KeyRange, whole: &KeyRange) -> Result<Option<f64>, ReadError> {
        self.in_snapshot(engine, |view| Ok(view.share(part, whole)))
    }

    /// When snapshots are taken, and whether ranges are locked.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Locks `key` to the end of the transaction, waiting if it must.
    pub fn lock(&mut self, engine: EngineId, key: &[u8], mode: LockMode) -> Result<Granted, LockError> {
        self.name_lock(engine.0, key);
        self.shared.locks.lock(&mut self.locks, &self.lock_name, mode, self.lock_wait)
    }

    /// Locks `key` if that needs no waiting (NOWAIT, SKIP LOCKED).
    pub fn try_lock(&mut self, engine: EngineId, key: &[u8], mode: LockMode) -> Option<Granted> {
        self.name_lock(engine.0, key);
        self.shared.locks.try_lock(&mut self.locks, &self.lock_name, mode)
    }

    /// How many transactions with exclusive locks have ended: see [`Granted::changed`].
    pub fn ends(&self) -> u64 {
        self.shared.locks.ends()
    }

    /// Whether it has changed `key`.
    pub(crate) fn has_changed(&self, engine: EngineId, key: &[u8]) -> Result<bool, ReadError> {
        Ok(self.writes.get(engine, key).is_some() || self.writes.get_large(engine, key)?.is_some())
    }

    /// Whether [`Transaction::lock`] would have to wait now.
    pub fn would_wait(&mut self, engine: EngineId, key: &[u8], mode: LockMode) -> bool {
        self.name_lock(engine.0, key);
        self.shared.locks.would_wait(&self.locks, &self.lock_name, mode)
    }

    /// Gives back what the statement was `granted`, as the key was found not to matter: the lock, or that it is exclusive.
    pub fn give_back(&mut self, engine: EngineId, key: &[u8], granted: Granted) {
        self.name_lock(engine.0, key);
        self.shared.locks.give_back(&mut self.locks, &self.lock_name, granted);
    }

    /// Turns the exclusive lock of a key into a shared one; for a lock that is new to the transaction.
    pub fn downgrade(&mut self, engine: EngineId, key: &[u8]) {
        self.name_lock(engine.0, key);
        self.shared.locks.downgrade(&self.locks, &self.lock_name);
    }

    /// Claims `key`, under which there is nothing yet, for a [`Transaction::put`], with its exclusive lock. Range
    /// locks of others hold a claim up, and so do locks; this does not wait for either.
    pub fn claim(&mut self, engine: EngineId, key: &[u8]) -> Claim {
        self.name_lock(engine.0, key);
        self.shared.locks.claim(&mut self.locks, &self.lock_name)
    }

    /// The same for a key without a lock of its own, which belongs to the row `row_key`, exclusively locked.
    /// Waits for ranges that cover it.
    pub fn claim_entry(&mut self, engine: EngineId, key: &[u8], row_key: &[u8]) -> Result<(), LockError> {
        let row = [&[engine.0], row_key].concat();
        loop {
            self.name_lock(engine.0, key);
            match self.shared.locks.claim_entry(&mut self.locks, &self.lock_name, &row) {
                Claim::Covered => self.await_ranges(engine, key)?,
                Claim::Granted { .. } | Claim::Locked => return Ok(()),
            }
        }
    }

    /// Takes back the last claim of a key, whose lock stays.
    pub fn disclaim(&mut self) {
        let count = LockManager::claims(&self.locks);
        self.shared.locks.undo_claims(&mut self.locks, count.saturating_sub(1), true);
    }

    /// How much is claimed: where [`Transaction::take_back_claims`] goes back to.
    pub fn claims(&self) -> usize {
        LockManager::claims(&self.locks)
    }

    /// Takes back the claims after the first `count`, of keys that were not put, with the locks taken for them.
    pub fn take_back_claims(&mut self, count: usize) {
        self.shared.locks.undo_claims(&mut self.locks, count, false);
    }

    /// Waits until no range lock of another transaction covers `key`. Another may when this returns.
    pub fn await_ranges(&mut self, engine: EngineId, key: &[u8]) -> Result<(), LockError> {
        self.name_lock(engine.0, key);
        self.shared.locks.await_ranges(&mut self.locks, &self.lock_name, self.lock_wait)
    }

    /// Locks a key that has no row against inserts to the end of the transaction; at READ COMMITTED it does not.
    /// The key's lock must be held, so that nobody is about to insert it.
    pub fn lock_absent(&mut self, engine: EngineId, key: &[u8]) {
        if self.locks_ranges() {
            self.look(engine, key, &next_key(key), Direction::Forward, Obstructed::PassOver);
        }
    }

    /// Whether locking scans lock ranges.
    pub(crate) fn locks_ranges(&self) -> bool {
        self.isolation != Isolation::ReadCommitted
    }

    /// Looks for inserts of others from `lower` to `upper`, which is not in it, and locks that range if the
    /// isolation asks for it: up to the first of them, unless those are passed over.
    pub(crate) fn look(
        &mut self,
        engine: EngineId,
        lower: &[u8],
        upper: &[u8],
        direction: Direction,
        obstructed: Obstructed,
    ) -> RangeLook {
        let [lower, upper] = [lower, upper].map(|key| [&[engine.0], key].concat());
        let hold = match (self.locks_ranges(), obstructed) {
            (false, _) => Hold::Nothing,
            (true, Obstructed::PassOver) => Hold::Everything,
            (true, Obstructed::Wait | Obstructed::Refuse) => Hold::UpToClaim,
        };
        self.shared.locks.look(&mut self.locks, &lower, &upper, direction, hold)
    }

    /// See [`RangeLook::ended`].
    pub(crate) fn ended_claims(&mut self, engine: EngineId, key: &[u8]) -> u64 {
        self.name_lock(engine.0, key);
        self.shared.locks.ended_claims(&self.lock_name)
    }

    /// Locks by a name that [`RangeLook::claim`] gave.
    pub(crate) fn lock_name(&mut self, name: &[u8], mode: LockMode) -> Result<Granted, LockError> {
        self.shared.locks.lock(&mut self.locks, name, mode, self.lock_wait)
    }

    /// Gives back what [`Transaction::lock_name`] granted.
    pub(crate) fn give_name_back(&mut self, name: &[u8], granted: Granted) {
        self.shared.locks.give_back(&mut self.locks, name, granted);
    }

    /// Takes a metadata lock to the end of the transaction; false if it was held. `timeout` is `lock_wait_timeout`.
    pub fn lock_metadata(
        &mut self,
        name: &MetadataName,
        mode: MetadataMode,
        timeout: Duration,
    ) -> Result<bool, LockError> {
        self.shared.locks.lock_metadata(&mut self.locks, name, mode, timeout)
    }

    /// Gives up a metadata lock before the transaction ends.
    pub fn unlock_metadata(&mut self, name: &MetadataName, mode: MetadataMode) {
        self.shared.locks.unlock_metadata(&mut self.locks, name, mode);
    }

    /// How many metadata locks it has: where [`Transaction::take_back_metadata`] goes back to.
    pub fn metadata_count(&self) -> usize {
        self.locks.metadata_count()
    }

    /// Gives up the metadata locks after the first `count`.
    pub fn take_back_metadata(&mut self, count: usize) {
        self.shared.locks.release_metadata(&mut self.locks, count);
    }

    /// Whether it holds locks of rows or ranges, as it does when it has changed something.
    pub fn locks_rows(&self) -> bool {
        self.locks.has_rows()
    }

    /// Its number among those who hold locks.
    pub fn owner(&self) -> u64 {
        self.locks.id().0
    }

    /// The transaction is of the session that has `locks`.
    pub fn belongs_to(&mut self, locks: &SessionLocks) {
        self.locks.set_partner(Some(locks.id()));
    }

    fn name_lock(&mut self, space: u8, key: &[u8]) {
        self.lock_name.clear();
        self.lock_name.push(space);
        self.lock_name.extend_from_slice(key);
    }

    /// Sets the value of `key`.
    pub fn put(&mut self, engine: EngineId, key: &[u8], value: &[u8]) {
        self.writes.set(engine, key, Some(value.into()));
    }

    /// Removes `key`.
    pub fn delete(&mut self, engine: EngineId, key: &[u8]) {
        self.writes.set(engine, key, None);
    }

    /// The binlog events so far; every change of a table's rows is added here as it is made.
    pub fn events(&mut self) -> &mut TransactionEvents {
        &mut self.events
    }

    /// What its changes, events and locks take in memory, and what a commit adds, bytes, about.
    pub fn memory_bytes(&self) -> u64 {
        let events = if self.events.is_empty() { 0 } else { self.events.unspilled_bytes() };
        // The buffer of the events doubles when it is full.
        let open = self.writes.memory_bytes() + 2 * events + self.locks.memory_bytes();
        // Redo and events are copied into the log's record, and the redo into the engines.
        open + 2 * self.writes.redo_bytes() + events
    }

    /// [`CommitError::TooLarge`] if its log bytes have become more than a commit takes: the statement is to be rolled
    /// back.
    pub fn check_size(&self) -> Result<(), CommitError> {
        let events = if self.logged && !self.events.is_empty() { self.events.byte_len() } else { 0 };
        match self.may_spill() {
            true => self.check_events_file(events),
            false => self.shared.check_size(self.writes.redo_bytes() + events),
        }
    }

    /// True when there is something to commit: changes, or events without changes.
    pub fn has_writes(&self) -> bool {
        !self.writes.is_empty() || !self.events.is_empty()
    }

    /// Marks the present point.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { writes: self.writes.mark(), claims: LockManager::claims(&self.locks), events: self.events.mark() }
    }

    /// Takes back writes and events after `savepoint`. Locks stay, but for those of keys that were inserted.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) {
        self.writes.undo_to(savepoint.writes);
        self.shared.locks.undo_claims(&mut self.locks, savepoint.claims, false);
        self.events.truncate(savepoint.events.clone());
    }

    /// The highest key within `range` that there is, or will be once every prepared XA transaction is
    /// committed.
    pub fn last_key(&mut self, engine: EngineId, range: &KeyRange) -> Result<Option<Vec<u8>>, ReadError> {
        let prepared = self.shared.xa.last_key(engine, range);
        let mut scan = self.scan(engine, Read::Current, range, Direction::Reverse)?;
        let last = scan.next()?.map(|entry| entry.key.to_vec());
        Ok(last.max(prepared))
    }

    /// A handle that ends a lock wait of this transaction from another thread.
    pub fn kill_handle(&self) -> KillHandle {
        self.locks.kill_handle()
    }

    /// Gives everything up.
    pub fn rollback(self) {}

    /// What the transaction commits: its changes, and what goes into the binlog, complete up to its position.
    pub(crate) fn take_changes(&mut self) -> (WriteSet, Option<TransactionEvents>) {
        (std::mem::take(&mut self.writes), self.take_events())
    }

    fn take_events(&mut self) -> Option<TransactionEvents> {
        if self.logged && self.events.is_empty() && self.gtid.is_some() {
            self.events.nothing();
        }
        if !self.logged || self.events.is_empty() {
            return None;
        }
        let empty = TransactionEvents::new(EventOptions::default());
        let mut events = std::mem::replace(&mut self.events, empty);
        events.seal();
        Some(events)
    }

    /// The GTID that was chosen for it, if one was.
    pub(crate) fn take_gtid(&mut self) -> Option<OwnedGtid> {
        self.gtid.take()
    }

    /// Its locks, still held, and its changes, which cannot be taken back any more.
    pub(crate) fn into_parts(mut self) -> (HeldLocks, WriteSet) {
        let none = self.shared.new_locks();
        let mut writes = std::mem::take(&mut self.writes);
        writes.forget_undo();
        (std::mem::replace(&mut self.locks, none), writes)
    }

    /// Releases the locks, once the order is fixed.
    pub(crate) fn release_locks(&mut self) {
        self.shared.locks.release_all(&mut self.locks);
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.release_locks();
        self.shared.open_transactions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
