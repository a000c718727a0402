//! What the binlog holds where a session asks for something else than rows as they are: compressed transactions
//! (`binlog_transaction_compression`) and statements (`binlog_format`).

use anyhow::{Context, Result, ensure};
use cohort_blackbox::replica::Replica;
use cohort_blackbox::server::binary;
use cohort_blackbox::{Launch, MariaDb, Output, Server, binlog_end, tool, wait_until};
use cohort_txn::CommitProtocol;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// The number of an error that the server sent.
fn errno<T>(result: mysql::Result<T>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        Err(other) => panic!("{other}"),
        Ok(_) => 0,
    }
}

/// Runs the server's program as a tool.
fn cohort(arguments: &[&str]) -> Result<Output> {
    tool(&binary()?.display().to_string(), arguments)
}

/// The first column of each row.
fn texts(conn: &mut Conn, sql: &str) -> Result<Vec<String>> {
    let rows: Vec<Row> = conn.query(sql)?;
    rows.iter().map(|row| row.get(0).context("a column")).collect()
}

/// What the binlog has from `from` on: type and information of each event but GTIDs.
fn logged(conn: &mut Conn, (file, from): &(String, u64)) -> Result<Vec<(String, String)>> {
    let rows: Vec<Row> = conn.query(format!("SHOW BINLOG EVENTS IN '{file}' FROM {from}"))?;
    let shown = rows.into_iter().map(|row| Ok((row.get(2).context("a type")?, row.get(5).context("information")?)));
    let shown: Result<Vec<(String, String)>> = shown.collect();
    Ok(shown?.into_iter().filter(|(kind, _)| kind != "Gtid").collect())
}

fn kinds(events: &[(String, String)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.as_str()).collect()
}

/// The rows of a table, rebuilt from all binlog files by another decoder, and how many transactions were compressed.
fn rebuilt(server: &Server, conn: &mut Conn) -> Result<Replica> {
    let mut replica = Replica::default();
    for file in texts(conn, "SHOW BINARY LOGS")? {
        replica.apply_file(&server.datadir().join(file))?;
    }
    Ok(replica)
}

#[test]
fn compressed_transactions_are_read_shown_and_recovered() -> Result<()> {
    for protocol in [CommitProtocol::Journal, CommitProtocol::Mysql57, CommitProtocol::Mariadb { commit_flush: true }] {
        let folder = tempfile::tempdir()?;
        let server = Launch::new(folder.path().join("data")).protocol(protocol).start()?;
        let mut conn = server.connect()?;
        conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(1000))")?;
        conn.query_drop("SET binlog_transaction_compression = ON")?;
        let begin = binlog_end(&mut conn)?;
        let row = |id: i32| format!("({id}, REPEAT('{id} again ', 50))");
        let rows: Vec<String> = (1..=100).map(row).collect();
        conn.query_drop(format!("INSERT INTO t VALUES {}", rows.join(", ")))?;
        let events = logged(&mut conn, &begin)?;
        assert_eq!(events[0].0, "Transaction_payload");
        ensure!(events[0].1.starts_with("compression='ZSTD', decompressed_size="), "{}", events[0].1);
        assert_eq!(kinds(&events)[1..3], ["Query", "Table_map"]);
        assert_eq!(kinds(&events).last(), Some(&"Xid"));
        let bytes = binlog_end(&mut conn)?.1 - begin.1;
        ensure!(bytes < 5000, "{bytes} bytes");
        conn.query_drop("BEGIN; UPDATE t SET note = 'other' WHERE id < 10; SAVEPOINT s; DELETE FROM t; ROLLBACK TO s")?;
        conn.query_drop("DELETE FROM t WHERE id > 90; COMMIT")?;
        // Without it, and with it once more: each transaction as its session says.
        conn.query_drop("SET binlog_transaction_compression = OFF; INSERT INTO t VALUES (200, 'plain')")?;
        conn.query_drop("SET GLOBAL binlog_transaction_compression = ON")?;
        let mut second = server.connect_to("d")?;
        second.query_drop("SET binlog_transaction_compression_level_zstd = 22")?;
        second.query_drop("INSERT INTO t VALUES (201, 'packed'), (202, 'packed')")?;
        drop(second);
        let mut server = server.kill_and_restart()?;
        let mut conn = server.connect()?;
        let count: u32 = conn.query_first("SELECT COUNT(*) FROM d.t")?.context("a count")?;
        assert_eq!(count, 93, "{protocol}");
        let replica = rebuilt(&server, &mut conn)?;
        assert_eq!((replica.table("d.t").values().sum::<u64>(), replica.payloads()), (93, 3), "{protocol}");
        ensure!(replica.table("d.t").keys().any(|row| row[1].as_deref() == Some(b"other")));
        let dumped = cohort(&["binlog", "dump", &server.datadir().join(&begin.0).display().to_string()])?;
        let text = dumped.success()?.text();
        ensure!(text.contains("in the payload, Write_rows     d.t, "), "{text}");
        drop(conn);
        server.signal_kill()?;
        server.wait_until_dead()?;
        cohort(&["check", &server.datadir().display().to_string()])?.success()?;
    }
    Ok(())
}

#[test]
fn a_damaged_payload_is_found() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--binlog-transaction-compression").start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, note VARCHAR(100))")?;
    let (file, begin) = binlog_end(&mut conn)?;
    conn.query_drop("INSERT INTO d.t VALUES (1, 'again'), (2, 'again'), (3, 'again')")?;
    let (_, end) = binlog_end(&mut conn)?;
    drop(conn);
    let launch = server.stop()?;
    let path = launch.datadir().join(&file);
    let mut bytes = std::fs::read(&path)?;
    // A byte in the middle of what is compressed, with the right checksum.
    let payload = begin as usize + u32::from_le_bytes(bytes[begin as usize + 9..][..4].try_into()?) as usize;
    let last = end as usize - 4;
    bytes[last - 20] ^= 0x55;
    let crc = crc32fast::hash(&bytes[payload..last]);
    bytes[last..last + 4].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, bytes)?;
    let (datadir, path) = (launch.datadir().display().to_string(), path.display().to_string());
    for command in [&["check", &datadir][..], &["binlog", "dump", &path]] {
        let ended = cohort(command)?;
        let said = format!("{}{}", ended.text(), ended.complaints());
        ensure!(ended.success().is_err() && said.contains("payload"), "{said}");
    }
    Ok(())
}

/// Statements that a replica can run, each with what it changes.
const SAFE: &[&str] = &[
    "INSERT INTO t VALUES (1, 'one', 1.5, NULL), (2, 'two', 2, '2024-02-29 12:00:00')",
    "REPLACE INTO t (id, note) VALUES (2, 'ü')",
    "INSERT INTO t (id, note, n) SELECT id + 10, CONCAT(note, @text), n + @decimal FROM t",
    "INSERT INTO t (id, note) VALUES (@id, @none), (@id + 1, CONNECTION_ID() > 0)",
    "INSERT INTO t (id, n) SELECT LAST_INSERT_ID() + 1000, @real",
    "UPDATE t SET note = CONCAT(note, '!'), n = n * 2 WHERE id IN (1, 11)",
    "UPDATE t SET at = NOW() WHERE id = 12",
    "UPDATE t SET at = '2024-07-01 12:00:00' WHERE id = 2",
    "INSERT INTO t (id, note) VALUES (1, 'x') ON DUPLICATE KEY UPDATE note = CONCAT(note, VALUES(note))",
    "DELETE FROM t WHERE id = 11",
    "UPDATE t SET note = \"double\" WHERE id = 10000",
    "INSERT INTO ids (v) VALUES (1)",
    "INSERT INTO ids (v) VALUES (LAST_INSERT_ID()), (LAST_INSERT_ID() + 1), (@id)",
    "INSERT INTO ids VALUES (DEFAULT, 2), (DEFAULT, 3)",
    "INSERT INTO ids VALUES (NULL, 4)",
    "REPLACE INTO ids VALUES (0, 5)",
    "INSERT INTO ids VALUES (500, 6), (400, 7)",
    "INSERT IGNORE INTO ids VALUES (500, 8), (501, 9)",
    "INSERT INTO ids VALUES (1 + 1, 10) ON DUPLICATE KEY UPDATE v = v + VALUES(id)",
];

/// Statements that it cannot.
const UNSAFE: &[&str] = &[
    "INSERT INTO t (id, note) VALUES (50, UUID())",
    "UPDATE t SET n = RAND() WHERE id = 1",
    "INSERT INTO t (id, note) VALUES (51, CURRENT_USER)",
    "INSERT INTO t (id, note) VALUES (52, @@server_id)",
    "UPDATE t SET note = NOW(6) WHERE id = 1",
    "UPDATE t SET note = HEX(AES_ENCRYPT('text', 'key')) WHERE id = 1",
    "UPDATE t SET note = LEFT(STATEMENT_DIGEST('SELECT 1'), 9) WHERE id = 1",
    "UPDATE t SET note = HEX(WEIGHT_STRING('a')) WHERE id = 1",
    "UPDATE t SET n = LENGTH(COMPRESS('a')) WHERE id = 1",
    "INSERT INTO t (id, note) SELECT 53, GROUP_CONCAT(id ORDER BY id) FROM ids",
    "UPDATE t SET n = WEEK('2024-02-29') WHERE id = 1",
    "DELETE FROM t ORDER BY id LIMIT 1",
    "INSERT INTO ids VALUES (NULL, 1), (90, 1), (NULL, 1)",
    "INSERT IGNORE INTO ids (v) VALUES (1), (2)",
    "INSERT INTO ids (v) SELECT id FROM t WHERE id = 1",
    "INSERT INTO fine (id) VALUES (1)",
    "REPLACE INTO t (id, note) SELECT id, note FROM t",
    "INSERT IGNORE INTO t (id, note) SELECT id, 'ignored' FROM t",
    "INSERT INTO t (id, note) SELECT 60, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME = 'ids'",
];

fn tables(conn: &mut Conn) -> Result<()> {
    for sql in [
        "CREATE DATABASE d DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(100), n DOUBLE, at TIMESTAMP NULL)",
        "CREATE TABLE ids (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
        "CREATE TABLE fine (id INT PRIMARY KEY, at TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3))",
        "INSERT INTO ids (v) VALUES (7)",
        "SET @text = 'it''s', @decimal = 1.25, @real = 1e3, @id = 40, time_zone = '+05:30'",
    ] {
        conn.query_drop(sql)?;
    }
    Ok(())
}

#[test]
fn statements_are_logged_with_what_they_use() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("NOT RUN: mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("source")).start()?;
    let replica = MariaDb::start_replica(&folder.path().join("replica"), &["--server-id=77", "--relay-log=relay"])?;
    let mut conn = server.connect()?;
    let (file, position) = binlog_end(&mut conn)?;
    replica
        .follow(server.port(), &format!("MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}, MASTER_USE_GTID=no"))?;
    tables(&mut conn)?;
    conn.query_drop("SET binlog_format = 'STATEMENT'")?;
    for format in ["STATEMENT", "MIXED"] {
        conn.query_drop(format!("SET binlog_format = {format}, sql_mode = 'STRICT_TRANS_TABLES'"))?;
        // The replica does not know that these values are gone.
        conn.query_drop("BEGIN; INSERT INTO ids (v) VALUES (0), (0); ROLLBACK")?;
        for sql in SAFE {
            let begin = binlog_end(&mut conn)?;
            conn.query_drop(sql).context(*sql)?;
            let warnings = texts(&mut conn, "SHOW WARNINGS")?;
            assert!(!warnings.iter().any(|level| level == "Note"), "{sql}");
            let events = logged(&mut conn, &begin)?;
            let [begin, .., statement, commit] = events.as_slice() else { panic!("{sql}: {events:?}") };
            assert_eq!((begin.1.as_str(), statement.1.as_str()), ("BEGIN", &*format!("use `d`; {sql}")));
            assert_eq!((statement.0.as_str(), commit.0.as_str()), ("Query", "Xid"));
        }
        conn.query_drop("DELETE FROM t WHERE id >= 10")?;
        conn.query_drop("DELETE FROM t")?;
        for sql in &SAFE[..6] {
            conn.query_drop(sql)?;
        }
        // What fails leaves nothing, and what is taken back does not either.
        conn.query_drop("BEGIN; UPDATE t SET n = 5 WHERE id = 2; SAVEPOINT s; DELETE FROM t; ROLLBACK TO s")?;
        assert_eq!(errno(conn.query_drop("INSERT INTO t (id, note) VALUES (70, 'x'), (1, 'again')")), 1062);
        conn.query_drop("UPDATE t SET note = 'last' WHERE id = 1; COMMIT")?;
        for sql in UNSAFE {
            conn.query_drop(sql).context(*sql)?;
        }
        if format == "STATEMENT" {
            conn.query_drop("DELETE FROM t; DELETE FROM fine; DELETE FROM ids WHERE id > 1")?;
        }
    }
    let everything = "SELECT id, note, n, at FROM d.t ORDER BY id";
    let expected: Vec<Row> = conn.query(everything)?;
    ensure!(expected.len() > 5, "{expected:?}");
    conn.query_drop("CREATE TABLE d.done (id INT)")?;
    let mut there = replica.connect()?;
    there.query_drop("SET time_zone = '+05:30', NAMES utf8mb4")?;
    wait_until("everything arrives", || Ok(there.query_drop("SELECT * FROM d.done").is_ok()))?;
    let found: Vec<Row> = there.query(everything)?;
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    let ids = |conn: &mut Conn| conn.query::<(i32, i32), _>("SELECT id, v FROM d.ids");
    assert_eq!(ids(&mut there)?, ids(&mut conn)?);
    replica.stop()?;
    server.stop().map(drop)
}

#[test]
fn what_a_replica_could_do_otherwise_is_logged_as_rows() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    tables(&mut conn)?;
    for (format, code) in [("STATEMENT", Some(1592)), ("MIXED", None)] {
        conn.query_drop(format!("SET binlog_format = {format}"))?;
        conn.query_drop("DELETE FROM t; DELETE FROM fine; DELETE FROM ids; INSERT INTO t (id) VALUES (1), (2)")?;
        let begin = binlog_end(&mut conn)?;
        conn.query_drop("INSERT INTO ids (id, v) VALUES (NULL, LAST_INSERT_ID())")?;
        assert_eq!(kinds(&logged(&mut conn, &begin)?), ["Query", "Intvar", "Intvar", "Query", "Xid"]);
        conn.query_drop("SET auto_increment_increment = 2")?;
        let begin = binlog_end(&mut conn)?;
        conn.query_drop("INSERT INTO ids (v) VALUES (1), (2)")?;
        assert_eq!(kinds(&logged(&mut conn, &begin)?), ["Query", "Table_map", "Write_rows", "Xid"]);
        conn.query_drop("SET auto_increment_increment = 1")?;
        for sql in UNSAFE {
            let begin = binlog_end(&mut conn)?;
            conn.query_drop(sql).context(*sql)?;
            let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS")?;
            let unsafe_notes = warnings.iter().filter(|(_, code, _)| *code == 1592);
            assert_eq!(unsafe_notes.count(), usize::from(code.is_some()), "{sql}: {warnings:?}");
            let events = logged(&mut conn, &begin)?;
            assert!(!events.iter().any(|(kind, info)| kind == "Query" && info != "BEGIN"), "{sql}: {events:?}");
        }
        // A prepared statement has no text of its own once it has parameters.
        let begin = binlog_end(&mut conn)?;
        conn.exec_drop("UPDATE t SET note = ? WHERE id = 2", ("prepared",))?;
        assert_eq!(kinds(&logged(&mut conn, &begin)?), ["Query", "Table_map", "Update_rows", "Xid"]);
        let begin = binlog_end(&mut conn)?;
        conn.query_drop("XA START 'x'; UPDATE t SET note = 'xa' WHERE id = 2; XA END 'x'; XA COMMIT 'x' ONE PHASE")?;
        ensure!(kinds(&logged(&mut conn, &begin)?).contains(&"Update_rows"));
        // One row has no order: pt-table-checksum's statement.
        let begin = binlog_end(&mut conn)?;
        let sql = "REPLACE INTO t (id, note) SELECT 99, COALESCE(LOWER(CONV(BIT_XOR(CAST(CRC32(CONCAT_WS('#', id, note, \
                   CONCAT(ISNULL(note)))) AS UNSIGNED)), 10, 16)), 0) FROM t FORCE INDEX (`PRIMARY`) WHERE id > 0";
        conn.query_drop(sql)?;
        let events = logged(&mut conn, &begin)?;
        let expected = if code.is_some() { "Query" } else { "Write_rows" };
        assert_eq!(events[events.len() - 2].0, expected, "{events:?}");
        conn.query_drop("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
        let refused = errno(conn.query_drop("UPDATE t SET note = 'rc' WHERE id = 2"));
        assert_eq!(refused, if code.is_some() { 1665 } else { 0 });
        conn.query_drop("SET sql_log_bin = 0, SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
        conn.query_drop("UPDATE t SET note = 'rc' WHERE id = 2")?;
        conn.query_drop("SET sql_log_bin = 1, SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        conn.query_drop("BEGIN")?;
        assert_eq!(errno(conn.query_drop("SET binlog_format = ROW")), 1679);
        for value in ["0", "1", "DEFAULT"] {
            assert_eq!(errno(conn.query_drop(format!("SET sql_log_bin = {value}"))), 1694);
        }
        conn.query_drop("COMMIT")?;
    }
    // For new sessions, and for whom it is.
    conn.query_drop("SET GLOBAL binlog_format = STATEMENT; CREATE USER u IDENTIFIED BY 'p'; GRANT ALL ON d.* TO u")?;
    let mut other = Conn::new(server.options_as("u", "p"))?;
    assert_eq!(texts(&mut other, "SELECT @@binlog_format")?, ["STATEMENT"]);
    for sql in
        ["binlog_format = ROW", "binlog_transaction_compression = 1", "binlog_transaction_compression_level_zstd = 1"]
    {
        assert_eq!(errno(other.query_drop(format!("SET {sql}"))), 1227, "{sql}");
    }
    assert_eq!(errno(conn.query_drop("SET binlog_format = 'WORDS'")), 1231);
    assert_eq!(errno(conn.query_drop("SET binlog_row_value_options = 'PARTIAL_JSON'")), 1231);
    server.stop().map(drop)
}

/// Transactions with statements depend on everything before them, and everything after on them.
#[test]
fn statements_are_replayed_one_after_another() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    tables(&mut conn)?;
    conn.query_drop("SET binlog_format = STATEMENT; INSERT INTO t (id) VALUES (1); INSERT INTO t (id) VALUES (2)")?;
    conn.query_drop("SET binlog_format = ROW; INSERT INTO t (id) VALUES (3); INSERT INTO t (id) VALUES (4)")?;
    let (file, _) = binlog_end(&mut conn)?;
    let path = server.datadir().join(file).display().to_string();
    let text = cohort(&["binlog", "dump", &path, "--json"])?.success()?.text();
    let clocks: Vec<(u64, u64)> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .filter(|event| event["type"] == "Gtid")
        .map(|event| {
            (event["last_committed"].as_u64().expect("a number"), event["sequence_number"].as_u64().expect("a number"))
        })
        .collect();
    for (last_committed, number) in &clocks[clocks.len() - 4..clocks.len() - 1] {
        assert_eq!(*last_committed, number - 1, "{clocks:?}");
    }
    server.stop().map(drop)
}
