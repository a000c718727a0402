//! A client that sends and shows raw packets.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, TRANSACTIONS, MULTI_STATEMENTS and MULTI_RESULTS.
pub const CAPABILITIES: u32 = 0x0200 | 0x8000 | 0x8_0000 | 0x2000 | 0x1_0000 | 0x2_0000;

pub struct Wire {
    stream: TcpStream,
}

impl Wire {
    /// Connects, without reading the greeting.
    pub fn connect(port: u16) -> Wire {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Wire { stream }
    }

    /// Logs in as root.
    pub fn log_in(port: u16, capabilities: u32) -> Wire {
        let mut wire = Wire::connect(port);
        let (sequence, greeting) = wire.read().unwrap();
        assert_eq!((sequence, greeting[0]), (0, 10), "no greeting");
        wire.send(1, &login_response(capabilities));
        let (sequence, answer) = wire.read().unwrap();
        assert_eq!((sequence, answer[0]), (2, 0), "login refused: {}", String::from_utf8_lossy(&answer));
        wire
    }

    /// Sends one packet.
    pub fn send(&mut self, sequence: u8, payload: &[u8]) {
        self.stream.write_all(&packet(sequence, payload)).unwrap();
    }

    /// Sends bytes as they are; the server may have closed already.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends one command.
    pub fn command(&mut self, code: u8, body: &[u8]) {
        self.send(0, &[&[code], body].concat());
    }

    /// Reads one packet.
    pub fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((header[3], payload))
    }

    /// Reads `count` packets, which must be numbered from 1.
    pub fn read_answer(&mut self, count: u8) -> Vec<Vec<u8>> {
        let numbered = (1..=count).map(|number| {
            let (sequence, payload) = self.read().unwrap();
            assert_eq!(sequence, number);
            payload
        });
        numbered.collect()
    }

    /// Reads until the server closes, or says nothing for `patience`; true if it closed.
    pub fn drain(&mut self, patience: Duration) -> bool {
        self.stream.set_read_timeout(Some(patience)).unwrap();
        let mut scratch = [0; 4096];
        loop {
            match self.stream.read(&mut scratch) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return false;
                }
                Err(_) => return true,
            }
        }
    }

    /// Says that nothing more will be sent.
    pub fn finish(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }
}

/// One framed packet.
pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
    [&[a, b, c, sequence], payload].concat()
}

/// The handshake response of root without a password.
pub fn login_response(capabilities: u32) -> Vec<u8> {
    let mut payload = capabilities.to_le_bytes().to_vec();
    payload.extend_from_slice(&(1u32 << 24).to_le_bytes());
    payload.push(45);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(b"root\0\0mysql_native_password\0");
    payload
}

/// The number of an ERR packet.
pub fn errno(payload: &[u8]) -> u16 {
    assert_eq!(payload[0], 0xff, "no error: {payload:?}");
    u16::from_le_bytes([payload[1], payload[2]])
}
