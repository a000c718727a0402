//! What a client receives when a commit did not happen.

use cohort_sql::SqlError;
use cohort_sql::error::{
    ER_DISK_FULL, ER_ERROR_DURING_COMMIT, ER_ERROR_ON_WRITE, ER_SERVER_SHUTDOWN, ER_TRANS_CACHE_FULL,
};
use cohort_txn::CommitError;

/// The error of a failed commit.
pub fn commit_error(error: &CommitError) -> SqlError {
    match error {
        CommitError::NoSpace(detail) => SqlError::new(ER_DISK_FULL, &[detail]),
        CommitError::TooLarge { .. } => SqlError::new(ER_TRANS_CACHE_FULL, &[]),
        CommitError::Spill(reason) => SqlError::new(ER_ERROR_ON_WRITE, &[&"binlog cache", reason]),
        CommitError::Sealed(reason) => SqlError::new(ER_ERROR_ON_WRITE, &[&"journal", reason]),
        CommitError::Unknown(_) => SqlError::new(ER_ERROR_DURING_COMMIT, &[&5, error]),
        CommitError::ShuttingDown => SqlError::new(ER_SERVER_SHUTDOWN, &[]),
    }
}
