//! What statements do, and errors that have nothing to do with dates or numbers.

use super::{
    Exception, compares_a_text_with_a_column, is_illegal_mix, names_a_number, rows_left_alone,
    updates_what_is_not_inserted,
};
use crate::answer::{Answer, Kind};

pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        reason: "MariaDB keeps a document's keys in the order in which they came, 8.0 sorts them",
        applies: |difference| {
            difference.sql.contains("JSON_")
                && difference.differs_in_rows(|ours, theirs| {
                    let document = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
                    document(ours).is_some_and(|ours| Some(ours) == document(theirs))
                })
        },
    },
    Exception {
        reason: "a text that is no document is refused by a CHECK in MariaDB, when the row has all its values, and IGNORE passes over it",
        applies: |difference| {
            let (ours, theirs) = difference.errors();
            let ignored = difference.sql.contains("IGNORE") && difference.theirs.warnings.contains(&4025);
            (ours == 3140 && (theirs != 0 || ignored)) || (ours != 0 && theirs == 4025)
        },
    },
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
        reason: "a text beside a column of integers is converted when a statement is planned in MariaDB, before the change is strict",
        applies: |difference| {
            difference.errors() == (1292, 0)
                && difference.theirs.warnings.contains(&1292)
                && difference.ours.to_string().contains("Truncated incorrect DOUBLE value")
                && compares_a_text_with_a_column(difference.sql)
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
        reason: "bytes beside a text that are none of its characters are converted with a warning in MariaDB, in MySQL they compare as they are",
        applies: |difference| {
            let of_bytes =
                ["x'", "UNHEX(", " AS BINARY", " USING binary)"].iter().any(|part| difference.sql.contains(part))
                    || ["BINARY(", " BLOB"].iter().any(|kind| difference.table.contains(kind));
            let warned = !difference.ours.warnings.contains(&1300) && difference.theirs.warnings.contains(&1300);
            let (ours, theirs) = difference.codes();
            let only_so = match difference.kind {
                Kind::Error | Kind::Warnings => ours.iter().all(|code| *code == 0) && theirs == [1300],
                _ => warned,
            };
            of_bytes && only_so
        },
    },
    Exception {
        reason: "a text that may have characters which another character set lacks is refused beside it in MariaDB, here a literal that has them",
        applies: |difference| {
            let message = difference.theirs.to_string();
            let sets = ["(latin1_", "(ascii_", "(utf8mb3_", "(utf8mb4_"];
            let met = sets.iter().filter(|set| message.contains(**set)).count();
            let others = ["latin1", "ascii", "utf8mb3", " CHARACTER SET utf8"];
            let chosen = others.iter().any(|name| difference.table.contains(name) || difference.sql.contains(name));
            match difference.errors().1 {
                // What is made of a column and a parameter may have any.
                1267 | 1270 => {
                    let constant = [",COERCIBLE", ",IGNORABLE"].iter().any(|level| message.contains(level));
                    met > 1 && (constant || difference.prepared)
                }
                1271 => chosen,
                _ => false,
            }
        },
    },
    Exception {
        reason: "within a document all texts are of one character set in 8.0, in MariaDB their collations meet",
        applies: |difference| {
            let (ours, theirs) = difference.errors();
            ours == 0 && is_illegal_mix(theirs) && difference.theirs.to_string().contains("for operation 'json_")
        },
    },
    Exception {
        reason: "MariaDB refuses a strict change that converts what a character set lacks, MySQL makes a question mark of it",
        applies: |difference| difference.errors().1 == 1977 && difference.sql.contains(" USING "),
    },
    Exception {
        reason: "MariaDB finds no empty text at the end of another",
        applies: |difference| {
            difference.sql.contains("LOCATE(")
                && difference
                    .differs_in_rows(|ours, theirs| ours.parse::<u64>().is_ok_and(|at| at > 0) && theirs == "0")
        },
    },
    Exception {
        reason: "a text that is a number beyond a SET's list is none of it, in MariaDB its bits are taken",
        applies: |difference| {
            let warned = |answer: &Answer| answer.warnings.contains(&1265);
            let none = |ours: &str, theirs: &str| ours.is_empty() && !theirs.is_empty();
            let stored = warned(difference.ours) && warned(difference.theirs) && difference.differs_in_rows(none);
            // A key may hold the empty text once.
            let of_a_key = difference.has_unique_set()
                && warned(difference.theirs)
                && (names_a_number(difference.sql) || names_a_number(difference.table));
            difference.table.contains(" SET(")
                && match difference.kind {
                    Kind::Table => stored || of_a_key,
                    _ => difference.errors() == (1062, 0) && of_a_key,
                }
        },
    },
    Exception {
        reason: "where FIND_IN_SET converts a SET to another character set, MariaDB and MySQL look for its place in the number that its text is",
        applies: |difference| {
            difference.sql.contains("FIND_IN_SET(")
                && difference.table.contains(" SET(")
                && !difference.ours.warnings.contains(&1292)
                && difference.theirs.warnings.contains(&1292)
                && difference.differs_in_rows(|ours, theirs| ours.parse::<u8>().is_ok_and(|at| at > 0) && theirs == "0")
        },
    },
    Exception {
        reason: "a number of a column keeps its type within a document in 8.0, in MariaDB it is an INTEGER or a DOUBLE",
        applies: |difference| {
            difference.is_of_one_expression()
                && difference.sql.contains("JSON_TYPE(")
                && difference.differs_in_rows(|ours, theirs| {
                    matches!((ours, theirs), ("DECIMAL", "DOUBLE") | ("UNSIGNED INTEGER", "INTEGER"))
                })
        },
    },
    Exception {
        reason: "JSON_VALUE of a truth is true or false in 8.0, 1 or 0 in MariaDB",
        applies: |difference| {
            difference.sql.contains("JSON_VALUE(")
                && difference.differs_in_rows(|ours, theirs| matches!((ours, theirs), ("true", "1") | ("false", "0")))
        },
    },
    Exception {
        reason: "MariaDB's MAKE_SET takes what a CONCAT had made before it met a NULL",
        applies: |difference| {
            let cut = |ours: &str, theirs: &str| ours.is_empty() && !theirs.is_empty();
            difference.is_of_one_expression()
                && difference.sql.contains("MAKE_SET(")
                && difference.sql.contains("CONCAT(")
                && difference.differs_in_rows(cut)
        },
    },
    Exception {
        reason: "ELT gives arithmetic the number of an ENUM or SET in MariaDB and MySQL, here its text",
        applies: |difference| {
            let numbers = |ours: &str, theirs: &str| ours.parse::<f64>().is_ok() && theirs.parse::<f64>().is_ok();
            difference.is_of_one_expression()
                && difference.has_members()
                && difference.sql.contains("ELT(")
                && difference.differs_in_rows(numbers)
        },
    },
    Exception {
        reason: "bytes beyond 127 are no text of ascii in 8.0, MySQL 5.6 and MariaDB take them",
        applies: |difference| {
            let refused = |ours: &str, theirs: &str| ours == "NULL" && theirs != "NULL";
            difference.is_of_one_expression()
                && difference.sql.contains(" USING ascii)")
                && difference.ours.warnings.contains(&1300)
                && !difference.theirs.warnings.contains(&1300)
                && difference.differs_in_rows(refused)
        },
    },
    Exception {
        reason: "MariaDB evaluates a constant of an INSERT ... SELECT before the change is strict",
        applies: |difference| {
            difference.errors() == (1292, 0)
                && difference.sql.contains(") SELECT ")
                && difference.ours.to_string().contains("Truncated incorrect INTEGER value")
        },
    },
    Exception {
        reason: "GREATEST and LEAST compare, so that collations which contradict each other are refused in MySQL, not in MariaDB",
        applies: |difference| {
            let compared = ["GREATEST(", "LEAST("].iter().any(|name| difference.sql.contains(name));
            is_illegal_mix(difference.errors().0) && difference.errors().1 == 0 && compared
        },
    },
    Exception {
        reason: "CAST AS CHAR has the connection's collation and contradicts a column's in 8.0, in MariaDB it gives way",
        applies: |difference| is_illegal_mix(difference.errors().0) && difference.sql.contains(" AS CHAR"),
    },
];
