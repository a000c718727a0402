//! Old versions in the memtable, and when they are worth a flush.
//!
//! RocksDB keeps every version of a key until its memtable is flushed, and a scan steps over all but
//! one of them. A flush keeps what snapshots need and drops the rest, but has its own price, and every
//! few flushes bring a compaction. So scans save up: once they have stepped over as much as a flush
//! would have cost, it begins. RocksDB's `memtable_op_scan_flush_trigger` counts alike, but acts at the
//! next write only, and a table that is read and no longer written is read slowly for good.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::handle::Handle;

/// The price of a flush and of its part of a compaction, in entries stepped over, besides
/// [`STEPS_PER_ENTRY`].
const STEPS_PER_FLUSH: u64 = 1 << 20;
/// What writing one entry of the memtable out costs, in entries stepped over.
const STEPS_PER_ENTRY: u64 = 2;
/// How often the size of the memtable is asked for, in entries stepped over.
const STEPS_PER_LOOK: u64 = 1 << 16;

/// Entries that scans stepped over since the last flush for their sake.
#[derive(Default)]
pub(super) struct Hidden(AtomicU64);

impl Hidden {
    /// Counts what a scan stepped over, and begins a flush when it is worth one.
    pub(super) fn scanned(&self, db: &impl Handle, steps: u64) {
        if steps == 0 {
            return;
        }
        let before = self.0.fetch_add(steps, Relaxed);
        let now = before + steps;
        if now < STEPS_PER_FLUSH || before / STEPS_PER_LOOK == now / STEPS_PER_LOOK {
            return;
        }
        let entries = db.memtable_entries();
        if now < STEPS_PER_FLUSH + entries * STEPS_PER_ENTRY {
            return;
        }
        self.0.store(0, Relaxed);
        db.begin_flush();
    }
}
