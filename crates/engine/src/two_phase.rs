//! What the classic commit protocols ask of an engine: a log of its own, with prepare and commit records.

use std::fmt;

use crate::{Engine, WriteError};

/// The name of a transaction that spans several logs; the engine does not look into it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid(Box<[u8]>);

/// The name is empty or longer than [`Xid::MAX_LEN`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a transaction's name has 1 to {max} bytes, not {0}", max = Xid::MAX_LEN)]
pub struct XidError(pub usize);

impl Xid {
    /// Longest name, bytes: an XA identifier has at most 4 + 1 + 1 + 64 + 64.
    pub const MAX_LEN: usize = 134;

    /// A transaction's name.
    pub fn new(bytes: &[u8]) -> Result<Xid, XidError> {
        if bytes.is_empty() || bytes.len() > Xid::MAX_LEN {
            return Err(XidError(bytes.len()));
        }
        Ok(Xid(bytes.into()))
    }

    /// The name as given.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Xid({})", self.0.escape_ascii())
    }
}

/// An engine that keeps its own write-ahead log and takes part in a two-phase commit.
///
/// Nothing here waits for the device but [`TwoPhase::sync_log`]; records reach the log in the order of
/// the calls, so that one sync covers everything before it. Until then they may be in the process only.
///
/// On crash: a transaction is prepared, committed or gone as the records that reached the device say;
/// [`TwoPhase::prepared`] names the undecided ones.
pub trait TwoPhase: Engine {
    /// Writes `redo` to the log as a prepared transaction. Invisible to readers. The name must be in use
    /// nowhere else. After an error nothing is prepared.
    fn prepare(&self, xid: &Xid, redo: &[u8]) -> Result<(), WriteError>;

    /// Writes the commit record of a prepared transaction and makes it visible. Called in commit order.
    fn commit_prepared(&self, xid: &Xid) -> Result<(), WriteError>;

    /// Takes a prepared transaction back.
    fn rollback_prepared(&self, xid: &Xid) -> Result<(), WriteError>;

    /// Writes `redo` and its commit record at once, without a prepare, and makes it visible.
    fn commit_unprepared(&self, redo: &[u8]) -> Result<(), WriteError>;

    /// Transactions that are prepared and undecided, those found at open included.
    fn prepared(&self) -> Vec<Xid>;

    /// Returns when every record written before the call is on stable storage. Calls that wait share a
    /// sync. After an error every later call fails too, and the engine must not be written to again.
    fn sync_log(&self) -> Result<(), WriteError>;

    /// Hands every record written before the call to the operating system, unsynced: a crash of the process
    /// then leaves it, a power cut may not. An engine whose log exists only as it is flushed does nothing.
    fn flush_log(&self) -> Result<(), WriteError>;

    /// How often the log was synced.
    fn log_syncs(&self) -> u64;

    /// What the open cut off its log as the torn end of a write, bytes.
    fn log_bytes_cut(&self) -> u64 {
        0
    }
}
