//! What the conversion of a value into one of a column works with.
//!
//! Outline: each family of types converts ([`ColumnType::store`](crate::ColumnType::store)): it either has the exact
//! value, or goes through `StoreContext::reject`, which is the error of a strict statement and the warning of another.

use std::sync::Arc;

use super::charset::Charset;
use super::decimal::Decimal;
use super::number_text;
use super::sql_mode::SqlMode;
use super::temporal::{Date, DateTime, Time, TimeZone, Timestamp, parse};
use crate::error::{
    ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_WRONG_VALUE_FOR_COLUMN, ErrorCode, SqlError, WARN_DATA_TRUNCATED,
};
use crate::value::{Value, first_chars, hex_number};

/// What the conversion of one value must know besides the type.
pub struct StoreContext<'a> {
    /// The column's name, for messages.
    pub column: &'a str,
    /// The number of the row in its statement, from 1, for messages.
    pub row: u64,
    /// The session's SQL mode. Statements with IGNORE clear the strict modes.
    pub sql_mode: SqlMode,
    /// The session's time zone.
    pub time_zone: TimeZone,
    /// When the statement started, microseconds since 1970 UTC.
    pub now_us: i64,
    /// Takes the warnings of a conversion that is not strict, and the notes of any.
    pub warnings: &'a mut dyn FnMut(Loss, SqlError),
}

/// How much a conversion lost without failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// What the type has no room for, and rounding or padding would take: no failure in any SQL mode.
    Note,
    /// What a strict statement fails for.
    Warning,
}

impl StoreContext<'_> {
    /// When the statement started, as the session's clock shows it.
    pub(crate) fn now(&self) -> DateTime {
        Timestamp { micros: self.now_us, fsp: 0 }.to_datetime(self.time_zone)
    }

    /// Ends a strict statement with an error that names column and row, warns in another.
    pub(crate) fn reject(&mut self, code: ErrorCode) -> Result<(), SqlError> {
        self.reject_with(SqlError::new(code, &[&self.column, &self.row]))
    }

    /// As [`StoreContext::reject`], naming kind and text of the value too.
    pub(crate) fn reject_value(&mut self, code: ErrorCode, kind: &str, value: &Value) -> Result<(), SqlError> {
        self.reject_with(self.named(code, kind, value))
    }

    /// A date or time that does not fit: 1292 names the value to a strict statement, others are warned with `code`.
    pub(crate) fn reject_temporal(&mut self, code: ErrorCode, kind: &str, value: &Value) -> Result<(), SqlError> {
        if self.sql_mode.is_strict() {
            return Err(self.named(ER_WRONG_VALUE_FOR_COLUMN, kind, value));
        }
        self.reject(code)
    }

    /// As [`StoreContext::reject`]: a string is none of the column's character set from `bytes` on.
    pub(crate) fn reject_bytes(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        const MOST: usize = 6;
        let mut text = printable(&bytes[..bytes.len().min(MOST)]);
        if bytes.len() > MOST {
            text.push_str("...");
        }
        let (kind, code) = ("string", ER_TRUNCATED_WRONG_VALUE_FOR_FIELD);
        self.reject_with(SqlError::new(code, &[&kind, &text, &self.column, &self.row]))
    }

    fn named(&self, code: ErrorCode, kind: &str, value: &Value) -> SqlError {
        SqlError::new(code, &[&kind, &shown(value), &self.column, &self.row])
    }

    /// Says that a part of the value was dropped that the type has no room for.
    pub(crate) fn note_truncated(&mut self) {
        (self.warnings)(Loss::Note, SqlError::new(WARN_DATA_TRUNCATED, &[&self.column, &self.row]));
    }

    pub(crate) fn reject_with(&mut self, error: SqlError) -> Result<(), SqlError> {
        if self.sql_mode.is_strict() {
            return Err(error);
        }
        (self.warnings)(Loss::Warning, error);
        Ok(())
    }
}

/// A value as messages show it: binary bytes as `\xHH`.
fn shown(value: &Value) -> String {
    const MOST: usize = 128;
    let (Value::Bytes(bytes) | Value::Hex(bytes)) = value else {
        let text = value.to_string();
        return first_chars(&text, MOST).to_owned();
    };
    printable(&bytes[..bytes.len().min(MOST)])
}

fn printable(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            0x20..0x7f => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\x{byte:02X}")),
        }
    }
    text
}

/// The exact number that a value stands for, and whether a text was one as a whole.
pub(crate) fn to_decimal(value: &Value, zone: TimeZone) -> (Decimal, bool) {
    let number = match value {
        Value::Int(int) => Decimal::from(*int),
        Value::UInt(int) => Decimal::from(*int),
        Value::Hex(bytes) => Decimal::from(hex_number(bytes)),
        Value::Member(member) => Decimal::from(member.number),
        Value::Json(json) => match json.to_number() {
            Some(number) => return to_decimal(&number, zone),
            None => return to_decimal(&Value::text(json.unquoted()), zone),
        },
        Value::Float(float) => Decimal::from_f64(f64::from(*float)).unwrap_or(Decimal::ZERO),
        Value::Double(double) => Decimal::from_f64(*double).unwrap_or(Decimal::ZERO),
        Value::Decimal(decimal) => decimal.clone(),
        Value::Text(_) | Value::Bytes(_) => {
            let read = number_text::decimal(value.as_bytes().unwrap_or_default());
            return (read.value, read.complete);
        }
        Value::Date(date) => Decimal::from(date.to_number()),
        Value::DateTime(value) => datetime_to_decimal(*value),
        Value::Timestamp(value) => datetime_to_decimal(value.to_datetime(zone)),
        Value::Time(value) => time_to_decimal(*value),
        Value::Null => Decimal::ZERO,
    };
    (number, true)
}

/// The date and time that a number stands for, and whether it has a fraction that is lost because it has no
/// time; `None` if it stands for none.
pub fn decimal_to_datetime(number: &Decimal) -> Option<(DateTime, bool)> {
    let whole = i64::try_from(number.truncate_to_i128().0).ok()?;
    let value = parse::datetime_from_number(whole)?;
    let (fraction, fsp) = (fraction_us(number), number.scale().min(6));
    match whole {
        _ if fraction == 0 => Some((value, false)),
        _ if fraction < 0 => None,
        0 => Some((DateTime::new(Date::ZERO, fraction, fsp), false)),
        1..parse::TIMED => Some((value, true)),
        _ => Some((DateTime::from_micros(value.micros() + fraction, fsp)?, false)),
    }
}

/// The time that a number stands for, and whether it was cut to the range of TIME; `None` if it stands for none.
pub fn decimal_to_time(number: &Decimal) -> Option<(Time, bool)> {
    let whole = number.truncate_to_i128().0.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let (time, clamped) = parse::time_from_number(whole)?;
    let (time, in_range) = Time::clamped(time.micros + fraction_us(number), number.scale().min(6));
    Some((time, clamped || !in_range))
}

/// The fraction of a number of seconds, in microseconds.
fn fraction_us(number: &Decimal) -> i64 {
    let rest = number.remainder(&Decimal::new(1, 0));
    rest.map_or(0, |rest| rest.round_to(6).to_i128_unscaled() as i64)
}

/// YYYYMMDDhhmmss with the fraction.
pub fn datetime_to_decimal(value: DateTime) -> Decimal {
    let micros = i128::from(value.clock().3);
    Decimal::new(i128::from(value.to_number()) * 1_000_000 + micros, 6).truncate_to(value.fsp())
}

/// hhmmss with the fraction.
pub fn time_to_decimal(value: Time) -> Decimal {
    let micros = i128::from(value.micros % 1_000_000);
    Decimal::new(i128::from(value.to_number()) * 1_000_000 + micros, 6).truncate_to(value.fsp)
}

/// The characters of any value; a binary string has the bytes of the character set.
pub(crate) fn to_text(value: Value, charset: Charset, cx: &mut StoreContext<'_>) -> Result<Arc<str>, SqlError> {
    match value {
        Value::Text(text) => Ok(text),
        Value::Bytes(bytes) | Value::Hex(bytes) => match charset.decode(&bytes) {
            Ok(text) => Ok(text.into()),
            Err(valid) => {
                cx.reject_bytes(&bytes[valid..])?;
                Ok(String::from_utf8_lossy(&bytes[..valid]).into())
            }
        },
        other @ (Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Member(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Timestamp(_)
        | Value::Time(_)
        | Value::Json(_)) => Ok(to_string(other, cx).into()),
    }
}

/// The bytes of any value: those of a string as they are, and of the text of anything else.
pub(crate) fn to_bytes(value: Value, cx: &StoreContext<'_>) -> Arc<[u8]> {
    match value {
        Value::Bytes(bytes) | Value::Hex(bytes) => bytes,
        Value::Text(text) => text.into(),
        other @ (Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Member(_)
        | Value::Json(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Timestamp(_)
        | Value::Time(_)) => to_string(other, cx).into_bytes().into(),
    }
}

/// The text of what is no string: of a decimal all its digits, of a timestamp what the session's clock shows.
pub(crate) fn to_string(value: Value, cx: &StoreContext<'_>) -> String {
    match value {
        Value::Decimal(decimal) => decimal.showing_all().to_string(),
        Value::Timestamp(value) => value.to_datetime(cx.time_zone).to_string(),
        other @ (Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Hex(_)
        | Value::Member(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Time(_)
        | Value::Json(_)) => other.to_string(),
    }
}
