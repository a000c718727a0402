//! A long walk through a view reads ahead in a thread of its own: entries are found on one processor and used on another.
//!
//! A walk begins to after so many entries that a thread is little beside them, if a processor is left for it: as many walks at
//! a time as the machine has processors but one.
//!
//! Invariants
//! 1. The entries are those of the cursor that walks, in its order: its view does not change.
//! 2. No more than [`BLOCKS`] blocks are in memory. An entry larger than [`LARGEST`] ends the reading ahead: the cursor comes
//!    back, and the walk goes on without.
//! 3. The thread ends before the walk does: who drops it waits for the block that is being filled, as he would have waited for
//!    its entries.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use cohort_io::scheduling::{give_way, take_long_slices};

use crate::NAME;
use crate::handle::Handle;
use crate::read::RangeCursor;
use cohort_engine::{Cursor, Entry, ReadError};

/// How many entries are given before it is tried, each time.
const WORTH_A_THREAD: u64 = 16 << 10;
/// Bytes of keys and values from which on a block takes no more.
const BLOCK_BYTES: usize = 256 << 10;
/// Bytes of a key and a value that are read ahead at most.
const LARGEST: usize = 1 << 20;
/// One that is used, one that is filled, and those between: a thread that waits wakes up the more often the fewer there are.
const BLOCKS: usize = 6;

/// Threads that may still be begun.
pub(super) struct Threads(AtomicUsize);

impl Threads {
    /// One for each processor but one.
    pub(super) fn of_this_machine() -> Threads {
        Threads(AtomicUsize::new(thread::available_parallelism().map_or(0, |processors| processors.get() - 1)))
    }

    fn take(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn give_back(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// Entries, one behind the other: the lengths of key and value, four bytes each, and both.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    /// Where the present entry has its key, its value and its end.
    key: usize,
    value: usize,
    end: usize,
}

impl Block {
    fn add(&mut self, entry: &Entry<'_>) {
        for part in [entry.key, entry.value] {
            self.bytes.extend_from_slice(&(part.len() as u32).to_ne_bytes());
        }
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
    }

    /// Goes to the next entry; false if there is none.
    fn go_on(&mut self) -> bool {
        let lengths = || {
            let (key, rest) = self.bytes.get(self.end..)?.split_first_chunk()?;
            let (value, _) = rest.split_first_chunk()?;
            Some([key, value].map(|len| u32::from_ne_bytes(*len) as usize))
        };
        let Some([key, value]) = lengths() else { return false };
        self.key = self.end + 8;
        self.value = self.key + key;
        self.end = self.value + value;
        true
    }

    fn entry(&self) -> Entry<'_> {
        Entry { key: &self.bytes[self.key..self.value], value: &self.bytes[self.value..self.end] }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        (self.key, self.value, self.end) = (0, 0, 0);
    }
}

/// What comes after the entries of a block.
enum Then<D: Handle> {
    More,
    End,
    /// An entry that is too large; it is the present one of this cursor.
    Alone(RangeCursor<D>),
    Failed(ReadError),
}

/// A cursor that reads ahead once it is worth it.
pub(super) struct LongWalk<D: Handle> {
    walk: Walk<D>,
    /// Entries that were given since it was tried last to read ahead.
    given: u64,
}

enum Walk<D: Handle> {
    Alone(RangeCursor<D>),
    Ahead(Ahead<D>),
    End,
}

impl<D: Handle> LongWalk<D> {
    pub(super) fn new(cursor: RangeCursor<D>) -> LongWalk<D> {
        LongWalk { walk: Walk::Alone(cursor), given: 0 }
    }

    fn read_ahead(&mut self) {
        if let Walk::Alone(cursor) = std::mem::replace(&mut self.walk, Walk::End) {
            self.walk = Ahead::begin(cursor);
        }
    }
}

impl<D: Handle> Cursor for LongWalk<D> {
    fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        if matches!(self.walk, Walk::Alone(_)) {
            self.given += 1;
            if self.given.is_multiple_of(WORTH_A_THREAD) {
                self.read_ahead();
            }
        }
        let mut is_there = false;
        if let Walk::Ahead(ahead) = &mut self.walk {
            match ahead.go_on() {
                Then::More => {}
                Then::End => self.walk = Walk::End,
                Then::Alone(cursor) => {
                    is_there = true;
                    self.walk = Walk::Alone(cursor);
                }
                Then::Failed(error) => {
                    self.walk = Walk::End;
                    return Err(error);
                }
            }
        }
        match &mut self.walk {
            Walk::Alone(cursor) => {
                if is_there {
                    Ok(cursor.present())
                } else {
                    cursor.next()
                }
            }
            Walk::Ahead(ahead) => Ok(Some(ahead.block.entry())),
            Walk::End => Ok(None),
        }
    }
}

/// The other end of a thread that reads ahead.
struct Ahead<D: Handle> {
    block: Block,
    /// What comes after it.
    then: Then<D>,
    /// `None` once it is dropped, so that the thread ends.
    filled: Option<Receiver<(Block, Then<D>)>>,
    /// Blocks that were used.
    used: SyncSender<Block>,
    thread: Option<JoinHandle<()>>,
    threads: Arc<Threads>,
}

impl<D: Handle> Ahead<D> {
    /// Begins to read ahead, or goes on alone.
    fn begin(mut cursor: RangeCursor<D>) -> Walk<D> {
        let Some(threads) = cursor.threads().filter(|threads| threads.take()) else { return Walk::Alone(cursor) };
        let (hand_over, taken) = sync_channel(1);
        let (fill, filled) = sync_channel(BLOCKS - 2);
        let (used, empty) = sync_channel(BLOCKS);
        let walk = move || {
            // As a statement does that reads so much.
            give_way(None);
            take_long_slices(None);
            if let Ok(cursor) = taken.recv() {
                fill_blocks(cursor, &fill, &empty);
            }
        };
        let Ok(thread) = thread::Builder::new().name("read-ahead".into()).spawn(walk) else {
            threads.give_back();
            return Walk::Alone(cursor);
        };
        cursor.count_steps();
        // The thread waits for it.
        let _ = hand_over.send(cursor);
        let (filled, thread) = (Some(filled), Some(thread));
        Walk::Ahead(Ahead { block: Block::default(), then: Then::More, filled, used, thread, threads })
    }

    /// Goes to the next entry, and says [`Then::More`] if there is one, or what there is in its place.
    fn go_on(&mut self) -> Then<D> {
        while !self.block.go_on() {
            if !matches!(self.then, Then::More) {
                return std::mem::replace(&mut self.then, Then::End);
            }
            let Some(Ok((block, then))) = self.filled.as_ref().map(Receiver::recv) else {
                let detail = "the thread that reads ahead has ended".to_owned();
                return Then::Failed(ReadError { engine: NAME, detail });
            };
            let mut used = std::mem::replace(&mut self.block, block);
            self.then = then;
            used.clear();
            // The thread makes another one if it gets none.
            let _ = self.used.try_send(used);
        }
        Then::More
    }
}

impl<D: Handle> Drop for Ahead<D> {
    fn drop(&mut self) {
        self.filled = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.threads.give_back();
    }
}

/// Walks to the end, or until nobody asks for more.
fn fill_blocks<D: Handle>(mut cursor: RangeCursor<D>, fill: &SyncSender<(Block, Then<D>)>, empty: &Receiver<Block>) {
    loop {
        let mut block = empty.try_recv().unwrap_or_default();
        let then = loop {
            if block.bytes.len() >= BLOCK_BYTES {
                break Then::More;
            }
            match cursor.next() {
                Ok(Some(entry)) if entry.key.len() + entry.value.len() <= LARGEST => block.add(&entry),
                Ok(Some(_)) => {
                    cursor.count_steps();
                    let _ = fill.send((block, Then::Alone(cursor)));
                    return;
                }
                Ok(None) => break Then::End,
                Err(error) => break Then::Failed(error),
            }
        };
        let is_last = !matches!(then, Then::More);
        if fill.send((block, then)).is_err() || is_last {
            return;
        }
    }
}
