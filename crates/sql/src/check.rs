//! Whether catalog, rows and index entries of engines agree: for a data directory that no server uses, and, of one table,
//! for CHECK TABLE.
//!
//! An engine's files hold all of a cohort or nothing of it, so this is true at any moment, also after a
//! crash and before its recovery. Only reads.

use std::sync::Arc;

use cohort_engine::{Cursor, Direction, Engine, EngineId, Entry, KeyRange};
use cohort_txn::{Read, Scan, Transaction};
use serde::Serialize;

use crate::catalog::definition::IndexKind;
use crate::catalog::store::{self, CATALOG_ENGINE, Catalog, KeyValue};
use crate::catalog::table::{Index, Table, prefix_range};
use crate::codec::RowOffsets;
use crate::error::{ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::failure::read_failed;
use crate::session::Interrupt;
use crate::value::Value;

/// What a check of the tables looked at and found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TableCheck {
    /// Every table.
    pub tables: Vec<TableReport>,
    /// What the next start repairs.
    pub notes: Vec<String>,
    /// What no start repairs, with table, index and key.
    pub faults: Vec<String>,
}

/// A table and its entries.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TableReport {
    /// `database.table`
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its secondary indexes.
    pub indexes: Vec<IndexReport>,
}

/// A secondary index.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IndexReport {
    pub name: String,
    /// Its entries.
    pub entries: u64,
}

/// Faults reported of one table; the others are counted.
const FAULTS_PER_TABLE: usize = 20;

/// Checks the catalog and every table. `progress` gets a line for each.
pub fn check_tables(engines: &[Arc<dyn Engine>], progress: &mut dyn FnMut(&str)) -> TableCheck {
    let mut check = TableCheck::default();
    let Some(engine) = engines.get(usize::from(CATALOG_ENGINE.0)) else { return check };
    let catalog = match store::read(engines, &mut |range| entries(&**engine, range)) {
        Ok((catalog, _)) => catalog,
        Err(error) => {
            check.faults.push(format!("the catalog cannot be read: {error}"));
            return check;
        }
    };
    progress(&format!("catalog: {} tables in {} databases", catalog.tables().count(), catalog.databases.size()));
    for table in catalog.tables() {
        let mut work = Work::new(table, Files(&*engines[usize::from(table.engine.0)]));
        if let Err(error) = work.run() {
            work.fault(error.to_string());
        }
        let entries: u64 = work.report.indexes.iter().map(|index| index.entries).sum();
        progress(&format!("table {}: {} rows, {entries} index entries", work.report.name, work.report.rows));
        if work.untold > 0 {
            work.faults.push(format!("table {}: {} faults more", work.report.name, work.untold));
        }
        check.faults.append(&mut work.faults);
        check.tables.push(work.report);
    }
    check.unnamed(&catalog, engines);
    check
}

impl TableCheck {
    fn unnamed(&mut self, catalog: &Catalog, engines: &[Arc<dyn Engine>]) {
        for (number, engine) in (0u8..).zip(engines) {
            for gap in catalog.unnamed(cohort_engine::EngineId(number)) {
                let first = engine.cursor(&gap, Direction::Forward).and_then(|mut cursor| Ok(cursor.next()?.is_some()));
                match first {
                    Ok(false) => {}
                    Ok(true) => self.notes.push(format!(
                        "the next start erases leftovers of dropped or unfinished tables from {}",
                        engine.name()
                    )),
                    Err(error) => self.faults.push(error.to_string()),
                }
            }
        }
    }
}

/// Everything in a small range.
fn entries(engine: &dyn Engine, range: &KeyRange) -> Result<Vec<KeyValue>, SqlError> {
    let mut cursor = engine.cursor(range, Direction::Forward).map_err(read_failed)?;
    let mut entries = Vec::new();
    while let Some(entry) = cursor.next().map_err(read_failed)? {
        entries.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    Ok(entries)
}

/// Checks one table as `transaction` reads it; 1317 if the statement is killed meanwhile. Returns what is wrong.
pub(crate) fn check_table(
    table: &Table,
    transaction: &mut Transaction,
    interrupt: &Interrupt,
) -> Result<Vec<String>, SqlError> {
    let mut work = Work::new(table, InSnapshot { transaction, engine: table.engine, interrupt });
    match work.run() {
        Err(error) if error.is(ER_QUERY_INTERRUPTED) => return Err(error),
        Err(error) => work.fault(error.to_string()),
        Ok(()) => {}
    }
    if work.untold > 0 {
        work.faults.push(format!("{} faults more", work.untold));
    }
    Ok(work.faults)
}

/// Where a table is read.
trait Source {
    type Entries: Entries;
    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, SqlError>;
    fn entries(&mut self, range: &KeyRange) -> Result<Self::Entries, SqlError>;
    /// Called for each entry: an error ends the check.
    fn go_on(&self) -> Result<(), SqlError>;
}

/// The entries of a range.
trait Entries {
    fn next_entry(&mut self) -> Result<Option<Entry<'_>>, SqlError>;
}

/// An engine that nobody writes.
struct Files<'a>(&'a dyn Engine);

impl Source for Files<'_> {
    type Entries = Box<dyn Cursor>;

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, SqlError> {
        self.0.get(key, value).map_err(read_failed)
    }

    fn entries(&mut self, range: &KeyRange) -> Result<Box<dyn Cursor>, SqlError> {
        self.0.cursor(range, Direction::Forward).map_err(read_failed)
    }

    fn go_on(&self) -> Result<(), SqlError> {
        Ok(())
    }
}

impl Entries for Box<dyn Cursor> {
    fn next_entry(&mut self) -> Result<Option<Entry<'_>>, SqlError> {
        (**self).next().map_err(read_failed)
    }
}

/// The snapshot of a transaction.
struct InSnapshot<'a> {
    transaction: &'a mut Transaction,
    engine: EngineId,
    interrupt: &'a Interrupt,
}

impl Source for InSnapshot<'_> {
    type Entries = Scan;

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, SqlError> {
        self.transaction.get(self.engine, Read::Snapshot, key, value).map_err(read_failed)
    }

    fn entries(&mut self, range: &KeyRange) -> Result<Scan, SqlError> {
        self.transaction.scan(self.engine, Read::Snapshot, range, Direction::Forward).map_err(read_failed)
    }

    fn go_on(&self) -> Result<(), SqlError> {
        if self.interrupt.is_killed() { Err(SqlError::new(ER_QUERY_INTERRUPTED, &[])) } else { Ok(()) }
    }
}

impl Entries for Scan {
    fn next_entry(&mut self) -> Result<Option<Entry<'_>>, SqlError> {
        Scan::next(self).map_err(read_failed)
    }
}

/// One table's check.
struct Work<'a, S> {
    table: &'a Table,
    source: S,
    report: TableReport,
    faults: Vec<String>,
    untold: u64,
    row: Vec<Value>,
    offsets: RowOffsets,
}

impl<'a, S: Source> Work<'a, S> {
    fn new(table: &'a Table, source: S) -> Work<'a, S> {
        let def = &table.def;
        let indexes = table.def.indexes.iter().filter(|index| index.kind != IndexKind::Primary);
        let report = TableReport {
            name: format!("{}.{}", def.database, def.name),
            rows: 0,
            indexes: indexes.map(|index| IndexReport { name: index.name.clone(), entries: 0 }).collect(),
        };
        let row = vec![Value::Null; def.columns.len()];
        Work { table, source, report, faults: Vec::new(), untold: 0, row, offsets: RowOffsets::default() }
    }

    fn run(&mut self) -> Result<(), SqlError> {
        let table = self.table;
        let mut rows = self.source.entries(&prefix_range(&table.row_prefix()))?;
        while let Some(entry) = rows.next_entry()? {
            self.source.go_on()?;
            self.report.rows += 1;
            if let Err(error) = self.row(entry.key, entry.value) {
                self.fault(format!("row {}: {error}", hex(entry.key)));
            }
        }
        drop(rows);
        let secondary = table.indexes.iter().filter(|index| index.kind != IndexKind::Primary);
        for (at, index) in secondary.enumerate() {
            self.index(at, index)?;
        }
        Ok(())
    }

    /// The row can be read, is under its own key, and has its entry in every index.
    fn row(&mut self, row_key: &[u8], stored: &[u8]) -> Result<(), SqlError> {
        let table = self.table;
        table.read_row(stored, &mut self.offsets, &mut self.row)?;
        if table.primary.is_some() {
            let mut key = Vec::new();
            table.primary_key(&self.row, &mut key)?;
            if key != row_key {
                self.fault(format!("row {}: it is another one by its columns, {}", hex(row_key), hex(&key)));
            }
        }
        let secondary = table.indexes.iter().filter(|index| index.kind != IndexKind::Primary);
        for (at, index) in secondary.enumerate() {
            let (key, value) = self.entry(index, row_key)?;
            let mut found = Vec::new();
            let there = self.source.get(&key, &mut found)?;
            let name = &self.report.indexes[at].name;
            if !there {
                self.fault(format!("row {} has no entry {} in index {name}", hex(row_key), hex(&key)));
            } else if found != value {
                self.fault(format!("the entry {} of index {name} is not that of row {}", hex(&key), hex(row_key)));
            }
        }
        Ok(())
    }

    /// The key and value of the present row's entry.
    fn entry(&self, index: &Index, row_key: &[u8]) -> Result<KeyValue, SqlError> {
        let mut key = Vec::new();
        let unique = self.table.index_key(index, &self.row, row_key, &mut key)?;
        Ok((key, if unique { row_key[4..].to_vec() } else { Vec::new() }))
    }

    /// Counts an index's entries. Every row has its own, so that as many entries as rows are those of the
    /// rows; otherwise the ones too many are looked for.
    fn index(&mut self, at: usize, index: &Index) -> Result<(), SqlError> {
        let range = prefix_range(&index.prefix());
        let mut entries = self.source.entries(&range)?;
        while entries.next_entry()?.is_some() {
            self.source.go_on()?;
            self.report.indexes[at].entries += 1;
        }
        if self.report.indexes[at].entries == self.report.rows {
            return Ok(());
        }
        let mut entries = self.source.entries(&range)?;
        let mut stored = Vec::new();
        while let Some(found) = entries.next_entry()? {
            self.source.go_on()?;
            let mut row_key = Vec::new();
            self.table.row_key_of(index, found.key, found.value, &mut row_key)?;
            let mut is_of_row = self.source.get(&row_key, &mut stored)?;
            if is_of_row {
                self.table.read_row(&stored, &mut self.offsets, &mut self.row)?;
                is_of_row = self.entry(index, &row_key)?.0 == found.key;
            }
            if !is_of_row {
                let name = &self.report.indexes[at].name;
                self.fault(format!("the entry {} of index {name} is of no row", hex(found.key)));
            }
        }
        Ok(())
    }

    fn fault(&mut self, what: String) {
        match self.faults.len() < FAULTS_PER_TABLE {
            true => self.faults.push(format!("table {}: {what}", self.report.name)),
            false => self.untold += 1,
        }
    }
}

/// A key as digits; the end of a long one is left out.
fn hex(key: &[u8]) -> String {
    let digits: String = key.iter().take(48).map(|byte| format!("{byte:02x}")).collect();
    if key.len() > 48 { digits + "…" } else { digits }
}
