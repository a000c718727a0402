//! DATE.

use std::fmt;

use super::datetime::store_rounded;
use super::{ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, read_be, read_le};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::store::StoreContext;
use crate::temporal::Date;
use crate::{FieldType, ResultType, Value};

/// Day, month and year from the low bits up, in three bytes: little-endian in rows, big-endian in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateType;

impl Faces for DateType {
    fn parse(name: &str, _words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        Ok((name == "DATE").then_some(ColumnType::Date))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("date")
    }

    fn facts(&self) -> Facts {
        Facts::scalar("date", Sizes::default(), (FieldType::Date, &[]))
    }

    fn kind(&self) -> Kind {
        Kind::Date
    }

    fn under(&self, _collation: Collation) -> ColumnType {
        ColumnType::Date
    }

    fn implicit_default(&self) -> Value {
        Value::Date(Date::ZERO)
    }

    fn default_literal(&self, _value: &Value) -> Option<String> {
        None
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        // The last half second of a day belongs to the next one, as in MySQL.
        let found = store_rounded(&value, "date", 0, cx)?;
        if found.micros_of_day() != 0 {
            cx.note_truncated();
        }
        Ok(Value::Date(found.date()))
    }

    fn result_type(&self) -> ResultType {
        ResultType::temporal(FieldType::Date, 0)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(3)
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::Date(date) = value else { return false };
        row.extend_from_slice(&bits(*date).to_le_bytes()[..3]);
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        from_bits(read_le(bytes)).map(Value::Date)
    }

    fn from_binlog(field: FieldType, _meta: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        (field == FieldType::Date).then_some(ColumnType::Date)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(3)
    }

    fn write_key(&self, value: &Value, _prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
        let Value::Date(date) = value else { return false };
        key.extend_from_slice(&bits(*date).to_be_bytes()[1..]);
        true
    }

    fn read_key(&self, bytes: &[u8]) -> FromKey {
        FromKey::of(from_bits(read_be(bytes)).map(Value::Date))
    }
}

fn bits(date: Date) -> u32 {
    u32::from(date.year) << 9 | u32::from(date.month) << 5 | u32::from(date.day)
}

/// The inverse of [`bits`]; `None` if the parts are out of range.
fn from_bits(bits: u64) -> Option<Date> {
    let date = Date { year: (bits >> 9) as u16, month: (bits >> 5 & 15) as u8, day: (bits & 31) as u8 };
    (date.year <= 9999 && date.month <= 12).then_some(date)
}
