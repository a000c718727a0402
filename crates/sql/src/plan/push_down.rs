//! Conditions on a derived table get into it, so that rows which nobody asks for are not made: indexes of its tables find
//! those that are left, and groups, windows and set operations are made of fewer rows.
//!
//! A condition moves if it reads columns of one such relation and nothing else. It stands in WHERE, or in the ON of an inner
//! join, and the relation is not one that LEFT JOIN may fill with NULLs; or it stands in the ON of a LEFT JOIN after which
//! the relation comes. Where it gets depends on what the query within makes of its rows:
//!
//! | the query within | the condition gets into |
//! | --- | --- |
//! | groups | WHERE, if all that it reads are keys of GROUP BY; else HAVING |
//! | has window functions | the same, if all that it reads are keys of PARTITION BY, of each window |
//! | is a set operation | the operands, each by the same rules |
//! | any other | WHERE |
//!
//! Where an equality says that a column of the relation has the value of another one, what is asked of that one gets into the
//! relation too, and stays as well: `x.k = 5` where `x.k = t.k AND t.k = 5`.
//!
//! Contract
//! - The rows are the same. Before rows are put together (in groups, partitions, distinct rows, set operations) a condition
//!   is judged only if it is the same for all that count as equal there: a comparison under the collation that they are put
//!   together by is so, LIKE is not unless it is one of bytes.
//! - A column of a set operation has a type that values of all operands fit. A condition gets into an operand whose own
//!   values compare in the same way. It stays where it was as well, unless it got into all operands.
//! - What moves is [quiet](Expr::is_quiet), but for constants that are taken for dates: error 1525 of one that is none may come
//!   where the derived table would have had no row. What is computed from rows that are left out is not computed, so that its
//!   warnings and errors are gone, as in MySQL.
//! - Nothing passes LIMIT, WITH ROLLUP, a locking clause, or what differs from run to run (user variables, RAND()). What reads a
//!   query around or asks a query stays. Statements that lock or change rows keep what they say.
//! - `derived_condition_pushdown` of `optimizer_switch`, and the hints of that name, turn it off and on.
//!
//! A derived table within one gets what has got there in turn, when its query is rewritten.

use super::PlanContext;
use super::equalities::is_one_value;
use super::physical::runs_differ;
use super::query::{
    BoundOperand, Member, Nest, Query, Relation, RelationSet, Source, all_of, column_at, conjuncts, reads_around,
    relations_read,
};
use crate::ast::SetOperator;
use crate::collation::Collation;
use crate::expr::{CastType, ColumnRef, CompareOp, Expr, UnaryOp};
use crate::types::{Family, FieldType, ResultType};

/// The rewrite rule. It comes after all others of the query around.
pub(super) fn push_down(query: &mut Query, cx: &PlanContext<'_>) {
    if !query.only_reads() {
        return;
    }
    let mut pusher = Pusher { relations: &mut query.relations, switch: cx.pushes_conditions };
    if !(0..pusher.relations.len()).any(|of| pusher.takes(of)) {
        return;
    }
    if pusher.relations.len() == 1 {
        let mut conditions = query.filter.take().into_iter().flat_map(conjuncts).collect();
        pusher.move_from(&mut conditions, 0);
        query.filter = all_of(conditions);
    } else {
        pusher.nest(&mut query.from, &[]);
    }
}

struct Pusher<'q> {
    relations: &'q mut [Relation],
    /// What `optimizer_switch` says.
    switch: bool,
}

impl Pusher<'_> {
    /// `around` are conditions of nests around on inner members of theirs: for rows of these that they do not hold for nobody
    /// asks, whatever partners they have here.
    fn nest(&mut self, nest: &mut Nest, around: &[Expr]) {
        let is_inner = |member: &Member| match member {
            Member::Relation(of) => Some(*of),
            // What makes rows of partners is planned already.
            Member::Optional(_) | Member::Partners(..) => None,
        };
        let inner: Vec<usize> = nest.members.iter().filter_map(is_inner).collect();
        let all_inner = inner.iter().map(|of| RelationSet::one(*of)).fold(RelationSet::NONE, RelationSet::with);
        let of_inner = |condition: &&Expr| all_inner.has_all(relations_read(self.relations, condition));
        let below: Vec<Expr> = nest.conditions.iter().filter(of_inner).chain(around).cloned().collect();
        for of in inner.iter().copied() {
            for implied in self.implied(&nest.conditions, around, of) {
                into_relation(&mut self.relations[of], &implied);
            }
        }
        for of in inner {
            self.move_from(&mut nest.conditions, of);
        }
        for member in &mut nest.members {
            if let Member::Optional(optional) = member {
                self.nest(optional, &below);
            }
        }
    }

    /// Whether conditions may get into a relation.
    fn takes(&self, of: usize) -> bool {
        let relation = &self.relations[of];
        let is_made = matches!(relation.source, Source::Derived { .. } | Source::Set { .. });
        is_made && relation.takes_conditions.unwrap_or(self.switch)
    }

    /// What equalities with columns of others imply for a relation.
    fn implied(&self, conditions: &[Expr], around: &[Expr], of: usize) -> Vec<Expr> {
        let mut implied = Vec::new();
        if !self.takes(of) {
            return implied;
        }
        for condition in conditions {
            let Expr::Compare(CompareOp::Equal, a, b, collation) = condition else { continue };
            let (Expr::Column(a), Expr::Column(b)) = (&**a, &**b) else { continue };
            let is_own = |column: &ColumnRef| self.relations[of].column_at(column.slot).is_some();
            let (own, other) = if is_own(a) { (a, b) } else { (b, a) };
            if !is_own(own) || is_own(other) || !is_one_value(own.result_type, other.result_type, *collation) {
                continue;
            }
            for asked in conditions.iter().chain(around) {
                let read = columns_read(asked);
                let is_of_other = !read.is_empty() && read.iter().all(|slot| *slot == other.slot);
                let holds = is_of_other && is_quiet(asked) && is_same_for_equals(asked, &|_| true);
                if holds && !reads_around(asked) {
                    let mut asked = asked.clone();
                    asked.walk_mut(&mut |part| {
                        if let Expr::Column(column) = part {
                            column.clone_from(own);
                        }
                    });
                    implied.push(asked);
                }
            }
        }
        implied.retain(|implied| !conditions.contains(implied));
        implied
    }

    /// Moves those conditions into a relation that can get there.
    fn move_from(&mut self, conditions: &mut Vec<Expr>, of: usize) {
        if !self.takes(of) {
            return;
        }
        for condition in std::mem::take(conditions) {
            let is_own = relations_read(self.relations, &condition) == RelationSet::one(of);
            let moves = is_own && !reads_around(&condition) && is_quiet(&condition);
            if !moves || !into_relation(&mut self.relations[of], &condition) {
                conditions.push(condition);
            }
        }
    }
}

/// Whether a condition has got into a relation as a whole.
fn into_relation(relation: &mut Relation, condition: &Expr) -> bool {
    let mut condition = condition.clone();
    let first_slot = relation.first_slot;
    condition.walk_mut(&mut |part| {
        if let Expr::Column(column) = part {
            column.slot -= first_slot;
        }
    });
    match &mut relation.source {
        Source::Derived { query, .. } => into_query(query, &condition),
        Source::Set { operands, columns } => {
            let types: Vec<ResultType> = columns.iter().map(|column| column.result_type).collect();
            into_operands(operands, &types, &condition)
        }
        Source::Table(_) | Source::Made { .. } => false,
    }
}

/// Whether a condition over the columns of a set operation has got into all of its operands.
fn into_operands(operands: &mut [BoundOperand], types: &[ResultType], condition: &Expr) -> bool {
    let keeps_all = |operand: &BoundOperand| matches!(operand.operator, None | Some((SetOperator::Union, true)));
    let is_stored = |at| operands.iter().all(|operand| is_stored(&operand.query, at));
    if !operands.iter().all(keeps_all) && !is_same_for_equals(condition, &is_stored) {
        return false;
    }
    let read = columns_read(condition);
    let mut all = true;
    for BoundOperand { query, .. } in operands {
        let fits = read.iter().all(|at| compares_as(query, *at, types[*at]));
        all &= fits && into_query(query, condition);
    }
    all
}

/// Whether a condition over the select list of a query has got into it.
fn into_query(query: &mut Query, condition: &Expr) -> bool {
    let rolls_up = query.grouping.as_ref().is_some_and(|grouping| grouping.rollup);
    if query.limit.is_some() || rolls_up || !query.only_reads() || runs_differ(query) {
        return false;
    }
    let read: Vec<&Expr> = columns_read(condition).into_iter().map(|at| &query.outputs[at]).collect();
    let is_same = is_same_for_equals(condition, &|at| is_stored(query, at));
    let is_partitioned = query.windows.iter().all(|window| {
        let keys = &window.keys[..window.partition_keys];
        read.iter().all(|output| keys.iter().any(|key| key.expr == **output))
    });
    let puts_together = query.distinct || !query.windows.is_empty();
    if (puts_together && !is_same) || !is_partitioned {
        return false;
    }
    let of_groups = |keys: &[Expr]| !is_same || !read.iter().all(|output| keys.contains(output));
    let in_having = query.grouping.as_ref().is_some_and(|grouping| of_groups(&grouping.keys));
    let mut within = condition.clone();
    within.walk_mut(&mut |part| {
        if let Expr::Column(column) = part {
            *part = query.outputs[column.slot].clone();
        }
    });
    if !is_quiet(&within) {
        return false;
    }
    let clause = if in_having { &mut query.having } else { &mut query.filter };
    *clause = all_of(clause.take().into_iter().chain([within]).flat_map(conjuncts).collect());
    true
}

/// The places of a select list that a condition over it reads.
fn columns_read(condition: &Expr) -> Vec<usize> {
    let mut read = Vec::new();
    condition.walk(&mut |part| {
        if let Expr::Column(column) = part {
            read.push(column.slot);
        }
    });
    read
}

/// Whether an item of a select list is a constant or a column of a stored table: its values are as they are shown.
fn is_stored(query: &Query, at: usize) -> bool {
    match &query.outputs[at] {
        Expr::Column(column) => {
            column_at(&query.relations, column.slot).is_some_and(|(relation, _)| relation.table().is_some())
        }
        Expr::Literal(_) | Expr::Text(..) | Expr::Param(_) => true,
        _ => false,
    }
}

/// Whether a quiet condition is the same for values that count as equal where rows are put together. `is_stored` says of
/// which columns the values are as they are shown: decimals count as equal if they are shown alike, but compare by all of
/// their digits.
fn is_same_for_equals(condition: &Expr, is_stored: &dyn Fn(usize) -> bool) -> bool {
    let is_same = |part: &Expr| is_same_for_equals(part, is_stored);
    let compared = |side: &Expr, collation: Collation| match side {
        Expr::Column(column) => match column.result_type.family() {
            Family::String => column.result_type.collation == collation,
            Family::Decimal => is_stored(column.slot),
            Family::Integer | Family::Real | Family::Temporal | Family::Null => true,
        },
        // A part of a date.
        other => !other.has_columns() || matches!(other, Expr::Extract(..)),
    };
    match condition {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().all(is_same),
        Expr::Xor(a, b) => is_same(a) && is_same(b),
        Expr::Not(operand) | Expr::IsTruth { operand, .. } => is_same(operand),
        Expr::IsNull { operand, .. } => matches!(**operand, Expr::Column(_)) || is_same(operand),
        Expr::Compare(_, a, b, collation) => [a, b].into_iter().all(|side| compared(side, *collation)),
        Expr::Between { operand, low, high, collation, .. } => {
            [operand, low, high].into_iter().all(|side| compared(side, *collation))
        }
        Expr::In { operand, list, collation, .. } => {
            std::iter::once(&**operand).chain(list).all(|side| compared(side, *collation))
        }
        Expr::Like { operand, pattern, collation, .. } => {
            *collation == Collation::Binary && [operand, pattern].into_iter().all(|side| compared(side, *collation))
        }
        _ => false,
    }
}

/// Whether the values of an item of a select list compare as they do when they are of the type that a set operation gives
/// them.
fn compares_as(query: &Query, at: usize, to: ResultType) -> bool {
    let of = query.outputs[at].result_type(&[]);
    let is_plain = |of: ResultType| !matches!(of.field, FieldType::Json | FieldType::Enum | FieldType::Set);
    match (of.family(), to.family()) {
        (Family::Null, _) | (Family::Integer, Family::Integer | Family::Decimal) => true,
        (Family::Decimal, Family::Decimal) => of.decimals == to.decimals || is_stored(query, at),
        (Family::Real, Family::Real) => of.field == to.field,
        (Family::Temporal, Family::Temporal) => (of.field, of.decimals) == (to.field, to.decimals),
        (Family::String, Family::String) => of.collation == to.collation && is_plain(of) && is_plain(to),
        _ => false,
    }
}

/// Whether a condition is quiet if its constants are, and the parts of dates that it reads: whatever a date is, it has those.
fn is_quiet(condition: &Expr) -> bool {
    let mut plain = condition.clone();
    plain.walk_mut(&mut |part| {
        let is_one = match part {
            Expr::Cast(constant, CastType::DateConstant { .. } | CastType::YearConstant) => {
                matches!(**constant, Expr::Literal(_) | Expr::Text(..) | Expr::Param(_))
            }
            Expr::Unary(UnaryOp::Negate, constant) => {
                matches!(&**constant, Expr::Literal(value) if value.is_number()) || matches!(**constant, Expr::Param(_))
            }
            Expr::DateAdd { date, amount, .. } => {
                [date, amount].into_iter().all(|side| !side.has_columns() && !side.is_volatile())
            }
            Expr::Extract(_, date) => {
                matches!(&**date, Expr::Column(column) if column.result_type.kind().has_date())
            }
            _ => false,
        };
        if is_one {
            *part = Expr::column(usize::MAX, "", part.result_type(&[]));
        }
    });
    plain.is_quiet()
}
