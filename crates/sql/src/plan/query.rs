//! A query block with its names bound: what [`super::resolve`] makes, [`super::rewrite`] changes, and
//! [`super::physical`] builds operators from.
//!
//! Row layout: the columns of the relations come first, from slot 0 on, in the order of FROM. The results of the
//! aggregates follow, what [`Grouping::rollup`] adds, the results of window functions, and then the select list. The row
//! of ON DUPLICATE KEY UPDATE is described in [`super::on_duplicate`]. A query within, in FROM or
//! in an expression, has a row of its own; what it reads of the query around it comes to it as values ([`Expr::Outer`]).

use std::sync::Arc;

use super::dependence::Decides;
use super::node::{JoinType, RowSource};
use crate::ast::{IndexHint, RowWait, SetOperator};
use crate::catalog::definition::ColumnDef;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::expr::aggregate::Aggregate;
use crate::expr::{Expr, WindowFunction};
use crate::spill::KeyOrder;
use crate::types::ResultColumn;

/// One SELECT, or the rows that an UPDATE or DELETE finds.
#[derive(Default)]
pub(super) struct Query {
    pub(super) relations: Vec<Relation>,
    /// How the relations are joined.
    pub(super) from: Nest,
    /// WHERE
    pub(super) filter: Option<Expr>,
    /// Conditions of WHERE and inner joins without columns: no row is looked for where one of them is not true.
    pub(super) once: Vec<Expr>,
    pub(super) grouping: Option<Grouping>,
    pub(super) having: Option<Expr>,
    /// Each over the rows that the one before gives.
    pub(super) windows: Vec<Window>,
    /// The select list.
    pub(super) outputs: Vec<Expr>,
    pub(super) distinct: bool,
    pub(super) sort: Vec<SortKey>,
    pub(super) limit: Option<LimitExprs>,
    /// What an UPDATE or DELETE of one table changes of the rows.
    pub(super) change: Option<Change>,
    /// The relations whose rows are to be changed, where they are several or among others: each row comes with its key
    /// and its stored form.
    pub(super) targets: Vec<Target>,
    /// What is evaluated over the rows by who changes them.
    pub(super) assigned: Vec<Expr>,
    /// The slots that names without a table may mean, for who names columns beside the select list: see
    /// [`super::from::From`].
    pub(super) visible: Option<Vec<usize>>,
    /// How many of the last outputs are not of the select list: ON DUPLICATE KEY UPDATE reads them.
    pub(super) hidden_outputs: usize,
    /// How many of the last relations were those of queries within ([`super::semi_joins`]): their columns lie after
    /// everything else.
    pub(super) taken_in: usize,
    /// The tables of its WITH that read the query around, by their places.
    pub(super) made_anew: Vec<usize>,
}

/// Relations that are joined: the rows of all members side by side for which all conditions hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Nest {
    pub(super) members: Vec<Member>,
    /// Of inner joins; of an optional nest, those of its LEFT JOIN too, and of one that partners are looked for in, all that
    /// makes a partner.
    pub(super) conditions: Vec<Expr>,
}

/// A member of a nest.
#[derive(Clone, Debug)]
pub(super) enum Member {
    /// One of the query's relations.
    Relation(usize),
    /// What follows LEFT JOIN: the rows that go with one of the members before, or else one of NULLs.
    Optional(Nest),
    /// What a semi- or anti-join looks for partners in: it adds no rows and no columns, and takes away rows of the members
    /// before.
    Partners(JoinType, Nest),
}

impl Nest {
    /// One relation.
    pub(super) fn of(relation: usize) -> Nest {
        Nest { members: vec![Member::Relation(relation)], conditions: Vec::new() }
    }

    /// Its relations, those of optional members too.
    pub(super) fn relations(&self) -> RelationSet {
        self.members.iter().fold(RelationSet::NONE, |all, member| all.with(member.relations()))
    }

    /// The places of its relations, in the order of the joins.
    pub(super) fn places(&self) -> Vec<usize> {
        let of = |member: &Member| match member {
            Member::Relation(relation) => vec![*relation],
            Member::Optional(nest) | Member::Partners(_, nest) => nest.places(),
        };
        self.members.iter().flat_map(of).collect()
    }
}

impl Member {
    pub(super) fn relations(&self) -> RelationSet {
        match self {
            Member::Relation(relation) => RelationSet::one(*relation),
            Member::Optional(nest) | Member::Partners(_, nest) => nest.relations(),
        }
    }
}

/// Some of a query's relations, by their places: there are [`MAX_RELATIONS`] at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RelationSet(u64);

/// As in MySQL, which keeps them in a word as well.
pub(super) const MAX_RELATIONS: usize = 61;

impl RelationSet {
    pub(super) const NONE: RelationSet = RelationSet(0);

    pub(super) fn one(relation: usize) -> RelationSet {
        RelationSet(1 << relation)
    }

    pub(super) fn with(self, other: RelationSet) -> RelationSet {
        RelationSet(self.0 | other.0)
    }

    pub(super) fn without(self, other: RelationSet) -> RelationSet {
        RelationSet(self.0 & !other.0)
    }

    pub(super) fn among(self, other: RelationSet) -> RelationSet {
        RelationSet(self.0 & other.0)
    }

    /// The same ones, if all have moved so many places on.
    pub(super) fn moved(self, by: usize) -> RelationSet {
        RelationSet(self.0 << by)
    }

    /// Whether it is one relation.
    pub(super) fn is_one(self) -> bool {
        self.0.is_power_of_two()
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn has_all(self, other: RelationSet) -> bool {
        other.without(self).is_empty()
    }

    pub(super) fn has(self, relation: usize) -> bool {
        self.has_all(RelationSet::one(relation))
    }
}

/// A table of FROM, or what stands for one.
pub(crate) struct Relation {
    pub(super) source: Source,
    /// The name it goes by.
    pub(super) known_as: String,
    /// Where in the row its columns are.
    pub(super) first_slot: usize,
    pub(super) hints: Vec<IndexHint>,
    /// The locking clause.
    pub(super) locking: Option<Locking>,
    /// An outer join may fill it with NULLs.
    pub(super) optional: bool,
    /// What has to be read before it.
    pub(super) after: RelationSet,
    /// Of rows that are made, which columns decide others.
    pub(super) decides: Vec<Decides>,
    /// What hints say of whether conditions of the query get into it ([`super::push_down`]).
    pub(super) takes_conditions: Option<bool>,
}

/// Where the rows of a relation come from.
pub(super) enum Source {
    Table(Arc<Table>),
    /// They are made: those of a set operation and the like.
    Made {
        rows: RowSource,
        columns: Vec<ResultColumn>,
    },
    /// A derived table that is not planned yet: it may become part of the query around it ([`super::merge`]).
    Derived {
        query: Box<Query>,
        columns: Vec<ResultColumn>,
    },
    /// A set operation whose operands are not planned yet: conditions of the query around may get into them.
    Set {
        operands: Vec<BoundOperand>,
        columns: Vec<ResultColumn>,
    },
}

/// An operand of a set operation.
pub(super) struct BoundOperand {
    pub(super) query: Query,
    /// What joins it to those before, and whether with ALL; `None` for the first.
    pub(super) operator: Option<(SetOperator, bool)>,
}

/// Changes of rows of the first relation.
pub(super) struct Change {
    /// Columns that get new values.
    pub(super) assigned: Vec<usize>,
    /// Columns that the change reads, but for those in conditions and sort keys.
    pub(super) wanted: Vec<usize>,
    /// See [`Locking::semi_consistent`].
    pub(super) semi_consistent: bool,
}

/// A relation whose rows are changed.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) relation: usize,
    /// Columns that the change reads, but for those in conditions.
    pub(super) wanted: Vec<usize>,
}

/// One key of an ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SortKey {
    pub(crate) expr: Expr,
    pub(crate) collation: Collation,
    pub(crate) descending: bool,
}

/// How rows are locked as they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    /// FOR UPDATE, not FOR SHARE.
    pub(crate) exclusive: bool,
    /// What to do where a row is locked.
    pub(crate) wait: RowWait,
    /// At READ COMMITTED, rows that are locked and do not match are not waited for.
    pub(crate) semi_consistent: bool,
}

/// LIMIT, before its parameters are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LimitExprs {
    pub(crate) offset: Option<Expr>,
    pub(crate) count: Expr,
    /// SQL_CALC_FOUND_ROWS: all rows are found, to be counted.
    pub(crate) counts_all: bool,
}

/// GROUP BY and aggregates; results of the aggregates go to the slots from `first_slot` on.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Expr>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) first_slot: usize,
    /// WITH ROLLUP: after the aggregates lie the values of the keys, NULL where rows of several are together, and how
    /// many keys are not.
    pub(crate) rollup: bool,
    /// The rows of a group come one after another, by the access path.
    pub(crate) by_path: bool,
}

/// Functions over the same window, with the places of their results.
#[derive(Debug)]
pub(crate) struct Window {
    /// For messages.
    pub(crate) name: String,
    /// PARTITION BY, then ORDER BY.
    pub(crate) keys: Vec<SortKey>,
    pub(crate) partition_keys: usize,
    pub(crate) frame: Frame,
    pub(crate) functions: Vec<(usize, WindowFunction)>,
}

/// Which rows of its partition a function sees from a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// ROWS; else the current row stands for its peers.
    pub(crate) rows: bool,
    pub(crate) start: Bound,
    pub(crate) end: Bound,
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Bound {
    First,
    Last,
    CurrentRow,
    /// So many rows away.
    Rows {
        distance: Expr,
        following: bool,
    },
    /// Where the key of ORDER BY is at the limit, which is computed from that of the current row.
    Range {
        distance: Expr,
        limit: Expr,
        following: bool,
    },
}

impl Default for Frame {
    /// Without ORDER BY all rows are peers.
    fn default() -> Frame {
        Frame { rows: false, start: Bound::First, end: Bound::CurrentRow }
    }
}

/// Where the places of window functions begin until the query is resolved, and all slots before them are known.
pub(super) const WINDOW_SLOTS: usize = 1 << 32;

impl Window {
    /// Whether it is the same window.
    pub(super) fn is_alike(&self, other: &Window) -> bool {
        (&self.keys, self.partition_keys, &self.frame) == (&other.keys, other.partition_keys, &other.frame)
    }

    /// Its expressions that read rows, and those of its functions.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let functions = self.functions.iter().flat_map(|(_, function)| function.exprs());
        self.keys.iter().map(|key| &key.expr).chain(self.frame.limits()).chain(functions)
    }

    /// The same, to be changed.
    pub(super) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let functions = self.functions.iter_mut().flat_map(|(_, function)| function.exprs_mut());
        let bounds = [&mut self.frame.start, &mut self.frame.end].into_iter();
        let limits = bounds.filter_map(|bound| match bound {
            Bound::Range { limit, .. } => Some(limit),
            _ => None,
        });
        self.keys.iter_mut().map(|key| &mut key.expr).chain(limits).chain(functions)
    }
}

impl Frame {
    fn limits(&self) -> impl Iterator<Item = &Expr> {
        [&self.start, &self.end].into_iter().filter_map(|bound| match bound {
            Bound::Range { limit, .. } => Some(limit),
            _ => None,
        })
    }
}

impl Grouping {
    /// How many slots it fills.
    pub(crate) fn width(&self) -> usize {
        self.aggregates.len() + if self.rollup { self.keys.len() + 1 } else { 0 }
    }

    /// Where the value of a key is, WITH ROLLUP.
    pub(super) fn key_slot(&self, key: usize) -> usize {
        self.first_slot + self.aggregates.len() + key
    }

    /// Where it is said how many keys have a value, WITH ROLLUP.
    pub(super) fn level_slot(&self) -> usize {
        self.key_slot(self.keys.len())
    }
}

impl SortKey {
    pub(super) fn new(expr: Expr, descending: bool) -> SortKey {
        SortKey { collation: expr.collation(), expr, descending }
    }

    /// How its values are compared.
    pub(crate) fn order(&self) -> KeyOrder {
        KeyOrder { collation: self.collation, descending: self.descending }
    }
}

impl Relation {
    /// A table that is alone in its statement.
    pub(super) fn alone(table: Arc<Table>, known_as: &str) -> Relation {
        Relation::of(Source::Table(table), known_as.to_owned(), 0)
    }

    /// A relation of this name from a slot on.
    pub(super) fn of(source: Source, known_as: String, first_slot: usize) -> Relation {
        let (hints, locking) = (Vec::new(), None);
        let (optional, after, decides) = (false, RelationSet::NONE, Vec::new());
        Relation { source, known_as, first_slot, hints, locking, optional, after, decides, takes_conditions: None }
    }

    /// The same columns from another slot on, without its rows.
    pub(super) fn columns_from(&self, first_slot: usize) -> Relation {
        let source = match &self.source {
            Source::Table(table) => Source::Table(table.clone()),
            Source::Made { columns, .. } | Source::Derived { columns, .. } | Source::Set { columns, .. } => {
                Source::Made { rows: RowSource::Common(usize::MAX), columns: columns.clone() }
            }
        };
        Relation { optional: self.optional, ..Relation::of(source, self.known_as.clone(), first_slot) }
    }

    /// The stored or system table that it is.
    pub(super) fn table(&self) -> Option<&Arc<Table>> {
        match &self.source {
            Source::Table(table) => Some(table),
            Source::Made { .. } | Source::Derived { .. } | Source::Set { .. } => None,
        }
    }

    /// What reads the relations before it, if it is LATERAL or JSON_TABLE.
    pub(super) fn outer(&self) -> &[Expr] {
        match &self.source {
            Source::Made { rows: RowSource::Lateral { outer, .. }, .. } => outer,
            Source::Made { rows: RowSource::JsonTable(table), .. } => std::slice::from_ref(&table.document),
            _ => &[],
        }
    }

    /// The same, to be changed.
    pub(super) fn outer_mut(&mut self) -> &mut [Expr] {
        match &mut self.source {
            Source::Made { rows: RowSource::Lateral { outer, .. }, .. } => outer,
            Source::Made { rows: RowSource::JsonTable(table), .. } => std::slice::from_mut(&mut table.document),
            _ => &mut [],
        }
    }

    /// The database that its table is of.
    pub(super) fn database(&self) -> Option<&str> {
        self.table().map(|table| table.def.database.as_str())
    }

    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        match &self.source {
            Source::Table(table) => table.def.columns.len(),
            Source::Made { columns, .. } | Source::Derived { columns, .. } | Source::Set { columns, .. } => {
                columns.len()
            }
        }
    }

    /// The name of a column.
    pub(super) fn column_name(&self, column: usize) -> &str {
        match &self.source {
            Source::Table(table) => &table.def.columns[column].name,
            Source::Made { columns, .. } | Source::Derived { columns, .. } | Source::Set { columns, .. } => {
                &columns[column].name
            }
        }
    }

    /// Its column of this name.
    pub(super) fn column_index(&self, name: &str) -> Option<usize> {
        match &self.source {
            Source::Table(table) => table.def.column_index(name),
            Source::Made { columns, .. } | Source::Derived { columns, .. } | Source::Set { columns, .. } => {
                columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
            }
        }
    }

    /// Its column at a slot of the row.
    pub(super) fn column_at(&self, slot: usize) -> Option<usize> {
        slot.checked_sub(self.first_slot).filter(|column| *column < self.width())
    }

    /// The slot of a column, as an expression.
    pub(super) fn column_expr(&self, column: usize) -> Expr {
        let slot = self.first_slot + column;
        let expr = match &self.source {
            Source::Table(table) => column_expr(&table.def.columns[column], slot),
            Source::Made { columns, .. } | Source::Derived { columns, .. } | Source::Set { columns, .. } => {
                Expr::column(slot, columns[column].name.clone(), columns[column].result_type)
            }
        };
        match expr {
            Expr::Column(mut found) if self.optional => {
                found.result_type = found.result_type.nullable(true);
                Expr::Column(found)
            }
            expr => expr,
        }
    }

    /// Its columns that `exprs` read, in order.
    pub(super) fn columns_read<'e>(&self, exprs: impl Iterator<Item = &'e Expr>) -> Vec<usize> {
        let mut seen = vec![false; self.width()];
        for expr in exprs {
            expr.walk(&mut |part| {
                if let Expr::Column(read) = part
                    && let Some(column) = self.column_at(read.slot)
                {
                    seen[column] = true;
                }
            });
        }
        (0..seen.len()).filter(|column| seen[*column]).collect()
    }
}

/// A reference to a table's column that lies at `slot`.
pub(super) fn column_expr(column: &ColumnDef, slot: usize) -> Expr {
    Expr::column(slot, column.name.as_str(), column.result_type())
}

/// The relation and its column that lie at a slot of the row.
pub(super) fn column_at(relations: &[Relation], slot: usize) -> Option<(&Relation, usize)> {
    relations.iter().find_map(|relation| Some((relation, relation.column_at(slot)?)))
}

/// Whether an expression reads a query around.
pub(super) fn reads_around(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |part| found |= matches!(part, Expr::Outer(_)));
    found
}

/// The relations whose columns an expression reads.
pub(super) fn relations_read(relations: &[Relation], expr: &Expr) -> RelationSet {
    let mut read = RelationSet::NONE;
    expr.walk(&mut |part| {
        if let Expr::Column(column) = part
            && let Some(at) = relations.iter().position(|relation| relation.column_at(column.slot).is_some())
        {
            read = read.with(RelationSet::one(at));
        }
    });
    read
}

/// How many slots the relations take.
pub(super) fn width(relations: &[Relation]) -> usize {
    relations.last().map_or(0, |last| last.first_slot + last.width())
}

/// The conditions that AND joins.
pub(super) fn conjuncts(condition: Expr) -> Vec<Expr> {
    match condition {
        Expr::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// The conditions that AND joins, where they are.
pub(crate) fn conjunct_refs(condition: &Expr) -> Box<dyn Iterator<Item = &Expr> + '_> {
    match condition {
        Expr::And(parts) => Box::new(parts.iter().flat_map(conjunct_refs)),
        other => Box::new(std::iter::once(other)),
    }
}

/// All of these conditions.
pub(super) fn all_of(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(Expr::And(conditions)),
    }
}

impl Query {
    /// Where its own columns end: the row begins with them.
    pub(super) fn columns(&self) -> usize {
        width(&self.relations[..self.relations.len() - self.taken_in])
    }

    /// Where the slots end that are known before operators are built.
    pub(super) fn end(&self) -> usize {
        let outputs = self.columns() + self.made() + self.outputs.len();
        outputs.max(width(&self.relations))
    }

    /// Whether it neither locks nor changes rows.
    pub(super) fn only_reads(&self) -> bool {
        let locks = self.relations.iter().any(|relation| relation.locking.is_some());
        self.change.is_none() && self.targets.is_empty() && !locks
    }

    /// How many slots lie between the columns and the select list.
    pub(super) fn made(&self) -> usize {
        let functions = self.windows.iter().map(|window| window.functions.len());
        self.grouping.as_ref().map_or(0, Grouping::width) + functions.sum::<usize>()
    }

    /// Calls `visit` for every expression that reads a row, but for those of FROM.
    pub(super) fn for_each_clause(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let clauses = self.outputs.iter_mut().chain(&mut self.assigned).chain(&mut self.filter).chain(&mut self.having);
        clauses.chain(&mut self.once).for_each(&mut *visit);
        self.sort.iter_mut().for_each(|key| visit(&mut key.expr));
        if let Some(grouping) = &mut self.grouping {
            grouping.keys.iter_mut().for_each(&mut *visit);
            grouping.aggregates.iter_mut().flat_map(|aggregate| &mut aggregate.args).for_each(&mut *visit);
        }
        self.windows.iter_mut().flat_map(Window::exprs_mut).for_each(visit);
    }

    /// Every expression that reads a row.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let grouping = self.grouping.iter();
        let grouping = grouping.flat_map(|grouping| {
            grouping.keys.iter().chain(grouping.aggregates.iter().flat_map(|aggregate| &aggregate.args))
        });
        let sort = self.sort.iter().map(|key| &key.expr);
        let mut joins = Vec::new();
        self.from.collect_conditions(&mut joins);
        let made = self.relations.iter().flat_map(Relation::outer);
        let clauses = self.outputs.iter().chain(&self.assigned).chain(&self.filter).chain(&self.having);
        let clauses = clauses.chain(&self.once);
        let windows = self.windows.iter().flat_map(Window::exprs);
        clauses.chain(sort).chain(grouping).chain(windows).chain(joins).chain(made)
    }
}

impl Nest {
    fn collect_conditions<'n>(&'n self, conditions: &mut Vec<&'n Expr>) {
        conditions.extend(&self.conditions);
        for member in &self.members {
            if let Member::Optional(nest) | Member::Partners(_, nest) = member {
                nest.collect_conditions(conditions);
            }
        }
    }
}
