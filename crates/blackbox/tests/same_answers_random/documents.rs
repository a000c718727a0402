//! JSON columns, and expressions over documents.
//!
//! MariaDB keeps a document as the text that it was given, and changes that. So the documents here are written as 8.0 writes
//! them: a blank after each comma and colon, members in the order of 8.0, by length and then by bytes, and each once. What
//! MariaDB cannot judge is left out: texts that are no documents (8.0 refuses them, MariaDB warns and gives NULL), DOUBLEs,
//! dates, times and conditions within documents (8.0 keeps their types), how documents compare and sort, the order of what
//! `**` finds, JSON_CONTAINS with a path that leads nowhere (NULL in 8.0, 0 in MariaDB), JSON_PRETTY, JSON_ARRAYAGG and
//! JSON_OBJECTAGG (which write other blanks).
//!
//! Expressions are made as in [`grammar`](crate::grammar), and stand by themselves: under which collation what is taken out
//! of a document compares is not the same in MariaDB.

use crate::grammar::Class::{self, Extracted, Json};

/// Documents.
pub const DOCUMENTS: &[&str] = &[
    r#"{"a": 1, "b": [1, 2, "x"], "c": null}"#,
    r#"{"a": "x", "b": 1.5}"#,
    r#"{"a": {"b": {"c": true}}, "b": 7}"#,
    r#"{"a": false, "b": "", "c": [null, {"b": "x"}]}"#,
    r#"[1, "two", {"a": "zz"}]"#,
    "[[1, 2], [3, -4]]",
    r#"["é日", "a \"b\" \\ c", 18446744073709551615]"#,
    "{}",
    "[]",
    r#""txt""#,
    "7",
    "-1",
    "1.5",
    "true",
    "null",
];

/// Paths to one place.
pub const PLACES: &[&str] =
    &["'$'", "'$.a'", "'$.a'", "'$.b'", "'$.c'", "'$[0]'", "'$[1]'", "'$.b[1]'", "'$.a.b'", "'$.c[1].b'", "'$[1][0]'"];

/// The whole of a document.
pub const WHOLE: &[&str] = &["'$'"];

/// Paths that may lead to several.
pub const PATHS: &[&str] = &["'$.*'", "'$[*]'", "'$.a.*'", "'$.c[*]'"];

/// Paths to what JSON_REMOVE can take away.
pub const PARTS: &[&str] = &["'$.a'", "'$.b'", "'$[0]'", "'$.b[1]'", "'$.a.b'"];

/// Expressions by the class of their value.
pub const EXPRESSIONS: &[(Class, &[&str])] = &[
    (
        Json,
        &[
            "JSON_EXTRACT($j, $P)",
            "JSON_EXTRACT($j, $P)",
            "JSON_EXTRACT($j, $W)",
            "$J->$P",
            "$J->$P",
            "CAST($N AS JSON)",
            "JSON_OBJECT('a', $v, 'b', $v)",
            "JSON_OBJECT('a', JSON_EXTRACT($j, $P))",
            "JSON_ARRAY($v, $v)",
            "JSON_ARRAY($J, JSON_EXTRACT($j, $P))",
            "JSON_SET($j, $P, $v)",
            "JSON_INSERT($j, $P, $v)",
            "JSON_REPLACE($j, $P, $v)",
            "JSON_REMOVE($j, $R)",
            "JSON_ARRAY_APPEND($j, $A, $v)",
            "JSON_MERGE_PATCH($j, $N)",
            "JSON_MERGE_PRESERVE($j, $N)",
            "JSON_KEYS($j)",
        ],
    ),
    (
        Extracted,
        &[
            "JSON_UNQUOTE(JSON_EXTRACT($j, $P))",
            "JSON_UNQUOTE(JSON_EXTRACT($j, $W))",
            "JSON_UNQUOTE($j)",
            "$J->>$P",
            "$J->>$P",
            "JSON_TYPE($j)",
            "JSON_TYPE(JSON_EXTRACT($j, $P))",
            "JSON_VALUE($j, $P)",
            "JSON_QUOTE(CONCAT($v))",
        ],
    ),
];

/// Integers.
pub const COUNTS: &[&str] = &[
    "JSON_LENGTH($j)",
    "JSON_LENGTH($j, $P)",
    "JSON_LENGTH(JSON_EXTRACT($j, $P))",
    "JSON_DEPTH($j)",
    "JSON_VALID($j)",
    "JSON_CONTAINS($j, $N)",
    "JSON_CONTAINS_PATH($j, 'one', $P, $P)",
    "JSON_CONTAINS_PATH($j, 'all', $P, $W)",
    "LENGTH(JSON_UNQUOTE(JSON_EXTRACT($j, $P)))",
];

/// Conditions for WHERE.
pub const CONDITIONS: &[&str] = &[
    "$J IS NULL",
    "JSON_EXTRACT($j, $P) IS NULL",
    "$J->>$P = 'x'",
    "JSON_UNQUOTE(JSON_EXTRACT($j, $P)) = '7'",
    "JSON_TYPE($j) = 'ARRAY'",
    "JSON_CONTAINS($j, $N)",
    "JSON_LENGTH($j) > $k",
];

/// MariaDB has no `->` and `->>`, and no type to cast to.
pub fn for_mariadb(sql: String) -> String {
    let sql = without_arrows(sql);
    let Some(at) = sql.find(" AS JSON)") else { return sql };
    let Some(start) = sql[..at].rfind("CAST(") else { return sql };
    let document = &sql[start + "CAST(".len()..at];
    let cast = format!("JSON_EXTRACT({document}, '$')");
    for_mariadb(format!("{}{cast}{}", &sql[..start], &sql[at + " AS JSON)".len()..]))
}

fn without_arrows(sql: String) -> String {
    // Others are of texts.
    let mut arrows = sql.match_indices("->").map(|(at, _)| at);
    let is_one = |at: &usize| sql[at + 2..].trim_start_matches('>').starts_with("'$");
    let Some(at) = arrows.find(is_one) else { return sql };
    let start = sql[..at].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |before| before + 1);
    let (unquotes, path) = match sql[at..].strip_prefix("->>") {
        Some(path) => (true, path),
        None => (false, &sql[at + "->".len()..]),
    };
    let Some(length) = path.strip_prefix('\'').and_then(|rest| rest.find('\'')) else { return sql };
    let (path, rest) = path.split_at(length + 2);
    let extracted = format!("JSON_EXTRACT({}, {path})", &sql[start..at]);
    let call = if unquotes { format!("JSON_UNQUOTE({extracted})") } else { extracted };
    without_arrows(format!("{}{call}{rest}", &sql[..start]))
}
