//! Conditions that ask queries, as joins and by what was answered before: each gives the rows that it gives where every
//! row asks for itself.

use std::sync::Arc;

use super::{Client, Disk};
use crate::profile::Profile;

fn client() -> Client {
    let mut client = Client::new(&Disk::new().open());
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, s VARCHAR(8), d DECIMAL(6,2))",
        "CREATE TABLE b (id INT PRIMARY KEY, k INT, v INT, s VARCHAR(8), d DECIMAL(6,2), KEY (k))",
        "CREATE TABLE c (k INT NOT NULL, w INT NOT NULL, v INT NOT NULL, PRIMARY KEY (k, w))",
        "CREATE TABLE one (k INT NOT NULL, v INT, s VARCHAR(8), UNIQUE (k), UNIQUE (s))",
        "CREATE TABLE empty (k INT, v INT)",
        "INSERT INTO a VALUES (1,1,1,'x',1), (2,1,NULL,'X',1.5), (3,2,2,'y',2), (4,NULL,3,'z',3), (5,3,4,NULL,NULL), \
         (6,NULL,NULL,NULL,4), (7,4,1,'y ',0), (8,5,5,'ab',1), (9,2,2,'Y',2.00)",
        "INSERT INTO b VALUES (1,1,1,'X',1), (2,1,1,'x',1.00), (3,2,NULL,'y',NULL), (4,3,4,NULL,3), (5,3,NULL,'z',4), \
         (6,NULL,1,'y',1), (7,NULL,NULL,NULL,NULL), (8,6,6,'q',0), (9,2,3,'ab',2)",
        "INSERT INTO c VALUES (1,1,1), (1,2,2), (2,1,1), (3,1,4), (5,5,5)",
        "INSERT INTO one VALUES (1,1,'x'), (2,NULL,'y'), (3,4,NULL), (4,1,NULL), (9,9,'zz')",
    ] {
        client.ok(sql);
    }
    client
}

/// Conditions on rows of `a`, and the join that each is.
const JOINS: &[(&str, &str)] = &[
    ("EXISTS (SELECT * FROM b WHERE b.k = a.k)", "semijoin"),
    ("NOT EXISTS (SELECT * FROM b WHERE b.k = a.k)", "antijoin"),
    ("EXISTS (SELECT * FROM b IGNORE INDEX (k) WHERE b.k = a.k AND b.v <> a.v)", "semijoin"),
    ("NOT EXISTS (SELECT * FROM b IGNORE INDEX (k) WHERE b.k = a.k AND b.v <> a.v)", "antijoin"),
    ("EXISTS (SELECT 1 FROM b WHERE b.s = a.s AND a.v > 1)", "semijoin"),
    ("NOT EXISTS (SELECT 1 FROM b WHERE b.s = a.s AND a.v > 1 ORDER BY b.id)", "antijoin"),
    ("NOT EXISTS (SELECT DISTINCT b.v FROM b JOIN c ON c.k = b.k WHERE c.w < a.v)", "antijoin"),
    ("EXISTS (SELECT * FROM b LEFT JOIN c ON c.k = b.k AND c.v = a.v WHERE b.k = a.k AND c.k IS NULL)", "semijoin"),
    ("EXISTS (SELECT * FROM b WHERE b.d > a.d)", "semijoin"),
    ("a.v IN (SELECT b.v FROM b WHERE b.k = a.k)", "semijoin"),
    ("a.v NOT IN (SELECT b.v FROM b WHERE b.k = a.k)", "antijoin"),
    ("NOT a.v IN (SELECT b.v FROM b WHERE b.s = a.s)", "antijoin"),
    ("a.id NOT IN (SELECT c.v FROM c WHERE c.k = a.k)", "antijoin"),
    ("(a.v, a.s) IN (SELECT b.v, b.s FROM b WHERE b.k = a.k)", "semijoin"),
    ("(a.v, a.s) NOT IN (SELECT b.v, b.s FROM b WHERE b.k = a.k)", "antijoin"),
    ("a.v > ANY (SELECT b.v FROM b WHERE b.k = a.k)", "semijoin"),
    ("NOT a.v > ANY (SELECT b.v FROM b WHERE b.k = a.k)", "antijoin"),
    ("a.v >= ALL (SELECT b.v FROM b WHERE b.k = a.k)", "antijoin"),
    ("NOT a.v >= ALL (SELECT b.v FROM b WHERE b.k = a.k)", "semijoin"),
    ("a.v <> ALL (SELECT b.v FROM b WHERE b.k <=> a.k)", "antijoin"),
    ("7 IN (SELECT b.v + a.v FROM b WHERE b.k = a.k)", "semijoin"),
    ("EXISTS (SELECT * FROM b WHERE b.k = a.k AND b.v = (SELECT MAX(x.v) FROM b AS x WHERE x.k = a.k))", "semijoin"),
    (
        "EXISTS (SELECT * FROM b WHERE b.k = a.k AND EXISTS (SELECT * FROM c WHERE c.k = b.k AND c.v <= a.v))",
        "semijoin",
    ),
    (
        "EXISTS (SELECT * FROM b WHERE b.k = a.k AND NOT EXISTS (SELECT * FROM c WHERE c.k = b.k AND c.v = a.v))",
        "antijoin",
    ),
    ("EXISTS (SELECT * FROM b WHERE b.k = a.k) AND a.v NOT IN (SELECT c.w FROM c WHERE c.k = a.k)", "antijoin"),
    ("a.v IN (SELECT c.v FROM c JOIN one ON one.k = c.w WHERE c.k = a.k)", "semijoin"),
    ("a.k IN (SELECT b.k FROM b)", "semijoin"),
    ("a.id NOT IN (SELECT c.v FROM c)", "antijoin"),
    ("EXISTS (SELECT * FROM one, c WHERE one.k = a.k)", "semijoin"),
    ("EXISTS (SELECT * FROM (SELECT k FROM b) AS x WHERE x.k = a.k)", "semijoin"),
    ("EXISTS (SELECT * FROM (SELECT DISTINCT k FROM b) AS x WHERE x.k = a.k)", "semijoin"),
    (
        "NOT EXISTS (SELECT * FROM (SELECT k, SUM(v) AS s FROM b GROUP BY k) AS x WHERE x.k = a.k AND x.s >= a.v)",
        "antijoin",
    ),
    ("a.v IN (SELECT x.m FROM (SELECT k, MAX(v) AS m FROM b GROUP BY k) AS x WHERE x.k = a.k)", "semijoin"),
    ("a.v NOT IN (SELECT x.m FROM (SELECT k, MAX(v) AS m FROM b GROUP BY k) AS x WHERE x.k = a.k)", "antijoin"),
    (
        "a.v NOT IN (SELECT x.k FROM (SELECT c.k FROM c GROUP BY c.k WITH ROLLUP) AS x WHERE x.k <=> a.k OR a.id = 1)",
        "antijoin",
    ),
    (
        "a.k <> ALL (SELECT x.k FROM (SELECT c.k, c.v FROM b LEFT JOIN c ON c.k = b.k LIMIT 99) AS x WHERE a.id > 3)",
        "antijoin",
    ),
    ("a.v < ALL (SELECT x.v FROM (SELECT v FROM b LIMIT 9) AS x JOIN c ON c.w = x.v WHERE c.k = a.k)", "antijoin"),
    ("a.k IN (SELECT b.k FROM b UNION SELECT c.v FROM c)", "semijoin"),
    ("EXISTS (SELECT * FROM (SELECT k FROM b UNION ALL SELECT v FROM one) AS x WHERE x.k = a.k)", "semijoin"),
    (
        "EXISTS (WITH x AS (SELECT k, COUNT(*) AS n FROM b GROUP BY k) SELECT * FROM x WHERE x.k = a.k AND x.n > 1)",
        "semijoin",
    ),
    (
        "EXISTS (SELECT * FROM (SELECT k, v FROM b WHERE v IN (SELECT MAX(v) FROM c) GROUP BY k, v) AS x, c WHERE x.k = a.k)",
        "semijoin",
    ),
    ("EXISTS (SELECT * FROM (SELECT k FROM b LIMIT 9) AS x, one WHERE one.k = a.k AND x.k = one.v)", "semijoin"),
    ("a.k IN (SELECT k FROM (VALUES ROW(1), ROW(3)) AS x (k) WHERE x.k < a.v + 9)", "semijoin"),
    // At most one partner.
    ("a.k IN (SELECT one.k FROM one WHERE one.v > 0)", "inner"),
    ("a.s IN (SELECT one.s FROM one)", "inner"),
    ("EXISTS (SELECT * FROM c WHERE c.w = a.v AND c.k = a.k)", "inner"),
    ("EXISTS (SELECT * FROM one JOIN b ON b.v = one.v WHERE one.k = a.k)", "semijoin"),
    ("EXISTS (SELECT * FROM b STRAIGHT_JOIN one ON one.v = b.v WHERE one.k = a.k)", "semijoin"),
    ("EXISTS (SELECT * FROM one STRAIGHT_JOIN b ON one.v = b.v WHERE one.k = a.k)", "semijoin"),
];

/// Those of them that read no row of `a`.
const ONCE: &[&str] = &[
    "a.k IN (SELECT b.k FROM b)",
    "a.id NOT IN (SELECT c.v FROM c)",
    "a.k IN (SELECT b.k FROM b UNION SELECT c.v FROM c)",
];

/// Conditions that stay what they are.
const OTHERS: &[&str] = &[
    "a.id IN (SELECT b.v FROM b)",
    "a.k NOT IN (SELECT b.k FROM b)",
    "a.v NOT IN (SELECT empty.v FROM empty)",
    "EXISTS (SELECT * FROM b)",
    "EXISTS (SELECT COUNT(*) FROM b WHERE b.k = a.k)",
    "EXISTS (SELECT b.k FROM b WHERE b.k = a.k GROUP BY b.k HAVING COUNT(*) > 1)",
    "a.v IN (SELECT MAX(b.v) FROM b WHERE b.k = a.k)",
    "EXISTS (SELECT * FROM b WHERE b.k = a.k UNION SELECT * FROM b WHERE b.v = a.v)",
    "EXISTS (SELECT * FROM b WHERE b.k = a.k) OR a.id = 8",
    "EXISTS (SELECT * FROM (SELECT v FROM b WHERE b.k = a.k LIMIT 9) AS x WHERE x.v = a.v)",
    "EXISTS (SELECT * FROM (SELECT k + RAND() * 0 AS k FROM b LIMIT 9) AS x WHERE x.k = a.k)",
    "EXISTS (SELECT * FROM (SELECT k FROM b UNION SELECT a.v) AS x WHERE x.k = a.k)",
    "EXISTS (SELECT * FROM b, LATERAL (SELECT b.v + 1 AS w LIMIT 1) AS x WHERE x.w = a.k)",
    "EXISTS (SELECT * FROM JSON_TABLE('[1, 2]', '$[*]' COLUMNS (k INT PATH '$')) AS x WHERE x.k = a.k)",
    "EXISTS (SELECT * FROM b WHERE b.k = a.k AND RAND() < 2)",
    "EXISTS (SELECT * FROM b WHERE b.k = a.k LIMIT 0)",
    "a.v = (SELECT b.v FROM b WHERE b.id = a.id)",
    "a.v = (SELECT MAX(b.v) FROM b WHERE b.k = a.k)",
    "(a.v, a.k) = (SELECT b.v, b.k FROM b WHERE b.id = a.id)",
];

fn explained(client: &mut Client, sql: &str) -> String {
    client.run(&format!("EXPLAIN FORMAT=TREE {sql}"))[1..].join("\n")
}

#[test]
fn joins_give_the_rows_that_questions_give() {
    let mut client = client();
    let froms = ["a", "a JOIN one ON one.k = a.k", "a LEFT JOIN one ON one.v = a.v", "one LEFT JOIN a ON a.k = one.k"];
    for (condition, join) in JOINS {
        for from in froms.iter().filter(|from| **from == "a" || !condition.contains("FROM one")) {
            let rows = |client: &mut Client, condition: &str| {
                client.run(&format!("SELECT a.id FROM {from} WHERE {condition} ORDER BY a.id"))
            };
            // Below IS TRUE it is no condition of the join.
            let (found, expected) =
                (rows(&mut client, condition), rows(&mut client, &format!("({condition}) IS TRUE")));
            assert_eq!(found, expected, "{from}: {condition}");
        }
        let plan = explained(&mut client, &format!("SELECT id FROM a WHERE {condition}"));
        assert!(plan.to_lowercase().contains(join), "{condition}:\n{plan}");
        let plan = explained(&mut client, &format!("SELECT id FROM a WHERE ({condition}) IS TRUE"));
        assert!(!plan.lines().next().is_some_and(|first| first.contains("join")), "{plan}");
        // In ON they are the same.
        for kind in ["JOIN", "LEFT JOIN"] {
            let of = |condition: &str| {
                format!("SELECT x.k, a.id FROM one AS x {kind} a ON x.k = a.k AND {condition} ORDER BY 1, 2")
            };
            let (sql, asked) = (of(condition), of(&format!("({condition}) IS TRUE")));
            assert_eq!(client.run(&sql), client.run(&asked), "{kind}: {condition}");
            // What reads no row around is asked once, also where there are outer rows before.
            let stays = kind == "LEFT JOIN" && ONCE.contains(condition);
            let plan = explained(&mut client, &sql).to_lowercase();
            assert_eq!(plan.contains(&format!(" {join}")), !stays, "{kind}: {condition}:\n{plan}");
        }
    }
    for condition in OTHERS {
        let plan = explained(&mut client, &format!("SELECT id FROM a WHERE {condition}"));
        assert!(!plan.contains("semijoin") && !plan.contains("antijoin"), "{condition}:\n{plan}");
    }
}

/// Outer joins whose ON asks a query, and the join that becomes of it; `?` stands for the condition.
const OUTER_JOINS: &[(&str, &str, &str)] = &[
    ("a RIGHT JOIN one ON one.k = a.k AND ?", "EXISTS (SELECT * FROM b WHERE b.k = a.k)", "semijoin"),
    ("one LEFT JOIN a ON ?", "a.v NOT IN (SELECT b.v FROM b WHERE b.k = a.k)", "antijoin"),
    ("one LEFT JOIN a ON one.k < a.k AND ?", "a.id IN (SELECT c.k FROM c WHERE c.w = a.v)", "inner"),
    (
        "one LEFT JOIN (a JOIN c ON c.k = a.k) ON one.k = c.w AND ?",
        "a.v > ANY (SELECT b.v FROM b WHERE b.k = c.k)",
        "semijoin",
    ),
    (
        "one LEFT JOIN (a LEFT JOIN c ON c.k = a.k) ON one.k = a.k AND ?",
        "NOT EXISTS (SELECT * FROM b WHERE b.v = c.v)",
        "antijoin",
    ),
    (
        "one LEFT JOIN (a LEFT JOIN c ON c.k = a.k AND ?) ON one.k = a.k",
        "EXISTS (SELECT * FROM b WHERE b.v = c.w)",
        "semijoin",
    ),
    (
        "one LEFT JOIN a ON one.k = a.k AND ? LEFT JOIN c ON c.k = a.v",
        "a.v NOT IN (SELECT b.v FROM b WHERE b.k = a.k)",
        "antijoin",
    ),
    (
        "one JOIN a ON one.k <= a.k AND ? LEFT JOIN b AS y ON y.k = a.k",
        "EXISTS (SELECT * FROM b WHERE b.k = a.k)",
        "semijoin",
    ),
    // What follows LEFT JOIN is there then.
    (
        "one LEFT JOIN (SELECT * FROM a WHERE ?) AS a ON a.k = one.k",
        "EXISTS (SELECT * FROM b WHERE b.k = a.k)",
        "semijoin",
    ),
    // Of rows before it, all pairs would ask.
    ("one LEFT JOIN a ON one.k = a.k AND ?", "EXISTS (SELECT * FROM b WHERE b.k = one.k)", ""),
    ("one LEFT JOIN a ON one.k = a.k AND ?", "a.v IN (SELECT b.v FROM b WHERE b.k = one.v)", ""),
    ("one LEFT JOIN a ON one.k = a.k AND ?", "NOT EXISTS (SELECT * FROM b WHERE b.k = a.k AND b.v = one.v)", ""),
    ("one LEFT JOIN a ON one.k = a.k OR ?", "EXISTS (SELECT * FROM b WHERE b.k = a.k)", ""),
];

#[test]
fn in_outer_joins_partners_are_those_of_the_rows_that_follow() {
    let mut client = client();
    for little in [false, true] {
        for (from, condition, join) in OUTER_JOINS {
            let of = |condition: &str| format!("SELECT * FROM {}", from.replace('?', condition));
            let (sql, asked) = (of(condition), of(&format!("({condition}) IS TRUE")));
            client.session.join_buffer_size = if little { 1 } else { 8 << 20 };
            let (mut found, mut expected) = (client.run(&sql), client.run(&asked));
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{from}: {condition}");
            let plan = explained(&mut client, &sql).to_lowercase();
            let is_join = plan.contains("semijoin") || plan.contains("antijoin");
            assert!(if join.is_empty() { !is_join } else { plan.contains(join) }, "{from}: {condition}:\n{plan}");
        }
    }
    let sql =
        "SELECT one.k FROM one LEFT JOIN a ON one.k = a.k AND EXISTS (SELECT * FROM b FORCE INDEX (k) WHERE b.k = a.k)";
    let lines = client.run(&format!("EXPLAIN {sql}"));
    assert!(lines[2].starts_with("1 | SIMPLE | a") && !lines[2].contains("FirstMatch"), "{lines:?}");
    assert!(lines[3].contains("FirstMatch(a)"), "{lines:?}");
}

#[test]
fn what_is_unknown_is_no_partner_of_in_and_one_of_not_in() {
    let mut client = client();
    let ids = |client: &mut Client, condition: &str| {
        client.run(&format!("SELECT id FROM a WHERE {condition} ORDER BY id"))[1..].join(" ")
    };
    // As MySQL and MariaDB have it.
    assert_eq!(ids(&mut client, "a.v IN (SELECT b.v FROM b WHERE b.k = a.k)"), "1 5");
    assert_eq!(ids(&mut client, "a.v NOT IN (SELECT b.v FROM b WHERE b.k = a.k)"), "4 6 7 8");
    assert_eq!(ids(&mut client, "a.v >= ALL (SELECT b.v FROM b WHERE b.k = a.k)"), "1 4 6 7 8");
    assert_eq!(ids(&mut client, "NOT EXISTS (SELECT * FROM b WHERE b.k = a.k)"), "4 6 7 8");
    assert_eq!(ids(&mut client, "EXISTS (SELECT * FROM b WHERE b.k <=> a.k AND b.v IS NULL)"), "3 4 5 6 9");
}

#[test]
fn explain_says_how_partners_are_sought() {
    let mut client = client();
    let sql = "SELECT id FROM a WHERE EXISTS (SELECT * FROM b FORCE INDEX (k) WHERE b.k = a.k)";
    let lines = client.run(&format!("EXPLAIN {sql}"));
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].starts_with("1 | SIMPLE | a") && lines[2].starts_with("1 | SIMPLE | b"), "{lines:?}");
    assert!(lines[2].contains("FirstMatch(a)"), "{lines:?}");
    let json = client.run(&format!("EXPLAIN FORMAT=JSON {sql}")).join("\n");
    assert!(json.contains("\"first_match\": \"a\""), "{json}");
    let sql = "SELECT id FROM a WHERE NOT EXISTS (SELECT * FROM b IGNORE INDEX (k) WHERE b.k = a.k)";
    let lines = client.run(&format!("EXPLAIN {sql}"));
    assert!(lines[2].contains("Not exists") && lines[2].contains("hash join"), "{lines:?}");
    let tree = explained(&mut client, sql);
    assert!(tree.starts_with("-> Hash antijoin (`k` = `k`)"), "{tree}");
    let json = client.run(&format!("EXPLAIN FORMAT=JSON {sql}")).join("\n");
    assert!(json.contains("\"not_exists\": true"), "{json}");
    let analyzed = client.run(&format!("EXPLAIN ANALYZE {sql}")).join("\n");
    assert!(analyzed.contains("Hash antijoin") && analyzed.contains("rows=4 loops=1"), "{analyzed}");
}

#[test]
fn what_changes_or_locks_asks_as_before() {
    let mut client = client();
    for sql in [
        "UPDATE a SET v = 0 WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k)",
        "DELETE FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k)",
        "INSERT INTO empty SELECT k, v FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k)",
        "SELECT * FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k) FOR UPDATE",
    ] {
        let plan = explained(&mut client, sql);
        assert!(!plan.contains("semijoin"), "{sql}:\n{plan}");
    }
    client.ok("INSERT INTO empty SELECT k, v FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k)");
    assert_eq!(client.run("SELECT COUNT(*) FROM empty")[1], "5");
}

/// Values of the select list that ask for each row, and the same by joins.
const VALUES: &[(&str, &str)] = &[
    ("(SELECT COUNT(*) FROM b WHERE b.k = a.k)", "COUNT(b.id)"),
    ("(SELECT SUM(b.v) + COUNT(*) FROM b WHERE b.k = a.k)", "IF(COUNT(b.id) = 0, NULL, SUM(b.v) + COUNT(b.id))"),
    ("(SELECT COALESCE(MAX(b.v), 7) FROM b WHERE b.k = a.k)", "COALESCE(MAX(b.v), 7)"),
    ("(SELECT 0.5 * AVG(b.d) FROM b WHERE a.k = b.k)", "0.5 * AVG(b.d)"),
    ("(SELECT COUNT(DISTINCT b.v) FROM b WHERE a.k = b.k)", "COUNT(DISTINCT b.v)"),
    ("(SELECT BIT_AND(b.v) FROM b WHERE a.k = b.k)", "BIT_AND(b.v)"),
];

#[test]
fn all_answers_in_one_pass_are_those_of_each_row() {
    let mut client = client();
    // So many rows that the pass is worth while.
    client.ok("CREATE TABLE many AS SELECT x.k FROM a AS x, a AS y, a AS z");
    client.ok("ANALYZE TABLE a, b, many");
    for (asked, joined) in VALUES {
        let asked = asked.replace("FROM b", "FROM b IGNORE INDEX (k)");
        let found = client.run(&format!("SELECT a.k, {asked} AS x FROM many AS a ORDER BY a.k"));
        let expected = client.run(&format!(
            "SELECT a.k, y.x FROM many AS a LEFT JOIN \
             (SELECT k.k, {joined} AS x FROM (SELECT DISTINCT k FROM a) AS k LEFT JOIN b ON b.k = k.k GROUP BY k.k) AS y \
             ON y.k <=> a.k ORDER BY a.k"
        ));
        assert_eq!(found[1..], expected[1..], "{asked}");
        let plan = client.run(&format!("EXPLAIN ANALYZE SELECT {asked} FROM many AS a")).join("\n");
        assert!(plan.contains("Materialize after "), "{plan}");
    }
    // By texts that are equal and not the same, and by values of other types.
    for (asked, key) in
        [("b.s = a.s", "s"), ("b.d = a.v", "v"), ("b.v = a.d", "d"), ("b.k = a.v AND b.s = a.s", "v, a.s")]
    {
        let value = format!("(SELECT COUNT(*) FROM b IGNORE INDEX (k) WHERE {asked})");
        let grouped =
            client.run(&format!("SELECT a.{key}, {value} AS x FROM a, a AS y, a AS z ORDER BY a.id, y.id, z.id"));
        let one = client.run(&format!("SELECT a.{key}, {value} AS x FROM a ORDER BY a.id"));
        let each: Vec<String> = grouped[1..].chunks(81).map(|chunk| chunk[80].clone()).collect();
        assert_eq!(each, one[1..], "{asked}");
    }
}

#[test]
fn an_answer_is_looked_up_where_the_same_was_asked() {
    let mut client = client();
    client.ok("CREATE TABLE many AS SELECT x.k, x.s FROM a AS x, a AS y");
    // Of six values, and of five texts that are bytewise others.
    for (asked, runs) in [
        ("(SELECT MAX(b.s) FROM b WHERE b.k > a.k)", 6),
        ("(SELECT MAX(b.k) FROM b WHERE b.s > a.s)", 8),
        ("(SELECT b.k FROM b WHERE b.k > a.k LIMIT 1)", 6),
        ("a.k IN (SELECT b.v FROM b WHERE b.k > a.k)", 6),
        ("EXISTS (SELECT * FROM b WHERE b.k = a.k LIMIT 1)", 6),
    ] {
        let plan = client.run(&format!("EXPLAIN ANALYZE SELECT {asked} FROM many AS a")).join("\n");
        let on_b = plan.lines().find(|line| line.contains(" on b")).unwrap_or_default();
        assert!(on_b.contains(&format!("loops={runs})")), "{asked}:\n{plan}");
    }
    // What differs each time is asked each time.
    let plan =
        client.run("EXPLAIN ANALYZE SELECT (SELECT MAX(b.k) FROM b WHERE b.k > a.k AND RAND() < 2) FROM many AS a");
    assert!(plan.join("\n").contains("loops=81)"), "{plan:?}");
    // Without room nothing is kept.
    client.session.tmp_table_size = 0;
    let plan = client.run("EXPLAIN ANALYZE SELECT (SELECT MAX(b.s) FROM b WHERE b.k > a.k) FROM many AS a").join("\n");
    let on_b = plan.lines().find(|line| line.contains(" on b")).unwrap_or_default();
    assert!(on_b.contains("loops=81)"), "{plan}");
}

/// Changes of 81 rows with six values of `k`, and how often a query within each runs. NULL of 18 rows is less than nothing
/// without asking.
const CHANGES: &[(&str, u64)] = &[
    ("UPDATE many SET x = 1 WHERE k >= (SELECT MIN(b.v) FROM b WHERE b.k >= many.k)", 5),
    ("UPDATE many SET x = (SELECT MAX(b.v) FROM b WHERE b.k >= many.k) ORDER BY k", 6),
    ("UPDATE many SET x = 1 WHERE k <> (SELECT b.v FROM b WHERE b.k = many.k)", 1),
    ("UPDATE IGNORE many SET x = 1 WHERE k NOT IN (SELECT b.v FROM b WHERE b.k > many.k)", 6),
    ("UPDATE many, (SELECT 1 AS one) AS d SET x = one WHERE EXISTS (SELECT * FROM b WHERE b.k = many.k)", 6),
    ("DELETE FROM many WHERE NOT EXISTS (SELECT * FROM b WHERE b.k = many.k)", 6),
    ("DELETE many FROM many, (SELECT 1 AS one) AS d WHERE k < ALL (SELECT b.v FROM b WHERE b.k = many.k)", 6),
    (
        "INSERT INTO many (id, k) SELECT id + 100, k FROM many AS m WHERE k > (SELECT MIN(b.v) FROM b WHERE b.k >= m.k)",
        5,
    ),
    (
        "INSERT INTO many (id, k) SELECT id + 100, k FROM many AS m WHERE k IN (SELECT o.k FROM many AS o WHERE o.k <=> m.k)",
        6,
    ),
    // What is warned of each time is asked each time.
    ("UPDATE IGNORE many SET x = 1 WHERE k > (SELECT MIN(b.v) FROM b WHERE b.s < many.k)", 63),
    // The change itself, or what others do, may make another answer.
    (
        "UPDATE many SET x = 1 WHERE k < (SELECT MAX(m.x) FROM (SELECT * FROM many LIMIT 99) AS m WHERE m.k = many.k)",
        63,
    ),
    ("DELETE FROM many WHERE k < (SELECT MAX(m.k) FROM (SELECT k FROM many LIMIT 99) AS m WHERE m.k >= many.k)", 63),
    ("UPDATE many SET x = 1 WHERE EXISTS (SELECT * FROM b WHERE b.k >= many.k FOR SHARE)", 81),
    ("DELETE FROM many WHERE EXISTS (SELECT * FROM b WHERE b.k >= many.k FOR UPDATE SKIP LOCKED)", 81),
    ("UPDATE many SET x = 1 WHERE EXISTS (SELECT * FROM b WHERE b.k >= many.k AND RAND() < 2)", 81),
];

#[test]
fn a_change_asks_once_for_the_same_values_and_changes_what_it_would_else() {
    let mut client = client();
    client.ok("CREATE TABLE many (id INT PRIMARY KEY AUTO_INCREMENT, k INT, x INT)");
    client.ok("INSERT INTO many (k) SELECT x.k FROM a AS x, a AS y");
    let room = client.session.tmp_table_size;
    for isolation in ["READ COMMITTED", "REPEATABLE READ"] {
        client.ok(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"));
        for (sql, runs) in CHANGES {
            let mut change = |room: u64| {
                client.session.tmp_table_size = room;
                client.ok("BEGIN");
                let profile = Arc::new(Profile::default());
                client.session.profile = Some(profile.clone());
                let mut seen = client.run(sql);
                client.session.profile = None;
                seen.extend(client.run("SELECT k, x, COUNT(*) FROM many GROUP BY k, x ORDER BY k, x"));
                client.ok("ROLLBACK");
                (profile.loops_max(), seen)
            };
            let (found, kept) = change(room);
            assert_eq!(found, *runs, "{isolation}: {sql}");
            assert_eq!(kept, change(0).1, "{isolation}: {sql}");
        }
    }
}
