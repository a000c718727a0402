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
    assert_eq!(key, "UPDATE t SET c=?s,k=k+?i WHERE id=?i AND d<?d");
    assert_eq!(params[..3], [Value::text("x"), Value::Int(1), Value::Int(-5)]);
    assert!(matches!(params[3], Value::Decimal(_)));
    assert_eq!(key, self::key("UPDATE t SET c = 'other',k = k+77 WHERE id=9 AND d<2.25"));
}

#[test]
fn a_minus_is_a_sign_behind_an_operator() {
    let (key, params, _) = of("SELECT a FROM t WHERE b-1=- 2 AND -3*-4 IN (-5)");
    assert_eq!(key, "SELECT a FROM t WHERE b-?i=?i AND-?i*?i IN(?i)");
    assert_eq!(params, [1, -2, 3, -4, -5].map(Value::Int));
    // Its negative is a number of another kind.
    assert_eq!(self::key("UPDATE t SET a=b-9223372036854775808"), "UPDATE t SET a=b-9223372036854775808");
}

#[test]
fn literals_of_what_a_sign_stands_before_stay() {
    assert_eq!(
        key("UPDATE t SET a = -(ABS(7) ^ 1) + 2, b = -ABS(3) - 4, c = - ~5 * 6"),
        "UPDATE t SET a= - (ABS(7)^1)+?i,b= -ABS(3)-?i,c= - ~5*?i"
    );
    assert_eq!(
        key("DELETE FROM t WHERE -(1 - 2) < 3 AND a -(4 + 5) = 6 AND -t.b = 7 OR -c = 8"),
        "DELETE FROM t WHERE- (1-2)<?i AND a- (?i+?i)=?i AND-t.b=?i OR-c=?i"
    );
}

#[test]
fn literals_of_different_kinds_have_different_plans() {
    let keys = ["1", "'1'", "1.0", "1e0", "18446744073709551615", "_binary'1'", "0x31"];
    let keys: Vec<String> = keys.iter().map(|value| key(&format!("DELETE FROM t WHERE a={value}"))).collect();
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key), "{key}");
    }
}

#[test]
fn literals_that_change_the_meaning_stay() {
    assert_eq!(
        key("SELECT 1,'a' FROM t WHERE x=2 GROUP BY 1 HAVING y>3 ORDER BY 2 LIMIT 4"),
        "SELECT 1,'a' FROM t WHERE x=?i GROUP BY 1 HAVING y>?i ORDER BY 2 LIMIT ?i"
    );
    assert_eq!(
        key("SELECT a FROM t WHERE a LIKE 'x' ESCAPE '|' AND CAST(b AS CHAR(10))=DATE '2020-01-01'"),
        "SELECT a FROM t WHERE a LIKE ?s ESCAPE '|' AND CAST(b AS CHAR(10))=DATE '2020-01-01'"
    );
    assert_eq!(key("DELETE FROM t WHERE a=x'41' LIMIT '5'"), "DELETE FROM t WHERE a=x'41' LIMIT '5'");
    assert_eq!(key("SELECT t.limit,1 FROM t WHERE t.order=1"), "SELECT t.limit,1 FROM t WHERE t.order=?i");
    assert_ne!(key("SELECT a FROM t WHERE a IS NULL"), key("SELECT a FROM t WHERE a IS 1"));
}

#[test]
fn a_select_list_stays_as_it_is_written() {
    assert_eq!(key("SELECT  a + 1 , b/* c */+1 FROM /* d */ t"), "SELECT a + 1 ,b/* c */+1 FROM t");
}

#[test]
fn a_query_goes_on_after_a_subquery_as_it_was_before() {
    assert_eq!(
        key("SELECT (SELECT a FROM t WHERE b = 1) , 2 FROM u WHERE c = (SELECT 3 FROM v LIMIT 4) AND d = 5 ORDER BY 6"),
        "SELECT (SELECT a FROM t WHERE b=?i) ,2 FROM u WHERE c= (SELECT 3 FROM v LIMIT ?i)AND d=?i ORDER BY 6"
    );
}

#[test]
fn typed_literals_stay() {
    assert_eq!(
        key("DELETE FROM t WHERE a={d '2020-01-01'} AND b='x'"),
        "DELETE FROM t WHERE a= {d '2020-01-01'}AND b=?s"
    );
}

#[test]
fn rows_of_one_shape_are_one_row() {
    let (key, params, rows) = of("INSERT INTO t(a,b) VALUES (1,'x'),(2,NULL) , (3,'z')");
    assert_eq!((key.as_str(), params.len(), rows), ("INSERT INTO t(a,b)VALUES(?,?)", 6, 3));
    let (key, params, rows) = of("INSERT INTO t VALUES(1,NOW()),(2,NOW()) ON DUPLICATE KEY UPDATE a=3");
    assert_eq!((key.as_str(), rows), ("INSERT INTO t VALUES(?,NOW())ON DUPLICATE KEY UPDATE a=?i", 2));
    assert_eq!(params, [Value::Int(1), Value::Int(2), Value::Int(3)]);
    let (key, params, rows) = of("INSERT INTO t VALUES (-1,COALESCE(NULL,2)),(NULL,COALESCE(NULL,-3))");
    assert_eq!((key.as_str(), rows), ("INSERT INTO t VALUES(?,COALESCE(NULL,?i))", 2));
    assert_eq!(params, [Value::Int(-1), Value::Int(2), Value::Null, Value::Int(-3)]);
    let (key, _, rows) = of("INSERT INTO value(a) VALUE(1),(2)");
    assert_eq!((key.as_str(), rows), ("INSERT INTO value(a)VALUE(?i),(?i)", 1));
    let (key, _, rows) = of("INSERT INTO t SET value=(1),(2)");
    assert_eq!((key.as_str(), rows), ("INSERT INTO t SET value= (?i),(?i)", 1));
}

#[test]
fn rows_of_different_shapes_stay_apart() {
    let (key, params, rows) = of("INSERT INTO t VALUES (1,2),(3,4),(5,NOW())");
    assert_eq!((key.as_str(), params.len(), rows), ("INSERT INTO t VALUES(?,?),(?,?),(?,NOW())", 5, 1));
}

#[test]
fn rows_that_ask_queries_stay_apart() {
    for query in ["SELECT a FROM u WHERE b=", "VALUES ROW("] {
        let end = if query.ends_with('(') { ")" } else { "" };
        let (key, params, rows) = of(&format!("INSERT INTO t VALUES (1,({query}2{end})),(3,({query}4{end}))"));
        assert_eq!((params.len(), rows), (4, 1), "{key}");
    }
}

#[test]
fn what_follows_a_row_without_a_comma_is_no_row() {
    assert_eq!(key("INSERT INTO t VALUES (1,2)(3,4)"), "INSERT INTO t VALUES(?,?)(?i,?i)");
    assert_eq!(key("INSERT INTO t VALUES (1,2),(3,4)+(5,6)"), "INSERT INTO t VALUES(?,?)+ (?i,?i)");
    assert_eq!(key("INSERT INTO t VALUES (1,2),(3,4)(5,6)"), "INSERT INTO t VALUES(?,?)(?i,?i)");
}

#[test]
fn lexemes_follow_the_key() {
    let mut out = Fingerprint::default();
    let sql = b"INSERT INTO t VALUES (1,2),(3,4)";
    assert!(take(sql, SqlMode::DEFAULT, &MemoryUse::new(Arc::default()), &mut out).unwrap());
    let params: Vec<_> = out.marks.iter().filter_map(|mark| mark.param).map(|param| param.index).collect();
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

#[test]
fn hints_are_part_of_it_and_other_comments_are_not() {
    let plain = key("SELECT a FROM t WHERE b = 1");
    assert_eq!(plain, key("SELECT /* x */ a FROM t /*+ INDEX(t b) */ WHERE b = 2"));
    let hinted = key("SELECT /*+ INDEX(t b) */ a FROM t WHERE b = 1");
    assert_ne!(plain, hinted);
    assert_eq!(hinted, key("SELECT\n/*+ INDEX(t b) */   a FROM t WHERE b = 77"));
    assert_ne!(hinted, key("SELECT /*+ INDEX(t c) */ a FROM t WHERE b = 1"));
    assert_ne!(key("UPDATE /*+ INDEX(t b) */ t SET a = 1"), key("UPDATE t SET a = 1"));
    assert_ne!(
        key("INSERT /*+ SET_VAR(a=1) */ INTO t VALUES (1)"),
        key("INSERT /*+ SET_VAR(a=2) */ INTO t VALUES (1)")
    );
    // Numbers in hints are no parameters, and those in text that is none of a hint are.
    assert_eq!(of("SELECT /*+ SET_VAR(a=5) */ a FROM t WHERE b = 1").1, [Value::Int(1)]);
    assert_ne!(
        key("SELECT a FROM t WHERE b IN (SELECT /*+ INDEX(u x) */ 1 FROM u)"),
        key("SELECT a FROM t WHERE b IN (SELECT /*+ INDEX(u y) */ 1 FROM u)")
    );
}

#[test]
fn what_follows_the_document_of_a_json_table_stays() {
    let (key, params, _) = of(
        "SELECT 1 FROM t, JSON_TABLE(CONCAT('[', 1, ']'), '$[*]' COLUMNS (a INT(5) PATH '$' DEFAULT '7' ON EMPTY)) x WHERE x.a = 8",
    );
    assert_eq!(
        key,
        "SELECT 1 FROM t,JSON_TABLE(CONCAT(?s,?i,?s),'$[*]' COLUMNS(a INT(5)PATH '$' DEFAULT '7' ON EMPTY))x WHERE x.a=?i"
    );
    assert_eq!(params.len(), 4);
}
