//! Arithmetic and bit operators.
//!
//! Integers stay integers and are exact; an operation with an unsigned operand has an unsigned result.
//! What does not fit is error 1690. A double on either side makes a double, a decimal beside integers
//! a decimal. Decimals keep digits that they do not show: see [`crate::types::decimal`].

use super::convert::{Number, to_bits};
use super::{ArithmeticOp, EvalContext, Expr};
use crate::error::{ER_DATA_OUT_OF_RANGE, ER_DIVISION_BY_ZERO, SqlError};
use crate::types::decimal::DecimalOverflow;
use crate::types::{Family, SqlMode};
use crate::value::Value;

/// Digits that a division adds after the point (`div_precision_increment`).
pub(super) const DIVISION_DIGITS: u8 = 4;

/// The value of an [`Expr::Arithmetic`].
pub(super) fn eval(
    op: ArithmeticOp,
    a: &Value,
    b: &Value,
    whole: &Expr,
    cx: &EvalContext<'_>,
) -> Result<Value, SqlError> {
    use ArithmeticOp::{BitAnd, BitOr, BitXor, Divide, IntDivide, Modulo, ShiftLeft, ShiftRight};
    let of_bits = matches!(op, BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight);
    if a.is_null() || b.is_null() {
        // A text that is no number warns beside NULL too.
        for text in [a, b].into_iter().filter(|side| side.is_string()) {
            if of_bits { to_bits(text, cx).map(drop)? } else { Number::of(text, cx).map(drop)? }
        }
        return Ok(Value::Null);
    }
    if of_bits {
        return Ok(Value::UInt(bits(op, to_bits(a, cx)?, to_bits(b, cx)?)));
    }
    let (a, b) = (Number::of(a, cx)?, Number::of(b, cx)?);
    let result = match op {
        Divide => divide(&a, &b, whole, cx)?,
        IntDivide => int_divide(&a, &b, whole, cx)?,
        Modulo => modulo(&a, &b, cx)?,
        _ => Some(add_or_multiply(op, &a, &b, whole, cx)?),
    };
    Ok(result.map_or(Value::Null, Number::into))
}

/// Whether the right operand is not evaluated if the left one is NULL: for `&`, `|` and `^`, and where the result is an
/// exact number that is not made of integers alone.
pub(super) fn needs_no_right(op: ArithmeticOp, left: &Expr, right: &Expr, cx: &EvalContext<'_>) -> bool {
    use ArithmeticOp::{
        Add, BitAnd, BitOr, BitXor, Divide, IntDivide, Modulo, Multiply, ShiftLeft, ShiftRight, Subtract,
    };
    let sides = [left, right].map(|side| side.result_type(cx.params).family());
    let integers = sides == [Family::Integer; 2];
    let real = sides.iter().any(|side| matches!(side, Family::Real | Family::String));
    match op {
        BitAnd | BitOr | BitXor => true,
        ShiftLeft | ShiftRight => false,
        IntDivide => !integers,
        Divide => !real,
        Add | Subtract | Multiply | Modulo => !real && !integers,
    }
}

fn bits(op: ArithmeticOp, a: u64, b: u64) -> u64 {
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    match op {
        ArithmeticOp::BitAnd => a & b,
        ArithmeticOp::BitOr => a | b,
        ArithmeticOp::BitXor => a ^ b,
        ArithmeticOp::ShiftLeft => a.checked_shl(shift).unwrap_or(0),
        _ => a.checked_shr(shift).unwrap_or(0),
    }
}

fn out_of_range(kind: &str, whole: &Expr, cx: &EvalContext<'_>) -> SqlError {
    SqlError::new(ER_DATA_OUT_OF_RANGE, &[&kind, &whole.with_values(cx.params)])
}

fn add_or_multiply(
    op: ArithmeticOp,
    a: &Number,
    b: &Number,
    expr: &Expr,
    cx: &EvalContext<'_>,
) -> Result<Number, SqlError> {
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
        return integer_result(result, unsigned, expr, cx);
    }
    if is_double(a, b) {
        let (a, b) = (a.to_f64(), b.to_f64());
        let result = match op {
            ArithmeticOp::Add => a + b,
            ArithmeticOp::Subtract => a - b,
            _ => a * b,
        };
        return double_result(result, expr, cx);
    }
    let (a, b) = (a.as_decimal(), b.as_decimal());
    let result = match op {
        ArithmeticOp::Add => a.add(&b),
        ArithmeticOp::Subtract => a.subtract(&b),
        _ => a.multiply(&b),
    };
    result.map(Number::Decimal).map_err(|DecimalOverflow| out_of_range("DECIMAL", expr, cx))
}

fn is_double(a: &Number, b: &Number) -> bool {
    matches!(a, Number::Double(_)) || matches!(b, Number::Double(_))
}

fn integer(number: &Number) -> Option<(i128, bool)> {
    match number {
        Number::Int(int) => Some((i128::from(*int), false)),
        Number::UInt(int) => Some((i128::from(*int), true)),
        _ => None,
    }
}

fn integer_result(result: i128, unsigned: bool, expr: &Expr, cx: &EvalContext<'_>) -> Result<Number, SqlError> {
    if unsigned {
        u64::try_from(result).map(Number::UInt).map_err(|_| out_of_range("BIGINT UNSIGNED", expr, cx))
    } else {
        i64::try_from(result).map(Number::Int).map_err(|_| out_of_range("BIGINT", expr, cx))
    }
}

fn double_result(result: f64, expr: &Expr, cx: &EvalContext<'_>) -> Result<Number, SqlError> {
    if result.is_finite() { Ok(Number::Double(result)) } else { Err(out_of_range("DOUBLE", expr, cx)) }
}

/// Warns, if the SQL mode says so; the result is NULL.
pub(super) fn division_by_zero<T>(cx: &EvalContext<'_>) -> Result<Option<T>, SqlError> {
    if cx.statement.sql_mode().contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        cx.statement.warn(SqlError::new(ER_DIVISION_BY_ZERO, &[]))?;
    }
    Ok(None)
}

fn divide(a: &Number, b: &Number, expr: &Expr, cx: &EvalContext<'_>) -> Result<Option<Number>, SqlError> {
    if is_double(a, b) {
        let divisor = b.to_f64();
        if divisor == 0.0 {
            return division_by_zero(cx);
        }
        return double_result(a.to_f64() / divisor, expr, cx).map(Some);
    }
    match a.to_decimal().divide(&b.to_decimal(), DIVISION_DIGITS) {
        Ok(Some(quotient)) => Ok(Some(Number::Decimal(quotient))),
        Ok(None) => division_by_zero(cx),
        Err(DecimalOverflow) => Err(out_of_range("DECIMAL", expr, cx)),
    }
}

fn int_divide(a: &Number, b: &Number, expr: &Expr, cx: &EvalContext<'_>) -> Result<Option<Number>, SqlError> {
    if let (Some((a, a_unsigned)), Some((b, b_unsigned))) = (integer(a), integer(b)) {
        if b == 0 {
            return division_by_zero(cx);
        }
        return integer_result(a / b, a_unsigned || b_unsigned, expr, cx).map(Some);
    }
    let (a, b) = (a.to_decimal(), b.to_decimal());
    match a.divide_truncating(&b, 0) {
        Ok(Some(quotient)) => {
            let unsigned = expr.result_type(cx.params).unsigned;
            integer_result(quotient.to_i128().0, unsigned, expr, cx).map(Some)
        }
        Ok(None) => division_by_zero(cx),
        Err(DecimalOverflow) => Err(out_of_range("BIGINT", expr, cx)),
    }
}

fn modulo(a: &Number, b: &Number, cx: &EvalContext<'_>) -> Result<Option<Number>, SqlError> {
    if let (Some((x, x_unsigned)), Some((y, _))) = (integer(a), integer(b)) {
        if y == 0 {
            return division_by_zero(cx);
        }
        let rest = x % y;
        return Ok(Some(if x_unsigned { Number::UInt(rest as u64) } else { Number::Int(rest as i64) }));
    }
    if is_double(a, b) {
        let divisor = b.to_f64();
        if divisor == 0.0 {
            return division_by_zero(cx);
        }
        return Ok(Some(Number::Double(a.to_f64() % divisor)));
    }
    match a.to_decimal().remainder(&b.to_decimal()) {
        Some(rest) => Ok(Some(Number::Decimal(rest))),
        None => division_by_zero(cx),
    }
}

/// `-a`
pub(super) fn negate(a: &Value, whole: &Expr, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    if a.is_null() {
        return Ok(Value::Null);
    }
    let number = Number::of(a, cx)?;
    let negative = match &number {
        Number::Int(int) => int.checked_neg(),
        Number::UInt(int) => i64::try_from(-i128::from(*int)).ok(),
        Number::Decimal(decimal) => return Ok(Value::Decimal(decimal.negate())),
        Number::Double(double) => return Ok(Value::Double(-double)),
    };
    match negative {
        Some(negative) => Ok(Value::Int(negative)),
        None if whole.result_type(cx.params).family() == Family::Decimal => {
            Ok(Value::Decimal(number.to_decimal().negate()))
        }
        None => Err(out_of_range("BIGINT", whole, cx)),
    }
}
