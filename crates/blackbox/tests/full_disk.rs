//! A small file system that is really full, and has room again while the server runs; and one for temporary files alone.
//!
//! `COHORT_ROUNDS` says how often; `COHORT_SEED` replays the load's choices.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cohort_blackbox::check::Checker;
use cohort_blackbox::load::{self, Faults, History, PATIENCE, Round, rounds, write_until_full};
use cohort_blackbox::{Launch, rng, server};
use mysql::prelude::Queryable;
use tempfile::TempDir;

/// Room that is left for the server when the disk is made full, bytes.
const LEFT: u64 = 2 << 20;

/// A file system in memory, of its own.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// None where this user may not mount one.
    fn mount(mebibytes: u32) -> Result<Option<SmallDisk>> {
        let dir = tempfile::tempdir()?;
        let size = format!("size={mebibytes}m");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir.path()).output()?;
        if !mount.status.success() {
            println!("NOT RUN: {}", String::from_utf8_lossy(&mount.stderr).trim());
            return Ok(None);
        }
        Ok(Some(SmallDisk(dir)))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all room but [`LEFT`] bytes with a file, which is returned.
    fn fill(&self) -> Result<PathBuf> {
        let path = self.path().join("filler");
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        let block = vec![1; 64 << 10];
        loop {
            match file.write(&block) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => return Err(error.into()),
            }
        }
        file.set_len(file.metadata()?.len().saturating_sub(LEFT))?;
        Ok(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

#[test]
fn a_statement_that_fills_tmpdir_is_taken_back_and_leaves_no_file() -> Result<()> {
    let Some(disk) = SmallDisk::mount(2)? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let launch = Launch::new(folder.path().join("data")).option(format!("--tmpdir={}", disk.path().display()));
    let server = launch.start()?;
    let mut conn = server.connect()?;
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(400))",
        "SET SESSION cte_max_recursion_depth = 20000",
        "INSERT INTO t WITH RECURSIVE g AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM g WHERE i < 10000) \
         SELECT i, REPEAT(MD5(i), 12) FROM g",
        "SET SESSION sort_buffer_size = 32768, SESSION tmp_table_size = 1024, SESSION join_buffer_size = 128",
    ] {
        conn.query_drop(sql)?;
    }
    let is_empty = || -> Result<bool> { Ok(fs::read_dir(disk.path())?.next().is_none()) };
    for sql in [
        "SELECT s FROM t ORDER BY s",
        "SELECT s, COUNT(*) FROM t GROUP BY s",
        "SELECT DISTINCT s FROM t",
        "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.s = b.s",
        "INSERT INTO t SELECT id + 100000, s FROM t ORDER BY s",
    ] {
        let error = conn.query_drop(sql).expect_err(sql);
        let mysql::Error::MySqlError(error) = error else { return Err(error.into()) };
        ensure!(error.code == 1021, "{sql}: {error}");
        ensure!(is_empty()?, "{sql} left a file");
        let rows: Option<u64> = conn.query_first("SELECT COUNT(*) FROM t")?;
        ensure!(rows == Some(10_000), "{rows:?} rows after {sql}");
    }
    conn.query_drop("SELECT s FROM t WHERE id < 2000 ORDER BY s")?;
    ensure!(is_empty()?, "a sort left a file");
    let counted: Vec<(String, u64)> = conn.query("SHOW STATUS LIKE 'Sort_merge_passes'")?;
    ensure!(counted.iter().all(|(_, count)| *count > 0) && counted.len() == 1, "{counted:?}");
    Ok(())
}

#[test]
fn a_server_on_a_full_disk_reads_on_and_writes_again_when_there_is_room() -> Result<()> {
    // What a round writes stays: some 50 MB on a fast machine.
    let rounds = rounds(2);
    let Some(disk) = SmallDisk::mount(128 + 64 * u32::try_from(rounds)?)? else { return Ok(()) };
    let beside = tempfile::tempdir()?;
    let launch = Launch::new(disk.path().join("data"))
        .beside(beside.path().join("server"))
        .option("--journal-segment-size=1M")
        .option("--max-binlog-size=262144")
        .option("--redb-layer-size=131072")
        .option("--write-buffer-size=1048576");
    let mut server = launch.start()?;
    load::create_tables(&mut server.connect()?)?;
    let (seed, mut history, mut checker) = (rng::seed(), History::default(), Checker::default());
    let mut loads = (0..).map(|number| Round { seed, number, workers: 6, faults: Faults::Disk });
    let mut next = move || loads.next().expect("numbers do not end");
    for round in 0..rounds {
        let mut said = String::new();
        next().run(&server.options(), &mut history, || {
            let filler = disk.fill()?;
            let full = write_until_full(server.datadir(), server.options());
            let accounts = server.connect_to("crash").map(|mut conn| conn.query_first("SELECT COUNT(*) FROM accounts"));
            // Before anything else: the load waits for it.
            fs::remove_file(filler)?;
            said = full?;
            let accounts: Option<u64> = accounts??;
            ensure!(accounts.is_some_and(|accounts| accounts > 0), "{accounts:?} accounts on the full disk");
            Ok(())
        })?;
        let full = history.acknowledged();
        let since = Instant::now();
        // The same process: nobody has to start it again.
        while history.acknowledged() == full {
            ensure!(since.elapsed() < PATIENCE, "round {round}: nothing is committed although there is room");
            next().run(&server.options(), &mut history, || {
                thread::sleep(Duration::from_millis(500));
                Ok(())
            })?;
        }
        let found = checker.check(&server, &mut history)?;
        println!("round {round}: on the full disk the server said {said}, then {found}");
        server = server.kill_and_restart()?;
        checker.check(&server, &mut history)?;
    }
    ensure!(history.acknowledged() > 0, "the load did nothing");
    let datadir = server.stop()?.datadir().to_owned();
    let check = Command::new(server::binary()?).arg("check").arg(datadir).output()?;
    ensure!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    Ok(())
}
