//! `kill -9` under load, again and again on one data directory.
//!
//! After every restart: each acknowledged transaction is in the tables and in the binlog, none is
//! half there, none is doubled or invented, sums hold, and indexes agree with their tables. The tables
//! are in two engines, and most transactions write both. At the end the binlog is applied to an empty
//! MariaDB by the tools an operator would use.
//!
//! Outline: [`load`] runs transactions and remembers what became of each; [`check`] looks for them.
//! `COHORT_SEED` replays the choices, `COHORT_ROUNDS` sets the number of kills.

mod check;
mod load;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;

use crate::check::Checker;
use crate::load::{History, Worker};

const WORKERS: u64 = 8;

#[test]
fn every_acknowledged_transaction_survives_kill_9() -> Result<()> {
    let seed = rng::seed();
    let rounds = std::env::var("COHORT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let folder = tempfile::tempdir()?;
    // Small files and layers: the load crosses several of them, and kills hit rotations and writes of
    // either engine as well.
    let launch = Launch::new(folder.path().join("data"))
        .option("--max-binlog-size=1048576")
        .option("--redb-layer-size=131072")
        .option("--write-buffer-size=1048576");

    let mut server = launch.start()?;
    load::create_tables(&mut server.connect()?)?;
    let mut history = History::default();
    let mut checker = Checker::default();
    let mut rng = Rng::new(seed);
    for round in 0..rounds {
        let pause = Duration::from_millis(50 + rng.below(600));
        server = run_and_kill(server, round, seed, pause, &mut history)?;
        if rng.chance(30) {
            server = kill_while_it_recovers(server, Duration::from_millis(rng.below(300)))?;
        }
        let found = checker.check(&server, &mut history)?;
        println!("round {round}: killed after {pause:?}; {found}");
    }
    assert!(history.acknowledged() > rounds, "the load did next to nothing");
    check::binlog_rebuilds_the_tables_elsewhere(&server, folder.path())?;
    server.stop()?;
    Ok(())
}

/// Runs the load until the server is killed under it, and starts the server again.
fn run_and_kill(mut server: Server, round: u64, seed: u64, pause: Duration, history: &mut History) -> Result<Server> {
    let stop = AtomicBool::new(false);
    let mut workers: Vec<Worker> = (0..WORKERS)
        .map(|number| Worker::new(number, round, Rng::stream(seed, round * WORKERS + number), history))
        .collect();
    let options = server.options();
    let results: Result<Vec<()>> = thread::scope(|scope| {
        let running: Vec<_> = workers
            .iter_mut()
            .map(|worker| {
                let (options, stop) = (options.clone(), &stop);
                scope.spawn(move || worker.run(options, stop))
            })
            .collect();
        thread::sleep(pause);
        let killed = server.signal_kill();
        stop.store(true, Ordering::Relaxed);
        let joined = running.into_iter().map(|thread| thread.join().expect("a worker panicked"));
        let outcome = joined.collect();
        killed.and(outcome)
    });
    results?;
    for worker in workers {
        history.absorb(worker);
    }
    server.kill_and_restart()
}

/// Kills the server, starts it, kills it again `pause` later, and starts it for good.
fn kill_while_it_recovers(server: Server, pause: Duration) -> Result<Server> {
    let recovering = server.kill()?.spawn()?;
    thread::sleep(pause);
    recovering.kill_and_restart()
}

#[test]
fn a_second_kill_right_after_recovery_loses_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    for id in 0..5 {
        let mut conn = server.connect_to("d")?;
        conn.query_drop(format!("INSERT INTO t VALUES ({id})"))?;
        server = server.kill_and_restart()?.kill_and_restart()?;
        let ids: Vec<i32> = server.connect_to("d")?.query("SELECT id FROM t ORDER BY id")?;
        assert_eq!(ids, (0..=id).collect::<Vec<_>>());
    }
    Ok(())
}
