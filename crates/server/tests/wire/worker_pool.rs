//! What a pool of workers must not change: nobody waits for somebody else's wait, and commands are answered
//! in order. Most of this runs with a single worker.

use std::thread;
use std::time::Duration;

use cohort_blackbox::{Launch, Server, wait_until};
use mysql::Conn;
use mysql::prelude::Queryable;
use tempfile::TempDir;

use crate::client::{CAPABILITIES, Wire, errno, packet};

const COM_QUERY: u8 = 3;

/// A server with one worker, and table `d.t` of row (1, 0).
fn server() -> (TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(folder.path().join("data")).option("--thread_pool_size=1").start().unwrap();
    let mut conn = server.connect().unwrap();
    conn.query_drop("CREATE DATABASE d").unwrap();
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL)").unwrap();
    conn.query_drop("INSERT INTO d.t VALUES (1, 0)").unwrap();
    (folder, server)
}

/// Waits until `count` connections execute a statement that begins with `text`.
fn wait_for_statements(conn: &mut Conn, text: &str, count: usize) {
    let run = wait_until(text, || {
        let list: Vec<mysql::Row> = conn.query("SHOW FULL PROCESSLIST")?;
        let info = |row: &mysql::Row| row.get::<Option<String>, _>("Info").flatten().unwrap_or_default();
        Ok(list.iter().filter(|row| info(row).starts_with(text)).count() >= count)
    });
    run.unwrap();
}

fn status(conn: &mut Conn, name: &str) -> u64 {
    let row: Option<(String, u64)> = conn.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap();
    row.unwrap().1
}

#[test]
fn a_lock_holder_is_served_while_many_wait_for_its_lock() {
    const WAITERS: usize = 40;
    let (_folder, server) = server();
    let mut holder = server.connect_to("d").unwrap();
    holder.query_drop("BEGIN").unwrap();
    holder.query_drop("UPDATE t SET v = v + 1 WHERE id = 1").unwrap();
    let waiters: Vec<_> = (0..WAITERS)
        .map(|_| {
            let mut conn = server.connect_to("d").unwrap();
            thread::spawn(move || conn.query_drop("UPDATE t SET v = v + 1 WHERE id = 1").unwrap())
        })
        .collect();
    let mut other = server.connect_to("d").unwrap();
    wait_for_statements(&mut other, "UPDATE", WAITERS);
    holder.query_drop("COMMIT").unwrap();
    for waiter in waiters {
        waiter.join().unwrap();
    }
    assert_eq!(other.query_first::<usize, _>("SELECT v FROM t").unwrap(), Some(WAITERS + 1));
}

#[test]
fn statements_that_sleep_or_compute_leave_room_for_others() {
    let (_folder, server) = server();
    let mut other = server.connect_to("d").unwrap();
    other.query_drop("CREATE TABLE many (id INT PRIMARY KEY)").unwrap();
    let rows: Vec<String> = (0..20_000).map(|id| format!("({id})")).collect();
    other.query_drop(format!("INSERT INTO many VALUES {}", rows.join(","))).unwrap();
    // Far longer than this test: they end because they are killed.
    let endless = ["SELECT SLEEP(10000)", "SELECT COUNT(*) FROM many WHERE SHA2(REPEAT(id, 4000000), 256) = 'x'"];
    let running: Vec<_> = (0..6)
        .map(|index| {
            let mut conn = server.connect_to("d").unwrap();
            let id = conn.connection_id();
            let sql = endless[index % 2];
            (id, thread::spawn(move || conn.query_drop(sql)))
        })
        .collect();
    wait_for_statements(&mut other, "SELECT", 6);
    // New connections are served as well.
    let mut fresh = server.connect_to("d").unwrap();
    fresh.query_drop("UPDATE t SET v = 7 WHERE id = 1").unwrap();
    assert!(running.iter().all(|(_, thread)| !thread.is_finished()), "nobody had to end first");
    for (id, _) in &running {
        other.query_drop(format!("KILL {id}")).unwrap();
    }
    for (_, thread) in running {
        thread.join().unwrap().unwrap_err();
    }
}

#[test]
fn a_client_that_does_not_read_its_result_keeps_nobody_waiting() {
    let (_folder, server) = server();
    let mut deaf = Wire::log_in(server.port(), CAPABILITIES);
    // More than the buffers of both sockets hold.
    deaf.command(COM_QUERY, b"SELECT REPEAT('x', 15000000), REPEAT('y', 15000000)");
    let mut other = server.connect_to("d").unwrap();
    wait_for_statements(&mut other, "SELECT REPEAT", 1);
    other.query_drop("UPDATE t SET v = 8 WHERE id = 1").unwrap();
    assert_eq!(other.query_first::<i32, _>("SELECT v FROM t").unwrap(), Some(8));
    let deaf_id: Vec<mysql::Row> = other.query("SHOW FULL PROCESSLIST").unwrap();
    assert_eq!(deaf_id.len(), 2, "the deaf client is still there");
}

#[test]
fn commands_sent_in_one_go_are_answered_in_order() {
    let (_folder, server) = server();
    let mut wire = Wire::log_in(server.port(), CAPABILITIES);
    let mut bytes = Vec::new();
    for step in 0..50 {
        // A commit, whose reply others may send, and a read that must see it.
        let update = format!("UPDATE d.t SET v = {step} WHERE id = 1");
        bytes.extend(packet(0, &[&[COM_QUERY], update.as_bytes()].concat()));
        bytes.extend(packet(0, &[&[COM_QUERY], &b"SELECT v FROM d.t"[..]].concat()));
    }
    wire.send_raw(&bytes);
    for step in 0..50 {
        assert_eq!(wire.read_answer(1)[0][0], 0, "an OK for the update");
        // Column count, column, EOF, row, EOF.
        let answer = wire.read_answer(5);
        assert_eq!(answer[3][1..], *step.to_string().as_bytes());
    }
}

#[test]
fn a_client_that_ends_its_side_still_gets_its_answers() {
    let (_folder, server) = server();
    let mut other = server.connect_to("d").unwrap();
    for _ in 0..20 {
        let mut wire = Wire::log_in(server.port(), CAPABILITIES);
        wire.command(COM_QUERY, b"UPDATE d.t SET v = v + 1 WHERE id = 1");
        wire.finish();
        assert_eq!(wire.read_answer(1)[0][0], 0);
        assert!(wire.drain(Duration::from_secs(10)), "the server closes its side as well");
    }
    assert_eq!(other.query_first::<i32, _>("SELECT v FROM t").unwrap(), Some(20));
    wait_until("the others are gone", || Ok(status(&mut other, "Threads_connected") <= 1)).unwrap();
}

#[test]
fn a_command_may_arrive_in_pieces_and_must_not_stop_half_way() {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch::new(folder.path().join("data")).option("--thread_pool_size=1");
    let server = launch.option("--net_read_timeout=2").start().unwrap();
    let mut wire = Wire::log_in(server.port(), CAPABILITIES);
    let bytes = packet(0, b"\x03SELECT 1");
    for byte in &bytes {
        wire.send_raw(&[*byte]);
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(wire.read_answer(5)[3], b"\x011");
    wire.send_raw(&bytes[..7]);
    let (_, answer) = wire.read().unwrap();
    assert_eq!(errno(&answer), 1159);
    assert!(wire.drain(Duration::from_secs(10)));
}

#[test]
fn idle_connections_need_no_threads() {
    let (_folder, server) = server();
    let idle: Vec<Conn> = (0..200).map(|_| server.connect_to("d").unwrap()).collect();
    let mut conn = server.connect_to("d").unwrap();
    assert_eq!(status(&mut conn, "Threads_connected"), 201);
    // The last login may not have ended yet.
    let tasks = || std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().count();
    wait_until("few threads", || Ok(tasks() <= 60)).unwrap();
    assert!(status(&mut conn, "Threadpool_threads") >= 1);
    drop(idle);
}
