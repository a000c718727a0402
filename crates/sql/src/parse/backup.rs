//! LOCK INSTANCE FOR BACKUP of MySQL, BACKUP STAGE and BACKUP LOCK of MariaDB.

use super::cursor::Cursor;
use crate::ast::{BackupCommand, BackupStage};
use crate::error::{ER_BACKUP_UNKNOWN_STAGE, SqlError};

/// After the words LOCK INSTANCE or UNLOCK INSTANCE were seen.
pub(super) fn instance(cursor: &mut Cursor<'_>) -> Result<BackupCommand, SqlError> {
    if cursor.takes("UNLOCK INSTANCE") {
        return Ok(BackupCommand::UnlockInstance);
    }
    cursor.expect("LOCK INSTANCE")?;
    cursor.expect("FOR")?;
    cursor.expect("BACKUP")?;
    Ok(BackupCommand::LockInstance)
}

/// After the word BACKUP was seen.
pub(super) fn backup(cursor: &mut Cursor<'_>) -> Result<BackupCommand, SqlError> {
    cursor.skip();
    if cursor.takes("STAGE") {
        let name = cursor.name()?;
        let stage = BackupStage::ALL.into_iter().find(|stage| stage.name().eq_ignore_ascii_case(&name));
        let unknown = || SqlError::new(ER_BACKUP_UNKNOWN_STAGE, &[&name]);
        return stage.map(BackupCommand::Stage).ok_or_else(unknown);
    }
    if cursor.takes("LOCK") {
        return cursor.table_name().map(BackupCommand::LockTable);
    }
    cursor.expect("UNLOCK")?;
    Ok(BackupCommand::UnlockTable)
}
