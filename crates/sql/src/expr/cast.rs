//! CAST and CONVERT.

use std::fmt;
use std::sync::Arc;

use super::convert::{
    datetime_of_number, incorrect, local, now, to_bytes, to_datetime, to_decimal, to_f64, to_integer, to_text, to_time,
    truncated,
};
use super::interval::overflow;
use super::{CastType, EvalContext};
use crate::collation::Collation;
use crate::error::{
    ER_INVALID_CHARACTER_STRING, ER_INVALID_JSON_CHARSET, ER_INVALID_JSON_TEXT_IN_PARAM, ER_WARN_DATA_OUT_OF_RANGE,
    ER_WRONG_CONSTANT, SqlError,
};
use crate::types::column_type::{year_of_moment, year_of_number};
use crate::types::decimal::Decimal;
use crate::types::json::Json;
use crate::types::number_text;
use crate::types::temporal::{DateTime, parse};
use crate::types::{DateUse, FieldType, ResultType, TemporalKind};
use crate::value::{Value, first_chars};

/// `CAST(value AS to)`
pub(super) fn cast(value: &Value, to: &CastType, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let value = &local(value, cx);
    Ok(match to {
        CastType::Signed => Value::Int(to_i64_wrapping(value, cx)?),
        CastType::Unsigned => Value::UInt(to_u64_wrapping(value, cx)?),
        CastType::Decimal { precision, scale } => {
            let number = to_decimal(value, cx)?.round_to(*scale);
            if number.fits(*precision, *scale) {
                Value::Decimal(number)
            } else {
                let whole = format!("cast({value} as {to})");
                cx.statement.warn(SqlError::new(ER_WARN_DATA_OUT_OF_RANGE, &[&whole, &1]))?;
                Value::Decimal(Decimal::largest(*precision, *scale, number.is_negative()))
            }
        }
        CastType::Float => Value::Float(to_f64(value, cx)?.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32),
        CastType::Double => Value::Double(to_f64(value, cx)?),
        CastType::Char { chars, collation } => {
            let charset = collation.charset();
            let text = match value {
                Value::Bytes(bytes) | Value::Hex(bytes) => match charset.decode(bytes) {
                    Ok(text) => text.into_owned(),
                    // What is no text in the character set is none at all.
                    Err(_) => {
                        let error = SqlError::new(ER_INVALID_CHARACTER_STRING, &[&charset.name(), value]);
                        cx.statement.warn(error)?;
                        return Ok(Value::Null);
                    }
                },
                other => charset.within(&other.to_string()).into_owned(),
            };
            let kept = chars.map_or(&*text, |chars| first_chars(&text, chars as usize));
            if kept.len() < text.len() {
                cx.statement.warn(truncated("CHAR", value))?;
            }
            Value::text(kept)
        }
        CastType::Binary { bytes: len } => {
            let bytes = to_bytes(value);
            let Some(len) = *len else { return Ok(Value::bytes(&*bytes)) };
            let mut kept = bytes.into_owned();
            if kept.len() > len as usize {
                cx.statement.warn(truncated("BINARY", value))?;
            } else if len as usize > cx.statement.max_allowed_packet() {
                return Ok(Value::Null);
            }
            kept.resize(len as usize, 0);
            Value::bytes(kept)
        }
        CastType::Encoded { charset } => match value {
            Value::Bytes(_) | Value::Hex(_) => value.clone(),
            text => Value::bytes(&*charset.encode(&to_text(text))),
        },
        CastType::Json => Value::Json(Arc::new(as_json(value)?)),
        CastType::Date => allowed_datetime(value, cx)?.map_or(Value::Null, |value| Value::Date(value.date())),
        CastType::DateTime { fsp } => match allowed_datetime(value, cx)?.map(|value| value.round_within_calendar(*fsp))
        {
            Some(Some(rounded)) => Value::DateTime(rounded),
            Some(None) => overflow(cx)?,
            None => Value::Null,
        },
        CastType::Time { fsp } => to_time(value, cx)?.map_or(Value::Null, |time| Value::Time(time.round(*fsp))),
        CastType::Year => {
            let number = match year_of_moment(value, cx.statement.time_zone(), || now(cx, 0)) {
                Some(year) => i64::from(year),
                None => to_integer(value, cx)?.clamp(-1, 10_000) as i64,
            };
            match year_of_number(number) {
                Some(year) => Value::UInt(year.into()),
                None => {
                    cx.statement.warn(truncated("YEAR", value))?;
                    Value::Null
                }
            }
        }
        CastType::DateConstant { field } => date_constant(value, *field, cx)?,
        CastType::YearConstant => year_constant(value),
    })
}

/// The document of a text; anything else is a part of one. Error 3141 for a text that is none, 3144 for bytes.
fn as_json(value: &Value) -> Result<Json, SqlError> {
    match value {
        Value::Text(text) => Json::parse(text).map_err(|error| {
            error
                .into_error(|what, at| SqlError::new(ER_INVALID_JSON_TEXT_IN_PARAM, &[&1, &"cast_as_json", &what, &at]))
        }),
        Value::Bytes(_) | Value::Hex(_) => Err(SqlError::new(ER_INVALID_JSON_CHARSET, &[&"binary"])),
        other => Ok(Json::of_value(other)),
    }
}

/// The value as a date and time with the zero parts that the SQL mode allows. What is of a type of dates has been let in.
fn allowed_datetime(value: &Value, cx: &EvalContext<'_>) -> Result<Option<DateTime>, SqlError> {
    let found = to_datetime(value, cx)?;
    if value.is_temporal() || found.is_none_or(|found| cx.statement.sql_mode().allows(found, DateUse::Value)) {
        return Ok(found);
    }
    cx.statement.warn(incorrect("datetime", value))?;
    Ok(None)
}

/// A constant as what a date is compared with. What is neither text nor the number of a date stays.
fn date_constant(value: &Value, field: FieldType, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if !value.is_string() {
        return Ok(datetime_of_number(value).map_or_else(|| value.clone(), Value::DateTime));
    }
    let kind = match field.kind().temporal() {
        Some(TemporalKind::Date) => "DATE",
        Some(TemporalKind::Timestamp) => "TIMESTAMP",
        Some(TemporalKind::DateTime | TemporalKind::Time) | None => "DATETIME",
    };
    let mode = cx.statement.sql_mode();
    let parsed = parse::datetime(&to_text(value), cx.statement.time_zone());
    let Some(parsed) = parsed.filter(|parsed| mode.allows(parsed.value, DateUse::Value)) else {
        return Err(SqlError::new(ER_WRONG_CONSTANT, &[&kind, value]));
    };
    if parsed.cut {
        cx.statement.warn(truncated(&kind.to_ascii_lowercase(), value))?;
    }
    Ok(Value::DateTime(parsed.value))
}

/// A constant as what a YEAR is compared with; what is no year of two digits stays.
fn year_constant(value: &Value) -> Value {
    let whole = match value {
        Value::Int(int) => i128::from(*int),
        Value::UInt(int) => i128::from(*int),
        Value::Decimal(decimal) if decimal.integer_digits() <= 2 => decimal.to_i128().0,
        Value::Text(_) | Value::Bytes(_) => {
            let bytes = value.as_bytes().unwrap_or_default();
            let read = number_text::double(bytes);
            match read.value.round() as i128 {
                _ if !read.found => return value.clone(),
                0 if bytes.len() != 4 => 2000,
                year => year,
            }
        }
        _ => return value.clone(),
    };
    match whole {
        1..=69 => Value::Int(whole as i64 + 2000),
        70..=99 => Value::Int(whole as i64 + 1900),
        0..=9999 => Value::Int(whole as i64),
        _ => value.clone(),
    }
}

/// CAST AS SIGNED: text beyond the range of 64 bits is cut to it with a warning, an unsigned number keeps
/// its bits.
fn to_i64_wrapping(value: &Value, cx: &EvalContext<'_>) -> Result<i64, SqlError> {
    if let Value::UInt(int) = value {
        return Ok(*int as i64);
    }
    let integer = integer_of(value, cx)?;
    let cut = integer.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
    if cut != integer || (!matches!(value, Value::Text(_) | Value::Bytes(_)) && cut > i128::from(i64::MAX)) {
        cx.statement.warn(truncated(kind_of(value), value))?;
        // A text beyond the range is the greatest unsigned number, whose bits are kept.
        let from_text = matches!(value, Value::Text(_) | Value::Bytes(_));
        return Ok(if from_text { cut as u64 as i64 } else { cut.min(i128::from(i64::MAX)) as i64 });
    }
    Ok(cut as u64 as i64)
}

/// CAST AS UNSIGNED: negative numbers keep their bits.
fn to_u64_wrapping(value: &Value, cx: &EvalContext<'_>) -> Result<u64, SqlError> {
    if let Value::Int(int) = value {
        return Ok(*int as u64);
    }
    let integer = integer_of(value, cx)?;
    let cut = integer.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
    if cut != integer || (matches!(value, Value::Decimal(_)) && cut < 0) {
        cx.statement.warn(truncated(kind_of(value), value))?;
        return Ok(if matches!(value, Value::Decimal(_)) { cut.max(0) as u64 } else { cut as u64 });
    }
    Ok(cut as u64)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Decimal(_) => "DECIMAL",
        Value::Double(_) | Value::Float(_) => "DOUBLE",
        _ => "INTEGER",
    }
}

fn integer_of(value: &Value, cx: &EvalContext<'_>) -> Result<i128, SqlError> {
    let (Value::Text(_) | Value::Bytes(_)) = value else { return to_integer(value, cx) };
    let bytes = value.as_bytes().unwrap_or_default();
    let read = number_text::integer(bytes);
    if !read.complete {
        cx.statement.warn(truncated("INTEGER", value))?;
    }
    Ok(read.value)
}

impl CastType {
    /// The type of the result, for an argument of type `from`.
    pub(super) fn result_type(&self, from: ResultType) -> ResultType {
        let base = match self {
            CastType::Signed => ResultType::integer(21),
            CastType::Unsigned => ResultType::unsigned(21),
            CastType::Decimal { precision, scale } => ResultType::decimal(u32::from(*precision), *scale),
            CastType::Float => ResultType { field: FieldType::Float, length: 12, ..ResultType::double() },
            CastType::Double => ResultType::double(),
            CastType::Char { chars, collation } => ResultType::string(chars.unwrap_or(from.length), *collation),
            CastType::Binary { bytes } => {
                let each = from.collation.charset().char_bytes() as u32;
                let bytes = bytes.unwrap_or(from.length.saturating_mul(each));
                ResultType::string(bytes, Collation::Binary)
            }
            CastType::Encoded { .. } => ResultType::string(from.length, Collation::Binary),
            CastType::Json => ResultType::json(),
            CastType::Date => ResultType::temporal(FieldType::Date, 0),
            CastType::DateTime { fsp } => ResultType::temporal(FieldType::DateTime, *fsp),
            CastType::Time { fsp } => ResultType::temporal(FieldType::Time, *fsp),
            CastType::Year => ResultType { field: FieldType::Year, length: 4, ..ResultType::unsigned(4) },
            CastType::DateConstant { .. } => ResultType::temporal(FieldType::DateTime, 6),
            CastType::YearConstant => ResultType::integer(4),
        };
        base.nullable(true)
    }
}

impl fmt::Display for CastType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CastType::Signed => f.write_str("signed"),
            CastType::Unsigned => f.write_str("unsigned"),
            CastType::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            CastType::Float => f.write_str("float"),
            CastType::Double => f.write_str("double"),
            CastType::Char { chars: Some(chars), .. } => write!(f, "char({chars})"),
            CastType::Char { .. } => f.write_str("char"),
            CastType::Binary { bytes: Some(bytes) } => write!(f, "binary({bytes})"),
            CastType::Binary { .. } | CastType::Encoded { .. } => f.write_str("binary"),
            CastType::Json => f.write_str("json"),
            CastType::Date => f.write_str("date"),
            CastType::DateTime { fsp } => write!(f, "datetime({fsp})"),
            CastType::Time { fsp } => write!(f, "time({fsp})"),
            CastType::DateConstant { .. } => f.write_str("date"),
            CastType::Year | CastType::YearConstant => f.write_str("year"),
        }
    }
}
