//! What EXTRACTVALUE and UPDATEXML answer. As MariaDB 10.11 and MySQL 5.6 do, where nothing else is said.

use super::functions::shown_over;
use super::*;

/// Fails with those that have another answer.
fn check_all(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(sql, answer)| shown_over(&[], sql) != *answer)
        .map(|(sql, answer)| format!("{sql} is {}, not {answer}", shown_over(&[], sql)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The texts that an expression finds in a document.
fn check_found(document: &str, cases: &[(&str, &str)]) {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let wrong: Vec<String> = cases
        .iter()
        .map(|(path, answer)| {
            let sql = format!("EXTRACTVALUE('{}', '{}')", quoted(document), quoted(path));
            (path, shown_over(&[], &sql), answer)
        })
        .filter(|(_, found, answer)| found != *answer)
        .map(|(path, found, answer)| format!("{path} is {found}, not {answer}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn paths_find_the_texts_right_within_nodes() {
    check_found(
        "<a>t<b x=\"1\" y='2'>b1</b>u<b x=\"3\">b2</b><c><b>b3</b></c></a><a>v</a>",
        &[
            ("/a", "t u v"),
            ("/a/b", "b1 b2"),
            ("//b", "b1 b2 b3"),
            ("/a/b[1]", "b1"),
            ("/a/b[last()]", "b2"),
            ("//b[1]", "b1 b3"),
            ("/a/b/@x", "1 3"),
            ("//@*", "1 2 3"),
            ("/a/b[@x=3]", "b2"),
            ("/a/b[@y]", "b1"),
            ("/a/*/b", "b3"),
            ("/a/b/..", "t u"),
            ("/a/c/b/ancestor::a", "t u"),
            ("/a/c/b/ancestor::*", "t u"),
            ("/a/c/b/ancestor-or-self::*[1]", "b3"),
            ("/a/descendant::b", "b1 b2 b3"),
            ("/a/c/descendant-or-self::c/b", "b3"),
            ("//b/self::b", "b1 b2 b3"),
            ("/a/child::b", "b1 b2"),
            ("/a/attribute::x", ""),
            ("//b/parent::c/b", "b3"),
            ("/a/b | /a/c/b", "b1 b2 b3"),
            ("(/a/c)/b", "b3"),
            ("/a/text()", "t u v"),
            ("/a[1]/node()", "t u"),
            ("a/b", "b1 b2"),
            ("/", ""),
            ("//a[b]", ""),
            ("//a[c]", "t u"),
            ("//b[.=\"B2\"]", "b2"),
            ("/a/b[position()>1]", "b2"),
            ("//b[position()>1][1]", "b2"),
            ("/a/b[count(.)=2]", "b1 b2"),
            ("/a/b[contains(.,\"2\")]", "b2"),
            ("/a/b[string-length()=2 and @x>1]", "b2"),
            ("/a/b[not(@y)]", "b2"),
            ("/a/following-sibling::b", "b1 b2"),
            ("count(//b)", "3"),
            ("count(//b/ancestor::*)", "2"),
            ("sum(//@x)", "4"),
        ],
    );
}

/// Each node is counted as often as it is found.
#[test]
fn sets_keep_nodes_that_are_found_twice() {
    check_found(
        "<a><a><b>1</b><b>2</b></a></a>",
        &[("count(//a//b)", "4"), ("//a//b", "1 2"), ("count(//a//b | /x)", "2"), ("boolean(/a/a/b)", "0")],
    );
    check_all(&[("UPDATEXML('<a><a><b>1</b></a></a>', '//a//b', 'x')", "<a><a><b>1</b></a></a>")]);
}

#[test]
fn numbers_and_texts_are_those_of_sql() {
    check_found(
        "<a>1.5</a>",
        &[
            ("1.10", "1.10"),
            ("1.10 + 1", "2.10"),
            ("1.10 * 1.5", "1.65"),
            ("3.5 * false()", "0.0"),
            ("string-length(/a) - 1.50", "1.50"),
            ("5 div 2", "2"),
            ("7 mod 4", "3"),
            ("1 div 0", "NULL !1365"),
            ("-3", "-3"),
            ("--1", "1"),
            ("2 + 3 * 4 - 1", "13"),
            ("/a * 2", "3"),
            ("/a + 1 = 2.5", "1"),
            ("round(2.5)", "2"),
            ("ceiling(/a)", "2"),
            ("floor(/a)", "1"),
            ("number(\"2.50\")", "2.5"),
            ("number()", "0"),
            ("99999999999999999999", "-1"),
            ("9223372036854775808", "-9223372036854775808"),
            ("1.", "1"),
            ("1 . 5", "1"),
            ("\"abc\" + 1", "1 !1292"),
            ("boolean(\"abc\")", "0 !1292"),
            ("boolean(2)", "1"),
            ("true() and false()", "0"),
            ("true() or false()", "1"),
            ("not(1)", "0"),
            ("1 < 2", "1"),
            ("2 >= 3", "0"),
            ("1 != 2", "1"),
            ("\"a\" = \"A\"", "1"),
            ("concat(\"a\", /a, \"ignored\")", "a1.5"),
            ("substring(\"abcd\", 2)", "bcd"),
            ("substring(\"abcd\", 2, 2)", "bc"),
            ("string-length(\"äb\")", "2"),
            ("COUNT(/A) + 1 DIV 1", "1"),
            // A place is rounded as SQL does it.
            ("/a[1.2]", "1.5"),
            ("/a[\"1\"]", "1.5"),
            ("/a[0]", ""),
            ("/a[true()]", "1.5"),
            ("/a[last() - 0]", "1.5"),
            ("$@none", "NULL"),
        ],
    );
}

#[test]
fn what_is_no_expression_is_refused_from_where_it_is_none() {
    for (path, message) in [
        ("", "XPATH syntax error: ''"),
        ("//", "XPATH syntax error: ''"),
        ("/a/", "XPATH syntax error: ''"),
        ("/a[", "XPATH syntax error: ''"),
        ("/a[1", "XPATH syntax error: ''"),
        ("foo(1)", "XPATH syntax error: '(1)'"),
        ("name()", "XPATH syntax error: '()'"),
        ("last()", "XPATH syntax error: ''"),
        ("count(1)", "XPATH syntax error: ''"),
        ("1 2", "XPATH syntax error: '2'"),
        ("1 +", "XPATH syntax error: ''"),
        ("/a ! /b", "XPATH syntax error: '! /b'"),
        ("/a/foo::b", "XPATH syntax error: ':b'"),
        ("\"abc", "XPATH syntax error: '\"abc'"),
        ("/a\t/b", "XPATH syntax error: '\t/b'"),
        ("1/a", "XPATH syntax error: '/a'"),
        (".[1]", "XPATH syntax error: '[1]'"),
        ("/a = /b", "XPATH error: comparison of two nodesets is not supported: '= /b'"),
        ("$x + 1", "Unknown XPATH variable at: '$x + 1'"),
        ("~ééééééééééééééééééééé", "XPATH syntax error: '~ééééééééééééééé'"),
    ] {
        let call = call("extractvalue", [text("<a/>"), text(path)]);
        let error = eval_in(&Session::new(), &call).unwrap_err();
        assert_eq!((error.errno, error.to_string().contains(message)), (1105, true), "{path}: {error}");
    }
    // Alternatives of the grammar go on where others stopped.
    check_found("<a/>", &[("(1 2", "2"), ("@(1)", "1")]);
}

#[test]
fn expressions_nest_as_deeply_as_statements() {
    let nested = |levels: usize| format!("{}1{}", "(".repeat(levels), ")".repeat(levels));
    let cases = [
        (nested(150), true),
        (nested(250), false),
        (nested(1 << 20), false),
        ("1".to_owned() + &" + 1".repeat(150), true),
        ("1".to_owned() + &" + 1".repeat(250), false),
        ("-".repeat(1 << 20) + "1", false),
        ("/a[".repeat(1 << 20), false),
        ("/a".repeat(1 << 16), true),
        ("1 | ".repeat(1 << 16), false),
    ];
    for (path, fits) in cases {
        let outcome = eval_in(&Session::new(), &call("extractvalue", [text("<a/>"), text(&path)]));
        let error = outcome.map(drop).map_err(|error| error.errno);
        let shown: String = path.chars().take(20).collect();
        assert!(if fits { error.is_ok() } else { matches!(error, Err(1436 | 1105)) }, "{shown}: {error:?}");
    }
}

#[test]
fn malformed_xml_is_null_with_a_warning() {
    for document in [
        "<a>1</b>",
        "<a>1</bb>",
        "</a>",
        "<a",
        "<a>",
        "<a b=1/>",
        "<a b=/>",
        "<1/>",
        "<>",
        "< /a>",
        "<a></>",
        "<?a>",
        "<a><![CDATA[x",
        "<a><![CDATA[x]]>",
        "<!-- x",
        "<a><!-- ",
        "<a b='x/>",
    ] {
        let quoted = document.replace('\'', "\\'");
        let fine = document == "<!-- x";
        let answer = if fine { "" } else { "NULL !1525" };
        check_all(&[(&format!("EXTRACTVALUE('{quoted}', '/a')"), answer)]);
        check_all(&[(&format!("UPDATEXML('{quoted}', '/a', 'x')"), if fine { document } else { answer })]);
    }
    let nested = |levels: usize| "<a>".repeat(levels) + &"</a>".repeat(levels);
    for (levels, answer) in [(100, "100"), (254, "254"), (255, "NULL !1525"), (1 << 20, "NULL !1525")] {
        let count = call("extractvalue", [text(&nested(levels)), text("count(//a)")]);
        check(count, answer);
    }
}

#[test]
fn fragments_and_what_surrounds_elements_are_read() {
    check_all(&[
        ("EXTRACTVALUE('t<a/>u', '/')", "t u"),
        ("EXTRACTVALUE('<a>x<!-- y -->z</a>', '/a')", "x z"),
        ("EXTRACTVALUE('<a><![CDATA[<b>&]]></a>', '/a')", "<b>&"),
        ("EXTRACTVALUE('<a>&lt;</a>', '/a')", "&lt;"),
        ("EXTRACTVALUE('<a>  x </a>', '/a')", "  x "),
        ("EXTRACTVALUE('<é>x</é>', '/é')", "x"),
        ("EXTRACTVALUE('<a:b>x</a:b>', '/a:b')", "x"),
        ("EXTRACTVALUE('<a-b.c>x</a-b.c>', '/a-b.c')", "x"),
        ("EXTRACTVALUE('<a b c d>x</a>', 'count(/a/@*)')", "1"),
        ("EXTRACTVALUE('<and><or>x</or></and>', '/and/or')", "x"),
        // MariaDB does not show these as elements.
        ("EXTRACTVALUE('<?xml version=\"1.0\"?><a>x</a>', '/xml/@version')", "1.0"),
        ("EXTRACTVALUE('<!DOCTYPE a SYSTEM \"b\"><a>x</a>', '/a')", "x"),
        ("EXTRACTVALUE('<![CDATA[xyz', '/')", "yz"),
        ("EXTRACTVALUE('t<![CDATA[t<', '/')", "NULL !1525"),
        ("EXTRACTVALUE('', '/a')", ""),
        ("EXTRACTVALUE(NULL, '/a')", "NULL"),
        ("EXTRACTVALUE('<a/>', NULL)", "NULL"),
        ("EXTRACTVALUE(NULL, '/a[')", "error 1105"),
        ("EXTRACTVALUE(5, '/')", "5"),
    ]);
}

#[test]
fn one_node_is_replaced() {
    check_all(&[
        ("UPDATEXML('<a><b>1</b>2</a>', '/a/b', '<c/>')", "<a><c/>2</a>"),
        ("UPDATEXML('<a b=\"1\" c=e/>', '/a/@b', 'd=\"3\"')", "<a d=\"3\" c=e/>"),
        ("UPDATEXML('<a/>', '/a', '')", ""),
        ("UPDATEXML('x<a/>y', '/', 'z')", "z"),
        ("UPDATEXML('<a/><a/>', '/a', 'x')", "<a/><a/>"),
        ("UPDATEXML('<a/>', '/b', 'x')", "<a/>"),
        ("UPDATEXML('<a/>', '1', 'x')", "NULL"),
        ("UPDATEXML('<a>1</a >', '/a', 'X')", "X>"),
        ("UPDATEXML('<!DOCTYPE a>', '/DOCTYPE', 'X')", "<X"),
        ("UPDATEXML('<a/>', '/a', NULL)", "NULL"),
        ("UPDATEXML(NULL, '/a', 'x')", "NULL"),
        ("UPDATEXML('<a/>', '/a', REPEAT('x', 999))", &"x".repeat(999)),
        ("UPDATEXML('<a/>yy', '/a', REPEAT('x', 999))", "NULL !1301"),
    ]);
}

#[test]
fn the_expression_is_the_same_for_all_rows() {
    let path = Expr::column(0, "path", ResultType::string(10, Collation::DEFAULT));
    let error = Expr::call("extractvalue", vec![text("<a/>"), path]).unwrap_err();
    assert!(error.to_string().contains("Only constant XPATH queries are supported"), "{error}");
}
