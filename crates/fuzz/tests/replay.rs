//! The kept inputs of every target, the seeds, and changes of both that nobody chose.
//!
//! `COHORT_SEED` makes the same changes again, `COHORT_SECONDS` goes on for longer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cohort_fuzz::{BINLOG, COMPOSE, JOURNAL, PROTOCOL, SQL, Target};
use cohort_io::SeededRandom;

/// Inputs are not made longer than this.
const INPUT_MAX: usize = 8 << 10;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn kept(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = target.corpus();
    let mut inputs: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("an input")))
        .collect();
    inputs.sort();
    inputs.extend((target.seeds)().into_iter().enumerate().map(|(at, seed)| (format!("seed {at}"), seed)));
    inputs
}

fn replay(target: &Target) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let inputs = kept(target);
    for (name, input) in &inputs {
        let outcome = catch_unwind(AssertUnwindSafe(|| target.run(input)));
        assert!(outcome.is_ok(), "{}: {name}", target.corpus().display());
    }
    let seed = number("COHORT_SEED")
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64);
    println!("{}: {} inputs kept; changed by seed {seed} (COHORT_SEED={seed})", target.name, inputs.len());
    let random = SeededRandom::new(seed);
    let time = Duration::from_secs(number("COHORT_SECONDS").unwrap_or(5));
    let (begin, mut runs) = (Instant::now(), 0_u64);
    while begin.elapsed() < time {
        let input = changed(&random, &inputs);
        runs += 1;
        if catch_unwind(AssertUnwindSafe(|| target.run(&input))).is_err() {
            panic!("{}, run {runs} of seed {seed}: {}", target.name, input.escape_ascii());
        }
    }
    println!("{}: {runs} changed inputs", target.name);
}

/// One of the inputs, with bytes changed, taken out, doubled, or another input's put in.
fn changed(random: &SeededRandom, inputs: &[(String, Vec<u8>)]) -> Vec<u8> {
    let pick = || &inputs[random.below(inputs.len() as u64) as usize].1;
    let below = |bound: usize| random.below(bound as u64) as usize;
    let mut input = pick().clone();
    for _ in 0..1 + below(6) {
        if input.is_empty() {
            input.push(0);
        }
        let at = below(input.len());
        let end = at + below((input.len() - at).min(64) + 1);
        match below(7) {
            0 => input[at] ^= 1 << below(8),
            1 => input[at] = below(256) as u8,
            2 => input[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][below(6)],
            3 => drop(input.drain(at..end)),
            4 => {
                let part = input[at..end].to_vec();
                input.splice(at..at, part);
            }
            5 => {
                let other = pick();
                let from = below(other.len().max(1)).min(other.len());
                let part = other[from..(from + 1 + below(64)).min(other.len())].to_vec();
                input.splice(at..at, part);
            }
            _ => input[at] = input[at].wrapping_add(1),
        }
    }
    input.truncate(INPUT_MAX);
    input
}

/// Memory is counted for the process: one at a time.
static ONE: Mutex<()> = Mutex::new(());

#[test]
fn what_clients_send_is_read_or_refused() {
    replay(&PROTOCOL);
}

#[test]
fn binlog_files_are_read_or_refused() {
    replay(&BINLOG);
}

#[test]
fn journals_are_read_or_refused() {
    replay(&JOURNAL);
}

#[test]
fn statements_are_answered() {
    replay(&SQL);
}

#[test]
fn deep_and_long_statements_are_answered() {
    replay(&COMPOSE);
}
