//! Prepared statements that a session has by name (PREPARE, EXECUTE, DEALLOCATE PREPARE). They run as those of the protocol
//! do, with the values of user variables, which keep their collations, and give rows as text.

use std::sync::Arc;

use super::{Database, Given, Prepared};
use crate::ast::PreparedText;
use crate::collation::Collation;
use crate::error::{ER_UNKNOWN_STMT_HANDLER, SqlError};
use crate::session::{Environment, Outcome, ResultSink, SessionState};
use crate::value::Value;

/// One of them.
pub(crate) struct NamedStatement {
    prepared: Prepared,
    /// Its place among those of the server.
    _place: Box<dyn Send + Sync>,
}

impl Database {
    /// PREPARE: the statement that has the name is gone, whatever becomes of the new one. 1461 if the server has no place
    /// for one more, 1295 for what cannot be prepared.
    pub(crate) fn prepare_named(
        &self,
        name: &str,
        from: &PreparedText,
        session: &SessionState,
        env: &dyn Environment,
    ) -> Result<(), SqlError> {
        take(name, session);
        let text = match from {
            PreparedText::Text(text) => text.clone().into_bytes(),
            PreparedText::Variable(name) => match session.user_variable(name) {
                Value::Null => b"NULL".to_vec(),
                Value::Bytes(bytes) => bytes.to_vec(),
                value => value.to_string().into_bytes(),
            },
        };
        let place = env.statement_place(session.named_statements.borrow().len())?;
        let prepared = self.prepare_quietly(session, env, &text)?;
        session.memory.keep(prepared.memory_bytes())?;
        let named = Arc::new(NamedStatement { prepared, _place: place });
        session.named_statements.borrow_mut().insert(name.to_lowercase(), named);
        Ok(())
    }

    /// EXECUTE; 1243 if no statement has the name, 1210 if the number of variables is not that of its parameters.
    pub(crate) fn execute_named(
        &self,
        name: &str,
        using: &[String],
        session: &mut SessionState,
        env: &dyn Environment,
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        let named = session.named_statements.borrow().get(&name.to_lowercase()).cloned();
        let named = named.and_then(|named| named.downcast::<NamedStatement>().ok());
        let named = named.ok_or_else(|| {
            session.begin_diagnostics(false);
            unknown(name, "EXECUTE")
        })?;
        let literals = session.literals();
        let parameter = |name: &String| {
            let collation = session.collation_of_variable(name).unwrap_or(Collation::DEFAULT);
            literals.of_variable(session.user_variable(name), collation)
        };
        let (values, kinds): (Vec<_>, Vec<_>) = using.iter().map(parameter).unzip();
        env.executes(&named.prepared.sql);
        let given = Given { values: &values, kind_of: &|at| kinds[at] };
        self.execute_prepared_quietly(session, env, &named.prepared, given, sink)
    }
}

/// DEALLOCATE PREPARE; 1243 if no statement has the name.
pub(crate) fn deallocate(name: &str, session: &SessionState) -> Result<(), SqlError> {
    if take(name, session) { Ok(()) } else { Err(unknown(name, "DEALLOCATE PREPARE")) }
}

/// Forgets the statement of a name; whether there was one.
fn take(name: &str, session: &SessionState) -> bool {
    let found = session.named_statements.borrow_mut().remove(&name.to_lowercase());
    let named = found.as_deref().and_then(|named| named.downcast_ref::<NamedStatement>());
    named.into_iter().for_each(|named| session.memory.release(named.prepared.memory_bytes()));
    found.is_some()
}

fn unknown(name: &str, statement: &str) -> SqlError {
    SqlError::new(ER_UNKNOWN_STMT_HANDLER, &[&name, &statement])
}
