//! The rows that a session's transaction has changed so far, for the statistics of their tables.
//!
//! They follow the transaction: what a failed statement or a rollback to a savepoint takes back is taken back here
//! ([`RowCounts::back_to`]), and what XA prepares is kept until that is decided ([`PreparedCounts`]).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use cohort_binlog::XaId;
use cohort_io::sync::Mutex;

use crate::catalog::table::{Counters, Table};
use crate::statistics::RowChanges;

#[derive(Default)]
pub(crate) struct RowCounts {
    counted: RefCell<Counted>,
    /// Where in it what was counted since the last mark begins.
    since: Cell<usize>,
}

/// Changes of tables; a table may come once for each mark.
type Counted = Vec<(Arc<Counters>, RowChanges)>;

/// How far counting had come.
#[derive(Clone, Copy)]
pub(crate) struct CountMark {
    at: usize,
    /// The mark before.
    since: usize,
}

impl RowCounts {
    /// Counts a change of a table.
    pub(crate) fn count(&self, table: &Table, count: impl FnOnce(&mut RowChanges)) {
        self.changes_of(&table.counters, count);
    }

    fn changes_of(&self, of: &Arc<Counters>, count: impl FnOnce(&mut RowChanges)) {
        let mut counted = self.counted.borrow_mut();
        let since = self.since.get();
        let found = counted[since..].iter().position(|(counters, _)| Arc::ptr_eq(counters, of));
        let at = found.map_or_else(
            || {
                counted.push((of.clone(), RowChanges::default()));
                counted.len() - 1
            },
            |found| since + found,
        );
        count(&mut counted[at].1);
    }

    /// Marks where a statement begins, or a savepoint is.
    pub(crate) fn mark(&self) -> CountMark {
        let mark = CountMark { at: self.counted.borrow().len(), since: self.since.get() };
        self.since.set(mark.at);
        mark
    }

    /// Takes back what was counted since.
    pub(crate) fn back_to(&self, mark: CountMark) {
        self.counted.borrow_mut().truncate(mark.at);
        self.since.set(mark.at);
    }

    /// Nobody will go back to the last mark.
    pub(crate) fn drop_mark(&self, mark: CountMark) {
        self.since.set(mark.since);
        if mark.at > mark.since {
            let later = self.counted.borrow_mut().split_off(mark.at);
            later.into_iter().for_each(|(of, changed)| self.changes_of(&of, |known| known.add(changed)));
        }
    }

    /// The transaction is to be committed.
    pub(crate) fn apply(&self) {
        apply(self.take());
    }

    /// Nothing has come of it.
    pub(crate) fn forget(&self) {
        self.counted.borrow_mut().clear();
        self.since.set(0);
    }

    fn take(&self) -> Counted {
        self.since.set(0);
        self.counted.take()
    }
}

fn apply(counted: Counted) {
    counted.into_iter().for_each(|(counters, changed)| counters.statistics.add(changed));
}

/// What prepared XA transactions have changed, by their names. A restart forgets it.
#[derive(Default)]
pub(crate) struct PreparedCounts(Mutex<HashMap<XaId, Counted>>);

impl PreparedCounts {
    /// Runs what prepares the session's transaction; if that fails, nothing has come of it.
    pub(crate) fn prepare<E>(
        &self,
        xid: &XaId,
        counts: &RowCounts,
        prepare: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // Once it is prepared, anybody may decide it.
        self.0.lock().insert(xid.clone(), counts.take());
        prepare().inspect_err(|_| drop(self.0.lock().remove(xid)))
    }

    /// Runs what decides a prepared transaction; if that fails, it is still prepared.
    pub(crate) fn decide<E>(&self, xid: &XaId, commit: bool, decide: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // Once it is decided, anybody may use its name.
        let counted = self.0.lock().remove(xid);
        let decided = decide();
        match counted {
            Some(counted) if decided.is_err() => drop(self.0.lock().insert(xid.clone(), counted)),
            Some(counted) if commit => apply(counted),
            _ => {}
        }
        decided
    }
}
