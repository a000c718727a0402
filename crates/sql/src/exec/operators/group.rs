//! GROUP BY and aggregates: one row a group, with the slots of its first row and the results of the aggregates. Groups
//! come in the order of their first rows. (WITH ROLLUP: [`super::rollup`]; rows that come group by group:
//! [`super::ordered_group`].)
//!
//! Groups are in memory, under their keys, as far as `tmp_table_size` goes. When that is used up there are no new ones:
//! rows of others are sorted by their keys, in files, and their groups are made one after another, when all rows are there.
//! Where the state of a group may grow with each row, so are those of the groups that there are, which go on then.

use hashbrown::HashMap;

use super::{Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::aggregate::{Accumulator, Aggregate};
use crate::expr::write_group_key;
use crate::memory::{key_bytes, row_bytes};
use crate::plan::query::Grouping;
use crate::spill::{Budget, KeyedRow, KeyedRows, KeyedSorter};
use crate::value::Value;

pub(super) struct Group<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p Grouping,
    /// The groups that are left to give, once all rows are taken in.
    groups: Option<Groups>,
}

/// The rows of a group so far.
pub(super) struct OneGroup {
    /// The slots before those of the aggregates.
    first_row: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

/// The groups, by their places, and the rows of those that there is no memory for.
struct Groups {
    groups: Vec<Option<OneGroup>>,
    by_key: HashMap<Vec<u8>, usize>,
    next: usize,
    rest: Option<Rest>,
}

/// Sorted rows, with the one that is next.
struct Rest {
    sorted: KeyedRows,
    next: Option<KeyedRow>,
}

impl<'p> Group<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p Grouping) -> Group<'p> {
        Group { input, plan, groups: None }
    }

    fn collect(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Groups, SqlError> {
        let plan = self.plan;
        let grows = plan.aggregates.iter().any(Aggregate::grows);
        let counts_rows = plan.keys.is_empty() && plan.aggregates.iter().all(Aggregate::counts_rows);
        let mut groups: Vec<Option<OneGroup>> = Vec::new();
        let mut by_key: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut budget = Budget::of(run.session.tmp_table_size);
        let mut rest: Option<KeyedSorter> = None;
        let mut key = Vec::new();
        while self.input.next(run, row)? {
            run.step()?;
            write_key(plan, row, run, &mut key)?;
            let known = match plan.keys.is_empty() {
                true => groups.len().checked_sub(1),
                false => by_key.get(&key).copied(),
            };
            let group = match (known, &mut rest) {
                (Some(at), None) => groups[at].as_mut(),
                (Some(at), Some(_)) if !grows => groups[at].as_mut(),
                (None, None) => {
                    let bytes = OneGroup::bytes(plan, row) + key_bytes(&key);
                    if budget.take(bytes, run.session)? {
                        by_key.insert(key.clone(), groups.len());
                        groups.push(Some(OneGroup::begin(plan, row, run)));
                        groups.last_mut().and_then(Option::as_mut)
                    } else {
                        None
                    }
                }
                (_, Some(_)) => None,
            };
            let Some(group) = group else {
                let sorter = rest.get_or_insert_with(|| KeyedSorter::of_table(budget.again()));
                sorter.push(&key, &row.values[..plan.first_slot], run.session)?;
                continue;
            };
            let held = run.session.memory.held();
            group.add(plan, &row.values, run)?;
            if counts_rows {
                let more = self.input.skip(u64::MAX, run, row)?;
                group.accumulators.iter_mut().for_each(|accumulator| accumulator.add_rows(more));
                break;
            }
            if grows {
                budget.count(run.session.memory.held().saturating_sub(held) as usize);
                if rest.is_none() && !plan.keys.is_empty() && budget.is_exceeded(run.session) {
                    rest = Some(KeyedSorter::of_table(budget.again()));
                }
            }
        }
        // Without keys there is one group, with or without rows.
        if plan.keys.is_empty() && groups.is_empty() {
            groups.push(Some(OneGroup::begin(plan, &Row::new(plan.first_slot), run)));
        }
        let rest = match rest {
            Some(sorter) => {
                let mut sorted = sorter.sorted(run.session)?;
                let next = sorted.next(run.session)?;
                Some(Rest { sorted, next })
            }
            None => None,
        };
        Ok(Groups { groups, by_key, next: 0, rest })
    }
}

impl Groups {
    /// The next group: first those of the sorted rows, then those that had none.
    fn next(&mut self, plan: &Grouping, run: &mut Run<'_>) -> Result<Option<OneGroup>, SqlError> {
        if let Some(rest) = &mut self.rest
            && let Some(first) = rest.next.take()
        {
            let known = self.by_key.get(&first.key).and_then(|at| self.groups[*at].take());
            let row = Row::of(first.row);
            let mut group = known.unwrap_or_else(|| OneGroup::begin(plan, &row, run));
            group.add(plan, &row.values, run)?;
            while let Some(next) = rest.sorted.next(run.session)? {
                run.step()?;
                if next.key != first.key {
                    rest.next = Some(next);
                    break;
                }
                group.add(plan, &next.row, run)?;
            }
            return Ok(Some(group));
        }
        while let Some(group) = self.groups.get_mut(self.next) {
            self.next += 1;
            if let Some(group) = group.take() {
                return Ok(Some(group));
            }
        }
        Ok(None)
    }
}

/// Writes what the rows of a group have in common, in the place of what `key` has.
pub(super) fn write_key(plan: &Grouping, row: &Row, run: &mut Run<'_>, key: &mut Vec<u8>) -> Result<(), SqlError> {
    key.clear();
    for expr in &plan.keys {
        let value = run.evaluate(|cx| expr.eval(&row.values, cx))?;
        write_group_key(&value, expr.collation(), key);
    }
    Ok(())
}

impl OneGroup {
    /// What a group of this row takes in memory before it grows.
    pub(super) fn bytes(plan: &Grouping, row: &Row) -> usize {
        let states = plan.aggregates.len() * size_of::<Accumulator>();
        row_bytes(&row.values[..plan.first_slot]) + states
    }

    /// A group without rows, whose slots are those of `row`.
    pub(super) fn begin(plan: &Grouping, row: &Row, run: &Run<'_>) -> OneGroup {
        let state = |aggregate: &Aggregate| aggregate.accumulator(run.session.tmp_table_size);
        let accumulators = plan.aggregates.iter().map(state).collect();
        OneGroup { first_row: row.values[..plan.first_slot].to_vec(), accumulators }
    }

    /// Takes a row.
    pub(super) fn add(&mut self, plan: &Grouping, row: &[Value], run: &mut Run<'_>) -> Result<(), SqlError> {
        for (aggregate, accumulator) in plan.aggregates.iter().zip(&mut self.accumulators) {
            run.evaluate(|cx| accumulator.add(aggregate, row, cx))?;
        }
        Ok(())
    }

    /// Puts its slots and results into the row.
    pub(super) fn give(self, plan: &Grouping, row: &mut Row, run: &mut Run<'_>) -> Result<(), SqlError> {
        row.values.iter_mut().zip(self.first_row).for_each(|(slot, value)| *slot = value);
        for (at, (aggregate, mut accumulator)) in plan.aggregates.iter().zip(self.accumulators).enumerate() {
            row.values[plan.first_slot + at] = run.evaluate(|cx| accumulator.finish(aggregate, cx))?;
        }
        Ok(())
    }
}

impl Operator for Group<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let groups = match &mut self.groups {
            Some(groups) => groups,
            None => {
                let groups = self.collect(run, row)?;
                self.groups.insert(groups)
            }
        };
        run.step()?;
        // What a group holds that is made now goes with it.
        let held = groups.rest.is_some().then(|| run.session.memory.held());
        let Some(group) = groups.next(self.plan, run)? else { return Ok(false) };
        group.give(self.plan, row, run)?;
        if let Some(held) = held {
            run.release(held);
        }
        Ok(true)
    }

    fn as_planned(&self) -> bool {
        !self.plan.by_path
    }
}
