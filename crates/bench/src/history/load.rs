//! Gives a server the load of an experiment, with the clients that people have.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::tool::tool_within;

use crate::contender::Contender;
use crate::history::plan::{Contestant, Engine, Experiment, Load, Scale};
use crate::sysbench::{Bench, Way};

/// The published size is given to servers of any speed.
const PATIENCE: Duration = Duration::from_secs(3600);
const DATABASE: &str = "sbtest";
/// Queries of a first mysqlslap run for each connection: enough to know how many are needed.
const PILOT: u64 = 20;
const MOST_QUERIES: f64 = 100_000.0;

/// What the client saw of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Transactions that ended.
    pub commits: u64,
    /// Transactions per second.
    pub throughput: f64,
    /// 99th percentile of their latency, milliseconds; mysqlslap does not report it.
    pub p99_ms: Option<f64>,
}

/// The load of an experiment on one server.
#[derive(Debug)]
pub struct Client {
    load: Load,
    scale: Scale,
    engine: &'static str,
    socket: PathBuf,
    script: String,
}

impl Client {
    /// Creates what the load needs in a server, in place of an older one.
    ///
    /// `folder` takes the load's script and must last as long as the client.
    pub fn prepare(
        server: &Contender,
        contestant: Contestant,
        experiment: Experiment,
        scale: Scale,
        folder: &Path,
    ) -> Result<Client> {
        let load = experiment.load();
        let script = match load {
            Load::Slap => String::new(),
            Load::ReadWrite => "oltp_read_write".to_owned(),
            Load::UpdateNonIndex => "oltp_update_non_index".to_owned(),
            Load::Replace => {
                let file = folder.join("replace.lua");
                fs::write(&file, include_str!("replace.lua"))?;
                file.display().to_string()
            }
        };
        let engine = match contestant.engine {
            Engine::Redb => "redb",
            Engine::RocksDb | Engine::InnoDb => "innodb",
        };
        let client = Client { load, scale, engine, socket: server.socket(), script };
        if load != Load::Slap {
            server.new_database(DATABASE)?;
            client.sysbench().prepare()?;
        }
        Ok(client)
    }

    /// A short run, in which caches fill and threads start; gives its transactions per second.
    pub fn warm_up(&self, clients: u32) -> Result<f64> {
        match self.load {
            Load::Slap => Ok(self.slap(clients, PILOT * u64::from(clients))?.throughput),
            _ => Ok(self.sysbench().run(clients, 1)?.throughput),
        }
    }

    /// One run. `expected` transactions per second say how many queries mysqlslap gets, which cannot be set
    /// to end after a time.
    pub fn run(&self, clients: u32, expected: f64) -> Result<Seen> {
        if self.load == Load::Slap {
            let wanted = (expected * f64::from(self.scale.seconds())).clamp(1.0, MOST_QUERIES) as u64;
            return self.slap(clients, self.scale.queries().unwrap_or(wanted));
        }
        let figures = self.sysbench().run(clients, self.scale.seconds())?;
        Ok(Seen { commits: figures.transactions, throughput: figures.throughput, p99_ms: Some(figures.p99_ms) })
    }

    fn sysbench(&self) -> Bench<'_> {
        let Client { socket, script, engine, .. } = self;
        Bench { way: Way::Socket(socket), script, database: DATABASE, engine, rows: self.scale.rows() }
    }

    /// Runs mysqlslap with about this many queries, the same number on each connection.
    fn slap(&self, clients: u32, queries: u64) -> Result<Seen> {
        let each = queries.div_ceil(u64::from(clients)).max(PILOT);
        let commits = each * u64::from(clients);
        let arguments = [
            "--no-defaults".to_owned(),
            "--user=root".to_owned(),
            format!("--socket={}", self.socket.display()),
            "--auto-generate-sql".to_owned(),
            "--auto-generate-sql-load-type=write".to_owned(),
            // Rows that are there before the clock starts, written one at a time.
            "--auto-generate-sql-write-number=1".to_owned(),
            format!("--concurrency={clients}"),
            format!("--number-of-queries={commits}"),
            "--csv".to_owned(),
        ];
        let output = tool_within(PATIENCE, "mysqlslap", arguments)?.success()?;
        // mysqlslap reports refused statements on standard error and goes on.
        ensure!(output.complaints().trim().is_empty(), "mysqlslap: {}", output.complaints());
        let text = output.text();
        let seconds = slap_seconds(&text).with_context(|| format!("no figures in mysqlslap's output:\n{text}"))?;
        Ok(Seen { commits, throughput: commits as f64 / seconds, p99_ms: None })
    }
}

/// Reads `engine,load,average,least,most,clients,queries of each`, times in seconds.
fn slap_seconds(csv: &str) -> Option<f64> {
    let fields: Vec<&str> = csv.lines().find(|line| !line.trim().is_empty())?.trim().split(',').collect();
    let [_, "write", average, _, _, _, _] = fields[..] else {
        return None;
    };
    average.parse().ok().filter(|&seconds| seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read_from_mysqlslaps_line() {
        assert_eq!(slap_seconds(",write,1.087,1.080,1.090,30,100\n"), Some(1.087));
        assert_eq!(slap_seconds("innodb,write,0.386,0.386,0.386,30,100\n"), Some(0.386));
    }

    #[test]
    fn another_line_or_no_time_gives_no_figure() {
        for text in ["", "\n", ",mixed,1.0,1.0,1.0,1,1", ",write,0.000,0.000,0.000,1,1", ",write,1.0", "Benchmark"] {
            assert_eq!(slap_seconds(text), None, "{text}");
        }
    }
}
