//! Where MariaDB 10.11 declares another type and is not followed, each with the reason.

use cohort_blackbox::Shape;
use mysql::consts::ColumnType;

/// A column as both servers declare it.
pub struct Columns<'a> {
    pub sql: &'a str,
    pub ours: &'a Shape,
    pub theirs: &'a Shape,
}

/// A difference that is meant.
struct Difference {
    reason: &'static str,
    applies: fn(&Columns<'_>) -> bool,
}

const DIFFERENCES: [Difference; 3] = [
    Difference {
        reason: "a column of NULLs alone has no type, in MariaDB that of a text, as has what is computed of it",
        applies: |Columns { sql, ours, theirs }| {
            let no_type = [ours, theirs].iter().any(|column| column.column_type == ColumnType::MYSQL_TYPE_NULL);
            no_type || theirs.column_type == ColumnType::MYSQL_TYPE_VAR_STRING && sql.contains("NULL AS c")
        },
    },
    Difference {
        reason: "places in a window are BIGINT UNSIGNED in MySQL, and beside a signed number DECIMAL",
        applies: |Columns { sql, ours, theirs }| {
            let places = ["ROW_NUMBER()", "RANK()", "NTILE("];
            let exact = ours.unsigned || ours.column_type == ColumnType::MYSQL_TYPE_NEWDECIMAL;
            let signed = theirs.column_type == ColumnType::MYSQL_TYPE_LONGLONG && !theirs.unsigned;
            exact && signed && places.iter().any(|function| sql.contains(function))
        },
    },
    Difference {
        reason: "of sets of bits and NULLs MariaDB makes a DECIMAL, MySQL a BIGINT UNSIGNED (5.6.24, UNION)",
        applies: |Columns { sql, ours, theirs }| {
            let bits = ours.unsigned && ours.column_type == ColumnType::MYSQL_TYPE_LONGLONG;
            bits && theirs.column_type == ColumnType::MYSQL_TYPE_NEWDECIMAL
                && sql.contains("BIT_")
                && sql.contains("NULL")
        },
    },
];

/// Why two declarations of a column differ, if that is meant.
pub fn reason(columns: &Columns<'_>) -> Option<&'static str> {
    let named = columns.ours.name == columns.theirs.name;
    let meant = DIFFERENCES.iter().find(|difference| named && (difference.applies)(columns));
    meant.map(|difference| difference.reason)
}
