//! The `checkpoint` file: where recovery begins, and what may follow there.
//!
//! Replaced as a whole, atomically. Format: `docs/journal-format.md`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cohort_io::{FileSystem, IoError, SyncCounters, read_whole, replace_whole};

use super::{FORMAT_VERSION, Lsn, OpenError};

const NAME: &str = "checkpoint";
const MAGIC: [u8; 8] = *b"COHJCKP\0";
const NOTE_AT: usize = 64;
/// The longest note, bytes.
pub(super) const NOTE_BYTES_MAX: usize = 16 << 20;
const CLEAN: u32 = 1;
const FLUSHED: u32 = 2;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) journal_id: u64,
    /// Grows by one each time the journal is opened.
    pub(super) epoch: u64,
    /// Where this epoch began. What lies before was recovered then, and must be there; a record after
    /// it belongs to this epoch, or is a ghost.
    pub(super) epoch_start: Lsn,
    /// Where recovery begins.
    pub(super) start: Lsn,
    /// Everything before it was on stable storage when the file was written.
    pub(super) durable: Lsn,
    /// The journal was closed and ends at `durable`.
    pub(super) clean: bool,
    /// Records of this epoch may have been flushed only.
    pub(super) flushed: bool,
    /// The coordinator's own.
    pub(super) note: Vec<u8>,
}

/// Its place in the journal's directory.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

impl Control {
    pub(super) fn write(&self, fs: &dyn FileSystem, dir: &Path, counters: &Arc<SyncCounters>) -> Result<(), IoError> {
        replace_whole(fs, &path(dir), &self.encode(), Some(counters))
    }

    pub(super) fn read(fs: &dyn FileSystem, dir: &Path) -> Result<Control, OpenError> {
        let path = path(dir);
        let bytes = read_whole(fs, &path, (NOTE_AT + NOTE_BYTES_MAX + 4) as u64)?;
        Control::decode(&bytes, &path)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(NOTE_AT + self.note.len() + 4);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        let flags = if self.clean { CLEAN } else { 0 } | if self.flushed { FLUSHED } else { 0 };
        bytes.extend_from_slice(&flags.to_le_bytes());
        let numbers = [self.journal_id, self.epoch, self.epoch_start.0, self.start.0, self.durable.0];
        for number in numbers.into_iter().chain([self.note.len() as u64]) {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.note);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8], path: &Path) -> Result<Control, OpenError> {
        let damaged = |offset: usize, what: &str| OpenError::Damaged {
            path: path.to_path_buf(),
            offset: offset as u64,
            lsn: None,
            what: what.to_owned(),
        };
        let Some((head, _)) = bytes.split_first_chunk::<NOTE_AT>() else {
            return Err(damaged(0, "it is cut short"));
        };
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if head[..8] != MAGIC {
            return Err(damaged(0, "it is not a journal's checkpoint"));
        }
        if u32_at(8) > FORMAT_VERSION {
            let (found, supported) = (u32_at(8), FORMAT_VERSION);
            return Err(OpenError::Newer { path: path.to_path_buf(), found, supported });
        }
        let (body, checksum) = bytes.split_at(bytes.len() - 4);
        if crc32c::crc32c(body).to_le_bytes() != checksum {
            return Err(damaged(0, "its checksum is wrong"));
        }
        let note = body.get(NOTE_AT..).unwrap_or_default();
        if u64_at(56) != note.len() as u64 {
            return Err(damaged(56, "its length is wrong"));
        }
        let control = Control {
            journal_id: u64_at(16),
            epoch: u64_at(24),
            epoch_start: Lsn(u64_at(32)),
            start: Lsn(u64_at(40)),
            durable: Lsn(u64_at(48)),
            clean: u32_at(12) & CLEAN != 0,
            flushed: u32_at(12) & FLUSHED != 0,
            note: note.to_vec(),
        };
        let places = [control.epoch_start, control.start, control.durable];
        if places.iter().any(|lsn| !lsn.is_aligned()) {
            return Err(damaged(32, "it names a place between two blocks"));
        }
        Ok(control)
    }
}
