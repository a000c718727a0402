//! MariaDB 5.3 and later: one queue, and the leader commits for all ("optimized thread scheduling").
//!
//! ∥ prepare + sync; join the queue; the leader writes and syncs the binlog for the queue, then runs the
//! whole queue's ordered commits itself; ∥ commit sync, unless `commit_flush` is off (10.0 and later).

use super::group::{Stage, Ticket};
use super::{ClassicCoordinator, Protocol};
use crate::lock_profile::LockProfile;
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;

pub(super) struct Mariadb {
    commit_flush: bool,
    queue: Stage,
    commit: Stage,
}

impl Mariadb {
    pub fn new(commit_flush: bool) -> Self {
        Mariadb { commit_flush, queue: Stage::new("LOCK_log"), commit: Stage::new("LOCK_commit_ordered") }
    }

    fn group_commit(&self, coordinator: &ClassicCoordinator, member: Member) -> Result<Committed, CommitError> {
        let (ticket, mine) = Ticket::of(member);
        let Some((lock_log, mut group)) = self.queue.enter(mine, None, "write and sync", || coordinator.sync_delay())
        else {
            return ticket.wait();
        };
        if let Err(error) = coordinator.write_binlog(group.members()).and_then(|()| coordinator.sync_binlog()) {
            return group.fail(&ticket, &error);
        }
        let Some((lock_commit, mut group)) = self.commit.enter(group, Some(lock_log), "commit_ordered", || None) else {
            return ticket.wait();
        };
        group.commit_all(|member| coordinator.commit_prepared(member));
        drop(lock_commit);
        group.finish();
        ticket.wait()
    }
}

impl Protocol for Mariadb {
    fn commit(&self, coordinator: &ClassicCoordinator, member: Member) -> Result<Committed, CommitError> {
        coordinator.prepare(&member)?;
        coordinator.sync_engines(&member)?;
        let committed = self.group_commit(coordinator, member)?;
        if self.commit_flush {
            coordinator.sync_all_engines()?;
        }
        Ok(committed)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        [&self.queue, &self.commit].iter().flat_map(|stage| stage.lock_profile()).collect()
    }
}
