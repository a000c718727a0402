//! What a client may use, and how long it may take: beyond that it gets MySQL's error, and nobody else suffers.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use cohort_blackbox::{Launch, Server, wait_until};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Statement};
use rustix::net::sockopt::set_socket_linger;
use rustix::process::{Pid, Signal, kill_process};

use crate::wire::{Answer, Wire, login_as};

fn launch(folder: &tempfile::TempDir) -> Launch {
    Launch::new(folder.path().join("data"))
}

fn status(conn: &mut Conn, name: &str) -> Result<u64> {
    let row: Option<(String, u64)> = conn.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
    Ok(row.with_context(|| format!("no status {name}"))?.1)
}

/// Number and SQLSTATE of the error that something must end with.
fn error<T: std::fmt::Debug>(result: mysql::Result<T>) -> (u16, String) {
    match result {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.state),
        other => panic!("no error of the server: {other:?}"),
    }
}

fn prepare(conn: &mut Conn, count: u32) -> mysql::Result<Vec<Statement>> {
    (0..count).map(|number| conn.prep(format!("SELECT {number} + ?"))).collect()
}

#[test]
fn prepared_statements_have_a_limit_for_the_server_and_one_for_each_session() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = launch(&folder).option("--max-prepared-stmt-count=10").option("--max-session-prepared-stmt-count=6");
    let server = options.start()?;
    let reached = (1461, "42000".to_owned());
    let (mut one, mut two) = (server.connect()?, server.connect()?);
    let mut of_one = prepare(&mut one, 6)?;
    assert_eq!(error(one.prep("SELECT 6 + ?")), reached, "the session's");
    prepare(&mut two, 4)?;
    assert_eq!(error(two.prep("SELECT 4 + ?")), reached, "the server's");
    assert_eq!(status(&mut two, "Prepared_stmt_count")?, 10);
    assert!(two.prep("SELEC 1").is_err());
    one.close(of_one.remove(0))?;
    // A close has no answer; what comes after it has.
    one.query_drop("DO 1")?;
    // What could not be prepared took no place.
    assert!(error(two.prep("SELECT * FROM nosuch.t WHERE a = ?")).0 != reached.0);
    two.prep("SELECT 4 + ?")?;
    assert_eq!(error(one.prep("SELECT 6 + ?")), reached);
    two.reset()?;
    assert_eq!(status(&mut two, "Prepared_stmt_count")?, 5);
    assert_eq!(one.exec_first::<i64, _, _>(&of_one[0], (1,))?, Some(2), "the others are still there");
    drop(one);
    wait_until("the statements of a session that has ended are gone", || {
        Ok(status(&mut two, "Prepared_stmt_count")? == 0)
    })?;
    two.query_drop("SET GLOBAL max_prepared_stmt_count = 0")?;
    assert_eq!(error(two.prep("SELECT 1 + ?")), reached);
    Ok(())
}

/// Connects from `address` and breaks the handshake off; returns when the server has seen that.
fn break_off(server: &Server, admin: &mut Conn, address: [u8; 4]) -> Result<()> {
    let before = status(admin, "Aborted_connects")?;
    drop(Wire::connect_from(address, server.port())?);
    wait_until("the end of a handshake is noticed", || Ok(status(admin, "Aborted_connects")? > before))
}

fn first_answer(server: &Server, address: [u8; 4]) -> Result<Answer> {
    Wire::connect_from(address, server.port())?.answer()
}

fn log_in_from(server: &Server, address: [u8; 4]) -> mysql::Result<Conn> {
    Conn::new(OptsBuilder::from_opts(server.options()).bind_address(Some((address, 0))))
}

#[test]
fn a_host_that_breaks_its_handshakes_off_is_blocked_until_it_is_flushed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = launch(&folder).option("--max-connect-errors=3");
    let server = options.option("--connection-control-failed-connections-threshold=0").start()?;
    let mut admin = server.connect()?;
    let (host, other) = ([127, 0, 0, 2], [127, 0, 0, 3]);
    for _ in 0..2 {
        break_off(&server, &mut admin, host)?;
        break_off(&server, &mut admin, host)?;
        log_in_from(&server, host)?;
    }
    // A wrong password is a whole handshake.
    admin.query_drop("CREATE USER ann IDENTIFIED BY 'secret'")?;
    for _ in 0..4 {
        let wrong = OptsBuilder::from_opts(server.options_as("ann", "wrong")).bind_address(Some((host, 0)));
        assert_eq!(error(Conn::new(wrong)).0, 1045);
    }
    for ends_by_refresh in [false, true] {
        for _ in 0..3 {
            break_off(&server, &mut admin, host)?;
        }
        assert!(matches!(first_answer(&server, host)?, Answer::Error(1129)));
        assert_eq!(error(log_in_from(&server, host)).0, 1129);
        log_in_from(&server, other)?;
        match ends_by_refresh {
            false => admin.query_drop("FLUSH HOSTS")?,
            true => {
                let mut wire = Wire::log_in(server.port())?;
                wire.send(0, &[0x07, 0x08])?;
                assert!(matches!(wire.answer()?, Answer::Ok));
            }
        }
        log_in_from(&server, host)?;
    }
    // The addresses that MySQL does not count.
    for _ in 0..4 {
        break_off(&server, &mut admin, [127, 0, 0, 1])?;
    }
    server.connect()?;
    Ok(())
}

/// A login of `ann` with a wrong password, whose answer nobody waits for.
fn guess(server: &Server) -> Result<Wire> {
    let mut wire = Wire::connect(server.port())?;
    wire.send(1, &login_as("ann", &[7; 20]))?;
    Ok(wire)
}

#[test]
fn wrong_passwords_in_a_row_wait_and_hold_up_nobody_else() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder)
        .option("--thread-pool-size=1")
        .option("--connection-control-failed-connections-threshold=2")
        .option("--connection-control-min-connection-delay=100000000")
        .option("--connection-control-max-connection-delay=100000000")
        .start()?;
    let mut admin = server.connect()?;
    admin.query_drop("CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'secret'")?;
    for _ in 0..2 {
        assert!(matches!(guess(&server)?.answer()?, Answer::Error(1045)));
    }
    assert_eq!(status(&mut admin, "Connection_control_delay_generated")?, 0);
    let waiting: Vec<Wire> = (0..3).map(|_| guess(&server)).collect::<Result<_>>()?;
    // A connection that is served by a worker changes its user.
    let mut changing = Wire::log_in(server.port())?;
    changing.send(0, b"\x11ann\0\0\0\x2d\0mysql_native_password\0")?;
    wait_until("all of them wait", || Ok(status(&mut admin, "Cohort_logins_waiting")? == 3))?;
    changing.set_patience(Duration::from_secs(60))?;
    assert!(matches!(changing.answer()?, Answer::Rows), "asked for the password");
    changing.send(2, &[7; 20])?;
    wait_until("this one too", || Ok(status(&mut admin, "Cohort_logins_waiting")? == 4))?;
    assert_eq!(server.connect()?.query_first::<i32, _>("SELECT 1 + 1")?, Some(2), "others are served");
    assert_eq!(status(&mut admin, "Connection_control_delay_generated")?, 4);
    drop(waiting);
    drop(changing);
    wait_until("who has gone waits no longer", || Ok(status(&mut admin, "Cohort_logins_waiting")? == 0))?;
    // The right password would wait as well; setting the threshold forgets the wrong ones.
    admin.query_drop("SET GLOBAL connection_control_failed_connections_threshold = 2")?;
    let options =
        OptsBuilder::from_opts(server.options_as("ann", "secret")).read_timeout(Some(Duration::from_secs(30)));
    Conn::new(options)?;
    for _ in 0..2 {
        assert!(matches!(guess(&server)?.answer()?, Answer::Error(1045)));
    }
    let _waiting = guess(&server)?;
    wait_until("it waits", || Ok(status(&mut admin, "Cohort_logins_waiting")? == 1))?;
    server.stop()?;
    Ok(())
}

/// Sends `bytes` one at a time until the server has answered, at most all of them.
fn trickle(wire: &mut Wire, bytes: &[u8]) -> Result<Answer> {
    wire.set_patience(Duration::from_millis(50))?;
    for byte in bytes {
        if wire.send_raw(&[*byte]).is_err() {
            return Ok(Answer::Closed);
        }
        if let Ok(answer) = wire.answer() {
            return Ok(answer);
        }
    }
    anyhow::bail!("all {} bytes were taken", bytes.len())
}

#[test]
fn a_client_that_trickles_is_ended_before_and_after_its_login() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--connect-timeout=2").option("--net-read-timeout=1").start()?;
    let bytes = [&[0xff, 0x0f, 0, 1][..], &[0; 400]].concat();
    let answer = trickle(&mut Wire::connect(server.port())?, &bytes)?;
    assert!(matches!(answer, Answer::Error(1159) | Answer::Closed), "{answer:?}");
    let bytes = [&[0xff, 0xff, 0x0f, 0][..], &[0; 400]].concat();
    let answer = trickle(&mut Wire::log_in(server.port())?, &bytes)?;
    assert!(matches!(answer, Answer::Error(1159) | Answer::Closed), "{answer:?}");
    crate::serves_on(&server)
}

#[test]
fn a_long_packet_may_take_longer_than_the_time_out_while_it_gets_on() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--net-read-timeout=4").start()?;
    let mut wire = Wire::log_in(server.port())?;
    let text = "x".repeat(100_000);
    let statement = format!("\x03SELECT '{text}'");
    let mut packet = (statement.len() as u32).to_le_bytes().to_vec();
    packet.extend(statement.as_bytes());
    for piece in packet.chunks(20 << 10) {
        wire.send_raw(piece)?;
        thread::sleep(Duration::from_millis(1200));
    }
    assert!(matches!(wire.answer()?, Answer::Rows));
    Ok(())
}

#[test]
fn a_client_that_is_not_logged_in_may_send_no_long_packets() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    for header in [[0xff, 0xff, 0xff, 1], [1, 0, 1, 1]] {
        let mut wire = Wire::connect(server.port())?;
        wire.send_raw(&header)?;
        let answer = wire.answer()?;
        assert!(matches!(answer, Answer::Error(1153)), "{answer:?}");
    }
    crate::serves_on(&server)
}

#[test]
fn a_client_that_does_not_take_its_result_is_ended() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--net-write-timeout=1").start()?;
    let mut admin = server.connect()?;
    let mut wire = Wire::log_in(server.port())?;
    // More than the buffers of both sockets hold.
    wire.send(0, b"\x03SELECT REPEAT('x', 60000000)")?;
    wait_until("it is ended", || Ok(status(&mut admin, "Aborted_clients")? == 1))?;
    assert_eq!(status(&mut admin, "Threads_connected")?, 1);
    crate::serves_on(&server)
}

/// The answers of many statements in one packet are written as they are made.
#[test]
fn answers_of_many_statements_do_not_pile_up() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    let columns: Vec<String> = (0..1000).map(|n| format!("a_column_with_a_long_name_{n} INT")).collect();
    conn.query_drop(format!("CREATE TABLE d.wide ({})", columns.join(", ")))?;
    let resident = server.usage()?.resident_bytes;
    let mut results = conn.query_iter("SELECT * FROM d.wide LIMIT 0;".repeat(3000))?;
    // The first has arrived. The columns of all are some 400 MB.
    let more = server.usage()?.resident_bytes.saturating_sub(resident) >> 20;
    assert!(more < 100, "{more} MB more");
    let mut count = 0;
    while results.iter().is_some() {
        count += 1;
    }
    assert_eq!(count, 3000);
    Ok(())
}

/// A server with 10,000 rows of some 200 bytes in `d.t`.
fn with_rows(folder: &tempfile::TempDir) -> Result<Server> {
    let server = launch(folder).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(300))")?;
    for hundred in 0..100 {
        let rows: Vec<String> = (0..100).map(|n| format!("({}, REPEAT('v', 200))", hundred * 100 + n)).collect();
        conn.query_drop(format!("INSERT INTO d.t VALUES {}", rows.join(",")))?;
    }
    Ok(server)
}

/// A connection that may hold 2 MiB.
fn limited(server: &Server) -> Result<Conn> {
    let mut conn = server.connect_to("d")?;
    conn.query_drop("SET SESSION connection_memory_limit = 2097152")?;
    Ok(conn)
}

#[test]
fn a_statement_that_would_hold_too_much_memory_is_4082_and_changes_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = with_rows(&folder)?;
    let ones = vec!["1"; 20_000].join(",");
    let numbers: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let rows: Vec<String> = (0..15_000).map(|n| format!("({}, 'x')", 20_000 + n)).collect();
    let large: Vec<String> = (0..3000).map(|n| format!("({}, REPEAT('x', 300))", 20_000 + n)).collect();
    for sql in [
        "SELECT id FROM t FOR UPDATE",
        "INSERT INTO t SELECT id + 20000, v FROM t",
        "UPDATE t SET v = 'new'",
        "UPDATE t SET v = 'new' ORDER BY v",
        "DELETE FROM t",
        "SELECT HEX(HEX(HEX(HEX(HEX(HEX(REPEAT('x', 50000)))))))",
        "SELECT REPEAT('x', 700000), REPEAT('y', 700000), REPEAT('z', 700000)",
        "SELECT @large, @large, @large",
        "INSERT INTO t VALUES (20000, REPEAT('x', 3000000))",
        &format!("SELECT {ones}"),
        &format!("DO {ones}"),
        &format!("SELECT id FROM t WHERE id IN ({})", numbers.join(",")),
        &format!("INSERT INTO t VALUES {}", rows.join(",")),
        &format!("INSERT INTO t VALUES {}", large.join(",")),
        "SET @a = REPEAT('x', 3000000)",
    ] {
        let mut conn = limited(&server)?;
        conn.query_drop("SET @large = REPEAT('l', 700000)")?;
        let shown = &sql[..sql.len().min(60)];
        // An error after the first rows counts as well.
        match conn.query::<mysql::Row, _>(sql) {
            Err(mysql::Error::MySqlError(error)) => assert_eq!((error.code, &*error.state), (4082, "HY000"), "{shown}"),
            other => panic!("{shown}: {other:?}"),
        }
        assert!(conn.query_drop("SELECT 1").is_err(), "the connection has ended");
    }
    let mut conn = limited(&server)?;
    // Sorted in files.
    conn.query_drop("CREATE INDEX by_v ON t (v)")?;
    conn.query_drop("ALTER TABLE t ADD UNIQUE by_both (v, id)")?;
    for sql in [
        "SELECT * FROM t",
        "SELECT COUNT(*), MAX(v) FROM t",
        "SELECT DISTINCT v FROM t",
        "SELECT * FROM t ORDER BY id",
        // Beyond what the connection may hold these go to files.
        "SELECT id FROM t ORDER BY CONCAT(v, id) LIMIT 1",
        "SELECT DISTINCT v, id FROM t",
        "SELECT v, id, COUNT(*) FROM t GROUP BY v, id",
        "SELECT COUNT(DISTINCT v, id) FROM t",
    ] {
        for _ in 0..3 {
            conn.query::<mysql::Row, _>(sql)?;
        }
    }
    let state: Option<(u64, u64, String)> = conn.query_first("SELECT COUNT(*), SUM(id), MAX(v) FROM t")?;
    assert_eq!(state, Some((10_000, 49_995_000, "v".repeat(200))));
    crate::serves_on(&server)
}

#[test]
fn what_a_session_keeps_between_statements_counts_until_it_is_given_back() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = with_rows(&folder)?;
    // A transaction grows by small statements, and is gone with the connection.
    let mut conn = limited(&server)?;
    conn.query_drop("BEGIN")?;
    let grown = (0..100).find_map(|n| {
        conn.query_drop(format!("UPDATE t SET v = 'new' WHERE id BETWEEN {n} * 100 AND {n} * 100 + 99")).err()
    });
    assert!(matches!(grown, Some(mysql::Error::MySqlError(error)) if error.code == 4082));
    let mut conn = limited(&server)?;
    assert_eq!(conn.query_first::<u64, _>("SELECT COUNT(*) FROM t WHERE v = 'new'")?, Some(0));
    for n in 0..100 {
        conn.query_drop(format!("UPDATE t SET v = 'new' WHERE id BETWEEN {n} * 100 AND {n} * 100 + 99"))?;
        conn.query_drop(format!("SET @a = REPEAT('{}', 1000000)", n % 10))?;
        let statement = conn.prep(format!("SELECT {}", vec!["1"; 500 + n].join(",")))?;
        conn.close(statement)?;
    }
    // Prepared statements.
    let refused = (0..100).find_map(|n| conn.prep(format!("SELECT {}", vec!["1"; 500 + n].join(","))).err());
    assert!(matches!(refused, Some(mysql::Error::MySqlError(error)) if error.code == 4082));
    // Parameters that come in pieces: there is no answer to them, so the next execution says it.
    let mut wire = Wire::log_in(server.port())?;
    wire.send(0, b"\x03SET SESSION connection_memory_limit = 2097152")?;
    assert!(matches!(wire.answer()?, Answer::Ok));
    let id = wire.prepare("SELECT ?")?;
    let execute = [&[0x17][..], &id.to_le_bytes(), &[0, 1, 0, 0, 0, 0, 1, 0xfc, 0]].concat();
    let piece = [&[0x18][..], &id.to_le_bytes(), &[0, 0], &[b'x'; 500_000]].concat();
    for _ in 0..3 {
        wire.send(0, &piece)?;
        wire.send(0, &piece)?;
        wire.send(0, &[&[0x1a][..], &id.to_le_bytes()].concat())?;
        assert!(matches!(wire.answer()?, Answer::Ok), "reset gives them back");
    }
    for _ in 0..5 {
        wire.send(0, &piece)?;
    }
    wire.send(0, &execute)?;
    assert!(matches!(wire.answer()?, Answer::Error(4082)));
    assert!(matches!(wire.answer()?, Answer::Closed));
    crate::serves_on(&server)
}

#[test]
fn all_connections_together_have_a_limit_too() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--global-connection-memory-limit=16777216").start()?;
    let mut one = server.connect()?;
    one.query_drop("SET @a = REPEAT('x', 12000000)")?;
    assert!(status(&mut one, "Global_connection_memory")? >= 12_000_000);
    let mut other = server.connect()?;
    assert_eq!(error(other.query_drop("SET @a = REPEAT('x', 8000000)")).0, 4081);
    wait_until("it has gone", || Ok(status(&mut one, "Threads_connected")? == 1))?;
    assert_eq!(one.query_first::<u64, _>("SELECT LENGTH(@a)")?, Some(12_000_000));
    drop(one);
    let mut other = server.connect()?;
    wait_until("what it held is free", || Ok(status(&mut other, "Global_connection_memory")? < 100_000))?;
    other.query_drop("SET @a = REPEAT('x', 8000000)")?;
    Ok(())
}

#[test]
fn a_transaction_too_long_for_the_binlog_is_1197_and_keeps_what_it_had() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = with_rows(&folder)?;
    server.connect()?.query_drop("SET GLOBAL max_binlog_cache_size = 16384")?;
    let mut conn = server.connect_to("d")?;
    conn.query_drop("BEGIN")?;
    conn.query_drop("UPDATE t SET v = 'short' WHERE id < 10")?;
    assert_eq!(error(conn.query_drop("UPDATE t SET v = 'long' WHERE id < 1000")), (1197, "HY000".to_owned()));
    conn.query_drop("UPDATE t SET v = 'more' WHERE id = 10")?;
    conn.query_drop("COMMIT")?;
    let values: Vec<(String, u64)> = conn.query("SELECT v, COUNT(*) FROM t WHERE id < 1000 GROUP BY v ORDER BY v")?;
    let expected = [("more", 1), ("short", 10), (&*"v".repeat(200), 989)];
    assert_eq!(values, expected.map(|(value, count)| (value.to_owned(), count)));
    Ok(())
}

#[test]
fn connections_that_are_reset_before_they_are_accepted_hold_up_nobody() -> Result<()> {
    const RESET: u64 = 400;
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let pid = Pid::from_raw(server.pid().try_into()?).context("a process")?;
    kill_process(pid, Signal::STOP)?;
    for _ in 0..RESET {
        let mut wire = Wire::connect_from([127, 0, 1, 1], server.port())?;
        set_socket_linger(wire.stream(), Some(Duration::ZERO))?;
    }
    let mut other = Wire::connect_from([127, 0, 0, 1], server.port())?;
    kill_process(pid, Signal::CONT)?;
    // A hundredth of a second for each of them would be as long.
    other.stream().set_read_timeout(Some(Duration::from_secs(4)))?;
    let greeting = other.packet()?;
    assert_eq!(greeting.first(), Some(&10));
    let mut conn = server.connect()?;
    wait_until("all of them are counted", || Ok(status(&mut conn, "Aborted_connects")? >= RESET))
}
