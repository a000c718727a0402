//! Rows of a query within: of a derived table, of a table of WITH, and those of VALUES and JSON_TABLE.

use std::rc::Rc;

use super::set_operation::SetOperation;
use super::{Operator, Row, json_table, open};
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::common::{common, kept};
use crate::expr::Expr;
use crate::plan::node::{MadeRows, QueryPlan, RowSource};
use crate::spill::{Cursor, RowList};
use crate::types::ResultType;
use crate::value::Value;

pub(super) struct QueryRows<'p> {
    plan: &'p MadeRows,
    rows: Rows<'p>,
}

enum Rows<'p> {
    Query(Opened<'p>),
    Lateral(Opened<'p>, Vec<Value>),
    Set(Box<SetOperation<'p>>),
    Values { rows: std::slice::Iter<'p, Vec<Expr>>, types: &'p [ResultType] },
    Kept { rows: Rc<RowList>, cursor: Cursor },
}

/// A query with its own row.
pub(super) struct Opened<'p> {
    plan: &'p QueryPlan,
    root: Box<dyn Operator + 'p>,
    row: Row,
}

impl<'p> Opened<'p> {
    pub(super) fn open(plan: &'p QueryPlan, run: &mut Run<'_>) -> Result<Opened<'p>, SqlError> {
        run.nested.begin(plan, run.outer, run.session);
        let mut row = Row::new(plan.slots);
        let root = open(&plan.root, run, &mut row)?;
        Ok(Opened { plan, root, row })
    }

    /// The select list of the next row.
    pub(super) fn next(&mut self, run: &mut Run<'_>) -> Result<Option<&[Value]>, SqlError> {
        let found = self.root.next(run, &mut self.row)?;
        Ok(found.then(|| &self.row.values[self.plan.outputs.clone()]))
    }
}

impl<'p> QueryRows<'p> {
    pub(super) fn open(plan: &'p MadeRows, run: &mut Run<'_>, row: &Row) -> Result<QueryRows<'p>, SqlError> {
        let rows = match &plan.rows {
            RowSource::Query(query) => match kept(query, run)? {
                Some(rows) => Rows::Kept { rows, cursor: Cursor::default() },
                None => Rows::Query(Opened::open(query, run)?),
            },
            RowSource::Lateral { plan, outer } => {
                let values = run.evaluate(|cx| outer.iter().map(|expr| expr.eval(&row.values, cx)).collect())?;
                let values: Vec<Value> = values;
                Rows::Lateral(Opened::open(plan, &mut run.within(&values))?, values)
            }
            RowSource::JsonTable(table) => {
                let rows = json_table::rows(table, plan.width, run, &row.values)?;
                Rows::Kept { rows: Rc::new(rows), cursor: Cursor::default() }
            }
            RowSource::Set(set) => Rows::Set(Box::new(SetOperation::new(set))),
            RowSource::Values { rows, types } => Rows::Values { rows: rows.iter(), types },
            RowSource::Common(place) | RowSource::Correlated(place) => {
                Rows::Kept { rows: common(*place, run)?, cursor: Cursor::default() }
            }
            RowSource::LastRound(place) => {
                Rows::Kept { rows: run.nested.last_round(*place)?, cursor: Cursor::default() }
            }
        };
        Ok(QueryRows { plan, rows })
    }
}

impl Operator for QueryRows<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let slots = &mut row.values[self.plan.first_slot..self.plan.first_slot + self.plan.width];
        let given = match &mut self.rows {
            Rows::Query(query) => query.next(run)?,
            Rows::Lateral(query, outer) => query.next(&mut run.within(outer))?,
            Rows::Set(set) => set.next(run)?,
            Rows::Kept { rows, cursor } => {
                run.step()?;
                rows.next(cursor, run.session)?
            }
            Rows::Values { rows, types } => {
                let Some(exprs) = rows.next() else { return Ok(false) };
                run.step()?;
                run.evaluate(|cx| {
                    for ((slot, expr), of) in slots.iter_mut().zip(exprs).zip(*types) {
                        *slot = expr.as_one_of(expr.eval(&[], cx)?, of, cx)?;
                        slot.settle();
                    }
                    Ok(())
                })?;
                return Ok(true);
            }
        };
        let Some(values) = given else { return Ok(false) };
        slots.clone_from_slice(values);
        slots.iter_mut().for_each(Value::settle);
        Ok(true)
    }
}
