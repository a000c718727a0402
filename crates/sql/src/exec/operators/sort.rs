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
use crate::collation::KEY_START;
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
    pub(super) keys: Vec<SortValue>,
    pub(super) rest: Rest,
}

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
        let compare = |a: &SortedRow, b: &SortedRow| compare_keys(self.keys, &a.keys, &b.keys);
        let mut sorter = Sorter::of_first(self.most, Budget::of(run.session.sort_buffer_size));
        if self.unique {
            sorter = sorter.unique();
        }
        while self.input.next(run, row)? {
            run.step()?;
            let keys = sort_values(self.keys, &row.values, run)?;
            if sorter.last_wanted().is_some_and(|last: &SortedRow| compare_keys(self.keys, &keys, &last.keys).is_ge()) {
                continue;
            }
            let rest = match self.kept {
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
            sorter.push(SortedRow { keys, rest }, &compare, run.session)?;
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
        let compare = |a: &SortedRow, b: &SortedRow| compare_keys(self.keys, &a.keys, &b.keys);
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
        keys.sum::<usize>() + rest
    }

    fn write(&self, out: &mut Vec<u8>) {
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
        Some(SortedRow { keys, rest })
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
