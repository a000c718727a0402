//! Seeds that are always run, and fresh ones. `COHORT_SEED` says from which on, `COHORT_SECONDS` for how long.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cohort_sim::{Report, Telling};

fn run(seed: u64) -> anyhow::Result<Report> {
    cohort_sim::run(seed, Telling::Nothing)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..20 {
        let (one, other) = (run(seed), run(seed));
        assert_eq!(one.unwrap_or_else(|error| panic!("seed {seed}: {error:?}")), other.expect("as before"), "{seed}");
    }
}

#[test]
fn what_a_run_does_is_worth_checking() {
    let mut restarts = 0;
    let (mut committed, mut in_doubt, mut shared, mut cut) = (0, 0, 0, 0);
    for seed in 0..40 {
        let report = run(seed).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        restarts += report.restarts;
        committed += report.committed;
        in_doubt += report.in_doubt;
        shared += report.shared_cohorts;
        cut += report.cut_recoveries;
    }
    assert!(committed > 1000 && shared > 100, "{committed} commits, {shared} cohorts of several");
    assert!(restarts > 50 && in_doubt > 20 && cut > 20, "{restarts} restarts, {in_doubt} in doubt, {cut} cut");
}

/// Two minutes of seeds that nobody chose.
#[test]
fn fresh_seeds_lose_and_invent_nothing() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = number("COHORT_SEED").unwrap_or(since.as_secs() * 1_000_000);
    let time = Duration::from_secs(number("COHORT_SECONDS").unwrap_or(60));
    let begin = Instant::now();
    let mut seed = first;
    while begin.elapsed() < time {
        if let Err(violation) = run(seed) {
            panic!("seed {seed}: {violation:?}\nmake sim SEED={seed}");
        }
        seed += 1;
    }
    println!("seeds {first} to {}", seed - 1);
}
