//! The files of the binlog and their index.
use std::path::PathBuf;
use std::sync::Arc;

use cohort_io::{FileSystem, IoError, SyncFigures};

use super::position::BinlogPosition;
use super::layout::ServerIdentity;

/// Where the files are and what they are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinlogOptions {
    /// Directory of the files and the index.
    pub directory: PathBuf,
    /// `binlog` in `binlog.000001` and `binlog.index`.
    pub base_name: String,
    /// Disk space set aside at a time, bytes.
    pub reserve_step_bytes: u64,
}

/// A file of the binlog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinlogFile {
    /// Number in its name.
    pub number: u64,
    /// Name without directory.
    pub name: String,
    /// Length.
    pub bytes: u64,
}

/// The binlog could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BinlogError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Damage that a crash does not explain.
    #[error("{path} at byte {offset}: {what}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What was found.
        what: String,
    },
    /// An earlier write or sync failed: what the files hold is not known any more.
    #[error("the binlog takes no more writes since an earlier one failed")]
    Sealed,
    /// No such file in the index.
    #[error("binlog file '{0}' is not in the index")]
    Unknown(String),
}

/// What [`BinlogFiles::finish_recovery`] found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveredFiles {
    /// Bytes written again because a file had lost them.
    pub rewritten_bytes: u64,
    /// Bytes cut off behind the last transaction.
    pub cut_bytes: u64,
    /// Names of files removed because no transaction reached them, or a purge had been interrupted.
    pub removed_files: Vec<String>,
}

/// The files of the binlog.
pub struct BinlogFiles {
    _fs: Arc<dyn FileSystem>,
}

impl BinlogFiles {
    /// Opens the files that the index names; none at the first start. Takes nothing away yet.
    pub fn open(_fs: Arc<dyn FileSystem>, _options: BinlogOptions) -> Result<BinlogFiles, BinlogError> {
        todo!()
    }
    /// `binlog.000007` for 7.
    pub fn file_name(&self, _number: u64) -> String {
        todo!()
    }
    /// The end of the last file; `None` when there is no file.
    pub fn end(&self) -> Option<BinlogPosition> {
        todo!()
    }
    /// At recovery: puts `bytes` at a position where they may already stand, whole, in part or not at all.
    pub fn replay(&self, _at: BinlogPosition, _bytes: &[u8]) -> Result<(), BinlogError> {
        todo!()
    }
    /// Ends recovery: cuts what lies behind `end` and syncs.
    pub fn finish_recovery(&self, _end: Option<BinlogPosition>) -> Result<RecoveredFiles, BinlogError> {
        todo!()
    }
    /// Sets disk space aside so that the next `bytes` appended cannot fail for lack of it.
    pub fn reserve(&self, _bytes: u64) -> Result<(), BinlogError> {
        todo!()
    }
    /// Gives back what [`BinlogFiles::reserve`] took for bytes that will not be appended.
    pub fn release(&self, _bytes: u64) {
        todo!()
    }
    /// Off the commit path: makes the next file ready, so that a rotation is a rename.
    pub fn prepare_next(&self) -> Result<(), BinlogError> {
        todo!()
    }
    /// Appends at the end; offset 0 of the number after the current one begins that file.
    pub fn append(&self, _at: BinlogPosition, _bytes: &[u8]) -> Result<(), BinlogError> {
        todo!()
    }
    /// Syncs everything appended before the call; returns the position up to which all is durable.
    pub fn sync_all(&self) -> Result<Option<BinlogPosition>, BinlogError> {
        todo!()
    }
    /// The files in order (`SHOW BINARY LOGS`).
    pub fn list(&self) -> Vec<BinlogFile> {
        todo!()
    }
    /// Removes the files before `first_kept`.
    pub fn purge_before(&self, _first_kept: u64) -> Result<Vec<String>, BinlogError> {
        todo!()
    }
    /// Clean shutdown: takes the in-use mark from the current file and syncs.
    pub fn close(&self) -> Result<(), BinlogError> {
        todo!()
    }
    /// Writes and syncs so far.
    pub fn figures(&self) -> SyncFigures {
        todo!()
    }
    /// Who.
    pub fn _identity(_: ServerIdentity) {}
}
