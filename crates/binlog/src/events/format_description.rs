//! FORMAT_DESCRIPTION events: the first event of each file, the version of format and server.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! format version u16 = 4 | server version, 50 bytes, padded with zeros | created u32
//! header length u8 = 19 | length of the fixed part of each event type's body, u8 per type | checksum algorithm u8
//! ```
//!
//! The checksum is that of a closed file, so that closing changes one bit, the in-use mark, and nothing else.

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::wire::{
    EventHeader, EventType, FLAG_IN_USE, FLAGS_AT, HEADER_BYTES, Origin, begin_event, end_event, place_event,
};

impl EventType {
    /// First event of a file.
    pub const FORMAT_DESCRIPTION: EventType = EventType(15);
}

/// Version of the binlog format.
const BINLOG_VERSION: u16 = 4;
/// Bytes of the server version, padded with zeros.
const SERVER_VERSION_BYTES: usize = 50;
/// Where in the event the time of the server's start stands.
pub(crate) const CREATED_AT: usize = HEADER_BYTES + 2 + SERVER_VERSION_BYTES;
/// Checksum algorithm CRC32.
pub(crate) const CHECKSUM_CRC32: u8 = 1;
/// Length of the fixed part of each event type's body, from type 1 on, as MySQL 8.0 gives them.
const POST_HEADER_BYTES: [u8; 41] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 98, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10, 10, 10, 42, 42, 0,
    18, 52, 0, 10, 40, 0,
];

/// Version of the format and of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    /// 4 since MySQL 5.0.
    pub binlog_version: u16,
    /// Of the server that wrote the file.
    pub server_version: String,
    /// Seconds since the epoch when the server started, or 0.
    pub created_s: u32,
    /// 0 none, 1 CRC32.
    pub checksum_algorithm: u8,
    /// The file has not been closed.
    pub in_use: bool,
}

/// Appends the event of a file in use that begins in `out`. `created_s` is 0 where the server did not just start.
///
/// # Panics
/// When the server's version is longer than 50 bytes.
pub(crate) fn push(out: &mut Vec<u8>, server_version: &str, created_s: u32, origin: Origin) {
    let begin = out.len();
    begin_event(out, EventType::FORMAT_DESCRIPTION, 0, origin);
    out.extend_from_slice(&BINLOG_VERSION.to_le_bytes());
    let mut version = [0; SERVER_VERSION_BYTES];
    version[..server_version.len()].copy_from_slice(server_version.as_bytes());
    out.extend_from_slice(&version);
    out.extend_from_slice(&created_s.to_le_bytes());
    out.push(HEADER_BYTES as u8);
    out.extend_from_slice(&POST_HEADER_BYTES);
    out.push(CHECKSUM_CRC32);
    end_event(out, begin);
    let log_pos = out.len() as u32;
    place_event(&mut out[begin..], log_pos);
    out[begin + FLAGS_AT..begin + FLAGS_AT + 2].copy_from_slice(&FLAG_IN_USE.to_le_bytes());
}

impl EventKind<'_> for FormatDescription {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::FORMAT_DESCRIPTION, "Format_desc")];

    fn decode(header: &EventHeader, fields: &mut Fields<'_>) -> Result<FormatDescription, DecodeError> {
        let binlog_version = fields.u16()?;
        let version = fields.take(SERVER_VERSION_BYTES)?;
        let version = version.split(|byte| *byte == 0).next().unwrap_or_default();
        let created_s = fields.u32()?;
        if usize::from(fields.u8()?) != HEADER_BYTES {
            return Err(fields.error("unknown length of event headers"));
        }
        let missing = fields.error("checksum algorithm missing");
        Ok(FormatDescription {
            binlog_version,
            server_version: String::from_utf8_lossy(version).into_owned(),
            created_s,
            checksum_algorithm: *fields.rest().last().ok_or(missing)?,
            in_use: header.flags & FLAG_IN_USE != 0,
        })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let FormatDescription { binlog_version, server_version, in_use, .. } = self;
        let mark = if *in_use { ", in use" } else { "" };
        Ok(Description {
            text: format!("server {server_version}, format {binlog_version}{mark}"),
            fields: vec![
                ("server_version", server_version.clone().into()),
                ("binlog_version", u64::from(*binlog_version).into()),
                ("in_use", (*in_use).into()),
            ],
        })
    }

    fn info(&self) -> String {
        format!("Server ver: {}, Binlog ver: {}", self.server_version, self.binlog_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{ORIGIN, check};

    #[test]
    fn round_trip() {
        let mut event = Vec::new();
        push(&mut event, "8.0.40-test", 5, ORIGIN);
        let mut version = [0; 50];
        version[..11].copy_from_slice(b"8.0.40-test");
        let golden = [&[4, 0][..], &version, &[5, 0, 0, 0, 19], &POST_HEADER_BYTES, &[1]].concat();
        let description = FormatDescription {
            binlog_version: 4,
            server_version: "8.0.40-test".to_owned(),
            created_s: 5,
            checksum_algorithm: CHECKSUM_CRC32,
            in_use: true,
        };
        check(&event, description, &golden, "server 8.0.40-test, format 4, in use");
    }
}
