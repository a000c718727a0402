//! DO, and the expressions of other statements.

use crate::ast::{Expr, Query, QueryBody, Select, SelectItem, Span, Statement};
use crate::collation::Collation;
use crate::database::{Database, Params};
use crate::error::SqlError;
use crate::exec::context::Statement as Running;
use crate::expr::EvalContext;
use crate::plan::bind::Scope;
use crate::session::{Environment, ResultSink, SessionState};
use crate::types::ResultColumn;
use crate::value::Value;

impl Database {
    /// DO: what the expressions give is dropped.
    pub(super) fn evaluate_all(
        &self,
        exprs: &[Expr],
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<(), SqlError> {
        exprs.iter().try_for_each(|expr| self.evaluate(expr, params, session, env).map(drop))
    }

    /// The value of an expression without columns; where queries are parts of it, that of a SELECT of it.
    pub(super) fn evaluate(
        &self,
        expr: &Expr,
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Value, SqlError> {
        self.evaluate_collated(expr, params, session, env).map(|(value, _)| value)
    }

    /// The same with its collation.
    pub(super) fn evaluate_collated(
        &self,
        expr: &Expr,
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<(Value, Collation), SqlError> {
        if !expr.has_queries() {
            return evaluate_collated(expr, params, session, env);
        }
        let statement = Statement::Select(Box::new(select(expr)));
        let mut value = FirstValue(Value::Null);
        loop {
            let plan = self.plan(statement.clone(), session)?;
            if self.run_plan(&plan, Params::of(params, b""), session, env, &mut value)?.is_some() {
                let collation = plan.columns.first().map_or(Collation::DEFAULT, |column| column.result_type.collation);
                return Ok((value.0, collation));
            }
        }
    }
}

/// Keeps the value of a result of one.
struct FirstValue(Value);

impl ResultSink for FirstValue {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.0 = row.first().cloned().unwrap_or(Value::Null);
        Ok(())
    }
}

/// `SELECT expr`
fn select(expr: &Expr) -> Query {
    let item = SelectItem::Expr { expr: expr.clone(), alias: None, text: String::new(), span: Span::default() };
    let body = QueryBody::Select(Box::new(Select { items: vec![item], ..Select::default() }));
    Query {
        with: None,
        body,
        order_by: Vec::new(),
        limit: None,
        locking: Vec::new(),
        into: None,
        span: Span::default(),
    }
}

/// The value of an expression without columns and queries.
pub(super) fn evaluate(
    expr: &Expr,
    params: &[Value],
    session: &SessionState,
    env: &dyn Environment,
) -> Result<Value, SqlError> {
    evaluate_collated(expr, params, session, env).map(|(value, _)| value)
}

fn evaluate_collated(
    expr: &Expr,
    params: &[Value],
    session: &SessionState,
    env: &dyn Environment,
) -> Result<(Value, Collation), SqlError> {
    let mut scope = Scope::new(&[], "field list");
    scope.literals = session.literals();
    let bound = scope.bind(expr)?;
    let context = Running::new(session, env, false);
    session.memory.begin_evaluation();
    let value = bound.eval(&[], &EvalContext::new(params, &context))?;
    Ok((value, bound.collation()))
}
