//! Queries that are parts of expressions: each is planned by itself and gets a place among the statement's; the
//! expression keeps what is asked of its rows, and what it reads of the query around.

use std::cell::RefCell;

use super::bind::{Around, BelongsTo, Names, Scope};
use super::query::all_of;
use super::unsupported;
use crate::ast;
use crate::error::{ER_OPERAND_COLUMNS, SqlError};
use crate::expr::{Ask, ColumnRef, CompareOp, CompareWith, Comparison, Expr, Subquery, equal_keys};
use crate::types::ResultColumn;

/// What a query reads of the query around it: each value once, in the order in which it is found.
pub(super) struct Outer<'a> {
    around: &'a dyn Names,
    taken: RefCell<Vec<Expr>>,
}

impl<'a> Outer<'a> {
    pub(super) fn of(around: &'a dyn Names) -> Outer<'a> {
        Outer { around, taken: RefCell::default() }
    }

    /// A value of the query around, as the query within has it.
    fn take(&self, found: Expr, name: &str) -> Expr {
        let mut taken = self.taken.borrow_mut();
        let known = taken.iter().position(|known| *known == found);
        let slot = known.unwrap_or(taken.len());
        let result_type = found.result_type(&[]);
        if known.is_none() {
            taken.push(found);
        }
        Expr::outer(slot, name, result_type)
    }

    /// The values, as the query around has them.
    pub(super) fn into_taken(self) -> Vec<Expr> {
        self.taken.into_inner()
    }
}

impl Names for Outer<'_> {
    fn meaning(&self, name: &ast::ColumnName, of_rows: bool) -> Result<Option<Expr>, SqlError> {
        Ok(self.around.meaning(name, of_rows)?.map(|found| self.take(found, &name.column)))
    }

    fn aggregate(&self, call: &ast::Expr, to: BelongsTo) -> Result<Option<Expr>, SqlError> {
        Ok(self.around.aggregate(call, to)?.map(|found| self.take(found, "")))
    }

    fn taken(&self) -> Vec<usize> {
        let mut taken = self.around.taken();
        taken.push(self.taken.borrow().len());
        taken
    }

    fn forget_since(&self, taken: &[usize]) {
        if let Some((own, around)) = taken.split_last() {
            self.taken.borrow_mut().truncate(*own);
            self.around.forget_since(around);
        }
    }
}

/// A query that was planned as a part of an expression.
struct Planned {
    place: usize,
    outer: Vec<Expr>,
    columns: Vec<ResultColumn>,
    volatile: bool,
}

impl Planned {
    fn asked(self, ask: Ask) -> Expr {
        Expr::Subquery(Box::new(Subquery { place: self.place, outer: self.outer, ask, volatile: self.volatile }))
    }
}

impl Scope<'_> {
    fn plan(&self, query: &ast::Query) -> Result<Planned, SqlError> {
        let Some(cx) = self.around.cx else { return Err(SqlError::unsupported("subqueries here")) };
        let outer = Outer::of(self);
        let asked = super::asked(query, Around { cx: Some(cx), names: Some(&outer) })?;
        let super::Asked { plan, columns, block } = asked;
        let outer = outer.into_taken();
        let volatile = plan.plan.volatile || outer.iter().any(Expr::is_volatile);
        let mut queries = cx.collected.queries.borrow_mut();
        queries.push(Some(plan));
        cx.collected.blocks.borrow_mut().push(block);
        Ok(Planned { place: queries.len() - 1, outer, columns, volatile })
    }

    /// `(SELECT ...)` as a value; 1241 if it has several columns.
    pub(super) fn scalar(&self, query: &ast::Query) -> Result<Expr, SqlError> {
        let planned = self.plan(query)?;
        let [column] = planned.columns.as_slice() else { return Err(wrong_columns(1)) };
        let ask = Ask::Value { result_type: column.result_type, gives_way: column.gives_way };
        Ok(planned.asked(ask))
    }

    pub(super) fn exists(&self, query: &ast::Query) -> Result<Expr, SqlError> {
        Ok(self.plan(query)?.asked(Ask::Exists))
    }

    pub(super) fn in_query(
        &mut self,
        operand: &ast::Expr,
        query: &ast::Query,
        negated: bool,
    ) -> Result<Expr, SqlError> {
        let found = self.compared(CompareOp::Equal, operand, query, CompareWith::Any)?;
        Ok(if negated { Expr::Not(Box::new(found)) } else { found })
    }

    pub(super) fn quantified(
        &mut self,
        op: CompareOp,
        operand: &ast::Expr,
        all: bool,
        query: &ast::Query,
    ) -> Result<Expr, SqlError> {
        match (op, all) {
            // Of these a row may be asked as well.
            (CompareOp::NotEqual, true) => self.in_query(operand, query, true),
            _ => self.compared(op, operand, query, if all { CompareWith::All } else { CompareWith::Any }),
        }
    }

    /// `(a, b) = (SELECT ...)`, either way round; `None` if it is no comparison of rows with a query.
    pub(super) fn row_query(
        &mut self,
        op: CompareOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Option<Expr>, SqlError> {
        let (row, query, op) = match (left, right) {
            (row @ ast::Expr::Row(_), ast::Expr::Subquery(query)) => (row, query, op),
            (ast::Expr::Subquery(query), row @ ast::Expr::Row(_)) => (row, query, op.flipped()),
            _ => return Ok(None),
        };
        self.compared(op, row, query, CompareWith::One).map(Some)
    }

    /// A comparison of an operand, or several as a row, with rows of a query; 1241 if the numbers of columns differ.
    fn compared(
        &mut self,
        op: CompareOp,
        operand: &ast::Expr,
        query: &ast::Query,
        with: CompareWith,
    ) -> Result<Expr, SqlError> {
        if with != CompareWith::One {
            unsupported::limit_of_compared(query)?;
        }
        let operands = match operand {
            ast::Expr::Row(parts) => parts.iter().map(|part| self.bind(part)).collect::<Result<Vec<_>, _>>()?,
            single => vec![self.bind(single)?],
        };
        let planned = self.plan(query)?;
        let count = operands.len();
        let of_rows = count == 1 || with == CompareWith::One || op == CompareOp::Equal;
        if planned.columns.len() != count || !of_rows {
            return Err(wrong_columns(if of_rows { count } else { 1 }));
        }
        let pair = |at: usize| {
            let (operand, column) = (&operands[at], &planned.columns[at]);
            // A constant stays what it is: beside a date it is a date.
            let is_constant = !operand.has_columns() && !operand.is_volatile();
            let left = match is_constant {
                true => operand.clone(),
                false => operand.at(at),
            };
            let ResultColumn { name, result_type, gives_way, .. } = column.clone();
            (left, Expr::Column(ColumnRef { slot: count + at, name, result_type, gives_way }))
        };
        let one = |op, at| {
            let (left, right) = pair(at);
            Expr::compare(op, left, right)
        };
        let each = |op| (0..count).map(|at| one(op, at)).collect::<Result<Vec<_>, SqlError>>();
        let nothing = || Expr::Literal(crate::value::Value::Null);
        let condition = match op {
            CompareOp::Equal | CompareOp::NullSafeEqual => all_of(each(op)?).unwrap_or_else(nothing),
            CompareOp::NotEqual if count == 1 => one(op, 0)?,
            CompareOp::NotEqual => Expr::Or(each(op)?),
            _ => in_order(op, count, &one)?,
        };
        let keys = match op {
            CompareOp::Equal => equal_keys(&condition),
            _ => None,
        };
        let comparison = Comparison { operands, condition, with, keys };
        Ok(planned.asked(Ask::Compare(Box::new(comparison))))
    }
}

/// `<` and the like of rows: the first columns that differ decide.
fn in_order(
    op: CompareOp,
    count: usize,
    one: &dyn Fn(CompareOp, usize) -> Result<Expr, SqlError>,
) -> Result<Expr, SqlError> {
    let strict = match op {
        CompareOp::LessOrEqual => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::Greater,
        strict => strict,
    };
    let mut condition = one(op, count - 1)?;
    for at in (0..count - 1).rev() {
        condition = Expr::Or(vec![one(strict, at)?, Expr::And(vec![one(CompareOp::Equal, at)?, condition])]);
    }
    Ok(condition)
}

pub(super) fn wrong_columns(wanted: usize) -> SqlError {
    SqlError::new(ER_OPERAND_COLUMNS, &[&wanted])
}
