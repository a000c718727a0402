//! KILL.

use super::evaluate::evaluate;
use crate::ast::Expr;
use crate::error::{ER_WRONG_ARGUMENTS, SqlError};
use crate::session::{Environment, KillTarget, SessionState};
use crate::value::Value;

/// Ends the connection or its statement; 1210 if the expression gives no id.
pub(super) fn run(
    target: KillTarget,
    connection: &Expr,
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
