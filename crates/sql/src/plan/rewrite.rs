//! Second stage: rules that make a bound query simpler. Its answer, its warnings and its locks stay the same.
//!
//! A rule is a function from query to query that stands in [`RULES`]; they run once each, in that order. A rule that
//! needs a value cannot be one: plans are kept for other literals and parameters than those they were made for, so that
//! even `WHERE 1 = 1` is a condition on parameters here.

use super::query::Query;

const RULES: [fn(&mut Query); 1] = [one_row_is_sorted];

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
