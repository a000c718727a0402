//! Makes what a crash left of RocksDB's own log whole and durable, before RocksDB reads it.
//!
//! A power cut tears a write anywhere between two sectors, and unsynced files of the log in any order. RocksDB reads up
//! to the tear if asked to, but with transactions that prepare it reads the same files again at later opens, finds
//! the tear before what was written since, and drops that or refuses to open. A file that ends after its last whole record
//! is whole for good.
//!
//! Everything after the first tear goes: a sync of the log covers the files before, so none of it was durable, and after
//! a write that failed RocksDB takes no more. What stays is written again, and named again: after a sync that failed,
//! of a file or of their directory, it may be in the system's cache alone, and RocksDB would rely on it. Files are cut from
//! the last to the first, so that a crash in between leaves the tear in front of what is still to go.
//!
//! Format: `log_format.rs`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cohort_io::{RealFs, renew_name, restore_names};

use crate::log_format::{BLOCK, Records};

/// Cuts the log in `dir` at its first tear, and makes the rest durable. Returns how many bytes were cut, and says where
/// before it cuts them: the caller may not come to report it, and the next one finds no tear.
pub(super) fn make_whole(dir: &Path) -> io::Result<u64> {
    restore_names(&RealFs, dir, |name| number_of(Path::new(name)).is_some()).map_err(|error| error.source)?;
    let (mut tear, mut bytes_cut) = (None, 0);
    let mut found = Vec::new();
    for path in files(dir)? {
        let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
        let (len, end) = (file.metadata()?.len(), if tear.is_some() { 0 } else { Records::read(&mut file)?.end });
        if end < len {
            tear.get_or_insert((path.clone(), end));
        }
        bytes_cut += len - end;
        found.push((path, file, end));
    }
    if let Some((path, end)) = tear {
        let path = path.display();
        log::warn!("{path}: {bytes_cut} bytes are cut off the log from offset {end} on, where no whole record begins");
    }
    for (path, file, end) in found.iter().rev() {
        file.set_len(*end)?;
        write_again(file, *end)?;
        file.sync_all()?;
        renew_name(&RealFs, path).map_err(|error| error.source)?;
    }
    File::open(dir)?.sync_all()?;
    Ok(bytes_cut)
}

fn write_again(file: &File, end: u64) -> io::Result<()> {
    let mut block = [0; BLOCK];
    for at in (0..end).step_by(BLOCK) {
        let block = &mut block[..(end - at).min(BLOCK as u64) as usize];
        file.read_exact_at(block, at)?;
        file.write_all_at(block, at)?;
    }
    Ok(())
}

/// In the order in which they were written.
pub(super) fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if let Some(number) = number_of(&path) {
            files.push((number, path));
        }
    }
    files.sort_unstable();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_stem().filter(|_| path.extension().is_some_and(|name| name == "log"))?.to_str()?.parse().ok()
}
