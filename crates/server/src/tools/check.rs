//! `cohort check`: whether a stopped data directory is sound.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cohort_binlog::BinlogOptions;
use cohort_engine::Engine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine_rocksdb::{RocksDb, RocksDbOptions};
use cohort_io::ScratchFs;
use cohort_sql::{TableReport, check_tables};
use cohort_txn::{BinlogReport, CommitProtocol, Fault, JournalReport, ProtocolMark, check_logs};
use serde::Serialize;

use super::{Arguments, ToolError};
use crate::startup::StoppedDir;
use crate::startup::store::mark_path;

const USAGE: &str = "\
Usage: cohort check DATADIR [--json FILE]
Checks a stopped data directory without changing it: the journal, every binlog file, where they and the
engines stand to each other, the catalog, every row and index entry. --json: write a report";

/// Bytes of the engine's blocks to keep: everything is read once or twice, in order.
const CACHE_BYTES: usize = 64 << 20;

/// All that was looked at and found.
#[derive(Serialize)]
struct CheckReport {
    datadir: String,
    /// The commit protocol that wrote the logs.
    protocol: String,
    version: &'static str,
    /// No faults.
    sound: bool,
    faults: Vec<Fault>,
    /// What a crash left and the next start repairs.
    notes: Vec<String>,
    journal: JournalReport,
    binlog: BinlogReport,
    engines: Vec<EngineReport>,
    tables: Vec<TableReport>,
    elapsed_us: u64,
}

#[derive(Serialize)]
struct EngineReport {
    name: &'static str,
    durable_lsn: u64,
}

/// Checks a data directory; says what it looks at, and every fault.
pub fn check(arguments: &[String]) -> Result<(), ToolError> {
    let arguments = Arguments::parse(arguments, USAGE, &[], &["json"])?;
    let [path] = &arguments.paths[..] else {
        return Err(ToolError::Usage(USAGE.to_owned()));
    };
    let began = Instant::now();
    let dir = StoppedDir::open(path).map_err(|error| ToolError::Failed(error.to_string()))?;
    let mut report = look(&dir);
    report.elapsed_us = began.elapsed().as_micros() as u64;
    for note in &report.notes {
        println!("note: {note}");
    }
    for fault in &report.faults {
        eprintln!("fault: {fault}");
    }
    if let Some(file) = arguments.value("json") {
        let text = serde_json::to_string_pretty(&report).expect("a report is plain data") + "\n";
        let written = std::fs::write(file, text);
        written.map_err(|error| ToolError::Failed(format!("cannot write {file}: {error}")))?;
    }
    match report.faults.len() {
        0 => {
            println!("sound: {}", report.datadir);
            Ok(())
        }
        faults => Err(ToolError::Faults(faults)),
    }
}

fn look(dir: &StoppedDir) -> CheckReport {
    let mut progress = |line: &str| println!("{line}");
    let mut faults = Vec::new();
    let engines = open_engines(dir).unwrap_or_else(|fault| {
        faults.push(fault);
        Vec::new()
    });
    let wrote = match ProtocolMark::new(dir.fs.clone(), mark_path(&dir.path)).read() {
        Ok(wrote) => wrote.unwrap_or(CommitProtocol::Journal),
        Err(error) => {
            faults.push(Fault::of(&dir.path, error));
            CommitProtocol::Journal
        }
    };
    let logs = check_logs(
        wrote,
        &dir.fs,
        &dir.path.join("journal"),
        &dir.path.join("tc.log"),
        &BinlogOptions::new(&dir.path),
        &engines,
        &mut progress,
    );
    let tables = check_tables(&engines, &mut progress);
    faults.extend(logs.faults);
    faults.extend(tables.faults.into_iter().map(|what| Fault::of(&dir.path, what)));
    let engines =
        engines.iter().map(|engine| EngineReport { name: engine.name(), durable_lsn: engine.durable_position().0 });
    CheckReport {
        datadir: dir.path.display().to_string(),
        protocol: logs.protocol,
        version: crate::VERSION,
        sound: faults.is_empty(),
        faults,
        notes: logs.notes.into_iter().chain(tables.notes).collect(),
        journal: logs.journal,
        binlog: logs.binlog,
        engines: engines.collect(),
        tables: tables.tables,
        elapsed_us: 0,
    }
}

/// The engines by their ids; directories of releases before redb have only the first.
fn open_engines(dir: &StoppedDir) -> Result<Vec<Arc<dyn Engine>>, Fault> {
    let mut engines = vec![open_rocksdb(&dir.path.join("rocksdb"))?];
    let redb = dir.path.join("redb");
    if redb.exists() {
        // An open repairs the file after an unclean stop: here it repairs a copy in memory.
        let fs = Arc::new(ScratchFs::over(dir.fs.clone()));
        let options = RedbOptions { cache_bytes: CACHE_BYTES, ..RedbOptions::default() };
        let fault = |error| Fault::of(&redb, error);
        Redb::verify_checksums(&*fs, &redb, &options).map_err(fault)?;
        engines.push(Arc::new(Redb::open(fs, &redb, &options).map_err(fault)?));
    }
    Ok(engines)
}

/// The engine, each of its blocks read once.
fn open_rocksdb(dir: &Path) -> Result<Arc<dyn Engine>, Fault> {
    let options = RocksDbOptions { cache_bytes: CACHE_BYTES, ..RocksDbOptions::default() };
    let engine = RocksDb::open_read_only(dir, &options).map_err(|error| Fault::of(dir, error))?;
    engine.verify_checksums().map_err(|error| Fault::of(dir, error))?;
    println!("{}: every block's checksum is right, durable lsn {}", engine.name(), engine.durable_position().0);
    Ok(Arc::new(engine))
}
