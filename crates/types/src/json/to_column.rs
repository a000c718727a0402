//! What a column makes of a part of a document, as JSON_TABLE gives it: with the rules of a strict statement in every SQL
//! mode, and with texts that have to be numbers as a whole.

use std::sync::Arc;

use super::Json;
use crate::error::{
    ER_INVALID_JSON_VALUE_FOR_CAST, ER_JT_VALUE_OUT_OF_RANGE, ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE,
    ER_WRONG_JSON_TABLE_VALUE, SqlError,
};
use crate::number_text;
use crate::sql_mode::SqlMode;
use crate::store::StoreContext;
use crate::{ColumnType, Family, Kind, Value};

impl Json {
    /// Its value in a column of this type; null is NULL but for a column of documents. 3666 for an array or an object, 3156
    /// and 3155 for a scalar that is no number, or too large a one, where one is wanted, 3669 for any other that does not
    /// fit.
    pub fn to_column(&self, column: &ColumnType, cx: &mut StoreContext<'_>) -> Result<Value, SqlError> {
        let kind = column.kind();
        if kind == Kind::Json {
            return Ok(Value::Json(Arc::new(self.clone())));
        }
        let value = match (self, column.result_type(true).family()) {
            (Json::Null, _) => return Ok(Value::Null),
            (Json::Array(_) | Json::Object(_), _) => {
                return Err(SqlError::new(ER_WRONG_JSON_TABLE_VALUE, &[&cx.column]));
            }
            (_, Family::Integer) => self.to_integer(column, cx)?,
            (_, Family::Decimal) => self.to_column_number("DECIMAL", cx)?,
            (_, Family::Real) => self.to_column_number("DOUBLE", cx)?,
            (Json::Date(date), _) if matches!(kind, Kind::Date | Kind::Timestamp) => Value::Date(*date),
            (Json::DateTime(value), _) if matches!(kind, Kind::Date | Kind::Timestamp) => Value::DateTime(*value),
            (Json::Time(value), _) if kind == Kind::Time => Value::Time(*value),
            (Json::Opaque(field, bytes), _) if field.is_string() => Value::Bytes(bytes.clone()),
            _ => Value::text(self.unquoted()),
        };
        let mut strict = StoreContext {
            column: cx.column,
            row: cx.row,
            sql_mode: cx.sql_mode.union(SqlMode::STRICT_ALL_TABLES),
            time_zone: cx.time_zone,
            now_us: cx.now_us,
            warnings: &mut |_, _| {},
        };
        column.store(value, &mut strict).map_err(|_| SqlError::new(ER_JT_VALUE_OUT_OF_RANGE, &[&cx.column]))
    }

    /// The integer that a scalar is for a column. Of what is no integer in the document the column says whether its 64 bits
    /// have a sign.
    fn to_integer(&self, column: &ColumnType, cx: &StoreContext<'_>) -> Result<Value, SqlError> {
        let invalid = || SqlError::new(ER_INVALID_JSON_VALUE_FOR_CAST, &[&"INTEGER", &cx.column, &cx.row]);
        let beyond = || SqlError::new(ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE, &[&"INTEGER", &cx.column, &cx.row]);
        let (number, greatest) = match self {
            Json::Int(int) => return Ok(Value::Int(*int)),
            Json::UInt(int) => return Ok(Value::UInt(*int)),
            Json::Bool(truth) => (i128::from(*truth), i64::MAX.into()),
            Json::Double(double) => (double.round_ties_even() as i128, i64::MAX.into()),
            Json::Decimal(decimal) => (decimal.to_i128().0, i64::MAX.into()),
            Json::Text(text) => {
                let read = number_text::integer(text.as_bytes());
                if !read.complete || ends_with_blank(text) {
                    return Err(invalid());
                }
                (read.value, i128::from(u64::MAX))
            }
            _ => return Err(invalid()),
        };
        if number < i64::MIN.into() || number > greatest {
            return Err(beyond());
        }
        Ok(if column.facts().unsigned { Value::UInt(number as u64) } else { Value::Int(number as i64) })
    }

    /// The number that a scalar is; a text has to be one as a whole.
    fn to_column_number(&self, wanted: &str, cx: &StoreContext<'_>) -> Result<Value, SqlError> {
        let invalid = || SqlError::new(ER_INVALID_JSON_VALUE_FOR_CAST, &[&wanted, &cx.column, &cx.row]);
        let Json::Text(text) = self else { return self.to_number().ok_or_else(invalid) };
        let complete = number_text::double(text.as_bytes()).complete && !ends_with_blank(text);
        if complete { Ok(Value::Text(text.clone())) } else { Err(invalid()) }
    }
}

fn ends_with_blank(text: &str) -> bool {
    text.ends_with(|end: char| end.is_ascii_whitespace())
}
