//! The binlog: the MySQL-format change stream, as events, as files, and read back.
//!
//! Outline, in the order a transaction meets it:
//! - [`TableMap`] is a table as row events describe it, encoded once per table definition;
//! - [`TransactionEvents`] collects a transaction's events while its statements run, wire-ready except
//!   for positions and checksums;
//! - [`TransactionEvents::lay_out`] gives them a place in a file: the only work left for the ordered
//!   section of a commit;
//! - [`file_header`] and [`rotate_event`] are the other bytes of a file, made as plain bytes too, so
//!   that the journal can hold every byte of every binlog file;
//! - [`BinlogFiles`] puts the bytes into files and keeps the index of the files;
//! - [`BinlogReader`] reads them back and trusts nothing.
//!
//! Format: binlog version 4 as MySQL 8.0 writes it, every event with a CRC32; see
//! `docs/binlog-format.md`.
//!
//! On crash: nothing here is synced on the commit path. The journal holds the same bytes, and
//! [`BinlogFiles::replay`] writes again what a file lost.
//!
//! Not here: when a commit happens and in which order (`cohort-txn`), how a column's value becomes
//! bytes (`cohort-sql`), sending events to replicas (`cohort-server`).

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod checksum;
mod decode;
mod fields;
mod files;
mod gtid;
mod index;
mod inspect;
mod layout;
mod position;
mod query;
mod reader;
mod row;
mod space;
mod table_map;
mod transaction;
mod wire;
mod xa;

#[cfg(test)]
mod tests;

pub use cohort_types::{FieldType, Value};
pub use decode::{
    DecodeError, DecodedColumn, Event, EventBody, FormatDescription, GtidEvent, QueryEvent, RotateEvent, RowsEvent,
    TableMapEvent,
};
pub use files::{BinlogError, BinlogFile, BinlogFiles, BinlogOptions, NoPlace, RecoveredFiles};
pub use gtid::{Gtid, GtidParseError, GtidSet, ServerUuid};
pub use inspect::{BinlogListing, InFile, look_for};
pub use layout::{FileStart, ServerIdentity, Stamp, file_header, rotate_event, rotate_event_len};
pub use position::BinlogPosition;
pub use query::QueryContext;
pub use reader::{BinlogReader, ReadError, ReaderOptions, events_of};
pub use row::Row;
pub use table_map::{ColumnMeta, KeyColumn, RowMetadata, TableMap};
pub use transaction::{EventOptions, EventsMark, TransactionEvents};
pub use wire::{EventHeader, EventType, FILE_BYTES_MAX, HEADER_BYTES};
pub use xa::{XaId, XaPrepareEvent};
