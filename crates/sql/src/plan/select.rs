//! Plans SELECT.

use std::sync::Arc;

use super::access::{self, Access};
use super::bind::{Scope, column_expr};
use super::{Grouping, LimitExprs, PlanContext, SelectPlan, SortKey, unsupported, wanted_columns};
use crate::ast::{self, Limit, OrderBy, Query, Select, SelectItem};
use crate::catalog::definition::IndexKind;
use crate::catalog::table::Table;
use crate::error::{
    ER_BAD_FIELD_ERROR, ER_MIX_OF_GROUP_FUNC_AND_FIELDS, ER_NO_TABLES_USED, ER_UNKNOWN_TABLE,
    ER_WRONG_FIELD_WITH_GROUP, SqlError,
};
use crate::expr::Expr;
use crate::expr::aggregate::Aggregate;
use crate::types::{ResultColumn, SqlMode};
use crate::value::Value;

/// One column of the result while it is planned.
struct Output {
    expr: Expr,
    name: String,
    /// Written by the statement.
    alias: bool,
}

pub(super) fn plan(query: &Query, cx: &PlanContext<'_>) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
    let simple = unsupported::simple(query)?;
    let (select, from) = (simple.select, simple.table);
    let table = from.map(|from| cx.source(&from.name)).transpose()?;
    let known_as = from.map(|from| from.alias.as_deref().unwrap_or(&from.name.table));
    let scoped = table.as_deref().zip(known_as);
    let mut aggregates = Vec::new();

    let mut scope = Scope::new(scoped, "where clause");
    let filter = select.filter.as_ref().map(|filter| scope.bind(filter)).transpose()?;

    let outputs = outputs(select, scoped, cx.sql_mode, &mut aggregates)?;
    let aliases = || outputs.iter().map(|output| (output.name.as_str(), output.expr.clone())).collect::<Vec<_>>();

    let mut scope = Scope::new(scoped, "group statement");
    scope.aliases = aliases();
    let keys = select
        .group_by
        .iter()
        .map(|key| positional(key, &outputs, "group statement").unwrap_or_else(|| scope.bind(key)))
        .collect::<Result<Vec<_>, SqlError>>()?;

    let mut scope = Scope::new(scoped, "having clause");
    scope.aliases = aliases();
    scope.aliases_first = true;
    scope.aggregates = Some(&mut aggregates);
    let having = select.having.as_ref().map(|having| scope.bind(having)).transpose()?;

    let sort = sort_keys(simple.order_by, scoped, &outputs, &mut aggregates)?;
    let limit = limit(simple.limit)?;

    let grouped = !keys.is_empty() || !aggregates.is_empty();
    if grouped
        && let Some(table) = &table
        && cx.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY)
    {
        check_grouping(table, &keys, &outputs, &sort)?;
    }
    let (mut access, sort) = match (&table, from) {
        (Some(table), Some(from)) => {
            let by_path: &[SortKey] = if grouped || select.distinct { &[] } else { &sort };
            let limited = simple.limit.is_some();
            (access::choose(table, &from.hints, filter.as_ref(), by_path, limited)?, sort)
        }
        _ => (Access::scan(), sort),
    };
    let columns = outputs.iter().map(|output| result_column(output, scoped)).collect();
    let table_slots = table.as_ref().map_or(0, |table| table.def.columns.len());
    let slots = table_slots + aggregates.len();
    let outputs: Vec<Expr> = outputs.into_iter().map(|output| output.expr).collect();
    let wanted = match &table {
        Some(table) => {
            let exprs = outputs
                .iter()
                .chain(&filter)
                .chain(&having)
                .chain(&keys)
                .chain(sort.iter().map(|key| &key.expr))
                .chain(aggregates.iter().flat_map(|aggregate: &Aggregate| &aggregate.args));
            wanted_columns(table, exprs)
        }
        None => Vec::new(),
    };
    if let (Some(table), None) = (&table, simple.locking) {
        let gives = |index| wanted.iter().all(|column| table.entry_gives(index, *column));
        access.covering = access.index.is_some_and(|index| table.primary != Some(index) && gives(index));
    }
    let grouping = grouped.then_some(Grouping { keys, aggregates, first_slot: table_slots });
    let locking = simple.locking;
    let distinct = select.distinct;
    Ok((
        SelectPlan { table, access, wanted, filter, grouping, having, outputs, distinct, sort, limit, locking, slots },
        columns,
    ))
}

fn outputs(
    select: &Select,
    scoped: Option<(&Table, &str)>,
    sql_mode: SqlMode,
    aggregates: &mut Vec<Aggregate>,
) -> Result<Vec<Output>, SqlError> {
    let mut outputs = Vec::new();
    let mut scope = Scope::new(scoped, "field list");
    scope.signed_difference = sql_mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION);
    scope.aggregates = Some(aggregates);
    for item in &select.items {
        match item {
            SelectItem::Wildcard { table: named } => {
                let Some((table, known_as)) = scoped else { return Err(SqlError::new(ER_NO_TABLES_USED, &[])) };
                if let Some(named) = named
                    && (named.table != known_as
                        || named.database.as_ref().is_some_and(|name| *name != table.def.database))
                {
                    return Err(SqlError::new(ER_UNKNOWN_TABLE, &[&named.table, &"field list"]));
                }
                for (slot, column) in table.def.columns.iter().enumerate() {
                    outputs.push(Output { expr: column_expr(column, slot), name: column.name.clone(), alias: false });
                }
            }
            SelectItem::Expr { expr, alias, text, .. } => {
                let bound = scope.bind(expr)?;
                let name = match (alias, expr) {
                    (Some(alias), _) => alias.clone(),
                    (None, ast::Expr::Column(column)) => column.column.clone(),
                    (None, _) => text.clone(),
                };
                outputs.push(Output { expr: bound, name, alias: alias.is_some() });
            }
        }
    }
    Ok(outputs)
}

/// `ORDER BY 2` and `GROUP BY 2` mean the second item.
fn positional(key: &ast::Expr, outputs: &[Output], clause: &str) -> Option<Result<Expr, SqlError>> {
    let ast::Expr::Literal(Value::Int(position)) = key else { return None };
    let output = usize::try_from(*position).ok().and_then(|position| outputs.get(position.checked_sub(1)?));
    Some(
        output.map(|output| output.expr.clone()).ok_or_else(|| SqlError::new(ER_BAD_FIELD_ERROR, &[position, &clause])),
    )
}

fn sort_keys(
    order_by: &[OrderBy],
    scoped: Option<(&Table, &str)>,
    outputs: &[Output],
    aggregates: &mut Vec<Aggregate>,
) -> Result<Vec<SortKey>, SqlError> {
    let mut scope = Scope::new(scoped, "order clause");
    scope.aliases = outputs.iter().map(|output| (output.name.as_str(), output.expr.clone())).collect();
    scope.aggregates = Some(aggregates);
    let mut sort = Vec::with_capacity(order_by.len());
    for key in order_by {
        // A bare name is an alias before it is a column; inside of expressions it is the other way round.
        scope.aliases_first = matches!(key.expr, ast::Expr::Column(_));
        let expr = match positional(&key.expr, outputs, "order clause") {
            Some(expr) => expr?,
            None => scope.bind(&key.expr)?,
        };
        sort.push(SortKey { expr, descending: key.descending });
    }
    Ok(sort)
}

fn limit(limit: Option<&Limit>) -> Result<Option<LimitExprs>, SqlError> {
    let mut scope = Scope::new(None, "limit");
    let Some(limit) = limit else { return Ok(None) };
    let offset = limit.offset.as_ref().map(|offset| scope.bind(offset)).transpose()?;
    Ok(Some(LimitExprs { offset, count: scope.bind(&limit.count)? }))
}

/// What is selected and sorted by must be the same for all rows of a group.
fn check_grouping(table: &Table, keys: &[Expr], outputs: &[Output], sort: &[SortKey]) -> Result<(), SqlError> {
    let is_key = |column: usize| keys.iter().any(|key| matches!(key, Expr::Column(known) if known.slot == column));
    // A whole unique key decides all other columns.
    let decided = table.indexes.iter().any(|index| {
        let never_null = index.parts.iter().all(|part| !part.nullable);
        index.kind != IndexKind::Secondary && never_null && index.columns.iter().all(|column| is_key(*column))
    });
    if decided {
        return Ok(());
    }
    let checked = outputs
        .iter()
        .enumerate()
        .map(|(at, output)| (at, &output.expr, "SELECT list"))
        .chain(sort.iter().enumerate().map(|(at, key)| (at, &key.expr, "ORDER BY")));
    for (at, expr, clause) in checked {
        let Some(column) = ungrouped_column(table, expr, keys) else { continue };
        let name = format!("{}.{}.{}", table.def.database, table.def.name, table.def.columns[column].name);
        let code = if keys.is_empty() { ER_MIX_OF_GROUP_FUNC_AND_FIELDS } else { ER_WRONG_FIELD_WITH_GROUP };
        return Err(SqlError::new(code, &[&(at + 1), &clause, &name]));
    }
    Ok(())
}

/// A column of the table that `expr` reads outside of any group key.
fn ungrouped_column(table: &Table, expr: &Expr, keys: &[Expr]) -> Option<usize> {
    let mut rest = expr.clone();
    rest.walk_mut(&mut |part| {
        if keys.contains(part) {
            *part = Expr::Literal(Value::Null);
        }
    });
    let mut found = None;
    rest.walk(&mut |part| {
        if let Expr::Column(column) = part
            && column.slot < table.def.columns.len()
        {
            found.get_or_insert(column.slot);
        }
    });
    found
}

fn result_column(output: &Output, scoped: Option<(&Table, &str)>) -> ResultColumn {
    let computed = ResultColumn::computed(output.name.as_str(), output.expr.result_type(&[]));
    let Some((table, known_as)) = scoped else { return computed };
    let Expr::Column(column) = &output.expr else { return computed };
    let Some(def) = table.def.columns.get(column.slot) else { return computed };
    let leads = |kind: IndexKind| {
        table.indexes.iter().any(|index| index.kind == kind && index.columns.first() == Some(&column.slot))
    };
    let alone =
        |kind: IndexKind| table.indexes.iter().any(|index| index.kind == kind && index.columns == [column.slot]);
    ResultColumn {
        name: if output.alias { Arc::from(output.name.as_str()) } else { Arc::from(def.name.as_str()) },
        table: Arc::from(known_as),
        original_name: Arc::from(def.name.as_str()),
        original_table: Arc::from(table.def.name.as_str()),
        database: Arc::from(table.def.database.as_str()),
        primary_key: table.primary.is_some_and(|primary| table.indexes[primary].columns.contains(&column.slot)),
        unique_key: alone(IndexKind::Unique),
        multiple_key: leads(IndexKind::Secondary) || (leads(IndexKind::Unique) && !alone(IndexKind::Unique)),
        auto_increment: def.auto_increment,
        ..computed
    }
}
