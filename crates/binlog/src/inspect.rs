//! Looking at the files without opening them for writing: for those who check a data directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cohort_io::{FileSystem, IoError, OpenOptions};

use super::files::{BinlogError, BinlogOptions, Found, LARGE_EVENTS, compare, is_large_name, large_name};
use super::index::{self, file_name, file_number};

/// What index and directory say about the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BinlogListing {
    directory: PathBuf,
    base_name: String,
    /// Files that the index lists, oldest first: without gaps, though not each may be there.
    pub listed: Vec<u64>,
    /// Bytes of the index that are whole lines.
    pub index_bytes: u64,
    /// Bytes after those, which are what a crash leaves of lines not synced.
    pub index_bytes_torn: u64,
    /// Listed and not in the directory.
    pub missing: Vec<u64>,
    /// In the directory and not listed.
    pub unlisted: Vec<u64>,
    /// Names of files of large transactions, which are no binlog files, or none yet.
    pub large: Vec<String>,
}

impl BinlogListing {
    /// Reads index and directory. No index is an empty one.
    pub fn read(fs: &dyn FileSystem, options: &BinlogOptions) -> Result<BinlogListing, BinlogError> {
        let BinlogOptions { directory, base_name, .. } = options;
        let mut listing =
            BinlogListing { directory: directory.clone(), base_name: base_name.clone(), ..BinlogListing::default() };
        let path = listing.index_path();
        if fs.exists(&path)? {
            let text = index::read(fs, &path)?;
            let (listed, bytes) = index::parse(&path, base_name, &text)?;
            listing.listed = listed;
            listing.index_bytes = bytes;
            listing.index_bytes_torn = text.len() as u64 - bytes;
        }
        let names = fs.list(directory)?;
        let there: BTreeSet<u64> = names.iter().filter_map(|name| file_number(base_name, name)).collect();
        let listed: BTreeSet<u64> = listing.listed.iter().copied().collect();
        listing.missing = listed.difference(&there).copied().collect();
        listing.unlisted = there.difference(&listed).copied().collect();
        listing.large = names.into_iter().filter(|name| is_large_name(base_name, name)).collect();
        Ok(listing)
    }

    pub fn index_path(&self) -> PathBuf {
        self.directory.join(format!("{}.index", self.base_name))
    }

    pub fn file_name(&self, number: u64) -> String {
        file_name(&self.base_name, number)
    }

    /// The path of a file.
    pub fn path(&self, number: u64) -> PathBuf {
        self.directory.join(self.file_name(number))
    }

    /// The path of a file of the large transaction `id`.
    pub fn large_path(&self, id: u64, what: &str) -> PathBuf {
        self.directory.join(large_name(&self.base_name, id, what))
    }

    /// The same of the file with its events, before that becomes a binlog file.
    pub fn large_events_path(&self, id: u64) -> PathBuf {
        self.large_path(id, LARGE_EVENTS)
    }
}

/// How bytes of the journal stand in their file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFile {
    /// This many are missing or zero at the end, as after a crash: the next start writes them again.
    Missing(u64),
    /// At this offset there is another byte.
    Differs(u64),
}

/// Looks whether `bytes` stand at `offset` of a file, which may be missing.
pub fn look_for(fs: &dyn FileSystem, path: &Path, offset: u64, bytes: &[u8]) -> Result<InFile, IoError> {
    if !fs.exists(path)? {
        return Ok(InFile::Missing(bytes.len() as u64));
    }
    let file = fs.open(path, &OpenOptions::read())?;
    Ok(match compare(&*file, offset, bytes)? {
        Found::Intact(present) => InFile::Missing((bytes.len() - present) as u64),
        Found::Other(offset) => InFile::Differs(offset),
    })
}
