//! MySQL 4.1: no prepare, and one flush shared by all.
//!
//! ① lock binlog: write binlog (sync if `sync_binlog`), engine commit record without flush, unlock;
//! ∥ engine flush.
//!
//! A crash between the binlog's bytes and the engine's flush leaves a transaction in one of them only.

use super::{Protocol, Steps};
use crate::commit::{CommitError, Committed, Member};
use crate::lock_profile::{LockProfile, ProfiledMutex};

pub(super) struct Mysql41 {
    lock_log: ProfiledMutex<()>,
}

impl Mysql41 {
    pub fn new() -> Self {
        Mysql41 { lock_log: ProfiledMutex::new("LOCK_log", ()) }
    }
}

impl Protocol for Mysql41 {
    fn commit(&self, steps: &Steps, mut member: Member) -> Result<Committed, CommitError> {
        let committed = {
            let _serial = self.lock_log.lock("commit");
            steps.write_binlog([&mut member])?;
            steps.sync_binlog()?;
            steps.commit_without_prepare(&member)?
        };
        steps.flush_engines(&member)?;
        Ok(committed)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.lock_log.profile()
    }
}
