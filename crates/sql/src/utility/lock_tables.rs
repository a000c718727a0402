//! LOCK TABLES and UNLOCK TABLES.
//!
//! The locks are the session's, not a transaction's. While there are any, its statements use the locked tables only, and
//! as they were locked.

use std::sync::Arc;

use cohort_txn::{MetadataMode, MetadataName, SessionLocks};

use crate::ast::{Ddl, TableLock, TableName};
use crate::catalog::store::database_or;
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::database::Database;
use crate::error::{
    ER_LOCK_OR_ACTIVE_TRANSACTION, ER_NONUNIQ_TABLE, ER_TABLE_NOT_LOCKED, ER_TABLE_NOT_LOCKED_FOR_WRITE, SqlError,
};
use crate::exec::failure::lock_failed;
use crate::session::SessionState;
use crate::session::locked_tables::LockedTable;

impl Database {
    /// LOCK TABLES: gives up what was locked before, and commits.
    pub(super) fn lock_tables(&self, tables: &[TableLock], session: &mut SessionState) -> Result<(), SqlError> {
        self.commit_open(session)?;
        give_up(session);
        let mut locks = session.locks.take().unwrap_or_else(|| self.store.session_locks());
        // The locks outlive statements: an earlier one may have been killed.
        let handle = locks.kill_handle();
        handle.reset();
        session.interrupt_ref().watch(Some(handle));
        let locked = self.take_all(tables, &mut locks, session);
        session.interrupt_ref().watch(None);
        if locked.is_err() {
            unlock(&mut locks, |_| true);
        }
        session.locks = Some(locks);
        session.locked_tables = locked?;
        Ok(())
    }

    fn take_all(
        &self,
        tables: &[TableLock],
        locks: &mut SessionLocks,
        session: &SessionState,
    ) -> Result<Vec<LockedTable>, SqlError> {
        loop {
            let mut found = self.found(tables, session)?;
            // In one order for all, so that those who lock several tables do not wait for each other in a circle.
            found.sort_by_key(|(table, lock)| (table.def.id, !lock.write));
            for (table, lock) in &found {
                let mode = if lock.write { MetadataMode::SharedNoReadWrite } else { MetadataMode::SharedReadOnly };
                let name = MetadataName::Table(table.def.id);
                locks.lock(&name, mode, session.table_lock_timeout, None).map_err(lock_failed)?;
            }
            if found.iter().all(|(table, _)| table.is_current()) {
                let locked = found.into_iter().map(|(table, lock)| LockedTable {
                    id: table.def.id,
                    name: table.def.name.clone(),
                    known_as: known_as(lock).to_owned(),
                    write: lock.write,
                });
                return Ok(locked.collect());
            }
            unlock(locks, |_| true);
        }
    }

    /// The tables of those names but for system tables, which nobody needs to lock.
    fn found<'l>(
        &self,
        tables: &'l [TableLock],
        session: &SessionState,
    ) -> Result<Vec<(Arc<Table>, &'l TableLock)>, SqlError> {
        let catalog = self.catalog.current();
        let mut found: Vec<(Arc<Table>, &TableLock)> = Vec::new();
        for lock in tables {
            let database = database_or(lock.name.database.as_deref(), session.database.as_deref())?;
            let table = catalog.table(database, &lock.name.table)?.clone();
            if system::is_one(&table) {
                if lock.write {
                    return Err(system::no_changes(database, &session.holder));
                }
                continue;
            }
            let same = |(other, known): &(Arc<Table>, &TableLock)| {
                known_as(known) == known_as(lock) && other.def.database == table.def.database
            };
            if found.iter().any(same) {
                return Err(SqlError::new(ER_NONUNIQ_TABLE, &[&known_as(lock)]));
            }
            found.push((table, lock));
        }
        Ok(found)
    }

    /// UNLOCK TABLES: commits, if any tables are locked.
    pub(crate) fn unlock_tables(&self, session: &mut SessionState) -> Result<(), SqlError> {
        if !session.locked_tables.is_empty() {
            self.commit_open(session)?;
            give_up(session);
        }
        Ok(())
    }

    /// The error of a schema change that does not go with the tables that are locked.
    pub(super) fn may_change(&self, change: &Ddl, session: &SessionState) -> Result<(), SqlError> {
        if session.locked_tables.is_empty() {
            return Ok(());
        }
        let is_locked = |name: &TableName, write: bool| {
            let database = database_or(name.database.as_deref(), session.database.as_deref())?;
            let catalog = self.catalog.current();
            let table = catalog.databases.get(database).and_then(|entry| entry.tables.get(&name.table));
            let locked = || session.locked_tables.iter().filter(|locked| Some(locked.id) == table.map(|at| at.def.id));
            match (locked().next(), locked().any(|locked| locked.write)) {
                (None, _) => Err(SqlError::new(ER_TABLE_NOT_LOCKED, &[&name.table])),
                (Some(_), false) if write => Err(SqlError::new(ER_TABLE_NOT_LOCKED_FOR_WRITE, &[&name.table])),
                (Some(_), _) => Ok(()),
            }
        };
        match change {
            Ddl::CreateDatabase { .. } | Ddl::DropDatabase { .. } => {
                Err(SqlError::new(ER_LOCK_OR_ACTIVE_TRANSACTION, &[]))
            }
            Ddl::CreateTable(table) => is_locked(&table.name, true),
            Ddl::CreateTableLike { name, like, .. } => is_locked(name, true).and_then(|()| is_locked(like, false)),
            Ddl::DropTables { names, .. } => names.iter().try_for_each(|name| is_locked(name, true)),
            Ddl::RenameTables(renamed) => {
                // A name may be that of an earlier table of the list.
                let made = |at: usize, name| renamed[..at].iter().any(|(_, to)| to == name);
                let mut from = renamed.iter().enumerate().filter(|(at, (from, _))| !made(*at, from));
                from.try_for_each(|(_, (from, _))| is_locked(from, true))
            }
            Ddl::Truncate(name) | Ddl::AlterTable { name, .. } => is_locked(name, true),
        }
    }

    /// After a schema change: tables that are gone are not locked any more, and those with other names under these.
    pub(super) fn follow_change(&self, session: &mut SessionState) {
        if session.locked_tables.is_empty() {
            return;
        }
        let catalog = self.catalog.current();
        let locks = &mut session.locks;
        session.locked_tables.retain_mut(|locked| {
            let Some(table) = catalog.tables().find(|table| table.def.id == locked.id) else {
                locks.iter_mut().for_each(|locks| unlock(locks, |id| id == locked.id));
                return false;
            };
            if locked.known_as == locked.name {
                locked.known_as.clone_from(&table.def.name);
            }
            locked.name.clone_from(&table.def.name);
            true
        });
    }
}

fn known_as(lock: &TableLock) -> &str {
    lock.alias.as_deref().unwrap_or(&lock.name.table)
}

/// Gives up what LOCK TABLES has locked.
fn give_up(session: &mut SessionState) {
    session.locked_tables.clear();
    session.locks.iter_mut().for_each(|locks| unlock(locks, |_| true));
}

/// Gives up the locks of the tables with these ids.
fn unlock(locks: &mut SessionLocks, is_meant: impl Fn(u64) -> bool) {
    for (name, mode) in locks.held().to_vec() {
        if matches!(name, MetadataName::Table(id) if is_meant(id)) {
            locks.unlock(&name, mode);
        }
    }
}
