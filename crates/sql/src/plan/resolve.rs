//! First stage: binds the names of a query, and so makes a [`Query`] and the columns of its result.
//!
//! What it reads is a whole query of the grammar; what no stage can do yet is refused by [`unsupported`]. Whatever is
//! wrong with a statement in itself, such as a name that nothing has, is found here: no later stage refuses a query
//! (an unknown index of a hint is found where indexes are chosen).

use std::sync::Arc;

use super::bind::Scope;
use super::query::{Grouping, LimitExprs, Query, Relation, SortKey, column_at, width};
use super::{PlanContext, Usage, unsupported};
use crate::ast::{self, Limit, OrderBy, Select, SelectItem, TableRef};
use crate::catalog::definition::IndexKind;
use crate::catalog::table::Table;
use crate::error::{
    ER_BAD_FIELD_ERROR, ER_ILLEGAL_REFERENCE, ER_MIX_OF_GROUP_FUNC_AND_FIELDS, ER_NO_TABLES_USED, ER_TOO_MANY_FIELDS,
    ER_UNKNOWN_TABLE, ER_WRONG_FIELD_WITH_GROUP, ER_WRONG_GROUP_FIELD, SqlError,
};
use crate::expr::Expr;
use crate::expr::aggregate::Aggregate;
use crate::privilege::{INFORMATION_SCHEMA, Privilege};
use crate::types::{ResultColumn, SqlMode};
use crate::value::Value;

/// One column of the result while it is planned.
struct Output {
    expr: Expr,
    /// As the statement writes it; the table's own name for `*`.
    name: String,
    alias: bool,
}

/// Resolves a query.
pub(super) fn query(query: &ast::Query, cx: &PlanContext<'_>) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    let simple = unsupported::simple(query)?;
    let select = simple.select;
    let locked = simple.locking.is_some_and(|locking| locking.exclusive);
    let relations = relations(&simple.tables, locked, cx)?;
    let mut aggregates = Vec::new();

    let mut scope = Scope::new(&relations, "where clause");
    let filter = select.filter.as_ref().map(|filter| scope.bind_filter(filter)).transpose()?;

    let outputs = outputs(select, &relations, cx.sql_mode, &mut aggregates)?;
    let aliases = || outputs.iter().map(|output| (output.name.as_str(), output.expr.clone())).collect::<Vec<_>>();

    let mut scope = Scope::new(&relations, "group statement");
    scope.aliases = aliases();
    let keys = select
        .group_by
        .iter()
        .map(|key| group_key(key, &outputs, &relations, &mut scope))
        .collect::<Result<Vec<_>, SqlError>>()?;

    let mut scope = Scope::new(&relations, "having clause");
    scope.aliases = aliases();
    scope.having = Some(&keys);
    scope.aggregates = Some(&mut aggregates);
    let having = select.having.as_ref().map(|having| scope.bind(having)).transpose()?;

    let sort = sort_keys(simple.order_by, &relations, &outputs, &mut aggregates)?;
    let limit = limit(simple.limit)?;

    let grouped = !keys.is_empty() || !aggregates.is_empty();
    if grouped && cx.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY) {
        check_grouping(&relations, &keys, &outputs, &sort)?;
    }
    let columns = outputs.iter().map(|output| result_column(output, &relations)).collect();
    let grouping = grouped.then(|| Grouping { keys, aggregates, first_slot: width(&relations) });
    let outputs = outputs.into_iter().map(|output| output.expr).collect();
    let (distinct, locking) = (select.distinct, simple.locking);
    let query = Query { relations, filter, grouping, having, outputs, distinct, sort, limit, locking, change: None };
    cx.needs_reads(&query);
    Ok((query, columns))
}

/// Columns of a result: prepared statements count them in two bytes.
const MAX_COLUMNS: usize = u16::MAX as usize;

/// The tables of FROM, each with its slots.
fn relations(tables: &[&TableRef], locked: bool, cx: &PlanContext<'_>) -> Result<Vec<Relation>, SqlError> {
    let mut relations = Vec::new();
    for table in tables {
        let first_slot = width(&relations);
        let usage = Usage { alias: table.alias.as_deref(), locked };
        relations.push(Relation { first_slot, ..relation(table, cx.table(&table.name, Privilege::Select, usage)?) });
    }
    Ok(relations)
}

/// A table as a statement names it.
pub(super) fn relation(named: &TableRef, table: Arc<Table>) -> Relation {
    let known_as = named.alias.as_deref().unwrap_or(&named.name.table);
    Relation { hints: named.hints.clone(), ..Relation::alone(table, known_as) }
}

fn outputs(
    select: &Select,
    relations: &[Relation],
    sql_mode: SqlMode,
    aggregates: &mut Vec<Aggregate>,
) -> Result<Vec<Output>, SqlError> {
    let mut outputs = Vec::new();
    let mut scope = Scope::new(relations, "field list");
    scope.signed_difference = sql_mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION);
    scope.aggregates = Some(aggregates);
    for item in &select.items {
        match item {
            SelectItem::Wildcard { table: named } => wildcard(named.as_ref(), relations, &mut outputs)?,
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
        if outputs.len() > MAX_COLUMNS {
            return Err(SqlError::new(ER_TOO_MANY_FIELDS, &[]));
        }
    }
    Ok(outputs)
}

/// `*`, `t.*`
fn wildcard(named: Option<&ast::TableName>, relations: &[Relation], outputs: &mut Vec<Output>) -> Result<(), SqlError> {
    if relations.is_empty() {
        return Err(SqlError::new(ER_NO_TABLES_USED, &[]));
    }
    let is_meant = |relation: &Relation| {
        named.is_none_or(|named| {
            named.table == relation.known_as
                && named.database.as_ref().is_none_or(|name| *name == relation.table.def.database)
        })
    };
    let before = outputs.len();
    for relation in relations.iter().filter(|relation| is_meant(relation)) {
        outputs.extend(relation.table.def.columns.iter().enumerate().map(|(at, column)| Output {
            expr: relation.column_expr(at),
            name: column.name.clone(),
            alias: false,
        }));
    }
    match named {
        Some(named) if outputs.len() == before => Err(SqlError::new(ER_UNKNOWN_TABLE, &[&named.table, &"field list"])),
        _ => Ok(()),
    }
}

/// `ORDER BY 2` and `GROUP BY 2` mean the second item.
fn positional(key: &ast::Expr, outputs: &[Output], clause: &str) -> Option<Result<Expr, SqlError>> {
    let ast::Expr::Literal(Value::Int(position)) = key else { return None };
    let output = usize::try_from(*position).ok().and_then(|position| outputs.get(position.checked_sub(1)?));
    Some(
        output.map(|output| output.expr.clone()).ok_or_else(|| SqlError::new(ER_BAD_FIELD_ERROR, &[position, &clause])),
    )
}

/// A key of GROUP BY; 1056 if it is an item of the select list that an aggregate is part of, 1247 if it reads one.
fn group_key(
    key: &ast::Expr,
    outputs: &[Output],
    relations: &[Relation],
    scope: &mut Scope<'_>,
) -> Result<Expr, SqlError> {
    let by_place = positional(key, outputs, "group statement").transpose()?;
    let is_item = by_place.is_some() || matches!(key, ast::Expr::Column(_));
    let bound = by_place.map_or_else(|| scope.bind(key), Ok)?;
    let mut aggregate = None;
    bound.walk(&mut |part| {
        if matches!(part, Expr::Column(column) if column.slot >= width(relations)) {
            aggregate.get_or_insert_with(|| part.clone());
        }
    });
    let Some(aggregate) = aggregate else { return Ok(bound) };
    let named = |expr: &Expr| outputs.iter().find(|output| output.expr == *expr).map_or("", |output| &output.name);
    Err(if is_item {
        SqlError::new(ER_WRONG_GROUP_FIELD, &[&named(&bound)])
    } else {
        SqlError::new(ER_ILLEGAL_REFERENCE, &[&named(&aggregate), &"reference to group function"])
    })
}

fn sort_keys(
    order_by: &[OrderBy],
    relations: &[Relation],
    outputs: &[Output],
    aggregates: &mut Vec<Aggregate>,
) -> Result<Vec<SortKey>, SqlError> {
    let mut scope = Scope::new(relations, "order clause");
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
        sort.push(SortKey::new(expr, key.descending));
    }
    Ok(sort)
}

fn limit(limit: Option<&Limit>) -> Result<Option<LimitExprs>, SqlError> {
    let mut scope = Scope::new(&[], "limit");
    let Some(limit) = limit else { return Ok(None) };
    let offset = limit.offset.as_ref().map(|offset| scope.bind(offset)).transpose()?;
    Ok(Some(LimitExprs { offset, count: scope.bind(&limit.count)? }))
}

/// What is selected and sorted by must be the same for all rows of a group.
fn check_grouping(relations: &[Relation], keys: &[Expr], outputs: &[Output], sort: &[SortKey]) -> Result<(), SqlError> {
    let checked = outputs
        .iter()
        .enumerate()
        .map(|(at, output)| (at, &output.expr, "SELECT list"))
        .chain(sort.iter().enumerate().map(|(at, key)| (at, &key.expr, "ORDER BY")));
    for (at, expr, clause) in checked {
        let Some((relation, column)) = ungrouped_column(relations, expr, keys) else { continue };
        let def = &relation.table.def;
        let name = format!("{}.{}.{}", def.database, def.name, def.columns[column].name);
        let code = if keys.is_empty() { ER_MIX_OF_GROUP_FUNC_AND_FIELDS } else { ER_WRONG_FIELD_WITH_GROUP };
        return Err(SqlError::new(code, &[&(at + 1), &clause, &name]));
    }
    Ok(())
}

/// Whether the keys decide all columns of a relation: a whole unique key is among them.
fn is_decided(relation: &Relation, keys: &[Expr]) -> bool {
    let is_key = |column: usize| {
        let slot = relation.first_slot + column;
        keys.iter().any(|key| matches!(key, Expr::Column(known) if known.slot == slot))
    };
    relation.table.indexes.iter().any(|index| {
        let never_null = index.parts.iter().all(|part| !part.nullable);
        index.kind != IndexKind::Secondary && never_null && index.columns.iter().all(|column| is_key(*column))
    })
}

/// A column that `expr` reads outside of any group key and that the keys do not decide.
fn ungrouped_column<'r>(relations: &'r [Relation], expr: &Expr, keys: &[Expr]) -> Option<(&'r Relation, usize)> {
    let mut rest = expr.clone();
    rest.walk_mut(&mut |part| {
        if keys.contains(part) {
            *part = Expr::Literal(Value::Null);
        }
    });
    let mut found = None;
    rest.walk(&mut |part| {
        if let Expr::Column(column) = part
            && let Some((relation, column)) = column_at(relations, column.slot)
            && !is_decided(relation, keys)
        {
            found.get_or_insert((relation, column));
        }
    });
    found
}

fn result_column(output: &Output, relations: &[Relation]) -> ResultColumn {
    let computed = ResultColumn::computed(output.name.as_str(), output.expr.result_type(&[]));
    let Expr::Column(column) = &output.expr else { return computed };
    let Some((relation, at)) = column_at(relations, column.slot) else { return computed };
    let table = &relation.table;
    let def = &table.def.columns[at];
    let leads =
        |kind: IndexKind| table.indexes.iter().any(|index| index.kind == kind && index.columns.first() == Some(&at));
    // As in MySQL 8.0, where these tables are views.
    let keeps_name = !output.alias && table.def.database.eq_ignore_ascii_case(INFORMATION_SCHEMA);
    let alone = |kind: IndexKind| table.indexes.iter().any(|index| index.kind == kind && index.columns == [at]);
    ResultColumn {
        name: Arc::from(if keeps_name { def.name.as_str() } else { output.name.as_str() }),
        table: Arc::from(relation.known_as.as_str()),
        original_name: Arc::from(def.name.as_str()),
        original_table: Arc::from(table.def.name.as_str()),
        database: Arc::from(table.def.database.as_str()),
        primary_key: table.primary.is_some_and(|primary| table.indexes[primary].columns.contains(&at)),
        unique_key: alone(IndexKind::Unique),
        multiple_key: leads(IndexKind::Secondary) || (leads(IndexKind::Unique) && !alone(IndexKind::Unique)),
        auto_increment: def.auto_increment,
        ..computed
    }
}
