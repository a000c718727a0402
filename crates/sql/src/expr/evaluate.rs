//! Evaluating an expression for one row.

use super::compare::{Common, between, compare};
use super::convert::{local, to_bits, to_bool, to_bytes, to_result_type};
use super::{Case, CastType, CompareOp, EvalContext, Expr, UnaryOp, arithmetic, cast, interval};
use crate::collation::{self, Collation};
use crate::error::SqlError;
use crate::types::{Family, FieldKind, ResultType};
use crate::value::Value;

/// Expressions whose value need not be made.
macro_rules! in_place {
    () => {
        Expr::Literal(_) | Expr::Text(..) | Expr::Param(_) | Expr::Column(_) | Expr::Outer(_)
    };
}

impl Expr {
    /// The value for one row. What MySQL warns of goes to
    /// [`StatementContext::warn`](super::StatementContext::warn), which may end the evaluation.
    pub fn eval(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        match self {
            in_place!() => self.get(row, cx, &mut Value::Null).cloned(),
            conditions!() => Ok(self.condition(row, cx)?.map_or(Value::Null, Value::bool)),
            Expr::Unary(UnaryOp::Negate, a) => arithmetic::negate(a.get(row, cx, &mut Value::Null)?, self, cx),
            Expr::Unary(UnaryOp::BitNot, a) => {
                let mut made = Value::Null;
                let value = a.get(row, cx, &mut made)?;
                if value.is_null() { Ok(Value::Null) } else { Ok(Value::UInt(!to_bits(value, cx)?)) }
            }
            Expr::Arithmetic(op, left, right) => {
                let mut made = Value::Null;
                let a = left.get(row, cx, &mut made)?;
                if a.is_null() && arithmetic::needs_no_right(*op, left, right, cx) {
                    return Ok(Value::Null);
                }
                arithmetic::eval(*op, a, right.get(row, cx, &mut Value::Null)?, self, cx)
            }
            Expr::Case(case) => case.eval(row, cx),
            Expr::Cast(a, to @ (CastType::Char { .. } | CastType::Binary { .. })) => {
                cast::cast(&a.as_shown(a.eval(row, cx)?, cx), to, cx)
            }
            Expr::Cast(a, to @ CastType::Decimal { .. }) => cast::cast(&a.exact(row, cx)?, to, cx),
            Expr::Cast(a, to) => cast::cast(a.get(row, cx, &mut Value::Null)?, to, cx),
            Expr::Collate(a, collation) => Ok(collate(a.eval(row, cx)?, *collation)),
            Expr::Call(call) => call.eval(row, cx),
            Expr::Extract(unit, date) => interval::extract(*unit, date.get(row, cx, &mut Value::Null)?, cx),
            Expr::TimestampDiff(unit, from, to) => {
                interval::difference(*unit, &from.complete(row, cx)?, &to.complete(row, cx)?, cx)
            }
            Expr::DateAdd { date, amount, unit, negated } => {
                interval::add(&date.complete(row, cx)?, amount.get(row, cx, &mut Value::Null)?, *unit, *negated, cx)
            }
            Expr::UserVariable(name, _) => Ok(cx.statement.user_variable(name)),
            Expr::AssignUserVariable(name, a, collation) => {
                let value = a.eval(row, cx)?.for_variable();
                cx.statement.set_user_variable(name, value.clone(), *collation)?;
                Ok(value)
            }
            Expr::SystemVariable(scope, name, _) => cx.statement.system_variable(*scope, name),
            Expr::Subquery(query) => match cx.queries {
                Some(queries) => queries.answer(query, row, cx),
                None => Err(SqlError::internal("a query stands where none can run")),
            },
        }
    }

    /// Whether it is true, false or unknown, which as a value are 1, 0 and NULL.
    pub(super) fn is_condition(&self) -> bool {
        matches!(self, conditions!())
    }

    /// The value for an exact context: what IF, CASE, GREATEST and LEAST choose among numbers that are joined to a DOUBLE
    /// is taken as it is. (COALESCE and IFNULL make it a DOUBLE first, in MySQL too.)
    fn exact(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        let joined = match self {
            _ if self.result_type(cx.params).family() != Family::Real => None,
            Expr::Case(case) => Some(case.chosen(row, cx)?.map_or(Ok(Value::Null), |chosen| chosen.exact(row, cx))?),
            Expr::Call(call) if call.chooses_exactly() => Some(call.value(row, cx, false)?),
            _ => None,
        };
        joined.map_or_else(|| self.eval(row, cx), Ok)
    }

    /// The value, where it is: a literal, a parameter or a place of the row. One that has to be made is put into `made`. (As a
    /// `Cow` it would be copied in parts that the processor then waits for.)
    pub(crate) fn get<'a>(
        &'a self,
        row: &'a [Value],
        cx: &EvalContext<'a>,
        made: &'a mut Value,
    ) -> Result<&'a Value, SqlError> {
        Ok(match self {
            Expr::Literal(value) | Expr::Text(value, _) => value,
            Expr::Param(param) => match cx.params.get(param.index) {
                Some(value) => value,
                None => return Err(SqlError::internal(format_args!("parameter {} is not given", param.index))),
            },
            Expr::Column(column) => match row.get(column.slot) {
                Some(value @ Value::Timestamp(_)) => {
                    *made = local(value, cx);
                    made
                }
                Some(value) => value,
                None => {
                    return Err(SqlError::internal(format_args!(
                        "the row has no place {} for `{}`",
                        column.slot, column.name
                    )));
                }
            },
            Expr::Outer(column) => match cx.outer.get(column.slot) {
                Some(value) => value,
                None => {
                    return Err(SqlError::internal(format_args!("`{}` of a query around is not given", column.name)));
                }
            },
            other => {
                *made = other.eval(row, cx)?;
                made
            }
        })
    }

    /// The same as it is shown.
    fn shown<'a>(&'a self, row: &'a [Value], cx: &EvalContext<'a>, made: &'a mut Value) -> Result<&'a Value, SqlError> {
        let value = self.get(row, cx, made)?;
        if value.is_number() {
            *made = self.as_shown(value.clone(), cx);
            return Ok(made);
        }
        // What was made is not made again.
        if matches!(self, in_place!()) { self.get(row, cx, made) } else { Ok(made) }
    }

    /// A value of this expression as one of an expression that it is a branch of.
    pub(crate) fn as_one_of(&self, value: Value, to: &ResultType, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        let value = if to.family() == Family::String { self.as_shown(value, cx) } else { value };
        to_result_type(value, to, cx)
    }

    /// A value of this expression as it is shown, where the type has a say in that: a double of fixed digits, a year,
    /// bits.
    pub(super) fn as_shown(&self, value: Value, cx: &EvalContext<'_>) -> Value {
        if !matches!(value, Value::Double(_) | Value::Float(_) | Value::UInt(_)) {
            return value;
        }
        let result = self.result_type(cx.params);
        if !result.shapes_text() {
            return value;
        }
        let mut text = Vec::new();
        result.write_text(&value, &mut text);
        match String::from_utf8(text) {
            Ok(text) if result.kind() != FieldKind::Bits => Value::text(text),
            Ok(text) => Value::bytes(text.into_bytes()),
            Err(bytes) => Value::bytes(bytes.into_bytes()),
        }
    }

    /// The conditions that AND joins, or the one that it is.
    pub(crate) fn parts_of_and(&self) -> &[Expr] {
        if let Expr::And(parts) = self { parts } else { std::slice::from_ref(self) }
    }

    /// Whether it is true, as a filter asks, to which unknown is false: what follows an unknown part of an AND is not
    /// evaluated, as in MySQL.
    pub fn holds(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<bool, SqlError> {
        let (parts, goal) = match self {
            Expr::And(parts) => (parts, false),
            Expr::Or(parts) => (parts, true),
            other => return Ok(other.condition(row, cx)? == Some(true)),
        };
        for part in parts {
            if part.holds(row, cx)? == goal {
                return Ok(goal);
            }
        }
        Ok(!goal)
    }

    /// The value as a condition; `None` is unknown (NULL).
    pub fn condition(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<Option<bool>, SqlError> {
        match self {
            Expr::Compare(op, left, right, collation) => {
                let (mut made_a, mut made_b) = (Value::Null, Value::Null);
                let a = left.get(row, cx, &mut made_a)?;
                if a.is_null() && *op != CompareOp::NullSafeEqual {
                    return Ok(None);
                }
                let b = right.get(row, cx, &mut made_b)?;
                if *op == CompareOp::NullSafeEqual && (a.is_null() || b.is_null()) {
                    return Ok(Some(a.is_null() && b.is_null()));
                }
                if b.is_null() && a.is_string() {
                    // It is converted all the same, and warns.
                    let types = [left.result_type(cx.params), right.result_type(cx.params)];
                    if let Some(common) = Common::of(&types) {
                        common.convert(a.clone(), cx)?;
                    }
                    return Ok(None);
                }
                Ok(compare(a, b, *collation, cx)?.map(|order| op.holds(order)))
            }
            Expr::And(all) => all_of(all, row, cx, true),
            Expr::Or(any) => Ok(all_of(any, row, cx, false)?.map(|none| !none)),
            Expr::Xor(a, b) => {
                let (a, b) = (a.condition(row, cx)?, b.condition(row, cx)?);
                Ok(a.zip(b).map(|(a, b)| a != b))
            }
            Expr::Not(a) => Ok(a.condition(row, cx)?.map(|truth| !truth)),
            Expr::Between { operand, low, high, negated, collation } => {
                let (mut made, mut made_low, mut made_high) = (Value::Null, Value::Null, Value::Null);
                let operand = operand.get(row, cx, &mut made)?;
                if operand.is_null() {
                    return Ok(None);
                }
                let (low, high) = (low.get(row, cx, &mut made_low)?, high.get(row, cx, &mut made_high)?);
                let within = between(operand, low, high, *collation, cx)?;
                Ok(within.map(|within| within != *negated))
            }
            Expr::In { operand, list, negated, collation, sorted } => {
                let mut made = Value::Null;
                let operand = operand.get(row, cx, &mut made)?;
                if operand.is_null() {
                    return Ok(None);
                }
                if let Some(is_among) = sorted.as_ref().and_then(|sorted| sorted.have(operand, *collation)) {
                    return Ok(is_among.map(|is_among| is_among != *negated));
                }
                let mut unknown = false;
                for (at, item) in list.iter().enumerate() {
                    if at % 64 == 63 {
                        cx.statement.check_killed()?;
                    }
                    match compare(operand, item.get(row, cx, &mut Value::Null)?, *collation, cx)? {
                        Some(order) if order.is_eq() => return Ok(Some(!negated)),
                        Some(_) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(*negated) })
            }
            Expr::Like { operand, pattern, escape, negated, collation } => {
                let (mut made_text, mut made_pattern) = (Value::Null, Value::Null);
                let text = operand.shown(row, cx, &mut made_text)?;
                let pattern = pattern.shown(row, cx, &mut made_pattern)?;
                if text.is_null() || pattern.is_null() {
                    return Ok(None);
                }
                let go_on = &|| cx.statement.check_killed().is_ok();
                let matches = collation::like(*collation, &to_bytes(text), &to_bytes(pattern), *escape, go_on);
                // A kill ends the search without an answer.
                cx.statement.check_killed()?;
                Ok(Some(matches != *negated))
            }
            Expr::IsNull { operand, negated } => {
                Ok(Some(operand.get(row, cx, &mut Value::Null)?.is_null() != *negated))
            }
            Expr::IsTruth { operand, truth, negated } => {
                Ok(Some((operand.condition(row, cx)? == Some(*truth)) != *negated))
            }
            other => to_bool(other.get(row, cx, &mut Value::Null)?, cx),
        }
    }
}

/// Whether every condition is `goal`: false as soon as one is not, unknown if one is unknown.
fn all_of(conditions: &[Expr], row: &[Value], cx: &EvalContext<'_>, goal: bool) -> Result<Option<bool>, SqlError> {
    let mut unknown = false;
    for condition in conditions {
        match condition.condition(row, cx)? {
            Some(truth) if truth == goal => {}
            Some(_) => return Ok(Some(false)),
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(true) })
}

/// A string under another collation; a binary one becomes text if it can.
fn collate(value: Value, collation: Collation) -> Value {
    match value {
        Value::Bytes(bytes) | Value::Hex(bytes) if collation.is_character() => match std::str::from_utf8(&bytes) {
            Ok(text) => Value::text(text),
            Err(_) => Value::Bytes(bytes),
        },
        Value::Member(member) => collate(Value::text(&*member.text), collation),
        Value::Json(json) => collate(Value::text(json.to_string()), collation),
        Value::Text(text) if collation == Collation::Binary => Value::bytes(text.as_bytes()),
        other => other,
    }
}

impl Case {
    fn eval(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        let Some(chosen) = self.chosen(row, cx)? else { return Ok(Value::Null) };
        chosen.as_one_of(chosen.eval(row, cx)?, &self.result_type(cx.params), cx)
    }

    /// The expression whose value is the result; `None` for NULL.
    pub(super) fn chosen(&self, row: &[Value], cx: &EvalContext<'_>) -> Result<Option<&Expr>, SqlError> {
        let mut made = Value::Null;
        let operand = self.operand.as_ref().map(|operand| operand.get(row, cx, &mut made)).transpose()?;
        if operand.is_some_and(Value::is_null) {
            return Ok(self.otherwise.as_ref());
        }
        for (when, then) in &self.branches {
            let holds = match operand {
                Some(operand) => compare(operand, when.get(row, cx, &mut Value::Null)?, self.collation, cx)?
                    .is_some_and(|order| order.is_eq()),
                None => when.condition(row, cx)? == Some(true),
            };
            if holds {
                return Ok(Some(then));
            }
        }
        Ok(self.otherwise.as_ref())
    }
}
