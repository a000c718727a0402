//! ALTER TABLE that copies rows: who may go on meanwhile, and what is left of one that does not come to its end.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cohort_engine::{Direction, KeyRange};

use super::waiting::until_waiting;
use super::*;

fn client(database: &Arc<Database>) -> Client {
    let mut client = Client::new(database);
    client.ok("USE d");
    client
}

/// A table of three rows without a log of its changes, so that a default may be what is not the same for all rows.
fn with_rows(disk: &Disk) -> Arc<Database> {
    let database = disk.open();
    let mut setup = Client::new(&database);
    setup.ok("CREATE DATABASE d");
    setup.ok("USE d");
    setup.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v))");
    setup.ok("INSERT INTO t VALUES (1, 10), (2, 20), (3, 20)");
    database
}

/// Keys of tables, of any.
fn keys(disk: &Disk) -> usize {
    let engine = disk.engine.lock().clone();
    let range = KeyRange { lower: 16_u32.to_be_bytes().to_vec(), upper: vec![0xff; 5] };
    let mut cursor = engine.cursor(&range, Direction::Forward).expect("a cursor");
    let mut count = 0;
    while cursor.next().expect("an entry").is_some() {
        count += 1;
    }
    count
}

/// The copy of the first row waits for a gate.
const SLOW: &str = "ALTER TABLE t ADD slow INT DEFAULT (GET_LOCK('gate', 60))";

#[test]
fn readers_go_on_while_rows_are_copied_and_writers_wait() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let (mut changer, mut reader, mut writer) = (client(&database), client(&database), client(&database));
    reader.ok("DO GET_LOCK('gate', 0)");
    changer.session.log_to_binlog = false;
    let changing = thread::spawn(move || changer.run(SLOW));
    until_waiting(&database, 1);
    assert_eq!(reader.run("SELECT id FROM t WHERE v = 20"), ["id", "2", "3"]);
    writer.session.table_lock_timeout = Duration::ZERO;
    assert!(writer.run("UPDATE t SET v = 1")[0].starts_with("ERROR 1205"));
    reader.ok("DO RELEASE_LOCK('gate')");
    assert_eq!(changing.join().expect("no panic"), ["ok 3 (Records: 3  Duplicates: 0  Warnings: 0)"]);
    assert_eq!(reader.run("SELECT id, slow FROM t WHERE v = 20"), ["id | slow", "2 | 1", "3 | 1"]);
    writer.ok("UPDATE t SET v = 1");
}

#[test]
fn a_reader_that_wants_to_write_as_well_makes_no_copy_vain() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let (mut changer, mut holder, mut user) = (client(&database), client(&database), client(&database));
    holder.ok("DO GET_LOCK('gate', 0)");
    user.ok("BEGIN");
    user.ok("SELECT * FROM t");
    changer.session.log_to_binlog = false;
    let changing = thread::spawn(move || changer.run(SLOW));
    until_waiting(&database, 1);
    let updating = thread::spawn(move || user.run("UPDATE t SET v = 1"));
    until_waiting(&database, 2);
    holder.ok("DO RELEASE_LOCK('gate')");
    let victim = updating.join().expect("no panic");
    assert!(victim[0].starts_with("ERROR 1213"), "{victim:?}");
    assert_eq!(changing.join().expect("no panic"), ["ok 3 (Records: 3  Duplicates: 0  Warnings: 0)"]);
}

#[test]
fn a_kill_ends_a_copy_and_leaves_the_table_as_it_was() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let before = keys(&disk);
    let (mut changer, mut reader) = (client(&database), client(&database));
    reader.ok("DO GET_LOCK('gate', 0)");
    changer.session.log_to_binlog = false;
    let interrupt = changer.session.interrupt();
    let changing = thread::spawn(move || changer.run(SLOW));
    until_waiting(&database, 1);
    interrupt.kill();
    let killed = changing.join().expect("no panic");
    assert!(killed[0].starts_with("ERROR 1317"), "{killed:?}");
    assert_eq!(keys(&disk), before);
    assert_eq!(reader.run("SELECT * FROM t WHERE v = 20"), ["id | v", "2 | 20", "3 | 20"]);
    reader.ok("UPDATE t SET v = 21 WHERE id = 3");
}

#[test]
fn a_change_that_fails_leaves_nothing() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let mut client = client(&database);
    let (before, shown) = (keys(&disk), client.run("SHOW CREATE TABLE t"));
    for (change, errno) in [
        ("ALTER TABLE t ADD UNIQUE (v)", 1062),
        ("ALTER TABLE t ADD x INT FIRST, ADD UNIQUE (v)", 1062),
        ("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v)", 1062),
        ("ALTER TABLE t DROP id, ADD KEY (v), ADD UNIQUE u (v)", 1062),
        ("ALTER TABLE t MODIFY v TINYINT UNSIGNED, MODIFY id INT CHECK (id > 1)", 1235),
        ("ALTER TABLE t ADD d DATE NOT NULL", 1292),
        ("ALTER TABLE t MODIFY v VARCHAR(1)", 1406),
    ] {
        let lines = client.run(change);
        assert!(lines[0].starts_with(&format!("ERROR {errno} ")), "{change}: {lines:?}");
        assert_eq!(keys(&disk), before, "{change}");
        assert_eq!(client.run("SHOW CREATE TABLE t"), shown, "{change}");
    }
}

#[test]
fn what_a_change_made_survives_a_crash_and_nothing_else_is_left() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let before = keys(&disk);
    let mut changer = client(&database);
    changer.ok("ALTER TABLE t MODIFY v BIGINT FIRST, ADD w INT DEFAULT 7");
    changer.ok("ALTER TABLE t ADD x INT DEFAULT 8");
    changer.ok("ALTER TABLE t ALTER x SET DEFAULT 9");
    assert_eq!(keys(&disk), before, "as many rows and entries, and no others");
    drop((changer, database));
    let database = disk.open();
    let mut reader = client(&database);
    assert_eq!(reader.run("SELECT * FROM t WHERE v = 10"), ["v | id | w | x", "10 | 1 | 7 | 8"]);
    reader.ok("INSERT INTO t (id) VALUES (4)");
    assert_eq!(reader.run("SELECT x FROM t WHERE id = 4"), ["x", "9"]);
    assert_eq!(keys(&disk), before + 2);
}

#[test]
fn a_large_copy_is_sorted_in_files() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let mut client = client(&database);
    client.ok("CREATE TABLE big (id INT PRIMARY KEY, s VARCHAR(200), KEY (s))");
    for from in (0..4000).step_by(500) {
        let rows: Vec<String> = (from..from + 500).map(|id| format!("({id}, REPEAT('{}', 150))", id % 7)).collect();
        client.ok(&format!("INSERT INTO big VALUES {}", rows.join(", ")));
    }
    client.session.memory.set_limit(300_000);
    client.ok("ALTER TABLE big ADD n INT, DROP PRIMARY KEY, ADD PRIMARY KEY (s, id)");
    client.session.memory.set_limit(u64::MAX);
    assert_eq!(client.run("SELECT COUNT(*), MIN(id), MAX(id) FROM big FORCE INDEX (s)")[1], "4000 | 0 | 3999");
    assert_eq!(client.run("SELECT id FROM big LIMIT 3"), ["id", "0", "7", "14"]);
}
