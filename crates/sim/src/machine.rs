//! A machine: what a power cut takes down together.
//!
//! The first engine is a map in memory with a log on the simulated disk, and stands for RocksDB; the second is
//! redb. Both take part in the journal and in the classic protocols. Where a disk is mounted, the first is RocksDB
//! itself, which reaches the same disk as everything else by way of the kernel. Where copies must be cheap, both are in
//! memory, and lose what they had not synced.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use cohort_binlog::{BinlogOptions, ServerIdentity};
use cohort_engine::logged::LoggedEngine;
use cohort_engine::memory::MemoryEngine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine::{Engine, TwoPhase};
use cohort_engine_rocksdb::{RocksDb, RocksDbOptions, RocksDbTwoPhase};
use cohort_io::sync::Mutex;
use cohort_io::{FileSystem, SimClock, SimDisk, read_whole};
use cohort_journal::JournalOptions;
use cohort_sql::Database;
use cohort_txn::{
    CommitProtocol, CommitSettings, DataDirectory, EngineSource, EngineSourceError, GtidMode, SpillSettings,
    StartReport, StartupEvent, StoreOptions,
};

use crate::mount::Mounted;

/// What the GTIDs of a machine's server begin with.
pub const SERVER_UUID: &str = "11111111-2222-3333-4444-555555555555";
/// Where binlog files are.
pub const BINLOG_DIR: &str = "/data";
/// Where the journal's segments are.
pub const JOURNAL_DIR: &str = "/data/journal";

/// The disk, and the clock beside it. Clones share both.
#[derive(Clone)]
pub struct Machine {
    disk: SimDisk,
    clock: Arc<SimClock>,
    engines: Kind,
}

/// Which engines.
#[derive(Clone)]
enum Kind {
    /// The map with a log, and redb.
    Logged,
    /// RocksDB on the disk as it is mounted there, and redb.
    RocksDb(Arc<Mutex<Mounted>>),
    /// Two maps.
    Memory([Arc<MemoryEngine>; 2]),
}

/// RocksDB writes its memtables at a size that a few transactions reach.
const WRITE_BUFFER_BYTES: usize = 128 << 10;
/// The same for redb beside it.
const LAYER_BYTES: usize = 128 << 10;
/// Events of a transaction that goes to files while it runs, under the journal.
const SPILL_BYTES: u64 = 4000;

/// How a server is started: with sizes so small that a short run crosses them, with a binlog or without, with GTIDs or
/// without.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of a journal segment, bytes.
    pub segment_bytes: u64,
    /// After which a binlog file ends, bytes.
    pub binlog_bytes: u64,
    pub log_bin: bool,
    pub gtid_mode: GtidMode,
}

/// The engines of a disk in either form.
struct Engines<'m>(&'m Machine);

impl Engines<'_> {
    fn logged(&self) -> Result<Arc<LoggedEngine>, EngineSourceError> {
        Ok(Arc::new(LoggedEngine::open(self.0.disk(), Path::new("/data"), "LOGGED")?))
    }

    fn redb(&self, options: &RedbOptions) -> Result<Arc<Redb>, EngineSourceError> {
        Ok(Arc::new(Redb::open(Arc::new(self.0.disk().clone()), Path::new("/data/redb"), options)?))
    }
}

/// A sync that failed waits a second in its thread, of which a fourth of these sync; the databases of a process share
/// them.
const BACKGROUND_JOBS: u8 = 160;

fn rocksdb_options() -> RocksDbOptions {
    RocksDbOptions { cache_bytes: 1 << 20, write_buffer_bytes: WRITE_BUFFER_BYTES, background_jobs: BACKGROUND_JOBS }
}

fn small_layers() -> RedbOptions {
    RedbOptions { layer_bytes: LAYER_BYTES, ..RedbOptions::default() }
}

impl EngineSource for Engines<'_> {
    fn journaled(&self) -> Result<Vec<Arc<dyn Engine>>, EngineSourceError> {
        match &self.0.engines {
            Kind::Logged => Ok(vec![self.logged()?, self.redb(&small_layers())?]),
            Kind::RocksDb(mounted) => {
                let dir = mounted.lock().path("/data/rocksdb");
                Ok(vec![Arc::new(RocksDb::open(&dir, &rocksdb_options())?), self.redb(&small_layers())?])
            }
            Kind::Memory([one, two]) => Ok(vec![one.clone(), two.clone()]),
        }
    }

    fn two_phase(&self) -> Result<Vec<Arc<dyn TwoPhase>>, EngineSourceError> {
        match &self.0.engines {
            Kind::RocksDb(mounted) => {
                let dir = mounted.lock().path("/data/rocksdb");
                Ok(vec![Arc::new(RocksDbTwoPhase::open(&dir, &rocksdb_options())?), self.redb(&small_layers())?])
            }
            Kind::Logged | Kind::Memory(_) => Ok(vec![self.logged()?, self.redb(&small_layers())?]),
        }
    }
}

impl Machine {
    /// A new machine with an empty disk.
    pub fn new(seed: u64) -> Machine {
        let clock = Arc::new(SimClock::new(1_700_000_000_000_000));
        Machine { disk: SimDisk::new(seed), clock, engines: Kind::Logged }
    }

    /// [`Machine::new`], with engines in memory, for the journal only.
    pub fn in_memory(seed: u64) -> Machine {
        let engines = ["LOGGED", "redb"].map(|name| Arc::new(MemoryEngine::named(name)));
        Machine { engines: Kind::Memory(engines), ..Machine::new(seed) }
    }

    /// [`Machine::new`] with RocksDB, whose disk takes the place of the one that is mounted whenever its server is
    /// started: of all machines of a mount one at a time has a server.
    pub fn with_rocksdb(seed: u64, mounted: Arc<Mutex<Mounted>>) -> Machine {
        Machine { engines: Kind::RocksDb(mounted), ..Machine::new(seed) }
    }

    /// The first engine's name in SQL.
    pub fn first_engine(&self) -> &'static str {
        if matches!(self.engines, Kind::RocksDb(_)) { "RocksDB" } else { "LOGGED" }
    }

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
        let engines = match &self.engines {
            Kind::Memory(engines) => Kind::Memory(engines.each_ref().map(|engine| Arc::new(engine.crash()))),
            kind => kind.clone(),
        };
        Machine { disk, clock: self.clock.clone(), engines }
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
        let mut report = None;
        let database = self.open_listening(settings, protocol, &mut |found| report = Some(found))?;
        Ok((database, report.context("a start reports what it found")?))
    }

    /// The same; `listener` gets what the start found, also where it fails after that.
    pub fn open_listening(
        &self,
        settings: Settings,
        protocol: CommitProtocol,
        listener: &mut dyn FnMut(StartReport),
    ) -> Result<Arc<Database>> {
        if let Kind::RocksDb(mounted) = &self.engines {
            mounted.lock().exchange(self.disk.clone());
        }
        let server_uuid = SERVER_UUID.parse().context("a UUID")?;
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
            gtid_mode: settings.gtid_mode,
            server_uuid,
            settings: CommitSettings {
                spill: SpillSettings { events_bytes: SPILL_BYTES.into(), writes_bytes: (3 * SPILL_BYTES).into() },
                ..CommitSettings::durable(settings.binlog_bytes)
            },
            checkpoint_bytes: u64::MAX,
        };
        let directory = DataDirectory {
            fs: Arc::new(self.disk.clone()),
            clock: self.clock.clone(),
            mark: "/data/cohort.protocol".into(),
            options: &options,
            engines: &Engines(self),
        };
        let store = directory.open_stepped(protocol, &mut |event| match event {
            StartupEvent::Progress(_) => {}
            StartupEvent::Report(found) => listener(found),
        })?;
        Ok(Database::open(store)?)
    }
}
