//! From syntax trees to plans.
//!
//! A query goes through four stages, one file each:
//! [`resolve`] binds its names (→ [`query::Query`]), [`rewrite`] makes it simpler (→ a query that means the same),
//! [`access`] chooses the order of the relations and how the rows of each are found (→ [`access::Access`]), and
//! [`physical`] builds the tree of operators (→ [`QueryPlan`]), which [`crate::exec::operators`] runs.
//! [`change`] plans what becomes of the rows that a query finds. [`unsupported`] refuses what no stage can do.
//!
//! A plan is made for certain versions of its tables and run many times with different parameters. What depends on
//! their values is decided where it is opened: the keys of an access path, whether rows are locked, a limit.

pub(crate) mod access;
pub(crate) mod bind;
mod change;
pub(crate) mod physical;
pub(crate) mod query;
mod resolve;
mod rewrite;
mod unsupported;

use std::cell::RefCell;
use std::sync::Arc;

use cohort_txn::MetadataMode;

use crate::ast::{self, Statement};
use crate::catalog::store::{Catalog, database_or};
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::error::SqlError;
use crate::expr::Expr;
use crate::privilege::INFORMATION_SCHEMA;
use crate::privilege::needs::{Holder, Need, Needs};
use crate::privilege::{Privilege, PrivilegeSet};
use crate::types::{ResultColumn, SqlMode};
use physical::{QueryPlan, RowLocks};
use query::Query;

/// What the names of a statement are resolved in.
#[derive(Clone, Copy)]
pub(crate) struct PlanContext<'a> {
    pub(crate) catalog: &'a Catalog,
    /// The default database.
    pub(crate) database: Option<&'a str>,
    pub(crate) sql_mode: SqlMode,
    /// Who asks: tables are not shown to those who may not see them.
    pub(crate) holder: &'a Holder,
    /// What the plan needs, collected while it is made.
    pub(crate) needs: &'a RefCell<Vec<Need>>,
    /// The tables it names, likewise.
    pub(crate) uses: &'a RefCell<Vec<TableUse>>,
}

/// A table as a statement names it.
pub(crate) struct TableUse {
    /// The table's id.
    pub(crate) id: u64,
    /// Its alias, or its name.
    pub(crate) known_as: String,
    /// Its rows are changed, or locked for that.
    pub(crate) written: bool,
}

/// What a statement says of a table beside its name.
#[derive(Clone, Copy, Default)]
struct Usage<'a> {
    alias: Option<&'a str>,
    /// FOR UPDATE
    locked: bool,
}

impl PlanContext<'_> {
    /// A table, for whoever has this privilege on it or on some of its columns: else 1142, be it there or not. System
    /// tables are to be read only.
    fn table(&self, name: &ast::TableName, privilege: Privilege, usage: Usage<'_>) -> Result<Arc<Table>, SqlError> {
        let database = database_or(name.database.as_deref(), self.database)?;
        if privilege != Privilege::Select && database.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
            return Err(system::no_changes(database, self.holder));
        }
        let need = Need::OnSomeColumn(database.to_owned(), name.table.clone(), privilege);
        self.holder.check([&need])?;
        self.needs.borrow_mut().push(need);
        let table = self.catalog.table(database, &name.table);
        if table.is_err() && system::lacks_tables(database) {
            return Err(SqlError::unsupported(format_args!("tables of {database}")));
        }
        let table = table?;
        if !system::is_one(table) {
            let known_as = usage.alias.unwrap_or(&name.table).to_owned();
            let written = usage.locked || privilege != Privilege::Select;
            self.uses.borrow_mut().push(TableUse { id: table.def.id, known_as, written });
        }
        match privilege {
            Privilege::Select => Ok(table.clone()),
            _ if system::is_one(table) => Err(system::no_changes(database, self.holder)),
            _ => Ok(table.clone()),
        }
    }

    /// Notes that columns of a table are read or changed.
    fn needs_columns(&self, table: &Table, privilege: Privilege, columns: impl IntoIterator<Item = usize>) {
        let names: Vec<String> = columns.into_iter().map(|column| table.def.columns[column].name.clone()).collect();
        if !names.is_empty() {
            let def = &table.def;
            self.needs.borrow_mut().push(Need::OnColumns(def.database.clone(), def.name.clone(), privilege, names));
        }
    }

    /// Notes what a query reads of its tables.
    fn needs_reads(&self, query: &Query) {
        for relation in &query.relations {
            self.needs_columns(&relation.table, Privilege::Select, relation.columns_read(query.exprs()));
            if query.locking.is_some_and(|locking| locking.exclusive) {
                let any = PrivilegeSet::of(&[Privilege::Update, Privilege::Delete, Privilege::LockTables]);
                let def = &relation.table.def;
                self.needs.borrow_mut().push(Need::AnyOnTable(def.database.clone(), def.name.clone(), any));
            }
        }
    }
}

/// A statement ready to run.
pub(crate) struct Plan {
    pub(crate) kind: PlanKind,
    /// What whoever runs it has to hold.
    pub(crate) needs: Needs,
    /// Its tables, as LOCK TABLES must have named them.
    pub(crate) uses: Vec<TableUse>,
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
    Select(QueryPlan),
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    /// Not planned: run from its syntax tree.
    Utility(Statement),
}

impl PlanKind {
    /// The tables that the plan works on.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        let (written, read): (_, &[Arc<Table>]) = match self {
            PlanKind::Select(query) => (None, &query.tables),
            PlanKind::Insert(insert) => match &insert.source {
                InsertRows::Query(query) => (Some(&insert.table), &query.tables),
                InsertRows::Values(_) => (Some(&insert.table), &[]),
            },
            PlanKind::Update(update) => (None, &update.rows.tables),
            PlanKind::Delete(delete) => (None, &delete.rows.tables),
            PlanKind::Utility(_) => (None, &[]),
        };
        written.into_iter().chain(read)
    }

    /// How it locks the definition of each table.
    pub(crate) fn metadata_locks(&self) -> impl Iterator<Item = (&Arc<Table>, MetadataMode)> {
        let only_first = matches!(self, PlanKind::Insert(_));
        let writes = self.locks_for_change();
        self.tables().enumerate().map(move |(at, table)| {
            let written = writes && (at == 0 || !only_first);
            (table, if written { MetadataMode::SharedWrite } else { MetadataMode::SharedRead })
        })
    }

    /// Whether it changes rows, or locks them as if it would.
    pub(crate) fn locks_for_change(&self) -> bool {
        self.writes() || matches!(self, PlanKind::Select(query) if query.locks == Some(RowLocks::ForUpdate))
    }

    /// Whether it changes rows.
    pub(crate) fn writes(&self) -> bool {
        matches!(self, PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_))
    }
}

/// INSERT, REPLACE.
pub(crate) struct InsertPlan {
    pub(crate) table: Arc<Table>,
    pub(crate) replace: bool,
    pub(crate) ignore: bool,
    /// The column that each value is for.
    pub(crate) targets: Vec<usize>,
    /// Columns without a value, but for those of the next list.
    pub(crate) defaults: Vec<usize>,
    /// Columns without a value whose default is an expression.
    pub(crate) default_exprs: Vec<(usize, Expr)>,
    /// Columns that values of VALUES read.
    pub(crate) read: Vec<usize>,
    pub(crate) source: InsertRows,
    /// What ON DUPLICATE KEY UPDATE sets.
    pub(crate) on_duplicate: Vec<(usize, InsertValue)>,
}

/// The rows of an INSERT.
pub(crate) enum InsertRows {
    Values(Vec<Vec<InsertValue>>),
    Query(Box<QueryPlan>),
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
    /// What finds and locks the rows.
    pub(crate) rows: QueryPlan,
    pub(crate) assignments: Vec<(usize, Expr)>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    pub(crate) touched: Vec<usize>,
    /// Columns whose values before the change are needed.
    pub(crate) before: Vec<usize>,
}

/// DELETE from one table.
pub(crate) struct DeletePlan {
    pub(crate) table: Arc<Table>,
    /// What finds and locks the rows.
    pub(crate) rows: QueryPlan,
}

/// Plans a statement.
pub(crate) fn plan(statement: Statement, cx: &PlanContext<'_>) -> Result<Plan, SqlError> {
    let (kind, columns) = match statement {
        Statement::Select(select) => {
            let (query, columns) = resolve::query(&select, cx)?;
            (PlanKind::Select(finish(query)?), columns)
        }
        Statement::Insert(insert) => (PlanKind::Insert(change::insert(&insert, cx)?), Vec::new()),
        Statement::Update(update) => (PlanKind::Update(change::update(&update, cx)?), Vec::new()),
        Statement::Delete(delete) => (PlanKind::Delete(change::delete(&delete, cx)?), Vec::new()),
        other => (PlanKind::Utility(other), Vec::new()),
    };
    Ok(Plan { kind, needs: Needs::new(cx.needs.take()), uses: cx.uses.take(), columns })
}

/// The stages of a query after the first.
fn finish(query: Query) -> Result<QueryPlan, SqlError> {
    let query = rewrite::rewrite(query);
    let paths = access::choose(&query)?;
    Ok(physical::build(query, paths))
}
