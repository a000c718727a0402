//! How a transaction goes to files while it runs, and what of it a commit finds there.

use std::sync::atomic::Ordering;

use cohort_binlog::{BinlogFiles, EventsFile, TransactionEvents};
use cohort_io::IoError;

use super::Transaction;
use crate::large::{LargeParts, LargeWrites};
use crate::outcome::CommitError;

/// Room in front of the events, bytes: a multiple of it, twice what a header may take when the file is made.
const HEAD_STEP: u64 = 4096;

/// Of events, and of changes, no more is kept in memory, whatever the settings say: one record of a log takes both.
const IN_MEMORY_BYTES_MAX: u64 = 256 << 20;

/// So that files of events can be made where an [`IoError`] is expected.
struct Refused(CommitError);

impl From<IoError> for Refused {
    fn from(error: IoError) -> Refused {
        Refused(CommitError::of_file(&error))
    }
}

impl Transaction {
    /// Writes events and changes to files that have become more than memory is to hold; to be called after each row.
    /// After an error the statement is to be rolled back.
    pub fn spill(&mut self) -> Result<(), CommitError> {
        let spill = &self.shared.settings.spill;
        let [events_max, writes_max] = [&spill.events_bytes, &spill.writes_bytes]
            .map(|bytes| bytes.load(Ordering::Relaxed).min(IN_MEMORY_BYTES_MAX));
        let events = self.logged && self.events.unspilled_bytes() > events_max;
        let writes = self.writes.unspilled_bytes() > writes_max;
        if !(events || writes) || !self.may_spill() {
            return Ok(());
        }
        if events {
            self.spill_events()?;
        }
        if writes {
            self.spill_writes()?;
        }
        Ok(())
    }

    /// Whether the transaction may go to files: under the journal, and not those of XA, whose changes are an entry of an
    /// engine while they are prepared.
    pub(super) fn may_spill(&self) -> bool {
        let never = self.shared.settings.spill.writes_bytes.load(Ordering::Relaxed) == u64::MAX;
        self.shared.large.is_some() && self.events.may_spill() && !never
    }

    /// Whether it has files, and is to be committed with them.
    pub(crate) fn is_large(&self) -> bool {
        self.writes.large().is_some() || self.logged && self.events.is_spilled() && !self.events.is_empty()
    }

    /// [`CommitError::TooLarge`] where the events do not fit into one binlog file.
    pub(super) fn check_events_file(&self, events: u64) -> Result<(), CommitError> {
        let (bytes, max) = (events + self.head_bytes(), BinlogFiles::LARGE_BYTES_MAX);
        if events > 0 && bytes > max { Err(CommitError::TooLarge { bytes, max }) } else { Ok(()) }
    }

    /// Room for a file's header and the GTID event.
    fn head_bytes(&self) -> u64 {
        (2 * self.shared.rotation_room()).next_multiple_of(HEAD_STEP)
    }

    fn large_id(&mut self) -> u64 {
        let store = self.shared.large.as_ref().expect("only where there are files");
        *self.large.get_or_insert_with(|| store.new_id())
    }

    fn spill_events(&mut self) -> Result<(), CommitError> {
        let (id, head_bytes) = (self.large_id(), self.head_bytes());
        let binlog = &self.shared.binlog;
        let open = || -> Result<EventsFile, Refused> { Ok(binlog.new_events_file(id, head_bytes)?) };
        self.events.spill(open).map_err(|Refused(error)| error)
    }

    fn spill_writes(&mut self) -> Result<(), CommitError> {
        let id = self.large_id();
        let store = self.shared.large.as_ref().expect("only where there are files");
        self.writes.spill(|first| LargeWrites::new(store.clone(), id, first))
    }

    /// Has all that a large transaction commits in files, on stable storage, but for the events of one that has a GTID and
    /// changes nothing that is logged. After an error it is to be rolled back.
    pub(crate) fn take_large(&mut self) -> Result<(LargeParts, Option<TransactionEvents>), CommitError> {
        let (id, head_bytes) = (self.large_id(), self.head_bytes());
        self.spill_writes()?;
        let binlog = self.shared.binlog.clone();
        let (events, nothing) = match self.logged && !self.events.is_empty() {
            true => {
                let open = || -> Result<EventsFile, Refused> { Ok(binlog.new_events_file(id, head_bytes)?) };
                (Some(self.events.finish_spilled(open).map_err(|Refused(error)| error)?), None)
            }
            false => (None, self.take_events()),
        };
        let mut writes = self.writes.take_large();
        let redo = match &mut writes {
            Some(writes) => writes.finish()?,
            None => Vec::new(),
        };
        binlog.sync_large_files().map_err(|error| CommitError::Spill(error.to_string()))?;
        Ok((LargeParts { id, events, redo, writes }, nothing))
    }
}
