//! What clients with bad intentions send, and what has to hold after each attack: the server serves on, its memory stays
//! within its limit, nothing has panicked, and other clients have not failed.
//!
//! `COHORT_ATTACKS=100000` sends so many random packets and statements (`make accept`); then the 99th percentile of other
//! clients' latency may be three times what it is without the attack. Printed seeds repeat what is random.

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
use cohort_blackbox::{Launch, Server, wait_until};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

/// What sessions may have together, and the whole server, bytes.
const SESSIONS: u64 = 384 << 20;
const MEMORY: u64 = SESSIONS + (128 << 20);
/// How long clients are observed before an attack whose effect on them is judged.
const CALM: Duration = Duration::from_secs(10);
/// By how much an attack may slow others down, and what is too little to say anything.
const SLOWER: u32 = 3;
const NOTHING: Duration = Duration::from_millis(2);
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
fn withstands(name: &str, attack: impl FnOnce(&mut Target) -> Result<()>) -> Result<()> {
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
    let calm = AtomicBool::new(true);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let options: Vec<Opts> = (2..4).map(|host| others(&target.server, host)).collect();
        let users: Vec<_> = options
            .into_iter()
            .enumerate()
            .map(|(number, options)| {
                let (calm, over) = (&calm, &over);
                scope.spawn(move || {
                    let used = use_it(&options, number, calm, over);
                    // Whoever fails ends the attack's observation, not only its own.
                    used.with_context(|| format!("another client failed while attacked by {name}"))
                })
            })
            .collect();
        thread::sleep(if judged { CALM } else { Duration::from_millis(200) });
        calm.store(false, Ordering::Relaxed);
        let begun = Instant::now();
        let attacked = attack(&mut target);
        let took = begun.elapsed();
        over.store(true, Ordering::Relaxed);
        let mut latencies = Latencies::default();
        for user in users {
            latencies.add(user.join().expect("no panic")?);
        }
        attacked?;
        println!("{name}: {took:.1?}, {latencies}");
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
fn others(server: &Server, host: u8) -> Opts {
    let options = OptsBuilder::from_opts(server.options()).bind_address(Some(([127, 0, 0, host], 0)));
    options.read_timeout(Some(PATIENCE)).into()
}

/// What the others' statements took.
#[derive(Default)]
struct Latencies {
    calm: Vec<Duration>,
    attacked: Vec<Duration>,
}

impl Latencies {
    fn add(&mut self, more: Latencies) {
        self.calm.extend(more.calm);
        self.attacked.extend(more.attacked);
    }

    fn judge(&self, name: &str) -> Result<()> {
        let (before, meanwhile) = (p99(&self.calm), p99(&self.attacked));
        let most = (before * SLOWER).max(NOTHING);
        ensure!(meanwhile <= most, "{name}: others' p99 is {meanwhile:.1?}, and {before:.1?} without the attack");
        Ok(())
    }
}

impl std::fmt::Display for Latencies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (before, meanwhile) = (p99(&self.calm), p99(&self.attacked));
        write!(f, "others' p99 {meanwhile:.1?} of {}, before {before:.1?}", self.attacked.len())
    }
}

fn p99(latencies: &[Duration]) -> Duration {
    let mut sorted = latencies.to_vec();
    sorted.sort();
    sorted.get(sorted.len() * 99 / 100).copied().unwrap_or_default()
}

/// Reads, writes and now and then connects, as others do. Every failure is one of the server.
fn use_it(options: &Opts, number: usize, calm: &AtomicBool, over: &AtomicBool) -> Result<Latencies> {
    let mut latencies = Latencies::default();
    let mut conn = Conn::new(options.clone())?;
    for round in 0_u64.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        let was_calm = calm.load(Ordering::Relaxed);
        let id = number as u64 * 100 + round % 100;
        let found: Option<u64> = conn.query_first(format!("SELECT v FROM d.t WHERE id = {id}"))?;
        ensure!(found == Some(round / 100), "row {id}: {found:?}");
        conn.query_drop(format!("UPDATE d.t SET v = v + 1 WHERE id = {id}"))?;
        if round % 100 == 99 {
            Conn::new(options.clone())?.query_drop("DO 1")?;
        }
        let list = if was_calm { &mut latencies.calm } else { &mut latencies.attacked };
        list.push(begun.elapsed());
        thread::sleep(Duration::from_millis(2));
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
