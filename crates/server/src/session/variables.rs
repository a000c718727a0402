//! System variables in a session: reading, SET, and what a new value changes.
//!
//! Not here: which values a variable takes (`sysvars`).

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use cohort_sql::collation::{self, Collation};
use cohort_sql::error::{
    ER_GLOBAL_VARIABLE, ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_LOCAL_VARIABLE, ER_TRUNCATED_WRONG_VALUE,
    ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION, ER_UNKNOWN_STORAGE_ENGINE, ER_UNKNOWN_SYSTEM_VARIABLE,
    ER_UNKNOWN_TIME_ZONE, ER_VARIABLE_IS_READONLY, ER_WRONG_TYPE_FOR_VAR, ER_WRONG_VALUE_FOR_VAR,
};
use cohort_sql::expr::VariableScope;
use cohort_sql::isolation_level::IsolationLevel;
use cohort_sql::session::{Diagnostic, DiagnosticLevel, SessionState};
use cohort_sql::types::SqlMode;
use cohort_sql::types::temporal::TimeZone;
use cohort_sql::{SqlError, Value};
use cohort_txn::{CommitSettings, Isolation};

use crate::operator_log;
use crate::sysvars::{Change, Globals, Scope, SessionSettings, Setting, SettingError, SystemVariable, VariableId};

/// The variable called `name`; 1193 if there is none.
pub fn find(name: &str) -> Result<VariableId, SqlError> {
    VariableId::of(name).ok_or_else(|| SqlError::new(ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]))
}

/// Checks that a variable can be read in `scope`, and says whether the global value is meant.
pub fn reads_global(row: &SystemVariable, scope: VariableScope) -> Result<bool, SqlError> {
    match (scope, row.scope) {
        (VariableScope::Global, Scope::Session) => {
            Err(SqlError::new(ER_INCORRECT_GLOBAL_LOCAL_VAR, &[&row.name, &"SESSION"]))
        }
        (VariableScope::Session, Scope::Global) => {
            Err(SqlError::new(ER_INCORRECT_GLOBAL_LOCAL_VAR, &[&row.name, &"GLOBAL"]))
        }
        (VariableScope::Global, _) | (_, Scope::Global) => Ok(true),
        _ => Ok(false),
    }
}

/// Checks that a variable can be SET in `scope`.
pub fn check_settable(row: &SystemVariable, scope: VariableScope) -> Result<(), SqlError> {
    if row.change != Change::Anytime {
        return Err(SqlError::new(ER_INCORRECT_GLOBAL_LOCAL_VAR, &[&row.name, &"read only"]));
    }
    match (scope, row.scope) {
        (VariableScope::Global, Scope::Session) => Err(SqlError::new(ER_LOCAL_VARIABLE, &[&row.name])),
        (VariableScope::Session | VariableScope::Any, Scope::Global) => {
            Err(SqlError::new(ER_GLOBAL_VARIABLE, &[&row.name]))
        }
        (VariableScope::Session | VariableScope::Any, Scope::GlobalSessionReadOnly) => {
            Err(SqlError::new(ER_VARIABLE_IS_READONLY, &[&"SESSION", &row.name, &"SET GLOBAL"]))
        }
        _ => Ok(()),
    }
}

/// Checks a value for a variable; a value that had to be brought into range leaves a warning.
pub fn check_value(session: &SessionState, row: &SystemVariable, value: &Value) -> Result<Setting, SqlError> {
    let (setting, adjusted) = row.check(value).map_err(|error| setting_error(row, &error))?;
    if adjusted {
        let shown = match value {
            Value::Int(value) => value.to_string(),
            Value::UInt(value) => value.to_string(),
            Value::Double(value) => value.to_string(),
            Value::Decimal(value) => value.to_string(),
            _ => String::new(),
        };
        let error = SqlError::new(ER_TRUNCATED_WRONG_VALUE, &[&row.name, &shown]);
        session.diagnostics.borrow_mut().push(Diagnostic { level: DiagnosticLevel::Warning, error });
    }
    Ok(setting)
}

fn setting_error(row: &SystemVariable, error: &SettingError) -> SqlError {
    match error {
        SettingError::Value(value) => SqlError::new(ER_WRONG_VALUE_FOR_VAR, &[&row.name, value]),
        SettingError::Type => SqlError::new(ER_WRONG_TYPE_FOR_VAR, &[&row.name]),
        SettingError::Charset(name) => SqlError::new(ER_UNKNOWN_CHARACTER_SET, &[name]),
        SettingError::Collation(name) => SqlError::new(ER_UNKNOWN_COLLATION, &[name]),
        SettingError::Engine(name) => SqlError::new(ER_UNKNOWN_STORAGE_ENGINE, &[name]),
        SettingError::TimeZone(name) => SqlError::new(ER_UNKNOWN_TIME_ZONE, &[name]),
    }
}

/// A value that belongs to the session's state and is no setting; `None` for all others.
pub fn live_value(session: &SessionState, connection_id: u64, name: &str) -> Option<Value> {
    Some(match name {
        "timestamp" => Value::Double(session.fixed_now_us.unwrap_or_else(now_us) as f64 / 1e6),
        "last_insert_id" | "identity" => Value::UInt(session.last_insert_id.get()),
        "insert_id" => Value::UInt(session.insert_id.get().unwrap_or(0)),
        "pseudo_thread_id" => Value::UInt(connection_id),
        "warning_count" => Value::UInt(u64::from(session.warning_count())),
        "error_count" => {
            let diagnostics = session.diagnostics.borrow();
            let errors = diagnostics.iter().filter(|diagnostic| diagnostic.level == DiagnosticLevel::Error);
            Value::UInt(errors.count() as u64)
        }
        _ => return None,
    })
}

fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as i64
}

/// The settings that [`apply`] carries over to a session's state.
const APPLIED: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "autocommit",
    "collation_connection",
    "connection_memory_limit",
    "default_storage_engine",
    "innodb_lock_wait_timeout",
    "lock_wait_timeout",
    "max_allowed_packet",
    "max_execution_time",
    "max_binlog_cache_size",
    "sql_log_bin",
    "sql_mode",
    "time_zone",
    "transaction_isolation",
    "transaction_read_only",
];

/// Brings the state of a session that begins into step with its settings.
pub fn apply_all(session: &mut SessionState, settings: &SessionSettings) {
    for name in APPLIED {
        let id = VariableId::of(name).expect("the list names rows of the table");
        apply(session, id.row(), settings.get(id));
    }
}

/// Brings the state of a session into step with one new setting.
pub fn apply(session: &mut SessionState, row: &SystemVariable, setting: &Setting) {
    match (row.name, setting) {
        ("auto_increment_increment", Setting::Int(value)) => session.auto_increment_increment = *value,
        ("auto_increment_offset", Setting::Int(value)) => session.auto_increment_offset = *value,
        ("autocommit", Setting::Bool(on)) => session.autocommit = *on,
        ("collation_connection", Setting::Text(name)) => {
            session.collation = Collation::from_name(name).unwrap_or(Collation::DEFAULT);
        }
        ("default_storage_engine", Setting::Text(name)) => session.default_engine = Some(name.clone()),
        ("innodb_lock_wait_timeout", Setting::Int(value)) => session.row_lock_timeout = Duration::from_secs(*value),
        ("lock_wait_timeout", Setting::Int(value)) => session.table_lock_timeout = Duration::from_secs(*value),
        ("connection_memory_limit", Setting::Int(value)) => session.memory.set_limit(*value),
        ("max_binlog_cache_size", Setting::Int(value)) => session.max_binlog_cache_size = *value,
        ("max_execution_time", Setting::Int(value)) => {
            session.max_execution_time = (*value != 0).then(|| Duration::from_millis(*value));
        }
        ("max_allowed_packet", Setting::Int(value)) => session.max_allowed_packet = *value as usize,
        ("sql_log_bin", Setting::Bool(on)) => session.log_to_binlog = *on,
        ("sql_mode", Setting::Text(list)) => session.sql_mode = SqlMode::parse(list).unwrap_or(SqlMode::DEFAULT),
        ("time_zone", Setting::Text(name)) => session.time_zone = TimeZone::parse(name).unwrap_or(TimeZone::UTC),
        ("transaction_isolation", Setting::Text(level)) => {
            session.isolation =
                IsolationLevel::named(level).map_or(Isolation::RepeatableRead, IsolationLevel::isolation);
        }
        ("transaction_read_only", Setting::Bool(on)) => session.read_only = *on,
        ("timestamp", Setting::Double(seconds)) => {
            session.fixed_now_us = (*seconds != 0.0).then_some((seconds * 1e6) as i64);
        }
        ("insert_id", Setting::Int(value)) => session.insert_id.set((*value != 0).then_some(*value)),
        ("last_insert_id" | "identity", Setting::Int(value)) => session.last_insert_id.set(*value),
        _ => {}
    }
}

/// Settings that belong together: the other one follows.
pub fn follower(row: &SystemVariable, setting: &Setting) -> Option<(&'static str, Setting)> {
    let Setting::Text(name) = setting else { return None };
    let collation_of = |charset| Collation::of_charset(charset).map(|collation| Setting::text(collation.name()));
    let charset_of = |name| collation::of_connection(name).map(|(_, charset)| Setting::text(charset));
    match row.name {
        "character_set_connection" => Some(("collation_connection", collation_of(name)?)),
        "collation_connection" => Some(("character_set_connection", charset_of(name)?)),
        "character_set_server" => Some(("collation_server", collation_of(name)?)),
        "collation_server" => Some(("character_set_server", charset_of(name)?)),
        "character_set_database" => Some(("collation_database", collation_of(name)?)),
        "collation_database" => Some(("character_set_database", charset_of(name)?)),
        _ => None,
    }
}

/// Brings the operator's log into step with the global settings.
pub fn apply_log_settings(globals: &Globals) {
    operator_log::set_json(globals.text("log_error_services").ends_with("json"));
    operator_log::set_verbosity(globals.int("log_error_verbosity"));
}

/// Brings the commit path into step with the global settings.
pub fn apply_commit_settings(settings: &CommitSettings, globals: &Globals) {
    let durability = &settings.durability;
    durability.sync_binlog.store(globals.int("sync_binlog") as u32, Ordering::Relaxed);
    let flush = globals.int("innodb_flush_log_at_trx_commit") as u32;
    durability.flush_log_at_trx_commit.store(flush, Ordering::Relaxed);
    settings.max_binlog_size.store(globals.int("max_binlog_size"), Ordering::Relaxed);
    settings.order_commits.store(globals.flag("binlog_order_commits"), Ordering::Relaxed);
    let delay = &settings.sync_delay;
    delay.max_us.store(globals.int("binlog_group_commit_sync_delay") as u32, Ordering::Relaxed);
    delay.enough.store(globals.int("binlog_group_commit_sync_no_delay_count") as u32, Ordering::Relaxed);
    settings.full_row_metadata.store(globals.text("binlog_row_metadata") == "FULL", Ordering::Relaxed);
}

/// What the operator must know about the present settings, one line each.
pub fn durability_warnings(globals: &Globals) -> Vec<String> {
    let mut warnings = Vec::new();
    let sync = globals.int("sync_binlog");
    if sync != 1 {
        let when = if sync == 0 {
            "when the operating system likes".to_owned()
        } else {
            format!("with every {sync}th cohort")
        };
        warnings.push(format!(
            "sync_binlog={sync}: commits reach the disk only {when}; a power cut loses acknowledged ones"
        ));
    }
    let flush = globals.int("innodb_flush_log_at_trx_commit");
    if flush != 1 {
        warnings.push(format!(
            "flush_log_at_trx_commit={flush}: an acknowledged commit is only with the operating system; a power cut loses it"
        ));
    }
    let protocol = globals.text("commit_protocol");
    if protocol == "mysql41" || protocol == "mysql50" && !globals.flag("support_xa") {
        warnings.push(format!(
            "commit_protocol={protocol} prepares nothing: after a crash binlog and tables can differ, and recovery can only say so"
        ));
    }
    warnings
}
