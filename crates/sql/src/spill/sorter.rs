//! Sorts records, more of them than memory may hold: runs that are sorted in memory go to a file, and come back merged.
//!
//! A record is bytes, in memory as in files. A number beside it, its [`KeyStart`], tells most records apart without a look at
//! them; whoever sorts compares the bytes of the others. Records that compare as equal stay in the order in which they came.
//! What is in memory is sorted in chunks that are merged as well, so that a kill is looked for while there is much of it. The
//! first chunks that go to a file are runs as they are, each once it is full if others are there already.
//! Where there are more runs than are merged at a time, neighbours become one first (Sort_merge_passes counts every
//! merge). Where only some first records are wanted, no more than twice as many are in memory. Of records that compare as
//! equal, one may be all that is wanted: the first.

use std::cmp::Ordering;
use std::hint::select_unpredictable;

use super::sort_keys::KeyStart;
use super::{Budget, RecordFile, RecordReader, Spilling};
use crate::error::SqlError;

/// Records that are sorted in memory at a time: these and what sorts them are in a processor's cache.
const CHUNK: usize = 16 << 10;
/// Bytes of records from which on a chunk takes no more: they are in a processor's cache while they are sorted.
const CHUNK_BYTES: usize = 1 << 20;
/// The same of one that has all that is wanted.
const WANTED_BYTES: usize = 16 << 20;
/// Half of the records among which it is worth it to look for those that are wanted.
const LEAST_CUT: usize = 32;
/// Records from which on they are sorted by the digits of how they start before they are compared.
const LEAST_BY_DIGITS: usize = 1 << 10;
/// Runs that are merged at a time.
const MERGED: usize = 128;
/// Runs among which a chunk is one of its own: more of them cost the last merge more than a merge in memory saves.
const OF_CHUNKS: usize = MERGED / 2;
/// Least bytes of a run that are read at a time.
const LEAST_READ: usize = 4 << 10;
/// Most: those of some tens of runs are in a processor's cache.
const MOST_READ: usize = 16 << 10;

/// Compares the bytes of records whose starts are the same.
pub(crate) trait Compare: Fn(&[u8], &[u8]) -> Ordering {}

impl<F: Fn(&[u8], &[u8]) -> Ordering> Compare for F {}

/// Takes records in any order.
pub(crate) struct Sorter {
    budget: Budget,
    /// Sorted, and the last one not yet.
    chunks: Vec<Chunk>,
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

/// Records in memory.
#[derive(Default)]
struct Chunk {
    entries: Vec<Entry>,
    /// The records, one after another in the order in which they came.
    bytes: Vec<u8>,
}

/// A record of a chunk.
#[derive(Clone, Copy)]
struct Entry {
    start: KeyStart,
    at: u32,
    len: u32,
}

impl Entry {
    /// Its record, of those of its chunk.
    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.at as usize..][..self.len as usize]
    }
}

impl Chunk {
    /// Adds a record, which `write` appends, and says what it takes in memory, bytes; `None` if it is more than a record
    /// may have.
    fn add(&mut self, start: KeyStart, write: impl FnOnce(&mut Vec<u8>)) -> Option<usize> {
        let at = self.bytes.len();
        write(&mut self.bytes);
        let len = self.bytes.len() - at;
        self.entries.push(Entry { start, at: u32::try_from(at).ok()?, len: u32::try_from(len).ok()? });
        Some(size_of::<Entry>() + len)
    }

    /// Takes the record out that was added last.
    fn split_off_last(&mut self) -> Chunk {
        let Some(last) = self.entries.pop() else { return Chunk::default() };
        Chunk { entries: vec![Entry { at: 0, ..last }], bytes: self.bytes.split_off(last.at as usize) }
    }

    /// Sorts the records; of those that compare as equal the first alone stays if they are to be `unique`.
    fn sort(&mut self, unique: bool, compare: &impl Compare) {
        let Chunk { entries, bytes } = self;
        let order = |a: &Entry, b: &Entry| a.start.cmp(&b.start).then_with(|| compare(a.of(bytes), b.of(bytes)));
        if entries.len() < LEAST_BY_DIGITS {
            entries.sort_by(order);
        } else {
            radsort::sort_by_key(entries, |entry| entry.start.first());
            let is_alike = |a: &Entry, b: &Entry| a.start.first() == b.start.first();
            entries.chunk_by_mut(is_alike).filter(|alike| alike.len() > 1).for_each(|alike| alike.sort_by(order));
        }
        if unique {
            entries.dedup_by(|entry, before| order(entry, before).is_eq());
        }
    }

    /// Has the bytes of the records alone, in the order of these, so that they are read one after another.
    fn compact(&mut self) {
        let mut bytes = Vec::with_capacity(self.entries.iter().map(|entry| entry.len as usize).sum());
        for entry in &mut self.entries {
            let at = bytes.len() as u32;
            bytes.extend_from_slice(entry.of(&self.bytes));
            entry.at = at;
        }
        self.bytes = bytes;
    }

    /// What it takes in memory, bytes.
    fn held_bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.bytes.len()
    }
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

    /// Whether one that is made of a chunk may be added.
    fn takes_chunks(&self) -> bool {
        self.ends.len() < OF_CHUNKS
    }

    /// Appends the records of a sorted chunk as a run.
    fn append_chunk(&mut self, chunk: &Chunk, with: &dyn Spilling) -> Result<(), SqlError> {
        for entry in &chunk.entries {
            self.file.append(with, |out| {
                entry.start.write(out);
                out.extend_from_slice(entry.of(&chunk.bytes));
            })?;
        }
        self.file.flush(with)?;
        self.ends.push(self.file.end());
        Ok(())
    }

    /// Appends all records of `merge` as a run.
    fn append(
        &mut self,
        mut merge: Merge,
        from: Option<&RecordFile>,
        compare: &impl Compare,
        with: &dyn Spilling,
    ) -> Result<(), SqlError> {
        while let Some((start, record)) = merge.next(from, compare, with)? {
            self.file.append(with, |out| {
                start.write(out);
                out.extend_from_slice(record);
            })?;
        }
        self.file.flush(with)?;
        self.ends.push(self.file.end());
        Ok(())
    }

    fn sources(&self, runs: std::ops::Range<usize>, block: usize) -> Vec<Source> {
        let reader = |run| self.file.reader(self.start(run), self.ends[run]).in_blocks_of(block);
        runs.map(|run| Source::File(reader(run))).collect()
    }
}

impl Sorter {
    /// No record yet. Of them so many bytes are in memory.
    pub(crate) fn new(budget: Budget) -> Sorter {
        Sorter { budget, chunks: Vec::new(), runs: None, is_table: false, wanted: None, unique: false, is_cut: false }
    }

    /// The same, of which only so many first records are asked for.
    pub(crate) fn of_first(wanted: u64, budget: Budget) -> Sorter {
        let wanted = usize::try_from(wanted).ok().filter(|wanted| (1..=CHUNK / 2).contains(wanted));
        Sorter { wanted, ..Sorter::new(budget) }
    }

    /// The same, of which the first is wanted of those that compare as equal.
    pub(crate) fn unique(self) -> Sorter {
        Sorter { unique: true, ..self }
    }

    /// The same, for what is no sort of the statement's own: where it needs a file, that counts as a table on disk.
    pub(crate) fn of_table(budget: Budget) -> Sorter {
        Sorter { is_table: true, ..Sorter::new(budget) }
    }

    /// Whether a record may be among those that are wanted, by what it begins with, which is all that `compare` looks at. One
    /// that is not need not be added.
    pub(crate) fn may_be_wanted(&self, start: KeyStart, record: &[u8], compare: &impl Compare) -> bool {
        let last = || {
            let wanted = self.wanted.filter(|_| self.is_cut)?;
            let chunk = self.chunks.first()?;
            Some((chunk, chunk.entries.get(wanted - 1)?))
        };
        last().is_none_or(|(chunk, last)| {
            start.cmp(&last.start).then_with(|| compare(record, last.of(&chunk.bytes))).is_lt()
        })
    }

    /// Adds a record, which `write` appends.
    pub(crate) fn push(
        &mut self,
        start: KeyStart,
        compare: &impl Compare,
        with: &dyn Spilling,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SqlError> {
        if self.chunks.last().is_none_or(|last| self.is_full(last)) {
            if let Some(full) = self.chunks.last_mut() {
                full.sort(self.unique, compare);
                if self.runs.as_ref().is_some_and(Runs::takes_chunks) {
                    self.spill(compare, with)?;
                } else {
                    full.compact();
                }
                with.check_killed()?;
            }
            self.chunks.push(Chunk::default());
        }
        let Some(chunk) = self.chunks.last_mut() else { return Ok(()) };
        let bytes = chunk.add(start, write).ok_or_else(|| with.temporary_files().damaged())?;
        if !self.budget.take(bytes, with)? {
            let last = chunk.split_off_last();
            self.spill(compare, with)?;
            self.budget.hold(bytes, with)?;
            self.chunks.push(last);
        }
        self.let_go(compare, with)
    }

    fn is_full(&self, chunk: &Chunk) -> bool {
        let most = if self.wanted.is_some() { WANTED_BYTES } else { CHUNK_BYTES };
        chunk.entries.len() >= CHUNK || chunk.bytes.len() >= most
    }

    /// Lets go what is not wanted, once there is much of it.
    fn let_go(&mut self, compare: &impl Compare, with: &dyn Spilling) -> Result<(), SqlError> {
        let [chunk] = &self.chunks[..] else { return Ok(()) };
        let has_much = match self.wanted {
            Some(wanted) => chunk.entries.len() >= 2 * wanted.max(LEAST_CUT),
            None => self.unique && self.is_full(chunk),
        };
        let Some(chunk) = self.chunks.first_mut().filter(|_| has_much) else { return Ok(()) };
        let before = chunk.entries.len();
        chunk.sort(self.unique, compare);
        if let Some(wanted) = self.wanted {
            self.is_cut = chunk.entries.len() >= wanted;
            chunk.entries.truncate(wanted);
        }
        chunk.compact();
        self.budget.give_back(with);
        self.budget.hold(chunk.held_bytes(), with)?;
        if self.wanted.is_none() && chunk.entries.len() > before / 2 {
            // Most of them are wanted: to look again soon would be for little.
            self.chunks.push(Chunk::default());
        }
        with.check_killed()
    }

    /// What is in memory becomes a run.
    fn spill(&mut self, compare: &impl Compare, with: &dyn Spilling) -> Result<(), SqlError> {
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
        if runs.takes_chunks() {
            chunks.iter().try_for_each(|chunk| runs.append_chunk(chunk, with))?;
        } else {
            let sources = chunks.into_iter().map(Source::of).collect();
            runs.append(Merge::new(sources, None, self.unique, compare, with)?, None, compare, with)?;
        }
        self.budget.give_back(with);
        Ok(())
    }

    fn take_chunks(&mut self, compare: &impl Compare) -> Vec<Chunk> {
        if let Some(last) = self.chunks.last_mut() {
            last.sort(self.unique, compare);
        }
        std::mem::take(&mut self.chunks)
    }

    /// Gives the records back in order.
    pub(crate) fn sorted(mut self, compare: &impl Compare, with: &dyn Spilling) -> Result<Sorted, SqlError> {
        let block = (self.budget.most() / MERGED).clamp(LEAST_READ, MOST_READ);
        let mut runs = self.runs.take();
        while let Some(many) = runs.as_mut().filter(|runs| runs.ends.len() > MERGED) {
            let mut merged = Runs::create(with)?;
            for from in (0..many.ends.len()).step_by(MERGED) {
                let sources = many.sources(from..(from + MERGED).min(many.ends.len()), block);
                with.temporary_files().count_merge_pass();
                let merge = Merge::new(sources, Some(&many.file), self.unique, compare, with)?;
                merged.append(merge, Some(&many.file), compare, with)?;
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
        sources.extend(self.take_chunks(compare).into_iter().map(Source::of));
        let file = runs.map(|runs| runs.file);
        let merge = Merge::new(sources, file.as_ref(), self.unique, compare, with)?;
        Ok(Sorted { file, merge, budget: self.budget })
    }
}

/// Records in order.
pub(crate) struct Sorted {
    file: Option<RecordFile>,
    merge: Merge,
    budget: Budget,
}

impl Sorted {
    /// The next record, under the same comparison.
    pub(crate) fn next(&mut self, compare: &impl Compare, with: &dyn Spilling) -> Result<Option<&[u8]>, SqlError> {
        let next = self.merge.next(self.file.as_ref(), compare, with)?;
        if next.is_none() {
            self.budget.give_back(with);
        }
        Ok(next.map(|(_, record)| record))
    }
}

enum Source {
    Memory {
        chunk: Chunk,
        /// Of its entries.
        next: usize,
    },
    File(RecordReader),
}

impl Source {
    /// All records of a sorted chunk.
    fn of(chunk: Chunk) -> Source {
        Source::Memory { chunk, next: 0 }
    }

    /// Goes to the next record, and says how it starts.
    fn next(&mut self, file: Option<&RecordFile>, with: &dyn Spilling) -> Result<Option<KeyStart>, SqlError> {
        match (self, file) {
            (Source::Memory { chunk, next }, _) => {
                *next += 1;
                Ok(chunk.entries.get(*next - 1).map(|entry| entry.start))
            }
            (Source::File(reader), Some(file)) => match reader.next(file, with)? {
                Some(mut bytes) => KeyStart::read(&mut bytes).ok_or_else(|| with.temporary_files().damaged()).map(Some),
                None => Ok(None),
            },
            (Source::File(_), None) => Err(SqlError::internal("a run without a file")),
        }
    }

    /// The bytes of the record to which [`Source::next`] went.
    fn record(&self) -> &[u8] {
        match self {
            Source::Memory { chunk, next } => {
                next.checked_sub(1).and_then(|at| chunk.entries.get(at)).map_or(&[], |entry| entry.of(&chunk.bytes))
            }
            Source::File(reader) => reader.last().get(KeyStart::BYTES..).unwrap_or_default(),
        }
    }
}

/// Sorted sources, earlier ones first among equals: a tree of those that lost, each where it met the one that went on.
struct Merge {
    sources: Vec<Source>,
    /// How the present record of each source starts, as a number; the greatest one where there is none.
    heads: Vec<u128>,
    /// Whether there is one.
    are_there: Vec<bool>,
    /// At each place but the first, where those of the places `2 * at` and `2 * at + 1` met; sources follow the places.
    losers: Vec<usize>,
    /// The source whose record is before those of all others.
    first: usize,
    /// Of records that compare as equal the first is given alone.
    unique: bool,
    /// That of the first source was given; where they are to be unique, a copy of it.
    is_given: bool,
    given: (KeyStart, Vec<u8>),
    steps: usize,
}

impl Merge {
    fn new(
        sources: Vec<Source>,
        file: Option<&RecordFile>,
        unique: bool,
        compare: &impl Compare,
        with: &dyn Spilling,
    ) -> Result<Merge, SqlError> {
        let count = sources.len();
        let (heads, are_there, losers) = (vec![u128::MAX; count], vec![false; count], vec![0; count]);
        let (first, is_given, given, steps) = Default::default();
        let mut merge = Merge { sources, heads, are_there, losers, first, unique, is_given, given, steps };
        (0..count).try_for_each(|source| merge.advance(source, file, with))?;
        let mut winners: Vec<usize> = (0..2 * count).map(|place| place.saturating_sub(count)).collect();
        for at in (1..count).rev() {
            let (left, right) = (winners[2 * at], winners[2 * at + 1]);
            let is_right = merge.is_before(right, left, compare);
            (winners[at], merge.losers[at]) = if is_right { (right, left) } else { (left, right) };
        }
        merge.first = winners.get(1).copied().unwrap_or_default();
        Ok(merge)
    }

    fn next(
        &mut self,
        file: Option<&RecordFile>,
        compare: &impl Compare,
        with: &dyn Spilling,
    ) -> Result<Option<(KeyStart, &[u8])>, SqlError> {
        loop {
            let is_first = !std::mem::replace(&mut self.is_given, true);
            if !is_first {
                self.leave_first(file, compare, with)?;
            }
            if !self.unique {
                break;
            }
            let Some(start) = self.head() else { break };
            let record = self.sources[self.first].record();
            if is_first || start != self.given.0 || compare(&self.given.1, record).is_ne() {
                self.given.0 = start;
                self.given.1.clear();
                self.given.1.extend_from_slice(record);
                break;
            }
        }
        Ok(self.head().map(|start| (start, self.sources[self.first].record())))
    }

    /// How the first of all present records starts.
    fn head(&self) -> Option<KeyStart> {
        self.are_there.get(self.first)?.then(|| KeyStart::of_number(self.heads[self.first]))
    }

    /// Goes on from the record of the first source.
    fn leave_first(
        &mut self,
        file: Option<&RecordFile>,
        compare: &impl Compare,
        with: &dyn Spilling,
    ) -> Result<(), SqlError> {
        self.steps += 1;
        if self.steps.is_multiple_of(256) {
            with.check_killed()?;
        }
        if self.sources.is_empty() {
            return Ok(());
        }
        self.advance(self.first, file, with)?;
        let mut winner = self.first;
        let mut at = (winner + self.sources.len()) / 2;
        while at > 0 {
            let other = self.losers[at];
            let is_other = self.is_before(other, winner, compare);
            // No branch: the processor could not foresee it.
            self.losers[at] = select_unpredictable(is_other, winner, other);
            winner = select_unpredictable(is_other, other, winner);
            at /= 2;
        }
        self.first = winner;
        Ok(())
    }

    /// Goes to the next record of a source.
    fn advance(&mut self, source: usize, file: Option<&RecordFile>, with: &dyn Spilling) -> Result<(), SqlError> {
        let start = self.sources[source].next(file, with)?;
        self.are_there[source] = start.is_some();
        self.heads[source] = start.map_or(u128::MAX, KeyStart::as_number);
        Ok(())
    }

    /// Whether the present record of one source comes before that of another.
    #[inline]
    fn is_before(&self, a: usize, b: usize, compare: &impl Compare) -> bool {
        let (start_a, start_b) = (self.heads[a], self.heads[b]);
        if start_a == start_b { self.is_alike_before(a, b, compare) } else { start_a < start_b }
    }

    /// The same of sources whose heads are alike.
    #[inline(never)]
    fn is_alike_before(&self, a: usize, b: usize, compare: &impl Compare) -> bool {
        match (self.are_there[a], self.are_there[b]) {
            (true, true) => compare(self.sources[a].record(), self.sources[b].record()).then(a.cmp(&b)).is_lt(),
            (is_there, _) => is_there,
        }
    }
}
