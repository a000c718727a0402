//! A walk over a key range for a statement that locks what it finds.
//!
//! A [`Scan`] shows one moment. A locking statement wants what is there when it has its locks: keys that were
//! committed since, and none that others may still insert or take back.
//!
//! Invariants
//! 1. Where ranges are locked, everything between the walk's start and the entry given last is locked against
//!    inserts, and the walk has given every entry in it that is ordered, or that the transaction wrote before the walk
//!    began. The key of that entry follows with the next step: until the caller has the lock of its row, whoever has
//!    that may still delete the row and insert it again. A caller that gives the lock up has the key
//!    [covered](LockingScan::cover) first.
//! 2. Before an entry is passed over for not being there, the claims of other transactions on keys up to the next
//!    one are waited for (or passed over where the caller asks for that).
//! 3. Keys are given in order, each at most once, whatever happens meanwhile.
//! 4. The value of an entry is the newest of its key where [`LockingScan::is_newest`] says so: own changes aside, nobody
//!    who had the key's exclusive lock has ended since the view was opened.
//!
//! Not here: rows, and their locks, which the caller takes entry by entry. An entry may be gone when it has them.

use cohort_engine::{Direction, EngineId, Entry, KeyRange, ReadError, next_key};

use crate::locks::{Granted, LockError, LockMode};
use crate::scan::Scan;
use crate::transaction::{Read, Transaction};

/// What a walk does where another transaction is about to insert a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstructed {
    /// It waits for the outcome.
    Wait,
    /// It gives [`LockingScanError::WouldWait`] (NOWAIT).
    Refuse,
    /// It goes on without the key (SKIP LOCKED, semi-consistent reads).
    PassOver,
}

/// Why a walk could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LockingScanError {
    /// An engine could not read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A wait ended without the lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// It would have had to wait, and may not.
    #[error("a lock is held by another transaction")]
    WouldWait,
}

/// A scan that locks the rows it returns, and the ranges between them.
#[derive(Debug)]
pub struct LockingScan {
    engine: EngineId,
    /// What is left; the bound that is walked away from moves.
    range: KeyRange,
    /// The bound of what is locked, on the side of what is left. The key of the entry given last may lie between both.
    locked: Vec<u8>,
    direction: Direction,
    mode: LockMode,
    obstructed: Obstructed,
    scan: Option<Scan>,
    /// [`crate::locks::RangeLook::ended`] before `scan` was opened.
    opened_at: u64,
    /// [`Transaction::ends`] before `scan` was opened.
    read_at: u64,
    /// `scan` was opened when the range up to this bound was locked.
    secured: Option<Vec<u8>>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl LockingScan {
    /// Begins a walk. `mode` is that of the locks by which it waits for others' inserts.
    pub fn new(
        engine: EngineId,
        range: KeyRange,
        direction: Direction,
        mode: LockMode,
        obstructed: Obstructed,
    ) -> LockingScan {
        let locked = match direction {
            Direction::Forward => range.lower.clone(),
            Direction::Reverse => range.upper.clone(),
        };
        LockingScan {
            engine,
            range,
            locked,
            direction,
            mode,
            obstructed,
            scan: None,
            opened_at: 0,
            read_at: 0,
            secured: None,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// The next entry, or `None` after the last one. After an error the walk is over.
    pub fn next(&mut self, transaction: &mut Transaction) -> Result<Option<Entry<'_>>, LockingScanError> {
        loop {
            if self.range.lower >= self.range.upper {
                return Ok(None);
            }
            let there = self.peek(transaction)?;
            // With an entry, up to its key; without one, all that is left.
            let far = match (there, self.direction) {
                (true, Direction::Forward) => self.key.clone(),
                (true, Direction::Reverse) => next_key(&self.key),
                (false, Direction::Forward) => self.range.upper.clone(),
                (false, Direction::Reverse) => self.range.lower.clone(),
            };
            if !self.secure(&far, transaction)? {
                self.scan = None;
                continue;
            }
            self.locked = far;
            match self.direction {
                Direction::Forward if there => self.range.lower = next_key(&self.key),
                Direction::Forward => self.range.lower.clone_from(&self.range.upper),
                Direction::Reverse if there => self.range.upper.clone_from(&self.key),
                Direction::Reverse => self.range.upper.clone_from(&self.range.lower),
            }
            if !transaction.locks_ranges() {
                // The caller may give the row's lock up: what others do to the key then is none of the walk's business.
                self.leave_key();
            }
            return Ok(there.then_some(Entry { key: &self.key, value: &self.value }));
        }
    }

    /// Locks the key of the entry given last against inserts. For a caller that is about to give up the lock of its row.
    pub fn cover(&mut self, transaction: &mut Transaction) {
        let (lower, upper) = match self.direction {
            Direction::Forward => (&self.locked, &self.range.lower),
            Direction::Reverse => (&self.range.upper, &self.locked),
        };
        // Others could claim the key only with the lock of its row.
        transaction.look(self.engine, lower, upper, self.direction, self.obstructed);
        self.leave_key();
    }

    /// Whether the entry given last still is what its key has, now that the caller was `granted` the lock of that key.
    pub fn is_newest(&self, granted: &Granted, transaction: &Transaction) -> Result<bool, ReadError> {
        Ok(granted.changed <= self.read_at && !transaction.has_changed(self.engine, &self.key)?)
    }

    /// The value of the entry given last.
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    fn leave_key(&mut self) {
        self.locked.clone_from(match self.direction {
            Direction::Forward => &self.range.lower,
            Direction::Reverse => &self.range.upper,
        });
    }

    /// Has the rest of the walk read anew: after a wait what was read ahead is old.
    pub fn look_again(&mut self) {
        self.scan = None;
    }

    /// Reads the next entry into `key` and `value`; false where the view has no more.
    fn peek(&mut self, transaction: &mut Transaction) -> Result<bool, ReadError> {
        let scan = match &mut self.scan {
            Some(scan) => scan,
            None => {
                self.opened_at = transaction.ended_claims(self.engine, &self.range.lower);
                self.read_at = transaction.ends();
                self.scan.insert(transaction.scan(self.engine, Read::Current, &self.range, self.direction)?)
            }
        };
        let Some(entry) = scan.next()? else { return Ok(false) };
        self.key.clear();
        self.key.extend_from_slice(entry.key);
        self.value.clear();
        self.value.extend_from_slice(entry.value);
        Ok(true)
    }

    /// Locks the range up to `far`; false when the view may lack an entry of it and is to be opened anew.
    fn secure(&mut self, far: &[u8], transaction: &mut Transaction) -> Result<bool, LockingScanError> {
        let secured = self.secured.as_deref().is_some_and(|secured| match self.direction {
            Direction::Forward => far <= secured,
            Direction::Reverse => far >= secured,
        });
        if secured {
            return Ok(true);
        }
        let (lower, upper) = match self.direction {
            Direction::Forward => (&self.locked[..], far),
            Direction::Reverse => (far, &self.locked[..]),
        };
        let look = transaction.look(self.engine, lower, upper, self.direction, self.obstructed);
        if let Some(claimed) = look.claim {
            match self.obstructed {
                Obstructed::PassOver => {}
                Obstructed::Refuse => return Err(LockingScanError::WouldWait),
                Obstructed::Wait => {
                    // Only the outcome matters: the row is locked when it is found.
                    let granted = transaction.lock_name(&claimed.row, self.mode)?;
                    transaction.give_name_back(&claimed.row, granted);
                    return Ok(false);
                }
            }
        }
        if transaction.locks_ranges() && look.ended != self.opened_at {
            self.secured = Some(far.to_vec());
            return Ok(false);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
