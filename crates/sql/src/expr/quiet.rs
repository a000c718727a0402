//! Conditions that nobody notices to be evaluated: whatever the row is, they neither fail nor warn, and have no effect.
//!
//! So a rewrite rule may have one evaluated for more rows than the statement asks for, for fewer, or twice. They are
//! comparisons of columns and constants that need no conversion, and what AND, OR, XOR, NOT and IS make of such.

use super::{Expr, ParamKind};
use crate::types::{Family, FieldType, TemporalKind};

/// Values of one class are compared with each other without a conversion that may warn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Number,
    String,
    Date,
    Time,
    /// Nothing is equal to it.
    Null,
}

/// The class of a column or a constant.
fn class_of(expr: &Expr) -> Option<Class> {
    match expr {
        Expr::Literal(_) | Expr::Text(..) | Expr::Column(_) | Expr::Outer(_) => {}
        Expr::Param(param) => match param.kind {
            Some(ParamKind::Hex) | None => return None,
            Some(_) => {}
        },
        _ => return None,
    }
    let of = expr.result_type(&[]);
    match of.family() {
        Family::Integer | Family::Decimal | Family::Real => Some(Class::Number),
        Family::String if of.field == FieldType::Json => None,
        Family::String => Some(Class::String),
        Family::Temporal => match of.kind().temporal()? {
            TemporalKind::Date | TemporalKind::DateTime | TemporalKind::Timestamp => Some(Class::Date),
            TemporalKind::Time => Some(Class::Time),
        },
        Family::Null => Some(Class::Null),
    }
}

/// Whether all are of one class, but for NULL.
fn alike<'e>(mut sides: impl Iterator<Item = &'e Expr>) -> bool {
    let mut first = None;
    sides.all(|side| match class_of(side) {
        None => false,
        Some(Class::Null) => true,
        Some(class) => *first.get_or_insert(class) == class,
    })
}

impl Expr {
    /// Whether it is a condition that nobody notices to be evaluated.
    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Expr::Compare(_, a, b, _) => alike([&**a, b].into_iter()),
            Expr::Between { operand, low, high, .. } => alike([&**operand, low, high].into_iter()),
            Expr::In { operand, list, .. } => alike(std::iter::once(&**operand).chain(list)),
            Expr::Like { operand, pattern, .. } => {
                [operand, pattern].into_iter().all(|side| class_of(side) == Some(Class::String))
            }
            Expr::IsNull { operand, .. } => class_of(operand).is_some() || operand.is_quiet(),
            Expr::IsTruth { operand, .. } | Expr::Not(operand) => operand.is_quiet(),
            Expr::And(parts) | Expr::Or(parts) => parts.iter().all(Expr::is_quiet),
            Expr::Xor(a, b) => a.is_quiet() && b.is_quiet(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ArithmeticOp, CompareOp};
    use super::*;
    use crate::types::ResultType;
    use crate::value::Value;

    #[test]
    fn a_comparison_that_converts_or_computes_is_not_quiet() {
        let number = || Expr::column(0, "n", ResultType::integer(11));
        let text = || Expr::column(1, "s", ResultType::string(10, crate::collation::Collation::DEFAULT));
        let compare = |a, b| Expr::compare(CompareOp::Less, a, b).expect("a comparison");
        let five = || Expr::Literal(Value::Int(5));
        assert!(compare(number(), five()).is_quiet());
        assert!(compare(text(), Expr::Literal(Value::text("x"))).is_quiet());
        assert!(compare(number(), Expr::Literal(Value::Null)).is_quiet());
        assert!(!compare(text(), five()).is_quiet());
        let sum = Expr::arithmetic(ArithmeticOp::Add, number(), five()).expect("a sum");
        assert!(!compare(sum, five()).is_quiet());
        let quiet = || compare(number(), five());
        assert!(Expr::Not(Box::new(Expr::Or(vec![quiet(), quiet()]))).is_quiet());
        assert!(!Expr::Or(vec![quiet(), number()]).is_quiet());
    }
}
