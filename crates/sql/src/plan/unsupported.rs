//! What statements can say and no stage can do yet: all of it is refused here, with error 1235.

use crate::ast::{Expr, Into, Query, QueryBody, SetOperand, SetOperator};
use crate::error::{ER_MISPLACED_INTO, ER_OPERAND_COLUMNS, SqlError};

/// INTO of a query within: error 3954.
pub(super) fn into(into: Option<&Into>) -> Result<(), SqlError> {
    if into.is_some() { Err(SqlError::new(ER_MISPLACED_INTO, &[])) } else { Ok(()) }
}

fn unsupported<T>(what: &str) -> Result<T, SqlError> {
    Err(SqlError::unsupported(what))
}

/// A table of WITH that reads columns of the query around, within a recursive one.
pub(super) fn outer_names_in_with() -> SqlError {
    SqlError::unsupported("columns of the query around in a WITH within a recursive table")
}

/// Clauses of a query that gives the rows of a round of WITH RECURSIVE.
pub(super) fn round() -> SqlError {
    SqlError::unsupported("ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression")
}

/// LIMIT of a query whose rows a value is looked for in.
pub(super) fn limit_of_compared(query: &Query) -> Result<(), SqlError> {
    match &query.body {
        _ if query.limit.is_some() => unsupported("LIMIT & IN/ALL/ANY/SOME subquery"),
        QueryBody::Nested(inner) => limit_of_compared(inner),
        QueryBody::Select(_) | QueryBody::Table(_) | QueryBody::Values(_) | QueryBody::Set { .. } => Ok(()),
    }
}

/// Clauses of a query that WITH RECURSIVE makes of itself.
pub(super) fn recursive(query: &Query, rest: &[SetOperand]) -> Result<(), SqlError> {
    if !query.order_by.is_empty() {
        return unsupported("ORDER BY over UNION in recursive Common Table Expression");
    }
    match rest.iter().all(|operand| operand.operator == SetOperator::Union) {
        true => Ok(()),
        false => unsupported("EXCEPT and INTERSECT in a recursive query"),
    }
}

/// No partitions are named.
pub(super) fn no_partitions(partitions: &[String]) -> Result<(), SqlError> {
    if partitions.is_empty() { Ok(()) } else { unsupported("PARTITION") }
}

/// Why an expression cannot be bound.
pub(super) fn expression(expr: &Expr) -> SqlError {
    SqlError::unsupported(match expr {
        Expr::Row(_) => return SqlError::new(ER_OPERAND_COLUMNS, &[&1]),
        Expr::Match(_) => "MATCH ... AGAINST",
        Expr::CastTo(_, target) => return SqlError::unsupported(format_args!("CAST to {target}")),
        _ => "this expression",
    })
}
