//! Cuts what a power cut left of the last write to RocksDB's manifest, before RocksDB reads it.
//!
//! RocksDB itself takes a manifest that ends early, but none whose last record has its length and not all of its bytes.
//!
//! What is cut was never synced: RocksDB syncs each write to the manifest before it relies on it, and files that only
//! an older one names are removed after that. A power cut keeps or loses whole sectors, so a record is torn where the
//! file ends within it or where its part of some sector reads zeros. Anything else is damage, and nothing is cut.
//!
//! Damage may look like a tear: of the last record's length, or of a record that has a sector of zeros, such as of a key
//! of zeros. RocksDB then misses files, or is behind what others know of it, which recovery reports.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::log_format::{BLOCK, Records, find_record};
use crate::open::io_error;
use cohort_engine::OpenError;

/// What a power cut keeps or loses as a whole, bytes.
const SECTOR: u64 = 512;

/// What a manifest has after its whole records.
struct Tear {
    path: PathBuf,
    at: u64,
    bytes: u64,
}

/// Cuts the manifest in `dir` at its tear, and says so; none does nothing.
pub(super) fn make_whole(dir: &Path) -> Result<(), OpenError> {
    let Some(Tear { path, at, bytes }) = find(dir)? else { return Ok(()) };
    log::warn!("{}: {bytes} bytes are cut off from offset {at} on, which a crash tore", path.display());
    let cut = |file: File| file.set_len(at).and_then(|()| file.sync_all());
    OpenOptions::new().write(true).open(path).and_then(cut).map_err(|e| io_error(dir, &e))
}

/// Says as an error that the manifest in `dir` is torn: for who must not change it.
pub(super) fn check(dir: &Path) -> Result<(), OpenError> {
    let Some(Tear { path, at, .. }) = find(dir)? else { return Ok(()) };
    Err(OpenError::Torn { dir: dir.to_path_buf(), detail: format!("{} at byte {at}", path.display()) })
}

fn find(dir: &Path) -> Result<Option<Tear>, OpenError> {
    let failed = |e| io_error(dir, &e);
    let Some((path, mut file)) = open(dir).map_err(failed)? else { return Ok(None) };
    let Records { end, broken } = Records::read(&mut file).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    if end == len {
        return Ok(None);
    }
    let block_end = (broken.start + 1).next_multiple_of(BLOCK as u64);
    let mut bytes = vec![0; (block_end.min(len) - broken.start) as usize];
    file.read_exact_at(&mut bytes, broken.start).map_err(failed)?;
    // It ends where the next one begins, whatever its length says.
    let next = find_record(&bytes);
    let claimed = (broken.end - broken.start) as usize;
    bytes.truncate(next.unwrap_or(bytes.len()).min(claimed));
    let ends_early = broken.end > len && broken.end <= block_end && next.is_none();
    if ends_early || has_lost_sector(&bytes, broken.start) {
        return Ok(Some(Tear { path, at: end, bytes: len - end }));
    }
    let detail = format!("{} at byte {}: a record is not as it was written", path.display(), broken.start);
    Err(OpenError::Damaged { dir: dir.to_path_buf(), detail })
}

/// The manifest that `CURRENT` names, if both are there. What else is wrong with them, RocksDB says.
fn open(dir: &Path) -> io::Result<Option<(PathBuf, File)>> {
    let Some(name) = if_there(fs::read_to_string(dir.join("CURRENT")))? else { return Ok(None) };
    let Some(name) = name.strip_suffix('\n').filter(|name| name.starts_with("MANIFEST-") && !name.contains('/')) else {
        return Ok(None);
    };
    let path = dir.join(name);
    Ok(if_there(File::open(&path))?.map(|file| (path, file)))
}

fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
        found => found.map(Some),
    }
}

/// Whether `bytes`, which begin at `offset`, are zeros in one of their sectors.
fn has_lost_sector(bytes: &[u8], offset: u64) -> bool {
    let first = (SECTOR - offset % SECTOR) as usize;
    let (first, rest) = bytes.split_at(first.min(bytes.len()));
    let mut parts = first.chunks(SECTOR as usize).chain(rest.chunks(SECTOR as usize));
    parts.any(|part| part.iter().all(|byte| *byte == 0))
}
