//! `cohort-sim`: runs fresh seeds until the time is over, or one seed again.

use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use cohort_sim::Printing;
use cohort_sim::seeds::{Violation, run_seed, run_seeds};

/// Runs the server on a simulated disk, with faults and restarts, and checks what clients received.
#[derive(Parser)]
struct Arguments {
    /// Runs this seed once and prints every choice and answer.
    #[arg(long)]
    seed: Option<u64>,
    /// Runs fresh seeds for so long.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let commit = commit();
    let outcome = match arguments.seed {
        Some(seed) => run_seed(seed, Printing::Everything).map(|report| format!("seed {seed}: {report:#?}")),
        None => fresh(Duration::from_secs(arguments.seconds), &commit),
    };
    match outcome {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            eprintln!("{violation}\ncommit {commit}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the seeds that follow the clock's one.
fn fresh(time: Duration, commit: &str) -> Result<String, Violation> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = since.as_secs() * 1_000_000;
    println!("seeds from {first} on, commit {commit}, for {} s", time.as_secs());
    let (count, report) = run_seeds(first, time)?;
    Ok(format!("{count} seeds from {first} on: {report}; nothing lost, nothing invented"))
}

/// The commit of the working copy, marked where it was changed.
fn commit() -> String {
    let output = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]).output();
    let hash = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    hash.map_or_else(|| "unknown".to_owned(), |bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}
