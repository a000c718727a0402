//! UPDATE and DELETE.

use cohort_txn::{Isolation, LockMode};

use super::Run;
use super::insert::{assign, current_timestamp};
use super::limit::count_or_all;
use super::locking::{LockedRows, RowLocks};
use super::row_change::{self, Changed, duplicate};
use super::select::SortedRows;
use super::source::RowSource;
use crate::ast::RowWait;
use crate::catalog::table::Table;
use crate::error::SqlError;
use crate::expr::StatementContext;
use crate::memory::{key_bytes, value_bytes};
use crate::plan::access::Access;
use crate::plan::{DeletePlan, SortKey, UpdatePlan};
use crate::session::StatementResult;
use crate::value::Value;

/// How a change locks its rows.
const LOCKS: RowLocks = RowLocks { mode: LockMode::Exclusive, wait: RowWait::Wait, semi_consistent: false };

/// A row that was found and locked.
struct Found {
    key: Vec<u8>,
    stored: Vec<u8>,
}

/// When rows are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// As they are found.
    AtOnce,
    /// When all are found: they are to be sorted, or the change moves them within the index that is scanned, where the
    /// scan would meet them again.
    AllFound,
}

/// Changes one locked row: the row, its key, and how it is stored.
type RowChange<'a> = dyn FnMut(&mut Run<'_>, &mut Vec<Value>, &[u8], &[u8]) -> Result<(), SqlError> + 'a;

impl When {
    /// For a scan whose rows are to be sorted by `sort` and changed in `changed` columns.
    fn of(table: &Table, rows: &LockedRows<'_>, sort: &[SortKey], changed: &[usize]) -> When {
        let keys = [rows.index(), table.primary].into_iter().flatten();
        let moves = keys.flat_map(|index| &table.indexes[index].columns).any(|column| changed.contains(column));
        if sort.is_empty() && !moves { When::AtOnce } else { When::AllFound }
    }
}

/// What the rows of a scan are still to be sorted by.
fn left_to_sort<'p>(sort: &'p [SortKey], access: &Access, rows: &LockedRows<'_>) -> &'p [SortKey] {
    if access.ordered && rows.as_planned { &[] } else { sort }
}

/// Gives each locked row to `change`, at most `limit`, in the order of `sort`.
fn each_row(
    table: &Table,
    rows: &mut LockedRows<'_>,
    sort: &[SortKey],
    when: When,
    limit: u64,
    run: &mut Run<'_>,
    change: &mut RowChange<'_>,
) -> Result<(), SqlError> {
    let mut row = vec![Value::Null; table.def.columns.len()];
    let mut done = 0;
    if when == When::AtOnce {
        while done < limit && rows.next(run, &mut row)? {
            change(run, &mut row, &rows.row_key, &rows.stored)?;
            done += 1;
        }
        return Ok(());
    }
    let mut found = SortedRows::new();
    // What comes first is found first where nothing is to be sorted.
    while (!sort.is_empty() || done < limit) && rows.next(run, &mut row)? {
        done += 1;
        run.statement.hold(key_bytes(&rows.row_key) + key_bytes(&rows.stored))?;
        found.add(sort, &row, Found { key: rows.row_key.clone(), stored: rows.stored.clone() }, run)?;
    }
    for Found { key, stored } in found.sorted(sort).take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        table.read_row(&stored, &mut run.offsets, &mut row)?;
        change(run, &mut row, &key, &stored)?;
    }
    Ok(())
}

pub(super) fn update(plan: &UpdatePlan, run: &mut Run<'_>) -> Result<StatementResult, SqlError> {
    let table = &*plan.table;
    let lenient = plan.ignore || !run.session.sql_mode.is_strict();
    let limit = count_or_all(plan.limit.as_ref(), run)?;
    let warnings = run.session.diagnostics.borrow().len();
    let (mut matched, mut changed) = (0_u64, 0_u64);
    // As InnoDB: rows that are to be sorted are waited for, as are those of a DELETE.
    let sorts = !(plan.sort.is_empty() || plan.access.ordered);
    let semi_consistent = run.transaction.isolation() == Isolation::ReadCommitted && !sorts;
    let locks = RowLocks { semi_consistent, ..LOCKS };
    let mut rows = LockedRows::open(table, &plan.access, &plan.wanted, plan.filter.as_ref(), locks, run)?;
    let assigned: Vec<usize> =
        plan.assignments.iter().map(|(column, _)| *column).chain(plan.touched.iter().copied()).collect();
    let sort = left_to_sort(&plan.sort, &plan.access, &rows);
    let when = When::of(table, &rows, sort, &assigned);
    let mut columns: Vec<(usize, Value)> = Vec::with_capacity(plan.assignments.len());
    let mut before = vec![Value::Null; table.def.columns.len()];
    let mut change = |run: &mut Run<'_>, row: &mut Vec<Value>, key: &[u8], stored: &[u8]| {
        matched += 1;
        run.session.memory.begin_row();
        for column in &plan.wanted {
            before[*column] = row[*column].clone();
        }
        // Left to right: a later assignment sees what an earlier one set.
        for (column, expr) in &plan.assignments {
            let value = expr.eval(row, &run.eval())?;
            run.session.memory.hold_row(value_bytes(&value))?;
            row[*column] = assign(value, &table.def.columns[*column], matched, plan.ignore, lenient, run)?;
        }
        collect_changes(plan.assignments.iter().map(|(column, _)| *column), &before, row, &mut columns);
        if columns.is_empty() {
            return Ok(());
        }
        for column in &plan.touched {
            row[*column] = current_timestamp(&table.def.columns[*column], matched, run)?;
        }
        if !plan.touched.is_empty() {
            collect_changes(assigned.iter().copied(), &before, row, &mut columns);
        }
        pass_auto_increment(table, &columns, run)?;
        let change = Changed { columns: &columns, before: &before, after: row };
        match row_change::update(table, &change, key, stored, run)? {
            None => changed += 1,
            Some(conflict) => {
                let error = duplicate(table, conflict.index, row, run.session.time_zone);
                if !plan.ignore {
                    return Err(error);
                }
                run.statement.push_warning(error);
            }
        }
        Ok(())
    };
    each_row(table, &mut rows, sort, when, limit, run, &mut change)?;
    let affected = if run.session.client_found_rows { matched } else { changed };
    run.session.row_count.set(i64::try_from(affected).unwrap_or(i64::MAX));
    let warnings = run.session.diagnostics.borrow().len() - warnings;
    let info = info(matched, changed, warnings as u64);
    let last_insert_id = run.statement.explicit_last_insert_id.get().unwrap_or(0);
    Ok(StatementResult::Done { affected, last_insert_id, info })
}

/// What a client reads of an UPDATE. Put together by hand: `format!` costs a microsecond of every statement.
fn info(matched: u64, changed: u64, warnings: u64) -> String {
    let mut digits = itoa::Buffer::new();
    let mut info = String::with_capacity(64);
    for (name, number) in [("Rows matched: ", matched), ("  Changed: ", changed), ("  Warnings: ", warnings)] {
        info.push_str(name);
        info.push_str(digits.format(number));
    }
    info
}

/// The columns that differ, sorted, each once.
fn collect_changes(
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

fn pass_auto_increment(table: &Table, columns: &[(usize, Value)], run: &mut Run<'_>) -> Result<(), SqlError> {
    let given = columns.iter().find(|(column, _)| Some(*column) == table.auto_increment);
    match given {
        Some((_, Value::Int(given))) => table.pass_auto_increment(run.transaction, u64::try_from(*given).unwrap_or(0)),
        Some((_, Value::UInt(given))) => table.pass_auto_increment(run.transaction, *given),
        _ => Ok(()),
    }
}

pub(super) fn delete(plan: &DeletePlan, run: &mut Run<'_>) -> Result<StatementResult, SqlError> {
    let table = &*plan.table;
    let limit = count_or_all(plan.limit.as_ref(), run)?;
    // Index entries are removed by their keys, which any column may be part of.
    let wanted: Vec<usize> = (0..table.def.columns.len()).collect();
    let mut affected = 0_u64;
    let mut rows = LockedRows::open(table, &plan.access, &wanted, plan.filter.as_ref(), LOCKS, run)?;
    let sort = left_to_sort(&plan.sort, &plan.access, &rows);
    let when = When::of(table, &rows, sort, &[]);
    let mut change = |run: &mut Run<'_>, row: &mut Vec<Value>, key: &[u8], stored: &[u8]| {
        affected += 1;
        row_change::delete(table, row, key, stored, run)
    };
    each_row(table, &mut rows, sort, when, limit, run, &mut change)?;
    run.session.row_count.set(i64::try_from(affected).unwrap_or(i64::MAX));
    Ok(StatementResult::Done { affected, last_insert_id: 0, info: String::new() })
}
