//! Rows that are sorted by keys whose bytes are compared as they are.

use std::cmp::Ordering;

use super::sort_keys::KeyStart;
use super::{Budget, Sorted, Sorter, Spilling, read_bytes, write_bytes};
use crate::error::SqlError;
use crate::value::Value;

/// A row under a key.
pub(crate) struct KeyedRow {
    pub(crate) key: Vec<u8>,
    pub(crate) row: Vec<Value>,
}

/// Takes rows in any order.
pub(crate) struct KeyedSorter(Sorter);

/// Rows by their keys; those with one key as they came.
pub(crate) struct KeyedRows(Sorted);

/// What cannot be read is equal to anything: it is found when the row is read.
fn compare(mut a: &[u8], mut b: &[u8]) -> Ordering {
    match (read_bytes(&mut a), read_bytes(&mut b)) {
        (Some(a), Some(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

impl KeyedSorter {
    /// No row yet. Where a file is needed, that counts as a table on disk.
    pub(crate) fn of_table(budget: Budget) -> KeyedSorter {
        KeyedSorter(Sorter::of_table(budget))
    }

    /// Adds a row.
    pub(crate) fn push<'v>(
        &mut self,
        key: &[u8],
        row: impl IntoIterator<Item = &'v Value>,
        with: &dyn Spilling,
    ) -> Result<(), SqlError> {
        self.0.push(KeyStart::of_bytes(key), &compare, with, |out| {
            write_bytes(key, out);
            row.into_iter().for_each(|value| value.write_spilled(out));
        })
    }

    /// Gives the rows back in order.
    pub(crate) fn sorted(self, with: &dyn Spilling) -> Result<KeyedRows, SqlError> {
        self.0.sorted(&compare, with).map(KeyedRows)
    }
}

impl KeyedRows {
    /// The next row.
    pub(crate) fn next(&mut self, with: &dyn Spilling) -> Result<Option<KeyedRow>, SqlError> {
        let read = |mut bytes: &[u8]| {
            let key = read_bytes(&mut bytes)?.to_vec();
            let mut row = Vec::new();
            while !bytes.is_empty() {
                row.push(Value::read_spilled(&mut bytes)?);
            }
            Some(KeyedRow { key, row })
        };
        let Some(bytes) = self.0.next(&compare, with)? else { return Ok(None) };
        read(bytes).ok_or_else(|| with.temporary_files().damaged()).map(Some)
    }
}
