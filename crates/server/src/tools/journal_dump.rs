//! `cohort journal dump`: the journal's records.

use std::io;
use std::sync::Arc;

use cohort_txn::{JournalReport, RecordReport, Records, read_journal};
use serde::Serialize;

use super::{Arguments, Lines, ToolError};
use crate::startup::StoppedDir;

const USAGE: &str = "\
Usage: cohort journal dump DATADIR [--all] [--json]
Shows the records that recovery would read, and with --all those before them that are still on the disk.
--json: one line of JSON each";

/// Shows the journal of a stopped data directory, up to its end or the first fault.
pub fn journal_dump(arguments: &[String]) -> Result<(), ToolError> {
    let arguments = Arguments::parse(arguments, USAGE, &["all", "json"], &[])?;
    let [path] = &arguments.paths[..] else {
        return Err(ToolError::Usage(USAGE.to_owned()));
    };
    let dir = StoppedDir::open(path).map_err(|error| ToolError::Failed(error.to_string()))?;
    let records = if arguments.flag("all") { Records::OnDisk } else { Records::AfterCheckpoint };
    let mut lines = Lines::new(arguments.flag("json"));
    let mut written: io::Result<()> = Ok(());
    let report = read_journal(Arc::clone(&dir.fs), &dir.path.join("journal"), records, &mut |record| {
        if written.is_ok() {
            written = lines.entry(record, || describe(record));
        }
    });
    written?;
    match report {
        Ok(report) => lines.entry(&Summary { journal: &report }, || summarise(&report))?,
        Err(fault) => lines.fault(&fault)?,
    }
    lines.finish()
}

#[derive(Serialize)]
struct Summary<'a> {
    journal: &'a JournalReport,
}

fn describe(record: &RecordReport) -> String {
    let mut text = format!(
        "{} {}: lsn {} to {}, epoch {} record {}, {} bytes, durable lsn {}, checksum {}, order {}, {} members",
        record.segment,
        record.offset,
        record.lsn,
        record.end_lsn,
        record.epoch,
        record.sequence,
        record.payload_bytes,
        record.durable_lsn,
        record.checksum,
        record.first_order,
        record.members
    );
    for chunk in &record.binlog {
        text += &format!("\n  binlog file {} at {}: {} bytes", chunk.file, chunk.offset, chunk.bytes);
    }
    for member in &record.transactions {
        text += &format!("\n  {} in file {} at {}: {} bytes", member.gtid, member.file, member.offset, member.bytes);
    }
    for redo in &record.redo {
        let sizes: Vec<String> = redo.bytes.iter().map(u64::to_string).collect();
        text += &format!("\n  engine {}: redo of {} bytes", redo.engine, sizes.join(", "));
    }
    text
}

fn summarise(report: &JournalReport) -> String {
    let closed = if report.closed { "closed" } else { "not closed" };
    let torn = match &report.torn_reason {
        Some(reason) => format!(", torn tail of {} bytes: {reason}", report.torn_bytes),
        None => String::new(),
    };
    format!(
        "{} records, {} transactions, checkpoint at lsn {}, end at lsn {}, {closed}{torn}",
        report.records, report.transactions, report.checkpoint_lsn, report.end_lsn
    )
}
