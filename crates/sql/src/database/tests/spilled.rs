//! Queries that keep more than memory is for give what they give in memory, from files.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Client, Disk};
use crate::spill::TemporaryFiles;

/// Each operator that keeps rows, with what it does to them.
const QUERIES: &[&str] = &[
    // Sort: texts, descending, equal keys.
    "SELECT id, s FROM t ORDER BY s, id",
    "SELECT id, d, s FROM t ORDER BY d DESC, s DESC, id LIMIT 1000 OFFSET 500",
    "SELECT CONCAT(s, id), t.* FROM t ORDER BY RAND(7) LIMIT 100",
    // Hash joins, inner and outer, with NULL keys, and with one key that most rows have.
    "SELECT t.id, u.id, u.s FROM t JOIN u ON t.k = u.k WHERE t.id < 400",
    "SELECT t.id, u.id FROM t LEFT JOIN u ON t.n = u.n AND u.id > 20",
    "SELECT COUNT(*), SUM(t.id), SUM(u.id) FROM t LEFT JOIN u ON t.skew = u.skew AND t.id = u.id + 1",
    "SELECT t.id, u.id FROM u RIGHT JOIN t ON t.d = u.d AND t.s = u.s",
    "SELECT a.id, b.id, c.id FROM t AS a JOIN u AS b ON a.k = b.k JOIN t AS c ON c.n = b.n AND c.id < 40 WHERE a.id < 200",
    // Without keys.
    "SELECT COUNT(*), SUM(t.id), SUM(u.id) FROM t LEFT JOIN u ON t.id < u.id + 1 AND (t.id + u.id) % 50 = 0",
    "SELECT t.id, u.id FROM t LEFT JOIN u ON t.id > u.id + 1400 ORDER BY t.id, u.id",
    // The order of the index that the first table is read by.
    "SELECT t.id, u.id FROM t FORCE INDEX (PRIMARY) STRAIGHT_JOIN u ON t.k = u.k ORDER BY t.id LIMIT 700",
    // Groups.
    "SELECT s, n, COUNT(*), SUM(d), MIN(id), MAX(s), AVG(id) FROM t GROUP BY s, n",
    "SELECT -id, MIN(k), COUNT(*) FROM t GROUP BY -id HAVING COUNT(*) = 1",
    "SELECT k, COUNT(DISTINCT s), SUM(DISTINCT n), GROUP_CONCAT(DISTINCT n ORDER BY n) FROM t GROUP BY k",
    "SELECT COUNT(DISTINCT id), COUNT(DISTINCT s, n), SUM(DISTINCT d), AVG(DISTINCT d) FROM t",
    "SELECT k, GROUP_CONCAT(s ORDER BY id DESC SEPARATOR '') FROM t GROUP BY k",
    "SELECT skew, GROUP_CONCAT(id ORDER BY s, id), COUNT(*) FROM t GROUP BY skew",
    "SELECT k, n, COUNT(*), SUM(id) FROM t GROUP BY k, n WITH ROLLUP",
    "SELECT k % 7, s, COUNT(*), COUNT(DISTINCT n), GROUPING(s) FROM t GROUP BY k % 7, s WITH ROLLUP",
    // Distinct rows.
    "SELECT DISTINCT s, n FROM t",
    "SELECT DISTINCT id FROM t ORDER BY id DESC",
    "SELECT DISTINCT s, n FROM t ORDER BY n DESC, s",
    "SELECT DISTINCT skew, k FROM t ORDER BY k, skew LIMIT 100 OFFSET 30",
    "SELECT DISTINCT d, t.k + 0 FROM t",
    // Sets.
    "SELECT s, n FROM t UNION SELECT s, n FROM u",
    "SELECT id FROM t UNION ALL SELECT id FROM u UNION SELECT k FROM t UNION ALL SELECT 5",
    "SELECT id, n FROM t EXCEPT SELECT id, n FROM u",
    "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
    "SELECT k, n FROM t INTERSECT SELECT k, n FROM u",
    "SELECT k FROM t INTERSECT ALL SELECT k FROM u",
    // Windows.
    "SELECT id, ROW_NUMBER() OVER (ORDER BY s, id), RANK() OVER (ORDER BY k), DENSE_RANK() OVER (ORDER BY k) FROM t",
    "SELECT id, SUM(id) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING) FROM t",
    "SELECT id, SUM(id) OVER (ORDER BY id), LAG(s, 400) OVER (ORDER BY id), LEAD(id, 700, -1) OVER (ORDER BY id) FROM t",
    "SELECT id, MAX(n) OVER (ORDER BY id RANGE BETWEEN 500 PRECEDING AND 10 FOLLOWING), NTILE(9) OVER (ORDER BY id) FROM t",
    "SELECT id, FIRST_VALUE(s) OVER w, NTH_VALUE(s, 200) OVER w, PERCENT_RANK() OVER w FROM t WINDOW w AS (ORDER BY k, id)",
    // Tables of WITH, read twice.
    "WITH w AS (SELECT id, s, k FROM t) SELECT a.id, b.s FROM w AS a JOIN w AS b ON a.id = b.id + 1",
    "WITH RECURSIVE w AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM w WHERE i < 900) SELECT COUNT(*), SUM(i) FROM w",
    // JSON_TABLE, of one document and of one for each row.
    "SELECT n, v FROM JSON_TABLE(CONCAT('[', REPEAT('\"some text\",', 900), '0]'), '$[*]' COLUMNS (n FOR ORDINALITY, v TEXT PATH '$')) AS j",
    "SELECT t.id, j.n FROM t, JSON_TABLE(CONCAT('[', REPEAT('1,', t.k % 3 * 300), '0]'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS j WHERE t.id < 9",
    // Semi- and anti-joins, with NULL keys, with one key that most rows have, and without keys.
    "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k AND u.id <> t.id)",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.n = t.n)",
    "SELECT id FROM t WHERE t.n NOT IN (SELECT u.n FROM u WHERE u.k = t.k)",
    "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.skew = t.skew AND u.id + 1 = t.id + 0)",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.skew = t.skew AND u.id > t.id + 900)",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.id + u.k > t.id + 900)",
    "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.id + u.k > t.id + 900)",
    // Queries within.
    "SELECT id FROM t WHERE id IN (SELECT id FROM u WHERE id % 3 = 0)",
    "SELECT COUNT(*) FROM t WHERE (k, n) IN (SELECT k, n FROM u)",
    "SELECT COUNT(*) FROM (SELECT s, n, COUNT(*) AS c FROM t GROUP BY s, n) AS x JOIN u ON x.n = u.n",
];

/// A client with two tables of some thousand rows.
fn filled() -> Client {
    let database = Disk::new().open();
    let mut client = Client::new(&database);
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.session.cte_max_recursion_depth = 10_000;
    client.session.group_concat_max_len = 1 << 20;
    for (table, rows) in [("t", 1500), ("u", 1000)] {
        client.ok(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, k INT, n INT, skew INT, d DECIMAL(8,2), s VARCHAR(40))"
        ));
        client.ok(&format!(
            "INSERT INTO {table} WITH RECURSIVE g AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM g WHERE i < {rows}) \
             SELECT i, i * 7 % 400, IF(i % 11 = 0, NULL, i * 13 % 900), IF(i % 10, 1, i), i % 250 / 4, \
             CONCAT(IF(i % 3, 'word ', 'Wort '), i * 17 % 700) FROM g"
        ));
    }
    client
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// Gives operators so much memory.
fn give(client: &mut Client, bytes: u64) {
    client.session.sort_buffer_size = bytes;
    client.session.join_buffer_size = bytes;
    client.session.tmp_table_size = bytes;
}

#[test]
fn distinct_rows_in_the_order_of_all_columns_are_those_of_groups() {
    let mut client = filled();
    // More rows than are sorted at a time.
    let from = "FROM t JOIN u ON u.id <= 40";
    for columns in ["t.skew", "t.k, t.n", "t.s, u.k", "t.d"] {
        for bytes in [1 << 30, 8_000] {
            for limit in ["", " LIMIT 5", " LIMIT 100 OFFSET 3"] {
                give(&mut client, bytes);
                let groups =
                    client.run(&format!("SELECT {columns} {from} GROUP BY {columns} ORDER BY {columns}{limit}"));
                let distinct = client.run(&format!("SELECT DISTINCT {columns} {from} ORDER BY {columns}{limit}"));
                assert!(groups.len() > 5);
                assert_eq!(distinct, groups, "{columns}{limit}, {bytes} bytes");
            }
        }
    }
}

#[test]
fn the_first_rows_are_those_of_the_whole_order() {
    let mut client = filled();
    for sql in
        ["SELECT id, k FROM t ORDER BY k % 7", "SELECT id, s FROM t ORDER BY s DESC", "SELECT id FROM t ORDER BY -id"]
    {
        for bytes in [1 << 30, 8_000] {
            give(&mut client, bytes);
            let mut whole = client.run(sql);
            let header = whole.remove(0);
            for (count, offset) in [(1, 0), (10, 0), (10, 25), (40, 0), (300, 7), (1000, 600), (9, 1495)] {
                let limited = format!("{sql} LIMIT {count} OFFSET {offset}");
                let rows = whole.iter().skip(offset).take(count);
                let expected: Vec<String> = std::iter::once(&header).chain(rows).cloned().collect();
                assert_eq!(client.run(&limited), expected, "{limited}, {bytes} bytes");
                let counted = limited.replace("SELECT", "SELECT SQL_CALC_FOUND_ROWS");
                assert_eq!(client.run(&counted), expected, "{counted}, {bytes} bytes");
                assert_eq!(client.run("SELECT FOUND_ROWS()")[1..], ["1500"]);
            }
        }
    }
}

#[test]
fn the_least_memory_does_not_make_a_file_for_each_row() {
    let mut client = filled();
    let files = Arc::new(TemporaryFiles::default());
    client.session.temporary_files = files.clone();
    let sql = "SELECT COUNT(*), SUM(a.id), SUM(b.id) FROM t AS a JOIN t AS b ON a.id = b.id AND a.s = b.s";
    let expected = client.run(sql);
    give(&mut client, 1);
    assert_eq!(client.run(sql), expected);
    let made = files.files.load(Ordering::Relaxed);
    assert!((1..=1000).contains(&made), "{made} files");
}

#[test]
fn answers_from_files_are_those_from_memory() {
    let mut client = filled();
    let files = Arc::new(TemporaryFiles::default());
    client.session.temporary_files = files.clone();
    for sql in QUERIES {
        give(&mut client, 1 << 30);
        let expected = client.run(sql);
        assert!(expected.len() > 1, "{sql}: {expected:?}");
        assert_eq!(files.files.load(Ordering::Relaxed), 0, "{sql}");
        for bytes in [8_000, 60_000] {
            give(&mut client, bytes);
            let found = client.run(sql);
            let ordered = sql.contains(" ORDER BY ") && !sql.contains("OVER") && !sql.contains("GROUP BY");
            match ordered {
                true => assert_eq!(found, expected, "{sql} with {bytes} bytes"),
                false => assert_eq!(sorted(found), sorted(expected.clone()), "{sql} with {bytes} bytes"),
            }
            let made = files.files.swap(0, Ordering::Relaxed);
            assert!(made > 0 || bytes > 8_000 || sql.contains("IN (SELECT"), "{sql} needed no file");
        }
    }
    assert!(files.merge_passes.load(Ordering::Relaxed) > 0);
    assert!(files.tables.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_change_of_sorted_rows_goes_through_files() {
    let mut client = filled();
    give(&mut client, 0);
    client.ok("UPDATE t SET id = id + 10000 ORDER BY s DESC, id LIMIT 1100");
    client.ok("DELETE FROM u ORDER BY d, id LIMIT 900");
    assert_eq!(client.run("SELECT COUNT(*), SUM(id > 10000) FROM t"), ["COUNT(*) | SUM(id > 10000)", "1500 | 1100"]);
    assert_eq!(client.run("SELECT COUNT(*), MIN(d) FROM u"), ["COUNT(*) | MIN(d)", "100 | 56.25"]);
}

#[test]
fn an_update_on_duplicates_has_the_values_of_its_distinct_row() {
    let mut client = filled();
    client.ok("CREATE TABLE o (id INT PRIMARY KEY, n INT)");
    client.ok("INSERT INTO o (id) SELECT id FROM t");
    give(&mut client, 8_000);
    client.ok("INSERT INTO o (id) SELECT DISTINCT id FROM t ON DUPLICATE KEY UPDATE n = t.k");
    assert!(client.session.temporary_files.files.load(Ordering::Relaxed) > 0);
    let wrong = client.run("SELECT COUNT(*) FROM o JOIN t ON t.id = o.id WHERE NOT o.n <=> t.k");
    assert_eq!(wrong, ["COUNT(*)", "0"]);
}

#[test]
fn without_room_for_files_a_statement_fails_and_the_next_one_runs() {
    let mut client = filled();
    give(&mut client, 0);
    let files = client.session.temporary_files.clone();
    client.session.temporary_files = Arc::new(TemporaryFiles::new("/nonexistent/folder".into()));
    client.ok("BEGIN");
    client.ok("DELETE FROM t WHERE id = 1");
    let failed = client.run("INSERT INTO t SELECT id + 100000, k, n, skew, d, s FROM t ORDER BY s");
    assert!(failed[0].contains("1026"), "{failed:?}");
    client.session.temporary_files = files;
    assert_eq!(client.run("SELECT COUNT(*) FROM t"), ["COUNT(*)", "1499"]);
    client.ok("ROLLBACK");
}

#[test]
fn a_kill_ends_what_goes_through_files() {
    for sql in [
        "SELECT a.s FROM t AS a, t AS b, t AS c ORDER BY a.s",
        "SELECT COUNT(*) FROM t AS a, t AS b, t AS c GROUP BY a.id, b.id, c.id",
        "SELECT DISTINCT a.id, b.id, c.id FROM t AS a, t AS b, t AS c",
        "SELECT COUNT(DISTINCT a.id, b.id, c.id) FROM t AS a, t AS b, t AS c",
        "SELECT a.id, b.id, c.id FROM t AS a, t AS b, t AS c EXCEPT SELECT id, id, id FROM t",
        "SELECT COUNT(*) FROM t AS x JOIN (SELECT a.id FROM t AS a, t AS b, t AS c) AS y ON x.id = y.id",
        "SELECT ROW_NUMBER() OVER (ORDER BY a.s) FROM t AS a, t AS b, t AS c",
        "WITH w AS (SELECT a.id FROM t AS a, t AS b, t AS c) SELECT COUNT(*) FROM w",
    ] {
        let mut client = filled();
        give(&mut client, 0);
        let (interrupt, files) = (client.session.interrupt(), client.session.temporary_files.clone());
        let killer = std::thread::spawn(move || {
            let deadline = Instant::now() + Duration::from_secs(60);
            while files.files.load(Ordering::Relaxed) == 0 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            interrupt.kill();
        });
        let seen = client.run(sql);
        assert!(seen.last().is_some_and(|line| line.contains("1317")), "{sql}: {:?}", seen.last());
        killer.join().expect("the killer ends");
    }
}
