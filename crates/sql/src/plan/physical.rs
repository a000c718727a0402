//! Last stage: the tree of operators that finds the rows of a query ([`super::node`]).
//!
//! Outline: scans, each with the conditions on its relation, joined in the order that was chosen → groups → HAVING →
//! windows → order and limit → select list. The select list comes last so that nothing is evaluated for rows that LIMIT
//! leaves out; it comes before the order where DISTINCT needs its values, or where a sort key such as RAND() must be
//! evaluated once.

use std::ops::Range;
use std::sync::Arc;

use super::access::Access;
use super::estimate;
use super::node::{
    Distinct, Join, JoinMethod, JoinType, Kept, MadeRows, Node, Projection, QueryPlan, RowSource, Sort, SystemRows,
    TableScan, identity_slot,
};
use super::order::{Method, Step, StepSource, order_wanted};
use super::query::{Change, Grouping, LimitExprs, Locking, Query, SortKey, Source, all_of, reads_around};
use super::share::Constants;
use crate::ast::RowWait;
use crate::catalog::system;
use crate::catalog::table::Table;
use crate::expr::Expr;
use crate::types::FieldType;

/// Builds the tree of a query whose relations are read in these steps.
pub(super) fn build(mut query: Query, steps: Vec<Step>, constants: Constants) -> QueryPlan {
    let first_output = query.columns() + query.made();
    let mut outputs = first_output..first_output + query.outputs.len();
    let slots = identity_slot(outputs.end, query.targets.len()).max(query.end());
    let (reads_outer, volatile) = looks_around(&query);
    let made_anew = std::mem::take(&mut query.made_anew);
    let by_path = matches!(steps.first(), Some(Step { source: StepSource::Relation(_, access), .. }) if access.ordered);
    let order = order_wanted(&query);
    let keeps_order = by_path && order.is_wanted();
    // What is grouped may be sorted by something else.
    let sorted_by_path = by_path && (query.grouping.is_none() || !order.keys.is_empty());
    let wanted = (0..query.relations.len()).map(|at| wanted(&query, at)).collect();
    let locks = query.relations.iter().any(|relation| relation.locking.is_some());
    let may_swap = !keeps_order && query.targets.is_empty() && query.change.is_none() && !locks;
    let identities = outputs.end;
    let mut builder = Builder { identities, query: &mut query, constants, wanted, keeps_order, may_swap };
    let mut node = builder.joined(steps).unwrap_or(Node::OneRow);
    let mut once = std::mem::take(&mut query.once);
    if query.change.is_none() {
        node = when(node, std::mem::take(&mut once));
    }
    if let Some(filter) = query.filter.take().filter(|_| matches!(node, Node::OneRow)) {
        node = Node::Filter(Box::new(node), filter);
    }
    if let Some(grouping) = query.grouping.take() {
        node = Node::Group(Box::new(node), Grouping { by_path: keeps_order && !grouping.rollup, ..grouping });
    }
    if let Some(having) = query.having.take() {
        node = Node::Filter(Box::new(node), having);
    }
    for window in std::mem::take(&mut query.windows) {
        node = Node::Window(Box::new(node), window);
    }
    let root = match query.change.take() {
        Some(change) => when(to_change(node, query, &change, by_path), once),
        None => to_give(node, query, &mut outputs, sorted_by_path),
    };
    QueryPlan { root, slots, outputs, made_anew, reads_outer, volatile }
}

/// Whether two runs of a query over the same rows may differ, as far as is known before derived tables are planned.
pub(super) fn runs_differ(query: &Query) -> bool {
    looks_around(query).1
}

/// Whether a query reads values of those around it, and whether it may differ from run to run.
fn looks_around(query: &Query) -> (bool, bool) {
    let (mut reads_outer, mut volatile) = (false, false);
    for expr in query.exprs() {
        volatile |= expr.is_volatile();
        reads_outer |= reads_around(expr);
    }
    for relation in &query.relations {
        let Source::Made { rows, .. } = &relation.source else { continue };
        match rows {
            RowSource::Query(plan) => {
                reads_outer |= plan.reads_outer;
                volatile |= plan.volatile;
            }
            RowSource::Lateral { plan, .. } => volatile |= plan.volatile,
            RowSource::Set(set) => {
                reads_outer |= set.operands.iter().any(|operand| operand.plan.reads_outer);
                volatile |= set.operands.iter().any(|operand| operand.plan.volatile);
            }
            RowSource::Values { rows, .. } => {
                for expr in rows.iter().flatten() {
                    volatile |= expr.is_volatile();
                    reads_outer |= reads_around(expr);
                }
            }
            // What a query gives that reads it depends on what is around, whether it reads that itself or not.
            RowSource::Correlated(_) => (reads_outer, volatile) = (true, true),
            RowSource::JsonTable(_) | RowSource::Common(_) | RowSource::LastRound(_) => {}
        }
    }
    (reads_outer, volatile)
}

/// The columns of a relation that anything reads.
fn wanted(query: &Query, at: usize) -> Vec<usize> {
    let mut wanted = query.relations[at].columns_read(query.exprs());
    let of_target = query.targets.iter().find(|target| target.relation == at).map(|target| &target.wanted);
    if let Some(more) = query.change.as_ref().map(|change| &change.wanted).or(of_target) {
        wanted.extend(more);
        wanted.sort_unstable();
        wanted.dedup();
    }
    wanted
}

/// Builds what gives the rows that match WHERE.
struct Builder<'q> {
    query: &'q mut Query,
    constants: Constants,
    /// Of each relation, the columns that anything reads.
    wanted: Vec<Vec<usize>>,
    /// The slot from which on keys and stored forms of changed rows lie.
    identities: usize,
    /// Rows are wanted in the order in which those of the first relation are found.
    keeps_order: bool,
    /// Whether it does not matter which side of a join is read first: for its order, or for the locks of its rows.
    may_swap: bool,
}

/// The sides of a join.
struct Sides {
    left: Node,
    right: Node,
    method: JoinMethod,
    left_slots: Vec<usize>,
    right_slots: Vec<usize>,
    /// The right side is the one that comes first in the order of the relations.
    swapped: bool,
}

impl Sides {
    /// A hash join keeps the rows of its right side: those that are thought to be far fewer.
    fn keep_fewer(&mut self, constants: Constants) {
        let JoinMethod::Hashed(keys) = &mut self.method else { return };
        let (left, right) = estimate::rows_of_sides(&self.left, &self.right, constants);
        if left * 2.0 < right {
            std::mem::swap(&mut self.left, &mut self.right);
            std::mem::swap(&mut self.left_slots, &mut self.right_slots);
            keys.iter_mut().for_each(|key| std::mem::swap(&mut key.left, &mut key.right));
            self.swapped = true;
        }
    }
}

impl Builder<'_> {
    /// Steps beside each other; `None` without any.
    fn joined(&mut self, steps: Vec<Step>) -> Option<Node> {
        let mut joined: Option<Node> = None;
        let mut left_slots: Vec<usize> = Vec::new();
        for step in steps {
            let Step { source, filter, method, on, after } = step;
            let join_type = match source {
                StepSource::Optional(_) => JoinType::Left,
                StepSource::Partners(join_type, _) => join_type,
                StepSource::Relation(..) => JoinType::Inner,
            };
            let (right, right_slots) = match source {
                StepSource::Relation(at, access) => (self.relation(at, access, filter), self.slots(at)),
                StepSource::Optional(steps) => {
                    let slots = self.all_slots(&steps);
                    (self.joined(steps)?, slots)
                }
                StepSource::Partners(_, steps) => {
                    let mut slots = self.all_slots(&steps);
                    slots.retain(|slot| on.iter().any(|condition| reads(condition, *slot)));
                    (self.joined(steps)?, slots)
                }
            };
            let both_slots = match join_type.seeks_one() {
                true => left_slots.clone(),
                false => [left_slots.as_slice(), &right_slots].concat(),
            };
            let node = match joined {
                None => right,
                Some(left) => {
                    let method = match method {
                        Method::First | Method::Loop => JoinMethod::Loop,
                        Method::Kept => JoinMethod::Kept,
                        Method::Hashed(keys) => JoinMethod::Hashed(keys),
                    };
                    let (on, keeps_order) = (all_of(on), self.keeps_order);
                    let mut sides = Sides { left, right, method, left_slots, right_slots, swapped: false };
                    if self.may_swap && join_type == JoinType::Inner {
                        sides.keep_fewer(self.constants);
                    }
                    let Sides { left, right, method, left_slots, right_slots, swapped } = sides;
                    Node::Join(Box::new(Join {
                        left,
                        right,
                        method,
                        on,
                        join_type,
                        left_slots,
                        right_slots,
                        swapped,
                        keeps_order,
                    }))
                }
            };
            left_slots = both_slots;
            joined = Some(match all_of(after) {
                Some(condition) => Node::Filter(Box::new(node), condition),
                None => node,
            });
        }
        joined
    }

    /// The slots of a relation that anything reads.
    fn slots(&self, at: usize) -> Vec<usize> {
        let relation = &self.query.relations[at];
        let identity = self.identity(at).into_iter().flat_map(|slot| [slot, slot + 1]);
        self.wanted[at].iter().map(|column| relation.first_slot + column).chain(identity).collect()
    }

    fn all_slots(&self, steps: &[Step]) -> Vec<usize> {
        let of = |step: &Step| match &step.source {
            StepSource::Relation(at, _) => self.slots(*at),
            StepSource::Optional(steps) => self.all_slots(steps),
            // Nothing is left of them.
            StepSource::Partners(..) => Vec::new(),
        };
        steps.iter().flat_map(of).collect()
    }

    /// Where the key and the stored form of a relation's rows go.
    fn identity(&self, at: usize) -> Option<usize> {
        let place = self.query.targets.iter().position(|target| target.relation == at)?;
        Some(identity_slot(self.identities, place))
    }

    fn relation(&mut self, at: usize, access: Access, filter: Vec<Expr>) -> Node {
        let relation = &mut self.query.relations[at];
        let first_slot = relation.first_slot;
        let filter = all_of(filter);
        if let Source::Made { rows, columns } = &mut relation.source {
            // Nothing else asks for the rows.
            let rows = std::mem::replace(rows, RowSource::Common(usize::MAX));
            let (width, known_as) = (columns.len(), relation.known_as.clone());
            return filtered(Node::Made(Box::new(MadeRows { rows, first_slot, width, known_as })), filter);
        }
        let Some(table) = self.query.relations[at].table().cloned() else { return Node::OneRow };
        match system::rows_of(&table) {
            Some(rows) => {
                let known_as = self.query.relations[at].known_as.clone();
                filtered(Node::SystemRows(SystemRows { table, known_as, first_slot, rows }), filter)
            }
            None => Node::Scan(Box::new(self.scan(at, table, access, filter))),
        }
    }

    fn scan(&self, at: usize, table: Arc<Table>, mut access: Access, filter: Option<Expr>) -> TableScan {
        let (query, relation) = (&*self.query, &self.query.relations[at]);
        let wanted = self.wanted[at].clone();
        let mut locking = relation.locking;
        let of_change = query.change.as_ref().map(|change| change.semi_consistent);
        let is_target = query.targets.iter().any(|target| target.relation == at);
        if let Some(semi_consistent) = of_change.or(is_target.then_some(false)) {
            // As InnoDB: rows that are to be sorted are waited for.
            let semi_consistent = semi_consistent && (query.sort.is_empty() || access.ordered);
            locking = Some(Locking { exclusive: true, wait: RowWait::Wait, semi_consistent });
        }
        if locking.is_none() {
            let gives = |index| wanted.iter().all(|column| table.entry_gives(index, *column));
            access.covering = access.index.is_some_and(|index| table.primary != Some(index) && gives(index));
        }
        let (changed, identity) = (query.change.is_some(), self.identity(at));
        let (known_as, first_slot) = (relation.known_as.clone(), relation.first_slot);
        let mut judged: Vec<Vec<usize>> = Vec::new();
        let mut given = wanted.clone();
        for part in filter.iter().flat_map(Expr::parts_of_and) {
            let mut read = relation.columns_read(std::iter::once(part));
            read.retain(|column| !judged.iter().flatten().any(|before| before == column));
            given.retain(|column| !read.contains(column));
            judged.push(read);
        }
        let column_of = |expr: &Expr| match expr {
            Expr::Column(column) => relation.column_at(column.slot),
            _ => None,
        };
        let found_by_filter = filter.as_ref().is_some_and(|filter| access.is_all_of(filter, &table, &column_of));
        TableScan {
            table,
            known_as,
            first_slot,
            access,
            wanted,
            judged,
            given,
            filter,
            found_by_filter,
            locking,
            changed,
            identity,
        }
    }
}

fn reads(expr: &Expr, slot: usize) -> bool {
    let mut found = false;
    expr.walk(&mut |part| found |= matches!(part, Expr::Column(column) if column.slot == slot));
    found
}

fn filtered(node: Node, filter: Option<Expr>) -> Node {
    match filter {
        Some(condition) => Node::Filter(Box::new(node), condition),
        None => node,
    }
}

/// Order, limit and select list of a SELECT. `outputs` becomes where in the row this is if it need not be made.
fn to_give(mut node: Node, query: Query, outputs: &mut Range<usize>, by_path: bool) -> Node {
    let mut projection = Projection { exprs: query.outputs, first_slot: outputs.start, is_there: false };
    let Query { distinct, mut sort, limit, hidden_outputs, .. } = query;
    if !distinct && !sort.iter().any(|key| key.expr.is_volatile()) {
        node = sorted(node, sort, Kept::Slots(0..outputs.start), by_path);
        let is_all = hidden_outputs == 0 && query.targets.is_empty();
        if let Some(slots) = side_by_side(&projection.exprs).filter(|_| is_all) {
            *outputs = slots;
            projection.is_there = true;
        }
        return Node::Project(Box::new(limited(node, limit)), projection);
    }
    // RAND() has been evaluated for the row, if it is selected.
    for key in sort.iter_mut().filter(|key| key.expr.is_volatile()) {
        if let Some(at) = projection.exprs.iter().position(|expr| *expr == key.expr) {
            key.expr = Expr::column(outputs.start + at, "", key.expr.result_type(&[]));
        }
    }
    let listed = projection.exprs.len() - hidden_outputs;
    let collations = projection.exprs[..listed].iter().map(Expr::collation).collect();
    let unique = distinct && hidden_outputs == 0 && !by_path && sorts_all(&sort, &projection.exprs);
    node = Node::Project(Box::new(node), projection);
    if distinct && !unique {
        node = Node::Distinct(Box::new(node), Distinct { first_slot: outputs.start, collations, end: outputs.end });
    }
    let mut node = sorted(node, sort, Kept::Slots(outputs.clone()), by_path);
    if let Node::Sort(_, sort) = &mut node {
        sort.unique = unique;
    }
    limited(node, limit)
}

/// Whether the keys are the select list, in any order, and columns whose values are equal where they are sorted alike.
fn sorts_all(keys: &[SortKey], listed: &[Expr]) -> bool {
    let is_column = |expr: &Expr| match expr {
        Expr::Column(column) => column.result_type.field != FieldType::Json,
        _ => false,
    };
    let is_key = |expr: &Expr| keys.iter().any(|key| key.expr == *expr && key.collation == expr.collation());
    listed.iter().all(|expr| is_column(expr) && is_key(expr)) && keys.iter().all(|key| listed.contains(&key.expr))
}

/// The slots of these expressions, if they are columns that lie beside each other and are shown as they are stored.
fn side_by_side(exprs: &[Expr]) -> Option<Range<usize>> {
    // A TIMESTAMP is shown in the session's time zone.
    let is_converted = |field| matches!(field, FieldType::Timestamp | FieldType::Timestamp2);
    let slot = |expr: &Expr| match expr {
        Expr::Column(column) if !is_converted(column.result_type.field) => Some(column.slot),
        _ => None,
    };
    let first = slot(exprs.first()?)?;
    let beside = exprs.iter().zip(first..).all(|(expr, at)| slot(expr) == Some(at));
    beside.then(|| first..first + exprs.len())
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

fn when(node: Node, once: Vec<Expr>) -> Node {
    if once.is_empty() { node } else { Node::When(Box::new(node), once) }
}

fn sorted(node: Node, keys: Vec<SortKey>, kept: Kept, by_path: bool) -> Node {
    if keys.is_empty() { node } else { Node::Sort(Box::new(node), Sort { keys, kept, unique: false, by_path }) }
}

fn limited(node: Node, limit: Option<LimitExprs>) -> Node {
    match limit {
        Some(limit) => Node::Limit(Box::new(node), limit),
        None => node,
    }
}
