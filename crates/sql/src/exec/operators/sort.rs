//! Takes all rows in before it gives the first: to sort them, or because they are to be changed where they are found.
//!
//! What rows are sorted by is made once a row ([`crate::spill`]). Rows with equal keys stay in the
//! order they come in. Beyond `sort_buffer_size` they are sorted in files. Below a LIMIT the rows that
//! cannot be among the first are let go at once, and so are, if the keys are all that DISTINCT compares, rows whose keys
//! were there.

use std::cmp::Ordering;

use super::{Operator, Row, read_columns};
use crate::error::SqlError;
use crate::exec::Run;
use crate::plan::node::{self, Kept};
use crate::plan::query::SortKey;
use crate::spill::{Budget, KeyWriter, Sorted, Sorter, compare_keys, read_bytes, skip_keys, write_bytes, write_row};
use crate::value::Value;

/// Sorts by `keys`; without keys rows stay as they come.
pub(super) struct Sort<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [SortKey],
    kept: &'p Kept,
    /// Of rows with equal keys the first is wanted alone.
    unique: bool,
    /// No more rows are asked for.
    most: u64,
    /// The rows that are left to give, once all are taken in: their keys, and what [`Kept`] says.
    sorted: Option<Sorted>,
}

impl<'p> Sort<'p> {
    /// Of the rows no more than `most` are asked for.
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p node::Sort, most: u64) -> Sort<'p> {
        Sort { input, keys: &plan.keys, kept: &plan.kept, unique: plan.unique, most, sorted: None }
    }

    /// The rows as they come, once all are taken in.
    pub(super) fn collecting(input: Box<dyn Operator + 'p>, kept: &'p Kept) -> Sort<'p> {
        Sort { input, keys: &[], kept, unique: false, most: u64::MAX, sorted: None }
    }

    fn take_in(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Sorted, SqlError> {
        let compare = by_keys(self.keys);
        let mut sorter = Sorter::of_first(self.most, Budget::of(run.session.sort_buffer_size));
        if self.unique {
            sorter = sorter.unique();
        }
        let mut keys = Vec::new();
        while self.input.next(run, row)? {
            run.step()?;
            let start = write_keys(self.keys, &row.values, run, &mut keys)?.into_start();
            if !sorter.may_be_wanted(start, &keys, &compare) {
                continue;
            }
            sorter.push(start, &compare, run.session, |out| {
                out.extend_from_slice(&keys);
                match self.kept {
                    Kept::Slots(slots) if self.unique => {
                        // As DISTINCT does.
                        row.values[slots.clone()].iter_mut().for_each(Value::settle);
                        write_row(&row.values[slots.clone()], out);
                    }
                    Kept::Slots(slots) => write_row(&row.values[slots.clone()], out),
                    Kept::Stored { .. } => {
                        write_bytes(&row.found.key, out);
                        out.extend_from_slice(&row.found.stored);
                    }
                }
            })?;
        }
        sorter.sorted(&compare, run.session)
    }

    /// What was kept of the next row, behind its keys.
    fn advance(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Option<&[u8]>, SqlError> {
        if self.sorted.is_none() {
            self.sorted = Some(self.take_in(run, row)?);
        }
        let Some(sorted) = &mut self.sorted else { return Ok(None) };
        sorted.next(&by_keys(self.keys), run.session)
    }
}

impl Operator for Sort<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let (keys, kept) = (self.keys, self.kept);
        let Some(mut bytes) = self.advance(run, row)? else { return Ok(false) };
        run.step()?;
        read_kept(keys.len(), kept, &mut bytes, row).ok_or_else(|| run.session.temporary_files.damaged())?;
        if let Kept::Stored { table, first_slot, wanted } = kept {
            read_columns(table, &row.found.stored, wanted, run, &mut row.values[*first_slot..])?;
        }
        Ok(true)
    }

    fn skip(&mut self, count: u64, run: &mut Run<'_>, row: &mut Row) -> Result<u64, SqlError> {
        let mut skipped = 0;
        while skipped < count && self.advance(run, row)?.is_some() {
            run.step()?;
            skipped += 1;
        }
        Ok(skipped)
    }
}

/// Puts what was kept of a row behind so many keys back into its place.
fn read_kept(keys: usize, kept: &Kept, bytes: &mut &[u8], row: &mut Row) -> Option<()> {
    skip_keys(keys, bytes)?;
    match kept {
        Kept::Slots(slots) => {
            for slot in &mut row.values[slots.clone()] {
                Value::read_spilled_to(bytes, slot)?;
            }
        }
        Kept::Stored { .. } => {
            row.found.key.clear();
            row.found.key.extend_from_slice(read_bytes(bytes)?);
            row.found.stored.clear();
            row.found.stored.extend_from_slice(bytes);
        }
    }
    Some(())
}

/// Writes what a row is sorted by, in the place of what `out` has.
pub(super) fn write_keys<'o>(
    keys: &[SortKey],
    row: &[Value],
    run: &mut Run<'_>,
    out: &'o mut Vec<u8>,
) -> Result<KeyWriter<'o>, SqlError> {
    out.clear();
    let mut writer = KeyWriter::new(out);
    for key in keys {
        run.evaluate(|cx| {
            writer.add(key.expr.get(row, cx, &mut Value::Null)?, key.order());
            Ok(())
        })?;
    }
    Ok(writer)
}

/// Compares what [`write_keys`] wrote, and no more.
pub(super) fn by_keys(keys: &[SortKey]) -> impl Fn(&[u8], &[u8]) -> Ordering {
    |mut a: &[u8], mut b: &[u8]| compare_keys(keys.iter().map(SortKey::order), &mut a, &mut b)
}
