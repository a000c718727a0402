//! Isolation, locks and rollback as two or more real connections see them.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use cohort_blackbox::{Launch, Server, bytes_on_the_way, wait_until};
use mysql::Conn;
use mysql::prelude::Queryable;
use tempfile::TempDir;

/// A server with table `d.t` of rows (1, 10), (2, 20), (3, 30).
fn server() -> Result<(TempDir, Server)> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL, KEY by_v (v))")?;
    conn.query_drop("INSERT INTO d.t VALUES (1, 10), (2, 20), (3, 30)")?;
    Ok((folder, server))
}

fn value(conn: &mut Conn, id: i32) -> Result<Option<i32>> {
    Ok(conn.query_first(format!("SELECT v FROM t WHERE id = {id}"))?)
}

/// The error number of a refused statement.
fn refusal(result: mysql::Result<()>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("not refused: {other:?}"),
    }
}

/// How many statements have waited for a lock, or wait.
fn lock_waits(conn: &mut Conn) -> Result<u64> {
    let status: Option<(String, u64)> = conn.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")?;
    Ok(status.map_or(0, |(_, waits)| waits))
}

/// Returns when one more statement waits for a lock than did `before`.
fn until_one_waits(conn: &mut Conn, before: u64) -> Result<()> {
    wait_until("a statement that waits", || Ok(lock_waits(conn)? != before))
}

#[test]
fn repeatable_read_sees_one_snapshot_and_read_committed_every_commit() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut repeatable, mut committed) = (server.connect_to("d")?, server.connect_to("d")?);
    let mut writer = server.connect_to("d")?;
    repeatable.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    committed.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
    committed.query_drop("BEGIN")?;
    assert_eq!(value(&mut committed, 1)?, Some(10));

    writer.query_drop("UPDATE t SET v = 11 WHERE id = 1")?;
    writer.query_drop("INSERT INTO t VALUES (4, 40)")?;
    assert_eq!(value(&mut repeatable, 1)?, Some(10));
    assert_eq!(value(&mut committed, 1)?, Some(11));
    let count = "SELECT COUNT(*) FROM t WHERE v >= 0";
    assert_eq!(repeatable.query_first::<i64, _>(count)?, Some(3));
    assert_eq!(committed.query_first::<i64, _>(count)?, Some(4));

    // A locking read and a write see what is committed, not the snapshot.
    let current: Option<i32> = repeatable.query_first("SELECT v FROM t WHERE id = 1 FOR UPDATE")?;
    assert_eq!(current, Some(11));
    repeatable.query_drop("UPDATE t SET v = v + 1 WHERE id = 1")?;
    assert_eq!(value(&mut repeatable, 1)?, Some(12));
    repeatable.query_drop("COMMIT")?;
    assert_eq!(value(&mut repeatable, 4)?, Some(40));
    assert_eq!(value(&mut committed, 1)?, Some(12));
    Ok(())
}

#[test]
fn nothing_uncommitted_is_seen_and_rollback_leaves_no_trace() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut writer, mut reader) = (server.connect_to("d")?, server.connect_to("d")?);
    writer.query_drop("BEGIN")?;
    writer.query_drop("UPDATE t SET v = 99 WHERE id = 1")?;
    writer.query_drop("DELETE FROM t WHERE id = 2")?;
    writer.query_drop("INSERT INTO t VALUES (5, 50)")?;
    assert_eq!(value(&mut writer, 1)?, Some(99));
    assert_eq!(value(&mut writer, 2)?, None);
    assert_eq!(writer.query_first::<i32, _>("SELECT id FROM t WHERE v = 50")?, Some(5));
    assert_eq!(value(&mut reader, 1)?, Some(10));
    assert_eq!(value(&mut reader, 2)?, Some(20));
    assert_eq!(reader.query_first::<i32, _>("SELECT id FROM t WHERE v = 50")?, None);
    writer.query_drop("ROLLBACK")?;
    for conn in [&mut writer, &mut reader] {
        let rows: Vec<(i32, i32)> = conn.query("SELECT id, v FROM t ORDER BY id")?;
        assert_eq!(rows, [(1, 10), (2, 20), (3, 30)]);
    }
    Ok(())
}

#[test]
fn a_connection_that_goes_away_rolls_back_and_frees_its_locks() -> Result<()> {
    let (_folder, server) = server()?;
    let mut gone = server.connect_to("d")?;
    gone.query_drop("BEGIN")?;
    gone.query_drop("UPDATE t SET v = 99 WHERE id = 1")?;
    drop(gone);
    let mut conn = server.connect_to("d")?;
    conn.query_drop("UPDATE t SET v = v + 1 WHERE id = 1")?;
    assert_eq!(value(&mut conn, 1)?, Some(11));
    Ok(())
}

#[test]
fn a_lock_wait_that_lasts_too_long_is_1205_and_undoes_only_its_statement() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut holder, mut waiter) = (server.connect_to("d")?, server.connect_to("d")?);
    waiter.query_drop("SET SESSION innodb_lock_wait_timeout = 1")?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("SELECT * FROM t WHERE id = 2 FOR UPDATE")?;
    waiter.query_drop("BEGIN")?;
    waiter.query_drop("UPDATE t SET v = 11 WHERE id = 1")?;
    let start = Instant::now();
    assert_eq!(refusal(waiter.query_drop("UPDATE t SET v = 21 WHERE id = 2")), 1205);
    assert!(start.elapsed() >= Duration::from_millis(900), "{:?}", start.elapsed());
    waiter.query_drop("COMMIT")?;
    holder.query_drop("COMMIT")?;
    assert_eq!((value(&mut holder, 1)?, value(&mut holder, 2)?), (Some(11), Some(20)));
    Ok(())
}

#[test]
fn a_waiter_goes_on_as_soon_as_the_lock_is_free() -> Result<()> {
    let (_folder, server) = server()?;
    let mut holder = server.connect_to("d")?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("UPDATE t SET v = v + 1 WHERE id = 1")?;
    let mut waiter = server.connect_to("d")?;
    waiter.query_drop("SET SESSION innodb_lock_wait_timeout = 3600")?;
    let before = lock_waits(&mut holder)?;
    let waiting = thread::spawn(move || waiter.query_drop("UPDATE t SET v = v * 2 WHERE id = 1"));
    until_one_waits(&mut holder, before)?;
    assert!(!waiting.is_finished());
    holder.query_drop("COMMIT")?;
    waiting.join().expect("the waiter panicked")?;
    assert_eq!(value(&mut holder, 1)?, Some(22));
    Ok(())
}

#[test]
fn shared_locks_do_not_exclude_each_other_but_exclude_writers() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut one, mut two, mut writer) = (server.connect_to("d")?, server.connect_to("d")?, server.connect_to("d")?);
    for conn in [&mut one, &mut two] {
        conn.query_drop("BEGIN")?;
        conn.query_drop("SELECT * FROM t WHERE id = 1 LOCK IN SHARE MODE")?;
    }
    writer.query_drop("SET SESSION innodb_lock_wait_timeout = 1")?;
    assert_eq!(refusal(writer.query_drop("DELETE FROM t WHERE id = 1")), 1205);
    one.query_drop("COMMIT")?;
    two.query_drop("COMMIT")?;
    writer.query_drop("DELETE FROM t WHERE id = 1")?;
    assert_eq!(writer.affected_rows(), 1);
    Ok(())
}

#[test]
fn a_deadlock_ends_one_of_the_two_with_1213_and_rolls_it_back() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut one, mut two) = (server.connect_to("d")?, server.connect_to("d")?);
    one.query_drop("BEGIN")?;
    two.query_drop("BEGIN")?;
    one.query_drop("UPDATE t SET v = 11 WHERE id = 1")?;
    two.query_drop("UPDATE t SET v = 22 WHERE id = 2")?;
    // A timeout would be 1205, and nobody would see the end of it.
    for conn in [&mut one, &mut two] {
        conn.query_drop("SET SESSION innodb_lock_wait_timeout = 3600")?;
    }
    let before = lock_waits(&mut two)?;
    let crossing = thread::spawn(move || {
        let result = one.query_drop("UPDATE t SET v = 12 WHERE id = 2");
        (one, result)
    });
    until_one_waits(&mut two, before)?;
    let second = two.query_drop("UPDATE t SET v = 21 WHERE id = 1");
    let (mut one, first) = crossing.join().expect("a connection panicked");
    let (victim, survivor, expected) = match (first, second) {
        (Ok(()), second) => {
            assert_eq!(refusal(second), 1213);
            (&mut two, &mut one, (Some(11), Some(12)))
        }
        (first, Ok(())) => {
            assert_eq!(refusal(first), 1213);
            (&mut one, &mut two, (Some(21), Some(22)))
        }
        both => panic!("two victims: {both:?}"),
    };
    survivor.query_drop("COMMIT")?;
    // The victim's transaction is over: this starts from nothing and holds no lock.
    victim.query_drop("COMMIT")?;
    assert_eq!((value(victim, 1)?, value(victim, 2)?), expected);
    Ok(())
}

#[test]
fn savepoints_undo_what_came_after_them() -> Result<()> {
    let (_folder, server) = server()?;
    let mut conn = server.connect_to("d")?;
    for statement in [
        "BEGIN",
        "INSERT INTO t VALUES (4, 40)",
        "SAVEPOINT a",
        "INSERT INTO t VALUES (5, 50)",
        "UPDATE t SET v = 0 WHERE id = 4",
        "SAVEPOINT b",
        "DELETE FROM t",
        "ROLLBACK TO SAVEPOINT b",
        "INSERT INTO t VALUES (6, 60)",
        "ROLLBACK TO a",
        "INSERT INTO t VALUES (7, 70)",
    ] {
        conn.query_drop(statement)?;
    }
    assert_eq!(refusal(conn.query_drop("ROLLBACK TO SAVEPOINT b")), 1305);
    conn.query_drop("RELEASE SAVEPOINT a")?;
    assert_eq!(refusal(conn.query_drop("ROLLBACK TO SAVEPOINT a")), 1305);
    conn.query_drop("COMMIT")?;
    let rows: Vec<(i32, i32)> = conn.query("SELECT id, v FROM t ORDER BY id")?;
    assert_eq!(rows, [(1, 10), (2, 20), (3, 30), (4, 40), (7, 70)]);
    Ok(())
}

#[test]
fn a_failed_statement_undoes_itself_and_nothing_else() -> Result<()> {
    let (_folder, server) = server()?;
    let mut conn = server.connect_to("d")?;
    conn.query_drop("BEGIN")?;
    conn.query_drop("INSERT INTO t VALUES (4, 40)")?;
    assert_eq!(refusal(conn.query_drop("INSERT INTO t VALUES (5, 50), (6, 60), (1, 0)")), 1062);
    assert_eq!(refusal(conn.query_drop("UPDATE t SET id = id + 1 WHERE id IN (2, 4)")), 1062);
    conn.query_drop("COMMIT")?;
    let rows: Vec<(i32, i32)> = conn.query("SELECT id, v FROM t ORDER BY id")?;
    assert_eq!(rows, [(1, 10), (2, 20), (3, 30), (4, 40)]);
    Ok(())
}

#[test]
fn ddl_and_a_second_begin_commit_the_open_transaction() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut conn, mut other) = (server.connect_to("d")?, server.connect_to("d")?);
    conn.query_drop("BEGIN")?;
    conn.query_drop("INSERT INTO t VALUES (4, 40)")?;
    conn.query_drop("CREATE TABLE u (id INT PRIMARY KEY)")?;
    conn.query_drop("ROLLBACK")?;
    assert_eq!(value(&mut other, 4)?, Some(40));
    conn.query_drop("BEGIN")?;
    conn.query_drop("INSERT INTO t VALUES (5, 50)")?;
    conn.query_drop("START TRANSACTION")?;
    conn.query_drop("ROLLBACK")?;
    assert_eq!(value(&mut other, 5)?, Some(50));
    Ok(())
}

#[test]
fn autocommit_off_keeps_a_transaction_open_until_it_is_ended() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut conn, mut other) = (server.connect_to("d")?, server.connect_to("d")?);
    conn.query_drop("SET autocommit = 0")?;
    conn.query_drop("UPDATE t SET v = 11 WHERE id = 1")?;
    assert_eq!(value(&mut other, 1)?, Some(10));
    conn.query_drop("ROLLBACK")?;
    conn.query_drop("UPDATE t SET v = 12 WHERE id = 1")?;
    conn.query_drop("SET autocommit = 1")?;
    assert_eq!(value(&mut other, 1)?, Some(12));
    Ok(())
}

#[test]
fn kill_query_ends_a_lock_wait_and_kill_ends_a_connection() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut holder, mut waiter, mut admin) = (server.connect_to("d")?, server.connect_to("d")?, server.connect()?);
    holder.query_drop("BEGIN")?;
    holder.query_drop("UPDATE t SET v = 11 WHERE id = 1")?;
    let id = waiter.connection_id();
    let before = lock_waits(&mut admin)?;
    let waiting = thread::spawn(move || {
        let result = waiter.query_drop("UPDATE t SET v = 12 WHERE id = 1");
        (waiter, result)
    });
    until_one_waits(&mut admin, before)?;
    admin.query_drop(format!("KILL QUERY {id}"))?;
    let (mut waiter, result) = waiting.join().expect("the waiter panicked");
    assert_eq!(refusal(result), 1317);
    assert_eq!(value(&mut waiter, 1)?, Some(10), "its connection lives on");

    admin.query_drop(format!("KILL {}", holder.connection_id()))?;
    assert!(holder.query_drop("SELECT 1").is_err());
    waiter.query_drop("UPDATE t SET v = 13 WHERE id = 1")?;
    assert_eq!(value(&mut waiter, 1)?, Some(13), "the killed transaction is undone, its lock free");
    assert_eq!(refusal(admin.query_drop("KILL 4000000")), 1094);
    Ok(())
}

/// A client that stops reading in the middle of a result keeps its locks for `net_write_timeout`, unless it is killed.
#[test]
fn kill_ends_a_connection_that_waits_for_its_client_to_read() -> Result<()> {
    let (_folder, server) = server()?;
    let (mut reader, mut waiter) = (server.connect_to("d")?, server.connect_to("d")?);
    reader.query_drop("BEGIN")?;
    reader.query_drop("UPDATE t SET v = 11 WHERE id = 1")?;
    let id = reader.connection_id();
    let unread = reader.query_iter("SELECT REPEAT('x', 16000000)")?;
    let mut before = 0;
    wait_until("a server that waits for its client", || {
        let (unsent, _) = bytes_on_the_way(server.port())?;
        Ok(unsent > 0 && std::mem::replace(&mut before, unsent) == unsent)
    })?;
    waiter.query_drop("SET SESSION innodb_lock_wait_timeout = 20")?;
    waiter.query_drop(format!("KILL {id}"))?;
    waiter.query_drop("UPDATE t SET v = v + 1 WHERE id = 1")?;
    assert_eq!(value(&mut waiter, 1)?, Some(11), "the killed transaction is undone, its lock free");
    assert!(unread.into_iter().any(|row| row.is_err()), "half a result looked like a whole one");
    Ok(())
}

#[test]
fn two_inserts_of_one_unique_value_never_both_succeed() -> Result<()> {
    let (_folder, server) = server()?;
    server
        .connect_to("d")?
        .query_drop("CREATE TABLE u (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20), UNIQUE KEY (name))")?;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut conn = server.connect_to("d")?;
            Ok(thread::spawn(move || {
                let wins = (0..40).filter(|n| {
                    let sql = format!("INSERT INTO u (name) VALUES ('name {n}')");
                    match conn.query_drop(sql) {
                        Ok(()) => true,
                        refused => {
                            let errno = refusal(refused);
                            assert!(matches!(errno, 1062 | 1213), "{errno}");
                            false
                        }
                    }
                });
                wins.count()
            }))
        })
        .collect::<Result<_>>()?;
    let wins: usize = threads.into_iter().map(|thread| thread.join().expect("a thread panicked")).sum();
    let rows: Option<usize> = server.connect_to("d")?.query_first("SELECT COUNT(*) FROM u")?;
    assert_eq!(rows, Some(wins));
    assert_eq!(wins, 40);
    Ok(())
}

#[test]
fn counters_under_contention_lose_no_update() -> Result<()> {
    let (_folder, server) = server()?;
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let mut conn = server.connect_to("d")?;
            Ok(thread::spawn(move || -> mysql::Result<()> {
                for _ in 0..50 {
                    conn.query_drop("UPDATE t SET v = v + 1 WHERE id = 3")?;
                }
                Ok(())
            }))
        })
        .collect::<Result<_>>()?;
    for thread in threads {
        thread.join().expect("a thread panicked")?;
    }
    assert_eq!(value(&mut server.connect_to("d")?, 3)?, Some(330));
    Ok(())
}

#[test]
fn a_server_that_is_read_only_takes_no_changes() -> Result<()> {
    let (_folder, server) = server()?;
    let mut root = server.connect()?;
    root.query_drop("CREATE USER app IDENTIFIED BY 'p', admin IDENTIFIED BY 'p'; GRANT ALL ON d.* TO app, admin")?;
    root.query_drop("GRANT CREATE USER ON *.* TO app; GRANT CONNECTION_ADMIN ON *.* TO admin")?;
    let as_user = |user: &str| -> Result<Conn> {
        let mut conn = Conn::new(server.options_as(user, "p"))?;
        conn.query_drop("USE d")?;
        Ok(conn)
    };
    root.query_drop("CREATE TABLE d.quiet (id INT)")?;
    let (mut app, mut admin, mut open) = (as_user("app")?, as_user("admin")?, as_user("app")?);
    open.query_drop("BEGIN; UPDATE t SET v = 11 WHERE id = 1")?;
    let mut xa = as_user("app")?;
    xa.query_drop("XA START 'x'; UPDATE t SET v = 31 WHERE id = 3; XA END 'x'")?;
    root.query_drop("SET GLOBAL read_only = ON")?;
    let of_server = |conn: &mut Conn| conn.query_first::<(u8, u8), _>("SELECT @@read_only, @@super_read_only");
    assert_eq!(of_server(&mut root)?, Some((1, 0)));
    let changes = [
        "INSERT INTO t VALUES (9, 90)",
        "UPDATE t SET v = v",
        "DELETE FROM t",
        "SELECT * FROM t FOR UPDATE",
        "CREATE TABLE u (id INT)",
        "TRUNCATE t",
        "DROP TABLE IF EXISTS nothing",
        "LOCK TABLES t WRITE",
        "CREATE USER v",
        "SET PASSWORD = 'q'",
        "START TRANSACTION READ WRITE",
    ];
    for sql in changes {
        assert_eq!(refusal(app.query_drop(sql)), 1290, "{sql}");
    }
    for sql in [
        "SELECT * FROM t",
        "SELECT * FROM t WHERE id = 2 FOR SHARE",
        "LOCK TABLES quiet READ",
        "UNLOCK TABLES",
        "BEGIN",
        "COMMIT",
    ] {
        app.query_drop(sql)?;
    }
    // What was changed before cannot be committed any more.
    for sql in ["XA COMMIT 'x' ONE PHASE", "XA PREPARE 'x'"] {
        assert_eq!(refusal(xa.query_drop(sql)), 1290, "{sql}");
    }
    xa.query_drop("XA ROLLBACK 'x'")?;
    assert_eq!(refusal(open.query_drop("COMMIT")), 1290);
    assert_eq!(value(&mut open, 1)?, Some(10));
    admin.query_drop("UPDATE t SET v = 12 WHERE id = 1")?;
    root.query_drop("SET GLOBAL super_read_only = ON")?;
    for conn in [&mut app, &mut admin, &mut root] {
        assert_eq!(refusal(conn.query_drop("UPDATE d.t SET v = 13 WHERE id = 1")), 1290);
    }
    assert_eq!(refusal(app.query_drop("SET GLOBAL read_only = OFF")), 1227);
    root.query_drop("SET GLOBAL read_only = OFF")?;
    assert_eq!(of_server(&mut root)?, Some((0, 0)));
    app.query_drop("UPDATE t SET v = 14 WHERE id = 1")?;
    root.query_drop("SET GLOBAL super_read_only = ON")?;
    assert_eq!(of_server(&mut root)?, Some((1, 1)));
    root.query_drop("SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF; BEGIN")?;
    for sql in ["SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF", "SET GLOBAL super_read_only = OFF"] {
        assert_eq!(refusal(root.query_drop(sql)), 1192, "{sql}");
    }
    let server = server.stop()?.option("--super-read-only").start()?;
    let mut root = server.connect()?;
    assert_eq!(refusal(root.query_drop("DELETE FROM d.t")), 1290);
    server.stop().map(drop)
}

#[test]
fn read_only_waits_for_what_is_under_way() -> Result<()> {
    let (_folder, server) = server()?;
    let mut waiting = server.connect()?;
    let mut locking = server.connect_to("d")?;
    locking.query_drop("LOCK TABLES t WRITE")?;
    waiting.query_drop("SET lock_wait_timeout = 1")?;
    assert_eq!(refusal(waiting.query_drop("SET GLOBAL read_only = ON")), 1205);
    locking.query_drop("UPDATE t SET v = 11 WHERE id = 1; UNLOCK TABLES")?;
    waiting.query_drop("SET GLOBAL read_only = ON")?;
    // FLUSH TABLES WITH READ LOCK of the same session keeps others out already.
    waiting.query_drop("SET GLOBAL read_only = OFF; FLUSH TABLES WITH READ LOCK; SET GLOBAL read_only = ON")?;
    server.stop().map(drop)
}
