//! [`RocksDb`]: the engine on RocksDB, with its own write-ahead log off.
//!
//! Invariants
//! 1. A cohort and its position go in with one write batch, into the one column family there is, so
//!    a memtable holds both or neither, and a flush of it makes both durable with one manifest edit.
//! 2. [`Engine::durable_position`] only moves after a flush that began when the position had already
//!    been applied, and starts from what the files say at open. Memtables that RocksDB flushes by
//!    itself may carry more: a position too low costs a longer replay, never a lost change.
//! 3. Redo at or before the position found at open is in the files already and is skipped, so a
//!    replay from any earlier position cannot bring an older version of a row back.
//!
//! Format: keys and values as given, which is why a caller's key has at least [`MIN_KEY_LEN`](cohort_engine::MIN_KEY_LEN) bytes;
//! shorter keys are the engine's own. There is one, the position's (`stored`). It sorts before every
//! caller's key, so that the files of a new index overlap with nothing.
//!
//! Concurrency: one applier, any number of readers; `sync`, `load` and `erase` may run beside them.
//! The batch is locked for the length of an apply; `sync` and `erase` take `upkeep`, never both.
//!
//! A full disk: RocksDB refuses writes from the flush that found no room until it has found room
//! again, for which it looks every five seconds; [`Engine::ready`] says which it is. It is never asked
//! to try earlier: a second failure would be final for it.
//!
//! On crash, and when it is dropped: the memtables are gone and the files are at the durable position or a little before
//! it.
//! Files of an unfinished [`Engine::load`] lie in `loading/` and go away at open. What was staged of large transactions
//! lies in `staged/` and stays there until it is applied or given up (`staged.rs`).

mod handle;
mod hidden;
mod log_format;
mod open;
mod perf;
mod positions;
mod read;
mod read_ahead;
mod staged;
mod stats;
mod strides;
#[cfg(test)]
mod tests;
mod torn_log;
mod torn_manifest;
mod two_phase;
mod upkeep;
mod young_files;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cohort_io::sync::Mutex;
use rust_rocksdb::{DB, ErrorKind, FlushOptions, ReadOptions, WriteBatch, WriteBatchWithTransaction, WriteOptions};

pub use open::RocksDbOptions;
pub use two_phase::RocksDbTwoPhase;

use cohort_engine::stored::{self, POSITION_KEY};
use cohort_engine::{
    Changes, Cursor, Direction, Engine, KeyRange, Position, ReadError, Redo, RedoError, RedoOp, Snapshot,
    SyncCallersLog, WriteError,
};
use positions::Positions;
use read::Shared;
use stats::Events;
use upkeep::Upkeep;

const NAME: &str = "RocksDB";
const FORMAT_VERSION: u8 = 1;
/// A batch that grew beyond this is dropped after its cohort instead of being reused, bytes.
const BATCH_KEEP: usize = 4 << 20;

/// An ordered map in a RocksDB directory; see the module.
pub struct RocksDb {
    db: Arc<Shared<DB>>,
    dir: PathBuf,
    options: open::Built,
    read: ReadOptions,
    write: WriteOptions,
    batch: Mutex<WriteBatch>,
    positions: Positions,
    upkeep: Mutex<Upkeep>,
    events: Arc<Events>,
    /// A sync of `staged/` has failed.
    staging_failed: AtomicBool,
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        self.db.young_files.stop();
    }
}

impl Engine for RocksDb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(read::View::new(self.db.clone()))
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        read::get(&self.db.handle, &self.read, key, value)
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        Ok(Box::new(read::RangeCursor::latest(self.db.clone(), range, direction)))
    }

    fn apply(&self, cohort: &[&[u8]], position: Position) -> Result<(), WriteError> {
        if !self.positions.is_new(position) {
            return Ok(());
        }
        let mut batch = self.batch.lock();
        batch.clear();
        for redo in cohort {
            fill(&mut batch, redo)?;
        }
        batch.put(POSITION_KEY, stored::encode(FORMAT_VERSION, position));
        self.db.write_opt(&batch, &self.write).map_err(|e| write_error(&e))?;
        self.positions.set_applied(position);
        if batch.size_in_bytes() > BATCH_KEEP {
            *batch = WriteBatch::new();
        }
        Ok(())
    }

    fn stage(&self, transaction: u64, part: u32, changes: &mut dyn Changes) -> Result<bool, WriteError> {
        staged::stage(self, transaction, part, changes).map(|()| true)
    }

    fn apply_staged(&self, transaction: u64, parts: &[u32], position: Position) -> Result<(), WriteError> {
        staged::apply(self, transaction, parts, position)
    }

    fn has_staged(&self, transaction: u64, part: u32) -> bool {
        staged::has(self, transaction, part)
    }

    fn discard_part(&self, transaction: u64, part: u32) {
        staged::discard_part(self, transaction, part);
    }

    fn discard_staged(&self, transaction: u64) {
        staged::discard(self, transaction);
    }

    fn discard_all_staged(&self) {
        staged::discard_all(self);
    }

    fn durable_position(&self) -> Position {
        self.positions.durable()
    }

    fn sync(&self) -> Result<Position, WriteError> {
        let mut upkeep = self.upkeep.lock();
        let applied = self.positions.applied();
        self.events.sync_callers_log()?;
        let mut options = FlushOptions::default();
        options.set_wait(true);
        self.db.flush_opt(&options).map_err(|e| write_error(&e))?;
        let durable = self.positions.set_durable(applied);
        upkeep.reclaim(&self.db).map_err(|e| write_error(&e))?;
        if self.ready().is_ok() {
            upkeep.drop_kept(&self.dir);
        }
        Ok(durable)
    }

    fn ready(&self) -> Result<(), WriteError> {
        self.events.ready()
    }

    fn sync_callers_log_first(&self, sync_callers_log: SyncCallersLog) {
        self.events.sync_callers_log_first(sync_callers_log);
    }

    fn load(&self, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
        upkeep::load(self, entries)
    }

    fn erase(&self, range: &KeyRange) -> Result<(), WriteError> {
        upkeep::erase(self, range)
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        stats::read(self)
    }
}

fn write_error(error: &rust_rocksdb::Error) -> WriteError {
    let detail = error.to_string();
    if is_no_space(error) {
        WriteError::NoSpace { engine: NAME, detail }
    } else {
        WriteError::Failed { engine: NAME, detail }
    }
}

fn is_no_space(error: &rust_rocksdb::Error) -> bool {
    error.kind() == ErrorKind::IOError && error.as_ref().contains("No space left on device")
}

fn fill<const T: bool>(batch: &mut WriteBatchWithTransaction<T>, redo: &[u8]) -> Result<(), RedoError> {
    for op in Redo::callers_ops(redo) {
        match op? {
            RedoOp::Put { key, value } => batch.put(key, value),
            RedoOp::Delete { key } => batch.delete(key),
        }
    }
    Ok(())
}

fn read_error(error: rust_rocksdb::Error) -> ReadError {
    ReadError { engine: NAME, detail: error.into_string() }
}
