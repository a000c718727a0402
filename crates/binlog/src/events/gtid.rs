//! GTID events: the first event of a transaction, its identity and its place in the order. Those of transactions without a
//! GTID (`gtid_mode=OFF`) have a type of their own, and zeros instead of UUID and number.
//!
//! Format of the body, little-endian:
//!
//! ```text
//! flags u8 | uuid, 16 bytes | gno u64 | 2 u8 | last committed u64 | sequence number u64
//! time of the commit u56, microseconds; with its highest bit: the original commit's time u56
//! length of the transaction lenenc | server version u32; with its highest bit: the original server's u32
//! ```
//!
//! What follows the sequence number may be missing.

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use crate::fields::{DecodeError, Fields};
use crate::gtid::{Gtid, ServerUuid};
use crate::wire::{
    CRC_BYTES, EventHeader, EventType, HEADER_BYTES, Origin, begin_event, end_event, lenenc_len, push_lenenc,
};

impl EventType {
    /// First event of a transaction.
    pub const GTID: EventType = EventType(33);
    /// First event of a transaction without a GTID.
    pub const ANONYMOUS_GTID: EventType = EventType(34);
}

/// Bytes of the event without its transaction length.
const FIXED_BYTES: u64 = (HEADER_BYTES + 42 + 7 + 4 + CRC_BYTES) as u64;
/// Most bytes of the event.
pub(crate) const EVENT_BYTES_MAX: u64 = FIXED_BYTES + 9;

/// Flag: the transaction may hold statements, not only rows.
const MAY_HAVE_STATEMENTS: u8 = 1;
/// Type of the logical timestamps that follow it.
const LOGICAL_TIMESTAMPS: u8 = 2;
/// What stands for the GTID of a transaction without one.
const NONE: Gtid = Gtid { uuid: ServerUuid::from_bytes([0; 16]), gno: 0 };
/// Bits of a time; the one above says that another follows.
const TIME_MASK: u64 = (1 << 55) - 1;

/// Identity and place in the order of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GtidEvent {
    /// Its id; none of an anonymous one.
    pub gtid: Option<Gtid>,
    /// See [`Stamp::last_committed`](crate::Stamp::last_committed).
    pub last_committed: u64,
    /// Its number in the file.
    pub sequence_number: u64,
    /// Microseconds since the epoch; 0 when not given.
    pub commit_time_us: u64,
    /// Bytes of the whole transaction, this event included; 0 when not given.
    pub transaction_bytes: u64,
    /// Version of the server that wrote it; 0 when not given.
    pub server_version: u32,
}

impl GtidEvent {
    /// Appends the event, without its place.
    pub(crate) fn push(&self, out: &mut Vec<u8>, origin: Origin, only_rows: bool) {
        let start = out.len();
        let event_type = if self.gtid.is_some() { EventType::GTID } else { EventType::ANONYMOUS_GTID };
        let Gtid { uuid, gno } = self.gtid.unwrap_or(NONE);
        begin_event(out, event_type, 0, origin);
        out.push(if only_rows { 0 } else { MAY_HAVE_STATEMENTS });
        out.extend_from_slice(uuid.as_bytes());
        out.extend_from_slice(&gno.to_le_bytes());
        out.push(LOGICAL_TIMESTAMPS);
        out.extend_from_slice(&self.last_committed.to_le_bytes());
        out.extend_from_slice(&self.sequence_number.to_le_bytes());
        out.extend_from_slice(&(self.commit_time_us & TIME_MASK).to_le_bytes()[..7]);
        push_lenenc(out, self.transaction_bytes);
        out.extend_from_slice(&self.server_version.to_le_bytes());
        end_event(out, start);
    }

    /// Its GTID as `gtid_next` says it.
    pub fn gtid_text(&self) -> String {
        self.gtid.map_or_else(|| "ANONYMOUS".to_owned(), |gtid| gtid.to_string())
    }
}

/// Bytes of a transaction whose events after this one take `rest` bytes: its own length is a part of it.
pub(crate) fn transaction_bytes(rest: u64) -> u64 {
    let rest = FIXED_BYTES + rest;
    let mut total = rest + 1;
    while rest + lenenc_len(total) as u64 != total {
        total = rest + lenenc_len(total) as u64;
    }
    total
}

impl EventKind<'_> for GtidEvent {
    const TYPES: &'static [(EventType, &'static str)] =
        &[(EventType::GTID, "Gtid"), (EventType::ANONYMOUS_GTID, "Anonymous_Gtid")];

    fn decode(header: &EventHeader, fields: &mut Fields<'_>) -> Result<GtidEvent, DecodeError> {
        fields.u8()?;
        let uuid = ServerUuid::from_bytes(fields.array()?);
        let gno = fields.u64()?;
        fields.u8()?;
        let mut event = GtidEvent {
            gtid: (header.event_type == EventType::GTID).then_some(Gtid { uuid, gno }),
            last_committed: fields.u64()?,
            sequence_number: fields.u64()?,
            commit_time_us: 0,
            transaction_bytes: 0,
            server_version: 0,
        };
        if !fields.is_at_end() {
            let commit_time = fields.uint_le(7)?;
            event.commit_time_us = commit_time & TIME_MASK;
            if commit_time & !TIME_MASK != 0 {
                fields.take(7)?;
            }
            event.transaction_bytes = fields.lenenc()?;
            event.server_version = fields.u32()? & !(1 << 31);
        }
        Ok(event)
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let GtidEvent { last_committed, sequence_number, transaction_bytes, .. } = self;
        let gtid = self.gtid_text();
        Ok(Description {
            text: format!("{gtid}, {last_committed} → {sequence_number}, {transaction_bytes} bytes"),
            fields: vec![
                ("gtid", gtid.into()),
                ("last_committed", (*last_committed).into()),
                ("sequence_number", (*sequence_number).into()),
                ("transaction_bytes", (*transaction_bytes).into()),
            ],
        })
    }

    fn info(&self) -> String {
        format!("SET @@SESSION.GTID_NEXT= '{}'", self.gtid_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{ORIGIN, body_of, check, event_of};

    fn event() -> GtidEvent {
        GtidEvent {
            gtid: Some(Gtid { uuid: ServerUuid::from_bytes([0x11; 16]), gno: 9 }),
            last_committed: 3,
            sequence_number: 4,
            commit_time_us: 0x55_0403_0201,
            transaction_bytes: 300,
            server_version: 80_040,
        }
    }

    #[test]
    fn round_trip() {
        let mut bytes = Vec::new();
        event().push(&mut bytes, ORIGIN, true);
        let text = "11111111-1111-1111-1111-111111111111:9, 3 → 4, 300 bytes";
        let golden = [
            &[0][..],
            &[0x11; 16],
            &9u64.to_le_bytes(),
            &[2],
            &3u64.to_le_bytes(),
            &4u64.to_le_bytes(),
            &[1, 2, 3, 4, 0x55, 0, 0],
            &[0xfc, 44, 1],
            &80_040u32.to_le_bytes(),
        ];
        let mut bare = event();
        (bare.commit_time_us, bare.transaction_bytes, bare.server_version) = (0, 0, 0);
        // What MySQL 5.6 does not have may be missing.
        assert_eq!(body_of(&event_of(EventType::GTID, &golden[..6].concat())), Ok(bare.into()));
        assert_eq!(body_of(&bytes), Ok(event().into()));
        check(&bytes, event(), &golden.concat(), text);
        // The highest bits of time and version say that those of the server where it began follow.
        let (time, version) = ([1, 2, 3, 4, 0x55, 0, 0x80, 9, 9, 9, 9, 9, 9, 9], (80_040u32 | 1 << 31).to_le_bytes());
        let from_another = [&golden[..6].concat(), &time[..], golden[7], &version, &[9; 4]].concat();
        assert_eq!(body_of(&event_of(EventType::GTID, &from_another)), Ok(event().into()));
    }

    #[test]
    fn an_anonymous_transaction_has_a_type_of_its_own_and_zeros() {
        let anonymous = GtidEvent { gtid: None, ..event() };
        let (mut named, mut bytes) = (Vec::new(), Vec::new());
        event().push(&mut named, ORIGIN, true);
        anonymous.push(&mut bytes, ORIGIN, true);
        let header = EventHeader::decode(bytes.first_chunk().expect("a header"));
        assert_eq!((header.event_type, header.event_type.name()), (EventType(34), "Anonymous_Gtid"));
        let body = &named[HEADER_BYTES..named.len() - CRC_BYTES];
        check(&bytes, anonymous, &[&[0; 25][..], &body[25..]].concat(), "ANONYMOUS, 3 → 4, 300 bytes");
        assert_eq!(anonymous.info(), "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'");
        assert_eq!(event().info(), "SET @@SESSION.GTID_NEXT= '11111111-1111-1111-1111-111111111111:9'");
    }

    #[test]
    fn the_length_counts_itself() {
        for rest in [0, 190, 250 - FIXED_BYTES, 251 - FIXED_BYTES, 65_535, 65_536 - FIXED_BYTES, 1 << 24] {
            let total = transaction_bytes(rest);
            assert_eq!(total, FIXED_BYTES + rest + lenenc_len(total) as u64, "{rest}");
        }
    }
}
