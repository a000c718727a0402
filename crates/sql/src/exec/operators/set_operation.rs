//! UNION, EXCEPT, INTERSECT: rows of several queries, each with its values converted to the types of the result.
//!
//! Unions give rows as they come, those that were there before left out where one of them is distinct: that one and all
//! before it have no row twice ([`DistinctRows`]). With EXCEPT or INTERSECT all rows are made before the first is given, which come
//! in the order of their first appearance: both sides are sorted together by what rows are compared by, and what is left of
//! the left side by its old places. All of it goes to files beyond `tmp_table_size`.

use super::query_rows::Opened;
use crate::ast::SetOperator;
use crate::collation::Collation;
use crate::error::SqlError;
use crate::exec::Run;
use crate::expr::write_group_key;
use crate::plan::node::{Operand, SetPlan};
use crate::spill::{Budget, Cursor, DistinctRows, KeyedRow, KeyedSorter, RowList};
use crate::value::Value;

pub(super) struct SetOperation<'p> {
    plan: &'p SetPlan,
    /// The operand that is read, and what is open of it.
    at: usize,
    open: Option<Opened<'p>>,
    /// Rows of this operand and those before it are given once each; `None` if all rows of all are given.
    distinct_to: Option<usize>,
    seen: Option<DistinctRows>,
    row: Vec<Value>,
    /// The rows, where they are made first.
    made: Option<(RowList, Cursor)>,
}

fn key_of(row: &[Value], collations: &[Collation]) -> Vec<u8> {
    let mut key = Vec::new();
    row.iter().zip(collations).for_each(|(value, collation)| write_group_key(value, *collation, &mut key));
    key
}

impl<'p> SetOperation<'p> {
    pub(super) fn new(plan: &'p SetPlan) -> SetOperation<'p> {
        let is_distinct = |operand: &Operand| matches!(operand.operator, Some((_, false)));
        SetOperation {
            plan,
            at: 0,
            open: None,
            distinct_to: plan.operands.iter().rposition(is_distinct),
            seen: None,
            row: Vec::new(),
            made: None,
        }
    }

    /// The next row.
    pub(super) fn next(&mut self, run: &mut Run<'_>) -> Result<Option<&[Value]>, SqlError> {
        let unions = |operand: &Operand| matches!(operand.operator, None | Some((SetOperator::Union, _)));
        if self.plan.operands.iter().all(unions) {
            return self.next_of_unions(run);
        }
        if self.made.is_none() {
            self.made = Some((self.make(run)?, Cursor::default()));
        }
        let Some((made, cursor)) = &mut self.made else { return Ok(None) };
        run.step()?;
        made.next(cursor, run.session)
    }

    fn next_of_unions(&mut self, run: &mut Run<'_>) -> Result<Option<&[Value]>, SqlError> {
        while self.read(run)? {
            if self.distinct_to.is_some_and(|last| self.at <= last) {
                let key = key_of(&self.row, &self.plan.collations);
                let seen = self.seen.get_or_insert_with(|| DistinctRows::new(run.session.tmp_table_size));
                if !seen.is_new(key, &self.row, run.session)? {
                    continue;
                }
            }
            return Ok(Some(&self.row));
        }
        let Some(seen) = &mut self.seen else { return Ok(None) };
        let Some(later) = seen.next_later(run.session)? else { return Ok(None) };
        self.row = later;
        Ok(Some(&self.row))
    }

    /// Reads the next row of the operands, one after another.
    fn read(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        while self.at < self.plan.operands.len() {
            if self.read_one(run)? {
                return Ok(true);
            }
            self.at += 1;
        }
        Ok(false)
    }

    /// Reads the next row of the present operand.
    fn read_one(&mut self, run: &mut Run<'_>) -> Result<bool, SqlError> {
        let operand: &'p Operand = &self.plan.operands[self.at];
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(Opened::open(&operand.plan, run)?),
        };
        run.step()?;
        let Some(values) = open.next(run)? else {
            self.open = None;
            return Ok(false);
        };
        self.row.clear();
        self.row.extend_from_slice(values);
        let row = &mut self.row;
        run.evaluate(|cx| {
            for ((value, expr), of) in row.iter_mut().zip(operand.plan.select_list()).zip(&self.plan.types) {
                let given = std::mem::replace(value, Value::Null);
                *value = expr.as_one_of(given, of, cx)?;
                value.settle();
            }
            Ok(true)
        })
    }

    /// All rows.
    fn make(&mut self, run: &mut Run<'_>) -> Result<RowList, SqlError> {
        let mut rows = self.list(run);
        for (at, operand) in self.plan.operands.iter().enumerate() {
            self.at = at;
            let is_union = matches!(operand.operator, None | Some((SetOperator::Union, _)));
            let mut others = if is_union { None } else { Some(self.list(run)) };
            while self.read_one(run)? {
                let row = std::mem::take(&mut self.row);
                others.as_mut().unwrap_or(&mut rows).push(row, run.session)?;
            }
            match operand.operator {
                None | Some((SetOperator::Union, true)) => {}
                Some((operator, all)) => rows = self.combined(rows, others, operator, all, run)?,
            }
        }
        rows.end(run.session)?;
        Ok(rows)
    }

    fn list(&self, run: &Run<'_>) -> RowList {
        RowList::new(Budget::of(run.session.tmp_table_size), self.plan.types.len())
    }

    /// The rows of the left side that an operator leaves, in their order. Of UNION all rows are on that side.
    fn combined(
        &self,
        mut left: RowList,
        right: Option<RowList>,
        operator: SetOperator,
        all: bool,
        run: &mut Run<'_>,
    ) -> Result<RowList, SqlError> {
        let budget = || Budget::of(run.session.tmp_table_size);
        let mut by_key = KeyedSorter::of_table(budget());
        let mut by_place = KeyedSorter::of_table(budget());
        // Of equal rows those of the right side come first.
        if let Some(mut right) = right {
            right.end(run.session)?;
            let mut cursor = Cursor::default();
            while let Some(row) = right.next(&mut cursor, run.session)? {
                let key = key_of(row, &self.plan.collations);
                by_key.push(&key, [], run.session)?;
            }
            right.give_back(run.session);
        }
        left.end(run.session)?;
        let (mut cursor, mut place) = (Cursor::default(), 0);
        while let Some(row) = left.next(&mut cursor, run.session)? {
            let key = key_of(row, &self.plan.collations);
            by_key.push(&key, [Value::UInt(place)].iter().chain(row), run.session)?;
            place += 1;
        }
        left.give_back(run.session);
        let mut sorted = by_key.sorted(run.session)?;
        let (mut key, mut on_left, mut on_right) = (Vec::new(), 0_u64, 0_u64);
        while let Some(next) = sorted.next(run.session)? {
            if next.key != key {
                (key, on_left, on_right) = (next.key, 0, 0);
            }
            let Some((Value::UInt(place), row)) = next.row.split_first() else {
                on_right += 1;
                continue;
            };
            on_left += 1;
            // With ALL each row of the right side stands for one of the left.
            let stays = match (operator, all) {
                (SetOperator::Union, _) => on_left == 1,
                (SetOperator::Except, true) => on_left > on_right,
                (SetOperator::Except, false) => on_left == 1 && on_right == 0,
                (SetOperator::Intersect, true) => on_left <= on_right,
                (SetOperator::Intersect, false) => on_left == 1 && on_right > 0,
            };
            if stays {
                by_place.push(&place.to_be_bytes(), row, run.session)?;
            }
        }
        let mut sorted = by_place.sorted(run.session)?;
        let mut rows = self.list(run);
        while let Some(KeyedRow { row, .. }) = sorted.next(run.session)? {
            rows.push(row, run.session)?;
        }
        Ok(rows)
    }
}
