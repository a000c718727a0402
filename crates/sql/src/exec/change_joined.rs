//! UPDATE and DELETE of rows that a join finds: all are found before the first is changed.
//!
//! A row is changed once, by the first of the joined rows that it is part of: what that one assigns is evaluated when it
//! is found, over what all tables had before.

use std::collections::HashSet;
use std::sync::Arc;

use cohort_txn::Read;

use super::Run;
use super::failure::read_failed;
use super::insert::{assign, current_timestamp};
use super::operators::{self, Row, read_columns};
use super::row_change::{self, Changed, duplicate};
use super::update::{check_safe, collect_changes, info, pass_auto_increment};
use crate::catalog::table::Table;
use crate::error::SqlError;
use crate::memory::{key_bytes, row_bytes};
use crate::plan::{JoinedDelete, JoinedUpdate, UpdateTarget};
use crate::session::StatementResult;
use crate::value::Value;

/// A row that is to be changed, as it was found and locked.
struct FoundRow {
    key: Bytes,
    stored: Bytes,
    /// What its assigned columns get, in the order of the assignments.
    values: Vec<Value>,
}

/// Bytes that several rows share.
type Bytes = Arc<[u8]>;

/// The key and the stored form at a place of the row; `None` where an outer join has found no row.
fn identity(row: &Row, slot: usize) -> Option<(Bytes, Bytes)> {
    match (&row.values[slot], &row.values[slot + 1]) {
        (Value::Bytes(key), Value::Bytes(stored)) => Some((key.clone(), stored.clone())),
        _ => None,
    }
}

pub(super) fn update(plan: &JoinedUpdate, run: &mut Run<'_>) -> Result<StatementResult, SqlError> {
    check_safe(&plan.rows, run)?;
    let warnings = run.session.diagnostics_given().0;
    let mut found: Vec<Vec<FoundRow>> = plan.targets.iter().map(|_| Vec::new()).collect();
    let mut seen: HashSet<(usize, Bytes)> = HashSet::new();
    let mut row = Row::new(plan.rows.slots);
    let mut rows = operators::open(&plan.rows.root, run, &mut row)?;
    let mut matched = 0_u64;
    while rows.next(run, &mut row)? {
        for (at, target) in plan.targets.iter().enumerate() {
            let Some((key, stored)) = identity(&row, plan.rows.identity(at)) else { continue };
            if !seen.insert((at, key.clone())) {
                continue;
            }
            matched += 1;
            run.session.memory.begin_row();
            let values = assigned(plan, target, matched, &mut row, run)?;
            run.keep(2 * key_bytes(&key) + key_bytes(&stored) + row_bytes(&values))?;
            found[at].push(FoundRow { key, stored, values });
        }
    }
    drop(rows);
    let (mut changed, mut number) = (0_u64, 0_u64);
    for (target, rows) in plan.targets.iter().zip(found) {
        for row in rows {
            number += 1;
            run.step()?;
            changed += u64::from(change(plan, target, row, number, run)?);
        }
    }
    let affected = if run.session.client_found_rows { matched } else { changed };
    run.session.row_count.set(i64::try_from(affected).unwrap_or(i64::MAX));
    let warnings = run.session.diagnostics_given().0 - warnings;
    let last_insert_id = run.statement.explicit_last_insert_id.get().unwrap_or(0);
    Ok(StatementResult::Done { affected, last_insert_id, info: info(matched, changed, warnings) })
}

/// What a row's assigned columns get. From left to right: a later assignment to the same table sees what an earlier one
/// set.
fn assigned(
    plan: &JoinedUpdate,
    target: &UpdateTarget,
    number: u64,
    row: &mut Row,
    run: &mut Run<'_>,
) -> Result<Vec<Value>, SqlError> {
    let lenient = plan.ignore || !run.session.sql_mode.is_strict();
    let columns = target.first_slot..target.first_slot + target.table.def.columns.len();
    let before = row.values[columns.clone()].to_vec();
    let mut values = Vec::with_capacity(target.assignments.len());
    for (column, expr) in &target.assignments {
        let value = run.evaluate(|cx| expr.eval(&row.values, cx))?;
        let value = assign(value, &target.table.def.columns[*column], number, plan.ignore, lenient, run)?;
        row.values[target.first_slot + column] = value.clone();
        values.push(value);
    }
    // The other tables see what was there.
    row.values[columns].clone_from_slice(&before);
    Ok(values)
}

/// Changes a row that was found; false if it has these values already, or is the double of another under IGNORE.
fn change(
    plan: &JoinedUpdate,
    target: &UpdateTarget,
    found: FoundRow,
    number: u64,
    run: &mut Run<'_>,
) -> Result<bool, SqlError> {
    let table = &*target.table;
    let stored = match target.has_twin {
        false => found.stored.to_vec(),
        true => {
            let mut stored = Vec::new();
            if !run.transaction.get(table.engine, Read::Current, &found.key, &mut stored).map_err(read_failed)? {
                return Ok(false);
            }
            stored
        }
    };
    let mut before = vec![Value::Null; table.def.columns.len()];
    read_columns(table, &stored, &target.before, run, &mut before)?;
    let mut after = before.clone();
    for ((column, _), value) in target.assignments.iter().zip(found.values) {
        after[*column] = value;
    }
    let mut columns = Vec::new();
    let assigned = || target.assignments.iter().map(|(column, _)| *column);
    collect_changes(assigned(), &before, &after, &mut columns);
    if columns.is_empty() {
        return Ok(false);
    }
    for column in &target.touched {
        after[*column] = current_timestamp(&table.def.columns[*column], number, run)?;
    }
    collect_changes(assigned().chain(target.touched.iter().copied()), &before, &after, &mut columns);
    pass_auto_increment(table, &columns, run)?;
    let changed = Changed { columns: &columns, before: &before, after: &after };
    let Some(conflict) = row_change::update(table, &changed, &found.key, &stored, run)? else { return Ok(true) };
    let error = duplicate(table, conflict.index, &after, run.session.time_zone);
    if !plan.ignore {
        return Err(error);
    }
    run.statement.push_warning(error);
    Ok(false)
}

pub(super) fn delete(plan: &JoinedDelete, run: &mut Run<'_>) -> Result<StatementResult, SqlError> {
    check_safe(&plan.rows, run)?;
    let mut found: Vec<(&Table, Bytes, Bytes)> = Vec::new();
    let mut seen: HashSet<(u64, Bytes)> = HashSet::new();
    let mut row = Row::new(plan.rows.slots);
    let mut rows = operators::open(&plan.rows.root, run, &mut row)?;
    while rows.next(run, &mut row)? {
        for (at, table) in plan.tables.iter().enumerate() {
            let Some((key, stored)) = identity(&row, plan.rows.identity(at)) else { continue };
            // A table may stand there under two names.
            if seen.insert((table.def.id, key.clone())) {
                run.keep(2 * key_bytes(&key) + key_bytes(&stored))?;
                found.push((table, key, stored));
            }
        }
    }
    drop(rows);
    let affected = found.len() as u64;
    // Table by table, as its rows were found.
    for target in &plan.tables {
        for (table, key, stored) in found.iter().filter(|(table, ..)| table.def.id == target.def.id) {
            run.step()?;
            let mut values = vec![Value::Null; table.def.columns.len()];
            let all: Vec<usize> = (0..values.len()).collect();
            read_columns(table, stored, &all, run, &mut values)?;
            row_change::delete(table, &values, key, stored, run)?;
        }
        found.retain(|(table, ..)| table.def.id != target.def.id);
    }
    run.session.row_count.set(i64::try_from(affected).unwrap_or(i64::MAX));
    Ok(StatementResult::Done { affected, last_insert_id: 0, info: String::new() })
}
