//! Who is about to commit joins before a cohort is taken ([why](../../../../../docs/decisions/0007-gathering.md)).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Coordinator;
use crate::blocking_hook::blocking;
use crate::sync;

impl Coordinator {
    /// Lets those run who are ready to commit and wait only for a processor, so that they share this
    /// write: goes on for as long as the queue grows. Where processors are free this returns at once, so
    /// that it is no timer: nobody waits for a transaction that may not come, unless the operator asked for
    /// that (`binlog_group_commit_sync_delay`). Unless `others` may be ready it does not look.
    pub(super) fn gather(&self, others: bool) {
        if let Some((until, enough)) = self.settings.sync_delay.begin() {
            return blocking(|| {
                let mut queue = self.queue.lock("gather");
                let wanted = |waiting: usize| waiting > 0 && waiting < enough;
                while wanted(queue.waiting.len()) && !queue.wait_until(&self.joined, until) {}
            });
        }
        if !others {
            return;
        }
        let waiting = || self.queue.lock("gather").waiting.len();
        let mut before = waiting();
        while before > 0 && self.yields.are_worthwhile() {
            let time = sync::yield_now();
            let after = waiting();
            let joined = after.saturating_sub(before);
            self.yields.took(time, joined);
            if joined == 0 {
                return;
            }
            before = after;
        }
    }
}

/// Whether yields bring more than they cost. Who computes without a pause keeps the processor that it is given until the
/// kernel's next tick, whatever its priority, and the cohort waits for longer than writes of their own would have taken
/// those who joined: then nobody yields for a while, and for longer each time.
#[derive(Debug)]
pub(super) struct Yields {
    /// The times below count from here.
    start: Instant,
    /// Until when nobody yields, microseconds.
    barred_until: AtomicU64,
    /// For how long the next yield that took too long bars others, microseconds.
    bar: AtomicU64,
}

/// No longer yield is worthwhile that brings nobody.
const SHORT: Duration = Duration::from_millis(1);
/// What a member of a cohort may cost: a write of its own would take as long.
const FOR_EACH: Duration = Duration::from_micros(100);
const BAR_FIRST: Duration = Duration::from_millis(250);
const BAR_MAX: Duration = Duration::from_secs(8);

impl Yields {
    fn are_worthwhile(&self) -> bool {
        let until = self.barred_until.load(Ordering::Relaxed);
        until == 0 || micros(self.start.elapsed()) >= until
    }

    /// The last one took `time`, and `joined` transactions joined meanwhile.
    fn took(&self, time: Duration, joined: usize) {
        let bar = self.bar.load(Ordering::Relaxed);
        if time > SHORT.max(FOR_EACH.saturating_mul(joined as u32)) {
            self.barred_until.store(micros(self.start.elapsed() + Duration::from_micros(bar)), Ordering::Relaxed);
            self.bar.store((2 * bar).min(micros(BAR_MAX)), Ordering::Relaxed);
        } else if bar != micros(BAR_FIRST) && joined > 0 {
            self.bar.store(micros(BAR_FIRST), Ordering::Relaxed);
        }
    }
}

impl Default for Yields {
    fn default() -> Self {
        Yields { start: Instant::now(), barred_until: AtomicU64::new(0), bar: AtomicU64::new(micros(BAR_FIRST)) }
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Duration = Duration::ZERO;

    #[test]
    fn a_yield_that_costs_more_than_it_brings_bars_others_and_for_longer_each_time() {
        let yields = Yields::default();
        yields.took(SHORT, 0);
        yields.took(20 * FOR_EACH, 20);
        assert!(yields.are_worthwhile(), "they were short for what they brought");
        let bars = [BAR_FIRST, 2 * BAR_FIRST, 4 * BAR_FIRST, 8 * BAR_FIRST, 16 * BAR_FIRST, BAR_MAX, BAR_MAX];
        for bar in bars {
            assert_eq!(yields.bar.load(Ordering::Relaxed), micros(bar));
            let before = yields.start.elapsed();
            yields.took(20 * FOR_EACH + Duration::from_nanos(1), 20);
            let until = yields.barred_until.load(Ordering::Relaxed);
            assert!(until >= micros(before + bar) && until <= micros(yields.start.elapsed() + bar));
        }
        assert!(!yields.are_worthwhile(), "barred for seconds");
        yields.took(NOTHING, 0);
        assert_eq!(yields.bar.load(Ordering::Relaxed), micros(BAR_MAX), "it brought nobody");
        yields.took(NOTHING, 1);
        assert_eq!(yields.bar.load(Ordering::Relaxed), micros(BAR_FIRST));
        yields.barred_until.store(1, Ordering::Relaxed);
        while yields.start.elapsed() < Duration::from_micros(1) {}
        assert!(yields.are_worthwhile(), "the bar is over");
    }
}
