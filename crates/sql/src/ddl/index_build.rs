//! Fills a new index from the rows of its table, which is locked against changes.

use std::sync::Arc;

use cohort_engine::Direction;
use cohort_txn::{Read, Store};

use crate::catalog::store::CATALOG_ENGINE;
use crate::catalog::table::{Table, prefix_range};
use crate::codec::RowOffsets;
use crate::error::{ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::duplicate;
use crate::exec::failure::{read_failed, write_failed};
use crate::session::SessionState;
use crate::value::Value;

use super::sorted_entries::{Entry, SortedEntries};

/// Loads the entries of `index`, a new index of `new`, for its rows. They are sorted in files, as far as memory does not do
/// ([`SortedEntries`]). A unique index with equal keys is error 1062; what was loaded until an error is the caller's to erase.
pub(super) fn fill(store: &Arc<Store>, new: &Table, index: usize, session: &SessionState) -> Result<(), SqlError> {
    debug_assert_eq!(CATALOG_ENGINE.0, 0);
    let ready = &new.indexes[index];
    let mut transaction = session.begin(store);
    let range = prefix_range(&new.row_prefix());
    let mut scan = transaction.scan(new.engine, Read::Current, &range, Direction::Forward).map_err(read_failed)?;
    let mut entries = SortedEntries::new(&session.memory);
    let mut scanned = 0_usize;
    let mut row = vec![Value::Null; new.def.columns.len()];
    let mut offsets = RowOffsets::default();
    while let Some(entry) = scan.next().map_err(read_failed)? {
        scanned += 1;
        if scanned.is_multiple_of(1024) && session.interrupt_ref().is_killed() {
            return Err(SqlError::new(ER_QUERY_INTERRUPTED, &[]));
        }
        new.read_row(entry.value, &mut offsets, &mut row)?;
        let mut key = Vec::with_capacity(32);
        let unique = new.index_key(ready, &row, entry.key, &mut key)?;
        let value = if unique { entry.key[4..].to_vec() } else { Vec::new() };
        entries.add(key, value)?;
    }
    drop(scan);
    entries.end();
    if let Some((key, value)) = first_duplicate(&entries)? {
        let mut row_key = Vec::new();
        new.row_key_of(ready, &key, &value, &mut row_key)?;
        let mut stored = Vec::new();
        if transaction.get(new.engine, Read::Current, &row_key, &mut stored).map_err(read_failed)? {
            new.read_row(&stored, &mut offsets, &mut row)?;
        }
        return Err(duplicate(new, index, &row, session.time_zone));
    }
    if entries.is_empty() {
        return Ok(());
    }
    let mut sorted = entries.iter()?;
    store.load(new.engine, &mut sorted).map_err(write_failed)?;
    sorted.result()
}

/// The second of the first two entries with one key.
pub(super) fn first_duplicate(entries: &SortedEntries<'_>) -> Result<Option<Entry>, SqlError> {
    let mut sorted = entries.iter()?;
    let mut before: Option<Vec<u8>> = None;
    for (key, value) in &mut sorted {
        if before.as_ref() == Some(&key) {
            return Ok(Some((key, value)));
        }
        before = Some(key);
    }
    sorted.result().map(|()| None)
}
