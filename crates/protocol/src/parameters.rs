//! The parameters of COM_STMT_EXECUTE.
//!
//! Format: statement id, flags, iteration count; then, if there are parameters, a bitmap of the NULLs,
//! a byte that says whether types follow, the types, and the values that are neither NULL nor sent
//! before by COM_STMT_SEND_LONG_DATA.

use cohort_types::decimal;
use cohort_types::temporal::{Date, DateTime, SECOND_US, Time};
use cohort_types::{Charset, FieldType, Value};

use super::decode::{Decoder, Malformed};

const UNKNOWN: Malformed = Malformed("execute: unknown type");

/// Set in the second byte of a parameter's type.
const UNSIGNED: u8 = 0x80;

/// The head of COM_STMT_EXECUTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecuteHead {
    /// Which statement.
    pub statement_id: u32,
    /// Which kind of cursor; 0 for none.
    pub cursor: u8,
}

/// The type of a parameter, as bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    field: FieldType,
    flags: u8,
}

/// Reads statement id, flags and iteration count.
pub fn decode_head(input: &mut Decoder<'_>) -> Result<ExecuteHead, Malformed> {
    let statement_id = input.u32("execute: statement id")?;
    let flags = input.u8("execute: flags")?;
    input.u32("execute: iteration count")?;
    Ok(ExecuteHead { statement_id, cursor: flags })
}

/// Reads as many parameters as `long_data` has places into `values`, which is cleared first. `types`
/// keeps what was bound in an earlier execution, for clients that do not repeat it. Texts are in this character set.
pub fn decode_parameters(
    input: &mut Decoder<'_>,
    types: &mut Vec<ParameterType>,
    long_data: &[Option<Vec<u8>>],
    charset: Charset,
    values: &mut Vec<Value>,
) -> Result<(), Malformed> {
    values.clear();
    let count = long_data.len();
    if count == 0 {
        return Ok(());
    }
    let nulls = input.bytes(count.div_ceil(8), "execute: NULL bitmap")?;
    if input.u8("execute: new types flag")? != 0 {
        types.clear();
        for _ in 0..count {
            let field = FieldType::from_code(input.u8("execute: type")?).ok_or(UNKNOWN)?;
            types.push(ParameterType { field, flags: input.u8("execute: type")? });
        }
    }
    if types.len() != count {
        return Err(Malformed("execute: parameters without types"));
    }
    for (index, (bound, long)) in types.iter().zip(long_data).enumerate() {
        let value = match long {
            Some(bytes) => string(bytes, bound.field, charset),
            None if nulls[index / 8] & 1 << (index % 8) != 0 => Value::Null,
            None => decode_value(input, *bound, charset)?,
        };
        values.push(value);
    }
    if !input.is_empty() {
        return Err(Malformed("execute: bytes after the last parameter"));
    }
    Ok(())
}

fn decode_value(input: &mut Decoder<'_>, bound: ParameterType, charset: Charset) -> Result<Value, Malformed> {
    use FieldType::*;
    const WHAT: &str = "execute: value";
    let unsigned = bound.flags & UNSIGNED != 0;
    Ok(match bound.field {
        Null => Value::Null,
        Tiny | Bool => match input.u8(WHAT)? {
            byte if unsigned => Value::UInt(byte.into()),
            byte => Value::Int((byte as i8).into()),
        },
        Short | Year => match input.u16(WHAT)? {
            word if unsigned => Value::UInt(word.into()),
            word => Value::Int((word as i16).into()),
        },
        Long | Int24 => match input.u32(WHAT)? {
            word if unsigned => Value::UInt(word.into()),
            word => Value::Int((word as i32).into()),
        },
        LongLong => match input.u64(WHAT)? {
            word if unsigned => Value::UInt(word),
            word => Value::Int(word as i64),
        },
        Float => Value::Double(f64::from(f32::from_bits(input.u32(WHAT)?))),
        Double => Value::Double(f64::from_bits(input.u64(WHAT)?)),
        Date | DateTime | Timestamp => decode_datetime(input, bound.field)?,
        Time => decode_time(input)?,
        Decimal | NewDecimal => {
            let text = std::str::from_utf8(input.length_encoded_bytes(WHAT)?).ok();
            Value::Decimal(text.and_then(decimal::Decimal::parse).ok_or(Malformed("execute: decimal"))?)
        }
        VarChar | Bit | Json | Enum | Set | TinyBlob | MediumBlob | LongBlob | Blob | VarString | String | Geometry => {
            string(input.length_encoded_bytes(WHAT)?, bound.field, charset)
        }
        Timestamp2 | DateTime2 | Time2 => return Err(UNKNOWN),
    })
}

/// Characters where they are, bytes where the client says so or they cannot be characters.
fn string(bytes: &[u8], field: FieldType, charset: Charset) -> Value {
    use FieldType::{Bit, Blob, LongBlob, MediumBlob, TinyBlob};
    if matches!(field, TinyBlob | MediumBlob | LongBlob | Blob | Bit) {
        return Value::bytes(bytes);
    }
    match std::str::from_utf8(&charset.decode_statement(bytes)) {
        Ok(text) => Value::text(text),
        Err(_) => Value::bytes(bytes),
    }
}

fn decode_datetime(input: &mut Decoder<'_>, field: FieldType) -> Result<Value, Malformed> {
    const WHAT: &str = "execute: date";
    let length = input.u8(WHAT)?;
    let mut parts = Decoder::new(input.bytes(usize::from(length), WHAT)?);
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(Malformed(WHAT));
    }
    let mut date = Date::ZERO;
    if length >= 4 {
        date = Date { year: parts.u16(WHAT)?, month: parts.u8(WHAT)?, day: parts.u8(WHAT)? };
    }
    let mut micros = 0;
    if length >= 7 {
        micros = clock_micros(&mut parts, WHAT)?;
    }
    let mut fsp = 0;
    if length == 11 {
        let fraction = i64::from(parts.u32(WHAT)?);
        if fraction >= SECOND_US {
            return Err(Malformed(WHAT));
        }
        micros += fraction;
        fsp = if fraction == 0 { 0 } else { 6 };
    }
    if !date.is_valid() {
        return Err(Malformed(WHAT));
    }
    if field == FieldType::Date {
        return Ok(Value::Date(date));
    }
    Ok(Value::DateTime(DateTime::new(date, micros, fsp)))
}

/// Hours, minutes and seconds of a day as microseconds.
fn clock_micros(parts: &mut Decoder<'_>, what: &'static str) -> Result<i64, Malformed> {
    let (hour, minute, second) = (parts.u8(what)?, parts.u8(what)?, parts.u8(what)?);
    if hour > 23 || minute > 59 || second > 59 {
        return Err(Malformed(what));
    }
    Ok((i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second)) * SECOND_US)
}

fn decode_time(input: &mut Decoder<'_>) -> Result<Value, Malformed> {
    const WHAT: &str = "execute: time";
    let length = input.u8(WHAT)?;
    let mut parts = Decoder::new(input.bytes(usize::from(length), WHAT)?);
    if length == 0 {
        return Ok(Value::Time(Time::clamped(0, 0).0));
    }
    if !matches!(length, 8 | 12) {
        return Err(Malformed(WHAT));
    }
    let negative = parts.u8(WHAT)? != 0;
    // More days than a TIME can have are clamped below; so many that they overflow must not come so far.
    let days = i64::from(parts.u32(WHAT)?).min(1_000_000);
    let mut micros = days * 86_400 * SECOND_US + clock_micros(&mut parts, WHAT)?;
    let mut fsp = 0;
    if length == 12 {
        let fraction = i64::from(parts.u32(WHAT)?);
        if fraction >= SECOND_US {
            return Err(Malformed(WHAT));
        }
        micros += fraction;
        fsp = if fraction == 0 { 0 } else { 6 };
    }
    Ok(Value::Time(Time::clamped(if negative { -micros } else { micros }, fsp).0))
}

#[cfg(test)]
mod tests;
