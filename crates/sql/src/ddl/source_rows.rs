//! The rows that an ALTER TABLE reads: as they are where nobody changes them, else those of a snapshot, with the keys that
//! others change afterwards.

use std::slice;
use std::sync::Arc;

use cohort_engine::{Direction, EngineId};
use cohort_txn::{
    CaptureOverflow, ChangeCapture, ChangedKey, Isolation, MetadataMode, MetadataName, Read, Scan, Transaction,
};

use super::DdlRun;
use crate::catalog::table::{Table, prefix_range};
use crate::error::{ER_INNODB_ONLINE_LOG_TOO_BIG, SqlError};
use crate::exec::failure::{commit_failed, read_failed};

/// The rows of a table that is altered.
pub(super) struct Rows {
    transaction: Transaction,
    read: Read,
    /// There is none where nobody changes them.
    capture: Option<ChangeCapture>,
}

impl Rows {
    /// Rows that nobody changes.
    pub(super) fn still(run: &DdlRun<'_>) -> Rows {
        Rows { transaction: run.session.begin(run.store), read: Read::Current, capture: None }
    }

    /// Rows as they are now, while others go on changing them. `guard` keeps the definition.
    pub(super) fn changing(run: &DdlRun<'_>, guard: &mut Transaction, table: &Arc<Table>) -> Result<Rows, SqlError> {
        // Whoever has changed a row so far has to end first: of what it does then the capture would not know all.
        run.lock_tables(guard, slice::from_ref(table), MetadataMode::SharedNoWrite)?;
        let capture = run.store.capture_changes(table.engine, prefix_range(&table.row_prefix()));
        run.store.settle().map_err(|error| commit_failed(&error))?;
        let transaction = snapshot(run, table.engine);
        guard.unlock_metadata(&MetadataName::Table(table.def.id), MetadataMode::SharedNoWrite);
        Ok(Rows { transaction, read: Read::Snapshot, capture: Some(capture) })
    }

    /// Walks the rows of `table`.
    pub(super) fn scan(&mut self, table: &Table) -> Result<Scan, SqlError> {
        let range = prefix_range(&table.row_prefix());
        self.transaction.scan(table.engine, self.read, &range, Direction::Forward).map_err(read_failed)
    }

    /// Puts the row of `key`, if there is one, into `stored`.
    pub(super) fn get(&mut self, engine: EngineId, key: &[u8], stored: &mut Vec<u8>) -> Result<bool, SqlError> {
        self.transaction.get(engine, self.read, key, stored).map_err(read_failed)
    }

    /// Takes the rows of the present: the keys that may have changed since the last time, and the rows as they are now. `None`
    /// where nobody changes them.
    pub(super) fn changed(
        &self,
        run: &DdlRun<'_>,
        engine: EngineId,
    ) -> Result<Option<(Vec<ChangedKey>, Rows)>, CaptureOverflow> {
        let Some(capture) = &self.capture else { return Ok(None) };
        let (keys, transaction) = capture.until(|| snapshot(run, engine))?;
        Ok(Some((keys, Rows { transaction, read: Read::Snapshot, capture: None })))
    }

    /// Goes on from `now`, up to which all changes were applied.
    pub(super) fn become_those_of(&mut self, now: Rows) {
        self.transaction = now.transaction;
    }

    /// Whether others may change them.
    pub(super) fn are_captured(&self) -> bool {
        self.capture.is_some()
    }

    /// Whether others have changed more than is kept.
    pub(super) fn has_overflowed(&self) -> bool {
        self.capture.as_ref().is_some_and(ChangeCapture::has_overflowed)
    }
}

fn snapshot(run: &DdlRun<'_>, engine: EngineId) -> Transaction {
    let mut transaction = run.session.begin(run.store);
    transaction.set_isolation(Isolation::RepeatableRead);
    let there = transaction.pin_view(engine);
    debug_assert!(there, "a new snapshot has every engine");
    // Of the other engines nothing is kept.
    transaction.stay_open();
    transaction
}

/// Error 1799 of a change of `table`.
pub(super) fn too_much(table: &Table, built: &[usize]) -> SqlError {
    let index = built.first().map_or("PRIMARY", |index| &table.def.indexes[*index].name);
    SqlError::new(ER_INNODB_ONLINE_LOG_TOO_BIG, &[&index])
}
