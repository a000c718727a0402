//! UPDATE and DELETE: changes each row that the plan's operators find and lock.

use super::Run;
use super::insert::{assign, current_timestamp};
use super::operators::{self, Row};
use super::row_change::{self, Changed, duplicate};
use crate::catalog::table::Table;
use crate::error::{ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE, SqlError};
use crate::memory::value_bytes;
use crate::plan::node::QueryPlan;
use crate::plan::{DeletePlan, UpdatePlan};
use crate::session::StatementResult;
use crate::value::Value;

/// Error 1175 under `sql_safe_updates` if neither a key nor a LIMIT bounds the rows that are looked at.
pub(super) fn check_safe(rows: &QueryPlan, run: &Run<'_>) -> Result<(), SqlError> {
    let unsafe_scan = run.session.safe_updates && !rows.has_limit() && rows.looks_at_every_row();
    if unsafe_scan { Err(SqlError::new(ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE, &[])) } else { Ok(()) }
}

pub(super) fn update(plan: &UpdatePlan, run: &mut Run<'_>) -> Result<StatementResult, SqlError> {
    check_safe(&plan.rows, run)?;
    let table = &*plan.table;
    let warnings = run.session.diagnostics_given().0;
    let (mut matched, mut changed) = (0_u64, 0_u64);
    let mut columns: Vec<(usize, Value)> = Vec::with_capacity(plan.assignments.len());
    let mut before = vec![Value::Null; table.def.columns.len()];
    let mut row = Row::new(plan.rows.slots);
    let mut rows = operators::open(&plan.rows.root, run, &mut row)?;
    while rows.next(run, &mut row)? {
        matched += 1;
        run.session.memory.begin_row();
        for column in &plan.before {
            before[*column] = row.values[*column].clone();
        }
        set(plan, &before, matched, run, &mut row.values, &mut columns)?;
        if columns.is_empty() {
            continue;
        }
        pass_auto_increment(table, &columns, run)?;
        let change = Changed { columns: &columns, before: &before, after: &row.values };
        let Some(conflict) = row_change::update(table, &change, &row.found.key, &row.found.stored, run)? else {
            changed += 1;
            continue;
        };
        let error = duplicate(table, conflict.index, &row.values, run.session.time_zone);
        if !plan.ignore {
            return Err(error);
        }
        run.statement.push_warning(error);
    }
    let affected = if run.session.client_found_rows { matched } else { changed };
    run.session.row_count.set(i64::try_from(affected).unwrap_or(i64::MAX));
    let warnings = run.session.diagnostics_given().0 - warnings;
    let info = info(matched, changed, warnings);
    let last_insert_id = run.statement.explicit_last_insert_id.get().unwrap_or(0);
    Ok(StatementResult::Done { affected, last_insert_id, info })
}

/// Assigns the new values of the row with this number; `columns` are then those that differ from `before`.
fn set(
    plan: &UpdatePlan,
    before: &[Value],
    number: u64,
    run: &mut Run<'_>,
    row: &mut [Value],
    columns: &mut Vec<(usize, Value)>,
) -> Result<(), SqlError> {
    let table = &*plan.table;
    let lenient = plan.ignore || !run.session.sql_mode.is_strict();
    // Left to right: a later assignment sees what an earlier one set.
    for (column, expr) in &plan.assignments {
        let value = run.evaluate(|cx| expr.eval(row, cx))?;
        run.session.memory.hold_row(value_bytes(&value))?;
        row[*column] = assign(value, &table.def.columns[*column], number, plan.ignore, lenient, run)?;
    }
    let assigned = || plan.assignments.iter().map(|(column, _)| *column);
    collect_changes(assigned(), before, row, columns);
    if columns.is_empty() || plan.touched.is_empty() {
        return Ok(());
    }
    for column in &plan.touched {
        row[*column] = current_timestamp(&table.def.columns[*column], number, run)?;
    }
    collect_changes(assigned().chain(plan.touched.iter().copied()), before, row, columns);
    Ok(())
}

/// What a client reads of an UPDATE. Put together by hand: `format!` costs a microsecond of every statement.
pub(super) fn info(matched: u64, changed: u64, warnings: u64) -> String {
    let mut digits = itoa::Buffer::new();
    let mut info = String::with_capacity(64);
    for (name, number) in [("Rows matched: ", matched), ("  Changed: ", changed), ("  Warnings: ", warnings)] {
        info.push_str(name);
        info.push_str(digits.format(number));
    }
    info
}

/// The columns that differ, sorted, each once.
pub(super) fn collect_changes(
    assigned: impl Iterator<Item = usize>,
    before: &[Value],
    after: &[Value],
    columns: &mut Vec<(usize, Value)>,
) {
    columns.clear();
    for column in assigned {
        if before[column] != after[column] && !columns.iter().any(|(known, _)| *known == column) {
            columns.push((column, after[column].clone()));
        }
    }
    columns.sort_by_key(|(column, _)| *column);
}

pub(super) fn pass_auto_increment(
    table: &Table,
    columns: &[(usize, Value)],
    run: &mut Run<'_>,
) -> Result<(), SqlError> {
    let given = columns.iter().find(|(column, _)| Some(*column) == table.auto_increment);
    match given {
        Some((_, Value::Int(given))) => table.pass_auto_increment(run.transaction, u64::try_from(*given).unwrap_or(0)),
        Some((_, Value::UInt(given))) => table.pass_auto_increment(run.transaction, *given),
        _ => Ok(()),
    }
}

pub(super) fn delete(plan: &DeletePlan, run: &mut Run<'_>) -> Result<StatementResult, SqlError> {
    check_safe(&plan.rows, run)?;
    let mut affected = 0_u64;
    let mut row = Row::new(plan.rows.slots);
    let mut rows = operators::open(&plan.rows.root, run, &mut row)?;
    while rows.next(run, &mut row)? {
        affected += 1;
        row_change::delete(&plan.table, &row.values, &row.found.key, &row.found.stored, run)?;
    }
    run.session.row_count.set(i64::try_from(affected).unwrap_or(i64::MAX));
    Ok(StatementResult::Done { affected, last_insert_id: 0, info: String::new() })
}
