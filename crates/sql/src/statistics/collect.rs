//! Looks at the keys of a table.
//!
//! A range of at most [`EXACT`] entries is read whole. Of a larger one, [`BLOCKS`] runs of entries are read that begin at
//! even distances between the first key and the last, as if their bytes were a number: a run shows how often the first
//! columns change from entry to entry. That misses columns of few values, so those are counted by jumping from one value
//! to the next, as long as they are at most [`JUMPS`]. What one index costs is so bounded. A table whose number of rows is
//! not known is read whole, once.

use cohort_engine::{Direction, EngineId, KeyRange, ReadError};
use cohort_txn::{Read, Store, Transaction};

use super::{Collected, IndexStatistics};
use crate::catalog::table::{Table, prefix_range};
use crate::codec::{KeyPart, key};

/// Most entries of a range that is read whole.
const EXACT: u64 = 10_000;
/// Runs of a range that is not.
const BLOCKS: u64 = 64;
/// Entries of a run.
const BLOCK_ENTRIES: u64 = 100;
/// Most values of the first columns that are counted one by one.
const JUMPS: u64 = 200;
/// How often it is asked whether to go on, entries.
const ASK_EVERY: u64 = 256;

/// Why nothing was collected.
pub(crate) enum CollectError {
    Read(ReadError),
    /// It was asked to stop.
    Stopped,
}

impl From<ReadError> for CollectError {
    fn from(error: ReadError) -> CollectError {
        CollectError::Read(error)
    }
}

/// Collects the statistics of a table, whose rows are known or are to be counted. `goes_on` is asked now and then.
pub(crate) fn collect(
    table: &Table,
    store: &std::sync::Arc<Store>,
    rows: Option<u64>,
    at: u64,
    goes_on: &dyn Fn() -> bool,
) -> Result<Collected, CollectError> {
    let look = |range: KeyRange, parts: &[KeyPart], entries: Option<u64>| {
        // Each index has a transaction of its own, so that none holds an old view for long.
        let transaction = store.begin();
        Looker { transaction, engine: table.engine, parts, goes_on, asked: 0 }.look(&range, entries)
    };
    let row_parts = table.primary.map_or(&[][..], |primary| &table.indexes[primary].parts);
    let of_rows = look(prefix_range(&table.row_prefix()), row_parts, rows)?;
    let rows = of_rows.entries;
    let mut collected = Collected { rows: Some(rows), row_bytes: of_rows.entry_bytes, at, ..Collected::default() };
    for (place, index) in table.indexes.iter().enumerate() {
        let statistics = if table.primary == Some(place) {
            IndexStatistics { distinct: of_rows.distinct.clone(), entry_bytes: of_rows.entry_bytes }
        } else {
            let seen = look(prefix_range(&index.prefix()), &index.parts, Some(rows))?;
            IndexStatistics { distinct: seen.distinct, entry_bytes: seen.entry_bytes }
        };
        collected.indexes.insert(index.id, statistics);
    }
    Ok(collected)
}

/// What a range has.
#[derive(Debug, Default, PartialEq)]
struct SeenRange {
    entries: u64,
    distinct: Vec<u64>,
    entry_bytes: f64,
}

struct Looker<'l> {
    transaction: Transaction,
    engine: EngineId,
    parts: &'l [KeyPart],
    goes_on: &'l dyn Fn() -> bool,
    asked: u64,
}

/// What runs of entries have shown.
#[derive(Default)]
struct Shown {
    entries: u64,
    bytes: u64,
    /// Pairs of neighbours that were compared, and in how many each number of first columns differed.
    pairs: u64,
    changes: Vec<u64>,
    last: Vec<u8>,
}

impl Shown {
    fn take(&mut self, parts: &[KeyPart], key: &[u8], value_len: usize, follows: bool) {
        self.entries += 1;
        self.bytes += (key.len() + value_len) as u64;
        self.changes.resize(parts.len(), 0);
        if follows {
            self.pairs += 1;
            let same = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
            for (changes, end) in self.changes.iter_mut().zip(ends(parts, key)) {
                *changes += u64::from(same < end);
            }
        }
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    fn entry_bytes(&self) -> f64 {
        self.bytes as f64 / self.entries.max(1) as f64
    }
}

/// Where the columns of a key end; a damaged one is left to who reads it.
fn ends<'k>(parts: &'k [KeyPart], key: &'k [u8]) -> impl Iterator<Item = usize> + 'k {
    let mut at = 4;
    parts.iter().map_while(move |part| {
        at += key::part_len(part, key.get(at..)?).ok()?;
        Some(at)
    })
}

impl Looker<'_> {
    fn look(&mut self, range: &KeyRange, entries: Option<u64>) -> Result<SeenRange, CollectError> {
        match entries {
            Some(entries) if entries > EXACT => self.sample(range, entries),
            _ => self.read_all(range),
        }
    }

    fn ask(&mut self) -> Result<(), CollectError> {
        self.asked += 1;
        match !self.asked.is_multiple_of(ASK_EVERY) || (self.goes_on)() {
            true => Ok(()),
            false => Err(CollectError::Stopped),
        }
    }

    fn read_all(&mut self, range: &KeyRange) -> Result<SeenRange, CollectError> {
        let mut shown = Shown::default();
        self.run(range, u64::MAX, &mut shown)?;
        let distinct = shown.changes.iter().map(|changes| changes + 1).collect();
        Ok(SeenRange { entries: shown.entries, distinct, entry_bytes: shown.entry_bytes() })
    }

    /// Reads at most so many entries from the beginning of a range.
    fn run(&mut self, range: &KeyRange, most: u64, shown: &mut Shown) -> Result<(), CollectError> {
        let mut scan = self.transaction.scan(self.engine, Read::Snapshot, range, Direction::Forward)?;
        let mut read = 0;
        while read < most
            && let Some(entry) = scan.next()?
        {
            shown.take(self.parts, entry.key, entry.value.len(), read > 0);
            read += 1;
            self.ask()?;
        }
        Ok(())
    }

    fn sample(&mut self, range: &KeyRange, entries: u64) -> Result<SeenRange, CollectError> {
        let first = self.first_key(range)?;
        let last = self.transaction.last_key(self.engine, range)?;
        let (Some(first), Some(last)) = (first, last) else { return Ok(SeenRange::default()) };
        let mut shown = Shown::default();
        let starts = between(&first, &last, BLOCKS);
        for (at, start) in starts.iter().enumerate() {
            let upper = starts.get(at + 1).unwrap_or(&range.upper).clone();
            if *start < upper {
                self.run(&KeyRange { lower: start.clone(), upper }, BLOCK_ENTRIES, &mut shown)?;
            }
        }
        // One whole run makes one pair less than it has entries.
        if shown.pairs < BLOCK_ENTRIES - 1 {
            // The keys lie so that the runs have missed them.
            return self.read_all(range);
        }
        let mut distinct: Vec<u64> = Vec::with_capacity(self.parts.len());
        for (columns, changes) in (1..).zip(&shown.changes) {
            let guess = 1.0 + *changes as f64 / shown.pairs as f64 * (entries - 1) as f64;
            let least = distinct.last().copied().unwrap_or(1);
            let few = if least < JUMPS { self.jump(range, columns)? } else { None };
            let guess = if few.is_none() { (guess as u64).max(JUMPS) } else { 0 };
            distinct.push(few.unwrap_or(guess).clamp(least, entries.max(least)));
        }
        Ok(SeenRange { entries, distinct, entry_bytes: shown.entry_bytes() })
    }

    fn first_key(&mut self, range: &KeyRange) -> Result<Option<Vec<u8>>, CollectError> {
        let mut scan = self.transaction.scan(self.engine, Read::Snapshot, range, Direction::Forward)?;
        Ok(scan.next()?.map(|entry| entry.key.to_vec()))
    }

    /// Counts the values of the first columns, if they are few.
    fn jump(&mut self, range: &KeyRange, columns: usize) -> Result<Option<u64>, CollectError> {
        let mut from = range.lower.clone();
        for count in 0..JUMPS {
            let rest = KeyRange { lower: from, upper: range.upper.clone() };
            if rest.lower >= rest.upper {
                return Ok(Some(count));
            }
            let Some(mut found) = self.first_key(&rest)? else { return Ok(Some(count)) };
            let Some(end) = ends(self.parts, &found).nth(columns - 1) else { return Ok(None) };
            found.truncate(end);
            if !key::successor(&mut found) {
                return Ok(Some(count + 1));
            }
            from = found;
            self.ask()?;
        }
        Ok(None)
    }
}

/// Keys at even distances, the first one first.
pub(super) fn between(first: &[u8], last: &[u8], count: u64) -> Vec<Vec<u8>> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = &key[common..];
        let len = rest.len().min(8);
        bytes[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(first), number(last));
    let step = high.saturating_sub(low) / count;
    let at = |place: u64| match place {
        0 => first.to_vec(),
        place => [&first[..common], &(low + step * place).to_be_bytes()].concat(),
    };
    let mut keys: Vec<Vec<u8>> = (0..count).map(at).collect();
    keys.dedup();
    keys
}
