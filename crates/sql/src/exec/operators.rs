//! Operators: each gives rows, one at a time, from those of the operators below it.
//!
//! Outline: [`open`] opens the tree of a plan ([`crate::plan::node`]), whose consumer then asks its root for rows:
//! [`super::query`] gives them to the client or to an INSERT, [`super::update`] changes them. One file is one operator.
//!
//! Contract of [`Operator::next`]
//! 1. All operators of a tree share one [`Row`]. Each fills its own slots, and may rely on those of its input being as
//!    that left them until it asks for the next row.
//! 2. It asks for no more rows than it needs to give the next one: what is read is locked in locking statements.
//! 3. After false, or an error, it is not asked again.
//! 4. What grows with the number of rows is counted against a [budget](crate::spill::Budget), and goes to files beyond that;
//!    an operator that does anything per row other than asking its input counts it with [`Run::step`], which looks whether
//!    the statement was killed.
//!
//! A row at a time, not a batch: statements of one row are most of what a transactional server runs, and a batch would
//! save little for others. Of the 3,200 instructions that a row of `SUM(k)` over a range of the primary key took, 70 were
//! in [`group`], and 130 in [`table_scan`]; the rest found, decoded and computed.

mod distinct;
mod filter;
mod group;
mod json_table;
mod kept_join;
pub(super) mod limit;
mod locked_scan;
mod loop_join;
mod loose_walk;
mod made_rows;
mod merged_keys;
mod ordered_group;
mod path;
mod project;
mod query_rows;
mod rollup;
mod set_operation;
mod sort;
mod table_scan;
mod window;

use std::time::Instant;

use self::limit::Bounds;
use super::Run;
use super::failure::damaged;
use super::profiled::Profiled;
use crate::ast::RowWait;
use crate::catalog::table::Table;
use crate::error::SqlError;
use crate::expr::Expr;
use crate::plan::node::{JoinMethod, Node, TableScan};
use crate::plan::query::Locking;
use crate::stack;
use crate::value::Value;

/// One row on its way through the tree.
pub(super) struct Row {
    /// The slots.
    pub(super) values: Vec<Value>,
    /// Of the table that the statement changes.
    pub(super) found: Found,
}

/// A row that is to be changed, as it was found and locked.
#[derive(Default)]
pub(super) struct Found {
    pub(super) key: Vec<u8>,
    pub(super) stored: Vec<u8>,
}

impl Row {
    /// A row of so many slots.
    pub(super) fn new(slots: usize) -> Row {
        Row::of(vec![Value::Null; slots])
    }

    /// A row with these slots.
    fn of(values: Vec<Value>) -> Row {
        Row { values, found: Found::default() }
    }
}

/// An open operator.
pub(super) trait Operator {
    /// Fills its slots with the next row, or says that there is none.
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError>;

    /// Passes over so many of its next rows, which are not made, and returns how many there were: if fewer, it is not asked
    /// again. What would be evaluated for the select list of a row that is passed over is not, as in MySQL.
    fn skip(&mut self, count: u64, run: &mut Run<'_>, row: &mut Row) -> Result<u64, SqlError> {
        let mut skipped = 0;
        while skipped < count && self.next(run, row)? {
            skipped += 1;
        }
        Ok(skipped)
    }

    /// Begins anew, for other values of what is filled before, as if it had just been opened, however many of its rows were
    /// asked for. False if it cannot: then it is opened.
    fn open_again(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let _ = (run, row);
        Ok(false)
    }

    /// How many rows it has looked at, if it judges them itself.
    fn examined(&self) -> Option<u64> {
        None
    }

    /// Whether rows come in the order that was planned for the access path: it could be used with the values of this
    /// run.
    fn as_planned(&self) -> bool {
        true
    }
}

/// Opens a tree; `row` has what is filled before, by the other side of a join.
pub(super) fn open<'p>(node: &'p Node, run: &mut Run<'_>, row: &mut Row) -> Result<Box<dyn Operator + 'p>, SqlError> {
    open_within(node, Bounds::NONE, run, row)
}

/// The same, whose consumer skips and asks for so many rows at most.
fn open_within<'p>(
    node: &'p Node,
    bounds: Bounds,
    run: &mut Run<'_>,
    row: &mut Row,
) -> Result<Box<dyn Operator + 'p>, SqlError> {
    let Some(profile) = run.profile else { return open_plain(node, bounds, run, row) };
    let begun = Instant::now();
    let inner = open_plain(node, bounds, run, row)?;
    Ok(Box::new(Profiled::new(inner, node, profile.clone(), begun)))
}

fn open_plain<'p>(
    node: &'p Node,
    bounds: Bounds,
    run: &mut Run<'_>,
    row: &mut Row,
) -> Result<Box<dyn Operator + 'p>, SqlError> {
    Ok(match node {
        Node::OneRow => Box::new(made_rows::OneRow::default()),
        Node::Scan(scan) => return open_scan(scan, bounds, run, row),
        Node::SystemRows(plan) => Box::new(made_rows::MadeRows::open(plan, run)?),
        Node::Made(plan) => {
            return stack::with_room_for_query(|| Ok(Box::new(query_rows::QueryRows::open(plan, run, row)?) as _));
        }
        Node::Join(plan) => {
            let left = open(&plan.left, run, row)?;
            match plan.method {
                JoinMethod::Loop => Box::new(loop_join::LoopJoin::new(left, plan)),
                JoinMethod::Kept | JoinMethod::Hashed(_) => Box::new(kept_join::KeptJoin::new(left, plan, run)),
            }
        }
        Node::Filter(input, condition) => Box::new(filter::Filter::new(open(input, run, row)?, condition)),
        Node::Group(input, plan) if plan.rollup => Box::new(rollup::Rollup::new(open(input, run, row)?, plan)),
        Node::Group(input, plan) => {
            let input = open(input, run, row)?;
            if plan.by_path && input.as_planned() {
                return Ok(Box::new(ordered_group::OrderedGroup::new(input, plan)));
            }
            Box::new(group::Group::new(input, plan))
        }
        Node::Window(input, plan) => {
            let slots = row.values.len();
            Box::new(window::WindowScan::open(open(input, run, row)?, plan, slots, run)?)
        }
        Node::Project(input, plan) if plan.is_there => return open(input, run, row),
        Node::Project(input, plan) => Box::new(project::Project::new(open(input, run, row)?, plan)),
        Node::Distinct(input, plan) => Box::new(distinct::Distinct::new(open(input, run, row)?, plan, run)),
        Node::Sort(input, plan) => {
            let of_path = if plan.by_path { bounds } else { Bounds::NONE };
            let input = open_within(input, of_path, run, row)?;
            if plan.by_path && input.as_planned() {
                return Ok(input);
            }
            Box::new(sort::Sort::new(input, plan, bounds.end()))
        }
        Node::Collect(input, kept) => Box::new(sort::Sort::collecting(open(input, run, row)?, kept)),
        Node::When(input, once) => {
            for condition in once {
                if !matches(Some(condition), run, &[])? {
                    return Ok(Box::new(made_rows::NoRow));
                }
            }
            return open_within(input, bounds, run, row);
        }
        Node::Limit(input, plan) => {
            let asked = Bounds::of(plan, run)?;
            let bounds = if plan.counts_all { Bounds::NONE } else { asked };
            // Nothing is evaluated for no row, keys of the access path included.
            let input = if bounds.is_nothing() { None } else { Some(open_within(input, bounds, run, row)?) };
            Box::new(limit::Limit::new(input, asked, plan.counts_all))
        }
    })
}

/// A table is read from the statement's snapshot, or under locks if the statement or its isolation level asks for them.
fn open_scan<'p>(
    scan: &'p TableScan,
    bounds: Bounds,
    run: &mut Run<'_>,
    row: &Row,
) -> Result<Box<dyn Operator + 'p>, SqlError> {
    const SHARED: Locking = Locking { exclusive: false, wait: RowWait::Wait, semi_consistent: false };
    Ok(match scan.locking.or(run.locks_reads.then_some(SHARED)) {
        Some(locking) => Box::new(locked_scan::LockedScan::open(scan, locking, run, row)?),
        None => Box::new(table_scan::SnapshotScan::open(scan, bounds, run, row)?),
    })
}

/// Whether a row matches a condition.
#[inline]
fn matches(filter: Option<&Expr>, run: &mut Run<'_>, row: &[Value]) -> Result<bool, SqlError> {
    match filter {
        None => Ok(true),
        Some(filter) => run.evaluate(|cx| filter.holds(row, cx)),
    }
}

/// The condition that rows are judged by, with the values of what its columns are compared with once it is worth it.
struct Judge<'p> {
    condition: Option<&'p Expr>,
    rows: u64,
    /// `None` within where there is nothing to be evaluated once.
    folded: Option<Option<Expr>>,
}

/// From so many rows on a condition's constants are worth being evaluated once.
const FOLDED_FROM: u64 = 16;

impl<'p> Judge<'p> {
    fn of(condition: Option<&'p Expr>) -> Judge<'p> {
        Judge { condition, rows: 0, folded: None }
    }

    /// The condition, for one more row.
    fn condition(&mut self, run: &mut Run<'_>) -> Option<&Expr> {
        self.rows += 1;
        if self.rows == FOLDED_FROM && self.folded.is_none() {
            self.folded = Some(self.condition.and_then(|condition| run.folded(condition)));
        }
        self.folded.as_ref().and_then(Option::as_ref).or(self.condition)
    }

    /// Whether a row matches.
    fn matches(&mut self, run: &mut Run<'_>, row: &[Value]) -> Result<bool, SqlError> {
        matches(self.condition(run), run, row)
    }
}

/// Decodes some columns of a stored row into the slots of its table.
#[inline]
pub(super) fn read_columns(
    table: &Table,
    stored: &[u8],
    wanted: &[usize],
    run: &mut Run<'_>,
    slots: &mut [Value],
) -> Result<(), SqlError> {
    let damaged = |error| damaged(&table.def.name, &error);
    let first = wanted.iter().max().map_or(0, |last| last + 1);
    let reader = table.codec.open_first(first, stored, &mut run.offsets).map_err(damaged)?;
    reader.read(wanted, slots).map_err(damaged)
}
