//! What counts as executed and is in no file: GTIDs that an operator has added (`gtid_purged`), and where the history
//! begins after one has had all of them forgotten (RESET MASTER).
//!
//! Both stand in the headers of files, whose PREVIOUS_GTIDS says that its set was changed. What was added is what that set
//! has and the files before it have not.

use super::BinlogFiles;
use crate::gtid::GtidSet;
use crate::reader::{FileHistory, ReadError, ReaderOptions};

/// What [`BinlogFiles::find_history`] found, and what was changed since.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Files before this one do not count any more.
    first_file: u64,
    /// GTIDs that were added within the files that count.
    added: GtidSet,
}

impl BinlogFiles {
    /// Reads the headers of all files for what an operator has changed, after recovery. Returns the file that the history
    /// begins with if there are others before it: they are left of a reset that was cut short.
    ///
    /// A header that cannot be read is found out by whoever follows the binlog through it, which is everybody who lacks
    /// what was added there.
    pub fn find_history(&self) -> Option<u64> {
        let numbers: Vec<u64> = self.list().into_iter().map(|file| file.number).collect();
        let mut history = History::default();
        for pair in numbers.windows(2).rev() {
            let Ok(header) = self.history_of(pair[1]) else { continue };
            if header.begins_anew() {
                history.first_file = pair[1];
                break;
            }
            if header.changed {
                let mut added = header.before;
                let before = self.reader(pair[0], ReaderOptions::default()).and_then(|reader| reader.executed_gtids());
                added.subtract(&before.unwrap_or_default());
                history.added.union(&added);
            }
        }
        let first = Some(history.first_file).filter(|first| *first > 0);
        *self.history.lock() = history;
        first
    }

    /// What the header of a file says of the transactions before it.
    pub fn history_of(&self, number: u64) -> Result<FileHistory, ReadError> {
        self.reader(number, ReaderOptions::default())?.history()
    }

    /// The history begins with this file: those before it are as good as purged.
    pub fn begin_history(&self, first_file: u64) {
        *self.history.lock() = History { first_file, added: GtidSet::new() };
    }

    /// These GTIDs are about to be added to those executed: nobody finds them in a file.
    pub fn note_added(&self, set: &GtidSet) {
        self.history.lock().added.union(set);
    }

    /// They were not added after all.
    pub fn forget_added(&self, set: &GtidSet) {
        self.history.lock().added.subtract(set);
    }

    /// GTIDs that were added within the files that count.
    pub(in super::super) fn added_gtids(&self) -> GtidSet {
        self.history.lock().added.clone()
    }

    /// Numbers of the files that count, in order.
    pub(in super::super) fn numbers(&self) -> Vec<u64> {
        let first = self.history.lock().first_file;
        let names = self.names.lock();
        names.files.iter().map(|file| file.number).filter(|number| *number >= first).collect()
    }

    /// Executed transactions that are in no file (`gtid_purged`).
    pub fn purged_gtids(&self) -> Result<GtidSet, ReadError> {
        let mut purged = match self.numbers().first() {
            Some(first) => self.previous_gtids(*first)?,
            None => GtidSet::new(),
        };
        purged.union(&self.history.lock().added);
        Ok(purged)
    }
}
