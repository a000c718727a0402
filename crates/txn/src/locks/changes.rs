//! When what locks are about may have changed last.
//!
//! What a transaction has changed is visible to others before it gives up its exclusive locks at its end. Ends are
//! numbered, and the number of the last one is kept for each lock: whoever read something after an end with that number,
//! and got the lock later, has read the newest version.
//!
//! Invariants
//! 1. A lock's number never falls, and is that of its last end or a later one: locks share places by their hash
//!    (`what_nobody_changed_is_not_read_again` in `locking_scan/tests.rs`).
//! 2. Numbers are written under the mutex of the lock's shard before the lock goes, and read by its next holder.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many places there are: 256 KiB.
const PLACES: usize = 1 << 15;

/// The numbers of ends, by the hashes of locks.
#[derive(Debug)]
pub(super) struct Changes {
    ends: AtomicU64,
    last: Box<[AtomicU64]>,
}

impl Changes {
    pub(super) fn new() -> Changes {
        Changes { ends: AtomicU64::new(0), last: (0..PLACES).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The number of the newest end. What it has changed, whoever reads this sees.
    pub(super) fn ends(&self) -> u64 {
        self.ends.load(Ordering::Acquire)
    }

    /// Numbers an end whose changes can be seen.
    pub(super) fn end(&self) -> u64 {
        self.ends.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Notes that an exclusive lock is given up at that end.
    pub(super) fn note(&self, hash: u64, end: u64) {
        self.place(hash).fetch_max(end, Ordering::Relaxed);
    }

    /// The last end that gave up this lock.
    pub(super) fn last(&self, hash: u64) -> u64 {
        self.place(hash).load(Ordering::Relaxed)
    }

    fn place(&self, hash: u64) -> &AtomicU64 {
        &self.last[hash as usize % PLACES]
    }
}
