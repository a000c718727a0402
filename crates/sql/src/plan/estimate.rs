//! What is thought of a tree of operators: how many rows each gives, and what that costs, for EXPLAIN and for queries that
//! stand in FROM.

use super::access::{Access, Merge, Tail};
use super::cost::{self, access_cost, rows_found};
use super::node::{Join, JoinMethod, JoinType, Node, QueryPlan, RowSource, TableScan};
use super::query::{LimitExprs, conjunct_refs};
use super::share::{Constants, Known, Shares};
use crate::ast::SetOperator;
use crate::catalog::table::Table;
use crate::expr::Expr;
use crate::statistics::{Figures, UNKNOWN_ROWS};
use crate::value::Value;

/// What is thought of an operator each time that it is opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// Rows that it gives.
    pub(crate) rows: f64,
    /// Until it has given them all, in units of [`cost`].
    pub(crate) cost: f64,
}

/// What is thought of the path of a table: the rows that it finds, and what share of them match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) rows: f64,
    pub(crate) share: f64,
    pub(crate) cost: f64,
}

/// What is known of a column.
pub(super) fn known<'f>(table: &Table, column: usize, figures: &'f Figures) -> Known<'f> {
    let leading = table.indexes.iter().filter(|index| index.columns.first() == Some(&column));
    let distinct = leading.filter_map(|index| match index.is_unique() && index.columns.len() == 1 {
        true => Some(figures.present.max(1.0)),
        false => figures.distinct(index.id),
    });
    let histogram = figures.histogram(&table.def.columns[column]);
    let distinct = distinct
        .reduce(f64::max)
        .or_else(|| histogram.map(|histogram| histogram.distinct()))
        .or_else(|| figures.distinct_of_column(&table.def.columns[column]));
    Known { distinct, histogram }
}

/// What is thought of a scan as its table is now.
pub(crate) fn scan(scan: &TableScan, constants: Constants) -> Found {
    let figures = scan.table.counters.statistics.exact_figures();
    let (table, access) = (&*scan.table, &scan.access);
    let rows = rows_found(access, table, &figures);
    let columns = |slot: usize| known_at(scan, slot, &figures).unwrap_or_default();
    let shares = Shares { columns: &columns, constants };
    let share = scan.filter.as_ref().map_or(1.0, |filter| share_left(filter, access, shares));
    Found { rows, share, cost: access_cost(access, table, &figures, rows, access.covering) }
}

/// What is known of the column at a slot; `None` if it is not the table's.
fn known_at<'f>(scan: &TableScan, slot: usize, figures: &'f Figures) -> Option<Known<'f>> {
    let column = slot.checked_sub(scan.first_slot).filter(|column| *column < scan.table.def.columns.len())?;
    Some(known(&scan.table, column, figures))
}

/// What share of the rows that a path finds match: the conditions that it looks for hold for all of them.
fn share_left(filter: &Expr, access: &Access, shares: Shares<'_>) -> f64 {
    let left = conjunct_refs(filter).filter(|part| !is_decided(part, access));
    left.map(|part| shares.of(part)).product()
}

/// Whether a condition is what a path looks rows up by, so that nobody judges it, as EXPLAIN has it.
pub(crate) fn is_looked_up(condition: &Expr, access: &Access) -> bool {
    let by_values = access.seek.tail == Tail::Open && access.merged.is_empty() && access.loose.is_none();
    by_values && is_decided(condition, access)
}

/// Whether a condition holds for all rows that a path finds, as far as its form shows.
fn is_decided(condition: &Expr, access: &Access) -> bool {
    let mut sought: Vec<Expr> = Vec::new();
    access.for_each_term(&mut |term| sought.push(term.clone()));
    match condition {
        Expr::Compare(_, left, right, _) => sought.contains(left) || sought.contains(right),
        Expr::Like { pattern, .. } => sought.contains(pattern),
        Expr::Between { low, high, .. } => sought.contains(low) && sought.contains(high),
        Expr::In { list, .. } => list.iter().all(|value| sought.contains(value)),
        Expr::IsNull { negated: false, .. } => {
            access.with_merged().any(|one| one.seek.equal.contains(&Expr::Literal(Value::Null)))
        }
        Expr::Or(_) if !access.merged.is_empty() && access.merge == Merge::Union => true,
        Expr::Or(_) | Expr::Subquery(_) => {
            access.with_merged().any(|one| matches!(one.seek.tail, Tail::Union(_) | Tail::Query(_)))
        }
        _ => false,
    }
}

/// How many rows a source of made rows gives, and what it costs to make them once; those of a table of WITH are there.
pub(crate) fn of_source(source: &RowSource, constants: Constants) -> Estimate {
    let there = |rows| Estimate { rows, cost: 0.0 };
    match source {
        RowSource::Query(plan) | RowSource::Lateral { plan, .. } => of_query(plan, constants),
        RowSource::Set(set) => set.operands.iter().fold(there(0.0), |sum, operand| {
            let own = of_query(&operand.plan, constants);
            let rows = match operand.operator {
                Some((SetOperator::Intersect, _)) => sum.rows.min(own.rows),
                Some((SetOperator::Except, _)) => sum.rows,
                Some((SetOperator::Union, _)) | None => sum.rows + own.rows,
            };
            Estimate { rows, cost: sum.cost + own.cost }
        }),
        RowSource::Values { rows, .. } => there(rows.len() as f64),
        // As MySQL.
        RowSource::JsonTable(_) => there(2.0),
        RowSource::Common(_) | RowSource::Correlated(_) | RowSource::LastRound(_) => there(UNKNOWN_ROWS),
    }
}

/// What is thought of a whole query.
pub(crate) fn of_query(plan: &QueryPlan, constants: Constants) -> Estimate {
    Estimator::of(plan, constants).node(&plan.root)
}

/// How many rows each of two operators gives that nothing is filled before.
pub(super) fn rows_of_sides(left: &Node, right: &Node, constants: Constants) -> (f64, f64) {
    let estimator = Estimator::over(&[left, right], constants);
    (estimator.node(left).rows, estimator.node(right).rows)
}

/// Knows the tables that a query reads.
pub(crate) struct Estimator<'p> {
    scans: Vec<(&'p TableScan, Figures)>,
    constants: Constants,
}

impl<'p> Estimator<'p> {
    /// For the operators of a query.
    pub(crate) fn of(plan: &'p QueryPlan, constants: Constants) -> Estimator<'p> {
        Estimator::over(&[&plan.root], constants)
    }

    fn over(nodes: &[&'p Node], constants: Constants) -> Estimator<'p> {
        let mut scans = Vec::new();
        for node in nodes {
            node.walk(&mut |node| {
                if let Node::Scan(scan) = node {
                    scans.push((&**scan, scan.table.counters.statistics.exact_figures()));
                }
            });
        }
        Estimator { scans, constants }
    }

    fn share(&self, condition: &Expr) -> f64 {
        let columns = |slot| self.scans.iter().find_map(|(scan, figures)| known_at(scan, slot, figures));
        let columns = |slot| columns(slot).unwrap_or_default();
        Shares { columns: &columns, constants: self.constants }.of(condition)
    }

    /// What is thought of an operator.
    pub(crate) fn node(&self, node: &Node) -> Estimate {
        match node {
            Node::OneRow => Estimate { rows: 1.0, cost: 0.0 },
            Node::Scan(table) => {
                let found = scan(table, self.constants);
                Estimate { rows: found.rows * found.share, cost: found.cost }
            }
            Node::SystemRows(_) => Estimate { rows: UNKNOWN_ROWS, cost: UNKNOWN_ROWS },
            Node::Made(made) => {
                let Estimate { rows, cost } = of_source(&made.rows, self.constants);
                Estimate { rows, cost: cost + rows }
            }
            Node::Join(join) => self.join(join),
            Node::Filter(input, condition) => {
                let input = self.node(input);
                Estimate { rows: input.rows * self.share(condition), cost: input.cost }
            }
            Node::Group(input, grouping) => {
                let is_loose = input.is_loose();
                let input = self.node(input);
                let groups = match grouping.keys.as_slice() {
                    [] => 1.0,
                    _ if is_loose => input.rows,
                    _ => (input.rows * 0.1).max(1.0).min(input.rows),
                };
                let keep = if grouping.by_path { 0.0 } else { cost::KEEP };
                Estimate { rows: groups, cost: input.cost + input.rows * keep }
            }
            Node::Window(input, _) | Node::Collect(input, _) => {
                let input = self.node(input);
                Estimate { rows: input.rows, cost: input.cost + cost::sort(input.rows) }
            }
            Node::Sort(input, sort) => {
                let input = self.node(input);
                let sorting = if sort.by_path { 0.0 } else { cost::sort(input.rows) };
                Estimate { rows: input.rows, cost: input.cost + sorting }
            }
            Node::Project(input, _) | Node::When(input, _) => self.node(input),
            Node::Distinct(input, _) => {
                let input = self.node(input);
                Estimate { rows: input.rows, cost: input.cost + input.rows * cost::KEEP }
            }
            Node::Limit(input, limit) => {
                let all = self.node(input);
                let wanted = wanted(limit).unwrap_or(all.rows);
                let streams = input.chain().all(|node| !is_blocking(node));
                let part = if streams { (wanted / all.rows.max(1.0)).min(1.0) } else { 1.0 };
                Estimate { rows: all.rows.min(wanted), cost: all.cost * part }
            }
        }
    }

    fn join(&self, join: &Join) -> Estimate {
        let (left, right) = (self.node(&join.left), self.node(&join.right));
        let kept = join.on.as_ref().map_or(1.0, |on| self.share(on));
        let found = right.rows * kept;
        let given = match join.join_type {
            JoinType::Inner => found,
            JoinType::Left => found.max(1.0),
            JoinType::Semi | JoinType::Anti => cost::share_by_partners(join.join_type, found),
        };
        let cost = match join.method {
            JoinMethod::Loop => left.cost + left.rows * right.cost,
            JoinMethod::Kept => {
                left.cost + right.cost + right.rows * cost::KEEP + left.rows * right.rows * cost::COMPARE
            }
            JoinMethod::Hashed(_) => {
                let meet = cost::PROBE + found * cost::COMPARE;
                left.cost + right.cost + right.rows * cost::KEEP + left.rows * meet
            }
        };
        Estimate { rows: left.rows * given, cost }
    }
}

/// Whether an operator reads all of its input before it gives a row.
fn is_blocking(node: &Node) -> bool {
    match node {
        Node::Sort(_, sort) => !sort.by_path,
        Node::Group(_, grouping) => !grouping.by_path,
        Node::Window(..) | Node::Collect(..) => true,
        _ => false,
    }
}

fn wanted(limit: &LimitExprs) -> Option<f64> {
    let number = |expr: &Expr| match expr {
        Expr::Literal(Value::Int(count)) => Some(*count as f64),
        Expr::Literal(Value::UInt(count)) => Some(*count as f64),
        _ => None,
    };
    number(&limit.count)
}
