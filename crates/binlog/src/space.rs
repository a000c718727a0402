//! Disk space set aside for bytes that will be appended, in the current file and in the next one.
//!
//! Invariants
//! 1. The current file has room after its end for every byte promised and neither appended nor given back, whatever
//!    else fills the disk; so has the next file, once it is prepared, and each file of a large transaction that is about
//!    to become the current one.

use std::path::{Path, PathBuf};
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
    /// Files of large transactions that commit, by their ids.
    large: Vec<(u64, Room)>,
}

impl Space {
    pub(super) fn new(step: u64) -> Space {
        Space { step, promised: 0, current: None, next: None, large: Vec::new() }
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
        for (_, room) in &mut self.large {
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

    /// Has the prepared file be the one after `number`, which another file becomes. Returns the path from which it is to
    /// be moved to `path`.
    pub(super) fn put_next_off(&mut self, number: u64, path: &Path) -> Option<PathBuf> {
        let (next, _) = self.next.as_mut().filter(|(next, _)| next.number == number)?;
        next.number += 1;
        Some(std::mem::replace(&mut next.path, path.to_path_buf()))
    }

    /// Keeps the file of the large transaction `id`, which ends at `end`, with room for everything promised.
    pub(super) fn keep_large(&mut self, id: u64, file: &Arc<dyn File>, end: u64) -> Result<(), IoError> {
        let mut room = Room { file: Arc::clone(file), end, reserved_to: 0 };
        room.ensure(self.promised, self.step)?;
        self.large.push((id, room));
        Ok(())
    }

    /// Gives such a file away, with the offset up to which it has space.
    pub(super) fn take_large(&mut self, id: u64) -> Option<u64> {
        let at = self.large.iter().position(|(large, _)| *large == id)?;
        Some(self.large.swap_remove(at).1.reserved_to)
    }

    pub(super) fn has_next(&self, number: u64) -> bool {
        self.next.as_ref().is_some_and(|(next, _)| next.number == number)
    }

    /// Where the current file ends once everything promised, and `bytes` more, is in it.
    pub(super) fn end_with(&self, bytes: u64) -> u64 {
        let rooms = self.current.iter().chain(self.large.iter().map(|(_, room)| room));
        rooms.map(|room| room.end).max().unwrap_or(0) + self.promised + bytes + MARGIN_BYTES
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cohort_io::{Create, FileSystem, OpenOptions, SimDisk};

    use super::*;

    const STEP: u64 = 1 << 20;

    fn file(disk: &SimDisk, name: &str) -> Arc<dyn File> {
        disk.open(Path::new(name), &OpenOptions::buffered(Create::New)).expect("made")
    }

    fn next(disk: &SimDisk, number: u64) -> NextFile {
        let path = PathBuf::from(format!("/next.{number}"));
        NextFile { number, file: file(disk, path.to_str().expect("a name")), path }
    }

    #[test]
    fn space_is_asked_for_a_step_at_a_time_and_covers_every_promise() {
        let disk = SimDisk::new(1);
        let current = file(&disk, "/current");
        let mut space = Space::new(STEP);
        space.set_current(&current, 100, None);
        let mut allocated = 0;
        for promised in [0, 1, 1000, STEP - MARGIN_BYTES - 1001, 1, STEP, 5 * STEP] {
            space.promise(promised).expect("there is room");
            let needed = space.end_with(0);
            if needed > allocated {
                allocated = needed.max(allocated.max(100) + STEP);
            }
            assert_eq!(current.allocated_bytes().expect("known"), allocated);
        }
        assert_eq!((space.promised(), space.end_with(7)), (7 * STEP - MARGIN_BYTES + 1, 7 * STEP + 108));
    }

    #[test]
    fn a_disk_that_has_no_step_left_gives_what_is_needed_and_no_more_is_promised_than_fits() {
        let disk = SimDisk::new(1);
        let current = file(&disk, "/current");
        let mut space = Space::new(STEP);
        space.set_current(&current, 100, None);
        disk.set_capacity(100 + 500 + MARGIN_BYTES);
        assert!(space.promise(501).is_err_and(|error| error.is_no_space()));
        assert_eq!((space.promised(), current.allocated_bytes().expect("known")), (0, 0));
        space.promise(500).expect("just fits");
        assert_eq!(current.allocated_bytes().expect("known"), 600 + MARGIN_BYTES);
        assert!(space.promise(1).is_err());
        assert_eq!(space.promised(), 500);
        // What was used up or taken back makes room for another promise of as much.
        space.set_end(300);
        space.use_up(200);
        space.take_back(300);
        space.promise(300).expect("fits again");
        assert!(space.promise(1).is_err());
    }

    #[test]
    fn less_is_asked_for_only_where_the_disk_is_full_and_less_is_needed() {
        let disk = SimDisk::new(1);
        let current = file(&disk, "/current");
        current.set_len(3 * STEP).expect("grown");
        let mut space = Space::new(STEP);
        space.set_current(&current, 3 * STEP, None);
        disk.set_capacity(3 * STEP + 500 + MARGIN_BYTES);
        space.promise(500).expect("just fits");
        let operations = disk.operations();
        assert!(space.promise(STEP).is_err());
        assert_eq!(disk.operations(), operations + 1, "no less will do");
        disk.set_capacity(u64::MAX);
        disk.set_fault(disk.operations(), cohort_io::Fault::Error);
        assert!(space.promise(1).is_err_and(|error| !error.is_no_space()), "the disk is not full");
        assert_eq!(space.promised(), 500);
    }

    #[test]
    fn a_prepared_file_has_room_for_every_promise_from_then_on() {
        let disk = SimDisk::new(1);
        let mut space = Space::new(STEP);
        space.set_current(&file(&disk, "/current"), 0, None);
        space.promise(3 * STEP).expect("room");
        let prepared = next(&disk, 4);
        let its_file = Arc::clone(&prepared.file);
        space.keep_next(prepared).expect("room");
        assert_eq!(its_file.allocated_bytes().expect("known"), 3 * STEP + MARGIN_BYTES);
        space.promise(STEP).expect("room");
        assert_eq!(its_file.allocated_bytes().expect("known"), 4 * STEP + MARGIN_BYTES);
        assert!(space.has_next(4) && !space.has_next(3) && !space.has_next(5));
        let (taken, reserved_to) = space.take_next(4).expect("prepared");
        assert_eq!((taken.number, reserved_to), (4, 4 * STEP + MARGIN_BYTES));
        assert!(!space.has_next(4) && space.take_next(4).is_none());
        // Its space is asked for no second time.
        let operations = disk.operations();
        space.set_current(&taken.file, 90, Some(reserved_to));
        space.use_up(90);
        space.promise(0).expect("room");
        assert_eq!(disk.operations(), operations);
        space.keep_next(next(&disk, 5)).expect("room");
        assert!(space.take_next(4).is_none(), "another file than the prepared one");
    }

    #[test]
    fn a_file_that_cannot_have_its_room_is_not_kept() {
        let disk = SimDisk::new(1);
        let mut space = Space::new(STEP);
        let current = file(&disk, "/current");
        space.set_current(&current, 0, None);
        space.promise(10).expect("room");
        disk.set_capacity(STEP + MARGIN_BYTES + 9);
        let prepared = next(&disk, 2);
        assert!(space.keep_next(prepared).is_err());
        assert!(!space.has_next(2));
        disk.set_capacity(STEP + MARGIN_BYTES + 10);
        space.keep_next(next(&disk, 3)).expect("just fits");
        assert!(space.has_next(3));
        // A promise that the next file has no room for is not made.
        assert!(space.promise(1).is_err());
        assert_eq!(space.promised(), 10);
    }

    #[test]
    #[should_panic(expected = "only promised space is given back")]
    fn more_than_was_promised_is_not_taken_back() {
        let mut space = Space::new(STEP);
        space.promise(10).expect("no file yet");
        space.use_up(4);
        space.take_back(7);
    }
}
