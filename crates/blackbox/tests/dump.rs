//! What mariadb-dump writes of a database, restored, is that database again.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use cohort_blackbox::tool::{tool_with_input, tool_within};
use cohort_blackbox::{Launch, Server, tool};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

const TABLES: [&str; 3] = ["kinds", "rows", "empty"];

fn fill(conn: &mut Conn) -> Result<()> {
    conn.query_drop("CREATE DATABASE source")?;
    conn.query_drop("USE source")?;
    conn.query_drop(
        "CREATE TABLE kinds (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, b BIGINT, d DECIMAL(20,6), f DOUBLE, \
         s VARCHAR(40) COLLATE utf8mb4_bin NOT NULL DEFAULT 'it''s', t TEXT, bin VARBINARY(20), blb BLOB, day DATE, \
         moment DATETIME(6), stamp TIMESTAMP NULL, span TIME(3), y YEAR, UNIQUE KEY s (s), KEY (b, d)) COMMENT='all kinds'",
    )?;
    conn.query_drop(
        "INSERT INTO kinds VALUES \
         (1, -9223372036854775808, -1.5, 1e-300, 'a\\'b\\\"c\\\\d', 'line\\nline\\0end', x'00ff41275c', x'', '2024-02-29', \
          '2024-02-29 23:59:59.123456', '2024-02-29 12:00:00', '-838:59:59.000', 2024), \
         (2, NULL, NULL, NULL, 'ünï ☃ 🙂', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
         (40, 0, 0, 0, '', '', x'', x'0a0d1a25', '1000-01-01', '1000-01-01 00:00:00', '1970-01-02 00:00:00', '00:00:00', 1901)",
    )?;
    conn.query_drop("CREATE TABLE `rows` (`key` INT PRIMARY KEY, `select` VARCHAR(100)) ENGINE=redb")?;
    let rows: Vec<String> = (0..2000).map(|id| format!("({id}, 'row number {id}')")).collect();
    conn.query_drop(format!("INSERT INTO `rows` VALUES {}", rows.join(", ")))?;
    conn.query_drop("CREATE TABLE empty (a INT NOT NULL)")?;
    Ok(())
}

#[test]
fn a_dump_restores_what_was_dumped() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    fill(&mut conn)?;
    let socket = format!("--socket={}", server.socket().display());
    for options in [
        &["--single-transaction", "--events", "--routines"][..],
        &["--lock-tables", "--hex-blob", "--skip-extended-insert"],
    ] {
        let fixed = ["--no-defaults", "--user=root", socket.as_str(), "--no-tablespaces"];
        let dump = tool("mariadb-dump", fixed.iter().chain(options).chain(&["source"]))?.success()?;
        ensure!(dump.complaints().trim().is_empty(), "{}", dump.complaints());
        conn.query_drop("DROP DATABASE IF EXISTS copy")?;
        conn.query_drop("CREATE DATABASE copy")?;
        let restored =
            tool_with_input("mariadb", ["--no-defaults", "--user=root", socket.as_str(), "copy"], dump.stdout.clone())?;
        restored.success().with_context(|| dump.text())?;
        for table in TABLES {
            for query in ["SHOW CREATE TABLE X", "SELECT * FROM X", "SELECT COUNT(*) FROM X"] {
                let of = |database: &str| query.replace('X', &format!("{database}.`{table}`"));
                let (before, after): (Vec<Row>, Vec<Row>) = (conn.query(of("source"))?, conn.query(of("copy"))?);
                let (before, after) = (before.into_iter().map(Row::unwrap), after.into_iter().map(Row::unwrap));
                let (before, after): (Vec<_>, Vec<_>) = (before.collect(), after.collect());
                ensure!(before == after, "{} {options:?}:\n{before:?}\n{after:?}", of("copy"));
            }
        }
    }
    Ok(())
}

/// Writes a row of the same number into both tables, again and again, until `stop` is set.
fn write_pairs(mut conn: Conn, writer: u64, stop: &AtomicBool) -> Result<()> {
    let mut id = writer << 32;
    while !stop.load(Ordering::Relaxed) {
        id += 1;
        conn.query_drop(format!("BEGIN; INSERT INTO load_1 VALUES ({id}); INSERT INTO load_2 VALUES ({id}); COMMIT"))?;
    }
    Ok(())
}

/// Where a dump says it was taken.
fn position_in(dump: &str) -> Result<(String, u64)> {
    let line = dump.lines().find(|line| line.contains("CHANGE MASTER TO")).context("a position")?;
    let quoted = line.split('\'').nth(1).context("a file")?;
    let at = line.rsplit_once('=').context("an offset")?.1.trim_end_matches(';');
    Ok((quoted.to_owned(), at.parse()?))
}

/// The transactions of a binlog file up to a position.
fn transactions_up_to(conn: &mut Conn, (file, end): &(String, u64)) -> Result<usize> {
    let events: Vec<Row> = conn.query(format!("SHOW BINLOG EVENTS IN '{file}'"))?;
    let ends =
        |row: &&Row| row.get::<String, _>(2).as_deref() == Some("Xid") && row.get(4).is_some_and(|at: u64| at <= *end);
    Ok(events.iter().filter(ends).count())
}

/// The numbers in both tables of `database`, which are the same.
fn pairs(conn: &mut Conn, database: &str) -> Result<usize> {
    let [one, two] =
        [1, 2].map(|table| conn.query::<u64, _>(format!("SELECT id FROM {database}.load_{table} ORDER BY id")));
    let (one, two) = (one?, two?);
    ensure!(one == two, "{} and {} rows", one.len(), two.len());
    Ok(one.len())
}

/// A dump under FLUSH TABLES WITH READ LOCK, while others write: what it has are the transactions up to the position that
/// it names, all of them.
#[test]
fn a_dump_under_the_read_lock_is_the_state_at_its_position() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE source; USE source; CREATE TABLE load_1 (id BIGINT PRIMARY KEY)")?;
    conn.query_drop("CREATE TABLE load_2 (id BIGINT PRIMARY KEY) ENGINE=redb; FLUSH LOGS")?;
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (1..5)
        .map(|writer| {
            let (conn, stop) = (server.connect_to("source")?, stop.clone());
            Ok(thread::spawn(move || write_pairs(conn, writer, &stop)))
        })
        .collect::<Result<_>>()?;
    let dumped = dump_under_load(&server, &mut conn, folder.path());
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().expect("no panic")?;
    }
    dumped
}

/// Runs mydumper. Version 0.10 may wait for itself without an end, all its sessions idle: it is run again then, and only then.
fn run_mydumper(conn: &mut Conn, options: &[String]) -> Result<()> {
    const OTHERS: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE command <> 'Sleep' \
                          AND info NOT LIKE 'INSERT%' AND info <> 'COMMIT' AND id <> CONNECTION_ID()";
    for _ in 0..5 {
        let (waiting, run) = thread::scope(|scope| {
            let run = scope.spawn(|| tool_within(Duration::from_secs(40), "mydumper", options));
            let deadline = Instant::now() + Duration::from_secs(30);
            while !run.is_finished() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(20));
            }
            let waiting: Result<Option<u64>, _> = if run.is_finished() { Ok(None) } else { conn.query_first(OTHERS) };
            (waiting, run.join().expect("no panic"))
        });
        match (run, waiting?) {
            (Err(error), Some(0)) => println!("again: {error}"),
            (run, _) => return run?.success().map(drop),
        }
    }
    bail!("mydumper did not end five times")
}

fn dump_under_load(server: &Server, conn: &mut Conn, folder: &Path) -> Result<()> {
    let socket = format!("--socket={}", server.socket().display());
    let fixed = ["--no-defaults", "--user=root", socket.as_str()];
    let fresh = |conn: &mut Conn| conn.query_drop("DROP DATABASE IF EXISTS copy; CREATE DATABASE copy");
    for lock in ["--lock-all-tables", "--single-transaction"] {
        let options = ["--no-tablespaces", "--master-data=2", lock, "source"];
        let dump = tool("mariadb-dump", fixed.iter().chain(&options))?.success()?;
        let at = position_in(&dump.text())?;
        fresh(conn)?;
        // The copy's rows are none of the load's.
        let restore = ["--init-command=SET sql_log_bin = 0", "copy"];
        tool_with_input("mariadb", fixed.iter().chain(&restore), dump.stdout.clone())?.success()?;
        let (found, logged) = (pairs(conn, "copy")?, transactions_up_to(conn, &at)?);
        ensure!(found > 0 && found == logged, "{lock}: {found} transactions, {logged} in the binlog up to {at:?}");
    }
    if Command::new("mydumper").arg("--version").output().is_err() {
        println!("not run: mydumper is not installed");
        return Ok(());
    }
    let out = folder.join("dump").display().to_string();
    let login = ["--host=127.0.0.1", "--user=root", &format!("--port={}", server.port())].map(str::to_owned);
    let dump = |name: &str, more: &[&str]| {
        let more = more.iter().map(|option| (*option).to_owned());
        tool(name, login.iter().cloned().chain(more))?.success()
    };
    let of_source = ["--database=source".to_owned(), format!("--outputdir={out}")];
    run_mydumper(conn, &[&login[..], &of_source].concat())?;
    let metadata = std::fs::read_to_string(folder.join("dump/metadata"))?;
    let of = |name: &str| metadata.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    let at = (of("Log:").context("a file")?.to_owned(), of("Pos:").context("an offset")?.parse()?);
    fresh(conn)?;
    dump("myloader", &["--database=copy", &format!("--directory={out}")])?;
    let (found, logged) = (pairs(conn, "copy")?, transactions_up_to(conn, &at)?);
    ensure!(found > 0 && found == logged, "mydumper: {found} transactions, {logged} in the binlog up to {at:?}");
    Ok(())
}
