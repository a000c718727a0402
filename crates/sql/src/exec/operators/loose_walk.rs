//! A loose index scan: of each group of entries that are alike in the first columns of an index, those that its plan
//! ([`Loose`]) names.
//!
//! Contract
//! 1. Of each group the first entry is given, and those that the plan asks for beside it; one that is two of these may be given
//!    twice. Groups come in the order of the index.
//! 2. The ranges that are walked hold whole groups: a path with terms about the columns behind is no loose one
//!    (`plan::loose`).
//! 3. Some entries of a group are walked past before the rest of it is skipped, as many as take as long as that
//!    ([`LOOSE_STEPS`]): where groups are smaller than statistics say, it costs little more than to read all entries.

use std::collections::VecDeque;

use cohort_engine::{Direction, KeyRange};
use cohort_txn::{Read, Scan};

use super::path::Path;
use crate::catalog::table::prefix_range;
use crate::codec::{KeyPart, key};
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::failure::{damaged, read_failed};
use crate::plan::access::Loose;
use crate::plan::cost::LOOSE_STEPS;
use crate::plan::node::TableScan;

/// With changes of its own of more bytes, a transaction reads all entries: those in what is left of a range are gathered each
/// time that it goes on from another place.
const MOST_CHANGED: u64 = 256 << 10;

/// An entry of an index, or a row with its key.
type Entry = (Vec<u8>, Vec<u8>);

pub(super) struct LooseWalk<'p> {
    plan: &'p TableScan,
    loose: Loose,
    /// The columns that make a group.
    parts: Vec<&'p KeyPart>,
    /// The next column may be NULL.
    nullable: bool,
    /// All entries.
    whole: KeyRange,
    /// What walks forwards.
    scan: Option<Scan>,
    /// What is left of the range, if groups are left in it.
    rest: Option<KeyRange>,
    /// The first entry of the next group, if the scan has come to it.
    ahead: Option<Entry>,
    /// What is to be given.
    found: VecDeque<Entry>,
}

impl<'p> LooseWalk<'p> {
    /// What walks a path; `None` if all of it is to be read.
    pub(super) fn of(plan: &'p TableScan, path: &Path, run: &Run<'_>) -> Option<LooseWalk<'p>> {
        let loose = plan.access.loose.filter(|_| path.as_planned)?;
        if run.transaction.memory_bytes() > MOST_CHANGED {
            return None;
        }
        let table = &*plan.table;
        let mut columns = table.key_columns(plan.access.index?).map(|(_, part)| part);
        let parts = columns.by_ref().take(loose.columns).collect();
        let whole = match path.index {
            Some(index) => prefix_range(&table.indexes[index].prefix()),
            None => prefix_range(&table.row_prefix()),
        };
        Some(LooseWalk {
            plan,
            loose,
            parts,
            nullable: columns.next().is_some_and(|part| part.nullable),
            whole,
            scan: None,
            rest: None,
            ahead: None,
            found: VecDeque::new(),
        })
    }

    /// The next entry of these ranges that is read.
    pub(super) fn next(
        &mut self,
        ranges: &mut std::vec::IntoIter<KeyRange>,
        run: &mut Run<'_>,
    ) -> Result<Option<Entry>, SqlError> {
        loop {
            if let Some(entry) = self.found.pop_front() {
                return Ok(Some(entry));
            }
            let first = match self.ahead.take() {
                Some(first) => Some(first),
                None => {
                    let Some(range) = self.rest.take().or_else(|| ranges.next()) else { return Ok(None) };
                    let first = self.first_of(&range, run)?;
                    self.rest = first.is_some().then_some(range);
                    first
                }
            };
            if let Some(first) = first {
                self.group(first, run)?;
            }
        }
    }

    /// Finds what is read of the group that begins with this entry.
    fn group(&mut self, first: Entry, run: &mut Run<'_>) -> Result<(), SqlError> {
        let end = self.end_of_group(&first.0)?;
        let group = prefix_range(&first.0[..end]);
        let nullable = self.nullable;
        let is_null = |key: &[u8]| nullable && key.get(end) == Some(&0);
        let Loose { least: wants_least, greatest: wants_last, .. } = self.loose;
        let wants_least = wants_least && is_null(&first.0);
        let (mut least, mut last) = (None, None);
        for _ in 0..LOOSE_STEPS {
            run.step()?;
            let Some(scan) = &mut self.scan else { break };
            match scan.next().map_err(read_failed)? {
                Some(entry) if entry.key < group.upper.as_slice() => {
                    if wants_least && least.is_none() && !is_null(entry.key) {
                        least = Some((entry.key.to_vec(), entry.value.to_vec()));
                    }
                    if wants_last {
                        last = Some((entry.key.to_vec(), entry.value.to_vec()));
                    }
                }
                next => {
                    self.ahead = next.map(|entry| (entry.key.to_vec(), entry.value.to_vec()));
                    if self.ahead.is_none() {
                        self.rest = None;
                    }
                    self.found.extend([Some(first), least, last].into_iter().flatten());
                    return Ok(());
                }
            }
        }
        if wants_least && least.is_none() {
            let values = KeyRange { lower: key::first_value(&first.0[..end]), upper: group.upper.clone() };
            least = self.first_of(&values, run)?;
        }
        if wants_last {
            let engine = self.plan.table.engine;
            let scan = run.transaction.scan(engine, Read::Snapshot, &group, Direction::Reverse);
            let mut scan = scan.map_err(read_failed)?;
            last = scan.next().map_err(read_failed)?.map(|entry| (entry.key.to_vec(), entry.value.to_vec()));
        }
        self.found.extend([Some(first), least, last].into_iter().flatten());
        let rest = self.rest.take().map(|rest| KeyRange { lower: group.upper, upper: rest.upper });
        self.rest = rest.filter(|rest| rest.lower < rest.upper);
        Ok(())
    }

    /// Where the columns that make a group end in a key.
    fn end_of_group(&self, key: &[u8]) -> Result<usize, SqlError> {
        let mut end = 4;
        for part in &self.parts {
            let rest = key.get(end..).unwrap_or_default();
            end += key::part_len(part, rest).map_err(|error| damaged(&self.plan.table.def.name, &error))?;
        }
        Ok(end)
    }

    /// The first entry of a range, from which the scan goes on.
    fn first_of(&mut self, range: &KeyRange, run: &mut Run<'_>) -> Result<Option<Entry>, SqlError> {
        run.step()?;
        let engine = self.plan.table.engine;
        let moved = self.scan.as_mut().is_some_and(|scan| run.transaction.move_scan(scan, engine, range));
        if !moved {
            let scan = run.transaction.scan_within(engine, range, &self.whole, Direction::Forward);
            self.scan = Some(scan.map_err(read_failed)?);
        }
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let entry = scan.next().map_err(read_failed)?;
        Ok(entry.map(|entry| (entry.key.to_vec(), entry.value.to_vec())))
    }
}
