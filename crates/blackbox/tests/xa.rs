//! XA transactions: prepared ones outlive their connection and the server, and the binlog has them as
//! other programs read them.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::load::is_lost;
use cohort_blackbox::replica::Replica;
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::server::binary;
use cohort_blackbox::{Launch, Server, tool, wait_until};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts};

const WORKERS: u64 = 6;

fn create_tables(conn: &mut Conn) -> Result<()> {
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.one (id BIGINT PRIMARY KEY) ENGINE=RocksDB")?;
    conn.query_drop("CREATE TABLE d.two (id BIGINT PRIMARY KEY) ENGINE=redb")?;
    Ok(())
}

fn files(server: &Server) -> Result<Vec<PathBuf>> {
    let rows: Vec<mysql::Row> = server.connect()?.query("SHOW BINARY LOGS")?;
    rows.iter().map(|row| Ok(server.datadir().join(row.get::<String, _>(0).context("no name")?))).collect()
}

fn refusal(result: mysql::Result<()>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("not refused: {other:?}"),
    }
}

fn ids(conn: &mut Conn, table: &str) -> Result<BTreeSet<u64>> {
    Ok(conn.query::<u64, _>(format!("SELECT id FROM d.{table}"))?.into_iter().collect())
}

/// The prepared transactions, whose names are numbers.
fn prepared(conn: &mut Conn) -> Result<BTreeSet<u64>> {
    let rows: Vec<(i64, i64, i64, String)> = conn.query("XA RECOVER")?;
    rows.into_iter().map(|(.., data)| Ok(data.parse()?)).collect()
}

/// A prepared transaction with a row in each engine.
fn prepare(conn: &mut Conn, id: u64) -> mysql::Result<()> {
    conn.query_drop(format!("XA START '{id}'"))?;
    conn.query_drop(format!("INSERT INTO d.one VALUES ({id})"))?;
    conn.query_drop(format!("INSERT INTO d.two VALUES ({id})"))?;
    conn.query_drop(format!("XA END '{id}'"))?;
    conn.query_drop(format!("XA PREPARE '{id}'"))
}

#[test]
fn a_prepared_transaction_outlives_connection_and_server_with_its_locks() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = Launch::new(folder.path().join("data")).start()?;
    create_tables(&mut server.connect()?)?;
    prepare(&mut server.connect()?, 7)?;
    for restart in ["none", "clean", "kill -9"] {
        server = match restart {
            "none" => server,
            "clean" => server.stop()?.start()?,
            _ => server.kill_and_restart()?,
        };
        let mut conn = server.connect()?;
        assert_eq!(prepared(&mut conn)?, BTreeSet::from([7]), "{restart}");
        conn.query_drop("SET SESSION innodb_lock_wait_timeout = 1")?;
        for table in ["one", "two"] {
            assert!(ids(&mut conn, table)?.is_empty(), "{restart}: it is not committed");
            assert_eq!(refusal(conn.query_drop(format!("INSERT INTO d.{table} VALUES (7)"))), 1205, "{restart}");
        }
        assert_eq!(refusal(conn.query_drop("XA START '7'")), 1440, "{restart}");
    }
    let mut conn = server.connect()?;
    conn.query_drop("XA COMMIT '7'")?;
    assert_eq!(refusal(conn.query_drop("XA COMMIT '7'")), 1397);
    server = server.kill_and_restart()?;
    let mut conn = server.connect()?;
    assert!(prepared(&mut conn)?.is_empty());
    assert_eq!((ids(&mut conn, "one")?, ids(&mut conn, "two")?), (BTreeSet::from([7]), BTreeSet::from([7])));
    server.stop()?;
    Ok(())
}

#[test]
fn what_is_not_prepared_goes_with_its_connection() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    create_tables(&mut conn)?;
    for last in ["", "XA END 'gone'"] {
        let mut gone = server.connect()?;
        gone.query_drop("XA START 'gone'")?;
        gone.query_drop("INSERT INTO d.one VALUES (1)")?;
        if !last.is_empty() {
            gone.query_drop(last)?;
        }
        assert_eq!(refusal(conn.query_drop("XA START 'gone'")), 1440);
        drop(gone);
        // The lock is given once the connection's end is noticed; name and lock go together.
        conn.query_drop("INSERT INTO d.one VALUES (1)")?;
        conn.query_drop("DELETE FROM d.one")?;
        conn.query_drop("XA START 'gone'")?;
        conn.query_drop("XA END 'gone'")?;
        conn.query_drop("XA ROLLBACK 'gone'")?;
        assert!(prepared(&mut conn)?.is_empty());
    }
    Ok(())
}

/// Ids that a prepared transaction has taken are not given again after a restart.
#[test]
fn counters_pass_the_rows_of_prepared_transactions() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.counted (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")?;
    conn.query_drop("CREATE TABLE d.heap (v INT)")?;
    conn.query_drop("XA START 'x'")?;
    conn.query_drop("INSERT INTO d.counted (v) VALUES (1), (2)")?;
    conn.query_drop("INSERT INTO d.heap VALUES (1), (2)")?;
    conn.query_drop("XA END 'x'")?;
    conn.query_drop("XA PREPARE 'x'")?;
    let server = server.kill_and_restart()?;
    let mut conn = server.connect()?;
    conn.query_drop("INSERT INTO d.counted (v) VALUES (3)")?;
    conn.query_drop("INSERT INTO d.heap VALUES (3)")?;
    conn.query_drop("XA COMMIT 'x'")?;
    let counted: Vec<(i32, i32)> = conn.query("SELECT id, v FROM d.counted ORDER BY id")?;
    assert_eq!(counted, [(1, 1), (2, 2), (3, 3)]);
    let heap: Vec<i32> = conn.query("SELECT v FROM d.heap ORDER BY v")?;
    assert_eq!(heap, [1, 2, 3]);
    Ok(())
}

#[test]
fn the_binlog_has_what_mysql_writes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    create_tables(&mut conn)?;
    prepare(&mut conn, 1)?;
    prepare(&mut conn, 2)?;
    conn.query_drop("XA COMMIT '2'")?;
    conn.query_drop("XA ROLLBACK '1'")?;
    conn.query_drop("XA START X'00ff', 'b', 3")?;
    conn.query_drop("INSERT INTO d.one VALUES (3)")?;
    conn.query_drop("XA END X'00ff', 'b', 3")?;
    conn.query_drop("XA COMMIT X'00ff', 'b', 3 ONE PHASE")?;

    let mut copy = Replica::default();
    let mut text = String::new();
    for file in files(&server)? {
        copy.apply_file(&file)?;
        let file = file.display().to_string();
        let arguments = ["--no-defaults", "-vv", "--base64-output=decode-rows", "--verify-binlog-checksum", &file];
        let output = tool("mariadb-binlog", arguments)?.success()?;
        ensure!(!output.complaints().contains("ERROR"), "{}", output.complaints());
        text += &output.text();
    }
    assert_eq!(copy.table("d.one").len(), 2);
    assert_eq!(copy.table("d.two").len(), 1);
    assert!(copy.prepared().is_empty());
    let statements: Vec<&str> = text.lines().filter(|line| line.starts_with("XA ")).map(str::trim_end).collect();
    let expected = [
        "XA START X'31',X'',1",
        "XA END X'31',X'',1",
        "XA PREPARE X'31',X'',1",
        "XA START X'32',X'',1",
        "XA END X'32',X'',1",
        "XA PREPARE X'32',X'',1",
        "XA COMMIT X'32',X'',1",
        "XA ROLLBACK X'31',X'',1",
    ];
    // What is committed in one phase is a plain transaction.
    assert_eq!(statements, expected, "{text}");
    Ok(())
}

/// What a worker knows of each transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    /// XA PREPARE was sent.
    Begun,
    Prepared,
    /// XA COMMIT was sent.
    Committing,
    Committed,
    /// XA ROLLBACK was sent.
    RollingBack,
    RolledBack,
}

/// Ends with the first error.
fn work(
    options: &Opts,
    next: &AtomicU64,
    known: &Mutex<BTreeMap<u64, Known>>,
    mut rng: Rng,
) -> mysql::Result<Infallible> {
    let mut conn = Conn::new(options.clone())?;
    loop {
        let id = next.fetch_add(1, Ordering::Relaxed);
        let note = |state| {
            known.lock().expect("nobody panics").insert(id, state);
        };
        note(Known::Begun);
        prepare(&mut conn, id)?;
        note(Known::Prepared);
        let (verb, deciding, decided) = match rng.below(10) {
            0 => continue,
            1..=5 => ("COMMIT", Known::Committing, Known::Committed),
            _ => ("ROLLBACK", Known::RollingBack, Known::RolledBack),
        };
        if rng.chance(20) {
            conn = Conn::new(options.clone())?;
        }
        note(deciding);
        conn.query_drop(format!("XA {verb} '{id}'"))?;
        note(decided);
    }
}

#[test]
fn no_prepared_transaction_is_lost_or_halved_by_kill_9() -> Result<()> {
    kill_again_and_again(6, &[])
}

#[test]
fn classic_protocols_keep_prepared_transactions_too() -> Result<()> {
    kill_again_and_again(2, &["--commit-protocol=mysql57"])?;
    kill_again_and_again(2, &["--commit-protocol=mariadb"])?;
    kill_again_and_again(2, &["--commit-protocol=tc-mmap", "--skip-log-bin"])
}

fn kill_again_and_again(rounds: u64, options: &[&str]) -> Result<()> {
    let seed = rng::seed();
    let mut rng = Rng::new(seed);
    let folder = tempfile::tempdir()?;
    let launch = Launch::new(folder.path().join("data"))
        .option("--max-binlog-size=262144")
        .option("--redb-layer-size=131072")
        .option("--write-buffer-size=1048576");
    let launch = options.iter().fold(launch, |launch, option| launch.option(*option));
    let mut server = launch.start()?;
    create_tables(&mut server.connect()?)?;
    let (next, known) = (AtomicU64::new(1), Mutex::new(BTreeMap::new()));
    for round in 0..rounds {
        let options = server.options();
        thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..WORKERS)
                .map(|number| {
                    let rng = Rng::stream(seed, round * WORKERS + number);
                    let (options, next, known) = (&options, &next, &known);
                    scope.spawn(move || work(options, next, known, rng))
                })
                .collect();
            thread::sleep(Duration::from_millis(100 + rng.below(400)));
            // On a busy machine it takes longer until there is something to lose.
            let begun = next.load(Ordering::Relaxed);
            wait_until("transactions of every worker", || {
                let done = next.load(Ordering::Relaxed) >= begun + 2 * WORKERS;
                Ok(done || workers.iter().any(|work| work.is_finished()))
            })?;
            server.signal_kill()?;
            // Each ends with the connection that the kill took from it.
            workers.into_iter().try_for_each(|worker| {
                let Err(error) = worker.join().expect("no panic");
                if is_lost(&error) { Ok(()) } else { Err(error.into()) }
            })
        })?;
        server.wait_until_dead()?;
        server = server.launch().start()?;
        let mut conn = server.connect()?;
        let (one, two, left) = (ids(&mut conn, "one")?, ids(&mut conn, "two")?, prepared(&mut conn)?);
        assert_eq!(one, two, "half a transaction");
        let mut known = known.lock().expect("nobody panics");
        for (id, state) in known.iter() {
            let (there, prepared) = (one.contains(id), left.contains(id));
            let sound = match state {
                Known::Begun => !there,
                Known::Prepared => !there && prepared,
                Known::Committing => there != prepared,
                Known::Committed => there && !prepared,
                Known::RollingBack => !there,
                Known::RolledBack => !there && !prepared,
            };
            assert!(sound, "round {round}: {id} {state:?}, there {there}, prepared {prepared}");
        }
        // Most are decided by somebody else now; some stay for the next round.
        for id in left.into_iter().filter(|id| id % 4 != 0) {
            let commit = id % 2 == 1;
            conn.query_drop(format!("XA {} '{id}'", if commit { "COMMIT" } else { "ROLLBACK" }))?;
            known.insert(id, if commit { Known::Committed } else { Known::RolledBack });
        }
        let (one, left) = (ids(&mut conn, "one")?, prepared(&mut conn)?);
        let unknown = |state: &Known| matches!(state, Known::Begun | Known::Committing | Known::RollingBack);
        for (id, state) in known.iter_mut().filter(|(_, state)| unknown(state)) {
            *state = match (one.contains(id), left.contains(id)) {
                (true, _) => Known::Committed,
                (_, true) => Known::Prepared,
                _ => Known::RolledBack,
            };
        }
        println!("round {round}: {} rows, {} prepared, {} in all", one.len(), left.len(), known.len());
    }
    let mut conn = server.connect()?;
    let (one, two, left) = (ids(&mut conn, "one")?, ids(&mut conn, "two")?, prepared(&mut conn)?);
    assert!(one.len() as u64 > rounds, "the load did next to nothing");
    if !options.contains(&"--skip-log-bin") {
        the_binlog_agrees(&server, one, two, &left)?;
    }
    let datadir = server.datadir().to_owned();
    server.stop()?;
    let checked = Command::new(binary()?).arg("check").arg(&datadir).output()?;
    ensure!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    Ok(())
}

fn the_binlog_agrees(server: &Server, one: BTreeSet<u64>, two: BTreeSet<u64>, left: &BTreeSet<u64>) -> Result<()> {
    let mut copy = Replica::default();
    for file in files(server)? {
        copy.apply_file(&file)?;
    }
    for (table, ids) in [("d.one", one), ("d.two", two)] {
        let rows = copy.table(table).into_keys().map(|row| {
            let id = row[0].as_deref().and_then(|text| std::str::from_utf8(text).ok());
            id.context("no id")?.parse::<u64>().context("no number")
        });
        assert_eq!(rows.collect::<Result<BTreeSet<u64>>>()?, ids, "the binlog gives other rows of {table}");
    }
    let names: BTreeSet<String> = left.iter().map(|id| xid(*id)).collect();
    assert_eq!(copy.prepared().into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), names);
    Ok(())
}

fn xid(id: u64) -> String {
    let hex: String = id.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{hex}',X'',1")
}
