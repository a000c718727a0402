//! Which access path a relation has: what its conditions ask of its columns, and which index that makes the cheapest.
//!
//! What they ask is found by [`mod@super::asked`]. All conditions are evaluated again for each row, so a path may give more rows
//! than match but never fewer.
//!
//! Where the parts of an OR are about several indexes, each finds keys of rows, which are then looked up. So are those that
//! all of several indexes find, each by values of its own columns, where that saves enough lookups.
//!
//! Where some rows of each group are enough, others are passed over ([`super::loose`]).
//!
//! Rows that are to be locked are found by the index whose leading columns are fixed best, whatever that costs: fewer are
//! locked. Of other paths the cheapest is taken ([`cost`]).

use std::cell::RefCell;
use std::rc::Rc;

use super::access::{Access, Bounds, Merge, Seek, Tail};
use super::asked::{Asked, Known, Terms, column_of, few};
use super::cost;
use super::loose::Wanted;
use super::query::{Relation, RelationSet, SortKey};
use crate::ast::{IndexHint, IndexHintKind, IndexPurpose};
use crate::catalog::definition::IndexKind;
use crate::catalog::table::Table;
use crate::error::{ER_KEY_DOES_NOT_EXITS, ER_WRONG_USAGE, SqlError};
use crate::expr::Expr;
use crate::statistics::Figures;

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
    /// What is wanted of the rows, if that is perhaps not all of them.
    pub(super) loose: Option<&'q Wanted>,
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
        let asked = Terms { relations, relation, of }.all_of(conditions);
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
        let asked = self.asked.known(known);
        let paths = self.candidates(&asked);
        if !self.locks {
            let unions = self.merges(&asked);
            unions.chain(self.intersection(&paths, order)).for_each(|path| offer(path, false));
        }
        for mut path in paths {
            path.access = self.ordered(path.access, order);
            // Among equals, the one that saves sorting, then the rows' own order.
            let first = u32::from(self.table.primary == path.access.index);
            path.score = path.score * 4 + u32::from(path.access.ordered) * 2 + first;
            let sorted = path.access.ordered;
            offer(path, sorted);
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
        if let Some(wanted) = order.loose.filter(|_| !self.locks) {
            for path in self.loose(wanted, &asked, order) {
                let sorted = path.access.ordered;
                offer(path, sorted);
            }
        }
        let scan = self.ordered(Access { index: self.table.primary, ..Access::SCAN }, order);
        let sorted = scan.ordered;
        let score = if sorted && order.is_wanted() { 3 } else { 0 };
        offer(self.judged(scan, score), sorted);
        best.map(|(_, path)| path).unwrap_or_else(|| self.judged(Access::SCAN, 0))
    }

    /// How many rows a path gives of those that there are.
    pub(super) fn found(&self, path: &Path) -> f64 {
        if path.access.is_whole() { path.rows.min(self.figures.present) } else { path.rows }
    }

    fn judged(&self, access: Access, score: u32) -> Path {
        let access = Access { forced: self.forced, ..access };
        let rows = cost::rows_found(&access, self.table, self.figures);
        let covering = access.index.is_some_and(|index| self.covers[index]);
        let mut cost = cost::access_cost(&access, self.table, self.figures, rows, covering);
        if self.forced && access.is_whole() && access.loose.is_none() {
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
        for (condition, equal) in self.asked.conditions().filter(|(condition, _)| *condition < 64) {
            if seen & (1 << condition) == 0 {
                seen |= 1 << condition;
                share *= if equal { 0.1 } else { 0.33 };
            }
        }
        share
    }

    /// What each index can do with the terms, if anything.
    fn candidates(&self, asked: &Known<'_>) -> Vec<Path> {
        let allowed = (0..self.table.indexes.len()).filter(|index| self.allowed[*index]);
        allowed.map(|index| self.candidate(index, asked)).filter(|path| path.score > 0).collect()
    }

    /// What an index can do with the terms, and how good that is (0: nothing).
    fn candidate(&self, at: usize, asked: &Known<'_>) -> Path {
        let table = self.table;
        let index = &table.indexes[at];
        let mut used = 0_u64;
        let mut note = |condition: usize| used |= 1_u64.checked_shl(condition as u32).unwrap_or_default();
        let seek = asked.seek(&index.columns, &mut note);
        let mut score = seek_score(&seek);
        let access = Access { index: Some(at), seek, ..Access::SCAN };
        if access.is_point(table) {
            score += if index.kind == IndexKind::Primary { 1000 } else { 900 };
        }
        Path { used, ..self.judged(access, score) }
    }

    /// The rows of an OR whose parts are found by indexes of their own.
    fn merges(&self, asked: &Known<'_>) -> impl Iterator<Item = Path> {
        asked.alternatives().filter_map(|(condition, parts)| {
            let best = |part| self.candidates(part).into_iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
            let merged = few(parts.iter().map(|part| {
                let access = best(part)?.access;
                Some((cost::places(&access.seek), access))
            }))?;
            let used = 1_u64.checked_shl(condition as u32).unwrap_or_default();
            Some(Path { used, ..self.judged(Access { merged, ..Access::SCAN }, 1) })
        })
    }

    /// The rows that all of several paths find: the one that finds the fewest, and others as long as each makes it cheaper. No
    /// two use the same condition, and the rows of none are a guess from a range. It finds all keys before the first row is
    /// read, so that LIMIT must not end it sooner.
    fn intersection(&self, paths: &[Path], order: Order<'_>) -> Option<Path> {
        let by_values = |path: &&Path| {
            let Access { index, seek, .. } = &path.access;
            let many = *index != self.table.primary && !path.access.is_point(self.table);
            many && path.used != 0 && cost::looks_at_values(seek)
        };
        let mut paths: Vec<&Path> = paths.iter().filter(by_values).collect();
        if paths.len() < 2 {
            return None;
        }
        paths.sort_by(|a, b| a.rows.total_cmp(&b.rows));
        let mut best: Option<Path> = None;
        for path in paths {
            let (mut merged, used) = best.as_ref().map_or((Vec::new(), 0), |all| (all.access.merged.clone(), all.used));
            if used & path.used != 0 {
                continue;
            }
            merged.push(path.access.clone());
            let access = Access { merged, merge: Merge::Intersection, ..Access::SCAN };
            let all = Path { used: used | path.used, ..self.judged(access, 1) };
            if best.as_ref().is_none_or(|best| all.cost < best.cost) {
                best = Some(all);
            }
        }
        best.filter(|all| all.access.merged.len() > 1 && order.limit.is_none_or(|limit| all.rows <= limit))
    }

    /// The paths by which not all rows are read, forwards.
    fn loose(&self, wanted: &Wanted, asked: &Known<'_>, order: Order<'_>) -> impl Iterator<Item = Path> {
        let allowed = move |index: &usize| self.allowed[*index] && self.may_group[*index];
        (0..self.table.indexes.len()).filter(allowed).filter_map(move |index| {
            let path = self.candidate(index, asked);
            let loose = Some(wanted.by(&path, self.table)?);
            let ordered = self.ordered(path.access.clone(), order);
            let access = if ordered.reverse { path.access } else { ordered };
            let ordered = u32::from(access.ordered);
            Some(Path { used: path.used, ..self.judged(Access { loose, ..access }, ordered) })
        })
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

/// How well columns are fixed (0: not at all).
fn seek_score(seek: &Seek) -> u32 {
    let of_tail = match &seek.tail {
        Tail::Open => 0,
        Tail::In(_, then) => 8 + seek_score(then),
        Tail::Query(_) => 7,
        Tail::Range(Bounds { low: Some(_), high: Some(_) }) => 5,
        Tail::Union(_) => 4,
        Tail::Range(_) => 3,
        Tail::Like(..) => 2,
    };
    10 * seek.equal.len() as u32 + of_tail
}

/// The place of the index that a hint means: the one of this name, or the only one whose name begins so.
fn index_named(table: &Table, name: &str) -> Option<usize> {
    let names = || table.def.indexes.iter().map(|index| index.name.as_str()).enumerate();
    let begins = |known: &str| known.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let mut beginning = names().filter(|(_, known)| begins(known)).map(|(at, _)| at);
    let exact = names().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(at, _)| at);
    exact.or_else(|| beginning.next().filter(|_| beginning.next().is_none()))
}

/// 1221 for USE beside FORCE, 1176 for a hint that names an unknown index.
fn check_hints(table: &Table, hints: &[IndexHint]) -> Result<(), SqlError> {
    let is_there = |kind| hints.iter().any(|hint| hint.kind == kind);
    if is_there(IndexHintKind::Use) && is_there(IndexHintKind::Force) {
        return Err(SqlError::new(ER_WRONG_USAGE, &[&"USE INDEX", &"FORCE INDEX"]));
    }
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
