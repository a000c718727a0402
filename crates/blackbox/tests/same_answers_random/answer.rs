//! What a server answers, and how two answers differ.

use anyhow::{Context, Result};
use mysql::consts::{ColumnFlags, ColumnType};
use mysql::prelude::{Protocol, Queryable};
use mysql::{Column, Conn, QueryResult, Value};

use crate::shrink::Dialect;
use crate::tree::Tree;

/// A result column, as far as drivers go by it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub name: String,
    pub column_type: ColumnType,
    pub unsigned: bool,
    /// Digits after the point of exact numbers and of seconds.
    pub decimals: u8,
    /// Of dates and times; of others the two servers declare different ones.
    pub length: u32,
    pub binary: bool,
}

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

/// Numbers whose sign is not a matter of their type.
const REALS: [ColumnType; 4] = [
    ColumnType::MYSQL_TYPE_DECIMAL,
    ColumnType::MYSQL_TYPE_NEWDECIMAL,
    ColumnType::MYSQL_TYPE_FLOAT,
    ColumnType::MYSQL_TYPE_DOUBLE,
];

impl Shape {
    fn is_real(&self) -> bool {
        REALS.contains(&self.column_type)
    }

    /// Whether its values are FLOATs or DOUBLEs.
    pub fn is_approximate(&self) -> bool {
        matches!(self.column_type, ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE)
    }
}

fn shape(column: &Column) -> Shape {
    let column_type = column.column_type();
    let json = column_type == ColumnType::MYSQL_TYPE_JSON;
    let string = json || column_type.is_character_type() || is_blob(column_type);
    let column_type = match column_type {
        // An integer is one to any driver. MariaDB calls small ones LONG, where 8.0 has LONGLONG.
        ColumnType::MYSQL_TYPE_TINY
        | ColumnType::MYSQL_TYPE_SHORT
        | ColumnType::MYSQL_TYPE_INT24
        | ColumnType::MYSQL_TYPE_LONG => ColumnType::MYSQL_TYPE_LONGLONG,
        // To a driver these are the same, and a document is a text in MariaDB.
        ColumnType::MYSQL_TYPE_STRING | ColumnType::MYSQL_TYPE_JSON => ColumnType::MYSQL_TYPE_VAR_STRING,
        blob if is_blob(blob) => ColumnType::MYSQL_TYPE_VAR_STRING,
        other => other,
    };
    let approximate = matches!(column_type, ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE);
    let integer = column_type.is_numeric_type() && !REALS.contains(&column_type);
    Shape {
        name: column.name_str().into_owned(),
        column_type,
        unsigned: integer && column.flags().contains(ColumnFlags::UNSIGNED_FLAG),
        decimals: if string || approximate { 0 } else { column.decimals() },
        length: if is_temporal(column_type) { column.column_length() } else { 0 },
        binary: string && !json && column.character_set() == 63,
    }
}

fn is_temporal(column_type: ColumnType) -> bool {
    use ColumnType::{MYSQL_TYPE_DATE, MYSQL_TYPE_DATETIME, MYSQL_TYPE_TIME, MYSQL_TYPE_TIMESTAMP, MYSQL_TYPE_YEAR};
    matches!(
        column_type,
        MYSQL_TYPE_DATE | MYSQL_TYPE_DATETIME | MYSQL_TYPE_TIME | MYSQL_TYPE_TIMESTAMP | MYSQL_TYPE_YEAR
    )
}

fn is_blob(column_type: ColumnType) -> bool {
    use ColumnType::{MYSQL_TYPE_BLOB, MYSQL_TYPE_LONG_BLOB, MYSQL_TYPE_MEDIUM_BLOB, MYSQL_TYPE_TINY_BLOB};
    matches!(column_type, MYSQL_TYPE_BLOB | MYSQL_TYPE_LONG_BLOB | MYSQL_TYPE_MEDIUM_BLOB | MYSQL_TYPE_TINY_BLOB)
}

/// A value as text, the same for both protocols.
fn text(value: Value, shape: &Shape) -> String {
    let fraction = |micros: u32| match shape.decimals {
        0 | 7.. => String::new(),
        digits => format!(".{:0digits$}", micros / 10u32.pow(6 - u32::from(digits)), digits = usize::from(digits)),
    };
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => format!("{:02x?}", error.as_bytes()),
        },
        Value::Int(int) => int.to_string(),
        Value::UInt(int) => int.to_string(),
        Value::Float(float) => float.to_string(),
        Value::Double(double) => double.to_string(),
        Value::Date(year, month, day, ..) if shape.column_type == ColumnType::MYSQL_TYPE_DATE => {
            format!("{year:04}-{month:02}-{day:02}")
        }
        Value::Date(year, month, day, hour, minute, second, micros) => {
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{}", fraction(micros))
        }
        Value::Time(negative, days, hours, minutes, seconds, micros) => {
            let (sign, hours) = (if negative { "-" } else { "" }, days * 24 + u32::from(hours));
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros))
        }
    }
}

fn read<T: Protocol>(mut result: QueryResult<'_, '_, '_, T>) -> mysql::Result<Outcome> {
    let columns: Vec<Shape> = result.columns().as_ref().iter().map(shape).collect();
    if columns.is_empty() {
        return Ok(Outcome::Done { affected: result.affected_rows(), insert_id: result.last_insert_id().unwrap_or(0) });
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        let texts = row?.unwrap().into_iter().zip(&columns).map(|(value, shape)| match text(value, shape) {
            // MariaDB has no negative zero in some places.
            zero if shape.is_real() && zero.trim_matches(['-', '0', '.']).is_empty() => zero.replace('-', ""),
            text => text,
        });
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
            && ours.iter().zip(theirs).zip(columns).all(|((ours, theirs), column)| alike(ours, theirs, column))
    };
    ours.iter().zip(&theirs).all(same_row)
}

/// Whether two values of a column are the same, but for the last digits of a DOUBLE.
pub fn alike(ours: &str, theirs: &str, column: &Shape) -> bool {
    let tolerance = match column.column_type {
        ColumnType::MYSQL_TYPE_DOUBLE => 1e-9,
        ColumnType::MYSQL_TYPE_FLOAT => 1e-6,
        // MariaDB writes the zero year of an expression with one digit.
        ColumnType::MYSQL_TYPE_YEAR if ours == "0000" => return theirs == ours || theirs == "0",
        _ => return ours == theirs,
    };
    ours == theirs
        || match (ours.parse::<f64>(), theirs.parse::<f64>()) {
            (Ok(ours), Ok(theirs)) => (ours - theirs).abs() <= tolerance * ours.abs().max(theirs.abs()),
            _ => false,
        }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.outcome {
            Outcome::Refused { errno, message } => write!(f, "error {errno}: {message}")?,
            Outcome::Done { affected, insert_id } => write!(f, "affected {affected}, insert id {insert_id}")?,
            Outcome::Rows { columns, rows } => {
                for Shape { name, column_type, unsigned, decimals, length, binary } in columns {
                    let unsigned = if *unsigned { " unsigned" } else { "" };
                    let binary = if *binary { " binary" } else { "" };
                    let column_type = format!("{column_type:?}").replace("MYSQL_TYPE_", "");
                    let length = if *length > 0 { format!("({length})") } else { String::new() };
                    write!(f, "[{name} {column_type}{length}{unsigned}{binary} .{decimals}] ")?;
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
