//! What statements do, and errors that have nothing to do with dates or numbers.

use super::{Exception, rows_left_alone, updates_what_is_not_inserted};
use crate::answer::Kind;

pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        reason: "what the condition of a strict change warns of is an error in 8.0, in MariaDB it may stay a warning",
        applies: |difference| {
            let (ours, theirs) = difference.errors();
            let warned = difference.theirs.warnings.contains(&ours) || ours == 3020;
            matches!(ours, 1264 | 1292 | 1365 | 1411 | 1441 | 3020)
                && (theirs == 0 && warned)
                && !difference.sql.starts_with("SELECT")
                && difference.sql.contains(" WHERE ")
        },
    },
    Exception {
        reason: "MariaDB skips an id after a row that was given a negative one",
        applies: |difference| {
            let given = ["INSERT", "REPLACE"].iter().any(|verb| difference.sql.starts_with(verb))
                && difference.sql.contains("(-3");
            let made = ["(NULL", "(DEFAULT", "(0"].iter().any(|id| difference.sql.contains(id));
            given && made && matches!(difference.kind, Kind::InsertId | Kind::Table)
        },
    },
    Exception {
        reason: "8.0 wants a value for a new row also of a column that ON DUPLICATE KEY UPDATE sets",
        applies: |difference| {
            // It fails before the first row, MariaDB perhaps after one that made an id.
            let refused = difference.errors().0 == 1364 || difference.kind == Kind::InsertId;
            refused && updates_what_is_not_inserted(difference.sql)
        },
    },
    Exception {
        reason: "a row that ON DUPLICATE KEY UPDATE leaves alone may count as one in MariaDB if a column of it is NULL",
        applies: |difference| {
            let alone = rows_left_alone(difference);
            difference.kind == Kind::Affected && alone.is_some_and(|(alone, counted)| (1..=alone).contains(&counted))
        },
    },
    Exception {
        reason: "where AUTO_INCREMENT has no value left 8.0 makes the greatest one again, MariaDB says so with code 167",
        applies: |difference| difference.errors().1 == 167 || difference.theirs.warnings.contains(&167),
    },
    Exception {
        reason: "MariaDB refuses a REPLACE that makes a value of AUTO_INCREMENT and then replaces a row of a given one",
        applies: |difference| {
            difference.errors() == (0, 1062)
                && difference.sql.starts_with("REPLACE")
                && difference.theirs.to_string().contains("for key 'PRIMARY'")
        },
    },
    Exception {
        reason: "what CAST AS CHAR(n) cuts is an error of a strict change in 8.0, a warning in MariaDB",
        applies: |difference| {
            let (ours, theirs) = difference.errors();
            let warned = theirs != 0 || difference.theirs.warnings.contains(&1292);
            ours == 1292 && warned && difference.ours.to_string().contains("Truncated incorrect CHAR value")
        },
    },
    Exception {
        reason: "which arguments the errors 1267, 1270 and 1271 count",
        applies: |difference| {
            let illegal_mix = |errno| matches!(errno, 1267 | 1270 | 1271);
            illegal_mix(difference.errors().0) && illegal_mix(difference.errors().1)
        },
    },
    Exception {
        reason: "CAST AS CHAR has the connection's collation and contradicts a column's in 8.0, in MariaDB it gives way",
        applies: |difference| {
            matches!(difference.errors().0, 1267 | 1270 | 1271) && difference.sql.contains(" AS CHAR")
        },
    },
];
