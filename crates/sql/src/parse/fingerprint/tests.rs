use std::sync::Arc;

use super::*;

fn of(sql: &str) -> (String, Vec<Value>, usize) {
    let mut out = Fingerprint::default();
    assert!(take(sql.as_bytes(), SqlMode::DEFAULT, &MemoryUse::new(Arc::default()), &mut out).unwrap(), "{sql}");
    (String::from_utf8(out.key).unwrap(), out.params, out.rows)
}

fn key(sql: &str) -> String {
    of(sql).0
}

#[test]
fn literals_of_conditions_and_assignments_become_parameters() {
    let (key, params, _) = of("UPDATE t  SET c='x', k=k+1 /* why */ WHERE id = -5 AND d < 1.5;");
    assert_eq!(key, "UPDATE t SET c=?,k=k+? WHERE id=? AND d<?");
    assert_eq!(params[..3], [Value::text("x"), Value::Int(1), Value::Int(-5)]);
    assert!(matches!(params[3], Value::Decimal(_)));
    assert_eq!(key, self::key("UPDATE t SET c = 'other',k = k+77 WHERE id=9 AND d<2.25"));
}

#[test]
fn a_difference_is_not_a_negative_number() {
    assert_eq!(key("SELECT a FROM t WHERE b-1=-1"), "SELECT a FROM t WHERE b-?=?");
}

#[test]
fn literals_that_change_the_meaning_stay() {
    assert_eq!(
        key("SELECT 1,'a' FROM t WHERE x=2 GROUP BY 1 HAVING y>3 ORDER BY 2 LIMIT 4"),
        "SELECT 1,'a'FROM t WHERE x=? GROUP BY 1 HAVING y>? ORDER BY 2 LIMIT ?".replace("'a'FROM", "'a' FROM")
    );
    assert_eq!(
        key("SELECT a FROM t WHERE a LIKE 'x' ESCAPE '|' AND CAST(b AS CHAR(10))=DATE '2020-01-01'"),
        "SELECT a FROM t WHERE a LIKE ? ESCAPE '|' AND CAST(b AS CHAR(10))=DATE '2020-01-01'"
    );
    assert_ne!(key("SELECT a FROM t WHERE a IS NULL"), key("SELECT a FROM t WHERE a IS 1"));
}

#[test]
fn rows_of_one_shape_are_one_row() {
    let (key, params, rows) = of("INSERT INTO t(a,b) VALUES (1,'x'),(2,NULL) , (3,'z')");
    assert_eq!((key.as_str(), params.len(), rows), ("INSERT INTO t(a,b)VALUES(?,?)", 6, 3));
    let (key, params, rows) = of("INSERT INTO t VALUES(1,NOW()),(2,NOW()) ON DUPLICATE KEY UPDATE a=3");
    assert_eq!((key.as_str(), rows), ("INSERT INTO t VALUES(?,NOW())ON DUPLICATE KEY UPDATE a=?", 2));
    assert_eq!(params, [Value::Int(1), Value::Int(2), Value::Int(3)]);
}

#[test]
fn rows_of_different_shapes_stay_apart() {
    let (key, params, rows) = of("INSERT INTO t VALUES (1,2),(3,4),(5,NOW())");
    assert_eq!((key.as_str(), params.len(), rows), ("INSERT INTO t VALUES(?,?),(?,?),(?,NOW())", 5, 1));
}

#[test]
fn what_follows_a_row_without_a_comma_is_no_row() {
    assert_eq!(key("INSERT INTO t VALUES (1,2)(3,4)"), "INSERT INTO t VALUES(?,?)(?,?)");
    assert_eq!(key("INSERT INTO t VALUES (1,2),(3,4)+(5,6)"), "INSERT INTO t VALUES(?,?)+ (?,?)");
    assert_eq!(key("INSERT INTO t VALUES (1,2),(3,4)(5,6)"), "INSERT INTO t VALUES(?,?)(?,?)");
}

#[test]
fn lexemes_follow_the_key() {
    let mut out = Fingerprint::default();
    let sql = b"INSERT INTO t VALUES (1,2),(3,4)";
    assert!(take(sql, SqlMode::DEFAULT, &MemoryUse::new(Arc::default()), &mut out).unwrap());
    let params: Vec<_> = out.marks.iter().filter_map(|mark| mark.param).collect();
    assert_eq!(params, [0, 1]);
    assert_eq!(out.row_params, 2);
}

#[test]
fn other_statements_have_no_fingerprint() {
    for sql in ["", "BEGIN", "(SELECT 1)", "CREATE TABLE t(a INT)", "SET a=1"] {
        assert!(
            !take(sql.as_bytes(), SqlMode::DEFAULT, &MemoryUse::new(Arc::default()), &mut Fingerprint::default())
                .unwrap()
        );
    }
}
