//! The reply of a commit, or one that rests on somebody else's, which whoever finishes the commit sends to the client.
//!
//! A session gives its OK away together with the transaction and goes back to reading its socket. Its next
//! command begins when the outcome is known ([`Handover::wait_for_outcome`]) and is answered when the OK is out
//! ([`Handover::wait_for_send`]): a client that got its OK mostly has sent its next command before the
//! thread that sent the OK is back from the system call.
//!
//! Invariants
//! 1. At most one outcome of a session is unknown.
//! 2. One thread at a time writes to the socket, and answers go out in the order of their commands.
//! 3. Sending never waits: a client that does not take a few bytes at once loses its connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cohort_io::sync::{Condvar, Mutex};
use cohort_sql::types::Charset;
use cohort_txn::blocking_hook::blocking;
use cohort_txn::{CommitError, Committed, Reply};

use crate::protocol::packet::PacketBuffer;
use crate::protocol::reply::encode_error;
use crate::session::errors::commit_error;
use crate::socket::Socket;
use crate::status::{Tally, count};

/// The session has given a reply away whose outcome is not known.
const PENDING: u32 = 1;
/// A reply is being sent.
const SENDING: u32 = 2;
/// The session, or the next reply, waits until one of these ends.
const AWAITED: u32 = 4;
/// The outcome was that nobody knows: what the session's transaction has seen may be lost.
const DOOMED: u32 = 8;

/// How often to look again before waiting: a send takes a few microseconds.
const SPINS: u32 = 200;

/// An OK with the texts that servers send is not longer.
const PACKET_LEN: usize = 160;
/// The longest reply of several packets, bytes: a socket without unread replies takes it at once.
const PACKETS_LEN_MAX: usize = 2048;

/// What session and reply share.
pub struct Handover {
    state: AtomicU32,
    /// Held by whoever lets those who wait go on.
    ended: Mutex<()>,
    changed: Condvar,
    socket: Arc<Socket>,
    tally: Arc<Tally>,
}

impl Handover {
    /// For the session of the client at `socket`.
    pub fn new(socket: Arc<Socket>, tally: Arc<Tally>) -> Arc<Handover> {
        let (ended, changed) = Default::default();
        Arc::new(Handover { state: AtomicU32::new(0), ended, changed, socket, tally })
    }

    /// Makes the framed packet `ok` a reply, if it is short enough.
    pub fn reply(self: &Arc<Self>, ok: &[u8]) -> Option<Box<dyn Reply>> {
        let mut packet = [0; PACKET_LEN];
        packet.get_mut(..ok.len())?.copy_from_slice(ok);
        Some(self.pending(packet, ok.len()))
    }

    /// Makes the framed `packets`, which rest on a commit of another session, a reply, if they are short enough.
    pub fn hold(self: &Arc<Self>, packets: &[u8]) -> Option<Box<dyn Reply>> {
        (packets.len() <= PACKETS_LEN_MAX).then(|| self.pending(packets.to_vec(), packets.len()))
    }

    fn pending<P: AsRef<[u8]> + Send + 'static>(self: &Arc<Self>, packets: P, len: usize) -> Box<dyn Reply> {
        let before = self.state.fetch_or(PENDING, Ordering::Relaxed);
        assert_eq!(before & PENDING, 0, "a session has one pending reply at most");
        Box::new(PendingReply { shared: self.clone(), packets, len, sent: false })
    }

    /// Whether a reply was given away since the last call of which the outcome was that nobody knows.
    pub fn take_doom(&self) -> bool {
        self.state.load(Ordering::Relaxed) & DOOMED != 0
            && self.state.fetch_and(!DOOMED, Ordering::Relaxed) & DOOMED != 0
    }

    /// Waits until the outcome of the commit whose reply was given away, if any, is known. Only the session calls
    /// this.
    pub fn wait_for_outcome(&self) {
        self.wait_while(PENDING);
    }

    /// Waits until the reply that was given away, if any, has been sent. Only the session calls this.
    pub fn wait_for_send(&self) {
        self.wait_while(PENDING | SENDING);
    }

    /// Whether the client waits for a reply that was given away.
    pub fn owes_reply(&self) -> bool {
        self.state.load(Ordering::Relaxed) & (PENDING | SENDING) != 0
    }

    fn wait_while(&self, what: u32) {
        for _ in 0..SPINS {
            if self.state.load(Ordering::Acquire) & what == 0 {
                return;
            }
            std::hint::spin_loop();
        }
        let mut ended = self.ended.lock();
        blocking(|| {
            while self.state.fetch_or(AWAITED, Ordering::AcqRel) & what != 0 {
                self.changed.wait(&mut ended);
            }
        });
    }

    /// The outcome is known: the reply goes out, after the one before.
    fn begin_send(&self) {
        self.wait_while(SENDING);
        self.change(self.state.fetch_xor(PENDING | SENDING, Ordering::AcqRel));
    }

    /// The reply is out, or there will be none.
    fn end(&self, what: u32) {
        self.change(self.state.fetch_and(!what, Ordering::AcqRel));
    }

    /// Lets those look again who waited; who goes on to wait says so again.
    fn change(&self, before: u32) {
        if before & AWAITED != 0 {
            // They are between their look at the state and their sleep, or asleep.
            let ended = self.ended.lock();
            self.state.fetch_and(!AWAITED, Ordering::Relaxed);
            drop(ended);
            self.changed.notify_all();
        }
    }
}

struct PendingReply<P: AsRef<[u8]>> {
    shared: Arc<Handover>,
    packets: P,
    len: usize,
    sent: bool,
}

impl<P: AsRef<[u8]> + Send> Reply for PendingReply<P> {
    fn send(mut self: Box<Self>, outcome: Result<Committed, CommitError>) {
        self.sent = true;
        if matches!(outcome, Err(CommitError::Unknown(_))) {
            self.shared.state.fetch_or(DOOMED, Ordering::Relaxed);
        }
        let packets = &self.packets.as_ref()[..self.len];
        self.shared.begin_send();
        let tally = &self.shared.tally;
        let delivered = match outcome {
            Ok(_) => {
                tally.sent(self.len);
                self.shared.socket.write_now_or_close(packets)
            }
            Err(error) => {
                let error = commit_error(&error);
                let mut out = PacketBuffer::default();
                // The first header says which packet of the exchange this is.
                out.set_sequence(packets[3]);
                encode_error(out.begin(), error.errno, error.sqlstate, &error.message, Charset::Utf8mb4);
                out.end();
                self.shared.socket.write_now_or_close(out.bytes())
            }
        };
        if !delivered {
            count(&tally.server().lost_replies);
        }
        self.shared.end(SENDING);
    }
}

impl<P: AsRef<[u8]>> Drop for PendingReply<P> {
    /// A reply dropped without an outcome must not leave the session waiting for ever, nor its client
    /// with the impression of an answer.
    fn drop(&mut self) {
        if !self.sent {
            self.shared.socket.close();
            self.shared.end(PENDING);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use cohort_binlog::BinlogPosition;

    use super::*;

    fn handover() -> (Arc<Handover>, UnixStream) {
        let (ours, clients) = UnixStream::pair().expect("a pair of sockets");
        (Handover::new(Arc::new(Socket::from_unix(ours)), Arc::new(Tally::new(Arc::default()))), clients)
    }

    fn committed() -> Result<Committed, CommitError> {
        Ok(Committed { gtid: None, position: BinlogPosition::default() })
    }

    /// Long enough for a thread to do what it must not do.
    const TEMPTATION: Duration = Duration::from_millis(50);

    #[test]
    fn the_next_command_begins_with_the_outcome_and_is_answered_after_the_reply() {
        let (handover, mut client) = handover();
        let reply = handover.reply(b"OK").expect("a short packet");
        let (sender, events) = mpsc::channel();
        let session = handover.clone();
        thread::scope(|scope| {
            scope.spawn(move || {
                session.wait_for_outcome();
                sender.send("begins").expect("the test listens");
                session.wait_for_send();
                sender.send("answers").expect("the test listens");
            });
            assert!(events.recv_timeout(TEMPTATION).is_err(), "the outcome is not known");
            handover.begin_send();
            assert_eq!(events.recv(), Ok("begins"));
            assert!(events.recv_timeout(TEMPTATION).is_err(), "the reply is not out");
            handover.end(SENDING);
            assert_eq!(events.recv(), Ok("answers"));
        });
        handover.state.store(PENDING, Ordering::Relaxed);
        reply.send(committed());
        let mut bytes = [0; 2];
        client.read_exact(&mut bytes).expect("the reply");
        assert_eq!(&bytes, b"OK");
    }

    #[test]
    fn a_reply_goes_out_after_the_one_before() {
        let (handover, mut client) = handover();
        let first = handover.reply(b"1").expect("a short packet");
        handover.begin_send();
        let second = handover.reply(b"2").expect("a short packet");
        thread::scope(|scope| {
            scope.spawn(|| second.send(committed()));
            thread::sleep(TEMPTATION);
            assert!(handover.socket.write_now_or_close(b"1"));
            handover.end(SENDING);
        });
        let mut bytes = [0; 2];
        client.read_exact(&mut bytes).expect("both replies");
        assert_eq!(&bytes, b"12");
        handover.state.store(PENDING, Ordering::Relaxed);
        first.send(committed());
    }

    #[test]
    fn an_answer_that_rests_on_what_was_lost_is_an_error() {
        let (handover, mut client) = handover();
        assert!(handover.hold(&[0; PACKETS_LEN_MAX + 1]).is_none() && !handover.owes_reply());
        let answer = handover.hold(b"\x02\0\0\x05OK").expect("short packets");
        answer.send(Err(CommitError::Unknown("the disk".to_owned())));
        let mut head = [0; 5];
        client.read_exact(&mut head).expect("the error");
        assert_eq!(head[3..], [5, 0xff], "in the place of what it says instead of");
        assert!(handover.take_doom(), "the transaction is rolled back");
        assert!(!handover.take_doom(), "once");
    }

    #[test]
    fn a_reply_without_an_outcome_ends_the_connection() {
        let (handover, mut client) = handover();
        drop(handover.reply(b"OK"));
        handover.wait_for_send();
        assert_eq!(client.read(&mut [0; 2]).expect("the end"), 0);
    }
}
