//! GTIDs that sessions choose, and the sets that an operator changes.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::server::binary;
use cohort_blackbox::{Launch, Server};
use mysql::Conn;
use mysql::prelude::Queryable;

const SOURCE: &str = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";

fn errno<T: std::fmt::Debug>(result: mysql::Result<T>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("an error was expected: {other:?}"),
    }
}

/// A variable, with the server's own UUID as `own` and [`SOURCE`] as `source`.
fn variable(conn: &mut Conn, name: &str) -> Result<String> {
    let uuid: String = conn.query_first("SELECT @@server_uuid")?.context("a uuid")?;
    let text: String = conn.query_first(format!("SELECT @@{name}"))?.context("a value")?;
    let parts = text.replace(&uuid, "own").replace(SOURCE, "source").replace('\n', "");
    let mut parts: Vec<&str> = parts.split(',').collect();
    parts.sort_unstable();
    Ok(parts.join(" "))
}

fn choose(conn: &mut Conn, gno: u64) -> mysql::Result<()> {
    conn.query_drop(format!("SET SESSION gtid_next = '{SOURCE}:{gno}'"))
}

fn with_table(launch: &Launch) -> Result<(Server, Conn)> {
    let server = launch.start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    Ok((server, conn))
}

#[test]
fn chosen_gtids_are_logged_and_survive_a_kill() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (mut server, mut conn) = with_table(&Launch::new(scratch.path().join("data")))?;
    choose(&mut conn, 5)?;
    let id: u32 = conn.query_first("SELECT CONNECTION_ID()")?.context("an id")?;
    assert_eq!(variable(&mut conn, "SESSION.gtid_owned")?, "source:5");
    assert_eq!(variable(&mut server.connect()?, "GLOBAL.gtid_owned")?, format!("source:5#{id}"));
    conn.query_drop("INSERT INTO d.t VALUES (1)")?;
    assert_eq!(errno(conn.query_drop("INSERT INTO d.t VALUES (2)")), 1837);
    choose(&mut conn, 7)?;
    conn.query_drop("BEGIN; COMMIT")?;
    conn.query_drop("SET gtid_next = AUTOMATIC; INSERT INTO d.t VALUES (3)")?;
    let shown: Vec<mysql::Row> = conn.query("SHOW BINLOG EVENTS")?;
    let shown: Vec<String> = shown.iter().filter_map(|row| row.get(5)).collect();
    assert!(shown.contains(&format!("SET @@SESSION.GTID_NEXT= '{SOURCE}:7'")), "{shown:?}");
    for _ in 0..2 {
        assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "own:1-3 source:5:7");
        server = server.kill_and_restart()?;
        conn = server.connect()?;
    }
    choose(&mut conn, 5)?;
    conn.query_drop("DELETE FROM d.t")?;
    assert_eq!(conn.query::<u32, _>("SELECT id FROM d.t")?, [1, 3], "it was skipped");
    server.stop().map(drop)
}

#[test]
fn an_owned_gtid_is_waited_for_and_goes_with_its_connection() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (server, mut conn) = with_table(&Launch::new(scratch.path()).option("--thread-pool-size=1"))?;
    choose(&mut conn, 1)?;
    let mut second = server.connect()?;
    second.query_drop("SET lock_wait_timeout = 1")?;
    assert_eq!(errno(choose(&mut second, 1)), 1205);
    second.query_drop("SET lock_wait_timeout = 60")?;
    let id: u32 = second.query_first("SELECT CONNECTION_ID()")?.context("an id")?;
    let mut killer = server.connect()?;
    std::thread::scope(|scope| -> Result<()> {
        let waiting = scope.spawn(|| choose(&mut second, 1));
        std::thread::sleep(std::time::Duration::from_millis(300));
        killer.query_drop(format!("KILL QUERY {id}"))?;
        assert_eq!(errno(waiting.join().expect("no panic")), 1317);
        Ok(())
    })?;
    std::thread::scope(|scope| -> Result<()> {
        let waiting = scope.spawn(|| choose(&mut second, 1));
        drop(conn);
        Ok(waiting.join().expect("no panic")?)
    })?;
    assert_eq!(variable(&mut second, "SESSION.gtid_owned")?, "source:1");
    second.reset()?;
    assert_eq!(variable(&mut second, "GLOBAL.gtid_owned")?, "");
    assert_eq!(variable(&mut second, "SESSION.gtid_next")?, "AUTOMATIC");
    drop(second);
    server.stop().map(drop)
}

#[test]
fn who_may_choose_a_gtid() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (server, mut conn) = with_table(&Launch::new(scratch.path()))?;
    for user in ["a", "b"] {
        conn.query_drop(format!("CREATE USER {user} IDENTIFIED WITH mysql_native_password BY 'secret'"))?;
    }
    conn.query_drop("GRANT REPLICATION_APPLIER ON *.* TO b")?;
    let mut without = Conn::new(server.options_as("a", "secret"))?;
    assert_eq!(errno(choose(&mut without, 1)), 1227);
    let mut with = Conn::new(server.options_as("b", "secret"))?;
    choose(&mut with, 1)?;
    with.query_drop("COMMIT")?;
    assert_eq!(errno(conn.query_drop("SET GLOBAL gtid_next = AUTOMATIC")), 1228);
    assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "own:1-5 source:1");
    server.stop().map(drop)
}

#[test]
fn without_a_binlog_there_is_nothing_to_choose() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (server, mut conn) = with_table(&Launch::new(scratch.path()).option("--skip-log-bin"))?;
    assert_eq!(errno(choose(&mut conn, 1)), 1781);
    conn.query_drop("SET gtid_next = AUTOMATIC; INSERT INTO d.t VALUES (1)")?;
    server.stop().map(drop)
}

fn set_purged(conn: &mut Conn, set: &str) -> mysql::Result<()> {
    let set = set.replace("source", SOURCE);
    conn.query_drop(format!("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '{set}'"))
}

fn files(conn: &mut Conn) -> Result<Vec<String>> {
    let rows: Vec<mysql::Row> = conn.query("SHOW BINARY LOGS")?;
    rows.iter().map(|row| row.get(0).context("a name")).collect()
}

#[test]
fn purged_gtids_are_added_and_survive_a_kill() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (mut server, mut conn) = with_table(&Launch::new(scratch.path().join("data")))?;
    set_purged(&mut conn, "source:1-3")?;
    conn.query_drop("INSERT INTO d.t VALUES (1)")?;
    assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "own:1-3 source:1-3");
    let wrong = [
        ("SET GLOBAL gtid_purged = '+source:3-4'", 3546),
        ("SET GLOBAL gtid_purged = 'source:1-2'", 3546),
        ("SET GLOBAL gtid_purged = 'x'", 1231),
        ("SET GLOBAL gtid_purged = NULL", 1231),
        ("SET gtid_purged = 'source:1-9'", 1229),
        ("SET GLOBAL gtid_executed = 'source:1-9'", 1238),
    ];
    for (sql, code) in wrong {
        assert_eq!(errno(conn.query_drop(sql.replace("source", SOURCE))), code, "{sql}");
    }
    choose(&mut conn, 5)?;
    assert_eq!(errno(set_purged(&mut server.connect()?, "source:4-5")), 3546);
    conn.query_drop("ROLLBACK; SET gtid_next = AUTOMATIC")?;
    conn.query_drop(format!("SET GLOBAL gtid_purged = '{SOURCE}:1-3:5'"))?;
    for _ in 0..2 {
        assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "own:1-3 source:1-3:5");
        assert_eq!(variable(&mut conn, "GLOBAL.gtid_purged")?, "source:1-3:5");
        server = server.kill_and_restart()?;
        conn = server.connect()?;
    }
    server.stop().map(drop)
}

#[test]
fn a_reset_leaves_one_file_and_no_gtid_and_a_kill_changes_nothing() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (mut server, mut conn) = with_table(&Launch::new(scratch.path().join("data")))?;
    conn.query_drop("INSERT INTO d.t VALUES (1); FLUSH BINARY LOGS")?;
    set_purged(&mut conn, "source:1-3")?;
    let before = files(&mut conn)?;
    conn.query_drop("RESET MASTER")?;
    let after = files(&mut conn)?;
    assert!(after.len() == 1 && !before.contains(&after[0]), "{before:?}, {after:?}");
    assert_eq!(errno(conn.query_drop("RESET MASTER TO 7")), 1235);
    for _ in 0..2 {
        assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "");
        assert_eq!(variable(&mut conn, "GLOBAL.gtid_purged")?, "");
        server = server.kill_and_restart()?;
        conn = server.connect()?;
    }
    conn.query_drop("INSERT INTO d.t VALUES (2)")?;
    assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "own:1");
    assert_eq!(conn.query::<u32, _>("SELECT id FROM d.t")?, [1, 2], "tables stay");
    conn.query_drop("RESET BINARY LOGS AND GTIDS")?;
    set_purged(&mut conn, "source:1-3")?;
    assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "source:1-3");
    let launch = server.stop()?;
    let checked = Command::new(binary()?).arg("check").arg(launch.datadir()).output()?;
    ensure!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    Ok(())
}

#[test]
fn gtid_mode_stays_on() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (server, mut conn) = with_table(&Launch::new(scratch.path()))?;
    conn.query_drop("SET GLOBAL gtid_mode = ON; SET GLOBAL enforce_gtid_consistency = ON")?;
    for (sql, code) in [
        ("SET GLOBAL gtid_mode = OFF", 1788),
        ("SET GLOBAL gtid_mode = OFF_PERMISSIVE", 1788),
        ("SET GLOBAL gtid_mode = ON_PERMISSIVE", 1235),
        ("SET GLOBAL gtid_mode = 'x'", 1231),
        ("SET GLOBAL enforce_gtid_consistency = WARN", 1779),
        ("SET GLOBAL enforce_gtid_consistency = OFF", 1779),
    ] {
        assert_eq!(errno(conn.query_drop(sql)), code, "{sql}");
    }
    server.stop().map(drop)
}
