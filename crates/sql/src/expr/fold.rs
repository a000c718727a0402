//! Constants of a condition that are evaluated once for many rows.
//!
//! A plan serves all literals and parameters of a statement, so that this waits for the run. Only what is compared is
//! replaced, by a value that is compared in the same way: the operands of comparisons, BETWEEN and IN. One that is NULL
//! stays, since its type says whether the comparison warns. A long list of IN is sorted.

use std::sync::Arc;

use super::{EvalContext, Expr, SortedConstants};
use crate::value::Value;

impl Expr {
    /// The condition with the values of its constants; `None` if there are none that take computing. Each is left that fails.
    pub(crate) fn folded(&self, cx: &EvalContext<'_>) -> Option<Expr> {
        let mut folded = self.clone();
        folded.fold(cx).then_some(folded)
    }

    /// Whether anything was replaced.
    fn fold(&mut self, cx: &EvalContext<'_>) -> bool {
        match self {
            Expr::And(parts) | Expr::Or(parts) => parts.iter_mut().fold(false, |any, part| any | part.fold(cx)),
            Expr::Not(part) => part.fold(cx),
            Expr::Xor(a, b) => a.fold(cx) | b.fold(cx),
            Expr::Compare(_, a, b, _) => a.fold_operand(cx) | b.fold_operand(cx),
            Expr::Between { operand, low, high, .. } => {
                operand.fold_operand(cx) | low.fold_operand(cx) | high.fold_operand(cx)
            }
            Expr::In { operand, list, collation, sorted, .. } => {
                let any = list.iter_mut().fold(operand.fold_operand(cx), |any, item| any | item.fold_operand(cx));
                *sorted = SortedConstants::of(list, *collation, cx).map(Arc::new);
                any || sorted.is_some()
            }
            _ => false,
        }
    }

    fn fold_operand(&mut self, cx: &EvalContext<'_>) -> bool {
        let takes_computing =
            matches!(self, Expr::Unary(..) | Expr::Arithmetic(..) | Expr::Cast(..) | Expr::DateAdd { .. });
        if !takes_computing || !self.is_constant() {
            return false;
        }
        match self.eval(&[], cx) {
            // Any other text or number is what it was made of as well.
            Ok(value @ (Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_))) => {
                *self = Expr::Literal(value);
            }
            Ok(value @ (Value::Date(_) | Value::DateTime(_) | Value::Time(_))) => *self = Expr::Literal(value),
            Ok(value @ Value::Text(_)) => *self = Expr::Text(value, self.collation()),
            _ => return false,
        }
        true
    }
}
