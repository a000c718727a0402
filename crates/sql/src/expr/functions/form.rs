//! How calls are written, and what is nothing but a form: conversions, and functions that are not there yet.

use super::{Function, MANY};

/// How a call of a function is written. The parser has a rule for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name(expr, ...)`. A wrong number of arguments is error 1582.
    Plain,
    /// The same as a part of MySQL's grammar: a wrong number of arguments is a syntax error.
    Grammar,
    /// `name([digits])`, of which only the digits of a fraction may be missing. A reserved name needs no parentheses.
    Bare,
    /// `name([ALL | DISTINCT] expr)`, over a group or a window.
    Aggregate,
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
    Function::missing("bit_and", 1, 1, Form::Aggregate),
    Function::missing("bit_or", 1, 1, Form::Aggregate),
    Function::missing("bit_xor", 1, 1, Form::Aggregate),
    Function::missing("cume_dist", 0, 0, Form::Window),
    Function::missing("dense_rank", 0, 0, Form::Window),
    Function::missing("first_value", 1, 1, Form::Window),
    Function::missing("group_concat", 1, MANY, Form::GroupConcat),
    Function::missing("json_arrayagg", 1, 1, Form::Aggregate),
    Function::missing("json_objectagg", 2, 2, Form::Aggregate),
    Function::missing("lag", 1, 3, Form::Window),
    Function::missing("last_value", 1, 1, Form::Window),
    Function::missing("lead", 1, 3, Form::Window),
    Function::missing("nth_value", 2, 2, Form::Window),
    Function::missing("ntile", 1, 1, Form::Window),
    Function::missing("percent_rank", 0, 0, Form::Window),
    Function::missing("rank", 0, 0, Form::Window),
    Function::missing("row_number", 0, 0, Form::Window),
    Function::missing("std", 1, 1, Form::Aggregate).aliases(&["stddev", "stddev_pop"]),
    Function::missing("stddev_samp", 1, 1, Form::Aggregate),
    Function::missing("var_pop", 1, 1, Form::Aggregate).aliases(&["variance"]),
    Function::missing("var_samp", 1, 1, Form::Aggregate),
    Function::missing("weight_string", 1, 1, Form::WeightString),
];
