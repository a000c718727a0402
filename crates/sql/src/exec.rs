//! Runs plans.
//!
//! Outline: [`run`] runs one plan in an open transaction. Rows are pulled from a
//! [`source::RowSource`] into slots, one row at a time, through [`locking`] where the statement locks them; [`select`] puts filter, grouping, sorting and
//! limits behind it, [`insert`] and [`update`] change rows through [`row_change`], which keeps indexes,
//! locks and binlog events together. [`key_range`] turns the terms of an access path into key ranges.
//! What is not planned runs in [`tree`].
//!
//! Not here: when a transaction begins and ends ([`crate::database`]).

pub(crate) mod context;
pub(crate) mod explain;
pub(crate) mod failure;
mod insert;
mod key_range;
mod limit;
mod locking;
mod row_change;
mod select;
pub(crate) mod show;
mod source;
pub(crate) mod tree;
mod update;

use cohort_txn::Transaction;

use crate::codec::RowOffsets;
use crate::error::{ER_QUERY_INTERRUPTED, ER_TRANS_CACHE_FULL, SqlError};
use crate::expr::EvalContext;
use crate::plan::{Plan, PlanKind};
use crate::session::{ResultSink, SessionState, StatementResult};
use crate::value::Value;
use context::Statement;

/// What a running statement works with.
pub(crate) struct Run<'a> {
    pub(crate) transaction: &'a mut Transaction,
    pub(crate) session: &'a SessionState,
    pub(crate) statement: &'a Statement<'a>,
    pub(crate) params: &'a [Value],
    /// How often the VALUES row of an INSERT is there, and with how many parameters each.
    pub(crate) rows: usize,
    pub(crate) row_params: usize,
    pub(crate) offsets: RowOffsets,
    /// A SELECT without a locking clause locks the rows it reads, shared.
    pub(crate) locks_reads: bool,
}

impl<'a> Run<'a> {
    /// What expressions see, with the statement's parameters.
    pub(crate) fn eval(&self) -> EvalContext<'a> {
        EvalContext { params: self.params, statement: self.statement }
    }

    /// Error 1197 if the transaction has become too long for the binlog, 4082 if the connection holds too much.
    pub(crate) fn check_transaction(&mut self) -> Result<(), SqlError> {
        if self.transaction.is_logged() && self.transaction.events().byte_len() > self.session.max_binlog_cache_size {
            return Err(SqlError::new(ER_TRANS_CACHE_FULL, &[]));
        }
        self.session.memory.hold_transaction(self.transaction.memory_bytes())
    }

    /// Error 1317 if the statement was killed.
    pub(crate) fn check_killed(&self) -> Result<(), SqlError> {
        if self.session.interrupt_ref().is_killed() {
            return Err(SqlError::new(ER_QUERY_INTERRUPTED, &[]));
        }
        Ok(())
    }
}

/// Runs a planned statement.
pub(crate) fn run(plan: &Plan, run: &mut Run<'_>, sink: &mut dyn ResultSink) -> Result<StatementResult, SqlError> {
    run.check_killed()?;
    match &plan.kind {
        PlanKind::Select(select) => {
            sink.columns(&plan.columns)?;
            let rows = select::run(select, run, &mut |row| sink.row(row))?;
            run.session.found_rows.set(rows);
            run.session.row_count.set(-1);
            Ok(StatementResult::Rows)
        }
        PlanKind::Insert(plan) => insert::run(plan, run),
        PlanKind::Update(plan) => update::update(plan, run),
        PlanKind::Delete(plan) => update::delete(plan, run),
        PlanKind::Tree(_) => Err(SqlError::internal("a statement without a plan was run as one")),
    }
}
