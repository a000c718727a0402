//! Functions about the session, and those that have an effect on it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cohort_io::{OsRandom, Randomness as _};

use super::super::coercion::Coercibility;
use super::super::context::Information;
use super::super::convert::{to_f64, to_i64, to_text};
use super::super::{Expr, UnaryOp, VariableScope};
use super::{Arguments, Demand, Form, Function, MANY};
use crate::collation::Collation;
use crate::error::{ER_QUERY_INTERRUPTED, ER_WRONG_ARGUMENTS, ER_WRONG_VALUE_FOR_TYPE, SqlError};
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
        "current_role",
        0,
        0,
        |a| Ok(a.cx.statement.information(Information::CurrentRole)),
        |_| name(u32::from(u16::MAX)),
    )
    .doc("The roles that are active in the session.", "CURRENT_ROLE()", "NONE"),
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
    Function::on_demand("benchmark", 2, 2, benchmark, |_| ResultType::integer(1)).volatile().doc(
        "0, after the second argument was evaluated so many times.",
        "BENCHMARK(10, MD5('a'))",
        "0",
    ),
    Function::rewritten("coercibility", 1, 1, coercibility).in_grammar().doc(
        "How strongly a text holds to its collation: 0 most, 6 least.",
        "COERCIBILITY('abc')",
        "4",
    ),
    Function::new("load_file", 1, 1, |_| Ok(Value::Null), |_| ResultType::string(u32::MAX / 4, Collation::Binary)).doc(
        "NULL, since statements cannot read files.",
        "LOAD_FILE('/etc/hosts') IS NULL",
        "1",
    ),
    Function::rewritten("name_const", 2, 2, name_const).doc(
        "The second argument, a literal, as a column with the first as its name.",
        "NAME_CONST('name', 14)",
        "14",
    ),
    Function::new(
        "ps_current_thread_id",
        0,
        0,
        |a| Ok(a.cx.statement.information(Information::ConnectionId)),
        |_| ResultType::unsigned(20),
    )
    .doc(
        "What performance_schema calls the connection: its number.",
        "PS_CURRENT_THREAD_ID() = CONNECTION_ID()",
        "1",
    ),
    Function::new("ps_thread_id", 1, 1, ps_thread_id, |_| ResultType::unsigned(20)).doc(
        "What performance_schema calls a connection: its number, or NULL if there is none.",
        "PS_THREAD_ID(CONNECTION_ID()) = CONNECTION_ID()",
        "1",
    ),
    Function::new(
        "roles_graphml",
        0,
        0,
        |a| Ok(a.cx.statement.information(Information::RolesGraphml)),
        |_| name(u32::MAX / 4),
    )
    .doc(
        "Accounts and the roles that are granted to them as a GraphML document; an empty one without ROLE_ADMIN and SUPER.",
        "ROLES_GRAPHML()",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><graphml />",
    ),
    Function::new("uuid_short", 0, 0, uuid_short, |_| ResultType::unsigned(21)).volatile().doc(
        "A number that this server gives only once.",
        "UUID_SHORT() < UUID_SHORT()",
        "1",
    ),
    Function::new("validate_password_strength", 1, 1, |_| Ok(Value::Int(0)), |_| ResultType::integer(10)).doc(
        "0, since no component judges passwords.",
        "VALIDATE_PASSWORD_STRENGTH('secret')",
        "0",
    ),
    Function::on_demand(
        "grouping",
        1,
        MANY,
        |_| Err(SqlError::internal("GROUPING() of no group")),
        |_| ResultType::integer(21),
    )
    .doc("WITH ROLLUP, whether a key stands for all its values; of several, a bit for each.", "GROUPING(x)", "1"),
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

fn ps_thread_id(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    let id = to_i64(&args[0], args.cx)? as u64;
    Ok(if args.cx.statement.has_connection(id) { Value::UInt(id) } else { Value::Null })
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
    // They may become keys: those of the statement can be guessed.
    OsRandom.fill(&mut bytes);
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

fn benchmark(demand: &Demand<'_, '_>) -> Result<Value, SqlError> {
    let (count, cx) = (demand.get(0)?, demand.cx);
    if count.is_null() {
        return Ok(Value::Null);
    }
    let count = to_i64(&count, cx)?;
    if count < 0 {
        cx.statement.warn(SqlError::new(ER_WRONG_VALUE_FOR_TYPE, &[&"count", &count, &"benchmark"]))?;
        return Ok(Value::Null);
    }
    let before = cx.statement.evaluated();
    for _ in 0..count {
        demand.get(1)?;
        // What one evaluation has made is gone before the next.
        cx.statement.forget_evaluated(before);
        cx.statement.check_killed()?;
    }
    Ok(Value::Int(0))
}

fn coercibility(args: Vec<Expr>) -> Result<Expr, SqlError> {
    const SYSTEM: [&str; 4] = ["database", "user", "current_user", "version"];
    let level = match args.first() {
        None | Some(Expr::Literal(Value::Null)) => 6,
        Some(Expr::Call(call)) if SYSTEM.contains(&call.name()) => 3,
        Some(other) => match other.own_collation().1 {
            Coercibility::Explicit => 0,
            Coercibility::None => 1,
            Coercibility::Implicit => 2,
            Coercibility::System => 3,
            Coercibility::Coercible => 4,
            Coercibility::Numeric => 5,
        },
    };
    Ok(Expr::Literal(Value::Int(level)))
}

/// Both arguments are literals.
fn name_const(mut args: Vec<Expr>) -> Result<Expr, SqlError> {
    let is_literal = |arg: &Expr| match arg {
        Expr::Unary(UnaryOp::Negate, inner) | Expr::Collate(inner, _) => inner.is_literal(),
        other => other.is_literal(),
    };
    match args.pop() {
        Some(value) if is_literal(&value) && args.iter().all(is_literal) => Ok(value),
        _ => Err(SqlError::new(ER_WRONG_ARGUMENTS, &[&"NAME_CONST"])),
    }
}

/// Its first byte is that of server_id, the next four are when the first number was made, the rest counts.
fn uuid_short(args: &Arguments<'_, '_>) -> Result<Value, SqlError> {
    static NEXT: OnceLock<AtomicU64> = OnceLock::new();
    let server = args.cx.statement.system_variable(VariableScope::Global, "server_id");
    let server = server.map_or(0, |id| to_i64(&id, args.cx).unwrap_or_default() as u64);
    let seconds = (args.cx.statement.clock_us() / 1_000_000) as u64;
    let next = NEXT.get_or_init(|| AtomicU64::new((seconds & 0xffff_ffff) << 24));
    Ok(Value::UInt((server & 0xff) << 56 | next.fetch_add(1, Ordering::Relaxed) & ((1 << 56) - 1)))
}
