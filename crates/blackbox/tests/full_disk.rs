//! A small file system that is really full, and has room again while the server runs.
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
fn a_server_on_a_full_disk_reads_on_and_writes_again_when_there_is_room() -> Result<()> {
    let Some(disk) = SmallDisk::mount(256)? else { return Ok(()) };
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
    for round in 0..rounds(2) {
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
