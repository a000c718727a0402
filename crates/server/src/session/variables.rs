//! System variables in a session: reading, SET, and what a new value changes.
//!
//! Not here: which values a variable takes (`sysvars`).

use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cohort_binlog::{AckOptions, Acks};
use cohort_sql::error::{
    ER_GLOBAL_VARIABLE, ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_LOCAL_VARIABLE, ER_TRUNCATED_WRONG_VALUE,
    ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION, ER_UNKNOWN_STORAGE_ENGINE, ER_UNKNOWN_SYSTEM_VARIABLE,
    ER_UNKNOWN_TIME_ZONE, ER_VARIABLE_IS_READONLY, ER_WRONG_TYPE_FOR_VAR, ER_WRONG_VALUE_FOR_VAR,
};
use cohort_sql::expr::VariableScope;
use cohort_sql::session::{DiagnosticLevel, ServerReadOnly, SessionState};
use cohort_sql::{SqlError, Value};
use cohort_txn::{CommitProtocol, CommitSettings};

use crate::operator_log;
use crate::sysvars::{
    Apply, Change, Globals, Scope, SessionSettings, Setting, SettingError, SystemVariable, VariableId, ids,
};

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
    if !matches!(row.change, Change::Anytime | Change::BySet) {
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

/// Checks a value for a variable that has another one; a value that had to be brought into range leaves a warning.
pub fn check_value(
    session: &SessionState,
    row: &SystemVariable,
    before: &Setting,
    value: &Value,
) -> Result<Setting, SqlError> {
    let (setting, adjusted) = row.check_over(before, value).map_err(|error| setting_error(row, &error))?;
    if adjusted {
        let shown = match value {
            Value::Int(value) => value.to_string(),
            Value::UInt(value) => value.to_string(),
            Value::Double(value) => value.to_string(),
            Value::Decimal(value) => value.to_string(),
            _ => String::new(),
        };
        let error = SqlError::new(ER_TRUNCATED_WRONG_VALUE, &[&row.name, &shown]);
        session.push_diagnostic(DiagnosticLevel::Warning, error);
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

/// Brings the state of a session that begins into step with its settings.
pub fn apply_all(session: &mut SessionState, settings: &SessionSettings) {
    static APPLIED: LazyLock<Vec<VariableId>> =
        LazyLock::new(|| VariableId::all().filter(|id| !matches!(id.row().apply, Apply::Nothing)).collect());
    for id in &*APPLIED {
        id.row().apply_to(session, settings.setting(*id));
    }
}

/// Brings the operator's log into step with the global settings.
pub fn apply_log_settings(globals: &Globals) {
    operator_log::set_json(globals.get(ids::LOG_ERROR_SERVICES).ends_with("json"));
    operator_log::set_verbosity(globals.get(ids::LOG_ERROR_VERBOSITY));
}

/// Brings the commit path into step with the global settings.
pub fn apply_commit_settings(settings: &CommitSettings, globals: &Globals) {
    let durability = &settings.durability;
    durability.sync_binlog.store(globals.get(ids::SYNC_BINLOG) as u32, Ordering::Relaxed);
    let flush = globals.get(ids::INNODB_FLUSH_LOG_AT_TRX_COMMIT) as u32;
    durability.flush_log_at_trx_commit.store(flush, Ordering::Relaxed);
    settings.max_binlog_size.store(globals.get(ids::MAX_BINLOG_SIZE), Ordering::Relaxed);
    let in_memory = globals.get(ids::BINLOG_CACHE_SIZE);
    settings.spill.events_bytes.store(in_memory, Ordering::Relaxed);
    settings.spill.writes_bytes.store(in_memory.saturating_mul(4).min(u64::MAX - 1), Ordering::Relaxed);
    settings.order_commits.store(globals.get(ids::BINLOG_ORDER_COMMITS), Ordering::Relaxed);
    let delay = &settings.sync_delay;
    delay.max_us.store(globals.get(ids::BINLOG_GROUP_COMMIT_SYNC_DELAY) as u32, Ordering::Relaxed);
    delay.enough.store(globals.get(ids::BINLOG_GROUP_COMMIT_SYNC_NO_DELAY_COUNT) as u32, Ordering::Relaxed);
    settings.capture_bytes_max.store(globals.get(ids::INNODB_ONLINE_ALTER_LOG_MAX_SIZE), Ordering::Relaxed);
    settings.full_row_metadata.store(globals.get(ids::BINLOG_ROW_METADATA) == "FULL", Ordering::Relaxed);
}

/// The same for who may change something.
pub fn apply_read_only(server: &ServerReadOnly, globals: &Globals) {
    server.set(globals.get(ids::READ_ONLY), globals.get(ids::SUPER_READ_ONLY));
}

/// The same for what commits wait for of replicas.
pub fn apply_ack_options(acks: &Acks, globals: &Globals) {
    acks.configure(AckOptions {
        enabled: globals.get(ids::RPL_SEMI_SYNC_SOURCE_ENABLED),
        replicas: globals.get(ids::RPL_SEMI_SYNC_SOURCE_WAIT_FOR_REPLICA_COUNT) as usize,
        timeout: Duration::from_millis(globals.get(ids::RPL_SEMI_SYNC_SOURCE_TIMEOUT)),
        wait_without_replicas: globals.get(ids::RPL_SEMI_SYNC_SOURCE_WAIT_NO_REPLICA),
    });
}

/// The protocol that is chosen, with what is set of it.
pub fn commit_protocol(globals: &Globals) -> CommitProtocol {
    match &*globals.get(ids::COMMIT_PROTOCOL) {
        "mysql50" => CommitProtocol::Mysql50 { support_xa: globals.get(ids::SUPPORT_XA) },
        "mariadb" => CommitProtocol::Mariadb { commit_flush: globals.get(ids::COMMIT_FLUSH) },
        name => name.parse().expect("the variable takes names of protocols only"),
    }
}

/// What the operator must know about the present settings, one line each.
pub fn durability_warnings(globals: &Globals) -> Vec<String> {
    let mut warnings = Vec::new();
    let sync = globals.get(ids::SYNC_BINLOG);
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
    let flush = globals.get(ids::INNODB_FLUSH_LOG_AT_TRX_COMMIT);
    if flush != 1 {
        warnings.push(format!(
            "flush_log_at_trx_commit={flush}: an acknowledged commit is only with the operating system; a power cut loses it"
        ));
    }
    let protocol = commit_protocol(globals);
    if protocol.may_diverge() {
        warnings.push(format!(
            "commit_protocol={protocol} prepares nothing: after a crash binlog and tables can differ, and recovery can only say so"
        ));
    }
    warnings
}
