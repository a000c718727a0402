//! What a store asks of the way it commits, whichever that is: the journal (`journaled/`) or two logs kept
//! together by a classic protocol (`classic/`). The two do not know each other.
//!
//! XA transactions need nothing of their own here: a prepare and a decision are transactions too (`xa.rs`).

use std::sync::Arc;

use cohort_binlog::FileStart;
use cohort_io::SyncStats;
use cohort_journal::Journal;

use crate::lock_profile::LockProfile;
use crate::outcome::{CommitError, Reply};
use crate::transaction::Transaction;

/// A background thread: its name and its body.
pub(crate) type Worker = (&'static str, Box<dyn FnOnce() + Send>);

pub(crate) trait CommitPath: std::any::Any + Send + Sync {
    /// Commits; `reply` gets the outcome, maybe from another thread, maybe before this returns.
    fn commit(&self, transaction: Transaction, reply: Box<dyn Reply>);

    /// Answers when the transactions up to `seen` are durable (I9).
    fn when_durable(&self, seen: Option<u64>, reply: Box<dyn Reply>);

    /// Whether the transaction with this order is durable, with all before it that readers see.
    fn is_durable(&self, order: u64) -> bool;

    /// The order of the newest transaction that has its place and may not be seen by readers yet; `None` where a
    /// transaction gives its locks up when it is seen.
    fn newest_ordered(&self) -> Option<u64>;

    /// Begins a new binlog file after everything committed so far. `reply` as for [`CommitPath::commit`].
    fn begin_file(&self, start: FileStart, reply: Box<dyn Reply>);

    /// Why commits are refused, if they are.
    fn closed(&self) -> Option<CommitError>;

    /// Refuses new commits and finishes those on the way.
    fn drain(&self);

    /// The threads that a running store needs. They end after [`CommitPath::stop`].
    fn workers(self: Arc<Self>) -> Vec<Worker>;

    /// Ends the threads; call after [`CommitPath::drain`].
    fn stop(&self);

    /// Makes everything durable as a clean stop does; nothing is committed afterwards, and no thread runs.
    fn close(&self) -> Result<(), String>;

    /// What the background does ahead of need: journal segments, the next binlog file.
    fn prepare_ahead(&self);

    /// Takes a checkpoint now; the one before still counts after an error. Without a journal nothing is done.
    fn take_checkpoint(&self) -> Result<(), String>;

    /// Asks for a checkpoint soon.
    fn want_checkpoint(&self);

    /// Why the last checkpoint was not taken, if it was not.
    fn checkpoint_refusal(&self) -> Option<String>;

    /// The first binlog file that the next start needs.
    fn purge_floor(&self) -> u64;

    /// Whether recovery goes by the commit's number in the binlog, so that XA transactions need one too.
    fn numbers_xa(&self) -> bool;

    /// The journal, if that is what makes commits durable.
    fn journal(&self) -> Option<&Journal>;

    /// Writes and syncs of the coordinator's log, where that is neither journal nor binlog.
    fn coordinator_log(&self) -> Option<SyncStats>;

    /// Its locks, and what they cost so far.
    fn lock_profile(&self) -> Vec<LockProfile>;
}
