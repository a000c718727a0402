//! EXPLAIN: the operators of a statement's plan ([`crate::exec::explain`]).

use super::show::Shown;
use crate::ast::Statement;
use crate::database::{Database, may_run};
use crate::error::SqlError;
use crate::exec::explain;
use crate::session::SessionState;

impl Database {
    pub(super) fn explain(&self, statement: &Statement, session: &SessionState) -> Result<Shown, SqlError> {
        let plan = loop {
            let plan = self.plan(statement.clone(), session)?;
            plan.needs.check(&session.holder)?;
            if may_run(&plan, session)? {
                break plan;
            }
        };
        Ok(explain::rows(&plan.kind))
    }
}
