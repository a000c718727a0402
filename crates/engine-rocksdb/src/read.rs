//! Point reads, views and cursors.

use std::ops::Deref;
use std::sync::Arc;

use ouroboros::self_referencing;
use rust_rocksdb::{DBRawIteratorWithThreadMode, Range, ReadOptions, SnapshotWithThreadMode};

use crate::handle::Handle;
use crate::hidden::Hidden;
use crate::perf::Steps;
use crate::read_ahead::{LongWalk, Threads};
use crate::read_error;
use crate::young_files::YoungFiles;
use cohort_engine::{Cursor, Direction, Entry, KeyRange, MIN_KEY_LEN, ReadError, Snapshot, next_key};

/// What readers keep alive.
pub(super) struct Shared<D: Handle> {
    pub(super) handle: D,
    pub(super) hidden: Hidden,
    pub(super) young_files: YoungFiles,
    pub(super) threads: Arc<Threads>,
}

impl<D: Handle> Shared<D> {
    pub(super) fn new(handle: D) -> Arc<Shared<D>> {
        let threads = Arc::new(Threads::of_this_machine());
        Arc::new(Shared { handle, hidden: Hidden::default(), young_files: YoungFiles::default(), threads })
    }
}

impl<D: Handle> Deref for Shared<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.handle
    }
}

/// Room offered to a read whose value's length is not known yet, bytes: more than most rows need,
/// and little enough to zero each time.
const FIRST_ROOM: usize = 512;
const FIRST_KEY: [u8; MIN_KEY_LEN] = [0; MIN_KEY_LEN];

/// Reads `key` straight into the caller's buffer, which is cleared first.
pub(super) fn get<D: Handle>(
    db: &D,
    options: &ReadOptions,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    value.clear();
    if key.len() < MIN_KEY_LEN {
        return Ok(false);
    }
    value.resize(FIRST_ROOM, 0);
    loop {
        match db.read(key, value, options) {
            Ok(Some(len)) if len <= value.len() => {
                value.truncate(len);
                return Ok(true);
            }
            Ok(Some(len)) => value.resize(len, 0),
            Ok(None) => {
                value.clear();
                return Ok(false);
            }
            Err(error) => {
                value.clear();
                return Err(read_error(error));
            }
        }
    }
}

#[self_referencing]
struct HeldSnapshot<D: Handle> {
    shared: Arc<Shared<D>>,
    #[borrows(shared)]
    #[covariant]
    snapshot: SnapshotWithThreadMode<'this, D>,
}

/// A RocksDB snapshot with the options that read through it. The options point to the snapshot,
/// so they stand before it and are dropped first.
struct Held<D: Handle> {
    read: ReadOptions,
    snapshot: HeldSnapshot<D>,
}

/// What was applied when it was made.
pub(super) struct View<D: Handle> {
    held: Arc<Held<D>>,
}

impl<D: Handle> View<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> View<D> {
        let snapshot = HeldSnapshot::new(shared, |shared| SnapshotWithThreadMode::new(&shared.handle));
        let mut read = ReadOptions::default();
        read.set_snapshot(snapshot.borrow_snapshot());
        View { held: Arc::new(Held { read, snapshot }) }
    }
}

impl<D: Handle> Snapshot for View<D> {
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        get(&self.held.snapshot.borrow_shared().handle, &self.held.read, key, value)
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        Ok(Box::new(LongWalk::new(RangeCursor::of_view(self.held.clone(), range, direction), range)))
    }

    fn cursor_within(
        &self,
        range: &KeyRange,
        bounds: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn Cursor>, ReadError> {
        if direction == Direction::Reverse {
            return self.cursor(range, direction);
        }
        let mut cursor = RangeCursor::of_view(self.held.clone(), bounds, direction);
        cursor.within = Some(range.clone());
        Ok(Box::new(cursor))
    }

    fn share(&self, part: &KeyRange, whole: &KeyRange) -> Option<f64> {
        // Of what is not in files yet nothing is known: it has to be little.
        const LEAST_BYTES: u64 = 1 << 20;
        let ranges = [part, whole].map(|range| Range::new(&range.lower, &range.upper));
        match *self.held.snapshot.borrow_shared().handle.sizes(&ranges).ok()? {
            [of_part, of_whole] if of_whole >= LEAST_BYTES => Some(of_part as f64 / of_whole as f64),
            _ => None,
        }
    }
}

/// What an iterator reads from and therefore keeps alive.
enum Source<D: Handle> {
    Latest(Arc<Shared<D>>),
    View(Arc<Held<D>>),
}

impl<D: Handle> Source<D> {
    fn shared(&self) -> &Arc<Shared<D>> {
        match self {
            Source::Latest(shared) => shared,
            Source::View(held) => held.snapshot.borrow_shared(),
        }
    }
}

#[self_referencing]
struct HeldIterator<D: Handle> {
    source: Source<D>,
    #[borrows(source)]
    #[covariant]
    iterator: DBRawIteratorWithThreadMode<'this, D>,
}

/// Where a cursor is in its range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Within,
    End,
}

/// A RocksDB iterator bounded to a range.
pub(super) struct RangeCursor<D: Handle> {
    iterator: Option<HeldIterator<D>>,
    direction: Direction,
    place: Place,
    /// The range that it walks now, if that is not all of its own: of one that can be moved.
    within: Option<KeyRange>,
    /// Searches that were made, and entries that were given.
    seeks: u64,
    entries: u64,
}

impl<D: Handle> RangeCursor<D> {
    pub(super) fn latest(shared: Arc<Shared<D>>, range: &KeyRange, direction: Direction) -> RangeCursor<D> {
        RangeCursor::new(Source::Latest(shared), range, direction)
    }

    fn of_view(held: Arc<Held<D>>, range: &KeyRange, direction: Direction) -> RangeCursor<D> {
        RangeCursor::new(Source::View(held), range, direction)
    }

    /// Another one that sees the same, in the same direction.
    pub(super) fn another(&self, range: &KeyRange) -> RangeCursor<D> {
        let source = match self.iterator.as_ref().map(HeldIterator::borrow_source) {
            Some(Source::Latest(shared)) => Source::Latest(shared.clone()),
            Some(Source::View(held)) => Source::View(held.clone()),
            None => return RangeCursor::at(None, Place::End, self.direction),
        };
        RangeCursor::new(source, range, self.direction)
    }

    fn new(source: Source<D>, range: &KeyRange, direction: Direction) -> RangeCursor<D> {
        let lower = range.lower.as_slice().max(&FIRST_KEY);
        if lower >= range.upper.as_slice() {
            return RangeCursor::at(None, Place::End, direction);
        }
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(lower);
        options.set_iterate_upper_bound(range.upper.as_slice());
        options.set_background_purge_on_iterator_cleanup(true);
        let iterator = HeldIterator::new(source, |source| {
            if let Source::View(held) = source {
                options.set_snapshot(held.snapshot.borrow_snapshot());
            }
            source.shared().handle.walk(options)
        });
        RangeCursor::at(Some(iterator), Place::Before, direction)
    }

    fn at(iterator: Option<HeldIterator<D>>, place: Place, direction: Direction) -> RangeCursor<D> {
        RangeCursor { iterator, direction, place, within: None, seeks: 0, entries: 0 }
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    /// Begins to walk a range within its own.
    pub(super) fn move_within(&mut self, range: KeyRange) {
        self.within = Some(range);
        self.place = if self.iterator.is_some() { Place::Before } else { Place::End };
    }

    /// The present entry, and what comes after it in the range that it was moved to.
    pub(super) fn left(&self) -> KeyRange {
        let (Some(entry), Some(within)) = (self.present(), &self.within) else {
            return KeyRange { lower: Vec::new(), upper: Vec::new() };
        };
        match self.direction {
            Direction::Forward => KeyRange { lower: entry.key.to_vec(), upper: within.upper.clone() },
            Direction::Reverse => KeyRange { lower: within.lower.clone(), upper: next_key(entry.key) },
        }
    }

    /// The entry that [`Cursor::next`] gave last.
    pub(super) fn present(&self) -> Option<Entry<'_>> {
        let (key, value) = self.iterator.as_ref()?.borrow_iterator().item()?;
        Some(Entry { key, value })
    }

    /// What a walk may read ahead with, if there is something to walk through.
    pub(super) fn threads(&self) -> Option<Arc<Threads>> {
        Some(self.iterator.as_ref()?.borrow_source().shared().threads.clone())
    }
}

impl<D: Handle> Drop for RangeCursor<D> {
    fn drop(&mut self) {
        let steps = Steps::since_last();
        if let Some(held) = &self.iterator {
            let shared = held.borrow_source().shared();
            shared.hidden.scanned(&shared.handle, steps.over_old_versions);
            shared.young_files.scanned(shared, self.seeks, steps.searched, self.entries);
        }
    }
}

impl<D: Handle> Cursor for RangeCursor<D> {
    fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        let Some(held) = self.iterator.as_mut().filter(|_| self.place != Place::End) else {
            return Ok(None);
        };
        let within = self.within.as_ref();
        held.with_iterator_mut(|iterator| match (self.place, self.direction) {
            (Place::Before, Direction::Forward) => match within {
                Some(range) => iterator.seek(&range.lower),
                None => iterator.seek_to_first(),
            },
            (Place::Before, Direction::Reverse) => match within {
                Some(range) => {
                    iterator.seek_for_prev(&range.upper);
                    if iterator.key() == Some(&range.upper) {
                        iterator.prev();
                    }
                }
                None => iterator.seek_to_last(),
            },
            (_, Direction::Forward) => iterator.next(),
            (_, Direction::Reverse) => iterator.prev(),
        });
        self.seeks += u64::from(self.place == Place::Before);
        self.entries += 1;
        self.place = Place::Within;
        let iterator = held.borrow_iterator();
        let Some((key, value)) = iterator.item() else {
            self.place = Place::End;
            return iterator.status().map(|()| None).map_err(read_error);
        };
        let is_beyond = |range: &KeyRange| match self.direction {
            Direction::Forward => key >= range.upper.as_slice(),
            Direction::Reverse => key < range.lower.as_slice(),
        };
        if within.is_some_and(is_beyond) {
            self.place = Place::End;
            return Ok(None);
        }
        Ok(Some(Entry { key, value }))
    }

    fn move_to(&mut self, range: &KeyRange) -> bool {
        match (&mut self.within, &self.iterator) {
            (Some(within), Some(_)) => {
                within.clone_from(range);
                self.place = Place::Before;
                true
            }
            _ => false,
        }
    }
}
