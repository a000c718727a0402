//! A join of rows in files (grace hash join): both sides are parted by their keys, so that rows with equal keys are in the
//! same part, and parts are joined one after another.
//!
//! A part whose right side is more than there is memory for is parted again by other bits of the hash. Where that does not
//! help (one key has most of the rows, or there are no keys), the right side is taken in pieces that memory is for, and
//! the left one is read for each of them. A left row whose value has no key that all equal values have meets the right
//! sides of all parts; such a right row is in every part.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::find;
use super::table::{Looking, Table};
use crate::error::SqlError;
use crate::exec::Run;
use crate::exec::operators::Row;
use crate::expr::JoinKey;
use crate::plan::node::{Join, JoinType};
use crate::spill::{Budget, RecordFile, RecordReader, Spilling, read_bytes, write_bytes, write_row};
use crate::value::Value;

/// Into how many parts rows go.
const PARTS: usize = 16;
/// How often a part is parted again.
const MOST_DEPTH: u32 = 4;
/// How much more memory a row takes than its bytes in a file, about.
const IN_MEMORY: u64 = 4;
/// What a part may have in memory in any case, bytes: the files that it comes from have more for their blocks.
const LEAST_BYTES: u64 = 32 << 10;

/// What a part may have in memory.
fn memory(run: &Run<'_>) -> u64 {
    run.session.join_buffer_size.max(LEAST_BYTES)
}

/// What a record begins with.
const KEYED: u8 = 0;
const WITHOUT_KEY: u8 = 1;
const NULL_KEY: u8 = 2;

/// Rows on their way into parts.
pub(super) struct Partitions {
    /// Whether there are keys at all.
    keyed: bool,
    right: Vec<RecordFile>,
    left: Vec<RecordFile>,
    /// Rows without a key.
    odd_right: Option<RecordFile>,
    odd_left: Option<RecordFile>,
    /// Left rows so far.
    lefts: u64,
    depth: u32,
}

fn part_of(key: &[u8], depth: u32) -> usize {
    let mut hasher = DefaultHasher::new();
    (depth, key).hash(&mut hasher);
    hasher.finish() as usize % PARTS
}

impl Partitions {
    /// No rows yet; without keys there is one part.
    pub(super) fn new(keyed: bool, with: &dyn Spilling) -> Result<Partitions, SqlError> {
        with.temporary_files().count_table();
        Partitions::at_depth(keyed, 0, with)
    }

    fn at_depth(keyed: bool, depth: u32, with: &dyn Spilling) -> Result<Partitions, SqlError> {
        let parts = if keyed { PARTS } else { 1 };
        let files = || (0..parts).map(|_| RecordFile::create(with)).collect::<Result<Vec<_>, SqlError>>();
        let (right, left) = (files()?, files()?);
        Ok(Partitions { keyed, right, left, odd_right: None, odd_left: None, lefts: 0, depth })
    }

    /// Takes a row of the right side.
    pub(super) fn add_right(
        &mut self,
        key: Option<&[u8]>,
        values: &[Value],
        with: &dyn Spilling,
    ) -> Result<(), SqlError> {
        let file = match key {
            Some(key) => &mut self.right[if self.keyed { part_of(key, self.depth) } else { 0 }],
            None => odd(&mut self.odd_right, with)?,
        };
        file.append(with, |out| {
            out.push(if key.is_some() { KEYED } else { WITHOUT_KEY });
            write_bytes(key.unwrap_or_default(), out);
            write_row(values, out);
        })
    }

    /// Takes a row of the left side.
    pub(super) fn add_left(
        &mut self,
        key: &JoinKey<'_>,
        values: &[Value],
        with: &dyn Spilling,
    ) -> Result<(), SqlError> {
        let (kind, bytes) = match key {
            JoinKey::Of(key) => (KEYED, *key),
            JoinKey::None => (WITHOUT_KEY, &[][..]),
            JoinKey::Null => (NULL_KEY, &[][..]),
        };
        let file = match key {
            JoinKey::None => odd(&mut self.odd_left, with)?,
            JoinKey::Of(key) if self.keyed => &mut self.left[part_of(key, self.depth)],
            JoinKey::Of(_) | JoinKey::Null => &mut self.left[0],
        };
        let number = self.lefts;
        self.lefts += 1;
        file.append(with, |out| {
            out.push(kind);
            write_bytes(bytes, out);
            out.extend_from_slice(&number.to_le_bytes());
            write_row(values, out);
        })
    }

    /// All rows are there.
    pub(super) fn joined(self, with: &dyn Spilling) -> Result<Spilled, SqlError> {
        Ok(Spilled { parts: self.into_parts(with)?, open: None, left_number: 0 })
    }

    fn into_parts(self, with: &dyn Spilling) -> Result<Vec<Part>, SqlError> {
        let whole = |mut file: RecordFile| file.flush(with).map(|()| Rc::new(file));
        let right = self.right.into_iter().map(whole).collect::<Result<Vec<_>, SqlError>>()?;
        let odd_right = self.odd_right.map(whole).transpose()?;
        let mut parts = Vec::new();
        if let Some(left) = self.odd_left {
            let right = right.iter().chain(&odd_right).cloned().collect();
            parts.push(Part { right, left: whole(left)?, all: true, depth: MOST_DEPTH });
        }
        for (left, right) in self.left.into_iter().zip(right) {
            if left.end() > 0 {
                let right = std::iter::once(right).chain(odd_right.clone()).collect();
                parts.push(Part { right, left: whole(left)?, all: !self.keyed, depth: self.depth });
            }
        }
        Ok(parts)
    }
}

fn odd<'f>(file: &'f mut Option<RecordFile>, with: &dyn Spilling) -> Result<&'f mut RecordFile, SqlError> {
    match file {
        Some(file) => Ok(file),
        None => Ok(file.insert(RecordFile::create(with)?)),
    }
}

/// Rows of both sides among which partners are.
struct Part {
    right: Vec<Rc<RecordFile>>,
    left: Rc<RecordFile>,
    /// Each left row is to meet each right one.
    all: bool,
    depth: u32,
}

impl Part {
    /// Whether memory has no room for its right side, and parting it again may help.
    fn is_large(&self, memory: u64) -> bool {
        let bytes: u64 = self.right.iter().map(|file| file.end()).sum();
        !self.all && self.depth < MOST_DEPTH && bytes.saturating_mul(IN_MEMORY) > memory
    }

    /// The same rows in smaller parts.
    fn parted(&self, with: &dyn Spilling) -> Result<Vec<Part>, SqlError> {
        let mut parts = Partitions::at_depth(true, self.depth + 1, with)?;
        for file in &self.right {
            let mut reader = file.reader(0, file.end());
            while let Some(record) = reader.next(file, with)? {
                let (kind, key, _) = split(record, with)?;
                let into = match kind {
                    KEYED => &mut parts.right[part_of(key, parts.depth)],
                    _ => odd(&mut parts.odd_right, with)?,
                };
                into.append(with, |out| out.extend_from_slice(record))?;
            }
        }
        let mut reader = self.left.reader(0, self.left.end());
        while let Some(record) = reader.next(&self.left, with)? {
            let (kind, key, _) = split(record, with)?;
            let into = if kind == KEYED { part_of(key, parts.depth) } else { 0 };
            parts.left[into].append(with, |out| out.extend_from_slice(record))?;
        }
        parts.into_parts(with)
    }
}

/// The kind of a record, its key, and what follows.
fn split<'b>(mut record: &'b [u8], with: &dyn Spilling) -> Result<(u8, &'b [u8], &'b [u8]), SqlError> {
    let damaged = || with.temporary_files().damaged();
    let kind = *record.split_off_first().ok_or_else(damaged)?;
    let key = read_bytes(&mut record).ok_or_else(damaged)?;
    Ok((kind, key, record))
}

fn read_values(count: usize, mut bytes: &[u8], with: &dyn Spilling) -> Result<Vec<Value>, SqlError> {
    crate::spill::read_row(count, &mut bytes).ok_or_else(|| with.temporary_files().damaged())
}

/// The parts that are left, and the one that is joined.
pub(super) struct Spilled {
    parts: Vec<Part>,
    open: Option<Open>,
    left_number: u64,
}

/// A part that is joined.
struct Open {
    part: Part,
    /// The piece of the right side that is in memory.
    table: Table,
    /// Which file of the right side is read, and where.
    file: usize,
    reader: RecordReader,
    /// What had no room any more.
    pending: Option<(Option<Vec<u8>>, Vec<Value>)>,
    left: RecordReader,
    /// Which left row of the part is next.
    at: usize,
    /// Of each left row, whether it has found a partner in the pieces so far.
    found: Vec<bool>,
    looking: Option<Looking>,
}

impl Spilled {
    /// The number of the present left row, in the order of the left side.
    pub(super) fn left_number(&self) -> u64 {
        self.left_number
    }

    /// The next row of the join.
    pub(super) fn next(&mut self, plan: &Join, run: &mut Run<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let memory = memory(run);
        loop {
            let open = match &mut self.open {
                Some(open) => open,
                None => {
                    let Some(part) = self.parts.pop() else { return Ok(false) };
                    if part.is_large(memory) {
                        self.parts.extend(part.parted(run.session)?);
                        continue;
                    }
                    let open = Open::new(part, memory);
                    let open = self.open.insert(open);
                    open.next_piece(plan, run)?;
                    open
                }
            };
            if open.looking.is_none() {
                match open.next_left(plan, run, row)? {
                    Some(number) => self.left_number = number,
                    None if open.pending.is_some() => {
                        open.next_piece(plan, run)?;
                        continue;
                    }
                    None => {
                        if let Some(open) = self.open.take() {
                            run.session.memory.give_back(open.found.len(), false);
                            open.table.give_back(run.session);
                        }
                        continue;
                    }
                }
            }
            let present = open.at - 1;
            // Partners in an earlier piece have decided about it.
            let decided = plan.join_type.seeks_one() && open.found[present];
            if let Some(looking) = open.looking.as_mut().filter(|_| !decided)
                && find(plan, &open.table, looking, run, row)?
            {
                open.found[present] = true;
                match plan.join_type {
                    JoinType::Inner | JoinType::Left => return Ok(true),
                    JoinType::Semi => {
                        open.looking = None;
                        return Ok(true);
                    }
                    JoinType::Anti => {}
                }
            }
            open.looking = None;
            if plan.join_type.gives_lonely() && !open.found[present] && open.pending.is_none() {
                plan.right_slots.iter().for_each(|slot| row.values[*slot] = Value::Null);
                return Ok(true);
            }
        }
    }
}

impl Open {
    fn new(part: Part, memory: u64) -> Open {
        let (reader, left) = (part.right[0].reader(0, part.right[0].end()), part.left.reader(0, part.left.end()));
        let table = Table::new(Budget::of(memory));
        Open { part, table, file: 0, reader, pending: None, left, at: 0, found: Vec::new(), looking: None }
    }

    /// Takes as much of the right side into memory as there is room for, and begins with the left one again.
    fn next_piece(&mut self, plan: &Join, run: &mut Run<'_>) -> Result<(), SqlError> {
        let table = std::mem::replace(&mut self.table, Table::new(Budget::of(memory(run))));
        table.give_back(run.session);
        if let Some((key, mut values)) = self.pending.take() {
            self.table.has_room(key.as_deref(), &values, run.session)?;
            self.table.add(key.as_deref(), &mut values);
        }
        self.left = self.part.left.reader(0, self.part.left.end());
        self.at = 0;
        loop {
            run.step()?;
            let Some(record) = self.reader.next(&self.part.right[self.file], run.session)? else {
                self.file += 1;
                let Some(file) = self.part.right.get(self.file) else {
                    self.file -= 1;
                    return Ok(());
                };
                self.reader = file.reader(0, file.end());
                continue;
            };
            let (kind, key, rest) = split(record, run.session)?;
            let key = (kind == KEYED).then_some(key);
            let mut values = read_values(plan.right_slots.len(), rest, run.session)?;
            if !self.table.has_room(key, &values, run.session)? {
                self.pending = Some((key.map(<[u8]>::to_vec), values));
                return Ok(());
            }
            self.table.add(key, &mut values);
        }
    }

    /// Puts the next left row into its slots, and gives its number; `None` if all have met this piece of the right side.
    fn next_left(&mut self, plan: &Join, run: &mut Run<'_>, row: &mut Row) -> Result<Option<u64>, SqlError> {
        let with = run.session;
        run.step()?;
        let Some(record) = self.left.next(&self.part.left, with)? else { return Ok(None) };
        let (kind, key, rest) = split(record, with)?;
        let (number, rest) = rest.split_first_chunk().ok_or_else(|| with.temporary_files().damaged())?;
        self.at += 1;
        if self.found.len() < self.at {
            with.memory.hold(size_of::<bool>())?;
            self.found.push(false);
        }
        self.looking = Some(match kind {
            NULL_KEY => Looking::Nowhere,
            KEYED if !self.part.all => self.table.looking(key),
            _ => Looking::All(0),
        });
        let values = read_values(plan.left_slots.len(), rest, with)?;
        plan.left_slots.iter().zip(values).for_each(|(slot, value)| row.values[*slot] = value);
        Ok(Some(u64::from_le_bytes(*number)))
    }
}
