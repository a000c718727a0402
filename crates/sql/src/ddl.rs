//! Runs the statements that change the schema.
//!
//! Outline: each statement is one transaction of catalog keys and a QUERY event, committed like any
//! other, so that a crash leaves all of it or nothing. [`definition`] makes a table's definition from its
//! syntax. ALTER TABLE: [`alter_plan`] makes the new definition and says what it takes, [`alter`] does it; [`index_build`]
//! fills a new index, [`row_copy`] writes rows anew.
//!
//! Order: the session's open transaction was committed before; an exclusive table lock keeps others out;
//! new indexes and copies of rows are written under ids that nothing refers to, while other tables may change; the change commits and is published while the
//! table is still locked; what is no longer named is erased last.
//!
//! On crash: before the commit, ids that were filled are unnamed and erased at the next start; after it,
//! what should have been erased is unnamed too.

mod alter;
mod alter_cost;
mod alter_plan;
mod create_rows;
mod definition;
mod index_build;
mod online;
mod rename;
mod row_copy;
mod sorted_entries;
mod source_rows;

use std::sync::Arc;

pub(crate) use create_rows::NewTable;
pub(crate) use definition::{MAX_COLUMNS, check_column_name};

use cohort_binlog::QueryContext;
use cohort_engine::EngineId;
use cohort_txn::{MetadataMode, MetadataName, Store, Transaction};

use crate::ast::{AlterAction, Ddl, TableName};
use crate::catalog::definition::TableDef;
use crate::catalog::store::{Catalog, CatalogStore, Change, DatabaseEntry, database_or};
use crate::catalog::system;
use crate::catalog::table::{Counters, Table};
use crate::collation::Collation;
use crate::error::{
    ER_BAD_TABLE_ERROR, ER_DB_CREATE_EXISTS, ER_DB_DROP_EXISTS, ER_NONUNIQ_TABLE, ER_TABLE_EXISTS_ERROR,
    ER_TOO_LONG_IDENT, ER_WRONG_DB_NAME, ER_WRONG_TABLE_NAME, SqlError,
};
use crate::exec::failure::lock_failed;
use crate::session::{DiagnosticLevel, Environment, SessionState};

/// Most characters of a name.
const MAX_NAME_CHARS: usize = 64;

/// What a schema change works with.
pub(crate) struct DdlRun<'a> {
    pub(crate) store: &'a Arc<Store>,
    pub(crate) catalog: &'a CatalogStore,
    pub(crate) session: &'a SessionState,
    pub(crate) env: &'a dyn Environment,
    pub(crate) query_context: &'a QueryContext,
    /// The statement as the client sent it.
    pub(crate) sql: &'a str,
    /// When it started, microseconds since 1970: replicas come to the same defaults by this time.
    pub(crate) now_us: i64,
}

/// Makes `sql`, which started at `now_us`, the event of a transaction that changes no table's rows, if the session logs.
pub(crate) fn log_query(
    transaction: &mut Transaction,
    session: &SessionState,
    context: &QueryContext,
    database: &str,
    sql: &str,
    now_us: i64,
) {
    transaction.set_binlog(session.log_to_binlog);
    if transaction.is_logged() {
        let events = transaction.events();
        events.set_timestamp(u32::try_from(now_us / 1_000_000).unwrap_or(u32::MAX));
        let charset = session.client.charset();
        match charset.first_outside(sql) {
            None => {
                events.set_context(context, database);
                events.query(database, charset.encode(sql));
            }
            // It names what others have created.
            Some(_) => {
                let client_charset = Collation::DEFAULT.id();
                events.set_context(&QueryContext { client_charset, ..context.clone() }, database);
                events.query(database, sql);
            }
        }
    }
}

/// What a schema change says to its client.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Objects that it removed, or rows that it copied.
    pub(crate) affected: u64,
    /// The insert id, of a table that is made with rows.
    pub(crate) last_insert_id: u64,
    /// `Records: 2  Duplicates: 0  Warnings: 0`, or nothing.
    pub(crate) info: String,
}

/// Runs a schema change.
pub(crate) fn run(ddl: &Ddl, run: &DdlRun<'_>) -> Result<Changed, SqlError> {
    run.refuse_system(ddl)?;
    let affected = match ddl {
        Ddl::CreateDatabase { name, if_not_exists, collation } => run.create_database(name, *if_not_exists, *collation),
        Ddl::AlterDatabase { name, collation } => run.alter_database(name.as_deref(), *collation),
        Ddl::DropDatabase { name, if_exists } => run.drop_database(name, *if_exists),
        Ddl::CreateTable(table) => run.create_table(&table.name, table.if_not_exists, |run, name, database| {
            definition::table(table, &[], name, database, run)
        }),
        Ddl::CreateTableLike { name, like, if_not_exists } => {
            if run.resolve(name)? == run.resolve(like)? {
                return Err(SqlError::new(ER_NONUNIQ_TABLE, &[&name.table]));
            }
            // Until the statement has its place in the binlog.
            let (_guard, model) = run.locked_table(like, MetadataMode::SharedRead)?;
            run.create_table(name, *if_not_exists, |run, name, _| {
                let mut def = fresh_ids(&model.def, run.catalog);
                def.id = run.catalog.take_table_id();
                def.database = run.database_of(name)?.to_owned();
                def.name.clone_from(&name.table);
                Ok((def, 1))
            })
        }
        Ddl::DropTables { names, if_exists } => run.drop_tables(names, *if_exists),
        Ddl::RenameTables(renamed) => run.rename_tables(renamed),
        Ddl::Truncate(name) => run.truncate(name),
        Ddl::AlterTable(alter) => return run.alter(alter),
    }?;
    Ok(Changed { affected, ..Changed::default() })
}

/// The definition with ids of its own for all that is stored.
fn fresh_ids(model: &TableDef, catalog: &CatalogStore) -> TableDef {
    let mut def = model.clone();
    def.forget_earlier_rows();
    let row_index = def.row_index_id;
    for index in &mut def.indexes {
        let primary = index.index_id == row_index;
        index.index_id = catalog.take_index_id();
        if primary {
            def.row_index_id = index.index_id;
        }
    }
    if def.row_index_id == row_index {
        def.row_index_id = catalog.take_index_id();
    }
    def
}

fn check_name(name: &str, wrong: crate::error::ErrorCode) -> Result<(), SqlError> {
    if name.is_empty() || name.ends_with(' ') || name.contains(['\0', '/', '\\']) {
        return Err(SqlError::new(wrong, &[&name]));
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(SqlError::new(ER_TOO_LONG_IDENT, &[&name]));
    }
    Ok(())
}

impl DdlRun<'_> {
    fn database_of<'n>(&'n self, name: &'n TableName) -> Result<&'n str, SqlError> {
        database_or(name.database.as_deref(), self.session.database.as_deref())
    }

    fn resolve(&self, name: &TableName) -> Result<(String, String), SqlError> {
        Ok((self.database_of(name)?.to_owned(), name.table.clone()))
    }

    /// The error of a change in a database of the server's own.
    fn refuse_system(&self, ddl: &Ddl) -> Result<(), SqlError> {
        let tables = match ddl {
            // There it is already.
            Ddl::CreateDatabase { .. } => return Ok(()),
            Ddl::AlterDatabase { name, .. } => {
                let name = database_or(name.as_deref(), self.session.database.as_deref())?;
                return self.refuse_system_database(name);
            }
            Ddl::DropDatabase { name, .. } => return self.refuse_system_database(name),
            Ddl::DropTables { names, .. } => names.as_slice(),
            Ddl::CreateTable(table) => std::slice::from_ref(&table.name),
            Ddl::RenameTables(renamed) => {
                let mut names = renamed.iter().flat_map(|(from, to)| [from, to]);
                return names.try_for_each(|name| self.refuse_system_database(self.database_of(name)?));
            }
            Ddl::CreateTableLike { name, .. } | Ddl::Truncate(name) => std::slice::from_ref(name),
            Ddl::AlterTable(alter) => {
                let renamed = alter.actions.iter().filter_map(|action| match action {
                    AlterAction::RenameTo(to) => Some(to),
                    _ => None,
                });
                let mut names = renamed.chain([&alter.name]);
                return names.try_for_each(|name| self.refuse_system_database(self.database_of(name)?));
            }
        };
        tables.iter().try_for_each(|name| self.refuse_system_database(self.database_of(name)?))
    }

    fn refuse_system_database(&self, name: &str) -> Result<(), SqlError> {
        match system::database(name) {
            Some(_) if !self.catalog.current().is_stored(name) => Err(system::no_changes(name, &self.session.holder)),
            _ => Ok(()),
        }
    }

    fn note(&self, error: SqlError) {
        self.session.push_diagnostic(DiagnosticLevel::Note, error);
    }

    /// A transaction that holds the right to change a table, or to drop it.
    fn exclusive(&self, tables: &[Arc<Table>]) -> Result<Transaction, SqlError> {
        let mut guard = self.session.begin(self.store);
        self.lock_exclusively(&mut guard, tables)?;
        Ok(guard)
    }

    fn lock_exclusively(&self, guard: &mut Transaction, tables: &[Arc<Table>]) -> Result<(), SqlError> {
        self.lock_tables(guard, tables, MetadataMode::Exclusive)
    }

    fn lock_tables(&self, guard: &mut Transaction, tables: &[Arc<Table>], mode: MetadataMode) -> Result<(), SqlError> {
        self.session.interrupt_ref().watch(Some(guard.kill_handle()));
        let mut ids: Vec<u64> = tables.iter().map(|table| table.def.id).collect();
        // In one order for all, so that schema changes do not wait for each other in a circle.
        ids.sort_unstable();
        for id in ids {
            let (name, timeout) = (MetadataName::Table(id), self.session.table_lock_timeout);
            guard.lock_metadata(&name, mode, timeout).map_err(lock_failed)?;
        }
        Ok(())
    }

    /// Locks the definition of the table `name`.
    fn locked_table(&self, name: &TableName, mode: MetadataMode) -> Result<(Transaction, Arc<Table>), SqlError> {
        let (database, table_name) = self.resolve(name)?;
        loop {
            let table = self.catalog.current().table(&database, &table_name)?.clone();
            let mut guard = self.session.begin(self.store);
            self.lock_tables(&mut guard, std::slice::from_ref(&table), mode)?;
            // It may have changed until the lock was there.
            let now = self.catalog.current().table(&database, &table_name)?.clone();
            if Arc::ptr_eq(&table, &now) {
                return Ok((guard, table));
            }
        }
    }

    /// Commits the catalog's change together with the statement's event.
    fn commit(&self, transaction: Transaction, database: &str) -> Result<(), SqlError> {
        self.commit_in(self.query_context, transaction, database)
    }

    /// The same, with what the event says of the session.
    fn commit_in(&self, context: &QueryContext, mut transaction: Transaction, database: &str) -> Result<(), SqlError> {
        log_query(&mut transaction, self.session, context, database, self.sql, self.now_us);
        self.session.commit(self.store, transaction)
    }

    /// The default database as the event names it.
    fn event_database(&self) -> &str {
        self.session.database.as_deref().unwrap_or("")
    }

    fn erase(&self, table: &Table) {
        for range in table.key_ranges() {
            // The next start erases what is left: nothing names it any more.
            let _ = self.store.erase(table.engine, &range);
        }
    }

    fn create_database(&self, name: &str, if_not_exists: bool, collation: Option<Collation>) -> Result<u64, SqlError> {
        check_name(name, ER_WRONG_DB_NAME)?;
        let change = self.catalog.change(self.session)?;
        if self.catalog.current().database(name).is_ok() {
            let error = SqlError::new(ER_DB_CREATE_EXISTS, &[&name]);
            if !if_not_exists {
                return Err(error);
            }
            self.note(error);
            return Ok(1);
        }
        let collation = collation.unwrap_or(self.session.server_collation);
        let mut transaction = self.session.begin(self.store);
        change.put_database(&mut transaction, name, collation)?;
        self.commit(transaction, "")?;
        change.publish(&[], |databases| databases.insert_mut(name.to_owned(), DatabaseEntry::new(collation)));
        Ok(1)
    }

    fn alter_database(&self, name: Option<&str>, collation: Option<Collation>) -> Result<u64, SqlError> {
        let name = database_or(name, self.session.database.as_deref())?;
        let change = self.catalog.change(self.session)?;
        let collation = collation.unwrap_or(self.catalog.current().database(name)?.collation);
        let mut transaction = self.session.begin(self.store);
        change.put_database(&mut transaction, name, collation)?;
        // The statement may leave the name to the default database.
        self.commit(transaction, name)?;
        change.publish(&[], |databases| {
            if let Some(entry) = databases.get_mut(name) {
                entry.collation = collation;
            }
        });
        Ok(1)
    }

    fn drop_database(&self, name: &str, if_exists: bool) -> Result<u64, SqlError> {
        loop {
            let current = self.catalog.current();
            let Some(entry) = current.databases.get(name) else {
                let error = SqlError::new(ER_DB_DROP_EXISTS, &[&name]);
                if !if_exists {
                    return Err(error);
                }
                self.note(error);
                return Ok(0);
            };
            let tables: Vec<Arc<Table>> = entry.tables.values().cloned().collect();
            drop(current);
            let guard = self.exclusive(&tables)?;
            let change = self.catalog.change(self.session)?;
            let now = self.catalog.current();
            let same =
                |entry: &DatabaseEntry| entry.tables.values().map(Arc::as_ptr).eq(tables.iter().map(Arc::as_ptr));
            if !now.databases.get(name).is_some_and(same) {
                continue;
            }
            let mut transaction = self.session.begin(self.store);
            for table in &tables {
                change.delete_table(&mut transaction, table.def.id);
            }
            change.delete_database(&mut transaction, name);
            self.commit(transaction, "")?;
            change.publish(&tables, |databases| {
                databases.remove_mut(name);
            });
            drop((change, guard));
            tables.iter().for_each(|table| self.erase(table));
            return Ok(tables.len() as u64);
        }
    }

    /// Creates the table that `make` defines, with its first AUTO_INCREMENT value.
    fn create_table(
        &self,
        name: &TableName,
        if_not_exists: bool,
        make: impl FnOnce(&Self, &TableName, &DatabaseEntry) -> Result<(TableDef, u64), SqlError>,
    ) -> Result<u64, SqlError> {
        let change = self.catalog.change(self.session)?;
        let current = self.catalog.current();
        let Some(entry) = self.place_of(name, if_not_exists, &current)? else { return Ok(0) };
        let (def, floor) = make(self, name, entry)?;
        let engine = self.catalog.engine(&def.engine)?;
        let mut transaction = self.session.begin(self.store);
        change.put_table(&mut transaction, &def)?;
        if floor > 1 {
            change.put_floor(&mut transaction, def.id, floor);
        }
        self.commit(transaction, self.event_database())?;
        self.publish_table(&change, None, def, engine, Arc::new(Counters::of_new_table(floor)));
        Ok(0)
    }

    /// The database that a table is to be created in; `None`, with a note, if it is there and may be. 1046, 1049, 1050,
    /// 1103.
    fn place_of<'c>(
        &self,
        name: &TableName,
        if_not_exists: bool,
        catalog: &'c Catalog,
    ) -> Result<Option<&'c DatabaseEntry>, SqlError> {
        check_name(&name.table, ER_WRONG_TABLE_NAME)?;
        let entry = catalog.database(self.database_of(name)?)?;
        if !entry.tables.contains_key(&name.table) {
            return Ok(Some(entry));
        }
        let error = SqlError::new(ER_TABLE_EXISTS_ERROR, &[&name.table]);
        if !if_not_exists {
            return Err(error);
        }
        self.note(error);
        Ok(None)
    }

    /// Shows a table to everybody, in the place of `former`.
    fn publish_table(
        &self,
        change: &Change<'_>,
        former: Option<&Arc<Table>>,
        def: TableDef,
        engine: EngineId,
        counters: Arc<Counters>,
    ) {
        let table = Arc::new(Table::new(def, engine, counters, self.store.published().order));
        change.publish(former.map_or(&[], std::slice::from_ref), |databases| {
            if let Some(entry) = databases.get_mut(&table.def.database) {
                entry.tables.insert_mut(table.def.name.clone(), table);
            }
        });
    }

    fn drop_tables(&self, names: &[TableName], if_exists: bool) -> Result<u64, SqlError> {
        loop {
            let current = self.catalog.current();
            let mut tables: Vec<Arc<Table>> = Vec::new();
            let mut missing = Vec::new();
            for name in names {
                let database = self.database_of(name)?;
                match current.databases.get(database).and_then(|entry| entry.tables.get(&name.table)) {
                    Some(table) => tables.push(table.clone()),
                    None => missing.push(format!("{database}.{}", name.table)),
                }
            }
            drop(current);
            if !missing.is_empty() {
                let error = SqlError::new(ER_BAD_TABLE_ERROR, &[&missing.join(",")]);
                if !if_exists {
                    return Err(error);
                }
                self.note(error);
            }
            if tables.is_empty() {
                return Ok(0);
            }
            let guard = self.exclusive(&tables)?;
            let change = self.catalog.change(self.session)?;
            if !tables.iter().all(|table| table.is_current()) {
                // Another change came first: its notes are given again.
                self.session.forget_diagnostics();
                continue;
            }
            let mut transaction = self.session.begin(self.store);
            for table in &tables {
                change.delete_table(&mut transaction, table.def.id);
            }
            self.commit(transaction, self.event_database())?;
            change.publish(&tables, |databases| {
                for table in &tables {
                    if let Some(entry) = databases.get_mut(&table.def.database) {
                        entry.tables.remove_mut(&table.def.name);
                    }
                }
            });
            drop((change, guard));
            tables.iter().for_each(|table| self.erase(table));
            return Ok(0);
        }
    }

    fn truncate(&self, name: &TableName) -> Result<u64, SqlError> {
        let (guard, table) = self.locked_table(name, MetadataMode::Exclusive)?;
        let change = self.catalog.change(self.session)?;
        let def = fresh_ids(&table.def, self.catalog);
        let mut transaction = self.session.begin(self.store);
        change.put_table(&mut transaction, &def)?;
        change.put_floor(&mut transaction, def.id, 1);
        self.commit(transaction, self.event_database())?;
        let counters = Counters::starting_at(1, Arc::new(table.counters.statistics.emptied()));
        self.publish_table(&change, Some(&table), def, table.engine, Arc::new(counters));
        drop((change, guard));
        self.erase(&table);
        Ok(0)
    }
}
