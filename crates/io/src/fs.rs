//! The traits of files and directories, and how a file is opened.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use crate::{IoError, SyncCounters};

/// What an opened file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and writing through the page cache: a write is flushed, not synced.
    Buffered,
    /// Writing past the page cache, synced when the write returns (`O_DIRECT|O_DSYNC`). Offsets,
    /// lengths and memory are multiples of [`BLOCK`](crate::BLOCK). Where the file system refuses
    /// `O_DIRECT` it is `O_DSYNC` alone, and [`File::is_direct`] says so.
    DirectSync,
}

/// Whether opening may make the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// The file must be there.
    Never,
    /// Made when missing.
    IfMissing,
    /// Must not be there yet.
    New,
}

/// How to open a file.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub access: Access,
    /// May it be made.
    pub create: Create,
    /// Where its writes and syncs are counted, if anywhere.
    pub counters: Option<Arc<SyncCounters>>,
}

impl OpenOptions {
    /// An existing file, for reading.
    pub fn read() -> OpenOptions {
        OpenOptions { access: Access::Read, create: Create::Never, counters: None }
    }

    /// A file for buffered reading and writing.
    pub fn buffered(create: Create) -> OpenOptions {
        OpenOptions { access: Access::Buffered, create, counters: None }
    }

    /// An existing file for direct, synced writes.
    pub fn direct_sync() -> OpenOptions {
        OpenOptions { access: Access::DirectSync, create: Create::Never, counters: None }
    }

    /// The same, counted in `counters`.
    pub fn counted(self, counters: &Arc<SyncCounters>) -> OpenOptions {
        OpenOptions { counters: Some(Arc::clone(counters)), ..self }
    }
}

/// An open file. Every call takes its own offset, so that threads may share one.
pub trait File: Send + Sync {
    /// Reads into `buf` from `offset` until it is full or the file ends; returns how many bytes.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, IoError>;

    /// Writes all of `bytes` at `offset`. After an error any part of them may have arrived; neither
    /// the write nor a sync of these pages may be tried again.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError>;

    /// Puts the file's data and length on stable storage (`fdatasync`). After an error what was
    /// written since the last sync may be gone although reads still show it; a second sync that
    /// succeeds proves nothing.
    fn sync_data(&self) -> Result<(), IoError>;

    /// Length in bytes.
    fn len(&self) -> Result<u64, IoError>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> Result<bool, IoError> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file or extends it with zeros, to `len` bytes.
    fn set_len(&self, len: u64) -> Result<(), IoError>;

    /// Sets disk space aside for `len` bytes from `offset` without changing the file's length, so
    /// that writing them cannot fail for lack of room. Does nothing where the file system cannot.
    fn reserve(&self, offset: u64, len: u64) -> Result<(), IoError>;

    /// Disk space that the file has, bytes: less than its length where it has holes, more where space was set aside.
    fn allocated_bytes(&self) -> Result<u64, IoError>;

    /// Whether writes really go past the page cache; false for anything but
    /// [`Access::DirectSync`], and for that where the file system refused.
    fn is_direct(&self) -> bool;
}

/// Directories and the names in them. A name made, moved or removed survives a power cut only after
/// [`FileSystem::sync_dir`] of its directory.
pub trait FileSystem: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn File>, IoError>;

    /// Moves a file, atomically replacing what `to` named.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<(), IoError>;

    /// Makes a directory and those above it; synced all the way up. Nothing happens if it exists.
    fn create_dir_all(&self, path: &Path) -> Result<(), IoError>;

    /// Names in a directory (files and directories, without `.` and `..`), sorted.
    fn list(&self, dir: &Path) -> Result<Vec<String>, IoError>;

    /// Whether the path names anything.
    fn exists(&self, path: &Path) -> Result<bool, IoError>;

    /// Puts the names of a directory on stable storage.
    fn sync_dir(&self, dir: &Path) -> Result<(), IoError>;

    /// Bytes an unprivileged writer may still use on the device that holds `dir`.
    fn available_bytes(&self, dir: &Path) -> Result<u64, IoError>;

    /// Takes the exclusive lock of `path` (made if missing) for as long as the returned value lives
    /// and the process runs; [`IoError::is_locked`] when someone else holds it.
    fn lock_exclusive(&self, path: &Path) -> Result<FileLock, IoError>;
}

/// Holds an exclusive lock; dropping it lets go.
#[must_use = "dropping the lock releases it"]
pub struct FileLock {
    _holder: Box<dyn Any + Send + Sync>,
}

impl FileLock {
    pub(crate) fn new(holder: impl Any + Send + Sync) -> FileLock {
        FileLock { _holder: Box::new(holder) }
    }
}

impl std::fmt::Debug for FileLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileLock")
    }
}
