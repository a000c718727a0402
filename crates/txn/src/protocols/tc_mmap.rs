//! Two engines without a binlog: a log of its own says what is decided (MariaDB's `TC_LOG_MMAP`).
//!
//! ∥ prepare + flush in every engine; record the XID in `tc.log`, synced with those of everyone who waits;
//! commit records, in one order for all engines; ∥ flush in every engine; only then erase the XID.
//!
//! The second flush cannot be left out: with the XID the coordinator forgets how it decided. A transaction
//! in a single engine needs no coordinator: commit record + flush.

use cohort_io::SyncFigures;

use super::tc_log::TcLog;
use super::{Protocol, Steps};
use crate::commit::{CommitError, Committed, Member};
use crate::lock_profile::LockProfile;

pub(super) struct TcMmap {
    tc_log: TcLog,
}

impl TcMmap {
    pub fn new(tc_log: TcLog) -> Self {
        TcMmap { tc_log }
    }
}

impl Protocol for TcMmap {
    fn commit(&self, steps: &Steps, mut member: Member) -> Result<Committed, CommitError> {
        if member.redo.len() < 2 {
            return steps.commit_in_engines_only(member);
        }
        steps.prepare(&member)?;
        steps.flush_engines(&member)?;
        let place = self.tc_log.log_xid(member.xid).map_err(|error| steps.seal(&error))?;
        steps.take_place(&mut member);
        let committed = steps.commit_prepared(&member)?;
        steps.flush_engines(&member)?;
        self.tc_log.unlog(place);
        Ok(committed)
    }

    fn needs_no_binlog(&self) -> bool {
        true
    }

    fn coordinator_log(&self) -> Option<SyncFigures> {
        Some(self.tc_log.figures())
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        Vec::new()
    }
}
