//! The rows of the tables that WITH makes: once a statement, or once each time that the query runs whose surroundings they
//! read, when they are first asked for, in a file beyond `tmp_table_size`. The same for derived tables that are asked for
//! again and again.

use std::rc::Rc;

use hashbrown::HashSet;

use super::Run;
use super::insert::store_as;
use super::operators::limit::Bounds;
use super::subquery::{Derived, MadeRows, for_each};
use crate::error::{ER_CTE_MAX_RECURSION_DEPTH, ER_DATA_TOO_LONG, SqlError, WARN_DATA_TRUNCATED};
use crate::expr::write_group_key;
use crate::memory::key_bytes;
use crate::plan::node::{CommonPlan, QueryPlan, Recursion};
use crate::spill::{Budget, Cursor, RowList};
use crate::stack;
use crate::types::{ColumnType, Family, Loss, ResultType};
use crate::value::Value;

/// The rows of the table at this place.
pub(super) fn common(place: usize, run: &mut Run<'_>) -> Result<MadeRows, SqlError> {
    let nested = run.nested;
    if let Some(rows) = nested.made(place) {
        return Ok(rows);
    }
    let Some(plan) = nested.commons.get(place) else {
        return Err(SqlError::internal("a table of WITH has no plan"));
    };
    let around = nested.around(place);
    let mut run = run.within(around.as_deref().unwrap_or_default());
    let rows = Rc::new(stack::with_room_for_query(|| make(plan, place, &mut run))?);
    nested.keep_made(place, rows.clone());
    Ok(rows)
}

fn make(plan: &CommonPlan, place: usize, run: &mut Run<'_>) -> Result<RowList, SqlError> {
    match plan {
        CommonPlan::Query(query) => rows_of(query, run),
        CommonPlan::Recursive(recursion) => {
            let mut rows = rounds(recursion, place, run)?;
            rows.end(run.session)?;
            Ok(rows)
        }
    }
}

fn rows_of(query: &QueryPlan, run: &mut Run<'_>) -> Result<RowList, SqlError> {
    let mut rows = list(query.outputs.len(), run);
    for_each(query, run.outer, run, &mut |run, row| {
        run.step()?;
        rows.push(row.to_vec(), run.session)?;
        Ok(true)
    })?;
    rows.end(run.session)?;
    Ok(rows)
}

/// The rows of a derived table, if these are kept: they are where a query asks for them that runs for rows around it, and the
/// table is the same for all of those. Who only reads keeps them from the second time on, as most of them may not be wanted;
/// who changes rows from the first, so that they are as they were before.
pub(super) fn kept(query: &QueryPlan, run: &mut Run<'_>) -> Result<Option<MadeRows>, SqlError> {
    if run.outer.is_empty() || !query.is_same_each_time() {
        return Ok(None);
    }
    let nested = run.nested;
    match nested.derived(query) {
        Some(Derived::Made(rows)) => return Ok(Some(rows)),
        None if nested.only_reads => {
            nested.keep_derived(query, Derived::Asked);
            return Ok(None);
        }
        None | Some(Derived::Asked) => {}
    }
    let rows = Rc::new(stack::with_room_for_query(|| rows_of(query, run))?);
    nested.keep_derived(query, Derived::Made(rows.clone()));
    Ok(Some(rows))
}

/// A list of rows that stays to the statement's end.
fn list(columns: usize, run: &Run<'_>) -> RowList {
    RowList::new(Budget::of(run.session.tmp_table_size).staying(), columns)
}

/// Runs the rounds until one gives nothing new; 3636 if there are too many.
fn rounds(recursion: &Recursion, place: usize, run: &mut Run<'_>) -> Result<RowList, SqlError> {
    let limit = recursion.limit.as_ref().map(|limit| Bounds::of(limit, run)).transpose()?.unwrap_or(Bounds::NONE);
    let columns = recursion.types.len();
    let mut seen = HashSet::new();
    let mut all = list(columns, run);
    let mut last = list(columns, run);
    for seed in &recursion.seeds {
        add(seed, recursion, false, &mut seen, &mut last, run)?;
    }
    let mut count = 0;
    while !last.is_empty() && !limit.are_reached(all.len() + last.len()) {
        count += 1;
        if count > run.session.cte_max_recursion_depth {
            return Err(SqlError::new(ER_CTE_MAX_RECURSION_DEPTH, &[&count]));
        }
        run.check_killed()?;
        last.end(run.session)?;
        let round = Rc::new(last);
        last = list(columns, run);
        run.nested.set_last_round(place, Some(round.clone()));
        for plan in &recursion.rounds {
            add(plan, recursion, true, &mut seen, &mut last, run)?;
        }
        run.nested.set_last_round(place, None);
        let mut cursor = Cursor::default();
        while let Some(row) = round.next(&mut cursor, run.session)? {
            all.push(row.to_vec(), run.session)?;
        }
        if let Ok(round) = Rc::try_unwrap(round) {
            round.give_back(run.session);
        }
    }
    // Rows of a round that was not used, since there are enough.
    move_rows(last, &mut all, &|_| true, run)?;
    if recursion.limit.is_none() {
        return Ok(all);
    }
    let mut wanted = list(columns, run);
    move_rows(all, &mut wanted, &|at| limit.have(at), run)?;
    Ok(wanted)
}

/// Moves rows, of those that are wanted by their numbers, to the end of another list.
fn move_rows(
    mut from: RowList,
    to: &mut RowList,
    wanted: &dyn Fn(usize) -> bool,
    run: &Run<'_>,
) -> Result<(), SqlError> {
    from.end(run.session)?;
    let (mut cursor, mut at) = (Cursor::default(), 0);
    while let Some(row) = from.next(&mut cursor, run.session)? {
        if wanted(at) {
            to.push(row.to_vec(), run.session)?;
        }
        at += 1;
    }
    from.give_back(run.session);
    Ok(())
}

/// Adds the rows of a query, as the table has them, but for those that were there before where none comes twice.
fn add(
    plan: &QueryPlan,
    recursion: &Recursion,
    of_round: bool,
    seen: &mut HashSet<Vec<u8>>,
    rows: &mut RowList,
    run: &mut Run<'_>,
) -> Result<(), SqlError> {
    for_each(plan, run.outer, run, &mut |run, values| {
        let mut row = run.evaluate(|cx| {
            let parts = values.iter().zip(plan.select_list()).zip(&recursion.types);
            parts.map(|((value, expr), of)| expr.as_one_of(value.clone(), of, cx)).collect::<Result<Vec<_>, SqlError>>()
        })?;
        if of_round {
            let columns = recursion.types.iter().zip(&recursion.names);
            for (value, (of, name)) in row.iter_mut().zip(columns) {
                *value = held(std::mem::replace(value, Value::Null), of, name, rows.len() as u64 + 1, run)?;
            }
        }
        if recursion.distinct {
            let mut key = Vec::new();
            row.iter().zip(&recursion.collations).for_each(|(value, of)| write_group_key(value, *of, &mut key));
            let bytes = key_bytes(&key);
            if !seen.insert(key) {
                return Ok(true);
            }
            run.keep_always(bytes)?;
        }
        run.step()?;
        rows.push(row, run.session)?;
        Ok(true)
    })
}

/// A value of a round as its column holds it, whose type is that of the first rows: one that does not fit is error 1264,
/// 1366 or 1406 in strict mode, else the nearest one is taken with a warning.
fn held(value: Value, of: &ResultType, name: &str, row: u64, run: &Run<'_>) -> Result<Value, SqlError> {
    let column = match of.family() {
        Family::Integer => ColumnType::from_binlog(of.field, [0; 2], of.unsigned),
        Family::Decimal => {
            let signs = u32::from(!of.unsigned) + u32::from(of.decimals > 0);
            let precision = u8::try_from(of.length.saturating_sub(signs)).unwrap_or(u8::MAX);
            ColumnType::from_binlog(of.field, [precision, of.decimals], of.unsigned)
        }
        Family::String => return cut(value, of, name, row, run),
        Family::Null | Family::Real | Family::Temporal => None,
    };
    match column {
        Some(column) => store_as(value, &column, name, row, run.session.sql_mode, run),
        None => Ok(value),
    }
}

/// The same of a string.
fn cut(value: Value, of: &ResultType, name: &str, row: u64, run: &Run<'_>) -> Result<Value, SqlError> {
    let most = of.length as usize;
    let shorter = match &value {
        Value::Text(text) => text.char_indices().nth(most).map(|(end, _)| Value::text(&text[..end])),
        Value::Bytes(bytes) if bytes.len() > most => Some(Value::bytes(bytes[..most].to_vec())),
        _ => None,
    };
    let Some(shorter) = shorter else { return Ok(value) };
    if run.session.sql_mode.is_strict() {
        return Err(SqlError::new(ER_DATA_TOO_LONG, &[&name, &row]));
    }
    run.statement.push_loss(Loss::Warning, SqlError::new(WARN_DATA_TRUNCATED, &[&name, &row]));
    Ok(shorter)
}
