//! What every SHOW has: its columns and rows, and the LIKE or WHERE that they pass.

use std::sync::Arc;

use crate::ast::{self, ShowFilter};
use crate::collation::Collation;
use crate::database::{Database, Params};
use crate::error::SqlError;
use crate::exec::context::Statement as Context;
use crate::expr::{EvalContext, Expr};
use crate::plan::bind::Scope;
use crate::plan::{self, Collected};
use crate::session::{Environment, Outcome, ResultSink, SessionState, ShowTable};
use crate::types::{ResultColumn, ResultType};
use crate::value::Value;

/// A result set to be filtered.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) columns: Vec<(String, ResultType)>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Shown {
    pub(super) fn result_columns(&self) -> Vec<ResultColumn> {
        self.columns.iter().map(|(name, of)| ResultColumn::computed(name.as_str(), *of)).collect()
    }
}

impl From<ShowTable> for Shown {
    fn from(table: ShowTable) -> Shown {
        let columns = table.columns.into_iter().map(|(name, result_type)| (name.to_owned(), result_type));
        Shown { columns: columns.collect(), rows: table.rows }
    }
}

/// The type of a column of text.
pub(crate) fn text_type(chars: u32) -> ResultType {
    ResultType::string(chars, Collation::DEFAULT).nullable(true)
}

/// Columns of text.
pub(super) fn texts(names: &[&str]) -> Vec<(String, ResultType)> {
    names.iter().map(|name| ((*name).to_owned(), text_type(256))).collect()
}

impl Database {
    /// Gives the rows of a SHOW that pass a WHERE with queries in it: as a SELECT from them.
    pub(super) fn filtered_by_query(
        &self,
        table: Shown,
        condition: &ast::Expr,
        given: Params<'_>,
        session: &mut SessionState,
        env: &dyn Environment,
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        let columns = table.result_columns();
        loop {
            let plan = {
                let (catalog, collected) = (self.catalog.current(), Collected::default());
                let cx = Database::plan_context(&catalog, session.database.as_deref(), session, &collected);
                plan::filtered(table.rows.clone(), columns.clone(), condition, &cx)?
            };
            if let Some(outcome) = self.run_plan(&plan, given, session, env, sink)? {
                return Ok(outcome);
            }
        }
    }
}

/// Gives the rows of a SHOW that pass its LIKE or WHERE, and says how many they were.
pub(crate) fn filtered(
    table: Shown,
    filter: Option<&ShowFilter>,
    params: &[Value],
    session: &SessionState,
    env: &dyn Environment,
    sink: &mut dyn ResultSink,
) -> Result<u64, SqlError> {
    let columns = table.result_columns();
    let place = |slot: usize| {
        let (name, result_type) = &table.columns[slot];
        Expr::column(slot, name.as_str(), *result_type)
    };
    let condition = match filter {
        None => None,
        Some(ShowFilter::Like(pattern)) => {
            let pattern = Expr::Literal(Value::Text(Arc::from(pattern.as_str())));
            Some(Expr::like(place(0), pattern, Some('\\'), false)?)
        }
        Some(ShowFilter::Where(condition)) => {
            let mut scope = Scope::new(&[], "where clause");
            scope.literals = session.literals();
            scope.aliases = (0..columns.len()).map(|slot| (table.columns[slot].0.as_str(), place(slot))).collect();
            Some(scope.bind(condition)?)
        }
    };
    let context = Context::new(session, env, false);
    let cx = EvalContext::new(params, &context);
    sink.columns(&columns)?;
    let mut given = 0;
    for row in &table.rows {
        let shown = match &condition {
            None => true,
            Some(condition) => condition.holds(row, &cx)?,
        };
        if shown {
            sink.row(row)?;
            given += 1;
        }
    }
    Ok(given)
}
