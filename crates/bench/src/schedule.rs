//! Runs every case on both servers in turn.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::plan::{Case, Workload};
use crate::progress::Progress;
use crate::sysbench::Figures;

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Length of one run.
    pub seconds: u32,
    /// How often each case runs on each server.
    pub rounds: u32,
    /// Rows of the shared table.
    pub rows: u64,
}

/// One run of a case on one server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What sysbench saw.
    #[serde(flatten)]
    pub figures: Figures,
    /// CPU time of the server for each transaction, microseconds.
    pub server_us: f64,
}

/// Both servers' runs of a case in one round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub cohort: Run,
    pub mariadb: Run,
}

/// Creates the tables of these cases in a server.
pub fn prepare(server: &Contender, cases: &[Case], effort: &Effort) -> Result<()> {
    let mut done = BTreeSet::new();
    for case in cases {
        if done.insert(case.workload.database) {
            server.new_database(case.workload.database)?;
            case.workload.on(&server.socket(), rows(case.workload, effort)).prepare()?;
        }
    }
    Ok(())
}

/// Runs all cases `effort.rounds` times; gives the pairs of each case in the cases' order.
///
/// The server that goes first changes from round to round.
pub fn run(cohort: &Contender, mariadb: &Contender, cases: &[Case], effort: &Effort) -> Result<Vec<Vec<Pair>>> {
    let mut pairs = vec![Vec::new(); cases.len()];
    let mut progress = Progress::new(cases.len() as u64 * u64::from(effort.rounds) * 2);
    for round in 0..effort.rounds {
        for (case, pairs) in cases.iter().zip(&mut pairs) {
            let mut measure = |server: &Contender| measured(server, case, effort, round, &mut progress);
            let pair = if round % 2 == 0 {
                let cohort = measure(cohort)?;
                Pair { cohort, mariadb: measure(mariadb)? }
            } else {
                let mariadb = measure(mariadb)?;
                Pair { cohort: measure(cohort)?, mariadb }
            };
            pairs.push(pair);
        }
    }
    progress.finish();
    Ok(pairs)
}

fn measured(server: &Contender, case: &Case, effort: &Effort, round: u32, progress: &mut Progress) -> Result<Run> {
    let what = format!("round {} {} {} clients {}", round + 1, case.workload.name, case.clients, server.name().title());
    progress.now(&what);
    let (socket, workload) = (server.socket(), case.workload);
    let bench = workload.on(&socket, rows(workload, effort));
    if round == 0 {
        // Caches fill and threads start outside of the measured time.
        bench.run(case.clients, 1).with_context(|| what.clone())?;
    }
    let before = server.usage()?;
    let figures = bench.run(case.clients, effort.seconds).with_context(|| what.clone())?;
    let used_us = server.usage()?.cpu_us - before.cpu_us;
    let run = Run { figures, server_us: used_us as f64 / figures.transactions.max(1) as f64 };
    let figures = format!("{:.0} tps, {:.0} µs CPU", run.figures.throughput, run.server_us);
    progress.step(&format!("{what}: {figures}"));
    Ok(run)
}

/// Rows of the workload's table when it is created.
fn rows(workload: &Workload, effort: &Effort) -> u64 {
    workload.rows.unwrap_or(effort.rows)
}
