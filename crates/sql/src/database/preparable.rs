//! Which statements can be prepared: those of MySQL 8.0, by COM_STMT_PREPARE and by PREPARE alike.

use crate::ast::{AccountStatement, AdminCommand, Ddl, Maintenance, RoleStatement, Statement};
use crate::error::{ER_UNSUPPORTED_PS, SqlError};

/// Error 1295 for a statement that cannot be prepared.
pub(super) fn check(statement: &Statement) -> Result<(), SqlError> {
    if is_preparable(statement) { Ok(()) } else { Err(SqlError::new(ER_UNSUPPORTED_PS, &[])) }
}

fn is_preparable(statement: &Statement) -> bool {
    match statement {
        Statement::Select(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Explain(_)
        | Statement::Commit(_)
        | Statement::Rollback(_)
        | Statement::Set(_)
        | Statement::Kill { .. }
        | Statement::Do(_)
        | Statement::ShowSchema { .. }
        | Statement::Show { .. }
        | Statement::ShowDiagnostics { .. }
        | Statement::FlushTables(_)
        | Statement::Nothing => true,
        Statement::Begin { .. }
        | Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::Xa(_)
        | Statement::Use(_)
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::Backup(_)
        | Statement::Prepare { .. }
        | Statement::Execute { .. }
        | Statement::Deallocate(_) => false,
        Statement::Maintain(maintain) => maintain.what != Maintenance::Check,
        Statement::Ddl(change) => !matches!(**change, Ddl::AlterDatabase { .. }),
        Statement::Account(account) => {
            !matches!(account, AccountStatement::Role(RoleStatement::Create { .. } | RoleStatement::Drop { .. }))
        }
        Statement::Admin(command) => !matches!(
            command,
            AdminCommand::PurgeBinaryLogsTo(_) | AdminCommand::PurgeBinaryLogsBefore(_) | AdminCommand::Shutdown
        ),
    }
}
