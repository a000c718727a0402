//! From the parser library's SELECT, INSERT, UPDATE and DELETE to ours.

use sqlparser::ast as sql;

use super::expression::{column_name, convert as expr, object_idents};
use super::front::{Extras, nonsense};
use crate::ast::{
    ColumnName, Delete, Expr, IndexHint, IndexHintKind, Insert, InsertSource, Limit, Locking, OrderBy, RowWait, Select,
    SelectItem, Statement, TableName, TableRef, Update,
};
use crate::error::SqlError;
use crate::value::Value;

fn unsupported<T>(what: &str) -> Result<T, SqlError> {
    Err(SqlError::unsupported(what))
}

pub(super) fn convert(tree: sql::Statement, extras: Extras, names: &[String]) -> Result<Statement, SqlError> {
    Ok(match tree {
        sql::Statement::Query(query) => Statement::Select(Box::new(self::query(*query, extras, names)?)),
        sql::Statement::Insert(insert) => Statement::Insert(Box::new(self::insert(insert, extras, names)?)),
        sql::Statement::Update(update) => Statement::Update(Box::new(self::update(update, extras)?)),
        sql::Statement::Delete(delete) => Statement::Delete(Box::new(self::delete(delete, extras)?)),
        other => return unsupported(&other.to_string()),
    })
}

fn query(query: sql::Query, extras: Extras, names: &[String]) -> Result<Select, SqlError> {
    if query.with.is_some() {
        return unsupported("WITH");
    }
    if query.fetch.is_some() || query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some()
    {
        return Err(nonsense("FETCH"));
    }
    let select = match *query.body {
        sql::SetExpr::Select(select) => *select,
        sql::SetExpr::Query(inner) => {
            if query.order_by.is_some() || query.limit_clause.is_some() || !query.locks.is_empty() {
                return unsupported("clauses behind a parenthesised SELECT");
            }
            return self::query(*inner, extras, names);
        }
        sql::SetExpr::SetOperation { .. } => return unsupported("UNION"),
        sql::SetExpr::Values(_) => return unsupported("VALUES as a statement"),
        sql::SetExpr::Table(_) => return unsupported("TABLE as a statement"),
        _ => return Err(nonsense("(")),
    };
    let order_by = match query.order_by {
        None => Vec::new(),
        Some(sql::OrderBy { kind: sql::OrderByKind::Expressions(keys), .. }) => order_by(keys)?,
        Some(_) => return Err(nonsense("ALL")),
    };
    let locking = locking(query.locks, extras)?;
    let limit = match query.limit_clause {
        None => None,
        Some(sql::LimitClause::LimitOffset { limit: Some(limit), offset, limit_by }) if limit_by.is_empty() => {
            let offset = offset.map(|offset| row_count(offset.value)).transpose()?;
            Some(Limit { offset, count: row_count(limit)? })
        }
        Some(sql::LimitClause::OffsetCommaLimit { offset, limit }) => {
            Some(Limit { offset: Some(row_count(offset)?), count: row_count(limit)? })
        }
        Some(_) => return Err(nonsense("OFFSET")),
    };
    self::select(select, order_by, limit, locking, names)
}

/// What LIMIT takes: a number of rows as it stands, or a parameter.
fn row_count(tree: sql::Expr) -> Result<Expr, SqlError> {
    let text = tree.to_string();
    match expr(tree)? {
        count @ (Expr::Param(_) | Expr::Literal(Value::UInt(_))) => Ok(count),
        Expr::Literal(Value::Int(count)) if count >= 0 => Ok(Expr::Literal(Value::Int(count))),
        _ => Err(nonsense(&text)),
    }
}

fn locking(locks: Vec<sql::LockClause>, extras: Extras) -> Result<Option<Locking>, SqlError> {
    let mut locks = locks.into_iter();
    match (locks.next(), locks.next(), extras.lock_in_share_mode) {
        (None, None, false) => Ok(None),
        (None, None, true) => Ok(Some(Locking { exclusive: false, wait: RowWait::Wait })),
        (Some(lock), None, false) if lock.of.is_none() => Ok(Some(Locking {
            exclusive: lock.lock_type == sql::LockType::Update,
            wait: match lock.nonblock {
                None => RowWait::Wait,
                Some(sql::NonBlock::Nowait) => RowWait::NoWait,
                Some(sql::NonBlock::SkipLocked) => RowWait::SkipLocked,
            },
        })),
        _ => unsupported("locking clauses of single tables"),
    }
}

fn select(
    select: sql::Select,
    order_by: Vec<OrderBy>,
    limit: Option<Limit>,
    locking: Option<Locking>,
    names: &[String],
) -> Result<Select, SqlError> {
    let odd = select.top.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.qualify.is_some()
        || select.value_table_mode.is_some()
        || select.exclude.is_some();
    if odd {
        return Err(nonsense("SELECT"));
    }
    if select.into.is_some() {
        return unsupported("SELECT ... INTO");
    }
    if !select.named_window.is_empty() {
        return unsupported("window functions");
    }
    if select.select_modifiers.as_ref().is_some_and(|modifiers| modifiers.sql_calc_found_rows) {
        return unsupported("SQL_CALC_FOUND_ROWS");
    }
    let distinct = match select.distinct {
        None | Some(sql::Distinct::All) => false,
        Some(sql::Distinct::Distinct) => true,
        Some(sql::Distinct::On(_)) => return Err(nonsense("ON")),
    };
    let group_by = match select.group_by {
        sql::GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => {
            keys.into_iter().map(expr).collect::<Result<_, SqlError>>()?
        }
        sql::GroupByExpr::Expressions(..) => return unsupported("WITH ROLLUP"),
        sql::GroupByExpr::All(_) => return Err(nonsense("ALL")),
    };
    let mut items = Vec::with_capacity(select.projection.len());
    for (index, item) in select.projection.into_iter().enumerate() {
        items.push(self::item(item, names.get(index).map_or("", String::as_str))?);
    }
    Ok(Select {
        distinct,
        items,
        from: from(select.from)?,
        filter: select.selection.map(expr).transpose()?,
        group_by,
        having: select.having.map(expr).transpose()?,
        order_by,
        limit,
        locking,
    })
}

fn item(item: sql::SelectItem, text: &str) -> Result<SelectItem, SqlError> {
    Ok(match item {
        sql::SelectItem::UnnamedExpr(tree) => {
            let expr = expr(tree)?;
            // A string is called by what it says.
            let text = match &expr {
                Expr::Literal(Value::Text(said)) => said.to_string(),
                _ => text.to_owned(),
            };
            SelectItem::Expr { expr, alias: None, text }
        }
        sql::SelectItem::ExprWithAlias { expr: tree, alias } => {
            SelectItem::Expr { expr: expr(tree)?, alias: Some(alias.value), text: text.to_owned() }
        }
        sql::SelectItem::Wildcard(_) => SelectItem::Wildcard { table: None },
        sql::SelectItem::QualifiedWildcard(sql::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            SelectItem::Wildcard { table: Some(table_name(name)?) }
        }
        other => return Err(nonsense(&other.to_string())),
    })
}

fn from(tables: Vec<sql::TableWithJoins>) -> Result<Option<TableRef>, SqlError> {
    let mut tables = tables.into_iter();
    match (tables.next(), tables.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => unsupported("joins"),
        (Some(table), None) => {
            if let sql::TableFactor::Table { name, alias: None, .. } = &table.relation
                && let [sql::ObjectNamePart::Identifier(ident)] = name.0.as_slice()
                && ident.quote_style.is_none()
                && ident.value.eq_ignore_ascii_case("DUAL")
                && table.joins.is_empty()
            {
                return Ok(None);
            }
            table_ref(table).map(Some)
        }
    }
}

fn table_ref(table: sql::TableWithJoins) -> Result<TableRef, SqlError> {
    if !table.joins.is_empty() {
        return unsupported("joins");
    }
    match table.relation {
        sql::TableFactor::Table { name, alias, args: None, partitions, index_hints, version: None, .. } => {
            if !partitions.is_empty() {
                return unsupported("PARTITION");
            }
            if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
                return Err(nonsense("("));
            }
            let hints = index_hints.into_iter().map(index_hint).collect::<Result<_, SqlError>>()?;
            Ok(TableRef { name: table_name(name)?, alias: alias.map(|alias| alias.name.value), hints })
        }
        sql::TableFactor::Derived { .. } => unsupported("derived tables"),
        sql::TableFactor::NestedJoin { .. } => unsupported("joins"),
        other => unsupported(&other.to_string()),
    }
}

fn index_hint(hint: sql::TableIndexHints) -> Result<IndexHint, SqlError> {
    let kind = match hint.hint_type {
        sql::TableIndexHintType::Use => IndexHintKind::Use,
        sql::TableIndexHintType::Force => IndexHintKind::Force,
        sql::TableIndexHintType::Ignore => IndexHintKind::Ignore,
    };
    Ok(IndexHint { kind, indexes: hint.index_names.into_iter().map(|name| name.value).collect() })
}

fn table_name(name: sql::ObjectName) -> Result<TableName, SqlError> {
    let mut names = object_idents(name)?.into_iter().map(|ident| ident.value).rev();
    match (names.next(), names.next(), names.next()) {
        (Some(table), database, None) => Ok(TableName { database, table }),
        _ => Err(nonsense(".")),
    }
}

fn order_by(keys: Vec<sql::OrderByExpr>) -> Result<Vec<OrderBy>, SqlError> {
    keys.into_iter()
        .map(|key| {
            let descending = match key.options.sort {
                None | Some(sql::OrderBySort::Asc) => false,
                Some(sql::OrderBySort::Desc) => true,
                Some(sql::OrderBySort::Using(_)) => return Err(nonsense("USING")),
            };
            if key.options.nulls_first.is_some() || key.with_fill.is_some() {
                return Err(nonsense("NULLS"));
            }
            Ok(OrderBy { expr: expr(key.expr)?, descending })
        })
        .collect()
}

fn assignments(assignments: Vec<sql::Assignment>) -> Result<Vec<(ColumnName, Expr)>, SqlError> {
    assignments
        .into_iter()
        .map(|assignment| match assignment.target {
            sql::AssignmentTarget::ColumnName(name) => {
                Ok((column_name(object_idents(name)?)?, expr(assignment.value)?))
            }
            sql::AssignmentTarget::Tuple(_) => Err(nonsense("(")),
        })
        .collect()
}

fn insert(insert: sql::Insert, extras: Extras, names: &[String]) -> Result<Insert, SqlError> {
    let sql::TableObject::TableName(table) = insert.table else { return Err(nonsense("INSERT")) };
    if insert.returning.is_some() {
        return Err(nonsense("RETURNING"));
    }
    if insert.partitioned.is_some() || !insert.after_columns.is_empty() {
        return unsupported("PARTITION");
    }
    if insert.table_alias.is_some() || insert.overwrite || insert.or.is_some() {
        return Err(nonsense("INSERT"));
    }
    let columns: Vec<String> = insert
        .columns
        .into_iter()
        .map(|name| column_name(object_idents(name)?).map(|name| name.column))
        .collect::<Result<_, SqlError>>()?;
    let mut columns = (!columns.is_empty()).then_some(columns);
    let source = match insert.source {
        None if insert.assignments.is_empty() => return Err(nonsense("INSERT")),
        None => {
            let (names, row) =
                assignments(insert.assignments)?.into_iter().map(|(name, expr)| (name.column, expr)).unzip();
            columns = Some(names);
            InsertSource::Values(vec![row])
        }
        Some(source) => match *source.body {
            sql::SetExpr::Values(values) => InsertSource::Values(
                values
                    .rows
                    .into_iter()
                    .map(|row| row.content.into_iter().map(expr).collect::<Result<Vec<_>, SqlError>>())
                    .collect::<Result<_, SqlError>>()?,
            ),
            _ => InsertSource::Select(Box::new(query(*source, extras, names)?)),
        },
    };
    let row_alias = insert
        .insert_alias
        .map(|alias| {
            let mut idents = object_idents(alias.row_alias)?.into_iter().map(|ident| ident.value);
            let columns = alias.col_aliases.unwrap_or_default().into_iter().map(|ident| ident.value).collect();
            match (idents.next(), idents.next()) {
                (Some(name), None) => Ok((name, columns)),
                _ => Err(nonsense("AS")),
            }
        })
        .transpose()?;
    let on_duplicate = match insert.on {
        None => Vec::new(),
        Some(sql::OnInsert::DuplicateKeyUpdate(list)) => assignments(list)?,
        Some(_) => return Err(nonsense("ON")),
    };
    Ok(Insert {
        table: table_name(table)?,
        replace: insert.replace_into,
        ignore: insert.ignore,
        columns,
        source,
        row_alias,
        on_duplicate,
    })
}

fn update(update: sql::Update, extras: Extras) -> Result<Update, SqlError> {
    if update.from.is_some() || update.returning.is_some() || update.or.is_some() {
        return Err(nonsense("FROM"));
    }
    Ok(Update {
        table: table_ref(update.table)?,
        ignore: extras.ignore,
        assignments: assignments(update.assignments)?,
        filter: update.selection.map(expr).transpose()?,
        order_by: order_by(update.order_by)?,
        limit: update.limit.map(row_count).transpose()?,
    })
}

fn delete(delete: sql::Delete, extras: Extras) -> Result<Delete, SqlError> {
    if !delete.tables.is_empty() || delete.using.is_some() {
        return unsupported("DELETE from several tables");
    }
    if delete.returning.is_some() {
        return Err(nonsense("RETURNING"));
    }
    let sql::FromTable::WithFromKeyword(tables) = delete.from else { return Err(nonsense("DELETE")) };
    let Some(table) = from(tables)? else { return Err(nonsense("DUAL")) };
    Ok(Delete {
        table,
        ignore: extras.ignore,
        filter: delete.selection.map(expr).transpose()?,
        order_by: order_by(delete.order_by)?,
        limit: delete.limit.map(row_count).transpose()?,
    })
}
