//! SET: variables, NAMES, TRANSACTION.

use super::evaluate::evaluate;
use crate::ast::Assignment;
use crate::database::Database;
use crate::error::{ER_CANT_CHANGE_TX_CHARACTERISTICS, ER_WRONG_TYPE_FOR_VAR, ER_WRONG_VALUE_FOR_VAR, SqlError};
use crate::expr::VariableScope;
use crate::isolation_level::IsolationLevel;
use crate::session::{Environment, Outcome, SessionState};
use crate::value::Value;

impl Database {
    pub(super) fn set(
        &self,
        assignments: &[Assignment],
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Outcome, SqlError> {
        let autocommit = session.autocommit;
        run(assignments, params, session, env)?;
        let ended = self.after_set(autocommit, session);
        if ended.is_err() {
            env.set_variable(session, VariableScope::Session, "autocommit", Some(Value::Int(0)))?;
        }
        ended
    }
}

/// Runs the assignments of a SET, in order.
fn run(
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
