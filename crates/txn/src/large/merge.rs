//! Walks several runs at once; of versions of one key that of the newest run counts.

use std::sync::Arc;

use cohort_engine::{Change, Changes, Direction, EngineId, KeyRange, ReadError};

use super::run::{Entry, Run, entries};
use super::{Dead, run_key};

/// A version: key with its engine, number, value.
pub(super) type Numbered<'a> = (&'a [u8], u64, Option<&'a [u8]>);

/// The keys `lower <= key < upper` of runs.
#[derive(Clone)]
struct Bounds {
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
}

/// A walk over one run.
struct RunCursor {
    run: Arc<Run>,
    bounds: Bounds,
    direction: Direction,
    dead: Dead,
    all_versions: bool,
    /// Blocks not read yet.
    left: std::ops::Range<usize>,
    block: Vec<u8>,
    /// Of the block, the next one last.
    entries: Vec<Entry>,
}

impl RunCursor {
    fn new(run: &Arc<Run>, bounds: &Bounds, direction: Direction, dead: &Dead, all_versions: bool) -> RunCursor {
        let first = run.block_with(&bounds.lower).unwrap_or(0);
        let last = bounds.upper.as_ref().and_then(|upper| run.block_with(upper));
        let end = last.map_or(run.blocks(), |last| last + 1);
        RunCursor {
            run: run.clone(),
            bounds: bounds.clone(),
            direction,
            dead: dead.clone(),
            all_versions,
            left: first..end.min(run.blocks()),
            block: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Makes sure that there is a next entry, unless the walk is at its end.
    fn fill(&mut self) -> Result<(), ReadError> {
        while self.entries.is_empty() {
            let next = match self.direction {
                Direction::Forward => self.left.next(),
                Direction::Reverse => self.left.next_back(),
            };
            let Some(at) = next else { return Ok(()) };
            self.block = self.run.read_block(at)?;
            for entry in entries(&self.block) {
                let key = &self.block[entry.key.clone()];
                let within =
                    key >= &self.bounds.lower[..] && self.bounds.upper.as_ref().is_none_or(|upper| key < &upper[..]);
                let older = self.entries.last().is_some_and(|last| self.block[last.key.clone()] == *key);
                if within && !self.dead.has(entry.number) && (self.all_versions || !older) {
                    self.entries.push(entry);
                }
            }
            if self.direction == Direction::Forward {
                self.entries.reverse();
            }
        }
        Ok(())
    }

    fn key(&self) -> Option<&[u8]> {
        self.entries.last().map(|entry| &self.block[entry.key.clone()])
    }
}

/// The changes of several runs by key.
pub(crate) struct Merge {
    /// The newest first.
    cursors: Vec<RunCursor>,
    direction: Direction,
    all_versions: bool,
    /// Which cursors have given their entry.
    passed: Vec<usize>,
}

impl Merge {
    fn new(
        runs: &[Arc<Run>],
        bounds: &Bounds,
        direction: Direction,
        dead: &Dead,
        all_versions: bool,
    ) -> Result<Merge, ReadError> {
        let cursor = |run| RunCursor::new(run, bounds, direction, dead, all_versions);
        let mut cursors: Vec<RunCursor> = runs.iter().rev().map(cursor).collect();
        cursors.iter_mut().try_for_each(RunCursor::fill)?;
        Ok(Merge { cursors, direction, all_versions, passed: Vec::new() })
    }

    /// Everything in `runs`, the oldest of them first, every version of a key.
    pub fn all_versions(runs: &[Arc<Run>], dead: &Dead) -> Result<Merge, ReadError> {
        let bounds = Bounds { lower: Vec::new(), upper: None };
        Merge::new(runs, &bounds, Direction::Forward, dead, true)
    }

    /// The changes to one engine.
    pub fn changes(runs: &[Arc<Run>], engine: EngineId, dead: &Dead) -> Result<Merge, ReadError> {
        let upper = engine.0.checked_add(1).map(|next| vec![next]);
        let bounds = Bounds { lower: vec![engine.0], upper };
        Merge::new(runs, &bounds, Direction::Forward, dead, false)
    }

    /// Those within `range`.
    pub fn range(
        runs: &[Arc<Run>],
        engine: EngineId,
        range: &KeyRange,
        direction: Direction,
        dead: &Dead,
    ) -> Result<Merge, ReadError> {
        let bounds = Bounds { lower: run_key(engine, &range.lower), upper: Some(run_key(engine, &range.upper)) };
        Merge::new(runs, &bounds, direction, dead, false)
    }

    /// Whether there is nothing more.
    pub fn is_empty(&mut self) -> Result<bool, ReadError> {
        self.step()?;
        Ok(self.cursors.iter().all(|cursor| cursor.entries.is_empty()))
    }

    /// Passes the entries that were given last.
    fn step(&mut self) -> Result<(), ReadError> {
        for at in std::mem::take(&mut self.passed) {
            self.cursors[at].entries.pop();
            self.cursors[at].fill()?;
        }
        Ok(())
    }

    /// The cursor whose entry is next.
    fn pick(&mut self) -> Result<Option<usize>, ReadError> {
        self.step()?;
        let mut next: Option<(usize, &[u8])> = None;
        for (at, cursor) in self.cursors.iter().enumerate() {
            let Some(key) = cursor.key() else { continue };
            let sooner = next.is_none_or(|(_, first)| match self.direction {
                Direction::Forward => key < first,
                Direction::Reverse => key > first,
            });
            if sooner {
                next = Some((at, key));
            }
        }
        let Some((picked, key)) = next else { return Ok(None) };
        self.passed = match self.all_versions {
            true => vec![picked],
            false => (picked..self.cursors.len()).filter(|at| self.cursors[*at].key() == Some(key)).collect(),
        };
        Ok(Some(picked))
    }

    /// The next version.
    pub fn next_version(&mut self) -> Result<Option<Numbered<'_>>, ReadError> {
        let Some(picked) = self.pick()? else { return Ok(None) };
        let RunCursor { block, entries, .. } = &self.cursors[picked];
        let entry = entries.last().expect("it was picked for its entry");
        Ok(Some((&block[entry.key.clone()], entry.number, entry.value.clone().map(|value| &block[value]))))
    }
}

impl Changes for Merge {
    fn next(&mut self) -> Result<Option<Change<'_>>, ReadError> {
        Ok(self.next_version()?.map(|(key, _, value)| Change { key: &key[1..], value }))
    }

    fn bytes_max(&self) -> u64 {
        self.cursors.iter().map(|cursor| cursor.run.bytes()).sum()
    }
}
