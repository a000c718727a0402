//! Which keys of a range are changed by commits: what an ALTER TABLE that lets writers go on has to look at again.
//!
//! A capture notes keys, not versions. Whoever has read the range in one snapshot, and gets the keys that have changed
//! until another one, finds in the two snapshots what has become of them: transactions that rolled back, savepoints, and
//! the order of changes are of no interest.
//!
//! Invariants
//! 1. A key is noted before its transaction has a place in the order, and is in flight until readers see that or it has
//!    failed: what a snapshot sees is noted when it is taken.
//! 2. [`ChangeCapture::until`] gives each key that the snapshot sees changed, and was not given since it was noted; those in
//!    flight it gives again the next time.
//! 3. A capture beyond its bound has forgotten its keys, and says so from then on.
//!
//! Commits look at one counter while nobody captures.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cohort_engine::{EngineId, KeyRange};

use crate::large::KEY_BYTES;
use crate::sync::{Mutex, RwLock};
use crate::write_set::WriteSet;

/// A changed key.
pub type ChangedKey = Arc<[u8]>;

/// A capture has more keys than it may hold (`innodb_online_alter_log_max_size`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more keys were changed than the capture of changes may hold")]
pub struct CaptureOverflow;

#[derive(Default)]
struct Keys {
    /// Of transactions that readers see, or that failed.
    finished: BTreeSet<ChangedKey>,
    /// Of transactions on their way, by number.
    in_flight: BTreeMap<u64, Vec<ChangedKey>>,
    next: u64,
    bytes: u64,
    overflowed: bool,
}

struct Log {
    engine: EngineId,
    range: KeyRange,
    keys: Mutex<Keys>,
}

fn bytes(key: &ChangedKey) -> u64 {
    KEY_BYTES + key.len() as u64
}

impl Log {
    /// Notes what `writes` change in the range.
    fn note(self: &Arc<Self>, writes: &WriteSet, most: u64) -> Option<CapturedCommit> {
        let (_, changes) = writes.engines().find(|(engine, _)| *engine == self.engine)?;
        let bounds = (Bound::Included(&self.range.lower[..]), Bound::Excluded(&self.range.upper[..]));
        self.note_keys(changes.range::<[u8], _>(bounds).map(|(key, _)| key.clone()).collect(), most)
    }

    fn note_keys(self: &Arc<Self>, changed: Vec<ChangedKey>, most: u64) -> Option<CapturedCommit> {
        if changed.is_empty() {
            return None;
        }
        let mut keys = self.keys.lock();
        if keys.overflowed {
            return None;
        }
        keys.bytes += changed.iter().map(bytes).sum::<u64>();
        if keys.bytes > most {
            *keys = Keys { overflowed: true, ..Keys::default() };
            return None;
        }
        let number = keys.next;
        keys.next += 1;
        keys.in_flight.insert(number, changed);
        Some(CapturedCommit { log: self.clone(), number })
    }

    fn finish(&self, number: u64) {
        let mut keys = self.keys.lock();
        for key in keys.in_flight.remove(&number).unwrap_or_default() {
            let noted = bytes(&key);
            if !keys.finished.insert(key) {
                keys.bytes -= noted;
            }
        }
    }
}

/// The changes of one transaction that is being committed, as one capture has noted them. Dropped when readers see them, or
/// when nothing becomes of them.
pub(crate) struct CapturedCommit {
    log: Arc<Log>,
    number: u64,
}

impl Drop for CapturedCommit {
    fn drop(&mut self) {
        self.log.finish(self.number);
    }
}

/// The captures of a store.
#[derive(Default)]
pub(crate) struct Captures {
    count: AtomicUsize,
    logs: RwLock<Vec<Arc<Log>>>,
}

impl Captures {
    /// Notes `writes`, which are about to be ordered, in every capture that they concern. `most` bytes are what a
    /// capture may hold.
    pub fn note(&self, writes: &WriteSet, most: impl FnOnce() -> u64) -> Vec<CapturedCommit> {
        // Whoever captures has waited for the writers before: those of now have seen its locks, and so the counter.
        if self.count.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let most = most();
        self.logs.read().iter().filter_map(|log| log.note(writes, most)).collect()
    }

    /// The same of a large transaction: the keys that it changes in a range are asked for, up to so many bytes and one more.
    pub fn note_large<E>(
        &self,
        most: u64,
        keys: impl Fn(EngineId, &KeyRange, u64) -> Result<Vec<ChangedKey>, E>,
    ) -> Result<Vec<CapturedCommit>, E> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return Ok(Vec::new());
        }
        let logs = self.logs.read().clone();
        let noted: Result<Vec<_>, E> =
            logs.iter().map(|log| Ok(log.note_keys(keys(log.engine, &log.range, most)?, most))).collect();
        Ok(noted?.into_iter().flatten().collect())
    }
}

/// A capture of the changes of a range; dropping it ends it.
pub struct ChangeCapture {
    captures: Arc<Captures>,
    log: Arc<Log>,
}

impl std::fmt::Debug for ChangeCapture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeCapture").field("range", &self.log.range).finish()
    }
}

impl ChangeCapture {
    pub(crate) fn begin(captures: &Arc<Captures>, engine: EngineId, range: KeyRange) -> ChangeCapture {
        let log = Arc::new(Log { engine, range, keys: Mutex::default() });
        captures.logs.write().push(log.clone());
        captures.count.fetch_add(1, Ordering::SeqCst);
        ChangeCapture { captures: captures.clone(), log }
    }

    /// Takes a snapshot by `take`, and gives it with the keys, in order, that it may see changed since the last call or,
    /// the first time, since the capture began.
    pub fn until<T>(&self, take: impl FnOnce() -> T) -> Result<(Vec<ChangedKey>, T), CaptureOverflow> {
        let mut changed = {
            let mut keys = self.log.keys.lock();
            let finished = std::mem::take(&mut keys.finished);
            keys.bytes -= finished.iter().map(bytes).sum::<u64>();
            finished
        };
        let snapshot = take();
        // What has finished since may be seen, and what is in flight: it stays for the next snapshot.
        let keys = self.log.keys.lock();
        if keys.overflowed {
            return Err(CaptureOverflow);
        }
        changed.extend(keys.finished.iter().chain(keys.in_flight.values().flatten()).cloned());
        drop(keys);
        Ok((changed.into_iter().collect(), snapshot))
    }

    /// Whether there were more keys than it may hold.
    pub fn has_overflowed(&self) -> bool {
        self.log.keys.lock().overflowed
    }
}

impl Drop for ChangeCapture {
    fn drop(&mut self) {
        self.captures.count.fetch_sub(1, Ordering::SeqCst);
        self.captures.logs.write().retain(|log| !Arc::ptr_eq(log, &self.log));
    }
}

#[cfg(test)]
mod tests;
