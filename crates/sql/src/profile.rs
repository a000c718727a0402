//! What the operators of one run really do, for EXPLAIN ANALYZE.

use std::collections::HashMap;
use std::time::Duration;

use cohort_io::sync::Mutex;

/// What all operators of a run have done, by the places of their nodes.
#[derive(Debug, Default)]
pub(crate) struct Profile(Mutex<HashMap<usize, Measured>>);

/// What an operator has done in all its loops together: each time that it was opened is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) loops: u64,
    pub(crate) rows: u64,
    /// Rows that it looked at, where it judges them itself.
    pub(crate) examined: Option<u64>,
    /// Until the first row, and until the end, with what its inputs took.
    pub(crate) first: Duration,
    pub(crate) all: Duration,
}

impl Profile {
    /// What the operator at a place has done; nothing if it was not opened.
    pub(crate) fn of(&self, place: usize) -> Measured {
        self.0.lock().get(&place).copied().unwrap_or_default()
    }

    /// How often that operator was opened which was opened most often.
    #[cfg(test)]
    pub(crate) fn loops_max(&self) -> u64 {
        self.0.lock().values().map(|one| one.loops).max().unwrap_or_default()
    }

    /// Adds one loop.
    pub(crate) fn add(&self, place: usize, one: Measured) {
        let mut all = self.0.lock();
        let known = all.entry(place).or_default();
        known.loops += 1;
        known.rows += one.rows;
        known.first += one.first;
        known.all += one.all;
        if let Some(examined) = one.examined {
            *known.examined.get_or_insert(0) += examined;
        }
    }
}
