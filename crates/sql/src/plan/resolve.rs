//! First stage: binds the names of a query, and so makes a [`Query`] and the columns of its result.
//!
//! What it reads is a whole query of the grammar; what no stage can do yet is refused by [`unsupported`]. Whatever is
//! wrong with a statement in itself, such as a name that nothing has, is found here: no later stage refuses a query
//! (an unknown index of a hint is found where indexes are chosen).

use std::cell::RefCell;
use std::sync::Arc;

use super::aggregated::Aggregated;
use super::bind::{Around, Scope};
use super::dependence::Decided;
use super::from::{From, Purpose};
use super::grouping::PerGroup;
use super::node::RowSource;
use super::query::{Grouping, LimitExprs, Query, Relation, SortKey, Source, column_at, width};
use super::{PlanContext, finish, from, hints, set, unsupported, with};
use crate::ast::{self, Limit, OrderBy, QueryBody, Select, SelectItem, TableExpr, TableRef};
use crate::catalog::definition::IndexKind;
use crate::error::{
    ER_AGGREGATE_ORDER_FOR_UNION, ER_AGGREGATE_ORDER_NON_AGG_QUERY, ER_BAD_FIELD_ERROR, ER_BAD_TABLE_ERROR,
    ER_ILLEGAL_REFERENCE, ER_NO_TABLES_USED, ER_TABLENAME_NOT_ALLOWED_HERE, ER_TOO_MANY_FIELDS, ER_WRONG_GROUP_FIELD,
    SqlError,
};
use crate::expr::Expr;
use crate::privilege::INFORMATION_SCHEMA;
use crate::stack;
use crate::types::{ResultColumn, ResultType, SqlMode};
use crate::value::Value;

/// One column of the result while it is planned.
struct Output {
    expr: Expr,
    /// As the statement writes it; the table's own name for `*`.
    name: String,
    alias: bool,
}

/// Resolves a query.
pub(super) fn query(query: &ast::Query, around: Around<'_>) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    stack::with_room_for_query(|| in_its_own_frame(query, around))
}

fn in_its_own_frame(query: &ast::Query, around: Around<'_>) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    if around.cx.is_none() {
        return Err(SqlError::unsupported("subqueries here"));
    }
    unsupported::into(query.into.as_ref())?;
    let derived = with::derived(query, around);
    let query = derived.as_deref().unwrap_or(query);
    let ((mut bound, columns), made_anew) = with::below(query.with.as_ref(), around, |cx| {
        with_tail(&query.body, Tail::of(query), cx, Around { cx: Some(cx), ..around })
    })?;
    bound.made_anew.extend(made_anew);
    Ok((bound, columns))
}

/// What follows the body of a query.
#[derive(Clone, Copy, Default)]
struct Tail<'q> {
    order_by: &'q [OrderBy],
    limit: Option<&'q Limit>,
    locking: &'q [ast::Locking],
}

impl<'q> Tail<'q> {
    fn of(query: &'q ast::Query) -> Tail<'q> {
        Tail { order_by: &query.order_by, limit: query.limit.as_ref(), locking: &query.locking }
    }

    fn is_empty(self) -> bool {
        self.order_by.is_empty() && self.limit.is_none() && self.locking.is_empty()
    }
}

/// Resolves an operand of a set operation.
pub(super) fn body(body: &QueryBody, around: Around<'_>) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    let Some(cx) = around.cx else { return Err(SqlError::unsupported("subqueries here")) };
    stack::with_room_for_query(|| with_tail(body, Tail::default(), cx, around))
}

fn with_tail(
    body: &QueryBody,
    tail: Tail<'_>,
    cx: &PlanContext<'_>,
    around: Around<'_>,
) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    match body {
        QueryBody::Select(select) => block(select, tail, cx, around),
        QueryBody::Table(name) => block(&whole_table(name), tail, cx, around),
        QueryBody::Nested(inner) if tail.is_empty() => query(inner, around),
        // Its own clauses follow the parentheses.
        QueryBody::Nested(inner) if inner.with.is_none() && inner.into.is_none() && Tail::of(inner).is_empty() => {
            with_tail(&inner.body, tail, cx, around)
        }
        QueryBody::Nested(inner) => {
            let (inner, columns) = query(inner, around)?;
            let rows = RowSource::Query(Box::new(finish(inner, cx)?));
            tail_over(Source::Made { rows, columns: columns.clone() }, columns, tail, false, around)
        }
        QueryBody::Set { first, rest } => {
            let (source, columns) = set::operation(first, rest, around)?;
            check_order(tail.order_by)?;
            tail_over(source, columns, tail, counts_all(first), around)
        }
        QueryBody::Values(rows) => {
            let (rows, columns) = set::values(rows, around)?;
            tail_over(Source::Made { rows, columns: columns.clone() }, columns, tail, false, around)
        }
    }
}

/// `TABLE t` is `SELECT * FROM t`.
fn whole_table(name: &ast::TableName) -> Select {
    let table = TableRef {
        name: name.clone(),
        partitions: Vec::new(),
        alias: None,
        hints: Vec::new(),
        span: ast::Span::default(),
    };
    let (items, from) = (vec![SelectItem::Wildcard { table: None }], vec![TableExpr::Table(table)]);
    Select { items, from, ..Select::default() }
}

/// 1250 for a column with its table: the rows of a set operation are of none.
fn check_order(order_by: &[OrderBy]) -> Result<(), SqlError> {
    for key in order_by {
        if let ast::Expr::Column(ast::ColumnName { table: Some(table), .. }) = &key.expr {
            return Err(SqlError::new(ER_TABLENAME_NOT_ALLOWED_HERE, &[table, &"global ORDER clause"]));
        }
    }
    Ok(())
}

/// Rows that are there, of which those are given that a condition holds for.
pub(super) fn filtered(
    rows: Vec<Vec<Value>>,
    columns: Vec<ResultColumn>,
    condition: &ast::Expr,
    around: Around<'_>,
) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    let types: Vec<_> = columns.iter().map(|column| column.result_type).collect();
    let literal = |(value, of): (Value, &ResultType)| match value {
        text @ Value::Text(_) => Expr::Text(text, of.collation),
        other => Expr::Literal(other),
    };
    let rows = rows.into_iter().map(|row| row.into_iter().zip(&types).map(literal).collect()).collect();
    let source = Source::Made { rows: RowSource::Values { rows, types }, columns: columns.clone() };
    let From { relations, nest, .. } = from::made(source);
    let filter = Some(Scope::new(&relations, "where clause").within(around).bind_filter(condition)?);
    let outputs = (0..columns.len()).map(|at| relations[0].column_expr(at)).collect();
    Ok((Query { relations, from: nest, filter, outputs, ..Query::default() }, columns))
}

/// ORDER BY and LIMIT of `query` over rows that are made.
pub(super) fn over(
    source: Source,
    columns: Vec<ResultColumn>,
    query: &ast::Query,
    around: Around<'_>,
) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    tail_over(source, columns, Tail::of(query), false, around)
}

/// Whether the first operand of a set operation says SQL_CALC_FOUND_ROWS, which is about all of it.
fn counts_all(first: &QueryBody) -> bool {
    match first {
        QueryBody::Select(select) => select.calc_found_rows,
        QueryBody::Nested(inner) => inner.limit.is_none() && counts_all(&inner.body),
        QueryBody::Set { first, .. } => counts_all(first),
        QueryBody::Table(_) | QueryBody::Values(_) => false,
    }
}

/// ORDER BY and LIMIT over rows that are made: those of a set operation, or of a query in parentheses.
fn tail_over(
    source: Source,
    columns: Vec<ResultColumn>,
    tail: Tail<'_>,
    counts_all: bool,
    around: Around<'_>,
) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    if !tail.locking.is_empty() {
        return Err(SqlError::unsupported("locking clauses after a query in parentheses or a set operation"));
    }
    let from = from::made(source);
    let outputs: Vec<Output> = (0..columns.len())
        .map(|at| Output { expr: from.relations[0].column_expr(at), name: columns[at].name.to_string(), alias: true })
        .collect();
    let collected = RefCell::new(Aggregated::default());
    let sort = sort_keys(tail.order_by, &from, &outputs, &collected, around)?;
    if !collected.into_inner().is_empty() {
        return Err(SqlError::new(ER_AGGREGATE_ORDER_FOR_UNION, &[&1]));
    }
    let limit = limit(tail.limit, counts_all)?;
    let outputs = outputs.into_iter().map(|output| output.expr).collect();
    Ok((Query { relations: from.relations, from: from.nest, outputs, sort, limit, ..Query::default() }, columns))
}

/// Resolves one SELECT with the clauses that follow it in its query.
fn block(
    select: &Select,
    tail: Tail<'_>,
    cx: &PlanContext<'_>,
    around: Around<'_>,
) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    unsupported::into(select.into.as_ref())?;
    let purpose = Purpose { locking: tail.locking, straight: select.straight_join, of_update: false };
    let mut from = from::resolve(&select.from, purpose, cx, around)?;
    hints::obey(&select.block, &mut from.relations, &from.nest, cx);
    let relations = from.relations.as_slice();
    let scope = |clause| {
        let mut scope = Scope::new(relations, clause).within(around);
        scope.visible = from.visible.as_deref();
        scope
    };
    let collected = RefCell::new(Aggregated::new(&select.windows, cx.group_concat_max_len));

    let filter = select.filter.as_ref().map(|filter| scope("where clause").bind_filter(filter)).transpose()?;

    let mut outputs = outputs(select, &from, cx.sql_mode, &collected, around)?;
    let aliases = || outputs.iter().map(|output| (output.name.as_str(), output.expr.clone())).collect::<Vec<_>>();

    let mut of_group = scope("group statement");
    of_group.aliases = aliases();
    let keys = select
        .group_by
        .iter()
        .map(|key| group_key(key, &outputs, relations, &mut of_group))
        .collect::<Result<Vec<_>, SqlError>>()?;

    let mut of_having = scope("having clause");
    of_having.aliases = aliases();
    of_having.having = Some(&keys);
    of_having.aggregates = Some(&collected);
    let mut having = select.having.as_ref().map(|having| of_having.bind(having)).transpose()?;

    let aggregated = !keys.is_empty() || !collected.borrow().aggregates.is_empty();
    let mut sort = sort_keys(tail.order_by, &from, &outputs, &collected, around)?;
    let limit = limit(tail.limit, select.calc_found_rows)?;

    let Aggregated { aggregates, mut windows, .. } = collected.into_inner();
    let grouped = aggregated || !aggregates.is_empty();
    let first_slot = width(relations);
    let grouping = grouped.then_some(Grouping { keys, aggregates, first_slot, rollup: select.rollup, by_path: false });
    let mut per_group = PerGroup {
        outputs: outputs.iter_mut().map(|output| &mut output.expr).collect(),
        having: having.as_mut(),
        sort: &mut sort,
        windows: &mut windows,
    };
    if cx.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY) {
        match &grouping {
            Some(grouping) if !aggregated => {
                let at = per_group.first_aggregated_sort_key(grouping);
                return Err(SqlError::new(ER_AGGREGATE_ORDER_NON_AGG_QUERY, &[&(at + 1)]));
            }
            Some(grouping) => {
                // WITH ROLLUP each key is NULL in some rows, and decides nothing there.
                let keys = if grouping.rollup { &[][..] } else { &grouping.keys };
                let filter = filter.as_ref().filter(|_| !grouping.rollup);
                let decided = Decided::by(keys, relations, &from.nest, filter);
                per_group.check(relations, grouping, &decided)?;
            }
            None => {}
        }
        if select.distinct {
            per_group.check_distinct(relations)?;
        }
    }
    per_group.roll_up(grouping.as_ref())?;
    per_group.place_windows(first_slot + grouping.as_ref().map_or(0, Grouping::width));
    let columns = outputs.iter().map(|output| result_column(output, relations)).collect();
    let outputs = outputs.into_iter().map(|output| output.expr).collect();
    let From { relations, nest, visible } = from;
    let bound = Query {
        relations,
        from: nest,
        filter,
        grouping,
        having,
        windows,
        outputs,
        distinct: select.distinct,
        sort,
        limit,
        visible,
        ..Query::default()
    };
    cx.needs_reads(&bound);
    Ok((bound, columns))
}

/// Columns of a result: prepared statements count them in two bytes.
const MAX_COLUMNS: usize = u16::MAX as usize;

fn outputs(
    select: &Select,
    from: &From,
    sql_mode: SqlMode,
    collected: &RefCell<Aggregated>,
    around: Around<'_>,
) -> Result<Vec<Output>, SqlError> {
    let mut outputs = Vec::new();
    let mut scope = Scope::new(&from.relations, "field list").within(around);
    scope.visible = from.visible.as_deref();
    scope.signed_difference = sql_mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION);
    scope.aggregates = Some(collected);
    scope.windows = true;
    for item in &select.items {
        match item {
            SelectItem::Wildcard { table: named } => wildcard(named.as_ref(), from, &mut outputs)?,
            SelectItem::Expr { expr, alias, text, .. } => {
                let bound = scope.bind(expr)?;
                let name = match (alias, expr) {
                    (Some(alias), _) => alias.clone(),
                    (None, ast::Expr::Column(column)) => column.column.clone(),
                    (None, ast::Expr::Call { name, args, .. }) if name.eq_ignore_ascii_case("name_const") => {
                        match args.first() {
                            Some(ast::Expr::Literal(name)) => name.to_string(),
                            _ => text.clone(),
                        }
                    }
                    (None, _) => text.clone(),
                };
                outputs.push(Output { expr: bound, name, alias: alias.is_some() });
            }
        }
        if outputs.len() > MAX_COLUMNS {
            return Err(SqlError::new(ER_TOO_MANY_FIELDS, &[]));
        }
    }
    scope.check_named_windows()?;
    Ok(outputs)
}

/// `*`, `t.*`
fn wildcard(named: Option<&ast::TableName>, from: &From, outputs: &mut Vec<Output>) -> Result<(), SqlError> {
    let relations = from.relations.as_slice();
    if relations.is_empty() {
        return Err(SqlError::new(ER_NO_TABLES_USED, &[]));
    }
    let output = |relation: &Relation, at: usize| Output {
        expr: relation.column_expr(at),
        name: relation.column_name(at).to_owned(),
        alias: false,
    };
    if let (None, Some(visible)) = (named, &from.visible) {
        let columns = visible.iter().filter_map(|slot| column_at(relations, *slot));
        outputs.extend(columns.map(|(relation, at)| output(relation, at)));
        return Ok(());
    }
    let is_meant = |relation: &&Relation| {
        named.is_none_or(|named| {
            let database = named.database.as_deref();
            named.table == relation.known_as && database.is_none_or(|name| Some(name) == relation.database())
        })
    };
    let before = outputs.len();
    for relation in relations.iter().filter(is_meant) {
        outputs.extend((0..relation.width()).map(|at| output(relation, at)));
    }
    match named {
        Some(named) if outputs.len() == before => Err(SqlError::new(ER_BAD_TABLE_ERROR, &[&named.table])),
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
    from: &From,
    outputs: &[Output],
    collected: &RefCell<Aggregated>,
    around: Around<'_>,
) -> Result<Vec<SortKey>, SqlError> {
    let mut scope = Scope::new(&from.relations, "order clause").within(around);
    scope.visible = from.visible.as_deref();
    scope.aliases = outputs.iter().map(|output| (output.name.as_str(), output.expr.clone())).collect();
    scope.aggregates = Some(collected);
    scope.windows = true;
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

pub(super) fn limit(limit: Option<&Limit>, counts_all: bool) -> Result<Option<LimitExprs>, SqlError> {
    let mut scope = Scope::new(&[], "limit");
    let Some(limit) = limit else { return Ok(None) };
    let offset = limit.offset.as_ref().map(|offset| scope.bind(offset)).transpose()?;
    Ok(Some(LimitExprs { offset, count: scope.bind(&limit.count)?, counts_all }))
}

fn result_column(output: &Output, relations: &[Relation]) -> ResultColumn {
    let computed = ResultColumn {
        gives_way: output.expr.gives_way(),
        ..ResultColumn::computed(output.name.as_str(), output.expr.result_type(&[]))
    };
    let Expr::Column(column) = &output.expr else { return computed };
    let Some((relation, at)) = column_at(relations, column.slot) else { return computed };
    let Some(table) = relation.table() else {
        return ResultColumn { table: Arc::from(relation.known_as.as_str()), ..computed };
    };
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
