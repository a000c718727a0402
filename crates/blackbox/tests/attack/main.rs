//! What clients with bad intentions send, and what has to hold after each attack: the server serves on, its memory stays
//! within its limit, nothing has panicked, and other clients have not failed.
//!
//! `COHORT_ATTACKS=100000` sends so many random packets and statements (`make accept`); then the 99th percentile of other
//! clients' latency, of statements and of connecting, may be three times what it is without the attack, or a tick
//! of the kernel's clock more. Printed seeds repeat what is random.
//!
//! Attackers run where a processor has nothing else to do: on a machine of their own they would take none from the server.
//! What they make the server do takes its processors.

mod deep;
mod floods;
mod packets;
mod statements;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, Server, processors, wait_until};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

/// What sessions may have together, and the whole server, bytes.
const SESSIONS: u64 = 384 << 20;
const MEMORY: u64 = SESSIONS + (128 << 20);
/// How long clients are observed before an attack whose effect on them is judged.
const CALM: Duration = Duration::from_secs(10);
/// By how much an attack may slow others down.
const SLOWER: u32 = 3;
/// A tick of the kernel's clock: for so long any other program may have the processor of whoever wants it next.
const TICK: Duration = Duration::from_millis(4);
/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The account that attackers have: all there is in one database, and nothing else.
const ATTACKER: &str = "mallory";
const PASSWORD: &str = "secret";
/// Its table.
const TABLE: &str = "junk.t (a INT PRIMARY KEY, b VARCHAR(50), c DOUBLE, KEY (b))";

/// A server under attack.
struct Target {
    server: Server,
    /// How many random packets or statements to send.
    attempts: u64,
    rng: Rng,
}

impl Target {
    /// Connection options of the attacker.
    fn attacker(&self) -> Opts {
        let options = OptsBuilder::from_opts(self.server.options_as(ATTACKER, PASSWORD));
        options.read_timeout(Some(PATIENCE)).db_name(Some("junk")).into()
    }
}

/// How often `COHORT_ATTACKS` says, if it says anything.
fn attempts_asked_for() -> Option<u64> {
    std::env::var("COHORT_ATTACKS").ok().and_then(|text| text.parse().ok())
}

/// Starts a server, has others use it, and attacks it.
fn withstands(name: &str, attack: impl FnOnce(&mut Target) -> Result<()> + Send) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data"))
        .option(format!("--global-connection-memory-limit={}", SESSIONS))
        .option("--thread-stack=256K")
        .option("--connect-timeout=3")
        .option("--net-read-timeout=5")
        .option("--net-write-timeout=5")
        .option("--max-execution-time=2000")
        .start()?;
    let mut root = server.connect()?;
    for sql in [
        "CREATE DATABASE junk",
        &format!("CREATE TABLE {TABLE}"),
        "INSERT INTO junk.t VALUES (1, 'x', 0.5), (2, 'y', NULL), (3, NULL, -1e300)",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL)",
        &format!("INSERT INTO d.t VALUES {}", (0..200).map(|id| format!("({id}, 0)")).collect::<Vec<_>>().join(", ")),
        &format!("CREATE USER {ATTACKER} IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'"),
        &format!("GRANT ALL ON junk.* TO {ATTACKER}"),
    ] {
        root.query_drop(sql)?;
    }
    let rng = Rng::new(rng::seed());
    let judged = attempts_asked_for().is_some();
    let mut target = Target { server, attempts: attempts_asked_for().unwrap_or(1500), rng };
    let phase = Phase::default();
    let server = target.server.options();
    thread::scope(|scope| {
        let mut users = Vec::new();
        for number in 0..2 {
            let (options, phase) = (others(&server, number + 2), &phase);
            users.push(scope.spawn(move || use_it(&options, number.into(), phase)));
        }
        let (options, observed) = (others(&server, 4), &phase);
        users.push(scope.spawn(move || connect_often(&options, observed)));
        thread::sleep(if judged { CALM } else { Duration::from_millis(200) });
        phase.attacked.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        let attacker = scope.spawn(|| {
            processors::only_idle_ones()?;
            attack(&mut target)
        });
        let attacked = attacker.join().expect("no panic");
        let took = begun.elapsed();
        phase.over.store(true, Ordering::Relaxed);
        let mut latencies = Latencies::default();
        for user in users {
            let seen = user.join().expect("no panic");
            latencies.add(seen.with_context(|| format!("another client failed while attacked by {name}"))?);
        }
        attacked?;
        println!("{name}: {took:.1?}; others' p99: {latencies}");
        if judged {
            latencies.judge(name)?;
        }
        anyhow::Ok(())
    })?;
    let peak = peak(&target.server)?;
    println!("{name}: at most {} MB of memory", peak >> 20);
    ensure!(peak < MEMORY, "{name}: {} MB", peak >> 20);
    wait_until("the attackers' sessions are over", || {
        let list: Vec<mysql::Row> = root.query("SHOW PROCESSLIST")?;
        let attackers = list.iter().filter(|row| row.get::<String, _>("User").as_deref() == Some(ATTACKER)).count();
        Ok(attackers == 0)
    })?;
    ensure!(target.server.connect()?.query_first::<i32, _>("SELECT 1 + 1")? == Some(2));
    // Nothing of it is left over that would hold up an end.
    target.server.stop()?;
    Ok(())
}

/// Connection options of a client at another of this machine's addresses.
fn others(server: &Opts, host: u8) -> Opts {
    let options = OptsBuilder::from_opts(server.clone()).bind_address(Some(([127, 0, 0, host], 0)));
    options.read_timeout(Some(PATIENCE)).into()
}

/// What the other clients go by.
#[derive(Default)]
struct Phase {
    attacked: AtomicBool,
    over: AtomicBool,
}

impl Phase {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// How long something took, by whether it began before the attack.
#[derive(Default)]
struct Observed {
    calm: Vec<Duration>,
    attacked: Vec<Duration>,
}

impl Observed {
    fn time<T>(&mut self, phase: &Phase, what: impl FnOnce() -> Result<T>) -> Result<T> {
        let list = if phase.attacked.load(Ordering::Relaxed) { &mut self.attacked } else { &mut self.calm };
        let begun = Instant::now();
        let done = what();
        list.push(begun.elapsed());
        done
    }

    fn add(&mut self, more: Observed) {
        self.calm.extend(more.calm);
        self.attacked.extend(more.attacked);
    }
}

impl std::fmt::Display for Observed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (before, meanwhile) = (p99(&self.calm), p99(&self.attacked));
        write!(f, "{meanwhile:.1?} of {}, before {before:.1?} of {}", self.attacked.len(), self.calm.len())
    }
}

/// What the others' statements and connections took.
#[derive(Default)]
struct Latencies {
    statements: Observed,
    connections: Observed,
}

impl Latencies {
    fn add(&mut self, more: Latencies) {
        self.statements.add(more.statements);
        self.connections.add(more.connections);
    }

    fn judge(&self, name: &str) -> Result<()> {
        for (what, observed) in [("statements", &self.statements), ("connections", &self.connections)] {
            let calm = p99(&observed.calm);
            let most = (calm * SLOWER).max(calm + TICK);
            ensure!(p99(&observed.attacked) <= most, "{name}: p99 of others' {what}: {observed}");
        }
        Ok(())
    }
}

impl std::fmt::Display for Latencies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "statements {}; connections {}", self.statements, self.connections)
    }
}

fn p99(latencies: &[Duration]) -> Duration {
    let mut sorted = latencies.to_vec();
    sorted.sort();
    sorted.get(sorted.len() * 99 / 100).copied().unwrap_or_default()
}

/// Reads and writes, as others do. Every failure is one of the server.
fn use_it(options: &Opts, number: u64, phase: &Phase) -> Result<Latencies> {
    let mut latencies = Latencies::default();
    let mut conn = Conn::new(options.clone())?;
    for round in 0_u64.. {
        if phase.is_over() {
            break;
        }
        latencies.statements.time(phase, || {
            let id = number * 100 + round % 100;
            let found: Option<u64> = conn.query_first(format!("SELECT v FROM d.t WHERE id = {id}"))?;
            ensure!(found == Some(round / 100), "row {id}: {found:?}");
            Ok(conn.query_drop(format!("UPDATE d.t SET v = v + 1 WHERE id = {id}"))?)
        })?;
        thread::sleep(Duration::from_millis(2));
    }
    Ok(latencies)
}

/// Connects for one statement at a time.
fn connect_often(options: &Opts, phase: &Phase) -> Result<Latencies> {
    let mut latencies = Latencies::default();
    while !phase.is_over() {
        latencies.connections.time(phase, || Ok(Conn::new(options.clone())?.query_drop("DO 1")?))?;
        thread::sleep(Duration::from_millis(5));
    }
    Ok(latencies)
}

/// The most memory that the server has had, bytes.
fn peak(server: &Server) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}

/// A file of the repository, by its path from its root.
fn file(path: &str) -> Result<String> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path);
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}
