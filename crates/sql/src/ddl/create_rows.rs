//! CREATE TABLE ... SELECT: a table appears together with its rows, or not at all.
//!
//! Outline: the query says which columns there are; its rows are inserted under ids that nothing refers to, in a
//! transaction that stays open (`fill`); then the table is created.
//!
//! In the binlog it is two transactions, the definition as CREATE TABLE and then the rows, whatever `binlog_format` says.
//! MySQL 8.0.21 writes one, with CREATE TABLE ... START TRANSACTION in it: MariaDB and MySQL before it have no such
//! statement. A plain CREATE TABLE within a transaction is refused by MySQL 5.6 and later (1778, its GTID has not ended),
//! and so is the text of the statement by MySQL 5.6 and 5.7 (1786). Two transactions are what MySQL 8.0 wrote before, and
//! what everybody takes.
//!
//! On crash: before the first transaction there is nothing, after the second there is all. Between them the binlog has a
//! table that nobody else has; its note in the catalog ([`Change::announce_table`]) has the next start write DROP TABLE
//! to the binlog. So does the server that runs on after the second has failed ([`Change::withdraw_table`]). Nobody sees the table before the second is durable. A session that is not logged commits both as one.
//!
//! [`Change::announce_table`]: crate::catalog::store::Change::announce_table
//! [`Change::withdraw_table`]: crate::catalog::store::Change::withdraw_table

use std::sync::Arc;

use cohort_txn::Transaction;

use super::{DdlRun, definition, log_query};
use crate::ast::CreateTable;
use crate::catalog::definition::{TableDef, TableOptions};
use crate::catalog::table::{Counters, Table};
use crate::error::{ER_TABLE_EXISTS_ERROR, SqlError};
use crate::plan::NewColumn;

/// A table that nobody knows yet.
pub(crate) struct NewTable {
    pub(crate) table: Arc<Table>,
    /// Where its columns have what the query gives.
    pub(crate) targets: Vec<usize>,
    /// The first AUTO_INCREMENT value.
    floor: u64,
}

impl DdlRun<'_> {
    /// Whether a table is to be created: not if it is there and may be, which gives a note.
    pub(crate) fn is_to_be_created(&self, spec: &CreateTable) -> Result<bool, SqlError> {
        self.refuse_system_database(self.database_of(&spec.name)?)?;
        let current = self.catalog.current();
        self.place_of(&spec.name, spec.if_not_exists, &current).map(|entry| entry.is_some())
    }

    /// Makes a table with the columns of a query among its own.
    pub(crate) fn new_table(&self, spec: &CreateTable, selected: &[NewColumn]) -> Result<NewTable, SqlError> {
        let current = self.catalog.current();
        let entry = current.database(self.database_of(&spec.name)?)?;
        let (def, floor) = definition::table(spec, selected, &spec.name, entry, self)?;
        let engine = self.catalog.engine(&def.engine)?;
        // Those of the query follow all others.
        let targets = (def.columns.len() - selected.len()..def.columns.len()).collect();
        let counters = Arc::new(Counters::of_new_table(floor));
        Ok(NewTable { table: Arc::new(Table::new(def, engine, counters, 0)), targets, floor })
    }

    /// Creates the table whose rows `filled` has. 1050 if there is one of its name by now.
    pub(crate) fn create_filled(
        &self,
        spec: &CreateTable,
        new: &NewTable,
        mut filled: Transaction,
    ) -> Result<(), SqlError> {
        let def = &new.table.def;
        let change = self.catalog.change(self.session)?;
        if self.catalog.current().database(&def.database)?.tables.contains_key(&def.name) {
            return Err(SqlError::new(ER_TABLE_EXISTS_ERROR, &[&def.name]));
        }
        change.put_table(&mut filled, def)?;
        if new.floor > 1 {
            change.put_floor(&mut filled, def.id, new.floor);
        }
        let announced = filled.is_logged();
        if announced {
            let mut definition = self.session.begin(self.store);
            change.announce_table(&mut definition, def)?;
            let sql = on_replicas(spec, def);
            log_query(&mut definition, self.session, self.query_context, &def.database, &sql, self.now_us);
            self.session.commit(self.store, definition)?;
            change.settle_table(&mut filled, def);
        }
        if let Err(error) = self.session.commit(self.store, filled) {
            if announced {
                change.withdraw_table(def);
            }
            return Err(error);
        }
        self.session.row_counts.apply();
        let (def, counters) = (def.clone(), new.table.counters.clone());
        self.publish_table(&change, None, def, new.table.engine, counters);
        Ok(())
    }
}

fn on_replicas(spec: &CreateTable, def: &TableDef) -> String {
    let CreateTable { engine, auto_increment, collation, .. } = spec;
    def.create_on_replicas(&TableOptions {
        engine: engine.as_deref(),
        auto_increment: *auto_increment,
        collation: *collation,
    })
}
