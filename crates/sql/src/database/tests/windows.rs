//! Functions that need rows of a table: those over windows, and GROUPING().

use super::*;
use crate::expr::Function;

#[test]
fn every_example_gives_its_answer_for_the_last_row() {
    let mut client = Client::new(&Disk::new().open());
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (x INT)");
    client.ok("INSERT INTO t VALUES (4), (2), (1), (2)");
    for (example, answer) in Function::examples_over_rows() {
        let grouping = if example.starts_with("GROUPING") { " GROUP BY x WITH ROLLUP" } else { "" };
        let lines = client.run(&format!("SELECT {example} FROM t{grouping}"));
        assert_eq!(lines.last().map(String::as_str), Some(answer), "{example}: {lines:?}");
    }
}

/// A frame that only moves on costs no more for each row, whatever its length is: this would take hours otherwise.
#[test]
fn frames_are_not_gone_over_for_every_row() {
    let mut client = Client::new(&Disk::new().open());
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (x INT)");
    client.ok("INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7), (8)");
    for _ in 0..13 {
        client.ok("INSERT INTO t SELECT x FROM t");
    }
    let frame = "OVER (ORDER BY x DESC ROWS BETWEEN 30000 PRECEDING AND 30000 FOLLOWING)";
    let functions = format!("SUM(x) {frame}, MAX(x) {frame}, MIN(x) {frame}, COUNT(*) {frame}, LAST_VALUE(x) {frame}");
    let lines = client.run(&format!("SELECT {functions} FROM t LIMIT 1"));
    assert_eq!(lines[1], "199157 | 8 | 5 | 30001 | 5", "{lines:?}");
}

/// Values of frames that are over are not held to the statement's end.
#[test]
fn the_best_values_of_a_frame_are_held_as_long_as_it_needs_them() {
    let mut client = Client::new(&Disk::new().open());
    client.ok("CREATE DATABASE d");
    client.ok("USE d");
    client.ok("CREATE TABLE t (x INT PRIMARY KEY, s VARCHAR(2000))");
    client.session.cte_max_recursion_depth = 5000;
    client.ok("INSERT INTO t WITH RECURSIVE g AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM g WHERE i < 3000) \
         SELECT i, CONCAT(i MOD 10, REPEAT('x', 1900)) FROM g");
    (client.session.sort_buffer_size, client.session.tmp_table_size) = (100_000, 100_000);
    client.session.memory.set_limit(1_000_000);
    for window in ["ORDER BY x ROWS 3 PRECEDING", "PARTITION BY x DIV 20 ORDER BY x"] {
        let lines =
            client.run(&format!("SELECT LEFT(MIN(s) OVER w, 1), LEFT(MAX(s) OVER w, 1) FROM t WINDOW w AS ({window})"));
        assert_eq!(lines.len(), 3001, "{window}: {:?}", lines.last());
    }
}
