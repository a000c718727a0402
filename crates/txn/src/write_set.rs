//! What a transaction has changed so far, and how to take part of it back.
//!
//! The newest version of every key it wrote, by engine, and an undo list for savepoints. Of a large transaction that is
//! what it wrote last; the rest is in files (`large.rs`).

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cohort_engine::{EngineId, KeyRange, ReadError, Redo};

use crate::large::{LargeWrites, NumberedChange};
use crate::outcome::CommitError;
use crate::overlay::Version;

type Keys = BTreeMap<Arc<[u8]>, Version>;

/// The changes of one open transaction.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    engines: Vec<Keys>,
    /// Per change the entry it replaced, oldest first.
    undo: Vec<(EngineId, Arc<[u8]>, Option<Version>)>,
    /// How many changes went to files: the number of the first in the list.
    spilled: u64,
    large: Option<Box<LargeWrites>>,
    /// What all changes take in memory, those that were replaced included.
    bytes: u64,
    /// What the redo of the newest versions takes, at most.
    redo_bytes: u64,
}

/// What holds a change beside its key and value, bytes.
const CHANGE_BYTES: u64 = 160;

/// What [`Redo`] adds to a key and its value, bytes at most.
const REDO_OP_BYTES: u64 = 11;

fn redo_bytes(key: &[u8], version: &Version) -> u64 {
    REDO_OP_BYTES + key.len() as u64 + version.as_ref().map_or(0, |value| value.len() as u64)
}

fn change_bytes(key: &[u8], version: &Version) -> u64 {
    CHANGE_BYTES + key.len() as u64 + version.as_ref().map_or(0, |value| value.len() as u64)
}

impl WriteSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.large.is_none() && self.engines.iter().all(BTreeMap::is_empty)
    }

    pub(crate) fn set(&mut self, engine: EngineId, key: &[u8], version: Version) {
        let at = usize::from(engine.0);
        if self.engines.len() <= at {
            self.engines.resize_with(at + 1, Keys::new);
        }
        let key: Arc<[u8]> = key.into();
        self.bytes += change_bytes(&key, &version);
        self.redo_bytes += redo_bytes(&key, &version);
        let replaced = self.engines[at].insert(key.clone(), version);
        self.redo_bytes -= replaced.as_ref().map_or(0, |replaced| redo_bytes(&key, replaced));
        self.undo.push((engine, key, replaced));
    }

    pub(crate) fn get(&self, engine: EngineId, key: &[u8]) -> Option<&Version> {
        self.engines.get(usize::from(engine.0))?.get(key)
    }

    /// The own versions within `range`, by key.
    pub(crate) fn range(&self, engine: EngineId, range: &KeyRange) -> Vec<(Arc<[u8]>, Version)> {
        let Some(keys) = self.engines.get(usize::from(engine.0)) else { return Vec::new() };
        if range.lower >= range.upper {
            return Vec::new();
        }
        let bounds = (Bound::Included(&range.lower[..]), Bound::Excluded(&range.upper[..]));
        keys.range::<[u8], _>(bounds).map(|(key, version)| (key.clone(), version.clone())).collect()
    }

    /// The same changes once more, without a way back.
    ///
    /// # Panics
    /// When some of them are in files.
    pub(crate) fn copy(&self) -> WriteSet {
        assert!(self.large.is_none(), "files are of one transaction");
        let (bytes, redo_bytes) = (self.bytes, self.redo_bytes);
        WriteSet { engines: self.engines.clone(), bytes, redo_bytes, ..WriteSet::default() }
    }

    /// What went to files, of a large transaction.
    pub(crate) fn large(&self) -> Option<&LargeWrites> {
        self.large.as_deref()
    }

    /// The own version of `key` in files.
    pub(crate) fn get_large(&self, engine: EngineId, key: &[u8]) -> Result<Option<Version>, ReadError> {
        self.large.as_ref().map_or(Ok(None), |large| large.get(engine, key))
    }

    /// Gives away what went to files.
    pub(crate) fn take_large(&mut self) -> Option<Box<LargeWrites>> {
        self.large.take()
    }

    /// Writes what is in memory to files, which `new` makes, by the number of their first change, if there are none yet.
    /// After an error nothing has changed.
    pub(crate) fn spill(&mut self, new: impl FnOnce(u64) -> LargeWrites) -> Result<(), CommitError> {
        if self.undo.is_empty() {
            return Ok(());
        }
        let mut large = self.large.take().unwrap_or_else(|| Box::new(new(self.spilled)));
        let added = large.add(self.numbered_changes());
        if added.is_ok() || !large.is_empty() {
            self.large = Some(large);
        }
        added?;
        self.spilled += self.undo.len() as u64;
        self.engines.clear();
        self.undo.clear();
        (self.bytes, self.redo_bytes) = (0, 0);
        Ok(())
    }

    /// Every version that was written to memory, also those that were replaced: by key, and of one key the newest first.
    fn numbered_changes(&self) -> impl Iterator<Item = NumberedChange> {
        let named = |at: usize| (self.undo[at].0, &*self.undo[at].1);
        let mut order: Vec<usize> = (0..self.undo.len()).collect();
        // Mostly in order already, which this sort makes use of.
        order.sort_by(|one, other| named(*one).cmp(&named(*other)).then(other.cmp(one)));
        let mut newer: Option<usize> = None;
        order.into_iter().map(move |at| {
            let (engine, key) = named(at);
            // What the next change of the key replaced; after the last one it has what it has now.
            let version = match newer.replace(at).filter(|newer| named(*newer) == (engine, key)) {
                Some(newer) => self.undo[newer].2.clone(),
                None => self.get(engine, key).cloned(),
            };
            NumberedChange {
                key: [&[engine.0], key].concat(),
                number: self.spilled + at as u64,
                version: version.expect("a change leaves a version until the next one"),
            }
        })
    }

    /// What it takes in memory, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes + self.large.as_ref().map_or(0, |large| large.memory_bytes())
    }

    /// Of that, what the changes take that are in no file.
    pub(crate) fn unspilled_bytes(&self) -> u64 {
        self.bytes
    }

    /// What its redo takes, about and at most; not what is in files.
    pub(crate) fn redo_bytes(&self) -> u64 {
        self.redo_bytes
    }

    /// How much there is to undo; a savepoint.
    pub(crate) fn mark(&self) -> u64 {
        self.spilled + self.undo.len() as u64
    }

    /// Takes back every change after `mark`.
    pub(crate) fn undo_to(&mut self, mark: u64) {
        if mark < self.spilled && self.large.as_mut().is_some_and(|large| large.kill(mark, self.spilled)) {
            self.large = None;
        }
        while self.mark() > mark.max(self.spilled) {
            let (engine, key, replaced) = self.undo.pop().expect("the list is longer than the mark");
            let keys = &mut self.engines[usize::from(engine.0)];
            self.bytes -= keys.get(&key).map_or(0, |version| change_bytes(&key, version));
            self.redo_bytes -= keys.get(&key).map_or(0, |version| redo_bytes(&key, version));
            self.redo_bytes += replaced.as_ref().map_or(0, |version| redo_bytes(&key, version));
            match replaced {
                Some(version) => keys.insert(key, version),
                None => keys.remove(&key),
            };
        }
    }

    /// Gives up taking changes back.
    pub(crate) fn forget_undo(&mut self) {
        self.undo = Vec::new();
    }

    /// The engines that have changes, with these.
    pub(crate) fn engines(&self) -> impl Iterator<Item = (EngineId, &Keys)> {
        let named = self.engines.iter().enumerate();
        named.filter(|(_, keys)| !keys.is_empty()).map(|(at, keys)| (EngineId(at as u8), keys))
    }

    /// The changes to one engine as redo.
    pub(crate) fn redo(keys: &Keys) -> Vec<u8> {
        let mut redo = Redo::default();
        for (key, version) in keys {
            match version {
                Some(value) => redo.put(key, value),
                None => redo.delete(key),
            }
        }
        redo.into_bytes()
    }
}
