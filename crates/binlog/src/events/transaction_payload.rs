//! TRANSACTION_PAYLOAD events: the events of a transaction after its GTID, compressed (`binlog_transaction_compression`).
//!
//! Format of the body: fields in any order, and what they describe. Numbers are length-encoded.
//!
//! ```text
//! 2, length, compression: 0 zstd, 255 none | 3, length, bytes when decompressed | 1, length, bytes of the payload
//! 0 | payload
//! ```
//!
//! The payload's events have no checksums, and their positions say nothing.

use std::io::Read;

use super::kind::{Description, EventKind};
use super::table_map::Tables;
use super::{Event, EventBody};
use crate::fields::{DecodeError, Fields};
use crate::wire::{EventHeader, EventType, HEADER_BYTES, lenenc_len, push_lenenc};

impl EventType {
    /// The compressed events of a transaction.
    pub const TRANSACTION_PAYLOAD: EventType = EventType(40);
}

/// The most bytes that a payload has when it is decompressed. A longer transaction is not compressed.
pub(crate) const DECOMPRESSED_BYTES_MAX: u64 = 1 << 30;

const END: u64 = 0;
const PAYLOAD_BYTES: u64 = 1;
const COMPRESSION: u64 = 2;
const DECOMPRESSED_BYTES: u64 = 3;

const ZSTD: u64 = 0;
const NONE: u64 = 255;

/// Compressed events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPayloadEvent<'a> {
    compression: u64,
    /// Bytes of the events when they are decompressed.
    pub decompressed_bytes: u64,
    /// What is compressed.
    pub payload: &'a [u8],
}

/// The events of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadEvents {
    bytes: Vec<u8>,
    offset: u64,
}

/// Appends the body.
pub(crate) fn push_body(out: &mut Vec<u8>, decompressed_bytes: u64, payload: &[u8]) {
    let fields = [(COMPRESSION, ZSTD), (DECOMPRESSED_BYTES, decompressed_bytes), (PAYLOAD_BYTES, payload.len() as u64)];
    for (field, value) in fields {
        push_lenenc(out, field);
        push_lenenc(out, lenenc_len(value) as u64);
        push_lenenc(out, value);
    }
    push_lenenc(out, END);
    out.extend_from_slice(payload);
}

impl TransactionPayloadEvent<'_> {
    /// Decompresses the events, for an event that begins at `offset` of its file. Memory is bounded by what the event says
    /// they take, and that by 1 GiB.
    pub fn decompress(&self, offset: u64) -> Result<PayloadEvents, DecodeError> {
        let error = |what| DecodeError { what, at: 0 };
        if self.decompressed_bytes > DECOMPRESSED_BYTES_MAX {
            return Err(error("a payload of more than 1 GiB"));
        }
        let mut bytes = Vec::new();
        match self.compression {
            NONE => bytes.extend_from_slice(self.payload),
            ZSTD => {
                let broken = |_| error("a payload that cannot be decompressed");
                let decoder = zstd::stream::read::Decoder::new(self.payload).map_err(broken)?;
                decoder.take(self.decompressed_bytes + 1).read_to_end(&mut bytes).map_err(broken)?;
            }
            _ => return Err(error("an unknown compression")),
        }
        if bytes.len() as u64 != self.decompressed_bytes {
            return Err(error("a payload of another length"));
        }
        Ok(PayloadEvents { bytes, offset })
    }

    fn compression(&self) -> &'static str {
        match self.compression {
            ZSTD => "ZSTD",
            NONE => "NONE",
            _ => "unknown",
        }
    }
}

impl PayloadEvents {
    /// The events, each at the offset of the payload's. An error ends them; a payload within the payload is one.
    pub fn events(&self) -> impl Iterator<Item = Result<Event<'_>, DecodeError>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let at = self.bytes.len() - rest.len();
            let event = next_event(rest, self.offset).map_err(|what| DecodeError { what, at });
            rest = event.as_ref().map_or(&[], |event| &rest[HEADER_BYTES + event.body.len()..]);
            Some(event)
        })
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// The commit's number, if there is an XID event.
    pub fn xid(&self) -> Result<Option<u64>, DecodeError> {
        let mut xid = None;
        for event in self.events() {
            let event = event?;
            if event.header.event_type == EventType::XID
                && let EventBody::Xid(event) = event.decode()?
            {
                xid = Some(event.xid);
            }
        }
        Ok(xid)
    }

    /// Decodes each event. An error is that of the first that is wrong.
    pub fn verify(&self) -> Result<(), DecodeError> {
        self.events().try_for_each(|event| event?.decode().map(drop))
    }
}

fn next_event(rest: &[u8], offset: u64) -> Result<Event<'_>, &'static str> {
    let header = EventHeader::decode(rest.first_chunk().ok_or("an event that is cut off")?);
    if header.event_type == EventType::TRANSACTION_PAYLOAD {
        return Err("a payload within a payload");
    }
    let body = rest.get(HEADER_BYTES..header.event_bytes as usize).ok_or("an event that is cut off")?;
    Ok(Event { offset, header, body })
}

impl<'a> EventKind<'a> for TransactionPayloadEvent<'a> {
    const TYPES: &'static [(EventType, &'static str)] = &[(EventType::TRANSACTION_PAYLOAD, "Transaction_payload")];

    fn decode(_: &EventHeader, fields: &mut Fields<'a>) -> Result<TransactionPayloadEvent<'a>, DecodeError> {
        let (mut compression, mut decompressed_bytes, mut payload_bytes) = (NONE, None, None);
        loop {
            let field = fields.lenenc()?;
            if field == END {
                break;
            }
            let mut value = Fields::new(fields.take_counted()?);
            match field {
                COMPRESSION => compression = value.lenenc()?,
                DECOMPRESSED_BYTES => decompressed_bytes = Some(value.lenenc()?),
                PAYLOAD_BYTES => payload_bytes = Some(value.lenenc_len()?),
                // A later version's.
                _ => {}
            }
        }
        let payload = fields.rest();
        if payload_bytes.is_some_and(|bytes| bytes != payload.len()) {
            return Err(fields.error("a payload of another length"));
        }
        let decompressed_bytes = decompressed_bytes.unwrap_or(payload.len() as u64);
        Ok(TransactionPayloadEvent { compression, decompressed_bytes, payload })
    }

    fn describe(&self, _: &Tables) -> Result<Description, DecodeError> {
        let (compression, payload_bytes) = (self.compression(), self.payload.len() as u64);
        Ok(Description {
            text: format!("{compression}, {} bytes as {payload_bytes}", self.decompressed_bytes),
            fields: vec![
                ("compression", compression.to_owned().into()),
                ("decompressed_bytes", self.decompressed_bytes.into()),
                ("payload_bytes", payload_bytes.into()),
            ],
        })
    }

    fn info(&self) -> String {
        format!("compression='{}', decompressed_size={} bytes", self.compression(), self.decompressed_bytes)
    }
}

impl<'a> EventBody<'a> {
    /// The events of a payload, for an event that begins at `offset` of its file.
    pub fn payload_events(&self, offset: u64) -> Result<Option<PayloadEvents>, DecodeError> {
        match self {
            EventBody::TransactionPayload(payload) => payload.decompress(offset).map(Some),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::tests::{check, event_of};

    /// The body of a payload event that says what it says.
    fn body(compression: u64, decompressed_bytes: u64, payload: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        push_body(&mut body, decompressed_bytes, payload);
        assert_eq!((body[0], body[2]), (2, 0));
        if compression == NONE {
            body.splice(1..3, [3, 0xfc, 255, 0]);
        }
        body
    }

    fn decompressed(body: &[u8]) -> Result<PayloadEvents, DecodeError> {
        TransactionPayloadEvent::decode(&EventHeader::decode(&[0; HEADER_BYTES]), &mut Fields::new(body))?.decompress(4)
    }

    /// An event without a checksum.
    fn plain(event_type: EventType, body: &[u8]) -> Vec<u8> {
        let mut event = event_of(event_type, body);
        event.truncate(HEADER_BYTES + body.len());
        let size = event.len() as u32;
        event[9..13].copy_from_slice(&size.to_le_bytes());
        event
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 3).expect("compresses")
    }

    #[test]
    fn round_trip() {
        let events = [plain(EventType::XID, &7u64.to_le_bytes()), plain(EventType::XID, &9u64.to_le_bytes())].concat();
        let payload = compressed(&events);
        let golden = [&[2, 1, 0, 3, 1, 54, 1, 1, payload.len() as u8, 0][..], &payload].concat();
        let written = body(ZSTD, events.len() as u64, &payload);
        let event = TransactionPayloadEvent { compression: ZSTD, decompressed_bytes: 54, payload: &payload };
        let text = format!("ZSTD, 54 bytes as {}", payload.len());
        check(&event_of(EventType::TRANSACTION_PAYLOAD, &written), event, &golden, &text);
        let inside = event.decompress(100).expect("whole");
        let xids: Vec<_> =
            inside.events().map(|event| event.and_then(|event| event.decode()).expect("whole")).collect();
        assert_eq!(format!("{xids:?}"), "[Xid(XidEvent { xid: 7 }), Xid(XidEvent { xid: 9 })]");
        assert!(inside.events().all(|event| event.is_ok_and(|event| event.offset == 100)));
        inside.verify().expect("sound");
        let plain = decompressed(&body(NONE, 54, &events)).expect("not compressed");
        assert_eq!(plain.bytes, inside.bytes);
    }

    #[test]
    fn what_is_no_payload_is_refused() {
        let events = plain(EventType::XID, &7u64.to_le_bytes());
        let payload = compressed(&events);
        let refused = |body: &[u8]| decompressed(body).expect_err("refused").what;
        assert_eq!(refused(&body(ZSTD, 26, &payload)), "a payload of another length");
        assert_eq!(refused(&body(ZSTD, 28, &payload)), "a payload of another length");
        assert_eq!(refused(&body(ZSTD, DECOMPRESSED_BYTES_MAX + 1, &payload)), "a payload of more than 1 GiB");
        assert_eq!(refused(&body(ZSTD, 27, &events)), "a payload that cannot be decompressed");
        let mut unknown = body(ZSTD, 27, &payload);
        unknown[2] = 1;
        assert_eq!(refused(&unknown), "an unknown compression");
        let mut cut = body(ZSTD, 27, &payload);
        cut.pop();
        assert_eq!(refused(&cut), "a payload of another length");
        // What is decompressed is looked at as well.
        let verified = |events: &[u8]| decompressed(&body(NONE, events.len() as u64, events))?.verify();
        assert_eq!(verified(&events), Ok(()));
        assert_eq!(verified(&events[..26]).map_err(|error| error.what), Err("an event that is cut off"));
        assert_eq!(verified(&events[..9]).map_err(|error| error.what), Err("an event that is cut off"));
        let mut short = events.clone();
        short[9] = 18;
        assert_eq!(verified(&short).map_err(|error| error.what), Err("an event that is cut off"));
        let nested = plain(EventType::TRANSACTION_PAYLOAD, &written_twice(&payload));
        assert_eq!(verified(&nested).map_err(|error| error.what), Err("a payload within a payload"));
        // A few bytes that would become very many.
        let bomb = compressed(&vec![0; 64 << 20]);
        assert_eq!(refused(&body(ZSTD, 1000, &bomb)), "a payload of another length");
    }

    fn written_twice(payload: &[u8]) -> Vec<u8> {
        body(ZSTD, 27, payload)
    }
}
