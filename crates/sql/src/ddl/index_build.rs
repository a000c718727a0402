//! Fills a new index from the rows of its table, which is locked against changes.

use std::sync::Arc;

use cohort_engine::Direction;
use cohort_txn::{Read, Store};

use crate::catalog::definition::{IndexDef, TableDef};
use crate::catalog::store::CATALOG_ENGINE;
use crate::catalog::table::{Table, prefix_range};
use crate::codec::RowOffsets;
use crate::error::{ER_DUP_ENTRY, ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::failure::{read_failed, write_failed};
use crate::session::SessionState;
use crate::value::Value;

use super::sorted_entries::{Entry, SortedEntries};

/// Loads the entries of `index`, a new index of `def`, for the rows of `table`, its present form. They are sorted
/// in files, as far as memory does not do ([`SortedEntries`]). A unique index with equal keys is error 1062; what was loaded
/// until an error is the caller's to erase.
pub(super) fn fill(
    store: &Arc<Store>,
    table: &Table,
    def: &TableDef,
    index: &IndexDef,
    session: &SessionState,
) -> Result<(), SqlError> {
    debug_assert_eq!(CATALOG_ENGINE.0, 0);
    // The new table knows the new index's key parts.
    let new = Table::new(def.clone(), table.engine, table.counters.clone(), 0);
    let at = def.indexes.iter().position(|known| known.index_id == index.index_id);
    let ready = &new.indexes[at.ok_or_else(|| SqlError::internal("the new index is not in the definition"))?];
    let mut transaction = session.begin(store);
    let range = prefix_range(&table.row_prefix());
    let mut scan = transaction.scan(table.engine, Read::Current, &range, Direction::Forward).map_err(read_failed)?;
    let mut entries = SortedEntries::new(&session.memory);
    let mut scanned = 0_usize;
    let mut row = vec![Value::Null; def.columns.len()];
    let mut offsets = RowOffsets::default();
    while let Some(entry) = scan.next().map_err(read_failed)? {
        scanned += 1;
        if scanned.is_multiple_of(1024) && session.interrupt_ref().is_killed() {
            return Err(SqlError::new(ER_QUERY_INTERRUPTED, &[]));
        }
        table.read_row(entry.value, &mut offsets, &mut row)?;
        let mut key = Vec::with_capacity(32);
        let unique = new.index_key(ready, &row, entry.key, &mut key)?;
        let value = if unique { entry.key[4..].to_vec() } else { Vec::new() };
        entries.add(key, value)?;
    }
    drop(scan);
    entries.end();
    if let Some(twice) = first_duplicate(&entries)? {
        let name = format!("{}.{}", def.name, index.name);
        let twice = duplicate_text(table, &new, ready, &twice, &mut transaction)?;
        return Err(SqlError::new(ER_DUP_ENTRY, &[&twice, &name]));
    }
    if entries.is_empty() {
        return Ok(());
    }
    let mut sorted = entries.iter()?;
    store.load(table.engine, &mut sorted).map_err(write_failed)?;
    sorted.result()
}

/// The second of the first two entries with one key.
fn first_duplicate(entries: &SortedEntries<'_>) -> Result<Option<Entry>, SqlError> {
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

/// The values of a key that is there twice.
fn duplicate_text(
    table: &Table,
    new: &Table,
    index: &crate::catalog::table::Index,
    (key, value): &Entry,
    transaction: &mut cohort_txn::Transaction,
) -> Result<String, SqlError> {
    let mut row_key = Vec::new();
    new.row_key_of(index, key, value, &mut row_key)?;
    let (mut stored, mut row) = (Vec::new(), vec![Value::Null; table.def.columns.len()]);
    if transaction.get(table.engine, Read::Current, &row_key, &mut stored).map_err(read_failed)? {
        table.read_row(&stored, &mut RowOffsets::default(), &mut row)?;
    }
    let texts = index.columns.iter().map(|column| {
        let mut text = Vec::new();
        row[*column].write_text(31, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    Ok(texts.collect::<Vec<_>>().join("-"))
}
