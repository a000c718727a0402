//! EXPLAIN: the operators of a statement's plan ([`crate::exec::explain`]), and what they do when it runs.

use std::sync::Arc;

use super::show::Shown;
use crate::ast::{ExplainFormat, Statement};
use crate::database::{Database, Params, may_run};
use crate::error::SqlError;
use crate::exec::explain;
use crate::plan::share::Constants;
use crate::plan::{Plan, PlanKind};
use crate::profile::Profile;
use crate::session::meaning::Meaning;
use crate::session::{Environment, ResultSink, SessionState};
use crate::types::ResultColumn;
use crate::value::Value;

/// Takes the rows of a statement that is only measured.
struct Nobody;

impl ResultSink for Nobody {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<(), SqlError> {
        Ok(())
    }
}

impl Database {
    pub(super) fn explain(
        &self,
        statement: &Statement,
        format: ExplainFormat,
        session: &SessionState,
    ) -> Result<Shown, SqlError> {
        let plan = self.plan_to_explain(statement, session)?;
        plan.show_warnings(session);
        Ok(explain::shown(&plan, format))
    }

    fn plan_to_explain(&self, statement: &Statement, session: &SessionState) -> Result<Arc<Plan>, SqlError> {
        loop {
            let plan = self.plan_as(&Meaning::now(session), Constants::Typed, statement.clone(), session)?;
            plan.needs.check(&session.holder)?;
            if may_run(&plan, session)? {
                return Ok(plan);
            }
        }
    }

    /// Runs a query, whose rows nobody gets, and says what its operators have done. 1235 for statements that change rows.
    pub(super) fn explain_analyze(
        &self,
        statement: &Statement,
        params: &[Value],
        session: &mut SessionState,
        env: &dyn Environment,
        sql: &[u8],
    ) -> Result<Shown, SqlError> {
        loop {
            let plan = self.plan_to_explain(statement, session)?;
            if !matches!(plan.kind, PlanKind::Select(_)) || plan.into.is_some() {
                return Err(SqlError::unsupported("EXPLAIN ANALYZE of a statement that changes something"));
            }
            let profile = Arc::new(Profile::default());
            session.profile = Some(profile.clone());
            let ran = self.run_plan(&plan, Params::of(params, sql), session, env, &mut Nobody);
            session.profile = None;
            if ran?.is_some() {
                return Ok(explain::analyzed(&plan, &profile));
            }
        }
    }
}
