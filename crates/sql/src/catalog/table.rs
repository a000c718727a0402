//! A table made ready for statements: codecs, key parts, the binlog's table map and its counters.
//!
//! A [`Table`] is never changed: DDL makes a new one, and retires the one before. What counts on across such versions (the next
//! AUTO_INCREMENT value, the next hidden row id) is shared between them in [`Counters`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cohort_binlog::{KeyColumn, TableMap};
use cohort_engine::{EngineId, KeyRange};
use cohort_io::sync::Mutex;
use cohort_txn::Transaction;

use super::definition::{IndexColumn, IndexKind, TableDef};
use crate::codec::{KeyPart, RowCodec, RowOffsets, binlog_column_meta, key};
use crate::error::{ER_AUTOINC_READ_FAILED, SqlError};
use crate::exec::failure::{damaged, read_failed};
use crate::statistics::TableStatistics;
use crate::value::Value;

/// A table, ready for use.
pub(crate) struct Table {
    pub(crate) def: TableDef,
    pub(crate) engine: EngineId,
    pub(crate) codec: RowCodec,
    pub(crate) map: TableMap,
    /// As [`TableDef::indexes`].
    pub(crate) indexes: Vec<Index>,
    /// Where the primary key is in `indexes`; rows have hidden ids without one.
    pub(crate) primary: Option<usize>,
    pub(crate) auto_increment: Option<usize>,
    pub(crate) counters: Arc<Counters>,
    /// Snapshots before this place in the commit order do not see what the definition says.
    pub(crate) since_order: u64,
    retired: AtomicBool,
}

/// An index, ready for use.
pub(crate) struct Index {
    pub(crate) id: u32,
    pub(crate) kind: IndexKind,
    /// Columns and how they are encoded, in key order.
    pub(crate) columns: Vec<usize>,
    pub(crate) parts: Vec<KeyPart>,
}

/// What is counted up while the server runs. `None` until first needed.
#[derive(Debug)]
pub(crate) struct Counters {
    next_auto_increment: Mutex<Option<u64>>,
    next_row_id: Mutex<Option<u64>>,
    /// The least first AUTO_INCREMENT value, as a statement set it.
    pub(crate) floor: u64,
    pub(crate) statistics: Arc<TableStatistics>,
}

impl Index {
    /// The first bytes of the index's keys.
    pub(crate) fn prefix(&self) -> [u8; 4] {
        self.id.to_be_bytes()
    }

    /// Whether two rows may not have equal keys (NULLs apart).
    pub(crate) fn is_unique(&self) -> bool {
        self.kind != IndexKind::Secondary
    }
}

/// All keys that start with `prefix`.
pub(crate) fn prefix_range(prefix: &[u8]) -> KeyRange {
    let lower = prefix.to_vec();
    let mut upper = prefix.to_vec();
    if !key::successor(&mut upper) {
        // Only a prefix of 0xff bytes has no successor; index ids do not get that high.
        upper = vec![0xff; prefix.len() + 1];
    }
    KeyRange { lower, upper }
}

impl Table {
    /// Makes a definition ready. `counters` are the earlier version's, if there was one.
    pub(crate) fn new(def: TableDef, engine: EngineId, counters: Arc<Counters>, since_order: u64) -> Table {
        let indexes: Vec<Index> = def
            .indexes
            .iter()
            .map(|index| Index {
                id: index.index_id,
                kind: index.kind,
                columns: index.columns.iter().map(|column| column.column).collect(),
                parts: def.key_parts(index),
            })
            .collect();
        let primary = indexes.iter().position(|index| index.kind == IndexKind::Primary);
        let columns: Vec<_> = def.columns.iter().map(binlog_column_meta).collect();
        let key_column = |part: &IndexColumn| KeyColumn { column: part.column, prefix: part.prefix };
        let primary_key: Vec<_> = primary.iter().flat_map(|at| &def.indexes[*at].columns).map(key_column).collect();
        Table {
            engine,
            codec: RowCodec::new(&def.columns, def.schema_version).with_former(&def.former),
            map: TableMap::new(def.id, &def.database, &def.name, &columns, &primary_key),
            primary,
            auto_increment: def.auto_increment_column(),
            indexes,
            counters,
            since_order,
            retired: AtomicBool::new(false),
            def,
        }
    }

    /// Whether no DDL has changed or dropped it. Stays true for whoever holds its lock.
    pub(crate) fn is_current(&self) -> bool {
        !self.retired.load(Ordering::Acquire)
    }

    /// DDL has changed or dropped it.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Where rows are kept.
    pub(crate) fn row_prefix(&self) -> [u8; 4] {
        self.def.row_index_id.to_be_bytes()
    }

    /// Every range of keys the table has anything in.
    pub(crate) fn key_ranges(&self) -> Vec<KeyRange> {
        let mut ids: Vec<u32> = self.indexes.iter().map(|index| index.id).collect();
        if !ids.contains(&self.def.row_index_id) {
            ids.push(self.def.row_index_id);
        }
        ids.into_iter().map(|id| prefix_range(&id.to_be_bytes())).collect()
    }

    /// Appends the row key of a row with a primary key.
    pub(crate) fn primary_key(&self, row: &[Value], out: &mut Vec<u8>) -> Result<(), SqlError> {
        out.extend_from_slice(&self.row_prefix());
        match self.primary {
            Some(primary) => self.index_columns(&self.indexes[primary], row, out).map(|_| ()),
            None => Err(SqlError::internal("a table without a primary key has no key columns")),
        }
    }

    fn index_columns(&self, index: &Index, row: &[Value], out: &mut Vec<u8>) -> Result<bool, SqlError> {
        let mut any_null = false;
        for (part, column) in index.parts.iter().zip(&index.columns) {
            let value = &row[*column];
            any_null |= value.is_null();
            key::encode(part, value, out)?;
        }
        Ok(any_null)
    }

    /// Appends the key of a row's entry in a secondary index, and says whether it stands for the row
    /// alone (a unique index without NULL): then its value is the row key without the index id, else
    /// the key ends with that.
    pub(crate) fn index_key(
        &self,
        index: &Index,
        row: &[Value],
        row_key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, SqlError> {
        out.extend_from_slice(&index.prefix());
        let any_null = self.index_columns(index, row, out)?;
        let unique = index.kind == IndexKind::Unique && !any_null;
        if !unique {
            out.extend_from_slice(&row_key[4..]);
        }
        Ok(unique)
    }

    /// Appends the row key that an entry of a secondary index leads to.
    pub(crate) fn row_key_of(
        &self,
        index: &Index,
        key: &[u8],
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        out.extend_from_slice(&self.row_prefix());
        if !value.is_empty() {
            out.extend_from_slice(value);
            return Ok(());
        }
        let mut at = 4;
        for part in &index.parts {
            let rest = key.get(at..).unwrap_or_default();
            at += key::part_len(part, rest).map_err(|error| damaged(&self.def.name, &error))?;
        }
        out.extend_from_slice(key.get(at..).unwrap_or_default());
        Ok(())
    }

    /// Whether the entries of a secondary index give the value of a column: it is one of the index's, or
    /// of the primary key's, and keys give its values back.
    pub(crate) fn entry_gives(&self, index: usize, column: usize) -> bool {
        let primary = self.primary.map(|primary| &self.indexes[primary]);
        let mut parts = std::iter::once(&self.indexes[index])
            .chain(primary)
            .flat_map(|index| index.columns.iter().zip(&index.parts));
        parts.any(|(known, part)| *known == column && part.prefix.is_none() && part.column_type.collation().is_none())
    }

    /// The columns of an index's keys: its own, and those of the primary key where these follow in each of them.
    pub(crate) fn key_columns(&self, index: usize) -> impl Iterator<Item = (usize, &KeyPart)> {
        let index = &self.indexes[index];
        let primary = self.primary.filter(|_| !index.is_unique()).map(|primary| &self.indexes[primary]);
        std::iter::once(index).chain(primary).flat_map(|index| index.columns.iter().copied().zip(&index.parts))
    }

    /// Decodes the `wanted` columns of a row from its entry in a secondary index that gives them all.
    pub(crate) fn read_entry(
        &self,
        index: &Index,
        key: &[u8],
        value: &[u8],
        wanted: &[usize],
        row: &mut [Value],
    ) -> Result<(), SqlError> {
        let rest = self.read_key_columns(index, key.get(4..).unwrap_or_default(), wanted, row)?;
        let row_key = if value.is_empty() { rest } else { value };
        if let Some(primary) = self.primary {
            self.read_key_columns(&self.indexes[primary], row_key, wanted, row)?;
        }
        Ok(())
    }

    /// Decodes the `wanted` columns from the columns of a key, and returns what is after those.
    fn read_key_columns<'k>(
        &self,
        index: &Index,
        mut key: &'k [u8],
        wanted: &[usize],
        row: &mut [Value],
    ) -> Result<&'k [u8], SqlError> {
        let damaged = |error| damaged(&self.def.name, &error);
        for (column, part) in index.columns.iter().zip(&index.parts) {
            let len = key::part_len(part, key).map_err(damaged)?;
            if wanted.contains(column)
                && let Some(value) = key::decode(part, key).map_err(damaged)?
            {
                row[*column] = value;
            }
            key = &key[len..];
        }
        Ok(key)
    }

    /// The next hidden row id.
    pub(crate) fn next_row_id(&self, transaction: &mut Transaction) -> Result<u64, SqlError> {
        let mut next = self.counters.next_row_id.lock();
        let id = match *next {
            Some(id) => id,
            None => {
                let range = prefix_range(&self.row_prefix());
                let last = transaction.last_key(self.engine, &range).map_err(read_failed)?;
                let last = last.and_then(|key| key.get(4..12)?.try_into().ok());
                last.map_or(1, |last| u64::from_be_bytes(last) + 1)
            }
        };
        *next = Some(id + 1);
        Ok(id)
    }

    /// The largest value of the AUTO_INCREMENT column's type.
    pub(crate) fn auto_increment_max(&self) -> u64 {
        let column_type = self.auto_increment.map(|column| &self.def.columns[column].column_type);
        column_type.and_then(|column_type| column_type.facts().counter_max).unwrap_or(1 << 53)
    }

    /// Takes the next `count` AUTO_INCREMENT values of the series `offset`, `offset + increment`, … and returns the
    /// first. Where the type has no more of them that is its greatest value again, a duplicate, or with an increment one
    /// that is out of range; 1467 if 64 bits have none left.
    pub(crate) fn take_auto_increment(
        &self,
        transaction: &mut Transaction,
        increment: u64,
        offset: u64,
        count: u64,
    ) -> Result<u64, SqlError> {
        let mut next = self.counters.next_auto_increment.lock();
        let greatest = self.auto_increment_max();
        let least = match *next {
            Some(next) => next,
            None => self.first_auto_increment(transaction)?,
        };
        // An offset above the increment is ignored, as MySQL does.
        let offset = if offset > increment { 1 } else { offset };
        let value = match least.min(greatest).checked_sub(offset) {
            None => Some(offset),
            Some(above) => above.div_ceil(increment).checked_mul(increment).and_then(|above| above.checked_add(offset)),
        };
        match value {
            Some(value) if value < u64::MAX => {
                let last = value.saturating_add((count - 1).saturating_mul(increment));
                *next = Some(last.saturating_add(1).min(greatest));
                Ok(value)
            }
            _ => Err(SqlError::new(ER_AUTOINC_READ_FAILED, &[])),
        }
    }

    /// Moves the counter after a value that a statement gave.
    pub(crate) fn pass_auto_increment(&self, transaction: &mut Transaction, value: u64) -> Result<(), SqlError> {
        let mut next = self.counters.next_auto_increment.lock();
        let least = match *next {
            Some(next) => next,
            None => self.first_auto_increment(transaction)?,
        };
        *next = Some(least.max(value.saturating_add(1)));
        Ok(())
    }

    /// The next value, without taking it.
    pub(crate) fn peek_auto_increment(&self, transaction: &mut Transaction) -> Result<u64, SqlError> {
        let mut next = self.counters.next_auto_increment.lock();
        let value = match *next {
            Some(next) => next,
            None => self.first_auto_increment(transaction)?,
        };
        *next = Some(value);
        Ok(value.min(self.auto_increment_max()))
    }

    /// One above the largest stored value, from the end of an index that begins with the column.
    fn first_auto_increment(&self, transaction: &mut Transaction) -> Result<u64, SqlError> {
        let Some(column) = self.auto_increment else { return Ok(1) };
        let index = self.indexes.iter().find(|index| index.columns.first() == Some(&column));
        let Some(index) = index else { return Ok(1) };
        let range = prefix_range(&index.prefix());
        let last = transaction.last_key(self.engine, &range).map_err(read_failed)?;
        let Some(last) = last else { return Ok(self.counters.floor.max(1)) };
        let value = key::decode(&index.parts[0], &last[4..]).map_err(|error| damaged(&self.def.name, &error))?;
        let last = match value {
            Some(Value::Int(last)) => u64::try_from(last).unwrap_or(0),
            Some(Value::UInt(last)) => last,
            Some(Value::Float(last)) => last.max(0.0) as u64,
            Some(Value::Double(last)) => last.max(0.0) as u64,
            _ => 0,
        };
        Ok(last.saturating_add(1).max(self.counters.floor))
    }

    /// Decodes a stored row into `row`, all columns.
    pub(crate) fn read_row(&self, stored: &[u8], offsets: &mut RowOffsets, row: &mut [Value]) -> Result<(), SqlError> {
        let reader = self.codec.open(stored, offsets).map_err(|error| damaged(&self.def.name, &error))?;
        for (column, place) in row.iter_mut().enumerate().take(self.def.columns.len()) {
            *place = reader.get(column).map_err(|error| damaged(&self.def.name, &error))?;
        }
        Ok(())
    }
}

impl Counters {
    /// Counters of a table whose AUTO_INCREMENT values start at `floor` or above what is stored.
    pub(crate) fn starting_at(floor: u64, statistics: Arc<TableStatistics>) -> Counters {
        let (next_auto_increment, next_row_id) = Default::default();
        Counters { next_auto_increment, next_row_id, floor, statistics }
    }

    /// Those of a new table, which is empty.
    pub(crate) fn of_new_table(floor: u64) -> Counters {
        Counters::starting_at(floor, Arc::new(TableStatistics::empty()))
    }
}
