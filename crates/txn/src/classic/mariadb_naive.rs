//! MariaDB's first group commit: the leader writes the binlog, and each session signals the next.
//!
//! ∥ prepare + sync; join the queue; the leader writes and syncs the binlog for the queue; then each
//! member's ordered commit runs in its own session, each signalling the next; ∥ commit sync.
//!
//! The signals are a chain of wake-ups that the whole queue waits for.

use super::group::{QueueBusy, Stage, Ticket};
use super::{ClassicCoordinator, Protocol};
use crate::lock_profile::LockProfile;
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;

pub(super) struct MariadbNaive {
    queue: Stage,
    queue_busy: QueueBusy,
}

impl MariadbNaive {
    pub fn new() -> Self {
        MariadbNaive { queue: Stage::new("LOCK_log"), queue_busy: QueueBusy::default() }
    }

    fn group_commit(&self, coordinator: &ClassicCoordinator, member: Member) -> Result<Committed, CommitError> {
        let (ticket, mine) = Ticket::of(member);
        let commit = |member: &Member| coordinator.commit_prepared(member);
        let Some((lock_log, mut group)) = self.queue.enter(mine, None, "write and sync", || coordinator.sync_delay())
        else {
            return ticket.wait_for_turn(&self.queue_busy, commit);
        };
        if let Err(error) = coordinator.write_binlog(group.members()).and_then(|()| coordinator.sync_binlog()) {
            return group.fail(&ticket, &error);
        }
        self.queue_busy.occupy();
        drop(lock_log);
        group.commit_first(&self.queue_busy, commit)
    }
}

impl Protocol for MariadbNaive {
    fn commit(&self, coordinator: &ClassicCoordinator, member: Member) -> Result<Committed, CommitError> {
        coordinator.prepare(&member)?;
        coordinator.sync_engines(&member)?;
        let committed = self.group_commit(coordinator, member)?;
        coordinator.sync_all_engines()?;
        Ok(committed)
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.queue.lock_profile()
    }
}
