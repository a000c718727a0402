//! A dump under load that names its position in the binlog, and a replica that goes on from there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::tool::tool_with_input;
use cohort_blackbox::{Launch, MariaDb, Server, tool};
use mysql::prelude::Queryable;

use crate::programs::{Replica, rows};
use crate::reader::status;

/// Moves amounts between two tables in different engines until `stop`.
fn load(server: &Server, session: u64, stop: &AtomicBool, commits: &AtomicU64) -> Result<()> {
    let mut conn = server.connect()?;
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let id = session * 1_000_000 + number;
        conn.query_drop("BEGIN")?;
        conn.query_drop(format!("INSERT INTO d.a VALUES ({id}, 'new')"))?;
        conn.query_drop(format!("INSERT INTO d.b VALUES ({id}, X'00')"))?;
        conn.query_drop(format!("UPDATE d.a SET v = CONCAT(v, '+') WHERE id = {}", id - 1))?;
        if number % 10 == 0 {
            conn.query_drop(format!("DELETE FROM d.b WHERE id BETWEEN {} AND {}", id - 5, id - 3))?;
        }
        conn.query_drop("COMMIT")?;
        commits.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

#[test]
fn a_dump_under_load_names_the_position_from_which_a_replica_goes_on() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("not run: mariadb-server is not installed");
        return Ok(());
    }
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path().join("source")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")?;
    conn.query_drop("CREATE TABLE d.a (id INT PRIMARY KEY, v VARCHAR(200))")?;
    conn.query_drop("CREATE TABLE d.b (id INT PRIMARY KEY, v VARBINARY(50)) ENGINE=redb")?;
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let socket = format!("--socket={}", server.socket().display());
    let dump = std::thread::scope(|scope| {
        let sessions: Vec<_> = (1..=3)
            .map(|session| {
                scope.spawn({
                    let (server, stop, commits) = (&server, &stop, &commits);
                    move || load(server, session, stop, commits)
                })
            })
            .collect();
        while commits.load(Ordering::Relaxed) < 200 && !sessions.iter().any(|session| session.is_finished()) {
            std::thread::yield_now();
        }
        let before = commits.load(Ordering::Relaxed);
        let arguments = [
            "--no-defaults",
            "--user=root",
            &socket,
            "--no-tablespaces",
            "--single-transaction",
            "--master-data=2",
            "--databases",
            "d",
        ];
        let dump = tool("mariadb-dump", arguments).and_then(|dump| dump.success());
        // Somebody wrote meanwhile, and goes on.
        while dump.is_ok()
            && commits.load(Ordering::Relaxed) < before + 200
            && !sessions.iter().any(|session| session.is_finished())
        {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        sessions.into_iter().try_for_each(|session| session.join().expect("a session panicked"))?;
        dump
    })?;
    ensure!(dump.complaints().trim().is_empty(), "{}", dump.complaints());
    let text = String::from_utf8_lossy(&dump.stdout).into_owned();
    let place = text.lines().find(|line| line.contains("CHANGE MASTER TO")).context("the dump names no position")?;
    let place = place.trim_start_matches("-- CHANGE MASTER TO ").trim_end_matches(';');
    let (_, end) = status(&server)?;
    ensure!(!place.contains(&format!("MASTER_LOG_POS={end}")), "nothing was written after the dump: {place}");

    let replica = Replica::start(&scratch.path().join("replica"))?;
    let into = format!("--socket={}", replica.server.socket().display());
    tool_with_input("mariadb", ["--no-defaults", "--user=root", &into], dump.stdout.clone())?.success()?;
    replica.follow_from(&server, &format!("{place}, MASTER_USE_GTID=no"))?;
    replica.catch_up(&server)?;
    let mut theirs = replica.server.connect()?;
    for table in ["d.a", "d.b"] {
        assert!(rows(&mut conn, table)? == rows(&mut theirs, table)?, "{table} differs");
    }
    replica.server.stop()?;
    server.stop().map(drop)
}

#[test]
fn a_consistent_snapshot_says_where_it_is() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let (mut conn, mut other) = (server.connect()?, server.connect()?);
    conn.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    let place = |conn: &mut mysql::Conn, scope: &str| -> Result<Vec<String>> {
        let rows: Vec<(String, String)> = conn.query(format!("SHOW {scope} STATUS LIKE 'binlog_snapshot_%'"))?;
        ensure!(rows.len() == 3, "{rows:?}");
        // By name: file, GTIDs, position.
        Ok(rows.into_iter().map(|(_, value)| value).collect())
    };
    let now = |server: &Server| -> Result<Vec<String>> {
        let (file, position) = status(server)?;
        let gtids: String = server.connect()?.query_first("SELECT @@GLOBAL.gtid_executed")?.context("a set")?;
        Ok(vec![file, gtids, position.to_string()])
    };
    let begun = now(&server)?;
    conn.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    other.query_drop("INSERT INTO d.t VALUES (1); FLUSH BINARY LOGS; INSERT INTO d.t VALUES (2)")?;
    assert_eq!(place(&mut conn, "SESSION")?, begun);
    assert_eq!(conn.query_first::<u64, _>("SELECT COUNT(*) FROM d.t")?, Some(0));
    assert_eq!(place(&mut conn, "GLOBAL")?, now(&server)?);
    assert_eq!(place(&mut other, "SESSION")?, now(&server)?);
    conn.query_drop("COMMIT")?;
    assert_eq!(place(&mut conn, "SESSION")?, now(&server)?);
    // Each statement has a snapshot of its own there.
    conn.query_drop("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    other.query_drop("INSERT INTO d.t VALUES (3)")?;
    assert_eq!(place(&mut conn, "SESSION")?, now(&server)?);
    server.stop().map(drop)
}
