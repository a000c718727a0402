//! What an operator changes in the set of executed GTIDs: some are added that are in no file (`gtid_purged`), or all are
//! forgotten together with the files (RESET MASTER).
//!
//! Either change is the beginning of a file, whose header has the new set and says that it was changed: the change has its
//! place in the order of commits, and it is made or not made after a crash as the beginning of any file is.
//!
//! Not here: what the headers say ([`cohort_binlog::BinlogFiles::find_history`]).

use cohort_binlog::{BinlogError, FileStart, GtidSet, ReadError};

use crate::given_gtids::AddGtidsError;
use crate::outcome::CommitError;
use crate::store::Store;

/// How often another file is tried: somebody else may take the one that was made ready.
const TRIES: u32 = 20;

/// Why the binlog was not reset.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// There is none.
    #[error("there is no binlog")]
    NoBinlog,
    /// Somebody reads it.
    #[error("replicas read the binlog")]
    Readers,
    /// The file that it was to begin with could not be begun.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// It is reset, and the files from before could not be removed: the next start does that.
    #[error("the binlog is reset, and the next start removes the files from before: {0}")]
    Remove(#[from] BinlogError),
    /// The file that it begins with cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Store {
    /// Executed transactions that are in no binlog file (`gtid_purged`).
    pub fn purged_gtids(&self) -> Result<GtidSet, ReadError> {
        self.binlog().purged_gtids()
    }

    /// Has the transactions of `set` count as executed, and as purged, from now on; durable when it returns. After
    /// [`CommitError::Unknown`] the next start knows whether they do, after another error they do not.
    pub fn add_purged_gtids(&self, set: &GtidSet) -> Result<(), AddGtidsError> {
        if !self.log_bin() {
            return Err(AddGtidsError::NoBinlog);
        }
        if set.is_empty() {
            return Ok(());
        }
        let given = &self.shared.given_gtids;
        given.begin_adding(set)?;
        // Before the file is there, so that no reader by GTID misses them.
        self.binlog().note_added(set);
        let added = self.begin_file_of_added();
        if let Err(error) = &added {
            given.end_adding();
            if !matches!(error, CommitError::Unknown(_)) {
                self.binlog().forget_added(set);
            }
        }
        Ok(added?)
    }

    fn begin_file_of_added(&self) -> Result<(), CommitError> {
        // The next start reads the file before the one that has them, and this keeps it short.
        self.rotate_binlog()?;
        for _ in 0..TRIES {
            self.shared.prepare_binlog_file()?;
            self.begin_file(FileStart::GtidsAdded)?;
            if !self.shared.given_gtids.is_adding() {
                return Ok(());
            }
        }
        Err(no_file())
    }

    /// Forgets every executed GTID and removes every binlog file but a new one; durable when it returns. Transactions that
    /// commit meanwhile belong to the time before or after, as their place in the order has it.
    pub fn reset_binlog(&self) -> Result<(), ResetError> {
        if !self.log_bin() {
            return Err(ResetError::NoBinlog);
        }
        if self.binlog().tail().oldest_followed().is_some() {
            return Err(ResetError::Readers);
        }
        let first_file = self.begin_new_history()?;
        self.binlog().begin_history(first_file);
        if let Err(error) = self.take_checkpoint() {
            log::warn!(
                "no checkpoint after the binlog was reset, so that the next start removes its old files: {error}"
            );
        }
        let kept = first_file.min(self.path.purge_floor());
        self.binlog().purge_before(kept)?;
        Ok(())
    }

    fn begin_new_history(&self) -> Result<u64, ResetError> {
        for _ in 0..TRIES {
            let before = self.binlog().end().map_or(0, |end| end.file_number);
            self.shared.prepare_binlog_file()?;
            let file = self.begin_file(FileStart::GtidsReset)?.position.file_number;
            if file > before && self.binlog().history_of(file)?.begins_anew() {
                return Ok(file);
            }
        }
        Err(no_file().into())
    }

    /// Removes what is left of the files before the one that the history begins with. What cannot be removed does not
    /// count all the same.
    pub(crate) fn purge_before_history(&self, first_file: u64) {
        let kept = first_file.min(self.path.purge_floor());
        if let Err(error) = self.binlog().purge_before(kept) {
            log::warn!("binlog files from before a reset cannot be removed: {error}");
        }
    }
}

fn no_file() -> CommitError {
    CommitError::NoSpace("no new binlog file could be begun, as others began theirs; try again".to_owned())
}

#[cfg(test)]
mod tests;
