//! The newest versions of rows whose transactions are ordered but not yet applied.
//!
//! Row locks are released when the order is fixed, before the write. Whoever gets such a lock next
//! must see the version the order has just given the row; engines do not have it yet. It is here from
//! the moment of ordering until the engines have it.
//!
//! Invariants
//! 1. A key's entry is the version with the highest order among those in flight.
//! 2. An entry goes only after its cohort was applied, so a reader that looks here first and in the
//!    engine second misses nothing.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cohort_engine::{EngineId, KeyRange};

use crate::sync::RwLock;
use crate::write_set::WriteSet;

/// A version of a row: its value, or `None` where the row was deleted.
pub(crate) type Version = Option<Arc<[u8]>>;

/// Versions by key, in the keys' order.
pub(crate) type Versions = Vec<(Arc<[u8]>, Version)>;

#[derive(Debug)]
struct InFlight {
    order: u64,
    version: Version,
}

/// Versions in flight, by engine and key.
#[derive(Debug)]
pub(crate) struct Overlay {
    engines: Vec<RwLock<BTreeMap<Arc<[u8]>, InFlight>>>,
}

impl Overlay {
    pub(crate) fn new(engines: usize) -> Self {
        Overlay { engines: (0..engines).map(|_| RwLock::default()).collect() }
    }

    /// Adds the versions of a transaction that was just given its `order`, and returns the highest
    /// order among the versions it replaces: the transaction that this one depends on.
    pub(crate) fn insert(&self, writes: &WriteSet, order: u64) -> Option<u64> {
        let mut depends_on = None;
        for (engine, keys) in writes.engines() {
            let mut versions = self.engines[usize::from(engine.0)].write();
            for (key, version) in keys {
                let entry = InFlight { order, version: version.clone() };
                if let Some(older) = versions.insert(key.clone(), entry) {
                    depends_on = depends_on.max(Some(older.order));
                }
            }
        }
        depends_on
    }

    /// Forgets the versions of a transaction that the engines now have, or that failed.
    pub(crate) fn remove(&self, writes: &WriteSet, order: u64) {
        for (engine, keys) in writes.engines() {
            let mut versions = self.engines[usize::from(engine.0)].write();
            for key in keys.keys() {
                if versions.get(key).is_some_and(|entry| entry.order == order) {
                    versions.remove(key);
                }
            }
        }
    }

    /// The version of `key` in flight, if any, and its order.
    pub(crate) fn get(&self, engine: EngineId, key: &[u8]) -> Option<(Version, u64)> {
        self.engines[usize::from(engine.0)].read().get(key).map(|entry| (entry.version.clone(), entry.order))
    }

    /// The versions in flight within `range`, by key, and the highest order among them.
    pub(crate) fn range(&self, engine: EngineId, range: &KeyRange) -> (Versions, Option<u64>) {
        let mut newest = None;
        if range.lower >= range.upper {
            return (Vec::new(), newest);
        }
        let bounds = (Bound::Included(&range.lower[..]), Bound::Excluded(&range.upper[..]));
        let versions = self.engines[usize::from(engine.0)]
            .read()
            .range::<[u8], _>(bounds)
            .map(|(key, entry)| {
                newest = newest.max(Some(entry.order));
                (key.clone(), entry.version.clone())
            })
            .collect();
        (versions, newest)
    }
}
