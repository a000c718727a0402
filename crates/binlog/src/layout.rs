//! The events that get their place: a transaction in the ordered section, a file's first events and its
//! last.
//!
//! Inside the ordered section a transaction costs its GTID and XID events, a position and a checksum per
//! event, and one copy.

use super::events::gtid::{self, GtidEvent};
use super::events::xid::XidEvent;
use super::events::{format_description, previous_gtids};
use super::gtid::{Gtid, GtidSet};
use super::transaction::{Ending, TransactionEvents};
use super::wire::{CRC_BYTES, FILE_BYTES_MAX, LOG_POS_AT, MAGIC, Origin, SIZE_AT, place_event, u32_at};

/// What the order gives a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its global transaction id; none makes it anonymous.
    pub gtid: Option<Gtid>,
    /// Sequence number of the youngest transaction in the same file that this one must follow; a replica
    /// may run it beside any younger one. 0 when there is none.
    pub last_committed: u64,
    /// Its number in the file, from 1.
    pub sequence_number: u64,
    /// The commit's number, by which a two-phase recovery finds it.
    pub xid: u64,
    /// Microseconds since the epoch when the order was fixed.
    pub commit_time_us: u64,
}

/// Who writes the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerIdentity {
    pub server_id: u32,
    /// `version`: `digits.digits.digits[-anything]`, at most 50 bytes.
    pub server_version: String,
}

/// Why a file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStart {
    /// The server started: replicas drop what its former life left open.
    ServerStart,
    /// The file before was full.
    Rotation,
    /// As a rotation, and an operator has added GTIDs that are in no file to those before.
    GtidsAdded,
    /// As a rotation, and an operator has had all GTIDs forgotten: nothing counts as written before.
    GtidsReset,
}

impl FileStart {
    /// Whether the file before ends by naming this one.
    pub fn follows_rotate(self) -> bool {
        self != FileStart::ServerStart
    }

    /// Whether an operator has changed what counts as written before.
    pub fn changes_gtids(self) -> bool {
        matches!(self, FileStart::GtidsAdded | FileStart::GtidsReset)
    }
}

impl TransactionEvents {
    /// Bytes that [`TransactionEvents::lay_out`] will append. The transaction must be sealed.
    pub fn laid_out_len(&self) -> u64 {
        gtid::transaction_bytes(self.buffer.len() as u64 + self.xid_event_bytes())
    }

    /// Appends the whole transaction to `out`, as it will stand in its file from offset `at` on: GTID, the
    /// events, XID, with positions and checksums. Returns the offset after it. The events stay as they
    /// are and may be laid out again elsewhere.
    ///
    /// # Panics
    /// When there is no event, or the transaction would end beyond [`FILE_BYTES_MAX`]: the caller rotates
    /// first, and refuses a transaction that fits no file.
    pub fn lay_out(&mut self, out: &mut Vec<u8>, at: u64, stamp: &Stamp) -> u64 {
        assert!(!self.is_empty(), "a transaction that is laid out has events");
        self.seal();
        let bytes = self.laid_out_len();
        assert!(at + bytes <= FILE_BYTES_MAX, "a transaction fits its file");
        let begin = out.len();
        out.reserve(bytes as usize);
        let gtid = GtidEvent {
            gtid: stamp.gtid,
            last_committed: stamp.last_committed,
            sequence_number: stamp.sequence_number,
            commit_time_us: stamp.commit_time_us,
            transaction_bytes: bytes,
            server_version: self.options.server_version,
        };
        gtid.push(out, self.origin(), self.has_only_rows());
        let gtid_end = at as usize + out.len() - begin;
        place_event(&mut out[begin..], gtid_end as u32);
        if let Some(number_at) = self.number_at {
            self.buffer[number_at..number_at + 8].copy_from_slice(&stamp.xid.to_le_bytes());
        }
        self.place_events(gtid_end);
        out.extend_from_slice(&self.buffer);
        if self.ending == Ending::Xid {
            let xid_at = out.len();
            XidEvent { xid: stamp.xid }.push(out, self.origin());
            place_event(&mut out[xid_at..], (at + bytes) as u32);
        }
        debug_assert_eq!(out.len() - begin, bytes as usize);
        at + bytes
    }

    /// Writes positions and checksums into the events of the buffer, which begins at offset `at`.
    pub(super) fn place_events(&mut self, at: usize) {
        for slot in &self.slots {
            let size = u32_at(&self.buffer, slot.start + SIZE_AT) as usize;
            let event = &mut self.buffer[slot.start..slot.start + size];
            let log_pos = (at + slot.start + size) as u32;
            match slot.early_crc {
                None => place_event(event, log_pos),
                Some(early) => {
                    event[LOG_POS_AT..LOG_POS_AT + 4].copy_from_slice(&log_pos.to_le_bytes());
                    event[size - CRC_BYTES..].copy_from_slice(&early.at(log_pos).to_le_bytes());
                }
            }
        }
    }
}

/// The bytes every file begins with: magic number, format description, the GTIDs of the files before. The
/// file is marked as in use; [`BinlogFiles`](super::BinlogFiles) takes the mark away when it closes it.
///
/// # Panics
/// When the server's version is longer than 50 bytes.
pub fn file_header(identity: &ServerIdentity, start: FileStart, timestamp_s: u32, previous: &GtidSet) -> Vec<u8> {
    let origin = Origin { timestamp_s, server_id: identity.server_id };
    let created_s = if start == FileStart::ServerStart { timestamp_s } else { 0 };
    let mut out = MAGIC.to_vec();
    format_description::push(&mut out, &identity.server_version, created_s, origin);
    let at = out.len();
    previous_gtids::push(&mut out, previous, start.changes_gtids(), origin);
    let log_pos = u32::try_from(out.len()).expect("a GTID set is shorter than 4 GiB");
    place_event(&mut out[at..], log_pos);
    out
}
