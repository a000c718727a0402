//! The worker pool: few threads serve every connection.
//!
//! Outline: a connection that has logged in gets a [`Slot`] ([`Pool::adopt`]). Workers wait in one epoll
//! instance for slots with input; the worker that epoll wakes serves the slot until its client has sent nothing more
//! ([`Pool::serve`]); [`look`] decides whether it then polls for the client's next command. [`workers`] decides how
//! many workers run: one that waits for a lock, a commit or its client is replaced for that long, and so is one that
//! a long statement keeps busy while others have input; such a one gives way to others, too ([`Pool::watch`], which
//! also ends connections that are idle for too long).
//!
//! Invariants
//! 1. At most one thread serves a slot at a time, so a session needs no locks of its own.
//! 2. Input that arrives while its slot is served is served by the same thread, before it serves another.
//! 3. A connection that ends is removed from epoll before its socket is closed.
//!
//! Concurrency: epoll reports edges; `Slot::signals` counts those that nobody has acted upon. Who raises it
//! from zero serves, and lowers it by what it has seen. `slots` and a slot's `connection` are never locked
//! together by one thread, nor while a command runs does anybody else want `connection`.

mod look;
mod workers;

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cohort_io::sync::{Mutex, RwLock};
use cohort_txn::blocking_hook::set_blocking_hook;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};

use crate::processlist::ProcessList;
use crate::session::{Connection, Served};
use crate::socket::Socket;
use crate::status::{Counters, count};
use look::{Pace, Processors};
use workers::{Worker, WorkerHandle, WorkerSet};

/// How often idle connections are looked at.
const IDLE_CHECK: Duration = Duration::from_millis(250);
/// How often processors are looked at for idle ones, while any worker serves.
const PROCESSORS_CHECK: Duration = Duration::from_millis(10);
/// Names the event that ends the workers; no connection has this id.
const CLOSING: u64 = u64::MAX;

/// How a pool runs.
#[derive(Clone, Copy, Debug)]
pub struct PoolOptions {
    /// Workers that run at a time (`thread_pool_size`).
    pub workers: usize,
    /// How long a command may keep a worker before another takes its place, if there is need
    /// (`thread_pool_stall_limit`).
    pub stall_limit: Duration,
    /// Stack of a worker, bytes (`thread_stack`).
    pub stack_bytes: usize,
}

/// One connection, as the pool holds it.
struct Slot {
    id: u32,
    socket: Arc<Socket>,
    /// Edges that nobody has acted upon.
    signals: AtomicU32,
    /// The client has ended its side: an end of file follows the last byte.
    hung_up: AtomicBool,
    /// None once it has ended.
    connection: Mutex<Option<Connection>>,
}

/// The pool.
pub struct Pool {
    epoll: OwnedFd,
    closing: OwnedFd,
    slots: RwLock<HashMap<u32, Arc<Slot>>>,
    workers: WorkerSet,
    processors: Processors,
    options: PoolOptions,
    processes: Arc<ProcessList>,
    counters: Arc<Counters>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("workers", &self.workers).finish_non_exhaustive()
    }
}

impl Pool {
    /// Starts the workers.
    pub fn start(options: PoolOptions, processes: Arc<ProcessList>, counters: Arc<Counters>) -> io::Result<Arc<Pool>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let closing = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &closing, epoll::EventData::new_u64(CLOSING), epoll::EventFlags::IN)?;
        let workers = WorkerSet::new(options.workers);
        let pool = Arc::new(Pool {
            epoll,
            closing,
            slots: RwLock::default(),
            workers,
            processors: Processors::new(),
            options,
            processes,
            counters,
        });
        pool.fill();
        let watching = pool.clone();
        std::thread::Builder::new().name("pool-monitor".to_owned()).spawn(move || watching.watch())?;
        Ok(pool)
    }

    /// Has workers serve `connection` from now on, beginning with what its client has already sent.
    pub fn adopt(self: &Arc<Self>, connection: Connection) -> io::Result<()> {
        let (id, socket) = (connection.id(), connection.socket().clone());
        let mut interest = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        if connection.has_input() {
            // What has been read already is no event; that there is room for output is one.
            interest |= epoll::EventFlags::OUT;
        }
        let slot = Arc::new(Slot {
            id,
            socket,
            signals: AtomicU32::new(0),
            hung_up: AtomicBool::new(false),
            connection: Mutex::new(Some(connection)),
        });
        self.change_slots(|slots| drop(slots.insert(id, slot.clone())));
        if let Err(error) = epoll::add(&self.epoll, &*slot.socket, epoll::EventData::new_u64(id.into()), interest) {
            self.change_slots(|slots| drop(slots.remove(&id)));
            return Err(error.into());
        }
        self.workers.ask_for_workers();
        Ok(())
    }

    /// Callers hold the slot, so that no connection ends under the lock.
    fn change_slots(&self, change: impl FnOnce(&mut HashMap<u32, Arc<Slot>>)) {
        let mut slots = self.slots.write();
        change(&mut slots);
        self.workers.set_connections(slots.len());
    }

    /// Workers, and how many of them have nothing to do.
    pub fn threads(&self) -> (usize, usize) {
        self.workers.threads()
    }

    /// Ends the workers that are not busy, and the busy ones when they have finished their command.
    pub fn stop(&self) {
        self.workers.close();
        // Level triggered and never read: every worker that waits sees it.
        let _ = rustix::io::write(&self.closing, &1u64.to_ne_bytes());
    }

    /// Starts workers until as many run as may.
    fn fill(self: &Arc<Self>) {
        self.start_threads(self.workers.unpark_or_create());
    }

    /// Starts the thread of a created worker, and of others until as many run as may.
    fn start_threads(self: &Arc<Self>, mut created: Option<Arc<Worker>>) {
        while let Some(worker) = created {
            let pool = self.clone();
            let builder = std::thread::Builder::new()
                .name(format!("worker-{}", worker.number))
                .stack_size(self.options.stack_bytes);
            let joined = worker.clone();
            if let Err(error) = builder.spawn(move || pool.work(&joined)) {
                // The monitor tries again.
                self.workers.remove(&worker);
                count(&self.counters.internal_errors);
                return log::warn!("no thread for a worker: {error}");
            }
            count(&self.counters.threads_created);
            created = self.workers.unpark_or_create();
        }
    }

    /// The body of a worker.
    fn work(self: Arc<Self>, worker: &Arc<Worker>) {
        set_blocking_hook(Arc::new(WorkerHandle { pool: self.clone(), worker: worker.clone() }));
        self.workers.enter(worker);
        let (mut pace, mut answered) = (Pace::default(), Instant::now());
        while self.workers.may_go_on(worker) {
            if let Some(slot) = self.next_signal() {
                pace.learn(answered.elapsed());
                self.serve_as(worker, &slot);
                answered = self.look_again(worker, &slot, &mut pace);
            }
        }
    }

    /// Serves the only client on, for as long as it sends its next command when it usually does: then neither has to
    /// be woken for the other. Gives the time of the last answer.
    fn look_again(&self, worker: &Worker, slot: &Arc<Slot>, pace: &mut Pace) -> Instant {
        let mut answered = Instant::now();
        while self.workers.may_stay()
            && !worker.gave_way()
            && self.processors.are_idle()
            && let Some(longest) = pace.look()
        {
            let gap = answered.elapsed();
            if gap > longest || slot.signals.fetch_add(1, Ordering::AcqRel) > 0 {
                break;
            }
            if self.serve_as(worker, slot) > 0 {
                pace.learn(gap);
                answered = Instant::now();
            }
        }
        answered
    }

    /// Waits for the next input. None when another worker serves it already, or its connection has ended.
    fn next_signal(&self) -> Option<Arc<Slot>> {
        let mut space = [MaybeUninit::<epoll::Event>::uninit(); 1];
        let event = match epoll::wait(&self.epoll, &mut space, None) {
            Ok((events, _)) => *events.first()?,
            Err(rustix::io::Errno::INTR) => return None,
            Err(error) => panic!("epoll does not wait: {error}"),
        };
        let (data, flags) = (event.data, event.flags);
        let id = u32::try_from(data.u64()).ok()?;
        let slot = self.slots.read().get(&id)?.clone();
        if flags.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR) {
            slot.hung_up.store(true, Ordering::Relaxed);
        }
        (slot.signals.fetch_add(1, Ordering::AcqRel) == 0).then_some(slot)
    }

    /// [`Pool::serve`], counted by the worker set.
    fn serve_as(&self, worker: &Worker, slot: &Arc<Slot>) -> u64 {
        self.workers.begin(worker);
        let commands = self.serve(slot);
        self.workers.end(worker);
        commands
    }

    /// Serves until every signal has been acted upon; how many commands there were. Only for whoever raised
    /// `signals` from zero.
    fn serve(&self, slot: &Arc<Slot>) -> u64 {
        let mut commands = 0;
        loop {
            let seen = slot.signals.load(Ordering::Acquire);
            match self.serve_once(slot) {
                Served::Commands(more) => commands += more,
                // Further signals find no one to serve.
                Served::Dumps | Served::Ended => return commands,
            }
            if slot.signals.fetch_sub(seen, Ordering::AcqRel) == seen {
                return commands;
            }
        }
    }

    /// Executes what has arrived.
    fn serve_once(&self, slot: &Slot) -> Served {
        let mut held = slot.connection.lock();
        let Some(connection) = held.as_mut() else { return Served::Ended };
        let to_the_end = slot.hung_up.load(Ordering::Relaxed);
        let served = catch_unwind(AssertUnwindSafe(|| connection.serve(to_the_end)));
        if let Ok(served @ Served::Commands(_)) = served {
            return served;
        }
        let dumps = matches!(served, Ok(Served::Dumps));
        if served.is_err() {
            // The panic's message and place are already on standard error.
            count(&self.counters.panics);
            log::error!("connection {} ended by a defect of the server; its transaction was rolled back", slot.id);
        }
        // Fails only if it is gone already.
        let _ = epoll::delete(&self.epoll, &*slot.socket);
        let ended = held.take();
        drop(held);
        self.change_slots(|slots| drop(slots.remove(&slot.id)));
        match ended {
            Some(connection) if dumps => connection.start_dump(),
            ended => drop(ended),
        }
        Served::Ended
    }

    /// Whether a slot has input that no worker has received.
    fn has_signals(&self) -> bool {
        let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
        matches!(poll(&mut fds, Some(&Timespec::default())), Ok(1..))
    }

    /// The body of the monitor.
    fn watch(self: Arc<Self>) {
        let limit = self.options.stall_limit.div_duration_f64(workers::LOOK_EVERY).ceil() as u32;
        let (mut checked, mut seen) = (Instant::now(), Instant::now());
        while self.workers.sleep_monitor(IDLE_CHECK) {
            if seen.elapsed() >= PROCESSORS_CHECK {
                seen = Instant::now();
                self.processors.see();
            }
            self.workers.look_for_long_commands(limit, self.has_signals());
            // Also after a thread could not be started.
            self.fill();
            if checked.elapsed() >= IDLE_CHECK {
                checked = Instant::now();
                self.processes.end_overdue(checked);
            }
        }
    }
}
