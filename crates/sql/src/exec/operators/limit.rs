//! LIMIT.

use super::{Operator, Row};
use crate::error::{ER_WRONG_ARGUMENTS, SqlError};
use crate::exec::Run;
use crate::expr::Expr;
use crate::plan::query::LimitExprs;
use crate::value::Value;

/// How many rows to skip and how many to give.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    offset: u64,
    count: u64,
}

impl Bounds {
    /// Those of this run.
    pub(super) fn of(limit: &LimitExprs, run: &Run<'_>) -> Result<Bounds, SqlError> {
        let offset = limit.offset.as_ref().map_or(Ok(0), |offset| count(offset, run))?;
        Ok(Bounds { offset, count: count(&limit.count, run)? })
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.count == 0
    }
}

fn count(expr: &Expr, run: &Run<'_>) -> Result<u64, SqlError> {
    let wrong = || SqlError::new(ER_WRONG_ARGUMENTS, &[&"LIMIT"]);
    match expr.eval(&[], &run.eval())? {
        Value::Int(count) => u64::try_from(count).map_err(|_| wrong()),
        Value::UInt(count) => Ok(count),
        // Some drivers bind every number as a double.
        Value::Double(count) if count.fract() == 0.0 && (0.0..1e15).contains(&count) => Ok(count as u64),
        Value::Text(text) => text.parse().map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// Some of the rows. Once it has given them it asks for no further one.
pub(super) struct Limit<'p> {
    /// `None` where no row is wanted.
    input: Option<Box<dyn Operator + 'p>>,
    left: Bounds,
}

impl<'p> Limit<'p> {
    pub(super) fn new(input: Option<Box<dyn Operator + 'p>>, bounds: Bounds) -> Limit<'p> {
        Limit { input, left: bounds }
    }
}

impl Operator for Limit<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let Some(input) = &mut self.input else { return Ok(false) };
        if self.left.is_nothing() {
            return Ok(false);
        }
        while self.left.offset > 0 {
            if !input.next(run, row)? {
                return Ok(false);
            }
            self.left.offset -= 1;
        }
        self.left.count -= 1;
        input.next(run, row)
    }
}
