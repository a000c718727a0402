//! FLOAT and DOUBLE.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, digits, read_be, signedness};
use crate::collation::Collation;
use crate::error::{ER_WARN_DATA_OUT_OF_RANGE, ER_WRONG_FIELD_SPEC, SqlError, WARN_DATA_TRUNCATED};
use crate::store::{StoreContext, to_decimal};
use crate::{FieldType, NOT_FIXED_DECIMALS, ResultType, SqlMode, Value, number_text};

/// Little-endian in rows; ordered bits, big-endian, in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloatType {
    /// UNSIGNED.
    pub unsigned: bool,
    /// (M,D), if declared.
    pub digits: Option<(u8, u8)>,
}

/// As [`FloatType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubleType {
    /// UNSIGNED.
    pub unsigned: bool,
    /// (M,D), if declared.
    pub digits: Option<(u8, u8)>,
}

/// Integers that an AUTO_INCREMENT column of floating point numbers counts to.
const COUNTER_MAX: u64 = 1 << 53;

impl Faces for FloatType {
    no_characters!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        if name != "FLOAT" {
            return Ok(None);
        }
        Ok(Some(match digits(words)? {
            (Some(25..=53), None) => DoubleType { unsigned: signedness(words)?, digits: None }.into(),
            (Some(54..), None) => return Err(SqlError::new(ER_WRONG_FIELD_SPEC, &[&words.column()])),
            (precision, scale) => FloatType { unsigned: signedness(words)?, digits: precision.zip(scale) }.into(),
        }))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("float", self.unsigned, self.digits, f)
    }

    fn facts(&self) -> Facts {
        facts("float", self.unsigned, sizes(self.digits, 12), (FieldType::Float, 4))
    }

    fn kind(&self) -> Kind {
        Kind::Number
    }

    fn implicit_default(&self) -> Value {
        Value::Float(0.0)
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        Ok(Value::Float(store(&value, f64::from(f32::MAX), self.unsigned, self.digits, cx)? as f32))
    }

    fn result_type(&self) -> ResultType {
        result_type(FieldType::Float, 12, self.unsigned, self.digits)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(4)
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::Float(float) = value else { return false };
        row.extend_from_slice(&float.to_le_bytes());
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        Some(Value::Float(f32::from_le_bytes(bytes.try_into().ok()?)))
    }

    fn from_binlog(field: FieldType, _meta: [u8; 2], unsigned: bool) -> Option<ColumnType> {
        (field == FieldType::Float).then(|| FloatType { unsigned, digits: None }.into())
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(4)
    }

    fn write_key(&self, value: &Value, _prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
        let Value::Float(float) = value else { return false };
        key.extend_from_slice(&ordered_f32(*float).to_be_bytes());
        true
    }

    fn read_key(&self, bytes: &[u8]) -> FromKey {
        FromKey::Value(Value::Float(f32_from_ordered(read_be(bytes) as u32)))
    }
}

impl Faces for DoubleType {
    no_characters!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        if !matches!(name, "DOUBLE" | "REAL" | "FLOAT8") {
            return Ok(None);
        }
        if name != "REAL" {
            words.takes("PRECISION");
        }
        let (precision, scale) = digits(words)?;
        if precision.is_some() && scale.is_none() {
            return Err(words.unexpected());
        }
        let (unsigned, digits) = (signedness(words)?, precision.zip(scale));
        let is_float = name == "REAL" && words.sql_mode().contains(SqlMode::REAL_AS_FLOAT);
        Ok(Some(if is_float { FloatType { unsigned, digits }.into() } else { DoubleType { unsigned, digits }.into() }))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("double", self.unsigned, self.digits, f)
    }

    fn facts(&self) -> Facts {
        facts("double", self.unsigned, sizes(self.digits, 22), (FieldType::Double, 8))
    }

    fn kind(&self) -> Kind {
        Kind::Number
    }

    fn implicit_default(&self) -> Value {
        Value::Double(0.0)
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        Ok(Value::Double(store(&value, f64::MAX, self.unsigned, self.digits, cx)?))
    }

    fn result_type(&self) -> ResultType {
        result_type(FieldType::Double, 22, self.unsigned, self.digits)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(8)
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::Double(double) = value else { return false };
        row.extend_from_slice(&double.to_le_bytes());
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        Some(Value::Double(f64::from_le_bytes(bytes.try_into().ok()?)))
    }

    fn from_binlog(field: FieldType, _meta: [u8; 2], unsigned: bool) -> Option<ColumnType> {
        (field == FieldType::Double).then(|| DoubleType { unsigned, digits: None }.into())
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(8)
    }

    fn write_key(&self, value: &Value, _prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
        let Value::Double(double) = value else { return false };
        key.extend_from_slice(&ordered_f64(*double).to_be_bytes());
        true
    }

    fn read_key(&self, bytes: &[u8]) -> FromKey {
        FromKey::Value(Value::Double(f64_from_ordered(read_be(bytes))))
    }
}

fn show(name: &str, unsigned: bool, digits: Option<(u8, u8)>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(name)?;
    if let Some((all, decimals)) = digits {
        write!(f, "({all},{decimals})")?;
    }
    f.write_str(if unsigned { " unsigned" } else { "" })
}

fn sizes(digits: Option<(u8, u8)>, precision: u64) -> Sizes {
    digits.map_or(Sizes::number(precision, None), |(all, decimals)| Sizes::number(all.into(), Some(decimals.into())))
}

fn facts(data_type: &'static str, unsigned: bool, sizes: Sizes, (field, bytes): (FieldType, u8)) -> Facts {
    Facts { unsigned, counter_max: Some(COUNTER_MAX), ..Facts::scalar(data_type, sizes, (field, &[bytes])) }
}

fn result_type(field: FieldType, length: u32, unsigned: bool, digits: Option<(u8, u8)>) -> ResultType {
    let (length, decimals) = digits.map_or((length, NOT_FIXED_DECIMALS), |(all, decimals)| (u32::from(all), decimals));
    ResultType::number(field, length, decimals, unsigned)
}

fn store(
    value: &Value,
    limit: f64,
    unsigned: bool,
    digits: Option<(u8, u8)>,
    cx: &mut StoreContext<'_>,
) -> Result<f64, SqlError> {
    let mut double = match value {
        Value::Double(double) => *double,
        Value::Float(float) => f64::from(*float),
        Value::Int(int) => *int as f64,
        Value::UInt(int) => *int as f64,
        Value::Text(_) | Value::Bytes(_) => {
            let read = number_text::double(value.as_bytes().unwrap_or_default());
            if read.overflowed {
                cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
            } else if !read.complete {
                cx.reject(WARN_DATA_TRUNCATED)?;
            }
            read.value
        }
        other @ (Value::Null
        | Value::Decimal(_)
        | Value::Hex(_)
        | Value::Member(_)
        | Value::Json(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Timestamp(_)
        | Value::Time(_)) => to_decimal(other, cx.time_zone).0.to_f64(),
    };
    let mut limit = limit;
    if let Some((all, decimals)) = digits {
        let unit = 10f64.powi(i32::from(decimals));
        // As MySQL rounds: what is after the point, halves to the even neighbour.
        let whole = double.floor();
        double = whole + ((double - whole) * unit).round_ties_even() / unit;
        limit = limit.min(10f64.powi(i32::from(all) - i32::from(decimals)) - 1.0 / unit);
    }
    let least = if unsigned { 0.0 } else { -limit };
    if double.is_nan() || double < least || double > limit {
        cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
        return Ok(if double.is_nan() { 0.0 } else { double.clamp(least, limit) });
    }
    Ok(double)
}

/// Bits of a double whose unsigned order is the order of doubles; both zeros are the same.
pub fn ordered_f64(value: f64) -> u64 {
    let bits = (if value == 0.0 { 0.0 } else { value }).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The inverse of [`ordered_f64`].
fn f64_from_ordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// Bits of a float whose unsigned order is the order of floats; both zeros are the same.
fn ordered_f32(value: f32) -> u32 {
    let bits = (if value == 0.0 { 0.0 } else { value }).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The inverse of [`ordered_f32`].
fn f32_from_ordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits })
}
