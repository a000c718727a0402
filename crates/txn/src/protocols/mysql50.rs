//! MySQL 5.0 to 5.5 with the built-in InnoDB: group commit is broken.
//!
//! ① lock `prepare_commit_mutex`; prepare + flush; binlog write (+ sync); commit + flush; unlock.
//!
//! The mutex keeps the engine's commit order that of the binlog, and lets one session at a time wait for
//! the device, two or three times. With `support_xa=0` the prepare is skipped, and a crash can leave a
//! transaction in one log only.

use super::{Protocol, Steps};
use crate::commit::{CommitError, Committed, Member};
use crate::lock_profile::{LockProfile, ProfiledMutex};

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
    fn commit(&self, steps: &Steps, mut member: Member) -> Result<Committed, CommitError> {
        let _serial = self.prepare_commit_mutex.lock("prepare");
        if self.support_xa {
            steps.prepare(&member)?;
            steps.flush_engines(&member)?;
        }
        steps.write_binlog([&mut member])?;
        steps.sync_binlog()?;
        let committed = match self.support_xa {
            true => steps.commit_prepared(&member)?,
            false => steps.commit_without_prepare(&member)?,
        };
        steps.flush_engines(&member)?;
        Ok(committed)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.prepare_commit_mutex.profile()
    }
}
