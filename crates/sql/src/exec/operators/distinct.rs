//! DISTINCT: rows whose select list was not there yet.
//!
//! They come in the order they come in while `tmp_table_size` has room for the keys of all; other rows follow when all are
//! there ([`DistinctRows`]).

use super::{Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::write_group_key;
use crate::plan::node;
use crate::spill::DistinctRows;
use crate::value::Value;

pub(super) struct Distinct<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p node::Distinct,
    seen: DistinctRows,
    /// Bytes of the last key: the next one is about as long.
    key_len: usize,
    /// The input has given all its rows.
    ended: bool,
}

impl<'p> Distinct<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p node::Distinct, run: &Run<'_>) -> Distinct<'p> {
        Distinct { input, plan, seen: DistinctRows::new(run.session.tmp_table_size), key_len: 0, ended: false }
    }
}

impl Operator for Distinct<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let end = self.plan.end;
        while !self.ended && self.input.next(run, row)? {
            run.step()?;
            let mut key = Vec::with_capacity(self.key_len);
            for (value, collation) in row.values[self.plan.first_slot..].iter().zip(&self.plan.collations) {
                write_group_key(value, *collation, &mut key);
            }
            self.key_len = key.len();
            let compared = self.plan.first_slot..self.plan.first_slot + self.plan.collations.len();
            row.values[compared].iter_mut().for_each(Value::settle);
            if self.seen.is_new(key, &row.values[..end], run.session)? {
                return Ok(true);
            }
        }
        self.ended = true;
        run.step()?;
        let Some(later) = self.seen.next_later(run.session)? else { return Ok(false) };
        row.values.iter_mut().zip(later).for_each(|(slot, value)| *slot = value);
        Ok(true)
    }

    fn as_planned(&self) -> bool {
        self.input.as_planned()
    }
}
