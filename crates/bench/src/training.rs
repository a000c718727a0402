//! Loads that show which of the server's code is run most: `cohort-bench train`.
//!
//! `scripts/tuned.sh` has an instrumented server count them, and lays out the release binary by what it counted. They are
//! the loads that are measured, small: what a server does at any OLTP load, and at queries that read much.

use anyhow::{Context, Result, ensure};
use cohort_blackbox::rng;

use crate::contender::Contender;
use crate::plan::{Case, WORKLOADS};
use crate::schedule::{Effort, prepare};
use crate::{tpcc, tpch};

/// Clients at once.
const CLIENTS: u32 = 8;

/// Rows of sysbench's table.
const ROWS: u64 = 20_000;

/// TPC-C's warehouses.
const SIZE: tpcc::data::Size = tpcc::data::Size { warehouses: 2, items: 10_000, customers: 300 };

/// Of TPC-H's data.
const SCALE: f64 = 0.01;

/// Runs each of sysbench's workloads and TPC-C for `seconds`, TPC-H's queries once, and sorts in files.
pub fn run(server: &Contender, seconds: u32) -> Result<()> {
    let case = |workload| Case { workload, clients: CLIENTS, target: 0.0 };
    let cases: Vec<Case> = WORKLOADS.iter().map(case).collect();
    let effort = Effort { seconds, rounds: 1, rows: ROWS };
    prepare(server, &cases, &effort)?;
    for Case { workload, clients, .. } in cases {
        let figures = workload.on(&server.socket(), workload.rows.unwrap_or(ROWS)).run(clients, seconds)?;
        ensure!(figures.transactions > 0, "{}: not one transaction within {seconds} s", workload.name);
        eprintln!("{}: {} transactions", workload.name, figures.transactions);
    }
    let transactions = tpcc::train(server, SIZE, CLIENTS, seconds, rng::seed()).context("TPC-C")?;
    ensure!(transactions > 0, "TPC-C: not one transaction within {seconds} s");
    eprintln!("TPC-C: {transactions} transactions");
    tpch::train(server, SCALE).context("TPC-H")?;
    eprintln!("TPC-H: each query once, and sorts");
    Ok(())
}
