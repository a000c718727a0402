//! Opening a directory: options, and what may stand in the way.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::thread;

use ::redb::{Builder, Database, DatabaseError, Error};
use cohort_io::sync::{Condvar, Mutex, RwLock};
use cohort_io::{Create, File, FileSystem, IoError, OpenOptions, SyncCounters, own_name, renew_name, restore_names};

use super::file::{RowsFile, damaged_page, despite_damage};
use super::layer::Layer;
use super::read::Tree;
use super::stats::Counts;
use super::two_phase;
use super::upkeep::{Signal, put_position, transaction};
use super::{FORMAT_VERSION, Inner, OpenFile, ROWS, Redb, State};
use crate::stored::{self, POSITION_KEY};
use crate::{GroupSync, OpenError, Position};

const FILE: &str = "rows.redb";
/// A file that is not the engine's yet: it is made whole under this name.
const NEW_FILE: &str = "rows.redb.new";
const LOCK: &str = "lock";
/// What a file of redb begins with.
const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

/// How much memory the engine may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedbOptions {
    /// Upper limit of the cache of pages, bytes; taken as pages are read and written.
    pub cache_bytes: usize,
    /// Size at which a layer is written into the tree, bytes; up to three may exist while writes lag.
    pub layer_bytes: usize,
}

impl Default for RedbOptions {
    fn default() -> RedbOptions {
        RedbOptions { cache_bytes: 64 << 20, layer_bytes: 8 << 20 }
    }
}

impl Redb {
    /// Opens the engine's directory, creating it if it is missing or empty.
    pub fn open(fs: Arc<dyn FileSystem>, dir: &Path, options: &RedbOptions) -> Result<Redb, OpenError> {
        let refused = |error| io_error(dir, &error);
        fs.create_dir_all(dir).map_err(refused)?;
        let names = fs.list(dir).map_err(refused)?;
        if let Some(name) = names.iter().find(|name| ![FILE, NEW_FILE, LOCK].contains(&own_name(name))) {
            return Err(OpenError::Foreign { dir: dir.to_path_buf(), detail: format!("it has a file {name}") });
        }
        let lock = fs.lock_exclusive(&dir.join(LOCK)).map_err(|error| match error.is_locked() {
            true => OpenError::InUse { dir: dir.to_path_buf() },
            false => io_error(dir, &error),
        })?;
        // From here on nobody else has these files.
        restore_names(&*fs, dir, |name| name == FILE).map_err(refused)?;
        let syncs = Arc::new(SyncCounters::default());
        if !fs.exists(&dir.join(FILE)).map_err(refused)? {
            create(&*fs, dir, options, &syncs)?;
        }
        fs.sync_dir(dir).map_err(refused)?;
        let file = fs.open(&dir.join(FILE), &OpenOptions::buffered(Create::Never).counted(&syncs)).map_err(refused)?;
        check_magic(&*file, dir)?;
        let open = || {
            let db = open_file(&file, options).map_err(|error| open_error(dir, error.into()))?;
            let db = Arc::new(OpenFile { db: Some(db), _lock: lock });
            let tree = Tree::current(&db).map_err(|error| open_error(dir, error))?;
            let opened = stored_position(&tree, dir)?;
            let prepared = two_phase::stored(&db).map_err(|error| open_error(dir, error))?;
            Ok((db, tree, opened, prepared))
        };
        let (db, tree, opened, prepared) = despite_damage(open, || open_error(dir, damaged_page().into()))?;
        if opened == Position::default() {
            // The process that made the file may have failed to make its name durable.
            renew_name(&*fs, &dir.join(FILE)).and_then(|()| fs.sync_dir(dir)).map_err(refused)?;
        }
        let inner = Arc::new(Inner {
            state: RwLock::new(State {
                active: Layer::at_open(opened),
                frozen: None,
                tree: Arc::new(tree),
                refusal: None,
            }),
            applier: Mutex::default(),
            upkeep: Mutex::default(),
            db,
            fs,
            file,
            room_set_aside: AtomicBool::new(false),
            dir: dir.to_path_buf(),
            layer_bytes: options.layer_bytes,
            opened,
            durable: AtomicU64::new(opened.0),
            written: AtomicU64::new(0),
            prepared: Mutex::new(prepared),
            log: GroupSync::default(),
            syncs,
            sync_callers_log: OnceLock::new(),
            signal: Mutex::new(Signal::default()),
            signalled: Condvar::new(),
            counts: Counts::default(),
        });
        let body = inner.clone();
        let writer = thread::Builder::new().name("redb-writer".to_owned()).spawn(move || body.run());
        let writer = writer.map_err(|error| OpenError::Io { dir: dir.to_path_buf(), detail: error.to_string() })?;
        Ok(Redb { inner, writer: Some(writer) })
    }

    /// Reads every page that the current root refers to, and compares its checksum: an open trusts them.
    ///
    /// A file that a crash left is repaired first, as an open does; `fs` gets the repair.
    pub fn verify_checksums(fs: &dyn FileSystem, dir: &Path, options: &RedbOptions) -> Result<(), OpenError> {
        let file = fs.open(&dir.join(FILE), &OpenOptions::buffered(Create::Never));
        let file = file.map_err(|error| io_error(dir, &error))?;
        check_magic(&*file, dir)?;
        let damaged = || open_error(dir, damaged_page().into());
        let verify = || {
            let mut db = open_file(&file, options).map_err(|error| open_error(dir, error.into()))?;
            match db.check_integrity().map_err(|error| open_error(dir, error.into()))? {
                true => Ok(()),
                false => Err(damaged()),
            }
        };
        despite_damage(verify, damaged)
    }
}

/// Makes the file under another name, so that one of the right name is always whole. The name is not durable yet.
fn create(fs: &dyn FileSystem, dir: &Path, options: &RedbOptions, syncs: &Arc<SyncCounters>) -> Result<(), OpenError> {
    let refused = |error| io_error(dir, &error);
    let new = dir.join(NEW_FILE);
    if fs.exists(&new).map_err(refused)? {
        fs.remove(&new).map_err(refused)?;
    }
    let file = fs.open(&new, &OpenOptions::buffered(Create::New).counted(syncs)).map_err(refused)?;
    let initialise = || -> Result<(), Error> {
        let db = open_file(&file, options)?;
        transaction(&db, |transaction| put_position(&mut transaction.open_table(ROWS)?, Position(0)))
    };
    initialise().map_err(|error| open_error(dir, error))?;
    file.sync_data().map_err(refused)?;
    fs.rename(&new, &dir.join(FILE)).map_err(refused)
}

fn open_file(file: &Arc<dyn File>, options: &RedbOptions) -> Result<Database, DatabaseError> {
    Builder::new().set_cache_size(options.cache_bytes).create_with_backend(RowsFile(file.clone()))
}

fn check_magic(file: &dyn File, dir: &Path) -> Result<(), OpenError> {
    let mut magic = [0; MAGIC.len()];
    file.read_at(0, &mut magic).map_err(|error| io_error(dir, &error))?;
    if magic == MAGIC {
        return Ok(());
    }
    Err(OpenError::Foreign { dir: dir.to_path_buf(), detail: format!("{FILE} is no file of redb") })
}

fn stored_position(tree: &Tree, dir: &Path) -> Result<Position, OpenError> {
    let value = tree.rows().get(POSITION_KEY).map_err(|error| open_error(dir, error.into()))?;
    match value {
        Some(value) => stored::decode(FORMAT_VERSION, value.value(), dir),
        None => Err(OpenError::Foreign { dir: dir.to_path_buf(), detail: "it has rows but no position".into() }),
    }
}

fn open_error(dir: &Path, error: Error) -> OpenError {
    let dir = dir.to_path_buf();
    let detail = format!("{FILE}: {error}");
    match error {
        Error::Corrupted(_) => OpenError::Damaged { dir, detail },
        Error::Io(error) if error.kind() == io::ErrorKind::StorageFull => OpenError::NoSpace { dir, detail },
        Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => OpenError::Damaged { dir, detail },
        Error::UpgradeRequired(_)
        | Error::TableDoesNotExist(_)
        | Error::TableTypeMismatch { .. }
        | Error::TableIsMultimap(_) => OpenError::Foreign { dir, detail },
        _ => OpenError::Io { dir, detail },
    }
}

fn io_error(dir: &Path, error: &IoError) -> OpenError {
    let dir = dir.to_path_buf();
    let detail = error.to_string();
    match error.is_no_space() {
        true => OpenError::NoSpace { dir, detail },
        false => OpenError::Io { dir, detail },
    }
}
