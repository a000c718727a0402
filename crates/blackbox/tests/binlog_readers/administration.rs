//! What an operator sees of the binlog, and removes; functions about GTIDs.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

use crate::reader::{Reader, status};

fn errno<T: std::fmt::Debug>(result: mysql::Result<T>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("an error was expected: {other:?}"),
    }
}

fn texts(conn: &mut Conn, sql: &str) -> Result<Vec<Vec<String>>> {
    let text = |value: Value| match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => format!("{other:?}"),
    };
    let rows: Vec<mysql::Row> = conn.query(sql)?;
    Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect())
}

fn files(server: &Server) -> Result<Vec<String>> {
    Ok(texts(&mut server.connect()?, "SHOW BINARY LOGS")?.into_iter().map(|mut row| row.remove(0)).collect())
}

#[test]
fn events_are_shown_from_any_file() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    let uuid: String = conn.query_first("SELECT @@server_uuid")?.context("a uuid")?;
    let (first, begin) = status(&server)?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("USE d")?;
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY)")?;
    conn.query_drop("INSERT INTO t VALUES (1)")?;
    conn.query_drop("FLUSH BINARY LOGS")?;
    conn.query_drop("DELETE FROM t")?;
    let (second, end) = status(&server)?;
    let shown = |rows: &[Vec<String>]| -> Vec<(String, String)> {
        let without_numbers = |info: &str| match info.split_once(" /* xid=") {
            Some((commit, _)) => commit.to_owned(),
            None => info.replace(|letter: char| letter.is_ascii_digit(), "").replace("table_id: ", ""),
        };
        rows.iter().map(|row| (row[2].clone(), without_numbers(&row[5]))).collect()
    };
    let all = texts(&mut conn, "SHOW BINLOG EVENTS")?;
    let gtid = |gno: u64| format!("SET @@SESSION.GTID_NEXT= '{uuid}:{gno}'");
    assert!(all.iter().all(|row| row[0] == first && row[3] == "1"));
    assert_eq!((all[0][1].as_str(), all[0][2].as_str()), ("4", "Format_desc"));
    assert!(all[0][5].starts_with("Server ver: 8.0.40-cohort, Binlog ver: 4"), "{:?}", all[0]);
    assert!(all.windows(2).all(|pair| pair[0][4] == pair[1][1]), "each begins where the one before ends: {all:?}");
    let kinds: Vec<(String, String)> = shown(&all[2..]);
    let expected = [
        ("Gtid", gtid(1)),
        ("Query", "CREATE DATABASE d".to_owned()),
        ("Gtid", gtid(2)),
        ("Query", "use `d`; CREATE TABLE t (id INT PRIMARY KEY)".to_owned()),
        ("Gtid", gtid(3)),
        ("Query", "BEGIN".to_owned()),
        ("Table_map", " (d.t)".to_owned()),
        ("Write_rows", " flags: STMT_END_F".to_owned()),
        ("Xid", "COMMIT".to_owned()),
        ("Rotate", format!("{second};pos=4")),
    ];
    let expected: Vec<(String, String)> = expected
        .into_iter()
        .map(|(kind, info)| (kind.to_owned(), info.replace(|letter: char| letter.is_ascii_digit(), "")))
        .collect();
    assert_eq!(kinds, expected);
    let limited = texts(&mut conn, &format!("SHOW BINLOG EVENTS FROM {begin} LIMIT 1, 2"))?;
    assert_eq!(limited, all[3..5]);
    let of_second = texts(&mut conn, &format!("SHOW BINLOG EVENTS IN '{second}'"))?;
    assert_eq!(of_second.last().context("events")?[4], end.to_string());
    assert_eq!(of_second[1][5], format!("{uuid}:1-3"));
    for sql in ["IN 'binlog.000099'", &format!("FROM {}", begin + 1), "FROM 99999999"] {
        assert_eq!(errno(conn.query_drop(format!("SHOW BINLOG EVENTS {sql}"))), 1220, "{sql}");
    }
    server.stop().map(drop)
}

#[test]
fn old_files_are_purged_by_time_and_by_age() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); FLUSH BINARY LOGS")?;
    conn.query_drop("CREATE DATABASE e; FLUSH BINARY LOGS")?;
    let before = files(&server)?;
    conn.query_drop("BEGIN; INSERT INTO d.t VALUES (1)")?;
    conn.query_drop("PURGE BINARY LOGS BEFORE NOW() - INTERVAL 1 HOUR")?;
    assert_eq!(errno(conn.query_drop("PURGE BINARY LOGS TO 'nothing'")), 1373);
    conn.query_drop("ROLLBACK")?;
    assert_eq!(conn.query_first::<u64, _>("SELECT COUNT(*) FROM d.t")?, Some(0), "it is no commit");
    conn.query_drop("PURGE MASTER LOGS BEFORE '2001-01-01 00:00:00'")?;
    assert_eq!(files(&server)?, before);
    conn.query_drop("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 HOUR")?;
    let last = before.last().context("a file")?;
    assert_eq!(files(&server)?, std::slice::from_ref(last), "the current one stays");
    let purged: String = conn.query_first("SELECT @@GLOBAL.gtid_purged = @@GLOBAL.gtid_executed")?.context("a row")?;
    assert_eq!(purged, "1");

    assert_eq!(conn.query_first::<u64, _>("SELECT @@GLOBAL.binlog_expire_logs_seconds")?, Some(2_592_000));
    conn.query_drop("SET GLOBAL binlog_expire_logs_seconds = 1")?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while files(&server)?.contains(last) {
        ensure!(Instant::now() < deadline, "{last} is older than a second and was not purged");
        std::thread::sleep(Duration::from_millis(300));
        conn.query_drop("FLUSH BINARY LOGS")?;
    }
    server.stop().map(drop)
}

#[test]
fn the_oldest_of_too_large_files_are_purged() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v TEXT)")?;
    for id in 0..4 {
        conn.query_drop(format!("INSERT INTO d.t VALUES ({id}, REPEAT('x', 10000)); FLUSH BINARY LOGS"))?;
    }
    let all = files(&server)?;
    ensure!(all.len() == 5, "the files are {all:?}");
    conn.query_drop("SET GLOBAL max_binlog_total_size = 25000")?;
    conn.query_drop("FLUSH BINARY LOGS")?;
    assert_eq!(files(&server)?[..3], all[2..], "two of 10,000 bytes, and those that are nearly empty");
    conn.query_drop("SET GLOBAL max_binlog_total_size = 1; FLUSH BINARY LOGS")?;
    assert_eq!(files(&server)?, [status(&server)?.0]);
    server.stop().map(drop)
}

#[test]
fn a_set_of_gtids_can_be_waited_for() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    let uuid: String = conn.query_first("SELECT @@server_uuid")?.context("a uuid")?;
    conn.query_drop("CREATE DATABASE d")?;
    let wait = |conn: &mut Conn, set: &str, more: &str| -> mysql::Result<Option<u64>> {
        conn.query_first(format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{set}'{more})"))
    };
    assert_eq!(wait(&mut conn, &format!("{uuid}:1"), "")?, Some(0));
    assert_eq!(wait(&mut conn, &format!("{uuid}:1-2"), ", 0.2")?, Some(1));
    assert_eq!(errno(wait(&mut conn, "no set", "")), 1772);
    assert_eq!(errno(wait(&mut conn, "", ", -1")), 1210);
    // One waits, on the only worker; another commits.
    let mut waiting = server.connect()?;
    let set = format!("{uuid}:1-3");
    std::thread::scope(|scope| -> Result<()> {
        let waited = scope.spawn(|| wait(&mut waiting, &set, ", 30"));
        conn.query_drop("CREATE DATABASE e")?;
        conn.query_drop("CREATE DATABASE f")?;
        assert_eq!(waited.join().expect("no panic")?, Some(0));
        Ok(())
    })?;
    let id: u64 = waiting.query_first("SELECT CONNECTION_ID()")?.context("an id")?;
    let set = format!("{uuid}:1-4");
    std::thread::scope(|scope| -> Result<()> {
        let waited = scope.spawn(|| wait(&mut waiting, &set, ", 60"));
        let deadline = Instant::now() + Duration::from_secs(30);
        let waits = |row: &Vec<String>| row[0] == id.to_string() && row[7].contains("WAIT_FOR");
        while !texts(&mut conn, "SHOW PROCESSLIST")?.iter().any(waits) {
            ensure!(Instant::now() < deadline, "it does not wait");
        }
        conn.query_drop(format!("KILL QUERY {id}"))?;
        assert_eq!(errno(waited.join().expect("no panic")), 1317);
        Ok(())
    })?;
    server.stop().map(drop)
}

#[test]
fn the_ok_of_a_commit_says_its_gtid_to_those_who_ask() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut reader = Reader::tracking(&server)?;
    let uuid: String = server.connect()?.query_first("SELECT @@server_uuid")?.context("a uuid")?;
    reader.query("CREATE DATABASE d")?;
    reader.query("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    reader.query("SET session_track_gtids = OWN_GTID")?;
    let mut gtids = |sql: &str| -> Result<Option<String>> {
        let answer = reader.answer(sql)?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        Ok(text.find(&uuid).map(|at| text[at + uuid.len() + 1..].to_owned()))
    };
    assert_eq!(gtids("INSERT INTO d.t VALUES (1)")?.as_deref(), Some("3"));
    assert_eq!(gtids("BEGIN")?, None);
    assert_eq!(gtids("INSERT INTO d.t VALUES (2)")?, None, "it is not committed");
    assert_eq!(gtids("COMMIT")?.as_deref(), Some("4"));
    assert_eq!(gtids("DO 1")?, None);
    assert_eq!(gtids("CREATE TABLE d.u (id INT PRIMARY KEY)")?.as_deref(), Some("5"));
    gtids("SET session_track_gtids = ALL_GTIDS")?;
    assert_eq!(gtids("DELETE FROM d.t")?.as_deref(), Some("1-6"));
    gtids("SET session_track_gtids = OFF")?;
    assert_eq!(gtids("INSERT INTO d.t VALUES (3)")?, None);
    let server = server.stop()?.option("--gtid-mode=OFF").start()?;
    let mut reader = Reader::tracking(&server)?;
    reader.query("SET session_track_gtids = ALL_GTIDS")?;
    let answer = reader.answer("INSERT INTO d.t VALUES (4)")?;
    assert!(!String::from_utf8_lossy(&answer).contains(&uuid), "an anonymous transaction has none");
    server.stop().map(drop)
}
