//! Events of a large transaction, which go to a file while it runs: memory holds the last ones only.
//!
//! The file is to become the binlog file of this transaction, as it is: nothing is copied when it commits. So events get
//! their positions when they are written. In front of them is room for what only the commit knows: the file's header and
//! the GTID event. BEGIN follows those, and a ROWS_QUERY event that fills what is left: readers of every kind know it there,
//! and do nothing about it. The XID event follows the events.
//!
//! Invariants
//! 1. The file has whole events, with positions and checksums, after that room, all but BEGIN; the buffer has what follows.
//! 2. What is taken back from the file is read into memory again where an event is to take further rows.
//!
//! On crash: the file goes at the next start, unless the log has the commit (`files/large.rs`).

use cohort_io::IoError;

use super::{EventsMark, OpenRows, TransactionEvents};
use crate::events::gtid::{self, GtidEvent};
use crate::events::rows::STATEMENT_END;
use crate::events::rows_query;
use crate::events::xid::{self, XidEvent};
use crate::events_file::EventsFile;
use crate::layout::Stamp;
use crate::transaction::Ending;
use crate::wire::{
    CRC_BYTES, EventType, FLAG_IGNORABLE, HEADER_BYTES, LOG_POS_AT, Origin, SIZE_AT, begin_event, end_event,
    place_event, u32_at,
};

/// What is written at a time and not synced yet, at most: the sync of a commit has little to do.
const UNSYNCED_BYTES_MAX: u64 = 8 << 20;

/// What fills the room in front of the events says this, and blanks follow.
const FILLS_ROOM: &[u8] = b"# room for the head of a large transaction";

/// Least bytes of the event that fills the room.
const FILL_BYTES_MIN: u64 = (HEADER_BYTES + 1 + CRC_BYTES) as u64;

/// What a transaction has in its file.
#[derive(Debug)]
pub(super) struct Spilled {
    file: EventsFile,
    /// The first event, which is not in the file.
    begin: Vec<u8>,
    /// Bytes of the events, with the first one.
    len: u64,
    /// Events, about: where one was taken back in part it counts no more.
    slots: usize,
    unsynced: u64,
    /// A write, sync or read failed: what the file holds is not known, and the transaction cannot be committed.
    broken: bool,
}

/// The events of a transaction that are whole, on stable storage, and in a file of their own.
#[derive(Debug)]
pub struct LargeEvents {
    file: EventsFile,
    begin: Vec<u8>,
    end: u64,
    origin: Origin,
    ending: Ending,
    only_rows: bool,
    server_version: u32,
}

impl Spilled {
    /// Where in the file the event is that has so many bytes of events in front of it.
    fn place(&self, before: u64) -> u64 {
        self.file.head_bytes() + before - self.begin.len() as u64
    }

    /// Writes, and syncs where much was written. Where the disk is full it may be tried again.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.check()?;
        let written = self.file.write_at(at, bytes);
        self.broken |= written.as_ref().is_err_and(|error| !error.is_no_space());
        written?;
        self.unsynced += bytes.len() as u64;
        if self.unsynced >= UNSYNCED_BYTES_MAX {
            let synced = self.file.sync();
            self.broken |= synced.is_err();
            synced?;
            self.unsynced = 0;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), IoError> {
        if self.broken { Err(self.file.failed_before()) } else { Ok(()) }
    }
}

impl TransactionEvents {
    pub(super) fn spilled_len(&self) -> u64 {
        self.spilled.as_ref().map_or(0, |spilled| spilled.len)
    }

    pub(super) fn spilled_slots(&self) -> usize {
        self.spilled.as_ref().map_or(0, |spilled| spilled.slots)
    }

    /// Whether the transaction has a file.
    pub fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    /// Whether events may go to a file: not those of XA transactions, nor of statements that are transactions.
    pub fn may_spill(&self) -> bool {
        self.ending == Ending::Xid && self.xa.is_none()
    }

    /// Writes what is in memory to the transaction's file, but for the event that takes further rows; `open` makes the
    /// file, if there is none yet. After an error nothing is in the file that was not before.
    pub fn spill<E: From<IoError>>(&mut self, open: impl FnOnce() -> Result<EventsFile, E>) -> Result<(), E> {
        let upto = self.statement.open.map_or(self.buffer.len(), |open| open.start);
        if upto == 0 || !self.may_spill() {
            return Ok(());
        }
        if self.spilled.is_none() {
            let (file, begin) = (open()?, Vec::new());
            self.spilled = Some(Box::new(Spilled { file, begin, len: 0, slots: 0, unsynced: 0, broken: false }));
        }
        let spilled = self.spilled.as_mut().expect("it was just made");
        let mut from = 0;
        if spilled.len == 0 {
            from = u32_at(&self.buffer, SIZE_AT) as usize;
            spilled.begin = self.buffer[..from].to_vec();
        }
        let at = spilled.place(spilled.len + from as u64);
        self.place_events(at as usize - from);
        let spilled = self.spilled.as_mut().expect("it was just made");
        spilled.write(at, &self.buffer[from..upto])?;
        spilled.len += upto as u64;
        spilled.slots += self.slots.len();
        self.slots.clear();
        self.buffer.drain(..upto);
        if let Some(open) = &mut self.statement.open {
            open.start = 0;
        }
        self.statement.maps_spilled = !self.statement.tables.is_empty();
        Ok(())
    }

    /// Completes the events, which are all in the file afterwards, on stable storage.
    ///
    /// # Panics
    /// When there are none.
    pub fn finish_spilled<E: From<IoError>>(
        &mut self,
        open: impl FnOnce() -> Result<EventsFile, E>,
    ) -> Result<LargeEvents, E> {
        assert!(!self.is_empty(), "a transaction that is laid out has events");
        self.seal();
        self.spill(open)?;
        let spilled = self.spilled.take().expect("events that may be spilled are");
        let end = spilled.place(spilled.len);
        spilled.check()?;
        spilled.file.set_len(end)?;
        spilled.file.sync()?;
        let server_version = self.options.server_version;
        let Spilled { file, begin, .. } = *spilled;
        let (ending, only_rows) = (self.ending, self.has_only_rows());
        Ok(LargeEvents { file, begin, end, origin: self.origin(), ending, only_rows, server_version })
    }

    /// [`TransactionEvents::truncate`] to a mark that was made before something went to the file, or before rows of another
    /// table began a new group.
    pub(super) fn truncate_spilled(&mut self, mark: EventsMark) {
        let (mut shift, mut later_maps) = (0, 0);
        if mark.tables == 0 {
            self.next_statement();
        } else {
            let statement = &mut self.statement;
            assert!(mark.serial == statement.serial, "a mark within a statement is used before its end");
            if let Some((maps_end, tables)) = statement.groups.get(mark.group).cloned() {
                statement.groups.truncate(mark.group);
                (statement.maps_end, statement.tables) = (maps_end, tables);
            }
            // Maps that came into the group after the mark stay.
            shift = statement.maps_end - mark.maps_end;
            later_maps = statement.tables.len() - mark.tables;
        }
        self.statements = mark.statements;
        let target = mark.spilled + mark.len as u64 + shift;
        let open = mark.open.filter(|_| mark.tables > 0);
        let keep = open.map_or(target, |open| mark.spilled + open.start as u64 + shift);
        let in_file = self.spilled_len();
        if keep < in_file {
            self.read_back(keep, target, mark.slots + later_maps);
        } else {
            self.buffer.truncate((target - in_file) as usize);
            self.slots.truncate(mark.slots + later_maps - self.spilled_slots());
        }
        let in_file = self.spilled_len();
        self.statement.open = open.map(|open| OpenRows { start: (keep - in_file) as usize, ..open });
        if let Some(open) = self.statement.open {
            let position = open.start + LOG_POS_AT;
            self.buffer[position..position + 4].fill(0);
        }
        self.statement.maps_spilled = !self.statement.tables.is_empty() && self.statement.maps_end <= in_file;
        if self.is_empty() {
            self.begin_anew();
        }
    }

    /// Leaves `keep` bytes in the file, and has those up to `target` in memory.
    fn read_back(&mut self, keep: u64, target: u64, slots: usize) {
        self.slots.clear();
        self.buffer.clear();
        self.buffer.resize((target - keep) as usize, 0);
        let spilled = self.spilled.as_mut().expect("something is in the file");
        if keep == 0 {
            spilled.len = 0;
            spilled.slots = 0;
            return;
        }
        let at = spilled.place(keep);
        spilled.broken |= spilled.file.read_exact_at(at, &mut self.buffer).is_err();
        spilled.len = keep;
        spilled.slots = slots;
    }

    /// Ends the rows so far as a statement's, because the table maps of this one are in the file.
    pub(super) fn begin_group(&mut self) {
        self.close_rows(STATEMENT_END);
        let tables = std::mem::take(&mut self.statement.tables);
        self.statement.groups.push((self.statement.maps_end, tables));
        self.statement.maps_spilled = false;
    }
}

impl LargeEvents {
    /// Where they are.
    pub fn file(&self) -> &EventsFile {
        &self.file
    }

    /// Offset of the first of the events in the file.
    pub fn begin(&self) -> u64 {
        self.file.head_bytes()
    }

    /// Offset after the last one.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Most bytes of what [`LargeEvents::close`] makes.
    pub const CLOSE_BYTES_MAX: u64 = xid::EVENT_BYTES;

    /// The longest header of a file that leaves room for what else is in front of the events.
    pub fn header_bytes_max(&self) -> u64 {
        self.begin().saturating_sub(gtid::EVENT_BYTES_MAX + self.begin.len() as u64 + FILL_BYTES_MIN)
    }

    /// Appends what is between the file's header, which `head` has, and the events.
    ///
    /// # Panics
    /// When the header is longer than [`LargeEvents::header_bytes_max`].
    pub fn push_head(&self, head: &mut Vec<u8>, stamp: &Stamp) {
        let header = head.len() as u64;
        assert!(header <= self.header_bytes_max(), "a transaction's file has room for its header");
        let close = if self.ending == Ending::Xid { xid::EVENT_BYTES } else { 0 };
        let gtid = GtidEvent {
            gtid: stamp.gtid,
            last_committed: stamp.last_committed,
            sequence_number: stamp.sequence_number,
            commit_time_us: stamp.commit_time_us,
            transaction_bytes: self.end + close - header,
            server_version: self.server_version,
        };
        let place_last = |head: &mut Vec<u8>, start: usize| {
            let end = head.len() as u32;
            place_event(&mut head[start..], end);
        };
        gtid.push(head, self.origin, self.only_rows);
        place_last(head, header as usize);
        let begin = head.len();
        head.extend_from_slice(&self.begin);
        place_last(head, begin);
        let fill = head.len();
        begin_event(head, EventType::ROWS_QUERY, FLAG_IGNORABLE, self.origin);
        let mut text = FILLS_ROOM.to_vec();
        text.resize((self.begin() as usize - fill) - FILL_BYTES_MIN as usize, b' ');
        rows_query::push_body(head, &text);
        end_event(head, fill);
        place_last(head, fill);
        debug_assert_eq!(head.len() as u64, self.begin());
    }

    /// What follows the events.
    pub fn close(&self, stamp: &Stamp) -> Vec<u8> {
        let mut close = Vec::new();
        if self.ending == Ending::Xid {
            XidEvent { xid: stamp.xid }.push(&mut close, self.origin);
            place_event(&mut close, (self.end + xid::EVENT_BYTES) as u32);
        }
        close
    }
}
