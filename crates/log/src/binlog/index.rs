//! The index: a text file that lists the binlog's files, one a line, oldest first.
//!
//! A rotation appends a line and does not sync it; a crash may therefore leave the last lines missing, cut
//! off or as zeros, which is no damage: recovery begins those files again from the journal. A purge
//! replaces the whole index.

use std::path::PathBuf;
use std::sync::Arc;

use cohort_io::{Create, File, FileSystem, IoError, OpenOptions, SyncCounters, read_whole, replace_whole};

use super::files::BinlogError;

/// An index is refused when it is longer: a million files.
const INDEX_BYTES_MAX: u64 = 64 << 20;

/// The names of the binlog's files, and where they are listed.
pub(super) struct Index {
    path: PathBuf,
    base_name: String,
    file: Arc<dyn File>,
    bytes: u64,
}

impl Index {
    /// Opens or makes the index and reads the numbers of the files it lists.
    pub(super) fn open(
        fs: &dyn FileSystem,
        path: PathBuf,
        base_name: &str,
        counters: &Arc<SyncCounters>,
    ) -> Result<(Index, Vec<u64>), BinlogError> {
        let file = fs.open(&path, &OpenOptions::buffered(Create::IfMissing).counted(counters))?;
        let text = read_whole(fs, &path, INDEX_BYTES_MAX)?;
        let mut index = Index { path, base_name: base_name.to_owned(), file, bytes: 0 };
        let mut numbers = Vec::new();
        while let Some(number) = index.line(&text[index.bytes as usize..], numbers.last().copied())? {
            numbers.push(number.0);
            index.bytes += number.1;
        }
        if index.bytes < text.len() as u64 {
            index.file.set_len(index.bytes)?;
        }
        Ok((index, numbers))
    }

    /// The number on the first line of `rest` and the line's length; `None` at the end or where the rest
    /// is what a crash leaves of lines that were not synced.
    fn line(&self, rest: &[u8], previous: Option<u64>) -> Result<Option<(u64, u64)>, BinlogError> {
        let Some(len) = rest.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let line = &rest[..len];
        if line.contains(&0) {
            return Ok(None);
        }
        let name = std::str::from_utf8(line).ok().map(|line| line.rsplit('/').next().unwrap_or(line).trim_end());
        let number = name.and_then(|name| file_number(&self.base_name, name));
        match number {
            Some(number) if previous.is_none_or(|previous| previous < number) => Ok(Some((number, len as u64 + 1))),
            _ => Err(BinlogError::Damaged {
                path: self.path.clone(),
                offset: self.bytes,
                what: format!(
                    "'{}' is not the name of the next binlog file; correct the index by hand",
                    String::from_utf8_lossy(line)
                ),
            }),
        }
    }

    /// Adds a line; not synced.
    pub(super) fn append(&mut self, number: u64) -> Result<(), IoError> {
        let line = format!("./{}\n", file_name(&self.base_name, number));
        self.file.write_at(self.bytes, line.as_bytes())?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Sets space aside so that [`Index::append`] cannot fail for lack of it.
    pub(super) fn reserve(&self, bytes: u64) -> Result<(), IoError> {
        self.file.reserve(self.bytes, bytes)
    }

    /// Replaces the whole index by these files, durably.
    pub(super) fn replace(
        &mut self,
        fs: &dyn FileSystem,
        numbers: impl Iterator<Item = u64>,
        counters: &Arc<SyncCounters>,
    ) -> Result<(), IoError> {
        let text: String = numbers.map(|number| format!("./{}\n", file_name(&self.base_name, number))).collect();
        replace_whole(fs, &self.path, text.as_bytes(), Some(counters))?;
        self.file = fs.open(&self.path, &OpenOptions::buffered(Create::Never).counted(counters))?;
        self.bytes = text.len() as u64;
        Ok(())
    }

    /// The open file, to be synced.
    pub(super) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }
}

/// `binlog.000007` for 7.
pub(super) fn file_name(base_name: &str, number: u64) -> String {
    format!("{base_name}.{number:06}")
}

/// 7 for `binlog.000007`.
pub(super) fn file_number(base_name: &str, name: &str) -> Option<u64> {
    let digits = name.strip_prefix(base_name)?.strip_prefix('.')?;
    let number = digits.parse().ok().filter(|number| *number > 0)?;
    (file_name(base_name, number) == name).then_some(number)
}
