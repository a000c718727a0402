//! LOCK INSTANCE FOR BACKUP, and MariaDB's BACKUP STAGE and BACKUP LOCK: what a backup that copies files, or reads rows,
//! keeps from changing meanwhile.

use cohort_txn::{MetadataMode, MetadataName};

use crate::ast::{BackupCommand, BackupStage, TableName};
use crate::catalog::store::database_or;
use crate::catalog::system;
use crate::database::Database;
use crate::error::{
    ER_BACKUP_NOT_RUNNING, ER_BACKUP_WRONG_STAGE, ER_CANT_UPDATE_WITH_READLOCK, ER_LOCK_OR_ACTIVE_TRANSACTION, SqlError,
};
use crate::exec::failure::{commit_failed, lock_failed};
use crate::session::SessionState;

impl Database {
    pub(super) fn backup(&self, command: &BackupCommand, session: &mut SessionState) -> Result<(), SqlError> {
        match command {
            BackupCommand::LockInstance => {
                lock(MetadataName::Backup, MetadataMode::Shared, session)?;
                session.locks.set_instance_locked(true);
                Ok(())
            }
            BackupCommand::UnlockInstance => {
                session.locks.set_instance_locked(false);
                give_up_definitions(session);
                Ok(())
            }
            BackupCommand::Stage(stage) => {
                self.commit_open(session)?;
                self.backup_stage(*stage, session)
            }
            BackupCommand::LockTable(name) => {
                self.commit_open(session)?;
                self.backup_lock(name, session)
            }
            BackupCommand::UnlockTable => {
                session.locks.give_up_backup_table();
                Ok(())
            }
        }
    }

    fn backup_stage(&self, stage: BackupStage, session: &SessionState) -> Result<(), SqlError> {
        let Some(present) = session.locks.stage() else {
            if stage != BackupStage::Start {
                return Err(SqlError::new(ER_BACKUP_NOT_RUNNING, &[]));
            }
            if !session.locked_tables.is_empty() {
                return Err(SqlError::new(ER_LOCK_OR_ACTIVE_TRANSACTION, &[]));
            }
            if session.locks.hold_server() || session.locks.has_backup_table() {
                return Err(SqlError::new(ER_CANT_UPDATE_WITH_READLOCK, &[]));
            }
            lock(MetadataName::BackupStage, MetadataMode::Exclusive, session)?;
            session.locks.set_stage(Some(BackupStage::Start));
            return Ok(());
        };
        if stage <= present {
            return Err(SqlError::new(ER_BACKUP_WRONG_STAGE, &[&stage.name(), &present.name()]));
        }
        if stage == BackupStage::End {
            session.locks.set_stage(None);
            session.locks.unlock(&MetadataName::Commit, MetadataMode::Shared);
            give_up_definitions(session);
            session.locks.unlock(&MetadataName::BackupStage, MetadataMode::Exclusive);
            return Ok(());
        }
        // Stages that were left out come first.
        for next in BackupStage::ALL.into_iter().filter(|next| (present..=stage).contains(next) && *next != present) {
            self.begin_stage(next, session)?;
            session.locks.set_stage(Some(next));
        }
        Ok(())
    }

    fn begin_stage(&self, stage: BackupStage, session: &SessionState) -> Result<(), SqlError> {
        match stage {
            BackupStage::Start | BackupStage::Flush | BackupStage::End => Ok(()),
            BackupStage::BlockDdl => lock(MetadataName::Backup, MetadataMode::Shared, session),
            BackupStage::BlockCommit => {
                lock(MetadataName::Commit, MetadataMode::Shared, session)?;
                let settled = self.store.settle();
                if settled.is_err() {
                    session.locks.unlock(&MetadataName::Commit, MetadataMode::Shared);
                }
                settled.map_err(|error| commit_failed(&error))
            }
        }
    }

    /// BACKUP LOCK: one table at a time, whose definition does not change.
    fn backup_lock(&self, name: &TableName, session: &SessionState) -> Result<(), SqlError> {
        session.locks.give_up_backup_table();
        let database = database_or(name.database.as_deref(), session.database.as_deref())?;
        loop {
            let table = self.catalog.current().table(database, &name.table)?.clone();
            if system::is_one(&table) {
                return Ok(());
            }
            let lock_name = MetadataName::Table(table.def.id);
            lock(lock_name.clone(), MetadataMode::SharedHighPriority, session)?;
            session.locks.set_backup_table(lock_name);
            if table.is_current() {
                return Ok(());
            }
            session.locks.give_up_backup_table();
        }
    }
}

fn lock(name: MetadataName, mode: MetadataMode, session: &SessionState) -> Result<(), SqlError> {
    session.lock_beside(&name, mode, session.table_lock_timeout, None).map(drop).map_err(lock_failed)
}

/// Lets definitions change again, unless LOCK INSTANCE or a stage still wants them as they are.
fn give_up_definitions(session: &SessionState) {
    let stage = session.locks.stage().is_some_and(|stage| stage >= BackupStage::BlockDdl);
    if !stage && !session.locks.is_instance_locked() {
        session.locks.unlock(&MetadataName::Backup, MetadataMode::Shared);
    }
}
