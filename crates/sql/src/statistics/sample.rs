//! Reads the values of columns in some rows of their table, for a histogram, or to know how many values there are.
//!
//! How much is read is an [`Effort`]. A table of few rows is read whole. Of a larger one, runs of rows are read that begin at
//! even distances between the first key and the last, as if their bytes were a number. Where keys lie so that these find less
//! than half of what they should, all rows are passed for a histogram, and one of n is looked at; not each n-th, since values
//! may come in the same rhythm.

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
use crate::types::{ColumnType, Kind};
use crate::value::Value;

/// How much is read of a table.
pub(super) struct Effort {
    /// Most rows of a table that is read whole.
    most: u64,
    /// Runs of one that is not, and the rows of each.
    runs: u64,
    run_rows: u64,
}

impl Effort {
    /// For a histogram, which somebody waits for.
    const HISTOGRAM: Effort = Effort { most: 100_000, runs: 1000, run_rows: 100 };

    /// For a look at a table in the background: whole if it has so many rows, else as many in runs as have about so many bytes.
    pub(super) fn brief(most: u64, row_bytes: f64) -> Effort {
        const RUNS: u64 = 64;
        const RUN_ROWS: f64 = 32.0;
        const BYTES: f64 = (4 << 20) as f64;
        let run_rows = (BYTES / RUNS as f64 / row_bytes.max(1.0)).clamp(1.0, RUN_ROWS) as u64;
        Effort { most, runs: RUNS, run_rows }
    }

    /// Whether so many rows are enough.
    fn is_met(&self, rows: u64) -> bool {
        rows >= self.runs * self.run_rows / 2
    }
}

/// Reads a column of a table that has so many rows, for a histogram. `goes_on` is told for each row how many bytes more are
/// kept; its error ends the sample.
pub(crate) fn sample(
    table: &Table,
    column: usize,
    rows: u64,
    transaction: &mut Transaction,
    goes_on: &dyn Fn(usize) -> Result<(), SqlError>,
) -> Result<Sample, SqlError> {
    let (effort, columns) = (Effort::HISTOGRAM, [column]);
    let mut taken = taken(table, &columns, rows, &effort, transaction, goes_on)?;
    if rows > effort.most && !effort.is_met(taken[0].rows) {
        let mut sampler = Sampler::of(table, &columns, transaction, goes_on);
        sampler.read(&prefix_range(&table.row_prefix()), u64::MAX, rows.div_ceil(effort.most))?;
        taken = sampler.of_rows(rows);
    }
    Ok(taken.remove(0))
}

/// Reads columns of a table that has so many rows, of each a sample; where keys lie so that its runs find too little, these say
/// nothing.
pub(super) fn brief(
    table: &Table,
    columns: &[usize],
    rows: u64,
    effort: &Effort,
    transaction: &mut Transaction,
) -> Result<Vec<Sample>, SqlError> {
    let mut taken = taken(table, columns, rows, effort, transaction, &|_| Ok(()))?;
    taken.retain(|sample| rows <= effort.most || effort.is_met(sample.rows));
    Ok(taken)
}

fn taken(
    table: &Table,
    columns: &[usize],
    rows: u64,
    effort: &Effort,
    transaction: &mut Transaction,
    goes_on: &dyn Fn(usize) -> Result<(), SqlError>,
) -> Result<Vec<Sample>, SqlError> {
    let range = prefix_range(&table.row_prefix());
    let mut sampler = Sampler::of(table, columns, transaction, goes_on);
    if rows <= effort.most {
        sampler.read(&range, u64::MAX, 1)?;
        return Ok(sampler.of_rows(0));
    }
    sampler.runs(&range, effort)?;
    Ok(sampler.of_rows(rows))
}

struct Sampler<'s> {
    table: &'s Table,
    columns: &'s [usize],
    transaction: &'s mut Transaction,
    goes_on: &'s dyn Fn(usize) -> Result<(), SqlError>,
    offsets: RowOffsets,
    /// Of each column.
    taken: Vec<Sample>,
}

impl<'s> Sampler<'s> {
    fn of(
        table: &'s Table,
        columns: &'s [usize],
        transaction: &'s mut Transaction,
        goes_on: &'s dyn Fn(usize) -> Result<(), SqlError>,
    ) -> Sampler<'s> {
        let taken = columns.iter().map(|_| Sample::default()).collect();
        Sampler { table, columns, transaction, goes_on, offsets: RowOffsets::default(), taken }
    }

    /// What was taken, of a table of about so many rows.
    fn of_rows(mut self, rows: u64) -> Vec<Sample> {
        self.taken.iter_mut().for_each(|sample| sample.of_rows = rows.max(sample.rows));
        self.taken
    }

    fn runs(&mut self, range: &KeyRange, effort: &Effort) -> Result<(), SqlError> {
        let first = self.first_key(range)?;
        let last = self.transaction.last_key(self.table.engine, range).map_err(read_failed)?;
        let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
        let starts = between(&first, &last, effort.runs);
        for (at, start) in starts.iter().enumerate() {
            let upper = starts.get(at + 1).unwrap_or(&range.upper).clone();
            if *start < upper {
                self.read(&KeyRange { lower: start.clone(), upper }, effort.run_rows, 1)?;
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
        let mut kept = 0;
        for (column, taken) in self.columns.iter().zip(&mut self.taken) {
            kept += taken.take(row.get(*column).map_err(is_damaged)?, &table.def.columns[*column].column_type)?;
        }
        Ok(kept)
    }
}

impl Sample {
    /// Takes the value of a row, and says how many bytes more are kept.
    fn take(&mut self, value: Value, column_type: &ColumnType) -> Result<usize, SqlError> {
        self.rows += 1;
        if value.is_null() {
            self.nulls += 1;
            return Ok(0);
        }
        let prefix = matches!(column_type.kind(), Kind::Characters(_) | Kind::Bytes).then_some(COMPARED);
        let mut key = Vec::new();
        if !column_type.write_key(&value, prefix, &mut key) {
            return Err(SqlError::internal("a stored value is none of its column"));
        }
        Ok(match self.values.entry(key) {
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
        })
    }
}

/// Whether a row is the one of `every`: multiples of the golden ratio lie evenly, whatever the step in which rows are counted.
fn is_taken(row: u64, every: u64) -> bool {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15) <= u64::MAX / every
}
