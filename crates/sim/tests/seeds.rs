//! Seeds that are always run, and fresh ones. `COHORT_SEED` says from which on, `COHORT_SECONDS` for how long.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cohort_sim::seeds::{number, run_seed, run_seeds};
use cohort_sim::{Printing, Report};

fn run(seed: u64) -> Report {
    run_seed(seed, Printing::Nothing).unwrap_or_else(|violation| panic!("{violation}"))
}

#[test]
fn the_same_seed_gives_the_same_run() {
    (0..40).for_each(|seed| assert_eq!(run(seed), run(seed), "{seed}"));
}

#[test]
fn what_a_run_does_is_worth_checking() {
    let mut sum = Report::default();
    (0..60).for_each(|seed| sum += run(seed));
    assert!(sum.committed > 1000 && sum.shared_cohorts > 50, "{sum}");
    assert!(sum.restarts > 50 && sum.in_doubt > 20 && sum.cut_recoveries > 20, "{sum}");
    assert!(sum.switches > 20 && sum.divergences > 0, "{sum}");
    assert!(sum.withheld > 100, "{sum}");
    assert!(sum.lock_waits > 500 && sum.deadlocks > 20 && sum.timeouts > 20, "{sum}");
}

/// Two minutes of seeds that nobody chose.
#[test]
fn fresh_seeds_lose_and_invent_nothing() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = number("COHORT_SEED").unwrap_or(since.as_secs() * 1_000_000);
    let time = Duration::from_secs(number("COHORT_SECONDS").unwrap_or(120));
    let (count, sum) = run_seeds(first, time).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{count} seeds from {first} on: {sum}");
}
