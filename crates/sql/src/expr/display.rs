//! Expressions as messages show them.

use std::fmt;

use super::{ArithmeticOp, CastType, CompareOp, Expr, UnaryOp};
use crate::value::Value;

impl ArithmeticOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            ArithmeticOp::Add => "+",
            ArithmeticOp::Subtract => "-",
            ArithmeticOp::Multiply => "*",
            ArithmeticOp::Divide => "/",
            ArithmeticOp::IntDivide => "DIV",
            ArithmeticOp::Modulo => "%",
            ArithmeticOp::BitAnd => "&",
            ArithmeticOp::BitOr => "|",
            ArithmeticOp::BitXor => "^",
            ArithmeticOp::ShiftLeft => "<<",
            ArithmeticOp::ShiftRight => ">>",
        }
    }
}

impl CompareOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Equal => "=",
            CompareOp::NotEqual => "<>",
            CompareOp::Less => "<",
            CompareOp::LessOrEqual => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterOrEqual => ">=",
            CompareOp::NullSafeEqual => "<=>",
        }
    }
}

struct List<'a>(&'a [Expr], &'static str);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, expr) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(self.1)?;
            }
            write!(f, "{expr}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |negated: &bool| if *negated { "not " } else { "" };
        match self {
            Expr::Text(value, _)
            | Expr::Literal(value @ (Value::Text(_) | Value::Date(_) | Value::DateTime(_) | Value::Time(_))) => {
                write!(f, "'{value}'")
            }
            Expr::Literal(value) => write!(f, "{value}"),
            Expr::Param(_) => f.write_str("?"),
            Expr::Column(column) | Expr::Outer(column) => write!(f, "`{}`", column.name),
            Expr::Unary(UnaryOp::Negate, a) => write!(f, "-({a})"),
            Expr::Unary(UnaryOp::BitNot, a) => write!(f, "~({a})"),
            Expr::Arithmetic(op, a, b) => write!(f, "({a} {} {b})", op.symbol()),
            Expr::Compare(op, a, b, _) => write!(f, "({a} {} {b})", op.symbol()),
            Expr::And(all) => write!(f, "({})", List(all, " and ")),
            Expr::Or(all) => write!(f, "({})", List(all, " or ")),
            Expr::Xor(a, b) => write!(f, "({a} xor {b})"),
            Expr::Not(a) => write!(f, "(not({a}))"),
            Expr::Between { operand, low, high, negated, .. } => {
                write!(f, "({operand} {}between {low} and {high})", not(negated))
            }
            Expr::In { operand, list, negated, .. } => {
                write!(f, "({operand} {}in ({}))", not(negated), List(list, ","))
            }
            Expr::Like { operand, pattern, negated, .. } => write!(f, "({operand} {}like {pattern})", not(negated)),
            Expr::IsNull { operand, negated } => write!(f, "({operand} is {}null)", not(negated)),
            Expr::IsTruth { operand, truth, negated } => {
                write!(f, "({operand} is {}{})", not(negated), if *truth { "true" } else { "false" })
            }
            Expr::Cast(a, CastType::DateConstant { .. } | CastType::YearConstant | CastType::Encoded { .. }) => {
                write!(f, "{a}")
            }
            Expr::Case(case) => {
                f.write_str("(case")?;
                if let Some(operand) = &case.operand {
                    write!(f, " {operand}")?;
                }
                for (when, then) in &case.branches {
                    write!(f, " when {when} then {then}")?;
                }
                if let Some(otherwise) = &case.otherwise {
                    write!(f, " else {otherwise}")?;
                }
                f.write_str(" end)")
            }
            Expr::Cast(a, to) => write!(f, "cast({a} as {to})"),
            Expr::Collate(a, collation) => write!(f, "({a} collate {})", collation.name()),
            Expr::Call(call) => write!(f, "{}({})", call.function.name, List(&call.args, ",")),
            Expr::Extract(unit, a) => write!(f, "extract({unit} from {a})"),
            Expr::TimestampDiff(unit, a, b) => write!(f, "timestampdiff({unit},{a},{b})"),
            Expr::DateAdd { date, amount, unit, negated } => {
                write!(f, "({date} {} interval {amount} {unit})", if *negated { '-' } else { '+' })
            }
            Expr::UserVariable(name, _) => write!(f, "@`{name}`"),
            Expr::AssignUserVariable(name, a, _) => write!(f, "(@`{name}`:={a})"),
            Expr::SystemVariable(_, name, _) => write!(f, "@@{name}"),
            Expr::Subquery(_) => f.write_str("(select ...)"),
        }
    }
}
