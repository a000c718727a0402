//! Values that are known when an expression is bound.

use std::time::Duration;

use super::{EvalContext, Expr, Information, RandomSequence, StatementContext, VariableScope};
use crate::collation::Collation;
use crate::error::{ER_UNKNOWN_SYSTEM_VARIABLE, SqlError};
use crate::types::SqlMode;
use crate::types::temporal::TimeZone;
use crate::value::Value;

impl Expr {
    /// Whether it is true as a condition, if that is known: functions may ask the session.
    pub(crate) fn constant_truth(&self) -> Option<bool> {
        let mut calls = false;
        self.walk(&mut |part| calls |= matches!(part, Expr::Call(_)));
        if calls || !self.is_known() {
            return None;
        }
        self.holds(&[], &EvalContext::new(&[], &NoSession { sql_mode: SqlMode::DEFAULT })).ok()
    }

    /// Whether its value depends on nothing but the expression, as far as its functions do not ask the session.
    fn is_known(&self) -> bool {
        let mut known = self.is_constant();
        self.walk(&mut |part| known &= !matches!(part, Expr::Param(_) | Expr::SystemVariable(..)));
        known
    }

    /// The value, or the error that it ends with, if it depends on nothing but the expression. Nothing warns here:
    /// evaluating the expression does.
    pub(crate) fn constant(&self) -> Option<Result<Value, SqlError>> {
        let value_in = |sql_mode| self.eval(&[], &EvalContext::new(&[], &NoSession { sql_mode }));
        // Whether a difference is out of range is up to the session's mode: it is an error here if it is in any.
        let signed = SqlMode::DEFAULT.union(SqlMode::NO_UNSIGNED_SUBTRACTION);
        self.is_known().then(|| value_in(SqlMode::DEFAULT).or_else(|_| value_in(signed)))
    }
}

/// Where there is no session. It has room for short strings only.
struct NoSession {
    sql_mode: SqlMode,
}

impl StatementContext for NoSession {
    fn now_us(&self) -> i64 {
        0
    }
    fn clock_us(&self) -> i64 {
        0
    }
    fn time_zone(&self) -> TimeZone {
        TimeZone::UTC
    }
    fn sql_mode(&self) -> SqlMode {
        self.sql_mode
    }
    fn warn(&self, _warning: SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn user_variable(&self, _name: &str) -> Value {
        Value::Null
    }
    fn set_user_variable(&self, _name: &str, _value: Value, _collation: Collation) -> Result<(), SqlError> {
        Ok(())
    }
    fn hold(&self, _bytes: usize) -> Result<(), SqlError> {
        Ok(())
    }
    fn hold_evaluated(&self, _bytes: usize) -> Result<(), SqlError> {
        Ok(())
    }
    fn check_killed(&self) -> Result<(), SqlError> {
        Ok(())
    }
    fn system_variable(&self, _scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        Err(SqlError::new(ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]))
    }
    fn information(&self, _what: Information) -> Value {
        Value::Null
    }
    fn set_last_insert_id(&self, _id: u64) {}
    fn sleep(&self, _duration: Duration) -> bool {
        false
    }
    fn random(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
    fn sequence(&self, _place: usize) -> Option<RandomSequence> {
        None
    }
    fn keep_sequence(&self, _place: usize, _sequence: RandomSequence) {}
    fn max_allowed_packet(&self) -> usize {
        1024
    }
}
