//! ROTATE events: the last event of a full file names the next one.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! position of the next file's first event u64 | its name
//! ```

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{
    CRC_BYTES, EventHeader, EventType, HEADER_BYTES, MAGIC, Origin, begin_event, end_event, place_event,
};

impl EventType {
    /// The next file's name.
    pub const ROTATE: EventType = EventType(4);
}

/// The next file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotateEvent {
    /// Where its first event stands.
    pub position: u64,
    pub file_name: String,
}

/// The last event of a full file: names the next one. `at` is the offset it will stand at.
///
/// # Panics
/// When it would end beyond [`FILE_BYTES_MAX`](crate::FILE_BYTES_MAX); a file is rotated long before.
pub fn rotate_event(server_id: u32, timestamp_s: u32, at: u64, next_file: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(rotate_event_len(next_file) as usize);
    begin_event(&mut out, EventType::ROTATE, 0, Origin { timestamp_s, server_id });
    out.extend_from_slice(&(MAGIC.len() as u64).to_le_bytes());
    out.extend_from_slice(next_file.as_bytes());
    end_event(&mut out, 0);
    let log_pos = u32::try_from(at + out.len() as u64).expect("a file is shorter than 4 GiB");
    place_event(&mut out, log_pos);
    out
}

/// Bytes of [`rotate_event`].
pub fn rotate_event_len(next_file: &str) -> u64 {
    (HEADER_BYTES + 8 + next_file.len() + CRC_BYTES) as u64
}

impl EventKind<'_> for RotateEvent {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::ROTATE, "Rotate")];

    fn decode(_: &EventHeader, fields: &mut Fields<'_>) -> Result<RotateEvent, DecodeError> {
        Ok(RotateEvent { position: fields.u64()?, file_name: fields.rest_text() })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let RotateEvent { position, file_name } = self;
        Ok(Description {
            text: format!("{file_name} at {position}"),
            fields: vec![("next_file", file_name.clone().into()), ("position", (*position).into())],
        })
    }

    fn info(&self) -> String {
        format!("{};pos={}", self.file_name, self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{ORIGIN, check};

    #[test]
    fn round_trip() {
        let event = rotate_event(ORIGIN.server_id, ORIGIN.timestamp_s, 0, "b.2");
        assert_eq!(event.len() as u64, rotate_event_len("b.2"));
        let body = [4, 0, 0, 0, 0, 0, 0, 0, b'b', b'.', b'2'];
        check(&event, RotateEvent { position: 4, file_name: "b.2".to_owned() }, &body, "b.2 at 4");
    }
}
