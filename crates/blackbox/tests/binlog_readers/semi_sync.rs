//! Semi-synchronous replication: commits that wait for replicas, by hand and with MariaDB as the replica.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, MariaDb, Server, wait_until};
use cohort_txn::CommitProtocol;
use mysql::prelude::Queryable;

use crate::programs::Replica;
use crate::reader::*;

/// A replica by hand that acknowledges when the test says so.
struct Acker {
    reader: Reader,
    /// The file that events come from.
    file: String,
}

impl Acker {
    fn attach(server: &Server, server_id: u32) -> Result<Acker> {
        let (file, position) = status(server)?;
        Acker::attach_at(server, "@rpl_semi_sync_slave", (file, position), server_id)
    }

    /// As one of this age, from a place on.
    fn attach_at(server: &Server, variable: &str, (file, position): (String, u32), server_id: u32) -> Result<Acker> {
        let mut reader = Reader::log_in(server)?;
        reader.query(&format!("SET {variable} = 1"))?;
        reader.dump(&file, position, 0, server_id)?;
        Ok(Acker { reader, file })
    }

    /// Where the next event ends that is to be acknowledged: its file and offset.
    fn asked(&mut self) -> Result<(String, u32)> {
        loop {
            let packet = self.reader.0.packet()?;
            let [0, 0xef, flag @ (0 | 1), event @ ..] = packet.as_slice() else {
                anyhow::bail!("not an event of semi-synchronous replication: {packet:?}");
            };
            let event = Event(event.to_vec());
            if event.event_type() == ROTATE {
                let name = &event.body()[8..event.body().len() - 4];
                self.file = String::from_utf8_lossy(name).into_owned();
            }
            if *flag == 1 {
                return Ok((self.file.clone(), event.log_pos()));
            }
        }
    }

    fn acknowledge(&mut self, file: &str, position: u32) -> Result<()> {
        self.reader.0.send(0, &[&[0xef][..], &u64::from(position).to_le_bytes(), file.as_bytes()].concat())
    }
}

fn counter(server: &Server, name: &str) -> Result<String> {
    let sql = format!("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_{name}'");
    let (_, value): (String, String) = server.connect()?.query_first(sql)?.context("a status variable")?;
    Ok(value)
}

fn table(server: &Server) -> Result<()> {
    Ok(server.connect()?.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")?)
}

/// A server whose commits wait for replicas, with the table.
fn source(launch: Launch, timeout_ms: u32) -> Result<Server> {
    let server = launch.start()?;
    table(&server)?;
    server.connect()?.query_drop(format!(
        "SET GLOBAL rpl_semi_sync_master_timeout = {timeout_ms}; SET GLOBAL rpl_semi_sync_source_enabled = ON"
    ))?;
    Ok(server)
}

fn count(server: &Server) -> Result<u64> {
    server.connect()?.query_first("SELECT COUNT(*) FROM d.t")?.context("a count")
}

#[test]
fn a_commit_is_seen_and_acknowledged_when_a_replica_has_it() -> Result<()> {
    for protocol in CommitProtocol::ALL.into_iter().filter(|protocol| protocol.has_binlog()) {
        let scratch = tempfile::tempdir()?;
        let launch = Launch::new(scratch.path().join("source")).protocol(protocol);
        let server = source(launch, 60_000).with_context(|| format!("{protocol}"))?;
        let mut acker = Acker::attach(&server, 7)?;
        let done = AtomicBool::new(false);
        thread::scope(|scope| -> Result<()> {
            let commit = scope.spawn(|| -> Result<()> {
                server.connect()?.query_drop("INSERT INTO d.t VALUES (1)")?;
                done.store(true, Ordering::SeqCst);
                Ok(())
            });
            let (file, position) = acker.asked()?;
            ensure!(count(&server)? == 0, "{protocol}: it is seen before a replica has it");
            ensure!(!done.load(Ordering::SeqCst), "{protocol}: it was acknowledged to the client");
            ensure!(counter(&server, "wait_sessions")? == "1", "{protocol}");
            // What came before does not count, however often.
            acker.acknowledge(&file, position - 1)?;
            acker.acknowledge(&file, position - 1)?;
            wait_until("acknowledgements arrive", || Ok(counter(&server, "get_ack")? == "2"))?;
            ensure!(!done.load(Ordering::SeqCst), "{protocol}: it was not acknowledged yet");
            acker.acknowledge(&file, position)?;
            commit.join().expect("no panic")
        })?;
        ensure!(count(&server)? == 1, "{protocol}");
        ensure!(counter(&server, "yes_tx")? == "1" && counter(&server, "no_tx")? == "0", "{protocol}");
        drop(acker);
        server.connect()?.query_drop("SET GLOBAL rpl_semi_sync_source_enabled = OFF")?;
        server.stop()?;
    }
    Ok(())
}

#[test]
fn one_acknowledgement_serves_all_who_wait() -> Result<()> {
    const SESSIONS: u64 = 16;
    let scratch = tempfile::tempdir()?;
    let server = source(Launch::new(scratch.path().join("source")), 60_000)?;
    let mut acker = Acker::attach(&server, 7)?;
    thread::scope(|scope| -> Result<()> {
        let commit = |id: u64| {
            let server = &server;
            scope.spawn(move || Ok(server.connect()?.query_drop(format!("INSERT INTO d.t VALUES ({id})"))?))
        };
        let first = commit(0);
        let (file, position) = acker.asked()?;
        let others: Vec<_> = (1..=SESSIONS).map(commit).collect();
        let others_wait = |server: &Server| -> Result<bool> {
            let rows: Vec<mysql::Row> = server.connect()?.query("SHOW PROCESSLIST")?;
            let state = |row: &mysql::Row| row.get::<Option<String>, _>("State").flatten().unwrap_or_default();
            Ok(rows.iter().filter(|row| state(row) == "waiting for handler commit").count() as u64 > SESSIONS)
        };
        wait_until("all commits wait", || others_wait(&server))?;
        acker.acknowledge(&file, position)?;
        scope.spawn(move || {
            // Until the connection ends.
            while let Ok((file, position)) = acker.asked() {
                let _ = acker.acknowledge(&file, position);
            }
        });
        first.join().expect("no panic")?;
        others.into_iter().try_for_each(|other| -> Result<()> { other.join().expect("no panic") })?;
        ensure!(counter(&server, "no_times")? == "0");
        let requests: u64 = counter(&server, "request_ack")?.parse()?;
        // Commits wait for the local write in the same state: how many cohorts they make is the machine's.
        ensure!(requests <= SESSIONS * 3 / 4, "{requests} acknowledgements for {} commits", SESSIONS + 1);
        ensure!(counter(&server, "yes_tx")? == (SESSIONS + 1).to_string());
        server.connect()?.query_drop("SET GLOBAL rpl_semi_sync_source_enabled = OFF")?;
        let dump: Vec<mysql::Row> = server.connect()?.query("SHOW PROCESSLIST")?;
        let dump = dump.iter().find(|row| row.get::<String, _>("Command").as_deref() == Some("Binlog Dump"));
        let id: u64 = dump.and_then(|row| row.get("Id")).context("the dump")?;
        Ok(server.connect()?.query_drop(format!("KILL {id}"))?)
    })?;
    server.stop().map(drop)
}

#[test]
fn without_an_acknowledgement_commits_go_on_after_the_timeout() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = source(Launch::new(scratch.path().join("source")), 300)?;
    let mut acker = Acker::attach(&server, 7)?;
    let mut conn = server.connect()?;
    conn.query_drop("INSERT INTO d.t VALUES (1)")?;
    ensure!(counter(&server, "status")? == "OFF" && counter(&server, "no_times")? == "1");
    conn.query_drop("SET GLOBAL rpl_semi_sync_source_timeout = 60000")?;
    conn.query_drop("INSERT INTO d.t VALUES (2)")?;
    ensure!(counter(&server, "no_tx")? == "2");
    // The first one is late and not enough; the second one shows that the replica has everything.
    let (file, first) = acker.asked()?;
    let (_, second) = acker.asked()?;
    acker.acknowledge(&file, first - 1)?;
    acker.acknowledge(&file, second)?;
    wait_until("it is on again", || Ok(counter(&server, "status")? == "ON"))?;
    // A replica that goes with an acknowledgement outstanding: whoever waits goes on if that is set.
    conn.query_drop("SET GLOBAL rpl_semi_sync_master_wait_no_slave = OFF")?;
    thread::scope(|scope| -> Result<()> {
        let commit = scope.spawn(|| server.connect()?.query_drop("INSERT INTO d.t VALUES (3)").context("commit"));
        acker.asked()?;
        drop(acker);
        commit.join().expect("no panic")
    })?;
    ensure!(counter(&server, "status")? == "OFF" && counter(&server, "clients")? == "0");
    conn.query_drop("INSERT INTO d.t VALUES (4)")?;
    ensure!(count(&server)? == 4);
    server.stop().map(drop)
}

#[test]
fn a_stop_does_not_wait_for_a_replica_that_does_not_answer() -> Result<()> {
    for protocol in [CommitProtocol::Journal, CommitProtocol::Mysql57] {
        let scratch = tempfile::tempdir()?;
        let launch = Launch::new(scratch.path().join("source")).protocol(protocol);
        // Longer than any test.
        let server = source(launch, 1_000_000_000)?;
        let mut acker = Acker::attach(&server, 7)?;
        let mut conn = server.connect()?;
        let commit = thread::spawn(move || conn.query_drop("INSERT INTO d.t VALUES (1)"));
        acker.asked()?;
        let launch = server.stop()?;
        // The client may have got its OK before the connection was closed, or not.
        let _ = commit.join().expect("no panic");
        let log = std::fs::read_to_string(launch.log_file())?;
        ensure!(log.contains("replicas have not acknowledged: the server stops"), "{protocol}: {log}");
        ensure!(!log.contains("the next start must recover"), "{protocol}: {log}");
        let server = launch.start()?;
        ensure!(count(&server)? == 1, "{protocol}");
        server.stop()?;
    }
    Ok(())
}

#[test]
fn who_acknowledges_what_it_cannot_have_is_cut_off() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = source(Launch::new(scratch.path().join("source")), 60_000)?;
    let (file, _) = status(&server)?;
    type Lie<'a> = &'a dyn Fn(&mut Acker, u32) -> Result<()>;
    let lies: [Lie<'_>; 4] = [
        &|acker, position| acker.acknowledge(&file, position + 1),
        &|acker, position| acker.acknowledge("binlog.999999", position),
        &|acker, _| acker.reader.0.send(0, &[0xef, 1]),
        &|acker, _| acker.reader.0.send(5, b"garbage"),
    ];
    for (number, lie) in lies.iter().enumerate() {
        let mut acker = Acker::attach(&server, 7)?;
        thread::scope(|scope| -> Result<()> {
            let insert = format!("INSERT INTO d.t VALUES ({number})");
            let commit = scope.spawn(|| server.connect()?.query_drop(insert).context("commit"));
            let (_, position) = acker.asked()?;
            lie(&mut acker, position)?;
            wait_until("it is cut off", || Ok(counter(&server, "clients")? == "0"))?;
            ensure!(!commit.is_finished(), "lie {number} was believed");
            // An honest one comes: what the other one had not acknowledged is sent to it.
            let mut honest = Acker::attach_at(&server, "@rpl_semi_sync_replica", (file.clone(), 4), 8)?;
            let (name, position) = honest.asked()?;
            honest.acknowledge(&name, position)?;
            commit.join().expect("no panic")
        })?;
    }
    ensure!(counter(&server, "yes_tx")? == "4" && counter(&server, "no_times")? == "0");
    server.connect()?.query_drop("SET GLOBAL rpl_semi_sync_source_enabled = OFF")?;
    server.stop().map(drop)
}

/// The source is killed under load; what was acknowledged to clients is on the replica then, which could be promoted.
#[test]
fn no_acknowledged_transaction_is_missing_on_the_replica_when_the_source_crashes() -> Result<()> {
    if MariaDb::installed().is_none() {
        println!("NOT RUN: mariadb-server is not installed");
        return Ok(());
    }
    let rounds: u64 = std::env::var("COHORT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let scratch = tempfile::tempdir()?;
    let options = ["--rpl-semi-sync-source-enabled=ON", "--rpl-semi-sync-source-timeout=60000"];
    let launch =
        options.iter().fold(Launch::new(scratch.path().join("source")), |launch, option| launch.option(*option));
    let mut server = launch.clone().option("--rpl-semi-sync-source-enabled=OFF").start()?;
    let replica = Replica::start_with(&scratch.path().join("replica"), &["--rpl-semi-sync-slave-enabled=ON"])?;
    let (file, begin) = status(&server)?;
    replica.follow(&server, &file, begin.into())?;
    table(&server)?;
    replica.catch_up(&server)?;
    server.connect()?.query_drop("SET GLOBAL rpl_semi_sync_source_enabled = ON")?;
    let acknowledged = Mutex::new(Vec::new());
    let next = AtomicU64::new(0);
    for round in 0..rounds {
        wait_until("the replica acknowledges", || Ok(counter(&server, "clients")? == "1"))?;
        let before = acknowledged.lock().expect("no panic").len();
        let options = server.options();
        thread::scope(|scope| -> Result<()> {
            for _ in 0..4 {
                scope.spawn(|| {
                    let Ok(mut conn) = mysql::Conn::new(options.clone()) else { return };
                    loop {
                        let id = next.fetch_add(1, Ordering::Relaxed);
                        if conn.query_drop(format!("INSERT INTO d.t VALUES ({id})")).is_err() {
                            return;
                        }
                        acknowledged.lock().expect("no panic").push(id);
                    }
                });
            }
            let deadline = Instant::now() + Duration::from_secs(60);
            while acknowledged.lock().expect("no panic").len() < before + 50 {
                ensure!(Instant::now() < deadline, "round {round}: no commits");
                thread::yield_now();
            }
            server.signal_kill()
        })?;
        server.wait_until_dead()?;
        replica.apply_what_came()?;
        let there: Vec<u64> = replica.connect()?.query("SELECT id FROM d.t")?;
        let there: std::collections::HashSet<u64> = there.into_iter().collect();
        let acknowledged = acknowledged.lock().expect("no panic");
        let missing: Vec<_> = acknowledged.iter().filter(|id| !there.contains(*id)).collect();
        ensure!(missing.is_empty(), "round {round}: acknowledged and not on the replica: {missing:?}");
        server = server.launch().clone().option("--rpl-semi-sync-source-enabled=ON").start()?;
        replica.follow_again(&server)?;
    }
    replica.catch_up(&server)?;
    let ours: u64 = count(&server)?;
    let theirs: Option<u64> = replica.connect()?.query_first("SELECT COUNT(*) FROM d.t")?;
    ensure!(Some(ours) == theirs && ours >= 50 * rounds, "{ours} rows here, {theirs:?} there");
    ensure!(counter(&server, "no_times")? == "0");
    println!("{rounds} crashes, {} acknowledged transactions", acknowledged.lock().expect("no panic").len());
    server.stop()?;
    replica.stop()
}
