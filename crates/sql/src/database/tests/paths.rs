//! Every path gives the same rows, whether its filter is judged for each of them or not.

use super::{Client, Disk};

/// Bounds that columns hold, that they do not hold, and that compare as something else.
const VALUES: [&str; 12] =
    ["-1", "0", "1", "2", "4", "NULL", "'2'", "'2x'", "1.5", "2e0", "300", "18446744073709551615"];

/// Asks with an index and without one.
fn same(client: &mut Client, index: &str, condition: &str) {
    let ask = |hint: &str| format!("SELECT id, v FROM t {hint} WHERE {condition} ORDER BY id");
    let by_index = client.run(&ask(&format!("FORCE INDEX ({index})")));
    let by_rows = client.run(&ask("USE INDEX ()"));
    assert_eq!(by_index, by_rows, "{condition}");
    let covered = client.run(&format!("SELECT COUNT(*) FROM t FORCE INDEX ({index}) WHERE {condition}"));
    let counted = client.run(&format!("SELECT COUNT(*) FROM t USE INDEX () WHERE {condition}"));
    assert_eq!(covered, counted, "{condition}");
}

#[test]
fn every_path_gives_the_same_rows() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    client.ok("CREATE TABLE t (id TINYINT PRIMARY KEY, a INT, b SMALLINT NOT NULL, u BIGINT UNSIGNED, v VARCHAR(10), \
         KEY a (a), KEY u (u), KEY ab (a, b))");
    client.ok(
        "INSERT INTO t VALUES (-1, NULL, 1, 0, 'x'), (0, -1, 0, NULL, 'y'), (1, 0, 2, 2, 'z'), (2, 1, 1, 300, NULL), \
         (3, 1, 2, 18446744073709551615, ''), (4, 2, 0, 4, 'x'), (5, 4, 4, 1, 'y'), (6, NULL, 300, 2, 'z')",
    );
    for (index, column) in [("PRIMARY", "id"), ("a", "a"), ("u", "u")] {
        for value in VALUES {
            for op in ["=", "<", "<=", ">", ">=", "<>", "<=>"] {
                same(&mut client, index, &format!("{column} {op} {value}"));
                same(&mut client, index, &format!("{value} {op} {column} AND v <> 'q'"));
            }
            for other in VALUES {
                same(&mut client, index, &format!("{column} BETWEEN {value} AND {other}"));
                same(&mut client, index, &format!("{column} > {value} AND {column} < {other}"));
                same(&mut client, index, &format!("{column} >= {value} AND {column} > {other}"));
                same(&mut client, index, &format!("{column} <= {value} AND {column} <= {other} AND {column} < 4"));
                same(&mut client, index, &format!("{column} = {value} AND {column} = {other}"));
                same(&mut client, index, &format!("{column} IN ({value}, {other})"));
                same(&mut client, index, &format!("{column} IN ({value}, 2) AND {column} IN (2, {other})"));
                same(&mut client, index, &format!("{column} = {value} OR {column} > {other}"));
            }
        }
    }
    for value in VALUES {
        for other in VALUES {
            for condition in ["b = {}", "b < {}", "b >= {}", "b BETWEEN 1 AND {}", "b IN (1, {})"] {
                let of_b = condition.replace("{}", other);
                same(&mut client, "ab", &format!("a = {value} AND {of_b}"));
                same(&mut client, "ab", &format!("a > {value} AND {of_b}"));
            }
        }
    }
}

/// Conditions about two columns of an index, in turn and beside each other.
#[test]
fn several_columns_of_an_index_give_the_same_rows_and_groups() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    client.ok("CREATE TABLE t (id TINYINT PRIMARY KEY, a INT, b SMALLINT NOT NULL, u BIGINT UNSIGNED, v VARCHAR(10), \
         KEY a (a), UNIQUE KEY u (u, v), KEY ab (a, b, v))");
    let values = |id: i64| {
        let a = if id % 7 == 0 { "NULL".to_owned() } else { (id % 5 - 1).to_string() };
        let u = if id % 11 == 0 { "NULL".to_owned() } else { (id % 3).to_string() };
        format!("({id}, {a}, {}, {u}, 'v{id}')", id % 4)
    };
    let rows: Vec<String> = (1..=60).map(values).collect();
    client.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    let of_a = ["a = 1", "a IN (0, 2, NULL)", "a IS NULL", "a > 1", "a IN (1, '2x', 3)", "a BETWEEN 0 AND 1"];
    let of_b = ["b = 2", "b IN (1, 3)", "b < 2", "b = '2x'", "b IN (1, 1.5, 40000)", "(b = 1 OR b > 2)"];
    let mut conditions = vec![
        "(a, b) IN ((1, 2), (2, 3), (NULL, 1), (1, 2))".to_owned(),
        "(a, b, v) IN ((1, 2, 'v2'), (0, 1, 'v21'), (0, 1, 'V21'))".to_owned(),
        "(a, b) > (1, 2)".to_owned(),
        "(a, b) <= (1, 2) AND (a, b) >= (0, 1)".to_owned(),
    ];
    for a in of_a {
        for b in of_b {
            conditions.push(format!("{a} AND {b}"));
            conditions.push(format!("{a} AND {b} AND v IN ('v1', 'v2', 'v12', 'v33')"));
            for (other_a, other_b) in of_a.iter().zip(of_b.iter().rev()) {
                conditions.push(format!("({a} AND {b}) OR ({other_a} AND {other_b})"));
                conditions.push(format!("({a} OR {other_a}) AND ({b} OR {other_b})"));
                conditions.push(format!("({a} OR {other_a} AND {other_b}) AND {b}"));
            }
        }
    }
    for condition in &conditions {
        same(&mut client, "ab", condition);
        let unique = condition.replace("a ", "u ").replace("(a, b)", "(u, b)").replace("(a, b, v)", "(u, b, v)");
        same(&mut client, "u", &format!("({unique}) AND v IN ('v1', 'v2', 'v3', 'v4', 'v22')"));
        for (groups, order) in [("a", "a"), ("b, a", "a DESC"), ("a, b", "b"), ("a, b, v", "a, b, v"), ("v, a", "v")] {
            let ask = |hint: &str| {
                format!(
                    "SELECT {groups}, COUNT(*), MIN(id), SUM(b) FROM t {hint} WHERE {condition} \
                     GROUP BY {groups} HAVING COUNT(*) > 0 ORDER BY {order}, {groups}"
                )
            };
            let by_rows = client.run(&ask("IGNORE INDEX (a, u, ab)"));
            assert_eq!(client.run(&ask("FORCE INDEX FOR GROUP BY (ab)")), by_rows, "{groups}: {condition}");
            assert_eq!(client.run(&ask("")), by_rows, "{groups}: {condition}");
        }
    }
}

/// Conditions about several indexes, beside each other.
#[test]
fn several_indexes_give_each_row_once() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b SMALLINT NOT NULL, u BIGINT UNSIGNED, v VARCHAR(10), \
         KEY a (a), UNIQUE KEY u (u), KEY ab (b, a))");
    let values = |id: i64| {
        let u = if id % 11 == 0 { "NULL".to_owned() } else { (id + 5).to_string() };
        format!("({id}, {}, {}, {u}, 'v{id}')", id % 50, id % 60)
    };
    let rows: Vec<String> = (1..=3000).map(values).collect();
    client.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    client.ok("ANALYZE TABLE t");
    let of_a = ["a = 1", "a IN (0, 2, NULL)", "a IS NULL", "a > 48", "a < 5000"];
    let of_b = ["b = 2 AND a = 2", "b IN (1, 3)", "b = '2x'", "b BETWEEN 1 AND 2", "b > 900"];
    let of_u = ["u = 7", "u IN (7, 2000, 9000, 7)", "u IS NULL", "u = 7 OR id = 9", "id BETWEEN 4 AND 6 AND v <> 'v5'"];
    for a in of_a {
        for b in of_b {
            for u in of_u {
                for condition in [format!("{a} OR {b} OR {u}"), format!("({a} OR {u}) AND ({b} OR {u})")] {
                    same(&mut client, "a, ab, u, PRIMARY", &condition);
                    let joined = |hint: &str| {
                        let condition = condition.replace("= 2", "= x.id");
                        format!("SELECT x.id, t.id FROM (VALUES ROW(1), ROW(2), ROW(9)) AS x (id) STRAIGHT_JOIN t {hint} ON {condition} ORDER BY 1, 2")
                            .replace("id BETWEEN", "t.id BETWEEN").replace("OR id = 9", "OR t.id = 9")
                    };
                    let by_rows = client.run(&joined("IGNORE INDEX (a, u, ab, PRIMARY)"));
                    assert_eq!(client.run(&joined("FORCE INDEX (a, u, ab, PRIMARY)")), by_rows, "{condition}");
                }
            }
        }
    }
    let explained = client.run("EXPLAIN FORMAT=TREE SELECT * FROM t WHERE a = 1 OR u = 7");
    assert!(format!("{explained:?}").contains("Deduplicate rows sorted by row ID"), "{explained:?}");
}

/// Conditions that each are about another index.
#[test]
fn several_indexes_find_the_rows_of_all() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    let of_a = ["a = 1", "a IN (1, 2)", "a IS NULL", "a = '2x'", "a = 1.5", "(a = 3 OR a IS NULL)"];
    let of_b = ["b = 2", "b = '2'", "b = 99", "b IN (2, NULL)", "b = 70000"];
    let of_c = ["c = 4", "c > 3", "v <> 'v31'", "c IN (1, 5) AND v LIKE 'v1%'"];
    for key in ["PRIMARY KEY (id)", "UNIQUE KEY (v)", "KEY c_first (c, id)"] {
        client.ok(&format!(
            "CREATE TABLE t (id INT NOT NULL, a INT, b SMALLINT NOT NULL, c BIGINT, v VARCHAR(10), \
             KEY a (a), KEY b (b), KEY c (c), {key})"
        ));
        let values = |id: i64| {
            let a = if id % 31 == 0 { "NULL".to_owned() } else { (id % 30).to_string() };
            format!("({id}, {a}, {}, {}, 'v{id}')", id / 30 % 30, id * id % 31)
        };
        let rows: Vec<String> = (1..=3000).map(values).collect();
        client.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
        client.ok("ANALYZE TABLE t");
        let explained = client.run("EXPLAIN FORMAT=TREE SELECT * FROM t WHERE a = 1 AND b = 2");
        assert!(format!("{explained:?}").contains("Intersect rows sorted by row ID"), "{explained:?}");
        for changed in [false, true] {
            if changed {
                client.ok("BEGIN");
                client.ok("UPDATE t SET a = 1, c = 4 WHERE id BETWEEN 61 AND 70");
                client.ok("DELETE FROM t WHERE id = 91");
                client.ok("INSERT INTO t VALUES (4000, 1, 2, 4, 'new')");
            }
            for (a, b) in of_a.iter().flat_map(|a| of_b.map(|b| (a, b))) {
                same(&mut client, "a, b", &format!("{a} AND {b}"));
                for c in of_c {
                    same(&mut client, "a, b, c", &format!("{a} AND {b} AND {c}"));
                }
                let joined = |hint: &str| {
                    let condition = format!("{a} AND {b}").replace("= 2", "= x.n");
                    format!(
                        "SELECT n, id FROM (VALUES ROW(1), ROW(2), ROW(NULL)) AS x (n) STRAIGHT_JOIN t {hint} ON {condition} ORDER BY 1, 2"
                    )
                };
                let by_rows = client.run(&joined("USE INDEX ()"));
                assert_eq!(client.run(&joined("FORCE INDEX (a, b, c)")), by_rows, "{a} AND {b}");
            }
        }
        client.ok("ROLLBACK");
        client.ok("DROP TABLE t");
    }
}

/// Queries that want a part of each group, with whether a loose scan of an index finds it.
const OF_GROUPS: &[(bool, &str)] = &[
    (true, "SELECT DISTINCT a FROM t {}"),
    (true, "SELECT DISTINCT a + b FROM t {} WHERE a > 2"),
    (true, "SELECT DISTINCT b, a FROM t {} WHERE b <> 3 ORDER BY a, b"),
    (true, "SELECT DISTINCT UPPER(s) FROM (SELECT DISTINCT s FROM t {}) AS d"),
    (true, "SELECT DISTINCT g FROM t {} WHERE g IN (0, 3, 3, NULL, 9)"),
    (true, "SELECT DISTINCT h FROM t {}"),
    (true, "SELECT h, MIN(c), MAX(c) FROM t {} GROUP BY h"),
    (true, "SELECT a, MIN(b), MAX(b) FROM t {} GROUP BY a"),
    (true, "SELECT a, MAX(b), MIN(b) + 1 FROM t {} WHERE a IS NULL GROUP BY a"),
    (true, "SELECT a, MIN(b) FROM t {} WHERE a IN (1, 3, NULL) GROUP BY a ORDER BY a DESC"),
    (true, "SELECT a, MAX(b) FROM t {} WHERE a = 1 OR a > 3 OR a IS NULL GROUP BY a HAVING MAX(b) > 3"),
    (true, "SELECT a, MIN(c), MAX(c), MAX(DISTINCT c) FROM t {} GROUP BY a"),
    (true, "SELECT MIN(c) FROM t {} GROUP BY a"),
    (true, "SELECT MAX(c) FROM t {} GROUP BY a"),
    (true, "SELECT MAX(a) FROM t {} GROUP BY a"),
    (true, "SELECT a + 0, MAX(g) FROM t {} GROUP BY a + 0"),
    (true, "SELECT a % 2, MAX(b), MIN(b) FROM t {} WHERE a % 3 = 1 GROUP BY a % 2"),
    (true, "SELECT UPPER(s), MIN(b), MAX(b) FROM t {} GROUP BY s"),
    (true, "SELECT UPPER(s), MAX(b) FROM t {} WHERE s = 'x' GROUP BY s"),
    (true, "SELECT UPPER(s), MAX(b) FROM t {} WHERE s > 'X' AND b < 20 GROUP BY s, b"),
    (true, "SELECT g, MIN(id), MAX(id) FROM t {} GROUP BY g"),
    (true, "SELECT MIN(id), MAX(id) FROM t {} WHERE g = 2"),
    (true, "SELECT MIN(a), MAX(a) FROM t {}"),
    (true, "SELECT MIN(c) FROM t {} WHERE a = 3"),
    (true, "SELECT MAX(c) FROM t {} WHERE a = 3"),
    (true, "SELECT MAX(c), MIN(c) FROM t {} WHERE a = 6"),
    (true, "SELECT MAX(b) FROM t {} WHERE a = 99"),
    (
        true,
        "SELECT (SELECT MAX(b) FROM t {} WHERE a = x.n) AS m FROM (VALUES ROW(1), ROW(NULL), ROW(9), ROW(3)) AS x (n)",
    ),
    (false, "SELECT UPPER(s), MAX(b) FROM t {} WHERE s LIKE 'x%' GROUP BY s"),
    (false, "SELECT UPPER(s), MAX(b) FROM t {} WHERE HEX(s) = '78' GROUP BY s"),
    (false, "SELECT DISTINCT HEX(s) FROM t {}"),
    (false, "SELECT s COLLATE utf8mb4_bin, MAX(b) FROM t {} GROUP BY s COLLATE utf8mb4_bin"),
    (false, "SELECT g, MAX(e) FROM t {} GROUP BY g"),
    (false, "SELECT a, MIN(b), MAX(c) FROM t {} GROUP BY a"),
    (false, "SELECT a, MIN(b), COUNT(*) FROM t {} GROUP BY a"),
    (false, "SELECT a, MIN(b) FROM t {} WHERE c > 3 GROUP BY a"),
    (false, "SELECT a, MIN(b + 1) FROM t {} GROUP BY a"),
    (false, "SELECT a, MAX(b) FROM t {} GROUP BY a WITH ROLLUP"),
    (false, "SELECT DISTINCT a, COUNT(*) OVER (PARTITION BY a) FROM t {}"),
    (false, "SELECT DISTINCT d FROM t {}"),
    (false, "SELECT a, COUNT(*) FROM t {} GROUP BY a"),
    (false, "SELECT DISTINCT x.a FROM t AS x {} JOIN t ON t.id = x.id WHERE x.a > 4 AND t.b = x.b"),
];

/// Columns of few values, groups of one row and of many, and groups of NULLs alone.
#[test]
fn a_part_of_each_group_tells_what_all_of_it_does() {
    for engine in ["RocksDB", "redb"] {
        let database = Disk::new().open();
        let mut client = Client::in_new_database(&database);
        client.ok(&format!(
            "CREATE TABLE t (id INT, g INT, a INT, b SMALLINT NOT NULL, c BIGINT, d DOUBLE, e ENUM('z', 'a', 'm'), h INT, \
             s VARCHAR(10), PRIMARY KEY (g, id), KEY ab (a, b), KEY ac (a, c), KEY ge (g, e), KEY hc (h, c), KEY sb (s, b)) \
             ENGINE={engine}"
        ));
        let values = |id: i64| {
            let or_null = |is_null: bool, value: i64| if is_null { "NULL".to_owned() } else { value.to_string() };
            let (a, h) = (or_null(id % 8 == 7, id % 8), (id as f64).sqrt() as i64);
            let c = or_null(id % 8 == 6 || id % 5 == 0 || h % 9 == 0, id * id % 97);
            let (e, s) = (["z", "a", "m"][(id % 3) as usize], ["x", "X", "y", "ab", ""][(id % 5) as usize]);
            format!("({id}, {}, {a}, {}, {c}, {}, '{e}', {h}, '{s}')", id % 4, id % 9, id % 6)
        };
        let rows: Vec<String> = (1..=3000).map(values).collect();
        client.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
        client.ok("ANALYZE TABLE t");
        for (loose, query) in OF_GROUPS {
            let explained = client.run(&format!("EXPLAIN {}", query.replace("{}", ""))).concat();
            assert_eq!(explained.contains("Using index for group-by"), *loose, "{query}: {explained}");
        }
        for changes in 0..3 {
            match changes {
                0 => {}
                1 => {
                    client.ok("BEGIN");
                    client.ok("DELETE FROM t WHERE h = 12");
                    client.ok("INSERT INTO t VALUES (1, 9, 8, -1, NULL, 1, 'm', 99, 'new'), (4000, 0, 1, 99, 99, 1, 'm', 12, 'Y')");
                }
                _ => {
                    client.ok("INSERT INTO t SELECT id + 5000, g, a, b + 1, c - 1, d, e, h, s FROM t WHERE id <= 2000")
                }
            }
            for (_, query) in OF_GROUPS {
                let mut answer = |hint: &str| {
                    let mut lines = client.run(&query.replace("{}", hint));
                    lines.sort();
                    lines
                };
                assert_eq!(answer(""), answer("USE INDEX ()"), "{engine} {changes}: {query}");
            }
        }
    }
}

/// LIKE, whatever the pattern begins with.
#[test]
fn patterns_find_what_they_match() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    let texts = [
        "", "a", "A", "ab", "Ab", "áb", "a b", "a  b", "ab%", "a_b", "a\\\\b", "b", "ß", "ss", "aß", "ab\t", "1x",
        "日本",
    ];
    let of_column = [
        "VARCHAR(20) COLLATE utf8mb4_0900_ai_ci",
        "VARCHAR(20) COLLATE utf8mb4_general_ci",
        "CHAR(10) COLLATE utf8mb4_bin",
        "VARCHAR(20) COLLATE utf8mb4_0900_as_cs",
        "TEXT COLLATE utf8mb4_unicode_ci",
        "VARBINARY(30)",
    ];
    let patterns = [
        "'a%'",
        "'A%'",
        "'ab%'",
        "'a b%'",
        "'a %'",
        "'%b'",
        "'_b'",
        "'a_b'",
        "'a\\\\_b%'",
        "'a\\\\%'",
        "'ab\\\\%'",
        "''",
        "'%'",
        "NULL",
        "'ß%'",
        "'s%'",
        "'日%'",
        "1",
        "'1%'",
        "'ab'",
        "'a\\\\\\\\%'",
        "'ax_%' ESCAPE 'x'",
        "'á%'",
        "X'61'",
    ];
    for column_type in of_column {
        client.ok("DROP TABLE IF EXISTS t");
        let keys =
            if column_type.starts_with("TEXT") { "KEY v (v(1)), KEY av (a, v(2))" } else { "KEY v (v), KEY av (a, v)" };
        client.ok(&format!("CREATE TABLE t (id INT PRIMARY KEY, a INT, v {column_type}, {keys})"));
        for (id, text) in texts.iter().enumerate() {
            client.ok(&format!("INSERT INTO t VALUES ({id}, {}, '{text}')", id % 3));
        }
        client.ok("INSERT INTO t VALUES (100, 1, NULL)");
        for pattern in patterns {
            for (index, condition) in [
                ("v", format!("v LIKE {pattern}")),
                ("v", format!("v NOT LIKE {pattern}")),
                ("v", format!("v LIKE {pattern} OR v = 'b'")),
                ("av", format!("a = 1 AND v LIKE {pattern}")),
                ("av", format!("a IN (0, 2) AND v LIKE {pattern}")),
            ] {
                same(&mut client, index, &condition);
            }
        }
    }
}

/// What would be too many places together is looked for by a part of it.
#[test]
fn many_places_are_not_multiplied() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, v INT, KEY ab (a, b), KEY b (b))");
    let rows: Vec<String> = (0..200).map(|id| format!("({id}, {}, {}, 0)", id % 20, id % 9)).collect();
    client.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    let either: Vec<String> = (0..900).map(|a| format!("a = {a}")).collect();
    let listed: Vec<String> = (5..4005).map(|b| b.to_string()).collect();
    let condition = format!("({}) AND b IN ({})", either.join(" OR "), listed.join(", "));
    same(&mut client, "ab", &condition);
    let explained = client.run(&format!("EXPLAIN SELECT v FROM t FORCE INDEX (ab) WHERE {condition}"));
    assert!(explained[1].contains("| ab | 5 |"), "{explained:?}");
    same(&mut client, "ab, b", &format!("({} OR b = 3) AND b IN ({})", either.join(" OR "), listed.join(", ")));
}
