//! Second stage: rules that make a bound query simpler. Its answer and its locks stay the same, and so do its warnings,
//! but for those of conditions and rows that nothing depends on.
//!
//! A rule is a function from query to query that stands in [`RULES`]; they run once each, in that order, after
//! [`semi_joins`], which takes in queries that were planned before, and before [`push_down`], after which queries in FROM are
//! planned. A rule that
//! needs a value cannot be one: plans are kept for other literals and parameters than those they were made for, so that
//! even `WHERE 1 = 1` is a condition on parameters here.

use super::query::{Query, all_of, conjuncts};
use super::{PlanContext, alternatives, outer_joins, push_down, semi_joins};
use crate::expr::Expr;

const RULES: [fn(&mut Query); 7] = [
    one_row_is_sorted,
    constants_decide_first,
    where_is_a_condition_of_the_join,
    alternatives::factor,
    outer_joins::become_inner,
    alternatives::imply,
    constants_are_asked_once,
];

/// Applies every rule.
pub(super) fn rewrite(mut query: Query, cx: &PlanContext<'_>) -> Query {
    semi_joins::are_joins(&mut query, cx);
    RULES.iter().for_each(|rule| rule(&mut query));
    push_down::push_down(&mut query, cx);
    query
}

/// Without relations there is one row, which is in any order.
fn one_row_is_sorted(query: &mut Query) {
    if query.relations.is_empty() && query.grouping.is_none() {
        query.sort.clear();
    }
}

/// A condition without columns stands before those with some: where it decides, MySQL does not evaluate the others. One
/// that asks a query stands last.
fn constants_decide_first(query: &mut Query) {
    let Some(filter) = &mut query.filter else { return };
    filter.walk_mut(&mut |expr| {
        if let Expr::And(conditions) | Expr::Or(conditions) = expr {
            let cost = |condition: &Expr| match condition.has_columns() || condition.is_volatile() {
                true => 1 + u8::from(condition.has_queries()),
                false => 0,
            };
            conditions.sort_by_key(cost);
        }
    });
}

/// A condition without columns that AND joins to the others is asked before any row is looked for, or locked, as in MySQL
/// ("Impossible WHERE"). One that may be another each time stays: it is asked of each row.
fn constants_are_asked_once(query: &mut Query) {
    if query.relations.is_empty() {
        return;
    }
    let conditions = query.filter.take().into_iter().flat_map(conjuncts);
    let (once, others): (Vec<Expr>, Vec<Expr>) = conditions.partition(Expr::is_constant);
    query.filter = all_of(others);
    query.once = once;
    query.once.extend(query.from.conditions.extract_if(.., |condition| condition.is_constant()));
}

/// What WHERE asks of joined rows is a condition as those of inner joins are.
fn where_is_a_condition_of_the_join(query: &mut Query) {
    if query.relations.len() > 1 {
        query.from.conditions.extend(query.filter.take().into_iter().flat_map(conjuncts));
    }
}
