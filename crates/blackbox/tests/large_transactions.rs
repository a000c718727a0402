//! Transactions that go to files while they run: `kill -9` at any moment, and what memory they take.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use cohort_blackbox::load::{is_lost, rounds};
use cohort_blackbox::replica::Replica;
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, Server};
use mysql::Conn;
use mysql::prelude::Queryable;

const ROWS: u64 = 1000;
const TABLES: [&str; 2] = ["t", "r"];

fn launch(datadir: &Path) -> Launch {
    Launch::new(datadir)
        .option("--binlog-cache-size=16384")
        .option("--max-binlog-size=1048576")
        .option("--write-buffer-size=1048576")
        .option("--redb-layer-size=131072")
}

fn create(conn: &mut Conn) -> Result<()> {
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("USE d")?;
    for (table, engine) in TABLES.into_iter().zip(["RocksDB", "redb"]) {
        let columns = "id INT PRIMARY KEY, v BIGINT NOT NULL, pad VARCHAR(100) NOT NULL, KEY (v)";
        conn.query_drop(format!("CREATE TABLE {table} ({columns}) ENGINE={engine}"))?;
        let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, 0, 'padding of row {id}')")).collect();
        conn.query_drop(format!("INSERT INTO {table} VALUES {}", rows.join(", ")))?;
    }
    conn.query_drop("CREATE TABLE small (id INT PRIMARY KEY, n BIGINT NOT NULL)")?;
    conn.query_drop("INSERT INTO small VALUES (1, 0)")?;
    Ok(())
}

/// One transaction that changes every row of both tables, and takes some of it back before.
fn large(conn: &mut Conn, number: u64) -> mysql::Result<()> {
    conn.query_drop("BEGIN")?;
    conn.query_drop(format!("UPDATE t SET v = v + 1, pad = CONCAT('round {number} of ', id)"))?;
    conn.query_drop("SAVEPOINT half")?;
    conn.query_drop("UPDATE r SET v = v + 1000")?;
    conn.query_drop("DELETE FROM t WHERE id % 3 = 0")?;
    conn.query_drop("ROLLBACK TO half")?;
    conn.query_drop("UPDATE r SET v = v + 1")?;
    conn.query_drop("COMMIT")
}

/// What both tables say: how many large transactions there were.
fn check_tables(conn: &mut Conn) -> Result<u64> {
    let mut values = Vec::new();
    for table in TABLES {
        let found: Vec<(u64, u64)> = conn.query(format!("SELECT v, COUNT(*) FROM d.{table} GROUP BY v"))?;
        ensure!(found.len() == 1 && found[0].1 == ROWS, "{table} has a part of a transaction: {found:?}");
        let by_index: Option<u64> =
            conn.query_first(format!("SELECT COUNT(*) FROM d.{table} WHERE v = {}", found[0].0))?;
        ensure!(by_index == Some(ROWS), "the index of {table} has {by_index:?} rows");
        values.push(found[0].0);
    }
    ensure!(values[0] == values[1], "the engines differ: {values:?}");
    Ok(values[0])
}

#[test]
fn a_large_transaction_is_there_as_a_whole_or_not_at_all_after_kill_9() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = launch(&folder.path().join("data")).start()?;
    create(&mut server.connect()?)?;
    let mut rng = Rng::new(rng::seed());
    let (mut acknowledged, small) = (0, AtomicU64::new(0));
    let mut interrupted = 0;
    for _ in 0..rounds(6) {
        let pause = Duration::from_millis(rng.below(900));
        let options = server.options();
        thread::scope(|scope| -> Result<()> {
            let clients = [
                scope.spawn(|| -> mysql::Result<u64> {
                    let mut conn = Conn::new(options.clone())?;
                    conn.query_drop("USE d")?;
                    for number in 0.. {
                        match large(&mut conn, number) {
                            Ok(()) => {}
                            Err(error) if is_lost(&error) => return Ok(number),
                            Err(error) => return Err(error),
                        }
                    }
                    unreachable!("the server is killed");
                }),
                scope.spawn(|| -> mysql::Result<u64> {
                    let mut conn = Conn::new(options.clone())?;
                    loop {
                        match conn.query_drop("UPDATE d.small SET n = n + 1") {
                            Ok(()) => small.fetch_add(1, Ordering::SeqCst),
                            Err(error) if is_lost(&error) => return Ok(0),
                            Err(error) => return Err(error),
                        };
                    }
                }),
            ];
            thread::sleep(pause);
            server.signal_kill()?;
            for client in clients {
                match client.join().expect("no panic") {
                    Ok(count) => acknowledged += count,
                    Err(error) if is_lost(&error) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        })?;
        server.wait_until_dead()?;
        server = server.launch().clone().start()?;
        let mut conn = server.connect()?;
        let there = check_tables(&mut conn)?;
        ensure!((acknowledged..=acknowledged + 1).contains(&there), "{acknowledged} acknowledged, {there} there");
        interrupted += there - acknowledged;
        acknowledged = there;
        let n: u64 = conn.query_first("SELECT n FROM d.small")?.expect("a row");
        let counted = small.load(Ordering::SeqCst);
        ensure!((counted..=counted + 1).contains(&n), "{counted} small ones acknowledged, {n} there");
        small.store(n, Ordering::SeqCst);
        no_files_are_left(&server)?;
    }
    println!("{acknowledged} large transactions, {interrupted} of them not acknowledged");
    let mut conn = server.connect_to("d")?;
    large(&mut conn, 0)?;
    binlog_has_the_same(&server, &mut conn)
}

fn no_files_are_left(server: &Server) -> Result<()> {
    for entry in std::fs::read_dir(server.datadir())? {
        let name = entry?.file_name();
        ensure!(!name.to_string_lossy().contains("large-"), "{name:?} was left");
    }
    Ok(())
}

/// The tables as a decoder that is not ours reads them from the binlog.
fn binlog_has_the_same(server: &Server, conn: &mut Conn) -> Result<()> {
    let mut replica = Replica::default();
    let files: Vec<mysql::Row> = conn.query("SHOW BINARY LOGS")?;
    for file in files {
        let name: String = file.get(0).expect("a name");
        replica.apply_file(&server.datadir().join(name))?;
    }
    for table in TABLES {
        let rows: Vec<(u64, u64, String)> = conn.query(format!("SELECT id, v, pad FROM d.{table}"))?;
        let rows = rows
            .into_iter()
            .map(|(id, v, pad)| [id.to_string(), v.to_string(), pad].map(|text| Some(text.into_bytes())));
        let expected = rows.map(|row| (row.to_vec(), 1)).collect();
        ensure!(replica.table(&format!("d.{table}")) == expected, "{table} is another one by the binlog");
    }
    Ok(())
}

/// KILL, a lost connection and a failed statement leave nothing of it, nor do they keep it from going on.
#[test]
fn a_large_transaction_that_is_given_up_leaves_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    create(&mut conn)?;
    let mut other = server.connect_to("d")?;
    other.query_drop("BEGIN")?;
    other.query_drop("UPDATE t SET v = v + 7")?;
    let error = other.query_drop("UPDATE t SET id = id + 1 ORDER BY id DESC LIMIT 600").err();
    ensure!(error.is_none(), "{error:?}");
    // Error 1062 in the middle of a statement whose rows are in files already.
    let error = other.query_drop(format!("INSERT INTO t SELECT {} - id, v, pad FROM r", 2 * ROWS - 5)).err();
    ensure!(matches!(&error, Some(mysql::Error::MySqlError(error)) if error.code == 1062), "{error:?}");
    other.query_drop("UPDATE t SET id = id - 1 WHERE id > 400 ORDER BY id")?;
    other.query_drop("COMMIT")?;
    let found: Vec<(u64, u64, u64)> = conn.query("SELECT v, COUNT(*), MAX(id) FROM d.t GROUP BY v")?;
    ensure!(found == [(7, ROWS, ROWS - 1)], "{found:?}");
    other.query_drop("BEGIN")?;
    other.query_drop("UPDATE t SET v = 0")?;
    let id: u64 = other.query_first("SELECT CONNECTION_ID()")?.expect("a number");
    conn.query_drop(format!("KILL {id}"))?;
    let mut next = server.connect_to("d")?;
    next.query_drop("UPDATE t SET v = v - 7")?;
    ensure!(next.query_first::<u64, _>("SELECT COUNT(*) FROM t WHERE v = 0")? == Some(ROWS));
    binlog_has_the_same(&server, &mut next)?;
    server.stop()?.start()?;
    Ok(())
}

/// What is in files is not in memory.
#[test]
fn a_large_transaction_takes_memory_for_its_locks_and_little_else() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder.path().join("data")).option("--binlog-cache-size=1048576").start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("USE d")?;
    conn.query_drop("CREATE TABLE b (id INT PRIMARY KEY, v LONGTEXT NOT NULL)")?;
    let peak = |what: &str| -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(what)).expect("a line");
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? >> 10)
    };
    let before = peak("VmHWM:")?;
    conn.query_drop("BEGIN")?;
    for id in 0..400 {
        conn.query_drop(format!("INSERT INTO b VALUES ({id}, REPEAT('{}', 500000))", id % 10))?;
    }
    ensure!(conn.query_first::<u64, _>("SELECT COUNT(*) FROM b WHERE v LIKE '7777%'")? == Some(40));
    conn.query_drop("COMMIT")?;
    let after = peak("VmHWM:")?;
    ensure!(after - before < 160, "{before} MiB before, {after} MiB for a transaction of 400 MB in events and changes");
    ensure!(conn.query_first::<u64, _>("SELECT SUM(LENGTH(v)) FROM b")? == Some(200_000_000));
    Ok(())
}
