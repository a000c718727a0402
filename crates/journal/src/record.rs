//! A record's header: what makes a block the beginning of a record, and of which one.
//!
//! Format: `docs/journal-format.md`.

use cohort_io::BLOCK;

use super::Lsn;

/// Bytes in front of the payload.
pub(super) const HEADER_BYTES: usize = 72;
const MAGIC: [u8; 8] = *b"COHJREC\x01";
const HEADER_CRC_AT: usize = 64;
const PAYLOAD_CRC_AT: usize = 68;

/// What a record says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) flags: u32,
    /// The checksum of the record before it, 0 for the first of a journal.
    pub(super) previous: u32,
    pub(super) journal_id: u64,
    pub(super) epoch: u64,
    pub(super) lsn: Lsn,
    /// Number within the epoch, from 0.
    pub(super) sequence: u64,
    /// Everything before it was known to be on stable storage when this record was laid out.
    pub(super) durable: Lsn,
    pub(super) payload_bytes: u64,
}

/// What the bytes at a place turned out to be.
#[derive(Debug)]
pub(super) enum Found {
    /// A header that belongs here, with its checksum and that of the payload.
    Header { header: Header, checksum: u32, payload_checksum: u32 },
    /// It claims to be of this journal and place, and its checksum disagrees.
    Torn,
    /// Zeros, or what an earlier use of the segment left.
    Other,
}

/// Bytes that a record with such a payload takes in the journal.
pub(super) fn record_bytes(payload_bytes: u64) -> Option<u64> {
    payload_bytes.checked_add(HEADER_BYTES as u64)?.checked_next_multiple_of(BLOCK as u64)
}

impl Header {
    /// The header's bytes, the payload's checksum still open, and the header's checksum.
    pub(super) fn encode(&self) -> ([u8; HEADER_BYTES], u32) {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.flags.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.previous.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.journal_id.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.lsn.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.durable.0.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.payload_bytes.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..HEADER_CRC_AT]);
        bytes[HEADER_CRC_AT..PAYLOAD_CRC_AT].copy_from_slice(&checksum.to_le_bytes());
        (bytes, checksum)
    }

    /// Reads the header expected at `lsn`.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES], journal_id: u64, lsn: Lsn) -> Found {
        let u32_at = |at: usize| u32::from_le_bytes(array(&bytes[at..]));
        let u64_at = |at: usize| u64::from_le_bytes(array(&bytes[at..]));
        let header = Header {
            flags: u32_at(8),
            previous: u32_at(12),
            journal_id: u64_at(16),
            epoch: u64_at(24),
            lsn: Lsn(u64_at(32)),
            sequence: u64_at(40),
            durable: Lsn(u64_at(48)),
            payload_bytes: u64_at(56),
        };
        if bytes[..8] != MAGIC || header.journal_id != journal_id || header.lsn != lsn {
            return Found::Other;
        }
        let checksum = u32_at(HEADER_CRC_AT);
        if crc32c::crc32c(&bytes[..HEADER_CRC_AT]) != checksum {
            return Found::Torn;
        }
        Found::Header { header, checksum, payload_checksum: u32_at(PAYLOAD_CRC_AT) }
    }
}

/// Puts the payload's checksum into a laid-out record. It starts from the header's, so that a payload
/// cannot pass under another header.
pub(super) fn seal_payload(record: &mut [u8], payload_bytes: usize) {
    let checksum = u32::from_le_bytes(array(&record[HEADER_CRC_AT..]));
    let payload = &record[HEADER_BYTES..HEADER_BYTES + payload_bytes];
    let payload_checksum = crc32c::crc32c_append(checksum, payload);
    record[PAYLOAD_CRC_AT..HEADER_BYTES].copy_from_slice(&payload_checksum.to_le_bytes());
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}
