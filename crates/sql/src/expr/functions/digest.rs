//! STATEMENT_DIGEST and STATEMENT_DIGEST_TEXT.

use sha2::{Digest as _, Sha256};

use super::super::convert::to_bytes;
use super::encoding::hex_of;
use super::{Arguments, Function};
use crate::collation::Collation;
use crate::error::{ER_PARSE_ERROR_IN_DIGEST_FN, SqlError};
use crate::expr::VariableScope;
use crate::memory::LEXEME_BYTES;
use crate::parse::digest;
use crate::stack::with_room_for_statement;
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("statement_digest", 1, 1, statement_digest, |_| ResultType::string(64, Collation::DEFAULT))
        .of_text()
        .doc(
            "The SHA-256 digest of what STATEMENT_DIGEST_TEXT gives, in digits with base 16.",
            "STATEMENT_DIGEST('SELECT 1') = SHA2('SELECT ?', 256)",
            "1",
        ),
    Function::new(
        "statement_digest_text",
        1,
        1,
        |a| Ok(Value::text(text(a)?)),
        |_| ResultType::string(u32::MAX / 4, Collation::DEFAULT),
    )
    .of_text()
    .doc(
        "A statement with `?` for its values, as all of its shape have it.",
        "STATEMENT_DIGEST_TEXT('select 1, 2')",
        "SELECT ?, ...",
    ),
];

/// `max_digest_length` where there is no server.
const ROOM: usize = 1024;

fn statement_digest(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::text(hex_of(&Sha256::digest(text(args)?))))
}

/// The normalised text of the argument; 3676 if it is no statement.
fn text(args: &Arguments<'_, '_>) -> Result<String, SqlError> {
    let sql = to_bytes(&args[0]);
    let statement = args.cx.statement;
    let sql_mode = statement.sql_mode();
    let lexemes = digest::lexemes(&sql, sql_mode);
    let before = statement.evaluated();
    statement.hold_evaluated(lexemes.saturating_mul(LEXEME_BYTES))?;
    with_room_for_statement(lexemes, || digest::check(&sql, sql_mode))
        .map_err(|error| SqlError::new(ER_PARSE_ERROR_IN_DIGEST_FN, &[&error.message]))?;
    statement.check_killed()?;
    let room = match statement.system_variable(VariableScope::Global, "max_digest_length") {
        Ok(Value::Int(room)) => usize::try_from(room).unwrap_or(ROOM),
        Ok(Value::UInt(room)) => usize::try_from(room).unwrap_or(ROOM),
        _ => ROOM,
    };
    let text = digest::text(&sql, sql_mode, room);
    statement.forget_evaluated(before);
    Ok(text)
}
