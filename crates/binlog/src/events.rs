//! Events, each in a file of its own: byte picture, encoder, decoder, description, tests.
//!
//! What all have in common is in `wire.rs` (header, checksum) and `events/kind.rs`.

pub(crate) mod format_description;
pub(crate) mod gtid;
pub(crate) mod int_var;
mod kind;
pub(crate) mod previous_gtids;
pub(crate) mod query;
pub(crate) mod rotate;
pub(crate) mod rows;
pub(crate) mod rows_query;
pub(crate) mod table_map;
pub(crate) mod transaction_payload;
pub(crate) mod user_var;
pub(crate) mod xa_prepare;
pub(crate) mod xid;

use crate::fields::{DecodeError, Fields};
use crate::gtid::GtidSet;
use crate::wire::{CRC_BYTES, EventHeader, EventType, FLAG_GTIDS_CHANGED, HEADER_BYTES};
use format_description::FormatDescription;
use gtid::GtidEvent;
use int_var::IntVarEvent;
use kind::EventKind;
pub use kind::{Description, Shown};
use query::QueryEvent;
use rotate::RotateEvent;
use rows::RowsEvent;
use rows_query::RowsQueryEvent;
use table_map::{TableMapEvent, Tables};
use transaction_payload::TransactionPayloadEvent;
use user_var::UserVarEvent;
use xa_prepare::XaPrepareEvent;
use xid::XidEvent;

/// A whole event, its checksum verified.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Where it begins in its file.
    pub offset: u64,
    pub header: EventHeader,
    /// What stands between header and checksum.
    pub body: &'a [u8],
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident($kind:ident $(<$life:lifetime>)?),)*) => {
        /// An event by its type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum EventBody<'a> {
            $($(#[$doc])* $name($kind $(<$life>)?),)*
            /// A type that this server does not write.
            Other(EventType),
        }

        $(impl<'a> From<$kind $(<$life>)?> for EventBody<'a> {
            fn from(event: $kind $(<$life>)?) -> EventBody<'a> {
                EventBody::$name(event)
            }
        })*

        impl EventType {
            /// The name as `SHOW BINLOG EVENTS` gives it; `Unknown` for what this server never writes.
            pub fn name(self) -> &'static str {
                let types = [$($kind::TYPES),*];
                types.into_iter().flatten().find(|(code, _)| *code == self).map_or("Unknown", |(_, name)| name)
            }
        }

        impl<'a> Event<'a> {
            /// A whole event, of which every byte is right.
            pub fn of(offset: u64, bytes: &'a [u8]) -> Event<'a> {
                let header = EventHeader::decode(bytes.first_chunk().expect("a whole event"));
                Event { offset, header, body: &bytes[HEADER_BYTES..bytes.len() - CRC_BYTES] }
            }

            /// Whether this is a PREVIOUS_GTIDS whose set an operator has changed.
            pub fn changes_gtids(&self) -> bool {
                self.header.event_type == EventType::PREVIOUS_GTIDS && self.header.flags & FLAG_GTIDS_CHANGED != 0
            }

            pub fn decode(&self) -> Result<EventBody<'a>, DecodeError> {
                let mut fields = Fields::new(self.body);
                $(if $kind::TYPES.iter().any(|(code, _)| *code == self.header.event_type) {
                    return EventKind::decode(&self.header, &mut fields).map(EventBody::$name);
                })*
                Ok(EventBody::Other(self.header.event_type))
            }
        }

        impl EventBody<'_> {
            /// What SHOW BINLOG EVENTS says of the event.
            pub fn info(&self) -> String {
                match self {
                    $(EventBody::$name(event) => event.info(),)*
                    EventBody::Other(_) => String::new(),
                }
            }

            /// Says what the event says. `tables` are the table maps before it, which one more joins if this is one.
            pub fn describe(&self, tables: &mut Tables) -> Result<Description, DecodeError> {
                if let EventBody::TableMap(table) = self {
                    tables.insert(table.table_id, table.clone());
                }
                match self {
                    $(EventBody::$name(event) => event.describe(tables),)*
                    EventBody::Other(code) => Ok(Description { text: format!("type {}", code.0), fields: Vec::new() }),
                }
            }
        }
    };
}

events! {
    /// First event of a file.
    FormatDescription(FormatDescription),
    /// The transactions in the files before.
    PreviousGtids(GtidSet),
    /// First event of a transaction.
    Gtid(GtidEvent),
    Query(QueryEvent<'a>),
    /// A table that row events name.
    TableMap(TableMapEvent),
    /// Changed rows.
    Rows(RowsEvent<'a>),
    /// The statement whose rows follow.
    RowsQuery(RowsQueryEvent<'a>),
    /// Commit, with its number.
    Xid(XidEvent),
    /// The end of an XA transaction's rows.
    XaPrepare(XaPrepareEvent),
    /// The next file.
    Rotate(RotateEvent),
    /// The events of a transaction, compressed.
    TransactionPayload(TransactionPayloadEvent<'a>),
    /// A user variable of the statement that follows.
    UserVar(UserVarEvent<'a>),
    /// A number of the statement that follows.
    IntVar(IntVarEvent),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Origin, begin_event, end_event};

    /// Who writes the events of tests.
    pub(super) const ORIGIN: Origin = Origin { timestamp_s: 1_700_000_000, server_id: 7 };

    /// An event with this body.
    pub(super) fn event_of(event_type: EventType, body: &[u8]) -> Vec<u8> {
        let mut event = Vec::new();
        begin_event(&mut event, event_type, 0, ORIGIN);
        event.extend_from_slice(body);
        end_event(&mut event, 0);
        event
    }

    /// The body of an event, decoded.
    pub(super) fn body_of(event: &[u8]) -> Result<EventBody<'_>, DecodeError> {
        let header = EventHeader::decode(event.first_chunk().expect("a header"));
        assert_eq!((header.event_bytes as usize, header.server_id), (event.len(), ORIGIN.server_id));
        Event { offset: 0, header, body: &event[HEADER_BYTES..event.len() - CRC_BYTES] }.decode()
    }

    /// An event has this body, decodes as `expected`, reads as `text`, and is another one or none where it is cut.
    pub(super) fn check<'a>(event: &'a [u8], expected: impl Into<EventBody<'a>>, golden: &[u8], text: &str) {
        let (expected, body) = (expected.into(), &event[HEADER_BYTES..event.len() - CRC_BYTES]);
        assert_eq!(body, golden);
        assert_eq!(body_of(event).as_ref(), Ok(&expected));
        assert_eq!(expected.describe(&mut Tables::new()).expect("an event that stands alone").text, text);
        let header = EventHeader::decode(event.first_chunk().expect("a header"));
        for len in 0..body.len() {
            let cut = Event { offset: 0, header, body: &body[..len] }.decode();
            assert_ne!(cut.as_ref(), Ok(&expected), "cut to {len} bytes");
        }
    }
}
