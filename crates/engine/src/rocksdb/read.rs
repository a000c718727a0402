//! Point reads, views and cursors.

use std::sync::Arc;

use rust_rocksdb::{DB, DBRawIterator, GetIntoBufferResult, ReadOptions};
use self_cell::self_cell;

use super::{Shared, read_error};
use crate::{Cursor, Direction, Entry, KeyRange, MIN_KEY_LEN, ReadError, Snapshot};

/// Room offered to a read whose value's length is not known yet, bytes: more than most rows need,
/// and little enough to zero each time.
const FIRST_ROOM: usize = 512;
const FIRST_KEY: [u8; MIN_KEY_LEN] = [0; MIN_KEY_LEN];

/// Reads `key` straight into the caller's buffer, which is cleared first.
pub(super) fn get(db: &DB, options: &ReadOptions, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
    value.clear();
    if key.len() < MIN_KEY_LEN {
        return Ok(false);
    }
    value.resize(FIRST_ROOM, 0);
    loop {
        match db.get_into_buffer_opt(key, value, options) {
            Ok(GetIntoBufferResult::Found(len)) => {
                value.truncate(len);
                return Ok(true);
            }
            Ok(GetIntoBufferResult::BufferTooSmall(len)) => value.resize(len, 0),
            Ok(GetIntoBufferResult::NotFound) => {
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

type RawSnapshot<'db> = rust_rocksdb::Snapshot<'db>;

self_cell! {
    struct HeldSnapshot {
        owner: Arc<Shared>,
        #[covariant]
        dependent: RawSnapshot,
    }
}

/// A RocksDB snapshot with the options that read through it. The options point to the snapshot,
/// so they stand before it and are dropped first.
struct Held {
    read: ReadOptions,
    snapshot: HeldSnapshot,
}

/// What was applied when it was made.
pub(super) struct View {
    held: Arc<Held>,
}

impl View {
    pub(super) fn new(db: Arc<Shared>) -> View {
        let snapshot = HeldSnapshot::new(db, |db| db.snapshot());
        let mut read = ReadOptions::default();
        read.set_snapshot(snapshot.borrow_dependent());
        View { held: Arc::new(Held { read, snapshot }) }
    }
}

impl Snapshot for View {
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        get(self.held.snapshot.borrow_owner(), &self.held.read, key, value)
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        Ok(Box::new(RangeCursor::of_view(self.held.clone(), range, direction)))
    }
}

/// What an iterator reads from and therefore keeps alive.
enum Source {
    Latest(Arc<Shared>),
    View(Arc<Held>),
}

self_cell! {
    struct HeldIterator {
        owner: Source,
        #[covariant]
        dependent: DBRawIterator,
    }
}

/// Where a cursor is in its range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Within,
    End,
}

/// A RocksDB iterator bounded to a range.
pub(super) struct RangeCursor {
    iterator: Option<HeldIterator>,
    direction: Direction,
    place: Place,
}

impl RangeCursor {
    pub(super) fn latest(db: Arc<Shared>, range: &KeyRange, direction: Direction) -> RangeCursor {
        RangeCursor::new(Source::Latest(db), range, direction)
    }

    fn of_view(held: Arc<Held>, range: &KeyRange, direction: Direction) -> RangeCursor {
        RangeCursor::new(Source::View(held), range, direction)
    }

    fn new(source: Source, range: &KeyRange, direction: Direction) -> RangeCursor {
        let lower = range.lower.as_slice().max(&FIRST_KEY);
        if lower >= range.upper.as_slice() {
            return RangeCursor { iterator: None, direction, place: Place::End };
        }
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(lower);
        options.set_iterate_upper_bound(range.upper.as_slice());
        options.set_background_purge_on_iterator_cleanup(true);
        let iterator = HeldIterator::new(source, |source| match source {
            Source::Latest(db) => db.raw_iterator_opt(options),
            Source::View(held) => held.snapshot.borrow_dependent().raw_iterator_opt(options),
        });
        RangeCursor { iterator: Some(iterator), direction, place: Place::Before }
    }
}

impl Source {
    fn shared(&self) -> &Shared {
        match self {
            Source::Latest(shared) => shared,
            Source::View(held) => held.snapshot.borrow_owner(),
        }
    }
}

impl Drop for RangeCursor {
    fn drop(&mut self) {
        if let Some(held) = &self.iterator {
            let shared = held.borrow_owner().shared();
            shared.hidden.scanned(&shared.db);
        }
    }
}

impl Cursor for RangeCursor {
    fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        let Some(held) = self.iterator.as_mut().filter(|_| self.place != Place::End) else {
            return Ok(None);
        };
        held.with_dependent_mut(|_, iterator| match (self.place, self.direction) {
            (Place::Before, Direction::Forward) => iterator.seek_to_first(),
            (Place::Before, Direction::Reverse) => iterator.seek_to_last(),
            (_, Direction::Forward) => iterator.next(),
            (_, Direction::Reverse) => iterator.prev(),
        });
        self.place = Place::Within;
        let iterator = held.borrow_dependent();
        let Some((key, value)) = iterator.item() else {
            self.place = Place::End;
            return iterator.status().map(|()| None).map_err(read_error);
        };
        Ok(Some(Entry { key, value }))
    }
}
