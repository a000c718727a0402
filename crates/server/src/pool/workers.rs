//! How many workers run: never fewer than the limit while a thread can be started. More only for as long as those
//! that return from a wait need to finish their command, or those that wait for input to receive some. The limit
//! is `thread_pool_size`, and 1 where there is one connection: with more listeners, each of its commands would go
//! to another one, on another processor.
//!
//! Invariants
//! 1. `running` is the number of workers that are not away; each of them either waits for input or serves
//!    a connection.
//! 2. A worker is away while it blocks ([`BlockingHook`]) or is parked, and from the moment its command is found to
//!    be a long one, while others have input, until it has finished that.
//! 3. A worker that computes for longer than [`LOOK_EVERY`] has long slices of processor time until its command ends:
//!    other threads go before it when they wake up.
//! 4. A worker that computes for long beside other connections gives way to them: its thread gets a lower priority,
//!    which it cannot raise again, and ends with its command.
//!
//! Concurrency: one mutex, which a worker takes only when it blocks, comes back or parks. What else a worker does
//! is read from its `steps`, which are odd while it serves.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cohort_io::scheduling::{give_way, take_long_slices, take_usual_slices};
use cohort_io::sync::{Condvar, Mutex};
use cohort_txn::blocking_hook::BlockingHook;
use rustix::process::Pid;
use rustix::thread::gettid;

use super::Pool;

/// How often the monitor looks at what workers do, while any serves.
pub const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How long a worker that is not needed stays parked before it ends.
const PARKED_MAX: Duration = Duration::from_secs(60);

/// One thread of the pool.
#[derive(Debug)]
pub struct Worker {
    /// Names its thread.
    pub number: u64,
    /// Known from when it runs on.
    thread: OnceLock<Pid>,
    /// One more when a command begins and when it ends, two more when it begins to wait: odd while it serves, and the
    /// same for as long as it computes.
    steps: AtomicU64,
    /// As the monitor saw `steps` last, and in how many looks on end it was the same. The monitor's own.
    seen: AtomicU64,
    looks: AtomicU32,
    /// Its thread has long slices. Changed under the set's mutex.
    has_long_slices: AtomicBool,
    /// Changed under the set's mutex.
    away: AtomicBool,
    /// Its thread has a lower priority than others.
    gave_way: AtomicBool,
}

impl Worker {
    /// Whether it is to end with its command.
    pub fn gave_way(&self) -> bool {
        self.gave_way.load(Ordering::Relaxed)
    }

    fn is_serving(&self) -> bool {
        !self.steps.load(Ordering::SeqCst).is_multiple_of(2)
    }

    /// Others go before it when they wake up, for as long as its command takes.
    fn take_long_slices(&self) {
        if let Some(&thread) = self.thread.get()
            && !self.has_long_slices.swap(true, Ordering::Relaxed)
        {
            take_long_slices(Some(thread));
        }
    }

    /// Lets other threads go first.
    fn give_way(&self) {
        if let Some(&thread) = self.thread.get()
            && !self.gave_way.swap(true, Ordering::Relaxed)
        {
            give_way(Some(thread));
        }
    }
}

/// The workers of a pool.
#[derive(Debug)]
pub struct WorkerSet {
    size: usize,
    connections: AtomicUsize,
    /// Workers that are not away. Changed under the mutex.
    running: AtomicUsize,
    state: Mutex<State>,
    /// Changed under the mutex.
    closed: AtomicBool,
    /// For those that are parked.
    unpark: Condvar,
    /// The monitor sleeps: no worker serves.
    monitor_sleeps: AtomicBool,
    /// For the monitor.
    serving: Condvar,
}

#[derive(Debug, Default)]
struct State {
    workers: Vec<Arc<Worker>>,
    created: u64,
    parked: usize,
    /// How many of the parked ones are to go on.
    unparked: usize,
    /// The monitor is to start some.
    wanted: bool,
}

impl State {
    fn forget(&mut self, worker: &Arc<Worker>) {
        self.workers.retain(|other| !Arc::ptr_eq(other, worker));
    }
}

impl WorkerSet {
    /// A set of `size` workers, when there are connections for them.
    pub fn new(size: usize) -> WorkerSet {
        WorkerSet {
            size,
            connections: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            state: Mutex::default(),
            closed: AtomicBool::new(false),
            unpark: Condvar::new(),
            monitor_sleeps: AtomicBool::new(false),
            serving: Condvar::new(),
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

    /// Sets how many connections there are. The caller then starts workers, or asks for them.
    pub fn set_connections(&self, connections: usize) {
        self.connections.store(connections, Ordering::Relaxed);
    }

    /// Workers, and how many of them are parked or wait for input.
    pub fn threads(&self) -> (usize, usize) {
        let state = self.state.lock();
        let total = state.workers.len();
        (total, total - state.workers.iter().filter(|worker| worker.is_serving()).count())
    }

    /// Unparks workers while too few run. Returns a new worker, already counted as running, if that is not
    /// enough: the caller starts its thread.
    pub fn unpark_or_create(&self) -> Option<Arc<Worker>> {
        self.unpark_or_create_in(&mut self.state.lock())
    }

    fn unpark_or_create_in(&self, state: &mut State) -> Option<Arc<Worker>> {
        while self.running.load(Ordering::Relaxed) < self.limit() && !self.is_closed() {
            self.running.fetch_add(1, Ordering::Relaxed);
            if state.parked > state.unparked {
                state.unparked += 1;
                self.unpark.notify_one();
                continue;
            }
            state.created += 1;
            let worker = Arc::new(Worker {
                number: state.created,
                thread: OnceLock::new(),
                steps: AtomicU64::new(0),
                seen: AtomicU64::new(0),
                looks: AtomicU32::new(0),
                has_long_slices: AtomicBool::new(false),
                away: AtomicBool::new(false),
                gave_way: AtomicBool::new(false),
            });
            state.workers.push(worker.clone());
            return Some(worker);
        }
        None
    }

    /// Has the monitor start workers if too few run. For threads of low priority, as those of logins are: a new thread
    /// has the priority of the one that starts it.
    pub fn ask_for_workers(&self) {
        let mut state = self.state.lock();
        self.ask_for_workers_in(&mut state);
    }

    fn ask_for_workers_in(&self, state: &mut State) {
        if self.running.load(Ordering::Relaxed) < self.limit() {
            state.wanted = true;
            self.serving.notify_one();
        }
    }

    /// The calling thread is `worker`'s.
    pub fn enter(&self, worker: &Worker) {
        let _ = worker.thread.set(gettid());
        // Whoever started it may have long ones.
        take_usual_slices();
    }

    /// Removes a worker that ends, or whose thread could not be started.
    pub fn remove(&self, worker: &Arc<Worker>) {
        self.remove_in(&mut self.state.lock(), worker);
    }

    fn remove_in(&self, state: &mut State, worker: &Arc<Worker>) {
        self.set_away(state, worker, true);
        state.forget(worker);
    }

    /// For a worker between two commands: parks while enough others run. False when it is to end.
    pub fn may_go_on(&self, worker: &Arc<Worker>) -> bool {
        if worker.gave_way() {
            let mut state = self.state.lock();
            self.remove_in(&mut state, worker);
            // A thread that it started itself would have its priority.
            self.ask_for_workers_in(&mut state);
            return false;
        }
        if !worker.away.load(Ordering::Relaxed) && self.may_run() {
            return true;
        }
        let mut state = self.state.lock();
        self.set_away(&state, worker, false);
        if self.may_run() {
            return true;
        }
        self.set_away(&state, worker, true);
        state.parked += 1;
        loop {
            let unneeded = self.is_closed() || self.unpark.wait_for(&mut state, PARKED_MAX).timed_out();
            if state.unparked > 0 && !self.is_closed() {
                state.unparked -= 1;
                state.parked -= 1;
                // Whoever unparked it has counted it as running.
                worker.away.store(false, Ordering::Relaxed);
                return true;
            }
            if unneeded {
                state.parked -= 1;
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

    /// `worker` begins to serve a connection.
    pub fn begin(&self, worker: &Worker) {
        // Ordered before the look at `monitor_sleeps`, as the monitor's store there is before its look here.
        worker.steps.fetch_add(1, Ordering::SeqCst);
        if self.monitor_sleeps.load(Ordering::SeqCst) {
            let _state = self.state.lock();
            self.monitor_sleeps.store(false, Ordering::SeqCst);
            self.serving.notify_one();
        }
    }

    /// `worker` has finished: it is its thread that calls.
    pub fn end(&self, worker: &Worker) {
        worker.steps.fetch_add(1, Ordering::Release);
        if worker.has_long_slices.load(Ordering::Relaxed) && !worker.gave_way() {
            let _state = self.state.lock();
            worker.has_long_slices.store(false, Ordering::Relaxed);
            take_usual_slices();
        }
    }

    /// `worker` begins to block: unparks or creates another one, as [`WorkerSet::unpark_or_create`] does.
    /// A worker that gave way has the monitor do that.
    fn begin_wait(&self, worker: &Worker) -> Option<Arc<Worker>> {
        worker.steps.fetch_add(2, Ordering::Release);
        let mut state = self.state.lock();
        self.set_away(&state, worker, true);
        if worker.gave_way() {
            self.ask_for_workers_in(&mut state);
            return None;
        }
        self.unpark_or_create_in(&mut state)
    }

    fn end_wait(&self, worker: &Worker) {
        self.set_away(&self.state.lock(), worker, false);
    }

    /// Has every worker take long slices that has computed since the last call, and give way that has done so in each
    /// of the last `limit` calls, if it is not the only one. With `input` waiting it counts the latter as away; the
    /// caller then starts workers.
    pub fn look_for_long_commands(&self, limit: u32, input: bool) {
        let state = self.state.lock();
        for worker in &state.workers {
            let steps = worker.steps.load(Ordering::Acquire);
            let before = worker.seen.swap(steps, Ordering::Relaxed);
            if steps != before || !worker.is_serving() || worker.away.load(Ordering::Relaxed) {
                worker.looks.store(0, Ordering::Relaxed);
                continue;
            }
            worker.take_long_slices();
            if worker.looks.fetch_add(1, Ordering::Relaxed) + 1 < limit {
                continue;
            }
            if !self.is_for_one() {
                worker.give_way();
            }
            if input {
                self.set_away(&state, worker, true);
            }
        }
    }

    /// The monitor's sleep: [`LOOK_EVERY`] from when a worker serves on, `longest` if none does, and not at all while
    /// workers are asked for. False when the pool closes.
    pub fn sleep_monitor(&self, longest: Duration) -> bool {
        let mut state = self.state.lock();
        self.monitor_sleeps.store(true, Ordering::SeqCst);
        let mut somebody = state.workers.iter().any(|worker| worker.is_serving());
        if !somebody && !self.is_closed() && !state.wanted {
            somebody = !self.serving.wait_for(&mut state, longest).timed_out();
        }
        self.monitor_sleeps.store(false, Ordering::SeqCst);
        if somebody && !self.is_closed() && !state.wanted {
            self.serving.wait_for(&mut state, LOOK_EVERY);
        }
        state.wanted = false;
        !self.is_closed()
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Ends the workers.
    pub fn close(&self) {
        let state = self.state.lock();
        self.closed.store(true, Ordering::Relaxed);
        drop(state);
        self.unpark.notify_all();
        self.serving.notify_all();
    }
}

/// What a worker's blocking hook needs: it starts another worker while this one blocks.
pub struct WorkerHandle {
    pub pool: Arc<Pool>,
    pub worker: Arc<Worker>,
}

impl BlockingHook for WorkerHandle {
    fn begin_wait(&self) {
        self.pool.start_threads(self.pool.workers.begin_wait(&self.worker));
    }

    fn end_wait(&self) {
        self.pool.workers.end_wait(&self.worker);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rustix::process::getpriority_process;

    use super::*;

    fn created(workers: &WorkerSet) -> usize {
        std::iter::from_fn(|| workers.unpark_or_create()).count()
    }

    #[test]
    fn one_connection_has_one_worker() {
        let workers = WorkerSet::new(3);
        assert_eq!((created(&workers), workers.is_for_one()), (1, true));
        workers.set_connections(1);
        assert_eq!((created(&workers), workers.is_for_one()), (0, true));
        workers.set_connections(2);
        assert_eq!((created(&workers), workers.is_for_one()), (2, false));
        workers.set_connections(1);
        assert_eq!(created(&workers), 0);
        assert!(!workers.may_run(), "two are to park");
    }

    #[test]
    fn the_monitor_is_woken_for_workers_that_are_missing() {
        let workers = WorkerSet::new(2);
        workers.set_connections(2);
        let long = Duration::from_secs(60);
        let slept = Instant::now();
        std::thread::scope(|scope| {
            let monitor = scope.spawn(|| workers.sleep_monitor(long));
            workers.ask_for_workers();
            assert!(monitor.join().expect("no panic"));
        });
        assert!(slept.elapsed() < long);
        assert_eq!(created(&workers), 2);
        workers.ask_for_workers();
        assert!(!workers.state.lock().wanted, "as many run as may");
    }

    #[test]
    fn who_computes_for_long_gives_way_and_ends() {
        let workers = WorkerSet::new(2);
        workers.set_connections(2);
        let [one, two] = [(); 2].map(|()| workers.unpark_or_create().expect("a worker"));
        let look = || {
            workers.look_for_long_commands(2, false);
            [&one, &two].map(|worker| worker.gave_way())
        };
        let wait = || {
            // Nobody stands in for it here.
            workers.begin_wait(&one).iter().for_each(|other| workers.remove(other));
        };
        std::thread::scope(|scope| {
            // Of this thread and no other is the priority lowered.
            scope.spawn(|| {
                workers.enter(&one);
                workers.begin(&one);
                workers.begin(&two);
                assert_eq!(look(), [false, false], "they have just begun");
                wait();
                workers.end_wait(&one);
                assert_eq!(look(), [false, false], "one has waited, and the thread of two is not known");
                wait();
                assert_eq!((look(), look()), ([false, false], [false, false]), "one waits");
                workers.end_wait(&one);
                assert_eq!(look(), [false, false], "one has computed for one look");
                assert!(one.has_long_slices.load(Ordering::Relaxed));
                assert_eq!(look(), [true, false], "and for two");
                assert!(getpriority_process(None).expect("the priority") > 0);
            });
        });
        workers.end(&one);
        assert!(!workers.may_go_on(&one), "it ends");
        assert!(workers.may_go_on(&two));
        assert!(workers.state.lock().wanted, "one is missing");
        assert_eq!(created(&workers), 1);
    }

    #[test]
    fn the_only_connection_needs_no_way() {
        let workers = WorkerSet::new(2);
        workers.set_connections(1);
        let only = workers.unpark_or_create().expect("a worker");
        workers.enter(&only);
        workers.begin(&only);
        workers.look_for_long_commands(1, false);
        workers.look_for_long_commands(1, true);
        assert!(!only.gave_way());
        assert!(only.has_long_slices.load(Ordering::Relaxed));
        workers.end(&only);
        assert!(!only.has_long_slices.load(Ordering::Relaxed), "the next command is a short one again");
    }
}
