//! From syntax trees to plans.
//!
//! A query goes through four stages, one file each:
//! [`resolve`] binds its names (→ [`query::Query`]), [`rewrite`] makes it simpler (→ a query that means the same),
//! [`order`] chooses the order of the relations and how the rows of each are found (→ [`order::Step`]s with
//! [`access::Access`]es), and [`physical`] builds the tree of operators (→ [`QueryPlan`]), which
//! [`crate::exec::operators`] runs. [`change`] plans what becomes of the rows that a query finds. [`unsupported`] refuses
//! what no stage can do.
//!
//! A query within another one goes through all stages before the one around it: in FROM ([`from`]), as an operand of
//! UNION ([`set`]) or by a name of WITH ([`with`]) it is a relation whose rows are made, in an expression a value
//! ([`subquery`]).
//!
//! A plan is made for certain versions of its tables and run many times with different parameters. What depends on
//! their values is decided where it is opened: the keys of an access path, whether rows are locked, a limit.

pub(crate) mod access;
pub(crate) mod aggregated;
mod all_answers;
mod alternatives;
mod asked;
pub(crate) mod bind;
mod change;
mod change_joined;
pub(crate) mod cost;
mod dependence;
mod equalities;
pub(crate) mod estimate;
mod from;
mod grouping;
mod hints;
mod into;
pub(crate) mod json_table;
mod loose;
mod merge;
pub(crate) mod node;
mod on_duplicate;
mod order;
mod outer_joins;
mod paths;
mod physical;
mod push_down;
pub(crate) mod query;
mod resolve;
mod rewrite;
mod rows;
mod semi_joins;
mod set;
pub(crate) mod share;
mod subquery;
mod unsupported;
pub(crate) mod window;
mod with;

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use cohort_txn::MetadataMode;

use crate::ast::{self, Hints, Statement};
use crate::catalog::definition::ColumnDef;
use crate::catalog::store::{Catalog, database_or};
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::error::{ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, SqlError};
use crate::expr::{Expr, Literals};
use crate::privilege::INFORMATION_SCHEMA;
use crate::privilege::needs::{Holder, Need, Needs};
use crate::privilege::{Privilege, PrivilegeSet};
use crate::session::{DiagnosticLevel, SessionState};
use crate::stack;
use crate::types::{Charset, ResultColumn, ResultType, SqlMode};
use crate::value::Value;
use bind::Around;
use node::{AskedQuery, CommonPlan, QueryPlan, RowSource};
use query::{Query, Source};
use share::Constants;

/// What the names of a statement are resolved in.
#[derive(Clone, Copy)]
pub(crate) struct PlanContext<'a> {
    pub(crate) catalog: &'a Catalog,
    /// The default database.
    pub(crate) database: Option<&'a str>,
    pub(crate) sql_mode: SqlMode,
    pub(crate) literals: Literals,
    /// `group_concat_max_len`, bytes.
    pub(crate) group_concat_max_len: u64,
    /// Who asks: tables are not shown to those who may not see them.
    pub(crate) holder: &'a Holder,
    /// The tables that WITH makes.
    pub(crate) commons: Option<&'a with::Commons<'a>>,
    /// Tables, by their ids, that a query cannot read because the statement changes them.
    pub(crate) changed: &'a [u64],
    /// It can under another name: it stands among the values of an INSERT, which are made before a row is.
    pub(crate) reads_renamed: bool,
    /// The statement is a SELECT.
    pub(crate) only_reads: bool,
    pub(crate) constants: Constants,
    /// `derived_condition_pushdown` of `optimizer_switch`.
    pub(crate) pushes_conditions: bool,
    pub(crate) collected: &'a Collected,
}

/// What belongs to a plan as a whole, collected while it is made.
#[derive(Default)]
pub(crate) struct Collected {
    needs: RefCell<Vec<Need>>,
    uses: RefCell<Vec<TableUse>>,
    queries: RefCell<Vec<Option<AskedQuery>>>,
    /// What queries around may take in of these.
    blocks: RefCell<Vec<Option<semi_joins::Block>>>,
    /// A place is taken before its table is planned.
    commons: RefCell<Vec<Option<CommonPlan>>>,
    warnings: RefCell<Vec<SqlError>>,
}

/// A table as a statement names it.
pub(crate) struct TableUse {
    pub(crate) table: Arc<Table>,
    /// Its alias, or its name.
    pub(crate) known_as: String,
    /// The version of its statistics that the plan rests on.
    statistics: u64,
    /// Its rows are changed, or locked for that.
    pub(crate) written: bool,
    /// Its rows are read as the statement's snapshot has them, if the isolation level allows that.
    pub(crate) by_snapshot: bool,
}

/// What a statement says of a table beside its name.
#[derive(Clone, Copy, Default)]
struct Usage<'a> {
    alias: Option<&'a str>,
    lock: Option<RowLocks>,
    /// The privilege to change it does as well: what is changed and what is read is not known yet.
    or_update: bool,
}

/// A locking clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowLocks {
    ForUpdate,
    ForShare,
}

impl PlanContext<'_> {
    /// Notes a warning that every run of the plan gives.
    fn warn(&self, warning: SqlError) {
        self.collected.warnings.borrow_mut().push(warning);
    }

    /// A table, for whoever has this privilege on it or on some of its columns: else 1142, be it there or not. System
    /// tables are to be read only.
    fn table(&self, name: &ast::TableName, privilege: Privilege, usage: Usage<'_>) -> Result<Arc<Table>, SqlError> {
        let database = database_or(name.database.as_deref(), self.database)?;
        if privilege != Privilege::Select && database.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
            return Err(system::no_changes(database, self.holder));
        }
        let (of, called) = (database.to_owned(), name.table.clone());
        let need = match usage.or_update {
            true => Need::AnyOnTable(of, called, PrivilegeSet::of(&[privilege, Privilege::Update])),
            false => Need::OnSomeColumn(of, called, privilege),
        };
        self.holder.check([&need])?;
        self.collected.needs.borrow_mut().push(need);
        let table = self.catalog.table(database, &name.table);
        if table.is_err() && system::lacks_tables(database) {
            return Err(SqlError::unsupported(format_args!("tables of {database}")));
        }
        let table = table?;
        let known_as = usage.alias.unwrap_or(&name.table).to_owned();
        let written = usage.lock == Some(RowLocks::ForUpdate) || privilege != Privilege::Select;
        let by_snapshot = !written && usage.lock.is_none();
        let statistics = table.counters.statistics.version();
        let used = TableUse { table: table.clone(), known_as, statistics, written, by_snapshot };
        self.collected.uses.borrow_mut().push(used);
        match privilege {
            Privilege::Select => Ok(table.clone()),
            _ if system::is_one(table) => Err(system::no_changes(database, self.holder)),
            _ => Ok(table.clone()),
        }
    }

    /// Notes that a table which FROM has named is changed, for whoever has this privilege on it or on some of its columns.
    fn changes(&self, table: &Table, known_as: &str, privilege: Privilege) -> Result<(), SqlError> {
        let def = &table.def;
        if system::is_one(table) {
            return Err(system::no_changes(&def.database, self.holder));
        }
        let need = Need::OnSomeColumn(def.database.clone(), def.name.clone(), privilege);
        self.holder.check([&need])?;
        self.collected.needs.borrow_mut().push(need);
        let mut uses = self.collected.uses.borrow_mut();
        for used in uses.iter_mut().filter(|used| used.table.def.id == def.id && used.known_as == known_as) {
            (used.written, used.by_snapshot) = (true, false);
        }
        Ok(())
    }

    /// Notes that columns of a table are read or changed.
    fn needs_columns(&self, table: &Table, privilege: Privilege, columns: impl IntoIterator<Item = usize>) {
        let names: Vec<String> = columns.into_iter().map(|column| table.def.columns[column].name.clone()).collect();
        if !names.is_empty() {
            let def = &table.def;
            self.collected.needs.borrow_mut().push(Need::OnColumns(
                def.database.clone(),
                def.name.clone(),
                privilege,
                names,
            ));
        }
    }

    /// Notes what a query reads of its tables.
    fn needs_reads(&self, query: &Query) {
        for relation in &query.relations {
            let Some(table) = relation.table() else { continue };
            self.needs_columns(table, Privilege::Select, relation.columns_read(query.exprs()));
            if relation.locking.is_some_and(|locking| locking.exclusive) {
                let any = PrivilegeSet::of(&[Privilege::Update, Privilege::Delete, Privilege::LockTables]);
                let def = &table.def;
                self.collected.needs.borrow_mut().push(Need::AnyOnTable(def.database.clone(), def.name.clone(), any));
            }
        }
    }
}

/// A statement ready to run.
pub(crate) struct Plan {
    pub(crate) kind: PlanKind,
    /// What whoever runs it has to hold.
    pub(crate) needs: Needs,
    /// Its tables, each as often as it is named.
    pub(crate) uses: Vec<TableUse>,
    /// The queries within expressions, by their places; `None` for one that a join has taken in.
    pub(crate) queries: Vec<Option<AskedQuery>>,
    /// The tables that WITH makes, by their places.
    pub(crate) commons: Vec<CommonPlan>,
    /// The columns of its result; empty if it gives none.
    pub(crate) columns: Vec<ResultColumn>,
    /// The user variables that its one row goes to, and not to the client, with the collations that they get.
    pub(crate) into: Option<Vec<(Arc<str>, Collation)>>,
    /// The statement's hints, if it has any.
    hints: Option<Arc<OnceLock<Hints>>>,
    /// Of each run: hints that are left out.
    pub(crate) warnings: Vec<SqlError>,
}

impl Plan {
    /// The hints of the statement, if it has any.
    pub(crate) fn hints(&self) -> Option<&Hints> {
        self.hints.as_ref()?.get()
    }

    /// Gives the session the warnings of a run.
    pub(crate) fn show_warnings(&self, session: &SessionState) {
        for warning in &self.warnings {
            session.push_diagnostic(DiagnosticLevel::Warning, warning.clone());
        }
    }

    /// Whether its tables are what they were when it was made.
    pub(crate) fn is_current(&self) -> bool {
        self.uses.iter().all(|used| used.table.is_current())
    }

    /// Whether it would be worth while to make it again, since its tables have become much larger or smaller.
    pub(crate) fn is_stale(&self) -> bool {
        self.uses.iter().any(|used| used.table.counters.statistics.version() != used.statistics)
    }

    /// How it locks the definition of each table.
    pub(crate) fn metadata_locks(&self) -> impl Iterator<Item = (&Arc<Table>, MetadataMode)> {
        let mode = |used: &TableUse| if used.written { MetadataMode::SharedWrite } else { MetadataMode::SharedRead };
        self.uses.iter().map(move |used| (&used.table, mode(used)))
    }

    /// Whether a query within gives the same answer whenever it is asked with the same values while a run goes on.
    ///
    /// A plain read does: at READ COMMITTED the statement has one snapshot, and above what a change reads stays locked. It
    /// does not where rows have been changed that it reads, nor where a clause locks rows, which at READ COMMITTED keeps no
    /// others away, and passes over what is locked at the moment.
    pub(crate) fn answers_stay(&self) -> bool {
        // Of these queries are asked before the first row is changed: `None`.
        let (changed, asked_between) = match &self.kind {
            PlanKind::Select(_) => return true,
            PlanKind::Utility(_) => return false,
            PlanKind::Update(UpdatePlan { table, .. }) | PlanKind::Delete(DeletePlan { table, .. }) => (1, Some(table)),
            PlanKind::Insert(insert) => (usize::from(!insert.creates), insert.asks_between().then_some(&insert.table)),
            PlanKind::UpdateJoined(update) => (update.targets.len(), None),
            PlanKind::DeleteJoined(delete) => (delete.tables.len(), None),
        };
        let locked = self.uses.iter().filter(|used| !used.by_snapshot).count();
        let named = |table: &Arc<Table>| self.uses.iter().filter(|used| used.table.def.id == table.def.id).count();
        locked <= changed && asked_between.is_none_or(|table| named(table) <= changed)
    }

    /// Whether it changes rows, or locks them as if it would.
    pub(crate) fn locks_for_change(&self) -> bool {
        self.kind.writes() || self.uses.iter().any(|used| used.written)
    }
}

/// What a plan does.
pub(crate) enum PlanKind {
    Select(QueryPlan),
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    UpdateJoined(JoinedUpdate),
    DeleteJoined(JoinedDelete),
    /// Not planned: run from its syntax tree.
    Utility(Statement),
}

impl PlanKind {
    /// Whether it changes rows.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self, PlanKind::Select(_) | PlanKind::Utility(_))
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
    /// The statement creates the table too.
    pub(crate) creates: bool,
    /// What ON DUPLICATE KEY UPDATE sets.
    pub(crate) on_duplicate: Vec<(usize, InsertValue)>,
}

impl InsertPlan {
    /// Whether queries within are asked when some rows are written already. Those of a SELECT are all read before.
    fn asks_between(&self) -> bool {
        let asks = |value: &InsertValue| matches!(value, InsertValue::Expr(expr) if expr.has_queries());
        matches!(self.source, InsertRows::Values(_)) || self.on_duplicate.iter().any(|(_, value)| asks(value))
    }
}

/// The rows of an INSERT.
pub(crate) enum InsertRows {
    Values(Vec<Vec<InsertValue>>),
    /// Of a text for a column of bytes, its place in the rows, and the character set whose bytes are meant.
    Query(Box<QueryPlan>, Vec<(usize, Charset)>),
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
    pub(crate) ignore: bool,
    /// What finds and locks the rows.
    pub(crate) rows: QueryPlan,
}

/// UPDATE of rows that a join finds.
pub(crate) struct JoinedUpdate {
    pub(crate) ignore: bool,
    /// What finds and locks the rows.
    pub(crate) rows: QueryPlan,
    /// In the order of the rows' identities.
    pub(crate) targets: Vec<UpdateTarget>,
}

/// A relation whose rows get new values.
pub(crate) struct UpdateTarget {
    pub(crate) table: Arc<Table>,
    /// Where in the row its columns are.
    pub(crate) first_slot: usize,
    pub(crate) assignments: Vec<(usize, Expr)>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    pub(crate) touched: Vec<usize>,
    /// Columns whose values before the change are needed.
    pub(crate) before: Vec<usize>,
    /// The statement changes the table under another name too.
    pub(crate) has_twin: bool,
}

/// DELETE of rows that a join finds.
pub(crate) struct JoinedDelete {
    pub(crate) ignore: bool,
    /// What finds and locks the rows.
    pub(crate) rows: QueryPlan,
    /// In the order of the rows' identities.
    pub(crate) tables: Vec<Arc<Table>>,
}

/// Plans a statement.
pub(crate) fn plan(statement: Statement, cx: &PlanContext<'_>) -> Result<Plan, SqlError> {
    let mut into = None;
    let hints = statement.hints();
    let cx = &PlanContext { only_reads: matches!(statement, Statement::Select(_)), ..*cx };
    let (kind, columns) = match statement {
        Statement::Select(mut select) => {
            let variables = into::take_variables(&mut select)?;
            let (query, mut columns) = resolve::query(&select, Around { cx: Some(cx), names: None })?;
            if let Some(variables) = variables {
                if variables.len() != columns.len() {
                    return Err(SqlError::new(ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, &[]));
                }
                let collations = columns.drain(..).map(|column| column.result_type.collation);
                into = Some(variables.into_iter().zip(collations).collect());
            }
            (PlanKind::Select(finish(query, cx)?), columns)
        }
        Statement::Insert(insert) => (PlanKind::Insert(change::insert(&insert, cx)?), Vec::new()),
        Statement::Update(update) => (change::update(&update, cx)?, Vec::new()),
        Statement::Delete(delete) => (change::delete(&delete, cx)?, Vec::new()),
        other => (PlanKind::Utility(other), Vec::new()),
    };
    Ok(Plan { hints, ..collected(kind, columns, into, cx) })
}

/// Plans what gives those of some rows that a condition with queries in it holds for.
pub(crate) fn filtered(
    rows: Vec<Vec<Value>>,
    columns: Vec<ResultColumn>,
    condition: &ast::Expr,
    cx: &PlanContext<'_>,
) -> Result<Plan, SqlError> {
    let (query, columns) = resolve::filtered(rows, columns, condition, Around { cx: Some(cx), names: None })?;
    Ok(collected(PlanKind::Select(finish(query, cx)?), columns, None, cx))
}

/// A column of the query that a table is made of.
pub(crate) struct NewColumn {
    pub(crate) name: Arc<str>,
    pub(crate) result_type: ResultType,
    /// The stored column that it is, and nothing more.
    pub(crate) of: Option<ColumnDef>,
}

/// Plans the query that a table is made of, with these parameters.
pub(crate) fn new_table(
    rows: &ast::Query,
    params: &[Value],
    cx: &PlanContext<'_>,
) -> Result<(QueryPlan, Vec<NewColumn>), SqlError> {
    let (query, columns) = resolve::query(rows, Around { cx: Some(cx), names: None })?;
    let of = |output: &Expr| match output {
        Expr::Column(column) => {
            let (relation, at) = query::column_at(&query.relations, column.slot)?;
            relation.table().map(|table| table.def.columns[at].clone())
        }
        _ => None,
    };
    let columns = columns.into_iter().zip(&query.outputs).map(|(column, output)| NewColumn {
        name: column.name,
        result_type: match output.has_params() {
            true => output.result_type(params),
            false => column.result_type.nullable(!output.is_never_null()),
        },
        of: of(output),
    });
    let columns = columns.collect();
    Ok((finish(query, cx)?, columns))
}

/// The plan that fills a table nobody knows yet with the rows of a query: they are for the columns `targets`.
pub(crate) fn fill(
    table: Arc<Table>,
    rows: (QueryPlan, &[NewColumn]),
    targets: Vec<usize>,
    how: &ast::NewRows,
    cx: &PlanContext<'_>,
) -> Result<Plan, SqlError> {
    let kind = PlanKind::Insert(change::fill(table, rows, targets, how)?);
    Ok(collected(kind, Vec::new(), None, cx))
}

/// A plan with all that was collected for it.
fn collected(
    kind: PlanKind,
    columns: Vec<ResultColumn>,
    into: Option<Vec<(Arc<str>, Collation)>>,
    cx: &PlanContext<'_>,
) -> Plan {
    let Collected { needs, uses, queries, commons, .. } = cx.collected;
    let (needs, uses) = (Needs::new(needs.take()), uses.take());
    let commons = commons.take().into_iter().flatten().collect();
    let (hints, warnings) = (None, cx.collected.warnings.take());
    Plan { kind, needs, uses, queries: queries.take(), commons, columns, into, hints, warnings }
}

/// All stages of a query within another one, and the columns that it gives.
fn within(query: &ast::Query, around: Around<'_>) -> Result<(QueryPlan, Vec<ResultColumn>), SqlError> {
    let (query, columns) = resolve::query(query, around)?;
    Ok((finish(query, cx_of(around)?)?, columns))
}

/// A query that is a part of an expression.
struct Asked {
    plan: AskedQuery,
    columns: Vec<ResultColumn>,
    /// What the query around may take in of it.
    block: Option<semi_joins::Block>,
}

/// All stages of such a query.
fn asked(query: &ast::Query, around: Around<'_>) -> Result<Asked, SqlError> {
    let (query, columns) = resolve::query(query, around)?;
    let cx = cx_of(around)?;
    let query = rewritten(query, cx)?;
    let block = if cx.only_reads { semi_joins::Block::of(&query) } else { None };
    let all_answers = if cx.only_reads { all_answers::Form::of(&query) } else { None };
    let plan = built(query, cx.constants, &cx.collected.queries.borrow())?;
    let all_answers =
        all_answers.map(|form| all_answers::planned(form, &plan, cx.constants)).transpose()?.map(Box::new);
    Ok(Asked { plan: AskedQuery { plan, all_answers }, columns, block })
}

/// A derived table with its names bound, and which of its columns decide others.
fn derived(
    query: &ast::Query,
    around: Around<'_>,
) -> Result<(Query, Vec<ResultColumn>, Vec<dependence::Decides>), SqlError> {
    let (query, columns) = resolve::query(query, around)?;
    let decides = dependence::of_outputs(&query);
    Ok((query, columns, decides))
}

/// An operand of a set operation, with its derived tables merged: the result has the types of what it selects then.
fn operand(body: &ast::QueryBody, around: Around<'_>) -> Result<(Query, Vec<ResultColumn>), SqlError> {
    let (mut query, columns) = resolve::body(body, around)?;
    merge::merge(&mut query);
    Ok((query, columns))
}

/// What the names of a query within are resolved in.
fn cx_of(around: Around<'_>) -> Result<&PlanContext<'_>, SqlError> {
    around.cx.ok_or_else(|| SqlError::unsupported("subqueries here"))
}

/// The stages of a query after the first.
fn finish(query: Query, cx: &PlanContext<'_>) -> Result<QueryPlan, SqlError> {
    let query = rewritten(query, cx)?;
    built(query, cx.constants, &cx.collected.queries.borrow())
}

/// The second stage, with all stages of what is left of derived tables, and of set operations.
fn rewritten(mut query: Query, cx: &PlanContext<'_>) -> Result<Query, SqlError> {
    merge::merge(&mut query);
    let mut query = rewrite::rewrite(query, cx);
    for relation in &mut query.relations {
        let (rows, columns) = match &mut relation.source {
            Source::Derived { query, columns } => {
                let query = std::mem::take(&mut **query);
                let plan = stack::with_room_for_query(|| finish(query, cx))?;
                (RowSource::Query(Box::new(plan)), std::mem::take(columns))
            }
            Source::Set { operands, columns } => {
                let operands = std::mem::take(operands);
                let rows = stack::with_room_for_query(|| set::planned(operands, columns, cx))?;
                (rows, std::mem::take(columns))
            }
            Source::Table(_) | Source::Made { .. } => continue,
        };
        relation.source = Source::Made { rows, columns };
    }
    Ok(query)
}

/// The last two. `queries` are those that its expressions may ask.
fn built(query: Query, constants: Constants, queries: &[Option<AskedQuery>]) -> Result<QueryPlan, SqlError> {
    let steps = order::choose(&query, constants, queries)?;
    Ok(physical::build(query, steps, constants))
}
