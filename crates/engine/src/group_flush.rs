//! A log flush shared by those who wait for one ("group commit" below the engine).
//!
//! Whoever finds no flush under way does one; those who come meanwhile wait for it to end, and one of
//! them does the next for all of them: the one under way may have begun before their records.

use parking_lot::{Condvar, Mutex};

use crate::WriteError;

#[derive(Default)]
struct State {
    /// Flushes that have begun, the first is number 1.
    begun: u64,
    finished: u64,
    failed: Option<(&'static str, String)>,
}

/// See the module.
#[derive(Default)]
pub struct GroupFlush {
    state: Mutex<State>,
    ended: Condvar,
}

impl GroupFlush {
    /// Returns when a flush that began after the call has ended; `sync` does it if nobody else does.
    /// After a failed flush nothing is tried again: every call fails.
    pub fn flush(&self, engine: &'static str, sync: impl FnOnce() -> Result<(), WriteError>) -> Result<(), WriteError> {
        let mut state = self.state.lock();
        let wanted = state.begun + 1;
        loop {
            if let Some((engine, detail)) = &state.failed {
                return Err(WriteError::Failed { engine, detail: detail.clone() });
            }
            if state.finished >= wanted {
                return Ok(());
            }
            if state.begun == state.finished {
                break;
            }
            self.ended.wait(&mut state);
        }
        state.begun += 1;
        drop(state);
        let outcome = sync();
        let mut state = self.state.lock();
        state.finished = state.begun;
        if let Err(error) = &outcome {
            state.failed = Some((engine, format!("an earlier flush of the log failed: {error}")));
        }
        self.ended.notify_all();
        outcome
    }

    /// Flushes so far.
    pub fn count(&self) -> u64 {
        self.state.lock().finished
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn those_who_wait_share_the_next_flush() {
        let (group, synced) = (Arc::new(GroupFlush::default()), Arc::new(AtomicU64::new(0)));
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let first = thread::spawn({
            let group = group.clone();
            move || {
                group.flush("E", || {
                    begun.send(()).expect("the test waits");
                    released.recv().expect("the test lets go");
                    Ok(())
                })
            }
        });
        has_begun.recv().expect("the first flush");
        let later: Vec<_> = (0..8)
            .map(|_| {
                let (group, synced) = (group.clone(), synced.clone());
                thread::spawn(move || {
                    group.flush("E", || {
                        synced.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    })
                })
            })
            .collect();
        assert_eq!(group.count(), 0, "the first is held back");
        release.send(()).expect("the first waits");
        first.join().expect("no panic").expect("flushed");
        for thread in later {
            thread.join().expect("no panic").expect("flushed");
        }
        let flushes = synced.load(Ordering::SeqCst);
        assert!((1..=8).contains(&flushes), "{flushes}: none of them may rely on the one that began before");
        assert_eq!(group.count(), 1 + flushes);
    }

    #[test]
    fn after_a_failure_nothing_is_tried_again() {
        let group = GroupFlush::default();
        let fail = || Err(WriteError::Failed { engine: "E", detail: "no device".into() });
        group.flush("E", fail).expect_err("the device is gone");
        let error = group.flush("E", || panic!("tried again")).expect_err("sealed");
        assert!(error.to_string().contains("no device"), "{error}");
    }
}
