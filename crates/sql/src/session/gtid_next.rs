//! `gtid_next`: the GTID of the session's next transaction, and what statements may do while it is chosen.
//!
//! ```text
//! automatic ── SET 'uuid:n' ──▸ owned ── COMMIT, ROLLBACK ──▸ used ── SET ──▸ …
//!                          └──▸ executed ── SET ──▸ …
//! ```
//!
//! With `gtid_mode=OFF` it is automatic or anonymous, which comes to the same: no transaction has a GTID.
//!
//! Nobody else can have an owned GTID; a transaction takes it along when it is handed to the commit. If the chosen GTID was
//! executed before, every change is skipped without a word. After a used one nothing can be changed before another SET
//! (error 1837). Statements that change nothing always run.
//!
//! Not here: the GTID's place in the order, and waiting for it ([`cohort_txn::Store::claim_gtid`]).

use std::sync::Arc;
use std::time::Instant;

use cohort_binlog::Gtid;
use cohort_txn::{GtidClaim, GtidMode, OwnedGtid, Store, Transaction};

use super::SessionState;
use crate::error::{
    ER_CANT_DO_IMPLICIT_COMMIT_IN_TRX_WHEN_GTID_NEXT_IS_SET, ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_IS_ON,
    ER_CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_IS_OFF, ER_CANT_SET_GTID_NEXT_WHEN_OWNING_GTID,
    ER_GTID_NEXT_TYPE_UNDEFINED_GTID, ER_LOCK_WAIT_TIMEOUT, ER_PARSE_ERROR, ER_QUERY_INTERRUPTED,
    ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION, ER_WRONG_VALUE_FOR_VAR, SqlError,
};

/// What the session's next transaction has for a GTID.
#[derive(Debug, Default)]
pub(crate) enum GtidNext {
    /// The lowest free number of this server, if transactions have GTIDs.
    #[default]
    Automatic,
    /// None.
    Anonymous,
    /// The one chosen, which is the session's until its transaction ends.
    Owned(OwnedGtid),
    /// The one chosen, which an earlier transaction had.
    Executed(Gtid),
    /// None: the one chosen has had its transaction.
    Used(Gtid),
}

/// Whether a statement that changes something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It does.
    Run,
    /// Its transaction was executed before: it succeeds and does nothing.
    Skip,
}

impl SessionState {
    /// `@@gtid_next`
    pub fn gtid_next(&self) -> String {
        match &*self.gtid_next.borrow() {
            GtidNext::Automatic => "AUTOMATIC".to_owned(),
            GtidNext::Anonymous => "ANONYMOUS".to_owned(),
            GtidNext::Owned(owned) => owned.gtid().to_string(),
            GtidNext::Executed(gtid) | GtidNext::Used(gtid) => gtid.to_string(),
        }
    }

    /// `@@session.gtid_owned`
    pub fn gtid_owned(&self) -> String {
        self.owned_gtid().map(|gtid| gtid.to_string()).unwrap_or_default()
    }

    fn owned_gtid(&self) -> Option<Gtid> {
        if let GtidNext::Owned(owned) = &*self.gtid_next.borrow() { Some(owned.gtid()) } else { None }
    }

    /// Whether the next commit of the session, even of nothing, takes a chosen GTID.
    pub(crate) fn owns_gtid(&self) -> bool {
        self.owned_gtid().is_some()
    }

    /// `SET gtid_next`, by the session of `connection`. Waits while another session owns the GTID: 1205 after
    /// `lock_wait_timeout`, 1317 if it is killed. 1766 within a transaction, 1231 if the text is no GTID, 1781 without a
    /// binlog or with `gtid_mode=OFF`, 1782 for ANONYMOUS otherwise, 1790 while a GTID is owned.
    pub fn choose_gtid(&mut self, store: &Arc<Store>, connection: u64, text: &str) -> Result<(), SqlError> {
        if self.in_transaction() {
            return Err(SqlError::new(ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION, &[&"gtid_next"]));
        }
        if let Some(owned) = self.owned_gtid() {
            return Err(SqlError::new(ER_CANT_SET_GTID_NEXT_WHEN_OWNING_GTID, &[&owned]));
        }
        let next = if text.eq_ignore_ascii_case("AUTOMATIC") {
            GtidNext::Automatic
        } else if text.eq_ignore_ascii_case("ANONYMOUS") {
            if store.gtid_mode() == GtidMode::On {
                return Err(SqlError::new(ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_IS_ON, &[]));
            }
            GtidNext::Anonymous
        } else {
            let gtid = text.parse().map_err(|_| SqlError::new(ER_WRONG_VALUE_FOR_VAR, &[&"gtid_next", &text]))?;
            self.claim_gtid(store, connection, gtid)?
        };
        self.gtid_next.replace(next);
        Ok(())
    }

    fn claim_gtid(&self, store: &Arc<Store>, connection: u64, gtid: Gtid) -> Result<GtidNext, SqlError> {
        if !store.log_bin() || store.gtid_mode() == GtidMode::Off {
            return Err(SqlError::new(ER_CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_IS_OFF, &[]));
        }
        let deadline = Instant::now().checked_add(self.table_lock_timeout);
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match store.claim_gtid(gtid, connection, &|| self.interrupt.is_killed() || is_late()) {
            GtidClaim::Owned(owned) => Ok(GtidNext::Owned(owned)),
            GtidClaim::Executed => Ok(GtidNext::Executed(gtid)),
            GtidClaim::Ended if self.interrupt.is_killed() => Err(SqlError::new(ER_QUERY_INTERRUPTED, &[])),
            GtidClaim::Ended => Err(SqlError::new(ER_LOCK_WAIT_TIMEOUT, &[])),
        }
    }

    /// Whether a statement that changes something runs: 1837 after a GTID that was used, 1235 if the change of an owned
    /// one is not to be logged.
    pub(crate) fn admit_change(&self) -> Result<Admission, SqlError> {
        match &*self.gtid_next.borrow() {
            GtidNext::Automatic | GtidNext::Anonymous => Ok(Admission::Run),
            GtidNext::Owned(_) if !self.log_to_binlog => Err(not_logged()),
            GtidNext::Owned(_) => Ok(Admission::Run),
            GtidNext::Executed(_) => Ok(Admission::Skip),
            GtidNext::Used(gtid) => Err(SqlError::new(ER_GTID_NEXT_TYPE_UNDEFINED_GTID, &[gtid])),
        }
    }

    /// Error 1778 for a statement that would commit the open transaction in passing: the GTID is for all of it.
    pub(crate) fn refuse_implicit_commit(&self) -> Result<(), SqlError> {
        match self.owned_gtid().filter(|_| self.in_transaction()) {
            Some(gtid) => Err(SqlError::new(ER_CANT_DO_IMPLICIT_COMMIT_IN_TRX_WHEN_GTID_NEXT_IS_SET, &[&gtid])),
            None => Ok(()),
        }
    }

    /// Gives the owned GTID, if there is one, to a transaction that is about to be committed. 1235 if that is not logged,
    /// which is to be rolled back.
    pub(crate) fn give_gtid(&self, transaction: &mut Transaction) -> Result<(), SqlError> {
        let Some(gtid) = self.owned_gtid() else { return Ok(()) };
        let before = self.gtid_next.replace(GtidNext::Used(gtid));
        if !transaction.is_logged() {
            return Err(not_logged());
        }
        if let GtidNext::Owned(owned) = before {
            transaction.set_gtid(owned);
        }
        Ok(())
    }

    /// A statement has failed: unless it was part of a transaction that goes on, it was the transaction of the owned GTID.
    pub(crate) fn note_failure_under_gtid(&self, error: &SqlError) {
        let kept = error.is(ER_PARSE_ERROR) || error.is(ER_CANT_SET_GTID_NEXT_WHEN_OWNING_GTID);
        if !kept && !self.in_transaction() {
            self.release_gtid();
        }
    }

    /// The transaction of the owned GTID, if there is one, is rolled back: others may have it.
    pub(crate) fn release_gtid(&self) {
        if let Some(gtid) = self.owned_gtid() {
            self.gtid_next.replace(GtidNext::Used(gtid));
        }
    }
}

fn not_logged() -> SqlError {
    SqlError::unsupported("gtid_next for a transaction with sql_log_bin=0")
}
