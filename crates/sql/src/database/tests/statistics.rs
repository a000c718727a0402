//! What statements leave in the statistics of their tables, and what a look at a table finds.

use std::fmt::Write as _;

use super::{Client, Disk};

fn status(client: &mut Client, column: usize) -> String {
    let lines = client.run("SHOW TABLE STATUS LIKE 't'");
    lines[1].split(" | ").nth(column).expect("a column").to_owned()
}

fn cardinalities(client: &mut Client) -> Vec<String> {
    let lines = client.run("SHOW INDEX FROM t");
    lines[1..].iter().map(|line| line.split(" | ").nth(6).expect("a column").to_owned()).collect()
}

/// So many rows; `id` in steps, `a` of 7 values, `(a, b)` of 700.
fn fill(client: &mut Client, rows: u64) {
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(20), KEY ab (a, b), UNIQUE KEY c (c))");
    for from in (0..rows).step_by(1000) {
        let mut sql = String::from("INSERT INTO t VALUES ");
        for row in from..(from + 1000).min(rows) {
            let comma = if row == from { "" } else { "," };
            write!(sql, "{comma}({}, {}, {}, 'name {row}')", row * 3, row % 7, row % 100).expect("a string takes all");
        }
        client.ok(&sql);
    }
}

#[test]
fn rows_are_counted_when_they_are_committed() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, 20);
    assert_eq!(status(&mut client, 4), "20");
    client.ok("BEGIN");
    client.ok("DELETE FROM t WHERE id < 9");
    assert_eq!(status(&mut client, 4), "20");
    client.ok("ROLLBACK");
    client.ok("DELETE FROM t WHERE id = 0");
    assert_eq!(status(&mut client, 4), "19");
    client.ok("REPLACE INTO t VALUES (3, 1, 1, 'new')");
    assert_eq!(status(&mut client, 4), "19");
    client.ok("TRUNCATE TABLE t");
    assert_eq!(status(&mut client, 4), "0");
}

#[test]
fn what_is_taken_back_is_not_counted() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, 20);
    client.ok("BEGIN");
    client.ok("INSERT INTO t VALUES (100, 1, 1, 'a')");
    assert!(client.run("INSERT INTO t VALUES (101, 1, 1, 'b'), (102, 1, 1, 'a')")[0].contains("1062"));
    client.ok("SAVEPOINT one");
    client.ok("DELETE FROM t WHERE id < 9");
    client.ok("SAVEPOINT two");
    client.ok("DELETE FROM t WHERE id < 30");
    client.ok("ROLLBACK TO two");
    client.ok("INSERT INTO t VALUES (103, 1, 1, 'c')");
    client.ok("ROLLBACK TO one");
    client.ok("DELETE FROM t WHERE id = 0");
    client.ok("DELETE FROM t WHERE id = 3");
    client.ok("RELEASE SAVEPOINT one");
    client.ok("INSERT INTO t VALUES (104, 1, 1, 'd')");
    assert!(client.run("INSERT INTO t VALUES (104, 1, 1, 'e')")[0].contains("1062"));
    client.ok("COMMIT");
    assert_eq!(status(&mut client, 4), "20");
    for (id, decision, rows) in [(200, "XA ROLLBACK 'x'", "20"), (201, "XA COMMIT 'x'", "21")] {
        client.ok("XA START 'x'");
        client.ok(&format!("INSERT INTO t VALUES ({id}, 1, 1, '{id}')"));
        client.ok("XA END 'x'");
        client.ok("XA PREPARE 'x'");
        assert_eq!(status(&mut client, 4), "20");
        client.ok(decision);
        assert_eq!(status(&mut client, 4), rows, "{decision}");
    }
    client.ok("RENAME TABLE t TO u");
    client.ok("CREATE TABLE t SELECT id FROM u");
    assert_eq!(status(&mut client, 4), "21");
    client.ok("ANALYZE TABLE t");
    assert_eq!(status(&mut client, 4), "21");
}

#[test]
fn a_small_table_is_read_whole() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, 1400);
    assert_eq!(cardinalities(&mut client), ["NULL"; 4]);
    client.ok("ANALYZE TABLE t");
    assert_eq!(cardinalities(&mut client), ["1400", "1400", "7", "700"]);
    assert_eq!(status(&mut client, 4), "1400");
    assert_ne!(status(&mut client, 6), "0");
}

#[test]
fn a_large_table_is_sampled() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, 30_000);
    assert_eq!(database.collect_statistics(&|| true), 1);
    assert_eq!(database.collect_statistics(&|| true), 0, "nothing has changed");
    let [id, c, a, ab]: [f64; 4] = cardinalities(&mut client)
        .iter()
        .map(|text| text.parse().expect("a number"))
        .collect::<Vec<f64>>()
        .try_into()
        .expect("four columns");
    assert_eq!((id, a), (30_000.0, 7.0));
    assert!((350.0..1400.0).contains(&ab), "{ab} of 700");
    assert_eq!(c, 30_000.0);
}

#[test]
fn statistics_outlive_a_restart_and_damage_costs_another_look() {
    let disk = Disk::new();
    let database = disk.open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, 1400);
    client.ok("ANALYZE TABLE t");
    let kept = database.statistics_to_keep();
    drop((client, database));
    let database = disk.open();
    let mut client = Client::new(&database);
    client.ok("USE d");
    assert_eq!(status(&mut client, 4), "NULL");
    assert!(!database.restore_statistics(&kept[..kept.len() - 1]));
    assert_eq!(status(&mut client, 4), "NULL");
    assert!(database.restore_statistics(&kept));
    assert_eq!(cardinalities(&mut client), ["1400", "1400", "7", "700"]);
    assert_eq!(database.collect_statistics(&|| true), 0);
    drop((client, database));
    let database = disk.open();
    assert_eq!(database.collect_statistics(&|| true), 1, "nobody has looked at it");
    let mut client = Client::new(&database);
    client.ok("USE d");
    assert_eq!(cardinalities(&mut client), ["1400", "1400", "7", "700"]);
}

#[test]
fn of_a_small_table_columns_without_an_index_are_known() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, 300);
    let mut filtered = || {
        let lines = client.run("EXPLAIN SELECT * FROM t WHERE b = 3");
        lines[1].split(" | ").nth(10).expect("a column").to_owned()
    };
    assert_eq!(filtered(), "10", "nobody has looked");
    assert_eq!(database.collect_statistics(&|| true), 1);
    assert_eq!(filtered(), "1", "one of 100 values");
}

#[test]
fn columns_of_a_large_table_are_sampled() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, 30_000);
    client.ok("CREATE TABLE u (id INT PRIMARY KEY, few INT, many INT, own INT)");
    client.ok("INSERT INTO u SELECT id, id * 7 MOD 5, id * 7 MOD 300, id FROM t");
    client.ok("ANALYZE TABLE u");
    let mut filtered = |column| {
        let lines = client.run(&format!("EXPLAIN SELECT * FROM u WHERE {column} = 3"));
        lines[1].split(" | ").nth(10).expect("a column").parse::<f64>().expect("a number")
    };
    assert_eq!(filtered("few"), 20.0, "one of 5 values");
    assert!((0.5..=2.0).contains(&filtered("many")), "{} percent for one of 100 values", filtered("many"));
    assert!(filtered("own") < 0.1, "{} percent for one of 30,000 values", filtered("own"));
}

/// Fills a table with an index on `a` and on `(b, a)` with these values of `a`, and gives how many values the index on `a` and
/// that on both is thought to have.
fn thought_of(values: impl Iterator<Item = u64>) -> (f64, f64) {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY a (a), KEY ba (b, a))");
    let values: Vec<(usize, u64)> = values.enumerate().collect();
    for rows in values.chunks(2000) {
        let rows: Vec<String> = rows.iter().map(|(id, a)| format!("({id}, {a}, {})", a % 3)).collect();
        client.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    client.ok("ANALYZE TABLE t");
    let found: Vec<f64> = cardinalities(&mut client).iter().map(|text| text.parse().expect("a number")).collect();
    (found[1], found[3])
}

#[test]
fn values_are_counted_however_many_rows_each_has() {
    // Each value of `a` has one of `b`.
    for (rows, each) in
        [(30_000, 1), (30_000, 10), (30_000, 34), (30_000, 50), (30_000, 99), (60_000, 101), (60_000, 250)]
    {
        let values = (rows / each) as f64;
        let (a, both) = thought_of((0..rows).map(|row| row % (rows / each) * 5));
        assert!((values / 1.7..=values * 1.7).contains(&a), "{each} rows each: {a} of {values}");
        assert!((values / 1.7..=values * 1.7).contains(&both), "{each} rows each, of both: {both} of {values}");
    }
}

#[test]
fn values_that_are_uneven_are_counted_about() {
    // A hash that spreads numbers.
    let mixed = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    // Distances differ: 300 values of 200 rows.
    let (a, both) = thought_of((0..60_000).map(|row| mixed(row % 300)));
    assert!((150.0..=600.0).contains(&a), "{a} of 300");
    assert!((150.0..=600.0).contains(&both), "{both} of 300");
    // One value has half of the rows, the others have 30 each.
    let (a, _) = thought_of((0..60_000).map(|row| if row % 2 == 0 { 7 } else { mixed(row % 1001) }));
    assert!((500.0..=2500.0).contains(&a), "{a} of 1002");
    // Half of the rows are unique.
    let (a, _) = thought_of((0..40_000).map(|row| if row % 2 == 0 { row % 250 } else { 1000 + row }));
    assert!((10_000.0..=40_000.0).contains(&a), "{a} of 20125");
}
