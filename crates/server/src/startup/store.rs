//! The store of a data directory, as the settings ask for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cohort_binlog::{BinlogOptions, ServerIdentity};
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine::{Engine, TwoPhase};
use cohort_engine_rocksdb::{RocksDb, RocksDbOptions, RocksDbTwoPhase};
use cohort_io::{SystemClock, replace_whole};
use cohort_journal::{JournalOptions, Lsn};
use cohort_txn::{
    CommitSettings, DataDirectory, EngineSource, EngineSourceError, GtidMode, StartReport, StartupEvent, Store,
    StoreOptions,
};

use super::{DataDir, StartError};
use crate::gtids;
use crate::session::variables::{apply_commit_settings, commit_protocol};
use crate::sysvars::{Globals, ids};

/// `--journal-cut-at` when the operator did not say it: no record is there.
const NO_CUT: u64 = u64::MAX;

/// Opens the store.
pub(super) fn open(dir: &DataDir, globals: &Globals) -> Result<Arc<Store>, StartError> {
    let protocol = commit_protocol(globals);
    let gtid_mode = gtids::mode(globals).map_err(StartError::new)?;
    let binlog = BinlogOptions::new(&dir.path);
    let binlog_cut_at = match &*globals.get(ids::BINLOG_CUT_AT) {
        "" => None,
        place => Some(binlog.position(place).map_err(StartError::new)?),
    };
    let directory = DataDirectory {
        fs: dir.fs.clone(),
        clock: Arc::new(SystemClock),
        mark: mark_path(&dir.path),
        options: &|| StoreOptions { binlog_cut_at, ..store_options(dir, globals, gtid_mode) },
        engines: &Engines { dir, globals },
    };
    let opened = directory.open(protocol, &mut |event| match event {
        StartupEvent::Progress(line) => log::info!("{line}"),
        StartupEvent::Report(report) => {
            if !report.is_clean() {
                log::info!("{report}");
            }
            keep_report(dir, &report);
        }
    });
    opened.map_err(StartError::new)
}

/// The file that says which protocol wrote the logs of a data directory.
pub(crate) fn mark_path(dir: &Path) -> PathBuf {
    dir.join("cohort.protocol")
}

fn store_options(dir: &DataDir, globals: &Globals, gtid_mode: GtidMode) -> StoreOptions {
    let settings = CommitSettings::durable(0);
    apply_commit_settings(&settings, globals);
    StoreOptions {
        journal_dir: dir.path.join("journal"),
        journal: JournalOptions {
            segment_bytes: globals.get(ids::JOURNAL_SEGMENT_SIZE),
            cut_at: Some(globals.get(ids::JOURNAL_CUT_AT)).filter(|lsn| *lsn != NO_CUT).map(Lsn),
            ..JournalOptions::default()
        },
        binlog: BinlogOptions::new(&dir.path),
        binlog_cut_at: None,
        log_bin: globals.get(ids::LOG_BIN),
        tc_log: dir.path.join("tc.log"),
        identity: ServerIdentity {
            server_id: globals.get(ids::SERVER_ID) as u32,
            server_version: crate::VERSION.to_owned(),
        },
        gtid_mode,
        server_uuid: dir.uuid,
        settings,
        checkpoint_bytes: globals.get(ids::CHECKPOINT_BYTES),
    }
}

/// The engines in the order of their ids, which the journal holds: a new one goes after the others.
struct Engines<'a> {
    dir: &'a DataDir,
    globals: &'a Globals,
}

impl EngineSource for Engines<'_> {
    fn journaled(&self) -> Result<Vec<Arc<dyn Engine>>, EngineSourceError> {
        let rocksdb = RocksDb::open(&self.dir.path.join("rocksdb"), &self.rocksdb_options())?;
        Ok(vec![Arc::new(rocksdb), Arc::new(self.redb()?)])
    }

    fn two_phase(&self) -> Result<Vec<Arc<dyn TwoPhase>>, EngineSourceError> {
        let rocksdb = RocksDbTwoPhase::open(&self.dir.path.join("rocksdb"), &self.rocksdb_options())?;
        Ok(vec![Arc::new(rocksdb), Arc::new(self.redb()?)])
    }
}

impl Engines<'_> {
    fn redb(&self) -> Result<Redb, EngineSourceError> {
        let options = RedbOptions {
            cache_bytes: self.globals.get(ids::REDB_CACHE_SIZE) as usize,
            layer_bytes: self.globals.get(ids::REDB_LAYER_SIZE) as usize,
        };
        Ok(Redb::open(self.dir.fs.clone(), &self.dir.path.join("redb"), &options)?)
    }

    fn rocksdb_options(&self) -> RocksDbOptions {
        RocksDbOptions {
            cache_bytes: self.globals.get(ids::INNODB_BUFFER_POOL_SIZE) as usize,
            write_buffer_bytes: self.globals.get(ids::WRITE_BUFFER_SIZE) as usize,
            ..RocksDbOptions::default()
        }
    }
}

/// Writes what recovery did to `recovery.json`, for programs that watch the server.
fn keep_report(dir: &DataDir, report: &StartReport) {
    let path = dir.path.join("recovery.json");
    let text = serde_json::to_string_pretty(report).expect("a report is plain data") + "\n";
    if let Err(error) = replace_whole(&*dir.fs, &path, text.as_bytes(), None) {
        log::warn!("no report of the recovery: {error}");
    }
}
