//! Changes rows: the row itself, its index entries and its binlog event, under their locks.
//!
//! Invariants
//! 1. A key is written under an exclusive lock: of the row, which covers its entries in indexes that are
//!    not unique, and of each entry of a unique index, taken before its uniqueness is checked.
//! 2. A key that is new is claimed first: it waits for the ranges of others that cover it, without its own lock, and
//!    is seen by their scans.
//! 3. The event of a change carries the images that are stored before and after it.

use cohort_txn::{Claim, LockMode, Read};

use super::Run;
use super::failure::{damaged, lock_failed, read_failed};
use super::logged_change::{log_delete, log_update};
use crate::catalog::definition::IndexKind;
use crate::catalog::table::{Index, Table};
use crate::error::{ER_DUP_ENTRY, SqlError};
use crate::types::temporal::TimeZone;
use crate::value::Value;

/// A row that stands in the way of another.
#[derive(Debug)]
pub(super) struct Conflict {
    /// The index, by its place in the table.
    pub(super) index: usize,
    /// The key of the row that is there.
    pub(super) row_key: Vec<u8>,
}

/// The key and value of a row's entry in a secondary index.
struct IndexEntry {
    key: Vec<u8>,
    /// Whether the key is the row's alone.
    unique: bool,
}

fn lock(table: &Table, key: &[u8], run: &mut Run<'_>) -> Result<(), SqlError> {
    run.transaction.lock(table.engine, key, LockMode::Exclusive).map(|_| ()).map_err(lock_failed)
}

fn secondary(table: &Table) -> impl Iterator<Item = (usize, &Index)> {
    table.indexes.iter().enumerate().filter(|(_, index)| index.kind != IndexKind::Primary)
}

fn entry(table: &Table, index: &Index, row: &[Value], row_key: &[u8]) -> Result<IndexEntry, SqlError> {
    let mut key = Vec::with_capacity(32);
    let unique = table.index_key(index, row, row_key, &mut key)?;
    Ok(IndexEntry { key, unique })
}

fn entry_value<'k>(entry: &IndexEntry, row_key: &'k [u8]) -> &'k [u8] {
    if entry.unique { &row_key[4..] } else { &[] }
}

/// The key that a new row gets.
pub(super) fn new_row_key(table: &Table, row: &[Value], run: &mut Run<'_>) -> Result<Vec<u8>, SqlError> {
    let mut key = Vec::with_capacity(24);
    if table.primary.is_some() {
        table.primary_key(row, &mut key)?;
    } else {
        key.extend_from_slice(&table.row_prefix());
        key.extend_from_slice(&table.next_row_id(run.transaction)?.to_be_bytes());
    }
    Ok(key)
}

/// Claims a key of a unique index for a row, and gives what is stored under it if the key is taken.
///
/// A taken key gets a lock of `mode`, which says how the row in the way will be used.
fn claim(table: &Table, key: &[u8], mode: LockMode, run: &mut Run<'_>) -> Result<Option<Vec<u8>>, SqlError> {
    let engine = table.engine;
    let mut there = Vec::new();
    loop {
        let claimed = run.transaction.claim(engine, key);
        let taken = run.transaction.get(engine, Read::Current, key, &mut there).map_err(read_failed)?;
        match (claimed, taken) {
            (Claim::Granted { .. }, false) => return Ok(None),
            (Claim::Granted { new }, true) => {
                run.transaction.disclaim();
                if new && mode == LockMode::Shared {
                    run.transaction.downgrade(engine, key);
                }
                return Ok(Some(there));
            }
            (Claim::Locked, false) => {
                // When it is free it is claimed; no lock is held over a wait for a range, whose holder may insert here.
                let granted = run.transaction.lock(engine, key, LockMode::Exclusive).map_err(lock_failed)?;
                run.transaction.give_back(engine, key, granted);
            }
            (Claim::Covered, false) => run.transaction.await_ranges(engine, key).map_err(lock_failed)?,
            (Claim::Locked | Claim::Covered, true) => {
                let granted = run.transaction.lock(engine, key, mode).map_err(lock_failed)?;
                if run.transaction.get(engine, Read::Current, key, &mut there).map_err(read_failed)? {
                    return Ok(Some(there));
                }
                run.transaction.give_back(engine, key, granted);
            }
        }
    }
}

/// Claims an entry of an index that is not unique for the row `row_key`, which is locked.
fn claim_entry(table: &Table, entry: &IndexEntry, row_key: &[u8], run: &mut Run<'_>) -> Result<(), SqlError> {
    run.transaction.claim_entry(table.engine, &entry.key, row_key).map_err(lock_failed)
}

/// Keeps what `claim` claims, unless it finds a row in the way.
fn unless_in_conflict(
    run: &mut Run<'_>,
    claim: impl FnOnce(&mut Run<'_>) -> Result<Option<Conflict>, SqlError>,
) -> Result<Option<Conflict>, SqlError> {
    let before = run.transaction.claims();
    let conflict = claim(run)?;
    if conflict.is_some() {
        run.transaction.take_back_claims(before);
    }
    Ok(conflict)
}

/// Claims the keys of a new row and looks for a row that it would be the double of. That one, if there is one, is
/// locked by `mode` in the index where they meet, and nothing stays claimed.
pub(super) fn find_conflict(
    table: &Table,
    row: &[Value],
    row_key: &[u8],
    mode: LockMode,
    run: &mut Run<'_>,
) -> Result<Option<Conflict>, SqlError> {
    unless_in_conflict(run, |run| claim_keys(table, row, row_key, mode, run))
}

fn claim_keys(
    table: &Table,
    row: &[Value],
    row_key: &[u8],
    mode: LockMode,
    run: &mut Run<'_>,
) -> Result<Option<Conflict>, SqlError> {
    let there = claim(table, row_key, mode, run)?;
    if let (Some(primary), Some(_)) = (table.primary, there) {
        return Ok(Some(Conflict { index: primary, row_key: row_key.to_vec() }));
    }
    for (at, index) in secondary(table) {
        let entry = entry(table, index, row, row_key)?;
        if !entry.unique {
            claim_entry(table, &entry, row_key, run)?;
        } else if let Some(there) = claim(table, &entry.key, mode, run)? {
            let mut row_key = Vec::new();
            table.row_key_of(index, &entry.key, &there, &mut row_key)?;
            return Ok(Some(Conflict { index: at, row_key }));
        }
    }
    Ok(None)
}

/// Error 1062 for a row that has its double.
pub(crate) fn duplicate(table: &Table, index: usize, row: &[Value], zone: TimeZone) -> SqlError {
    let (text, key) = duplicate_text(table, index, row, zone);
    SqlError::new(ER_DUP_ENTRY, &[&text, &key])
}

/// The values of a row in an index, as errors show them, and the name of the index with that of its table.
pub(crate) fn duplicate_text(table: &Table, index: usize, row: &[Value], zone: TimeZone) -> (String, String) {
    let mut text = Vec::new();
    for (at, column) in table.indexes[index].columns.iter().enumerate() {
        if at > 0 {
            text.push(b'-');
        }
        match &row[*column] {
            Value::Null => text.extend_from_slice(b"NULL"),
            Value::Timestamp(timestamp) => Value::DateTime(timestamp.to_datetime(zone)).write_text(31, &mut text),
            value => value.write_text(31, &mut text),
        }
    }
    // As long as MySQL shows them.
    let shown: String = String::from_utf8_lossy(&text).chars().take(64).collect();
    (shown, format!("{}.{}", table.def.name, table.def.indexes[index].name))
}

/// Writes a new row, for which [`find_conflict`] found nothing.
pub(super) fn insert(table: &Table, row: &[Value], row_key: &[u8], run: &mut Run<'_>) -> Result<(), SqlError> {
    let mut stored = Vec::with_capacity(128);
    table.codec.encode(row, &mut stored)?;
    run.transaction.put(table.engine, row_key, &stored);
    run.session.row_counts.count(table, |changed| changed.inserted += 1);
    for (_, index) in secondary(table) {
        let entry = entry(table, index, row, row_key)?;
        run.transaction.put(table.engine, &entry.key, entry_value(&entry, row_key));
    }
    if run.logs_rows {
        let image = table.codec.image(&stored).map_err(|error| damaged(&table.def.name, &error))?;
        run.transaction.events().write_row(&table.map, image);
    }
    run.check_transaction()
}

/// Removes a row that is locked. `stored` is its stored form, `row` all its values if the table has
/// secondary indexes.
pub(super) fn delete(
    table: &Table,
    row: &[Value],
    row_key: &[u8],
    stored: &[u8],
    run: &mut Run<'_>,
) -> Result<(), SqlError> {
    for (_, index) in secondary(table) {
        let entry = entry(table, index, row, row_key)?;
        if entry.unique {
            lock(table, &entry.key, run)?;
        }
        run.transaction.delete(table.engine, &entry.key);
    }
    run.transaction.delete(table.engine, row_key);
    run.session.row_counts.count(table, |changed| changed.deleted += 1);
    log_delete(table, stored, run)
}

/// A change of a row's values.
pub(super) struct Changed<'c> {
    /// The columns that differ, in order, with their new values.
    pub(super) columns: &'c [(usize, Value)],
    /// The values before; those of changed and indexed columns at least.
    pub(super) before: &'c [Value],
    /// As `before`, after the change.
    pub(super) after: &'c [Value],
}

/// Writes a changed row that is locked; finds the row it would become the double of instead, if there is
/// one, and changes nothing then.
pub(super) fn update(
    table: &Table,
    changed: &Changed<'_>,
    row_key: &[u8],
    stored: &[u8],
    run: &mut Run<'_>,
) -> Result<Option<Conflict>, SqlError> {
    unless_in_conflict(run, |run| change(table, changed, row_key, stored, run))
}

fn change(
    table: &Table,
    changed: &Changed<'_>,
    row_key: &[u8],
    stored: &[u8],
    run: &mut Run<'_>,
) -> Result<Option<Conflict>, SqlError> {
    let touches =
        |index: &Index| index.columns.iter().any(|column| changed.columns.iter().any(|(known, _)| known == column));
    let mut new_key = None;
    if let Some(primary) = table.primary
        && touches(&table.indexes[primary])
    {
        let mut key = Vec::with_capacity(row_key.len());
        table.primary_key(changed.after, &mut key)?;
        if key != row_key {
            if claim(table, &key, LockMode::Shared, run)?.is_some() {
                return Ok(Some(Conflict { index: primary, row_key: key }));
            }
            new_key = Some(key);
        }
    }
    let after_key = new_key.as_deref().unwrap_or(row_key);
    let mut moves = Vec::new();
    for (at, index) in secondary(table) {
        if new_key.is_none() && !touches(index) {
            continue;
        }
        let old = entry(table, index, changed.before, row_key)?;
        let new = entry(table, index, changed.after, after_key)?;
        if new.key != old.key {
            if !new.unique {
                claim_entry(table, &new, after_key, run)?;
            } else if let Some(there) = claim(table, &new.key, LockMode::Shared, run)? {
                let mut row_key = Vec::new();
                table.row_key_of(index, &new.key, &there, &mut row_key)?;
                return Ok(Some(Conflict { index: at, row_key }));
            }
        }
        if old.unique {
            lock(table, &old.key, run)?;
        }
        moves.push((old, new));
    }
    let mut after = Vec::with_capacity(stored.len() + 32);
    {
        let reader = table.codec.open(stored, &mut run.offsets).map_err(|error| damaged(&table.def.name, &error))?;
        reader.write_changed(changed.columns, &mut after)?;
    }
    if new_key.is_some() {
        run.transaction.delete(table.engine, row_key);
    }
    run.transaction.put(table.engine, after_key, &after);
    if new_key.is_some() || !moves.is_empty() {
        run.session.row_counts.count(table, |changed| changed.moved += 1);
    }
    for (old, new) in moves {
        if old.key != new.key {
            run.transaction.delete(table.engine, &old.key);
        }
        run.transaction.put(table.engine, &new.key, entry_value(&new, after_key));
    }
    log_update(table, stored, &after, changed.columns, run)?;
    Ok(None)
}
