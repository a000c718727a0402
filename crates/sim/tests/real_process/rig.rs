//! A server whose data directory is on a mounted disk, and the load that remembers what it received.

use std::path::Path;

use anyhow::{Context, Result};
use cohort_blackbox::check::Checker;
use cohort_blackbox::load::{self, Faults, History};
use cohort_blackbox::{Launch, Server};
use cohort_io::SimDisk;
use cohort_sim::mount::Mounted;

const WORKERS: u64 = 6;

/// A server on a mounted disk.
pub struct Rig {
    pub mounted: Mounted,
    pub launch: Launch,
    pub server: Option<Server>,
    pub history: History,
    seed: u64,
    round: u64,
    _folder: tempfile::TempDir,
}

impl Rig {
    /// None where file systems cannot be mounted.
    pub fn new(seed: u64) -> Result<Option<Rig>> {
        if !Path::new("/dev/fuse").exists() {
            println!("NOT RUN: there is no /dev/fuse on this machine");
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        let mountpoint = folder.path().join("disk");
        std::fs::create_dir(&mountpoint)?;
        let mounted = Mounted::new(SimDisk::new(seed), &mountpoint)
            .context("cannot mount: this needs root, or fusermount3 (Debian: fuse3)")?;
        // Logs and sockets beside the data directory are on the disk as well, and would go with it.
        let launch = Launch::new(mountpoint.join("data"))
            .beside(folder.path().join("server"))
            .option("--journal-segment-size=1M")
            .option("--max-binlog-size=262144")
            .option("--redb-layer-size=131072")
            .option("--write-buffer-size=1048576");
        let server = launch.start()?;
        load::create_tables(&mut server.connect()?)?;
        let history = History::default();
        Ok(Some(Rig { mounted, launch, server: Some(server), history, seed, round: 0, _folder: folder }))
    }

    /// A connection of root.
    pub fn connect(&self) -> Result<mysql::Conn> {
        self.server.as_ref().context("a server")?.connect()
    }

    /// Runs the load while `meanwhile` does something to the disk; the load then ends.
    pub fn run(&mut self, meanwhile: impl FnOnce(&mut Mounted) -> Result<()>) -> Result<()> {
        let server = self.server.as_ref().context("a server")?;
        self.round += 1;
        let load = load::Round { seed: self.seed, number: self.round, workers: WORKERS, faults: Faults::Disk };
        let (options, mounted) = (server.options(), &mut self.mounted);
        load.run(&options, &mut self.history, || meanwhile(mounted))
    }

    /// Ends the server, whose disk has no power, and starts it on what is found.
    pub fn restart(&mut self) -> Result<()> {
        self.server.take().context("a server")?.kill()?;
        self.mounted.power_on()?;
        self.server = Some(self.launch.start()?);
        Ok(())
    }

    /// A new checker each time: a binlog file that was closed may have lost its end, and got it back.
    pub fn check(&mut self) -> Result<String> {
        let server = self.server.as_ref().context("a server")?;
        Ok(Checker::default().check(server, &mut self.history)?.to_string())
    }
}
