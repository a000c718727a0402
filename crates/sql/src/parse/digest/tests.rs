use super::*;

/// Rows of `performance_schema` and the manual of MySQL 8.0 have these, where nothing else is said.
#[test]
fn statements_of_one_shape_have_one_text() {
    for (sql, expected) in [
        (
            "SELECT * FROM mytable WHERE cola = 10 AND colb = 20",
            "SELECT * FROM `mytable` WHERE `cola` = ? AND `colb` = ?",
        ),
        (
            "select sum(k) from sbtest1 where id between 1 and 2",
            "SELECT SUM ( `k` ) FROM `sbtest1` WHERE `id` BETWEEN ? AND ?",
        ),
        ("SELECT DISTINCT c FROM t ORDER BY c;", "SELECT DISTINCTROW `c` FROM `t` ORDER BY `c`"),
        ("SELECT @@version_comment LIMIT 1", "SELECT @@`version_comment` LIMIT ?"),
        ("SELECT @@session.autocommit, @a, @`b`", "SELECT @@SESSION . `autocommit` , @? , @`b`"),
        ("SELECT 1, 'a', x'00', 1.5e3, b'1', N'x'", "SELECT ?, ..."),
        ("SELECT 'a' 'b', _utf8mb4'c' /* x */ -- y", "SELECT ? ? , (_charset) ?"),
        ("INSERT INTO t VALUES (1), (2), (3)", "INSERT INTO `t` VALUES (?) /* , ... */"),
        ("INSERT INTO t (a, b) VALUES (1, 2)", "INSERT INTO `t` ( `a` , `b` ) VALUES (...)"),
        ("INSERT INTO t VALUES (1, NULL), (-2, 'x')", "INSERT INTO `t` VALUES (...) /* , ... */"),
        ("SELECT 1 FROM t WHERE a IN (1, 2, 3) OR b IN (4)", "SELECT ? FROM `t` WHERE `a` IN (...) OR `b` IN (...)"),
        ("SELECT a - 1, -1, (- + 2), a = -1, -b", "SELECT `a` - ?, ... , (?) , `a` = - ? , - `b`"),
        ("SELECT a IS NULL, b IS NOT NULL, NULL", "SELECT `a` IS NULL , `b` IS NOT NULL , ?"),
        (
            "CREATE TABLE t (a INT NOT NULL, b INT NULL DEFAULT NULL)",
            "CREATE TABLE `t` ( `a` INTEGER NOT NULL , `b` INTEGER NULL DEFAULT ? )",
        ),
        (
            "SELECT name, t.name, count(*), count FROM t.t",
            "SELECT NAME , `t` . `name` , COUNT ( * ) , `count` FROM `t` . `t`",
        ),
        ("SELECT `a``b` <> 1 || c REGEXP 'x'", "SELECT `a`b` != ? || `c` RLIKE ?"),
        ("SELECT NOW() + INTERVAL 1 DAY, a->'$.b'", "SELECT NOW ( ) + INTERVAL ? SQL_TSI_DAY , `a` -> ?"),
        ("SELECT 1; SELECT 2", "SELECT ? ; SELECT ?"),
        ("", ""),
    ] {
        assert_eq!(text(sql.as_bytes(), SqlMode::DEFAULT, 1024), expected, "{sql}");
    }
    let ansi = SqlMode::ANSI_QUOTES;
    assert_eq!(text(b"SELECT \"a\"\"b\", 'c'", ansi, 1024), "SELECT `a\"b` , ?");
}

#[test]
fn what_has_no_room_is_left_out() {
    let sql = b"SELECT abc FROM t";
    for (room, expected) in [(0, ""), (2, "SELECT"), (8, "SELECT"), (9, "SELECT `abc`"), (11, "SELECT `abc` FROM")] {
        assert_eq!(text(sql, SqlMode::DEFAULT, room), expected, "{room}");
    }
    // What becomes shorter makes room.
    let rows = format!("INSERT INTO t VALUES {}", ["(1, 2)"; 1 << 16].join(", "));
    assert_eq!(text(rows.as_bytes(), SqlMode::DEFAULT, 32), "INSERT INTO `t` VALUES (...) /* , ... */");
}

#[test]
fn keywords_are_found() {
    assert!(KEYWORDS.is_sorted() && SPELLINGS.is_sorted() && CALLED.is_sorted());
    for (word, called, expected) in [
        ("select", false, Some("SELECT")),
        ("max", false, None),
        ("max", true, Some("MAX")),
        ("schema", false, Some("SCHEMA")),
        ("database", false, Some("SCHEMA")),
        ("zone", false, Some("ZONE")),
        ("é", false, None),
    ] {
        assert_eq!(keyword(word.as_bytes(), called), expected, "{word}");
    }
    // Each spelling is a keyword.
    assert!(
        SPELLINGS
            .iter()
            .all(|(_, to)| ["NOW", "CURDATE", "CURTIME", "SYSTEM_USER"].contains(to) || KEYWORDS.contains(to))
    );
}
