//! DISTINCT: rows whose select list was not there yet, in the order they come in.

use std::collections::HashSet;

use super::{Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::write_group_key;
use crate::memory::key_bytes;
use crate::plan::physical;

pub(super) struct Distinct<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p physical::Distinct,
    seen: HashSet<Vec<u8>>,
}

impl<'p> Distinct<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p physical::Distinct) -> Distinct<'p> {
        Distinct { input, plan, seen: HashSet::new() }
    }
}

impl Operator for Distinct<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while self.input.next(run, row)? {
            let mut key = Vec::new();
            for (value, collation) in row.values[self.plan.first_slot..].iter().zip(&self.plan.collations) {
                write_group_key(value, *collation, &mut key);
            }
            let bytes = key_bytes(&key);
            if self.seen.insert(key) {
                run.keep(bytes)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn as_planned(&self) -> bool {
        self.input.as_planned()
    }
}
