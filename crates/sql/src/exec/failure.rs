//! From errors of the layers below to what a client receives.

use cohort_engine::{ReadError, WriteError};
use cohort_txn::{CommitError, LockError};

use crate::codec::DamagedBytes;
use crate::error::{
    ER_DISK_FULL, ER_ERROR_DURING_COMMIT, ER_ERROR_ON_READ, ER_ERROR_ON_WRITE, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT,
    ER_NOT_KEYFILE, ER_QUERY_INTERRUPTED, ER_SERVER_SHUTDOWN, SqlError,
};

/// An engine could not read.
pub(crate) fn read_failed(error: ReadError) -> SqlError {
    SqlError::new(ER_ERROR_ON_READ, &[&error.engine, &error.detail])
}

/// An engine could not write outside of the commit order.
pub(crate) fn write_failed(error: WriteError) -> SqlError {
    match error {
        WriteError::NoSpace { engine, .. } => SqlError::new(ER_DISK_FULL, &[&engine]),
        WriteError::Failed { engine, detail } => SqlError::new(ER_ERROR_ON_WRITE, &[&engine, &detail]),
        WriteError::Redo(error) => SqlError::internal(error),
    }
}

/// A lock was not given.
pub(crate) fn lock_failed(error: LockError) -> SqlError {
    let code = match error {
        LockError::Timeout => ER_LOCK_WAIT_TIMEOUT,
        LockError::Deadlock => ER_LOCK_DEADLOCK,
        LockError::Killed => ER_QUERY_INTERRUPTED,
    };
    SqlError::new(code, &[])
}

/// What is stored of `table` is damaged. The operator finds place and reason in the message.
pub(crate) fn damaged(table: &str, error: &DamagedBytes) -> SqlError {
    SqlError::new(ER_NOT_KEYFILE, &[&format_args!("{table}: {error}")])
}

/// A commit was not acknowledged.
pub fn commit_failed(error: &CommitError) -> SqlError {
    match error {
        CommitError::NoSpace(_) => SqlError::new(ER_DISK_FULL, &[&error]),
        CommitError::ShuttingDown => SqlError::new(ER_SERVER_SHUTDOWN, &[]),
        CommitError::Spill(reason) => SqlError::new(ER_ERROR_ON_WRITE, &[&"binlog cache", reason]),
        CommitError::TooLarge { .. } | CommitError::Sealed(_) | CommitError::Unknown(_) => {
            SqlError::new(ER_ERROR_DURING_COMMIT, &[&1180, &error])
        }
    }
}
