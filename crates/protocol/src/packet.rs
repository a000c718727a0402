//! Packets: three bytes of length, one of sequence, then the payload.
//!
//! Outline: [`PacketReader`] owns the input buffer of a connection and lends out one packet at a time,
//! without a copy; [`PacketBuffer`] collects outgoing packets until somebody writes them in one go.
//!
//! Invariants
//! 1. A payload's parts carry rising sequence numbers; the first packet of a command has number 0.
//! 2. The input buffer grows as bytes arrive, at most to `max_allowed_packet` and a little.

use std::io;

/// A part of this length is followed by another part.
pub const PART_LEN: usize = 0xff_ffff;
/// Length and sequence number in front of every part.
pub const HEADER_LEN: usize = 4;
/// What an input buffer starts with, and goes back to after a large packet.
const INPUT_LEN: usize = 4 << 10;
/// An output buffer beyond this is given back once written.
const OUTPUT_KEEP: usize = 64 << 10;

/// Where packets come from. A read that times out fails with [`io::ErrorKind::WouldBlock`].
pub trait Source {
    /// Reads at least one byte; 0 means that the peer has closed.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Whether the buffer may have so many bytes from now on; fewer than before always.
    fn may_hold(&mut self, bytes: usize) -> bool {
        let _ = bytes;
        true
    }
}

/// Why no packet could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadPacketError {
    /// The peer closed between two packets.
    #[error("connection closed")]
    Closed,
    /// The peer closed in the middle of a packet.
    #[error("connection closed in the middle of a packet")]
    Truncated,
    /// Nothing arrived in time. `started` says whether part of a packet is there.
    #[error("timed out")]
    TimedOut {
        /// Whether the packet had begun.
        started: bool,
    },
    /// The payload is longer than `max_allowed_packet`; `unread` bytes of the part are still to come.
    #[error("packet of more than max_allowed_packet bytes")]
    TooLarge {
        /// Bytes of the present part that have not been read.
        unread: usize,
        /// Whether more parts follow.
        more: bool,
    },
    /// The sequence number is not the next one.
    #[error("packets out of order: {found} instead of {expected}")]
    OutOfOrder {
        /// The number in the packet.
        found: u8,
        /// The number it should have had.
        expected: u8,
    },
    /// The source has no memory for more of the packet.
    #[error("no memory for the packet")]
    NoMemory,
    /// The socket failed.
    #[error("read failed: {0}")]
    Io(io::Error),
}

/// The input side of a connection.
#[derive(Debug, Default)]
pub struct PacketReader {
    buffer: Vec<u8>,
    /// First byte not handed out yet.
    start: usize,
    /// End of the bytes received.
    end: usize,
    sequence: u8,
}

impl PacketReader {
    /// The sequence number that the next packet, of whichever side, must carry.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Sets the sequence number of the next packet; 0 begins a command.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Bytes received and not handed out.
    pub fn received(&self) -> usize {
        self.end - self.start
    }

    /// Whether bytes of a next packet have already been received.
    pub fn has_input(&self) -> bool {
        self.start < self.end
    }

    /// Takes out the bytes that were received and not handed out.
    pub fn take_received(&mut self) -> Vec<u8> {
        let received = self.buffer[self.start..self.end].to_vec();
        self.start = self.end;
        received
    }

    /// Waits for the next packet and lends out its payload. After [`ReadPacketError::TimedOut`] the
    /// call can be repeated, nothing is lost; after any other error the connection is of no more use
    /// except to send one last packet.
    pub fn read<S: Source>(&mut self, source: &mut S, max_len: usize) -> Result<&[u8], ReadPacketError> {
        self.shrink(source);
        // Offsets relative to `start`, because filling may move the bytes.
        let mut part = 0;
        let mut joined = 0;
        loop {
            self.fill_to(source, part + HEADER_LEN)?;
            let header = &self.buffer[self.start + part..self.start + part + HEADER_LEN];
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            let found = header[3];
            let expected = self.sequence.wrapping_add((part / (PART_LEN + HEADER_LEN)) as u8);
            if found != expected {
                return Err(ReadPacketError::OutOfOrder { found, expected });
            }
            if joined + length > max_len {
                let have = (self.end - self.start - part - HEADER_LEN).min(length);
                return Err(ReadPacketError::TooLarge { unread: length - have, more: length == PART_LEN });
            }
            self.fill_to(source, part + HEADER_LEN + length)?;
            joined += length;
            part += HEADER_LEN + length;
            if length < PART_LEN {
                break;
            }
        }
        let parts = part.div_ceil(PART_LEN + HEADER_LEN).max(1);
        self.sequence = self.sequence.wrapping_add(parts as u8);
        let first = self.start + HEADER_LEN;
        self.start += part;
        if joined > PART_LEN || parts > 1 {
            self.join(first, parts, joined);
        }
        Ok(&self.buffer[first..first + joined])
    }

    /// Closes the gaps that the headers of later parts leave in a payload.
    fn join(&mut self, first: usize, parts: usize, joined: usize) {
        for part in 1..parts {
            let target = first + part * PART_LEN;
            let length = (joined - part * PART_LEN).min(PART_LEN);
            let source = first + part * (PART_LEN + HEADER_LEN);
            self.buffer.copy_within(source..source + length, target);
        }
    }

    /// Reads until at least `wanted` bytes follow `start`.
    fn fill_to<S: Source>(&mut self, source: &mut S, wanted: usize) -> Result<(), ReadPacketError> {
        while self.end - self.start < wanted {
            if self.start > 0 && self.start + wanted > self.buffer.len() {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.end == self.buffer.len() {
                // Doubling with what has really arrived: an announced length costs nothing.
                let room = (self.buffer.len() * 2).max(INPUT_LEN).min(wanted.max(INPUT_LEN));
                let room = room.max(self.end + INPUT_LEN);
                let more = room - self.buffer.len();
                if !source.may_hold(room) || self.buffer.try_reserve_exact(more).is_err() {
                    return Err(ReadPacketError::NoMemory);
                }
                self.buffer.resize(room, 0);
            }
            match source.read(&mut self.buffer[self.end..]) {
                Ok(0) if self.end == self.start => return Err(ReadPacketError::Closed),
                Ok(0) => return Err(ReadPacketError::Truncated),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(ReadPacketError::TimedOut { started: self.end > self.start });
                }
                Err(error) => return Err(ReadPacketError::Io(error)),
            }
        }
        Ok(())
    }

    /// Between packets: starts at the front of the buffer again, and gives a large buffer back.
    pub fn shrink<S: Source>(&mut self, source: &mut S) {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.len() > OUTPUT_KEEP {
                self.buffer = vec![0; INPUT_LEN];
                source.may_hold(INPUT_LEN);
            }
        }
    }
}

/// Outgoing packets, framed, until they are written.
#[derive(Debug, Default)]
pub struct PacketBuffer {
    bytes: Vec<u8>,
    /// Where the open packet's header is.
    open: usize,
    sequence: u8,
}

impl PacketBuffer {
    /// Sets the sequence number of the next packet.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// The sequence number of the next packet.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Starts a packet: its payload is what is appended to the returned vector before
    /// [`PacketBuffer::end`].
    pub fn begin(&mut self) -> &mut Vec<u8> {
        self.open = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_LEN]);
        &mut self.bytes
    }

    /// The payload of the packet that is open, for more to be appended.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Finishes the open packet.
    pub fn end(&mut self) {
        let length = self.bytes.len() - self.open - HEADER_LEN;
        if length >= PART_LEN {
            return self.end_in_parts(length);
        }
        self.put_header(self.open, length);
    }

    /// Drops the open packet.
    pub fn abandon(&mut self) {
        self.bytes.truncate(self.open);
    }

    /// Drops everything from byte `len` on and continues with `sequence`.
    pub fn truncate(&mut self, len: usize, sequence: u8) {
        self.bytes.truncate(len);
        self.sequence = sequence;
    }

    fn put_header(&mut self, at: usize, length: usize) {
        let [a, b, c, _] = (length as u32).to_le_bytes();
        self.bytes[at..at + HEADER_LEN].copy_from_slice(&[a, b, c, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Opens gaps for the headers of the later parts, from the last part to the first.
    fn end_in_parts(&mut self, length: usize) {
        let parts = length / PART_LEN + 1;
        let payload = self.open + HEADER_LEN;
        self.bytes.resize(self.bytes.len() + (parts - 1) * HEADER_LEN, 0);
        for part in (1..parts).rev() {
            let from = payload + part * PART_LEN;
            let part_len = (length - part * PART_LEN).min(PART_LEN);
            self.bytes.copy_within(from..from + part_len, from + part * HEADER_LEN);
        }
        for part in 0..parts {
            let part_len = (length - part * PART_LEN).min(PART_LEN);
            self.put_header(self.open + part * (PART_LEN + HEADER_LEN), part_len);
        }
    }

    /// The packets finished so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes waiting to be written.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing waits to be written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets the packets, which have been written.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(OUTPUT_KEEP);
    }
}

#[cfg(test)]
mod tests;
