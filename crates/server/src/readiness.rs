//! Reports to a service manager how far the server is, as systemd's `Type=notify` asks: one datagram each to the socket
//! that `NOTIFY_SOCKET` names, with lines `READY=1` and the like (sd_notify(3)).

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// What a service manager wants to know.
#[derive(Clone, Copy, Debug)]
pub enum Readiness {
    /// Recovery goes on; nobody can connect yet.
    Starting,
    /// Connections are accepted.
    Ready,
    /// Connections are no longer accepted.
    Stopping,
}

impl Readiness {
    fn lines(self) -> &'static str {
        match self {
            Readiness::Starting => "STATUS=Opening the data directory\n",
            Readiness::Ready => "READY=1\nSTATUS=Ready for connections\n",
            Readiness::Stopping => "STOPPING=1\nSTATUS=Stopping\n",
        }
    }
}

/// Reports to the service manager, if there is one.
pub fn report(readiness: Readiness) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(socket.as_bytes(), readiness.lines()) {
        log::warn!("cannot report to NOTIFY_SOCKET={}: {error}", socket.display());
    }
}

/// `@` begins the name of a socket that has no file.
fn send(socket: &[u8], lines: &str) -> io::Result<()> {
    let address = match socket.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(socket))?,
    };
    let datagrams = UnixDatagram::unbound()?;
    // A manager that takes nothing does not hold the server up.
    datagrams.set_nonblocking(true)?;
    datagrams.send_to_addr(lines.as_bytes(), &address).map(drop)
}
