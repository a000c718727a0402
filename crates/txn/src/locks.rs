//! Row and unique-key locks: who holds what, who waits, who must give way.
//!
//! A lock is named by a byte string. It is shared or exclusive, held to the end of its transaction
//! (commit releases it when the order is fixed), and granted in the order of asking, except that the
//! only holder may turn its shared lock into an exclusive one at once. A transaction that waits parks
//! its thread inside of the blocking hook. Ranges of names are locked against inserts in
//! `locks/gaps.rs`; tables' definitions, and the like, in `locks/metadata.rs`. Waits for all of them are in one graph.
//!
//! Invariants
//! 1. Holders of one lock are compatible: one exclusive, or any number of shared
//!    (`exclusive_excludes_everyone`).
//! 2. A waiter is granted only when no earlier waiter of the same lock still waits
//!    (`waiters_are_served_in_order`).
//! 3. A cycle of waiters never outlives the moment its last edge appears: that waiter gets
//!    [`LockError::Deadlock`] (`deadlock_is_found_when_it_closes`). Where that waiter is a change of a definition that has
//!    let others read so far, those whom it waits for get it (`a_change_that_let_others_read_is_no_victim`).
//!
//! Concurrency: `waits_for` → one shard, of locks or of gaps, or the list of metadata locks → a wait slot. Nothing
//! else is taken below them.

mod changes;
mod gaps;
mod metadata;

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::blocking_hook::blocking;
use crate::sync::{Condvar, Mutex};
use changes::Changes;
pub use gaps::Claim;
use gaps::Gaps;
pub(crate) use gaps::{Hold, RangeLook};
use metadata::MetadataLocks;
pub use metadata::{MetadataMode, MetadataName};

/// How much a lock excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Compatible with other shared locks.
    Shared,
    /// Compatible with nothing.
    Exclusive,
}

impl LockMode {
    fn compatible(self, other: LockMode) -> bool {
        self == LockMode::Shared && other == LockMode::Shared
    }

    fn covers(self, wanted: LockMode) -> bool {
        self == LockMode::Exclusive || wanted == LockMode::Shared
    }
}

/// Why a lock was not given. The locks held so far stay held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The wait took longer than the transaction allows (MySQL 1205): roll the statement back.
    #[error("lock wait timeout exceeded")]
    Timeout,
    /// Waiting would close a cycle (MySQL 1213): roll the whole transaction back.
    #[error("deadlock found when trying to get lock")]
    Deadlock,
    /// [`KillHandle::kill`] was called (MySQL 1317).
    #[error("query execution was interrupted")]
    Killed,
}

/// Names a transaction among the lock holders; never used twice in one run of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TransactionId(pub u64);

/// Interrupts the lock wait of one transaction, from any thread.
#[derive(Clone, Debug)]
pub struct KillHandle(Arc<WaitSlot>);

impl KillHandle {
    /// Ends the current lock wait, and refuses any later one until [`KillHandle::reset`].
    pub fn kill(&self) {
        self.0.killed.store(true, Ordering::SeqCst);
        let _wait = self.0.wait.lock();
        self.0.woken.notify_all();
    }

    /// True between a kill and the next reset; long-running work asks now and then.
    pub fn is_killed(&self) -> bool {
        self.0.killed.load(Ordering::Relaxed)
    }

    /// Ends the current lock wait as its timeout does; for simulators, whose clock is not the machine's.
    pub fn expire(&self) {
        let mut wait = self.0.wait.lock();
        if *wait == Wait::Waiting {
            *wait = Wait::Expired;
            self.0.woken.notify_all();
        }
    }

    /// Whether the lock that was waited for last has been granted.
    pub fn is_granted(&self) -> bool {
        *self.0.wait.lock() == Wait::Granted
    }

    /// What the transaction's thread is parked for, if that has not been granted.
    pub fn waits_for(&self) -> Option<WaitsFor> {
        let waits_for = self.0.parked.lock().clone()?;
        (*self.0.wait.lock() == Wait::Waiting).then_some(waits_for)
    }

    /// Whether the transaction's thread is parked for a lock that has not been granted.
    pub fn is_waiting(&self) -> bool {
        self.waits_for().is_some()
    }

    /// Forgets a kill, at the start of a statement that it was not meant for.
    pub fn reset(&self) {
        self.0.killed.store(false, Ordering::SeqCst);
    }

    /// The number of the owner of locks whose waits it ends: [`MetadataLock::owner`](crate::MetadataLock::owner).
    pub fn owner(&self) -> u64 {
        self.0.owner.0
    }
}

/// What a parked thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A row, or a range of keys.
    Rows,
    /// A metadata lock.
    Metadata(MetadataName),
}

/// What became of a transaction's last wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wait {
    #[default]
    Waiting,
    Granted,
    Expired,
    /// A change of a definition goes before it, in a cycle of waits.
    Victim,
}

/// Where one transaction's thread parks.
#[derive(Debug)]
struct WaitSlot {
    owner: TransactionId,
    wait: Mutex<Wait>,
    woken: Condvar,
    /// Set after the search for deadlocks: a victim never seems to wait.
    parked: Mutex<Option<WaitsFor>>,
    killed: AtomicBool,
}

impl WaitSlot {
    fn new(owner: TransactionId) -> WaitSlot {
        let (wait, woken, parked, killed) = Default::default();
        WaitSlot { owner, wait, woken, parked, killed }
    }

    fn grant(&self) {
        *self.wait.lock() = Wait::Granted;
        self.woken.notify_one();
    }
}

/// What a lock of a row takes, its name included, bytes.
const LOCK_BYTES: u64 = 256;

/// What a claim or a range takes, bytes.
const GAP_BYTES: u64 = 128;

/// How a lock came to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// How the transaction held it before.
    pub before: Option<LockMode>,
    /// Another transaction was in the way: what was read before may be old.
    pub waited: bool,
    /// What was read when [`Transaction::ends`](crate::Transaction::ends) was this, or later, is not.
    pub changed: u64,
}

/// The locks one transaction holds, and its place to wait.
#[derive(Debug)]
pub(crate) struct HeldLocks {
    id: TransactionId,
    slot: Arc<WaitSlot>,
    held: Vec<(u64, Arc<[u8]>)>,
    /// What it has inserted, in that order.
    inserts: Vec<gaps::HeldInsert>,
    /// The key spaces in which it holds ranges, and how many.
    spaces: Vec<gaps::SpaceId>,
    ranges: u64,
    /// In the order of taking.
    metadata: Vec<(MetadataName, MetadataMode)>,
    /// Another owner of the same session.
    partner: Option<TransactionId>,
}

impl HeldLocks {
    pub(crate) fn new(id: TransactionId) -> Self {
        HeldLocks {
            id,
            slot: Arc::new(WaitSlot::new(id)),
            held: Vec::new(),
            inserts: Vec::new(),
            spaces: Vec::new(),
            ranges: 0,
            metadata: Vec::new(),
            partner: None,
        }
    }

    pub(crate) fn id(&self) -> TransactionId {
        self.id
    }

    /// Its name in the graph of waits, and its partner's.
    fn names(&self) -> impl Iterator<Item = TransactionId> + use<> {
        std::iter::once(self.id).chain(self.partner)
    }

    /// The locks of `partner` are not in the way of this owner, and their waits are one.
    pub(crate) fn set_partner(&mut self, partner: Option<TransactionId>) {
        self.partner = partner;
    }

    /// How many metadata locks are held: where [`LockManager::release_metadata`] goes back to.
    pub(crate) fn metadata_count(&self) -> usize {
        self.metadata.len()
    }

    /// The tables whose definitions are locked.
    pub(crate) fn tables(&self) -> impl Iterator<Item = u64> {
        let table = |(name, _): &(MetadataName, MetadataMode)| match name {
            MetadataName::Table(id) => Some(*id),
            _ => None,
        };
        self.metadata.iter().filter_map(table)
    }

    /// The metadata locks held.
    pub(crate) fn metadata(&self) -> &[(MetadataName, MetadataMode)] {
        &self.metadata
    }

    pub(crate) fn kill_handle(&self) -> KillHandle {
        KillHandle(self.slot.clone())
    }

    /// Whether there are locks of rows or ranges.
    pub(crate) fn has_rows(&self) -> bool {
        !self.held.is_empty() || !self.inserts.is_empty() || self.ranges > 0
    }

    /// What the locks take in memory, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.held.len() as u64 * LOCK_BYTES
            + (self.inserts.len() + self.metadata.len()) as u64 * GAP_BYTES
            + self.ranges * GAP_BYTES
    }
}

impl HeldLocks {
    /// Notes a grant; `new` is the lock's name if it was not held before.
    fn keep(&mut self, hash: u64, new: Option<Arc<[u8]>>) {
        self.held.extend(new.map(|name| (hash, name)));
    }
}

#[derive(Debug)]
struct Waiter {
    id: TransactionId,
    mode: LockMode,
    slot: Arc<WaitSlot>,
}

#[derive(Debug)]
struct Lock {
    name: Arc<[u8]>,
    holders: Vec<(TransactionId, LockMode)>,
    waiters: VecDeque<Waiter>,
}

impl Lock {
    fn held_by(&self, id: TransactionId) -> Option<LockMode> {
        self.holders.iter().find(|(holder, _)| *holder == id).map(|(_, mode)| *mode)
    }

    fn compatible(&self, id: TransactionId, mode: LockMode) -> bool {
        self.holders.iter().all(|(holder, held)| *holder == id || held.compatible(mode))
    }

    /// Whether a request would have to wait.
    fn is_busy(&self, id: TransactionId, mode: LockMode) -> bool {
        match self.held_by(id) {
            Some(held) => !held.covers(mode) && !self.compatible(id, mode),
            None => !self.compatible(id, mode) || !self.waiters.is_empty(),
        }
    }

    fn hold(&mut self, id: TransactionId, mode: LockMode) {
        match self.holders.iter_mut().find(|(holder, _)| *holder == id) {
            Some((_, held)) => *held = mode,
            None => self.holders.push((id, mode)),
        }
    }

    /// Grants whom it can, in order of asking.
    fn grant(&mut self) {
        while let Some(first) = self.waiters.front() {
            if !self.compatible(first.id, first.mode) {
                return;
            }
            let first = self.waiters.pop_front().expect("the front was just looked at");
            self.hold(first.id, first.mode);
            first.slot.grant();
        }
    }
}

/// What a request that may not wait found.
enum Attempt {
    Granted {
        before: Option<LockMode>,
        /// Its name, if it was not held.
        new: Option<Arc<[u8]>>,
    },
    Busy,
}

const SHARDS: usize = 64;

/// How many locks a shard keeps room for.
const SHARD_CAPACITY_KEPT: usize = 256;

/// What a parked transaction waits for.
#[derive(Clone, Debug)]
enum Obstacle {
    /// A lock, with its hash.
    Lock(u64, Arc<[u8]>),
    /// The ranges of others that cover a name.
    Ranges(Arc<[u8]>),
    /// A metadata lock.
    Metadata(MetadataName),
}

/// Who waits, and for what: the one who asked, under its own name and that of its partner.
type Waits = HashMap<TransactionId, Waiting>;

/// A wait, as the graph of waits has it.
#[derive(Debug)]
struct Waiting {
    id: TransactionId,
    obstacle: Obstacle,
    slot: Arc<WaitSlot>,
}

/// All locks of a server.
#[derive(Debug)]
pub(crate) struct LockManager {
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<HashTable<Lock>>>,
    gaps: Gaps,
    metadata: MetadataLocks,
    changes: Changes,
    waits_for: Mutex<Waits>,
    waits: AtomicU64,
    deadlocks: AtomicU64,
    timeouts: AtomicU64,
}

impl LockManager {
    pub(crate) fn new() -> Self {
        LockManager {
            hasher: DefaultHashBuilder::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            gaps: Gaps::new(),
            metadata: MetadataLocks::new(),
            changes: Changes::new(),
            waits_for: Mutex::default(),
            waits: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
        }
    }

    /// Waits, deadlocks and timeouts so far.
    pub(crate) fn stats(&self) -> [u64; 3] {
        [&self.waits, &self.deadlocks, &self.timeouts].map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Takes the lock if nobody stands in the way.
    pub(crate) fn try_lock(&self, held: &mut HeldLocks, name: &[u8], mode: LockMode) -> Option<Granted> {
        let hash = self.hasher.hash_one(name);
        let attempt = self.attempt(&mut self.shard(hash).lock(), held.id, hash, name, mode);
        match attempt {
            Attempt::Granted { before, new } => {
                held.keep(hash, new);
                Some(self.granted(hash, before, false))
            }
            Attempt::Busy => None,
        }
    }

    /// Whether somebody stands in the way of a lock.
    pub(crate) fn would_wait(&self, held: &HeldLocks, name: &[u8], mode: LockMode) -> bool {
        let hash = self.hasher.hash_one(name);
        find(&mut self.shard(hash).lock(), hash, name).is_some_and(|lock| lock.is_busy(held.id, mode))
    }

    /// Takes the lock, waiting for at most `timeout`.
    pub(crate) fn lock(
        &self,
        held: &mut HeldLocks,
        name: &[u8],
        mode: LockMode,
        timeout: Duration,
    ) -> Result<Granted, LockError> {
        let hash = self.hasher.hash_one(name);
        let (name, before) = {
            let mut shard = self.shard(hash).lock();
            match self.attempt(&mut shard, held.id, hash, name, mode) {
                Attempt::Granted { before, new } => {
                    held.keep(hash, new);
                    return Ok(self.granted(hash, before, false));
                }
                Attempt::Busy => {
                    let lock = find(&mut shard, hash, name).expect("a busy lock is in its shard");
                    let before = lock.held_by(held.id);
                    enqueue(lock, held, mode);
                    (lock.name.clone(), before)
                }
            }
        };
        self.wait(held, &Obstacle::Lock(hash, name.clone()), timeout)?;
        held.keep(hash, before.is_none().then_some(name));
        Ok(self.granted(hash, before, true))
    }

    fn granted(&self, hash: u64, before: Option<LockMode>, waited: bool) -> Granted {
        Granted { before, waited, changed: self.changes.last(hash) }
    }

    /// How many transactions that might have changed something have ended. What they did can be seen.
    pub(crate) fn ends(&self) -> u64 {
        self.changes.ends()
    }

    /// Has the transaction hold a lock as it did before it was `granted`, which nobody relies on any more.
    pub(crate) fn give_back(&self, held: &mut HeldLocks, name: &[u8], granted: Granted) {
        match granted.before {
            None => self.unlock(held, name),
            Some(LockMode::Shared) => self.downgrade(held, name),
            Some(LockMode::Exclusive) => {}
        }
    }

    /// Gives up one lock before the transaction ends. The caller has taken it and relies on it no more.
    pub(crate) fn unlock(&self, held: &mut HeldLocks, name: &[u8]) {
        let hash = self.hasher.hash_one(name);
        // What was locked last is given up first.
        if let Some(at) = held.held.iter().rposition(|(known, held)| *known == hash && **held == *name) {
            let (_, name) = held.held.remove(at);
            self.release(held.id, hash, &name, None);
        }
    }

    /// Turns an exclusive lock into a shared one, which may let others in.
    pub(crate) fn downgrade(&self, held: &HeldLocks, name: &[u8]) {
        let hash = self.hasher.hash_one(name);
        let mut shard = self.shard(hash).lock();
        if let Some(lock) = find(&mut shard, hash, name)
            && lock.held_by(held.id).is_some()
        {
            lock.hold(held.id, LockMode::Shared);
            lock.grant();
        }
    }

    /// The names of all locks that a transaction holds, with how it holds them.
    pub(crate) fn modes(&self, held: &HeldLocks) -> Vec<(Arc<[u8]>, LockMode)> {
        let mode = |hash, name: &Arc<[u8]>| {
            let mut shard = self.shard(hash).lock();
            find(&mut shard, hash, name).and_then(|lock| lock.held_by(held.id))
        };
        let named = held.held.iter();
        named.filter_map(|(hash, name)| mode(*hash, name).map(|mode| (name.clone(), mode))).collect()
    }

    /// Gives up every lock of a transaction and wakes whom that lets in. Its inserts go first: whoever does not
    /// find them there any more finds their outcome.
    pub(crate) fn release_all(&self, held: &mut HeldLocks) {
        self.gaps.release_all(held);
        let end = (!held.held.is_empty()).then(|| self.changes.end());
        for (hash, name) in held.held.drain(..) {
            self.release(held.id, hash, &name, end);
        }
        self.release_metadata(held, 0);
    }

    /// Gives up a lock, with an `end` of its transaction: what it is about may have changed.
    fn release(&self, id: TransactionId, hash: u64, name: &Arc<[u8]>, end: Option<u64>) {
        let mut shard = self.shard(hash).lock();
        // The name is the lock's own.
        let Ok(mut entry) = shard.find_entry(hash, |lock| Arc::ptr_eq(&lock.name, name)) else { return };
        let lock = entry.get_mut();
        if let (Some(end), Some(LockMode::Exclusive)) = (end, lock.held_by(id)) {
            self.changes.note(hash, end);
        }
        lock.holders.retain(|(holder, _)| *holder != id);
        lock.grant();
        if !lock.holders.is_empty() || !lock.waiters.is_empty() {
            return;
        }
        entry.remove();
        // A transaction of very many rows leaves a table that later ones do not need.
        if shard.capacity() > SHARD_CAPACITY_KEPT && shard.len() < shard.capacity() / 8 {
            let len = shard.len();
            shard.shrink_to(len * 2, |lock| self.hasher.hash_one(&lock.name[..]));
        }
    }

    fn shard(&self, hash: u64) -> &Mutex<HashTable<Lock>> {
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    fn attempt(
        &self,
        shard: &mut HashTable<Lock>,
        id: TransactionId,
        hash: u64,
        name: &[u8],
        mode: LockMode,
    ) -> Attempt {
        let Some(lock) = find(shard, hash, name) else {
            let name: Arc<[u8]> = name.into();
            let lock = Lock { name: name.clone(), holders: vec![(id, mode)], waiters: VecDeque::new() };
            shard.insert_unique(hash, lock, |lock| self.hasher.hash_one(&lock.name[..]));
            return Attempt::Granted { before: None, new: Some(name) };
        };
        let held = lock.held_by(id);
        if held.is_some_and(|held| held.covers(mode)) {
            return Attempt::Granted { before: held, new: None };
        }
        if lock.is_busy(id, mode) {
            return Attempt::Busy;
        }
        lock.hold(id, mode);
        Attempt::Granted { before: held, new: held.is_none().then(|| lock.name.clone()) }
    }

    /// Parks until `obstacle`, in whose queue the transaction is, is out of the way.
    fn wait(&self, held: &HeldLocks, obstacle: &Obstacle, timeout: Duration) -> Result<(), LockError> {
        {
            let mut waits_for = self.waits_for.lock();
            // Here, so that whoever sees the count finds the wait when it looks for deadlocks.
            self.waits.fetch_add(1, Ordering::Relaxed);
            let waiting = || Waiting { id: held.id, obstacle: obstacle.clone(), slot: held.slot.clone() };
            held.names().for_each(|name| drop(waits_for.insert(name, waiting())));
            let cycle = self.leads_to(&waits_for, held, held.id);
            if cycle && is_upgrade(held, obstacle) {
                self.take_victims(&waits_for, held, obstacle);
            } else if cycle {
                held.names().for_each(|name| drop(waits_for.remove(&name)));
                if self.withdraw(held.id, obstacle) {
                    self.deadlocks.fetch_add(1, Ordering::Relaxed);
                    return Err(LockError::Deadlock);
                }
                return Ok(());
            }
        }
        *held.slot.parked.lock() = Some(match obstacle {
            Obstacle::Metadata(name) => WaitsFor::Metadata(name.clone()),
            Obstacle::Lock(..) | Obstacle::Ranges(_) => WaitsFor::Rows,
        });
        let outcome = blocking(|| park(&held.slot, Instant::now().checked_add(timeout)));
        *held.slot.parked.lock() = None;
        {
            let mut waits_for = self.waits_for.lock();
            held.names().for_each(|name| drop(waits_for.remove(&name)));
        }
        match outcome {
            Ok(()) => Ok(()),
            // The grant may have come between the time-out and now: then the lock is held.
            Err(error) if self.withdraw(held.id, obstacle) => {
                let counter = match error {
                    LockError::Timeout => Some(&self.timeouts),
                    LockError::Deadlock => Some(&self.deadlocks),
                    _ => None,
                };
                if let Some(counter) = counter {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
                Err(error)
            }
            Err(_) => Ok(()),
        }
    }

    /// Leaves the queue; false when the wait was over before.
    fn withdraw(&self, id: TransactionId, obstacle: &Obstacle) -> bool {
        match obstacle {
            Obstacle::Ranges(name) => self.gaps.withdraw(id, name),
            Obstacle::Metadata(name) => self.metadata.withdraw(id, name),
            Obstacle::Lock(hash, name) => {
                let mut shard = self.shard(*hash).lock();
                let Some(lock) = find(&mut shard, *hash, name) else { return false };
                let before = lock.waiters.len();
                lock.waiters.retain(|waiter| waiter.id != id);
                let withdrawn = lock.waiters.len() < before;
                lock.grant();
                withdrawn
            }
        }
    }

    /// Ends the waits of those whom `held` waits for and who wait, at any remove, for it.
    fn take_victims(&self, waits_for: &Waits, held: &HeldLocks, obstacle: &Obstacle) {
        for blocker in self.blockers(held.id, held.id, obstacle) {
            let Some(waiting) = waits_for.get(&blocker) else { continue };
            if self.leads_to(waits_for, held, blocker) {
                let mut wait = waiting.slot.wait.lock();
                if *wait == Wait::Waiting {
                    *wait = Wait::Victim;
                    waiting.slot.woken.notify_one();
                }
            }
        }
    }

    /// True when `from`, or somebody whom it waits for, waits at any remove for `start` or its partner.
    fn leads_to(&self, waits_for: &Waits, start: &HeldLocks, from: TransactionId) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![from];
        while let Some(name) = open.pop() {
            let Some(Waiting { id: waiting, obstacle, .. }) = waits_for.get(&name) else { continue };
            for blocker in self.blockers(*waiting, start.id, obstacle) {
                if start.names().any(|name| name == blocker) {
                    return true;
                }
                if seen.insert(blocker) {
                    open.push(blocker);
                }
            }
        }
        false
    }

    /// Whom `waiting` waits for. Of the earlier waiters of a lock only `start` counts: they wait for that lock's
    /// holders, so only holders lead further.
    fn blockers(&self, waiting: TransactionId, start: TransactionId, obstacle: &Obstacle) -> Vec<TransactionId> {
        match obstacle {
            Obstacle::Ranges(name) => self.gaps.blockers(waiting, name),
            Obstacle::Metadata(name) => self.metadata.blockers(waiting, name),
            Obstacle::Lock(hash, name) => {
                let mut shard = self.shard(*hash).lock();
                let Some(lock) = find(&mut shard, *hash, name) else { return Vec::new() };
                let Some(place) = lock.waiters.iter().position(|waiter| waiter.id == waiting) else {
                    return Vec::new();
                };
                let earlier = lock.waiters.iter().take(place).map(|waiter| waiter.id);
                let earlier = earlier.filter(|id| waiting != start && *id == start);
                let holders = lock.holders.iter().map(|(holder, _)| *holder).filter(|holder| *holder != waiting);
                earlier.chain(holders).collect()
            }
        }
    }
}

/// Whether a change of a definition, after a time in which others used the table, waits for them to end. What it did in that
/// time shall not be in vain.
fn is_upgrade(held: &HeldLocks, obstacle: &Obstacle) -> bool {
    let Obstacle::Metadata(wanted) = obstacle else { return false };
    let upgradable = |mode| matches!(mode, MetadataMode::SharedUpgradable | MetadataMode::SharedNoWrite);
    held.metadata.iter().any(|(name, mode)| name == wanted && upgradable(*mode))
}

fn find<'a>(shard: &'a mut HashTable<Lock>, hash: u64, name: &[u8]) -> Option<&'a mut Lock> {
    shard.find_mut(hash, |lock| lock.name[..] == *name)
}

/// Joins the queue; a holder that wants more goes before those who hold nothing, else it would wait
/// for waiters that wait for it.
fn enqueue(lock: &mut Lock, held: &HeldLocks, mode: LockMode) {
    *held.slot.wait.lock() = Wait::Waiting;
    let waiter = Waiter { id: held.id, mode, slot: held.slot.clone() };
    if lock.held_by(held.id).is_some() {
        lock.waiters.push_front(waiter);
    } else {
        lock.waiters.push_back(waiter);
    }
}

fn park(slot: &WaitSlot, deadline: Option<Instant>) -> Result<(), LockError> {
    let mut wait = slot.wait.lock();
    loop {
        match *wait {
            Wait::Granted => return Ok(()),
            Wait::Expired => return Err(LockError::Timeout),
            Wait::Victim => return Err(LockError::Deadlock),
            Wait::Waiting => {}
        }
        if slot.killed.load(Ordering::SeqCst) {
            return Err(LockError::Killed);
        }
        match deadline {
            None => slot.woken.wait(&mut wait),
            Some(deadline) => {
                if slot.woken.wait_until(&mut wait, deadline).timed_out() && *wait != Wait::Granted {
                    return Err(LockError::Timeout);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
