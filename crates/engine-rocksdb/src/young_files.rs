//! Files of the youngest level, and when they are worth a compaction of their own.
//!
//! A scan merges each file of the youngest level with the levels below, entry by entry. RocksDB compacts that level when it
//! has four files, whatever is read, so that a table that is read more than it is written keeps up to three of them for good.
//! So scans save up: once they have spent on merging what a compaction would have cost, it runs, on a thread of its own.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};

use cohort_io::scheduling::{give_way, take_long_slices};
use cohort_io::sync::Mutex;
use rust_rocksdb::compaction::{CompactionCancellationToken, CompactionOptions};
use rust_rocksdb::properties;

use crate::handle::Handle;

/// Size at which a file of a level, or of a load, is closed and the next begun, bytes.
pub(super) const TARGET_FILE_SIZE: u64 = 64 << 20;
/// What a search in one more file costs, in entries merged.
const ENTRIES_PER_SEEK: u64 = 30;
/// Bytes that a compaction rewrites in the time that merging an entry with one more file takes.
const BYTES_PER_ENTRY: u64 = 2;
/// How often the files are looked at, in entries merged.
const ENTRIES_PER_LOOK: u64 = 1 << 20;

/// What scans have spent since the last compaction for their sake.
#[derive(Default)]
pub(super) struct YoungFiles {
    merged: AtomicU64,
    stop: Arc<CompactionCancellationToken>,
    compaction: Mutex<Option<JoinHandle<()>>>,
}

impl YoungFiles {
    /// Counts a scan that has made `seeks` searches, of `searched` files and memtables in all, and given `entries`. Begins
    /// a compaction when it is worth one.
    pub(super) fn scanned<H, D>(&self, db: &Arc<D>, seeks: u64, searched: u64, entries: u64)
    where
        H: Handle,
        D: Deref<Target = H> + Send + Sync + 'static,
    {
        let more = searched.saturating_sub(seeks);
        if more == 0 || seeks == 0 {
            return;
        }
        let merged = more * ENTRIES_PER_SEEK + entries * more / seeks;
        let before = self.merged.fetch_add(merged, Relaxed);
        let now = before + merged;
        if before / ENTRIES_PER_LOOK == now / ENTRIES_PER_LOOK {
            return;
        }
        let Some(compaction) = Compaction::of(&***db) else {
            self.merged.store(0, Relaxed);
            return;
        };
        // The levels below are merged with or without a compaction.
        let share = (compaction.files.len() as f64 * seeks as f64 / more as f64).min(1.0);
        if (now as f64) * share < (compaction.bytes / BYTES_PER_ENTRY) as f64 {
            return;
        }
        let mut running = self.compaction.lock();
        if running.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        self.merged.store(0, Relaxed);
        let (db, stop) = (db.clone(), self.stop.clone());
        // If there can be no thread, scans are as slow as before.
        *running = thread::Builder::new().name("young-files".into()).spawn(move || compaction.run(&**db, stop)).ok();
    }

    /// Ends the compaction that runs, if there is one, and begins no other.
    pub(super) fn stop(&self) {
        self.stop.cancel();
        if let Some(thread) = self.compaction.lock().take() {
            let _ = thread.join();
        }
    }
}

/// The files of the youngest level, and what they are merged into.
struct Compaction {
    files: Vec<String>,
    level: i32,
    /// Bytes of all that is rewritten.
    bytes: u64,
}

impl Compaction {
    fn of(db: &impl Handle) -> Option<Compaction> {
        let level = db.property(properties::BASE_LEVEL) as i32;
        let all = db.live_files();
        let bytes = all.iter().filter(|file| file.level == 0 || file.level == level).map(|file| file.size as u64).sum();
        let files: Vec<String> = all.into_iter().filter(|file| file.level == 0).map(|file| file.name).collect();
        (!files.is_empty() && level > 0).then_some(Compaction { files, level, bytes })
    }

    fn run(self, db: &impl Handle, stop: Arc<CompactionCancellationToken>) {
        give_way(None);
        take_long_slices(None);
        let mut options = CompactionOptions::default();
        options.set_output_file_size_limit(TARGET_FILE_SIZE);
        options.set_canceled(stop);
        // RocksDB may have begun one of its own. An error of the disk reaches the engine's events.
        if let Err(error) = db.compact(&options, &self.files, self.level) {
            log::debug!("the youngest files stay as they are: {error}");
        }
    }
}
