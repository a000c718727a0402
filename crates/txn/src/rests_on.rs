//! What a session may say: nothing that rests on a version in flight leaves the server before that version is
//! durable (I9).
//!
//! A read may see a version whose transaction has its place in the commit order and is not durable yet: under the
//! journal a current read, because locks go when the order is fixed; under a classic protocol any read, because some of
//! them show what they have not synced. Rows, errors such as a duplicate key, affected rows and the end of a rollback
//! then rest on it. Each read notes the order of what it saw, and whoever sends an answer asks the store first:
//! [`Store::is_durable`](crate::Store::is_durable), [`Store::when_durable`](crate::Store::when_durable),
//! [`Store::wait_until_durable`](crate::Store::wait_until_durable). A commit is an answer of that kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The newest transaction in flight that the next answer rests on. Clones are one and the same: the session's
/// transactions note in it what they see, and the session's answers wait for it.
///
/// One thread at a time uses it.
#[derive(Clone, Debug, Default)]
pub struct RestsOn(Arc<AtomicU64>);

/// No transaction has this order.
const NOTHING: u64 = 0;

impl RestsOn {
    /// A transaction was seen that may not be durable.
    pub(crate) fn note(&self, order: u64) {
        self.0.fetch_max(order, Ordering::Relaxed);
    }

    /// Nothing is noted any more: an answer has said that nobody knows what became of it.
    pub fn forget(&self) {
        self.take();
    }

    /// The newest transaction that was noted.
    pub(crate) fn order(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|order| *order != NOTHING)
    }

    /// The same, which is then forgotten: somebody waits for it.
    pub(crate) fn take(&self) -> Option<u64> {
        Some(self.0.swap(NOTHING, Ordering::Relaxed)).filter(|order| *order != NOTHING)
    }
}
