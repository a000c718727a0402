//! Tools of Percona's toolkit, unmodified.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, MariaDb, Server, binlog_end, tool, wait_until};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Runs pt-heartbeat on the server at `port`.
fn heartbeat(port: u16, more: &[&str]) -> Result<String> {
    let login = format!("h=127.0.0.1,P={port},u=root");
    let fixed = ["--database=beats", "--utc"];
    Ok(tool("pt-heartbeat", fixed.iter().chain(more).copied().chain([login.as_str()]))?.success()?.text())
}

/// The time of the last beat and the position of the source at it.
fn beat(conn: &mut Conn) -> Result<Option<(String, String, u64)>> {
    Ok(conn.query_first("SELECT ts, file, position FROM beats.heartbeat")?)
}

fn follows(server: &Server, replica: &MariaDb) -> Result<()> {
    let mut source = server.connect()?;
    let (file, position) = binlog_end(&mut source)?;
    replica
        .follow(server.port(), &format!("MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}, MASTER_USE_GTID=no"))?;
    source.query_drop("CREATE DATABASE beats")?;
    heartbeat(server.port(), &["--update", "--create-table", "--interval=0.1", "--run-time=2"])?;
    let last = beat(&mut source)?.context("no beat")?;
    ensure!(last.1 == file && last.2 > position, "the last beat says {last:?}");
    wait_until("the last beat arrives", || {
        // The table may not be there yet.
        Ok(beat(&mut replica.connect()?).is_ok_and(|there| there.as_ref() == Some(&last)))
    })?;
    let id: u32 = source.query_first("SELECT server_id FROM beats.heartbeat")?.context("an id")?;
    let id = format!("--master-server-id={id}");
    let lag = heartbeat(replica.port(), &["--check", &id])?;
    ensure!(lag.trim().parse::<f64>().is_ok_and(|seconds| seconds >= 0.0), "the lag is {lag:?}");
    Ok(())
}

#[test]
fn pt_heartbeat_beats_here_and_is_read_on_a_replica() -> Result<()> {
    if MariaDb::installed().is_none() || Command::new("pt-heartbeat").arg("--version").output().is_err() {
        println!("NOT RUN: pt-heartbeat or mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("source")).start()?;
    let replica = MariaDb::start_replica(&folder.path().join("replica"), &["--server-id=77", "--relay-log=relay"])?;
    follows(&server, &replica)?;
    replica.stop()?;
    server.stop().map(drop)
}

/// Compares `shop` on the server with its replica by checksums; gives the exit status and the lines about tables, as
/// differences, rows of the chunks that differ, and table.
fn checksums(server: &Server) -> Result<(Option<i32>, Vec<[String; 3]>)> {
    let login = format!("h=127.0.0.1,P={},u=root", server.port());
    let fixed = ["--no-version-check", "--recursion-method=hosts", "--databases=shop", "--chunk-time=0"];
    let done = tool("pt-table-checksum", fixed.into_iter().chain([login.as_str()]))?;
    let (text, complaints) = (done.text(), done.complaints());
    ensure!(complaints.is_empty(), "pt-table-checksum: {complaints}");
    // TS ERRORS DIFFS ROWS DIFF_ROWS CHUNKS SKIPPED TIME TABLE
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let tables = lines.filter(|words| words.len() == 9 && words[8].starts_with("shop."));
    let tables: Vec<[String; 3]> = tables
        .map(|words| {
            assert_eq!((words[1], words[6]), ("0", "0"), "errors and what was skipped: {text}");
            [words[2], words[4], words[8]].map(str::to_owned)
        })
        .collect();
    Ok((done.status.code(), tables))
}

fn finds_differences(server: &Server, replica: &MariaDb) -> Result<()> {
    let mut source = server.connect()?;
    let (file, position) = binlog_end(&mut source)?;
    replica
        .follow(server.port(), &format!("MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}, MASTER_USE_GTID=no"))?;
    for sql in [
        "CREATE DATABASE shop DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "USE shop",
        "CREATE TABLE accounts (id INT PRIMARY KEY, owner VARCHAR(40) NOT NULL, balance DECIMAL(12,2), note TEXT, \
         at TIMESTAMP NULL, d DATETIME(3), f DOUBLE, b BIT(9), j BLOB, KEY (owner))",
        "INSERT INTO accounts (id, owner, balance, note, at) VALUES (1, 'ada', 1.5, 'a text', '2026-01-01 10:00:00'), \
         (2, 'grace', NULL, NULL, NULL), (3, 'linus', 3, 'ü', '2026-01-02'), (4, 'ken', 0, '', NULL), (5, 'x', 1, '', NULL)",
        "UPDATE accounts SET d = '2026-01-01 00:00:00.5', f = 1.25, b = 257, j = X'00ff' WHERE id > 2",
        "CREATE TABLE pairs (a INT, b VARCHAR(10), PRIMARY KEY (a, b))",
        "INSERT INTO pairs VALUES (1, 'x'), (1, 'y'), (2, 'x'), (2, 'y'), (3, 'x')",
        "CREATE TABLE heap (a INT)",
        "INSERT INTO heap VALUES (1), (2)",
    ] {
        source.query_drop(sql)?;
    }
    let mut there = replica.connect()?;
    wait_until("the rows arrive", || {
        Ok(there.query_first::<u32, _>("SELECT COUNT(*) FROM shop.heap").is_ok_and(|n| n == Some(2)))
    })?;
    let table = |diffs: &str, rows: &str, name: &str| [diffs, rows, name].map(str::to_owned);
    let same = [table("0", "0", "shop.accounts"), table("0", "0", "shop.heap"), table("0", "0", "shop.pairs")];
    assert_eq!(checksums(server)?, (Some(0), same.to_vec()));
    there.query_drop("UPDATE shop.accounts SET balance = 1.51 WHERE id = 1")?;
    there.query_drop("DELETE FROM shop.pairs WHERE a = 2 AND b = 'x'")?;
    let (status, found) = checksums(server)?;
    let other = [table("1", "0", "shop.accounts"), table("0", "0", "shop.heap"), table("1", "1", "shop.pairs")];
    // 16 says that there is a difference.
    assert_eq!((status, found), (Some(16), other.to_vec()));
    Ok(())
}

#[test]
fn pt_table_checksum_finds_what_differs_on_a_replica() -> Result<()> {
    if MariaDb::installed().is_none() || Command::new("pt-table-checksum").arg("--version").output().is_err() {
        println!("NOT RUN: pt-table-checksum or mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("source")).start()?;
    let options = ["--server-id=77", "--relay-log=relay", "--log-bin=log", "--log-slave-updates"];
    let options: Vec<&str> =
        options.into_iter().chain(["--binlog-format=STATEMENT", "--report-host=127.0.0.1"]).collect();
    let replica = MariaDb::start_replica(&folder.path().join("replica"), &options)?;
    finds_differences(&server, &replica)?;
    replica.stop()?;
    server.stop().map(drop)
}
