//! XID events: the commit of a transaction, with its number.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! xid u64
//! ```

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{CRC_BYTES, EventHeader, EventType, HEADER_BYTES, Origin, begin_event, end_event};

impl EventType {
    /// Commit of a transaction.
    pub const XID: EventType = EventType(16);
}

/// Commit of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XidEvent {
    /// The commit's number.
    pub xid: u64,
}

/// Bytes of the event.
pub(crate) const EVENT_BYTES: u64 = (HEADER_BYTES + 8 + CRC_BYTES) as u64;

impl XidEvent {
    /// Appends the event, without its place.
    pub(crate) fn push(self, out: &mut Vec<u8>, origin: Origin) {
        let start = out.len();
        begin_event(out, EventType::XID, 0, origin);
        out.extend_from_slice(&self.xid.to_le_bytes());
        end_event(out, start);
    }
}

impl EventKind<'_> for XidEvent {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::XID, "Xid")];

    fn decode(_: &EventHeader, fields: &mut Fields<'_>) -> Result<XidEvent, DecodeError> {
        Ok(XidEvent { xid: fields.u64()? })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        Ok(Description { text: self.xid.to_string(), fields: vec![("xid", self.xid.into())] })
    }

    fn info(&self) -> String {
        format!("COMMIT /* xid={} */", self.xid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{ORIGIN, check};

    #[test]
    fn round_trip() {
        let mut event = Vec::new();
        XidEvent { xid: 0x0102 }.push(&mut event, ORIGIN);
        assert_eq!(event.len() as u64, EVENT_BYTES);
        check(&event, XidEvent { xid: 0x0102 }, &[2, 1, 0, 0, 0, 0, 0, 0], "258");
    }
}
