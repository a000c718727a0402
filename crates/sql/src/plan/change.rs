//! Plans INSERT, REPLACE, UPDATE and DELETE: what becomes of the rows. What finds them is planned as any query.

use std::sync::Arc;

use super::bind::{Scope, default_expr};
use super::query::{Change, LimitExprs, Query, Relation, SortKey};
use super::{
    DeletePlan, InsertPlan, InsertRows, InsertValue, PlanContext, UpdatePlan, Usage, finish, resolve, unsupported,
};
use crate::ast::{self, Delete, Insert, InsertSource, OrderBy, TableRef, Update};
use crate::catalog::definition::DefaultValue;
use crate::catalog::table::Table;
use crate::error::{ER_BAD_FIELD_ERROR, ER_FIELD_SPECIFIED_TWICE, ER_WRONG_VALUE_COUNT_ON_ROW, SqlError};
use crate::expr::Expr;
use crate::privilege::Privilege;
use crate::privilege::needs::Need;
use crate::types::Kind;

pub(super) fn insert(insert: &Insert, cx: &PlanContext<'_>) -> Result<InsertPlan, SqlError> {
    unsupported::no_partitions(&insert.partitions)?;
    let table = cx.table(&insert.table, Privilege::Insert, Usage::default())?;
    let count = table.def.columns.len();
    let names = [Relation::alone(table.clone(), &table.def.name)];
    let targets = match &insert.columns {
        None => (0..count).collect(),
        Some(names) => target_columns(&table, names)?,
    };
    let source = match &insert.source {
        // `VALUES ()` without columns is a row of defaults.
        InsertSource::Values(rows) if insert.columns.is_none() && rows.iter().all(Vec::is_empty) => {
            let defaults = || (0..count).map(|_| InsertValue::Default).collect();
            InsertRows::Values(rows.iter().map(|_| defaults()).collect())
        }
        InsertSource::Values(rows) => InsertRows::Values(
            rows.iter()
                .enumerate()
                .map(|(at, row)| insert_row(&names, row, targets.len(), at))
                .collect::<Result<_, SqlError>>()?,
        ),
        InsertSource::Query(source) => {
            let (query, columns) = resolve::query(source, cx)?;
            let plan = finish(query)?;
            if columns.len() != targets.len() {
                return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&1]));
            }
            InsertRows::Query(Box::new(plan))
        }
    };
    let source = with_default_exprs(source, &targets, &table)?;
    let read = match &source {
        InsertRows::Values(rows) => names[0].columns_read(rows.iter().flatten().filter_map(given_expr)),
        InsertRows::Query(_) => Vec::new(),
    };
    let (default_exprs, defaults): (Vec<usize>, Vec<usize>) =
        (0..count).filter(|column| !targets.contains(column)).partition(|column| has_default_expr(&table, *column));
    let default_exprs = default_exprs
        .into_iter()
        .map(|column| Ok((column, default_expr(&table.def.columns[column])?)))
        .collect::<Result<_, SqlError>>()?;
    let mut scope = Scope::new(&names, "field list");
    scope.new_row = Some(count);
    if let Some((name, columns)) = &insert.row_alias {
        let names: Vec<&str> = if columns.is_empty() {
            table.def.columns.iter().map(|column| column.name.as_str()).collect()
        } else if columns.len() == targets.len() {
            // The names are for the columns of the INSERT, in its order.
            let mut names = vec![""; count];
            targets.iter().zip(columns).for_each(|(target, name)| names[*target] = name);
            names
        } else {
            return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&1]));
        };
        scope.row_alias = Some((name, names));
    }
    let mut on_duplicate = Vec::with_capacity(insert.on_duplicate.len());
    for (name, value) in &insert.on_duplicate {
        let column = assigned_column(name, &scope)?;
        let value = insert_value(value, &mut scope)?;
        let value = match value {
            // Where a row is changed no value is made for it.
            InsertValue::Default if table.auto_increment == Some(column) => {
                InsertValue::Expr(default_expr(&table.def.columns[column])?)
            }
            value => with_default_expr(value, column, &table)?,
        };
        on_duplicate.push((column, value));
    }
    cx.needs_columns(&table, Privilege::Insert, targets.iter().copied());
    if insert.replace {
        let (database, name) = (table.def.database.clone(), table.def.name.clone());
        cx.needs.borrow_mut().push(Need::OnTable(database, name, Privilege::Delete.into()));
    }
    cx.needs_columns(&table, Privilege::Update, on_duplicate.iter().map(|(column, _)| *column));
    let read_before = names[0].columns_read(on_duplicate.iter().filter_map(|(_, value)| given_expr(value)));
    cx.needs_columns(&table, Privilege::Select, read_before);
    Ok(InsertPlan {
        replace: insert.replace,
        ignore: insert.ignore,
        targets,
        defaults,
        default_exprs,
        read,
        source,
        on_duplicate,
        table: table.clone(),
    })
}

fn target_columns(table: &Table, names: &[String]) -> Result<Vec<usize>, SqlError> {
    let mut targets = Vec::with_capacity(names.len());
    for name in names {
        let column = table.def.column_index(name);
        let column = column.ok_or_else(|| SqlError::new(ER_BAD_FIELD_ERROR, &[name, &"field list"]))?;
        if targets.contains(&column) {
            return Err(SqlError::new(ER_FIELD_SPECIFIED_TWICE, &[name]));
        }
        targets.push(column);
    }
    Ok(targets)
}

fn insert_row(names: &[Relation], row: &[ast::Expr], targets: usize, at: usize) -> Result<Vec<InsertValue>, SqlError> {
    if row.len() != targets {
        return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&(at + 1)]));
    }
    let mut scope = Scope::new(names, "field list");
    row.iter().map(|value| insert_value(value, &mut scope)).collect()
}

/// DEFAULT stands for the column's own, which is looked for when a row needs it.
fn insert_value(value: &ast::Expr, scope: &mut Scope<'_>) -> Result<InsertValue, SqlError> {
    match value {
        ast::Expr::Default(None) => Ok(InsertValue::Default),
        value => scope.bind(value).map(InsertValue::Expr),
    }
}

fn given_expr(value: &InsertValue) -> Option<&Expr> {
    match value {
        InsertValue::Expr(expr) => Some(expr),
        InsertValue::Default => None,
    }
}

fn has_default_expr(table: &Table, column: usize) -> bool {
    matches!(table.def.columns[column].default, DefaultValue::Expression { .. })
}

/// A DEFAULT of a column whose default is an expression, as that.
fn with_default_expr(value: InsertValue, column: usize, table: &Table) -> Result<InsertValue, SqlError> {
    match value {
        InsertValue::Default if has_default_expr(table, column) => {
            default_expr(&table.def.columns[column]).map(InsertValue::Expr)
        }
        InsertValue::Expr(expr) => Ok(InsertValue::Expr(for_column(expr, column, table))),
        value @ InsertValue::Default => Ok(value),
    }
}

/// What a column is set to: a column of bytes gets those of a text's character set.
fn for_column(value: Expr, column: usize, table: &Table) -> Expr {
    match table.def.columns[column].column_type.kind() {
        Kind::Bytes => value.for_bytes(),
        _ => value,
    }
}

fn with_default_exprs(source: InsertRows, targets: &[usize], table: &Table) -> Result<InsertRows, SqlError> {
    let row = |row: Vec<InsertValue>| {
        row.into_iter().zip(targets).map(|(value, column)| with_default_expr(value, *column, table)).collect()
    };
    match source {
        InsertRows::Values(rows) => rows.into_iter().map(row).collect::<Result<_, SqlError>>().map(InsertRows::Values),
        query @ InsertRows::Query(_) => Ok(query),
    }
}

fn assigned_column(name: &ast::ColumnName, scope: &Scope<'_>) -> Result<usize, SqlError> {
    let found = scope.find(name)?;
    found.map(|(_, column)| column).ok_or_else(|| SqlError::new(ER_BAD_FIELD_ERROR, &[&name.column, &"field list"]))
}

/// Columns and what they are set to. DEFAULT stands for the column's own.
fn assignments(
    table: &Table,
    written: &[(ast::ColumnName, ast::Expr)],
    scope: &mut Scope<'_>,
) -> Result<Vec<(usize, Expr)>, SqlError> {
    let mut assignments = Vec::with_capacity(written.len());
    for (name, value) in written {
        let column = assigned_column(name, scope)?;
        let value = match value {
            ast::Expr::Default(None) => default_expr(&table.def.columns[column])?,
            value => scope.bind(value)?,
        };
        assignments.push((column, for_column(value, column, table)));
    }
    Ok(assignments)
}

/// The one table that an UPDATE or DELETE names, and its rows that match: in which order, and how many at most.
fn found(
    named: &TableRef,
    filter: Option<&ast::Expr>,
    order_by: &[OrderBy],
    limit: Option<&ast::Expr>,
    privilege: Privilege,
    cx: &PlanContext<'_>,
) -> Result<(Arc<Table>, Query), SqlError> {
    let table = cx.table(&named.name, privilege, Usage { alias: named.alias.as_deref(), locked: true })?;
    let relations = vec![resolve::relation(named, table.clone())];
    let mut scope = Scope::new(&relations, "where clause");
    let filter = filter.map(|filter| scope.bind_filter(filter)).transpose()?;
    scope.clause = "order clause";
    let key = |key: &OrderBy| Ok(SortKey::new(scope.bind(&key.expr)?, key.descending));
    let sort = order_by.iter().map(key).collect::<Result<_, SqlError>>()?;
    let limit = limit.map(|limit| Scope::new(&[], "limit").bind(limit)).transpose()?;
    let limit = limit.map(|count| LimitExprs { offset: None, count });
    let query = Query { relations, filter, sort, limit, ..Query::default() };
    cx.needs_reads(&query);
    Ok((table, query))
}

pub(super) fn update(update: &Update, cx: &PlanContext<'_>) -> Result<UpdatePlan, SqlError> {
    let named = unsupported::updated(update)?;
    let (filter, limit) = (update.filter.as_ref(), update.limit.as_ref());
    let (table, mut query) = found(named, filter, &update.order_by, limit, Privilege::Update, cx)?;
    let mut scope = Scope::new(&query.relations, "field list");
    let assignments = assignments(&table, &update.assignments, &mut scope)?;
    cx.needs_columns(&table, Privilege::Update, assignments.iter().map(|(column, _)| *column));
    let read = query.relations[0].columns_read(assignments.iter().map(|(_, value)| value));
    cx.needs_columns(&table, Privilege::Select, read.iter().copied());
    let is_set = |column: usize| assignments.iter().any(|(known, _)| *known == column);
    let touched: Vec<usize> = (0..table.def.columns.len())
        .filter(|column| table.def.columns[*column].on_update_now && !is_set(*column))
        .collect();
    let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).chain(touched.iter().copied()).collect();
    // Indexes that hold a changed column are written with their old and new keys; all of them hold the
    // columns of the primary key.
    let mut before = assigned.clone();
    let is_changed = |column: &usize| assigned.contains(column);
    let primary_changed = table.primary.is_some_and(|primary| table.indexes[primary].columns.iter().any(is_changed));
    for index in &table.indexes {
        if primary_changed || index.columns.iter().any(is_changed) {
            before.extend(&index.columns);
        }
    }
    before.sort_unstable();
    before.dedup();
    let mut wanted = read;
    wanted.extend(&before);
    query.change = Some(Change { assigned, wanted, semi_consistent: true });
    Ok(UpdatePlan { table, ignore: update.ignore, rows: finish(query)?, assignments, touched, before })
}

pub(super) fn delete(delete: &Delete, cx: &PlanContext<'_>) -> Result<DeletePlan, SqlError> {
    let named = unsupported::deleted_from(delete)?;
    let (filter, limit) = (delete.filter.as_ref(), delete.limit.as_ref());
    let (table, mut query) = found(named, filter, &delete.order_by, limit, Privilege::Delete, cx)?;
    // Index entries are removed by their keys, which any column may be part of.
    let wanted = (0..table.def.columns.len()).collect();
    query.change = Some(Change { assigned: Vec::new(), wanted, semi_consistent: false });
    Ok(DeletePlan { table, rows: finish(query)? })
}
