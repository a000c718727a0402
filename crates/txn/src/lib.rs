//! Transactions and their commit: snapshots, row locks, one log write per cohort, recovery.
//!
//! Another database can embed this crate: it brings engines ([`cohort_engine::Engine`]) and its own
//! row format, and gets ordered, durable commits with a MySQL-format change stream.
//!
//! Where to look
//! - a transaction's reads, locks and writes: [`Transaction`], `locks.rs`, `overlay.rs`, `scan.rs`
//! - a commit, step by step: `commit.rs`; the same after a crash: `recovery.rs`
//! - waits of sessions that share threads: `carrier.rs`
//! - the same with two logs, as MySQL and MariaDB did it: `protocols.rs`
//! - the logs seen from outside, for tools: `inspect.rs`, `check.rs`
//! - prepared transactions of clients: `xa.rs`
//! - what the log can forget, and when: `checkpoint.rs`
//! - where threads meet, and how their schedules are explored: `sync.rs`, `schedules.rs`
//!
//! Not here: SQL, sockets, row formats.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod carrier;
mod check;
mod checkpoint;
mod cohort_record;
mod commit;
mod figures;
mod held_snapshot;
mod inspect;
mod lock_profile;
mod locking_scan;
mod locks;
mod overlay;
mod protocols;
mod recovery;
mod rests_on;
mod scan;
#[cfg(test)]
mod schedules;
mod store;
mod sync;
mod transaction;
mod write_set;
mod xa;

pub use check::{BinlogReport, LogCheck, check_logs};
pub use commit::{
    CommitError, CommitSettings, Committed, DurabilitySettings, LaidOutCohort, Published, Reply, SyncDelay,
    WrittenCohort,
};
pub use figures::{CommitFigures, Histogram};
pub use inspect::{
    ChunkReport, Fault, JournalReport, RecordReport, Records, RedoReport, TransactionReport, read_journal,
};
pub use lock_profile::{LockProfile, LockUse};
pub use locking_scan::{LockingScan, LockingScanError, Obstructed};
pub use locks::{Claim, Granted, KillHandle, LockError, LockMode};
pub use protocols::mark::{MarkError, ProtocolMark};
pub use protocols::recovery::{DecidedReport, TwoPhaseReport};
pub use protocols::switch::{DataDirectory, EngineSource, EngineSourceError, StartReport, Told};
pub use protocols::{CommitProtocol, TcLogError, UnknownProtocol};
pub use recovery::{EngineReport, RecoverError, RecoveryReport};
pub use rests_on::RestsOn;
pub use scan::Scan;
pub use store::{Store, StoreOptions};
pub use transaction::{Isolation, Read, Savepoint, Transaction};
pub use xa::{ActiveXa, XaError};
