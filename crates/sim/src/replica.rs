//! What a binlog holds: its transactions in order, as rows and statements.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use cohort_binlog::{BinlogReader, EventBody, ReaderOptions, RowsEvent, TableMapEvent, Value};
use cohort_io::FileSystem;
use cohort_txn::Store;

use crate::machine::{BINLOG_DIR, SERVER_UUID};

/// A row as text, column by column; the first is its primary key, a number.
pub type Row = Vec<String>;

/// A row before and after, one of them missing where it was made or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// Whose row, without its database.
    pub table: String,
    /// As it was.
    pub before: Option<Row>,
    /// As it became.
    pub after: Option<Row>,
}

impl RowChange {
    /// Changes the rows of its table, which are kept by primary key. An error says what was there instead.
    pub fn make(&self, rows: &mut BTreeMap<i64, Row>) -> Result<()> {
        let RowChange { table, before, after } = self;
        if let Some(before) = before {
            let had = rows.remove(&id_of(before)?);
            ensure!(had.as_ref() == Some(before), "{table}: {before:?} was to be changed, there is {had:?}");
        }
        if let Some(after) = after {
            let had = rows.insert(id_of(after)?, after.clone());
            ensure!(had.is_none(), "{table}: {after:?} was inserted twice");
        }
        Ok(())
    }
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Logged {
    /// Rows that were committed.
    Rows(Vec<RowChange>),
    /// A statement that is a transaction of its own.
    Statement(String),
    /// XA PREPARE: the name, and rows that wait for its decision.
    Prepared(String, Vec<RowChange>),
    /// XA COMMIT of a name.
    Committed(String),
    /// XA ROLLBACK of a name.
    RolledBack(String),
}

/// The primary key of a row.
pub fn id_of(row: &[String]) -> Result<i64> {
    Ok(row.first().context("a row without columns")?.parse()?)
}

/// Reads every file. An error names one that is not whole, of a transaction without an end, of a gap between
/// GTIDs, or of a server that knows of others than the binlog.
pub fn read(store: &Store, fs: &dyn FileSystem) -> Result<Vec<Logged>> {
    let mut reading = Reading::default();
    for file in store.binlog().list() {
        let mut reader = BinlogReader::open(fs, &Path::new(BINLOG_DIR).join(&file.name), ReaderOptions::default())?;
        while let Some(event) = reader.next_event()? {
            reading.take(event.decode()?).with_context(|| format!("{} at byte {}", file.name, event.offset))?;
        }
        ensure!(!reading.is_within, "{} ends within a transaction", file.name);
    }
    let executed = store.executed().1.to_string();
    let expected = match reading.gtids {
        0 => String::new(),
        1 => format!("{SERVER_UUID}:1"),
        last => format!("{SERVER_UUID}:1-{last}"),
    };
    ensure!(executed == expected, "executed is {executed}, the binlog has {expected}");
    Ok(reading.transactions)
}

#[derive(Default)]
struct Reading {
    transactions: Vec<Logged>,
    /// How many of them had a GTID; those are numbered from 1.
    gtids: u64,
    is_within: bool,
    map: Option<TableMapEvent>,
    rows: Vec<RowChange>,
}

impl Reading {
    fn take(&mut self, event: EventBody<'_>) -> Result<()> {
        match event {
            EventBody::Gtid(event) => {
                ensure!(!self.is_within, "a transaction begins within another");
                if let Some(gtid) = event.gtid {
                    self.gtids += 1;
                    ensure!(gtid.gno == self.gtids, "{gtid} is not number {}", self.gtids);
                }
                self.is_within = true;
            }
            EventBody::TableMap(map) => self.map = Some(map),
            EventBody::Rows(rows) => changes(self.map.as_ref().context("no table map")?, &rows, &mut self.rows)?,
            EventBody::Xid(_) => self.end(Logged::Rows),
            EventBody::XaPrepare(event) => self.end(|rows| Logged::Prepared(event.xid.to_string(), rows)),
            EventBody::Query(query) => {
                let sql = String::from_utf8(query.sql.to_vec())?;
                if let Some(xid) = sql.strip_prefix("XA COMMIT ") {
                    self.end(|_| Logged::Committed(xid.to_owned()));
                } else if let Some(xid) = sql.strip_prefix("XA ROLLBACK ") {
                    self.end(|_| Logged::RolledBack(xid.to_owned()));
                } else if sql != "BEGIN" && !sql.starts_with("XA START ") && !sql.starts_with("XA END ") {
                    self.end(|_| Logged::Statement(sql));
                }
            }
            EventBody::TransactionPayload(payload) => {
                for event in payload.decompress(0)?.events() {
                    self.take(event?.decode()?)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, as_what: impl FnOnce(Vec<RowChange>) -> Logged) {
        self.is_within = false;
        self.transactions.push(as_what(std::mem::take(&mut self.rows)));
    }
}

fn changes(map: &TableMapEvent, rows: &RowsEvent<'_>, changes: &mut Vec<RowChange>) -> Result<()> {
    for row in rows.rows(map) {
        let row = row?;
        let (before, after) = (row.before.map(image).transpose()?, row.after.map(image).transpose()?);
        changes.push(RowChange { table: map.table.clone(), before, after });
    }
    Ok(())
}

fn image(row: Vec<Value>) -> Result<Row> {
    let text = row.into_iter().map(|value| match value {
        Value::Int(number) => Ok(number.to_string()),
        Value::Bytes(bytes) => Ok(String::from_utf8(bytes.to_vec())?),
        other => bail!("no table here has {other:?}"),
    });
    text.collect()
}
