use super::*;

/// Hands out its bytes in pieces of a given length.
struct Pieces<'a> {
    bytes: &'a [u8],
    piece: usize,
}

impl Source for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.piece.min(self.bytes.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.bytes[..count]);
        self.bytes = &self.bytes[count..];
        Ok(count)
    }
}

fn framed(payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = PacketBuffer::default();
    for payload in payloads {
        out.begin().extend_from_slice(payload);
        out.end();
    }
    out.bytes().to_vec()
}

#[test]
fn packets_come_back_whatever_the_pieces() {
    let long = vec![7u8; 10_000];
    let bytes = framed(&[b"one", b"", &long, b"four"]);
    for piece in [1, 3, 4, 5, 4096, 100_000] {
        let mut source = Pieces { bytes: &bytes, piece };
        let mut reader = PacketReader::default();
        assert_eq!(reader.read(&mut source, 1 << 20).unwrap(), b"one");
        assert_eq!(reader.read(&mut source, 1 << 20).unwrap(), b"");
        assert_eq!(reader.read(&mut source, 1 << 20).unwrap(), long);
        assert_eq!(reader.read(&mut source, 1 << 20).unwrap(), b"four");
        assert!(matches!(reader.read(&mut source, 1 << 20), Err(ReadPacketError::Closed)));
    }
}

#[test]
fn payloads_of_sixteen_mebibytes_and_more_travel_in_parts() {
    for length in [PART_LEN - 1, PART_LEN, PART_LEN + 1, 2 * PART_LEN, 2 * PART_LEN + 77] {
        let payload: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
        let bytes = framed(&[&payload, b"next"]);
        assert_eq!(bytes.len(), length + (length / PART_LEN + 1) * HEADER_LEN + HEADER_LEN + 4);
        let mut source = Pieces { bytes: &bytes, piece: 1 << 16 };
        let mut reader = PacketReader::default();
        assert!(reader.read(&mut source, 1 << 30).unwrap() == payload, "payload of {length} bytes");
        assert_eq!(usize::from(reader.sequence()), length / PART_LEN + 1);
        assert_eq!(reader.read(&mut source, 1 << 30).unwrap(), b"next");
    }
}

#[test]
fn an_announced_length_takes_no_memory() {
    let mut source = Pieces { bytes: &[0xfe, 0xff, 0xff, 0, 1, 2, 3], piece: 100 };
    let mut reader = PacketReader::default();
    assert!(matches!(reader.read(&mut source, 1 << 30), Err(ReadPacketError::Truncated)));
    assert!(reader.buffer.len() <= 2 * INPUT_LEN);
}

#[test]
fn too_large_and_out_of_order_packets_are_distinguished() {
    let bytes = framed(&[&[0; 100]]);
    let mut reader = PacketReader::default();
    let found = reader.read(&mut Pieces { bytes: &bytes, piece: 54 }, 99);
    assert!(matches!(found, Err(ReadPacketError::TooLarge { unread: 50, more: false })));
    let mut reader = PacketReader::default();
    reader.set_sequence(3);
    let found = reader.read(&mut Pieces { bytes: &bytes, piece: 54 }, 200);
    assert!(matches!(found, Err(ReadPacketError::OutOfOrder { found: 0, expected: 3 })));
}

#[test]
fn a_time_out_loses_nothing() {
    struct Stalling(Vec<Option<Vec<u8>>>);
    impl Source for Stalling {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.remove(0) {
                Some(bytes) => {
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    Ok(bytes.len())
                }
                None => Err(io::ErrorKind::WouldBlock.into()),
            }
        }
    }
    let mut source = Stalling(vec![None, Some(vec![3, 0, 0]), None, Some(vec![0, 1, 2, 3])]);
    let mut reader = PacketReader::default();
    assert!(matches!(reader.read(&mut source, 99), Err(ReadPacketError::TimedOut { started: false })));
    assert!(matches!(reader.read(&mut source, 99), Err(ReadPacketError::TimedOut { started: true })));
    assert_eq!(reader.read(&mut source, 99).unwrap(), [1, 2, 3]);
}
