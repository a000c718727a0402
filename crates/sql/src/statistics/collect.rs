//! Looks at the keys of a table.
//!
//! A range of at most [`EXACT`] entries is read whole. Of a larger one, [`BLOCKS`] runs of entries are read that begin at
//! even distances between the first key and the last, as if their bytes were a number: a run shows how often the first
//! columns change from entry to entry. Where they have at most [`JUMPS`] values, these are counted by jumping from one to the
//! next. Between the two lie columns whose values have more entries than a run. Their values are counted by their keys: by
//! how far it is from one to the next at the places where runs begin, and from the first to the last, among entries that are
//! alike in the columns before. What one index costs is so bounded. A table whose number of rows is not known is read whole,
//! once.
//!
//! Values of columns that no index begins with are counted in a table of at most [`FIELDS`] values, and else in a
//! [sample](super::sample) of its rows.

use std::collections::BTreeMap;

use cohort_engine::{Direction, EngineId, KeyRange, ReadError};
use cohort_txn::{Read, Store, Transaction};

use super::sample::{Effort, brief};
use super::{Collected, IndexStatistics, places};
use crate::catalog::table::{Table, prefix_range};
use crate::codec::{KeyPart, key};
use crate::types::Kind;

/// Most entries of a range that is read whole.
const EXACT: u64 = 10_000;
/// Runs of a range that is not.
const BLOCKS: u64 = 64;
/// Entries of a run.
const BLOCK_ENTRIES: u64 = 100;
/// Most values of the first columns that are counted one by one.
const JUMPS: u64 = 200;
/// Places at which it is asked what share of a large range comes before, and bytes of their keys.
const SPREAD: u64 = 32;
const SPREAD_KEY_BYTES: usize = 16;
/// Most values of a table that is read whole for those of its columns, rows times columns.
const FIELDS: u64 = 20_000;
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
            of_rows.statistics()
        } else {
            look(prefix_range(&index.prefix()), &index.parts, Some(rows))?.statistics()
        };
        collected.indexes.insert(index.id, statistics);
    }
    collected.columns = columns(table, store, rows, collected.row_bytes);
    Ok(collected)
}

/// How many values each column has that no index begins with; those without keys are left out.
fn columns(table: &Table, store: &std::sync::Arc<Store>, rows: u64, row_bytes: f64) -> BTreeMap<String, u64> {
    let columns = &table.def.columns;
    let is_led = |column| table.indexes.iter().any(|index| index.columns.first() == Some(&column));
    let counted = |at: &usize| !is_led(*at) && columns[*at].column_type.kind() != Kind::Json;
    let counted: Vec<usize> = (0..columns.len()).filter(counted).collect();
    let effort = Effort::brief(FIELDS / columns.len() as u64, row_bytes);
    // What is damaged is left to who reads it.
    let samples = brief(table, &counted, rows, &effort, &mut store.begin()).unwrap_or_default();
    counted.iter().zip(samples).map(|(at, sample)| (columns[*at].name.clone(), sample.distinct())).collect()
}

/// What a range has.
#[derive(Debug, Default, PartialEq)]
struct SeenRange {
    entries: u64,
    distinct: Vec<u64>,
    entry_bytes: f64,
    spread: Vec<(Vec<u8>, f64)>,
}

impl SeenRange {
    fn statistics(&self) -> IndexStatistics {
        let SeenRange { distinct, entry_bytes, spread, .. } = self;
        IndexStatistics { distinct: distinct.clone(), entry_bytes: *entry_bytes, spread: spread.clone() }
    }
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
    /// At how many places runs were to begin.
    starts: usize,
    entries: u64,
    bytes: u64,
    /// Pairs of neighbours that were compared, and in how many each number of first columns differed.
    pairs: u64,
    changes: Vec<u64>,
    /// The first entry of each run, and in how many it was the first one with its values in each number of first columns.
    begins: Vec<Vec<u8>>,
    begun: Vec<u64>,
    last: Vec<u8>,
}

impl Shown {
    /// How many values so many entries have in the first columns. A run that begins where a value does has seen half a change
    /// more than one that begins anywhere.
    fn values(&self, columns: usize, entries: u64) -> f64 {
        let half = self.begun[columns - 1] as f64 / 2.0;
        let share = (self.changes[columns - 1] as f64 + half) / (self.pairs as f64 + half);
        1.0 + share * (entries - 1) as f64
    }

    /// As many values as so many entries have at most if each run has missed less than one.
    fn most(&self, columns: usize, entries: u64) -> u64 {
        let runs = self.begins.len() as u64;
        let share = (self.changes[columns - 1] + runs) as f64 / (self.pairs + runs) as f64;
        (entries as f64 * share) as u64
    }

    /// Takes an entry of a run that looks from this key on.
    fn take(&mut self, parts: &[KeyPart], from: &[u8], key: &[u8], value_len: usize, follows: bool) {
        self.entries += 1;
        self.bytes += (key.len() + value_len) as u64;
        self.changes.resize(parts.len(), 0);
        self.begun.resize(parts.len(), 0);
        let (counts, before) = match follows {
            true => (&mut self.changes, &self.last[..]),
            false => (&mut self.begun, from),
        };
        let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
        for (count, end) in counts.iter_mut().zip(ends(parts, key)) {
            *count += u64::from(same < end);
        }
        match follows {
            true => self.pairs += 1,
            false => self.begins.push(key.to_vec()),
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
        Ok(SeenRange { entries: shown.entries, distinct, entry_bytes: shown.entry_bytes(), spread: Vec::new() })
    }

    /// Reads at most so many entries from the beginning of a range.
    fn run(&mut self, range: &KeyRange, most: u64, shown: &mut Shown) -> Result<(), CollectError> {
        let mut scan = self.transaction.scan(self.engine, Read::Snapshot, range, Direction::Forward)?;
        let mut read = 0;
        while read < most
            && let Some(entry) = scan.next()?
        {
            shown.take(self.parts, &range.lower, entry.key, entry.value.len(), read > 0);
            read += 1;
            self.ask()?;
        }
        Ok(())
    }

    fn sample(&mut self, range: &KeyRange, entries: u64) -> Result<SeenRange, CollectError> {
        let first = self.first_key(range)?;
        let last = self.transaction.last_key(self.engine, range)?;
        let (Some(first), Some(last)) = (first, last) else { return Ok(SeenRange::default()) };
        let starts = between(&first, &last, BLOCKS);
        let mut shown = Shown { starts: starts.len(), ..Shown::default() };
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
        for columns in 1..=shown.changes.len() {
            let least = distinct.last().copied().unwrap_or(1);
            let few = if least < JUMPS { self.jump(range, columns)? } else { None };
            let many = match few {
                Some(few) => few,
                None => self.values(range, columns, least, &shown, entries)?.max(JUMPS),
            };
            distinct.push(many.clamp(least, entries.max(least)));
        }
        let spread = self.spread(range, &first, &last)?;
        Ok(SeenRange { entries, distinct, entry_bytes: shown.entry_bytes(), spread })
    }

    /// How many values the first columns have, where those before the last of them have `before`.
    fn values(
        &mut self,
        range: &KeyRange,
        columns: usize,
        before: u64,
        shown: &Shown,
        entries: u64,
    ) -> Result<u64, CollectError> {
        let by_changes = shown.values(columns, entries);
        if shown.changes[columns - 1] >= shown.begins.len() as u64 {
            return Ok(by_changes as u64);
        }
        let by_keys = self.values_by_keys(range, columns, shown)?.map(|each| each * before as f64);
        Ok((by_keys.unwrap_or(by_changes) as u64).min(shown.most(columns, entries)))
    }

    /// How many values a column has on average among entries that are alike in the columns before it, by how far it is from
    /// one to the next where runs begin, and from the first to the last; `None` if the beginnings of keys do not tell.
    fn values_by_keys(&mut self, range: &KeyRange, columns: usize, shown: &Shown) -> Result<Option<f64>, CollectError> {
        let parts = self.parts;
        let value = |key: &[u8]| Some(key[..ends(parts, key).nth(columns - 1)?].to_vec());
        let (mut groups, mut several, mut ways, mut steps) = (0, 0, 0.0, 0.0);
        let mut last_seen = Vec::new();
        for begin in &shown.begins {
            let Some(here) = value(begin).filter(|here| *here != last_seen) else { continue };
            let alike = match columns {
                1 => range.clone(),
                columns => {
                    let Some(end) = ends(parts, begin).nth(columns - 2) else { continue };
                    prefix_range(&begin[..end])
                }
            };
            let (first, last) = (self.first_key(&alike)?, self.transaction.last_key(self.engine, &alike)?);
            let both = first.as_deref().and_then(value).zip(last.as_deref().and_then(value));
            let Some((first, last)) = both else { continue };
            groups += 1;
            let from = if here < last { &here } else { &first };
            if let Some(next) = self.next_value(from, &alike)?.as_deref().and_then(value) {
                let way = |from: &[u8], to: &[u8]| places(&first, to, &last).1 - places(&first, from, &last).1;
                several += 1;
                ways += way(&first, &last) as f64;
                steps += way(from, &next) as f64;
            }
            last_seen = here;
        }
        // Where no run has begun with a value of its own, there is none.
        let filled = if columns == 1 { groups as f64 / shown.starts as f64 } else { 1.0 };
        let share = several as f64 / f64::from(groups.max(1));
        Ok((several == 0 || steps > 0.0).then(|| 1.0 + share * filled * ways / steps.max(1.0)))
    }

    /// The first key behind all that begin with a value.
    fn next_value(&mut self, value: &[u8], within: &KeyRange) -> Result<Option<Vec<u8>>, CollectError> {
        self.ask()?;
        let mut lower = value.to_vec();
        if !key::successor(&mut lower) || lower >= within.upper {
            return Ok(None);
        }
        self.first_key(&KeyRange { lower, upper: within.upper.clone() })
    }

    /// What share of the entries comes before keys at even distances; nothing if the engine does not know.
    fn spread(&mut self, range: &KeyRange, first: &[u8], last: &[u8]) -> Result<Vec<(Vec<u8>, f64)>, CollectError> {
        let mut spread = Vec::new();
        for key in between(first, last, SPREAD) {
            let before = KeyRange { lower: range.lower.clone(), upper: key.clone() };
            let Some(share) = self.transaction.share(self.engine, &before, range)? else { return Ok(Vec::new()) };
            // Estimates of two ranges need not fit.
            let least = spread.last().map_or(0.0, |(_, share): &(Vec<u8>, f64)| *share);
            spread.push((key, share.clamp(least, 1.0)));
        }
        spread.push((last.to_vec(), 1.0));
        spread.iter_mut().for_each(|(key, _)| key.truncate(SPREAD_KEY_BYTES));
        Ok(spread)
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
    let (low, _, high) = places(first, first, last);
    let step = high.saturating_sub(low) / count;
    let at = |place: u64| match place {
        0 => first.to_vec(),
        place => [&first[..common], &(low + step * place).to_be_bytes()].concat(),
    };
    let mut keys: Vec<Vec<u8>> = (0..count).map(at).collect();
    keys.dedup();
    keys
}
