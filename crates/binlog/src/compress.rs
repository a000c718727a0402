//! Compresses a transaction's events into one (`binlog_transaction_compression`).
//!
//! This runs before the transaction has a place in the order, so what is inside knows neither position nor order: the
//! commit's number is given beforehand.

use std::io::{self, Write};

use super::events::transaction_payload::{DECOMPRESSED_BYTES_MAX, push_body};
use super::events::xid::XidEvent;
use super::transaction::{Ending, TransactionEvents};
use super::wire::{CRC_BYTES, EventType, HEADER_BYTES, SIZE_AT, begin_event, u32_at};

/// Bytes of the event around a payload, at most.
const FRAME_BYTES: usize = HEADER_BYTES + 32 + CRC_BYTES;

impl TransactionEvents {
    /// Compresses the events, if that is asked for and makes them shorter. `xid` is the commit's number, for the XID event
    /// inside. What is no transaction of rows alone stays as it is: statements and XA transactions.
    pub fn compress(&mut self, xid: u64) {
        self.seal();
        let Some(level) = self.compression.filter(|_| self.ending == Ending::Xid && self.statements == 0) else {
            return;
        };
        if self.is_empty() {
            return;
        }
        let mut last = Vec::new();
        XidEvent { xid }.push(&mut last, self.origin());
        let whole = self.buffer.len() + last.len();
        let decompressed = whole - CRC_BYTES * (self.slots.len() + 1);
        if decompressed as u64 > DECOMPRESSED_BYTES_MAX || whole <= FRAME_BYTES {
            return;
        }
        let events = self.slots.iter().map(|slot| {
            let size = u32_at(&self.buffer, slot.start + SIZE_AT) as usize;
            &self.buffer[slot.start..slot.start + size]
        });
        let events = events.chain([&last[..]]);
        let Ok(payload) = compressed(events, decompressed, level, whole - FRAME_BYTES) else { return };
        self.buffer.clear();
        self.slots.clear();
        let origin = self.origin();
        begin_event(&mut self.buffer, EventType::TRANSACTION_PAYLOAD, 0, origin);
        push_body(&mut self.buffer, decompressed as u64, &payload);
        self.complete(0);
        self.ending = Ending::Payload;
    }
}

/// The events without their checksums, compressed. An error says that they need more than `most` bytes.
fn compressed<'a>(
    events: impl Iterator<Item = &'a [u8]>,
    bytes: usize,
    level: i32,
    most: usize,
) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Bounded { bytes: Vec::new(), most }, level)?;
    encoder.set_pledged_src_size(Some(bytes as u64))?;
    for event in events {
        let (event, _) = event.split_at(event.len() - CRC_BYTES);
        let mut header = *event.first_chunk::<HEADER_BYTES>().expect("a whole event");
        header[SIZE_AT..SIZE_AT + 4].copy_from_slice(&(event.len() as u32).to_le_bytes());
        encoder.write_all(&header)?;
        encoder.write_all(&event[HEADER_BYTES..])?;
    }
    Ok(encoder.finish()?.bytes)
}

/// Takes so many bytes and no more.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
