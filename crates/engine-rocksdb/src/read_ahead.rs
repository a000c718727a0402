//! A long walk through a view reads ahead in a thread of its own: entries are found on one processor and used on another.
//!
//! A walk begins to after so many entries that a thread is little beside them, if a processor is left for it: as many walks at
//! a time as the machine has processors but one.
//!
//! Invariants
//! 1. The entries are those of the cursor that walks, in its order: its view does not change, and whoever reads with it takes
//!    it out of what both share, and has put what it read behind what was read before when the cursor is back.
//! 2. No more than [`BLOCKS`] blocks are in memory. An entry larger than [`LARGEST`] ends the reading ahead: the cursor comes
//!    back, and the walk goes on without.
//! 3. The walk does not wait for a thread that gets no processor: where nothing was read ahead, and the thread is not reading,
//!    it reads itself.
//! 4. The thread ends before the walk does: who drops it waits for the block that is being filled, as he would have waited for
//!    its entries.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};

use cohort_io::scheduling::{give_way, take_long_slices};
use cohort_io::sync::{Condvar, Mutex};

use crate::NAME;
use crate::handle::Handle;
use crate::read::RangeCursor;
use cohort_engine::{Cursor, Entry, ReadError};

/// How many entries are given before it is tried, each time.
const WORTH_A_THREAD: u64 = 16 << 10;
/// Bytes of keys and values from which on a block takes no more.
const BLOCK_BYTES: usize = 256 << 10;
/// The same of one that the walk fills itself: the thread may have come to read meanwhile.
const OWN_BYTES: usize = 32 << 10;
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

/// A walk that has a thread which reads ahead.
struct Ahead<D: Handle> {
    block: Block,
    shared: Arc<Shared<D>>,
    thread: Option<JoinHandle<()>>,
    threads: Arc<Threads>,
}

/// What a walk and its thread have in common.
struct Shared<D: Handle> {
    state: Mutex<State<D>>,
    /// For the walk: there is a block, or an end.
    filled: Condvar,
    /// For the thread: there is room and the cursor, or an end.
    emptied: Condvar,
}

struct State<D: Handle> {
    /// `None` while one of them reads with it, and where there is nothing more to read.
    cursor: Option<RangeCursor<D>>,
    filled: VecDeque<Block>,
    used: Vec<Block>,
    /// What comes after all that was filled.
    then: Then<D>,
    /// Nobody asks for more.
    is_dropped: bool,
}

impl<D: Handle> Ahead<D> {
    /// Begins to read ahead, or goes on alone.
    fn begin(mut cursor: RangeCursor<D>) -> Walk<D> {
        let Some(threads) = cursor.threads().filter(|threads| threads.take()) else { return Walk::Alone(cursor) };
        cursor.count_steps();
        let state = State {
            cursor: Some(cursor),
            filled: VecDeque::new(),
            used: Vec::new(),
            then: Then::More,
            is_dropped: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new() });
        let of_thread = shared.clone();
        let walk = move || {
            // As a statement does that reads so much.
            give_way(None);
            take_long_slices(None);
            if catch_unwind(AssertUnwindSafe(|| of_thread.read_ahead())).is_err() {
                // With it the cursor is gone.
                let detail = "the thread that reads ahead has ended".to_owned();
                of_thread.state.lock().then = Then::Failed(ReadError { engine: NAME, detail });
                of_thread.filled.notify_one();
            }
        };
        // Without it the walk reads all itself.
        let thread = thread::Builder::new().name("read-ahead".into()).spawn(walk).ok();
        Walk::Ahead(Ahead { block: Block::default(), shared, thread, threads })
    }

    /// Goes to the next entry, and says [`Then::More`] if there is one, or what there is in its place.
    fn go_on(&mut self) -> Then<D> {
        while !self.block.go_on() {
            self.block.clear();
            if let Some(end) = self.shared.take(&mut self.block) {
                return end;
            }
        }
        Then::More
    }
}

impl<D: Handle> Shared<D> {
    /// Puts the next block in the place of one that was used, or says what there is in its place.
    fn take(&self, block: &mut Block) -> Option<Then<D>> {
        let mut state = self.state.lock();
        loop {
            if let Some(filled) = state.filled.pop_front() {
                state.used.push(std::mem::replace(block, filled));
                self.emptied.notify_one();
                return None;
            }
            if !matches!(state.then, Then::More) {
                return Some(std::mem::replace(&mut state.then, Then::End));
            }
            match state.cursor.take() {
                Some(cursor) => {
                    drop(state);
                    let read = fill(cursor, block, OWN_BYTES);
                    state = self.state.lock();
                    (state.cursor, state.then) = read;
                    self.emptied.notify_one();
                    return None;
                }
                None => self.filled.wait(&mut state),
            }
        }
    }

    /// Reads to the end, or until nobody asks for more.
    fn read_ahead(&self) {
        let mut state = self.state.lock();
        while !state.is_dropped && matches!(state.then, Then::More) {
            let has_room = state.filled.len() < BLOCKS - 2;
            let Some(cursor) = state.cursor.take_if(|_| has_room) else {
                self.emptied.wait(&mut state);
                continue;
            };
            let mut block = state.used.pop().unwrap_or_default();
            drop(state);
            let read = fill(cursor, &mut block, BLOCK_BYTES);
            state = self.state.lock();
            (state.cursor, state.then) = read;
            state.filled.push_back(block);
            self.filled.notify_one();
        }
    }
}

impl<D: Handle> Drop for Ahead<D> {
    fn drop(&mut self) {
        self.shared.state.lock().is_dropped = true;
        self.shared.emptied.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.threads.give_back();
    }
}

/// Adds entries until the block has so many bytes. Gives the cursor back if there may be more, and says what comes then.
fn fill<D: Handle>(mut cursor: RangeCursor<D>, block: &mut Block, most: usize) -> (Option<RangeCursor<D>>, Then<D>) {
    while block.bytes.len() < most {
        match cursor.next() {
            Ok(Some(entry)) if entry.key.len() + entry.value.len() <= LARGEST => block.add(&entry),
            Ok(Some(_)) => {
                cursor.count_steps();
                return (None, Then::Alone(cursor));
            }
            Ok(None) => return (None, Then::End),
            Err(error) => return (None, Then::Failed(error)),
        }
    }
    cursor.count_steps();
    (Some(cursor), Then::More)
}
