//! [`MemoryEngine`]: an engine in memory, for simulators and for tests of whoever drives engines.
//!
//! The map is persistent (a version costs only what it changes), so a snapshot, a cursor and the
//! durable copy are each a version that was current once. [`MemoryEngine::crash`] gives the engine
//! as a power cut would leave it: with the durable copy and nothing else.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cohort_io::sync::{Mutex, RwLock};

use crate::large::{Changes, redo_of};
use crate::redo::{Redo, RedoError, RedoOp};
use crate::version::{self, Bytes, VersionCursor};
use crate::{
    Cursor, Direction, Engine, Entry, KeyRange, MIN_KEY_LEN, Position, ReadError, Snapshot, SyncCallersLog, WriteError,
};

type Map = version::Map<Bytes>;

/// An ordered map in memory; see the module.
pub struct MemoryEngine {
    name: &'static str,
    state: RwLock<State>,
    sync_callers_log: OnceLock<SyncCallersLog>,
    gate: Mutex<bool>,
    gate_reached: AtomicU64,
    /// Parts of large transactions, durable at once; `None` where it keeps none.
    staged: Option<Mutex<Staged>>,
}

/// Redo by transaction and part.
type Staged = BTreeMap<(u64, u32), Vec<u8>>;

#[derive(Default)]
struct State {
    /// What the durable copy held at the start; redo up to here is skipped.
    opened: Position,
    current: Version,
    durable: Version,
    syncs: u64,
}

#[derive(Clone, Default)]
struct Version {
    map: Map,
    position: Position,
}

impl MemoryEngine {
    /// An empty engine at position 0.
    pub fn new() -> MemoryEngine {
        MemoryEngine::named("MEMORY")
    }

    /// [`MemoryEngine::new`] in the place of the engine `name`.
    pub fn named(name: &'static str) -> MemoryEngine {
        MemoryEngine::of(name, State::default())
    }

    /// One that keeps parts of large transactions until they commit.
    pub fn staging() -> MemoryEngine {
        MemoryEngine { staged: Some(Mutex::default()), ..MemoryEngine::new() }
    }

    /// How many parts of large transactions it keeps.
    pub fn staged_parts(&self) -> usize {
        self.staged.as_ref().map_or(0, |staged| staged.lock().len())
    }

    /// The engine as it is found after a power cut at this moment. This one can go on being used, as
    /// if the cut had hit a copy.
    pub fn crash(&self) -> MemoryEngine {
        let durable = self.state.read().durable.clone();
        let opened = durable.position;
        let state = State { opened, current: durable.clone(), durable, syncs: 0 };
        let staged = self.staged.as_ref().map(|staged| Mutex::new(staged.lock().clone()));
        MemoryEngine { staged, ..MemoryEngine::of(self.name, state) }
    }

    fn of(name: &'static str, state: State) -> MemoryEngine {
        let (sync_callers_log, gate, gate_reached) = Default::default();
        MemoryEngine { name, state: RwLock::new(state), sync_callers_log, gate, gate_reached, staged: None }
    }

    /// Flushes and loads wait while it is locked, and are refused while it is `true`.
    pub fn gate(&self) -> &Mutex<bool> {
        &self.gate
    }

    /// How many syncs and loads have come to the gate.
    pub fn gate_reached(&self) -> u64 {
        self.gate_reached.load(Ordering::SeqCst)
    }

    fn pass_gate(&self) -> Result<(), WriteError> {
        self.gate_reached.fetch_add(1, Ordering::SeqCst);
        match *self.gate.lock() {
            true => Err(WriteError::NoSpace { engine: self.name, detail: "the gate is closed".to_owned() }),
            false => Ok(()),
        }
    }
}

impl Default for MemoryEngine {
    fn default() -> MemoryEngine {
        MemoryEngine::new()
    }
}

impl Engine for MemoryEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(View { map: self.state.read().current.map.clone() })
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        Ok(get(&self.state.read().current.map, key, value))
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        Ok(Box::new(MapCursor(VersionCursor::new(self.state.read().current.map.clone(), range, direction))))
    }

    fn apply(&self, cohort: &[&[u8]], position: Position) -> Result<(), WriteError> {
        let mut state = self.state.write();
        if position <= state.opened {
            return Ok(());
        }
        let applied = state.current.position;
        assert!(position > applied, "cohort at {} applied after {}", position.0, applied.0);
        let mut map = state.current.map.clone();
        for redo in cohort {
            change(&mut map, redo)?;
        }
        state.current = Version { map, position };
        Ok(())
    }

    fn stage(&self, transaction: u64, part: u32, changes: &mut dyn Changes) -> Result<bool, WriteError> {
        let Some(staged) = &self.staged else { return Ok(false) };
        let failed = |error: ReadError| WriteError::Failed { engine: self.name, detail: error.detail };
        staged.lock().insert((transaction, part), redo_of(changes).map_err(failed)?);
        Ok(true)
    }

    fn apply_staged(&self, transaction: u64, parts: &[u32], position: Position) -> Result<(), WriteError> {
        let staged = self.staged.as_ref().expect("it keeps parts").lock();
        let redo: Vec<&[u8]> = parts.iter().map(|part| &staged[&(transaction, *part)][..]).collect();
        self.apply(&redo, position)
    }

    fn has_staged(&self, transaction: u64, part: u32) -> bool {
        self.staged.as_ref().is_some_and(|staged| staged.lock().contains_key(&(transaction, part)))
    }

    fn discard_part(&self, transaction: u64, part: u32) {
        self.staged.iter().for_each(|staged| drop(staged.lock().remove(&(transaction, part))));
    }

    fn discard_staged(&self, transaction: u64) {
        self.staged.iter().for_each(|staged| staged.lock().retain(|(of, _), _| *of != transaction));
    }

    fn discard_all_staged(&self) {
        self.staged.iter().for_each(|staged| staged.lock().clear());
    }

    fn durable_position(&self) -> Position {
        self.state.read().durable.position
    }

    fn sync(&self) -> Result<Position, WriteError> {
        self.pass_gate()?;
        let synced = self.state.read().current.clone();
        if let Some(sync_callers_log) = self.sync_callers_log.get() {
            sync_callers_log().map_err(|detail| WriteError::Failed { engine: self.name(), detail })?;
        }
        let mut state = self.state.write();
        state.durable = synced;
        state.syncs += 1;
        Ok(state.durable.position)
    }

    fn ready(&self) -> Result<(), WriteError> {
        Ok(())
    }

    fn sync_callers_log_first(&self, sync_callers_log: SyncCallersLog) {
        assert!(self.sync_callers_log.set(sync_callers_log).is_ok(), "set once");
    }

    fn load(&self, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
        self.pass_gate()?;
        let entries: Vec<(Bytes, Bytes)> = entries.map(|(key, value)| (key.into(), value.into())).collect();
        let mut state = self.state.write();
        for (key, value) in entries {
            assert!(key.len() >= MIN_KEY_LEN, "a loaded key has {} bytes", key.len());
            state.current.map.insert_mut(key.clone(), value.clone());
            state.durable.map.insert_mut(key, value);
        }
        Ok(())
    }

    fn erase(&self, range: &KeyRange) -> Result<(), WriteError> {
        let mut state = self.state.write();
        let mut cursor = VersionCursor::new(state.current.map.clone(), range, Direction::Forward);
        while let Some((key, _)) = cursor.step() {
            state.current.map.remove_mut(key);
        }
        Ok(())
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        let state = self.state.read();
        vec![
            ("keys", state.current.map.size() as u64),
            ("syncs", state.syncs),
            ("applied_position", state.current.position.0),
            ("durable_position", state.durable.position.0),
        ]
    }
}

fn get(map: &Map, key: &[u8], value: &mut Vec<u8>) -> bool {
    value.clear();
    let found = map.get(key);
    if let Some(found) = found {
        value.extend_from_slice(found);
    }
    found.is_some()
}

fn change(map: &mut Map, redo: &[u8]) -> Result<(), RedoError> {
    for op in Redo::callers_ops(redo) {
        match op? {
            RedoOp::Put { key, value } => map.insert_mut(key.into(), value.into()),
            RedoOp::Delete { key } => {
                map.remove_mut(key);
            }
        }
    }
    Ok(())
}

struct View {
    map: Map,
}

impl Snapshot for View {
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        Ok(get(&self.map, key, value))
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        Ok(Box::new(MapCursor(VersionCursor::new(self.map.clone(), range, direction))))
    }
}

struct MapCursor(VersionCursor<Bytes>);

impl Cursor for MapCursor {
    fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        Ok(self.0.step().map(|(key, value)| Entry { key, value }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{self, Rig};

    #[derive(Default)]
    struct MemoryRig {
        engine: Arc<MemoryEngine>,
    }

    impl Rig for MemoryRig {
        fn open(&mut self) -> Arc<dyn Engine> {
            self.engine.clone()
        }

        fn crash(&mut self, engine: Arc<dyn Engine>) {
            drop(engine);
            self.engine = Arc::new(self.engine.crash());
        }
    }

    crate::engine_conformance!(conformance, MemoryRig::default());
}
