//! What a caller gives to a commit and gets back.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cohort_binlog::{BinlogPosition, Gtid};
use cohort_engine::WriteError;
use cohort_io::IoError;

/// What an acknowledged commit became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Its GTID; none for a transaction without binlog events, and for an anonymous one.
    pub gtid: Option<Gtid>,
    /// End of the transaction in the binlog.
    pub position: BinlogPosition,
}

/// Why a commit was not acknowledged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// No room for the transaction's log bytes. It was rolled back; the server goes on.
    #[error("no space left for the log: {0}")]
    NoSpace(String),
    /// The transaction is larger than a log can hold. It was rolled back.
    #[error("the transaction has {bytes} bytes of log, the most is {max}")]
    TooLarge {
        /// Bytes it would need.
        bytes: u64,
        /// Bytes it may need.
        max: u64,
    },
    /// The files that a large transaction has while it runs could not be written or read. It was rolled back.
    #[error("the transaction's changes cannot be kept: {0}")]
    Spill(String),
    /// A log write failed earlier: the server takes no more writes. The transaction was rolled back.
    #[error("the server no longer takes writes: {0}")]
    Sealed(String),
    /// Writing this transaction's cohort, or one before it, failed. Whether it survives is known only
    /// after the next start.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
    /// The server is shutting down. The transaction was rolled back.
    #[error("server shutdown in progress")]
    ShuttingDown,
}

impl CommitError {
    /// What an engine that takes no writes is to a commit that has left nothing behind.
    pub(crate) fn of_engine(error: WriteError) -> CommitError {
        match error {
            WriteError::NoSpace { .. } => CommitError::NoSpace(error.to_string()),
            error => CommitError::Sealed(error.to_string()),
        }
    }

    /// What an error of a file is that only one transaction needs.
    pub(crate) fn of_file(error: &IoError) -> CommitError {
        match error.is_no_space() {
            true => CommitError::NoSpace(error.to_string()),
            false => CommitError::Spill(error.to_string()),
        }
    }
}

/// Where the outcome of a commit goes.
pub trait Reply: Send {
    /// Called exactly once, by the committing thread or by a log writer. Must not block: every commit
    /// after this one waits for it.
    fn send(self: Box<Self>, outcome: Result<Committed, CommitError>);
}

/// How durable an acknowledged commit is; the strictest of the two settings wins, since both speak of
/// the same journal.
#[derive(Debug)]
pub struct DurabilitySettings {
    /// `sync_binlog`: sync every N cohorts, 0 for never.
    pub sync_binlog: AtomicU32,
    /// `flush_log_at_trx_commit`: 1 syncs every cohort, 0 and 2 hand it to the operating system.
    pub flush_log_at_trx_commit: AtomicU32,
}

/// Settings of the coordinator that may change while it runs.
#[derive(Debug)]
pub struct CommitSettings {
    /// When a cohort is synced.
    pub durability: DurabilitySettings,
    /// `max_binlog_size`, bytes: a transaction that would begin beyond it begins a new file.
    pub max_binlog_size: AtomicU64,
    /// `binlog_row_metadata=FULL`, for transactions that begin from now on.
    pub full_row_metadata: AtomicBool,
    /// `binlog_order_commits`: engines commit in binlog order. The journal and most protocols do so in any case.
    pub order_commits: AtomicBool,
    /// How long a group may be held back.
    pub sync_delay: SyncDelay,
    /// The largest transaction that goes into one record of a log, bytes of binlog or redo: every one but those that
    /// [`SpillSettings`] are about. A gigabyte at most, its default.
    pub transaction_bytes_max: AtomicU64,
    /// What a capture of changes may hold (`innodb_online_alter_log_max_size`), bytes.
    pub capture_bytes_max: AtomicU64,
    pub spill: SpillSettings,
}

/// From when on a transaction goes to files while it runs, under the journal.
#[derive(Debug)]
pub struct SpillSettings {
    /// `binlog_cache_size`: the events that memory takes, bytes.
    pub events_bytes: AtomicU64,
    /// What changes take in memory, bytes; `u64::MAX` for never.
    pub writes_bytes: AtomicU64,
}

impl Default for SpillSettings {
    fn default() -> SpillSettings {
        SpillSettings { events_bytes: AtomicU64::new(4 << 20), writes_bytes: AtomicU64::new(16 << 20) }
    }
}

/// How long a leader waits for more members before it syncs for the group; not at all where `max_us` is 0.
#[derive(Debug, Default)]
pub struct SyncDelay {
    /// `binlog_group_commit_sync_delay`, microseconds.
    pub max_us: AtomicU32,
    /// `binlog_group_commit_sync_no_delay_count`: with so many members it waits no longer; 0 for no such number.
    pub enough: AtomicU32,
}

impl SyncDelay {
    /// Until when to wait, and for how many members at most; `None` for not at all.
    pub(crate) fn begin(&self) -> Option<(Instant, usize)> {
        let max_us = self.max_us.load(Ordering::Relaxed);
        let enough = match self.enough.load(Ordering::Relaxed) {
            0 => usize::MAX,
            enough => enough as usize,
        };
        (max_us > 0).then(|| (Instant::now() + Duration::from_micros(max_us.into()), enough))
    }
}

impl CommitSettings {
    /// Everything durable, nothing held back, files of `max_binlog_size` bytes.
    pub fn durable(max_binlog_size: u64) -> CommitSettings {
        CommitSettings {
            durability: DurabilitySettings {
                sync_binlog: AtomicU32::new(1),
                flush_log_at_trx_commit: AtomicU32::new(1),
            },
            max_binlog_size: AtomicU64::new(max_binlog_size),
            full_row_metadata: AtomicBool::new(false),
            order_commits: AtomicBool::new(true),
            sync_delay: SyncDelay::default(),
            transaction_bytes_max: AtomicU64::new(1 << 30),
            capture_bytes_max: AtomicU64::new(128 << 20),
            spill: SpillSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_held_back_only_where_a_delay_is_set_and_for_as_many_as_are_enough() {
        let delay = SyncDelay::default();
        for enough in [0, 3] {
            delay.enough.store(enough, Ordering::Relaxed);
            delay.max_us.store(0, Ordering::Relaxed);
            assert_eq!(delay.begin(), None);
            delay.max_us.store(1, Ordering::Relaxed);
            let members = if enough == 0 { usize::MAX } else { 3 };
            assert_eq!(delay.begin().map(|(_, enough)| enough), Some(members));
        }
        delay.max_us.store(1_000_000_000, Ordering::Relaxed);
        let now = Instant::now();
        let (until, _) = delay.begin().expect("a delay");
        assert!(until >= now + Duration::from_secs(1000), "it is microseconds after now");
    }

    #[test]
    fn a_full_disk_is_no_failed_engine() {
        let full = CommitError::of_engine(WriteError::NoSpace { engine: "redb", detail: "full".to_owned() });
        assert!(matches!(full, CommitError::NoSpace(_)), "{full}");
        let failed = CommitError::of_engine(WriteError::Failed { engine: "redb", detail: "broken".to_owned() });
        assert!(matches!(failed, CommitError::Sealed(_)), "{failed}");
    }
}
