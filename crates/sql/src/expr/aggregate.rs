//! Aggregate functions.
//!
//! SUM and AVG are exact over integers and decimals, with a fast path that adds integers in 128 bits.

use std::collections::HashSet;

use super::convert::Number;
use super::{EvalContext, Expr, compare_values, write_group_key};
use crate::collation::Collation;
use crate::error::{ER_DATA_OUT_OF_RANGE, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, SqlError};
use crate::memory::{key_bytes, value_bytes};
use crate::types::decimal::{Decimal, DecimalOverflow, MAX_SCALE};
use crate::types::{Family, NOT_FIXED_DECIMALS, ResultType};
use crate::value::Value;

use super::arithmetic::DIVISION_DIGITS;

/// Which aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AggregateFunction {
    /// `COUNT(*)`.
    CountRows,
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

/// An aggregate in a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Which function.
    pub function: AggregateFunction,
    /// Over what: one expression; none for `COUNT(*)`, several for `COUNT(DISTINCT a, b)`.
    pub args: Vec<Expr>,
    /// Equal values count once.
    pub distinct: bool,
}

/// The state of one aggregate over the rows of one group.
#[derive(Debug)]
pub struct Accumulator {
    function: AggregateFunction,
    /// Keys of the values seen, for DISTINCT.
    seen: Option<HashSet<Vec<u8>>>,
    /// Rows that counted.
    count: i64,
    sum: Sum,
    /// The least or greatest value.
    best: Value,
}

#[derive(Debug)]
enum Sum {
    /// Nothing but integers so far.
    Integer(i128),
    Decimal(Decimal),
    Double(f64),
}

/// Aggregates of MySQL that are not supported.
const UNSUPPORTED: &[&str] = &[
    "group_concat",
    "bit_and",
    "bit_or",
    "bit_xor",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "var_pop",
    "var_samp",
    "variance",
    "json_arrayagg",
    "json_objectagg",
];

fn function_of(name: &str) -> Option<AggregateFunction> {
    Some(match name.to_ascii_lowercase().as_str() {
        "count" => AggregateFunction::Count,
        "sum" => AggregateFunction::Sum,
        "avg" => AggregateFunction::Avg,
        "min" => AggregateFunction::Min,
        "max" => AggregateFunction::Max,
        _ => return None,
    })
}

impl Aggregate {
    /// Whether `name` is an aggregate function's, supported or not.
    pub fn is_aggregate(name: &str) -> bool {
        function_of(name).is_some() || UNSUPPORTED.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// The aggregate `name(args)`; `COUNT(*)` has no arguments. 1235 for functions that are not
    /// supported, 1582 for a wrong number of arguments.
    pub fn new(name: &str, args: Vec<Expr>, distinct: bool) -> Result<Aggregate, SqlError> {
        let function = function_of(name).ok_or_else(|| SqlError::unsupported(name))?;
        let wrong_count = || SqlError::new(ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&name]);
        match (function, args.len()) {
            (AggregateFunction::Count, 0) if !distinct => {
                Ok(Aggregate { function: AggregateFunction::CountRows, args, distinct })
            }
            (_, 1) => {
                // The least of distinct values is the least of all.
                let distinct = distinct && !matches!(function, AggregateFunction::Min | AggregateFunction::Max);
                Ok(Aggregate { function, args, distinct })
            }
            (AggregateFunction::Count, 2..) if distinct => Ok(Aggregate { function, args, distinct }),
            _ => Err(wrong_count()),
        }
    }

    /// The type of the result.
    pub fn result_type(&self, params: &[Value]) -> ResultType {
        let arg = self.args.first().map_or_else(ResultType::null, |arg| arg.result_type(params));
        let exact = matches!(arg.family(), Family::Integer | Family::Decimal | Family::Null | Family::Temporal);
        match self.function {
            AggregateFunction::CountRows | AggregateFunction::Count => ResultType::integer(21).nullable(false),
            AggregateFunction::Sum if exact => {
                let decimals = arg.decimals.min(MAX_SCALE);
                ResultType::decimal(arg.integer_digits() + 22 + u32::from(decimals), decimals)
            }
            AggregateFunction::Avg if exact => {
                let scale = (arg.decimals + DIVISION_DIGITS).min(MAX_SCALE);
                ResultType::decimal(arg.integer_digits() + u32::from(scale), scale)
            }
            AggregateFunction::Sum if arg.family() == Family::Real => ResultType::double().with_decimals(arg.decimals),
            AggregateFunction::Avg if arg.family() == Family::Real => {
                ResultType::double().with_decimals((arg.decimals + DIVISION_DIGITS).min(NOT_FIXED_DECIMALS))
            }
            AggregateFunction::Sum | AggregateFunction::Avg => ResultType::double(),
            AggregateFunction::Min | AggregateFunction::Max => arg.computed().nullable(true),
        }
    }

    /// The collation of the result.
    pub fn collation(&self) -> Collation {
        self.args.first().map_or(Collation::DEFAULT, Expr::collation)
    }

    /// A fresh state.
    pub fn accumulator(&self) -> Accumulator {
        Accumulator {
            function: self.function,
            seen: self.distinct.then(HashSet::new),
            count: 0,
            sum: Sum::Integer(0),
            best: Value::Null,
        }
    }
}

impl Accumulator {
    /// Takes one row of the group. `aggregate` is the one that made this state.
    pub fn add(&mut self, aggregate: &Aggregate, row: &[Value], cx: &EvalContext<'_>) -> Result<(), SqlError> {
        let Some(first) = aggregate.args.first() else {
            self.count += 1;
            return Ok(());
        };
        let value = first.get(row, cx)?;
        if value.is_null() || !self.is_new(aggregate, &value, row, cx)? {
            return Ok(());
        }
        self.count += 1;
        match aggregate.function {
            AggregateFunction::CountRows | AggregateFunction::Count => {}
            AggregateFunction::Sum | AggregateFunction::Avg => match &*value {
                // Those that DISTINCT distinguishes are the ones that are shown.
                Value::Decimal(decimal) if aggregate.distinct => {
                    self.sum.add(&Value::Decimal(decimal.as_shown()), first, cx)?;
                }
                value => self.sum.add(value, first, cx)?,
            },
            AggregateFunction::Min | AggregateFunction::Max => {
                let order = compare_values(&value, &self.best, first.collation());
                let better = match aggregate.function {
                    AggregateFunction::Min => order.is_none_or(|order| order.is_lt()),
                    _ => order.is_none_or(|order| order.is_gt()),
                };
                if better {
                    cx.statement.hold(value_bytes(&value).saturating_sub(value_bytes(&self.best)))?;
                    self.best = value.into_owned();
                }
            }
        }
        Ok(())
    }

    /// Whether DISTINCT lets the values of the row count.
    fn is_new(
        &mut self,
        aggregate: &Aggregate,
        first: &Value,
        row: &[Value],
        cx: &EvalContext<'_>,
    ) -> Result<bool, SqlError> {
        let Some(seen) = &mut self.seen else { return Ok(true) };
        let mut key = Vec::new();
        write_group_key(first, aggregate.args[0].collation(), &mut key);
        for arg in &aggregate.args[1..] {
            let value = arg.get(row, cx)?;
            if value.is_null() {
                return Ok(false);
            }
            write_group_key(&value, arg.collation(), &mut key);
        }
        let bytes = key_bytes(&key);
        let new = seen.insert(key);
        if new {
            cx.statement.hold(bytes)?;
        }
        Ok(new)
    }

    /// The result over the rows taken so far.
    pub fn finish(&self) -> Value {
        match self.function {
            AggregateFunction::CountRows | AggregateFunction::Count => Value::Int(self.count),
            AggregateFunction::Min | AggregateFunction::Max => self.best.clone(),
            _ if self.count == 0 => Value::Null,
            AggregateFunction::Sum => match &self.sum {
                Sum::Integer(sum) => Value::Decimal(Decimal::new(*sum, 0)),
                Sum::Decimal(sum) => Value::Decimal(sum.clone()),
                Sum::Double(sum) => Value::Double(*sum),
            },
            AggregateFunction::Avg => {
                let sum = match &self.sum {
                    Sum::Integer(sum) => Decimal::new(*sum, 0),
                    Sum::Decimal(sum) => sum.clone(),
                    Sum::Double(sum) => return Value::Double(sum / self.count as f64),
                };
                // A quotient by one or more has no more digits before the point than the sum, which fits.
                let quotient = sum.divide(&Decimal::from(self.count), DIVISION_DIGITS);
                quotient.ok().flatten().map_or(Value::Null, Value::Decimal)
            }
        }
    }
}

fn out_of_range(_: DecimalOverflow, what: &str) -> SqlError {
    SqlError::new(ER_DATA_OUT_OF_RANGE, &[&"DECIMAL", &what])
}

impl Sum {
    fn add(&mut self, value: &Value, arg: &Expr, cx: &EvalContext<'_>) -> Result<(), SqlError> {
        match (&mut *self, value) {
            // 2^63 values of 64 bits stay within 128 bits.
            (Sum::Integer(sum), Value::Int(int)) => *sum += i128::from(*int),
            (Sum::Integer(sum), Value::UInt(int)) => *sum += i128::from(*int),
            (Sum::Double(sum), Value::Double(double)) => *sum += double,
            _ => return self.add_number(Number::of(value, cx)?, arg),
        }
        Ok(())
    }

    fn add_number(&mut self, number: Number, arg: &Expr) -> Result<(), SqlError> {
        let sum = match self {
            Sum::Integer(sum) => Number::Decimal(Decimal::new(*sum, 0)),
            Sum::Decimal(sum) => Number::Decimal(std::mem::replace(sum, Decimal::ZERO)),
            Sum::Double(sum) => Number::Double(*sum),
        };
        *self = match (&sum, &number) {
            (Number::Double(_), _) | (_, Number::Double(_)) => Sum::Double(sum.to_f64() + number.to_f64()),
            _ => {
                let total = sum.to_decimal().add(&number.to_decimal());
                Sum::Decimal(total.map_err(|overflow| out_of_range(overflow, &format!("sum({arg})")))?)
            }
        };
        Ok(())
    }
}
