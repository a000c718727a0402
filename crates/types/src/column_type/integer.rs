//! TINYINT to BIGINT, and BOOL.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, read_be, read_le, signedness};
use crate::collation::Collation;
use crate::error::{
    ER_TOO_BIG_DISPLAYWIDTH, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_WARN_DATA_OUT_OF_RANGE, SqlError,
    WARN_DATA_TRUNCATED,
};
use crate::store::StoreContext;
use crate::value::hex_number;
use crate::{FieldType, ResultType, Value, number_text};

/// Width of an integer column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntWidth {
    /// 1 byte.
    Tiny,
    /// 2 bytes.
    Small,
    /// 3 bytes.
    Medium,
    /// 4 bytes.
    Int,
    /// 8 bytes.
    Big,
}

/// Little-endian in rows; big-endian with the sign flipped in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntType {
    /// Bytes.
    pub width: IntWidth,
    /// UNSIGNED.
    pub unsigned: bool,
    /// The display width that was declared, if any.
    pub display_width: Option<u8>,
}

impl IntWidth {
    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            IntWidth::Tiny => 1,
            IntWidth::Small => 2,
            IntWidth::Medium => 3,
            IntWidth::Int => 4,
            IntWidth::Big => 8,
        }
    }

    /// The least and the greatest value.
    pub fn range(self, unsigned: bool) -> (i128, i128) {
        let bits = 8 * self.bytes() as u32;
        if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
    }
}

impl IntType {
    /// Whether a signed column holds the number.
    pub(super) fn holds(self, number: i64) -> bool {
        let unused = 64 - 8 * self.width.bytes() as u32;
        !self.unsigned && number << unused >> unused == number
    }
}

impl Faces for IntType {
    no_characters!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        let width = match name {
            "TINYINT" | "INT1" => IntWidth::Tiny,
            "SMALLINT" | "INT2" => IntWidth::Small,
            "MEDIUMINT" | "INT3" | "MIDDLEINT" => IntWidth::Medium,
            "INT" | "INTEGER" | "INT4" => IntWidth::Int,
            "BIGINT" | "INT8" => IntWidth::Big,
            "BOOL" | "BOOLEAN" => {
                return Ok(Some(IntType { width: IntWidth::Tiny, unsigned: false, display_width: Some(1) }.into()));
            }
            _ => return Ok(None),
        };
        let display_width = words.number()?;
        if display_width.is_some_and(|width| width > 255) {
            return Err(SqlError::new(ER_TOO_BIG_DISPLAYWIDTH, &[&words.column(), &255]));
        }
        let display_width = display_width.map(|width| width as u8);
        Ok(Some(IntType { width, unsigned: signedness(words)?, display_width }.into()))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().data_type)?;
        // MySQL 8.0 shows no other display widths.
        if *self == (IntType { width: IntWidth::Tiny, unsigned: false, display_width: Some(1) }) {
            f.write_str("(1)")?;
        }
        f.write_str(if self.unsigned { " unsigned" } else { "" })
    }

    fn facts(&self) -> Facts {
        let (data_type, digits, field) = match self.width {
            IntWidth::Tiny => ("tinyint", 3, FieldType::Tiny),
            IntWidth::Small => ("smallint", 5, FieldType::Short),
            IntWidth::Medium => ("mediumint", 7, FieldType::Int24),
            IntWidth::Int => ("int", 10, FieldType::Long),
            IntWidth::Big => ("bigint", 19 + u64::from(self.unsigned), FieldType::LongLong),
        };
        Facts {
            unsigned: self.unsigned,
            counter_max: Some(self.width.range(self.unsigned).1 as u64),
            ..Facts::scalar(data_type, Sizes::number(digits, Some(0)), (field, &[]))
        }
    }

    fn kind(&self) -> Kind {
        Kind::Integer
    }

    fn implicit_default(&self) -> Value {
        if self.unsigned { Value::UInt(0) } else { Value::Int(0) }
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let mut cut = false;
        let number: i128 = match &value {
            Value::Int(int) => i128::from(*int),
            Value::UInt(int) => i128::from(*int),
            Value::Hex(bytes) => i128::from(hex_number(bytes)),
            Value::Float(float) => double_to_integer(f64::from(*float)),
            Value::Double(double) => double_to_integer(*double),
            // Also one that rounds to zero.
            Value::Decimal(decimal) if self.unsigned && decimal.is_negative() => i128::MIN,
            Value::Decimal(decimal) => decimal.to_i128().0,
            Value::Text(_) | Value::Bytes(_) | Value::Member(_) | Value::Json(_) => {
                let read = number_text::for_integers(value.as_bytes().unwrap_or_default());
                if !read.found {
                    cx.reject_value(ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, "integer", &value)?;
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
        let (least, greatest) = self.width.range(self.unsigned);
        if number < least || number > greatest {
            cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
        } else if cut {
            cx.reject(WARN_DATA_TRUNCATED)?;
        }
        let number = number.clamp(least, greatest);
        Ok(if self.unsigned { Value::UInt(number as u64) } else { Value::Int(number as i64) })
    }

    fn result_type(&self) -> ResultType {
        let (signed_len, unsigned_len) = match self.width {
            IntWidth::Tiny => (4, 3),
            IntWidth::Small => (6, 5),
            IntWidth::Medium => (9, 8),
            IntWidth::Int => (11, 10),
            IntWidth::Big => (20, 20),
        };
        let length = self.display_width.map_or(if self.unsigned { unsigned_len } else { signed_len }, u32::from);
        ResultType::number(self.facts().binlog.0, length, 0, self.unsigned)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(self.width.bytes())
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let bytes = match (self.unsigned, value) {
            (false, Value::Int(int)) => int.to_le_bytes(),
            (true, Value::UInt(int)) => int.to_le_bytes(),
            _ => return false,
        };
        row.extend_from_slice(&bytes[..self.width.bytes()]);
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        Some(self.extended(read_le(bytes), bytes.len()))
    }

    /// As [`Value::set_int`] says.
    fn read_row_to(&self, bytes: &[u8], place: &mut Value) -> bool {
        let number = read_le(bytes);
        if self.unsigned {
            *place = Value::UInt(number);
        } else {
            place.set_int(signed(number, bytes.len()));
        }
        true
    }

    fn from_binlog(field: FieldType, _meta: [u8; 2], unsigned: bool) -> Option<ColumnType> {
        let widths = [IntWidth::Tiny, IntWidth::Small, IntWidth::Medium, IntWidth::Int, IntWidth::Big];
        let types = widths.map(|width| IntType { width, unsigned, display_width: None });
        types.into_iter().find(|of| of.facts().binlog.0 == field).map(ColumnType::from)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(self.width.bytes())
    }

    fn write_key(&self, value: &Value, _prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
        let len = self.width.bytes();
        let ordered = match (self.unsigned, value) {
            (false, Value::Int(int)) => *int as u64 ^ 1 << (8 * len - 1),
            (true, Value::UInt(int)) => *int,
            _ => return false,
        };
        key.extend_from_slice(&ordered.to_be_bytes()[8 - len..]);
        true
    }

    fn read_key(&self, bytes: &[u8]) -> FromKey {
        let sign = if self.unsigned { 0 } else { 1 << (8 * bytes.len() - 1) };
        FromKey::Value(self.extended(read_be(bytes) ^ sign, bytes.len()))
    }
}

impl IntType {
    /// The value of the low bytes of a number.
    fn extended(self, number: u64, bytes: usize) -> Value {
        if self.unsigned { Value::UInt(number) } else { Value::Int(signed(number, bytes)) }
    }
}

/// The number whose low bytes these are, the uppermost bit being the sign.
fn signed(number: u64, bytes: usize) -> i64 {
    let unused_bits = 64 - 8 * bytes as u32;
    (number << unused_bits) as i64 >> unused_bits
}

/// Rounds half to even, as the processor does; beyond the range of integers stays beyond.
fn double_to_integer(double: f64) -> i128 {
    double.round_ties_even() as i128
}
