//! CREATE TABLE ... SELECT: has its query planned and run, between the steps of [`crate::ddl`].

use super::{Database, Params, transactions};
use crate::ast::{CreateTable, NewRows};
use crate::ddl::{Changed, DdlRun, NewTable};
use crate::error::SqlError;
use crate::plan::{self, Collected};
use crate::session::{Environment, OpenTransaction, ResultSink, StatementResult};
use crate::types::ResultColumn;
use crate::value::Value;

/// Takes nothing: an INSERT gives no rows.
struct NoRows;

impl ResultSink for NoRows {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SqlError> {
        Err(SqlError::internal("an INSERT has given columns"))
    }

    fn row(&mut self, _row: &[Value]) -> Result<(), SqlError> {
        Err(SqlError::internal("an INSERT has given a row"))
    }
}

impl Database {
    /// Creates a table with the rows of a query, in `open`, a transaction of its own.
    pub(crate) fn create_with_rows(
        &self,
        (spec, rows): (&CreateTable, &NewRows),
        params: &[Value],
        mut open: OpenTransaction,
        run: &DdlRun<'_>,
        env: &dyn Environment,
    ) -> Result<Changed, SqlError> {
        if open.transaction.is_logged() && run.session.owns_gtid() {
            return Err(SqlError::unsupported("CREATE TABLE ... SELECT under a chosen GTID: it takes two"));
        }
        loop {
            if !run.is_to_be_created(spec)? {
                return Ok(Changed::default());
            }
            let (savepoint, counts) = (open.transaction.start_statement(), run.session.row_counts.mark());
            let Some((new, result)) = self.fill((spec, rows), params, &mut open, run, env)? else {
                open.transaction.rollback_to(&savepoint);
                run.session.row_counts.back_to(counts);
                continue;
            };
            open.transaction.events().end_statement();
            let mut transaction = open.transaction;
            transactions::may_commit(&mut transaction, run.session)?;
            run.create_filled(spec, &new, transaction)?;
            return Ok(match result {
                StatementResult::Done { affected, last_insert_id, info } => Changed { affected, last_insert_id, info },
                StatementResult::Rows => Changed::default(),
            });
        }
    }

    /// Makes the table and inserts its rows; `None` if what the query reads has changed meanwhile.
    fn fill(
        &self,
        (spec, rows): (&CreateTable, &NewRows),
        params: &[Value],
        open: &mut OpenTransaction,
        run: &DdlRun<'_>,
        env: &dyn Environment,
    ) -> Result<Option<(NewTable, StatementResult)>, SqlError> {
        let (catalog, collected) = (self.catalog.current(), Collected::default());
        let cx = Database::plan_context(&catalog, run.session.database.as_deref(), run.session, &collected);
        let (query, columns) = plan::new_table(&rows.query, params, &cx)?;
        let new = run.new_table(spec, &columns)?;
        let plan = plan::fill(new.table.clone(), (query, &columns), new.targets.clone(), rows, &cx)?;
        plan.needs.check(&run.session.holder)?;
        let params = Params::of(params, run.sql.as_bytes());
        let result = self.run_locked(&plan, params, open, run.session, env, &mut NoRows)?;
        Ok(result.map(|result| (new, result)))
    }
}
