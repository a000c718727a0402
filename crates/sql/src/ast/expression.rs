//! Expressions, unbound.

use super::{OrderBy, Query, Span};
use crate::collation::Collation;
use crate::expr::{ArithmeticOp, CastType, CompareOp, IntervalUnit, Param, ParamKind, UnaryOp, VariableScope};
use crate::types::Charset;
use crate::value::Value;

/// `[[database.]table.]column`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnName {
    /// The database, if written.
    pub database: Option<String>,
    /// The table or alias, if written.
    pub table: Option<String>,
    /// The column.
    pub column: String,
    /// Where it stands.
    pub span: Span,
}

/// An expression, unbound.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Value),
    /// A parameter.
    Param(Param),
    /// A column.
    Column(ColumnName),
    /// `-x`, `~x`
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic and bits.
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    /// A comparison.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// All of them.
    And(Vec<Expr>),
    /// Any of them.
    Or(Vec<Expr>),
    /// XOR
    Xor(Box<Expr>, Box<Expr>),
    /// NOT
    Not(Box<Expr>),
    /// `x [NOT] BETWEEN low AND high`
    Between {
        /// x
        operand: Box<Expr>,
        /// Lower bound.
        low: Box<Expr>,
        /// Upper bound.
        high: Box<Expr>,
        /// NOT
        negated: bool,
    },
    /// `x [NOT] IN (list)`
    In {
        /// x
        operand: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// NOT
        negated: bool,
    },
    /// `x [NOT] LIKE pattern`
    Like {
        /// x
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// ESCAPE; `None` for the empty string.
        escape: Option<char>,
        /// NOT
        negated: bool,
    },
    /// `x IS [NOT] NULL`
    IsNull {
        /// x
        operand: Box<Expr>,
        /// NOT
        negated: bool,
    },
    /// `x IS [NOT] TRUE`
    IsTruth {
        /// x
        operand: Box<Expr>,
        /// TRUE or FALSE.
        truth: bool,
        /// NOT
        negated: bool,
    },
    /// CASE
    Case {
        /// CASE x
        operand: Option<Box<Expr>>,
        /// WHEN, THEN
        branches: Vec<(Expr, Expr)>,
        /// ELSE
        otherwise: Option<Box<Expr>>,
    },
    /// CAST, CONVERT
    Cast(Box<Expr>, CastType),
    /// COLLATE
    Collate(Box<Expr>, Collation),
    /// A function, aggregates included.
    Call {
        /// As written.
        name: String,
        /// The arguments; none for `COUNT(*)`.
        args: Vec<Expr>,
        /// DISTINCT
        distinct: bool,
    },
    /// `date + INTERVAL amount unit`
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
    /// EXTRACT(unit FROM date)
    Extract(IntervalUnit, Box<Expr>),
    /// TIMESTAMPDIFF(unit, from, to)
    TimestampDiff(IntervalUnit, Box<Expr>, Box<Expr>),
    /// `@name`
    UserVariable(String, Option<ParamKind>),
    /// `@name := x`
    AssignUserVariable(String, Box<Expr>),
    /// `@@name`
    SystemVariable(VariableScope, String, Option<ParamKind>),
    /// VALUES(column) in ON DUPLICATE KEY UPDATE.
    Values(ColumnName),
    /// DEFAULT, DEFAULT(column)
    Default(Option<ColumnName>),
    /// `(a, b)`, `ROW(a, b)`
    Row(Vec<Expr>),
    /// `(SELECT ...)` as a value or a row.
    Subquery(Box<Query>),
    /// `EXISTS (SELECT ...)`
    Exists(Box<Query>),
    /// `x [NOT] IN (SELECT ...)`
    InQuery {
        /// x
        operand: Box<Expr>,
        /// The query.
        query: Box<Query>,
        /// NOT
        negated: bool,
    },
    /// `x = ANY (SELECT ...)`, `x > ALL (SELECT ...)`
    Quantified {
        /// The comparison.
        op: CompareOp,
        /// x
        operand: Box<Expr>,
        /// ALL, not ANY.
        all: bool,
        /// The query.
        query: Box<Query>,
    },
    /// `x MEMBER OF (array)`
    MemberOf(Box<Expr>, Box<Expr>),
    /// `column -> path`, `column ->> path`
    JsonPath {
        /// The column.
        column: Box<ColumnName>,
        /// A string or a parameter.
        path: Box<Expr>,
        /// `->>`
        unquote: bool,
    },
    /// A string with an introducer: its text as it was written, or the bytes of its digits.
    Introduced(Charset, Value),
    /// `CAST(x AS CHAR[(n)])`, in the character set of the connection.
    CastToText(Box<Expr>, Option<u32>),
    /// CAST to a type that is not computed with yet: its name.
    CastTo(Box<Expr>, &'static str),
    /// MATCH ... AGAINST
    Match(Box<Match>),
    /// GROUP_CONCAT with clauses of its own.
    GroupConcat(Box<GroupConcat>),
    /// A function over a window.
    Window(Box<WindowCall>),
}

impl Expr {
    /// Whether a query is a part of it.
    pub fn has_queries(&self) -> bool {
        let any = |parts: &[Expr]| parts.iter().any(Expr::has_queries);
        let all = |parts: &[&Expr]| parts.iter().any(|part| part.has_queries());
        match self {
            Expr::Subquery(_) | Expr::Exists(_) | Expr::InQuery { .. } | Expr::Quantified { .. } => true,
            Expr::Literal(_)
            | Expr::Introduced(..)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::UserVariable(..)
            | Expr::SystemVariable(..)
            | Expr::Values(_)
            | Expr::Default(_)
            | Expr::JsonPath { .. } => false,
            Expr::Unary(_, a)
            | Expr::Not(a)
            | Expr::IsNull { operand: a, .. }
            | Expr::IsTruth { operand: a, .. }
            | Expr::Cast(a, _)
            | Expr::CastToText(a, _)
            | Expr::CastTo(a, _)
            | Expr::Collate(a, _)
            | Expr::Extract(_, a)
            | Expr::AssignUserVariable(_, a) => a.has_queries(),
            Expr::Arithmetic(_, a, b)
            | Expr::Compare(_, a, b)
            | Expr::Xor(a, b)
            | Expr::Like { operand: a, pattern: b, .. }
            | Expr::DateAdd { date: a, amount: b, .. }
            | Expr::TimestampDiff(_, a, b)
            | Expr::MemberOf(a, b) => all(&[a, b]),
            Expr::And(parts) | Expr::Or(parts) | Expr::Row(parts) => any(parts),
            Expr::Call { args, .. } => any(args),
            Expr::Between { operand, low, high, .. } => all(&[operand, low, high]),
            Expr::In { operand, list, .. } => operand.has_queries() || any(list),
            Expr::Case { operand, branches, otherwise } => {
                let of_branch = |(when, then): &(Expr, Expr)| all(&[when, then]);
                operand.iter().chain(otherwise).any(|part| part.has_queries()) || branches.iter().any(of_branch)
            }
            Expr::Match(found) => found.against.has_queries(),
            Expr::GroupConcat(concat) => any(&concat.args),
            Expr::Window(window) => window.call.has_queries(),
        }
    }
}

/// `MATCH (columns) AGAINST (text mode)`
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The columns.
    pub columns: Vec<ColumnName>,
    /// What is looked for.
    pub against: Expr,
    /// IN BOOLEAN MODE
    pub boolean: bool,
    /// WITH QUERY EXPANSION
    pub expansion: bool,
}

/// `GROUP_CONCAT([DISTINCT] args [ORDER BY ...] [SEPARATOR ...])`
#[derive(Clone, Debug, PartialEq)]
pub struct GroupConcat {
    /// DISTINCT
    pub distinct: bool,
    /// What is put together.
    pub args: Vec<Expr>,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
    /// SEPARATOR
    pub separator: Option<String>,
}

/// `function OVER window`
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// The function and its arguments.
    pub call: Expr,
    /// FROM LAST
    pub from_last: bool,
    /// IGNORE NULLS
    pub ignore_nulls: bool,
    /// The window.
    pub over: Over,
}

/// What follows OVER.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// A window of the WINDOW clause.
    Named(String),
    /// `(...)`
    Window(Box<WindowSpec>),
}

/// `([name] [PARTITION BY ...] [ORDER BY ...] [frame])`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowSpec {
    /// The window it begins from.
    pub base: Option<String>,
    /// PARTITION BY
    pub partition_by: Vec<Expr>,
    /// ORDER BY
    pub order_by: Vec<OrderBy>,
    /// ROWS, RANGE
    pub frame: Option<Frame>,
}

/// The rows of a partition that a window function sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// ROWS, RANGE or GROUPS.
    pub unit: FrameUnit,
    /// Its first row.
    pub start: FrameBound,
    /// Its last row; the current one if not said.
    pub end: Option<FrameBound>,
}

/// What a frame's distances count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    First,
    /// UNBOUNDED FOLLOWING
    Last,
    /// CURRENT ROW
    CurrentRow,
    /// `n PRECEDING`, `INTERVAL n unit PRECEDING`, FOLLOWING
    Offset {
        /// How far.
        distance: Expr,
        /// In units of time.
        unit: Option<IntervalUnit>,
        /// FOLLOWING
        following: bool,
    },
}
