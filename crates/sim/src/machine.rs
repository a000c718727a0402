//! A machine: what a power cut takes down together.
//!
//! The first engine is in memory and loses what it had not flushed, as RocksDB without a log of its own
//! does; the second is redb, whose files are on the simulated disk with journal and binlog.

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
        Machine { disk: SimDisk::new(seed), clock, memory: Arc::new(MemoryEngine::new()) }
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
        Machine { disk: self.disk.crash(), clock: self.clock.clone(), memory: Arc::new(self.memory.crash()) }
    }

    /// The machine after its server was killed.
    pub fn after_kill(&self) -> Machine {
        Machine { disk: self.disk.kill(), clock: self.clock.clone(), memory: Arc::new(self.memory.crash()) }
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
        let redb = Redb::open(disk.clone(), Path::new("/data/redb"), &RedbOptions::default())?;
        let engines: Vec<Arc<dyn Engine>> = vec![self.memory.clone(), Arc::new(redb)];
        let (store, _) = Store::recover(options, disk, clock, engines, &mut |_| ())?;
        Ok(Database::open(store)?)
    }
}
