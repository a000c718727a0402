//! A query block with its names bound: what [`super::resolve`] makes, [`super::rewrite`] changes, and
//! [`super::physical`] builds operators from.
//!
//! Row layout: the columns of the relations come first, from slot 0 on, in the order of FROM. The results of the
//! aggregates follow, and then the select list. INSERT has the values of the new row, for ON DUPLICATE KEY UPDATE,
//! after the columns of its table.

use std::sync::Arc;

use crate::ast::{IndexHint, RowWait};
use crate::catalog::definition::ColumnDef;
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::expr::Expr;
use crate::expr::aggregate::Aggregate;

/// One SELECT, or the rows that an UPDATE or DELETE finds.
#[derive(Default)]
pub(super) struct Query {
    pub(super) relations: Vec<Relation>,
    /// WHERE
    pub(super) filter: Option<Expr>,
    pub(super) grouping: Option<Grouping>,
    pub(super) having: Option<Expr>,
    /// The select list.
    pub(super) outputs: Vec<Expr>,
    pub(super) distinct: bool,
    pub(super) sort: Vec<SortKey>,
    pub(super) limit: Option<LimitExprs>,
    /// The locking clause.
    pub(super) locking: Option<Locking>,
    /// What an UPDATE or DELETE changes of the rows.
    pub(super) change: Option<Change>,
}

/// A table of FROM.
pub(crate) struct Relation {
    pub(super) table: Arc<Table>,
    /// The name it goes by.
    pub(super) known_as: String,
    /// Where in the row its columns are.
    pub(super) first_slot: usize,
    pub(super) hints: Vec<IndexHint>,
}

/// Changes of rows of the first relation.
pub(super) struct Change {
    /// Columns that get new values.
    pub(super) assigned: Vec<usize>,
    /// Columns that the change reads, but for those in conditions and sort keys.
    pub(super) wanted: Vec<usize>,
    /// See [`Locking::semi_consistent`].
    pub(super) semi_consistent: bool,
}

/// One key of an ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SortKey {
    pub(crate) expr: Expr,
    pub(crate) collation: Collation,
    pub(crate) descending: bool,
}

/// How rows are locked as they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    /// FOR UPDATE, not FOR SHARE.
    pub(crate) exclusive: bool,
    /// What to do where a row is locked.
    pub(crate) wait: RowWait,
    /// At READ COMMITTED, rows that are locked and do not match are not waited for.
    pub(crate) semi_consistent: bool,
}

/// LIMIT, before its parameters are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LimitExprs {
    pub(crate) offset: Option<Expr>,
    pub(crate) count: Expr,
}

/// GROUP BY and aggregates; results of the aggregates go to the slots from `first_slot` on.
#[derive(Debug)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Expr>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) first_slot: usize,
}

impl SortKey {
    pub(super) fn new(expr: Expr, descending: bool) -> SortKey {
        SortKey { collation: expr.collation(), expr, descending }
    }
}

impl Relation {
    /// A table that is alone in its statement.
    pub(super) fn alone(table: Arc<Table>, known_as: &str) -> Relation {
        Relation { table, known_as: known_as.to_owned(), first_slot: 0, hints: Vec::new() }
    }

    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        self.table.def.columns.len()
    }

    /// Its column at a slot of the row.
    pub(super) fn column_at(&self, slot: usize) -> Option<usize> {
        slot.checked_sub(self.first_slot).filter(|column| *column < self.width())
    }

    /// The slot of a column, as an expression.
    pub(super) fn column_expr(&self, column: usize) -> Expr {
        column_expr(&self.table.def.columns[column], self.first_slot + column)
    }

    /// Its columns that `exprs` read, in order.
    pub(super) fn columns_read<'e>(&self, exprs: impl Iterator<Item = &'e Expr>) -> Vec<usize> {
        let mut seen = vec![false; self.width()];
        for expr in exprs {
            expr.walk(&mut |part| {
                if let Expr::Column(read) = part
                    && let Some(column) = self.column_at(read.slot)
                {
                    seen[column] = true;
                }
            });
        }
        (0..seen.len()).filter(|column| seen[*column]).collect()
    }
}

/// A reference to a table's column that lies at `slot`.
pub(super) fn column_expr(column: &ColumnDef, slot: usize) -> Expr {
    Expr::column(slot, column.name.as_str(), column.result_type())
}

/// The relation and its column that lie at a slot of the row.
pub(super) fn column_at(relations: &[Relation], slot: usize) -> Option<(&Relation, usize)> {
    relations.iter().find_map(|relation| Some((relation, relation.column_at(slot)?)))
}

/// How many slots the relations take.
pub(super) fn width(relations: &[Relation]) -> usize {
    relations.last().map_or(0, |last| last.first_slot + last.width())
}

impl Query {
    /// Every expression that reads a row.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let grouping = self.grouping.iter();
        let grouping = grouping.flat_map(|grouping| {
            grouping.keys.iter().chain(grouping.aggregates.iter().flat_map(|aggregate| &aggregate.args))
        });
        let sort = self.sort.iter().map(|key| &key.expr);
        self.outputs.iter().chain(&self.filter).chain(&self.having).chain(sort).chain(grouping)
    }
}
