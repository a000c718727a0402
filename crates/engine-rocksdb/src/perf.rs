//! What RocksDB counts of a thread's scans.

use std::cell::{Cell, LazyCell};

use rust_rocksdb::perf::{PerfContext, PerfMetric};

thread_local! {
    static CONTEXT: LazyCell<PerfContext> = LazyCell::new(PerfContext::default);
    static SEEN: Cell<Steps> = const { Cell::new(Steps { over_old_versions: 0, searched: 0 }) };
}

/// Steps of this thread's scans.
#[derive(Clone, Copy, Default)]
pub(super) struct Steps {
    /// Entries that were passed over: versions that are not the one to be seen, and deletions.
    pub(super) over_old_versions: u64,
    /// Files and memtables that were searched for the begin of a range.
    pub(super) searched: u64,
}

impl Steps {
    /// Those since the last call.
    pub(super) fn since_last() -> Steps {
        let now = CONTEXT.with(|context| Steps {
            over_old_versions: context.metric(PerfMetric::InternalKeySkippedCount),
            searched: context.metric(PerfMetric::SeekChildSeekCount),
        });
        let seen = SEEN.replace(now);
        Steps {
            over_old_versions: now.over_old_versions.wrapping_sub(seen.over_old_versions),
            searched: now.searched.wrapping_sub(seen.searched),
        }
    }
}
