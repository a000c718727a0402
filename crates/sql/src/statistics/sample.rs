//! Reads the values of a column in some rows of its table, for a histogram.
//!
//! A table of at most [`MOST`] rows is read whole. Of a larger one, [`RUNS`] runs of [`RUN_ROWS`] rows are read that begin at
//! even distances between the first key and the last, as if their bytes were a number. Where keys lie so that these find less
//! than half of what they should, all rows are passed, and one of n is looked at; not each n-th, since values may come in
//! the same rhythm.

use std::collections::btree_map::Entry;

use cohort_engine::{Direction, KeyRange};
use cohort_txn::{Read, Transaction};

use super::collect::between;
use super::histogram::{COMPARED, Sample, shortened};
use crate::catalog::table::{Table, prefix_range};
use crate::codec::RowOffsets;
use crate::error::SqlError;
use crate::exec::failure::{damaged, read_failed};
use crate::memory::{key_bytes, value_bytes};
use crate::types::Kind;

/// Most rows of a table that is read whole.
const MOST: u64 = 100_000;
/// Runs of one that is not, and the rows of each.
const RUNS: u64 = 1000;
const RUN_ROWS: u64 = 100;

/// Reads a column of a table that has so many rows. `goes_on` is told for each row how many bytes more are kept; its error ends
/// the sample.
pub(crate) fn sample(
    table: &Table,
    column: usize,
    rows: u64,
    transaction: &mut Transaction,
    goes_on: &dyn Fn(usize) -> Result<(), SqlError>,
) -> Result<Sample, SqlError> {
    let range = prefix_range(&table.row_prefix());
    let mut sampler =
        Sampler { table, column, transaction, goes_on, offsets: RowOffsets::default(), taken: Sample::default() };
    if rows <= MOST {
        sampler.read(&range, u64::MAX, 1)?;
        sampler.taken.of_rows = sampler.taken.rows;
        return Ok(sampler.taken);
    }
    sampler.runs(&range)?;
    if sampler.taken.rows < RUNS * RUN_ROWS / 2 {
        sampler.taken = Sample::default();
        sampler.read(&range, u64::MAX, rows.div_ceil(MOST))?;
    }
    sampler.taken.of_rows = rows.max(sampler.taken.rows);
    Ok(sampler.taken)
}

struct Sampler<'s> {
    table: &'s Table,
    column: usize,
    transaction: &'s mut Transaction,
    goes_on: &'s dyn Fn(usize) -> Result<(), SqlError>,
    offsets: RowOffsets,
    taken: Sample,
}

impl Sampler<'_> {
    fn runs(&mut self, range: &KeyRange) -> Result<(), SqlError> {
        let first = self.first_key(range)?;
        let last = self.transaction.last_key(self.table.engine, range).map_err(read_failed)?;
        let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
        let starts = between(&first, &last, RUNS);
        for (at, start) in starts.iter().enumerate() {
            let upper = starts.get(at + 1).unwrap_or(&range.upper).clone();
            if *start < upper {
                self.read(&KeyRange { lower: start.clone(), upper }, RUN_ROWS, 1)?;
            }
        }
        Ok(())
    }

    fn first_key(&mut self, range: &KeyRange) -> Result<Option<Vec<u8>>, SqlError> {
        let scan = self.transaction.scan(self.table.engine, Read::Snapshot, range, Direction::Forward);
        let mut scan = scan.map_err(read_failed)?;
        Ok(scan.next().map_err(read_failed)?.map(|entry| entry.key.to_vec()))
    }

    /// Reads at most so many rows from the beginning of a range, and takes one of `every`.
    fn read(&mut self, range: &KeyRange, most: u64, every: u64) -> Result<(), SqlError> {
        let scan = self.transaction.scan(self.table.engine, Read::Snapshot, range, Direction::Forward);
        let mut scan = scan.map_err(read_failed)?;
        let mut read = 0_u64;
        while read < most
            && let Some(entry) = scan.next().map_err(read_failed)?
        {
            let kept = if is_taken(read, every) { self.take(entry.value)? } else { 0 };
            (self.goes_on)(kept)?;
            read += 1;
        }
        Ok(())
    }

    /// Takes a row, and says how many bytes more are kept.
    fn take(&mut self, stored: &[u8]) -> Result<usize, SqlError> {
        let table = self.table;
        let is_damaged = |error| damaged(&table.def.name, &error);
        let row = table.codec.open(stored, &mut self.offsets).map_err(is_damaged)?;
        let value = row.get(self.column).map_err(is_damaged)?;
        self.taken.rows += 1;
        if value.is_null() {
            self.taken.nulls += 1;
            return Ok(0);
        }
        let column_type = &table.def.columns[self.column].column_type;
        let prefix = matches!(column_type.kind(), Kind::Characters(_) | Kind::Bytes).then_some(COMPARED);
        let mut key = Vec::new();
        if !column_type.write_key(&value, prefix, &mut key) {
            return Err(SqlError::internal("a stored value is none of its column"));
        }
        let kept = match self.taken.values.entry(key) {
            Entry::Occupied(mut known) => {
                known.get_mut().1 += 1;
                0
            }
            Entry::Vacant(new) => {
                let value = shortened(value);
                let bytes = key_bytes(new.key()) + value_bytes(&value);
                new.insert((value, 1));
                bytes
            }
        };
        Ok(kept)
    }
}

/// Whether a row is the one of `every`: multiples of the golden ratio lie evenly, whatever the step in which rows are counted.
fn is_taken(row: u64, every: u64) -> bool {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15) <= u64::MAX / every
}
