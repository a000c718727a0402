//! GROUP BY and aggregates: one row a group, with the slots of its first row and the results of the aggregates. Groups
//! come in the order of their first rows.

use std::collections::HashMap;

use super::{Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::aggregate::Accumulator;
use crate::expr::write_group_key;
use crate::memory::{key_bytes, row_bytes};
use crate::plan::query::Grouping;
use crate::value::Value;

pub(super) struct Group<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p Grouping,
    /// The groups that are left to give, once all rows are taken in.
    groups: Option<std::vec::IntoIter<OneGroup>>,
}

struct OneGroup {
    /// The slots before those of the aggregates.
    first_row: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

impl<'p> Group<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p Grouping) -> Group<'p> {
        Group { input, plan, groups: None }
    }

    fn begin(&self, first_row: Vec<Value>) -> OneGroup {
        let accumulators = self.plan.aggregates.iter().map(|aggregate| aggregate.accumulator()).collect();
        OneGroup { first_row, accumulators }
    }

    fn collect(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Vec<OneGroup>, SqlError> {
        let mut groups = Vec::new();
        let mut by_key: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut key = Vec::new();
        while self.input.next(run, row)? {
            key.clear();
            for expr in &self.plan.keys {
                write_group_key(&expr.eval(&row.values, &run.eval())?, expr.collation(), &mut key);
            }
            let known = if self.plan.keys.is_empty() { groups.len().checked_sub(1) } else { by_key.get(&key).copied() };
            let at = match known {
                Some(at) => at,
                None => {
                    let first_row = row.values[..self.plan.first_slot].to_vec();
                    let states = self.plan.aggregates.len() * size_of::<Accumulator>();
                    run.keep(row_bytes(&first_row) + key_bytes(&key) + states)?;
                    groups.push(self.begin(first_row));
                    by_key.insert(key.clone(), groups.len() - 1);
                    groups.len() - 1
                }
            };
            for (aggregate, accumulator) in self.plan.aggregates.iter().zip(&mut groups[at].accumulators) {
                accumulator.add(aggregate, &row.values, &run.eval())?;
            }
        }
        // Without keys there is one group, with or without rows.
        if self.plan.keys.is_empty() && groups.is_empty() {
            groups.push(self.begin(vec![Value::Null; self.plan.first_slot]));
        }
        Ok(groups)
    }
}

impl Operator for Group<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let mut groups = match self.groups.take() {
            Some(groups) => groups,
            None => self.collect(run, row)?.into_iter(),
        };
        let group = groups.next();
        self.groups = Some(groups);
        let Some(OneGroup { first_row, accumulators }) = group else { return Ok(false) };
        run.step()?;
        let results = accumulators.iter().map(Accumulator::finish);
        row.values.iter_mut().zip(first_row.into_iter().chain(results)).for_each(|(slot, value)| *slot = value);
        Ok(true)
    }
}
