//! What one journal record says: a cohort's binlog bytes and every engine's redo.
//!
//! Format, integers little-endian:
//!
//! ```text
//! version u8 = 1 | first order u64 | members u32
//! GTIDs: length u32, set as in a PREVIOUS_GTIDS event
//! chunks u16 | per chunk: binlog file u64, offset u64, length u32
//! engines u8 | per engine: id u8, transactions u32, per transaction: length u32
//! the chunks' bytes, then each engine's redo, in the order of the lengths
//! ```
//!
//! Version 2 is that of a large transaction: what `large_record.rs` says follows the lengths.
//!
//! The lengths stand in front so that the bytes themselves need no copy before the record is laid out.

use cohort_binlog::GtidSet;
use cohort_engine::EngineId;

use super::large_record::LargeRecord;
use crate::binlog_order::Chunk;

const VERSION: u8 = 1;
/// Of a large transaction.
pub(super) const VERSION_LARGE: u8 = 2;

/// A decoded record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CohortRecord<'a> {
    /// Order of the first member.
    pub first_order: u64,
    /// Number of members.
    pub members: u32,
    /// GTIDs of the members, as [`cohort_binlog::GtidSet`] encodes them.
    pub gtids: &'a [u8],
    /// Binlog bytes, in file order.
    pub chunks: Vec<Chunk<&'a [u8]>>,
    /// Per engine the members' redo, in commit order.
    pub redo: Vec<(EngineId, Vec<&'a [u8]>)>,
    /// What its one member has in files.
    pub large: Option<LargeRecord>,
}

/// The payload passed its checksum and still is not a cohort: written by a newer version.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CohortRecordError {
    /// The payload's version is not known here.
    #[error("cohort record of version {0}, this server reads versions 1 and 2")]
    Version(u8),
    /// A length points outside of the payload.
    #[error("cohort record cut off at byte {0}")]
    CutOff(usize),
    /// The GTIDs are not a set.
    #[error(transparent)]
    Gtids(#[from] cohort_binlog::GtidParseError),
}

/// Encodes everything but the chunks' and redo's bytes, which follow it in this order.
pub(crate) fn encode_head(
    head: &mut Vec<u8>,
    first_order: u64,
    members: u32,
    gtids: &GtidSet,
    chunks: &[Chunk<Vec<u8>>],
    redo: &[(EngineId, Vec<&[u8]>)],
) {
    head.clear();
    head.push(VERSION);
    head.extend_from_slice(&first_order.to_le_bytes());
    head.extend_from_slice(&members.to_le_bytes());
    let gtids_at = head.len();
    head.extend_from_slice(&[0; 4]);
    gtids.encode(head);
    let gtids_len = length(head.len() - gtids_at - 4);
    head[gtids_at..gtids_at + 4].copy_from_slice(&gtids_len);
    head.extend_from_slice(&(chunks.len() as u16).to_le_bytes());
    for chunk in chunks {
        head.extend_from_slice(&chunk.file.to_le_bytes());
        head.extend_from_slice(&chunk.offset.to_le_bytes());
        head.extend_from_slice(&length(chunk.bytes.len()));
    }
    head.push(redo.len() as u8);
    for (engine, transactions) in redo {
        head.push(engine.0);
        head.extend_from_slice(&length(transactions.len()));
        for bytes in transactions {
            head.extend_from_slice(&length(bytes.len()));
        }
    }
}

fn length(len: usize) -> [u8; 4] {
    u32::try_from(len).expect("a transaction's size is limited before it is ordered").to_le_bytes()
}

/// Takes fields off the front of bytes that may be too short.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], CohortRecordError> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(CohortRecordError::CutOff(self.at))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], CohortRecordError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, CohortRecordError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, CohortRecordError> {
        self.array().map(u64::from_le_bytes)
    }
}

impl<'a> CohortRecord<'a> {
    /// Whether the chunk has only the end of a large transaction, whose events are in its file.
    pub(crate) fn is_closed_by<B>(&self, chunk: &Chunk<B>) -> bool {
        self.large.as_ref().is_some_and(|large| large.is_closed_by(chunk))
    }

    /// Decodes a payload.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, CohortRecordError> {
        let mut reader = Reader::new(bytes);
        let [version] = reader.array()?;
        if version != VERSION && version != VERSION_LARGE {
            return Err(CohortRecordError::Version(version));
        }
        let first_order = reader.u64()?;
        let members = reader.u32()?;
        let gtids_len = reader.u32()? as usize;
        let gtids = reader.take(gtids_len)?;
        let mut places = Vec::new();
        for _ in 0..u16::from_le_bytes(reader.array()?) {
            places.push((reader.u64()?, reader.u64()?, reader.u32()? as usize));
        }
        let mut lengths = Vec::new();
        let [engines] = reader.array()?;
        for _ in 0..engines {
            let [engine] = reader.array()?;
            let count = reader.u32()?;
            let transactions: Result<Vec<usize>, _> =
                (0..count).map(|_| reader.u32().map(|len| len as usize)).collect();
            lengths.push((EngineId(engine), transactions?));
        }
        let large = match version {
            VERSION_LARGE => Some(LargeRecord::decode(&mut reader)?),
            _ => None,
        };
        let mut chunks = Vec::with_capacity(places.len());
        for (file, offset, len) in places {
            chunks.push(Chunk { file, offset, bytes: reader.take(len)? });
        }
        let mut redo = Vec::with_capacity(lengths.len());
        for (engine, transactions) in lengths {
            let bytes: Result<Vec<_>, _> = transactions.into_iter().map(|len| reader.take(len)).collect();
            redo.push((engine, bytes?));
        }
        Ok(CohortRecord { first_order, members, gtids, chunks, redo, large })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GTID: &str = "11111111-2222-3333-4444-555555555555:9";

    fn encoded() -> Vec<u8> {
        let chunks = [Chunk { file: 3, offset: 4, bytes: b"events".to_vec() }];
        let redo = [(EngineId(0), vec![&b"one"[..], b"two"]), (EngineId(1), vec![&b"three"[..]])];
        let mut bytes = Vec::new();
        let mut gtids = GtidSet::new();
        gtids.insert(GTID.parse().expect("a GTID"));
        encode_head(&mut bytes, 7, 2, &gtids, &chunks, &redo);
        bytes.extend_from_slice(b"eventsonetwothree");
        bytes
    }

    #[test]
    fn decodes_what_was_encoded() {
        let bytes = encoded();
        let record = CohortRecord::decode(&bytes).expect("a whole record");
        assert_eq!((record.first_order, record.members), (7, 2));
        assert_eq!(GtidSet::decode(record.gtids).expect("a set").to_string(), GTID);
        assert_eq!(record.chunks, [Chunk { file: 3, offset: 4, bytes: &b"events"[..] }]);
        assert_eq!(record.redo[0], (EngineId(0), vec![&b"one"[..], b"two"]));
        assert_eq!(record.redo[1], (EngineId(1), vec![&b"three"[..]]));
    }

    #[test]
    fn every_cut_is_an_error() {
        let bytes = encoded();
        for len in 0..bytes.len() {
            assert!(CohortRecord::decode(&bytes[..len]).is_err(), "cut to {len} bytes");
        }
    }

    #[test]
    fn newer_versions_are_refused_by_number() {
        let mut bytes = encoded();
        bytes[0] = 9;
        assert_eq!(CohortRecord::decode(&bytes), Err(CohortRecordError::Version(9)));
    }
}
