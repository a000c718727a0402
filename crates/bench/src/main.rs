//! `cohort-bench`: the command line of the benchmark.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};

use cohort_bench::contender::{Contender, Name, Start};
use cohort_bench::encryption::{self, Encryption};
use cohort_bench::history::plan::{Experiment, Scale};
use cohort_bench::history::run::Field;
use cohort_bench::history::{self, History};
use cohort_bench::large;
use cohort_bench::machine::Machine;
use cohort_bench::plan::{self, SYNC_TARGETS};
use cohort_bench::readers::{self, Part, Plan};
use cohort_bench::recovery::{self, JOURNAL_BYTES, QUICK_JOURNAL_BYTES};
use cohort_bench::report::{CaseResult, IdleMemory, Report, Setting};
use cohort_bench::schedule::{self, Effort};
use cohort_bench::syncs;
use cohort_bench::tpcc::{self, data::Size};
use cohort_bench::tpch;
use cohort_bench::training;
use cohort_blackbox::SystemTables;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

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
    /// Redraw the published results about commit protocols, and write `index.html` and `history.json`.
    History(HistoryArguments),
    /// Measure what readers of the binlog get, and what they cost commits.
    Readers(ReadersArguments),
    /// Measure large transactions, and what they cost others.
    Large(LargeArguments),
    /// Ask both servers the queries of TPC-H in turn, compare answers, write `tpch.json` and `tpch.md`.
    Tpch(TpchArguments),
    /// Run the transactions of TPC-C on both servers in turn, check its conditions, write `tpcc.json` and `tpcc.md`.
    Tpcc(TpccArguments),
    /// Run a little of every load on our server, which counts what it runs meanwhile (scripts/tuned.sh).
    Train {
        /// Seconds of each load.
        #[arg(long, default_value_t = 4)]
        seconds: u32,
    },
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
    /// Do not measure what TLS costs.
    #[arg(long, conflicts_with = "only_tls")]
    skip_tls: bool,
    /// Measure nothing but what TLS costs, and print it.
    #[arg(long)]
    only_tls: bool,
    /// An option of the server, such as `--cohort-option=--journal-segment-bytes=1048576`.
    #[arg(long = "cohort-option", allow_hyphen_values = true)]
    cohort_options: Vec<String>,
    /// Folder of the report.
    #[arg(long, default_value = "report")]
    out: PathBuf,
}

#[derive(Args)]
struct ReadersArguments {
    /// Seconds of one run.
    #[arg(long, default_value_t = 8)]
    seconds: u32,
    /// How often each run is repeated.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Rows of the table that is updated.
    #[arg(long, default_value_t = 100_000)]
    rows: u64,
    /// Length of the binlog that is read and begun in, MB.
    #[arg(long, default_value_t = 20_000)]
    log_megabytes: u64,
    /// Short rounds, a small table, a short log: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Only this part; may be given several times.
    #[arg(long = "part", value_enum)]
    parts: Vec<Part>,
    /// An option of our server, such as `--cohort-option=--max-binlog-size=64M`.
    #[arg(long = "cohort-option", allow_hyphen_values = true)]
    cohort_options: Vec<String>,
    /// Folder of the report.
    #[arg(long, default_value = "report")]
    out: PathBuf,
}

#[derive(Args)]
struct LargeArguments {
    /// Seconds that clients run alone.
    #[arg(long, default_value_t = 8)]
    seconds: u32,
    /// How often each server has its turn.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Length of the rows of a large transaction, MB.
    #[arg(long, default_value_t = 1000)]
    megabytes: u64,
    /// Rows that one statement updates.
    #[arg(long, default_value_t = 500_000)]
    rows: u64,
    /// One short round of little: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// An option of our server, such as `--cohort-option=--binlog-cache-size=1M`.
    #[arg(long = "cohort-option", allow_hyphen_values = true)]
    cohort_options: Vec<String>,
    /// Folder of the report.
    #[arg(long, default_value = "report")]
    out: PathBuf,
}

#[derive(Args)]
struct TpchArguments {
    /// Size of the data; 1 is 6 million lines of orders.
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// How often each query runs on each server.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Seconds for which rows are updated before the first query.
    #[arg(long, default_value_t = 60)]
    aging: u32,
    /// A query that takes our server longer, in seconds, is given up.
    #[arg(long, default_value_t = 120)]
    patience: u32,
    /// Only this query, from 1; may be given several times.
    #[arg(long = "query", value_parser = clap::value_parser!(u8).range(1..=22))]
    queries: Vec<u8>,
    /// An option of our server, such as `--cohort-option=--tmpdir=/dev/shm`.
    #[arg(long = "cohort-option", allow_hyphen_values = true)]
    cohort_options: Vec<String>,
    /// Folder of the report.
    #[arg(long, default_value = "report")]
    out: PathBuf,
}

#[derive(Args)]
struct TpccArguments {
    /// Some 100 MB each.
    #[arg(long, default_value_t = 10)]
    warehouses: u32,
    /// Clients at once; may be given several times.
    #[arg(long = "clients", default_values_t = [1, 8, 32])]
    clients: Vec<u32>,
    /// Seconds of one run.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// How often each number of clients runs on each server.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Seconds that each server runs before anything is measured.
    #[arg(long, default_value_t = 60)]
    aging: u32,
    /// One short round on small warehouses: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// An option of our server, such as `--cohort-option=--sync-binlog=0`.
    #[arg(long = "cohort-option", allow_hyphen_values = true)]
    cohort_options: Vec<String>,
    /// Folder of the report.
    #[arg(long, default_value = "report")]
    out: PathBuf,
}

#[derive(Args)]
struct HistoryArguments {
    /// One short round on small tables: shows that everything works, measures nothing.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The published sizes; this takes hours.
    #[arg(long)]
    full: bool,
    /// Only this experiment; may be given several times.
    #[arg(long = "experiment", value_enum)]
    experiments: Vec<Experiment>,
    /// Only contestants whose name contains this; may be given several times.
    #[arg(long = "only")]
    only: Vec<String>,
    /// Do not count syncs under strace.
    #[arg(long)]
    skip_syncs: bool,
    /// Folder on the disk to measure; it must not be in memory.
    #[arg(long, default_value = "/var/tmp")]
    disk: PathBuf,
    /// Folder in memory.
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    /// Where scripts/peers.sh has put the old servers.
    #[arg(long, default_value = "peers")]
    peers: PathBuf,
    /// An option of our server, such as `--cohort-option=--max-binlog-size=1G`.
    #[arg(long = "cohort-option", allow_hyphen_values = true)]
    cohort_options: Vec<String>,
    /// Write the page of an earlier run again, from its `history.json`, and measure nothing.
    #[arg(long)]
    redraw: Option<PathBuf>,
    /// Folder of the report.
    #[arg(long, default_value = "report")]
    out: PathBuf,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Run(arguments) => run(&arguments),
        Command::History(arguments) => history(&arguments),
        Command::Readers(arguments) => readers(&arguments),
        Command::Large(arguments) => large(&arguments),
        Command::Tpch(arguments) => tpch(&arguments),
        Command::Tpcc(arguments) => tpcc(&arguments),
        Command::Train { seconds } => train(seconds),
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
    if arguments.only_tls {
        println!("{}", encryption::table(&measure_encryption(arguments, &effort)?));
        return Ok(());
    }
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
    let setting = Setting {
        machine: Machine::here()?,
        cohort_version: ours,
        mariadb_version: theirs,
        seconds: effort.seconds,
        rows: effort.rows,
    };
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
    let encryption = match arguments.skip_tls {
        true => Vec::new(),
        false => measure_encryption(arguments, &effort)?,
    };
    eprintln!("filling the journal for a recovery");
    let journal_bytes = if arguments.quick { QUICK_JOURNAL_BYTES } else { JOURNAL_BYTES };
    let recovery = recovery::measure(folder.path(), &arguments.cohort_options, journal_bytes)?;
    let report = Report { setting, cases, syncs: counts, idle, recovery: Some(recovery), encryption };
    report.write(&arguments.out)?;
    println!("\n{}", report.table());
    println!("written to {}", arguments.out.display());
    Ok(())
}

fn measure_encryption(arguments: &RunArguments, effort: &Effort) -> Result<Vec<Encryption>> {
    eprintln!("measuring what TLS costs");
    encryption::measure(&arguments.cohort_options, arguments.workload.as_deref(), effort)
}

fn readers(arguments: &ReadersArguments) -> Result<()> {
    let (effort, log_bytes) = if arguments.quick {
        (Effort { seconds: 1, rounds: 1, rows: 1000 }, 50 << 20)
    } else {
        let ReadersArguments { seconds, rounds, rows, log_megabytes, .. } = *arguments;
        (Effort { seconds, rounds: rounds.max(1), rows }, log_megabytes << 20)
    };
    let parts = if arguments.parts.is_empty() { Part::ALL.to_vec() } else { arguments.parts.clone() };
    let report = readers::measure(&Plan { effort, parts, log_bytes, options: &arguments.cohort_options })?;
    report.write(&arguments.out, "readers")?;
    println!("\n{}", report.table());
    println!("written to {}", arguments.out.display());
    Ok(())
}

fn large(arguments: &LargeArguments) -> Result<()> {
    let LargeArguments { seconds, rounds, megabytes, rows, .. } = *arguments;
    let (seconds, rounds, megabytes, rows) =
        if arguments.quick { (1, 1, 20, 20_000) } else { (seconds, rounds.max(1), megabytes, rows) };
    let options = &arguments.cohort_options[..];
    let report = large::measure(&large::Plan { seconds, rounds, bytes: megabytes * 1_000_000, rows, options })?;
    report.write(&arguments.out, "large")?;
    println!("\n{}", report.table());
    println!("written to {}", arguments.out.display());
    Ok(())
}

fn tpch(arguments: &TpchArguments) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let system_tables = SystemTables::Installed;
    let start = Start { cohort_options: &arguments.cohort_options, trace: None, system_tables };
    let cohort = Contender::start(Name::Cohort, folder.path(), &start)?;
    let mariadb = Contender::start(Name::MariaDb, folder.path(), &start)?;
    let queries: Vec<usize> = match &arguments.queries[..] {
        [] => (1..=tpch::queries::COUNT).collect(),
        chosen => chosen.iter().copied().map(usize::from).collect(),
    };
    let TpchArguments { scale, rounds, aging, patience, .. } = *arguments;
    let plan = tpch::Plan { scale, rounds: rounds.max(1), aging, patience, queries: &queries };
    let report = tpch::measure(&cohort, &mariadb, &plan)?;
    cohort.stop()?;
    mariadb.stop()?;
    report.write(&arguments.out)?;
    println!("\n{}\nwritten to {}", report.table(), arguments.out.display());
    let faults = report.faults();
    ensure!(faults.is_empty(), "wrong or missing answers:\n{}", faults.join("\n"));
    Ok(())
}

fn tpcc(arguments: &TpccArguments) -> Result<()> {
    let TpccArguments { warehouses, ref clients, seconds, rounds, aging, quick, .. } = *arguments;
    let (size, seconds, rounds, aging) = if quick {
        (Size { warehouses, items: 1000, customers: 100 }, 1, 1, 1)
    } else {
        (Size::full(warehouses), seconds, rounds.max(1), aging)
    };
    let folder = tempfile::tempdir()?;
    let system_tables = if quick { SystemTables::Absent } else { SystemTables::Installed };
    let start = Start { cohort_options: &arguments.cohort_options, trace: None, system_tables };
    let cohort = Contender::start(Name::Cohort, folder.path(), &start)?;
    let mariadb = Contender::start(Name::MariaDb, folder.path(), &start)?;
    let plan = tpcc::Plan { size, clients, seconds, rounds, aging, seed: cohort_blackbox::rng::seed() };
    let report = tpcc::measure(&cohort, &mariadb, &plan)?;
    cohort.stop()?;
    mariadb.stop()?;
    report.write(&arguments.out)?;
    println!("\n{}\nwritten to {}", report.table(), arguments.out.display());
    Ok(())
}

fn train(seconds: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let start = Start { cohort_options: &[], trace: None, system_tables: SystemTables::Absent };
    let server = Contender::start(Name::Cohort, folder.path(), &start)?;
    training::run(&server, seconds)?;
    server.stop()
}

fn history(arguments: &HistoryArguments) -> Result<()> {
    let history = match &arguments.redraw {
        Some(file) => {
            let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            serde_json::from_slice(&text)?
        }
        None => measure_history(arguments)?,
    };
    history.write(&arguments.out)?;
    println!("{}", history.summary());
    println!("written to {}", arguments.out.join("index.html").display());
    ensure!(!history.lacks_a_rung(), "a protocol of our own server could not take part, see above");
    Ok(())
}

fn measure_history(arguments: &HistoryArguments) -> Result<History> {
    let scale = match arguments {
        HistoryArguments { quick: true, .. } => Scale::Quick,
        HistoryArguments { full: true, .. } => Scale::Full,
        _ => Scale::Usual,
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The first one lets the run end its servers; a second one does not wait for that.
        flag::register_conditional_shutdown(signal, 1, interrupted.clone())?;
        flag::register(signal, interrupted.clone())?;
    }
    let field = Field {
        scale,
        disk: arguments.disk.clone(),
        memory: arguments.memory.clone(),
        peers: arguments.peers.clone(),
        cohort_options: arguments.cohort_options.clone(),
        interrupted,
    };
    let experiments = match &arguments.experiments[..] {
        [] => Experiment::ALL.to_vec(),
        chosen => chosen.to_vec(),
    };
    history::run::all(&field, &experiments, &arguments.only, !arguments.skip_syncs)
}
