//! Arithmetic and bit operators.
//!
//! Integers stay integers and are exact; an operation with an unsigned operand has an unsigned result.
//! What does not fit is error 1690. A double on either side makes a double, a decimal beside integers
//! a decimal.

use super::convert::{Number, to_bits};
use super::{ArithmeticOp, EvalContext, Expr};
use crate::error::{ER_DATA_OUT_OF_RANGE, ER_DIVISION_BY_ZERO, SqlError};
use crate::types::SqlMode;
use crate::types::decimal::{Decimal, DecimalOverflow};
use crate::value::Value;

/// Digits that a division adds behind the point (`div_precision_increment`).
pub(super) const DIVISION_DIGITS: u8 = 4;

/// `a op b`; `whole` is the expression, for messages.
pub(super) fn evaluate(
    op: ArithmeticOp,
    a: &Value,
    b: &Value,
    whole: &Expr,
    cx: &EvalContext<'_>,
) -> Result<Value, SqlError> {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    match op {
        ArithmeticOp::BitAnd
        | ArithmeticOp::BitOr
        | ArithmeticOp::BitXor
        | ArithmeticOp::ShiftLeft
        | ArithmeticOp::ShiftRight => {
            return bits(op, to_bits(a, cx)?, to_bits(b, cx)?);
        }
        _ => {}
    }
    let (a, b) = (Number::of(a, cx)?, Number::of(b, cx)?);
    match op {
        ArithmeticOp::Divide => divide(&a, &b, whole, cx),
        ArithmeticOp::IntDivide => int_divide(&a, &b, whole, cx),
        ArithmeticOp::Modulo => modulo(&a, &b, cx),
        _ => add_or_multiply(op, &a, &b, whole, cx),
    }
}

fn bits(op: ArithmeticOp, a: u64, b: u64) -> Result<Value, SqlError> {
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    Ok(Value::UInt(match op {
        ArithmeticOp::BitAnd => a & b,
        ArithmeticOp::BitOr => a | b,
        ArithmeticOp::BitXor => a ^ b,
        ArithmeticOp::ShiftLeft => a.checked_shl(shift).unwrap_or(0),
        _ => a.checked_shr(shift).unwrap_or(0),
    }))
}

fn out_of_range(kind: &str, whole: &Expr) -> SqlError {
    SqlError::new(ER_DATA_OUT_OF_RANGE, &[&kind, whole])
}

fn add_or_multiply(
    op: ArithmeticOp,
    a: &Number,
    b: &Number,
    whole: &Expr,
    cx: &EvalContext<'_>,
) -> Result<Value, SqlError> {
    if let (Some((a, a_unsigned)), Some((b, b_unsigned))) = (integer(a), integer(b)) {
        let result = match op {
            ArithmeticOp::Add => a + b,
            ArithmeticOp::Subtract => a - b,
            _ => a.saturating_mul(b),
        };
        let mut unsigned = a_unsigned || b_unsigned;
        if op == ArithmeticOp::Subtract && cx.statement.sql_mode().contains(SqlMode::NO_UNSIGNED_SUBTRACTION) {
            unsigned = false;
        }
        return integer_result(result, unsigned, whole);
    }
    if matches!(a, Number::Double(_)) || matches!(b, Number::Double(_)) {
        let (a, b) = (a.to_f64(), b.to_f64());
        return double_result(
            match op {
                ArithmeticOp::Add => a + b,
                ArithmeticOp::Subtract => a - b,
                _ => a * b,
            },
            whole,
        );
    }
    let (a, b) = (a.to_decimal(), b.to_decimal());
    let result = match op {
        ArithmeticOp::Add => a.add(&b),
        ArithmeticOp::Subtract => a.subtract(&b),
        _ => a.multiply(&b),
    };
    result.map(Value::Decimal).map_err(|DecimalOverflow| out_of_range("DECIMAL", whole))
}

fn integer(number: &Number) -> Option<(i128, bool)> {
    match number {
        Number::Int(int) => Some((i128::from(*int), false)),
        Number::UInt(int) => Some((i128::from(*int), true)),
        _ => None,
    }
}

fn integer_result(result: i128, unsigned: bool, whole: &Expr) -> Result<Value, SqlError> {
    if unsigned {
        u64::try_from(result).map(Value::UInt).map_err(|_| out_of_range("BIGINT UNSIGNED", whole))
    } else {
        i64::try_from(result).map(Value::Int).map_err(|_| out_of_range("BIGINT", whole))
    }
}

fn double_result(result: f64, whole: &Expr) -> Result<Value, SqlError> {
    if result.is_finite() { Ok(Value::Double(result)) } else { Err(out_of_range("DOUBLE", whole)) }
}

fn division_by_zero(cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if cx.statement.sql_mode().contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        cx.statement.warn(SqlError::new(ER_DIVISION_BY_ZERO, &[]))?;
    }
    Ok(Value::Null)
}

fn divide(a: &Number, b: &Number, whole: &Expr, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if matches!(a, Number::Double(_)) || matches!(b, Number::Double(_)) {
        let divisor = b.to_f64();
        return if divisor == 0.0 { division_by_zero(cx) } else { double_result(a.to_f64() / divisor, whole) };
    }
    match a.to_decimal().divide(&b.to_decimal(), DIVISION_DIGITS) {
        Ok(Some(quotient)) => Ok(Value::Decimal(quotient)),
        Ok(None) => division_by_zero(cx),
        Err(DecimalOverflow) => Err(out_of_range("DECIMAL", whole)),
    }
}

fn int_divide(a: &Number, b: &Number, whole: &Expr, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if let (Some((a, a_unsigned)), Some((b, b_unsigned))) = (integer(a), integer(b)) {
        return if b == 0 { division_by_zero(cx) } else { integer_result(a / b, a_unsigned || b_unsigned, whole) };
    }
    let (a, b) = (a.to_decimal(), b.to_decimal());
    let Some(rest) = a.remainder(&b) else { return division_by_zero(cx) };
    let overflow = |DecimalOverflow| out_of_range("BIGINT", whole);
    // Without the rest the division leaves no fraction.
    let quotient = a.subtract(&rest).and_then(|dividend| dividend.divide(&b, DIVISION_DIGITS)).map_err(overflow)?;
    integer_result(quotient.unwrap_or(Decimal::ZERO).to_i128().0, false, whole)
}

fn modulo(a: &Number, b: &Number, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if let (Some((a, a_unsigned)), Some((b, _))) = (integer(a), integer(b)) {
        if b == 0 {
            return division_by_zero(cx);
        }
        let rest = a % b;
        return Ok(if a_unsigned { Value::UInt(rest as u64) } else { Value::Int(rest as i64) });
    }
    if matches!(a, Number::Double(_)) || matches!(b, Number::Double(_)) {
        let divisor = b.to_f64();
        return if divisor == 0.0 { division_by_zero(cx) } else { Ok(Value::Double(a.to_f64() % divisor)) };
    }
    match a.to_decimal().remainder(&b.to_decimal()) {
        Some(rest) => Ok(Value::Decimal(rest)),
        None => division_by_zero(cx),
    }
}

/// `-a`
pub(super) fn negate(a: &Value, whole: &Expr, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if a.is_null() {
        return Ok(Value::Null);
    }
    Ok(match Number::of(a, cx)? {
        Number::Int(int) => match int.checked_neg() {
            Some(negated) => Value::Int(negated),
            None => return Err(out_of_range("BIGINT", whole)),
        },
        // A literal beyond the signed range keeps its value as a decimal.
        Number::UInt(int) => match i64::try_from(-i128::from(int)) {
            Ok(negated) => Value::Int(negated),
            Err(_) => Value::Decimal(Decimal::from(int).negate()),
        },
        Number::Decimal(decimal) => Value::Decimal(decimal.negate()),
        Number::Double(double) => Value::Double(-double),
    })
}
