//! Transactions and their commit: snapshots, row locks, one log write per cohort, recovery.
//!
//! Another database can embed this crate: it brings engines ([`cohort_engine::Engine`]) and its own
//! row format, and gets ordered, durable commits with a MySQL-format change stream.
//!
//! Where to look
//! - a transaction's reads, locks and writes: [`Transaction`], `locks.rs`, `overlay.rs`, `scan.rs`
//! - what a store asks of the way it commits: `commit_path.rs`
//! - a commit, step by step: `journaled/commit.rs`; the same after a crash: `journaled/recovery.rs`
//! - the same with two logs, as MySQL and MariaDB did it: `classic.rs`
//! - from a data directory to an open store: `open.rs`
//! - waits of sessions that share threads: `blocking_hook.rs`
//! - which keys of a table are changed while ALTER TABLE copies it: `change_capture.rs`
//! - the logs seen from outside, for tools: `inspect.rs`, `check.rs`
//! - prepared transactions of clients: `xa.rs`
//! - what the log can forget, and when: `journaled/checkpoint.rs`
//! - where threads meet, and how their schedules are explored: `sync.rs`, `schedules.rs`
//!
//! Not here: SQL, sockets, row formats.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod binlog_order;
pub mod blocking_hook;
mod change_capture;
mod check;
mod classic;
mod commit_path;
mod commit_protocol;
mod given_gtids;
mod gtid_sets;
mod held_snapshot;
mod inspect;
mod journaled;
mod large;
mod lock_profile;
mod locking_scan;
mod locks;
mod open;
mod options;
mod outcome;
mod overlay;
mod protocol_mark;
mod rests_on;
mod scan;
#[cfg(test)]
mod schedules;
mod session_locks;
mod shared;
mod stats;
mod store;
mod sync;
#[cfg(test)]
mod tests;
mod transaction;
mod write_set;
mod xa;

pub use change_capture::{CaptureOverflow, ChangeCapture, ChangedKey};
pub use check::{BinlogReport, LogCheck, check_logs};
pub use classic::TcLogError;
pub use classic::recovery::{ClassicReport, DecidedReport, RecoverError as ClassicRecoverError};
pub use commit_protocol::{CommitProtocol, UnknownProtocol};
pub use given_gtids::{AddGtidsError, GtidClaim, OwnedGtid};
pub use gtid_sets::ResetError;
pub use inspect::{
    ChunkReport, Fault, JournalReport, RecordReport, Records, RedoReport, TransactionReport, read_journal,
};
pub use journaled::commit::{LaidOutCohort, WrittenCohort};
pub use journaled::recovery::{EngineReport, RecoverError as JournaledRecoverError, RecoveryReport};
pub use lock_profile::{LockProfile, LockUse};
pub use locking_scan::{LockingScan, LockingScanError, Obstructed};
pub use locks::{Claim, Granted, KillHandle, LockError, LockMode, MetadataMode, MetadataName, WaitsFor};
pub use open::{
    DataDirectory, EngineSource, EngineSourceError, Engines, Listener, OpenError, Recovered, StartReport, StartupEvent,
};
pub use options::{GtidMode, StoreOptions};
pub use outcome::{CommitError, CommitSettings, Committed, DurabilitySettings, Reply, SpillSettings, SyncDelay};
pub use protocol_mark::{MarkError, ProtocolMark};
pub use rests_on::RestsOn;
pub use scan::Scan;
pub use session_locks::{MetadataLock, SessionLocks};
pub use shared::Published;
pub use stats::{CommitStats, Histogram};
pub use store::Store;
pub use transaction::{Isolation, Read, Savepoint, Transaction};
pub use xa::{ActiveXa, XaError, XaRestoreError};
