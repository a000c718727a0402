//! Tables rebuilt from binlog files by a decoder that is not the server's (`mysql_common`).
//!
//! A [`Replica`] holds each table as a multiset of whole rows. An update or delete must find its
//! before-image, so a binlog that disagrees with itself is an error here, not a surprise later.
//! A transaction takes effect at its XID event, or never; an XA transaction at its XA COMMIT.
//!
//! # Not here
//! Schemas: of DDL only DROP TABLE, DROP DATABASE and TRUNCATE are followed, by their first words.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use mysql_common::binlog::consts::{BinlogVersion, EventType};
use mysql_common::binlog::events::{Event, EventData, GtidEvent, RowsEventData};
use mysql_common::binlog::row::BinlogRow;
use mysql_common::binlog::value::BinlogValue;
use mysql_common::binlog::{BinlogFile, EventStreamReader};
use mysql_common::value::Value;

/// A row as text, column by column; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// Rows and how often each is there.
pub type Rows = BTreeMap<Row, u64>;

/// What a binlog, applied to nothing, leaves behind.
#[derive(Debug, Clone, Default)]
pub struct Replica {
    tables: BTreeMap<String, Rows>,
    gtids: BTreeSet<u64>,
    transactions: u64,
    payloads: u64,
    statements: Vec<String>,
    prepared: BTreeMap<String, Vec<Change>>,
}

/// A row change on its way to its transaction's end.
#[derive(Debug, Clone)]
struct Change {
    table: String,
    before: Option<Row>,
    after: Option<Row>,
}

impl Replica {
    /// Rows of `database.table`; none if the binlog never named it.
    pub fn table(&self, name: &str) -> Rows {
        self.tables.get(name).cloned().unwrap_or_default()
    }

    /// Sequence numbers (`gno`) of every GTID met.
    pub fn gtids(&self) -> &BTreeSet<u64> {
        &self.gtids
    }

    /// How many transactions took effect, DDL included.
    pub fn transactions(&self) -> u64 {
        self.transactions
    }

    /// How many of them were compressed.
    pub fn payloads(&self) -> u64 {
        self.payloads
    }

    /// XA transactions that are prepared and undecided, as the binlog names them.
    pub fn prepared(&self) -> Vec<&str> {
        self.prepared.keys().map(String::as_str).collect()
    }

    /// The statements of QUERY events other than those that begin and end transactions, in order.
    pub fn statements(&self) -> &[String] {
        &self.statements
    }

    /// Applies a whole file, verifying the checksum of each event.
    ///
    /// # Errors
    /// On a torn or damaged event, a transaction without an end, a GTID that was met before, a
    /// before-image that is not there, or a commit order that goes backwards.
    pub fn apply_file(&mut self, path: &Path) -> Result<()> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let mut log = BinlogFile::new(BinlogVersion::Version4, BufReader::new(file))?;
        let mut open: Vec<Change> = Vec::new();
        let mut last_sequence_number = 0;
        while let Some(event) = log.next() {
            let at = |what: &str| format!("{what} in {} after {last_sequence_number}", path.display());
            let event = event.with_context(|| at("bad event"))?;
            if event.header().event_type() == Ok(EventType::TRANSACTION_PAYLOAD_EVENT) {
                self.unpack(&event, log.reader_mut(), &mut open).with_context(|| at("wrong payload"))?;
                continue;
            }
            let step = self.step(&event, log.reader(), &mut open, last_sequence_number);
            let sequence_number = step.with_context(|| at("wrong event"))?;
            last_sequence_number = sequence_number.unwrap_or(last_sequence_number);
        }
        ensure!(open.is_empty(), "{} ends inside a transaction", path.display());
        Ok(())
    }

    /// Takes the events of a payload.
    fn unpack(&mut self, event: &Event, reader: &mut EventStreamReader, open: &mut Vec<Change>) -> Result<()> {
        let Some(EventData::TransactionPayloadEvent(payload)) = event.read_data()? else { bail!("no payload") };
        let mut payload = payload.decompressed()?;
        while let Some(event) = reader.read_decompressed(&mut payload)? {
            self.step(&event, reader, open, 0)?;
        }
        self.payloads += 1;
        Ok(())
    }

    /// Takes one event; gives its sequence number if it was a GTID event.
    fn step(
        &mut self,
        event: &Event,
        reader: &EventStreamReader,
        open: &mut Vec<Change>,
        last_sequence_number: u64,
    ) -> Result<Option<u64>> {
        if event.header().event_type().is_err() {
            return Ok(None); // MariaDB's own events, which carry no rows
        }
        if event.header().event_type() == Ok(EventType::XA_PREPARE_LOG_EVENT) {
            return self.end_xa(event.data(), open).map(|()| None);
        }
        match event.read_data()?.context("an event of no type")? {
            EventData::GtidEvent(gtid) => {
                ensure!(open.is_empty(), "a transaction begins inside another");
                self.note_gtid(&gtid, last_sequence_number)?;
                return Ok(Some(gtid.sequence_number()));
            }
            EventData::RowsEvent(rows) => self.read_rows(&rows, reader, open)?,
            EventData::XidEvent(_) => self.commit(open)?,
            EventData::QueryEvent(query) => {
                let text = query.query().trim().to_owned();
                if let Some(rest) = text.strip_prefix("XA ") {
                    return self.run_xa(rest, open).map(|()| None);
                }
                match text.to_ascii_uppercase().as_str() {
                    "BEGIN" => ensure!(open.is_empty(), "BEGIN inside a transaction"),
                    "COMMIT" => self.commit(open)?,
                    _ => self.run_statement(&query.schema(), text),
                }
            }
            _ => {}
        }
        Ok(None)
    }

    fn note_gtid(&mut self, gtid: &GtidEvent, last_sequence_number: u64) -> Result<()> {
        let (number, parent) = (gtid.sequence_number(), gtid.last_committed());
        ensure!(number > last_sequence_number, "sequence_number {number} goes backwards");
        ensure!(parent < number, "last_committed {parent} of sequence_number {number}");
        ensure!(self.gtids.insert(gtid.gno()), "GTID {} twice", gtid.gno());
        Ok(())
    }

    fn read_rows(
        &mut self,
        rows: &RowsEventData<'_>,
        reader: &EventStreamReader,
        open: &mut Vec<Change>,
    ) -> Result<()> {
        let map = reader.get_tme(rows.table_id()).context("rows of a table without a map")?;
        let table = format!("{}.{}", map.database_name(), map.table_name());
        for images in rows.rows(map) {
            let (before, after) = images?;
            let (before, after) = (before.map(plain).transpose()?, after.map(plain).transpose()?);
            open.push(Change { table: table.clone(), before, after });
        }
        Ok(())
    }

    fn commit(&mut self, open: &mut Vec<Change>) -> Result<()> {
        self.transactions += 1;
        for change in open.drain(..) {
            let rows = self.tables.entry(change.table.clone()).or_default();
            if let Some(before) = change.before {
                let Some(count) = rows.get_mut(&before) else {
                    bail!("{} has no row {}", change.table, show(&before));
                };
                *count -= 1;
                if *count == 0 {
                    rows.remove(&before);
                }
            }
            if let Some(after) = change.after {
                *rows.entry(after).or_default() += 1;
            }
        }
        Ok(())
    }

    fn run_xa(&mut self, rest: &str, open: &[Change]) -> Result<()> {
        let (verb, xid) = rest.split_once(' ').context("an XA statement without a name")?;
        match verb {
            "START" => ensure!(open.is_empty(), "XA START inside a transaction"),
            "END" => {}
            _ => {
                ensure!(open.is_empty(), "XA {verb} inside a transaction");
                let mut changes = self.prepared.remove(xid).with_context(|| format!("{xid} is not prepared"))?;
                match verb {
                    "COMMIT" => self.commit(&mut changes)?,
                    "ROLLBACK" => {}
                    _ => bail!("unknown statement XA {rest}"),
                }
            }
        }
        Ok(())
    }

    /// The end of an XA transaction's rows: one phase u8, format id u32, lengths of gtrid and bqual u32, both.
    fn end_xa(&mut self, body: &[u8], open: &mut Vec<Change>) -> Result<()> {
        let number = |at: usize| body.get(at..at + 4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four")));
        let (format_id, gtrid, bqual) = (number(1), number(5), number(9));
        let (Some(format_id), Some(gtrid), Some(bqual)) = (format_id, gtrid, bqual) else { bail!("cut off") };
        let parts = &body[13..];
        ensure!(parts.len() == (gtrid + bqual) as usize, "{} bytes of a name", parts.len());
        let hex = |part: &[u8]| part.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (gtrid, bqual) = parts.split_at(gtrid as usize);
        let xid = format!("X'{}',X'{}',{format_id}", hex(gtrid), hex(bqual));
        ensure!(body[0] == 0, "a commit in one phase is a plain transaction");
        ensure!(self.prepared.insert(xid.clone(), std::mem::take(open)).is_none(), "{xid} is prepared twice");
        Ok(())
    }

    fn run_statement(&mut self, schema: &str, text: String) {
        let words: Vec<String> = text.split_whitespace().map(unquoted).collect();
        let first: Vec<&str> = words.iter().map(String::as_str).collect();
        match first.as_slice() {
            [a, b, .., name] if is(a, "DROP") && is(b, "TABLE") => {
                let name = if name.contains('.') { name.to_string() } else { format!("{schema}.{name}") };
                self.tables.remove(&name);
            }
            [a, b, .., name] if is(a, "DROP") && (is(b, "DATABASE") || is(b, "SCHEMA")) => {
                let prefix = format!("{name}.");
                self.tables.retain(|table, _| !table.starts_with(&prefix));
            }
            [a, .., name] if is(a, "TRUNCATE") => {
                let name = if name.contains('.') { name.to_string() } else { format!("{schema}.{name}") };
                self.tables.remove(&name);
            }
            _ => {}
        }
        self.transactions += 1;
        self.statements.push(text);
    }
}

/// A row for a failure message.
pub fn show(row: &Row) -> String {
    let cells = row.iter().map(|cell| match cell {
        None => "NULL".to_owned(),
        Some(bytes) => String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned(),
    });
    format!("({})", cells.collect::<Vec<_>>().join(", "))
}

fn is(word: &str, keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword)
}

fn unquoted(word: &str) -> String {
    word.trim_end_matches(';').replace('`', "")
}

fn plain(row: BinlogRow) -> Result<Row> {
    row.unwrap().into_iter().map(cell).collect()
}

fn cell(value: BinlogValue<'static>) -> Result<Option<Vec<u8>>> {
    let value = match value {
        BinlogValue::Value(value) => value,
        BinlogValue::Jsonb(json) => return Ok(Some(serde_json::Value::from(json.parse()?).to_string().into_bytes())),
        other => bail!("a value of an unexpected kind: {other:?}"),
    };
    Ok(match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(bytes),
        Value::Int(number) => Some(number.to_string().into_bytes()),
        Value::UInt(number) => Some(number.to_string().into_bytes()),
        Value::Float(number) => Some(number.to_string().into_bytes()),
        Value::Double(number) => Some(number.to_string().into_bytes()),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            Some(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}").into_bytes())
        }
        other => bail!("a value of an unexpected kind: {other:?}"),
    })
}
