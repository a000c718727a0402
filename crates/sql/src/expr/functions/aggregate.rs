//! Aggregate functions: what each is, and how rows are handed to its state ([`state`]).
//!
//! SUM and AVG are exact over integers and decimals, with a fast path that adds integers in 128 bits.

mod concat;
mod state;

use std::cmp::Ordering;

use super::super::arithmetic::DIVISION_DIGITS;
use super::super::coercion::{as_met, settle};
use super::super::{EvalContext, Expr, write_group_key};
use super::{Evaluate, Form, Function, MANY};
use crate::collation::Collation;
use crate::error::{ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, SqlError};
use crate::spill::{DistinctRows, Spilling};
use crate::types::decimal::MAX_SCALE;
use crate::types::{Family, FieldType, NOT_FIXED_DECIMALS, ResultType};
use crate::value::Value;

pub(crate) use concat::Concat;
use state::{BitOperation, State, Statistic};

/// In the examples `x` is 1, 2, 2 and NULL in the rows of the group.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::aggregate("avg", State::average, average_type).form(Form::DistinctAggregate).doc(
        "The average of the values that are not NULL.",
        "AVG(x)",
        "1.6667",
    ),
    Function::aggregate("bit_and", || State::Bits(BitOperation::And, u64::MAX), bits_type).doc(
        "The bits that are set in all values.",
        "BIT_AND(x)",
        "0",
    ),
    Function::aggregate("bit_or", || State::Bits(BitOperation::Or, 0), bits_type).doc(
        "The bits that are set in any value.",
        "BIT_OR(x)",
        "3",
    ),
    Function::aggregate("bit_xor", || State::Bits(BitOperation::Xor, 0), bits_type).doc(
        "The bits that are set in an odd number of values.",
        "BIT_XOR(x)",
        "1",
    ),
    Function::aggregate("count", || State::Rows, |_| ResultType::integer(21).nullable(false)).form(Form::Count).doc(
        "How many rows there are, how many values that are not NULL, or how many distinct ones.",
        "COUNT(DISTINCT x)",
        "2",
    ),
    Function::aggregate(
        "group_concat",
        || State::Texts(Box::default()),
        |of| ResultType { field: FieldType::Blob, ..ResultType::string(0, of[0].collation) },
    )
    .form(Form::GroupConcat)
    .doc(
        "The texts of the values that are not NULL, with commas or another SEPARATOR between them.",
        "GROUP_CONCAT(DISTINCT x ORDER BY x DESC SEPARATOR '; ')",
        "2; 1",
    ),
    Function::aggregate("json_arrayagg", || State::Array(Vec::new()), |_| ResultType::json()).doc(
        "A JSON array of the values, NULL among them.",
        "JSON_ARRAYAGG(x)",
        "[1, 2, 2, null]",
    ),
    Function::aggregate("json_objectagg", || State::Object(Vec::new()), |_| ResultType::json()).arguments(2, 2).doc(
        "A JSON object of keys and their values; of equal keys the last counts.",
        "JSON_OBJECTAGG(IFNULL(x, 'none'), x)",
        "{\"1\": 1, \"2\": 2, \"none\": null}",
    ),
    Function::aggregate("max", || State::Best(Value::Null, Ordering::is_gt), |of| of[0].computed().nullable(true))
        .form(Form::DistinctAggregate)
        .doc("The greatest value.", "MAX(x)", "2"),
    Function::aggregate("min", || State::Best(Value::Null, Ordering::is_lt), |of| of[0].computed().nullable(true))
        .form(Form::DistinctAggregate)
        .doc("The least value.", "MIN(x)", "1"),
    Function::aggregate("std", || State::statistic(Statistic::Deviation), |_| ResultType::double())
        .aliases(&["stddev", "stddev_pop"])
        .doc("The standard deviation of the values, which are all there are.", "ROUND(STD(x), 4)", "0.4714"),
    Function::aggregate("stddev_samp", || State::statistic(Statistic::SampleDeviation), |_| ResultType::double()).doc(
        "The standard deviation of the values, which are a sample.",
        "ROUND(STDDEV_SAMP(x), 4)",
        "0.5774",
    ),
    Function::aggregate("sum", State::sum, sum_type).form(Form::DistinctAggregate).doc(
        "The sum of the values that are not NULL.",
        "SUM(DISTINCT x)",
        "3",
    ),
    Function::aggregate("var_pop", || State::statistic(Statistic::Variance), |_| ResultType::double())
        .aliases(&["variance"])
        .doc("The variance of the values, which are all there are.", "ROUND(VAR_POP(x), 4)", "0.2222"),
    Function::aggregate("var_samp", || State::statistic(Statistic::SampleVariance), |_| ResultType::double()).doc(
        "The variance of the values, which are a sample.",
        "ROUND(VAR_SAMP(x), 4)",
        "0.3333",
    ),
];

/// An aggregate in a statement.
#[derive(Clone, Debug)]
pub struct Aggregate {
    function: &'static Function,
    begin: fn() -> State,
    /// What it reads: the expressions it is over (none for `COUNT(*)`, several for `COUNT(DISTINCT a, b)`), then those that
    /// GROUP_CONCAT sorts by.
    pub args: Vec<Expr>,
    /// Equal values count once.
    pub distinct: bool,
    /// How many of the arguments it is over.
    over: usize,
    concat: Option<Concat>,
}

/// The state of one aggregate over the rows of one group.
#[derive(Debug)]
pub struct Accumulator {
    state: State,
    /// The values seen, for DISTINCT.
    seen: Option<Box<DistinctRows>>,
    /// Rows that counted.
    count: i64,
}

impl Function {
    const fn aggregate(name: &'static str, begin: fn() -> State, derive: fn(&[ResultType]) -> ResultType) -> Function {
        Function { derive, ..Function::other(name, 1, 1, Evaluate::Aggregate(Begin(begin))) }.form(Form::Aggregate)
    }

    const fn arguments(self, least: u8, most: u8) -> Function {
        Function { arity: (least, most), ..self }
    }
}

/// What makes the state of an aggregate before its first row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin(fn() -> State);

impl std::fmt::Display for Aggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let distinct = if self.distinct { "distinct " } else { "" };
        let args: Vec<String> = self.args.iter().take(self.over).map(ToString::to_string).collect();
        // As MySQL shows COUNT(*).
        let args = if args.is_empty() { "0".to_owned() } else { args.join(",") };
        write!(f, "{}({distinct}{args})", self.function.name)
    }
}

impl PartialEq for Aggregate {
    fn eq(&self, other: &Aggregate) -> bool {
        (self.function, &self.args, self.distinct, &self.concat)
            == (other.function, &other.args, other.distinct, &other.concat)
    }
}

impl Aggregate {
    /// A call of an aggregate function; `COUNT(*)` has no arguments. 1235 for functions that are not supported, 1582
    /// for a wrong number of arguments.
    pub(crate) fn new(function: &'static Function, args: Vec<Expr>, distinct: bool) -> Result<Aggregate, SqlError> {
        let Evaluate::Aggregate(Begin(begin)) = function.evaluate else {
            return Err(SqlError::unsupported(function.name));
        };
        let (least, most) = match (function.form, distinct) {
            (Form::Count, false) => (0, 1),
            (Form::Count, true) => (1, MANY.into()),
            _ => function.arity(),
        };
        if !(least..=most).contains(&args.len()) {
            return Err(SqlError::new(ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&function.name]));
        }
        // Among equal values each is the least and the greatest.
        let distinct = distinct && !matches!(function.name, "min" | "max");
        Ok(Aggregate { function, begin, over: args.len(), args, distinct, concat: None })
    }

    /// `GROUP_CONCAT(args ORDER BY keys SEPARATOR ...)`; 1267 and the like where the collations of the arguments
    /// contradict each other.
    pub(crate) fn group_concat(
        args: Vec<Expr>,
        order_by: Vec<(Expr, bool)>,
        distinct: bool,
        concat: Concat,
    ) -> Result<Aggregate, SqlError> {
        let function = Function::named("group_concat").ok_or_else(|| SqlError::internal("no group_concat"))?;
        let Evaluate::Aggregate(Begin(begin)) = function.evaluate else {
            return Err(SqlError::internal("group_concat is no aggregate"));
        };
        let collation = settle(&args.iter().collect::<Vec<_>>(), function.name)?;
        let mut args: Vec<Expr> = args.into_iter().map(|arg| as_met(arg, collation)).collect();
        let over = args.len();
        let (keys, descending): (Vec<Expr>, Vec<bool>) = order_by.into_iter().unzip();
        args.extend(keys);
        let concat = Concat { descending, collation, ..concat };
        Ok(Aggregate { function, begin, over, args, distinct, concat: Some(concat) })
    }

    /// The function's name, in lower case.
    pub(crate) fn name(&self) -> &'static str {
        self.function.name
    }

    /// The type of the result.
    pub fn result_type(&self, params: &[Value]) -> ResultType {
        if let Some(concat) = &self.concat {
            return concat.result_type();
        }
        let types: Vec<ResultType> = self.args.iter().map(|arg| arg.result_type(params)).collect();
        (self.function.derive)(&types)
    }

    /// The collation of the result.
    pub fn collation(&self) -> Collation {
        self.args.first().map_or(Collation::DEFAULT, Expr::collation)
    }

    /// A fresh state. What of it may grow takes so many bytes of memory at most, and goes to files beyond that.
    pub fn accumulator(&self, bytes: u64) -> Accumulator {
        let seen = self.distinct.then(|| Box::new(DistinctRows::new(bytes)));
        Accumulator { state: (self.begin)(), seen, count: 0 }
    }

    /// Whether each row counts, whatever it has: `COUNT(*)`, and COUNT of what is not NULL.
    pub(crate) fn counts_rows(&self) -> bool {
        let is_there = |arg: &Expr| {
            matches!(arg, Expr::Column(_) | Expr::Literal(..)) && !arg.has_params() && !arg.result_type(&[]).nullable
        };
        self.function.form == Form::Count && !self.distinct && self.over().iter().all(is_there)
    }

    /// Whether its state grows with each row.
    pub(crate) fn grows(&self) -> bool {
        self.distinct || matches!((self.begin)(), State::Texts(_) | State::Array(_) | State::Object(_))
    }

    /// Whether its result may be another one, be it by a digit, where rows come in another order.
    pub(crate) fn depends_on_order(&self) -> bool {
        let over = |families: &[Family]| {
            self.over().iter().all(|arg| families.contains(&arg.result_type(&[]).family()) && !arg.has_params())
        };
        match (self.begin)() {
            State::Rows | State::Bits(..) => false,
            State::Sum(_) | State::Average(_) => !over(&[Family::Integer, Family::Decimal]),
            // Equal texts need not be the same, nor need equal zeros.
            State::Best(..) => !over(&[Family::Integer, Family::Decimal, Family::Temporal]),
            State::Moments(..) | State::Texts(_) | State::Array(_) | State::Object(_) => true,
        }
    }

    /// What it is over.
    fn over(&self) -> &[Expr] {
        &self.args[..self.over]
    }
}

impl Accumulator {
    /// Takes one row of the group. `aggregate` is the one that made this state.
    pub fn add(&mut self, aggregate: &Aggregate, row: &[Value], cx: &EvalContext<'_>) -> Result<(), SqlError> {
        let Some(first) = aggregate.over().first() else {
            self.count += 1;
            return Ok(());
        };
        let mut made = Value::Null;
        let value = first.get(row, cx, &mut made)?;
        if value.is_null() && !self.state.takes_null() || !self.is_new(aggregate, value, row, cx)? {
            return Ok(());
        }
        self.take(aggregate, value, row, cx)
    }

    /// Takes so many rows of an aggregate that [counts rows](Aggregate::counts_rows).
    pub(crate) fn add_rows(&mut self, rows: u64) {
        self.count += rows as i64;
    }

    /// Takes a row that counts.
    fn take(
        &mut self,
        aggregate: &Aggregate,
        value: &Value,
        row: &[Value],
        cx: &EvalContext<'_>,
    ) -> Result<(), SqlError> {
        self.count += 1;
        match value {
            // Those that DISTINCT distinguishes are the ones that are shown.
            Value::Decimal(decimal) if aggregate.distinct => {
                self.state.add(&Value::Decimal(decimal.as_shown()), aggregate, row, cx)
            }
            value => self.state.add(value, aggregate, row, cx),
        }
    }

    /// Takes a row away that was added before; false if that cannot be done exactly, and then nothing has changed.
    pub(crate) fn remove(
        &mut self,
        aggregate: &Aggregate,
        row: &[Value],
        cx: &EvalContext<'_>,
    ) -> Result<bool, SqlError> {
        let Some(first) = aggregate.over().first() else {
            self.count -= 1;
            return Ok(true);
        };
        let mut made = Value::Null;
        let value = first.get(row, cx, &mut made)?;
        if value.is_null() && !self.state.takes_null() {
            return Ok(true);
        }
        let removed = self.seen.is_none() && self.state.remove(value, aggregate, cx)?;
        self.count -= i64::from(removed);
        Ok(removed)
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
        for arg in &aggregate.over()[1..] {
            let mut made = Value::Null;
            let value = arg.get(row, cx, &mut made)?;
            if value.is_null() {
                return Ok(false);
            }
            write_group_key(value, arg.collation(), &mut key);
        }
        seen.is_new(key, row, spilling(cx)?)
    }

    /// The result over the rows taken so far. `aggregate` is the one that made this state; of one that grows no further
    /// row can be taken.
    pub fn finish(&mut self, aggregate: &Aggregate, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        while let Some(seen) = &mut self.seen
            && let Some(later) = seen.next_later(spilling(cx)?)?
            && let Some(first) = aggregate.over().first()
        {
            let value = first.eval(&later, cx)?;
            self.take(aggregate, &value, &later, cx)?;
        }
        self.state.finish(self.count, aggregate, cx)
    }
}

fn spilling<'a>(cx: &EvalContext<'a>) -> Result<&'a dyn Spilling, SqlError> {
    cx.statement.spilling().ok_or_else(|| SqlError::internal("an aggregate without a session"))
}

fn sum_type(of: &[ResultType]) -> ResultType {
    let of = of[0];
    match of.family() {
        Family::Integer | Family::Decimal | Family::Temporal => {
            let decimals = of.decimals.min(MAX_SCALE);
            ResultType::decimal(of.integer_digits() + 22 + u32::from(decimals), decimals)
        }
        Family::Real => ResultType::double().with_decimals(of.decimals),
        Family::String | Family::Null => ResultType::double(),
    }
}

fn average_type(of: &[ResultType]) -> ResultType {
    let of = of[0];
    match of.family() {
        Family::Integer | Family::Decimal | Family::Temporal => {
            let scale = (of.decimals + DIVISION_DIGITS).min(MAX_SCALE);
            ResultType::decimal(of.integer_digits() + u32::from(scale), scale)
        }
        Family::Real => ResultType::double().with_decimals((of.decimals + DIVISION_DIGITS).min(NOT_FIXED_DECIMALS)),
        Family::String | Family::Null => ResultType::double(),
    }
}

fn bits_type(_: &[ResultType]) -> ResultType {
    ResultType::unsigned(21).nullable(false)
}
