//! `kill -9` under load, again and again on one data directory.
//!
//! After every restart: each acknowledged transaction is in the tables and in the binlog, none is
//! half there, none is doubled or invented, sums hold, and indexes agree with their tables. The tables
//! are in two engines, and most transactions write both. At the end the binlog is applied to an empty
//! MariaDB by the tools an operator would use.
//!
//! Outline: [`load`] runs transactions and remembers what became of each; [`check`] looks for them.
//! `COHORT_SEED` replays the choices, `COHORT_ROUNDS` sets the number of kills.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::check::{self, Checker};
use cohort_blackbox::load::{self, Faults, History, rounds};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::server::binary;
use cohort_blackbox::{Launch, Server, tool};
use cohort_txn::CommitProtocol;
use mysql::prelude::Queryable;

const WORKERS: u64 = 8;

#[test]
fn every_acknowledged_transaction_survives_kill_9() -> Result<()> {
    for kills in legs(rounds(20), 25) {
        let folder = tempfile::tempdir()?;
        // Small files and layers: the load crosses several of them, and kills hit rotations and writes of
        // either engine as well. Transactions of a few kilobytes are large ones.
        let launch = small_files(&folder.path().join("data"))
            .option("--redb-layer-size=131072")
            .option("--binlog-cache-size=4096");
        let mut run = Run::start(launch)?;
        run.kill_again_and_again(kills)?;
        check::binlog_rebuilds_the_tables_elsewhere(&run.server, folder.path())?;
        run.stop()?;
    }
    Ok(())
}

/// Every protocol that keeps binlog and engines together, one after the other on the same directory: each
/// recovery after a kill is that of the protocol that wrote the logs, though the next one is asked for. Transactions have
/// GTIDs or none, whatever those before them had.
#[test]
fn every_acknowledged_transaction_survives_kill_9_under_any_protocol() -> Result<()> {
    for kills in legs(rounds(1), 3) {
        let folder = tempfile::tempdir()?;
        let datadir = folder.path().join("data");
        let mut modes = ["OFF", "OFF", "ON"].iter().cycle();
        let mut under = |protocol| {
            let mode = modes.next().expect("without end");
            small_files(&datadir).protocol(protocol).option(format!("--gtid-mode={mode}"))
        };
        let mut wrote = CommitProtocol::Journal;
        let mut run = Run::start(under(wrote))?;
        for next in relay() {
            println!("under {wrote}:");
            run.kill_again_and_again(kills)?;
            let before = run.history.acknowledged();
            run = run.killed_and_restarted(under(next))?;
            let report: serde_json::Value =
                serde_json::from_str(&std::fs::read_to_string(datadir.join("recovery.json"))?)?;
            assert_eq!(report["protocol"], wrote.to_string(), "{report}");
            // The one reads it off its file; the other finds what the last load left, where that came to anything.
            let was_killed = match wrote {
                CommitProtocol::Journal => report["records"].as_u64() > Some(0) || run.history.acknowledged() == before,
                _ => report["clean_stop"] == false,
            };
            assert!(was_killed && report["cut_by_operator"] == false, "{report}");
            wrote = next;
        }
        run.kill_again_and_again(kills)?;
        check::binlog_rebuilds_the_tables_elsewhere(&run.server, folder.path())?;
        run.stop()?;
    }
    Ok(())
}

/// Every protocol that keeps binlog and engines together, and the journal between them.
fn relay() -> Vec<CommitProtocol> {
    let consistent = CommitProtocol::ALL.into_iter().filter(|protocol| protocol.prepares() && protocol.has_binlog());
    let consistent: Vec<_> = consistent.collect();
    consistent.chunks(3).flat_map(|some| some.iter().copied().chain([CommitProtocol::Journal])).collect()
}

/// `total` rounds, of which at most `most` are run on one directory: what is checked grows with every round.
fn legs(total: u64, most: u64) -> impl Iterator<Item = u64> {
    (0..total).step_by(most as usize).map(move |begun| most.min(total - begun))
}

fn small_files(datadir: &Path) -> Launch {
    Launch::new(datadir).option("--max-binlog-size=1048576").option("--write-buffer-size=1048576")
}

/// A server under load, and what it has acknowledged.
struct Run {
    server: Server,
    history: History,
    checker: Checker,
    seed: u64,
    rng: Rng,
    round: u64,
}

impl Run {
    fn start(launch: Launch) -> Result<Run> {
        let server = launch.start()?;
        load::create_tables(&mut server.connect()?)?;
        let seed = rng::seed();
        let (history, checker) = (History::default(), Checker::default());
        Ok(Run { server, history, checker, seed, rng: Rng::new(seed), round: 0 })
    }

    /// Kills the server under its load and checks what it has when it is back, `rounds` times.
    fn kill_again_and_again(&mut self, rounds: u64) -> Result<()> {
        for _ in 0..rounds {
            let pause = Duration::from_millis(50 + self.rng.below(600));
            self.run_and_kill(pause)?;
            let mut launch = self.server.launch().clone();
            if self.rng.chance(30) {
                launch = kill_while_it_recovers(&launch, Duration::from_millis(self.rng.below(300)))?;
            }
            self.server = launch.start()?;
            let found = self.checker.check(&self.server, &mut self.history)?;
            println!("round {}: killed after {pause:?}; {found}", self.round);
        }
        Ok(())
    }

    /// Stops the server after a run that was one: on a busy machine a few kills may come before the first commit.
    fn stop(self) -> Result<()> {
        assert!(self.round < 5 || self.history.acknowledged() > self.round, "the load did next to nothing");
        is_sound(self.server.stop()?.datadir())
    }

    /// The same after one more kill, started as `launch` says.
    fn killed_and_restarted(mut self, launch: Launch) -> Result<Run> {
        self.run_and_kill(Duration::from_millis(200))?;
        self.server = launch.start()?;
        self.checker.check(&self.server, &mut self.history)?;
        Ok(self)
    }

    /// Runs the load until the server is killed under it.
    fn run_and_kill(&mut self, pause: Duration) -> Result<()> {
        let load = load::Round { seed: self.seed, number: self.round, workers: WORKERS, faults: Faults::None };
        let options = self.server.options();
        load.run(&options, &mut self.history, || {
            thread::sleep(pause);
            self.server.signal_kill()
        })?;
        self.round += 1;
        self.server.wait_until_dead()
    }
}

/// Rows and index entries of a data directory that no server uses agree.
fn is_sound(datadir: &Path) -> Result<()> {
    tool(&binary()?.display().to_string(), [Path::new("check"), datadir])?.success().map(drop)
}

/// Starts the server and kills it `pause` later.
fn kill_while_it_recovers(launch: &Launch, pause: Duration) -> Result<Launch> {
    let recovering = launch.spawn()?;
    thread::sleep(pause);
    recovering.kill()
}

#[test]
fn a_second_kill_right_after_recovery_loses_nothing() -> Result<()> {
    kill_twice_after_each_commit(|launch| launch)
}

/// What the operating system has, no kill takes, and a commit is acknowledged when it has that.
#[test]
fn a_kill_loses_nothing_that_was_left_unsynced() -> Result<()> {
    for options in [&["--commit-protocol=journal"][..], &["--commit-protocol=mysql50", "--support-xa=0"]] {
        kill_twice_after_each_commit(|launch| {
            let launch = launch.option("--sync-binlog=0").option("--innodb-flush-log-at-trx-commit=2");
            options.iter().fold(launch, |launch, option| launch.option(*option))
        })?;
    }
    Ok(())
}

fn kill_twice_after_each_commit(under: impl Fn(Launch) -> Launch) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = under(Launch::new(folder.path().join("data"))).start()?;
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

/// How a client learns of a row: an answer about it, or none while the row is not there. The transaction stays open.
type Learn = fn(&mut mysql::Conn, u64) -> Result<bool>;

/// A commit that waits for others to share its write has let its locks go: what they then learn of its rows, they learn
/// when these are durable.
#[test]
fn what_rests_on_a_version_in_flight_is_answered_when_that_is_durable() -> Result<()> {
    const ROW: &str = "INSERT INTO notes VALUES (?, REPEAT('x', 40000), 1)";
    fn is_duplicate(outcome: mysql::Result<()>) -> Result<bool> {
        match outcome {
            Err(mysql::Error::MySqlError(error)) if error.code == 1062 => Ok(true),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(false),
        }
    }
    let ways: [(&str, Learn); 7] = [
        ("a duplicate in a transaction", |conn, id| is_duplicate(conn.exec_drop(ROW, (id,)))),
        ("a duplicate as text", |conn, id| {
            is_duplicate(conn.query_drop(format!("INSERT INTO notes VALUES ({id}, '', 2)")))
        }),
        ("a row, locked", |conn, id| {
            let row: Option<u64> = conn.exec_first("SELECT id FROM notes WHERE id = ? FOR UPDATE", (id,))?;
            Ok(row.is_some())
        }),
        ("a large row, locked", |conn, id| {
            let row: Option<String> = conn.exec_first("SELECT body FROM notes WHERE id = ? FOR SHARE", (id,))?;
            Ok(row.is_some())
        }),
        ("affected rows of DELETE", |conn, id| {
            conn.exec_drop("DELETE FROM notes WHERE id = ?", (id,))?;
            Ok(conn.affected_rows() == 1)
        }),
        ("affected rows of UPDATE", |conn, id| {
            conn.exec_drop("UPDATE notes SET changes = changes + 1 WHERE id = ?", (id,))?;
            Ok(conn.affected_rows() == 1)
        }),
        ("the second of two statements", |conn, id| {
            let mut results = conn.query_iter(format!("SET @a = 1; DELETE FROM notes WHERE id = {id}"))?;
            let mut affected = 0;
            while let Some(result) = results.iter() {
                affected = result.affected_rows();
            }
            Ok(affected == 1)
        }),
    ];
    let folder = tempfile::tempdir()?;
    let mut server = Launch::new(folder.path()).start()?;
    let mut admin = server.connect()?;
    admin.query_drop("CREATE DATABASE d")?;
    admin.query_drop("CREATE TABLE d.notes (id INT PRIMARY KEY, body TEXT, changes INT NOT NULL)")?;
    // No commit is durable sooner than a second after its locks went.
    admin.query_drop("SET GLOBAL binlog_group_commit_sync_delay = 1000000")?;
    for (id, (how, learn)) in (1..).zip(ways) {
        let learnt = learn_of_an_insert(&server, ROW, id, learn);
        learnt.with_context(|| how.to_owned())?;
        let seen: u64 =
            server.connect_to("d")?.exec_first("SELECT COUNT(*) FROM notes WHERE id = ?", (id,))?.unwrap_or(0);
        assert_eq!(seen, 1, "{how}: answered before a plain read could see it");
    }
    let (how, learn) = ways[0];
    learn_of_an_insert(&server, ROW, 100, learn)?;
    server = server.kill_and_restart()?;
    let seen: u64 = server.connect_to("d")?.query_first("SELECT COUNT(*) FROM notes WHERE id = 100")?.unwrap_or(0);
    assert_eq!(seen, 1, "{how}: answered, and gone after a kill");
    server.stop()?;
    Ok(())
}

/// One connection inserts the row `id` by itself; returns when another one has learnt of it. Both are closed then.
fn learn_of_an_insert(server: &Server, insert: &'static str, id: u64, learn: Learn) -> Result<()> {
    let mut writer = server.connect_to("d")?;
    let mut learner = server.connect_to("d")?;
    let begun = Instant::now();
    // The writer may end with its server.
    thread::spawn(move || drop(writer.exec_drop(insert, (id,))));
    loop {
        learner.query_drop("BEGIN")?;
        if learn(&mut learner, id)? {
            return Ok(());
        }
        learner.query_drop("ROLLBACK")?;
        ensure!(begun.elapsed() < Duration::from_secs(60), "nobody learns of row {id}");
    }
}
