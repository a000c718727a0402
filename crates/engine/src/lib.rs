//! What a storage engine is: an ordered map of byte strings that takes redo in commit order.
//!
//! An engine knows neither binlog nor journal nor SQL. It applies the redo of whole cohorts, without
//! a log of its own, and says how far what it holds is durable; whoever drives it replays the rest
//! after a crash.
//!
//! Invariants
//! 1. [`Engine::apply`] is atomic: a reader sees a cohort whole or not at all.
//! 2. [`Engine::durable_position`] never names a position whose redo, or any redo before it, could
//!    still be lost.
//! 3. Applying redo again, in order, from any position at or before the durable one leaves the same
//!    map (redo is absolute: puts and deletes, no increments).
//!
//! Not here: row locks and write sets (`cohort-txn`), row formats (`cohort-sql`).

#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod group_sync;
mod large;
pub mod logged;
pub mod memory;
pub mod redb;
mod redo;
pub mod stored;
mod two_phase;
mod version;

pub use group_sync::GroupSync;
pub use large::{Change, Changes};
pub use redo::{Redo, RedoError, RedoOp};
pub use stored::OpenError;
pub use two_phase::{TwoPhase, Xid, XidError};

use std::sync::Arc;

/// Which engine of the server a key belongs to; an index into the list the server was opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EngineId(pub u8);

/// A growing number that the caller gives with each applied cohort and gets back after a crash. The
/// coordinator passes the end of the cohort's journal record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// A caller's key has at least so many bytes; shorter keys belong to the engines.
pub const MIN_KEY_LEN: usize = 4;

/// Which way a cursor walks its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the lower bound upwards.
    Forward,
    /// From the upper bound downwards.
    Reverse,
}

/// The keys `lower <= key < upper`, in byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First key that belongs to the range.
    pub lower: Vec<u8>,
    /// First key after the range.
    pub upper: Vec<u8>,
}

/// The least key that is greater: it has a zero more.
pub fn next_key(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// One key with its value, borrowed from a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
}

/// A read failed below the engine: an I/O error, or damage that the engine found.
#[derive(Debug, thiserror::Error)]
#[error("{engine}: read failed: {detail}")]
pub struct ReadError {
    /// [`Engine::name`] of the engine.
    pub engine: &'static str,
    /// What the engine's library said.
    pub detail: String,
}

/// Why an engine could not take or keep what it was given.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No room on the device. What was applied stays readable and can be made durable later.
    #[error("{engine}: no space left: {detail}")]
    NoSpace {
        /// [`Engine::name`] of the engine.
        engine: &'static str,
        /// What the engine's library said.
        detail: String,
    },
    /// The redo is not what [`Redo`] writes: nothing of the cohort was applied.
    #[error(transparent)]
    Redo(#[from] RedoError),
    /// Anything else. The engine must not be written to again before a restart.
    #[error("{engine}: write failed: {detail}")]
    Failed {
        /// [`Engine::name`] of the engine.
        engine: &'static str,
        /// What the engine's library said.
        detail: String,
    },
}

/// Walks a range of keys once, in one direction.
pub trait Cursor: Send {
    /// The next entry, or `None` after the last one; after an error the cursor is at its end.
    fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError>;

    /// Begins anew with another range within the bounds that it was made for ([`Snapshot::cursor_within`]). False, and
    /// nothing is done, if it cannot.
    fn move_to(&mut self, range: &KeyRange) -> bool {
        let _ = range;
        false
    }
}

/// A view of everything that was applied when it was taken, and nothing later.
pub trait Snapshot: Send + Sync {
    /// Puts the value of `key` into `value` (cleared first) and says whether there is one.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError>;
    /// A cursor over `range` of this view; it keeps the view alive by itself.
    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError>;

    /// The same, for who will [move](Cursor::move_to) it within `bounds`, where the engine has such cursors.
    fn cursor_within(
        &self,
        range: &KeyRange,
        bounds: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn Cursor>, ReadError> {
        let _ = bounds;
        self.cursor(range, direction)
    }

    /// About what share of the bytes of `whole` are in `part`, a range within it, without reading them; `None` if that is
    /// not known.
    fn share(&self, part: &KeyRange, whole: &KeyRange) -> Option<f64> {
        let _ = (part, whole);
        None
    }
}

/// Makes the log of an engine's caller durable, up to everything that the engine was given. An error says why it
/// is not, and stays one.
pub type SyncCallersLog = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A storage engine below the commit coordinator.
pub trait Engine: Send + Sync + 'static {
    /// The name as in `ENGINE=` and in error messages.
    fn name(&self) -> &'static str;

    /// A view of everything applied so far. Cheap: called once a cohort.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// The newest applied value of `key`; `value` is cleared first.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError>;

    /// A cursor over everything applied when it was made.
    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError>;

    /// Applies one cohort, its members' redo in commit order, atomically together with `position`.
    /// Not durable afterwards. One caller at a time, positions rising; redo at or before the position
    /// that was durable at open is skipped. After an error nothing of the cohort is applied; after
    /// [`WriteError::NoSpace`] the same call works once there is room.
    fn apply(&self, cohort: &[&[u8]], position: Position) -> Result<(), WriteError>;

    /// [`Engine::apply`] of one transaction whose changes are not in memory. An engine that does not say otherwise
    /// gathers them there.
    fn apply_large(&self, changes: &mut dyn Changes, position: Position) -> Result<(), WriteError> {
        let redo = large::redo_of(changes)
            .map_err(|error| WriteError::Failed { engine: self.name(), detail: error.detail })?;
        self.apply(&[&redo], position)
    }

    /// Keeps a part of a large transaction's changes, outside of the commit order, on stable storage when it returns;
    /// nobody sees them. False, and nothing is done, where the engine cannot: it gets them by [`Engine::apply_large`].
    /// After an error nothing of the part is kept.
    fn stage(&self, transaction: u64, part: u32, changes: &mut dyn Changes) -> Result<bool, WriteError> {
        let _ = (transaction, part, changes);
        Ok(false)
    }

    /// [`Engine::apply`] of a transaction whose `parts` were staged, the oldest first, maybe before the engine was opened.
    /// They are kept until they are applied durably, or [`Engine::discard_staged`] gives them up.
    fn apply_staged(&self, transaction: u64, parts: &[u32], position: Position) -> Result<(), WriteError> {
        let _ = (transaction, parts, position);
        Err(WriteError::Failed { engine: self.name(), detail: "it stages nothing".to_owned() })
    }

    /// Whether a part that was staged is still kept, for those who look without changing anything.
    fn has_staged(&self, transaction: u64, part: u32) -> bool {
        let _ = (transaction, part);
        false
    }

    /// Gives up a part that was staged.
    fn discard_part(&self, transaction: u64, part: u32) {
        let _ = (transaction, part);
    }

    /// Gives up what was staged of a transaction, applied or not.
    fn discard_staged(&self, transaction: u64) {
        let _ = transaction;
    }

    /// The same of every transaction: those that others staged before the engine was opened.
    fn discard_all_staged(&self) {}

    /// The position up to which everything applied survives a power cut.
    fn durable_position(&self) -> Position;

    /// Makes everything applied before the call durable and returns the position then durable. May
    /// run beside [`Engine::apply`].
    fn sync(&self) -> Result<Position, WriteError>;

    /// Says whether [`Engine::apply`] would be taken now, without trying: after a failed write in the
    /// background it would not. Cheap enough to ask before a transaction gets its place in the order.
    fn ready(&self) -> Result<(), WriteError>;

    /// Has `sync_callers_log` called before the engine makes anything durable that was applied after the last
    /// call, also when it does so by itself. The caller makes its log durable in it: where not every
    /// log write is synced, the engine could otherwise outlive the log after a power cut. After an error
    /// nothing becomes durable: [`Engine::sync`] fails, and an engine that cannot hold back what it does
    /// by itself ends the process. Called on threads of the engine; must not call the engine. Set once,
    /// before the first [`Engine::apply`].
    fn sync_callers_log_first(&self, sync_callers_log: SyncCallersLog);

    /// Adds sorted, distinct entries of a key range that no committed data refers to yet, outside of
    /// the commit order (index builds); durable when it returns. After an error or a crash part of
    /// them may be there: the caller erases the range.
    fn load(&self, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError>;

    /// Removes a key range that no committed data refers to any more, outside of the commit order
    /// (dropped tables and indexes). Not durable: repeating it after a crash is the caller's part. Nothing may be written
    /// to the range again before the engine is opened anew: its files may go at any time.
    fn erase(&self, range: &KeyRange) -> Result<(), WriteError>;

    /// Named statistics for SHOW STATUS and SHOW ENGINE (memory, files, flushes, syncs, …).
    fn stats(&self) -> Vec<(&'static str, u64)>;
}
