//! What the commit path counts: plain atomics, read by SHOW GLOBAL STATUS and by metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A histogram with one bucket per power of two.
#[derive(Debug)]
pub struct Histogram {
    buckets: [AtomicU64; 64],
    sum: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: std::array::from_fn(|_| AtomicU64::new(0)), sum: AtomicU64::new(0) }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn record(&self, value: u64) {
        let bucket = (u64::BITS - value.leading_zeros()).min(63) as usize;
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts the microseconds since `start` and returns now.
    pub(crate) fn record_since(&self, start: Instant) -> Instant {
        let now = Instant::now();
        self.record(now.duration_since(start).as_micros() as u64);
        now
    }

    /// Number of values counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }

    /// Sum of the values counted.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }

    /// The non-empty buckets as (upper bound, inclusive; count).
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let bounds = (0..64).map(|bits| if bits == 0 { 0 } else { (1u64 << bits) - 1 });
        bounds.zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// As one line of text, `<=bound:count` pairs with blanks between.
    pub fn to_line(&self) -> String {
        let pairs: Vec<String> = self.buckets().iter().map(|(bound, count)| format!("<={bound}:{count}")).collect();
        pairs.join(" ")
    }
}

/// Counters of the commit path.
#[derive(Debug, Default)]
pub struct CommitStats {
    /// Transactions written to the binlog.
    pub binlog_commits: AtomicU64,
    /// Cohorts that held at least one of them.
    pub binlog_group_commits: AtomicU64,
    /// Transactions acknowledged.
    pub commits: AtomicU64,
    /// Cohorts laid out by a session that was alone.
    pub inline_cohorts: AtomicU64,
    /// Transactions per cohort.
    pub cohort_size: Histogram,
    /// Microseconds from joining the queue to being taken from it.
    pub queue_us: Histogram,
    /// Microseconds to lay a cohort out.
    pub layout_us: Histogram,
    /// Microseconds to write a record.
    pub write_us: Histogram,
    /// Microseconds to apply a cohort to binlog file and engines.
    pub apply_us: Histogram,
    /// Microseconds to hand out a cohort's replies.
    pub reply_us: Histogram,
}

pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_under_the_least_bound_that_is_not_below_it() {
        let values = [0, 1, 2, 3, 4, 7, 8, 1 << 20, (1 << 62) - 1];
        let histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        let bounds = [(0, 1), (1, 1), (3, 2), (7, 2), (15, 1), ((1 << 21) - 1, 1), ((1 << 62) - 1, 1)];
        assert_eq!(histogram.buckets(), bounds);
        assert_eq!((histogram.count(), histogram.sum()), (9, values.iter().sum()));
        let line = "<=0:1 <=1:1 <=3:2 <=7:2 <=15:1 <=2097151:1 <=4611686018427387903:1";
        assert_eq!(histogram.to_line(), line);
        histogram.record(u64::MAX);
        assert_eq!(histogram.buckets().last(), Some(&((1 << 63) - 1, 1)), "the last has no bound");
    }

    #[test]
    fn a_time_is_counted_in_microseconds_and_the_next_begins_where_it_ended() {
        let histogram = Histogram::default();
        let began = Instant::now() - std::time::Duration::from_secs(3);
        let ended = histogram.record_since(began);
        assert_eq!(histogram.sum(), (ended - began).as_micros() as u64);
        assert_eq!(histogram.count(), 1);
    }
}
