//! What locking statements find while others change it; the answers are InnoDB's.

use std::sync::Arc;
use std::thread;

use super::waiting::{client, until_waiting};
use super::*;

/// A database with a table of what is in the brackets of CREATE TABLE, and rows, in either engine.
fn each_engine(columns: &str, rows: &str, test: impl Fn(&Arc<Database>)) {
    for engine in ["RocksDB", "redb"] {
        let database = Disk::new().open();
        let mut setup = Client::new(&database);
        setup.ok("CREATE DATABASE d");
        setup.ok("USE d");
        setup.ok(&format!("CREATE TABLE t ({columns}) ENGINE={engine}"));
        setup.ok(&format!("INSERT INTO t VALUES {rows}"));
        test(&database);
    }
}

/// Runs `sql` in `session`, which is to wait, then `meanwhile`; returns the session and the answer.
fn waits(
    database: &Arc<Database>,
    mut session: Client,
    sql: &'static str,
    meanwhile: impl FnOnce(),
) -> (Client, Vec<String>) {
    let before = database.store().lock_stats()[0];
    let waiting = thread::spawn(move || {
        let answer = session.run(sql);
        (session, answer)
    });
    until_waiting(database, before + 1);
    assert!(!waiting.is_finished());
    meanwhile();
    waiting.join().expect("no panic")
}

fn begun(database: &Arc<Database>, isolation: &str) -> Client {
    let mut session = client(database);
    session.ok(&format!("SET TRANSACTION ISOLATION LEVEL {isolation}"));
    session.ok("BEGIN");
    session
}

const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

#[test]
fn a_change_never_meets_its_own_rows() {
    each_engine("id INT PRIMARY KEY, k INT, KEY (k)", "(1, 1), (2, 3), (95, 95)", |database| {
        let mut a = client(database);
        a.ok("UPDATE t SET k = k + 2 WHERE k IN (1, 3)");
        assert_eq!(a.run("SELECT id, k FROM t ORDER BY id"), ["id | k", "1 | 3", "2 | 5", "95 | 95"]);
        a.ok("UPDATE t SET id = id + 100 WHERE id < 10 OR id > 90");
        assert_eq!(a.run("SELECT id FROM t ORDER BY id"), ["id", "101", "102", "195"]);
        a.ok("UPDATE t SET k = k + 1 WHERE k > 0 ORDER BY k LIMIT 2");
        assert_eq!(a.run("SELECT k FROM t ORDER BY id"), ["k", "4", "6", "95"]);
        a.ok("UPDATE t SET k = k + 1 WHERE k > 0 LIMIT 1");
        assert_eq!(a.run("SELECT k FROM t ORDER BY id"), ["k", "5", "6", "95"]);
        a.ok("UPDATE t SET id = id + 1000");
        assert_eq!(a.run("SELECT id FROM t ORDER BY id"), ["id", "1101", "1102", "1195"]);
    });
}

#[test]
fn a_row_that_moved_to_a_later_range_is_met_there_alone() {
    for (sql, found) in [
        ("UPDATE t SET x = x + 1 WHERE k IN (1, 3)", vec!["ok 1 (Rows matched: 1  Changed: 1  Warnings: 0)"]),
        ("SELECT id FROM t WHERE k IN (1, 3) FOR UPDATE", vec!["id", "1"]),
    ] {
        each_engine("id INT PRIMARY KEY, k INT, x INT, KEY (k)", "(1, 1, 0)", |database| {
            let mut a = begun(database, "REPEATABLE READ");
            a.ok("UPDATE t SET k = 3 WHERE id = 1");
            let (_, answer) = waits(database, client(database), sql, || a.ok("COMMIT"));
            assert_eq!(answer, found, "{sql}");
        });
    }
}

#[test]
fn what_was_committed_while_it_waited_is_found() {
    for isolation in LEVELS {
        each_engine("id INT PRIMARY KEY, k INT, KEY (k)", "(10, 1), (20, 1), (30, 2)", |database| {
            let mut a = begun(database, "REPEATABLE READ");
            a.ok("UPDATE t SET k = 1 WHERE id = 10");
            a.ok("DELETE FROM t WHERE id = 20");
            a.ok("INSERT INTO t VALUES (15, 1), (25, 1)");
            a.ok("UPDATE t SET k = 1 WHERE id = 30");
            let b = begun(database, isolation);
            let sql = "SELECT id FROM t WHERE k = 1 FOR UPDATE";
            let (_, answer) = waits(database, b, sql, || a.ok("COMMIT"));
            assert_eq!(answer, ["id", "10", "15", "25", "30"], "{isolation}");
        });
    }
}

#[test]
fn rows_are_judged_when_they_are_locked() {
    for isolation in LEVELS {
        each_engine("id INT PRIMARY KEY, value INT", "(1, 10), (2, 30)", |database| {
            let mut a = begun(database, "REPEATABLE READ");
            a.ok("UPDATE t SET value = value + 10 WHERE id = 1");
            let b = begun(database, isolation);
            let (mut b, answer) = waits(database, b, "DELETE FROM t WHERE value = 20", || a.ok("COMMIT"));
            assert_eq!(answer, ["ok 1"], "{isolation}");
            b.ok("COMMIT");
        });
    }
    each_engine("id INT PRIMARY KEY, flag INT", "(1, 1), (2, 0)", |database| {
        let mut a = begun(database, "REPEATABLE READ");
        a.ok("UPDATE t SET flag = 1 - flag");
        let b = begun(database, "REPEATABLE READ");
        let (mut b, answer) = waits(database, b, "UPDATE t SET flag = 5 WHERE flag = 1", || a.ok("COMMIT"));
        assert_eq!(answer, ["ok 1 (Rows matched: 1  Changed: 1  Warnings: 0)"]);
        assert_eq!(b.run("SELECT flag FROM t ORDER BY id"), ["flag", "0", "5"]);
    });
}

#[test]
fn a_unique_entry_that_changes_hands_is_waited_for() {
    each_engine("id INT PRIMARY KEY, u INT, x INT, UNIQUE KEY (u)", "(1, 7, 0)", |database| {
        let mut a = begun(database, "REPEATABLE READ");
        a.ok("REPLACE INTO t VALUES (2, 7, 0)");
        let sql = "UPDATE t SET x = 1 WHERE u = 7";
        let (mut b, answer) = waits(database, client(database), sql, || a.ok("COMMIT"));
        assert_eq!(answer, ["ok 1 (Rows matched: 1  Changed: 1  Warnings: 0)"]);
        assert_eq!(b.run("SELECT id, x FROM t"), ["id | x", "2 | 1"]);
    });
}

#[test]
fn a_unique_entry_that_leads_to_another_row_after_the_wait_is_followed() {
    for sql in ["SELECT id FROM t WHERE u <= 3 OR u >= 7 FOR SHARE", "SELECT id FROM t WHERE u = 21 FOR UPDATE"] {
        each_engine("id INT PRIMARY KEY, u INT NOT NULL, UNIQUE KEY (u)", "(28, 21)", |database| {
            let mut a = begun(database, "REPEATABLE READ");
            a.ok("UPDATE t SET id = 20 WHERE id = 28");
            let b = begun(database, "REPEATABLE READ");
            let (_, answer) = waits(database, b, sql, || a.ok("COMMIT"));
            assert_eq!(answer, ["id", "20"], "{sql}");
        });
    }
}

#[test]
fn a_unique_entry_that_moved_ahead_of_the_scan_after_the_wait_is_met_there() {
    for isolation in LEVELS {
        each_engine("id INT PRIMARY KEY, u INT NOT NULL UNIQUE", "(2, 28)", |database| {
            let mut a = begun(database, "REPEATABLE READ");
            a.ok("UPDATE t SET u = 128 WHERE id = 2");
            let b = begun(database, isolation);
            let sql = "SELECT id, u FROM t FORCE INDEX (u) WHERE u > 9 FOR UPDATE";
            let (_, answer) = waits(database, b, sql, || a.ok("COMMIT"));
            assert_eq!(answer, ["id | u", "2 | 128"], "{isolation}");
        });
    }
}

#[test]
fn a_row_is_deleted_and_put_again_beside_a_scan_that_waits_for_it() {
    for sql in [
        "SELECT id FROM t WHERE id > 0 FOR UPDATE",
        "SELECT id FROM t WHERE id > 0 ORDER BY id DESC FOR UPDATE",
        "SELECT id FROM t FORCE INDEX (k) WHERE k > 0 FOR UPDATE",
        "SELECT id FROM t FORCE INDEX (u) WHERE u > 0 FOR UPDATE",
    ] {
        let columns = "id INT PRIMARY KEY, k INT NOT NULL, u INT NOT NULL, KEY (k), UNIQUE (u)";
        each_engine(columns, "(2, 2, 2)", |database| {
            let mut a = begun(database, "REPEATABLE READ");
            a.ok("DELETE FROM t WHERE id = 2");
            let b = begun(database, "REPEATABLE READ");
            let (_, answer) = waits(database, b, sql, || {
                a.ok("INSERT INTO t VALUES (2, 2, 2)");
                a.ok("COMMIT");
            });
            assert_eq!(answer, ["id", "2"], "{sql}");
        });
    }
}

#[test]
fn the_key_of_a_row_that_is_gone_after_the_wait_is_locked_against_inserts() {
    for sql in [
        "SELECT id FROM t WHERE id > 0 FOR UPDATE",
        "SELECT id FROM t WHERE id > 0 ORDER BY id DESC FOR UPDATE",
        "SELECT id FROM t FORCE INDEX (u) WHERE u > 0 FOR UPDATE",
    ] {
        each_engine("id INT PRIMARY KEY, u INT NOT NULL UNIQUE", "(2, 2)", |database| {
            let mut a = begun(database, "REPEATABLE READ");
            a.ok("DELETE FROM t WHERE id = 2");
            let b = begun(database, "REPEATABLE READ");
            let (mut b, answer) = waits(database, b, sql, || a.ok("COMMIT"));
            assert_eq!(answer, ["id"], "{sql}");
            let (_, answer) = waits(database, client(database), "INSERT INTO t VALUES (2, 2)", || {
                assert_eq!(b.run(sql), ["id"], "{sql}");
                b.ok("COMMIT");
            });
            assert_eq!(answer, ["ok 1"], "{sql}");
        });
    }
}

#[test]
fn an_update_at_read_committed_does_not_wait_for_rows_that_do_not_match() {
    each_engine("id INT PRIMARY KEY, v INT", "(1, 1), (2, 2)", |database| {
        let mut a = begun(database, "READ COMMITTED");
        a.ok("UPDATE t SET v = 5 WHERE v = 1");
        let mut b = begun(database, "READ COMMITTED");
        assert_eq!(b.run("UPDATE t SET v = 6 WHERE v = 2")[0], "ok 1 (Rows matched: 1  Changed: 1  Warnings: 0)");
        // What does not match is not kept locked either.
        let mut c = begun(database, "READ COMMITTED");
        c.session.row_lock_timeout = std::time::Duration::from_millis(20);
        a.ok("ROLLBACK");
        assert_eq!(c.run("DELETE FROM t WHERE id = 1"), ["ok 1"]);
        assert!(c.run("DELETE FROM t WHERE v = 1")[0].starts_with("ERROR 1205"), "a DELETE waits for row 2");
    });
}

#[test]
fn phantoms_wait_from_repeatable_read_on() {
    for isolation in LEVELS {
        each_engine("id INT PRIMARY KEY, k INT, KEY (k)", "(10, 10), (20, 20), (30, 30)", |database| {
            for (read, inside, outside) in [
                ("SELECT id FROM t WHERE id BETWEEN 12 AND 25 FOR UPDATE", "(15, 0)", "(26, 0)"),
                ("SELECT id FROM t WHERE k = 20 LOCK IN SHARE MODE", "(1, 20)", "(2, 21)"),
                ("SELECT id FROM t WHERE k > 20 FOR UPDATE", "(1, 40)", "(2, 20)"),
                ("UPDATE t SET k = k WHERE k < 15", "(1, 5)", "(2, 15)"),
                ("SELECT id FROM t WHERE id = 17 FOR UPDATE", "(17, 0)", "(18, 0)"),
                ("DELETE FROM t WHERE k IN (11, 12)", "(1, 12)", "(2, 13)"),
            ] {
                let mut a = begun(database, isolation);
                let found = a.run(read);
                let mut b = client(database);
                b.session.row_lock_timeout = std::time::Duration::from_millis(20);
                b.ok("BEGIN");
                let answer = b.run(&format!("INSERT INTO t VALUES {inside}"));
                let waited = answer[0].starts_with("ERROR 1205");
                assert_eq!(waited, ["REPEATABLE READ", "SERIALIZABLE"].contains(&isolation), "{isolation} {read}");
                assert_eq!(b.run(&format!("INSERT INTO t VALUES {outside}")), ["ok 1"], "{isolation} {read}");
                b.ok("ROLLBACK");
                assert_eq!(a.run(read), found);
                a.ok("ROLLBACK");
            }
        });
    }
}

#[test]
fn a_point_that_exists_locks_no_gap() {
    each_engine("id INT PRIMARY KEY, u INT, UNIQUE KEY (u)", "(10, 10), (20, 20)", |database| {
        let mut a = begun(database, "REPEATABLE READ");
        a.ok("SELECT id FROM t WHERE id = 10 FOR UPDATE");
        a.ok("SELECT id FROM t WHERE u = 20 FOR UPDATE");
        client(database).ok("INSERT INTO t VALUES (9, 9), (11, 11), (19, 19), (21, 21)");
    });
}

#[test]
fn two_that_miss_a_row_may_both_look_and_one_inserts_it() {
    each_engine("id INT PRIMARY KEY", "(10), (20)", |database| {
        let (mut a, mut b) = (begun(database, "REPEATABLE READ"), begun(database, "REPEATABLE READ"));
        a.ok("SELECT id FROM t WHERE id = 15 FOR UPDATE");
        let insert = "INSERT INTO t VALUES (15)";
        let (_, answer) = waits(database, client(database), insert, || {
            // Whoever has looked can insert; who waits to insert holds nothing.
            a.ok("INSERT INTO t VALUES (15)");
            a.ok("COMMIT");
        });
        assert!(answer[0].starts_with("ERROR 1062"), "{answer:?}");
        b.ok("SELECT id FROM t WHERE id = 16 FOR UPDATE");
        let mut c = begun(database, "REPEATABLE READ");
        c.ok("SELECT id FROM t WHERE id = 16 FOR UPDATE");
        let (_, answer) = waits(database, b, "INSERT INTO t VALUES (16)", || {
            assert!(c.run("INSERT INTO t VALUES (16)")[0].starts_with("ERROR 1213"));
        });
        assert_eq!(answer, ["ok 1"]);
    });
}

#[test]
fn write_skew_is_a_deadlock_at_serializable() {
    each_engine("id INT PRIMARY KEY, on_call INT", "(1, 1), (2, 1)", |database| {
        let (mut a, mut b) = (begun(database, "SERIALIZABLE"), begun(database, "SERIALIZABLE"));
        for session in [&mut a, &mut b] {
            assert_eq!(session.run("SELECT COUNT(*) FROM t WHERE on_call = 1"), ["COUNT(*)", "2"]);
        }
        let (mut a, answer) = waits(database, a, "UPDATE t SET on_call = 0 WHERE id = 1", || {
            assert!(b.run("UPDATE t SET on_call = 0 WHERE id = 2")[0].starts_with("ERROR 1213"));
        });
        assert_eq!(answer, ["ok 1 (Rows matched: 1  Changed: 1  Warnings: 0)"]);
        a.ok("COMMIT");
    });
}

#[test]
fn a_plain_read_outside_of_a_transaction_locks_nothing_at_serializable() {
    each_engine("id INT PRIMARY KEY, v INT", "(1, 1)", |database| {
        let mut a = begun(database, "REPEATABLE READ");
        a.ok("UPDATE t SET v = 2 WHERE id = 1");
        let mut b = client(database);
        b.session.isolation = cohort_txn::Isolation::Serializable;
        assert_eq!(b.run("SELECT v FROM t"), ["v", "1"]);
        b.session.row_lock_timeout = std::time::Duration::from_millis(20);
        b.ok("BEGIN");
        assert!(b.run("SELECT v FROM t")[0].starts_with("ERROR 1205"));
    });
}

#[test]
fn the_source_of_an_insert_is_locked_but_at_read_committed() {
    for (isolation, locked) in [("READ COMMITTED", false), ("REPEATABLE READ", true)] {
        each_engine("id INT PRIMARY KEY, v INT", "(1, 1), (5, 5)", |database| {
            client(database).ok("CREATE TABLE copy (id INT PRIMARY KEY, v INT)");
            let mut a = begun(database, isolation);
            assert_eq!(
                a.run("INSERT INTO copy SELECT id, v FROM t")[0],
                "ok 2 (Records: 2  Duplicates: 0  Warnings: 0)"
            );
            let mut b = client(database);
            b.session.row_lock_timeout = std::time::Duration::from_millis(20);
            for sql in ["UPDATE t SET v = 2 WHERE id = 1", "INSERT INTO t VALUES (3, 3)"] {
                assert_eq!(b.run(sql)[0].starts_with("ERROR 1205"), locked, "{isolation} {sql}");
            }
        });
    }
}

/// A table of 400 rows, 40 for each value of `a` and of `b`, and 4 for each pair and for each value of `c`; with a session
/// that has begun at SERIALIZABLE, and one that does not wait.
fn at_serializable(test: impl Fn(Client, Client)) {
    let rows: Vec<String> = (0..400).map(|id| format!("({id}, {}, {}, {})", id % 10, id / 10 % 10, id / 4)).collect();
    each_engine("id INT PRIMARY KEY, a INT, b INT, c INT, KEY (a), KEY (b), KEY (c)", &rows.join(", "), |database| {
        client(database).ok("ANALYZE TABLE t");
        let mut other = client(database);
        other.session.row_lock_timeout = std::time::Duration::from_millis(20);
        test(begun(database, "SERIALIZABLE"), other);
    });
}

#[test]
fn a_union_of_indexes_that_is_locked_has_no_phantoms() {
    at_serializable(|mut a, mut b| {
        let query = "SELECT COUNT(*) FROM t WHERE a = 11 OR c = 200";
        assert!(a.run(&format!("EXPLAIN {query}"))[1].contains("union(a,c)"));
        assert_eq!(a.run(query), ["COUNT(*)", "0"]);
        assert!(b.run("INSERT INTO t VALUES (1000, 0, 0, 200)")[0].starts_with("ERROR 1205"));
    });
}

#[test]
fn an_intersection_of_indexes_that_is_locked_locks_one_of_them() {
    at_serializable(|mut a, mut b| {
        let query = "SELECT COUNT(*) FROM t WHERE a = 1 AND b = 2";
        assert!(a.run(&format!("EXPLAIN {query}"))[1].contains("intersect(a,b)"));
        assert_eq!(a.run(query), ["COUNT(*)", "4"]);
        assert!(b.run("INSERT INTO t VALUES (1000, 1, 2, 0)")[0].starts_with("ERROR 1205"));
        b.ok("INSERT INTO t VALUES (1000, 5, 2, 0)");
    });
}

#[test]
fn undone_inserts_hold_nobody_up() {
    each_engine("id INT PRIMARY KEY, k INT, KEY (k)", "(10, 10)", |database| {
        let mut a = begun(database, "REPEATABLE READ");
        a.ok("SAVEPOINT s");
        a.ok("INSERT INTO t VALUES (15, 15)");
        a.ok("ROLLBACK TO s");
        assert!(a.run("INSERT INTO t VALUES (16, 16), (10, 10)")[0].starts_with("ERROR 1062"));
        let mut b = client(database);
        b.session.row_lock_timeout = std::time::Duration::from_millis(20);
        assert_eq!(
            b.run("INSERT INTO t VALUES (15, 15), (16, 16)")[0],
            "ok 2 (Records: 2  Duplicates: 0  Warnings: 0)"
        );
        assert_eq!(b.run("SELECT id FROM t WHERE k > 10 FOR UPDATE"), ["id", "15", "16"]);
    });
}

#[test]
fn a_key_that_was_claimed_in_vain_is_free() {
    each_engine("id INT PRIMARY KEY, u INT, UNIQUE KEY (u)", "(28, 11), (30, 12)", |database| {
        for sql in [
            "INSERT IGNORE INTO t VALUES (6, 11)",
            "INSERT INTO t VALUES (6, 11) ON DUPLICATE KEY UPDATE u = 11",
            "UPDATE IGNORE t SET id = 6, u = 12 WHERE id = 28",
        ] {
            let mut a = begun(database, "READ COMMITTED");
            a.run(sql);
            let mut b = begun(database, "READ COMMITTED");
            b.session.row_lock_timeout = std::time::Duration::from_millis(20);
            assert_eq!(b.run("SELECT id FROM t WHERE id > 4 AND id < 21 FOR UPDATE"), ["id"], "{sql}");
            b.ok("INSERT INTO t VALUES (6, 60)");
            b.ok("ROLLBACK");
            a.ok("ROLLBACK");
        }
    });
}

#[test]
fn a_row_that_was_put_again_in_vain_is_still_waited_for() {
    for again in [
        "INSERT INTO t VALUES (14, 21)",
        "INSERT IGNORE INTO t VALUES (14, 21)",
        "SAVEPOINT s; DELETE FROM t WHERE id = 14; INSERT INTO t VALUES (14, 14); ROLLBACK TO s",
    ] {
        for sql in
            ["SELECT id FROM t WHERE id > 4 FOR UPDATE", "SELECT id FROM t FORCE INDEX (k) WHERE k > 4 FOR UPDATE"]
        {
            each_engine("id INT PRIMARY KEY, k INT NOT NULL, KEY (k)", "(19, 19)", |database| {
                let mut a = begun(database, "REPEATABLE READ");
                a.ok("INSERT INTO t VALUES (14, 14)");
                for statement in again.split("; ") {
                    a.run(statement);
                }
                let (_, answer) = waits(database, begun(database, "READ COMMITTED"), sql, || a.ok("COMMIT"));
                assert_eq!(answer, ["id", "14", "19"], "{again}, {sql}");
            });
        }
    }
}

#[test]
fn a_comparison_does_not_scan_nulls() {
    each_engine("id INT PRIMARY KEY, k INT, KEY (k)", "(1, NULL), (2, 5), (3, NULL)", |database| {
        let mut a = begun(database, "REPEATABLE READ");
        a.ok("UPDATE t SET id = 10 WHERE id = 1");
        let mut b = begun(database, "REPEATABLE READ");
        b.session.row_lock_timeout = std::time::Duration::from_millis(20);
        assert_eq!(b.run("SELECT id FROM t WHERE k < 7 FOR UPDATE"), ["id", "2"]);
        assert_eq!(b.run("SELECT id FROM t WHERE k <= 5 OR k > 100 FOR UPDATE"), ["id", "2"]);
        assert!(b.run("SELECT id FROM t WHERE k IS NULL FOR UPDATE")[0].starts_with("ERROR 1205"));
    });
}

#[test]
fn values_of_a_unique_key_are_points() {
    each_engine("a INT, b INT, c INT, PRIMARY KEY (a, b)", "(1, 1, 1), (1, 3, 3), (1, 5, 5), (2, 3, 0)", |database| {
        let mut a = client(database);
        for (condition, order, expected) in [
            ("a = 1 AND b IN (5, 1, 4, 1, 3)", "", vec!["c", "1", "3", "5"]),
            ("a = 1 AND b IN (5, 1, 4)", "ORDER BY b DESC", vec!["c", "5", "1"]),
            ("a = 1 AND b IN (5, 1, 4)", "ORDER BY b DESC LIMIT 1", vec!["c", "5"]),
            ("a = 1 AND b IN (NULL, '3')", "", vec!["c", "3"]),
            ("a = 1 AND b IN (7, NULL)", "", vec!["c"]),
        ] {
            for locking in ["", "FOR UPDATE"] {
                let sql = format!("SELECT c FROM t WHERE {condition} {order} {locking}");
                assert_eq!(a.run(&sql), expected, "{sql}");
            }
        }
        a.ok("BEGIN");
        a.ok("SELECT c FROM t WHERE a = 1 AND b IN (1, 4) FOR UPDATE");
        let mut b = client(database);
        b.session.row_lock_timeout = std::time::Duration::from_millis(20);
        b.ok("INSERT INTO t VALUES (1, 0, 0), (1, 2, 0)");
        assert!(b.run("INSERT INTO t VALUES (1, 4, 0)")[0].starts_with("ERROR 1205"));
    });
}
