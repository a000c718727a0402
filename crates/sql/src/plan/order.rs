//! Third stage: chooses in which order the relations are read, and how the rows of each are found ([`super::paths`]).
//!
//! A relation is read for each row of those before it by a key that these fix, or its rows are kept: under what is equal in
//! both where a condition asks for that, or all together; whichever is thought to cost less ([`super::cost`]). A condition
//! is judged as soon as all that it reads is there. What follows LEFT JOIN is a nest of its own, read after the relations
//! that its conditions name; its rows are judged by these conditions before one of NULLs stands for them. So is what a
//! semi- or anti-join looks for partners in.
//!
//! A condition that asks a query of each row is judged where there are the fewest rows, at one of the steps from that on at
//! which it can be judged; what it costs there counts. Which rows are locked does not depend on that: it does not wait then.
//!
//! Columns that are equal to one are equal to each other, so that each can be looked up by any of them
//! ([`super::equalities`]); of these equalities a step judges one.
//!
//! Outline: [`Chooser::nest`] plans the members of a nest. For each set of members the cheapest order is known from those of
//! one member less (dynamic programming), up to [`EXHAUSTIVE`] members; beyond, the next member is the one after which there
//! are the fewest rows. Where rows are wanted in an order, to be given in it or grouped, the plans that begin with a path in
//! that order are weighed against the best one with what follows after it. Where LIMIT ends a plan that gives rows as it finds
//! them, what it does for each row counts for so many. STRAIGHT_JOIN, LATERAL, JSON_TABLE and hints say
//! what must come before.

use std::cell::RefCell;
use std::rc::Rc;

use super::access::Access;
use super::alternatives;
use super::cost;
use super::equalities;
use super::estimate;
use super::loose::Wanted;
use super::node::{AskedQuery, JoinType, RowSource};
use super::paths::{Order, Path, Paths};
use super::query::{Member, Nest, Query, Relation, RelationSet, Source, column_at, conjunct_refs, relations_read};
use super::share::{Constants, Known, Shares};
use crate::catalog::system;
use crate::error::SqlError;
use crate::expr::{EqualKey, Expr, possible_keys};
use crate::statistics::Figures;

/// One relation, or what follows LEFT JOIN, in the order in which they are read.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) source: StepSource,
    /// Conditions on its rows, judged where they are found.
    pub(super) filter: Vec<Expr>,
    /// How its rows get to those before.
    pub(super) method: Method,
    /// Conditions on its rows beside those before, judged where they meet.
    pub(super) on: Vec<Expr>,
    /// Conditions that are judged after that: what an outer join has filled with NULLs is judged too.
    pub(super) after: Vec<Expr>,
}

/// What a step reads.
#[derive(Clone)]
pub(super) enum StepSource {
    /// A relation of the query, by its place.
    Relation(usize, Access),
    /// What follows LEFT JOIN.
    Optional(Vec<Step>),
    /// What a semi- or anti-join looks for partners in.
    Partners(JoinType, Vec<Step>),
}

/// How the rows of a step get to those of the steps before.
#[derive(Clone, Debug)]
pub(super) enum Method {
    /// It is the first.
    First,
    /// They are read anew for each row before.
    Loop,
    /// They are read once and kept.
    Kept,
    /// They are kept under what has to be equal.
    Hashed(Vec<EqualKey>),
}

/// The most members of a nest of which every order is looked at.
const EXHAUSTIVE: usize = 8;
/// The most members of larger nests that are tried as the first one.
const TRIED_FIRST: usize = 10;
/// What LIMIT is taken for, rows, since a plan serves all of its values.
const LIMIT_GUESS: f64 = 10.0;
/// Rows and costs stay numbers.
const MOST: f64 = 1e30;

struct Chooser<'q> {
    relations: &'q [Relation],
    figures: Vec<Figures>,
    /// What it costs to make the rows of each relation; nothing if they are stored.
    making: Vec<f64>,
    constants: Constants,
    /// The queries that conditions ask, by their places.
    queries: &'q [Option<AskedQuery>],
    /// Of each relation, whether the entries of its indexes have every column that is read.
    covers: Vec<Vec<bool>>,
    /// Relations whose rows are locked.
    locked: RelationSet,
    /// What follows LEFT JOIN, as far as it is planned: it is the same wherever its nest is planned from.
    optionals: RefCell<Vec<(*const Nest, Rc<OptionalChoice>)>>,
}

/// Chooses order and paths; 1176 for a hint that names an unknown index.
pub(super) fn choose(
    query: &Query,
    constants: Constants,
    queries: &[Option<AskedQuery>],
) -> Result<Vec<Step>, SqlError> {
    if query.relations.is_empty() {
        return Ok(Vec::new());
    }
    let chooser = Chooser::of(query, constants, queries);
    let order = order_wanted(query);
    if order.alone {
        let conditions: Vec<&Expr> = query.filter.iter().flat_map(conjunct_refs).collect();
        let loose = Wanted::of(query);
        let access = match chooser.paths(0, &conditions)? {
            Some(paths) => paths.best_in_order(RelationSet::NONE, Order { loose: loose.as_ref(), ..order }).access,
            None => Access::SCAN,
        };
        let filter = query.filter.iter().cloned().collect();
        let (source, on, after) = (StepSource::Relation(0, access), Vec::new(), Vec::new());
        return Ok(vec![Step { source, filter, method: Method::First, on, after }]);
    }
    let conditions: Vec<&Expr> = query.from.conditions.iter().collect();
    Ok(chooser.nest(&query.from.members, &conditions, RelationSet::NONE, order)?.steps)
}

/// The order in which rows are wanted where they are found.
pub(super) fn order_wanted(query: &Query) -> Order<'_> {
    let alone = query.relations.len() == 1;
    let sorts = query.windows.is_empty() && !query.distinct;
    match &query.grouping {
        None if sorts => {
            let limit = query.limit.as_ref().filter(|limit| !limit.counts_all).map(|_| LIMIT_GUESS);
            Order { keys: &query.sort, limit, alone, ..Order::default() }
        }
        Some(grouping) if !grouping.rollup && grouping.keys.iter().all(|key| matches!(key, Expr::Column(_))) => {
            // Groups come as their first rows do.
            let sorts = sorts && query.sort.iter().all(|key| grouping.keys.contains(&key.expr));
            let keys = if sorts { query.sort.as_slice() } else { &[] };
            Order { keys, groups: &grouping.keys, alone, ..Order::default() }
        }
        _ => Order { alone, ..Order::default() },
    }
}

/// A nest that is planned.
struct Planned {
    steps: Vec<Step>,
    /// Rows of the nest, and what they cost, each time that it is read.
    rows: f64,
    cost: f64,
}

/// A condition, and what is thought of it.
struct Condition<'q> {
    expr: &'q Expr,
    read: RelationSet,
    share: f64,
    /// What it costs to ask queries for one row, and for how many rows at most; nothing if it asks none of each row.
    asking: f64,
    most_asked: f64,
    /// The columns whose equality it states, if others do so as well.
    class: Option<usize>,
}

impl Condition<'_> {
    /// Whether it can be judged once these relations are there, and not by those that are known before.
    fn is_ready_from(&self, known: RelationSet, there: RelationSet) -> bool {
        there.has_all(self.read) && !known.has_all(self.read)
    }
}

/// One member of a nest, and the ways to read it.
struct Choice<'q> {
    relations: RelationSet,
    /// What has to be read before it.
    needs: RelationSet,
    kind: ChoiceKind<'q>,
}

enum ChoiceKind<'q> {
    Stored(usize, Paths<'q>),
    /// Rows that are made, so many, and what it costs to make and read them.
    Made(usize, f64, f64),
    Optional(&'q Nest, Rc<OptionalChoice>),
    Partners(JoinType, &'q Nest, Rc<OptionalChoice>),
}

/// What follows LEFT JOIN, or what partners are looked for in, planned.
struct OptionalChoice {
    /// Read anew for each row before.
    anew: Planned,
    /// Read once, if it can be; and whether there are keys to keep its rows under.
    once: Option<(Planned, bool)>,
}

/// The cheapest order of some members so far.
#[derive(Clone)]
struct Prefix {
    rows: f64,
    /// With what it costs to ask queries.
    cost: f64,
    /// The conditions that ask queries of each row, as far as they can be judged.
    asked: Vec<Asked>,
    /// The last member, and how it is read.
    last: usize,
    how: How,
    /// The members before it.
    before: usize,
}

/// Where a condition is judged that asks a query of each row.
#[derive(Clone, Copy)]
struct Asked {
    condition: usize,
    /// After so many members.
    after: usize,
    cost: f64,
}

/// How a member is read after others.
#[derive(Clone)]
enum How {
    Anew(Option<Rc<Path>>),
    Once(Option<Rc<Path>>),
}

impl<'q> Chooser<'q> {
    fn of(query: &'q Query, constants: Constants, queries: &'q [Option<AskedQuery>]) -> Chooser<'q> {
        let relations = query.relations.as_slice();
        let sources = relations.iter().map(|relation| match &relation.source {
            Source::Table(table) if !system::is_one(table) => (table.counters.statistics.figures(), 0.0),
            Source::Made { rows, .. } => {
                let made = estimate::of_source(rows, constants);
                (Figures::of_rows(made.rows), made.cost)
            }
            Source::Table(_) | Source::Derived { .. } | Source::Set { .. } => {
                (Figures::of_rows(crate::statistics::UNKNOWN_ROWS), 0.0)
            }
        });
        let (figures, making) = sources.unzip();
        let is_changed = |at: usize| {
            query.change.is_some()
                || relations[at].locking.is_some()
                || query.targets.iter().any(|target| target.relation == at)
        };
        let locked = (0..relations.len()).filter(|at| is_changed(*at));
        let locked = locked.fold(RelationSet::NONE, |all, at| all.with(RelationSet::one(at)));
        let covers = relations.iter().enumerate().map(|(at, relation)| {
            let Some(table) = relation.table() else { return Vec::new() };
            if locked.has(at) {
                return vec![false; table.indexes.len()];
            }
            let read = relation.columns_read(query.exprs());
            let gives = |index: usize| read.iter().all(|column| table.entry_gives(index, *column));
            (0..table.indexes.len()).map(|index| table.primary != Some(index) && gives(index)).collect()
        });
        Chooser {
            relations,
            figures,
            making,
            constants,
            queries,
            covers: covers.collect(),
            locked,
            optionals: RefCell::default(),
        }
    }

    /// The paths of a stored table; `None` if its rows are made.
    fn paths(&self, of: usize, conditions: &[&Expr]) -> Result<Option<Paths<'_>>, SqlError> {
        let Some(table) = self.relations[of].table() else { return Ok(None) };
        let locks = self.locked.has(of);
        Paths::of(self.relations, of, table, &self.figures[of], &self.covers[of], locks, conditions).map(Some)
    }

    fn read(&self, expr: &Expr) -> RelationSet {
        relations_read(self.relations, expr)
    }

    /// What is known of the column at a slot.
    fn known(&self, slot: usize) -> Option<Known<'_>> {
        let (relation, column) = column_at(self.relations, slot)?;
        let at = self.relations.iter().position(|known| std::ptr::eq(known, relation))?;
        Some(estimate::known(relation.table()?, column, &self.figures[at]))
    }

    fn condition<'e>(&self, expr: &'e Expr) -> Condition<'e> {
        let columns = |slot| self.known(slot).unwrap_or_default();
        let share = Shares { columns: &columns, constants: self.constants }.of(expr);
        let (asking, most_asked) = self.asking(expr);
        Condition { expr, read: self.read(expr), share, asking, most_asked, class: None }
    }

    /// What it costs to ask the queries of a condition for one row that they read, and for how many rows at most: then all
    /// answers are there.
    fn asking(&self, expr: &Expr) -> (f64, f64) {
        let (mut cost, mut most) = (0.0, 0.0_f64);
        expr.walk(&mut |part| {
            let Expr::Subquery(query) = part else { return };
            if !query.outer.iter().any(Expr::has_columns) {
                return;
            }
            let asked = self.queries.get(query.place).and_then(Option::as_ref);
            let all = asked.and_then(|asked| asked.all_answers.as_ref());
            cost += cost::OPEN + asked.map_or(0.0, |asked| estimate::of_query(&asked.plan, self.constants).cost);
            most = most.max(all.map_or(MOST, |all| 2.0 * all.worth_after as f64));
        });
        (cost, most)
    }

    /// Of an OR beside conditions that it implies, only the rest is counted.
    fn leave_out_implied(&self, conditions: &mut [Condition<'_>]) {
        for at in 0..conditions.len() {
            let Condition { expr: Expr::Or(_), read, .. } = conditions[at] else { continue };
            let of = (0..self.relations.len()).filter(|of| read.has(*of));
            let implied = of.filter_map(|of| alternatives::implied(conditions[at].expr, of, self.relations));
            let beside = |implied| conditions.iter().find(|known| *known.expr == implied);
            let counted: f64 = implied.filter_map(beside).map(|known| known.share).product();
            conditions[at].share = (conditions[at].share / counted.max(1e-9)).min(1.0);
        }
    }

    /// The steps of members that are read after the relations that are known.
    fn nest(
        &self,
        members: &[Member],
        conditions: &[&Expr],
        known: RelationSet,
        order: Order<'_>,
    ) -> Result<Planned, SqlError> {
        let said = conditions.len();
        // Rows to be locked are looked for by what is said.
        let own = members.iter().fold(RelationSet::NONE, |all, member| all.with(member.relations()));
        let own = if self.locked.is_empty() { own } else { RelationSet::NONE };
        let equalities = equalities::of(conditions, own, self.relations);
        let conditions: Vec<&Expr> = conditions.iter().copied().chain(&equalities.implied).collect();
        let mut choices =
            members.iter().map(|member| self.choice(member, &conditions)).collect::<Result<Vec<_>, _>>()?;
        // What STRAIGHT_JOIN says of others does not concern rows that are read without them.
        let here = members.iter().fold(known, |all, member| all.with(member.relations()));
        choices.iter_mut().for_each(|choice| choice.needs = choice.needs.among(here));
        let mut conditions: Vec<Condition<'_>> = conditions.iter().map(|expr| self.condition(expr)).collect();
        self.leave_out_implied(&mut conditions[..said]);
        conditions.iter_mut().zip(&equalities.classes).for_each(|(condition, class)| condition.class = *class);
        let asks = conditions.iter().any(|condition| condition.asking > 0.0);
        let search = Search { chooser: self, choices: &choices, conditions: &conditions, asks, known, share: 1.0 };
        let stuck = || SqlError::internal("no relation of a join can be read next");
        let mut best = search.cheapest(None);
        let rows = best.as_ref().map_or(1.0, |(prefix, _)| prefix.rows.max(1.0));
        let share = order.limit.map_or(1.0, |limit| (limit / rows).min(1.0));
        let search = Search { share, ..search };
        if share < 1.0 && !order.is_wanted() {
            best = search.cheapest(None);
        }
        if order.is_wanted() {
            if let Some((prefix, _)) = &mut best {
                prefix.cost += order.cost_of_none(prefix.rows);
            }
            for (at, choice) in choices.iter().enumerate() {
                let ChoiceKind::Stored(_, paths) = &choice.kind else { continue };
                let path = paths.best_in_order(known, order);
                if !path.access.ordered || !known.has_all(choice.needs) {
                    continue;
                }
                let Some((prefix, members)) = search.cheapest(Some((at, Rc::new(path)))) else { continue };
                if paths.forces(order) || best.as_ref().is_none_or(|(known, _)| prefix.cost < known.cost) {
                    best = Some((prefix, members));
                }
            }
        }
        let (prefix, in_order) = best.ok_or_else(stuck)?;
        let steps = search.steps(in_order, &prefix.asked);
        Ok(Planned { steps, rows: prefix.rows, cost: prefix.cost })
    }

    fn choice<'n>(&'n self, member: &'n Member, conditions: &[&Expr]) -> Result<Choice<'n>, SqlError> {
        let relations = member.relations();
        Ok(match member {
            Member::Relation(of) => {
                let kind = match self.paths(*of, conditions)? {
                    Some(paths) => ChoiceKind::Stored(*of, paths),
                    None => {
                        let rows = self.figures[*of].rows;
                        ChoiceKind::Made(*of, rows, self.making[*of] + rows)
                    }
                };
                Choice { relations, needs: self.relations[*of].after, kind }
            }
            Member::Optional(nest) => {
                let needs = self.needed(nest);
                Choice { relations, needs, kind: ChoiceKind::Optional(nest, self.optional(nest, needs)?) }
            }
            Member::Partners(join_type, nest) => {
                let needs = self.needed(nest);
                let kind = ChoiceKind::Partners(*join_type, nest, self.optional(nest, needs)?);
                Choice { relations, needs, kind }
            }
        })
    }

    /// The relations outside of an optional nest that are read before it.
    fn needed(&self, nest: &Nest) -> RelationSet {
        let mut needed = nest.conditions.iter().fold(RelationSet::NONE, |all, one| all.with(self.read(one)));
        for member in &nest.members {
            needed = needed.with(match member {
                Member::Relation(of) => self.relations[*of].after,
                Member::Optional(nest) | Member::Partners(_, nest) => self.needed(nest),
            });
        }
        needed.without(nest.relations())
    }

    /// Whether the rows of a relation can only be read anew for each row before.
    fn is_lateral(&self, of: usize) -> bool {
        match &self.relations[of].source {
            Source::Made { rows: RowSource::Lateral { .. }, .. } => true,
            Source::Made { rows: RowSource::JsonTable(table), .. } => !self.read(&table.document).is_empty(),
            _ => false,
        }
    }

    /// What follows LEFT JOIN, after the relations that it needs.
    fn optional(&self, nest: &Nest, needs: RelationSet) -> Result<Rc<OptionalChoice>, SqlError> {
        let known =
            self.optionals.borrow().iter().find(|(of, _)| std::ptr::eq(*of, nest)).map(|(_, known)| known.clone());
        if let Some(known) = known {
            return Ok(known);
        }
        let planned = Rc::new(self.plan_optional(nest, needs)?);
        self.optionals.borrow_mut().push((nest, planned.clone()));
        Ok(planned)
    }

    fn plan_optional(&self, nest: &Nest, needs: RelationSet) -> Result<OptionalChoice, SqlError> {
        let any = Order::default();
        let conditions: Vec<&Expr> = nest.conditions.iter().collect();
        let anew = self.nest(&nest.members, &conditions, needs, any)?;
        let own = nest.relations();
        let needs_rows = nest.members.iter().any(|member| match member {
            Member::Relation(of) => self.is_lateral(*of) && !own.has_all(self.relations[*of].after),
            Member::Optional(inner) | Member::Partners(_, inner) => !own.has_all(self.needed(inner)),
        });
        // Rows to be locked are looked for by the rows before, whatever that costs: fewer are locked.
        let locks = !self.locked.among(own).is_empty();
        if needs_rows || (locks && anew.steps.iter().any(|step| self.depends(step, own))) {
            return Ok(OptionalChoice { anew, once: None });
        }
        let (inside, on) = self.apart(&conditions, own);
        let once = self.nest(&nest.members, &inside, RelationSet::NONE, any)?;
        let keyed = !self.keys(&on, own).is_empty();
        Ok(OptionalChoice { anew, once: Some((once, keyed)) })
    }

    /// Whether rows before are read for where to look.
    fn depends(&self, step: &Step, own: RelationSet) -> bool {
        match &step.source {
            StepSource::Relation(_, access) => {
                let mut depends = false;
                access.for_each_term(&mut |term| depends |= !own.has_all(self.read(term)));
                depends
            }
            StepSource::Optional(steps) | StepSource::Partners(_, steps) => {
                steps.iter().any(|step| self.depends(step, own))
            }
        }
    }

    /// The conditions on these relations alone, and the others.
    fn apart<'e>(&self, conditions: &[&'e Expr], own: RelationSet) -> (Vec<&'e Expr>, Vec<&'e Expr>) {
        let inside = |condition: &&'e Expr| own.has_all(self.read(condition)) && !condition.is_volatile();
        conditions.iter().copied().partition(inside)
    }

    /// What has to be equal on both sides, the relations before on the left. Some are keys only for some parameters.
    fn keys(&self, on: &[&Expr], own: RelationSet) -> Vec<EqualKey> {
        let mut keys = Vec::new();
        for key in on.iter().filter_map(|condition| possible_keys(condition)).flatten() {
            let (left, right) = (self.read(&key.left), self.read(&key.right));
            let is_own = |side: RelationSet| !side.is_empty() && own.has_all(side);
            let is_before = |side: RelationSet| side.without(own) == side;
            if is_own(right) && is_before(left) {
                keys.push(key);
            } else if is_own(left) && is_before(right) {
                keys.push(EqualKey { left: key.right, right: key.left, collation: key.collation });
            }
        }
        keys
    }
}

/// The search for the cheapest order of the members of a nest. Sets of members are bits of a number.
struct Search<'s, 'q> {
    chooser: &'s Chooser<'q>,
    choices: &'s [Choice<'s>],
    conditions: &'s [Condition<'s>],
    /// Whether one of them asks a query of each row.
    asks: bool,
    /// The relations that are read before.
    known: RelationSet,
    /// The share of the rows that is asked for, since LIMIT wants no more of them as they are found.
    share: f64,
}

type InOrder = Vec<(usize, How)>;

impl Search<'_, '_> {
    /// The cheapest order, and its members; one may be given as the first. `None` if there is no order.
    fn cheapest(&self, first: Option<(usize, Rc<Path>)>) -> Option<(Prefix, InOrder)> {
        if self.choices.len() <= EXHAUSTIVE { self.exhaustive(first) } else { self.greedy(first) }
    }

    fn exhaustive(&self, first: Option<(usize, Rc<Path>)>) -> Option<(Prefix, InOrder)> {
        let all = (1_usize << self.choices.len()) - 1;
        let mut prefixes: Vec<Option<Prefix>> = vec![None; all + 1];
        for members in 0..all {
            let before = match members {
                0 => None,
                members => match &prefixes[members] {
                    None => continue,
                    some => some.clone(),
                },
            };
            for next in (0..self.choices.len()).filter(|next| members & (1 << next) == 0) {
                let path = match (&first, members) {
                    (Some((at, _)), 0) if *at != next => continue,
                    (Some((_, path)), 0) => Some(path.clone()),
                    _ => None,
                };
                let Some(prefix) = self.after(before.as_ref(), members, next, path) else { continue };
                let known = &mut prefixes[members | 1 << next];
                if known.as_ref().is_none_or(|known| prefix.cost < known.cost) {
                    *known = Some(prefix);
                }
            }
        }
        let best = prefixes[all].clone()?;
        let (mut in_order, mut at) = (Vec::new(), all);
        while let Some(prefix) = prefixes[at].take().filter(|_| at != 0) {
            at = prefix.before;
            in_order.push((prefix.last, prefix.how));
        }
        in_order.reverse();
        Some((best, in_order))
    }

    fn greedy(&self, first: Option<(usize, Rc<Path>)>) -> Option<(Prefix, InOrder)> {
        let starts = match &first {
            Some((at, _)) => *at..at + 1,
            None => 0..self.choices.len(),
        };
        let mut best: Option<(Prefix, InOrder)> = None;
        let able = |at: &usize| self.after(None, 0, *at, None).is_some();
        for start in starts.filter(able).take(TRIED_FIRST) {
            let path = first.as_ref().map(|(_, path)| path.clone());
            let Some(mut prefix) = self.after(None, 0, start, path) else { continue };
            let (mut members, mut in_order) = (1_usize << start, vec![(start, prefix.how.clone())]);
            while in_order.len() < self.choices.len() {
                let left = (0..self.choices.len()).filter(|next| members & (1 << next) == 0);
                let nexts = left.filter_map(|next| self.after(Some(&prefix), members, next, None));
                let fewest = nexts.min_by(|a, b| a.rows.total_cmp(&b.rows).then(a.cost.total_cmp(&b.cost)));
                let Some(next) = fewest else { break };
                members |= 1 << next.last;
                in_order.push((next.last, next.how.clone()));
                prefix = next;
            }
            let whole = in_order.len() == self.choices.len();
            if whole && best.as_ref().is_none_or(|(known, _)| prefix.cost < known.cost) {
                best = Some((prefix, in_order));
            }
        }
        best
    }

    fn relations_of(&self, members: usize) -> RelationSet {
        let of = (0..self.choices.len()).filter(|at| members & (1 << at) != 0);
        of.fold(self.known, |all, at| all.with(self.choices[at].relations))
    }

    /// What share of the rows is kept by the conditions that can be judged once a member is there, but not before; of what
    /// says the same of columns that are equal, one counts.
    fn kept(&self, known: RelationSet, there: RelationSet, uses: &dyn Fn(usize) -> bool) -> f64 {
        let new = || self.conditions.iter().enumerate().filter(|(_, condition)| condition.is_ready_from(known, there));
        let bit = |condition: &Condition<'_>| condition.class.map_or(0, |class| 1_u64 << class);
        let used = new().filter(|(at, condition)| condition.class.is_some() && uses(*at));
        let mut counted = used.fold(0, |all, (_, condition)| all | bit(condition));
        let counts = |(at, condition): &(usize, &Condition<'_>)| {
            let is_new = counted & bit(condition) == 0 && !uses(*at);
            counted |= bit(condition);
            is_new
        };
        new().filter(counts).map(|(_, condition)| condition.share).product()
    }

    /// The conditions that ask queries of each row once there are so many rows after so many members, each where that costs
    /// least.
    fn asked(
        &self,
        before: Option<&Prefix>,
        known: RelationSet,
        there: RelationSet,
        after: usize,
        rows: f64,
    ) -> Vec<Asked> {
        let cost = |condition: usize| {
            let Condition { asking, most_asked, share, .. } = self.conditions[condition];
            asking * (rows * self.share / share.max(1e-3)).min(most_asked)
        };
        let mut all = before.map_or_else(Vec::new, |before| before.asked.clone());
        for asked in &mut all {
            let now = cost(asked.condition);
            if now < asked.cost && self.chooser.locked.is_empty() {
                (asked.after, asked.cost) = (after, now);
            }
        }
        let asks = self.conditions.iter().enumerate();
        let asks = asks.filter(|(_, one)| one.asking > 0.0 && one.is_ready_from(known, there));
        all.extend(asks.map(|(condition, _)| Asked { condition, after, cost: cost(condition) }));
        all
    }

    /// The cheapest way to read a member after others, if it can be read then, with what it costs to ask queries.
    fn after(&self, before: Option<&Prefix>, members: usize, next: usize, path: Option<Rc<Path>>) -> Option<Prefix> {
        let mut prefix = self.read_after(before, members, next, path)?;
        if self.asks {
            let known = self.relations_of(members);
            let there = known.with(self.choices[next].relations);
            prefix.asked = self.asked(before, known, there, members.count_ones() as usize + 1, prefix.rows);
            let cost = |asked: &[Asked]| asked.iter().map(|asked| asked.cost).sum::<f64>();
            let more = cost(&prefix.asked) - before.map_or(0.0, |before| cost(&before.asked));
            prefix.cost = (prefix.cost + more).min(MOST);
        }
        Some(prefix)
    }

    /// The cheapest way to read a member after others, if it can be read then.
    fn read_after(
        &self,
        before: Option<&Prefix>,
        members: usize,
        next: usize,
        path: Option<Rc<Path>>,
    ) -> Option<Prefix> {
        let choice = &self.choices[next];
        let known = self.relations_of(members);
        if !known.has_all(choice.needs) {
            return None;
        }
        let there = known.with(choice.relations);
        let (all, cost) = before.map_or((1.0, 0.0), |before| (before.rows, before.cost));
        // So many of the rows before ask.
        let rows = all * self.share;
        let prefix = |found: f64, added: f64, how: How| Prefix {
            rows: (all * found).clamp(1e-3, MOST),
            cost: (cost + added).min(MOST),
            asked: Vec::new(),
            last: next,
            how,
            before: members,
        };
        let own = choice.relations;
        let any = |condition: &Condition<'_>| there.has_all(condition.read) && !own.has_all(condition.read);
        match &choice.kind {
            ChoiceKind::Stored(_, paths) => {
                let anew = path.unwrap_or_else(|| paths.best(known));
                let found = paths.found(&anew) * self.kept(known, there, &|at| anew.uses(at));
                let Some(_) = before else { return Some(prefix(found, anew.cost * self.share, How::Anew(Some(anew)))) };
                let reads_row = anew.access.reads_row();
                let by_loop = prefix(found, rows * anew.cost + rows * found * cost::COMPARE, How::Anew(Some(anew)));
                if reads_row && paths.locks {
                    return Some(by_loop);
                }
                let once = paths.best(RelationSet::NONE);
                let kept = paths.found(&once) * self.kept(RelationSet::NONE, own, &|at| once.uses(at));
                let found = paths.found(&once) * self.kept(known, there, &|at| once.uses(at));
                let keyed = self.conditions.iter().any(|one| any(one) && possible_keys(one.expr).is_some());
                let meet = if keyed { cost::PROBE + found * cost::COMPARE } else { kept * cost::COMPARE };
                let by_keeping = prefix(found, once.cost + kept * cost::KEEP + rows * meet, How::Once(Some(once)));
                Some(if reads_row && by_loop.cost <= by_keeping.cost { by_loop } else { by_keeping })
            }
            ChoiceKind::Made(of, made, once) => {
                let found = made * self.kept(known, there, &|_| false);
                let keyed = self.conditions.iter().any(|one| any(one) && possible_keys(one.expr).is_some());
                let lateral = self.chooser.is_lateral(*of);
                Some(match before {
                    None => prefix(found, *once, How::Anew(None)),
                    Some(_) if lateral => prefix(found, rows * once, How::Anew(None)),
                    Some(_) => {
                        let meet = if keyed { cost::PROBE + found * cost::COMPARE } else { made * cost::COMPARE };
                        prefix(found, once + made * cost::KEEP + rows * meet, How::Once(None))
                    }
                })
            }
            ChoiceKind::Optional(_, optional) => {
                before?;
                let after = self.kept(known, there, &|_| false);
                let found = optional.anew.rows.max(1.0) * after;
                let anew = prefix(found, rows * optional.anew.cost, How::Anew(None));
                let Some((once, keyed)) = &optional.once else { return Some(anew) };
                let meet = if *keyed { cost::PROBE + found * cost::COMPARE } else { once.rows * cost::COMPARE };
                let kept = prefix(found, once.cost + once.rows * cost::KEEP + rows * meet, How::Once(None));
                Some(if anew.cost < kept.cost { anew } else { kept })
            }
            ChoiceKind::Partners(join_type, nest, planned) => {
                before?;
                let partners = planned.anew.rows;
                let found = cost::share_by_partners(*join_type, partners) * self.kept(known, there, &|_| false);
                let anew = prefix(found, rows * planned.anew.cost, How::Anew(None));
                let Some((once, keyed)) = &planned.once else { return Some(anew) };
                let met = if *keyed { partners.min(1.0) } else { once.rows };
                let meet = cost::PROBE + met * cost::COMPARE;
                let kept = prefix(found, once.cost + once.rows * cost::KEEP + rows * meet, How::Once(None));
                // Rows that are made would be made for each row before, which may be more than thought.
                let are_stored = nest.places().iter().all(|of| self.chooser.relations[*of].table().is_some());
                Some(if are_stored && anew.cost < kept.cost { anew } else { kept })
            }
        }
    }

    /// The steps of the members in this order.
    fn steps(&self, in_order: InOrder, asked: &[Asked]) -> Vec<Step> {
        let mut left: Vec<usize> = (0..self.conditions.len()).collect();
        let (mut known, last) = (self.known, in_order.len() - 1);
        let mut steps = Vec::with_capacity(in_order.len());
        for (at, (member, how)) in in_order.into_iter().enumerate() {
            let choice = &self.choices[member];
            let there = known.with(choice.relations);
            let is_ready = |condition: &usize| {
                let waits = asked.iter().any(|asked| asked.condition == *condition && asked.after > at + 1);
                let Condition { expr, read, .. } = self.conditions[*condition];
                there.has_all(read) && (at == last || !(waits || expr.is_volatile()))
            };
            let (mut ready, later): (Vec<usize>, Vec<usize>) = left.into_iter().partition(is_ready);
            left = later;
            if choice.relations.is_one() {
                let mut classes = 0_u64;
                ready.retain(|condition| {
                    let class = self.conditions[*condition].class.map_or(0, |class| 1 << class);
                    let is_known = classes & class != 0;
                    classes |= class;
                    !is_known
                });
            }
            ready.sort_by(|a, b| self.conditions[*a].asking.total_cmp(&self.conditions[*b].asking));
            let ready: Vec<&Expr> = ready.into_iter().map(|condition| self.conditions[condition].expr).collect();
            steps.push(match &choice.kind {
                ChoiceKind::Stored(of, _) | ChoiceKind::Made(of, ..) => self.relation(*of, how, ready, at == 0),
                ChoiceKind::Optional(nest, planned) => self.nested(nest, planned, &how, ready, &StepSource::Optional),
                ChoiceKind::Partners(join_type, nest, planned) => {
                    self.nested(nest, planned, &how, ready, &|steps| StepSource::Partners(*join_type, steps))
                }
            });
            known = there;
        }
        steps
    }

    fn relation(&self, of: usize, how: How, ready: Vec<&Expr>, first: bool) -> Step {
        let all = |conditions: Vec<&Expr>| conditions.into_iter().cloned().collect();
        let step = |path: Option<Rc<Path>>, filter, method, on| {
            let access = path.map_or(Access::SCAN, |path| path.access.clone());
            Step { source: StepSource::Relation(of, access), filter, method, on, after: Vec::new() }
        };
        let path = match how {
            How::Anew(path) if first => return step(path, all(ready), Method::First, Vec::new()),
            How::Anew(path) => return step(path, all(ready), Method::Loop, Vec::new()),
            How::Once(path) => path,
        };
        let own = RelationSet::one(of);
        let (filter, on) = self.chooser.apart(&ready, own);
        // One row is as soon compared as found by a key.
        let table = self.chooser.relations[of].table().filter(|table| !system::is_one(table));
        let is_short = table.zip(path.as_ref()).is_some_and(|(table, path)| path.access.is_point(table));
        let keys = if is_short { Vec::new() } else { self.chooser.keys(&on, own) };
        let method = if keys.is_empty() { Method::Kept } else { Method::Hashed(keys) };
        step(path, all(filter), method, all(on))
    }

    /// The step of what follows LEFT JOIN, and the like; `after` are the conditions of the nest around that can be judged
    /// then.
    fn nested(
        &self,
        nest: &Nest,
        planned: &OptionalChoice,
        how: &How,
        after: Vec<&Expr>,
        source: &dyn Fn(Vec<Step>) -> StepSource,
    ) -> Step {
        let after = after.into_iter().cloned().collect();
        let (How::Once(_), Some((once, _))) = (how, &planned.once) else {
            let source = source(planned.anew.steps.clone());
            return Step { source, filter: Vec::new(), method: Method::Loop, on: Vec::new(), after };
        };
        let conditions: Vec<&Expr> = nest.conditions.iter().collect();
        let (_, on) = self.chooser.apart(&conditions, nest.relations());
        let keys = self.chooser.keys(&on, nest.relations());
        let method = if keys.is_empty() { Method::Kept } else { Method::Hashed(keys) };
        let on = on.into_iter().cloned().collect();
        Step { source: source(once.steps.clone()), filter: Vec::new(), method, on, after }
    }
}
