//! Dates and times.

use super::{Exception, is_nothing, names_digits_before_a_point};
use crate::answer::{Answer, Kind};

pub const EXCEPTIONS: &[Exception] = &[
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
            let lacks_a_part = difference.zero_dates || difference.sql.contains("STR_TO_DATE('2024-0");
            lacks_a_part && passed && added && difference.differs_in_rows(|_, theirs| is_nothing(theirs))
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
            let unknown = difference.differs_in_rows(|ours, theirs| ours == "NULL" && theirs != "NULL");
            chosen && difference.zero_dates && (unknown || difference.refuses_a_zero_date())
        },
    },
    Exception {
        reason: "a zero date of a column is none to MariaDB's CAST, IF, CASE and TIMESTAMP under NO_ZERO_DATE, also where it is stored",
        applies: |difference| {
            let none = |ours: &str, theirs: &str| (is_nothing(ours) || ours == "0") && theirs == "NULL";
            let stored = difference.kind == Kind::Table && difference.differs_in_rows(none);
            // A column that is NOT NULL is given one; the row may be of the same statement.
            let not_null =
                difference.codes() == (vec![1264], vec![1048]) || difference.codes() == (vec![1292], vec![1048]);
            difference.mode.contains("NO_ZERO_DATE")
                && ["CAST(", "TIMESTAMP(", "IF(", "CASE "].iter().any(|name| difference.sql.contains(name))
                && (not_null || difference.zero_dates && (stored || difference.refuses_a_zero_date()))
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
        reason: "MariaDB writes the zero year of an expression with one digit",
        applies: |difference| difference.differs_in_rows(|ours, theirs| ours.replace("0000", "0") == theirs),
    },
    Exception {
        reason: "a text of twelve characters or more that begins with a number is a date before it is a time in 8.0",
        applies: |difference| {
            difference.differs_in_rows(|ours, theirs| {
                is_nothing(ours) && theirs.contains(':') && !theirs.chars().skip(1).any(|c| c == '-')
            })
        },
    },
    Exception {
        reason: "a text that begins with a point or colon is a fraction of a second or minutes in 8.0, in MariaDB it is no time",
        applies: |difference| {
            let fraction = |ours: &str, theirs: &str| ours.contains(':') && theirs == "NULL";
            ["ADDTIME(LEFT(", "SUBTIME(LEFT("].iter().any(|name| difference.sql.contains(name))
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
            let early = |theirs: &str| theirs.starts_with("000") && theirs.contains("-00");
            difference.differs_in_rows(|ours, theirs| {
                (short(ours) && (is_nothing(theirs) || early(theirs))) || refused(ours, theirs)
            }) || (unknown && difference.kind == Kind::Rows && difference.sql.contains("COUNT(DATE_FORMAT("))
                || (difference.errors() == (0, 1292) && names_digits_before_a_point(&difference.theirs.to_string()))
        },
    },
    Exception {
        reason: "the year 0 that STR_TO_DATE gives is no date for what wants a whole one in 8.0, in MariaDB it is",
        applies: |difference| {
            let passed_over = ["COALESCE(", "IFNULL("].iter().any(|name| difference.sql.contains(name));
            difference.sql.contains("STR_TO_DATE('0000")
                && difference.ours.warnings.contains(&1411)
                && difference.differs_in_rows(|ours, theirs| (ours == "NULL" || passed_over) && theirs != "NULL")
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
            let no_date = difference.mode.contains("NO_ZERO") || difference.sql.contains("CAST('0000-02-29' AS DATE");
            let cast = ["DATE", "DATETIME"].map(|kind| format!("CAST('0000-02-29' AS {kind}"));
            let refused = compared && no_date || cast.iter().any(|call| difference.sql.contains(call));
            let unknown = difference.ours.warnings.contains(&1292);
            let passed_over = ["COALESCE(", "IFNULL("].iter().any(|name| difference.sql.contains(name));
            let of_year_0 = |theirs: &str| passed_over && theirs.starts_with("0000-02-29");
            ((chosen || refused)
                && unknown
                && difference.differs_in_rows(|ours, theirs| ours == "NULL" && theirs != "NULL"))
                || (unknown && difference.differs_in_rows(|_, theirs| of_year_0(theirs)))
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
        reason: "a TIMESTAMP before 1970 that has a fraction is one of the second 0 in MariaDB",
        applies: |difference| {
            const SECOND_0: &str = "1970-01-01 00:00:00.";
            // Another column may have its time, which is rounded.
            let before = |ours: &str, theirs: &str| {
                is_nothing(ours) && (theirs.starts_with(SECOND_0) || theirs.starts_with("00:00:0"))
            };
            let met = |answer: &Answer| answer.to_string().contains(SECOND_0);
            (met(difference.theirs) && difference.differs_in_rows(before))
                // One that is a key keeps other rows away.
                || (difference.kind == Kind::Table
                    && difference.table.contains("UNIQUE KEY")
                    && met(difference.theirs)
                    && !met(difference.ours))
                || (difference.errors() == (1292, 0)
                    && ["value: '1969-", "value: '1970-01-01 00:00:00."]
                        .iter()
                        .any(|text| difference.ours.to_string().contains(text)))
        },
    },
    Exception {
        reason: "MariaDB finds rows for which a BETWEEN is unknown that has a TIMESTAMPDIFF of the zero date",
        applies: |difference| {
            let parts = ["BETWEEN ", "TIMESTAMPDIFF(", "0000-00-00"];
            difference.kind == Kind::Rows && parts.iter().all(|part| difference.sql.contains(part))
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
        reason: "a date without a month is none for weeks and sums in 8.0, in MariaDB it is one as a TIMESTAMP",
        applies: |difference| {
            let timestamp = difference.zero_dates && difference.sql.contains("TIMESTAMP(");
            let week = ["WEEK(", "WEEKOFYEAR("].iter().any(|name| difference.sql.contains(name));
            let passed_over = ["COALESCE(", "IFNULL("].iter().any(|name| difference.sql.contains(name));
            (timestamp || week)
                && difference.differs_in_rows(|ours, theirs| {
                    let other = timestamp && (week || passed_over) && ours.parse::<u64>().is_ok();
                    theirs != "NULL" && (ours == "NULL" || other)
                })
        },
    },
    Exception {
        reason: "the 29th of February of the year 0, which STR_TO_DATE gives, has no day of the year in MariaDB",
        applies: |difference| {
            difference.kind == Kind::Rows
                && difference.sql.contains("STR_TO_DATE('0000-02-29'")
                && (difference.sql.contains("%j") || difference.sql.contains("DAYOFYEAR("))
        },
    },
];
