//! What statements have around them where there is no server: in tests and simulations.

use std::time::Instant;

use cohort_binlog::GtidSet;
use cohort_txn::Isolation;

use super::optimizer_switch::{DERIVED_CONDITION_PUSHDOWN, OptimizerSwitch};
use super::{Environment, KillTarget, LockOwner, SessionState, ShowTable};
use crate::ast::{AccountStatement, AdminCommand, ShowKind};
use crate::collation::Collation;
use crate::error::{ER_NO_SUCH_THREAD, ER_UNKNOWN_SYSTEM_VARIABLE, ER_WRONG_VALUE_FOR_VAR, SqlError};
use crate::expr::VariableScope;
use crate::privilege::roster::Roster;
use crate::types::Charset;
use crate::utility::show::text_type;
use crate::value::Value;

/// An environment of no server: it knows a few variables; accounts and administration do nothing.
#[derive(Clone, Copy, Debug)]
pub struct StandIn;

impl Environment for StandIn {
    fn connection_id(&self) -> u64 {
        7
    }

    fn user(&self) -> String {
        "tester@localhost".to_owned()
    }

    fn current_user(&self) -> String {
        "tester@%".to_owned()
    }

    fn variable(&self, session: &SessionState, _scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        match name {
            "autocommit" => Ok(Value::bool(session.autocommit)),
            "group_concat_max_len" => Ok(Value::Int(session.group_concat_max_len.try_into().unwrap_or(i64::MAX))),
            "optimizer_switch" => {
                let on = if session.pushes_conditions { "on" } else { "off" };
                Ok(Value::text(format!("{DERIVED_CONDITION_PUSHDOWN}={on}")))
            }
            "sql_mode" => Ok(Value::text(session.sql_mode.to_string())),
            "warning_count" => Ok(Value::UInt(session.diagnostic_counts().0)),
            "error_count" => Ok(Value::UInt(session.diagnostic_counts().1)),
            "version_comment" => Ok(Value::text("test")),
            "block_encryption_mode" => Ok(Value::text("aes-128-ecb")),
            _ => Err(SqlError::new(ER_UNKNOWN_SYSTEM_VARIABLE, &[&name])),
        }
    }

    fn set_variable(
        &self,
        session: &mut SessionState,
        _scope: VariableScope,
        name: &str,
        value: Option<Value>,
    ) -> Result<(), SqlError> {
        match (name, value) {
            ("autocommit", Some(Value::Int(on))) => session.autocommit = on != 0,
            ("autocommit", Some(Value::Text(on))) => session.autocommit = on.eq_ignore_ascii_case("ON"),
            ("sql_mode", Some(Value::Text(mode))) => session.sql_mode = crate::types::SqlMode::parse(&mode)?,
            ("default_storage_engine", Some(Value::Text(name))) => session.default_engine = Some(name),
            ("default_week_format", Some(Value::Int(mode))) => {
                session.default_week_format = u8::try_from(mode).unwrap_or_default();
            }
            ("json_as_longtext", Some(Value::Int(on))) => session.json_as_longtext = on != 0,
            ("group_concat_max_len", Some(Value::Int(bytes))) => {
                session.group_concat_max_len = u64::try_from(bytes).unwrap_or_default();
            }
            ("optimizer_switch", Some(Value::Text(text))) => {
                let wrong = |item| SqlError::new(ER_WRONG_VALUE_FOR_VAR, &[&name, &item]);
                let switches = OptimizerSwitch::default().with(&text).map_err(wrong)?;
                session.pushes_conditions = switches.is_on(DERIVED_CONDITION_PUSHDOWN);
            }
            ("insert_id", Some(Value::Int(id))) => session.insert_id.set(u64::try_from(id).ok()),
            ("transaction_isolation", Some(Value::Text(level))) if &*level == "READ-COMMITTED" => {
                session.isolation = Isolation::ReadCommitted;
            }
            ("transaction_read_only", Some(Value::Int(on))) => session.read_only = on != 0,
            ("transaction_isolation", Some(_)) => session.isolation = Isolation::RepeatableRead,
            _ => return Err(SqlError::new(ER_UNKNOWN_SYSTEM_VARIABLE, &[&name])),
        }
        Ok(())
    }

    fn is_hintable(&self, name: &str) -> Result<bool, SqlError> {
        match name {
            "sql_mode" | "group_concat_max_len" | "optimizer_switch" => Ok(true),
            "autocommit" => Ok(false),
            _ => Err(SqlError::new(ER_UNKNOWN_SYSTEM_VARIABLE, &[&name])),
        }
    }

    fn set_names(
        &self,
        session: &mut SessionState,
        charset: Option<&str>,
        collation: Option<&str>,
    ) -> Result<(), SqlError> {
        let charset = charset.and_then(Charset::from_name).unwrap_or(Charset::Utf8mb4);
        session.collation = collation.map_or(Ok(charset.default_collation()), Collation::named)?;
        (session.client, session.results) = (session.collation, Some(session.collation));
        Ok(())
    }

    fn set_character_set(&self, session: &mut SessionState, charset: Option<&str>) -> Result<(), SqlError> {
        self.set_names(session, charset, None)
    }

    fn show(&self, _session: &SessionState, what: &ShowKind) -> Result<ShowTable, SqlError> {
        let text = text_type(64);
        match what {
            ShowKind::Variables(_) => Ok(ShowTable {
                columns: vec![("Variable_name", text), ("Value", text)],
                rows: [["autocommit", "ON"], ["port", "3306"], ["portal", "x"]]
                    .map(|row| row.map(Value::text).to_vec())
                    .to_vec(),
            }),
            _ => Err(SqlError::unsupported("this SHOW")),
        }
    }

    fn roster(&self) -> Roster {
        Roster::default()
    }

    fn kill(&self, connection_id: u64, _target: KillTarget) -> Result<(), SqlError> {
        Err(SqlError::new(ER_NO_SUCH_THREAD, &[&connection_id]))
    }

    fn account(&self, _: &SessionState, _: &AccountStatement) -> Result<(), SqlError> {
        Ok(())
    }

    fn administer(&self, _: &mut SessionState, _: &AdminCommand) -> Result<(), SqlError> {
        Ok(())
    }

    fn purge_binlog_before(&self, _: &mut SessionState, _: i64) -> Result<(), SqlError> {
        Ok(())
    }

    fn wait_for_gtids(&self, set: &GtidSet, _: Option<Instant>, _: &dyn Fn() -> bool) -> Result<bool, SqlError> {
        Ok(set.is_empty())
    }

    fn lock_owner(&self, _: u64) -> Option<LockOwner> {
        None
    }

    fn version(&self) -> String {
        "8.0.40-test".to_owned()
    }
}
