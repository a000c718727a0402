//! Locks that know how long they were waited for and held: the contention profile of the commit path.
//!
//! Two clock reads a lock more than a plain mutex; only the locks of the classic protocols have them, whose
//! critical sections hold writes and syncs.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

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
    /// What it cost.
    pub cost: LockUse,
}

struct Profiled<T> {
    value: T,
    uses: BTreeMap<&'static str, LockUse>,
}

/// A mutex with a name and a profile.
pub(crate) struct ProfiledMutex<T> {
    name: &'static str,
    inner: Mutex<Profiled<T>>,
}

impl<T> ProfiledMutex<T> {
    pub fn new(name: &'static str, value: T) -> Self {
        ProfiledMutex { name, inner: Mutex::new(Profiled { value, uses: BTreeMap::new() }) }
    }

    /// Takes the lock for the step `caller`.
    pub fn lock(&self, caller: &'static str) -> ProfiledGuard<'_, T> {
        let (guard, waited) = match self.inner.try_lock() {
            Some(guard) => (guard, None),
            None => {
                let start = Instant::now();
                let guard = self.inner.lock();
                (guard, Some(start.elapsed()))
            }
        };
        ProfiledGuard { guard, caller, waited, since: Instant::now() }
    }

    /// The uses so far, by caller.
    pub fn profile(&self) -> Vec<LockProfile> {
        let inner = self.inner.lock();
        let line = |(&caller, &cost): (&&'static str, &LockUse)| LockProfile { lock: self.name, caller, cost };
        inner.uses.iter().map(line).collect()
    }
}

/// Holds a [`ProfiledMutex`].
pub(crate) struct ProfiledGuard<'l, T> {
    guard: MutexGuard<'l, Profiled<T>>,
    caller: &'static str,
    waited: Option<Duration>,
    since: Instant,
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
        let held = self.since.elapsed();
        self.guard.uses.entry(self.caller).or_default().add(self.waited, held);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn waits_and_holds_are_counted_by_caller() {
        let lock = ProfiledMutex::new("LOCK_log", 1);
        *lock.lock("write") += 1;
        thread::scope(|scope| {
            let guard = lock.lock("rotate");
            let (ready, is_ready) = mpsc::channel();
            let waiter = scope.spawn(|| {
                let ready = ready;
                ready.send(()).expect("the test waits");
                *lock.lock("write")
            });
            is_ready.recv().expect("the waiter");
            thread::sleep(Duration::from_millis(20));
            drop(guard);
            assert_eq!(waiter.join().expect("no panic"), 2);
        });
        let profile = lock.profile();
        let of = |caller| profile.iter().find(|line| line.caller == caller).expect("a line").cost;
        assert_eq!((profile.len(), of("write").count, of("rotate").count), (2, 2, 1));
        assert_eq!((of("write").waits, of("rotate").waits), (1, 0));
        assert!(of("write").wait_max_ns > 0 && of("rotate").hold_ns >= of("write").wait_ns);
    }
}
