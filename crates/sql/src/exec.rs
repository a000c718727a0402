//! Runs plans.
//!
//! Outline: [`run`] runs one plan in an open transaction. The rows of every query come from a tree of [`operators`];
//! [`query`] hands them to the client or to an INSERT, [`insert`] and [`update`] change rows through [`row_change`],
//! which keeps indexes, locks and binlog events together. [`key_range`] turns the terms of an access path into key
//! ranges. What is not planned runs in [`crate::utility`].
//!
//! Not here: when a transaction begins and ends ([`crate::database`]).

pub(crate) mod context;
pub(crate) mod explain;
pub(crate) mod failure;
mod insert;
mod insert_ids;
mod key_range;
mod logged_change;
pub(crate) mod operators;
mod query;
mod row_change;
mod update;

use std::borrow::Cow;

use cohort_txn::Transaction;

use crate::catalog::store::CatalogStore;
use crate::codec::RowOffsets;
use crate::error::{ER_TRANS_CACHE_FULL, SqlError};
use crate::expr::{EvalContext, Expr, StatementContext as _};
use crate::plan::physical::QueryPlan;
use crate::plan::{Plan, PlanKind};
use crate::session::{ResultSink, SessionState, StatementResult};
use crate::types::ResultColumn;
use crate::value::Value;
use context::Statement;

pub(crate) use insert::wants_auto_increment;
pub(crate) use row_change::{duplicate, duplicate_text};

/// What a running statement works with.
pub(crate) struct Run<'a> {
    pub(crate) transaction: &'a mut Transaction,
    pub(crate) session: &'a SessionState,
    pub(crate) catalog: &'a CatalogStore,
    pub(crate) statement: &'a Statement<'a>,
    pub(crate) params: &'a [Value],
    /// How often the VALUES row of an INSERT is there, and with how many parameters each.
    pub(crate) rows: usize,
    pub(crate) row_params: usize,
    pub(crate) offsets: RowOffsets,
    /// A SELECT without a locking clause locks the rows it reads, shared.
    pub(crate) locks_reads: bool,
    /// How often [`Run::step`] was called.
    pub(crate) steps: u32,
}

impl<'a> Run<'a> {
    /// What expressions see, with the statement's parameters. What they make counts from here on anew.
    pub(crate) fn eval(&self) -> EvalContext<'a> {
        self.session.memory.begin_evaluation();
        EvalContext { params: self.params, statement: self.statement }
    }

    /// The parameters of what follows the VALUES rows of an INSERT, which is numbered as if the last were the only one.
    pub(crate) fn params_behind_rows(&self) -> &'a [Value] {
        self.params.get((self.rows - 1) * self.row_params..).unwrap_or_default()
    }

    /// Error 1197 if the transaction has become too long for the binlog or any commit, 4082 if the connection
    /// holds too much.
    pub(crate) fn check_transaction(&mut self) -> Result<(), SqlError> {
        if self.transaction.is_logged() && self.transaction.events().byte_len() > self.session.max_binlog_cache_size {
            return Err(SqlError::new(ER_TRANS_CACHE_FULL, &[]));
        }
        self.transaction.check_size().map_err(|_| SqlError::new(ER_TRANS_CACHE_FULL, &[]))?;
        self.session.memory.hold_transaction(self.transaction.memory_bytes())
    }

    /// Counts what an operator does for one row, and looks now and then whether the statement was killed (error 1317).
    pub(crate) fn step(&mut self) -> Result<(), SqlError> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(256) { self.check_killed() } else { Ok(()) }
    }

    /// Counts what an operator keeps until the statement ends, bytes: 4082 if the connection holds too much.
    pub(crate) fn keep(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.step()?;
        self.session.memory.hold(bytes)
    }

    /// Error 1317 if the statement was killed.
    pub(crate) fn check_killed(&self) -> Result<(), SqlError> {
        self.statement.check_killed()
    }
}

/// The columns of a SELECT's result; what is computed from parameters has the type that those make it.
fn columns<'p>(plan: &'p Plan, query: &QueryPlan, params: &[Value]) -> Cow<'p, [ResultColumn]> {
    let outputs = query.select_list();
    if params.is_empty() || !outputs.iter().any(Expr::has_params) {
        return Cow::Borrowed(&plan.columns);
    }
    let typed = plan.columns.iter().zip(outputs).map(|(column, output)| match output.has_params() {
        true => ResultColumn { result_type: output.result_type(params), ..column.clone() },
        false => column.clone(),
    });
    Cow::Owned(typed.collect())
}

/// Runs a planned statement.
pub(crate) fn run(plan: &Plan, run: &mut Run<'_>, sink: &mut dyn ResultSink) -> Result<StatementResult, SqlError> {
    run.check_killed()?;
    match &plan.kind {
        PlanKind::Select(query) => {
            sink.columns(&columns(plan, query, run.params))?;
            let most = if query.has_limit() { u64::MAX } else { run.session.select_limit };
            let rows = query::run(query, most, run, &mut |row| sink.row(row))?;
            run.session.found_rows.set(rows);
            run.session.row_count.set(-1);
            Ok(StatementResult::Rows)
        }
        PlanKind::Insert(plan) => insert::run(plan, run),
        PlanKind::Update(plan) => update::update(plan, run),
        PlanKind::Delete(plan) => update::delete(plan, run),
        PlanKind::Utility(_) => Err(SqlError::internal("a statement without a plan was run as one")),
    }
}
