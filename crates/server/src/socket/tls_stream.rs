//! The encrypted form of a connection.
//!
//! Concurrency: as with a plain socket one thread reads and one writes. Both use the state of the encryption, which a
//! mutex guards: a reader holds it for as long as it does not wait, a writer until all its bytes are sent, so that the
//! records go out in the order in which they were made. Nobody needs it to hang up.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Instant;

use cohort_io::sync::Mutex;
use rustix::event::PollFlags;
use rustls::{ProtocolVersion, ServerConfig, ServerConnection};

use super::Socket;
use crate::tls::peer_name::PeerName;

/// Most bytes that a client may take for its side of the handshake: several times a long chain of certificates.
const HANDSHAKE_BYTES_MAX: usize = 128 << 10;

/// What was agreed upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSummary {
    /// The protocol, as `Ssl_version` shows it.
    pub version: &'static str,
    /// The cipher, as OpenSSL names it.
    pub cipher: String,
    /// Whose certificate the client has shown.
    pub client: Option<PeerName>,
}

/// A connection after its handshake.
#[derive(Debug)]
pub struct TlsStream {
    connection: Mutex<ServerConnection>,
    /// What was agreed upon.
    pub summary: TlsSummary,
}

impl TlsStream {
    /// Shakes hands to `deadline` with the client at `socket`, which has sent the bytes `received` so far.
    pub fn accept(
        config: Arc<ServerConfig>,
        socket: &Socket,
        received: &[u8],
        deadline: Instant,
    ) -> io::Result<TlsStream> {
        let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut ahead = received;
        let mut total = 0;
        loop {
            match connection.write_tls(&mut Now::new(socket)) {
                Ok(_) if connection.wants_write() => continue,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    socket.wait_until(PollFlags::OUT, deadline)?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if !connection.is_handshaking() {
                break;
            }
            let read = match ahead.is_empty() {
                true => connection.read_tls(&mut Now::new(socket)),
                false => connection.read_tls(&mut ahead),
            };
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    socket.note_read(count);
                    total += count;
                    process(&mut connection, socket)?;
                    if total > HANDSHAKE_BYTES_MAX {
                        return Err(ErrorKind::InvalidData.into());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => socket.wait_for_input(deadline)?,
                Err(error) => return Err(error),
            }
        }
        let summary = summary(&connection);
        Ok(TlsStream { connection: Mutex::new(connection), summary })
    }

    /// As [`Socket::read_now`]. It reads less than there is room for only when there is nothing more to be had.
    pub fn read_now(&self, socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
        let mut connection = self.connection.lock();
        let mut transport = Now::new(socket);
        let mut filled = 0;
        loop {
            let ended = match connection.reader().read(&mut buffer[filled..]) {
                Ok(count) => {
                    filled += count;
                    count == 0
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => false,
                // Closed without a word of farewell, as most clients do.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => true,
                Err(error) => return Err(error),
            };
            if ended || filled == buffer.len() {
                return Ok(filled);
            }
            if transport.drained {
                return if filled > 0 { Ok(filled) } else { Err(ErrorKind::WouldBlock.into()) };
            }
            match connection.read_tls(&mut transport) {
                Ok(_) => process(&mut connection, socket)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => transport.drained = true,
                Err(error) => return Err(error),
            }
            // The answer to a change of keys; what does not go out now goes out before the next reply.
            if connection.wants_write() {
                let _ = connection.write_tls(&mut transport);
            }
        }
    }

    /// As [`Socket::write_all`].
    pub fn write_all(&self, socket: &Socket, bytes: &[u8]) -> io::Result<()> {
        send_all(&mut self.connection.lock(), bytes, &mut Waiting(socket))
    }

    /// As [`Socket::write_now_or_close`], without closing.
    pub fn write_now(&self, socket: &Socket, bytes: &[u8]) -> io::Result<()> {
        send_all(&mut self.connection.lock(), bytes, &mut Now::new(socket))
    }

    /// Says that nothing more will be sent, if nobody is sending.
    pub fn say_farewell(&self, socket: &Socket) {
        if let Some(mut connection) = self.connection.try_lock() {
            connection.send_close_notify();
            // A client that does not take it sees the end of the stream.
            let _ = connection.write_tls(&mut Now::new(socket));
        }
    }
}

fn send_all(connection: &mut ServerConnection, mut bytes: &[u8], transport: &mut dyn Write) -> io::Result<()> {
    while !bytes.is_empty() {
        let taken = connection.writer().write(bytes)?;
        bytes = &bytes[taken..];
        while connection.wants_write() {
            connection.write_tls(transport)?;
        }
    }
    Ok(())
}

/// Takes in what has been read. If that is no TLS, or not what was agreed upon, the client gets an alert.
fn process(connection: &mut ServerConnection, socket: &Socket) -> io::Result<()> {
    match connection.process_new_packets() {
        Ok(_) => Ok(()),
        Err(error) => {
            let _ = connection.write_tls(&mut Now::new(socket));
            Err(io::Error::new(ErrorKind::InvalidData, error))
        }
    }
}

fn summary(connection: &ServerConnection) -> TlsSummary {
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
        _ => "TLSv1.3",
    };
    let suite = connection.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
    let client = connection.peer_certificates().and_then(|chain| PeerName::of(chain.first()?));
    TlsSummary { version, cipher: openssl_name(suite.unwrap_or_default()), client }
}

/// OpenSSL's name of a cipher suite.
fn openssl_name(suite: &str) -> String {
    match suite.strip_prefix("TLS13_") {
        Some(suite) => format!("TLS_{suite}"),
        None => {
            let suite = suite.trim_start_matches("TLS_").replace("_WITH_", "-").replace("AES_", "AES");
            suite.replace('_', "-").replace("POLY1305-SHA256", "POLY1305")
        }
    }
}

/// The socket, as one that never waits.
struct Now<'a> {
    socket: &'a Socket,
    /// The last read found less than it had room for.
    drained: bool,
}

impl<'a> Now<'a> {
    fn new(socket: &'a Socket) -> Now<'a> {
        Now { socket, drained: false }
    }
}

impl Read for Now<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.socket.receive_now(buffer)?;
        self.drained = count < buffer.len();
        Ok(count)
    }
}

impl Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.send_now(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket, as one that waits for its client to take something.
struct Waiting<'a>(&'a Socket);

impl Write for Waiting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_some(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_have_the_names_that_operators_know() {
        for (suite, name) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
            ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ] {
            assert_eq!(openssl_name(suite), name);
        }
    }
}
