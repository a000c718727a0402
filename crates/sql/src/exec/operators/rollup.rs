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
use crate::expr::{order_values, write_group_key};
use crate::plan::query::Grouping;
use crate::spill::{Budget, KeyedRow, Sorted, Sorter};
use crate::value::Value;

pub(super) struct Rollup<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p Grouping,
    /// All rows, each as its keys and the slots before those of the aggregates.
    sorted: Option<Sorted<KeyedRow>>,
    /// The group of each number of keys, and the keys of the row before.
    open: Vec<OneGroup>,
    before: Vec<Value>,
    /// Groups without further rows, with the keys that their rows have in common.
    closed: VecDeque<(Vec<Value>, OneGroup)>,
}

/// By the order of the keys; those that are equal in it and differ all the same stay apart.
fn compare(plan: &Grouping, a: &KeyedRow, b: &KeyedRow) -> Ordering {
    let keys = plan.keys.iter().zip(a.row.iter().zip(&b.row));
    let order = keys.map(|(expr, (a, b))| order_values(a, b, expr.collation())).find(|order| order.is_ne());
    order.unwrap_or_else(|| KeyedRow::compare(a, b))
}

impl<'p> Rollup<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p Grouping) -> Rollup<'p> {
        let (open, before, closed) = Default::default();
        Rollup { input, plan, sorted: None, open, before, closed }
    }

    fn take_in(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Sorted<KeyedRow>, SqlError> {
        let compare = |a: &KeyedRow, b: &KeyedRow| compare(self.plan, a, b);
        let mut sorter = Sorter::new(Budget::of(run.session.sort_buffer_size));
        while self.input.next(run, row)? {
            run.step()?;
            let (mut key, mut values) = (Vec::new(), Vec::new());
            for expr in &self.plan.keys {
                let value = run.evaluate(|cx| expr.eval(&row.values, cx))?;
                write_group_key(&value, expr.collation(), &mut key);
                values.push(value);
            }
            values.extend_from_slice(&row.values[..self.plan.first_slot]);
            sorter.push(KeyedRow { key, row: values }, &compare, run.session)?;
        }
        sorter.sorted(&compare, run.session)
    }

    /// How many leading keys are as those of the row before.
    fn in_common(&self, keys: &[Value]) -> usize {
        let is_same = |(expr, (a, b)): &(&crate::expr::Expr, (&Value, &Value))| {
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
            let compare = |a: &KeyedRow, b: &KeyedRow| compare(self.plan, a, b);
            let next = match &mut self.sorted {
                Some(sorted) => sorted.next(&compare, run.session)?,
                None => None,
            };
            match next {
                Some(next) => self.take(next.row, run)?,
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
