//! The MySQL protocol by hand, without the manners of a client library.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::net::{AddressFamily, SocketType};

/// A connection whose every byte is the test's.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
}

/// What a server's packet begins with.
#[derive(Debug)]
pub enum Answer {
    Ok,
    /// ERR with its error number.
    Error(u16),
    /// The head of a result, or something else that is neither OK nor ERR.
    Rows,
    /// The server closed the connection.
    Closed,
}

/// How long a server may take to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const CAPABILITIES: u32 = 1 << 9 | 1 << 15 | 1 << 19; // PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH

impl Wire {
    /// Connects and reads the greeting.
    pub fn connect(port: u16) -> Result<Wire> {
        let mut wire = Wire::connect_from([127, 0, 0, 1], port)?;
        let greeting = wire.receive()?.context("no greeting")?;
        ensure!(greeting.first() == Some(&10), "greeting of protocol {:?}", greeting.first());
        Ok(wire)
    }

    /// Connects from one of this machine's addresses, without reading the greeting.
    pub fn connect_from(address: [u8; 4], port: u16) -> Result<Wire> {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
        rustix::net::bind(&socket, &SocketAddr::from((address, 0)))?;
        rustix::net::connect(&socket, &SocketAddr::from(([127, 0, 0, 1], port)))?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Wire { stream })
    }

    /// Logs in as root without a password.
    pub fn log_in(port: u16) -> Result<Wire> {
        let mut wire = Wire::connect(port)?;
        wire.send(1, &login_as("root", b""))?;
        let mut answer = wire.receive()?.context("closed at login")?;
        if answer.first() == Some(&0xfe) {
            wire.send(3, b"")?; // asked again for the same empty password
            answer = wire.receive()?.context("closed at login")?;
        }
        ensure!(answer.first() == Some(&0), "login refused: {answer:?}");
        Ok(wire)
    }

    /// Prepares a statement; gives its id and swallows the rest of the answer.
    pub fn prepare(&mut self, sql: &str) -> Result<u32> {
        let mut command = vec![0x16];
        command.extend(sql.as_bytes());
        self.send(0, &command)?;
        let head = self.receive()?.context("closed at prepare")?;
        ensure!(head.len() >= 9 && head[0] == 0, "prepare refused: {head:?}");
        let (columns, parameters) = (u16::from_le_bytes([head[5], head[6]]), u16::from_le_bytes([head[7], head[8]]));
        // Definitions come in two groups, each ended by an EOF packet.
        for group in [parameters, columns] {
            for _ in 0..if group > 0 { group + 1 } else { 0 } {
                self.receive()?.context("closed within definitions")?;
            }
        }
        Ok(u32::from_le_bytes(head[1..5].try_into()?))
    }

    /// Sends one packet with a correct header.
    pub fn send(&mut self, sequence: u8, payload: &[u8]) -> Result<()> {
        let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
        packet[3] = sequence;
        packet.extend(payload);
        self.send_raw(&packet)
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Shuts the sending side: the server reads an end of file.
    pub fn end_of_input(&mut self) -> Result<()> {
        match self.stream.shutdown(Shutdown::Write) {
            Err(error) if error.kind() != ErrorKind::NotConnected => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// How long to wait for an answer.
    pub fn set_patience(&mut self, patience: Duration) -> Result<()> {
        Ok(self.stream.set_read_timeout(Some(patience))?)
    }

    /// Reads one packet as an answer. An error if the server stays silent.
    pub fn answer(&mut self) -> Result<Answer> {
        let Some(payload) = self.receive()? else { return Ok(Answer::Closed) };
        match payload.as_slice() {
            [0, ..] => Ok(Answer::Ok),
            [0xff, low, high, ..] => Ok(Answer::Error(u16::from_le_bytes([*low, *high]))),
            [0xff, ..] => bail!("an error without a number"),
            _ => Ok(Answer::Rows),
        }
    }

    /// What else can be done with a connection.
    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Reads one packet's payload.
    pub fn packet(&mut self) -> Result<Vec<u8>> {
        self.receive()?.context("closed")
    }

    /// One packet's payload, or nothing if the server closed the connection.
    fn receive(&mut self) -> Result<Option<Vec<u8>>> {
        let mut header = [0; 4];
        match self.stream.read_exact(&mut header) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                return Ok(None);
            }
            Err(error) => return Err(error).context("the server stays silent"),
        }
        header[3] = 0;
        let mut payload = vec![0; u32::from_le_bytes(header) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(Some(payload))
    }
}

/// What `user` sends to log in with this response to the challenge.
pub fn login_as(user: &str, response: &[u8]) -> Vec<u8> {
    let mut login = CAPABILITIES.to_le_bytes().to_vec();
    login.extend((1_u32 << 24).to_le_bytes());
    login.push(45);
    login.extend([0; 23]);
    login.extend(user.as_bytes());
    login.extend([0, response.len() as u8]);
    login.extend(response);
    login.extend(b"mysql_native_password\0");
    login
}
