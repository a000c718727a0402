//! The format that RocksDB's own log and its manifest share, read up to where something is not as it was written.
//!
//! Blocks of 32 KiB; records `masked CRC-32C u32 | length u16 | type u8 | payload`, never across two blocks; a record of
//! the caller's is one of them or several, first to last. Files are never recycled, whose records have more.
//! <https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format>

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;

pub(super) const BLOCK: usize = 32 << 10;
const HEADER: usize = 7;

/// What a file holds. All are offsets.
pub(super) struct Records {
    /// Where the last record of the caller's ends before which there are whole ones only.
    pub end: u64,
    /// After the whole records, those of a caller's record without its last included: the one that is not, as its
    /// header has it. It may end beyond the file, and does if the file ends well.
    pub broken: Range<u64>,
}

impl Records {
    /// Reads `file` from its begin.
    pub(super) fn read(file: &mut File) -> io::Result<Records> {
        let mut block = Vec::with_capacity(BLOCK);
        let (mut begin, mut end, mut within) = (0, 0, false);
        loop {
            block.clear();
            file.by_ref().take(BLOCK as u64).read_to_end(&mut block)?;
            let mut rest = &block[..];
            while let Some(record) = Record::read(rest) {
                within = match record.part {
                    Part::Whole => false,
                    Part::First => true,
                    Part::Middle | Part::Last if !within => break,
                    Part::Middle => true,
                    Part::Last => false,
                };
                rest = &rest[record.bytes..];
                if !within {
                    end = begin + (block.len() - rest.len()) as u64;
                }
            }
            // A header does not fit after the last record of a block.
            if block.len() < BLOCK || rest.len() >= HEADER {
                let at = begin + (block.len() - rest.len()) as u64;
                return Ok(Records { end, broken: at..at + (HEADER + payload_bytes(rest)) as u64 });
            }
            begin += BLOCK as u64;
        }
    }
}

/// Where in `bytes`, all of one block, the first whole record begins that says anything.
pub(super) fn find_record(bytes: &[u8]) -> Option<usize> {
    (0..bytes.len()).find(|at| Record::read(&bytes[*at..]).is_some_and(|record| record.bytes > HEADER))
}

/// Which part of a record of the caller's.
enum Part {
    Whole,
    First,
    Middle,
    Last,
}

struct Record {
    part: Part,
    bytes: usize,
}

impl Record {
    /// The record that `bytes` begin with, if it is as it was written.
    fn read(bytes: &[u8]) -> Option<Record> {
        let header: &[u8; HEADER] = bytes.first_chunk()?;
        let [sum @ .., _, _, kind] = header;
        let sum = u32::from_le_bytes(*sum);
        let part = match kind {
            // Those from 9 on are RocksDB's own.
            1 | 9 | 10 | 130 => Part::Whole,
            2 => Part::First,
            3 => Part::Middle,
            4 => Part::Last,
            _ => return None,
        };
        let whole = bytes.get(..HEADER + payload_bytes(bytes))?;
        (masked(crc32c::crc32c(&whole[6..])) == sum).then_some(Record { part, bytes: whole.len() })
    }
}

/// By the header that `bytes` begin with; none where it is cut short.
fn payload_bytes(bytes: &[u8]) -> usize {
    bytes.get(4..6).map_or(0, |len| usize::from(u16::from_le_bytes([len[0], len[1]])))
}

/// RocksDB's way to store a checksum of bytes that hold checksums.
pub(super) fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}
