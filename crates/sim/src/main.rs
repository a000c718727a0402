//! `cohort-sim`: runs seeds one after the other until the time is over, or one seed again.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use cohort_sim::{Report, Telling, run};

/// Runs the server on a simulated disk, with faults and restarts, and checks what clients were told.
#[derive(Parser)]
struct Arguments {
    /// Runs this seed once and tells every choice and answer.
    #[arg(long)]
    seed: Option<u64>,
    /// Runs fresh seeds for so long.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let commit = commit();
    match arguments.seed {
        Some(seed) => match attempt(seed, Telling::Everything, &commit) {
            Some(report) => {
                println!("seed {seed}, commit {commit}: {report:#?}");
                ExitCode::SUCCESS
            }
            None => ExitCode::FAILURE,
        },
        None => run_for(Duration::from_secs(arguments.seconds), &commit),
    }
}

/// Runs the seeds that follow the clock's one.
fn run_for(time: Duration, commit: &str) -> ExitCode {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = since.as_secs() * 1_000_000;
    println!("seeds from {first} on, commit {commit}, for {} s", time.as_secs());
    let begin = Instant::now();
    let mut total = Report::default();
    let mut seed = first;
    while begin.elapsed() < time {
        let Some(report) = attempt(seed, Telling::Nothing, commit) else { return ExitCode::FAILURE };
        total.committed += report.committed;
        total.in_doubt += report.in_doubt;
        total.shared_cohorts += report.shared_cohorts;
        total.restarts += report.restarts;
        total.cut_recoveries += report.cut_recoveries;
        total.disk_operations += report.disk_operations;
        seed += 1;
    }
    println!(
        "seeds {first} to {}: {} commits acknowledged, {} in doubt, {} cohorts of several, {} restarts, {} cut \
         recoveries, {} disk operations; nothing lost, nothing invented",
        seed - 1,
        total.committed,
        total.in_doubt,
        total.shared_cohorts,
        total.restarts,
        total.cut_recoveries,
        total.disk_operations
    );
    ExitCode::SUCCESS
}

/// Runs a seed; tells how to run it again where it fails, also by a panic that ends the process.
fn attempt(seed: u64, telling: Telling, commit: &str) -> Option<Report> {
    let again = format!("seed {seed}, commit {commit}: make sim SEED={seed}");
    let tell = again.clone();
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| eprintln!("{panic}\n{tell}")));
    let outcome = run(seed, telling);
    std::panic::set_hook(default);
    outcome.inspect_err(|violation| eprintln!("{violation:?}\n{again}")).ok()
}

/// The commit of the working copy, marked where it was changed.
fn commit() -> String {
    let output = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]).output();
    let told = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    told.map_or_else(|| "unknown".to_owned(), |bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}
