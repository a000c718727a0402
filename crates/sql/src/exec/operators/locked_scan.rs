//! The rows of a stored table by an access path, each locked when it is given. For statements that lock: SELECT with a
//! locking clause, UPDATE, DELETE, reads at SERIALIZABLE, and the source of INSERT … SELECT.
//!
//! Invariants
//! 1. *Locked before it is judged.* A row is read, and the condition evaluated, under the row's lock; what the scan has
//!    read before is taken for it where nobody can have changed the row since ([`LockingScan::is_newest`]). The exception is
//!    InnoDB's: an UPDATE at READ COMMITTED that scans the rows themselves passes over a row that somebody has locked
//!    and whose newest ordered version does not match ([`Locking::semi_consistent`]).
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
//! ([`Node::Collect`](crate::plan::node::Node::Collect)), so that it does not meet its own.

use cohort_txn::{Granted, Isolation, LockMode, LockingScan, LockingScanError, Obstructed, Read};

use super::path::Path;
use super::{Found, Judge, Operator, Row, read_columns};
use crate::ast::RowWait;
use crate::error::{ER_LOCK_NOWAIT, SqlError};
use crate::exec::Run;
use crate::exec::failure::{lock_failed, read_failed};
use crate::plan::node::TableScan;
use crate::plan::query::Locking;
use crate::value::Value;

pub(super) struct LockedScan<'p> {
    plan: &'p TableScan,
    mode: LockMode,
    wait: RowWait,
    semi_consistent: bool,
    path: Path,
    judge: Judge<'p>,
    scan: Option<LockingScan>,
    /// The row that was read last.
    row: Found,
    /// The index entry that led to it.
    entry_key: Vec<u8>,
    /// The entry is that of a unique index: it stands for its row alone, and has a lock of its own.
    entry_unique: bool,
    /// Room to decode the columns of an index.
    indexed: Vec<Value>,
}

/// Locks that were taken for one row and may be given up again.
#[derive(Default)]
struct Taken {
    entry: Option<Granted>,
    row: Option<Granted>,
}

impl<'p> LockedScan<'p> {
    pub(super) fn open(
        plan: &'p TableScan,
        locking: Locking,
        run: &mut Run<'_>,
        row: &Row,
    ) -> Result<LockedScan<'p>, SqlError> {
        let path = Path::to_lock(&plan.table, &plan.access, &row.values, run)?;
        let read_committed = run.transaction.isolation() == Isolation::ReadCommitted;
        Ok(LockedScan {
            plan,
            mode: if locking.exclusive { LockMode::Exclusive } else { LockMode::Shared },
            wait: locking.wait,
            // As InnoDB: only where the rows themselves are scanned.
            semi_consistent: locking.semi_consistent && read_committed && path.index.is_none(),
            path,
            judge: Judge::of(plan.filter.as_ref()),
            scan: None,
            row: Found::default(),
            entry_key: Vec::new(),
            entry_unique: false,
            indexed: Vec::new(),
        })
    }

    /// Locks a key as the statement waits; `None` where it is skipped.
    fn lock(&self, key: &[u8], run: &mut Run<'_>) -> Result<Option<Granted>, SqlError> {
        let engine = self.plan.table.engine;
        let granted = match self.wait {
            RowWait::Wait => Some(run.transaction.lock(engine, key, self.mode).map_err(lock_failed)?),
            RowWait::NoWait | RowWait::SkipLocked => run.transaction.try_lock(engine, key, self.mode),
        };
        match granted {
            None if self.wait == RowWait::NoWait => Err(SqlError::new(ER_LOCK_NOWAIT, &[])),
            granted => {
                run.check_transaction()?;
                Ok(granted)
            }
        }
    }

    fn give_back(&self, taken: &Taken, run: &mut Run<'_>) {
        for (granted, key) in [(taken.row, &self.row.key), (taken.entry, &self.entry_key)] {
            if let Some(granted) = granted {
                run.transaction.give_back(self.plan.table.engine, key, granted);
            }
        }
    }

    /// The row of a unique key.
    fn point(&mut self, key: Vec<u8>, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let engine = self.plan.table.engine;
        let mut taken = Taken::default();
        match self.path.index {
            None => self.row.key = key,
            Some(index) => {
                self.entry_key = key;
                let Some(granted) = self.lock(&self.entry_key, run)? else { return Ok(false) };
                taken.entry = Some(granted);
                if !self.follow_entry(index, run)? {
                    run.transaction.lock_absent(engine, &self.entry_key);
                    self.give_back(&taken, run);
                    return Ok(false);
                }
            }
        }
        let Some(granted) = self.lock(&self.row.key, run)? else {
            self.give_back(&taken, run);
            return Ok(false);
        };
        taken.row = Some(granted);
        if !self.read_row(run)? {
            run.transaction.lock_absent(engine, &self.row.key);
            self.give_back(&taken, run);
            return Ok(false);
        }
        self.judge(&taken, run, row)
    }

    /// Reads the entry of a unique index, newest ordered version, and follows it to the key of its row; false if it is
    /// gone.
    fn follow_entry(&mut self, index: usize, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let found = run.transaction.get(self.plan.table.engine, Read::Current, &self.entry_key, &mut self.row.stored);
        if !found.map_err(read_failed)? {
            return Ok(false);
        }
        self.row.key.clear();
        let index = &self.plan.table.indexes[index];
        self.plan.table.row_key_of(index, &self.entry_key, &self.row.stored, &mut self.row.key)?;
        Ok(true)
    }

    /// Reads the row of `row_key`, newest ordered version.
    fn read_row(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let engine = self.plan.table.engine;
        run.transaction.get(engine, Read::Current, &self.row.key, &mut self.row.stored).map_err(read_failed)
    }

    /// Takes what the scan has read of the row for its newest ordered version, if it is.
    fn take_scanned(&mut self, granted: &Granted, run: &Run<'_>) -> Result<bool, SqlError> {
        let Some(scan) = self.scan.as_ref().filter(|_| self.path.index.is_none()) else { return Ok(false) };
        if !scan.is_newest(granted, run.transaction).map_err(read_failed)? {
            return Ok(false);
        }
        self.row.stored.clear();
        self.row.stored.extend_from_slice(scan.value());
        Ok(true)
    }

    /// Whether the row that was read under its lock matches. If not, READ COMMITTED gives its locks up.
    fn judge(&mut self, taken: &Taken, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let matched = self.is_match(run, row)?;
        if !matched && run.transaction.isolation() == Isolation::ReadCommitted {
            self.give_back(taken, run);
        }
        Ok(matched)
    }

    /// Decodes the row that was read, and says whether it matches.
    fn is_match(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let TableScan { table, first_slot, wanted, .. } = self.plan;
        read_columns(table, &self.row.stored, wanted, run, &mut row.values[*first_slot..])?;
        self.judge.matches(run, &row.values)
    }

    /// Walks to the next entry, into `entry_key` or `row_key`; false at the end of the last range.
    fn advance(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        loop {
            let open = match &mut self.scan {
                Some(open) => open,
                None => {
                    let Some(range) = self.path.ranges.next() else { return Ok(false) };
                    let obstructed = match self.wait {
                        RowWait::Wait if self.semi_consistent => Obstructed::PassOver,
                        RowWait::Wait => Obstructed::Wait,
                        RowWait::NoWait => Obstructed::Refuse,
                        RowWait::SkipLocked => Obstructed::PassOver,
                    };
                    let mode = self.mode;
                    self.scan.insert(LockingScan::new(
                        self.plan.table.engine,
                        range,
                        self.path.direction,
                        mode,
                        obstructed,
                    ))
                }
            };
            let Some(entry) = open.next(run.transaction).map_err(scan_failed)? else {
                self.scan = None;
                continue;
            };
            self.row.key.clear();
            self.entry_key.clear();
            match self.path.index {
                None => self.row.key.extend_from_slice(entry.key),
                Some(index) => {
                    self.entry_key.extend_from_slice(entry.key);
                    self.entry_unique = !entry.value.is_empty();
                    let index = &self.plan.table.indexes[index];
                    self.plan.table.row_key_of(index, entry.key, entry.value, &mut self.row.key)?;
                }
            }
            return Ok(true);
        }
    }

    /// Has what is left of the range read anew.
    fn look_again(&mut self) {
        if let Some(scan) = &mut self.scan {
            scan.look_again();
        }
    }

    /// Locks and judges the row that [`LockedScan::advance`] found.
    fn take(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let mut taken = Taken::default();
        if let Some(index) = self.path.index.filter(|_| self.entry_unique) {
            let Some(granted) = self.lock(&self.entry_key, run)? else { return Ok(false) };
            taken.entry = Some(granted);
            if granted.waited {
                self.look_again();
            }
            // It may lead to another row than it did when the scan came by.
            if !self.follow_entry(index, run)? {
                self.pass_gone(&taken, run);
                return Ok(false);
            }
        }
        if self.semi_consistent && self.passes_over(run, row)? {
            return Ok(false);
        }
        let Some(granted) = self.lock(&self.row.key, run)? else {
            self.give_back(&taken, run);
            return Ok(false);
        };
        taken.row = Some(granted);
        if granted.waited {
            self.look_again();
        }
        let there = self.take_scanned(&granted, run)? || self.read_row(run)?;
        if !there || !self.is_in_place(run)? {
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
        self.give_back(taken, run);
    }

    /// Whether somebody has locked the row and its newest ordered version does not match.
    fn passes_over(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if !run.transaction.would_wait(self.plan.table.engine, &self.row.key, self.mode) {
            return Ok(false);
        }
        if !self.read_row(run)? {
            return Ok(true);
        }
        Ok(!self.is_match(run, row)?)
    }

    /// Whether the row that was read has the index entry that led to it.
    fn is_in_place(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let Some(index) = self.path.index else { return Ok(true) };
        let index = &self.plan.table.indexes[index];
        self.indexed.resize(self.plan.table.def.columns.len(), Value::Null);
        read_columns(&self.plan.table, &self.row.stored, &index.columns, run, &mut self.indexed)?;
        let mut key = Vec::with_capacity(self.entry_key.len());
        self.plan.table.index_key(index, &self.indexed, &self.row.key, &mut key)?;
        Ok(key == self.entry_key)
    }

    /// Finds, locks and reads the next row that matches.
    fn find(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while let Some(key) = self.path.points.next() {
            run.step()?;
            if self.point(key, run, row)? {
                return Ok(true);
            }
        }
        while self.advance(run)? {
            run.step()?;
            if self.take(run, row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Operator for LockedScan<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let found = self.find(run, row)?;
        if found && self.plan.changed {
            // What is left here of the row before is written over.
            std::mem::swap(&mut row.found, &mut self.row);
        } else if let (true, Some(slot)) = (found, self.plan.identity) {
            row.values[slot] = Value::bytes(self.row.key.as_slice());
            row.values[slot + 1] = Value::bytes(self.row.stored.as_slice());
        }
        Ok(found)
    }

    fn as_planned(&self) -> bool {
        self.path.as_planned
    }
}

fn scan_failed(error: LockingScanError) -> SqlError {
    match error {
        LockingScanError::Read(error) => read_failed(error),
        LockingScanError::Lock(error) => lock_failed(error),
        LockingScanError::WouldWait => SqlError::new(ER_LOCK_NOWAIT, &[]),
    }
}
