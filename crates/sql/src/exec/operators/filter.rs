//! Rows for which a condition is true: HAVING, and WHERE over rows that are not stored. That of a stored table is its
//! scan's, which judges rows under their locks.

use super::{Judge, Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::Expr;

pub(super) struct Filter<'p> {
    input: Box<dyn Operator + 'p>,
    judge: Judge<'p>,
}

impl<'p> Filter<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, condition: &'p Expr) -> Filter<'p> {
        Filter { input, judge: Judge::of(Some(condition)) }
    }
}

impl Operator for Filter<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while self.input.next(run, row)? {
            if self.judge.matches(run, &row.values)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn open_again(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        self.input.open_again(run, row)
    }

    fn as_planned(&self) -> bool {
        self.input.as_planned()
    }
}
