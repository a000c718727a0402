//! When the log may forget: a checkpoint makes engines and binlog durable up to a point of the commit
//! order, notes that point in the journal, and gives the segments before it back.
//!
//! Nothing on the commit path waits for it, unless the journal runs out of room.
//!
//! On crash: before the note is durable the older checkpoint counts and recovery replays more; replay
//! is idempotent.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cohort_binlog::{BinlogPosition, GtidSet};
use cohort_engine::Position;
use cohort_journal::{Journal, Lsn};

use super::commit::Coordinator;
use crate::held_snapshot::UNREAD_KEPT;
use crate::large::LargeWrites;
use crate::outcome::CommitError;
use crate::shared::{Frontier, Note, sync_last};
use crate::sync::{Condvar, Mutex};

/// A checkpoint did not happen; the one before still counts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckpointError {
    #[error(transparent)]
    Engine(#[from] cohort_engine::WriteError),
    #[error(transparent)]
    Binlog(#[from] cohort_binlog::BinlogError),
    #[error(transparent)]
    Journal(#[from] cohort_journal::JournalError),
}

/// The note passed its checksum and still says nothing this server understands.
#[derive(Debug, thiserror::Error)]
#[error("the journal's checkpoint has a note of {0} bytes that this server cannot read")]
pub struct NoteError(usize);

/// After the note are written the engines' durable positions.
impl Note {
    /// `file number u64 | offset u64 | GTIDs as in a PREVIOUS_GTIDS event | position of each engine u64`, little-endian.
    /// No engines says nothing of them.
    pub(crate) fn encode(&self, engines: &[Position]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.position.file_number.to_le_bytes());
        bytes.extend_from_slice(&self.position.offset.to_le_bytes());
        self.gtids.encode(&mut bytes);
        bytes.extend(engines.iter().flat_map(|position| position.0.to_le_bytes()));
        bytes
    }

    /// The reverse; a new journal has no note, which is an empty binlog.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Note, Vec<Position>), NoteError> {
        if bytes.is_empty() {
            return Ok(Default::default());
        }
        let number = |at: usize| bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let (Some(file_number), Some(offset)) = (number(0), number(8)) else {
            return Err(NoteError(bytes.len()));
        };
        let (gtids, rest) = GtidSet::decode_first(&bytes[16..]).map_err(|_| NoteError(bytes.len()))?;
        let (engines, []) = rest.as_chunks() else { return Err(NoteError(bytes.len())) };
        let engines = engines.iter().map(|position| Position(u64::from_le_bytes(*position))).collect();
        Ok((Note { position: BinlogPosition { file_number, offset }, gtids }, engines))
    }
}

/// Takes a checkpoint of everything applied now. Where an engine refuses, the others are durable all the same.
pub(crate) fn take(coordinator: &Coordinator) -> Result<(), CheckpointError> {
    let mut file = coordinator.background.checkpoint_file.lock();
    let frontier = coordinator.frontier();
    let taken = take_at(coordinator, &frontier);
    coordinator.background.note(taken.as_ref().err());
    taken?;
    coordinator.background.give_up_large(frontier.lsn);
    *file = frontier.note.position.file_number;
    Ok(())
}

fn take_at(coordinator: &Coordinator, frontier: &Frontier) -> Result<(), CheckpointError> {
    let synced: Vec<_> = coordinator.engines.iter().map(|engine| engine.sync()).collect();
    coordinator.binlog.sync_all()?;
    let engines: Vec<_> = synced.into_iter().collect::<Result<_, _>>()?;
    Ok(coordinator.journal.checkpoint(frontier.lsn, &frontier.note.encode(&engines))?)
}

/// Takes the checkpoint of a clean shutdown; nothing may be committed afterwards.
pub(crate) fn take_last(coordinator: &Coordinator) -> Result<(), CheckpointError> {
    let _alone = coordinator.background.checkpoint_file.lock();
    let frontier = coordinator.frontier();
    let engines: Vec<_> = coordinator.engines.iter().map(|engine| sync_last(&**engine)).collect::<Result<_, _>>()?;
    coordinator.binlog.close()?;
    coordinator.journal.close(frontier.lsn, &frontier.note.encode(&engines))?;
    coordinator.background.give_up_large(frontier.lsn);
    Ok(())
}

#[derive(Default)]
struct State {
    checkpoint_wanted: bool,
    next_file_wanted: bool,
    stop: bool,
}

/// The work of two background threads: segments ahead of need and the once-a-second sync of the weaker settings;
/// checkpoints, when enough has been written. An engine's sync may take long, and the sync does not wait for it.
pub(crate) struct Background {
    state: Mutex<State>,
    upkeep_due: Condvar,
    checkpoint_due: Condvar,
    /// Journal bytes between checkpoints.
    pub(crate) checkpoint_bytes: AtomicU64,
    /// See [`Background::checkpoint_file`]. Locked while a checkpoint is taken.
    checkpoint_file: Mutex<u64>,
    /// Why the last checkpoint was not taken, if it was not.
    refusal: Mutex<Option<String>>,
    is_refused: AtomicBool,
    /// Files of large transactions that recovery needs until a checkpoint is at or after the end of their record.
    large: Mutex<Vec<(Lsn, Box<LargeWrites>)>>,
}

const TICK: Duration = Duration::from_secs(1);

/// While checkpoints are refused, the journal takes commits until it has so many times the bytes between two of them.
const CHECKPOINTS_BEHIND_MAX: u64 = 8;

impl Background {
    /// After a checkpoint in the binlog file of the number `checkpoint_file`.
    pub(crate) fn new(checkpoint_bytes: u64, checkpoint_file: u64) -> Self {
        Background {
            state: Mutex::default(),
            upkeep_due: Condvar::new(),
            checkpoint_due: Condvar::new(),
            checkpoint_bytes: AtomicU64::new(checkpoint_bytes),
            checkpoint_file: Mutex::new(checkpoint_file),
            refusal: Mutex::default(),
            is_refused: AtomicBool::new(false),
            large: Mutex::default(),
        }
    }

    /// Keeps what recovery needs of a large transaction whose record ends at `end`, and asks for a checkpoint: the files
    /// take room.
    pub(crate) fn keep_large(&self, end: Lsn, writes: Box<LargeWrites>) {
        self.large.lock().push((end, writes));
        self.want_checkpoint();
    }

    /// A checkpoint was taken at `lsn`.
    fn give_up_large(&self, lsn: Lsn) {
        let given_up: Vec<_> = self.large.lock().extract_if(.., |(end, _)| *end <= lsn).collect();
        given_up.into_iter().for_each(|(_, writes)| writes.give_up());
    }

    /// The binlog file that the last checkpoint lies in: recovery may write it and those after it.
    pub(crate) fn checkpoint_file(&self) -> u64 {
        *self.checkpoint_file.lock()
    }

    /// Asks for a checkpoint soon.
    pub(crate) fn want_checkpoint(&self) {
        self.state.lock().checkpoint_wanted = true;
        self.checkpoint_due.notify_all();
    }

    /// Says that the binlog file prepared ahead is in use: another one is needed before the next rotation,
    /// sooner than the clock would see to it.
    pub(crate) fn want_next_file(&self) {
        self.state.lock().next_file_wanted = true;
        self.upkeep_due.notify_all();
    }

    /// Ends both threads.
    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.upkeep_due.notify_all();
        self.checkpoint_due.notify_all();
    }

    /// Why the last checkpoint was not taken, if it was not.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.lock().clone()
    }

    /// Refuses a commit while checkpoints are refused and the journal has grown far beyond the last one: the disk is
    /// not to be filled with it.
    pub(crate) fn check_growth(&self, journal: &Journal) -> Result<(), CommitError> {
        if !self.is_refused.load(Ordering::Relaxed) {
            return Ok(());
        }
        let stats = journal.stats();
        let lag = stats.next_lsn - stats.checkpoint_lsn;
        let max = self.checkpoint_bytes.load(Ordering::Relaxed).saturating_mul(CHECKPOINTS_BEHIND_MAX);
        match self.refusal() {
            Some(refusal) if lag > max => {
                self.want_checkpoint();
                let detail = format!("the journal has {lag} bytes since the last checkpoint, for {refusal}");
                Err(CommitError::NoSpace(detail))
            }
            _ => Ok(()),
        }
    }

    /// Body of the thread for upkeep; returns when it is stopped or the journal has failed.
    pub(crate) fn run_upkeep(&self, coordinator: &Coordinator) {
        loop {
            {
                let mut state = self.state.lock();
                if !state.stop && !state.next_file_wanted {
                    self.upkeep_due.wait_for(&mut state, TICK);
                }
                if state.stop {
                    return;
                }
                state.next_file_wanted = false;
            }
            if let Err(error) = coordinator.journal.sync() {
                return coordinator.seal(&error.to_string());
            }
            prepare_ahead(coordinator);
            coordinator.held_snapshots.give_up_unused(UNREAD_KEPT);
        }
    }

    /// Body of the thread for checkpoints, and for files that a rotation has closed; returns when it is stopped.
    pub(crate) fn run_checkpoints(&self, coordinator: &Coordinator) {
        let mut checkpoint_lsn = coordinator.frontier().lsn;
        loop {
            let wanted = {
                let mut state = self.state.lock();
                if !state.stop && !state.checkpoint_wanted {
                    self.checkpoint_due.wait_for(&mut state, TICK);
                }
                if state.stop {
                    return;
                }
                std::mem::take(&mut state.checkpoint_wanted)
            };
            if let Err(error) = coordinator.binlog.sync_closed() {
                self.note(Some(&error.into()));
            }
            let lsn = coordinator.frontier().lsn;
            let written = lsn.0 - checkpoint_lsn.0;
            if (wanted || written >= self.checkpoint_bytes.load(Ordering::Relaxed)) && take(coordinator).is_ok() {
                checkpoint_lsn = lsn;
            }
        }
    }

    /// Says what became of a checkpoint, once where it is always the same.
    fn note(&self, refused: Option<&CheckpointError>) {
        let refusal = refused.map(ToString::to_string);
        let mut before = self.refusal.lock();
        match (&*before, &refusal) {
            (None, None) => {}
            (Some(before), Some(refusal)) if before == refusal => {}
            (_, Some(refusal)) => log::warn!("no checkpoint, the journal keeps growing: {refusal}"),
            (Some(_), None) => log::info!("checkpoints are taken again"),
        }
        self.is_refused.store(refusal.is_some(), Ordering::Relaxed);
        *before = refusal;
    }
}

/// Keeps journal segments and the next binlog file ready, so that the commit path finds them.
pub(crate) fn prepare_ahead(coordinator: &Coordinator) {
    if let Err(error) = coordinator.journal.prepare_segments() {
        log::warn!("cannot prepare journal segments ahead: {error}");
    }
    coordinator.prepare_binlog_file_ahead();
}

#[cfg(test)]
mod tests {
    use crate::journaled::commit::Coordinator;
    use crate::tests::{Machine, insert};

    /// Whoever waits for a rotation's file would wait for the clock.
    #[test]
    fn the_next_file_is_asked_for_as_one_is_begun() {
        let (store, _) = Machine::new(1).recover().expect("a new store");
        let state = &store.path::<Coordinator>().background.state;
        let asked = || std::mem::take(&mut state.lock().next_file_wanted);
        assert!(asked(), "the start began one");
        insert(&store, 1).expect("a commit");
        assert!(!asked());
        store.rotate_binlog().expect("another file");
        assert!(asked());
    }
}
