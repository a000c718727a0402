//! The two directions of a connection: packets in, packets out.
//!
//! Invariant: [`Output::flush`] lets a packet out only when what the session has seen in flight is durable (I9). The
//! other way out is [`Handover`], whose replies are sent by whoever finishes that.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use cohort_sql::SqlError;
use cohort_sql::collation::Collation;
use cohort_sql::error::ER_NET_ERROR_ON_WRITE;
use cohort_sql::memory::ServerMemory;
use cohort_sql::types::Charset;
use cohort_txn::{RestsOn, Store};

use crate::protocol::constants::capability;
use crate::protocol::packet::{PacketBuffer, PacketReader, ReadPacketError, Source};
use crate::protocol::reply::{OkFields, encode_end_of_rows, encode_eof, encode_error, encode_ok};
use crate::session::errors::commit_error;
use crate::session::handover::Handover;
use crate::socket::Socket;
use crate::status::Tally;

/// Most bytes of an oversized packet that are read and dropped, so that its sender gets to read why.
const DRAIN_MAX: usize = 1 << 30;

/// The input side.
pub struct Input {
    reader: PacketReader,
    source: SocketSource,
}

struct SocketSource {
    socket: Arc<Socket>,
    tally: Arc<Tally>,
    /// Until when a read waits for input; without, it fails where there is none.
    deadline: Option<Instant>,
    /// The last read found less than it had room for.
    drained: bool,
    memory: Arc<ServerMemory>,
    /// Bytes of the buffer, as counted there.
    held: usize,
}

impl Source for SocketSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.drained = true;
        let count = match self.deadline {
            Some(deadline) => self.socket.read_until(buffer, deadline)?,
            None => self.socket.read_now(buffer)?,
        };
        self.drained = count < buffer.len();
        self.tally.received(count);
        Ok(count)
    }

    fn may_hold(&mut self, bytes: usize) -> bool {
        let may = match bytes.checked_sub(self.held) {
            Some(more) => self.memory.take_input(more),
            None => {
                self.memory.give_input_back(self.held - bytes);
                true
            }
        };
        if may {
            self.held = bytes;
        }
        may
    }
}

impl Drop for SocketSource {
    fn drop(&mut self) {
        self.memory.give_input_back(self.held);
    }
}

impl Input {
    /// Reads from `socket`; what arrives counts to `memory`.
    pub fn new(socket: Arc<Socket>, tally: Arc<Tally>, memory: Arc<ServerMemory>) -> Input {
        let source = SocketSource { socket, tally, deadline: None, drained: false, memory, held: 0 };
        Input { reader: PacketReader::default(), source }
    }

    /// The first packet of a command, if all of it has arrived: else [`ReadPacketError::TimedOut`], after
    /// which it can be called again.
    pub fn command(&mut self, max_len: usize) -> Result<&[u8], ReadPacketError> {
        self.source.deadline = None;
        self.reader.set_sequence(0);
        self.reader.read(&mut self.source, max_len)
    }

    /// Gives the memory of a long command back that has been executed.
    pub fn end_command(&mut self) {
        self.reader.shrink(&mut self.source);
    }

    /// Bytes that have arrived of a packet that is not complete.
    pub fn received(&self) -> usize {
        self.reader.received()
    }

    /// Whether there is certainly nothing to read before the next edge of the socket's readiness.
    pub fn is_drained(&self) -> bool {
        self.source.drained && !self.reader.has_input()
    }

    /// Waits to `deadline` for a packet that answers one of ours, which must have ended with number
    /// `sequence - 1`.
    pub fn answer(&mut self, sequence: u8, max_len: usize, deadline: Instant) -> Result<&[u8], ReadPacketError> {
        self.source.deadline = Some(deadline);
        self.reader.set_sequence(sequence);
        self.reader.read(&mut self.source, max_len)
    }

    /// Takes out the bytes that have arrived after the last packet: they are not packets.
    pub fn take_received(&mut self) -> Vec<u8> {
        self.reader.take_received()
    }

    /// The number of the next packet.
    pub fn sequence(&self) -> u8 {
        self.reader.sequence()
    }

    /// Reads the rest of a packet that was too large and drops it, within reason and to `deadline`.
    pub fn drain(&mut self, unread: usize, more: bool, deadline: Instant) {
        self.source.deadline = Some(deadline);
        let mut scratch = vec![0; 64 << 10];
        let mut left = unread;
        let mut drained = 0;
        // Parts that follow are not distinguished: their sender stops when it has sent all.
        while drained < DRAIN_MAX && (left > 0 || more) {
            let want = if more { scratch.len() } else { left.min(scratch.len()) };
            match self.source.read(&mut scratch[..want]) {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    left = left.saturating_sub(count);
                    drained += count;
                    if more && left == 0 && count < scratch.len() {
                        return;
                    }
                }
            }
        }
    }
}

/// The output side.
pub struct Output {
    socket: Arc<Socket>,
    tally: Arc<Tally>,
    /// Who may be writing to the socket, too.
    handover: Arc<Handover>,
    store: Arc<Store>,
    /// The session's.
    rests_on: RestsOn,
    packets: PacketBuffer,
    /// The number of the first packet that waits.
    unsent_from: u8,
    /// What an answer rested on could not be made durable.
    doomed: bool,
    /// What the client agreed to.
    pub capabilities: u32,
    /// The character set in which it reads; `None` for that of each column.
    pub results: Option<Collation>,
    broken: bool,
    /// How often packets have left the buffer.
    flushes: u64,
}

/// A place between two packets that [`Output::undo`] goes back to.
#[derive(Clone, Copy, Debug)]
pub struct OutputMark {
    len: usize,
    sequence: u8,
    flushes: u64,
}

impl Output {
    /// Writes to `socket`, after what was given away by `handover`, what rests on `rests_on`.
    pub fn new(
        socket: Arc<Socket>,
        tally: Arc<Tally>,
        handover: Arc<Handover>,
        store: Arc<Store>,
        rests_on: RestsOn,
    ) -> Output {
        Output {
            socket,
            tally,
            handover,
            store,
            rests_on,
            packets: PacketBuffer::default(),
            unsent_from: 0,
            doomed: false,
            capabilities: capability::PROTOCOL_41,
            results: Some(Collation::DEFAULT),
            broken: false,
            flushes: 0,
        }
    }

    /// Whether the client agreed to a capability.
    pub fn has(&self, capability: u32) -> bool {
        self.capabilities & capability != 0
    }

    /// Numbers the next packet, as the answer to a command.
    pub fn begin_reply(&mut self, sequence: u8) {
        self.packets.set_sequence(sequence);
        self.unsent_from = sequence;
    }

    /// The number of the next packet.
    pub fn sequence(&self) -> u8 {
        self.packets.sequence()
    }

    /// Adds a packet whose payload `fill` appends.
    pub fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        fill(self.packets.begin());
        self.packets.end();
    }

    /// As [`Output::packet`]; adds nothing when `fill` fails.
    pub fn try_packet<E>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        match fill(self.packets.begin()) {
            Ok(()) => {
                self.packets.end();
                Ok(())
            }
            Err(error) => {
                self.packets.abandon();
                Err(error)
            }
        }
    }

    /// Adds an OK packet.
    pub fn ok(&mut self, fields: &OkFields<'_>) {
        let capabilities = self.capabilities;
        self.packet(|out| encode_ok(out, fields, capabilities));
    }

    /// Adds the packet after the last row.
    pub fn end_of_rows(&mut self, fields: &OkFields<'_>) {
        let capabilities = self.capabilities;
        self.packet(|out| encode_end_of_rows(out, fields, capabilities));
    }

    /// Adds the packet after column definitions, for clients that want one.
    pub fn end_of_columns(&mut self, status: u16) {
        if !self.has(capability::DEPRECATE_EOF) {
            self.packet(|out| encode_eof(out, 0, status));
        }
    }

    /// Adds an ERR packet.
    pub fn error(&mut self, error: &SqlError) {
        let charset = self.results.map_or(Charset::Utf8mb4, Collation::charset);
        self.packet(|out| encode_error(out, error.errno, error.sqlstate, &error.message, charset));
    }

    /// Packets that wait to be written, framed.
    pub fn pending(&self) -> &[u8] {
        self.packets.bytes()
    }

    /// Marks the end of the packets so far.
    pub fn mark(&self) -> OutputMark {
        OutputMark { len: self.packets.len(), sequence: self.packets.sequence(), flushes: self.flushes }
    }

    /// Takes the packets after `mark` back, unless some have been written since.
    pub fn undo(&mut self, mark: OutputMark) {
        if mark.flushes == self.flushes {
            self.packets.truncate(mark.len, mark.sequence);
        }
    }

    /// Forgets the packets that wait: somebody else writes them.
    pub fn give_away(&mut self) {
        self.flushes += 1;
        self.packets.clear();
        self.unsent_from = self.packets.sequence();
    }

    /// Gives what waits to whoever makes durable what it rests on, if it is short and rests on something.
    pub fn hold(&mut self) {
        if !self.packets.is_empty()
            && !self.store.is_durable(&self.rests_on)
            && let Some(reply) = self.handover.hold(self.packets.bytes())
        {
            self.give_away();
            self.store.when_durable(&self.rests_on, reply);
        }
    }

    /// Writes what waits, when what it rests on is durable. If that fails, nothing of it is written and its error takes
    /// its place: see [`Output::take_doom`]. Another error is final: see [`Output::is_broken`].
    pub fn flush(&mut self) -> Result<(), SqlError> {
        if self.packets.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.store.wait_until_durable(&self.rests_on) {
            self.doomed = true;
            self.packets.truncate(0, self.unsent_from);
            return Err(commit_error(&error));
        }
        let bytes = self.packets.bytes();
        self.tally.sent(bytes.len());
        self.handover.wait_for_send();
        let written = self.socket.write_all(bytes);
        self.give_away();
        written.map_err(|_| {
            self.broken = true;
            SqlError::new(ER_NET_ERROR_ON_WRITE, &[])
        })
    }

    /// Whether the transaction must be rolled back since the last call, because what it saw was lost.
    pub fn take_doom(&mut self) -> bool {
        std::mem::take(&mut self.doomed) | self.handover.take_doom()
    }

    /// Whether a write failed: the client is gone.
    pub fn is_broken(&self) -> bool {
        self.broken
    }
}
