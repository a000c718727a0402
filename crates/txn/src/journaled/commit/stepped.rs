//! Commits taken step by step: for simulators, which decide what happens between two steps and in which
//! order the writes of two cohorts return.

use std::sync::Arc;

use super::{Coordinator, Durable, Failed, Ordered};

/// A cohort that has its place in the log and is not written yet. Dropping it is what a crash does.
#[must_use = "its members wait for their outcome"]
pub struct LaidOutCohort {
    coordinator: Arc<Coordinator>,
    ordered: Result<Ordered, Failed>,
}

/// A cohort that was written, or whose write failed, and that nobody sees yet.
#[must_use = "its members wait for their outcome"]
pub struct WrittenCohort {
    coordinator: Arc<Coordinator>,
    written: Result<Durable, Failed>,
}

impl Coordinator {
    /// While commits are held they only join the queue: nobody leads but [`Coordinator::take_cohort`].
    pub(crate) fn hold(&self, held: bool) {
        self.queue.lock("join").held = held;
    }

    /// Lays out everything queued, if there is something.
    pub(crate) fn take_cohort(self: Arc<Self>) -> Option<LaidOutCohort> {
        self.queue.lock("lead").writes_in_flight += 1;
        match self.lay_out_cohort() {
            Some(ordered) => Some(LaidOutCohort { coordinator: self, ordered }),
            None => {
                self.end_write();
                None
            }
        }
    }
}

impl LaidOutCohort {
    /// How many transactions it has.
    pub fn members(&self) -> usize {
        match &self.ordered {
            Ok(ordered) => ordered.members.len(),
            Err(failed) => failed.members.len(),
        }
    }

    /// Writes the cohort to the journal. With full durability several may be written in any order.
    pub fn write(self) -> WrittenCohort {
        let LaidOutCohort { coordinator, ordered } = self;
        let written = ordered.and_then(|ordered| ordered.write(&coordinator.journal, &coordinator.stats));
        coordinator.end_write();
        WrittenCohort { coordinator, written }
    }
}

impl WrittenCohort {
    /// Lets it be seen and acknowledged as soon as every cohort before it is.
    pub fn finish(self) {
        self.coordinator.finish(self.written);
    }
}
