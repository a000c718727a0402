//! Conditions on derived tables: where they get into them, the rows are those that there are where they stay around.

use super::{Client, Disk};

fn client() -> Client {
    let mut client = Client::new(&Disk::new().open());
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, s VARCHAR(8), b VARBINARY(8), d DECIMAL(6,2), f DOUBLE, \
         day DATE, at DATETIME(3), e ENUM('one', 'two'), KEY (k))",
        "CREATE TABLE u (k INT, w BIGINT, s VARCHAR(8), l VARCHAR(8) COLLATE utf8mb4_general_ci, b VARBINARY(8), \
         d DECIMAL(10,4), day DATE)",
        "INSERT INTO t VALUES (1,1,1,'x','x',1,0,'2024-01-01','2024-01-01','one'), \
         (2,1,NULL,'X','X',1.5,-0e0,'2024-01-01','2024-01-01 10:00:00','two'), \
         (3,2,2,'y','y',2,1.5,'2023-05-05',NULL,NULL), (4,NULL,3,'z','Z',3,NULL,NULL,'2023-05-05 00:00:00.5','one'), \
         (5,3,4,NULL,NULL,NULL,2,'2023-12-31','2024-01-02','two'), (6,NULL,NULL,NULL,NULL,4,0,NULL,NULL,NULL), \
         (7,4,1,'Y','y ',0,3,'2024-06-01','2024-06-01','one'), (8,2,5,'xx','x',1,1.5,'2024-01-01','2023-12-31','two'), \
         (9,2,2,'X','x',2.00,1.5,'2022-02-02','2024-01-01','one')",
        "INSERT INTO u VALUES (1,1,'x','x','x',1,'2024-01-01'), (1,2,'X','X','X',1.0001,'2024-01-01'), \
         (2,9000000000,'y','y','y',2,'2023-05-05'), (3,NULL,NULL,NULL,NULL,NULL,NULL), (9,1,'q','q','q',7,'2020-02-29')",
    ] {
        client.ok(sql);
    }
    client
}

const GROUPS: &str = "(SELECT k, COUNT(*) AS n, AVG(d) AS a FROM t GROUP BY k) AS x";

/// Queries whose conditions get into the derived table and are not asked around it.
const MOVED: &[&str] = &[
    // Keys, aggregates, both.
    "SELECT * FROM {GROUPS} WHERE k = 2",
    "SELECT * FROM {GROUPS} WHERE n > 1",
    "SELECT * FROM {GROUPS} WHERE a > 1.25 AND k IS NOT NULL AND n < 3",
    "SELECT * FROM {GROUPS} WHERE k > 1 OR n = 1",
    "SELECT * FROM {GROUPS} WHERE NOT (k < -1) AND k <=> k",
    "SELECT * FROM (SELECT COUNT(*) AS n FROM t) AS x WHERE n > 9",
    "SELECT * FROM (SELECT s, MIN(v) AS m FROM t GROUP BY s HAVING COUNT(*) > 1) AS x WHERE s = 'X' AND m IS NOT NULL",
    "SELECT * FROM (SELECT f, COUNT(*) AS n FROM t GROUP BY f) AS x WHERE f = 0",
    "SELECT * FROM (SELECT e, COUNT(*) AS n FROM t GROUP BY e) AS x WHERE e = 'TWO'",
    "SELECT * FROM (SELECT d, COUNT(*) AS n FROM t GROUP BY d) AS x WHERE d BETWEEN 1 AND 2",
    // LIKE tells texts apart that are one group: it is asked of the group.
    "SELECT COUNT(*) FROM (SELECT s, COUNT(*) AS n FROM t GROUP BY s) AS x WHERE s LIKE 'x%'",
    "SELECT * FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b) AS x WHERE b LIKE 'x%'",
    // Dates.
    "SELECT * FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS x WHERE day < '2024-01-01'",
    "SELECT * FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS x WHERE day >= DATE '2023-01-01' - INTERVAL 1 YEAR",
    "SELECT * FROM (SELECT YEAR(day) AS y, COUNT(*) AS n FROM t GROUP BY YEAR(day)) AS x WHERE y = 2024",
    "SELECT * FROM (SELECT day, COUNT(*) AS n FROM t GROUP BY day) AS x WHERE EXTRACT(MONTH FROM day) = 1",
    // Distinct rows, order, windows.
    "SELECT * FROM (SELECT DISTINCT k, v FROM t) AS x WHERE k IN (1, 2) AND v = 2",
    "SELECT * FROM (SELECT DISTINCT s FROM t) AS x WHERE s > 'x'",
    "SELECT * FROM (SELECT DISTINCT COUNT(*) AS n FROM t GROUP BY k) AS x WHERE n > 1",
    "SELECT * FROM (SELECT k, v FROM t ORDER BY v) AS x WHERE k = 1",
    "SELECT * FROM (SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY id) AS r FROM t) AS x WHERE k = 2",
    "SELECT * FROM (SELECT k, s, RANK() OVER (PARTITION BY k, s ORDER BY v) AS r, \
     COUNT(*) OVER (PARTITION BY s) AS c FROM t) AS x WHERE s = 'x'",
    "SELECT * FROM (SELECT k, v, SUM(COUNT(*)) OVER (PARTITION BY k) AS r FROM t GROUP BY k, v) AS x WHERE k = 2",
    "SELECT * FROM (SELECT MAX(k) AS m, COUNT(*) OVER (PARTITION BY MAX(k)) AS r FROM t GROUP BY s) AS x WHERE m = 2",
    // Set operations.
    "SELECT * FROM (SELECT k, s FROM t UNION SELECT k, s FROM u) AS x WHERE k = 1 AND s = 'x'",
    "SELECT * FROM (SELECT k, s FROM t UNION ALL SELECT k, s FROM u) AS x WHERE s LIKE 'x'",
    "SELECT * FROM (SELECT k FROM t EXCEPT SELECT k FROM u) AS x WHERE k > 1",
    "SELECT * FROM (SELECT s FROM t INTERSECT SELECT s FROM u) AS x WHERE s >= 'y'",
    "SELECT * FROM (SELECT k FROM t INTERSECT ALL SELECT k FROM u) AS x WHERE k < 3",
    "SELECT * FROM (SELECT k FROM t EXCEPT ALL SELECT k FROM u) AS x WHERE k < 3",
    "SELECT * FROM (SELECT 1 AS kind, k FROM t UNION ALL SELECT 2, k FROM u) AS x WHERE kind = 2",
    "SELECT * FROM (SELECT NULL AS k FROM t UNION SELECT k FROM u) AS x WHERE k IS NULL OR k = 1",
    "SELECT * FROM (SELECT k FROM t UNION SELECT w FROM u) AS x WHERE k BETWEEN 1 AND 9000000000",
    "SELECT * FROM (SELECT d FROM t UNION SELECT d FROM u) AS x WHERE d <= 1.0001",
    "SELECT * FROM (SELECT k FROM t UNION SELECT d FROM u) AS x WHERE k = 1",
    "SELECT * FROM ((SELECT k FROM t UNION SELECT w FROM u) EXCEPT SELECT k FROM u) AS x WHERE k > 1",
    "SELECT * FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k UNION ALL SELECT w, COUNT(*) FROM u GROUP BY w) AS x \
     WHERE n > 1 AND k >= 1",
    "SELECT * FROM (SELECT day FROM t UNION SELECT day FROM u) AS x WHERE day > '2023-05-05'",
    // A derived table of a derived table.
    "SELECT * FROM (SELECT k, COUNT(*) AS n FROM (SELECT k FROM t UNION ALL SELECT k FROM u) AS y GROUP BY k) AS x \
     WHERE k = 1",
    "SELECT * FROM (SELECT DISTINCT n FROM {GROUPS}) AS z WHERE n > 1",
    "WITH c AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k) SELECT * FROM c WHERE n > 1",
    // Beside other tables.
    "SELECT * FROM u JOIN {GROUPS} ON x.k = u.k WHERE x.k > 1 AND u.k < 3",
    "SELECT * FROM u JOIN {GROUPS} ON x.k = u.k AND x.n > 1",
    "SELECT * FROM u LEFT JOIN {GROUPS} ON x.k = u.k AND x.n > 1",
    "SELECT * FROM u LEFT JOIN {GROUPS} ON x.k = u.k WHERE x.n > 1",
    "SELECT * FROM u LEFT JOIN (t JOIN {GROUPS} ON x.k = t.k) ON t.k = u.k AND x.k < 2",
    // By an equality with what is asked of another table.
    "SELECT * FROM u JOIN {GROUPS} ON x.k = u.k WHERE u.k = 1",
    "SELECT * FROM u JOIN {GROUPS} ON u.w = x.n WHERE u.w BETWEEN 1 AND 2 AND u.k > 0",
    "SELECT * FROM u LEFT JOIN {GROUPS} ON x.k = u.k WHERE u.k IN (1, 3)",
    "SELECT * FROM {GROUPS} JOIN (SELECT DISTINCT k FROM u) AS y ON y.k = x.k LEFT JOIN (SELECT DISTINCT v FROM t) AS z \
     ON z.v = x.k WHERE x.k = 1",
    "SELECT * FROM u LEFT JOIN {GROUPS} ON x.k = u.k AND u.k < 3",
    "SELECT * FROM u JOIN (SELECT s, COUNT(*) AS n FROM t GROUP BY s) AS x ON x.s = u.s WHERE u.s = 'X'",
    "SELECT * FROM u JOIN {GROUPS} WHERE (x.k = 1 AND u.k = 1) OR (x.k = 2 AND u.k = 3)",
    "SELECT * FROM u WHERE k IN (SELECT x.k FROM {GROUPS} WHERE x.n > 1)",
    "SELECT (SELECT SUM(x.n) + u.k FROM {GROUPS} WHERE x.k > 1) FROM u",
];

/// Queries whose conditions are asked around the derived table as well.
const IN_PART: &[&str] = &[
    // Of the type of the set operation are the values of one operand only.
    "SELECT * FROM (SELECT s AS c FROM t UNION ALL SELECT v FROM t) AS x WHERE c = '1' OR c = 'X'",
    "SELECT * FROM (SELECT at AS c FROM t UNION SELECT day FROM u) AS x WHERE c <= '2024-01-01'",
    "SELECT * FROM ((SELECT k FROM t ORDER BY id LIMIT 3) UNION ALL SELECT k FROM u) AS x WHERE k = 1",
    "SELECT * FROM (SELECT k FROM t EXCEPT (SELECT k FROM u LIMIT 1)) AS x WHERE k > 0",
    "SELECT * FROM ((SELECT k FROM t ORDER BY id LIMIT 3) EXCEPT SELECT k FROM u) AS x WHERE k > 1",
    "SELECT * FROM (SELECT k FROM t GROUP BY k WITH ROLLUP UNION SELECT k FROM u) AS x WHERE k <=> NULL",
    "SELECT * FROM (SELECT f FROM t UNION SELECT k FROM u) AS x WHERE f = 1",
    // Of several conditions some move.
    "SELECT * FROM {GROUPS} WHERE k = 1 AND n = '2'",
    "SELECT * FROM {GROUPS} WHERE k = 2 AND n > (SELECT MIN(w) FROM u)",
    "SELECT * FROM u JOIN {GROUPS} WHERE ((x.k = 1 AND u.k = 1) OR (x.k = 2 AND u.k = 3)) AND x.n > u.k",
];

/// Queries whose conditions stay where they are.
const STAY: &[&str] = &[
    "SELECT * FROM (SELECT k, v FROM t ORDER BY id LIMIT 3) AS x WHERE k = 1",
    "SELECT * FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY k LIMIT 2) AS x WHERE n = 2",
    "SELECT * FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k WITH ROLLUP) AS x WHERE k > 1",
    // What tells values apart that count as equal.
    "SELECT COUNT(*) FROM (SELECT DISTINCT s FROM t) AS x WHERE s LIKE 'x'",
    "SELECT COUNT(*) FROM (SELECT s, COUNT(*) OVER (PARTITION BY s) AS n FROM t) AS x WHERE s LIKE 'x'",
    "SELECT COUNT(*) FROM (SELECT s FROM t UNION SELECT s FROM u) AS x WHERE s LIKE 'x_'",
    "SELECT COUNT(*) FROM (SELECT DISTINCT s FROM t) AS x WHERE s = 'x' COLLATE utf8mb4_bin",
    "SELECT * FROM (SELECT DISTINCT AVG(v) AS a FROM t GROUP BY k) AS x WHERE a > 1.66667",
    // Not of the partition.
    "SELECT * FROM (SELECT k, v, COUNT(*) OVER () AS n FROM t) AS x WHERE k = 2",
    "SELECT * FROM (SELECT k, v, SUM(v) OVER (PARTITION BY k) AS n FROM t) AS x WHERE v = 2",
    "SELECT * FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS n FROM t) AS x WHERE n = 1",
    "SELECT * FROM (SELECT k, s, COUNT(*) OVER (PARTITION BY k) AS n, COUNT(*) OVER (PARTITION BY s) AS m FROM t) AS x \
     WHERE k = 2",
    // Sides that an outer join keeps, or fills in.
    "SELECT * FROM {GROUPS} LEFT JOIN u ON u.k = x.k AND x.n > 1",
    "SELECT * FROM u LEFT JOIN {GROUPS} ON x.k = u.k WHERE x.n IS NULL",
    "SELECT * FROM u LEFT JOIN {GROUPS} ON x.k = u.k WHERE x.n <=> 2 OR u.k = 9",
    // What converts, asks, or reads what is around.
    "SELECT * FROM {GROUPS} WHERE n = '2'",
    "SELECT * FROM {GROUPS} WHERE n + 1 > 2",
    "SELECT * FROM {GROUPS} WHERE n > (SELECT MIN(w) FROM u)",
    "SELECT (SELECT x.n FROM {GROUPS} WHERE x.k = u.k) FROM u",
    "SELECT * FROM u JOIN {GROUPS} ON x.k = u.k",
    "SELECT * FROM u JOIN {GROUPS} ON x.k <=> u.k WHERE u.k IS NULL",
    "SELECT * FROM u LEFT JOIN {GROUPS} ON x.k = u.k AND x.n = u.w WHERE u.s = 'x'",
    "SELECT * FROM t LEFT JOIN {GROUPS} ON x.n = t.f WHERE t.f > 1",
    "SELECT * FROM u JOIN (SELECT s, COUNT(*) AS n FROM t GROUP BY s) AS x ON x.s = u.s WHERE u.s LIKE 'x'",
    "SELECT * FROM {GROUPS} LEFT JOIN u ON x.k = u.k AND u.k = 1",
    "SELECT * FROM u LEFT JOIN (t JOIN {GROUPS} ON x.k = t.k) ON t.k = u.k WHERE t.k IS NULL",
    "SELECT u.k, t.k FROM u LEFT JOIN (t LEFT JOIN {GROUPS} ON x.k = t.k) ON x.n = u.w WHERE t.k IS NULL",
    "SELECT * FROM (SELECT k, 100 / COUNT(*) AS n FROM t GROUP BY k) AS x WHERE n > 40",
    // What differs from run to run.
    "SELECT k FROM (SELECT k, RAND() AS r FROM t) AS x WHERE k = 2",
    "SELECT k FROM (SELECT k, @n AS r FROM t GROUP BY k) AS x WHERE k = 2",
    "SELECT k FROM (SELECT DISTINCT k FROM t WHERE RAND() < 2) AS x WHERE k = 2",
    "SELECT * FROM {GROUPS} WHERE n > @none OR k = 2",
    "WITH c AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k) SELECT * FROM c JOIN c AS o ON c.n = o.n WHERE c.k = 1",
    // A collation that is not each operand's.
    "SELECT * FROM (SELECT s COLLATE utf8mb4_bin AS s FROM t UNION SELECT l FROM u) AS x WHERE s = 'x'",
    "SELECT k FROM (SELECT k FROM t WHERE v > 0 FOR UPDATE) AS x WHERE k = 2",
];

fn switch(client: &mut Client, on: bool) {
    let on = if on { "on" } else { "off" };
    client.ok(&format!("SET optimizer_switch = 'derived_condition_pushdown={on}'"));
}

/// What a query gives, in whatever order, and its plan.
fn rows_and_plan(client: &mut Client, sql: &str) -> (Vec<String>, String) {
    let mut rows = client.run(sql);
    assert!(!rows[0].starts_with("ERROR"), "{sql}: {rows:?}");
    rows[1..].sort();
    (rows, client.run(&format!("EXPLAIN FORMAT=TREE {sql}"))[1..].join("\n").replace("\\n", "\n"))
}

/// Both with and without the rule, for one of the lists.
fn both_ways(queries: &[&str], check: &dyn Fn(&str, &str, &str)) {
    let mut client = client();
    for sql in queries {
        let sql = &sql.replace("{GROUPS}", GROUPS);
        switch(&mut client, false);
        let (expected, around) = rows_and_plan(&mut client, sql);
        switch(&mut client, true);
        let (found, within) = rows_and_plan(&mut client, sql);
        assert_eq!(found, expected, "{sql}\n{within}");
        check(sql, &around, &within);
    }
}

/// How many conditions are judged on the rows of derived tables.
fn judged_around(plan: &str) -> usize {
    let lines: Vec<&str> = plan.lines().map(str::trim_start).collect();
    let is_made = |line: &str| line.starts_with("-> Table scan on x") || line.starts_with("-> Table scan on <union");
    // A nested loop judges the condition of a join there.
    let is_filter = |line: &str| line.starts_with("-> Filter") && !line.contains("(`k` = `k`)");
    lines.windows(2).filter(|pair| is_filter(pair[0]) && is_made(pair[1])).count()
}

#[test]
fn conditions_get_into_derived_tables() {
    both_ways(MOVED, &|sql, around, within| {
        assert_ne!(around, within, "{sql}");
        assert_eq!(judged_around(within), 0, "{sql}\n{within}");
    });
}

#[test]
fn what_gets_into_a_part_is_asked_around_as_well() {
    both_ways(IN_PART, &|sql, around, within| assert_ne!(around, within, "{sql}"));
}

#[test]
fn what_is_not_the_same_within_stays() {
    both_ways(STAY, &|sql, around, within| assert_eq!(around, within, "{sql}"));
}

#[test]
fn hints_and_the_switch_turn_it_off_and_on() {
    let mut client = client();
    let cases = [
        ("", true, true),
        ("", false, false),
        ("/*+ NO_DERIVED_CONDITION_PUSHDOWN(x) */", true, false),
        ("/*+ NO_DERIVED_CONDITION_PUSHDOWN(y) */", true, true),
        ("/*+ NO_DERIVED_CONDITION_PUSHDOWN() */", true, false),
        ("/*+ NO_DERIVED_CONDITION_PUSHDOWN() DERIVED_CONDITION_PUSHDOWN(x) */", true, true),
        ("/*+ QB_NAME(q) DERIVED_CONDITION_PUSHDOWN(@q x) */", false, true),
        ("/*+ SET_VAR(optimizer_switch = 'derived_condition_pushdown=off') */", true, false),
        ("/*+ SET_VAR(optimizer_switch = 'derived_condition_pushdown=on') */", false, true),
    ];
    for from in ["(SELECT k, COUNT(*) AS n FROM t GROUP BY k)", "(SELECT k FROM t UNION SELECT k FROM u)"] {
        for (hint, on, moves) in cases {
            switch(&mut client, on);
            let sql =
                format!("SELECT {hint} * FROM {from} AS x LEFT JOIN (SELECT 1 AS l LIMIT 1) AS y ON 1 WHERE k = 1");
            let (_, plan) = rows_and_plan(&mut client, &sql);
            assert_eq!(judged_around(&plan) == 0, moves, "{hint}, {on}:\n{plan}");
        }
    }
}

#[test]
fn what_changes_or_locks_keeps_its_conditions() {
    let mut client = client();
    for (sql, moves) in [
        ("UPDATE u JOIN {GROUPS} ON x.k = u.k SET u.w = 0 WHERE x.n > 1", false),
        ("DELETE u FROM u JOIN {GROUPS} ON x.k = u.k WHERE x.n > 1", false),
        ("SELECT * FROM u JOIN {GROUPS} ON x.k = u.k WHERE x.n > 1 FOR UPDATE", false),
        ("INSERT INTO u (k, w) SELECT k, n FROM {GROUPS} WHERE x.n > 1", true),
    ] {
        let plan = client.run(&format!("EXPLAIN FORMAT=TREE {}", sql.replace("{GROUPS}", GROUPS)))[1..].join("\n");
        assert_eq!(judged_around(&plan.replace("\\n", "\n")) == 0, moves, "{sql}:\n{plan}");
    }
}

#[test]
fn indexes_of_the_tables_within_are_used() {
    let mut client = client();
    let sql = "SELECT * FROM (SELECT k, SUM(v) AS n FROM t GROUP BY k UNION ALL SELECT k, w FROM u) AS x WHERE k = 1";
    let prepared = client.prepare(&sql.replace("k = 1", "k = ?"));
    let (_, plan) = rows_and_plan(&mut client, sql);
    assert!(plan.contains("Index lookup on t using k"), "{plan}");
    for (value, rows) in [(1, 3), (2, 2), (3, 2), (9, 1), (7, 0)] {
        let found = client.run_prepared(&prepared, &[crate::value::Value::Int(value)]);
        assert_eq!(found.len() - 1, rows, "{found:?}");
    }
}
