//! Plans ON DUPLICATE KEY UPDATE: what its values may name, and where they read it.
//!
//! Row layout: the columns of the table as the row in the way has them, then those of the new row, then the columns of the
//! SELECT which the values read. Each of these is one more output of that SELECT, after its select list.

use std::sync::Arc;

use super::InsertValue;
use super::PlanContext;
use super::bind::{Around, Scope, default_expr};
use super::change::{assigned_column, insert_value, with_default_expr};
use super::query::{Query, Relation, column_at};
use crate::ast::Insert;
use crate::catalog::table::Table;
use crate::error::{ER_DUP_FIELDNAME, ER_NONUNIQ_TABLE, ER_WRONG_VALUE_COUNT_ON_ROW, SqlError};
use crate::expr::Expr;
use crate::privilege::Privilege;

/// What is set of the row in the way. `source` is the query that gives the rows, if one does, before it is planned
/// further: its outputs become those that are read.
pub(super) fn plan(
    insert: &Insert,
    table: &Arc<Table>,
    targets: &[usize],
    mut source: Option<&mut Query>,
    cx: &PlanContext<'_>,
) -> Result<Vec<(usize, InsertValue)>, SqlError> {
    let count = table.def.columns.len();
    let target = [Relation::alone(table.clone(), &table.def.name)];
    let mut relations = vec![Relation::alone(table.clone(), &table.def.name)];
    let mut visible = None;
    if let Some(query) = source.as_deref().filter(|query| shows_columns(query)) {
        relations.extend(query.relations.iter().map(|relation| relation.columns_from(2 * count + relation.first_slot)));
        let slots = |visible: &Vec<usize>| (0..count).chain(visible.iter().map(|slot| 2 * count + slot)).collect();
        visible = query.visible.as_ref().map(slots);
    }
    let visible: Option<Vec<usize>> = visible;
    let mut scope = Scope::new(&relations, "field list").within(Around { cx: Some(cx), names: None });
    scope.visible = visible.as_deref();
    scope.new_row = Some(count);
    if let Some((name, columns)) = &insert.row_alias {
        if *name == table.def.name {
            return Err(SqlError::new(ER_NONUNIQ_TABLE, &[name]));
        }
        scope.row_alias = Some((name, row_alias(columns, table, targets)?));
    }
    let of_target = Scope::new(&target, "field list");
    let mut assignments = Vec::with_capacity(insert.on_duplicate.len());
    for (name, value) in &insert.on_duplicate {
        let column = assigned_column(name, &of_target)?;
        let value = match insert_value(value, &mut scope)? {
            // Where a row is changed no value is made for it.
            InsertValue::Default if table.auto_increment == Some(column) => {
                InsertValue::Expr(default_expr(&table.def.columns[column])?)
            }
            value => with_default_expr(value, column, table)?,
        };
        assignments.push((column, value));
    }
    if let Some(query) = &mut source {
        read_from(query, 2 * count, &mut assignments, cx);
    }
    Ok(assignments)
}

/// Whether the columns of its tables can be named: not where rows of several are made to one, and not those of the operands
/// of a set operation.
fn shows_columns(query: &Query) -> bool {
    query.grouping.is_none() && query.relations.iter().all(|relation| !relation.known_as.is_empty())
}

/// What `AS new(a, b)` calls the columns of the table.
fn row_alias<'a>(columns: &'a [String], table: &'a Table, targets: &[usize]) -> Result<Vec<&'a str>, SqlError> {
    // The names are for the columns of the INSERT, in its order; the new row has no others.
    let mut names = vec![""; table.def.columns.len()];
    if columns.is_empty() {
        targets.iter().for_each(|target| names[*target] = table.def.columns[*target].name.as_str());
        return Ok(names);
    }
    if columns.len() != targets.len() {
        return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&1]));
    }
    for (at, name) in columns.iter().enumerate() {
        if columns[..at].iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Err(SqlError::new(ER_DUP_FIELDNAME, &[name]));
        }
    }
    targets.iter().zip(columns).for_each(|(target, name)| names[*target] = name);
    Ok(names)
}

/// Has the query give the columns that are read of it, which the values find from the slot `first` on.
fn read_from(query: &mut Query, first: usize, assignments: &mut [(usize, InsertValue)], cx: &PlanContext<'_>) {
    let mut read: Vec<usize> = Vec::new();
    for (_, value) in assignments {
        let InsertValue::Expr(expr) = value else { continue };
        expr.walk_mut(&mut |part| {
            let Expr::Column(column) = part else { return };
            let Some(slot) = column.slot.checked_sub(first) else { return };
            let place = read.iter().position(|known| *known == slot).unwrap_or_else(|| {
                read.push(slot);
                read.len() - 1
            });
            column.slot = first + place;
        });
    }
    let columns = read.iter().filter_map(|slot| column_at(&query.relations, *slot));
    let outputs: Vec<Expr> = columns.map(|(relation, at)| relation.column_expr(at)).collect();
    for relation in &query.relations {
        if let Some(table) = relation.table() {
            cx.needs_columns(table, Privilege::Select, relation.columns_read(outputs.iter()));
        }
    }
    query.hidden_outputs = outputs.len();
    query.outputs.extend(outputs);
}
