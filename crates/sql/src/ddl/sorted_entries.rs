//! Sorts index entries, more of them than memory may hold ([`crate::spill`]), and finds two with one key.

use std::cmp::Ordering;

use crate::error::SqlError;
use crate::spill::{Budget, Sorted, Sorter, Spilling};

/// An index entry: key and value.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// Most bytes of entries that are sorted in memory at a time.
const SORTED_BYTES: u64 = 16 << 20;

fn compare(a: &Entry, b: &Entry) -> Ordering {
    a.cmp(b)
}

/// Takes entries in any order.
pub(super) struct SortedEntries<'s> {
    with: &'s dyn Spilling,
    sorter: Sorter<Entry>,
}

impl<'s> SortedEntries<'s> {
    /// Nothing yet.
    pub(super) fn new(with: &'s dyn Spilling) -> SortedEntries<'s> {
        SortedEntries { with, sorter: Sorter::new(Budget::of(SORTED_BYTES)) }
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), SqlError> {
        self.sorter.push((key, value), &compare, self.with)
    }

    /// All entries in order, up to the second of two with one key where keys are `unique`; `None` if there is no entry.
    pub(super) fn end(self, unique: bool) -> Result<Option<InOrder<'s>>, SqlError> {
        let with = self.with;
        let mut sorted = self.sorter.sorted(&compare, with)?;
        let next = sorted.next(&compare, with)?;
        let end = Ok(());
        Ok(next.map(|first| InOrder { with, sorted, next: Some(first), unique, duplicate: None, end }))
    }
}

/// Entries in order.
pub(super) struct InOrder<'s> {
    with: &'s dyn Spilling,
    sorted: Sorted<Entry>,
    next: Option<Entry>,
    unique: bool,
    duplicate: Option<Entry>,
    end: Result<(), SqlError>,
}

impl InOrder<'_> {
    /// Why the entries ended: an error if they could not be read, or else the entry whose key was there before.
    pub(super) fn ended(self) -> Result<Option<Entry>, SqlError> {
        self.end.map(|()| self.duplicate)
    }
}

impl Iterator for InOrder<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let given = self.next.take()?;
        match self.sorted.next(&compare, self.with) {
            Ok(Some(next)) if self.unique && next.0 == given.0 => self.duplicate = Some(next),
            Ok(next) => self.next = next,
            Err(error) => self.end = Err(error),
        }
        Some(given)
    }
}
