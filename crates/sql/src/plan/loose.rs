//! Loose index scans: of each group of entries that are alike in the first columns of an index only those are read that the
//! query can tell from all of them ([`Loose`]).
//!
//! Contract
//! 1. It is for a query of one table that is neither locked nor changed, with DISTINCT, or with no aggregates but MIN and MAX of
//!    one column.
//! 2. Rows whose entries are alike are so to DISTINCT, to GROUP BY and to every condition of WHERE. So all columns that
//!    these read are among the first ones of the index. Texts that are alike in a key need not be the same: the column of one
//!    stands there by itself, or is compared under its own collation.
//! 3. The column of MIN and MAX is one of those, or the next one.
//! 4. Entries may be alike in more than makes a group: the operator above puts them together.

use super::access::Loose;
use super::paths::Path;
use super::query::{Query, Relation, conjunct_refs};
use crate::catalog::table::Table;
use crate::codec::KeyPart;
use crate::expr::Expr;
use crate::expr::aggregate::Aggregate;
use crate::types::Kind;

/// What a query wants of its rows.
pub(super) struct Wanted {
    /// The columns that tell its groups apart.
    groups: Vec<usize>,
    extreme: Option<Extreme>,
    conditions: Vec<Condition>,
}

/// The column of which it wants the least and the greatest value in each group, or one of them.
struct Extreme {
    column: usize,
    least: bool,
    greatest: bool,
}

/// A part of WHERE.
struct Condition {
    columns: Vec<usize>,
    /// It is the same for rows that are alike in these columns.
    by_key: bool,
    /// It is, if it says where the path looks.
    by_path: bool,
}

impl Wanted {
    /// What a query of one relation wants; `None` if it may want all rows.
    pub(super) fn of(query: &Query) -> Option<Wanted> {
        let [relation] = query.relations.as_slice() else { return None };
        let table = relation.table()?;
        if !query.windows.is_empty() || query.exprs().any(Expr::is_volatile) {
            return None;
        }
        let (apart, aggregates): (Vec<&Expr>, &[Aggregate]) = match &query.grouping {
            Some(grouping) if grouping.rollup => return None,
            Some(grouping) => (grouping.keys.iter().collect(), &grouping.aggregates),
            None if query.distinct => {
                let sort = query.sort.iter().map(|key| &key.expr);
                (query.outputs.iter().chain(&query.having).chain(sort).collect(), &[])
            }
            None => return None,
        };
        let is_told = |expr: &&&Expr| matches!(expr, Expr::Column(_)) || is_by_key(relation, table, expr);
        if !apart.iter().all(|expr| is_told(&expr)) {
            return None;
        }
        let groups = relation.columns_read(apart.into_iter());
        let mut extreme: Option<Extreme> = None;
        for aggregate in aggregates {
            let (column, is_least) = extreme_of(relation, table, aggregate)?;
            let known = extreme.get_or_insert(Extreme { column, least: false, greatest: false });
            if known.column != column {
                return None;
            }
            (known.least, known.greatest) = (known.least || is_least, known.greatest || !is_least);
        }
        let conditions = query.filter.iter().flat_map(conjunct_refs).map(|condition| Condition {
            columns: relation.columns_read(std::iter::once(condition)),
            by_key: is_by_key(relation, table, condition),
            by_path: compares_one_column(condition),
        });
        Some(Wanted { groups, extreme, conditions: conditions.collect() })
    }

    /// What a path has to read for that; `None` if it has to read all that it finds.
    pub(super) fn by(&self, path: &Path, table: &Table) -> Option<Loose> {
        let parts: Vec<(usize, &KeyPart)> = table.key_columns(path.access.index?).collect();
        let place = |column: usize| parts.iter().position(|(of, part)| *of == column && part.prefix.is_none());
        let mut columns = 0;
        for (at, condition) in self.conditions.iter().enumerate() {
            let is_told = condition.by_key || (condition.by_path && path.uses(at));
            if !is_told {
                return None;
            }
            for column in &condition.columns {
                columns = columns.max(place(*column)? + 1);
            }
        }
        for column in &self.groups {
            columns = columns.max(place(*column)? + 1);
        }
        let Some(extreme) = &self.extreme else { return Some(Loose { columns, least: false, greatest: false }) };
        let at = place(extreme.column)?;
        let is_next = at >= columns;
        Some(Loose { columns: columns.max(at), least: extreme.least && is_next, greatest: extreme.greatest && is_next })
    }
}

/// Whether keys give back all columns that an expression reads.
fn is_by_key(relation: &Relation, table: &Table, expr: &Expr) -> bool {
    let read = relation.columns_read(std::iter::once(expr));
    read.iter().all(|column| table.def.columns[*column].column_type.collation().is_none())
}

/// Whether it compares a column with what reads none.
fn compares_one_column(condition: &Expr) -> bool {
    let mut columns = 0;
    condition.walk(&mut |part| columns += usize::from(matches!(part, Expr::Column(_))));
    columns == 1 && matches!(condition, Expr::Compare(..) | Expr::Between { .. } | Expr::In { .. })
}

/// The column whose least value (or else its greatest) an aggregate is, if keys are in the order of its values.
fn extreme_of(relation: &Relation, table: &Table, aggregate: &Aggregate) -> Option<(usize, bool)> {
    let is_least = match aggregate.name() {
        "min" => true,
        "max" => false,
        _ => return None,
    };
    let [Expr::Column(column)] = aggregate.args.as_slice() else { return None };
    let column = relation.column_at(column.slot)?;
    let in_order = !matches!(table.def.columns[column].column_type.kind(), Kind::Members(_) | Kind::Json);
    in_order.then_some((column, is_least))
}
