//! What settings put into the binlog, and whether programs that others wrote take it.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, MariaDb, SystemTables, fetched};
use mysql::Conn;
use mysql::prelude::Queryable;
use mysql_common::binlog::BinlogFile;
use mysql_common::binlog::consts::BinlogVersion;
use mysql_common::binlog::events::{EventData, RowsEventData};

use crate::programs::{Replica, rows};
use crate::reader::status;

const TABLES: [&str; 4] = [
    "CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE d.a (id INT PRIMARY KEY, k INT, v VARCHAR(100), t TEXT, b BLOB, f DOUBLE)",
    "CREATE TABLE d.n (x INT, t TEXT)",
    "CREATE TABLE d.p (t TEXT, x INT, y INT, z INT, c4 INT, c5 INT, c6 INT, c7 INT, c8 INT, PRIMARY KEY (y, x))",
];

const CHANGES: [&str; 14] = [
    "INSERT INTO d.a VALUES (1, 1, 'one', 'text', 'blob', 1.5), (2, NULL, NULL, NULL, NULL, NULL), (3, 3, 'drei', '', '', 0)",
    "INSERT INTO d.n VALUES (1, 'x'), (2, NULL), (2, NULL)",
    "INSERT INTO d.p VALUES ('a', 1, 1, 1, 4, 5, 6, 7, 8), ('b', 2, 1, NULL, NULL, NULL, NULL, NULL, 8), ('c', 3, 3, 3, 0, 0, 0, 0, 0)",
    "UPDATE d.a SET k = k + 10 WHERE id IN (1, 3)",
    "UPDATE d.a SET t = 'longer text', f = 2.5 WHERE id = 2",
    "UPDATE d.a SET t = NULL WHERE id = 1",
    "UPDATE d.a SET id = 20 WHERE id = 2",
    "UPDATE d.n SET x = 5 WHERE x = 2",
    "UPDATE d.p SET c8 = c8 + 1, z = 9",
    "UPDATE d.p SET x = 30 WHERE x = 3",
    "UPDATE d.p SET t = NULL, c5 = NULL WHERE x = 1",
    "DELETE FROM d.a WHERE id = 3",
    "DELETE FROM d.n WHERE x = 1",
    "DELETE FROM d.p WHERE x = 2",
];

/// Which columns the images of updates and deletes have, before and after, in the files of a binlog; what statements their
/// rows come from.
fn images(files: &[std::path::PathBuf]) -> Result<(Vec<String>, Vec<String>)> {
    let (mut images, mut statements) = (Vec::new(), Vec::new());
    for path in files {
        let mut log = BinlogFile::new(BinlogVersion::Version4, std::io::BufReader::new(std::fs::File::open(path)?))?;
        while let Some(event) = log.next() {
            let event = event?;
            // MariaDB's own events.
            if event.header().event_type().is_err() {
                continue;
            }
            match event.read_data()? {
                Some(EventData::RowsEvent(data)) => {
                    let map = log.reader().get_tme(data.table_id()).context("a table map")?;
                    // All of it can be read.
                    data.rows(map).try_for_each(|row| row.map(drop))?;
                    if let RowsEventData::WriteRowsEvent(_) | RowsEventData::WriteRowsEventV1(_) = data {
                        continue;
                    }
                    let mut image = map.table_name().into_owned();
                    for bits in [data.columns_before_image(), data.columns_after_image()].into_iter().flatten() {
                        image.push(' ');
                        image.extend(bits.iter().map(|bit| if *bit { '1' } else { '0' }));
                    }
                    images.push(image);
                }
                Some(EventData::RowsQueryEvent(query)) => statements.push(query.query().into_owned()),
                _ => {}
            }
        }
    }
    Ok((images, statements))
}

fn change(conn: &mut Conn, image: &str) -> Result<()> {
    TABLES.iter().try_for_each(|sql| conn.query_drop(sql))?;
    conn.query_drop(format!("SET SESSION binlog_row_image = {image}"))?;
    CHANGES.iter().try_for_each(|sql| conn.query_drop(sql))?;
    Ok(())
}

#[test]
fn images_have_the_columns_that_mariadb_gives_them() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("not run: mariadb-server is not installed");
        return Ok(());
    }
    for image in ["FULL", "MINIMAL", "NOBLOB"] {
        let scratch = tempfile::tempdir()?;
        let server = Launch::new(scratch.path().join("cohort")).start()?;
        let options = ["--log-bin=log", "--binlog-format=ROW", "--server-id=3"];
        let theirs = MariaDb::start(&scratch.path().join("mariadb"), SystemTables::Absent, &options, None)?;
        change(&mut server.connect()?, image)?;
        change(&mut theirs.connect()?, image)?;
        let (file, _) = status(&server)?;
        let path = server.datadir().join(file);
        server.connect()?.query_drop("FLUSH BINARY LOGS")?;
        let (ours, _) = images(&[path])?;
        theirs.connect()?.query_drop("FLUSH BINARY LOGS")?;
        let (expected, _) = images(&[scratch.path().join("mariadb/data/log.000001")])?;
        ensure!(!expected.is_empty());
        assert_eq!(ours, expected, "{image}");
        theirs.stop()?;
        server.stop()?;
    }
    Ok(())
}

#[test]
fn replicas_apply_every_image_and_pass_over_statements() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path().join("source")).option("--binlog-row-metadata=FULL").start()?;
    let mut replicas = Vec::new();
    if MariaDb::installed().is_some() {
        replicas.push(Replica::start(&scratch.path().join("mariadb"))?);
    }
    if let Some(home) = fetched("peers/mysql-5.6.24", "scripts/peers.sh") {
        replicas.push(Replica::start_mysql(&home, &scratch.path().join("mysql"))?);
    }
    let (name, begin) = status(&server)?;
    replicas.iter().try_for_each(|replica| replica.follow(&server, &name, begin.into()))?;
    let mut conn = server.connect()?;
    conn.query_drop("SET SESSION binlog_rows_query_log_events = ON")?;
    for image in ["MINIMAL", "NOBLOB", "FULL"] {
        conn.query_drop("DROP DATABASE IF EXISTS d")?;
        change(&mut conn, image)?;
        for replica in &replicas {
            replica.catch_up(&server)?;
            let mut theirs = replica.server.connect()?;
            for table in ["d.a", "d.n", "d.p"] {
                assert_eq!(rows(&mut conn, table)?, rows(&mut theirs, table)?, "{image} {table}");
            }
        }
    }
    conn.query_drop("BEGIN")?;
    conn.query_drop("UPDATE d.a SET k = 7")?;
    ensure!(conn.query_drop("INSERT INTO d.a (id) VALUES (100), (1)").is_err(), "1 is there already");
    conn.query_drop("INSERT IGNORE INTO d.a (id) VALUES (1), (200)")?;
    conn.exec_drop("DELETE FROM d.a WHERE id = ?", (200,))?;
    conn.query_drop("UPDATE d.a SET k = 7")?;
    conn.query_drop("COMMIT")?;
    conn.query_drop("SET SESSION binlog_rows_query_log_events = OFF")?;
    conn.query_drop("DELETE FROM d.a")?;
    replicas.iter().try_for_each(|replica| replica.catch_up(&server))?;
    conn.query_drop("FLUSH BINARY LOGS")?;
    let (_, statements) = images(&[Path::new(server.datadir()).join(&name)])?;
    let last =
        ["UPDATE d.a SET k = 7", "INSERT IGNORE INTO d.a (id) VALUES (1), (200)", "DELETE FROM d.a WHERE id = ?"];
    let each = CHANGES.iter().cycle().take(3 * CHANGES.len());
    let expected: Vec<&str> = each.copied().chain(last).collect();
    assert_eq!(statements, expected);
    replicas.into_iter().try_for_each(|replica| replica.server.stop())?;
    server.stop().map(drop)
}

#[test]
fn statements_mean_the_same_to_a_replica_in_another_time_zone() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("not run: mariadb-server is not installed");
        return Ok(());
    }
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path().join("source")).start()?;
    let replica = Replica::start(&scratch.path().join("mariadb"))?;
    let mut theirs = replica.server.connect()?;
    theirs.query_drop("SET GLOBAL time_zone = '+05:00'")?;
    let (name, begin) = status(&server)?;
    replica.follow(&server, &name, begin.into())?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.system (id INT PRIMARY KEY, at TIMESTAMP DEFAULT '2024-01-01 00:00:00')")?;
    conn.query_drop("SET time_zone = '-03:00'")?;
    conn.query_drop("CREATE TABLE d.own (id INT PRIMARY KEY, at TIMESTAMP DEFAULT '2024-01-01 00:00:00')")?;
    replica.catch_up(&server)?;
    // Each inserts for itself.
    theirs.query_drop("STOP SLAVE")?;
    for conn in [&mut conn, &mut theirs] {
        conn.query_drop("SET time_zone = '+00:00'")?;
        conn.query_drop("INSERT INTO d.system (id) VALUES (7)")?;
        conn.query_drop("INSERT INTO d.own (id) VALUES (7)")?;
    }
    for table in ["d.system", "d.own"] {
        assert_eq!(rows(&mut conn, table)?, rows(&mut theirs, table)?, "{table}");
    }
    replica.server.stop()?;
    server.stop().map(drop)
}
