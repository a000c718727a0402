//! What stops a session's statement from outside: KILL and `max_execution_time`.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cohort_io::sync::Mutex;
use cohort_txn::{KillHandle, WaitsFor};

/// What a KILL ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillTarget {
    /// The running statement.
    Query,
    /// The connection too.
    Connection,
}

/// What deadlines count from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Stops what a session is doing, from another thread or after a time.
#[derive(Default)]
pub struct Interrupt {
    killed: AtomicBool,
    /// When the running statement has taken too long, milliseconds since [`START`]; 0 for never.
    deadline: AtomicU64,
    waiting: Mutex<Option<KillHandle>>,
    /// The number of what the session locks beside its transactions, and of its transaction; 0 for none.
    session: AtomicU64,
    transaction: AtomicU64,
}

impl Interrupt {
    /// Ends the running statement with error 1317, or the next one if none runs.
    pub fn kill(&self) {
        let waiting = self.waiting.lock();
        self.killed.store(true, Ordering::SeqCst);
        if let Some(handle) = &*waiting {
            handle.kill();
        }
    }

    /// Ends the running statement's lock wait as its timeout does; for simulators.
    pub fn expire_wait(&self) {
        if let Some(handle) = &*self.waiting.lock() {
            handle.expire();
        }
    }

    /// Whether the running statement waits for a lock.
    pub fn is_waiting(&self) -> bool {
        self.waiting.lock().as_ref().is_some_and(KillHandle::is_waiting)
    }

    /// What the running statement waits for.
    pub fn waits_for(&self) -> Option<WaitsFor> {
        self.waiting.lock().as_ref().and_then(KillHandle::waits_for)
    }

    /// Whether the lock that the running statement waits for has been granted; for simulators.
    pub fn is_granted(&self) -> bool {
        self.waiting.lock().as_ref().is_some_and(KillHandle::is_granted)
    }

    /// Whether [`Interrupt::kill`] was called since the last reset, or the statement has taken too long.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed) || self.is_overdue()
    }

    /// Whether the statement has taken too long.
    pub(crate) fn is_overdue(&self) -> bool {
        let deadline = self.deadline.load(Ordering::Relaxed);
        deadline != 0 && START.elapsed().as_millis() as u64 >= deadline
    }

    /// Gives the statement that begins so much time.
    pub(crate) fn begin_time_limit(&self, limit: Duration) {
        let deadline = (START.elapsed() + limit).as_millis() as u64;
        self.deadline.store(deadline.max(1), Ordering::Relaxed);
    }

    /// The statement has ended; true if it had taken too long.
    pub(crate) fn end_time_limit(&self) -> bool {
        if self.deadline.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let overdue = self.is_overdue();
        let waiting = self.waiting.lock();
        self.deadline.store(0, Ordering::Relaxed);
        if let Some(handle) = &*waiting
            && overdue
            && !self.killed.load(Ordering::SeqCst)
        {
            handle.reset();
        }
        overdue
    }

    /// Ends the lock wait of a statement that has taken too long: such a wait does not look at the time itself.
    pub fn end_overdue_wait(&self) {
        if !self.is_overdue() {
            return;
        }
        let waiting = self.waiting.lock();
        if let Some(handle) = &*waiting
            && self.is_overdue()
        {
            handle.kill();
        }
    }

    /// Forgets a kill, at the start of a statement that it was not meant for.
    pub fn reset(&self) {
        if !self.killed.load(Ordering::Relaxed) {
            return;
        }
        let waiting = self.waiting.lock();
        self.killed.store(false, Ordering::SeqCst);
        if let Some(handle) = &*waiting {
            handle.reset();
        }
    }

    /// The session's locks beside its transactions have this number.
    pub(crate) fn set_session(&self, owner: u64) {
        self.session.store(owner, Ordering::Relaxed);
    }

    /// Whether the locks with this number are the session's beside its transactions (true), or its transaction's
    /// (false). No number is used twice.
    pub fn owns(&self, locks: u64) -> Option<bool> {
        let is = |own: &AtomicU64| own.load(Ordering::Relaxed) == locks;
        if is(&self.session) { Some(true) } else { is(&self.transaction).then_some(false) }
    }

    /// [`Interrupt::watch`] for a time; returns what was watched before.
    pub(crate) fn replace(&self, handle: Option<KillHandle>) -> Option<KillHandle> {
        let before = self.waiting.lock().take();
        self.watch(handle);
        before
    }

    /// From now on a kill ends the waits of `handle`; one that has come in this statement ends the next of them.
    pub(crate) fn watch(&self, handle: Option<KillHandle>) {
        let mut waiting = self.waiting.lock();
        *waiting = handle;
        let owner = waiting.as_ref().map_or(0, KillHandle::owner);
        if owner != self.session.load(Ordering::Relaxed) {
            self.transaction.store(owner, Ordering::Relaxed);
        }
        if let Some(handle) = &*waiting
            && self.is_killed()
        {
            handle.kill();
        }
    }
}
