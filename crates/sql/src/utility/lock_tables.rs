//! LOCK TABLES, FLUSH TABLES and UNLOCK TABLES.
//!
//! The locks are the session's, not a transaction's. While there are any of tables, its statements use the locked tables
//! only, and as they were locked.
//!
//! FLUSH TABLES WITH READ LOCK locks the server. First it waits for the statements that change something, and keeps new
//! ones waiting; then for commits, and keeps those waiting; last until what was committed is in the binlog and seen by
//! readers, so that the position that SHOW MASTER STATUS gives is that of the rows. There is no cache of tables to be
//! flushed, so that it does not wait for readers.

use std::sync::Arc;

use cohort_txn::{MetadataMode, MetadataName};

use crate::ast::{Ddl, FlushTables, TableLock, TableName};
use crate::catalog::store::database_or;
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::database::Database;
use crate::database::transactions::may_write;
use crate::error::{
    ER_LOCK_OR_ACTIVE_TRANSACTION, ER_NONUNIQ_TABLE, ER_TABLE_NOT_LOCKED, ER_TABLE_NOT_LOCKED_FOR_WRITE, SqlError,
};
use crate::exec::failure::{commit_failed, lock_failed};
use crate::privilege::INFORMATION_SCHEMA;
use crate::session::SessionState;
use crate::session::locked_tables::LockedTable;

impl Database {
    /// LOCK TABLES: gives up what was locked before, and commits.
    pub(super) fn lock_tables(&self, tables: &[TableLock], session: &mut SessionState) -> Result<(), SqlError> {
        self.commit_open(session)?;
        give_up(session);
        if session.locks.stage().is_some() {
            return session.may_change();
        }
        if session.locks.has_backup_table() {
            return Err(SqlError::new(ER_LOCK_OR_ACTIVE_TRANSACTION, &[]));
        }
        if tables.iter().any(|table| table.write) {
            may_write(session.read_only)?;
            session.may_change_server()?;
            session.may_change()?;
            session.intend(&[MetadataName::Global])?;
        }
        self.take_tables(tables, MetadataMode::SharedReadOnly, session)
    }

    /// FLUSH TABLES, in all its forms.
    pub(super) fn flush_tables(&self, flush: &FlushTables, session: &mut SessionState) -> Result<(), SqlError> {
        self.commit_open(session)?;
        if !flush.read_lock {
            return self.may_flush(&flush.tables, session);
        }
        if !session.locked_tables.is_empty() || session.locks.has_backup_table() {
            return Err(SqlError::new(ER_LOCK_OR_ACTIVE_TRANSACTION, &[]));
        }
        if session.locks.stage().is_some() {
            return session.may_change();
        }
        if flush.tables.is_empty() {
            return self.lock_server(session);
        }
        for name in &flush.tables {
            let database = database_or(name.database.as_deref(), session.database.as_deref())?;
            if database.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
                return Err(system::no_changes(database, &session.holder));
            }
        }
        let lock = |name: &TableName| TableLock { name: name.clone(), alias: None, write: false };
        let tables: Vec<TableLock> = flush.tables.iter().map(lock).collect();
        self.take_tables(&tables, MetadataMode::SharedNoWrite, session)
    }

    /// The error of a FLUSH TABLES of tables that are locked by LOCK TABLES otherwise than for writing. There is nothing to
    /// be flushed.
    fn may_flush(&self, tables: &[TableName], session: &SessionState) -> Result<(), SqlError> {
        for name in tables {
            let database = database_or(name.database.as_deref(), session.database.as_deref())?;
            if database.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
                return Err(system::no_changes(database, &session.holder));
            }
        }
        if session.locked_tables.is_empty() {
            return Ok(());
        }
        if tables.is_empty() {
            let read = session.locked_tables.iter().find(|locked| !locked.write);
            return read.map_or(Ok(()), |read| Err(SqlError::new(ER_TABLE_NOT_LOCKED_FOR_WRITE, &[&read.name])));
        }
        tables.iter().try_for_each(|name| self.is_locked(name, true, session))
    }

    /// Runs something while no statement changes anything and no commit is under way, of any session. 1192 for a session
    /// that has a transaction open or tables locked.
    pub fn while_nobody_changes(&self, session: &SessionState, run: impl FnOnce()) -> Result<(), SqlError> {
        if session.locks.hold_server() {
            run();
            return Ok(());
        }
        if !session.locked_tables.is_empty() || session.in_transaction() {
            return Err(SqlError::new(ER_LOCK_OR_ACTIVE_TRANSACTION, &[]));
        }
        self.lock_server(session)?;
        run();
        unlock_server(session);
        Ok(())
    }

    /// FLUSH TABLES WITH READ LOCK
    fn lock_server(&self, session: &SessionState) -> Result<(), SqlError> {
        let mode = MetadataMode::Shared;
        let lock = |name| session.lock_beside(&name, mode, session.table_lock_timeout, None).map_err(lock_failed);
        lock(MetadataName::Global)?;
        let settled =
            lock(MetadataName::Commit).and_then(|_| self.store.settle().map_err(|error| commit_failed(&error)));
        if settled.is_err() {
            unlock_server(session);
        }
        settled
    }

    fn take_tables(
        &self,
        tables: &[TableLock],
        read: MetadataMode,
        session: &mut SessionState,
    ) -> Result<(), SqlError> {
        let locked = self.take_all(tables, read, session);
        if locked.is_err() {
            give_up(session);
        }
        session.locked_tables = locked?;
        Ok(())
    }

    fn take_all(
        &self,
        tables: &[TableLock],
        read: MetadataMode,
        session: &SessionState,
    ) -> Result<Vec<LockedTable>, SqlError> {
        loop {
            let mut found = self.found(tables, session)?;
            // In one order for all, so that those who lock several tables do not wait for each other in a circle.
            found.sort_by_key(|(table, lock)| (table.def.id, !lock.write));
            for (table, lock) in &found {
                let mode = if lock.write { MetadataMode::SharedNoReadWrite } else { read };
                let name = MetadataName::Table(table.def.id);
                session.lock_beside(&name, mode, session.table_lock_timeout, None).map_err(lock_failed)?;
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
            session.locks.unlock_tables(|_| true);
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

    /// UNLOCK TABLES: the server's lock of FLUSH TABLES goes too.
    pub(super) fn unlock_all(&self, session: &mut SessionState) -> Result<(), SqlError> {
        self.unlock_tables(session)?;
        if session.locks.stage().is_none() {
            unlock_server(session);
        }
        Ok(())
    }

    /// Gives up what LOCK TABLES has locked; commits, if that is something.
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
        let is_locked = |name: &TableName, write: bool| self.is_locked(name, write, session);
        match change {
            Ddl::CreateDatabase { .. } | Ddl::AlterDatabase { .. } | Ddl::DropDatabase { .. } => {
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
            Ddl::Truncate(name) => is_locked(name, true),
            Ddl::AlterTable(alter) => is_locked(&alter.name, true),
        }
    }

    /// The error of a table that is not locked, or not so, 1099 or 1100.
    pub(super) fn is_locked(&self, name: &TableName, write: bool, session: &SessionState) -> Result<(), SqlError> {
        let database = database_or(name.database.as_deref(), session.database.as_deref())?;
        let catalog = self.catalog.current();
        let table = catalog.databases.get(database).and_then(|entry| entry.tables.get(&name.table));
        let locked = || session.locked_tables.iter().filter(|locked| Some(locked.id) == table.map(|at| at.def.id));
        match (locked().next(), locked().any(|locked| locked.write)) {
            (None, _) => Err(SqlError::new(ER_TABLE_NOT_LOCKED, &[&name.table])),
            (Some(_), false) if write => Err(SqlError::new(ER_TABLE_NOT_LOCKED_FOR_WRITE, &[&name.table])),
            (Some(_), _) => Ok(()),
        }
    }

    /// After a schema change: tables that are gone are not locked any more, and those with other names under these.
    pub(super) fn follow_change(&self, session: &mut SessionState) {
        if session.locked_tables.is_empty() {
            return;
        }
        let catalog = self.catalog.current();
        let locks = &session.locks;
        session.locked_tables.retain_mut(|locked| {
            let Some(table) = catalog.tables().find(|table| table.def.id == locked.id) else {
                locks.unlock_tables(|id| id == locked.id);
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
    session.locks.unlock_tables(|_| true);
    session.locks.unlock(&MetadataName::Global, MetadataMode::IntentionExclusive);
}

/// Gives up what FLUSH TABLES WITH READ LOCK has locked.
fn unlock_server(session: &SessionState) {
    session.locks.unlock(&MetadataName::Commit, MetadataMode::Shared);
    session.locks.unlock(&MetadataName::Global, MetadataMode::Shared);
}
