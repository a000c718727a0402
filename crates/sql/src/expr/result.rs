//! The types of results.

use super::arithmetic::DIVISION_DIGITS;
use super::coercion::{check_columns, with_collation};
use super::{ArithmeticOp, Ask, Expr, ParamKind, UnaryOp};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::decimal::MAX_SCALE;
use crate::types::{Family, FieldType, NOT_FIXED_DECIMALS, ResultType, TemporalKind};
use crate::value::Value;

impl Expr {
    /// The type of the result, given the parameters (missing ones are taken for strings).
    pub fn result_type(&self, params: &[Value]) -> ResultType {
        match self {
            Expr::Literal(value) => ResultType::of_value(value),
            Expr::Text(value, collation) => ResultType { collation: *collation, ..ResultType::of_value(value) },
            Expr::Param(param) => param.result_type(params),
            Expr::Column(column) | Expr::Outer(column) => column.result_type,
            conditions!() => {
                ResultType::boolean().nullable(!matches!(self, Expr::IsNull { .. } | Expr::IsTruth { .. }))
            }
            Expr::Unary(UnaryOp::BitNot, _) => ResultType::unsigned(21),
            Expr::Unary(UnaryOp::Negate, a) => {
                let operand = a.result_type(params);
                negated(operand, a.may_be_beyond_signed(operand, params))
            }
            Expr::Arithmetic(op, a, b) => arithmetic(*op, a.result_type(params), b.result_type(params)),
            Expr::Case(case) => case.result_type(params),
            Expr::Cast(a, to) => to.result_type(a.result_type(params)),
            Expr::Collate(a, collation) => ResultType { collation: *collation, ..a.result_type(params) },
            Expr::Call(call) => call.derive(params),
            Expr::Extract(unit, _) => ResultType::integer(unit.extracted_length()),
            Expr::TimestampDiff(..) => ResultType::integer(21),
            Expr::DateAdd { date, amount, unit, .. } => {
                let from = date.result_type(params);
                let decimals = from.decimals.max(unit.fraction(amount.result_type(params).decimals));
                match from.kind().temporal() {
                    Some(TemporalKind::Date) if unit.is_of_days() => ResultType::temporal(FieldType::Date, 0),
                    Some(TemporalKind::Date | TemporalKind::DateTime | TemporalKind::Timestamp) => {
                        ResultType::temporal(FieldType::DateTime, decimals)
                    }
                    Some(TemporalKind::Time) if !unit.is_of_days() => ResultType::temporal(FieldType::Time, decimals),
                    Some(TemporalKind::Time) | None => ResultType::string(29, Collation::DEFAULT),
                }
            }
            Expr::UserVariable(_, kind) | Expr::SystemVariable(_, _, kind) => {
                kind.unwrap_or(ParamKind::Text(Collation::DEFAULT)).result_type()
            }
            Expr::AssignUserVariable(_, a, _) => a.result_type(params).computed(),
            Expr::Subquery(query) => match &query.ask {
                Ask::Value { result_type, .. } => result_type.computed().nullable(true),
                Ask::Exists => ResultType::boolean().nullable(false),
                Ask::Compare(_) => ResultType::boolean().nullable(true),
            },
        }
    }
}

/// The type of values that come from any of these expressions, as in UNION; 1267 or 1271 if their collations contradict each
/// other.
pub(crate) fn joined_type(sides: &[&Expr], operation: &str) -> Result<ResultType, SqlError> {
    check_columns(sides, operation)?;
    let types: Vec<ResultType> = sides.iter().map(|side| side.result_type(&[])).collect();
    let joined = ResultType::of_all(&types);
    Ok(with_collation(joined, sides, Collation::DEFAULT))
}

impl Expr {
    /// Whether the negative of it is a decimal: it is a literal that has no negative BIGINT, or a constant with parameters
    /// that may have none. `own` is its type.
    fn may_be_beyond_signed(&self, own: ResultType, params: &[Value]) -> bool {
        /// Digits of the least integer whose negative may be out of range.
        const WIDE: u32 = 19;
        match self {
            Expr::Literal(value) => is_beyond_signed(value),
            // A literal that the plan cache took out is unsigned where no BIGINT holds it.
            Expr::Param(param) => {
                param.kind == Some(ParamKind::Unsigned) && params.get(param.index).is_none_or(is_beyond_signed)
            }
            other => own.length > WIDE && other.has_params() && !other.has_columns(),
        }
    }
}

/// Whether the negative of an integer is no BIGINT.
fn is_beyond_signed(value: &Value) -> bool {
    match value {
        Value::Int(int) => *int == i64::MIN,
        Value::UInt(int) => *int > i64::MIN.unsigned_abs(),
        _ => false,
    }
}

/// The number that an operand of arithmetic is taken for.
fn as_number(operand: ResultType) -> ResultType {
    match operand.family() {
        Family::Temporal if operand.decimals == 0 => ResultType::integer(14),
        Family::Temporal => ResultType::decimal(14 + u32::from(operand.decimals), operand.decimals),
        Family::String => ResultType::double(),
        Family::Null => ResultType::double().with_decimals(0),
        Family::Integer | Family::Decimal | Family::Real => operand,
    }
}

fn negated(operand: ResultType, beyond_signed: bool) -> ResultType {
    let number = as_number(operand);
    match number.family() {
        Family::Integer if beyond_signed => ResultType::decimal(20, 0),
        Family::Integer => ResultType::integer(number.length + 1),
        Family::Real => ResultType::double().with_decimals(number.decimals),
        Family::Decimal => {
            let decimals = u32::from(number.decimals);
            ResultType::decimal(number.integer_digits() + decimals, number.decimals).nullable(number.nullable)
        }
        Family::Null | Family::Temporal | Family::String => number,
    }
}

fn arithmetic(op: ArithmeticOp, a: ResultType, b: ResultType) -> ResultType {
    use ArithmeticOp::{
        Add, BitAnd, BitOr, BitXor, Divide, IntDivide, Modulo, Multiply, ShiftLeft, ShiftRight, Subtract,
    };
    if matches!(op, BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight) {
        return ResultType::unsigned(21);
    }
    let (a, b) = (as_number(a), as_number(b));
    let unsigned = a.unsigned || b.unsigned;
    if op == IntDivide {
        let length = match a.family() {
            Family::Integer | Family::Decimal => (a.integer_digits() + 1).min(21),
            Family::Null | Family::Real | Family::Temporal | Family::String => 21,
        };
        return ResultType { unsigned, ..ResultType::integer(length) };
    }
    if a.family() == Family::Real || b.family() == Family::Real {
        let digits = a.decimals.max(b.decimals);
        let more = if op == Divide { DIVISION_DIGITS } else { 0 };
        return ResultType::double().with_decimals((digits + more).min(NOT_FIXED_DECIMALS));
    }
    let both_integers = a.family() == Family::Integer && b.family() == Family::Integer;
    match op {
        Divide => {
            let scale = (a.decimals + DIVISION_DIGITS).min(MAX_SCALE);
            ResultType::decimal(a.integer_digits() + u32::from(b.decimals) + u32::from(scale), scale)
        }
        Modulo if both_integers => ResultType { unsigned: a.unsigned, ..ResultType::integer(a.length.max(b.length)) },
        Modulo => {
            let scale = a.decimals.max(b.decimals);
            let digits = a.integer_digits().max(b.integer_digits()) + u32::from(scale);
            ResultType { unsigned: a.unsigned, ..ResultType::decimal(digits, scale) }
        }
        Multiply if both_integers => ResultType { unsigned, ..ResultType::integer((a.length + b.length).min(21)) },
        Multiply => {
            let scale = (a.decimals + b.decimals).min(MAX_SCALE);
            ResultType::decimal(a.integer_digits() + b.integer_digits() + u32::from(scale), scale)
        }
        Add | Subtract if both_integers => {
            ResultType { unsigned, ..ResultType::integer((a.length.max(b.length) + 1).min(21)) }
        }
        _ => {
            let scale = a.decimals.max(b.decimals);
            ResultType::decimal(a.integer_digits().max(b.integer_digits()) + 1 + u32::from(scale), scale)
        }
    }
}
