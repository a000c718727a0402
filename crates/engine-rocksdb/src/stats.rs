//! What RocksDB does in the background, as its event listener hears it, and what it holds.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use cohort_io::sync::Mutex;
use rust_rocksdb::event_listener::{
    BackgroundErrorRecoveryInfo, CompactionJobInfo, DBBackgroundErrorReason, DBWriteStallCondition, EventListener,
    FlushJobInfo, IngestionInfo, MutableStatus, StatusSeverity, WriteStallInfo,
};
use rust_rocksdb::properties;

use crate::handle::Handle;
use crate::{NAME, RocksDb, upkeep, write_error};
use cohort_engine::{SyncCallersLog, WriteError};

/// What RocksDB's threads reported.
#[derive(Default)]
pub(super) struct Events {
    flushes: AtomicU64,
    flushed_bytes: AtomicU64,
    compactions: AtomicU64,
    compacted_bytes: AtomicU64,
    ingested_files: AtomicU64,
    background_errors: AtomicU64,
    stalls: AtomicU64,
    stalled_us: AtomicU64,
    stalled_since: Mutex<Option<Instant>>,
    /// Writes are refused; `refusal` says why.
    refusing: AtomicBool,
    refusal: Mutex<Option<rust_rocksdb::Error>>,
    sync_callers_log: OnceLock<SyncCallersLog>,
}

impl Events {
    pub(super) fn listener(self: &Arc<Events>, dir: &Path) -> Listener {
        Listener(self.clone(), dir.to_path_buf())
    }

    pub(super) fn ready(&self) -> Result<(), WriteError> {
        if !self.refusing.load(Acquire) {
            return Ok(());
        }
        self.refusal.lock().as_ref().map_or(Ok(()), |error| Err(write_error(error)))
    }

    pub(super) fn sync_callers_log_first(&self, sync_callers_log: SyncCallersLog) {
        assert!(self.sync_callers_log.set(sync_callers_log).is_ok(), "set once");
    }

    /// Makes the caller's log durable.
    pub(super) fn sync_callers_log(&self) -> Result<(), WriteError> {
        let Some(sync_callers_log) = self.sync_callers_log.get() else { return Ok(()) };
        sync_callers_log().map_err(|detail| WriteError::Failed { engine: NAME, detail })
    }

    fn refuse(&self, error: Option<&rust_rocksdb::Error>) {
        *self.refusal.lock() = error.cloned();
        self.refusing.store(error.is_some(), Release);
    }

    fn stalled_us(&self) -> u64 {
        let running = self.stalled_since.lock().map_or(0, |since| since.elapsed().as_micros() as u64);
        self.stalled_us.load(Relaxed) + running
    }
}

/// The end of [`Events`] that RocksDB owns, for a database in a directory.
pub(super) struct Listener(Arc<Events>, PathBuf);

impl EventListener for Listener {
    /// The memtables of the flush are immutable: whatever is in them is in the caller's log by now.
    fn on_flush_begin(&self, _: &FlushJobInfo) {
        if let Err(error) = self.0.sync_callers_log() {
            // RocksDB cannot be asked to leave it: it would outlive the log after a power cut.
            log::error!("{error}; stopping before RocksDB writes what the log does not hold");
            log::logger().flush();
            std::process::abort();
        }
    }

    fn on_flush_completed(&self, info: &FlushJobInfo) {
        self.0.flushes.fetch_add(1, Relaxed);
        self.0.flushed_bytes.fetch_add(info.table_properties().data_size(), Relaxed);
    }

    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        self.0.compactions.fetch_add(1, Relaxed);
        self.0.compacted_bytes.fetch_add(info.total_output_bytes(), Relaxed);
    }

    fn on_external_file_ingested(&self, _: &IngestionInfo) {
        self.0.ingested_files.fetch_add(1, Relaxed);
    }

    fn on_background_error(&self, reason: DBBackgroundErrorReason, status: MutableStatus) {
        if matches!(reason, DBBackgroundErrorReason::KManifestWrite) {
            upkeep::keep_files(&self.1);
        }
        self.0.background_errors.fetch_add(1, Relaxed);
        if !matches!(status.severity(), StatusSeverity::KNoError | StatusSeverity::KSoftError) {
            self.0.refuse(status.result().as_ref().err());
        }
    }

    fn on_error_recovery_end(&self, info: &BackgroundErrorRecoveryInfo) {
        self.0.refuse(info.new_bg_error().result().as_ref().err());
    }

    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        let mut since = self.0.stalled_since.lock();
        match (info.cur(), *since) {
            (DBWriteStallCondition::KNormal, Some(start)) => {
                self.0.stalled_us.fetch_add(start.elapsed().as_micros() as u64, Relaxed);
                *since = None;
            }
            (DBWriteStallCondition::KDelayed | DBWriteStallCondition::KStopped, None) => {
                self.0.stalls.fetch_add(1, Relaxed);
                *since = Some(Instant::now());
            }
            _ => {}
        }
    }
}

pub(super) fn read(engine: &RocksDb) -> Vec<(&'static str, u64)> {
    let events = &engine.events;
    let property = |name| engine.db.property(name);
    vec![
        ("memtable_bytes", property(properties::SIZE_ALL_MEM_TABLES)),
        ("memtables_waiting", property(properties::NUM_IMMUTABLE_MEM_TABLE)),
        ("block_cache_bytes", property(properties::BLOCK_CACHE_USAGE)),
        ("table_reader_bytes", property(properties::ESTIMATE_TABLE_READERS_MEM)),
        ("sst_bytes", property(properties::TOTAL_SST_FILES_SIZE)),
        ("live_sst_bytes", property(properties::LIVE_SST_FILES_SIZE)),
        ("keys_estimated", property(properties::ESTIMATE_NUM_KEYS)),
        ("snapshots", property(properties::NUM_SNAPSHOTS)),
        ("flushes", events.flushes.load(Relaxed)),
        ("flushed_bytes", events.flushed_bytes.load(Relaxed)),
        ("compactions", events.compactions.load(Relaxed)),
        ("compacted_bytes", events.compacted_bytes.load(Relaxed)),
        ("compaction_pending_bytes", property(properties::ESTIMATE_PENDING_COMPACTION_BYTES)),
        ("ingested_files", events.ingested_files.load(Relaxed)),
        ("background_errors", events.background_errors.load(Relaxed)),
        ("write_stalls", events.stalls.load(Relaxed)),
        ("write_stalled_us", events.stalled_us()),
        ("write_refused", u64::from(events.refusing.load(Relaxed))),
        ("write_stopped", property(properties::IS_WRITE_STOPPED)),
        ("applied_position", engine.positions.applied().0),
        ("durable_position", engine.positions.durable().0),
        ("erased_ranges_waiting", engine.upkeep.try_lock().map_or(0, |upkeep| upkeep.waiting() as u64)),
    ]
}
