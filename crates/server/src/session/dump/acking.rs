//! A replica that acknowledges what it gets (semi-synchronous replication).
//!
//! Before each event it gets [`SEMI_SYNC_MAGIC`](crate::protocol::replication::SEMI_SYNC_MAGIC) and a byte that says
//! whether an acknowledgement is wanted. It is wanted of the last event before the reader has everything: so one serves a
//! whole cohort, and many that came meanwhile. The replica counts packets anew from its acknowledgement.

use std::time::{Duration, Instant};

use cohort_binlog::{Acks, BinlogFiles, BinlogPosition};
use cohort_io::sync::Mutex;

use crate::protocol::packet::ReadPacketError;
use crate::protocol::replication::Ack;
use crate::session::connection::Input;
use crate::socket::Socket;

/// The longest acknowledgement, bytes.
const ACK_BYTES_MAX: usize = 1024;
/// For how long an acknowledgement is waited for at a time; there may be none for days.
const WAIT: Duration = Duration::from_secs(3600);

/// The replica, while it is connected.
pub(super) struct AckingReplica<'a> {
    files: &'a BinlogFiles,
    number: u64,
    /// What it was asked to acknowledge last.
    asked: Mutex<BinlogPosition>,
}

impl<'a> AckingReplica<'a> {
    /// Counts it among those that commits wait for.
    pub(super) fn join(files: &'a BinlogFiles) -> AckingReplica<'a> {
        AckingReplica { files, number: files.acks().join(), asked: Mutex::default() }
    }

    fn acks(&self) -> &Acks {
        self.files.acks()
    }

    /// It has everything before `position`: nothing there is sent to it.
    pub(super) fn has(&self, position: BinlogPosition) {
        self.acks().has(self.number, position);
    }

    /// Whether it is to acknowledge the event that ends at `position`: the last there is.
    pub(super) fn is_asked(&self, position: BinlogPosition) -> bool {
        let asked = self.acks().are_enabled() && position >= self.files.tail().durable();
        if asked {
            *self.asked.lock() = position;
            self.acks().count_request();
        }
        asked
    }

    /// Takes its acknowledgements until the connection ends, or it sends what is none.
    pub(super) fn read(&self, input: &mut Input, socket: &Socket) {
        loop {
            let payload = match input.answer(0, ACK_BYTES_MAX, Instant::now() + WAIT) {
                Ok(payload) => payload,
                Err(ReadPacketError::TimedOut { .. }) => continue,
                Err(_) => break,
            };
            if let Err(what) = self.take(payload) {
                log::warn!("semi-synchronous replication: a replica at {} is cut off: {what}", socket.peer().host());
                break;
            }
        }
        socket.close();
    }

    fn take(&self, payload: &[u8]) -> Result<(), String> {
        let ack = Ack::decode(payload).map_err(|error| error.to_string())?;
        let file_number = self.files.number_of(&ack.file).ok_or_else(|| format!("it acknowledges {:?}", ack.file))?;
        let position = BinlogPosition { file_number, offset: ack.position };
        let asked = *self.asked.lock();
        if position > asked {
            return Err(format!("it acknowledges {position}, and was asked for {asked}"));
        }
        self.acks().acknowledge(self.number, position);
        Ok(())
    }
}

impl Drop for AckingReplica<'_> {
    fn drop(&mut self) {
        self.acks().leave(self.number);
    }
}
