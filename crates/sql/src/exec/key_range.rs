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
use crate::collation::{self, Collation};
use crate::error::SqlError;
use crate::expr::{Expr, StatementContext, compare_values};
use crate::plan::access::{Access, Bounds, Seek, Tail};
use crate::types::Kind;
use crate::types::column_type::{DateTimeType, TimeType, TimestampType};
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
    let Some(index) = access.key(table) else {
        return Ok(Found { keys: Keys::Ranges(vec![prefix_range(&table.row_prefix())]), exact: true });
    };
    let whole = index.is_unique() && index.parts.iter().all(|part| part.prefix.is_none());
    let places = Places { points: Vec::new(), ranges: Vec::new(), everything: false };
    let mut finder = Finder { index, whole, row, run, places, exact: true };
    let mut prefix = Vec::with_capacity(32);
    prefix.extend_from_slice(&index.prefix());
    finder.seek(&access.seek, Place { prefix, columns: 0, any_null: false, may_widen: false })?;
    let Finder { places, exact, .. } = finder;
    Ok(Found { keys: places.keys(), exact })
}

/// Where a seek has come to.
#[derive(Clone)]
struct Place {
    /// The key so far.
    prefix: Vec<u8>,
    /// Of how many columns.
    columns: usize,
    any_null: bool,
    /// All that begins like this may be found instead.
    may_widen: bool,
}

/// What was found.
struct Places {
    points: Vec<Vec<u8>>,
    ranges: Vec<KeyRange>,
    everything: bool,
}

impl Places {
    fn keys(mut self) -> Keys {
        if self.everything {
            return Keys::Everything;
        }
        if self.ranges.is_empty() {
            self.points.sort_unstable();
            self.points.dedup();
            return if self.points.is_empty() { Keys::Nothing } else { Keys::Points(self.points) };
        }
        self.ranges.extend(self.points.iter().map(|key| prefix_range(key)));
        apart(self.ranges)
    }
}

struct Finder<'f, 'r> {
    index: &'f Index,
    /// All its columns make the key of one row, unless one is NULL.
    whole: bool,
    row: &'f [Value],
    run: &'f mut Run<'r>,
    places: Places,
    exact: bool,
}

impl<'f> Finder<'f, '_> {
    fn value(&mut self, term: &Expr) -> Result<Value, SqlError> {
        let row = self.row;
        self.run.evaluate(|cx| term.eval(row, cx))
    }

    /// A place at the end of a seek.
    fn found(&mut self, place: Place) {
        if self.whole && place.columns == self.index.parts.len() && !place.any_null {
            self.places.points.push(place.prefix);
        } else {
            self.places.ranges.push(prefix_range(&place.prefix));
        }
    }

    /// The place of a value is not known.
    fn unusable(&mut self, place: Place) {
        self.exact = false;
        match place.may_widen {
            true => self.places.ranges.push(prefix_range(&place.prefix)),
            false => self.places.everything = true,
        }
    }

    fn seek(&mut self, seek: &Seek, mut place: Place) -> Result<(), SqlError> {
        let index = self.index;
        for term in &seek.equal {
            let Some(part) = index.parts.get(place.columns) else {
                return Err(SqlError::internal("a seek has more columns than its index"));
            };
            let value = self.value(term)?;
            if value.is_null() && term.has_columns() {
                // What a join compares with NULL has no equal; `IS NULL` is a constant.
                return Ok(());
            }
            match self.step(part, value, &mut place) {
                Step::Taken => {}
                Step::Never => return Ok(()),
                Step::Unusable => {
                    self.unusable(place);
                    return Ok(());
                }
            }
        }
        self.tail(&seek.tail, place)
    }

    /// Goes on to where a column has a value.
    fn step(&mut self, part: &KeyPart, value: Value, place: &mut Place) -> Step {
        self.exact &= part.column_type.holds(&value);
        match fit(part, value, self.run) {
            Fit::Exact(value) if value.is_null() && !part.nullable => Step::Never,
            Fit::Exact(value) => {
                let length = place.prefix.len();
                if key::encode(part, &value, &mut place.prefix).is_err() {
                    place.prefix.truncate(length);
                    return Step::Unusable;
                }
                place.columns += 1;
                place.any_null |= value.is_null();
                Step::Taken
            }
            Fit::Never => Step::Never,
            Fit::Unusable => Step::Unusable,
        }
    }

    fn tail(&mut self, tail: &Tail, place: Place) -> Result<(), SqlError> {
        // A path of values alone was perhaps planned as one that finds a single row.
        let place = Place { may_widen: place.columns > 0, ..place };
        let Some(part) = self.index.parts.get(place.columns) else {
            self.found(place);
            return Ok(());
        };
        match tail {
            Tail::Open => self.found(place),
            Tail::In(list, then) => {
                self.run.statement.hold(list.len() * RANGE_BYTES)?;
                let values = list.iter().map(|term| self.value(term)).collect::<Result<Vec<Value>, SqlError>>()?;
                self.in_list(part, values, then, &place)?;
            }
            Tail::Query(query) => match subquery::values(query, MOST_OF_A_QUERY, self.run)? {
                Some(values) => {
                    self.exact = false;
                    self.in_list(part, values, &Seek::NOTHING, &place)?;
                }
                None => self.unusable(place),
            },
            Tail::Range(bounds) => {
                let range = range(part, bounds, &place.prefix, self.row, self.run, &mut self.exact)?;
                self.places.ranges.extend(range);
            }
            Tail::Like(pattern, escape) => self.like(part, pattern, *escape, place)?,
            Tail::Union(alternatives) => {
                self.run.statement.hold(alternatives.len() * RANGE_BYTES)?;
                for seek in alternatives {
                    self.run.step()?;
                    self.seek(seek, place.clone())?;
                }
            }
        }
        Ok(())
    }

    /// The keys that begin with what a pattern begins with.
    fn like(&mut self, part: &KeyPart, pattern: &Expr, escape: Option<char>, place: Place) -> Result<(), SqlError> {
        self.exact = false;
        let collation = part.column_type.collation().unwrap_or(Collation::Binary);
        let pattern = match self.value(pattern)? {
            Value::Null => return Ok(()),
            Value::Text(text) => text.as_bytes().to_vec(),
            Value::Bytes(bytes) | Value::Hex(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        };
        let most = part.prefix.map_or(usize::MAX, usize::from);
        let beginning = collation::beginning(collation, &pattern, escape, most);
        let mut key = place.prefix.clone();
        key.extend(part.nullable.then_some(1));
        let least = key.len();
        if collation.write_key_of_beginning(&beginning, &mut key) && key.len() > least {
            self.places.ranges.push(prefix_range(&key));
            return Ok(());
        }
        self.unusable(place);
        Ok(())
    }

    fn in_list(&mut self, part: &KeyPart, list: Vec<Value>, then: &Seek, place: &Place) -> Result<(), SqlError> {
        for value in list.into_iter().filter(|value| !value.is_null()) {
            self.run.step()?;
            let mut next = place.clone();
            match self.step(part, value, &mut next) {
                Step::Taken => self.seek(then, Place { may_widen: true, ..next })?,
                Step::Never => {}
                Step::Unusable => self.unusable(next),
            }
        }
        Ok(())
    }
}

enum Step {
    Taken,
    /// No row has it.
    Never,
    Unusable,
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
    if ranges.len() == 1 {
        return Keys::Ranges(ranges);
    }
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
    part.column_type.store_quietly(value, run.statement.time_zone(), run.statement.now_us())
}
