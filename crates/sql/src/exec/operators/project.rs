//! The select list: its values, for each row.

use super::{Operator, Row};
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::Expr;
use crate::plan::node::Projection;
use crate::value::Value;

pub(super) struct Project<'p> {
    input: Box<dyn Operator + 'p>,
    plan: &'p Projection,
}

impl<'p> Project<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, plan: &'p Projection) -> Project<'p> {
        Project { input, plan }
    }
}

impl Operator for Project<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if !self.input.next(run, row)? {
            return Ok(false);
        }
        // What all of them make counts together.
        run.evaluate(|cx| {
            for (at, expr) in self.plan.exprs.iter().enumerate() {
                let place = self.plan.first_slot + at;
                match expr {
                    Expr::Column(column) if let Some(&Value::Int(int)) = row.values.get(column.slot) => {
                        row.values[place].set_int(int);
                    }
                    _ => row.values[place] = expr.eval(&row.values, cx)?,
                }
            }
            Ok(true)
        })
    }

    fn as_planned(&self) -> bool {
        self.input.as_planned()
    }
}
