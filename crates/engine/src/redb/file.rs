//! redb's storage on the traits of `cohort-io`, so that it runs on the simulated disk as well.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::redb::{StorageBackend, StorageError};
use cohort_io::{File, IoError};

/// An open file as redb wants it.
pub(super) struct RowsFile(pub(super) Arc<dyn File>);

impl fmt::Debug for RowsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowsFile")
    }
}

impl StorageBackend for RowsFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len().map_err(wrap)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let got = self.0.read_at(offset, out).map_err(wrap)?;
        if got < out.len() {
            let what = format!("the file ends {} bytes into a page at {offset}", got);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len).map_err(wrap)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data().map_err(wrap)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, data).map_err(wrap)
    }
}

/// Runs what reads pages: redb panics at some that are not as it wrote them.
pub(super) fn despite_damage<T, E>(run: impl FnOnce() -> Result<T, E>, damaged: impl FnOnce() -> E) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(damaged()))
}

/// What to say of a page that made redb panic.
pub(super) fn damaged_page() -> StorageError {
    StorageError::Corrupted("a page is not as it was written".to_owned())
}

/// Keeps operation, path and offset, and whether it was for lack of room.
fn wrap(error: IoError) -> io::Error {
    let kind = if error.is_no_space() { io::ErrorKind::StorageFull } else { error.source.kind() };
    io::Error::new(kind, error)
}
