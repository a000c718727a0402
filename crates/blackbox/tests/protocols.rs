//! The server under each of the commit protocols, and from one to another.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::load::is_lost;
use cohort_blackbox::replica::Replica;
use cohort_blackbox::{Launch, Server, server};
use cohort_txn::CommitProtocol;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// Every protocol that has a binlog.
static PROTOCOLS: LazyLock<Vec<CommitProtocol>> =
    LazyLock::new(|| CommitProtocol::ALL.into_iter().filter(|protocol| protocol.has_binlog()).collect());

fn launch(datadir: &Path, options: &[&str]) -> Launch {
    options.iter().fold(Launch::new(datadir), |launch, option| launch.option(*option))
}

/// The errno that a statement fails with.
fn errno(conn: &mut Conn, sql: &str) -> Result<u16> {
    match conn.query_drop(sql) {
        Err(mysql::Error::MySqlError(error)) => Ok(error.code),
        other => anyhow::bail!("{sql}: {other:?}"),
    }
}

/// What an ordinary day brings, in a database of its own.
fn a_days_work(server: &Server, day: usize) -> Result<()> {
    let mut conn = server.connect()?;
    conn.query_drop(format!("CREATE DATABASE day{day}"))?;
    conn.query_drop(format!("USE day{day}"))?;
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(40), n INT)")?;
    conn.query_drop("CREATE TABLE gone (id INT PRIMARY KEY)")?;
    for v in 0..20 {
        conn.exec_drop("INSERT INTO t (v, n) VALUES (?, ?)", (format!("value {v}"), v))?;
    }
    conn.query_drop("BEGIN")?;
    conn.query_drop("UPDATE t SET n = n + 100 WHERE id <= 10")?;
    conn.query_drop("INSERT INTO gone VALUES (1)")?;
    conn.query_drop("COMMIT")?;
    conn.query_drop("BEGIN")?;
    conn.query_drop("DELETE FROM t")?;
    conn.query_drop("ROLLBACK")?;
    status_is_the_end_of_the_last_file(&mut conn)?;
    conn.query_drop("FLUSH BINARY LOGS")?;
    status_is_the_end_of_the_last_file(&mut conn)?;
    conn.query_drop("CREATE INDEX by_n ON t (n)")?;
    conn.query_drop("DROP TABLE gone")?;
    conn.query_drop("DELETE FROM t WHERE n = 119")?;
    let found: Vec<i32> = conn.query("SELECT id FROM t WHERE n >= 100 ORDER BY id")?;
    ensure!(found == (1..=10).collect::<Vec<_>>(), "{found:?}");
    // What is not in the binlog is a transaction all the same.
    conn.query_drop("SET sql_log_bin = 0")?;
    conn.query_drop("CREATE TABLE unlogged (id INT PRIMARY KEY) ENGINE=redb")?;
    conn.query_drop("INSERT INTO unlogged VALUES (7)")?;
    ensure!(conn.query_first::<i32, _>("SELECT id FROM unlogged")? == Some(7));
    conn.query_drop("SET sql_log_bin = 1")?;
    conn.query_drop("INSERT INTO t (v, n) VALUES ('last', 1000)")?;
    status_is_the_end_of_the_last_file(&mut conn)?;
    conn.query_drop("SHOW ENGINE RocksDB STATUS")?;
    conn.query_drop("SHOW GLOBAL STATUS")?;
    Ok(())
}

fn status_is_the_end_of_the_last_file(conn: &mut Conn) -> Result<()> {
    let status: Row = conn.query_first("SHOW MASTER STATUS")?.context("a position")?;
    let logs: Vec<Row> = conn.query("SHOW BINARY LOGS")?;
    let last = logs.last().context("a binlog file")?;
    let (file, position): (String, u64) = (status.get(0).context("a file")?, status.get(1).context("a position")?);
    ensure!(last.get::<String, _>(0).as_deref() == Some(&file), "{file} is not the last file");
    ensure!(last.get::<u64, _>(1) == Some(position), "{last:?} ends at {position}");
    Ok(())
}

/// The rows of every day so far, in the tables and by the binlog.
fn all_days_are_there(server: &Server, days: usize) -> Result<()> {
    let mut conn = server.connect()?;
    let files: Vec<Row> = conn.query("SHOW BINARY LOGS")?;
    let mut replica = Replica::default();
    for file in files {
        replica.apply_file(&server.datadir().join(file.get::<String, _>(0).context("a name")?))?;
    }
    for day in 0..days {
        let mut rows: Vec<String> = conn.query(format!("SELECT id FROM day{day}.t"))?;
        let copy = replica.table(&format!("day{day}.t"));
        let mut copied: Vec<String> = Vec::new();
        for row in copy.keys() {
            copied.push(String::from_utf8(row[0].clone().context("an id")?)?);
        }
        rows.sort();
        copied.sort();
        ensure!(rows.len() == 21 && rows == copied, "day {day}: {rows:?}, by the binlog {copied:?}");
        let unlogged: Vec<i32> = conn.query(format!("SELECT id FROM day{day}.unlogged"))?;
        ensure!(unlogged == [7], "day {day}: {unlogged:?}");
    }
    Ok(())
}

fn is_sound(datadir: &Path) -> Result<()> {
    let checked = Command::new(server::binary()?).arg("check").arg(datadir).output()?;
    let said = String::from_utf8_lossy(&checked.stderr);
    ensure!(checked.status.success(), "{said}{}", String::from_utf8_lossy(&checked.stdout));
    Ok(())
}

#[test]
fn every_protocol_serves_and_any_other_goes_on_after_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    for (day, protocol) in PROTOCOLS.iter().copied().enumerate() {
        let serve = || -> Result<()> {
            let server = Launch::new(&datadir).protocol(protocol).start()?;
            all_days_are_there(&server, day)?;
            a_days_work(&server, day)?;
            let chosen: Option<String> = server.connect()?.query_first("SELECT @@commit_protocol")?;
            ensure!(chosen.as_deref() == Some(protocol.name()), "{chosen:?}");
            server.stop()?;
            is_sound(&datadir)
        };
        serve().with_context(|| format!("day {day}, {protocol}"))?;
    }
    for protocol in [CommitProtocol::Journal, CommitProtocol::Mysql57] {
        let server = Launch::new(&datadir).protocol(protocol).start()?;
        all_days_are_there(&server, PROTOCOLS.len())?;
        server.stop()?;
    }
    Ok(())
}

#[test]
fn after_a_kill_the_protocol_that_wrote_the_logs_recovers_them() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    let mut server = Launch::new(&datadir).protocol(PROTOCOLS[0]).start()?;
    a_days_work(&server, 0)?;
    for (day, protocol) in PROTOCOLS.iter().copied().enumerate().skip(1) {
        let kill = || -> Result<Server> {
            server.kill()?;
            is_sound(&datadir)?;
            let server = Launch::new(&datadir).protocol(protocol).start()?;
            let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(datadir.join("recovery.json"))?)?;
            let before = PROTOCOLS[day - 1].to_string();
            ensure!(report["protocol"] == before, "{before}: {report}");
            all_days_are_there(&server, day)?;
            a_days_work(&server, day)?;
            Ok(server)
        };
        server = kill().with_context(|| format!("day {day}, {protocol}"))?;
    }
    server.stop()?;
    Ok(())
}

#[test]
fn the_protocol_is_chosen_at_the_start() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    let server = launch(&datadir, &["--commit-protocol=mysql50"]).start()?;
    let mut conn = server.connect()?;
    for name in ["commit_protocol", "support_xa", "innodb_support_xa", "commit_flush"] {
        assert_eq!(errno(&mut conn, &format!("SET GLOBAL {name} = 1"))?, 1238, "{name}");
    }
    let shown: Option<(String, String)> = conn.query_first("SHOW VARIABLES LIKE 'innodb_support_xa'")?;
    assert_eq!(shown.context("the variable")?.1, "ON");
    server.stop()?;
    let refused = launch(&datadir, &["--commit-protocol=tc-mmap"]).start_refused()?;
    assert!(refused.log.contains("--skip-log-bin"), "{}", refused.log);
    launch(&datadir, &["--commit-protocol=mysql50"]).start()?.stop()?;
    Ok(())
}

/// Both engines, killed in the middle of transactions that write both.
#[test]
fn tc_mmap_keeps_two_engines_together_without_a_binlog() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    let options = ["--commit-protocol=tc-mmap", "--skip-log-bin"];
    let mut server = launch(&datadir, &options).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.one (id INT PRIMARY KEY) ENGINE=RocksDB")?;
    conn.query_drop("CREATE TABLE d.two (id INT PRIMARY KEY) ENGINE=redb")?;
    let next = AtomicU32::new(0);
    let mut acknowledged = BTreeSet::new();
    for round in 0..5 {
        let reported = Mutex::new(Vec::new());
        let server_options = server.options();
        thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    let (options, next, reported) = (&server_options, &next, &reported);
                    scope.spawn(move || -> mysql::Result<Infallible> {
                        let mut conn = Conn::new(options.clone())?;
                        loop {
                            let id = next.fetch_add(1, Ordering::Relaxed);
                            conn.query_drop("BEGIN")?;
                            conn.query_drop(format!("INSERT INTO d.one VALUES ({id})"))?;
                            conn.query_drop(format!("INSERT INTO d.two VALUES ({id})"))?;
                            conn.query_drop("COMMIT")?;
                            reported.lock().expect("nobody panics").push(id);
                        }
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(150 + 50 * round));
            server.signal_kill()?;
            // Each ends with the connection that the kill took from it.
            workers.into_iter().try_for_each(|worker| {
                let Err(error) = worker.join().expect("no panic");
                if is_lost(&error) { Ok(()) } else { Err(error.into()) }
            })
        })?;
        acknowledged.extend(reported.into_inner()?);
        server.wait_until_dead()?;
        server = launch(&datadir, &options).start()?;
        let mut conn = server.connect()?;
        let one: BTreeSet<u32> = conn.query::<u32, _>("SELECT id FROM d.one")?.into_iter().collect();
        let two: BTreeSet<u32> = conn.query::<u32, _>("SELECT id FROM d.two")?.into_iter().collect();
        ensure!(one == two, "round {round}: half a transaction: {:?}", one.symmetric_difference(&two));
        ensure!(acknowledged.is_subset(&one), "round {round}: acknowledged and lost");
    }
    ensure!(!acknowledged.is_empty(), "the load did nothing");
    let syncs: Option<(String, u64)> = server.connect()?.query_first("SHOW STATUS LIKE 'Coordinator_log_syncs'")?;
    ensure!(syncs.is_some_and(|(_, syncs)| syncs > 0), "the coordinator's log is counted");
    server.stop()?;
    is_sound(&datadir)?;
    // What it left, the journal goes on with.
    let server = launch(&datadir, &[]).start()?;
    let there: Option<usize> = server.connect()?.query_first("SELECT COUNT(*) FROM d.two")?;
    ensure!(there >= Some(acknowledged.len()));
    server.stop()?;
    Ok(())
}

#[test]
fn without_a_binlog_its_files_stay_as_they_are() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    let files = |server: &Server| -> Result<Vec<String>> {
        let rows: Vec<Row> = server.connect()?.query("SHOW BINARY LOGS")?;
        rows.iter().map(|row| row.get(0).context("a name")).collect()
    };
    let server = launch(&datadir, &[]).start()?;
    server.connect()?.query_drop("CREATE DATABASE d")?;
    server.connect()?.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    let before = files(&server)?;
    server.stop()?;
    for (id, protocol) in CommitProtocol::ALL.into_iter().chain([CommitProtocol::Journal]).enumerate() {
        let server = Launch::new(&datadir).protocol(protocol).option("--skip-log-bin").start()?;
        let mut conn = server.connect()?;
        assert_eq!(errno(&mut conn, "SHOW BINARY LOGS")?, 1381);
        assert_eq!(conn.query_first::<Row, _>("SHOW MASTER STATUS")?.map(Row::unwrap), None);
        assert_eq!(conn.query_first("SELECT @@log_bin")?, Some(0));
        conn.query_drop("FLUSH BINARY LOGS")?;
        conn.query_drop(format!("INSERT INTO d.t VALUES ({id})"))?;
        conn.query_drop(format!("CREATE TABLE d.made_{id} (id INT PRIMARY KEY)"))?;
        server.kill()?;
    }
    let server = launch(&datadir, &["--commit-protocol=mysql56"]).start()?;
    server.connect()?.query_drop("INSERT INTO d.t VALUES (-1), (-2)")?;
    all_of(&server, &before)?;
    server.stop()?;
    is_sound(&datadir)
}

/// The rows that came without a binlog are in the table and not in the binlog.
fn all_of(server: &Server, before: &[String]) -> Result<()> {
    let mut conn = server.connect()?;
    let ids: Vec<i32> = conn.query("SELECT id FROM d.t ORDER BY id")?;
    ensure!(ids.into_iter().eq(-2..=CommitProtocol::ALL.len() as i32), "a row is missing");
    let mut replica = Replica::default();
    let files: Vec<Row> = conn.query("SHOW BINARY LOGS")?;
    // The journal began one before it handed over, and the start its own.
    ensure!(files.len() == before.len() + 2, "{files:?}");
    for file in files {
        replica.apply_file(&server.datadir().join(file.get::<String, _>(0).context("a name")?))?;
    }
    ensure!(replica.table("d.t").len() == 2, "{:?}", replica.table("d.t"));
    Ok(())
}

#[test]
fn a_damaged_mark_stops_the_start() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    launch(&datadir, &["--commit-protocol=mysql57"]).start()?.stop()?;
    let mark = datadir.join("cohort.protocol");
    let text = fs::read_to_string(&mark)?;
    fs::write(&mark, text.replace("mysql57", "mysql56"))?;
    let refused = launch(&datadir, &["--commit-protocol=mysql56"]).start_refused()?;
    assert!(refused.log.contains("cohort.protocol is damaged"), "{}", refused.log);
    fs::write(&mark, text)?;
    launch(&datadir, &["--commit-protocol=mysql56"]).start()?.stop()?;
    Ok(())
}

#[test]
fn a_damaged_coordinator_log_stops_the_start() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    let options = ["--commit-protocol=tc-mmap", "--skip-log-bin"];
    launch(&datadir, &options).start()?.stop()?;
    is_sound(&datadir)?;
    let tc_log = datadir.join("tc.log");
    let whole = fs::read(&tc_log)?;
    for at in [17, 4096 + 3] {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        fs::write(&tc_log, flipped)?;
        let refused = launch(&datadir, &options).start_refused()?;
        let place = format!("tc.log: {}", if at < 4096 { "the header" } else { "a slot" });
        assert!(refused.log.contains(&place), "byte {at}: {}", refused.log);
        let checked = format!("{:#}", is_sound(&datadir).expect_err("damaged"));
        assert!(checked.contains("tc.log"), "byte {at}: {checked}");
    }
    fs::write(&tc_log, whole)?;
    launch(&datadir, &options).start()?.stop()?;
    Ok(())
}
