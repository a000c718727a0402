//! Which rows were not there yet, by their keys: as far as there is memory for keys that is said at once; other rows are
//! sorted by their keys, and given when all are there.

use hashbrown::HashSet;

use super::{Budget, KeyedRow, KeyedRows, KeyedSorter, Spilling};
use crate::error::SqlError;
use crate::memory::key_bytes;
use crate::value::Value;

/// The keys of rows so far.
pub(crate) struct DistinctRows {
    keys: HashSet<Vec<u8>>,
    budget: Budget,
    later: Later,
}

/// Rows that may be new.
enum Later {
    /// There is room for all keys so far.
    None,
    Unsorted(Box<KeyedSorter>),
    /// Sorted, with the key of the one before.
    Sorted(Box<KeyedRows>, Vec<u8>),
}

impl DistinctRows {
    /// No row yet; keys may take so many bytes.
    pub(crate) fn new(bytes: u64) -> DistinctRows {
        DistinctRows { keys: HashSet::new(), budget: Budget::of(bytes), later: Later::None }
    }

    /// Whether a row is new; one that may be is kept for later where there is no room for its key. A key is not empty.
    pub(crate) fn is_new(&mut self, key: Vec<u8>, row: &[Value], with: &dyn Spilling) -> Result<bool, SqlError> {
        if self.keys.contains(&key) {
            return Ok(false);
        }
        if let Later::None = self.later {
            if self.budget.take(key_bytes(&key), with)? {
                self.keys.insert(key);
                return Ok(true);
            }
            self.later = Later::Unsorted(Box::new(KeyedSorter::of_table(self.budget.again())));
        }
        if let Later::Unsorted(sorter) = &mut self.later {
            sorter.push(&key, row, with)?;
        }
        Ok(false)
    }

    /// When all rows are there: the next one of those that were kept, the first of each key.
    pub(crate) fn next_later(&mut self, with: &dyn Spilling) -> Result<Option<Vec<Value>>, SqlError> {
        if let Later::Unsorted(_) = self.later
            && let Later::Unsorted(sorter) = std::mem::replace(&mut self.later, Later::None)
        {
            self.keys = HashSet::new();
            self.budget.give_back(with);
            self.later = Later::Sorted(Box::new(sorter.sorted(with)?), Vec::new());
        }
        let Later::Sorted(sorted, before) = &mut self.later else { return Ok(None) };
        while let Some(KeyedRow { key, row }) = sorted.next(with)? {
            if key != *before {
                *before = key;
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl std::fmt::Debug for DistinctRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DistinctRows").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}
