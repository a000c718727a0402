//! Reading the journal from its checkpoint, and distinguishing a torn tail from damage.
//!
//! A record belongs to the journal if its header names this journal and its own place, its checksums
//! agree, and it continues the one before: the next number of the same epoch, or number 0 of a later
//! one, with the checksum of the header before it. The checkpoint file says where the newest epoch
//! began; from there on only its records count, so that what earlier epochs or earlier uses of a
//! segment left there is never taken for a continuation.
//!
//! Where no record is found, the journal ends, unless something proves that one was there:
//!
//! 1. the place lies before the newest epoch, or before what the checkpoint knew to be durable;
//! 2. a later header of the newest epoch says that the journal was durable beyond that place when it
//!    was laid out;
//! 3. the caller knows it ([`Scan::contradict`]): for the very last record no later one vouches, but the
//!    binlog does, which gets a record's bytes only once they are here.
//!
//! Then it is damage, and nothing is changed. Otherwise what follows was never acknowledged as
//! durable: the tail is cut. Records after a torn one go with it; several may have been in flight.
//!
//! Memory is that of one record. A length counts only when its header's checksum agrees and the bytes
//! lie within the segments.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cohort_io::{AlignedBuf, BLOCK, IoError};

use super::control::Control;
use super::record::{Found, HEADER_BYTES, Header, record_bytes};
use super::upkeep::Tail;
use super::{Inner, Lsn, OpenError};

/// How much is read ahead, bytes.
const WINDOW: usize = 1 << 20;

/// Walks the records after the checkpoint.
pub struct Scan {
    reader: Reader,
    control: Control,
    at: Lsn,
    previous: Option<Link>,
    /// Everything before it is on stable storage, as far as checkpoint and records show.
    durable: Lsn,
    records: u64,
    /// Of the record that was given last, in the reader's window.
    payload: Range<usize>,
    tail: Option<FoundTail>,
}

/// What was found where the records end.
struct FoundTail {
    what: &'static str,
    bytes: u64,
    end: ScanEnd,
}

/// How the journal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanEnd {
    /// After a whole record, or where it was closed.
    Clean,
    /// After the last whole record lay what a crash in the middle of a write leaves.
    TornTail {
        /// Bytes cut, as far as headers show.
        bytes: u64,
        /// What was found.
        reason: String,
    },
    /// The operator had the journal cut at a damaged record.
    CutByOperator {
        /// Bytes to the end of the last record after it, as far as headers show.
        bytes: u64,
        /// What was found.
        reason: String,
    },
}

/// A record that the scan found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    lsn: Lsn,
    end: Lsn,
    stamp: Stamp,
    payload: &'a [u8],
}

/// What a record's header says beside its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Which opening of the journal wrote it, counted from 1.
    pub epoch: u64,
    /// Its number in that epoch, from 0.
    pub sequence: u64,
    /// Everything before this was known to be durable when it was laid out.
    pub durable: Lsn,
}

/// Where a place of the journal is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The segment file.
    pub path: PathBuf,
    /// Byte offset in it.
    pub offset: u64,
}

impl<'a> Record<'a> {
    /// Where the record begins.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Where the next one begins.
    pub fn end(&self) -> Lsn {
        self.end
    }

    /// What its header says.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// What was laid out.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What the next record must continue.
#[derive(Clone, Copy)]
struct Link {
    epoch: u64,
    sequence: u64,
    checksum: u32,
}

/// What is at the place where the next record would be.
enum Step {
    Record {
        link: Link,
        durable: Lsn,
        end: Lsn,
        payload: Range<usize>,
    },
    /// Nothing of this journal's.
    Nothing,
    /// Something that should be a record; where its header puts its end, if it is to be believed.
    Bad {
        what: &'static str,
        end: Option<Lsn>,
    },
}

/// What lies after the place where the records end.
#[derive(Default)]
struct Beyond {
    /// Whole headers of the newest epoch.
    headers: u64,
    /// The end of the last one's record.
    end: Option<Lsn>,
    /// One that says the place was durable.
    witness: Option<Lsn>,
}

impl Scan {
    pub(super) fn new(inner: Arc<Inner>, control: Control) -> Scan {
        let at = control.start;
        let reader = Reader { inner, window: AlignedBuf::new(), window_at: at };
        let durable = control.start;
        Scan { reader, control, at, previous: None, durable, records: 0, payload: 0..0, tail: None }
    }

    /// Goes back to the oldest record that is still on the disk; those before the checkpoint are not
    /// needed any more, and are written over from the oldest segment on.
    pub fn rewind(&mut self) -> Result<(), OpenError> {
        let mut at = self.reader.inner.segments.first().map_or(self.at, |segment| segment.first);
        while at < self.at {
            if let Found::Header { header, .. } = self.reader.header(at)?
                && self.reader.record_end(&header).is_some_and(|end| end <= self.at)
            {
                self.at = at;
                break;
            }
            at = Lsn(at.0 + BLOCK as u64);
        }
        Ok(())
    }

    /// Where a place between the oldest and the newest segment is on the disk.
    pub fn place(&self, lsn: Lsn) -> Option<Place> {
        let segment = self.reader.inner.segments.holding(lsn)?;
        Some(Place { path: segment.path.clone(), offset: segment.offset(lsn) })
    }

    /// Where recovery begins: the checkpoint.
    pub fn start(&self) -> Lsn {
        self.control.start
    }

    /// What the coordinator put into the checkpoint; empty in a new journal.
    pub fn checkpoint_note(&self) -> &[u8] {
        &self.control.note
    }

    /// Records found so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Where the records end; while the scan runs, the end of the last one.
    pub fn end_lsn(&self) -> Lsn {
        self.at
    }

    /// Everything before it is on stable storage, as the records so far show.
    pub fn durable(&self) -> Lsn {
        self.durable.min(self.at)
    }

    /// Puts the records found so far on stable storage. They may have been flushed only; and where a write or a
    /// sync failed, they may be in the system's cache and nowhere else. Nothing may be made of a record before,
    /// since what is made of it could outlast it.
    pub fn settle(&mut self) -> Result<(), OpenError> {
        assert!(self.reader.inner.segments.may_write(), "only looked at");
        if self.durable() < self.at {
            self.reader.inner.settle(self.durable(), self.at)?;
            self.durable = self.at;
        }
        Ok(())
    }

    /// How the journal ended; [`ScanEnd::Clean`] while the scan runs.
    pub fn end(&self) -> &ScanEnd {
        self.tail.as_ref().map_or(&ScanEnd::Clean, |tail| &tail.end)
    }

    /// Bytes between the checkpoint and the end of the last segment: how far the scan may have to go.
    pub fn bytes_max(&self) -> u64 {
        self.reader.end().0 - self.control.start.0
    }

    /// Whether the journal was closed and nothing was written to it since.
    pub fn was_closed(&self) -> bool {
        self.control.clean
    }

    /// Whether every record since the journal was last opened was on stable storage before
    /// [`Journal::write`](super::Journal::write) returned. Where some were only flushed, a power cut may
    /// have taken them from the end and left what was made of them.
    pub fn was_always_synced(&self) -> bool {
        !self.control.flushed
    }

    /// The next record, or `None` at the end. An error is damage; nothing is changed.
    #[expect(clippy::should_implement_trait, reason = "the record borrows from the scan")]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, OpenError> {
        if self.tail.is_some() {
            return Ok(None);
        }
        match self.step()? {
            Step::Record { link, durable, end, payload } => {
                let lsn = std::mem::replace(&mut self.at, end);
                self.previous = Some(link);
                self.durable = self.durable.max(durable);
                self.records += 1;
                self.payload = payload;
                let payload = self.payload();
                let stamp = Stamp { epoch: link.epoch, sequence: link.sequence, durable };
                Ok(Some(Record { lsn, end, stamp, payload }))
            }
            Step::Nothing => self.judge(None, None).map(|()| None),
            Step::Bad { what, end } => self.judge(Some(what), end).map(|()| None),
        }
    }

    /// The payload of the record that [`Scan::next`] gave last, again.
    pub fn payload(&self) -> &[u8] {
        &self.reader.window[self.payload.clone()]
    }

    /// Says that there was a record where the scan has ended, and why that is known: what is there is
    /// damaged then, unless the operator had it cut. Nothing is changed.
    pub fn contradict(&mut self, proof: &str) -> Result<(), OpenError> {
        let tail = self.tail.as_ref().expect("the scan has reached its end");
        let reason = format!("{}, and {proof}", tail.what);
        if self.reader.inner.options.cut_at != Some(self.at) {
            return Err(self.damage(reason));
        }
        let end = ScanEnd::CutByOperator { bytes: tail.bytes, reason };
        self.tail = self.tail.take().map(|tail| FoundTail { end, ..tail });
        Ok(())
    }

    /// Makes what was found durable and begins a new epoch at its end: from then on the journal takes
    /// records, and what lies after is cut. After an error the journal stays closed.
    ///
    /// # Panics
    /// When [`Scan::next`] has not yet said `None`, or the journal was opened for reading only.
    pub fn finish(&mut self) -> Result<(), OpenError> {
        assert!(self.tail.is_some(), "the scan has reached its end");
        assert!(self.reader.inner.segments.may_write(), "only looked at");
        self.reader.window = AlignedBuf::new();
        self.settle()?;
        self.reader.inner.begin_epoch(&Tail { end: self.at, previous: self.previous.map_or(0, |link| link.checksum) })
    }

    fn step(&mut self) -> Result<Step, OpenError> {
        if self.reader.end() == self.at || self.is_closed_here() {
            return Ok(Step::Nothing);
        }
        let (header, checksum, payload_checksum) = match self.reader.header(self.at)? {
            Found::Other => return Ok(Step::Nothing),
            Found::Torn => {
                return Ok(Step::Bad { what: "the checksum of a record's header is wrong", end: None });
            }
            Found::Header { header, checksum, payload_checksum } => (header, checksum, payload_checksum),
        };
        if !self.is_epoch_possible(header.epoch) {
            return Ok(Step::Nothing);
        }
        let Some(end) = self.reader.record_end(&header) else {
            let what = "a record reaches past the end of the journal";
            return Ok(Step::Bad { what, end: None });
        };
        if !self.continues(&header) {
            let what = "a record does not continue the one before it";
            return Ok(Step::Bad { what, end: Some(end) });
        }
        let payload = self.reader.bytes(Lsn(self.at.0), HEADER_BYTES + header.payload_bytes as usize)?;
        let payload = payload.start + HEADER_BYTES..payload.end;
        let found = crc32c::crc32c_append(checksum, &self.reader.window[payload.clone()]);
        if found != payload_checksum {
            let what = "the checksum of a record's payload is wrong";
            return Ok(Step::Bad { what, end: Some(end) });
        }
        let link = Link { epoch: header.epoch, sequence: header.sequence, checksum };
        Ok(Step::Record { link, durable: header.durable, end, payload })
    }

    /// Whether the journal was closed at this place: what lies after was never completed.
    fn is_closed_here(&self) -> bool {
        self.control.clean && self.at >= self.control.durable
    }

    fn is_epoch_possible(&self, epoch: u64) -> bool {
        if self.at >= self.control.epoch_start { epoch == self.control.epoch } else { epoch < self.control.epoch }
    }

    fn continues(&self, header: &Header) -> bool {
        let Some(previous) = self.previous else {
            return true;
        };
        let follows = if header.epoch == previous.epoch {
            header.sequence == previous.sequence + 1
        } else {
            header.epoch > previous.epoch && header.sequence == 0
        };
        follows && header.previous == previous.checksum
    }

    /// Decides what the end is.
    fn judge(&mut self, bad: Option<&'static str>, bad_end: Option<Lsn>) -> Result<(), OpenError> {
        let beyond = self.look_beyond()?;
        let last = beyond.end.max(bad_end);
        let what = bad.unwrap_or("a record is missing");
        let bytes = last.map_or(0, |last| last.0 - self.at.0);
        self.tail = Some(FoundTail { what, bytes, end: ScanEnd::Clean });
        if let Some(proof) = self.proof_of_damage(&beyond) {
            let judged = self.contradict(&proof);
            if judged.is_err() {
                self.tail = None;
            }
            return judged;
        }
        if bad.is_some() || beyond.headers > 0 {
            let bytes = bytes.max(BLOCK as u64);
            let more = match beyond.headers {
                0 => String::new(),
                1 => " with 1 record after it".to_owned(),
                count => format!(" with {count} records after it"),
            };
            let reason = format!("{what} at lsn {}{more}", self.at);
            self.tail = Some(FoundTail { what, bytes, end: ScanEnd::TornTail { bytes, reason } });
        }
        Ok(())
    }

    fn proof_of_damage(&self, beyond: &Beyond) -> Option<String> {
        if self.at < self.control.epoch_start {
            let until = self.control.epoch_start;
            return Some(format!("an earlier start of the server found records up to lsn {until}"));
        }
        if self.at < self.control.durable {
            let until = self.control.durable;
            return Some(format!("the last checkpoint knew records up to lsn {until} to be durable"));
        }
        let witness = beyond.witness?;
        Some(format!("the record at lsn {witness} knew it to be durable"))
    }

    fn damage(&self, what: String) -> OpenError {
        let last = || {
            let segment = self.reader.inner.segments.last()?;
            Some(Place { path: segment.path.clone(), offset: segment.offset(self.at) })
        };
        match self.place(self.at).or_else(last) {
            Some(Place { path, offset }) => OpenError::Damaged { path, offset, lsn: Some(self.at), what },
            None => OpenError::Missing { path: self.reader.inner.segments.path_of(1), why: what },
        }
    }

    /// Looks at every block after the records' end for headers of the newest epoch.
    fn look_beyond(&mut self) -> Result<Beyond, OpenError> {
        let mut beyond = Beyond::default();
        if self.is_closed_here() {
            return Ok(beyond);
        }
        let mut at = Lsn(self.at.0 + BLOCK as u64);
        while at < self.reader.end() {
            if let Found::Header { header, .. } = self.reader.header(at)?
                && header.epoch == self.control.epoch
                && let Some(end) = self.reader.record_end(&header)
            {
                beyond.headers += 1;
                beyond.end = Some(end);
                if header.durable > self.at {
                    beyond.witness.get_or_insert(at);
                }
            }
            at = Lsn(at.0 + BLOCK as u64);
        }
        Ok(beyond)
    }
}

/// The journal's bytes as one string, read ahead.
struct Reader {
    inner: Arc<Inner>,
    window: AlignedBuf,
    window_at: Lsn,
}

impl Reader {
    /// After the last prepared byte.
    fn end(&self) -> Lsn {
        Lsn(self.inner.prepared_end.load(Ordering::Acquire))
    }

    /// The end of a record, if it lies within the journal.
    fn record_end(&self, header: &Header) -> Option<Lsn> {
        let end = header.lsn.0.checked_add(record_bytes(header.payload_bytes)?)?;
        (end <= self.end().0).then_some(Lsn(end))
    }

    fn header(&mut self, lsn: Lsn) -> Result<Found, OpenError> {
        let range = self.bytes(lsn, HEADER_BYTES)?;
        let bytes = self.window[range].first_chunk().expect("a header's bytes were asked for");
        Ok(Header::decode(bytes, self.inner.journal_id, lsn))
    }

    /// Has `len` bytes from `lsn`, which lie within the journal, in the window, and says where.
    fn bytes(&mut self, lsn: Lsn, len: usize) -> Result<Range<usize>, OpenError> {
        let covered = lsn >= self.window_at && lsn.0 + len as u64 <= self.window_at.0 + self.window.len() as u64;
        if !covered {
            self.fill(lsn, len)?;
        }
        let start = usize::try_from(lsn.0 - self.window_at.0).expect("an offset in the window");
        Ok(start..start + len)
    }

    fn fill(&mut self, lsn: Lsn, len: usize) -> Result<(), OpenError> {
        let left = usize::try_from(self.end().0 - lsn.0).unwrap_or(usize::MAX);
        self.window.clear();
        if self.window.capacity() > WINDOW + BLOCK {
            self.window = AlignedBuf::new();
        }
        self.window.resize(len.max(WINDOW).min(left));
        self.window_at = lsn;
        let mut filled = 0;
        while filled < self.window.len() {
            let at = Lsn(lsn.0 + filled as u64);
            let segment = self.inner.segments.holding(at).expect("segments have no gaps");
            let room = usize::try_from(segment.end().0 - at.0).unwrap_or(usize::MAX);
            let part = room.min(self.window.len() - filled);
            let offset = segment.offset(at);
            let got = segment.buffered.read_at(offset, &mut self.window[filled..filled + part])?;
            if got < part {
                let source = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(IoError::at("read", &segment.path, offset + got as u64, source).into());
            }
            filled += part;
        }
        Ok(())
    }
}
