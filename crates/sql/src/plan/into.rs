//! SELECT ... INTO.

use std::sync::Arc;

use crate::ast::{Into, Query, QueryBody};
use crate::error::{ER_OPTION_PREVENTS_STATEMENT, ER_SP_UNDECLARED_VAR, SqlError};

/// Takes the user variables that a statement's row goes to out of its tree, if it says so. 1290 for files, which this server does not write
/// (`secure_file_priv` is NULL); 1327 for variables of stored programs.
pub(super) fn take_variables(query: &mut Query) -> Result<Option<Vec<Arc<str>>>, SqlError> {
    match take(query) {
        None => Ok(None),
        Some(Into::Outfile { .. } | Into::Dumpfile(_)) => {
            Err(SqlError::new(ER_OPTION_PREVENTS_STATEMENT, &[&"--secure-file-priv"]))
        }
        Some(Into::Variables(names)) => {
            let user = |name: &String| {
                let undeclared = || SqlError::new(ER_SP_UNDECLARED_VAR, &[name]);
                name.strip_prefix('@').map(Arc::from).ok_or_else(undeclared)
            };
            names.iter().map(user).collect::<Result<_, _>>().map(Some)
        }
    }
}

fn take(query: &mut Query) -> Option<Into> {
    let inner = take_of_body(&mut query.body);
    query.into.take().or(inner)
}

/// Of a set operation it stands in the last operand.
fn take_of_body(body: &mut QueryBody) -> Option<Into> {
    match body {
        QueryBody::Select(select) => select.into.take(),
        QueryBody::Nested(inner) => take(inner),
        QueryBody::Set { rest, .. } => rest.last_mut().and_then(|operand| take_of_body(&mut operand.body)),
        QueryBody::Values(_) | QueryBody::Table(_) => None,
    }
}
