//! YEAR.

use std::fmt;

use super::{ColumnType, Faces, Facts, FromKey, IntType, IntWidth, Kind, Sizes, TypeWords};
use crate::collation::Collation;
use crate::error::{ER_WARN_DATA_OUT_OF_RANGE, SqlError};
use crate::store::{StoreContext, to_decimal};
use crate::temporal::{DateTime, TimeZone};
use crate::{FieldType, ResultType, Value, number_text};

/// A byte of years since 1900, in rows and keys; 0 is the year 0000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YearType;

/// The year of a date, and of a time that of today; `None` for what is neither.
pub fn year_of_moment(value: &Value, zone: TimeZone, now: impl FnOnce() -> DateTime) -> Option<u16> {
    match value {
        Value::Date(date) => Some(date.year),
        Value::DateTime(value) => Some(value.date().year),
        Value::Timestamp(value) => Some(value.to_datetime(zone).date().year),
        Value::Time(_) => Some(now().date().year),
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Hex(_)
        | Value::Member(_)
        | Value::Json(_) => None,
    }
}

/// The year that a number stands for, of one or two digits one from 1970 to 2069; `None` if it is none.
pub fn year_of_number(number: i64) -> Option<u16> {
    match number {
        1..=69 => Some(number as u16 + 2000),
        70..=99 => Some(number as u16 + 1900),
        0 | 1901..=2155 => Some(number as u16),
        _ => None,
    }
}

impl Faces for YearType {
    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        if name != "YEAR" {
            return Ok(None);
        }
        words.number()?;
        Ok(Some(ColumnType::Year))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("year")
    }

    fn facts(&self) -> Facts {
        Facts { unsigned: true, ..Facts::scalar("year", Sizes::default(), (FieldType::Year, &[])) }
    }

    fn kind(&self) -> Kind {
        Kind::Number
    }

    fn under(&self, _collation: Collation) -> ColumnType {
        ColumnType::Year
    }

    fn implicit_default(&self) -> Value {
        Value::UInt(0)
    }

    fn default_literal(&self, _value: &Value) -> Option<String> {
        None
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let text = value.as_bytes().filter(|_| !matches!(value, Value::Hex(_)));
        let possible = |text| matches!(number_text::for_integers(text).value.to_i128().0, 0..=99 | 1901..=2155);
        let beyond = |value: &Value| {
            let number = to_decimal(value, cx.time_zone).0;
            number.is_negative() || i64::try_from(number.to_i128().0).is_err()
        };
        if text.map_or_else(|| value.is_number() && beyond(&value), |text| !possible(text)) {
            cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
            return Ok(Value::UInt(0));
        }
        // What is no number is the year 0000, and so is that text; any other text of zero is 2000.
        let zero_is_2000 = text.is_some_and(|text| text.len() != 4 && number_text::double(text).found);
        let number = match year_of_moment(&value, cx.time_zone, || cx.now()) {
            Some(year) => i64::from(year),
            None => {
                let integer = IntType { width: IntWidth::Big, unsigned: false, display_width: None };
                // A double is cut, as in MySQL; an exact number is rounded.
                let value = if let Value::Double(double) = value { Value::Double(double.trunc()) } else { value };
                let Value::Int(number) = integer.store(value, cx)? else {
                    return Err(SqlError::internal("an integer was stored as something else"));
                };
                number
            }
        };
        let year = match year_of_number(number) {
            Some(0) if zero_is_2000 => 2000,
            Some(year) => year,
            None => {
                cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
                0
            }
        };
        Ok(Value::UInt(year.into()))
    }

    fn result_type(&self) -> ResultType {
        ResultType::number(FieldType::Year, 4, 0, true)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(1)
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::UInt(year) = value else { return false };
        row.push(year.saturating_sub(1900) as u8);
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        Some(Value::UInt(if bytes[0] == 0 { 0 } else { 1900 + u64::from(bytes[0]) }))
    }

    fn from_binlog(field: FieldType, _meta: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        (field == FieldType::Year).then_some(ColumnType::Year)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(1)
    }

    fn write_key(&self, value: &Value, _prefix: Option<u16>, key: &mut Vec<u8>) -> bool {
        self.write_row(value, key)
    }

    fn read_key(&self, bytes: &[u8]) -> FromKey {
        FromKey::of(self.read_row(bytes))
    }
}
