//! ALTER TABLE while writers go on: what they change before it ends is in the table, and in every index, afterwards.
//!
//! The engine's loads wait at a gate: the rows have been read by then, and what is written before it opens has to be
//! brought there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::altering::client;
use super::waiting::until_waiting;
use super::*;
use crate::check::check_tables;

fn with_rows(disk: &Disk) -> Arc<Database> {
    let database = disk.open();
    let mut setup = Client::new(&database);
    setup.ok("CREATE DATABASE d");
    setup.ok("USE d");
    setup.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(20))");
    setup.ok("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd'), (5, 50, 'e')");
    database
}

fn assert_sound(database: &Database) {
    let check = check_tables(database.store().engines(), &mut |_| {});
    assert_eq!((check.faults, check.notes), (Vec::new(), Vec::new()));
}

/// Runs `change`, and `meanwhile` when it has read the rows. What the change answered.
fn altered_beside(disk: &Disk, database: &Arc<Database>, change: &str, meanwhile: impl FnOnce()) -> Vec<String> {
    let mut changer = client(database);
    let engine = disk.engine.lock().clone();
    let reached = engine.gate_reached();
    let change = change.to_owned();
    let changing = {
        let gate = engine.gate().lock();
        let changing = thread::spawn(move || changer.run(&change));
        let end = Instant::now() + Duration::from_secs(20);
        while engine.gate_reached() == reached && !changing.is_finished() {
            assert!(Instant::now() < end, "nothing is loaded");
            thread::sleep(Duration::from_millis(1));
        }
        meanwhile();
        drop(gate);
        changing
    };
    changing.join().expect("no panic")
}

/// Changes of every kind, of which some are taken back.
const WRITES: &[&str] = &[
    "INSERT INTO t (id, v, s) VALUES (6, 60, 'f'), (7, 70, 'g')",
    "DELETE FROM t WHERE id = 3",
    "UPDATE t SET v = 99 WHERE id = 1",
    // Two rows change what is to be unique with each other.
    "BEGIN",
    "UPDATE t SET v = 1000 WHERE id = 4",
    "UPDATE t SET v = 40 WHERE id = 5",
    "UPDATE t SET v = 50 WHERE id = 4",
    "COMMIT",
    "BEGIN",
    "DELETE FROM t WHERE id = 2",
    "INSERT INTO t (id, v, s) VALUES (8, 80, 'h')",
    "ROLLBACK",
    "BEGIN",
    "INSERT INTO t (id, v, s) VALUES (9, 90, 'i')",
    "SAVEPOINT half",
    "UPDATE t SET v = 7 WHERE id = 9",
    "DELETE FROM t WHERE id = 7",
    "ROLLBACK TO half",
    "UPDATE t SET s = 'j' WHERE id = 9",
    "COMMIT",
    "UPDATE t SET id = 12 WHERE id = 6",
    "INSERT INTO t (id, v, s) VALUES (11, 1, 'x')",
    "DELETE FROM t WHERE id = 11",
    "XA START 'x'",
    "INSERT INTO t (id, v, s) VALUES (14, 140, 'k')",
    "UPDATE t SET s = 'l' WHERE id = 1",
    "XA END 'x'",
    "XA PREPARE 'x'",
    "XA COMMIT 'x'",
    "XA START 'y'",
    "DELETE FROM t",
    "XA END 'y'",
    "XA PREPARE 'y'",
    "XA ROLLBACK 'y'",
];

/// What is left of the rows.
const LEFT: &[&str] = &[
    "id | v | s",
    "1 | 99 | l",
    "2 | 20 | b",
    "4 | 50 | d",
    "5 | 40 | e",
    "7 | 70 | g",
    "9 | 90 | j",
    "12 | 60 | f",
    "14 | 140 | k",
];

#[test]
fn what_writers_do_meanwhile_is_there_afterwards() {
    for change in [
        "ALTER TABLE t ADD KEY (v)",
        "ALTER TABLE t ADD UNIQUE u (v), ADD KEY (s, v), LOCK = NONE",
        "CREATE UNIQUE INDEX u ON t (v) ALGORITHM = INPLACE LOCK = NONE",
        "ALTER TABLE t FORCE, ADD UNIQUE (v), ALGORITHM = INPLACE, LOCK = NONE",
        "ALTER TABLE t MODIFY s VARCHAR(20) NOT NULL, ADD n INT NOT NULL DEFAULT (1 + 2)",
        "ALTER TABLE t MODIFY v BIGINT",
        "ALTER TABLE t MODIFY s VARCHAR(20) AFTER id, ADD KEY (s)",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v), LOCK = NONE",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (s, id), ADD UNIQUE (v)",
        "ALTER TABLE t MODIFY v INT NOT NULL, MODIFY s CHAR(30), ADD KEY (s)",
    ] {
        let disk = Disk::new();
        let database = with_rows(&disk);
        let mut writer = client(&database);
        let altered = altered_beside(&disk, &database, change, || WRITES.iter().for_each(|sql| writer.ok(sql)));
        assert!(altered[0].starts_with("ok "), "{change}: {altered:?}");
        let rows = "SELECT id, v, s FROM t ORDER BY id";
        assert_eq!(writer.run(rows), LEFT, "{change}");
        assert_sound(&database);
        writer.ok("INSERT INTO t (id, v, s) VALUES (15, 150, 'm')");
        drop((writer, database));
        let database = disk.open();
        assert_eq!(client(&database).run(rows).len(), LEFT.len() + 1, "{change}");
        assert_sound(&database);
    }
}

#[test]
fn a_copy_counts_the_rows_that_there_are_in_the_end() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let mut writer = client(&database);
    let altered = altered_beside(&disk, &database, "ALTER TABLE t MODIFY v BIGINT", || {
        writer.ok("INSERT INTO t (id) VALUES (6), (7), (8)");
        writer.ok("DELETE FROM t WHERE id < 3");
    });
    assert_eq!(altered, ["ok 6 (Records: 6  Duplicates: 0  Warnings: 0)"]);
}

#[test]
fn rows_without_a_key_and_rows_of_earlier_definitions_follow_too() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let mut writer = client(&database);
    writer.ok("CREATE TABLE h (a INT)");
    writer.ok("INSERT INTO h VALUES (1), (2), (3)");
    writer.ok("ALTER TABLE h ADD b INT DEFAULT 7");
    let altered = altered_beside(&disk, &database, "ALTER TABLE h MODIFY b BIGINT FIRST, ADD KEY (b)", || {
        writer.ok("INSERT INTO h (a) VALUES (4)");
        writer.ok("UPDATE h SET b = 8 WHERE a = 2");
        writer.ok("DELETE FROM h WHERE a = 3");
    });
    assert!(altered[0].starts_with("ok "), "{altered:?}");
    writer.ok("INSERT INTO h VALUES (9, 5)");
    assert_eq!(writer.run("SELECT * FROM h ORDER BY a"), ["b | a", "7 | 1", "8 | 2", "7 | 4", "9 | 5"]);
    assert_sound(&database);
}

#[test]
fn what_writers_made_impossible_ends_the_change_and_leaves_nothing() {
    for (change, write, errno) in [
        ("ALTER TABLE t ADD UNIQUE (v)", "INSERT INTO t VALUES (6, 10, 'f')", 1062),
        ("ALTER TABLE t FORCE, ADD UNIQUE (v)", "UPDATE t SET v = 20 WHERE id = 1", 1062),
        ("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v)", "UPDATE t SET v = 20 WHERE id = 1", 1062),
        ("ALTER TABLE t MODIFY v INT NOT NULL", "UPDATE t SET v = NULL WHERE id = 1", 1138),
        ("ALTER TABLE t MODIFY v TINYINT", "UPDATE t SET v = 1000 WHERE id = 1", 1264),
    ] {
        let disk = Disk::new();
        let database = with_rows(&disk);
        let mut writer = client(&database);
        let shown = writer.run("SHOW CREATE TABLE t");
        let altered = altered_beside(&disk, &database, change, || writer.ok(write));
        assert!(altered[0].starts_with(&format!("ERROR {errno} ")), "{change}: {altered:?}");
        assert_eq!(writer.run("SHOW CREATE TABLE t"), shown);
        assert_sound(&database);
        writer.ok("UPDATE t SET v = id");
    }
}

#[test]
fn a_double_that_is_gone_again_is_none() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let mut writer = client(&database);
    let altered = altered_beside(&disk, &database, "ALTER TABLE t ADD UNIQUE (v)", || {
        writer.ok("INSERT INTO t VALUES (6, 10, 'f')");
        writer.ok("UPDATE t SET v = 11 WHERE id = 1");
    });
    assert_eq!(altered, [ALTERED]);
    assert!(writer.run("INSERT INTO t VALUES (7, 10, 'g')")[0].starts_with("ERROR 1062"));
    assert_sound(&database);
}

#[test]
fn more_changes_than_are_kept_end_it() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let most = &database.store().settings().capture_bytes_max;
    most.store(1 << 16, Ordering::Relaxed);
    let mut writer = client(&database);
    let altered = altered_beside(&disk, &database, "ALTER TABLE t ADD KEY by_v (v)", || {
        let rows: Vec<String> = (100..2000).map(|id| format!("({id}, {id}, '')")).collect();
        writer.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    });
    let expected = "ERROR 1799 (HY000): Creating index 'by_v' required more than 'innodb_online_alter_log_max_size' \
                    bytes of modification log. Please try again.";
    assert_eq!(altered, [expected]);
    assert_sound(&database);
    writer.ok("ALTER TABLE t ADD KEY by_v (v)");
    assert_sound(&database);
}

#[test]
fn a_kill_ends_it_while_others_write() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let (mut changer, mut writer) = (client(&database), client(&database));
    let interrupt = changer.session.interrupt();
    let engine = disk.engine.lock().clone();
    let reached = engine.gate_reached();
    let gate = engine.gate().lock();
    let changing = thread::spawn(move || changer.run("ALTER TABLE t ADD KEY (v)"));
    while engine.gate_reached() == reached {
        thread::sleep(Duration::from_millis(1));
    }
    writer.ok("UPDATE t SET v = v + 1");
    interrupt.kill();
    drop(gate);
    let killed = changing.join().expect("no panic");
    assert!(killed[0].starts_with("ERROR 1317"), "{killed:?}");
    assert_sound(&database);
}

/// The change waits for an open reader when everything is written.
fn until_it_waits_for(database: &Arc<Database>, change: &'static str) -> (Client, thread::JoinHandle<Vec<String>>) {
    let mut reader = client(database);
    reader.ok("BEGIN");
    reader.ok("SELECT * FROM t");
    let waits = database.store().lock_stats()[0];
    let mut changer = client(database);
    let changing = thread::spawn(move || changer.run(change));
    until_waiting(database, waits + 1);
    (reader, changing)
}

#[test]
fn whoever_used_the_table_before_and_wants_to_write_makes_no_work_vain() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let (mut reader, changing) = until_it_waits_for(&database, "ALTER TABLE t ADD KEY (v)");
    let victim = reader.run("UPDATE t SET v = 1");
    assert!(victim[0].starts_with("ERROR 1213"), "{victim:?}");
    assert_eq!(changing.join().expect("no panic"), [ALTERED]);
}

#[test]
fn a_wait_for_the_last_lock_that_is_too_long_leaves_nothing() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let mut reader = client(&database);
    reader.ok("BEGIN");
    reader.ok("SELECT * FROM t");
    let mut changer = client(&database);
    changer.session.table_lock_timeout = Duration::from_millis(10);
    for change in ["ALTER TABLE t ADD KEY (v)", "ALTER TABLE t FORCE"] {
        let waited = changer.run(change);
        assert!(waited[0].starts_with("ERROR 1205"), "{waited:?}");
        assert_sound(&database);
    }
}

/// Of the last index of `t`.
fn index_id(database: &Database) -> u32 {
    let catalog = database.catalog.current();
    let table = catalog.table("d", "t").expect("a table");
    table.indexes.last().expect("an index").id
}

#[test]
fn a_crash_before_its_end_leaves_the_table_as_it_was() {
    for change in ["ALTER TABLE t ADD UNIQUE (v)", "ALTER TABLE t FORCE, ADD KEY (v)"] {
        let disk = Disk::new();
        let database = with_rows(&disk);
        let mut writer = client(&database);
        let shown = writer.run("SHOW CREATE TABLE t");
        let first = index_id(&database);
        let mut reader = client(&database);
        reader.ok("BEGIN");
        reader.ok("SELECT * FROM t");
        let waits = database.store().lock_stats()[0];
        let engine = disk.engine.lock().clone();
        let reached = engine.gate_reached();
        let gate = engine.gate().lock();
        let mut changer = client(&database);
        let changing = thread::spawn(move || changer.run(change));
        while engine.gate_reached() == reached {
            thread::sleep(Duration::from_millis(1));
        }
        WRITES.iter().for_each(|sql| writer.ok(sql));
        drop(gate);
        // What they changed is brought there by now, and only the definition is missing.
        until_waiting(&database, waits + 1);
        let after = disk.open();
        let mut client = client(&after);
        assert_eq!(client.run("SHOW CREATE TABLE t"), shown);
        assert_eq!(client.run("SELECT * FROM t ORDER BY id"), LEFT);
        assert_sound(&after);
        client.ok("ALTER TABLE t ADD UNIQUE (v)");
        assert_sound(&after);
        assert!(index_id(&after) > first + 1, "the id that the first attempt wrote under is not used again");
        drop((client, after));
        // A replay of the journal, in which the changes of the first attempt are, does not meet the second one's.
        let again = disk.open();
        assert_sound(&again);
        drop(reader);
        drop(changing);
    }
}

#[test]
fn lock_asks_for_more_and_less() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let mut client = client(&database);
    client.ok("CREATE TABLE n (v INT)");
    for (change, expected) in [
        (
            "ALTER TABLE n ADD id INT AUTO_INCREMENT PRIMARY KEY, LOCK = NONE",
            "Adding an auto-increment column requires a lock",
        ),
        ("ALTER TABLE t MODIFY v BIGINT, LOCK = NONE", "Cannot change column type INPLACE"),
        (
            "ALTER TABLE t DROP PRIMARY KEY, LOCK = NONE",
            "Dropping a primary key is not allowed without also adding a new primary key",
        ),
        ("ALTER TABLE t COMMENT 'x', ALGORITHM = COPY, LOCK = NONE", "COPY algorithm requires a lock"),
    ] {
        let expected = format!("ERROR 1846 (0A000): LOCK=NONE is not supported. Reason: {expected}. Try LOCK=SHARED.");
        assert_eq!(client.run(change), [expected], "{change}");
    }
    for lock in ["SHARED", "EXCLUSIVE"] {
        let mut writer = self::client(&database);
        writer.session.table_lock_timeout = Duration::ZERO;
        let change = format!("ALTER TABLE t FORCE, LOCK = {lock}");
        let altered = altered_beside(&disk, &database, &change, || {
            let refused = writer.run("UPDATE t SET v = 1");
            assert!(refused[0].starts_with("ERROR 1205"), "{lock}: {refused:?}");
        });
        assert_eq!(altered, [ALTERED]);
    }
}

/// Changes that leave `id`, `v` and `s` readable, in either engine.
const CHANGES: &[&str] = &[
    "ADD KEY by_v (v)",
    "DROP KEY by_v",
    "ADD UNIQUE by_s (s)",
    "DROP KEY by_s",
    "FORCE",
    "FORCE, LOCK = SHARED",
    "MODIFY v BIGINT",
    "MODIFY v INT",
    "MODIFY s VARCHAR(300) FIRST",
    "MODIFY s VARCHAR(200) AFTER id",
    "ADD extra INT DEFAULT 5 FIRST, ADD KEY (extra)",
    "DROP extra",
    "ADD plain INT NOT NULL DEFAULT 6 AFTER id",
    "DROP plain",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (s)",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
    "ENGINE = redb",
    "ENGINE = memory",
];

#[test]
fn writers_and_changes_at_random() {
    const WRITERS: u64 = 3;
    let disk = Disk::new();
    let database = disk.open();
    let mut changer = Client::new(&database);
    changer.ok("CREATE DATABASE d");
    changer.ok("USE d");
    changer.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(200) NOT NULL) ENGINE = redb");
    let mut state =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_nanos() as u64;
    if let Ok(seed) = std::env::var("COHORT_SEED") {
        state = seed.parse().expect("a number");
    }
    println!("COHORT_SEED={state}");
    let stop = AtomicBool::new(false);
    let stopped = &stop;
    let rows = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| (client(&database), state ^ (writer + 1) << 56, writer))
            .map(|(client, seed, writer)| scope.spawn(move || write_at_random(client, seed, writer, stopped)))
            .collect();
        let mut done = 0;
        for _ in 0..40 {
            let change = CHANGES[cohort_io::splitmix64(&mut state) as usize % CHANGES.len()];
            let lines = changer.run(&format!("ALTER TABLE t {change}"));
            // It may have been done before.
            let harmless = ["ok ", "ERROR 1061", "ERROR 1091", "ERROR 1060"];
            assert!(harmless.iter().any(|line| lines[0].starts_with(line)), "{change}: {lines:?}");
            done += usize::from(lines[0].starts_with("ok "));
        }
        stopped.store(true, Ordering::Relaxed);
        assert!(done > 10, "{done}");
        let mut rows: Vec<String> = writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect();
        rows.sort();
        rows
    });
    let mut found = changer.run("SELECT id, v, s FROM t");
    found.remove(0);
    found.sort();
    assert_eq!(found, rows);
    assert_sound(&database);
    drop((changer, database));
    let database = disk.open();
    assert_sound(&database);
    let mut found = client(&database).run("SELECT id, v, s FROM t");
    found.remove(0);
    found.sort();
    assert_eq!(found, rows);
}

/// Changes its own rows until it is to stop, and says what they have become.
fn write_at_random(mut client: Client, mut state: u64, writer: u64, stop: &AtomicBool) -> Vec<String> {
    let mut rows = std::collections::BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        let before = rows.clone();
        let mut failed = client.run("BEGIN")[0].starts_with("ERROR");
        for _ in 0..1 + cohort_io::splitmix64(&mut state) % 4 {
            let random = cohort_io::splitmix64(&mut state);
            let id = writer * 1000 + random % 50;
            let v = random >> 32 & 0xffff;
            let sql = match (rows.contains_key(&id), random >> 8 & 3) {
                (false, _) => format!("INSERT INTO t (id, v, s) VALUES ({id}, {v}, 's{id}')"),
                (true, 0) => format!("DELETE FROM t WHERE id = {id}"),
                (true, _) => format!("UPDATE t SET v = {v} WHERE id = {id}"),
            };
            let line = client.run(&sql).remove(0);
            if line.starts_with("ERROR") {
                assert!(line.starts_with("ERROR 1213"), "{sql}: {line}");
                failed = true;
                break;
            }
            match sql.as_bytes()[0] {
                b'D' => drop(rows.remove(&id)),
                _ => drop(rows.insert(id, v)),
            }
        }
        if failed || cohort_io::splitmix64(&mut state).is_multiple_of(5) {
            client.ok("ROLLBACK");
            rows = before;
        } else {
            client.ok("COMMIT");
        }
    }
    rows.into_iter().map(|(id, v)| format!("{id} | {v} | s{id}")).collect()
}

/// What is under it may go at any later time: see `Engine::erase`.
#[test]
fn an_id_under_which_a_start_found_entries_is_not_used_again() {
    let disk = Disk::new();
    let database = with_rows(&disk);
    let engine = database.catalog.current().table("d", "t").expect("a table").engine;
    let left = index_id(&database) + 7;
    let key = [&left.to_be_bytes()[..], &[1; 4]].concat();
    database.store().load(engine, &mut [(key, vec![1])].into_iter()).expect("loaded");
    drop(database);
    let after = disk.open();
    assert_sound(&after);
    client(&after).ok("ALTER TABLE t ADD KEY (v)");
    assert!(index_id(&after) > left, "{}", index_id(&after));
}
