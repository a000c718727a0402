//! InnoDB Plugin 1.0.4: the syncs are shared again, the binlog is still written one by one.
//!
//! ∥ prepare + sync; ① lock; binlog write (+ sync: still serial); commit record without sync; unlock;
//! ∥ sync.

use super::{ClassicCoordinator, Protocol};
use crate::lock_profile::{LockProfile, ProfiledMutex};
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;

pub(super) struct Plugin104 {
    prepare_commit_mutex: ProfiledMutex<()>,
}

impl Plugin104 {
    pub fn new() -> Self {
        Plugin104 { prepare_commit_mutex: ProfiledMutex::new("prepare_commit_mutex", ()) }
    }
}

impl Protocol for Plugin104 {
    fn commit(&self, coordinator: &ClassicCoordinator, mut member: Member) -> Result<Committed, CommitError> {
        coordinator.prepare(&member)?;
        coordinator.sync_engines(&member)?;
        let committed = {
            let _serial = self.prepare_commit_mutex.lock("commit");
            coordinator.write_binlog([&mut member])?;
            coordinator.sync_binlog()?;
            coordinator.commit_prepared(&member)?
        };
        coordinator.sync_engines(&member)?;
        Ok(committed)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.prepare_commit_mutex.profile()
    }
}
