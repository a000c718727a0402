//! What statements can say and no stage can do yet: all of it is refused here, with error 1235.

use super::query::Locking;
use crate::ast::{
    Delete, Expr, Limit, OrderBy, Query, QueryBody, Select, SetOperator, TableExpr, TableRef, Update, With,
};
use crate::error::SqlError;

fn unsupported<T>(what: &str) -> Result<T, SqlError> {
    Err(SqlError::unsupported(what))
}

/// A query over one table or none.
pub(super) struct SimpleQuery<'q> {
    pub(super) select: &'q Select,
    pub(super) tables: Vec<&'q TableRef>,
    pub(super) order_by: &'q [OrderBy],
    pub(super) limit: Option<&'q Limit>,
    pub(super) locking: Option<Locking>,
}

/// The query if it is a simple one.
pub(super) fn simple(query: &Query) -> Result<SimpleQuery<'_>, SqlError> {
    no_with(query.with.as_ref())?;
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::Nested(inner) => {
            if !query.order_by.is_empty() || query.limit.is_some() || !query.locking.is_empty() || query.into.is_some()
            {
                return unsupported("clauses after a parenthesised SELECT");
            }
            return simple(inner);
        }
        QueryBody::Set { rest, .. } => {
            return unsupported(match rest.first().map(|operand| operand.operator) {
                Some(SetOperator::Except) => "EXCEPT",
                Some(SetOperator::Intersect) => "INTERSECT",
                Some(SetOperator::Union) | None => "UNION",
            });
        }
        QueryBody::Values(_) => return unsupported("VALUES as a statement"),
        QueryBody::Table(_) => return unsupported("TABLE as a statement"),
    };
    if query.into.is_some() || select.into.is_some() {
        return unsupported("SELECT ... INTO");
    }
    if !select.windows.is_empty() {
        return unsupported("window functions");
    }
    if select.calc_found_rows {
        return unsupported("SQL_CALC_FOUND_ROWS");
    }
    if select.rollup {
        return unsupported("WITH ROLLUP");
    }
    let tables = match select.from.as_slice() {
        [] => Vec::new(),
        tables => vec![single_table(tables)?],
    };
    let locking = match query.locking.as_slice() {
        [] => None,
        [one] if one.tables.is_empty() => {
            Some(Locking { exclusive: one.exclusive, wait: one.wait, semi_consistent: false })
        }
        _ => return unsupported("locking clauses of single tables"),
    };
    Ok(SimpleQuery { select, tables, order_by: &query.order_by, limit: query.limit.as_ref(), locking })
}

fn no_with(with: Option<&With>) -> Result<(), SqlError> {
    if with.is_some() { unsupported("WITH") } else { Ok(()) }
}

/// No partitions are named.
pub(super) fn no_partitions(partitions: &[String]) -> Result<(), SqlError> {
    if partitions.is_empty() { Ok(()) } else { unsupported("PARTITION") }
}

fn single_table(tables: &[TableExpr]) -> Result<&TableRef, SqlError> {
    match tables {
        [TableExpr::Table(table)] => no_partitions(&table.partitions).map(|()| table),
        [TableExpr::Derived(_)] => unsupported("derived tables"),
        _ => unsupported("joins"),
    }
}

/// The table of an UPDATE.
pub(super) fn updated(update: &Update) -> Result<&TableRef, SqlError> {
    no_with(update.with.as_ref())?;
    single_table(&update.tables)
}

/// The table of a DELETE.
pub(super) fn deleted_from(delete: &Delete) -> Result<&TableRef, SqlError> {
    no_with(delete.with.as_ref())?;
    if !delete.targets.is_empty() {
        return unsupported("DELETE from several tables");
    }
    single_table(&delete.tables)
}

/// Why an expression cannot be bound.
pub(super) fn expression(expr: &Expr) -> SqlError {
    SqlError::unsupported(match expr {
        Expr::Subquery(_) | Expr::Exists(_) | Expr::InQuery { .. } | Expr::Quantified { .. } => "subqueries",
        Expr::Row(_) => "row expressions",
        Expr::Match(_) => "MATCH ... AGAINST",
        Expr::MemberOf(..) => "MEMBER OF",
        Expr::GroupConcat(_) => "GROUP_CONCAT",
        Expr::Window(_) => "window functions",
        Expr::CastTo(_, target) => return SqlError::unsupported(format_args!("CAST to {target}")),
        _ => "this expression",
    })
}
