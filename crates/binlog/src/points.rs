//! Points: places inside of the binlog's files at which a reader by GTID may begin.
//!
//! A point is to a place in a file what PREVIOUS_GTIDS is to the file's beginning: the offset at which a transaction begins,
//! and every GTID before it. A reader that has all of those needs nothing before the point. The ordered section notes points
//! as it lays transactions out. Those of a file from before the start of the server come from the start, which reads the last
//! file, from the file beside it that an earlier server has left (`points/beside.rs`), or from the file itself, which the
//! first reader that needs them has read from one GTID event to the next. Where transactions are anonymous there are none.
//!
//! Invariants
//! 1. The set of a point has every transaction before it in the binlog, so that sets grow from point to point.
//! 2. What points take in memory is less than a hundredth of their file, however many intervals the sets have.
//! 3. Nothing is believed of a point but its offset: the event there is checked as any other event of a file.
//!
//! Concurrency: `files` is held for a look or a push. `reading` is held while a file is read, never on the commit path.

mod beside;

use std::collections::BTreeMap;

use cohort_io::sync::{Mutex, MutexGuard};

use super::events::EventBody;
use super::events::gtid::GtidEvent;
use super::gtid::{Gtid, GtidSet};
use super::position::BinlogPosition;
use super::reader::{BinlogReader, ReadError};
use super::wire::EventType;

pub(super) use beside::{POINTS_ENDING, checked, encode};

/// Least distance of two points, bytes: what a reader may get read in vain.
const DISTANCE_BYTES: u64 = 1 << 20;
/// The distance is at least so many times the encoded set of GTIDs.
const DISTANCE_BY_SET: u64 = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    offset: u64,
    before: GtidSet,
}

/// The points of one file, in the order of their offsets.
#[derive(Debug, Default)]
struct OfFile {
    points: Vec<Point>,
    /// They are in the file beside it, or need not be there.
    is_stored: bool,
}

/// The points of all files.
#[derive(Debug, Default)]
pub struct Points {
    /// By file.
    files: Mutex<BTreeMap<u64, OfFile>>,
    reading: Mutex<()>,
}

impl Points {
    /// A file begins, and its points will be noted. Returns the offset from which on the first one is due.
    pub fn begin_file(&self, header_end: BinlogPosition, before: &GtidSet) -> u64 {
        self.files.lock().insert(header_end.file_number, OfFile::default());
        due_after(header_end.offset, before)
    }

    /// A transaction begins at `at`, and `before` has everything before it. Returns the offset from which on the next
    /// point of the file is due.
    pub fn note(&self, at: BinlogPosition, before: &GtidSet) -> u64 {
        if let Some(file) = self.files.lock().get_mut(&at.file_number) {
            file.points.push(Point { offset: at.offset, before: before.clone() });
        }
        due_after(at.offset, before)
    }

    /// Forgets the files before this one.
    pub(crate) fn forget_before(&self, first_kept: u64) {
        let mut files = self.files.lock();
        *files = files.split_off(&first_kept);
    }

    /// The points of a file that was read, if nobody noted them meanwhile. `is_stored` says that the file beside it has
    /// them.
    pub(super) fn keep(&self, file_number: u64, points: Vec<Point>, is_stored: bool) {
        self.files.lock().entry(file_number).or_insert(OfFile { points, is_stored });
    }

    /// The offset of the last point of a file before which there is nothing but what is `known`, at `end` at most; an error
    /// where the points of the file are not known.
    pub(super) fn last_known(&self, file_number: u64, known: &GtidSet, end: u64) -> Result<Option<u64>, NotRead> {
        let files = self.files.lock();
        let points = &files.get(&file_number).ok_or(NotRead)?.points;
        let after = points.partition_point(|point| point.offset <= end && point.before.is_subset(known));
        Ok(after.checked_sub(1).map(|last| points[last].offset))
    }

    /// To be held while points are read: others who want the same file wait, and find what the first one read.
    pub(super) fn reading(&self) -> MutexGuard<'_, ()> {
        self.reading.lock()
    }

    /// The points of files up to `last` that are to be stored, and count as stored from now on.
    pub(super) fn take_unstored(&self, last: u64) -> Vec<(u64, Vec<Point>)> {
        let mut files = self.files.lock();
        let unstored = files.range_mut(..=last).filter(|(_, file)| !file.is_stored);
        let taken = unstored.map(|(number, file)| {
            file.is_stored = true;
            (*number, file.points.clone())
        });
        taken.filter(|(_, points)| !points.is_empty()).collect()
    }
}

/// Nobody has noted or read the points of a file.
pub(super) struct NotRead;

/// From which offset on the next point is due.
fn due_after(offset: u64, before: &GtidSet) -> u64 {
    offset + DISTANCE_BYTES.max(DISTANCE_BY_SET * before.encoded_len())
}

/// Reads the points of a file, and the transactions up to its end. With `every_event` each event is checked; else those
/// between GTID events are left out, by the lengths that these give.
pub(super) fn read(mut reader: BinlogReader, every_event: bool) -> Result<(Vec<Point>, GtidSet), ReadError> {
    let mut points = Vec::new();
    let mut before = reader.previous_gtids()?;
    let mut due = due_after(reader.offset(), &before);
    while let Some((offset, gtid)) = next_gtid(&mut reader, every_event)? {
        if offset >= due {
            points.push(Point { offset, before: before.clone() });
            due = due_after(offset, &before);
        }
        before.insert(gtid);
    }
    Ok((points, before))
}

/// The next GTID event, and its offset. The reader is after it or, without `every_event`, after its transaction.
fn next_gtid(reader: &mut BinlogReader, every_event: bool) -> Result<Option<(u64, Gtid)>, ReadError> {
    while let Some(event) = reader.next_event()? {
        if event.header.event_type != EventType::GTID {
            continue;
        }
        let (offset, event_end) = (event.offset, event.offset + u64::from(event.header.event_bytes));
        let (gtid, transaction_bytes) = match event.decode() {
            Ok(EventBody::Gtid(GtidEvent { gtid: Some(gtid), transaction_bytes, .. })) => (gtid, transaction_bytes),
            Ok(_) => continue,
            Err(error) => return Err(reader.damaged(offset, error)),
        };
        if !every_event {
            reader.seek(event_end.max(offset.saturating_add(transaction_bytes)));
        }
        return Ok(Some((offset, gtid)));
    }
    Ok(None)
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
