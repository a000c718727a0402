//! FLUSH TABLES WITH READ LOCK: the server's changes and commits stand still, as on MySQL 5.6 and MariaDB 10.11.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server, binlog_end, wait_until};
use mysql::Conn;
use mysql::prelude::Queryable;

use super::aside::{Aside, errno, until_waiting};

const WAITS: &str = "Waiting for global read lock";
const WAITS_TO_COMMIT: &str = "Waiting for commit lock";

fn server() -> Result<(tempfile::TempDir, Server, Conn)> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u LIKE t")?;
    conn.query_drop("CREATE TABLE alone LIKE t; INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")?;
    Ok((folder, server, conn))
}

fn value(conn: &mut Conn, id: u32) -> Result<i64> {
    conn.query_first(format!("SELECT v FROM d.t WHERE id = {id}"))?.context("a row")
}

#[test]
fn whoever_changes_something_waits_for_the_read_lock_and_readers_do_not() -> Result<()> {
    let (_folder, server, mut first) = server()?;
    let mut watcher = server.connect_to("d")?;
    first.query_drop("FLUSH TABLES WITH READ LOCK")?;
    let at = binlog_end(&mut first)?;
    // Its own changes are errors.
    for sql in [
        "UPDATE t SET v = 2",
        "INSERT INTO t VALUES (9, 9)",
        "SELECT * FROM t FOR UPDATE",
        "EXPLAIN UPDATE t SET v = 2",
        "CREATE TABLE x (id INT)",
        "DROP TABLE t",
        "TRUNCATE t",
        "ALTER TABLE t COMMENT = 'x'",
        "RENAME TABLE t TO x",
        "CREATE DATABASE dd",
        "CREATE ROLE own",
        "LOCK TABLES t WRITE",
    ] {
        ensure!(errno(first.query_drop(sql))? == 1223, "{sql}");
    }
    for sql in [
        "SELECT * FROM t FOR SHARE",
        "LOCK TABLES t READ",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "DO GET_LOCK('k', 0)",
        "FLUSH TABLES",
        "FLUSH TABLES WITH READ LOCK",
        "FLUSH LOCAL TABLES t, nowhere",
    ] {
        ensure!(errno(first.query_drop(sql))? == 0, "{sql}");
    }
    // None of that gave it up. More wait than there are workers.
    let mut waiting = Vec::new();
    for sql in [
        "UPDATE t SET v = v + 10 WHERE id = 1",
        "INSERT INTO u VALUES (5, 5)",
        "DELETE FROM t WHERE id = 3",
        "SELECT * FROM t WHERE id = 2 FOR UPDATE",
        "CREATE TABLE y (id INT)",
        "ALTER TABLE u COMMENT = 'x'",
        "CREATE DATABASE dd",
        "CREATE ROLE bob",
        // Nobody else wants this one, which is locked until its connection ends.
        "LOCK TABLES alone WRITE",
    ]
    .into_iter()
    .chain(["UPDATE t SET v = v + 1 WHERE id = 2"; 16])
    {
        waiting.push(Aside::waits(&server, &mut watcher, sql, WAITS).with_context(|| sql)?);
    }
    ensure!(value(&mut watcher, 1)? == 1);
    for sql in ["LOCK TABLES t READ", "UNLOCK TABLES", "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"] {
        ensure!(errno(watcher.query_drop(sql))? == 0, "{sql}");
    }
    watcher.query_drop("SET lock_wait_timeout = 1")?;
    ensure!(errno(watcher.query_drop("INSERT INTO t VALUES (100, 1)"))? == 1205);
    ensure!(errno(watcher.query_drop("CREATE TABLE z (id INT)"))? == 1205);
    let killed = Aside::waits(&server, &mut watcher, "CREATE TABLE z (id INT)", WAITS)?;
    watcher.query_drop(format!("KILL QUERY {}", killed.id))?;
    ensure!(killed.errno()? == 1317);
    ensure!(binlog_end(&mut first)? == (at.0, at.1), "nothing was committed");
    first.query_drop("UNLOCK TABLES")?;
    for one in waiting {
        ensure!(one.errno()? == 0);
    }
    ensure!(value(&mut watcher, 1)? == 11 && value(&mut watcher, 2)? == 18);
    // The end of its connection gives it up.
    first.query_drop("FLUSH TABLES WITH READ LOCK")?;
    let writer = Aside::waits(&server, &mut watcher, "UPDATE t SET v = 0 WHERE id = 1", WAITS)?;
    watcher.query_drop(format!("KILL {}", first.connection_id()))?;
    ensure!(writer.errno()? == 0);
    Ok(())
}

#[test]
fn an_open_transaction_does_not_hold_the_read_lock_up_and_its_commit_waits() -> Result<()> {
    let (_folder, server, mut first) = server()?;
    let mut watcher = server.connect_to("d")?;
    let open = || -> Result<Conn> {
        let mut conn = server.connect_to("d")?;
        conn.query_drop("BEGIN; UPDATE t SET v = v + 10 WHERE id = 1")?;
        Ok(conn)
    };
    let second = open()?;
    first.query_drop("FLUSH TABLES WITH READ LOCK")?;
    let at = binlog_end(&mut first)?;
    let commit = Aside::run_in(second, "COMMIT");
    until_waiting(&mut watcher, commit.id, WAITS_TO_COMMIT)?;
    ensure!(binlog_end(&mut first)? == at && value(&mut watcher, 1)? == 1);
    first.query_drop("UNLOCK TABLES")?;
    ensure!(commit.errno()? == 0 && value(&mut watcher, 1)? == 11);
    // A commit that is killed, or waits for too long, is a rollback.
    let (second, mut third) = (open()?, server.connect_to("d")?);
    third.query_drop("SET lock_wait_timeout = 1; BEGIN; UPDATE t SET v = 99 WHERE id = 2")?;
    first.query_drop("FLUSH TABLES WITH READ LOCK")?;
    let commit = Aside::run_in(second, "COMMIT");
    until_waiting(&mut watcher, commit.id, WAITS_TO_COMMIT)?;
    watcher.query_drop(format!("KILL QUERY {}", commit.id))?;
    let (mut second, result) = commit.end();
    ensure!(errno(result)? == 1317);
    ensure!(errno(third.query_drop("COMMIT"))? == 1205);
    first.query_drop("UNLOCK TABLES")?;
    for (conn, id, was) in [(&mut second, 1, 11), (&mut third, 2, 2)] {
        conn.query_drop("COMMIT")?;
        ensure!(value(conn, id)? == was);
    }
    // Transactions that only read, or only lock rows, end at once.
    second.query_drop("BEGIN; SELECT * FROM t WHERE id = 2 FOR UPDATE")?;
    first.query_drop("FLUSH TABLES WITH READ LOCK")?;
    second.query_drop("COMMIT")?;
    // The session that has it commits what it had open.
    first.query_drop("UNLOCK TABLES; BEGIN; UPDATE t SET v = 77 WHERE id = 1; FLUSH TABLES WITH READ LOCK")?;
    ensure!(value(&mut watcher, 1)? == 77);
    Ok(())
}

#[test]
fn xa_transactions_wait_for_the_read_lock_where_they_write_the_binlog() -> Result<()> {
    let (_folder, server, mut first) = server()?;
    let mut watcher = server.connect_to("d")?;
    let mut second = server.connect_to("d")?;
    let prepared = "XA START 'x'; UPDATE t SET v = v + 10 WHERE id = 1; XA END 'x'; XA PREPARE 'x'";
    let idle = "XA START 'x'; UPDATE t SET v = v + 10 WHERE id = 1; XA END 'x'";
    for (before, waits, after, then) in [
        (idle, "XA PREPARE 'x'", "XA ROLLBACK 'x'", 1),
        (prepared, "XA ROLLBACK 'x'", "DO 0", 1),
        (prepared, "XA COMMIT 'x'", "DO 0", 11),
        (idle, "XA COMMIT 'x' ONE PHASE", "DO 0", 21),
    ] {
        second.query_drop(before)?;
        first.query_drop("FLUSH TABLES WITH READ LOCK")?;
        let at = binlog_end(&mut first)?;
        // After a kill it is as it was.
        let killed = Aside::run_in(second, waits);
        until_waiting(&mut watcher, killed.id, WAITS_TO_COMMIT).context(waits)?;
        watcher.query_drop(format!("KILL QUERY {}", killed.id))?;
        let (conn, result) = killed.end();
        ensure!(errno(result)? == 1317, "{waits}");
        let waiting = Aside::run_in(conn, waits);
        until_waiting(&mut watcher, waiting.id, WAITS_TO_COMMIT).context(waits)?;
        ensure!(binlog_end(&mut first)? == at, "{waits}");
        first.query_drop("UNLOCK TABLES")?;
        let (conn, result) = waiting.end();
        ensure!(errno(result)? == 0, "{waits}");
        second = conn;
        second.query_drop(after)?;
        ensure!(value(&mut watcher, 1)? == then, "{waits}");
    }
    second.query_drop("XA START 'y'")?;
    for sql in ["FLUSH TABLES WITH READ LOCK", "FLUSH TABLES", "LOCK TABLES t READ"] {
        ensure!(errno(second.query_drop(sql))? == 1399, "{sql}");
    }
    Ok(())
}

#[test]
fn the_read_lock_waits_for_running_changes_and_new_ones_wait_for_it() -> Result<()> {
    let (_folder, server, mut first) = server()?;
    let mut watcher = server.connect_to("d")?;
    first.query_drop("DO GET_LOCK('gate', 0)")?;
    let running = "UPDATE t SET v = v + GET_LOCK('gate', -1) + RELEASE_LOCK('gate') WHERE id = 1";
    let running = Aside::waits(&server, &mut watcher, running, "User lock")?;
    let flush = Aside::waits(&server, &mut watcher, "FLUSH TABLES WITH READ LOCK", WAITS)?;
    let later = Aside::waits(&server, &mut watcher, "UPDATE t SET v = v + 1 WHERE id = 3", WAITS)?;
    ensure!(value(&mut watcher, 3)? == 3, "readers do not wait");
    first.query_drop("DO RELEASE_LOCK('gate')")?;
    ensure!(running.errno()? == 0);
    let (mut holder, result) = flush.end();
    ensure!(errno(result)? == 0);
    ensure!(value(&mut holder, 1)? == 3 && value(&mut holder, 3)? == 3);
    until_waiting(&mut watcher, later.id, WAITS)?;
    drop(holder);
    ensure!(later.errno()? == 0);
    // Tables that are locked for writing, too.
    first.query_drop("LOCK TABLES t WRITE")?;
    let flush = Aside::waits(&server, &mut watcher, "FLUSH TABLES WITH READ LOCK", WAITS)?;
    first.query_drop("INSERT INTO t VALUES (4, 4)")?;
    watcher.query_drop(format!("KILL QUERY {}", flush.id))?;
    ensure!(flush.errno()? == 1317);
    ensure!(errno(first.query_drop("FLUSH TABLES WITH READ LOCK"))? == 1192);
    // Who would close a circle is the victim.
    first.query_drop("UNLOCK TABLES; DO GET_LOCK('gate', 0)")?;
    let running = "UPDATE t SET v = v + GET_LOCK('gate', -1) WHERE id = 1";
    let running = Aside::waits(&server, &mut watcher, running, "User lock")?;
    ensure!(errno(first.query_drop("FLUSH TABLES WITH READ LOCK"))? == 1213);
    first.query_drop("DO RELEASE_LOCK('gate')")?;
    ensure!(running.errno()? == 0);
    Ok(())
}

/// What a dump relies on: the rows are those at the position, and neither moves.
#[test]
fn under_the_read_lock_position_and_rows_stand_still() -> Result<()> {
    let (_folder, server, mut first) = server()?;
    let mut reader = server.connect_to("d")?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..6 {
        let (mut conn, stop) = (server.connect_to("d")?, stop.clone());
        writers.push(thread::spawn(move || -> Result<()> {
            let mut id = 1000 * (writer + 1);
            while !stop.load(Ordering::Relaxed) {
                id += 1;
                let insert = format!("INSERT INTO u VALUES ({id}, 0)");
                match writer % 2 {
                    0 => conn.query_drop(insert)?,
                    _ => conn.query_drop(format!("BEGIN; {insert}; COMMIT"))?,
                }
            }
            Ok(())
        }));
    }
    let mut seen = Vec::new();
    for _ in 0..40 {
        first.query_drop("FLUSH TABLES WITH READ LOCK")?;
        let at = binlog_end(&mut first)?;
        let count: u64 = reader.query_first("SELECT COUNT(*) FROM u")?.context("a count")?;
        thread::sleep(Duration::from_millis(2));
        ensure!(binlog_end(&mut reader)? == at, "the position moved");
        let later: u64 = first.query_first("SELECT COUNT(*) FROM u")?.context("a count")?;
        ensure!(later == count, "{count} rows became {later}");
        first.query_drop("UNLOCK TABLES")?;
        seen.push((at, count));
        wait_until("more rows", || {
            let now: Option<u64> = reader.query_first("SELECT COUNT(*) FROM u")?;
            Ok(now > Some(count))
        })?;
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().expect("no panic")?;
    }
    ensure!(seen.windows(2).all(|pair| pair[0].0 != pair[1].0 && pair[0].1 < pair[1].1), "{seen:?}");
    Ok(())
}

#[test]
fn tables_can_be_flushed_and_locked_for_reading_alone() -> Result<()> {
    const WAITS: &str = "Waiting for table metadata lock";
    let (_folder, server, mut first) = server()?;
    let mut watcher = server.connect_to("d")?;
    first.query_drop("FLUSH TABLES t WITH READ LOCK")?;
    for (sql, answer) in [
        ("SELECT * FROM t", 0),
        ("SELECT * FROM u", 1100),
        ("UPDATE t SET v = 1", 1099),
        ("UPDATE u SET v = 1", 1100),
        ("EXPLAIN SELECT * FROM u", 1100),
        ("EXPLAIN UPDATE t SET v = 1", 1099),
        ("EXPLAIN SELECT * FROM t AS x", 1100),
        ("FLUSH TABLES t", 1099),
        ("FLUSH TABLES u", 1100),
        ("FLUSH TABLES", 1099),
        ("FLUSH TABLES u WITH READ LOCK", 1192),
        ("FLUSH TABLES WITH READ LOCK", 1192),
        ("CREATE TABLE z (id INT)", 1100),
    ] {
        ensure!(errno(first.query_drop(sql))? == answer, "{sql}");
    }
    ensure!(value(&mut watcher, 1)? == 1);
    let writer = Aside::waits(&server, &mut watcher, "UPDATE t SET v = 2 WHERE id = 1", WAITS)?;
    let flush = Aside::waits(&server, &mut watcher, "FLUSH TABLES u, t WITH READ LOCK", WAITS)?;
    first.query_drop("UNLOCK TABLES")?;
    let (mut second, result) = flush.end();
    ensure!(errno(result)? == 0);
    second.query_drop("UNLOCK TABLES")?;
    ensure!(writer.errno()? == 0);
    for (sql, answer) in [
        ("FLUSH TABLES t FOR EXPORT", 1235),
        ("FLUSH TABLES FOR EXPORT", 1064),
        ("FLUSH TABLES nowhere WITH READ LOCK", 1146),
        ("FLUSH TABLES nowhere, nowhere.t", 0),
        ("FLUSH TABLES t, t WITH READ LOCK", 1066),
        ("FLUSH TABLES information_schema.tables WITH READ LOCK", 1044),
        ("FLUSH TABLES mysql.user WITH READ LOCK", 0),
        ("FLUSH NO_WRITE_TO_BINLOG TABLE t WITH READ LOCK", 0),
        ("BEGIN", 0),
        ("UPDATE t SET v = 3 WHERE id = 1", 0),
        ("COMMIT", 0),
        ("LOCK TABLES t WRITE, u READ", 0),
        ("FLUSH TABLES t", 0),
        ("FLUSH TABLES u", 1099),
        ("FLUSH TABLES", 1099),
        ("LOCK TABLES t WRITE", 0),
        ("FLUSH TABLES", 0),
        ("SELECT * FROM t", 0),
        ("SELECT * FROM u", 1100),
    ] {
        ensure!(errno(first.query_drop(sql))? == answer, "{sql}");
    }
    // It waits for open transactions that have written.
    first.query_drop("UNLOCK TABLES; BEGIN; UPDATE t SET v = 4 WHERE id = 1")?;
    let flush = Aside::waits(&server, &mut watcher, "FLUSH TABLES t WITH READ LOCK", WAITS)?;
    first.query_drop("COMMIT")?;
    ensure!(flush.errno()? == 0);
    Ok(())
}
