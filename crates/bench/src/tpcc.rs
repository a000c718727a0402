//! TPC-C: warehouses that take orders, by five kinds of transactions. `cohort-bench tpcc`.
//!
//! # Outline
//! * [`data`] makes the tables and the rows they begin with;
//! * [`terminal`] is a client that runs the specification's mix, without the pauses of its humans;
//! * [`consistency`] has the conditions that hold between the tables, whatever happened.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mysql::{Opts, OptsBuilder};
use serde::{Deserialize, Serialize};

use crate::contender::{Contender, Name};
use crate::machine::Machine;
use crate::medians::median;

pub mod consistency;
pub mod data;
pub mod terminal;

use data::Size;
use terminal::{Terminal, Totals};

/// The database of the tables.
pub const DATABASE: &str = "tpcc";

/// Least throughput asked for, as a multiple of MariaDB's.
const GOAL: f64 = 1.5;

/// Lets `clients` run transactions until `meanwhile` returns, and gives what became of them. A client ends early where
/// the server is gone; any other error is one.
pub fn run(opts: &Opts, size: Size, clients: u32, seed: u64, meanwhile: impl FnOnce() -> Result<()>) -> Result<Totals> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running: Vec<_> = (0..clients)
            .map(|number| {
                let stop = &stop;
                scope.spawn(move || -> Result<Totals> {
                    let mut terminal = match Terminal::new(opts, size, number, seed) {
                        Ok(terminal) => terminal,
                        Err(error) if is_gone(&error) => return Ok(Totals::default()),
                        Err(error) => return Err(error),
                    };
                    while !stop.load(Ordering::Relaxed) {
                        match terminal.step() {
                            Err(error) if is_gone(&error) => break,
                            other => other?,
                        }
                    }
                    Ok(terminal.totals)
                })
            })
            .collect();
        let done = meanwhile();
        stop.store(true, Ordering::Relaxed);
        let mut totals = Totals::default();
        let mut failed = done.err();
        for client in running {
            match client.join().expect("a client panicked") {
                Ok(its) => totals.add(its),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(totals), Err)
    })
}

/// Whether this is what a client sees whose server was killed.
fn is_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let of_driver = matches!(
            cause.downcast_ref(),
            Some(mysql::Error::IoError(_) | mysql::Error::CodecError(_) | mysql::Error::DriverError(_))
        );
        of_driver || cause.is::<std::io::Error>()
    })
}

/// One run of a number of clients on one server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Transactions of all kinds that were acknowledged, a second.
    pub throughput: f64,
    /// New orders a minute.
    pub new_orders_a_minute: f64,
    /// 99th percentile of the latency, milliseconds.
    pub p99_ms: f64,
    /// Transactions that lost a lock and were tried again.
    pub retried: u64,
}

/// The runs of a number of clients, a round each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub clients: u32,
    pub cohort: Vec<Run>,
    pub mariadb: Vec<Run>,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub machine: Machine,
    pub warehouses: u32,
    pub seconds: u32,
    pub cases: Vec<Case>,
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    pub size: Size,
    pub clients: &'a [u32],
    pub seconds: u32,
    pub rounds: u32,
    /// Seconds that both servers run before anything is measured.
    pub aging: u32,
    pub seed: u64,
}

/// Loads one server and lets clients run for some seconds; how many transactions were committed.
pub fn train(server: &Contender, size: Size, clients: u32, seconds: u32, seed: u64) -> Result<u64> {
    load(server, size, seed)?;
    let totals = run(&options(server), size, clients, seed, || pause(seconds))?;
    Ok(totals.committed.iter().sum())
}

fn load(server: &Contender, size: Size, seed: u64) -> Result<()> {
    server.new_database(DATABASE)?;
    data::load(&options(server), size, |_| "InnoDB", seed)
}

/// Loads both servers, runs every number of clients on each by turns, and checks what holds between the tables.
pub fn measure(cohort: &Contender, mariadb: &Contender, plan: &Plan<'_>) -> Result<Report> {
    for server in [cohort, mariadb] {
        let begun = Instant::now();
        load(server, plan.size, plan.seed)?;
        eprintln!("{}: loaded in {:.1} s", server.name().title(), begun.elapsed().as_secs_f64());
        run(&options(server), plan.size, 8, plan.seed, || pause(plan.aging))?;
    }
    let mut cases = Vec::new();
    for &clients in plan.clients {
        let mut case = Case { clients, cohort: Vec::new(), mariadb: Vec::new() };
        for round in 0..plan.rounds {
            for server in if round % 2 == 0 { [cohort, mariadb] } else { [mariadb, cohort] } {
                let begun = Instant::now();
                let mut totals =
                    run(&options(server), plan.size, clients, plan.seed + u64::from(round), || pause(plan.seconds))?;
                let run = Run::of(&mut totals, begun.elapsed().as_secs_f64());
                eprintln!("{clients} clients, {}: {run:?}", server.name().title());
                match server.name() {
                    Name::Cohort => case.cohort.push(run),
                    Name::MariaDb => case.mariadb.push(run),
                }
            }
        }
        cases.push(case);
    }
    for server in [cohort, mariadb] {
        let mut conn = mysql::Conn::new(options(server))?;
        consistency::check(&mut conn).with_context(|| server.name().title())?;
    }
    Ok(Report { machine: Machine::here()?, warehouses: plan.size.warehouses, seconds: plan.seconds, cases })
}

fn pause(seconds: u32) -> Result<()> {
    thread::sleep(Duration::from_secs(seconds.into()));
    Ok(())
}

/// Of root at the database, over the Unix socket.
fn options(server: &Contender) -> Opts {
    let socket = server.socket().display().to_string();
    OptsBuilder::new().socket(Some(socket)).user(Some("root")).db_name(Some(DATABASE)).into()
}

impl Run {
    fn of(totals: &mut Totals, seconds: f64) -> Run {
        totals.latencies.sort_by(f64::total_cmp);
        let at = totals.latencies.len() * 99 / 100;
        Run {
            throughput: totals.committed.iter().sum::<u64>() as f64 / seconds,
            new_orders_a_minute: totals.committed[0] as f64 * 60.0 / seconds,
            p99_ms: totals.latencies.get(at).copied().unwrap_or(0.0) * 1e3,
            retried: totals.retried,
        }
    }
}

impl Case {
    /// The median of our throughput divided by MariaDB's of the same round.
    pub fn ratio(&self) -> f64 {
        median(self.cohort.iter().zip(&self.mariadb).map(|(ours, theirs)| ours.throughput / theirs.throughput))
    }
}

impl Report {
    /// A line for each number of clients.
    pub fn table(&self) -> String {
        let mut out = format!(
            "TPC-C, {} warehouses, {} s a run\n\n| clients | Cohort, tps | MariaDB, tps | ratio (goal {GOAL}) | p99, ms |\n\
             | --- | --- | --- | --- | --- |\n",
            self.warehouses, self.seconds
        );
        for case in &self.cases {
            let of = |runs: &[Run], figure: fn(&Run) -> f64| median(runs.iter().map(figure));
            let _ = writeln!(
                out,
                "| {} | {:.0} | {:.0} | {:.2} | {:.1}, {:.1} |",
                case.clients,
                of(&case.cohort, |run| run.throughput),
                of(&case.mariadb, |run| run.throughput),
                case.ratio(),
                of(&case.cohort, |run| run.p99_ms),
                of(&case.mariadb, |run| run.p99_ms),
            );
        }
        out
    }

    /// Writes `tpcc.json` and `tpcc.md`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("tpcc.json"), serde_json::to_vec_pretty(self)?)?;
        Ok(fs::write(folder.join("tpcc.md"), self.table())?)
    }
}
