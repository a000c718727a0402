//! `cohort-bench`: the command line of the benchmark.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};

use cohort_bench::contender::{Contender, Name, Start};
use cohort_bench::plan::{self, SYNC_TARGETS};
use cohort_bench::report::{CaseResult, IdleMemory, Report, Setting};
use cohort_bench::schedule::{self, Effort};
use cohort_bench::syncs;
use cohort_blackbox::SystemTables;

/// Measures cohort side by side with MariaDB, every commit synced on both.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run sysbench on both servers in turn and write a report.
    Run(RunArguments),
    /// Draw the charts of an earlier report again.
    Chart {
        /// The report's `bench.json`; the charts are written beside it.
        report: PathBuf,
    },
}

#[derive(Args)]
struct RunArguments {
    /// Seconds of one run.
    #[arg(long, default_value_t = 8)]
    seconds: u32,
    /// How often each case runs on each server.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Rows of the table that updates and reads run on.
    #[arg(long, default_value_t = 100_000)]
    rows: u64,
    /// One short round on a small table: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Only workloads whose name contains this.
    #[arg(long)]
    workload: Option<String>,
    /// Most clients.
    #[arg(long, default_value_t = 1024)]
    most_clients: u32,
    /// Do not count syncs under strace.
    #[arg(long)]
    skip_syncs: bool,
    /// An option of the server, such as `--cohort-option=--journal-segment-bytes=1048576`.
    #[arg(long = "cohort-option", allow_hyphen_values = true)]
    cohort_options: Vec<String>,
    /// Folder of the report.
    #[arg(long, default_value = "report")]
    out: PathBuf,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Run(arguments) => run(&arguments),
        Command::Chart { report } => {
            let text = std::fs::read_to_string(&report).with_context(|| format!("cannot read {}", report.display()))?;
            let folder = report.parent().context("a report without a folder")?;
            cohort_bench::chart::draw(&serde_json::from_str(&text)?, folder)
        }
    }
}

fn run(arguments: &RunArguments) -> Result<()> {
    let effort = if arguments.quick {
        Effort { seconds: 1, rounds: 1, rows: 1000 }
    } else {
        Effort { seconds: arguments.seconds, rounds: arguments.rounds.max(1), rows: arguments.rows }
    };
    let cases = plan::cases(arguments.workload.as_deref(), arguments.most_clients);
    ensure!(!cases.is_empty(), "no workload of that name and number of clients");

    let folder = tempfile::tempdir()?;
    eprintln!("starting both servers and creating tables");
    let system_tables = if arguments.quick { SystemTables::Absent } else { SystemTables::Installed };
    let start = Start { cohort_options: &arguments.cohort_options, trace: None, system_tables };
    let cohort = Contender::start(Name::Cohort, folder.path(), &start)?;
    let mariadb = Contender::start(Name::MariaDb, folder.path(), &start)?;
    let idle =
        IdleMemory { cohort_bytes: cohort.usage()?.resident_bytes, mariadb_bytes: mariadb.usage()?.resident_bytes };
    let (ours, theirs) = (cohort.version()?, mariadb.version()?);
    let setting = Setting::here(ours, theirs, effort.seconds, effort.rows)?;
    schedule::prepare(&cohort, &cases, &effort)?;
    schedule::prepare(&mariadb, &cases, &effort)?;

    let pairs = schedule::run(&cohort, &mariadb, &cases, &effort)?;
    cohort.stop()?;
    mariadb.stop()?;
    let cases = cases.iter().zip(pairs).map(|(case, rounds)| CaseResult::new(case, rounds)).collect();

    let mut counts = Vec::new();
    if !arguments.skip_syncs {
        let clients: Vec<u32> = SYNC_TARGETS.iter().map(|(clients, _)| *clients).collect();
        for name in [Name::Cohort, Name::MariaDb] {
            eprintln!("counting syncs of {}", name.title());
            counts.extend(syncs::count(name, &start, &clients, effort.seconds.min(4), effort.rows)?);
        }
    }
    let report = Report { setting, cases, syncs: counts, idle };
    report.write(&arguments.out)?;
    println!("\n{}", report.table());
    println!("written to {}", arguments.out.display());
    Ok(())
}
