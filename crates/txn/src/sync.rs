//! What the threads of this crate meet at: locks, condition variables, and counters that say what others may rely on.
//!
//! They are those of `cohort-io` and the standard library's. In this crate's own tests, those that are made within
//! `explore` are shuttle's: one thread of a scenario runs at a time, and at each of their operations a schedule
//! says which (`schedules.rs`). Other tests get the real ones.
//!
//! Nobody may use these under a lock of another crate: a thread that waits for such a lock is not seen by the schedule.
//! So `tc.log`, whose sessions wait for each other in `cohort-engine`, uses those of `cohort-io`.

#[cfg(not(test))]
pub(crate) use cohort_io::sync::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(test))]
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize};

#[cfg(test)]
mod explored;
#[cfg(test)]
pub(crate) use explored::{
    AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, RwLock, explore, is_exploring, point, unexplored, yield_now,
};

/// [`std::thread::yield_now`]: for how long others ran.
#[cfg(not(test))]
pub(crate) fn yield_now() -> std::time::Duration {
    let begun = std::time::Instant::now();
    std::thread::yield_now();
    begun.elapsed()
}
