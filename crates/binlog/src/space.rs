//! Disk space set aside for bytes that will be appended, in the current file and in the next one.
//!
//! Invariants
//! 1. The current file has room after its end for every byte promised and neither appended nor given back, whatever
//!    else fills the disk; so has the next file, once it is prepared.

use std::path::PathBuf;
use std::sync::Arc;

use cohort_io::{File, IoError};

/// Room beyond what was promised: a rotate event, a file's header, a line of the index.
const MARGIN_BYTES: u64 = 64 << 10;

/// A file that is written to, as far as its space goes.
struct Room {
    file: Arc<dyn File>,
    end: u64,
    reserved_to: u64,
}

impl Room {
    /// Makes sure that `bytes` more fit. Asks for `step` at a time, and for no more than needed when the
    /// disk does not give that.
    fn ensure(&mut self, bytes: u64, step: u64) -> Result<(), IoError> {
        let needed = self.end + bytes + MARGIN_BYTES;
        if needed <= self.reserved_to {
            return Ok(());
        }
        let from = self.reserved_to.max(self.end);
        let wanted = (needed - from).max(step);
        match self.file.reserve(from, wanted) {
            Ok(()) => self.reserved_to = from + wanted,
            Err(error) if error.is_no_space() && wanted > needed - from => {
                self.file.reserve(from, needed - from)?;
                self.reserved_to = needed;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The next file, made under another name until a rotation needs it.
pub(super) struct NextFile {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn File>,
}

pub(super) struct Space {
    step: u64,
    promised: u64,
    current: Option<Room>,
    next: Option<(NextFile, Room)>,
}

impl Space {
    pub(super) fn new(step: u64) -> Space {
        Space { step, promised: 0, current: None, next: None }
    }

    /// Promises `bytes` more. After an error nothing more is promised than before.
    pub(super) fn promise(&mut self, bytes: u64) -> Result<(), IoError> {
        let promised = self.promised + bytes;
        if let Some(room) = &mut self.current {
            room.ensure(promised, self.step)?;
        }
        if let Some((_, room)) = &mut self.next {
            room.ensure(promised, self.step)?;
        }
        self.promised = promised;
        Ok(())
    }

    /// Takes back a promise that will not be used.
    ///
    /// # Panics
    /// When more is taken back than was promised.
    pub(super) fn take_back(&mut self, bytes: u64) {
        self.promised = self.promised.checked_sub(bytes).expect("only promised space is given back");
    }

    /// So many bytes were appended. Those that nobody had promised used no promise up.
    pub(super) fn use_up(&mut self, bytes: u64) {
        self.promised = self.promised.saturating_sub(bytes);
    }

    /// What is promised and neither used nor given back.
    #[cfg(test)]
    pub(super) fn promised(&self) -> u64 {
        self.promised
    }

    /// The current file grew to `end`.
    pub(super) fn set_end(&mut self, end: u64) {
        if let Some(room) = &mut self.current {
            room.end = end;
        }
    }

    /// Goes on in another file, whose space is the prepared one's if it is that.
    pub(super) fn set_current(&mut self, file: &Arc<dyn File>, end: u64, prepared: Option<u64>) {
        let reserved_to = prepared.unwrap_or(end);
        self.current = Some(Room { file: Arc::clone(file), end, reserved_to });
    }

    /// Keeps a prepared file, with room for everything promised.
    pub(super) fn keep_next(&mut self, next: NextFile) -> Result<(), IoError> {
        let mut room = Room { file: Arc::clone(&next.file), end: 0, reserved_to: 0 };
        room.ensure(self.promised, self.step)?;
        self.next = Some((next, room));
        Ok(())
    }

    /// Gives away the prepared file, with the offset up to which it has space.
    pub(super) fn take_next(&mut self, number: u64) -> Option<(NextFile, u64)> {
        let (next, room) = self.next.take()?;
        (next.number == number).then_some((next, room.reserved_to))
    }

    pub(super) fn has_next(&self, number: u64) -> bool {
        self.next.as_ref().is_some_and(|(next, _)| next.number == number)
    }

    /// Where the current file ends once everything promised, and `bytes` more, is in it.
    pub(super) fn end_with(&self, bytes: u64) -> u64 {
        self.current.as_ref().map_or(0, |room| room.end) + self.promised + bytes + MARGIN_BYTES
    }
}
