//! A client's socket, TCP or Unix, plain or encrypted, as sessions and log writers use it.
//!
//! A connection begins plain; [`Socket::start_tls`] encrypts it from there on ([`tls_stream`]).
//!
//! A session waits for its client only inside of its thread's blocking hook
//! ([`cohort_txn::blocking_hook`]).
//!
//! Concurrency: one thread at a time reads; any thread may write, but never two at a time: a session hands the
//! right to write over with its commit and takes it back when that has been replied to
//! (`session::handover`). Any thread may [hang up](Socket::hang_up).

mod tls_stream;

use std::io;
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cohort_txn::blocking_hook::blocking;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustls::ServerConfig;

use tls_stream::TlsStream;
pub use tls_stream::TlsSummary;

/// Fewer bytes than this at a time are a crumb.
const CRUMB: usize = 64;
/// How many crumbs are read as they arrive: more than any client needs for a login.
const CRUMBS_AT_ONCE: u32 = 8;
/// For how long further crumbs gather, at first and at most; each time doubles it.
const GATHER_FIRST: Duration = Duration::from_millis(5);
const GATHER_MOST: Duration = Duration::from_millis(320);

/// Where a client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// On this machine, through the Unix socket.
    Local,
    /// At an address.
    Remote(IpAddr, u16),
}

impl Peer {
    /// The host as accounts name it.
    pub fn host(&self) -> String {
        match self {
            Peer::Local => "localhost".to_owned(),
            Peer::Remote(address, _) => address.to_canonical().to_string(),
        }
    }

    /// The host as the process list shows it.
    pub fn host_and_port(&self) -> String {
        match self {
            Peer::Local => "localhost".to_owned(),
            Peer::Remote(_, port) => format!("{}:{port}", self.host()),
        }
    }

    /// Which host it is; the Unix socket is one of its own.
    pub fn host_address(&self) -> Option<IpAddr> {
        match self {
            Peer::Local => None,
            Peer::Remote(address, _) => Some(address.to_canonical()),
        }
    }

    /// Whether the client is on this machine.
    pub fn is_loopback(&self) -> bool {
        match self {
            Peer::Local => true,
            Peer::Remote(address, _) => address.to_canonical().is_loopback(),
        }
    }
}

/// A connected socket; closed when the last owner drops it.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    peer: Peer,
    /// Set once the connection is encrypted.
    tls: OnceLock<Box<TlsStream>>,
    /// How many reads have brought a crumb only, before the login.
    crumbs: AtomicU32,
    has_logged_in: AtomicBool,
    /// A write waits for the client.
    write_waits: AtomicBool,
    hung_up: AtomicBool,
}

impl Socket {
    /// Takes over an accepted TCP connection.
    pub fn from_tcp(stream: TcpStream) -> io::Result<Socket> {
        let address = stream.peer_addr()?;
        let fd = OwnedFd::from(stream);
        set_tcp_nodelay(&fd, true)?;
        set_socket_keepalive(&fd, true)?;
        Ok(Socket::new(fd, Peer::Remote(address.ip(), address.port())))
    }

    /// Takes over an accepted connection of the Unix socket.
    pub fn from_unix(stream: UnixStream) -> Socket {
        Socket::new(OwnedFd::from(stream), Peer::Local)
    }

    fn new(fd: OwnedFd, peer: Peer) -> Socket {
        let [has_logged_in, write_waits, hung_up] = [const { AtomicBool::new(false) }; 3];
        Socket { fd, peer, tls: OnceLock::new(), crumbs: AtomicU32::new(0), has_logged_in, write_waits, hung_up }
    }

    /// Where the client is.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Encrypts the connection from now on, by a handshake that has to end before `deadline`; the client has sent the
    /// bytes `received` of it. After an error the connection is useless.
    pub fn start_tls(&self, config: Arc<ServerConfig>, received: &[u8], deadline: Instant) -> io::Result<()> {
        let stream = TlsStream::accept(config, self, received, deadline)?;
        // A connection is encrypted once.
        self.tls.set(Box::new(stream)).map_err(|_| io::ErrorKind::InvalidInput.into())
    }

    /// What was agreed upon, if the connection is encrypted.
    pub fn tls(&self) -> Option<&TlsSummary> {
        self.tls.get().map(|stream| &stream.summary)
    }

    /// Whether nobody else can read what is sent: it is encrypted, or stays on this machine.
    pub fn is_secure(&self) -> bool {
        self.peer == Peer::Local || self.tls.get().is_some()
    }

    /// How long a write waits for the client to take something.
    pub fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        Ok(set_socket_timeout(&self.fd, Timeout::Send, Some(timeout))?)
    }

    /// Whether the client has ended its side already, and sent nothing before.
    pub fn is_gone(&self) -> bool {
        let mut byte = [0];
        match recv(&self.fd, &mut byte, RecvFlags::DONTWAIT | RecvFlags::PEEK) {
            Ok((count, _)) => count == 0,
            Err(error) => error != rustix::io::Errno::AGAIN,
        }
    }

    /// Reads at least one byte, waiting for it to `deadline`; 0 at the end, [`io::ErrorKind::WouldBlock`] when the
    /// time is over.
    pub fn read_until(&self, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match self.read_now(buffer) {
                Ok(count) => {
                    self.note_read(count);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_for_input(deadline)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// The client is known: what it sends is read as it arrives.
    pub fn log_in(&self) {
        self.has_logged_in.store(true, Ordering::Relaxed);
        self.crumbs.store(0, Ordering::Relaxed);
    }

    /// Counts a read that [`Socket::wait_for_input`] preceded.
    fn note_read(&self, count: usize) {
        if count < CRUMB && !self.has_logged_in.load(Ordering::Relaxed) {
            self.crumbs.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits for input; [`io::ErrorKind::WouldBlock`] if there is none at `deadline`. Where a client sends its login a
    /// byte at a time these gather first: each of them would cost more than a login.
    fn wait_for_input(&self, deadline: Instant) -> io::Result<()> {
        if let Some(more) = self.crumbs.load(Ordering::Relaxed).checked_sub(CRUMBS_AT_ONCE) {
            let gather = GATHER_FIRST.saturating_mul(1 << more.min(16)).min(GATHER_MOST);
            self.wait_for_end(gather.min(deadline.saturating_duration_since(Instant::now())));
        }
        self.wait_until(PollFlags::IN, deadline)
    }

    /// Reads what has arrived; 0 at the end, [`io::ErrorKind::WouldBlock`] if that is nothing.
    pub fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.tls.get() {
            None => self.receive_now(buffer),
            Some(stream) => stream.read_now(self, buffer),
        }
    }

    fn receive_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (count, _) = recv(&self.fd, buffer, RecvFlags::DONTWAIT)?;
        Ok(count)
    }

    /// Waits until the socket is ready for `what`; [`io::ErrorKind::WouldBlock`] if it is not at `deadline`.
    fn wait_until(&self, what: PollFlags, deadline: Instant) -> io::Result<()> {
        match self.poll(what, deadline)? {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn poll(&self, what: PollFlags, deadline: Instant) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.fd, what)];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left_at_most = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match blocking(|| poll(&mut fds, Some(&left_at_most))) {
                Ok(0) | Err(rustix::io::Errno::INTR) if Instant::now() < deadline => {}
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits, for `time` or until the client has ended its side; true if it has.
    pub fn wait_for_end(&self, time: Duration) -> bool {
        self.poll(PollFlags::RDHUP, Instant::now() + time).unwrap_or(false)
    }

    /// Writes all bytes, waiting for the client to take them. After an error the connection is useless.
    pub fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        if let Some(stream) = self.tls.get() {
            return stream.write_all(self, bytes);
        }
        while !bytes.is_empty() {
            bytes = &bytes[self.send_some(bytes)?..];
        }
        Ok(())
    }

    /// Sends some of the bytes, waiting for the client to take them.
    fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            let sent = match flags.contains(SendFlags::DONTWAIT) {
                true => send(&self.fd, bytes, flags),
                false => blocking(|| self.send_waiting(bytes, flags)),
            };
            match sent {
                Ok(count) => return Ok(count),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) if flags.contains(SendFlags::DONTWAIT) => {
                    flags.remove(SendFlags::DONTWAIT);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&self.fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
    }

    fn send_waiting(&self, bytes: &[u8], flags: SendFlags) -> rustix::io::Result<usize> {
        // Either this sees that somebody hangs up, or they see that a write waits.
        self.write_waits.store(true, Ordering::SeqCst);
        let sent = match self.hung_up.load(Ordering::SeqCst) {
            true => Err(rustix::io::Errno::PIPE),
            false => send(&self.fd, bytes, flags),
        };
        self.write_waits.store(false, Ordering::SeqCst);
        sent
    }

    /// Writes all bytes at once or closes the connection: never waits. A client that has not read its
    /// earlier replies is not worth waiting for.
    pub fn write_now_or_close(&self, bytes: &[u8]) -> bool {
        let sent = match self.tls.get() {
            None => matches!(self.send_now(bytes), Ok(count) if count == bytes.len()),
            Some(stream) => stream.write_now(self, bytes).is_ok(),
        };
        if !sent {
            self.close();
        }
        sent
    }

    /// Ends both directions; whoever reads or writes wakes up.
    pub fn close(&self) {
        // Already closed by the client: the same result.
        let _ = shutdown(&self.fd, Shutdown::Both);
    }

    /// Wakes a reader with the end of the stream, and a writer that waits for the client, now or later, with an
    /// error. What the client takes without being waited for still goes out.
    pub fn hang_up(&self) {
        self.hung_up.store(true, Ordering::SeqCst);
        match self.write_waits.load(Ordering::SeqCst) {
            true => self.close(),
            false => self.close_input(),
        }
    }

    /// Wakes a reader with the end of the stream; writes still go out.
    pub fn close_input(&self) {
        let _ = shutdown(&self.fd, Shutdown::Read);
    }

    /// Ends the stream to the client.
    pub fn close_output(&self) {
        if let Some(stream) = self.tls.get() {
            stream.say_farewell(self);
        }
        let _ = shutdown(&self.fd, Shutdown::Write);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn crumbs_gather_before_they_are_read() {
        const BYTES: usize = 500;
        let (mut client, server) = UnixStream::pair().expect("a pair of sockets");
        let socket = Socket::from_unix(server);
        let sender = std::thread::spawn(move || {
            for _ in 0..BYTES {
                client.write_all(b"x").expect("sent");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let deadline = Instant::now() + Duration::from_secs(60);
        let (mut read, mut reads) = (0, 0);
        loop {
            match socket.read_until(&mut [0; 4096], deadline).expect("input in time") {
                0 => break,
                count => read += count,
            }
            reads += 1;
        }
        sender.join().expect("no panic");
        assert_eq!(read, BYTES);
        assert!(reads < BYTES / 4, "{reads} reads");
        socket.log_in();
        assert_eq!(socket.crumbs.load(Ordering::Relaxed), 0);
    }
}
