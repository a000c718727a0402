//! `cohort binlog dump`: the events of binlog files.

use std::collections::HashMap;
use std::path::Path;

use cohort_binlog::{BinlogReader, Event, EventBody, ReaderOptions, TableMapEvent};
use cohort_io::RealFs;
use cohort_txn::Fault;
use serde::Serialize;

use super::{Arguments, Lines, ToolError};

const USAGE: &str = "\
Usage: cohort binlog dump FILE... [--json]
Shows the events of binlog files. --json: one line of JSON each";

/// An event as a line.
#[derive(Serialize)]
struct EventLine<'a> {
    file: &'a str,
    offset: u64,
    end: u64,
    r#type: &'static str,
    code: u8,
    timestamp_s: u32,
    server_id: u32,
    /// Of the whole event; one with another state is a fault.
    checksum: &'static str,
    #[serde(flatten)]
    detail: Detail,
}

/// What an event of its type says.
#[derive(Serialize)]
#[serde(untagged)]
enum Detail {
    Format { server_version: String, binlog_version: u16, in_use: bool },
    PreviousGtids { gtids: String },
    Gtid { gtid: String, last_committed: u64, sequence_number: u64, transaction_bytes: u64 },
    Query { database: String, statement: String },
    Table { table: String, table_id: u64, columns: usize },
    Rows { table: String, table_id: u64, rows: u64, statement_end: bool },
    Xid { xid: u64 },
    XaPrepare { xid: String, one_phase: bool },
    Rotate { next_file: String, position: u64 },
    Other {},
}

/// Shows the events of each file, up to its end or its first fault.
pub fn binlog_dump(arguments: &[String]) -> Result<(), ToolError> {
    let arguments = Arguments::parse(arguments, USAGE, &["json"], &[])?;
    if arguments.paths.is_empty() {
        return Err(ToolError::Usage(USAGE.to_owned()));
    }
    let mut lines = Lines::new(arguments.flag("json"));
    for path in &arguments.paths {
        if let Err(error) = dump_file(path, &mut lines) {
            match error {
                Stop::Fault(fault) => lines.fault(&fault)?,
                Stop::Output(error) => return Err(error.into()),
            }
        }
    }
    lines.finish()
}

/// Why a file was not read to its end.
enum Stop {
    Fault(Fault),
    Output(std::io::Error),
}

impl<F: Into<Fault>> From<F> for Stop {
    fn from(fault: F) -> Stop {
        Stop::Fault(fault.into())
    }
}

fn dump_file(path: &Path, lines: &mut Lines) -> Result<(), Stop> {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut reader = BinlogReader::open(&RealFs::new(), path, ReaderOptions::default())?;
    let mut tables = HashMap::new();
    while let Some(event) = reader.next_event()? {
        let detail = detail(&event, &mut tables).map_err(|what| Fault::at(path, event.offset, what))?;
        let header = event.header;
        let line = EventLine {
            file: &file,
            offset: event.offset,
            end: event.offset + u64::from(header.event_bytes),
            r#type: header.event_type.name(),
            code: header.event_type.0,
            timestamp_s: header.timestamp_s,
            server_id: header.server_id,
            checksum: "ok",
            detail,
        };
        lines.entry(&line, || describe(&line)).map_err(Stop::Output)?;
    }
    Ok(())
}

fn detail(event: &Event<'_>, tables: &mut HashMap<u64, TableMapEvent>) -> Result<Detail, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let name = |table: &TableMapEvent| format!("{}.{}", table.schema, table.table);
    Ok(match event.decode().map_err(|error| error.to_string())? {
        EventBody::FormatDescription(format) => Detail::Format {
            server_version: format.server_version,
            binlog_version: format.binlog_version,
            in_use: event.header.flags & 1 != 0,
        },
        EventBody::PreviousGtids(set) => Detail::PreviousGtids { gtids: set.to_string() },
        EventBody::Gtid(gtid) => Detail::Gtid {
            gtid: gtid.gtid.to_string(),
            last_committed: gtid.last_committed,
            sequence_number: gtid.sequence_number,
            transaction_bytes: gtid.transaction_bytes,
        },
        EventBody::Query(query) => Detail::Query { database: text(query.database), statement: text(query.sql) },
        EventBody::TableMap(table) => {
            let detail = Detail::Table { table: name(&table), table_id: table.table_id, columns: table.columns.len() };
            tables.insert(table.table_id, table);
            detail
        }
        EventBody::Rows(rows) => {
            let table = tables.get(&rows.table_id).ok_or("no event in front of these rows tells their table")?;
            let mut count = 0;
            for row in rows.rows(table) {
                row.map_err(|error| error.to_string())?;
                count += 1;
            }
            let (table_id, statement_end) = (rows.table_id, rows.statement_end);
            Detail::Rows { table: name(table), table_id, rows: count, statement_end }
        }
        EventBody::Xid(xid) => Detail::Xid { xid },
        EventBody::XaPrepare(event) => Detail::XaPrepare { xid: event.xid.to_string(), one_phase: event.one_phase },
        EventBody::Rotate(rotate) => Detail::Rotate { next_file: rotate.file_name, position: rotate.position },
        EventBody::Other(_) => Detail::Other {},
    })
}

fn describe(line: &EventLine<'_>) -> String {
    let detail = match &line.detail {
        Detail::Format { server_version, binlog_version, in_use } => {
            let in_use = if *in_use { ", in use" } else { "" };
            format!("server {server_version}, format {binlog_version}{in_use}")
        }
        Detail::PreviousGtids { gtids } => gtids.clone(),
        Detail::Gtid { gtid, last_committed, sequence_number, transaction_bytes } => {
            format!("{gtid}, {last_committed} → {sequence_number}, {transaction_bytes} bytes")
        }
        Detail::Query { database, statement } if database.is_empty() => statement.clone(),
        Detail::Query { database, statement } => format!("{database}: {statement}"),
        Detail::Table { table, table_id, columns } => format!("{table}, id {table_id}, {columns} columns"),
        Detail::Rows { table, rows, statement_end, .. } => {
            format!("{table}, {rows} rows{}", if *statement_end { ", end of statement" } else { "" })
        }
        Detail::Xid { xid } => xid.to_string(),
        Detail::XaPrepare { xid, one_phase } => format!("{xid}{}", if *one_phase { ", one phase" } else { "" }),
        Detail::Rotate { next_file, position } => format!("{next_file} at {position}"),
        Detail::Other {} => format!("type {}", line.code),
    };
    let EventLine { file, offset, end, r#type, server_id, checksum, .. } = line;
    format!("{file} {offset} to {end}: server {server_id}, checksum {checksum}, {:<14} {detail}", r#type)
}
