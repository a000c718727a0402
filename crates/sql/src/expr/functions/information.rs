//! Functions about the session, and those that have an effect on it.

use std::time::Duration;

use super::super::context::Information;
use super::super::convert::{to_f64, to_i64, to_text};
use super::{Arguments, Form, Function};
use crate::collation::Collation;
use crate::error::{ER_QUERY_INTERRUPTED, ER_WRONG_ARGUMENTS, SqlError};
use crate::types::{Family, ResultType};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("version", 0, 0, |a| Ok(a.cx.statement.information(Information::Version)), |_| name(60)).doc(
        "The version of the server.",
        "VERSION() IS NOT NULL",
        "1",
    ),
    Function::new("database", 0, 0, |a| Ok(a.cx.statement.information(Information::Database)), |_| name(64))
        .aliases(&["schema"])
        .in_grammar()
        .doc("The default database.", "DATABASE() = SCHEMA()", "1"),
    Function::new("user", 0, 0, |a| Ok(a.cx.statement.information(Information::User)), |_| name(288))
        .aliases(&["session_user", "system_user"])
        .in_grammar()
        .doc("The user name and host that the client gave.", "USER() = SESSION_USER()", "1"),
    Function::new("current_user", 0, 0, |a| Ok(a.cx.statement.information(Information::CurrentUser)), |_| name(288))
        .form(Form::Bare)
        .doc("The account that the client was authenticated as.", "CURRENT_USER() IS NOT NULL", "1"),
    Function::new(
        "connection_id",
        0,
        0,
        |a| Ok(a.cx.statement.information(Information::ConnectionId)),
        |_| ResultType::unsigned(21),
    )
    .doc("The number of the connection.", "CONNECTION_ID() > 0", "1"),
    Function::new("last_insert_id", 0, 1, last_insert_id, |_| ResultType::unsigned(21)).takes_null().volatile().doc(
        "The first AUTO_INCREMENT value of the last INSERT; with an argument, it is set to that.",
        "LAST_INSERT_ID(5)",
        "5",
    ),
    Function::new(
        "row_count",
        0,
        0,
        |a| Ok(a.cx.statement.information(Information::RowCount)),
        |_| ResultType::integer(21),
    )
    .in_grammar()
    .doc("Rows that the last statement changed; -1 if it was none that changes rows.", "ROW_COUNT()", "-1"),
    Function::new(
        "found_rows",
        0,
        0,
        |a| Ok(a.cx.statement.information(Information::FoundRows)),
        |_| ResultType::integer(21),
    )
    .doc("Rows of the last SELECT.", "FOUND_ROWS() >= 0", "1"),
    Function::new("charset", 1, 1, |a| Ok(Value::text(collation_of(a).charset().name())), |_| name(64))
        .takes_null()
        .in_grammar()
        .doc("The character set of a text.", "CHARSET(X'41')", "binary"),
    Function::new("collation", 1, 1, |a| Ok(Value::text(collation_of(a).name())), |_| name(64))
        .takes_null()
        .in_grammar()
        .doc("The collation of a text.", "COLLATION(X'41')", "binary"),
    Function::new("random_bytes", 1, 1, random_bytes, |_| ResultType::string(1024, Collation::Binary)).volatile().doc(
        "So many random bytes.",
        "LENGTH(RANDOM_BYTES(8))",
        "8",
    ),
    Function::new("sleep", 1, 1, sleep, |_| ResultType::integer(21)).takes_null().volatile().doc(
        "Waits so many seconds; 0 if nothing interrupted it.",
        "SLEEP(0)",
        "0",
    ),
    Function::new("any_value", 1, 1, |a| Ok(a[0].clone()), |a| a[0]).takes_null().keeps_collation().doc(
        "The argument, from any row of a group.",
        "ANY_VALUE(1)",
        "1",
    ),
];

fn name(chars: u32) -> ResultType {
    ResultType::string(chars, Collation::DEFAULT)
}

fn last_insert_id(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    match args.first() {
        None => Ok(args.cx.statement.information(Information::LastInsertId)),
        Some(Value::Null) => {
            args.cx.statement.set_last_insert_id(0);
            Ok(Value::Null)
        }
        Some(id) => {
            let id = to_i64(id, args.cx)? as u64;
            args.cx.statement.set_last_insert_id(id);
            Ok(Value::UInt(id))
        }
    }
}

/// Strings have a collation, everything else is binary.
fn collation_of(args: &Arguments<'_, '_>) -> Collation {
    let of_string = || args.call.args[0].result_type(args.cx.params).family() == Family::String;
    match &args[0] {
        Value::Text(_) => args.collation,
        Value::Null if of_string() => args.collation,
        _ => Collation::Binary,
    }
}

fn random_bytes(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let len = to_i64(&args[0], args.cx)?;
    if !(1..=1024).contains(&len) {
        return Err(SqlError::new(ER_WRONG_ARGUMENTS, &[&"random_bytes"]));
    }
    let mut bytes = vec![0; len as usize];
    args.cx.statement.random(&mut bytes);
    Ok(Value::bytes(bytes))
}

fn sleep(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let wrong = || SqlError::new(ER_WRONG_ARGUMENTS, &[&"sleep."]);
    if args[0].is_null() {
        return Err(wrong());
    }
    let seconds = to_f64(&args[0], args.cx)?;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if args.cx.statement.sleep(duration) {
        return Err(SqlError::new(ER_QUERY_INTERRUPTED, &[&to_text(&args[0])]));
    }
    Ok(Value::Int(0))
}
