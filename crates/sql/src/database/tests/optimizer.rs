//! Which plans statistics lead to, when they are made anew, and what EXPLAIN says of them.

use std::fmt::Write as _;
use std::time::Instant;

use super::{Client, Disk};

/// So many rows of a table: `id` from 1, `few` of 4 values, `many` of `rows` / 5, `big` a hundredth of `rows`.
fn table(client: &mut Client, name: &str, rows: usize) {
    client.ok(&format!(
        "CREATE TABLE {name} (id INT PRIMARY KEY, few INT, many INT, big INT, s VARCHAR(20), KEY few (few), KEY many (many), KEY big (big))"
    ));
    let all: Vec<usize> = (1..=rows).collect();
    for part in all.chunks(1000) {
        let mut sql = format!("INSERT INTO {name} VALUES ");
        for row in part {
            let comma = if *row == part[0] { "" } else { "," };
            let (few, many, big) = (row % 4, row % (rows / 5).max(1), row % (rows / 100).max(1));
            write!(sql, "{comma}({row}, {few}, {many}, {big}, 's{row}')").expect("a string takes all");
        }
        client.ok(&sql);
    }
    client.ok(&format!("ANALYZE TABLE {name}"));
}

/// Table, type, key and rows of each line of an EXPLAIN.
fn explain(client: &mut Client, sql: &str) -> Vec<String> {
    let lines = client.run(&format!("EXPLAIN {sql}"));
    let shown = |line: &String| {
        let fields: Vec<&str> = line.split(" | ").collect();
        match fields.as_slice() {
            [_, _, table, _, kind, _, key, _, _, rows, ..] => format!("{table} {kind} {key} {rows}"),
            _ => line.clone(),
        }
    };
    lines[1..].iter().map(shown).collect()
}

#[test]
fn an_index_of_few_values_is_left_and_one_of_many_is_taken() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "t", 2000);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE few = 1"), ["t ALL NULL 2000"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE few = 1 AND many = 7"), ["t ref many 5"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE big = 1 AND many = 7"), ["t ref many 5"]);
    // Its entries alone are worth while, and rows to be locked are found by it anyway.
    assert_eq!(explain(&mut client, "SELECT id FROM t WHERE few = 1"), ["t ref few 500"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE few = 1 FOR UPDATE"), ["t ref few 500"]);
    assert_eq!(explain(&mut client, "UPDATE t SET s = '' WHERE few = 1"), ["t ref few 500"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t FORCE INDEX (few) WHERE few = 1"), ["t ref few 500"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t IGNORE INDEX (many) WHERE many = 7"), ["t ALL NULL 2000"]);
    assert_eq!(explain(&mut client, "SELECT COUNT(*) FROM t"), ["t index few 2000"]);
}

#[test]
fn what_a_long_list_has_is_what_its_parts_have() {
    let mut client = Client::in_new_database(&Disk::new().open());
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, n INT, u BIGINT UNSIGNED, d DECIMAL(6,2), s VARCHAR(10), e DATE, f DOUBLE, KEY n (n))");
    for id in 0..200_i64 {
        let n = if id % 9 == 0 { "NULL".to_owned() } else { (id % 40 - 5).to_string() };
        let (u, d, f) = (id * 1_000_000_000_000, id as f64 / 4.0, id as f64 / 2.0);
        let (s, day) = (["a", "B", "c", "D ", "é", "7", ""][id as usize % 7], 1 + id % 28);
        client.ok(&format!("INSERT INTO t VALUES ({id}, {n}, {u}, {d}, '{s}{}', '2024-02-{day}', {f})", id % 3));
    }
    let lists = [
        ("n", "-3, 0, 1, 2.0, 5, 7, 30, 31, 32, 33"),
        ("n", "-3, 0, 1, 2, 5, 7, 30, 31, NULL, 33"),
        ("n + 0.5", "-2.5, 0.5, 1, 2, 5.50, 7, 30, 31, 32, 33"),
        ("n", "'-3', '0', 1, 2, 5, 7, '30', 31, 32, 33"),
        ("u", "1000000000000, 2000000000000, -1, 3, 4, 5, 6, 7, 199000000000000, 18446744073709551615"),
        ("d", "0.25, 1, 2.00, 3.5, 4, 5, 6, 7.75, 8, 9"),
        ("s", "'A0', 'b1', 'C2', 'd 0', 'E1', '71', '0', '1', '2', 'x'"),
        ("s", "'A0', 'b1', 'C2', 'd 0', 'E1', 71, '0', '1', '2', 'x'"),
        (
            "e",
            "'2024-02-03', '2024-02-04', DATE'2024-02-05', '2024-2-6', '2024-02-07 00:00:00', '2024-02-08 01:00:00', '2024-02-09', '2024-02-10', '2024-02-11', '2024-02-12'",
        ),
        ("f", "0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5"),
    ];
    for (of, list) in lists {
        let parts: Vec<String> = list.split(", ").map(|one| format!("{of} = {one}")).collect();
        let (any, none) = (parts.join(" OR "), format!("NOT ({})", parts.join(" OR ")));
        for (long, short) in [(format!("{of} IN ({list})"), any), (format!("{of} NOT IN ({list})"), none)] {
            let expected = client.run(&format!("SELECT id FROM t WHERE {short} ORDER BY id"));
            // By the scans of a snapshot and of locks, and by a filter.
            for (from, end) in
                [("t", ""), ("t", " FOR UPDATE"), ("(SELECT id, n, u, d, s, e, f, RAND() FROM t) AS t", "")]
            {
                let sql = format!("SELECT id FROM {from} WHERE {long} ORDER BY id{end}");
                assert_eq!(client.run(&sql), expected, "{sql}");
            }
        }
    }
}

#[test]
fn joined_rows_that_limit_asks_for_are_looked_up() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "t", 2000);
    table(&mut client, "u", 3000);
    for (sql, first) in [
        ("SELECT * FROM t JOIN u ON u.many = t.many LIMIT 10", "t ALL NULL 2000"),
        ("SELECT * FROM t LEFT JOIN u ON u.many = t.id ORDER BY t.id LIMIT 10", "t index PRIMARY 2000"),
        ("SELECT * FROM t LEFT JOIN u ON u.many = t.id ORDER BY t.id DESC LIMIT 10", "t index PRIMARY 2000"),
        (
            "SELECT * FROM t WHERE EXISTS (SELECT * FROM u WHERE u.many = t.id) ORDER BY id LIMIT 5",
            "t index PRIMARY 2000",
        ),
    ] {
        assert_eq!(explain(&mut client, sql), [first, "u ref many 5"], "{sql}");
    }
    // All rows are sorted, or counted.
    for sql in [
        "SELECT * FROM t JOIN u ON u.many = t.id ORDER BY t.s LIMIT 10",
        "SELECT SQL_CALC_FOUND_ROWS * FROM t JOIN u ON u.many = t.id LIMIT 10",
        "SELECT * FROM t JOIN u ON u.many = t.id",
    ] {
        let lines = client.run(&format!("EXPLAIN {sql}"));
        assert!(lines[2].contains("hash join"), "{sql}: {lines:?}");
    }
}

/// 6000 rows: 300 for each value of `a` and of `b`, and 15 for each pair.
fn table_of_pairs(client: &mut Client) {
    client.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, KEY a (a), KEY b (b), KEY ca (c, a))");
    for from in (0..6000).step_by(1000) {
        let row = |id: i32| format!("({id}, {}, {}, {})", id % 20, id / 20 % 20, id % 7);
        let rows: Vec<String> = (from..from + 1000).map(row).collect();
        client.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    client.ok("ANALYZE TABLE t");
}

#[test]
fn indexes_are_intersected_where_that_saves_lookups() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table_of_pairs(&mut client);
    table(&mut client, "small", 200);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE a = 1 AND b = 2"), ["t index_merge a,b 15"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE a = 1 AND b = 2 AND id > 7"), ["t index_merge a,b 15"]);
    let joined = "SELECT * FROM small JOIN t ON t.a = small.few AND t.b = small.many WHERE small.id = 5";
    assert_eq!(explain(&mut client, joined), ["small const PRIMARY 1", "t index_merge a,b 15"]);
    // One index knows both, or more keys are found than lookups are saved.
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE a = 1 AND c = 2"), ["t ref ca 43"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE a IN (1, 2, 3) AND b = 2"), ["t ref b 300"]);
    // Bounds say nothing of how many rows there are. LIMIT may be reached before all keys are found.
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE a = 1 AND b < 2"), ["t ref a 300"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE a = 1 AND b = 2 LIMIT 3"), ["t ref a 300"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t WHERE a = 1 AND b = 2 FOR UPDATE"), ["t ref a 300"]);
    assert_eq!(explain(&mut client, "UPDATE t SET c = 0 WHERE a = 1 AND b = 2"), ["t ref a 300"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t FORCE INDEX (b) WHERE a = 1 AND b = 2"), ["t ref b 300"]);
}

#[test]
fn an_index_is_not_walked_for_longer_than_lookups_take() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table_of_pairs(&mut client);
    // Rare values, which the plan knows nothing of.
    client.ok("UPDATE t SET a = 50 WHERE id IN (2, 40, 41, 42, 43)");
    client.ok("UPDATE t SET b = 60 WHERE id IN (45, 46)");
    let looked_up = |client: &mut Client, condition: &str| {
        let tree = client.run(&format!("EXPLAIN ANALYZE SELECT * FROM t WHERE {condition}")).concat();
        let (_, merged) = tree.split_once("Intersect rows").expect(&tree);
        merged.split(" rows=").nth(2).and_then(|rows| rows.split(' ').next()).expect(&tree).to_owned()
    };
    assert_eq!(looked_up(&mut client, "a = 1 AND b = 3"), "15");
    assert_eq!(looked_up(&mut client, "a = 50 AND b = 2"), "5");
    assert_eq!(looked_up(&mut client, "a = 5 AND b = 60"), "1");
    assert_eq!(looked_up(&mut client, "a = 70 AND b = 2"), "0");
    assert_eq!(client.run("SELECT id FROM t WHERE a = 50 AND b = 2"), ["id", "40", "41", "42", "43"]);
}

#[test]
fn groups_are_skipped_where_they_are_few_and_large() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table_of_pairs(&mut client);
    assert_eq!(explain(&mut client, "SELECT DISTINCT a FROM t"), ["t range a 20"]);
    assert_eq!(explain(&mut client, "SELECT DISTINCT c, a FROM t"), ["t range ca 140"]);
    assert_eq!(explain(&mut client, "SELECT a, MAX(id) FROM t GROUP BY a"), ["t range a 20"]);
    assert_eq!(explain(&mut client, "SELECT MIN(id), MAX(id) FROM t"), ["t range PRIMARY 1"]);
    assert_eq!(explain(&mut client, "SELECT MAX(id) FROM t WHERE a = 3"), ["t range a 1"]);
    assert_eq!(explain(&mut client, "SELECT DISTINCT b, id FROM t"), ["t index b 6000"]);
    assert_eq!(explain(&mut client, "SELECT DISTINCT a FROM t FOR UPDATE"), ["t ALL NULL 6000"]);
}

#[test]
fn a_join_begins_where_it_finds_few_rows() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "small", 200);
    table(&mut client, "large", 3000);
    let join = "SELECT * FROM large JOIN small ON large.id = small.many";
    assert_eq!(explain(&mut client, join), ["small ALL NULL 200", "large eq_ref PRIMARY 1"]);
    let straight = "SELECT * FROM large STRAIGHT_JOIN small ON large.id = small.many";
    assert_eq!(explain(&mut client, straight)[0], "large ALL NULL 3000");
    let filtered = "SELECT * FROM large JOIN small ON large.many = small.id WHERE large.id = 5";
    assert_eq!(explain(&mut client, filtered), ["large const PRIMARY 1", "small eq_ref PRIMARY 1"]);
    let by_hash = "SELECT COUNT(*) FROM large a JOIN large b ON a.s = b.s";
    assert!(client.run(&format!("EXPLAIN {by_hash}")).concat().contains("hash join"));
    assert_eq!(client.run(by_hash)[1], "3000");
}

#[test]
fn every_order_gives_the_same_rows() {
    let mut client = Client::in_new_database(&Disk::new().open());
    for (name, rows) in [("a", 150), ("b", 40), ("c", 400)] {
        table(&mut client, name, rows);
    }
    let on = "a.many = b.id AND b.big = c.few AND c.many = a.id";
    let count =
        |client: &mut Client, from: &str| client.run(&format!("SELECT COUNT(*), SUM(c.id) FROM {from} WHERE {on}"));
    let chosen = count(&mut client, "a JOIN b JOIN c");
    for order in
        ["a STRAIGHT_JOIN b STRAIGHT_JOIN c", "c STRAIGHT_JOIN b STRAIGHT_JOIN a", "b STRAIGHT_JOIN a STRAIGHT_JOIN c"]
    {
        assert_eq!(count(&mut client, order), chosen, "{order}");
    }
    let hinted = "a IGNORE INDEX (PRIMARY, many) JOIN b IGNORE INDEX (PRIMARY) JOIN c IGNORE INDEX (many, few)";
    assert_eq!(count(&mut client, hinted), chosen);
    let left =
        "SELECT COUNT(*), COUNT(b.id), COUNT(c.id) FROM a LEFT JOIN (b JOIN c ON b.id = c.many) ON a.many = b.id";
    let ignored = left.replace("b JOIN c", "b IGNORE INDEX (PRIMARY) JOIN c IGNORE INDEX (many)");
    assert_eq!(client.run(left), client.run(&ignored));
}

#[test]
fn rows_that_take_long_to_make_are_made_once() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "t", 2000);
    client.ok("CREATE TABLE u AS SELECT id, many FROM t WHERE id < 100");
    // Of few rows that all of a table are read for.
    let few = "(SELECT many, COUNT(*) AS n FROM t WHERE s = 's7' AND few = 1 GROUP BY many HAVING n > 5 AND n < 50 AND n <> 7)";
    for join in ["u JOIN", "u LEFT JOIN", "u LEFT JOIN u AS v ON v.id = u.id LEFT JOIN"] {
        let sql = format!("SELECT COUNT(*), COUNT(x.n) FROM {join} {few} AS x ON x.many = u.many");
        let plan = client.run(&format!("EXPLAIN ANALYZE {sql}")).join("\n");
        let scan = plan.lines().find(|line| line.contains("scan on t ")).unwrap_or_default();
        assert!(scan.contains("loops=1)"), "{join}:\n{plan}");
    }
}

#[test]
fn queries_within_queries_are_estimated_once_each() {
    let mut client = Client::in_new_database(&Disk::new().open());
    client.ok("CREATE TABLE t (k INT)");
    client.ok("INSERT INTO t VALUES (1), (2)");
    // Estimated twice at each level they would take as long as a million of millions of them.
    let query = (0..40).fold("SELECT k FROM t".to_owned(), |within, level| {
        format!("SELECT k, COUNT(*) AS n FROM ({within}) AS x{level} GROUP BY k")
    });
    assert_eq!(client.run(&format!("SELECT COUNT(*) FROM ({query}) AS x")), ["COUNT(*)", "2"]);
}

#[test]
fn an_order_with_a_limit_takes_an_index_and_one_without_sorts() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "t", 3000);
    assert_eq!(explain(&mut client, "SELECT * FROM t ORDER BY many LIMIT 5"), ["t index many 3000"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t ORDER BY many"), ["t ALL NULL 3000"]);
    assert_eq!(explain(&mut client, "SELECT * FROM t ORDER BY id"), ["t index PRIMARY 3000"]);
    assert_eq!(explain(&mut client, "SELECT id, many FROM t ORDER BY many"), ["t index many 3000"]);
    assert_eq!(client.run("SELECT id FROM t ORDER BY many, id LIMIT 3")[1..], ["600", "1200", "1800"]);
}

#[test]
fn a_plan_is_made_anew_when_its_table_has_grown_and_not_before() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    table(&mut client, "t", 300);
    let misses = |client: &mut Client, row: usize| {
        let before = database.stats().plan_cache_misses;
        client.ok(&format!("SELECT * FROM t WHERE id = {row}"));
        database.stats().plan_cache_misses - before
    };
    assert_eq!(misses(&mut client, 1), 1);
    assert_eq!(misses(&mut client, 2), 0);
    client.ok("INSERT INTO t SELECT id + 1000, few, many, big, s FROM t WHERE id <= 40");
    client.ok("ANALYZE TABLE t");
    assert_eq!(misses(&mut client, 3), 0);
    client.ok("INSERT INTO t SELECT id + 5000, few, many, big, s FROM t");
    client.ok("ANALYZE TABLE t");
    assert_eq!(misses(&mut client, 4), 1);
    assert_eq!(misses(&mut client, 5), 0);
}

#[test]
fn what_the_alternatives_of_an_or_have_in_common_is_a_key_of_the_join() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "small", 200);
    table(&mut client, "large", 3000);
    let either = "SELECT COUNT(*), SUM(large.id) FROM small JOIN large WHERE (small.many = large.id AND small.few = 1 AND large.s <> 'x')
                  OR (small.few = 2 AND large.id = small.many) OR (small.many = large.id AND small.few = 3 AND large.few > 1)";
    let factored = "SELECT COUNT(*), SUM(large.id) FROM small JOIN large ON small.many = large.id
                    WHERE (small.few = 1 AND large.s <> 'x') OR small.few = 2 OR (small.few = 3 AND large.few > 1)";
    // The second alternative says the same the other way round, so that nothing is common to all three.
    assert!(!explain(&mut client, either)[1].contains("eq_ref"));
    let either = either.replace("large.id = small.many", "small.many = large.id");
    assert_eq!(explain(&mut client, &either)[1], "large eq_ref PRIMARY 1");
    assert_eq!(client.run(&either)[1], client.run(factored)[1]);
    // One alternative asks for nothing else.
    let absorbed = "SELECT COUNT(*) FROM small JOIN large WHERE small.many = large.id OR (small.few = 1 AND small.many = large.id)";
    assert_eq!(explain(&mut client, absorbed)[1], "large eq_ref PRIMARY 1");
    assert_eq!(client.run(absorbed)[1], "195");
    // What may warn is not passed, and rows that are to be locked are found as before.
    let loud = "SELECT COUNT(*) FROM small JOIN large WHERE (small.s > 0 AND small.many = large.id) OR (small.s > 1 AND small.many = large.id)";
    assert!(!explain(&mut client, loud)[1].contains("eq_ref"));
    assert!(!explain(&mut client, &format!("{either} FOR UPDATE"))[1].contains("eq_ref"));
}

#[test]
fn an_or_of_conditions_on_several_tables_leaves_rows_of_each_out_before_they_are_joined() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "a", 400);
    table(&mut client, "b", 400);
    let sql = "SELECT COUNT(*) FROM a JOIN b ON a.big = b.big WHERE (a.few = 1 AND b.id < 7) OR (a.few = 2 AND (b.id = 9 OR b.id = 8) AND a.id > 0)";
    let shown = tree(&mut client, &format!("EXPLAIN FORMAT=TREE {sql}"));
    assert!(
        shown.contains("Filter: ((a.few = 1) or ((a.few = 2) and (a.id > 0)))") || shown.contains("(`few` = 1)"),
        "{shown}"
    );
    let every = client.run(
        "SELECT COUNT(*) FROM a JOIN b ON a.big = b.big WHERE IF(a.few = 1, b.id < 7, a.few = 2 AND b.id IN (8, 9))",
    );
    assert_eq!(client.run(sql)[1], every[1]);
    // Of what is NULL for want of a partner nothing follows.
    let outer = "SELECT COUNT(*), COUNT(b.id) FROM a LEFT JOIN b ON a.id = b.many AND ((a.few = 1 AND b.id < 300) OR (a.few = 2 AND b.few = 1))";
    let every = "SELECT COUNT(*), COUNT(b.id) FROM a LEFT JOIN b ON a.id = b.many AND CASE a.few WHEN 1 THEN b.id < 300 WHEN 2 THEN b.few = 1 END";
    assert_eq!(client.run(outer)[1], client.run(every)[1]);
}

#[test]
fn a_constant_that_is_computed_once_for_many_rows_warns_as_if_it_were_not() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "t", 300);
    client.ok("ALTER TABLE t ADD d DATE");
    client.ok("UPDATE t SET d = '2024-01-01' + INTERVAL id DAY");
    let within = "SELECT COUNT(*), MAX(id) FROM t IGNORE INDEX (PRIMARY) WHERE d < '2024-01-01' + INTERVAL 100 + 1 DAY AND id BETWEEN 40 - 10 AND 400 / 2";
    assert_eq!(client.run(within)[1], "71 | 100");
    let nothing = "SELECT COUNT(*) FROM t WHERE d < '2024-01-01' + INTERVAL NULL DAY OR id IN (1 + 1, NULL + 1)";
    assert_eq!(client.run(nothing)[1], "1");
    client.ok("SELECT s FROM t IGNORE INDEX (PRIMARY) WHERE id > 'x' + 1000");
    assert_eq!(client.run("SHOW COUNT(*) WARNINGS")[1], "300");
}

#[test]
fn a_derived_table_that_only_chooses_is_a_part_of_the_query_around() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "a", 300);
    table(&mut client, "b", 200);
    let by_key = "SELECT * FROM (SELECT x.s, x.id AS n FROM (SELECT * FROM a WHERE few = 1) AS x) AS y WHERE n = 5";
    assert_eq!(explain(&mut client, by_key), ["a const PRIMARY 1"]);
    assert_eq!(client.run(by_key), ["s | n", "s5 | 5"]);
    // LIMIT keeps a derived table as it is: the same rows come from both.
    let queries = [
        "SELECT COUNT(*), SUM(y.n + y.twice), MIN(b.s) FROM b JOIN (SELECT id AS n, id * 2 AS twice, few FROM a WHERE big = 1 #) AS y ON b.id = y.twice WHERE y.n > 3",
        "SELECT y.n, COUNT(*), SUM(y.v) OVER (ORDER BY y.n, y.v) FROM (SELECT a.few AS n, a.big + b.few AS v FROM a JOIN b ON a.id = b.many WHERE b.id < 90 #) AS y GROUP BY y.n, y.v HAVING y.n < 3 ORDER BY y.n, y.v DESC",
        "SELECT b.id, y.n, y.s FROM b LEFT JOIN (SELECT id AS n, s FROM a WHERE few = 2 #) AS y ON y.n = b.many AND b.few = 2 WHERE b.id < 60 ORDER BY 1, 2",
        "SELECT b.id, y.n, y.k FROM b LEFT JOIN (SELECT id AS n, COALESCE(few, 1) AS k FROM a WHERE few = 2 #) AS y ON y.n = b.many WHERE b.id < 60 ORDER BY 1, 2",
        "SELECT b.id, y.* FROM b LEFT JOIN (SELECT l.id AS n, r.s AS t FROM a AS l LEFT JOIN a AS r ON r.id = l.many AND r.few = 1 WHERE l.few = 2 #) AS y ON y.n = b.many WHERE y.t IS NULL ORDER BY 1, 2, 3",
        "SELECT b.id, (SELECT MAX(c.id) FROM b AS c WHERE c.many = y.v) FROM b STRAIGHT_JOIN (SELECT few + 1 AS v, id AS n FROM a WHERE id < 9 #) AS y STRAIGHT_JOIN a ON a.id = y.n AND b.few = a.few ORDER BY 1, 2",
        "SELECT DISTINCT y.v FROM (SELECT a.few + b.few AS v FROM a, b WHERE a.id = b.id #) AS y, LATERAL (SELECT y.v + 1 AS w #) AS z WHERE z.w > 2 ORDER BY y.v",
    ];
    for query in queries {
        let (merged, kept) = (query.replace('#', ""), query.replace('#', "LIMIT 100000"));
        assert_eq!(client.run(&merged), client.run(&kept), "{merged}");
        assert!(client.run(&merged).len() >= 2, "{merged}");
    }
    // Each doubles the one before.
    let mut doubled = "SELECT id AS n FROM a WHERE id = 1".to_owned();
    for _ in 0..30 {
        doubled = format!("SELECT n + n AS n FROM ({doubled}) AS y");
    }
    assert_eq!(client.run(&doubled)[1], (1_u64 << 30).to_string());
}

#[test]
fn a_hash_join_keeps_the_side_with_fewer_rows() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "small", 200);
    table(&mut client, "large", 3000);
    for from in ["small JOIN large", "large JOIN small", "small STRAIGHT_JOIN large"] {
        let sql = format!("SELECT COUNT(*), SUM(large.id) FROM {from} ON small.s = large.s");
        let shown = client.run(&format!("EXPLAIN FORMAT=TREE {sql}"))[1..].join("\n");
        let kept = shown.split("-> Hash").nth(1).expect("a hash join");
        assert!(kept.contains("scan on small"), "{shown}");
        assert_eq!(client.run(&sql)[1], "200 | 20100");
    }
    // Whose rows come in the order that is wanted are read first.
    let ordered =
        "SELECT small.id FROM small STRAIGHT_JOIN large ON small.s = large.s WHERE small.id < 4 ORDER BY small.id DESC";
    assert_eq!(client.run(ordered)[1..], ["3", "2", "1"]);
    let left = "SELECT COUNT(*), COUNT(small.id) FROM large LEFT JOIN small ON small.s = large.s";
    assert_eq!(client.run(left)[1], "3000 | 200");
}

/// Without costs and times.
fn tree(client: &mut Client, sql: &str) -> String {
    let text = client.run(sql)[1..].join("\n");
    let mut out = String::new();
    for line in text.lines() {
        let line = line.split("  (cost=").next().unwrap_or_default().to_owned()
            + &line.split_once("  (cost=").and_then(|(_, rest)| rest.split_once(" rows=")).map_or(
                String::new(),
                |(_, rest)| {
                    let estimate = rest.split([')', ' ']).next().unwrap_or_default();
                    let done = rest.rsplit_once(" rows=").map_or("", |(_, done)| done.trim_end_matches(')'));
                    format!(" [{estimate}/{done}]")
                },
            );
        out += &line;
        out.push('\n');
    }
    out
}

#[test]
fn analyze_counts_what_each_operator_gives() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "small", 200);
    table(&mut client, "large", 3000);
    let sql = "EXPLAIN ANALYZE SELECT small.id FROM small JOIN large ON large.id = small.many \
               WHERE small.s LIKE 's1%' ORDER BY large.s LIMIT 7";
    let seen = tree(&mut client, sql);
    let expected = "\
-> Limit: 7 row(s) [7/7 loops=1]
    -> Sort: `s`, limit input to 7 row(s) per chunk [22/7 loops=1]
        -> Nested loop inner join [22/109 loops=1]
            -> Filter: (`s` like 's1%') [22/111 loops=1]
                -> Table scan on small [200/200 loops=1]
            -> Single-row index lookup on large using PRIMARY (id=`many`) [1/0.982 loops=111]
";
    let shape = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(" [").next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(shape(&seen), shape(expected), "{seen}");
    let scanned = seen.lines().find(|line| line.contains("Table scan")).expect("a scan");
    assert!(scanned.ends_with("[200/200 loops=1]"), "{scanned}");
    let looked_up = seen.lines().find(|line| line.contains("lookup")).expect("a lookup");
    assert!(looked_up.ends_with("loops=111]"), "{looked_up}");
    assert!(seen.starts_with("-> Limit: 7 row(s) [7/7 loops=1]"), "{seen}");
    assert!(tree(&mut client, "EXPLAIN ANALYZE SELECT * FROM large WHERE id = 0").contains("/0 loops=1"));
    let impossible = tree(&mut client, "EXPLAIN ANALYZE SELECT * FROM large WHERE 1 = 0 AND id = 1");
    assert!(impossible.starts_with("-> Zero rows (Impossible WHERE)"), "{impossible}");
}

#[test]
fn formats_are_those_of_mysql() {
    let mut client = Client::in_new_database(&Disk::new().open());
    table(&mut client, "t", 300);
    let json = client.run("EXPLAIN FORMAT=JSON SELECT s FROM t WHERE many = 3 AND few > 1")[1..].join("\n");
    let document: serde_json::Value = serde_json::from_str(&json).expect(&json);
    let table = &document["query_block"]["table"];
    assert_eq!(document["query_block"]["select_id"], 1);
    assert_eq!(
        (&table["table_name"], &table["access_type"], &table["key"]),
        (&"t".into(), &"ref".into(), &"many".into())
    );
    assert_eq!(table["used_key_parts"], serde_json::json!(["many"]));
    assert_eq!(table["ref"], serde_json::json!(["const"]));
    assert_eq!(table["possible_keys"], serde_json::json!(["few", "many"]));
    assert_eq!(table["rows_examined_per_scan"], 5);
    assert_eq!(table["filtered"], "33.33");
    assert_eq!(table["used_columns"], serde_json::json!(["few", "many", "s"]));
    let join =
        client.run("EXPLAIN FORMAT=JSON SELECT a.s FROM t a JOIN t b ON a.id = b.many ORDER BY a.s")[1..].join("\n");
    let document: serde_json::Value = serde_json::from_str(&join).expect(&join);
    let ordering = &document["query_block"]["ordering_operation"];
    assert_eq!(ordering["using_filesort"], true);
    assert_eq!(ordering["nested_loop"].as_array().map(Vec::len), Some(2), "{join}");
    let tree =
        client.run("EXPLAIN FORMAT=TREE SELECT few, COUNT(*) FROM t WHERE id BETWEEN 3 AND 9 GROUP BY few").concat();
    assert!(tree.contains("-> Index range scan on t using PRIMARY over (3 <= id <= 9)"), "{tree}");
    assert!(tree.contains("-> Aggregate using temporary table"), "{tree}");
    assert_eq!(client.run("EXPLAIN FORMAT=XML SELECT 1"), ["ERROR 1791 (HY000): Unknown EXPLAIN format name: 'XML'"]);
    assert!(client.run("EXPLAIN ANALYZE DELETE FROM t")[0].starts_with("ERROR 1235"));
}

/// `cargo test -p cohort-sql --lib planning_takes -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn planning_takes() {
    let database = Disk::new().open();
    let mut client = Client::in_new_database(&database);
    for number in 0..9 {
        table(&mut client, &format!("t{number}"), 300);
    }
    for tables in [1, 2, 6, 8, 9] {
        let mut sql = String::from("SELECT t0.s FROM t0");
        for number in 1..tables {
            write!(sql, " JOIN t{number} ON t{number}.id = t{}.many", number - 1).expect("a string takes all");
        }
        sql += " WHERE t0.id = 7 AND t0.few > 1";
        let rounds = 200;
        let begun = Instant::now();
        for round in 0..rounds {
            // A new fingerprint each time; nothing is read.
            client.ok(&format!("EXPLAIN {sql} AND t0.big < {round}"));
        }
        println!("{tables} tables: {:?} to parse, plan and explain", begun.elapsed() / rounds);
    }
}
