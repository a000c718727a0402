//! How calls are written, and what is nothing but a form: conversions.

use super::Function;

/// How a call of a function is written. The parser has a rule for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name(expr, ...)`. A wrong number of arguments is error 1582.
    Plain,
    /// The same as a part of MySQL's grammar: a wrong number of arguments is a syntax error.
    Grammar,
    /// `name([digits])`, of which only the digits of a fraction may be missing. A reserved name needs no parentheses.
    Bare,
    /// `name([ALL] expr, ...)`, over a group or a window.
    Aggregate,
    /// `name([ALL | DISTINCT] expr)`, likewise.
    DistinctAggregate,
    /// `name(*)`, `name([ALL] expr)`, `name(DISTINCT expr, ...)`, over a group or a window.
    Count,
    GroupConcat,
    /// `name(expr, ...) OVER ...`
    Window,
    Cast,
    Convert,
    Extract,
    Trim,
    Substring,
    Position,
    Char,
    GetFormat,
    WeightString,
    /// `name(expr, INTERVAL expr unit)`
    DateArithmetic {
        negated: bool,
        /// Also `name(expr, days)`.
        days: bool,
    },
    TimestampAdd,
    TimestampDiff,
    /// `expr MEMBER OF (expr)`
    MemberOf,
}

pub(super) const FUNCTIONS: &[Function] = &[
    Function::parsed("cast", 2, 2, Form::Cast).doc(
        "A value as one of another type.",
        "CAST('12' AS DECIMAL(4,1))",
        "12.0",
    ),
    Function::parsed("convert", 2, 2, Form::Convert).doc(
        "A value as one of another type, or a text in another character set.",
        "CONVERT('abc' USING utf8mb4)",
        "abc",
    ),
];
