//! GROUP BY of rows that come group by group: a group is given as soon as a row of another one is there, and only one is
//! kept.

use super::group::{OneGroup, write_key};
use super::{Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::plan::query::Grouping;
use crate::value::Value;

pub(super) struct OrderedGroup<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p Grouping,
    /// The key of the group that was begun last.
    key: Vec<u8>,
    ahead: Ahead,
}

/// The first row of the next group.
enum Ahead {
    /// It has not been asked for.
    Unknown,
    Row(Vec<Value>),
    None,
}

impl<'p> OrderedGroup<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p Grouping) -> OrderedGroup<'p> {
        OrderedGroup { input, plan, key: Vec::new(), ahead: Ahead::Unknown }
    }

    /// Reads a row, and writes the key of its group.
    fn read(&mut self, run: &mut Run<'_>, row: &mut Row, key: &mut Vec<u8>) -> Result<bool, SqlError> {
        run.step()?;
        if !self.input.next(run, row)? {
            return Ok(false);
        }
        write_key(self.plan, row, run, key)?;
        Ok(true)
    }
}

impl Operator for OrderedGroup<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let plan = self.plan;
        let mut key = Vec::new();
        match std::mem::replace(&mut self.ahead, Ahead::None) {
            Ahead::None => return Ok(false),
            Ahead::Row(values) => row.values.iter_mut().zip(values).for_each(|(slot, value)| *slot = value),
            Ahead::Unknown if self.read(run, row, &mut key)? => self.key.clone_from(&key),
            Ahead::Unknown => return Ok(false),
        }
        let held = run.session.memory.held();
        let mut group = OneGroup::begin(plan, row, run);
        group.add(plan, &row.values, run)?;
        while self.read(run, row, &mut key)? {
            if key != self.key {
                std::mem::swap(&mut self.key, &mut key);
                self.ahead = Ahead::Row(row.values[..plan.first_slot].to_vec());
                break;
            }
            group.add(plan, &row.values, run)?;
        }
        group.give(plan, row, run)?;
        run.release(held);
        Ok(true)
    }
}
