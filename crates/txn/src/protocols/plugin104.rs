//! InnoDB Plugin 1.0.4: the flushes are shared again, the binlog is still written one by one.
//!
//! ∥ prepare + flush; ① lock; binlog write (+ sync: still serial); commit record without flush; unlock;
//! ∥ flush.

use super::{Protocol, Steps};
use crate::commit::{CommitError, Committed, Member};
use crate::lock_profile::{LockProfile, ProfiledMutex};

pub(super) struct Plugin104 {
    prepare_commit_mutex: ProfiledMutex<()>,
}

impl Plugin104 {
    pub fn new() -> Self {
        Plugin104 { prepare_commit_mutex: ProfiledMutex::new("prepare_commit_mutex", ()) }
    }
}

impl Protocol for Plugin104 {
    fn commit(&self, steps: &Steps, mut member: Member) -> Result<Committed, CommitError> {
        steps.prepare(&member)?;
        steps.flush_engines(&member)?;
        let committed = {
            let _serial = self.prepare_commit_mutex.lock("commit");
            steps.write_binlog([&mut member])?;
            steps.sync_binlog()?;
            steps.commit_prepared(&member)?
        };
        steps.flush_engines(&member)?;
        Ok(committed)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.prepare_commit_mutex.profile()
    }
}
