//! The rows of a stored table by an access path, as the statement's snapshot has them.

use cohort_engine::KeyRange;
use cohort_txn::{Read, Scan};

use super::limit::Bounds;
use super::loose_walk::LooseWalk;
use super::path::Path;
use super::{Judge, Operator, Row, read_columns};
use crate::catalog::table::prefix_range;
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::failure::{damaged, read_failed};
use crate::expr::Expr;
use crate::plan::access::Tail;
use crate::plan::cost;
use crate::plan::node::TableScan;

pub(super) struct SnapshotScan<'p> {
    plan: &'p TableScan,
    path: Path,
    /// Rows are read from the index's entries.
    covering: bool,
    /// What walks the ranges if not all of what is in them is read.
    loose: Option<LooseWalk<'p>>,
    /// The range that is walked.
    scan: Option<Scan>,
    /// What has walked the range before.
    idle: Option<Scan>,
    /// There has been a range before.
    again: bool,
    row_key: Vec<u8>,
    stored: Vec<u8>,
    /// The entry of the index that led to the row, kept where it is all that is read, or a point.
    entry_key: Vec<u8>,
    entry_value: Vec<u8>,
    /// Rows that were found.
    examined: u64,
    judge: Judge<'p>,
}

impl<'p> SnapshotScan<'p> {
    /// Of its rows no more are asked for than `bounds` say.
    pub(super) fn open(
        plan: &'p TableScan,
        bounds: Bounds,
        run: &mut Run<'_>,
        row: &Row,
    ) -> Result<SnapshotScan<'p>, SqlError> {
        let mut path = Path::of(&plan.table, &plan.access, &row.values, run)?;
        let loose = LooseWalk::of(plan, &path, run);
        let is_long = plan.access.loose.is_some() && plan.access.is_whole();
        if loose.is_none() && (is_long || finds_most(plan, &path, bounds, run)?) {
            path = Path::everything(&plan.table);
        }
        Ok(SnapshotScan {
            plan,
            loose,
            covering: plan.access.covering && path.index.is_some(),
            path,
            scan: None,
            idle: None,
            again: false,
            row_key: Vec::new(),
            stored: Vec::new(),
            entry_key: Vec::new(),
            entry_value: Vec::new(),
            examined: 0,
            judge: Judge::of(plan.filter.as_ref()),
        })
    }

    /// Finds the next row: its stored form, or its entry where that covers what is wanted. `reads` is false where it is
    /// enough to know that there is one: a range of an index has an entry for each, and for no other.
    fn find(&mut self, reads: bool, run: &mut Run<'_>) -> Result<bool, SqlError> {
        while let Some(key) = self.path.points.next() {
            if self.find_point(&key, run)? {
                return Ok(true);
            }
            run.step()?;
        }
        while let Some(walk) = &mut self.loose {
            let Some(entry) = walk.next(&mut self.path.ranges, run)? else { return Ok(false) };
            (self.entry_key, self.entry_value) = entry;
            if self.follow_entry(run)? {
                return Ok(true);
            }
        }
        loop {
            let Some(open) = &mut self.scan else {
                let Some(range) = self.path.ranges.next() else { return Ok(false) };
                self.scan = Some(self.walk(&range, run)?);
                continue;
            };
            run.step()?;
            let Some(entry) = open.next().map_err(read_failed)? else {
                self.idle = self.scan.take();
                continue;
            };
            if !reads {
                return Ok(true);
            }
            let Some(index) = self.path.index else {
                self.stored.clear();
                self.stored.extend_from_slice(entry.value);
                return Ok(true);
            };
            if self.covering {
                self.entry_key.clear();
                self.entry_key.extend_from_slice(entry.key);
                self.entry_value.clear();
                self.entry_value.extend_from_slice(entry.value);
                return Ok(true);
            }
            self.row_key.clear();
            self.plan.table.row_key_of(&self.plan.table.indexes[index], entry.key, entry.value, &mut self.row_key)?;
            if self.read_row(run)? {
                return Ok(true);
            }
        }
    }

    /// Begins to walk a range. A scan that walks one after another need not be made anew each time.
    fn walk(&mut self, range: &KeyRange, run: &mut Run<'_>) -> Result<Scan, SqlError> {
        let engine = self.plan.table.engine;
        if let Some(mut idle) = self.idle.take()
            && run.transaction.move_scan(&mut idle, engine, range)
        {
            return Ok(idle);
        }
        let scan = if std::mem::replace(&mut self.again, true) {
            run.transaction.scan_within(engine, range, &self.whole(), self.path.direction)
        } else {
            run.transaction.scan(engine, Read::Snapshot, range, self.path.direction)
        };
        scan.map_err(read_failed)
    }

    /// All entries of the index, or all rows.
    fn whole(&self) -> KeyRange {
        let table = &self.plan.table;
        match self.path.index {
            Some(index) => prefix_range(&table.indexes[index].prefix()),
            None => prefix_range(&table.row_prefix()),
        }
    }

    fn find_point(&mut self, key: &[u8], run: &mut Run<'_>) -> Result<bool, SqlError> {
        match self.path.index {
            None => {
                self.row_key.clear();
                self.row_key.extend_from_slice(key);
            }
            Some(_) => {
                let found = run.transaction.get(self.plan.table.engine, Read::Snapshot, key, &mut self.entry_value);
                if !found.map_err(read_failed)? {
                    return Ok(false);
                }
                self.entry_key.clear();
                self.entry_key.extend_from_slice(key);
                return self.follow_entry(run);
            }
        }
        self.read_row(run)
    }

    /// Reads the row of the entry, unless that is all that is read.
    fn follow_entry(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let Some(index) = self.path.index else {
            std::mem::swap(&mut self.stored, &mut self.entry_value);
            return Ok(true);
        };
        if self.covering {
            return Ok(true);
        }
        let table = &self.plan.table;
        self.row_key.clear();
        table.row_key_of(&table.indexes[index], &self.entry_key, &self.entry_value, &mut self.row_key)?;
        self.read_row(run)
    }

    /// Reads the row of `row_key`.
    fn read_row(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        run.transaction
            .get(self.plan.table.engine, Read::Snapshot, &self.row_key, &mut self.stored)
            .map_err(read_failed)
    }

    /// Reads the columns of the row that was found, and says whether it matches. Of one that does not, only those are read
    /// that are asked for up to the condition that says so.
    fn judge(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let plan = self.plan;
        let is_match = finds_exactly(plan, &self.path);
        if self.covering || plan.wanted.is_empty() || is_match {
            self.read(run, row)?;
            return if is_match { Ok(true) } else { self.judge.matches(run, &row.values) };
        }
        let filter = self.judge.condition(run);
        let damaged = |error| damaged(&plan.table.def.name, &error);
        let mut offsets = std::mem::take(&mut run.offsets);
        let first = plan.wanted.last().map_or(0, |last| last + 1);
        let reader = plan.table.codec.open_first(first, &self.stored, &mut offsets).map_err(damaged)?;
        let parts = filter.map_or(&[][..], Expr::parts_of_and);
        let matched = run.evaluate(|cx| {
            for (part, columns) in parts.iter().zip(&plan.judged) {
                reader.read(columns, &mut row.values[plan.first_slot..]).map_err(damaged)?;
                if !part.holds(&row.values, cx)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        if matched {
            reader.read(&plan.given, &mut row.values[plan.first_slot..]).map_err(damaged)?;
        }
        run.offsets = offsets;
        Ok(matched)
    }

    /// Reads all columns that are wanted.
    fn read(&self, run: &mut Run<'_>, row: &mut Row) -> Result<(), SqlError> {
        let TableScan { table, wanted, first_slot, .. } = self.plan;
        if wanted.is_empty() {
            return Ok(());
        }
        let slots = &mut row.values[*first_slot..];
        match self.path.index.filter(|_| self.covering) {
            Some(index) => {
                Ok(table.read_entry(&table.indexes[index], &self.entry_key, &self.entry_value, wanted, slots)?)
            }
            None => read_columns(table, &self.stored, wanted, run, slots),
        }
    }
}

/// Whether ranges of a secondary index turn out to lead to so many of the rows that all are read sooner, and sorted where
/// that is the order that is wanted: the plan was made for no bounds, and a LIMIT of a few.
fn finds_most(plan: &TableScan, path: &Path, bounds: Bounds, run: &mut Run<'_>) -> Result<bool, SqlError> {
    /// From so many rows on it is asked, which takes some microseconds.
    const WORTH_WHILE: u64 = 5000;
    /// Of more ranges each is small.
    const MOST_RANGES: usize = 4;
    let (table, access) = (&*plan.table, &plan.access);
    let Some(index) = path.index.filter(|_| !access.covering && !access.forced && access.seek.equal.is_empty()) else {
        return Ok(false);
    };
    let ranges = path.ranges.as_slice();
    let is_range = match access.seek.tail {
        Tail::Range(_) | Tail::Like(..) | Tail::Union(_) => ranges.len() <= MOST_RANGES,
        Tail::Open => access.ordered,
        _ => false,
    };
    let Some(rows) = table.counters.statistics.rows().filter(|rows| is_range && *rows >= WORTH_WHILE) else {
        return Ok(false);
    };
    let rows = rows as f64;
    let most = match access.ordered {
        false => cost::most_looked_up(rows),
        true if bounds.are_none() => return Ok(false),
        true => cost::most_in_order(rows),
    };
    let asked = if finds_exactly(plan, path) { bounds.count() } else { bounds.end() };
    if access.ordered && asked as f64 <= most {
        return Ok(false);
    }
    if matches!(access.seek.tail, Tail::Open) {
        return Ok(rows > most);
    }
    let whole = prefix_range(&table.indexes[index].prefix());
    let mut share = 0.0;
    for range in ranges {
        let Some(more) = run.transaction.share(table.engine, range, &whole).map_err(read_failed)? else {
            return Ok(false);
        };
        share += more;
    }
    Ok(share * rows > most)
}

/// Whether what the path finds is what matches.
fn finds_exactly(plan: &TableScan, path: &Path) -> bool {
    plan.filter.is_none() || plan.found_by_filter && path.exact
}

impl Operator for SnapshotScan<'_> {
    fn next(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while self.find(true, run)? {
            self.examined += 1;
            if self.judge(run, row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn skip(&mut self, count: u64, run: &mut Run<'_>, row: &mut Row) -> Result<u64, SqlError> {
        let is_judged = !finds_exactly(self.plan, &self.path);
        let mut skipped = 0;
        while skipped < count && self.find(is_judged, run)? {
            self.examined += 1;
            skipped += u64::from(!is_judged || self.judge(run, row)?);
        }
        Ok(skipped)
    }

    fn open_again(&mut self, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let path = Path::of(&self.plan.table, &self.plan.access, &row.values, run)?;
        // A semi-join asks for no more than one row.
        if let Some(scan) = self.scan.take() {
            self.idle = Some(scan);
        }
        if path.index != self.path.index {
            (self.idle, self.again) = (None, false);
        }
        self.loose = LooseWalk::of(self.plan, &path, run);
        (self.path, self.examined) = (path, 0);
        Ok(true)
    }

    fn examined(&self) -> Option<u64> {
        Some(self.examined)
    }

    fn as_planned(&self) -> bool {
        self.path.as_planned
    }
}
