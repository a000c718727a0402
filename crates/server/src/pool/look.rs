//! Whether a worker looks for the next command of a lone client, or sleeps until it comes.
//!
//! A processor that sleeps takes tens of microseconds to wake, on a virtual machine more than a short command
//! takes to execute. A worker that looks instead keeps its processor awake, at the price of that processor. It is
//! worth it for the [usual](Pace) gap between an answer and the next command, while a processor is
//! [idle](Processors).

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

/// A client that takes longer than this is waited for.
const LONGEST_LOOK: Duration = Duration::from_micros(200);
/// A client that usually takes no time at all is looked for so long.
const SHORTEST_LOOK: Duration = Duration::from_micros(20);
/// A longer gap counts as one of this length, so that after a rest some twenty quick commands are enough to be looked
/// for again.
const LONGEST_GAP: Duration = Duration::from_millis(2);

/// How long a client usually takes from an answer to its next command.
#[derive(Debug, Default)]
pub struct Pace {
    usual: Duration,
}

impl Pace {
    /// How long to look for the next command: twice what is usual. None if the client is too slow for that.
    pub fn look(&self) -> Option<Duration> {
        (self.usual <= LONGEST_LOOK).then(|| (2 * self.usual).clamp(SHORTEST_LOOK, LONGEST_LOOK))
    }

    /// The client took `gap`, which counts for an eighth of what is usual.
    pub fn learn(&mut self, gap: Duration) {
        self.usual = (self.usual * 7 + gap.min(LONGEST_GAP)) / 8;
    }
}

/// Whether a processor is idle, as it was seen last.
#[derive(Debug)]
pub struct Processors {
    count: usize,
    idle: AtomicBool,
}

impl Processors {
    /// Those that this process may use; idle until it is [seen](Processors::see) that they are not.
    pub fn new() -> Processors {
        let count = available_parallelism().map_or(1, |count| count.get());
        Processors { count, idle: AtomicBool::new(true) }
    }

    /// Whether one was idle when they were seen last.
    pub fn are_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed)
    }

    /// Compares the machine's threads that run or could run with the processors. The calling thread does not count.
    pub fn see(&self) {
        if let Some(others) = fs::read_to_string("/proc/loadavg").ok().and_then(|text| runnable(&text)) {
            self.idle.store(others <= self.count, Ordering::Relaxed);
        }
    }
}

/// The threads of the machine that run or could run, but for the one that asks. The line of `/proc/loadavg` is
/// `0.20 0.18 0.12 3/80 11206`.
fn runnable(loadavg: &str) -> Option<usize> {
    let (running, _all) = loadavg.split(' ').nth(3)?.split_once('/')?;
    running.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_client_is_looked_for_twice_as_long_as_it_takes() {
        let mut pace = Pace::default();
        assert_eq!(pace.look(), Some(SHORTEST_LOOK));
        for _ in 0..50 {
            pace.learn(Duration::from_micros(60));
        }
        let look = pace.look().unwrap();
        assert!((Duration::from_micros(100)..=Duration::from_micros(120)).contains(&look), "{look:?}");
    }

    #[test]
    fn a_slow_client_is_not_looked_for_until_it_is_quick_again() {
        let mut pace = Pace::default();
        pace.learn(Duration::from_secs(9));
        assert_eq!(pace.look(), None, "it rests");
        let quick = (1..100).find(|_| {
            pace.learn(Duration::from_micros(30));
            pace.look().is_some()
        });
        assert!(quick.is_some_and(|commands| commands <= 20), "{quick:?}");
    }

    #[test]
    fn threads_that_could_run_are_counted() {
        assert_eq!(runnable("0.20 0.18 0.12 3/80 11206\n"), Some(2));
        assert_eq!(runnable("0.20 0.18 0.12"), None);
        let processors = Processors::new();
        assert!(processors.are_idle());
        processors.see();
    }
}
