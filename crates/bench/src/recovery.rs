//! How long a start takes after a kill, with this much journal after the last checkpoint.
//!
//! Clients insert rows, twenty in a transaction, with every commit synced and checkpoints held back
//! (`checkpoint_bytes`), until the journal is long enough. Then the server is killed and started again; it says
//! itself what the steps took (`recovery.json`).

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;
use serde::{Deserialize, Serialize};

/// Journal after the last checkpoint, bytes.
pub const JOURNAL_BYTES: u64 = 1 << 30;
/// The same of a quick run.
pub const QUICK_JOURNAL_BYTES: u64 = 8 << 20;
/// What the recovery of [`JOURNAL_BYTES`] may take.
pub const TARGET: Duration = Duration::from_secs(10);

const CLIENTS: u64 = 16;
const ROWS: u64 = 20;

/// A recovery that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Journal that was scanned, bytes.
    pub journal_bytes: u64,
    /// Seconds from the start of the process until it answered.
    pub start_s: f64,
    /// Seconds that the recovery itself took, by its own report.
    pub recovery_s: f64,
    /// The report: `recovery.json`.
    pub report: serde_json::Value,
    /// The report's line for people.
    pub line: String,
}

impl Recovery {
    /// Whether it was within the target.
    pub fn reached(&self) -> bool {
        self.recovery_s <= TARGET.as_secs_f64()
    }
}

/// Fills a server under `folder` with `journal_bytes` of journal, kills it and starts it again.
pub fn measure(folder: &Path, options: &[String], journal_bytes: u64) -> Result<Recovery> {
    let launch = Launch::new(folder.join("recovery")).option("--checkpoint-bytes=1T");
    let launch = options.iter().fold(launch, |launch, option| launch.option(option));
    let server = launch.start()?;
    fill(&server, journal_bytes)?;
    let rows = count(&server)?;
    let launch = server.kill()?;
    let began = Instant::now();
    let server = launch.start()?;
    let start_s = began.elapsed().as_secs_f64();
    ensure!(count(&server)? == rows, "rows are missing after the recovery");
    let report: serde_json::Value = serde_json::from_slice(&fs::read(server.datadir().join("recovery.json"))?)?;
    let number = |name: &str| report[name].as_u64().with_context(|| format!("no {name} in the report"));
    let recovery_us = number("replay_us")? + number("binlog_us")? + number("checkpoint_us")?;
    let log = server.log()?;
    let line = log.lines().rfind(|line| line.contains("recovery: from lsn")).context("no line about the recovery")?;
    let recovery = Recovery {
        journal_bytes: number("end_lsn")? - number("checkpoint_lsn")?,
        start_s,
        recovery_s: recovery_us as f64 / 1e6,
        line: line.split_once("recovery: ").map_or(line, |(_, reported)| reported).to_owned(),
        report,
    };
    server.stop()?;
    Ok(recovery)
}

fn count(server: &Server) -> Result<u64> {
    Ok(server.connect()?.query_first("SELECT COUNT(*) FROM recovery.t")?.unwrap_or(0))
}

/// Inserts until so much journal lies after the checkpoint.
fn fill(server: &Server, journal_bytes: u64) -> Result<()> {
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE recovery")?;
    conn.query_drop("CREATE TABLE recovery.t (id BIGINT PRIMARY KEY, k INT NOT NULL, c CHAR(120), KEY (k))")?;
    let figure = |conn: &mut mysql::Conn, name: &str| -> Result<u64> {
        let row: Option<(String, u64)> = conn.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
        Ok(row.with_context(|| format!("no status {name}"))?.1)
    };
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let enough = &enough;
                scope.spawn(move || -> Result<()> {
                    let mut conn = server.connect()?;
                    for id in (client..).step_by(CLIENTS as usize) {
                        let row = |n| format!("({}, {n}, REPEAT('{}', 119))", id * ROWS + n, n % 10);
                        let rows: Vec<String> = (0..ROWS).map(row).collect();
                        conn.query_drop(format!("INSERT INTO recovery.t VALUES {}", rows.join(",")))?;
                        if enough.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        let filled = loop {
            match figure(&mut conn, "Journal_next_lsn")
                .and_then(|next| Ok(next - figure(&mut conn, "Journal_checkpoint_lsn")?))
            {
                Ok(bytes) if bytes < journal_bytes => thread::sleep(Duration::from_millis(50)),
                ended => break ended.map(drop),
            }
        };
        enough.store(true, Ordering::Relaxed);
        clients.into_iter().try_for_each(|client| client.join().expect("a client does not panic"))?;
        filled
    })
}
