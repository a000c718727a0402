//! The index: a text file that lists the binlog's files, one a line, oldest first.
//!
//! A rotation appends a line and does not sync it; a crash may therefore leave the last lines missing, cut
//! off or as zeros, which is no damage: recovery begins those files again from the journal. A purge
//! replaces the whole index.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cohort_io::{Create, File, FileSystem, IoError, OpenOptions, Replacement, SyncCounters, read_whole, renew_name};

use super::files::BinlogError;

/// An index is refused when it is longer: a million files.
const INDEX_BYTES_MAX: u64 = 64 << 20;

/// Why the index could not be replaced.
pub(super) struct Replace {
    pub(super) error: IoError,
    /// The old lines or the new ones are in place; else the old ones.
    pub(super) in_doubt: bool,
}

impl From<Replace> for BinlogError {
    fn from(replace: Replace) -> BinlogError {
        replace.error.into()
    }
}

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
        let text = read(fs, &path)?;
        let (numbers, bytes) = parse(&path, base_name, &text)?;
        if bytes < text.len() as u64 {
            file.set_len(bytes)?;
        }
        Ok((Index { path, base_name: base_name.to_owned(), file, bytes }, numbers))
    }

    /// Adds a line; not synced.
    pub(super) fn append(&mut self, number: u64) -> Result<(), IoError> {
        let line = format!("./{}\n", file_name(&self.base_name, number));
        self.file.write_at(self.bytes, line.as_bytes())?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Writes the lines again that are there, and has its name made anew; not synced. Both may have been read from the
    /// system's cache, and be lost on the disk.
    pub(super) fn make_again(&self, fs: &dyn FileSystem) -> Result<(), IoError> {
        renew_name(fs, &self.path)?;
        let mut text = vec![0; usize::try_from(self.bytes).expect("an index in memory")];
        let got = self.file.read_at(0, &mut text)?;
        self.file.write_at(0, &text[..got])
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
    ) -> Result<(), Replace> {
        let text: String = numbers.map(|number| format!("./{}\n", file_name(&self.base_name, number))).collect();
        let fresh = Replacement::write(fs, &self.path, text.as_bytes(), Some(counters));
        let fresh = fresh.map_err(|error| Replace { error, in_doubt: false })?;
        let file = fresh.file();
        fresh.put_in_place().map_err(|error| Replace { error, in_doubt: true })?;
        self.file = file;
        self.bytes = text.len() as u64;
        Ok(())
    }

    /// The open file, to be synced.
    pub(super) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }
}

/// The numbers of the files that an index lists, and the bytes they were read from; what is after those is
/// what a crash leaves of lines that were not synced.
pub(super) fn parse(path: &Path, base_name: &str, text: &[u8]) -> Result<(Vec<u64>, u64), BinlogError> {
    let mut numbers: Vec<u64> = Vec::new();
    let mut at = 0;
    while let Some(len) = text[at..].iter().position(|byte| *byte == b'\n') {
        let line = &text[at..at + len];
        if line.contains(&0) {
            break;
        }
        // Nothing is forgiven: a file that drops out of the index unseen would be removed as purged.
        let name = std::str::from_utf8(line).ok().map(|line| line.strip_prefix("./").unwrap_or(line));
        let number = name.and_then(|name| file_number(base_name, name));
        match number.filter(|number| numbers.last().is_none_or(|last| last + 1 == *number)) {
            Some(number) => numbers.push(number),
            None => {
                let line = String::from_utf8_lossy(line);
                let what = format!("'{line}' is not the name of the next binlog file; correct the index by hand");
                return Err(BinlogError::Damaged { path: path.to_path_buf(), offset: at as u64, what });
            }
        }
        at += len + 1;
    }
    Ok((numbers, at as u64))
}

/// Every byte of an index.
pub(super) fn read(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>, IoError> {
    read_whole(fs, path, INDEX_BYTES_MAX)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flip_in_the_index_passes_for_another_list() {
        let text = b"./binlog.000009\n./binlog.000010\n./binlog.000011\n";
        let list = |text: &[u8]| parse(Path::new("binlog.index"), "binlog", text);
        assert_eq!(list(text).expect("an index"), (vec![9, 10, 11], text.len() as u64));
        for at in 0..text.len() {
            for mask in 1..=u8::MAX {
                let mut flipped = *text;
                flipped[at] ^= mask;
                // Lines may be missing at the end only, as after a crash.
                if let Ok((numbers, bytes)) = list(&flipped) {
                    assert!([9, 10, 11].starts_with(&numbers), "byte {at}, mask {mask:#x}: {numbers:?}");
                    assert!(bytes < text.len() as u64, "byte {at}, mask {mask:#x}");
                }
            }
        }
    }
}
