//! Large transactions, and what they cost others: `cohort-bench large`.
//!
//! # Outline
//! Both servers, with every commit synced, do the same by turns:
//! 1. clients update single rows alone, as a measure of what follows ([`beside()`]), on processors that have nothing else to
//!    do and on [busy ones](processors);
//! 2. beside them one client inserts rows up to so many bytes and commits them;
//! 3. beside them one client updates every row of a table of small rows by one statement.
//!
//! Then our server is killed in the middle of a large transaction, and as it commits one, and started again; the same
//! without one says what a start takes anyway. Clients run in this process.

mod beside;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server, SystemTables, processors};
use mysql::prelude::Queryable;

use crate::contender::{Contender, Name, Start};
use crate::machine::Machine;
use crate::readers::{Goal, Report, Wanted};
use beside::{Commits, beside};

/// Rows of an INSERT of the large transaction, and bytes of a row.
const ROWS: u64 = 100;
const ROW_BYTES: u64 = 10_000;
/// Rows of an INSERT that fills the table of small rows.
const SMALL_ROWS: u64 = 10_000;
/// How often memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// Of the clients alone.
    pub seconds: u32,
    pub rounds: u32,
    /// Bytes of the rows of a large transaction.
    pub bytes: u64,
    /// Rows that one statement updates.
    pub rows: u64,
    /// Options of our server besides those of full durability.
    pub options: &'a [String],
}

/// What one server did in one round.
struct Round {
    alone: Commits,
    /// Alone on processors that [threads which give way](processors) keep busy.
    busy: Commits,
    /// Beside the large transaction.
    large: Commits,
    commit: Duration,
    /// What memory grew by, at most, bytes.
    memory: u64,
    /// Beside the UPDATE of every row.
    update: Commits,
    update_took: Duration,
}

/// Measures both servers by turns, and our recovery.
pub fn measure(plan: &Plan<'_>) -> Result<Report> {
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let start = Start { cohort_options: plan.options, trace: None, system_tables: SystemTables::Absent };
    let ours = Contender::start(Name::Cohort, folder.path(), &start)?;
    let theirs = Contender::start(Name::MariaDb, folder.path(), &start)?;
    for server in [&ours, &theirs] {
        prepare(server, plan)?;
    }
    let (mut our_rounds, mut their_rounds) = (Vec::new(), Vec::new());
    for round in 0..plan.rounds {
        let mut turns = [(&ours, &mut our_rounds), (&theirs, &mut their_rounds)];
        if round % 2 == 1 {
            turns.reverse();
        }
        for (server, rounds) in turns {
            rounds.push(run(server, plan).with_context(|| server.name().title())?);
        }
    }
    ours.stop()?;
    theirs.stop()?;
    let mut goals = goals(&our_rounds, &their_rounds);
    goals.extend(restarts(folder.path(), plan)?);
    Ok(Report { machine: Machine::here()?, goals })
}

fn prepare(server: &Contender, plan: &Plan<'_>) -> Result<()> {
    server.new_database("large")?;
    let mut conn = server.connect()?;
    conn.query_drop(beside::TABLE)?;
    conn.query_drop(beside::rows())?;
    conn.query_drop("CREATE TABLE large.small (id BIGINT PRIMARY KEY, k INT NOT NULL, c CHAR(20) NOT NULL)")?;
    for first in (0..plan.rows).step_by(SMALL_ROWS as usize) {
        let ids = first..(first + SMALL_ROWS).min(plan.rows);
        let rows: Vec<String> = ids.map(|id| format!("({id},{},'x')", id % 7)).collect();
        conn.query_drop(format!("INSERT INTO large.small VALUES {}", rows.join(",")))?;
    }
    conn.query_drop("CREATE TABLE large.big (id BIGINT PRIMARY KEY, c VARCHAR(10000) NOT NULL)")?;
    Ok(())
}

fn run(server: &Contender, plan: &Plan<'_>) -> Result<Round> {
    eprintln!("{}", server.name().title());
    let seconds = Duration::from_secs(u64::from(plan.seconds));
    let (alone, ()) = beside(server, || {
        thread::sleep(seconds);
        Ok(())
    })?;
    let (busy, ()) = beside(server, || processors::all_busy(seconds))?;
    let (large, (commit, memory)) = beside(server, || with_memory(server, || commit(server, plan.bytes)))?;
    server.connect()?.query_drop("TRUNCATE TABLE large.big")?;
    let (update, update_took) = beside(server, || {
        let mut conn = server.connect()?;
        let begun = Instant::now();
        conn.query_drop("UPDATE large.small SET k = k + 1")?;
        ensure!(conn.affected_rows() == plan.rows, "{} rows were updated", conn.affected_rows());
        Ok(begun.elapsed())
    })?;
    for (what, commits) in
        [("alone", &alone), ("on busy processors", &busy), ("beside it", &large), ("beside the UPDATE", &update)]
    {
        eprintln!(
            "{what}: {:.0} commits/s, p50 {:.2} ms, p99 {:.2} ms",
            commits.rate(),
            commits.percentile_ms(0.5),
            commits.p99_ms()
        );
    }
    Ok(Round { alone, busy, large, commit, memory, update, update_took })
}

/// Inserts rows of so many bytes in one transaction, and says how long its COMMIT took.
fn commit(server: &Contender, bytes: u64) -> Result<Duration> {
    let mut conn = server.connect()?;
    insert(&mut conn, bytes)?;
    let begun = Instant::now();
    conn.query_drop("COMMIT")?;
    Ok(begun.elapsed())
}

fn insert(conn: &mut mysql::Conn, bytes: u64) -> Result<()> {
    conn.query_drop("BEGIN")?;
    let text = "x".repeat(ROW_BYTES as usize);
    for first in (0..bytes / ROW_BYTES).step_by(ROWS as usize) {
        let rows: Vec<String> = (first..first + ROWS).map(|id| format!("({id},'{text}')")).collect();
        conn.query_drop(format!("INSERT INTO large.big VALUES {}", rows.join(",")))?;
    }
    Ok(())
}

/// What `run` returns, and what the server's memory grew by meanwhile, at most.
fn with_memory<T>(server: &Contender, run: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
    let before = server.usage()?.resident_bytes;
    let (ended, most) = (AtomicBool::new(false), AtomicU64::new(before));
    let ran = thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                if let Ok(usage) = server.usage() {
                    most.fetch_max(usage.resident_bytes, Ordering::Relaxed);
                }
                thread::sleep(LOOK_EVERY);
            }
        });
        let ran = run();
        ended.store(true, Ordering::Relaxed);
        ran
    })?;
    Ok((ran, most.into_inner() - before))
}

fn goals(ours: &[Round], theirs: &[Round]) -> Vec<Goal> {
    let of = |rounds: &[Round], figure: &dyn Fn(&Round) -> f64| rounds.iter().map(figure).collect::<Vec<f64>>();
    let goal = |name: &str, unit: &str, most: f64, figure: &dyn Fn(&Round) -> f64| {
        let shown: Vec<String> = of(theirs, figure).iter().map(|figure| format!("{figure:.2}")).collect();
        let detail = format!("MariaDB {}", shown.join(", "));
        Goal::median(name, &of(ours, figure), unit, Wanted::AtMost(most), &detail)
    };
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let mb = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    vec![
        goal("COMMIT of a large transaction", "ms", 100.0, &|round| ms(round.commit)),
        goal("p99 of others alone, on busy processors to idle ones", "x", f64::INFINITY, &|round| {
            round.busy.p99_ms() / round.alone.p99_ms()
        }),
        goal("p99 of others beside it, to alone", "x", 1.5, &|round| round.large.p99_ms() / round.alone.p99_ms()),
        goal("p99 of others beside it, to alone on busy processors", "x", 1.5, &|round| {
            round.large.p99_ms() / round.busy.p99_ms()
        }),
        goal("longest time without a commit beside it", "ms", 1000.0, &|round| round.large.gap_ms()),
        goal("commits beside it, to alone", "x", f64::INFINITY, &|round| round.large.rate() / round.alone.rate()),
        goal("memory that it adds, at most", "MB", 256.0, &|round| mb(round.memory)),
        goal("p99 of others beside the UPDATE, to alone", "x", 1.5, &|round| {
            round.update.p99_ms() / round.alone.p99_ms()
        }),
        goal("p99 of others beside the UPDATE, to alone on busy processors", "x", 1.5, &|round| {
            round.update.p99_ms() / round.busy.p99_ms()
        }),
        goal("longest time without a commit beside the UPDATE", "ms", 100.0, &|round| round.update.gap_ms()),
        goal("the UPDATE", "ms", f64::INFINITY, &|round| ms(round.update_took)),
    ]
}

/// How much longer a start takes after a kill in a large transaction, and in its COMMIT, than after one without it.
fn restarts(folder: &Path, plan: &Plan<'_>) -> Result<Vec<Goal>> {
    let launch = Launch::new(folder.join("restarts")).option("--sync-binlog=1");
    let launch = plan.options.iter().fold(launch, |launch, option| launch.option(option));
    let server = launch.start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE large")?;
    conn.query_drop("CREATE TABLE large.big (id BIGINT PRIMARY KEY, c VARCHAR(10000) NOT NULL)")?;
    drop(conn);
    let (server, without) = restarted(server)?;
    let mut conn = server.connect()?;
    insert(&mut conn, plan.bytes)?;
    let (server, running) = restarted(server)?;
    drop(conn);
    let left = rows(&server)?;
    ensure!(left == 0, "{left} rows of a transaction that was killed");
    let mut conn = server.connect()?;
    insert(&mut conn, plan.bytes)?;
    conn.query_drop("COMMIT")?;
    let (server, committed) = restarted(server)?;
    ensure!(rows(&server)? == plan.bytes / ROW_BYTES, "rows are missing after the recovery");
    server.stop()?;
    let detail = format!("a start without one takes {without:.0} ms");
    let goal = |name: &str, found: f64| Goal::new(name, found - without, "ms", Wanted::AtMost(1000.0), detail.clone());
    Ok(vec![
        goal("longer start after a kill in a large transaction", running),
        goal("longer start after a kill when it has committed", committed),
    ])
}

fn rows(server: &Server) -> Result<u64> {
    server.connect()?.query_first("SELECT COUNT(*) FROM large.big")?.context("a count")
}

/// Kills a server and starts it again; milliseconds until it answered.
fn restarted(server: Server) -> Result<(Server, f64)> {
    let launch = server.kill()?;
    let begun = Instant::now();
    let server = launch.start()?;
    let took = begun.elapsed().as_secs_f64() * 1e3;
    let log = fs::read_to_string(launch.log_file()).unwrap_or_default();
    if let Some(line) = log.lines().rfind(|line| line.contains("recovery: from lsn")) {
        eprintln!("{took:.0} ms: {line}");
    }
    Ok((server, took))
}
