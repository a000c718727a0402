//! The live end of the binlog: up to where readers may follow it, and its newest bytes, which all of them share.
//!
//! The commit path says how far the binlog is durable ([`Tail::announce`]) and gives away the bytes that it appended
//! ([`Tail::push`]). Both cost an atomic operation while nobody follows.
//!
//! Invariants
//! 1. Nobody follows beyond what was announced (I4 of ARCHITECTURE.md).
//! 2. Blocks are immutable and join without a gap; what does not join to the last one replaces them all. They hold
//!    [`KEPT_BYTES`] at most, so that a reader who is further back reads files and holds nobody up.
//! 3. A file that a follower reads, and every later one, is kept ([`Tail::oldest_followed`]).
//!
//! Concurrency: one mutex, held for a push, a look-up or a change of followers, never while something is read or sent.
//! The announcement is stored before the number of followers is looked at, and a follower is counted before it looks at
//! the announcement: it is either woken or has seen it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cohort_io::sync::{Condvar, Mutex};

use super::position::BinlogPosition;

/// How much of the end is kept for followers, bytes.
const KEPT_BYTES: usize = 16 << 20;
/// [`Tail::time_to_gather`] for each follower, and at most.
const GATHER: Duration = Duration::from_micros(500);
const GATHER_MAX: Duration = Duration::from_millis(4);

/// Bytes of one file as they were appended.
#[derive(Debug)]
pub(crate) struct Block {
    /// Of the first byte.
    pub(crate) at: BinlogPosition,
    pub(crate) bytes: Vec<u8>,
}

impl Block {
    pub(crate) fn end(&self) -> BinlogPosition {
        BinlogPosition { offset: self.at.offset + self.bytes.len() as u64, ..self.at }
    }

    /// Whether the byte at `position` is here.
    fn has(&self, position: BinlogPosition) -> bool {
        (self.at..self.end()).contains(&position)
    }

    /// Whether `self` begins where `before` ends, or begins the file after it.
    fn follows(&self, before: &Block) -> bool {
        let next_file = BinlogPosition { file_number: before.at.file_number + 1, offset: 0 };
        self.at == before.end() || self.at == next_file
    }
}

#[derive(Debug, Default)]
struct State {
    blocks: VecDeque<Arc<Block>>,
    /// Memory of the blocks.
    bytes: usize,
    /// By follower, the number of the file it reads.
    files: BTreeMap<u64, u64>,
    next_follower: u64,
    /// How often those who wait were called.
    calls: u64,
}

impl State {
    fn forget_blocks(&mut self) {
        self.blocks.clear();
        self.bytes = 0;
    }
}

/// What commit path and followers share.
#[derive(Debug, Default)]
pub struct Tail {
    /// File number and offset, 32 bits each.
    durable: AtomicU64,
    followers: AtomicUsize,
    state: Mutex<State>,
    moved: Condvar,
}

impl Tail {
    /// Up to where readers may follow.
    pub fn durable(&self) -> BinlogPosition {
        let packed = self.durable.load(Ordering::SeqCst);
        BinlogPosition { file_number: packed >> 32, offset: packed & u64::from(u32::MAX) }
    }

    /// Gives followers the bytes appended at `at`; they may read them once they are announced.
    pub fn push(&self, at: BinlogPosition, bytes: Vec<u8>) {
        if self.followers.load(Ordering::Relaxed) == 0 {
            return;
        }
        let block = Arc::new(Block { at, bytes });
        let mut state = self.state.lock();
        if state.blocks.back().is_some_and(|last| !block.follows(last)) {
            state.forget_blocks();
        }
        state.bytes += block.bytes.capacity();
        state.blocks.push_back(block);
        while state.bytes > KEPT_BYTES
            && let Some(oldest) = state.blocks.pop_front()
        {
            state.bytes -= oldest.bytes.capacity();
        }
    }

    /// The binlog is durable up to `end`, which is the end of an event: wakes those who wait for more.
    pub fn announce(&self, end: BinlogPosition) {
        assert!(end.file_number <= u64::from(u32::MAX) && end.offset <= u64::from(u32::MAX), "{end} has 64 bits");
        let packed = end.file_number << 32 | end.offset;
        if self.durable.fetch_max(packed, Ordering::SeqCst) < packed && self.followers.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// Waits until something after `at` may be read, to `deadline` or until `ended`, which is asked again at each
    /// [`Tail::wake`]. Whether there is something.
    pub fn wait_beyond(&self, at: BinlogPosition, deadline: Instant, ended: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock();
        let mut heard = state.calls;
        while self.durable() <= at && !ended() {
            let waited = self.moved.wait_until(&mut state, deadline);
            if state.calls != heard {
                heard = state.calls;
                self.moved.notify_one();
            }
            if waited.timed_out() {
                break;
            }
        }
        self.durable() > at
    }

    /// Lets those who wait ask again whether they have ended: wakes one of them, who wakes the next. To wake many would
    /// hold a commit up.
    pub fn wake(&self) {
        let mut state = self.state.lock();
        state.calls += 1;
        // Under the mutex: whoever waits for the call after this one waits behind those whom this one is for.
        self.moved.notify_one();
    }

    /// How long a follower that has everything leaves events to gather before it looks for more: each one that is woken
    /// takes a processor from commits, and so the longer the more there are.
    pub fn time_to_gather(&self) -> Duration {
        let followers = u32::try_from(self.followers()).unwrap_or(u32::MAX);
        GATHER.saturating_mul(followers).min(GATHER_MAX)
    }

    /// How many follow.
    pub fn followers(&self) -> usize {
        self.followers.load(Ordering::Relaxed)
    }

    /// Number of the oldest file that somebody reads.
    pub fn oldest_followed(&self) -> Option<u64> {
        self.state.lock().files.values().min().copied()
    }

    /// How many read this file.
    pub fn readers_of(&self, file: u64) -> usize {
        self.state.lock().files.values().filter(|read| **read == file).count()
    }

    /// Counts a follower, who reads `file` and later ones.
    pub(crate) fn join(&self, file: u64) -> u64 {
        let mut state = self.state.lock();
        let follower = state.next_follower;
        state.next_follower += 1;
        state.files.insert(follower, file);
        self.followers.store(state.files.len(), Ordering::SeqCst);
        follower
    }

    /// A follower has come to another file.
    pub(crate) fn enter_file(&self, follower: u64, file: u64) {
        self.state.lock().files.insert(follower, file);
    }

    pub(crate) fn leave(&self, follower: u64) {
        let mut state = self.state.lock();
        state.files.remove(&follower);
        self.followers.store(state.files.len(), Ordering::SeqCst);
        if state.files.is_empty() {
            state.forget_blocks();
        }
    }

    /// The block that has the byte at `position`.
    pub(crate) fn block_with(&self, position: BinlogPosition) -> Option<Arc<Block>> {
        let state = self.state.lock();
        let after = state.blocks.partition_point(|block| block.at <= position);
        let block = state.blocks.get(after.checked_sub(1)?)?;
        block.has(position).then(|| block.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn at(file_number: u64, offset: u64) -> BinlogPosition {
        BinlogPosition { file_number, offset }
    }

    #[test]
    fn nothing_is_kept_while_nobody_follows() {
        let tail = Tail::default();
        tail.push(at(1, 0), vec![1; 10]);
        let follower = tail.join(1);
        assert!(tail.block_with(at(1, 5)).is_none());
        tail.push(at(1, 10), vec![2; 10]);
        assert_eq!(tail.block_with(at(1, 19)).expect("it was kept").at, at(1, 10));
        assert!(tail.block_with(at(1, 9)).is_none() && tail.block_with(at(1, 20)).is_none());
        tail.leave(follower);
        assert!(tail.block_with(at(1, 19)).is_none());
    }

    #[test]
    fn blocks_join_across_files_and_a_gap_empties_them() {
        let tail = Tail::default();
        tail.join(1);
        tail.push(at(1, 10), vec![1; 10]);
        tail.push(at(2, 0), vec![2; 10]);
        tail.push(at(2, 10), vec![3; 10]);
        for (position, begin) in [(at(1, 10), at(1, 10)), (at(2, 4), at(2, 0)), (at(2, 10), at(2, 10))] {
            assert_eq!(tail.block_with(position).expect("it was kept").at, begin);
        }
        assert!(tail.block_with(at(1, 20)).is_none(), "the file ends there");
        tail.push(at(2, 30), vec![4; 10]);
        assert!(tail.block_with(at(2, 15)).is_none() && tail.block_with(at(2, 30)).is_some());
    }

    #[test]
    fn the_oldest_blocks_make_room() {
        let tail = Tail::default();
        tail.join(1);
        let size = KEPT_BYTES / 4;
        (0..6).for_each(|number| tail.push(at(1, number * size as u64), vec![0; size]));
        assert!(tail.block_with(at(1, size as u64)).is_none());
        assert!(tail.block_with(at(1, 2 * size as u64)).is_some());
        tail.push(at(1, 6 * size as u64), vec![0; KEPT_BYTES + 1]);
        assert!(tail.state.lock().blocks.is_empty(), "too large to be shared");
    }

    /// Has four wait for more than `at`, and does `then` when all of them do. Whether each of them found more.
    fn four_wait(tail: &Tail, at: BinlogPosition, then: impl FnOnce(&AtomicBool)) -> Vec<bool> {
        let long = Instant::now() + Duration::from_secs(600);
        let (asked, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let is_over = || {
            // Under the mutex: whoever takes it after the fourth question finds them waiting.
            asked.fetch_add(1, Ordering::SeqCst);
            ended.load(Ordering::SeqCst)
        };
        thread::scope(|scope| {
            let wait = || scope.spawn(|| tail.wait_beyond(at, long, is_over));
            let waiters: Vec<_> = (0..4).map(|_| wait()).collect();
            while asked.load(Ordering::SeqCst) < 4 {
                thread::yield_now();
            }
            then(&ended);
            waiters.into_iter().map(|waiter| waiter.join().expect("no panic")).collect()
        })
    }

    #[test]
    fn the_more_follow_the_longer_events_gather() {
        let tail = Tail::default();
        assert_eq!(tail.time_to_gather(), Duration::ZERO);
        let followers: Vec<u64> = (0..100).map(|_| tail.join(1)).collect();
        assert_eq!(tail.time_to_gather(), GATHER_MAX);
        followers[2..].iter().for_each(|follower| tail.leave(*follower));
        assert_eq!(tail.time_to_gather(), 2 * GATHER);
    }

    #[test]
    fn who_waits_is_woken_by_an_announcement_and_by_its_end() {
        let tail = Tail::default();
        tail.join(1);
        tail.announce(at(1, 10));
        assert_eq!(four_wait(&tail, at(1, 10), |_| tail.announce(at(2, 0))), [true; 4]);
        tail.announce(at(1, 50));
        assert_eq!(tail.durable(), at(2, 0), "an announcement holds");
        let end = |ended: &AtomicBool| {
            ended.store(true, Ordering::SeqCst);
            tail.wake();
        };
        assert_eq!(four_wait(&tail, at(2, 0), end), [false; 4]);
        assert!(!tail.wait_beyond(at(2, 0), Instant::now(), || false));
    }

    /// Each announcement wakes one, who may have to go back to sleep: those whom it is for must hear of it all the same.
    #[test]
    fn who_has_to_wait_on_passes_the_call_to_others() {
        let tail = &Tail::default();
        let deadline = Instant::now() + Duration::from_secs(60);
        for file in 1..=100 {
            tail.join(file);
            let asked = AtomicUsize::new(0);
            let is_over = &|| {
                asked.fetch_add(1, Ordering::SeqCst);
                false
            };
            thread::scope(|scope| {
                // The first to wait wait for the most.
                let waiters = (0..6).rev().map(|after| {
                    let waiter = scope.spawn(move || tail.wait_beyond(at(file, after), deadline, is_over));
                    while asked.load(Ordering::SeqCst) < 6 - after as usize {
                        thread::yield_now();
                    }
                    waiter
                });
                let waiters: Vec<_> = waiters.collect();
                for (end, waiter) in (1..).zip(waiters.into_iter().rev()) {
                    tail.announce(at(file, end));
                    assert!(waiter.join().expect("no panic"), "nobody woke it");
                }
            });
        }
    }
}
