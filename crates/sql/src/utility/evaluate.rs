//! DO, and the expressions of other statements.

use crate::ast::Expr;
use crate::error::SqlError;
use crate::exec::context::Statement;
use crate::expr::EvalContext;
use crate::plan::bind::Scope;
use crate::session::{Environment, SessionState};
use crate::value::Value;

/// DO: what the expressions give is dropped.
pub(super) fn run(
    exprs: &[Expr],
    params: &[Value],
    session: &SessionState,
    env: &dyn Environment,
) -> Result<(), SqlError> {
    exprs.iter().try_for_each(|expr| evaluate(expr, params, session, env).map(drop))
}

/// The value of an expression without columns.
pub(super) fn evaluate(
    expr: &Expr,
    params: &[Value],
    session: &SessionState,
    env: &dyn Environment,
) -> Result<Value, SqlError> {
    let bound = Scope::new(&[], "field list").bind(expr)?;
    let context = Statement::new(session, env, false);
    session.memory.begin_evaluation();
    bound.eval(&[], &EvalContext { params, statement: &context })
}
