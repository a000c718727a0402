//! What a large transaction has changed, in files while it runs: memory holds the last changes only.
//!
//! When the changes in memory pass a bound they become a *run*: a file with all of them by key (`large/run.rs`). Reads look
//! into memory first, then into the runs, the newest first. An engine that can gets the changes of each run at once, to
//! keep them apart until the transaction commits ([`Engine::stage`]); another one is given them from the runs then.
//!
//! Changes are numbered. A run keeps every version of a key with its number, because a savepoint may lie between two of
//! them: what is rolled back becomes a range of *dead* numbers, which reads pass over. A commit writes runs anew that have
//! dead changes.
//!
//! Invariants
//! 1. Every number of a run is greater than those of the runs before it.
//! 2. What [`LargeWrites::finish`] returns is on stable storage and has no dead change.
//!
//! On crash: runs and what engines keep of them go at the next start, after recovery has applied those that the log has.

mod merge;
mod over;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cohort_binlog::{BinlogFiles, LargeEvents};
use cohort_engine::{Changes, Cursor, Direction, Engine, EngineId, KeyRange, Position, ReadError, WriteError};

use crate::outcome::CommitError;
use crate::overlay::Version;
use merge::Merge;
use run::{Run, RunWriter};

pub(crate) use over::OverCursor;
pub(crate) use run::{run_name, verify as verify_run};

/// So many runs become one of the next [level](Run::level): each costs reads a look, and engines a file at the commit.
/// A change is written once more for each level.
const RUNS_OF_A_LEVEL: usize = 8;
/// What holds a key in memory beside its bytes, about.
pub(crate) const KEY_BYTES: u64 = 64;

/// A change with its number; the key begins with the number of its engine.
pub(crate) struct NumberedChange {
    pub key: Vec<u8>,
    pub number: u64,
    pub version: Version,
}

/// Ranges of numbers whose changes were rolled back, in order and apart from each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dead(Vec<(u64, u64)>);

impl Dead {
    fn add(&mut self, from: u64, to: u64) {
        while self.0.last().is_some_and(|(first, _)| *first >= from) {
            self.0.pop();
        }
        match self.0.last_mut() {
            Some((_, end)) if *end >= from => *end = to,
            _ => self.0.push((from, to)),
        }
    }

    fn has(&self, number: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        after.checked_sub(1).is_some_and(|at| number < self.0[at].1)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every number from `first` to before `end` is dead.
    fn is_all(&self, first: u64, end: u64) -> bool {
        matches!(self.0[..], [(from, to)] if from <= first && to >= end)
    }
}

/// Where large transactions have their files.
pub(crate) struct LargeStore {
    binlog: Arc<BinlogFiles>,
    engines: Vec<Arc<dyn Engine>>,
    next_id: AtomicU64,
    /// No two runs have the same name, also not of one transaction: what reads an old one may still have it.
    next_run: AtomicU32,
}

impl LargeStore {
    pub fn new(binlog: Arc<BinlogFiles>, engines: Vec<Arc<dyn Engine>>) -> LargeStore {
        LargeStore { binlog, engines, next_id: AtomicU64::new(1), next_run: AtomicU32::new(0) }
    }

    /// A number for another large transaction.
    pub fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn engine(&self, engine: EngineId) -> &dyn Engine {
        &*self.engines[usize::from(engine.0)]
    }
}

/// The changes of one large transaction that are not in memory.
pub(crate) struct LargeWrites {
    store: Arc<LargeStore>,
    id: u64,
    /// The oldest first.
    runs: Vec<Arc<Run>>,
    /// Number of the first change.
    first: u64,
    dead: Dead,
    /// By engine with changes: whether it keeps them itself.
    engines: BTreeMap<EngineId, bool>,
    kept: bool,
}

impl std::fmt::Debug for LargeWrites {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LargeWrites").field("id", &self.id).field("runs", &self.runs.len()).finish_non_exhaustive()
    }
}

/// The changes to one engine, as the log names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LargeRedo {
    pub engine: EngineId,
    /// The engine keeps them.
    pub staged: bool,
    /// Numbers and bytes of the runs, the oldest first.
    pub runs: Vec<(u32, u64)>,
}

/// What of a transaction is in files, on stable storage.
pub(crate) struct LargeParts {
    pub id: u64,
    pub events: Option<LargeEvents>,
    pub redo: Vec<LargeRedo>,
    pub writes: Option<Box<LargeWrites>>,
}

impl LargeParts {
    /// From now on only the log knows whether the files are needed.
    pub fn keep(&mut self) {
        self.events.iter().for_each(|events| events.file().keep());
        self.writes.iter_mut().for_each(|writes| writes.keep());
    }
}

impl LargeWrites {
    /// Without changes; the first one will have the number `first`.
    pub fn new(store: Arc<LargeStore>, id: u64, first: u64) -> LargeWrites {
        let (runs, dead, engines) = Default::default();
        LargeWrites { store, id, runs, first, dead, engines, kept: false }
    }

    /// Whether there is no run.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Makes a run of `changes`, by key, and of those with the same key the newest first. After an error nothing was added.
    pub fn add(&mut self, changes: impl Iterator<Item = NumberedChange>) -> Result<(), CommitError> {
        while let Some(full) = self.full_level() {
            self.merge_runs(full)?;
        }
        let mut writer = self.new_run(0)?;
        for change in changes {
            writer.push(&change.key, change.number, change.version.as_deref()).map_err(refused)?;
        }
        let run = self.stage(writer)?;
        self.runs.push(run);
        Ok(())
    }

    /// The first of the newest runs, if those of one level are as many as become one. Levels fall from the oldest on.
    fn full_level(&self) -> Option<usize> {
        let from = self.runs.len().checked_sub(RUNS_OF_A_LEVEL)?;
        let level = self.runs[from].level();
        self.runs[from..].iter().all(|run| run.level() == level).then_some(from)
    }

    /// Makes one run of all from `from` on, without dead changes.
    fn merge_runs(&mut self, from: usize) -> Result<(), CommitError> {
        let old = &self.runs[from..];
        let mut merge = Merge::all_versions(old, &self.dead).map_err(unreadable)?;
        let level = old.iter().map(|run| run.level()).max().unwrap_or_default();
        let mut writer = self.new_run(level + 1)?;
        while let Some((key, number, version)) = merge.next_version().map_err(unreadable)? {
            writer.push(key, number, version).map_err(refused)?;
        }
        let run = self.stage(writer)?;
        let old: Vec<u32> = self.runs.drain(from..).map(|run| run.number()).collect();
        self.runs.push(run);
        if from == 0 {
            self.dead = Dead::default();
        }
        for engine in self.engines.iter().filter(|(_, staged)| **staged).map(|(engine, _)| engine) {
            old.iter().for_each(|part| self.store.engine(*engine).discard_part(self.id, *part));
        }
        Ok(())
    }

    fn new_run(&self, level: u32) -> Result<RunWriter, CommitError> {
        let number = self.store.next_run.fetch_add(1, Ordering::Relaxed);
        RunWriter::new(self.store.binlog.clone(), self.id, number, level).map_err(refused)
    }

    /// Ends a run, and gives its changes to the engines that keep them.
    fn stage(&mut self, writer: RunWriter) -> Result<Arc<Run>, CommitError> {
        let run = Arc::new(writer.finish().map_err(refused)?);
        for (at, engine) in self.store.engines.iter().enumerate() {
            let id = EngineId(at as u8);
            let mut changes = Merge::changes(std::slice::from_ref(&run), id, &Dead::default()).map_err(unreadable)?;
            if changes.is_empty().map_err(unreadable)? {
                continue;
            }
            let staged = engine.stage(self.id, run.number(), &mut changes).map_err(CommitError::of_engine)?;
            self.engines.insert(id, staged);
        }
        Ok(run)
    }

    /// The changes from the number `from` to those before `to` were rolled back; true if nothing is left.
    pub fn kill(&mut self, from: u64, to: u64) -> bool {
        if from < to {
            self.dead.add(from, to);
        }
        self.dead.is_all(self.first, to)
    }

    /// The newest version of `key`, if there is one here.
    pub fn get(&self, engine: EngineId, key: &[u8]) -> Result<Option<Version>, ReadError> {
        let key = run_key(engine, key);
        let mut hash = None;
        // Of a statement that goes through a table no run has the next key yet.
        for run in self.runs.iter().rev().filter(|run| run.spans(&key)) {
            let hash = *hash.get_or_insert_with(|| run::hash(&key));
            if let Some(version) = run.get(&key, hash, &self.dead)? {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }

    /// Lays what is within `range` over `below`.
    pub fn over(
        &self,
        below: Box<dyn Cursor>,
        engine: EngineId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<OverCursor, ReadError> {
        let above = Merge::range(&self.runs, engine, range, direction, &self.dead)?;
        OverCursor::new(above, below, direction)
    }

    /// The changed keys of `range`, in order, up to `most` bytes and one more.
    pub fn keys(&self, engine: EngineId, range: &KeyRange, most: u64) -> Result<Vec<Arc<[u8]>>, CommitError> {
        let mut changes =
            Merge::range(&self.runs, engine, range, Direction::Forward, &self.dead).map_err(unreadable)?;
        let (mut keys, mut bytes) = (Vec::new(), 0);
        while bytes <= most
            && let Some(change) = changes.next().map_err(unreadable)?
        {
            bytes += KEY_BYTES + change.key.len() as u64;
            keys.push(Arc::from(change.key));
        }
        Ok(keys)
    }

    /// What it takes in memory, about, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.memory_bytes()).sum()
    }

    /// Makes everything durable, and names what each engine is to get.
    pub fn finish(&mut self) -> Result<Vec<LargeRedo>, CommitError> {
        if !self.dead.is_empty() {
            self.merge_runs(0)?;
        }
        let mut redo: Vec<LargeRedo> = self
            .engines
            .iter()
            .map(|(engine, staged)| LargeRedo { engine: *engine, staged: *staged, runs: vec![] })
            .collect();
        for run in &self.runs {
            for redo in redo.iter_mut().filter(|redo| run.has_engine(redo.engine)) {
                redo.runs.push((run.number(), run.bytes()));
            }
            if redo.iter().any(|redo| !redo.staged && run.has_engine(redo.engine)) {
                run.sync().map_err(refused)?;
            }
        }
        redo.retain(|redo| !redo.runs.is_empty());
        Ok(redo)
    }

    fn keep(&mut self) {
        self.kept = true;
        self.runs.iter().for_each(|run| run.keep(true));
    }

    /// The log needs the files no more.
    pub fn give_up(mut self) {
        self.kept = false;
        self.runs.iter().for_each(|run| run.keep(false));
    }
}

impl Drop for LargeWrites {
    fn drop(&mut self) {
        if !self.kept {
            for engine in self.engines.iter().filter(|(_, staged)| **staged).map(|(engine, _)| engine) {
                self.store.engine(*engine).discard_staged(self.id);
            }
        }
    }
}

/// Applies the changes of the large transaction `id` to their engine, which is one of `engines`.
pub(crate) fn apply(
    binlog: &Arc<BinlogFiles>,
    engine: &dyn Engine,
    id: u64,
    redo: &LargeRedo,
    position: Position,
) -> Result<(), WriteError> {
    if redo.staged {
        let parts: Vec<u32> = redo.runs.iter().map(|(number, _)| *number).collect();
        return engine.apply_staged(id, &parts, position);
    }
    let failed = |error: ReadError| WriteError::Failed { engine: engine.name(), detail: error.detail };
    let runs: Result<Vec<_>, _> =
        redo.runs.iter().map(|(number, bytes)| Run::open(binlog.clone(), id, *number, *bytes).map(Arc::new)).collect();
    let mut changes = Merge::changes(&runs.map_err(failed)?, redo.engine, &Dead::default()).map_err(failed)?;
    engine.apply_large(&mut changes, position)
}

fn run_key(engine: EngineId, key: &[u8]) -> Vec<u8> {
    [&[engine.0], key].concat()
}

/// The files of a large transaction that could not be written: nothing of it is in the log.
fn refused(error: cohort_io::IoError) -> CommitError {
    CommitError::of_file(&error)
}

fn unreadable(error: ReadError) -> CommitError {
    CommitError::Spill(error.to_string())
}

#[cfg(test)]
mod tests;
