//! What a server gives to statements, as far as simulated clients need it.

use cohort_sql::ast::{AccountStatement, AdminCommand, ShowKind};
use cohort_sql::error::{ER_NO_SUCH_THREAD, ER_UNKNOWN_SYSTEM_VARIABLE};
use cohort_sql::expr::VariableScope;
use cohort_sql::session::{Environment, KillTarget, SessionState, ShowTable};
use cohort_sql::{ResultColumn, ResultSink, SqlError, Value};
use cohort_txn::Isolation;

/// An environment of no server: accounts and administration do nothing, there are few variables.
#[derive(Clone, Copy, Debug)]
pub struct SimEnvironment;

impl Environment for SimEnvironment {
    fn connection_id(&self) -> u64 {
        1
    }

    fn user(&self) -> String {
        "root@localhost".to_owned()
    }

    fn current_user(&self) -> String {
        "root@%".to_owned()
    }

    fn variable(&self, session: &SessionState, _: VariableScope, name: &str) -> Result<Value, SqlError> {
        match name {
            "autocommit" => Ok(Value::bool(session.autocommit)),
            "sql_mode" => Ok(Value::text(session.sql_mode.to_string())),
            "version_comment" => Ok(Value::text("simulated")),
            _ => Err(SqlError::new(ER_UNKNOWN_SYSTEM_VARIABLE, &[&name])),
        }
    }

    fn set_variable(
        &self,
        session: &mut SessionState,
        _: VariableScope,
        name: &str,
        value: Option<Value>,
    ) -> Result<(), SqlError> {
        match (name, value) {
            ("autocommit", Some(Value::Int(on))) => session.autocommit = on != 0,
            ("sql_mode", Some(Value::Text(mode))) => session.sql_mode = cohort_sql::types::SqlMode::parse(&mode)?,
            ("transaction_isolation", Some(Value::Text(level))) if &*level == "READ-COMMITTED" => {
                session.isolation = Isolation::ReadCommitted;
            }
            ("transaction_isolation", Some(_)) => session.isolation = Isolation::RepeatableRead,
            _ => return Err(SqlError::new(ER_UNKNOWN_SYSTEM_VARIABLE, &[&name])),
        }
        Ok(())
    }

    fn set_names(&self, _: &mut SessionState, _: Option<&str>, _: Option<&str>) -> Result<(), SqlError> {
        Ok(())
    }

    fn show(&self, _: &SessionState, _: &ShowKind) -> Result<ShowTable, SqlError> {
        Err(SqlError::unsupported("this SHOW"))
    }

    fn kill(&self, connection_id: u64, _: KillTarget) -> Result<(), SqlError> {
        Err(SqlError::new(ER_NO_SUCH_THREAD, &[&connection_id]))
    }

    fn account(&self, _: &SessionState, _: &AccountStatement) -> Result<(), SqlError> {
        Ok(())
    }

    fn administer(&self, _: &mut SessionState, _: &AdminCommand) -> Result<(), SqlError> {
        Ok(())
    }

    fn version(&self) -> String {
        "8.0.40-simulated".to_owned()
    }
}

/// Keeps the rows of a result.
#[derive(Debug, Default)]
pub struct Rows(pub Vec<Vec<Value>>);

impl ResultSink for Rows {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.0.push(row.to_vec());
        Ok(())
    }
}
