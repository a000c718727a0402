//! A column of a result set, as far as drivers go by it: what two servers are compared by.

use std::fmt;

use mysql::consts::{ColumnFlags, ColumnType};
use mysql::{Column, Value};

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

/// Numbers whose sign is not a matter of their type.
const REALS: [ColumnType; 4] = [
    ColumnType::MYSQL_TYPE_DECIMAL,
    ColumnType::MYSQL_TYPE_NEWDECIMAL,
    ColumnType::MYSQL_TYPE_FLOAT,
    ColumnType::MYSQL_TYPE_DOUBLE,
];

impl Shape {
    pub fn of(column: &Column) -> Shape {
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

    /// Whether its values are FLOATs or DOUBLEs.
    pub fn is_approximate(&self) -> bool {
        matches!(self.column_type, ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE)
    }

    /// A value as text, the same for both protocols.
    pub fn text(&self, value: Value) -> String {
        let fraction = |micros: u32| match self.decimals {
            0 | 7.. => String::new(),
            digits => format!(".{:0digits$}", micros / 10u32.pow(6 - u32::from(digits)), digits = usize::from(digits)),
        };
        let text = match value {
            Value::NULL => "NULL".to_owned(),
            Value::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => format!("{:02x?}", error.as_bytes()),
            },
            Value::Int(int) => int.to_string(),
            Value::UInt(int) => int.to_string(),
            Value::Float(float) => float.to_string(),
            Value::Double(double) => double.to_string(),
            Value::Date(year, month, day, ..) if self.column_type == ColumnType::MYSQL_TYPE_DATE => {
                format!("{year:04}-{month:02}-{day:02}")
            }
            Value::Date(year, month, day, hour, minute, second, micros) => {
                format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{}", fraction(micros))
            }
            Value::Time(negative, days, hours, minutes, seconds, micros) => {
                let (sign, hours) = (if negative { "-" } else { "" }, days * 24 + u32::from(hours));
                format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros))
            }
        };
        // MariaDB has no negative zero in some places.
        if REALS.contains(&self.column_type) && text.trim_matches(['-', '0', '.']).is_empty() {
            return text.replace('-', "");
        }
        text
    }

    /// Whether two values of a column are the same, but for the last digits of a DOUBLE.
    pub fn alike(&self, ours: &str, theirs: &str) -> bool {
        let tolerance = match self.column_type {
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
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { name, column_type, unsigned, decimals, length, binary } = self;
        let unsigned = if *unsigned { " unsigned" } else { "" };
        let binary = if *binary { " binary" } else { "" };
        let column_type = format!("{column_type:?}").replace("MYSQL_TYPE_", "");
        let length = if *length > 0 { format!("({length})") } else { String::new() };
        write!(f, "[{name} {column_type}{length}{unsigned}{binary} .{decimals}]")
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
