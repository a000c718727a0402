//! What the threads of this crate meet at: locks, condition variables, and counters that say what others may rely on.
//!
//! They are those of `cohort-io` and the standard library's. In this crate's own tests, those that are made within
//! `explore` are shuttle's: one thread of a scenario runs at a time, and at each of their operations a schedule
//! says which (`schedules.rs`). Other tests get the real ones.
//!
//! Nobody may use these under a lock of another crate: a thread that waits for such a lock is not seen by the schedule.
//! So `tc.log`, whose sessions wait for each other in `cohort-engine`, uses those of `cohort-io`.

use std::time::{Duration, Instant};

#[cfg(not(test))]
pub(crate) use cohort_io::sync::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(test))]
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize};

#[cfg(test)]
mod explored;
#[cfg(test)]
pub(crate) use explored::{
    AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, RwLock, explore, is_exploring, point, unexplored,
};

/// [`std::thread::yield_now`]: for how long others ran; in an exploration that takes no time.
pub(crate) fn yield_now() -> Duration {
    #[cfg(test)]
    if is_exploring() {
        shuttle::thread::yield_now();
        return Duration::ZERO;
    }
    let begun = Instant::now();
    std::thread::yield_now();
    begun.elapsed()
}
