//! PREVIOUS_GTIDS events: the second event of each file, every GTID in the files before.
//!
//! The body is a [`GtidSet`] in its binary form. The flag 0x1000 says that an operator has changed the set: where it is
//! empty, history begins anew, and otherwise it has more than the files before.

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::gtid::GtidSet;
use crate::wire::{EventHeader, EventType, FLAG_GTIDS_CHANGED, FLAG_IGNORABLE, Origin, begin_event, end_event};

impl EventType {
    /// Every GTID in the files before this one.
    pub const PREVIOUS_GTIDS: EventType = EventType(35);
}

/// Appends the event, without its place. `changed` if an operator has changed the set.
pub(crate) fn push(out: &mut Vec<u8>, previous: &GtidSet, changed: bool, origin: Origin) {
    let start = out.len();
    let flags = FLAG_IGNORABLE | if changed { FLAG_GTIDS_CHANGED } else { 0 };
    begin_event(out, EventType::PREVIOUS_GTIDS, flags, origin);
    previous.encode(out);
    end_event(out, start);
}

impl EventKind<'_> for GtidSet {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::PREVIOUS_GTIDS, "Previous_gtids")];

    fn decode(_: &EventHeader, fields: &mut Fields<'_>) -> Result<GtidSet, DecodeError> {
        let wrong = fields.error("not a GTID set");
        GtidSet::decode(fields.rest()).map_err(|_| wrong)
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        Ok(Description { text: self.to_string(), fields: vec![("gtids", self.to_string().into())] })
    }

    fn info(&self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{ORIGIN, check};

    #[test]
    fn round_trip() {
        let text = "01010101-0101-0101-0101-010101010101:5-6";
        let set: GtidSet = text.parse().expect("a set");
        let mut event = Vec::new();
        push(&mut event, &set, false, ORIGIN);
        let numbers = [1u64, 5, 7].map(u64::to_le_bytes).concat();
        let body = [&1u64.to_le_bytes()[..], &[1; 16], &numbers].concat();
        check(&event, set, &body, text);
    }
}
