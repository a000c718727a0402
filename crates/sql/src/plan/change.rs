//! Plans INSERT, REPLACE, UPDATE and DELETE: what becomes of the rows. What finds them is planned as any query.

use std::sync::Arc;

use super::bind::{Around, Scope, default_expr, written};
use super::node::QueryPlan;
use super::query::{Change, LimitExprs, Nest, Query, Relation, SortKey};
use super::{
    DeletePlan, InsertPlan, InsertRows, InsertValue, NewColumn, PlanContext, PlanKind, RowLocks, UpdatePlan, Usage,
    change_joined, finish, from, hints, on_duplicate, resolve, unsupported, with,
};
use crate::ast::{self, BlockRef, Delete, Insert, InsertSource, OrderBy, TableExpr, TableRef, Update};
use crate::catalog::definition::DefaultValue;
use crate::catalog::table::Table;
use crate::error::{ER_BAD_FIELD_ERROR, ER_FIELD_SPECIFIED_TWICE, ER_WRONG_VALUE_COUNT_ON_ROW, SqlError};
use crate::expr::Expr;
use crate::privilege::Privilege;
use crate::privilege::needs::Need;
use crate::types::{Charset, Family, FieldKind, FieldType, Kind, ResultType};

pub(super) fn insert(insert: &Insert, cx: &PlanContext<'_>) -> Result<InsertPlan, SqlError> {
    unsupported::no_partitions(&insert.partitions)?;
    let table = cx.table(&insert.table, Privilege::Insert, Usage::default())?;
    let count = table.def.columns.len();
    // The rows of a query are read before the first is inserted; what stands among values is not.
    let changed = [table.def.id];
    let within = PlanContext { changed: &changed, reads_renamed: true, ..*cx };
    let (around, source_around) = (Around { cx: Some(&within), names: None }, Around { cx: Some(cx), names: None });
    let names = [Relation::alone(table.clone(), &table.def.name)];
    let targets = match &insert.columns {
        None => (0..count).collect(),
        Some(names) => target_columns(&table, names)?,
    };
    let mut on_duplicate = Vec::new();
    let source = match &insert.source {
        // `VALUES ()` without columns is a row of defaults.
        InsertSource::Values(rows) if insert.columns.is_none() && rows.iter().all(Vec::is_empty) => {
            let defaults = || (0..count).map(|_| InsertValue::Default).collect();
            InsertRows::Values(rows.iter().map(|_| defaults()).collect())
        }
        InsertSource::Values(rows) => InsertRows::Values(
            rows.iter()
                .enumerate()
                .map(|(at, row)| insert_row(&names, row, targets.len(), at, around))
                .collect::<Result<_, SqlError>>()?,
        ),
        InsertSource::Query(source) => {
            let (mut query, columns) = resolve::query(source, source_around)?;
            if columns.len() != targets.len() {
                return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&1]));
            }
            let texts = texts_in_bytes(&table, &targets, columns.iter().map(|column| column.result_type));
            on_duplicate = on_duplicate::plan(insert, &table, &targets, Some(&mut query), &within)?;
            InsertRows::Query(Box::new(finish(query, cx)?), texts)
        }
    };
    if let InsertRows::Values(_) = source {
        on_duplicate = on_duplicate::plan(insert, &table, &targets, None, &within)?;
    }
    let source = with_default_exprs(source, &targets, &table)?;
    let read = match &source {
        InsertRows::Values(rows) => names[0].columns_read(rows.iter().flatten().filter_map(given_expr)),
        InsertRows::Query(..) => Vec::new(),
    };
    let (defaults, default_exprs) = unnamed(&table, &targets)?;
    cx.needs_columns(&table, Privilege::Insert, targets.iter().copied());
    if insert.replace {
        let (database, name) = (table.def.database.clone(), table.def.name.clone());
        cx.collected.needs.borrow_mut().push(Need::OnTable(database, name, Privilege::Delete.into()));
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
        creates: false,
        on_duplicate,
        table: table.clone(),
    })
}

/// The values of a query that become bytes of their character set, and that, in a row for the columns `targets`.
fn texts_in_bytes(
    table: &Table,
    targets: &[usize],
    columns: impl Iterator<Item = ResultType>,
) -> Vec<(usize, Charset)> {
    let texts = columns.zip(targets).enumerate().filter_map(|(at, (of, target))| {
        let charset = of.collation.charset();
        let in_bytes = takes_bytes(table, *target, of) && charset.is_recoded();
        (in_bytes && of.family() == Family::String).then_some((at, charset))
    });
    texts.collect()
}

/// Plans the rows of a new table: those of a query, for the columns `targets`.
pub(super) fn fill(
    table: Arc<Table>,
    (rows, columns): (QueryPlan, &[NewColumn]),
    targets: Vec<usize>,
    how: &ast::NewRows,
) -> Result<InsertPlan, SqlError> {
    let (defaults, default_exprs) = unnamed(&table, &targets)?;
    let texts = texts_in_bytes(&table, &targets, columns.iter().map(|column| column.result_type));
    let source = InsertRows::Query(Box::new(rows), texts);
    let (read, on_duplicate) = Default::default();
    let (replace, ignore) = (how.replace, how.ignore);
    Ok(InsertPlan {
        table,
        replace,
        ignore,
        targets,
        defaults,
        default_exprs,
        read,
        source,
        creates: true,
        on_duplicate,
    })
}

/// Columns, and what gives their values.
type Computed = Vec<(usize, Expr)>;

/// The columns that an INSERT names no values for, and of those that have one the default expressions.
fn unnamed(table: &Table, targets: &[usize]) -> Result<(Vec<usize>, Computed), SqlError> {
    let unnamed = (0..table.def.columns.len()).filter(|column| !targets.contains(column));
    let (computed, defaults): (Vec<usize>, Vec<usize>) = unnamed.partition(|column| has_default_expr(table, *column));
    let computed = computed.into_iter().map(|column| Ok((column, default_expr(&table.def.columns[column])?)));
    Ok((defaults, computed.collect::<Result<_, SqlError>>()?))
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

fn insert_row(
    names: &[Relation],
    row: &[ast::Expr],
    targets: usize,
    at: usize,
    around: Around<'_>,
) -> Result<Vec<InsertValue>, SqlError> {
    if row.len() != targets {
        return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&(at + 1)]));
    }
    let mut scope = Scope::new(names, "field list").within(around);
    row.iter().map(|value| insert_value(value, &mut scope)).collect()
}

/// DEFAULT stands for the column's own, which is looked for when a row needs it.
pub(super) fn insert_value(value: &ast::Expr, scope: &mut Scope<'_>) -> Result<InsertValue, SqlError> {
    match value {
        ast::Expr::Default(None) => Ok(InsertValue::Default),
        value => scope.bind(value).map(InsertValue::Expr),
    }
}

pub(super) fn given_expr(value: &InsertValue) -> Option<&Expr> {
    match value {
        InsertValue::Expr(expr) => Some(expr),
        InsertValue::Default => None,
    }
}

fn has_default_expr(table: &Table, column: usize) -> bool {
    matches!(table.def.columns[column].default, DefaultValue::Expression { .. })
}

/// A DEFAULT of a column whose default is an expression, as that.
pub(super) fn with_default_expr(value: InsertValue, column: usize, table: &Table) -> Result<InsertValue, SqlError> {
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
    if takes_bytes(table, column, value.result_type(&[])) { value.for_bytes() } else { value }
}

/// Whether a column takes the bytes of a text of this type: one of bytes, and one of bits, which takes the number of an
/// ENUM or SET.
fn takes_bytes(table: &Table, column: usize, of: ResultType) -> bool {
    let column_type = &table.def.columns[column].column_type;
    let of_bits = column_type.result_type(true).kind() == FieldKind::Bits;
    column_type.kind() == Kind::Bytes || of_bits && !matches!(of.field, FieldType::Enum | FieldType::Set)
}

fn with_default_exprs(source: InsertRows, targets: &[usize], table: &Table) -> Result<InsertRows, SqlError> {
    let row = |row: Vec<InsertValue>| {
        row.into_iter().zip(targets).map(|(value, column)| with_default_expr(value, *column, table)).collect()
    };
    match source {
        InsertRows::Values(rows) => rows.into_iter().map(row).collect::<Result<_, SqlError>>().map(InsertRows::Values),
        query @ InsertRows::Query(..) => Ok(query),
    }
}

pub(super) fn assigned_column(name: &ast::ColumnName, scope: &Scope<'_>) -> Result<usize, SqlError> {
    let found = scope.find(name)?;
    found.map(|(_, column)| column).ok_or_else(|| SqlError::new(ER_BAD_FIELD_ERROR, &[&written(name), &"field list"]))
}

/// What a column is set to. DEFAULT stands for its own.
pub(super) fn assignment(
    table: &Table,
    column: usize,
    value: &ast::Expr,
    scope: &mut Scope<'_>,
) -> Result<Expr, SqlError> {
    let value = match value {
        ast::Expr::Default(None) => default_expr(&table.def.columns[column])?,
        value => scope.bind(value)?,
    };
    Ok(for_column(value, column, table))
}

/// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
pub(super) fn touched_columns(table: &Table, assigned: &[usize]) -> Vec<usize> {
    let is_touched = |column: &usize| table.def.columns[*column].on_update_now && !assigned.contains(column);
    (0..table.def.columns.len()).filter(is_touched).collect()
}

/// The columns whose values before a change of these are needed: indexes that hold a changed column are written with their
/// old and new keys; all of them hold the columns of the primary key.
pub(super) fn columns_before(table: &Table, changed: &[usize]) -> Vec<usize> {
    let mut before = changed.to_vec();
    let is_changed = |column: &usize| changed.contains(column);
    let primary_changed = table.primary.is_some_and(|primary| table.indexes[primary].columns.iter().any(is_changed));
    for index in &table.indexes {
        if primary_changed || index.columns.iter().any(is_changed) {
            before.extend(&index.columns);
        }
    }
    before.sort_unstable();
    before.dedup();
    before
}

/// The one table that an UPDATE or DELETE names, and its rows that match: in which order, and how many at most.
fn found(
    (named, block): (&TableRef, &BlockRef),
    filter: Option<&ast::Expr>,
    order_by: &[OrderBy],
    limit: Option<&ast::Expr>,
    privilege: Privilege,
    cx: &PlanContext<'_>,
) -> Result<(Arc<Table>, Query), SqlError> {
    let relation = from::relation(named, privilege, Some(RowLocks::ForUpdate), false, cx)?;
    let Some(table) = relation.table().cloned() else { return Err(SqlError::internal("a change is of no table")) };
    let mut relations = vec![relation];
    hints::obey(block, &mut relations, &Nest::of(0), cx);
    let changed = [table.def.id];
    let within = PlanContext { changed: &changed, ..*cx };
    let mut scope = Scope::new(&relations, "where clause").within(Around { cx: Some(&within), names: None });
    let filter = filter.map(|filter| scope.bind_filter(filter)).transpose()?;
    scope.clause = "order clause";
    let key = |key: &OrderBy| Ok(SortKey::new(scope.bind(&key.expr)?, key.descending));
    let sort = order_by.iter().map(key).collect::<Result<_, SqlError>>()?;
    let limit = limit.map(|limit| Scope::new(&[], "limit").bind(limit)).transpose()?;
    let limit = limit.map(|count| LimitExprs { offset: None, count, counts_all: false });
    let query = Query { relations, from: Nest::of(0), filter, sort, limit, ..Query::default() };
    cx.needs_reads(&query);
    Ok((table, query))
}

/// The table of a change of one table.
fn only<'t>(tables: &'t [TableExpr], cx: &PlanContext<'_>) -> Result<Option<&'t TableRef>, SqlError> {
    let [TableExpr::Table(named)] = tables else { return Ok(None) };
    // One that WITH makes cannot be changed, which the joined form says.
    Ok(with::find(&named.name, cx)?.is_none().then_some(named))
}

pub(super) fn update(update: &Update, cx: &PlanContext<'_>) -> Result<PlanKind, SqlError> {
    let planned =
        with::below(update.with.as_ref(), Around { cx: Some(cx), names: None }, |cx| match only(&update.tables, cx)? {
            Some(named) => update_one(update, named, cx).map(PlanKind::Update),
            None => change_joined::update(update, cx).map(PlanKind::UpdateJoined),
        });
    planned.map(|(kind, _)| kind)
}

fn update_one(update: &Update, named: &TableRef, cx: &PlanContext<'_>) -> Result<UpdatePlan, SqlError> {
    let (filter, limit) = (update.filter.as_ref(), update.limit.as_ref());
    let (table, mut query) = found((named, &update.block), filter, &update.order_by, limit, Privilege::Update, cx)?;
    let changed = [table.def.id];
    let within = PlanContext { changed: &changed, ..*cx };
    let mut scope = Scope::new(&query.relations, "field list").within(Around { cx: Some(&within), names: None });
    let mut assignments = Vec::with_capacity(update.assignments.len());
    for (name, value) in &update.assignments {
        let column = assigned_column(name, &scope)?;
        assignments.push((column, assignment(&table, column, value, &mut scope)?));
    }
    cx.needs_columns(&table, Privilege::Update, assignments.iter().map(|(column, _)| *column));
    let read = query.relations[0].columns_read(assignments.iter().map(|(_, value)| value));
    cx.needs_columns(&table, Privilege::Select, read.iter().copied());
    let mut assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
    let touched = touched_columns(&table, &assigned);
    assigned.extend(&touched);
    let before = columns_before(&table, &assigned);
    let mut wanted = read;
    wanted.extend(&before);
    query.change = Some(Change { assigned, wanted, semi_consistent: true });
    Ok(UpdatePlan { table, ignore: update.ignore, rows: finish(query, cx)?, assignments, touched, before })
}

pub(super) fn delete(delete: &Delete, cx: &PlanContext<'_>) -> Result<PlanKind, SqlError> {
    let planned = with::below(delete.with.as_ref(), Around { cx: Some(cx), names: None }, |cx| {
        match only(&delete.tables, cx)?.filter(|_| delete.targets.is_empty()) {
            Some(named) => delete_one(delete, named, cx).map(PlanKind::Delete),
            None => change_joined::delete(delete, cx).map(PlanKind::DeleteJoined),
        }
    });
    planned.map(|(kind, _)| kind)
}

fn delete_one(delete: &Delete, named: &TableRef, cx: &PlanContext<'_>) -> Result<DeletePlan, SqlError> {
    let (filter, limit) = (delete.filter.as_ref(), delete.limit.as_ref());
    let (table, mut query) = found((named, &delete.block), filter, &delete.order_by, limit, Privilege::Delete, cx)?;
    // Index entries are removed by their keys, which any column may be part of.
    let wanted = (0..table.def.columns.len()).collect();
    query.change = Some(Change { assigned: Vec::new(), wanted, semi_consistent: false });
    Ok(DeletePlan { table, ignore: delete.ignore, rows: finish(query, cx)? })
}
