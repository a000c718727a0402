//! The XA statements: a session's XA transaction and its states, and decisions about prepared ones.
//!
//! ```text
//! (none) ── XA START ──▸ ACTIVE ── XA END ──▸ IDLE ── XA PREPARE ──▸ prepared, no session's any more
//!                          │                   │ XA COMMIT ONE PHASE ──▸ committed
//!                          └─ deadlock ──▸ ROLLBACK ONLY ── XA ROLLBACK ──▸ (none)
//! ```
//!
//! What a state does not allow is refused with MySQL's errors. A prepared transaction leaves its session
//! at once (`xa_detach_on_prepare`): any session may decide it, and this one is free.

use cohort_binlog::XaId;
use cohort_txn::{CommitError, MetadataName, Transaction, XaError};

use super::transactions::may_commit;
use super::{Database, query_context};
use crate::ast::{XaJoin, XaStatement};
use crate::collation::Collation;
use crate::error::{
    ER_LOCK_DEADLOCK, ER_XA_RBDEADLOCK, ER_XA_RBROLLBACK, ER_XAER_DUPID, ER_XAER_INVAL, ER_XAER_NOTA, ER_XAER_OUTSIDE,
    ER_XAER_RMERR, ER_XAER_RMFAIL, SqlError,
};
use crate::exec::failure::commit_failed;
use crate::session::gtid_next::Admission;
use crate::session::xa::{SessionXa, XaState};
use crate::session::{DiagnosticLevel, Environment, Outcome, ResultSink, SessionState};
use crate::types::ResultType;
use crate::utility::show::{Shown, filtered};
use crate::value::Value;

fn wrong_state(state: &str) -> SqlError {
    SqlError::new(ER_XAER_RMFAIL, &[&state])
}

/// An error of the session's state, 1399, if it has an XA transaction: for what begins or ends ordinary
/// ones.
pub(super) fn outside_xa(session: &SessionState) -> Result<(), SqlError> {
    session.xa.as_ref().map_or(Ok(()), |xa| Err(wrong_state(xa.state.name())))
}

/// An error of the session's state, 1399, if it has an XA transaction that takes no more work.
pub(super) fn may_work(session: &SessionState) -> Result<(), SqlError> {
    match &session.xa {
        Some(xa) if xa.state != XaState::Active => Err(wrong_state(xa.state.name())),
        _ => Ok(()),
    }
}

impl Database {
    pub(crate) fn xa(
        &self,
        statement: &XaStatement,
        session: &mut SessionState,
        env: &dyn Environment,
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        if !matches!(statement, XaStatement::Recover { .. }) {
            if session.admit_change()? == Admission::Skip {
                return Ok(Outcome::ok());
            }
            if session.owns_gtid() {
                return Err(SqlError::unsupported("gtid_next for an XA transaction"));
            }
        }
        match statement {
            XaStatement::Start { xid, join } => self.xa_start(xid, *join, session),
            XaStatement::End { xid, suspend } => xa_end(xid, *suspend, session),
            XaStatement::Prepare(xid) => self.xa_prepare(xid, session),
            XaStatement::Commit { xid, one_phase } => self.xa_commit(xid, *one_phase, session, env),
            XaStatement::Rollback(xid) => self.xa_rollback(xid, session, env),
            XaStatement::Recover { convert } => {
                let shown = recovered(&self.store.prepared_xa(), *convert);
                filtered(shown, None, &[], session, env, sink).map(|_| Outcome::rows())
            }
        }
    }

    fn xa_start(&self, xid: &XaId, join: Option<XaJoin>, session: &mut SessionState) -> Result<Outcome, SqlError> {
        match (&mut session.xa, join) {
            (Some(xa), Some(XaJoin::Resume)) if xa.state == XaState::Idle => {
                if !xa.is(xid) {
                    return Err(SqlError::new(ER_XAER_NOTA, &[]));
                }
                xa.state = XaState::Active;
                return Ok(Outcome::ok());
            }
            (_, Some(_)) => return Err(SqlError::new(ER_XAER_INVAL, &[])),
            (Some(xa), None) => return Err(wrong_state(xa.state.name())),
            (None, None) => {}
        }
        if session.in_transaction() || !session.locked_tables.is_empty() {
            return Err(SqlError::new(ER_XAER_OUTSIDE, &[]));
        }
        let name = self.store.start_xa(xid).ok_or_else(|| SqlError::new(ER_XAER_DUPID, &[]))?;
        let mut open = self.new_transaction(session, true, None);
        open.transaction.events().start_xa(xid.clone());
        session.transaction = Some(open);
        session.xa = Some(SessionXa { name, state: XaState::Active });
        Ok(Outcome::ok())
    }

    fn xa_prepare(&self, xid: &XaId, session: &mut SessionState) -> Result<Outcome, SqlError> {
        match &session.xa {
            Some(xa) if xa.state != XaState::Idle => return Err(wrong_state(xa.state.name())),
            Some(xa) if !xa.is(xid) => return Err(SqlError::new(ER_XAER_NOTA, &[])),
            Some(_) => {}
            None => return Err(wrong_state(NO_TRANSACTION)),
        }
        wait_for_commits(session)?;
        session.interrupt_ref().watch(None);
        let (Some(xa), Some(open)) = (session.xa.take(), session.transaction.take()) else {
            return Err(SqlError::internal("an idle XA transaction is not there"));
        };
        let prepare = || self.store.prepare_xa(xa.name, open.transaction);
        let prepared = self.prepared_counts.prepare(xid, &session.row_counts, prepare);
        prepared.map(|()| Outcome::ok()).map_err(|error| {
            session.push_diagnostic(DiagnosticLevel::Warning, commit_failed(&error));
            match error {
                CommitError::Unknown(_) => SqlError::new(ER_XAER_RMERR, &[]),
                _ => SqlError::new(ER_XA_RBROLLBACK, &[]),
            }
        })
    }

    fn xa_commit(
        &self,
        xid: &XaId,
        one_phase: bool,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Outcome, SqlError> {
        let state = match &session.xa {
            Some(xa) if xa.is(xid) => xa.state,
            _ => return self.decide(xid, true, session, env),
        };
        match state {
            XaState::Idle if one_phase => {
                wait_for_commits(session)?;
                let open = session.transaction.take();
                session.row_counts.apply();
                session.rollback();
                let commit = open.map(|open| {
                    let mut transaction = open.transaction;
                    transaction.events().leave_xa();
                    transaction
                });
                Ok(Outcome { commit: commit.filter(Transaction::has_writes), ..Outcome::ok() })
            }
            XaState::Lost | XaState::RollbackOnly => {
                session.rollback();
                Err(SqlError::new(ER_XA_RBDEADLOCK, &[]))
            }
            _ => Err(wrong_state(state.name())),
        }
    }

    fn xa_rollback(&self, xid: &XaId, session: &mut SessionState, env: &dyn Environment) -> Result<Outcome, SqlError> {
        match &session.xa {
            Some(xa) if xa.is(xid) => match xa.state {
                XaState::Active => Err(wrong_state(xa.state.name())),
                _ => {
                    session.rollback();
                    Ok(Outcome::ok())
                }
            },
            _ => self.decide(xid, false, session, env),
        }
    }

    /// Decides a prepared transaction.
    fn decide(
        &self,
        xid: &XaId,
        commit: bool,
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Outcome, SqlError> {
        outside_xa(session)?;
        if session.in_transaction() {
            return Err(wrong_state(NO_TRANSACTION));
        }
        let committing = session.intend(&[MetadataName::Commit])?;
        let now_us = session.now_us();
        let decide = || {
            self.store.decide_xa(xid, commit, |events| {
                events.set_timestamp(u32::try_from(now_us / 1_000_000).unwrap_or(u32::MAX));
                events.set_context(&query_context(session, env), "");
            })
        };
        let decided = self.prepared_counts.decide(xid, commit, decide);
        session.locks.end_change(committing);
        decided.map(|()| Outcome::ok()).map_err(|error| match error {
            XaError::Unknown(_) => SqlError::new(ER_XAER_NOTA, &[]),
            XaError::Commit(error @ (CommitError::NoSpace(_) | CommitError::ShuttingDown)) => commit_failed(&error),
            XaError::Commit(error) => {
                session.push_diagnostic(DiagnosticLevel::Warning, commit_failed(&error));
                SqlError::new(ER_XAER_RMERR, &[])
            }
        })
    }
}

/// Waits while somebody holds the server's commits up; 1290 if the server takes no changes. After an error the transaction is
/// still idle, but for a deadlock.
fn wait_for_commits(session: &mut SessionState) -> Result<(), SqlError> {
    let Some(mut open) = session.transaction.take() else { return Ok(()) };
    let waited = may_commit(&mut open.transaction, session);
    let waited = waited.and_then(|()| if open.transaction.has_writes() { session.may_change_server() } else { Ok(()) });
    match &waited {
        Err(error) if error.is(ER_LOCK_DEADLOCK) => {
            session.interrupt_ref().watch(None);
            session.xa.iter_mut().for_each(|xa| xa.state = XaState::Lost);
        }
        _ => session.transaction = Some(open),
    }
    waited
}

/// The name of the state without an XA transaction.
const NO_TRANSACTION: &str = "NON-EXISTING";

fn xa_end(xid: &XaId, suspend: bool, session: &mut SessionState) -> Result<Outcome, SqlError> {
    if suspend {
        return Err(SqlError::new(ER_XAER_INVAL, &[]));
    }
    let Some(xa) = &mut session.xa else { return Err(wrong_state(NO_TRANSACTION)) };
    match xa.state {
        XaState::Active | XaState::Lost if !xa.is(xid) => Err(SqlError::new(ER_XAER_NOTA, &[])),
        XaState::Active => {
            xa.state = XaState::Idle;
            Ok(Outcome::ok())
        }
        XaState::Lost => {
            xa.state = XaState::RollbackOnly;
            Err(SqlError::new(ER_XA_RBDEADLOCK, &[]))
        }
        state => Err(wrong_state(state.name())),
    }
}

/// The result of XA RECOVER.
fn recovered(names: &[XaId], convert: bool) -> Shown {
    let number = || ResultType::integer(11).nullable(false);
    // 64 bytes of each part; as hexadecimal digits after 0x.
    let data = ResultType::string(258, if convert { Collation::DEFAULT } else { Collation::Binary }).nullable(false);
    let columns = [("formatID", number()), ("gtrid_length", number()), ("bqual_length", number()), ("data", data)];
    let row = |xid: &XaId| {
        let data = [xid.gtrid(), xid.bqual()].concat();
        let data = match convert {
            true => Value::text(data.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02X}"))),
            false => Value::bytes(data),
        };
        let length = |part: &[u8]| Value::Int(part.len() as i64);
        vec![Value::Int(i64::from(xid.format_id())), length(xid.gtrid()), length(xid.bqual()), data]
    };
    Shown { columns: columns.map(|(name, of)| (name.to_owned(), of)).to_vec(), rows: names.iter().map(row).collect() }
}
