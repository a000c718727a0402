//! Points in a file beside their binlog file, so that a reader after a restart need not read that whole.
//!
//! Format, integers little-endian:
//!
//! ```text
//! "CHTPNTS1" | points u32 | per point: offset u64, GTIDs before it as in a PREVIOUS_GTIDS event | CRC-32 of all before u32
//! ```
//!
//! It is written when the binlog file has ended, never synced, and never trusted: a crash may leave any part of it, or one
//! that belongs to another file of the same name. What it says is used only if it agrees with the binlog file: at each offset
//! there is the GTID event of the transaction that follows as many others of the file as the set has, and the sets grow from
//! that of the file's header to that of the next file's. Else the binlog file itself is read.

use super::Point;
use crate::events::EventBody;
use crate::gtid::GtidSet;
use crate::reader::BinlogReader;

/// What the name of such a file has after that of its binlog file.
pub(in super::super) const POINTS_ENDING: &str = ".points";

const MAGIC: &[u8; 8] = b"CHTPNTS1";
const CRC_BYTES: usize = 4;

pub(in super::super) fn encode(points: &[Point]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(points.len() as u32).to_le_bytes());
    for Point { offset, before } in points {
        bytes.extend_from_slice(&offset.to_le_bytes());
        before.encode(&mut bytes);
    }
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The points in `bytes`, if they are those of the file that `reader` was opened on. `after` has the transactions up to
/// the end of that file, where that is known.
pub(in super::super) fn checked(bytes: &[u8], mut reader: BinlogReader, after: Option<&GtidSet>) -> Option<Vec<Point>> {
    let points = decode(bytes)?;
    let previous = reader.previous_gtids().ok()?;
    let mut lower = &previous;
    let mut offset = reader.offset();
    for point in &points {
        if point.offset < offset || !lower.is_subset(&point.before) {
            return None;
        }
        (lower, offset) = (&point.before, point.offset);
        reader.seek(offset);
        let event = reader.next_event().ok()??;
        let Ok(EventBody::Gtid(event)) = event.decode() else { return None };
        let mut of_file = point.before.clone();
        of_file.subtract(&previous);
        if point.before.contains(event.gtid?) || event.sequence_number != of_file.count().saturating_add(1) {
            return None;
        }
    }
    after.is_none_or(|after| lower.is_subset(after)).then_some(points)
}

fn decode(bytes: &[u8]) -> Option<Vec<Point>> {
    let (content, checksum) = bytes.split_last_chunk::<CRC_BYTES>()?;
    if u32::from_le_bytes(*checksum) != crc32fast::hash(content) {
        return None;
    }
    let rest = content.strip_prefix(MAGIC)?;
    let (count, mut rest) = rest.split_first_chunk()?;
    let mut points = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let (offset, sets) = rest.split_first_chunk()?;
        let (before, left) = GtidSet::decode_first(sets).ok()?;
        points.push(Point { offset: u64::from_le_bytes(*offset), before });
        rest = left;
    }
    rest.is_empty().then_some(points)
}
