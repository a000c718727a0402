//! What carries a session: a thread of a pool, whose place another thread takes while it waits.
//!
//! A statement is plain blocking code. Where it may wait for another session (row locks, the outcome of a
//! commit) or for its client, it says so with [`blocking`]; a pool that gave its threads a [`Carrier`]
//! ([`carry`]) then lets another thread run in the meantime. On any other thread this does nothing.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

/// A pool, as the waits below a session see it.
pub trait Carrier: Send + Sync {
    /// The calling thread is going to wait.
    fn begin_wait(&self);

    /// The calling thread goes on.
    fn end_wait(&self);
}

thread_local! {
    static CARRIER: OnceCell<Arc<dyn Carrier>> = const { OnceCell::new() };
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// Makes the calling thread one of `carrier`'s, for as long as it lives.
///
/// # Panics
/// When the thread has a carrier already.
pub fn carry(carrier: Arc<dyn Carrier>) {
    CARRIER.with(|own| assert!(own.set(carrier).is_ok(), "a thread has one carrier"));
}

/// Runs `wait`, which may take long without using the processor. Waits within waits count once.
pub fn blocking<T>(wait: impl FnOnce() -> T) -> T {
    CARRIER.with(|carrier| match carrier.get() {
        Some(carrier) if !WAITS.get() => {
            let _away = Away::new(&**carrier);
            wait()
        }
        _ => wait(),
    })
}

/// Ends the wait on every way out.
struct Away<'a>(&'a dyn Carrier);

impl<'a> Away<'a> {
    fn new(carrier: &'a dyn Carrier) -> Away<'a> {
        WAITS.set(true);
        carrier.begin_wait();
        Away(carrier)
    }
}

impl Drop for Away<'_> {
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

    impl Carrier for Counter {
        fn begin_wait(&self) {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        fn end_wait(&self) {
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_carrier_hears_of_each_outermost_wait_and_of_its_end() {
        let counter = Arc::new(Counter::default());
        let carrier = counter.clone();
        let thread = std::thread::spawn(move || {
            assert_eq!(blocking(|| 1), 1, "without a carrier");
            carry(carrier);
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
