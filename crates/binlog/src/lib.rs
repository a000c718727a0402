//! The binlog: the MySQL-format change stream, as events, as files, and read back.
//!
//! Outline, in the order a transaction meets it:
//! - `events/` has a file for each event: byte picture, encoder, decoder, description, tests;
//! - [`TableMap`] is a table as row events describe it, encoded once per table definition;
//! - [`TransactionEvents`] collects a transaction's events while its statements run, wire-ready except
//!   for positions and checksums;
//! - [`TransactionEvents::compress`] makes one event of them, where that is asked for and helps;
//! - [`TransactionEvents::lay_out`] gives them a place in a file: the only work left for the ordered
//!   section of a commit;
//! - [`file_header`] and [`rotate_event`] are the other bytes of a file, made as plain bytes too, so
//!   that the journal can hold every byte of every binlog file;
//! - [`BinlogFiles`] puts the bytes into files and keeps the index of the files;
//! - [`BinlogReader`] reads them back and trusts nothing;
//! - [`Points`] are where readers by GTID begin inside of files;
//! - [`Tail`] says how far the binlog is durable and keeps its newest bytes, [`Follower`] reads on as it grows;
//! - [`Acks`] has commits wait for replicas that acknowledge what they got;
//! - [`artificial_rotate`], [`heartbeat`] and [`format_description_for_reader`] are what only readers get.
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

mod acks;
mod checksum;
mod compress;
mod events;
mod events_file;
mod fields;
mod files;
mod follow;
mod gtid;
mod index;
mod inspect;
mod layout;
mod points;
mod position;
mod reader;
mod row;
mod sent;
mod space;
mod tail;
mod transaction;
mod wire;
mod xa;

#[cfg(test)]
mod tests;

pub use acks::{AckOptions, AckStats, Acks};
pub use cohort_types::{FieldType, Value};
pub use events::format_description::FormatDescription;
pub use events::gtid::GtidEvent;
pub use events::int_var::IntVarEvent;
pub use events::query::{QueryContext, QueryEvent};
pub use events::rotate::{RotateEvent, rotate_event, rotate_event_len};
pub use events::rows::{Image, RowsEvent};
pub use events::rows_query::RowsQueryEvent;
pub use events::table_map::{ColumnMeta, DecodedColumn, KeyColumn, RowMetadata, TableMap, TableMapEvent, Tables};
pub use events::transaction_payload::{PayloadEvents, TransactionPayloadEvent};
pub use events::user_var::UserVarEvent;
pub use events::xa_prepare::XaPrepareEvent;
pub use events::xid::XidEvent;
pub use events::{Description, Event, EventBody, Shown};
pub use events_file::EventsFile;
pub use fields::DecodeError;
pub use files::{BinlogError, BinlogFile, BinlogFiles, BinlogOptions, InvalidPosition, RecoveredFiles};
pub use follow::{FollowError, Followed, Follower};
pub use gtid::{Gtid, GtidParseError, GtidSet, ServerUuid};
pub use inspect::{BinlogListing, InFile, look_for};
pub use layout::{FileStart, ServerIdentity, Stamp, file_header};
pub use points::Points;
pub use position::BinlogPosition;
pub use reader::{BinlogReader, FileHistory, ReadError, ReaderOptions, events_of};
pub use row::Row;
pub use sent::{artificial_rotate, format_description_for_reader, gtid_of_event, header_of_event, heartbeat};
pub use tail::Tail;
pub use transaction::{EventOptions, EventsMark, LargeEvents, StatementInputs, TransactionEvents};
pub use wire::{EventHeader, EventType, FILE_BYTES_MAX, HEADER_BYTES};
pub use xa::XaId;
