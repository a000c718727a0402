//! UNION, EXCEPT, INTERSECT and VALUES: rows that are made of those of several queries.
//!
//! Operands are queries by themselves, planned when conditions of the query around have got into them
//! ([`super::push_down`]). The result has the names of the first one and types that the values of all fit;
//! who of them has another type has its values converted.

use super::bind::{Around, Scope};
use super::node::{Operand, RowSource, SetPlan};
use super::query::{BoundOperand, Query, Source};
use super::{PlanContext, finish};
use crate::ast::{self, QueryBody, SetOperand};
use crate::collation::Collation;
use crate::error::{
    ER_CANT_USE_OPTION_HERE, ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, ER_WRONG_VALUE_COUNT_ON_ROW, SqlError,
};
use crate::expr::{Expr, joined_type};
use crate::types::{ResultColumn, ResultType};

/// Resolves a set operation; 1222 if its operands have different numbers of columns, 1234 if another than the first says
/// SQL_CALC_FOUND_ROWS.
pub(super) fn operation(
    first: &QueryBody,
    rest: &[SetOperand],
    around: Around<'_>,
) -> Result<(Source, Vec<ResultColumn>), SqlError> {
    let (first, columns) = super::operand(first, around)?;
    let mut queries: Vec<Query> = vec![first];
    for operand in rest {
        if matches!(&operand.body, QueryBody::Select(select) if select.calc_found_rows) {
            return Err(SqlError::new(ER_CANT_USE_OPTION_HERE, &[&"SQL_CALC_FOUND_ROWS"]));
        }
        let (query, others) = super::operand(&operand.body, around)?;
        if others.len() != columns.len() {
            return Err(SqlError::new(ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, &[]));
        }
        queries.push(query);
    }
    assembled(queries, columns, rest)
}

/// A set operation over operands that are resolved.
pub(super) fn assembled(
    queries: Vec<Query>,
    columns: Vec<ResultColumn>,
    rest: &[SetOperand],
) -> Result<(Source, Vec<ResultColumn>), SqlError> {
    let unified = types(&queries, columns.len())?;
    let names = columns.into_iter().zip(unified);
    let columns: Vec<_> = names.map(|(column, of)| ResultColumn::computed(column.name, of)).collect();
    let operators = rest.iter().map(|operand| Some((operand.operator, operand.all)));
    let operands = queries.into_iter().zip(std::iter::once(None).chain(operators));
    let operands = operands.map(|(query, operator)| BoundOperand { query, operator }).collect();
    Ok((Source::Set { operands, columns: columns.clone() }, columns))
}

/// Plans the operands of a set operation with these columns.
pub(super) fn planned(
    operands: Vec<BoundOperand>,
    columns: &[ResultColumn],
    cx: &PlanContext<'_>,
) -> Result<RowSource, SqlError> {
    let types: Vec<ResultType> = columns.iter().map(|column| column.result_type).collect();
    let collations: Vec<Collation> = types.iter().map(|of| of.collation).collect();
    let plan = |BoundOperand { query, operator }| Ok(Operand { plan: finish(query, cx)?, operator });
    let operands = operands.into_iter().map(plan).collect::<Result<_, SqlError>>()?;
    Ok(RowSource::Set(Box::new(SetPlan { operands, types, collations })))
}

/// The types that the columns of all these queries fit.
pub(super) fn types(queries: &[Query], columns: usize) -> Result<Vec<ResultType>, SqlError> {
    let sides = |at: usize| queries.iter().filter_map(|query| query.outputs.get(at)).collect::<Vec<&Expr>>();
    (0..columns).map(|at| joined_type(&sides(at), "UNION")).collect()
}

/// Plans `VALUES ROW(...), ...`: columns are called `column_0` and so on. 1136 if rows have different numbers of values.
pub(super) fn values(rows: &[Vec<ast::Expr>], around: Around<'_>) -> Result<(RowSource, Vec<ResultColumn>), SqlError> {
    let mut bound = Vec::with_capacity(rows.len());
    let count = rows.first().map_or(0, Vec::len);
    for (at, row) in rows.iter().enumerate() {
        if row.len() != count {
            return Err(SqlError::new(ER_WRONG_VALUE_COUNT_ON_ROW, &[&(at + 1)]));
        }
        let mut scope = Scope::new(&[], "field list").within(around);
        bound.push(row.iter().map(|value| scope.bind(value)).collect::<Result<Vec<Expr>, SqlError>>()?);
    }
    let mut types = Vec::with_capacity(count);
    for at in 0..count {
        let sides: Vec<&Expr> = bound.iter().map(|row| &row[at]).collect();
        types.push(joined_type(&sides, "UNION")?);
    }
    let columns = types.iter().enumerate();
    let columns = columns.map(|(at, of)| ResultColumn::computed(format!("column_{at}"), *of)).collect();
    Ok((RowSource::Values { rows: bound, types }, columns))
}
