//! Syncing writes of a commit, as the kernel was asked for them.
//!
//! A server runs alone under strace, which slows it down: the count is right, the speed is not, so
//! nothing else is measured here. With many clients a slower write gathers a larger cohort, on both
//! servers alike.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use cohort_blackbox::strace;
use serde::{Deserialize, Serialize};

use crate::contender::{Contender, Name, Start};
use crate::plan::WORKLOADS;
use crate::sysbench::Bench;

/// Syncs counted over one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SyncCount {
    /// Whose.
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
    let (pid, socket) = (server.pid(), server.socket());
    let bench = Bench { socket: &socket, workload, rows };
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
    let counts = counts(name, &trace, pid, &runs)?;
    Ok(counts)
}

fn counts(server: Name, trace: &Path, pid: u32, runs: &[(u32, u64, f64, f64)]) -> Result<Vec<SyncCount>> {
    let all = strace::read(trace, pid)?;
    let counted = runs.iter().map(|&(clients, commits, from, to)| {
        let syncs = all.iter().filter(|sync| sync.at >= from && sync.at <= to).count() as u64;
        ensure!(syncs > 0, "{} committed without any sync", server.title());
        Ok(SyncCount { server, clients, commits, syncs })
    });
    counted.collect()
}

fn now_s() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}
