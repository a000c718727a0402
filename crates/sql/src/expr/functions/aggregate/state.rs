//! What an aggregate knows of the rows that it has taken.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::super::arithmetic::DIVISION_DIGITS;
use super::super::super::convert::{Number, local, to_bits, to_f64, to_text};
use super::super::super::{EvalContext, Expr, compare_values};
use super::super::json::part_of_document;
use super::Aggregate;
use super::concat::Texts;
use crate::error::{ER_DATA_OUT_OF_RANGE, ER_JSON_DOCUMENT_NULL_KEY, SqlError};
use crate::memory::value_bytes;
use crate::types::decimal::{Decimal, DecimalOverflow};
use crate::types::json::{Json, Object};
use crate::value::Value;

#[derive(Debug)]
pub(in super::super) enum State {
    /// Nothing but how many they were.
    Rows,
    Sum(Sum),
    Average(Sum),
    /// The least or greatest value, and what makes another one better.
    Best(Value, fn(Ordering) -> bool),
    Bits(BitOperation, u64),
    Moments(Statistic, Moments),
    Texts(Box<Texts>),
    Array(Vec<Json>),
    Object(Vec<(Arc<str>, Json)>),
}

#[derive(Clone, Copy, Debug)]
pub(in super::super) enum BitOperation {
    And,
    Or,
    Xor,
}

/// What is made of the moments of values.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Statistic {
    Variance,
    SampleVariance,
    Deviation,
    SampleDeviation,
}

/// Of values that are added one by one (Welford's recurrence): their mean, and the sum of the squares of their distances
/// from it.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

#[derive(Debug)]
pub(in super::super) enum Sum {
    /// Nothing but integers so far.
    Integer(i128),
    Decimal(Decimal),
    Double(f64),
}

impl State {
    pub(super) fn sum() -> State {
        State::Sum(Sum::Integer(0))
    }

    pub(super) fn average() -> State {
        State::Average(Sum::Integer(0))
    }

    pub(super) fn statistic(of: Statistic) -> State {
        State::Moments(of, Moments::default())
    }

    /// Whether NULL is a value as any other.
    pub(super) fn takes_null(&self) -> bool {
        matches!(self, State::Array(_) | State::Object(_))
    }

    /// Takes the values of a row, of which the first is `value`.
    pub(super) fn add(
        &mut self,
        value: &Value,
        of: &Aggregate,
        row: &[Value],
        cx: &EvalContext<'_>,
    ) -> Result<(), SqlError> {
        match self {
            State::Rows => {}
            State::Sum(sum) | State::Average(sum) => sum.add(value, &of.args[0], cx)?,
            State::Best(best, better) => {
                if compare_values(value, best, of.collation()).is_none_or(*better) {
                    cx.statement.hold(value_bytes(value).saturating_sub(value_bytes(best)))?;
                    *best = value.clone().computed();
                }
            }
            State::Bits(operation, bits) => {
                let more = to_bits(value, cx)?;
                *bits = match operation {
                    BitOperation::And => *bits & more,
                    BitOperation::Or => *bits | more,
                    BitOperation::Xor => *bits ^ more,
                };
            }
            State::Moments(_, moments) => moments.add(to_f64(value, cx)?),
            State::Texts(texts) => texts.add(value, of, row, cx)?,
            State::Array(items) => {
                let item = part_of_document(&of.args[0], value, cx);
                cx.statement.hold(item.memory_bytes())?;
                items.push(item);
            }
            State::Object(members) => {
                if value.is_null() {
                    return Err(SqlError::new(ER_JSON_DOCUMENT_NULL_KEY, &[]));
                }
                let key: Arc<str> = to_text(&local(value, cx)).into();
                let part = part_of_document(&of.args[1], of.args[1].get(row, cx, &mut Value::Null)?, cx);
                cx.statement.hold(key.len() + part.memory_bytes())?;
                members.push((key, part));
            }
        }
        Ok(())
    }

    /// Takes a value away; false if the state does not know what it was without it.
    pub(super) fn remove(&mut self, value: &Value, of: &Aggregate, cx: &EvalContext<'_>) -> Result<bool, SqlError> {
        match self {
            State::Rows => Ok(true),
            State::Sum(sum) | State::Average(sum) => sum.remove(value, &of.args[0], cx),
            State::Bits(BitOperation::Xor, bits) => {
                *bits ^= to_bits(value, cx)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The result over `count` rows.
    pub(super) fn finish(&mut self, count: i64, of: &Aggregate, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        Ok(match self {
            State::Rows => Value::Int(count),
            State::Best(best, _) => best.clone(),
            State::Bits(_, bits) => Value::UInt(*bits),
            _ if count == 0 => Value::Null,
            State::Sum(sum) => sum.value(),
            State::Average(sum) => sum.average(count),
            State::Moments(statistic, moments) => moments.statistic(*statistic),
            State::Texts(texts) => return texts.finish(of, cx),
            State::Array(items) => Value::Json(Arc::new(Json::Array(items.clone()).bounded()?)),
            State::Object(members) => {
                Value::Json(Arc::new(Json::Object(Object::of(members.iter().cloned())).bounded()?))
            }
        })
    }
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let from_old = value - self.mean;
        self.mean += from_old / self.count as f64;
        self.squares += from_old * (value - self.mean);
    }

    fn statistic(&self, statistic: Statistic) -> Value {
        let sample = matches!(statistic, Statistic::SampleVariance | Statistic::SampleDeviation);
        if sample && self.count == 1 {
            return Value::Null;
        }
        let variance = self.squares / (self.count - u64::from(sample)) as f64;
        Value::Double(match statistic {
            Statistic::Variance | Statistic::SampleVariance => variance,
            Statistic::Deviation | Statistic::SampleDeviation => variance.sqrt(),
        })
    }
}

fn total_of(sum: &Decimal, more: &Decimal, arg: &Expr) -> Result<Decimal, SqlError> {
    sum.add(more).map_err(|DecimalOverflow| SqlError::new(ER_DATA_OUT_OF_RANGE, &[&"DECIMAL", &format!("sum({arg})")]))
}

impl Sum {
    fn add(&mut self, value: &Value, arg: &Expr, cx: &EvalContext<'_>) -> Result<(), SqlError> {
        match (&mut *self, value) {
            // 2^63 values of 64 bits stay within 128 bits.
            (Sum::Integer(sum), Value::Int(int)) => *sum += i128::from(*int),
            (Sum::Integer(sum), Value::UInt(int)) => *sum += i128::from(*int),
            (Sum::Double(sum), Value::Double(double)) => *sum += double,
            (Sum::Decimal(sum), Value::Decimal(decimal)) => *sum = total_of(sum, decimal, arg)?,
            _ => return self.add_number(Number::of(value, cx)?, arg),
        }
        Ok(())
    }

    fn remove(&mut self, value: &Value, arg: &Expr, cx: &EvalContext<'_>) -> Result<bool, SqlError> {
        match (&mut *self, value) {
            (Sum::Double(_), _) => return Ok(false),
            (Sum::Integer(sum), Value::Int(int)) => *sum -= i128::from(*int),
            (Sum::Integer(sum), Value::UInt(int)) => *sum -= i128::from(*int),
            _ => match Number::of(value, cx)? {
                Number::Double(_) => return Ok(false),
                exact => self.add_number(Number::Decimal(exact.to_decimal().negate()), arg)?,
            },
        }
        Ok(true)
    }

    fn add_number(&mut self, number: Number, arg: &Expr) -> Result<(), SqlError> {
        let sum = match self {
            Sum::Integer(sum) => Number::Decimal(Decimal::new(*sum, 0)),
            Sum::Decimal(sum) => Number::Decimal(std::mem::replace(sum, Decimal::ZERO)),
            Sum::Double(sum) => Number::Double(*sum),
        };
        *self = match (&sum, &number) {
            (Number::Double(_), _) | (_, Number::Double(_)) => Sum::Double(sum.to_f64() + number.to_f64()),
            _ => Sum::Decimal(total_of(&sum.to_decimal(), &number.to_decimal(), arg)?),
        };
        Ok(())
    }

    fn value(&self) -> Value {
        match self {
            Sum::Integer(sum) => Value::Decimal(Decimal::new(*sum, 0)),
            Sum::Decimal(sum) => Value::Decimal(sum.clone()),
            Sum::Double(sum) => Value::Double(*sum),
        }
    }

    fn average(&self, count: i64) -> Value {
        match self.value() {
            Value::Decimal(sum) => {
                // A quotient by one or more has no more digits before the point than the sum, which fits.
                let quotient = sum.divide(&Decimal::from(count), DIVISION_DIGITS);
                quotient.ok().flatten().map_or(Value::Null, Value::Decimal)
            }
            Value::Double(sum) => Value::Double(sum / count as f64),
            none => none,
        }
    }
}
