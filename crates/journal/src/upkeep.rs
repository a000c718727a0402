//! What happens beside the commits: opening, preparing segments, checkpoints.
//!
//! Concurrency: everything here that writes holds the `upkeep` mutex.
//!
//! On crash
//!
//! | crash | leaves | repaired by |
//! | --- | --- | --- |
//! | making the first `checkpoint` file | a directory without one and without segments | it counts as new |
//! | making a segment | `journal.N.new` | removed when the next scan has ended |
//! | replacing the checkpoint | the old or the new one; `checkpoint.new` | both are valid; written over |
//! | between checkpoint and reuse | segments before the checkpoint | used again or removed |

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cohort_io::sync::Mutex;
use cohort_io::{BLOCK, FileSystem, IoError, OsRandom, Randomness, SyncCounters, renew_name, restore_names};

use super::control::{self, Control, NOTE_BYTES_MAX};
use super::durability::Progress;
use super::segments::{self, AddError, Purpose, Segment, Segments};
use super::space::{Reservation, Space};
use super::{Inner, JournalError, JournalOptions, LayoutState, Lsn, OpenError, ReserveError};

/// State of the upkeep, and the lock that makes it one thread's at a time.
pub(super) struct Upkeep {
    control: Control,
    /// Segments before the last checkpoint.
    retired: Vec<Arc<Segment>>,
}

/// What the scan found at its end.
pub(super) struct Tail {
    pub(super) end: Lsn,
    /// Checksum of the last record's header, 0 without one.
    pub(super) previous: u32,
}

/// Reads the checkpoint and opens the segments; to append, makes both up for a new journal.
pub(super) fn open(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    options: JournalOptions,
    purpose: Purpose,
) -> Result<(Inner, Control), OpenError> {
    assert!(
        options.segment_bytes >= 2 * BLOCK as u64 && Lsn(options.segment_bytes).is_aligned(),
        "a segment is at least two blocks, and whole ones"
    );
    let log = Arc::new(SyncCounters::default());
    let upkeep_counters = Arc::new(SyncCounters::default());
    if purpose == Purpose::Append {
        fs.create_dir_all(dir)?;
        restore_names(&*fs, dir, |name| segments::number_of(name).is_some())?;
    }
    let mut numbers: Vec<u64> = fs.list(dir)?.iter().filter_map(|name| segments::number_of(name)).collect();
    numbers.sort_unstable();
    let control = if purpose == Purpose::Read || fs.exists(&control::path(dir))? {
        Control::read(&*fs, dir)?
    } else {
        if !numbers.is_empty() {
            let why = "there are segments of a journal".to_owned();
            return Err(OpenError::Missing { path: control::path(dir), why });
        }
        let control = new_control(options.journal_id);
        control.write(&*fs, dir, &upkeep_counters)?;
        control
    };
    let segments = Segments::new(
        Arc::clone(&fs),
        dir,
        control.journal_id,
        options.segment_bytes,
        [&log, &upkeep_counters].map(Arc::clone),
        purpose,
    );
    if purpose == Purpose::Append && !control.clean {
        // The process before may have failed to make them durable.
        numbers.iter().try_for_each(|number| renew_name(&*fs, &segments.path_of(*number)))?;
        segments.sync_dir()?;
    }
    let retired = open_segments(&segments, &numbers, &control)?;
    let prepared_end = segments.last().map_or(control.start, |last| last.end());
    let inner = Inner {
        fs,
        segments,
        journal_id: control.journal_id,
        options,
        log,
        upkeep_counters,
        upkeep: Mutex::new(Upkeep { control: control.clone(), retired }),
        layout: Mutex::default(),
        progress: Progress::default(),
        space: Arc::new(Space::default()),
        prepared_end: AtomicU64::new(prepared_end.0),
        recovered: AtomicBool::new(false),
        flushed_noted: AtomicBool::new(false),
        sealed: Default::default(),
        pool: Mutex::default(),
    };
    Ok((inner, control))
}

fn new_control(journal_id: Option<u64>) -> Control {
    Control {
        journal_id: journal_id.unwrap_or_else(|| OsRandom.next_u64()),
        epoch: 0,
        epoch_start: Lsn(0),
        start: Lsn(0),
        durable: Lsn(0),
        clean: true,
        flushed: false,
        note: Vec::new(),
    }
}

/// Opens segments from the newest down to the one with the checkpoint; the older ones are retired.
fn open_segments(segments: &Segments, numbers: &[u64], control: &Control) -> Result<Vec<Arc<Segment>>, OpenError> {
    let mut live: Vec<Arc<Segment>> = Vec::new();
    let mut retired = Vec::new();
    for number in numbers.iter().rev() {
        let segment = segments.open_existing(*number)?;
        if segment.end() <= control.start {
            retired.push(segment);
            continue;
        }
        if let Some(next) = live.last() {
            if next.number != number + 1 {
                let path = segments.path_of(next.number - 1);
                let why = format!("there are segments {number} and {}", next.number);
                return Err(OpenError::Missing { path, why });
            }
            if next.first != segment.end() {
                return Err(OpenError::Damaged {
                    path: next.path.clone(),
                    offset: 32,
                    lsn: None,
                    what: format!("it does not continue segment {number}"),
                });
            }
        }
        live.push(segment);
    }
    let needed = control.start.max(control.epoch_start).max(control.durable);
    let first = live.last().map_or(control.start, |segment| segment.first);
    let end = live.first().map_or(control.start, |segment| segment.end());
    if first > control.start || end < needed {
        let next = live.first().or(retired.first()).map_or(1, |newest| newest.number + 1);
        let missing =
            if first > control.start { live.last().map_or(1, |oldest| oldest.number.saturating_sub(1)) } else { next };
        let why = format!("the checkpoint needs lsn {} to {needed}", control.start);
        return Err(OpenError::Missing { path: segments.path_of(missing), why });
    }
    live.into_iter().rev().for_each(|segment| segments.push(segment));
    Ok(retired)
}

impl Inner {
    /// Ends recovery: what the scan found becomes durable, a new epoch begins after it, and the
    /// journal takes records. A crash before the checkpoint file is replaced changes nothing.
    pub(super) fn begin_epoch(&self, tail: &Tail) -> Result<(), OpenError> {
        let mut upkeep = self.upkeep.lock();
        let control = Control {
            epoch: upkeep.control.epoch + 1,
            epoch_start: tail.end,
            durable: tail.end,
            clean: false,
            flushed: false,
            ..upkeep.control.clone()
        };
        if let Some(reason) = self.sealed.get() {
            return Err(JournalError::Sealed(Arc::clone(reason)).into());
        }
        self.write_epoch(&control).map_err(|error| self.seal(error))?;
        *self.layout.lock() =
            LayoutState { epoch: control.epoch, next: tail.end, previous: tail.previous, ..LayoutState::default() };
        self.progress.start_at(tail.end, control.start);
        self.space.add(self.prepared_end.load(Ordering::Acquire) - tail.end.0);
        upkeep.control = control;
        self.recovered.store(true, Ordering::Release);
        Ok(())
    }

    /// Writes and syncs a part of the journal that was read.
    pub(super) fn settle(&self, from: Lsn, to: Lsn) -> Result<(), JournalError> {
        self.segments
            .covering(from, to)
            .iter()
            .try_for_each(|segment| segment.write_again(from, to).and_then(|()| segment.buffered.sync_data()))
            .map_err(|error| self.seal(error))
    }

    fn write_epoch(&self, control: &Control) -> Result<(), IoError> {
        let dir = self.segments.dir();
        control.write(&*self.fs, dir, &self.upkeep_counters)?;
        for name in self.fs.list(dir)? {
            if segments::is_leftover(&name) {
                self.fs.remove(&dir.join(name))?;
            }
        }
        Ok(())
    }

    /// Whether records of this epoch may be flushed only: the checkpoint has to say it first, or the next
    /// start would take their loss for damage. Where it cannot be written, records are synced instead.
    pub(super) fn may_flush(&self) -> bool {
        if self.flushed_noted.load(Ordering::Acquire) {
            return true;
        }
        let mut upkeep = self.upkeep.lock();
        if !upkeep.control.flushed {
            let control = Control { flushed: true, ..upkeep.control.clone() };
            if control.write(&*self.fs, self.segments.dir(), &self.upkeep_counters).is_err() {
                return false;
            }
            upkeep.control = control;
        }
        self.flushed_noted.store(true, Ordering::Release);
        true
    }

    /// Prepares segments until `bytes` are free.
    pub(super) fn reserve_with_upkeep(&self, bytes: u64) -> Result<Reservation, ReserveError> {
        let mut upkeep = self.upkeep.lock();
        loop {
            self.check()?;
            if let Some(reservation) = self.space.take(bytes) {
                return Ok(reservation);
            }
            self.add_segment(&mut upkeep).map_err(|error| self.reserve_error(error, bytes))?;
        }
    }

    /// Prepares segments until enough of them follow the journal's end.
    pub(super) fn prepare_spares(&self) -> Result<(), ReserveError> {
        loop {
            let mut upkeep = self.upkeep.lock();
            self.check()?;
            let next = self.layout.lock().next;
            if self.segments.count(next).1 >= self.options.spare_segments {
                return Ok(());
            }
            let bytes = self.options.segment_bytes;
            self.add_segment(&mut upkeep).map_err(|error| self.reserve_error(error, bytes))?;
        }
    }

    fn add_segment(&self, upkeep: &mut Upkeep) -> Result<(), AddError> {
        // After every known one, so that the numbers give the order.
        let newest = upkeep.retired.iter().map(|segment| segment.number).max();
        let number = newest.map_or(1, |newest| newest + 1);
        let fitting = upkeep.retired.iter().position(|used| self.segments.fits(used));
        let used = fitting.map(|at| upkeep.retired.swap_remove(at));
        let added = self.segments.add(used, number, Lsn(self.prepared_end.load(Ordering::Acquire)))?;
        self.prepared_end.fetch_add(added, Ordering::AcqRel);
        self.space.add(added);
        Ok(())
    }

    fn reserve_error(&self, error: AddError, needed: u64) -> ReserveError {
        match error {
            AddError::NoSpace(source) => ReserveError::NoSpace { needed, source: Arc::new(source) },
            AddError::Failed(error) => ReserveError::Journal(self.seal(error)),
        }
    }

    pub(super) fn checkpoint(&self, start: Lsn, note: &[u8], clean: bool) -> Result<(), JournalError> {
        assert!(note.len() <= NOTE_BYTES_MAX, "the note of a checkpoint has a limit");
        let mut upkeep = self.upkeep.lock();
        self.check()?;
        let completed = self.progress.completed();
        assert!(
            start.is_aligned() && upkeep.control.start <= start && start <= completed,
            "a checkpoint lies between the one before and what is written"
        );
        let control = Control {
            start,
            durable: if clean { completed } else { self.progress.durable().max(start) },
            clean,
            note: note.to_vec(),
            ..upkeep.control.clone()
        };
        if let Err(error) = control.write(&*self.fs, self.segments.dir(), &self.upkeep_counters) {
            return Err(match error.is_no_space() {
                true => JournalError::NoSpace(Arc::new(error)),
                false => self.seal(error),
            });
        }
        upkeep.control = control;
        self.progress.note_checkpoint(start);
        if clean {
            return Ok(());
        }
        self.recycle(&mut upkeep).or_else(|error| match error {
            AddError::NoSpace(_) => Ok(()),
            AddError::Failed(error) => Err(self.seal(error)),
        })
    }

    /// Gives segments before the checkpoint another use; removes those that are too many or of
    /// another size.
    fn recycle(&self, upkeep: &mut Upkeep) -> Result<(), AddError> {
        upkeep.retired.extend(self.segments.retire_before(upkeep.control.start));
        while upkeep.retired.iter().any(|used| self.segments.fits(used))
            && self.segments.count(Lsn(0)).0 < self.options.keep_segments.max(1)
        {
            self.add_segment(upkeep)?;
        }
        if self.segments.last().is_none() || upkeep.retired.is_empty() {
            return Ok(());
        }
        for used in std::mem::take(&mut upkeep.retired) {
            self.fs.remove(&used.path).map_err(AddError::Failed)?;
        }
        self.segments.sync_dir().map_err(AddError::Failed)
    }
}
