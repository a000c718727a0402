//! A step that cohorts take in the order in which they were laid out, one at a time.

use std::collections::BTreeMap;

use super::{Durable, Failed};
use crate::lock_profile::{LockProfile, ProfiledMutex};

type Written = Result<Durable, Failed>;

#[derive(Default)]
struct State {
    /// Whose turn it is.
    next: u64,
    /// Those who have come, by the number of their cohort.
    waiting: BTreeMap<u64, Written>,
    busy: bool,
}

/// Whose turn it is, and who waits for theirs.
pub(super) struct Turns {
    name: &'static str,
    state: ProfiledMutex<State>,
}

impl Turns {
    /// None was taken yet.
    pub fn new(name: &'static str) -> Turns {
        Turns { name, state: ProfiledMutex::new(name, State::default()) }
    }

    /// Brings cohorts. Whoever finds nobody at work has `step` take every cohort whose turn it is, also those that others
    /// bring meanwhile; others leave theirs to that thread.
    pub fn run(&self, written: Vec<Written>, mut step: impl FnMut(Written)) {
        let mut state = self.state.lock(self.name);
        for written in written {
            let cohort = match &written {
                Ok(durable) => durable.0.cohort,
                Err(failed) => failed.cohort,
            };
            state.waiting.insert(cohort, written);
        }
        while !state.busy
            && let Some(written) = state.take_next()
        {
            state.busy = true;
            drop(state);
            step(written);
            state = self.state.lock(self.name);
            state.busy = false;
        }
    }

    pub fn profile(&self) -> Vec<LockProfile> {
        self.state.profile()
    }
}

impl State {
    fn take_next(&mut self) -> Option<Written> {
        let written = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(written)
    }
}
