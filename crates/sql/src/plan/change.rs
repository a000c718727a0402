//! Plans INSERT, REPLACE, UPDATE and DELETE.

use super::access;
use super::bind::Scope;
use super::{
    DeletePlan, InsertPlan, InsertRows, InsertValue, PlanContext, SortKey, UpdatePlan, select, unsupported,
    wanted_columns,
};
use crate::ast::{self, Delete, Insert, InsertSource, OrderBy, Update};
use crate::catalog::table::Table;
use crate::error::{ER_BAD_FIELD_ERROR, ER_FIELD_SPECIFIED_TWICE, ER_WRONG_VALUE_COUNT_ON_ROW, SqlError};
use crate::expr::Expr;

pub(super) fn insert(insert: &Insert, cx: &PlanContext<'_>) -> Result<InsertPlan, SqlError> {
    unsupported::no_partitions(&insert.partitions)?;
    let table = cx.table(&insert.table)?;
    let count = table.def.columns.len();
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
                .map(|(at, row)| insert_row(&table, row, targets.len(), at))
                .collect::<Result<_, SqlError>>()?,
        ),
        InsertSource::Query(source) => {
            let (plan, columns) = select::plan(source, cx)?;
            if columns.len() != targets.len() {
                return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&1]));
            }
            InsertRows::Select(Box::new(plan))
        }
    };
    let defaults = (0..count).filter(|column| !targets.contains(column)).collect();
    let mut scope = Scope::new(Some((&table, &insert.table.table)), "field list");
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
        on_duplicate.push((assigned_column(name, &scope)?, insert_value(value, &mut scope)?));
    }
    Ok(InsertPlan {
        replace: insert.replace,
        ignore: insert.ignore,
        targets,
        defaults,
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

fn insert_row(table: &Table, row: &[ast::Expr], targets: usize, at: usize) -> Result<Vec<InsertValue>, SqlError> {
    if row.len() != targets {
        return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&(at + 1)]));
    }
    let mut scope = Scope::new(Some((table, &table.def.name)), "field list");
    row.iter().map(|value| insert_value(value, &mut scope)).collect()
}

/// DEFAULT stands for the column's own, which is looked for when a row needs it.
fn insert_value(value: &ast::Expr, scope: &mut Scope<'_>) -> Result<InsertValue, SqlError> {
    match value {
        ast::Expr::Default(None) => Ok(InsertValue::Default),
        value => scope.bind(value).map(InsertValue::Expr),
    }
}

fn assigned_column(name: &ast::ColumnName, scope: &Scope<'_>) -> Result<usize, SqlError> {
    let column = scope.table_column(name);
    column.ok_or_else(|| SqlError::new(ER_BAD_FIELD_ERROR, &[&name.column, &"field list"]))
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
            ast::Expr::Default(None) => super::bind::default_expr(&table.def.columns[column])?,
            value => scope.bind(value)?,
        };
        assignments.push((column, value));
    }
    Ok(assignments)
}

fn sort_keys(order_by: &[OrderBy], scope: &mut Scope<'_>) -> Result<Vec<SortKey>, SqlError> {
    scope.clause = "order clause";
    order_by.iter().map(|key| Ok(SortKey { expr: scope.bind(&key.expr)?, descending: key.descending })).collect()
}

pub(super) fn update(update: &Update, cx: &PlanContext<'_>) -> Result<UpdatePlan, SqlError> {
    let named = unsupported::updated(update)?;
    let table = cx.table(&named.name)?;
    let known_as = named.alias.as_deref().unwrap_or(&named.name.table);
    let mut scope = Scope::new(Some((&table, known_as)), "where clause");
    let filter = update.filter.as_ref().map(|filter| scope.bind(filter)).transpose()?;
    scope.clause = "field list";
    let assignments = assignments(&table, &update.assignments, &mut scope)?;
    let sort = sort_keys(&update.order_by, &mut scope)?;
    let limit = limit(update.limit.as_ref())?;
    let access = access::choose(&table, &named.hints, filter.as_ref(), &sort, limit.is_some())?;
    let assigned = |column: usize| assignments.iter().any(|(known, _)| *known == column);
    let touched: Vec<usize> = (0..table.def.columns.len())
        .filter(|column| table.def.columns[*column].on_update_now && !assigned(*column))
        .collect();
    let exprs = filter.iter().chain(assignments.iter().map(|(_, value)| value)).chain(sort.iter().map(|key| &key.expr));
    let mut wanted = wanted_columns(&table, exprs);
    wanted.extend(assignments.iter().map(|(column, _)| *column));
    wanted.extend(&touched);
    // Indexes that hold a changed column are written with their old and new keys; all of them hold the
    // columns of the primary key.
    let changed = |column: &usize| assigned(*column) || touched.contains(column);
    let primary_changed = table.primary.is_some_and(|primary| table.indexes[primary].columns.iter().any(changed));
    for index in &table.indexes {
        if primary_changed || index.columns.iter().any(changed) {
            wanted.extend(&index.columns);
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok(UpdatePlan {
        ignore: update.ignore,
        access,
        filter,
        assignments,
        touched,
        wanted,
        sort,
        limit,
        table: table.clone(),
    })
}

pub(super) fn delete(delete: &Delete, cx: &PlanContext<'_>) -> Result<DeletePlan, SqlError> {
    let named = unsupported::deleted_from(delete)?;
    let table = cx.table(&named.name)?;
    let known_as = named.alias.as_deref().unwrap_or(&named.name.table);
    let mut scope = Scope::new(Some((&table, known_as)), "where clause");
    let filter = delete.filter.as_ref().map(|filter| scope.bind(filter)).transpose()?;
    let sort = sort_keys(&delete.order_by, &mut scope)?;
    let limit = limit(delete.limit.as_ref())?;
    let access = access::choose(&table, &named.hints, filter.as_ref(), &sort, limit.is_some())?;
    Ok(DeletePlan { access, filter, sort, limit, table: table.clone() })
}

fn limit(limit: Option<&ast::Expr>) -> Result<Option<Expr>, SqlError> {
    limit.map(|limit| Scope::new(None, "limit").bind(limit)).transpose()
}
