//! Sorts index entries, more of them than memory may hold ([`crate::spill`]), and finds two with one key.

use std::cmp::Ordering;

use crate::error::SqlError;
use crate::spill::{Budget, KeyStart, Sorted, Sorter, Spilling, read_bytes, write_bytes};

/// An index entry: key and value.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// Most bytes of entries that are sorted in memory at a time.
const SORTED_BYTES: u64 = 16 << 20;

fn compare(a: &[u8], b: &[u8]) -> Ordering {
    split(a).cmp(&split(b))
}

/// Key and value of an entry that was written; `None` if it cannot be read.
fn split(mut bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    Some((read_bytes(&mut bytes)?, bytes))
}

/// Takes entries in any order.
pub(super) struct SortedEntries<'s> {
    with: &'s dyn Spilling,
    sorter: Sorter,
}

impl<'s> SortedEntries<'s> {
    /// Nothing yet.
    pub(super) fn new(with: &'s dyn Spilling) -> SortedEntries<'s> {
        SortedEntries { with, sorter: Sorter::new(Budget::of(SORTED_BYTES)) }
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), SqlError> {
        self.sorter.push(KeyStart::of_bytes(key), &compare, self.with, |out| {
            write_bytes(key, out);
            out.extend_from_slice(value);
        })
    }

    /// All entries in order, up to the second of two with one key where keys are `unique`; `None` if there is no entry.
    pub(super) fn end(self, unique: bool) -> Result<Option<InOrder<'s>>, SqlError> {
        let with = self.with;
        let mut sorted = self.sorter.sorted(&compare, with)?;
        let next = next_entry(&mut sorted, with)?;
        let end = Ok(());
        Ok(next.map(|first| InOrder { with, sorted, next: Some(first), unique, duplicate: None, end }))
    }
}

fn next_entry(sorted: &mut Sorted, with: &dyn Spilling) -> Result<Option<Entry>, SqlError> {
    let Some(bytes) = sorted.next(&compare, with)? else { return Ok(None) };
    let (key, value) = split(bytes).ok_or_else(|| with.temporary_files().damaged())?;
    Ok(Some((key.to_vec(), value.to_vec())))
}

/// Entries in order.
pub(super) struct InOrder<'s> {
    with: &'s dyn Spilling,
    sorted: Sorted,
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
        match next_entry(&mut self.sorted, self.with) {
            Ok(Some(next)) if self.unique && next.0 == given.0 => self.duplicate = Some(next),
            Ok(next) => self.next = next,
            Err(error) => self.end = Err(error),
        }
        Some(given)
    }
}
