//! The protocol by hand, over TLS: which record has which bytes is the test's.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// How long a server may take to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH
const CAPABILITIES: u32 = 1 << 9 | 1 << 15 | 1 << 19;
const SSL: u32 = 1 << 11;

/// A client's certificate and key, in PEM.
pub struct ClientFiles<'a> {
    /// The certificate.
    pub certificate: &'a str,
    /// The key.
    pub key: &'a str,
}

/// An encrypted connection.
pub struct Wire(StreamOwned<ClientConnection, TcpStream>);

/// Connects and reads the greeting.
pub fn greeted(port: u16) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let greeting = receive(&mut stream)?.context("no greeting")?;
    ensure!(greeting.first() == Some(&10), "greeting: {greeting:?}");
    Ok(stream)
}

/// The packet that asks for TLS.
pub fn request() -> Vec<u8> {
    let mut payload = (CAPABILITIES | SSL).to_le_bytes().to_vec();
    payload.extend((1_u32 << 24).to_le_bytes());
    payload.push(45);
    payload.extend([0; 23]);
    packet(1, &payload)
}

/// What `user` sends to log in with this response to a challenge for `plugin`.
pub fn login(user: &str, response: &[u8], plugin: &str) -> Vec<u8> {
    let mut payload = CAPABILITIES.to_le_bytes().to_vec();
    payload.extend((1_u32 << 24).to_le_bytes());
    payload.push(45);
    payload.extend([0; 23]);
    payload.extend(user.as_bytes());
    payload.extend([0, response.len() as u8]);
    payload.extend(response);
    payload.extend(plugin.as_bytes());
    payload.push(0);
    payload
}

/// One framed packet.
pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend(payload);
    packet
}

/// One packet's payload, or nothing if the server closed the connection.
pub fn receive(stream: &mut impl Read) -> Result<Option<Vec<u8>>> {
    let mut header = [0; 4];
    match stream.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => return Ok(None),
        Err(error) => return Err(error).context("the server stays silent"),
    }
    header[3] = 0;
    let mut payload = vec![0; u32::from_le_bytes(header) as usize];
    stream.read_exact(&mut payload)?;
    Ok(Some(payload))
}

/// The number in an ERR packet.
pub fn errno(payload: &[u8]) -> Option<u16> {
    (payload.first() == Some(&0xff)).then(|| u16::from_le_bytes([payload[1], payload[2]]))
}

impl Wire {
    /// Encrypts a new connection; the server's certificate must be one of the issuer in `ca`.
    pub fn connect(port: u16, ca: &Path, client: Option<ClientFiles<'_>>) -> Result<Wire> {
        let mut stream = greeted(port)?;
        stream.write_all(&request())?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(ca)?)?;
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots);
        let config = match client {
            None => builder.with_no_client_auth(),
            Some(files) => {
                let certificate = CertificateDer::from_pem_slice(files.certificate.as_bytes())?;
                let key = PrivateKeyDer::from_pem_slice(files.key.as_bytes())?;
                builder.with_client_auth_cert(vec![certificate], key)?
            }
        };
        let name = ServerName::try_from("localhost")?;
        let mut wire = Wire(StreamOwned::new(ClientConnection::new(Arc::new(config), name)?, stream));
        while wire.0.conn.is_handshaking() {
            let Wire(StreamOwned { conn, sock }) = &mut wire;
            conn.complete_io(sock)?;
        }
        Ok(wire)
    }

    /// As [`Wire::connect`], logged in as root without a password.
    pub fn log_in(port: u16, ca: &Path) -> Result<Wire> {
        let mut wire = Wire::connect(port, ca, None)?;
        wire.send(&packet(2, &login("root", b"", "mysql_native_password")))?;
        let answer = wire.receive()?.context("closed at login")?;
        ensure!(answer.first() == Some(&0), "login refused: {answer:?}");
        Ok(wire)
    }

    /// The server's certificate.
    pub fn certificate(&self) -> Vec<u8> {
        let chain = self.0.conn.peer_certificates().expect("a server shows one");
        chain[0].to_vec()
    }

    /// Sends bytes, in a record of their own if they fit into one.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes)?;
        Ok(self.0.flush()?)
    }

    /// One packet's payload, or nothing if the server closed the connection.
    pub fn receive(&mut self) -> Result<Option<Vec<u8>>> {
        receive(&mut self.0)
    }

    /// Reads the answer to a query of one column and one row, and gives the row.
    pub fn row(&mut self) -> Result<Vec<u8>> {
        let head = self.receive()?.context("closed")?;
        ensure!(head == [1], "not one column: {}", String::from_utf8_lossy(&head));
        // The column, the end of the columns, the row, the end of the rows.
        let mut packets = Vec::new();
        for _ in 0..4 {
            packets.push(self.receive()?.context("closed")?);
        }
        Ok(packets.swap_remove(2))
    }
}
