//! A file that the events of a large transaction go to while it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cohort_io::{File, FileSystem, IoError};

/// A file with events of a transaction that is not in the binlog yet. It goes when this is dropped, unless the
/// transaction was given its place in the log.
pub struct EventsFile {
    fs: Arc<dyn FileSystem>,
    file: Arc<dyn File>,
    path: PathBuf,
    id: u64,
    head_bytes: u64,
    kept: AtomicBool,
}

impl std::fmt::Debug for EventsFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventsFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl EventsFile {
    /// An empty file at `path`.
    pub(super) fn new(
        fs: Arc<dyn FileSystem>,
        file: Arc<dyn File>,
        path: PathBuf,
        id: u64,
        head_bytes: u64,
    ) -> EventsFile {
        EventsFile { fs, file, path, id, head_bytes, kept: AtomicBool::new(false) }
    }

    /// Number of the transaction among the large ones since the server's start.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Room in front of the events.
    pub fn head_bytes(&self) -> u64 {
        self.head_bytes
    }

    /// From now on only the log knows whether the file is needed.
    pub fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    pub(super) fn write_at(&self, at: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.file.write_at(at, bytes)
    }

    pub(super) fn sync(&self) -> Result<(), IoError> {
        self.file.sync_data()
    }

    pub(super) fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.file.set_len(len)
    }

    pub(super) fn read_exact_at(&self, at: u64, bytes: &mut [u8]) -> Result<(), IoError> {
        let got = self.file.read_at(at, bytes)?;
        if got < bytes.len() {
            let source = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
            return Err(IoError::at("read", &self.path, at + got as u64, source));
        }
        Ok(())
    }

    /// What to say of a file that had an error before.
    pub(super) fn failed_before(&self) -> IoError {
        IoError::new("use", &self.path, std::io::Error::other("a write, sync or read of it failed before"))
    }
}

impl Drop for EventsFile {
    fn drop(&mut self) {
        if !*self.kept.get_mut() {
            // What stays is removed by the next start.
            let _ = self.fs.remove(&self.path);
        }
    }
}
