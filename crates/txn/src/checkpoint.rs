//! When the log may forget: a checkpoint makes engines and binlog durable up to a point of the commit
//! order, notes that point in the journal, and gives the segments before it back.
//!
//! Nothing on the commit path waits for it, unless the journal runs out of room.
//!
//! On crash: before the note is durable the older checkpoint counts and recovery replays more; replay
//! is idempotent.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cohort_engine::{Engine, Position, WriteError};
use cohort_io::FileSystem;
use cohort_log::binlog::{BinlogPosition, GtidSet};
use cohort_log::journal::{Journal, JournalOptions};
use parking_lot::{Condvar, Mutex};

use crate::commit::{Coordinator, ROOM_RETRY};
use crate::recovery::RecoverError;

/// A checkpoint did not happen; the one before still counts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckpointError {
    #[error(transparent)]
    Engine(#[from] cohort_engine::WriteError),
    #[error(transparent)]
    Binlog(#[from] cohort_log::binlog::BinlogError),
    #[error(transparent)]
    Journal(#[from] cohort_log::journal::JournalError),
}

/// What a checkpoint notes beside its place in the journal: the end of the binlog there, and the GTIDs
/// executed by then. Behind it are written the engines' durable positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub position: BinlogPosition,
    pub gtids: GtidSet,
}

/// The note passed its checksum and still says nothing this server understands.
#[derive(Debug, thiserror::Error)]
#[error("the journal's checkpoint has a note of {0} bytes that this server cannot read")]
pub struct NoteError(usize);

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

/// Takes a checkpoint of everything applied now.
pub(crate) fn take(coordinator: &Coordinator) -> Result<(), CheckpointError> {
    let mut file = coordinator.background.checkpoint_file.lock();
    let frontier = coordinator.frontier();
    let engines: Vec<_> = coordinator.engines.iter().map(|engine| engine.flush()).collect::<Result<_, _>>()?;
    coordinator.binlog.sync_all()?;
    coordinator.journal.checkpoint(frontier.lsn, &frontier.note.encode(&engines))?;
    *file = frontier.note.position.file_number;
    Ok(())
}

/// Takes the checkpoint of a clean shutdown; nothing may be committed afterwards.
pub(crate) fn take_last(coordinator: &Coordinator) -> Result<(), CheckpointError> {
    let _alone = coordinator.background.checkpoint_file.lock();
    let frontier = coordinator.frontier();
    let engines: Vec<_> = coordinator.engines.iter().map(|engine| flush_last(&**engine)).collect::<Result<_, _>>()?;
    coordinator.binlog.close()?;
    coordinator.journal.close(frontier.lsn, &frontier.note.encode(&engines))?;
    Ok(())
}

/// How long a clean shutdown waits for room: RocksDB looks every five seconds whether there is some again.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(6);

/// Makes an engine durable at a clean shutdown, for which it may still have to find out that a disk that was full
/// is not any more.
pub(crate) fn flush_last(engine: &dyn Engine) -> Result<Position, WriteError> {
    let began = Instant::now();
    loop {
        match engine.flush() {
            Err(WriteError::NoSpace { .. }) if began.elapsed() < ROOM_WAIT_MAX => thread::sleep(ROOM_RETRY),
            flushed => return flushed,
        }
    }
}

/// Makes the journal in `dir`, which is closed or not there yet, go on behind a binlog that another protocol
/// wrote up to `note`. It is closed again.
pub(crate) fn take_over(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    options: JournalOptions,
    note: &Note,
) -> Result<(), RecoverError> {
    let (journal, mut scan) = Journal::open(fs, dir, options)?;
    if let Some(record) = scan.next()? {
        return Err(RecoverError::JournalNotSettled { lsn: record.lsn().0 });
    }
    let end = scan.end_lsn();
    scan.finish()?;
    Ok(journal.close(end, &note.encode(&[]))?)
}

#[derive(Default)]
struct State {
    wanted: bool,
    next_file_wanted: bool,
    stop: bool,
}

/// The background thread's work: segments ahead of need, the once-a-second sync of the weaker
/// settings, checkpoints when enough has been written.
pub(crate) struct Background {
    state: Mutex<State>,
    wake: Condvar,
    /// Journal bytes between checkpoints.
    pub(crate) checkpoint_bytes: AtomicU64,
    /// See [`Background::checkpoint_file`]. Locked while a checkpoint is taken.
    checkpoint_file: Mutex<u64>,
}

const TICK: Duration = Duration::from_secs(1);

impl Background {
    /// Behind a checkpoint in the binlog file of the number `checkpoint_file`.
    pub(crate) fn new(checkpoint_bytes: u64, checkpoint_file: u64) -> Self {
        Background {
            state: Mutex::default(),
            wake: Condvar::new(),
            checkpoint_bytes: AtomicU64::new(checkpoint_bytes),
            checkpoint_file: Mutex::new(checkpoint_file),
        }
    }

    /// The binlog file that the last checkpoint lies in: recovery may write it and those behind it.
    pub(crate) fn checkpoint_file(&self) -> u64 {
        *self.checkpoint_file.lock()
    }

    /// Asks for a checkpoint soon.
    pub(crate) fn want_checkpoint(&self) {
        self.state.lock().wanted = true;
        self.wake.notify_all();
    }

    /// Says that the binlog file prepared ahead is in use: another one is needed before the next rotation,
    /// sooner than the clock would see to it.
    pub(crate) fn want_next_file(&self) {
        self.state.lock().next_file_wanted = true;
        self.wake.notify_all();
    }

    /// Ends [`Background::run`].
    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.wake.notify_all();
    }

    /// Runs until stopped.
    pub(crate) fn run(&self, coordinator: &Arc<Coordinator>) {
        let mut checkpoint_lsn = coordinator.frontier().lsn;
        loop {
            let wanted = {
                let mut state = self.state.lock();
                if !state.stop && !state.wanted && !state.next_file_wanted {
                    self.wake.wait_for(&mut state, TICK);
                }
                if state.stop {
                    return;
                }
                state.next_file_wanted = false;
                std::mem::take(&mut state.wanted)
            };
            if let Err(error) = coordinator.journal.sync() {
                coordinator.seal(&error.to_string());
                return;
            }
            prepare_ahead(coordinator);
            let lsn = coordinator.frontier().lsn;
            let written = lsn.0 - checkpoint_lsn.0;
            if wanted || written >= self.checkpoint_bytes.load(Ordering::Relaxed) {
                match take(coordinator) {
                    Ok(()) => checkpoint_lsn = lsn,
                    Err(error) => log::warn!("no checkpoint, the journal keeps growing: {error}"),
                }
            }
        }
    }
}

/// Keeps journal segments and the next binlog file ready, so that the commit path finds them.
pub(crate) fn prepare_ahead(coordinator: &Coordinator) {
    if let Err(error) = coordinator.journal.prepare_segments() {
        log::warn!("cannot prepare journal segments ahead: {error}");
    }
    coordinator.prepare_binlog_file_ahead();
}
