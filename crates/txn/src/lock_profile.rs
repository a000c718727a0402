//! Locks that know how long they were waited for and held: the contention profile of the commit path.
//!
//! Two clock reads a lock more than a plain mutex.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, MutexGuard};

/// What one caller spent on one lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockUse {
    /// How often it was taken.
    pub count: u64,
    /// How often it had to be waited for.
    pub waits: u64,
    /// Nanoseconds waited, in all.
    pub wait_ns: u64,
    /// The longest wait, nanoseconds.
    pub wait_max_ns: u64,
    /// Nanoseconds held, in all.
    pub hold_ns: u64,
    /// The longest hold, nanoseconds.
    pub hold_max_ns: u64,
}

impl LockUse {
    fn add(&mut self, waited: Option<Duration>, held: Duration) {
        let ns = |duration: Duration| duration.as_nanos() as u64;
        self.count += 1;
        self.waits += u64::from(waited.is_some());
        let waited = waited.map_or(0, ns);
        self.wait_ns += waited;
        self.wait_max_ns = self.wait_max_ns.max(waited);
        self.hold_ns += ns(held);
        self.hold_max_ns = self.hold_max_ns.max(ns(held));
    }
}

/// A line of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockProfile {
    /// The lock, by the name that the protocol's sources have for it.
    pub lock: &'static str,
    /// The step that took it.
    pub caller: &'static str,
    pub cost: LockUse,
}

impl LockUse {
    /// Nanoseconds that those who had to wait waited, on average.
    pub fn wait_mean_ns(&self) -> u64 {
        self.wait_ns.checked_div(self.waits).unwrap_or(0)
    }

    /// Nanoseconds held, on average.
    pub fn hold_mean_ns(&self) -> u64 {
        self.hold_ns.checked_div(self.count).unwrap_or(0)
    }
}

struct Profiled<T> {
    value: T,
    /// By caller; a lock has a few.
    uses: Vec<(&'static str, LockUse)>,
}

impl<T> Profiled<T> {
    fn add(&mut self, caller: &'static str, waited: Option<Duration>, held: Duration) {
        let known = self.uses.iter().position(|(known, _)| *known == caller);
        let at = known.unwrap_or_else(|| {
            self.uses.push((caller, LockUse::default()));
            self.uses.len() - 1
        });
        self.uses[at].1.add(waited, held);
    }
}

/// A mutex with a name and a profile.
pub(crate) struct ProfiledMutex<T> {
    name: &'static str,
    inner: Mutex<Profiled<T>>,
}

impl<T> ProfiledMutex<T> {
    pub fn new(name: &'static str, value: T) -> Self {
        ProfiledMutex { name, inner: Mutex::new(Profiled { value, uses: Vec::new() }) }
    }

    /// Takes the lock for the step `caller`.
    pub fn lock(&self, caller: &'static str) -> ProfiledGuard<'_, T> {
        #[cfg(test)]
        perturb::point();
        let (guard, waited) = match self.inner.try_lock() {
            Some(guard) => (guard, None),
            None => {
                let start = Instant::now();
                let guard = self.inner.lock();
                (guard, Some(start.elapsed()))
            }
        };
        ProfiledGuard {
            guard,
            caller,
            waited,
            since: Instant::now(),
            #[cfg(test)]
            _after: perturb::AtDrop,
        }
    }

    /// The uses so far, by caller.
    pub fn profile(&self) -> Vec<LockProfile> {
        let inner = self.inner.lock();
        inner.uses.iter().map(|&(caller, cost)| LockProfile { lock: self.name, caller, cost }).collect()
    }
}

/// Holds a [`ProfiledMutex`].
pub(crate) struct ProfiledGuard<'l, T> {
    guard: MutexGuard<'l, Profiled<T>>,
    caller: &'static str,
    waited: Option<Duration>,
    since: Instant,
    /// Dropped after the lock is free.
    #[cfg(test)]
    _after: perturb::AtDrop,
}

impl<T> ProfiledGuard<'_, T> {
    /// Lets the lock go until `condvar` is notified; waiting for that is waiting for nobody's lock.
    pub fn wait(&mut self, condvar: &Condvar) {
        self.count();
        condvar.wait(&mut self.guard);
        self.since = Instant::now();
    }

    /// As [`ProfiledGuard::wait`]; says whether it is later than `until`.
    pub fn wait_until(&mut self, condvar: &Condvar, until: Instant) -> bool {
        self.count();
        let waited = condvar.wait_until(&mut self.guard, until);
        self.since = Instant::now();
        waited.timed_out()
    }

    fn count(&mut self) {
        let held = self.since.elapsed();
        self.guard.add(self.caller, self.waited.take(), held);
    }
}

impl<T> Deref for ProfiledGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard.value
    }
}

impl<T> DerefMut for ProfiledGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard.value
    }
}

impl<T> Drop for ProfiledGuard<'_, T> {
    fn drop(&mut self) {
        self.count();
    }
}

/// Schedules that are rare on a quiet machine: a thread that asks for it pauses now and then before it takes a lock and
/// after it let one go.
#[cfg(test)]
pub(crate) mod perturb {
    use std::cell::Cell;
    use std::thread;
    use std::time::Duration;

    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }

    /// Has the calling thread pause from now on, by `seed`, which is not 0.
    pub(crate) fn this_thread(seed: u64) {
        STATE.set(seed);
    }

    /// Where a pause may be.
    pub(super) fn point() {
        let state = STATE.get();
        if state == 0 {
            return;
        }
        let next = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) | 1;
        STATE.set(next);
        match next >> 60 {
            0..=2 => thread::sleep(Duration::from_micros(next >> 40 & 0xff)),
            3..=7 => thread::yield_now(),
            _ => {}
        }
    }

    pub(super) struct AtDrop;

    impl Drop for AtDrop {
        fn drop(&mut self) {
            point();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::tests::until;

    #[test]
    fn what_a_lock_cost_is_added_up_and_the_worst_is_kept() {
        let ns = Duration::from_nanos;
        let mut cost = LockUse::default();
        assert_eq!((cost.wait_mean_ns(), cost.hold_mean_ns()), (0, 0));
        cost.add(Some(ns(30)), ns(100));
        cost.add(None, ns(700));
        cost.add(Some(ns(50)), ns(400));
        cost.add(Some(ns(10)), ns(0));
        let sums = LockUse { count: 4, waits: 3, wait_ns: 90, wait_max_ns: 50, hold_ns: 1200, hold_max_ns: 700 };
        assert_eq!(cost, sums);
        assert_eq!((cost.wait_mean_ns(), cost.hold_mean_ns()), (30, 300));
    }

    #[test]
    fn waits_and_holds_are_counted_by_caller() {
        let lock = ProfiledMutex::new("LOCK_log", 1);
        *lock.lock("write") += 1;
        let of = |caller| {
            let profile = lock.profile();
            profile.iter().find(|line| line.caller == caller).expect("a line").cost
        };
        // On a busy machine a waiter may come only when the lock is free again.
        let mut rounds = 0;
        until("a waiter", || {
            rounds += 1;
            thread::scope(|scope| {
                let guard = lock.lock("rotate");
                let waiter = scope.spawn(|| *lock.lock("write"));
                thread::sleep(Duration::from_millis(20));
                drop(guard);
                assert_eq!(waiter.join().expect("no panic"), 2);
            });
            of("write").waits > 0
        });
        assert_eq!((lock.profile().len(), of("write").count, of("rotate").count), (2, 1 + rounds, rounds));
        assert_eq!((of("write").waits, of("rotate").waits), (1, 0));
        assert_eq!(of("write").wait_mean_ns(), of("write").wait_ns);
        assert!(of("write").wait_max_ns > 0 && of("rotate").hold_ns >= 20_000_000, "it slept while it held the lock");
    }

    #[test]
    fn a_wait_for_a_condition_is_neither_held_nor_waited_for() {
        let (lock, changed) = (ProfiledMutex::new("queue", false), Condvar::new());
        let start = Instant::now();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut guard = lock.lock("wait");
                while !*guard {
                    guard.wait(&changed);
                }
            });
            until("a wait", || !lock.profile().is_empty());
            // It waits, or the profile could not be looked at.
            thread::sleep(Duration::from_millis(50));
            *lock.lock("change") = true;
            changed.notify_all();
            waiter.join().expect("no panic");
        });
        let others = start.elapsed() - Duration::from_millis(50);
        let profile = lock.profile();
        let wait = profile.iter().find(|line| line.caller == "wait").expect("a line").cost;
        assert!(wait.count >= 2, "{wait:?}: once before the wait, once after it");
        assert!(Duration::from_nanos(wait.hold_ns) <= others, "{wait:?} of {others:?}");
    }
}
