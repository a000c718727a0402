//! MySQL 5.7 and later: the prepares of a group share one sync.
//!
//! As [`mysql56`](super::mysql56), but prepare does not sync: the FLUSH leader syncs the engines' logs
//! once for the group, before it writes the binlog.

use super::mysql56::Stages;
use super::{ClassicCoordinator, Protocol};
use crate::lock_profile::LockProfile;
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;

pub(super) struct Mysql57 {
    stages: Stages,
}

impl Mysql57 {
    pub fn new() -> Self {
        Mysql57 { stages: Stages::new() }
    }
}

impl Protocol for Mysql57 {
    fn commit(&self, coordinator: &ClassicCoordinator, member: Member) -> Result<Committed, CommitError> {
        coordinator.prepare(&member)?;
        self.stages.ordered_commit(coordinator, member, ClassicCoordinator::sync_all_engines)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.stages.lock_profile()
    }
}
