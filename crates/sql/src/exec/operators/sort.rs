//! Takes all rows in before it gives the first: to sort them, or because they are to be changed where they are found.
//!
//! Strings are sorted by the bytes of their collation, which are made once a row. Rows with equal keys stay in the
//! order they come in.

use std::cmp::Ordering;

use super::{Found, Operator, Row, read_columns};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::order_values;
use crate::memory::{key_bytes, row_bytes, value_bytes};
use crate::plan::physical::Kept;
use crate::plan::query::SortKey;
use crate::value::Value;

/// Sorts by `keys`; without keys rows stay as they come.
pub(super) struct Sort<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [SortKey],
    kept: &'p Kept,
    /// The rows that are left to give, once all are taken in.
    sorted: Option<std::vec::IntoIter<KeptRow>>,
}

struct KeptRow {
    keys: Vec<SortValue>,
    rest: Rest,
}

/// What [`Kept`] says.
enum Rest {
    Values(Vec<Value>),
    Found(Box<Found>),
}

/// A value to sort by.
enum SortValue {
    Plain(Value),
    Bytes(Vec<u8>),
}

impl<'p> Sort<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, keys: &'p [SortKey], kept: &'p Kept) -> Sort<'p> {
        Sort { input, keys, kept, sorted: None }
    }

    fn take_in(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Vec<KeptRow>, SqlError> {
        let mut rows = Vec::new();
        while self.input.next(run, row)? {
            let keys = sort_values(self.keys, &row.values, run)?;
            let rest = match self.kept {
                Kept::Slots(slots) => {
                    let values = row.values[slots.clone()].to_vec();
                    run.keep(row_bytes(&values))?;
                    Rest::Values(values)
                }
                Kept::Stored { .. } => {
                    run.keep(key_bytes(&row.found.key) + key_bytes(&row.found.stored))?;
                    Rest::Found(Box::new(std::mem::take(&mut row.found)))
                }
            };
            rows.push(KeptRow { keys, rest });
        }
        rows.sort_by(|a, b| compare_keys(self.keys, &a.keys, &b.keys));
        Ok(rows)
    }
}

impl Operator for Sort<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let mut sorted = match self.sorted.take() {
            Some(sorted) => sorted,
            None => self.take_in(run, row)?.into_iter(),
        };
        let next = sorted.next();
        self.sorted = Some(sorted);
        let Some(KeptRow { rest, .. }) = next else { return Ok(false) };
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

fn sort_values(sort: &[SortKey], row: &[Value], run: &mut Run<'_>) -> Result<Vec<SortValue>, SqlError> {
    let value = |key: &SortKey| Ok(sort_value(key.expr.eval(row, &run.eval())?, key));
    let keys = sort.iter().map(value).collect::<Result<Vec<_>, SqlError>>()?;
    let bytes = |key: &SortValue| match key {
        SortValue::Plain(value) => value_bytes(value),
        SortValue::Bytes(bytes) => key_bytes(bytes),
    };
    run.keep(keys.iter().map(bytes).sum())?;
    Ok(keys)
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
fn compare_keys(sort: &[SortKey], a: &[SortValue], b: &[SortValue]) -> Ordering {
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
