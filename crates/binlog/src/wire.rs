//! The frame every event stands in: header, types, flags, integers.
//!
//! Format, little-endian:
//!
//! ```text
//! timestamp u32 | type u8 | server id u32 | event size u32 | log_pos u32 | flags u16 | body | crc32 u32
//! ```
//!
//! The size counts header and checksum; `log_pos` is the offset after the event in its file.

/// First bytes of every binlog file.
pub(super) const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];
/// Bytes of an event's header.
pub const HEADER_BYTES: usize = 19;
/// Bytes of the checksum after an event.
pub(super) const CRC_BYTES: usize = 4;
/// Offset of the event size in the header.
pub(super) const SIZE_AT: usize = 9;
/// Offset of `log_pos` in the header.
pub(super) const LOG_POS_AT: usize = 13;
/// Offset of the flags in the header.
pub(super) const FLAGS_AT: usize = 17;
/// The longest a file can be: `log_pos` has 32 bits. A transaction that would pass it must go to a new
/// file, and one that is longer by itself cannot be written.
pub const FILE_BYTES_MAX: u64 = u32::MAX as u64;

/// Flag of the format description: the file has not been closed.
pub(super) const FLAG_IN_USE: u16 = 0x1;
/// Flag of a query: a reader must not select the query's database first.
pub(super) const FLAG_SUPPRESS_USE: u16 = 0x8;
/// Flag of an event that stands in no file: a reader's position does not move by it.
pub(super) const FLAG_ARTIFICIAL: u16 = 0x20;
/// Flag of an event that a reader who does not know its type may skip.
pub(super) const FLAG_IGNORABLE: u16 = 0x80;
/// An operator has changed the set of this PREVIOUS_GTIDS: it is not just that of the files before. Other readers of the
/// binlog do not know the flag and need not.
pub(super) const FLAG_GTIDS_CHANGED: u16 = 0x1000;

/// What an event is; the codes are MySQL's, and each stands in its event's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventType(pub u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader {
    /// Seconds since the epoch when the statement began.
    pub timestamp_s: u32,
    /// What the event is.
    pub event_type: EventType,
    /// Who wrote it first.
    pub server_id: u32,
    /// Bytes of the event with header and checksum.
    pub event_bytes: u32,
    /// Offset after the event in the file it was written to.
    pub log_pos: u32,
    /// Flags of the header.
    pub flags: u16,
}

impl EventHeader {
    /// Reads the fields; none of them is judged.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> EventHeader {
        EventHeader {
            timestamp_s: u32_at(bytes, 0),
            event_type: EventType(bytes[4]),
            server_id: u32_at(bytes, 5),
            event_bytes: u32_at(bytes, SIZE_AT),
            log_pos: u32_at(bytes, LOG_POS_AT),
            flags: u16::from_le_bytes([bytes[FLAGS_AT], bytes[FLAGS_AT + 1]]),
        }
    }
}

/// Who an event comes from and when; the part of a header that is known when it is begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) timestamp_s: u32,
    pub(super) server_id: u32,
}

/// Appends a header without size and position.
pub(super) fn begin_event(out: &mut Vec<u8>, event_type: EventType, flags: u16, origin: Origin) {
    let mut header = [0; HEADER_BYTES];
    header[0..4].copy_from_slice(&origin.timestamp_s.to_le_bytes());
    header[4] = event_type.0;
    header[5..9].copy_from_slice(&origin.server_id.to_le_bytes());
    header[FLAGS_AT..].copy_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&header);
}

/// Makes room for the checksum of the event that begins at `start` and writes its size.
///
/// # Panics
/// When the event is longer than its 32-bit size can say; rows and statements are limited by
/// `max_allowed_packet` to far less.
pub(super) fn end_event(out: &mut Vec<u8>, start: usize) {
    out.extend_from_slice(&[0; CRC_BYTES]);
    let size = u32::try_from(out.len() - start).expect("an event is shorter than 4 GiB");
    out[start + SIZE_AT..start + SIZE_AT + 4].copy_from_slice(&size.to_le_bytes());
}

/// Writes the position after a whole event into it, then its checksum.
pub(super) fn place_event(event: &mut [u8], log_pos: u32) {
    event[LOG_POS_AT..LOG_POS_AT + 4].copy_from_slice(&log_pos.to_le_bytes());
    let crc_at = event.len() - CRC_BYTES;
    let crc = crc32fast::hash(&event[..crc_at]);
    event[crc_at..].copy_from_slice(&crc.to_le_bytes());
}

/// Bytes of a length-encoded integer.
pub(super) fn lenenc_len(value: u64) -> usize {
    match value {
        0..=0xfa => 1,
        0xfb..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 9,
    }
}

/// Appends a length-encoded integer.
pub(super) fn push_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match lenenc_len(value) {
        1 => out.push(bytes[0]),
        3 => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        4 => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// The little-endian integer at `at`, which must lie inside.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut field = [0; 4];
    field.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(field)
}
