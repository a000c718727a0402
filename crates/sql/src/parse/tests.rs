use std::sync::Arc;

use super::*;
use crate::ast::{Expr, JoinCondition, QueryBody, SelectItem, TableExpr};

fn parsed(sql: &[u8], sql_mode: SqlMode) -> Result<Statement, SqlError> {
    let memory = MemoryUse::new(Arc::default());
    parse(sql, sql_mode, &memory, Some(&[]), &|_| None).map(|parsed| parsed.statement)
}

fn tree(sql: &str) -> Statement {
    parsed(sql.as_bytes(), SqlMode::DEFAULT).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn refusal(sql: &str) -> String {
    parsed(sql.as_bytes(), SqlMode::DEFAULT).expect_err(sql).to_string()
}

/// The expressions of a select list, as debugging shows them without the places.
fn items(sql: &str, sql_mode: SqlMode) -> Vec<Expr> {
    let Statement::Select(query) = parsed(sql.as_bytes(), sql_mode).unwrap() else { panic!("{sql}") };
    let QueryBody::Select(select) = query.body else { panic!("{sql}") };
    let expr = |item| if let SelectItem::Expr { expr, .. } = item { Some(expr) } else { None };
    select.items.into_iter().filter_map(expr).collect()
}

/// Both expressions mean the same.
fn same(left: &str, right: &str) {
    same_in(SqlMode::DEFAULT, left, right);
}

fn same_in(sql_mode: SqlMode, left: &str, right: &str) {
    let exprs = items(&format!("SELECT {left}, {right} FROM t"), sql_mode);
    assert_eq!(exprs[0], exprs[1], "{left} and {right}");
}

fn corpus() -> Vec<(String, bool)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/grammar");
    let mut statements = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of the corpus") {
        let mut accepted = None;
        for line in std::fs::read_to_string(entry.expect("a file").path()).expect("a text").lines() {
            if let Some(section) = line.strip_prefix("## ") {
                accepted = Some(section.starts_with("accepted"));
            } else if !line.is_empty() && !line.starts_with("# ") {
                statements.push((line.to_owned(), accepted.expect("a section before its statements")));
            }
        }
    }
    assert!(statements.len() > 500);
    statements
}

#[test]
fn the_corpus_is_read_or_refused_as_it_says() {
    let mut wrong = Vec::new();
    for (sql, accepted) in corpus() {
        let read = match parsed(sql.as_bytes(), SqlMode::DEFAULT) {
            Ok(_) => true,
            Err(error) => !error.is(ER_PARSE_ERROR),
        };
        if read != accepted {
            wrong.push(sql);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_cut_statement_is_never_worse_than_refused() {
    for (sql, _) in corpus() {
        for end in 0..sql.len() {
            for cut in [&sql.as_bytes()[..end], &sql.as_bytes()[end..]] {
                let outcome = parsed(cut, SqlMode::DEFAULT);
                assert!(!outcome.is_err_and(|error| error.errno == 1105), "{}", String::from_utf8_lossy(cut));
            }
        }
    }
}

#[test]
fn operators_bind_as_in_mysql() {
    for (written, meant) in [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("1 * 2 ^ 3", "1 * (2 ^ 3)"),
        ("- a ^ 2", "(- a) ^ 2"),
        ("1 | 2 & 3 << 4 + 5", "1 | (2 & (3 << (4 + 5)))"),
        ("a DIV b MOD c", "(a DIV b) MOD c"),
        ("a OR b XOR c AND d", "a OR (b XOR (c AND d))"),
        ("a OR b AND c OR d", "a OR (b AND c) OR d"),
        ("a AND b OR c AND d", "(a AND b) OR (c AND d)"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT a IS NULL", "NOT (a IS NULL)"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("! a + b", "(! a) + b"),
        ("a = b = c", "(a = b) = c"),
        ("a = b LIKE c", "a = (b LIKE c)"),
        ("a LIKE b = c", "(a LIKE b) = c"),
        ("a LIKE b LIKE c", "(a LIKE b) LIKE c"),
        ("a IS NULL = b", "(a IS NULL) = b"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a LIKE b + c", "a LIKE (b + c)"),
        ("a BETWEEN b AND c AND d", "(a BETWEEN b AND c) AND d"),
        ("a BETWEEN b AND c BETWEEN d AND e", "a BETWEEN b AND (c BETWEEN d AND e)"),
        ("a BETWEEN b + 1 AND c = d", "(a BETWEEN (b + 1) AND c) = d"),
        ("a + b IN (c)", "(a + b) IN (c)"),
        ("BINARY a + b", "(BINARY a) + b"),
        ("- a COLLATE utf8mb4_bin", "- (a COLLATE utf8mb4_bin)"),
        ("a COLLATE utf8mb4_bin LIKE b", "(a COLLATE utf8mb4_bin) LIKE b"),
        ("a + INTERVAL 1 DAY + b", "(a + INTERVAL 1 DAY) + b"),
        ("a + INTERVAL (b) + 1 DAY", "a + INTERVAL (b + 1) DAY"),
        ("INTERVAL 1 DAY + a = b", "INTERVAL 1 DAY + (a = b)"),
        ("a + INTERVAL(b, 1) * 2", "a + (INTERVAL(b, 1) * 2)"),
        ("a - INTERVAL 1 DAY", "DATE_SUB(a, INTERVAL 1 DAY)"),
        ("@a := 1 + 2 = 3", "@a := ((1 + 2) = 3)"),
        ("1 + @a := 2 OR 3", "1 + (@a := (2 OR 3))"),
        ("a SOUNDS LIKE b", "SOUNDEX(a) = SOUNDEX(b)"),
        ("a NOT RLIKE b", "NOT (a REGEXP b)"),
        ("a && b || c", "(a AND b) OR c"),
        ("EXISTS (SELECT 1) AND b", "(EXISTS (SELECT 1)) AND b"),
        ("a IN ((SELECT 1))", "a IN (SELECT 1)"),
        ("{d '2020-01-02'}", "DATE '2020-01-02'"),
        ("_utf8mb4 0x41", "_utf8mb4 x'41'"),
    ] {
        same(written, meant);
    }
}

#[test]
fn modes_change_how_operators_bind() {
    same_in(SqlMode::PIPES_AS_CONCAT, "a || b + c", "CONCAT(a, b) + c");
    same_in(SqlMode::PIPES_AS_CONCAT, "- a || b", "CONCAT(- a, b)");
    same_in(SqlMode::PIPES_AS_CONCAT, "a ^ b || c", "a ^ CONCAT(b, c)");
    same_in(SqlMode::HIGH_NOT_PRECEDENCE, "NOT a = b", "(NOT a) = b");
    same_in(SqlMode::ANSI_QUOTES, "\"a\"", "a");
}

#[test]
fn joins_without_a_condition_go_to_the_left() {
    let from = |tables: &str| tree(&format!("SELECT * FROM {tables}"));
    let Statement::Select(query) = from("a JOIN b JOIN c ON x") else { panic!("a query") };
    let QueryBody::Select(select) = query.body else { panic!("a SELECT") };
    let [TableExpr::Joined { joins, .. }] = select.from.as_slice() else { panic!("joins") };
    assert_eq!(joins.len(), 2);
    assert_eq!(joins[0].condition, JoinCondition::None);
    assert_ne!(from("a JOIN b JOIN c ON x ON y"), from("a JOIN b ON x JOIN c ON y"));
    assert_ne!(from("a JOIN (b NATURAL JOIN c)"), from("a JOIN b NATURAL JOIN c"));
}

#[test]
fn syntax_errors_quote_what_was_not_understood() {
    for (sql, near) in [
        ("SELECT a FROM t WHERE", "near '' at line 1"),
        ("SELECT a,\n FROM t", "near 'FROM t' at line 2"),
        ("SELECT 1 = NOT 2", "near 'NOT 2' at line 1"),
        ("SELECT 2 IN (2) + 1", "near '+ 1' at line 1"),
        ("SELECT 1 IS TRUE + 1", "near '+ 1' at line 1"),
        ("SELECT LEFT(a) FROM t", "near ') FROM t' at line 1"),
        ("SELECT a FROM t LEFT JOIN u", "near '' at line 1"),
        ("SELECT 1 ORDER BY 1 UNION SELECT 2", "near 'UNION SELECT 2' at line 1"),
        ("INSERT INTO t (a, 1) VALUES (1)", "near '1) VALUES (1)' at line 1"),
        ("UPDATE t SET a = 1, WHERE b = 1", "near 'WHERE b = 1' at line 1"),
        ("DELETE FROM t WHERE a = 1 LIMIT 1, 2", "near ' 2' at line 1"),
        ("SELECT a FROM t GROUP BY a, ORDER BY b", "near 'ORDER BY b' at line 1"),
    ] {
        let message = refusal(sql);
        assert!(message.ends_with(near), "{sql}: {message}");
    }
}

#[test]
fn trees_keep_where_things_stand() {
    let sql = "SELECT a.b,  c + 1 AS d FROM t";
    let Statement::Select(query) = tree(sql) else { panic!("a query") };
    let QueryBody::Select(select) = &query.body else { panic!("a SELECT") };
    let spans: Vec<&str> = select
        .items
        .iter()
        .map(|item| match item {
            SelectItem::Expr { span, .. } => &sql[span.start..span.end],
            SelectItem::Wildcard { .. } => "*",
        })
        .collect();
    assert_eq!(spans, ["a.b", "c + 1"]);
    assert_eq!((query.span.start, query.span.end), (0, sql.len()));
}

#[test]
fn what_nests_too_deeply_is_refused_and_nothing_else() {
    let many = |part: &str, count: usize| part.repeat(count);
    for sql in [
        format!("SELECT {}1{}", many("(", 150), many(")", 150)),
        format!("SELECT 1{}", many(" + 1", 150)),
        format!("SELECT 1{}", many(" OR a = 1", 20_000)),
        format!("SELECT 1{}", many(" UNION SELECT 1", 5_000)),
        format!("SELECT 1 IN (1{})", many(", 1", 20_000)),
        format!("SELECT CASE{} END", many(" WHEN a THEN 1", 5_000)),
        format!("SELECT * FROM t{}", many(", t", 5_000)),
        format!("SELECT * FROM t{}", many(" JOIN t", 20_000)),
        format!("SELECT {}1{}", many("(SELECT ", 60), many(")", 60)),
    ] {
        tree(&sql);
    }
    for sql in [
        format!("SELECT {}1{}", many("(", 100_000), many(")", 100_000)),
        format!("SELECT 1{}", many(" + 1", 100_000)),
        format!("SELECT {}1", many("- ", 100_000)),
        format!("SELECT {}1", many("NOT ", 100_000)),
        format!("SELECT {}1", many("@a := ", 100_000)),
        format!("SELECT 1{}", many(" XOR 1", 100_000)),
        format!("SELECT 1{}", many(" IS NULL", 100_000)),
        format!("SELECT 1{}", many(" COLLATE utf8mb4_bin", 100_000)),
        format!("SELECT 1{}", many(" BETWEEN 1 AND 1", 100_000)),
        format!("SELECT {}1", many("INTERVAL(", 100_000)),
        format!("SELECT {}1", many("INTERVAL 1 DAY + ", 100_000)),
        format!("SELECT {}1", many("1 + INTERVAL ", 100_000)),
        format!("SELECT {}1", many("CASE WHEN ", 100_000)),
        format!("SELECT {}1", many("ABS(", 100_000)),
        format!("SELECT {}1", many("CAST(", 100_000)),
        format!("SELECT {}1", many("{x ", 100_000)),
        format!("SELECT {}1", many("(SELECT ", 100_000)),
        format!("SELECT {}1", many("EXISTS (SELECT ", 100_000)),
        format!("SELECT * FROM {}t", many("(", 100_000)),
        format!("SELECT * FROM {}t", many("(SELECT * FROM ", 100_000)),
        format!("SELECT * FROM t{}{}", many(" LEFT JOIN t", 100_000), many(" ON 1", 100_000)),
        format!("{}SELECT 1", many("WITH a AS (", 100_000)),
        many("(", 100_000),
        format!("SELECT SUM(a) OVER (PARTITION BY {}1", many("SUM(a) OVER (PARTITION BY ", 100_000)),
        format!("SELECT 1 {}", many("INTERSECT (SELECT 1 ", 100_000)),
        format!("SET @a = {}1", many("(", 100_000)),
    ] {
        assert_eq!(parsed(sql.as_bytes(), SqlMode::DEFAULT).expect_err(&sql[..60]).errno, 1436, "{}", &sql[..60]);
    }
}
