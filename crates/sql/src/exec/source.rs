//! Where rows come from.

use cohort_engine::{Direction, KeyRange};
use cohort_txn::{LockMode, Read, Scan};

use super::Run;
use super::failure::{damaged, lock_failed, read_failed};
use super::key_range::{Keys, keys};
use crate::ast::RowWait;
use crate::catalog::table::{Table, prefix_range};
use crate::error::{ER_LOCK_NOWAIT, SqlError};
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

/// How rows are locked as they are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowLocks {
    pub(super) mode: LockMode,
    pub(super) wait: RowWait,
}

/// The rows of one table by an access path, locked if asked to.
///
/// With locks, every row that it gives is locked, was read again under the lock and still matches the
/// condition; without, the condition is the caller's.
pub(super) struct TableRows<'p> {
    table: &'p Table,
    wanted: &'p [usize],
    read: Read,
    locks: Option<(RowLocks, Option<&'p Expr>)>,
    /// The index that is walked; `None` for the rows themselves.
    index: Option<usize>,
    /// Rows are read from the index's entries.
    covering: bool,
    direction: Direction,
    state: State,
    /// Whether the path could be used as planned, its order included.
    pub(super) as_planned: bool,
    /// The key of the row that was given last.
    pub(super) row_key: Vec<u8>,
    /// Its stored form.
    pub(super) stored: Vec<u8>,
    /// The entry of the index that led to it, kept where it is all that is read, or a point.
    entry_key: Vec<u8>,
    entry_value: Vec<u8>,
    seen: u32,
}

enum State {
    Point(Vec<u8>),
    Ranges { rest: std::vec::IntoIter<KeyRange>, scan: Option<Scan> },
    Done,
}

impl<'p> TableRows<'p> {
    /// Opens the path. `locks` come with the condition that rows must match.
    pub(super) fn open(
        table: &'p Table,
        access: &Access,
        wanted: &'p [usize],
        locks: Option<(RowLocks, Option<&'p Expr>)>,
        run: &Run<'_>,
    ) -> Result<TableRows<'p>, SqlError> {
        let mut index = access.index.filter(|index| table.primary != Some(*index));
        let mut as_planned = true;
        let mut direction = if access.reverse { Direction::Reverse } else { Direction::Forward };
        let state = match keys(access, table, run)? {
            Keys::Nothing => State::Done,
            Keys::Point(key) => State::Point(key),
            Keys::Ranges(mut ranges) => {
                if access.reverse {
                    ranges.reverse();
                }
                State::Ranges { rest: ranges.into_iter(), scan: None }
            }
            Keys::Everything => {
                index = None;
                as_planned = false;
                direction = Direction::Forward;
                State::Ranges { rest: vec![prefix_range(&table.row_prefix())].into_iter(), scan: None }
            }
        };
        let read = if locks.is_some() { Read::Current } else { Read::Snapshot };
        Ok(TableRows {
            table,
            wanted,
            read,
            locks,
            covering: access.covering && index.is_some() && locks.is_none(),
            index,
            direction,
            state,
            as_planned,
            row_key: Vec::new(),
            stored: Vec::new(),
            entry_key: Vec::new(),
            entry_value: Vec::new(),
            seen: 0,
        })
    }

    /// Finds the next row: its key, and its stored form unless `locks` make reading it here useless.
    fn find(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        loop {
            match &mut self.state {
                State::Done => return Ok(false),
                State::Point(_) => {
                    let State::Point(key) = std::mem::replace(&mut self.state, State::Done) else { return Ok(false) };
                    return self.find_point(&key, run);
                }
                State::Ranges { rest, scan } => {
                    let Some(open) = scan else {
                        let Some(range) = rest.next() else {
                            self.state = State::Done;
                            return Ok(false);
                        };
                        let opened = run.transaction.scan(self.table.engine, self.read, &range, self.direction);
                        *scan = Some(opened.map_err(read_failed)?);
                        continue;
                    };
                    self.seen = self.seen.wrapping_add(1);
                    if self.seen.is_multiple_of(256) {
                        run.check_killed()?;
                    }
                    let Some(entry) = open.next().map_err(read_failed)? else {
                        *scan = None;
                        continue;
                    };
                    self.row_key.clear();
                    self.stored.clear();
                    let Some(index) = self.index else {
                        self.row_key.extend_from_slice(entry.key);
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
                    self.table.row_key_of(&self.table.indexes[index], entry.key, entry.value, &mut self.row_key)?;
                    if self.read_row(run)? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn find_point(&mut self, key: &[u8], run: &mut Run<'_>) -> Result<bool, SqlError> {
        self.row_key.clear();
        match self.index {
            None => self.row_key.extend_from_slice(key),
            Some(index) => {
                let found = run.transaction.get(self.table.engine, self.read, key, &mut self.entry_value);
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
        if self.locks.is_some() {
            // It is read under the lock.
            return Ok(true);
        }
        self.read_row(run)
    }

    /// Reads the row of `row_key`.
    fn read_row(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        run.transaction.get(self.table.engine, self.read, &self.row_key, &mut self.stored).map_err(read_failed)
    }

    fn decode(&self, run: &mut Run<'_>, row: &mut [Value]) -> Result<(), SqlError> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        if let (true, Some(index)) = (self.covering, self.index) {
            let index = &self.table.indexes[index];
            return self.table.read_entry(index, &self.entry_key, &self.entry_value, self.wanted, row);
        }
        let damaged = |error| damaged(&self.table.def.name, &error);
        let reader = self.table.codec.open(&self.stored, &mut run.offsets).map_err(damaged)?;
        reader.read(self.wanted, row).map_err(damaged)
    }

    /// Locks the row that was found and reads it again; false if it is gone, does not match any more, or
    /// is skipped.
    fn lock_found(
        &mut self,
        locks: RowLocks,
        filter: Option<&Expr>,
        run: &mut Run<'_>,
        row: &mut [Value],
    ) -> Result<bool, SqlError> {
        // What clearly does not match is not locked; a point was not read yet.
        if !self.stored.is_empty() {
            self.decode(run, row)?;
            if !matches(filter, run, row)? {
                return Ok(false);
            }
        }
        let engine = self.table.engine;
        match locks.wait {
            RowWait::Wait => run.transaction.lock(engine, &self.row_key, locks.mode).map_err(lock_failed)?,
            RowWait::NoWait => {
                if !run.transaction.try_lock(engine, &self.row_key, locks.mode) {
                    return Err(SqlError::new(ER_LOCK_NOWAIT, &[]));
                }
            }
            RowWait::SkipLocked => {
                if !run.transaction.try_lock(engine, &self.row_key, locks.mode) {
                    return Ok(false);
                }
            }
        }
        run.check_transaction()?;
        if !self.read_row(run)? {
            return Ok(false);
        }
        self.decode(run, row)?;
        matches(filter, run, row)
    }
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
        loop {
            self.stored.clear();
            if !self.find(run)? {
                return Ok(false);
            }
            match self.locks {
                None => {
                    self.decode(run, row)?;
                    return Ok(true);
                }
                Some((locks, filter)) => {
                    if self.lock_found(locks, filter, run, row)? {
                        return Ok(true);
                    }
                }
            }
        }
    }
}
