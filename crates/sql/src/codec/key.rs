//! Key bytes whose order is the order of the values.
//!
//! Format of one part
//! ```text
//! null byte   only if the column may be NULL: 0 = NULL (nothing follows), 1 = a value
//! integers    big-endian in the type's width, sign flipped         FLOAT, DOUBLE  ordered bits, big-endian
//! DATE        3 bytes big-endian                                   YEAR           1 byte
//! DECIMAL, DATETIME, TIMESTAMP, TIME   as in row images
//! strings     see `collation`; binary strings are escaped
//! ```
//! Each part ends by itself, so that parts of several columns follow each other without more.
//!
//! The limit of [`MAX_KEY_BYTES`] is on declared lengths, where an index is made
//! ([`KeyPart::declared_bytes`]): the key of a string under a collation may be longer than its characters.

use super::row_image::DamagedBytes;
use crate::collation::{Collation, read_escaped_key};
use crate::error::SqlError;
use crate::types::ColumnType;
use crate::types::decimal::Decimal;
use crate::types::scalar;
use crate::value::{Value, first_chars};

/// Most bytes that the columns of one key may be declared with (error 1071).
pub const MAX_KEY_BYTES: usize = 3072;

/// One column of a key, as the codec needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// Type of the column.
    pub column_type: ColumnType,
    /// Whether it may be NULL: then a byte says so.
    pub nullable: bool,
    /// Characters (bytes of binary strings) that the key covers, if not all.
    pub prefix: Option<u16>,
}

impl KeyPart {
    /// What the part counts against [`MAX_KEY_BYTES`]; a TEXT or BLOB without a prefix counts as more.
    pub fn declared_bytes(&self) -> usize {
        let value = match (self.column_type.collation(), self.prefix) {
            (Some(Collation::Binary), Some(prefix)) => usize::from(prefix),
            (Some(_), Some(prefix)) => 4 * usize::from(prefix),
            (Some(_), None) => usize::try_from(self.column_type.max_bytes()).unwrap_or(usize::MAX - 1),
            (None, _) => fixed_len(&self.column_type),
        };
        value + usize::from(self.nullable)
    }
}

/// Appends the key form of `value`, a stored value of the part's column. A value of another kind is an
/// internal error.
pub fn encode(part: &KeyPart, value: &Value, out: &mut Vec<u8>) -> Result<(), SqlError> {
    if part.nullable {
        out.push(u8::from(!value.is_null()));
        if value.is_null() {
            return Ok(());
        }
    }
    match (&part.column_type, value) {
        (ColumnType::Int { width, unsigned: false, .. }, Value::Int(int)) => {
            let len = width.bytes();
            let flipped = *int as u64 ^ 1 << (8 * len - 1);
            out.extend_from_slice(&flipped.to_be_bytes()[8 - len..]);
        }
        (ColumnType::Int { width, unsigned: true, .. }, Value::UInt(int)) => {
            out.extend_from_slice(&int.to_be_bytes()[8 - width.bytes()..]);
        }
        (ColumnType::Year, Value::UInt(year)) => out.push(year.saturating_sub(1900) as u8),
        (ColumnType::Float { .. }, Value::Float(float)) => {
            out.extend_from_slice(&scalar::ordered_f32(*float).to_be_bytes())
        }
        (ColumnType::Double { .. }, Value::Double(double)) => {
            out.extend_from_slice(&scalar::ordered_f64(*double).to_be_bytes());
        }
        (ColumnType::Decimal { precision, scale, .. }, Value::Decimal(decimal)) => {
            decimal.write_binary(*precision, *scale, out);
        }
        (ColumnType::Date, Value::Date(date)) => out.extend_from_slice(&scalar::date_bits(*date).to_be_bytes()[1..]),
        (ColumnType::DateTime { fsp }, Value::DateTime(value)) => scalar::write_datetime(*value, *fsp, out),
        (ColumnType::Timestamp { fsp }, Value::Timestamp(value)) => scalar::write_timestamp(*value, *fsp, out),
        (ColumnType::Time { fsp }, Value::Time(value)) => scalar::write_time(*value, *fsp, out),
        (column_type, Value::Text(text)) if column_type.collation().is_some_and(Collation::is_character) => {
            let text = part.prefix.map_or(&**text, |prefix| first_chars(text, usize::from(prefix)));
            column_type.collation().unwrap_or(Collation::Binary).write_key(text.as_bytes(), out);
        }
        (column_type, Value::Bytes(bytes)) if column_type.collation() == Some(Collation::Binary) => {
            let len = part.prefix.map_or(bytes.len(), |prefix| bytes.len().min(usize::from(prefix)));
            Collation::Binary.write_key(&bytes[..len], out);
        }
        (column_type, value) => {
            return Err(SqlError::internal(format_args!("a key over {column_type} was given {value:?}")));
        }
    }
    Ok(())
}

/// The least key of a column that may be NULL and is not, after the columns of `prefix`.
pub(crate) fn first_value(prefix: &[u8]) -> Vec<u8> {
    [prefix, &[1]].concat()
}

/// The length of the first part of `key`, to step over it.
pub fn part_len(part: &KeyPart, key: &[u8]) -> Result<usize, DamagedBytes> {
    let null_len = usize::from(part.nullable);
    if part.nullable {
        match key.first() {
            Some(0) => return Ok(1),
            Some(1) => {}
            _ => return Err(damaged("has no null byte")),
        }
    }
    let value = key.get(null_len..).unwrap_or_default();
    let len = match part.column_type.collation() {
        Some(collation) => collation.key_len(value).ok_or(damaged("ends within a string"))?,
        None => fixed_len(&part.column_type),
    };
    if len > value.len() {
        return Err(damaged("ends within a value"));
    }
    Ok(null_len + len)
}

/// Decodes the first part of `key`, or `None` where the key form does not give the value back (strings
/// under a collation, prefixes).
pub fn decode(part: &KeyPart, key: &[u8]) -> Result<Option<Value>, DamagedBytes> {
    let len = part_len(part, key)?;
    let bytes = &key[usize::from(part.nullable)..len];
    if part.nullable && len == 1 {
        return Ok(Some(Value::Null));
    }
    let invalid = || damaged("holds a value that its type cannot have");
    let value = match &part.column_type {
        ColumnType::Int { unsigned: true, .. } => Value::UInt(scalar::read_be(bytes)),
        ColumnType::Int { unsigned: false, .. } => {
            let bits = 8 * bytes.len() as u32;
            let number = scalar::read_be(bytes) ^ 1 << (bits - 1);
            Value::Int((number << (64 - bits)) as i64 >> (64 - bits))
        }
        ColumnType::Year => Value::UInt(if bytes[0] == 0 { 0 } else { 1900 + u64::from(bytes[0]) }),
        ColumnType::Float { .. } => Value::Float(scalar::f32_from_ordered(scalar::read_be(bytes) as u32)),
        ColumnType::Double { .. } => Value::Double(scalar::f64_from_ordered(scalar::read_be(bytes))),
        ColumnType::Decimal { precision, scale, .. } => {
            Value::Decimal(Decimal::read_binary(*precision, *scale, bytes).ok_or_else(invalid)?)
        }
        ColumnType::Date => Value::Date(scalar::date_from_bits(scalar::read_be(bytes) as u32).ok_or_else(invalid)?),
        ColumnType::DateTime { fsp } => Value::DateTime(scalar::read_datetime(bytes, *fsp).ok_or_else(invalid)?),
        ColumnType::Timestamp { fsp } => Value::Timestamp(scalar::read_timestamp(bytes, *fsp).ok_or_else(invalid)?),
        ColumnType::Time { fsp } => Value::Time(scalar::read_time(bytes, *fsp).ok_or_else(invalid)?),
        _ if part.prefix.is_some() => return Ok(None),
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Text { collation, .. } => {
            if *collation != Collation::Utf8mb4_0900Bin {
                return Ok(None);
            }
            let bytes = read_escaped_key(bytes).ok_or_else(invalid)?;
            Value::text(String::from_utf8(bytes).map_err(|_| invalid())?)
        }
        ColumnType::Binary { .. } | ColumnType::VarBinary { .. } | ColumnType::Blob { .. } => {
            Value::bytes(read_escaped_key(bytes).ok_or_else(invalid)?)
        }
    };
    Ok(Some(value))
}

/// Turns `key` into the smallest key that is greater than every key that starts with it; false (and
/// an empty key) if there is none.
pub fn successor(key: &mut Vec<u8>) -> bool {
    while let Some(last) = key.pop() {
        if last < 0xff {
            key.push(last + 1);
            return true;
        }
    }
    false
}

/// Bytes of a value's key form; 0 for strings.
fn fixed_len(column_type: &ColumnType) -> usize {
    match column_type {
        ColumnType::Int { width, .. } => width.bytes(),
        ColumnType::Decimal { precision, scale, .. } => Decimal::binary_len(*precision, *scale),
        ColumnType::Float { .. } => 4,
        ColumnType::Double { .. } => 8,
        ColumnType::Date => 3,
        ColumnType::DateTime { fsp } => scalar::datetime_len(*fsp),
        ColumnType::Timestamp { fsp } => scalar::timestamp_len(*fsp),
        ColumnType::Time { fsp } => scalar::time_len(*fsp),
        ColumnType::Year => 1,
        _ => 0,
    }
}

fn damaged(detail: &'static str) -> DamagedBytes {
    DamagedBytes { what: "key", offset: 0, detail }
}

#[cfg(test)]
mod tests;
