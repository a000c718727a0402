//! What a server answers, and how two answers differ.

use std::fmt;

use anyhow::{Context, Result};
use cohort_blackbox::Shape;
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

use crate::differences::{self, Columns};

/// Rows of an answer that are compared: of a cross join there may be more than fit into memory.
const ROWS_MOST: usize = 200_000;

/// What a statement gave.
#[derive(Clone, Debug)]
pub enum Answer {
    Rows(Vec<Shape>, Vec<Vec<String>>),
    Done(u64),
    Refused(u16),
    /// More rows than are compared.
    TooMany,
}

/// In what two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One succeeds and the other does not, or with another error.
    Error,
    /// Names and types.
    Columns,
    /// Rows as a set.
    Rows,
    /// What they are sorted by.
    Order,
    Affected,
}

/// A value to be compared.
fn text(value: Value, column: &Shape) -> String {
    let text = column.text(value);
    match text.parse::<f64>() {
        // PERCENT_RANK and CUME_DIST have ten digits in MariaDB.
        Ok(number) if column.is_approximate() => format!("{number:.10}"),
        // Which of equal texts a group or a set has is left open.
        _ => text.to_uppercase(),
    }
}

pub fn ask(conn: &mut Conn, sql: &str) -> Result<Answer> {
    let mut result = match conn.query_iter(sql) {
        Ok(result) => result,
        Err(mysql::Error::MySqlError(error)) => return Ok(Answer::Refused(error.code)),
        Err(error) => return Err(error).with_context(|| sql.to_owned()),
    };
    let columns: Vec<Shape> = result.columns().as_ref().iter().map(Shape::of).collect();
    if columns.is_empty() {
        return Ok(Answer::Done(result.affected_rows()));
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        match row {
            Ok(_) if rows.len() == ROWS_MOST => return Ok(Answer::TooMany),
            Ok(row) => {
                let values = row.unwrap().into_iter().zip(&columns);
                rows.push(values.map(|(value, column)| text(value, column)).collect());
            }
            Err(mysql::Error::MySqlError(error)) => return Ok(Answer::Refused(error.code)),
            Err(error) => return Err(error).with_context(|| sql.to_owned()),
        }
    }
    Ok(Answer::Rows(columns, rows))
}

fn sorted(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut rows = rows.to_vec();
    rows.sort();
    rows
}

/// The columns that the rows of a statement are sorted by, if it says so at its end.
fn sort_keys(sql: &str, columns: &[Shape]) -> Vec<usize> {
    let Some((_, tail)) = sql.rsplit_once(" ORDER BY ") else { return Vec::new() };
    if tail.contains(')') {
        return Vec::new();
    }
    let keys = tail.split(" LIMIT ").next().unwrap_or_default().split(", ");
    let key = |key: &str| {
        let key = key.split(' ').next().unwrap_or_default();
        let position = key.parse().ok().and_then(|at: usize| at.checked_sub(1));
        position.or_else(|| columns.iter().position(|column| column.name == key))
    };
    keys.map_while(key).collect()
}

/// How the answers to a statement differ, if they do.
pub fn difference(sql: &str, ours: &Answer, theirs: &Answer) -> Option<Kind> {
    match (ours, theirs) {
        (Answer::Done(ours), Answer::Done(theirs)) => (ours != theirs).then_some(Kind::Affected),
        (Answer::Refused(ours), Answer::Refused(theirs)) => (ours != theirs).then_some(Kind::Error),
        (Answer::Rows(columns, ours), Answer::Rows(peer_columns, theirs)) => {
            if sorted(ours) != sorted(theirs) {
                return Some(Kind::Rows);
            }
            let same = |(ours, theirs): (&Shape, &Shape)| {
                ours == theirs || differences::reason(&Columns { sql, ours, theirs }).is_some()
            };
            if columns.len() != peer_columns.len() || !columns.iter().zip(peer_columns).all(same) {
                return Some(Kind::Columns);
            }
            let keys = sort_keys(sql, columns);
            let in_order =
                |(ours, theirs): (&Vec<String>, &Vec<String>)| keys.iter().all(|key| ours[*key] == theirs[*key]);
            (!ours.iter().zip(theirs).all(in_order)).then_some(Kind::Order)
        }
        _ => Some(Kind::Error),
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Done(affected) => write!(f, "affected {affected}"),
            Answer::Refused(errno) => write!(f, "error {errno}"),
            Answer::TooMany => write!(f, "more than {ROWS_MOST} rows"),
            Answer::Rows(columns, rows) => {
                columns.iter().try_for_each(|column| write!(f, "{column} "))?;
                let rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
                write!(f, "{}", rows.join(" / "))
            }
        }
    }
}
