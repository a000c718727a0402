//! A join that keeps the rows of its right side, which do not depend on the left one: under their keys where something
//! has to be equal (a hash join), else as a list that is gone through for each left row.
//!
//! The right side is read when the left one has given its first row, and stays when the join is opened again. A row
//! whose key is NULL goes with no other; one whose value has no key that all equal values have is looked at for each left
//! row. Rows come in the order of the left side, unless the right one is more than `join_buffer_size` has room for: then
//! both are joined in files ([`spilled`]), and come in that order only if the plan says that it is wanted.

mod spilled;
mod table;

use super::{Operator, Row, matches, open};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::{EqualKey, Expr, JoinKey, join_key_of};
use crate::plan::node::{Join, JoinMethod, JoinType};
use crate::spill::{Budget, KeyedRows, KeyedSorter};
use crate::value::Value;
use spilled::{Partitions, Spilled};
use table::{Looking, Table};

pub(super) struct KeptJoin<'p> {
    plan: &'p Join,
    /// What has to be equal and has keys, with the parameters that there are.
    keys: Vec<&'p EqualKey>,
    left: Box<dyn Operator + 'p>,
    right: Right,
    /// What is left to look at for the present left row; `None` before it.
    looking: Option<Looking>,
    /// The present left row has found a partner.
    found: bool,
    /// The key of the present left row.
    key: Vec<u8>,
}

/// The right side.
enum Right {
    Unread,
    Kept(Table),
    /// With both sides in files.
    Spilled(Box<Spilled>),
    /// The same, all of it joined and sorted as the left side was.
    InOrder(KeyedRows),
}

/// The key of one side of a row.
fn key_of<'k>(
    keys: &[&EqualKey],
    side: fn(&EqualKey) -> &Expr,
    run: &mut Run<'_>,
    row: &[Value],
    key: &'k mut Vec<u8>,
) -> Result<JoinKey<'k>, SqlError> {
    run.evaluate(|cx| join_key_of(keys.iter().map(|key| (side(key), key.collation)), row, cx, key))
}

/// The values of some slots.
fn slots(of: &[usize], row: &Row) -> Vec<Value> {
    of.iter().map(|slot| row.values[*slot].clone()).collect()
}

impl<'p> KeptJoin<'p> {
    pub(super) fn new(left: Box<dyn Operator + 'p>, plan: &'p Join, run: &Run<'_>) -> KeptJoin<'p> {
        let keys = match &plan.method {
            JoinMethod::Hashed(keys) => keys.iter().filter(|key| key.is_one(run.params)).collect(),
            JoinMethod::Kept | JoinMethod::Loop => Vec::new(),
        };
        KeptJoin { plan, keys, left, right: Right::Unread, looking: None, found: false, key: Vec::new() }
    }

    /// Reads the right side, and where it is too much the left one too, of which `row` has the first row.
    fn read(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<Right, SqlError> {
        let mut table = Table::new(Budget::of(run.session.join_buffer_size));
        let mut partitions: Option<Partitions> = None;
        let mut right = open(&self.plan.right, run, row)?;
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        while right.next(run, row)? {
            run.step()?;
            let key = match key_of(&self.keys, |key| &key.right, run, &row.values, &mut bytes)? {
                JoinKey::Null => continue,
                JoinKey::None => None,
                JoinKey::Of(key) => Some(key),
            };
            values.clear();
            values.extend(self.plan.right_slots.iter().map(|slot| row.values[*slot].clone()));
            if partitions.is_none() && table.has_room(key, &values, run.session)? {
                table.add(key, &mut values);
                continue;
            }
            let partitions = match &mut partitions {
                Some(partitions) => partitions,
                None => {
                    let into = partitions.insert(Partitions::new(!self.keys.is_empty(), run.session)?);
                    table.for_each(|key, values| into.add_right(key, values, run.session))?;
                    table = Table::new(Budget::of(run.session.join_buffer_size));
                    into
                }
            };
            partitions.add_right(key, &values, run.session)?;
        }
        drop(right);
        let Some(mut partitions) = partitions else { return Ok(Right::Kept(table)) };
        loop {
            run.step()?;
            let key = key_of(&self.keys, |key| &key.left, run, &row.values, &mut bytes)?;
            if !matches!(key, JoinKey::Null) || self.plan.join_type.gives_lonely() {
                partitions.add_left(&key, &slots(&self.plan.left_slots, row), run.session)?;
            }
            if !self.left.next(run, row)? {
                break;
            }
        }
        let mut spilled = partitions.joined(run.session)?;
        if !self.plan.keeps_order {
            return Ok(Right::Spilled(Box::new(spilled)));
        }
        let mut sorter = KeyedSorter::of_table(Budget::of(run.session.join_buffer_size));
        let all = [self.plan.left_slots.as_slice(), &self.plan.right_slots].concat();
        while spilled.next(self.plan, run, row)? {
            let values = all.iter().map(|slot| &row.values[*slot]);
            sorter.push(&spilled.left_number().to_be_bytes(), values, run.session)?;
        }
        Ok(Right::InOrder(sorter.sorted(run.session)?))
    }
}

impl Operator for KeptJoin<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            if let Right::Unread = self.right {
                if !self.left.next(run, row)? {
                    return Ok(false);
                }
                self.right = self.read(run, row)?;
                if let Right::Kept(table) = &self.right {
                    self.looking = Some(look(&self.keys, table, run, row, &mut self.key)?);
                }
                self.found = false;
            }
            let table = match &mut self.right {
                Right::Spilled(spilled) => return spilled.next(self.plan, run, row),
                Right::InOrder(sorted) => {
                    let Some(next) = sorted.next(run.session)? else { return Ok(false) };
                    run.step()?;
                    let all = self.plan.left_slots.iter().chain(&self.plan.right_slots);
                    all.zip(next.row).for_each(|(slot, value)| row.values[*slot] = value);
                    return Ok(true);
                }
                Right::Kept(table) => table,
                Right::Unread => return Err(SqlError::internal("a join without its right side")),
            };
            if self.looking.is_none() {
                if !self.left.next(run, row)? {
                    return Ok(false);
                }
                self.found = false;
                self.looking = Some(look(&self.keys, table, run, row, &mut self.key)?);
            }
            if let Some(looking) = &mut self.looking
                && find(self.plan, table, looking, run, row)?
            {
                self.found = true;
                match self.plan.join_type {
                    JoinType::Inner | JoinType::Left => return Ok(true),
                    JoinType::Semi => {
                        self.looking = None;
                        return Ok(true);
                    }
                    JoinType::Anti => {}
                }
            }
            self.looking = None;
            if !self.found && self.plan.join_type.gives_lonely() {
                self.plan.right_slots.iter().for_each(|slot| row.values[*slot] = Value::Null);
                return Ok(true);
            }
        }
    }

    fn open_again(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        // The other way round, what is kept may have been found by the rows before.
        let stays = !self.plan.swapped && matches!(self.right, Right::Unread | Right::Kept(_));
        if !stays || !self.left.open_again(run, row)? {
            return Ok(false);
        }
        if let Right::Kept(table) = &self.right
            && !table.is_held_again(run.session)
        {
            self.right = Right::Unread;
        }
        (self.looking, self.found) = (None, false);
        Ok(true)
    }

    fn as_planned(&self) -> bool {
        self.left.as_planned()
    }
}

/// Where to look for partners of the left row.
fn look(
    keys: &[&EqualKey],
    table: &Table,
    run: &mut Run<'_>,
    row: &Row,
    key: &mut Vec<u8>,
) -> Result<Looking, SqlError> {
    if keys.is_empty() {
        return Ok(Looking::All(0));
    }
    Ok(match key_of(keys, |key| &key.left, run, &row.values, key)? {
        JoinKey::Of(key) => table.looking(key),
        JoinKey::None => Looking::All(0),
        JoinKey::Null => Looking::Nowhere,
    })
}

/// Finds the next partner of the left row, and puts it into its slots.
fn find(plan: &Join, table: &Table, looking: &mut Looking, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
    while let Some(values) = table.next(looking) {
        run.step()?;
        plan.right_slots.iter().zip(values).for_each(|(slot, value)| row.values[*slot] = value.clone());
        if matches(plan.on.as_ref(), run, &row.values)? {
            return Ok(true);
        }
    }
    Ok(false)
}
