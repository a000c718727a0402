//! The same for tests: each is real or shuttle's, by where it was made.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cohort_io::sync::TimedWait;
use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

std::thread_local! {
    static EXPLORING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `scenario` under many schedules: half of them chosen step by step, half of them with few preemptions at places
/// that are chosen before (PCT). A failure prints its schedule: with it as `COHORT_SCHEDULE` that one is run again.
/// `COHORT_SCHEDULES` says how many, instead of `schedules`.
pub(crate) fn explore(schedules: usize, scenario: impl Fn() + Send + Sync + Clone + 'static) {
    let variable = |name| std::env::var(name).ok();
    if let Some(schedule) = variable("COHORT_SCHEDULE") {
        return run(ReplayScheduler::new_from_encoded(&schedule), scenario);
    }
    let schedules = variable("COHORT_SCHEDULES").map_or(schedules, |number| number.parse().expect("a number"));
    run(RandomScheduler::new(schedules.div_ceil(2)), scenario.clone());
    run(PctScheduler::new(PREEMPTIONS, schedules / 2), scenario);
}

const PREEMPTIONS: usize = 4;

fn run(scheduler: impl Scheduler + 'static, scenario: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 512 << 10;
    config.max_steps = MaxSteps::FailAfter(100_000);
    config.silence_warnings = true;
    // A failure may leave it set.
    let _restored = Exploring::set(false);
    Runner::new(scheduler, config).run(move || {
        let _exploring = Exploring::set(true);
        scenario();
    });
}

/// Runs `work` with real locks, which nobody else may hold: one step of the schedule.
pub(crate) fn unexplored<T>(work: impl FnOnce() -> T) -> T {
    let _exploring = Exploring::set(false);
    work()
}

/// Whether what is made now is shuttle's.
pub(crate) fn is_exploring() -> bool {
    EXPLORING.get()
}

struct Exploring {
    before: bool,
}

impl Exploring {
    fn set(exploring: bool) -> Self {
        Exploring { before: EXPLORING.replace(exploring) }
    }
}

impl Drop for Exploring {
    fn drop(&mut self) {
        EXPLORING.set(self.before);
    }
}

/// Where another thread may run.
pub(crate) fn point() {
    if is_exploring() {
        // A yield would make schedules with priorities take this thread's.
        shuttle::sync::atomic::AtomicBool::new(false).load(Ordering::SeqCst);
    }
}

/// A mutex that no panic poisons.
pub(crate) enum Mutex<T> {
    Real(cohort_io::sync::Mutex<T>),
    Explored(shuttle::sync::Mutex<T>),
}

pub(crate) enum MutexGuard<'l, T> {
    Real(cohort_io::sync::MutexGuard<'l, T>),
    /// None while it waits for a condition.
    Explored(Option<shuttle::sync::MutexGuard<'l, T>>),
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        match is_exploring() {
            false => Mutex::Real(cohort_io::sync::Mutex::new(value)),
            true => Mutex::Explored(shuttle::sync::Mutex::new(value)),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self {
            Mutex::Real(mutex) => MutexGuard::Real(mutex.lock()),
            Mutex::Explored(mutex) => MutexGuard::Explored(Some(mutex.lock().unwrap_or_else(PoisonError::into_inner))),
        }
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self {
            Mutex::Real(mutex) => mutex.try_lock().map(MutexGuard::Real),
            Mutex::Explored(mutex) => mutex.try_lock().ok().map(|guard| MutexGuard::Explored(Some(guard))),
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mutex::Real(mutex) => mutex.fmt(f),
            Mutex::Explored(mutex) => mutex.fmt(f),
        }
    }
}

const HELD: &str = "held outside of waits";

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            MutexGuard::Real(guard) => guard,
            MutexGuard::Explored(guard) => guard.as_ref().expect(HELD),
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match self {
            MutexGuard::Real(guard) => guard,
            MutexGuard::Explored(guard) => guard.as_mut().expect(HELD),
        }
    }
}

/// A condition variable for mutexes made where it was made. Time stands still in an exploration: a wait with an end
/// waits for the notification.
#[derive(Debug)]
pub(crate) enum Condvar {
    Real(cohort_io::sync::Condvar),
    Explored(shuttle::sync::Condvar),
}

impl Condvar {
    pub fn new() -> Self {
        match is_exploring() {
            false => Condvar::Real(cohort_io::sync::Condvar::new()),
            true => Condvar::Explored(shuttle::sync::Condvar::new()),
        }
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        match (self, guard) {
            (Condvar::Real(condvar), MutexGuard::Real(guard)) => condvar.wait(guard),
            (Condvar::Explored(condvar), MutexGuard::Explored(guard)) => {
                let held = guard.take().expect(HELD);
                *guard = Some(condvar.wait(held).unwrap_or_else(PoisonError::into_inner));
            }
            _ => panic!("a condition variable and a mutex that were made in different places"),
        }
    }

    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, until: Instant) -> TimedWait {
        if let (Condvar::Real(condvar), MutexGuard::Real(guard)) = (self, &mut *guard) {
            return condvar.wait_until(guard, until);
        }
        self.wait(guard);
        TimedWait::default()
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> TimedWait {
        self.wait_until(guard, Instant::now() + time)
    }

    pub fn notify_one(&self) {
        match self {
            Condvar::Real(condvar) => {
                condvar.notify_one();
            }
            Condvar::Explored(condvar) => condvar.notify_one(),
        }
    }

    pub fn notify_all(&self) {
        match self {
            Condvar::Real(condvar) => {
                condvar.notify_all();
            }
            Condvar::Explored(condvar) => condvar.notify_all(),
        }
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}

/// A lock that is always short: where it is explored, readers exclude each other too.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(Mutex<T>);

impl<T> RwLock<T> {
    pub fn read(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }

    pub fn write(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }
}

/// Counters with a [`point`] before each operation.
macro_rules! counter {
    ($name:ident, $value:ty) => {
        #[derive(Debug, Default)]
        pub(crate) struct $name(std::sync::atomic::$name);

        #[allow(dead_code, reason = "both have the same face")]
        impl $name {
            pub const fn new(value: $value) -> Self {
                $name(std::sync::atomic::$name::new(value))
            }

            pub fn load(&self, order: Ordering) -> $value {
                point();
                self.0.load(order)
            }

            pub fn store(&self, value: $value, order: Ordering) {
                point();
                self.0.store(value, order);
            }

            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.swap(value, order)
            }

            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.fetch_add(value, order)
            }

            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.fetch_sub(value, order)
            }

            pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                point();
                self.0.fetch_max(value, order)
            }
        }
    };
}

counter!(AtomicU64, u64);
counter!(AtomicUsize, usize);
