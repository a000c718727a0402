//! The one error of this crate: what was tried, on what, and what the system said.

use std::io;
use std::path::{Path, PathBuf};

/// A call to the file system failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {op} {path}{at}: {source}", path = path.display(), at = At(*offset))]
pub struct IoError {
    /// The operation as a verb: `open`, `read`, `write`, `sync`, `rename`, …
    pub op: &'static str,
    /// The file or directory it was tried on.
    pub path: PathBuf,
    /// Byte offset in the file, for reads and writes.
    pub offset: Option<u64>,
    /// What the system said.
    pub source: io::Error,
}

struct At(Option<u64>);

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(offset) => write!(f, " at byte {offset}"),
            None => Ok(()),
        }
    }
}

impl IoError {
    /// An error of an operation on a whole file or directory.
    pub fn new(op: &'static str, path: &Path, source: io::Error) -> IoError {
        IoError { op, path: path.to_path_buf(), offset: None, source }
    }

    /// An error of a read or write at `offset` bytes.
    pub fn at(op: &'static str, path: &Path, offset: u64, source: io::Error) -> IoError {
        IoError { op, path: path.to_path_buf(), offset: Some(offset), source }
    }

    /// No room on the device or in the quota: freeing space cures it.
    pub fn is_no_space(&self) -> bool {
        matches!(self.source.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))
    }

    /// The file or directory does not exist.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// The file system takes no changes.
    pub fn is_read_only(&self) -> bool {
        self.source.kind() == io::ErrorKind::ReadOnlyFilesystem
    }

    /// Another process (or another holder in this one) has the lock.
    pub fn is_locked(&self) -> bool {
        self.source.kind() == io::ErrorKind::WouldBlock
    }
}
