//! MySQL 5.0 to 5.5 with the built-in InnoDB: group commit is broken.
//!
//! ① lock `prepare_commit_mutex`; prepare + sync; binlog write (+ sync); commit + sync; unlock.
//!
//! The mutex keeps the engine's commit order that of the binlog, and lets one session at a time wait for
//! the device, two or three times. With `support_xa=0` the prepare is skipped, and a crash can leave a
//! transaction in one log only.

use super::{ClassicCoordinator, Protocol};
use crate::lock_profile::{LockProfile, ProfiledMutex};
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;

pub(super) struct Mysql50 {
    support_xa: bool,
    prepare_commit_mutex: ProfiledMutex<()>,
}

impl Mysql50 {
    pub fn new(support_xa: bool) -> Self {
        Mysql50 { support_xa, prepare_commit_mutex: ProfiledMutex::new("prepare_commit_mutex", ()) }
    }
}

impl Protocol for Mysql50 {
    fn commit(&self, coordinator: &ClassicCoordinator, mut member: Member) -> Result<Committed, CommitError> {
        let _serial = self.prepare_commit_mutex.lock("prepare");
        if self.support_xa {
            coordinator.prepare(&member)?;
            coordinator.sync_engines(&member)?;
        }
        coordinator.write_binlog([&mut member])?;
        coordinator.sync_binlog()?;
        let committed = match self.support_xa {
            true => coordinator.commit_prepared(&member)?,
            false => coordinator.commit_without_prepare(&member)?,
        };
        coordinator.sync_engines(&member)?;
        Ok(committed)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.prepare_commit_mutex.profile()
    }
}
