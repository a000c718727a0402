//! Where MariaDB 10.11 declares another type and is not followed, each with the reason.

use cohort_blackbox::Shape;
use mysql::consts::ColumnType;

/// A difference that is meant.
struct Difference {
    reason: &'static str,
    applies: fn(ours: &Shape, theirs: &Shape) -> bool,
}

const DIFFERENCES: [Difference; 1] = [Difference {
    reason: "a column of NULLs alone has no type",
    applies: |ours, theirs| [ours, theirs].iter().any(|column| column.column_type == ColumnType::MYSQL_TYPE_NULL),
}];

/// Why two declarations of a column differ, if that is meant.
pub fn reason(ours: &Shape, theirs: &Shape) -> Option<&'static str> {
    let named = ours.name == theirs.name;
    let meant = DIFFERENCES.iter().find(|difference| named && (difference.applies)(ours, theirs));
    meant.map(|difference| difference.reason)
}
