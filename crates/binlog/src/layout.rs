//! The events that get their place: a transaction in the ordered section, a file's first events and its
//! last.
//!
//! Inside the ordered section a transaction costs its GTID and XID events, a position and a checksum per
//! event, and one copy.

use super::gtid::{Gtid, GtidSet};
use super::transaction::{Ending, TransactionEvents, with_own_length};
use super::wire::{
    CRC_BYTES, EventType, FILE_BYTES_MAX, FLAG_IGNORABLE, FLAG_IN_USE, FLAGS_AT, HEADER_BYTES, LOG_POS_AT, MAGIC,
    Origin, SIZE_AT, begin_event, end_event, place_event, push_lenenc, u32_at,
};

/// Bytes of a GTID event without its transaction length.
const GTID_EVENT_FIXED_BYTES: u64 = (HEADER_BYTES + 42 + 7 + 4 + CRC_BYTES) as u64;
/// Most bytes of a GTID event.
pub(super) const GTID_EVENT_BYTES_MAX: u64 = GTID_EVENT_FIXED_BYTES + 9;
/// Bytes of an XID event.
pub(super) const XID_EVENT_BYTES: u64 = (HEADER_BYTES + 8 + CRC_BYTES) as u64;

/// Flag of a GTID event: the transaction may hold statements, not only rows.
const MAY_HAVE_STATEMENTS: u8 = 1;
/// Type of the logical timestamps that follow it in a GTID event.
const LOGICAL_TIMESTAMPS: u8 = 2;

/// Version of the binlog format.
const BINLOG_VERSION: u16 = 4;
/// Bytes of the server version in a format description, padded with zeros.
pub(super) const SERVER_VERSION_BYTES: usize = 50;
/// Checksum algorithm CRC32.
pub(super) const CHECKSUM_CRC32: u8 = 1;
/// Length of the fixed part of each event type's body, from type 1 on, as MySQL 8.0 gives them.
pub(super) const POST_HEADER_BYTES: [u8; 41] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 98, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10, 10, 10, 42, 42, 0,
    18, 52, 0, 10, 40, 0,
];

/// What the order gives a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its global transaction id.
    pub gtid: Gtid,
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
    /// `server_id`.
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
}

impl TransactionEvents {
    /// Bytes that [`TransactionEvents::lay_out`] will append. The transaction must be sealed.
    pub fn laid_out_len(&self) -> u64 {
        with_own_length(GTID_EVENT_FIXED_BYTES + self.buffer.len() as u64 + self.xid_event_bytes())
    }

    /// Appends the whole transaction to `out`, as it will stand in its file from offset `at` on: GTID, the
    /// events, XID, with positions and checksums. Returns the offset behind it. The events stay as they
    /// are and may be laid out again elsewhere.
    ///
    /// # Panics
    /// When there is no event, or the transaction would end behind [`FILE_BYTES_MAX`]: the caller rotates
    /// first, and refuses a transaction that fits no file.
    pub fn lay_out(&mut self, out: &mut Vec<u8>, at: u64, stamp: &Stamp) -> u64 {
        assert!(!self.is_empty(), "a transaction that is laid out has events");
        self.seal();
        let bytes = self.laid_out_len();
        assert!(at + bytes <= FILE_BYTES_MAX, "a transaction fits its file");
        let begin = out.len();
        out.reserve(bytes as usize);
        self.push_gtid(out, bytes, stamp);
        let gtid_end = at as usize + out.len() - begin;
        place_event(&mut out[begin..], gtid_end as u32);
        if let Some(number_at) = self.number_at {
            self.buffer[number_at..number_at + 8].copy_from_slice(&stamp.xid.to_le_bytes());
        }
        self.place_events(gtid_end);
        out.extend_from_slice(&self.buffer);
        if self.ending == Ending::Xid {
            let xid_at = out.len();
            begin_event(out, EventType::XID, 0, self.origin());
            out.extend_from_slice(&stamp.xid.to_le_bytes());
            end_event(out, xid_at);
            place_event(&mut out[xid_at..], (at + bytes) as u32);
        }
        debug_assert_eq!(out.len() - begin, bytes as usize);
        at + bytes
    }

    fn push_gtid(&self, out: &mut Vec<u8>, transaction_bytes: u64, stamp: &Stamp) {
        let start = out.len();
        begin_event(out, EventType::GTID, 0, self.origin());
        out.push(if self.ending == Ending::Xid { 0 } else { MAY_HAVE_STATEMENTS });
        out.extend_from_slice(stamp.gtid.uuid.as_bytes());
        out.extend_from_slice(&stamp.gtid.gno.to_le_bytes());
        out.push(LOGICAL_TIMESTAMPS);
        out.extend_from_slice(&stamp.last_committed.to_le_bytes());
        out.extend_from_slice(&stamp.sequence_number.to_le_bytes());
        // 55 bits of microseconds; the bit above would say that the original commit's time follows.
        let commit_time = stamp.commit_time_us & ((1 << 55) - 1);
        out.extend_from_slice(&commit_time.to_le_bytes()[..7]);
        push_lenenc(out, transaction_bytes);
        out.extend_from_slice(&self.options.server_version.to_le_bytes());
        end_event(out, start);
    }

    fn place_events(&mut self, at: usize) {
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
    let mut out = MAGIC.to_vec();
    push_format_description(&mut out, identity, start, origin);
    let start = out.len();
    begin_event(&mut out, EventType::PREVIOUS_GTIDS, FLAG_IGNORABLE, origin);
    previous.encode(&mut out);
    end_event(&mut out, start);
    let log_pos = u32::try_from(out.len()).expect("a GTID set is shorter than 4 GiB");
    place_event(&mut out[start..], log_pos);
    out
}

fn push_format_description(out: &mut Vec<u8>, identity: &ServerIdentity, start: FileStart, origin: Origin) {
    let begin = out.len();
    begin_event(out, EventType::FORMAT_DESCRIPTION, 0, origin);
    out.extend_from_slice(&BINLOG_VERSION.to_le_bytes());
    let mut version = [0; SERVER_VERSION_BYTES];
    version[..identity.server_version.len()].copy_from_slice(identity.server_version.as_bytes());
    out.extend_from_slice(&version);
    let created_s = if start == FileStart::ServerStart { origin.timestamp_s } else { 0 };
    out.extend_from_slice(&created_s.to_le_bytes());
    out.push(HEADER_BYTES as u8);
    out.extend_from_slice(&POST_HEADER_BYTES);
    out.push(CHECKSUM_CRC32);
    end_event(out, begin);
    let log_pos = out.len() as u32;
    place_event(&mut out[begin..], log_pos);
    // The checksum is that of a closed file, so that closing changes one bit and nothing else.
    out[begin + FLAGS_AT..begin + FLAGS_AT + 2].copy_from_slice(&FLAG_IN_USE.to_le_bytes());
}

/// The last event of a full file: names the next one. `at` is the offset it will stand at.
///
/// # Panics
/// When it would end behind [`FILE_BYTES_MAX`]; a file is rotated long before.
pub fn rotate_event(server_id: u32, timestamp_s: u32, at: u64, next_file: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(rotate_event_len(next_file) as usize);
    begin_event(&mut out, EventType::ROTATE, 0, Origin { timestamp_s, server_id });
    out.extend_from_slice(&(MAGIC.len() as u64).to_le_bytes());
    out.extend_from_slice(next_file.as_bytes());
    end_event(&mut out, 0);
    let log_pos = u32::try_from(at + out.len() as u64).expect("a file is shorter than 4 GiB");
    place_event(&mut out, log_pos);
    out
}

/// Bytes of [`rotate_event`].
pub fn rotate_event_len(next_file: &str) -> u64 {
    (HEADER_BYTES + 8 + next_file.len() + CRC_BYTES) as u64
}
