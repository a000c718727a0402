//! The machine that figures are taken on: what it is, how busy it is, how long its disk takes to sync.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use cohort_blackbox::tool;
use serde::{Deserialize, Serialize};

use crate::medians::median;

/// Where and when figures were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// UTC, ISO 8601.
    pub date: String,
    /// The command line of the benchmark.
    pub command: String,
    /// Model of the processor.
    pub processor: String,
    /// Number of processors.
    pub processors: usize,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// Kernel name and release.
    pub kernel: String,
}

impl Machine {
    /// Looks around on this machine.
    pub fn here() -> Result<Machine> {
        let processors = fs::read_to_string("/proc/cpuinfo")?;
        let model = processors.lines().find_map(|line| line.strip_prefix("model name"));
        let memory = fs::read_to_string("/proc/meminfo")?;
        let kilobytes = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kilobytes = kilobytes.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        let command: Vec<String> = std::env::args().collect();
        Ok(Machine {
            date: tool("date", ["-u", "+%Y-%m-%dT%H:%M:%SZ"])?.success()?.text().trim().to_owned(),
            command: command.join(" "),
            processor: model.unwrap_or("unknown").trim_start_matches([' ', '\t', ':']).to_owned(),
            processors: std::thread::available_parallelism()?.get(),
            memory_bytes: kilobytes.context("no MemTotal in /proc/meminfo")? * 1024,
            kernel: tool("uname", ["-sr"])?.success()?.text().trim().to_owned(),
        })
    }
}

/// What the processors did up to a moment, clock ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ticks {
    busy: u64,
    all: u64,
}

impl Ticks {
    /// Until now.
    pub fn now() -> Result<Ticks> {
        parse_ticks(&fs::read_to_string("/proc/stat")?).context("no figures of processors in /proc/stat")
    }

    /// Share of the processors' time since `before` that they were at work, 0 to 1.
    pub fn busy_since(self, before: Ticks) -> f64 {
        (self.busy - before.busy) as f64 / (self.all - before.all).max(1) as f64
    }
}

/// Reads the first line: user, nice, system, idle, iowait, irq, softirq, steal.
fn parse_ticks(stat: &str) -> Option<Ticks> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let ticks: Vec<u64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let all = ticks.iter().sum();
    Some(Ticks { busy: all - ticks.get(3)? - ticks.get(4)?, all })
}

/// CPU time of the programs that this one has run to their end, microseconds.
pub fn programs_cpu_us() -> Result<u64> {
    parse_programs(&fs::read_to_string("/proc/self/stat")?).context("no CPU time of children in /proc/self/stat")
}

/// Reads fields 16 and 17, clock ticks of 10 ms.
fn parse_programs(stat: &str) -> Option<u64> {
    // The second field is a name in brackets that may itself hold spaces and brackets.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split(' ').collect();
    let ticks = fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?;
    Some(ticks * 10_000)
}

/// Median time to write 4 KiB into a file that has its blocks already, and sync it, microseconds.
pub fn sync_us(folder: &Path) -> Result<f64> {
    const BLOCK: usize = 4096;
    const BLOCKS: usize = 256;
    let file = tempfile::tempfile_in(folder)?;
    file.write_all_at(&vec![1; BLOCK * BLOCKS], 0)?;
    file.sync_all()?;
    let timed = (0..BLOCKS).map(|block| {
        let start = Instant::now();
        file.write_all_at(&[2; BLOCK], (block * BLOCK) as u64)?;
        file.sync_data()?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    });
    let timed: Vec<f64> = timed.collect::<Result<_>>()?;
    Ok(median(timed.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_disk_is_not_work() {
        let before = parse_ticks("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1").unwrap();
        let after = parse_ticks("cpu  150 0 75 825 100 0 0 0 0 0\n").unwrap();
        assert_eq!(after.busy_since(before), 0.5);
        assert_eq!(parse_ticks("intr 5\n"), None);
    }

    #[test]
    fn time_of_programs_is_distinguished_from_ones_own() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 9 0 1 2 3";
        assert_eq!(parse_programs(stat), Some(500_000));
    }
}
