//! Aggregate functions.
//!
//! SUM and AVG are exact over integers and decimals, with a fast path that adds integers in 128 bits.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::super::arithmetic::DIVISION_DIGITS;
use super::super::convert::Number;
use super::super::{EvalContext, Expr, compare_values, write_group_key};
use super::{Evaluate, Form, Function, MANY};
use crate::collation::Collation;
use crate::error::{ER_DATA_OUT_OF_RANGE, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, SqlError};
use crate::memory::{key_bytes, value_bytes};
use crate::types::decimal::{Decimal, DecimalOverflow, MAX_SCALE};
use crate::types::{Family, NOT_FIXED_DECIMALS, ResultType};
use crate::value::Value;

/// In the examples `x` is 1, 2, 2 and NULL in the rows of the group.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::aggregate(
        "avg",
        Steps { add: |state, value, of, cx| state.sum.add(value, of, cx), finish: average, distinct: true },
        average_type,
    )
    .doc("The average of the values that are not NULL.", "AVG(x)", "1.6667"),
    Function::aggregate(
        "count",
        Steps { add: |_, _, _, _| Ok(()), finish: |state| Value::Int(state.count), distinct: true },
        |_| ResultType::integer(21).nullable(false),
    )
    .form(Form::Count)
    .doc(
        "How many rows there are, how many values that are not NULL, or how many distinct ones.",
        "COUNT(DISTINCT x)",
        "2",
    ),
    Function::aggregate(
        "max",
        Steps { add: |state, value, of, cx| state.keep(value, of, cx, Ordering::is_gt), finish: best, distinct: false },
        |of| of[0].computed().nullable(true),
    )
    .doc("The greatest value.", "MAX(x)", "2"),
    Function::aggregate(
        "min",
        Steps { add: |state, value, of, cx| state.keep(value, of, cx, Ordering::is_lt), finish: best, distinct: false },
        |of| of[0].computed().nullable(true),
    )
    .doc("The least value.", "MIN(x)", "1"),
    Function::aggregate(
        "sum",
        Steps { add: |state, value, of, cx| state.sum.add(value, of, cx), finish: sum, distinct: true },
        sum_type,
    )
    .doc("The sum of the values that are not NULL.", "SUM(DISTINCT x)", "3"),
];

/// What an aggregate function makes of the rows of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    /// Takes a value of the expression that is not NULL.
    add: fn(&mut Accumulator, &Value, &Expr, &EvalContext<'_>) -> Result<(), SqlError>,
    finish: fn(&Accumulator) -> Value,
    /// Whether DISTINCT makes a difference.
    distinct: bool,
}

/// An aggregate in a statement.
#[derive(Clone, Debug)]
pub struct Aggregate {
    function: &'static Function,
    steps: Steps,
    /// Over what: one expression; none for `COUNT(*)`, several for `COUNT(DISTINCT a, b)`.
    pub args: Vec<Expr>,
    /// Equal values count once.
    pub distinct: bool,
}

/// The state of one aggregate over the rows of one group.
#[derive(Debug)]
pub struct Accumulator {
    steps: Steps,
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

impl Function {
    const fn aggregate(name: &'static str, steps: Steps, derive: fn(&[ResultType]) -> ResultType) -> Function {
        Function { derive, ..Function::other(name, 1, 1, Evaluate::Aggregate(steps)) }.form(Form::Aggregate)
    }
}

impl PartialEq for Aggregate {
    fn eq(&self, other: &Aggregate) -> bool {
        (self.function, &self.args, self.distinct) == (other.function, &other.args, other.distinct)
    }
}

impl Aggregate {
    /// A call of an aggregate function; `COUNT(*)` has no arguments. 1235 for functions that are not supported, 1582
    /// for a wrong number of arguments.
    pub(crate) fn new(function: &'static Function, args: Vec<Expr>, distinct: bool) -> Result<Aggregate, SqlError> {
        let Evaluate::Aggregate(steps) = function.evaluate else { return Err(SqlError::unsupported(function.name)) };
        let (least, most) = match (function.form, distinct) {
            (Form::Count, false) => (0, 1),
            (Form::Count, true) => (1, MANY.into()),
            _ => function.arity(),
        };
        if !(least..=most).contains(&args.len()) {
            return Err(SqlError::new(ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&function.name]));
        }
        Ok(Aggregate { function, steps, args, distinct: distinct && steps.distinct })
    }

    /// The type of the result.
    pub fn result_type(&self, params: &[Value]) -> ResultType {
        let types: Vec<ResultType> = self.args.iter().map(|arg| arg.result_type(params)).collect();
        (self.function.derive)(&types)
    }

    /// The collation of the result.
    pub fn collation(&self) -> Collation {
        self.args.first().map_or(Collation::DEFAULT, Expr::collation)
    }

    /// A fresh state.
    pub fn accumulator(&self) -> Accumulator {
        Accumulator {
            steps: self.steps,
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
        match &*value {
            // Those that DISTINCT distinguishes are the ones that are shown.
            Value::Decimal(decimal) if aggregate.distinct => {
                (self.steps.add)(self, &Value::Decimal(decimal.as_shown()), first, cx)
            }
            value => (self.steps.add)(self, value, first, cx),
        }
    }

    /// Keeps the better one of two values.
    fn keep(
        &mut self,
        value: &Value,
        of: &Expr,
        cx: &EvalContext<'_>,
        better: fn(Ordering) -> bool,
    ) -> Result<(), SqlError> {
        if compare_values(value, &self.best, of.collation()).is_none_or(better) {
            cx.statement.hold(value_bytes(value).saturating_sub(value_bytes(&self.best)))?;
            // Of an ENUM or SET the text is the greatest or least.
            self.best = match value {
                Value::Member(member) => Value::text(&*member.text),
                other => other.clone(),
            };
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
        (self.steps.finish)(self)
    }
}

fn best(state: &Accumulator) -> Value {
    state.best.clone()
}

fn sum(state: &Accumulator) -> Value {
    match &state.sum {
        _ if state.count == 0 => Value::Null,
        Sum::Integer(sum) => Value::Decimal(Decimal::new(*sum, 0)),
        Sum::Decimal(sum) => Value::Decimal(sum.clone()),
        Sum::Double(sum) => Value::Double(*sum),
    }
}

fn average(state: &Accumulator) -> Value {
    match sum(state) {
        Value::Decimal(sum) => {
            // A quotient by one or more has no more digits before the point than the sum, which fits.
            let quotient = sum.divide(&Decimal::from(state.count), DIVISION_DIGITS);
            quotient.ok().flatten().map_or(Value::Null, Value::Decimal)
        }
        Value::Double(sum) => Value::Double(sum / state.count as f64),
        none => none,
    }
}

fn sum_type(of: &[ResultType]) -> ResultType {
    let of = of[0];
    match of.family() {
        Family::Integer | Family::Decimal | Family::Null | Family::Temporal => {
            let decimals = of.decimals.min(MAX_SCALE);
            ResultType::decimal(of.integer_digits() + 22 + u32::from(decimals), decimals)
        }
        Family::Real => ResultType::double().with_decimals(of.decimals),
        Family::String => ResultType::double(),
    }
}

fn average_type(of: &[ResultType]) -> ResultType {
    let of = of[0];
    match of.family() {
        Family::Integer | Family::Decimal | Family::Null | Family::Temporal => {
            let scale = (of.decimals + DIVISION_DIGITS).min(MAX_SCALE);
            ResultType::decimal(of.integer_digits() + u32::from(scale), scale)
        }
        Family::Real => ResultType::double().with_decimals((of.decimals + DIVISION_DIGITS).min(NOT_FIXED_DECIMALS)),
        Family::String => ResultType::double(),
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
