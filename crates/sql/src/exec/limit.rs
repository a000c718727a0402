//! LIMIT, once its parameters are known.

use crate::error::{ER_WRONG_ARGUMENTS, SqlError};
use crate::expr::Expr;
use crate::plan::LimitExprs;
use crate::value::Value;

use super::Run;

/// How many rows to skip and how many to give.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) offset: u64,
    pub(super) count: u64,
}

impl Limit {
    pub(super) const NONE: Limit = Limit { offset: 0, count: u64::MAX };

    /// The limit of this run.
    pub(super) fn of(limit: Option<&LimitExprs>, run: &Run<'_>) -> Result<Limit, SqlError> {
        let Some(limit) = limit else { return Ok(Limit::NONE) };
        let offset = limit.offset.as_ref().map_or(Ok(0), |offset| count(offset, run))?;
        Ok(Limit { offset, count: count(&limit.count, run)? })
    }

    /// Rows that are needed before the rest can be left.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.count)
    }
}

/// The count of a LIMIT without offset; no limit without one.
pub(super) fn count_or_all(limit: Option<&Expr>, run: &Run<'_>) -> Result<u64, SqlError> {
    limit.map_or(Ok(u64::MAX), |limit| count(limit, run))
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
