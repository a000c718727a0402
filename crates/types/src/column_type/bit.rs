//! BIT: a number whose text is its bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, read_be, write_be};
use crate::collation::Collation;
use crate::error::{ER_DATA_TOO_LONG, ER_TOO_BIG_DISPLAYWIDTH, ER_WARN_DATA_OUT_OF_RANGE, SqlError};
use crate::store::{StoreContext, to_string};
use crate::{FieldType, ResultType, Value};

/// As many bytes as the bits take, big-endian, in rows and keys alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitType {
    /// 1 to 64.
    pub bits: u8,
}

/// The bytes of a number of so many bits, which are its text.
pub(crate) fn write_bytes(number: u64, bits: u32, out: &mut Vec<u8>) {
    write_be(number, bits.min(64).div_ceil(8) as usize, out);
}

impl BitType {
    fn len(self) -> usize {
        usize::from(self.bits).div_ceil(8)
    }

    fn greatest(self) -> u64 {
        u64::MAX >> (64 - u32::from(self.bits))
    }
}

impl Faces for BitType {
    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        if name != "BIT" {
            return Ok(None);
        }
        match words.number()?.unwrap_or(1) {
            bits @ 0..=64 => Ok(Some(BitType { bits: bits.max(1) as u8 }.into())),
            _ => Err(SqlError::new(ER_TOO_BIG_DISPLAYWIDTH, &[&words.column(), &64])),
        }
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bit({})", self.bits)
    }

    fn facts(&self) -> Facts {
        let binlog = (FieldType::Bit, &[self.bits % 8, self.bits / 8][..]);
        Facts { unsigned: true, ..Facts::scalar("bit", Sizes::number(self.bits.into(), None), binlog) }
    }

    fn kind(&self) -> Kind {
        Kind::Integer
    }

    fn under(&self, _collation: Collation) -> ColumnType {
        (*self).into()
    }

    fn implicit_default(&self) -> Value {
        Value::UInt(0)
    }

    fn default_literal(&self, value: &Value) -> Option<String> {
        let Value::UInt(number) = value else { return None };
        Some(format!("b'{number:b}'"))
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        // Of a negative number the bits count; what has more bits than there are is `None`.
        let number = match value {
            Value::Int(int) => Some(int as u64),
            Value::UInt(int) => Some(int),
            Value::Float(float) => of_double(f64::from(float)),
            Value::Double(double) => of_double(double),
            Value::Decimal(decimal) => {
                let (number, _) = decimal.to_i128();
                if decimal.is_negative() || number > i128::from(u64::MAX) {
                    cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
                }
                if decimal.is_negative() { Some(0) } else { u64::try_from(number).ok() }
            }
            Value::Text(_) | Value::Bytes(_) | Value::Hex(_) | Value::Member(_) | Value::Json(_) => {
                of_bytes(value.as_bytes().unwrap_or_default())
            }
            Value::Null | Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) | Value::Time(_) => {
                of_bytes(to_string(value, cx).as_bytes())
            }
        };
        match number.filter(|number| *number <= self.greatest()) {
            Some(number) => Ok(Value::UInt(number)),
            None => {
                cx.reject(if cx.sql_mode.is_strict() { ER_DATA_TOO_LONG } else { ER_WARN_DATA_OUT_OF_RANGE })?;
                Ok(Value::UInt(self.greatest()))
            }
        }
    }

    fn result_type(&self) -> ResultType {
        ResultType::number(FieldType::Bit, self.bits.into(), 0, true)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(self.len())
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::UInt(number) = value else { return false };
        write_be(*number, self.len(), row);
        *number <= self.greatest()
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        let number = read_be(bytes);
        (number <= self.greatest()).then_some(Value::UInt(number))
    }

    fn from_binlog(field: FieldType, [bits, bytes]: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        let bits = u32::from(bits) + 8 * u32::from(bytes);
        (field == FieldType::Bit && (1..=64).contains(&bits)).then(|| BitType { bits: bits as u8 }.into())
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(self.len())
    }

    fn write_key(&self, value: &Value, _prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
        self.write_row(value, key)
    }

    fn read_key(&self, bytes: &[u8]) -> FromKey {
        FromKey::of(self.read_row(bytes))
    }
}

/// The bits of a whole number, as of an integer.
fn of_double(double: f64) -> Option<u64> {
    let number = double.trunc() as i128;
    i64::try_from(number).map(|number| number as u64).or(u64::try_from(number)).ok()
}

/// The bits of a string, which may begin with zero bytes.
fn of_bytes(bytes: &[u8]) -> Option<u64> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    (bytes.len() - zeros <= 8).then(|| read_be(&bytes[zeros..]))
}
