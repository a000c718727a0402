//! Runs plans.
//!
//! Outline: [`run`] runs one plan in an open transaction. The rows of every query come from a tree of [`operators`];
//! [`query`] hands them to the client or to an INSERT, [`insert`] and [`update`] change rows through [`row_change`],
//! which keeps indexes, locks and binlog events together. [`key_range`] turns the terms of an access path into key
//! ranges. What is not planned runs in [`crate::utility`].
//!
//! Not here: when a transaction begins and ends ([`crate::database`]).

mod change_joined;
mod common;
pub(crate) mod context;
pub(crate) mod explain;
pub(crate) mod failure;
mod insert;
mod insert_ids;
mod key_range;
mod logged_change;
pub(crate) mod operators;
mod profiled;
mod query;
mod remembered;
mod row_change;
pub(crate) mod subquery;
mod update;

use std::borrow::Cow;
use std::sync::Arc;

use cohort_txn::Transaction;

use crate::catalog::store::CatalogStore;
use crate::codec::RowOffsets;
use crate::collation::Collation;
use crate::error::{ER_SP_FETCH_NO_DATA, ER_TOO_MANY_ROWS, ER_TRANS_CACHE_FULL, SqlError};
use crate::expr::{EvalContext, Expr, StatementContext as _};
use crate::plan::node::QueryPlan;
use crate::plan::{Plan, PlanKind};
use crate::profile::Profile;
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
    /// What the query that runs reads of the query around it.
    pub(crate) outer: &'a [Value],
    /// The queries that are parts of expressions, and those that WITH names.
    pub(crate) nested: &'a subquery::Nested<'a>,
    /// How often the VALUES row of an INSERT is there, and with how many parameters each.
    pub(crate) rows: usize,
    pub(crate) row_params: usize,
    pub(crate) offsets: RowOffsets,
    /// The rows that it changes go into the binlog.
    pub(crate) logs_rows: bool,
    /// A SELECT without a locking clause locks the rows it reads, shared.
    pub(crate) locks_reads: bool,
    /// How many rows the last LIMIT has seen: with those that OFFSET left out, and with SQL_CALC_FOUND_ROWS all there are.
    pub(crate) found_rows: Option<u64>,
    /// How often [`Run::step`] was called.
    pub(crate) steps: u32,
    /// What operators do is kept here (EXPLAIN ANALYZE).
    pub(crate) profile: Option<&'a Arc<Profile>>,
}

impl<'a> Run<'a> {
    /// Has expressions evaluated, with the statement's parameters. What they make counts from here on anew.
    #[inline]
    pub(crate) fn evaluate<T>(
        &mut self,
        evaluate: impl FnOnce(&EvalContext<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.evaluate_with(self.params, evaluate)
    }

    /// The same with these parameters.
    pub(crate) fn evaluate_with<T>(
        &mut self,
        params: &[Value],
        evaluate: impl FnOnce(&EvalContext<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.session.memory.begin_evaluation();
        let (statement, outer) = (self.statement, self.outer);
        let queries = subquery::Runner::new(self);
        evaluate(&EvalContext { params, statement, outer, queries: Some(&queries) })
    }

    /// A condition with the values of the constants that its columns are compared with in the place of these, if there are any
    /// that take computing. One that fails or warns stays, and does so where it did before.
    pub(crate) fn folded(&mut self, condition: &Expr) -> Option<Expr> {
        let statement = self.statement;
        statement.trying(|| self.evaluate(|cx| Ok(condition.folded(cx)))).ok().flatten()
    }

    /// The same transaction and statement for a query within, which reads these values of the query around it.
    pub(crate) fn within<'n>(&'n mut self, outer: &'n [Value]) -> Run<'n> {
        Run {
            transaction: &mut *self.transaction,
            session: self.session,
            catalog: self.catalog,
            statement: self.statement,
            params: self.params,
            outer,
            nested: self.nested,
            rows: self.rows,
            row_params: self.row_params,
            offsets: RowOffsets::default(),
            logs_rows: self.logs_rows,
            locks_reads: self.locks_reads,
            found_rows: None,
            steps: self.steps,
            profile: self.profile,
        }
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
        self.transaction.spill().map_err(|error| failure::commit_failed(&error))?;
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

    /// The same for what stays when the query within that asks for it has ended.
    pub(crate) fn keep_always(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.keep(bytes)?;
        self.session.memory.stays(bytes);
        Ok(())
    }

    /// What has been kept since the statement held so much is gone, but for what stays.
    pub(crate) fn release(&self, held: u64) {
        self.session.memory.release_to(held);
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
        PlanKind::Select(query) if plan.into.is_some() => {
            query_into(query, plan.into.as_deref().unwrap_or_default(), run)
        }
        PlanKind::Select(query) => {
            sink.columns(&columns(plan, query, run.params))?;
            let most = if query.has_limit() { u64::MAX } else { run.session.select_limit };
            let rows = query::run(query, most, run, &mut |row| sink.row(row))?;
            run.session.found_rows.set(found_rows(query, rows, run));
            run.session.row_count.set(-1);
            Ok(StatementResult::Rows)
        }
        PlanKind::Insert(plan) => insert::run(plan, run),
        PlanKind::Update(plan) => update::update(plan, run),
        PlanKind::Delete(plan) => update::delete(plan, run),
        PlanKind::UpdateJoined(plan) => change_joined::update(plan, run),
        PlanKind::DeleteJoined(plan) => change_joined::delete(plan, run),
        PlanKind::Utility(_) => Err(SqlError::internal("a statement without a plan was run as one")),
    }
}

/// What FOUND_ROWS() gives after a query that gave so many rows. Its own LIMIT is the last one to end.
fn found_rows(query: &QueryPlan, given: u64, run: &Run<'_>) -> u64 {
    run.found_rows.filter(|_| query.has_limit()).unwrap_or(given)
}

/// SELECT ... INTO: variables get the values of the one row. Without a row they stay, with warning 1329; a second one is
/// error 1172.
fn query_into(
    query: &QueryPlan,
    variables: &[(Arc<str>, Collation)],
    run: &mut Run<'_>,
) -> Result<StatementResult, SqlError> {
    let (session, statement) = (run.session, run.statement);
    let mut rows = 0;
    let most = if query.has_limit() { u64::MAX } else { session.select_limit };
    query::run(query, most, run, &mut |row| {
        if rows > 0 {
            return Err(SqlError::new(ER_TOO_MANY_ROWS, &[]));
        }
        rows = 1;
        let mut named = variables.iter().zip(row);
        named.try_for_each(|((name, collation), value)| session.set_user_variable(name, value.clone(), *collation))
    })?;
    if rows == 0 {
        statement.warn(SqlError::new(ER_SP_FETCH_NO_DATA, &[]))?;
    }
    session.found_rows.set(found_rows(query, rows, run));
    session.row_count.set(rows as i64);
    Ok(StatementResult::Done { affected: rows, last_insert_id: 0, info: String::new() })
}
