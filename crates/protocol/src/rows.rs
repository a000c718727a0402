//! Rows of a result: as text for COM_QUERY, as binary values for COM_STMT_EXECUTE.
//!
//! Format: a text row is each value as a length-encoded string, 0xfb for NULL. A binary row is a zero
//! byte, a bitmap of the NULLs beginning at bit 2, and the values that are not NULL in the column's
//! own form.

use std::io::Write as _;

use cohort_types::SqlError;
use cohort_types::temporal::{DateTime, Time, TimeZone, parse};
use cohort_types::value::Value;
use cohort_types::{FieldType, ResultType};

use super::encode::put_length_encoded_bytes;

const NULL_TEXT: u8 = 0xfb;

/// Appends the payload of a text row.
pub fn encode_text_row(out: &mut Vec<u8>, row: &[Value], types: &[ResultType]) {
    for (value, result_type) in row.iter().zip(types) {
        match value {
            Value::Null => out.push(NULL_TEXT),
            Value::UInt(_) | Value::Double(_) | Value::Float(_) if result_type.shapes_text() => {
                put_shaped(out, value, result_type);
            }
            value => put_text(out, value),
        }
    }
}

fn put_shaped(out: &mut Vec<u8>, value: &Value, result_type: &ResultType) {
    let mut text = Vec::new();
    result_type.write_text(value, &mut text);
    put_length_encoded_bytes(out, &text);
}

/// Appends the payload of a binary row. Values are brought to their column's type; an error means that
/// one cannot be, and leaves `out` with a part of the row.
pub fn encode_binary_row(out: &mut Vec<u8>, row: &[Value], types: &[ResultType]) -> Result<(), SqlError> {
    out.push(0);
    let bitmap = out.len();
    out.resize(bitmap + (row.len() + 9) / 8, 0);
    for (index, (value, result_type)) in row.iter().zip(types).enumerate() {
        match value {
            Value::Null => out[bitmap + (index + 2) / 8] |= 1 << ((index + 2) % 8),
            value => put_binary(out, value, result_type)?,
        }
    }
    Ok(())
}

/// Appends the shortest text form of a value with its length. All that is not a string is shorter than
/// 251 bytes, so that its length is one byte.
fn put_text(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Text(text) => return put_length_encoded_bytes(out, text.as_bytes()),
        Value::Bytes(bytes) | Value::Hex(bytes) => return put_length_encoded_bytes(out, bytes),
        Value::Member(member) => return put_length_encoded_bytes(out, member.text.as_bytes()),
        Value::Json(json) => return put_length_encoded_bytes(out, json.to_string().as_bytes()),
        _ => {}
    }
    let at = out.len();
    out.push(0);
    match value {
        Value::Int(value) => put_digits(out, value.unsigned_abs(), *value < 0),
        Value::UInt(value) => put_digits(out, *value, false),
        // Writing to a vector cannot fail.
        other => drop(write!(out, "{other}")),
    }
    let length = out.len() - at - 1;
    debug_assert!(length < 251, "{value:?} is longer than its length byte can say");
    out[at] = length as u8;
}

fn put_digits(out: &mut Vec<u8>, mut value: u64, negative: bool) {
    if negative {
        out.push(b'-');
    }
    // Where they stay: the processor waits for what is copied right after it was written, a byte at a time.
    let digits = value.checked_ilog10().unwrap_or(0) as usize + 1;
    let from = out.len();
    out.extend_from_slice(&[0; 20]);
    out.truncate(from + digits);
    for place in out[from..].rchunks_mut(2) {
        let two = (value % 100) as u8;
        value /= 100;
        match place {
            [tens, ones] => [*tens, *ones] = [b'0' + two / 10, b'0' + two % 10],
            rest => rest.fill(b'0' + two),
        }
    }
}

fn put_binary(out: &mut Vec<u8>, value: &Value, result_type: &ResultType) -> Result<(), SqlError> {
    use FieldType::*;
    match result_type.field {
        Tiny | Bool => out.extend_from_slice(&integer(value)?.to_le_bytes()[..1]),
        Short | Year => out.extend_from_slice(&integer(value)?.to_le_bytes()[..2]),
        Long | Int24 => out.extend_from_slice(&integer(value)?.to_le_bytes()[..4]),
        LongLong => out.extend_from_slice(&integer(value)?.to_le_bytes()[..8]),
        Float => out.extend_from_slice(&(double(value)? as f32).to_le_bytes()),
        Double => out.extend_from_slice(&double(value)?.to_le_bytes()),
        Date | DateTime | DateTime2 | Timestamp | Timestamp2 => {
            put_datetime(out, datetime(value)?, result_type.field == Date);
        }
        Time | Time2 => put_time(out, time(value)?),
        Bit => put_shaped(out, value, result_type),
        Null | Decimal | NewDecimal | VarChar | VarString | String | TinyBlob | MediumBlob | LongBlob | Blob | Json
        | Enum | Set | Geometry => put_text(out, value),
    }
    Ok(())
}

fn mismatch(value: &Value, what: &str) -> SqlError {
    SqlError::internal(format_args!("the value {value:?} cannot be sent as {what}"))
}

fn integer(value: &Value) -> Result<i128, SqlError> {
    let number = match value {
        Value::Int(value) => i128::from(*value),
        Value::UInt(value) => i128::from(*value),
        Value::Decimal(value) => value.to_i128().0,
        Value::Float(value) => f64::from(*value).round() as i128,
        Value::Double(value) => value.round() as i128,
        Value::Text(text) => text.trim().parse().map_err(|_| mismatch(value, "an integer"))?,
        _ => return Err(mismatch(value, "an integer")),
    };
    if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number) {
        return Ok(number);
    }
    Err(mismatch(value, "an integer"))
}

fn double(value: &Value) -> Result<f64, SqlError> {
    match value {
        Value::Int(value) => Ok(*value as f64),
        Value::UInt(value) => Ok(*value as f64),
        Value::Float(value) => Ok(f64::from(*value)),
        Value::Double(value) => Ok(*value),
        Value::Decimal(value) => Ok(value.to_f64()),
        Value::Text(text) => text.trim().parse().map_err(|_| mismatch(value, "a number")),
        _ => Err(mismatch(value, "a number")),
    }
}

fn datetime(value: &Value) -> Result<DateTime, SqlError> {
    let parsed = match value {
        Value::Date(date) => Some(date.at_midnight()),
        Value::DateTime(datetime) => Some(*datetime),
        Value::Timestamp(timestamp) => Some(timestamp.to_datetime(TimeZone::UTC)),
        Value::Text(text) => parse::datetime(text, TimeZone::UTC).map(|parsed| parsed.value),
        Value::Int(number) => parse::datetime_from_number(*number),
        _ => None,
    };
    parsed.ok_or_else(|| mismatch(value, "a date"))
}

fn time(value: &Value) -> Result<Time, SqlError> {
    let parsed = match value {
        Value::Time(time) => Some(*time),
        Value::Text(text) => parse::time(text).map(|(parsed, _)| parsed.value),
        Value::Int(number) => parse::time_from_number(*number).map(|(time, _)| time),
        _ => None,
    };
    parsed.ok_or_else(|| mismatch(value, "a time"))
}

fn put_datetime(out: &mut Vec<u8>, value: DateTime, date_only: bool) {
    let date = value.date();
    let (hour, minute, second, micros) = value.clock();
    let length = match (date_only, micros, hour | minute | second) {
        (false, 1.., _) => 11,
        (false, 0, 1..) => 7,
        _ if date.is_zero() => 0,
        _ => 4,
    };
    out.push(length);
    if length >= 4 {
        out.extend_from_slice(&date.year.to_le_bytes());
        out.extend_from_slice(&[date.month, date.day]);
    }
    if length >= 7 {
        out.extend_from_slice(&[hour, minute, second]);
    }
    if length == 11 {
        out.extend_from_slice(&micros.to_le_bytes());
    }
}

fn put_time(out: &mut Vec<u8>, value: Time) {
    let (hours, minutes, seconds, micros) = value.parts();
    let length = match (micros, value.micros) {
        (1.., _) => 12,
        (0, 0) => 0,
        _ => 8,
    };
    out.push(length);
    if length >= 8 {
        out.push(u8::from(value.micros < 0));
        out.extend_from_slice(&(hours / 24).to_le_bytes());
        out.extend_from_slice(&[(hours % 24) as u8, minutes, seconds]);
    }
    if length == 12 {
        out.extend_from_slice(&micros.to_le_bytes());
    }
}

#[cfg(test)]
mod tests;
