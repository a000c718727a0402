//! Where rows come from.

use cohort_engine::{Direction, KeyRange};
use cohort_txn::{Read, Scan};

use super::Run;
use super::failure::{damaged, read_failed};
use super::key_range::{Keys, keys};
use crate::catalog::table::{Table, prefix_range};
use crate::error::SqlError;
use crate::expr::Expr;
use crate::plan::access::Access;
use crate::value::Value;

/// Gives rows, one at a time, into the slots it was made for.
pub(super) trait RowSource {
    /// Fills its slots of `row` with the next row, or says that there is none.
    fn next(&mut self, run: &mut Run<'_>, row: &mut [Value]) -> Result<bool, SqlError>;
}

/// One row without columns: SELECT without FROM.
pub(super) struct OneRow {
    pub(super) given: bool,
}

impl RowSource for OneRow {
    fn next(&mut self, _run: &mut Run<'_>, _row: &mut [Value]) -> Result<bool, SqlError> {
        Ok(!std::mem::replace(&mut self.given, true))
    }
}

/// Rows that the server made.
pub(super) struct MadeRows(pub(super) std::vec::IntoIter<Vec<Value>>);

impl RowSource for MadeRows {
    fn next(&mut self, _run: &mut Run<'_>, row: &mut [Value]) -> Result<bool, SqlError> {
        let Some(made) = self.0.next() else { return Ok(false) };
        row.iter_mut().zip(made).for_each(|(slot, value)| *slot = value);
        Ok(true)
    }
}

/// An access path with the values of its terms.
pub(super) struct Path {
    /// The secondary index that is walked; `None` for the rows themselves.
    pub(super) index: Option<usize>,
    /// The keys to look at, in this order.
    pub(super) points: std::vec::IntoIter<Vec<u8>>,
    /// Else the ranges to walk, in this order.
    pub(super) ranges: std::vec::IntoIter<KeyRange>,
    pub(super) direction: Direction,
    /// Whether the path could be used as planned, its order included.
    pub(super) as_planned: bool,
}

impl Path {
    pub(super) fn of(table: &Table, access: &Access, run: &Run<'_>) -> Result<Path, SqlError> {
        let index = access.index.filter(|index| table.primary != Some(*index));
        let direction = if access.reverse { Direction::Reverse } else { Direction::Forward };
        let mut path =
            Path { index, points: Vec::new().into_iter(), ranges: Vec::new().into_iter(), direction, as_planned: true };
        match keys(access, table, run)? {
            Keys::Nothing => {}
            Keys::Points(mut points) => {
                if access.reverse {
                    points.reverse();
                }
                path.points = points.into_iter();
            }
            Keys::Ranges(mut ranges) => {
                if access.reverse {
                    ranges.reverse();
                }
                path.ranges = ranges.into_iter();
            }
            Keys::Everything => {
                path.index = None;
                path.as_planned = false;
                path.direction = Direction::Forward;
                path.ranges = vec![prefix_range(&table.row_prefix())].into_iter();
            }
        }
        Ok(path)
    }
}

/// The rows of one table by an access path, as the statement's snapshot has them; the condition is the caller's.
pub(super) struct TableRows<'p> {
    table: &'p Table,
    wanted: &'p [usize],
    path: Path,
    /// Rows are read from the index's entries.
    covering: bool,
    /// The range that is walked.
    scan: Option<Scan>,
    row_key: Vec<u8>,
    stored: Vec<u8>,
    /// The entry of the index that led to the row, kept where it is all that is read, or a point.
    entry_key: Vec<u8>,
    entry_value: Vec<u8>,
    seen: u32,
}

impl<'p> TableRows<'p> {
    /// Opens the path.
    pub(super) fn open(
        table: &'p Table,
        access: &Access,
        wanted: &'p [usize],
        run: &Run<'_>,
    ) -> Result<TableRows<'p>, SqlError> {
        let path = Path::of(table, access, run)?;
        Ok(TableRows {
            table,
            wanted,
            covering: access.covering && path.index.is_some(),
            path,
            scan: None,
            row_key: Vec::new(),
            stored: Vec::new(),
            entry_key: Vec::new(),
            entry_value: Vec::new(),
            seen: 0,
        })
    }

    /// Whether the path could be used as planned, its order included.
    pub(super) fn as_planned(&self) -> bool {
        self.path.as_planned
    }

    /// Finds the next row: its stored form, or its entry where that covers what is wanted.
    fn find(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        while let Some(key) = self.path.points.next() {
            if self.find_point(&key, run)? {
                return Ok(true);
            }
            self.seen = self.seen.wrapping_add(1);
            if self.seen.is_multiple_of(256) {
                run.check_killed()?;
            }
        }
        loop {
            let Some(open) = &mut self.scan else {
                let Some(range) = self.path.ranges.next() else { return Ok(false) };
                let opened = run.transaction.scan(self.table.engine, Read::Snapshot, &range, self.path.direction);
                self.scan = Some(opened.map_err(read_failed)?);
                continue;
            };
            self.seen = self.seen.wrapping_add(1);
            if self.seen.is_multiple_of(256) {
                run.check_killed()?;
            }
            let Some(entry) = open.next().map_err(read_failed)? else {
                self.scan = None;
                continue;
            };
            let Some(index) = self.path.index else {
                self.stored.clear();
                self.stored.extend_from_slice(entry.value);
                return Ok(true);
            };
            if self.covering {
                self.entry_key.clear();
                self.entry_key.extend_from_slice(entry.key);
                self.entry_value.clear();
                self.entry_value.extend_from_slice(entry.value);
                return Ok(true);
            }
            self.row_key.clear();
            self.table.row_key_of(&self.table.indexes[index], entry.key, entry.value, &mut self.row_key)?;
            if self.read_row(run)? {
                return Ok(true);
            }
        }
    }

    fn find_point(&mut self, key: &[u8], run: &mut Run<'_>) -> Result<bool, SqlError> {
        self.row_key.clear();
        match self.path.index {
            None => self.row_key.extend_from_slice(key),
            Some(index) => {
                let found = run.transaction.get(self.table.engine, Read::Snapshot, key, &mut self.entry_value);
                if !found.map_err(read_failed)? {
                    return Ok(false);
                }
                if self.covering {
                    self.entry_key.clear();
                    self.entry_key.extend_from_slice(key);
                    return Ok(true);
                }
                let index = &self.table.indexes[index];
                self.table.row_key_of(index, key, &self.entry_value, &mut self.row_key)?;
            }
        }
        self.read_row(run)
    }

    /// Reads the row of `row_key`.
    fn read_row(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        run.transaction.get(self.table.engine, Read::Snapshot, &self.row_key, &mut self.stored).map_err(read_failed)
    }

    fn decode(&self, run: &mut Run<'_>, row: &mut [Value]) -> Result<(), SqlError> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        if let (true, Some(index)) = (self.covering, self.path.index) {
            let index = &self.table.indexes[index];
            return self.table.read_entry(index, &self.entry_key, &self.entry_value, self.wanted, row);
        }
        read_columns(self.table, &self.stored, self.wanted, run, row)
    }
}

/// Decodes some columns of a stored row.
pub(super) fn read_columns(
    table: &Table,
    stored: &[u8],
    wanted: &[usize],
    run: &mut Run<'_>,
    row: &mut [Value],
) -> Result<(), SqlError> {
    let damaged = |error| damaged(&table.def.name, &error);
    let reader = table.codec.open(stored, &mut run.offsets).map_err(damaged)?;
    reader.read(wanted, row).map_err(damaged)
}

/// Whether a row matches a condition.
pub(super) fn matches(filter: Option<&Expr>, run: &Run<'_>, row: &[Value]) -> Result<bool, SqlError> {
    match filter {
        None => Ok(true),
        Some(filter) => Ok(filter.condition(row, &run.eval())? == Some(true)),
    }
}

impl RowSource for TableRows<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut [Value]) -> Result<bool, SqlError> {
        if !self.find(run)? {
            return Ok(false);
        }
        self.decode(run, row)?;
        Ok(true)
    }
}
