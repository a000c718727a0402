//! Accounts, roles and privileges; FLUSH and other administration: what the server does itself.

use cohort_txn::MetadataName;

use super::evaluate::evaluate;
use crate::ast::{AccountStatement, AdminCommand, RoleStatement};
use crate::database::Database;
use crate::error::SqlError;
use crate::session::{Environment, Outcome, SessionState};
use crate::value::Value;

impl Database {
    pub(super) fn account(
        &self,
        statement: &AccountStatement,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Outcome, SqlError> {
        // SET ROLE is the session's alone.
        if matches!(statement, AccountStatement::Role(RoleStatement::Set(_))) {
            return env.account(session, statement).map(|()| Outcome::ok());
        }
        self.alone(session, |session| {
            session.may_change_server()?;
            env.begin_update()?;
            self.commit_before_change(session)?;
            let changing = session.begin_change()?;
            let changed = env.account(session, statement);
            session.locks.end_change(changing);
            changed.map(|()| Outcome::ok())
        })
    }

    pub(super) fn administer(
        &self,
        command: &AdminCommand,
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<(), SqlError> {
        let purges = matches!(command, AdminCommand::PurgeBinaryLogsTo(_) | AdminCommand::PurgeBinaryLogsBefore(_));
        if !purges {
            self.commit_open(session)?;
        }
        // Files of a backup stay.
        let removes = purges || matches!(command, AdminCommand::ResetBinaryLogs);
        let changing = session.intend(if removes { &[MetadataName::Backup] } else { &[] })?;
        let done = Self::administer_now(command, params, session, env);
        session.locks.end_change(changing);
        done
    }

    fn administer_now(
        command: &AdminCommand,
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<(), SqlError> {
        let AdminCommand::PurgeBinaryLogsBefore(seconds) = command else {
            return env.administer(session, command);
        };
        let seconds = match evaluate(seconds, params, session, env)? {
            Value::Int(seconds) => seconds,
            Value::Decimal(seconds) => seconds.to_f64() as i64,
            // No time at all is before every file.
            _ => 0,
        };
        env.purge_binlog_before(session, seconds)
    }
}
