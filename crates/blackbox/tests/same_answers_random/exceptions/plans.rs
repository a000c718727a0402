//! What depends on how a statement is carried out: on temporary tables, and on when an expression is evaluated.

use std::f64::consts::PI;

use super::{Exception, is_illegal_mix, negates_an_expression, rows_of_values};
use crate::answer::{Kind, Outcome};

pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        reason: "a text beside bytes in a CASE whose condition is constant is a text for MariaDB's answer",
        applies: |difference| {
            difference.sql.contains("CASE ")
                && difference.sql.contains(" binary)")
                && difference.differs_in_rows(|ours, theirs| ours.starts_with('[') && !theirs.starts_with('['))
        },
    },
    Exception {
        reason: "ORD of a character of four bytes is an INT in MariaDB's temporary tables and binary rows",
        applies: |difference| {
            difference.sql.contains("ORD(")
                && difference.differs_in_rows(|ours, theirs| {
                    let own: Option<u32> = ours.parse().ok();
                    own.is_some_and(|own| own > 1 << 31)
                        && theirs.parse().is_ok_and(|theirs: i32| theirs == i32::MAX || Some(theirs as u32) == own)
                })
        },
    },
    Exception {
        reason: "MariaDB's temporary table has room for the characters of a text that was made bytes, not for its bytes",
        applies: |difference| {
            let made_bytes = difference.sql.contains(" USING binary)") && difference.sql.contains(" GROUP BY ");
            made_bytes && difference.differs_in_rows(|ours, theirs| ours.starts_with(theirs))
        },
    },
    Exception {
        reason: "MariaDB's temporary table has the zero date for one of the year 0, which STR_TO_DATE gives",
        applies: |difference| {
            let zero = |ours: &str, theirs: &str| ours.starts_with("0000-") && theirs.starts_with("0000-00-00");
            difference.sql.contains("STR_TO_DATE('0000-") && difference.differs_in_rows(zero)
        },
    },
    Exception {
        reason: "which of a name that is not there and collations that do not fit is met first",
        applies: |difference| {
            let names_or_collations = |errno| matches!(errno, 1054 | 1253) || is_illegal_mix(errno);
            names_or_collations(difference.errors().0) && names_or_collations(difference.errors().1)
        },
    },
    Exception {
        reason: "MariaDB's temporary table of a GROUP BY meets a SET twice that was given bits beyond its list",
        applies: |difference| {
            difference.errors() == (0, 1062)
                && difference.theirs.to_string().contains("for key 'group_key'")
                && difference.table.contains(" SET(")
        },
    },
    Exception {
        reason: "MariaDB's GROUP BY takes neighbours of an ENUM for one group if a character set made their texts the same",
        applies: |difference| {
            let Some((ours, theirs)) = difference.rows() else { return false };
            let same_texts = difference.table.contains("ENUM('é','a','ß','0')") && difference.table.contains("ascii");
            same_texts && difference.sql.contains(" GROUP BY ") && theirs.len() < ours.len()
        },
    },
    Exception {
        reason: "`ß` and `ss` are two in MariaDB's temporary tables and keys where a CHAR has a collation that does not pad",
        applies: |difference| {
            let has = |letter: &&str| difference.table.contains(*letter) || difference.sql.contains(*letter);
            if !["ß", "Æ"].iter().any(has) || !difference.table.contains(" CHAR(") {
                return false;
            }
            let keyed = difference.table.contains("UNIQUE KEY");
            // What MariaDB does not find twice may fail later, or becomes a row, whose id is another one.
            let found_once = difference.errors().0 == 1062
                || difference.kind == Kind::InsertId
                || difference.kind == Kind::Table && difference.codes() == (vec![1062], vec![]);
            if keyed && found_once {
                return true;
            }
            let Some((ours, theirs)) = difference.rows() else { return false };
            let grouped = ["DISTINCT ", " GROUP BY "].iter().any(|clause| difference.sql.contains(clause));
            let judged_so = ["COUNT(DISTINCT ", " HAVING "].iter().any(|part| difference.sql.contains(part));
            (grouped || keyed && difference.kind == Kind::Table) && (theirs.len() > ours.len() || judged_so)
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
        reason: "a key that a text cannot be is looked up without a warning in MariaDB, or not at all",
        applies: |difference| {
            difference.errors() == (1292, 0)
                && difference.sql.contains(" WHERE ")
                && ["DOUBLE", "DECIMAL", "INTEGER", "date"]
                    .iter()
                    .any(|kind| difference.ours.to_string().contains(&format!("Truncated incorrect {kind} value")))
                && matches!(difference.theirs.outcome, Outcome::Done { affected: 0, .. })
        },
    },
    Exception {
        reason: "MariaDB's temporary tables cut a DOUBLE of fixed digits to those, or to 17",
        applies: |difference| {
            let inserted = difference.kind == Kind::Table && difference.sql.contains(") SELECT ");
            let rounded = ["ROUND(", "TRUNCATE("].iter().any(|name| difference.sql.contains(name));
            (inserted && difference.theirs.to_string().contains("1e17"))
                || difference.kind == Kind::Rows
                    && difference.sql.contains(" GROUP BY ")
                    && (difference.theirs.to_string().contains("100000000000000000")
                        || rounded && difference.is_slight(1e-3))
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
        reason: "MariaDB evaluates constants that a declared type goes by before there is a row; one may be out of range",
        applies: |difference| {
            let no_row = matches!(&difference.ours.outcome, Outcome::Rows { rows, .. } if rows.is_empty());
            // Those below a minus are evaluated here too, but for the ones with parameters.
            let below_minus = difference.prepared && negates_an_expression(difference.sql);
            let counts = ["INTERVAL(", "REPEAT(", "SPACE(", "LEFT(", "RIGHT(", "PAD(", "ROUND(", "TRUNCATE("];
            let nothing_changed = matches!(&difference.ours.outcome, Outcome::Done { affected: 0, .. });
            // One that meets a text of another character set is converted then.
            let recoded = ["CHARACTER SET", "COLLATE"].iter().any(|part| difference.table.contains(part));
            let warned = difference.codes() == (vec![], vec![1292])
                && (negates_an_expression(difference.sql) || difference.sql.starts_with("UPDATE") && recoded);
            (nothing_changed && warned)
                || difference.errors() == (0, 1690)
                    && no_row
                    && (below_minus || counts.iter().any(|name| difference.sql.contains(name)))
        },
    },
    Exception {
        reason: "MariaDB finds one row where `<=>` compares a unique column with an expression that is NULL",
        applies: |difference| {
            let Some((ours, theirs)) = difference.rows() else { return false };
            let compared = difference.sql.split_once(" WHERE ").is_some_and(|(_, filter)| filter.contains(" <=> "));
            compared && theirs.len() <= 1 && ours.len() > 1 && theirs.iter().all(|row| ours.contains(row))
        },
    },
    Exception {
        reason: "MariaDB's tables, temporary ones too, lose the sign of a zero, which ATAN2 shows",
        applies: |difference| {
            // By half of a turn, or by a whole one beside a negative number.
            let turned = |ours: &str, theirs: &str| match (ours.parse::<f64>(), theirs.parse::<f64>()) {
                (Ok(a), Ok(b)) => [PI, 2.0 * PI].iter().any(|turn| ((a - b).abs() - turn).abs() < 1e-5),
                _ => false,
            };
            difference.sql.contains("ATAN2(") && difference.differs_in_rows(turned)
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
        reason: "MariaDB reads a constant XPath expression although no row asks for it",
        applies: |difference| {
            let (ours, theirs) = difference.errors();
            let empty = difference.ours.to_string().trim_end().ends_with(']');
            theirs == 1105
                && (ours != 0 || empty)
                && ["EXTRACTVALUE(", "UPDATEXML("].iter().any(|name| difference.sql.contains(name))
        },
    },
    Exception {
        reason: "a parameter is no constant XPath expression in MariaDB",
        applies: |difference| {
            let message = difference.theirs.to_string();
            difference.prepared && difference.errors() == (0, 1105) && message.contains("Only constant XPATH")
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
        reason: "MariaDB's temporary table of an INSERT ... SELECT cuts a text to the digits that a number in it is declared with",
        applies: |difference| {
            let cut = |ours: &str, theirs: &str| theirs.len() < ours.len() && ours.starts_with(theirs);
            difference.kind == Kind::Table
                && difference.sql.contains(") SELECT ")
                && difference.sql.contains("CONCAT(")
                && difference.differs_in_rows(cut)
        },
    },
];
