//! What a transaction has changed so far, and how to take part of it back.
//!
//! The newest version of every key it wrote, by engine, and an undo list for savepoints.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cohort_engine::{EngineId, KeyRange, Redo};

use crate::overlay::Version;

type Keys = BTreeMap<Arc<[u8]>, Version>;

/// The changes of one open transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteSet {
    engines: Vec<Keys>,
    /// Per change the entry it replaced, oldest first.
    undo: Vec<(EngineId, Arc<[u8]>, Option<Version>)>,
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
        self.engines.iter().all(BTreeMap::is_empty)
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

    /// What it takes in memory, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    /// What its redo takes, about and at most.
    pub(crate) fn redo_bytes(&self) -> u64 {
        self.redo_bytes
    }

    /// How much there is to undo; a savepoint.
    pub(crate) fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Takes back every change after `mark`.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        while self.undo.len() > mark {
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
