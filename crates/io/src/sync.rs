//! Locks and condition variables for threads that share processors with others.
//!
//! Who finds a lock taken looks again for a moment and then sleeps until it is let go, by a futex. Nobody yields: after a
//! `sched_yield` whoever else computes on that processor keeps it until the kernel's next tick, which is 4 ms, be it the
//! least important process of the machine. The mutexes are those of the standard library but for poisoning, as
//! `rustix-futex-sync` has them; that crate's condition variable takes guards by value, this one does not.
//!
//! A panic of the holder lets a lock go and leaves what it guards as it is.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix_futex_sync::RawCondvar;
pub use rustix_futex_sync::{Mutex, MutexGuard, RwLock};

/// A condition variable. Waits may end without a notification: ask the condition again. To notify costs a system call
/// only where somebody waits.
pub struct Condvar {
    inner: RawCondvar,
    /// Changed under the waiter's mutex: whoever changes the condition under it sees those who found it unmet.
    waiters: AtomicU32,
}

/// How a wait with an end ended; by default with a notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimedWait {
    timed_out: bool,
}

impl TimedWait {
    /// Whether the time was over before a notification came.
    pub fn timed_out(self) -> bool {
        self.timed_out
    }
}

impl Condvar {
    pub const fn new() -> Self {
        Condvar { inner: RawCondvar::new(), waiters: AtomicU32::new(0) }
    }

    /// Lets the lock of `guard` go until a notification comes.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.waiters.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the guard says that this thread holds the mutex, and for as long as it is borrowed here nobody reaches
        // the value through it; it is held again on return.
        unsafe { self.inner.wait(MutexGuard::mutex(guard).raw()) }
        self.waiters.fetch_sub(1, Ordering::Relaxed);
    }

    /// As [`Condvar::wait`], for `time` at most.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> TimedWait {
        self.waiters.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as in `wait`.
        let notified = unsafe { self.inner.wait_timeout(MutexGuard::mutex(guard).raw(), time) };
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        TimedWait { timed_out: !notified }
    }

    /// As [`Condvar::wait`], not longer than until `deadline`.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> TimedWait {
        self.wait_for(guard, deadline.saturating_duration_since(Instant::now()))
    }

    pub fn notify_one(&self) {
        if self.waiters.load(Ordering::Relaxed) > 0 {
            self.inner.notify_one();
        }
    }

    pub fn notify_all(&self) {
        if self.waiters.load(Ordering::Relaxed) > 0 {
            self.inner.notify_all();
        }
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_wait_lets_the_lock_go_and_has_it_again_after_a_notification() {
        let (said, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            let mut guard = said.lock();
            scope.spawn(|| {
                *said.lock() = true;
                changed.notify_all();
            });
            while !*guard {
                changed.wait(&mut guard);
            }
            assert!(said.try_lock().is_none(), "not held after the wait");
        });
    }

    #[test]
    fn a_wait_with_an_end_says_how_it_ended() {
        let (woken, changed) = (Mutex::new(false), Condvar::new());
        let mut guard = woken.lock();
        assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
        assert!(changed.wait_until(&mut guard, Instant::now()).timed_out());
        thread::scope(|scope| {
            scope.spawn(|| {
                *woken.lock() = true;
                changed.notify_one();
            });
            let long = Instant::now() + Duration::from_secs(60);
            let mut ended = TimedWait { timed_out: false };
            while !*guard && !ended.timed_out() {
                ended = changed.wait_until(&mut guard, long);
            }
            assert_eq!((*guard, ended.timed_out()), (true, false));
        });
    }
}
