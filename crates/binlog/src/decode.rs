//! Events from bytes. Every length is checked; what does not fit is a [`DecodeError`].

use cohort_types::FieldType;

use super::fields::Fields;
use super::gtid::{Gtid, GtidSet, ServerUuid};
use super::layout::SERVER_VERSION_BYTES;
use super::row::{Row, Rows};
use super::table_map::{KeyColumn, field, has_charset, has_sign};
use super::transaction::STATEMENT_END;
use super::wire::{EventHeader, EventType, HEADER_BYTES};
use super::xa::XaPrepareEvent;

/// An event's body is not what its type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at} of the event's body")]
pub struct DecodeError {
    /// What was found.
    pub what: &'static str,
    /// Offset in the body, bytes.
    pub at: usize,
}

/// A whole event, its checksum verified.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Where it begins in its file.
    pub offset: u64,
    /// Its header.
    pub header: EventHeader,
    /// What stands between header and checksum.
    pub body: &'a [u8],
}

/// An event by its type.
#[derive(Clone, Debug, PartialEq)]
pub enum EventBody<'a> {
    /// First event of a file.
    FormatDescription(FormatDescription),
    /// The transactions in the files before.
    PreviousGtids(GtidSet),
    /// First event of a transaction.
    Gtid(GtidEvent),
    /// A statement.
    Query(QueryEvent<'a>),
    /// A table that row events name.
    TableMap(TableMapEvent),
    /// Changed rows.
    Rows(RowsEvent<'a>),
    /// Commit, with its number.
    Xid(u64),
    /// The end of an XA transaction's rows.
    XaPrepare(XaPrepareEvent),
    /// The next file.
    Rotate(RotateEvent),
    /// A type that this server does not write.
    Other(EventType),
}

/// Version of the format and of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    /// 4 since MySQL 5.0.
    pub binlog_version: u16,
    /// Of the server that wrote the file.
    pub server_version: String,
    /// Seconds since the epoch when the server started, or 0.
    pub created_s: u32,
    /// 0 none, 1 CRC32.
    pub checksum_algorithm: u8,
}

/// Identity and place in the order of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GtidEvent {
    /// Its id.
    pub gtid: Gtid,
    /// See [`Stamp::last_committed`](super::Stamp::last_committed).
    pub last_committed: u64,
    /// Its number in the file.
    pub sequence_number: u64,
    /// Microseconds since the epoch; 0 when not given.
    pub commit_time_us: u64,
    /// Bytes of the whole transaction, this event included; 0 when not given.
    pub transaction_bytes: u64,
    /// Version of the server that wrote it; 0 when not given.
    pub server_version: u32,
}

/// A statement as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryEvent<'a> {
    /// Connection id.
    pub thread_id: u32,
    /// Error it ended with, 0 for none.
    pub error: u16,
    /// Status variables, encoded.
    pub status: &'a [u8],
    /// Database it ran in.
    pub database: &'a [u8],
    /// The statement.
    pub sql: &'a [u8],
}

impl QueryEvent<'_> {
    /// The number that a statement of this server has which is a transaction of its own (DDL), or begins an
    /// XA transaction, in place of an XID event.
    pub fn ddl_xid(&self) -> Option<u64> {
        super::query::ddl_xid(self.status)
    }
}

/// A column of a [`TableMapEvent`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedColumn {
    /// As in [`ColumnMeta`](super::ColumnMeta).
    pub field: FieldType,
    /// As in [`ColumnMeta`](super::ColumnMeta).
    pub meta: Vec<u8>,
    /// May hold NULL.
    pub nullable: bool,
    /// An unsigned number.
    pub unsigned: bool,
    /// Collation id of a character column, where given.
    pub charset: Option<u64>,
    /// Name, where given.
    pub name: Option<String>,
}

/// A table that row events name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMapEvent {
    /// The number they use.
    pub table_id: u64,
    /// Its database.
    pub schema: String,
    /// Its name.
    pub table: String,
    /// Its columns.
    pub columns: Vec<DecodedColumn>,
    /// Its primary key in key order, where given.
    pub primary_key: Vec<KeyColumn>,
}

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
    pub(super) present_first: &'a [u8],
    pub(super) present_second: &'a [u8],
    pub(super) rows: &'a [u8],
}

/// The next file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotateEvent {
    /// Where its first event stands.
    pub position: u64,
    /// Its name.
    pub file_name: String,
}

impl<'a> Event<'a> {
    /// The body, decoded.
    pub fn decode(&self) -> Result<EventBody<'a>, DecodeError> {
        let mut fields = Fields::new(self.body);
        match self.header.event_type {
            EventType::FORMAT_DESCRIPTION => decode_format_description(&mut fields).map(EventBody::FormatDescription),
            EventType::PREVIOUS_GTIDS => match GtidSet::decode(self.body) {
                Ok(set) => Ok(EventBody::PreviousGtids(set)),
                Err(_) => Err(fields.error("not a GTID set")),
            },
            EventType::GTID => decode_gtid(&mut fields).map(EventBody::Gtid),
            EventType::QUERY => decode_query(&mut fields).map(EventBody::Query),
            EventType::TABLE_MAP => decode_table_map(&mut fields).map(EventBody::TableMap),
            kind @ (EventType::WRITE_ROWS | EventType::UPDATE_ROWS | EventType::DELETE_ROWS) => {
                decode_rows(kind, &mut fields).map(EventBody::Rows)
            }
            EventType::XID => fields.u64().map(EventBody::Xid),
            EventType::XA_PREPARE => super::xa::decode_prepare(&mut fields).map(EventBody::XaPrepare),
            EventType::ROTATE => decode_rotate(&mut fields).map(EventBody::Rotate),
            other => Ok(EventBody::Other(other)),
        }
    }
}

impl<'a> RowsEvent<'a> {
    /// The rows, with the table map of this table. An error ends them.
    pub fn rows(&self, table: &TableMapEvent) -> impl Iterator<Item = Result<Row, DecodeError>> + use<'a> {
        Rows::new(self, table)
    }
}

fn decode_format_description(fields: &mut Fields<'_>) -> Result<FormatDescription, DecodeError> {
    let binlog_version = fields.u16()?;
    let version = fields.take(SERVER_VERSION_BYTES)?;
    let version = version.split(|byte| *byte == 0).next().unwrap_or_default();
    let created_s = fields.u32()?;
    if usize::from(fields.u8()?) != HEADER_BYTES {
        return Err(fields.error("unknown length of event headers"));
    }
    let (_, algorithm) = split_last(fields)?;
    Ok(FormatDescription {
        binlog_version,
        server_version: String::from_utf8_lossy(version).into_owned(),
        created_s,
        checksum_algorithm: algorithm,
    })
}

fn split_last<'a>(fields: &mut Fields<'a>) -> Result<(&'a [u8], u8), DecodeError> {
    let missing = fields.error("checksum algorithm missing");
    fields.rest().split_last().map(|(last, rest)| (rest, *last)).ok_or(missing)
}

fn decode_gtid(fields: &mut Fields<'_>) -> Result<GtidEvent, DecodeError> {
    fields.u8()?;
    let uuid = ServerUuid::from_bytes(fields.array()?);
    let gno = fields.u64()?;
    fields.u8()?;
    let mut event = GtidEvent {
        gtid: Gtid { uuid, gno },
        last_committed: fields.u64()?,
        sequence_number: fields.u64()?,
        commit_time_us: 0,
        transaction_bytes: 0,
        server_version: 0,
    };
    if !fields.is_at_end() {
        let commit_time = fields.uint_le(7)?;
        event.commit_time_us = commit_time & ((1 << 55) - 1);
        if commit_time >> 55 != 0 {
            fields.take(7)?;
        }
        event.transaction_bytes = fields.lenenc()?;
        event.server_version = fields.u32()? & !(1 << 31);
    }
    Ok(event)
}

fn decode_query<'a>(fields: &mut Fields<'a>) -> Result<QueryEvent<'a>, DecodeError> {
    let thread_id = fields.u32()?;
    fields.u32()?;
    let database_len = usize::from(fields.u8()?);
    let error = fields.u16()?;
    let status_len = usize::from(fields.u16()?);
    let status = fields.take(status_len)?;
    let database = fields.take(database_len)?;
    fields.u8()?;
    Ok(QueryEvent { thread_id, error, status, database, sql: fields.rest() })
}

fn decode_rotate(fields: &mut Fields<'_>) -> Result<RotateEvent, DecodeError> {
    let position = fields.u64()?;
    Ok(RotateEvent { position, file_name: decode_name(fields.rest()) })
}

fn decode_rows<'a>(kind: EventType, fields: &mut Fields<'a>) -> Result<RowsEvent<'a>, DecodeError> {
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

fn decode_name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn take_name(fields: &mut Fields<'_>) -> Result<String, DecodeError> {
    let len = usize::from(fields.u8()?);
    let name = fields.take(len)?;
    fields.u8()?;
    Ok(decode_name(name))
}

fn decode_table_map(fields: &mut Fields<'_>) -> Result<TableMapEvent, DecodeError> {
    let table_id = fields.uint_le(6)?;
    fields.u16()?;
    let schema = take_name(fields)?;
    let table = take_name(fields)?;
    let types = fields.take_counted()?;
    let mut metas = Fields::new(fields.take_counted()?);
    let nullable = fields.take(types.len().div_ceil(8))?;
    let mut columns = Vec::with_capacity(types.len());
    for (i, code) in types.iter().enumerate() {
        let field = FieldType::from_code(*code).ok_or_else(|| fields.error("unknown column type"))?;
        columns.push(DecodedColumn {
            field,
            meta: metas.take(meta_bytes(field))?.to_vec(),
            nullable: nullable[i / 8] & 1 << (i % 8) != 0,
            unsigned: false,
            charset: None,
            name: None,
        });
    }
    let mut primary_key = Vec::new();
    while !fields.is_at_end() {
        let field = fields.u8()?;
        let mut value = Fields::new(fields.take_counted()?);
        match field {
            field::SIMPLE_PRIMARY_KEY => primary_key = decode_primary_key(&mut value, columns.len(), false)?,
            field::PRIMARY_KEY_WITH_PREFIX => primary_key = decode_primary_key(&mut value, columns.len(), true)?,
            _ => decode_optional(field, &mut value, &mut columns)?,
        }
    }
    Ok(TableMapEvent { table_id, schema, table, columns, primary_key })
}

fn meta_bytes(field: FieldType) -> usize {
    use FieldType::*;
    match field {
        Float | Double | Timestamp2 | DateTime2 | Time2 | TinyBlob | MediumBlob | LongBlob | Blob | Json | Geometry => {
            1
        }
        VarChar | VarString | String | NewDecimal | Bit | Enum | Set => 2,
        Decimal | Tiny | Short | Long | Null | Timestamp | LongLong | Int24 | Date | Time | DateTime | Year | Bool => 0,
    }
}

impl DecodedColumn {
    fn is_number(&self) -> bool {
        has_sign(self.field)
    }

    fn is_character(&self) -> bool {
        has_charset(self.field, &self.meta)
    }
}

fn decode_optional(field: u8, value: &mut Fields<'_>, columns: &mut [DecodedColumn]) -> Result<(), DecodeError> {
    match field {
        field::SIGNEDNESS => {
            let bits = value.rest();
            for (i, column) in columns.iter_mut().filter(|column| column.is_number()).enumerate() {
                let byte = bits.get(i / 8).ok_or_else(|| value.error("signedness cut off"))?;
                column.unsigned = byte & 0x80 >> (i % 8) != 0;
            }
        }
        field::DEFAULT_CHARSET => {
            let mut charsets: Vec<_> = columns.iter_mut().filter(|column| column.is_character()).collect();
            let default = value.lenenc()?;
            charsets.iter_mut().for_each(|column| column.charset = Some(default));
            while !value.is_at_end() {
                let i = value.lenenc_len()?;
                let column = charsets.get_mut(i).ok_or_else(|| value.error("no such character column"))?;
                column.charset = Some(value.lenenc()?);
            }
        }
        field::COLUMN_CHARSET => {
            for column in columns.iter_mut().filter(|column| column.is_character()) {
                column.charset = Some(value.lenenc()?);
            }
        }
        field::COLUMN_NAME => {
            for column in columns {
                column.name = Some(decode_name(value.take_counted()?));
            }
        }
        _ => {}
    }
    Ok(())
}

fn decode_primary_key(
    value: &mut Fields<'_>,
    columns: usize,
    with_prefix: bool,
) -> Result<Vec<KeyColumn>, DecodeError> {
    let mut key = Vec::new();
    while !value.is_at_end() {
        let column = value.lenenc_len()?;
        if column >= columns {
            return Err(value.error("no such column"));
        }
        let prefix = if with_prefix { value.lenenc()? } else { 0 };
        let prefix = u16::try_from(prefix).map_err(|_| value.error("key prefix too long"))?;
        key.push(KeyColumn { column, prefix: (prefix > 0).then_some(prefix) });
    }
    Ok(key)
}
