//! Room in prepared segments that committers set aside before they join the commit order.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Prepared bytes that are neither laid out nor reserved. Below zero for a moment, when a record was
/// laid out and its members' reservations are still held.
#[derive(Debug, Default)]
pub(super) struct Space(AtomicI64);

impl Space {
    pub(super) fn take(self: &Arc<Space>, bytes: u64) -> Option<Reservation> {
        let wanted = signed(bytes);
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| (free >= wanted).then(|| free - wanted))
            .ok()?;
        Some(Reservation { space: Arc::clone(self), bytes })
    }

    pub(super) fn add(&self, bytes: u64) {
        self.0.fetch_add(signed(bytes), Ordering::AcqRel);
    }

    pub(super) fn remove(&self, bytes: u64) {
        self.0.fetch_sub(signed(bytes), Ordering::AcqRel);
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).expect("journal bytes fit the address space of files")
}

/// Room set aside for one transaction; given back when dropped or released. Must be held until the
/// record with the transaction is laid out; release it then, since the record has taken its own room.
#[derive(Debug)]
#[must_use = "dropping the reservation gives the room back"]
pub struct Reservation {
    space: Arc<Space>,
    bytes: u64,
}

impl Reservation {
    /// Bytes set aside.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives the room back now.
    pub fn release(&mut self) {
        self.space.add(std::mem::take(&mut self.bytes));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}
