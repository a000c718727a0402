//! From syntax trees to plans: names bound, expressions typed, an access path chosen.
//!
//! A plan is made for certain versions of its tables and run many times with different parameters.
//! [`bind`] resolves names, [`access`] chooses how rows are found, [`select`] and [`change`] make the plans;
//! [`unsupported`] refuses what none of them can do.
//!
//! Row layout: the columns of the statement's table come first, from slot 0 in definition order. Behind
//! them lie, in SELECT, the aggregates, and in INSERT the values of the new row for ON DUPLICATE KEY UPDATE.

pub(crate) mod access;
pub(crate) mod bind;
mod change;
mod select;
mod unsupported;

use std::sync::Arc;

use crate::ast::{self, RowWait, Statement};
use crate::catalog::store::{Catalog, database_or};
use crate::catalog::system::{self, INFORMATION_SCHEMA};
use crate::catalog::table::Table;
use crate::error::SqlError;
use crate::expr::Expr;
use crate::expr::aggregate::Aggregate;
use crate::types::{ResultColumn, SqlMode};
use access::Access;

/// What the names of a statement are resolved in.
#[derive(Clone, Copy)]
pub(crate) struct PlanContext<'a> {
    pub(crate) catalog: &'a Catalog,
    /// The default database.
    pub(crate) database: Option<&'a str>,
    pub(crate) sql_mode: SqlMode,
}

impl PlanContext<'_> {
    /// A table to be read: a stored one, or one of information_schema.
    fn source(&self, name: &ast::TableName) -> Result<Arc<Table>, SqlError> {
        match name.database.as_deref().or(self.database) {
            Some(database) if database.eq_ignore_ascii_case(INFORMATION_SCHEMA) => {
                system::table(&name.table).map_or_else(|| self.table(name), Ok)
            }
            _ => self.table(name),
        }
    }

    fn table(&self, name: &ast::TableName) -> Result<Arc<Table>, SqlError> {
        let database = database_or(name.database.as_deref(), self.database)?;
        const SYSTEM: [&str; 4] = [INFORMATION_SCHEMA, "performance_schema", "mysql", "sys"];
        if SYSTEM.iter().any(|system| system.eq_ignore_ascii_case(database)) {
            return Err(SqlError::unsupported(format_args!("tables of {database}")));
        }
        self.catalog.table(database, &name.table).cloned()
    }
}

/// A statement ready to run.
pub(crate) struct Plan {
    pub(crate) kind: PlanKind,
    /// The columns of its result; empty if it gives none.
    pub(crate) columns: Vec<ResultColumn>,
}

impl Plan {
    /// Whether its tables are what they were when it was made.
    pub(crate) fn is_current(&self) -> bool {
        self.kind.tables().all(|table| table.is_current())
    }
}

/// What a plan does.
pub(crate) enum PlanKind {
    Select(SelectPlan),
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    /// Not planned: run from the tree.
    Tree(Statement),
}

impl PlanKind {
    /// The table the plan works on.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        let (first, second) = match self {
            PlanKind::Select(select) => (select.table.as_ref(), None),
            PlanKind::Insert(insert) => {
                let source = match &insert.source {
                    InsertRows::Select(select) => select.table.as_ref(),
                    InsertRows::Values(_) => None,
                };
                (Some(&insert.table), source)
            }
            PlanKind::Update(update) => (Some(&update.table), None),
            PlanKind::Delete(delete) => (Some(&delete.table), None),
            PlanKind::Tree(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Whether it changes rows.
    pub(crate) fn writes(&self) -> bool {
        matches!(self, PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_))
    }
}

/// One key of an ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SortKey {
    pub(crate) expr: Expr,
    pub(crate) descending: bool,
}

/// SELECT over one table or none.
pub(crate) struct SelectPlan {
    pub(crate) table: Option<Arc<Table>>,
    pub(crate) access: Access,
    /// Columns of the table that anything reads.
    pub(crate) wanted: Vec<usize>,
    pub(crate) filter: Option<Expr>,
    pub(crate) grouping: Option<Grouping>,
    pub(crate) having: Option<Expr>,
    /// The select list.
    pub(crate) outputs: Vec<Expr>,
    pub(crate) distinct: bool,
    pub(crate) sort: Vec<SortKey>,
    pub(crate) limit: Option<LimitExprs>,
    pub(crate) locking: Option<Locking>,
    /// Length of the row.
    pub(crate) slots: usize,
}

/// How a SELECT locks the rows it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    /// FOR UPDATE, not FOR SHARE.
    pub(crate) exclusive: bool,
    /// What to do where a row is locked.
    pub(crate) wait: RowWait,
}

/// LIMIT, before its parameters are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LimitExprs {
    pub(crate) offset: Option<Expr>,
    pub(crate) count: Expr,
}

/// GROUP BY and aggregates; results of the aggregates go to the slots from `first_slot` on.
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Expr>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) first_slot: usize,
}

/// INSERT, REPLACE.
pub(crate) struct InsertPlan {
    pub(crate) table: Arc<Table>,
    pub(crate) replace: bool,
    pub(crate) ignore: bool,
    /// The column that each value is for.
    pub(crate) targets: Vec<usize>,
    /// Columns without a value.
    pub(crate) defaults: Vec<usize>,
    pub(crate) source: InsertRows,
    /// What ON DUPLICATE KEY UPDATE sets.
    pub(crate) on_duplicate: Vec<(usize, InsertValue)>,
}

/// The rows of an INSERT.
pub(crate) enum InsertRows {
    Values(Vec<Vec<InsertValue>>),
    Select(Box<SelectPlan>),
}

/// One value of an INSERT.
pub(crate) enum InsertValue {
    Expr(Expr),
    /// DEFAULT
    Default,
}

/// UPDATE of one table.
pub(crate) struct UpdatePlan {
    pub(crate) table: Arc<Table>,
    pub(crate) ignore: bool,
    pub(crate) access: Access,
    pub(crate) filter: Option<Expr>,
    pub(crate) assignments: Vec<(usize, Expr)>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    pub(crate) touched: Vec<usize>,
    /// Columns that anything reads.
    pub(crate) wanted: Vec<usize>,
    pub(crate) sort: Vec<SortKey>,
    pub(crate) limit: Option<Expr>,
}

/// DELETE from one table.
pub(crate) struct DeletePlan {
    pub(crate) table: Arc<Table>,
    pub(crate) access: Access,
    pub(crate) filter: Option<Expr>,
    pub(crate) sort: Vec<SortKey>,
    pub(crate) limit: Option<Expr>,
}

/// Plans a statement.
pub(crate) fn plan(statement: Statement, cx: &PlanContext<'_>) -> Result<Plan, SqlError> {
    let (kind, columns) = match statement {
        Statement::Select(select) => {
            let (plan, columns) = select::plan(&select, cx)?;
            (PlanKind::Select(plan), columns)
        }
        Statement::Insert(insert) => (PlanKind::Insert(change::insert(&insert, cx)?), Vec::new()),
        Statement::Update(update) => (PlanKind::Update(change::update(&update, cx)?), Vec::new()),
        Statement::Delete(delete) => (PlanKind::Delete(change::delete(&delete, cx)?), Vec::new()),
        other => (PlanKind::Tree(other), Vec::new()),
    };
    Ok(Plan { kind, columns })
}

/// The table's columns that `exprs` read, in order.
fn wanted_columns<'e>(table: &Table, exprs: impl Iterator<Item = &'e Expr>) -> Vec<usize> {
    let count = table.def.columns.len();
    let mut seen = vec![false; count];
    for expr in exprs {
        expr.walk(&mut |part| {
            if let Expr::Column(column) = part
                && column.slot < count
            {
                seen[column.slot] = true;
            }
        });
    }
    (0..count).filter(|column| seen[*column]).collect()
}
