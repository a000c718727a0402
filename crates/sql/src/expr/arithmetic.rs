//! Arithmetic and bit operators.
//!
//! Integers stay integers and are exact; an operation with an unsigned operand has an unsigned result.
//! What does not fit is error 1690. A double on either side makes a double, a decimal beside integers
//! a decimal.

use super::convert::{Number, to_bits};
use super::{ArithmeticOp, EvalContext, Expr};
use crate::error::{ER_DATA_OUT_OF_RANGE, ER_DIVISION_BY_ZERO, SqlError};
use crate::types::SqlMode;
use crate::types::decimal::{Decimal, DecimalOverflow, MAX_SCALE};
use crate::value::Value;

/// Digits that a division adds behind the point (`div_precision_increment`).
pub(super) const DIVISION_DIGITS: u8 = 4;

/// Digits of one of the groups that MySQL divides by.
const GROUP_DIGITS: u8 = 9;

/// A number under way. The quotient of a division has more digits than it shows, so that `1/3*3` is
/// 1.0000: they go where the outermost operator's result is rounded.
struct Term {
    number: Number,
    /// Digits behind the point that a decimal shows.
    scale: u8,
}

/// The value of an [`Expr::Arithmetic`].
pub(super) fn eval(whole: &Expr, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError> {
    Ok(match term(whole, row, cx)? {
        None => Value::Null,
        Some(Term { number: Number::Decimal(decimal), scale }) => Value::Decimal(decimal.round_to(scale)),
        Some(Term { number, .. }) => number.into(),
    })
}

/// The operand of an operator; `None` for NULL.
fn term(expr: &Expr, row: &[Value], cx: &EvalContext<'_>) -> Result<Option<Term>, SqlError> {
    use ArithmeticOp::{BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight};
    match expr {
        Expr::Arithmetic(op @ (BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight), a, b) => {
            let (a, b) = (a.get(row, cx)?, b.get(row, cx)?);
            if a.is_null() || b.is_null() {
                return Ok(None);
            }
            let number = Number::UInt(bits(*op, to_bits(&a, cx)?, to_bits(&b, cx)?));
            Ok(Some(Term { number, scale: 0 }))
        }
        Expr::Arithmetic(op, a, b) => {
            let (a, b) = (term(a, row, cx)?, term(b, row, cx)?);
            let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
            match op {
                ArithmeticOp::Divide => divide(&a, &b, expr, cx),
                ArithmeticOp::IntDivide => int_divide(&a.number, &b.number, expr, cx).map(whole),
                ArithmeticOp::Modulo => modulo(&a, &b, cx),
                _ => add_or_multiply(*op, &a, &b, expr, cx).map(Some),
            }
        }
        other => {
            let value = other.get(row, cx)?;
            if value.is_null() {
                return Ok(None);
            }
            let number = Number::of(&value, cx)?;
            let scale = if let Number::Decimal(decimal) = &number { decimal.scale() } else { 0 };
            Ok(Some(Term { number, scale }))
        }
    }
}

fn whole(number: Option<Number>) -> Option<Term> {
    number.map(|number| Term { number, scale: 0 })
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

fn out_of_range(kind: &str, whole: &Expr) -> SqlError {
    SqlError::new(ER_DATA_OUT_OF_RANGE, &[&kind, whole])
}

fn add_or_multiply(op: ArithmeticOp, a: &Term, b: &Term, expr: &Expr, cx: &EvalContext<'_>) -> Result<Term, SqlError> {
    if let (Some((a, a_unsigned)), Some((b, b_unsigned))) = (integer(&a.number), integer(&b.number)) {
        let result = match op {
            ArithmeticOp::Add => a + b,
            ArithmeticOp::Subtract => a - b,
            _ => a.saturating_mul(b),
        };
        let mut unsigned = a_unsigned || b_unsigned;
        if op == ArithmeticOp::Subtract && cx.statement.sql_mode().contains(SqlMode::NO_UNSIGNED_SUBTRACTION) {
            unsigned = false;
        }
        return Ok(Term { number: integer_result(result, unsigned, expr)?, scale: 0 });
    }
    if is_double(a, b) {
        let (a, b) = (a.number.to_f64(), b.number.to_f64());
        let result = match op {
            ArithmeticOp::Add => a + b,
            ArithmeticOp::Subtract => a - b,
            _ => a * b,
        };
        return Ok(Term { number: double_result(result, expr)?, scale: 0 });
    }
    let (x, y) = (a.number.to_decimal(), b.number.to_decimal());
    let (result, scale) = match op {
        ArithmeticOp::Add => (x.add(&y), a.scale.max(b.scale)),
        ArithmeticOp::Subtract => (x.subtract(&y), a.scale.max(b.scale)),
        _ => (x.multiply(&y), (a.scale + b.scale).min(MAX_SCALE)),
    };
    let number = result.map_err(|DecimalOverflow| out_of_range("DECIMAL", expr))?;
    Ok(Term { number: Number::Decimal(number), scale })
}

fn is_double(a: &Term, b: &Term) -> bool {
    matches!(a.number, Number::Double(_)) || matches!(b.number, Number::Double(_))
}

fn integer(number: &Number) -> Option<(i128, bool)> {
    match number {
        Number::Int(int) => Some((i128::from(*int), false)),
        Number::UInt(int) => Some((i128::from(*int), true)),
        _ => None,
    }
}

fn integer_result(result: i128, unsigned: bool, expr: &Expr) -> Result<Number, SqlError> {
    if unsigned {
        u64::try_from(result).map(Number::UInt).map_err(|_| out_of_range("BIGINT UNSIGNED", expr))
    } else {
        i64::try_from(result).map(Number::Int).map_err(|_| out_of_range("BIGINT", expr))
    }
}

fn double_result(result: f64, expr: &Expr) -> Result<Number, SqlError> {
    if result.is_finite() { Ok(Number::Double(result)) } else { Err(out_of_range("DOUBLE", expr)) }
}

/// Warns, if the SQL mode says so; the result is NULL.
fn division_by_zero<T>(cx: &EvalContext<'_>) -> Result<Option<T>, SqlError> {
    if cx.statement.sql_mode().contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        cx.statement.warn(SqlError::new(ER_DIVISION_BY_ZERO, &[]))?;
    }
    Ok(None)
}

fn divide(a: &Term, b: &Term, expr: &Expr, cx: &EvalContext<'_>) -> Result<Option<Term>, SqlError> {
    if is_double(a, b) {
        let divisor = b.number.to_f64();
        if divisor == 0.0 {
            return division_by_zero(cx);
        }
        return double_result(a.number.to_f64() / divisor, expr).map(|number| whole(Some(number)));
    }
    let (x, y) = (a.number.to_decimal(), b.number.to_decimal());
    let scale = (a.scale + DIVISION_DIGITS).min(MAX_SCALE);
    match x.divide_truncating(&y, hidden_scale(x.scale(), y.scale()).clamp(scale, MAX_SCALE)) {
        Ok(Some(quotient)) => Ok(Some(Term { number: Number::Decimal(quotient), scale })),
        Ok(None) => division_by_zero(cx),
        Err(DecimalOverflow) => Err(out_of_range("DECIMAL", expr)),
    }
}

/// How many digits MySQL computes behind the point of a quotient: whole groups of them.
fn hidden_scale(a: u8, b: u8) -> u8 {
    let up = |digits: u8| digits.div_ceil(GROUP_DIGITS) * GROUP_DIGITS;
    let given = (up(a) - a) + (up(b) - b);
    up(up(a) + up(b) + DIVISION_DIGITS.saturating_sub(given))
}

fn int_divide(a: &Number, b: &Number, expr: &Expr, cx: &EvalContext<'_>) -> Result<Option<Number>, SqlError> {
    if let (Some((a, a_unsigned)), Some((b, b_unsigned))) = (integer(a), integer(b)) {
        if b == 0 {
            return division_by_zero(cx);
        }
        return integer_result(a / b, a_unsigned || b_unsigned, expr).map(Some);
    }
    let (a, b) = (a.to_decimal(), b.to_decimal());
    match a.divide_truncating(&b, 0) {
        Ok(Some(quotient)) => integer_result(quotient.to_i128().0, false, expr).map(Some),
        Ok(None) => division_by_zero(cx),
        Err(DecimalOverflow) => Err(out_of_range("BIGINT", expr)),
    }
}

fn modulo(a: &Term, b: &Term, cx: &EvalContext<'_>) -> Result<Option<Term>, SqlError> {
    if let (Some((x, x_unsigned)), Some((y, _))) = (integer(&a.number), integer(&b.number)) {
        if y == 0 {
            return division_by_zero(cx);
        }
        let rest = x % y;
        return Ok(whole(Some(if x_unsigned { Number::UInt(rest as u64) } else { Number::Int(rest as i64) })));
    }
    if is_double(a, b) {
        let divisor = b.number.to_f64();
        if divisor == 0.0 {
            return division_by_zero(cx);
        }
        return Ok(whole(Some(Number::Double(a.number.to_f64() % divisor))));
    }
    match a.number.to_decimal().remainder(&b.number.to_decimal()) {
        Some(rest) => Ok(Some(Term { number: Number::Decimal(rest), scale: a.scale.max(b.scale) })),
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
