//! COM_QUERY, and how every statement ends: its commit and its answer.

use cohort_sql::SqlError;
use cohort_sql::error::ER_PARSE_ERROR;
use cohort_sql::parse::split_statement;
use cohort_sql::session::{Outcome, StatementResult};
use cohort_txn::Transaction;

use super::{Next, Session};
use crate::protocol::reply::OkFields;
use crate::session::connection::OutputMark;
use crate::session::errors::commit_error;
use crate::session::results::{ResultWriter, RowForm};
use crate::status::{KindIndex, count};

/// How a statement went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ran {
    Succeeded,
    Failed,
    /// It succeeded, and the connection is to be closed.
    Release,
}

/// Ends the process when a panic passes: the commit path has no way back in the middle.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

impl Session {
    pub(super) fn query(&mut self, sql: &[u8]) -> Next {
        let mut rest = sql;
        loop {
            let (statement, following) = match rest.contains(&b';') {
                true => split_statement(rest, self.state.sql_mode),
                false => (rest, &rest[rest.len()..]),
            };
            if !following.is_empty() && !self.multi_statements {
                let near = String::from_utf8_lossy(&following[..following.len().min(80)]).into_owned();
                self.output.error(&SqlError::new(ER_PARSE_ERROR, &[&near, &1]));
                return Next::Command;
            }
            match self.run_text(statement, !following.is_empty()) {
                Ran::Succeeded if !following.is_empty() => rest = following,
                Ran::Succeeded | Ran::Failed => return Next::Command,
                Ran::Release => return Next::Close,
            }
            // However many statements there are, their answers take no more room than one's.
            if self.output.pending().len() >= self.flush_at && self.send().is_err() {
                return Next::Close;
            }
        }
    }

    fn run_text(&mut self, sql: &[u8], more: bool) -> Ran {
        let sql = &*self.state.client.charset().decode_statement(sql);
        self.environment.process.begin("Query", "executing", sql);
        self.environment.audit_statement(&self.state, "statement", sql);
        self.environment.tally.statement(KindIndex::of_statement(sql));
        if let Err(error) = self.environment.begin_query() {
            self.output.error(&error);
            return Ran::Failed;
        }
        let flags = self.status_flags(more);
        let start = self.output.mark();
        let mut sink = ResultWriter::new(&mut self.output, &mut self.types, RowForm::Text, flags, self.flush_at);
        let outcome = self.server.database.execute(&mut self.state, &self.environment, sql, &mut sink);
        self.finish(outcome, start, more)
    }

    /// Commits what a statement left to commit, and answers. An error takes the place of a result that
    /// began at `start`, or follows what has been sent of it.
    pub(super) fn finish(&mut self, outcome: Result<Outcome, SqlError>, start: OutputMark, more: bool) -> Ran {
        self.output.results = self.state.results;
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                self.note_database();
                self.output.undo(start);
                self.output.error(&error);
                return Ran::Failed;
            }
        };
        let after = if outcome.release { Ran::Release } else { Ran::Succeeded };
        match (outcome.result, outcome.commit) {
            (StatementResult::Done { affected, last_insert_id, info }, None) => {
                self.put_ok_with(affected, last_insert_id, &info, more);
            }
            (StatementResult::Done { affected, last_insert_id, info }, Some(transaction)) => {
                // Packets of earlier statements, a connection that ends here, and an OK with a GTID go the slow way.
                if self.output.pending().is_empty() && !more && !outcome.release && !self.reports_gtids() {
                    self.put_ok_with(affected, last_insert_id, &info, more);
                    return self.commit_with_reply(transaction, start);
                }
                if let Err(error) = self.commit_and_wait(transaction) {
                    self.output.error(&error);
                    return Ran::Failed;
                }
                self.put_ok_with(affected, last_insert_id, &info, more);
            }
            (StatementResult::Rows, commit) => {
                if let Some(transaction) = commit
                    && let Err(error) = self.commit_and_wait(transaction)
                {
                    self.output.undo(start);
                    self.output.error(&error);
                    return Ran::Failed;
                }
                let fields = OkFields {
                    status: self.status_flags(more),
                    warnings: self.state.warning_count(),
                    ..OkFields::default()
                };
                self.output.end_of_rows(&fields);
            }
        }
        after
    }

    /// Gives the OK after `start` in the output to the commit.
    fn commit_with_reply(&mut self, transaction: Transaction, start: OutputMark) -> Ran {
        let Some(reply) = self.handover.reply(self.output.pending()) else {
            // Longer than a reply may be: an info text or state changes of unusual length.
            return match self.commit_and_wait(transaction) {
                Ok(()) => Ran::Succeeded,
                Err(error) => {
                    self.output.undo(start);
                    self.output.error(&error);
                    Ran::Failed
                }
            };
        };
        self.output.give_away();
        count(&self.server.counters.handed_over);
        let _guard = AbortOnPanic;
        self.server.store().commit(transaction, reply);
        Ran::Succeeded
    }

    pub(super) fn commit_and_wait(&self, transaction: Transaction) -> Result<(), SqlError> {
        self.environment.process.set_state("waiting for commit");
        let _guard = AbortOnPanic;
        let committed = self.server.store().commit_and_wait(transaction);
        committed.map(|committed| self.state.note_committed(&committed)).map_err(|error| commit_error(&error))
    }
}
