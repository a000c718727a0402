//! Commits beside readers at the live end, and beside administration of the binlog. Administrators run where a processor has
//! nothing else to do: on a machine of their own they would take none from the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server, processors};
use mysql::prelude::Queryable;

use super::follower::Live;
use super::{Goal, Plan, Wanted};
use crate::plan::WORKLOADS;
use crate::sysbench::Figures;

/// Clients that commit.
pub const CLIENTS: u32 = 32;
/// Readers that throughput is measured with.
const FEW: usize = 4;
/// Readers that latency and memory are measured with.
const MANY: usize = 50;
/// Binlog files that one PURGE deletes.
const FILES: usize = 1000;

/// A server of ours with full durability and the options of the plan, and the table of the load.
pub fn prepared(folder: &std::path::Path, plan: &Plan<'_>, more: &[&str]) -> Result<Server> {
    let launch = Launch::new(folder.join("cohort")).option("--sync-binlog=1");
    let launch = more.iter().fold(launch, |launch, option| launch.option(*option));
    let server = plan.options.iter().fold(launch, |launch, option| launch.option(option)).start()?;
    let workload = &WORKLOADS[0];
    server.connect()?.query_drop(format!("CREATE DATABASE {}", workload.database))?;
    workload.on(&server.socket(), plan.effort.rows).prepare()?;
    run(&server, plan, 1)?;
    Ok(server)
}

/// Updates of single rows by [`CLIENTS`] clients.
pub fn run(server: &Server, plan: &Plan<'_>, seconds: u32) -> Result<Figures> {
    WORKLOADS[0].on(&server.socket(), plan.effort.rows).run(CLIENTS, seconds)
}

/// Throughput with four readers, latency and memory with fifty, latency beside SHOW BINARY LOGS and PURGE.
pub fn measure(plan: &Plan<'_>) -> Result<Vec<Goal>> {
    let folder = tempfile::tempdir()?;
    let server = prepared(folder.path(), plan, &[])?;
    let few = by_turns(&server, plan, || with_readers(&server, plan, FEW))?;
    let mut memory = Vec::new();
    let many = by_turns(&server, plan, || {
        let before = server.usage()?.resident_bytes;
        let figures = with_readers(&server, plan, MANY)?;
        memory.push(server.usage()?.resident_bytes.saturating_sub(before) as f64 / f64::from(1 << 20));
        Ok(figures)
    })?;
    let busy = by_turns(&server, plan, || beside_administration(&server, plan))?;
    server.stop()?;

    let throughput = |pair: &(Figures, Figures)| pair.1.throughput / pair.0.throughput;
    let p99 = |pair: &(Figures, Figures)| pair.1.p99_ms / pair.0.p99_ms;
    let ratios = |pairs: &[(Figures, Figures)], ratio: &dyn Fn(&(Figures, Figures)) -> f64| -> Vec<f64> {
        pairs.iter().map(ratio).collect()
    };
    let detail = |pairs: &[(Figures, Figures)]| {
        let shown = pairs.iter().map(|(alone, beside)| {
            format!(
                "{:.0} : {:.0}/s, {:.1} : {:.1} ms",
                alone.throughput, beside.throughput, alone.p99_ms, beside.p99_ms
            )
        });
        shown.collect::<Vec<_>>().join("; ")
    };
    Ok(vec![
        Goal::median(
            "commits with 4 readers, to none",
            &ratios(&few, &throughput),
            "x",
            Wanted::AtLeast(0.9),
            &detail(&few),
        ),
        Goal::median("p99 with 50 readers, to none", &ratios(&many, &p99), "x", Wanted::AtMost(2.0), &detail(&many)),
        Goal::median("memory that 50 readers add under load", &memory, "MB", Wanted::AtMost(64.0), "resident"),
        Goal::median(
            "p99 beside SHOW BINARY LOGS and PURGE of 1,000 files",
            &ratios(&busy, &p99),
            "x",
            Wanted::AtMost(1.2),
            &detail(&busy),
        ),
    ])
}

/// The load alone and as `beside` runs it, in the other order in each second round.
fn by_turns(
    server: &Server,
    plan: &Plan<'_>,
    mut beside: impl FnMut() -> Result<Figures>,
) -> Result<Vec<(Figures, Figures)>> {
    let rounds = (0..plan.effort.rounds).map(|round| {
        let alone = || run(server, plan, plan.effort.seconds);
        Ok(if round % 2 == 0 {
            let first = alone()?;
            (first, beside()?)
        } else {
            let first = beside()?;
            (alone()?, first)
        })
    });
    rounds.collect()
}

fn with_readers(server: &Server, plan: &Plan<'_>, count: usize) -> Result<Figures> {
    let live = Live::attach(server, count)?;
    let figures = run(server, plan, plan.effort.seconds)?;
    let got = live.detach()?;
    let least = got.iter().min().copied().unwrap_or(0);
    ensure!(least > figures.transactions * 100, "a reader got {least} bytes of {} commits", figures.transactions);
    Ok(figures)
}

/// The load while one client lists the files again and again, and another deletes a thousand of them.
fn beside_administration(server: &Server, plan: &Plan<'_>) -> Result<Figures> {
    let mut conn = server.connect()?;
    for _ in 0..FILES {
        conn.query_drop("FLUSH BINARY LOGS")?;
    }
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let lists = scope.spawn(|| -> Result<u64> {
            processors::only_idle_ones()?;
            let (mut conn, mut lists) = (server.connect()?, 0);
            while !ended.load(Ordering::Relaxed) {
                conn.query_drop("SHOW BINARY LOGS")?;
                lists += 1;
            }
            Ok(lists)
        });
        let purge = scope.spawn(|| -> Result<usize> {
            processors::only_idle_ones()?;
            let mut conn = server.connect()?;
            let names = || -> Result<Vec<String>> {
                Ok(server.connect()?.query_map("SHOW BINARY LOGS", |(name, _, _): (String, u64, String)| name)?)
            };
            let before = names()?;
            conn.query_drop(format!("PURGE BINARY LOGS TO '{}'", before.last().context("a file")?))?;
            Ok(before.len() - names()?.len())
        });
        let figures = run(server, plan, plan.effort.seconds);
        ended.store(true, Ordering::Relaxed);
        let (lists, purged) = (lists.join().expect("no panic")?, purge.join().expect("no panic")?);
        ensure!(lists > 0 && purged + 10 > FILES, "{lists} lists, {purged} files deleted");
        figures
    })
}
