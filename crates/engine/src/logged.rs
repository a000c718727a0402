//! [`LoggedEngine`]: an engine with a write-ahead log in a file and its map in memory, for simulators and for
//! tests of whoever drives engines in either form.
//!
//! The log is never cut: an open reads all of it.
//!
//! Format: records `length u32 | checksum u32 | kind u8 | name length u8 | name | redo`. Read at open up to the
//! first record that is not whole. A cohort of the journal is a record too, with its position for a name; what
//! is loaded or erased is one like any other change.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cohort_io::sync::Mutex;
use cohort_io::{Create, File, FileSystem, IoError, OpenOptions, renew_name, restore_names};

use crate::memory::MemoryEngine;
use crate::{
    Cursor, Direction, Engine, GroupSync, KeyRange, Position, ReadError, Redo, Snapshot, SyncCallersLog, TwoPhase,
    WriteError, Xid,
};

const PREPARE: u8 = 1;
const COMMIT: u8 = 2;
const ROLLBACK: u8 = 3;
const ONE_PHASE: u8 = 4;
const COHORT: u8 = 5;
const HEAD: usize = 8;

struct State {
    end: u64,
    applied: u64,
    /// Of the last cohort.
    position: u64,
    prepared: HashMap<Xid, Vec<u8>>,
}

/// An ordered map in memory with a log; see the module.
pub struct LoggedEngine {
    name: &'static str,
    map: MemoryEngine,
    log: Arc<dyn File>,
    log_sync: GroupSync,
    state: Mutex<State>,
    /// The last cohort that the log held at open.
    opened: AtomicU64,
    durable: AtomicU64,
    sync_callers_log: OnceLock<SyncCallersLog>,
}

impl LoggedEngine {
    /// Opens the engine `name` over `<name>.log` in `dir`, or begins that file.
    pub fn open(fs: &dyn FileSystem, dir: &Path, name: &'static str) -> Result<LoggedEngine, WriteError> {
        let failed = |error: IoError| WriteError::Failed { engine: name, detail: error.to_string() };
        fs.create_dir_all(dir).map_err(failed)?;
        let file = format!("{name}.log");
        restore_names(fs, dir, |name| name == file).map_err(failed)?;
        let path = dir.join(file);
        let log = fs.open(&path, &OpenOptions::buffered(Create::IfMissing)).map_err(failed)?;
        fs.sync_dir(dir).map_err(failed)?;
        let state = State { end: 0, applied: 0, position: 0, prepared: HashMap::new() };
        let engine = LoggedEngine {
            name,
            map: MemoryEngine::new(),
            log,
            log_sync: GroupSync::default(),
            state: Mutex::new(state),
            opened: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            sync_callers_log: OnceLock::new(),
        };
        engine.replay().map_err(failed)?;
        if engine.state.lock().end == 0 {
            // The process that made the file may have failed to make its name durable.
            renew_name(fs, &path).and_then(|()| fs.sync_dir(dir)).map_err(failed)?;
        }
        Ok(engine)
    }

    fn replay(&self) -> Result<(), IoError> {
        let mut bytes = vec![0; self.log.len()? as usize];
        self.log.read_at(0, &mut bytes)?;
        let mut state = self.state.lock();
        let number = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().expect("four")));
        while let (Some(length), Some(sum)) = (number(state.end as usize), number(state.end as usize + 4)) {
            let from = state.end as usize + HEAD;
            let Some(body) = bytes.get(from..from + length as usize).filter(|body| body.len() > 1) else { break };
            if checksum(body) != sum {
                break;
            }
            let (name, redo) = body[2..].split_at(usize::from(body[1]));
            self.take_in(&mut state, body[0], name, redo);
            state.end += (HEAD + body.len()) as u64;
        }
        self.opened.store(state.position, Ordering::Relaxed);
        // After a sync that failed, what was read may be in the system's cache alone.
        self.log.write_at(0, &bytes[..state.end as usize])?;
        self.log.set_len(state.end)?;
        self.log.sync_data()?;
        self.durable.store(state.position, Ordering::Relaxed);
        Ok(())
    }

    fn take_in(&self, state: &mut State, kind: u8, name: &[u8], redo: &[u8]) {
        if kind == COHORT {
            state.position = u64::from_le_bytes(name.try_into().expect("a position"));
        }
        let xid = Xid::new(name);
        let redo = match kind {
            PREPARE => return drop(state.prepared.insert(xid.expect("a name"), redo.to_vec())),
            ROLLBACK => return drop(state.prepared.remove(&xid.expect("a name"))),
            COMMIT => state.prepared.remove(&xid.expect("a name")).expect("prepared before"),
            _ => redo.to_vec(),
        };
        state.applied += 1;
        self.map.apply(&[&redo], Position(state.applied)).expect("memory takes all");
    }

    fn write(&self, kind: u8, name: &[u8], redo: &[u8]) -> Result<(), WriteError> {
        let mut state = self.state.lock();
        let body = [&[kind, name.len() as u8][..], name, redo].concat();
        let head = [(body.len() as u32).to_le_bytes(), checksum(&body).to_le_bytes()].concat();
        self.log.write_at(state.end, &[head, body].concat()).map_err(|error| self.failed(&error))?;
        state.end += (HEAD + 2 + name.len() + redo.len()) as u64;
        self.take_in(&mut state, kind, name, redo);
        Ok(())
    }

    fn failed(&self, error: &IoError) -> WriteError {
        WriteError::Failed { engine: self.name, detail: error.to_string() }
    }
}

/// FNV-1a: enough to see a torn record.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

impl TwoPhase for LoggedEngine {
    fn prepare(&self, xid: &Xid, redo: &[u8]) -> Result<(), WriteError> {
        self.write(PREPARE, xid.as_bytes(), redo)
    }

    fn commit_prepared(&self, xid: &Xid) -> Result<(), WriteError> {
        self.write(COMMIT, xid.as_bytes(), &[])
    }

    fn rollback_prepared(&self, xid: &Xid) -> Result<(), WriteError> {
        self.write(ROLLBACK, xid.as_bytes(), &[])
    }

    fn commit_unprepared(&self, redo: &[u8]) -> Result<(), WriteError> {
        self.write(ONE_PHASE, &[], redo)
    }

    fn prepared(&self) -> Vec<Xid> {
        self.state.lock().prepared.keys().cloned().collect()
    }

    fn sync_log(&self) -> Result<(), WriteError> {
        self.log_sync.sync(self.name, || self.log.sync_data().map_err(|error| self.failed(&error)))
    }

    fn flush_log(&self) -> Result<(), WriteError> {
        Ok(())
    }

    fn log_syncs(&self) -> u64 {
        self.log_sync.count()
    }
}

impl Engine for LoggedEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.map.snapshot()
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        self.map.get(key, value)
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        self.map.cursor(range, direction)
    }

    fn apply(&self, cohort: &[&[u8]], position: Position) -> Result<(), WriteError> {
        match position.0 <= self.opened.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.write(COHORT, &position.0.to_le_bytes(), &cohort.concat()),
        }
    }

    fn durable_position(&self) -> Position {
        Position(self.durable.load(Ordering::Relaxed))
    }

    fn sync(&self) -> Result<Position, WriteError> {
        let position = self.state.lock().position;
        if let Some(sync_callers_log) = self.sync_callers_log.get() {
            sync_callers_log().map_err(|detail| WriteError::Failed { engine: self.name, detail })?;
        }
        self.sync_log()?;
        self.durable.fetch_max(position, Ordering::Relaxed);
        Ok(self.durable_position())
    }

    fn ready(&self) -> Result<(), WriteError> {
        Ok(())
    }

    fn sync_callers_log_first(&self, sync_callers_log: SyncCallersLog) {
        assert!(self.sync_callers_log.set(sync_callers_log).is_ok(), "set once");
    }

    fn load(&self, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
        let mut redo = Redo::default();
        entries.for_each(|(key, value)| redo.put(&key, &value));
        self.write(ONE_PHASE, &[], &redo.into_bytes())?;
        self.sync_log()
    }

    fn erase(&self, range: &KeyRange) -> Result<(), WriteError> {
        let mut redo = Redo::default();
        let mut cursor = self.map.cursor(range, Direction::Forward).expect("memory can be read");
        while let Some(entry) = cursor.next().expect("memory can be read") {
            redo.delete(entry.key);
        }
        self.write(ONE_PHASE, &[], &redo.into_bytes())
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
