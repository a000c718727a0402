//! What operators keep beyond the memory that they may have: temporary files.
//!
//! Outline: an operator counts what it keeps against its [`Budget`]. Where that is used up it goes on in files: a
//! [`Sorter`] gives records back in order, a [`RowList`] rows as they came, and both say no word of where they have them;
//! a [`RecordFile`] is what they are made of.
//!
//! Invariants
//! 1. A file has no name, so that it is gone when it is closed, however the process ends.
//! 2. What is read is checked: damage is an error, no wrong row.
//! 3. Between two looks whether the statement was killed there are at most some hundred records, or one block of a file.
//!
//! A full disk is error 1021, any other failure 1026 or 1024.

mod distinct_rows;
mod keyed_rows;
mod record_file;
mod row_list;
mod sort_keys;
mod sorter;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ER_DISK_FULL, ER_ERROR_ON_READ, ER_ERROR_ON_WRITE, SqlError};
use crate::memory::MemoryUse;

pub(crate) use distinct_rows::DistinctRows;
pub(crate) use keyed_rows::{KeyedRow, KeyedRows, KeyedSorter};
pub(crate) use record_file::{RecordFile, RecordReader};
pub(crate) use row_list::{Cursor, RowList, read_bytes, read_row, write_bytes, write_row};
pub(crate) use sort_keys::{KeyOrder, KeyStart, KeyWriter, compare_keys, skip_keys};
pub(crate) use sorter::{Sorted, Sorter};

/// Where temporary files are made, and how many there were.
#[derive(Debug)]
pub struct TemporaryFiles {
    directory: PathBuf,
    /// Created_tmp_files
    pub files: AtomicU64,
    /// Created_tmp_disk_tables: lists of rows, groups and the like that had more than memory is for.
    pub tables: AtomicU64,
    /// Sort_merge_passes
    pub merge_passes: AtomicU64,
}

impl TemporaryFiles {
    /// Files in this directory.
    pub fn new(directory: PathBuf) -> TemporaryFiles {
        TemporaryFiles { directory, files: 0.into(), tables: 0.into(), merge_passes: 0.into() }
    }

    /// Whether a file can be made.
    pub fn check(&self) -> io::Result<()> {
        tempfile::tempfile_in(&self.directory).map(drop)
    }

    fn create(&self) -> Result<File, SqlError> {
        let file = tempfile::tempfile_in(&self.directory).map_err(|error| self.not_written(&error))?;
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(file)
    }

    /// Something beyond a sort has gone to files.
    pub(crate) fn count_table(&self) {
        self.tables.fetch_add(1, Ordering::Relaxed);
    }

    fn count_merge_pass(&self) {
        self.merge_passes.fetch_add(1, Ordering::Relaxed);
    }

    fn not_written(&self, error: &io::Error) -> SqlError {
        let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        match is_full {
            true => SqlError::new(ER_DISK_FULL, &[&self.directory.display()]),
            false => SqlError::new(ER_ERROR_ON_WRITE, &[&self.directory.display(), error]),
        }
    }

    fn not_read(&self, error: &io::Error) -> SqlError {
        SqlError::new(ER_ERROR_ON_READ, &[&self.directory.display(), error])
    }

    /// What was written is not what is read.
    pub(crate) fn damaged(&self) -> SqlError {
        self.not_read(&io::Error::new(io::ErrorKind::InvalidData, "a temporary file is damaged"))
    }
}

impl Default for TemporaryFiles {
    fn default() -> TemporaryFiles {
        TemporaryFiles::new(std::env::temp_dir())
    }
}

/// What the statement around gives to those who keep more than memory is for.
pub trait Spilling {
    /// What the connection holds.
    fn memory(&self) -> &MemoryUse;
    /// Where files are made.
    fn temporary_files(&self) -> &TemporaryFiles;
    /// Error 1317 if the statement was killed.
    fn check_killed(&self) -> Result<(), SqlError>;
}

/// What may be in memory in any case, bytes: less would be more files than rows.
const LEAST_BYTES: usize = 1 << 10;

/// What something may hold in memory.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    held: usize,
    /// It is there until the statement ends, whatever query has asked for it.
    stays: bool,
}

impl Budget {
    /// So many bytes at most.
    pub(crate) fn of(most: u64) -> Budget {
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(LEAST_BYTES);
        Budget { most, held: 0, stays: false }
    }

    /// The same of what stays when the query within that asks for it has ended.
    pub(crate) fn staying(self) -> Budget {
        Budget { stays: true, ..self }
    }

    /// Another one of the same size.
    pub(crate) fn again(&self) -> Budget {
        Budget { held: 0, ..*self }
    }

    /// Takes so many bytes, or says that this is more than there is: more than the budget, or than half of what the
    /// connection has left. Whoever holds nothing gets them, so that one record has always room; 4082 if even that is more
    /// than the connection may hold.
    pub(crate) fn take(&mut self, bytes: usize, with: &dyn Spilling) -> Result<bool, SqlError> {
        let after = self.held.saturating_add(bytes);
        let has_room = || with.memory().left() >= self.held as u64 || after <= LEAST_BYTES;
        if self.held > 0 && (after > self.most || !has_room()) {
            return Ok(false);
        }
        self.hold(bytes, with)?;
        Ok(true)
    }

    /// Counts again what is held, which the statement has [released](crate::memory::MemoryUse::release_to) meanwhile; false
    /// if the connection has no room for it any more.
    pub(crate) fn is_held_again(&self, with: &dyn Spilling) -> bool {
        let has_room = self.held <= LEAST_BYTES || with.memory().left() >= self.held as u64;
        has_room && with.memory().hold(self.held).is_ok()
    }

    /// Takes so many bytes in any case; 4082 if the connection holds too much.
    pub(crate) fn hold(&mut self, bytes: usize, with: &dyn Spilling) -> Result<(), SqlError> {
        with.memory().hold(bytes)?;
        if self.stays {
            with.memory().stays(bytes);
        }
        self.held += bytes;
        Ok(())
    }

    /// Whether more is held than the budget has.
    pub(crate) fn is_exceeded(&self, with: &dyn Spilling) -> bool {
        self.held > self.most || (self.held > LEAST_BYTES && with.memory().left() < self.held as u64)
    }

    /// Counts what was held otherwise, and is this operator's.
    pub(crate) fn count(&mut self, bytes: usize) {
        self.held = self.held.saturating_add(bytes);
    }

    /// Gives everything back.
    pub(crate) fn give_back(&mut self, with: &dyn Spilling) {
        with.memory().give_back(std::mem::take(&mut self.held), self.stays);
    }

    /// The most that it may hold, bytes.
    fn most(&self) -> usize {
        self.most
    }
}
