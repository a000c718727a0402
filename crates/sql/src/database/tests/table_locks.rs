//! LOCK TABLES and RENAME TABLE against other sessions.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::waiting::{client, until_waiting};
use super::*;

fn with_tables() -> Arc<Database> {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    client.ok("CREATE TABLE u (id INT PRIMARY KEY)");
    database
}

/// Runs `sql` in a session of its own, which is to wait.
fn waits(database: &Arc<Database>, sql: &'static str) -> JoinHandle<Vec<String>> {
    let before = database.store().lock_stats()[0];
    let mut session = client(database);
    let waiting = thread::spawn(move || session.run(sql));
    until_waiting(database, before + 1);
    assert!(!waiting.is_finished(), "{sql}");
    waiting
}

#[test]
fn a_table_locked_for_reading_keeps_writers_out_until_it_is_unlocked() {
    let database = with_tables();
    let mut first = client(&database);
    first.ok("LOCK TABLES t READ");
    let mut second = client(&database);
    second.ok("LOCK TABLES t READ");
    second.ok("SELECT * FROM t");
    let writer = waits(&database, "INSERT INTO t VALUES (1)");
    second.ok("UNLOCK TABLES");
    assert_eq!(second.run("SELECT * FROM t"), ["id"]);
    first.ok("UNLOCK TABLES");
    assert_eq!(writer.join().expect("no panic"), ["ok 1"]);
}

#[test]
fn a_table_locked_for_writing_is_the_sessions_alone() {
    let database = with_tables();
    let mut first = client(&database);
    first.ok("LOCK TABLES t WRITE, u READ");
    let reader = waits(&database, "SELECT * FROM t");
    let locker = waits(&database, "LOCK TABLES t READ");
    first.ok("INSERT INTO t VALUES (1)");
    first.ok("TRUNCATE t");
    first.ok("INSERT INTO t VALUES (2)");
    assert_eq!(client(&database).run("SELECT * FROM u"), ["id"]);
    first.session.end();
    assert_eq!(reader.join().expect("no panic"), ["id", "2"]);
    assert_eq!(locker.join().expect("no panic"), ["ok 0"]);
}

#[test]
fn lock_tables_waits_for_the_ends_of_transactions_and_not_forever() {
    let database = with_tables();
    let mut first = client(&database);
    first.ok("BEGIN");
    first.ok("INSERT INTO t VALUES (1)");
    let mut second = client(&database);
    second.session.table_lock_timeout = Duration::from_millis(10);
    let refused = second.run("LOCK TABLES u WRITE, t READ");
    assert!(refused[0].starts_with("ERROR 1205 (HY000)"), "{refused:?}");
    // Nothing is kept.
    client(&database).ok("INSERT INTO u VALUES (1)");
    let locker = waits(&database, "LOCK TABLES u WRITE, t READ");
    first.ok("COMMIT");
    assert_eq!(locker.join().expect("no panic"), ["ok 0"]);
    second.ok("LOCK TABLES u WRITE");
}

#[test]
fn lock_tables_waits_again_after_it_was_killed() {
    let database = with_tables();
    let mut first = client(&database);
    first.ok("LOCK TABLES t WRITE");
    let mut second = client(&database);
    let interrupt = second.session.interrupt();
    let waiting = thread::spawn(move || {
        let killed = second.run("LOCK TABLES t READ");
        second.session.interrupt().reset();
        (killed, second.run("LOCK TABLES t READ"))
    });
    until_waiting(&database, 1);
    interrupt.kill();
    until_waiting(&database, 2);
    first.ok("UNLOCK TABLES");
    let (killed, locked) = waiting.join().expect("no panic");
    assert!(killed[0].starts_with("ERROR 1317 (70100)"), "{killed:?}");
    assert_eq!(locked, ["ok 0"]);
}

#[test]
fn a_change_that_waits_for_a_locked_table_does_not_stop_whoever_has_locked_it() {
    let database = with_tables();
    let mut first = client(&database);
    first.ok("LOCK TABLES t WRITE");
    let change = waits(&database, "ALTER TABLE t COMMENT = 'x'");
    first.ok("INSERT INTO t VALUES (1)");
    assert_eq!(first.run("SELECT * FROM t"), ["id", "1"]);
    first.ok("TRUNCATE t");
    first.ok("UNLOCK TABLES");
    assert_eq!(change.join().expect("no panic"), [ALTERED]);
}

#[test]
fn a_deadlock_of_locked_tables_and_transactions_is_found() {
    let database = with_tables();
    let mut first = client(&database);
    first.ok("BEGIN");
    first.ok("INSERT INTO u VALUES (1)");
    let mut second = client(&database);
    let before = database.store().lock_stats()[0];
    second.ok("LOCK TABLES t WRITE");
    let waiting = thread::spawn(move || {
        let lines = second.run("LOCK TABLES t WRITE, u WRITE");
        (second, lines)
    });
    until_waiting(&database, before + 1);
    let refused = first.run("INSERT INTO t VALUES (1)");
    assert!(refused[0].starts_with("ERROR 1213 (40001)"), "{refused:?}");
    assert_eq!(waiting.join().expect("no panic").1, ["ok 0"]);
}

/// As gh-ost puts a table in the place of another one: whoever waits for it meanwhile finds the new one.
#[test]
fn a_rename_of_locked_tables_goes_before_statements_that_wait_for_them() {
    let database = with_tables();
    let mut first = client(&database);
    first.ok("CREATE TABLE old (id INT)");
    first.ok("LOCK TABLES t WRITE, old WRITE");
    let earlier = waits(&database, "INSERT INTO t VALUES (1)");
    let rename = waits(&database, "RENAME TABLE t TO old, u TO t");
    let later = waits(&database, "INSERT INTO t VALUES (2)");
    first.ok("DROP TABLE old");
    assert!(!rename.is_finished());
    first.ok("UNLOCK TABLES");
    assert_eq!(rename.join().expect("no panic"), ["ok 0"]);
    assert_eq!(earlier.join().expect("no panic"), ["ok 1"]);
    assert_eq!(later.join().expect("no panic"), ["ok 1"]);
    assert_eq!(first.run("SELECT * FROM t"), ["id", "1", "2"]);
    assert_eq!(first.run("SHOW TABLES"), ["Tables_in_d", "old", "t"]);
}

/// It is in the way of the rename, which fails as a whole.
#[test]
fn a_rename_to_a_table_that_is_still_there_after_the_wait_changes_nothing() {
    let database = with_tables();
    let mut first = client(&database);
    first.ok("CREATE TABLE old (id INT)");
    first.ok("LOCK TABLES t WRITE, old WRITE");
    let rename = waits(&database, "RENAME TABLE t TO old, u TO t");
    first.ok("UNLOCK TABLES");
    let refused = rename.join().expect("no panic");
    assert!(refused[0].starts_with("ERROR 1050 (42S01)"), "{refused:?}");
    assert_eq!(first.run("SHOW TABLES"), ["Tables_in_d", "old", "t", "u"]);
}

#[test]
fn new_names_survive_a_restart() {
    let disk = Disk::new();
    let database = disk.open();
    let mut session = Client::new(&database);
    session.ok("CREATE DATABASE d");
    session.ok("CREATE DATABASE e");
    session.ok("USE d");
    session.ok("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT)");
    session.ok("INSERT INTO t VALUES (NULL)");
    session.ok("RENAME TABLE t TO e.t");
    drop((session, database));
    let mut session = Client::new(&disk.open());
    session.ok("USE e");
    session.ok("INSERT INTO t VALUES (NULL)");
    assert_eq!(session.run("SELECT * FROM t"), ["id", "1", "2"]);
    assert_eq!(session.run("SHOW TABLES FROM d"), ["Tables_in_d"]);
}
