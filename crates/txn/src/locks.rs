//! Row, unique-key and table locks: who holds what, who waits, who must give way.
//!
//! A lock is named by a byte string. It is shared or exclusive, held to the end of its transaction
//! (commit releases it when the order is fixed), and granted in the order of asking, except that the
//! only holder may turn its shared lock into an exclusive one at once. A transaction that waits parks
//! its thread, and says so to the thread's carrier.
//!
//! Invariants
//! 1. Holders of one lock are compatible: one exclusive, or any number of shared
//!    (`exclusive_excludes_everyone`).
//! 2. A waiter is granted only when no earlier waiter of the same lock still waits
//!    (`waiters_are_served_in_order`).
//! 3. A cycle of waiters never outlives the moment its last edge appears: that waiter gets
//!    [`LockError::Deadlock`] (`deadlock_is_found_when_it_closes`).
//!
//! Concurrency: `waits_for` → one shard at a time → a wait slot. Nothing else is taken below them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hashbrown::{DefaultHashBuilder, HashTable};
use parking_lot::{Condvar, Mutex};

use crate::carrier::blocking;

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

    /// Forgets a kill, at the start of a statement that it was not meant for.
    pub fn reset(&self) {
        self.0.killed.store(false, Ordering::SeqCst);
    }
}

/// What became of a transaction's last wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wait {
    #[default]
    Waiting,
    Granted,
    Expired,
}

/// Where one transaction's thread parks.
#[derive(Debug, Default)]
struct WaitSlot {
    wait: Mutex<Wait>,
    woken: Condvar,
    killed: AtomicBool,
}

/// What a lock of a row takes, its name included, bytes.
const LOCK_BYTES: u64 = 256;

/// The locks one transaction holds, and its place to wait.
#[derive(Debug)]
pub(crate) struct HeldLocks {
    id: TransactionId,
    slot: Arc<WaitSlot>,
    held: Vec<(u64, Arc<[u8]>)>,
}

impl HeldLocks {
    pub(crate) fn new(id: TransactionId) -> Self {
        HeldLocks { id, slot: Arc::default(), held: Vec::new() }
    }

    pub(crate) fn kill_handle(&self) -> KillHandle {
        KillHandle(self.slot.clone())
    }

    /// What the locks take in memory, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.held.len() as u64 * LOCK_BYTES
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
            *first.slot.wait.lock() = Wait::Granted;
            first.slot.woken.notify_one();
        }
    }
}

/// What a request that may not wait found.
enum Attempt {
    Granted { new: Option<Arc<[u8]>> },
    Busy,
}

const SHARDS: usize = 64;

/// The lock each parked transaction waits for, with its hash.
type WaitsFor = HashMap<TransactionId, (u64, Arc<[u8]>)>;

/// All locks of a server.
#[derive(Debug)]
pub(crate) struct LockManager {
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<HashTable<Lock>>>,
    waits_for: Mutex<WaitsFor>,
    waits: AtomicU64,
    deadlocks: AtomicU64,
    timeouts: AtomicU64,
}

impl LockManager {
    pub(crate) fn new() -> Self {
        LockManager {
            hasher: DefaultHashBuilder::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            waits_for: Mutex::default(),
            waits: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
        }
    }

    /// Waits, deadlocks and timeouts so far.
    pub(crate) fn figures(&self) -> [u64; 3] {
        [&self.waits, &self.deadlocks, &self.timeouts].map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Takes the lock if nobody stands in the way; false when somebody does.
    pub(crate) fn try_lock(&self, held: &mut HeldLocks, name: &[u8], mode: LockMode) -> bool {
        let hash = self.hasher.hash_one(name);
        let attempt = self.attempt(&mut self.shard(hash).lock(), held.id, hash, name, mode);
        match attempt {
            Attempt::Granted { new } => {
                held.held.extend(new.map(|name| (hash, name)));
                true
            }
            Attempt::Busy => false,
        }
    }

    /// Takes the lock, waiting for at most `timeout`.
    pub(crate) fn lock(
        &self,
        held: &mut HeldLocks,
        name: &[u8],
        mode: LockMode,
        timeout: Duration,
    ) -> Result<(), LockError> {
        let hash = self.hasher.hash_one(name);
        let name = {
            let mut shard = self.shard(hash).lock();
            match self.attempt(&mut shard, held.id, hash, name, mode) {
                Attempt::Granted { new } => {
                    held.held.extend(new.map(|name| (hash, name)));
                    return Ok(());
                }
                Attempt::Busy => {
                    let lock = find(&mut shard, hash, name).expect("a busy lock is in its shard");
                    enqueue(lock, held, mode);
                    lock.name.clone()
                }
            }
        };
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.wait(held, hash, &name, timeout)?;
        if !held.held.iter().any(|(_, held)| Arc::ptr_eq(held, &name)) {
            held.held.push((hash, name));
        }
        Ok(())
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

    /// Gives up every lock of a transaction and wakes whom that lets in.
    pub(crate) fn release_all(&self, held: &mut HeldLocks) {
        for (hash, name) in held.held.drain(..) {
            let mut shard = self.shard(hash).lock();
            let Ok(mut entry) = shard.find_entry(hash, |lock| lock.name == name) else { continue };
            let lock = entry.get_mut();
            lock.holders.retain(|(holder, _)| *holder != held.id);
            lock.grant();
            if lock.holders.is_empty() && lock.waiters.is_empty() {
                entry.remove();
            }
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
            return Attempt::Granted { new: Some(name) };
        };
        let held = lock.held_by(id);
        if held.is_some_and(|held| held.covers(mode)) {
            return Attempt::Granted { new: None };
        }
        if !lock.compatible(id, mode) || (held.is_none() && !lock.waiters.is_empty()) {
            return Attempt::Busy;
        }
        lock.hold(id, mode);
        Attempt::Granted { new: held.is_none().then(|| lock.name.clone()) }
    }

    fn wait(&self, held: &HeldLocks, hash: u64, name: &Arc<[u8]>, timeout: Duration) -> Result<(), LockError> {
        {
            let mut waits_for = self.waits_for.lock();
            waits_for.insert(held.id, (hash, name.clone()));
            if self.closes_cycle(&waits_for, held.id, hash, name) {
                waits_for.remove(&held.id);
                if self.withdraw(held, hash, name) {
                    self.deadlocks.fetch_add(1, Ordering::Relaxed);
                    return Err(LockError::Deadlock);
                }
                return Ok(());
            }
        }
        let outcome = blocking(|| park(&held.slot, Instant::now().checked_add(timeout)));
        self.waits_for.lock().remove(&held.id);
        match outcome {
            Ok(()) => Ok(()),
            // The grant may have come between the time-out and now: then the lock is held.
            Err(error) if self.withdraw(held, hash, name) => {
                if error == LockError::Timeout {
                    self.timeouts.fetch_add(1, Ordering::Relaxed);
                }
                Err(error)
            }
            Err(_) => Ok(()),
        }
    }

    /// Leaves the queue of a lock; false when the lock was granted before.
    fn withdraw(&self, held: &HeldLocks, hash: u64, name: &Arc<[u8]>) -> bool {
        let mut shard = self.shard(hash).lock();
        let Some(lock) = find(&mut shard, hash, name) else { return false };
        let before = lock.waiters.len();
        lock.waiters.retain(|waiter| waiter.id != held.id);
        let withdrawn = lock.waiters.len() < before;
        lock.grant();
        withdrawn
    }

    /// True when somebody whom `start` waits for waits, at any remove, for `start`.
    ///
    /// Earlier waiters of a lock wait for that lock's holders, so only holders lead further.
    fn closes_cycle(&self, waits_for: &WaitsFor, start: TransactionId, hash: u64, name: &Arc<[u8]>) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![(start, hash, name.clone())];
        while let Some((waiting, hash, name)) = open.pop() {
            let mut shard = self.shard(hash).lock();
            let Some(lock) = find(&mut shard, hash, &name) else { continue };
            let Some(place) = lock.waiters.iter().position(|waiter| waiter.id == waiting) else { continue };
            if waiting != start && lock.waiters.iter().take(place).any(|waiter| waiter.id == start) {
                return true;
            }
            for (holder, _) in lock.holders.iter().filter(|(holder, _)| *holder != waiting) {
                if *holder == start {
                    return true;
                }
                if seen.insert(*holder)
                    && let Some((hash, name)) = waits_for.get(holder)
                {
                    open.push((*holder, *hash, name.clone()));
                }
            }
        }
        false
    }
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
