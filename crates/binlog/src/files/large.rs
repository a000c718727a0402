//! Files that events of large transactions go to while these run, and how one becomes a binlog file.
//!
//! Such a file has the name of no binlog file, in the same directory, until its transaction is in the log; a rename makes
//! it the next one then. Its bytes are on stable storage before, and its name is; the rename need not be.
//!
//! | crash | leaves | repaired by |
//! | --- | --- | --- |
//! | while the transaction runs, or before its record is in the log | a file that nobody knows | [`BinlogFiles::remove_large_files`] |
//! | after the record, before the rename is durable | the file under its first name | [`BinlogFiles::replay_large`] |
//! | after that | a binlog file whose header or last event may be missing | the same: both are in the log |

use std::path::PathBuf;
use std::sync::Arc;

use cohort_io::{Create, File, IoError, OpenOptions};

use super::super::events_file::EventsFile;
use super::super::position::BinlogPosition;
use super::super::transaction::LargeEvents;
use super::{BinlogError, BinlogFiles, FILE_BYTES_MAX};

/// What the names of such files have after the base name.
const MARK: &str = ".large-";
/// What the name of a file with events ends with.
pub(in super::super) const LARGE_EVENTS: &str = "events";
/// A binlog file has room after the longest transaction for what others were promised.
const BYTES_LEFT_MIN: u64 = 64 << 20;

/// The name of a file of the large transaction `id`.
pub(in super::super) fn large_name(base_name: &str, id: u64, what: &str) -> String {
    format!("{base_name}{MARK}{id}.{what}")
}

pub(in super::super) fn is_large_name(base_name: &str, name: &str) -> bool {
    name.strip_prefix(base_name).is_some_and(|rest| rest.starts_with(MARK))
}

impl BinlogFiles {
    /// The most bytes of events, with the room in front of them, that a file takes.
    pub const LARGE_BYTES_MAX: u64 = FILE_BYTES_MAX - BYTES_LEFT_MIN;

    /// Makes a file for the events of the large transaction `id`, with `head_bytes` in front of them.
    pub fn new_events_file(&self, id: u64, head_bytes: u64) -> Result<EventsFile, IoError> {
        let (file, path) = self.make_large_file(id, LARGE_EVENTS)?;
        Ok(EventsFile::new(Arc::clone(&self.fs), file, path, id, head_bytes))
    }

    /// Sets space aside for what comes into the file after the events: the transaction is about to be given its place.
    /// [`BinlogFiles::refuse_large`] takes that back.
    pub fn admit_large(&self, events: &LargeEvents) -> Result<(), BinlogError> {
        let mut space = self.space.lock();
        if events.end() > BinlogFiles::LARGE_BYTES_MAX {
            return Err(BinlogError::FileFull);
        }
        let file = events.file().file();
        // The room in front of the events is a hole as yet.
        file.reserve(0, events.begin())?;
        Ok(space.keep_large(events.file().id(), file, events.end())?)
    }

    /// The transaction will not get into the binlog.
    pub fn refuse_large(&self, events: &LargeEvents) {
        self.space.lock().take_large(events.file().id());
    }

    /// Makes the file of a large transaction the one after the current one. `head` fills the room in front of its events;
    /// as for [`BinlogFiles::append`] otherwise.
    pub fn append_large(&self, number: u64, head: &[u8], events: &LargeEvents) -> Result<(), BinlogError> {
        assert_eq!(head.len() as u64, events.begin(), "the head fills its room");
        let mut writer = self.writer.lock();
        if writer.sealed {
            return Err(BinlogError::Sealed);
        }
        let written = self.begin_file(&mut writer, number, head, Some(events));
        writer.sealed |= written.is_err();
        self.space.lock().use_up(head.len() as u64);
        written
    }

    /// [`BinlogFiles::replay`] of the head of a large transaction's file and what follows up to `end`: that is there,
    /// under one name or the other.
    pub fn replay_large(&self, id: u64, number: u64, head: &[u8], end: u64) -> Result<(), BinlogError> {
        let (first, path) = (self.events_path(id), self.path(number));
        if self.fs.exists(&first)? {
            self.fs.rename(&first, &path)?;
            self.writer.lock().names_dirty = true;
        }
        let length = self.length_on_disk(number)?;
        if length < end {
            let what = format!("the file ends here, and has the events of a large transaction up to {end}");
            return Err(self.damaged(number, length, what));
        }
        self.replay(BinlogPosition { file_number: number, offset: 0 }, head)?;
        let mut writer = self.writer.lock();
        let current = writer.current.as_mut().expect("the file was just gone to");
        current.end = end;
        Ok(())
    }

    /// Removes the files of large transactions that are in no log. Nothing may be replayed afterwards.
    /// Returns their names.
    pub fn remove_large_files(&self) -> Result<Vec<String>, BinlogError> {
        let mut names = self.fs.list(&self.options.directory)?;
        names.retain(|name| is_large_name(&self.options.base_name, name));
        names.iter().try_for_each(|name| self.fs.remove(&self.options.directory.join(name)))?;
        Ok(names)
    }

    /// Makes another file of a large transaction, empty, beside that of its events.
    pub fn make_large_file(&self, id: u64, what: &str) -> Result<(Arc<dyn File>, PathBuf), IoError> {
        let path = self.large_path(id, what);
        let file = self.fs.open(&path, &OpenOptions::buffered(Create::IfMissing))?;
        file.set_len(0)?;
        Ok((file, path))
    }

    /// Opens such a file for reading.
    pub fn open_large_file(&self, id: u64, what: &str) -> Result<(Arc<dyn File>, PathBuf), IoError> {
        let path = self.large_path(id, what);
        Ok((self.fs.open(&path, &OpenOptions::read())?, path))
    }

    pub fn remove_large_file(&self, id: u64, what: &str) -> Result<(), IoError> {
        self.fs.remove(&self.large_path(id, what))
    }

    /// Has the names of such files durable. After an error the binlog is sealed: other names of the directory may be lost
    /// as well, and no later sync would say so.
    pub fn sync_large_files(&self) -> Result<(), BinlogError> {
        let synced = self.sync_directory();
        self.writer.lock().sealed |= synced.is_err();
        synced
    }

    /// Where the events of a large transaction are before it is in the log.
    fn events_path(&self, id: u64) -> PathBuf {
        self.large_path(id, LARGE_EVENTS)
    }

    fn large_path(&self, id: u64, what: &str) -> PathBuf {
        self.options.directory.join(large_name(&self.options.base_name, id, what))
    }
}
