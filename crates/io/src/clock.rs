//! Wall-clock time behind a trait, so that tests say what time it is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time of day. It may jump, also backwards: use it for timestamps, never for durations.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01 00:00:00 UTC; 0 for a clock set before that.
    fn now_us(&self) -> u64;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_us(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

/// A clock that stands still until it is set.
#[derive(Debug, Default)]
pub struct SimClock(AtomicU64);

impl SimClock {
    /// A clock showing `now_us`.
    pub fn new(now_us: u64) -> SimClock {
        SimClock(AtomicU64::new(now_us))
    }

    /// Sets the time, backwards if so wanted.
    pub fn set_us(&self, now_us: u64) {
        self.0.store(now_us, Ordering::Relaxed);
    }

    /// Moves the time forwards.
    pub fn advance_us(&self, by_us: u64) {
        self.0.fetch_add(by_us, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
