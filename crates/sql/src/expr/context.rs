//! What an expression may ask of the statement and session it runs in.

use std::time::Duration;

use cohort_binlog::GtidSet;

use super::Subquery;
use crate::collation::Collation;
use crate::error::SqlError;
use crate::spill::Spilling;
use crate::types::SqlMode;
use crate::types::temporal::TimeZone;
use crate::value::Value;

/// Which value of a system variable is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableScope {
    /// `@@name`: the session's if there is one, else the global one.
    Any,
    /// `@@session.name`
    Session,
    /// `@@global.name`
    Global,
}

/// What the information functions ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Information {
    Database,
    User,
    CurrentUser,
    CurrentRole,
    RolesGraphml,
    Version,
    ConnectionId,
    LastInsertId,
    RowCount,
    FoundRows,
}

/// The two generators of MySQL's RAND(N).
#[derive(Clone, Copy, Debug)]
pub struct RandomSequence {
    first: u64,
    second: u64,
}

impl RandomSequence {
    const MODULUS: u64 = 0x3fff_ffff;

    /// The sequence of a seed.
    pub fn new(seed: u32) -> RandomSequence {
        let seed = u64::from(seed);
        let start = |number: u64| (number & 0xffff_ffff) % Self::MODULUS;
        RandomSequence { first: start(seed * 0x10001 + 55_555_555), second: start(seed * 0x1000_0001) }
    }

    /// The next number, in 0..1.
    pub fn next_double(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % Self::MODULUS;
        self.second = (self.first + self.second + 33) % Self::MODULUS;
        self.first as f64 / Self::MODULUS as f64
    }
}

/// The session as expressions see it. Methods take `&self`: implementors use cells.
pub trait StatementContext {
    /// When the statement started, microseconds since 1970 UTC; the same throughout the statement.
    fn now_us(&self) -> i64;
    /// The time of this very moment (SYSDATE).
    fn clock_us(&self) -> i64;
    /// The session's time zone.
    fn time_zone(&self) -> TimeZone;
    /// The session's SQL mode.
    fn sql_mode(&self) -> SqlMode;
    /// `default_week_format`, the mode of WEEK() without one.
    fn default_week_format(&self) -> u8 {
        0
    }
    /// Takes a warning; an `Err` (usually the same error, where a strict statement writes) ends the statement.
    fn warn(&self, warning: SqlError) -> Result<(), SqlError>;
    /// `@name`, NULL if never set. The name is in lower case.
    fn user_variable(&self, name: &str) -> Value;
    /// `@name := value`, a text of this collation.
    fn set_user_variable(&self, name: &str, value: Value, collation: Collation) -> Result<(), SqlError>;
    /// Counts what the statement keeps in memory to its end, bytes; 4082 if that is too much.
    fn hold(&self, bytes: usize) -> Result<(), SqlError>;
    /// Counts what the present evaluation has made, or is about to, bytes; 4082 if that is too much.
    fn hold_evaluated(&self, bytes: usize) -> Result<(), SqlError>;
    /// What the present evaluation has made so far, bytes.
    fn evaluated(&self) -> u64 {
        0
    }
    /// Goes back to what it had made before a part whose values are gone.
    fn forget_evaluated(&self, _to: u64) {}
    /// Where what is more than memory is for can go; `None` where there is no session.
    fn spilling(&self) -> Option<&dyn Spilling> {
        None
    }
    /// Error 1317 if the statement was killed. For what may take long over its data.
    fn check_killed(&self) -> Result<(), SqlError>;
    /// `@@name`; an unknown name is error 1193.
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value, SqlError>;
    /// DATABASE(), USER() and so on.
    fn information(&self, what: Information) -> Value;
    /// Whether there is a connection of this number. Where there is no server, there is the own one.
    fn has_connection(&self, id: u64) -> bool {
        self.information(Information::ConnectionId) == Value::UInt(id)
    }
    /// LAST_INSERT_ID(expr)
    fn set_last_insert_id(&self, id: u64);
    /// Waits; true if the wait was interrupted by KILL.
    fn sleep(&self, duration: Duration) -> bool;
    /// Waits until all of `set` is executed, so long at most; false if it is not by then, or KILL came. 3062 where
    /// transactions are anonymous. Where there is no server, nothing is executed.
    fn wait_for_gtids(&self, set: &GtidSet, _time: Option<Duration>) -> Result<bool, SqlError> {
        Ok(set.is_empty())
    }
    /// GET_LOCK, of a name in lower case; false after `timeout`. Where there is no server, every name is free.
    fn lock_name(&self, _name: &str, _timeout: Duration) -> Result<bool, SqlError> {
        Ok(true)
    }
    /// RELEASE_LOCK; false if the session does not hold the name.
    fn unlock_name(&self, _name: &str) -> bool {
        false
    }
    /// RELEASE_ALL_LOCKS: how often those given up were taken.
    fn unlock_names(&self) -> u64 {
        0
    }
    /// The connection that holds a name.
    fn name_holder(&self, _name: &str) -> Option<u64> {
        None
    }
    /// Random bytes (RAND, UUID, RANDOM_BYTES).
    fn random(&self, bytes: &mut [u8]);
    /// Where the RAND(n) at a place of the statement is in its sequence, if it has begun.
    fn sequence(&self, place: usize) -> Option<RandomSequence>;
    /// Keeps that for the next row.
    fn keep_sequence(&self, place: usize, sequence: RandomSequence);
    /// `max_allowed_packet`: longer results of string functions are NULL with a warning.
    fn max_allowed_packet(&self) -> usize;
}

/// The queries that are parts of expressions.
pub trait Queries {
    /// What a query gives for a row of the query around it.
    fn answer(&self, query: &Subquery, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError>;
}

/// What evaluation needs besides the row.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// The statement's parameters.
    pub params: &'a [Value],
    /// The session.
    pub statement: &'a dyn StatementContext,
    /// What the query reads of the query around it, for [`Expr::Outer`](super::Expr::Outer).
    pub outer: &'a [Value],
    /// What runs queries; without it they are an error.
    pub queries: Option<&'a dyn Queries>,
}

impl<'a> EvalContext<'a> {
    /// Where no query is around the expression and none within.
    pub fn new(params: &'a [Value], statement: &'a dyn StatementContext) -> EvalContext<'a> {
        EvalContext { params, statement, outer: &[], queries: None }
    }
}
