//! Runs a query and hands its rows on.

use super::Run;
use super::operators::{self, Row};
use crate::error::SqlError;
use crate::memory::row_bytes;
use crate::plan::node::QueryPlan;
use crate::value::Value;

/// Hands `most` rows of a query to `take`, or all there are, and returns how many they were.
pub(super) fn run(
    plan: &QueryPlan,
    most: u64,
    run: &mut Run<'_>,
    take: &mut dyn FnMut(&[Value]) -> Result<(), SqlError>,
) -> Result<u64, SqlError> {
    let mut row = Row::new(plan.slots);
    let mut rows = operators::open(&plan.root, run, &mut row)?;
    let mut given = 0;
    while given < most && rows.next(run, &mut row)? {
        let values = &row.values[plan.outputs.clone()];
        // What a row takes on its way to the client, or to where it is kept.
        run.session.memory.begin_row();
        run.session.memory.hold_row(row_bytes(values))?;
        take(values)?;
        given += 1;
    }
    Ok(given)
}
