//! Opening a directory: options, and what may stand in the way.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cohort_io::sync::Mutex;
use rust_rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, DataBlockIndexType, ErrorKind, LogLevel, Options, ReadOptions,
    WriteBatch, WriteOptions,
};

use crate::handle::Handle;
use crate::positions::Positions;
use crate::read::Shared;
use crate::stats::Events;
use crate::upkeep::{self, Upkeep};
use crate::young_files::TARGET_FILE_SIZE;
use crate::{FORMAT_VERSION, RocksDb, is_no_space, read_error, staged, torn_manifest};
use cohort_engine::stored::{self, POSITION_KEY};
use cohort_engine::{OpenError, Position, ReadError};
use cohort_io::own_name;

/// How much memory and how many threads the engine may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RocksDbOptions {
    /// Upper limit of the cache of file blocks, bytes; taken as blocks are read.
    pub cache_bytes: usize,
    /// Size at which a memtable is flushed, bytes; up to four may exist while flushes lag.
    pub write_buffer_bytes: usize,
    /// Threads that flush and compact.
    pub background_jobs: u8,
}

impl Default for RocksDbOptions {
    fn default() -> RocksDbOptions {
        RocksDbOptions { cache_bytes: 256 << 20, write_buffer_bytes: 16 << 20, background_jobs: 2 }
    }
}

/// RocksDB's form of the options; files built beside the database use the same.
pub(super) type Built = Options;

impl RocksDb {
    /// Opens the engine's directory, creating it if it is missing or empty. The caller sees to it that nobody else has
    /// it open: a torn manifest is cut before RocksDB takes its lock.
    pub fn open(dir: &Path, options: &RocksDbOptions) -> Result<RocksDb, OpenError> {
        check_directory(dir)?;
        torn_manifest::make_whole(dir)?;
        let events = Arc::new(Events::default());
        let mut built = build(options);
        // What was not flushed on purpose the caller's log may lack.
        built.set_avoid_flush_during_shutdown(true);
        built.add_event_listener(events.listener(dir));
        upkeep::bring_kept_files_back(dir).map_err(|e| io_error(dir, &e))?;
        let db = DB::open(&built, dir).map_err(|e| open_error(dir, &e))?;
        let opened = position_at_open(&db, dir)?;
        upkeep::clear_unfinished_loads(dir).map_err(|e| io_error(dir, &e))?;
        staged::make_directory(dir).map_err(|e| io_error(dir, &e))?;
        Ok(RocksDb::of(db, dir, built, opened, events))
    }

    /// Opens an existing directory for reading only: no file is made, changed or removed, not even a lock
    /// taken, so the caller sees to it that no other process writes. Every write fails.
    pub fn open_read_only(dir: &Path, options: &RocksDbOptions) -> Result<RocksDb, OpenError> {
        let mut built = build(options);
        built.create_if_missing(false);
        // A log of the engine's own, if there is one, is read into memory; what is prepared in it does not show.
        built.set_allow_2pc(true);
        let db = DB::open_for_read_only(&built, dir, false)
            .map_err(|e| torn_manifest::check(dir).err().unwrap_or_else(|| open_error(dir, &e)))?;
        let opened = stored_position(&db, dir)?;
        let opened =
            opened.ok_or_else(|| OpenError::Foreign { dir: dir.to_path_buf(), detail: "no position".into() })?;
        Ok(RocksDb::of(db, dir, built, opened, Arc::new(Events::default())))
    }

    fn of(db: DB, dir: &Path, options: Built, opened: Position, events: Arc<Events>) -> RocksDb {
        let mut write = WriteOptions::default();
        write.disable_wal(true);
        RocksDb {
            db: Shared::new(db),
            dir: dir.to_path_buf(),
            options,
            read: ReadOptions::default(),
            write,
            batch: Mutex::new(WriteBatch::new()),
            positions: Positions::at_open(opened),
            upkeep: Mutex::new(Upkeep::default()),
            events,
            staging_failed: AtomicBool::new(false),
        }
    }

    /// Reads every block of every file and checks its checksum.
    pub fn verify_checksums(&self) -> Result<(), ReadError> {
        self.db.verify_checksum().map_err(read_error)
    }
}

/// An empty directory or one with RocksDB's `CURRENT` file may be opened: RocksDB would otherwise
/// put its files among somebody else's.
pub(super) fn check_directory(dir: &Path) -> Result<(), OpenError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return fs::create_dir_all(dir).map_err(|e| io_error(dir, &e));
        }
        Err(error) => return Err(io_error(dir, &error)),
    };
    let mut stranger = None;
    for entry in entries {
        let name = entry.map_err(|e| io_error(dir, &e))?.file_name();
        let name = name.to_string_lossy().into_owned();
        if name == "CURRENT" {
            return Ok(());
        }
        // What RocksDB leaves when it is killed while it creates a database.
        let known = ["LOCK", "LOG", "IDENTITY", "MANIFEST-", "OPTIONS-"].iter().any(|own| name.starts_with(own))
            || name.ends_with(".dbtmp")
            || own_name(&name).ends_with(".log");
        if !known {
            stranger = Some(name);
        }
    }
    match stranger {
        Some(name) => {
            Err(OpenError::Foreign { dir: dir.to_path_buf(), detail: format!("no CURRENT file, but {name}") })
        }
        None => Ok(()),
    }
}

/// The position that the database holds; a new one is marked as this engine's first.
pub(super) fn position_at_open(db: &impl Handle, dir: &Path) -> Result<Position, OpenError> {
    match stored_position(db, dir)? {
        Some(position) => Ok(position),
        None => initialise(db, dir),
    }
}

fn stored_position(db: &impl Handle, dir: &Path) -> Result<Option<Position>, OpenError> {
    let value = db.get_opt(POSITION_KEY, &ReadOptions::default()).map_err(|e| open_error(dir, &e))?;
    value.map(|value| stored::decode(FORMAT_VERSION, &value, dir)).transpose()
}

/// Marks a new database as this engine's, durably, before anything else can be in it.
fn initialise(db: &impl Handle, dir: &Path) -> Result<Position, OpenError> {
    let mut first = db.walk(ReadOptions::default());
    first.seek_to_first();
    if first.valid() {
        return Err(OpenError::Foreign { dir: dir.to_path_buf(), detail: "it has keys but no position".into() });
    }
    drop(first);
    db.put_durably(POSITION_KEY, &stored::encode(FORMAT_VERSION, Position(0))).map_err(|e| open_error(dir, &e))?;
    Ok(Position(0))
}

/// Old versions of one key that a scan steps over one by one before it looks for the next key instead,
/// which costs a search in the memtables and in every file of the youngest level.
const SCAN_STEPS_MAX: u64 = 32;

/// Files of the youngest level at which RocksDB slows writers down, and at which it stops them.
const LEVEL0_FILES_SLOW: i32 = 56;
const LEVEL0_FILES_STOP: i32 = 80;

pub(super) fn build(options: &RocksDbOptions) -> Options {
    let mut built = Options::default();
    built.create_if_missing(true);
    built.set_write_buffer_size(options.write_buffer_bytes);
    built.set_max_write_buffer_number(4);
    built.set_max_background_jobs(i32::from(options.background_jobs));
    built.set_bytes_per_sync(1 << 20);
    built.set_avoid_unnecessary_blocking_io(true);

    // One applier writes, so there is never a group of writers to insert side by side.
    built.set_allow_concurrent_memtable_write(false);
    // A read of a row that lies in a file skips the memtables.
    built.set_memtable_prefix_bloom_ratio(0.02);
    built.set_memtable_whole_key_filtering(true);
    built.set_max_sequential_skip_in_iterations(SCAN_STEPS_MAX);

    built.set_block_based_table_factory(&table(options));
    built.set_compression_type(DBCompressionType::Lz4);
    // The two youngest levels are rewritten soon: compressing them costs more than it saves.
    built.set_min_level_to_compress(2);
    built.set_target_file_size_base(TARGET_FILE_SIZE);
    built.set_max_bytes_for_level_base(128 << 20);
    // A large transaction brings up to some thirty files at once, which are no reason to hold writers up.
    built.set_level_zero_slowdown_writes_trigger(LEVEL0_FILES_SLOW);
    built.set_level_zero_stop_writes_trigger(LEVEL0_FILES_STOP);

    built.set_stats_dump_period_sec(0);
    built.set_stats_persist_period_sec(0);
    built.set_skip_stats_update_on_db_open(true);
    built.set_log_level(LogLevel::Warn);
    built.set_keep_log_file_num(2);
    built.set_max_log_file_size(4 << 20);
    built
}

fn table(options: &RocksDbOptions) -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    // Readers take no lock; 0 lets its table grow with the number of blocks.
    table.set_block_cache(&Cache::new_hyper_clock_cache(options.cache_bytes, 0));
    table.set_bloom_filter(10.0, false);
    table.set_whole_key_filtering(true);
    table.set_optimize_filters_for_memory(true);
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_block_size(8 << 10);
    // It asks the kernel to read ahead for every third block of a scan, in memory or not. The kernel does so by itself.
    table.set_initial_auto_readahead_size(0);
    table.set_format_version(6);
    table
}

pub(super) fn open_error(dir: &Path, error: &rust_rocksdb::Error) -> OpenError {
    let dir = dir.to_path_buf();
    let detail = error.to_string();
    match error.kind() {
        ErrorKind::IOError if is_lock_conflict(&detail) => OpenError::InUse { dir },
        ErrorKind::IOError if is_no_space(error) => OpenError::NoSpace { dir, detail },
        ErrorKind::NotSupported => OpenError::Newer { dir, detail },
        ErrorKind::InvalidArgument => OpenError::Foreign { dir, detail },
        ErrorKind::Corruption => OpenError::Damaged { dir, detail },
        _ => OpenError::Io { dir, detail },
    }
}

fn is_lock_conflict(detail: &str) -> bool {
    detail.contains("lock hold by current process")
        || detail.contains("While lock file") && detail.contains("Resource temporarily unavailable")
}

pub(super) fn io_error(dir: &Path, error: &io::Error) -> OpenError {
    OpenError::Io { dir: dir.to_path_buf(), detail: error.to_string() }
}
