//! Comparison of values of any two kinds.
//!
//! Strings compare under a collation, exact numbers exactly, dates as dates; a string beside a date is
//! read as one, a string beside a number as a double.

use std::cmp::Ordering;

use super::convert::{Number, datetime_of_number, is_date, local, to_datetime, to_f64, to_time};
use super::{CompareOp, EvalContext};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::types::column_type::ordered_f64;
use crate::types::json::Json;
use crate::types::temporal::{Date, DateTime, Time, TimeZone};
use crate::types::{Family, ResultType};
use crate::value::{Value, hex_number};

impl CompareOp {
    /// Whether the operator holds for two values in this order.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            CompareOp::Equal | CompareOp::NullSafeEqual => order.is_eq(),
            CompareOp::NotEqual => order.is_ne(),
            CompareOp::Less => order.is_lt(),
            CompareOp::LessOrEqual => order.is_le(),
            CompareOp::Greater => order.is_gt(),
            CompareOp::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The operator with its sides exchanged.
    pub fn flipped(self) -> CompareOp {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
            same => same,
        }
    }
}

/// The order of two values with implicit conversion; `None` if it is unknown (a NULL). Text beside a date
/// that is none is the zero date, with a warning.
pub(super) fn compare(
    a: &Value,
    b: &Value,
    collation: Collation,
    cx: &EvalContext<'_>,
) -> Result<Option<Ordering>, SqlError> {
    if let Some(order) = compare_alike(a, b, collation) {
        return Ok(Some(order));
    }
    if a.is_null() || b.is_null() {
        return Ok(None);
    }
    if let (Value::Json(json), other) | (other, Value::Json(json)) = (a, b) {
        // Both are documents, other than beside a date or time.
        let order = json.compare(&Json::of_value(&local(other, cx)));
        return Ok(Some(if matches!(a, Value::Json(_)) { order } else { order.reverse() }));
    }
    if matches!(a, Value::Timestamp(_)) || matches!(b, Value::Timestamp(_)) {
        return compare(&local(a, cx), &local(b, cx), collation, cx);
    }
    let time_of_day = |value: &Value| matches!(value, Value::Time(_));
    if (time_of_day(a) && b.is_string()) || (a.is_string() && time_of_day(b)) {
        let time = |value| Ok::<_, SqlError>(to_time(value, cx)?.unwrap_or(Time { micros: 0, fsp: 0 }));
        return Ok(Some(time(a)?.cmp(&time(b)?)));
    }
    if (a.is_temporal() && (b.is_temporal() || b.is_string())) || (a.is_string() && b.is_temporal()) {
        return Ok(Some(date_or_zero(a, cx)?.cmp(&date_or_zero(b, cx)?)));
    }
    // A number that is no date is compared as one.
    match (is_date(a), is_date(b)) {
        (true, false) if let Some(b) = datetime_of_number(b) => return Ok(Some(date_or_zero(a, cx)?.cmp(&b))),
        (false, true) if let Some(a) = datetime_of_number(a) => return Ok(Some(a.cmp(&date_or_zero(b, cx)?))),
        _ => {}
    }
    Ok(Some(Number::of(a, cx)?.compare(&Number::of(b, cx)?)))
}

/// Whether `low <= operand <= high`; `None` if that is unknown. The three are compared as one kind.
pub(super) fn between(
    operand: &Value,
    low: &Value,
    high: &Value,
    collation: Collation,
    cx: &EvalContext<'_>,
) -> Result<Option<bool>, SqlError> {
    if let (Value::Int(operand), Value::Int(low), Value::Int(high)) = (operand, low, high) {
        return Ok(Some((low..=high).contains(&operand)));
    }
    match alike(&[operand, low, high], cx)?.as_deref() {
        Some([operand, low, high]) => within(operand, low, high, collation, cx),
        _ => within(operand, low, high, collation, cx),
    }
}

/// The kind that values of several kinds are compared as.
#[derive(Clone, Copy)]
pub(super) enum Common {
    /// Strings are dates: there is one.
    Date,
    /// Strings are numbers: there is one.
    Number,
}

impl Common {
    /// The kind for values of these types; `None` if they may stay as they are.
    pub(super) fn of(types: &[ResultType]) -> Option<Common> {
        let any = |is: fn(&ResultType) -> bool| types.iter().any(is);
        Common::among(
            any(|side| side.family() == Family::String),
            any(|side| side.kind().has_date()),
            any(|side| side.family().is_number()),
        )
    }

    fn among(strings: bool, dates: bool, numbers: bool) -> Option<Common> {
        match (strings, dates, numbers) {
            (true, true, _) => Some(Common::Date),
            (true, false, true) => Some(Common::Number),
            _ => None,
        }
    }

    /// A value that is not NULL as one of the kind.
    pub(super) fn convert(self, value: Value, cx: &EvalContext<'_>) -> Result<Value, SqlError> {
        match self {
            _ if !value.is_string() => Ok(value),
            Common::Date => date_or_zero(&value, cx).map(Value::DateTime),
            Common::Number => to_f64(&value, cx).map(Value::Double),
        }
    }
}

/// The values as one kind, where they are compared with each other and are of several: strings are dates
/// beside a date, else numbers beside a number. `None` if they may stay as they are.
pub(super) fn alike(values: &[&Value], cx: &EvalContext<'_>) -> Result<Option<Vec<Value>>, SqlError> {
    let any = |is: fn(&Value) -> bool| values.iter().any(|value| is(value));
    let text = |value: &Value| matches!(value, Value::Text(_) | Value::Bytes(_));
    let Some(common) = Common::among(any(text), any(is_date), any(Value::is_number)) else { return Ok(None) };
    values.iter().map(|value| common.convert((*value).clone(), cx)).collect::<Result<_, SqlError>>().map(Some)
}

/// A date or text beside one; text that is none is the zero date, with a warning.
fn date_or_zero(value: &Value, cx: &EvalContext<'_>) -> Result<DateTime, SqlError> {
    Ok(to_datetime(value, cx)?.unwrap_or_else(|| Date::ZERO.at_midnight()))
}

fn within(
    operand: &Value,
    low: &Value,
    high: &Value,
    collation: Collation,
    cx: &EvalContext<'_>,
) -> Result<Option<bool>, SqlError> {
    let above = compare(operand, low, collation, cx)?.map(|order| order.is_ge());
    if above == Some(false) {
        return Ok(above);
    }
    let below = compare(operand, high, collation, cx)?.map(|order| order.is_le());
    Ok(if below == Some(false) { below } else { above.zip(below).map(|_| true) })
}

/// The order of two values that need no conversion; `None` if they do, or if one is NULL.
fn compare_alike(a: &Value, b: &Value, collation: Collation) -> Option<Ordering> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Int(a), Value::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::UInt(a), Value::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::Text(a), Value::Text(b)) => collation.compare(a.as_bytes(), b.as_bytes()),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Date(a), Value::DateTime(b)) => a.at_midnight().cmp(b),
        (Value::DateTime(a), Value::Date(b)) => a.cmp(&b.at_midnight()),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.micros.cmp(&b.micros),
        (Value::Json(a), Value::Json(b)) => a.compare(b),
        _ => collation.compare(a.as_bytes()?, b.as_bytes()?),
    })
}

/// Compares two values as `<` and `=` do, strings under `collation`; `None` if one is NULL. Used by
/// MIN, MAX and joins. Values of one column never need a conversion; values of other mixtures are
/// compared as numbers, text that is none counting as 0.
pub fn compare_values(a: &Value, b: &Value, collation: Collation) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    Some(compare_alike(a, b, collation).unwrap_or_else(|| {
        use crate::types::number_text;
        let number = |value: &Value| match value {
            Value::Int(int) => Number::Int(*int),
            Value::UInt(int) => Number::UInt(*int),
            Value::Decimal(decimal) => Number::Decimal(decimal.clone()),
            Value::Hex(bytes) => Number::UInt(hex_number(bytes)),
            Value::Member(member) => Number::UInt(member.number),
            Value::Double(double) => Number::Double(*double),
            Value::Float(float) => Number::Double(f64::from(*float)),
            Value::Date(date) => Number::Int(date.to_number() * 1_000_000),
            Value::DateTime(value) => Number::Int(value.to_number()),
            Value::Timestamp(value) => Number::Int(value.to_datetime(TimeZone::UTC).to_number()),
            Value::Time(value) => Number::Int(value.to_number()),
            text => Number::Double(number_text::double(text.as_bytes().unwrap_or_default()).value),
        };
        number(a).compare(&number(b))
    }))
}

/// The order of ORDER BY: as [`compare_values`], NULL first, decimals as they are shown, and the values of an ENUM or SET by
/// number.
pub fn order_values(a: &Value, b: &Value, collation: Collation) -> Ordering {
    if let (Value::Decimal(a), Value::Decimal(b)) = (a, b) {
        return a.as_shown().cmp(&b.as_shown());
    }
    if let (Value::Member(a), Value::Member(b)) = (a, b) {
        return a.number.cmp(&b.number);
    }
    compare_values(a, b, collation).unwrap_or_else(|| b.is_null().cmp(&a.is_null()))
}

/// Appends bytes that are equal exactly for values that GROUP BY, DISTINCT and hash joins hold to be
/// equal, among values of one kind (as the values of one expression are): decimals are as they are shown.
/// Each value's bytes end by themselves.
pub fn write_group_key(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    // Integers of either sign share a tag, as equal ones are equal.
    let tag = |tag: u8, out: &mut Vec<u8>| out.push(tag);
    match value {
        Value::Null => tag(0, out),
        Value::Int(int) => {
            tag(1, out);
            out.extend_from_slice(&i128::from(*int).to_be_bytes()[7..]);
        }
        Value::UInt(int) => {
            tag(1, out);
            out.extend_from_slice(&i128::from(*int).to_be_bytes()[7..]);
        }
        Value::Float(float) => {
            tag(2, out);
            out.extend_from_slice(&ordered_f64(f64::from(*float)).to_be_bytes());
        }
        Value::Double(double) => {
            tag(2, out);
            out.extend_from_slice(&ordered_f64(*double).to_be_bytes());
        }
        Value::Decimal(decimal) => {
            tag(3, out);
            out.extend_from_slice(decimal.as_shown().normalized().to_string().as_bytes());
            out.push(0);
        }
        Value::Text(text) => {
            tag(4, out);
            collation.write_key(text.as_bytes(), out);
        }
        Value::Bytes(bytes) | Value::Hex(bytes) => {
            tag(4, out);
            collation.write_key(bytes, out);
        }
        Value::Json(json) => {
            tag(8, out);
            json.write_group_key(out);
        }
        // Values of one column, as nothing else makes them.
        Value::Member(member) => {
            tag(1, out);
            out.extend_from_slice(&i128::from(member.number).to_be_bytes()[7..]);
        }
        Value::Date(date) => {
            tag(5, out);
            out.extend_from_slice(&date.at_midnight().packed().to_be_bytes());
        }
        Value::DateTime(value) => {
            tag(5, out);
            out.extend_from_slice(&value.packed().to_be_bytes());
        }
        Value::Timestamp(value) => {
            tag(6, out);
            out.extend_from_slice(&value.micros.to_be_bytes());
        }
        Value::Time(value) => {
            tag(7, out);
            out.extend_from_slice(&value.micros.to_be_bytes());
        }
    }
}
