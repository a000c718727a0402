//! QUERY events: BEGIN and DDL, with the session's settings that a replica needs to run them alike.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! thread id u32 | seconds it ran u32 | database length u8 | error u16 | status length u16
//! status variables | database, 0 | statement
//! ```
//!
//! Status variables that old readers do not know stand last, because a reader stops at the first one
//! it does not know.

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{EventHeader, EventType};

impl EventType {
    /// A statement, or the start of a transaction.
    pub const QUERY: EventType = EventType(2);
}

const FLAGS2: u8 = 0;
const SQL_MODE: u8 = 1;
const CHARSET: u8 = 4;
const TIME_ZONE: u8 = 5;
const CATALOG: u8 = 6;
const MICROSECONDS: u8 = 13;
const DDL_XID: u8 = 17;
const DEFAULT_COLLATION_FOR_UTF8MB4: u8 = 18;

/// Collation id of `utf8mb4_0900_ai_ci`.
const UTF8MB4_0900_AI_CI: u16 = 255;
/// Collation id of `utf8mb4_general_ci`.
const UTF8MB4_GENERAL_CI: u16 = 45;

/// The settings of a session that go with its statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryContext {
    /// Connection id.
    pub thread_id: u32,
    /// `sql_mode` as MySQL's bit mask.
    pub sql_mode: u64,
    /// Bits of `foreign_key_checks`, `unique_checks`, `autocommit`, `sql_auto_is_null` as MySQL's
    /// OPTION bits; 0 means all at their defaults.
    pub flags2: u32,
    /// `character_set_client`, as a collation id.
    pub client_charset: u16,
    /// `collation_connection`, as a collation id.
    pub connection_collation: u16,
    /// `collation_server`, as a collation id.
    pub server_collation: u16,
    /// `time_zone`, written with statements when not empty. At most 255 bytes.
    pub time_zone: String,
    /// The part of a second of the statement's time, below 1000000; written with statements when not 0.
    pub microseconds: u32,
}

impl Default for QueryContext {
    fn default() -> QueryContext {
        QueryContext {
            thread_id: 0,
            sql_mode: 0,
            flags2: 0,
            client_charset: UTF8MB4_0900_AI_CI,
            connection_collation: UTF8MB4_0900_AI_CI,
            server_collation: UTF8MB4_0900_AI_CI,
            time_zone: String::new(),
            microseconds: 0,
        }
    }
}

/// Whether a query carries room for the number of the commit that logged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryXid {
    /// BEGIN: the transaction ends with an XID event.
    InXidEvent,
    /// A statement of such a transaction.
    WithinTransaction,
    /// DDL: the query is the whole transaction.
    InStatus,
}

/// Appends the body of a query; returns where in `out` the eight bytes of the XID stand, if it has them.
///
/// # Panics
/// When `database` is longer than 255 bytes: names have at most 64 characters.
pub(crate) fn push_query(
    out: &mut Vec<u8>,
    context: &QueryContext,
    database: &str,
    sql: &[u8],
    xid: QueryXid,
) -> Option<usize> {
    let database_len = u8::try_from(database.len()).expect("a database name has at most 255 bytes");
    out.extend_from_slice(&context.thread_id.to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    out.push(database_len);
    out.extend_from_slice(&0u16.to_le_bytes());
    let status_len_at = out.len();
    out.extend_from_slice(&[0; 2]);
    let xid_at = push_status(out, context, xid);
    let status_len = (out.len() - status_len_at - 2) as u16;
    out[status_len_at..status_len_at + 2].copy_from_slice(&status_len.to_le_bytes());
    out.extend_from_slice(database.as_bytes());
    out.push(0);
    out.extend_from_slice(sql);
    xid_at
}

/// The reverse of what [`push_status`] does last: finds the XID in the status variables of a query that it
/// wrote.
fn ddl_xid(status: &[u8]) -> Option<u64> {
    let (status, collation) = status.split_last_chunk::<3>()?;
    let (status, xid) = status.split_last_chunk::<8>()?;
    let ours = collation[0] == DEFAULT_COLLATION_FOR_UTF8MB4 && status.last() == Some(&DDL_XID);
    ours.then(|| u64::from_le_bytes(*xid))
}

fn push_status(out: &mut Vec<u8>, context: &QueryContext, xid: QueryXid) -> Option<usize> {
    out.push(FLAGS2);
    out.extend_from_slice(&context.flags2.to_le_bytes());
    out.push(SQL_MODE);
    out.extend_from_slice(&context.sql_mode.to_le_bytes());
    out.extend_from_slice(&[CATALOG, 3]);
    out.extend_from_slice(b"std");
    out.push(CHARSET);
    for collation in [context.client_charset, context.connection_collation, context.server_collation] {
        out.extend_from_slice(&known_everywhere(collation).to_le_bytes());
    }
    // Rows mean the same in every time zone.
    let zone_len = u8::try_from(context.time_zone.len()).ok().filter(|len| *len > 0 && xid != QueryXid::InXidEvent);
    if let Some(len) = zone_len {
        out.extend_from_slice(&[TIME_ZONE, len]);
        out.extend_from_slice(context.time_zone.as_bytes());
    }
    if context.microseconds > 0 && xid != QueryXid::InXidEvent {
        out.push(MICROSECONDS);
        out.extend_from_slice(&context.microseconds.to_le_bytes()[..3]);
    }
    let mut xid_at = None;
    if xid == QueryXid::InStatus {
        out.push(DDL_XID);
        xid_at = Some(out.len());
        out.extend_from_slice(&[0; 8]);
    }
    out.push(DEFAULT_COLLATION_FOR_UTF8MB4);
    out.extend_from_slice(&UTF8MB4_0900_AI_CI.to_le_bytes());
    xid_at
}

/// The collation to write for a session's: MariaDB and MySQL before 8.0 refuse a whole statement for a
/// collation they do not know, so those of the 0900 family, all utf8mb4, become `utf8mb4_general_ci`. That
/// also gives a table whose character set is not spelt out the same bytes per character there.
pub(super) fn known_everywhere(collation: u16) -> u16 {
    if collation >= UTF8MB4_0900_AI_CI { UTF8MB4_GENERAL_CI } else { collation }
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
        ddl_xid(self.status)
    }
}

impl<'a> EventKind<'a> for QueryEvent<'a> {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::QUERY, "Query")];

    fn decode(_: &EventHeader, fields: &mut Fields<'a>) -> Result<QueryEvent<'a>, DecodeError> {
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

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let [database, statement] = [self.database, self.sql].map(|text| String::from_utf8_lossy(text).into_owned());
        let text = if database.is_empty() { statement.clone() } else { format!("{database}: {statement}") };
        Ok(Description { text, fields: vec![("database", database.into()), ("statement", statement.into())] })
    }

    fn info(&self) -> String {
        let [database, sql] = [self.database, self.sql].map(String::from_utf8_lossy);
        // What begins and ends a transaction has no database.
        let has_database = !database.is_empty() && !matches!(&*sql, "BEGIN" | "COMMIT" | "ROLLBACK");
        let used = if has_database { format!("use `{}`; ", database.replace('`', "``")) } else { String::new() };
        let xid = self.ddl_xid().map_or_else(String::new, |xid| format!(" /* xid={xid} */"));
        format!("{used}{sql}{xid}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{check, event_of};

    #[test]
    fn round_trip() {
        let microseconds = 0x07_0605;
        let context =
            QueryContext { thread_id: 42, time_zone: "UTC".to_owned(), microseconds, ..QueryContext::default() };
        let mut body = Vec::new();
        let xid_at = push_query(&mut body, &context, "shop", b"DROP TABLE t", QueryXid::InStatus).expect("room");
        body[xid_at..xid_at + 8].copy_from_slice(&7u64.to_le_bytes());
        let status = [
            &[FLAGS2, 0, 0, 0, 0, SQL_MODE, 0, 0, 0, 0, 0, 0, 0, 0, CATALOG, 3][..],
            b"std",
            &[CHARSET, 45, 0, 45, 0, 45, 0, TIME_ZONE, 3],
            b"UTC",
            &[MICROSECONDS, 5, 6, 7],
            &[DDL_XID, 7, 0, 0, 0, 0, 0, 0, 0, DEFAULT_COLLATION_FOR_UTF8MB4, 255, 0],
        ]
        .concat();
        let head = [42, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, status.len() as u8, 0];
        let golden = [&head[..], &status, b"shop\0DROP TABLE t"].concat();
        let event = QueryEvent { thread_id: 42, error: 0, status: &status, database: b"shop", sql: b"DROP TABLE t" };
        assert_eq!(event.ddl_xid(), Some(7));
        check(&event_of(EventType::QUERY, &body), event, &golden, "shop: DROP TABLE t");
    }
}
