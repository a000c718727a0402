//! Semi-synchronous replication: how far replicas have acknowledged the binlog, and the commits that wait for that.
//!
//! As MySQL's AFTER_SYNC: events leave when they are durable here, and until enough replicas have them nobody sees the
//! transactions and no client gets its OK. A replica acknowledges what it has got as one position, so that one
//! acknowledgement serves every commit before it.
//!
//! A commit waits on its thread ([`Acks::wait`]), or asks ([`Acks::lets_go`]) and is [resumed](Acks::set_resume) to ask
//! again: the thread that brings the acknowledgement goes on with it, and none is woken.
//!
//! Invariants
//! 1. While replication is semi-synchronous, a commit goes on only when enough replicas have acknowledged its position.
//! 2. No wait is longer than the timeout. Replication is asynchronous then, until enough replicas have acknowledged what
//!    was durable at that moment.
//! 3. An acknowledgement counts for the replica that sent it, while it is connected, and never goes back.
//! 4. Whoever asked in vain is resumed after every change that may let it go.
//!
//! Concurrency: one mutex, held for a look-up, and not while commits are resumed. While nothing is enabled a commit pays one
//! atomic load.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cohort_io::sync::{Condvar, Mutex};

use super::position::BinlogPosition;

/// What the operator has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckOptions {
    /// `rpl_semi_sync_source_enabled`
    pub enabled: bool,
    /// `rpl_semi_sync_source_wait_for_replica_count`
    pub replicas: usize,
    /// `rpl_semi_sync_source_timeout`
    pub timeout: Duration,
    /// `rpl_semi_sync_source_wait_no_replica`: commits wait although fewer replicas are connected.
    pub wait_without_replicas: bool,
}

impl Default for AckOptions {
    /// MySQL's defaults.
    fn default() -> AckOptions {
        AckOptions { enabled: false, replicas: 1, timeout: Duration::from_secs(10), wait_without_replicas: true }
    }
}

/// What SHOW STATUS shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckStats {
    /// Whether replication is semi-synchronous at present.
    pub on: bool,
    /// Replicas that are connected and acknowledge.
    pub replicas: u64,
    /// Transactions that were acknowledged in time.
    pub acknowledged: u64,
    /// Transactions that were not.
    pub unacknowledged: u64,
    /// How often replication became asynchronous.
    pub times_off: u64,
    /// Commits, each of a whole cohort, that wait.
    pub waiting: u64,
    /// Waits so far.
    pub waits: u64,
    /// Microseconds that they took.
    pub wait_us: u64,
    /// Acknowledgements asked for.
    pub requests: u64,
    /// Acknowledgements that came.
    pub received: u64,
}

#[derive(Debug, Default)]
struct State {
    options: AckOptions,
    /// Semi-synchronous, not asynchronous.
    on: bool,
    /// By replica that is connected, what it has acknowledged.
    replicas: BTreeMap<u64, BinlogPosition>,
    next_replica: u64,
    /// While asynchronous: how far replicas have to have come, and those that have.
    asynchronous_to: BinlogPosition,
    back: BTreeSet<u64>,
    /// By where its events end, when a commit began to wait.
    waits: BTreeMap<BinlogPosition, Instant>,
    /// Those who wait may go on, for another reason than an acknowledgement.
    changed: bool,
    closed: bool,
    stats: AckStats,
}

impl State {
    fn have(&self, end: BinlogPosition) -> usize {
        self.replicas.values().filter(|acknowledged| **acknowledged >= end).count()
    }

    fn are_enough_connected(&self) -> bool {
        self.options.wait_without_replicas || self.replicas.len() >= self.options.replicas
    }

    fn switch_on(&mut self) {
        self.on = true;
        self.back.clear();
    }

    fn switch_off(&mut self, end: BinlogPosition, why: &str) {
        self.on = false;
        self.asynchronous_to = end;
        self.back.clear();
        self.stats.times_off += 1;
        log::warn!("semi-synchronous replication: asynchronous from {end} on: {why}");
    }

    /// Until when to wait with so many transactions, whose events end at `end`; none if they may go on.
    fn wait_until(&mut self, end: BinlogPosition, transactions: u64) -> Option<Instant> {
        if self.on && self.have(end) < self.options.replicas {
            let now = Instant::now();
            let deadline = *self.waits.entry(end).or_insert(now) + self.options.timeout;
            if !self.are_enough_connected() {
                self.switch_off(end, "too few replicas are connected");
            } else if now >= deadline {
                self.switch_off(end, "it was not acknowledged in time");
            } else {
                return Some(deadline);
            }
        }
        if let Some(begun) = self.waits.remove(&end) {
            self.count_wait(begun);
        }
        match self.on {
            true => self.stats.acknowledged += transactions,
            false => self.stats.unacknowledged += transactions,
        }
        None
    }

    fn count_wait(&mut self, begun: Instant) {
        self.stats.waits += 1;
        self.stats.wait_us += begun.elapsed().as_micros() as u64;
    }
}

/// What commit path and replicas share.
#[derive(Default)]
pub struct Acks {
    /// [`AckOptions::enabled`]
    enabled: AtomicBool,
    requests: AtomicU64,
    state: Mutex<State>,
    /// For commits that wait on their threads.
    moved: Condvar,
    /// For whoever [keeps the time](Acks::keep_time).
    changed: Condvar,
    resume: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for Acks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acks").field("state", &self.state).finish_non_exhaustive()
    }
}

/// How long a timeout is at least for whoever keeps the time.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

impl Acks {
    /// Sets what the operator wants. Replication is semi-synchronous from the moment it is enabled; commits that wait go on
    /// when it no longer is.
    pub fn configure(&self, options: AckOptions) {
        let mut state = self.state.lock();
        let was_enabled = std::mem::replace(&mut state.options, options).enabled;
        match options.enabled {
            true if !was_enabled => state.switch_on(),
            true => {}
            false => {
                state.on = false;
                // Nobody has to ask any more.
                std::mem::take(&mut state.waits).into_values().for_each(|begun| state.count_wait(begun));
            }
        }
        self.enabled.store(options.enabled, Ordering::Release);
        self.note_change(&mut state);
    }

    /// Has no commit wait any more, those that do included: the server stops. As MySQL does then.
    pub fn give_up(&self) {
        let (options, commits) = {
            let state = self.state.lock();
            (state.options, state.waits.len())
        };
        if commits > 0 {
            log::warn!(
                "semi-synchronous replication: commits go on that replicas have not acknowledged: the server stops"
            );
        }
        self.configure(AckOptions { enabled: false, ..options });
    }

    /// Whether commits may have to wait.
    pub fn are_enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire)
    }

    /// Has so many transactions wait, whose events end at `end`, until enough replicas have them or replication is
    /// asynchronous.
    pub fn wait(&self, end: BinlogPosition, transactions: u64) {
        if !self.are_enabled() {
            return;
        }
        let mut state = self.state.lock();
        while let Some(deadline) = state.wait_until(end, transactions) {
            self.moved.wait_until(&mut state, deadline);
        }
        if !state.on {
            self.moved.notify_all();
        }
    }

    /// Whether so many transactions, whose events end at `end`, need not wait, or no longer. If not, commits are resumed
    /// when that may have changed.
    pub fn lets_go(&self, end: BinlogPosition, transactions: u64) -> bool {
        !self.are_enabled() || self.state.lock().wait_until(end, transactions).is_none()
    }

    /// Sets what resumes commits that were not let go. It is called by whoever brings an acknowledgement and by whoever
    /// [keeps the time](Self::keep_time), maybe by several at once.
    ///
    /// # Panics
    /// When it was set before.
    pub fn set_resume(&self, resume: impl Fn() + Send + Sync + 'static) {
        assert!(self.resume.set(Box::new(resume)).is_ok(), "one commit path asks for acknowledgements");
    }

    fn resume(&self) {
        self.resume.get().into_iter().for_each(|resume| resume());
    }

    /// Resumes commits when the timeout of one is over, or replicas or options have changed; returns when that is
    /// [closed](Self::close).
    pub fn keep_time(&self) {
        let mut state = self.state.lock();
        while !state.closed {
            let now = Instant::now();
            // One that begins to wait from now on does not have to be known: its time is not over before.
            let first = state.waits.values().min().copied().unwrap_or(now);
            let over = first + state.options.timeout.max(SHORTEST_TIMEOUT);
            if std::mem::take(&mut state.changed) || over <= now {
                drop(state);
                self.resume();
                state = self.state.lock();
            } else {
                self.changed.wait_until(&mut state, over);
            }
        }
    }

    /// Has [`Self::keep_time`] return.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    fn note_change(&self, state: &mut State) {
        state.changed = true;
        self.changed.notify_all();
        self.moved.notify_all();
    }

    /// A replica that acknowledges has connected. Returns its number for what follows.
    pub fn join(&self) -> u64 {
        let mut state = self.state.lock();
        let replica = state.next_replica;
        state.next_replica += 1;
        state.replicas.insert(replica, BinlogPosition::default());
        replica
    }

    /// It has gone.
    pub fn leave(&self, replica: u64) {
        let mut state = self.state.lock();
        state.replicas.remove(&replica);
        state.back.remove(&replica);
        self.note_change(&mut state);
    }

    /// It was asked to acknowledge what it has got.
    pub fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// It says that it has everything before `position`, which had been sent to it.
    pub fn acknowledge(&self, replica: u64, position: BinlogPosition) {
        self.state.lock().stats.received += 1;
        self.has(replica, position);
    }

    /// It has everything before `position`.
    pub fn has(&self, replica: u64, position: BinlogPosition) {
        let mut state = self.state.lock();
        let Some(acknowledged) = state.replicas.get_mut(&replica) else { return };
        *acknowledged = position.max(*acknowledged);
        if state.on {
            self.moved.notify_all();
            drop(state);
            self.resume();
        } else if state.options.enabled && position >= state.asynchronous_to {
            state.back.insert(replica);
            if state.back.len() >= state.options.replicas {
                state.switch_on();
                log::info!("semi-synchronous replication: on again, replicas have come to {position}");
            }
        }
    }

    /// Counters and levels.
    pub fn stats(&self) -> AckStats {
        let state = self.state.lock();
        let requests = self.requests.load(Ordering::Relaxed);
        let (replicas, waiting) = (state.replicas.len() as u64, state.waits.len() as u64);
        AckStats { on: state.on, replicas, requests, waiting, ..state.stats }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn at(offset: u64) -> BinlogPosition {
        BinlogPosition { file_number: 1, offset }
    }

    fn acks(replicas: usize, timeout: Duration) -> Acks {
        let acks = Acks::default();
        acks.configure(AckOptions { enabled: true, replicas, timeout, ..AckOptions::default() });
        acks
    }

    const LONG: Duration = Duration::from_secs(600);
    const SHORT: Duration = Duration::from_millis(20);

    fn until(acks: &Acks, what: impl Fn(AckStats) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !what(acks.stats()) {
            assert!(Instant::now() < deadline, "{:?}", acks.stats());
            thread::yield_now();
        }
    }

    #[test]
    fn a_commit_waits_for_as_many_replicas_as_are_wanted() {
        let acks = acks(2, LONG);
        let [first, second, third] = [acks.join(), acks.join(), acks.join()];
        thread::scope(|scope| {
            let commit = scope.spawn(|| acks.wait(at(100), 3));
            until(&acks, |stats| stats.waiting == 1);
            acks.acknowledge(first, at(99));
            acks.acknowledge(second, at(100));
            // The same one again does not count twice, and nothing goes back.
            acks.acknowledge(second, at(200));
            acks.acknowledge(second, at(4));
            assert!(!commit.is_finished() && acks.stats().waiting == 1);
            acks.acknowledge(third, at(150));
            commit.join().expect("no panic");
        });
        acks.wait(at(120), 1);
        let stats = acks.stats();
        assert_eq!((stats.acknowledged, stats.unacknowledged, stats.waits, stats.received), (4, 0, 1, 5));
        assert!(stats.on && stats.waiting == 0);
    }

    #[test]
    fn who_asked_in_vain_is_resumed_when_that_may_have_changed() {
        let acks = Arc::new(acks(1, LONG));
        let resumed = Arc::new(AtomicU64::new(0));
        let (asks, counts) = (acks.clone(), resumed.clone());
        let went = Arc::new(AtomicBool::new(false));
        let goes = went.clone();
        acks.set_resume(move || {
            counts.fetch_add(1, Ordering::SeqCst);
            goes.store(asks.lets_go(at(100), 2), Ordering::SeqCst);
        });
        let [first, second] = [acks.join(), acks.join()];
        assert!(!acks.lets_go(at(100), 2));
        let was_resumed = |times| resumed.load(Ordering::SeqCst) == times;
        acks.acknowledge(first, at(99));
        assert!(was_resumed(1) && !went.load(Ordering::SeqCst));
        acks.acknowledge(second, at(100));
        assert!(was_resumed(2) && went.load(Ordering::SeqCst));
        let stats = acks.stats();
        assert_eq!((stats.acknowledged, stats.waits, stats.waiting), (2, 1, 0));

        // Not in the thread that changes something: it may hold what those who go on need.
        went.store(false, Ordering::SeqCst);
        acks.leave(second);
        assert!(was_resumed(2));
        thread::scope(|scope| {
            scope.spawn(|| acks.keep_time());
            until(&acks, |_| !was_resumed(2));
            let options = AckOptions { enabled: true, timeout: SHORT, ..AckOptions::default() };
            acks.configure(options);
            until(&acks, |stats| !stats.on);
            until(&acks, |stats| went.load(Ordering::SeqCst) && stats.waiting == 0);
            acks.close();
        });
        assert_eq!((acks.stats().unacknowledged, acks.stats().times_off), (2, 1));
    }

    #[test]
    fn what_is_shown_of_requests_and_waits_adds_up() {
        let acks = acks(1, SHORT);
        (0..3).for_each(|_| acks.count_request());
        assert_eq!((acks.stats().requests, acks.stats().wait_us), (3, 0));
        acks.wait(at(100), 1);
        let timeout_us = SHORT.as_micros() as u64;
        assert!(acks.stats().wait_us >= timeout_us, "{:?}", acks.stats());
    }

    #[test]
    fn while_it_is_disabled_commits_are_not_counted() {
        let acks = Acks::default();
        acks.wait(at(100), 1);
        assert_eq!(acks.stats(), AckStats::default());
    }

    /// The time of the wait is over, and before the commit has looked, the last replica acknowledges.
    #[test]
    fn an_acknowledgement_that_comes_with_the_timeout_counts() {
        loop {
            let acks = acks(1, SHORT);
            let replica = acks.join();
            let was_waiting = thread::scope(|scope| {
                scope.spawn(|| acks.wait(at(100), 1));
                until(&acks, |stats| stats.waiting == 1 || !stats.on);
                let mut state = acks.state.lock();
                thread::sleep(SHORT);
                state.replicas.insert(replica, at(100));
                state.on
            });
            if was_waiting {
                let stats = acks.stats();
                assert_eq!((stats.on, stats.acknowledged, stats.times_off), (true, 1, 0));
                return;
            }
        }
    }

    #[test]
    fn after_the_timeout_nobody_waits_until_replicas_are_back() {
        let acks = acks(1, SHORT);
        let replica = acks.join();
        acks.acknowledge(replica, at(100));
        acks.wait(at(200), 1);
        assert!(!acks.stats().on);
        acks.configure(AckOptions { enabled: true, timeout: LONG, ..AckOptions::default() });
        acks.wait(at(300), 4);
        // Late, of what came before.
        acks.acknowledge(replica, at(199));
        assert!(!acks.stats().on);
        acks.acknowledge(replica, at(200));
        let stats = acks.stats();
        assert_eq!((stats.on, stats.times_off, stats.acknowledged, stats.unacknowledged), (true, 1, 0, 5));
        thread::scope(|scope| {
            let commit = scope.spawn(|| acks.wait(at(400), 1));
            until(&acks, |stats| stats.waiting == 1);
            acks.acknowledge(replica, at(400));
            commit.join().expect("no panic");
        });
        assert_eq!(acks.stats().acknowledged, 1);
    }

    #[test]
    fn a_replica_that_goes_takes_its_acknowledgement_along() {
        let acks = acks(1, SHORT);
        let [gone, other] = [acks.join(), acks.join()];
        acks.acknowledge(gone, at(100));
        acks.leave(gone);
        acks.acknowledge(gone, at(100));
        acks.wait(at(100), 1);
        assert_eq!((acks.stats().unacknowledged, acks.stats().replicas), (1, 1));
        acks.leave(other);
    }

    #[test]
    fn without_replicas_it_does_not_wait_where_that_is_set() {
        let acks = Acks::default();
        let options =
            AckOptions { enabled: true, timeout: LONG, wait_without_replicas: false, ..AckOptions::default() };
        acks.configure(options);
        acks.wait(at(100), 1);
        assert!(!acks.stats().on);
        let replica = acks.join();
        acks.acknowledge(replica, at(100));
        assert!(acks.stats().on);
        thread::scope(|scope| {
            let commit = scope.spawn(|| acks.wait(at(200), 1));
            until(&acks, |stats| stats.waiting == 1);
            acks.leave(replica);
            commit.join().expect("no panic");
        });
        assert_eq!((acks.stats().on, acks.stats().unacknowledged), (false, 2));
    }

    #[test]
    fn those_who_wait_go_on_when_it_is_disabled() {
        let acks = acks(1, LONG);
        thread::scope(|scope| {
            let commits: Vec<_> = (1..4)
                .map(|number| {
                    scope.spawn({
                        let acks = &acks;
                        move || acks.wait(at(number), number)
                    })
                })
                .collect();
            until(&acks, |stats| stats.waiting == 3);
            acks.configure(AckOptions::default());
            commits.into_iter().for_each(|commit| commit.join().expect("no panic"));
        });
        assert_eq!(acks.stats().acknowledged, 0);
    }
}
