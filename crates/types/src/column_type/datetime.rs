//! DATETIME and TIMESTAMP.
//!
//! Format, in rows and keys alike: big-endian, so that the order of the bytes is that of the times. Fractional digits
//! follow by pairs, a byte each.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, fsp, read_be, write_be};
use crate::collation::Collation;
use crate::decimal::Decimal;
use crate::error::{ER_DATETIME_FUNCTION_OVERFLOW, ER_WARN_DATA_OUT_OF_RANGE, SqlError, WARN_DATA_TRUNCATED};
use crate::store::{StoreContext, decimal_to_datetime, to_decimal};
use crate::temporal::{DAY_US, Date, DateTime, SECOND_US, Timestamp, fraction_unit, parse};
use crate::{DateUse, FieldType, ResultType, SqlMode, Value};

/// Five bytes of [`DateTime::packed`] without the microseconds, above a middle, and the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DateTimeType {
    /// Fractional digits.
    pub fsp: u8,
}

/// Four bytes of seconds since 1970, UTC, and the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimestampType {
    /// Fractional digits.
    pub fsp: u8,
}

const DATETIME_MIDDLE: u64 = 1 << 39;

impl Faces for DateTimeType {
    no_characters!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        Ok(if name == "DATETIME" { Some(DateTimeType { fsp: fsp(words)? }.into()) } else { None })
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("datetime", self.fsp, f)
    }

    fn facts(&self) -> Facts {
        Facts {
            clock_digits: Some(self.fsp),
            ..Facts::scalar("datetime", Sizes::moment(self.fsp), (FieldType::DateTime2, &[self.fsp]))
        }
    }

    fn kind(&self) -> Kind {
        Kind::Date
    }

    fn implicit_default(&self) -> Value {
        Value::DateTime(Date::ZERO.at_midnight().with_fsp(self.fsp))
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        store_rounded(&value, "datetime", self.fsp, cx).map(Value::DateTime)
    }

    fn result_type(&self) -> ResultType {
        ResultType::temporal(FieldType::DateTime, self.fsp)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(5 + fraction_len(self.fsp))
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::DateTime(value) = value else { return false };
        let packed = value.packed();
        write_be((packed >> 24) as u64 | DATETIME_MIDDLE, 5, row);
        write_be((packed & 0xff_ffff) as u64 / pair_unit(self.fsp) as u64, fraction_len(self.fsp), row);
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        let (head, fraction) = bytes.split_at_checked(5)?;
        let head = read_be(head).checked_sub(DATETIME_MIDDLE)?;
        let micros = read_be(fraction) as i64 * pair_unit(self.fsp);
        DateTime::from_packed((head as i64) << 24 | micros, self.fsp).map(Value::DateTime)
    }

    fn from_binlog(field: FieldType, [fsp, _]: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        (field == FieldType::DateTime2 && fsp <= 6).then(|| DateTimeType { fsp }.into())
    }

    key_as_in_rows!();
}

impl Faces for TimestampType {
    no_characters!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        Ok(if name == "TIMESTAMP" { Some(TimestampType { fsp: fsp(words)? }.into()) } else { None })
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("timestamp", self.fsp, f)
    }

    fn facts(&self) -> Facts {
        Facts {
            clock_digits: Some(self.fsp),
            ..Facts::scalar("timestamp", Sizes::moment(self.fsp), (FieldType::Timestamp2, &[self.fsp]))
        }
    }

    fn kind(&self) -> Kind {
        Kind::Timestamp
    }

    fn implicit_default(&self) -> Value {
        Value::Timestamp(Timestamp { micros: 0, fsp: self.fsp })
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        if matches!(value, Value::Timestamp(timestamp) if timestamp.fsp == self.fsp) {
            return Ok(value);
        }
        let local = store_rounded(&value, "datetime", self.fsp, cx)?;
        match local.to_timestamp(cx.time_zone).filter(|_| !local.date().is_incomplete() || local.date().is_zero()) {
            Some(timestamp) => Ok(Value::Timestamp(timestamp)),
            None => {
                let incomplete = local.date().is_incomplete();
                let code = if incomplete { WARN_DATA_TRUNCATED } else { ER_WARN_DATA_OUT_OF_RANGE };
                cx.reject_temporal(code, "datetime", &value)?;
                Ok(self.implicit_default())
            }
        }
    }

    fn result_type(&self) -> ResultType {
        ResultType::temporal(FieldType::Timestamp, self.fsp)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(4 + fraction_len(self.fsp))
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::Timestamp(value) = value else { return false };
        write_be((value.micros / SECOND_US) as u64, 4, row);
        write_be((value.micros % SECOND_US / pair_unit(self.fsp)) as u64, fraction_len(self.fsp), row);
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        let (seconds, fraction) = bytes.split_at_checked(4)?;
        let micros = read_be(fraction) as i64 * pair_unit(self.fsp);
        let timestamp = Timestamp { micros: read_be(seconds) as i64 * SECOND_US + micros, fsp: self.fsp };
        (micros < SECOND_US).then_some(Value::Timestamp(timestamp))
    }

    fn from_binlog(field: FieldType, [fsp, _]: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        (field == FieldType::Timestamp2 && fsp <= 6).then(|| TimestampType { fsp }.into())
    }

    key_as_in_rows!();
}

/// The name with the digits, if there are any.
pub(super) fn show(name: &str, fsp: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if fsp > 0 { write!(f, "{name}({fsp})") } else { f.write_str(name) }
}

/// Bytes of `fsp` fractional digits.
pub(super) fn fraction_len(fsp: u8) -> usize {
    usize::from(fsp.min(6)).div_ceil(2)
}

/// Microseconds of a unit of the last fractional byte's digits (which come in pairs).
pub(super) fn pair_unit(fsp: u8) -> i64 {
    fraction_unit(2 * fraction_len(fsp) as u8)
}

/// The value as a date and time; `None` if it is none and was rejected as a `kind`.
fn store_datetime(value: &Value, kind: &str, cx: &mut StoreContext<'_>) -> Result<Option<DateTime>, SqlError> {
    /// No number with as many digits as a date and time is greater.
    const GREATEST_NUMBER: i64 = 99_999_999_999_999;
    let mut lost = WARN_DATA_TRUNCATED;
    let found = match value {
        Value::Date(date) => Some(date.at_midnight()),
        Value::DateTime(value) => Some(*value),
        Value::Timestamp(value) => Some(value.to_datetime(cx.time_zone)),
        Value::Text(_) | Value::Bytes(_) | Value::Hex(_) | Value::Member(_) | Value::Json(_) => {
            let text = String::from_utf8_lossy(value.as_bytes().unwrap_or_default());
            let parsed = parse::datetime(&text, cx.time_zone);
            if parsed.is_some_and(|parsed| parsed.cut) {
                cx.reject_temporal(WARN_DATA_TRUNCATED, kind, value)?;
            }
            parsed.map(|parsed| parsed.value)
        }
        // A time is one of today.
        Value::Time(time) => {
            let today = cx.now().date().days() * DAY_US;
            DateTime::from_micros(today + time.micros, time.fsp)
        }
        Value::Null => None,
        number @ (Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_)) => {
            let number = to_decimal(number, cx.time_zone).0;
            let found = decimal_to_datetime(&number);
            if found.is_some_and(|(_, cut)| cut) {
                cx.reject_temporal(WARN_DATA_TRUNCATED, kind, value)?;
            }
            if number.is_negative() || number > Decimal::from(GREATEST_NUMBER) {
                lost = ER_WARN_DATA_OUT_OF_RANGE;
            }
            found.map(|(value, _)| value)
        }
    };
    let Some(found) = found else {
        cx.reject_temporal(lost, kind, value)?;
        return Ok(None);
    };
    // A function may make what the calendar does not have.
    if !found.date().is_valid() || !cx.sql_mode.allows(found, DateUse::Value) {
        let cut = value.is_number() && found.packed() != 0;
        cx.reject_temporal(if cut { WARN_DATA_TRUNCATED } else { ER_WARN_DATA_OUT_OF_RANGE }, kind, value)?;
        return Ok(None);
    }
    Ok(Some(found))
}

/// The value as a date and time of `fsp` fractional digits; the zero date if it is none and was rejected as a `kind`.
pub(super) fn store_rounded(
    value: &Value,
    kind: &str,
    fsp: u8,
    cx: &mut StoreContext<'_>,
) -> Result<DateTime, SqlError> {
    let zero = Date::ZERO.at_midnight().with_fsp(fsp);
    let Some(found) = store_datetime(value, kind, cx)? else {
        return Ok(zero);
    };
    if cx.sql_mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
        return Ok(found.cut(fsp));
    }
    // There is no second after the zero date.
    if found.date().is_zero() && found.micros_of_day() % fraction_unit(fsp) * 2 >= fraction_unit(fsp) {
        cx.reject_temporal(ER_WARN_DATA_OUT_OF_RANGE, kind, value)?;
        return Ok(zero);
    }
    let Some(rounded) = found.round_within_calendar(fsp) else {
        cx.reject_with(SqlError::new(ER_DATETIME_FUNCTION_OVERFLOW, &[&"datetime"]))?;
        cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
        return Ok(zero);
    };
    Ok(rounded)
}
