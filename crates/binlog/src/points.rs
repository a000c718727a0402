//! Points: places inside of the binlog's files at which a reader by GTID may begin.
//!
//! A point is to a place in a file what PREVIOUS_GTIDS is to the file's beginning: the offset at which a transaction begins,
//! and every GTID before it. A reader that has all of those needs nothing before the point. Points are only in memory: the
//! ordered section notes them as it lays transactions out, and the first reader that needs those of a file from before the
//! start of the server has its GTID events read.
//!
//! Invariants
//! 1. The set of a point has every transaction before it in the binlog, so that sets grow from point to point.
//! 2. What points take in memory is less than a hundredth of their file, however many intervals the sets have.
//! 3. Nothing is believed of a point but its offset: the event there is checked as any other event of a file.
//!
//! Concurrency: `files` is held for a look or a push. `reading` is held while a file is read, never on the commit path.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::events::EventBody;
use super::gtid::GtidSet;
use super::position::BinlogPosition;
use super::reader::{BinlogReader, ReadError};
use super::wire::EventType;

/// Least distance of two points, bytes: what a reader may get read in vain.
const DISTANCE_BYTES: u64 = 1 << 20;
/// The distance is at least so many times the encoded set of GTIDs.
const DISTANCE_BY_SET: u64 = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Point {
    offset: u64,
    before: GtidSet,
}

/// The points of all files.
#[derive(Debug, Default)]
pub struct Points {
    /// By file, in the order of their offsets.
    files: Mutex<BTreeMap<u64, Vec<Point>>>,
    reading: Mutex<()>,
}

impl Points {
    /// A file begins, and its points will be noted. Returns the offset from which on the first one is due.
    pub fn begin_file(&self, header_end: BinlogPosition, before: &GtidSet) -> u64 {
        self.files.lock().insert(header_end.file_number, Vec::new());
        due_after(header_end.offset, before)
    }

    /// A transaction begins at `at`, and `before` has everything before it. Returns the offset from which on the next
    /// point of the file is due.
    pub fn note(&self, at: BinlogPosition, before: &GtidSet) -> u64 {
        if let Some(points) = self.files.lock().get_mut(&at.file_number) {
            points.push(Point { offset: at.offset, before: before.clone() });
        }
        due_after(at.offset, before)
    }

    /// Forgets the files before this one.
    pub(crate) fn forget_before(&self, first_kept: u64) {
        let mut files = self.files.lock();
        *files = files.split_off(&first_kept);
    }

    /// The offset of the last point of a file before which there is nothing but what is `known`, at `end` at most. The points
    /// of a file from before the start are read with `open`.
    pub(crate) fn last_known(
        &self,
        file_number: u64,
        known: &GtidSet,
        end: u64,
        open: impl FnOnce() -> Result<BinlogReader, ReadError>,
    ) -> Result<Option<u64>, ReadError> {
        let look = || {
            let files = self.files.lock();
            files.get(&file_number).map(|points| last_known(points, known, end))
        };
        if let Some(found) = look() {
            return Ok(found);
        }
        // Others who want the same file wait, and find what the first one read.
        let _reading = self.reading.lock();
        if let Some(found) = look() {
            return Ok(found);
        }
        let points = read(open()?)?;
        let found = last_known(&points, known, end);
        self.files.lock().entry(file_number).or_insert(points);
        Ok(found)
    }
}

/// From which offset on the next point is due.
fn due_after(offset: u64, before: &GtidSet) -> u64 {
    offset + DISTANCE_BYTES.max(DISTANCE_BY_SET * before.encoded_len())
}

fn last_known(points: &[Point], known: &GtidSet, end: u64) -> Option<u64> {
    let after = points.partition_point(|point| point.offset <= end && point.before.is_subset(known));
    Some(points[after.checked_sub(1)?].offset)
}

/// Reads the points of a file: from one GTID event to the next by the lengths that they give.
fn read(mut reader: BinlogReader) -> Result<Vec<Point>, ReadError> {
    let mut points = Vec::new();
    let mut before = reader.previous_gtids()?;
    let mut due = due_after(reader.offset(), &before);
    loop {
        let Some(event) = reader.next_event()? else { return Ok(points) };
        if event.header.event_type != EventType::GTID {
            continue;
        }
        let (offset, event_end) = (event.offset, event.offset + u64::from(event.header.event_bytes));
        let gtid = match event.decode() {
            Ok(EventBody::Gtid(gtid)) => gtid,
            Ok(_) => continue,
            Err(error) => return Err(reader.damaged(offset, error)),
        };
        if offset >= due {
            points.push(Point { offset, before: before.clone() });
            due = due_after(offset, &before);
        }
        before.insert(gtid.gtid);
        reader.seek(event_end.max(offset + gtid.transaction_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::super::gtid::ServerUuid;
    use super::*;

    /// Invariant 2.
    #[test]
    fn points_take_less_than_a_hundredth_of_their_file() {
        let mut set = GtidSet::new();
        for server in 0..1000_u16 {
            let [high, low] = server.to_be_bytes();
            let uuid = [[high; 8], [low; 8]].concat().try_into().expect("16 bytes");
            set.union(&GtidSet::of_range(ServerUuid::from_bytes(uuid), 1, 7));
            let distance = due_after(4, &set) - 4;
            assert!(distance >= DISTANCE_BYTES && distance > 100 * set.encoded_len(), "{server}: {distance}");
        }
    }
}
