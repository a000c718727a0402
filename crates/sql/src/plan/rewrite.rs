//! Second stage: rules that make a bound query simpler. Its answer and its locks stay the same, and so do its warnings,
//! but for those of conditions that nothing depends on.
//!
//! A rule is a function from query to query that stands in [`RULES`]; they run once each, in that order. A rule that
//! needs a value cannot be one: plans are kept for other literals and parameters than those they were made for, so that
//! even `WHERE 1 = 1` is a condition on parameters here.

use super::query::Query;
use crate::expr::Expr;

const RULES: [fn(&mut Query); 2] = [one_row_is_sorted, constants_decide_first];

/// Applies every rule.
pub(super) fn rewrite(mut query: Query) -> Query {
    RULES.iter().for_each(|rule| rule(&mut query));
    query
}

/// Without relations there is one row, which is in any order.
fn one_row_is_sorted(query: &mut Query) {
    if query.relations.is_empty() && query.grouping.is_none() {
        query.sort.clear();
    }
}

/// A condition without columns stands before those with some: where it decides, MySQL does not evaluate the others.
fn constants_decide_first(query: &mut Query) {
    let Some(filter) = &mut query.filter else { return };
    filter.walk_mut(&mut |expr| {
        if let Expr::And(conditions) | Expr::Or(conditions) = expr {
            conditions.sort_by_key(|condition| condition.has_columns() || condition.is_volatile());
        }
    });
}
