//! Takes all rows in before it gives the first: to sort them, or because they are to be changed where they are found.
//!
//! Strings are sorted by the bytes of their collation, which are made once a row. Rows with equal keys stay in the
//! order they come in. Beyond `sort_buffer_size` they are sorted in files ([`crate::spill`]).

use std::cmp::Ordering;

use super::{Found, Operator, Row, read_columns};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::order_values;
use crate::memory::{key_bytes, row_bytes, value_bytes};
use crate::plan::node::Kept;
use crate::plan::query::SortKey;
use crate::spill::{Budget, Record, Sorted, Sorter, read_bytes, write_bytes, write_row};
use crate::value::Value;

/// Sorts by `keys`; without keys rows stay as they come.
pub(super) struct Sort<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [SortKey],
    kept: &'p Kept,
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
    pub(super) fn new(input: Box<dyn Operator + 'p>, keys: &'p [SortKey], kept: &'p Kept) -> Sort<'p> {
        Sort { input, keys, kept, sorted: None }
    }

    fn take_in(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Sorted<SortedRow>, SqlError> {
        let compare = |a: &SortedRow, b: &SortedRow| compare_keys(self.keys, &a.keys, &b.keys);
        let mut sorter = Sorter::new(Budget::of(run.session.sort_buffer_size));
        while self.input.next(run, row)? {
            run.step()?;
            let keys = sort_values(self.keys, &row.values, run)?;
            let rest = match self.kept {
                Kept::Slots(slots) => Rest::Values(row.values[slots.clone()].to_vec()),
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
    let mut value = |key: &SortKey| Ok(sort_value(run.evaluate(|cx| key.expr.eval(row, cx))?, key));
    sort.iter().map(&mut value).collect()
}

fn sort_value(value: Value, key: &SortKey) -> SortValue {
    match &value {
        Value::Text(text) => {
            let mut bytes = Vec::new();
            key.collation.write_key(text.as_bytes(), &mut bytes);
            SortValue::Bytes(bytes)
        }
        _ => SortValue::Plain(value),
    }
}

/// Compares two rows by their sort keys.
pub(super) fn compare_keys(sort: &[SortKey], a: &[SortValue], b: &[SortValue]) -> Ordering {
    for ((key, a), b) in sort.iter().zip(a).zip(b) {
        let order = match (a, b) {
            (SortValue::Plain(a), SortValue::Plain(b)) => order_values(a, b, key.collation),
            (SortValue::Bytes(a), SortValue::Bytes(b)) => a.cmp(b),
            // NULL comes before any string.
            (SortValue::Plain(_), SortValue::Bytes(_)) => Ordering::Less,
            (SortValue::Bytes(_), SortValue::Plain(_)) => Ordering::Greater,
        };
        let order = if key.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
