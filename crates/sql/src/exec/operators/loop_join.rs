//! A join that reads its right side anew for each row of its left side: by a key that the left row has, as its access
//! path says. A semi- or anti-join reads it as far as the first partner.

use super::{Operator, Row, matches, open};
use crate::error::SqlError;
use crate::exec::Run;
use crate::plan::node::{Join, JoinType};
use crate::value::Value;

pub(super) struct LoopJoin<'p> {
    plan: &'p Join,
    left: Box<dyn Operator + 'p>,
    /// The right side of the present left row.
    right: Option<Box<dyn Operator + 'p>>,
    /// The present left row has found a partner.
    found: bool,
    /// The one of the row before, to be opened again.
    idle: Option<Box<dyn Operator + 'p>>,
    /// What the statement held before the right side was opened.
    held: u64,
}

impl<'p> LoopJoin<'p> {
    pub(super) fn new(left: Box<dyn Operator + 'p>, plan: &'p Join) -> LoopJoin<'p> {
        LoopJoin { plan, left, right: None, idle: None, found: false, held: 0 }
    }
}

impl Operator for LoopJoin<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            let right = match &mut self.right {
                Some(right) => right,
                None => {
                    if !self.left.next(run, row)? {
                        return Ok(false);
                    }
                    run.step()?;
                    self.found = false;
                    self.held = run.session.memory.held();
                    let mut right = self.idle.take();
                    if let Some(idle) = &mut right
                        && !idle.open_again(run, row)?
                    {
                        right = None;
                    }
                    self.right.insert(match right {
                        Some(right) => right,
                        None => open(&self.plan.right, run, row)?,
                    })
                }
            };
            while right.next(run, row)? {
                if matches(self.plan.on.as_ref(), run, &row.values)? {
                    self.found = true;
                    if self.plan.join_type.seeks_one() {
                        break;
                    }
                    return Ok(true);
                }
            }
            self.idle = self.right.take();
            run.release(self.held);
            if !self.found && self.plan.join_type.gives_lonely() {
                self.plan.right_slots.iter().for_each(|slot| row.values[*slot] = Value::Null);
                return Ok(true);
            }
            if self.found && self.plan.join_type == JoinType::Semi {
                return Ok(true);
            }
        }
    }

    fn open_again(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if let Some(right) = self.right.take() {
            self.idle = Some(right);
            run.release(self.held);
        }
        self.left.open_again(run, row)
    }

    fn as_planned(&self) -> bool {
        self.left.as_planned()
    }
}
