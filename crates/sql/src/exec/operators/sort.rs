//! Takes all rows in before it gives the first: to sort them, or because they are to be changed where they are found.
//!
//! Strings are sorted by the bytes of their collation, which are made once a row, or by the first of these where they are
//! cheap and the strings themselves where those are the same. Rows with equal keys stay in the
//! order they come in. Beyond `sort_buffer_size` they are sorted in files ([`crate::spill`]). Below a LIMIT the rows that
//! cannot be among the first are let go at once, and so are, if the keys are all that DISTINCT compares, rows whose keys
//! were there.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Found, Operator, Row, read_columns};
use crate::collation::{Collation, KEY_START};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::order_values;
use crate::memory::{key_bytes, row_bytes, value_bytes};
use crate::plan::node::{self, Kept};
use crate::plan::query::SortKey;
use crate::spill::{Budget, Record, Sorted, Sorter, read_bytes, write_bytes, write_row};
use crate::value::Value;

/// Sorts by `keys`; without keys rows stay as they come.
pub(super) struct Sort<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [SortKey],
    kept: &'p Kept,
    /// Of rows with equal keys the first is wanted alone.
    unique: bool,
    /// No more rows are asked for.
    most: u64,
    /// The rows that are left to give, once all are taken in.
    sorted: Option<Sorted<SortedRow>>,
}

/// A row that is to be sorted.
pub(super) struct SortedRow {
    start: KeyStart,
    pub(super) keys: Vec<SortValue>,
    pub(super) rest: Rest,
}

/// What tells most rows apart at once: the start of the first key, and the rest of that or the start of the second. Rows
/// whose keys are equal have the same; the one that comes first has none that is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KeyStart([u64; 2]);

/// What [`Kept`] says.
pub(super) enum Rest {
    Values(Vec<Value>),
    Found(Box<Found>),
}

/// A value to sort by.
pub(super) enum SortValue {
    Plain(Value),
    /// A string, with the start of its key.
    Text([u8; KEY_START], Arc<str>),
    /// The key of a string.
    Bytes(Vec<u8>),
}

impl Rest {
    /// The values, of a row that was kept as such.
    pub(super) fn into_values(self) -> Result<Vec<Value>, SqlError> {
        match self {
            Rest::Values(values) => Ok(values),
            Rest::Found(_) => Err(SqlError::internal("a kept row has the form of another plan")),
        }
    }
}

impl<'p> Sort<'p> {
    /// Of the rows no more than `most` are asked for.
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p node::Sort, most: u64) -> Sort<'p> {
        Sort { input, keys: &plan.keys, kept: &plan.kept, unique: plan.unique, most, sorted: None }
    }

    /// The rows as they come, once all are taken in.
    pub(super) fn collecting(input: Box<dyn Operator + 'p>, kept: &'p Kept) -> Sort<'p> {
        Sort { input, keys: &[], kept, unique: false, most: u64::MAX, sorted: None }
    }

    fn take_in(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Sorted<SortedRow>, SqlError> {
        let compare = |a: &SortedRow, b: &SortedRow| compare_rows(self.keys, a, b);
        let mut sorter = Sorter::of_first(self.most, Budget::of(run.session.sort_buffer_size));
        if self.unique {
            sorter = sorter.unique();
        }
        while self.input.next(run, row)? {
            run.step()?;
            let keys = sort_values(self.keys, &row.values, run)?;
            let mut found = SortedRow::new(self.keys, keys, Rest::Values(Vec::new()));
            if sorter.last_wanted().is_some_and(|last| compare(&found, last).is_ge()) {
                continue;
            }
            found.rest = match self.kept {
                Kept::Slots(slots) => {
                    let mut values = row.values[slots.clone()].to_vec();
                    if self.unique {
                        // As DISTINCT does.
                        values.iter_mut().for_each(Value::settle);
                    }
                    Rest::Values(values)
                }
                Kept::Stored { .. } => Rest::Found(Box::new(std::mem::take(&mut row.found))),
            };
            sorter.push(found, &compare, run.session)?;
        }
        sorter.sorted(&compare, run.session)
    }
}

impl Operator for Sort<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let sorted = match &mut self.sorted {
            Some(sorted) => sorted,
            None => {
                let sorted = self.take_in(run, row)?;
                self.sorted.insert(sorted)
            }
        };
        let compare = |a: &SortedRow, b: &SortedRow| compare_rows(self.keys, a, b);
        let Some(SortedRow { rest, .. }) = sorted.next(&compare, run.session)? else { return Ok(false) };
        run.step()?;
        match (self.kept, rest) {
            (Kept::Slots(slots), Rest::Values(values)) => {
                row.values[slots.clone()].iter_mut().zip(values).for_each(|(slot, value)| *slot = value);
            }
            (Kept::Stored { table, first_slot, wanted }, Rest::Found(found)) => {
                read_columns(table, &found.stored, wanted, run, &mut row.values[*first_slot..])?;
                row.found = *found;
            }
            _ => return Err(SqlError::internal("a kept row has the form of another plan")),
        }
        Ok(true)
    }
}

impl SortedRow {
    pub(super) fn new(sort: &[SortKey], keys: Vec<SortValue>, rest: Rest) -> SortedRow {
        SortedRow { start: KeyStart::of(sort, &keys), keys, rest }
    }
}

/// Compares two rows that are sorted by `sort`.
pub(super) fn compare_rows(sort: &[SortKey], a: &SortedRow, b: &SortedRow) -> Ordering {
    a.start.cmp(&b.start).then_with(|| compare_keys(sort, &a.keys, &b.keys))
}

impl KeyStart {
    fn of(sort: &[SortKey], keys: &[SortValue]) -> KeyStart {
        let mut parts = sort.iter().zip(keys).map(|(sort, key)| {
            let (start, then) = start_of(key, sort);
            let turn = if sort.descending { u64::MAX } else { 0 };
            (start ^ turn, then.map(|then| then ^ turn))
        });
        let Some((first, then)) = parts.next() else { return KeyStart([0; 2]) };
        // What comes after the start of a key that goes on is not known by the next key.
        KeyStart([first, then.or_else(|| parts.next().map(|(second, _)| second)).unwrap_or_default()])
    }
}

/// The start of a key, and what comes next; `None` if that is the next key: all that have this start are equal.
fn start_of(key: &SortValue, sort: &SortKey) -> (u64, Option<u64>) {
    const UNKNOWN: (u64, Option<u64>) = (0, Some(0));
    let of_bytes = |bytes: &[u8]| {
        let mut start = [0; KEY_START];
        let len = bytes.len().min(KEY_START);
        start[..len].copy_from_slice(&bytes[..len]);
        let start = u128::from_be_bytes(start);
        ((start >> 64) as u64, Some(start as u64))
    };
    // Even starts are of one number alone.
    let of_number = |number: i128| {
        const LEAST: i128 = -(1 << 61);
        const MOST: i128 = 1 << 61;
        match number {
            ..LEAST => (1, Some(0)),
            LEAST..MOST => (2 * (number - LEAST + 1) as u64, None),
            _ => (u64::MAX, Some(0)),
        }
    };
    let of_double = |double: f64| {
        // 0 and -0 are equal.
        let bits = if double == 0.0 { 0 } else { double.to_bits() };
        (if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }, None)
    };
    match key {
        SortValue::Text(start, _) => of_bytes(start),
        SortValue::Bytes(bytes) => of_bytes(bytes),
        SortValue::Plain(value) => match value {
            Value::Int(int) => of_number((*int).into()),
            Value::UInt(int) => of_number((*int).into()),
            Value::Member(member) => of_number(member.number.into()),
            Value::Date(date) => of_number(date.at_midnight().packed().into()),
            Value::DateTime(value) => of_number(value.packed().into()),
            Value::Timestamp(value) => of_number(value.micros.into()),
            Value::Time(value) => of_number(value.micros.into()),
            Value::Double(double) => of_double(*double),
            Value::Float(float) => of_double((*float).into()),
            Value::Decimal(decimal) => {
                let whole = decimal.as_shown().floor().to_i128().0;
                (of_number(whole).0, Some(0))
            }
            Value::Bytes(bytes) if sort.collation == Collation::Binary => of_bytes(bytes),
            // NULL is before all, and may share the start of an empty string.
            Value::Null | Value::Bytes(_) | Value::Text(_) | Value::Hex(_) | Value::Json(_) => UNKNOWN,
        },
    }
}

impl Record for SortedRow {
    fn held_bytes(&self) -> usize {
        let keys = self.keys.iter().map(|key| match key {
            SortValue::Plain(value) => value_bytes(value),
            SortValue::Text(_, text) => size_of::<SortValue>() + text.len(),
            SortValue::Bytes(bytes) => key_bytes(bytes),
        });
        let rest = match &self.rest {
            Rest::Values(values) => row_bytes(values),
            Rest::Found(found) => key_bytes(&found.key) + key_bytes(&found.stored),
        };
        size_of::<KeyStart>() + keys.sum::<usize>() + rest
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.start.0.iter().for_each(|part| out.extend_from_slice(&part.to_le_bytes()));
        out.extend_from_slice(&(self.keys.len() as u32).to_le_bytes());
        for key in &self.keys {
            match key {
                SortValue::Plain(value) => {
                    out.push(0);
                    value.write_spilled(out);
                }
                SortValue::Text(start, text) => {
                    out.push(2);
                    out.extend_from_slice(start);
                    write_bytes(text.as_bytes(), out);
                }
                SortValue::Bytes(bytes) => {
                    out.push(1);
                    write_bytes(bytes, out);
                }
            }
        }
        match &self.rest {
            Rest::Values(values) => {
                out.push(0);
                write_row(values, out);
            }
            Rest::Found(found) => {
                out.push(1);
                write_bytes(&found.key, out);
                out.extend_from_slice(&found.stored);
            }
        }
    }

    fn read(bytes: &[u8]) -> Option<SortedRow> {
        let (first, bytes) = bytes.split_first_chunk()?;
        let (second, bytes) = bytes.split_first_chunk()?;
        let start = KeyStart([first, second].map(|part| u64::from_le_bytes(*part)));
        let (count, mut bytes) = bytes.split_first_chunk()?;
        let mut keys = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            keys.push(match bytes.split_off_first()? {
                0 => SortValue::Plain(Value::read_spilled(&mut bytes)?),
                2 => {
                    let (start, rest) = bytes.split_first_chunk()?;
                    bytes = rest;
                    SortValue::Text(*start, str::from_utf8(read_bytes(&mut bytes)?).ok()?.into())
                }
                _ => SortValue::Bytes(read_bytes(&mut bytes)?.to_vec()),
            });
        }
        let rest = match bytes.split_off_first()? {
            0 => {
                let mut values = Vec::new();
                while !bytes.is_empty() {
                    values.push(Value::read_spilled(&mut bytes)?);
                }
                Rest::Values(values)
            }
            _ => {
                let key = read_bytes(&mut bytes)?.to_vec();
                Rest::Found(Box::new(Found { key, stored: bytes.to_vec() }))
            }
        };
        Some(SortedRow { start, keys, rest })
    }
}

/// What a row is sorted by.
pub(super) fn sort_values(sort: &[SortKey], row: &[Value], run: &mut Run<'_>) -> Result<Vec<SortValue>, SqlError> {
    let mut values = Vec::with_capacity(sort.len());
    for key in sort {
        values.push(sort_value(run.evaluate(|cx| key.expr.eval(row, cx))?, key));
    }
    Ok(values)
}

fn sort_value(value: Value, key: &SortKey) -> SortValue {
    match value {
        Value::Text(text) => match key.collation.key_start(text.as_bytes()) {
            Some(start) => SortValue::Text(start, text),
            None => SortValue::Bytes(key_of(&text, key)),
        },
        _ => SortValue::Plain(value),
    }
}

fn key_of(text: &str, key: &SortKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.collation.write_key(text.as_bytes(), &mut bytes);
    bytes
}

/// Compares two rows by their sort keys.
pub(super) fn compare_keys(sort: &[SortKey], a: &[SortValue], b: &[SortValue]) -> Ordering {
    for ((key, a), b) in sort.iter().zip(a).zip(b) {
        let order = match (a, b) {
            (SortValue::Plain(a), SortValue::Plain(b)) => order_values(a, b, key.collation),
            (SortValue::Text(start_a, a), SortValue::Text(start_b, b)) => {
                start_a.cmp(start_b).then_with(|| key.collation.compare(a.as_bytes(), b.as_bytes()))
            }
            (SortValue::Bytes(a), SortValue::Bytes(b)) => a.cmp(b),
            (SortValue::Text(_, a), SortValue::Bytes(b)) => key_of(a, key).cmp(b),
            (SortValue::Bytes(a), SortValue::Text(_, b)) => a.cmp(&key_of(b, key)),
            // NULL comes before any string.
            (SortValue::Plain(_), _) => Ordering::Less,
            (_, SortValue::Plain(_)) => Ordering::Greater,
        };
        let order = if key.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::types::decimal::Decimal;
    use crate::types::temporal::{Date, DateTime, Time, Timestamp};

    fn key(collation: Collation, descending: bool) -> SortKey {
        SortKey { expr: Expr::Literal(Value::Null), descending, collation }
    }

    /// Values of one kind each, as those of one expression are.
    fn kinds() -> Vec<(Collation, Vec<Value>)> {
        let general = Collation::Utf8mb4GeneralCi;
        let dates = [(0, 0, 0), (1000, 1, 1), (2020, 2, 29), (2519, 12, 31), (2600, 1, 1), (9999, 12, 31)]
            .map(|(year, month, day)| Date { year, month, day });
        let texts =
            ["", " ", "a", "A", "a ", "ab", "B", "é", "zebra", "\u{0}", "a sentence with blanks", "a sentence without"];
        let mut texts: Vec<Value> = texts.map(Value::text).into();
        texts.extend(
            ["ThisIsALongWordOfLetters", "thisisalongwordofletterS", "ThisIsALongWordOfLettres"].map(Value::text),
        );
        let integers = [i64::MIN, -(1 << 61) - 1, -(1 << 61), -1, 0, 1, 7, 1 << 61, (1 << 61) + 1, i64::MAX];
        let doubles = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, f64::MIN_POSITIVE, 0.5, 1e300];
        let decimals = ["-1000.5", "-0.5", "0", "0.00", "0.5", "0.50", "0.51", "99999999999999999999999999.9"];
        let bytes = [&b""[..], b"\0", b"a", b"a\0", b"\xff", b"12345678", b"123456789", b"1234567890123456789"];
        vec![
            (general, integers.map(Value::Int).into_iter().chain([Value::UInt(7), Value::UInt(u64::MAX)]).collect()),
            (general, doubles.map(Value::Double).into()),
            (general, decimals.map(|text| Value::Decimal(Decimal::parse(text).expect("a decimal"))).into()),
            (
                general,
                dates
                    .map(Value::Date)
                    .into_iter()
                    .chain(dates.map(|date| Value::DateTime(DateTime::new(date, 5, 6))))
                    .collect(),
            ),
            (general, [-5, 0, 5].map(|micros| Value::Time(Time { micros, fsp: 6 })).into()),
            (general, [0, 5].map(|micros| Value::Timestamp(Timestamp { micros, fsp: 6 })).into()),
            (general, texts.clone()),
            (Collation::DEFAULT, texts.clone()),
            (Collation::Utf8mb4Bin, texts),
            (Collation::Binary, bytes.map(Value::bytes).into()),
        ]
    }

    #[test]
    fn starts_tell_rows_apart_as_their_keys_do() {
        for (first, firsts) in kinds() {
            for (second, seconds) in kinds() {
                for turns in [[false, false], [false, true], [true, false], [true, true]] {
                    let sort = [key(first, turns[0]), key(second, turns[1])];
                    let rows: Vec<SortedRow> = firsts
                        .iter()
                        .chain([&Value::Null])
                        .flat_map(|a| seconds.iter().step_by(3).chain([&Value::Null]).map(move |b| [a, b]))
                        .map(|values| {
                            let keys = values.into_iter().zip(&sort).map(|(value, key)| sort_value(value.clone(), key));
                            SortedRow::new(&sort, keys.collect(), Rest::Values(Vec::new()))
                        })
                        .collect();
                    for a in &rows {
                        for b in &rows {
                            let order = compare_keys(&sort, &a.keys, &b.keys);
                            assert_eq!(compare_rows(&sort, a, b), order);
                        }
                    }
                }
            }
        }
    }
}
