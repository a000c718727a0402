//! TPC-H: 22 questions to the books of a wholesaler, asked of both servers in turn. `cohort-bench tpch`.
//!
//! # Outline
//! * [`data`] makes the rows, as the benchmark's own generator does, and puts them into a server;
//! * [`queries`] has the questions with the parameters that the benchmark validates with.
//!
//! Both servers get the same tables, keys and rows. Their answers must be the same, byte for byte.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use serde::{Deserialize, Serialize};

use crate::contender::{Contender, Name};
use crate::machine::Machine;
use crate::medians::median;

pub mod data;
pub mod queries;

/// The database of the tables.
pub const DATABASE: &str = "tpch";

/// Most of MariaDB's time that all queries may take together, and that one may.
const GOALS: (f64, f64) = (1.0, 3.0);

/// One query's times, a round each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// From 1.
    pub query: usize,
    /// Seconds from the statement to its last row; empty if it failed.
    pub cohort: Vec<f64>,
    /// The same of MariaDB.
    pub mariadb: Vec<f64>,
    /// What is wrong with the answers of ours, if anything.
    pub fault: Option<String>,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub machine: Machine,
    pub scale: f64,
    pub cohort_version: String,
    pub mariadb_version: String,
    pub queries: Vec<Times>,
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// 1 is 6 million lines of orders.
    pub scale: f64,
    pub rounds: u32,
    /// Seconds for which rows are updated before the first query, so that tables are not as they were loaded.
    pub aging: u32,
    /// A query that takes longer, in seconds, is given up.
    pub patience: u32,
    /// The queries, from 1.
    pub queries: &'a [usize],
}

/// Loads one server, asks it every query once, and has it sort the largest table in files.
pub fn train(server: &Contender, scale: f64) -> Result<()> {
    load(server, scale)?;
    let mut conn = connect(server, None)?;
    analyze(&mut conn)?;
    for query in 1..=queries::COUNT {
        ask(&mut conn, query, scale).with_context(|| format!("Q{query}"))?;
    }
    conn.query_drop("SET SESSION sort_buffer_size = 262144")?;
    for _ in 0..10 {
        conn.query_drop("SELECT l_partkey, l_orderkey FROM lineitem ORDER BY l_partkey")?;
        conn.query_drop("SELECT * FROM lineitem ORDER BY l_shipdate, l_comment")?;
    }
    Ok(())
}

/// Loads both servers and runs the queries on each by turns.
pub fn measure(cohort: &Contender, mariadb: &Contender, plan: &Plan<'_>) -> Result<Report> {
    for server in [cohort, mariadb] {
        let start = Instant::now();
        let rows = load(server, plan.scale).with_context(|| format!("loading {}", server.name().title()))?;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("{}: {rows} rows in {seconds:.1} s", server.name().title());
        let mut conn = connect(server, None)?;
        data::age(&mut conn, plan.aging)?;
        analyze(&mut conn)?;
    }
    let mut queries = Vec::new();
    for &query in plan.queries {
        let mut times = Times { query, cohort: Vec::new(), mariadb: Vec::new(), fault: None };
        for round in 0..plan.rounds {
            let order = if round % 2 == 0 { [cohort, mariadb] } else { [mariadb, cohort] };
            let mut answers = Vec::new();
            for server in order {
                let mut conn = connect(server, Some(plan.patience))?;
                let start = Instant::now();
                let answer = ask(&mut conn, query, plan.scale);
                let seconds = start.elapsed().as_secs_f64();
                match (server.name(), &answer) {
                    (Name::MariaDb, Err(error)) => bail!("MariaDB: Q{query}: {error:#}"),
                    (Name::MariaDb, Ok(_)) => times.mariadb.push(seconds),
                    (Name::Cohort, Ok(_)) => times.cohort.push(seconds),
                    (Name::Cohort, Err(error)) => times.fault = Some(format!("{error:#}")),
                }
                answers.extend(answer);
            }
            if let [one, other] = &answers[..]
                && one != other
            {
                let (ours, theirs) = if round % 2 == 0 { (one, other) } else { (other, one) };
                times.fault = Some(difference(ours, theirs));
            }
            if times.fault.is_some() {
                break;
            }
        }
        eprintln!("{}", line(&times));
        queries.push(times);
    }
    Ok(Report {
        machine: Machine::here()?,
        scale: plan.scale,
        cohort_version: cohort.version()?,
        mariadb_version: mariadb.version()?,
        queries,
    })
}

/// Creates the tables and fills them; how many rows they have.
fn load(server: &Contender, scale: f64) -> Result<u64> {
    server.new_database(DATABASE)?;
    data::load(&mut connect(server, None)?, scale)
}

fn analyze(conn: &mut Conn) -> Result<()> {
    conn.query_drop(format!("ANALYZE TABLE {}", data::TABLES.map(|table| table.name).join(", ")))?;
    Ok(())
}

/// A connection on which our server gives a query up after `patience` seconds.
fn connect(server: &Contender, patience: Option<u32>) -> Result<Conn> {
    let mut conn = server.connect()?;
    conn.query_drop(format!("USE {DATABASE}"))?;
    if let Some(patience) = patience.filter(|_| server.name() == Name::Cohort) {
        conn.query_drop(format!("SET max_execution_time = {}", u64::from(patience) * 1000))?;
    }
    Ok(conn)
}

/// The rows of a query, as text.
fn ask(conn: &mut Conn, query: usize, scale: f64) -> Result<Vec<Vec<Value>>> {
    let rows: Vec<mysql::Row> = conn.query(queries::text(query, scale)?)?;
    Ok(rows.into_iter().map(mysql::Row::unwrap).collect())
}

fn difference(ours: &[Vec<Value>], theirs: &[Vec<Value>]) -> String {
    let at = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs).unwrap_or(ours.len().min(theirs.len()));
    let shown = |rows: &[Vec<Value>]| match rows.get(at) {
        Some(row) => row.iter().map(|value| value.as_sql(false)).collect::<Vec<_>>().join(" | "),
        None => "no row".to_owned(),
    };
    format!("row {} of {}: {}; MariaDB's of {}: {}", at + 1, ours.len(), shown(ours), theirs.len(), shown(theirs))
}

fn line(times: &Times) -> String {
    let milliseconds = |seconds: &[f64]| match seconds {
        [] => "-".to_owned(),
        _ => format!("{:.1}", median(seconds.iter().copied()) * 1e3),
    };
    let ratio = times.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let fault = times.fault.as_ref().map_or(String::new(), |fault| format!("  {fault}"));
    format!(
        "| Q{} | {} | {} | {ratio} |{fault}",
        times.query,
        milliseconds(&times.cohort),
        milliseconds(&times.mariadb)
    )
}

impl Times {
    /// Our median time divided by MariaDB's.
    pub fn ratio(&self) -> Option<f64> {
        let both = !self.cohort.is_empty() && !self.mariadb.is_empty();
        both.then(|| median(self.cohort.iter().copied()) / median(self.mariadb.iter().copied()))
    }
}

impl Report {
    /// Queries without an answer, or with another one than MariaDB's.
    pub fn faults(&self) -> Vec<String> {
        let faults =
            self.queries.iter().filter_map(|times| Some(format!("Q{}: {}", times.query, times.fault.as_ref()?)));
        faults.collect()
    }

    /// A line for each query, and one for all of them.
    pub fn table(&self) -> String {
        let mut out = format!(
            "TPC-H, scale {}, {} and MariaDB {}\n\n| query | Cohort, ms | MariaDB, ms | ratio |\n| --- | --- | --- | --- |\n",
            self.scale, self.cohort_version, self.mariadb_version
        );
        for times in &self.queries {
            let above = times.ratio().is_some_and(|ratio| ratio > GOALS.1);
            let _ = writeln!(out, "{}{}", line(times), if above { " above the goal" } else { "" });
        }
        let answered: Vec<&Times> = self.queries.iter().filter(|times| times.ratio().is_some()).collect();
        if !answered.is_empty() {
            let sum =
                |of: fn(&Times) -> &[f64]| answered.iter().map(|times| median(of(times).iter().copied())).sum::<f64>();
            let (ours, theirs) = (sum(|times| &times.cohort), sum(|times| &times.mariadb));
            let _ = writeln!(
                out,
                "| all that were answered: {} | {:.1} | {:.1} | {:.2} (goal: {} at most, {} each) |",
                answered.len(),
                ours * 1e3,
                theirs * 1e3,
                ours / theirs,
                GOALS.0,
                GOALS.1
            );
        }
        out
    }

    /// Writes `tpch.json` and `tpch.md`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("tpch.json"), serde_json::to_vec_pretty(self)?)?;
        Ok(fs::write(folder.join("tpch.md"), self.table())?)
    }
}
