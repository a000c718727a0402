//! What a server answers, and how two answers differ.

use anyhow::{Context, Result};
use cohort_blackbox::Shape;
use mysql::consts::ColumnType;
use mysql::prelude::{Protocol, Queryable};
use mysql::{Conn, QueryResult};

use crate::shrink::Dialect;
use crate::tree::Tree;

#[derive(Clone, Debug)]
pub enum Outcome {
    Rows { columns: Vec<Shape>, rows: Vec<Vec<String>> },
    Done { affected: u64, insert_id: u64 },
    Refused { errno: u16, message: String },
}

/// A server's answer to a statement.
#[derive(Clone, Debug)]
pub struct Answer {
    pub outcome: Outcome,
    /// Codes, ascending.
    pub warnings: Vec<u16>,
    /// Whether one of them says that a time was cut to the greatest.
    pub cut_a_time: bool,
}

/// In what two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only one of them makes the table.
    Create,
    /// One succeeds and the other does not, or with another error.
    Error,
    Columns,
    Rows,
    Affected,
    InsertId,
    Warnings,
    /// The rows of the table after a change.
    Table,
}

fn read<T: Protocol>(mut result: QueryResult<'_, '_, '_, T>) -> mysql::Result<Outcome> {
    let columns: Vec<Shape> = result.columns().as_ref().iter().map(Shape::of).collect();
    if columns.is_empty() {
        return Ok(Outcome::Done { affected: result.affected_rows(), insert_id: result.last_insert_id().unwrap_or(0) });
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        let texts = row?.unwrap().into_iter().zip(&columns).map(|(value, shape)| shape.text(value));
        rows.push(texts.collect());
    }
    Ok(Outcome::Rows { columns, rows })
}

/// Runs a statement: as text, or prepared with its constants as parameters. `dialect` makes the SQL the server's own.
pub fn ask(conn: &mut Conn, statement: &Tree, prepared: bool, dialect: Dialect) -> Result<Answer> {
    let outcome = if prepared {
        let (sql, parameters) = statement.prepared();
        conn.prep(dialect(sql)).and_then(|statement| {
            let outcome = conn.exec_iter(&statement, parameters).and_then(read);
            let warnings = conn.warnings();
            conn.close(statement)?;
            outcome.map(|outcome| (outcome, warnings))
        })
    } else {
        let outcome = conn.query_iter(dialect(statement.sql())).and_then(read);
        let warnings = conn.warnings();
        outcome.map(|outcome| (outcome, warnings))
    };
    match outcome {
        Ok((outcome, 0)) => Ok(Answer { outcome, warnings: Vec::new(), cut_a_time: false }),
        Ok((outcome, _)) => {
            let shown: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").context("SHOW WARNINGS")?;
            // MariaDB's own codes are beyond those of MySQL that mean the same.
            let own = 1900..3000;
            // Nor has MySQL its notes of blanks after a number.
            let of_mariadb = |level: &str, code: u16| own.contains(&code) || (level == "Note" && code == 1292);
            let cut_a_time = shown.iter().any(|(_, _, message)| message.starts_with("Truncated incorrect time value"));
            let mut warnings: Vec<u16> = shown
                .into_iter()
                .filter(|(level, code, _)| !of_mariadb(level, *code))
                .map(|(_, code, _)| code)
                .collect();
            warnings.sort_unstable();
            Ok(Answer { outcome, warnings, cut_a_time })
        }
        Err(mysql::Error::MySqlError(error)) => {
            let outcome = Outcome::Refused { errno: error.code, message: error.message };
            Ok(Answer { outcome, warnings: Vec::new(), cut_a_time: false })
        }
        Err(error) => Err(error).with_context(|| statement.sql()),
    }
}

/// Where it is up to the plan how often an expression is evaluated.
const PLANNED: [&str; 9] =
    [" WHERE ", " GROUP BY ", " LIMIT ", "DISTINCT", "ORDER BY COALESCE", "SUM(", "AVG(", "MIN(", "MAX("];

/// How the answers differ, if they do. Rows are compared in their order if they have one.
pub fn difference(sql: &str, ours: &Answer, theirs: &Answer) -> Option<Kind> {
    let ordered = sql.contains("ORDER BY");
    match (&ours.outcome, &theirs.outcome) {
        (Outcome::Refused { errno: ours, .. }, Outcome::Refused { errno: theirs, .. }) => {
            return (ours != theirs).then_some(Kind::Error);
        }
        (Outcome::Rows { columns, rows: ours }, Outcome::Rows { columns: peer_columns, rows: theirs }) => {
            if !same_rows(columns, ours, theirs, ordered) {
                return Some(Kind::Rows);
            }
            let untyped = |column: &Shape| column.column_type == ColumnType::MYSQL_TYPE_NULL;
            let same = |(a, b): (&Shape, &Shape)| a == b || untyped(a) || untyped(b);
            if columns.len() != peer_columns.len() || !columns.iter().zip(peer_columns).all(same) {
                return Some(Kind::Columns);
            }
        }
        (
            Outcome::Done { affected: ours, insert_id: our_id },
            Outcome::Done { affected: theirs, insert_id: their_id },
        ) => {
            if ours != theirs {
                return Some(Kind::Affected);
            }
            if our_id != their_id {
                return Some(Kind::InsertId);
            }
        }
        _ => return Some(Kind::Error),
    }
    // Whether a constant is evaluated that no row asks for is a matter of plans.
    let asked = match &ours.outcome {
        Outcome::Rows { rows, .. } => !rows.is_empty(),
        _ => true,
    };
    let plain = asked && !PLANNED.iter().any(|clause| sql.contains(clause));
    (plain && distinct(&ours.warnings) != distinct(&theirs.warnings)).then_some(Kind::Warnings)
}

/// How often an expression is evaluated, and warns, is a matter of plans too.
fn distinct(codes: &[u16]) -> Vec<u16> {
    let mut codes = codes.to_vec();
    codes.dedup();
    codes
}

fn same_rows(columns: &[Shape], ours: &[Vec<String>], theirs: &[Vec<String>], ordered: bool) -> bool {
    if ours.len() != theirs.len() {
        return false;
    }
    let (mut ours, mut theirs) = (ours.to_vec(), theirs.to_vec());
    if !ordered {
        ours.sort();
        theirs.sort();
    }
    let same_row = |(ours, theirs): (&Vec<String>, &Vec<String>)| {
        ours.len() == theirs.len()
            && ours.iter().zip(theirs).zip(columns).all(|((ours, theirs), column)| column.alike(ours, theirs))
    };
    ours.iter().zip(&theirs).all(same_row)
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.outcome {
            Outcome::Refused { errno, message } => write!(f, "error {errno}: {message}")?,
            Outcome::Done { affected, insert_id } => write!(f, "affected {affected}, insert id {insert_id}")?,
            Outcome::Rows { columns, rows } => {
                for shape in columns {
                    write!(f, "{shape} ")?;
                }
                let rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
                write!(f, "{}", rows.join(" / "))?;
            }
        }
        if !self.warnings.is_empty() {
            write!(f, ", warnings {:?}", self.warnings)?;
        }
        Ok(())
    }
}
