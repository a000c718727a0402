//! A hundred clients that want all the memory there is, and statements that go on for long.

use std::sync::Barrier;
use std::thread;

use anyhow::{Context, Result};
use cohort_blackbox::{Launch, Server, wait_until};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::wire::Wire;

/// What a machine may have whose server gets the limits below, bytes.
const MACHINE: u64 = 1 << 30;

/// A line of what the system knows of the server's memory, in bytes.
fn memory_bytes(server: &Server, what: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("no such line")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}

/// What one client does, by its number; every error is an answer.
fn grab(server: &Server, number: usize) {
    let Ok(mut conn) = server.connect_to("d") else { return };
    let long = "x".repeat(3 << 20);
    let ones = vec!["1"; 100_000].join(",");
    let columns = vec!["REPEAT('x', 30000000)"; 100].join(",");
    for round in 0..3 {
        let sql = match (number + round) % 12 {
            0 => format!("SELECT {columns}"),
            1 => format!("SELECT {}'\\\\'{}", "HEX(".repeat(28), ")".repeat(28)),
            2 => format!("SET @a = REPEAT('x', 60000000), @b = REPEAT('x', 60000000), @c{number} = '{long}'"),
            3 => format!("SELECT COUNT(*) FROM t WHERE id IN ({ones})"),
            4 => "SELECT a.* FROM t a ORDER BY CONCAT(a.v, REPEAT('x', 10000)) LIMIT 1".to_owned(),
            5 => format!("INSERT INTO t VALUES ({}, '{long}')", 10_000 + number * 10 + round),
            6 => "BEGIN; UPDATE t SET v = REPEAT('y', 200)".to_owned(),
            7 => format!("SELECT {}", vec!["@a"; 1000].join(",")),
            8 => format!("SELECT {ones}"),
            9 => "SELECT REPLACE(REPEAT('x', 5000000), 'x', REPEAT('y', 10))".to_owned(),
            10 => "SELECT DISTINCT CONCAT(v, id, REPEAT('z', 5000)) FROM t".to_owned(),
            _ => format!("SELECT CONCAT({})", vec!["REPEAT('x', 900000)"; 70].join(",")),
        };
        if conn.query_drop(sql).is_err() && conn.query_drop("DO 1").is_err() {
            match server.connect_to("d") {
                Ok(fresh) => conn = fresh,
                Err(_) => return,
            }
        }
    }
}

/// What a start on a machine of 1 GiB settles as limits, handed over, and the peak measured: a limit of this very test's
/// control group would need rights that it may not have.
#[test]
fn a_server_of_a_gigabyte_survives_any_hundred_clients() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data"))
        .option(format!("--global-connection-memory-limit={}", MACHINE / 8 * 3))
        .option("--net-write-timeout=5")
        .start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v LONGTEXT)")?;
    let rows: Vec<String> = (0..3000).map(|id| format!("({id}, REPEAT('v', 200))")).collect();
    conn.query_drop(format!("INSERT INTO d.t VALUES {}", rows.join(",")))?;
    let mut half_sent = Vec::new();
    for _ in 0..30 {
        // Announces 15 MB, sends half of it and waits.
        let mut wire = Wire::log_in(server.port())?;
        wire.send_raw(&[0, 0, 0xf0, 0])?;
        // One that is refused has ended.
        let _ = wire.send_raw(&vec![b'x'; 8 << 20]);
        half_sent.push(wire);
    }
    thread::scope(|scope| {
        for number in 0..70 {
            let server = &server;
            scope.spawn(move || grab(server, number));
        }
    });
    drop(half_sent);
    let peak = memory_bytes(&server, "VmHWM:")?;
    println!("peak: {} MB", peak >> 20);
    assert!(peak < MACHINE, "{} MB", peak >> 20);
    // Nothing stays of it.
    let mut conn = server.connect()?;
    assert_eq!(conn.query_first::<i32, _>("SELECT 1 + 1")?, Some(2));
    Ok(())
}

/// All commit at the same time what they could change.
#[test]
fn a_server_of_a_gigabyte_survives_large_transactions() -> Result<()> {
    const CLIENTS: usize = 4;
    let folder = tempfile::tempdir()?;
    let limit = MACHINE / 8 * 3;
    let server =
        Launch::new(folder.path().join("data")).option(format!("--global-connection-memory-limit={limit}")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v TEXT)")?;
    let ready = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (server, ready) = (&server, &ready);
            scope.spawn(move || {
                let mut conn = server.connect_to("d").expect("a connection");
                conn.query_drop("BEGIN").expect("a transaction");
                for statement in 0..19 {
                    let first = client * 100_000 + statement * 75;
                    let rows: Vec<_> = (first..first + 75).map(|id| format!("({id}, REPEAT('q', 60000))")).collect();
                    if conn.query_drop(format!("INSERT INTO t VALUES {}", rows.join(","))).is_err() {
                        break;
                    }
                }
                ready.wait();
                // One that took too much has no connection any more.
                let _ = conn.query_drop("COMMIT");
            });
        }
    });
    let peak = memory_bytes(&server, "VmHWM:")?;
    println!("peak: {} MB", peak >> 20);
    assert!(peak < MACHINE, "{} MB", peak >> 20);
    Ok(())
}

#[test]
fn idle_sessions_keep_nothing_of_a_long_statement() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let long = format!("SELECT 1 WHERE 1 IN (2{})", ",12".repeat(200_000));
    let mut held: Vec<Conn> = Vec::new();
    let run = |held: &mut Vec<Conn>| -> Result<()> {
        let mut conn = server.connect()?;
        conn.query_drop(&long)?;
        held.push(conn);
        Ok(())
    };
    // What the allocator keeps comes with the first of them.
    for _ in 0..4 {
        run(&mut held)?;
    }
    let before = server.usage()?.resident_bytes;
    for _ in 0..12 {
        run(&mut held)?;
    }
    let more = server.usage()?.resident_bytes.saturating_sub(before) >> 20;
    assert!(more < 100, "{more} MB for twelve sessions");
    Ok(())
}

/// Plans of statements that no two are the same stay for a while, all of them together within bounds.
#[test]
fn plans_that_are_kept_have_a_limit() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (a INT PRIMARY KEY, b INT)")?;
    let before = server.usage()?.resident_bytes;
    for number in 0..500 {
        let sums = vec!["a+b"; 1950].join(",");
        conn.query_drop(format!("SELECT a AS c{number},{sums} FROM d.t WHERE a = 1"))?;
    }
    let more = server.usage()?.resident_bytes.saturating_sub(before) >> 20;
    assert!(more < 160, "{more} MB");
    Ok(())
}

#[test]
fn few_words_name_no_more_columns_than_there_is_room_for() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    let columns = |count: usize| (0..count).map(|at| format!("c{at} INT")).collect::<Vec<_>>().join(",");
    conn.query_drop(format!("CREATE TABLE d.w ({})", columns(4000)))?;
    for sql in
        [format!("SELECT {} FROM d.w", vec!["w.*"; 1000].join(",")), format!("CREATE TABLE d.x ({})", columns(100_000))]
    {
        match conn.query_drop(&sql) {
            Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1117),
            other => panic!("{}: {other:?}", &sql[..40]),
        }
    }
    conn.query_drop(format!("SELECT {} FROM d.w", vec!["w.*"; 16].join(",")))?;
    let peak = memory_bytes(&server, "VmHWM:")? >> 20;
    assert!(peak < 400, "{peak} MB");
    Ok(())
}

#[test]
fn long_texts_are_compared_in_little_more_than_their_own_memory() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    let equal: Option<i32> = conn.query_first("SELECT REPEAT('ä', 8000000) = REPEAT('Ä', 8000000)")?;
    assert_eq!(equal, Some(1));
    let peak = memory_bytes(&server, "VmHWM:")? >> 20;
    assert!(peak < 200, "{peak} MB");
    Ok(())
}

#[test]
fn a_kill_ends_what_computes_for_long() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut admin = server.connect()?;
    for sql in [
        "SELECT LOCATE(CONCAT(REPEAT('ä', 400000), 'b'), REPEAT('ä', 800000))".to_owned(),
        "SELECT REPEAT('a', 4000000) LIKE CONCAT('%', REPEAT('a', 2000000), 'b')".to_owned(),
        "SELECT FIND_IN_SET(REPEAT('ä', 400000), REPEAT(',', 800000))".to_owned(),
        "SELECT SLEEP(1000)".to_owned(),
    ] {
        let mut conn = server.connect()?;
        let id: u64 = conn.query_first("SELECT CONNECTION_ID()")?.context("an id")?;
        let statement = sql.clone();
        // Not scoped: an assertion that fails here ends the server, and so the statement.
        let runs = thread::spawn(move || conn.query_drop(statement));
        wait_until("the statement runs", || {
            let list: Vec<mysql::Row> = admin.query("SHOW PROCESSLIST")?;
            let info = |row: &mysql::Row| row.get::<Option<String>, _>("Info").flatten().unwrap_or_default();
            // The statement before may still be there, with its answer sent; a KILL of that one is not for this.
            let runs_it = |row: &mysql::Row| {
                row.get::<u64, _>("Id") == Some(id) && sql.starts_with(&info(row)) && !info(row).is_empty()
            };
            Ok(runs.is_finished() || list.iter().any(runs_it))
        })?;
        admin.query_drop(format!("KILL QUERY {id}"))?;
        wait_until(&format!("the end of {sql}"), || Ok(runs.is_finished()))?;
        match runs.join().expect("no panic") {
            Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1317, "{sql}"),
            // SLEEP says so as a value; what was quick had nothing to be killed.
            Ok(()) => {}
            Err(other) => panic!("{sql}: {other}"),
        }
    }
    crate::serves_on(&server)
}

#[test]
fn what_is_linear_takes_no_time() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("SET max_execution_time = 20000")?;
    for (sql, expected) in [
        ("SELECT INSTR(REPEAT('a', 1600000), CONCAT(REPEAT('A', 800000), 'b'))", Some(0)),
        ("SELECT INSTR(CONCAT(REPEAT('a', 1600000), 'B'), CONCAT(REPEAT('A', 800000), 'b'))", Some(800_001)),
        ("SELECT LOCATE(BINARY 'ab', BINARY 'xxabab', 4)", Some(5)),
        ("SELECT LOCATE('ä', 'xÄxä' COLLATE utf8mb4_bin)", Some(4)),
        ("SELECT LOCATE('', 'abc', 2)", Some(2)),
        ("SELECT LENGTH(REPLACE(REPEAT('a', 1600000), CONCAT(REPEAT('a', 800000), 'b'), ''))", Some(1_600_000)),
        ("SELECT LENGTH(REPLACE(REPEAT('ab', 1000000), 'ab', 'abc'))", Some(3_000_000)),
        ("SELECT LENGTH(SUBSTRING_INDEX(REPEAT('ab', 1000000), 'ba', -3))", Some(5)),
        ("SELECT LENGTH(SUBSTRING_INDEX(REPEAT('ab', 1000000), 'ba', 3))", Some(5)),
        ("SELECT LENGTH(HEX(REPEAT('a', 40000000)))", None),
    ] {
        let found: Option<Option<u64>> = conn.query_first(sql)?;
        assert_eq!(found.flatten(), expected, "{sql}");
    }
    let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS")?;
    assert_eq!(warnings.iter().map(|(_, code, _)| *code).collect::<Vec<_>>(), [1301]);
    let zeros = format!("SELECT {}1", "\0".repeat(400_000));
    assert!(conn.query_drop(zeros).is_err());
    Ok(())
}

#[test]
fn a_select_ends_when_its_time_is_over() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let (mut conn, mut other) = (server.connect()?, server.connect()?);
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    conn.query_drop("INSERT INTO d.t VALUES (1), (2)")?;
    conn.query_drop("SET max_execution_time = 300")?;
    let slow = "BENCHMARK(1000000000, MD5('a'))";
    let error = |outcome: mysql::Result<()>| match outcome {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.state),
        other => panic!("{other:?}"),
    };
    let timeout = (3024, "HY000".to_owned());
    assert_eq!(error(conn.query_drop(format!("SELECT {slow}"))), timeout);
    assert_eq!(error(conn.exec_drop(format!("SELECT {slow} = ?"), (1,))), timeout);
    // A wait for a lock is over as well, and the transaction goes on.
    other.query_drop("BEGIN")?;
    other.query_drop("SELECT * FROM d.t WHERE id = 1 FOR UPDATE")?;
    conn.query_drop("BEGIN")?;
    conn.query_drop("UPDATE d.t SET id = 3 WHERE id = 2")?;
    assert_eq!(error(conn.query_drop("SELECT * FROM d.t WHERE id = 1 FOR UPDATE")), timeout);
    conn.query_drop("UPDATE d.t SET id = 4 WHERE id = 3")?;
    conn.query_drop("COMMIT")?;
    other.query_drop("COMMIT")?;
    assert_eq!(conn.query_first::<u64, _>("SELECT SUM(id) FROM d.t")?, Some(5));
    // It is for SELECT only.
    conn.query_drop("DO SLEEP(0.5)")?;
    Ok(())
}

/// The limits are higher here than what there is: the process may take only a little more address space than it has.
#[test]
fn a_string_for_which_there_is_no_memory_is_1037_and_the_server_goes_on() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("SET GLOBAL max_allowed_packet = 1073741824")?;
    let mut conn = server.connect()?;
    let limit = memory_bytes(&server, "VmSize:")? + (256 << 20);
    let pid = rustix::process::Pid::from_raw(i32::try_from(server.pid())?);
    let limits = rustix::process::Rlimit { current: Some(limit), maximum: Some(limit) };
    rustix::process::prlimit(pid, rustix::process::Resource::As, limits)?;
    for sql in ["SELECT LENGTH(REPEAT('x', 500000000))", "SET @a = REPEAT('x', 500000000)"] {
        let error = conn.query_drop(sql).expect_err("there is not so much");
        assert!(error.to_string().contains("1037"), "{error}");
    }
    let length: Option<u64> = conn.query_first("SELECT LENGTH(REPEAT('x', 5000000))")?;
    assert_eq!(length, Some(5_000_000));
    Ok(())
}
