//! Rows that are not stored: those of system tables, the one of a SELECT without FROM, and none.

use super::{Operator, Row};
use crate::catalog::system::Rows;
use crate::error::SqlError;
use crate::exec::Run;
use crate::plan::node::SystemRows;
use crate::privilege::needs::of_show;
use crate::value::Value;

/// One row without columns.
#[derive(Default)]
pub(super) struct OneRow {
    given: bool,
}

impl Operator for OneRow {
    fn next(&mut self, _run: &mut Run<'_>, _row: &mut Row) -> Result<bool, SqlError> {
        Ok(!std::mem::replace(&mut self.given, true))
    }
}

/// No row.
pub(super) struct NoRow;

impl Operator for NoRow {
    fn next(&mut self, _run: &mut Run<'_>, _row: &mut Row) -> Result<bool, SqlError> {
        Ok(false)
    }

    fn open_again(&mut self, _run: &mut Run<'_>, _row: &mut Row) -> Result<bool, SqlError> {
        Ok(true)
    }
}

/// The rows of a system table, made when it is opened.
pub(super) struct MadeRows {
    rows: std::vec::IntoIter<Vec<Value>>,
    first_slot: usize,
}

impl MadeRows {
    pub(super) fn open(plan: &SystemRows, run: &Run<'_>) -> Result<MadeRows, SqlError> {
        let rows = match plan.rows {
            Rows::Show(show) => {
                run.session.holder.check(&of_show(&show()))?;
                run.statement.env.show(run.session, &show())?.rows
            }
            Rows::Accounts(rows) => rows(&run.statement.env.roster(), &run.session.holder.grants),
            Rows::Locks(rows) => {
                let locks = run.catalog.metadata_locks().into_iter();
                let owned: Vec<_> =
                    locks.map(|lock| (lock.clone(), run.statement.env.lock_owner(lock.owner))).collect();
                rows(&run.catalog.current(), &owned)
            }
            Rows::None => Vec::new(),
            Rows::Tables(rows) => rows(run.catalog, &run.session.holder.grants),
            Rows::Catalog(rows) => rows(&run.catalog.current(), &run.session.holder.grants),
        };
        Ok(MadeRows { rows: rows.into_iter(), first_slot: plan.first_slot })
    }
}

impl Operator for MadeRows {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let Some(made) = self.rows.next() else { return Ok(false) };
        run.step()?;
        row.values[self.first_slot..].iter_mut().zip(made).for_each(|(slot, value)| *slot = value);
        Ok(true)
    }
}
