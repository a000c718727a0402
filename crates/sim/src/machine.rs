//! A machine: what a power cut takes down together.
//!
//! The first engine is in memory and loses what it had not flushed, as RocksDB without a log of its own
//! does; the second is redb, whose files are on the simulated disk with journal and binlog, or in memory as well
//! where copies must be cheap.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use cohort_engine::Engine;
use cohort_engine::memory::MemoryEngine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_io::{FileSystem, SimClock, SimDisk, read_whole};
use cohort_log::binlog::{BinlogOptions, ServerIdentity};
use cohort_log::journal::JournalOptions;
use cohort_sql::Database;
use cohort_txn::{CommitSettings, Store, StoreOptions};

/// Where binlog files are.
pub const BINLOG_DIR: &str = "/data";
/// Where the journal's segments are.
pub const JOURNAL_DIR: &str = "/data/journal";

/// The disk and the engine beside it.
pub struct Machine {
    disk: SimDisk,
    clock: Arc<SimClock>,
    memory: Arc<MemoryEngine>,
    /// In the place of redb.
    second: Option<Arc<MemoryEngine>>,
}

/// Sizes, small so that a short run crosses them.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Of a journal segment, bytes.
    pub segment_bytes: u64,
    /// Behind which a binlog file ends, bytes.
    pub binlog_bytes: u64,
}

impl Machine {
    /// A new machine with an empty disk.
    pub fn new(seed: u64) -> Machine {
        let clock = Arc::new(SimClock::new(1_700_000_000_000_000));
        Machine { disk: SimDisk::new(seed), clock, memory: Arc::new(MemoryEngine::new()), second: None }
    }

    /// [`Machine::new`], with an engine in memory in the place of redb.
    pub fn without_redb(seed: u64) -> Machine {
        Machine { second: Some(Arc::new(MemoryEngine::named("redb"))), ..Machine::new(seed) }
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
        let crashed = |engine: &Arc<MemoryEngine>| Arc::new(engine.crash());
        Machine {
            disk,
            clock: self.clock.clone(),
            memory: crashed(&self.memory),
            second: self.second.as_ref().map(crashed),
        }
    }

    /// The names beside the binlog and what its index says, for people.
    pub fn binlog_directory(&self) -> String {
        let index = read_whole(&self.disk, &Path::new(BINLOG_DIR).join("binlog.index"), 1 << 20);
        let index = index.map_or_else(|error| error.to_string(), |index| String::from_utf8_lossy(&index).into_owned());
        format!("{:?}, index {index:?}", self.disk.list(Path::new(BINLOG_DIR)).unwrap_or_default())
    }

    /// Starts a server without threads: recovers, reads the catalog.
    pub fn open(&self, sizes: Sizes) -> Result<Arc<Database>> {
        let options = StoreOptions {
            journal_dir: JOURNAL_DIR.into(),
            journal: JournalOptions {
                segment_bytes: sizes.segment_bytes,
                spare_segments: 1,
                keep_segments: 3,
                journal_id: Some(7),
                ..JournalOptions::default()
            },
            binlog: BinlogOptions { reserve_step_bytes: 8192, ..BinlogOptions::new(BINLOG_DIR) },
            log_bin: true,
            tc_log: "/data/tc.log".into(),
            identity: ServerIdentity { server_id: 1, server_version: "8.0.40-simulated".to_owned() },
            server_uuid: "11111111-2222-3333-4444-555555555555".parse().context("a UUID")?,
            settings: CommitSettings::durable(sizes.binlog_bytes),
            checkpoint_bytes: u64::MAX,
        };
        let (disk, clock) = (Arc::new(self.disk.clone()), self.clock.clone());
        let second: Arc<dyn Engine> = match &self.second {
            Some(memory) => memory.clone(),
            None => Arc::new(Redb::open(disk.clone(), Path::new("/data/redb"), &RedbOptions::default())?),
        };
        let engines: Vec<Arc<dyn Engine>> = vec![self.memory.clone(), second];
        let (store, _) = Store::recover(options, disk, clock, engines, &mut |_| ())?;
        Ok(Database::open(store)?)
    }
}
