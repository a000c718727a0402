//! Libraries of other languages that decode the binlog: `scripts/drivers.sh` fetches them.

use std::thread::JoinHandle;

use anyhow::{Context, Result};
use cohort_blackbox::{Launch, Server, fetched, tool};
use mysql::prelude::Queryable;

use crate::reader::{status, wait_for_process};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/drivers");

/// A program that follows the binlog and prints the rows that change, to one with 'end'.
struct Program<'a> {
    command: &'a str,
    arguments: &'a [&'a str],
    /// How it writes id, v and x of a row.
    row: fn(&str, Option<&str>, &str) -> String,
}

impl Program<'_> {
    fn follow(&self, server: &Server, file: &str, gtids: &str) -> JoinHandle<Result<String>> {
        let command = self.command.to_owned();
        let more = [server.port().to_string(), file.to_owned(), gtids.to_owned()];
        let arguments: Vec<String> = self.arguments.iter().map(|text| (*text).to_owned()).chain(more).collect();
        std::thread::spawn(move || {
            let done = tool(&command, arguments)?.success()?;
            Ok(String::from_utf8_lossy(&done.stdout).into_owned())
        })
    }

    /// From a file's beginning and, if the program can, from a set of GTIDs; of transactions that are compressed where
    /// it reads those.
    fn check(&self, by_gtid: bool, compressed: bool) -> Result<()> {
        let scratch = tempfile::tempdir()?;
        let launch = Launch::new(scratch.path().join("data")).option("--binlog-row-metadata=FULL");
        let server = launch.option(format!("--binlog-transaction-compression={}", u8::from(compressed))).start()?;
        let mut conn = server.connect()?;
        conn.query_drop("CREATE DATABASE d")?;
        conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(100), x DECIMAL(10,2))")?;
        let (first, _) = status(&server)?;
        conn.query_drop("INSERT INTO d.t VALUES (1, 'é', 1.5), (2, NULL, -0.01)")?;
        let known: String = conn.query_first("SELECT @@GLOBAL.gtid_executed")?.context("a set")?;
        let all = self.follow(&server, &first, "");
        let later = by_gtid.then(|| self.follow(&server, &first, &known));
        wait_for_process(&server, |dumps| dumps.len() == 1 + usize::from(by_gtid))?;
        conn.query_drop("SET SESSION binlog_rows_query_log_events = ON")?;
        conn.query_drop("UPDATE d.t SET x = x + 1 WHERE id = 1")?;
        conn.query_drop("FLUSH BINARY LOGS")?;
        conn.query_drop("BEGIN; DELETE FROM d.t WHERE id = 2; INSERT INTO d.t VALUES (3, 'end', 0); COMMIT")?;
        let [one, two] = [(self.row)("1", Some("é"), "1.50"), (self.row)("2", None, "-0.01")];
        let before = format!("d.t + {one}\nd.t + {two}\n");
        let (changed, end) = ((self.row)("1", Some("é"), "2.50"), (self.row)("3", Some("end"), "0.00"));
        let after = format!("d.t {one} > {changed}\nd.t - {two}\nd.t + {end}\n");
        assert_eq!(all.join().expect("no panic")?, format!("{before}{after}"));
        if let Some(later) = later {
            assert_eq!(later.join().expect("no panic")?, after);
        }
        server.stop().map(drop)
    }
}

#[test]
fn zongji_decodes_what_was_done() -> Result<()> {
    let Some(folder) = fetched("drivers/zongji", "scripts/drivers.sh") else { return Ok(()) };
    let script = folder.join("follow.mjs");
    let row = |id: &str, v: Option<&str>, x: &str| {
        format!("id={id}, v={}, x=\"{x}\"", v.map_or_else(|| "null".to_owned(), |v| format!("\"{v}\"")))
    };
    Program { command: "node", arguments: &[script.to_str().context("a path")?], row }.check(false, false)
}

#[test]
fn binlog_connector_java_decodes_what_was_done() -> Result<()> {
    let Some(jar) = fetched("drivers/binlog-connector.jar", "scripts/drivers.sh") else { return Ok(()) };
    let source = format!("{FOLDER}/Follow.java");
    let row = |id: &str, v: Option<&str>, x: &str| format!("{id}, {}, {x}", v.unwrap_or("null"));
    let jar = jar.to_str().context("a path")?;
    Program { command: "java", arguments: &["-cp", jar, &source], row }.check(true, false)?;
    let Some(zstd) = fetched("drivers/zstd-jni.jar", "scripts/drivers.sh") else { return Ok(()) };
    let jars = format!("{jar}:{}", zstd.to_str().context("a path")?);
    Program { command: "java", arguments: &["-cp", &jars, &source], row }.check(true, true)
}
