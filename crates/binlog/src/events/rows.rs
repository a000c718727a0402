//! Row events: inserted, updated and deleted rows of one table.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! table id u48 | flags u16 | length of extra data u16 = 2, itself included, extra data
//! columns lenenc | bitmap of the columns present; of an update twice, before and after
//! rows: (null bitmap over the columns present, the values that are not NULL)*; of an update before and after
//! ```
//!
//! Values: `row.rs`.

use super::kind::{Description, EventKind};
use super::table_map::{TableMap, TableMapEvent, Tables};
use crate::fields::{DecodeError, Fields};
use crate::row::{Row, Rows};
use crate::wire::{EventHeader, EventType, HEADER_BYTES, Origin, begin_event};

impl EventType {
    /// Inserted rows.
    pub const WRITE_ROWS: EventType = EventType(30);
    /// Updated rows.
    pub const UPDATE_ROWS: EventType = EventType(31);
    /// Deleted rows.
    pub const DELETE_ROWS: EventType = EventType(32);
}

/// Flag: the statement's last one.
pub(crate) const STATEMENT_END: u16 = 1;
/// Offset of the flags in the event: after header and table id.
const FLAGS_AT: usize = HEADER_BYTES + 6;

/// Changed rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsEvent<'a> {
    /// [`EventType::WRITE_ROWS`], [`EventType::UPDATE_ROWS`] or [`EventType::DELETE_ROWS`].
    pub kind: EventType,
    /// Number of the table.
    pub table_id: u64,
    /// Last event of its statement.
    pub statement_end: bool,
    /// Columns of the table.
    pub columns: usize,
    present_first: &'a [u8],
    present_second: &'a [u8],
    rows: &'a [u8],
}

/// The image of a row as an event has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// A bit for each column of the table, from the lowest: whether the image has it.
    pub present: &'a [u8],
    /// A bit for each column that it has, whether that is NULL, and the values that are not.
    pub bytes: &'a [u8],
}

/// Appends an event up to its rows, which follow. Their images have the columns `present`.
pub(crate) fn begin(out: &mut Vec<u8>, kind: EventType, table: &TableMap, present: [&[u8]; 2], origin: Origin) {
    begin_event(out, kind, 0, origin);
    out.extend_from_slice(&table.table_id().to_le_bytes()[..6]);
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(table.before_present());
    out.extend_from_slice(present[0]);
    if kind == EventType::UPDATE_ROWS {
        out.extend_from_slice(present[1]);
    }
}

/// Whether the rows of an event that [`begin`] made have the columns `present`.
pub(crate) fn has_columns(event: &[u8], kind: EventType, table: &TableMap, present: [&[u8]; 2]) -> bool {
    let begin = HEADER_BYTES + 8 + table.before_present().len();
    let [first, second] = present.map(<[u8]>::len);
    let there = &event[begin..];
    there[..first] == *present[0] && (kind != EventType::UPDATE_ROWS || there[first..first + second] == *present[1])
}

/// Sets the flags of an event that [`begin`] made.
pub(crate) fn set_flags(event: &mut [u8], flags: u16) {
    event[FLAGS_AT..FLAGS_AT + 2].copy_from_slice(&flags.to_le_bytes());
}

impl<'a> RowsEvent<'a> {
    /// The rows, with the table map of this table. An error ends them.
    pub fn rows(&self, table: &TableMapEvent) -> impl Iterator<Item = Result<Row, DecodeError>> + use<'a> {
        let mismatch = self.table_id != table.table_id || self.columns != table.columns.len();
        let (before, after) = (self.present_first, self.present_second);
        let images = match self.kind {
            EventType::WRITE_ROWS => [None, Some(before)],
            EventType::DELETE_ROWS => [Some(before), None],
            _ => [Some(before), Some(after)],
        };
        Rows::new(table, images, Fields::new(self.rows), mismatch)
    }
}

impl<'a> EventKind<'a> for RowsEvent<'a> {
    const TYPES: &'static [(EventType, &'static str)] = &[
        (EventType::WRITE_ROWS, "Write_rows"),
        (EventType::UPDATE_ROWS, "Update_rows"),
        (EventType::DELETE_ROWS, "Delete_rows"),
    ];

    fn decode(header: &EventHeader, fields: &mut Fields<'a>) -> Result<RowsEvent<'a>, DecodeError> {
        let kind = header.event_type;
        let table_id = fields.uint_le(6)?;
        let flags = fields.u16()?;
        let extra = usize::from(fields.u16()?);
        if extra < 2 {
            return Err(fields.error("extra data shorter than its length"));
        }
        fields.take(extra - 2)?;
        let columns = fields.lenenc_len()?;
        let present_first = fields.take(columns.div_ceil(8))?;
        let present_second = match kind {
            EventType::UPDATE_ROWS => fields.take(columns.div_ceil(8))?,
            _ => present_first,
        };
        Ok(RowsEvent {
            kind,
            table_id,
            statement_end: flags & STATEMENT_END != 0,
            columns,
            present_first,
            present_second,
            rows: fields.rest(),
        })
    }

    fn describe(&self, tables: &Tables) -> Result<Description, DecodeError> {
        let missing = DecodeError { what: "row event without a preceding table map", at: 0 };
        let table = tables.get(&self.table_id).ok_or(missing)?;
        let count = self.rows(table).try_fold(0u64, |count, row| row.map(|_| count + 1))?;
        let name = table.qualified_name();
        let end = if self.statement_end { ", end of statement" } else { "" };
        Ok(Description {
            text: format!("{name}, {count} rows{end}"),
            fields: vec![
                ("table", name.into()),
                ("table_id", self.table_id.into()),
                ("rows", count.into()),
                ("statement_end", self.statement_end.into()),
            ],
        })
    }

    fn info(&self) -> String {
        format!("table_id: {}{}", self.table_id, if self.statement_end { " flags: STMT_END_F" } else { "" })
    }
}
