//! LIMIT.

use super::{Operator, Row};
use crate::error::{ER_WRONG_ARGUMENTS, SqlError};
use crate::exec::Run;
use crate::expr::Expr;
use crate::plan::query::LimitExprs;
use crate::value::Value;

/// How many rows to skip and how many to give.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Bounds {
    offset: u64,
    count: u64,
}

impl Bounds {
    /// Those of this run.
    pub(in crate::exec) fn of(limit: &LimitExprs, run: &mut Run<'_>) -> Result<Bounds, SqlError> {
        let offset = limit.offset.as_ref().map_or(Ok(0), |offset| count(offset, run))?;
        Ok(Bounds { offset, count: count(&limit.count, run)? })
    }

    /// Those of a LIMIT that is not there.
    pub(in crate::exec) const NONE: Bounds = Bounds { offset: 0, count: u64::MAX };

    /// Whether so many rows are all that are asked for.
    pub(in crate::exec) fn are_reached(&self, rows: usize) -> bool {
        rows as u64 >= self.end()
    }

    /// Whether the row of this number is asked for, counted from 0.
    pub(in crate::exec) fn have(&self, row: usize) -> bool {
        let row = row as u64;
        row >= self.offset && row - self.offset < self.count
    }

    /// Whether they are those of no LIMIT.
    pub(super) fn are_none(&self) -> bool {
        self.offset == 0 && self.count == u64::MAX
    }

    /// How many rows are given at most.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// How many rows they reach over.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.count)
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.count == 0
    }
}

fn count(expr: &Expr, run: &mut Run<'_>) -> Result<u64, SqlError> {
    let wrong = || SqlError::new(ER_WRONG_ARGUMENTS, &[&"EXECUTE"]);
    match run.evaluate(|cx| expr.eval(&[], cx))? {
        Value::Int(count) => u64::try_from(count).map_err(|_| wrong()),
        Value::UInt(count) => Ok(count),
        // Some drivers bind every number as a double.
        Value::Double(count) if count.fract() == 0.0 && (0.0..1e15).contains(&count) => Ok(count as u64),
        Value::Text(text) => text.parse().map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// Some of the rows. Once it has given them it asks for no further one, unless all are to be counted.
pub(super) struct Limit<'p> {
    /// `None` where no row is wanted.
    input: Option<Box<dyn Operator + 'p>>,
    left: Bounds,
    counts_all: bool,
    /// Rows of the input so far.
    found: u64,
}

impl<'p> Limit<'p> {
    pub(super) fn new(input: Option<Box<dyn Operator + 'p>>, bounds: Bounds, counts_all: bool) -> Limit<'p> {
        Limit { input, left: bounds, counts_all, found: 0 }
    }
}

impl Operator for Limit<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let Some(input) = &mut self.input else { return Ok(false) };
        let to_skip = std::mem::take(&mut self.left.offset);
        let skipped = if to_skip > 0 { input.skip(to_skip, run, row)? } else { 0 };
        self.found += skipped;
        if skipped < to_skip || self.left.is_nothing() {
            if skipped == to_skip && self.counts_all {
                self.found += input.skip(u64::MAX, run, row)?;
            }
            run.found_rows = Some(self.found);
            return Ok(false);
        }
        self.left.count -= 1;
        let given = input.next(run, row)?;
        if given {
            self.found += 1;
        } else {
            run.found_rows = Some(self.found);
        }
        Ok(given)
    }
}
