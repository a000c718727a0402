//! The result of a run: medians, a table for people, JSON for programs, and the drawings.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::chart;
use crate::contender::Name;
use crate::encryption::{self, Encryption};
use crate::machine::Machine;
use crate::medians::{Medians, median};
use crate::plan::{Case, IDLE_TARGET_BYTES, SYNC_TARGETS};
use crate::recovery::{Recovery, TARGET};
use crate::schedule::Pair;
use crate::syncs::SyncCount;

/// Where and how figures were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Where and when.
    #[serde(flatten)]
    pub machine: Machine,
    /// Version string of our server.
    pub cohort_version: String,
    /// Version string of the peer.
    pub mariadb_version: String,
    /// Length of one run, seconds.
    pub seconds: u32,
    /// Rows of the shared table.
    pub rows: u64,
}

/// A case and how it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Name of the workload.
    pub workload: String,
    pub clients: u32,
    /// Least ratio asked for.
    pub target: f64,
    /// Median over the rounds of our throughput by MariaDB's in the same round.
    pub ratio: f64,
    pub cohort: Medians,
    pub mariadb: Medians,
    pub rounds: Vec<Pair>,
}

/// Resident memory of servers that have served nobody yet, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IdleMemory {
    pub cohort_bytes: u64,
    pub mariadb_bytes: u64,
}

/// Everything a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Where and how.
    pub setting: Setting,
    /// Throughput.
    pub cases: Vec<CaseResult>,
    /// Syncs of a commit; empty if they were not counted.
    pub syncs: Vec<SyncCount>,
    /// Memory before the first client.
    pub idle: IdleMemory,
    /// A start after a kill; none in reports from before it was measured.
    #[serde(default)]
    pub recovery: Option<Recovery>,
    /// What TLS costs; empty if it was not measured.
    #[serde(default)]
    pub encryption: Vec<Encryption>,
}

impl CaseResult {
    /// Takes the medians of a case's rounds, of which there must be one at least.
    pub fn new(case: &Case, rounds: Vec<Pair>) -> CaseResult {
        let ratios = rounds.iter().map(|pair| pair.cohort.figures.throughput / pair.mariadb.figures.throughput);
        CaseResult {
            workload: case.workload.name.to_owned(),
            clients: case.clients,
            target: case.target,
            ratio: median(ratios),
            cohort: Medians::of(rounds.iter().map(|pair| &pair.cohort)),
            mariadb: Medians::of(rounds.iter().map(|pair| &pair.mariadb)),
            rounds,
        }
    }
}

impl Report {
    /// The table for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        self.write_table(&mut text).expect("writing to a string does not fail");
        text
    }

    fn write_table(&self, out: &mut String) -> std::fmt::Result {
        let Machine { date, processor, processors, memory_bytes, kernel, .. } = &self.setting.machine;
        let setting = &self.setting;
        writeln!(out, "{date}  {processor}, {processors} processors, {} GB, {kernel}", memory_bytes >> 30)?;
        writeln!(out, "Cohort {} against MariaDB {}", setting.cohort_version, setting.mariadb_version)?;
        writeln!(
            out,
            "{} rows, {} s a run, medians, rounds: {}; every commit synced on both",
            setting.rows,
            setting.seconds,
            self.cases.iter().map(|case| case.rounds.len()).max().unwrap_or(0)
        )?;
        writeln!(out, "{}\n", setting.machine.command)?;

        let heads = ["workload", "clients", "Cohort/s", "MariaDB/s", "ratio", "target", ""];
        let [workload, clients, ours, theirs, ratio, target, verdict] = heads;
        writeln!(
            out,
            "{workload:<17}{clients:>8}{ours:>11}{theirs:>11}{ratio:>8}{target:>8}  {verdict:<4}\
             {:>15}{:>15}",
            "server µs/tx", "p99 ms"
        )?;
        for case in &self.cases {
            writeln!(
                out,
                "{:<17}{:>8}{:>11.0}{:>11.0}{:>8.2}{:>8.1}  {:<4}{:>15}{:>15}",
                case.workload,
                case.clients,
                case.cohort.throughput,
                case.mariadb.throughput,
                case.ratio,
                case.target,
                verdict_of(case.ratio >= case.target),
                format!("{:.0} : {:.0}", case.cohort.server_us, case.mariadb.server_us),
                format!("{:.1} : {:.1}", case.cohort.p99_ms, case.mariadb.p99_ms),
            )?;
        }
        if !self.syncs.is_empty() {
            writeln!(out, "\nsyncing writes for each commit, counted at the system call")?;
        }
        for count in &self.syncs {
            let target = SYNC_TARGETS.iter().find(|(clients, _)| *clients == count.clients);
            let judged = match target {
                Some((_, most)) if count.server == Name::Cohort => {
                    format!("≤ {most}  {}", verdict_of(count.per_commit() <= *most))
                }
                _ => String::new(),
            };
            let (server, clients, each) = (count.server.title(), count.clients, count.per_commit());
            writeln!(out, "{server:<17}{clients:>8}{each:>11.3}  {judged}")?;
        }
        writeln!(
            out,
            "\nidle memory: Cohort {:.0} MB (≤ {} MB  {}), MariaDB {:.0} MB",
            megabytes(self.idle.cohort_bytes),
            IDLE_TARGET_BYTES >> 20,
            verdict_of(self.idle.cohort_bytes <= IDLE_TARGET_BYTES),
            megabytes(self.idle.mariadb_bytes)
        )?;
        if !self.encryption.is_empty() {
            writeln!(out, "\n{}", encryption::table(&self.encryption))?;
        }
        let Some(recovery) = &self.recovery else { return Ok(()) };
        writeln!(
            out,
            "recovery of {:.0} MB of journal: {:.2} s (≤ {:.0} s for 1 GB  {}), {:.2} s to the first answer\n  {}",
            megabytes(recovery.journal_bytes),
            recovery.recovery_s,
            TARGET.as_secs_f64(),
            verdict_of(recovery.reached()),
            recovery.start_s,
            recovery.line
        )
    }

    /// Writes `bench.json`, `bench.txt` and the drawings into `folder`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(folder.join("bench.json"), serde_json::to_string_pretty(self)?)?;
        fs::write(folder.join("bench.txt"), self.table())?;
        chart::draw(self, folder)
    }
}

fn verdict_of(reached: bool) -> &'static str {
    if reached { "ok" } else { "MISS" }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
