//! Changes outside of the commit order: loading an index that is being built, erasing one that is
//! gone.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rust_rocksdb::{DB, IngestExternalFileOptions, SstFileWriter, WriteBatch};

use crate::read::RangeCursor;
use crate::young_files::TARGET_FILE_SIZE;
use crate::{NAME, RocksDb, write_error};
use cohort_engine::{Cursor, Direction, KeyRange, MIN_KEY_LEN, WriteError};

/// Where files are built that are not part of the database yet.
const LOADING: &str = "loading";
/// Within it, files that the manifest may name although they were not taken in.
const KEPT: &str = "kept";
/// Up to so many keys are erased one by one: a range tombstone slows every read of its memtable.
const ERASED_SINGLY: usize = 1000;

/// Erased ranges whose files are still there.
#[derive(Default)]
pub(super) struct Upkeep {
    erased: Vec<Erased>,
    loads: u64,
    running_loads: u64,
}

/// A range with a tombstone of sequence number `sequence` or less.
struct Erased {
    range: KeyRange,
    sequence: u64,
}

impl Upkeep {
    pub(super) fn waiting(&self) -> usize {
        self.erased.len()
    }

    /// Drops the files of erased ranges that no snapshot can see any more. Called after a flush, so
    /// that the tombstones are in files too and cover what is left of the ranges.
    pub(super) fn reclaim(&mut self, db: &DB) -> Result<(), rust_rocksdb::Error> {
        if self.erased.is_empty() {
            return Ok(());
        }
        let oldest = oldest_snapshot(db)?;
        let gone = |erased: &Erased| oldest.is_none_or(|oldest| oldest >= erased.sequence);
        for erased in self.erased.extract_if(.., |erased| gone(erased)) {
            db.delete_file_in_range(&erased.range.lower, &last_below(&erased.range.upper))?;
            db.suggest_compact_range(Some(&erased.range.lower), Some(&erased.range.upper))?;
        }
        Ok(())
    }

    /// Gives the room of kept files back. Called after a flush: nothing was loaded meanwhile if nothing is now, and the
    /// manifest that was written then has no files but those that were taken in.
    pub(super) fn drop_kept(&self, dir: &Path) {
        if self.running_loads == 0 {
            // What stays is removed by the next start.
            let _ = fs::remove_dir_all(dir.join(LOADING).join(KEPT));
        }
    }
}

/// A key below `upper` with hardly any key of that length or less between the two. RocksDB counts
/// the end of a range of files as part of it, and `upper` may be a key of the next index.
fn last_below(upper: &[u8]) -> Vec<u8> {
    let mut key = upper.to_vec();
    while key.pop_if(|last| *last == 0).is_some() {}
    if let Some(last) = key.last_mut() {
        *last -= 1;
        key.extend_from_slice(&[0xff; 64]);
    }
    key
}

/// The sequence number of the oldest snapshot, if there is any.
fn oldest_snapshot(db: &DB) -> Result<Option<u64>, rust_rocksdb::Error> {
    let oldest = db.property_int_value("rocksdb.oldest-snapshot-sequence")?;
    Ok(oldest.filter(|&sequence| sequence != 0))
}

pub(super) fn erase(engine: &RocksDb, range: &KeyRange) -> Result<(), WriteError> {
    let mut range = range.clone();
    range.lower = range.lower.max(vec![0; MIN_KEY_LEN]);
    if range.lower >= range.upper {
        return Ok(());
    }
    let mut batch = WriteBatch::new();
    let all = erase_singly(engine, &range, &mut batch)?;
    if !all {
        batch.clear();
        batch.delete_range(&range.lower, &range.upper);
    }
    let mut upkeep = engine.upkeep.lock();
    engine.db.write_opt(&batch, &engine.write).map_err(|e| write_error(&e))?;
    if !all {
        let sequence = engine.db.latest_sequence_number();
        upkeep.erased.push(Erased { range, sequence });
    }
    Ok(())
}

/// Puts a delete of every key of the range into the batch; false when there are too many.
fn erase_singly(engine: &RocksDb, range: &KeyRange, batch: &mut WriteBatch) -> Result<bool, WriteError> {
    let mut cursor = RangeCursor::latest(engine.db.clone(), range, Direction::Forward);
    for _ in 0..ERASED_SINGLY {
        match cursor.next() {
            Ok(Some(entry)) => batch.delete(entry.key),
            Ok(None) => return Ok(true),
            Err(error) => return Err(WriteError::Failed { engine: error.engine, detail: error.detail }),
        }
    }
    Ok(false)
}

/// Runs what takes files in that have a second name: see [`keep_files`].
pub(super) fn with_kept_files<T>(
    engine: &RocksDb,
    take: impl FnOnce() -> Result<T, WriteError>,
) -> Result<T, WriteError> {
    let kept = engine.dir.join(LOADING).join(KEPT);
    engine.upkeep.lock().running_loads += 1;
    let made = fs::create_dir_all(&kept).map_err(|e| file_error(&kept, &e));
    let taken = made.and_then(|()| take());
    engine.upkeep.lock().running_loads -= 1;
    taken
}

/// Builds files beside the database and takes them in all at once.
pub(super) fn load(engine: &RocksDb, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
    let number = {
        let mut upkeep = engine.upkeep.lock();
        upkeep.loads += 1;
        upkeep.running_loads += 1;
        upkeep.loads
    };
    let loading = engine.dir.join(LOADING);
    let dir = loading.join(number.to_string());
    // A disk that is full by the time that files must be kept may have no room for a directory.
    let made = [&dir, &loading.join(KEPT)].into_iter().try_for_each(fs::create_dir_all);
    let loaded = made.map_err(|e| file_error(&dir, &e)).and_then(|()| load_into(engine, entries, &dir));
    let removed = fs::remove_dir_all(&dir);
    engine.upkeep.lock().running_loads -= 1;
    loaded?;
    removed.map_err(|e| file_error(&dir, &e))
}

fn load_into(
    engine: &RocksDb,
    entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>,
    dir: &Path,
) -> Result<(), WriteError> {
    let failed = |e| write_error(&e);
    let mut files = Vec::new();
    let mut entries = entries.peekable();
    while entries.peek().is_some() {
        let path = dir.join(format!("{}.sst", files.len()));
        let mut writer = SstFileWriter::create(&engine.options);
        writer.open(&path).map_err(failed)?;
        while let Some((key, value)) = entries.next_if(|_| writer.file_size() < TARGET_FILE_SIZE) {
            assert!(key.len() >= MIN_KEY_LEN, "a loaded key has {} bytes", key.len());
            writer.put(key, value).map_err(failed)?;
        }
        writer.finish().map_err(failed)?;
        files.push(path);
    }
    if files.is_empty() {
        return Ok(());
    }
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    engine.db.ingest_external_file_opts(&options, files).map_err(failed)
}

/// Keeps under another name the files that loads are about to take in. When the manifest cannot be written, RocksDB
/// removes them; the manifest may have them for all that, and then no open gets past it.
pub(super) fn keep_files(dir: &Path) {
    let kept = dir.join(LOADING).join(KEPT);
    // Only they have a second name: the one that they were built under.
    let is_loaded = |path: &Path| path.metadata().is_ok_and(|file| file.nlink() > 1);
    if kept.exists()
        && let Err(error) = link_missing(dir, &kept, is_loaded)
    {
        log::warn!("cannot keep the files of {}, whose manifest failed: {error}", dir.display());
    }
}

/// Gives such files their names back; RocksDB removes those that it does not know. To be called before it opens.
pub(super) fn bring_kept_files_back(dir: &Path) -> io::Result<()> {
    let kept = dir.join(LOADING).join(KEPT);
    if kept.exists() { link_missing(&kept, dir, |_| true) } else { Ok(()) }
}

/// Links the files of tables in `from` that `to` lacks and `wanted` names; all that can be, whatever the outcome.
fn link_missing(from: &Path, to: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<()> {
    let mut outcome = Ok(());
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let (Some(name), Some("sst")) = (path.file_name(), path.extension().and_then(|kind| kind.to_str())) else {
            continue;
        };
        if !to.join(name).exists() && wanted(&path) {
            outcome = outcome.and(fs::hard_link(&path, to.join(name)));
        }
    }
    File::open(to)?.sync_all()?;
    outcome
}

/// Removes what loads that were cut short left behind.
pub(super) fn clear_unfinished_loads(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir.join(LOADING)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn file_error(path: &Path, error: &io::Error) -> WriteError {
    let detail = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::StorageFull => WriteError::NoSpace { engine: NAME, detail },
        _ => WriteError::Failed { engine: NAME, detail },
    }
}
