//! The journal: the server's one durable log. A commit is durable when its record is.
//!
//! The journal is an endless string of bytes; an [`Lsn`] is an offset in it. Segment files of a fixed
//! size are windows of that string, prepared ahead and used again once a checkpoint lies after them.
//! A record is a header, the payload, and zeros up to a full block; it may reach over any number of
//! segments.
//!
//! Outline
//! 1. [`Journal::open`] gives the journal and a [`Scan`] of what it holds after the checkpoint. After
//!    [`Scan::finish`] the journal takes records.
//! 2. [`Journal::reserve`] sets room aside, before the transaction has a place in the order.
//! 3. [`Journal::layout`], in commit order: place, header, copy.
//! 4. [`Journal::write`], from any thread, several at a time: checksum of the payload, one write.
//! 5. [`Journal::mark_durable`], in commit order again.
//! 6. [`Journal::checkpoint`] and [`Journal::prepare_segments`], in the background.
//!
//! Invariants
//! 1. A record says how far the journal was known to be durable when it was laid out. A hole before
//!    that point is damage; a hole with nothing after it that knows better is a torn tail (`scan.rs`).
//! 2. After a failed write or sync every later call fails: the journal is sealed.
//! 3. Of two records, the one written with [`Durability::Sync`] is durable only if the other, when it
//!    is older, is: a synced write first syncs what was only flushed, and a flushed write that comes
//!    late, after a synced one, is synced too (`durability.rs`).
//! 4. A record that was laid out has room on the disk.
//!
//! Concurrency: locks in order `upkeep`, the list of segments; `layout`, `sync_gate` → `modes` are
//! apart from them. Only `upkeep` and `sync_gate` are held during input and output, and neither
//! [`Journal::layout`] nor a [`Journal::write`] in one mode waits for them, but for the first flushed
//! write of an epoch, which notes in the checkpoint that there is one.
//!
//! On crash: see `scan.rs`.
//!
//! Format: `docs/journal-format.md`. Not here: what a payload means, and who waits for whom
//! (`cohort-txn`).

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod control;
mod durability;
mod error;
mod record;
mod scan;
mod segments;
mod space;
mod upkeep;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cohort_io::sync::Mutex;
use cohort_io::{AlignedBuf, FileSystem, IoError, SyncCounters, SyncStats};

use durability::Progress;
use record::{HEADER_BYTES, Header, record_bytes};
use segments::{Purpose, Segments};
use space::Space;
use upkeep::Upkeep;

pub use error::{JournalError, OpenError, ReserveError};
pub use scan::{Place, Record, Scan, ScanEnd, Stamp};
pub use space::Reservation;

/// The format written, and the highest one read.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// A buffer that grew beyond this is not kept for the next record, bytes.
const POOLED_BYTES_MAX: usize = 4 << 20;
const POOLED_BUFFERS_MAX: usize = 4;

/// Byte offset in the endless journal; where records begin and end, a multiple of
/// [`BLOCK`](cohort_io::BLOCK).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    fn is_aligned(self) -> bool {
        self.0.is_multiple_of(cohort_io::BLOCK as u64)
    }
}

impl std::fmt::Display for Lsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// How durable a write is when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// On stable storage, and everything before it.
    Sync,
    /// Handed to the operating system; [`Journal::sync`] makes it durable.
    Flush,
}

/// Settings of a journal.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// Size of new segment files, bytes: a multiple of [`BLOCK`](cohort_io::BLOCK), two at least.
    pub segment_bytes: u64,
    /// How many segments [`Journal::prepare_segments`] keeps ready after the journal's end.
    pub spare_segments: usize,
    /// Up to how many segments in all a checkpoint keeps for another use; more are removed.
    pub keep_segments: usize,
    /// The largest reservation, bytes.
    pub reservation_bytes_max: u64,
    /// The operator's answer to a damaged record: cut the journal there, and lose what follows.
    /// Counts only for damage at exactly this place.
    pub cut_at: Option<Lsn>,
    /// Identity that a new journal gets; random if none.
    pub journal_id: Option<u64>,
}

impl Default for JournalOptions {
    fn default() -> JournalOptions {
        JournalOptions {
            segment_bytes: 64 << 20,
            spare_segments: 2,
            keep_segments: 8,
            reservation_bytes_max: 4 << 30,
            cut_at: None,
            journal_id: None,
        }
    }
}

/// Statistics of a journal since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// Records laid out.
    pub records: u64,
    /// Writes and syncs of records, as the kernel counts them.
    pub log: SyncStats,
    /// Writes and syncs of segments' preparation and checkpoints, as the kernel counts them.
    pub upkeep: SyncStats,
    /// Segments, the prepared ones included.
    pub segments: u64,
    /// Prepared segments without a record.
    pub spare_segments: u64,
    /// Bytes of all segments.
    pub disk_bytes: u64,
    /// Where the next record begins.
    pub next_lsn: u64,
    /// Everything before it is on stable storage.
    pub durable_lsn: u64,
    /// Where recovery would begin.
    pub checkpoint_lsn: u64,
}

/// The journal of one data directory.
pub struct Journal {
    inner: Arc<Inner>,
}

struct Inner {
    fs: Arc<dyn FileSystem>,
    segments: Segments,
    journal_id: u64,
    options: JournalOptions,
    log: Arc<SyncCounters>,
    upkeep_counters: Arc<SyncCounters>,
    upkeep: Mutex<Upkeep>,
    layout: Mutex<LayoutState>,
    progress: Progress,
    space: Arc<Space>,
    /// Where the newest segment ends.
    prepared_end: AtomicU64,
    recovered: AtomicBool,
    /// The checkpoint says that records of this epoch may have been flushed only.
    flushed_noted: AtomicBool,
    sealed: OnceLock<Arc<str>>,
    pool: Mutex<Vec<AlignedBuf>>,
}

/// What the next record is built on.
#[derive(Default)]
struct LayoutState {
    epoch: u64,
    next: Lsn,
    sequence: u64,
    previous: u32,
    records: u64,
}

/// A record with its place, not written yet.
pub struct LaidOut {
    lsn: Lsn,
    end: Lsn,
    payload_bytes: usize,
    /// Taken by the one thread that writes it.
    buffer: Mutex<AlignedBuf>,
    inner: Arc<Inner>,
}

impl LaidOut {
    /// Where the record begins.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Where the next record begins.
    pub fn end(&self) -> Lsn {
        self.end
    }
}

impl Drop for LaidOut {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(self.buffer.get_mut());
        buffer.clear();
        let mut pool = self.inner.pool.lock();
        if buffer.capacity() <= POOLED_BYTES_MAX && pool.len() < POOLED_BUFFERS_MAX {
            pool.push(buffer);
        }
    }
}

impl Journal {
    /// Opens the journal in `dir`, a new one if the directory is empty or missing. Nothing is written
    /// to an existing journal before [`Scan::finish`], and every call but this fails until then
    /// ([`JournalError::NotRecovered`]).
    pub fn open(fs: Arc<dyn FileSystem>, dir: &Path, options: JournalOptions) -> Result<(Journal, Scan), OpenError> {
        let (inner, control) = upkeep::open(fs, dir, options, Purpose::Append)?;
        let inner = Arc::new(inner);
        let scan = Scan::new(Arc::clone(&inner), control);
        Ok((Journal { inner }, scan))
    }

    /// A scan of an existing journal for those who only look: nothing is written, and [`Scan::finish`] is not
    /// for it.
    pub fn read(fs: Arc<dyn FileSystem>, dir: &Path) -> Result<Scan, OpenError> {
        let (inner, control) = upkeep::open(fs, dir, JournalOptions::default(), Purpose::Read)?;
        Ok(Scan::new(Arc::new(inner), control))
    }

    /// Sets room aside for a transaction that adds `payload_bytes` to a record, preparing segments if
    /// need be. Returns at once when there is room.
    pub fn reserve(&self, payload_bytes: u64) -> Result<Reservation, ReserveError> {
        self.inner.check()?;
        let needed = record_bytes(payload_bytes).unwrap_or(payload_bytes);
        let max = self.inner.options.reservation_bytes_max;
        if needed > max {
            return Err(ReserveError::TooLarge { needed, max });
        }
        match self.inner.space.take(needed) {
            Some(reservation) => Ok(reservation),
            None => self.inner.reserve_with_upkeep(needed),
        }
    }

    /// Gives the record made of `parts` the next place. Callers are in commit order, and hold
    /// reservations for all of `parts`.
    pub fn layout(&self, parts: &[&[u8]]) -> Result<LaidOut, JournalError> {
        let inner = &self.inner;
        inner.check()?;
        let payload_bytes: usize = parts.iter().map(|part| part.len()).sum();
        let mut buffer = inner.pool.lock().pop().unwrap_or_default();
        let mut layout = inner.layout.lock();
        let lsn = layout.next;
        let end = inner.room_for(lsn, payload_bytes as u64)?;
        let header = Header {
            flags: 0,
            previous: layout.previous,
            journal_id: inner.journal_id,
            epoch: layout.epoch,
            lsn,
            sequence: layout.sequence,
            durable: inner.progress.durable(),
            payload_bytes: payload_bytes as u64,
        };
        let (bytes, checksum) = header.encode();
        layout.previous = checksum;
        layout.sequence += 1;
        layout.records += 1;
        layout.next = end;
        inner.space.remove(end.0 - lsn.0);
        drop(layout);
        buffer.reserve(usize::try_from(end.0 - lsn.0).expect("a record in memory"));
        buffer.extend_from_slice(&bytes);
        for part in parts {
            buffer.extend_from_slice(part);
        }
        buffer.pad_to_block();
        let (buffer, inner) = (Mutex::new(buffer), Arc::clone(inner));
        Ok(LaidOut { lsn, end, payload_bytes, buffer, inner })
    }

    /// Writes a record. Any thread, records in any order, once each; a synced write waits for older
    /// flushed ones in flight. When it returns an error the journal is sealed: whether the record is
    /// there is known only to the next start.
    pub fn write(&self, record: &LaidOut, durability: Durability) -> Result<(), JournalError> {
        let inner = &self.inner;
        inner.check()?;
        let durability = match durability {
            Durability::Flush if !inner.may_flush() => Durability::Sync,
            asked => asked,
        };
        let mut buffer = record.buffer.lock();
        record::seal_payload(&mut buffer, record.payload_bytes);
        let turn = inner.progress.enter(record.lsn, record.end, durability);
        if let Some(unsynced) = turn.sync_first() {
            inner.sync_before(unsynced)?;
        }
        inner.check()?;
        inner.put(record.lsn, &buffer, turn.durability()).map_err(|error| inner.seal(error))?;
        turn.done();
        Ok(())
    }

    /// Everything before `end` is written, as durably as it was asked for. Callers are in commit order.
    pub fn mark_durable(&self, end: Lsn) {
        self.inner.progress.complete(end);
    }

    /// Everything before it is on stable storage.
    pub fn durable_lsn(&self) -> Lsn {
        self.inner.progress.durable()
    }

    /// Syncs what was only flushed; does nothing when there is nothing.
    pub fn sync(&self) -> Result<(), JournalError> {
        self.inner.check()?;
        self.inner.sync_flushed()
    }

    /// Syncs what was only flushed of everything that [`Journal::mark_durable`] was given, for those who have made
    /// something of it. Where that is on stable storage it succeeds, also when the journal is sealed; before
    /// [`Scan::finish`] nothing was given, and what a scan gives is durable by [`Scan::settle`].
    pub fn sync_completed(&self) -> Result<(), JournalError> {
        match self.inner.progress.durable() >= self.inner.progress.completed() {
            true => Ok(()),
            false => self.sync(),
        }
    }

    /// Keeps [`JournalOptions::spare_segments`] ready. For a thread in the background: it writes whole
    /// segments.
    pub fn prepare_segments(&self) -> Result<(), ReserveError> {
        self.inner.check()?;
        self.inner.prepare_spares()
    }

    /// Makes `start` the place where recovery begins, together with `note`, durably and atomically, and
    /// gives the segments before it another use. Everything before `start` is marked durable and safe
    /// elsewhere. After an error other than [`JournalError::NoSpace`] the journal is sealed.
    ///
    /// # Panics
    /// When `start` lies after what [`Journal::mark_durable`] was given, before the last checkpoint, or
    /// the note is longer than 16 MiB.
    pub fn checkpoint(&self, start: Lsn, note: &[u8]) -> Result<(), JournalError> {
        self.inner.check()?;
        self.inner.checkpoint(start, note, false)
    }

    /// The last checkpoint: the journal ends at what [`Journal::mark_durable`] was given, and takes
    /// nothing more. The next start need not look for records after it.
    pub fn close(&self, start: Lsn, note: &[u8]) -> Result<(), JournalError> {
        self.inner.check()?;
        self.inner.sync_flushed()?;
        self.inner.checkpoint(start, note, true)?;
        let _ = self.inner.sealed.set("it was closed".into());
        Ok(())
    }

    /// Whether synced writes go past the page cache; false where the file system refuses `O_DIRECT`,
    /// which the operator should hear about.
    pub fn is_direct(&self) -> bool {
        self.inner.segments.last().is_none_or(|segment| segment.direct.is_direct())
    }

    /// The statistics now.
    pub fn stats(&self) -> JournalStats {
        let inner = &self.inner;
        let (next, records) = {
            let layout = inner.layout.lock();
            (layout.next, layout.records)
        };
        let (segments, spares) = inner.segments.count(next);
        JournalStats {
            records,
            log: inner.log.stats(),
            upkeep: inner.upkeep_counters.stats(),
            segments: segments as u64,
            spare_segments: spares as u64,
            disk_bytes: inner.segments.disk_bytes(),
            next_lsn: next.0,
            durable_lsn: inner.progress.durable().0,
            checkpoint_lsn: inner.progress.checkpoint().0,
        }
    }
}

impl Inner {
    fn check(&self) -> Result<(), JournalError> {
        if let Some(reason) = self.sealed.get() {
            return Err(JournalError::Sealed(Arc::clone(reason)));
        }
        if !self.recovered.load(Ordering::Acquire) {
            return Err(JournalError::NotRecovered);
        }
        Ok(())
    }

    /// Seals the journal because of `error`.
    fn seal(&self, error: IoError) -> JournalError {
        let _ = self.sealed.set(error.to_string().into());
        self.progress.wake_all();
        JournalError::Failed(Arc::new(error))
    }

    /// Where a record at `lsn` would end, if that is within what is prepared.
    fn room_for(&self, lsn: Lsn, payload_bytes: u64) -> Result<Lsn, JournalError> {
        let left = self.prepared_end.load(Ordering::Acquire) - lsn.0;
        match record_bytes(payload_bytes) {
            Some(needed) if needed <= left => Ok(Lsn(lsn.0 + needed)),
            needed => {
                let needed = needed.unwrap_or(payload_bytes);
                Err(JournalError::NotReserved { needed, left })
            }
        }
    }

    /// Writes a record's bytes into the segments they belong to.
    fn put(&self, lsn: Lsn, bytes: &[u8], durability: Durability) -> Result<(), IoError> {
        let mut at = lsn;
        let mut rest = bytes;
        while !rest.is_empty() {
            let segment = self.segments.holding(at).expect("a laid-out record has its segments");
            let room = usize::try_from(segment.end().0 - at.0).unwrap_or(usize::MAX);
            let (part, left) = rest.split_at(rest.len().min(room));
            let file = match durability {
                Durability::Sync => &segment.direct,
                Durability::Flush => &segment.buffered,
            };
            file.write_at(segment.offset(at), part)?;
            at = Lsn(at.0 + part.len() as u64);
            rest = left;
        }
        Ok(())
    }
}

// The header is in front of every payload, and both must fit one block when the payload is small.
const _: () = assert!(HEADER_BYTES < cohort_io::BLOCK);

#[cfg(test)]
mod tests;
