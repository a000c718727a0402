//! Packets: framing, login, change of user, parameters of prepared statements, hashes of passwords.
//!
//! Input: a byte that says which, then the bytes.

use std::io;

use cohort_binlog::GtidSet;
use cohort_protocol::auth::{NativeHash, Sha2Hash};
use cohort_protocol::constants::{capability, command};
use cohort_protocol::decode::Decoder;
use cohort_protocol::handshake::Login;
use cohort_protocol::packet::{PacketBuffer, PacketReader, ReadPacketError, Source};
use cohort_protocol::parameters::{ParameterType, decode_head, decode_parameters};
use cohort_protocol::replication::{DumpRequest, RegisterReplica};
use cohort_protocol::rows::{encode_binary_row, encode_text_row};
use cohort_sql::Value;
use cohort_sql::collation::Collation;
use cohort_sql::types::{Charset, ResultType};

/// As `max_allowed_packet`, so small that inputs pass it.
const PACKET_MAX: usize = 16 << 10;

/// Reads `bytes` as a client's.
pub fn run(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind % 6 {
        0 => stream(bytes),
        1 => drop(Login::decode(bytes)),
        2 => {
            if let Some((capabilities, rest)) = bytes.split_first_chunk() {
                drop(Login::decode_change_user(rest, u32::from_le_bytes(*capabilities)));
            }
        }
        3 => execute(bytes),
        4 => {
            let text = String::from_utf8_lossy(bytes);
            if let Some(hash) = NativeHash::parse(&text) {
                assert_eq!(NativeHash::parse(&hash.to_text()).map(NativeHash::to_text), Some(hash.to_text()));
            }
            if let Some(hash) = Sha2Hash::parse(&text) {
                assert_eq!(Sha2Hash::parse(&hash.to_text()).map(|hash| hash.to_text()), Some(hash.to_text()));
            }
        }
        _ => framing(bytes),
    }
}

/// Bytes that arrive in pieces of a length that the first says.
struct Pieces<'a> {
    bytes: &'a [u8],
    piece: usize,
}

impl Source for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.piece.min(self.bytes.len()).min(buffer.len());
        let (now, later) = self.bytes.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.bytes = later;
        Ok(count)
    }
}

/// A connection's whole input: a login, then commands.
fn stream(bytes: &[u8]) {
    let Some((piece, bytes)) = bytes.split_first() else { return };
    let mut source = Pieces { bytes, piece: usize::from(*piece).max(1) };
    let mut reader = PacketReader::default();
    reader.set_sequence(1);
    let mut capabilities = capability::OFFERED;
    let mut logged_in = false;
    loop {
        let payload = match reader.read(&mut source, PACKET_MAX) {
            Ok(payload) => payload,
            Err(ReadPacketError::TooLarge { unread, .. }) => {
                assert!(unread <= 0xff_ffff, "a part is no longer than its header can say");
                return;
            }
            Err(_) => return,
        };
        assert!(payload.len() <= PACKET_MAX, "longer than allowed");
        match (logged_in, payload.split_first()) {
            (false, _) => match Login::decode(payload) {
                Ok(login) => {
                    capabilities = login.capabilities;
                    logged_in = true;
                }
                Err(_) => return,
            },
            (true, Some((&command::CHANGE_USER, body))) => drop(Login::decode_change_user(body, capabilities)),
            (true, Some((&command::STMT_EXECUTE, body))) => execute(body),
            (true, Some((&command::REGISTER_SLAVE, body))) => drop(RegisterReplica::decode(body)),
            (true, Some((&command::BINLOG_DUMP, body))) => drop(DumpRequest::decode(body)),
            (true, Some((&command::BINLOG_DUMP_GTID, body))) => dump_gtid(body),
            (true, _) => {}
        }
        reader.set_sequence(0);
    }
}

/// COM_BINLOG_DUMP_GTID, with its set.
fn dump_gtid(body: &[u8]) {
    let Ok(request) = DumpRequest::decode_gtid(body) else { return };
    if let Ok(set) = GtidSet::decode(request.gtids.as_deref().unwrap_or_default()) {
        assert_eq!(set.to_string().parse(), Ok(set));
    }
}

/// COM_STMT_EXECUTE of a statement with as many parameters as the first byte says, and what those become
/// when they are rows.
fn execute(bytes: &[u8]) {
    let Some((count, bytes)) = bytes.split_first() else { return };
    let mut input = Decoder::new(bytes);
    if decode_head(&mut input).is_err() {
        return;
    }
    let long_data: Vec<Option<Vec<u8>>> =
        (0..count % 70).map(|number| (number % 13 == 12).then(|| bytes.to_vec())).collect();
    let mut types: Vec<ParameterType> = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    if decode_parameters(&mut input, &mut types, &long_data, Charset::Latin1, &mut values).is_err() {
        return;
    }
    assert_eq!(values.len(), long_data.len(), "a value for each parameter");
    let columns: Vec<ResultType> = values.iter().map(|_| ResultType::string(1024, Collation::DEFAULT)).collect();
    let mut row = Vec::new();
    encode_text_row(&mut row, &values, &columns);
    row.clear();
    drop(encode_binary_row(&mut row, &values, &columns));
    // The same once more with the types of the first time.
    let _ = decode_parameters(&mut Decoder::new(bytes), &mut types, &long_data, Charset::Utf8mb4, &mut values);
}

/// What was framed is read back, whatever it was cut into.
fn framing(bytes: &[u8]) {
    let Some((piece, bytes)) = bytes.split_first() else { return };
    let mut out = PacketBuffer::default();
    let payloads: Vec<&[u8]> = bytes.split(|byte| *byte == b'|').filter(|part| part.len() <= PACKET_MAX).collect();
    for payload in &payloads {
        out.begin().extend_from_slice(payload);
        out.end();
    }
    let mut source = Pieces { bytes: out.bytes(), piece: usize::from(*piece).max(1) };
    let mut reader = PacketReader::default();
    for payload in payloads {
        assert_eq!(reader.read(&mut source, PACKET_MAX).expect("it was framed"), payload);
    }
    assert!(matches!(reader.read(&mut source, PACKET_MAX), Err(ReadPacketError::Closed)));
}

/// A login and commands as clients send them.
pub fn seeds() -> Vec<Vec<u8>> {
    let capabilities: u32 = 0x00ff_a28f & !capability::SSL;
    let mut login = Vec::new();
    login.extend_from_slice(&capabilities.to_le_bytes());
    login.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    login.push(45);
    login.extend_from_slice(&[0; 23]);
    login.extend_from_slice(b"root\0\x14");
    login.extend_from_slice(&[7; 20]);
    login.extend_from_slice(b"test\0caching_sha2_password\0\x16\x0cprogram_name\x08cohortcl");
    let change = b"root\0\0test\0\x2d\0mysql_native_password\0".to_vec();
    // One parameter of each type that a client binds.
    let codes: [u8; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 246, 252, 253];
    let mut execute = vec![1, 0, 0, 0, 0, 1, 0, 0, 0];
    execute.extend_from_slice(&[0b0010_0000, 0, 1]);
    for code in codes {
        execute.extend_from_slice(&[code, 0]);
    }
    execute.extend_from_slice(&[0xff, 1, 2, 1, 2, 3, 4]);
    execute.extend_from_slice(&1.5_f32.to_le_bytes());
    execute.extend_from_slice(&2.5_f64.to_le_bytes());
    execute.extend_from_slice(&[7, 0xe8, 7, 2, 29, 23, 59, 59, 1, 2, 3, 4, 5, 6, 7, 8, 4, 0xe8, 7, 2, 29]);
    execute.extend_from_slice(&[12, 1, 1, 0, 0, 0, 2, 3, 4, 5, 0, 0, 0, 11, 0xe8, 7, 2, 29, 1, 2, 3, 1, 0, 0, 0]);
    execute.extend_from_slice(b"\x05-1.25\x03abc\x03def");
    let mut stream = PacketBuffer::default();
    stream.set_sequence(1);
    stream.begin().extend_from_slice(&login);
    stream.end();
    let mut set = Vec::new();
    let known = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:9";
    known.parse::<GtidSet>().expect("a set").encode(&mut set);
    let commands: [Vec<u8>; 6] = [
        b"\x03SELECT 1".to_vec(),
        [&[0x11][..], &change].concat(),
        [&[0x17, codes.len() as u8][..], &execute].concat(),
        b"\x15\x07\0\0\0\x02h1\x01u\0\xeb\x0c\0\0\0\0\0\0\0\0".to_vec(),
        b"\x12\x04\0\0\0\0\0\x07\0\0\0binlog.000001".to_vec(),
        [&b"\x1e\0\0\x07\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0"[..], &[set.len() as u8, 0, 0, 0], &set].concat(),
    ];
    for command in &commands {
        stream.set_sequence(0);
        stream.begin().extend_from_slice(command);
        stream.end();
    }
    let kind = |kind: u8, bytes: &[u8]| [&[kind][..], bytes].concat();
    vec![
        kind(0, &[&[200][..], stream.bytes()].concat()),
        kind(1, &login),
        kind(2, &[&capabilities.to_le_bytes()[..], &change].concat()),
        kind(3, &[&[codes.len() as u8][..], &execute].concat()),
        kind(4, NativeHash::of(b"secret").to_text().as_bytes()),
        kind(4, Sha2Hash::of(b"secret", [9; 20]).expect("a short password").to_text().as_bytes()),
        kind(5, b"\x03one||two|three"),
    ]
}
