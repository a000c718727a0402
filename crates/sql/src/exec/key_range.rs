//! From the terms of an access path to ranges of keys.
//!
//! A term's value may have another type than its column. It is usable if some value of the column's type
//! is exactly it; then keys order as the comparison does. If none is, no row can be equal; a bound that
//! is not usable is left out, which only widens the range.

use std::cmp::Ordering;
use std::sync::Arc;

use cohort_engine::KeyRange;

use super::{Run, subquery};
use crate::catalog::table::{Index, Table, prefix_range};
use crate::codec::{KeyPart, key};
use crate::collation::Collation;
use crate::error::SqlError;
use crate::expr::{Expr, StatementContext, compare_values};
use crate::plan::access::{Access, Bounds, Tail};
use crate::types::column_type::{DateTimeType, TimeType, TimestampType};
use crate::types::{Kind, Loss, SqlMode, StoreContext};
use crate::value::{Member, Value, hex_number};

/// What a range of short keys takes, bytes.
const RANGE_BYTES: usize = 128;
/// The most values of a query that are looked for one by one; beyond that all rows are looked at.
const MOST_OF_A_QUERY: usize = 1000;

/// Where to look for rows.
#[derive(Debug)]
pub(super) enum Keys {
    /// Nowhere: no row can match.
    Nothing,
    /// At these keys of a unique index, in key order, each once.
    Points(Vec<Vec<u8>>),
    /// In these ranges, in key order and apart from each other.
    Ranges(Vec<KeyRange>),
    /// Everywhere: the path cannot be used with these values.
    Everything,
}

/// What an access path comes to with the values of its terms.
pub(super) struct Found {
    pub(super) keys: Keys,
    /// Every term is a number that its column, one of whole numbers, holds: the keys are those of all rows for which the
    /// terms are true, and of no others.
    pub(super) exact: bool,
}

/// A term's value as a column's.
enum Fit {
    /// This value of the column is it.
    Exact(Value),
    /// No value of the column is equal to it.
    Never,
    /// Comparing it with the column does not follow the order of keys.
    Unusable,
}

/// Finds the keys of an access path for the row that is made: what the relations before this one have filled.
pub(super) fn find(access: &Access, table: &Table, row: &[Value], run: &mut Run<'_>) -> Result<Found, SqlError> {
    let mut exact = true;
    let keys = keys(access, table, row, run, &mut exact)?;
    Ok(Found { keys, exact })
}

fn keys(access: &Access, table: &Table, row: &[Value], run: &mut Run<'_>, exact: &mut bool) -> Result<Keys, SqlError> {
    let Some(index) = access.key(table) else {
        return Ok(Keys::Ranges(vec![prefix_range(&table.row_prefix())]));
    };
    let mut prefix = Vec::with_capacity(32);
    prefix.extend_from_slice(&index.prefix());
    let mut any_null = false;
    for (part, term) in index.parts.iter().zip(&access.equal) {
        let value = run.evaluate(|cx| term.eval(row, cx))?;
        if value.is_null() && term.has_columns() {
            // What a join compares with NULL has no equal; `IS NULL` is a constant.
            return Ok(Keys::Nothing);
        }
        any_null |= value.is_null();
        *exact &= part.column_type.holds(&value);
        match fit(part, value, run) {
            Fit::Exact(value) if value.is_null() && !part.nullable => return Ok(Keys::Nothing),
            Fit::Exact(value) => {
                if key::encode(part, &value, &mut prefix).is_err() {
                    return Ok(Keys::Everything);
                }
            }
            Fit::Never => return Ok(Keys::Nothing),
            Fit::Unusable => return Ok(Keys::Everything),
        }
    }
    if access.is_point(table) && !any_null {
        return Ok(Keys::Points(vec![prefix]));
    }
    tail(access, index, prefix, any_null, row, run, exact)
}

fn tail(
    access: &Access,
    index: &Index,
    prefix: Vec<u8>,
    any_null: bool,
    row: &[Value],
    run: &mut Run<'_>,
    exact: &mut bool,
) -> Result<Keys, SqlError> {
    let Some(part) = index.parts.get(access.equal.len()) else {
        return Ok(Keys::Ranges(vec![prefix_range(&prefix)]));
    };
    let whole = index.is_unique() && !any_null && access.equal.len() + 1 == index.parts.len();
    let points = whole && index.parts.iter().all(|part| part.prefix.is_none());
    match &access.tail {
        Tail::Open => Ok(Keys::Ranges(vec![prefix_range(&prefix)])),
        Tail::In(list) => {
            run.statement.hold(list.len() * RANGE_BYTES)?;
            let values = list.iter().map(|term| run.evaluate(|cx| term.eval(row, cx)));
            let values = values.collect::<Result<Vec<Value>, SqlError>>()?;
            *exact &= values.iter().all(|value| part.column_type.holds(value));
            in_list(part, values, &prefix, points, run)
        }
        Tail::Query(query) => match subquery::values(query, MOST_OF_A_QUERY, run)? {
            Some(values) => {
                *exact = false;
                in_list(part, values, &prefix, points, run)
            }
            None => Ok(Keys::Everything),
        },
        Tail::Range(bounds) => {
            let range = range(part, bounds, &prefix, row, run, exact)?;
            Ok(range.map_or(Keys::Nothing, |range| Keys::Ranges(vec![range])))
        }
        Tail::Union(alternatives) => {
            run.statement.hold(alternatives.len() * RANGE_BYTES)?;
            let mut ranges = Vec::with_capacity(alternatives.len());
            for bounds in alternatives {
                ranges.extend(range(part, bounds, &prefix, row, run, exact)?);
            }
            Ok(apart(ranges))
        }
    }
}

/// The keys between bounds; `None` if there can be none.
fn range(
    part: &KeyPart,
    bounds: &Bounds,
    prefix: &[u8],
    row: &[Value],
    run: &mut Run<'_>,
    exact: &mut bool,
) -> Result<Option<KeyRange>, SqlError> {
    let mut range = prefix_range(prefix);
    let mut value = |bound: &Option<(Expr, bool)>| -> Result<Option<(Value, bool)>, SqlError> {
        let Some((term, included)) = bound else { return Ok(None) };
        Ok(Some((run.evaluate(|cx| term.eval(row, cx))?, *included)))
    };
    let (low, high) = (value(&bounds.low)?, value(&bounds.high)?);
    *exact &= [&low, &high].into_iter().flatten().all(|(value, _)| part.column_type.holds(value));
    // Between a string and a number, or a date, a string column is compared as what that is.
    let orders_as_strings = |bound: &Option<(Value, bool)>| match bound {
        Some((value, _)) => value.is_null() || value.is_string(),
        None => true,
    };
    if part.column_type.collation().is_some() && !(orders_as_strings(&low) && orders_as_strings(&high)) {
        return Ok(Some(range));
    }
    if part.nullable && (low.is_some() || high.is_some()) {
        // No comparison is true of NULL.
        range.lower = key::first_value(prefix);
    }
    if let Some((low, included)) = low {
        match bound(part, low, prefix, run) {
            Bound::Key(mut key) => {
                if !included && part.prefix.is_none() && !key::successor(&mut key) {
                    return Ok(None);
                }
                range.lower = key;
            }
            Bound::Null => return Ok(None),
            Bound::Open => {}
        }
    }
    if let Some((high, included)) = high {
        match bound(part, high, prefix, run) {
            Bound::Key(mut key) => {
                let up_to = included || part.prefix.is_some();
                if !up_to || key::successor(&mut key) {
                    range.upper = key;
                }
            }
            Bound::Null => return Ok(None),
            Bound::Open => {}
        }
    }
    Ok((range.lower < range.upper).then_some(range))
}

/// The ranges in key order, with those that overlap made one: no key is in two.
fn apart(mut ranges: Vec<KeyRange>) -> Keys {
    ranges.sort_unstable_by(|a, b| a.lower.cmp(&b.lower));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.lower <= last.upper => {
                if last.upper < range.upper {
                    last.upper = range.upper;
                }
            }
            _ => merged.push(range),
        }
    }
    if merged.is_empty() { Keys::Nothing } else { Keys::Ranges(merged) }
}

enum Bound {
    Key(Vec<u8>),
    /// A comparison with NULL is never true.
    Null,
    /// The bound cannot be used.
    Open,
}

fn bound(part: &KeyPart, value: Value, prefix: &[u8], run: &Run<'_>) -> Bound {
    if value.is_null() {
        return Bound::Null;
    }
    match fit(part, value, run) {
        Fit::Exact(value) => {
            let mut key = prefix.to_vec();
            match key::encode(part, &value, &mut key) {
                Ok(()) => Bound::Key(key),
                Err(_) => Bound::Open,
            }
        }
        Fit::Never | Fit::Unusable => Bound::Open,
    }
}

/// `points` says that a value makes the key of one row.
fn in_list(part: &KeyPart, list: Vec<Value>, prefix: &[u8], points: bool, run: &Run<'_>) -> Result<Keys, SqlError> {
    let mut found = Vec::with_capacity(list.len());
    for value in list {
        if value.is_null() {
            continue;
        }
        match fit(part, value, run) {
            Fit::Exact(value) => {
                let mut key = prefix.to_vec();
                if key::encode(part, &value, &mut key).is_err() {
                    return Ok(Keys::Everything);
                }
                found.push(key);
            }
            Fit::Never => {}
            Fit::Unusable => return Ok(Keys::Everything),
        }
    }
    if points {
        found.sort_unstable();
        found.dedup();
        return Ok(if found.is_empty() { Keys::Nothing } else { Keys::Points(found) });
    }
    Ok(apart(found.iter().map(|key| prefix_range(key)).collect()))
}

fn fit(part: &KeyPart, value: Value, run: &Run<'_>) -> Fit {
    if value.is_null() || part.column_type.holds(&value) {
        return Fit::Exact(value);
    }
    match (part.column_type.kind(), &value) {
        (Kind::Integer | Kind::Number, Value::Hex(bytes)) => fit(part, Value::UInt(hex_number(bytes)), run),
        (Kind::Integer, Value::Text(text)) => match text.parse::<i64>() {
            Ok(number) => fit(part, Value::Int(number), run),
            Err(_) => Fit::Unusable,
        },
        (kind @ (Kind::Integer | Kind::Number), number) if number.is_number() => {
            let Some(stored) = stored(part, value.clone(), run) else {
                let integers = kind == Kind::Integer && matches!(value, Value::Int(_) | Value::UInt(_));
                return if integers { Fit::Never } else { Fit::Unusable };
            };
            match compare_values(&stored, &value, Collation::Binary) {
                Some(Ordering::Equal) => Fit::Exact(stored),
                _ => Fit::Never,
            }
        }
        (Kind::Characters(_), Value::Text(_)) | (Kind::Bytes, Value::Text(_) | Value::Bytes(_) | Value::Hex(_)) => {
            string(part, value, run)
        }
        (Kind::Members(collation), _) => member(part, value, collation, run),
        (Kind::Date | Kind::Timestamp, Value::Text(_) | Value::Date(_) | Value::DateTime(_))
        | (Kind::Time, Value::Time(_)) => temporal(part, value, run),
        (
            Kind::Integer
            | Kind::Number
            | Kind::Characters(_)
            | Kind::Bytes
            | Kind::Date
            | Kind::Timestamp
            | Kind::Time
            | Kind::Json,
            _,
        ) => Fit::Unusable,
    }
}

/// A text or whole number is the value of the list that equals it. Other numbers are left to the comparison, and so is
/// the empty text where an element is empty: two values have it.
fn member(part: &KeyPart, value: Value, collation: Collation, run: &Run<'_>) -> Fit {
    let is_empty = match &value {
        Value::Int(int) => *int == 0,
        Value::UInt(int) => *int == 0,
        Value::Text(text) => {
            let is_empty = collation.equal(text.as_bytes(), b"");
            if is_empty && part.column_type.members().is_some_and(|members| members.texts().any(str::is_empty)) {
                return Fit::Unusable;
            }
            is_empty
        }
        _ => return Fit::Unusable,
    };
    if is_empty {
        return Fit::Exact(Value::Member(Arc::new(Member::none())));
    }
    let by_text = matches!(value, Value::Text(_));
    match stored(part, value.clone(), run) {
        // A text that is no element may be the number of one.
        Some(stored) if !by_text || compare_values(&stored, &value, collation) == Some(Ordering::Equal) => {
            Fit::Exact(stored)
        }
        _ => Fit::Never,
    }
}

/// A string longer than the column can be equal to nothing in it, but is still a bound. One that the column stores
/// with other blanks or zeros at its end may have a place of its own between the column's values.
fn string(part: &KeyPart, value: Value, run: &Run<'_>) -> Fit {
    let collation = part.column_type.collation().unwrap_or(Collation::Binary);
    match stored(part, value.clone(), run) {
        Some(stored) => match compare_values(&stored, &value, collation) {
            Some(Ordering::Equal) => Fit::Exact(stored),
            _ => Fit::Never,
        },
        None => Fit::Unusable,
    }
}

fn temporal(part: &KeyPart, value: Value, run: &Run<'_>) -> Fit {
    let column_type = match part.column_type.kind() {
        Kind::Time => TimeType { fsp: 6 }.into(),
        Kind::Timestamp => TimestampType { fsp: 6 }.into(),
        Kind::Date
        | Kind::Integer
        | Kind::Number
        | Kind::Characters(_)
        | Kind::Bytes
        | Kind::Members(_)
        | Kind::Json => DateTimeType { fsp: 6 }.into(),
    };
    let fine = KeyPart { column_type, ..part.clone() };
    let (Some(exact), Some(stored)) = (stored(&fine, value.clone(), run), stored(part, value, run)) else {
        return Fit::Unusable;
    };
    let same = match (&exact, &stored) {
        (Value::DateTime(exact), Value::Date(date)) => *exact == date.at_midnight(),
        (exact, stored) => exact == stored,
    };
    if same { Fit::Exact(stored) } else { Fit::Never }
}

/// The value as the column would store it, if it does without complaint.
fn stored(part: &KeyPart, value: Value, run: &Run<'_>) -> Option<Value> {
    let mut complained = false;
    let mut cx = StoreContext {
        column: "",
        row: 1,
        sql_mode: SqlMode::STRICT_ALL_TABLES,
        time_zone: run.statement.time_zone(),
        now_us: run.statement.now_us(),
        warnings: &mut |loss, _| complained |= loss == Loss::Warning,
    };
    let stored = part.column_type.store(value, &mut cx).ok()?;
    (!complained).then_some(stored)
}
