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

const FLAGS2: u8 = 0;
const SQL_MODE: u8 = 1;
const CHARSET: u8 = 4;
const TIME_ZONE: u8 = 5;
const CATALOG: u8 = 6;
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
    /// `time_zone`, written when not empty. At most 255 bytes.
    pub time_zone: String,
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
        }
    }
}

/// Whether a query carries room for the number of the commit that logged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryXid {
    /// BEGIN: the transaction ends with an XID event.
    InXidEvent,
    /// DDL: the query is the whole transaction.
    InStatus,
}

/// Appends the body of a query; returns where in `out` the eight bytes of the XID stand, if it has them.
///
/// # Panics
/// When `database` is longer than 255 bytes: names have at most 64 characters.
pub(super) fn push_query(
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
pub(super) fn ddl_xid(status: &[u8]) -> Option<u64> {
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
    if let Some(len) = u8::try_from(context.time_zone.len()).ok().filter(|len| *len > 0) {
        out.extend_from_slice(&[TIME_ZONE, len]);
        out.extend_from_slice(context.time_zone.as_bytes());
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
fn known_everywhere(collation: u16) -> u16 {
    if collation >= UTF8MB4_0900_AI_CI { UTF8MB4_GENERAL_CI } else { collation }
}
