//! A client's socket, TCP or Unix, as sessions and log writers use it.
//!
//! A session waits for its client only where it says so to its thread's carrier
//! ([`cohort_txn::carrier`]).
//!
//! Concurrency: one thread at a time reads; any thread may write, but never two at a time: a session hands the
//! right to write over with its commit and takes it back when that has been replied to
//! (`session::handover`). Any thread may [hang up](Socket::hang_up).

use std::io;
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cohort_txn::carrier::blocking;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

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

    /// Whether both are at one host; the Unix socket is a host of its own.
    pub fn is_at_host_of(&self, other: &Peer) -> bool {
        match (self, other) {
            (Peer::Local, Peer::Local) => true,
            (Peer::Remote(one, _), Peer::Remote(other, _)) => one.to_canonical() == other.to_canonical(),
            _ => false,
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
        Socket { fd, peer, write_waits: AtomicBool::new(false), hung_up: AtomicBool::new(false) }
    }

    /// Where the client is.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// How long a read waits before it fails with [`io::ErrorKind::WouldBlock`].
    pub fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        Ok(set_socket_timeout(&self.fd, Timeout::Recv, Some(timeout))?)
    }

    /// How long a write waits for the client to take something.
    pub fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        Ok(set_socket_timeout(&self.fd, Timeout::Send, Some(timeout))?)
    }

    /// Reads at least one byte, waiting for it; 0 at the end.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (count, _) = blocking(|| recv(&self.fd, buffer, RecvFlags::empty()))?;
        Ok(count)
    }

    /// Reads what has arrived; 0 at the end, [`io::ErrorKind::WouldBlock`] if that is nothing.
    pub fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (count, _) = recv(&self.fd, buffer, RecvFlags::DONTWAIT)?;
        Ok(count)
    }

    /// Waits, for `time` or until the client has ended its side; true if it has.
    pub fn wait_for_end(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut fds = [PollFd::new(&self.fd, PollFlags::RDHUP)];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left_at_most = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match blocking(|| poll(&mut fds, Some(&left_at_most))) {
                Ok(0) | Err(rustix::io::Errno::INTR) if Instant::now() < deadline => {}
                Ok(0) | Err(_) => return false,
                Ok(_) => return true,
            }
        }
    }

    /// Writes all bytes, waiting for the client to take them. After an error the connection is useless.
    pub fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while !bytes.is_empty() {
            let sent = match flags.contains(SendFlags::DONTWAIT) {
                true => send(&self.fd, bytes, flags),
                false => blocking(|| self.send_waiting(bytes, flags)),
            };
            match sent {
                Ok(count) => bytes = &bytes[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) if flags.contains(SendFlags::DONTWAIT) => {
                    flags.remove(SendFlags::DONTWAIT);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
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
        let sent = send(&self.fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        if sent == Ok(bytes.len()) {
            return true;
        }
        self.close();
        false
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

    /// Tells the client that nothing more comes.
    pub fn close_output(&self) {
        let _ = shutdown(&self.fd, Shutdown::Write);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
