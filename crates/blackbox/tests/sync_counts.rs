//! The server's sync counters against the kernel's view of the same process, log by log, under each protocol.

use std::ops::Sub;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::strace::{self, Sync};
use cohort_blackbox::{Launch, Server, wait_until};
use cohort_txn::CommitProtocol;
use mysql::Conn;
use mysql::prelude::Queryable;

/// Syncs of each log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    engine: u64,
    /// redb, whose tree is its log.
    second_engine: u64,
    coordinator: u64,
    binlog: u64,
    journal: u64,
    /// New segments and checkpoints of the journal.
    upkeep: u64,
}

impl Counts {
    fn reported(conn: &mut Conn) -> Result<Counts> {
        let rows: Vec<(String, String)> = conn.query("SHOW GLOBAL STATUS LIKE '%syncs'")?;
        let of = |name: &str| rows.iter().find(|(row, _)| row == name).map_or(Ok(0), |(_, value)| value.parse());
        Ok(Counts {
            engine: of("RocksDB_log_syncs")?,
            second_engine: of("redb_log_syncs")?,
            coordinator: of("Coordinator_log_syncs")?,
            binlog: of("Binlog_file_syncs")?,
            journal: of("Journal_syncs")?,
            upkeep: of("Journal_upkeep_syncs")?,
        })
    }

    /// What the kernel saw of the syncs that `counts`; syncs of the journal are all in `journal`.
    fn seen(syncs: &[Sync], datadir: &Path, counts: impl Fn(&Sync) -> bool) -> Counts {
        let count = |of: &dyn Fn(&str) -> bool| {
            let ours = |sync: &&Sync| sync.path.strip_prefix(&format!("{}/", datadir.display())).is_some_and(of);
            syncs.iter().filter(|sync| counts(sync)).filter(ours).count() as u64
        };
        Counts {
            engine: count(&|path| path.starts_with("rocksdb/") && path.ends_with(".log")),
            second_engine: count(&|path| path == "redb/rows.redb"),
            coordinator: count(&|path| path == "tc.log"),
            binlog: count(&|path| path.starts_with("binlog.")),
            // The directory too.
            journal: count(&|path| path == "journal" || path.starts_with("journal/")),
            upkeep: 0,
        }
    }
}

impl Counts {
    fn lies_between(self, least: Counts, most: Counts) -> bool {
        let logs = |of: Counts| [of.engine, of.second_engine, of.coordinator, of.binlog, of.journal, of.upkeep];
        logs(least)
            .iter()
            .zip(logs(self))
            .zip(logs(most))
            .all(|((least, reported), most)| *least <= reported && reported <= most)
    }
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, other: Counts) -> Counts {
        Counts {
            engine: self.engine - other.engine,
            second_engine: self.second_engine - other.second_engine,
            coordinator: self.coordinator - other.coordinator,
            binlog: self.binlog - other.binlog,
            journal: self.journal - other.journal,
            upkeep: self.upkeep - other.upkeep,
        }
    }
}

fn now_s() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}

/// The counters while they stand still, and since and until when: what had ended before is counted, what begins after
/// is not.
fn at_rest(conn: &mut Conn) -> Result<([f64; 2], Counts)> {
    let mut rest = None;
    wait_until("counters that stand still", || {
        let (from, counts) = (now_s()?, Counts::reported(conn)?);
        thread::sleep(Duration::from_millis(400));
        rest = (Counts::reported(conn)? == counts).then_some(([from, now_s()?], counts));
        Ok(rest.is_some())
    })?;
    rest.context("what was waited for")
}

/// Each commit writes a table of each engine.
fn insert(server: &Server, clients: u64, commits: u64) -> Result<()> {
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let mut conn = server.connect()?;
            Ok(thread::spawn(move || -> mysql::Result<()> {
                (0..commits).try_for_each(|v| {
                    conn.query_drop("BEGIN")?;
                    conn.query_drop(format!("INSERT INTO d.t (v) VALUES ({v})"))?;
                    conn.query_drop(format!("INSERT INTO d.u (v) VALUES ({v})"))?;
                    conn.query_drop("COMMIT")
                })
            }))
        })
        .collect::<Result<_>>()?;
    for thread in threads {
        thread.join().expect("a client panicked")?;
    }
    Ok(())
}

const CLIENTS: u64 = 6;
const COMMITS: u64 = 30;

/// Runs a load under strace, holds the counters against it, and returns what it cost alone and with others.
fn counted(choose: impl FnOnce(Launch) -> Launch) -> Result<[Counts; 2]> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace");
    let server = choose(Launch::new(folder.path().join("data")).traced(&trace)).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE=RocksDB")?;
    conn.query_drop("CREATE TABLE d.u (id INT AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE=redb")?;
    let (from, before) = at_rest(&mut conn)?;
    insert(&server, 1, COMMITS)?;
    let alone = Counts::reported(&mut conn)?;
    // Leaders that may, wait for a second member: how groups form is not the processors' affair then.
    conn.query_drop("SET GLOBAL binlog_group_commit_sync_no_delay_count = 2")?;
    conn.query_drop("SET GLOBAL binlog_group_commit_sync_delay = 20000")?;
    insert(&server, CLIENTS, COMMITS)?;
    let (to, after) = at_rest(&mut conn)?;

    let (pid, datadir) = (server.pid(), server.datadir().to_owned());
    server.stop()?;
    let reported = after - before;
    let syncs = strace::read(&trace, pid)?;
    // One that was under way while the counters were read may be in them or not.
    let least = Counts::seen(&syncs, &datadir, |sync| sync.begun >= from[1] && sync.ended <= to[0]);
    let most = Counts::seen(&syncs, &datadir, |sync| sync.ended >= from[0] && sync.begun <= to[1]);
    let reported_like_seen = Counts { journal: reported.journal + reported.upkeep, upkeep: 0, ..reported };
    ensure!(
        reported_like_seen.lies_between(least, most),
        "the kernel counts between {least:?} and {most:?}, the server {reported:?}"
    );
    Ok([alone - before, after - alone])
}

/// How often the background may flush commit records for which a pause of the machine left more than a second.
const AFTER_PAUSES: u64 = 3;

fn is_about(engine: u64, expected: u64) -> bool {
    (expected..=expected + AFTER_PAUSES).contains(&engine)
}

/// Syncs for each commit of a lone client, and what clients share that commit at a time.
struct Expected {
    engine: u64,
    binlog: u64,
    shared: Shared,
}

/// Which syncs clients share.
enum Shared {
    Nothing,
    /// The binlog is written one by one, the engine's commit records are not.
    Engine,
    Binlog,
}

/// `None` for those whose other logs have tests of their own.
fn expected(protocol: CommitProtocol) -> Option<Expected> {
    let (engine, binlog, shared) = match protocol {
        CommitProtocol::Mysql41 => (1, 1, Shared::Engine),
        CommitProtocol::Mysql50 { support_xa: true } => (2, 1, Shared::Nothing),
        CommitProtocol::Mysql50 { support_xa: false } => (1, 1, Shared::Nothing),
        CommitProtocol::Plugin104 => (2, 1, Shared::Engine),
        CommitProtocol::Mysql56 | CommitProtocol::Mysql57 => (1, 1, Shared::Binlog),
        CommitProtocol::MariadbNaive | CommitProtocol::Mariadb { commit_flush: true } => (2, 1, Shared::Binlog),
        CommitProtocol::Mariadb { commit_flush: false } => (1, 1, Shared::Binlog),
        CommitProtocol::Journal | CommitProtocol::TcMmap => return None,
    };
    Some(Expected { engine, binlog, shared })
}

/// Counts under one protocol with these other settings.
fn assert_counts(protocol: CommitProtocol, settings: impl FnOnce(Launch) -> Launch, expected: &Expected) -> Result<()> {
    let counted = counted(|launch| settings(launch.protocol(protocol)));
    let [alone, together] = counted.with_context(|| protocol.to_string())?;
    assert!(is_about(alone.engine, expected.engine * COMMITS), "{protocol}: {alone:?}");
    assert_eq!(alone.binlog, expected.binlog * COMMITS, "{protocol}");
    let commits = CLIENTS * COMMITS;
    match expected.shared {
        Shared::Binlog => assert!(together.binlog < expected.binlog * commits, "{protocol}: {together:?}"),
        Shared::Engine => assert_eq!(together.binlog, expected.binlog * commits, "{protocol}"),
        // Broken group commit: the same for every commit, however many there are.
        Shared::Nothing => {
            assert!(is_about(together.engine, expected.engine * commits), "{protocol}: {together:?}");
            assert_eq!(together.binlog, expected.binlog * commits, "{protocol}");
        }
    }
    Ok(())
}

#[test]
fn sync_counts_equal_strace_under_every_protocol() -> Result<()> {
    for protocol in CommitProtocol::ALL {
        if let Some(expected) = expected(protocol) {
            assert_counts(protocol, |launch| launch, &expected)?;
        }
    }
    let unsynced = Expected { engine: 2, binlog: 0, shared: Shared::Nothing };
    let mysql50 = CommitProtocol::Mysql50 { support_xa: true };
    assert_counts(mysql50, |launch| launch.option("--sync-binlog=0"), &unsynced)
}

/// Prepare, commit record: two flushes of each engine, which are two syncs each of a tree; tc.log between them.
#[test]
fn a_coordinator_log_is_synced_between_two_flushes_of_each_engine() -> Result<()> {
    let [alone, together] = counted(|launch| launch.protocol(CommitProtocol::TcMmap))?;
    assert!(is_about(alone.engine, 2 * COMMITS) && is_about(alone.second_engine, 4 * COMMITS), "{alone:?}");
    assert_eq!(alone.coordinator, COMMITS);
    assert_eq!((alone.binlog, together.binlog), (0, 0));
    Ok(())
}

/// Each setting with its meaning, counted.
#[test]
fn settings_say_how_often_which_log_is_synced() -> Result<()> {
    let [alone, _] = counted(|launch| launch.option("--commit-protocol=mysql56").option("--sync-binlog=3"))?;
    assert!(is_about(alone.engine, COMMITS) && alone.binlog == COMMITS / 3, "{alone:?}");
    // Once a second is less often than with every commit.
    let [alone, _] =
        counted(|launch| launch.option("--commit-protocol=mysql50").option("--flush-log-at-trx-commit=2"))?;
    assert_eq!(alone.binlog, COMMITS);
    assert!(alone.engine < COMMITS, "{alone:?}");
    // Without a binlog tc.log keeps the two engines together; flushes are shared by what comes together, which
    // on a busy machine is seldom.
    let shared = (0..10).any(|_| {
        let [alone, together] =
            counted(|launch| launch.option("--commit-protocol=mysql50").option("--skip-log-bin")).expect("counted");
        assert!(is_about(alone.engine, 2 * COMMITS) && alone.coordinator == COMMITS, "{alone:?}");
        assert_eq!((alone.binlog, together.binlog), (0, 0));
        together.engine < 2 * CLIENTS * COMMITS
    });
    assert!(shared, "no two commits ever shared a flush");
    let [alone, _] = counted(|launch| launch.option("--flush-log-at-trx-commit=2").option("--sync-binlog=3"))?;
    // And once a second.
    assert!((COMMITS / 3..COMMITS).contains(&alone.journal) && alone.binlog == 0, "{alone:?}");
    let [alone, _] = counted(|launch| launch.option("--skip-log-bin"))?;
    assert_eq!((alone.engine, alone.binlog, alone.journal), (0, 0, COMMITS));
    Ok(())
}

#[test]
fn the_journal_syncs_once_for_everyone() -> Result<()> {
    let [alone, together] = counted(|launch| launch)?;
    assert_eq!((alone.engine, alone.binlog, alone.journal), (0, 0, COMMITS));
    assert!(together.journal < CLIENTS * COMMITS, "{together:?}");
    Ok(())
}
