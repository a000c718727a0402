//! The events of one transaction, collected while its statements run.
//!
//! Everything is kept in one buffer of whole events whose positions and checksums are still missing;
//! [`TransactionEvents::lay_out`](super::layout) fills those in. A row event stays open, without size
//! and flags, until a row does not belong into it any more.
//!
//! Invariants
//! 1. Each statement's table maps stand in front of its row events, one per table: a reader that meets
//!    a new table after the first row event of a statement ignores its rows.
//! 2. The last row event of each statement carries the end-of-statement flag, and no other does.
//! 3. [`TransactionEvents::truncate`] leaves what was there at the mark; at most a table map more.
//! 4. Rows keep the order in which they were written.
//!
//! Not here: events of a large transaction, which go to a file while it runs (`transaction/spilled.rs`).

mod spilled;

use super::checksum::ZeroPositionCrc;
use super::events::int_var::IntVarEvent;
use super::events::query::{QueryContext, QueryXid, push_query};
use super::events::rows::Image;
use super::events::table_map::{RowMetadata, TableMap};
use super::events::xa_prepare::XaPrepareEvent;
use super::events::{gtid, rows, rows_query, user_var, xid};
use super::wire::{
    CRC_BYTES, EventType, FLAG_IGNORABLE, FLAG_SUPPRESS_USE, HEADER_BYTES, Origin, begin_event, end_event,
};
use super::xa::XaId;
use cohort_types::{Collation, Value};
use spilled::Spilled;

pub use spilled::LargeEvents;

/// From here on an event's checksum is taken when it is complete, outside of the ordered section.
const EARLY_CRC_BYTES: usize = 2048;
/// A buffer larger than this is not kept for the next transaction.
const KEPT_BYTES: usize = 1 << 20;

/// What the events of a server have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventOptions {
    pub server_id: u32,
    /// The server's version as `major * 10000 + minor * 100 + patch`.
    pub server_version: u32,
    /// `binlog_row_event_max_size`: a row event gets no further row that would take it past this many
    /// bytes; a longer row has an event of its own.
    pub row_event_bytes_max: usize,
    /// `binlog_row_metadata`: what table maps say about columns.
    pub row_metadata: RowMetadata,
    /// Gives the events of XA transactions the commit's number too, for a recovery that goes by the binlog.
    pub number_xa: bool,
}

impl Default for EventOptions {
    fn default() -> EventOptions {
        EventOptions {
            server_id: 1,
            server_version: 80040,
            row_event_bytes_max: 8192,
            row_metadata: RowMetadata::Minimal,
            number_xa: false,
        }
    }
}

/// A complete event in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) start: usize,
    /// Present for large events.
    pub(super) early_crc: Option<ZeroPositionCrc>,
}

/// The row event that takes further rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpenRows {
    start: usize,
    table_id: u64,
    kind: EventType,
}

/// The statement that is running; without tables it has not written a row yet.
#[derive(Clone, Debug, Default)]
struct Statement {
    /// Distinguishes statements, so that a mark can be checked.
    serial: u64,
    tables: Vec<u64>,
    /// Where the next table map goes: bytes of events before it, those in the file included.
    maps_end: u64,
    /// The maps are in the file: another table's rows begin a new group, as if of another statement.
    maps_spilled: bool,
    /// The groups that ended: where their maps end, and their tables.
    groups: Vec<(u64, Vec<u64>)>,
    open: Option<OpenRows>,
    /// What ROWS_QUERY says of it.
    text: Option<Box<[u8]>>,
}

/// How the events of a transaction end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With an XID event, which the layout adds.
    Xid,
    /// With an XID event inside of the payload, which is the only event.
    Payload,
    /// With their only query.
    Query,
    /// With a COMMIT, which is in the buffer: they change nothing.
    Commit,
    /// With XA_PREPARE, which is in the buffer.
    XaPrepare,
}

/// A point that [`TransactionEvents::truncate`] goes back to.
#[derive(Clone, Debug)]
pub struct EventsMark {
    /// What was in the file; the places that follow are those in the buffer.
    spilled: u64,
    len: usize,
    slots: usize,
    serial: u64,
    tables: usize,
    group: usize,
    maps_end: u64,
    open: Option<OpenRows>,
    statements: usize,
}

/// What a statement that is logged as text uses of its session beside what a [`QueryContext`] says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatementInputs {
    /// LAST_INSERT_ID() before the statement, if that is used.
    pub last_insert_id: Option<u64>,
    /// The first AUTO_INCREMENT value that the statement made; the others follow it, one after another.
    pub insert_id: Option<u64>,
    /// The user variables that the statement names, as they were before it, with the collations of texts.
    pub user_variables: Vec<(String, Value, Collation)>,
}

/// The row or query events of one transaction before it has a position.
#[derive(Debug)]
pub struct TransactionEvents {
    pub(super) options: EventOptions,
    pub(super) timestamp_s: u32,
    context: QueryContext,
    database: String,
    /// Body of BEGIN for `context` and `database`; empty when it must be built anew.
    begin_body: Vec<u8>,
    pub(super) buffer: Vec<u8>,
    pub(super) slots: Vec<Slot>,
    /// What was before the buffer, of a large transaction.
    spilled: Option<Box<Spilled>>,
    statement: Statement,
    xa: Option<XaId>,
    /// Statements that were logged as text, not as rows.
    pub(super) statements: usize,
    /// The level of `binlog_transaction_compression_level_zstd`; `None` for no compression.
    pub(super) compression: Option<i32>,
    pub(super) ending: Ending,
    /// Where the commit's number goes, if not into an XID event.
    pub(super) number_at: Option<usize>,
}

impl TransactionEvents {
    /// A transaction without events.
    pub fn new(options: EventOptions) -> TransactionEvents {
        TransactionEvents {
            options,
            timestamp_s: 0,
            context: QueryContext::default(),
            database: String::new(),
            begin_body: Vec::new(),
            buffer: Vec::new(),
            slots: Vec::new(),
            spilled: None,
            statement: Statement::default(),
            xa: None,
            statements: 0,
            compression: None,
            ending: Ending::Xid,
            number_at: None,
        }
    }

    /// Sets what BEGIN and queries say of the session, from the next one on. Cheap when nothing changed.
    pub fn set_context(&mut self, context: &QueryContext, database: &str) {
        if self.context != *context {
            self.context.clone_from(context);
            self.begin_body.clear();
        }
        if self.database != database {
            self.database.clear();
            self.database.push_str(database);
            self.begin_body.clear();
        }
    }

    /// Sets the time that the following events carry: seconds since the epoch at the statement's start.
    pub fn set_timestamp(&mut self, timestamp_s: u32) {
        self.timestamp_s = timestamp_s;
    }

    /// Sets whether [`TransactionEvents::compress`] compresses the transaction, and how well: zstd's levels, from 1 to 22.
    pub fn set_compression(&mut self, level: Option<i32>) {
        self.compression = level;
    }

    /// An inserted row. Images are a null bitmap over all columns and the values that are not NULL.
    pub fn write_row(&mut self, table: &TableMap, after: &[u8]) {
        self.change(EventType::WRITE_ROWS, table, [Some(all_of(table, after)), None]);
    }

    /// A row that became another one.
    pub fn update_row(&mut self, table: &TableMap, before: &[u8], after: &[u8]) {
        self.change(EventType::UPDATE_ROWS, table, [before, after].map(|image| Some(all_of(table, image))));
    }

    pub fn delete_row(&mut self, table: &TableMap, before: &[u8]) {
        self.change(EventType::DELETE_ROWS, table, [Some(all_of(table, before)), None]);
    }

    /// As [`TransactionEvents::update_row`], with some columns only.
    pub fn update_columns(&mut self, table: &TableMap, before: Image<'_>, after: Image<'_>) {
        self.change(EventType::UPDATE_ROWS, table, [Some(before), Some(after)]);
    }

    /// As [`TransactionEvents::delete_row`], with some columns only.
    pub fn delete_columns(&mut self, table: &TableMap, before: Image<'_>) {
        self.change(EventType::DELETE_ROWS, table, [Some(before), None]);
    }

    /// Sets the text of the statement that begins now; its rows, if there come some, follow an event with it
    /// (`binlog_rows_query_log_events`). `None` for no such event.
    pub fn set_rows_query(&mut self, sql: Option<&[u8]>) {
        self.statement.text = sql.map(Box::from);
    }

    /// A statement that is a transaction of its own (DDL), in the context's character set. A reader selects `database`
    /// before it runs `sql`; give an empty one for statements that need none, such as CREATE DATABASE.
    ///
    /// # Panics
    /// When there are events already: DDL commits before it begins. When the name is longer than 255
    /// bytes.
    pub fn query(&mut self, database: &str, sql: impl AsRef<[u8]>) {
        self.query_event(database, sql.as_ref(), QueryXid::InStatus);
    }

    /// The decision about an XA transaction that was prepared earlier: `XA COMMIT` or `XA ROLLBACK`.
    ///
    /// # Panics
    /// When there are events already.
    pub fn decide_xa(&mut self, xid: &XaId, commit: bool) {
        let verb = if commit { "XA COMMIT" } else { "XA ROLLBACK" };
        let number = self.number_of_xa();
        self.query_event("", format!("{verb} {xid}").as_bytes(), number);
    }

    fn query_event(&mut self, database: &str, sql: &[u8], number: QueryXid) {
        assert!(self.is_empty(), "a query is the only event of its transaction");
        let flags = if database.is_empty() { FLAG_SUPPRESS_USE } else { 0 };
        self.begin(EventType::QUERY, flags);
        self.number_at = push_query(&mut self.buffer, &self.context, database, sql, number);
        self.ending = Ending::Query;
        end_event(&mut self.buffer, 0);
        // No early checksum: the commit's number is still to be written into the event.
        self.slots.push(Slot { start: 0, early_crc: None });
    }

    /// A statement that changed rows, logged as text with what it used (`binlog_format`=STATEMENT). None of its rows is an
    /// event. The context is that of the last [`TransactionEvents::set_context`]: a reader selects its database first.
    ///
    /// # Panics
    /// When the transaction has ended, or is an XA transaction.
    pub fn statement(&mut self, sql: &[u8], inputs: &StatementInputs) {
        assert!(self.ending == Ending::Xid && self.xa.is_none(), "a statement is a part of a plain transaction");
        if self.is_empty() {
            self.push_begin();
        }
        self.end_statement();
        let numbers =
            [inputs.last_insert_id.map(IntVarEvent::last_insert_id), inputs.insert_id.map(IntVarEvent::insert_id)];
        for number in numbers.into_iter().flatten() {
            self.event(EventType::INTVAR, 0, |body| number.push_body(body));
        }
        for (name, value, collation) in &inputs.user_variables {
            self.event(EventType::USER_VAR, 0, |body| user_var::push_body(body, name, value, *collation));
        }
        let flags = if self.database.is_empty() { FLAG_SUPPRESS_USE } else { 0 };
        let start = self.buffer.len();
        self.begin(EventType::QUERY, flags);
        push_query(&mut self.buffer, &self.context, &self.database, sql, QueryXid::WithinTransaction);
        self.complete(start);
        self.statements += 1;
    }

    /// Makes a transaction that changes nothing, for its GTID: BEGIN and COMMIT.
    ///
    /// # Panics
    /// When there are events already.
    pub fn nothing(&mut self) {
        assert!(self.is_empty(), "a transaction with events changes something");
        self.push_begin();
        let start = self.buffer.len();
        self.begin(EventType::QUERY, FLAG_SUPPRESS_USE);
        push_query(&mut self.buffer, &self.context, &self.database, b"COMMIT", QueryXid::InXidEvent);
        self.complete(start);
        self.ending = Ending::Commit;
    }

    /// Says that the events are those of an XA transaction: they begin with `XA START`.
    ///
    /// # Panics
    /// When there are events already.
    pub fn start_xa(&mut self, xid: XaId) {
        assert!(self.is_empty(), "a transaction is an XA transaction from its start");
        self.xa = Some(xid);
    }

    /// Makes the events of an XA transaction those of a plain one, which begin with BEGIN: it is committed in one phase, and
    /// every replica and tool can follow that. MariaDB's stop at an XA_PREPARE that says so, and MySQL's before 5.7 at any.
    pub fn leave_xa(&mut self) {
        self.end_statement();
        if self.xa.take().is_none() || self.is_empty() {
            return;
        }
        let slots = std::mem::take(&mut self.slots);
        let begun = slots.get(1).map_or(self.buffer.len(), |second| second.start);
        let rest = self.buffer.split_off(begun);
        self.buffer.clear();
        self.number_at = None;
        self.push_begin();
        let begin = self.buffer.len();
        self.slots.extend(slots.iter().skip(1).map(|slot| Slot { start: slot.start - begun + begin, ..*slot }));
        self.buffer.extend_from_slice(&rest);
    }

    /// Completes the events of an XA transaction that is prepared. Does nothing when there are none.
    ///
    /// # Panics
    /// When it is no XA transaction.
    pub fn end_xa(&mut self) {
        self.end_statement();
        if self.is_empty() {
            return;
        }
        let xid = self.xa.take().expect("it was started as an XA transaction");
        self.xa_query(&format!("XA END {xid}"), QueryXid::InXidEvent);
        let start = self.buffer.len();
        self.begin(EventType::XA_PREPARE, 0);
        XaPrepareEvent { one_phase: false, xid }.push_body(&mut self.buffer);
        self.complete(start);
        self.ending = Ending::XaPrepare;
    }

    /// Ends the running statement. Does nothing when it wrote no row.
    pub fn end_statement(&mut self) {
        self.close_rows(rows::STATEMENT_END);
        self.next_statement();
        self.statement.text = None;
    }

    /// Where the events stand now. A mark made while a statement has rows is good until that statement
    /// ends; any other as long as the transaction.
    pub fn mark(&self) -> EventsMark {
        EventsMark {
            spilled: self.spilled_len(),
            len: self.buffer.len(),
            slots: self.spilled_slots() + self.slots.len(),
            serial: self.statement.serial,
            tables: self.statement.tables.len(),
            group: self.statement.groups.len(),
            maps_end: self.statement.maps_end,
            open: self.statement.open,
            statements: self.statements,
        }
    }

    /// Takes back every event after `mark`.
    ///
    /// # Panics
    /// When the mark is not good any more.
    pub fn truncate(&mut self, mark: EventsMark) {
        if mark.spilled != self.spilled_len() || mark.tables > 0 && mark.group != self.statement.groups.len() {
            return self.truncate_spilled(mark);
        }
        let mut shift = 0;
        let mut later_maps = 0;
        if mark.tables == 0 {
            self.next_statement();
        } else {
            let statement = &mut self.statement;
            assert!(mark.serial == statement.serial, "a mark within a statement is used before its end");
            shift = (statement.maps_end - mark.maps_end) as usize;
            later_maps = statement.tables.len() - mark.tables;
            statement.open = mark.open.map(|open| OpenRows { start: open.start + shift, ..open });
        }
        assert!(mark.len + shift <= self.buffer.len(), "a mark lies within the transaction");
        self.buffer.truncate(mark.len + shift);
        self.slots.truncate(mark.slots + later_maps - self.spilled_slots());
        self.statements = mark.statements;
        if self.is_empty() {
            self.begin_anew();
        }
    }

    /// Forgets every event; session settings stay.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES);
        self.slots.clear();
        self.spilled = None;
        self.next_statement();
        self.begin_anew();
    }

    /// True for a transaction which nothing may run beside: one with statements, which read, and XA transactions.
    pub fn is_serial(&self) -> bool {
        self.statements > 0 || matches!(self.ending, Ending::Query | Ending::XaPrepare)
    }

    /// Whether there is nothing but rows in it.
    pub(super) fn has_only_rows(&self) -> bool {
        self.statements == 0 && matches!(self.ending, Ending::Xid | Ending::Payload)
    }

    /// True when there is no event.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.spilled_len() == 0
    }

    /// The most bytes the transaction can take in a file if it ends now.
    pub fn byte_len(&self) -> u64 {
        self.spilled_len() + self.unspilled_bytes()
    }

    /// Of that, what is not in a file.
    pub fn unspilled_bytes(&self) -> u64 {
        let events = self.buffer.len() + if self.statement.open.is_some() { CRC_BYTES } else { 0 };
        events as u64 + gtid::EVENT_BYTES_MAX + xid::EVENT_BYTES
    }

    /// Completes the last statement. Called before the transaction joins the commit order;
    /// [`TransactionEvents::lay_out`] does it otherwise, at the cost of those who wait.
    pub fn seal(&mut self) {
        self.end_statement();
    }

    fn begin(&mut self, event_type: EventType, flags: u16) {
        let origin = self.origin();
        begin_event(&mut self.buffer, event_type, flags, origin);
    }

    pub(super) fn origin(&self) -> Origin {
        Origin { timestamp_s: self.timestamp_s, server_id: self.options.server_id }
    }

    #[inline]
    fn change(&mut self, kind: EventType, table: &TableMap, images: [Option<Image<'_>>; 2]) {
        let present = images.map(|image| image.map_or(&[][..], |image| image.present));
        let [first, second] = images.map(|image| image.map_or(&[][..], |image| image.bytes));
        let row_bytes = first.len() + second.len();
        let fits = self.statement.open.is_some_and(|open| {
            open.table_id == table.table_id()
                && open.kind == kind
                && self.buffer.len() - open.start + row_bytes + CRC_BYTES <= self.options.row_event_bytes_max
                && rows::has_columns(&self.buffer[open.start..], kind, table, present)
        });
        if !fits {
            self.open_rows(kind, table, present, row_bytes);
        }
        self.buffer.extend_from_slice(first);
        self.buffer.extend_from_slice(second);
    }

    fn open_rows(&mut self, kind: EventType, table: &TableMap, present: [&[u8]; 2], row_bytes: usize) {
        if self.is_empty() {
            self.push_begin();
        }
        assert!(self.ending == Ending::Xid, "nothing follows the last event of a transaction");
        if self.statement.maps_spilled && !self.statement.tables.contains(&table.table_id()) {
            self.begin_group();
        } else {
            self.close_rows(0);
        }
        if self.statement.tables.is_empty()
            && let Some(text) = self.statement.text.take()
        {
            self.event(EventType::ROWS_QUERY, FLAG_IGNORABLE, |body| rows_query::push_body(body, &text));
            self.statement.text = Some(text);
        }
        if !self.statement.tables.contains(&table.table_id()) {
            self.insert_table_map(table);
        }
        self.buffer.reserve(HEADER_BYTES + 64 + row_bytes);
        let start = self.buffer.len();
        let origin = self.origin();
        rows::begin(&mut self.buffer, kind, table, present, origin);
        self.statement.open = Some(OpenRows { start, table_id: table.table_id(), kind });
    }

    fn close_rows(&mut self, flags: u16) {
        let Some(OpenRows { start, .. }) = self.statement.open.take() else {
            return;
        };
        rows::set_flags(&mut self.buffer[start..], flags);
        self.complete(start);
    }

    fn push_begin(&mut self) {
        if let Some(xid) = &self.xa {
            let (sql, number) = (format!("XA START {xid}"), self.number_of_xa());
            self.number_at = self.xa_query(&sql, number);
            return;
        }
        if self.begin_body.is_empty() {
            push_query(&mut self.begin_body, &self.context, &self.database, b"BEGIN", QueryXid::InXidEvent);
        }
        self.begin(EventType::QUERY, FLAG_SUPPRESS_USE);
        self.buffer.extend_from_slice(&self.begin_body);
        self.complete(0);
    }

    /// A statement within an XA transaction; short, so that it gets no early checksum.
    fn xa_query(&mut self, sql: &str, number: QueryXid) -> Option<usize> {
        let start = self.buffer.len();
        self.begin(EventType::QUERY, FLAG_SUPPRESS_USE);
        let number_at = push_query(&mut self.buffer, &self.context, &self.database, sql.as_bytes(), number);
        self.complete(start);
        number_at
    }

    fn number_of_xa(&self) -> QueryXid {
        if self.options.number_xa { QueryXid::InStatus } else { QueryXid::InXidEvent }
    }

    fn begin_anew(&mut self) {
        self.ending = Ending::Xid;
        self.statements = 0;
        self.number_at = None;
    }

    fn event(&mut self, event_type: EventType, flags: u16, push_body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        self.begin(event_type, flags);
        push_body(&mut self.buffer);
        self.complete(start);
    }

    /// Ends the event that begins at `start` and reaches to the end of the buffer.
    pub(super) fn complete(&mut self, start: usize) {
        end_event(&mut self.buffer, start);
        let event = &self.buffer[start..];
        let early_crc = (event.len() >= EARLY_CRC_BYTES).then(|| ZeroPositionCrc::of(event));
        self.slots.push(Slot { start, early_crc });
    }

    /// Puts a table map after the statement's others, in front of its row events.
    fn insert_table_map(&mut self, table: &TableMap) {
        let (end, in_file) = (self.buffer.len(), self.spilled_len());
        if self.statement.tables.is_empty() {
            self.statement.maps_end = in_file + end as u64;
        }
        let at = (self.statement.maps_end - in_file) as usize;
        self.begin(EventType::TABLE_MAP, 0);
        self.buffer.extend_from_slice(table.body(self.options.row_metadata));
        self.complete(end);
        let map_bytes = self.buffer.len() - end;
        if at < end {
            self.buffer[at..].rotate_right(map_bytes);
            self.move_last_slot_to(at, map_bytes);
        }
        self.statement.tables.push(table.table_id());
        self.statement.maps_end += map_bytes as u64;
    }

    fn move_last_slot_to(&mut self, at: usize, map_bytes: usize) {
        let Some(mut moved) = self.slots.pop() else {
            return;
        };
        moved.start = at;
        let first_behind = self.slots.partition_point(|slot| slot.start < at);
        for slot in &mut self.slots[first_behind..] {
            slot.start += map_bytes;
        }
        self.slots.insert(first_behind, moved);
    }

    fn next_statement(&mut self) {
        self.statement.serial += 1;
        self.statement.tables.clear();
        self.statement.maps_spilled = false;
        self.statement.groups.clear();
        self.statement.open = None;
    }

    pub(super) fn xid_event_bytes(&self) -> u64 {
        if self.ending == Ending::Xid { xid::EVENT_BYTES } else { 0 }
    }
}

fn all_of<'a>(table: &'a TableMap, bytes: &'a [u8]) -> Image<'a> {
    Image { present: table.all_columns(), bytes }
}
