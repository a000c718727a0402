//! Last stage: the tree of operators that finds the rows of a query.
//!
//! A node is plain data, made once and opened for each run ([`crate::exec::operators`]), at the same time by several
//! sessions. All nodes of a tree share one row of slots (its layout: [`super::query`]); each fills slots of its own and
//! reads those that its input has filled.
//!
//! Outline: scans, each with the conditions on its relation → groups → HAVING → order and limit → select list. The
//! select list comes last so that nothing is evaluated for rows that LIMIT leaves out; it comes before the order where
//! DISTINCT needs its values, or where a sort key such as RAND() must be evaluated once.

use std::ops::Range;
use std::sync::Arc;

use super::access::Access;
use super::query::{Change, Grouping, LimitExprs, Locking, Query, Relation, SortKey, width};
use crate::ast::RowWait;
use crate::catalog::system::{self, Rows};
use crate::catalog::table::Table;
use crate::collation::Collation;
use crate::expr::Expr;

/// A query ready to run.
pub(crate) struct QueryPlan {
    pub(crate) root: Node,
    /// Length of the row.
    pub(crate) slots: usize,
    /// Where in the row the select list is.
    pub(crate) outputs: Range<usize>,
    /// The tables that it reads.
    pub(crate) tables: Vec<Arc<Table>>,
    /// How it locks rows, whatever the isolation level is.
    pub(crate) locks: Option<RowLocks>,
}

/// A locking clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowLocks {
    ForUpdate,
    ForShare,
}

/// One operator.
pub(crate) enum Node {
    /// One row without columns: SELECT without FROM.
    OneRow,
    Scan(Box<TableScan>),
    SystemRows(SystemRows),
    /// Rows for which the condition is true.
    Filter(Box<Node>, Expr),
    Group(Box<Node>, Grouping),
    Project(Box<Node>, Projection),
    Distinct(Box<Node>, Distinct),
    Sort(Box<Node>, Sort),
    /// All rows are found before the first is given.
    Collect(Box<Node>, Kept),
    Limit(Box<Node>, LimitExprs),
}

/// The rows of a stored table that match.
pub(crate) struct TableScan {
    pub(crate) table: Arc<Table>,
    /// Where its columns are.
    pub(crate) first_slot: usize,
    pub(crate) access: Access,
    /// Columns that anything reads.
    pub(crate) wanted: Vec<usize>,
    pub(crate) filter: Option<Expr>,
    pub(crate) locking: Option<Locking>,
    /// The statement changes the rows: each comes with its key and its stored form.
    pub(crate) changed: bool,
}

/// The rows of a system table.
pub(crate) struct SystemRows {
    pub(crate) table: Arc<Table>,
    pub(crate) first_slot: usize,
    pub(crate) rows: Rows,
}

/// The select list.
pub(crate) struct Projection {
    pub(crate) exprs: Vec<Expr>,
    /// Where their values go.
    pub(crate) first_slot: usize,
}

/// Rows whose values in these slots were not there yet.
pub(crate) struct Distinct {
    pub(crate) first_slot: usize,
    /// What the values are compared by.
    pub(crate) collations: Vec<Collation>,
}

/// Rows in the order of the keys; rows that are equal stay in the order they come in.
pub(crate) struct Sort {
    pub(crate) keys: Vec<SortKey>,
    pub(crate) kept: Kept,
    /// The access path gives this order: nothing is to be done where it can be used with the values of the run.
    pub(crate) by_path: bool,
}

/// What is kept of a row while others are found.
pub(crate) enum Kept {
    /// The values of these slots.
    Slots(Range<usize>),
    /// The stored form of a row that is to be changed, from which its columns are read again.
    Stored { table: Arc<Table>, first_slot: usize, wanted: Vec<usize> },
}

impl Node {
    /// The operator that it takes its rows from.
    pub(crate) fn input(&self) -> Option<&Node> {
        match self {
            Node::OneRow | Node::Scan(_) | Node::SystemRows(_) => None,
            Node::Filter(input, _)
            | Node::Group(input, _)
            | Node::Project(input, _)
            | Node::Distinct(input, _)
            | Node::Sort(input, _)
            | Node::Collect(input, _)
            | Node::Limit(input, _) => Some(input),
        }
    }

    /// It and the operators below.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(Some(self), |node| node.input())
    }
}

impl QueryPlan {
    /// Whether it has a LIMIT.
    pub(crate) fn has_limit(&self) -> bool {
        self.root.chain().any(|node| matches!(node, Node::Limit(..)))
    }

    /// Whether no key bounds the rows of its table that it looks at.
    pub(crate) fn looks_at_every_row(&self) -> bool {
        self.root.chain().any(|node| matches!(node, Node::Scan(scan) if scan.access.is_whole()))
    }

    /// The expressions of the select list.
    pub(crate) fn select_list(&self) -> &[Expr] {
        let projection = self.root.chain().find_map(|node| match node {
            Node::Project(_, projection) => Some(projection.exprs.as_slice()),
            _ => None,
        });
        projection.unwrap_or_default()
    }
}

/// Builds the tree of a query whose relations are read by these paths.
pub(super) fn build(mut query: Query, paths: Vec<Access>) -> QueryPlan {
    let columns = width(&query.relations);
    let aggregates = query.grouping.as_ref().map_or(0, |grouping| grouping.aggregates.len());
    let slots = columns + aggregates + query.outputs.len();
    let outputs = columns + aggregates..slots;
    let tables = query.relations.iter().map(|relation| relation.table.clone()).collect();
    let clause = |locking: Locking| if locking.exclusive { RowLocks::ForUpdate } else { RowLocks::ForShare };
    let locks = query.change.as_ref().map(|_| RowLocks::ForUpdate).or(query.locking.map(clause));
    let by_path = paths.iter().any(|path| path.ordered);
    let mut node = source(&mut query, paths);
    if let Some(grouping) = query.grouping.take() {
        node = Node::Group(Box::new(node), grouping);
    }
    if let Some(having) = query.having.take() {
        node = Node::Filter(Box::new(node), having);
    }
    let root = match query.change.take() {
        Some(change) => to_change(node, query, &change, by_path),
        None => to_give(node, query, &outputs, by_path),
    };
    QueryPlan { root, slots, outputs, tables, locks }
}

/// What gives the rows that match WHERE.
fn source(query: &mut Query, paths: Vec<Access>) -> Node {
    let scans: Vec<Node> =
        query.relations.iter().zip(paths).map(|(relation, access)| scan(query, relation, access)).collect();
    // There is one relation at most: joins are refused.
    let node = scans.into_iter().next().unwrap_or(Node::OneRow);
    match (node, query.filter.take()) {
        (Node::Scan(scan), filter) => Node::Scan(Box::new(TableScan { filter, ..*scan })),
        (node, Some(filter)) => Node::Filter(Box::new(node), filter),
        (node, None) => node,
    }
}

fn scan(query: &Query, relation: &Relation, mut access: Access) -> Node {
    let (table, first_slot) = (relation.table.clone(), relation.first_slot);
    if let Some(rows) = system::rows_of(&table) {
        return Node::SystemRows(SystemRows { table, first_slot, rows });
    }
    let mut wanted = relation.columns_read(query.exprs());
    let mut locking = query.locking;
    if let Some(change) = &query.change {
        wanted.extend(&change.wanted);
        wanted.sort_unstable();
        wanted.dedup();
        // As InnoDB: rows that are to be sorted are waited for.
        let semi_consistent = change.semi_consistent && (query.sort.is_empty() || access.ordered);
        locking = Some(Locking { exclusive: true, wait: RowWait::Wait, semi_consistent });
    }
    if locking.is_none() {
        let gives = |index| wanted.iter().all(|column| table.entry_gives(index, *column));
        access.covering = access.index.is_some_and(|index| table.primary != Some(index) && gives(index));
    }
    let changed = query.change.is_some();
    Node::Scan(Box::new(TableScan { table, first_slot, access, wanted, filter: None, locking, changed }))
}

/// Order, limit and select list of a SELECT.
fn to_give(mut node: Node, query: Query, outputs: &Range<usize>, by_path: bool) -> Node {
    let projection = Projection { exprs: query.outputs, first_slot: outputs.start };
    let Query { distinct, mut sort, limit, .. } = query;
    if !distinct && !sort.iter().any(|key| key.expr.is_volatile()) {
        node = sorted(node, sort, Kept::Slots(0..outputs.start), by_path);
        return Node::Project(Box::new(limited(node, limit)), projection);
    }
    // RAND() has been evaluated for the row, if it is selected.
    for key in sort.iter_mut().filter(|key| key.expr.is_volatile()) {
        if let Some(at) = projection.exprs.iter().position(|expr| *expr == key.expr) {
            key.expr = Expr::column(outputs.start + at, "", key.expr.result_type(&[]));
        }
    }
    let collations = projection.exprs.iter().map(Expr::collation).collect();
    node = Node::Project(Box::new(node), projection);
    if distinct {
        node = Node::Distinct(Box::new(node), Distinct { first_slot: outputs.start, collations });
    }
    limited(sorted(node, sort, Kept::Slots(outputs.clone()), by_path), limit)
}

/// Order and limit of an UPDATE or DELETE. Where the change moves rows within the index that is scanned, all are found
/// before the first is changed: the scan would meet them again.
fn to_change(node: Node, query: Query, change: &Change, by_path: bool) -> Node {
    let Node::Scan(scan) = &node else { return node };
    let table = &scan.table;
    let keys = [scan.access.index, table.primary].into_iter().flatten();
    let moves = keys.flat_map(|index| &table.indexes[index].columns).any(|column| change.assigned.contains(column));
    let kept = || Kept::Stored { table: table.clone(), first_slot: scan.first_slot, wanted: scan.wanted.clone() };
    let (for_sort, for_all) = (kept(), kept());
    let sorts = !query.sort.is_empty() && !by_path;
    let node = limited(sorted(node, query.sort, for_sort, by_path), query.limit);
    if moves && !sorts { Node::Collect(Box::new(node), for_all) } else { node }
}

fn sorted(node: Node, keys: Vec<SortKey>, kept: Kept, by_path: bool) -> Node {
    if keys.is_empty() { node } else { Node::Sort(Box::new(node), Sort { keys, kept, by_path }) }
}

fn limited(node: Node, limit: Option<LimitExprs>) -> Node {
    match limit {
        Some(limit) => Node::Limit(Box::new(node), limit),
        None => node,
    }
}
