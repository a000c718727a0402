//! How far the journal is written, and how far on stable storage, when some writes sync and others only
//! flush.
//!
//! Invariants
//! 1. The durable mark never passes a record that was only flushed and not synced since.
//! 2. When a synced write returns, every older record that was or will be flushed is synced: those
//!    written are synced first, those in flight are waited for, those that come later find the synced
//!    one before them and are synced themselves.

use std::sync::atomic::{AtomicU64, Ordering};

use cohort_io::IoError;
use cohort_io::sync::{Condvar, Mutex};

use super::{Durability, Inner, JournalError, Lsn};

/// A part of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: Lsn,
    pub(super) to: Lsn,
}

/// The marks, and the writes in flight.
#[derive(Default)]
pub(super) struct Progress {
    modes: Mutex<Modes>,
    flush_ended: Condvar,
    /// Held for the length of a sync.
    sync_gate: Mutex<()>,
    durable: AtomicU64,
    checkpoint: AtomicU64,
}

#[derive(Default)]
struct Modes {
    completed: Lsn,
    /// Begin of every flushed write in flight.
    flushing: Vec<Lsn>,
    /// Highest begin of a synced write, in flight or done.
    newest_synced: Option<Lsn>,
    /// Flushed and not synced.
    unsynced: Option<Range>,
    /// The same, while a sync of it runs.
    syncing: Option<Range>,
    abandoned: bool,
}

impl Modes {
    fn add_unsynced(&mut self, range: Range) {
        self.unsynced = Some(match self.unsynced {
            None => range,
            Some(known) => Range { from: known.from.min(range.from), to: known.to.max(range.to) },
        });
    }

    /// Up to where everything completed is durable.
    fn durable(&self) -> Lsn {
        let ranges = [self.unsynced, self.syncing];
        let holes = ranges.iter().flatten().map(|range| range.from);
        holes.fold(self.completed, Lsn::min)
    }
}

/// A write's permission, with the mode it must use.
pub(super) struct Turn<'a> {
    progress: &'a Progress,
    range: Range,
    durability: Durability,
    sync_first: Option<Range>,
    done: bool,
}

impl Turn<'_> {
    /// How the record must be written: at least as durably as it was asked for.
    pub(super) fn durability(&self) -> Durability {
        self.durability
    }

    /// What must be synced before the write.
    pub(super) fn sync_first(&self) -> Option<Range> {
        self.sync_first
    }

    /// The write succeeded, and the sync before it.
    pub(super) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.durability == Durability::Sync && self.sync_first.is_none() {
            return;
        }
        let mut modes = self.progress.modes.lock();
        match self.durability {
            Durability::Flush => {
                modes.flushing.retain(|from| *from != self.range.from);
                modes.add_unsynced(self.range);
                self.progress.flush_ended.notify_all();
            }
            Durability::Sync if self.done => {
                let synced = self.sync_first.expect("checked above");
                if modes.unsynced == Some(synced) {
                    modes.unsynced = None;
                }
            }
            // The journal is sealed; the marks stay where they are.
            Durability::Sync => {}
        }
    }
}

impl Progress {
    /// Everything before `lsn` is there and synced: what a scan found.
    pub(super) fn start_at(&self, lsn: Lsn, checkpoint: Lsn) {
        self.modes.lock().completed = lsn;
        self.durable.store(lsn.0, Ordering::Release);
        self.note_checkpoint(checkpoint);
    }

    pub(super) fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
    }

    pub(super) fn checkpoint(&self) -> Lsn {
        Lsn(self.checkpoint.load(Ordering::Acquire))
    }

    pub(super) fn note_checkpoint(&self, start: Lsn) {
        self.checkpoint.store(start.0, Ordering::Release);
    }

    pub(super) fn completed(&self) -> Lsn {
        self.modes.lock().completed
    }

    /// Everything before `end` is written.
    pub(super) fn complete(&self, end: Lsn) {
        let mut modes = self.modes.lock();
        modes.completed = modes.completed.max(end);
        self.advance(&modes);
    }

    fn advance(&self, modes: &Modes) {
        self.durable.fetch_max(modes.durable().0, Ordering::AcqRel);
    }

    /// Decides the mode of a write of `from..to` and waits for older flushed writes if it must.
    pub(super) fn enter(&self, from: Lsn, to: Lsn, asked: Durability) -> Turn<'_> {
        let mut modes = self.modes.lock();
        let overtaken = modes.newest_synced.is_some_and(|synced| synced > from);
        let durability = if overtaken { Durability::Sync } else { asked };
        match durability {
            Durability::Flush => modes.flushing.push(from),
            Durability::Sync => {
                modes.newest_synced = modes.newest_synced.max(Some(from));
                while modes.flushing.iter().any(|older| *older < from) && !modes.abandoned {
                    self.flush_ended.wait(&mut modes);
                }
            }
        }
        let unsynced = match (modes.unsynced, modes.syncing) {
            (Some(one), Some(other)) => Some(Range { from: one.from.min(other.from), to: one.to.max(other.to) }),
            (one, other) => one.or(other),
        };
        let sync_first = unsynced.filter(|_| durability == Durability::Sync);
        Turn { progress: self, range: Range { from, to }, durability, sync_first, done: false }
    }

    /// The journal is sealed: nobody needs to wait any longer.
    pub(super) fn wake_all(&self) {
        self.modes.lock().abandoned = true;
        self.flush_ended.notify_all();
    }
}

impl Inner {
    /// Syncs the segments of a part of the journal. What is before the last checkpoint needs none.
    fn sync_range(&self, range: Range) -> Result<(), IoError> {
        for segment in self.segments.covering(range.from, range.to) {
            segment.buffered.sync_data()?;
        }
        Ok(())
    }

    /// Syncs what was flushed before a synced write. One sync at a time: the system reports an error
    /// once, and a second one must not take the pages that the first has lost for synced.
    pub(super) fn sync_before(&self, range: Range) -> Result<(), JournalError> {
        let _gate = self.progress.sync_gate.lock();
        self.check()?;
        self.sync_range(range).map_err(|error| self.seal(error))
    }

    /// Syncs everything flushed so far.
    pub(super) fn sync_flushed(&self) -> Result<(), JournalError> {
        let _gate = self.progress.sync_gate.lock();
        self.check()?;
        let range = {
            let mut modes = self.progress.modes.lock();
            modes.syncing = modes.unsynced.take();
            modes.syncing
        };
        let Some(range) = range else { return Ok(()) };
        self.sync_range(range).map_err(|error| self.seal(error))?;
        let mut modes = self.progress.modes.lock();
        modes.syncing = None;
        self.progress.advance(&modes);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
