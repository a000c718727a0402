//! What is known of a table's data: how many rows it has, how long they are, how many different keys its indexes have.
//!
//! Contract
//! 1. Statistics are estimates. Plans, EXPLAIN and what is shown may rest on them, answers never do.
//! 2. A session counts the rows that its transaction changes ([`crate::session::row_counts`]), and adds them to the table's
//!    counters once, when it hands the transaction out to be committed. So the number of rows is exact from CREATE TABLE on,
//!    but for a commit that failed, what was lost in a crash since it was kept, and what XA had prepared before a restart.
//! 3. [`collect`] looks at the keys: at all of a small table, at a sample of others, so that its cost has a bound. It runs
//!    when a tenth of the rows has changed, in the background ([`crate::database`]), and by ANALYZE TABLE.
//! 4. [`TableStatistics::version`] rises when plans should be made anew: when something has become twice or half of what
//!    it was, not with each change.
//! 5. [`stored`] is a copy that survives a restart. It may be old, missing or damaged: then the table is looked at again.
//! 6. A [`histogram`] is there because somebody asked for it, and stays as it is until somebody does again. Those of a copy
//!    that is lost are lost.

pub(crate) mod collect;
pub(crate) mod histogram;
pub(crate) mod sample;
pub(crate) mod stored;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

use crate::catalog::definition::ColumnDef;
use histogram::{Histogram, Histograms};

/// Rows of a table that nobody has looked at yet.
pub(crate) const UNKNOWN_ROWS: f64 = 1000.0;
/// The least number of rows that a plan is made for: a table may grow after it was made.
const FEWEST_PLANNED: f64 = 100.0;
/// How long a table that has not doubled is left alone after it was looked at, seconds.
const REST_SECONDS: u64 = 10;

/// What was seen when a table was looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Collected {
    /// Rows; `None` if nobody has looked yet.
    pub(crate) rows: Option<u64>,
    /// Mean length of a row with its key, bytes.
    pub(crate) row_bytes: f64,
    /// Indexes by their ids.
    pub(crate) indexes: BTreeMap<u32, IndexStatistics>,
    /// Of a small table, how many values columns have by which no index begins.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) columns: BTreeMap<String, u64>,
    /// Seconds since 1970.
    pub(crate) at: u64,
}

/// An index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexStatistics {
    /// How many different values the first column has, the first two together, and so on.
    pub(crate) distinct: Vec<u64>,
    /// Mean length of an entry, bytes.
    pub(crate) entry_bytes: f64,
    /// Of a large index, keys in rising order, and what share of the entries comes before each; short beginnings of keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) spread: Vec<(Vec<u8>, f64)>,
}

impl IndexStatistics {
    /// What share of the entries comes before a key, if that is known.
    fn share_before(&self, key: &[u8]) -> Option<f64> {
        let (first, last) = (self.spread.first()?, self.spread.last()?);
        let after = self.spread.partition_point(|(known, _)| known[..] <= *key);
        let (below, above) = match after {
            0 => return Some(first.1),
            after => (&self.spread[after - 1], self.spread.get(after)),
        };
        let Some(above) = above else { return Some(last.1) };
        let (low, at, high) = places(&below.0, key, &above.0);
        let way = if high > low { (at.saturating_sub(low)) as f64 / (high - low) as f64 } else { 0.0 };
        Some(below.1 + (above.1 - below.1) * way.min(1.0))
    }
}

/// Keys as numbers, by the bytes after those that the first and the last one have in common.
fn places(first: &[u8], key: &[u8], last: &[u8]) -> (u64, u64, u64) {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = key.get(common..).unwrap_or_default();
        let len = rest.len().min(8);
        bytes[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(bytes)
    };
    (number(first), number(key), number(last))
}

/// The statistics of a table; they stay with it when its definition changes.
#[derive(Debug)]
pub(crate) struct TableStatistics {
    counted: Counted,
    seen: ArcSwap<Seen>,
    /// What the present version stands for.
    planned: ArcSwap<Collected>,
    histograms: ArcSwap<Histograms>,
    /// Histograms have changed since they were last kept.
    unkept: AtomicBool,
    version: AtomicU64,
}

/// Changes that statements counted since the server started.
#[derive(Debug, Default)]
struct Counted {
    inserted: AtomicU64,
    deleted: AtomicU64,
    moved: AtomicU64,
}

/// How many rows were changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowChanges {
    pub(crate) inserted: u64,
    pub(crate) deleted: u64,
    /// Rows whose keys have changed.
    pub(crate) moved: u64,
}

impl RowChanges {
    pub(crate) fn add(&mut self, other: RowChanges) {
        self.inserted += other.inserted;
        self.deleted += other.deleted;
        self.moved += other.moved;
    }
}

impl Counted {
    fn now(&self) -> RowChanges {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RowChanges { inserted: read(&self.inserted), deleted: read(&self.deleted), moved: read(&self.moved) }
    }
}

/// What was collected, and the counts at that time.
#[derive(Debug)]
struct Seen {
    collected: Collected,
    counts: RowChanges,
}

impl TableStatistics {
    /// Of a new table, which is empty.
    pub(crate) fn empty() -> TableStatistics {
        TableStatistics::of(Collected { rows: Some(0), ..Collected::default() })
    }

    /// Of a table that was there before the server started.
    pub(crate) fn unknown() -> TableStatistics {
        TableStatistics::of(Collected::default())
    }

    fn of(collected: Collected) -> TableStatistics {
        TableStatistics {
            counted: Counted::default(),
            planned: ArcSwap::from_pointee(collected.clone()),
            seen: ArcSwap::from_pointee(Seen { collected, counts: RowChanges::default() }),
            histograms: ArcSwap::default(),
            unkept: AtomicBool::new(false),
            version: AtomicU64::new(0),
        }
    }

    /// Of the same table when all its rows are gone: histograms stay.
    pub(crate) fn emptied(&self) -> TableStatistics {
        let empty = TableStatistics::empty();
        empty.histograms.store(self.histograms.load_full());
        empty.unkept.store(self.unkept.load(Ordering::Relaxed), Ordering::Relaxed);
        empty
    }

    /// RowChanges what a transaction has changed.
    pub(crate) fn add(&self, changed: RowChanges) {
        let add = |counter: &AtomicU64, count: u64| {
            if count > 0 {
                counter.fetch_add(count, Ordering::Relaxed);
            }
        };
        add(&self.counted.inserted, changed.inserted);
        add(&self.counted.deleted, changed.deleted);
        add(&self.counted.moved, changed.moved);
    }

    /// Plans that were made under another version are to be made anew.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// What is known now; `None` if nobody has looked at the table yet.
    pub(crate) fn rows(&self) -> Option<u64> {
        let seen = self.seen.load();
        let counts = self.counted.now();
        let added = counts.inserted.wrapping_sub(seen.counts.inserted);
        let gone = counts.deleted.wrapping_sub(seen.counts.deleted);
        Some(seen.collected.rows?.saturating_add(added).saturating_sub(gone))
    }

    /// What was last collected, with the rows that there are now.
    pub(crate) fn now(&self) -> Collected {
        Collected { rows: self.rows(), ..self.seen.load().collected.clone() }
    }

    /// Whether it is time to look at the table again.
    pub(crate) fn is_due(&self, now_s: u64) -> bool {
        let seen = self.seen.load();
        let Some(rows) = seen.collected.rows else { return true };
        let (counts, then) = (self.counted.now(), seen.counts);
        let changed = counts.inserted.wrapping_sub(then.inserted)
            + counts.deleted.wrapping_sub(then.deleted)
            + counts.moved.wrapping_sub(then.moved);
        let rested = now_s.saturating_sub(seen.collected.at) >= REST_SECONDS;
        let grown =
            counts.inserted.wrapping_sub(then.inserted).saturating_sub(counts.deleted.wrapping_sub(then.deleted));
        grown > rows.max(16) || (rested && changed > rows / 10)
    }

    /// Takes what `look` collects. Changes that are counted while it looks count from then on as new.
    pub(crate) fn collect<E>(&self, look: impl FnOnce() -> Result<Collected, E>) -> Result<(), E> {
        let counts = self.counted.now();
        let collected = look()?;
        let old = self.planned.load();
        if old.differs_much(&collected) {
            self.planned.store(Arc::new(collected.clone()));
            self.seen.store(Arc::new(Seen { collected, counts }));
            // After what it stands for: a plan that is made meanwhile has the old version and is made again.
            self.version.fetch_add(1, Ordering::Release);
        } else {
            self.seen.store(Arc::new(Seen { collected, counts }));
        }
        Ok(())
    }

    /// Takes what was kept before the server started.
    pub(crate) fn restore(&self, collected: Collected) {
        self.planned.store(Arc::new(collected.clone()));
        self.seen.store(Arc::new(Seen { collected, counts: RowChanges::default() }));
    }

    /// The same of histograms.
    pub(crate) fn restore_histograms(&self, histograms: Histograms) {
        self.histograms.store(Arc::new(histograms));
    }

    pub(crate) fn histograms(&self) -> Arc<Histograms> {
        self.histograms.load_full()
    }

    /// Changes histograms, beside others who do. The change, which may be made several times, says whether there is any;
    /// then plans are made anew.
    pub(crate) fn change_histograms(&self, change: impl Fn(&mut Histograms) -> bool) -> bool {
        let mut changed = false;
        self.histograms.rcu(|old| {
            let mut new = Histograms::clone(old);
            changed = change(&mut new);
            new
        });
        if changed {
            self.unkept.store(true, Ordering::Relaxed);
            self.version.fetch_add(1, Ordering::Release);
        }
        changed
    }

    /// Whether histograms have changed since they were last kept.
    pub(crate) fn has_unkept(&self) -> bool {
        self.unkept.load(Ordering::Relaxed)
    }

    /// The histograms, which are kept from now on.
    pub(crate) fn histograms_to_keep(&self) -> Arc<Histograms> {
        // Before they are read: a change that comes meanwhile is kept the next time.
        self.unkept.store(false, Ordering::SeqCst);
        self.histograms()
    }

    /// What plans count with: no table is very small, since a plan outlives what it was made for.
    pub(crate) fn figures(&self) -> Figures {
        let present = self.rows().map_or(UNKNOWN_ROWS, |rows| rows as f64);
        let rows = present.max(FEWEST_PLANNED);
        // An empty table is about to be filled.
        let present = if present > 0.0 { present } else { rows };
        let seen = Some(self.seen.load_full());
        Figures { rows, present, seen, histograms: Some(self.histograms()), planned: true }
    }

    /// What EXPLAIN shows.
    pub(crate) fn exact_figures(&self) -> Figures {
        let rows = self.rows().map_or(UNKNOWN_ROWS, |rows| rows as f64);
        let seen = Some(self.seen.load_full());
        Figures { rows, present: rows, seen, histograms: Some(self.histograms()), planned: false }
    }
}

impl Collected {
    /// Whether plans for one may be bad for the other.
    fn differs_much(&self, other: &Collected) -> bool {
        let far = |a: f64, b: f64| {
            let (a, b) = (a.max(1.0), b.max(1.0));
            a >= 2.0 * b || b >= 2.0 * a
        };
        let rows = |of: &Collected| of.rows.map_or(UNKNOWN_ROWS, |rows| rows as f64).max(FEWEST_PLANNED);
        if far(rows(self), rows(other)) {
            return true;
        }
        if rows(other) <= FEWEST_PLANNED {
            return false;
        }
        other.indexes.iter().any(|(id, index)| {
            let Some(known) = self.indexes.get(id) else { return true };
            let per_key = |of: &Collected, distinct: u64| rows(of) / distinct.max(1) as f64;
            known.distinct.iter().zip(&index.distinct).any(|(a, b)| far(per_key(self, *a), per_key(other, *b)))
        })
    }

    /// How many rows there are for each value of the first columns of an index, if that is known.
    fn rows_per_key(&self, index: u32, columns: usize) -> Option<f64> {
        let distinct = self.indexes.get(&index)?.distinct.get(columns.checked_sub(1)?)?;
        let rows = self.rows.filter(|rows| *rows > 0)?;
        Some(rows as f64 / (*distinct).max(1) as f64)
    }

    /// How many different values the first columns of an index have: what SHOW INDEX calls cardinality.
    pub(crate) fn cardinality(&self, index: u32, columns: usize) -> Option<u64> {
        let distinct = self.indexes.get(&index).and_then(|index| index.distinct.get(columns.checked_sub(1)?).copied());
        match distinct {
            Some(distinct) => Some(distinct.min(self.rows?)),
            // Of a table that has not been looked at since it was empty.
            None => self.rows.filter(|rows| *rows == 0),
        }
    }
}

/// How large a table is thought to be.
pub(crate) struct Sizes {
    pub(crate) rows: u64,
    /// Bytes.
    pub(crate) row_length: u64,
    pub(crate) data: u64,
    pub(crate) indexes: u64,
}

impl Collected {
    /// The sizes of a table whose rows are in the index `rows_in`; `None` if nobody has looked at it yet.
    pub(crate) fn sizes(&self, rows_in: u32) -> Option<Sizes> {
        let rows = self.rows?;
        let bytes = |each: f64| (rows as f64 * each) as u64;
        let secondary = self.indexes.iter().filter(|(id, _)| **id != rows_in);
        let indexes = secondary.map(|(_, index)| bytes(index.entry_bytes)).sum();
        Some(Sizes { rows, row_length: self.row_bytes as u64, data: bytes(self.row_bytes), indexes })
    }
}

/// What is counted with of a table.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) rows: f64,
    /// The rows that there are, also of a very small table: for how many rows a join gives, which is wrong in the same way when
    /// the table grows, while what a path costs would be wrong in another.
    pub(crate) present: f64,
    seen: Option<Arc<Seen>>,
    histograms: Option<Arc<Histograms>>,
    /// Of a plan, which outlives what it is made for.
    planned: bool,
}

impl Figures {
    /// Of so many rows that are not stored.
    pub(crate) fn of_rows(rows: f64) -> Figures {
        Figures { rows, present: rows, seen: None, histograms: None, planned: false }
    }

    fn known(&self) -> Option<&Collected> {
        self.seen.as_ref().map(|seen| &seen.collected)
    }

    /// How many rows have the same values in the first columns of an index that is not unique over these.
    pub(crate) fn rows_per_key(&self, index: u32, columns: usize) -> f64 {
        let known = self.known().and_then(|known| known.rows_per_key(index, columns));
        // As a guess, a column has a hundred values, and another one triples that.
        let guess = || self.rows * 0.01 * 0.3_f64.powi(i32::try_from(columns).unwrap_or(1) - 1);
        let fewest = if self.planned { 1.0 } else { 0.0 };
        known.unwrap_or_else(guess).min(self.rows).max(fewest)
    }

    /// How many different values the column has that an index begins with, if that is known.
    pub(crate) fn distinct(&self, index: u32) -> Option<f64> {
        let distinct = self.known()?.indexes.get(&index)?.distinct.first()?;
        Some((*distinct).max(1) as f64)
    }

    /// What share of an index's entries comes before a key, if that is known.
    pub(crate) fn share_before(&self, index: u32, key: &[u8]) -> Option<f64> {
        self.known()?.indexes.get(&index)?.share_before(key)
    }

    /// How many different values a column has by which no index begins, if that is known.
    pub(crate) fn distinct_of_column(&self, column: &ColumnDef) -> Option<f64> {
        Some((*self.known()?.columns.get(&column.name)?).max(1) as f64)
    }

    /// The histogram of a column, if there is one that says something.
    pub(crate) fn histogram(&self, column: &ColumnDef) -> Option<&Histogram> {
        let histogram = self.histograms.as_ref()?.get(&column.name)?;
        (histogram.is_of(&column.column_type) && !histogram.is_empty()).then_some(histogram)
    }
}

#[cfg(test)]
mod tests;
