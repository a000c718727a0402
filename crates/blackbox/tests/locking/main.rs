//! Locking statements find, lock and wait as InnoDB's do.
//!
//! Interleavings of two to six sessions, chosen by a seed, run in lock step on this server and on MariaDB. Each step
//! is one statement, which answers or waits for a lock; whether it waits is looked up, not timed. After each step both
//! servers must have answered the same statements with the same rows, affected rows and errors, and the same sessions
//! must wait. Where InnoDB may differ stands in [`differences`].
//!
//! # Environment
//! | variable | effect |
//! | --- | --- |
//! | `COHORT_SEED` | the first run's seed; the next has the next number |
//! | `COHORT_SECONDS` | how long, from a fresh seed on |
//! | `COHORT_FAILURES` | goes on until so many runs have failed |
//!
//! Without any of them, a list of seeds runs that is the same each time, and then fresh ones. Of these, a difference in
//! who waits is reported and no failure; rows, errors, what a table holds at the end, and who waits for nobody are.
//!
//! The transcripts in `testdata/locking` hold one rule each, with the answers of MariaDB: see [`transcripts`].

mod claims;
mod differences;
mod generate;
mod innodb;
mod run;
mod shrink;
mod side;
mod statement;
mod table;
mod transcripts;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cohort_blackbox::{Launch, MariaDb, Server, SystemTables, rng};

use crate::generate::Plan;
use crate::run::{Outcome, Pair};
use crate::side::{Kind, Side};

/// InnoDB as it is installed, but for what would only take time; and without index condition pushdown, so that a SELECT
/// locks what an UPDATE by the same index locks.
const PEER_OPTIONS: [&str; 7] = [
    "--optimizer-switch=index_condition_pushdown=off",
    "--log-bin",
    "--binlog-format=ROW",
    "--sync-binlog=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-status-output-locks=ON",
    "--innodb-lock-wait-timeout=600",
];

/// How many runs there are where no time is said, by seeds that are the same each time and by fresh ones.
const USUAL: [u64; 2] = [60, 60];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// A server of ours, with a side for it.
fn ours(folder: &Path) -> Result<(Server, Side)> {
    let server = Launch::new(folder.join("data")).option("--sync_binlog=0").start()?;
    let mut side = Side::new(Kind::Cohort, server.options())?;
    side.control("CREATE DATABASE d")?;
    Ok((server, side))
}

/// A MariaDB, with a side for it; `None` where there is none.
fn theirs(folder: &Path) -> Result<Option<(MariaDb, Side)>> {
    if MariaDb::installed().is_none() {
        return Ok(None);
    }
    let peer = MariaDb::start(&folder.join("peer"), SystemTables::Absent, &PEER_OPTIONS, None)?;
    let mut side = Side::new(Kind::MariaDb, peer.options())?;
    side.control("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")?;
    side.control("CREATE DATABASE d")?;
    Ok(Some((peer, side)))
}

#[test]
fn rules_of_locking_hold_as_in_the_transcripts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let records = std::env::var_os("COHORT_RECORD").is_some();
    let mut report = String::new();
    match theirs(folder.path())? {
        Some((_peer, mut theirs)) => report += &transcripts::check(&mut theirs, "InnoDB", records)?,
        None => println!("NOT RUN against MariaDB, which is not installed"),
    }
    let (_server, mut ours) = ours(folder.path())?;
    report += &transcripts::check(&mut ours, "InnoDB", records)?;
    report += &transcripts::check(&mut ours, "redb", false)?;
    ensure!(report.is_empty(), "not as recorded:\n{report}");
    Ok(())
}

#[test]
fn random_interleavings_lock_as_innodb_does() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let Some((_peer, theirs)) = theirs(folder.path())? else {
        println!("NOT RUN: MariaDB is not installed");
        return Ok(());
    };
    let (_server, ours) = ours(folder.path())?;
    let mut pair = Pair { ours, theirs };
    let (time, allowed) = (number("COHORT_SECONDS"), number("COHORT_FAILURES").unwrap_or(1));
    let fresh = rng::seed();
    let long = time.is_some() || number("COHORT_SEED").is_some();
    let (mut runs, mut compared, mut waits, mut left_out) = (0_u64, 0, 0, 0);
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let begin = Instant::now();
    let goes_on = |runs| match time {
        Some(time) => begin.elapsed() < Duration::from_secs(time),
        None if long => runs < USUAL[0],
        None => runs < USUAL[0] + USUAL[1],
    };
    while goes_on(runs) {
        let is_fresh = long || runs >= USUAL[0];
        let seed = if is_fresh { fresh.wrapping_add(runs) } else { 1 + runs };
        runs += 1;
        let plan = Plan::new(seed);
        let trial = pair.run(&plan)?;
        (compared, waits, left_out) = (compared + trial.compared, waits + trial.waits, left_out + trial.left_out);
        match &trial.outcome {
            Outcome::Same => {}
            Outcome::Ended(reason) => *ends.entry(reason).or_default() += 1,
            Outcome::Differs(difference) if difference.only_waits && is_fresh && !long => {
                println!("COHORT_SEED={seed}, not judged: {}\n{}", difference.kind, trial.transcript);
            }
            Outcome::Differs(difference) => {
                let found = failures.entry(difference.kind.clone()).or_default();
                if found.len() < 3 {
                    let (_, trial) = shrink::shrink(&mut pair, &plan, trial)?;
                    found.push(format!("COHORT_SEED={seed}\n{}", trial.transcript));
                } else {
                    found.push(String::new());
                }
                if failures.values().map(|found| found.len() as u64).sum::<u64>() >= allowed {
                    break;
                }
            }
        }
    }
    println!("{runs} runs, {compared} steps compared, {waits} waits, {left_out} statements left out for their plans");
    for (reason, count) in ends {
        println!("{count} runs ended since {reason}");
    }
    let mut report = String::new();
    for (kind, found) in &failures {
        report += &format!("\n{} times: {kind}\n", found.len());
        found.iter().filter(|text| !text.is_empty()).for_each(|text| report += text);
    }
    ensure!(failures.is_empty(), "{report}");
    Ok(())
}
