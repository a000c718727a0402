//! PREPARE, EXECUTE and DEALLOCATE PREPARE.

use super::VariableName;
use super::cursor::Cursor;
use crate::ast::{PreparedText, Statement};
use crate::error::SqlError;

/// `PREPARE name FROM {text | @variable}`, `EXECUTE name [USING @variable [, ...]]`, `{DEALLOCATE | DROP} PREPARE name`
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    if cursor.takes("PREPARE") {
        let name = cursor.name()?;
        cursor.expect("FROM")?;
        let from = match cursor.sees_text() {
            true => PreparedText::Text(cursor.text()?),
            false => PreparedText::Variable(user_variable(cursor)?),
        };
        return Ok(Statement::Prepare { name, from });
    }
    if cursor.takes("EXECUTE") {
        let name = cursor.name()?;
        let using = if cursor.takes("USING") { cursor.separated(user_variable)? } else { Vec::new() };
        return Ok(Statement::Execute { name, using });
    }
    cursor.skip();
    cursor.expect("PREPARE")?;
    cursor.name().map(Statement::Deallocate)
}

fn user_variable(cursor: &mut Cursor<'_>) -> Result<String, SqlError> {
    match VariableName::read(cursor.bytes(0)) {
        Some(VariableName::User(name)) => {
            cursor.skip();
            Ok(name)
        }
        _ => Err(cursor.unexpected()),
    }
}
