//! Bytes by which equal values find each other: those of hash joins and IN.
//!
//! Values that `=` holds to be equal have the same bytes; other values may have them too, so that who finds a pair
//! evaluates the condition as well.

use super::{CompareOp, EqualKey, EvalContext, Expr};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::{Family, FieldType, TemporalKind};
use crate::value::Value;

/// Values that are compared with each other as they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Integers and decimals.
    Exact,
    Real,
    String,
    Date,
    Time,
}

fn class_of(expr: &Expr, params: &[Value]) -> Option<Class> {
    let of = expr.result_type(params);
    match of.family() {
        Family::Integer | Family::Decimal => Some(Class::Exact),
        Family::Real => Some(Class::Real),
        Family::String if of.field == FieldType::Json => None,
        Family::String => Some(Class::String),
        Family::Temporal => match of.kind().temporal()? {
            TemporalKind::Date | TemporalKind::DateTime | TemporalKind::Timestamp => Some(Class::Date),
            TemporalKind::Time => Some(Class::Time),
        },
        Family::Null => None,
    }
}

/// What has to be equal where all of a condition holds, if it consists of such comparisons alone.
pub(crate) fn equal_keys(condition: &Expr) -> Option<Vec<EqualKey>> {
    let keys = possible_keys(condition)?;
    let is_certain = |key: &EqualKey| !key.left.has_params() && !key.right.has_params();
    keys.iter().all(is_certain).then_some(keys)
}

/// The same, with what are keys only for some parameters: [`EqualKey::is_one`].
pub(crate) fn possible_keys(condition: &Expr) -> Option<Vec<EqualKey>> {
    match condition {
        Expr::And(parts) => {
            let keys = parts.iter().map(possible_keys).collect::<Option<Vec<_>>>()?;
            Some(keys.into_iter().flatten().collect())
        }
        Expr::Compare(CompareOp::Equal, left, right, collation) if !left.is_volatile() && !right.is_volatile() => {
            let key = EqualKey { left: (**left).clone(), right: (**right).clone(), collation: *collation };
            (key.left.has_params() || key.right.has_params() || key.is_one(&[])).then(|| vec![key])
        }
        _ => None,
    }
}

impl EqualKey {
    /// Whether values of both sides that are equal have the same bytes, with these parameters.
    pub(crate) fn is_one(&self, params: &[Value]) -> bool {
        let class = class_of(&self.left, params);
        class.is_some() && class == class_of(&self.right, params)
    }
}

/// What a row is found by.
pub(crate) enum JoinKey<'k> {
    Of(&'k [u8]),
    /// A value is NULL: nothing is equal to it.
    Null,
    /// A value has no key that all equal values have.
    None,
}

/// The key of the values of some expressions; `key` gets its bytes.
pub(crate) fn join_key_of<'e, 'k>(
    exprs: impl Iterator<Item = (&'e Expr, Collation)>,
    row: &[Value],
    cx: &EvalContext<'_>,
    key: &'k mut Vec<u8>,
) -> Result<JoinKey<'k>, SqlError> {
    key.clear();
    let mut whole = true;
    for (expr, collation) in exprs {
        let mut made = Value::Null;
        let value = expr.get(row, cx, &mut made)?;
        if value.is_null() {
            return Ok(JoinKey::Null);
        }
        whole &= join_key(value, collation, key);
    }
    Ok(if whole { JoinKey::Of(key) } else { JoinKey::None })
}

/// Appends the key of a value; false if there is none that all equal values have. NULL equals nothing and has none.
pub(crate) fn join_key(value: &Value, collation: Collation, out: &mut Vec<u8>) -> bool {
    match value {
        Value::Text(text) => string(text.as_bytes(), collation, out),
        Value::Bytes(bytes) => string(bytes, collation, out),
        Value::Member(member) => string(member.text.as_bytes(), collation, out),
        Value::Int(int) => integer(i128::from(*int), out),
        Value::UInt(int) => integer(i128::from(*int), out),
        Value::Decimal(decimal) => {
            let text = decimal.normalized().to_string();
            match text.parse() {
                Ok(int) => integer(int, out),
                Err(_) => {
                    out.push(1);
                    out.extend_from_slice(text.as_bytes());
                    out.push(0);
                    true
                }
            }
        }
        Value::Float(float) => real(f64::from(*float), out),
        Value::Double(double) => real(*double, out),
        Value::Date(date) => packed(4, date.at_midnight().packed(), out),
        Value::DateTime(value) => packed(4, value.packed(), out),
        Value::Time(value) => packed(5, value.micros, out),
        Value::Null | Value::Hex(_) | Value::Timestamp(_) | Value::Json(_) => false,
    }
}

fn string(bytes: &[u8], collation: Collation, out: &mut Vec<u8>) -> bool {
    let from = out.len();
    out.extend_from_slice(&[2, 0, 0, 0, 0]);
    collation.write_key(bytes, out);
    // Its length parts it from the next one.
    let length = (out.len() - from) as u32;
    out[from + 1..from + 5].copy_from_slice(&length.to_be_bytes());
    true
}

fn integer(int: i128, out: &mut Vec<u8>) -> bool {
    out.push(0);
    out.extend_from_slice(&int.to_be_bytes());
    true
}

fn real(double: f64, out: &mut Vec<u8>) -> bool {
    out.push(3);
    // Both zeros are one.
    out.extend_from_slice(&(double + 0.0).to_bits().to_be_bytes());
    true
}

fn packed(tag: u8, number: impl Into<i128>, out: &mut Vec<u8>) -> bool {
    out.push(tag);
    out.extend_from_slice(&number.into().to_be_bytes());
    true
}
