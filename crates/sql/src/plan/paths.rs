//! Which access path a relation has: what its conditions ask of its columns, and which index that makes the cheapest.
//!
//! The conditions that compare a column with something that is known before the relation is read become terms: what the
//! statement's rows do not change, and columns of the relations that are read before it. All conditions are evaluated again
//! for each row, so a path may give more rows than match but never fewer.
//!
//! Rows that are to be locked are found by the index whose leading columns are fixed best, whatever that costs: fewer are
//! locked. Of other paths the cheapest is taken ([`cost`]).

use std::cell::RefCell;
use std::rc::Rc;

use super::access::{Access, Bounds, Seek, Tail};
use super::cost;
use super::query::{Relation, RelationSet, SortKey, relations_read};
use crate::ast::{IndexHint, IndexHintKind, IndexPurpose};
use crate::catalog::definition::IndexKind;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::error::{ER_KEY_DOES_NOT_EXITS, SqlError};
use crate::expr::{Ask, CompareOp, CompareWith, Expr, Subquery};
use crate::statistics::Figures;
use crate::types::{ColumnType, Kind};
use crate::value::Value;

/// A path looks at so many places at most, but for those that are listed.
const MOST_PLACES: f64 = 4096.0;
/// From so many rows on a smaller index is read in the place of the rows, in whose order those of a small table come.
const WORTH_WHILE: f64 = 1000.0;

/// A path, and what is thought of it.
#[derive(Clone)]
pub(super) struct Path {
    pub(super) access: Access,
    /// Rows that it finds.
    pub(super) rows: f64,
    /// What it costs to find them once.
    pub(super) cost: f64,
    /// The conditions, by their places, that say what it looks for; those after the 64th are never among them.
    used: u64,
    /// How well its leading columns are fixed.
    score: u32,
}

impl Path {
    pub(super) fn uses(&self, condition: usize) -> bool {
        condition < 64 && self.used & (1 << condition) != 0
    }
}

/// The order in which rows are wanted.
#[derive(Clone, Copy, Default)]
pub(super) struct Order<'q> {
    pub(super) keys: &'q [SortKey],
    /// What rows are grouped by: those that have the same in all of these are wanted one after another.
    pub(super) groups: &'q [Expr],
    /// How many rows are wanted, if not all.
    pub(super) limit: Option<f64>,
    /// No other relation is read.
    pub(super) alone: bool,
}

impl Order<'_> {
    /// Whether some order is wanted.
    pub(super) fn is_wanted(&self) -> bool {
        !self.keys.is_empty() || !self.groups.is_empty()
    }

    /// What so many rows cost that come in none.
    pub(super) fn cost_of_none(&self, rows: f64) -> f64 {
        let (kept, sorted) = if self.groups.is_empty() { (0.0, rows) } else { (rows * cost::KEEP, rows * 0.1) };
        kept + if self.keys.is_empty() { 0.0 } else { cost::sort(sorted) }
    }
}

/// The paths of a stored table under some conditions.
pub(super) struct Paths<'q> {
    relation: &'q Relation,
    table: &'q Table,
    figures: &'q Figures,
    asked: Asked,
    /// The indexes that rows may be found by, those that may give their order, and those that may give groups.
    allowed: Vec<bool>,
    may_order: Vec<bool>,
    may_group: Vec<bool>,
    /// FORCE INDEX: every row is the last resort.
    forced: bool,
    /// FORCE INDEX FOR ORDER BY: sorting is. FOR GROUP BY: keeping groups is.
    forced_order: bool,
    forced_groups: bool,
    /// Whether the entries of an index have every column that is read.
    covers: &'q [bool],
    pub(super) locks: bool,
    /// What all terms need.
    needs: RelationSet,
    known: RefCell<Vec<(RelationSet, Rc<Path>)>>,
}

impl<'q> Paths<'q> {
    /// Those of the relation `of`; 1176 for a hint that names an unknown index.
    pub(super) fn of(
        relations: &'q [Relation],
        of: usize,
        table: &'q Table,
        figures: &'q Figures,
        covers: &'q [bool],
        locks: bool,
        conditions: &[&Expr],
    ) -> Result<Paths<'q>, SqlError> {
        let relation = &relations[of];
        check_hints(table, &relation.hints)?;
        let allowed = allowed_indexes(table, &relation.hints, IndexPurpose::Join);
        let may_order = allowed_indexes(table, &relation.hints, IndexPurpose::OrderBy);
        let may_group = allowed_indexes(table, &relation.hints, IndexPurpose::GroupBy);
        let forces = |hint: &IndexHint| hint.kind == IndexHintKind::Force;
        let forced = relation.hints.iter().any(|hint| forces(hint) && is_for(hint, IndexPurpose::Join));
        let is_forced_for = |purpose| relation.hints.iter().any(|hint| forces(hint) && hint.purpose == Some(purpose));
        let (forced_order, forced_groups) =
            (is_forced_for(IndexPurpose::OrderBy), is_forced_for(IndexPurpose::GroupBy));
        let search = Terms { relations, relation, of };
        let mut asked = Asked::default();
        for (place, condition) in conditions.iter().enumerate() {
            search.collect(condition, place, &mut asked);
        }
        let needs = asked.needs();
        let known = RefCell::default();
        Ok(Paths {
            relation,
            table,
            figures,
            asked,
            allowed,
            may_order,
            may_group,
            forced,
            forced_order,
            forced_groups,
            covers,
            locks,
            needs,
            known,
        })
    }

    /// The path that is taken where these relations are known and any order will do.
    pub(super) fn best(&self, known: RelationSet) -> Rc<Path> {
        let known = known.among(self.needs);
        let found = self.known.borrow().iter().find(|(of, _)| *of == known).map(|(_, path)| path.clone());
        found.unwrap_or_else(|| {
            let path = Rc::new(self.choose(known, Order::default()));
            self.known.borrow_mut().push((known, path.clone()));
            path
        })
    }

    /// The path that is taken where rows are wanted in an order, and whether it gives that.
    pub(super) fn best_in_order(&self, known: RelationSet, order: Order<'_>) -> Path {
        self.choose(known.among(self.needs), order)
    }

    /// Whether a hint asks for an order by an index, whatever it costs.
    pub(super) fn forces(&self, order: Order<'_>) -> bool {
        (self.forced_order && !order.keys.is_empty()) || (self.forced_groups && !order.groups.is_empty())
    }

    fn choose(&self, known: RelationSet, order: Order<'_>) -> Path {
        let mut best: Option<(f64, Path)> = None;
        let mut offer = |path: Path, sorted: bool| {
            let weight = if self.locks { -f64::from(path.score) } else { self.weight(&path, sorted, order) };
            let better = best
                .as_ref()
                .is_none_or(|(known, than)| weight < *known || (weight == *known && path.score > than.score));
            if better {
                best = Some((weight, path));
            }
        };
        for index in (0..self.table.indexes.len()).filter(|index| self.allowed[*index]) {
            let mut path = self.candidate(index, known);
            if path.score > 0 {
                path.access = self.ordered(path.access, order);
                // Among equals, the one that saves sorting, then the rows' own order.
                let first = u32::from(self.table.primary == Some(index));
                path.score = path.score * 4 + u32::from(path.access.ordered) * 2 + first;
                let sorted = path.access.ordered;
                offer(path, sorted);
            }
        }
        // A whole index: for its order, or because it is smaller than the rows.
        for index in 0..self.table.indexes.len() {
            let access = self.ordered(Access { index: Some(index), ..Access::SCAN }, order);
            let of_rows = self.table.primary == Some(index);
            let for_order = access.ordered && (order.limit.is_some() || !self.locks);
            let for_size = self.allowed[index] && self.covers[index] && !self.locks && self.figures.rows >= WORTH_WHILE;
            if !of_rows && (for_order || for_size) {
                let sorted = access.ordered;
                offer(self.judged(access, u32::from(sorted)), sorted);
            }
        }
        let scan = self.ordered(Access { index: self.table.primary, ..Access::SCAN }, order);
        let sorted = scan.ordered;
        let score = if sorted && order.is_wanted() { 3 } else { 0 };
        offer(self.judged(scan, score), sorted);
        best.map(|(_, path)| path).unwrap_or_else(|| self.judged(Access::SCAN, 0))
    }

    fn judged(&self, access: Access, score: u32) -> Path {
        let rows = cost::rows_found(&access, self.table, self.figures);
        let covering = access.index.is_some_and(|index| self.covers[index]);
        let mut cost = cost::access_cost(&access, self.table, rows, covering);
        if self.forced && access.is_whole() {
            cost += 1e12;
        }
        Path { access, rows, cost, used: 0, score }
    }

    /// The cost of a path with what comes after it to have its rows in order.
    fn weight(&self, path: &Path, sorted: bool, order: Order<'_>) -> f64 {
        match order {
            _ if !order.is_wanted() => path.cost,
            _ if !sorted && self.forces(order) => path.cost + 1e12,
            Order { limit: Some(limit), .. } if sorted => {
                // It ends with the last row that is wanted. How many of the rows before match is a guess, so that it has
                // to be much better than a path that finds less.
                let matching = (path.rows * self.share_left(path)).max(1.0);
                path.cost * (limit / matching * if path.access.is_whole() { 4.0 } else { 1.0 }).min(1.0)
            }
            _ if sorted => path.cost,
            _ => path.cost + order.cost_of_none(path.rows * self.share_left(path)),
        }
    }

    /// What share of a path's rows match, as the terms say that it does not use.
    fn share_left(&self, path: &Path) -> f64 {
        let mut share = 1.0;
        let mut seen = path.used;
        let of_terms = self.asked.terms.iter().map(|term| (term.condition, matches!(term.wish, Wish::Equal(_))));
        let of_unions = self.asked.unions.iter().map(|union| (union.condition, false));
        for (condition, equal) in of_terms.chain(of_unions).filter(|(condition, _)| *condition < 64) {
            if seen & (1 << condition) == 0 {
                seen |= 1 << condition;
                share *= if equal { 0.1 } else { 0.33 };
            }
        }
        share
    }

    /// What an index can do with the terms, and how good that is (0: nothing).
    fn candidate(&self, at: usize, known: RelationSet) -> Path {
        let table = self.table;
        let index = &table.indexes[at];
        let mut used = 0_u64;
        let mut note = |condition: usize| used |= 1_u64.checked_shl(condition as u32).unwrap_or_default();
        let seek = self.asked.known(known).seek(&index.columns, &mut note);
        let mut score = seek_score(&seek);
        let access = Access { index: Some(at), seek, ..Access::SCAN };
        if access.is_point(table) {
            score += if index.kind == IndexKind::Primary { 1000 } else { 900 };
        }
        Path { used, ..self.judged(access, score) }
    }

    /// Finds out whether the path gives rows in an order, forwards or backwards.
    fn ordered(&self, mut access: Access, order: Order<'_>) -> Access {
        if !order.is_wanted() {
            return access;
        }
        if order.alone && access.is_point(self.table) {
            access.ordered = true;
            return access;
        }
        let may_order = |index: usize| order.keys.is_empty() || self.may_order[index];
        let may_group = |index: usize| order.groups.is_empty() || self.may_group[index];
        if access.index.is_some_and(|index| !may_order(index) || !may_group(index)) {
            return access;
        }
        if let Some(descending) = self.direction(&access, order) {
            (access.ordered, access.reverse) = (true, descending);
        }
        access
    }

    /// Whether the path gives rows in an order, and then whether from its end.
    fn direction(&self, access: &Access, order: Order<'_>) -> Option<bool> {
        let table = self.table;
        let index = access.key(table)?;
        if index.parts[..access.seek.equal.len()].iter().any(|part| part.prefix.is_some()) {
            return None;
        }
        // Rows under equal keys of a secondary index come in the order of the primary key.
        let behind = table.primary.filter(|primary| Some(*primary) != access.index);
        let behind = behind.map(|primary| &table.indexes[primary]);
        let mut columns = index
            .columns
            .iter()
            .zip(&index.parts)
            .chain(behind.iter().flat_map(|primary| primary.columns.iter().zip(&primary.parts)))
            .skip(access.seek.equal.len());
        let fixed = &index.columns[..access.seek.equal.len()];
        let mut descending = None;
        for key in order.keys {
            let column = column_of(self.relation, &key.expr)?;
            if fixed.contains(&column) {
                continue;
            }
            match columns.next() {
                Some((next, part)) if *next == column && part.prefix.is_none() => {}
                _ => return None,
            }
            if *descending.get_or_insert(key.descending) != key.descending {
                return None;
            }
        }
        // The columns of groups may come in any order, behind those that rows are sorted by, which are some of them.
        let is_sorted_by = |expr: &&Expr| order.keys.iter().any(|key| key.expr == **expr);
        let mut groups = Vec::new();
        for expr in order.groups.iter().filter(|expr| !is_sorted_by(expr)) {
            let column = column_of(self.relation, expr)?;
            if !fixed.contains(&column) && !groups.contains(&column) {
                groups.push(column);
            }
        }
        while !groups.is_empty() {
            let (next, _) = columns.next().filter(|(_, part)| part.prefix.is_none())?;
            let at = groups.iter().position(|column| column == next)?;
            groups.swap_remove(at);
        }
        Some(descending.unwrap_or(false))
    }
}

/// What a conjunct asks of one column.
struct Term {
    column: usize,
    wish: Wish,
    /// The relations that have to be read before.
    needs: RelationSet,
    /// Of which condition.
    condition: usize,
}

enum Wish {
    Equal(Expr),
    In(Vec<Expr>),
    Query(Box<Subquery>),
    Low(Expr, bool),
    High(Expr, bool),
}

impl Wish {
    /// Calls `visit` for what the column is compared with.
    fn for_each_value(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Wish::Equal(value) | Wish::Low(value, _) | Wish::High(value, _) => visit(value),
            Wish::In(list) => list.iter().for_each(visit),
            // A query that gives the same each time reads nothing.
            Wish::Query(_) => {}
        }
    }
}

/// What conjuncts ask of the columns of a relation.
#[derive(Default)]
struct Asked {
    terms: Vec<Term>,
    unions: Vec<Union>,
}

/// What the parts of an OR ask, each of which asks something.
struct Union {
    alternatives: Vec<Asked>,
    condition: usize,
}

impl Asked {
    fn is_nothing(&self) -> bool {
        self.terms.is_empty() && self.unions.is_empty()
    }

    /// The relations that have to be read before all of it is known.
    fn needs(&self) -> RelationSet {
        let of_unions = self.unions.iter().map(Union::needs);
        self.terms.iter().map(|term| term.needs).chain(of_unions).fold(RelationSet::NONE, RelationSet::with)
    }

    /// What of it is known where these relations are.
    fn known(&self, relations: RelationSet) -> Known<'_> {
        Known {
            terms: self.terms.iter().filter(|term| relations.has_all(term.needs)).collect(),
            unions: self.unions.iter().filter(|union| relations.has_all(union.needs())).collect(),
        }
    }
}

impl Union {
    fn needs(&self) -> RelationSet {
        self.alternatives.iter().map(Asked::needs).fold(RelationSet::NONE, RelationSet::with)
    }
}

/// What is asked and known.
struct Known<'q> {
    terms: Vec<&'q Term>,
    unions: Vec<&'q Union>,
}

impl<'q> Known<'q> {
    /// With what one of alternatives asks.
    fn and(&self, alternative: &'q Asked) -> Known<'q> {
        Known {
            terms: alternative.terms.iter().chain(self.terms.iter().copied()).collect(),
            unions: alternative.unions.iter().collect(),
        }
    }

    /// What it asks of the columns of an index from one of them on; `note` gets the conditions that say it.
    fn seek(&self, columns: &[usize], note: &mut dyn FnMut(usize)) -> Seek {
        let mut seek = Seek::NOTHING;
        for (at, column) in columns.iter().enumerate() {
            let equal = self.terms.iter().filter(|term| term.column == *column).find_map(|term| match &term.wish {
                Wish::Equal(value) => Some((term, value)),
                _ => None,
            });
            let Some((term, value)) = equal else {
                seek.tail = self.tail(&columns[at..], note);
                break;
            };
            seek.equal.push(value.clone());
            note(term.condition);
        }
        seek
    }

    /// What it asks of the first of these columns, which is not fixed, and of those after it.
    fn tail(&self, columns: &[usize], note: &mut dyn FnMut(usize)) -> Tail {
        let Some((first, after)) = columns.split_first() else { return Tail::Open };
        let of_first = || self.terms.iter().filter(|term| term.column == *first);
        let list = of_first().find_map(|term| match &term.wish {
            Wish::In(list) => Some((term, list)),
            _ => None,
        });
        if let Some((term, list)) = list {
            let mut noted = vec![term.condition];
            let mut then = self.seek(after, &mut |condition| noted.push(condition));
            if list.len() as f64 * cost::places(&then) > MOST_PLACES {
                (then, noted) = (Seek::NOTHING, vec![term.condition]);
            }
            let listed = Tail::In(list.clone(), Box::new(then));
            // Rows of values: what is asked of each of their columns are more combinations than there are rows.
            if let Some((union, condition)) = self.union(columns)
                && is_narrower(&union, &listed)
            {
                note(condition);
                return union;
            }
            noted.into_iter().for_each(note);
            return listed;
        }
        let of_query = of_first().find_map(|term| match &term.wish {
            Wish::Query(query) => Some((term, query)),
            _ => None,
        });
        if let Some((term, query)) = of_query {
            note(term.condition);
            return Tail::Query(query.clone());
        }
        let mut bounds = Bounds::default();
        for term in of_first() {
            match &term.wish {
                // The first bound is used; others are left to the condition.
                Wish::Low(value, included) if bounds.low.is_none() => bounds.low = Some((value.clone(), *included)),
                Wish::High(value, included) if bounds.high.is_none() => bounds.high = Some((value.clone(), *included)),
                _ => {}
            }
        }
        if bounds != Bounds::default() {
            let of_range = |term: &&&Term| matches!(term.wish, Wish::Low(..) | Wish::High(..));
            of_first().filter(of_range).for_each(|term| note(term.condition));
            return Tail::Range(bounds);
        }
        match self.union(columns) {
            Some((union, condition)) => {
                note(condition);
                union
            }
            None => Tail::Open,
        }
    }

    /// The first OR whose parts all ask something of the first of these columns, and its condition.
    fn union(&self, columns: &[usize]) -> Option<(Tail, usize)> {
        self.unions.iter().find_map(|union| {
            let mut alternatives = Vec::with_capacity(union.alternatives.len());
            for alternative in &union.alternatives {
                let seek = self.and(alternative).seek(columns, &mut |_| {});
                if seek.is_nothing() || matches!(seek.tail, Tail::Query(_)) {
                    return None;
                }
                alternatives.push(seek);
            }
            let places: f64 = alternatives.iter().map(cost::places).sum();
            let most = MOST_PLACES.max(alternatives.len() as f64);
            (places <= most).then_some((Tail::Union(alternatives), union.condition))
        })
    }
}

/// Whether a path is to look at fewer places, for as many columns.
fn is_narrower(tail: &Tail, than: &Tail) -> bool {
    let [tail, than] = [tail, than].map(|tail| Seek { equal: Vec::new(), tail: tail.clone() });
    tail.columns() >= than.columns() && cost::places(&tail) < cost::places(&than)
}

/// How well columns are fixed (0: not at all).
fn seek_score(seek: &Seek) -> u32 {
    let of_tail = match &seek.tail {
        Tail::Open => 0,
        Tail::In(_, then) => 8 + seek_score(then),
        Tail::Query(_) => 7,
        Tail::Range(Bounds { low: Some(_), high: Some(_) }) => 5,
        Tail::Union(_) => 4,
        Tail::Range(_) => 3,
    };
    10 * seek.equal.len() as u32 + of_tail
}

/// The place of an index among those of a table.
fn index_named(table: &Table, name: &str) -> Option<usize> {
    table.def.indexes.iter().position(|index| index.name.eq_ignore_ascii_case(name))
}

/// 1176 for a hint that names an unknown index.
fn check_hints(table: &Table, hints: &[IndexHint]) -> Result<(), SqlError> {
    let mut names = hints.iter().flat_map(|hint| &hint.indexes);
    match names.find(|name| index_named(table, name).is_none()) {
        Some(name) => Err(SqlError::new(ER_KEY_DOES_NOT_EXITS, &[name, &table.def.name])),
        None => Ok(()),
    }
}

fn is_for(hint: &IndexHint, purpose: IndexPurpose) -> bool {
    hint.purpose.is_none_or(|of| of == purpose)
}

/// The indexes that hints allow for a purpose.
fn allowed_indexes(table: &Table, hints: &[IndexHint], purpose: IndexPurpose) -> Vec<bool> {
    let hints = || hints.iter().filter(|hint| is_for(hint, purpose));
    let restricted = hints().any(|hint| hint.kind != IndexHintKind::Ignore);
    let mut allowed = vec![!restricted; table.indexes.len()];
    for hint in hints() {
        for index in hint.indexes.iter().filter_map(|name| index_named(table, name)) {
            allowed[index] = hint.kind != IndexHintKind::Ignore;
        }
    }
    allowed
}

/// The column of the relation that `expr` is.
fn column_of(relation: &Relation, expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column(column) => relation.column_at(column.slot),
        _ => None,
    }
}

/// Whether a comparison under `collation` orders a column as its keys do.
pub(super) fn collation_fits(column_type: &ColumnType, collation: Collation) -> bool {
    match column_type.kind() {
        Kind::Characters(own) | Kind::Members(own) => own == collation,
        Kind::Integer | Kind::Number | Kind::Bytes | Kind::Date | Kind::Timestamp | Kind::Time => true,
        Kind::Json => false,
    }
}

/// Where terms are looked for.
struct Terms<'q> {
    relations: &'q [Relation],
    relation: &'q Relation,
    /// Its place.
    of: usize,
}

impl Terms<'_> {
    /// Whether an expression can be known before the relation is read.
    fn is_fixed(&self, expr: &Expr) -> bool {
        let mut fixed = !expr.is_volatile();
        expr.walk(&mut |part| fixed &= !matches!(part, Expr::AssignUserVariable(..)));
        fixed && !relations_read(self.relations, expr).has(self.of)
    }

    /// What a condition asks of a column, if what that is compared with is known.
    fn term(&self, column: usize, wish: Wish, condition: usize) -> Term {
        let mut needs = RelationSet::NONE;
        wish.for_each_value(&mut |value| needs = needs.with(relations_read(self.relations, value)));
        Term { column, wish, needs, condition }
    }

    /// Adds what `filter` asks, a part of this condition.
    fn collect(&self, filter: &Expr, condition: usize, asked: &mut Asked) {
        let Some(table) = self.relation.table() else { return };
        let relation = self.relation;
        let is_fixed = |expr: &Expr| self.is_fixed(expr);
        let column_type = |column: usize| &table.def.columns[column].column_type;
        let fits = |column: usize, collation| collation_fits(column_type(column), collation);
        // The order of an ENUM's and SET's keys is not that of a comparison.
        let orders = |column: usize| !matches!(column_type(column).kind(), Kind::Members(_));
        match filter {
            Expr::And(parts) => parts.iter().for_each(|part| self.collect(part, condition, asked)),
            Expr::Compare(op, left, right, collation) => {
                let (column, value, op) = match (column_of(relation, left), column_of(relation, right)) {
                    (Some(column), None) if is_fixed(right) => (column, right, *op),
                    (None, Some(column)) if is_fixed(left) => (column, left, op.flipped()),
                    _ => return,
                };
                if !fits(column, *collation) {
                    return;
                }
                let value = (**value).clone();
                let wish = match op {
                    CompareOp::Equal => Wish::Equal(value),
                    _ if !orders(column) => return,
                    CompareOp::Less => Wish::High(value, false),
                    CompareOp::LessOrEqual => Wish::High(value, true),
                    CompareOp::Greater => Wish::Low(value, false),
                    CompareOp::GreaterOrEqual => Wish::Low(value, true),
                    CompareOp::NotEqual | CompareOp::NullSafeEqual => return,
                };
                asked.terms.push(self.term(column, wish, condition));
            }
            Expr::Between { operand, low, high, negated: false, collation } => {
                if let Some(column) = column_of(relation, operand)
                    && fits(column, *collation)
                    && orders(column)
                {
                    if is_fixed(low) {
                        asked.terms.push(self.term(column, Wish::Low((**low).clone(), true), condition));
                    }
                    if is_fixed(high) {
                        asked.terms.push(self.term(column, Wish::High((**high).clone(), true), condition));
                    }
                }
            }
            Expr::In { operand, list, negated: false, collation } => {
                if let Some(column) = column_of(relation, operand)
                    && fits(column, *collation)
                    && list.iter().all(&is_fixed)
                {
                    let wish = match list.as_slice() {
                        [single] => Wish::Equal(single.clone()),
                        _ => Wish::In(list.clone()),
                    };
                    asked.terms.push(self.term(column, wish, condition));
                }
            }
            Expr::Subquery(query) if query.outer.is_empty() && !query.volatile => {
                if let Ask::Compare(comparison) = &query.ask
                    && comparison.with == CompareWith::Any
                    && let [operand] = comparison.operands.as_slice()
                    && let Expr::Compare(CompareOp::Equal, _, _, collation) = &comparison.condition
                    && let Some(column) = column_of(relation, operand)
                    && fits(column, *collation)
                {
                    asked.terms.push(self.term(column, Wish::Query(query.clone()), condition));
                }
            }
            Expr::Or(parts) => {
                let alternatives = parts.iter().map(|part| {
                    let mut alternative = Asked::default();
                    self.collect(part, condition, &mut alternative);
                    (!alternative.is_nothing()).then_some(alternative)
                });
                if let Some(alternatives) = alternatives.collect() {
                    asked.unions.push(Union { alternatives, condition });
                }
            }
            Expr::IsNull { operand, negated: false } => {
                if let Some(column) = column_of(relation, operand) {
                    asked.terms.push(self.term(column, Wish::Equal(Expr::Literal(Value::Null)), condition));
                }
            }
            _ => {}
        }
    }
}
