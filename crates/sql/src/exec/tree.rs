//! Statements that run from their tree: SET, SHOW, KILL and the like.

use std::sync::Arc;

use super::context::Statement as Context;
use super::show::{self, Shown};
use crate::ast::{Assignment, Expr as Tree, ShowFilter};
use crate::error::{
    ER_CANT_CHANGE_TX_CHARACTERISTICS, ER_WRONG_ARGUMENTS, ER_WRONG_TYPE_FOR_VAR, ER_WRONG_VALUE_FOR_VAR, SqlError,
};
use crate::expr::{EvalContext, Expr, VariableScope};
use crate::isolation_level::IsolationLevel;
use crate::plan::bind::Scope;
use crate::session::{DiagnosticLevel, Environment, KillTarget, ResultSink, SessionState};
use crate::types::{ResultColumn, ResultType};
use crate::value::Value;

/// The value of an expression without columns.
pub(crate) fn evaluate(
    expr: &Tree,
    params: &[Value],
    session: &SessionState,
    env: &dyn Environment,
) -> Result<Value, SqlError> {
    let bound = Scope::new(&[], "field list").bind(expr)?;
    let context = Context::new(session, env, false);
    session.memory.begin_evaluation();
    bound.eval(&[], &EvalContext { params, statement: &context })
}

/// Runs the assignments of a SET, in order.
pub(crate) fn set(
    assignments: &[Assignment],
    params: &[Value],
    session: &mut SessionState,
    env: &dyn Environment,
) -> Result<(), SqlError> {
    for assignment in assignments {
        match assignment {
            Assignment::User(name, value) => {
                let value = evaluate(value, params, session, env)?;
                // From now on it counts as what is kept.
                session.memory.begin_evaluation();
                session.set_user_variable(name, value)?;
            }
            Assignment::System { scope, name, value } => {
                let value = value.as_ref().map(|value| evaluate(value, params, session, env)).transpose()?;
                system(*scope, name, value, session, env)?;
            }
            Assignment::Names { charset, collation } => {
                env.set_names(session, charset.as_deref(), collation.as_deref())?;
            }
            Assignment::Transaction { scope, isolation, read_only } => {
                transaction(*scope, *isolation, *read_only, session, env)?;
            }
        }
    }
    Ok(())
}

fn system(
    scope: VariableScope,
    name: &str,
    value: Option<Value>,
    session: &mut SessionState,
    env: &dyn Environment,
) -> Result<(), SqlError> {
    if scope != VariableScope::Any {
        return env.set_variable(session, scope, name, value);
    }
    // Without a scope these two are for the next transaction only.
    match (name, value) {
        ("transaction_isolation" | "tx_isolation", Some(value)) => {
            let Value::Text(text) = &value else { return Err(SqlError::new(ER_WRONG_TYPE_FOR_VAR, &[&name])) };
            let isolation =
                IsolationLevel::named(text).ok_or_else(|| SqlError::new(ER_WRONG_VALUE_FOR_VAR, &[&name, text]))?;
            transaction(VariableScope::Any, Some(isolation), None, session, env)
        }
        ("transaction_read_only" | "tx_read_only", Some(value)) => {
            let read_only = match &value {
                Value::Int(0) | Value::UInt(0) => false,
                Value::Int(1) | Value::UInt(1) => true,
                Value::Text(text) if text.eq_ignore_ascii_case("OFF") || text.eq_ignore_ascii_case("FALSE") => false,
                Value::Text(text) if text.eq_ignore_ascii_case("ON") || text.eq_ignore_ascii_case("TRUE") => true,
                _ => return Err(SqlError::new(ER_WRONG_VALUE_FOR_VAR, &[&name, &value])),
            };
            transaction(VariableScope::Any, None, Some(read_only), session, env)
        }
        (_, value) => env.set_variable(session, VariableScope::Session, name, value),
    }
}

fn transaction(
    scope: VariableScope,
    isolation: Option<IsolationLevel>,
    read_only: Option<bool>,
    session: &mut SessionState,
    env: &dyn Environment,
) -> Result<(), SqlError> {
    if scope == VariableScope::Any {
        if session.in_transaction() {
            return Err(SqlError::new(ER_CANT_CHANGE_TX_CHARACTERISTICS, &[]));
        }
        if let Some(isolation) = isolation {
            session.set_next_isolation(isolation.isolation());
        }
        if let Some(read_only) = read_only {
            session.set_next_read_only(read_only);
        }
        return Ok(());
    }
    if let Some(isolation) = isolation {
        env.set_variable(session, scope, "transaction_isolation", Some(Value::text(isolation.name())))?;
    }
    if let Some(read_only) = read_only {
        env.set_variable(session, scope, "transaction_read_only", Some(Value::bool(read_only)))?;
    }
    Ok(())
}

/// KILL
pub(crate) fn kill(
    target: KillTarget,
    connection: &Tree,
    params: &[Value],
    session: &SessionState,
    env: &dyn Environment,
) -> Result<(), SqlError> {
    let id = match evaluate(connection, params, session, env)? {
        Value::Int(id) => u64::try_from(id).ok(),
        Value::UInt(id) => Some(id),
        _ => None,
    };
    env.kill(id.ok_or_else(|| SqlError::new(ER_WRONG_ARGUMENTS, &[&"KILL"]))?, target)
}

/// SHOW WARNINGS, SHOW ERRORS and their counts.
pub(crate) fn diagnostics(
    errors_only: bool,
    count: bool,
    limit: Option<(u64, u64)>,
    session: &SessionState,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let diagnostics = session.diagnostics.borrow().clone();
    let shown = diagnostics.iter().filter(|one| !errors_only || one.level == DiagnosticLevel::Error);
    if count {
        let name = if errors_only { "@@session.error_count" } else { "@@session.warning_count" };
        sink.columns(&[ResultColumn::computed(name, ResultType::unsigned(21))])?;
        return sink.row(&[Value::UInt(shown.count() as u64)]);
    }
    let text = show::text_type(512);
    sink.columns(&[
        ResultColumn::computed("Level", show::text_type(7)),
        ResultColumn::computed("Code", ResultType::unsigned(5)),
        ResultColumn::computed("Message", text),
    ])?;
    let (offset, most) = limit.unwrap_or((0, u64::MAX));
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    for one in shown.skip(skip).take(usize::try_from(most).unwrap_or(usize::MAX)) {
        let level = match one.level {
            DiagnosticLevel::Note => "Note",
            DiagnosticLevel::Warning => "Warning",
            DiagnosticLevel::Error => "Error",
        };
        sink.row(&[Value::text(level), Value::UInt(one.error.errno.into()), Value::text(one.error.message.as_str())])?;
    }
    Ok(())
}

/// Gives the rows of a SHOW that pass its LIKE or WHERE.
pub(crate) fn filtered(
    table: Shown,
    filter: Option<&ShowFilter>,
    params: &[Value],
    session: &SessionState,
    env: &dyn Environment,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let columns: Vec<ResultColumn> =
        table.columns.iter().map(|(name, result_type)| ResultColumn::computed(name.as_str(), *result_type)).collect();
    let place = |slot: usize| {
        let (name, result_type) = &table.columns[slot];
        Expr::column(slot, name.as_str(), *result_type)
    };
    let condition = match filter {
        None => None,
        Some(ShowFilter::Like(pattern)) => {
            let pattern = Expr::Literal(Value::Text(Arc::from(pattern.as_str())));
            Some(Expr::like(place(0), pattern, Some('\\'), false)?)
        }
        Some(ShowFilter::Where(condition)) => {
            let mut scope = Scope::new(&[], "where clause");
            scope.aliases = (0..columns.len()).map(|slot| (table.columns[slot].0.as_str(), place(slot))).collect();
            Some(scope.bind(condition)?)
        }
    };
    let context = Context::new(session, env, false);
    let cx = EvalContext { params, statement: &context };
    sink.columns(&columns)?;
    for row in &table.rows {
        let shown = match &condition {
            None => true,
            Some(condition) => condition.condition(row, &cx)? == Some(true),
        };
        if shown {
            sink.row(row)?;
        }
    }
    Ok(())
}
