//! What the alternatives of an OR have in common.
//!
//! Two rewrite rules, for the conditions of WHERE and of joins, which take unknown for false:
//! 1. [`factor`]: `(c AND a) OR (c AND b)` is `c AND (a OR b)`, and `c OR (c AND b)` is `c`. So `c` can be a key of a join.
//! 2. [`imply`]: `(a AND x) OR (b AND y)`, where `a` and `b` are conditions on one relation, can be true only where `a OR b`
//!    is. That becomes a condition beside it, by which rows of the relation are left out before they are joined.
//!
//! Contract
//! - Both hold in logic of three values: rule 1 is the law of distribution, and an OR that is true has an alternative that
//!   is true with all of its parts.
//! - What moves is [quiet](Expr::is_quiet), and what it passes is so too. Anything that can fail, warn, have an effect or
//!   differ from time to time is evaluated for the same rows as before, in the same order.
//! - Statements that lock rows keep what they say: the rules would change which rows they look at.

use super::query::{Member, Nest, Query, Relation, RelationSet, all_of, conjuncts, relations_read};
use crate::expr::Expr;

/// The first rule.
pub(super) fn factor(query: &mut Query) {
    if !query.only_reads() {
        return;
    }
    if let Some(filter) = query.filter.take() {
        query.filter = all_of(factored(filter));
    }
    for_each_nest(&mut query.from, &mut |nest| {
        nest.conditions = std::mem::take(&mut nest.conditions).into_iter().flat_map(factored).collect();
    });
}

/// The second rule.
pub(super) fn imply(query: &mut Query) {
    if !query.only_reads() {
        return;
    }
    let Query { relations, from, .. } = query;
    for_each_nest(from, &mut |nest| {
        let mut more: Vec<Expr> = Vec::new();
        for condition in nest.conditions.iter().filter(|condition| matches!(condition, Expr::Or(_))) {
            for member in &nest.members {
                let Member::Relation(of) = member else { continue };
                let implied = implied(condition, *of, relations);
                more.extend(implied.filter(|implied| !nest.conditions.contains(implied)));
            }
        }
        nest.conditions.extend(more);
    });
}

fn for_each_nest(nest: &mut Nest, visit: &mut dyn FnMut(&mut Nest)) {
    visit(nest);
    for member in &mut nest.members {
        if let Member::Optional(inner) = member {
            for_each_nest(inner, visit);
        }
    }
}

/// The conditions that one is, with what its alternatives have in common before what they have not.
fn factored(condition: Expr) -> Vec<Expr> {
    let alternatives = match condition {
        Expr::And(parts) => return parts.into_iter().flat_map(factored).collect(),
        Expr::Or(alternatives) => alternatives,
        other => return vec![other],
    };
    let mut alternatives: Vec<Vec<Expr>> = alternatives.into_iter().map(factored).collect();
    let mut common = Vec::new();
    let mut at = 0;
    while let Some(part) = alternatives.first().and_then(|first| first.get(at)).filter(|part| part.is_quiet()).cloned()
    {
        let places: Option<Vec<usize>> = alternatives.iter().map(|parts| place_of(&part, parts)).collect();
        let Some(places) = places else {
            at += 1;
            continue;
        };
        for (parts, place) in alternatives.iter_mut().zip(places) {
            parts.remove(place);
        }
        common.push(part);
        if alternatives.iter().any(Vec::is_empty) {
            // One alternative asks for nothing else.
            return common;
        }
    }
    common.push(Expr::Or(alternatives.into_iter().filter_map(all_of).collect()));
    common
}

/// Where a part is, if nothing stands before it that must not be passed.
fn place_of(part: &Expr, parts: &[Expr]) -> Option<usize> {
    let place = parts.iter().position(|other| other == part)?;
    parts[..place].iter().all(Expr::is_quiet).then_some(place)
}

/// What holds of a relation alone where an OR with others is true.
pub(super) fn implied(condition: &Expr, of: usize, relations: &[Relation]) -> Option<Expr> {
    let own = RelationSet::one(of);
    let all = relations_read(relations, condition);
    if !all.has(of) || all == own { None } else { part_of(condition, own, relations) }
}

fn part_of(condition: &Expr, own: RelationSet, relations: &[Relation]) -> Option<Expr> {
    match condition {
        _ if relations_read(relations, condition) == own && condition.is_quiet() => Some(condition.clone()),
        Expr::And(parts) => {
            all_of(parts.iter().filter_map(|part| part_of(part, own, relations)).flat_map(conjuncts).collect())
        }
        Expr::Or(parts) => {
            let mut alternatives: Vec<Expr> = Vec::with_capacity(parts.len());
            for part in parts {
                let alternative = part_of(part, own, relations)?;
                if !alternatives.contains(&alternative) {
                    alternatives.push(alternative);
                }
            }
            match alternatives.len() {
                1 => alternatives.pop(),
                _ => Some(Expr::Or(alternatives)),
            }
        }
        _ => None,
    }
}
