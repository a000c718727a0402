//! The command line as an operator uses it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use anyhow::Result;
use cohort_blackbox::{Launch, server, wait_until};
use mysql::prelude::Queryable;

fn cohort(arguments: &[&str]) -> Result<Output> {
    Ok(Command::new(server::binary()?).args(arguments).output()?)
}

#[test]
fn help_lists_every_option_with_default_and_meaning() -> Result<()> {
    let output = cohort(&["serve", "--help"])?;
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout)?;
    for option in [
        "--datadir",
        "--port",
        "--bind-address",
        "--socket",
        "--server-id",
        "--defaults-file",
        "--print-defaults",
        "--sync-binlog",
        "--flush-log-at-trx-commit",
        "--max-binlog-size",
        "--max-connections",
        "--max-allowed-packet",
    ] {
        let line = text.lines().find(|line| line.contains(option));
        let line = line.unwrap_or_else(|| panic!("--help does not list {option}:\n{text}"));
        assert!(line.len() > option.len() + 10, "no meaning: {line}");
    }
    Ok(())
}

#[test]
fn a_defaults_file_sets_what_the_command_line_does_not() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("my.cnf");
    let text = "# comment\n[client]\nport=1\n\n[mysqld]\nmax-connections = 77\nsync_binlog=0\n[cohort]\nserver_id=9\n";
    fs::write(&file, text)?;
    let defaults = format!("--defaults-file={}", file.display());
    let output = cohort(&["serve", &defaults, "--sync-binlog=3", "--print-defaults"])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let effective = String::from_utf8(output.stdout)?.replace('-', "_").replace(' ', "");
    for expected in ["max_connections=77", "sync_binlog=3", "server_id=9"] {
        assert!(effective.lines().any(|line| line.ends_with(expected)), "no {expected} in:\n{effective}");
    }

    let launch = Launch::new(folder.path().join("data")).option(defaults).option("--sync_binlog=3");
    let server = launch.start()?;
    let sql = "SELECT @@global.max_connections, @@global.sync_binlog, @@global.server_id";
    assert_eq!(server.connect()?.query_first::<(i64, i64, i64), _>(sql)?, Some((77, 3, 9)));
    server.stop()?;
    Ok(())
}

#[test]
fn what_is_wrong_on_the_command_line_is_named_and_nothing_starts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    let datadir_option = format!("--datadir={}", datadir.display());
    for (wrong, named) in [
        ("--no-such-option=1", "no-such-option"),
        ("--max-connections=many", "many"),
        ("--defaults-file=/no/such/file", "/no/such/file"),
        ("--port=700000", "700000"),
    ] {
        let output = cohort(&["serve", wrong, &datadir_option])?;
        assert!(!output.status.success(), "{wrong} was taken");
        let said = String::from_utf8_lossy(&output.stderr).replace('_', "-");
        assert!(said.contains(named), "{wrong}: {said}");
        assert!(!said.contains("panicked"), "{wrong}: {said}");
        assert!(!datadir.exists(), "{wrong} left a data directory");
    }
    Ok(())
}

#[test]
fn sigterm_under_load_stops_soon_and_keeps_every_acknowledged_row() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let mut conn = server.connect()?;
            Ok(thread::spawn(move || {
                let ids = writer * 1_000_000..;
                let done = ids.take_while(|id| conn.query_drop(format!("INSERT INTO d.t VALUES ({id})")).is_ok());
                done.collect::<Vec<i32>>()
            }))
        })
        .collect::<Result<_>>()?;
    wait_until("a hundred rows", || Ok(conn.query_first::<u32, _>("SELECT COUNT(*) FROM d.t")? >= Some(100)))?;
    let launch = server.stop()?;
    let acknowledged: Vec<i32> =
        writers.into_iter().flat_map(|writer| writer.join().expect("a writer panicked")).collect();
    assert!(!acknowledged.is_empty());

    let server = launch.start()?;
    let found: Vec<i32> = server.connect()?.query("SELECT id FROM d.t")?;
    for id in &acknowledged {
        assert!(found.contains(id), "{id} was acknowledged and is gone");
    }
    assert!(found.len() <= acknowledged.len() + 4, "more rows than were ever sent");
    Ok(())
}

#[test]
fn the_log_is_a_file_that_can_be_rotated_and_that_a_program_can_read() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let launch = Launch::new(folder.path().join("data")).option("--log-error=cohort.err").option("--sync-binlog=0");
    let server = launch.start()?;
    let (file, rotated) = (server.datadir().join("cohort.err"), server.datadir().join("cohort.err.1"));
    let has = |file: &Path, wanted: &str| -> Result<String> {
        let mut text = String::new();
        wait_until(&format!("'{wanted}' in {}", file.display()), || {
            text = fs::read_to_string(file).unwrap_or_default();
            Ok(text.contains(wanted))
        })?;
        Ok(text)
    };
    let text = has(&file, "[Note] ready")?;
    assert!(text.lines().all(|line| line.as_bytes()[4] == b'-' && line.contains("Z [")), "{text}");
    assert!(text.contains("Z [Warning] sync_binlog"), "{text}");
    assert_eq!(server.log()?, "", "all of it goes to the file");

    let mut conn = server.connect()?;
    let path: Option<String> = conn.query_first("SELECT @@global.log_error")?;
    assert_eq!(path.map(|path| fs::canonicalize(path).expect("the file is there")), Some(fs::canonicalize(&file)?));
    fs::rename(&file, &rotated)?;
    conn.query_drop("FLUSH LOGS")?;
    conn.query_drop("SET GLOBAL log_error_services = 'log_filter_internal; log_sink_json'")?;
    conn.query_drop("SET GLOBAL innodb_flush_log_at_trx_commit = 0")?;
    let text = has(&file, "flush_log_at_trx_commit=0")?;
    for line in text.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        assert_eq!((&message["label"], &message["prio"]), (&"Warning".into(), &2.into()), "{line}");
        assert!(message["time"].is_string() && message["ts"].is_u64() && message["msg"].is_string(), "{line}");
    }

    conn.query_drop("SET GLOBAL log_error_verbosity = 1")?;
    server.stop()?;
    assert!(!fs::read_to_string(&file)?.contains("stopped"), "a note that nobody asked for");
    Ok(())
}

#[test]
fn show_variables_and_status_answer_with_mysqls_names() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--server-id=5").start()?;
    let mut conn = server.connect()?;
    let port: Option<(String, u16)> = conn.query_first("SHOW GLOBAL VARIABLES LIKE 'port'")?;
    assert_eq!(port, Some(("port".to_owned(), server.port())));
    let flush: Option<(String, String)> = conn.query_first("SHOW VARIABLES LIKE 'innodb_flush_log_at_trx_commit'")?;
    assert_eq!(flush.map(|(_, value)| value), Some("1".to_owned()));
    let version: String = conn.query_first("SELECT VERSION()")?.unwrap_or_default();
    assert!(version.starts_with("8.0.") && version.ends_with("-cohort"), "{version}");
    let commits = |conn: &mut mysql::Conn| -> Result<u64> {
        let row: Option<(String, u64)> = conn.query_first("SHOW GLOBAL STATUS LIKE 'Binlog_commits'")?;
        Ok(row.map_or(0, |(_, count)| count))
    };
    let before = commits(&mut conn)?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT)")?;
    conn.query_drop("INSERT INTO d.t VALUES (1), (2)")?;
    assert_eq!(commits(&mut conn)?, before + 3);
    Ok(())
}

#[test]
fn the_last_recovery_is_reported_as_a_line_and_as_json() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    conn.query_drop("INSERT INTO d.t VALUES (1), (2)")?;
    let server = server.kill_and_restart()?;
    let text = fs::read_to_string(server.datadir().join("recovery.json"))?;
    let report: serde_json::Value = serde_json::from_str(&text)?;
    let log = server.log()?;
    let line = log.lines().rfind(|line| line.contains("recovery: from lsn")).expect("a line about the recovery");
    let number = |name: &str| report[name].as_u64().unwrap_or_else(|| panic!("no {name} in {text}"));
    for said in [
        format!("from lsn {} to {}, ", number("checkpoint_lsn"), number("end_lsn")),
        format!(" {} records, {} transactions kept", number("records"), number("transactions_kept")),
        format!(", {} re-applied to RocksDB", report["engines"][0]["transactions_reapplied"]),
    ] {
        assert!(line.contains(&said), "'{said}' is not in: {line}");
    }
    assert!(number("transactions_kept") >= 3 && number("bytes_cut") == 0 && report["cut_reason"].is_null(), "{text}");
    assert!(number("replay_us") > 0 && number("checkpoint_us") > 0, "{text}");
    let steps: u64 = ["scan_us", "settle_us", "binlog_replay_us"].into_iter().map(number).sum();
    let engines = report["engines"].as_array().expect("engines");
    let applied: u64 = engines.iter().map(|engine| engine["apply_us"].as_u64().expect("a time")).sum();
    assert!(number("scan_us") > 0 && steps + applied <= number("replay_us"), "{text}");
    assert!(line.contains("ms to replay (scan ") && line.contains(", RocksDB "), "{line}");
    server.stop()?;
    Ok(())
}
