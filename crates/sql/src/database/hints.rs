//! What hints ask of a session while their statement runs: SET_VAR.
//!
//! A variable that SET_VAR sets has its old value again when the statement ends, also after an error. What cannot be set is
//! a warning, and the statement runs without it. A plan is made and run with these values; the cache finds it by the text
//! of its hints.

use crate::ast::Hints;
use crate::error::{
    ER_NOT_HINTABLE_VARIABLE, ER_UNKNOWN_SYSTEM_VARIABLE, ER_UNRESOLVED_HINT_NAME, ER_WARN_CONFLICTING_HINT, SqlError,
};
use crate::expr::VariableScope;
use crate::session::{DiagnosticLevel, Environment, SessionState};
use crate::value::Value;

/// The variables that a statement has set, with their values before.
#[derive(Default)]
pub(crate) struct HintedVariables {
    begun: bool,
    before: Vec<(String, Value)>,
}

impl HintedVariables {
    /// Sets what the hints say, and shows what is wrong with them; once for a statement.
    pub(crate) fn begin(&mut self, hints: Option<&Hints>, session: &mut SessionState, env: &dyn Environment) {
        let Some(hints) = hints else { return };
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        for warning in &hints.warnings {
            session.push_diagnostic(DiagnosticLevel::Warning, warning.clone());
        }
        for variable in &hints.variables {
            let name = variable.name.as_str();
            let refusal = match env.is_hintable(name) {
                Err(error) if error.is(ER_UNKNOWN_SYSTEM_VARIABLE) => {
                    let name = format!("'{name}'");
                    SqlError::new(ER_UNRESOLVED_HINT_NAME, &[&name, &"SET_VAR"])
                }
                Err(error) => error,
                Ok(false) => SqlError::new(ER_NOT_HINTABLE_VARIABLE, &[&name]),
                Ok(true) if self.before.iter().any(|(known, _)| known == name) => {
                    SqlError::new(ER_WARN_CONFLICTING_HINT, &[&variable.shown])
                }
                Ok(true) => match self.set(name, &variable.value, session, env) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
            };
            session.push_diagnostic(DiagnosticLevel::Warning, refusal);
        }
    }

    fn set(
        &mut self,
        name: &str,
        value: &Value,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<(), SqlError> {
        let before = match name {
            // Read, it is the present.
            "timestamp" if session.fixed_now_us.is_none() => Value::Int(0),
            _ => env.variable(session, VariableScope::Session, name)?,
        };
        env.set_variable(session, VariableScope::Session, name, Some(value.clone()))?;
        self.before.push((name.to_owned(), before));
        Ok(())
    }

    /// The statement has ended: sets everything back. What it has done stays, whatever becomes of this.
    pub(crate) fn end(self, session: &mut SessionState, env: &dyn Environment) {
        for (name, value) in self.before.into_iter().rev() {
            if let Err(error) = env.set_variable(session, VariableScope::Session, &name, Some(value)) {
                session.push_diagnostic(DiagnosticLevel::Warning, error);
            }
        }
    }
}
