//! An engine whose write-ahead log is a file of the simulated disk and whose map is in memory.
//!
//! Record: `length u32 | checksum u32 | kind u8 | name length u8 | name | redo`. Read at open up to the
//! first record that is not whole. A cohort of the journal is a record too, with its position for a name.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cohort_engine::memory::MemoryEngine;
use cohort_engine::{
    Cursor, Direction, Engine, GroupFlush, KeyRange, Position, ReadError, Snapshot, TwoPhase, WriteError, Xid,
};
use cohort_io::{Create, File, FileSystem, IoError, OpenOptions, SimDisk};
use parking_lot::Mutex;

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

pub struct LoggedEngine {
    name: &'static str,
    map: MemoryEngine,
    log: Arc<dyn File>,
    flush: GroupFlush,
    state: Mutex<State>,
    /// The last cohort that the log held at open.
    opened: AtomicU64,
    durable: AtomicU64,
}

impl LoggedEngine {
    pub fn open(disk: &SimDisk, name: &'static str) -> Result<LoggedEngine, WriteError> {
        let failed = |error: IoError| WriteError::Failed { engine: name, detail: error.to_string() };
        disk.create_dir_all(&PathBuf::from("/data")).map_err(failed)?;
        let path = PathBuf::from(format!("/data/{name}.log"));
        let log = disk.open(&path, &OpenOptions::buffered(Create::IfMissing)).map_err(failed)?;
        disk.sync_dir(&PathBuf::from("/data")).map_err(failed)?;
        let state = State { end: 0, applied: 0, position: 0, prepared: HashMap::new() };
        let engine = LoggedEngine {
            name,
            map: MemoryEngine::new(),
            log,
            flush: GroupFlush::default(),
            state: Mutex::new(state),
            opened: AtomicU64::new(0),
            durable: AtomicU64::new(0),
        };
        engine.replay().map_err(failed)?;
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

    fn flush_log(&self) -> Result<(), WriteError> {
        self.flush.flush(self.name, || self.log.sync_data().map_err(|error| self.failed(&error)))
    }

    fn write_log(&self) -> Result<(), WriteError> {
        Ok(())
    }

    fn log_syncs(&self) -> u64 {
        self.flush.count()
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

    fn flush(&self) -> Result<Position, WriteError> {
        let position = self.state.lock().position;
        self.flush_log()?;
        self.durable.fetch_max(position, Ordering::Relaxed);
        Ok(self.durable_position())
    }

    fn ready(&self) -> Result<(), WriteError> {
        Ok(())
    }

    fn sync_log_first(&self, _: cohort_engine::SyncLog) {}

    fn load(&self, _: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
        unimplemented!("no index is built here")
    }

    fn erase(&self, _: &KeyRange) -> Result<(), WriteError> {
        unimplemented!("no index is dropped here")
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
