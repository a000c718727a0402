//! When a session's transaction begins and ends.

use cohort_txn::{Isolation, MetadataMode, MetadataName, Transaction};

use super::xa::{may_work, outside_xa};
use super::{Database, isolation_of};
use crate::ast::Completion;
use crate::error::{ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_SP_DOES_NOT_EXIST_SAVEPOINT, SqlError};
use crate::exec::failure::lock_failed;
use crate::session::gtid_next::Admission;
use crate::session::{NamedSavepoint, OpenTransaction, Outcome, SessionState, StatementResult};

impl Database {
    /// Takes the session's transaction, or begins one.
    pub(super) fn open_transaction(&self, session: &mut SessionState) -> Result<OpenTransaction, SqlError> {
        if let Some(mut open) = session.transaction.take() {
            open.transaction.set_lock_wait(session.row_lock_timeout);
            return Ok(open);
        }
        Ok(self.new_transaction(session, false, None))
    }

    pub(crate) fn new_transaction(
        &self,
        session: &mut SessionState,
        explicit: bool,
        read_only: Option<bool>,
    ) -> OpenTransaction {
        session.row_counts.forget();
        let mut transaction = session.begin(&self.store);
        transaction.set_isolation(isolation_of(session));
        transaction.set_lock_wait(session.row_lock_timeout);
        transaction.set_binlog(session.log_to_binlog);
        session.interrupt_ref().watch(Some(transaction.kill_handle()));
        let next_read_only = session.next_read_only.take();
        let read_only = read_only.or(next_read_only).unwrap_or(session.read_only);
        OpenTransaction { transaction, explicit, read_only, savepoints: Vec::new(), snapshot_at: None }
    }

    /// Ends a statement that went well: its transaction goes on, is handed out to be committed, or had
    /// nothing to commit.
    pub(super) fn end_statement(
        &self,
        mut open: OpenTransaction,
        result: StatementResult,
        session: &mut SessionState,
    ) -> Result<Outcome, SqlError> {
        if open.explicit || !session.autocommit {
            stay_open(&mut open);
            session.transaction = Some(open);
            return Ok(Outcome { result, commit: None, release: false });
        }
        // A query by itself is no transaction that a chosen GTID could be meant for.
        let is_query = result == StatementResult::Rows && !open.transaction.has_writes();
        let commit = if is_query { Ok(None) } else { to_commit(open, session) };
        session.interrupt_ref().watch(None);
        Ok(Outcome { result, commit: commit?, release: false })
    }

    /// Commits the open transaction before a statement that cannot be part of one; 1778 if a GTID was chosen for it.
    pub(crate) fn commit_open(&self, session: &mut SessionState) -> Result<(), SqlError> {
        session.refuse_implicit_commit()?;
        self.commit_now(session)
    }

    fn commit_now(&self, session: &mut SessionState) -> Result<(), SqlError> {
        outside_xa(session)?;
        match end(session)? {
            Some(transaction) => session.commit(&self.store, transaction),
            None => Ok(()),
        }
    }

    /// Begins a statement that cannot be part of a transaction and changes something (a schema, accounts): commits what
    /// is open, and with it what SET TRANSACTION said of the next transaction is over. 1792 in a session that only reads.
    pub(crate) fn commit_before_change(&self, session: &mut SessionState) -> Result<(), SqlError> {
        self.commit_open(session)?;
        session.next_isolation = None;
        session.next_read_only = None;
        may_write(session.read_only)
    }

    /// BEGIN commits what was open.
    pub(crate) fn begin(
        &self,
        consistent_snapshot: bool,
        read_only: Option<bool>,
        session: &mut SessionState,
    ) -> Result<Outcome, SqlError> {
        outside_xa(session)?;
        self.unlock_tables(session)?;
        let refusal = if read_only == Some(false) { session.may_change_server() } else { Ok(()) };
        if consistent_snapshot || refusal.is_err() {
            // The new snapshot must have in it what is committed here.
            self.commit_now(session)?;
        }
        refusal?;
        let commit = end(session)?;
        let mut open = self.new_transaction(session, true, read_only);
        if consistent_snapshot {
            let snapshot_at = open.transaction.pin_snapshot();
            // Under READ COMMITTED every statement has a snapshot of its own.
            open.snapshot_at = (open.transaction.isolation() > Isolation::ReadCommitted).then_some(snapshot_at);
        }
        session.transaction = Some(open);
        Ok(Outcome { commit, ..Outcome::ok() })
    }

    /// COMMIT
    pub(crate) fn commit(&self, completion: Completion, session: &mut SessionState) -> Result<Outcome, SqlError> {
        outside_xa(session)?;
        let read_only = session.transaction.as_ref().map(|open| open.read_only);
        let commit = match session.transaction {
            None if session.owns_gtid() => Some(self.nothing(session)?),
            _ => end(session)?,
        };
        self.complete(completion, read_only, session);
        Ok(Outcome { commit, release: completion.release, ..Outcome::ok() })
    }

    /// A transaction that changes nothing, to be committed for the session's GTID.
    fn nothing(&self, session: &SessionState) -> Result<Transaction, SqlError> {
        let mut transaction = session.begin(&self.store);
        transaction.set_binlog(session.log_to_binlog);
        committing(transaction, session)
    }

    /// Runs a statement that is a transaction of its own, changes of rows apart, as `gtid_next` has it: not at all, or
    /// under a GTID, which it uses up whatever it did.
    pub(crate) fn alone(
        &self,
        session: &mut SessionState,
        run: impl FnOnce(&mut SessionState) -> Result<Outcome, SqlError>,
    ) -> Result<Outcome, SqlError> {
        if session.admit_change()? == Admission::Skip {
            return Ok(Outcome::ok());
        }
        session.refuse_implicit_commit()?;
        let outcome = run(session);
        if outcome.is_ok() && session.owns_gtid() {
            // It was not logged, since there was nothing to do.
            session.commit(&self.store, self.nothing(session)?)?;
        }
        outcome
    }

    /// ROLLBACK
    pub(crate) fn rollback(&self, completion: Completion, session: &mut SessionState) -> Result<Outcome, SqlError> {
        outside_xa(session)?;
        let read_only = session.transaction.as_ref().map(|open| open.read_only);
        session.rollback();
        self.complete(completion, read_only, session);
        Ok(Outcome { release: completion.release, ..Outcome::ok() })
    }

    fn complete(&self, completion: Completion, read_only: Option<bool>, session: &mut SessionState) {
        if completion.chain {
            let open = self.new_transaction(session, true, read_only);
            session.transaction = Some(open);
        }
    }

    /// SAVEPOINT; a name that is taken moves. Outside of a transaction it marks nothing.
    pub(crate) fn savepoint(&self, name: &str, session: &mut SessionState) -> Result<Outcome, SqlError> {
        may_work(session)?;
        if session.autocommit && session.transaction.is_none() {
            return Ok(Outcome::ok());
        }
        let mut open = self.open_transaction(session)?;
        open.savepoints.retain(|known| !known.name.eq_ignore_ascii_case(name));
        let (name, point, counts) = (name.to_owned(), open.transaction.savepoint(), session.row_counts.mark());
        let metadata = open.transaction.metadata_count();
        open.savepoints.push(NamedSavepoint { name, point, counts, metadata });
        session.transaction = Some(open);
        Ok(Outcome::ok())
    }

    /// ROLLBACK TO; later savepoints are gone, the named one stays. A transaction that has locked no rows lets go of the
    /// tables that it used since: a dump in one transaction does so after each table.
    pub(crate) fn rollback_to(&self, name: &str, session: &mut SessionState) -> Result<Outcome, SqlError> {
        may_work(session)?;
        let (open, at) = find_savepoint(name, session)?;
        open.savepoints.truncate(at + 1);
        let NamedSavepoint { point, counts, metadata, .. } = &open.savepoints[at];
        open.transaction.rollback_to(point);
        if !open.transaction.locks_rows() {
            open.transaction.take_back_metadata(*metadata);
        }
        let counts = *counts;
        session.row_counts.back_to(counts);
        Ok(Outcome::ok())
    }

    /// RELEASE SAVEPOINT; later savepoints go with it.
    pub(crate) fn release_savepoint(&self, name: &str, session: &mut SessionState) -> Result<Outcome, SqlError> {
        may_work(session)?;
        let (open, at) = find_savepoint(name, session)?;
        open.savepoints.truncate(at);
        Ok(Outcome::ok())
    }

    /// Turning autocommit on commits what is open; within an XA transaction it is refused.
    pub(crate) fn after_set(&self, autocommit_before: bool, session: &mut SessionState) -> Result<Outcome, SqlError> {
        if !session.autocommit || autocommit_before {
            return Ok(Outcome::ok());
        }
        outside_xa(session)?;
        Ok(Outcome { commit: end(session)?, ..Outcome::ok() })
    }
}

fn find_savepoint<'s>(name: &str, session: &'s mut SessionState) -> Result<(&'s mut OpenTransaction, usize), SqlError> {
    let missing = || SqlError::new(ER_SP_DOES_NOT_EXIST_SAVEPOINT, &[&name]);
    let open = session.transaction.as_mut().ok_or_else(missing)?;
    let at = open.savepoints.iter().position(|known| known.name.eq_ignore_ascii_case(name)).ok_or_else(missing)?;
    Ok((open, at))
}

/// 1792 where a transaction or a session may only read.
pub(crate) fn may_write(read_only: bool) -> Result<(), SqlError> {
    if read_only { Err(SqlError::new(ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, &[])) } else { Ok(()) }
}

/// After a statement that failed and left nothing: its transaction goes on, if it is more than this statement.
pub(super) fn after_failure(mut open: OpenTransaction, session: &mut SessionState) {
    if open.explicit || !session.autocommit {
        stay_open(&mut open);
        session.transaction = Some(open);
    } else {
        session.interrupt_ref().watch(None);
    }
}

/// Ends a statement after which the transaction stays open.
fn stay_open(open: &mut OpenTransaction) {
    open.transaction.unlock_metadata(&MetadataName::Global, MetadataMode::IntentionExclusive);
    open.transaction.stay_open();
}

/// Ends the session's transaction; what it wrote is to be committed. After an error it is rolled back.
fn end(session: &mut SessionState) -> Result<Option<Transaction>, SqlError> {
    let ended = session.transaction.take().map_or(Ok(None), |open| to_commit(open, session));
    session.interrupt_ref().watch(None);
    ended
}

/// What there is to commit, once nobody holds the server's commits up.
fn to_commit(open: OpenTransaction, session: &SessionState) -> Result<Option<Transaction>, SqlError> {
    if !open.transaction.has_writes() && !session.owns_gtid() {
        return Ok(None);
    }
    let transaction = committing(open.transaction, session)?;
    session.row_counts.apply();
    Ok(Some(transaction))
}

/// A transaction that nobody holds up any more, with the GTID that was chosen for it.
fn committing(mut transaction: Transaction, session: &SessionState) -> Result<Transaction, SqlError> {
    may_commit(&mut transaction, session)?;
    if transaction.has_writes() {
        session.may_change_server()?;
    } else {
        transaction.events().set_timestamp(u32::try_from(session.now_us() / 1_000_000).unwrap_or(u32::MAX));
    }
    session.give_gtid(&mut transaction)?;
    Ok(transaction)
}

/// Waits while somebody holds the server's commits up. Until it has its place in the order, or ends, nobody does.
pub(super) fn may_commit(transaction: &mut Transaction, session: &SessionState) -> Result<(), SqlError> {
    let (mode, timeout) = (MetadataMode::IntentionExclusive, session.table_lock_timeout);
    transaction.lock_metadata(&MetadataName::Commit, mode, timeout).map(drop).map_err(lock_failed)
}
