//! A hook that a thread pool is called through before and after a session blocks.
//!
//! A statement is plain blocking code. Where it may wait for another session (row locks, the outcome of a
//! commit) or for its client, it waits inside of [`blocking`]. A pool that gave its threads a [`BlockingHook`]
//! ([`set_blocking_hook`]) lets another thread run in the meantime. On any other thread [`blocking`] does nothing.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

/// A pool, as a blocking session calls it.
pub trait BlockingHook: Send + Sync {
    /// Called by a thread that is going to wait.
    fn begin_wait(&self);

    /// Called by the same thread when its wait is over.
    fn end_wait(&self);
}

thread_local! {
    static HOOK: OnceCell<Arc<dyn BlockingHook>> = const { OnceCell::new() };
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// Sets the hook of the calling thread, for as long as the thread lives.
///
/// # Panics
/// When the thread has a hook already.
pub fn set_blocking_hook(hook: Arc<dyn BlockingHook>) {
    HOOK.with(|own| assert!(own.set(hook).is_ok(), "a thread has one blocking hook"));
}

/// Runs `wait`, which may take long without using the processor. Waits within waits count once.
pub fn blocking<T>(wait: impl FnOnce() -> T) -> T {
    HOOK.with(|hook| match hook.get() {
        Some(hook) if !WAITS.get() => {
            let _wait = Wait::new(&**hook);
            wait()
        }
        _ => wait(),
    })
}

/// Ends the wait on every way out.
struct Wait<'a>(&'a dyn BlockingHook);

impl<'a> Wait<'a> {
    fn new(hook: &'a dyn BlockingHook) -> Wait<'a> {
        WAITS.set(true);
        hook.begin_wait();
        Wait(hook)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        WAITS.set(false);
        self.0.end_wait();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Counter {
        begun: AtomicUsize,
        ended: AtomicUsize,
    }

    impl BlockingHook for Counter {
        fn begin_wait(&self) {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        fn end_wait(&self) {
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn the_hook_is_called_for_each_outermost_wait_and_its_end() {
        let counter = Arc::new(Counter::default());
        let hook = counter.clone();
        let thread = std::thread::spawn(move || {
            assert_eq!(blocking(|| 1), 1, "without a hook");
            set_blocking_hook(hook);
            blocking(|| blocking(|| ()));
            // A panic is a way out as well.
            catch_unwind(AssertUnwindSafe(|| blocking(|| panic!("on purpose")))).unwrap_err();
            blocking(|| ());
        });
        thread.join().unwrap();
        let seen = [&counter.begun, &counter.ended].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(seen, [3, 3]);
    }
}
