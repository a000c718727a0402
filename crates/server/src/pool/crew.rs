//! How many workers run: never fewer than the limit while there is a thread to be had, more only for as long
//! as it takes those that come back from a wait to finish their command, or those that wait for input to hear
//! of some. The limit is `thread_pool_size`, and 1 where there is one connection: with more listeners, each of
//! its commands would go to another one, on another processor.
//!
//! Invariants
//! 1. `running` is the number of workers that are not away; each of them either waits for input or serves
//!    somebody.
//! 2. A worker is away while it waits ([`BlockingHook`]) or rests, and from the moment its command is found to be
//!    a long one until it has finished that.
//!
//! Concurrency: one mutex, which a worker takes only when it waits, comes back or rests. What a worker does
//! otherwise is told by its `commands`, which is odd while it serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use cohort_txn::blocking_hook::BlockingHook;
use parking_lot::{Condvar, Mutex};

use super::Pool;

/// How long a worker that is not needed stays.
const REST: Duration = Duration::from_secs(60);

/// One thread of the pool.
#[derive(Debug)]
pub struct Worker {
    /// Names its thread.
    pub number: u64,
    /// Commands begun and ended: odd while it serves.
    commands: AtomicU64,
    /// As the monitor saw `commands` last.
    seen: AtomicU64,
    /// Changed under the crew's mutex.
    away: AtomicBool,
}

/// The workers of a pool.
#[derive(Debug)]
pub struct Crew {
    size: usize,
    connections: AtomicUsize,
    /// Workers that are not away. Changed under the mutex.
    running: AtomicUsize,
    state: Mutex<State>,
    /// Changed under the mutex.
    closed: AtomicBool,
    /// For those that rest.
    called: Condvar,
    /// The monitor does not look: nobody serves.
    dozing: AtomicBool,
    /// For the monitor.
    work: Condvar,
}

#[derive(Debug, Default)]
struct State {
    workers: Vec<Arc<Worker>>,
    recruited: u64,
    resting: usize,
    /// How many of those that rest are to get up.
    calls: usize,
}

impl State {
    fn forget(&mut self, worker: &Arc<Worker>) {
        self.workers.retain(|other| !Arc::ptr_eq(other, worker));
    }
}

impl Crew {
    /// Of `size` workers, when there are connections for them.
    pub fn new(size: usize) -> Crew {
        Crew {
            size,
            connections: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            state: Mutex::default(),
            closed: AtomicBool::new(false),
            called: Condvar::new(),
            dozing: AtomicBool::new(false),
            work: Condvar::new(),
        }
    }

    /// Whether there is one connection at most, for one worker.
    fn is_for_one(&self) -> bool {
        self.connections.load(Ordering::Relaxed) <= 1
    }

    /// Whether a worker may stay with the client that it has served: nobody else needs it.
    pub fn may_stay(&self) -> bool {
        self.is_for_one() && !self.is_closed()
    }

    fn limit(&self) -> usize {
        if self.is_for_one() { 1 } else { self.size }
    }

    /// Takes note of how many connections there are. The caller recruits.
    pub fn set_connections(&self, connections: usize) {
        self.connections.store(connections, Ordering::Relaxed);
    }

    /// Workers, and how many of them rest or wait for input.
    pub fn threads(&self) -> (usize, usize) {
        let state = self.state.lock();
        let busy = |worker: &&Arc<Worker>| is_serving(worker.commands.load(Ordering::Relaxed));
        let total = state.workers.len();
        (total, total - state.workers.iter().filter(busy).count())
    }

    /// Calls those that rest while too few run. A new worker, already counted as running, if that is not
    /// enough: the caller starts its thread.
    pub fn recruit(&self) -> Option<Arc<Worker>> {
        self.recruit_into(&mut self.state.lock())
    }

    fn recruit_into(&self, state: &mut State) -> Option<Arc<Worker>> {
        while self.running.load(Ordering::Relaxed) < self.limit() && !self.is_closed() {
            self.running.fetch_add(1, Ordering::Relaxed);
            if state.resting > state.calls {
                state.calls += 1;
                self.called.notify_one();
                continue;
            }
            state.recruited += 1;
            let worker = Arc::new(Worker {
                number: state.recruited,
                commands: AtomicU64::new(0),
                seen: AtomicU64::new(0),
                away: AtomicBool::new(false),
            });
            state.workers.push(worker.clone());
            return Some(worker);
        }
        None
    }

    /// Takes back a worker that runs.
    pub fn resign(&self, worker: &Arc<Worker>) {
        let mut state = self.state.lock();
        self.set_away(&state, worker, true);
        state.forget(worker);
    }

    /// For a worker between two commands: rests while there are enough others. False when it is to end.
    pub fn may_go_on(&self, worker: &Arc<Worker>) -> bool {
        if !worker.away.load(Ordering::Relaxed) && self.may_run() {
            return true;
        }
        let mut state = self.state.lock();
        self.set_away(&state, worker, false);
        if self.may_run() {
            return true;
        }
        self.set_away(&state, worker, true);
        state.resting += 1;
        loop {
            let unwanted = self.is_closed() || self.called.wait_for(&mut state, REST).timed_out();
            if state.calls > 0 && !self.is_closed() {
                state.calls -= 1;
                state.resting -= 1;
                // Whoever called has counted it as running.
                worker.away.store(false, Ordering::Relaxed);
                return true;
            }
            if unwanted {
                state.resting -= 1;
                state.forget(worker);
                return false;
            }
        }
    }

    fn may_run(&self) -> bool {
        self.running.load(Ordering::Relaxed) <= self.limit() && !self.is_closed()
    }

    /// Counts `worker` as running, or no longer.
    fn set_away(&self, _locked: &State, worker: &Worker, away: bool) {
        match (worker.away.swap(away, Ordering::Relaxed), away) {
            (false, true) => drop(self.running.fetch_sub(1, Ordering::Relaxed)),
            (true, false) => drop(self.running.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
    }

    /// `worker` begins to serve somebody.
    pub fn begin(&self, worker: &Worker) {
        // Ordered before the look at `dozing`, as the monitor's store there is before its look here.
        worker.commands.fetch_add(1, Ordering::SeqCst);
        if self.dozing.load(Ordering::SeqCst) {
            let _state = self.state.lock();
            self.dozing.store(false, Ordering::SeqCst);
            self.work.notify_one();
        }
    }

    /// `worker` has finished.
    pub fn end(&self, worker: &Worker) {
        worker.commands.fetch_add(1, Ordering::Release);
    }

    /// `worker` begins to wait: calls or gives another one, as [`Crew::recruit`] does.
    fn go_away(&self, worker: &Worker) -> Option<Arc<Worker>> {
        let mut state = self.state.lock();
        self.set_away(&state, worker, true);
        self.recruit_into(&mut state)
    }

    fn come_back(&self, worker: &Worker) {
        self.set_away(&self.state.lock(), worker, false);
    }

    /// Counts as away whoever has been at the same command since the last call. The caller recruits.
    pub fn replace_stalled(&self) {
        let state = self.state.lock();
        for worker in &state.workers {
            let commands = worker.commands.load(Ordering::Acquire);
            let before = worker.seen.swap(commands, Ordering::Relaxed);
            if commands == before && is_serving(commands) {
                self.set_away(&state, worker, true);
            }
        }
    }

    /// The monitor's pause: `tick` from when somebody serves on, `longest` if nobody does. False when the
    /// pool closes.
    pub fn doze(&self, tick: Duration, longest: Duration) -> bool {
        let mut state = self.state.lock();
        self.dozing.store(true, Ordering::SeqCst);
        let serves = |worker: &Arc<Worker>| is_serving(worker.commands.load(Ordering::SeqCst));
        let mut somebody = state.workers.iter().any(serves);
        if !somebody && !self.is_closed() {
            somebody = !self.work.wait_for(&mut state, longest).timed_out();
        }
        self.dozing.store(false, Ordering::SeqCst);
        if somebody && !self.is_closed() {
            self.work.wait_for(&mut state, tick);
        }
        !self.is_closed()
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Sends everybody home.
    pub fn close(&self) {
        let state = self.state.lock();
        self.closed.store(true, Ordering::Relaxed);
        drop(state);
        self.called.notify_all();
        self.work.notify_all();
    }
}

fn is_serving(commands: u64) -> bool {
    commands % 2 == 1
}

/// A worker's thread, as the waits of its sessions see it.
pub struct Post {
    pub pool: Arc<Pool>,
    pub worker: Arc<Worker>,
}

impl BlockingHook for Post {
    fn begin_wait(&self) {
        self.pool.let_in(self.pool.crew.go_away(&self.worker));
    }

    fn end_wait(&self) {
        self.pool.crew.come_back(&self.worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recruits(crew: &Crew) -> usize {
        std::iter::from_fn(|| crew.recruit()).count()
    }

    #[test]
    fn one_connection_has_one_worker() {
        let crew = Crew::new(3);
        assert_eq!((recruits(&crew), crew.is_for_one()), (1, true));
        crew.set_connections(1);
        assert_eq!((recruits(&crew), crew.is_for_one()), (0, true));
        crew.set_connections(2);
        assert_eq!((recruits(&crew), crew.is_for_one()), (2, false));
        crew.set_connections(1);
        assert_eq!(recruits(&crew), 0);
        assert!(!crew.may_run(), "two are to rest");
    }
}
