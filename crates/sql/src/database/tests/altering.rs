//! ALTER TABLE that copies rows: who may go on meanwhile, and what is left of one that does not come to its end.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cohort_engine::{Direction, KeyRange};

use super::waiting::until_waiting;
use super::*;

pub(super) fn client(database: &Arc<Database>) -> Client {
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

#[test]
fn columns_come_and_go_in_the_definition_alone() {
    let disk = Disk::new();
    let database = disk.open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10), b INT NOT NULL DEFAULT 3, k INT, KEY (k))");
    client.ok("INSERT INTO t VALUES (1, 'one', 10, 100), (2, NULL, 20, 200)");
    let before = keys(&disk);
    let instant = |client: &mut Client, change: &str| {
        client.ok(&format!("ALTER TABLE t {change}, ALGORITHM = INSTANT"));
        assert!(disk_is_sound(&client.database), "{change}");
    };
    instant(&mut client, "ADD x INT DEFAULT 7 FIRST, ADD y VARCHAR(5) NOT NULL DEFAULT 'y' AFTER a");
    client.ok("INSERT INTO t VALUES (8, 3, 'three', 'z', 30, 300)");
    instant(&mut client, "ALTER x SET DEFAULT 70, DROP a");
    client.ok("INSERT INTO t (id, k) VALUES (4, 400)");
    instant(&mut client, "ADD last INT DEFAULT 9");
    // Of the same name as one that is gone, and not the same.
    instant(&mut client, "ADD a VARCHAR(20) DEFAULT 'new' AFTER id, DROP b");
    client.ok("INSERT INTO t (id, k, last) VALUES (5, 500, NULL)");
    let rows = [
        "x | id | a | y | k | last",
        "7 | 1 | new | y | 100 | 9",
        "7 | 2 | new | y | 200 | 9",
        "8 | 3 | new | z | 300 | 9",
        "70 | 4 | new | y | 400 | 9",
        "70 | 5 | new | y | 500 | NULL",
    ];
    assert_eq!(client.run("SELECT * FROM t"), rows);
    assert_eq!(client.run("SELECT y, x FROM t WHERE k = 300"), ["y | x", "z | 8"]);
    assert_eq!(keys(&disk), before + 6, "nothing was copied");
    // Changed rows become those of the present definition.
    client.ok("UPDATE t SET a = 'set', k = k + 1 WHERE id IN (1, 3)");
    client.ok("DELETE FROM t WHERE id = 2");
    instant(&mut client, "MODIFY a VARCHAR(30) DEFAULT 'x', RENAME COLUMN y TO z");
    let rows = [
        "x | id | a | z | k | last",
        "7 | 1 | set | y | 101 | 9",
        "8 | 3 | set | z | 301 | 9",
        "70 | 4 | new | y | 400 | 9",
        "70 | 5 | new | y | 500 | NULL",
    ];
    assert_eq!(client.run("SELECT * FROM t"), rows);
    drop((client, database));
    let database = disk.open();
    let mut client = self::client(&database);
    assert_eq!(client.run("SELECT * FROM t"), rows);
    assert!(disk_is_sound(&database));
    client.ok("CREATE TABLE u LIKE t");
    client.ok("INSERT INTO u SELECT * FROM t");
    assert_eq!(client.run("SELECT * FROM u"), rows);
    client.ok("ALTER TABLE t ADD KEY (a), DROP z");
    assert_eq!(client.run("SELECT id FROM t WHERE a = 'new' ORDER BY id"), ["id", "4", "5"]);
    client.ok("ALTER TABLE t FORCE");
    assert_eq!(client.run("SELECT id, a, k FROM t WHERE x = 8"), ["id | a | k", "3 | set | 301"]);
    client.ok("TRUNCATE TABLE t");
    client.ok("INSERT INTO t (id, k) VALUES (1, 2)");
    assert_eq!(client.run("SELECT * FROM t"), ["x | id | a | k | last", "70 | 1 | x | 2 | 9"]);
    assert!(disk_is_sound(&database));
}

#[test]
fn rows_have_so_many_layouts_at_most() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let mut client = client(&database);
    for at in 0..64 {
        client.ok(&format!("ALTER TABLE t ADD c{at} INT DEFAULT {at} FIRST, ALGORITHM = INSTANT"));
        if at % 20 == 0 {
            client.ok(&format!("INSERT INTO t (id) VALUES ({})", 100 + at));
        }
    }
    let expected = "ERROR 4092 (HY000): Maximum row versions reached for table d/t. No more columns can be added or \
                    dropped instantly. Please use COPY/INPLACE.";
    assert_eq!(client.run("ALTER TABLE t DROP c5, ALGORITHM = INSTANT"), [expected]);
    let wanted = "SELECT id, v, c0, c63 FROM t WHERE id > 2";
    let rows = [
        "id | v | c0 | c63",
        "3 | 20 | 0 | 63",
        "100 | NULL | 0 | 63",
        "120 | NULL | 0 | 63",
        "140 | NULL | 0 | 63",
        "160 | NULL | 0 | 63",
    ];
    assert_eq!(client.run(wanted), rows);
    client.ok("ALTER TABLE t DROP c5");
    assert_eq!(client.run(wanted), rows);
    client.ok("ALTER TABLE t DROP c6, ALGORITHM = INSTANT");
    assert!(disk_is_sound(&database));
}

fn disk_is_sound(database: &Database) -> bool {
    let check = crate::check::check_tables(database.store().engines(), &mut |_| {});
    check.faults.is_empty() && check.notes.is_empty()
}
