//! ANALYZE TABLE ... HISTOGRAM: its answers, what becomes of histograms, and which plans they lead to.

use super::{Client, Disk};
use crate::ast::ExplainFormat;
use crate::exec::explain;

/// 1000 rows: `a` is 1 in ten and else 2, `b` is NULL in half and else the number of the row.
fn fill(client: &mut Client, name: &str) {
    client.ok(&format!("CREATE TABLE {name} (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(20), d DATE, j JSON, u INT, UNIQUE KEY u (u), KEY b (b))"));
    for from in [0, 500] {
        let row = |row: u32| {
            let a = if row < 10 { 1 } else { 2 };
            let b = if row.is_multiple_of(2) { row.to_string() } else { "NULL".to_owned() };
            format!("({row}, {a}, {b}, 'name {row}', '2024-01-0{a}', '{{}}', {row})")
        };
        let rows: Vec<String> = (from..from + 500).map(row).collect();
        client.ok(&format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
    }
    client.ok(&format!("ANALYZE TABLE {name}"));
}

const MADE: &str = "SELECT TABLE_NAME, COLUMN_NAME, HISTOGRAM->>'$.\"histogram-type\"', JSON_LENGTH(HISTOGRAM, '$.buckets') FROM information_schema.COLUMN_STATISTICS WHERE SCHEMA_NAME = 'd'";

fn made(client: &mut Client) -> Vec<String> {
    client.run(MADE)[1..].to_vec()
}

/// The column `filtered` of each line of an EXPLAIN.
fn filtered(client: &mut Client, sql: &str) -> Vec<String> {
    let lines = client.run(&format!("EXPLAIN {sql}"));
    lines[1..].iter().map(|line| line.split(" | ").nth(10).unwrap_or(line).to_owned()).collect()
}

/// Whether an EXPLAIN has a lookup for each row.
fn looks_up(client: &mut Client, sql: &str) -> bool {
    client.run(&format!("EXPLAIN {sql}"))[1..].iter().any(|line| line.contains(" | ref | "))
}

#[test]
fn the_answer_has_a_row_for_each_column_in_the_order_of_their_names() {
    let mut client = Client::in_new_database(&Disk::new().open());
    fill(&mut client, "t");
    let answer = |client: &mut Client, what: &str| client.run(&format!("ANALYZE TABLE {what}"))[1..].to_vec();
    assert_eq!(
        answer(&mut client, "t UPDATE HISTOGRAM ON S, u, x, j, a, id WITH 10 BUCKETS"),
        [
            "d.t | histogram | status | Histogram statistics created for column 'a'.",
            "d.t | histogram | Error | The column 'id' is covered by a single-part unique index.",
            "d.t | histogram | Error | The column 'j' has an unsupported data type.",
            "d.t | histogram | status | Histogram statistics created for column 's'.",
            "d.t | histogram | Error | The column 'u' is covered by a single-part unique index.",
            "d.t | histogram | Error | The column 'x' does not exist.",
        ]
    );
    assert_eq!(made(&mut client), ["t | a | singleton | 2", "t | s | equi-height | 10"]);
    assert_eq!(
        answer(&mut client, "t DROP HISTOGRAM ON b, a, x"),
        [
            "d.t | histogram | status | Histogram statistics removed for column 'a'.",
            "d.t | histogram | Error | No histogram statistics found for column 'b'.",
            "d.t | histogram | Error | No histogram statistics found for column 'x'.",
        ]
    );
    assert_eq!(made(&mut client), ["t | s | equi-height | 10"]);
    let one = " | histogram | Error | Only one table can be specified while modifying histogram statistics.";
    assert_eq!(answer(&mut client, "t, u UPDATE HISTOGRAM ON a"), [one]);
    let missing = "d.u | histogram | Error | Table 'd.u' doesn't exist";
    assert_eq!(answer(&mut client, "u UPDATE HISTOGRAM ON a"), [missing]);
    let not_found = "d.u | histogram | Error | No histogram statistics found for column 'a'.";
    assert_eq!(answer(&mut client, "u DROP HISTOGRAM ON a"), [not_found]);
    let made_when_read = "mysql.user | histogram | Error | Unable to open and/or lock table.";
    assert_eq!(answer(&mut client, "mysql.user UPDATE HISTOGRAM ON User"), [made_when_read]);
}

#[test]
fn what_cannot_be_asked_for_is_an_error() {
    let mut client = Client::in_new_database(&Disk::new().open());
    fill(&mut client, "t");
    let errors = [
        ("UPDATE HISTOGRAM ON a, A", "ERROR 1060"),
        ("UPDATE HISTOGRAM ON a WITH 0 BUCKETS", "ERROR 1690"),
        ("UPDATE HISTOGRAM ON a WITH 1025 BUCKETS", "ERROR 1690"),
        ("UPDATE HISTOGRAM ON a WITH 65537 BUCKETS", "ERROR 1690"),
        ("UPDATE HISTOGRAM ON a USING DATA '{}'", "ERROR 1235"),
        ("UPDATE HISTOGRAM ON a WITH 5", "ERROR 1064"),
        ("DROP HISTOGRAM ON a WITH 5 BUCKETS", "ERROR 1064"),
        ("UPDATE HISTOGRAM", "ERROR 1064"),
    ];
    for (what, error) in errors {
        let answer = client.run(&format!("ANALYZE TABLE t {what}"));
        assert!(answer[0].starts_with(error), "{what}: {answer:?}");
    }
    let answer = client.run("ANALYZE TABLE t UPDATE HISTOGRAM ON a WITH 1025 BUCKETS");
    assert_eq!(answer, ["ERROR 1690 (22003): Number of buckets value is out of range in 'ANALYZE TABLE'"]);
    assert!(made(&mut client).is_empty());
    for buckets in [1, 1024] {
        client.ok(&format!("ANALYZE NO_WRITE_TO_BINLOG TABLE t UPDATE HISTOGRAM ON s WITH {buckets} BUCKETS"));
    }
    assert_eq!(made(&mut client), ["t | s | singleton | 1000"]);
}

#[test]
fn every_type_has_buckets() {
    let mut client = Client::in_new_database(&Disk::new().open());
    let columns = [
        ("i", "TINYINT UNSIGNED", "3", "int", 8, "[3, 1.0]"),
        ("u", "BIGINT UNSIGNED", "18446744073709551615", "uint", 8, "[18446744073709551615, 1.0]"),
        ("f", "FLOAT", "0.5", "double", 8, "[0.5, 1.0]"),
        ("n", "DECIMAL(5,2)", "1.50", "decimal", 8, "[1.50, 1.0]"),
        ("y", "YEAR", "1999", "int", 8, "[1999, 1.0]"),
        ("bi", "BIT(3)", "5", "int", 63, "[5, 1.0]"),
        ("da", "DATE", "'2024-02-29'", "date", 8, "[\"2024-02-29\", 1.0]"),
        ("dt", "DATETIME(3)", "'2024-02-29 01:02:03.456'", "datetime", 8, "[\"2024-02-29 01:02:03.456000\", 1.0]"),
        ("ts", "TIMESTAMP", "'2024-02-29 01:02:03'", "datetime", 8, "[\"2024-02-29 01:02:03.000000\", 1.0]"),
        ("ti", "TIME", "'-01:02:03'", "time", 8, "[\"-01:02:03.000000\", 1.0]"),
        ("e", "ENUM('x', 'y')", "'y'", "enum", 255, "[2, 1.0]"),
        ("st", "SET('x', 'y')", "'x,y'", "set", 255, "[3, 1.0]"),
        ("c", "CHAR(3) CHARACTER SET latin1", "'abc'", "string", 8, "[\"base64:type254:YWJj\", 1.0]"),
        (
            "te",
            "TEXT",
            "REPEAT('a', 50)",
            "string",
            255,
            "[\"base64:type254:YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh\", 1.0]",
        ),
        ("bl", "BLOB", "X'00ff'", "string", 63, "[\"base64:type254:AP8=\", 1.0]"),
    ];
    let defined: Vec<String> = columns.iter().map(|(name, of, ..)| format!("{name} {of}")).collect();
    client.ok(&format!("CREATE TABLE t ({})", defined.join(", ")));
    let values: Vec<&str> = columns.iter().map(|(_, _, value, ..)| *value).collect();
    client.ok(&format!("INSERT INTO t VALUES ({0}), ({0})", values.join(", ")));
    let names: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    client.ok(&format!("ANALYZE TABLE t UPDATE HISTOGRAM ON {}", names.join(", ")));
    for (name, of, value, data_type, collation, bucket) in columns {
        let sql = format!(
            "SELECT HISTOGRAM->>'$.\"data-type\"', HISTOGRAM->>'$.\"collation-id\"', HISTOGRAM->'$.buckets[0]' FROM information_schema.COLUMN_STATISTICS WHERE COLUMN_NAME = '{name}'"
        );
        assert_eq!(client.run(&sql)[1..], [format!("{data_type} | {collation} | {bucket}")], "{of}");
        let sql = format!("SELECT * FROM t WHERE {name} = {value} AND {name} IS NOT NULL");
        let shown: f64 = filtered(&mut client, &sql)[0].parse().expect("a number");
        // A computed constant is not known, and one value is all there is.
        assert!(shown > 99.0, "{of}: {shown}");
    }
}

#[test]
fn histograms_go_where_their_columns_go() {
    let mut client = Client::in_new_database(&Disk::new().open());
    fill(&mut client, "t");
    client.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON a, b, d, s");
    let four =
        ["t | a | singleton | 2", "t | b | equi-height | 100", "t | s | equi-height | 100", "t | d | singleton | 2"];
    assert_eq!(made(&mut client), four);
    client.ok("ALTER TABLE t ADD COLUMN first INT FIRST, DROP COLUMN d, RENAME COLUMN a TO b, RENAME COLUMN b TO a");
    assert_eq!(made(&mut client), ["t | b | singleton | 2", "t | a | equi-height | 100", "t | s | equi-height | 100"]);
    client.ok("ALTER TABLE t ADD COLUMN d DATE, MODIFY s VARCHAR(21), RENAME TO u");
    assert_eq!(made(&mut client), ["u | b | singleton | 2", "u | a | equi-height | 100"]);
    client.ok("ALTER TABLE u ENGINE = redb, ADD INDEX (b)");
    assert_eq!(made(&mut client), ["u | b | singleton | 2", "u | a | equi-height | 100"]);
    client.ok("CREATE UNIQUE INDEX a ON u (a)");
    assert_eq!(made(&mut client), ["u | b | singleton | 2"]);
    client.ok("TRUNCATE TABLE u");
    assert_eq!(made(&mut client), ["u | b | singleton | 2"]);
    client.ok("CREATE TABLE v LIKE u");
    client.ok("DROP TABLE u");
    client.ok("CREATE TABLE u (b INT)");
    assert!(made(&mut client).is_empty());
}

#[test]
fn histograms_outlive_a_restart_and_damage_costs_them() {
    let disk = Disk::new();
    let database = disk.open();
    let mut first = Client::in_new_database(&database);
    fill(&mut first, "t");
    database.statistics_to_keep();
    database.collect_statistics(&|| true);
    assert_eq!(database.collect_statistics(&|| true), 0);
    first.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON a, s");
    assert_eq!(database.collect_statistics(&|| true), 1, "there is something to keep");
    let document = "SELECT HISTOGRAM FROM information_schema.COLUMN_STATISTICS WHERE COLUMN_NAME = 's'";
    let before = first.run(document);
    let kept = database.statistics_to_keep();
    assert_eq!(database.collect_statistics(&|| true), 0);
    // The copy is older than the definition.
    first.ok("ALTER TABLE t MODIFY a BIGINT");
    drop((first, database));
    let database = disk.open();
    let mut client = Client::new(&database);
    assert!(!database.restore_statistics(&kept[..kept.len() - 1]));
    assert!(made(&mut client).is_empty());
    assert!(database.restore_statistics(&kept));
    assert_eq!(made(&mut client), ["t | s | equi-height | 100"]);
    assert_eq!(client.run(document), before);
}

#[test]
fn explain_counts_with_the_values_of_a_statement() {
    let mut client = Client::in_new_database(&Disk::new().open());
    fill(&mut client, "t");
    let shares = |client: &mut Client, condition: &str| {
        filtered(client, &format!("SELECT * FROM t IGNORE INDEX (b) WHERE {condition}")).join(" ")
    };
    assert_eq!(shares(&mut client, "a = 1"), "50", "one of two values");
    client.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON a, b, d, s");
    let expected = [
        ("a = 1", 1.0),
        ("2 = a", 99.0),
        ("a <> 1", 99.0),
        ("a = 5", 0.1),
        ("a = '1'", 50.0),
        ("a < 2", 1.0),
        ("2 <= a", 99.0),
        ("a IN (1, 2)", 100.0),
        ("a NOT IN (1, 5)", 98.9),
        ("b IS NULL", 50.0),
        ("b IS NOT NULL", 50.0),
        ("d = '2024-01-01'", 1.0),
        ("d > DATE'2024-01-01'", 99.0),
        ("d = '2024-01-01 10:00:00'", 0.1),
        ("a = id", 0.1),
    ];
    for (condition, share) in expected {
        let shown: f64 = shares(&mut client, condition).parse().expect("a number");
        assert_eq!(shown, share, "{condition}");
    }
    let near = |client: &mut Client, condition: &str, expected: f64| {
        let shown: f64 = shares(client, condition).parse().expect("a number");
        assert!((shown - expected).abs() < 1.5, "{condition}: {shown}");
    };
    near(&mut client, "b < 500", 25.0);
    near(&mut client, "b BETWEEN 200 AND 399", 10.0);
    near(&mut client, "b NOT BETWEEN 200 AND 399", 40.0);
    near(&mut client, "s < 'NAME 5'", 44.4);
    client.ok("ANALYZE TABLE t DROP HISTOGRAM ON a");
    assert_eq!(shares(&mut client, "a = 1"), "50", "one of two values");
}

#[test]
fn rows_are_looked_up_for_few_rows_and_hashed_for_many() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, "x");
    fill(&mut client, "y");
    let sql = |constant: &str| format!("SELECT COUNT(*) FROM x JOIN y ON x.u = y.b WHERE x.d = {constant}");
    let (few, many) = (sql("DATE'2024-01-01'"), sql("DATE'2024-01-02'"));
    let rows = client.run(&few);
    assert_eq!(looks_up(&mut client, &few), looks_up(&mut client, &many));
    client.ok("ANALYZE TABLE x UPDATE HISTOGRAM ON d");
    assert!(looks_up(&mut client, &few));
    assert!(!looks_up(&mut client, &many));
    // A text would be a parameter where the statement runs: it is half of the rows.
    assert!(!looks_up(&mut client, &sql("'2024-01-01'")));
    assert_eq!(client.run(&few), rows);
    // That of a prepared statement is the same each time.
    let looks_up = |client: &mut Client, constant: &str| {
        let prepared = client.prepare(&sql(constant));
        let shown = explain::shown(&prepared.plan.load().plan, ExplainFormat::Traditional);
        shown.rows.iter().any(|row| row[4].to_string() == "ref")
    };
    assert!(looks_up(&mut client, "'2024-01-01'"));
    assert!(!looks_up(&mut client, "'2024-01-02'"));
    assert!(!looks_up(&mut client, "?"));
}

#[test]
fn a_plan_is_made_anew_when_a_histogram_changes() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    fill(&mut client, "t");
    let misses = |client: &mut Client| {
        let before = database.stats().plan_cache_misses;
        client.ok("SELECT * FROM t WHERE a = 1");
        database.stats().plan_cache_misses - before
    };
    assert_eq!([misses(&mut client), misses(&mut client)], [1, 0]);
    client.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON a");
    assert_eq!([misses(&mut client), misses(&mut client)], [1, 0]);
    client.ok("ANALYZE TABLE t DROP HISTOGRAM ON s");
    assert_eq!(misses(&mut client), 0);
    client.ok("ANALYZE TABLE t DROP HISTOGRAM ON a");
    assert_eq!(misses(&mut client), 1);
}

#[test]
fn of_a_large_table_a_sample_is_read_wherever_its_keys_lie() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    client.ok("CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)");
    let rows: Vec<String> = (0..1000).map(|row| format!("({row}, {row} % 10)")).collect();
    client.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    for doubled in 0..7 {
        client.ok(&format!("INSERT INTO t SELECT id + {}, a FROM t", 1000 << doubled));
    }
    let seen = |client: &mut Client| {
        client.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON a");
        let rate = "SELECT HISTOGRAM->'$.\"sampling-rate\"' FROM information_schema.COLUMN_STATISTICS";
        let rate: f64 = client.run(rate)[1].parse().expect("a number");
        let share: f64 = filtered(client, "SELECT * FROM t WHERE a = 3")[0].parse().expect("a number");
        (rate, share)
    };
    let (rate, share) = seen(&mut client);
    assert!((0.7..0.8).contains(&rate), "{rate} of 100,000 in 128,000");
    assert!((9.5..10.5).contains(&share), "{share}");
    client.ok("INSERT INTO t VALUES (9000000000000000000, 3)");
    let (rate, share) = seen(&mut client);
    assert!((0.49..0.51).contains(&rate), "every second row: {rate}");
    assert!((9.5..10.5).contains(&share), "{share}");
}
