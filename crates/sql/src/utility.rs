//! Utility statements: what runs from its syntax tree, without a plan.
//!
//! Outline: [`Database::run_utility`] is the dispatch; a group of related statements is one file of this folder, with
//! its columns, its rows or its effect. [`show`] has what every SHOW shares. A statement whose answer or effect is the
//! server's (accounts, variables, FLUSH) goes through [`Environment`].
//!
//! Not here: parsing (`parse/`); transactions and XA (`database/`); changes of the schema ([`crate::ddl`]).

mod kill;
mod set;
pub(crate) mod show;
mod show_diagnostics;
pub(crate) mod show_schema;

use crate::ast::{AccountStatement, Assignment, Ddl, Expr, RoleStatement, ShowFilter, ShowSchema, Statement};
use crate::database::{Database, Params, query_context, text};
use crate::ddl::{self, DdlRun};
use crate::error::SqlError;
use crate::exec::context::Statement as Context;
use crate::exec::explain;
use crate::expr::{EvalContext, VariableScope};
use crate::plan::bind::Scope;
use crate::session::{Environment, Outcome, ResultSink, SessionState};
use crate::types::ResultColumn;
use crate::value::Value;
use show::{Shown, filtered};

impl Database {
    /// Runs a statement that is not planned.
    pub(crate) fn run_utility(
        &self,
        statement: &Statement,
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
        sql: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        if !matches!(statement, Statement::ShowDiagnostics { .. }) {
            session.diagnostics.get_mut().clear();
            session.row_count.set(0);
        }
        session.holder.check_statement(statement, session.database.as_deref())?;
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
            Statement::Set(assignments) => self.set(assignments, params, session, env),
            Statement::Use(name) => self.use_database(session, name).map(|()| Outcome::ok()),
            Statement::Kill { target, connection } => {
                kill::run(*target, connection, params, session, env).map(|()| Outcome::ok())
            }
            Statement::Do(exprs) => {
                for expr in exprs {
                    evaluate(expr, params, session, env)?;
                }
                Ok(Outcome::ok())
            }
            Statement::Ddl(change) => self.change_schema(change, session, env, sql),
            Statement::ShowSchema { what, filter } => {
                let mut shown = self.show_schema(what, session)?;
                if let (ShowSchema::Tables { .. }, Some(ShowFilter::Like(pattern))) = (what, filter) {
                    shown.columns[0].0 += &format!(" ({pattern})");
                }
                filtered(shown, filter.as_ref(), params, session, env, sink).map(|()| Outcome::rows())
            }
            Statement::Show { what, filter } => {
                let shown = env.show(session, what)?.into();
                filtered(shown, filter.as_ref(), params, session, env, sink).map(|()| Outcome::rows())
            }
            Statement::ShowDiagnostics { errors_only, count, limit } => {
                show_diagnostics::run(*errors_only, *count, *limit, session, sink).map(|()| Outcome::rows())
            }
            Statement::Explain(inner) => {
                let plan = self.plan((**inner).clone(), session)?;
                plan.needs.check(&session.holder)?;
                filtered(explain::rows(&plan.kind), None, params, session, env, sink).map(|()| Outcome::rows())
            }
            Statement::Account(account) => {
                // SET ROLE is the session's alone.
                if !matches!(account, AccountStatement::Role(RoleStatement::Set(_))) {
                    self.commit_open(session)?;
                }
                env.account(session, account).map(|()| Outcome::ok())
            }
            Statement::Admin(command) => {
                self.commit_open(session)?;
                env.administer(session, command).map(|()| Outcome::ok())
            }
            // LOCK TABLES is refused, so that none are locked, and no transaction ends.
            Statement::UnlockTables => Ok(Outcome::ok()),
            Statement::Nothing => {
                self.commit_open(session)?;
                Ok(Outcome::ok())
            }
            Statement::Select(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                let plan = self.plan(statement.clone(), session)?;
                match self.run_plan(&plan, Params::of(params), session, env, sink)? {
                    Some(outcome) => Ok(outcome),
                    None => self.run_utility(statement, params, session, env, sql, sink),
                }
            }
        }
    }

    fn set(
        &self,
        assignments: &[Assignment],
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
    ) -> Result<Outcome, SqlError> {
        let autocommit = session.autocommit;
        set::run(assignments, params, session, env)?;
        let ended = self.after_set(autocommit, session);
        if ended.is_err() {
            env.set_variable(session, VariableScope::Session, "autocommit", Some(Value::Int(0)))?;
        }
        ended
    }

    /// A statement of the schema: it commits the open transaction first.
    fn change_schema(
        &self,
        change: &Ddl,
        session: &mut SessionState,
        env: &dyn Environment,
        sql: &[u8],
    ) -> Result<Outcome, SqlError> {
        let sql = text(sql)?;
        self.commit_open(session)?;
        let query_context = query_context(session, env);
        let run = DdlRun { store: &self.store, catalog: &self.catalog, session, query_context: &query_context, sql };
        let affected = ddl::run(change, &run);
        session.interrupt_ref().watch(None);
        let affected = affected?;
        if let Ddl::DropDatabase { name, .. } = change
            && session.database.as_deref() == Some(name)
        {
            session.database = None;
        }
        Ok(Outcome::done(affected))
    }

    fn show_schema(&self, what: &ShowSchema, session: &SessionState) -> Result<Shown, SqlError> {
        show_schema::rows(what, &self.catalog.current(), &self.catalog, &self.store, session)
    }

    /// The result columns of a statement that is not planned: those it gives now.
    pub(crate) fn utility_columns(
        &self,
        statement: &Statement,
        session: &SessionState,
        env: &dyn Environment,
    ) -> Vec<ResultColumn> {
        let shown = match statement {
            Statement::ShowSchema { what, .. } => self.show_schema(what, session),
            Statement::Show { what, .. } => env.show(session, what).map(Shown::from),
            Statement::Explain(inner) => self.plan((**inner).clone(), session).map(|plan| explain::rows(&plan.kind)),
            _ => return Vec::new(),
        };
        // What cannot be shown now is an error when it runs.
        shown.map_or_else(
            |_| Vec::new(),
            |shown| shown.columns.iter().map(|(name, of)| ResultColumn::computed(name.as_str(), *of)).collect(),
        )
    }
}

/// The value of an expression without columns.
fn evaluate(expr: &Expr, params: &[Value], session: &SessionState, env: &dyn Environment) -> Result<Value, SqlError> {
    let bound = Scope::new(&[], "field list").bind(expr)?;
    let context = Context::new(session, env, false);
    session.memory.begin_evaluation();
    bound.eval(&[], &EvalContext { params, statement: &context })
}
