//! MySQL 4.1: no prepare, and one sync shared by all.
//!
//! ① lock binlog: write binlog (sync if `sync_binlog`), engine commit record without sync, unlock;
//! ∥ engine sync.
//!
//! A crash between the binlog's bytes and the engine's sync leaves a transaction in one of them only.

use super::{ClassicCoordinator, Protocol};
use crate::lock_profile::{LockProfile, ProfiledMutex};
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;

pub(super) struct Mysql41 {
    lock_log: ProfiledMutex<()>,
}

impl Mysql41 {
    pub fn new() -> Self {
        Mysql41 { lock_log: ProfiledMutex::new("LOCK_log", ()) }
    }
}

impl Protocol for Mysql41 {
    fn commit(&self, coordinator: &ClassicCoordinator, mut member: Member) -> Result<Committed, CommitError> {
        let committed = {
            let _serial = self.lock_log.lock("commit");
            coordinator.write_binlog([&mut member])?;
            coordinator.sync_binlog()?;
            coordinator.commit_without_prepare(&member)?
        };
        coordinator.sync_engines(&member)?;
        Ok(committed)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.lock_log.profile()
    }
}
