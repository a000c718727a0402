//! Values inside of stored definitions (column defaults).

use serde::{Deserialize, Serialize};

use std::sync::Arc;

use super::{Member, Value};
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time, Timestamp};

/// A value in the words of a JSON document; floating point numbers as their bits, which lose nothing.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredValue {
    Null,
    Int(i64),
    UInt(u64),
    Float(u32),
    Double(u64),
    Decimal(String),
    Text(String),
    Bytes(Vec<u8>),
    Member(u64, String),
    Date(u16, u8, u8),
    DateTime(i64, u8),
    Timestamp(i64, u8),
    Time(i64, u8),
}

impl From<Value> for StoredValue {
    fn from(value: Value) -> StoredValue {
        match value {
            Value::Null => StoredValue::Null,
            Value::Int(int) => StoredValue::Int(int),
            Value::UInt(int) => StoredValue::UInt(int),
            Value::Float(float) => StoredValue::Float(float.to_bits()),
            Value::Double(double) => StoredValue::Double(double.to_bits()),
            Value::Decimal(decimal) => StoredValue::Decimal(decimal.to_string()),
            Value::Text(text) => StoredValue::Text(text.to_string()),
            Value::Bytes(bytes) | Value::Hex(bytes) => StoredValue::Bytes(bytes.to_vec()),
            Value::Member(member) => StoredValue::Member(member.number, member.text.to_string()),
            Value::Json(json) => StoredValue::Text(json.to_string()),
            Value::Date(date) => StoredValue::Date(date.year, date.month, date.day),
            Value::DateTime(value) => StoredValue::DateTime(value.packed(), value.fsp()),
            Value::Timestamp(value) => StoredValue::Timestamp(value.micros, value.fsp),
            Value::Time(value) => StoredValue::Time(value.micros, value.fsp),
        }
    }
}

impl TryFrom<StoredValue> for Value {
    type Error = &'static str;

    fn try_from(stored: StoredValue) -> Result<Value, &'static str> {
        Ok(match stored {
            StoredValue::Null => Value::Null,
            StoredValue::Int(int) => Value::Int(int),
            StoredValue::UInt(int) => Value::UInt(int),
            StoredValue::Float(bits) => Value::Float(f32::from_bits(bits)),
            StoredValue::Double(bits) => Value::Double(f64::from_bits(bits)),
            StoredValue::Decimal(text) => Value::Decimal(Decimal::parse(&text).ok_or("not a decimal number")?),
            StoredValue::Text(text) => Value::text(text),
            StoredValue::Bytes(bytes) => Value::bytes(bytes),
            StoredValue::Member(number, text) => Value::Member(Arc::new(Member { number, text: text.into() })),
            StoredValue::Date(year, month, day) => {
                let date = Date { year, month, day };
                Value::Date(if date.is_valid() { date } else { return Err("not a date") })
            }
            StoredValue::DateTime(packed, fsp) => {
                Value::DateTime(DateTime::from_packed(packed, fsp).ok_or("not a datetime")?)
            }
            StoredValue::Timestamp(micros, fsp) => Value::Timestamp(Timestamp { micros, fsp }),
            StoredValue::Time(micros, fsp) => Value::Time(Time { micros, fsp }),
        })
    }
}
