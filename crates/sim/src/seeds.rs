//! Many seeds, on every processor.

use std::fmt;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::{Printing, Report, run};

/// The number in an environment variable, if there is one.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// What was found, and by which seed.
#[derive(Debug, thiserror::Error)]
#[error("seed {seed}: {violation:?}\nmake sim SEED={seed}")]
pub struct Violation {
    pub seed: u64,
    /// What the server promises and did not keep.
    pub violation: anyhow::Error,
}

/// Runs `seed` in threads that are named for it: a panic prints the seed, also one that ends the process.
pub fn run_seed(seed: u64, printing: Printing) -> Result<Report, Violation> {
    let run = thread::Builder::new().name(format!("seed {seed}")).spawn(move || run(seed, printing));
    let outcome = run.map_err(anyhow::Error::from).and_then(|run| run.join().unwrap_or(Err(anyhow!("it panicked"))));
    outcome.map_err(|violation| Violation { seed, violation })
}

/// Runs the seeds from `first` on until `time` is over; returns how many, and the sum of what they did.
pub fn run_seeds(first: u64, time: Duration) -> Result<(u64, Report), Violation> {
    let (begin, next, failed) = (Instant::now(), AtomicU64::new(first), AtomicBool::new(false));
    let some = || {
        let mut sum = Report::default();
        while begin.elapsed() < time && !failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            sum += run_seed(seed, Printing::Nothing).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        }
        Ok(sum)
    };
    let sums: Result<Vec<Report>, Violation> = thread::scope(|scope| {
        let processors = thread::available_parallelism().map_or(1, |count| count.get());
        let threads: Vec<_> = (0..processors).map(|_| scope.spawn(some)).collect();
        threads.into_iter().map(|thread| thread.join().expect("runs catch their panics")).collect()
    });
    let mut sum = Report::default();
    sums?.into_iter().for_each(|part| sum += part);
    Ok((next.into_inner() - first, sum))
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.committed += other.committed;
        self.in_doubt += other.in_doubt;
        self.shared_cohorts += other.shared_cohorts;
        self.restarts += other.restarts;
        self.cut_recoveries += other.cut_recoveries;
        self.switches += other.switches;
        self.divergences += other.divergences;
        self.withheld += other.withheld;
        self.lock_waits += other.lock_waits;
        self.deadlocks += other.deadlocks;
        self.timeouts += other.timeouts;
        self.disk_operations += other.disk_operations;
        self.trace ^= other.trace;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} commits acknowledged, {} in doubt, ", self.committed, self.in_doubt)?;
        write!(f, "{} cohorts of several, {} restarts, ", self.shared_cohorts, self.restarts)?;
        write!(f, "{} changes of protocol, {} cut recoveries, ", self.switches, self.cut_recoveries)?;
        write!(f, "{} divergences reported, {} answers withheld, ", self.divergences, self.withheld)?;
        write!(f, "{} lock waits, of them ", self.lock_waits)?;
        write!(f, "{} deadlocks and {} timeouts, ", self.deadlocks, self.timeouts)?;
        write!(f, "{} disk operations", self.disk_operations)
    }
}
