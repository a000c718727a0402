//! Old files of the binlog: how fast a reader gets them, and how long it takes to begin anywhere in them by GTID.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;

use super::follower::{AtEnd, Begin, Follower, GTID_EVENT, event_type, gno};
use super::{Goal, Plan, Wanted};

const CLIENTS: u64 = 8;
/// Rows of a transaction, and bytes of a row.
const ROWS: u64 = 16;
const ROW_BYTES: usize = 1000;
/// Transactions after which a client empties its table, so that the log grows and the tables do not.
const KEPT: u64 = 1000;
/// Most that one dump reads, bytes.
const DUMP_BYTES: u64 = 2 << 30;
/// Places that are begun at.
const PLACES: u64 = 50;

/// Reads the end of the log several times, and begins in it at places all over it, before and after a restart.
pub fn measure(plan: &Plan<'_>) -> Result<Vec<Goal>> {
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let launch = Launch::new(folder.path().join("cohort")).option("--sync-binlog=1");
    let server = plan.options.iter().fold(launch, |launch, option| launch.option(option)).start()?;
    fill(&server, plan.log_bytes)?;
    let logs = logs(&server)?;
    let bytes: u64 = logs.iter().map(|(_, bytes)| bytes).sum();
    let size = format!("{:.1} GB in {} files", bytes as f64 / 1e9, logs.len());
    let dumps = (0..plan.effort.rounds).map(|_| dump(&server, &logs)).collect::<Result<Vec<f64>>>()?;
    let attached = attach(&server)?;
    let server = server.stop()?.start()?;
    let anew = attach(&server)?;
    server.stop()?;
    let detail = |places: &[f64]| format!("of {} places over {size}, mean {:.1}", places.len(), mean(places));
    let longest = |places: &[f64]| places.iter().copied().fold(0.0, f64::max);
    Ok(vec![
        Goal::median("dump of old files, one reader", &dumps, "MB/s", Wanted::AtLeast(300.0), &size),
        Goal::new("longest attach by GTID", longest(&attached), "ms", Wanted::AtMost(50.0), detail(&attached)),
        Goal::new("longest attach by GTID after a restart", longest(&anew), "ms", Wanted::AtMost(50.0), detail(&anew)),
    ])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn logs(server: &Server) -> Result<Vec<(String, u64)>> {
    Ok(server.connect()?.query_map("SHOW BINARY LOGS", |(name, bytes, _): (String, u64, String)| (name, bytes))?)
}

/// Commits until the files have this many bytes.
fn fill(server: &Server, bytes: u64) -> Result<()> {
    server.connect()?.query_drop("CREATE DATABASE filling")?;
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let enough = &enough;
                scope.spawn(move || -> Result<()> {
                    let mut conn = server.connect()?;
                    conn.query_drop(format!(
                        "CREATE TABLE filling.t{client} (id BIGINT PRIMARY KEY, c VARCHAR({ROW_BYTES}))"
                    ))?;
                    let text = "x".repeat(ROW_BYTES);
                    for number in 0.. {
                        if number % KEPT == KEPT - 1 {
                            conn.query_drop(format!("TRUNCATE TABLE filling.t{client}"))?;
                        }
                        let rows: Vec<_> =
                            (0..ROWS).map(|row| format!("({}, '{text}')", number * ROWS + row)).collect();
                        conn.query_drop(format!("INSERT INTO filling.t{client} VALUES {}", rows.join(",")))?;
                        if enough.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        let filled = loop {
            match logs(server) {
                Ok(logs) if logs.iter().map(|(_, bytes)| bytes).sum::<u64>() < bytes => {
                    thread::sleep(Duration::from_millis(50));
                }
                ended => break ended.map(drop),
            }
        };
        enough.store(true, Ordering::Relaxed);
        clients.into_iter().try_for_each(|client| client.join().expect("a client does not panic"))?;
        filled
    })
}

/// Reads the last files, whole, to the end; bytes of events in a microsecond, which is MB/s.
fn dump(server: &Server, logs: &[(String, u64)]) -> Result<f64> {
    let (mut bytes, mut from) = (0, logs.len());
    while from > 0 && bytes < DUMP_BYTES {
        from -= 1;
        bytes += logs[from].1;
    }
    let start = Instant::now();
    let begin = Begin::Position(logs[from].0.clone(), 4);
    let mut follower = Follower::attach(server.port(), &begin, AtEnd::Stop)?;
    let mut got = 0;
    while let Some(event) = follower.next_event()? {
        got += event.len() as u64;
    }
    let us = start.elapsed().as_secs_f64() * 1e6;
    ensure!(got + 1000 * logs.len() as u64 > bytes, "{got} bytes of {bytes}");
    Ok(got as f64 / us)
}

/// How long it takes from the command until the first transaction comes, for places all over the log, milliseconds.
fn attach(server: &Server) -> Result<Vec<f64>> {
    let mut conn = server.connect()?;
    let executed: String = conn.query_first("SELECT @@GLOBAL.gtid_executed")?.context("a set")?;
    let (uuid, interval) = executed.split_once(':').context("one server's set")?;
    let (_, last) = interval.split_once('-').context("one interval")?;
    let (uuid, last): (String, u64) = (uuid.replace('-', ""), last.parse()?);
    let places = (0..PLACES).map(|place| {
        // Not in the log's order: a factor without a common divisor with their number.
        let before = last / PLACES * (place * 37 % PLACES) + place;
        let start = Instant::now();
        let mut follower = Follower::attach(server.port(), &Begin::Gtid(uuid.clone(), before.max(1)), AtEnd::Wait)?;
        loop {
            let event = follower.next_event()?.context("the dump ended")?;
            if event_type(event) == GTID_EVENT {
                let found = gno(event)?;
                ensure!(found == before.max(1) + 1, "asked for what comes after {before}, got {found}");
                return Ok(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    });
    places.collect()
}
