//! Key bytes whose order is the order of the values.
//!
//! A part is, if its column may be NULL, a byte (0 = NULL, and nothing follows; 1 = a value), and what the column's type
//! writes ([`ColumnType::write_key`]).
//! Each part ends by itself, so that parts of several columns follow each other without more.
//!
//! The limit of [`MAX_KEY_BYTES`] is on declared lengths, where an index is made
//! ([`KeyPart::declared_bytes`]): the key of a string under a collation may be longer than its characters.

use super::row_image::DamagedBytes;
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::column_type::FromKey;
use crate::types::{ColumnType, FieldType, Kind};
use crate::value::Value;

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
        let value = match (self.column_type.key_bytes(), self.prefix) {
            (Some(bytes), _) => bytes,
            (None, Some(prefix)) if self.column_type.kind() == Kind::Bytes => usize::from(prefix),
            (None, Some(prefix)) => 4 * usize::from(prefix),
            (None, None) => usize::try_from(self.column_type.facts().max_bytes).unwrap_or(usize::MAX - 1),
        };
        value + usize::from(self.nullable)
    }

    /// What EXPLAIN counts of the part: as with InnoDB, a string of no fixed length has two bytes for it.
    pub fn explained_bytes(&self) -> usize {
        let facts = self.column_type.facts();
        let of_length = if facts.is_lob || facts.binlog.0 == FieldType::VarChar { 2 } else { 0 };
        self.declared_bytes() + of_length
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
    if !part.column_type.write_key(value, part.prefix, out) {
        let column_type = &part.column_type;
        return Err(SqlError::internal(format_args!("a key over {column_type} was given {value:?}")));
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
    let len = match part.column_type.key_bytes() {
        Some(bytes) => bytes,
        None => {
            let collation = part.column_type.collation().unwrap_or(Collation::Binary);
            collation.key_len(value).ok_or(damaged("ends within a string"))?
        }
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
    if part.prefix.is_some() {
        return Ok(None);
    }
    match part.column_type.read_key(bytes) {
        FromKey::Value(value) => Ok(Some(value)),
        FromKey::Order => Ok(None),
        FromKey::Damaged => Err(damaged("holds a value that its type cannot have")),
    }
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

fn damaged(detail: &'static str) -> DamagedBytes {
    DamagedBytes { what: "key", offset: 0, detail }
}

#[cfg(test)]
mod tests;
