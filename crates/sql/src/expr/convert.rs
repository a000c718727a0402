//! Implicit conversion of values to the kind that an operator or function works on.
//!
//! Text that is not wholly a number converts as far as it is one and warns (1292); what is no date
//! warns and becomes NULL.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::EvalContext;
use crate::collation::Collation;
use crate::error::{ER_INVALID_JSON_VALUE_FOR_CAST, ER_TRUNCATED_WRONG_VALUE, SqlError};
use crate::types::decimal::Decimal;
use crate::types::json::Json;
use crate::types::number_text;
use crate::types::store::{datetime_to_decimal, decimal_to_datetime, decimal_to_time, time_to_decimal};
use crate::types::temporal::{DAY_US, Date, DateTime, Time, parse};
use crate::types::{DateUse, FieldKind, FieldType, NOT_FIXED_DECIMALS, ResultType};
use crate::value::{Value, hex_number};

/// A value as a number.
#[derive(Clone, Debug)]
pub(super) enum Number {
    /// Signed.
    Int(i64),
    /// Unsigned.
    UInt(u64),
    /// Exact.
    Decimal(Decimal),
    /// Approximate.
    Double(f64),
}

impl Number {
    /// The number of a value that is not NULL: text is a double, dates and times are their digits.
    pub fn of(value: &Value, cx: &EvalContext<'_>) -> Result<Number, SqlError> {
        Ok(match value {
            Value::Int(int) => Number::Int(*int),
            Value::UInt(int) => Number::UInt(*int),
            Value::Decimal(decimal) => Number::Decimal(decimal.clone()),
            Value::Hex(bytes) => Number::UInt(hex_number(bytes)),
            Value::Json(json) => match json.to_number() {
                Some(number) => return Number::of(&number, cx),
                None => Number::Double(to_f64(value, cx)?),
            },
            // Of what is text the number is a DOUBLE.
            Value::Member(member) => Number::Double(member.number as f64),
            Value::Date(date) => Number::Int(date.to_number()),
            Value::DateTime(value) if value.fsp() == 0 => Number::Int(value.to_number()),
            Value::DateTime(value) => Number::Decimal(datetime_to_decimal(*value)),
            Value::Time(value) if value.fsp == 0 => Number::Int(value.to_number()),
            Value::Time(value) => Number::Decimal(time_to_decimal(*value)),
            other @ (Value::Null
            | Value::Float(_)
            | Value::Double(_)
            | Value::Text(_)
            | Value::Bytes(_)
            | Value::Timestamp(_)) => Number::Double(to_f64(other, cx)?),
        })
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        match self {
            Number::Int(int) => *int as f64,
            Number::UInt(int) => *int as f64,
            Number::Decimal(decimal) => decimal.to_f64(),
            Number::Double(double) => *double,
        }
    }

    /// The exact number; doubles by their shortest digits.
    pub fn to_decimal(&self) -> Decimal {
        self.as_decimal().into_owned()
    }

    /// The same, borrowed where it is one.
    pub fn as_decimal(&self) -> Cow<'_, Decimal> {
        Cow::Owned(match self {
            Number::Int(int) => Decimal::from(*int),
            Number::UInt(int) => Decimal::from(*int),
            Number::Decimal(decimal) => return Cow::Borrowed(decimal),
            Number::Double(double) => Decimal::from_f64(*double).unwrap_or(Decimal::ZERO),
        })
    }

    /// Order of two numbers: as doubles if one is, else exactly.
    pub fn compare(&self, other: &Number) -> Ordering {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a.cmp(b),
            (Number::UInt(a), Number::UInt(b)) => a.cmp(b),
            (Number::Int(a), Number::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Number::UInt(a), Number::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Number::Double(_), _) | (_, Number::Double(_)) => {
                self.to_f64().partial_cmp(&other.to_f64()).unwrap_or(Ordering::Equal)
            }
            _ => self.to_decimal().cmp(&other.to_decimal()),
        }
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        match number {
            Number::Int(int) => Value::Int(int),
            Number::UInt(int) => Value::UInt(int),
            Number::Decimal(decimal) => Value::Decimal(decimal),
            Number::Double(double) => Value::Double(double),
        }
    }
}

/// Warning 1292.
pub(super) fn truncated(kind: &str, value: &Value) -> SqlError {
    SqlError::new(ER_TRUNCATED_WRONG_VALUE, &[&kind, value])
}

/// The value as a double; NULL is 0.
pub(super) fn to_f64(value: &Value, cx: &EvalContext<'_>) -> Result<f64, SqlError> {
    Ok(match value {
        Value::Null => 0.0,
        Value::Int(int) => *int as f64,
        Value::UInt(int) => *int as f64,
        Value::Float(float) => f64::from(*float),
        Value::Double(double) => *double,
        Value::Decimal(decimal) => decimal.to_f64(),
        Value::Text(_) | Value::Bytes(_) => {
            let bytes = value.as_bytes().unwrap_or_default();
            let read = number_text::double(bytes);
            // Of blanks MySQL says nothing, unlike MariaDB and unlike a cast.
            let is_blank = bytes.iter().all(|byte| *byte == b' ');
            if !(read.complete || is_blank) || read.overflowed {
                cx.statement.warn(truncated("DOUBLE", value))?;
            }
            read.value
        }
        Value::Member(member) => member.number as f64,
        Value::Json(json) => match (json.to_number(), &**json) {
            (Some(number), _) => to_f64(&number, cx)?,
            (None, Json::Text(text)) => to_f64(&Value::Text(text.clone()), cx)?,
            (None, _) => {
                cx.statement.warn(SqlError::new(ER_INVALID_JSON_VALUE_FOR_CAST, &[&"DOUBLE", &"", &1]))?;
                0.0
            }
        },
        other @ (Value::Hex(_) | Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) | Value::Time(_)) => {
            Number::of(&local(other, cx), cx)?.to_f64()
        }
    })
}

/// The value as an exact number; NULL is 0.
pub(super) fn to_decimal(value: &Value, cx: &EvalContext<'_>) -> Result<Decimal, SqlError> {
    match value {
        Value::Null => Ok(Decimal::ZERO),
        Value::Decimal(decimal) => Ok(decimal.clone()),
        Value::Text(_) | Value::Bytes(_) => {
            let read = number_text::decimal(value.as_bytes().unwrap_or_default());
            if !read.complete {
                cx.statement.warn(truncated("DECIMAL", value))?;
            }
            Ok(read.value)
        }
        other @ (Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Hex(_)
        | Value::Member(_)
        | Value::Json(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Timestamp(_)
        | Value::Time(_)) => Ok(Number::of(&local(other, cx), cx)?.to_decimal()),
    }
}

/// The value as an integer of up to 128 bits, rounded; text as far as it is digits. NULL is 0.
pub(super) fn to_integer(value: &Value, cx: &EvalContext<'_>) -> Result<i128, SqlError> {
    Ok(match value {
        Value::Int(int) => i128::from(*int),
        Value::UInt(int) => i128::from(*int),
        Value::Double(double) => double.round_ties_even() as i128,
        Value::Float(float) => f64::from(*float).round_ties_even() as i128,
        Value::Text(_) | Value::Bytes(_) => {
            let read = number_text::integer(value.as_bytes().unwrap_or_default());
            if !read.complete {
                cx.statement.warn(truncated("INTEGER", value))?;
            }
            read.value
        }
        Value::Member(member) => i128::from(member.number),
        Value::Json(json) => match (json.to_number(), &**json) {
            (Some(number), _) => to_integer(&number, cx)?,
            (None, Json::Text(text)) => to_integer(&Value::Text(text.clone()), cx)?,
            (None, _) => {
                cx.statement.warn(SqlError::new(ER_INVALID_JSON_VALUE_FOR_CAST, &[&"INTEGER", &"", &1]))?;
                0
            }
        },
        other @ (Value::Null
        | Value::Decimal(_)
        | Value::Hex(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Timestamp(_)
        | Value::Time(_)) => to_decimal(other, cx)?.to_i128().0,
    })
}

/// The value as an argument that counts something, cut to 64 bits.
pub(super) fn to_i64(value: &Value, cx: &EvalContext<'_>) -> Result<i64, SqlError> {
    Ok(to_integer(value, cx)?.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// The value as 64 bits, for bit operators.
pub(super) fn to_bits(value: &Value, cx: &EvalContext<'_>) -> Result<u64, SqlError> {
    let integer = to_integer(value, cx)?;
    Ok(if integer < 0 {
        integer.max(i128::from(i64::MIN)) as i64 as u64
    } else {
        integer.min(i128::from(u64::MAX)) as u64
    })
}

/// The truth of a value; `None` for NULL.
pub(super) fn to_bool(value: &Value, cx: &EvalContext<'_>) -> Result<Option<bool>, SqlError> {
    Ok(match value {
        Value::Null => None,
        Value::Int(int) => Some(*int != 0),
        Value::UInt(int) => Some(*int != 0),
        Value::Decimal(decimal) => Some(!decimal.is_zero()),
        other @ (Value::Float(_)
        | Value::Double(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Hex(_)
        | Value::Member(_)
        | Value::Json(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Timestamp(_)
        | Value::Time(_)) => Some(to_f64(other, cx)? != 0.0),
    })
}

/// A timestamp as a datetime of the session's time zone, anything else as it is.
pub(super) fn local(value: &Value, cx: &EvalContext<'_>) -> Value {
    match value {
        Value::Timestamp(timestamp) => Value::DateTime(timestamp.to_datetime(cx.statement.time_zone())),
        other => other.clone(),
    }
}

/// The bytes of the value's text form.
pub(super) fn to_bytes(value: &Value) -> Cow<'_, [u8]> {
    match value {
        Value::Text(text) => Cow::Borrowed(text.as_bytes()),
        Value::Bytes(bytes) | Value::Hex(bytes) => Cow::Borrowed(bytes),
        Value::Member(member) => Cow::Borrowed(member.text.as_bytes()),
        Value::Null => Cow::Borrowed(&[]),
        other => Cow::Owned(other.to_string().into_bytes()),
    }
}

/// The value's text form; of binary strings what can be read of them.
pub(super) fn to_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Text(text) => Cow::Borrowed(text),
        Value::Bytes(bytes) | Value::Hex(bytes) => String::from_utf8_lossy(bytes),
        Value::Member(member) => Cow::Borrowed(&member.text),
        Value::Null => Cow::Borrowed(""),
        Value::Json(json) => Cow::Owned(json.to_string()),
        other => Cow::Owned(other.to_string()),
    }
}

/// Today in the session's time zone.
pub(super) fn today(cx: &EvalContext<'_>) -> Date {
    now(cx, 0).date()
}

/// The statement's time in the session's time zone, cut to `fsp` fractional digits.
pub(super) fn now(cx: &EvalContext<'_>, fsp: u8) -> DateTime {
    at(cx.statement.now_us(), cx, fsp)
}

/// A point in time in the session's time zone, cut to `fsp` fractional digits.
pub(super) fn at(micros: i64, cx: &EvalContext<'_>, fsp: u8) -> DateTime {
    let local = micros + i64::from(cx.statement.time_zone().offset_seconds) * 1_000_000;
    let unit = crate::types::temporal::fraction_unit(fsp);
    DateTime::from_micros(local.div_euclid(unit) * unit, fsp).unwrap_or_else(|| Date::ZERO.at_midnight())
}

/// The value as date and time to work on; `None`, with a warning, if it is neither.
pub(super) fn to_datetime(value: &Value, cx: &EvalContext<'_>) -> Result<Option<DateTime>, SqlError> {
    read_datetime(value, DateUse::Operand, cx)
}

/// As [`to_datetime`], for any use.
pub(super) fn read_datetime(
    value: &Value,
    use_of_date: DateUse,
    cx: &EvalContext<'_>,
) -> Result<Option<DateTime>, SqlError> {
    let found = match value {
        Value::Null => return Ok(None),
        Value::Date(date) => Some(date.at_midnight()),
        Value::DateTime(value) => Some(*value),
        Value::Timestamp(value) => Some(value.to_datetime(cx.statement.time_zone())),
        Value::Time(time) => DateTime::from_micros(today(cx).days() * DAY_US + time.micros, time.fsp),
        Value::Text(_) | Value::Bytes(_) | Value::Hex(_) | Value::Member(_) | Value::Json(_) => {
            let parsed = parse::datetime(&to_text(value), cx.statement.time_zone());
            if parsed.is_some_and(|parsed| parsed.cut) {
                cx.statement.warn(truncated("datetime", value))?;
            }
            let mode = cx.statement.sql_mode();
            parsed.map(|parsed| parsed.value).filter(|value| mode.allows(*value, use_of_date))
        }
        number @ (Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_)) => {
            decimal_to_datetime(&Number::of(number, cx)?.to_decimal()).map(|(value, _)| value)
        }
    };
    if found.is_none() {
        cx.statement.warn(incorrect("datetime", value))?;
    }
    Ok(found)
}

/// The value as date and time of the calendar; `None` if a part of its date is zero, which is worth a warning unless the
/// value is of a type of dates.
pub(super) fn to_complete_datetime(value: &Value, cx: &EvalContext<'_>) -> Result<Option<DateTime>, SqlError> {
    let found = to_datetime(value, cx)?;
    if !found.is_some_and(|found| found.date().is_incomplete()) {
        return Ok(found);
    }
    if !value.is_temporal() {
        cx.statement.warn(incorrect("datetime", value))?;
    }
    Ok(None)
}

/// The value as a time; `None`, with a warning, if it is not one.
pub(super) fn to_time(value: &Value, cx: &EvalContext<'_>) -> Result<Option<Time>, SqlError> {
    let found = match value {
        Value::Null => return Ok(None),
        Value::Time(time) => Some(*time),
        Value::Date(_) => Some(Time { micros: 0, fsp: 0 }),
        Value::DateTime(value) => Some(Time { micros: value.micros_of_day(), fsp: value.fsp() }),
        Value::Timestamp(_) => return to_time(&local(value, cx), cx),
        Value::Text(_) | Value::Bytes(_) | Value::Hex(_) | Value::Member(_) | Value::Json(_) => {
            let parsed = parse::time(&to_text(value));
            if parsed.is_some_and(|(parsed, clamped)| parsed.cut || clamped) {
                cx.statement.warn(truncated("time", value))?;
            }
            parsed.map(|(parsed, _)| parsed.value)
        }
        // A number beyond the range is none, other than a text.
        number @ (Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_)) => {
            decimal_to_time(&Number::of(number, cx)?.to_decimal()).filter(|(_, cut)| !cut).map(|(time, _)| time)
        }
    };
    if found.is_none() {
        cx.statement.warn(incorrect("time", value))?;
    }
    Ok(found)
}

/// The date and time that an exact number stands for, if it does.
pub(super) fn datetime_of_number(value: &Value) -> Option<DateTime> {
    let number = match value {
        Value::Int(int) => return parse::datetime_from_number(*int),
        Value::UInt(int) => return parse::datetime_from_number(i64::try_from(*int).ok()?),
        Value::Decimal(decimal) => decimal,
        _ => return None,
    };
    decimal_to_datetime(number).map(|(value, _)| value)
}

/// Whether a value stands for a time, and not for a date that may have one.
pub(super) fn is_time(value: &Value) -> bool {
    /// Where numbers begin that are dates with a time.
    const DATED: f64 = 1e10;
    match value {
        Value::Time(_) => true,
        Value::Int(int) => (int.unsigned_abs() as f64) < DATED,
        Value::UInt(int) => (*int as f64) < DATED,
        Value::Decimal(decimal) => decimal.to_f64().abs() < DATED,
        Value::Double(double) => double.abs() < DATED,
        text => text.is_string() && parse::dated(&to_text(text)).is_none(),
    }
}

/// Whether a value is of a type of dates, with a time or without.
pub(super) fn is_date(value: &Value) -> bool {
    matches!(value, Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_))
}

/// Whether what stands for a date has a time of day too.
pub(super) fn has_time(value: &Value, cx: &EvalContext<'_>) -> bool {
    match value {
        Value::DateTime(_) | Value::Timestamp(_) | Value::Time(_) => true,
        text if text.is_string() => {
            parse::datetime(&to_text(text), cx.statement.time_zone()).is_some_and(|parsed| parsed.has_time)
        }
        number => number.is_number() && to_f64(number, cx).is_ok_and(|number| number >= parse::TIMED as f64),
    }
}

/// Warning 1292 of a value that is no date or time at all.
pub(super) fn incorrect(kind: &str, value: &Value) -> SqlError {
    SqlError::new(crate::error::ER_WRONG_VALUE, &[&kind, value])
}

/// The value as one of type `to`: what CASE, COALESCE and the like make of their branches, so that all
/// rows of a result column are of one kind.
pub(super) fn to_result_type(value: Value, to: &ResultType, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if value.is_null() {
        return Ok(value);
    }
    Ok(match to.kind() {
        FieldKind::Null => value,
        FieldKind::Integer | FieldKind::Year | FieldKind::Bits => match value {
            Value::Int(int) if to.unsigned && int >= 0 => Value::UInt(int as u64),
            Value::UInt(int) if !to.unsigned && int <= i64::MAX as u64 => Value::Int(int as i64),
            other => other,
        },
        FieldKind::Decimal => Value::Decimal(to_decimal(&value, cx)?.showing(to.decimals)),
        FieldKind::Float => match value {
            Value::Float(float) => Value::Float(float),
            other => Value::Float(to_f64(&other, cx)? as f32),
        },
        FieldKind::Double => Value::Double(to_f64(&value, cx)?),
        FieldKind::Date => match value {
            Value::DateTime(value) => Value::Date(value.date()),
            other => other,
        },
        FieldKind::DateTime | FieldKind::Timestamp => match to_datetime(&value, cx)? {
            Some(value) if to.decimals < NOT_FIXED_DECIMALS => Value::DateTime(value.with_fsp(to.decimals)),
            Some(value) => Value::DateTime(value),
            None => Value::Null,
        },
        FieldKind::Time => {
            to_time(&value, cx)?.map_or(Value::Null, |time| Value::Time(Time { fsp: to.decimals, ..time }))
        }
        FieldKind::String | FieldKind::Lob => match value {
            Value::Json(_) if to.field == FieldType::Json => value,
            Value::Text(text) if to.collation == Collation::Binary => filled(text.as_bytes(), to),
            Value::Bytes(bytes) if to.field == FieldType::String && to.collation == Collation::Binary => {
                filled(&bytes, to)
            }
            Value::Text(_) | Value::Bytes(_) => value,
            Value::Hex(bytes) => Value::Bytes(bytes),
            other if to.collation == Collation::Binary => Value::bytes(local(&other, cx).to_string().into_bytes()),
            other => Value::text(local(&other, cx).to_string()),
        },
    })
}

/// Bytes of a type: a BINARY has zeros behind.
fn filled(bytes: &[u8], of: &ResultType) -> Value {
    let least = if of.field == FieldType::String { of.length as usize } else { 0 };
    let mut filled = bytes.to_vec();
    filled.resize(bytes.len().max(least), 0);
    Value::bytes(filled)
}
