//! SET: variables, NAMES, TRANSACTION.

use crate::ast::Assignment;
use crate::collation::Collation;
use crate::database::{Database, Params};
use crate::error::{ER_CANT_CHANGE_TX_CHARACTERISTICS, ER_WRONG_TYPE_FOR_VAR, ER_WRONG_VALUE_FOR_VAR, SqlError};
use crate::expr::VariableScope;
use crate::isolation_level::IsolationLevel;
use crate::memory::value_bytes;
use crate::session::{Environment, Outcome, SessionState};
use crate::value::Value;

impl Database {
    pub(super) fn set(
        &self,
        assignments: &[Assignment],
        given: Params<'_>,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Outcome, SqlError> {
        let autocommit = session.autocommit;
        let values = match given.meaning() {
            Some(meaning) => session.as_meant(meaning, |session| self.values(assignments, given, session, env)),
            None => self.values(assignments, given, session, env),
        };
        assign(assignments, values?, session, env)?;
        let ended = self.after_set(autocommit, session);
        if ended.is_err() {
            env.set_variable(session, VariableScope::Session, "autocommit", Some(Value::Int(0)))?;
        }
        ended
    }

    /// The values of a SET, each with its collation: all are evaluated before the first is assigned.
    fn values(
        &self,
        assignments: &[Assignment],
        given: Params<'_>,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Vec<Option<(Value, Collation)>>, SqlError> {
        let held = session.memory.held();
        let mut values = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let expr = match assignment {
                Assignment::User(_, expr) => Some(expr),
                Assignment::System { value, .. } => value.as_ref(),
                Assignment::Names { .. } | Assignment::CharacterSet(_) | Assignment::Transaction { .. } => None,
            };
            let value = expr.map(|expr| self.evaluate_collated(expr, given.values(), session, env)).transpose()?;
            session.memory.begin_evaluation();
            session.memory.hold(value.as_ref().map_or(0, |(value, _)| value_bytes(value)))?;
            values.push(value);
        }
        // From now on each counts where it is kept.
        session.memory.release_to(held);
        Ok(values)
    }
}

/// Runs the assignments of a SET, in order.
fn assign(
    assignments: &[Assignment],
    values: Vec<Option<(Value, Collation)>>,
    session: &mut SessionState,
    env: &dyn Environment,
) -> Result<(), SqlError> {
    for (assignment, value) in assignments.iter().zip(values) {
        match assignment {
            Assignment::User(name, _) => {
                let (value, collation) = value.unwrap_or((Value::Null, Collation::DEFAULT));
                session.set_user_variable(name, value, collation)?;
            }
            Assignment::System { scope, name, .. } => {
                system(*scope, name, value.map(|(value, _)| value), session, env)?;
            }
            Assignment::Names { charset, collation } => {
                env.set_names(session, charset.as_deref(), collation.as_deref())?;
            }
            Assignment::CharacterSet(charset) => env.set_character_set(session, charset.as_deref())?,
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
