//! Functions about locks that have a name of the user's.
//!
//! MySQL 8.0 decides: a session may hold many of them, each several times; a name that cannot be one is an error; a
//! negative time is for ever.

use std::time::Duration;

use super::super::convert::{to_i64, to_text};
use super::{Arguments, Function};
use crate::error::{ER_USER_LOCK_WRONG_NAME, SqlError};
use crate::types::ResultType;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("get_lock", 2, 2, get, |_| ResultType::integer(1).nullable(true)).takes_null().volatile().doc(
        "Locks a name for the session, waiting so many seconds: 1, or 0 if others hold it; a negative time is for ever.",
        "GET_LOCK('a', 0)",
        "1",
    ),
    Function::new("release_lock", 1, 1, release, |_| ResultType::integer(1).nullable(true)).takes_null().volatile().doc(
        "Gives a name up: 1, 0 if another session holds it, NULL if nobody does.",
        "RELEASE_LOCK('a') IS NULL",
        "1",
    ),
    Function::new("release_all_locks", 0, 0, release_all, |_| ResultType::unsigned(21)).volatile().doc(
        "Gives up all names that the session holds; how often they were taken.",
        "RELEASE_ALL_LOCKS()",
        "0",
    ),
    Function::new("is_free_lock", 1, 1, is_free, |_| ResultType::integer(1).nullable(true)).takes_null().volatile().doc(
        "Whether nobody holds the name.",
        "IS_FREE_LOCK('a')",
        "1",
    ),
    Function::new("is_used_lock", 1, 1, is_used, |_| ResultType::unsigned(10).nullable(true)).takes_null().volatile().doc(
        "The number of the connection that holds the name, or NULL.",
        "IS_USED_LOCK('a') IS NULL",
        "1",
    ),
];

/// Most characters of a name.
const NAME_CHARS_MAX: usize = 64;

/// The name in an argument, whose case does not count. Like names of tables it has no characters beyond U+FFFF.
fn name(args: &Arguments<'_, '_>) -> Result<String, SqlError> {
    let text = match &args[0] {
        Value::Null => None,
        name => Some(to_text(name)),
    };
    let fits = |text: &str| {
        let chars = text.chars().count();
        (1..=NAME_CHARS_MAX).contains(&chars) && text.chars().all(|one| u32::from(one) <= 0xffff)
    };
    match text.filter(|text| fits(text)) {
        Some(text) => Ok(text.chars().map(lower).collect()),
        None if args[0].is_null() => Err(SqlError::new(ER_USER_LOCK_WRONG_NAME, &[&"NULL"])),
        None => Err(SqlError::new(ER_USER_LOCK_WRONG_NAME, &[&to_text(&args[0])])),
    }
}

/// One character for one.
fn lower(one: char) -> char {
    let mut small = one.to_lowercase();
    match (small.next(), small.next()) {
        (Some(small), None) => small,
        _ => one,
    }
}

fn get(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let name = name(args)?;
    let seconds = if args[1].is_null() { 0 } else { to_i64(&args[1], args.cx)? };
    let seconds = u64::try_from(seconds).unwrap_or(u64::MAX).min(i32::MAX as u64);
    Ok(Value::bool(args.cx.statement.lock_name(&name, Duration::from_secs(seconds))?))
}

fn release(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let name = name(args)?;
    let statement = args.cx.statement;
    Ok(match statement.unlock_name(&name) {
        true => Value::bool(true),
        false if statement.name_holder(&name).is_some() => Value::bool(false),
        false => Value::Null,
    })
}

fn release_all(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::UInt(args.cx.statement.unlock_names()))
}

fn is_free(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(Value::bool(args.cx.statement.name_holder(&name(args)?).is_none()))
}

fn is_used(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    Ok(args.cx.statement.name_holder(&name(args)?).map_or(Value::Null, Value::UInt))
}
