//! Syncing writes of a commit, as the kernel was asked for them.
//!
//! A server runs alone under strace, which slows it down: the count is right, the speed is not, so
//! nothing else is measured here. With many clients a slower write gathers a larger cohort, on both
//! servers alike.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use cohort_blackbox::strace::{self, Sync};
use serde::{Deserialize, Serialize};

use crate::contender::{Contender, Name, Start};
use crate::plan::WORKLOADS;
use crate::sysbench::Bench;

/// Syncs counted over one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SyncCount {
    pub server: Name,
    /// Connections that committed at once.
    pub clients: u32,
    /// Commits of the run.
    pub commits: u64,
    /// Syncs of any file during the run.
    pub syncs: u64,
}

impl SyncCount {
    /// Syncs for each commit.
    pub fn per_commit(&self) -> f64 {
        self.syncs as f64 / self.commits.max(1) as f64
    }
}

/// Counts the syncs of a server of this kind for each number of `clients`, in runs of `seconds`.
pub fn count(name: Name, start: &Start<'_>, clients: &[u32], seconds: u32, rows: u64) -> Result<Vec<SyncCount>> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace");
    let server = Contender::start(name, folder.path(), &Start { trace: Some(&trace), ..*start })?;
    let workload = &WORKLOADS[0];
    server.new_database(workload.database)?;
    let socket = server.socket();
    let runs = trace_runs(server, &trace, &workload.on(&socket, rows), clients, seconds)?;
    let counted = runs.into_iter().map(|run| {
        ensure!(!run.syncs.is_empty(), "{} committed without any sync", name.title());
        Ok(SyncCount { server: name, clients: run.clients, commits: run.commits, syncs: run.syncs.len() as u64 })
    });
    counted.collect()
}

/// What a traced server did in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedRun {
    /// Connections that committed at once.
    pub clients: u32,
    /// Commits of the run.
    pub commits: u64,
    /// Its syncs, oldest first.
    pub syncs: Vec<Sync>,
}

/// Prepares and runs `bench` on a server that is traced into the file `trace`, and ends the server.
pub fn trace_runs(
    server: Contender,
    trace: &Path,
    bench: &Bench<'_>,
    clients: &[u32],
    seconds: u32,
) -> Result<Vec<TracedRun>> {
    let pid = server.pid();
    bench.prepare()?;
    let mut runs = Vec::new();
    for &clients in clients {
        // What the runs before left to be written in the background is not this run's.
        std::thread::sleep(Duration::from_millis(500));
        let from = now_s()?;
        let figures = bench.run(clients, seconds)?;
        runs.push((clients, figures.transactions, from, now_s()?));
    }
    server.stop()?;

    let all = strace::read(trace, pid)?;
    let traced = runs.into_iter().map(|(clients, commits, from, to)| {
        let syncs = all.iter().filter(|sync| sync.begun >= from && sync.ended <= to).cloned().collect();
        TracedRun { clients, commits, syncs }
    });
    Ok(traced.collect())
}

fn now_s() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}
