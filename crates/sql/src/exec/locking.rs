//! The access path of statements that lock: SELECT with a locking clause, UPDATE, DELETE, reads at SERIALIZABLE, and
//! the source of INSERT … SELECT.
//!
//! Invariants
//! 1. *Locked before it is judged.* A row is read, and the condition evaluated, under the row's lock. The exception is
//!    InnoDB's: an UPDATE at READ COMMITTED that scans the rows themselves passes over a row that somebody has locked
//!    and whose newest ordered version does not match ([`RowLocks::semi_consistent`]).
//! 2. *Looked at again after a wait.* What was read before a lock was granted is read once more under it: the row, that
//!    the index still leads to it from there, and, after a wait, the rest of the range.
//! 3. *Each row at most once.* A row is given for the index entry that its locked version has, and for no other.
//! 4. *Unlocked where that is harmless.* A lock that was taken for a row which is gone, has another place in the
//!    index, or at READ COMMITTED does not match, is given up; at REPEATABLE READ every row that was scanned stays
//!    locked.
//! 5. *No phantoms.* From REPEATABLE READ on, the ranges that were scanned are locked against inserts as far as the scan
//!    has come, and the key of a point that has no row; a point that has one locks nothing else.
//!
//! Locks are taken in this order: the entry of a unique index, then its row. A change of a row takes them the other way
//! round, as in InnoDB; one of two that meet is then the victim of a deadlock.
//!
//! Not here: changes. A statement that moves rows within the index it scans finds them all first
//! ([`super::update`]), so that it does not meet its own.

use cohort_engine::{Direction, KeyRange};
use cohort_txn::{Granted, Isolation, LockMode, LockingScan, LockingScanError, Obstructed, Read};

use super::Run;
use super::failure::{lock_failed, read_failed};
use super::source::{Path, RowSource, matches, read_columns};
use crate::ast::RowWait;
use crate::catalog::table::Table;
use crate::error::{ER_LOCK_NOWAIT, SqlError};
use crate::expr::Expr;
use crate::plan::access::Access;
use crate::value::Value;

/// How rows are locked as they are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowLocks {
    pub(super) mode: LockMode,
    pub(super) wait: RowWait,
    /// At READ COMMITTED, rows that are locked and do not match are not waited for.
    pub(super) semi_consistent: bool,
}

/// The matching rows of one table by an access path, each locked when it is given.
pub(super) struct LockedRows<'p> {
    table: &'p Table,
    wanted: &'p [usize],
    filter: Option<&'p Expr>,
    locks: RowLocks,
    /// The secondary index that is walked; `None` for the rows themselves.
    index: Option<usize>,
    direction: Direction,
    /// The keys to look at that are left.
    points: std::vec::IntoIter<Vec<u8>>,
    /// The ranges to walk after the one of `scan`.
    ranges: std::vec::IntoIter<KeyRange>,
    scan: Option<LockingScan>,
    /// Whether the path could be used as planned, its order included.
    pub(super) as_planned: bool,
    /// The key of the row that was given last.
    pub(super) row_key: Vec<u8>,
    /// Its stored form.
    pub(super) stored: Vec<u8>,
    /// The index entry that led to it.
    entry_key: Vec<u8>,
    /// The entry is that of a unique index: it stands for its row alone, and has a lock of its own.
    entry_unique: bool,
    /// Room to decode the columns of an index.
    indexed: Vec<Value>,
    seen: u32,
}

/// Locks that were taken for one row and may be given up again.
#[derive(Default)]
struct Taken {
    entry: bool,
    row: bool,
}

impl<'p> LockedRows<'p> {
    /// Opens the path; rows must match `filter`.
    pub(super) fn open(
        table: &'p Table,
        access: &Access,
        wanted: &'p [usize],
        filter: Option<&'p Expr>,
        locks: RowLocks,
        run: &Run<'_>,
    ) -> Result<LockedRows<'p>, SqlError> {
        let path = Path::of(table, access, run)?;
        // As InnoDB: only where the rows themselves are scanned.
        let semi_consistent = locks.semi_consistent && path.index.is_none();
        Ok(LockedRows {
            table,
            wanted,
            filter,
            locks: RowLocks { semi_consistent, ..locks },
            index: path.index,
            direction: path.direction,
            points: path.points,
            ranges: path.ranges,
            scan: None,
            as_planned: path.as_planned,
            row_key: Vec::new(),
            stored: Vec::new(),
            entry_key: Vec::new(),
            entry_unique: false,
            indexed: Vec::new(),
            seen: 0,
        })
    }

    /// The secondary index that is walked; `None` for the rows themselves.
    pub(super) fn index(&self) -> Option<usize> {
        self.index
    }

    /// Locks a key as the statement waits; `None` where it is skipped.
    fn lock(&self, key: &[u8], run: &mut Run<'_>) -> Result<Option<Granted>, SqlError> {
        let engine = self.table.engine;
        let granted = match self.locks.wait {
            RowWait::Wait => Some(run.transaction.lock(engine, key, self.locks.mode).map_err(lock_failed)?),
            RowWait::NoWait | RowWait::SkipLocked => run.transaction.try_lock(engine, key, self.locks.mode),
        };
        match granted {
            None if self.locks.wait == RowWait::NoWait => Err(SqlError::new(ER_LOCK_NOWAIT, &[])),
            granted => {
                run.check_transaction()?;
                Ok(granted)
            }
        }
    }

    fn unlock(&self, taken: &Taken, run: &mut Run<'_>) {
        if taken.row {
            run.transaction.unlock(self.table.engine, &self.row_key);
        }
        if taken.entry {
            run.transaction.unlock(self.table.engine, &self.entry_key);
        }
    }

    /// The row of a unique key.
    fn point(&mut self, key: Vec<u8>, run: &mut Run<'_>, row: &mut [Value]) -> Result<bool, SqlError> {
        let engine = self.table.engine;
        let mut taken = Taken::default();
        match self.index {
            None => self.row_key = key,
            Some(index) => {
                self.entry_key = key;
                let Some(granted) = self.lock(&self.entry_key, run)? else { return Ok(false) };
                taken.entry = granted.new;
                if !self.follow_entry(index, run)? {
                    run.transaction.lock_absent(engine, &self.entry_key);
                    self.unlock(&taken, run);
                    return Ok(false);
                }
            }
        }
        let Some(granted) = self.lock(&self.row_key, run)? else {
            self.unlock(&taken, run);
            return Ok(false);
        };
        taken.row = granted.new;
        if !self.read_row(run)? {
            run.transaction.lock_absent(engine, &self.row_key);
            self.unlock(&taken, run);
            return Ok(false);
        }
        self.judge(&taken, run, row)
    }

    /// Reads the entry of a unique index, newest ordered version, and follows it to the key of its row; false if it is
    /// gone.
    fn follow_entry(&mut self, index: usize, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let found = run.transaction.get(self.table.engine, Read::Current, &self.entry_key, &mut self.stored);
        if !found.map_err(read_failed)? {
            return Ok(false);
        }
        self.row_key.clear();
        let index = &self.table.indexes[index];
        self.table.row_key_of(index, &self.entry_key, &self.stored, &mut self.row_key)?;
        Ok(true)
    }

    /// Reads the row of `row_key`, newest ordered version.
    fn read_row(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let engine = self.table.engine;
        run.transaction.get(engine, Read::Current, &self.row_key, &mut self.stored).map_err(read_failed)
    }

    /// Whether the row that was read under its lock matches. If not, READ COMMITTED gives its locks up.
    fn judge(&self, taken: &Taken, run: &mut Run<'_>, row: &mut [Value]) -> Result<bool, SqlError> {
        read_columns(self.table, &self.stored, self.wanted, run, row)?;
        let matched = matches(self.filter, run, row)?;
        if !matched && run.transaction.isolation() == Isolation::ReadCommitted {
            self.unlock(taken, run);
        }
        Ok(matched)
    }

    /// Walks to the next entry, into `entry_key` or `row_key`; false at the end of the last range.
    fn advance(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        loop {
            let open = match &mut self.scan {
                Some(open) => open,
                None => {
                    let Some(range) = self.ranges.next() else { return Ok(false) };
                    let obstructed = match self.locks.wait {
                        RowWait::Wait if self.locks.semi_consistent => Obstructed::PassOver,
                        RowWait::Wait => Obstructed::Wait,
                        RowWait::NoWait => Obstructed::Refuse,
                        RowWait::SkipLocked => Obstructed::PassOver,
                    };
                    let mode = self.locks.mode;
                    self.scan.insert(LockingScan::new(self.table.engine, range, self.direction, mode, obstructed))
                }
            };
            let Some(entry) = open.next(run.transaction).map_err(scan_failed)? else {
                self.scan = None;
                continue;
            };
            self.row_key.clear();
            self.entry_key.clear();
            match self.index {
                None => self.row_key.extend_from_slice(entry.key),
                Some(index) => {
                    self.entry_key.extend_from_slice(entry.key);
                    self.entry_unique = !entry.value.is_empty();
                    let index = &self.table.indexes[index];
                    self.table.row_key_of(index, entry.key, entry.value, &mut self.row_key)?;
                }
            }
            return Ok(true);
        }
    }

    /// Counts a row, and looks now and then whether the statement was killed.
    fn count(&mut self, run: &Run<'_>) -> Result<(), SqlError> {
        self.seen = self.seen.wrapping_add(1);
        if self.seen.is_multiple_of(256) { run.check_killed() } else { Ok(()) }
    }

    /// Has what is left of the range read anew.
    fn look_again(&mut self) {
        if let Some(scan) = &mut self.scan {
            scan.look_again();
        }
    }

    /// Locks and judges the row that [`LockedRows::advance`] found.
    fn take(&mut self, run: &mut Run<'_>, row: &mut [Value]) -> Result<bool, SqlError> {
        let mut taken = Taken::default();
        if let Some(index) = self.index.filter(|_| self.entry_unique) {
            let Some(granted) = self.lock(&self.entry_key, run)? else { return Ok(false) };
            taken.entry = granted.new;
            if granted.waited {
                self.look_again();
            }
            // It may lead to another row than it did when the scan came by.
            if !self.follow_entry(index, run)? {
                self.pass_gone(&taken, run);
                return Ok(false);
            }
        }
        if self.locks.semi_consistent && self.passes_over(run, row)? {
            return Ok(false);
        }
        let Some(granted) = self.lock(&self.row_key, run)? else {
            self.unlock(&taken, run);
            return Ok(false);
        };
        taken.row = granted.new;
        if granted.waited {
            self.look_again();
        }
        if !self.read_row(run)? || !self.is_in_place(run)? {
            self.pass_gone(&taken, run);
            return Ok(false);
        }
        self.judge(&taken, run, row)
    }

    /// Gives up the locks of an entry that is not there any more; its key becomes part of the range.
    fn pass_gone(&mut self, taken: &Taken, run: &mut Run<'_>) {
        if let Some(scan) = &mut self.scan {
            scan.cover(run.transaction);
        }
        self.unlock(taken, run);
    }

    /// Whether somebody has locked the row and its newest ordered version does not match.
    fn passes_over(&mut self, run: &mut Run<'_>, row: &mut [Value]) -> Result<bool, SqlError> {
        if !run.transaction.would_wait(self.table.engine, &self.row_key, self.locks.mode) {
            return Ok(false);
        }
        if !self.read_row(run)? {
            return Ok(true);
        }
        read_columns(self.table, &self.stored, self.wanted, run, row)?;
        Ok(!matches(self.filter, run, row)?)
    }

    /// Whether the row that was read has the index entry that led to it.
    fn is_in_place(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let Some(index) = self.index else { return Ok(true) };
        let index = &self.table.indexes[index];
        self.indexed.resize(self.table.def.columns.len(), Value::Null);
        read_columns(self.table, &self.stored, &index.columns, run, &mut self.indexed)?;
        let mut key = Vec::with_capacity(self.entry_key.len());
        self.table.index_key(index, &self.indexed, &self.row_key, &mut key)?;
        Ok(key == self.entry_key)
    }
}

impl RowSource for LockedRows<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut [Value]) -> Result<bool, SqlError> {
        while let Some(key) = self.points.next() {
            self.count(run)?;
            if self.point(key, run, row)? {
                return Ok(true);
            }
        }
        while self.advance(run)? {
            self.count(run)?;
            if self.take(run, row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn scan_failed(error: LockingScanError) -> SqlError {
    match error {
        LockingScanError::Read(error) => read_failed(error),
        LockingScanError::Lock(error) => lock_failed(error),
        LockingScanError::WouldWait => SqlError::new(ER_LOCK_NOWAIT, &[]),
    }
}
