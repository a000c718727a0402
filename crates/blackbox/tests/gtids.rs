//! GTIDs that sessions choose, the sets that an operator changes, and transactions without GTIDs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::server::binary;
use cohort_blackbox::{Launch, Server};
use cohort_txn::CommitProtocol;
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
fn gtid_mode_stays_as_it_was_chosen_at_the_start() -> Result<()> {
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

fn shown_gtids(conn: &mut Conn, file: &str) -> Result<Vec<String>> {
    let events: Vec<mysql::Row> = conn.query(format!("SHOW BINLOG EVENTS IN '{file}'"))?;
    let gtids = events.iter().filter(|row| row.get::<String, _>(2).is_some_and(|name| name.ends_with("Gtid")));
    Ok(gtids.filter_map(|row| row.get(5)).collect())
}

/// Transactions of every kind, in both engines. Returns how many there are.
fn transactions_of_each_kind(conn: &mut Conn, id: u32) -> Result<usize> {
    conn.query_drop(format!(
        "INSERT INTO d.t VALUES ({id}); CREATE TABLE d.c{id} ENGINE=redb SELECT * FROM d.t; \
         XA START 'x{id}'; INSERT INTO d.t VALUES ({id} + 1); XA END 'x{id}'; XA PREPARE 'x{id}'; XA COMMIT 'x{id}'; \
         SET binlog_transaction_compression = ON; \
         BEGIN; INSERT INTO d.t VALUES ({id} + 2); INSERT INTO d.c{id} VALUES ({id} + 3); COMMIT; \
         SET binlog_transaction_compression = OFF; \
         INSERT INTO d.c{id} WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 900) \
         SELECT n + {id} * 1000 FROM n"
    ))?;
    Ok(7)
}

#[test]
fn anonymous_transactions_survive_kills_and_numbers_go_on_with_the_next_mode() -> Result<()> {
    for protocol in CommitProtocol::ALL.into_iter().filter(|protocol| protocol.has_binlog()) {
        let scratch = tempfile::tempdir()?;
        let with = Launch::new(scratch.path().join("data")).protocol(protocol).option("--binlog-cache-size=4096");
        let without = with.clone().option("--gtid-mode=OFF");
        let (server, mut conn) = with_table(&with)?;
        let made = transactions_of_each_kind(&mut conn, 10)?;
        let gtids = variable(&mut conn, "GLOBAL.gtid_executed")?;
        assert_eq!(gtids, format!("own:1-{}", 2 + made), "{protocol}");
        server.kill()?;
        let mut server = without.start()?;
        for id in [20, 30] {
            let file = files(&mut server.connect()?)?.pop().context("a file")?;
            let mut conn = server.connect()?;
            let made = transactions_of_each_kind(&mut conn, id)?;
            let anonymous = vec!["SET @@SESSION.GTID_NEXT= 'ANONYMOUS'"; made];
            let mut shown = shown_gtids(&mut conn, &file)?;
            for later in files(&mut conn)?.iter().filter(|name| **name > file) {
                shown.extend(shown_gtids(&mut conn, later)?);
            }
            assert_eq!(shown, anonymous, "{protocol}");
            let status: mysql::Row = conn.query_first("SHOW MASTER STATUS")?.context("a place")?;
            assert_eq!(status.get::<String, _>(4), conn.query_first("SELECT @@GLOBAL.gtid_executed")?);
            assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, gtids, "{protocol}");
            server = server.kill_and_restart()?;
        }
        server.kill()?;
        let server = with.start()?;
        let mut conn = server.connect()?;
        conn.query_drop("INSERT INTO d.t VALUES (40)")?;
        assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, format!("own:1-{}", 3 + made), "{protocol}");
        let ids: Vec<u32> = conn.query("SELECT id FROM d.t ORDER BY id")?;
        assert_eq!(ids, [10, 11, 12, 20, 21, 22, 30, 31, 32, 40], "{protocol}");
        let logged: Vec<PathBuf> = files(&mut conn)?.iter().map(|name| server.datadir().join(name)).collect();
        let launch = server.stop()?;
        let checked = Command::new(binary()?).arg("check").arg(launch.datadir()).output()?;
        ensure!(checked.status.success(), "{protocol}: {}", String::from_utf8_lossy(&checked.stdout));
        let dumped = Command::new(binary()?).args(["binlog", "dump"]).args(&logged).output()?;
        let dumped = String::from_utf8_lossy(&dumped.stdout).into_owned();
        assert_eq!(dumped.matches("ANONYMOUS, ").count(), 2 * made, "{protocol}");
    }
    Ok(())
}

#[test]
fn without_gtids_everything_about_them_answers_as_in_mysql() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("my.cnf");
    std::fs::write(&file, "[mysqld]\ngtid_mode = OFF\nenforce-gtid-consistency = FALSE\n")?;
    let launch = Launch::new(scratch.path().join("data")).option(format!("--defaults-file={}", file.display()));
    let (server, mut conn) = with_table(&launch)?;
    assert_eq!(variable(&mut conn, "GLOBAL.gtid_mode")?, "OFF");
    assert_eq!(variable(&mut conn, "GLOBAL.enforce_gtid_consistency")?, "OFF");
    conn.query_drop(
        "SET GLOBAL gtid_mode = OFF; SET GLOBAL enforce_gtid_consistency = WARN; \
         SET GLOBAL enforce_gtid_consistency = ON; SET GLOBAL enforce_gtid_consistency = OFF",
    )?;
    for (sql, code) in [
        ("SET GLOBAL gtid_mode = ON", 1788),
        ("SET GLOBAL gtid_mode = DEFAULT", 1788),
        ("SET GLOBAL gtid_mode = ON_PERMISSIVE", 1788),
        ("SET GLOBAL gtid_mode = OFF_PERMISSIVE", 1235),
        ("SET gtid_next = 'x'", 1231),
        ("SET gtid_next = 'source:1'", 1781),
        ("SELECT WAIT_FOR_EXECUTED_GTID_SET('')", 3062),
    ] {
        assert_eq!(errno(conn.query_drop(sql.replace("source", SOURCE))), code, "{sql}");
    }
    conn.query_drop("SET gtid_next = ANONYMOUS; INSERT INTO d.t VALUES (1)")?;
    assert_eq!(variable(&mut conn, "SESSION.gtid_next")?, "ANONYMOUS");
    conn.query_drop("SET gtid_next = AUTOMATIC; INSERT INTO d.t VALUES (2)")?;
    set_purged(&mut conn, "source:1-3")?;
    conn.query_drop("INSERT INTO d.t VALUES (3)")?;
    assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "source:1-3");
    drop(conn);
    let server = server.kill_and_restart()?;
    let mut conn = server.connect()?;
    assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "source:1-3");
    assert_eq!(conn.query::<u32, _>("SELECT id FROM d.t")?, [1, 2, 3]);
    conn.query_drop("RESET MASTER; INSERT INTO d.t VALUES (4)")?;
    assert_eq!(variable(&mut conn, "GLOBAL.gtid_executed")?, "");
    server.stop().map(drop)
}

#[test]
fn modes_that_are_not_there_end_the_start() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    for (option, said) in [
        ("--gtid-mode=ON_PERMISSIVE", "--gtid-mode=ON_PERMISSIVE is not supported; only ON and OFF are"),
        ("--gtid-mode=1", "--gtid-mode=OFF_PERMISSIVE is not supported; only ON and OFF are"),
        ("--enforce-gtid-consistency=WARN", "--gtid-mode=ON requires --enforce-gtid-consistency=ON"),
    ] {
        let refusal = Launch::new(scratch.path().join("data")).option(option).start_refused()?;
        assert!(refusal.log.contains(said), "{}", refusal.log);
    }
    Ok(())
}
