//! The reply of a commit, which whoever finishes the commit sends to the client.
//!
//! A session gives its OK away together with the transaction and goes back to reading its socket. It
//! must not answer the next command before the OK has gone out: [`Handover::wait`].
//!
//! Invariants
//! 1. At most one reply of a session is pending.
//! 2. Sending never waits: a client that does not take a few bytes at once loses its connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cohort_txn::carrier::blocking;
use cohort_txn::{CommitError, Committed, Reply};
use parking_lot::{Condvar, Mutex};

use crate::protocol::packet::PacketBuffer;
use crate::protocol::reply::encode_error;
use crate::session::errors::commit_error;
use crate::socket::Socket;
use crate::status::{Counters, add, count};

/// Nothing pending.
const FREE: u32 = 0;
/// A reply is pending.
const PENDING: u32 = 1;
/// A reply is pending and the session waits until it has been sent.
const AWAITED: u32 = 2;

/// How often to look again before waiting: a reply is pending for a few microseconds behind its send.
const SPINS: u32 = 200;

/// An OK with the texts that servers send is not longer.
const PACKET_LEN: usize = 160;

/// What session and reply share.
pub struct Handover {
    state: AtomicU32,
    /// Held by whoever lets a session that waits go on.
    sending: Mutex<()>,
    sent: Condvar,
    socket: Arc<Socket>,
    counters: Arc<Counters>,
}

impl Handover {
    /// For the session of the client at `socket`.
    pub fn new(socket: Arc<Socket>, counters: Arc<Counters>) -> Arc<Handover> {
        let (sending, sent) = Default::default();
        Arc::new(Handover { state: AtomicU32::new(FREE), sending, sent, socket, counters })
    }

    /// Makes the framed packet `ok` a reply, if it is short enough.
    pub fn reply(self: &Arc<Self>, ok: &[u8]) -> Option<Box<dyn Reply>> {
        let mut packet = [0; PACKET_LEN];
        packet.get_mut(..ok.len())?.copy_from_slice(ok);
        let before = self.state.swap(PENDING, Ordering::Relaxed);
        assert_eq!(before, FREE, "a session has one pending reply at most");
        Some(Box::new(PendingOk { shared: self.clone(), packet, len: ok.len(), sent: false }))
    }

    /// Waits until the pending reply, if any, has been sent. Only the session calls this.
    pub fn wait(&self) {
        for _ in 0..SPINS {
            if self.state.load(Ordering::Acquire) == FREE {
                return;
            }
            std::hint::spin_loop();
        }
        let mut sending = self.sending.lock();
        let _ = self.state.compare_exchange(PENDING, AWAITED, Ordering::AcqRel, Ordering::Acquire);
        blocking(|| {
            while self.state.load(Ordering::Acquire) != FREE {
                self.sent.wait(&mut sending);
            }
        });
    }

    fn done(&self) {
        if self.state.swap(FREE, Ordering::AcqRel) == AWAITED {
            // The session is between its look at the state and its sleep, or asleep.
            drop(self.sending.lock());
            self.sent.notify_one();
        }
    }
}

struct PendingOk {
    shared: Arc<Handover>,
    packet: [u8; PACKET_LEN],
    len: usize,
    sent: bool,
}

impl Reply for PendingOk {
    fn send(mut self: Box<Self>, outcome: Result<Committed, CommitError>) {
        self.sent = true;
        let counters = &self.shared.counters;
        let delivered = match outcome {
            Ok(_) => {
                add(&counters.bytes_sent, self.len as u64);
                self.shared.socket.write_now_or_close(&self.packet[..self.len])
            }
            Err(error) => {
                let error = commit_error(&error);
                let mut out = PacketBuffer::default();
                // The OK's header says which packet of the exchange this is.
                out.set_sequence(self.packet[3]);
                encode_error(out.begin(), error.errno, error.sqlstate, &error.message);
                out.end();
                self.shared.socket.write_now_or_close(out.bytes())
            }
        };
        if !delivered {
            count(&counters.lost_replies);
        }
        self.shared.done();
    }
}

impl Drop for PendingOk {
    /// A reply dropped without an outcome must not leave the session waiting for ever, nor its client
    /// with the impression of an answer.
    fn drop(&mut self) {
        if !self.sent {
            self.shared.socket.close();
            self.shared.done();
        }
    }
}
