//! The list of an IN with many constants, in order: a value is looked up in it instead of compared with each.

use std::cmp::Ordering;

use super::compare::compare_values;
use super::{EvalContext, Expr};
use crate::collation::Collation;
use crate::value::Value;

/// From so many constants on it is worth it.
const WORTH_WHILE: usize = 8;

/// Constants of one kind, whose values have one order.
#[derive(Clone, Debug, PartialEq)]
pub struct SortedConstants {
    kind: Kind,
    values: Vec<Value>,
    /// NULL is among them.
    has_null: bool,
}

/// Values that are compared with each other without a conversion that may warn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Integers and decimals.
    Exact,
    Text,
    /// Dates, with a time or without.
    Date,
}

impl Kind {
    fn of(value: &Value) -> Option<Kind> {
        match value {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => Some(Kind::Exact),
            Value::Text(_) => Some(Kind::Text),
            Value::Date(_) | Value::DateTime(_) => Some(Kind::Date),
            Value::Null
            | Value::Float(_)
            | Value::Double(_)
            | Value::Bytes(_)
            | Value::Hex(_)
            | Value::Member(_)
            | Value::Json(_)
            | Value::Timestamp(_)
            | Value::Time(_) => None,
        }
    }
}

/// The order of two values of one kind.
fn order(a: &Value, b: &Value, collation: Collation) -> Ordering {
    compare_values(a, b, collation).unwrap_or(Ordering::Equal)
}

impl SortedConstants {
    /// Those of a list; `None` if they are few, of several kinds, or not all constant.
    pub(super) fn of(list: &[Expr], collation: Collation, cx: &EvalContext<'_>) -> Option<SortedConstants> {
        if list.len() < WORTH_WHILE || !list.iter().all(Expr::is_constant) {
            return None;
        }
        let values = list.iter().map(|item| item.eval(&[], cx).ok());
        let (nulls, mut values): (Vec<Value>, Vec<Value>) =
            values.collect::<Option<Vec<_>>>()?.into_iter().partition(Value::is_null);
        let kind = values.first().and_then(Kind::of)?;
        if !values.iter().all(|value| Kind::of(value) == Some(kind)) {
            return None;
        }
        values.sort_by(|a, b| order(a, b, collation));
        values.dedup_by(|a, b| order(a, b, collation).is_eq());
        Some(SortedConstants { kind, values, has_null: !nulls.is_empty() })
    }

    /// Whether a value is among them, `Some(None)` where that is unknown; `None` if the value is of another kind.
    pub(super) fn have(&self, value: &Value, collation: Collation) -> Option<Option<bool>> {
        if Kind::of(value) != Some(self.kind) {
            return None;
        }
        let is_among = self.values.binary_search_by(|known| order(known, value, collation)).is_ok();
        Some(if is_among || !self.has_null { Some(is_among) } else { None })
    }
}
