//! The binlog events of changed rows: which columns their images have (`binlog_row_image`).

use std::borrow::Cow;

use cohort_binlog::{FieldType, Image};

use super::Run;
use super::failure::damaged;
use crate::catalog::table::Table;
use crate::codec::DamagedBytes;
use crate::error::SqlError;
use crate::session::RowImage;
use crate::value::Value;

/// Adds the event of a deleted row, and checks what the transaction has come to.
pub(super) fn log_delete(table: &Table, stored: &[u8], run: &mut Run<'_>) -> Result<(), SqlError> {
    if run.logs_rows {
        let before = current(table, stored, run)?;
        let image = table.codec.image(&before).map_err(|error| damage(table, &error))?;
        match run.session.row_image {
            RowImage::Full => run.transaction.events().delete_row(&table.map, image),
            kind => {
                let picked = pick(table, &before, &before_columns(table, kind), run)?;
                run.transaction.events().delete_columns(&table.map, picked.image());
            }
        }
    }
    run.check_transaction()
}

/// Adds the event of an updated row, of which the columns `changed` differ; checks what the transaction has come to.
pub(super) fn log_update(
    table: &Table,
    stored: &[u8],
    after: &[u8],
    changed: &[(usize, Value)],
    run: &mut Run<'_>,
) -> Result<(), SqlError> {
    if run.logs_rows {
        let before = current(table, stored, run)?;
        match run.session.row_image {
            RowImage::Full => {
                let image = |stored| table.codec.image(stored).map_err(|error| damage(table, &error));
                run.transaction.events().update_row(&table.map, image(&before)?, image(after)?);
            }
            kind => {
                let before = pick(table, &before, &before_columns(table, kind), run)?;
                let after = pick(table, after, &after_columns(table, kind, changed), run)?;
                run.transaction.events().update_columns(&table.map, before.image(), after.image());
            }
        }
    }
    run.check_transaction()
}

fn damage(table: &Table, error: &DamagedBytes) -> SqlError {
    damaged(&table.def.name, error)
}

/// The stored row under the present definition: the image of a row of an earlier version lacks columns.
fn current<'s>(table: &Table, stored: &'s [u8], run: &mut Run<'_>) -> Result<Cow<'s, [u8]>, SqlError> {
    let reader = table.codec.open(stored, &mut run.offsets).map_err(|error| damage(table, &error))?;
    if reader.is_current() {
        return Ok(Cow::Borrowed(stored));
    }
    let mut rewritten = Vec::new();
    reader.write_changed(&[], &mut rewritten)?;
    Ok(Cow::Owned(rewritten))
}

/// Some columns of a row.
struct Picked {
    present: Vec<u8>,
    bytes: Vec<u8>,
}

impl Picked {
    fn image(&self) -> Image<'_> {
        Image { present: &self.present, bytes: &self.bytes }
    }
}

fn pick(table: &Table, stored: &[u8], columns: &[usize], run: &mut Run<'_>) -> Result<Picked, SqlError> {
    let reader = table.codec.open(stored, &mut run.offsets).map_err(|error| damage(table, &error))?;
    let mut present = vec![0; table.map.all_columns().len()];
    columns.iter().for_each(|column| present[column / 8] |= 1 << (column % 8));
    let mut bytes = Vec::new();
    reader.write_image(columns, &mut bytes);
    Ok(Picked { present, bytes })
}

/// The columns by which a reader finds the row, in order.
fn before_columns(table: &Table, kind: RowImage) -> Vec<usize> {
    let Some(primary) = table.primary else { return (0..table.map.columns()).collect() };
    let key = &table.indexes[primary].columns;
    let kept = |column: &usize| key.contains(column) || kind == RowImage::NoBlob && !is_blob(table, *column);
    (0..table.map.columns()).filter(kept).collect()
}

fn after_columns(table: &Table, kind: RowImage, changed: &[(usize, Value)]) -> Vec<usize> {
    if table.primary.is_none() {
        return (0..table.map.columns()).collect();
    }
    let differs = |column: usize| changed.iter().any(|(known, _)| *known == column);
    let kept = |column: &usize| differs(*column) || kind == RowImage::NoBlob && !is_blob(table, *column);
    (0..table.map.columns()).filter(kept).collect()
}

fn is_blob(table: &Table, column: usize) -> bool {
    table.def.columns[column].column_type.facts().binlog.0 == FieldType::Blob
}
