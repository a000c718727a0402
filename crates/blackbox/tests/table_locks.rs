//! LOCK TABLES and RENAME TABLE, as tools that change schemas use them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server};
use mysql::Conn;
use mysql::prelude::Queryable;

const WAITS: &str = "Waiting for table metadata lock";

/// Waits until the connection's statement waits for a table.
fn until_waiting(watcher: &mut Conn, id: u32) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        let rows: Vec<mysql::Row> = watcher.query("SHOW PROCESSLIST")?;
        let state = |row: &mysql::Row| (row.get::<u32, _>("Id"), row.get::<Option<String>, _>("State").flatten());
        if rows.iter().map(state).any(|(found, state)| found == Some(id) && state.as_deref() == Some(WAITS)) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(2));
    }
    anyhow::bail!("connection {id} does not wait")
}

/// Runs `sql` in a connection of its own; returns the connection's id and the errno (0 for none).
fn run_aside(server: &Server, sql: &'static str) -> Result<(u32, JoinHandle<Result<u16>>)> {
    let mut conn = server.connect()?;
    conn.query_drop("USE d")?;
    let id = conn.connection_id();
    let running = thread::spawn(move || match conn.query_drop(sql) {
        Ok(()) => Ok(0),
        Err(mysql::Error::MySqlError(error)) => Ok(error.code),
        Err(error) => Err(error.into()),
    });
    Ok((id, running))
}

fn joined<T>(running: JoinHandle<Result<T>>) -> Result<T> {
    running.join().expect("no panic")
}

/// gh-ost's cut-over: no insert is lost, and none fails.
#[test]
fn a_table_takes_the_place_of_another_one_under_load() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut first = server.connect()?;
    let mut watcher = server.connect()?;
    first.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")?;
    let stop = Arc::new(AtomicBool::new(false));
    let inserted = Arc::new(AtomicU64::new(0));
    let mut writers: Vec<JoinHandle<Result<()>>> = Vec::new();
    for _ in 0..4 {
        let mut conn = server.connect()?;
        let (stop, inserted) = (stop.clone(), inserted.clone());
        writers.push(thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                conn.query_drop("INSERT INTO d.t (v) VALUES (1)")?;
                inserted.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }));
    }
    for _ in 0..5 {
        first.query_drop("CREATE TABLE ghost LIKE t; CREATE TABLE old (id INT)")?;
        first.query_drop("LOCK TABLES t WRITE, old WRITE")?;
        let (id, rename) = run_aside(&server, "RENAME TABLE t TO old, ghost TO t")?;
        until_waiting(&mut watcher, id)?;
        first.query_drop("DROP TABLE old")?;
        first.query_drop("UNLOCK TABLES")?;
        ensure!(joined(rename)? == 0);
        // The rows of both make the new table.
        first.query_drop("LOCK TABLES t WRITE, old READ")?;
        first.query_drop("INSERT INTO t (v) SELECT v FROM old")?;
        first.query_drop("UNLOCK TABLES; DROP TABLE old")?;
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        joined(writer)?;
    }
    let rows: u64 = first.query_first("SELECT COUNT(*) FROM t")?.context("a count")?;
    ensure!(rows == inserted.load(Ordering::Relaxed), "{rows} rows of {inserted:?}");
    Ok(())
}

/// Many wait at once, more than there are workers, and others go on.
#[test]
fn who_waits_for_a_locked_table_can_be_killed_times_out_and_stops_nobody() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut first = server.connect()?;
    let mut watcher = server.connect()?;
    first.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u LIKE t")?;
    first.query_drop("LOCK TABLES t WRITE")?;
    let mut waiting = Vec::new();
    for _ in 0..24 {
        waiting.push(run_aside(&server, "SELECT * FROM t")?);
    }
    for (id, _) in &waiting {
        until_waiting(&mut watcher, *id)?;
    }
    watcher.query_drop("INSERT INTO d.u VALUES (1)")?;
    let (id, locker) = run_aside(&server, "LOCK TABLES u WRITE, t WRITE")?;
    until_waiting(&mut watcher, id)?;
    watcher.query_drop(format!("KILL QUERY {id}"))?;
    ensure!(joined(locker)? == 1317);
    let (id, rename) = run_aside(&server, "RENAME TABLE t TO x")?;
    until_waiting(&mut watcher, id)?;
    watcher.query_drop(format!("KILL QUERY {id}"))?;
    ensure!(joined(rename)? == 1317);
    watcher.query_drop("SET lock_wait_timeout = 1")?;
    let refused = watcher.query_drop("RENAME TABLE d.t TO d.x");
    ensure!(matches!(&refused, Err(mysql::Error::MySqlError(error)) if error.code == 1205), "{refused:?}");
    // The end of the connection unlocks.
    drop(first);
    for (_, running) in waiting {
        ensure!(joined(running)? == 0);
    }
    Ok(())
}
