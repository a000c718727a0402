//! MySQL 5.6: three stages, each with its own queue and leader, that overlap between groups.
//!
//! ∥ prepare + sync; FLUSH stage (write every member's events); SYNC stage (one binlog sync); COMMIT
//! stage (engines commit in binlog order and ignore durability, so no sync).
//!
//! Whoever finds a stage's queue empty leads there. A leader enters the next stage's queue before it lets
//! the last stage's lock go, so that groups cannot overtake each other, and becomes a follower where
//! another group's leader waits already: groups merge on their way. With `binlog_order_commits` off there is no
//! COMMIT stage: each session commits by itself, in no order.

use super::group::{Stage, Ticket};
use super::{ClassicCoordinator, Protocol};
use crate::lock_profile::LockProfile;
use crate::outcome::{CommitError, Committed};
use crate::shared::Member;

pub(super) struct Mysql56 {
    stages: Stages,
}

/// The ordered commit, for [`Mysql56`] and its successor.
pub(super) struct Stages {
    flush: Stage,
    sync: Stage,
    commit: Stage,
}

impl Stages {
    pub fn new() -> Self {
        Stages { flush: Stage::new("LOCK_log"), sync: Stage::new("LOCK_sync"), commit: Stage::new("LOCK_commit") }
    }

    /// Takes a prepared member through the stages; `begin_flush` is what the FLUSH leader does first.
    pub fn ordered_commit(
        &self,
        coordinator: &ClassicCoordinator,
        member: Member,
        begin_flush: impl FnOnce(&ClassicCoordinator) -> Result<(), CommitError>,
    ) -> Result<Committed, CommitError> {
        let (ticket, mine) = Ticket::of(member);
        let commit = |member: &Member| coordinator.commit_prepared(member);
        let at_once = || None;
        let Some((lock_log, mut group)) = self.flush.enter(mine, None, "FLUSH", at_once) else {
            return ticket.wait_or_commit(commit);
        };
        if let Err(error) = begin_flush(coordinator).and_then(|()| coordinator.write_binlog(group.members())) {
            return group.fail(&ticket, &error);
        }
        let Some((lock_sync, group)) = self.sync.enter(group, Some(lock_log), "SYNC", || coordinator.sync_delay())
        else {
            return ticket.wait_or_commit(commit);
        };
        if let Err(error) = coordinator.sync_binlog() {
            return group.fail(&ticket, &error);
        }
        if !coordinator.orders_commits() {
            drop(lock_sync);
            group.hand_back();
            return ticket.wait_or_commit(commit);
        }
        let Some((lock_commit, mut group)) = self.commit.enter(group, Some(lock_sync), "COMMIT", at_once) else {
            return ticket.wait_or_commit(commit);
        };
        group.commit_all(commit);
        drop(lock_commit);
        group.finish();
        ticket.wait()
    }

    pub fn lock_profile(&self) -> Vec<LockProfile> {
        [&self.flush, &self.sync, &self.commit].iter().flat_map(|stage| stage.lock_profile()).collect()
    }
}

impl Mysql56 {
    pub fn new() -> Self {
        Mysql56 { stages: Stages::new() }
    }
}

impl Protocol for Mysql56 {
    fn commit(&self, coordinator: &ClassicCoordinator, member: Member) -> Result<Committed, CommitError> {
        coordinator.prepare(&member)?;
        coordinator.sync_engines(&member)?;
        self.stages.ordered_commit(coordinator, member, |_| Ok(()))
    }

    fn lock_profile(&self) -> Vec<LockProfile> {
        self.stages.lock_profile()
    }
}
