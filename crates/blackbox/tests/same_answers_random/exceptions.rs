//! Where MariaDB 10.11 answers otherwise and is not followed, each with the reason.

use std::f64::consts::PI;

use crate::answer::{Answer, Kind, Outcome, Shape, alike};

/// A difference that is meant.
pub struct Exception {
    pub reason: &'static str,
    pub applies: fn(&Difference<'_>) -> bool,
}

/// Warnings, or errors, that only one of the servers gives.
struct Codes {
    reason: &'static str,
    ours: &'static [u16],
    theirs: &'static [u16],
    /// Which statements.
    when: fn(&str) -> bool,
}

/// A difference to judge.
pub struct Difference<'a> {
    pub sql: &'a str,
    pub prepared: bool,
    /// The SQL mode.
    pub mode: &'a str,
    /// Whether there are zero dates in the table.
    pub zero_dates: bool,
    pub kind: Kind,
    pub ours: &'a Answer,
    pub theirs: &'a Answer,
}

const CODES: &[Codes] = &[
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

/// Every other exception.
const EXCEPTIONS: &[Exception] = &[
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
        reason: "whether a strict change evaluates a constant condition that no row asks for is a matter of plans",
        applies: |difference| {
            let none = matches!(difference.ours.outcome, Outcome::Done { affected: 0, .. });
            let warned = matches!(difference.errors().1, 1292 | 1365 | 1441 | 1916);
            none && warned && difference.sql.contains(" WHERE ")
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
        reason: "MariaDB evaluates the select list of rows that the LIMIT of an INSERT ... SELECT leaves out",
        applies: |difference| {
            matches!(difference.errors(), (0, 1264 | 1292 | 1365 | 1411 | 1441))
                && difference.sql.contains(") SELECT ")
                && difference.sql.contains(" LIMIT ")
        },
    },
    Exception {
        reason: "which of two values that a strict change refuses is met first is a matter of plans",
        applies: |difference| {
            let refused = |errno| matches!(errno, 1264 | 1265 | 1292 | 1365 | 1366 | 1406 | 1441 | 1690 | 1916 | 3020);
            let (ours, theirs) = difference.errors();
            refused(ours) && (refused(theirs) || matches!(theirs, 1048 | 1062)) && difference.sql.contains(" WHERE ")
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
        reason: "MariaDB converts a constant of ON DUPLICATE KEY UPDATE when it plans, whether or not a row needs it",
        applies: |difference| {
            let (ours, theirs) = difference.codes();
            let Some((_, updated)) = difference.sql.split_once(" ON DUPLICATE KEY UPDATE ") else { return false };
            let inserts_only = matches!(&difference.ours.outcome, Outcome::Done { affected, .. }
                if *affected == rows_of_values(difference.sql));
            let conditional =
                ["IF(", "CASE ", "COALESCE(", "IFNULL(", "ELT(", "FIELD(", "INTERVAL(", " AND ", " OR ", " IN ("]
                    .iter()
                    .any(|part| updated.contains(part));
            ours.iter().all(|code| *code == 0) && matches!(theirs.as_slice(), [1292]) && (inserts_only || conditional)
        },
    },
    Exception {
        reason: "MariaDB sorts a zero date that IFNULL or COALESCE gives as NULL",
        applies: |difference| {
            let sorted = difference.sql.split_once(" ORDER BY COALESCE(");
            difference.kind == Kind::Rows && difference.zero_dates && sorted.is_some()
        },
    },
    Exception {
        reason: "IFNULL and COALESCE do not pass over a zero date for MariaDB's sums of dates and intervals",
        applies: |difference| {
            let passed = ["COALESCE(", "IFNULL("].iter().any(|name| difference.sql.contains(name));
            let added = ["INTERVAL", "TIMESTAMPADD(", "TIMESTAMP("].iter().any(|name| difference.sql.contains(name));
            difference.zero_dates && passed && added && difference.differs_in_rows(|_, theirs| is_nothing(theirs))
        },
    },
    Exception {
        reason: "IFNULL and COALESCE pass over a zero date that MariaDB would store under NO_ZERO_DATE",
        applies: |difference| {
            let passed = ["COALESCE(", "IFNULL("].iter().any(|name| difference.sql.contains(name));
            difference.kind == Kind::Table
                && passed
                && difference.mode.contains("NO_ZERO_DATE")
                && difference.differs_in_rows(|ours, _| is_nothing(ours))
        },
    },
    Exception {
        reason: "GREATEST and LEAST of TIMESTAMPs give MariaDB's functions a zero date although they want a whole one",
        applies: |difference| {
            let chosen = ["GREATEST(", "LEAST("].iter().any(|name| difference.sql.contains(name));
            chosen
                && difference.zero_dates
                && difference.sql.contains("TIMESTAMPDIFF(")
                && difference.differs_in_rows(|ours, theirs| ours == "NULL" && theirs != "NULL")
        },
    },
    Exception {
        reason: "a change with LIMIT 0 evaluates here the constant that a key is looked up by",
        applies: |difference| {
            difference.errors() == (1292, 0)
                && difference.sql.contains(" WHERE ")
                && difference.sql.ends_with(" LIMIT 0")
                && matches!(difference.theirs.outcome, Outcome::Done { affected: 0, .. })
        },
    },
    Exception {
        reason: "a zero date of a column is none to MariaDB's CAST under NO_ZERO_DATE, also where it is stored",
        applies: |difference| {
            difference.kind == Kind::Table
                && difference.zero_dates
                && difference.mode.contains("NO_ZERO_DATE")
                && difference.sql.contains("CAST(")
                && difference.differs_in_rows(|ours, theirs| is_nothing(ours) && theirs == "NULL")
        },
    },
    Exception {
        reason: "MariaDB warns of a zero date that GREATEST or LEAST gives to a function that wants a complete one",
        applies: |difference| {
            let chosen = ["GREATEST(", "LEAST("].iter().any(|name| difference.sql.contains(name));
            let (ours, theirs) = difference.codes();
            let warns = ours.iter().all(|code| *code == 0) && theirs == [1292];
            chosen && difference.zero_dates && warns && matches!(difference.kind, Kind::Error | Kind::Warnings)
        },
    },
    Exception {
        reason: "a text that is the zero date is none under NO_ZERO_DATE in 8.0, MariaDB's functions take it",
        applies: |difference| {
            let message = difference.ours.to_string();
            let refused = ["Incorrect datetime value: '00:00:00", "Incorrect datetime value: '0000-00-00"];
            let warnings = |answer: &Answer| answer.warnings.iter().filter(|code| **code == 1292).count();
            let warned = warnings(difference.ours) > warnings(difference.theirs);
            difference.mode.contains("NO_ZERO_DATE")
                && ((warned && difference.differs_in_rows(|ours, theirs| ours == "NULL" && theirs != "NULL"))
                    || (difference.errors() == (1292, 0) && refused.iter().any(|text| message.contains(text))))
        },
    },
    Exception {
        reason: "MIN and MAX of an expression of years are integers in MariaDB",
        applies: |difference| {
            difference.kind == Kind::Columns
                && difference.ours.to_string().contains("YEAR(4) unsigned")
                && (difference.sql.contains("MIN(") || difference.sql.contains("MAX("))
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
        reason: "integers of both signs are DECIMAL in MariaDB, BIGINT in 8.0 if all of them fit",
        applies: |difference| {
            let declared = difference.kind == Kind::Columns && difference.ours.to_string().contains("LONGLONG");
            (declared || difference.errors() == (1690, 0))
                && difference.theirs.to_string().contains("NEWDECIMAL .0]")
                && ["IF", "COALESCE", "CASE", "LEAST", "GREATEST", "-"].iter().any(|name| difference.sql.contains(name))
        },
    },
    Exception {
        reason: "integers of both signs are DECIMAL in MariaDB, whose difference may be negative",
        applies: |difference| {
            let message = difference.ours.to_string();
            difference.errors().0 == 1690
                && !difference.sql.starts_with("SELECT")
                && message.contains("BIGINT UNSIGNED value is out of range")
                && ["(case ", "coalesce(", "ifnull(", "least(", "greatest("].iter().any(|name| message.contains(name))
        },
    },
    Exception {
        reason: "integers of both signs are DECIMAL in MariaDB, of fewer digits in a temporary table than some of them have",
        applies: |difference| {
            let temporary = ["DISTINCT ", " GROUP BY "].iter().any(|clause| difference.sql.contains(clause));
            let joined =
                ["IF(", "COALESCE(", "CASE ", "LEAST(", "GREATEST("].iter().any(|name| difference.sql.contains(name));
            let cut = |ours: &str, theirs: &str| theirs.bytes().all(|digit| digit == b'9') && ours.len() > theirs.len();
            temporary && joined && difference.differs_in_rows(cut)
        },
    },
    Exception {
        reason: "MariaDB's temporary table of an INSERT ... SELECT cuts a YEAR that is joined with a smaller integer",
        applies: |difference| {
            let cut = |ours: &str, theirs: &str| {
                ours.len() == 4 && ours.parse::<u16>().is_ok() && matches!(theirs, "127" | "255")
            };
            difference.kind == Kind::Table && difference.sql.contains(") SELECT ") && difference.differs_in_rows(cut)
        },
    },
    Exception {
        reason: "MariaDB writes the zero year of an expression with one digit",
        applies: |difference| difference.differs_in_rows(|ours, theirs| ours.replace("0000", "0") == theirs),
    },
    Exception {
        reason: "a text of twelve characters or more that begins with a number is a date before it is a time in 8.0",
        applies: |difference| {
            difference
                .differs_in_rows(|ours, theirs| is_nothing(ours) && theirs.contains(':') && !theirs[1..].contains('-'))
        },
    },
    Exception {
        reason: "a text that begins with a point is a fraction of a second in 8.0, in MariaDB it is no time",
        applies: |difference| {
            let fraction = |ours: &str, theirs: &str| ours.contains(':') && ours.contains('.') && theirs == "NULL";
            difference.sql.contains("ADDTIME(LEFT(")
                && difference.theirs.warnings.contains(&1292)
                && difference.differs_in_rows(fraction)
        },
    },
    Exception {
        reason: "digits before a point are YYMMDD in 8.0, in MariaDB they are no date",
        applies: |difference| {
            let short = |ours: &str| (ours.starts_with("20") || ours.starts_with("19")) && ours.contains("-00");
            let (ours, theirs) = difference.codes();
            let unknown = ours.is_empty()
                && theirs.iter().all(|code| *code == 1292)
                && difference.theirs.warnings.contains(&1292);
            let of_text = |ours: &str| {
                ["19", "20"].iter().any(|century| ours.starts_with(century))
                    || (ours == "0000-00-00 00:00:00" && difference.sql.contains("DATE_FORMAT("))
            };
            let refused = |ours: &str, theirs: &str| unknown && of_text(ours) && theirs == "NULL";
            difference.differs_in_rows(|ours, theirs| (short(ours) && is_nothing(theirs)) || refused(ours, theirs))
                || (unknown && difference.kind == Kind::Rows && difference.sql.contains("COUNT(DATE_FORMAT("))
                || (difference.errors() == (0, 1292) && names_digits_before_a_point(&difference.theirs.to_string()))
        },
    },
    Exception {
        reason: "the year 0 that STR_TO_DATE gives is no date for what wants a whole one in 8.0, in MariaDB it is",
        applies: |difference| {
            difference.sql.contains("STR_TO_DATE('0000")
                && difference.ours.warnings.contains(&1411)
                && difference.differs_in_rows(|ours, theirs| ours == "NULL" && theirs != "NULL")
        },
    },
    Exception {
        reason: "a year of one digit is one of this century in 8.0, in MariaDB one of the first",
        applies: |difference| {
            difference.differs_in_rows(|ours, theirs| {
                ours.strip_prefix("200").is_some_and(|rest| theirs.strip_prefix("000") == Some(rest))
            })
        },
    },
    Exception {
        reason: "the beginning of an offset after a date and time is an error in 8.0, in MariaDB it is cut",
        applies: |difference| {
            difference.differs_in_rows(|ours, theirs| ours == "NULL" && theirs.contains(':'))
                && difference.ours.warnings.contains(&1292)
                && difference.theirs.warnings == difference.ours.warnings
                && difference.sql.contains("CONCAT(")
                && difference.sql.contains('-')
        },
    },
    Exception {
        reason: "a constant that is no date is NULL where it is compared, in MariaDB it is the zero date or passed over",
        applies: |difference| {
            let chosen = ["GREATEST(", "LEAST("].iter().any(|name| difference.sql.contains(name));
            let compared = ["<", ">", " = ", " BETWEEN ", " IN ("].iter().any(|name| difference.sql.contains(name));
            let refused = compared && difference.mode.contains("NO_ZERO");
            let unknown = difference.ours.warnings.contains(&1292);
            (chosen || refused)
                && unknown
                && difference.differs_in_rows(|ours, theirs| ours == "NULL" && theirs != "NULL")
        },
    },
    Exception {
        reason: "a CAST of a constant that is no date is NULL, which `<=>` finds in 8.0; MariaDB then finds nothing",
        applies: |difference| {
            difference.sql.contains(" <=> ")
                && difference.sql.contains("CAST('0000-02-29'")
                && difference.ours.warnings.contains(&1292)
                && difference.differs_in_rows(|ours, theirs| ours == "1" && theirs == "0")
        },
    },
    Exception {
        reason: "a negative zero has its sign in the text of 8.0, in MariaDB's it has none",
        applies: |difference| {
            difference.differs_in_rows(|ours, theirs| ours.contains("-0") && ours.replace("-0", "0") == theirs)
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
        reason: "a key that a text cannot be is looked up without a warning in MariaDB",
        applies: |difference| {
            difference.errors() == (1292, 0)
                && difference.sql.contains(" WHERE ")
                && difference.ours.to_string().contains("Truncated incorrect DOUBLE value")
                && matches!(difference.theirs.outcome, Outcome::Done { affected: 0, .. })
        },
    },
    Exception {
        reason: "a fraction before the zero date has no seconds in 8.0, in MariaDB it is rounded to one",
        applies: |difference| {
            difference.differs_in_rows(|ours, theirs| is_nothing(ours) && theirs == "0000-00-00 00:00:01")
                || (difference.errors() == (1292, 0) && difference.ours.to_string().contains("value: '0."))
        },
    },
    Exception {
        reason: "a number beyond TIME is the greatest time in 8.0, in MariaDB a date or nothing",
        applies: |difference| {
            let greatest = |ours: &str| ours.trim_start_matches('-').starts_with("838:59:59");
            difference.differs_in_rows(|ours, theirs| greatest(ours) && is_nothing(theirs))
                || (difference.errors() == (1292, 0)
                    && difference.ours.to_string().contains("Incorrect time value: '")
                    && difference.theirs.warnings.contains(&1265))
                || (difference.errors() == (0, 1062)
                    && difference.ours.warnings.contains(&1264)
                    && difference.theirs.to_string().contains("entry '00:00:00"))
        },
    },
    Exception {
        reason: "a fraction of a number that is a date without a time is refused in 8.0, in MariaDB it is left out",
        applies: |difference| {
            let message = difference.ours.to_string();
            let (ours, theirs) = difference.errors();
            let goes_on = theirs != 0 || difference.theirs.warnings.contains(&1265);
            ours == 1292 && goes_on && message.contains("Incorrect date") && message.contains(".5' for column")
        },
    },
    Exception {
        reason: "what TIMESTAMP has no room for is 0 seconds since 1970 in 8.0, NULL in MariaDB",
        applies: |difference| {
            difference.sql.contains("UNIX_TIMESTAMP(")
                && difference.differs_in_rows(|ours, theirs| ours == "0" && theirs == "NULL")
        },
    },
    Exception {
        reason: "a time that is cut to the greatest has a fraction in MariaDB, and none in 8.0",
        applies: |difference| {
            let greatest = |text: &str| text.contains("838:59:59.9");
            let stored = difference.kind == Kind::Table && greatest(&difference.theirs.to_string());
            (stored && difference.differs_in_rows(|ours, theirs| ours.contains("838:59:59") && greatest(theirs)))
                || difference.ours.cut_a_time
                || difference.theirs.cut_a_time
        },
    },
    Exception {
        reason: "a DECIMAL that IF or CASE joins with a DOUBLE is no DOUBLE in 8.0 where it is cast to a DECIMAL",
        applies: |difference| {
            difference.sql.contains(" AS DECIMAL(")
                && (difference.sql.contains("IF(") || difference.sql.contains("CASE "))
                && difference.is_slight(1e-15)
        },
    },
    Exception {
        reason: "a TIMESTAMP before 1970 that has a fraction is one of the second 0 in MariaDB",
        applies: |difference| {
            let before = |ours: &str, theirs: &str| is_nothing(ours) && theirs.starts_with("1970-01-01 00:00:00.");
            difference.differs_in_rows(before)
                || (difference.errors() == (1292, 0)
                    && ["value: '1969-", "value: '1970-01-01 00:00:00."]
                        .iter()
                        .any(|text| difference.ours.to_string().contains(text)))
        },
    },
    Exception {
        reason: "beside a bit operator MariaDB reads a DOUBLE by its shortest digits, and rounds its halves up",
        applies: |difference| {
            matches!(difference.kind, Kind::Rows | Kind::Table)
                && ["|", "&", "^", "~", "<<", ">>", "BIT_COUNT("].iter().any(|name| difference.sql.contains(name))
                && (difference.sql.contains(".5e0") || difference.is_slight(1e-15))
        },
    },
    Exception {
        reason: "MariaDB's temporary table for a GROUP BY cuts a DOUBLE of fixed digits to 17 of them",
        applies: |difference| {
            difference.kind == Kind::Rows
                && difference.sql.contains(" GROUP BY ")
                && difference.theirs.to_string().contains("100000000000000000")
        },
    },
    Exception {
        reason: "which of two errors of an INSERT ... SELECT comes first is a matter of plans",
        applies: |difference| {
            let (ours, theirs) = difference.errors();
            ours != 0 && theirs != 0 && difference.sql.contains(") SELECT ")
        },
    },
    Exception {
        reason: "the negative of a constant with parameters is declared DECIMAL where it may be one, in MariaDB where it is",
        applies: |difference| {
            difference.kind == Kind::Columns
                && difference.prepared
                && negates_an_expression(difference.sql)
                && difference.ours.to_string().contains("NEWDECIMAL .0]")
                && difference.theirs.to_string().contains("LONGLONG .0]")
        },
    },
    Exception {
        reason: "MariaDB evaluates constants that a declared type goes by before there is a row; one may be out of range",
        applies: |difference| {
            let no_row = matches!(&difference.ours.outcome, Outcome::Rows { rows, .. } if rows.is_empty());
            // Those below a minus are evaluated here too, but for the ones with parameters.
            let below_minus = difference.prepared && negates_an_expression(difference.sql);
            let counts = ["INTERVAL(", "REPEAT(", "SPACE(", "LEFT(", "RIGHT(", "PAD(", "ROUND(", "TRUNCATE("];
            difference.errors() == (0, 1690)
                && no_row
                && (below_minus || counts.iter().any(|name| difference.sql.contains(name)))
        },
    },
    Exception {
        reason: "MariaDB finds one row where `<=>` compares a unique column with an expression that is NULL",
        applies: |difference| {
            let (Outcome::Rows { rows: ours, .. }, Outcome::Rows { rows: theirs, .. }) =
                (&difference.ours.outcome, &difference.theirs.outcome)
            else {
                return false;
            };
            let compared = difference.sql.split_once(" WHERE ").is_some_and(|(_, filter)| filter.contains(" <=> "));
            compared && theirs.len() <= 1 && ours.len() > 1 && theirs.iter().all(|row| ours.contains(row))
        },
    },
    Exception {
        reason: "MariaDB's temporary tables lose the sign of a zero, which ATAN2 shows",
        applies: |difference| {
            let turned = |ours: &str, theirs: &str| match (ours.parse::<f64>(), theirs.parse::<f64>()) {
                (Ok(a), Ok(b)) => ((a - b).abs() - PI).abs() < 1e-5,
                _ => false,
            };
            difference.sql.contains("ATAN2(") && difference.differs_in_rows(turned)
        },
    },
    Exception {
        reason: "integers of both signs are DECIMAL in MariaDB, which HEX, BIN and OCT cut",
        applies: |difference| {
            let theirs = difference.theirs.to_string();
            matches!(difference.kind, Kind::Rows | Kind::Table)
                && ["HEX(", "BIN(", "OCT("].iter().any(|name| difference.sql.contains(name))
                && ["FFFFFFFFFFFFFFFF", &"1".repeat(64), "1777777777777777777777"]
                    .iter()
                    .any(|cut| theirs.contains(*cut))
        },
    },
    Exception {
        reason: "a quotient is rounded to the digits it shows where MariaDB's plan has a temporary table",
        applies: |difference| {
            let planned = difference.kind == Kind::Table || difference.sql.contains(" GROUP BY ");
            let quotient = difference.sql.contains(" / ") && difference.is_slight(1e-3);
            let average = difference.sql.contains("AVG(") && difference.is_slight(1e-8);
            planned && difference.sql.contains(" FROM t") && (quotient || average)
        },
    },
    Exception {
        reason: "a quotient is compared by the digits that it shows in MariaDB, by all that it has in 8.0",
        applies: |difference| {
            let truth = |value: &str| value == "0" || value == "1";
            difference.sql.starts_with("SELECT ")
                && difference.sql.contains(" / ")
                && difference.differs_in_rows(|ours, theirs| truth(ours) && truth(theirs))
        },
    },
    Exception {
        reason: "whether CEIL and FLOOR of an unsigned DECIMAL's difference are declared unsigned",
        applies: |difference| {
            difference.kind == Kind::Columns
                && ["CEIL(", "FLOOR("].iter().any(|name| difference.sql.contains(name))
                && difference.ours.to_string().contains("LONGLONG")
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
        reason: "whether what is out of range is evaluated although no row asks for it is a matter of plans",
        applies: |difference| {
            let clauses =
                [" WHERE ", " LIMIT ", "DISTINCT ", "ORDER BY COALESCE", "COUNT(", "SUM(", "AVG(", "MIN(", "MAX("];
            matches!(difference.errors(), (1690, _) | (_, 1690))
                && clauses.iter().any(|clause| difference.sql.contains(clause))
        },
    },
    Exception {
        reason: "MIN and MAX of what is no date give the zero date in MariaDB, NULL in 8.0",
        applies: |difference| {
            difference.kind == Kind::Rows
                && (difference.sql.contains("MIN(") || difference.sql.contains("MAX("))
                && difference.theirs.to_string().contains("0000-00-00")
        },
    },
    Exception {
        reason: "CAST AS CHAR has the connection's collation and contradicts a column's in 8.0, in MariaDB it gives way",
        applies: |difference| {
            matches!(difference.errors().0, 1267 | 1270 | 1271) && difference.sql.contains(" AS CHAR")
        },
    },
];

impl Difference<'_> {
    /// The errors of both; 0 for none.
    fn errors(&self) -> (u16, u16) {
        let errno = |answer: &Answer| match answer.outcome {
            Outcome::Refused { errno, .. } => errno,
            _ => 0,
        };
        (errno(self.ours), errno(self.theirs))
    }

    /// Codes that only one of them gives.
    fn codes(&self) -> (Vec<u16>, Vec<u16>) {
        if self.kind == Kind::Error {
            let (ours, theirs) = self.errors();
            return (vec![ours], vec![theirs]);
        }
        let only =
            |a: &Answer, b: &Answer| a.warnings.iter().copied().filter(|code| !b.warnings.contains(code)).collect();
        (only(self.ours, self.theirs), only(self.theirs, self.ours))
    }
}

impl Difference<'_> {
    /// Whether values differ only as a number does that was rounded.
    fn is_slight(&self, tolerance: f64) -> bool {
        self.differs_in_rows(|ours, theirs| match (ours.parse::<f64>(), theirs.parse::<f64>()) {
            (Ok(a), Ok(b)) if a.is_finite() => (a - b).abs() <= tolerance * a.abs().max(1.0),
            _ => false,
        })
    }

    /// Whether all values that differ do so in this way.
    fn differs_in_rows(&self, so: impl Fn(&str, &str) -> bool) -> bool {
        let (Outcome::Rows { columns, rows: ours }, Outcome::Rows { rows: theirs, .. }) =
            (&self.ours.outcome, &self.theirs.outcome)
        else {
            return false;
        };
        let same =
            |((ours, theirs), column): ((&String, &String), &Shape)| alike(ours, theirs, column) || so(ours, theirs);
        // Groups come in any order; rows that are the same belong together.
        let mut left: Vec<&Vec<String>> = theirs.iter().collect();
        let mut others: Vec<&Vec<String>> = ours.iter().collect();
        others.retain(|row| left.iter().position(|other| other == row).map(|at| left.swap_remove(at)).is_none());
        others.len() == left.len()
            && others.iter().all(|row| {
                let found = left.iter().position(|other| row.iter().zip(*other).zip(columns).all(same));
                found.map(|at| left.swap_remove(at)).is_some()
            })
    }
}

/// Whether a date or time is none.
fn is_nothing(value: &str) -> bool {
    value == "NULL"
        || (value.contains("00:00") || value.contains("0000-00-00"))
            && value.trim_matches(['0', ':', '-', '.', ' ']).is_empty()
}

/// Whether a message names a value that begins with at most six digits and a point.
fn names_digits_before_a_point(message: &str) -> bool {
    let Some((_, value)) = message.split_once("value: '") else { return false };
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    (1..=6).contains(&digits) && value[digits..].starts_with('.')
}

/// Rows that a statement gives one by one.
fn rows_of_values(sql: &str) -> u64 {
    let Some((_, rows)) = sql.split_once(" VALUES (") else { return 0 };
    let rows = rows.split_once(" ON DUPLICATE KEY UPDATE ").map_or(rows, |(rows, _)| rows);
    1 + rows.matches("), (").count() as u64
}

/// Rows that ON DUPLICATE KEY UPDATE may have left as they were, by our count, and how many more MariaDB counts.
fn rows_left_alone(difference: &Difference<'_>) -> Option<(u64, u64)> {
    let (Outcome::Done { affected: ours, .. }, Outcome::Done { affected: theirs, .. }) =
        (&difference.ours.outcome, &difference.theirs.outcome)
    else {
        return None;
    };
    // A row that is inserted counts as one, a row that is changed as two.
    let left = rows_of_values(difference.sql).checked_sub(ours.div_ceil(2))?;
    let updates = difference.sql.contains(" ON DUPLICATE KEY UPDATE ");
    if updates { Some((left, theirs.checked_sub(*ours)?)) } else { None }
}

/// Whether a minus stands before something that is no number.
fn negates_an_expression(sql: &str) -> bool {
    sql.match_indices('-')
        .any(|(at, _)| sql[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || "(~-".contains(next)))
}

/// Whether ON DUPLICATE KEY UPDATE sets a column that the new row is not given.
pub fn updates_what_is_not_inserted(sql: &str) -> bool {
    let Some((inserted, updated)) = sql.split_once(" ON DUPLICATE KEY UPDATE ") else { return false };
    let names: Vec<&str> = inserted.split(['(', ')']).nth(1).unwrap_or_default().split(", ").collect();
    updated.match_indices(" = ").any(|(at, _)| {
        let name = updated[..at].rsplit([' ', '(']).next().unwrap_or_default();
        name.starts_with('c') && !names.contains(&name)
    })
}

/// Why a difference is meant, if it is.
pub fn reason(difference: &Difference<'_>) -> Option<&'static str> {
    if let Some(exception) = EXCEPTIONS.iter().find(|exception| (exception.applies)(difference)) {
        return Some(exception.reason);
    }
    if !matches!(difference.kind, Kind::Error | Kind::Warnings) {
        return None;
    }
    let (ours, theirs) = difference.codes();
    let meant: Vec<&Codes> = CODES
        .iter()
        .filter(|codes| (codes.when)(difference.sql))
        .filter(|codes| {
            codes.ours.iter().any(|code| ours.contains(code)) || codes.theirs.iter().any(|code| theirs.contains(code))
        })
        .collect();
    let covered = ours.iter().all(|code| meant.iter().any(|codes| codes.ours.contains(code)))
        && theirs.iter().all(|code| meant.iter().any(|codes| codes.theirs.contains(code)));
    if covered { meant.first().map(|codes| codes.reason) } else { None }
}
