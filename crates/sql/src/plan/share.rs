//! What share of rows a condition keeps: by the histogram of its column where a constant is known, else by the number of
//! values that the column has, else as MySQL guesses.
//!
//! A plan serves all values of its parameters, so that these are any value of their column.

use super::cost::EQUAL_KEEPS;
use crate::collation::Collation;
use crate::expr::{CompareOp, Expr};
use crate::statistics::histogram::Histogram;
use crate::value::Value;

/// What MySQL takes conditions for that no statistics speak of, beside [`EQUAL_KEEPS`].
const RANGE_KEEPS: f64 = 0.3333;
const BETWEEN_KEEPS: f64 = 0.1111;

/// What is known of a column.
#[derive(Clone, Copy, Default)]
pub(crate) struct Known<'h> {
    /// How many values it has.
    pub(crate) distinct: Option<f64>,
    pub(crate) histogram: Option<&'h Histogram>,
}

impl Known<'_> {
    /// The share of rows where it is not NULL.
    fn present(self) -> f64 {
        self.histogram.map_or(1.0, Histogram::present)
    }
}

/// Which constants of a condition count with their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    /// All: the statement runs with these.
    All,
    /// Those that stay in a statement when the plan cache takes its literals out: neither numbers nor texts, but for the
    /// amounts of intervals. EXPLAIN plans so, that it shows the plan which the statement runs with.
    Typed,
}

impl Constants {
    /// The value of an expression, if it is a constant that counts.
    pub(super) fn value(self, expr: &Expr) -> Option<Value> {
        let counts = |value: &Value| match self {
            Constants::All => true,
            Constants::Typed => !value.is_number() && !matches!(value, Value::Text(_)),
        };
        match expr {
            Expr::Literal(value) | Expr::Text(value, _) => counts(value).then(|| value.clone()),
            Expr::Cast(operand, _) => {
                let (Expr::Literal(value) | Expr::Text(value, _)) = &**operand else { return None };
                if counts(value) { expr.constant()?.ok() } else { None }
            }
            // The amount stays in the statement beside such a date.
            Expr::DateAdd { date, amount, .. } if matches!(**amount, Expr::Literal(_) | Expr::Text(..)) => {
                self.value(date)?;
                expr.constant()?.ok()
            }
            _ => None,
        }
    }
}

/// Judges conditions.
#[derive(Clone, Copy)]
pub(crate) struct Shares<'k> {
    /// What is known of the column at a slot.
    pub(crate) columns: &'k dyn Fn(usize) -> Known<'k>,
    pub(crate) constants: Constants,
}

impl Shares<'_> {
    /// What share of rows a condition keeps.
    pub(crate) fn of(self, condition: &Expr) -> f64 {
        match condition {
            Expr::And(parts) => parts.iter().map(|part| self.of(part)).product(),
            Expr::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - self.of(part)).product::<f64>(),
            Expr::Not(part) => 1.0 - self.of(part),
            Expr::Literal(Value::Null | Value::Int(0) | Value::UInt(0)) => 0.0,
            Expr::Literal(_) => 1.0,
            Expr::Compare(op, left, right, collation) => self.compared(*op, left, right, *collation),
            Expr::Between { operand, low, high, negated, collation } => {
                let kept = self.between(operand, low, high, *collation).unwrap_or(BETWEEN_KEEPS);
                self.kept(operand, kept, *negated)
            }
            Expr::In { operand, list, negated, collation, .. } => {
                let kept = self.in_list(operand, list, *collation).unwrap_or_else(|| {
                    let one = self.one_value(operand).unwrap_or(EQUAL_KEEPS);
                    (one * list.len() as f64).min(0.5)
                });
                self.kept(operand, kept, *negated)
            }
            Expr::Like { operand, negated, .. } => self.kept(operand, BETWEEN_KEEPS, *negated),
            Expr::IsNull { operand, negated } => {
                let kept = self.column(operand).histogram.map_or(EQUAL_KEEPS, Histogram::nulls);
                if *negated { 1.0 - kept } else { kept }
            }
            _ => 1.0,
        }
    }

    fn column(&self, expr: &Expr) -> Known<'_> {
        match expr {
            Expr::Column(column) => (self.columns)(column.slot),
            _ => Known::default(),
        }
    }

    /// What a condition keeps that is true for this share, or its opposite: of NULL neither is.
    fn kept(self, operand: &Expr, kept: f64, negated: bool) -> f64 {
        if negated { (self.column(operand).present() - kept).max(0.0) } else { kept }
    }

    /// The share of rows in which a column has a value that is not known.
    fn one_value(self, column: &Expr) -> Option<f64> {
        let known = self.column(column);
        Some(known.present() / known.distinct?)
    }

    fn compared(self, op: CompareOp, left: &Expr, right: &Expr, collation: Collation) -> f64 {
        if ![left, right].iter().any(|side| matches!(side, Expr::Column(_))) {
            return 1.0;
        }
        let by_value = |column: &Expr, op: CompareOp, constant: &Expr| {
            self.column(column).histogram?.share(op, &self.constants.value(constant)?, collation)
        };
        if let Some(share) = by_value(left, op, right).or_else(|| by_value(right, op.flipped(), left)) {
            return share;
        }
        match op {
            CompareOp::Equal | CompareOp::NullSafeEqual => {
                let ones = [left, right].map(|side| self.one_value(side));
                ones.into_iter().flatten().reduce(f64::min).unwrap_or(EQUAL_KEEPS)
            }
            CompareOp::NotEqual => 1.0 - EQUAL_KEEPS,
            CompareOp::Less | CompareOp::LessOrEqual | CompareOp::Greater | CompareOp::GreaterOrEqual => RANGE_KEEPS,
        }
    }

    fn between(self, operand: &Expr, low: &Expr, high: &Expr, collation: Collation) -> Option<f64> {
        let (low, high) = (self.constants.value(low)?, self.constants.value(high)?);
        self.column(operand).histogram?.between(&low, &high, collation)
    }

    fn in_list(self, operand: &Expr, list: &[Expr], collation: Collation) -> Option<f64> {
        let histogram = self.column(operand).histogram?;
        let one = |item| histogram.share(CompareOp::Equal, &self.constants.value(item)?, collation);
        let all: f64 = list.iter().map(one).sum::<Option<f64>>()?;
        Some(all.min(histogram.present()))
    }
}
