//! Accounts, roles and privileges; FLUSH and other administration: what the server does itself.

use crate::ast::{AccountStatement, AdminCommand, RoleStatement};
use crate::database::Database;
use crate::error::SqlError;
use crate::session::{Environment, SessionState};

impl Database {
    pub(super) fn account(
        &self,
        statement: &AccountStatement,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<(), SqlError> {
        // SET ROLE is the session's alone.
        if !matches!(statement, AccountStatement::Role(RoleStatement::Set(_))) {
            env.begin_update()?;
            self.commit_open(session)?;
        }
        env.account(session, statement)
    }

    pub(super) fn administer(
        &self,
        command: &AdminCommand,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<(), SqlError> {
        self.commit_open(session)?;
        env.administer(session, command)
    }
}
