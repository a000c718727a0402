//! The bytes of documents in rows and in the binlog, as MySQL has them.
//!
//! Format, little-endian; *size* is two bytes in the small forms and four in the large ones:
//!
//! ```text
//! document  type u8, value
//! object    count size, bytes size, (key offset size, key length u16)*, (type u8, inlined or offset size)*, keys, values
//! array     count size, bytes size, (type u8, inlined or offset size)*, values
//! string    length (7 bits a byte, the lowest first), bytes
//! opaque    field type u8, length as of a string, bytes
//! ```
//! Offsets count from the container's own count. A container is small unless it does not fit.

use std::cell::Cell;
use std::sync::Arc;

use super::{Json, MAX_DEPTH, Object};
use crate::FieldType;
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time};

const SMALL_OBJECT: u8 = 0;
const LARGE_OBJECT: u8 = 1;
const SMALL_ARRAY: u8 = 2;
const LARGE_ARRAY: u8 = 3;
const LITERAL: u8 = 4;
const INT16: u8 = 5;
const UINT16: u8 = 6;
const INT32: u8 = 7;
const UINT32: u8 = 8;
const INT64: u8 = 9;
const UINT64: u8 = 10;
const DOUBLE: u8 = 11;
const STRING: u8 = 12;
const OPAQUE: u8 = 15;

const NULL: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;

/// What is too large for the form of its container.
struct TooLarge;

/// Bytes of counts and offsets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Small,
    Large,
}

impl Form {
    fn size(self) -> usize {
        match self {
            Form::Small => 2,
            Form::Large => 4,
        }
    }

    fn put(self, number: usize, at: usize, out: &mut [u8]) -> Result<(), TooLarge> {
        let number = u32::try_from(number).map_err(|_| TooLarge)?;
        if self == Form::Small && number > u32::from(u16::MAX) {
            return Err(TooLarge);
        }
        out[at..at + self.size()].copy_from_slice(&number.to_le_bytes()[..self.size()]);
        Ok(())
    }

    fn get(self, bytes: &[u8], at: usize) -> Option<usize> {
        let bytes = bytes.get(at..at + self.size())?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }
}

impl Json {
    /// Appends the document's bytes; false (and nothing but garbage) if a key is longer than 65,535 bytes or the document
    /// longer than 4 GiB.
    pub fn write_binary(&self, out: &mut Vec<u8>) -> bool {
        let type_at = out.len();
        out.push(0);
        match write_value(self, out, Form::Large) {
            Ok(code) => {
                out[type_at] = code;
                true
            }
            Err(TooLarge) => false,
        }
    }

    /// The document of these bytes; `None` if they are none.
    pub fn read_binary(bytes: &[u8]) -> Option<Json> {
        // A column that a lenient statement filled without a value is empty: NULL.
        let Some((code, value)) = bytes.split_first() else { return Some(Json::Null) };
        read_value(*code, value, 1, &Cell::new(bytes.len()))
    }
}

/// Appends a value and gives its type. In a small container nothing is large.
fn write_value(json: &Json, out: &mut Vec<u8>, container: Form) -> Result<u8, TooLarge> {
    let (small, large) = match json {
        Json::Array(_) => (SMALL_ARRAY, LARGE_ARRAY),
        Json::Object(_) => (SMALL_OBJECT, LARGE_OBJECT),
        scalar => return Ok(write_scalar(scalar, out)),
    };
    let start = out.len();
    match write_container(json, out, Form::Small) {
        Ok(()) => Ok(small),
        // The container around it has no room for it either.
        Err(TooLarge) if container == Form::Small => Err(TooLarge),
        Err(TooLarge) => {
            out.truncate(start);
            write_container(json, out, Form::Large).map(|()| large)
        }
    }
}

fn write_container(json: &Json, out: &mut Vec<u8>, form: Form) -> Result<(), TooLarge> {
    let start = out.len();
    let size = form.size();
    let (keys, values): (Vec<&str>, Vec<&Json>) = match json {
        Json::Object(members) => members.iter().map(|(key, value)| (&**key, value)).unzip(),
        Json::Array(items) => (Vec::new(), items.iter().collect()),
        _ => (Vec::new(), Vec::new()),
    };
    let entries_at = start + 2 * size + keys.len() * (size + 2);
    out.resize(entries_at + values.len() * (1 + size), 0);
    form.put(values.len(), start, out)?;
    for (at, key) in keys.iter().enumerate() {
        let entry = start + 2 * size + at * (size + 2);
        let length = u16::try_from(key.len()).map_err(|_| TooLarge)?;
        form.put(out.len() - start, entry, out)?;
        out[entry + size..entry + size + 2].copy_from_slice(&length.to_le_bytes());
        out.extend_from_slice(key.as_bytes());
    }
    for (at, value) in values.into_iter().enumerate() {
        let entry = entries_at + at * (1 + size);
        if let Some((code, number)) = inlined(value, form) {
            out[entry] = code;
            out[entry + 1..entry + 1 + size].copy_from_slice(&number.to_le_bytes()[..size]);
            continue;
        }
        form.put(out.len() - start, entry + 1, out)?;
        out[entry] = write_value(value, out, form)?;
    }
    let bytes = out.len() - start;
    form.put(bytes, start + size, out)
}

/// The type and the bits of a value that stands in its entry.
fn inlined(json: &Json, form: Form) -> Option<(u8, u32)> {
    let large = form == Form::Large;
    match json {
        Json::Null => Some((LITERAL, NULL.into())),
        Json::Bool(true) => Some((LITERAL, TRUE.into())),
        Json::Bool(false) => Some((LITERAL, FALSE.into())),
        Json::Int(int) => match (i16::try_from(*int), i32::try_from(*int)) {
            (Ok(int), _) => Some((INT16, int as u16 as u32)),
            (_, Ok(int)) if large => Some((INT32, int as u32)),
            _ => None,
        },
        Json::UInt(int) => match (u16::try_from(*int), u32::try_from(*int)) {
            (Ok(int), _) => Some((UINT16, int.into())),
            (_, Ok(int)) if large => Some((UINT32, int)),
            _ => None,
        },
        _ => None,
    }
}

fn write_scalar(json: &Json, out: &mut Vec<u8>) -> u8 {
    let mut opaque = |field: FieldType, bytes: &[u8]| {
        out.push(field as u8);
        write_length(bytes.len(), out);
        out.extend_from_slice(bytes);
        OPAQUE
    };
    match json {
        Json::Decimal(decimal) => {
            let (precision, scale) = (decimal.precision().max(decimal.scale()).max(1), decimal.scale());
            let mut bytes = vec![precision, scale];
            decimal.write_binary(precision, scale, &mut bytes);
            opaque(FieldType::NewDecimal, &bytes)
        }
        Json::Date(date) => opaque(FieldType::Date, &date.at_midnight().packed().to_le_bytes()),
        Json::DateTime(value) => opaque(FieldType::DateTime, &value.packed().to_le_bytes()),
        Json::Time(time) => opaque(FieldType::Time, &packed_time(*time).to_le_bytes()),
        Json::Opaque(field, bytes) => opaque(*field, bytes),
        Json::Double(double) => {
            out.extend_from_slice(&double.to_le_bytes());
            DOUBLE
        }
        Json::Text(text) => {
            write_length(text.len(), out);
            out.extend_from_slice(text.as_bytes());
            STRING
        }
        Json::Int(int) => match (i16::try_from(*int), i32::try_from(*int)) {
            (Ok(int), _) => {
                out.extend_from_slice(&int.to_le_bytes());
                INT16
            }
            (_, Ok(int)) => {
                out.extend_from_slice(&int.to_le_bytes());
                INT32
            }
            _ => {
                out.extend_from_slice(&int.to_le_bytes());
                INT64
            }
        },
        Json::UInt(int) => match (u16::try_from(*int), u32::try_from(*int)) {
            (Ok(int), _) => {
                out.extend_from_slice(&int.to_le_bytes());
                UINT16
            }
            (_, Ok(int)) => {
                out.extend_from_slice(&int.to_le_bytes());
                UINT32
            }
            _ => {
                out.extend_from_slice(&int.to_le_bytes());
                UINT64
            }
        },
        Json::Bool(truth) => {
            out.push(if *truth { TRUE } else { FALSE });
            LITERAL
        }
        Json::Null | Json::Array(_) | Json::Object(_) => {
            out.push(NULL);
            LITERAL
        }
    }
}

fn write_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// The bytes that a length announces.
fn counted(bytes: &[u8]) -> Option<&[u8]> {
    let mut length: usize = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return bytes.get(at + 1..at + 1 + length);
        }
    }
    None
}

/// Hours, minutes and seconds in bits from the 24th on, microseconds below; the sign is of the whole.
fn packed_time(time: Time) -> i64 {
    let (hours, minutes, seconds, micros) = time.parts();
    let whole = i64::from(hours) << 12 | i64::from(minutes) << 6 | i64::from(seconds);
    let packed = whole << 24 | i64::from(micros);
    if time.micros < 0 { -packed } else { packed }
}

fn unpacked_time(packed: i64) -> Option<Time> {
    let bits = packed.unsigned_abs();
    let whole = i64::try_from(bits >> 24).ok()?;
    let seconds = (whole >> 12) * 3600 + (whole >> 6 & 63) * 60 + (whole & 63);
    let micros = seconds.checked_mul(1_000_000)? + (bits & 0xff_ffff) as i64;
    let (time, in_range) = Time::clamped(if packed < 0 { -micros } else { micros }, 6);
    in_range.then_some(time)
}

/// `left` is how many bytes may still be read: those of a document that is none might be read over and over.
fn read_value(code: u8, bytes: &[u8], depth: usize, left: &Cell<usize>) -> Option<Json> {
    spend(left, 1)?;
    let number = |len: usize| {
        let bytes = bytes.get(..len)?;
        Some(bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    Some(match code {
        SMALL_OBJECT | LARGE_OBJECT | SMALL_ARRAY | LARGE_ARRAY => return read_container(code, bytes, depth, left),
        LITERAL => match *bytes.first()? {
            NULL => Json::Null,
            TRUE => Json::Bool(true),
            FALSE => Json::Bool(false),
            _ => return None,
        },
        INT16 => Json::Int(i64::from(number(2)? as i16)),
        UINT16 => Json::UInt(number(2)?),
        INT32 => Json::Int(i64::from(number(4)? as i32)),
        UINT32 => Json::UInt(number(4)?),
        INT64 => Json::Int(number(8)? as i64),
        UINT64 => Json::UInt(number(8)?),
        DOUBLE => Json::Double(f64::from_bits(number(8)?)),
        STRING => {
            let text = counted(bytes)?;
            spend(left, text.len())?;
            Json::Text(std::str::from_utf8(text).ok()?.into())
        }
        OPAQUE => {
            let (field, rest) = bytes.split_first()?;
            let value = counted(rest)?;
            spend(left, value.len())?;
            return read_opaque(FieldType::from_code(*field)?, value);
        }
        _ => return None,
    })
}

fn spend(left: &Cell<usize>, bytes: usize) -> Option<()> {
    left.set(left.get().checked_sub(bytes)?);
    Some(())
}

fn read_opaque(field: FieldType, bytes: &[u8]) -> Option<Json> {
    let packed = || Some(i64::from_le_bytes(bytes.try_into().ok()?));
    Some(match field {
        FieldType::NewDecimal => {
            let (&precision, &scale) = (bytes.first()?, bytes.get(1)?);
            if !(1..=65).contains(&precision)
                || scale > precision
                || bytes.len() != 2 + Decimal::binary_len(precision, scale)
            {
                return None;
            }
            Json::Decimal(Decimal::read_binary(precision, scale, &bytes[2..])?)
        }
        FieldType::Date => Json::Date(date_of(packed()?)?),
        FieldType::DateTime | FieldType::Timestamp => Json::DateTime(DateTime::from_packed(packed()?, 6)?),
        FieldType::Time => Json::Time(unpacked_time(packed()?)?),
        _ => Json::Opaque(field, bytes.into()),
    })
}

fn date_of(packed: i64) -> Option<Date> {
    DateTime::from_packed(packed, 0).map(DateTime::date)
}

fn read_container(code: u8, bytes: &[u8], depth: usize, left: &Cell<usize>) -> Option<Json> {
    if depth > MAX_DEPTH {
        return None;
    }
    let form = if matches!(code, SMALL_OBJECT | SMALL_ARRAY) { Form::Small } else { Form::Large };
    let is_object = matches!(code, SMALL_OBJECT | LARGE_OBJECT);
    let size = form.size();
    let (count, all) = (form.get(bytes, 0)?, form.get(bytes, size)?);
    let bytes = bytes.get(..all)?;
    let key_entry = if is_object { size + 2 } else { 0 };
    let entries_at = 2 * size + count.checked_mul(key_entry)?;
    if entries_at.checked_add(count.checked_mul(1 + size)?)? > bytes.len() {
        return None;
    }
    let value = |at: usize| {
        let entry = entries_at + at * (1 + size);
        let code = bytes[entry];
        let is_inlined = matches!((code, form), (LITERAL | INT16 | UINT16, _) | (INT32 | UINT32, Form::Large));
        let from = if is_inlined { entry + 1 } else { form.get(bytes, entry + 1)? };
        read_value(code, bytes.get(from..)?, depth + 1, left)
    };
    if !is_object {
        return (0..count).map(value).collect::<Option<Vec<Json>>>().map(Json::Array);
    }
    let member = |at: usize| {
        let entry = 2 * size + at * key_entry;
        let from = form.get(bytes, entry)?;
        let length = usize::from(u16::from_le_bytes(bytes.get(entry + size..entry + size + 2)?.try_into().ok()?));
        spend(left, length)?;
        let key = std::str::from_utf8(bytes.get(from..from.checked_add(length)?)?).ok()?;
        Some((Arc::<str>::from(key), value(at)?))
    };
    let members = (0..count).map(member).collect::<Option<Vec<_>>>()?;
    Some(Json::Object(Object::of(members)))
}
