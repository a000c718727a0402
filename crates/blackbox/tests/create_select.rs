//! CREATE TABLE ... SELECT under `kill -9`, and on replicas of MariaDB and MySQL 5.6: a table is there with all its rows, or
//! not at all.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::load::rounds;
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, MariaDb, Server, binlog_end, fetched, free_port};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// Rows of each table.
const ROWS: u64 = 2000;

const OPTIONS: [&str; 3] = ["--relay-log=relay", "--slave-net-timeout=10", "--character-set-server=utf8mb4"];

fn mariadb(folder: &Path) -> Result<MariaDb> {
    let server = MariaDb::start_replica(folder, &[&OPTIONS[..], &["--server-id=77"]].concat())?;
    Ok(server)
}

fn mysql56(home: &Path, folder: &Path) -> Result<MariaDb> {
    let own = [
        "--server-id=56",
        "--log-bin=binlog",
        "--binlog-format=ROW",
        "--log-slave-updates",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency",
    ];
    MariaDb::start_unpacked(home, folder, &[&OPTIONS[..], &own].concat(), None)
}

fn tables(conn: &mut Conn) -> Result<Vec<(String, u64, u64)>> {
    let names: Vec<String> = conn.query("SHOW TABLES FROM d LIKE 'c%'")?;
    let counted = |name: String| {
        let (rows, sum): (u64, u64) = conn
            .query_first(format!(
                "SELECT COUNT(*), CAST(IFNULL(SUM(CRC32(CONCAT(id, v, n))), 0) AS UNSIGNED) FROM d.{name}"
            ))?
            .context("a count")?;
        Ok((name, rows, sum))
    };
    names.into_iter().map(counted).collect()
}

fn wait_until_equal(source: &Server, replica: &MariaDb, name: &str) -> Result<()> {
    let wanted = tables(&mut source.connect()?)?;
    let (deadline, mut conn) = (Instant::now() + Duration::from_secs(120), replica.connect()?);
    while !tables(&mut conn).is_ok_and(|there| there == wanted) {
        let status: Option<Row> = conn.query_first("SHOW SLAVE STATUS")?;
        ensure!(Instant::now() < deadline, "{name} does not come to the end: {status:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("{name}: {} tables are equal", wanted.len());
    Ok(())
}

#[test]
fn a_table_is_there_with_its_rows_or_not_at_all_here_and_on_replicas() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut rng = Rng::new(rng::seed());
    let launch = Launch::new(scratch.path().join("source")).port(free_port()?);
    let mut server = launch.start()?;
    let mut conn = server.connect()?;
    let (file, position) = binlog_end(&mut conn)?;
    let mut replicas = Vec::new();
    if MariaDb::installed().is_some() {
        let replica = mariadb(&scratch.path().join("10.11"))?;
        let place = format!("MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}, MASTER_USE_GTID=no");
        replica.follow(server.port(), &place)?;
        replicas.push(("MariaDB 10.11", replica));
    } else {
        println!("NOT RUN: mariadb-server is not installed");
    }
    if let Some(home) = fetched("peers/mysql-5.6.24", "scripts/peers.sh") {
        let replica = mysql56(&home, &scratch.path().join("5.6"))?;
        replica.follow(server.port(), "MASTER_AUTO_POSITION=1")?;
        replicas.push(("MySQL 5.6", replica));
    }
    conn.query_drop(
        "CREATE DATABASE d; CREATE TABLE d.s (id INT PRIMARY KEY, v VARCHAR(20) NOT NULL DEFAULT 'x', n DECIMAL(8,2))",
    )?;
    for from in (0..ROWS).step_by(500) {
        let rows: Vec<String> = (from..from + 500).map(|id| format!("({id}, 'v{id}', {id}.5)")).collect();
        conn.query_drop(format!("INSERT INTO d.s VALUES {}", rows.join(", ")))?;
    }
    let (mut made, mut number) = (Vec::new(), 0);
    for round in 0..rounds(4) {
        let patience = Duration::from_millis(rng.below(300));
        std::thread::scope(|scope| -> Result<()> {
            let mut session = server.connect()?;
            let (made, number) = (&mut made, &mut number);
            let worker = scope.spawn(move || {
                loop {
                    *number += 1;
                    let columns = "id, v, n, id + 1 AS next, NOW() AS at";
                    let create = match *number % 3 {
                        0 => format!("CREATE TABLE d.c{number} (PRIMARY KEY (id), KEY (v)) SELECT {columns} FROM d.s"),
                        1 => format!("CREATE TABLE d.c{number} (extra INT DEFAULT 7) AS SELECT {columns} FROM d.s"),
                        _ => format!(
                            "CREATE TABLE IF NOT EXISTS d.c{number} (id BIGINT) REPLACE SELECT {columns} FROM d.s"
                        ),
                    };
                    if session.query_drop(create).is_err() {
                        return;
                    }
                    made.push(format!("c{number}"));
                }
            });
            std::thread::sleep(patience);
            server.signal_kill()?;
            worker.join().expect("the worker ends");
            Ok(())
        })?;
        server.wait_until_dead()?;
        server = launch.start()?;
        let there = tables(&mut server.connect()?)?;
        ensure!(there.iter().all(|(_, rows, _)| *rows == ROWS), "round {round}: {there:?}");
        let lost = made.iter().find(|name| !there.iter().any(|(known, _, _)| known == *name));
        ensure!(lost.is_none(), "round {round}: {lost:?} was created");
        for (name, replica) in &replicas {
            wait_until_equal(&server, replica, name)?;
        }
    }
    ensure!(!made.is_empty(), "no table was created at all");
    replicas.into_iter().try_for_each(|(_, replica)| replica.stop())?;
    server.stop().map(drop)
}
