//! Aggregate functions.

use super::{EvalContext, Expr};
use crate::error::SqlError;
use crate::types::ResultType;
use crate::value::Value;

/// Which aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AggregateFunction {
    /// COUNT(*), and COUNT of something that cannot be NULL.
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
pub struct Accumulator {}

impl Aggregate {
    /// Whether `name` is an aggregate function's, known here or not (GROUP_CONCAT).
    pub fn is_aggregate(_name: &str) -> bool { todo!() }
    /// The aggregate `name(args)`; `COUNT(*)` has no arguments. 1235 for functions not supported yet.
    pub fn new(_name: &str, _args: Vec<Expr>, _distinct: bool) -> Result<Aggregate, SqlError> { todo!() }
    /// The type of the result.
    pub fn result_type(&self, _params: &[Value]) -> ResultType { todo!() }
    /// A fresh state.
    pub fn accumulator(&self) -> Accumulator { todo!() }
}

impl Accumulator {
    /// Takes one row of the group. `aggregate` is the one that made this state.
    pub fn add(&mut self, _aggregate: &Aggregate, _row: &[Value], _cx: &EvalContext<'_>) -> Result<(), SqlError> { todo!() }
    /// The result over the rows taken so far.
    pub fn finish(&self) -> Value { todo!() }
}
