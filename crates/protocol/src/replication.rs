//! The commands of replicas: who they are, and from where they want the binlog.
//!
//! Format of the bodies, little-endian:
//!
//! ```text
//! COM_REGISTER_SLAVE: server id u32 | host, user, password: each its length u8 and bytes | port u16 | rank u32 | source's id u32
//! COM_BINLOG_DUMP: offset u32 | flags u16 | server id u32 | file name
//! COM_BINLOG_DUMP_GTID: flags u16 | server id u32 | length u32, file name | offset u64 | length u32, binary GTID set
//! acknowledgement: 0xef | position u64 | file name
//! ```

use crate::decode::{Decoder, Malformed};

/// Flag of a dump: it ends where there is nothing more, instead of waiting.
pub const DUMP_NON_BLOCK: u16 = 1;

/// Before each event that a semi-synchronous replica gets, and in front of what it acknowledges.
pub const SEMI_SYNC_MAGIC: u8 = 0xef;

/// Who a replica is, as it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterReplica {
    /// Its `server_id`.
    pub server_id: u32,
    /// Its `report_host`.
    pub host: String,
    /// Its `report_port`.
    pub port: u16,
    /// The `server_id` of its source, or 0.
    pub source_id: u32,
}

impl RegisterReplica {
    /// Reads the body of COM_REGISTER_SLAVE.
    pub fn decode(body: &[u8]) -> Result<RegisterReplica, Malformed> {
        let mut input = Decoder::new(body);
        let server_id = input.u32("replica: server id")?;
        let mut text = |what, max: usize| {
            let length = usize::from(input.u8(what)?);
            let bytes = if length > max { Err(Malformed(what)) } else { input.bytes(length, what) };
            bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let host = text("replica: host", 255)?;
        text("replica: user", 96)?;
        text("replica: password", 255)?;
        let port = input.u16("replica: port")?;
        input.u32("replica: rank")?;
        Ok(RegisterReplica { server_id, host, port, source_id: input.u32("replica: source's id")? })
    }
}

/// What a reader wants of the binlog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpRequest {
    /// Of the reader; 0 for tools.
    pub server_id: u32,
    /// [`DUMP_NON_BLOCK`]
    pub flags: u16,
    /// Name of the first file. Empty for the oldest one, or for that which the set leads to.
    pub file: String,
    /// Where in the file to begin.
    pub offset: u64,
    /// The binary set of transactions that the reader has, if it goes by them.
    pub gtids: Option<Vec<u8>>,
}

impl DumpRequest {
    /// Reads the body of COM_BINLOG_DUMP.
    pub fn decode(body: &[u8]) -> Result<DumpRequest, Malformed> {
        let mut input = Decoder::new(body);
        let offset = u64::from(input.u32("dump: offset")?);
        let flags = input.u16("dump: flags")?;
        let server_id = input.u32("dump: server id")?;
        Ok(DumpRequest { server_id, flags, file: name(input.nul_terminated_or_rest())?, offset, gtids: None })
    }

    /// Reads the body of COM_BINLOG_DUMP_GTID.
    pub fn decode_gtid(body: &[u8]) -> Result<DumpRequest, Malformed> {
        let mut input = Decoder::new(body);
        let flags = input.u16("dump: flags")?;
        let server_id = input.u32("dump: server id")?;
        let length = input.u32("dump: file name")? as usize;
        let file = name(Decoder::new(input.bytes(length, "dump: file name")?).nul_terminated_or_rest())?;
        let offset = input.u64("dump: offset")?;
        let length = input.u32("dump: GTID set")? as usize;
        let gtids = Some(input.bytes(length, "dump: GTID set")?.to_vec());
        Ok(DumpRequest { server_id, flags, file, offset, gtids })
    }
}

/// How far a semi-synchronous replica has got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Where the last event ends that it has.
    pub position: u64,
    /// In this file.
    pub file: String,
}

impl Ack {
    /// Reads what a replica sends.
    pub fn decode(payload: &[u8]) -> Result<Ack, Malformed> {
        let mut input = Decoder::new(payload);
        if input.u8("acknowledgement")? != SEMI_SYNC_MAGIC {
            return Err(Malformed("acknowledgement"));
        }
        let position = input.u64("acknowledgement: position")?;
        Ok(Ack { position, file: name(input.nul_terminated_or_rest())? })
    }
}

fn name(bytes: &[u8]) -> Result<String, Malformed> {
    // As long as a path may be.
    let short = Some(bytes).filter(|bytes| bytes.len() <= 512).ok_or(Malformed("dump: file name"))?;
    Ok(String::from_utf8_lossy(short).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decoded whole, and refused wherever it is cut.
    fn check<T: PartialEq + std::fmt::Debug>(decode: fn(&[u8]) -> Result<T, Malformed>, body: &[u8], expected: T) {
        assert_eq!(decode(body), Ok(expected));
        (0..body.len()).for_each(|len| assert!(decode(&body[..len]).is_err(), "cut to {len}"));
    }

    #[test]
    fn a_replica_says_who_it_is() {
        let body = [&[7, 0, 0, 0][..], b"\x02h1", b"\x01u", b"\x00", &[0x39, 0x30], &[0; 4], &[1, 0, 0, 0]].concat();
        let replica = RegisterReplica { server_id: 7, host: "h1".to_owned(), port: 12345, source_id: 1 };
        check(RegisterReplica::decode, &body, replica);
    }

    #[test]
    fn a_replica_acknowledges_a_position() {
        let body = [&[SEMI_SYNC_MAGIC][..], &[0x10, 0x27, 0, 0, 0, 0, 0, 0], b"b.000001"].concat();
        let ack = |file: &str| Ack { position: 10_000, file: file.to_owned() };
        assert_eq!(Ack::decode(&body), Ok(ack("b.000001")));
        assert_eq!(Ack::decode(&body[..9]), Ok(ack("")));
        assert!(Ack::decode(&body[..8]).is_err());
        assert!(Ack::decode(&[&[0][..], &body[1..]].concat()).is_err());
    }

    #[test]
    fn a_dump_is_asked_for_by_position_or_by_set() {
        let body = [&[4, 0, 0, 0][..], &[1, 0], &[9, 0, 0, 0], b"b.000001"].concat();
        let request =
            |file: &str| DumpRequest { server_id: 9, flags: 1, file: file.to_owned(), offset: 4, gtids: None };
        assert_eq!(DumpRequest::decode(&body), Ok(request("b.000001")));
        assert_eq!(DumpRequest::decode(&body[..10]), Ok(request("")));
        assert!(DumpRequest::decode(&body[..9]).is_err());
        assert!(DumpRequest::decode(&[&body[..], &[b'x'; 600]].concat()).is_err());
        let body =
            [&[1, 0][..], &[9, 0, 0, 0], &[2, 0, 0, 0], b"b\0", &[4, 0, 0, 0, 0, 0, 0, 0], &[3, 0, 0, 0], b"set"];
        check(DumpRequest::decode_gtid, &body.concat(), DumpRequest { gtids: Some(b"set".to_vec()), ..request("b") });
        let long = [&[1, 0][..], &[9, 0, 0, 0], &[0xff; 4], b"b"].concat();
        assert!(DumpRequest::decode_gtid(&long).is_err());
    }
}
