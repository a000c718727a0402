//! Sessions that wait for each other.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

fn with_rows() -> Arc<Database> {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, u INT, UNIQUE KEY (u))");
    client.ok("INSERT INTO t VALUES (1, 10, 100), (2, 20, 200), (3, 30, 300)");
    database
}

pub(super) fn client(database: &Arc<Database>) -> Client {
    let mut client = Client::new(database);
    client.ok("USE d");
    client
}

/// Waits until `count` sessions have waited for a lock.
pub(super) fn until_waiting(database: &Database, count: u64) {
    let end = Instant::now() + Duration::from_secs(10);
    while database.store().lock_stats()[0] < count {
        assert!(Instant::now() < end, "nobody waits");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_update_that_waited_sees_what_it_waited_for() {
    let database = with_rows();
    let mut first = client(&database);
    first.ok("BEGIN");
    first.ok("UPDATE t SET v = v + 1 WHERE id = 1");
    let mut second = client(&database);
    let waiting = thread::spawn(move || second.run("UPDATE t SET v = v * 2 WHERE id = 1"));
    until_waiting(&database, 1);
    first.ok("COMMIT");
    assert_eq!(waiting.join().expect("no panic"), ["ok 1 (Rows matched: 1  Changed: 1  Warnings: 0)"]);
    assert_eq!(first.run("SELECT v FROM t WHERE id = 1"), ["v", "22"]);
}

#[test]
fn a_row_that_no_longer_matches_after_the_wait_is_left_alone() {
    let database = with_rows();
    let mut first = client(&database);
    first.ok("BEGIN");
    first.ok("UPDATE t SET v = 0 WHERE id = 2");
    let mut second = client(&database);
    let waiting = thread::spawn(move || second.run("DELETE FROM t WHERE v = 20"));
    until_waiting(&database, 1);
    first.ok("COMMIT");
    assert_eq!(waiting.join().expect("no panic"), ["ok 0"]);
}

#[test]
fn a_deadlock_rolls_one_transaction_back_and_lets_the_other_finish() {
    let database = with_rows();
    let (mut first, mut second) = (client(&database), client(&database));
    first.ok("BEGIN");
    first.ok("UPDATE t SET v = 11 WHERE id = 1");
    second.ok("BEGIN");
    second.ok("UPDATE t SET v = 21 WHERE id = 2");
    let waiting = thread::spawn(move || {
        let lines = first.run("UPDATE t SET v = 12 WHERE id = 2");
        (first, lines)
    });
    until_waiting(&database, 1);
    let refused = second.run("UPDATE t SET v = 22 WHERE id = 1");
    assert!(refused[0].starts_with("ERROR 1213 (40001)"), "{refused:?}");
    assert!(!second.session.in_transaction());
    let (mut first, lines) = waiting.join().expect("no panic");
    assert_eq!(lines, ["ok 1 (Rows matched: 1  Changed: 1  Warnings: 0)"]);
    first.ok("COMMIT");
    assert_eq!(second.run("SELECT v FROM t ORDER BY id"), ["v", "11", "12", "30"]);
}

/// The victim's XA transaction is gone, and says so until it is rolled back.
#[test]
fn a_deadlock_leaves_an_xa_transaction_to_be_rolled_back() {
    let database = with_rows();
    let (mut first, mut second) = (client(&database), client(&database));
    first.ok("BEGIN");
    first.ok("UPDATE t SET v = 11 WHERE id = 1");
    second.ok("XA START 'x'");
    second.ok("UPDATE t SET v = 21 WHERE id = 2");
    let waiting = thread::spawn(move || {
        let lines = first.run("UPDATE t SET v = 12 WHERE id = 2");
        (first, lines)
    });
    until_waiting(&database, 1);
    let refused = |client: &mut Client, sql: &str, error: &str| {
        let lines = client.run(sql);
        assert!(lines[0].starts_with(error), "{sql}: {lines:?}");
    };
    refused(&mut second, "UPDATE t SET v = 22 WHERE id = 1", "ERROR 1213 (40001)");
    refused(&mut second, "UPDATE t SET v = 22 WHERE id = 3", "ERROR 1399 (XAE07)");
    refused(&mut second, "XA START 'y'", "ERROR 1399 (XAE07)");
    refused(&mut second, "XA END 'y'", "ERROR 1397 (XAE04)");
    refused(&mut second, "XA END 'x'", "ERROR 1614 (XA102)");
    refused(&mut second, "XA PREPARE 'x'", "ERROR 1399 (XAE07)");
    second.ok("XA ROLLBACK 'x'");
    second.ok("XA START 'x'");
    second.ok("XA END 'x'");
    second.ok("XA ROLLBACK 'x'");
    let (mut first, lines) = waiting.join().expect("no panic");
    assert_eq!(lines, ["ok 1 (Rows matched: 1  Changed: 1  Warnings: 0)"]);
    first.ok("COMMIT");
    assert_eq!(second.run("SELECT v FROM t ORDER BY id"), ["v", "11", "12", "30"]);
}

#[test]
fn a_lock_wait_that_takes_too_long_takes_back_the_statement_only() {
    let database = with_rows();
    let (mut first, mut second) = (client(&database), client(&database));
    first.ok("BEGIN");
    first.ok("UPDATE t SET v = 11 WHERE id = 1");
    second.session.row_lock_timeout = Duration::from_millis(20);
    second.ok("BEGIN");
    second.ok("UPDATE t SET v = 31 WHERE id = 3");
    let refused = second.run("UPDATE t SET v = v + 100 WHERE id IN (2, 1)");
    assert!(refused[0].starts_with("ERROR 1205 (HY000)"), "{refused:?}");
    assert_eq!(second.run("SELECT v FROM t ORDER BY id"), ["v", "10", "20", "31"]);
    second.ok("COMMIT");
    first.ok("ROLLBACK");
}

#[test]
fn a_double_waits_for_the_transaction_that_holds_the_key() {
    let database = with_rows();
    for (end, expected) in [("COMMIT", "ERROR 1062"), ("ROLLBACK", "ok 1")] {
        let mut first = client(&database);
        first.ok("DELETE FROM t WHERE id > 3");
        first.ok("BEGIN");
        first.ok("INSERT INTO t VALUES (4, 40, 400)");
        let mut second = client(&database);
        let before = database.store().lock_stats()[0];
        let waiting = thread::spawn(move || second.run("INSERT INTO t VALUES (5, 50, 400)"));
        until_waiting(&database, before + 1);
        first.ok(end);
        let lines = waiting.join().expect("no panic");
        assert!(lines[0].starts_with(expected), "{end}: {lines:?}");
    }
}

#[test]
fn nowait_fails_and_skip_locked_skips() {
    let database = with_rows();
    let (mut first, mut second) = (client(&database), client(&database));
    first.ok("BEGIN");
    first.ok("SELECT * FROM t WHERE id = 2 FOR UPDATE");
    second.ok("BEGIN");
    assert!(second.run("SELECT id FROM t WHERE id = 2 FOR UPDATE NOWAIT")[0].starts_with("ERROR 3572"));
    assert_eq!(second.run("SELECT id FROM t FOR UPDATE SKIP LOCKED"), ["id", "1", "3"]);
}

#[test]
fn a_condition_that_is_never_true_locks_nothing() {
    let database = with_rows();
    let (mut first, mut second) = (client(&database), client(&database));
    first.ok("BEGIN");
    for sql in [
        "DELETE FROM t WHERE 1 = 0",
        "UPDATE t SET a = 0 WHERE FALSE ORDER BY a LIMIT 3",
        "DELETE x FROM t AS x JOIN t AS y ON x.id = y.a WHERE 'a' = 'b'",
        "INSERT INTO t SELECT * FROM t WHERE NULL",
        "SELECT * FROM t WHERE 1 = 0 FOR UPDATE",
    ] {
        first.run(sql);
        assert_eq!(second.run("SELECT id FROM t FOR UPDATE NOWAIT"), ["id", "1", "2", "3"], "{sql}");
    }
    second.ok("INSERT INTO t VALUES (4, 40, 400)");
}

#[test]
fn a_schema_change_waits_for_transactions_that_use_the_table() {
    let database = with_rows();
    let mut first = client(&database);
    first.ok("BEGIN");
    first.ok("SELECT * FROM t WHERE id = 1");
    let mut second = client(&database);
    let waiting = thread::spawn(move || second.run("ALTER TABLE t ADD INDEX (v)"));
    until_waiting(&database, 1);
    assert_eq!(first.run("SELECT v FROM t WHERE id = 1"), ["v", "10"]);
    first.ok("COMMIT");
    assert_eq!(waiting.join().expect("no panic"), [ALTERED]);
    assert_eq!(first.run("SELECT id FROM t WHERE v = 30"), ["id", "3"]);
}

#[test]
fn a_snapshot_older_than_a_table_is_refused_and_not_answered_wrongly() {
    let database = with_rows();
    let (mut first, mut second) = (client(&database), client(&database));
    second.ok("CREATE TABLE other (id INT PRIMARY KEY)");
    first.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    second.ok("ALTER TABLE t ADD INDEX (v)");
    let lines = first.run("SELECT id FROM t WHERE v = 30");
    assert!(lines[0].starts_with("ERROR 1412"), "{lines:?}");
    assert_eq!(first.run("SELECT COUNT(*) FROM other"), ["COUNT(*)", "0"]);
}

#[test]
fn a_kill_ends_a_lock_wait() {
    let database = with_rows();
    let mut first = client(&database);
    first.ok("BEGIN");
    first.ok("UPDATE t SET v = 11 WHERE id = 1");
    let mut second = client(&database);
    let interrupt = second.session.interrupt();
    let waiting = thread::spawn(move || second.run("UPDATE t SET v = 12 WHERE id = 1"));
    until_waiting(&database, 1);
    interrupt.kill();
    assert!(waiting.join().expect("no panic")[0].starts_with("ERROR 1317 (70100)"));
}

#[test]
fn values_of_auto_increment_are_given_once_to_parallel_sessions() {
    let database = Disk::new().open();
    let mut setup = Client::new(&database);
    setup.ok("CREATE DATABASE d");
    setup.ok("USE d");
    setup.ok("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let mut client = client(&database);
            thread::spawn(move || {
                for _ in 0..25 {
                    client.ok(&format!("INSERT INTO t (v) VALUES ({number}), ({number})"));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(setup.run("SELECT COUNT(*), MIN(id), MAX(id) FROM t")[1], "200 | 1 | 200");
}

#[test]
fn an_index_build_keeps_nobody_from_changing_other_tables() {
    let disk = Disk::new();
    let database = disk.open();
    let mut builder = Client::new(&database);
    builder.ok("CREATE DATABASE d");
    builder.ok("USE d");
    builder.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    builder.ok("INSERT INTO t VALUES (1, 10)");
    let engine = disk.engine.lock().clone();
    let (closed, before) = (engine.gate().lock(), engine.gate_reached());
    let building = thread::spawn(move || builder.run("CREATE INDEX v ON t (v)"));
    let end = Instant::now() + Duration::from_secs(10);
    while engine.gate_reached() == before {
        assert!(Instant::now() < end, "no index is built");
        thread::sleep(Duration::from_millis(1));
    }
    let mut other = client(&database);
    other.session.table_lock_timeout = Duration::from_secs(10);
    other.ok("CREATE TABLE u (id INT PRIMARY KEY, v INT, KEY (v))");
    other.ok("INSERT INTO u VALUES (1, 1)");
    other.ok("ALTER TABLE u DROP INDEX v");
    other.ok("DROP TABLE u");
    drop(closed);
    assert_eq!(building.join().expect("no panic"), [ALTERED]);
    assert_eq!(other.run("SELECT id FROM t WHERE v = 10"), ["id", "1"]);
}

#[test]
fn a_schema_change_that_waits_for_another_can_be_killed() {
    let database = with_rows();
    let mut waiter = client(&database);
    let change = database.catalog.change(&SessionState::new()).expect("nobody changes anything");
    waiter.session.interrupt().kill();
    for sql in ["CREATE TABLE u (id INT)", "CREATE INDEX v ON t (v)", "DROP TABLE t", "CREATE DATABASE e"] {
        let killed = waiter.run(sql);
        assert!(killed[0].starts_with("ERROR 1317"), "{sql}: {killed:?}");
    }
    waiter.session.interrupt().reset();
    waiter.session.table_lock_timeout = Duration::ZERO;
    let late = waiter.run("TRUNCATE TABLE t");
    assert!(late[0].starts_with("ERROR 1205"), "{late:?}");
    drop(change);
    waiter.ok("CREATE INDEX v ON t (v)");
}

#[test]
fn a_change_of_a_definition_goes_before_later_readers_of_the_table() {
    let database = with_rows();
    let (mut user, mut changer, mut reader) = (client(&database), client(&database), client(&database));
    user.ok("BEGIN");
    user.run("SELECT * FROM t");
    let changing = thread::spawn(move || changer.run("ALTER TABLE t COMMENT = 'changed'"));
    until_waiting(&database, 1);
    let reading = thread::spawn(move || reader.run("SELECT COUNT(*) FROM t"));
    until_waiting(&database, 2);
    user.ok("COMMIT");
    assert_eq!(changing.join().expect("no panic"), [ALTERED]);
    assert_eq!(reading.join().expect("no panic"), ["COUNT(*)", "3"]);
}
