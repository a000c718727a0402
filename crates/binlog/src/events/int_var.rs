//! INTVAR events: a number that the statement after it uses.
//!
//! Format of the body, little-endian: which u8 (1 LAST_INSERT_ID(), 2 the first AUTO_INCREMENT value), value u64.

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{EventHeader, EventType};

impl EventType {
    /// A number of the statement that follows.
    pub const INTVAR: EventType = EventType(5);
}

const LAST_INSERT_ID: u8 = 1;
const INSERT_ID: u8 = 2;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntVarEvent {
    which: u8,
    pub value: u64,
}

impl IntVarEvent {
    /// What LAST_INSERT_ID() is.
    pub(crate) fn last_insert_id(value: u64) -> IntVarEvent {
        IntVarEvent { which: LAST_INSERT_ID, value }
    }

    /// The first value that the AUTO_INCREMENT column gets; the others follow it.
    pub(crate) fn insert_id(value: u64) -> IntVarEvent {
        IntVarEvent { which: INSERT_ID, value }
    }

    /// Appends the body.
    pub(crate) fn push_body(self, out: &mut Vec<u8>) {
        out.push(self.which);
        out.extend_from_slice(&self.value.to_le_bytes());
    }

    fn name(self) -> &'static str {
        match self.which {
            LAST_INSERT_ID => "LAST_INSERT_ID",
            INSERT_ID => "INSERT_ID",
            _ => "INVALID_INT",
        }
    }
}

impl EventKind<'_> for IntVarEvent {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::INTVAR, "Intvar")];

    fn decode(_: &EventHeader, fields: &mut Fields<'_>) -> Result<IntVarEvent, DecodeError> {
        Ok(IntVarEvent { which: fields.u8()?, value: fields.u64()? })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let fields = vec![("name", self.name().to_owned().into()), ("value", self.value.into())];
        Ok(Description { text: self.info(), fields })
    }

    fn info(&self) -> String {
        format!("{}={}", self.name(), self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{check, event_of};

    #[test]
    fn round_trip() {
        for (event, body, info) in [
            (IntVarEvent::last_insert_id(0x0102), [1, 2, 1, 0, 0, 0, 0, 0, 0], "LAST_INSERT_ID=258"),
            (IntVarEvent::insert_id(7), [2, 7, 0, 0, 0, 0, 0, 0, 0], "INSERT_ID=7"),
        ] {
            let mut pushed = Vec::new();
            event.push_body(&mut pushed);
            check(&event_of(EventType::INTVAR, &pushed), event, &body, info);
        }
        assert_eq!(IntVarEvent { which: 3, value: 7 }.info(), "INVALID_INT=7");
    }
}
