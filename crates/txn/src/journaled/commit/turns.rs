//! A step that cohorts take in the order in which they were laid out, one at a time.

use std::collections::BTreeMap;

use crate::lock_profile::{LockProfile, ProfiledMutex};

struct State<T> {
    /// Whose turn it is.
    next: u64,
    /// Those who have come, by number.
    waiting: BTreeMap<u64, T>,
    busy: bool,
}

/// Whose turn it is, and who waits for theirs.
pub(super) struct Turns<T> {
    name: &'static str,
    state: ProfiledMutex<State<T>>,
}

impl<T> Turns<T> {
    /// None was taken yet.
    pub fn new(name: &'static str) -> Turns<T> {
        let state = State { next: 0, waiting: BTreeMap::new(), busy: false };
        Turns { name, state: ProfiledMutex::new(name, state) }
    }

    /// Brings cohorts with their numbers. Whoever finds nobody at work has `step` take every cohort whose turn it is, also
    /// those that others bring meanwhile; others leave theirs to that thread. A cohort that `may` not be taken keeps its
    /// turn: when it may, this is called again, if need be without a cohort.
    pub fn run(
        &self,
        come: impl IntoIterator<Item = (u64, T)>,
        may: impl Fn(&T) -> bool,
        mut step: impl FnMut(u64, T),
    ) {
        let mut state = self.state.lock(self.name);
        state.waiting.extend(come);
        while !state.busy
            && let Some((cohort, of_cohort)) = state.take_next(&may)
        {
            state.busy = true;
            drop(state);
            step(cohort, of_cohort);
            state = self.state.lock(self.name);
            state.busy = false;
        }
    }

    pub fn profile(&self) -> Vec<LockProfile> {
        self.state.profile()
    }
}

impl<T> State<T> {
    fn take_next(&mut self, may: impl Fn(&T) -> bool) -> Option<(u64, T)> {
        let next = self.waiting.first_entry().filter(|first| *first.key() == self.next && may(first.get()))?;
        self.next += 1;
        Some(next.remove_entry())
    }
}
