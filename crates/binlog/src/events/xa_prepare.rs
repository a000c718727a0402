//! XA_PREPARE events: the rows of an XA transaction are complete.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! one phase u8 | format id u32 | length of gtrid u32 | length of bqual u32 | gtrid, bqual
//! ```

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{EventHeader, EventType};
use crate::xa::XaId;

impl EventType {
    /// The rows of an XA transaction are complete.
    pub const XA_PREPARE: EventType = EventType(38);
}

/// The end of an XA transaction's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XaPrepareEvent {
    /// Committed with it (XA COMMIT … ONE PHASE), as MySQL writes it; this server writes a plain transaction then.
    pub one_phase: bool,
    pub xid: XaId,
}

impl XaPrepareEvent {
    /// Appends the body.
    pub(crate) fn push_body(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.one_phase));
        out.extend_from_slice(&self.xid.format_id().to_le_bytes());
        let parts = [self.xid.gtrid(), self.xid.bqual()];
        parts.iter().for_each(|part| out.extend_from_slice(&(part.len() as u32).to_le_bytes()));
        parts.iter().for_each(|part| out.extend_from_slice(part));
    }
}

impl EventKind<'_> for XaPrepareEvent {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::XA_PREPARE, "XA_prepare")];

    fn decode(_: &EventHeader, fields: &mut Fields<'_>) -> Result<XaPrepareEvent, DecodeError> {
        let one_phase = fields.u8()? != 0;
        let format_id = fields.u32()?;
        let [gtrid, bqual] = [fields.u32()? as usize, fields.u32()? as usize];
        let (gtrid, bqual) = (fields.take(gtrid)?, fields.take(bqual)?);
        let xid = XaId::new(gtrid, bqual, format_id).ok_or_else(|| fields.error("no name of an XA transaction"))?;
        Ok(XaPrepareEvent { one_phase, xid })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let XaPrepareEvent { one_phase, xid } = self;
        Ok(Description {
            text: format!("{xid}{}", if *one_phase { ", one phase" } else { "" }),
            fields: vec![("xid", xid.to_string().into()), ("one_phase", (*one_phase).into())],
        })
    }

    fn info(&self) -> String {
        match self.one_phase {
            true => format!("XA COMMIT {} ONE PHASE", self.xid),
            false => format!("XA PREPARE {}", self.xid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{check, event_of};

    #[test]
    fn round_trip() {
        let event = XaPrepareEvent { one_phase: true, xid: XaId::new(b"ab", b"c", 7).expect("a name") };
        let mut body = Vec::new();
        event.push_body(&mut body);
        let golden = [1, 7, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, b'a', b'b', b'c'];
        check(&event_of(EventType::XA_PREPARE, &body), event, &golden, "X'6162',X'63',7, one phase");
    }
}
