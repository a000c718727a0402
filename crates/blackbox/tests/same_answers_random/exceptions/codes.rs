//! Warnings, or errors, that only one of the servers gives.

use super::{Codes, updates_what_is_not_inserted};

pub const CODES: &[Codes] = &[
    Codes {
        reason: "the logarithm of a number that has none is 3020 in 8.0, division by zero or nothing in MariaDB",
        ours: &[3020],
        theirs: &[0, 1365],
        when: |sql| sql.contains("LN(") || sql.contains("LOG"),
    },
    Codes {
        reason: "8.0 warns of each row that UPDATE IGNORE leaves for a duplicate, MariaDB does not",
        ours: &[1062],
        theirs: &[],
        when: |sql| sql.starts_with("UPDATE IGNORE"),
    },
    Codes {
        reason: "MariaDB notes that a negative integer was cast to an unsigned one",
        ours: &[],
        theirs: &[1105],
        when: |sql| sql.contains("AS UNSIGNED)"),
    },
    Codes {
        reason: "MariaDB warns of a zero date in a column that something is added to",
        ours: &[0],
        theirs: &[1292],
        when: |sql| sql.contains("INTERVAL"),
    },
    Codes {
        reason: "a DECIMAL beyond BIGINT that is cast to an integer: 8.0 warns, MariaDB does not",
        ours: &[1292],
        theirs: &[0],
        when: |sql| sql.contains("SIGNED)"),
    },
    Codes {
        reason: "a DECIMAL that is too small for an unsigned integer is 1292 in 8.0, 1916 in MariaDB",
        ours: &[1292],
        theirs: &[1916],
        when: |sql| sql.contains("AS UNSIGNED)"),
    },
    Codes {
        reason: "8.0 wants a value for a new row also of a column that ON DUPLICATE KEY UPDATE sets",
        ours: &[1364],
        theirs: &[],
        when: updates_what_is_not_inserted,
    },
    Codes {
        reason: "what ON DUPLICATE KEY UPDATE evaluates gives no warning in MariaDB if IGNORE is said",
        ours: &[1292, 1365],
        theirs: &[],
        when: |sql| sql.starts_with("INSERT IGNORE") && sql.contains(" ON DUPLICATE KEY UPDATE "),
    },
    Codes {
        reason: "MariaDB warns of seconds since 1970 that FROM_UNIXTIME has no date for",
        ours: &[],
        theirs: &[1292],
        when: |sql| sql.contains("FROM_UNIXTIME("),
    },
    Codes {
        reason: "MariaDB does not warn of a date without a month that LAST_DAY has no answer for",
        ours: &[1292],
        theirs: &[0],
        when: |sql| sql.contains("LAST_DAY("),
    },
    Codes {
        reason: "STR_TO_DATE gives a date that lacks a part in MariaDB, which then is none for what wants a whole one",
        ours: &[1411],
        theirs: &[1292],
        when: |sql| ["STR_TO_DATE('0000", "STR_TO_DATE('2024-0"].iter().any(|call| sql.contains(call)),
    },
    Codes {
        reason: "COUNT of a constant does not evaluate it in MariaDB",
        ours: &[1264, 1292, 1365, 1441],
        theirs: &[],
        when: |sql| sql.contains("COUNT("),
    },
    Codes {
        reason: "a text that begins with a number into a DECIMAL is 1366 in 8.0, 1265 or 1264 in MariaDB",
        ours: &[1366],
        theirs: &[1264, 1265],
        when: |sql| !sql.starts_with("SELECT"),
    },
    Codes {
        reason: "a number that is out of the range of dates or times is 1264 in 8.0, 1265 in MariaDB",
        ours: &[1264],
        theirs: &[1265],
        when: |sql| !sql.starts_with("SELECT"),
    },
    Codes {
        reason: "a text that is no number into a FLOAT or DOUBLE is 1265 in 8.0, 1366 in MariaDB",
        ours: &[1265],
        theirs: &[1366],
        when: |sql| !sql.starts_with("SELECT"),
    },
];
