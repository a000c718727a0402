//! Ranges of keys that are locked against inserts, and inserts that are not committed yet.
//!
//! A transaction that must find no new rows where it has looked holds *ranges*. A transaction that puts a key where
//! none was *claims* it: the claim waits while a range of another transaction covers the key, and stands until the
//! transaction ends. Whoever locks a range is shown the claims of others within it and waits for their rows. This
//! is InnoDB's gap and insert intention lock, but for keys instead of gaps between records: a range is what was
//! asked for, and does not reach to the next record on either side.
//!
//! Names are those of locks. The first bytes of a name are its *key space*; a range stays within one.
//!
//! Invariants
//! 1. Ranges do not exclude each other, whoever holds them (`ranges_are_compatible`).
//! 2. No key is claimed while a range of another transaction covers it, and no range is locked over a claim
//!    without its holder being shown it: both happen under the space's mutex
//!    (`a_claim_waits_for_ranges_and_a_range_is_shown_claims`).
//! 3. [`RangeLook::ended`] differs if a claim of the space ended between two looks. A reader that looked before it
//!    opened its view, and sees the same number after it locked a range, has missed no key of that range.
//!
//! Cost: a claim is compared with every transaction that holds ranges in its space; a key space without ranges
//! costs a claim one entry in an ordered map.

use crate::sync::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use cohort_engine::Direction;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

use super::{Attempt, HeldLocks, LockError, LockManager, LockMode, Obstacle, TransactionId, Wait, WaitSlot};

/// The engine and the id of an index.
pub(super) type SpaceId = [u8; 5];

/// What becomes of a claim that may not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The key is the transaction's to put.
    Granted {
        /// Its lock was not held before.
        new: bool,
    },
    /// Somebody holds the key's lock. Nothing was claimed.
    Locked,
    /// A range of somebody covers the key. Nothing was claimed.
    Covered,
}

/// A claim of a transaction.
#[derive(Debug)]
pub(super) struct HeldInsert {
    name: Arc<[u8]>,
    /// The lock of the row that the key belongs to.
    row: Arc<[u8]>,
    /// The lock of the name was taken for it.
    locked: bool,
    /// The transaction had claimed the name before: that claim outlives this one.
    again: bool,
}

/// How much of a range a look at it locks against inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Nothing,
    /// What lies before the first claim of another transaction.
    UpToClaim,
    /// All of it; the claims in it stand.
    Everything,
}

/// What one look at a range shows.
#[derive(Debug)]
pub struct RangeLook {
    /// How many claims have ended around there.
    pub ended: u64,
    /// The first claim of another transaction, in the direction of the walk.
    pub claim: Option<Claimed>,
}

/// A claimed key.
#[derive(Clone, Debug)]
pub struct Claimed {
    pub name: Arc<[u8]>,
    /// The name of its row's lock.
    pub row: Arc<[u8]>,
}

#[derive(Debug)]
struct Inserted {
    by: TransactionId,
    /// The lock of the row that the key belongs to.
    row: Arc<[u8]>,
}

/// Somebody who waits until no range covers a name.
#[derive(Debug)]
struct Waiter {
    id: TransactionId,
    name: Arc<[u8]>,
    slot: Arc<WaitSlot>,
}

/// Ranges of one transaction: lower bound to upper bound, which is not in it. They neither overlap nor touch.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<Box<[u8]>, Box<[u8]>>);

impl Ranges {
    fn covers(&self, name: &[u8]) -> bool {
        let before = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(name))).next_back();
        before.is_some_and(|(_, upper)| name < &**upper)
    }

    /// Adds a range; returns by how many there are more now.
    fn add(&mut self, lower: &[u8], upper: &[u8]) -> i64 {
        if lower >= upper {
            return 0;
        }
        let before = self.0.range_mut::<[u8], _>((Bound::Unbounded, Bound::Included(lower))).next_back();
        let (start, mut added) = match before {
            Some((start, end)) if lower <= &**end => {
                if upper <= &**end {
                    return 0;
                }
                *end = upper.into();
                (start.clone(), 0)
            }
            _ => {
                self.0.insert(lower.into(), upper.into());
                (lower.into(), 1)
            }
        };
        // Those that the new range reaches become part of it.
        while let Some((next, end)) = self
            .0
            .range::<[u8], _>((Bound::Excluded(&*start), Bound::Included(upper)))
            .next()
            .map(|(next, end)| (next.clone(), end.clone()))
        {
            self.0.remove(&next);
            added -= 1;
            if *end > *upper {
                self.0.insert(start, end);
                break;
            }
        }
        added
    }
}

#[derive(Debug, Default)]
struct Space {
    ranges: HashMap<TransactionId, Ranges>,
    inserts: BTreeMap<Arc<[u8]>, Inserted>,
    waiters: Vec<Waiter>,
}

impl Space {
    fn blockers(&self, id: TransactionId, name: &[u8]) -> impl Iterator<Item = TransactionId> {
        let others = self.ranges.iter().filter(move |(holder, ranges)| **holder != id && ranges.covers(name));
        others.map(|(holder, _)| *holder)
    }

    fn is_covered(&self, id: TransactionId, name: &[u8]) -> bool {
        self.blockers(id, name).next().is_some()
    }

    /// The first claim of others between bounds.
    fn claim(&self, id: TransactionId, lower: &[u8], upper: &[u8], direction: Direction) -> Option<Claimed> {
        if lower >= upper {
            return None;
        }
        let mut within = self
            .inserts
            .range::<[u8], _>((Bound::Included(lower), Bound::Excluded(upper)))
            .filter(|(_, inserted)| inserted.by != id);
        let first = match direction {
            Direction::Forward => within.next(),
            Direction::Reverse => within.next_back(),
        };
        first.map(|(name, inserted)| Claimed { name: name.clone(), row: inserted.row.clone() })
    }

    /// Lets those go on whom no range holds up any more.
    fn wake(&mut self) {
        let waiters = std::mem::take(&mut self.waiters);
        for waiter in waiters {
            if self.is_covered(waiter.id, &waiter.name) {
                self.waiters.push(waiter);
            } else {
                waiter.slot.grant();
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.inserts.is_empty() && self.waiters.is_empty()
    }
}

#[derive(Debug, Default)]
struct Shard {
    spaces: HashMap<SpaceId, Space>,
    /// Claims that have ended.
    ended: u64,
}

impl Shard {
    fn space(&mut self, name: &[u8]) -> &mut Space {
        self.spaces.entry(space_of(name)).or_default()
    }

    /// Forgets a space that nobody uses, unless there are few.
    fn tidy(&mut self, space: SpaceId) {
        if self.spaces.len() > SPACES_KEPT && self.spaces.get(&space).is_some_and(Space::is_empty) {
            self.spaces.remove(&space);
        }
    }
}

const SHARDS: usize = 64;
const SPACES_KEPT: usize = 16;

/// All ranges and claims of a server.
#[derive(Debug)]
pub(super) struct Gaps {
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<Shard>>,
}

fn space_of(name: &[u8]) -> SpaceId {
    let mut space = SpaceId::default();
    let len = name.len().min(space.len());
    space[..len].copy_from_slice(&name[..len]);
    space
}

impl Gaps {
    pub(super) fn new() -> Gaps {
        Gaps { hasher: DefaultHashBuilder::default(), shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, space: SpaceId) -> &Mutex<Shard> {
        &self.shards[(self.hasher.hash_one(space) >> 32) as usize % SHARDS]
    }

    /// Claims a name unless a range of another transaction covers it.
    fn claim(&self, id: TransactionId, name: &Arc<[u8]>, row: &Arc<[u8]>, locked: bool) -> Option<HeldInsert> {
        let mut shard = self.shard(space_of(name)).lock();
        let space = shard.space(name);
        if space.is_covered(id, name) {
            return None;
        }
        let before = space.inserts.insert(name.clone(), Inserted { by: id, row: row.clone() });
        let again = before.is_some_and(|before| before.by == id);
        Some(HeldInsert { name: name.clone(), row: row.clone(), locked, again })
    }

    /// Joins those who wait until no range covers a name; false when none does.
    fn enqueue(&self, held: &HeldLocks, name: &Arc<[u8]>) -> bool {
        let mut shard = self.shard(space_of(name)).lock();
        let space = shard.space(name);
        if !space.is_covered(held.id, name) {
            return false;
        }
        *held.slot.wait.lock() = Wait::Waiting;
        space.waiters.push(Waiter { id: held.id, name: name.clone(), slot: held.slot.clone() });
        true
    }

    pub(super) fn withdraw(&self, id: TransactionId, name: &[u8]) -> bool {
        let mut shard = self.shard(space_of(name)).lock();
        let space = shard.space(name);
        let before = space.waiters.len();
        space.waiters.retain(|waiter| waiter.id != id);
        space.waiters.len() < before
    }

    pub(super) fn blockers(&self, id: TransactionId, name: &[u8]) -> Vec<TransactionId> {
        self.shard(space_of(name)).lock().space(name).blockers(id, name).collect()
    }

    /// Ends one claim.
    fn end(&self, id: TransactionId, claim: &HeldInsert) {
        if claim.again {
            return;
        }
        let name = &claim.name;
        let mut shard = self.shard(space_of(name)).lock();
        shard.ended += 1;
        let space = shard.space(name);
        if space.inserts.get(name).is_some_and(|inserted| inserted.by == id) {
            space.inserts.remove(name);
        }
        shard.tidy(space_of(name));
    }

    pub(super) fn release_all(&self, held: &mut HeldLocks) {
        for insert in held.inserts.drain(..) {
            self.end(held.id, &insert);
        }
        for id in held.spaces.drain(..) {
            let mut shard = self.shard(id).lock();
            let space = shard.spaces.entry(id).or_default();
            space.ranges.remove(&held.id);
            space.wake();
            shard.tidy(id);
        }
        held.ranges = 0;
    }
}

impl LockManager {
    /// Claims the key called `name` for an insert, and the lock of that name, without waiting.
    pub(crate) fn claim(&self, held: &mut HeldLocks, name: &[u8]) -> Claim {
        let hash = self.hasher.hash_one(name);
        let attempt = self.attempt(&mut self.shard(hash).lock(), held.id, hash, name, LockMode::Exclusive);
        let Attempt::Granted { new, .. } = attempt else { return Claim::Locked };
        let locked = new.is_some();
        let name = new.unwrap_or_else(|| name.into());
        let Some(insert) = self.gaps.claim(held.id, &name, &name, locked) else {
            if locked {
                self.release(held.id, hash, &name, None);
            }
            return Claim::Covered;
        };
        if locked {
            held.held.push((hash, name));
        }
        held.inserts.push(insert);
        Claim::Granted { new: locked }
    }

    /// The same for a key that has no lock of its own: it belongs to the row whose lock is called `row` and held.
    pub(crate) fn claim_entry(&self, held: &mut HeldLocks, name: &[u8], row: &[u8]) -> Claim {
        let [name, row]: [Arc<[u8]>; 2] = [name.into(), row.into()];
        let Some(insert) = self.gaps.claim(held.id, &name, &row, false) else { return Claim::Covered };
        held.inserts.push(insert);
        Claim::Granted { new: false }
    }

    /// Waits until no range of another transaction covers `name`. It may be covered again when this returns.
    pub(crate) fn await_ranges(&self, held: &mut HeldLocks, name: &[u8], timeout: Duration) -> Result<(), LockError> {
        let name: Arc<[u8]> = name.into();
        if !self.gaps.enqueue(held, &name) {
            return Ok(());
        }
        self.wait(held, &Obstacle::Ranges(name), timeout)
    }

    /// What a transaction has claimed: names, and those of the rows' locks.
    pub(crate) fn claimed(held: &HeldLocks) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        held.inserts.iter().map(|insert| (&insert.name[..], &insert.row[..]))
    }

    /// Where a later [`LockManager::undo_claims`] goes back to.
    pub(crate) fn claims(held: &HeldLocks) -> usize {
        held.inserts.len()
    }

    /// Takes back the claims after the first `count`, whose inserts are undone, with the locks that were taken for
    /// them; `keep_locks` leaves those.
    pub(crate) fn undo_claims(&self, held: &mut HeldLocks, count: usize, keep_locks: bool) {
        while held.inserts.len() > count {
            let Some(insert) = held.inserts.pop() else { return };
            self.gaps.end(held.id, &insert);
            if insert.locked && !keep_locks {
                self.unlock(held, &insert.name);
            }
        }
    }

    /// Looks at the range of names from `lower` to `upper`, which is not in it, and locks of it what `hold` says.
    pub(crate) fn look(
        &self,
        held: &mut HeldLocks,
        lower: &[u8],
        upper: &[u8],
        direction: Direction,
        hold: Hold,
    ) -> RangeLook {
        let id = space_of(lower);
        let mut shard = self.gaps.shard(id).lock();
        let ended = shard.ended;
        let claim = shard.spaces.get(&id).and_then(|space| space.claim(held.id, lower, upper, direction));
        let (lower, upper) = match (hold, &claim, direction) {
            (Hold::Nothing, _, _) => return RangeLook { ended, claim },
            (Hold::UpToClaim, Some(claimed), Direction::Forward) => (lower, &*claimed.name),
            (Hold::UpToClaim, Some(claimed), Direction::Reverse) => (&*claimed.name, upper),
            (Hold::UpToClaim | Hold::Everything, _, _) => (lower, upper),
        };
        let ranges = shard.spaces.entry(id).or_default().ranges.entry(held.id).or_default();
        held.ranges = held.ranges.saturating_add_signed(ranges.add(lower, upper));
        if !held.spaces.contains(&id) {
            held.spaces.push(id);
        }
        RangeLook { ended, claim }
    }

    /// See [`RangeLook::ended`].
    pub(crate) fn ended_claims(&self, name: &[u8]) -> u64 {
        self.gaps.shard(space_of(name)).lock().ended
    }
}

#[cfg(test)]
mod tests;
