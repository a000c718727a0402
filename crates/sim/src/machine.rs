//! A machine: what a power cut takes down together.
//!
//! The first engine is a map in memory with a log on the simulated disk, and stands for RocksDB; the second is
//! redb. Both take part in the journal and in the classic protocols. Where copies must be cheap, both are in memory, and
//! lose what they had not flushed.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use cohort_engine::logged::LoggedEngine;
use cohort_engine::memory::MemoryEngine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine::{Engine, TwoPhase};
use cohort_io::{FileSystem, SimClock, SimDisk, read_whole};
use cohort_log::binlog::{BinlogOptions, ServerIdentity};
use cohort_log::journal::JournalOptions;
use cohort_sql::Database;
use cohort_txn::{
    CommitProtocol, CommitSettings, DataDirectory, EngineSource, EngineSourceError, StartReport, StoreOptions,
};

/// Where binlog files are.
pub const BINLOG_DIR: &str = "/data";
/// Where the journal's segments are.
pub const JOURNAL_DIR: &str = "/data/journal";

/// The disk, and the clock beside it.
pub struct Machine {
    disk: SimDisk,
    clock: Arc<SimClock>,
    /// In the place of those on the disk.
    memory: Option<[Arc<MemoryEngine>; 2]>,
}

/// What does not change in a run: sizes, small so that a short run crosses them, and whether there is a binlog.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of a journal segment, bytes.
    pub segment_bytes: u64,
    /// Behind which a binlog file ends, bytes.
    pub binlog_bytes: u64,
    /// `log_bin`
    pub log_bin: bool,
}

/// The engines of a disk in either form.
struct Engines<'m>(&'m Machine);

impl Engines<'_> {
    fn open(&self) -> Result<(Arc<LoggedEngine>, Arc<Redb>), EngineSourceError> {
        let disk = self.0.disk();
        let logged = LoggedEngine::open(disk, Path::new("/data"), "LOGGED")?;
        let redb = Redb::open(Arc::new(disk.clone()), Path::new("/data/redb"), &RedbOptions::default())?;
        Ok((Arc::new(logged), Arc::new(redb)))
    }
}

impl EngineSource for Engines<'_> {
    fn journaled(&self) -> Result<Vec<Arc<dyn Engine>>, EngineSourceError> {
        if let Some([one, two]) = self.0.memory.clone() {
            return Ok(vec![one, two]);
        }
        let (logged, redb) = self.open()?;
        Ok(vec![logged, redb])
    }

    fn two_phase(&self) -> Result<Vec<Arc<dyn TwoPhase>>, EngineSourceError> {
        let (logged, redb) = self.open()?;
        Ok(vec![logged, redb])
    }
}

impl Machine {
    /// A new machine with an empty disk.
    pub fn new(seed: u64) -> Machine {
        let clock = Arc::new(SimClock::new(1_700_000_000_000_000));
        Machine { disk: SimDisk::new(seed), clock, memory: None }
    }

    /// [`Machine::new`], with engines in memory, for the journal only.
    pub fn in_memory(seed: u64) -> Machine {
        let engines = ["LOGGED", "redb"].map(|name| Arc::new(MemoryEngine::named(name)));
        Machine { memory: Some(engines), ..Machine::new(seed) }
    }

    /// Its disk.
    pub fn disk(&self) -> &SimDisk {
        &self.disk
    }

    /// Its clock, which may be set to anything.
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// The machine when power is back.
    pub fn after_power_cut(&self) -> Machine {
        self.restarted(self.disk.crash())
    }

    /// The machine after its server was killed.
    pub fn after_kill(&self) -> Machine {
        self.restarted(self.disk.kill())
    }

    /// Another machine, as this one would be if its server were killed now; this one goes on.
    pub fn kill_copy(&self) -> Machine {
        self.restarted(self.disk.kill_copy())
    }

    fn restarted(&self, disk: SimDisk) -> Machine {
        let memory = self.memory.as_ref().map(|engines| engines.each_ref().map(|engine| Arc::new(engine.crash())));
        Machine { disk, clock: self.clock.clone(), memory }
    }

    /// The names beside the binlog and what its index says, for people.
    pub fn binlog_directory(&self) -> String {
        let index = read_whole(&self.disk, &Path::new(BINLOG_DIR).join("binlog.index"), 1 << 20);
        let index = index.map_or_else(|error| error.to_string(), |index| String::from_utf8_lossy(&index).into_owned());
        format!("{:?}, index {index:?}", self.disk.list(Path::new(BINLOG_DIR)).unwrap_or_default())
    }

    /// Starts a server under the journal.
    pub fn open(&self, settings: Settings) -> Result<Arc<Database>> {
        Ok(self.open_under(settings, CommitProtocol::Journal)?.0)
    }

    /// Starts a server without threads: recovers, hands over to `protocol`, reads the catalog.
    pub fn open_under(&self, settings: Settings, protocol: CommitProtocol) -> Result<(Arc<Database>, StartReport)> {
        let server_uuid = "11111111-2222-3333-4444-555555555555".parse().context("a UUID")?;
        let options = || StoreOptions {
            journal_dir: JOURNAL_DIR.into(),
            journal: JournalOptions {
                segment_bytes: settings.segment_bytes,
                spare_segments: 1,
                keep_segments: 3,
                journal_id: Some(7),
                ..JournalOptions::default()
            },
            binlog: BinlogOptions { reserve_step_bytes: 8192, ..BinlogOptions::new(BINLOG_DIR) },
            binlog_cut_at: None,
            log_bin: settings.log_bin,
            tc_log: "/data/tc.log".into(),
            identity: ServerIdentity { server_id: 1, server_version: "8.0.40-simulated".to_owned() },
            server_uuid,
            settings: CommitSettings::durable(settings.binlog_bytes),
            checkpoint_bytes: u64::MAX,
        };
        let directory = DataDirectory {
            fs: Arc::new(self.disk.clone()),
            clock: self.clock.clone(),
            mark: "/data/cohort.protocol".into(),
            options: &options,
            engines: &Engines(self),
        };
        let (store, report) = directory.recover(protocol, &mut |_| ())?;
        Ok((Database::open(store)?, report))
    }
}
