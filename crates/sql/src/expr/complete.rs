//! Dates of the calendar, for functions that can do nothing with a date whose month or day is zero.
//!
//! The rule is MySQL's: such a function says so to its argument, and what chooses or converts a date says it on. COALESCE
//! and IFNULL then pass over a date that lacks a part as over NULL: `WEEK(IFNULL('0000-00-00', '2024-02-29'))` is 8 where
//! both are columns.

use super::cast::cast;
use super::convert::incorrect;
use super::{CastType, EvalContext, Expr};
use crate::error::SqlError;
use crate::value::Value;

impl Expr {
    /// The value for a function that wants a date of the calendar. Another date may still come: the function has to look.
    pub(super) fn complete(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        match self {
            Expr::Cast(date, to @ (CastType::Date | CastType::DateTime { .. })) => {
                let value = date.complete(row, cx)?;
                let found = cast(&value, to, cx)?;
                // What is of a type of dates may lack a part, what is read as one is none then.
                if lacks_a_part(&found) && !value.is_temporal() {
                    cx.statement.warn(incorrect("datetime", &value))?;
                    return Ok(Value::Null);
                }
                Ok(found)
            }
            Expr::Case(case) if self.is_date(cx) => match case.chosen(row, cx)? {
                Some(chosen) => chosen.as_one_of(chosen.complete(row, cx)?, &case.result_type(cx.params), cx),
                None => Ok(Value::Null),
            },
            Expr::Call(call) if call.hands_on_dates() && self.is_date(cx) => call.complete(row, cx),
            other => other.eval(row, cx),
        }
    }

    /// The value, or that of [`Expr::complete`].
    pub(super) fn eval_dates(&self, row: &[Value], cx: &EvalContext<'_>, complete: bool) -> Result<Value, SqlError> {
        if complete { self.complete(row, cx) } else { self.eval(row, cx) }
    }

    fn is_date(&self, cx: &EvalContext<'_>) -> bool {
        self.result_type(cx.params).kind().has_date()
    }
}

/// Whether a date has a month or day that is zero.
pub(super) fn lacks_a_part(value: &Value) -> bool {
    match value {
        Value::Date(date) => date.is_incomplete(),
        Value::DateTime(value) => value.date().is_incomplete(),
        Value::Timestamp(_)
        | Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Decimal(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Hex(_)
        | Value::Time(_)
        | Value::Member(_)
        | Value::Json(_) => false,
    }
}
