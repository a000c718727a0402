//! Converting a value into what a column stores.
//!
//! Outline: one function a family of types; each either has the exact value, or goes through
//! `StoreContext::reject`, which is the error of a strict statement and the warning of another.

use super::decimal::Decimal;
use super::number_text;
use super::temporal::{DAY_US, Date, DateTime, Time, TimeZone, Timestamp, parse};
use super::{ColumnType, IntWidth, SqlMode};
use crate::error::{
    ER_DATA_TOO_LONG, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_WARN_DATA_OUT_OF_RANGE, ER_WRONG_VALUE_FOR_COLUMN,
    ErrorCode, SqlError, WARN_DATA_TRUNCATED,
};
use crate::value::first_chars;
use crate::value::{Value, double_within, hex_number};

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

/// Converts `value` into one that a column of type `column_type` holds (NULL stays NULL: whether
/// the column takes it is the caller's check, error 1048). In strict mode a value that does not fit
/// is error 1264, 1265, 1292, 1366 or 1406, else the nearest value is stored with that warning.
pub fn store(value: Value, column_type: &ColumnType, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    match column_type {
        ColumnType::Int { width, unsigned, .. } => store_integer(&value, *width, *unsigned, cx),
        ColumnType::Decimal { precision, scale, unsigned } => store_decimal(&value, *precision, *scale, *unsigned, cx),
        ColumnType::Float { unsigned, digits } => {
            let double = store_double(&value, f64::from(f32::MAX), *unsigned, *digits, cx)?;
            Ok(Value::Float(double as f32))
        }
        ColumnType::Double { unsigned, digits } => {
            Ok(Value::Double(store_double(&value, f64::MAX, *unsigned, *digits, cx)?))
        }
        ColumnType::Char { chars, .. } => store_text(value, usize::from(*chars), true, cx),
        ColumnType::VarChar { chars, .. } => store_text(value, usize::from(*chars), false, cx),
        ColumnType::Text { size, .. } => store_long_text(value, size.max_bytes(), cx),
        ColumnType::Binary { bytes } => store_bytes(value, u64::from(*bytes), Some(usize::from(*bytes)), cx),
        ColumnType::VarBinary { bytes } => store_bytes(value, u64::from(*bytes), None, cx),
        ColumnType::Blob { size } => store_bytes(value, size.max_bytes(), None, cx),
        ColumnType::Date => {
            let stored = store_datetime(&value, "date", 0, cx)?;
            Ok(Value::Date(stored.date()))
        }
        ColumnType::DateTime { fsp } => Ok(Value::DateTime(store_datetime(&value, "datetime", *fsp, cx)?)),
        ColumnType::Timestamp { fsp } => store_timestamp(&value, *fsp, cx),
        ColumnType::Time { fsp } => store_time(&value, *fsp, cx),
        ColumnType::Year => store_year(&value, cx),
    }
}

impl StoreContext<'_> {
    /// When the statement started, as the session's clock shows it.
    fn now(&self) -> DateTime {
        Timestamp { micros: self.now_us, fsp: 0 }.to_datetime(self.time_zone)
    }

    /// Ends a strict statement with an error that names column and row, warns in another.
    fn reject(&mut self, code: ErrorCode) -> Result<(), SqlError> {
        self.reject_with(SqlError::new(code, &[&self.column, &self.row]))
    }

    /// As [`StoreContext::reject`], naming kind and text of the value too.
    fn reject_value(&mut self, code: ErrorCode, kind: &str, value: &Value) -> Result<(), SqlError> {
        self.reject_with(self.named(code, kind, value))
    }

    /// A date or time that does not fit: 1292 names the value to a strict statement, others are warned with `code`.
    fn reject_temporal(&mut self, code: ErrorCode, kind: &str, value: &Value) -> Result<(), SqlError> {
        if self.sql_mode.is_strict() {
            return Err(self.named(ER_WRONG_VALUE_FOR_COLUMN, kind, value));
        }
        self.reject(code)
    }

    fn named(&self, code: ErrorCode, kind: &str, value: &Value) -> SqlError {
        SqlError::new(code, &[&kind, &shown(value), &self.column, &self.row])
    }

    /// Says that a part of the value was dropped that the type has no room for.
    fn note_truncated(&mut self) {
        (self.warnings)(Loss::Note, SqlError::new(WARN_DATA_TRUNCATED, &[&self.column, &self.row]));
    }

    fn reject_with(&mut self, error: SqlError) -> Result<(), SqlError> {
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
    let mut text = String::new();
    for byte in bytes.iter().take(MOST) {
        match byte {
            0x20..0x7f => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\x{byte:02X}")),
        }
    }
    text
}

fn store_integer(value: &Value, width: IntWidth, unsigned: bool, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    let mut cut = false;
    let number: i128 = match value {
        Value::Int(int) => i128::from(*int),
        Value::UInt(int) => i128::from(*int),
        Value::Hex(bytes) => i128::from(hex_number(bytes)),
        Value::Float(float) => double_to_integer(f64::from(*float)),
        Value::Double(double) => double_to_integer(*double),
        // Also one that rounds to zero.
        Value::Decimal(decimal) if unsigned && decimal.is_negative() => i128::MIN,
        Value::Decimal(decimal) => decimal.to_i128().0,
        Value::Text(_) | Value::Bytes(_) => {
            let read = number_text::decimal(value.as_bytes().unwrap_or_default());
            if !read.found {
                cx.reject_value(ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, "integer", value)?;
            }
            cut = read.found && !read.complete;
            read.value.to_i128().0
        }
        Value::Date(date) => i128::from(date.to_number()),
        Value::DateTime(value) => i128::from(value.round(0).to_number()),
        Value::Timestamp(value) => i128::from(value.to_datetime(cx.time_zone).round(0).to_number()),
        Value::Time(value) => i128::from(value.round(0).to_number()),
        Value::Null => return Ok(Value::Null),
    };
    let (least, greatest) = width.range(unsigned);
    if number < least || number > greatest {
        cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
    } else if cut {
        cx.reject(WARN_DATA_TRUNCATED)?;
    }
    let number = number.clamp(least, greatest);
    Ok(if unsigned { Value::UInt(number as u64) } else { Value::Int(number as i64) })
}

/// Rounds half to even, as the processor does; beyond the range of integers stays beyond.
fn double_to_integer(double: f64) -> i128 {
    double.round_ties_even() as i128
}

/// The exact number that a value stands for, and whether a text was one as a whole.
fn to_decimal(value: &Value, zone: TimeZone) -> (Decimal, bool) {
    let number = match value {
        Value::Int(int) => Decimal::from(*int),
        Value::UInt(int) => Decimal::from(*int),
        Value::Hex(bytes) => Decimal::from(hex_number(bytes)),
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
    let (whole, fits) = number.truncate_to_i128();
    let whole = if fits { i64::try_from(whole).ok()? } else { return None };
    let value = parse::datetime_from_number(whole)?;
    let fraction = fraction_us(number);
    if fraction == 0 {
        return Some((value, false));
    }
    if whole < parse::TIMED {
        return Some((value, whole != 0));
    }
    Some((DateTime::from_micros(value.micros() + fraction, number.scale().min(6))?, false))
}

/// The time that a number stands for, and whether it was cut to the range of TIME; `None` if it stands for none.
pub fn decimal_to_time(number: &Decimal) -> Option<(Time, bool)> {
    let (whole, fits) = number.truncate_to_i128();
    let whole = if fits { i64::try_from(whole).ok()? } else { return None };
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

fn store_decimal(
    value: &Value,
    precision: u8,
    scale: u8,
    unsigned: bool,
    cx: &mut StoreContext<'_>,
) -> Result<Value, SqlError> {
    let (number, complete) = to_decimal(value, cx.time_zone);
    if !complete {
        let read = value.as_bytes().is_some_and(|text| number_text::decimal(text).found);
        if read && !cx.sql_mode.is_strict() {
            cx.reject(WARN_DATA_TRUNCATED)?;
        } else {
            cx.reject_value(ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, "decimal", value)?;
        }
    }
    let rounded = number.round_to(scale);
    let shortened = complete && rounded != number;
    if unsigned && number.is_negative() {
        cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
        return Ok(Value::Decimal(Decimal::new(0, scale)));
    }
    if !rounded.fits(precision, scale) {
        cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
        return Ok(Value::Decimal(Decimal::largest(precision, scale, rounded.is_negative())));
    }
    if shortened {
        cx.note_truncated();
    }
    Ok(Value::Decimal(rounded))
}

fn store_double(
    value: &Value,
    limit: f64,
    unsigned: bool,
    digits: Option<(u8, u8)>,
    cx: &mut StoreContext<'_>,
) -> Result<f64, SqlError> {
    let mut double = match value {
        Value::Double(double) => *double,
        Value::Float(float) => f64::from(*float),
        Value::Int(int) => *int as f64,
        Value::UInt(int) => *int as f64,
        Value::Text(_) | Value::Bytes(_) => {
            let read = number_text::double(value.as_bytes().unwrap_or_default());
            if read.overflowed {
                cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
            } else if !read.complete {
                cx.reject(WARN_DATA_TRUNCATED)?;
            }
            read.value
        }
        other => to_decimal(other, cx.time_zone).0.to_f64(),
    };
    let mut limit = limit;
    if let Some((all, behind)) = digits {
        let unit = 10f64.powi(i32::from(behind));
        // As MySQL rounds: what is behind the point, halves to the even neighbour.
        let whole = double.floor();
        double = whole + ((double - whole) * unit).round_ties_even() / unit;
        limit = limit.min(10f64.powi(i32::from(all) - i32::from(behind)) - 1.0 / unit);
    }
    let least = if unsigned { 0.0 } else { -limit };
    if double.is_nan() || double < least || double > limit {
        cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
        return Ok(if double.is_nan() { 0.0 } else { double.clamp(least, limit) });
    }
    Ok(double)
}

/// The characters of any value; binary strings must be UTF-8.
fn to_text(value: Value, cx: &mut StoreContext<'_>) -> Result<std::sync::Arc<str>, SqlError> {
    match value {
        Value::Text(text) => Ok(text),
        Value::Bytes(bytes) | Value::Hex(bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(text.into()),
            Err(error) => {
                let valid = error.valid_up_to();
                let bad = Value::bytes(&bytes[valid..bytes.len().min(valid + 6)]);
                cx.reject_value(ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, "string", &bad)?;
                Ok(String::from_utf8_lossy(&bytes[..valid]).into())
            }
        },
        other => Ok(to_string(other, cx).into()),
    }
}

/// The text of what is no string: of a decimal all its digits, of a timestamp what the session's clock shows.
fn to_string(value: Value, cx: &StoreContext<'_>) -> String {
    match value {
        Value::Decimal(decimal) => decimal.showing_all().to_string(),
        Value::Timestamp(value) => value.to_datetime(cx.time_zone).to_string(),
        other => other.to_string(),
    }
}

fn store_text(value: Value, chars: usize, fixed: bool, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    let double = match value {
        Value::Double(double) => Some(double),
        Value::Float(float) => Some(f64::from(float)),
        _ => None,
    };
    if let Some(text) = double.and_then(|double| double_within(double, chars)) {
        return Ok(Value::text(text));
    }
    let text = to_text(value, cx)?;
    let trimmed = if fixed { text.trim_end_matches(' ') } else { &*text };
    // Characters are at least one byte, so that short strings need not be counted.
    if trimmed.len() > chars {
        let kept = first_chars(trimmed, chars);
        if kept.len() < trimmed.len() {
            if trimmed[kept.len()..].bytes().all(|byte| byte == b' ') {
                cx.note_truncated();
            } else {
                cx.reject(if cx.sql_mode.is_strict() { ER_DATA_TOO_LONG } else { WARN_DATA_TRUNCATED })?;
            }
            return Ok(Value::text(if fixed { kept.trim_end_matches(' ') } else { kept }));
        }
    }
    if trimmed.len() < text.len() {
        return Ok(Value::text(trimmed));
    }
    Ok(Value::Text(text))
}

fn store_long_text(value: Value, max_bytes: u64, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    let text = to_text(value, cx)?;
    if text.len() as u64 <= max_bytes {
        return Ok(Value::Text(text));
    }
    cx.reject(if cx.sql_mode.is_strict() { ER_DATA_TOO_LONG } else { WARN_DATA_TRUNCATED })?;
    let end = text.floor_char_boundary(max_bytes as usize);
    Ok(Value::text(&text[..end]))
}

fn store_bytes(
    value: Value,
    max_bytes: u64,
    pad_to: Option<usize>,
    cx: &mut StoreContext<'_>,
) -> Result<Value, SqlError> {
    let bytes: std::sync::Arc<[u8]> = match value {
        Value::Bytes(bytes) | Value::Hex(bytes) => bytes,
        Value::Text(text) => text.as_bytes().into(),
        other => to_string(other, cx).into_bytes().into(),
    };
    let mut kept = &*bytes;
    if bytes.len() as u64 > max_bytes {
        cx.reject(if cx.sql_mode.is_strict() { ER_DATA_TOO_LONG } else { WARN_DATA_TRUNCATED })?;
        kept = &bytes[..max_bytes as usize];
    }
    match pad_to {
        Some(len) if kept.len() < len => {
            let mut padded = kept.to_vec();
            padded.resize(len, 0);
            Ok(Value::bytes(padded))
        }
        _ if kept.len() < bytes.len() => Ok(Value::bytes(kept)),
        _ => Ok(Value::Bytes(bytes)),
    }
}

fn store_datetime(value: &Value, kind: &str, fsp: u8, cx: &mut StoreContext<'_>) -> Result<DateTime, SqlError> {
    let found = match value {
        Value::Date(date) => Some(date.at_midnight()),
        Value::DateTime(value) => Some(*value),
        Value::Timestamp(value) => Some(value.to_datetime(cx.time_zone)),
        Value::Text(_) | Value::Bytes(_) | Value::Hex(_) => {
            let text = String::from_utf8_lossy(value.as_bytes().unwrap_or_default());
            let parsed = parse::datetime(&text, cx.time_zone);
            if parsed.is_some_and(|parsed| parsed.cut) {
                cx.reject_temporal(WARN_DATA_TRUNCATED, kind, value)?;
            }
            parsed.map(|parsed| parsed.value)
        }
        // A time is one of today.
        Value::Time(time) => {
            let today = cx.now().date().days() * DAY_US;
            DateTime::from_micros(today + time.micros, time.fsp)
        }
        Value::Null => None,
        number => {
            let found = decimal_to_datetime(&to_decimal(number, cx.time_zone).0);
            if found.is_some_and(|(_, cut)| cut) {
                cx.reject_temporal(WARN_DATA_TRUNCATED, kind, value)?;
            }
            found.map(|(value, _)| value)
        }
    };
    let Some(found) = found else {
        cx.reject_temporal(WARN_DATA_TRUNCATED, kind, value)?;
        return Ok(Date::ZERO.at_midnight().with_fsp(fsp));
    };
    if !cx.sql_mode.allows_date(found.date()) {
        cx.reject_temporal(ER_WARN_DATA_OUT_OF_RANGE, kind, value)?;
        return Ok(Date::ZERO.at_midnight().with_fsp(fsp));
    }
    if kind == "date" {
        if found.micros_of_day() != 0 {
            cx.note_truncated();
        }
        return Ok(found.with_fsp(0));
    }
    Ok(if cx.sql_mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
        cut_fraction(found, fsp)
    } else {
        found.round(fsp)
    })
}

fn cut_fraction(value: DateTime, fsp: u8) -> DateTime {
    let unit = super::temporal::fraction_unit(fsp);
    DateTime::new(value.date(), value.micros_of_day() / unit * unit, fsp)
}

fn store_timestamp(value: &Value, fsp: u8, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    if let Value::Timestamp(timestamp) = value
        && timestamp.fsp == fsp
    {
        return Ok(value.clone());
    }
    let local = store_datetime(value, "datetime", fsp, cx)?;
    match local.to_timestamp(cx.time_zone).filter(|_| !local.date().is_incomplete() || local.date().is_zero()) {
        Some(timestamp) => Ok(Value::Timestamp(timestamp)),
        None => {
            cx.reject_temporal(ER_WARN_DATA_OUT_OF_RANGE, "datetime", value)?;
            Ok(Value::Timestamp(Timestamp { micros: 0, fsp }))
        }
    }
}

fn store_time(value: &Value, fsp: u8, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    let of_day = |value: DateTime| Some((Time { micros: value.micros_of_day(), fsp: value.fsp() }, false));
    let found = match value {
        Value::Time(time) => Some((*time, false)),
        Value::DateTime(value) => of_day(*value),
        Value::Timestamp(value) => of_day(value.to_datetime(cx.time_zone)),
        Value::Date(_) => Some((Time { micros: 0, fsp }, false)),
        Value::Text(_) | Value::Bytes(_) | Value::Hex(_) => {
            let text = String::from_utf8_lossy(value.as_bytes().unwrap_or_default());
            let parsed = parse::time(&text);
            if parsed.is_some_and(|(parsed, _)| parsed.cut) {
                cx.reject_temporal(WARN_DATA_TRUNCATED, "time", value)?;
            } else if parse::dated(&text).is_some() {
                cx.note_truncated();
            }
            parsed.map(|(parsed, clamped)| (parsed.value, clamped))
        }
        number => decimal_to_time(&to_decimal(number, cx.time_zone).0),
    };
    let Some((time, clamped)) = found else {
        cx.reject_temporal(WARN_DATA_TRUNCATED, "time", value)?;
        return Ok(Value::Time(Time { micros: 0, fsp }));
    };
    if clamped {
        cx.reject_temporal(ER_WARN_DATA_OUT_OF_RANGE, "time", value)?;
    }
    if matches!(value, Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_)) {
        cx.note_truncated();
    }
    Ok(Value::Time(time.round(fsp)))
}

fn store_year(value: &Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    let from_text = matches!(value, Value::Text(_) | Value::Bytes(_));
    if let Some(text) = value.as_bytes().filter(|_| from_text)
        && !matches!(number_text::decimal(text).value.to_i128().0, 0..=99 | 1901..=2155)
    {
        cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
        return Ok(Value::UInt(0));
    }
    let number = match value {
        Value::Date(date) => i64::from(date.year),
        Value::DateTime(value) => i64::from(value.date().year),
        Value::Timestamp(value) => i64::from(value.to_datetime(cx.time_zone).date().year),
        Value::Time(_) => i64::from(cx.now().date().year),
        _ => match store_integer(value, IntWidth::Big, false, cx)? {
            Value::Int(number) => number,
            _ => 0,
        },
    };
    // What is no number is the year 0000, and so is that text; any other text of zero is 2000.
    let zero_text = |bytes: &[u8]| bytes.len() != 4 && number_text::double(bytes).found;
    let year = match number {
        0 if from_text && value.as_bytes().is_some_and(zero_text) => 2000,
        0 => 0,
        1..=69 => number + 2000,
        70..=99 => number + 1900,
        1901..=2155 => number,
        _ => {
            cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
            0
        }
    };
    Ok(Value::UInt(year as u64))
}

#[cfg(test)]
mod tests;
