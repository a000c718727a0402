//! Lets writers go on while ALTER TABLE copies rows or fills indexes: what they change meanwhile is brought there afterwards.
//!
//! Outline: the rows are read in one snapshot, and the keys of rows that commits change from then on are captured
//! ([`ChangeCapture`](cohort_txn::ChangeCapture)). A round takes the captured keys and another snapshot; for each of them
//! the entries that its row had in the former snapshot go, and those that it has in the new one come. Rounds follow each
//! other until one is small. Then the table is locked exclusively, and the last round is made of what is left.
//!
//! Invariants
//! 1. After a round, what is written is what the rows of its snapshot come to: a double that was committed and gone again
//!    between two snapshots is no error, one that a snapshot has is error 1062.
//! 2. What a round writes is committed, so that it is as durable as the definition that names it; it is in no binlog.
//! 3. The ids that it is written under are counted before: no later table gets them, whose rows a replay of the journal
//!    would mix with these.
//!
//! On crash: ids that no definition names are erased by the next start.

use cohort_engine::EngineId;
use cohort_txn::{Read, Transaction};

use super::DdlRun;
use super::row_copy::Copying;
use super::source_rows::{Rows, too_much};
use crate::catalog::store::CATALOG_ENGINE;
use crate::catalog::table::Table;
use crate::codec::RowOffsets;
use crate::error::{ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::duplicate;
use crate::exec::failure::{commit_failed, read_failed, write_failed};
use crate::value::Value;

/// A round of so many rows is followed by the last one, in which writers wait.
const FEW_ROWS: usize = 200;

/// A round commits what it writes in transactions of about so many bytes.
const CHUNK_BYTES: u64 = 1 << 20;

/// Brings what is written so far up to what the rows have become.
pub(super) struct CatchUp<'a> {
    run: &'a DdlRun<'a>,
    /// The table as it will be.
    new: &'a Table,
    /// Its indexes that are filled, by their places.
    built: &'a [usize],
    /// Makes its rows, where they are copied.
    pub(super) copying: Option<Copying<'a>>,
    row: Vec<Value>,
    offsets: RowOffsets,
    has_written: bool,
}

/// An entry of a row in the new table or in one of its indexes.
struct Entry {
    key: Vec<u8>,
    value: Vec<u8>,
    /// The index in which the key is this row's alone.
    unique: Option<usize>,
}

/// The entries of a row before and after it was changed.
struct Changed {
    before: Vec<Entry>,
    after: Vec<Entry>,
}

impl<'a> CatchUp<'a> {
    /// Nothing is written yet.
    pub(super) fn new(
        run: &'a DdlRun<'a>,
        new: &'a Table,
        built: &'a [usize],
        copying: Option<Copying<'a>>,
    ) -> CatchUp<'a> {
        let row = vec![Value::Null; new.def.columns.len()];
        CatchUp { run, new, built, copying, row, offsets: RowOffsets::default(), has_written: false }
    }

    /// Makes rounds, while writers go on, until they are small or no longer become smaller.
    pub(super) fn follow(&mut self, old: &Table, rows: &mut Rows) -> Result<(), SqlError> {
        let mut last = usize::MAX;
        loop {
            let count = self.round(old, rows)?;
            if count <= FEW_ROWS || count >= last {
                return Ok(());
            }
            last = count;
        }
    }

    /// Makes the last round: the table is locked exclusively.
    pub(super) fn finish(&mut self, old: &Table, rows: &mut Rows) -> Result<(), SqlError> {
        if !rows.are_captured() {
            return Ok(());
        }
        self.run.store.settle().map_err(|error| commit_failed(&error))?;
        self.round(old, rows)?;
        if self.has_written && self.new.engine != CATALOG_ENGINE {
            // Engines become durable each for itself, and no definition may be there before its rows.
            let engine = &self.run.store.engines()[usize::from(self.new.engine.0)];
            engine.sync().map_err(write_failed)?;
        }
        Ok(())
    }

    /// Brings the rows that were changed since the last round up to now; says how many they were.
    fn round(&mut self, old: &Table, rows: &mut Rows) -> Result<usize, SqlError> {
        let changed = rows.changed(self.run, old.engine).map_err(|_| too_much(self.new, self.built))?;
        let Some((keys, mut now)) = changed else { return Ok(0) };
        let mut writer = Writer::new(self.run, self.new.engine);
        let mut count = 0;
        // All that goes is gone before anything comes: rows may have changed their unique keys with each other.
        for (at, key) in keys.iter().enumerate() {
            self.check_killed(at)?;
            let Some(changed) = self.changed(old, key, rows, &mut now, false)? else { continue };
            if count == 0 && !self.has_written {
                self.keep_ids()?;
                self.has_written = true;
            }
            count += 1;
            for entry in changed.before.iter().filter(|entry| !has_key(&changed.after, &entry.key)) {
                writer.delete(&entry.key)?;
            }
            if let Some(copying) = &mut self.copying {
                let (before, after) = (!changed.before.is_empty(), !changed.after.is_empty());
                copying.rows = copying.rows + u64::from(after) - u64::from(before);
            }
        }
        for (at, key) in keys.iter().enumerate() {
            self.check_killed(at)?;
            let Some(changed) = self.changed(old, key, rows, &mut now, true)? else { continue };
            for entry in &changed.after {
                match changed.before.iter().find(|before| before.key == entry.key) {
                    Some(before) if before.value == entry.value => continue,
                    Some(_) => {}
                    None => {
                        if let Some(index) = entry.unique
                            && writer.has(&entry.key)?
                        {
                            return Err(self.duplicate(index, entry));
                        }
                    }
                }
                writer.put(&entry.key, &entry.value)?;
            }
        }
        writer.commit()?;
        rows.become_those_of(now);
        Ok(count)
    }

    fn check_killed(&self, at: usize) -> Result<(), SqlError> {
        match at.is_multiple_of(64) && self.run.session.interrupt_ref().is_killed() {
            true => Err(SqlError::new(ER_QUERY_INTERRUPTED, &[])),
            false => Ok(()),
        }
    }

    /// Has no later table get the ids that are in use.
    fn keep_ids(&self) -> Result<(), SqlError> {
        let change = self.run.catalog.change(self.run.session)?;
        let mut transaction = unlogged(self.run);
        change.put_counters(&mut transaction)?;
        self.run.session.commit(self.run.store, transaction)
    }

    /// What has become of the row `key` between two snapshots, if anything. The warnings of its conversion are kept if
    /// `warns`.
    fn changed(
        &mut self,
        old: &Table,
        key: &[u8],
        rows: &mut Rows,
        now: &mut Rows,
        warns: bool,
    ) -> Result<Option<Changed>, SqlError> {
        let [mut before, mut after] = [Vec::new(), Vec::new()];
        let was = rows.get(old.engine, key, &mut before)?;
        let is = now.get(old.engine, key, &mut after)?;
        if was == is && before == after {
            return Ok(None);
        }
        let before = if was { self.entries(key, &before, false)? } else { Vec::new() };
        let after = if is { self.entries(key, &after, warns)? } else { Vec::new() };
        Ok(Some(Changed { before, after }))
    }

    /// The entries of a row of the former table, which is left in `self.row` under the new definition.
    fn entries(&mut self, key: &[u8], stored: &[u8], warns: bool) -> Result<Vec<Entry>, SqlError> {
        let mut entries = Vec::with_capacity(1 + self.built.len());
        let copied;
        let row_key = match &mut self.copying {
            None => {
                self.new.read_row(stored, &mut self.offsets, &mut self.row)?;
                key
            }
            Some(copying) => {
                let (key, value) = copying.entry(key, stored, warns)?;
                self.new.read_row(&value, &mut self.offsets, &mut self.row)?;
                copied = key.clone();
                entries.push(Entry { key, value, unique: self.new.primary });
                &copied
            }
        };
        for at in self.built {
            let index = &self.new.indexes[*at];
            let mut key = Vec::with_capacity(32);
            let unique = self.new.index_key(index, &self.row, row_key, &mut key)?;
            let value = if unique { row_key[4..].to_vec() } else { Vec::new() };
            entries.push(Entry { key, value, unique: unique.then_some(*at) });
        }
        Ok(entries)
    }

    /// The error of the row in `self.row`, whose `entry` is another one's.
    fn duplicate(&mut self, index: usize, entry: &Entry) -> SqlError {
        match &mut self.copying {
            Some(copying) if Some(index) == self.new.primary => copying.duplicate(&entry.value),
            _ => duplicate(self.new, index, &self.row, self.run.session.time_zone),
        }
    }
}

fn has_key(entries: &[Entry], key: &[u8]) -> bool {
    entries.iter().any(|entry| entry.key == key)
}

fn unlogged(run: &DdlRun<'_>) -> Transaction {
    let mut transaction = run.session.begin(run.store);
    transaction.set_binlog(false);
    transaction
}

/// Writes entries under ids that nobody else knows, in transactions of a bounded size.
struct Writer<'a> {
    run: &'a DdlRun<'a>,
    engine: EngineId,
    transaction: Transaction,
}

impl<'a> Writer<'a> {
    fn new(run: &'a DdlRun<'a>, engine: EngineId) -> Writer<'a> {
        Writer { run, engine, transaction: unlogged(run) }
    }

    fn has(&mut self, key: &[u8]) -> Result<bool, SqlError> {
        self.transaction.get(self.engine, Read::Current, key, &mut Vec::new()).map_err(read_failed)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), SqlError> {
        self.transaction.put(self.engine, key, value);
        self.bound()
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), SqlError> {
        self.transaction.delete(self.engine, key);
        self.bound()
    }

    fn bound(&mut self) -> Result<(), SqlError> {
        if self.transaction.memory_bytes() < CHUNK_BYTES {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.transaction, unlogged(self.run));
        self.run.session.commit(self.run.store, full)
    }

    fn commit(self) -> Result<(), SqlError> {
        self.run.session.commit(self.run.store, self.transaction)
    }
}
