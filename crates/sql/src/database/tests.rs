//! Statements against a database in memory: golden scripts, one file a rule, and what needs two threads.

mod altering;
mod altering_online;
mod checks;
mod created_with_rows;
mod golden;
mod gtid_next;
mod histograms;
mod locking;
mod optimizer;
mod paths;
mod plan_cache;
mod push_down;
mod result_types;
mod semi_joins;
mod spilled;
mod statistics;
mod table_locks;
mod waiting;
mod windows;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cohort_binlog::{BinlogOptions, ServerIdentity};
use cohort_engine::Engine;
use cohort_engine::memory::MemoryEngine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_io::sync::Mutex;
use cohort_io::{SimDisk, SystemClock};
use cohort_journal::JournalOptions;
use cohort_txn::{CommitProtocol, CommitSettings, Engines, GtidMode, Recovered, StoreOptions};

use super::*;
use crate::session::StandIn;

/// What ALTER TABLE answers where MySQL counts no rows.
pub(super) const ALTERED: &str = "ok 0 (Records: 0  Duplicates: 0  Warnings: 0)";

/// A data directory in memory that can be opened again.
pub(super) struct Disk {
    disk: Mutex<SimDisk>,
    engine: Mutex<Arc<MemoryEngine>>,
}

impl Disk {
    pub(super) fn new() -> Disk {
        Disk { disk: Mutex::new(SimDisk::new(7)), engine: Mutex::new(Arc::new(MemoryEngine::new())) }
    }

    /// Leaves no room but what is set aside.
    pub(super) fn fill(&self) {
        let disk = self.disk.lock();
        disk.set_capacity(disk.used_bytes());
    }

    pub(super) fn give_room(&self) {
        self.disk.lock().set_capacity(u64::MAX);
    }

    pub(super) fn open(&self) -> Arc<Database> {
        let options = StoreOptions {
            journal_dir: "/data/journal".into(),
            journal: JournalOptions { segment_bytes: 1 << 20, ..JournalOptions::default() },
            binlog: BinlogOptions::new("/data"),
            binlog_cut_at: None,
            log_bin: true,
            tc_log: "/data/tc.log".into(),
            identity: ServerIdentity { server_id: 1, server_version: "8.0.40-test".to_owned() },
            gtid_mode: GtidMode::On,
            server_uuid: "11111111-2222-3333-4444-555555555555".parse().expect("a UUID"),
            settings: CommitSettings::durable(1 << 30),
            checkpoint_bytes: 1 << 30,
        };
        // What the engines had not made durable is gone with the process that held them.
        let mut engine = self.engine.lock();
        *engine = Arc::new(engine.crash());
        let mut disk = self.disk.lock();
        *disk = disk.kill();
        let fs = Arc::new(disk.clone());
        let redb = Redb::open(fs.clone(), "/data/redb".as_ref(), &RedbOptions::default()).expect("redb opens");
        let engines: Vec<Arc<dyn Engine>> = vec![engine.clone(), Arc::new(redb)];
        let (clock, engines) = (Arc::new(SystemClock), Engines::Journaled(engines));
        let recovered = Recovered::from_logs(options, CommitProtocol::Journal, fs, clock, engines, &mut |_| {});
        let opened = recovered.expect("the logs are whole").start(&mut |_| {});
        Database::open(opened.expect("the store opens")).expect("the catalog opens")
    }
}

/// Keeps a result set as text.
#[derive(Default)]
pub(super) struct Lines(pub(super) Vec<String>);

impl ResultSink for Lines {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError> {
        self.0.push(columns.iter().map(|column| &*column.name).collect::<Vec<_>>().join(" | "));
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.0.push(row.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "));
        Ok(())
    }
}

/// One client of a database.
pub(super) struct Client {
    pub(super) database: Arc<Database>,
    pub(super) session: SessionState,
}

impl Client {
    pub(super) fn new(database: &Arc<Database>) -> Client {
        Client { database: database.clone(), session: SessionState::new() }
    }

    /// A client that has made the database `d`, and uses it.
    pub(super) fn in_new_database(database: &Arc<Database>) -> Client {
        let mut client = Client::new(database);
        client.ok("CREATE DATABASE d");
        client.ok("USE d");
        client
    }

    /// Runs a statement, commits what it hands out, and says what a client would see.
    pub(super) fn run(&mut self, sql: &str) -> Vec<String> {
        let mut lines = Lines::default();
        let outcome = self.database.execute(&mut self.session, &StandIn, sql.as_bytes(), &mut lines);
        self.finish(outcome, lines)
    }

    /// As [`Client::run`], prepared.
    pub(super) fn run_prepared(&mut self, prepared: &Prepared, params: &[Value]) -> Vec<String> {
        let mut lines = Lines::default();
        let database = self.database.clone();
        let outcome = database.execute_prepared(&mut self.session, &StandIn, prepared, params, &mut lines);
        self.finish(outcome, lines)
    }

    pub(super) fn prepare(&mut self, sql: &str) -> Prepared {
        self.database.clone().prepare(&mut self.session, &StandIn, sql.as_bytes()).expect(sql)
    }

    fn finish(&self, outcome: Result<Outcome, SqlError>, mut lines: Lines) -> Vec<String> {
        let outcome = match outcome {
            Err(error) => return vec![error.to_string()],
            Ok(outcome) => outcome,
        };
        if let Some(transaction) = outcome.commit {
            self.database.store().commit_and_wait(transaction).expect("the commit is acknowledged");
        }
        if let StatementResult::Done { affected, last_insert_id, info } = outcome.result {
            let mut line = format!("ok {affected}");
            if last_insert_id > 0 {
                line += &format!(" id {last_insert_id}");
            }
            if !info.is_empty() {
                line += &format!(" ({info})");
            }
            lines.0.push(line);
        }
        lines.0
    }

    /// Runs a statement that must not fail.
    pub(super) fn ok(&mut self, sql: &str) {
        let lines = self.run(sql);
        assert!(!lines.first().is_some_and(|line| line.starts_with("ERROR")), "{sql}: {lines:?}");
    }
}

#[test]
fn tables_rows_and_counters_survive_a_restart() {
    let disk = Disk::new();
    let database = disk.open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10), KEY (v))");
    client.ok("INSERT INTO t (v) VALUES ('a'), ('b')");
    drop(client);
    database.store().close().expect("the store closes");
    drop(database);
    let database = disk.open();
    let mut client = Client::new(&database);
    client.ok("USE d");
    assert_eq!(client.run("SELECT id FROM t WHERE v = 'b'"), ["id", "2"]);
    assert_eq!(client.run("INSERT INTO t (v) VALUES ('c')"), ["ok 1 id 3"]);
}

#[test]
fn a_change_of_one_table_leaves_the_plans_of_others() {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    let prepared = client.prepare("SELECT v FROM t WHERE id = ?");
    let mut misses_of = |change: &str| {
        client.ok(change);
        let before = database.stats().plan_cache_misses;
        client.ok("SELECT v FROM t WHERE id = 1");
        client.run_prepared(&prepared, &[Value::Int(1)]);
        database.stats().plan_cache_misses - before
    };
    misses_of("DO 1");
    for change in [
        "CREATE TABLE other (id INT)",
        "DROP TABLE other",
        "CREATE DATABASE e",
        "CREATE TABLE e.t (id INT)",
        "DROP DATABASE e",
    ] {
        assert_eq!(misses_of(change), 0, "{change}");
    }
    for change in ["ALTER TABLE t ADD KEY (v)", "TRUNCATE TABLE t"] {
        assert!(misses_of(change) > 0, "{change}");
    }
    client.ok("DROP TABLE t");
    client.ok("CREATE TABLE t (v VARCHAR(5), id INT PRIMARY KEY)");
    client.ok("INSERT INTO t VALUES ('new', 1)");
    assert_eq!(client.run("SELECT v FROM t WHERE id = 1"), ["v", "new"]);
    assert_eq!(client.run_prepared(&prepared, &[Value::Int(1)]), ["v", "new"]);
}

#[test]
fn versions_of_the_catalog_share_what_did_not_change() {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    for number in 0..20 {
        client.ok(&format!("CREATE TABLE t{number} (id INT)"));
    }
    let version = || Arc::clone(&database.catalog.current());
    let shared = |name: &str| Arc::strong_count(version().table("d", name).expect("it was created"));
    let before = shared("t7");
    // A version that copied the list of tables would hold each of them once more.
    let mut versions = vec![version()];
    for change in ["CREATE TABLE u (id INT)", "ALTER TABLE t1 ADD KEY (id)", "DROP TABLE t2", "CREATE DATABASE e"] {
        client.ok(change);
        versions.push(version());
    }
    assert_eq!(shared("t7"), before);
}

#[test]
fn a_transaction_that_has_become_too_large_fails_its_statement() {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("CREATE TABLE d.t (id INT PRIMARY KEY, v TEXT)");
    database.store().settings().spill.writes_bytes.store(u64::MAX, Ordering::Relaxed);
    database.store().settings().transaction_bytes_max.store(90_000, Ordering::Relaxed);
    client.ok("BEGIN");
    client.ok("INSERT INTO d.t VALUES (1, REPEAT('x', 20000))");
    for _ in 0..9 {
        // What replaces itself takes its room once, in the engine; the savepoint gives the events' back.
        client.ok("SAVEPOINT s");
        client.ok("UPDATE d.t SET v = REPEAT('y', 20000)");
        client.ok("ROLLBACK TO s");
    }
    let refused = client.run("INSERT INTO d.t VALUES (2, REPEAT('x', 20000)), (3, REPEAT('x', 20000))");
    assert!(refused[0].starts_with("ERROR 1197"), "{refused:?}");
    client.ok("INSERT INTO d.t VALUES (4, '')");
    client.ok("COMMIT");
    assert_eq!(client.run("SELECT id FROM d.t"), ["id", "1", "4"]);
}

#[test]
fn what_an_unfinished_index_build_left_is_erased_at_the_next_start() {
    let disk = Disk::new();
    let database = disk.open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v))");
    client.ok("INSERT INTO t VALUES (1, 10)");
    drop(client);
    let leftover = |id: u32| [id.to_be_bytes().as_slice(), b"key"].concat();
    let mut entries = [17, 5000].into_iter().map(|id| (leftover(id + 1), b"value".to_vec()));
    database.store().load(CATALOG_ENGINE, &mut entries).expect("entries are loaded");
    database.store().close().expect("the store closes");
    drop(database);
    let database = disk.open();
    for id in [18, 5001] {
        let mut value = Vec::new();
        let found = database.store().begin().get(CATALOG_ENGINE, Read::Current, &leftover(id), &mut value);
        assert!(!found.expect("the engine reads"), "{id}");
    }
    let mut client = Client::new(&database);
    client.ok("USE d");
    assert_eq!(client.run("SELECT id FROM t WHERE v = 10"), ["id", "1"]);
}

#[test]
fn statements_that_differ_in_literals_share_a_plan() {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    client.ok("INSERT INTO t VALUES (1, 1)");
    let before = database.stats();
    for value in 2..12 {
        client.ok(&format!("UPDATE t SET v = {value} WHERE id = 1"));
    }
    let after = database.stats();
    assert_eq!(after.plan_cache_misses - before.plan_cache_misses, 1);
    assert_eq!(after.plan_cache_hits - before.plan_cache_hits, 9);
}

#[test]
fn statements_that_differ_in_hints_share_no_plan() {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY v (v))");
    client.ok("INSERT INTO t VALUES (1, 1)");
    let before = database.stats();
    for value in 2..5 {
        client.ok(&format!("SELECT id FROM t WHERE v = {value}"));
        client.ok(&format!("SELECT /*+ NO_INDEX(t v) */ id FROM t WHERE v = {value}"));
        client.ok(&format!("SELECT /*+ INDEX(t v) */ id FROM t WHERE v = {value}"));
        client.ok(&format!("UPDATE t SET v = {value} WHERE id = 1"));
        client.ok(&format!("UPDATE /*+ NO_INDEX(t) */ t SET v = {value} WHERE id = 1"));
    }
    let after = database.stats();
    assert_eq!(after.plan_cache_misses - before.plan_cache_misses, 5);
    assert_eq!(after.plan_cache_hits - before.plan_cache_hits, 10);
    // What a plan holds of its hints is not that of another one.
    assert_eq!(client.run("SELECT GROUP_CONCAT('abcdefgh') AS g FROM t"), ["g", "abcdefgh"]);
    let hinted = "SELECT /*+ SET_VAR(group_concat_max_len = 4) */ GROUP_CONCAT('abcdefgh') AS g FROM t";
    assert_eq!(client.run(hinted), ["g", "abcd"]);
    assert_eq!(client.run(&hinted.replace('4', "5")), ["g", "abcde"]);
    assert_eq!(client.run("SELECT GROUP_CONCAT('abcdefgh') AS g FROM t"), ["g", "abcdefgh"]);
    assert_eq!(client.run(hinted), ["g", "abcd"]);
}

#[test]
fn a_prepared_statement_follows_a_change_of_its_table() {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    client.ok("INSERT INTO t VALUES (1, 10), (2, 20)");
    let select = client.prepare("SELECT id, v FROM t WHERE v = ? LIMIT ?");
    assert_eq!(select.param_count(), 2);
    assert_eq!(select.columns().len(), 2);
    assert_eq!(client.run_prepared(&select, &[Value::Int(20), Value::Int(5)]), ["id | v", "2 | 20"]);
    client.ok("CREATE INDEX v ON t (v)");
    assert_eq!(client.run_prepared(&select, &[Value::Int(10), Value::Int(5)]), ["id | v", "1 | 10"]);
    client.ok("DROP TABLE t");
    let lines = client.run_prepared(&select, &[Value::Int(10), Value::Int(5)]);
    assert_eq!(lines, ["ERROR 1146 (42S02): Table 'd.t' doesn't exist"]);
    assert!(client.run_prepared(&select, &[])[0].starts_with("ERROR 1210"));
}

#[test]
fn statements_without_a_plan_can_be_prepared_as_in_mysql() {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    for sql in
        ["BEGIN", "START TRANSACTION", "SAVEPOINT s", "ROLLBACK TO s", "USE d", "LOCK TABLES t READ", "XA RECOVER"]
            .into_iter()
            .chain([
                "UNLOCK TABLES",
                "CHECK TABLE t",
                "ALTER DATABASE d COLLATE utf8mb4_bin",
                "CREATE ROLE r",
                "SHUTDOWN",
            ])
            .chain(["PURGE BINARY LOGS TO 'x'", "LOCK INSTANCE FOR BACKUP", "PREPARE s FROM 'DO 1'", "EXECUTE s"])
    {
        let refused = client.database.clone().prepare(&mut client.session, &StandIn, sql.as_bytes());
        assert_eq!(refused.err().map(|error| error.errno), Some(1295), "{sql}");
    }
    client.ok("BEGIN");
    for sql in ["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "COMMIT", "ROLLBACK", "SHOW TABLES"]
    {
        let prepared = client.prepare(sql);
        let lines = client.run_prepared(&prepared, &[]);
        assert!(!lines[0].starts_with("ERROR"), "{sql}: {lines:?}");
    }
    assert_eq!(client.prepare("SHOW TABLES").columns()[0].name.as_ref(), "Tables_in_d");
    assert_eq!(client.run("SELECT COUNT(*) FROM t"), ["COUNT(*)", "1"]);
}

#[test]
fn a_transaction_over_two_engines_survives_a_kill() {
    let disk = Disk::new();
    let database = disk.open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE a (id INT PRIMARY KEY, v INT, KEY (v))");
    client.ok("CREATE TABLE b (id INT PRIMARY KEY, v INT, KEY (v)) ENGINE=redb");
    client.ok("CREATE TABLE gone (id INT PRIMARY KEY) ENGINE=redb");
    client.ok("INSERT INTO gone VALUES (1), (2)");
    client.ok("BEGIN");
    client.ok("INSERT INTO a VALUES (1, 70)");
    client.ok("INSERT INTO b VALUES (1, 30)");
    client.ok("COMMIT");
    client.ok("DROP TABLE gone");
    client.ok("INSERT INTO b VALUES (2, 40)");
    client.ok("CREATE INDEX later ON b (v, id)");
    client.ok("BEGIN");
    client.ok("INSERT INTO b VALUES (3, 50)");
    let database = disk.open();
    let mut client = Client::new(&database);
    client.ok("USE d");
    assert_eq!(client.run("SELECT v FROM a WHERE id = 1"), ["v", "70"]);
    assert_eq!(client.run("SELECT id FROM b WHERE v > 0"), ["id", "1", "2"]);
    assert!(client.run("SHOW CREATE TABLE b")[1].contains("ENGINE=redb"));
    client.ok("CREATE TABLE next (id INT PRIMARY KEY) ENGINE=redb");
    assert_eq!(client.run("SELECT COUNT(*) FROM next"), ["COUNT(*)", "0"]);
}
