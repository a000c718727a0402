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
//! Not here: names (the planner resolves them); how queries within run ([`context::Queries`]).

/// The expressions that are conditions: their values are true, false and unknown.
macro_rules! conditions {
    () => {
        Expr::Compare(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Xor(..)
            | Expr::Not(_)
            | Expr::Between { .. }
            | Expr::In { .. }
            | Expr::Like { .. }
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
    };
}

mod arithmetic;
mod build;
mod cast;
mod coercion;
mod compare;
mod complete;
mod constant;
pub mod context;
mod convert;
mod display;
mod evaluate;
mod fold;
mod functions;
mod interval;
mod join_key;
mod literals;
mod param;
mod quiet;
mod result;
mod sorted_constants;

pub use compare::{compare_values, order_values, write_group_key};
pub use context::{EvalContext, Information, Queries, RandomSequence, StatementContext, VariableScope};
pub(crate) use functions::window::{Which, WindowFunction};
pub use functions::{Call, aggregate};
pub(crate) use functions::{Form, Function};
pub(crate) use join_key::{JoinKey, equal_keys, join_key, join_key_of, possible_keys};
pub(crate) use literals::Literals;
pub(crate) use result::joined_type;

use std::sync::Arc;

use crate::collation::Collation;
use crate::types::{Charset, FieldType, ResultType};
use crate::value::Value;
pub use sorted_constants::SortedConstants;

/// A bound expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant; a text among them is of the default collation.
    Literal(Value),
    /// A text literal, of this collation.
    Text(Value, Collation),
    /// A parameter of the statement (a `?` or a literal that the plan cache took out).
    Param(Param),
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
        /// The list as one looks values up in it, where a run has found it to be of constants.
        sorted: Option<Arc<SortedConstants>>,
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
    /// CASE, IF.
    Case(Box<Case>),
    /// CAST, CONVERT.
    Cast(Box<Expr>, CastType),
    /// `x COLLATE c`.
    Collate(Box<Expr>, Collation),
    /// A built-in function.
    Call(Box<Call>),
    /// `EXTRACT(unit FROM date)`.
    Extract(IntervalUnit, Box<Expr>),
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff(IntervalUnit, Box<Expr>, Box<Expr>),
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
    UserVariable(Arc<str>, Option<ParamKind>),
    /// `@name := x`, which has that collation from then on.
    AssignUserVariable(Arc<str>, Box<Expr>, Collation),
    /// `@@scope.name`.
    SystemVariable(VariableScope, Arc<str>, Option<ParamKind>),
    /// A value that a query reads of the query around it: the same for all its rows.
    Outer(ColumnRef),
    /// A query.
    Subquery(Box<Subquery>),
}

/// A query that is a part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Subquery {
    /// Which of the statement's queries.
    pub place: usize,
    /// What it reads of the query around it: the values of its [`Expr::Outer`].
    pub outer: Vec<Expr>,
    /// What is asked of its rows.
    pub ask: Ask,
    /// Two runs over the same row may differ.
    pub volatile: bool,
}

/// What is asked of the rows of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// The value of the one column of its one row; NULL without a row, 1242 with several.
    Value {
        result_type: ResultType,
        /// Its collation gives way to that of columns.
        gives_way: bool,
    },
    /// Whether there is a row.
    Exists,
    /// How values compare with its one row, or with any or all of its rows.
    Compare(Box<Comparison>),
}

/// A comparison of values with rows of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The values.
    pub operands: Vec<Expr>,
    /// A condition over a row of the values, with those of a row of the query after them.
    pub condition: Expr,
    /// With which rows.
    pub with: CompareWith,
    /// What of both sides has to be equal, over the same row; `None` if the condition asks for anything else.
    pub keys: Option<Vec<EqualKey>>,
}

/// Two expressions whose values are equal only if their keys are ([`join_key()`]).
#[derive(Clone, Debug, PartialEq)]
pub struct EqualKey {
    pub left: Expr,
    pub right: Expr,
    /// For strings.
    pub collation: Collation,
}

/// With which rows of a query something is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareWith {
    /// Its only one: 1242 with several, unknown without.
    One,
    /// IN, ANY
    Any,
    /// ALL
    All,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Which, from 0.
    pub index: usize,
    /// What its values are; `None` where they may be anything.
    pub kind: Option<ParamKind>,
}

/// What the values of a parameter or a variable are. An expression is bound for the kinds of these: other values
/// of the same kinds need no other plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Integer,
    Unsigned,
    Decimal,
    Float,
    Double,
    /// Of a collation. Before it is bound, a parameter has the default one in place of the connection's.
    Text(Collation),
    /// A text with a collation of its own, before it is bound: the value of a variable.
    Collated(Collation),
    Binary,
    /// A hexadecimal or bit literal.
    Hex,
    Date,
    DateTime,
    Time,
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
    /// It holds a literal, whose collation gives way to that of columns.
    pub gives_way: bool,
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
pub enum CastType {
    Signed,
    Unsigned,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Float,
    Double,
    /// CHAR(n); `None` without a length.
    Char {
        chars: Option<u32>,
        collation: Collation,
    },
    /// BINARY(n)
    Binary {
        bytes: Option<u32>,
    },
    /// Of a text where bytes are wanted: those of its character set.
    Encoded {
        charset: Charset,
    },
    Json,
    Date,
    DateTime {
        fsp: u8,
    },
    Time {
        fsp: u8,
    },
    Year,
    /// Of a constant that is compared with a date: it is a date itself, 1525 if it is text that is none.
    DateConstant {
        field: FieldType,
    },
    /// Of a constant that is compared with a YEAR: two digits stand for four.
    YearConstant,
}

/// Units of INTERVAL, EXTRACT, TIMESTAMPDIFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// CASE.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What the branches' conditions are compared with, if there is one.
    pub operand: Option<Expr>,
    /// WHEN and THEN.
    pub branches: Vec<(Expr, Expr)>,
    /// ELSE; NULL without one.
    pub otherwise: Option<Expr>,
    /// Under which the operand is compared.
    pub collation: Collation,
    /// The type of the result, where no parameter has a say in it.
    unified: Option<ResultType>,
}

#[cfg(test)]
mod tests;
