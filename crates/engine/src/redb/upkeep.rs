//! Everything that writes the tree: full layers, loads, erased ranges; and the thread that writes
//! layers between the caller's syncs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::redb::{Database, Error, StorageError, Table, WriteTransaction};

use super::file::{damaged_page, despite_damage};
use super::layer::{Change, Layer};
use super::read::{FIRST_KEY, Tree};
use super::{FORMAT_VERSION, Inner, NAME, PREPARED, ROWS};
use crate::stored::{self, POSITION_KEY};
use crate::version::Map;
use crate::{Direction, KeyRange, MIN_KEY_LEN, Position, ReadError, Snapshot, WriteError};

/// How often a layer that found no room is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// After so much, entries with what a page needs for each, a load lets others write the tree.
const LOAD_BYTES: usize = 16 << 20;
const ENTRY_BYTES: usize = 8;
/// What a transaction takes beside its entries: the position's path, free lists, the file's head.
const ROOM_BESIDE: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;
/// What the logs and other engines may take of the device while a transaction is written.
const OTHERS_ROOM: u64 = 64 << 20;

/// What the writing thread and appliers share.
#[derive(Default)]
pub(super) struct Signal {
    wanted: bool,
    stop: bool,
}

/// Why the tree takes nothing.
#[derive(Clone)]
pub(super) struct Refusal {
    /// Room on the device cures it. After a write or sync that failed, whatever the reason, redb takes
    /// nothing until it is opened again.
    no_space: bool,
    detail: String,
}

impl Refusal {
    fn error(&self) -> WriteError {
        let detail = self.detail.clone();
        match self.no_space {
            true => WriteError::NoSpace { engine: NAME, detail },
            false => WriteError::Failed { engine: NAME, detail },
        }
    }
}

type Entries<'txn> = Table<'txn, &'static [u8], &'static [u8]>;

impl Inner {
    pub(super) fn ready(&self) -> Result<(), WriteError> {
        let state = self.state.read();
        match &state.refusal {
            Some(refusal) if !refusal.no_space || state.active.bytes() >= self.layer_bytes => Err(refusal.error()),
            _ => Ok(()),
        }
    }

    /// Returns when a cohort may be applied: at once unless a whole layer waits after a frozen one.
    pub(super) fn wait_for_room(&self) -> Result<(), WriteError> {
        let mut signal = None;
        loop {
            {
                let state = self.state.read();
                if let Some(refusal) = state.refusal.as_ref().filter(|refusal| !refusal.no_space) {
                    return Err(refusal.error());
                }
                if state.active.bytes() < 2 * self.layer_bytes {
                    return Ok(());
                }
                if let Some(refusal) = &state.refusal {
                    return Err(refusal.error());
                }
            }
            // Looks again with the lock held: a write that ends between look and wait is not missed.
            match &mut signal {
                None => {
                    self.counts.waits.fetch_add(1, Ordering::Relaxed);
                    signal = Some(self.signal.lock());
                }
                Some(signal) => self.signalled.wait(signal),
            }
        }
    }

    /// Asks the writing thread to write the layer.
    pub(super) fn want_write(&self) {
        self.signal.lock().wanted = true;
        self.signalled.notify_all();
    }

    /// Ends the writing thread.
    pub(super) fn stop(&self) {
        self.signal.lock().stop = true;
        self.signalled.notify_all();
    }

    /// Body of the writing thread.
    pub(super) fn run(&self) {
        loop {
            {
                let mut signal = self.signal.lock();
                while !signal.wanted && !signal.stop {
                    self.signalled.wait(&mut signal);
                }
                if signal.stop {
                    return;
                }
                signal.wanted = false;
            }
            // The refusal says why, to whoever applies next.
            if let Err(WriteError::NoSpace { .. }) = self.write_layers() {
                let mut signal = self.signal.lock();
                signal.wanted = true;
                if !signal.stop {
                    self.signalled.wait_for(&mut signal, RETRY);
                }
            }
        }
    }

    /// Writes everything applied before the call into the tree.
    pub(super) fn write_layers(&self) -> Result<(), WriteError> {
        let _upkeep = self.upkeep.lock();
        let wanted = self.state.read().active.number;
        while self.written.load(Ordering::Acquire) < wanted {
            let layer = self.freeze();
            self.write(&layer)?;
        }
        Ok(())
    }

    /// The layer to be written: one that could not be, or the active one, which then begins anew.
    fn freeze(&self) -> Layer {
        let _applier = self.applier.lock();
        let mut state = self.state.write();
        if let Some(frozen) = &state.frozen {
            return frozen.clone();
        }
        let next = state.active.next();
        let layer = std::mem::replace(&mut state.active, next);
        state.frozen = Some(layer.clone());
        layer
    }

    fn write(&self, layer: &Layer) -> Result<(), WriteError> {
        self.find_room(layer.entries(), layer.bytes()).map_err(|refusal| self.refuse(refusal))?;
        self.sync_callers_log()?;
        let tree = self.change_tree(|transaction| {
            if !layer.prepared().is_empty() {
                put(&mut transaction.open_table(PREPARED)?, layer.prepared())?;
            }
            let mut rows = transaction.open_table(ROWS)?;
            put(&mut rows, layer.map())?;
            put_position(&mut rows, layer.position)
        })?;
        let written = {
            let mut state = self.state.write();
            state.tree = Arc::new(tree);
            state.refusal = None;
            state.frozen.take()
        };
        drop(written);
        self.durable.store(layer.position.0, Ordering::Release);
        self.written.store(layer.number, Ordering::Release);
        self.counts.layers_written.fetch_add(1, Ordering::Relaxed);
        self.counts.entries_written.fetch_add(layer.entries() as u64, Ordering::Relaxed);
        self.wake_appliers();
        Ok(())
    }

    /// Makes the caller's log durable; after an error nothing is taken any more.
    pub(super) fn sync_callers_log(&self) -> Result<(), WriteError> {
        let Some(sync_callers_log) = self.sync_callers_log.get() else { return Ok(()) };
        sync_callers_log().map_err(|detail| self.refuse(Refusal { no_space: false, detail }))
    }

    /// Makes sure of room for a transaction: every changed entry may copy the page it lies in, and what is freed by
    /// that is free only afterwards. Where others might take it meanwhile, all of the file and what it may grow by is
    /// set aside.
    pub(super) fn find_room(&self, changes: usize, bytes: usize) -> Result<(), Refusal> {
        let measured = (self.file.len(), self.file.allocated_bytes(), self.fs.available_bytes(&self.dir));
        let (Ok(len), Ok(allocated), Ok(available)) = measured else {
            // What cannot be measured is tried.
            return Ok(());
        };
        let copied = (changes as u64 * PAGE_BYTES * 5 / 4).min(len);
        let needed = copied + 2 * bytes as u64 + ROOM_BESIDE;
        if available >= needed + OTHERS_ROOM {
            return Ok(());
        }
        let refused = |detail| Refusal { no_space: true, detail };
        if (len + needed).saturating_sub(allocated) <= available {
            self.room_set_aside.store(true, Ordering::Relaxed);
            return match self.file.reserve(0, len + needed) {
                Err(error) if error.is_no_space() => {
                    self.give_room_back();
                    Err(refused(error.to_string()))
                }
                // Where space cannot be set aside, there is some.
                _ => Ok(()),
            };
        }
        // Holes of the file may need more than there is, and are seldom filled at once.
        if available < needed {
            let dir = self.dir.display();
            return Err(refused(format!("{dir} has {available} bytes left, {needed} may be needed")));
        }
        Ok(())
    }

    /// Gives back what [`Inner::find_room`] set aside and the transaction did not need.
    fn give_room_back(&self) {
        if self.room_set_aside.swap(false, Ordering::Relaxed)
            && let Ok(len) = self.file.len()
        {
            // What cannot be given back now is after the next transaction.
            let _ = self.file.set_len(len);
        }
    }

    /// Keeps the reason for appliers, unless there is a worse one.
    pub(super) fn refuse(&self, refusal: Refusal) -> WriteError {
        let error = {
            let mut state = self.state.write();
            let kept = state.refusal.take().filter(|kept| !kept.no_space);
            state.refusal.insert(kept.unwrap_or(refusal)).error()
        };
        self.wake_appliers();
        error
    }

    fn wake_appliers(&self) {
        drop(self.signal.lock());
        self.signalled.notify_all();
    }

    /// One durable transaction; returns the tree as it leaves it.
    pub(super) fn change_tree(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<(), Error>,
    ) -> Result<Tree, WriteError> {
        let refusal = self.state.read().refusal.clone();
        if let Some(refusal) = refusal.filter(|refusal| !refusal.no_space) {
            return Err(refusal.error());
        }
        let changed = || transaction(&self.db, change).and_then(|()| Tree::current(&self.db));
        let changed = despite_damage(changed, || damaged_page().into());
        self.give_room_back();
        changed.map_err(|error| self.refuse(Refusal { no_space: false, detail: error.to_string() }))
    }

    /// Adds entries, in several transactions, so that layers can be written between them.
    pub(super) fn load(&self, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
        let mut entries = entries.peekable();
        while entries.peek().is_some() {
            let _upkeep = self.upkeep.lock();
            self.find_room(0, LOAD_BYTES).map_err(|refusal| refusal.error())?;
            let mut bytes = 0;
            let tree = self.change_tree(|transaction| {
                let mut rows = transaction.open_table(ROWS)?;
                while let Some((key, value)) = entries.next_if(|_| bytes < LOAD_BYTES) {
                    assert!(key.len() >= MIN_KEY_LEN, "a loaded key has {} bytes", key.len());
                    bytes += key.len() + value.len() + ENTRY_BYTES;
                    rows.insert(key.as_slice(), value.as_slice())?;
                }
                Ok(())
            })?;
            self.state.write().tree = Arc::new(tree);
        }
        Ok(())
    }

    /// Removes a range from the tree, after what the layer held of it went there.
    pub(super) fn erase(&self, range: &KeyRange) -> Result<(), WriteError> {
        let failed = |error: ReadError| WriteError::Failed { engine: error.engine, detail: error.detail };
        let mut found = self.view().cursor(range, Direction::Forward).map_err(failed)?;
        if found.next().map_err(failed)?.is_none() {
            return Ok(());
        }
        self.write_layers()?;
        let _upkeep = self.upkeep.lock();
        self.find_room(0, 0).map_err(|refusal| refusal.error())?;
        // The range must not go before the log says why.
        self.sync_callers_log()?;
        let lower = range.lower.as_slice().max(FIRST_KEY);
        let tree = self.change_tree(|transaction| {
            let mut rows = transaction.open_table(ROWS)?;
            Ok(rows.retain_in(lower..range.upper.as_slice(), |_, _| false)?)
        })?;
        self.state.write().tree = Arc::new(tree);
        Ok(())
    }
}

/// Changes the tree durably, in two phases, with the free lists.
pub(super) fn transaction(
    db: &Database,
    change: impl FnOnce(&WriteTransaction) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut transaction = db.begin_write()?;
    transaction.set_quick_repair(true);
    change(&transaction)?;
    transaction.commit()?;
    Ok(())
}

fn put(entries: &mut Entries<'_>, changes: &Map<Change>) -> Result<(), StorageError> {
    for (key, change) in changes {
        match change {
            Some(value) => drop(entries.insert(&**key, &**value)?),
            None => drop(entries.remove(&**key)?),
        }
    }
    Ok(())
}

pub(super) fn put_position(rows: &mut Entries<'_>, position: Position) -> Result<(), Error> {
    Ok(rows.insert(POSITION_KEY, stored::encode(FORMAT_VERSION, position).as_slice()).map(drop)?)
}
