//! Optimizer hints of a query block: finds the tables and indexes that they name, and leaves what they ask for with the
//! relations, where the later stages obey it: [`Relation::hints`] as those of USE INDEX and the like, and
//! [`Relation::after`] as that of STRAIGHT_JOIN; and [`Relation::takes_conditions`].
//!
//! A hint about the order is left out with a warning if no order of the relations obeys it together with LEFT JOIN, LATERAL,
//! STRAIGHT_JOIN and the hints before it: an order that obeys what is left can always be found.

use super::PlanContext;
use super::query::{Member, Nest, Relation, RelationSet, relations_read};
use crate::ast::{BlockHints, BlockRef, IndexHint, IndexHintKind, IndexLevel, OrderHint, OrderHintKind, TableHints};
use crate::catalog::table::Table;
use crate::error::{ER_UNRESOLVED_HINT_NAME, ER_WARN_CONFLICTING_HINT, SqlError};
use crate::parse::quoted;

/// Has the relations of a query block obey its hints; what cannot be obeyed becomes a warning of the plan.
pub(super) fn obey(block: &BlockRef, relations: &mut [Relation], nest: &Nest, cx: &PlanContext<'_>) {
    let Some(hints) = block.hints() else { return };
    if let Some(on) = condition_pushdown(&hints.whole) {
        relations.iter_mut().for_each(|relation| relation.takes_conditions = Some(on));
    }
    for hint in &hints.order {
        order(hint, hints, relations, nest, cx);
    }
    for hint in &hints.tables {
        match relations.iter_mut().find(|relation| relation.known_as == hint.table) {
            Some(relation) => {
                relation.takes_conditions = condition_pushdown(&hint.whole).or(relation.takes_conditions);
                indexes(hint, hints, relation, cx);
            }
            None => {
                let levels = hint.indexes.iter().map(|(level, _)| level.to_string());
                let mut names: Vec<String> = hint.whole.iter().cloned().chain(levels).collect();
                names.dedup();
                names.iter().for_each(|name| unresolved(&hint.table, None, name, hints, cx));
            }
        }
    }
}

/// What hints say of whether conditions get into derived tables; the first one counts.
fn condition_pushdown(hints: &[String]) -> Option<bool> {
    hints.iter().find_map(|hint| match hint.as_str() {
        "DERIVED_CONDITION_PUSHDOWN" => Some(true),
        "NO_DERIVED_CONDITION_PUSHDOWN" => Some(false),
        _ => None,
    })
}

/// A table, or an index of one, that a hint names and the block does not have.
fn unresolved(table: &str, index: Option<&str>, hint: &str, block: &BlockHints, cx: &PlanContext<'_>) {
    let index = index.map(|index| format!(" {}", quoted(index))).unwrap_or_default();
    let name = format!("{}@{}{index}", quoted(table), quoted(&block.name));
    cx.warn(SqlError::new(ER_UNRESOLVED_HINT_NAME, &[&name, &hint]));
}

/// Hints on indexes take the place of USE INDEX and the like.
fn indexes(hint: &TableHints, block: &BlockHints, relation: &mut Relation, cx: &PlanContext<'_>) {
    let Some(table) = relation.table().cloned() else { return };
    let mut asked: Vec<IndexHint> = Vec::new();
    for (level, index) in &hint.indexes {
        let found = index.as_deref().map(|index| index_named(&table, index));
        if let (Some(None), Some(index)) = (found, index) {
            unresolved(&hint.table, Some(index), &level.to_string(), block, cx);
            continue;
        }
        let Some(purpose) = level.purpose() else { continue };
        let kind = kind(*level);
        let all = || table.def.indexes.iter().map(|index| index.name.clone());
        let names = index.iter().cloned().chain(all().filter(|_| index.is_none()));
        match asked.iter_mut().find(|known| (known.kind, known.purpose) == (kind, purpose)) {
            Some(known) => known.indexes.extend(names),
            None => asked.push(IndexHint { kind, purpose, indexes: names.collect() }),
        }
    }
    if !asked.is_empty() {
        // What is excluded is excluded whatever else is asked for.
        asked.sort_by_key(|hint| hint.kind == IndexHintKind::Ignore);
        relation.hints = asked;
    }
}

fn kind(level: IndexLevel) -> IndexHintKind {
    if level.on { IndexHintKind::Force } else { IndexHintKind::Ignore }
}

fn index_named<'t>(table: &'t Table, name: &str) -> Option<&'t str> {
    table.def.indexes.iter().map(|index| index.name.as_str()).find(|known| known.eq_ignore_ascii_case(name))
}

fn order(hint: &OrderHint, block: &BlockHints, relations: &mut [Relation], nest: &Nest, cx: &PlanContext<'_>) {
    let mut listed = Vec::with_capacity(hint.tables.len());
    for name in &hint.tables {
        let Some(at) = relations.iter().position(|relation| relation.known_as == *name) else {
            return unresolved(name, None, hint.kind.name(), block, cx);
        };
        listed.push(at);
    }
    if hint.kind == OrderHintKind::Fixed {
        listed = nest.places();
    }
    let others = (0..relations.len()).filter(|at| !listed.contains(at));
    let others = others.map(RelationSet::one).fold(RelationSet::NONE, RelationSet::with);
    let own = listed.iter().map(|at| RelationSet::one(*at)).fold(RelationSet::NONE, RelationSet::with);
    let kept: Vec<RelationSet> = relations.iter().map(|relation| relation.after).collect();
    let mut before = if hint.kind == OrderHintKind::Suffix { others } else { RelationSet::NONE };
    for at in &listed {
        relations[*at].after = relations[*at].after.with(before);
        before = before.with(RelationSet::one(*at));
    }
    if hint.kind == OrderHintKind::Prefix {
        for at in (0..relations.len()).filter(|at| others.has(*at)) {
            relations[at].after = relations[at].after.with(own);
        }
    }
    let twice = listed.iter().enumerate().any(|(place, at)| listed[..place].contains(at));
    if twice || !has_order(nest, RelationSet::NONE, relations) {
        relations.iter_mut().zip(kept).for_each(|(relation, kept)| relation.after = kept);
        cx.warn(SqlError::new(ER_WARN_CONFLICTING_HINT, &[&hint.shown]));
    }
}

/// The relations outside of a nest that have to be read before it.
fn needs(nest: &Nest, relations: &[Relation]) -> RelationSet {
    let conditions = nest.conditions.iter().map(|condition| relations_read(relations, condition));
    let needed = conditions.chain(nest.members.iter().map(|member| member_needs(member, relations)));
    needed.fold(RelationSet::NONE, RelationSet::with).without(nest.relations())
}

fn member_needs(member: &Member, relations: &[Relation]) -> RelationSet {
    match member {
        Member::Relation(at) => relations[*at].after,
        Member::Optional(nest) | Member::Partners(_, nest) => needs(nest, relations),
    }
}

/// Whether the members of a nest can be read one after another, each after what it needs: as [`super::order`] reads them,
/// that is what follows LEFT JOIN together, and never as the first of its nest.
fn has_order(nest: &Nest, known: RelationSet, relations: &[Relation]) -> bool {
    let here = known.with(nest.relations());
    let mut left: Vec<&Member> = nest.members.iter().collect();
    let (mut there, mut first) = (known, true);
    while !left.is_empty() {
        let can_follow = |member: &&Member| {
            there.has_all(member_needs(member, relations).among(here))
                && (!first || matches!(member, Member::Relation(_)))
        };
        let Some(next) = left.iter().position(can_follow) else { return false };
        there = there.with(left.remove(next).relations());
        first = false;
    }
    nest.members.iter().all(|member| match member {
        Member::Relation(_) => true,
        Member::Optional(inner) | Member::Partners(_, inner) => has_order(inner, needs(inner, relations), relations),
    })
}
