//! A derived table that only chooses and computes becomes part of the query around it, so that conditions, indexes and the
//! order of joins reach its tables, and what nobody reads of it is not made.
//!
//! Contract
//! - A derived table is merged if its query is a SELECT of tables with conditions alone: without DISTINCT, groups, windows,
//!   order, limit and locking clause. What it selects are columns, or expressions of some of them that are short, not
//!   volatile and ask no query: the query around evaluates them where it reads them, as often as it does, as in MySQL.
//! - One that LEFT JOIN may fill with NULLs selects columns alone: an expression of NULLs need not be NULL.
//! - Statements that lock or change rows keep theirs: rows are found before any is changed.
//! - Rows, their names and types are the same; only what is computed from parameters has the type of their values.
//!
//! Relations and slots are numbered anew, the tables of a derived one in its place ([`Places`]), and all expressions are
//! led to the new slots.

use super::query::{MAX_RELATIONS, Member, Nest, Query, RelationSet, Source, all_of, conjuncts, width};
use crate::expr::Expr;
use crate::stack;

/// The most parts of an expression that stands for a column: one within the next would double them each time.
const MOST_PARTS: usize = 24;

/// Merges what can be merged, the innermost first.
pub(super) fn merge(query: &mut Query) {
    for relation in &mut query.relations {
        if let Source::Derived { query, .. } = &mut relation.source {
            stack::with_room_for_query(|| merge(query));
        }
    }
    if !query.only_reads() {
        return;
    }
    let mut at = 0;
    while at < query.relations.len() {
        if !is_mergeable(query, at) || !merge_one(query, at) {
            at += 1;
        }
    }
}

fn is_mergeable(query: &Query, at: usize) -> bool {
    let Source::Derived { query: inner, .. } = &query.relations[at].source else { return false };
    let Query { relations, grouping, having, windows, distinct, sort, limit, .. } = &**inner;
    let plain = grouping.is_none() && having.is_none() && windows.is_empty() && !distinct && sort.is_empty();
    let few = query.relations.len() + relations.len() <= MAX_RELATIONS;
    let locks = relations.iter().any(|relation| relation.locking.is_some());
    if !plain || limit.is_some() || relations.is_empty() || !few || locks {
        return false;
    }
    let mut conditions = inner.filter.iter().chain(&inner.from.conditions);
    let optional = query.relations[at].optional;
    conditions.all(|condition| !condition.is_volatile())
        && inner.outputs.iter().all(|output| is_short(output, optional))
}

/// Whether an expression may stand for a column.
fn is_short(output: &Expr, optional: bool) -> bool {
    if matches!(output, Expr::Column(_)) {
        return true;
    }
    let (mut parts, mut columns) = (0, false);
    output.walk(&mut |part| {
        parts += 1;
        columns |= matches!(part, Expr::Column(_));
    });
    !optional && columns && parts <= MOST_PARTS && !output.is_volatile() && !output.has_queries()
}

/// Where relations and slots of the query around come to lie.
struct Places {
    /// The place of the derived relation, and how many come in its place.
    at: usize,
    many: usize,
    /// Its first slot, how many it had, and how many come in their place.
    first_slot: usize,
    columns: usize,
    slots: usize,
    /// What stands for its columns.
    outputs: Vec<Expr>,
}

impl Places {
    fn set(&self, of: RelationSet) -> RelationSet {
        let own = (0..self.many).fold(RelationSet::NONE, |all, more| all.with(RelationSet::one(self.at + more)));
        let new = |place: usize| match place {
            place if place < self.at => RelationSet::one(place),
            place if place == self.at => own,
            place => RelationSet::one(place + self.many - 1),
        };
        (0..MAX_RELATIONS).filter(|place| of.has(*place)).fold(RelationSet::NONE, |all, place| all.with(new(place)))
    }

    /// A slot that is not one of the derived relation.
    fn slot(&self, slot: usize) -> usize {
        if slot >= self.first_slot + self.columns { slot - self.columns + self.slots } else { slot }
    }

    /// Leads an expression to the new slots.
    fn lead(&self, expr: &mut Expr) {
        expr.walk_mut(&mut |part| {
            let Expr::Column(column) = part else { return };
            let Some(output) = column.slot.checked_sub(self.first_slot).and_then(|at| self.outputs.get(at)) else {
                column.slot = self.slot(column.slot);
                return;
            };
            let nullable = column.result_type.nullable;
            *part = output.clone();
            if let Expr::Column(column) = part {
                column.result_type = column.result_type.nullable(column.result_type.nullable || nullable);
            }
        });
    }

    /// Leads a nest there, with the members and conditions of `inner`, which are there already, in the place of the
    /// derived relation.
    fn lead_nest(&self, nest: &mut Nest, inner: &mut Nest) {
        nest.conditions.iter_mut().for_each(|condition| self.lead(condition));
        for member in std::mem::take(&mut nest.members) {
            match member {
                Member::Relation(place) if place == self.at => {
                    nest.members.append(&mut inner.members);
                    nest.conditions.splice(0..0, inner.conditions.drain(..));
                }
                Member::Relation(place) => {
                    let more = if place > self.at { self.many - 1 } else { 0 };
                    nest.members.push(Member::Relation(place + more));
                }
                Member::Optional(mut optional) => {
                    self.lead_nest(&mut optional, inner);
                    nest.members.push(Member::Optional(optional));
                }
                Member::Partners(join_type, mut partners) => {
                    self.lead_nest(&mut partners, inner);
                    nest.members.push(Member::Partners(join_type, partners));
                }
            }
        }
    }
}

/// Moves what is read of a query that comes in the place of a relation.
fn shift(expr: &mut Expr, by: usize) {
    expr.walk_mut(&mut |part| {
        if let Expr::Column(column) = part {
            column.slot += by;
        }
    });
}

fn shift_nest(nest: &mut Nest, relations: usize, slots: usize) {
    nest.conditions.iter_mut().for_each(|condition| shift(condition, slots));
    for member in &mut nest.members {
        match member {
            Member::Relation(place) => *place += relations,
            Member::Optional(inner) | Member::Partners(_, inner) => shift_nest(inner, relations, slots),
        }
    }
}

/// Merges the derived relation at a place; false if it is none.
fn merge_one(query: &mut Query, at: usize) -> bool {
    let (first_slot, columns, optional) =
        (query.relations[at].first_slot, query.relations[at].width(), query.relations[at].optional);
    let (after, takes_conditions) = (query.relations[at].after, query.relations[at].takes_conditions);
    let Source::Derived { query: inner, .. } = &mut query.relations[at].source else { return false };
    let Query { mut relations, from: mut nest, filter, mut outputs, made_anew, .. } = std::mem::take(&mut **inner);

    nest.conditions.extend(filter.into_iter().flat_map(conjuncts));
    shift_nest(&mut nest, at, first_slot);
    outputs.iter_mut().for_each(|output| shift(output, first_slot));
    let (many, slots) = (relations.len(), width(&relations));
    let places = Places { at, many, first_slot, columns, slots, outputs };
    let before = places.set(after);
    for relation in &mut relations {
        relation.first_slot += first_slot;
        relation.optional |= optional;
        relation.after = relation.after.moved(at).with(before);
        relation.outer_mut().iter_mut().for_each(|expr| shift(expr, first_slot));
        if matches!(relation.source, Source::Set { .. }) && relation.known_as.is_empty() {
            // It is what the derived table is made of.
            relation.takes_conditions = takes_conditions;
        }
    }

    query.made_anew.extend(made_anew);
    query.relations.remove(at);
    for relation in &mut query.relations {
        relation.first_slot = places.slot(relation.first_slot);
        relation.after = places.set(relation.after);
        relation.outer_mut().iter_mut().for_each(|expr| places.lead(expr));
    }
    query.relations.splice(at..at, relations);
    places.lead_nest(&mut query.from, &mut nest);
    query.for_each_clause(&mut |expr| places.lead(expr));
    if let Some(grouping) = &mut query.grouping {
        grouping.first_slot = places.slot(grouping.first_slot);
    }
    for (slot, _) in query.windows.iter_mut().flat_map(|window| &mut window.functions) {
        *slot = places.slot(*slot);
    }
    if query.relations.len() == 1 {
        // One table has its conditions in WHERE.
        let own = std::mem::take(&mut query.from.conditions);
        query.filter = all_of(own.into_iter().chain(query.filter.take().into_iter().flat_map(conjuncts)).collect());
    }
    true
}
