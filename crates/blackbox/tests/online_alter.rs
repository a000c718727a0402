//! ALTER TABLE under load: clients go on writing to a table, in either engine, whose columns, indexes and primary key change.
//! What they were told is there afterwards is there, and in a MariaDB that the binlog was applied to.
//!
//! `COHORT_SEED` repeats the choices; `COHORT_ROUNDS` says how many changes are made.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Result, ensure};
use cohort_blackbox::load::{self, rounds};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::server::binary;
use cohort_blackbox::{Launch, check, tool};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts};

const TABLES: [&str; 2] = ["made_here", "made_there"];
const WRITERS: u64 = 3;

/// `id`, `v` and `s` stay readable.
const CHANGES: &[&str] = &[
    "ADD KEY by_v (v)",
    "DROP KEY by_v",
    "ADD UNIQUE by_s (s)",
    "DROP KEY by_s",
    "FORCE",
    "MODIFY v BIGINT",
    "MODIFY v INT",
    "MODIFY s VARCHAR(300) NOT NULL FIRST",
    "MODIFY s VARCHAR(100) NOT NULL AFTER id",
    "ADD x INT NOT NULL DEFAULT 5 FIRST",
    "DROP x",
    "ADD y VARCHAR(9) DEFAULT 'y' AFTER id, ALTER v SET DEFAULT 3",
    "DROP y, ADD z INT",
    "DROP z, ADD KEY by_v (v)",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (s)",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
];

/// By table and id.
type Model = BTreeMap<(usize, u64), u64>;

#[test]
fn writers_go_on_and_the_binlog_rebuilds_what_they_wrote() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    load::create_tables(&mut conn)?;
    for (table, engine) in TABLES.into_iter().zip(["RocksDB", "redb"]) {
        conn.query_drop(format!("SET default_storage_engine = {engine}"))?;
        conn.query_drop(format!("CREATE TABLE {table} (id INT PRIMARY KEY, v INT, s VARCHAR(100) NOT NULL)"))?;
        for from in (0..3000).step_by(500) {
            let rows: Vec<String> =
                (from..from + 500).map(|id| format!("({}, {id}, 'old{id}')", 100_000 + id)).collect();
            conn.query_drop(format!("INSERT INTO {table} VALUES {}", rows.join(", ")))?;
        }
    }
    let (seed, stop) = (rng::seed(), AtomicBool::new(false));
    let model = thread::scope(|scope| -> Result<Model> {
        let stop = &stop;
        let options = server.options();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| (options.clone(), writer))
            .map(|(options, writer)| scope.spawn(move || write(options, Rng::stream(seed, writer), writer, stop)))
            .collect();
        let altered = alter(&mut conn, Rng::stream(seed, WRITERS));
        stop.store(true, Ordering::Relaxed);
        let mut model = Model::new();
        for writer in writers {
            model.append(&mut writer.join().expect("no panic")?);
        }
        altered.map(|()| model)
    })?;
    for (at, table) in TABLES.into_iter().enumerate() {
        let found: Vec<(u64, u64, String)> =
            conn.query(format!("SELECT id, v, s FROM {table} WHERE id < 100000 ORDER BY id"))?;
        let mine = model.iter().filter(|((of, _), _)| *of == at);
        let expected: Vec<_> = mine.map(|((_, id), v)| (*id, *v, format!("s{id}"))).collect();
        ensure!(found == expected, "{table}: {found:?} instead of {expected:?}");
        let old: Option<u64> = conn.query_first(format!("SELECT COUNT(*) FROM {table} WHERE id >= 100000"))?;
        ensure!(old == Some(3000), "{table}: {old:?} of the first rows");
    }
    check::binlog_rebuilds_the_tables_elsewhere(&server, folder.path())?;
    let stopped = server.stop()?;
    tool(&binary()?.display().to_string(), [Path::new("check"), stopped.datadir()])?.success().map(drop)
}

fn alter(conn: &mut Conn, mut rng: Rng) -> Result<()> {
    let mut made = 0;
    for _ in 0..rounds(40) {
        let change = CHANGES[rng.below(CHANGES.len() as u64) as usize];
        let table = TABLES[rng.below(2) as usize];
        match conn.query_drop(format!("ALTER TABLE {table} {change}")) {
            Ok(()) => made += 1,
            // There is something of that name already, or nothing.
            Err(mysql::Error::MySqlError(error)) if [1060, 1061, 1091].contains(&error.code) => {}
            Err(error) => return Err(anyhow::Error::from(error).context(format!("{table} {change}"))),
        }
    }
    ensure!(made > 0, "no change was possible");
    Ok(())
}

/// Changes rows of its own until it is to stop; what they are then.
fn write(options: Opts, mut rng: Rng, writer: u64, stop: &AtomicBool) -> Result<Model> {
    let mut conn = Conn::new(options)?;
    conn.query_drop("USE crash")?;
    let mut model = Model::new();
    while !stop.load(Ordering::Relaxed) {
        let before = model.clone();
        match transaction(&mut conn, &mut rng, writer, &mut model) {
            Ok(true) => {}
            Ok(false) => model = before,
            Err(mysql::Error::MySqlError(error)) if error.code == 1213 => model = before,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(model)
}

/// Whether it was committed.
fn transaction(conn: &mut Conn, rng: &mut Rng, writer: u64, model: &mut Model) -> mysql::Result<bool> {
    conn.query_drop("BEGIN")?;
    for _ in 0..=rng.below(4) {
        let (at, id, v) = (rng.below(2) as usize, 1 + writer * 1000 + rng.below(60), rng.below(1 << 30));
        let table = TABLES[at];
        if model.contains_key(&(at, id)) && rng.chance(30) {
            conn.query_drop(format!("DELETE FROM {table} WHERE id = {id}"))?;
            model.remove(&(at, id));
        } else if model.insert((at, id), v).is_some() {
            conn.query_drop(format!("UPDATE {table} SET v = {v} WHERE id = {id}"))?;
        } else {
            conn.query_drop(format!("INSERT INTO {table} (id, v, s) VALUES ({id}, {v}, 's{id}')"))?;
        }
    }
    let commits = rng.chance(80);
    conn.query_drop(if commits { "COMMIT" } else { "ROLLBACK" })?;
    Ok(commits)
}

/// The bound of what is kept of others' changes is a global variable, as in MySQL.
#[test]
fn the_bound_of_kept_changes_can_be_set() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let launch = Launch::new(folder.path().join("data")).option("--innodb-online-alter-log-max-size=1048576");
    let server = launch.start()?;
    let mut conn = server.connect()?;
    let bound = |conn: &mut Conn| conn.query_first::<u64, _>("SELECT @@innodb_online_alter_log_max_size");
    ensure!(bound(&mut conn)? == Some(1 << 20));
    conn.query_drop("SET GLOBAL innodb_online_alter_log_max_size = 1")?;
    ensure!(bound(&mut conn)? == Some(1 << 16));
    server.stop().map(drop)
}
