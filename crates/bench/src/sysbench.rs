//! Runs sysbench and reads its figures.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::tool;
use serde::{Deserialize, Serialize};

/// What one sysbench run reports.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Transactions that ended.
    pub transactions: u64,
    /// Transactions per second.
    pub throughput: f64,
    /// 99th percentile of a transaction's latency, milliseconds.
    pub p99_ms: f64,
    /// Transactions that were tried again after a deadlock or lock wait timeout.
    pub retried: u64,
}

/// How clients reach a server.
#[derive(Debug, Clone, Copy)]
pub enum Way<'a> {
    /// Through its Unix socket.
    Socket(&'a Path),
    /// Through this port of 127.0.0.1.
    Tcp(u16),
    /// As that, encrypted: sysbench looks for its certificates in this folder.
    Tls(u16, &'a Path),
}

/// A script and where it runs.
#[derive(Debug, Clone, Copy)]
pub struct Bench<'a> {
    /// How its connections reach the server.
    pub way: Way<'a>,
    /// A script that ships with sysbench, by name, or a file.
    pub script: &'a str,
    /// The database of its table.
    pub database: &'a str,
    /// `ENGINE` of its table.
    pub engine: &'a str,
    /// Rows of its table.
    pub rows: u64,
}

impl Bench<'_> {
    /// Creates and fills the table, in place of an older one.
    pub fn prepare(&self) -> Result<()> {
        self.sysbench(&["prepare"])?;
        Ok(())
    }

    /// Runs the workload for `seconds` with `clients` connections.
    pub fn run(&self, clients: u32, seconds: u32) -> Result<Figures> {
        let (threads, time) = (format!("--threads={clients}"), format!("--time={seconds}"));
        let output = self.sysbench(&[&threads, &time, "--percentile=99", "run"])?;
        parse(&output).with_context(|| format!("no figures in sysbench's output:\n{output}"))
    }

    fn sysbench(&self, more: &[&str]) -> Result<String> {
        let fixed = [
            self.script.to_owned(),
            "--db-driver=mysql".to_owned(),
            "--mysql-user=root".to_owned(),
            format!("--mysql-db={}", self.database),
            format!("--mysql-storage-engine={}", self.engine),
            "--tables=1".to_owned(),
            format!("--table-size={}", self.rows),
        ];
        let port = |port: u16| vec!["--mysql-host=127.0.0.1".to_owned(), format!("--mysql-port={port}")];
        let way = match self.way {
            Way::Socket(path) => vec![format!("--mysql-socket={}", path.display())],
            Way::Tcp(number) => port(number),
            Way::Tls(number, _) => [port(number), vec!["--mysql-ssl=on".to_owned()]].concat(),
        };
        let folder = match self.way {
            Way::Tls(_, folder) => folder,
            _ => Path::new("."),
        };
        let program = [format!("--chdir={}", folder.display()), "sysbench".to_owned()];
        let arguments = program.into_iter().chain(fixed).chain(way).chain(more.iter().map(|text| text.to_string()));
        let output = tool("env", arguments)?.success()?.text();
        // sysbench reports some failures of `prepare` and still ends with 0.
        ensure!(!output.contains("FATAL"), "sysbench failed:\n{output}");
        Ok(output)
    }
}

fn parse(output: &str) -> Option<Figures> {
    let field = |name: &str| {
        let line = output.lines().find_map(|line| line.trim().strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let transactions = field("transactions:")?;
    let (count, rate) = transactions.split_once('(')?;
    let retried = field("ignored errors:")?;
    Some(Figures {
        transactions: count.trim().parse().ok()?,
        throughput: rate.split_whitespace().next()?.parse().ok()?,
        p99_ms: field("99th percentile:")?.parse().ok()?,
        retried: retried.split_whitespace().next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_sysbenchs_summary() {
        let output = "SQL statistics:\n    queries performed:\n        read:   0\n    transactions:   \
                      12345  (2469.01 per sec.)\n    queries:  12345  (2469.01 per sec.)\n    \
                      ignored errors:   7      (0.00 per sec.)\n\nLatency (ms):\n         min:  \
                      0.10\n         99th percentile:  1.82\n";
        let expected = Figures { transactions: 12345, throughput: 2469.01, p99_ms: 1.82, retried: 7 };
        assert_eq!(parse(output), Some(expected));
    }

    #[test]
    fn half_a_summary_gives_no_figures() {
        assert_eq!(parse("transactions: 12 (3 per sec.)"), None);
    }
}
