//! The binlog as other programs read it: `mariadb-binlog` and a decoder that is not ours.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::replica::{Replica, Rows};
use cohort_blackbox::{Launch, Server, tool};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use mysql_common::binlog::BinlogFile;
use mysql_common::binlog::consts::{BinlogVersion, StatusVarKey};
use mysql_common::binlog::events::{EventData, OptionalMetadataField};

fn files(server: &Server) -> Result<Vec<PathBuf>> {
    let rows: Vec<mysql::Row> = server.connect()?.query("SHOW BINARY LOGS")?;
    let names = rows.iter().map(|row| row.get::<String, _>(0).context("no name"));
    names.map(|name| Ok(server.datadir().join(name?))).collect()
}

/// Decodes every file with `mariadb-binlog`, verifying checksums; gives its text.
fn mariadb_binlog(server: &Server) -> Result<String> {
    let mut text = String::new();
    for file in files(server)? {
        let file = file.display().to_string();
        let arguments = ["--no-defaults", "-vv", "--base64-output=decode-rows", "--verify-binlog-checksum", &file];
        let output = tool("mariadb-binlog", arguments)?.success()?;
        ensure!(!output.complaints().contains("ERROR"), "{file}: {}", output.complaints());
        text += &output.text();
    }
    Ok(text)
}

fn replica(server: &Server) -> Result<Replica> {
    let mut replica = Replica::default();
    for file in files(server)? {
        replica.apply_file(&file)?;
    }
    Ok(replica)
}

fn rows(conn: &mut Conn, sql: &str) -> Result<Rows> {
    let mut rows = Rows::new();
    for row in conn.query_iter(sql)? {
        let cells = row?.unwrap().into_iter().map(|value| match value {
            Value::NULL => None,
            Value::Bytes(bytes) => Some(bytes),
            other => panic!("a text row holds {other:?}"),
        });
        *rows.entry(cells.collect()).or_default() += 1;
    }
    Ok(rows)
}

/// Column type, literal, the value as `mariadb-binlog -vv` shows it, as the other decoder gives it.
const VALUES: &[(&str, &str, &str, &str)] = &[
    ("TINYINT", "-128", "-128 (128)", "-128"),
    ("TINYINT UNSIGNED", "255", "-1 (255)", "255"),
    ("SMALLINT", "-32768", "-32768 (32768)", "-32768"),
    ("SMALLINT UNSIGNED", "65535", "-1 (65535)", "65535"),
    // The other decoder drops this type's sign, whoever wrote the binlog.
    ("MEDIUMINT", "-8388608", "-8388608 (8388608)", "8388608"),
    ("INT", "-2147483648", "-2147483648 (2147483648)", "-2147483648"),
    ("INT UNSIGNED", "4294967295", "-1 (4294967295)", "4294967295"),
    ("BIGINT", "-9223372036854775808", "-9223372036854775808 (9223372036854775808)", "-9223372036854775808"),
    ("BIGINT UNSIGNED", "18446744073709551615", "-1 (18446744073709551615)", "18446744073709551615"),
    ("DECIMAL(20,6)", "-12345678901234.567890", "-12345678901234.567890", "-12345678901234.567890"),
    (
        "DECIMAL(65,30)",
        "0.000000000000000000000000000001",
        "0.000000000000000000000000000001",
        "0.000000000000000000000000000001",
    ),
    ("DECIMAL(5,0)", "99999", "99999", "99999"),
    ("FLOAT", "1.5", "1.5", "1.5"),
    ("DOUBLE", "-2.5e100", "-2.4999999999999999426e+100", "-25"),
    ("CHAR(10)", "'né'", "'né'", "né"),
    ("VARCHAR(10)", "''", "''", ""),
    ("VARCHAR(300)", "'It''s 漢字 🦀'", "'It's 漢字 🦀'", "It's 漢字 🦀"),
    ("TEXT", "'line\\nline'", r"'line\x0aline'", "line\nline"),
    ("VARBINARY(20)", "'a'", "'a'", "a"),
    ("BLOB", "'blob'", "'blob'", "blob"),
    ("ENUM('a', 'é')", "'é'", "2", "2"),
    // The other decoder gives the byte.
    ("SET('a', 'b', 'é')", "'a,é'", "b'00000101'", "\u{5}"),
    ("DATE", "'2024-02-29'", "'2024:02:29'", "2024-02-29 00:00:00.000000"),
    ("DATETIME", "'9999-12-31 23:59:59'", "'9999-12-31 23:59:59'", "9999-12-31 23:59:59.000000"),
    ("DATETIME(3)", "'2024-02-29 12:34:56.789'", "'2024-02-29 12:34:56.789'", "2024-02-29 12:34:56.789000"),
    ("DATETIME(6)", "'1000-01-01 00:00:00.000001'", "'1000-01-01 00:00:00.000001'", "1000-01-01 00:00:00.000001"),
    ("TIMESTAMP", "'2024-02-29 12:34:56'", "1709210096", "1709210096"),
    ("TIMESTAMP(2)", "'2024-02-29 12:34:56.78'", "1709210096.78", "1709210096.780000"),
    ("TIMESTAMP(6)", "'2038-01-19 03:14:07.999999'", "2147483647.999999", "2147483647.999999"),
];

#[test]
fn every_column_type_and_null_is_decoded_as_it_was_written() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("USE d")?;
    conn.query_drop("SET time_zone = '+00:00'")?;
    let columns: Vec<String> = VALUES.iter().enumerate().map(|(at, (kind, ..))| format!("c{at} {kind} NULL")).collect();
    conn.query_drop(format!("CREATE TABLE t (id INT PRIMARY KEY, {})", columns.join(", ")))?;
    let literals: Vec<&str> = VALUES.iter().map(|(_, literal, ..)| *literal).collect();
    let nulls = vec!["NULL"; VALUES.len()].join(", ");
    conn.query_drop(format!("INSERT INTO t VALUES (1, {}), (2, {nulls})", literals.join(", ")))?;

    let text = mariadb_binlog(&server)?;
    let shown: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("###   @")).collect();
    assert_eq!(shown.len(), 2 * (VALUES.len() + 1), "{text}");
    for (at, (kind, _, expected, _)) in VALUES.iter().enumerate() {
        let cell = |row: usize| {
            let line = shown[row * (VALUES.len() + 1) + at + 1];
            let (_, value) = line.split_once('=').expect("a cell has a value");
            value.split(" /* ").next().unwrap_or_default().trim()
        };
        assert_eq!(cell(0), *expected, "{kind}");
        assert_eq!(cell(1), "NULL", "{kind}");
    }

    let copy = replica(&server)?.table("d.t");
    for row in copy.keys() {
        let first = row[0].as_deref() == Some(b"1");
        for ((kind, _, _, expected), cell) in VALUES.iter().zip(&row[1..]) {
            let cell = cell.as_ref().map(|bytes| String::from_utf8_lossy(bytes));
            match (first, cell) {
                (true, Some(cell)) => assert!(cell.starts_with(expected), "{kind}: {cell}"),
                (false, None) => {}
                (_, other) => panic!("{kind}: {other:?}"),
            }
        }
    }
    assert_eq!(copy.len(), 2);
    Ok(())
}

#[test]
fn row_metadata_is_switched_between_minimal_and_full_while_the_server_runs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    for statement in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, b BIGINT UNSIGNED NOT NULL,
         c DECIMAL(8,2) NULL, d VARBINARY(9), PRIMARY KEY (b, a(5)))",
        "CREATE TABLE u (id INT, v INT, PRIMARY KEY (v, id))",
        "INSERT INTO t VALUES ('minimal', 1, NULL, 'x')",
        "SET GLOBAL binlog_row_metadata = FULL",
        "INSERT INTO t VALUES ('full', 2, NULL, 'x')",
        "INSERT INTO u VALUES (1, 2)",
        "SET GLOBAL binlog_row_metadata = MINIMAL",
        "INSERT INTO u VALUES (3, 4)",
    ] {
        conn.query_drop(statement)?;
    }
    let file = files(&server)?.remove(0);
    let output =
        tool("mariadb-binlog", ["--no-defaults", "-vv", "--print-table-metadata", &file.display().to_string()])?;
    let text = output.success()?.text();
    let maps: Vec<&str> = text.split("Table_map: ").skip(1).collect();
    let described: Vec<String> = maps
        .iter()
        .map(|map| {
            let lines = map.lines().skip(1).take_while(|line| line.starts_with("# ") && !line.starts_with("# at"));
            lines.map(|line| line.trim_start_matches("# ").trim()).collect::<Vec<_>>().join(" ")
        })
        .map(|map| map.split(" Number of rows").next().unwrap_or_default().replace("  ", " "))
        .collect();
    let minimal = "Columns(VARCHAR(20) NOT NULL CHARSET utf8mb4 COLLATE utf8mb4_bin, BIGINT UNSIGNED NOT NULL, \
                   DECIMAL(8,2), VARBINARY(9))";
    let full = "Columns(`a` VARCHAR(20) NOT NULL CHARSET utf8mb4 COLLATE utf8mb4_bin, `b` BIGINT UNSIGNED NOT NULL, \
                `c` DECIMAL(8,2), `d` VARBINARY(9)) Primary Key(b, a(5))";
    let keyed = "Columns(`id` INT NOT NULL, `v` INT NOT NULL) Primary Key(v, id)";
    assert_eq!(described, [minimal, full, keyed, "Columns(INT NOT NULL, INT NOT NULL)"], "{text}");

    let log = BinlogFile::new(BinlogVersion::Version4, BufReader::new(fs::File::open(&file)?))?;
    let mut names: Vec<Vec<String>> = Vec::new();
    for event in log {
        if let Some(EventData::TableMapEvent(map)) = event?.read_data()? {
            let mut of_map = Vec::new();
            for field in map.iter_optional_meta() {
                if let OptionalMetadataField::ColumnName(columns) = field? {
                    for name in columns.iter_names() {
                        of_map.push(name?.name().into_owned());
                    }
                }
            }
            names.push(of_map);
        }
    }
    assert_eq!(names, [vec![], vec!["a", "b", "c", "d"], vec!["id", "v"], vec![]]);
    Ok(())
}

#[test]
fn documents_are_read_by_another_decoder() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, j JSON)")?;
    let long = "x".repeat(70_000);
    let many = (0..9000).map(|number| (number * 37).to_string()).collect::<Vec<_>>().join(", ");
    let documents = [
        "null".to_owned(),
        r#"{"bb": [1, -70000, 3.5, 18446744073709551615, true, null], "a": {"k": "é🦀", "": []}}"#.to_owned(),
        format!(r#"[70000, "{long}", {{"small": [1, 2]}}]"#),
        format!("[[{many}], 1]"),
        format!(r#"{{"outer": {{"inner": "{long}"}}, "z": [4294967295, 4294967296]}}"#),
    ];
    for (id, document) in documents.iter().enumerate() {
        conn.exec_drop("INSERT INTO d.t VALUES (?, ?)", (id, document))?;
    }
    conn.query_drop("UPDATE d.t SET j = JSON_SET(j, '$[1]', 'changed') WHERE id = 2")?;
    let shown: Vec<(usize, String)> = conn.query("SELECT id, j FROM d.t ORDER BY id")?;
    let copy = replica(&server)?.table("d.t");
    assert_eq!(copy.len(), documents.len());
    for row in copy.keys() {
        let [Some(id), Some(read)] = row.as_slice() else { panic!("{row:?}") };
        let id: usize = std::str::from_utf8(id)?.parse()?;
        let parse = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text);
        assert_eq!(parse(read)?, parse(shown[id].1.as_bytes())?, "row {id}");
        if id != 2 {
            assert_eq!(parse(read)?, parse(documents[id].as_bytes())?, "row {id}");
        }
    }
    Ok(())
}

#[test]
fn updates_and_deletes_carry_both_images_in_order() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    for statement in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10), KEY (v))",
        "CREATE TABLE u (v INT)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)",
        "INSERT INTO u VALUES (1), (1), (2)",
        "BEGIN",
        "UPDATE t SET v = 'c' WHERE id <= 2",
        "DELETE FROM u WHERE v = 1",
        "UPDATE t SET id = 10 WHERE id = 3",
        "COMMIT",
        "REPLACE INTO t VALUES (1, 'z')",
        "INSERT INTO t VALUES (2, 'x') ON DUPLICATE KEY UPDATE v = 'y'",
    ] {
        conn.query_drop(statement)?;
    }
    let text = mariadb_binlog(&server)?;
    let changes: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(|line| line.split(" /*").next().unwrap_or(line).trim())
        .filter(|line| line.starts_with("UPDATE") || line.starts_with("DELETE") || line.starts_with("@"))
        .collect();
    let both = "UPDATE `d`.`t` @1=1 @2='a' @1=1 @2='c' UPDATE `d`.`t` @1=2 @2='b' @1=2 @2='c'";
    assert!(changes.join(" ").contains(both), "{changes:?}");
    let heap = "DELETE FROM `d`.`u` @1=1 DELETE FROM `d`.`u` @1=1 UPDATE `d`.`t` @1=3 @2=NULL @1=10 @2=NULL";
    assert!(changes.join(" ").contains(heap), "{changes:?}");
    let replaced = "UPDATE `d`.`t` @1=1 @2='c' @1=1 @2='z' UPDATE `d`.`t` @1=2 @2='c' @1=2 @2='y'";
    assert!(changes.join(" ").ends_with(replaced), "{changes:?}");
    let copy = replica(&server)?;
    for table in ["t", "u"] {
        let table_rows = rows(&mut conn, &format!("SELECT * FROM {table}"))?;
        assert_eq!(copy.table(&format!("d.{table}")), table_rows, "{table}");
    }
    Ok(())
}

#[test]
fn account_statements_are_logged_with_hashes_and_make_the_same_accounts_elsewhere() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    for statement in [
        "CREATE USER ann@'%' IDENTIFIED WITH mysql_native_password BY 'pass-ann', gone@localhost",
        "CREATE USER 'b\\\\o''b' IDENTIFIED WITH caching_sha2_password BY 'pass-bob'",
        "CREATE USER IF NOT EXISTS ann IDENTIFIED BY 'pass-other'",
        "CREATE USER IF NOT EXISTS ann, eve IDENTIFIED BY 'pass-eve'",
        "SET SESSION sql_log_bin = 0",
        "CREATE USER quiet IDENTIFIED BY 'pass-quiet'",
        "GRANT ALL ON *.* TO quiet",
        "SET SESSION sql_log_bin = 1",
        "SET PASSWORD FOR ann = 'pass-ann-2'",
        "ALTER USER eve IDENTIFIED BY 'pass-eve-2'",
        "DROP USER IF EXISTS nobody, gone@localhost",
        "GRANT ALL PRIVILEGES ON *.* TO ann WITH GRANT OPTION",
    ] {
        conn.query_drop(statement).with_context(|| statement.to_owned())?;
    }
    ensure!(conn.query_drop("CREATE USER ann").is_err());
    let statements = replica(&server)?.statements().to_vec();
    let starts = [
        "CREATE USER 'ann'@'%' IDENTIFIED WITH 'mysql_native_password' AS '*",
        "CREATE USER 'b\\\\o''b'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '$A$005$",
        "CREATE USER IF NOT EXISTS 'eve'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '$A$005$",
        "ALTER USER 'ann'@'%' IDENTIFIED WITH 'mysql_native_password' AS '*",
        "ALTER USER 'eve'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '$A$005$",
        "DROP USER IF EXISTS 'gone'@'localhost'",
        "GRANT ALL PRIVILEGES ON *.* TO 'ann'@'%' WITH GRANT OPTION",
    ];
    assert_eq!(statements.len(), starts.len(), "{statements:#?}");
    for (statement, start) in statements.iter().zip(starts) {
        ensure!(statement.starts_with(start) && !statement.contains("pass-"), "{statement}");
    }
    mariadb_binlog(&server)?;

    let other = Launch::new(folder.path().join("other")).start()?;
    let mut conn = other.connect()?;
    for statement in &statements {
        conn.query_drop(statement).with_context(|| statement.clone())?;
    }
    for (user, password) in [("ann", "pass-ann-2"), (r"b\o'b", "pass-bob"), ("eve", "pass-eve-2")] {
        Conn::new(other.options_as(user, password)).with_context(|| user.to_owned())?;
        ensure!(Conn::new(other.options_as(user, "pass-other")).is_err(), "{user}");
    }
    for user in ["quiet", "gone"] {
        ensure!(Conn::new(other.options_as(user, "")).is_err(), "{user}");
    }
    Ok(())
}

#[test]
fn rows_of_many_megabytes_come_through_whole() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--max-allowed-packet=67108864").start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, body LONGBLOB)")?;
    let mut expected = BTreeMap::new();
    for (id, bytes) in [(1, 3 << 20), (2, (16 << 20) + 5), (3, (1 << 24) - 1)] {
        let body: Vec<u8> = (0..bytes).map(|at: usize| (at * 31 + at / 251) as u8).collect();
        conn.exec_drop("INSERT INTO d.t VALUES (?, ?)", (id, &body))?;
        expected.insert(id, body);
    }
    let mut found: BTreeMap<i32, Vec<u8>> = conn.query("SELECT id, body FROM d.t")?.into_iter().collect();
    assert!(found == expected, "the table holds other bytes");
    conn.query_drop("UPDATE d.t SET id = 4 WHERE id = 1")?;
    let first = expected.remove(&1).context("row 1")?;
    expected.insert(4, first);

    found.clear();
    for row in replica(&server)?.table("d.t").into_keys() {
        let mut cells = row.into_iter().flatten();
        let id = String::from_utf8(cells.next().context("id")?)?.parse()?;
        found.insert(id, cells.next().context("body")?);
    }
    assert!(found == expected, "the binlog holds other bytes");
    mariadb_binlog(&server)?;
    let server = server.kill_and_restart()?;
    let kept: BTreeMap<i32, Vec<u8>> = server.connect()?.query("SELECT id, body FROM d.t")?.into_iter().collect();
    assert!(kept == expected, "recovery found other bytes");
    Ok(())
}

#[test]
fn the_live_file_is_readable_under_load_and_files_rotate() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--max-binlog-size=65536").start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200))")?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| -> Result<()> {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let mut conn = server.connect()?;
                let stop = &stop;
                Ok(scope.spawn(move || -> mysql::Result<()> {
                    while !stop.load(Ordering::Relaxed) {
                        let text = "x".repeat(100 + writer);
                        conn.exec_drop("INSERT INTO d.t (v) VALUES (?)", (text,))?;
                    }
                    Ok(())
                }))
            })
            .collect::<Result<_>>()?;
        let deadline = Instant::now() + Duration::from_secs(30);
        // Who reads a file while it is written may see the kernel in the middle of a write, which ends where a page does:
        // then the file is read once more.
        let is_cut = |error: &anyhow::Error| error.to_string().contains("Event truncated");
        let read_live = || match mariadb_binlog(&server) {
            Err(error) if is_cut(&error) => mariadb_binlog(&server).map(drop),
            read => read.map(drop),
        };
        let mut read = read_live();
        while read.is_ok() && files(&server)?.len() < 4 && Instant::now() < deadline {
            read = read_live();
        }
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().expect("a writer panicked")?;
        }
        read
    })?;

    mariadb_binlog(&server)?;
    let files = files(&server)?;
    assert!(files.len() >= 3, "no rotation: {files:?}");
    let names: Vec<String> =
        files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned())).collect();
    let numbered: Vec<String> = (1..=names.len()).map(|number| format!("binlog.{number:06}")).collect();
    assert_eq!(names, numbered);
    let index = fs::read_to_string(server.datadir().join("binlog.index"))?;
    let listed: Vec<&str> = index.lines().map(|line| line.trim_start_matches("./")).collect();
    assert!(listed.iter().zip(&names).all(|(line, name)| line.ends_with(name.as_str())), "{index}");
    for file in &files[..files.len() - 1] {
        let size = fs::metadata(file)?.len();
        // A file may go over by the transactions that were on their way.
        assert!((65536..2_000_000).contains(&size), "{} has {size} bytes", file.display());
    }
    let copy = replica(&server)?.table("d.t");
    assert_eq!(copy, rows(&mut conn, "SELECT * FROM d.t")?);
    Ok(())
}

#[test]
fn gtid_executed_counts_every_transaction_and_survives_restarts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    for id in 0..10 {
        conn.query_drop(format!("INSERT INTO d.t VALUES ({id})"))?;
    }
    conn.query_drop("BEGIN")?;
    conn.query_drop("INSERT INTO d.t VALUES (100), (101)")?;
    conn.query_drop("ROLLBACK")?;
    conn.query_drop("UPDATE d.t SET id = id WHERE id = 5")?;
    let auto = fs::read_to_string(server.datadir().join("auto.cnf"))?;
    let uuid = auto.lines().find_map(|line| line.trim().strip_prefix("server-uuid=")).context("no UUID")?;
    let executed = |conn: &mut Conn| -> Result<String> {
        Ok(conn.query_first("SELECT @@global.gtid_executed")?.unwrap_or_default())
    };
    assert_eq!(executed(&mut conn)?, format!("{uuid}:1-12"));
    server = server.kill_and_restart()?;
    conn = server.connect()?;
    assert_eq!(executed(&mut conn)?, format!("{uuid}:1-12"));
    conn.query_drop("INSERT INTO d.t VALUES (200)")?;
    server = server.stop()?.start()?;
    conn = server.connect()?;
    assert_eq!(executed(&mut conn)?, format!("{uuid}:1-13"));
    assert_eq!(replica(&server)?.gtids().len(), 13);
    Ok(())
}

#[test]
fn sql_log_bin_off_writes_rows_but_no_binlog() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    conn.query_drop("SET SESSION sql_log_bin = 0")?;
    conn.query_drop("INSERT INTO d.t VALUES (1)")?;
    conn.query_drop("SET SESSION sql_log_bin = 1")?;
    conn.query_drop("INSERT INTO d.t VALUES (2)")?;
    let server = server.kill_and_restart()?;
    let ids: Vec<i32> = server.connect()?.query("SELECT id FROM d.t ORDER BY id")?;
    assert_eq!(ids, [1, 2]);
    let logged: Vec<_> = replica(&server)?.table("d.t").into_keys().collect();
    assert_eq!(logged, [vec![Some(b"2".to_vec())]]);
    Ok(())
}

/// Rows that ALTER TABLE fills have the time of the statement, which a replica has to come to.
#[test]
fn a_statement_that_fills_rows_with_microseconds_carries_them() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    conn.query_drop("INSERT INTO d.t VALUES (1)")?;
    conn.query_drop("SET timestamp = 1700000000.5")?;
    let statements = [
        ("ALTER TABLE d.t ADD a DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)", true),
        ("ALTER TABLE d.t ADD b VARCHAR(30) DEFAULT (CONCAT(NOW(6)))", true),
        ("ALTER TABLE d.t ADD c DATETIME DEFAULT CURRENT_TIMESTAMP", false),
    ];
    for (sql, _) in statements {
        conn.query_drop(sql)?;
    }
    let file = files(&server)?.remove(0);
    let mut found = Vec::new();
    for event in BinlogFile::new(BinlogVersion::Version4, BufReader::new(fs::File::open(file)?))? {
        if let Some(EventData::QueryEvent(query)) = event?.read_data()?
            && let Some((sql, _)) = statements.into_iter().find(|(sql, _)| query.query() == *sql)
        {
            let carries = query.status_vars().get_status_var(StatusVarKey::Microseconds).is_some();
            let text = [&[13][..], &500_000_u32.to_le_bytes()[..3]].concat();
            assert_eq!(query.status_vars_raw().windows(text.len()).any(|bytes| bytes == text), carries, "{sql}");
            found.push((sql, carries));
        }
    }
    assert_eq!(found, statements);
    Ok(())
}
