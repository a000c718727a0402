//! Functions over windows. What a window is, [`crate::plan::window`] knows; how they go over its rows,
//! `exec/operators/window.rs`.

use super::aggregate::Aggregate;
use super::{EvalContext, Evaluate, Expr, Form, Function};
use crate::error::{ER_WRONG_ARGUMENTS, SqlError};
use crate::types::ResultType;
use crate::value::Value;

/// In the examples `x` is 4, 2, 1 and 2 in the rows of the table; the answer is that of the last row.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::window("cume_dist", 0, 0, |_| Ok(WindowFunction::CumeDist)).doc(
        "The share of the rows that do not come after the row or its peers.",
        "CUME_DIST() OVER (ORDER BY x)",
        "1",
    ),
    Function::window("dense_rank", 0, 0, |_| Ok(WindowFunction::DenseRank)).doc(
        "How many different places there are up to the row.",
        "DENSE_RANK() OVER (ORDER BY x)",
        "3",
    ),
    Function::window("first_value", 1, 1, |args| of_frame(args, Which::First)).doc(
        "The value of the frame's first row.",
        "FIRST_VALUE(x) OVER (ORDER BY x)",
        "1",
    ),
    Function::window("lag", 1, 3, |args| distant(args, false)).doc(
        "The value of the row so many rows before, 1 if not said; the third argument, or NULL, if there is none.",
        "LAG(x, 2, 0) OVER (ORDER BY x)",
        "2",
    ),
    Function::window("last_value", 1, 1, |args| of_frame(args, Which::Last)).doc(
        "The value of the frame's last row.",
        "LAST_VALUE(x) OVER (ORDER BY x)",
        "4",
    ),
    Function::window("lead", 1, 3, |args| distant(args, true)).doc(
        "The value of the row so many rows after, 1 if not said; the third argument, or NULL, if there is none.",
        "LEAD(x, 1, 0) OVER (ORDER BY x)",
        "0",
    ),
    Function::window("nth_value", 2, 2, |mut args| {
        let which = args.pop().ok_or_else(|| SqlError::internal("two arguments were expected"))?;
        of_frame(args, Which::Nth(which))
    })
    .doc("The value of the frame's n-th row; NULL if it has fewer.", "NTH_VALUE(x, 2) OVER (ORDER BY x)", "2"),
    Function::window("ntile", 1, 1, |args| first(args).map(WindowFunction::Tile)).doc(
        "Which of so many parts, as equal as can be, the row is in.",
        "NTILE(3) OVER (ORDER BY x)",
        "3",
    ),
    Function::window("percent_rank", 0, 0, |_| Ok(WindowFunction::PercentRank)).doc(
        "The share of the other rows that come before the row and its peers.",
        "PERCENT_RANK() OVER (ORDER BY x)",
        "1",
    ),
    Function::window("rank", 0, 0, |_| Ok(WindowFunction::Rank)).doc(
        "The place of the row; peers have the same, and leave a gap.",
        "RANK() OVER (ORDER BY x)",
        "4",
    ),
    Function::window("row_number", 0, 0, |_| Ok(WindowFunction::RowNumber)).doc(
        "The number of the row.",
        "ROW_NUMBER() OVER (ORDER BY x)",
        "4",
    ),
];

/// A function over a window, in a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    /// NTILE
    Tile(Expr),
    /// LAG, LEAD
    Distant {
        value: Expr,
        distance: Option<Expr>,
        otherwise: Option<Expr>,
        /// LEAD
        following: bool,
    },
    /// The value of a row of the frame.
    OfFrame(Expr, Which),
    Aggregate(Aggregate),
}

/// Which row of the frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Which {
    First,
    Last,
    /// From 1.
    Nth(Expr),
}

impl Function {
    const fn window(
        name: &'static str,
        least: u8,
        most: u8,
        make: fn(Vec<Expr>) -> Result<WindowFunction, SqlError>,
    ) -> Function {
        Function::other(name, least, most, Evaluate::Window(Make(make))).form(Form::Window)
    }
}

/// What makes the function of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Make(fn(Vec<Expr>) -> Result<WindowFunction, SqlError>);

fn first(args: Vec<Expr>) -> Result<Expr, SqlError> {
    args.into_iter().next().ok_or_else(|| SqlError::internal("an argument was expected"))
}

fn of_frame(args: Vec<Expr>, which: Which) -> Result<WindowFunction, SqlError> {
    Ok(WindowFunction::OfFrame(first(args)?, which))
}

fn distant(args: Vec<Expr>, following: bool) -> Result<WindowFunction, SqlError> {
    let mut args = args.into_iter();
    let value = args.next().ok_or_else(|| SqlError::internal("an argument was expected"))?;
    Ok(WindowFunction::Distant { value, distance: args.next(), otherwise: args.next(), following })
}

impl WindowFunction {
    /// A call of a function that is one over windows alone; the parser has counted its arguments. 1210 for an argument
    /// that must be a number of rows and is none, where it is a literal.
    pub(crate) fn new(function: &Function, args: Vec<Expr>) -> Result<WindowFunction, SqlError> {
        let Evaluate::Window(Make(make)) = function.evaluate else {
            return Err(SqlError::internal(format_args!("{} is no window function", function.name)));
        };
        let made = make(args)?;
        match made.counts() {
            Some(Expr::Literal(value)) => made.number(value)?,
            Some(Expr::Param(_)) | None => 0,
            Some(_) => return Err(made.wrong_arguments()),
        };
        Ok(made)
    }

    /// The function's name, in lower case.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            WindowFunction::RowNumber => "row_number",
            WindowFunction::Rank => "rank",
            WindowFunction::DenseRank => "dense_rank",
            WindowFunction::PercentRank => "percent_rank",
            WindowFunction::CumeDist => "cume_dist",
            WindowFunction::Tile(_) => "ntile",
            WindowFunction::Distant { following: false, .. } => "lag",
            WindowFunction::Distant { following: true, .. } => "lead",
            WindowFunction::OfFrame(_, Which::First) => "first_value",
            WindowFunction::OfFrame(_, Which::Last) => "last_value",
            WindowFunction::OfFrame(_, Which::Nth(_)) => "nth_value",
            WindowFunction::Aggregate(aggregate) => aggregate.name(),
        }
    }

    /// The type of the result.
    pub(crate) fn result_type(&self, params: &[Value]) -> ResultType {
        match self {
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank | WindowFunction::Tile(_) => {
                ResultType::unsigned(21).nullable(false)
            }
            WindowFunction::PercentRank | WindowFunction::CumeDist => ResultType::double().nullable(false),
            WindowFunction::Distant { value, otherwise, .. } => {
                let own = value.result_type(params).computed();
                let joined = match otherwise {
                    Some(otherwise) => own.unify(otherwise.result_type(params)),
                    None => own,
                };
                joined.nullable(true)
            }
            WindowFunction::OfFrame(value, _) => value.result_type(params).computed().nullable(true),
            WindowFunction::Aggregate(aggregate) => aggregate.result_type(params),
        }
    }

    /// The expressions that it reads rows by.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        match self {
            WindowFunction::Distant { value, otherwise, .. } => std::iter::once(value).chain(otherwise).collect(),
            WindowFunction::OfFrame(value, _) => vec![value],
            WindowFunction::Aggregate(aggregate) => aggregate.args.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub(crate) fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            WindowFunction::Distant { value, otherwise, .. } => std::iter::once(value).chain(otherwise).collect(),
            WindowFunction::OfFrame(value, _) => vec![value],
            WindowFunction::Aggregate(aggregate) => aggregate.args.iter_mut().collect(),
            _ => Vec::new(),
        }
    }

    /// The argument that counts rows, which is the same for all rows.
    fn counts(&self) -> Option<&Expr> {
        match self {
            WindowFunction::Tile(count) => Some(count),
            WindowFunction::Distant { distance, .. } => distance.as_ref(),
            WindowFunction::OfFrame(_, Which::Nth(which)) => Some(which),
            _ => None,
        }
    }

    /// The number of rows that its argument says, for all rows; 1 without one. 1210 if it is no number of rows.
    pub(crate) fn rows(&self, cx: &EvalContext<'_>) -> Result<usize, SqlError> {
        self.counts().map_or(Ok(1), |count| self.number(&count.eval(&[], cx)?))
    }

    fn number(&self, value: &Value) -> Result<usize, SqlError> {
        let least = usize::from(!matches!(self, WindowFunction::Distant { .. }));
        let number = match value {
            Value::Int(int) => usize::try_from(*int).ok(),
            Value::UInt(int) => usize::try_from(*int).ok(),
            _ => None,
        };
        number.filter(|number| *number >= least).ok_or_else(|| self.wrong_arguments())
    }

    fn wrong_arguments(&self) -> SqlError {
        SqlError::new(ER_WRONG_ARGUMENTS, &[&self.name()])
    }

    /// A value of one of its expressions as one of the result.
    pub(crate) fn as_result(&self, of: &Expr, value: Value, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        match self {
            WindowFunction::Distant { otherwise: Some(_), .. } => of.as_one_of(value, &self.result_type(cx.params), cx),
            _ => Ok(value),
        }
    }
}
