//! Numbers.

use super::{Exception, negates_an_expression};
use crate::answer::Kind;

/// The digits with base 16 of a text.
fn in_hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02X}")).collect()
}

pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        reason: "what IF and the like choose of a YEAR and a TINYINT is a TINYINT in MariaDB's binary rows",
        applies: |difference| {
            difference.prepared
                && difference.table.contains(" YEAR")
                && difference.differs_in_rows(|ours, theirs| {
                    ours.parse()
                        .is_ok_and(|year: u16| (1901..=2155).contains(&year) && theirs == (year as u8).to_string())
                })
        },
    },
    Exception {
        reason: "a product with what CAST AS CHAR gives has fixed digits in MariaDB",
        applies: |difference| {
            // The same digits, and zeros after the point.
            let filled = |ours: &str, theirs: &str| {
                let more = theirs.strip_prefix(ours).unwrap_or_default();
                let zeros = if ours.contains('.') { Some(more) } else { more.strip_prefix('.') };
                zeros.is_some_and(|zeros| !zeros.is_empty() && zeros.bytes().all(|digit| digit == b'0'))
            };
            difference.sql.contains(" AS CHAR") && difference.sql.contains(" * ") && difference.differs_in_rows(filled)
        },
    },
    Exception {
        reason: "the number of an ENUM or SET is a DOUBLE in sums and averages, in MariaDB an integer or a DECIMAL",
        applies: |difference| {
            let declared = matches!(difference.kind, Kind::Columns | Kind::Rows)
                && difference.ours.to_string().contains("DOUBLE .0]")
                && ["NEWDECIMAL .", "LONGLONG .0]"].iter().any(|kind| difference.theirs.to_string().contains(kind));
            let has_room = difference.errors() == (0, 1690) && difference.ours.to_string().contains("DOUBLE .0]");
            difference.has_members()
                && (has_room || declared && (difference.kind == Kind::Columns || difference.is_slight(1e-4)))
        },
    },
    Exception {
        reason: "MAKE_SET takes the least or greatest of integers of both signs as if all were signed in MariaDB",
        applies: |difference| {
            let chosen = ["MAKE_SET(LEAST(", "MAKE_SET(GREATEST("].iter().any(|call| difference.sql.contains(call));
            chosen && difference.differs_in_rows(|_, _| true)
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
        reason: "integers of both signs are DECIMAL in MariaDB, whose HEX is that of a DOUBLE",
        applies: |difference| {
            difference.sql.contains("HEX(")
                && difference.differs_in_rows(|ours, theirs| {
                    match (u64::from_str_radix(ours, 16), u64::from_str_radix(theirs, 16)) {
                        (Ok(ours), Ok(theirs)) => ours > 1 << 53 && ours as f64 == theirs as f64,
                        _ => false,
                    }
                })
        },
    },
    Exception {
        reason: "whether a quotient that shows as zero is one depends on the comparison in MariaDB",
        applies: |difference| {
            let mut divisors = difference.sql.split(" / ").skip(1).map(|rest| rest.trim_start_matches('-'));
            let by_much = |divisor: &str| divisor.bytes().take_while(u8::is_ascii_digit).count() > 6;
            let compares = [" IN (", " = ", "<", ">", " BETWEEN "].iter().any(|part| difference.sql.contains(part));
            let rows = matches!(difference.kind, Kind::Rows | Kind::Affected | Kind::InsertId | Kind::Table);
            rows && compares && divisors.any(by_much)
        },
    },
    Exception {
        reason: "a negative zero has its sign in the text of 8.0, in MariaDB's it has none",
        applies: |difference| {
            difference.differs_in_rows(|ours, theirs| ours.contains("-0") && ours.replace("-0", "0") == theirs)
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
        reason: "integers of both signs are DECIMAL in MariaDB, which HEX, BIN and OCT cut",
        applies: |difference| {
            let theirs = difference.theirs.to_string();
            matches!(difference.kind, Kind::Rows | Kind::Table)
                && ["HEX(", "BIN(", "OCT("].iter().any(|name| difference.sql.contains(name))
                && (["FFFFFFFFFFFFFFFF", &"1".repeat(64), "1777777777777777777777"]
                    .iter()
                    .any(|cut| theirs.contains(*cut) || theirs.contains(&in_hex(cut)))
                    || ["HEX(-(", "BIN(-(", "OCT(-("].iter().any(|call| difference.sql.contains(call)))
        },
    },
    Exception {
        reason: "a quotient is compared by the digits that it shows in MariaDB, by all that it has in 8.0",
        applies: |difference| {
            let truth = |value: &str| value == "0" || value == "1";
            // Rows that a condition lets through are more or fewer.
            let of_condition = difference.sql.rsplit_once(" WHERE ").is_some_and(|(_, rest)| rest.contains(" / "));
            let filtered = difference.rows().is_some_and(|(ours, theirs)| {
                let (fewer, more) = if ours.len() < theirs.len() { (ours, theirs) } else { (theirs, ours) };
                fewer.len() < more.len() && fewer.iter().all(|row| more.contains(row))
            });
            difference.sql.starts_with("SELECT ")
                && difference.sql.contains(" / ")
                && (difference.differs_in_rows(|ours, theirs| truth(ours) && truth(theirs))
                    || (of_condition && filtered))
        },
    },
    Exception {
        reason: "MAKE_SET of a BIT gives 0 in the place of what CONV makes of the same BIT in both servers, and the digits of CONV alone",
        applies: |difference| {
            let set = difference.sql.split_once("MAKE_SET(c").map(|(_, rest)| rest);
            set.is_some_and(|rest| rest.contains("CONV(c"))
                && difference.differs_in_rows(|ours, theirs| ours.contains(',') && theirs.starts_with("0"))
        },
    },
    Exception {
        reason: "a difference of unsigned DECIMALs that is negative is 0 in MariaDB's temporary tables",
        applies: |difference| difference.sql.contains("COUNT(DISTINCT ") && difference.sql.contains(" - "),
    },
    Exception {
        reason: "CEIL and FLOOR of a difference of unsigned DECIMALs are unsigned in MariaDB, and 0 where it is negative",
        applies: |difference| {
            let declared = difference.kind == Kind::Columns && difference.ours.to_string().contains("LONGLONG");
            ["CEIL(", "FLOOR("].iter().any(|name| difference.sql.contains(name))
                && (declared || difference.differs_in_rows(|ours, theirs| ours.starts_with('-') && theirs == "0"))
        },
    },
    Exception {
        reason: "a DECIMAL has at most 65 digits here, and up to nine more in MariaDB while it is computed",
        applies: |difference| difference.differs_in_rows(|ours, theirs| ours.len() > 65 && theirs.starts_with(ours)),
    },
    Exception {
        reason: "the least or greatest of integers of both signs, of which one is beyond BIGINT, is negative to MariaDB's MAKETIME and MAKEDATE",
        applies: |difference| {
            let negative = |ours: &str, theirs: &str| theirs.starts_with('-') && !ours.starts_with('-');
            let none = |ours: &str, theirs: &str| {
                (theirs == "NULL" && ours.contains("-01-")) || (ours == "NULL" && theirs.contains("-01-"))
            };
            (difference.sql.contains("MAKETIME(LEAST(") && difference.differs_in_rows(negative))
                || (difference.sql.contains("MAKEDATE(")
                    && [", LEAST(", ", GREATEST("].iter().any(|day| difference.sql.contains(day))
                    && difference.differs_in_rows(none))
        },
    },
    Exception {
        reason: "a product or quotient has 30 digits after the point in 8.0, and up to 38 in MariaDB",
        applies: |difference| {
            let declared = difference.theirs.to_string();
            (31..=38).any(|digits| declared.contains(&format!("NEWDECIMAL .{digits}]")))
                && difference.differs_in_rows(|ours, theirs| ours.parse::<f64>() == theirs.parse::<f64>())
        },
    },
    Exception {
        reason: "a number made of what HEX gives is shown without an exponent in MariaDB",
        applies: |difference| {
            difference.sql.contains("HEX(")
                && difference.differs_in_rows(|ours, theirs| {
                    ours.contains('e') && ours.parse::<f64>().ok() == theirs.parse::<f64>().ok()
                })
        },
    },
];
