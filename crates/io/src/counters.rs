//! Counts of the writes and syncs of one log, as the kernel would count them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters shared by the files of one log. A write to a file opened for
/// [`Access::DirectSync`](crate::Access::DirectSync) counts as one write and one sync.
#[derive(Debug, Default)]
pub struct SyncCounters {
    writes: AtomicU64,
    bytes: AtomicU64,
    syncs: AtomicU64,
}

/// What [`SyncCounters`] said at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncStats {
    /// Write calls.
    pub writes: u64,
    /// Bytes those calls took.
    pub bytes: u64,
    /// Sync calls, and writes that sync by themselves.
    pub syncs: u64,
}

impl SyncCounters {
    /// One write call that took `bytes`.
    pub fn count_write(&self, bytes: u64) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// One sync call, of a file or a directory, or one write that is also a sync.
    pub fn count_sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// The statistics now.
    pub fn stats(&self) -> SyncStats {
        SyncStats {
            writes: self.writes.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            syncs: self.syncs.load(Ordering::Relaxed),
        }
    }
}
