//! What the record of a large transaction says of its files.
//!
//! Format, integers little-endian; it follows the lengths in a cohort record of version 2 (`record.rs`), which has one
//! transaction:
//!
//! ```text
//! id u64 | number of its binlog file u64, 0 for none | where its events end there u64
//! engines u8 | per engine: id u8, staged u8, runs u32, per run: number u32, bytes u64
//! ```

use cohort_engine::EngineId;

use super::record::{CohortRecordError, Reader};
use crate::binlog_order::Chunk;
use crate::large::{LargeParts, LargeRedo};

/// Where a large transaction has what the record has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LargeRecord {
    /// Its number among the large ones, by which its files are called.
    pub id: u64,
    /// Its binlog file; 0 if it is in none.
    pub file: u64,
    /// Offset in that file after its events but the last one, which the record has, as it has what is in front of them.
    pub end: u64,
    pub redo: Vec<LargeRedo>,
}

impl LargeRecord {
    /// Of a transaction whose binlog bytes are `chunks`.
    pub(crate) fn of(parts: &LargeParts, chunks: &[Chunk<Vec<u8>>]) -> LargeRecord {
        let (file, end) = match (&parts.events, chunks.last()) {
            (Some(events), Some(close)) => (close.file, events.end()),
            _ => (0, 0),
        };
        LargeRecord { id: parts.id, file, end, redo: parts.redo.clone() }
    }

    /// Whether this chunk begins the transaction's file.
    pub(crate) fn is_begun_by<B>(&self, chunk: &Chunk<B>) -> bool {
        chunk.file == self.file && chunk.offset == 0
    }

    /// Whether this chunk follows its events.
    pub(crate) fn is_closed_by<B>(&self, chunk: &Chunk<B>) -> bool {
        chunk.file == self.file && chunk.offset == self.end
    }

    /// Adds it to the head of a cohort record, whose version it changes.
    pub(crate) fn encode(&self, head: &mut Vec<u8>) {
        head[0] = super::record::VERSION_LARGE;
        for number in [self.id, self.file, self.end] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        head.push(self.redo.len() as u8);
        for LargeRedo { engine, staged, runs } in &self.redo {
            head.extend_from_slice(&[engine.0, u8::from(*staged)]);
            head.extend_from_slice(&(runs.len() as u32).to_le_bytes());
            for (number, bytes) in runs {
                head.extend_from_slice(&number.to_le_bytes());
                head.extend_from_slice(&bytes.to_le_bytes());
            }
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<LargeRecord, CohortRecordError> {
        let (id, file, end) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let mut redo = Vec::new();
        let [engines] = reader.array()?;
        for _ in 0..engines {
            let [engine, staged] = reader.array()?;
            let mut runs = Vec::new();
            for _ in 0..reader.u32()? {
                runs.push((reader.u32()?, reader.u64()?));
            }
            redo.push(LargeRedo { engine: EngineId(engine), staged: staged != 0, runs });
        }
        Ok(LargeRecord { id, file, end, redo })
    }
}
