//! Large transactions: their changes are files beside the database before they commit, and the commit takes the files in.
//!
//! Taking in is one edit of the manifest. One of the files is the position's, so that changes and position are there
//! together, and since the memtables have a position too, RocksDB flushes them first: when it is done, everything up to the
//! position is in files. The files get a second name in the database for that, and lose the one in `staged/` afterwards.
//!
//! On crash: before that edit the files are in `staged/`, under whatever other name as well, until the caller has them
//! discarded: it may have to apply them again. After it the position is durable, and nothing is applied again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rust_rocksdb::{IngestExternalFileOptions, SstFileWriter};

use crate::upkeep::{self, file_error};
use crate::{FORMAT_VERSION, NAME, RocksDb, write_error};
use cohort_engine::stored::{self, POSITION_KEY};
use cohort_engine::{Changes, MIN_KEY_LEN, Position, WriteError};

/// Where the files are.
const STAGED: &str = "staged";

fn dir_of(engine: &RocksDb, transaction: u64) -> PathBuf {
    engine.dir.join(STAGED).join(transaction.to_string())
}

fn part_path(engine: &RocksDb, transaction: u64, part: u32) -> PathBuf {
    dir_of(engine, transaction).join(format!("{part}.sst"))
}

/// Makes the directory of staged files, durably.
pub(super) fn make_directory(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir.join(STAGED))?;
    File::open(dir)?.sync_all()
}

pub(super) fn stage(
    engine: &RocksDb,
    transaction: u64,
    part: u32,
    changes: &mut dyn Changes,
) -> Result<(), WriteError> {
    let dir = dir_of(engine, transaction);
    if engine.staging_failed.load(Ordering::Relaxed) {
        let detail = "names of staged files may have been lost; restart the server".to_owned();
        return Err(WriteError::Failed { engine: NAME, detail });
    }
    if !dir.exists() {
        fs::create_dir(&dir).map_err(|error| file_error(&dir, &error))?;
        let synced = File::open(engine.dir.join(STAGED)).and_then(|staged| staged.sync_all());
        if let Err(error) = synced {
            // A later sync that succeeds proves nothing.
            engine.staging_failed.store(true, Ordering::Relaxed);
            return Err(file_error(&dir, &error));
        }
    }
    let path = part_path(engine, transaction, part);
    let written = write(engine, &path, changes).and_then(|()| {
        let synced = File::open(&dir).and_then(|dir| dir.sync_all());
        synced.map_err(|error| file_error(&dir, &error))
    });
    if written.is_err() {
        // What stays is removed with the transaction's directory.
        let _ = fs::remove_file(&path);
    }
    written
}

/// Makes sure that a file to be written is a new one: after a crash the old one may be another name of a file of the
/// database.
fn make_way(path: &Path) -> Result<(), WriteError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(path, &error)),
        _ => Ok(()),
    }
}

/// One synced file with all changes.
fn write(engine: &RocksDb, path: &Path, changes: &mut dyn Changes) -> Result<(), WriteError> {
    let failed = |error: rust_rocksdb::Error| write_error(&error);
    make_way(path)?;
    let mut writer = SstFileWriter::create(&engine.options);
    writer.open(path).map_err(failed)?;
    let unread = |error: cohort_engine::ReadError| WriteError::Failed { engine: NAME, detail: error.detail };
    while let Some(change) = changes.next().map_err(unread)? {
        assert!(change.key.len() >= MIN_KEY_LEN, "a staged key has {} bytes", change.key.len());
        match change.value {
            Some(value) => writer.put(change.key, value).map_err(failed)?,
            None => writer.delete(change.key).map_err(failed)?,
        }
    }
    writer.finish().map_err(failed)
}

pub(super) fn apply(engine: &RocksDb, transaction: u64, parts: &[u32], position: Position) -> Result<(), WriteError> {
    if !engine.positions.is_new(position) {
        return Ok(());
    }
    let _applier = engine.batch.lock();
    let path = dir_of(engine, transaction).join("position.sst");
    make_way(&path)?;
    let mut writer = SstFileWriter::create(&engine.options);
    let value = stored::encode(FORMAT_VERSION, position);
    let written = writer.open(&path).and_then(|()| writer.put(POSITION_KEY, value)).and_then(|()| writer.finish());
    written.map_err(|error| write_error(&error))?;
    let mut files = vec![path];
    files.extend(parts.iter().map(|part| part_path(engine, transaction, *part)));
    // It becomes durable at once: the log must be so before.
    engine.events.sync_callers_log()?;
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    let taken = upkeep::with_kept_files(engine, || {
        engine.db.ingest_external_file_opts(&options, files).map_err(|error| write_error(&error))
    });
    taken?;
    engine.positions.set_applied(position);
    engine.positions.set_durable(position);
    Ok(())
}

pub(super) fn has(engine: &RocksDb, transaction: u64, part: u32) -> bool {
    part_path(engine, transaction, part).exists()
}

pub(super) fn discard_part(engine: &RocksDb, transaction: u64, part: u32) {
    let _ = fs::remove_file(part_path(engine, transaction, part));
}

pub(super) fn discard(engine: &RocksDb, transaction: u64) {
    remove(&dir_of(engine, transaction));
}

pub(super) fn discard_all(engine: &RocksDb) {
    let staged = fs::read_dir(engine.dir.join(STAGED)).into_iter().flatten().flatten();
    staged.for_each(|transaction| remove(&transaction.path()));
}

fn remove(dir: &Path) {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            log::warn!("cannot remove {}, which is not needed: {error}", dir.display());
        }
        _ => {}
    }
}
