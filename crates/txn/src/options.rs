//! What a store is opened with.

use std::path::PathBuf;

use cohort_binlog::{BinlogOptions, BinlogPosition, ServerIdentity, ServerUuid};
use cohort_journal::JournalOptions;

use crate::outcome::CommitSettings;

/// Whether new transactions of the binlog have GTIDs (`gtid_mode`). What counts as executed stays from one mode to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GtidMode {
    /// Each has one.
    #[default]
    On,
    /// They are anonymous.
    Off,
}

/// How to open a store.
pub struct StoreOptions {
    /// Directory of the journal's segments.
    pub journal_dir: PathBuf,
    /// Size of segments and the like.
    pub journal: JournalOptions,
    /// Where the binlog is.
    pub binlog: BinlogOptions,
    /// Where the operator gives the binlog up, if the start of a classic protocol stops there for damage.
    pub binlog_cut_at: Option<BinlogPosition>,
    /// Whether transactions go into the binlog (`log_bin`). Without, its files stay as they are.
    pub log_bin: bool,
    /// The coordinator's log of transactions that are not in the binlog, unless the journal has them; in a
    /// directory that is there.
    pub tc_log: PathBuf,
    /// What events say about the server.
    pub identity: ServerIdentity,
    /// Whether there are new GTIDs.
    pub gtid_mode: GtidMode,
    /// The source part of new GTIDs.
    pub server_uuid: ServerUuid,
    /// Durability and file sizes at the start.
    pub settings: CommitSettings,
    /// Journal bytes between checkpoints.
    pub checkpoint_bytes: u64,
}
