use super::*;
use crate::memory::MemoryUse;
use crate::parse;

/// The hints of a statement.
fn of(sql: &str) -> Arc<OnceLock<Hints>> {
    let memory = MemoryUse::new(Arc::default());
    let parsed = parse::parse(sql.as_bytes(), SqlMode::DEFAULT, &memory, None, &|_| None);
    parsed.unwrap_or_else(|error| panic!("{sql}: {error}")).statement.hints().unwrap_or_default()
}

fn warnings(sql: &str) -> Vec<String> {
    let warning = |error: &SqlError| format!("{} {}", error.errno, error.message);
    of(sql).get().map(|hints| hints.warnings.iter().map(warning).collect()).unwrap_or_default()
}

#[test]
fn the_time_limit_is_that_of_the_outermost_select() {
    let limit = |sql: &str| of(sql).get().and_then(|hints| hints.max_execution_time).map(|limit| limit.as_millis());
    assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1"), Some(1000));
    assert_eq!(limit(" select/*+ NO_INDEX(t) max_execution_time ( 20 ) */ 1"), Some(20));
    assert_eq!(limit("(SELECT /*+ MAX_EXECUTION_TIME(7) */ 1) UNION SELECT 2"), Some(7));
    assert_eq!(limit("WITH c AS (SELECT 1) SELECT /*+ MAX_EXECUTION_TIME(7) */ * FROM c"), Some(7));
    assert_eq!(limit("SELECT /* MAX_EXECUTION_TIME(5) */ 1"), None);
    assert_eq!(limit("SELECT /**/ /*+ MAX_EXECUTION_TIME(5) */ 1"), None);
    assert_eq!(limit("SELECT 1 /*+ MAX_EXECUTION_TIME(5) */"), None);
    let refused = "3125 MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
    for sql in [
        "SELECT (SELECT /*+ MAX_EXECUTION_TIME(5) */ 1)",
        "SELECT 1 UNION SELECT /*+ MAX_EXECUTION_TIME(5) */ 2",
        "UPDATE /*+ MAX_EXECUTION_TIME(5) */ t SET a = 1",
        "INSERT INTO t SELECT /*+ MAX_EXECUTION_TIME(5) */ 2",
        "INSERT /*+ MAX_EXECUTION_TIME(5) */ INTO t VALUES (1)",
    ] {
        assert_eq!((limit(sql), warnings(sql)), (None, vec![refused.to_owned()]), "{sql}");
    }
}

#[test]
fn what_follows_an_error_is_left_out() {
    let syntax = |near: &str, line: usize| format!("1064 Optimizer hint syntax error near '{near}' at line {line}");
    for (sql, near, line) in [
        ("SELECT /*+ */ 1", "*/ 1", 1),
        ("SELECT /*+ BOGUS */ 1 AS n", "BOGUS */ 1 AS n", 1),
        ("SELECT /*+ MAX_EXECUTION_TIME(9), BKA() */ 1", ", BKA() */ 1", 1),
        ("SELECT\n/*+ BKA */ 1", "*/ 1", 2),
        ("SELECT /*+ BKA(t */ 1", "*/ 1", 1),
        ("SELECT /*+ MAX_EXECUTION_TIME(-1) */ 1", "-1) */ 1", 1),
        ("SELECT /*+ MAX_EXECUTION_TIME(x) */ 1", "x) */ 1", 1),
        ("SELECT /*+ QB_NAME(``) */ 1", "``) */ 1", 1),
        ("SELECT /*+ ICP(t) */ 1", "ICP(t) */ 1", 1),
        ("SELECT /*+ INDEX(t, a) */ 1", ", a) */ 1", 1),
        ("SELECT /*+ SET_VAR(a='') */ 1", "'') */ 1", 1),
        ("SELECT /*+ SET_VAR(a) */ 1", ") */ 1", 1),
        ("SELECT /*+ SUBQUERY() */ 1", ") */ 1", 1),
        ("SELECT /*+ SEMIJOIN(x) */ 1", "x) */ 1", 1),
        ("SELECT /*+ JOIN_FIXED_ORDER(t) */ 1", "t) */ 1", 1),
    ] {
        assert_eq!(warnings(sql), [syntax(near, line)], "{sql}");
    }
    let time = "1064 Unsupported MAX_EXECUTION_TIME near ') */ 1' at line 1";
    assert_eq!(warnings("SELECT /*+ MAX_EXECUTION_TIME(99999999999) */ 1"), [time]);
    let hints = of("SELECT /*+ QB_NAME(q) SET_VAR(a = 1) nonsense SET_VAR(b = 2) */ 1");
    let hints = hints.get().expect("hints");
    assert_eq!((hints.blocks[0].name.as_str(), hints.variables.len(), hints.warnings.len()), ("q", 1, 1));
}

#[test]
fn long_comments_are_bounded() {
    let long = format!("SELECT /*+ {} */ 1", "BKA(t) ".repeat(MAX_BYTES / 7));
    assert_eq!(warnings(&long).len(), 1);
    assert!(of(&long).get().expect("a warning").blocks[0].tables.is_empty());
}

#[test]
fn names_of_blocks_lead_hints_there() {
    let order = |sql: &str| {
        let hints = of(sql);
        let hints = hints.get().expect("hints");
        let block = |block: &BlockHints| {
            let order = block.order.iter().map(|hint| format!("{}{:?}", hint.kind.name(), hint.tables));
            let whole = block.tables.iter().map(|hint| format!("{}{:?}", hint.table, hint.whole));
            format!("{}: {}", block.name, order.chain(whole).collect::<Vec<_>>().join(" "))
        };
        hints.blocks.iter().map(block).collect::<Vec<_>>()
    };
    assert_eq!(
        order(
            "SELECT /*+ JOIN_ORDER(@q c, d) BKA(a, b@q) */ 1 FROM a WHERE x IN (SELECT /*+ QB_NAME(q) */ 1 FROM c, d)"
        ),
        ["select#1: a[\"BKA\"]", "q: JOIN_ORDER[\"c\", \"d\"] b[\"BKA\"]"]
    );
    // An inner block does not know the name of one around it.
    assert_eq!(
        warnings("SELECT /*+ QB_NAME(o) */ (SELECT /*+ BKA(t@o) */ 1) FROM t"),
        ["3127 Query block name `o` is not found for BKA hint"]
    );
    assert_eq!(
        order("INSERT /*+ JOIN_PREFIX(b) */ INTO t SELECT /*+ JOIN_ORDER(a, b) */ 1 FROM a, b"),
        ["select#1: JOIN_PREFIX[\"b\"] JOIN_ORDER[\"a\", \"b\"]"]
    );
}

#[test]
fn the_second_of_two_that_clash_is_left_out() {
    let conflict = |shown: &str| format!("3126 Hint {shown} is ignored as conflicting/duplicated");
    for (hints, shown) in [
        ("MAX_EXECUTION_TIME(10000) MAX_EXECUTION_TIME(2)", "MAX_EXECUTION_TIME(2)"),
        ("QB_NAME(a) QB_NAME(b)", "QB_NAME(`b`)"),
        ("JOIN_PREFIX(a) JOIN_PREFIX(b, a)", "JOIN_PREFIX( `b`,`a`)"),
        ("JOIN_FIXED_ORDER() JOIN_ORDER(b, a)", "JOIN_ORDER( `b`,`a`)"),
        ("BKA(a) NO_BKA(a)", "NO_BKA(`a` )"),
        ("NO_ICP(t3) NO_ICP(t3 x)", "NO_ICP(`t3` `x` )"),
        ("INDEX(t a, b) NO_INDEX(t A)", "NO_INDEX(`t` `A` )"),
        ("INDEX(t a) JOIN_INDEX(t a)", "JOIN_INDEX(`t` `a` )"),
        ("SUBQUERY(INTOEXISTS) SEMIJOIN(FIRSTMATCH, loosescan)", "SEMIJOIN( FIRSTMATCH, LOOSESCAN)"),
    ] {
        assert_eq!(warnings(&format!("SELECT /*+ {hints} */ 1")), [conflict(shown)], "{hints}");
    }
    for hints in [
        "JOIN_ORDER(a, b) JOIN_ORDER(c, d) JOIN_PREFIX(a) JOIN_SUFFIX(d)",
        "INDEX(t a) NO_INDEX(t b) MRR(t a) NO_ICP(t a) NO_RANGE_OPTIMIZATION(t a) SKIP_SCAN(t) NO_INDEX_MERGE(t)",
        "BKA() NO_BNL(a, b@q) HASH_JOIN(a) MERGE(a) NO_MERGE() DERIVED_CONDITION_PUSHDOWN(a) QB_NAME(q) BNL(@q)",
        "JOIN_INDEX(t a) GROUP_INDEX(t a) ORDER_INDEX(@q t a) NO_SEMIJOIN() RESOURCE_GROUP(r) SUBQUERY(@q MATERIALIZATION)",
        "SET_VAR(a = 16M) SET_VAR(b = 'x') SET_VAR(c = ON) SET_VAR(d=1.5)",
    ] {
        let sql = format!("SELECT (SELECT /*+ QB_NAME(inner1) */ 1), (SELECT /*+ {hints} */ 1)");
        let unknown = |warning: &String| warning.starts_with("3127");
        assert!(warnings(&sql).iter().all(unknown), "{hints}: {:?}", warnings(&sql));
    }
}

#[test]
fn set_var_takes_numbers_words_and_strings() {
    let hints = of("SELECT /*+ SET_VAR(A = 16M) SET_VAR(b = 'x') SET_VAR(c = on) SET_VAR(d=2) */ 1");
    let values: Vec<String> =
        hints.get().expect("hints").variables.iter().map(|v| format!("{}={}", v.name, v.value)).collect();
    assert_eq!(values, ["a=16777216", "b=x", "c=on", "d=2"]);
}
