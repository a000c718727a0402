//! `check_tables` against tables that are sound, and with each entry of theirs taken away or doubled.

use cohort_engine::{Direction, KeyRange, next_key};

use super::*;
use crate::check::check_tables;

/// Index ids that tables use begin here.
const TABLES: KeyRangeBytes = (&[0, 0, 0, 16], &[0xff; 5]);
type KeyRangeBytes = (&'static [u8], &'static [u8]);

fn database() -> Arc<Database> {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), b INT, c INT DEFAULT 9, UNIQUE KEY (a), KEY (b))",
        "INSERT INTO t (id, a, b) VALUES (1, 'x', 5), (2, 'y', 5), (3, NULL, NULL)",
        "CREATE INDEX c ON t (c)",
        "CREATE TABLE h (a INT, KEY (a))",
        "INSERT INTO h VALUES (1), (1), (NULL)",
        "UPDATE t SET b = 6 WHERE id = 2",
    ] {
        client.ok(sql);
    }
    database
}

fn faults(database: &Database) -> Vec<String> {
    let check = check_tables(database.store().engines(), &mut |_| {});
    assert_eq!(check.notes, Vec::<String>::new());
    check.faults
}

fn all_entries(database: &Database) -> Vec<KeyValue> {
    let range = KeyRange { lower: TABLES.0.to_vec(), upper: TABLES.1.to_vec() };
    let mut cursor = database.store().engines()[0].cursor(&range, Direction::Forward).expect("a cursor");
    let mut entries = Vec::new();
    while let Some(entry) = cursor.next().expect("an entry") {
        entries.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    entries
}

fn put(database: &Database, key: &[u8], value: &[u8]) {
    let mut entries = std::iter::once((key.to_vec(), value.to_vec()));
    database.store().load(CATALOG_ENGINE, &mut entries).expect("an entry is loaded");
}

fn erase(database: &Database, key: &[u8]) {
    let range = KeyRange { lower: key.to_vec(), upper: next_key(key) };
    database.store().erase(CATALOG_ENGINE, &range).expect("an entry is erased");
}

#[test]
fn sound_tables_have_no_faults_and_are_counted() {
    let database = database();
    let check = check_tables(database.store().engines(), &mut |_| {});
    assert_eq!(check.faults, Vec::<String>::new());
    let counts: Vec<(&str, u64, Vec<u64>)> = check
        .tables
        .iter()
        .map(|table| (&*table.name, table.rows, table.indexes.iter().map(|index| index.entries).collect()))
        .collect();
    assert_eq!(counts, [("d.h", 3, vec![3]), ("d.t", 3, vec![3, 3, 3])]);
}

#[test]
fn every_missing_row_or_index_entry_is_found() {
    let database = database();
    let entries = all_entries(&database);
    assert_eq!(entries.len(), 6 + 12);
    for (key, value) in &entries {
        erase(&database, key);
        assert!(!faults(&database).is_empty(), "{key:02x?} is missing unseen");
        put(&database, key, value);
        assert_eq!(faults(&database), Vec::<String>::new());
    }
}

#[test]
fn entries_of_no_row_and_changed_entries_are_found() {
    let database = database();
    for (key, value) in all_entries(&database) {
        let mut other = key.clone();
        *other.last_mut().expect("keys have bytes") ^= 0x40;
        put(&database, &other, &value);
        assert!(!faults(&database).is_empty(), "{other:02x?} is there unseen");
        erase(&database, &other);
        if let Some((last, front)) = value.split_last() {
            put(&database, &key, &[front, &[last ^ 1]].concat());
            assert!(!faults(&database).is_empty(), "{key:02x?} has another value unseen");
            put(&database, &key, &value);
        }
    }
    assert_eq!(faults(&database), Vec::<String>::new());
}

#[test]
fn what_no_table_names_is_a_note_and_a_damaged_catalog_a_fault() {
    let database = database();
    put(&database, &[0, 0, 19, 0, 1], b"x");
    let check = check_tables(database.store().engines(), &mut |_| {});
    assert_eq!((check.notes.len(), check.faults.len()), (1, 0));
    erase(&database, &[0, 0, 19, 0, 1]);
    put(&database, &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9], b"no definition");
    assert!(faults(&database)[0].starts_with("the catalog cannot be read"));
}
