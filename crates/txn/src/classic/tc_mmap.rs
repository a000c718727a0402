//! Two engines without a binlog: a log of its own says what is decided (MariaDB's `TC_LOG_MMAP`).
//!
//! ∥ prepare + sync in every engine; record the XID in `tc.log`, synced with those of everyone who waits;
//! commit records, in one order for all engines; ∥ sync in every engine; only then erase the XID.
//!
//! The second sync cannot be left out: with the XID the coordinator forgets how it decided. A transaction
//! in a single engine needs no coordinator: commit record + sync.
//!
//! This is all of `commit_protocol=tc-mmap`, and under the others what becomes of a transaction that is not in
//! their binlog (`sql_log_bin=0`, `skip_log_bin`).

use cohort_io::SyncStats;

use super::ClassicCoordinator;
use super::tc_log::TcLog;
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;

pub(super) struct TcMmap {
    tc_log: TcLog,
}

impl TcMmap {
    pub fn new(tc_log: TcLog) -> Self {
        TcMmap { tc_log }
    }

    /// As [`Protocol::commit`](super::Protocol::commit), of a member without events.
    pub fn commit(&self, coordinator: &ClassicCoordinator, mut member: Member) -> Result<Committed, CommitError> {
        if member.redo.len() < 2 {
            return coordinator.commit_in_engine_only(member);
        }
        coordinator.prepare(&member)?;
        coordinator.sync_engines(&member)?;
        let place = self.tc_log.log_xid(member.xid).map_err(|error| coordinator.seal(&error))?;
        coordinator.take_place(&mut member);
        let committed = coordinator.commit_prepared(&member)?;
        coordinator.sync_engines(&member)?;
        self.tc_log.unlog(place);
        Ok(committed)
    }

    /// Writes and syncs of `tc.log`.
    pub fn stats(&self) -> SyncStats {
        self.tc_log.stats()
    }
}
