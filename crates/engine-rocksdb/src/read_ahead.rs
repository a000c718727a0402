//! A long walk through a view is read by two threads: what is left of it is divided into strides, which are read on two
//! processors at a time and given in order.
//!
//! A walk begins to after so many entries that a thread is little beside them, if a processor is left for it: as many walks at
//! a time as the machine has processors but one. The thread reads ahead of the walk, into blocks. Where the walk has to wait for
//! it, every other stride is the walk's own, which it reads as it gives the entries.
//!
//! Invariants
//! 1. The entries are those of a cursor over all that is left, in its order: each of the two has a cursor of the same view, and
//!    strides meet ([`strides`](crate::strides)). What is next for the walk stands in one queue.
//! 2. No more than [`BLOCKS`] blocks are in memory. An entry larger than [`LARGEST`], and what is left of its stride, is the
//!    walk's own.
//! 3. The walk does not wait for a thread that gets no processor: where nothing was read ahead, and the thread is within no
//!    stride, the next one is the walk's own.
//! 4. The thread ends before the walk does: who drops it waits for the block that is being filled, as he would have waited for
//!    its entries.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};

use cohort_io::scheduling::{give_way, take_long_slices};
use cohort_io::sync::{Condvar, Mutex, MutexGuard};

use crate::NAME;
use crate::handle::Handle;
use crate::read::RangeCursor;
use crate::strides::Rest;
use cohort_engine::{Cursor, Direction, Entry, KeyRange, ReadError};

/// How many entries are given before it is tried, each time.
const WORTH_A_THREAD: u64 = 16 << 10;
/// From which of these on it is seen how far apart keys are.
const SEEN_FROM: u64 = WORTH_A_THREAD / 2;
/// Bytes of keys and values from which on a block takes no more.
const BLOCK_BYTES: usize = 128 << 10;
/// Bytes of a key and a value that are read ahead at most.
const LARGEST: usize = 1 << 20;
/// One that is used, one that is filled, and those between: a thread that waits wakes up the more often the fewer there are.
const BLOCKS: usize = 12;

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
        // Once for all four.
        self.bytes.reserve(8 + entry.key.len() + entry.value.len());
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

/// What a walk comes to next.
enum Next {
    /// Entries that were read ahead.
    Block(Block),
    /// What the walk reads itself.
    Own(KeyRange),
    Failed(ReadError),
}

/// A cursor that reads ahead once it is worth it.
pub(super) struct LongWalk<D: Handle> {
    walk: Walk<D>,
    /// Entries that were given since it was tried last to read ahead.
    given: u64,
    /// One of their keys, and the bytes since then.
    earlier: Vec<u8>,
    bytes: usize,
    /// The bound to which it goes.
    end: Vec<u8>,
}

enum Walk<D: Handle> {
    Alone(RangeCursor<D>),
    Ahead(Ahead<D>),
    End,
}

impl<D: Handle> LongWalk<D> {
    /// `cursor` is one over `range`.
    pub(super) fn new(cursor: RangeCursor<D>, range: &KeyRange) -> LongWalk<D> {
        let end = match cursor.direction() {
            Direction::Forward => &range.upper,
            Direction::Reverse => &range.lower,
        };
        LongWalk { walk: Walk::Alone(cursor), given: 0, earlier: Vec::new(), bytes: 0, end: end.clone() }
    }

    /// Looks at the present entry of a cursor that walks alone, and has its rest read ahead once that is worth it.
    #[cold]
    fn look(&mut self) {
        let Walk::Alone(cursor) = &self.walk else { return };
        let Some(entry) = cursor.present() else { return };
        if self.given == SEEN_FROM {
            self.earlier = entry.key.to_vec();
        }
        self.bytes += entry.key.len() + entry.value.len();
        if self.given < WORTH_A_THREAD {
            return;
        }
        let rest = Rest::new(&self.earlier, entry.key, self.bytes, &self.end, cursor.direction());
        (self.given, self.bytes) = (0, 0);
        if let Walk::Alone(cursor) = std::mem::replace(&mut self.walk, Walk::End) {
            self.walk = Ahead::begin(cursor, rest);
        }
    }
}

impl<D: Handle> Cursor for LongWalk<D> {
    fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        if self.given >= SEEN_FROM {
            self.look();
        }
        if let Walk::Ahead(ahead) = &mut self.walk {
            let more = ahead.go_on();
            if !matches!(more, Ok(true)) {
                self.walk = Walk::End;
                more?;
            }
        }
        match &mut self.walk {
            Walk::Alone(cursor) => {
                self.given += 1;
                cursor.next()
            }
            Walk::Ahead(ahead) => Ok(ahead.present()),
            Walk::End => Ok(None),
        }
    }
}

/// A walk that has a thread which reads ahead.
struct Ahead<D: Handle> {
    own: RangeCursor<D>,
    /// Whether the present entry is one of a stride of its own, and the bytes of that so far.
    is_own: bool,
    own_bytes: usize,
    block: Block,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    threads: Arc<Threads>,
}

/// What a walk and its thread have in common.
struct Shared {
    state: Mutex<State>,
    /// For the walk: there is something next.
    filled: Condvar,
    /// For the thread: there is room, or an end.
    emptied: Condvar,
}

struct State {
    /// What nobody has begun to read.
    rest: Rest,
    /// What comes before that.
    next: VecDeque<Next>,
    used: Vec<Block>,
    /// The thread is within a stride.
    is_reading: bool,
    /// The walk has waited for the thread, and that not for room since.
    is_behind: bool,
    /// Nobody asks for more.
    is_dropped: bool,
}

impl<D: Handle> Ahead<D> {
    /// Begins to read ahead, or goes on alone.
    fn begin(cursor: RangeCursor<D>, rest: Rest) -> Walk<D> {
        let Some(threads) = cursor.threads().filter(|threads| threads.take()) else { return Walk::Alone(cursor) };
        let of_thread = cursor.another(rest.range());
        let state = State {
            rest,
            next: VecDeque::new(),
            used: Vec::new(),
            is_reading: false,
            is_behind: false,
            is_dropped: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new() });
        let with_thread = shared.clone();
        let walk = move || {
            // As a statement does that reads so much.
            give_way(None);
            take_long_slices(None);
            if catch_unwind(AssertUnwindSafe(|| with_thread.read_ahead(of_thread))).is_err() {
                let detail = "the thread that reads ahead has ended".to_owned();
                let mut state = with_thread.state.lock();
                state.next.push_back(Next::Failed(ReadError { engine: NAME, detail }));
                state.is_reading = false;
                with_thread.filled.notify_one();
            }
        };
        // Without it the walk reads all itself.
        let thread = thread::Builder::new().name("read-ahead".into()).spawn(walk).ok();
        Walk::Ahead(Ahead {
            own: cursor,
            is_own: false,
            own_bytes: 0,
            block: Block::default(),
            shared,
            thread,
            threads,
        })
    }

    /// Goes to the next entry; false if there is none.
    fn go_on(&mut self) -> Result<bool, ReadError> {
        loop {
            if self.is_own {
                if let Some(entry) = self.own.next()? {
                    self.own_bytes += entry.key.len() + entry.value.len();
                    return Ok(true);
                }
            } else if self.block.go_on() {
                return Ok(true);
            }
            let own_bytes = self.is_own.then(|| std::mem::take(&mut self.own_bytes));
            match self.shared.take(own_bytes, &mut self.block) {
                Some(Next::Block(block)) => {
                    self.block = block;
                    self.is_own = false;
                }
                Some(Next::Own(stride)) => {
                    self.own.move_within(stride);
                    self.is_own = true;
                }
                Some(Next::Failed(error)) => return Err(error),
                None => return Ok(false),
            }
        }
    }

    fn present(&self) -> Option<Entry<'_>> {
        if self.is_own { self.own.present() } else { Some(self.block.entry()) }
    }
}

impl Shared {
    /// What comes next, if anything does. `own_bytes` are those of a stride of the walk's own that has ended; `used` is a block
    /// that has.
    fn take(&self, own_bytes: Option<usize>, used: &mut Block) -> Option<Next> {
        let mut state = self.state.lock();
        match own_bytes {
            Some(bytes) => state.rest.learn(bytes),
            None => {
                used.clear();
                state.used.push(std::mem::take(used));
            }
        }
        loop {
            if let Some(next) = state.next.pop_front() {
                self.emptied.notify_one();
                return Some(next);
            }
            if !state.is_reading {
                return state.rest.take().map(Next::Own);
            }
            state.is_behind = true;
            self.filled.wait(&mut state);
        }
    }

    /// Reads to the end, or until nobody asks for more.
    fn read_ahead<D: Handle>(&self, mut cursor: RangeCursor<D>) {
        let mut state = self.state.lock();
        while self.has_room(&mut state) {
            let Some(mut stride) = state.rest.take() else { return };
            if state.is_behind
                && let Some(after) = state.rest.take()
            {
                state.next.push_back(Next::Own(std::mem::replace(&mut stride, after)));
                self.filled.notify_one();
            }
            state.is_reading = true;
            cursor.move_within(stride);
            let mut bytes = 0;
            loop {
                let mut block = state.used.pop().unwrap_or_default();
                drop(state);
                let then = fill(&mut cursor, &mut block);
                bytes += block.bytes.len();
                state = self.state.lock();
                state.next.push_back(Next::Block(block));
                if !matches!(then, Then::More) {
                    state.is_reading = false;
                }
                match then {
                    Then::Alone(left) => state.next.push_back(Next::Own(left)),
                    Then::Failed(error) => {
                        state.next.push_back(Next::Failed(error));
                        self.filled.notify_one();
                        return;
                    }
                    Then::More | Then::End => {}
                }
                self.filled.notify_one();
                if !state.is_reading || !self.has_room(&mut state) {
                    break;
                }
            }
            state.rest.learn(bytes);
        }
    }

    /// Waits until there is room for what is read next; false if nobody asks for it any more.
    fn has_room(&self, state: &mut MutexGuard<'_, State>) -> bool {
        while !state.is_dropped && state.next.len() >= BLOCKS - 2 {
            state.is_behind = false;
            self.emptied.wait(state);
        }
        !state.is_dropped
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

/// What comes after the entries of a block.
enum Then {
    More,
    End,
    /// From an entry on that is too large.
    Alone(KeyRange),
    Failed(ReadError),
}

/// Adds entries until the block is full, and says what comes then in the cursor's stride.
fn fill<D: Handle>(cursor: &mut RangeCursor<D>, block: &mut Block) -> Then {
    while block.bytes.len() < BLOCK_BYTES {
        match cursor.next() {
            Ok(Some(entry)) if entry.key.len() + entry.value.len() <= LARGEST => block.add(&entry),
            Ok(Some(_)) => return Then::Alone(cursor.left()),
            Ok(None) => return Then::End,
            Err(error) => return Then::Failed(error),
        }
    }
    Then::More
}
