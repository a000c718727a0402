//! Where MariaDB 10.11 answers otherwise and is not followed, each with the reason.

mod codes;
mod dates;
mod numbers;
mod plans;
mod statements;

use cohort_blackbox::Shape;

use crate::answer::{Answer, Kind, Outcome};

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

/// Rows of texts.
type Rows = [Vec<String>];

/// A difference to judge.
pub struct Difference<'a> {
    /// The table's definition and what was done to it.
    pub table: &'a str,
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

    /// The rows of both, if both have rows.
    fn rows(&self) -> Option<(&Rows, &Rows)> {
        match (&self.ours.outcome, &self.theirs.outcome) {
            (Outcome::Rows { rows: ours, .. }, Outcome::Rows { rows: theirs, .. }) => Some((ours, theirs)),
            _ => None,
        }
    }

    /// Whether all values that differ do so in this way.
    fn differs_in_rows(&self, so: impl Fn(&str, &str) -> bool) -> bool {
        let (Outcome::Rows { columns, .. }, Some((ours, theirs))) = (&self.ours.outcome, self.rows()) else {
            return false;
        };
        let same =
            |((ours, theirs), column): ((&String, &String), &Shape)| column.alike(ours, theirs) || so(ours, theirs);
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

impl Difference<'_> {
    /// Whether one expression is read alone, as the smallest part of a statement that differs is.
    fn is_of_one_expression(&self) -> bool {
        self.kind == Kind::Rows && self.sql.matches(" AS e").count() == 1 && self.sql.ends_with(" AS e0 FROM t")
    }

    /// Whether only this server refuses a change, for a date that is all zeros.
    fn refuses_a_zero_date(&self) -> bool {
        self.errors() == (1292, 0) && self.ours.to_string().contains("value: '0000-00-00")
    }

    /// Whether the table has a column of ENUM or SET.
    fn has_members(&self) -> bool {
        self.table.contains(" ENUM(") || self.table.contains(" SET(")
    }

    /// Whether a column of SET has a unique key.
    fn has_unique_set(&self) -> bool {
        self.table.match_indices(" SET(").any(|(at, _)| {
            let column = self.table[..at].rsplit([' ', '(']).next().unwrap_or_default();
            self.table.contains(&format!("UNIQUE KEY k{} ({column})", column.trim_start_matches('c')))
        })
    }
}

/// Whether an error says that collations contradict each other.
fn is_illegal_mix(errno: u16) -> bool {
    matches!(errno, 1267 | 1270 | 1271)
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

/// Whether a text constant is compared with a column.
fn compares_a_text_with_a_column(sql: &str) -> bool {
    const COMPARISONS: [&str; 7] = [" = ", " < ", " > ", " <= ", " >= ", " <> ", " <=> "];
    let is_text = |word: &str| word.starts_with('\'') || word.ends_with('\'');
    let is_column = |word: &str| {
        let name = word.trim_matches(['(', ')', ',']).strip_prefix('c');
        name.is_some_and(|digit| digit.len() == 1 && digit.bytes().all(|byte| byte.is_ascii_digit()))
    };
    COMPARISONS.iter().flat_map(|operator| sql.match_indices(operator).map(|(at, _)| (at, operator.len()))).any(
        |(at, len)| {
            let before = sql[..at].rsplit([' ', '(']).next().unwrap_or_default();
            let after = sql[at + len..].split([' ', ')', ',']).next().unwrap_or_default();
            (is_text(before) && is_column(after)) || (is_column(before) && is_text(after))
        },
    )
}

/// Whether a text of digits is among the constants.
fn names_a_number(sql: &str) -> bool {
    let mut texts = sql.split('\'').skip(1).step_by(2);
    texts.any(|text| !text.is_empty() && text.trim_end().bytes().all(|byte| byte.is_ascii_digit()))
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
    let mut exceptions =
        [dates::EXCEPTIONS, numbers::EXCEPTIONS, plans::EXCEPTIONS, statements::EXCEPTIONS].into_iter().flatten();
    if let Some(exception) = exceptions.find(|exception| (exception.applies)(difference)) {
        return Some(exception.reason);
    }
    if !matches!(difference.kind, Kind::Error | Kind::Warnings) {
        return None;
    }
    let (ours, theirs) = difference.codes();
    let meant: Vec<&Codes> = codes::CODES
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
