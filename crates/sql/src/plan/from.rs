//! FROM: relations, how they are joined, and what their columns may be called.
//!
//! Relations get their places and slots from left to right, as they are written. Joins become a [`Nest`]: inner joins
//! are flat, and what follows LEFT JOIN is a member of its own, so that the order in which relations are read is left to
//! later stages. A RIGHT JOIN is a LEFT JOIN with its sides changed, as in MySQL.
//!
//! USING and NATURAL make one column of two that are called alike, for names without a table and for `*`. That is the
//! left one, of a RIGHT JOIN the right one.

use std::ops::Range;

use super::bind::{Around, Names, Scope, written};
use super::json_table::JsonTable;
use super::query::{
    Locking, MAX_RELATIONS, Member, Nest, Relation, RelationSet, Source, column_at, conjuncts, relations_read, width,
};
use super::subquery::Outer;
use super::{PlanContext, RowLocks, Usage, json_table, unsupported, with};
use crate::ast::{self, ColumnName, JoinCondition, JoinKind, TableExpr, TableRef};
use crate::error::{
    ER_BAD_FIELD_ERROR, ER_DUPLICATE_TABLE_LOCK, ER_NON_UNIQ_ERROR, ER_NONUNIQ_TABLE, ER_TF_FORBIDDEN_JOIN_TYPE,
    ER_TOO_MANY_TABLES, ER_UNRESOLVED_TABLE_LOCK, ER_UPDATE_TABLE_USED, ER_WRONG_ARGUMENTS, SqlError,
};
use crate::expr::{CompareOp, Expr};
use crate::plan::node::RowSource;
use crate::privilege::Privilege;

/// What FROM says, bound.
#[derive(Default)]
pub(super) struct From {
    pub(super) relations: Vec<Relation>,
    pub(super) nest: Nest,
    /// The slots of the columns that `*` stands for and that names without a table may mean, in order; `None` for all of
    /// all relations, which is so without USING and NATURAL.
    pub(super) visible: Option<Vec<usize>>,
}

/// How the tables of FROM are used.
#[derive(Clone, Copy)]
pub(super) struct Purpose<'a> {
    /// The clauses of a locking read.
    pub(super) locking: &'a [ast::Locking],
    /// SELECT STRAIGHT_JOIN: relations are read as they are written, a RIGHT JOIN the other way round.
    pub(super) straight: bool,
    /// UPDATE: some of the tables are changed.
    pub(super) of_update: bool,
}

impl Purpose<'_> {
    /// The locking clause that is for a table of this name.
    fn locking_of(&self, known_as: &str) -> Option<Locking> {
        let is_meant = |clause: &&ast::Locking| {
            clause.tables.is_empty() || clause.tables.iter().any(|table| table.table == known_as)
        };
        let clause = self.locking.iter().find(is_meant)?;
        Some(Locking { exclusive: clause.exclusive, wait: clause.wait, semi_consistent: false })
    }
}

/// Joins as they are written.
enum Tree<'q> {
    Relation(usize),
    Join(Box<Pair<'q>>),
}

struct Pair<'q> {
    left: Tree<'q>,
    right: Tree<'q>,
    kind: JoinKind,
    condition: &'q JoinCondition,
}

/// A part of FROM, bound.
struct Part {
    nest: Nest,
    /// The places of its relations.
    places: Range<usize>,
    /// The slots of its columns, as `*` gives them.
    columns: Vec<usize>,
}

struct Resolver<'a> {
    cx: &'a PlanContext<'a>,
    around: Around<'a>,
    purpose: Purpose<'a>,
    relations: Vec<Relation>,
    /// There is a NATURAL or USING.
    merges: bool,
}

/// Resolves FROM.
pub(super) fn resolve<'a>(
    tables: &'a [TableExpr],
    purpose: Purpose<'a>,
    cx: &'a PlanContext<'a>,
    around: Around<'a>,
) -> Result<From, SqlError> {
    let mut resolver = Resolver { cx, around, purpose, relations: Vec::new(), merges: false };
    let Some(tree) = resolver.list(tables)? else { return Ok(From::default()) };
    resolver.check_locking()?;
    if let Tree::Relation(only) = tree {
        return Ok(From { relations: resolver.relations, nest: Nest::of(only), visible: None });
    }
    resolver.mark_optional(&tree, false);
    let part = resolver.part(&tree)?;
    let visible = resolver.merges.then_some(part.columns);
    if purpose.straight {
        let mut before = RelationSet::NONE;
        for at in part.nest.places() {
            let relation = &mut resolver.relations[at];
            relation.after = relation.after.with(before);
            before = before.with(RelationSet::one(at));
        }
    }
    Ok(From { relations: resolver.relations, nest: part.nest, visible })
}

/// Rows that are made, as the one relation of a query.
pub(super) fn made(source: Source) -> From {
    let relation = Relation::of(source, String::new(), 0);
    From { relations: vec![relation], nest: Nest::of(0), visible: None }
}

/// The table that a statement names, as the relation of that name.
pub(super) fn relation(
    named: &TableRef,
    privilege: Privilege,
    lock: Option<RowLocks>,
    or_update: bool,
    cx: &PlanContext<'_>,
) -> Result<Relation, SqlError> {
    unsupported::no_partitions(&named.partitions)?;
    let table = cx.table(&named.name, privilege, Usage { alias: named.alias.as_deref(), lock, or_update })?;
    let known_as = named.alias.as_deref().unwrap_or(&named.name.table);
    Ok(Relation { hints: named.hints.clone(), ..Relation::alone(table, known_as) })
}

impl<'a> Resolver<'a> {
    /// Tables with commas between them: inner joins without a condition.
    fn list(&mut self, tables: &'a [TableExpr]) -> Result<Option<Tree<'a>>, SqlError> {
        let mut tree = None;
        for table in tables {
            let right = self.table(table)?;
            tree = Some(match tree {
                None => right,
                Some(left) => {
                    let (kind, condition) = (JoinKind::Inner, &JoinCondition::None);
                    Tree::Join(Box::new(Pair { left, right, kind, condition }))
                }
            });
        }
        Ok(tree)
    }

    fn table(&mut self, table: &'a TableExpr) -> Result<Tree<'a>, SqlError> {
        Ok(match table {
            TableExpr::Table(named) => {
                let relation = self.named(named)?;
                self.add(relation)?
            }
            TableExpr::Derived(derived) => {
                let relation = self.derived(derived)?;
                self.add(relation)?
            }
            TableExpr::JsonTable(table) => {
                let relation = self.json_table(table)?;
                self.add(relation)?
            }
            TableExpr::List(tables) => match self.list(tables)? {
                Some(tree) => tree,
                None => return Err(SqlError::internal("FROM has an empty list")),
            },
            TableExpr::Joined { first, joins } => {
                let mut left = self.table(first)?;
                for join in joins {
                    let right = self.table(&join.table)?;
                    left = Tree::Join(Box::new(Pair { left, right, kind: join.kind, condition: &join.condition }));
                }
                left
            }
        })
    }

    fn add(&mut self, mut relation: Relation) -> Result<Tree<'a>, SqlError> {
        let is_called_so =
            |known: &&Relation| known.known_as == relation.known_as && known.database() == relation.database();
        if self.relations.iter().find(is_called_so).is_some() {
            return Err(SqlError::new(ER_NONUNIQ_TABLE, &[&relation.known_as]));
        }
        if self.relations.len() == MAX_RELATIONS {
            return Err(SqlError::new(ER_TOO_MANY_TABLES, &[&MAX_RELATIONS]));
        }
        relation.first_slot = width(&self.relations);
        self.relations.push(relation);
        Ok(Tree::Relation(self.relations.len() - 1))
    }

    /// A table of the catalog, or one that WITH has made.
    fn named(&mut self, named: &TableRef) -> Result<Relation, SqlError> {
        let known_as = named.alias.as_deref().unwrap_or(&named.name.table);
        if let Some(common) = with::find(&named.name, self.cx)? {
            let (source, decides) = common;
            return Ok(Relation { decides, ..Relation::of(source, known_as.to_owned(), 0) });
        }
        let locking = self.purpose.locking_of(known_as);
        let lock = locking.map(|locking| if locking.exclusive { RowLocks::ForUpdate } else { RowLocks::ForShare });
        let relation = relation(named, Privilege::Select, lock, self.purpose.of_update, self.cx)?;
        match relation.table() {
            Some(table)
                if self.cx.changed.contains(&table.def.id)
                    && !(self.cx.reads_renamed && known_as != table.def.name) =>
            {
                Err(SqlError::new(ER_UPDATE_TABLE_USED, &[&known_as]))
            }
            _ => Ok(Relation { locking, ..relation }),
        }
    }

    fn derived(&mut self, derived: &ast::Derived) -> Result<Relation, SqlError> {
        let known_as = derived.alias.clone();
        // Its rows are made before any is changed.
        let cx = PlanContext { changed: &[], ..*self.cx };
        let around = Around { cx: Some(&cx), names: self.around.names };
        let (source, decides) = if derived.lateral {
            let scope = Scope::new(&self.relations, "from clause").within(around);
            let outer = Outer::of(&scope);
            let names: Option<&dyn Names> = Some(&outer);
            let (plan, columns) = super::within(&derived.query, Around { names, ..around })?;
            // Its rows are others for each row before it.
            let rows = RowSource::Lateral { plan: Box::new(plan), outer: outer.into_taken() };
            (Source::Made { rows, columns: with::named_columns(columns, &derived.columns)? }, Vec::new())
        } else {
            let (query, columns, decides) = super::derived(&derived.query, around)?;
            let columns = with::named_columns(columns, &derived.columns)?;
            (Source::Derived { query: Box::new(query), columns }, decides)
        };
        let mut relation = Relation { decides, ..Relation::of(source, known_as, 0) };
        if derived.lateral {
            relation.after = (0..self.relations.len()).map(RelationSet::one).fold(RelationSet::NONE, RelationSet::with);
        }
        Ok(relation)
    }

    /// 1210 for a document that asks a query.
    fn json_table(&mut self, table: &ast::JsonTable) -> Result<Relation, SqlError> {
        let (rows, columns) = json_table::rows(table, self.cx)?;
        let mut scope = Scope::new(&self.relations, "a table function argument").within(self.around);
        let document = scope.bind(&table.document)?;
        if document.has_queries() {
            return Err(SqlError::new(ER_WRONG_ARGUMENTS, &[&"JSON_TABLE"]));
        }
        let after = relations_read(&self.relations, &document);
        let rows = RowSource::JsonTable(Box::new(JsonTable { document, rows }));
        Ok(Relation { after, ..Relation::of(Source::Made { rows, columns }, table.alias.clone(), 0) })
    }

    /// Error 3568 for a table that a locking clause names and FROM does not, 3569 for one that is named twice.
    fn check_locking(&self) -> Result<(), SqlError> {
        for named in self.purpose.locking.iter().flat_map(|clause| &clause.tables) {
            if !self.relations.iter().any(|relation| relation.known_as == named.table) {
                return Err(SqlError::new(ER_UNRESOLVED_TABLE_LOCK, &[&named.table]));
            }
            let names = self.purpose.locking.iter().flat_map(|clause| &clause.tables);
            if names.filter(|other| other.table == named.table).count() > 1 {
                return Err(SqlError::new(ER_DUPLICATE_TABLE_LOCK, &[&named.table]));
            }
        }
        Ok(())
    }

    fn mark_optional(&mut self, tree: &Tree<'_>, optional: bool) {
        match tree {
            Tree::Relation(at) => self.relations[*at].optional = optional,
            Tree::Join(pair) => {
                self.mark_optional(&pair.left, optional || pair.kind == JoinKind::Right);
                self.mark_optional(&pair.right, optional || pair.kind == JoinKind::Left);
            }
        }
    }

    fn part(&mut self, tree: &Tree<'_>) -> Result<Part, SqlError> {
        let pair = match tree {
            Tree::Relation(at) => {
                let relation = &self.relations[*at];
                let columns = (relation.first_slot..relation.first_slot + relation.width()).collect();
                return Ok(Part { nest: Nest::of(*at), places: *at..*at + 1, columns });
            }
            Tree::Join(pair) => pair,
        };
        let (left, right) = (self.part(&pair.left)?, self.part(&pair.right)?);
        if pair.kind == JoinKind::Right {
            self.check_lateral(&left, &right)?;
        }
        if pair.kind == JoinKind::Straight {
            for at in right.places.clone() {
                let before = left.nest.relations();
                self.relations[at].after = self.relations[at].after.with(before);
            }
        }
        let places = left.places.start..right.places.end;
        let mut columns = [left.columns.as_slice(), &right.columns].concat();
        let conditions = match pair.condition {
            JoinCondition::None => Vec::new(),
            JoinCondition::On(condition) => {
                let mut scope = Scope::new(&self.relations[places.clone()], "on clause").within(self.around);
                scope.visible = self.merges.then_some(columns.as_slice());
                conjuncts(scope.bind_filter(condition)?)
            }
            JoinCondition::Using(_) | JoinCondition::Natural => {
                self.merges = true;
                let common = self.common(pair.condition, &left.columns, &right.columns)?;
                let swapped = pair.kind == JoinKind::Right;
                let kept = common.iter().map(|(left, right)| if swapped { *right } else { *left });
                let rest = if swapped {
                    [right.columns.as_slice(), &left.columns].concat()
                } else {
                    [left.columns.as_slice(), &right.columns].concat()
                };
                let is_merged = |slot: &usize| common.iter().any(|(left, right)| left == slot || right == slot);
                columns = kept.chain(rest.into_iter().filter(|slot| !is_merged(slot))).collect();
                let equal = |(left, right): &(usize, usize)| {
                    Expr::compare(CompareOp::Equal, self.column(*left)?, self.column(*right)?)
                };
                common.iter().map(equal).collect::<Result<_, SqlError>>()?
            }
        };
        let nest = match pair.kind {
            JoinKind::Inner | JoinKind::Straight => {
                let mut nest = left.nest;
                nest.members.extend(right.nest.members);
                nest.conditions.extend(right.nest.conditions);
                nest.conditions.extend(conditions);
                nest
            }
            JoinKind::Left => outer_join(left.nest, right.nest, conditions),
            JoinKind::Right => outer_join(right.nest, left.nest, conditions),
        };
        Ok(Part { nest, places, columns })
    }

    /// 3668 for LATERAL, or JSON_TABLE, on the right of RIGHT JOIN that reads what is on its left. What reads nothing of it
    /// need not be read after it.
    fn check_lateral(&mut self, left: &Part, right: &Part) -> Result<(), SqlError> {
        let on_left = left.places.clone().map(RelationSet::one).fold(RelationSet::NONE, RelationSet::with);
        for place in right.places.clone() {
            let relation = &self.relations[place];
            let mut read = relation.outer().iter().map(|expr| relations_read(&self.relations, expr));
            if read.any(|read| left.places.clone().any(|place| read.has(place))) {
                return Err(SqlError::new(ER_TF_FORBIDDEN_JOIN_TYPE, &[&relation.known_as]));
            }
            self.relations[place].after = relation.after.without(on_left);
        }
        Ok(())
    }

    fn column(&self, slot: usize) -> Result<Expr, SqlError> {
        let found = column_at(&self.relations, slot).map(|(relation, column)| relation.column_expr(column));
        found.ok_or_else(|| SqlError::internal("a join has a column that is no relation's"))
    }

    fn name(&self, slot: usize) -> &str {
        column_at(&self.relations, slot).map_or("", |(relation, column)| relation.column_name(column))
    }

    /// The columns that USING or NATURAL joins by, in the order of those of the first side; 1054 for one that is not
    /// there, 1052 for one that a side has twice.
    fn common(
        &self,
        condition: &JoinCondition,
        left: &[usize],
        right: &[usize],
    ) -> Result<Vec<(usize, usize)>, SqlError> {
        let find = |side: &[usize], name: &str| -> Result<Option<usize>, SqlError> {
            let mut found = side.iter().copied().filter(|slot| self.name(*slot).eq_ignore_ascii_case(name));
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => Err(SqlError::new(ER_NON_UNIQ_ERROR, &[&name, &"from clause"])),
                (found, _) => Ok(found),
            }
        };
        let mut common = Vec::new();
        match condition {
            JoinCondition::Using(names) => {
                for name in names {
                    let pair = find(left, name)?.zip(find(right, name)?);
                    let shown =
                        ColumnName { database: None, table: None, column: name.clone(), span: ast::Span::default() };
                    let unknown = || SqlError::new(ER_BAD_FIELD_ERROR, &[&written(&shown), &"from clause"]);
                    common.push(pair.ok_or_else(unknown)?);
                }
                let place = |slot: usize| left.iter().position(|known| *known == slot);
                common.sort_by_key(|(left, _)| place(*left));
                common.dedup();
            }
            _ => {
                for slot in left {
                    if let Some(other) = find(right, self.name(*slot))? {
                        find(left, self.name(*slot))?;
                        common.push((*slot, other));
                    }
                }
            }
        }
        Ok(common)
    }
}

/// `before LEFT JOIN optional ON conditions`
fn outer_join(mut before: Nest, mut optional: Nest, conditions: Vec<Expr>) -> Nest {
    optional.conditions.extend(conditions);
    before.members.push(Member::Optional(optional));
    before
}
