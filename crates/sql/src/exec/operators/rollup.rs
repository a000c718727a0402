//! GROUP BY ... WITH ROLLUP: each row counts in a group for each number of leading keys, none included. Groups come in the
//! order of their keys, each after those that it is the sum of.
//!
//! Rows are sorted by their keys, beyond `sort_buffer_size` in files; after that there is one group of each number of keys
//! at a time.

use std::cmp::Ordering;
use std::collections::VecDeque;

use super::group::OneGroup;
use super::{Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::{Expr, write_group_key};
use crate::plan::query::Grouping;
use crate::spill::{
    Budget, KeyOrder, KeyWriter, Sorted, Sorter, compare_keys, read_bytes, read_row, skip_keys, write_bytes, write_row,
};
use crate::value::Value;

pub(super) struct Rollup<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p Grouping,
    /// All rows, each as what it is sorted by, the key of its group, the values of the keys, and the slots before those of
    /// the aggregates.
    sorted: Option<Sorted>,
    /// The group of each number of keys, and the keys of the row before.
    open: Vec<OneGroup>,
    before: Vec<Value>,
    /// Groups without further rows, with the keys that their rows have in common.
    closed: VecDeque<(Vec<Value>, OneGroup)>,
}

/// By the order of the keys; those that are equal in it and differ all the same stay apart.
fn compare(plan: &Grouping) -> impl Fn(&[u8], &[u8]) -> Ordering {
    |mut a: &[u8], mut b: &[u8]| {
        let order = compare_keys(plan.keys.iter().map(order), &mut a, &mut b);
        order.then_with(|| read_bytes(&mut a).cmp(&read_bytes(&mut b)))
    }
}

fn order(key: &Expr) -> KeyOrder {
    KeyOrder { collation: key.collation(), descending: false }
}

impl<'p> Rollup<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p Grouping) -> Rollup<'p> {
        let (open, before, closed) = Default::default();
        Rollup { input, plan, sorted: None, open, before, closed }
    }

    fn take_in(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Sorted, SqlError> {
        let compare = compare(self.plan);
        let mut sorter = Sorter::new(Budget::of(run.session.sort_buffer_size));
        let (mut sorted_by, mut group, mut values) = (Vec::new(), Vec::new(), Vec::new());
        while self.input.next(run, row)? {
            run.step()?;
            sorted_by.clear();
            group.clear();
            values.clear();
            let mut writer = KeyWriter::new(&mut sorted_by);
            for expr in &self.plan.keys {
                let value = run.evaluate(|cx| expr.eval(&row.values, cx))?;
                writer.add(&value, order(expr));
                write_group_key(&value, expr.collation(), &mut group);
                value.write_spilled(&mut values);
            }
            sorter.push(writer.start(), &compare, run.session, |out| {
                out.extend_from_slice(&sorted_by);
                write_bytes(&group, out);
                out.extend_from_slice(&values);
                write_row(&row.values[..self.plan.first_slot], out);
            })?;
        }
        sorter.sorted(&compare, run.session)
    }

    /// The next row: the values of its keys, and the slots before those of the aggregates.
    fn next_sorted(&mut self, run: &Run<'_>) -> Result<Option<Vec<Value>>, SqlError> {
        let plan = self.plan;
        let Some(sorted) = &mut self.sorted else { return Ok(None) };
        let Some(mut bytes) = sorted.next(&compare(plan), run.session)? else { return Ok(None) };
        let mut read = || {
            skip_keys(plan.keys.len(), &mut bytes)?;
            read_bytes(&mut bytes)?;
            read_row(plan.keys.len() + plan.first_slot, &mut bytes)
        };
        read().ok_or_else(|| run.session.temporary_files.damaged()).map(Some)
    }

    /// How many leading keys are as those of the row before.
    fn in_common(&self, keys: &[Value]) -> usize {
        let is_same = |(expr, (a, b)): &(&Expr, (&Value, &Value))| {
            let key = |value: &Value| {
                let mut key = Vec::new();
                write_group_key(value, expr.collation(), &mut key);
                key
            };
            key(a) == key(b)
        };
        self.plan.keys.iter().zip(self.before.iter().zip(keys)).take_while(is_same).count()
    }

    /// No row follows for the groups of more keys than these.
    fn close(&mut self, keys: Option<usize>) {
        let stay = keys.map_or(0, |keys| keys + 1);
        while self.open.len() > stay
            && let Some(group) = self.open.pop()
        {
            self.closed.push_back((self.before[..self.open.len()].to_vec(), group));
        }
    }

    fn take(&mut self, mut row: Vec<Value>, run: &mut Run<'_>) -> Result<(), SqlError> {
        let slots = Row::of(row.split_off(self.plan.keys.len()));
        if !self.open.is_empty() {
            self.close(Some(self.in_common(&row)));
        }
        while self.open.len() <= self.plan.keys.len() {
            self.open.push(OneGroup::begin(self.plan, &slots, run));
        }
        self.before = row;
        self.open.iter_mut().try_for_each(|group| group.add(self.plan, &slots.values, run))
    }
}

impl Operator for Rollup<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.sorted.is_none() {
            self.sorted = Some(self.take_in(run, row)?);
        }
        while self.closed.is_empty() {
            run.step()?;
            match self.next_sorted(run)? {
                Some(next) => self.take(next, run)?,
                None if self.open.is_empty() => return Ok(false),
                None => self.close(None),
            }
        }
        let Some((keys, group)) = self.closed.pop_front() else { return Ok(false) };
        group.give(self.plan, row, run)?;
        let level = Value::Int(keys.len() as i64);
        let all = keys.into_iter().chain(std::iter::repeat(Value::Null)).take(self.plan.keys.len());
        let first = self.plan.first_slot + self.plan.aggregates.len();
        row.values[first..].iter_mut().zip(all.chain([level])).for_each(|(slot, value)| *slot = value);
        Ok(true)
    }
}
