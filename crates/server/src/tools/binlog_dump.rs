//! `cohort binlog dump`: the events of binlog files.

use std::path::Path;

use cohort_binlog::{BinlogReader, DecodeError, Description, Event, EventBody, ReaderOptions, Shown, Tables};
use cohort_io::RealFs;
use cohort_txn::Fault;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Arguments, Lines, ToolError};

const USAGE: &str = "\
Usage: cohort binlog dump FILE... [--json]
Shows the events of binlog files. --json: one line of JSON each";

/// An event as a line.
#[derive(serde::Serialize)]
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
    /// It stands in the payload of a compressed transaction, whose place this is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    in_payload: bool,
    #[serde(flatten)]
    detail: Detail,
}

/// What an event says, as a part of its line.
struct Detail(Description);

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.fields.len()))?;
        for (name, value) in &self.0.fields {
            match value {
                Shown::Number(number) => map.serialize_entry(name, number)?,
                Shown::Flag(flag) => map.serialize_entry(name, flag)?,
                Shown::Text(text) => map.serialize_entry(name, text)?,
            }
        }
        map.end()
    }
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
    let mut tables = Tables::new();
    while let Some(event) = reader.next_event()? {
        let fault = |error| Fault::at(path, event.offset, error);
        let end = event.offset + u64::from(event.header.event_bytes);
        let body = event.decode().map_err(fault)?;
        dump_event(&file, &event, &body, (end, false), &mut tables, lines)?.map_err(fault)?;
        let Some(payload) = body.payload_events(event.offset).map_err(fault)? else { continue };
        for inside in payload.events() {
            let inside = inside.map_err(fault)?;
            let body = inside.decode().map_err(fault)?;
            dump_event(&file, &inside, &body, (end, true), &mut tables, lines)?.map_err(fault)?;
        }
    }
    Ok(())
}

/// Shows an event that ends at `end`, or the payload with it does.
fn dump_event(
    file: &str,
    event: &Event<'_>,
    body: &EventBody<'_>,
    (end, in_payload): (u64, bool),
    tables: &mut Tables,
    lines: &mut Lines,
) -> Result<Result<(), DecodeError>, Stop> {
    let detail = match body.describe(tables) {
        Ok(described) => Detail(described),
        Err(error) => return Ok(Err(error)),
    };
    let header = event.header;
    let line = EventLine {
        file,
        offset: event.offset,
        end,
        r#type: header.event_type.name(),
        code: header.event_type.0,
        timestamp_s: header.timestamp_s,
        server_id: header.server_id,
        checksum: if in_payload { "none" } else { "ok" },
        in_payload,
        detail,
    };
    lines.entry(&line, || describe(&line)).map_err(Stop::Output)?;
    Ok(Ok(()))
}

fn describe(line: &EventLine<'_>) -> String {
    let EventLine { file, offset, end, r#type, server_id, checksum, in_payload, detail, .. } = line;
    let place = if *in_payload { "in the payload".to_owned() } else { format!("checksum {checksum}") };
    format!("{file} {offset} to {end}: server {server_id}, {place}, {:<14} {}", r#type, detail.0.text)
}
