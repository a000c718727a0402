//! LOCK INSTANCE FOR BACKUP of MySQL 8.0, BACKUP STAGE of MariaDB 10.11, and what `performance_schema.metadata_locks` shows.

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use super::aside::{Aside, errno, until_waiting};

const WAITS: &str = "Waiting for backup lock";
const WAITS_TO_COMMIT: &str = "Waiting for commit lock";

fn server() -> Result<(tempfile::TempDir, Server, Conn)> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u LIKE t")?;
    conn.query_drop("CREATE TABLE v LIKE t; INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")?;
    Ok((folder, server, conn))
}

#[test]
fn a_locked_instance_takes_changes_of_rows_and_none_of_definitions() -> Result<()> {
    let (_folder, server, mut first) = server()?;
    let mut watcher = server.connect_to("d")?;
    first.query_drop("LOCK INSTANCE FOR BACKUP; LOCK INSTANCE FOR BACKUP")?;
    watcher.query_drop("LOCK INSTANCE FOR BACKUP; UNLOCK INSTANCE")?;
    let mut waiting = Vec::new();
    for sql in [
        "CREATE TABLE x (id INT)",
        "ALTER TABLE u COMMENT = 'x'",
        "RENAME TABLE v TO w",
        "TRUNCATE t",
        "CREATE DATABASE dd",
        "CREATE ROLE bob",
        "PURGE BINARY LOGS BEFORE NOW()",
    ] {
        waiting.push(Aside::waits(&server, &mut watcher, sql, WAITS).with_context(|| sql)?);
    }
    watcher.query_drop("UPDATE t SET v = 5 WHERE id = 1; BEGIN; DELETE FROM t WHERE id = 2; COMMIT")?;
    // Its own changes are its own affair. Tables can be locked meanwhile, and the server.
    first.query_drop("CREATE TABLE own (id INT); FLUSH TABLES WITH READ LOCK; UNLOCK TABLES")?;
    first.query_drop("FLUSH TABLES t WITH READ LOCK; UNLOCK TABLES")?;
    for one in &waiting {
        until_waiting(&mut watcher, one.id, WAITS)?;
    }
    watcher.query_drop("SET lock_wait_timeout = 1")?;
    ensure!(errno(watcher.query_drop("CREATE TABLE y (id INT)"))? == 1205);
    let killed = Aside::waits(&server, &mut watcher, "DROP TABLE t", WAITS)?;
    watcher.query_drop(format!("KILL QUERY {}", killed.id))?;
    ensure!(killed.errno()? == 1317);
    // Files of the binlog stay, whatever their age and size.
    let mut files = |sql: &str| -> Result<usize> {
        watcher.query_drop(sql)?;
        Ok(watcher.query::<Row, _>("SHOW BINARY LOGS")?.len())
    };
    let before = files("SET GLOBAL max_binlog_total_size = 1")?;
    ensure!(files("FLUSH BINARY LOGS")? == before + 1);
    first.query_drop("UNLOCK INSTANCE")?;
    for one in waiting {
        ensure!(one.errno()? == 0);
    }
    let mut watcher = server.connect_to("d")?;
    watcher.query_drop("FLUSH BINARY LOGS")?;
    let left = watcher.query::<Row, _>("SHOW BINARY LOGS")?.len();
    ensure!(left <= before, "{left} files");
    // The end of its connection unlocks.
    first.query_drop("UNLOCK INSTANCE; LOCK INSTANCE FOR BACKUP")?;
    let create = Aside::waits(&server, &mut watcher, "CREATE TABLE y (id INT)", WAITS)?;
    drop(first);
    ensure!(create.errno()? == 0);
    Ok(())
}

#[test]
fn the_stages_of_a_backup_come_in_their_order_and_stop_more_and_more() -> Result<()> {
    let (_folder, server, mut first) = server()?;
    let mut watcher = server.connect_to("d")?;
    for (sql, answer) in [
        ("BACKUP STAGE END", 4146),
        ("BACKUP STAGE FLUSH", 4146),
        ("BACKUP STAGE NONSENSE", 4149),
        ("LOCK TABLES t READ", 0),
        ("BACKUP STAGE START", 1192),
        ("UNLOCK TABLES", 0),
        ("FLUSH TABLES WITH READ LOCK", 0),
        ("BACKUP STAGE START", 1223),
        ("UNLOCK TABLES", 0),
        ("BACKUP STAGE START", 0),
        ("BACKUP STAGE START", 4147),
        ("CREATE TABLE x (id INT)", 4145),
        ("UPDATE t SET v = 2", 4145),
        ("LOCK TABLES t READ", 4145),
        ("FLUSH TABLES WITH READ LOCK", 4145),
        ("SELECT * FROM t", 0),
        ("BACKUP STAGE FLUSH", 0),
    ] {
        ensure!(errno(first.query_drop(sql))? == answer, "{sql}");
    }
    watcher.query_drop("CREATE TABLE x (id INT); UPDATE t SET v = 3 WHERE id = 1")?;
    let other = Aside::waits(&server, &mut watcher, "BACKUP STAGE START", WAITS)?;
    first.query_drop("BACKUP STAGE BLOCK_DDL")?;
    let create = Aside::waits(&server, &mut watcher, "CREATE TABLE y (id INT)", WAITS)?;
    watcher.query_drop("UPDATE t SET v = 4 WHERE id = 1")?;
    ensure!(errno(first.query_drop("BACKUP STAGE FLUSH"))? == 4147);
    let mut open = server.connect_to("d")?;
    open.query_drop("BEGIN; UPDATE t SET v = 5 WHERE id = 2")?;
    first.query_drop("BACKUP STAGE BLOCK_COMMIT; UNLOCK TABLES")?;
    let update = Aside::waits(&server, &mut watcher, "UPDATE t SET v = 6 WHERE id = 1", WAITS_TO_COMMIT)?;
    open.query_drop("UPDATE t SET v = 7 WHERE id = 3")?;
    let commit = Aside::run_in(open, "COMMIT");
    until_waiting(&mut watcher, commit.id, WAITS_TO_COMMIT)?;
    until_waiting(&mut watcher, create.id, WAITS)?;
    let rows: Vec<i64> = watcher.query("SELECT v FROM t ORDER BY id")?;
    ensure!(rows == [4, 2, 3], "{rows:?}");
    first.query_drop("BACKUP STAGE END")?;
    for one in [other, create, update, commit] {
        ensure!(one.errno()? == 0);
    }
    let rows: Vec<i64> = watcher.query("SELECT v FROM t ORDER BY id")?;
    ensure!(rows == [6, 5, 7], "{rows:?}");
    // Stages may be left out. The end of the connection ends the backup, as it did that of the other one.
    first.query_drop("BACKUP STAGE START; BACKUP STAGE BLOCK_COMMIT")?;
    let update = Aside::waits(&server, &mut watcher, "UPDATE t SET v = 8 WHERE id = 1", WAITS_TO_COMMIT)?;
    drop(first);
    ensure!(update.errno()? == 0);
    // A table alone.
    let mut first = server.connect_to("d")?;
    first.query_drop("BACKUP LOCK t; BACKUP LOCK d.u")?;
    watcher.query_drop("ALTER TABLE t COMMENT = 'x'; INSERT INTO u VALUES (1, 1)")?;
    let drops = Aside::waits(&server, &mut watcher, "DROP TABLE u", "Waiting for table metadata lock")?;
    for (sql, answer) in [
        ("ALTER TABLE u COMMENT = 'x'", 1223),
        ("LOCK TABLES t READ", 1192),
        ("BACKUP STAGE START", 1223),
        ("BACKUP LOCK nowhere", 1146),
        ("BACKUP UNLOCK", 0),
    ] {
        ensure!(errno(first.query_drop(sql))? == answer, "{sql}");
    }
    ensure!(drops.errno()? == 0);
    Ok(())
}

/// Type, schema, name, mode, duration, status, connection.
type Shown = (String, Option<String>, Option<String>, String, String, String, Option<u32>);

fn shown(conn: &mut Conn) -> Result<Vec<Shown>> {
    Ok(conn.query(
        "SELECT object_type, object_schema, object_name, lock_type, lock_duration, lock_status, owner_thread_id \
         FROM performance_schema.metadata_locks ORDER BY object_type, lock_type, lock_status",
    )?)
}

#[test]
fn the_locks_that_are_held_and_awaited_are_shown() -> Result<()> {
    let (_folder, server, mut first) = server()?;
    let mut watcher = server.connect()?;
    let own = watcher.connection_id();
    ensure!(shown(&mut watcher)?.iter().all(|row| row.6 == Some(own)), "nobody else does anything");
    first.query_drop("BEGIN; UPDATE t SET v = 9 WHERE id = 1; DO GET_LOCK('Name', 0)")?;
    let locker = Aside::waits(&server, &mut watcher, "LOCK TABLES t WRITE", "Waiting for table metadata lock")?;
    let mut second = server.connect_to("d")?;
    second.query_drop("LOCK INSTANCE FOR BACKUP")?;
    let row = |kind: &str, name: Option<&str>, mode: &str, duration: &str, status: &str, owner: u32| -> Shown {
        let [kind, mode, duration, status] = [kind, mode, duration, status].map(str::to_owned);
        let schema = (kind == "TABLE").then(|| "d".to_owned());
        (kind, schema, name.map(str::to_owned), mode, duration, status, Some(owner))
    };
    let (one, two, three) = (first.connection_id(), second.connection_id(), locker.id);
    let rows = shown(&mut watcher)?.into_iter().filter(|row| row.6 != Some(own)).collect::<Vec<_>>();
    let expected = [
        row("BACKUP LOCK", None, "SHARED", "EXPLICIT", "GRANTED", two),
        row("GLOBAL", None, "INTENTION_EXCLUSIVE", "STATEMENT", "GRANTED", three),
        row("TABLE", Some("t"), "SHARED_NO_READ_WRITE", "EXPLICIT", "PENDING", three),
        row("TABLE", Some("t"), "SHARED_WRITE", "TRANSACTION", "GRANTED", one),
        row("USER LEVEL LOCK", Some("name"), "EXCLUSIVE", "EXPLICIT", "GRANTED", one),
    ];
    ensure!(rows == expected, "{rows:#?}");
    second.query_drop("UNLOCK INSTANCE")?;
    // A prepared transaction is of no session.
    first.query_drop("ROLLBACK; DO RELEASE_ALL_LOCKS()")?;
    ensure!(locker.errno()? == 0);
    first.query_drop("XA START 'x'; UPDATE t SET v = 9 WHERE id = 1; XA END 'x'; XA PREPARE 'x'")?;
    let rows = shown(&mut watcher)?.into_iter().filter(|row| row.0 == "TABLE" && row.6.is_none()).collect::<Vec<_>>();
    ensure!(rows.len() == 1 && rows[0].3 == "SHARED_WRITE", "{rows:#?}");
    first.query_drop("XA ROLLBACK 'x'")?;
    for (sql, answer) in [
        ("USE performance_schema", 0),
        ("SELECT COUNT(*) FROM metadata_locks", 0),
        ("SHOW TABLES", 0),
        ("SHOW CREATE TABLE metadata_locks", 0),
        ("SELECT * FROM PERFORMANCE_SCHEMA.metadata_locks", 0),
        ("SELECT * FROM threads", 1235),
        ("DELETE FROM metadata_locks", 1235),
        ("DROP DATABASE performance_schema", 1235),
    ] {
        ensure!(errno(watcher.query_drop(sql))? == answer, "{sql}");
    }
    Ok(())
}
