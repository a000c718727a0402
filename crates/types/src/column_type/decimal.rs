//! DECIMAL; its arithmetic is in [`crate::decimal`].

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ColumnType, Faces, Facts, FromKey, Kind, Sizes, TypeWords, digits, signedness};
use crate::collation::Collation;
use crate::decimal::{Decimal, MAX_PRECISION};
use crate::error::{
    ER_TOO_BIG_PRECISION, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_WARN_DATA_OUT_OF_RANGE, SqlError, WARN_DATA_TRUNCATED,
};
use crate::store::{StoreContext, to_decimal};
use crate::{FieldType, ResultType, Value, number_text};

/// [`Decimal::write_binary`] in rows and keys: its order is that of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecimalType {
    /// All digits, 1 to 65.
    pub precision: u8,
    /// Digits after the point, 0 to 30.
    pub scale: u8,
    /// UNSIGNED.
    pub unsigned: bool,
}

impl Faces for DecimalType {
    no_characters!();

    fn parse(name: &str, words: &mut dyn TypeWords) -> Result<Option<ColumnType>, SqlError> {
        if !matches!(name, "DECIMAL" | "NUMERIC" | "DEC" | "FIXED") {
            return Ok(None);
        }
        let (precision, scale) = digits(words)?;
        let precision = precision.filter(|precision| *precision > 0).unwrap_or(10);
        if precision > MAX_PRECISION {
            return Err(SqlError::new(ER_TOO_BIG_PRECISION, &[&precision, &words.column(), &MAX_PRECISION]));
        }
        Ok(Some(DecimalType { precision, scale: scale.unwrap_or(0), unsigned: signedness(words)? }.into()))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "decimal({},{}){}", self.precision, self.scale, if self.unsigned { " unsigned" } else { "" })
    }

    fn facts(&self) -> Facts {
        let sizes = Sizes::number(self.precision.into(), Some(self.scale.into()));
        Facts {
            unsigned: self.unsigned,
            ..Facts::scalar("decimal", sizes, (FieldType::NewDecimal, &[self.precision, self.scale]))
        }
    }

    fn kind(&self) -> Kind {
        Kind::Number
    }

    fn implicit_default(&self) -> Value {
        Value::Decimal(Decimal::new(0, self.scale))
    }

    fn store(&self, value: Value, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let DecimalType { precision, scale, unsigned } = *self;
        let (number, complete) = to_decimal(&value, cx.time_zone);
        if !complete {
            let read = value.as_bytes().is_some_and(|text| number_text::decimal(text).found);
            if read && !cx.sql_mode.is_strict() {
                cx.reject(WARN_DATA_TRUNCATED)?;
            } else {
                cx.reject_value(ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, "decimal", &value)?;
            }
        }
        let rounded = number.round_to(scale);
        let shortened = complete && rounded != number;
        if unsigned && number.is_negative() {
            cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
            return Ok(Value::Decimal(Decimal::new(0, scale)));
        }
        if !rounded.fits(precision, scale) {
            cx.reject(ER_WARN_DATA_OUT_OF_RANGE)?;
            return Ok(Value::Decimal(Decimal::largest(precision, scale, rounded.is_negative())));
        }
        if shortened {
            cx.note_truncated();
        }
        Ok(Value::Decimal(rounded))
    }

    fn result_type(&self) -> ResultType {
        let length = u32::from(self.precision) + u32::from(self.scale > 0) + u32::from(!self.unsigned);
        ResultType::number(FieldType::NewDecimal, length, self.scale, self.unsigned)
    }

    fn row_len(&self, _row: &[u8]) -> Option<usize> {
        Some(Decimal::binary_len(self.precision, self.scale))
    }

    fn write_row(&self, value: &Value, row: &mut Vec<u8>) -> bool {
        let Value::Decimal(decimal) = value else { return false };
        decimal.write_binary(self.precision, self.scale, row);
        true
    }

    fn read_row(&self, bytes: &[u8]) -> Option<Value> {
        Decimal::read_binary(self.precision, self.scale, bytes).map(Value::Decimal)
    }

    fn from_binlog(field: FieldType, [precision, scale]: [u8; 2], unsigned: bool) -> Option<ColumnType> {
        let possible = (1..=MAX_PRECISION).contains(&precision) && scale <= precision;
        (field == FieldType::NewDecimal && possible).then(|| DecimalType { precision, scale, unsigned }.into())
    }

    key_as_in_rows!();
}
