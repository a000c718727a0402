//! ROWS_QUERY events: the text of the statement whose rows follow, for people and tools (`binlog_rows_query_log_events`).
//!
//! Format of the body: a length u8, which readers ignore because texts are longer, and the text.

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{EventHeader, EventType};

impl EventType {
    /// The statement whose rows follow.
    pub const ROWS_QUERY: EventType = EventType(29);
}

/// The text of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsQueryEvent<'a> {
    pub sql: &'a [u8],
}

/// Appends the body.
pub(crate) fn push_body(out: &mut Vec<u8>, sql: &[u8]) {
    out.push(u8::try_from(sql.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(sql);
}

impl<'a> EventKind<'a> for RowsQueryEvent<'a> {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::ROWS_QUERY, "Rows_query")];

    fn decode(_: &EventHeader, fields: &mut Fields<'a>) -> Result<RowsQueryEvent<'a>, DecodeError> {
        fields.u8()?;
        Ok(RowsQueryEvent { sql: fields.rest() })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let statement = String::from_utf8_lossy(self.sql).into_owned();
        Ok(Description { text: statement.clone(), fields: vec![("statement", statement.into())] })
    }

    fn info(&self) -> String {
        format!("# {}", String::from_utf8_lossy(self.sql))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{check, event_of};

    #[test]
    fn round_trip() {
        for (sql, len) in [("DELETE FROM t".to_owned(), 13), ("x".repeat(300), 255)] {
            let mut body = Vec::new();
            push_body(&mut body, sql.as_bytes());
            let golden = [&[len][..], sql.as_bytes()].concat();
            let event = event_of(EventType::ROWS_QUERY, &body);
            check(&event, RowsQueryEvent { sql: sql.as_bytes() }, &golden, &sql);
        }
    }
}
