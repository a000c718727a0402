//! Names of variables.

use super::{literal, syntax_error};
use crate::error::SqlError;
use crate::expr::VariableScope;

/// Scope and lower-case name of `@@...`, given without the at signs.
pub(super) fn system_variable(text: &str) -> Result<(VariableScope, String), SqlError> {
    let parts: Vec<String> =
        text.split('.').map(|part| literal::name(part.as_bytes())).collect::<Result<_, SqlError>>()?;
    let (scope, name) = match parts.as_slice() {
        [name] if !name.is_empty() => (VariableScope::Any, name),
        [scope, name] if scope.eq_ignore_ascii_case("GLOBAL") => (VariableScope::Global, name),
        [scope, name] if scope.eq_ignore_ascii_case("SESSION") || scope.eq_ignore_ascii_case("LOCAL") => {
            (VariableScope::Session, name)
        }
        _ => return Err(syntax_error(text, 1)),
    };
    Ok((scope, name.to_lowercase()))
}

/// Lower-case name of `@...`, given without the at sign.
pub(super) fn user_variable(text: &str) -> Result<String, SqlError> {
    let name = literal::name(text.as_bytes())?;
    if name.is_empty() {
        return Err(syntax_error("@", 1));
    }
    Ok(name.to_lowercase())
}
