//! WITH: tables that a statement makes for itself.
//!
//! Each is planned once, where it is defined, and its rows are made once a statement, however often it is named; of one that
//! reads columns of the query around, once each time that the query runs which has the WITH. One that names itself (RECURSIVE) has a part that gives the first rows, and parts that are run again and again over the
//! rows which the last run gave, until there are no new ones.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::bind::Around;
use super::dependence::{self, Decides};
use super::node::{CommonPlan, QueryPlan, Recursion, RowSource};
use super::query::{Query, Relation, Source};
use super::{PlanContext, cx_of, finish, merge, resolve, set, unsupported};
use crate::ast::{self, CommonTable, Derived, QueryBody, SetOperand, TableExpr, TableName, TableRef, With};
use crate::error::{
    ER_CTE_RECURSIVE_FORBIDS_AGGREGATION, ER_CTE_RECURSIVE_FORBIDS_JOIN_ORDER,
    ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST, ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE,
    ER_CTE_RECURSIVE_REQUIRES_UNION, ER_DUP_FIELDNAME, ER_NONUNIQ_TABLE, ER_VIEW_WRONG_LIST,
    ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, SqlError,
};
use crate::types::ResultColumn;

/// The tables of one WITH, and those of the queries around.
pub(crate) struct Commons<'a> {
    around: Option<&'a Commons<'a>>,
    tables: RefCell<Vec<Common>>,
}

#[derive(Clone)]
struct Common {
    name: String,
    columns: Vec<ResultColumn>,
    decides: Vec<Decides>,
    /// Which of the statement's.
    place: usize,
    /// What a name means while the table is being made; `None` after that.
    making: Option<Making>,
    /// How often it was named while it was made.
    named: Rc<Cell<u32>>,
    /// It reads the query around.
    reads_outer: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Making {
    /// It is no set operation, so that it cannot be made of itself.
    Alone,
    /// Its first rows, which cannot be made of itself.
    Seed,
    /// The rows of a round: those of the last one.
    Round,
}

impl<'a> Commons<'a> {
    /// None yet, beside those around.
    pub(super) fn around(cx: &PlanContext<'a>) -> Commons<'a> {
        Commons { around: cx.commons, tables: RefCell::default() }
    }

    /// Plans the tables of WITH, each of which may name those before it, and itself where that is RECURSIVE.
    pub(super) fn add(&self, with: &With, around: Around<'_>) -> Result<(), SqlError> {
        for table in &with.tables {
            if self.tables.borrow().iter().any(|known| known.name == table.name) {
                return Err(SqlError::new(ER_NONUNIQ_TABLE, &[&table.name]));
            }
            let Some(cx) = around.cx else { return Err(SqlError::internal("WITH stands where no query can")) };
            // The place is taken before other tables are planned within.
            let place = cx.collected.commons.borrow().len();
            cx.collected.commons.borrow_mut().push(None);
            let mut common = Common {
                name: table.name.clone(),
                columns: Vec::new(),
                decides: Vec::new(),
                place,
                making: Some(Making::Alone),
                named: Rc::default(),
                reads_outer: false,
            };
            let plan = match &table.query.body {
                QueryBody::Set { first, rest } if with.recursive => {
                    self.recursive(&mut common, table, first, rest, around)?
                }
                _ => {
                    let by_itself = || resolve::query(&table.query, around);
                    let resolved = if with.recursive { self.beside(&common, by_itself) } else { by_itself() };
                    let (query, columns) = resolved?;
                    common.columns = named_columns(columns, &table.columns)?;
                    common.decides = dependence::of_outputs(&query);
                    CommonPlan::Query(Box::new(finish(query, cx_of(around)?)?))
                }
            };
            common.reads_outer = plan.queries().any(|query| query.reads_outer);
            cx.collected.commons.borrow_mut()[place] = Some(plan);
            common.making = None;
            self.tables.borrow_mut().push(common);
        }
        Ok(())
    }

    /// Resolves something that may name a table which is being made.
    fn beside<T>(&self, common: &Common, resolve: impl FnOnce() -> T) -> T {
        self.tables.borrow_mut().push(common.clone());
        let resolved = resolve();
        self.tables.borrow_mut().pop();
        resolved
    }

    /// Plans a table of several operands: if some name it, the first ones give its first rows, and these the rows of each
    /// round.
    fn recursive(
        &self,
        common: &mut Common,
        table: &CommonTable,
        first: &QueryBody,
        rest: &[SetOperand],
        around: Around<'_>,
    ) -> Result<CommonPlan, SqlError> {
        let (plan, made_anew) = below(table.query.with.as_ref(), around, |cx| {
            self.rounds(common, table, first, rest, Around { cx: Some(cx), ..around })
        })?;
        if made_anew.is_empty() { Ok(plan) } else { Err(unsupported::outer_names_in_with()) }
    }

    fn rounds(
        &self,
        common: &mut Common,
        table: &CommonTable,
        first: &QueryBody,
        rest: &[SetOperand],
        around: Around<'_>,
    ) -> Result<CommonPlan, SqlError> {
        let (mut seeds, mut rounds): (Vec<Query>, Vec<QueryPlan>) = Default::default();
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut types = Vec::new();
        for body in std::iter::once(first).chain(rest.iter().map(|operand| &operand.body)) {
            common.making = Some(if seeds.is_empty() { Making::Seed } else { Making::Round });
            let named = common.named.get();
            let (mut query, columns) = self.beside(common, || resolve::body(body, around))?;
            let named = common.named.get() - named;
            if !seeds.is_empty() && columns.len() != names.len() {
                return Err(SqlError::new(ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, &[]));
            }
            if named > 0 {
                check_round(&query, common, named)?;
                rounds.push(finish(query, cx_of(around)?)?);
                continue;
            }
            if !rounds.is_empty() {
                return Err(SqlError::new(ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST, &[&table.name]));
            }
            if seeds.is_empty() {
                names = columns.iter().map(|column| column.name.clone()).collect();
            }
            merge::merge(&mut query);
            seeds.push(query);
            types = set::types(&seeds, names.len())?;
            // A later round may bring NULLs.
            types.iter_mut().for_each(|of| *of = of.nullable(true));
            let columns = names.iter().zip(&types).map(|(name, of)| ResultColumn::computed(name.clone(), *of));
            common.columns = named_columns(columns.collect(), &table.columns)?;
        }
        if rounds.is_empty() {
            let columns = names.into_iter().zip(types).map(|(name, of)| ResultColumn::computed(name, of));
            let (source, columns) = set::assembled(seeds, columns.collect(), rest)?;
            let (query, columns) = resolve::over(source, columns, &table.query, around)?;
            common.columns = named_columns(columns, &table.columns)?;
            return Ok(CommonPlan::Query(Box::new(finish(query, cx_of(around)?)?)));
        }
        unsupported::recursive(&table.query, rest)?;
        let distinct = rest.iter().any(|operand| !operand.all);
        let collations = types.iter().map(|of| of.collation).collect();
        let names = common.columns.iter().map(|column| column.name.clone()).collect();
        let limit = resolve::limit(table.query.limit.as_ref(), false)?;
        let cx = cx_of(around)?;
        let seeds = seeds.into_iter().map(|seed| finish(seed, cx)).collect::<Result<_, SqlError>>()?;
        Ok(CommonPlan::Recursive(Box::new(Recursion { seeds, rounds, distinct, limit, names, types, collations })))
    }

    /// The places of those that read the query around.
    fn made_anew(&self) -> Vec<usize> {
        self.tables.borrow().iter().filter(|table| table.reads_outer).map(|table| table.place).collect()
    }

    fn find(&self, name: &str) -> Option<Common> {
        let own = self.tables.borrow().iter().find(|table| table.name == name).cloned();
        own.or_else(|| self.around?.find(name))
    }
}

/// What a round may not do: sort, count or compare its rows, group, or name the table but once, in FROM, where it is not NULL.
fn check_round(query: &Query, table: &Common, named: u32) -> Result<(), SqlError> {
    let wrong = |code| Err(SqlError::new(code, &[&table.name]));
    if !query.sort.is_empty() || query.limit.is_some() || query.distinct {
        return Err(unsupported::round());
    }
    if query.grouping.is_some() || !query.windows.is_empty() {
        return wrong(ER_CTE_RECURSIVE_FORBIDS_AGGREGATION);
    }
    let is_last_round = |relation: &&Relation| matches!(relation.source, Source::Made { rows: RowSource::LastRound(of), .. } if of == table.place);
    match query.relations.iter().find(is_last_round) {
        Some(relation) if relation.optional => wrong(ER_CTE_RECURSIVE_FORBIDS_JOIN_ORDER),
        Some(_) if named == 1 => Ok(()),
        _ => wrong(ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE),
    }
}

/// Plans something below a WITH, if there is one; gives the places of its tables that read the query around as well.
pub(super) fn below<T>(
    with: Option<&With>,
    around: Around<'_>,
    plan: impl FnOnce(&PlanContext<'_>) -> Result<T, SqlError>,
) -> Result<(T, Vec<usize>), SqlError> {
    let Some(cx) = around.cx else { return Err(SqlError::internal("WITH stands where no query can")) };
    let Some(with) = with else { return Ok((plan(cx)?, Vec::new())) };
    let commons = Commons::around(cx);
    let cx = PlanContext { commons: Some(&commons), ..*cx };
    // Their rows are made before any is changed.
    let making = PlanContext { changed: &[], ..cx };
    commons.add(with, Around { cx: Some(&making), ..around })?;
    Ok((plan(&cx)?, commons.made_anew()))
}

/// A query of its own whose last tables of WITH, as far as each is named once and in FROM, stand there as derived tables,
/// which can become parts of it. `None` if there is no such table.
pub(super) fn derived(query: &ast::Query, around: Around<'_>) -> Option<Box<ast::Query>> {
    let with = query.with.as_ref().filter(|with| !with.recursive && around.names.is_none())?;
    let known = |at: usize| with.tables[..at].iter().any(|other| other.name == with.tables[at].name);
    if (0..with.tables.len()).any(known) {
        return None;
    }
    // What those before the last mean by its name is not known here.
    last_named_once(with)?;
    let mut query = Box::new(query.clone());
    let mut changed = false;
    while let Some(common) = query.with.as_ref().and_then(last_named_once).cloned() {
        let Some(named) = table_named(&mut query, &common.name) else { break };
        let TableExpr::Table(TableRef { name, alias, .. }) = named else { break };
        let alias = alias.take().unwrap_or_else(|| std::mem::take(&mut name.table));
        let derived = Derived { lateral: false, query: common.query, alias, columns: common.columns };
        *named = TableExpr::Derived(Box::new(derived));
        if let Some(with) = &mut query.with {
            with.tables.pop();
        }
        query.with = query.with.take().filter(|with| !with.tables.is_empty());
        changed = true;
    }
    changed.then_some(query)
}

fn last_named_once(with: &With) -> Option<&CommonTable> {
    with.tables.last().filter(|table| table.named == 1)
}

/// Where the FROM of a query names a table, or that of a derived table in it; not where something else is said of it.
fn table_named<'q>(query: &'q mut ast::Query, name: &str) -> Option<&'q mut TableExpr> {
    let QueryBody::Select(select) = &mut query.body else { return None };
    if !query.locking.is_empty() {
        return None;
    }
    select.from.iter_mut().find_map(|table| in_table(table, name))
}

fn in_table<'q>(table: &'q mut TableExpr, name: &str) -> Option<&'q mut TableExpr> {
    match table {
        TableExpr::Table(TableRef { name: TableName { database: None, table: named }, partitions, hints, .. })
            if *named == name && partitions.is_empty() && hints.is_empty() =>
        {
            Some(table)
        }
        TableExpr::Table(_) | TableExpr::JsonTable(_) => None,
        TableExpr::Derived(derived) if derived.lateral || derived.query.with.is_some() => None,
        TableExpr::Derived(derived) => table_named(&mut derived.query, name),
        TableExpr::Joined { first, joins } => {
            let tables = std::iter::once(&mut **first).chain(joins.iter_mut().map(|join| &mut join.table));
            tables.into_iter().find_map(|table| in_table(table, name))
        }
        TableExpr::List(tables) => tables.iter_mut().find_map(|table| in_table(table, name)),
    }
}

/// What a name of FROM means, if a WITH has made it.
pub(super) fn find(name: &TableName, cx: &PlanContext<'_>) -> Result<Option<(Source, Vec<Decides>)>, SqlError> {
    let common = cx.commons.filter(|_| name.database.is_none()).and_then(|commons| commons.find(&name.table));
    let Some(Common { name, columns, decides, place, making, named, reads_outer }) = common else { return Ok(None) };
    named.set(named.get() + 1);
    let rows = match making {
        None if reads_outer => RowSource::Correlated(place),
        None => RowSource::Common(place),
        Some(Making::Round) => RowSource::LastRound(place),
        Some(Making::Seed) => return Err(SqlError::new(ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST, &[&name])),
        Some(Making::Alone) => return Err(SqlError::new(ER_CTE_RECURSIVE_REQUIRES_UNION, &[&name])),
    };
    Ok(Some((Source::Made { rows, columns }, decides)))
}

/// The columns of a table that is made, under the names that are given with it; 1353 if they are not as many, 1060 if
/// two are called alike.
pub(super) fn named_columns(columns: Vec<ResultColumn>, names: &[String]) -> Result<Vec<ResultColumn>, SqlError> {
    if !names.is_empty() && names.len() != columns.len() {
        return Err(SqlError::new(ER_VIEW_WRONG_LIST, &[]));
    }
    let columns: Vec<ResultColumn> = columns
        .into_iter()
        .enumerate()
        .map(|(at, column)| {
            let name = names.get(at).map_or(column.name, |name| name.as_str().into());
            ResultColumn::computed(name, column.result_type)
        })
        .collect();
    let mut known: Vec<String> = columns.iter().map(|column| column.name.to_lowercase()).collect();
    known.sort_unstable();
    if let Some(pair) = known.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(SqlError::new(ER_DUP_FIELDNAME, &[&pair[0]]));
    }
    Ok(columns)
}
