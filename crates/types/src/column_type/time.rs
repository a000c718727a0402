//! TIME.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::datetime::{fraction_len, pair_unit, show};
use super::{ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, fsp, read_be, write_be};
use crate::collation::Collation;
use crate::decimal::Decimal;
use crate::error::{ER_WARN_DATA_OUT_OF_RANGE, SqlError, WARN_DATA_TRUNCATED};
use crate::store::{StoreContext, decimal_to_time, to_decimal};
use crate::temporal::{DateTime, SECOND_US, Time, parse};
use crate::{FieldType, ResultType, Value};

/// Hours, minutes, seconds and fraction as one number above a middle, big-endian, in rows and keys alike; negated as a
/// whole, so that the order of the bytes is that of the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeType {
    /// Fractional digits.
    pub fsp: u8,
}

impl Faces for TimeType {
    no_characters!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        Ok(if name == "TIME" { Some(TimeType { fsp: fsp(words)? }.into()) } else { None })
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("time", self.fsp, f)
    }

    fn facts(&self) -> Facts {
        Facts::scalar("time", Sizes::moment(self.fsp), (FieldType::Time2, &[self.fsp]))
    }

    fn kind(&self) -> Kind {
        Kind::Time
    }

    fn implicit_default(&self) -> Value {
        Value::Time(Time { micros: 0, fsp: self.fsp })
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        /// 838:59:59; greater numbers are dates with a time.
        const GREATEST_NUMBER: i64 = 8_385_959;
        let mut dated = matches!(value, Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_));
        let of_day = |value: DateTime| Some((Time { micros: value.micros_of_day(), fsp: value.fsp() }, false));
        let found = match &value {
            Value::Time(time) => Some((*time, false)),
            Value::DateTime(value) => of_day(*value),
            Value::Timestamp(value) => of_day(value.to_datetime(cx.time_zone)),
            Value::Date(_) => Some((Time { micros: 0, fsp: self.fsp }, false)),
            Value::Text(_) | Value::Bytes(_) | Value::Hex(_) | Value::Member(_) | Value::Json(_) => {
                let text = String::from_utf8_lossy(value.as_bytes().unwrap_or_default());
                let parsed = parse::time(&text);
                if parsed.is_some_and(|(parsed, _)| parsed.cut) {
                    cx.reject_temporal(WARN_DATA_TRUNCATED, "time", &value)?;
                } else {
                    dated = parse::dated(&text).is_some();
                }
                parsed.map(|(parsed, clamped)| (parsed.value, clamped))
            }
            number @ (Value::Null
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)) => {
                let number = to_decimal(number, cx.time_zone).0;
                let found = decimal_to_time(&number);
                dated = matches!(found, Some((_, false))) && number > Decimal::from(GREATEST_NUMBER);
                found
            }
        };
        let Some((time, clamped)) = found else {
            let code = if value.is_string() { WARN_DATA_TRUNCATED } else { ER_WARN_DATA_OUT_OF_RANGE };
            cx.reject_temporal(code, "time", &value)?;
            return Ok(self.implicit_default());
        };
        if clamped {
            cx.reject_temporal(ER_WARN_DATA_OUT_OF_RANGE, "time", &value)?;
        }
        if dated {
            cx.note_truncated();
        }
        Ok(Value::Time(time.round(self.fsp)))
    }

    fn result_type(&self) -> ResultType {
        ResultType::temporal(FieldType::Time, self.fsp)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(3 + fraction_len(self.fsp))
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::Time(value) = value else { return false };
        let (hours, minutes, seconds, micros) = value.parts();
        let clock = i64::from(hours) << 12 | i64::from(minutes) << 6 | i64::from(seconds);
        let number = (clock << (8 * fraction_len(self.fsp))) | (i64::from(micros) / pair_unit(self.fsp));
        let len = 3 + fraction_len(self.fsp);
        let middle = 1i64 << (8 * len - 1);
        write_be((middle + if value.micros < 0 { -number } else { number }) as u64, len, row);
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        let len = 3 + fraction_len(self.fsp);
        let number = read_be(bytes.get(..len)?) as i64 - (1i64 << (8 * len - 1));
        let absolute = number.unsigned_abs();
        let fraction_bits = 8 * fraction_len(self.fsp);
        let clock = absolute >> fraction_bits;
        let (hours, minutes, seconds) = (clock >> 12, clock >> 6 & 63, clock & 63);
        let micros = (absolute & ((1 << fraction_bits) - 1)) as i64 * pair_unit(self.fsp);
        if minutes > 59 || seconds > 59 || micros >= SECOND_US {
            return None;
        }
        let total = (hours * 3600 + minutes * 60 + seconds) as i64 * SECOND_US + micros;
        Some(Value::Time(Time { micros: if number < 0 { -total } else { total }, fsp: self.fsp }))
    }

    fn from_binlog(field: FieldType, [fsp, _]: [u8; 2], _unsigned: bool) -> Option<ColumnType> {
        (field == FieldType::Time2 && fsp <= 6).then(|| TimeType { fsp }.into())
    }

    key_as_in_rows!();
}
