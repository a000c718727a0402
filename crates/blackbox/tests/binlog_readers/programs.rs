//! Programs that others wrote follow the binlog.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, MariaDb, Server, fetched, tool, wait_until};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::reader::{file, status, wait_for_process};

fn names(server: &Server) -> Result<Vec<String>> {
    Ok(server.connect()?.query_map("SHOW BINARY LOGS", |(name, _, _): (String, u64, String)| name)?)
}

fn arguments(server: &Server, into: &Path, first: &str) -> Vec<String> {
    let result = format!("--result-file={}/", into.display());
    let port = format!("--port={}", server.port());
    let fixed = ["--no-defaults", "--read-from-remote-server", "--raw", "--host=127.0.0.1", "--user=root"];
    fixed.iter().map(|text| (*text).to_owned()).chain([port, result, first.to_owned()]).collect()
}

/// A few transactions in two files.
fn write(server: &Server) -> Result<()> {
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE IF NOT EXISTS d")?;
    conn.query_drop("CREATE TABLE IF NOT EXISTS d.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(5000))")?;
    for number in 0..30 {
        if number == 15 {
            conn.query_drop("FLUSH BINARY LOGS")?;
        }
        conn.query_drop(format!("INSERT INTO d.t (v) VALUES ('{number}'), (REPEAT('x', {}))", 100 * number))?;
    }
    Ok(())
}

/// The copies are the files, but for the mark of a file in use.
fn ensure_copied(server: &Server, into: &Path) -> Result<()> {
    let last = status(server)?;
    for name in names(server)? {
        let original = file(server, &name, if name == last.0 { last.1 } else { u32::MAX })?;
        ensure!(std::fs::read(into.join(&name))? == original, "the copy of {name} differs");
    }
    Ok(())
}

/// A program that is stopped when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn mariadb_binlog_copies_the_files() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    // It does not read from a MySQL of 8.0.
    let server = Launch::new(scratch.path().join("data")).option("--version=5.7.44").start()?;
    write(&server)?;
    let first = names(&server)?.remove(0);
    let copies = scratch.path().join("copies");
    std::fs::create_dir(&copies)?;
    let mut wanted = arguments(&server, &copies, &first);
    wanted.insert(1, "--to-last-log".to_owned());
    tool("mariadb-binlog", &wanted)?.success()?;
    ensure_copied(&server, &copies)?;

    let live = scratch.path().join("live");
    std::fs::create_dir(&live)?;
    let mut wanted = arguments(&server, &live, &first);
    wanted.insert(1, "--stop-never".to_owned());
    let _running = Running(Command::new("mariadb-binlog").args(&wanted).stdout(Stdio::null()).spawn()?);
    write(&server)?;
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = ensure_copied(&server, &live) {
        ensure!(Instant::now() < deadline, "{error}");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop().map(drop)
}

#[test]
fn mysql_replication_decodes_what_was_done() -> Result<()> {
    let Some(library) = fetched("drivers/mysql-replication", "scripts/drivers.sh") else { return Ok(()) };
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path().join("data")).option("--binlog-row-metadata=FULL").start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(100), x DECIMAL(10,2))")?;
    let (first, _) = status(&server)?;
    conn.query_drop("INSERT INTO d.t VALUES (1, 'é', 1.5), (2, NULL, -0.01)")?;
    let known: String = conn.query_first("SELECT @@GLOBAL.gtid_executed")?.context("a set")?;
    let follow = |gtids: &str| -> Result<std::thread::JoinHandle<Result<String>>> {
        let path = format!("PYTHONPATH={}", library.display());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/drivers/follow.py").to_owned();
        let arguments =
            [path, "python3".to_owned(), script, server.port().to_string(), first.clone(), gtids.to_owned()];
        Ok(std::thread::spawn(move || Ok(tool("env", arguments)?.success()?.text())))
    };
    let (all, later) = (follow("")?, follow(&known)?);
    wait_for_process(&server, |dumps| dumps.len() == 2)?;
    conn.query_drop("UPDATE d.t SET x = x + 1 WHERE id = 1")?;
    conn.query_drop("FLUSH BINARY LOGS")?;
    conn.query_drop("BEGIN; DELETE FROM d.t WHERE id = 2; INSERT INTO d.t VALUES (3, 'end', 0); COMMIT")?;
    let before = "d.t + id=1, v='é', x=Decimal('1.50')\nd.t + id=2, v=None, x=Decimal('-0.01')\n";
    let after = "d.t id=1, v='é', x=Decimal('1.50') > id=1, v='é', x=Decimal('2.50')\n\
                 d.t - id=2, v=None, x=Decimal('-0.01')\nd.t + id=3, v='end', x=Decimal('0.00')\n";
    assert_eq!(all.join().expect("no panic")?, format!("{before}{after}"));
    assert_eq!(later.join().expect("no panic")?, after);
    server.stop().map(drop)
}

/// A MariaDB or an old MySQL that replicates.
pub struct Replica {
    pub server: MariaDb,
}

impl Replica {
    pub fn start(folder: &Path) -> Result<Replica> {
        Replica::start_with(folder, &[])
    }

    pub fn start_with(folder: &Path, more: &[&str]) -> Result<Replica> {
        let options = [
            "--server-id=77",
            "--slave-parallel-threads=4",
            "--skip-slave-start",
            "--slave-net-timeout=10",
            "--relay-log=relay",
        ];
        let options = [&options[..], more].concat();
        let server = MariaDb::start_replica(folder, &options)?;
        Ok(Replica { server })
    }

    pub fn start_mysql(home: &Path, folder: &Path) -> Result<Replica> {
        let server = MariaDb::start_mysql_replica(home, folder, &["--server-id=56"])?;
        Ok(Replica { server })
    }

    pub fn follow(&self, source: &Server, file: &str, position: u64) -> Result<()> {
        let place = format!("MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}");
        let version: String = self.server.connect()?.query_first("SELECT VERSION()")?.context("a version")?;
        let by = if version.contains("MariaDB") { "MASTER_USE_GTID=no" } else { "MASTER_AUTO_POSITION=0" };
        self.follow_from(source, &format!("{place}, {by}"))
    }

    pub fn follow_from(&self, source: &Server, place: &str) -> Result<()> {
        self.server.follow(source.port(), place)
    }

    fn status(&self, column: &str) -> Result<String> {
        let row: mysql::Row = self.server.connect()?.query_first("SHOW SLAVE STATUS")?.context("no replica")?;
        row.get::<Option<String>, _>(column).flatten().with_context(|| format!("no {column}"))
    }

    /// Waits until everything that the source has committed was applied.
    pub fn catch_up(&self, source: &Server) -> Result<()> {
        let (file, position) = status(source)?;
        ensure!(
            self.server.comes_to((&file, position.into()), 60)?,
            "the replica does not come to {file}:{position}: {} {}",
            self.status("Last_IO_Error").unwrap_or_default(),
            self.status("Last_SQL_Error").unwrap_or_default()
        );
        Ok(())
    }

    pub fn connect(&self) -> Result<Conn> {
        self.server.connect()
    }

    pub fn stop(self) -> Result<()> {
        self.server.stop().map(drop)
    }

    /// Waits until everything that it has got was applied; its source is gone.
    pub fn apply_what_came(&self) -> Result<()> {
        wait_until("the replica applies what it has", || {
            let read = (self.status("Master_Log_File")?, self.status("Read_Master_Log_Pos")?);
            let lost = self.status("Slave_IO_Running")? != "Yes";
            Ok(lost && read == (self.status("Relay_Master_Log_File")?, self.status("Exec_Master_Log_Pos")?))
        })
    }

    /// Follows a source that was started again, from where it has come to.
    pub fn follow_again(&self, source: &Server) -> Result<()> {
        self.server.connect()?.query_drop("STOP SLAVE")?;
        let position = self.status("Exec_Master_Log_Pos")?.parse()?;
        self.follow(source, &self.status("Relay_Master_Log_File")?, position)
    }
}

pub fn rows(conn: &mut Conn, table: &str) -> Result<Vec<Vec<mysql::Value>>> {
    let rows: Vec<mysql::Row> = conn.query(format!("SELECT * FROM {table} ORDER BY 1"))?;
    Ok(rows.into_iter().map(mysql::Row::unwrap).collect())
}

fn ensure_equal(source: &Server, replica: &Replica) -> Result<()> {
    let (mut ours, mut theirs) = (source.connect()?, replica.server.connect()?);
    for table in ["d.a", "d.b", "d.c"] {
        let (ours, theirs) = (rows(&mut ours, table)?, rows(&mut theirs, table)?);
        ensure!(ours == theirs, "{table}: {} rows here, {} there", ours.len(), theirs.len());
    }
    Ok(())
}

/// Transactions of several sessions: both engines, savepoints, rollbacks, NULLs, a rotation in between.
fn load(server: &Server, from: u64) -> Result<()> {
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..4)
            .map(|session| {
                scope.spawn(move || -> Result<()> {
                    let mut conn = server.connect()?;
                    for number in 0..25 {
                        let id = from + session * 1000 + number;
                        conn.query_drop("BEGIN")?;
                        conn.query_drop(format!(
                            "INSERT INTO d.a VALUES ({id}, REPEAT('é', {number}), {number}.5, NULL)"
                        ))?;
                        conn.query_drop("SAVEPOINT s")?;
                        conn.query_drop(format!("INSERT INTO d.b VALUES ({id}, 'undone')"))?;
                        conn.query_drop("ROLLBACK TO s")?;
                        conn.query_drop(format!("INSERT INTO d.b VALUES ({id}, X'00ff27')"))?;
                        conn.query_drop(format!("UPDATE d.a SET at = '2026-01-02 03:04:05.678' WHERE id = {id} - 1"))?;
                        conn.query_drop(if number % 7 == 6 { "ROLLBACK" } else { "COMMIT" })?;
                        if number % 5 == 4 {
                            conn.query_drop(format!("DELETE FROM d.b WHERE id = {id} - 2"))?;
                        }
                        if session == 0 && number == 12 {
                            conn.query_drop("FLUSH BINARY LOGS")?;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        sessions.into_iter().try_for_each(|session| session.join().expect("a session panicked"))
    })
}

const TABLES: [&str; 7] = [
    "CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE d.a (id INT PRIMARY KEY, v VARCHAR(200), f DOUBLE, at DATETIME(3))",
    "CREATE TABLE d.b (id INT PRIMARY KEY, v VARBINARY(50)) ENGINE=redb",
    "CREATE TABLE d.c (id INT PRIMARY KEY, l VARCHAR(20) CHARACTER SET latin1, a CHAR(5) CHARACTER SET ascii, \
     u VARCHAR(20) CHARACTER SET utf8mb3, t TEXT CHARACTER SET latin1, e ENUM('é', 'ü') CHARACTER SET latin1, KEY (l))",
    // A replica reads it under the same SQL mode.
    "ALTER TABLE d.c ADD m VARCHAR(20) NOT NULL DEFAULT 'it\\'s a\\\\b'",
    "INSERT INTO d.c (id, l, a, u, t, e) VALUES (1, 'é€ÿ', 'abc', 'жя', 'ñ', 'ü'), (2, '', NULL, '', NULL, 'é')",
    "UPDATE d.c SET l = CONCAT(l, 'ö') WHERE l LIKE '%€%'",
];

#[test]
fn a_mysql_replica_follows_by_position_and_by_gtid() -> Result<()> {
    let Some(home) = fetched("peers/mysql-5.6.24", "scripts/peers.sh") else { return Ok(()) };
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path().join("source")).start()?;
    let replica = Replica::start_mysql(&home, &scratch.path().join("replica"))?;
    let (name, begin) = status(&server)?;
    replica.follow(&server, &name, begin.into())?;
    let mut conn = server.connect()?;
    TABLES.iter().try_for_each(|sql| conn.query_drop(sql))?;
    drop(conn);
    load(&server, 10_000)?;
    replica.catch_up(&server)?;
    ensure_equal(&server, &replica)?;
    let server = server.kill_and_restart()?;
    replica.server.connect()?.query_drop("STOP SLAVE")?;
    replica.follow_from(&server, "MASTER_AUTO_POSITION=1")?;
    load(&server, 20_000)?;
    replica.catch_up(&server)?;
    ensure_equal(&server, &replica)?;
    let ours: String = server.connect()?.query_first("SELECT @@GLOBAL.gtid_executed")?.context("a set")?;
    let theirs: String = replica.server.connect()?.query_first("SELECT @@GLOBAL.gtid_executed")?.context("a set")?;
    ensure!(ours == theirs, "here {ours}, there {theirs}");
    replica.server.stop()?;
    server.stop().map(drop)
}

/// Large transactions and definitions with rows among others.
#[test]
fn replicas_follow_a_source_without_gtids_by_position() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let launch = Launch::new(scratch.path().join("source")).option("--gtid-mode=OFF");
    let mut server = launch.option("--binlog-cache-size=4096").start()?;
    let mut replicas = Vec::new();
    if MariaDb::installed().is_some() {
        replicas.push(Replica::start(&scratch.path().join("mariadb"))?);
    } else {
        println!("not run: mariadb-server is not installed");
    }
    if let Some(home) = fetched("peers/mysql-5.6.24", "scripts/peers.sh") {
        let options = ["--server-id=56", "--gtid-mode=OFF"];
        replicas
            .push(Replica { server: MariaDb::start_mysql_replica(&home, &scratch.path().join("mysql"), &options)? });
    }
    let (name, begin) = status(&server)?;
    replicas.iter().try_for_each(|replica| replica.follow(&server, &name, begin.into()))?;
    let mut conn = server.connect()?;
    TABLES.iter().try_for_each(|sql| conn.query_drop(sql))?;
    for from in [10_000, 20_000] {
        load(&server, from)?;
        let mut conn = server.connect()?;
        conn.query_drop(format!(
            "INSERT INTO d.a SELECT id + {from}0, REPEAT(v, 5), f, at FROM d.a WHERE id BETWEEN {from} AND {from} + 9999"
        ))?;
        conn.query_drop(format!("CREATE TABLE d.rows{from} (KEY (v)) SELECT id, v FROM d.b"))?;
        for replica in &replicas {
            replica.catch_up(&server)?;
            ensure_equal(&server, replica)?;
            let name = format!("d.rows{from}");
            ensure!(rows(&mut conn, &name)? == rows(&mut replica.connect()?, &name)?, "{name}");
        }
        drop(conn);
        server = server.kill_and_restart()?;
        replicas.iter().try_for_each(|replica| replica.follow_again(&server))?;
    }
    ensure!(
        server.connect()?.query_first::<String, _>("SELECT @@GLOBAL.gtid_executed")?.is_some_and(|set| set.is_empty())
    );
    replicas.into_iter().try_for_each(Replica::stop)?;
    server.stop().map(drop)
}

#[test]
fn a_mariadb_replica_follows_through_rotations_and_crashes_of_its_source() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("not run: mariadb-server is not installed");
        return Ok(());
    }
    let scratch = tempfile::tempdir()?;
    let mut server = Launch::new(scratch.path().join("source")).start()?;
    let replica = Replica::start(&scratch.path().join("replica"))?;
    let (name, begin) = status(&server)?;
    replica.follow(&server, &name, begin.into())?;
    let mut conn = server.connect()?;
    TABLES.iter().try_for_each(|sql| conn.query_drop(sql))?;
    drop(conn);
    for round in 0..2 {
        load(&server, 10_000 * (round + 1))?;
        replica.catch_up(&server)?;
        ensure_equal(&server, &replica)?;
        let shown: Vec<mysql::Row> = server.connect()?.query("SHOW REPLICAS")?;
        ensure!(shown.len() == 1 && shown[0].get::<u32, _>(0) == Some(77), "the replicas are {shown:?}");
        server = server.kill_and_restart()?;
        replica.follow_again(&server)?;
    }
    load(&server, 90_000)?;
    replica.catch_up(&server)?;
    ensure_equal(&server, &replica)?;
    replica.server.stop()?;
    server.stop().map(drop)
}
