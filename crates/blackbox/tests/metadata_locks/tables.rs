//! LOCK TABLES and RENAME TABLE, as tools that change schemas use them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::load::rounds;
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, wait_until};
use mysql::prelude::Queryable;

use super::aside::{Aside, errno, until_waiting};

const WAITS: &str = "Waiting for table metadata lock";

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
        let rename = Aside::waits(&server, &mut watcher, "RENAME TABLE t TO old, ghost TO t", WAITS)?;
        first.query_drop("DROP TABLE old")?;
        first.query_drop("UNLOCK TABLES")?;
        ensure!(rename.errno()? == 0);
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
        waiting.push(Aside::run(&server, "SELECT * FROM t")?);
    }
    for reader in &waiting {
        until_waiting(&mut watcher, reader.id, WAITS)?;
    }
    watcher.query_drop("INSERT INTO d.u VALUES (1)")?;
    // Whoever locks rows to read them, only reads.
    watcher.query_drop("LOCK TABLES d.u READ")?;
    let mut sharing = server.connect_to("d")?;
    sharing.query_drop("SET lock_wait_timeout = 1; SELECT * FROM u FOR SHARE")?;
    watcher.query_drop("UNLOCK TABLES")?;
    let locker = Aside::waits(&server, &mut watcher, "LOCK TABLES u WRITE, t WRITE", WAITS)?;
    watcher.query_drop(format!("KILL QUERY {}", locker.id))?;
    ensure!(locker.errno()? == 1317);
    let rename = Aside::waits(&server, &mut watcher, "RENAME TABLE t TO x", WAITS)?;
    watcher.query_drop(format!("KILL QUERY {}", rename.id))?;
    ensure!(rename.errno()? == 1317);
    watcher.query_drop("SET lock_wait_timeout = 1")?;
    ensure!(errno(watcher.query_drop("RENAME TABLE d.t TO d.x"))? == 1205);
    // A replica is to find what is taken for a model.
    ensure!(errno(watcher.query_drop("CREATE TABLE d.w LIKE d.t"))? == 1205);
    // The end of the connection unlocks.
    drop(first);
    for reader in waiting {
        ensure!(reader.errno()? == 0);
    }
    Ok(())
}

/// As mariadb-dump does with `--single-transaction`, so that nobody waits for tables that are dumped.
#[test]
fn a_rollback_to_a_savepoint_lets_go_of_tables_unless_rows_are_locked() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut dump = server.connect()?;
    let mut other = server.connect()?;
    dump.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u LIKE t")?;
    dump.query_drop("INSERT INTO t VALUES (1)")?;
    other.query_drop("SET lock_wait_timeout = 1")?;
    dump.query_drop("BEGIN; SELECT * FROM u; SAVEPOINT s; SELECT * FROM t; ROLLBACK TO s")?;
    other.query_drop("ALTER TABLE d.t ADD v INT")?;
    ensure!(errno(other.query_drop("ALTER TABLE d.u ADD v INT"))? == 1205, "used before the savepoint");
    dump.query_drop("SELECT * FROM t WHERE id = 1 FOR UPDATE; ROLLBACK TO s")?;
    ensure!(errno(other.query_drop("ALTER TABLE d.t ADD w INT"))? == 1205, "its row is locked");
    Ok(())
}

/// Two tables change places again and again: a kill at any time leaves them as they were, or changed.
#[test]
fn a_rename_of_several_tables_survives_kill_9_as_a_whole_or_not_at_all() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut rng = Rng::new(rng::seed());
    let mut server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d; CREATE TABLE d.a (v INT); CREATE TABLE d.b (v INT) ENGINE=redb")?;
    conn.query_drop("INSERT INTO d.a VALUES (0); INSERT INTO d.b VALUES (1)")?;
    for _ in 0..rounds(6) {
        let mut renamer = server.connect_to("d")?;
        let done = Arc::new(AtomicU64::new(0));
        let counted = done.clone();
        let renaming = thread::spawn(move || {
            while renamer.query_drop("RENAME TABLE a TO c, b TO a, c TO b").is_ok() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        wait_until("a rename", || Ok(done.load(Ordering::Relaxed) > 0))?;
        thread::sleep(Duration::from_millis(rng.below(200)));
        server = server.kill_and_restart()?;
        renaming.join().expect("no panic");
        let mut conn = server.connect_to("d")?;
        let tables: Vec<String> = conn.query("SHOW TABLES")?;
        ensure!(tables == ["a", "b"], "{tables:?}");
        let [a, b] = ["a", "b"].map(|table| conn.query_first::<u64, _>(format!("SELECT v FROM {table}")));
        let (a, b) = (a?.context("a row")?, b?.context("a row")?);
        ensure!(a + b == 1, "{a}, {b}");
    }
    Ok(())
}
