//! [`Redb`]: the engine on redb, a copy-on-write B-tree in one file, below a layer in memory.
//!
//! Outline: [`Engine::apply`] changes the *layer*, a map of what is newer than the tree. When the layer
//! is full, or at [`Engine::sync`], it is frozen, an empty one takes its place, and the frozen one is
//! written into the tree in one durable transaction; then readers get the new tree without it. Readers
//! look into layer, frozen layer and tree, in this order. Why there is a layer stands in decision 8.
//!
//! Invariants
//! 1. A frozen layer and its position go into the tree in one transaction, so the tree always holds
//!    exactly the cohorts up to its position, plus what was loaded, less what was erased.
//! 2. Every transaction of the tree is durable when it returns, in redb's two phases: pages, sync, new
//!    root, sync. What a root refers to is never overwritten while that root is current, so the file is
//!    valid after a kill and after a power cut at any moment.
//! 3. Redo at or before the position found at open is skipped: it is in the tree.
//! 4. A prepared transaction's changes enter the layer in one step with the end of its being prepared.
//!
//! Below a protocol that prepares, a layer is what the next sync of the log writes: `two_phase.rs`.
//!
//! Format: `rows.redb`, redb's file format 3, with a table `rows`: keys and values as given, and the
//! position (`stored`). A table `prepared`, made when it is needed, has the redo of undecided transactions
//! by their names. `lock` is locked while the directory is in use.
//!
//! Concurrency: one applier, any number of readers. Locks in order: `upkeep` (writers of the tree, one at
//! a time), `applier` (changes of the layer), `state` (held to copy or replace pointers only). No reader
//! and no apply waits for the disk, unless two layers' worth is waiting to be written. A reader holds a
//! version of layer and tree for as long as it lives; pages it may read are not reused meanwhile, which
//! costs space in the file and blocks nobody.
//!
//! A full disk: room for a layer is looked for before it is written; without it the layer stays, and is
//! tried again. An error during a write is final: redb refuses everything until it is opened again.
//!
//! On crash: the layers are gone and the tree is at the durable position. redb's free lists are part of
//! each transaction, so that the next open need not walk the tree.

mod file;
mod large;
mod layer;
mod open;
mod read;
mod stats;
#[cfg(test)]
mod tests;
mod two_phase;
mod upkeep;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use ::redb::{Database, TableDefinition};
use cohort_io::sync::{Condvar, Mutex, RwLock};
use cohort_io::{File, FileLock, FileSystem, SyncCounters};

pub use open::RedbOptions;

use crate::version::Bytes;
use crate::{
    Changes, Cursor, Direction, Engine, GroupSync, KeyRange, Position, ReadError, Snapshot, SyncCallersLog, WriteError,
    Xid,
};
use file::{damaged_page, despite_damage};
use layer::Layer;
use read::{Tree, View};
use stats::Counts;
use upkeep::{Refusal, Signal};

const NAME: &str = "redb";
const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
const PREPARED: TableDefinition<&[u8], &[u8]> = TableDefinition::new("prepared");
const FORMAT_VERSION: u8 = 1;

/// An ordered map in a redb file; see the module.
pub struct Redb {
    inner: Arc<Inner>,
    writer: Option<JoinHandle<()>>,
}

struct Inner {
    state: RwLock<State>,
    applier: Mutex<()>,
    upkeep: Mutex<()>,
    db: Arc<OpenFile>,
    fs: Arc<dyn FileSystem>,
    file: Arc<dyn File>,
    /// Space of the file was set aside for the next transaction.
    room_set_aside: AtomicBool,
    dir: PathBuf,
    /// Size at which a layer is written, bytes.
    layer_bytes: usize,
    /// What the tree held at open; redo up to here is skipped.
    opened: Position,
    durable: AtomicU64,
    /// Number of the last change in the tree.
    written: AtomicU64,
    /// Redo of the undecided transactions; changed with `applier` locked.
    prepared: Mutex<BTreeMap<Xid, Bytes>>,
    log: GroupSync,
    syncs: Arc<SyncCounters>,
    sync_callers_log: OnceLock<SyncCallersLog>,
    signal: Mutex<Signal>,
    signalled: Condvar,
    counts: Counts,
}

/// What readers keep open, and the directory locked with it: redb writes the file's head when it closes.
struct OpenFile {
    /// There until the drop.
    db: Option<Database>,
    _lock: FileLock,
}

impl Deref for OpenFile {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.db.as_ref().expect("open until it is dropped")
    }
}

impl Drop for OpenFile {
    /// Damage that redb meets while it writes the file's head leaves the file as a crash would.
    fn drop(&mut self) {
        let db = self.db.take();
        let close = || {
            drop(db);
            Ok(())
        };
        let _ = despite_damage(close, damaged_page);
    }
}

struct State {
    /// What is newer than everything below, and the position applied last.
    active: Layer,
    /// What is being written into the tree, or could not be.
    frozen: Option<Layer>,
    tree: Arc<Tree>,
    /// Why the last write of a layer failed, until one succeeds.
    refusal: Option<Refusal>,
}

impl Inner {
    fn view(&self) -> View {
        let state = self.state.read();
        let layers = [Some(&state.active), state.frozen.as_ref()];
        View::new(layers.into_iter().flatten().map(|layer| layer.map()), &state.tree)
    }

    /// Changes the layer; after an error nothing is changed.
    fn change(&self, change: impl FnOnce(&mut Layer) -> Result<(), WriteError>) -> Result<(), WriteError> {
        self.wait_for_room()?;
        let full = {
            let _applier = self.applier.lock();
            let mut layer = self.state.read().active.clone();
            change(&mut layer)?;
            let full = layer.bytes() >= self.layer_bytes;
            self.state.write().active = layer;
            full
        };
        if full {
            self.want_write();
        }
        Ok(())
    }

    fn durable(&self) -> Position {
        Position(self.durable.load(Ordering::Acquire))
    }
}

impl Engine for Redb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(self.inner.view())
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        self.inner.view().get(key, value)
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        self.inner.view().cursor(range, direction)
    }

    fn apply(&self, cohort: &[&[u8]], position: Position) -> Result<(), WriteError> {
        if position <= self.inner.opened {
            return Ok(());
        }
        self.inner.change(|layer| layer.apply(cohort, position))
    }

    fn apply_large(&self, changes: &mut dyn Changes, position: Position) -> Result<(), WriteError> {
        if position <= self.inner.opened {
            return Ok(());
        }
        self.inner.apply_large(changes, position)
    }

    fn durable_position(&self) -> Position {
        self.inner.durable()
    }

    fn sync(&self) -> Result<Position, WriteError> {
        self.inner.write_layers()?;
        Ok(self.inner.durable())
    }

    fn ready(&self) -> Result<(), WriteError> {
        self.inner.ready()
    }

    fn sync_callers_log_first(&self, sync_callers_log: SyncCallersLog) {
        assert!(self.inner.sync_callers_log.set(sync_callers_log).is_ok(), "set once");
    }

    fn load(&self, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
        self.inner.load(entries)
    }

    fn erase(&self, range: &KeyRange) -> Result<(), WriteError> {
        self.inner.erase(range)
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        stats::read(&self.inner)
    }
}

impl Drop for Redb {
    fn drop(&mut self) {
        self.inner.stop();
        if let Some(writer) = self.writer.take() {
            // It panicked: what it had not written is in the caller's log.
            let _ = writer.join();
        }
    }
}
