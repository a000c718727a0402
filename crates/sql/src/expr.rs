//! Bound expressions: what a planner builds from the syntax tree and an executor evaluates by row.
//!
//! Outline: build with the constructors (they check arguments and settle collations), look into the
//! enum to plan, evaluate with [`Expr::eval`] or [`Expr::condition`]. Rows are slices of values;
//! [`Expr::Column`] names a place in them, so joins, `VALUES(c)` and aggregates are slots too: the
//! executor lays out the row. Aggregates themselves are [`aggregate::Aggregate`].
//!
//! Invariants
//! 1. Evaluation never panics, whatever the values are.
//! 2. An expression without [`Expr::Column`] gives the same for every row, unless it is
//!    [volatile](Expr::is_volatile).
//!
//! Not here: names (the planner resolves them), subqueries.

pub mod aggregate;
pub mod context;

pub use context::{EvalContext, Information, StatementContext, VariableScope};

use std::sync::Arc;

use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::ResultType;
use crate::value::Value;

/// A bound expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Value),
    /// The n-th parameter of the statement, from 0 (a `?` or a literal that the plan cache took out).
    Param(usize),
    /// A place of the row.
    Column(ColumnRef),
    /// `-x`, `~x`.
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic and bits.
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    /// A comparison; strings compare under the collation.
    Compare(CompareOp, Box<Expr>, Box<Expr>, Collation),
    /// All of them.
    And(Vec<Expr>),
    /// Any of them.
    Or(Vec<Expr>),
    /// Exactly one of two.
    Xor(Box<Expr>, Box<Expr>),
    /// `NOT x`.
    Not(Box<Expr>),
    /// `x [NOT] BETWEEN low AND high`.
    Between {
        /// x
        operand: Box<Expr>,
        /// Lower bound, included.
        low: Box<Expr>,
        /// Upper bound, included.
        high: Box<Expr>,
        /// NOT BETWEEN.
        negated: bool,
        /// For strings.
        collation: Collation,
    },
    /// `x [NOT] IN (list)`.
    In {
        /// x
        operand: Box<Expr>,
        /// At least one.
        list: Vec<Expr>,
        /// NOT IN.
        negated: bool,
        /// For strings.
        collation: Collation,
    },
    /// `x [NOT] LIKE pattern [ESCAPE e]`.
    Like {
        /// x
        operand: Box<Expr>,
        /// With `%` and `_`.
        pattern: Box<Expr>,
        /// Makes the next character literal; `\` unless given, `None` for none (`ESCAPE ''`).
        escape: Option<char>,
        /// NOT LIKE.
        negated: bool,
        /// Under which characters are equal.
        collation: Collation,
    },
    /// `x IS [NOT] NULL`.
    IsNull {
        /// x
        operand: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `x IS [NOT] TRUE` and `FALSE`; UNKNOWN is [`Expr::IsNull`].
    IsTruth {
        /// x
        operand: Box<Expr>,
        /// TRUE or FALSE.
        truth: bool,
        /// IS NOT.
        negated: bool,
    },
    /// CASE, IF, IFNULL, NULLIF, COALESCE.
    Case(Box<Case>),
    /// CAST, CONVERT.
    Cast(Box<Expr>, CastType),
    /// `x COLLATE c`.
    Collate(Box<Expr>, Collation),
    /// A built-in function.
    Call(Box<Call>),
    /// `date + INTERVAL amount unit` and the like.
    DateAdd {
        /// date
        date: Box<Expr>,
        /// How many units.
        amount: Box<Expr>,
        /// Which unit.
        unit: IntervalUnit,
        /// Subtract.
        negated: bool,
    },
    /// `@name`.
    UserVariable(Arc<str>),
    /// `@name := x`.
    AssignUserVariable(Arc<str>, Box<Expr>),
    /// `@@scope.name`.
    SystemVariable(VariableScope, Arc<str>),
}

/// A place of the row.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRef {
    /// Index into the row.
    pub slot: usize,
    /// The column's name, for messages.
    pub name: Arc<str>,
    /// What the place holds.
    pub result_type: ResultType,
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `~`
    BitNot,
}

/// Arithmetic and bit operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ArithmeticOp {
    Add,
    Subtract,
    Multiply,
    /// `/`
    Divide,
    /// `DIV`
    IntDivide,
    /// `%`, MOD
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `<=>`
    NullSafeEqual,
}

/// Target of a CAST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CastType {
    Signed,
    Unsigned,
    Decimal { precision: u8, scale: u8 },
    Float,
    Double,
    /// CHAR(n); `None` without a length.
    Char { chars: Option<u32>, collation: Collation },
    /// BINARY(n)
    Binary { bytes: Option<u32> },
    Date,
    DateTime { fsp: u8 },
    Time { fsp: u8 },
    Year,
}

/// Units of INTERVAL, EXTRACT, TIMESTAMPDIFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

/// The conditional expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {}

/// A call of a built-in function.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {}

impl Expr {
    /// A reference to a place of the row.
    pub fn column(slot: usize, name: impl Into<Arc<str>>, result_type: ResultType) -> Expr {
        Expr::Column(ColumnRef { slot, name: name.into(), result_type })
    }
    /// `left op right`; the collation is settled from both sides (1267 if they contradict).
    pub fn compare(_op: CompareOp, _left: Expr, _right: Expr) -> Result<Expr, SqlError> { todo!() }
    /// `left op right`
    pub fn arithmetic(_op: ArithmeticOp, _left: Expr, _right: Expr) -> Result<Expr, SqlError> { todo!() }
    /// `x [NOT] BETWEEN low AND high`
    pub fn between(_operand: Expr, _low: Expr, _high: Expr, _negated: bool) -> Result<Expr, SqlError> { todo!() }
    /// `x [NOT] IN (list)`
    pub fn in_list(_operand: Expr, _list: Vec<Expr>, _negated: bool) -> Result<Expr, SqlError> { todo!() }
    /// `x [NOT] LIKE pattern [ESCAPE e]`; pass `Some('\\')` where the statement has no ESCAPE.
    pub fn like(_operand: Expr, _pattern: Expr, _escape: Option<char>, _negated: bool) -> Result<Expr, SqlError> { todo!() }
    /// CASE [operand] WHEN ... THEN ... [ELSE ...] END
    pub fn case(_operand: Option<Expr>, _branches: Vec<(Expr, Expr)>, _otherwise: Option<Expr>) -> Result<Expr, SqlError> { todo!() }
    /// A call of the built-in function `name` (in any case; IF, IFNULL, COALESCE, MOD and so on included).
    /// 1305 if there is none, 1582 if it takes another number of arguments. Functions with a syntax of their own are
    /// built as: `TRIM(LEADING x FROM s)` = `call("trim_leading", [s, x])` (`trim_trailing`, `trim_both`),
    /// `POSITION(a IN b)` = `locate(a, b)`, `EXTRACT(unit FROM d)` = [`Expr::extract`], `TIMESTAMPDIFF` and
    /// `TIMESTAMPADD` = [`Expr::timestamp_diff`] and [`Expr::DateAdd`].
    pub fn call(_name: &str, _args: Vec<Expr>) -> Result<Expr, SqlError> { todo!() }
    /// `EXTRACT(unit FROM date)`
    pub fn extract(_unit: IntervalUnit, _date: Expr) -> Expr { todo!() }
    /// `TIMESTAMPDIFF(unit, from, to)`
    pub fn timestamp_diff(_unit: IntervalUnit, _from: Expr, _to: Expr) -> Expr { todo!() }

    /// The value for one row. What MySQL warns of goes to [`StatementContext::warn`].
    pub fn eval(&self, _row: &[Value], _cx: &EvalContext<'_>) -> Result<Value, SqlError> { todo!() }
    /// The value as a condition; `None` is unknown (NULL).
    pub fn condition(&self, _row: &[Value], _cx: &EvalContext<'_>) -> Result<Option<bool>, SqlError> { todo!() }
    /// The type of the result, given the parameters (missing ones are taken for strings).
    pub fn result_type(&self, _params: &[Value]) -> ResultType { todo!() }
    /// The collation under which the result is compared, sorted and grouped.
    pub fn collation(&self) -> Collation { todo!() }
    /// Whether two evaluations over the same row may differ (RAND, UUID, SLEEP, variables' assignments).
    pub fn is_volatile(&self) -> bool { todo!() }
    /// Calls `visit` for this expression and all below it.
    pub fn walk(&self, _visit: &mut dyn FnMut(&Expr)) { todo!() }
    /// Calls `visit` for this expression and all below it, which it may replace (children first).
    pub fn walk_mut(&mut self, _visit: &mut dyn FnMut(&mut Expr)) { todo!() }
}

/// Compares two non-NULL values as `<` and `=` do, strings under `collation`; `None` if one is NULL. Used by ORDER BY,
/// MIN, MAX and joins; values of one column never need a conversion that could warn.
pub fn compare_values(_a: &Value, _b: &Value, _collation: Collation) -> Option<std::cmp::Ordering> { todo!() }
/// The order of ORDER BY: as [`compare_values`], NULL first.
pub fn order_values(_a: &Value, _b: &Value, _collation: Collation) -> std::cmp::Ordering { todo!() }
/// Appends bytes that are equal exactly for values that GROUP BY, DISTINCT and hash joins hold to be equal.
pub fn write_group_key(_value: &Value, _collation: Collation, _out: &mut Vec<u8>) { todo!() }
