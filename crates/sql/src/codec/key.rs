//! Key bytes whose order is the order of the values.
use crate::types::ColumnType;
use crate::value::Value;
use crate::error::SqlError;
use super::row_image::DamagedBytes;

/// Most bytes that the columns of one key may take.
pub const MAX_KEY_BYTES: usize = 3072;

/// One column of a key, as the codec needs it.
#[derive(Clone, Debug)]
pub struct KeyPart {
    /// Type of the column.
    pub column_type: ColumnType,
    /// Whether it may be NULL: then a byte says so.
    pub nullable: bool,
    /// Characters (bytes of binary strings) that the key covers, if not all.
    pub prefix: Option<u16>,
}

/// Appends the key form of `value`, a stored value of the part's column. A key part that is longer
/// than a key may be is error 1071 .
pub fn encode(_part: &KeyPart, _value: &Value, _out: &mut Vec<u8>) -> Result<(), SqlError> { todo!() }

/// The length of the first part of `key`, to step over it.
pub fn part_len(_part: &KeyPart, _key: &[u8]) -> Result<usize, DamagedBytes> { todo!() }

/// Decodes the first part of `key`, or `None` where the key form does not give the value back (strings under a collation).
pub fn decode(_part: &KeyPart, _key: &[u8]) -> Result<Option<Value>, DamagedBytes> { todo!() }

/// Turns `key` into the smallest key that is greater than every key that starts with it; false if there is none.
pub fn successor(_key: &mut Vec<u8>) -> bool { todo!() }
