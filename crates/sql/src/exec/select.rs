//! Runs SELECT: source, condition, groups, select list, DISTINCT, order, limit.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use cohort_txn::LockMode;

use super::Run;
use super::limit::Limit;
use super::locking::{LockedRows, RowLocks};
use super::source::{MadeRows, OneRow, RowSource, TableRows, matches};
use crate::ast::RowWait;
use crate::catalog::system;
use crate::error::SqlError;
use crate::expr::StatementContext;
use crate::expr::aggregate::Accumulator;
use crate::expr::{Expr, order_values, write_group_key};
use crate::memory::{key_bytes, row_bytes, value_bytes};
use crate::plan::Locking;
use crate::plan::{Grouping, SelectPlan, SortKey};
use crate::value::Value;

/// Takes the rows of a SELECT.
pub(super) type RowTaker<'s> = dyn FnMut(&[Value]) -> Result<(), SqlError> + 's;

/// Runs a SELECT, gives its rows to `take` and says how many they were.
pub(super) fn run(plan: &SelectPlan, run: &mut Run<'_>, take: &mut RowTaker<'_>) -> Result<u64, SqlError> {
    let limit = Limit::of(plan.limit.as_ref(), run)?;
    let mut row = vec![Value::Null; plan.slots];
    let Some(table) = &plan.table else {
        return produce(plan, run, &mut OneRow { given: false }, true, false, limit, &mut row, take);
    };
    if let Some(rows) = system::rows_of(table) {
        let made = match rows {
            system::Rows::Show(show) => run.statement.env.show(run.session, &show())?.rows,
            system::Rows::Catalog(rows) => rows(&run.catalog.current()),
        };
        return produce(plan, run, &mut MadeRows(made.into_iter()), false, false, limit, &mut row, take);
    }
    let unlocked = run.locks_reads.then_some(Locking { exclusive: false, wait: RowWait::Wait });
    let Some(locking) = plan.locking.or(unlocked) else {
        let mut rows = TableRows::open(table, &plan.access, &plan.wanted, run)?;
        let ordered = plan.access.ordered && rows.as_planned();
        return produce(plan, run, &mut rows, ordered, false, limit, &mut row, take);
    };
    let mode = if locking.exclusive { LockMode::Exclusive } else { LockMode::Shared };
    let locks = RowLocks { mode, wait: locking.wait, semi_consistent: false };
    let mut rows = LockedRows::open(table, &plan.access, &plan.wanted, plan.filter.as_ref(), locks, run)?;
    let ordered = plan.access.ordered && rows.as_planned;
    produce(plan, run, &mut rows, ordered, true, limit, &mut row, take)
}

#[allow(clippy::too_many_arguments)]
fn produce(
    plan: &SelectPlan,
    run: &mut Run<'_>,
    rows: &mut dyn RowSource,
    ordered: bool,
    filtered: bool,
    limit: Limit,
    row: &mut [Value],
    take: &mut RowTaker<'_>,
) -> Result<u64, SqlError> {
    let sort: &[SortKey] = if ordered && plan.grouping.is_none() { &[] } else { &plan.sort };
    let mut out = Output::new(plan, sort, limit, take);
    let filter = if filtered { None } else { plan.filter.as_ref() };
    if limit.count == 0 {
        return Ok(0);
    }
    match &plan.grouping {
        None => {
            while !out.is_full() && rows.next(run, row)? {
                if matches(filter, run, row)? && matches(plan.having.as_ref(), run, row)? {
                    out.add(run, row)?;
                }
            }
        }
        Some(grouping) => {
            let groups = collect_groups(grouping, filter, rows, run, row)?;
            for group in groups {
                if matches(plan.having.as_ref(), run, &group)? {
                    out.add(run, &group)?;
                }
            }
        }
    }
    out.finish(run)
}

/// One row a group: the columns of its first row, and the results of the aggregates behind them.
fn collect_groups(
    grouping: &Grouping,
    filter: Option<&Expr>,
    rows: &mut dyn RowSource,
    run: &mut Run<'_>,
    row: &mut [Value],
) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut groups: Vec<(Vec<Value>, Vec<Accumulator>)> = Vec::new();
    let mut by_key: HashMap<Vec<u8>, usize> = HashMap::new();
    let accumulators = || grouping.aggregates.iter().map(|aggregate| aggregate.accumulator()).collect();
    let mut key = Vec::new();
    // Without keys there is one group, with or without rows.
    if grouping.keys.is_empty() {
        groups.push((row.to_vec(), accumulators()));
    }
    let mut first = true;
    while rows.next(run, row)? {
        if !matches(filter, run, row)? {
            continue;
        }
        let at = if grouping.keys.is_empty() {
            if std::mem::take(&mut first) {
                groups[0].0.clone_from_slice(row);
            }
            0
        } else {
            key.clear();
            for expr in &grouping.keys {
                write_group_key(&expr.eval(row, &run.eval())?, expr.collation(), &mut key);
            }
            match by_key.get(&key) {
                Some(at) => *at,
                None => {
                    let states = grouping.aggregates.len() * size_of::<Accumulator>();
                    run.statement.hold(row_bytes(row) + key_bytes(&key) + states)?;
                    groups.push((row.to_vec(), accumulators()));
                    by_key.insert(key.clone(), groups.len() - 1);
                    groups.len() - 1
                }
            }
        };
        for (aggregate, accumulator) in grouping.aggregates.iter().zip(&mut groups[at].1) {
            accumulator.add(aggregate, row, &run.eval())?;
        }
    }
    let finish = |(mut row, accumulators): (Vec<Value>, Vec<Accumulator>)| {
        let results = row[grouping.first_slot..].iter_mut().zip(accumulators);
        results.for_each(|(place, accumulator)| *place = accumulator.finish());
        row
    };
    Ok(groups.into_iter().map(finish).collect())
}

/// The end of the pipeline: select list, DISTINCT, order, limit.
struct Output<'r, 's> {
    plan: &'r SelectPlan,
    sort: &'r [SortKey],
    limit: Limit,
    take: &'r mut RowTaker<'s>,
    /// Whether rows that are sorted are projected when their place is known: those that LIMIT leaves out are not
    /// evaluated then.
    late: bool,
    /// What is to be sorted, with its keys: rows of the source where they are projected late, else of the result.
    kept: Vec<(Vec<SortValue>, Vec<Value>)>,
    distinct: HashSet<Vec<u8>>,
    /// The select list's values.
    projected: Vec<Value>,
    /// Rows that passed DISTINCT.
    passed: u64,
    given: u64,
}

/// A value to sort by; strings by the bytes of their collation, which are made once a row.
enum SortValue {
    Plain(Value),
    Bytes(Vec<u8>),
}

impl<'r, 's> Output<'r, 's> {
    fn new(plan: &'r SelectPlan, sort: &'r [SortKey], limit: Limit, take: &'r mut RowTaker<'s>) -> Output<'r, 's> {
        Output {
            plan,
            sort,
            limit,
            take,
            late: !sort.is_empty() && !plan.distinct && !sort.iter().any(|key| key.expr.is_volatile()),
            kept: Vec::new(),
            distinct: HashSet::new(),
            projected: Vec::with_capacity(plan.outputs.len()),
            passed: 0,
            given: 0,
        }
    }

    /// Whether no further row can matter.
    fn is_full(&self) -> bool {
        self.sort.is_empty() && self.passed >= self.limit.end()
    }

    fn add(&mut self, run: &Run<'_>, row: &[Value]) -> Result<(), SqlError> {
        if self.is_full() {
            return Ok(());
        }
        if !self.late {
            self.project(run, row)?;
        }
        if self.plan.distinct {
            let mut key = Vec::new();
            for (value, expr) in self.projected.iter().zip(&self.plan.outputs) {
                write_group_key(value, expr.collation(), &mut key);
            }
            let bytes = key_bytes(&key);
            if !self.distinct.insert(key) {
                return Ok(());
            }
            run.statement.hold(bytes)?;
        }
        self.passed += 1;
        if !self.sort.is_empty() {
            // RAND() has been evaluated for this row, if it is selected.
            let selected = |key: &SortKey| {
                let at = self.plan.outputs.iter().position(|output| *output == key.expr)?;
                (!self.late && key.expr.is_volatile()).then(|| self.projected[at].clone())
            };
            let keys = sort_values(self.sort, row, run, selected)?;
            let kept = if self.late { row.to_vec() } else { std::mem::take(&mut self.projected) };
            run.statement.hold(row_bytes(&kept))?;
            self.kept.push((keys, kept));
            return Ok(());
        }
        if self.passed > self.limit.offset {
            count_sent(run, &self.projected)?;
            (self.take)(&self.projected)?;
            self.given += 1;
        }
        Ok(())
    }

    fn finish(mut self, run: &Run<'_>) -> Result<u64, SqlError> {
        if self.sort.is_empty() {
            return Ok(self.given);
        }
        let sort = self.sort;
        // Stable: rows that are equal stay in the order they were found in.
        self.kept.sort_by(|(a, _), (b, _)| compare_keys(sort, a, b));
        let skip = usize::try_from(self.limit.offset).unwrap_or(usize::MAX);
        let count = usize::try_from(self.limit.count).unwrap_or(usize::MAX);
        for (_, row) in std::mem::take(&mut self.kept).into_iter().skip(skip).take(count) {
            if self.late {
                self.project(run, &row)?;
            } else {
                self.projected = row;
            }
            count_sent(run, &self.projected)?;
            (self.take)(&self.projected)?;
            self.given += 1;
        }
        Ok(self.given)
    }

    /// Evaluates the select list.
    fn project(&mut self, run: &Run<'_>, row: &[Value]) -> Result<(), SqlError> {
        let cx = run.eval();
        self.projected.clear();
        for expr in &self.plan.outputs {
            self.projected.push(expr.eval(row, &cx)?);
        }
        Ok(())
    }
}

/// Counts what a row takes on its way to the client, or to where it is kept.
fn count_sent(run: &Run<'_>, row: &[Value]) -> Result<(), SqlError> {
    run.session.memory.begin_row();
    run.session.memory.hold_row(row_bytes(row))
}

/// A kept row's sort keys, but for those that are `known` evaluated from the row.
fn sort_values(
    sort: &[SortKey],
    row: &[Value],
    run: &Run<'_>,
    known: impl Fn(&SortKey) -> Option<Value>,
) -> Result<Vec<SortValue>, SqlError> {
    let value = |key: &SortKey| match known(key) {
        Some(value) => Ok(sort_value(value, key)),
        None => Ok(sort_value(key.expr.eval(row, &run.eval())?, key)),
    };
    let keys = sort.iter().map(value).collect::<Result<Vec<_>, SqlError>>()?;
    let bytes = |key: &SortValue| match key {
        SortValue::Plain(value) => value_bytes(value),
        SortValue::Bytes(bytes) => key_bytes(bytes),
    };
    run.statement.hold(keys.iter().map(bytes).sum())?;
    Ok(keys)
}

fn sort_value(value: Value, key: &SortKey) -> SortValue {
    match &value {
        Value::Text(text) => {
            let mut bytes = Vec::new();
            key.expr.collation().write_key(text.as_bytes(), &mut bytes);
            SortValue::Bytes(bytes)
        }
        _ => SortValue::Plain(value),
    }
}

/// Compares two rows by their sort keys.
fn compare_keys(sort: &[SortKey], a: &[SortValue], b: &[SortValue]) -> Ordering {
    for ((key, a), b) in sort.iter().zip(a).zip(b) {
        let order = match (a, b) {
            (SortValue::Plain(a), SortValue::Plain(b)) => order_values(a, b, key.expr.collation()),
            (SortValue::Bytes(a), SortValue::Bytes(b)) => a.cmp(b),
            // NULL comes before any string.
            (SortValue::Plain(_), SortValue::Bytes(_)) => Ordering::Less,
            (SortValue::Bytes(_), SortValue::Plain(_)) => Ordering::Greater,
        };
        let order = if key.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Orders rows of a table for UPDATE and DELETE with ORDER BY.
pub(super) struct SortedRows<T> {
    rows: Vec<(Vec<SortValue>, T)>,
}

impl<T> SortedRows<T> {
    pub(super) fn new() -> SortedRows<T> {
        SortedRows { rows: Vec::new() }
    }

    pub(super) fn add(&mut self, sort: &[SortKey], row: &[Value], item: T, run: &Run<'_>) -> Result<(), SqlError> {
        let keys = sort_values(sort, row, run, |_| None)?;
        self.rows.push((keys, item));
        Ok(())
    }

    pub(super) fn sorted(mut self, sort: &[SortKey]) -> impl Iterator<Item = T> {
        self.rows.sort_by(|(a, _), (b, _)| compare_keys(sort, a, b));
        self.rows.into_iter().map(|(_, item)| item)
    }
}
