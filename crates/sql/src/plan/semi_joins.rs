//! A condition that asks whether a query has a certain row is a semi-join, or an anti-join where it asks for none.
//!
//! That is so of `EXISTS`, `IN`, ANY and ALL and of their opposites among the conditions of WHERE and of joins that AND
//! joins. What makes a row a partner are the conditions of the query and the comparison: what is equal in both becomes a
//! key of the join, as in any other. A condition that is unknown leaves a row out as a false one does, so that
//! * a row stays for `IN` where the comparison is true for some row, and for ALL where it is true for every one;
//! * for `NOT IN` a row for which the comparison is unknown is a partner too, so that only what cannot be NULL is a key there.
//!
//! In the ON of a LEFT JOIN it leaves out rows of what follows there, and becomes a member of that nest, if it reads these rows
//! alone: with rows before LEFT JOIN their partners would be sought for each pair.
//!
//! A query is taken in if its rows are those of stored tables, and of derived ones that do not read the query around, under
//! conditions alone: without groups, windows, LIMIT, locks and what differs from run to run. One that reads nothing of the
//! query around runs once and is kept in any case; it is taken in where that is no better ([`is_better_kept`]).
//!
//! A table of which a row has at most one partner, by a unique key, need not be a semi-join: it is a member as others are, in
//! whatever order.
//!
//! SELECTs alone are changed so. Which rows other statements lock does not depend on this.

use super::asked::collation_fits;
use super::node::{AskedQuery, JoinType, RowSource};
use super::query::{
    MAX_RELATIONS, Member, Nest, Query, Relation, RelationSet, Source, all_of, column_at, conjuncts, reads_around,
    relations_read,
};
use super::{PlanContext, estimate};
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::expr::{Ask, CompareWith, Comparison, Expr, Subquery, equal_keys};
use crate::types::Family;

/// Up to so many values are looked up in an index, if it is not known how many they are.
const FEW_VALUES: f64 = 1000.0;

/// A query within that one around may take in.
pub(super) struct Block {
    relations: Vec<Relation>,
    nest: Nest,
    outputs: Vec<Expr>,
}

impl Block {
    /// What there is to take in of a query; `None` if it is not such.
    pub(super) fn of(query: &Query) -> Option<Block> {
        let makes_rows = query.grouping.is_some()
            || query.having.is_some()
            || query.limit.is_some()
            || !query.windows.is_empty()
            || query.change.is_some()
            || !query.targets.is_empty();
        if makes_rows || query.relations.is_empty() || query.exprs().any(Expr::is_volatile) {
            return None;
        }
        let relations = query.relations.iter().map(without_rows).collect::<Option<_>>()?;
        let mut nest = query.from.clone();
        nest.conditions.extend(query.filter.clone().into_iter().flat_map(conjuncts).chain(query.once.clone()));
        Some(Block { relations, nest, outputs: query.outputs.clone() })
    }
}

/// The same relation again, if it is a stored table that is not locked.
pub(super) fn copied(relation: &Relation) -> Option<Relation> {
    let table = relation.table().filter(|table| !system::is_one(table) && relation.locking.is_none())?;
    let (optional, after, hints) = (relation.optional, relation.after, relation.hints.clone());
    let copy = Relation::of(Source::Table(table.clone()), relation.known_as.clone(), relation.first_slot);
    Some(Relation { optional, after, hints, ..copy })
}

/// The same relation again, but for what makes its rows, which the plan of its query has; `None` if they are others for other
/// rows around, or may be others each time.
fn without_rows(relation: &Relation) -> Option<Relation> {
    let Source::Made { rows, columns } = &relation.source else { return copied(relation) };
    let are_same = match rows {
        RowSource::Query(plan) => plan.is_same_each_time(),
        RowSource::Set(set) => set.operands.iter().all(|operand| operand.plan.is_same_each_time()),
        RowSource::Values { rows, .. } => {
            rows.iter().flatten().all(|value| !reads_around(value) && !value.is_volatile())
        }
        RowSource::Common(_) => true,
        RowSource::Lateral { .. } | RowSource::JsonTable(_) | RowSource::Correlated(_) | RowSource::LastRound(_) => {
            false
        }
    };
    let source = Source::Made { rows: RowSource::Common(usize::MAX), columns: columns.clone() };
    let (optional, after) = (relation.optional, relation.after);
    let copy = Relation::of(source, relation.known_as.clone(), relation.first_slot);
    are_same.then_some(Relation { optional, after, ..copy })
}

/// The rewrite rule.
pub(super) fn are_joins(query: &mut Query, cx: &PlanContext<'_>) {
    let locks = query.relations.iter().any(|relation| relation.locking.is_some());
    if !cx.only_reads || locks || query.relations.is_empty() {
        return;
    }
    let runs_again = query.exprs().any(reads_around);
    let filter = query.filter.take().into_iter().flat_map(conjuncts).collect();
    let mut nest = std::mem::take(&mut query.from);
    let mut taker = Taker { query, runs_again, cx };
    let filter = taker.left_of(filter, &mut nest, None);
    taker.nest(&mut nest, None);
    (query.filter, query.from) = (all_of(filter), nest);
}

/// Makes conditions of a query members of its nests.
struct Taker<'t, 'c> {
    /// Without its FROM.
    query: &'t mut Query,
    /// It is asked by another one.
    runs_again: bool,
    cx: &'t PlanContext<'c>,
}

impl Taker<'_, '_> {
    /// Those of a nest, and of what follows LEFT JOIN there. `own` are the relations of a nest that follows one.
    fn nest(&mut self, nest: &mut Nest, own: Option<RelationSet>) {
        let conditions = std::mem::take(&mut nest.conditions);
        let conditions = self.left_of(conditions, nest, own);
        nest.conditions.extend(conditions);
        for member in &mut nest.members {
            if let Member::Optional(optional) = member {
                let own = optional.relations();
                self.nest(optional, Some(own));
            }
        }
    }

    /// The conditions that have not become members of a nest.
    fn left_of(&mut self, mut conditions: Vec<Expr>, nest: &mut Nest, own: Option<RelationSet>) -> Vec<Expr> {
        conditions.retain(|condition| !self.take_in(condition, nest, own));
        conditions
    }

    /// Makes a condition a member of a nest, if it can be one.
    fn take_in(&mut self, condition: &Expr, around: &mut Nest, own: Option<RelationSet>) -> bool {
        let (query, cx) = (&mut *self.query, self.cx);
        let (asked, negated) = match condition {
            Expr::Not(inner) => (&**inner, true),
            other => (other, false),
        };
        let Expr::Subquery(asked) = asked else { return false };
        let Some(join_type) = join_type(&asked.ask, negated) else { return false };
        if condition.is_volatile() || asked.outer.iter().any(Expr::has_queries) {
            return false;
        }
        if own.is_some_and(|own| !own.has_all(relations_read(&query.relations, condition))) {
            return false;
        }
        let stays = is_better_kept(asked, join_type, query, self.runs_again || own.is_some(), cx);
        if stays && join_type == JoinType::Anti {
            return false;
        }
        let mut blocks = cx.collected.blocks.borrow_mut();
        let Some(block) = blocks.get_mut(asked.place).and_then(Option::take) else { return false };
        let compared = match &asked.ask {
            Ask::Compare(comparison) => compared(comparison, negated, &block.outputs),
            Ask::Exists | Ask::Value { .. } => Some(Vec::new()),
        };
        let has_room = query.relations.len() + block.relations.len() <= MAX_RELATIONS;
        let (Some(compared), true) = (compared, has_room) else { return false };
        let slots: Vec<usize> = block.relations.iter().map(|relation| relation.first_slot).collect();
        let (mut relations, nest) = placed(block, compared, asked, query);
        relations.iter_mut().for_each(|relation| relation.optional |= own.is_some());
        let (first, added) = (query.relations.len(), relations.len());
        query.relations.extend(relations);
        let is_flat = nest.members.iter().all(|member| matches!(member, Member::Relation(_)));
        let (inner, nest) = match join_type == JoinType::Semi && is_flat {
            true => pulled_out(nest, &query.relations),
            false => (Nest::default(), nest),
        };
        if stays && !nest.members.is_empty() {
            query.relations.truncate(first);
            return false;
        }
        query.taken_in += added;
        around.members.extend(inner.members);
        around.conditions.extend(inner.conditions);
        if !nest.members.is_empty() {
            around.members.push(Member::Partners(join_type, nest));
        }
        let asked = cx.collected.queries.borrow_mut()[asked.place].take();
        let Some(AskedQuery { mut plan, .. }) = asked else { return true };
        for (relation, slot) in query.relations[first..].iter_mut().zip(slots) {
            if let (Source::Made { rows, .. }, Some(made)) = (&mut relation.source, plan.root.take_made(slot)) {
                *rows = made;
            }
        }
        true
    }
}

/// Whether a query is to run once and to be kept, so that each row asks what is there: it reads no row around, and
/// * nothing that it is compared with is of a row, or what it is compared with may be NULL and unknown decides;
/// * or it gives few values, by which an index finds the rows ([`super::paths`]);
/// * or the query around runs more than once itself, or what follows LEFT JOIN may.
fn is_better_kept(
    asked: &Subquery,
    join_type: JoinType,
    query: &Query,
    runs_again: bool,
    cx: &PlanContext<'_>,
) -> bool {
    let reads_rows = |expr: &Expr| !relations_read(&query.relations, expr).is_empty();
    if asked.outer.iter().any(reads_rows) {
        return false;
    }
    let Ask::Compare(comparison) = &asked.ask else { return true };
    let is_equality = comparison.keys.is_some() && comparison.with == CompareWith::Any;
    if !is_equality || !comparison.operands.iter().any(reads_rows) || runs_again {
        return true;
    }
    let queries = cx.collected.queries.borrow();
    let Some(Some(planned)) = queries.get(asked.place) else { return true };
    let never_null = || {
        let outputs = planned.plan.select_list();
        comparison.operands.iter().chain(outputs).all(Expr::is_never_null)
    };
    let by_index = || match comparison.operands.as_slice() {
        [Expr::Column(operand)] => column_at(&query.relations, operand.slot).is_some_and(|(relation, column)| {
            let leads = |table: &Table| table.indexes.iter().any(|index| index.columns.first() == Some(&column));
            relation.table().is_some_and(|table| leads(table))
        }),
        _ => false,
    };
    match join_type {
        JoinType::Anti => !never_null(),
        _ => by_index() && estimate::of_query(&planned.plan, cx.constants).rows <= FEW_VALUES,
    }
}

/// The join that decides as a condition does; `None` if none does.
fn join_type(ask: &Ask, negated: bool) -> Option<JoinType> {
    let wants_one = match ask {
        Ask::Exists => true,
        Ask::Compare(comparison) => match comparison.with {
            CompareWith::Any => true,
            CompareWith::All => false,
            CompareWith::One => return None,
        },
        Ask::Value { .. } => return None,
    };
    Some(if wants_one != negated { JoinType::Semi } else { JoinType::Anti })
}

/// The conditions under which a row of the query decides about the comparison, over a row of the query around beside it;
/// `None` if the values of one side are known only when it runs.
fn compared(comparison: &Comparison, negated: bool, outputs: &[Expr]) -> Option<Vec<Expr>> {
    let Comparison { operands, condition, with, keys } = comparison;
    let is_typed = |expr: &Expr| !expr.has_params() && !expr.has_queries();
    let outputs_are_typed = outputs.iter().all(|output| is_typed(output) && output.has_columns());
    if !outputs_are_typed || operands.iter().any(Expr::has_queries) {
        return None;
    }
    let is_known = keys.is_some() && operands.iter().chain(outputs).all(Expr::is_never_null);
    let truth = |truth: bool, negated: bool| Expr::IsTruth { operand: Box::new(condition.clone()), truth, negated };
    let decides = match (with, negated) {
        (CompareWith::Any, false) => condition.clone(),
        (CompareWith::Any, true) if is_known => condition.clone(),
        (CompareWith::Any, true) => truth(false, true),
        (CompareWith::All, false) => truth(true, true),
        (CompareWith::All, true) => truth(false, false),
        (CompareWith::One, _) => return None,
    };
    Some(conjuncts(decides))
}

/// The relations and the nest of a query as they are in the one around; its columns lie after everything else.
fn placed(block: Block, compared: Vec<Expr>, asked: &Subquery, query: &Query) -> (Vec<Relation>, Nest) {
    let Block { mut relations, mut nest, mut outputs } = block;
    let before = copied_places(&relations);
    let first = query.relations.len();
    let mut next = query.end();
    for relation in &mut relations {
        relation.first_slot = next;
        relation.after = relation.after.moved(first);
        next += relation.width();
    }
    let move_one = |expr: &mut Expr| {
        expr.walk_mut(&mut |part| match part {
            Expr::Column(column) => {
                let place = before.iter().position(|(from, to)| (*from..*to).contains(&column.slot));
                if let Some(place) = place {
                    column.slot = relations[place].first_slot + column.slot - before[place].0;
                }
            }
            Expr::Outer(column) => {
                if let Some(value) = asked.outer.get(column.slot) {
                    *part = value.clone();
                }
            }
            _ => {}
        });
    };
    move_nest(&mut nest, first, &move_one);
    outputs.iter_mut().for_each(&move_one);
    // The row of the comparison: its operands, and those of the query after them.
    if let Ask::Compare(comparison) = &asked.ask {
        let row: Vec<&Expr> = comparison.operands.iter().chain(&outputs).collect();
        nest.conditions.extend(compared.into_iter().map(|mut condition| {
            condition.walk_mut(&mut |part| {
                if let Expr::Column(column) = part
                    && let Some(value) = row.get(column.slot)
                {
                    *part = (*value).clone();
                }
            });
            condition
        }));
    }
    (relations, nest)
}

/// From which slot on and up to which one the columns of each relation lie.
fn copied_places(relations: &[Relation]) -> Vec<(usize, usize)> {
    relations.iter().map(|relation| (relation.first_slot, relation.first_slot + relation.width())).collect()
}

fn move_nest(nest: &mut Nest, places: usize, move_one: &dyn Fn(&mut Expr)) {
    nest.conditions.iter_mut().for_each(move_one);
    for member in &mut nest.members {
        match member {
            Member::Relation(of) => *of += places,
            Member::Optional(nest) | Member::Partners(_, nest) => move_nest(nest, places, move_one),
        }
    }
}

/// Parts the relations of which there is at most one row for each row around from the others.
fn pulled_out(mut nest: Nest, relations: &[Relation]) -> (Nest, Nest) {
    let mut inner = Nest::default();
    while let Some(at) = nest.members.iter().position(|member| match member {
        Member::Relation(of) => has_one_row(*of, &nest, relations),
        Member::Optional(_) | Member::Partners(..) => false,
    }) {
        inner.members.push(nest.members.remove(at));
        let left = nest.relations();
        let is_inner = |condition: &Expr| relations_read(relations, condition).among(left).is_empty();
        let (done, more): (Vec<_>, Vec<_>) = std::mem::take(&mut nest.conditions).into_iter().partition(is_inner);
        inner.conditions.extend(done);
        nest.conditions = more;
    }
    (inner, nest)
}

/// Whether a relation of a nest has at most one row for each row around: the conditions say of each column of a unique key
/// what it is equal to.
fn has_one_row(of: usize, nest: &Nest, relations: &[Relation]) -> bool {
    // STRAIGHT_JOIN says that others of the nest come before it.
    let Some(table) = relations[of].table().filter(|_| relations[of].after.is_empty()) else { return false };
    let is_fixed = |column: usize| {
        let slot = relations[of].first_slot + column;
        let column_type = &table.def.columns[column].column_type;
        // Keys tell zeros apart that are equal.
        if table.def.columns[column].result_type().family() == Family::Real {
            return false;
        }
        let keys = nest.conditions.iter().filter_map(equal_keys).flatten();
        keys.into_iter().any(|key| {
            let is_column = |side: &Expr| matches!(side, Expr::Column(found) if found.slot == slot);
            let is_around = |side: &Expr| relations_read(relations, side).among(nest.relations()) == RelationSet::NONE;
            let meet =
                (is_column(&key.left) && is_around(&key.right)) || (is_column(&key.right) && is_around(&key.left));
            meet && collation_fits(column_type, key.collation)
        })
    };
    table.indexes.iter().any(|index| {
        let is_whole = index.parts.iter().all(|part| part.prefix.is_none());
        index.is_unique() && is_whole && index.columns.iter().all(|column| is_fixed(*column))
    })
}
