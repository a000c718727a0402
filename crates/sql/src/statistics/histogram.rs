//! How the values of a column are spread over its rows, as ANALYZE TABLE ... UPDATE HISTOGRAM has seen them.
//!
//! A histogram is made of a [`Sample`] of rows. If that has no more values than buckets are asked for, each has a bucket of
//! its own: the histogram is a singleton one. Else a bucket is a range of values, and all have about as many rows
//! (equi-height); a value that more rows have is alone in its bucket.
//!
//! Of strings the first [`COMPARED`] characters count, as in MySQL.
//!
//! Invariants
//! 1. Buckets are in the order of the column's keys, and no value is in two.
//! 2. A histogram speaks of columns of the type that it was made for, and of no others ([`Histogram::is_of`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::catalog::definition::{IndexDef, IndexKind, TableDef};
use crate::collation::Collation;
use crate::expr::{CompareOp, order_values};
use crate::types::column_type::TimeType;
use crate::types::json::{Json, Object};
use crate::types::temporal::{TimeZone, Timestamp};
use crate::types::{ColumnType, FieldType, Kind};
use crate::value::{Value, first_chars};

/// Characters of a string, or bytes of a binary one, that count.
pub(super) const COMPARED: u16 = 42;
/// The least share of rows that a condition is thought to keep, as in MySQL: the sample may have missed values, and others
/// may have come since.
const LEAST: f64 = 0.001;

/// The histograms of a table, by the names of their columns.
pub(crate) type Histograms = BTreeMap<String, Histogram>;

/// The values of a column in some rows of its table.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// By their keys: each value, and how many rows have it.
    pub(super) values: BTreeMap<Vec<u8>, (Value, u64)>,
    pub(super) nulls: u64,
    /// How many rows were looked at, and how many the table had.
    pub(super) rows: u64,
    pub(super) of_rows: u64,
}

impl Sample {
    /// How many values the column is thought to have in all rows.
    pub(super) fn distinct(&self) -> u64 {
        distinct(self.values.values().map(|(_, rows)| *rows), self.stands_for()).round() as u64
    }

    /// For how many values one stands that a single row of the sample has.
    fn stands_for(&self) -> f64 {
        (self.of_rows as f64 / self.rows.max(1) as f64).max(1.0).sqrt()
    }
}

/// How many values there are where so many rows of a sample have each of its own: one that a single row has may stand for
/// several that the sample lacks (GEE, Charikar et al. 2000).
fn distinct(values: impl Iterator<Item = u64>, stands_for: f64) -> f64 {
    values.map(|rows| if rows == 1 { stands_for } else { 1.0 }).sum()
}

/// A histogram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Histogram {
    column_type: ColumnType,
    singleton: bool,
    buckets: Vec<Bucket>,
    nulls: u64,
    /// As in [`Sample`].
    rows: u64,
    of_rows: u64,
    /// The most buckets that were asked for.
    most: u16,
    /// When it was made, microseconds since 1970 UTC.
    at_us: i64,
}

/// Values next to each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Bucket {
    /// Its least value, and its greatest.
    low: Value,
    high: Value,
    /// Rows of the sample.
    rows: u64,
    /// How many values it is thought to have.
    distinct: u64,
}

/// Why a column can have no histogram, as ANALYZE TABLE says it.
pub(crate) fn refusal(def: &TableDef, column: usize) -> Option<&'static str> {
    let is_own_key = |index: &IndexDef| {
        index.kind != IndexKind::Secondary && matches!(index.columns.as_slice(), [only] if only.column == column)
    };
    match def.columns[column].column_type.kind() {
        Kind::Json => Some("has an unsupported data type"),
        _ if def.indexes.iter().any(is_own_key) => Some("is covered by a single-part unique index"),
        _ => None,
    }
}

/// What is left of the histograms of `old` when its columns become those of `new`, each of which had the place in `sources`.
pub(crate) fn carried(
    histograms: &Histograms,
    old: &TableDef,
    new: &TableDef,
    sources: &[Option<usize>],
) -> Histograms {
    let of_column = |(at, source): (usize, &Option<usize>)| {
        let (column, histogram) = (&new.columns[at], histograms.get(&old.columns[(*source)?].name)?);
        let stays = histogram.is_of(&column.column_type) && refusal(new, at).is_none();
        stays.then(|| (column.name.clone(), histogram.clone()))
    };
    sources.iter().enumerate().filter_map(of_column).collect()
}

impl Histogram {
    /// Of a column of this type, with at most so many buckets.
    pub(crate) fn of(column_type: ColumnType, sample: Sample, most: u16, at_us: i64) -> Histogram {
        let stands_for = sample.stands_for();
        let Sample { values, nulls, rows, of_rows } = sample;
        let counted: Vec<(Value, u64)> = values.into_values().collect();
        let singleton = counted.len() <= usize::from(most);
        let full = if singleton { 0 } else { least_full(&counted, most.into()) };
        let bucket = |values: &[(Value, u64)]| {
            let guess = distinct(values.iter().map(|(_, rows)| *rows), stands_for);
            Bucket {
                low: values[0].0.clone(),
                high: values[values.len() - 1].0.clone(),
                rows: values.iter().map(|(_, rows)| rows).sum(),
                distinct: if values.len() == 1 { 1 } else { guess.round() as u64 },
            }
        };
        let buckets = packed(&counted, full).map(bucket).collect();
        Histogram { column_type, singleton, buckets, nulls, rows, of_rows, most, at_us }
    }

    /// Whether it speaks of a column of this type.
    pub(crate) fn is_of(&self, column_type: &ColumnType) -> bool {
        self.column_type == *column_type
    }

    /// Whether it was made of no rows, and so says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    fn share_of(&self, rows: f64) -> f64 {
        rows / self.rows.max(1) as f64
    }

    /// How many values the column has.
    pub(crate) fn distinct(&self) -> f64 {
        self.buckets.iter().map(|bucket| bucket.distinct).sum::<u64>().max(1) as f64
    }

    /// The share of rows that are NULL.
    pub(crate) fn nulls(&self) -> f64 {
        self.share_of(self.nulls as f64).clamp(LEAST, 1.0)
    }

    /// The share of rows that are not NULL.
    pub(crate) fn present(&self) -> f64 {
        1.0 - self.share_of(self.nulls as f64)
    }

    /// The share of rows that compare so with a value, under this collation; `None` if that does not follow the order of
    /// buckets.
    pub(crate) fn share(&self, op: CompareOp, value: &Value, collation: Collation) -> Option<f64> {
        let value = self.comparable(value, collation)?;
        let ordered = !matches!(self.column_type.kind(), Kind::Members(_));
        let share = match op {
            CompareOp::Equal | CompareOp::NullSafeEqual => self.equal(&value),
            CompareOp::NotEqual => self.present() - self.equal(&value),
            _ if !ordered => return None,
            CompareOp::Less => self.less(&value),
            CompareOp::LessOrEqual => self.less(&value) + self.equal(&value),
            CompareOp::Greater => self.present() - self.less(&value) - self.equal(&value),
            CompareOp::GreaterOrEqual => self.present() - self.less(&value),
        };
        Some(share.clamp(LEAST, 1.0))
    }

    /// The share of rows from `low` to `high`, both included; as [`Histogram::share`].
    pub(crate) fn between(&self, low: &Value, high: &Value, collation: Collation) -> Option<f64> {
        if matches!(self.column_type.kind(), Kind::Members(_)) {
            return None;
        }
        let (low, high) = (self.comparable(low, collation)?, self.comparable(high, collation)?);
        Some((self.less(&high) + self.equal(&high) - self.less(&low)).clamp(LEAST, 1.0))
    }

    /// A value as those of the buckets compare with it.
    fn comparable(&self, value: &Value, collation: Collation) -> Option<Value> {
        match (self.column_type.kind(), value) {
            (Kind::Integer | Kind::Number, value) if value.is_number() => Some(value.clone()),
            (Kind::Characters(own), Value::Text(_)) if own == collation => Some(shortened(value.clone())),
            (Kind::Bytes, value) if value.is_string() => Some(shortened(value.clone())),
            (Kind::Members(own), Value::Text(_)) if own == collation => {
                self.column_type.store_quietly(value.clone(), TimeZone::UTC, 0)
            }
            (Kind::Members(_), Value::Int(_) | Value::UInt(_)) => {
                self.column_type.store_quietly(value.clone(), TimeZone::UTC, 0)
            }
            (Kind::Date, Value::Date(_) | Value::DateTime(_)) => Some(value.clone()),
            // In whose time zone the plan will run is not known.
            (Kind::Timestamp, Value::Date(date)) => {
                date.at_midnight().to_timestamp(TimeZone::UTC).map(Value::Timestamp)
            }
            (Kind::Timestamp, Value::DateTime(moment)) => moment.to_timestamp(TimeZone::UTC).map(Value::Timestamp),
            (Kind::Time, Value::Time(_)) => Some(value.clone()),
            (Kind::Time, Value::Text(_)) => {
                ColumnType::from(TimeType { fsp: 6 }).store_quietly(value.clone(), TimeZone::UTC, 0)
            }
            _ => None,
        }
    }

    fn order(&self, a: &Value, b: &Value) -> std::cmp::Ordering {
        order_values(a, b, self.column_type.collation().unwrap_or(Collation::Binary))
    }

    fn equal(&self, value: &Value) -> f64 {
        let at = self.buckets.partition_point(|bucket| self.order(&bucket.high, value).is_lt());
        match self.buckets.get(at) {
            Some(bucket) if self.order(&bucket.low, value).is_le() => {
                self.share_of(bucket.rows as f64 / bucket.distinct.max(1) as f64)
            }
            _ => 0.0,
        }
    }

    fn less(&self, value: &Value) -> f64 {
        let at = self.buckets.partition_point(|bucket| self.order(&bucket.high, value).is_lt());
        let before: u64 = self.buckets[..at].iter().map(|bucket| bucket.rows).sum();
        let within = match self.buckets.get(at) {
            Some(bucket) if self.order(&bucket.low, value).is_lt() => bucket.rows as f64 * bucket.part_before(value),
            _ => 0.0,
        };
        self.share_of(before as f64 + within)
    }

    /// As INFORMATION_SCHEMA.COLUMN_STATISTICS has it.
    pub(crate) fn to_json(&self) -> Json {
        let mut seen = 0;
        let bucket = |bucket: &Bucket| {
            seen += bucket.rows;
            let upto = Json::Double(self.share_of(seen as f64));
            let (low, high) = (json_of(&bucket.low), json_of(&bucket.high));
            Json::Array(match self.singleton {
                true => vec![high, upto],
                false => vec![low, high, upto, Json::UInt(bucket.distinct)],
            })
        };
        let buckets = self.buckets.iter().map(bucket).collect();
        let made = Timestamp { micros: self.at_us, fsp: 6 }.to_datetime(TimeZone::UTC);
        let form = if self.singleton { "singleton" } else { "equi-height" };
        let sampled = if self.of_rows == 0 { 1.0 } else { (self.rows as f64 / self.of_rows as f64).min(1.0) };
        let members = [
            ("buckets", Json::Array(buckets)),
            ("data-type", Json::Text(data_type(&self.column_type).into())),
            ("null-values", Json::Double(self.share_of(self.nulls as f64))),
            ("collation-id", Json::Int(collation_id(&self.column_type))),
            ("last-updated", Json::DateTime(made)),
            ("sampling-rate", Json::Double(sampled)),
            ("histogram-type", Json::Text(form.into())),
            ("number-of-buckets-specified", Json::Int(self.most.into())),
        ];
        Json::Object(Object::of(members.map(|(name, value)| (Arc::from(name), value))))
    }
}

impl Bucket {
    /// About what part of its rows is less than a value between its bounds.
    fn part_before(&self, value: &Value) -> f64 {
        let [low, high, value] = [&self.low, &self.high, value].map(position);
        match (low, high, value) {
            (Some(low), Some(high), Some(value)) if high > low => ((value - low) / (high - low)).clamp(0.0, 1.0),
            _ => 0.5,
        }
    }
}

/// Where a value lies on a line; `None` for strings.
fn position(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Int(int) => *int as f64,
        Value::UInt(int) => *int as f64,
        Value::Float(float) => f64::from(*float),
        Value::Double(double) => *double,
        Value::Decimal(decimal) => decimal.to_f64(),
        Value::Date(date) => date.at_midnight().packed() as f64,
        Value::DateTime(moment) => moment.packed() as f64,
        Value::Timestamp(moment) => moment.micros as f64,
        Value::Time(time) => time.micros as f64,
        Value::Null | Value::Text(_) | Value::Bytes(_) | Value::Hex(_) | Value::Member(_) | Value::Json(_) => {
            return None;
        }
    })
}

/// The values in buckets that have at most so many rows, but for those of one value.
fn packed(counted: &[(Value, u64)], full: u64) -> impl Iterator<Item = &[(Value, u64)]> {
    let mut rows = 0;
    counted.chunk_by(move |(_, last), (_, next)| {
        rows += last;
        let fits = rows + next <= full;
        if !fits {
            rows = 0;
        }
        fits
    })
}

/// The least that buckets may have, rows, where there are to be at most so many.
fn least_full(counted: &[(Value, u64)], most: usize) -> u64 {
    let (mut too_little, mut enough) = (0, counted.iter().map(|(_, rows)| rows).sum());
    while enough - too_little > 1 {
        let middle = too_little + (enough - too_little) / 2;
        if packed(counted, middle).count() <= most {
            enough = middle;
        } else {
            too_little = middle;
        }
    }
    enough
}

/// What counts of a value.
pub(super) fn shortened(value: Value) -> Value {
    let most = usize::from(COMPARED);
    match &value {
        Value::Text(text) => match first_chars(text, most) {
            short if short.len() < text.len() => Value::text(short),
            _ => value,
        },
        Value::Bytes(bytes) if bytes.len() > most => Value::bytes(&bytes[..most]),
        _ => value,
    }
}

/// A bound as MySQL's documents have it: strings in the form of bytes, ENUM and SET by their numbers.
fn json_of(value: &Value) -> Json {
    match value {
        Value::Text(text) => Json::Opaque(FieldType::String, text.as_bytes().into()),
        Value::Bytes(bytes) | Value::Hex(bytes) => Json::Opaque(FieldType::String, bytes.clone()),
        Value::Member(member) => Json::UInt(member.number),
        other => Json::of_value(other),
    }
}

fn data_type(column_type: &ColumnType) -> &'static str {
    match (column_type.kind(), column_type.facts().data_type) {
        (Kind::Integer, "bigint") if column_type.facts().unsigned => "uint",
        (Kind::Integer, _) | (Kind::Number, "year") => "int",
        (Kind::Number, "decimal") => "decimal",
        (Kind::Number, _) => "double",
        (Kind::Members(_), name) => name,
        (Kind::Date, "date") => "date",
        (Kind::Date | Kind::Timestamp, _) => "datetime",
        (Kind::Time, _) => "time",
        (Kind::Characters(_) | Kind::Bytes | Kind::Json, _) => "string",
    }
}

/// That of the character set which MySQL gives the column: numbers and times have one too.
fn collation_id(column_type: &ColumnType) -> i64 {
    const OF_NUMBERS: i64 = 8;
    match (column_type.collation(), column_type.facts().data_type) {
        (Some(collation), _) => collation.id().into(),
        (None, "bit") => Collation::Binary.id().into(),
        (None, _) => OF_NUMBERS,
    }
}

#[cfg(test)]
mod tests;
