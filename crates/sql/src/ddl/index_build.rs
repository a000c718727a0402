//! Fills a new index from the rows of its table.

use super::DdlRun;
use super::sorted_entries::SortedEntries;
use super::source_rows::{Rows, too_much};
use crate::catalog::table::Table;
use crate::codec::RowOffsets;
use crate::error::{ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::duplicate;
use crate::exec::failure::{read_failed, write_failed};
use crate::value::Value;

/// Loads the entries of `index`, a new index of `new`, for `rows`. They are sorted in files, as far as memory does not do
/// ([`SortedEntries`]). A unique index with equal keys is error 1062; what was loaded until an error is the caller's to erase.
pub(super) fn fill(run: &DdlRun<'_>, new: &Table, index: usize, rows: &mut Rows) -> Result<(), SqlError> {
    let ready = &new.indexes[index];
    let mut scan = rows.scan(new)?;
    let mut entries = SortedEntries::new(run.session);
    let mut scanned = 0_usize;
    let mut row = vec![Value::Null; new.def.columns.len()];
    let mut offsets = RowOffsets::default();
    while let Some(entry) = scan.next().map_err(read_failed)? {
        scanned += 1;
        if scanned.is_multiple_of(1024) {
            if run.session.interrupt_ref().is_killed() {
                return Err(SqlError::new(ER_QUERY_INTERRUPTED, &[]));
            }
            if rows.has_overflowed() {
                return Err(too_much(new, &[index]));
            }
        }
        new.read_row(entry.value, &mut offsets, &mut row)?;
        let mut key = Vec::with_capacity(32);
        let unique = new.index_key(ready, &row, entry.key, &mut key)?;
        let value = if unique { entry.key[4..].to_vec() } else { Vec::new() };
        entries.add(&key, &value)?;
    }
    drop(scan);
    let Some(mut sorted) = entries.end(ready.is_unique())? else { return Ok(()) };
    run.store.load(new.engine, &mut sorted).map_err(write_failed)?;
    let Some((key, value)) = sorted.ended()? else { return Ok(()) };
    let mut row_key = Vec::new();
    new.row_key_of(ready, &key, &value, &mut row_key)?;
    let mut stored = Vec::new();
    if rows.get(new.engine, &row_key, &mut stored)? {
        new.read_row(&stored, &mut offsets, &mut row)?;
    }
    Err(duplicate(new, index, &row, run.session.time_zone))
}
