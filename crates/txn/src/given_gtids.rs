//! GTIDs that nobody else may have: those of transactions with a place in the commit order, and those that sessions have
//! chosen for a transaction to come (*owned* ones).
//!
//! Invariants
//! 1. A GTID has one owner at a time. It is ordered while it is owned, or never: [`OwnedGtid::claim`] sees either the
//!    owner, or the transaction.
//! 2. A transaction's number is drawn so that it is neither ordered nor owned.
//! 3. An owner gives its GTID up after its transaction was seen by readers, or failed: who waited for it and finds it
//!    executed reads what it did.
//!
//! Concurrency: one mutex, taken last: the ordered section holds it while it lays out a cohort, a claim for a look. Commits
//! on their way to the section do not take it: what they ask for is an atomic number.
//!
//! On crash: nothing is owned any more. What is ordered is what recovery finds in journal or binlog.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cohort_binlog::{Gtid, GtidSet, ServerUuid};

use crate::outcome::CommitError;
use crate::shared::Shared;
use crate::sync::{Mutex, MutexGuard};

/// Bytes that one more transaction can add to a GTID set: those of a server with an interval.
const BYTES_EACH: u64 = 40;

/// The GTIDs that are given.
pub(crate) struct GivenGtids {
    given: Mutex<Given>,
    header_bytes_max: AtomicU64,
}

pub(crate) struct Given {
    ordered: GtidSet,
    /// With the connections that own them.
    owned: BTreeMap<Gtid, u64>,
    /// Those that an operator adds to the ordered ones, as soon as a file begins for them.
    adding: GtidSet,
}

impl GivenGtids {
    /// After what recovery found; nothing is owned.
    pub fn after(ordered: GtidSet) -> GivenGtids {
        let given = Given { ordered, owned: BTreeMap::new(), adding: GtidSet::new() };
        let header_bytes_max = AtomicU64::new(given.header_bytes_max());
        GivenGtids { given: Mutex::new(given), header_bytes_max }
    }

    pub fn lock(&self) -> MutexGuard<'_, Given> {
        self.given.lock()
    }

    /// The most bytes that the set of what is ordered takes in a file's header when every owner has committed.
    pub fn header_bytes_max(&self) -> u64 {
        self.header_bytes_max.load(Ordering::Relaxed)
    }

    /// Changes who owns what. In between, the set that is ordered grows by owned GTIDs, by one interval more for each that
    /// numbers were drawn around, and by the first number of this server.
    fn change_owners<T>(&self, change: impl FnOnce(&mut Given) -> T) -> T {
        let mut given = self.given.lock();
        let changed = change(&mut given);
        self.header_bytes_max.store(given.header_bytes_max(), Ordering::Relaxed);
        changed
    }
}

impl Given {
    /// The GTIDs of every transaction with a place in the order.
    pub fn ordered(&self) -> &GtidSet {
        &self.ordered
    }

    /// Those that sessions own, with their connections.
    pub fn owned(&self) -> &BTreeMap<Gtid, u64> {
        &self.owned
    }

    /// Gives a transaction that chose no GTID the lowest number of `uuid` that is free, as MySQL does.
    pub fn next(&mut self, uuid: ServerUuid) -> Gtid {
        let mut gtid = Gtid { uuid, gno: self.ordered.first_free(uuid, 1) };
        while self.owned.contains_key(&gtid) || self.adding.contains(gtid) {
            gtid.gno = self.ordered.first_free(uuid, gtid.gno + 1);
        }
        self.ordered.insert(gtid);
        gtid
    }

    /// Notes that the transaction of an owner has its place.
    pub fn order(&mut self, gtid: &OwnedGtid) -> Gtid {
        debug_assert!(self.owned.contains_key(&gtid.gtid) && !self.ordered.contains(gtid.gtid), "invariant 1");
        self.ordered.insert(gtid.gtid);
        gtid.gtid
    }

    /// Orders what an operator adds, and returns it: nothing if somebody else's file has come to that before.
    pub fn order_added(&mut self) -> GtidSet {
        let added = std::mem::take(&mut self.adding);
        self.ordered.union(&added);
        added
    }

    /// Forgets every GTID that is ordered.
    pub fn forget(&mut self) {
        self.ordered = GtidSet::new();
    }

    fn header_bytes_max(&self) -> u64 {
        self.ordered.encoded_len() + self.adding.encoded_len() + BYTES_EACH * (self.owned.len() as u64 + 1)
    }
}

/// Why GTIDs cannot be added to those that are executed.
#[derive(Debug, thiserror::Error)]
pub enum AddGtidsError {
    /// Some are executed.
    #[error("the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED")]
    Executed,
    /// Some are owned by sessions.
    #[error("the added gtid set must not overlap with @@GLOBAL.GTID_OWNED")]
    Owned,
    /// Somebody else adds some at this moment.
    #[error("another session is changing it")]
    Busy,
    /// Without a binlog nothing would remember them.
    #[error("there is no binlog")]
    NoBinlog,
    /// The file that is to name them could not be begun.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl GivenGtids {
    /// Sets GTIDs aside to be added: from now on nobody else gets them.
    pub fn begin_adding(&self, set: &GtidSet) -> Result<(), AddGtidsError> {
        self.change_owners(|given| {
            let owned = |gtid: &Gtid| set.contains(*gtid);
            if !given.adding.is_empty() {
                Err(AddGtidsError::Busy)
            } else if given.ordered.intersects(set) {
                Err(AddGtidsError::Executed)
            } else if given.owned.keys().any(owned) {
                Err(AddGtidsError::Owned)
            } else {
                given.adding = set.clone();
                Ok(())
            }
        })
    }

    /// Whether the GTIDs that were set aside have no place in the order yet.
    pub fn is_adding(&self) -> bool {
        !self.given.lock().adding.is_empty()
    }

    /// Gives up to add GTIDs.
    pub fn end_adding(&self) {
        self.change_owners(|given| given.adding = GtidSet::new());
    }
}

/// What a cohort changes in the set of executed GTIDs.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewGtids {
    /// All before are forgotten.
    pub forgets: bool,
    /// These are new.
    pub set: GtidSet,
}

impl NewGtids {
    /// Brings a set of executed GTIDs up to date.
    pub fn add_to(&self, executed: &mut GtidSet) {
        if self.forgets {
            *executed = GtidSet::new();
        }
        executed.union(&self.set);
    }

    /// Everything before is forgotten.
    pub fn forget(&mut self) {
        *self = NewGtids { forgets: true, set: GtidSet::new() };
    }
}

/// What came of the wish for a GTID.
#[derive(Debug)]
pub enum GtidClaim {
    /// It is the caller's.
    Owned(OwnedGtid),
    /// A transaction had it before.
    Executed,
    /// The caller was ended while another session owned it.
    Ended,
}

/// A GTID for one transaction. Dropped, it is free again, unless that transaction was ordered.
pub struct OwnedGtid {
    shared: Arc<Shared>,
    gtid: Gtid,
}

impl OwnedGtid {
    /// Which one it is.
    pub fn gtid(&self) -> Gtid {
        self.gtid
    }

    /// Waits while another session than that of `connection` owns `gtid`. `ended` is asked several times a second whether
    /// the caller is to end.
    pub(crate) fn claim(shared: &Arc<Shared>, gtid: Gtid, connection: u64, ended: &dyn Fn() -> bool) -> GtidClaim {
        let mut claim = GtidClaim::Ended;
        shared.gtid_waiters.wait(None, ended, || {
            shared.given_gtids.change_owners(|given| {
                if given.owned.contains_key(&gtid) {
                    return false;
                }
                claim = if given.ordered.contains(gtid) || given.adding.contains(gtid) {
                    GtidClaim::Executed
                } else {
                    given.owned.insert(gtid, connection);
                    GtidClaim::Owned(OwnedGtid { shared: shared.clone(), gtid })
                };
                true
            })
        });
        claim
    }
}

impl Drop for OwnedGtid {
    fn drop(&mut self) {
        self.shared.given_gtids.change_owners(|given| given.owned.remove(&self.gtid));
        self.shared.gtid_waiters.wake();
    }
}

impl std::fmt::Debug for OwnedGtid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OwnedGtid").field(&self.gtid).finish()
    }
}

#[cfg(test)]
mod tests;
