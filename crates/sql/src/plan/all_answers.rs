//! A query whose answer depends on the row around by what has to be equal alone has all its answers in one pass: groups of
//! its rows by these values, instead of `(SELECT SUM(a) FROM t WHERE t.k = outer.k)` for each k.
//!
//! That is so of aggregates over all rows (without GROUP BY, HAVING and LIMIT) of stored tables that are not locked, where
//! the query around is read in conditions `what the query has = what the row around has` alone, whose sides have the same keys
//! ([`equal_keys`]) and are grouped as they are compared. No aggregate may depend on the order of rows. Where no group has
//! the values, the answer is that over no rows, which is the same for all of them.
//!
//! Whether the pass is worth while depends on how often the query is asked, which is known only when it runs:
//! [`AllAnswers::worth_after`].

use super::cost::OPEN;
use super::node::{AllAnswers, QueryPlan};
use super::query::{Query, all_of, conjuncts, reads_around};
use super::semi_joins::copied;
use super::share::Constants;
use super::{built, estimate};
use crate::error::SqlError;
use crate::expr::aggregate::Aggregate;
use crate::expr::{CompareOp, EqualKey, Expr, equal_keys};
use crate::types::Family;

/// Plans the pass of a query whose plan for one answer is `plan`.
pub(super) fn planned(form: Form, plan: &QueryPlan, constants: Constants) -> Result<AllAnswers, SqlError> {
    let Form { query, keys, same } = form;
    let all = built(query, constants, &[])?;
    let (one, pass) = (estimate::of_query(plan, constants).cost + OPEN, estimate::of_query(&all, constants).cost);
    let worth_after = (pass / one).ceil().clamp(1.0, 1e18) as u64;
    Ok(AllAnswers { plan: all, keys, same, worth_after })
}

/// A query that is grouped by what it asks of the row around.
pub(super) struct Form {
    query: Query,
    /// The value of the row around on the left, and the place among the outputs of the query on the right.
    keys: Vec<EqualKey>,
    same: Expr,
}

impl Form {
    /// That of a bound query; `None` if it has none.
    pub(super) fn of(query: &Query) -> Option<Form> {
        let grouping = query.grouping.as_ref().filter(|grouping| grouping.keys.is_empty() && !grouping.rollup)?;
        let makes_rows = query.having.is_some()
            || query.limit.is_some()
            || !query.windows.is_empty()
            || query.change.is_some()
            || !query.targets.is_empty()
            || query.taken_in > 0;
        let [output] = query.outputs.as_slice() else { return None };
        let in_order = grouping.aggregates.iter().any(Aggregate::depends_on_order);
        if makes_rows || in_order || query.relations.is_empty() || query.exprs().any(Expr::is_volatile) {
            return None;
        }
        // What stands beside aggregates is that of some row.
        let mut of_groups = true;
        output.walk(&mut |part| {
            of_groups &= !matches!(part, Expr::Column(column) if column.slot < query.columns());
        });
        let relations = query.relations.iter().map(copied).collect::<Option<Vec<_>>>()?;
        let mut from = query.from.clone();
        from.conditions.extend(query.filter.clone().into_iter().flat_map(conjuncts).chain(query.once.clone()));
        let (around, own): (Vec<Expr>, Vec<Expr>) =
            std::mem::take(&mut from.conditions).into_iter().partition(reads_around);
        from.conditions = own;
        let mut sides = Vec::new();
        for condition in &around {
            let [key] = <[EqualKey; 1]>::try_from(equal_keys(condition)?).ok()?;
            let key = match (reads_around(&key.left), reads_around(&key.right)) {
                (true, false) => key,
                (false, true) => EqualKey { left: key.right, right: key.left, collation: key.collation },
                _ => return None,
            };
            let is_grouped_so =
                key.right.result_type(&[]).family() != Family::String || key.right.collation() == key.collation;
            if !is_value(&key.left) || !is_value(&key.right) || !is_grouped_so {
                return None;
            }
            sides.push(key);
        }
        if sides.is_empty() || !of_groups {
            return None;
        }
        let mut grouped = Query { relations, from, ..Query::default() };
        if grouped.relations.len() == 1 {
            grouped.filter = all_of(std::mem::take(&mut grouped.from.conditions));
        }
        let mut grouping = grouping.clone();
        grouping.keys = sides.iter().map(|key| key.right.clone()).collect();
        grouped.grouping = Some(grouping);
        grouped.outputs = std::iter::once(output).chain(sides.iter().map(|key| &key.right)).cloned().collect();
        if grouped.exprs().any(reads_around) {
            return None;
        }
        let keys = sides.into_iter().enumerate().map(|(at, key)| EqualKey { right: key.right.at(at + 1), ..key });
        let keys: Vec<EqualKey> = keys.collect();
        let equal = |key: &EqualKey| {
            let (left, right) = (Box::new(key.left.clone()), Box::new(key.right.clone()));
            Expr::Compare(CompareOp::Equal, left, right, key.collation)
        };
        let same = all_of(keys.iter().map(equal).collect())?;
        Some(Form { query: grouped, keys, same })
    }
}

/// Whether an expression asks no query, and reads either the row around or rows of the query.
fn is_value(expr: &Expr) -> bool {
    let (mut own, mut asks) = (false, false);
    expr.walk(&mut |part| {
        own |= matches!(part, Expr::Column(_));
        asks |= matches!(part, Expr::Subquery(_));
    });
    !asks && own != reads_around(expr)
}
