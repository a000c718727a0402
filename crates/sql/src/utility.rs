//! Utility statements: what runs from its syntax tree, without a plan.
//!
//! Outline: [`Database::run_utility`] is the dispatch; a group of related statements is one file of this folder, with
//! its columns, its rows or its effect. [`show`] has what every SHOW shares. A statement whose answer or effect is the
//! server's (accounts, variables, FLUSH) goes through [`Environment`].
//!
//! Not here: parsing (`parse/`); transactions and XA (`database/`); changes of the schema ([`crate::ddl`]).

mod administration;
mod backup;
mod checksum;
mod evaluate;
mod explain;
mod histograms;
mod kill;
mod lock_tables;
mod maintain;
mod schema;
mod set;
pub(crate) mod show;
mod show_diagnostics;
pub(crate) mod show_schema;

use crate::ast::{ShowFilter, ShowKind, ShowSchema, Statement};
use crate::database::hints::HintedVariables;
use crate::database::{Database, Params, named};
use crate::error::SqlError;
use crate::exec::explain::text_columns as explained_columns;
use crate::session::{Environment, Outcome, ResultSink, SessionState};
use crate::types::ResultColumn;
use show::Shown;

/// Whether a SHOW is a query in MySQL, so that FOUND_ROWS() counts its rows.
fn is_query(show: &Statement) -> bool {
    match show {
        Statement::ShowSchema { what, .. } => {
            !matches!(what, ShowSchema::CreateTable { .. } | ShowSchema::CreateDatabase { .. })
        }
        Statement::Show { what, .. } => matches!(
            what,
            ShowKind::Variables(_)
                | ShowKind::Status(_)
                | ShowKind::Engines
                | ShowKind::Collation
                | ShowKind::CharacterSet
                | ShowKind::Plugins
        ),
        _ => false,
    }
}

impl Database {
    /// Runs a statement that is not planned.
    pub(crate) fn run_utility(
        &self,
        statement: &Statement,
        given: Params<'_>,
        session: &mut SessionState,
        env: &dyn Environment,
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        if let (Some(meaning), false) = (given.meaning(), matches!(statement, Statement::Set(_))) {
            let given = given.as_meant();
            return session.as_meant(meaning, |session| self.run_utility(statement, given, session, env, sink));
        }
        if !matches!(statement, Statement::ShowDiagnostics { .. } | Statement::Execute { .. }) {
            session.begin_diagnostics(false);
            session.row_count.set(0);
        }
        session.holder.check_statement(statement, session.database.as_deref())?;
        let Some(hints) = statement.hints() else { return self.run_begun(statement, given, session, env, sink) };
        let mut hinted = HintedVariables::default();
        hinted.begin(hints.get(), session, env);
        let outcome = self.run_begun(statement, given, session, env, sink);
        hinted.end(session, env);
        outcome
    }

    /// Runs a statement whose hints are obeyed.
    fn run_begun(
        &self,
        statement: &Statement,
        given: Params<'_>,
        session: &mut SessionState,
        env: &dyn Environment,
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        let (params, sql) = (given.values(), given.sql());
        match statement {
            Statement::Begin { consistent_snapshot, read_only } => {
                self.begin(*consistent_snapshot, *read_only, session)
            }
            Statement::Commit(completion) => self.commit(*completion, session),
            Statement::Rollback(completion) => self.rollback(*completion, session),
            Statement::Savepoint(name) => self.savepoint(name, session),
            Statement::RollbackTo(name) => self.rollback_to(name, session),
            Statement::ReleaseSavepoint(name) => self.release_savepoint(name, session),
            Statement::Xa(statement) => self.xa(statement, session, env, sink),
            Statement::Set(assignments) => self.set(assignments, given, session, env),
            Statement::Use(name) => self.use_database(session, name).map(|()| Outcome::ok()),
            Statement::Kill { target, connection } => {
                kill::run(*target, connection, params, session, env).map(|()| Outcome::ok())
            }
            Statement::Do(exprs) => self.evaluate_all(exprs, params, session, env).map(|()| Outcome::ok()),
            Statement::Ddl(change) => {
                self.alone(session, |session| self.change_schema(change, session, env, params, sql))
            }
            Statement::ShowSchema { filter, .. } | Statement::Show { filter, .. } => {
                let shown = self.shown(statement, session, env)?;
                if let Some(ShowFilter::Where(condition)) = filter
                    && condition.has_queries()
                {
                    return self.filtered_by_query(shown, condition, given, session, env, sink);
                }
                let rows = show::filtered(shown, filter.as_ref(), params, session, env, sink)?;
                if is_query(statement) {
                    session.found_rows.set(rows);
                }
                Ok(Outcome::rows())
            }
            Statement::ShowDiagnostics { errors_only, count, limit } => {
                show_diagnostics::run(*errors_only, *count, *limit, session, sink).map(|()| Outcome::rows())
            }
            Statement::Explain(explain) if explain.analyze => {
                let shown = self.explain_analyze(&explain.statement, params, session, env, sql)?;
                show::filtered(shown, None, params, session, env, sink).map(|_| Outcome::rows())
            }
            Statement::Explain(_) => {
                let shown = self.shown(statement, session, env)?;
                show::filtered(shown, None, params, session, env, sink).map(|_| Outcome::rows())
            }
            Statement::Account(account) => self.account(account, session, env),
            Statement::Admin(command) => self.administer(command, params, session, env).map(|()| Outcome::ok()),
            Statement::LockTables(tables) => self.lock_tables(tables, session).map(|()| Outcome::ok()),
            Statement::FlushTables(flush) => self.flush_tables(flush, session).map(|()| Outcome::ok()),
            Statement::Maintain(maintain) => {
                let shown = self.maintain(maintain, session, env)?;
                show::filtered(shown, None, params, session, env, sink).map(|_| Outcome::rows())
            }
            Statement::Backup(command) => self.backup(command, session).map(|()| Outcome::ok()),
            Statement::Prepare { name, from } => {
                self.prepare_named(name, from, session, env).map(|()| Outcome::told("Statement prepared"))
            }
            Statement::Execute { name, using } => self.execute_named(name, using, session, env, sink),
            Statement::Deallocate(name) => named::deallocate(name, session).map(|()| Outcome::ok()),
            Statement::UnlockTables => self.unlock_all(session).map(|()| Outcome::ok()),
            Statement::Nothing => {
                self.commit_open(session)?;
                Ok(Outcome::ok())
            }
            Statement::Select(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                let plan = self.plan(statement.clone(), session)?;
                match self.run_plan(&plan, given, session, env, sink)? {
                    Some(outcome) => Ok(outcome),
                    None => self.run_utility(statement, given, session, env, sink),
                }
            }
        }
    }

    /// The rows of a statement that shows something.
    fn shown(&self, statement: &Statement, session: &SessionState, env: &dyn Environment) -> Result<Shown, SqlError> {
        match statement {
            Statement::ShowSchema { what, filter } => {
                let mut shown = show_schema::rows(what, &self.catalog.current(), &self.catalog, &self.store, session)?;
                if let (ShowSchema::Tables { .. } | ShowSchema::Databases, Some(ShowFilter::Like(pattern))) =
                    (what, filter)
                {
                    shown.columns[0].0 += &format!(" ({pattern})");
                }
                Ok(shown)
            }
            Statement::Show { what, .. } => env.show(session, what).map(Shown::from),
            Statement::Explain(explain) => self.explain(&explain.statement, explain.format, session),
            _ => Err(SqlError::internal("a statement that shows nothing")),
        }
    }

    /// The result columns of a statement that is not planned: those it gives now.
    pub(crate) fn utility_columns(
        &self,
        statement: &Statement,
        session: &SessionState,
        env: &dyn Environment,
    ) -> Vec<ResultColumn> {
        if let Statement::Maintain(maintain) = statement {
            return Shown { columns: maintain::columns(maintain.what), rows: Vec::new() }.result_columns();
        }
        if let Statement::Explain(explain) = statement
            && explain.analyze
        {
            return Shown { columns: explained_columns(), rows: Vec::new() }.result_columns();
        }
        // What cannot be shown now is an error when it runs.
        self.shown(statement, session, env).map_or_else(|_| Vec::new(), |shown| shown.result_columns())
    }
}
