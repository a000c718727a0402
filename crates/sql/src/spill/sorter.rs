//! Sorts records, more of them than memory may hold: runs that are sorted in memory go to a file, and come back merged.
//!
//! Records that compare as equal stay in the order in which they came. What is in memory is sorted in chunks that are
//! merged as well, so that a kill is looked for while there is much of it. Where there are more runs than are merged at a
//! time, neighbours become one first (Sort_merge_passes counts every merge). Where only some first records are wanted, no
//! more than twice as many are in memory. Of records that compare as equal, one may be all that is wanted: the first.

use std::cmp::Ordering;

use super::{Budget, RecordFile, RecordReader, Spilling, read_bytes, write_bytes};
use crate::error::SqlError;

/// Records that are sorted in memory at a time.
const CHUNK: usize = 32 << 10;
/// Records that there is room for at first.
const LEAST_CHUNK: usize = 16;
/// Half of the records among which it is worth it to look for those that are wanted.
const LEAST_CUT: usize = 32;
/// Runs that are merged at a time.
const MERGED: usize = 128;
/// Least bytes of a run that are read at a time.
const LEAST_READ: usize = 4 << 10;
/// Most.
const MOST_READ: usize = 64 << 10;

/// What can be sorted.
pub(crate) trait Record: Sized {
    /// What it takes in memory, bytes.
    fn held_bytes(&self) -> usize;
    /// Appends its bytes.
    fn write(&self, out: &mut Vec<u8>);
    /// The record of these bytes; `None` if they are none.
    fn read(bytes: &[u8]) -> Option<Self>;
}

/// Takes records in any order.
pub(crate) struct Sorter<R> {
    budget: Budget,
    /// Sorted, and the last one not yet.
    chunks: Vec<Vec<R>>,
    runs: Option<Runs>,
    /// Whether what goes to files counts as a table.
    is_table: bool,
    /// How many records of the first chunk are wanted, if these are few.
    wanted: Option<usize>,
    /// Of records that compare as equal the first is wanted alone.
    unique: bool,
    /// The first chunk begins with so many records as are wanted, sorted: what does not come before their last is not.
    is_cut: bool,
}

/// A file of sorted runs.
struct Runs {
    file: RecordFile,
    /// Where each of them ends; the first begins where the file does.
    ends: Vec<u64>,
}

impl Runs {
    fn create(with: &dyn Spilling) -> Result<Runs, SqlError> {
        Ok(Runs { file: RecordFile::create(with)?, ends: Vec::new() })
    }

    fn start(&self, run: usize) -> u64 {
        run.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// A run that was written is whole.
    fn end_run(&mut self, with: &dyn Spilling) -> Result<(), SqlError> {
        self.file.flush(with)?;
        self.ends.push(self.file.end());
        Ok(())
    }

    fn sources<R>(&self, runs: std::ops::Range<usize>, block: usize) -> Vec<Source<R>> {
        let reader = |run| self.file.reader(self.start(run), self.ends[run]).in_blocks_of(block);
        runs.map(|run| Source::File(reader(run))).collect()
    }
}

impl<R: Record> Sorter<R> {
    /// No record yet. Of them so many bytes are in memory.
    pub(crate) fn new(budget: Budget) -> Sorter<R> {
        Sorter { budget, chunks: Vec::new(), runs: None, is_table: false, wanted: None, unique: false, is_cut: false }
    }

    /// The same, of which only so many first records are asked for.
    pub(crate) fn of_first(wanted: u64, budget: Budget) -> Sorter<R> {
        let wanted = usize::try_from(wanted).ok().filter(|wanted| (1..=CHUNK / 2).contains(wanted));
        Sorter { wanted, ..Sorter::new(budget) }
    }

    /// The same, of which the first is wanted of those that compare as equal.
    pub(crate) fn unique(self) -> Sorter<R> {
        Sorter { unique: true, ..self }
    }

    /// The same, for what is no sort of the statement's own: where it needs a file, that counts as a table on disk.
    pub(crate) fn of_table(budget: Budget) -> Sorter<R> {
        Sorter { is_table: true, ..Sorter::new(budget) }
    }

    /// A record that stands behind as many others as are wanted, if that many are known: none that does not come before it
    /// has to be added.
    pub(crate) fn last_wanted(&self) -> Option<&R> {
        let wanted = self.wanted.filter(|_| self.is_cut)?;
        self.chunks.first()?.get(wanted - 1)
    }

    /// Adds a record.
    pub(crate) fn push(
        &mut self,
        record: R,
        compare: &impl Fn(&R, &R) -> Ordering,
        with: &dyn Spilling,
    ) -> Result<(), SqlError> {
        let bytes = record.held_bytes();
        if !self.budget.take(bytes, with)? {
            self.spill(compare, with)?;
            self.budget.hold(bytes, with)?;
        }
        self.let_go(compare, bytes, with)?;
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(record),
            last => {
                if let Some(full) = last {
                    full.sort_by(compare);
                    with.check_killed()?;
                }
                let mut chunk = Vec::with_capacity(LEAST_CHUNK);
                chunk.push(record);
                self.chunks.push(chunk);
            }
        }
        Ok(())
    }

    /// Lets go what is not wanted, once there is much of it. So many bytes are held beside what is in memory.
    fn let_go(
        &mut self,
        compare: &impl Fn(&R, &R) -> Ordering,
        beside: usize,
        with: &dyn Spilling,
    ) -> Result<(), SqlError> {
        let [chunk] = &mut self.chunks[..] else { return Ok(()) };
        let most = match self.wanted {
            Some(wanted) => 2 * wanted.max(LEAST_CUT),
            None if self.unique => CHUNK,
            None => return Ok(()),
        };
        if chunk.len() < most {
            return Ok(());
        }
        sort(chunk, self.unique, compare);
        if let Some(wanted) = self.wanted {
            self.is_cut = chunk.len() >= wanted;
            chunk.truncate(wanted);
        }
        self.budget.give_back(with);
        self.budget.hold(beside + chunk.iter().map(R::held_bytes).sum::<usize>(), with)?;
        if self.wanted.is_none() && chunk.len() > CHUNK / 2 {
            // Most of them are wanted: to look again soon would be for little.
            self.chunks.push(Vec::with_capacity(LEAST_CHUNK));
        }
        with.check_killed()
    }

    /// What is in memory becomes a run.
    fn spill(&mut self, compare: &impl Fn(&R, &R) -> Ordering, with: &dyn Spilling) -> Result<(), SqlError> {
        let chunks = self.take_chunks(compare);
        self.is_cut = false;
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => {
                if self.is_table {
                    with.temporary_files().count_table();
                }
                self.runs.insert(Runs::create(with)?)
            }
        };
        let mut merge = Merge::new(chunks, None, self.unique, compare, with)?;
        while let Some(record) = merge.next(None, compare, with)? {
            runs.file.append(with, |out| record.write(out))?;
        }
        runs.end_run(with)?;
        self.budget.give_back(with);
        Ok(())
    }

    fn take_chunks(&mut self, compare: &impl Fn(&R, &R) -> Ordering) -> Vec<Source<R>> {
        if let Some(last) = self.chunks.last_mut() {
            sort(last, self.unique, compare);
        }
        std::mem::take(&mut self.chunks).into_iter().map(|chunk| Source::Memory(chunk.into_iter())).collect()
    }

    /// Gives the records back in order.
    pub(crate) fn sorted(
        mut self,
        compare: &impl Fn(&R, &R) -> Ordering,
        with: &dyn Spilling,
    ) -> Result<Sorted<R>, SqlError> {
        let block = (self.budget.most() / MERGED).clamp(LEAST_READ, MOST_READ);
        let mut runs = self.runs.take();
        while let Some(many) = runs.as_mut().filter(|runs| runs.ends.len() > MERGED) {
            let mut merged = Runs::create(with)?;
            for from in (0..many.ends.len()).step_by(MERGED) {
                let sources = many.sources(from..(from + MERGED).min(many.ends.len()), block);
                with.temporary_files().count_merge_pass();
                let mut merge = Merge::new(sources, Some(&many.file), self.unique, compare, with)?;
                while let Some(record) = merge.next(Some(&many.file), compare, with)? {
                    let record: R = record;
                    merged.file.append(with, |out| record.write(out))?;
                }
                merged.end_run(with)?;
            }
            *many = merged;
        }
        let mut sources = match &runs {
            Some(runs) => {
                with.temporary_files().count_merge_pass();
                runs.sources(0..runs.ends.len(), block)
            }
            None => Vec::new(),
        };
        sources.extend(self.take_chunks(compare));
        let file = runs.map(|runs| runs.file);
        let merge = Merge::new(sources, file.as_ref(), self.unique, compare, with)?;
        Ok(Sorted { file, merge, budget: self.budget })
    }
}

fn sort<R>(records: &mut Vec<R>, unique: bool, compare: &impl Fn(&R, &R) -> Ordering) {
    records.sort_by(compare);
    if unique {
        records.dedup_by(|record, before| compare(record, before).is_eq());
    }
}

/// Records in order.
pub(crate) struct Sorted<R> {
    file: Option<RecordFile>,
    merge: Merge<R>,
    budget: Budget,
}

impl<R: Record> Sorted<R> {
    /// The next record, under the same comparison.
    pub(crate) fn next(
        &mut self,
        compare: &impl Fn(&R, &R) -> Ordering,
        with: &dyn Spilling,
    ) -> Result<Option<R>, SqlError> {
        let next = self.merge.next(self.file.as_ref(), compare, with)?;
        if next.is_none() {
            self.budget.give_back(with);
        }
        Ok(next)
    }
}

enum Source<R> {
    Memory(std::vec::IntoIter<R>),
    File(RecordReader),
}

impl<R: Record> Source<R> {
    fn next(&mut self, file: Option<&RecordFile>, with: &dyn Spilling) -> Result<Option<R>, SqlError> {
        match (self, file) {
            (Source::Memory(records), _) => Ok(records.next()),
            (Source::File(reader), Some(file)) => match reader.next(file, with)? {
                Some(bytes) => R::read(bytes).ok_or_else(|| with.temporary_files().damaged()).map(Some),
                None => Ok(None),
            },
            (Source::File(_), None) => Err(SqlError::internal("a run without a file")),
        }
    }
}

/// Sorted sources, earlier ones first among equals: a heap of their first records.
struct Merge<R> {
    sources: Vec<Source<R>>,
    heads: Vec<(R, usize)>,
    /// Of records that compare as equal the first is given alone.
    unique: bool,
    given: usize,
}

impl<R: Record> Merge<R> {
    fn new(
        sources: Vec<Source<R>>,
        file: Option<&RecordFile>,
        unique: bool,
        compare: &impl Fn(&R, &R) -> Ordering,
        with: &dyn Spilling,
    ) -> Result<Merge<R>, SqlError> {
        let mut merge = Merge { heads: Vec::with_capacity(sources.len()), sources, unique, given: 0 };
        for at in 0..merge.sources.len() {
            if let Some(record) = merge.sources[at].next(file, with)? {
                merge.heads.push((record, at));
            }
        }
        for at in (0..merge.heads.len() / 2).rev() {
            merge.sift_down(at, compare);
        }
        Ok(merge)
    }

    fn next(
        &mut self,
        file: Option<&RecordFile>,
        compare: &impl Fn(&R, &R) -> Ordering,
        with: &dyn Spilling,
    ) -> Result<Option<R>, SqlError> {
        let Some(first) = self.take_head(file, compare, with)? else { return Ok(None) };
        while self.unique && self.heads.first().is_some_and(|(next, _)| compare(&first, next).is_eq()) {
            self.take_head(file, compare, with)?;
        }
        Ok(Some(first))
    }

    fn take_head(
        &mut self,
        file: Option<&RecordFile>,
        compare: &impl Fn(&R, &R) -> Ordering,
        with: &dyn Spilling,
    ) -> Result<Option<R>, SqlError> {
        self.given += 1;
        if self.given.is_multiple_of(256) {
            with.check_killed()?;
        }
        let Some((_, source)) = self.heads.first() else { return Ok(None) };
        let source = *source;
        let first = match self.sources[source].next(file, with)? {
            Some(record) => std::mem::replace(&mut self.heads[0], (record, source)).0,
            None => self.heads.swap_remove(0).0,
        };
        self.sift_down(0, compare);
        Ok(Some(first))
    }

    fn sift_down(&mut self, mut at: usize, compare: &impl Fn(&R, &R) -> Ordering) {
        let is_before = |heads: &[(R, usize)], a: usize, b: usize| {
            let ((a, of_a), (b, of_b)) = (&heads[a], &heads[b]);
            compare(a, b).then(of_a.cmp(of_b)).is_lt()
        };
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut least = at;
            if left < self.heads.len() && is_before(&self.heads, left, least) {
                least = left;
            }
            if right < self.heads.len() && is_before(&self.heads, right, least) {
                least = right;
            }
            if least == at {
                return;
            }
            self.heads.swap(at, least);
            at = least;
        }
    }
}

/// An index entry, key and value, sorted by both.
impl Record for (Vec<u8>, Vec<u8>) {
    fn held_bytes(&self) -> usize {
        2 * size_of::<Vec<u8>>() + self.0.len() + self.1.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(&self.0, out);
        out.extend_from_slice(&self.1);
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let key = read_bytes(&mut bytes)?.to_vec();
        Some((key, bytes.to_vec()))
    }
}
