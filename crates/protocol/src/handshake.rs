//! The first packets of a connection: the server's greeting, the client's response, COM_CHANGE_USER,
//! and the request to use another authentication plugin.

use super::constants::capability::{self, *};
use super::decode::{Decoder, Malformed};

/// Length of the random challenge that a password is scrambled with.
pub const CHALLENGE_LEN: usize = 20;

/// A challenge: printable, without zero bytes, as old clients treat it as a C string.
pub type Challenge = [u8; CHALLENGE_LEN];

/// Turns random bytes into a challenge.
pub fn challenge_from(random: [u8; CHALLENGE_LEN]) -> Challenge {
    random.map(|byte| match byte & 0x7f {
        0 | b'$' => b'x',
        printable => printable,
    })
}

/// What the server says first.
#[derive(Debug)]
pub struct Greeting<'a> {
    /// The version, as `@@version`.
    pub version: &'a str,
    /// The connection's id, as `CONNECTION_ID()`.
    pub connection_id: u32,
    /// The challenge of the default plugin.
    pub challenge: &'a Challenge,
    /// What the server offers.
    pub capabilities: u32,
    /// The default collation.
    pub collation: u16,
    /// Status flags.
    pub status: u16,
    /// The plugin that the challenge is for.
    pub plugin: &'a str,
}

impl Greeting<'_> {
    /// Appends the payload (handshake version 10).
    pub fn encode(&self, out: &mut Vec<u8>) {
        let [low, high] = [self.capabilities as u16, (self.capabilities >> 16) as u16];
        out.push(10);
        out.extend_from_slice(self.version.as_bytes());
        out.push(0);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(&self.challenge[..8]);
        out.push(0);
        out.extend_from_slice(&low.to_le_bytes());
        // One byte only: collations beyond 255 cannot be named here.
        out.push(u8::try_from(self.collation).unwrap_or(45));
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&high.to_le_bytes());
        out.push(CHALLENGE_LEN as u8 + 1);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&self.challenge[8..]);
        out.push(0);
        out.extend_from_slice(self.plugin.as_bytes());
        out.push(0);
    }
}

/// Appends the payload of a request to authenticate with another plugin.
pub fn encode_auth_switch(out: &mut Vec<u8>, plugin: &str, challenge: &Challenge) {
    out.push(0xfe);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out.extend_from_slice(challenge);
    out.push(0);
}

/// Appends the payload of a packet that goes on with the plugin's own exchange.
pub fn encode_auth_more(out: &mut Vec<u8>, data: &[u8]) {
    out.push(0x01);
    out.extend_from_slice(data);
}

/// Who wants in, and with what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// Capabilities the client wants; those not offered are already removed.
    pub capabilities: u32,
    /// The collation the client names.
    pub collation: u16,
    /// The account's name.
    pub user: Vec<u8>,
    /// The plugin's response to the challenge.
    pub auth_response: Vec<u8>,
    /// The database to use, if one is named.
    pub database: Option<Vec<u8>>,
    /// The plugin that the response is for, if the client names one.
    pub plugin: Option<Vec<u8>>,
    /// `program_name`, for the process list.
    pub program_name: Option<Vec<u8>>,
}

/// Why a handshake response cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The client speaks the protocol of 4.0 and before.
    #[error("client speaks the protocol of MySQL 4.0 or before")]
    TooOld,
    /// The packet is not a handshake response.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// Whether a client's first packet, which may be the beginning of a handshake response, asks for TLS: then the
/// handshake response follows, encrypted.
pub fn asks_for_tls(payload: &[u8]) -> bool {
    let capabilities = Decoder::new(payload).u16("handshake response: capabilities").map_or(0, u32::from);
    capabilities & PROTOCOL_41 != 0 && capabilities & SSL != 0
}

impl Login {
    /// Reads a handshake response.
    pub fn decode(payload: &[u8]) -> Result<Login, LoginError> {
        let mut input = Decoder::new(payload);
        let low = input.u16("handshake response: capabilities")?;
        if u32::from(low) & PROTOCOL_41 == 0 {
            return Err(LoginError::TooOld);
        }
        let high = input.u16("handshake response: capabilities")?;
        let wanted = u32::from(low) | u32::from(high) << 16;
        input.u32("handshake response: max packet size")?;
        let collation = u16::from(input.u8("handshake response: collation")?);
        input.bytes(23, "handshake response: filler")?;
        let mut login = Login { capabilities: wanted & capability::OFFERED, collation, ..Login::default() };
        login.user = input.nul_terminated("handshake response: user")?.to_vec();
        login.auth_response = if wanted & PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 {
            input.length_encoded_bytes("handshake response: password")?.to_vec()
        } else if wanted & SECURE_CONNECTION != 0 {
            let length = input.u8("handshake response: password")?;
            input.bytes(usize::from(length), "handshake response: password")?.to_vec()
        } else {
            input.nul_terminated_or_rest().to_vec()
        };
        if wanted & CONNECT_WITH_DB != 0 {
            let database = input.nul_terminated_or_rest();
            login.database = (!database.is_empty()).then(|| database.to_vec());
        }
        login.read_plugin_and_attributes(&mut input, wanted)?;
        Ok(login)
    }

    /// Reads the payload of COM_CHANGE_USER (after the command byte) of a client that logged in with
    /// `capabilities`.
    pub fn decode_change_user(payload: &[u8], capabilities: u32) -> Result<Login, Malformed> {
        let mut input = Decoder::new(payload);
        let mut login = Login { capabilities, collation: 255, ..Login::default() };
        login.user = input.nul_terminated("change user: user")?.to_vec();
        let length = input.u8("change user: password")?;
        login.auth_response = input.bytes(usize::from(length), "change user: password")?.to_vec();
        let database = input.nul_terminated_or_rest();
        login.database = (!database.is_empty()).then(|| database.to_vec());
        if !input.is_empty() {
            login.collation = input.u16("change user: collation")?;
        }
        login.read_plugin_and_attributes(&mut input, capabilities)?;
        Ok(login)
    }

    fn read_plugin_and_attributes(&mut self, input: &mut Decoder<'_>, wanted: u32) -> Result<(), Malformed> {
        if wanted & PLUGIN_AUTH != 0 && !input.is_empty() {
            self.plugin = Some(input.nul_terminated_or_rest().to_vec());
        }
        if wanted & CONNECT_ATTRS != 0 && !input.is_empty() {
            let mut attributes = Decoder::new(input.length_encoded_bytes("connection attributes")?);
            while !attributes.is_empty() {
                let name = attributes.length_encoded_bytes("connection attribute's name")?;
                let value = attributes.length_encoded_bytes("connection attribute's value")?;
                if name == b"program_name" {
                    self.program_name = Some(value.to_vec());
                }
            }
        }
        Ok(())
    }

    /// Whether the client agreed to a capability.
    pub fn has(&self, capability: u32) -> bool {
        self.capabilities & capability != 0
    }
}

#[cfg(test)]
mod tests;
