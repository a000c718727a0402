//! What is generated, as tables: types, constants and expressions.
//!
//! In an expression `$` and a letter stand for an operand of a [`Class`], or of one of several: see [`operand`].
//! Operands are not put into parentheses, so that precedence is compared too.

use cohort_blackbox::rng::Rng;

use crate::documents;
use crate::tree::Literal;

/// What kind of value an expression has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Integer,
    Decimal,
    Double,
    Text,
    Bytes,
    Date,
    DateTime,
    Time,
    Year,
    Bits,
    /// What an ENUM column holds.
    Member,
    /// What a SET column holds.
    Members,
    Condition,
    /// A document: see [`documents`].
    Json,
    /// Text that was taken out of a document.
    Extracted,
}

use Class::{
    Bits, Bytes, Condition, Date, DateTime, Decimal, Double, Extracted, Integer, Json, Member, Members, Text, Time,
    Year,
};

/// What an operand may be.
pub enum Operand {
    Of(&'static [Class]),
    /// A small number, written out: a count or a place.
    Count,
    /// A unit of INTERVAL.
    Unit,
    /// A text that is a date, perhaps with a time.
    DateText,
    /// A text that is a time of day.
    TimeText,
    Collation,
    /// A character set whose own collation is the same everywhere.
    Charset,
    /// A document, written out.
    Document,
    /// A column of JSON.
    JsonColumn,
    /// What a document can take: an integer, decimal or text, of a column or written out.
    JsonValue,
    /// XML, perhaps malformed.
    Xml,
    /// An expression of XPath.
    XPath,
    /// A path of one of these.
    Path(&'static [&'static str]),
}

/// The meaning of a letter.
pub fn operand(letter: char) -> Operand {
    use Operand::Of;
    match letter {
        'i' => Of(&[Integer]),
        'm' => Of(&[Decimal]),
        'f' => Of(&[Double]),
        's' => Of(&[Text, Text, Text, Text, Text, Text, Member, Members]),
        'g' => Of(&[Member, Members]),
        'b' => Of(&[Bytes]),
        'd' => Of(&[Date]),
        't' => Of(&[DateTime]),
        'c' => Of(&[Time]),
        'y' => Of(&[Year]),
        'r' => Of(&[Bits]),
        'w' => Of(&[Condition]),
        'n' => Of(&[Integer, Integer, Decimal, Double]),
        'e' => Of(&[Integer, Decimal]),
        'p' => Of(&[Integer, Decimal, Text]),
        'o' => Of(&[Date, DateTime]),
        'x' => Of(&[
            Integer, Integer, Decimal, Decimal, Double, Text, Text, Text, Text, Date, DateTime, Time, Year, Member,
            Members,
        ]),
        // What MariaDB's temporary tables have room for: they cut DOUBLEs of fixed digits to 17 of them.
        'q' => Of(&[Integer, Decimal, Text, Text, Date, DateTime, Time, Year]),
        'k' => Operand::Count,
        'u' => Operand::Unit,
        'D' => Operand::DateText,
        'T' => Operand::TimeText,
        'C' => Operand::Collation,
        'Z' => Operand::Charset,
        'j' => Of(&[Json]),
        'J' => Operand::JsonColumn,
        'N' => Operand::Document,
        'v' => Operand::JsonValue,
        'X' => Operand::Xml,
        'H' => Operand::XPath,
        'P' => Operand::Path(documents::PLACES),
        'W' => Operand::Path(documents::PATHS),
        'R' => Operand::Path(documents::PARTS),
        'A' => Operand::Path(documents::WHOLE),
        other => panic!("no operand is called {other}"),
    }
}

/// Types of columns.
pub const COLUMN_TYPES: &[(Class, &[&str])] = &[
    (Integer, &["TINYINT", "TINYINT UNSIGNED", "SMALLINT", "SMALLINT UNSIGNED", "MEDIUMINT", "MEDIUMINT UNSIGNED"]),
    (Integer, &["INT", "INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED"]),
    (Decimal, &["DECIMAL(5,2)", "DECIMAL(10,0)", "DECIMAL(20,6) UNSIGNED", "DECIMAL(20,4)", "DECIMAL(18,9)"]),
    (Double, &["DOUBLE", "DOUBLE", "DOUBLE UNSIGNED", "FLOAT"]),
    (Year, &["YEAR"]),
    // As a DOUBLE a BIT of 2^63 or more is negative in MariaDB, as in MySQL; here it never is.
    (Bits, &["BIT", "BIT(8)", "BIT(12)", "BIT(63)"]),
    (Text, &["VARCHAR(20)", "VARCHAR(5)", "CHAR(10)", "CHAR(3)", "TEXT", "TINYTEXT"]),
    (Text, &["VARCHAR(20)", "VARCHAR(10)", "CHAR(8)"]),
    (Bytes, &["VARBINARY(20)", "BINARY(4)", "BLOB"]),
    (Date, &["DATE"]),
    (DateTime, &["DATETIME", "DATETIME(3)", "DATETIME(6)", "TIMESTAMP NULL", "TIMESTAMP(2) NULL"]),
    (Time, &["TIME", "TIME(1)", "TIME(6)"]),
    (Member, &["ENUM('a','b','ab','B c','10','1','2024-02-29')", "ENUM('x','a','A b','')", "ENUM('é','a','ß','0')"]),
    (Members, &["SET('a','b','c')", "SET('a','ab','1','2')", "SET('x','y z','10','ö','a')"]),
];

/// What a column of characters may say of its character set and collation, beside one of [`COLLATIONS`]. A character set
/// without a collation is one whose own collation is the same everywhere.
pub const CHARSETS: &[&str] = &[
    " CHARACTER SET latin1",
    " CHARACTER SET latin1",
    " CHARACTER SET latin1 COLLATE latin1_bin",
    " COLLATE latin1_general_ci",
    " COLLATE latin1_general_cs",
    " COLLATE latin1_german1_ci",
    " CHARACTER SET utf8mb3",
    " CHARACTER SET utf8",
    " COLLATE utf8mb3_bin",
    " COLLATE utf8mb3_unicode_ci",
    " COLLATE utf8mb3_unicode_520_ci",
    " CHARACTER SET ascii",
    " COLLATE ascii_bin",
    " COLLATE utf8mb4_unicode_ci",
    " COLLATE utf8mb4_unicode_520_ci",
    " COLLATE utf8mb4_general_ci",
    " COLLATE utf8mb4_0900_ai_ci",
];

/// Collations of tables, and to choose from in an expression.
pub const COLLATIONS: &[&str] = &["utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_0900_ai_ci", "utf8mb4_0900_bin"];

/// More collations of tables.
pub const OTHER_COLLATIONS: &[&str] = &[
    "latin1_swedish_ci",
    "latin1_general_cs",
    "latin1_bin",
    "utf8mb3_general_ci",
    "utf8mb3_unicode_ci",
    "ascii_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
];

pub const CHARSET_NAMES: &[&str] = &["latin1", "utf8mb3", "ascii", "binary"];

pub const UNITS: &[&str] = &["MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"];

/// Expressions by the class of their value.
pub const EXPRESSIONS: &[(Class, &[&str])] = &[
    (
        Integer,
        &[
            "$i + $i",
            "$i - $i",
            "$i * $i",
            "$i DIV $i",
            "($i % $i)",
            "MOD($i, $i)",
            "($i)",
            "~$i",
            "-$i",
            "-($i)",
            "(0x1F + $i)",
            "(b'101' | $i)",
            "IF($w, $y, $i)",
            "$r + $i",
            "$r * 2",
            "$r & $i",
            "LENGTH($r)",
            "$y + $i",
            "$y - $y",
            "$i & $i",
            "$i | $i",
            "$i ^ $i",
            "($i << $k)",
            "($i >> $k)",
            "ABS($i)",
            "SIGN($n)",
            "CEIL($e)",
            "FLOOR($e)",
            "ROUND($e)",
            "BIT_COUNT($i)",
            "LENGTH($s)",
            "CHAR_LENGTH($s)",
            "OCTET_LENGTH($b)",
            "BIT_LENGTH($s)",
            "ASCII($s)",
            "ORD($s)",
            "CRC32($s)",
            "INSTR($s, 'b')",
            "FIELD($s, $s, $s)",
            "STRCMP($s, $s)",
            "INTERVAL($i, $i, $i)",
            "CAST($p AS SIGNED)",
            "CAST($p AS UNSIGNED)",
            "IF($w, $i, $i)",
            "IFNULL($i, $i)",
            "COALESCE($i, $i, $i)",
            "NULLIF($i, $i)",
            "GREATEST($i, $i)",
            "LEAST($i, $i, $i)",
            "CASE WHEN $w THEN $i ELSE $i END",
            "CASE $i WHEN $i THEN $i WHEN $i THEN $i END",
            "DATEDIFF($o, $o)",
            "TO_DAYS($o)",
            "DAYOFWEEK($o)",
            "WEEKDAY($o)",
            "DAYOFYEAR($o)",
            "WEEK($o)",
            "WEEK($o, $k)",
            "YEARWEEK($o)",
            "WEEKOFYEAR($o)",
            "YEAR($o)",
            "MONTH($o)",
            "QUARTER($o)",
            "DAY($o)",
            "HOUR($t)",
            "MINUTE($t)",
            "SECOND($t)",
            "MICROSECOND($t)",
            "TIME_TO_SEC(CAST($c AS TIME))",
            "TO_SECONDS($o)",
            // Beyond TIMESTAMP it is NULL in MariaDB.
            "FLOOR(UNIX_TIMESTAMP(LEAST(GREATEST($t, TIMESTAMP'1971-01-01 00:00:00'), TIMESTAMP'2037-01-01 00:00:00')))",
            "EXTRACT(MINUTE_MICROSECOND FROM $c)",
            "EXTRACT(DAY_MINUTE FROM $t)",
            "TIMESTAMPDIFF(MICROSECOND, $t, $t)",
            "PERIOD_ADD(202401 + ABS($k), $k)",
            "PERIOD_DIFF(202401, 199901 + ABS($k))",
            "TIMESTAMPDIFF($u, $o, $o)",
            "EXTRACT(YEAR_MONTH FROM $o)",
            "EXTRACT(DAY_HOUR FROM $t)",
            "($w)",
            "($d + 0)",
            "$g & $i",
            "$g | $i",
            "CAST($g AS SIGNED)",
            "CAST($g AS UNSIGNED)",
            "LENGTH($g)",
            "FIELD($g, $s, $s)",
            "FIELD($s, $g, $s)",
            "FIND_IN_SET($s, $g)",
            "FIND_IN_SET($s, $s)",
            "INTERVAL($g, $i, $i)",
            "LOCATE($s, $s)",
            "LOCATE($s, $s, $k)",
            "INSTR($s, $s)",
            "LENGTH(CONVERT($s USING $Z))",
        ],
    ),
    (
        Decimal,
        &[
            "$m + $m",
            "$m - $m",
            "$m * $m",
            "$m + $i",
            "$i - $m",
            "$m * $i",
            // Quotients that are exact: see [`QUOTIENTS`].
            "$i / 2",
            "$e / 4",
            "$m / 5",
            "(ABS($m) % $m)",
            "-$m",
            "($m)",
            "ABS($m)",
            "ROUND($m, $k)",
            "TRUNCATE($m, $k)",
            "CAST($x AS DECIMAL(10,2))",
            "CAST($n AS DECIMAL(30,10))",
            "IF($w, $m, $i)",
            "IFNULL($m, $i)",
            "COALESCE($m, $m)",
            "NULLIF($m, $m)",
            "GREATEST($m, $m)",
            "LEAST($m, $m)",
            "CASE WHEN $w THEN $m ELSE $i END",
            "CAST($g AS DECIMAL(10,2))",
        ],
    ),
    (
        Double,
        &[
            "$f + $f",
            "$f - $n",
            "$f * $n",
            "$f / $f",
            "-$f",
            "($f)",
            "ABS($f)",
            "ROUND(MOD($f, 100000), 3)",
            "TRUNCATE(MOD($f, 100000), 2)",
            "CEIL($f)",
            "FLOOR($f)",
            "ROUND($f)",
            "ROUND(SQRT($n), 6)",
            "POW($n, 2)",
            "ROUND(SIN($n), 6)",
            "ROUND(COS($n), 6)",
            "ROUND(ATAN($n), 6)",
            "ROUND(ATAN2($n, $n), 6)",
            "ROUND(LN($n), 6)",
            "ROUND(LOG($n, $n), 6)",
            "ROUND(LOG2($n), 6)",
            "ROUND(LOG10($n), 6)",
            "ROUND(DEGREES($n % 1000), 3)",
            "ROUND(RADIANS($n % 1000), 6)",
            "ROUND(ASIN($n), 6)",
            "CAST($x AS DOUBLE)",
            "IF($w, $f, $n)",
            "IFNULL($f, $n)",
            "COALESCE($f, $f)",
            "GREATEST($f, $n)",
            "$s + 0",
            "$s * $n",
            "CASE WHEN $w THEN $f ELSE $n END",
            "$g + 0",
            "$g * $i",
            "-$g",
            "CAST($g AS DOUBLE)",
        ],
    ),
    (
        Text,
        &[
            "CONCAT($s, $s)",
            "CONCAT($s, $x)",
            "UPPER($s)",
            "LOWER($s)",
            "LEFT($s, $k)",
            "RIGHT($s, $k)",
            "SUBSTRING($s, $k)",
            "SUBSTRING($s, $k, $k)",
            "MID($s, $k, $k)",
            "SUBSTRING_INDEX($s, $s, $k)",
            "TRIM($s)",
            "LTRIM($s)",
            "RTRIM($s)",
            "TRIM(LEADING $s FROM $s)",
            "TRIM(BOTH $s FROM $s)",
            "REPLACE($s, $s, 'x')",
            "REPEAT($s, $k)",
            "SPACE($k)",
            "LPAD($s, $k, 'xy')",
            "RPAD($s, $k, ' ')",
            "REVERSE($s)",
            "HEX($s)",
            "HEX($i)",
            "BIN($i)",
            "OCT($i)",
            "QUOTE($s)",
            "INSERT($s, $k, $k, $s)",
            "ELT($k, $s, $s)",
            "MD5($s)",
            "LOWER(CAST($x AS CHAR))",
            "UPPER(CAST($x AS CHAR(4)))",
            "IF($w, $s, $s)",
            "IFNULL($s, $s)",
            "CASE WHEN $w THEN $s ELSE $s END",
            "DATE_FORMAT($o, '%f %Y-%m-%d %H:%i:%s')",
            "DATE_FORMAT($o, '%a %b %c %D %e %j %M %p %r %U %u %V %v %W %w %X %x %y %%')",
            "DAYNAME($o)",
            "MONTHNAME($o)",
            "TIME_FORMAT($c, '%H %h %I %i %k %l %p %r %S %s %T %f %%')",
            "DATE_FORMAT($s, '%Y-%m-%d %T')",
            // A text of twelve characters may be a date: not in MariaDB.
            "CONCAT(ADDTIME(LEFT($s, 8), $c))",
            "CONCAT(ADDTIME($T, $c))",
            "CONCAT($m)",
            "CONCAT($t)",
            "CONCAT($c)",
            "FORMAT($e, $k)",
            "IF($w, $s, $e)",
            "CONCAT($s) COLLATE $C",
            "CONCAT($g)",
            "CONCAT($g, $s)",
            "IF($w, $g, $g)",
            "IF($w, $g, $s)",
            "COALESCE($g, $s)",
            "IFNULL($g, $i)",
            "NULLIF($g, $s)",
            "CASE $g WHEN $s THEN $g ELSE $s END",
            "ELT($g, $s, $s)",
            "MAKE_SET($i, $s, $s)",
            "MAKE_SET($r, $s, $s)",
            "LEFT($s, $r)",
            "CONV($r, 10, 16)",
            "CAST($g AS CHAR)",
            "HEX($g)",
            // Not of two that may have a COLLATE: MariaDB 10.11 crashes where they contradict each other. And as texts only:
            // where a number is wanted MariaDB compares numbers.
            "CONCAT(GREATEST($g, 'b'))",
            "CONCAT(LEAST('ab', $s))",
            "CONCAT_WS($s, $s, $g)",
            "CONVERT($s USING $Z)",
            "HEX(CONVERT($s USING $Z))",
            "$s COLLATE $C",
        ],
    ),
    (
        Bytes,
        &[
            "CAST($s AS BINARY)",
            "CONCAT($b, $b)",
            "UNHEX(HEX($s))",
            "CAST($x AS BINARY)",
            "CONCAT(x'6162', $b)",
            "IF($w, 0x41, $b)",
            "LEFT($b, $k)",
            "REVERSE($b)",
        ],
    ),
    (
        Date,
        &[
            "DATE($t)",
            "LAST_DAY($o)",
            "STR_TO_DATE($D, '%Y-%m-%d')",
            "MAKEDATE($y, $i)",
            "FROM_DAYS(700000 + $k)",
            "$d + INTERVAL $k DAY",
            "$d - INTERVAL $k MONTH",
            "FROM_DAYS(TO_DAYS($d))",
            "MAKEDATE($k, $k)",
            "CAST($D AS DATE)",
            "CAST($t AS DATE)",
            "IF($w, $d, $d)",
            "IFNULL($d, $d)",
            "COALESCE($d, $d)",
            "GREATEST($d, $d)",
            "NULLIF($d, $d)",
        ],
    ),
    (
        DateTime,
        &[
            "$t + INTERVAL $k $u",
            "$o - INTERVAL $k $u",
            "$d + INTERVAL $k HOUR",
            "TIMESTAMP($o)",
            "CAST($D AS DATETIME)",
            "CAST($o AS DATETIME(3))",
            "CAST($o AS DATETIME)",
            "IF($w, $t, $t)",
            "IFNULL($t, $t)",
            "IF($w, $t, $d)",
            "GREATEST($t, $t)",
            "DATE_ADD($t, INTERVAL $k $u)",
            "FROM_UNIXTIME($k * 100000)",
            "FROM_UNIXTIME($k + 0.5)",
            // ADDTIME of a DATE is a text of a time in 8.0, a DATETIME in MariaDB.
            "ADDTIME(CAST($t AS DATETIME(3)), $c)",
            "SUBTIME(CAST($t AS DATETIME(3)), $c)",
            "TIMESTAMP($o, $c)",
            "TIMESTAMPADD($u, $k, $t)",
            "CONVERT_TZ($t, '+00:00', '-05:30')",
            "STR_TO_DATE($D, '%Y-%m-%d %H:%i:%s')",
        ],
    ),
    (
        Time,
        &[
            "TIME($t)",
            "SEC_TO_TIME($k * 1000)",
            "SEC_TO_TIME($i)",
            "ADDTIME($c, $c)",
            "SUBTIME($c, $c)",
            "TIMEDIFF($c, $c)",
            "TIMEDIFF($t, $t)",
            "MAKETIME($i, $k, $k)",
            "CAST($T AS TIME)",
            "STR_TO_DATE($T, '%H:%i:%s')",
            "MAKETIME($k, $k, $k)",
            "CAST($d AS TIME)",
            "CAST($t AS TIME(6))",
            "IF($w, $c, $c)",
            "IFNULL($c, $c)",
        ],
    ),
    (Year, &["IF($w, $y, $y)", "IFNULL($y, $y)", "COALESCE($y, $y)", "GREATEST($y, $y)"]),
    (
        Condition,
        &[
            "$r = $i",
            "$r < $n",
            "$r IN ($r, 5, 65)",
            "$n = $n",
            "$n <> $n",
            "$n < $n",
            "$n <= $n",
            "$n > $n",
            "$n >= $n",
            "$n <=> $n",
            "$s = $s",
            "$s <> $s",
            "$s < $s",
            "$s >= $s",
            "$s <=> $s",
            "$d = $d",
            "$o < $o",
            "$o >= $o",
            "$t <=> $o",
            "$c = $c",
            "$c < $c",
            "$b = $b",
            "$b < $b",
            "$s = $n",
            "$n < $s",
            "$x IS NULL",
            "$x IS NOT NULL",
            "$w AND $w",
            "$w OR $w",
            "$w XOR $w",
            "NOT $w",
            "($w)",
            "NOT ($w)",
            "!($w)",
            "$w IS TRUE",
            "$w IS NOT FALSE",
            "$w IS UNKNOWN",
            "$i IN ($i, $i, $i)",
            "$i NOT IN ($i, $i)",
            "$s IN ($s, $s)",
            "$s NOT IN ($s, $s)",
            "$m IN ($m, $m)",
            "$d IN ($d, $d)",
            "$i BETWEEN $i AND $i",
            "$s BETWEEN $s AND $s",
            "$d BETWEEN $d AND $d",
            "$m NOT BETWEEN $m AND $i",
            "$s LIKE $s",
            "$s NOT LIKE $s",
            "$s LIKE CONCAT($s, '%')",
            "ISNULL($x)",
            "$n",
            "$s LIKE '%a_%'",
            "$s LIKE 'a%'",
            "$y = $i",
            "$y < $y",
            "$y = $s",
            "$y IN ($i, $i)",
            // Not between integers: MariaDB's index on a YEAR finds nothing below one that is none.
            "$y BETWEEN $y AND $y",
            "$e / $k = $i",
            "$e / $e = $i",
            "$i / $k < $i",
            "$m / $m < $e",
            "$i / $i >= $m",
            "$e / $e <=> $e",
            "$i / $k BETWEEN $i AND $i",
            "$e / $e BETWEEN $e AND $e",
            "$i / $i IN ($i, $m)",
            "NOT $e / $k",
            "$e / $e IS NULL",
            "$i / $i",
            "$i = 0x0A",
            "$i < b'1010'",
            "$s = x'61'",
            "$b = 0x61",
            "$g = $i",
            "$g < $i",
            "$g = $s",
            "$g <> $s",
            "$g < $s",
            "$g = $g",
            "$g < $g",
            "$g <=> $g",
            "$g IN ($s, $s)",
            "$g IN ($i, $i)",
            "$g IN ($g, $s)",
            "$s IN ($g, $s)",
            "$g BETWEEN $i AND $i",
            "$g BETWEEN $s AND $s",
            "$g LIKE $s",
            "$g IS NULL",
            "$g",
            "$g = $m",
            "$g = $b",
            "$s = $b",
            "$s < $b",
        ],
    ),
];

/// Quotients of any kind. They stand alone or in a condition: MariaDB rounds a quotient to the digits it shows before it is
/// put into another expression, 8.0 does not.
pub const QUOTIENTS: &[&str] = &["$e / $e", "$i / $i", "$m / $m", "ROUND($e / $e, $k)", "1000 * POW(1 + $m / 12, 3)"];

const SMALL: &[&str] = &["0", "1", "1", "2", "3", "5", "7", "10", "-1", "-2"];

const INTEGERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "10",
    "-1",
    "-2",
    "-7",
    "12",
    "99",
    "100",
    "127",
    "128",
    "-128",
    "-129",
    "255",
    "256",
    "32767",
    "-32768",
    "65535",
    "65536",
    "8388607",
    "16777215",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775807",
    "18446744073709551615",
];

const DECIMALS: &[&str] = &[
    "0.0",
    "0.5",
    "1.5",
    "2.5",
    "-0.5",
    "-1.5",
    "1.00",
    "0.01",
    "-0.01",
    "99.99",
    "999.99",
    "-999.995",
    "123.456",
    "0.000001",
    "12345678.9",
    "1234567890.123456789",
    "99999999999999999999.999999",
    "10.10",
    "7.0",
];

/// No zero: MariaDB has no negative of a constant one.
const DOUBLES: &[&str] = &["2e0", "1e0", "-1e0", "1.5e0", "-2.5e0", "1e9", "1e-3", "-1e-10", "0.1e0", "123456.789e0"];

const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "A",
    "b",
    "a ",
    "ab",
    "AB",
    " a",
    "abc",
    "ABC",
    "ä",
    "Ä",
    "ae",
    "é",
    "e",
    "strasse",
    "日本",
    "%",
    "_",
    "a%",
    "a_b",
    "\\",
    "'",
    "a'b",
    "a,b",
    "b,c",
    "0",
    "1",
    "10",
    "-1",
    "1.5",
    "1e2",
    " 7",
    "7x",
    "x7",
    "0.0",
    "2024-02-29",
    "2024-02-29 12:30:00",
    "12:30:00",
    "99999",
    "Hello World",
    "x y  ",
    "aaa",
    "ABCDEFGHIJKLMNOPQRST",
    "é",
    "É",
    "ß",
    "sS",
    "ss",
    "ÿ",
    "€",
    "ñ",
    "Ñ",
    "Æ",
    "я",
    "\u{20000}",
    "a,ab",
];

/// Texts for an ENUM, of which each list has some.
const MEMBERS: &[&str] = &[
    "a",
    "b",
    "ab",
    "a",
    "b",
    "x",
    "A",
    "AB",
    "a ",
    "10",
    "1",
    "2",
    "0",
    "",
    "B c",
    "b C",
    "2024-02-29",
    "zz",
    "é",
    "E",
    "ss",
];

/// The same for a SET.
const LISTS: &[&str] = &[
    "a", "b", "a,b", "b,a", "a,c", "A", "a,,b", "a,zz", "x,y z", "a,ab", "1,2", "2", "1", "3", "7", "64", "", "ö", "c ",
];

const NUMBERS_OF_MEMBERS: &[&str] = &["0", "1", "2", "3", "4", "7", "8", "15", "1.5", "-1", "2e0", "100"];

const DATES: &[&str] = &[
    "2024-02-29",
    "2024-01-31",
    "2023-12-31",
    "2000-01-01",
    "1999-12-31",
    "1970-01-01",
    "1000-01-01",
    "9999-12-31",
    "2024-03-01",
];

const DATETIMES: &[&str] = &[
    "2024-02-29 12:30:45",
    "2024-02-29 00:00:00",
    "2023-12-31 23:59:59",
    "2000-01-01 00:00:00",
    "1970-01-01 00:00:01",
    "2037-01-19 03:14:07",
    "1999-12-31 23:59:59",
    "2024-06-15 08:05:09",
];

const TIMES: &[&str] =
    &["00:00:00", "12:30:45", "23:59:59", "-01:00:00", "30:00:00", "838:59:59", "-838:59:59", "00:00:01"];

const YEARS: &[&str] = &["1901", "2155", "2024", "1970", "1999", "2000"];

/// Dates that lack parts.
const ZERO_DATES: &[&str] =
    &["0000-00-00", "0000-00-00 00:00:00", "2024-00-00", "2024-02-00", "2024-00-10 12:30:45", "0000-02-29"];

/// Numbers that are dates, with a time or without, and such that are none.
const DATES_OF_NUMBERS: &[&str] = &[
    "20240229",
    "240229",
    "991231",
    "20240230",
    "20240229123045",
    "240229123045",
    "99991231235959",
    "20240229126045",
    "101",
    "99",
    "-20240229",
    "20240229123045.678",
    "240229123045.9999999",
    "20240229e0",
    "99999999999999999999",
];

/// The same for times. Beyond the greatest they are another one in MariaDB.
const TIMES_OF_NUMBERS: &[&str] =
    &["123045", "1", "0", "59", "60", "1260", "-10000", "8385959", "20240229123045", "123045.678", "-0.5", "123045e0"];

/// The same for years.
const YEARS_OF_NUMBERS: &[&str] = &["0", "1", "69", "70", "99", "100", "1900", "2156", "-1", "24.5", "1999.4", "24e0"];

const BITS: &[&str] = &["0", "1", "5", "65", "255", "b'101'", "4095", "256", "18446744073709551615"];

const BYTES: &[&[u8]] = &[b"", b"a", b"A", b"a ", b"ab", b"abc", b"10", b"\x00", b"\xff", b"a\x00", b"\xc3\xa4"];

fn pick<T: Copy>(rng: &mut Rng, table: &[T]) -> T {
    table[rng.below(table.len() as u64) as usize]
}

/// One of a table.
pub fn choose<T: Copy>(rng: &mut Rng, table: &[T]) -> T {
    pick(rng, table)
}

/// A constant of a class, or NULL.
pub fn literal(rng: &mut Rng, class: Class) -> Literal {
    if rng.chance(4) { Literal::Null } else { known(rng, class) }
}

/// A constant of a class. NULL in expressions comes from columns: what type an expression over a constant NULL has is
/// not the same in MariaDB and 8.0.
pub fn known(rng: &mut Rng, class: Class) -> Literal {
    let number = |text: &str| Literal::Number(text.to_owned());
    match class {
        Integer | Condition if rng.chance(60) => number(pick(rng, SMALL)),
        Integer => number(pick(rng, INTEGERS)),
        Condition => number(pick(rng, &["0", "1"])),
        Decimal => number(pick(rng, DECIMALS)),
        Double => number(pick(rng, DOUBLES)),
        Text => Literal::Text(pick(rng, TEXTS).to_owned()),
        Member => Literal::Text(pick(rng, MEMBERS).to_owned()),
        Members => Literal::Text(pick(rng, LISTS).to_owned()),
        Bytes => Literal::Text(pick(rng, &["", "a", "A", "a ", "ab", "10"]).to_owned()),
        Date => Literal::Temporal("DATE", pick(rng, DATES).to_owned()),
        DateTime => Literal::Temporal("TIMESTAMP", pick(rng, DATETIMES).to_owned()),
        Time => Literal::Temporal("TIME", pick(rng, TIMES).to_owned()),
        Year => number(pick(rng, YEARS)),
        Bits => number(pick(rng, BITS)),
        Json | Extracted => Literal::Text(pick(rng, documents::DOCUMENTS).to_owned()),
    }
}

/// The simplest constant of a class.
pub fn simple(class: Class) -> Literal {
    match class {
        Integer | Condition => Literal::Number("1".to_owned()),
        Decimal => Literal::Number("1.5".to_owned()),
        Double => Literal::Number("1e0".to_owned()),
        Text | Bytes | Member | Members => Literal::Text("a".to_owned()),
        Date => Literal::Temporal("DATE", DATES[0].to_owned()),
        DateTime => Literal::Temporal("TIMESTAMP", DATETIMES[0].to_owned()),
        Time => Literal::Temporal("TIME", "12:30:45".to_owned()),
        Year => Literal::Number("2024".to_owned()),
        Bits => Literal::Number("b'1'".to_owned()),
        Json | Extracted => Literal::Text("7".to_owned()),
    }
}

/// A value for a column, as an application would write it.
pub fn value(rng: &mut Rng, class: Class) -> Literal {
    let fraction = ["", "", ".5", ".123456", ".999999"];
    match class {
        Date | DateTime | Time | Year if rng.chance(8) => number_of(rng, class),
        Member | Members if rng.chance(25) => number_of(rng, class),
        Date | DateTime if rng.chance(8) => Literal::Text(pick(rng, ZERO_DATES).to_owned()),
        Date if rng.chance(90) => Literal::Text(pick(rng, DATES).to_owned()),
        DateTime if rng.chance(90) => Literal::Text(format!("{}{}", pick(rng, DATETIMES), pick(rng, &fraction))),
        Time if rng.chance(90) => {
            let time = pick(rng, TIMES);
            // At the ends of the range MariaDB has a fraction, 8.0 has none.
            let fraction = if time.contains("838") { "" } else { pick(rng, &fraction) };
            Literal::Text(format!("{time}{fraction}"))
        }
        Bytes if rng.chance(50) => Literal::Bytes(pick(rng, BYTES).to_vec()),
        other => literal(rng, other),
    }
}

/// A number for a date, time or year.
pub fn number_of(rng: &mut Rng, class: Class) -> Literal {
    let numbers = match class {
        Time => TIMES_OF_NUMBERS,
        Year => YEARS_OF_NUMBERS,
        Member | Members => NUMBERS_OF_MEMBERS,
        _ => DATES_OF_NUMBERS,
    };
    Literal::Number(pick(rng, numbers).to_owned())
}

/// A text that is a date.
pub fn date_text(rng: &mut Rng) -> Literal {
    let table = match rng.below(20) {
        0 => ZERO_DATES,
        1..10 => DATES,
        _ => DATETIMES,
    };
    Literal::Text(pick(rng, table).to_owned())
}

/// A text that is a time of day. (One that is none is 00:00:00 where MariaDB compares it, and NULL elsewhere.)
pub fn time_text(rng: &mut Rng) -> Literal {
    Literal::Text(pick(rng, &["12:30:45", "00:00:00", "23:59:59.5", "07:08:09", "1:2:3"]).to_owned())
}

/// A small number, written out.
pub fn count(rng: &mut Rng) -> Literal {
    Literal::Number(pick(rng, SMALL).to_owned())
}
