//! The rows of a stored table by an access path, as the statement's snapshot has them.

use cohort_txn::{Read, Scan};

use super::path::Path;
use super::{Operator, Row, matches, read_columns};
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::failure::read_failed;
use crate::plan::physical::TableScan;
use crate::value::Value;

pub(super) struct SnapshotScan<'p> {
    plan: &'p TableScan,
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
}

impl<'p> SnapshotScan<'p> {
    pub(super) fn open(plan: &'p TableScan, run: &Run<'_>) -> Result<SnapshotScan<'p>, SqlError> {
        let path = Path::of(&plan.table, &plan.access, run)?;
        Ok(SnapshotScan {
            plan,
            covering: plan.access.covering && path.index.is_some(),
            path,
            scan: None,
            row_key: Vec::new(),
            stored: Vec::new(),
            entry_key: Vec::new(),
            entry_value: Vec::new(),
        })
    }

    /// Finds the next row: its stored form, or its entry where that covers what is wanted.
    fn find(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        while let Some(key) = self.path.points.next() {
            if self.find_point(&key, run)? {
                return Ok(true);
            }
            run.step()?;
        }
        loop {
            let Some(open) = &mut self.scan else {
                let Some(range) = self.path.ranges.next() else { return Ok(false) };
                let opened = run.transaction.scan(self.plan.table.engine, Read::Snapshot, &range, self.path.direction);
                self.scan = Some(opened.map_err(read_failed)?);
                continue;
            };
            run.step()?;
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
            self.plan.table.row_key_of(&self.plan.table.indexes[index], entry.key, entry.value, &mut self.row_key)?;
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
                let found = run.transaction.get(self.plan.table.engine, Read::Snapshot, key, &mut self.entry_value);
                if !found.map_err(read_failed)? {
                    return Ok(false);
                }
                if self.covering {
                    self.entry_key.clear();
                    self.entry_key.extend_from_slice(key);
                    return Ok(true);
                }
                let index = &self.plan.table.indexes[index];
                self.plan.table.row_key_of(index, key, &self.entry_value, &mut self.row_key)?;
            }
        }
        self.read_row(run)
    }

    /// Reads the row of `row_key`.
    fn read_row(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        run.transaction
            .get(self.plan.table.engine, Read::Snapshot, &self.row_key, &mut self.stored)
            .map_err(read_failed)
    }

    fn decode(&self, run: &mut Run<'_>, slots: &mut [Value]) -> Result<(), SqlError> {
        let (table, wanted) = (&*self.plan.table, &*self.plan.wanted);
        if wanted.is_empty() {
            return Ok(());
        }
        if let (true, Some(index)) = (self.covering, self.path.index) {
            let index = &table.indexes[index];
            return table.read_entry(index, &self.entry_key, &self.entry_value, wanted, slots);
        }
        read_columns(table, &self.stored, wanted, run, slots)
    }
}

impl Operator for SnapshotScan<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while self.find(run)? {
            self.decode(run, &mut row.values[self.plan.first_slot..])?;
            if matches(self.plan.filter.as_ref(), run, &row.values)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn as_planned(&self) -> bool {
        self.path.as_planned
    }
}
