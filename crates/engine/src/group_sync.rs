//! A log sync shared by those who wait for one ("group commit" below the engine).
//!
//! Whoever finds no sync under way leads one. Those who come meanwhile wait for it to end: the one under
//! way may have begun before their records. The first of them then leads the next, for all of them.
//!
//! Concurrency: each waits on a [`Waiter`] of its own, so that a sync wakes its own followers and the next
//! leader, and nobody else; the leader first, for the device is idle until it runs.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use cohort_io::sync::{Condvar, Mutex};

use crate::WriteError;

#[derive(Default)]
struct State {
    /// Somebody leads, or has been woken to lead.
    led: bool,
    /// Come since the sync under way began, in order.
    waiting: VecDeque<Arc<Waiter>>,
    finished: u64,
    failed: Option<String>,
}

/// Where one waits for its turn.
#[derive(Default)]
struct Waiter {
    turn: Mutex<Option<Turn>>,
    woken: Condvar,
}

enum Turn {
    Lead,
    Ended(Result<(), String>),
}

impl Waiter {
    fn wake(&self, turn: Turn) {
        *self.turn.lock() = Some(turn);
        self.woken.notify_one();
    }

    fn wait(&self) -> Turn {
        let mut turn = self.turn.lock();
        loop {
            match turn.take() {
                Some(turn) => return turn,
                None => self.woken.wait(&mut turn),
            }
        }
    }
}

/// One leader at a time syncs for all who came before it began.
#[derive(Default)]
pub struct GroupSync {
    state: Mutex<State>,
}

impl GroupSync {
    /// Returns when a sync that began after the call has ended; `sync` does it if nobody else does.
    /// After a failed sync nothing is tried again: every call fails.
    pub fn sync(&self, engine: &'static str, sync: impl FnOnce() -> Result<(), WriteError>) -> Result<(), WriteError> {
        let failed = |detail: String| WriteError::Failed { engine, detail };
        let mut state = self.state.lock();
        if let Some(detail) = &state.failed {
            return Err(failed(detail.clone()));
        }
        if state.led {
            let waiter = Arc::new(Waiter::default());
            state.waiting.push_back(waiter.clone());
            drop(state);
            if let Turn::Ended(outcome) = waiter.wait() {
                return outcome.map_err(failed);
            }
            state = self.state.lock();
        }
        state.led = true;
        let mut followers = mem::take(&mut state.waiting);
        drop(state);

        let outcome = sync();
        let shared = outcome.as_ref().map(drop).map_err(|error| format!("an earlier sync of the log failed: {error}"));
        let mut state = self.state.lock();
        state.finished += 1;
        if let Err(detail) = &shared {
            state.failed = Some(detail.clone());
            followers.append(&mut state.waiting);
        }
        let next = state.waiting.pop_front();
        state.led = next.is_some();
        drop(state);
        if let Some(next) = next {
            next.wake(Turn::Lead);
        }
        for follower in followers {
            follower.wake(Turn::Ended(shared.clone()));
        }
        outcome
    }

    /// Flushes so far.
    pub fn count(&self) -> u64 {
        self.state.lock().finished
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Holds a sync back until 8 more wait, then ends it with `first`; what they get, and how many of them
    /// did a sync of their own.
    fn after_a_sync(first: Result<(), WriteError>) -> (GroupSync, Vec<Result<(), WriteError>>, u64) {
        let (group, led) = (GroupSync::default(), AtomicU64::new(0));
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let outcomes = thread::scope(|scope| {
            let (group, led) = (&group, &led);
            let held = scope.spawn(move || {
                group.sync("E", || {
                    begun.send(()).expect("the test waits");
                    released.recv().expect("the test lets go");
                    first
                })
            });
            has_begun.recv().expect("the first sync");
            let sync = || {
                led.fetch_add(1, Ordering::SeqCst);
                Ok(())
            };
            let later: Vec<_> = (0..8).map(|_| scope.spawn(move || group.sync("E", sync))).collect();
            let deadline = Instant::now() + Duration::from_secs(60);
            while group.state.lock().waiting.len() < later.len() {
                assert!(Instant::now() < deadline, "they do not wait");
                thread::yield_now();
            }
            assert_eq!(group.count(), 0, "the first is held back");
            release.send(()).expect("the first waits");
            let all = [held].into_iter().chain(later);
            all.map(|thread| thread.join().expect("no panic")).collect()
        });
        (group, outcomes, led.into_inner())
    }

    #[test]
    fn those_who_wait_share_the_next_sync() {
        let (group, outcomes, led) = after_a_sync(Ok(()));
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        assert_eq!((led, group.count()), (1, 2), "none of them may rely on the one that began before");
    }

    #[test]
    fn those_who_wait_for_the_sync_after_a_failed_one_fail() {
        let failed = WriteError::Failed { engine: "E", detail: "no device".into() };
        let (group, outcomes, led) = after_a_sync(Err(failed));
        assert!(outcomes.iter().all(|outcome| outcome.as_ref().unwrap_err().to_string().contains("no device")));
        assert_eq!((outcomes.len(), led, group.count()), (9, 0, 1));
    }

    #[test]
    fn after_a_failure_nothing_is_tried_again() {
        let group = GroupSync::default();
        let fail = || Err(WriteError::Failed { engine: "E", detail: "no device".into() });
        group.sync("E", fail).expect_err("the device is gone");
        let error = group.sync("E", || panic!("tried again")).expect_err("sealed");
        assert!(error.to_string().contains("no device"), "{error}");
    }
}
