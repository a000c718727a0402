//! The tables of the load, and values of every type.

use cohort_blackbox::rng::Rng;
use mysql::Conn;
use mysql::prelude::Queryable;

/// Name, type and constants of the columns of `all_types` after `id`.
pub const COLUMNS: [(&str, &str, &[&str]); 47] = [
    ("i8", "TINYINT", &["-128", "127", "0", "-1"]),
    ("u8", "TINYINT UNSIGNED", &["255", "128", "0"]),
    ("i16", "SMALLINT", &["-32768", "32767", "1"]),
    ("u16", "SMALLINT UNSIGNED", &["65535", "32768", "0"]),
    ("i24", "MEDIUMINT", &["-8388608", "8388607", "-1"]),
    ("u24", "MEDIUMINT UNSIGNED", &["16777215", "8388608", "0"]),
    ("i32", "INT", &["-2147483648", "2147483647", "-1"]),
    ("u32", "INT UNSIGNED", &["4294967295", "2147483648", "0"]),
    ("i64", "BIGINT", &["-9223372036854775808", "9223372036854775807", "-1"]),
    ("u64", "BIGINT UNSIGNED", &["18446744073709551615", "9223372036854775808", "0"]),
    ("d", "DECIMAL(10,2)", &["-0.01", "99999999.99", "-99999999.99", "0", "1.5"]),
    ("big", "DECIMAL(65,30)", &["'-12345678901234567890123456789012345.123456789012345678901234567891'", "0.5"]),
    ("whole", "DECIMAL(20,0)", &["-99999999999999999999", "7"]),
    ("f", "FLOAT", &["1.5", "-1024.5", "0", "10000000000"]),
    ("g", "DOUBLE", &["-1e100", "0.1", "1.7976931348623157e308", "5e-324", "0"]),
    ("bit1", "BIT(1)", &["b'0'", "b'1'"]),
    ("bit20", "BIT(20)", &["b'10000000000000000001'", "b'0'", "b'101'"]),
    ("bit64", "BIT(64)", &["18446744073709551615", "1", "9223372036854775808"]),
    ("y", "YEAR", &["1901", "2155", "2026"]),
    ("da", "DATE", &["'1600-02-29'", "'9999-12-31'", "'2026-01-02'"]),
    ("t", "TIME", &["'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-12:34:56'"]),
    ("t3", "TIME(3)", &["'23:59:59.999'", "'-23:59:59.500'", "'00:00:01'"]),
    ("t6", "TIME(6)", &["'-00:00:00.000001'", "'838:59:58.999999'", "'12:00:00'"]),
    ("dt", "DATETIME", &["'1600-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'2026-02-03 04:05:06'"]),
    ("dt3", "DATETIME(3)", &["'2026-01-02 03:04:05.678'", "'9999-12-31 23:59:59.999'"]),
    ("dt6", "DATETIME(6)", &["'9999-12-31 23:59:59.999999'", "'2026-01-02 03:04:05.100000'"]),
    ("ts", "TIMESTAMP NULL", &["'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"]),
    ("ts3", "TIMESTAMP(3) NULL", &["'1970-01-01 00:00:01.001'", "'2038-01-19 03:14:07.999'"]),
    ("ts6", "TIMESTAMP(6) NULL", &["'2026-05-06 07:08:09.123450'", "'1970-01-01 00:00:01.000001'"]),
    ("c", "CHAR(10)", &["''", "'é'", "'😀жя'", "'ten letter'"]),
    ("cl", "CHAR(10) CHARACTER SET latin1", &["'ü€'", "'plain'"]),
    ("ca", "CHAR(5) CHARACTER SET ascii", &["'abc'", "''"]),
    ("v", "VARCHAR(100)", &["'жяñ😀'", "''", "'tab\\tline\\nback\\\\'", "'  '"]),
    ("vl", "VARCHAR(300) CHARACTER SET latin1", &["'€'", "REPEAT('ÿ', 299)"]),
    ("v3", "VARCHAR(50) CHARACTER SET utf8", &["'жя'", "REPEAT('ж', 50)"]),
    ("b", "BINARY(8)", &["X'0001020300'", "X'ff00ff00ff00ff01'", "''"]),
    ("vb", "VARBINARY(300)", &["X'00ff00'", "''", "REPEAT(X'00', 300)"]),
    ("tt", "TINYTEXT", &["'tiny'", "REPEAT('t', 255)"]),
    ("te", "TEXT", &["'текст'", "REPEAT('х', 5000)"]),
    ("mt", "MEDIUMTEXT", &["'medium'", "REPEAT('m', 70000)"]),
    ("lt", "LONGTEXT", &["''", "'long'"]),
    ("tl", "TEXT CHARACTER SET latin1", &["'ñ'", "REPEAT('ñ', 400)"]),
    ("tb", "TINYBLOB", &["X'00'", "''"]),
    ("bl", "BLOB", &["X'27220a5c00'", "REPEAT(X'ff', 66)"]),
    ("lb", "LONGBLOB", &["X'03'", "REPEAT(X'0a', 70000)"]),
    ("e", "ENUM('a', 'é', 'x y')", &["'a'", "'é'", "'x y'"]),
    ("s", "SET('one', 'two', 'três')", &["''", "'one,três'", "'one,two,três'"]),
];

/// Creates `follow` and its tables, which have a collation that every server knows.
pub fn create(conn: &mut Conn) -> mysql::Result<()> {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, column_type, _)| format!("{name} {column_type}")).collect();
    let pair = "(id BIGINT PRIMARY KEY, token BIGINT UNSIGNED, v VARCHAR(60))";
    for statement in [
        "CREATE DATABASE follow CHARACTER SET utf8mb4 COLLATE utf8mb4_bin".to_owned(),
        "USE follow".to_owned(),
        "CREATE TABLE begun (token BIGINT UNSIGNED PRIMARY KEY, session BIGINT UNSIGNED)".to_owned(),
        format!("CREATE TABLE all_types (id BIGINT PRIMARY KEY, {})", columns.join(", ")),
        format!("CREATE TABLE pair_a {pair}"),
        format!("CREATE TABLE pair_b {pair} ENGINE=redb"),
        "CREATE TABLE documents (id BIGINT PRIMARY KEY, j JSON)".to_owned(),
        "CREATE TABLE large (id BIGINT PRIMARY KEY, b LONGBLOB)".to_owned(),
    ] {
        conn.query_drop(statement)?;
    }
    Ok(())
}

fn constant(rng: &mut Rng, constants: &[&'static str]) -> &'static str {
    if rng.chance(15) { "NULL" } else { constants[rng.below(constants.len() as u64) as usize] }
}

/// Values of all columns of `all_types` but `id`.
pub fn values(rng: &mut Rng) -> String {
    COLUMNS.map(|(_, _, constants)| constant(rng, constants)).join(", ")
}

/// Assignments to some columns of `all_types`.
pub fn assignments(rng: &mut Rng) -> String {
    let from = rng.below(COLUMNS.len() as u64 - 4) as usize;
    let chosen = COLUMNS[from..from + 4].iter();
    chosen.map(|(name, _, constants)| format!("{name} = {}", constant(rng, constants))).collect::<Vec<_>>().join(", ")
}

/// A document.
pub fn document(rng: &mut Rng) -> &'static str {
    let documents = [
        r#"'{"a": [1, 2.5, "x", null, true], "é": {"b": -3}}'"#,
        "'[]'",
        r#"'"text"'"#,
        "'{}'",
        "'[9007199254740991, -1, 0.125, [[false]]]'",
        "CONCAT('[', REPEAT('7, ', 9000), '8]')",
    ];
    constant(rng, &documents)
}
