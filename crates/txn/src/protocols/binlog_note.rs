//! Where the binlog ends, as protocols without prepare leave it in the engines.
//!
//! With each commit record an engine gets the binlog position of that transaction, as InnoDB's header had it, and
//! that of the last one it knows of in every other engine. After a crash they tell which log lost its end. Nothing
//! can be done about it then, but it can be said.
//!
//! Format: under the key [`KEY`], for each engine in the order of their ids, file number and offset as `u64`,
//! little-endian.

use std::sync::Arc;

use cohort_engine::{Redo, TwoPhase};
use cohort_log::binlog::{BinlogPosition, GtidSet};

use super::recovery::LoggedTransaction;
use crate::recovery::RecoverError;

/// Keys that begin with four zeros are the store's own.
const KEY: &[u8] = b"\0\0\0\0binlog";
const ENTRY_BYTES: usize = 16;

/// By engine, the binlog position behind the last transaction that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BinlogNote {
    last: Vec<BinlogPosition>,
}

impl BinlogNote {
    /// One that says so of every engine.
    pub fn everywhere(engines: usize, position: BinlogPosition) -> BinlogNote {
        BinlogNote { last: vec![position; engines] }
    }

    /// A transaction that ends at `position` writes `engine`.
    pub fn set(&mut self, engine: usize, position: BinlogPosition) {
        self.last[engine] = position;
    }

    /// The change that leaves the note in an engine.
    pub fn redo(&self) -> Vec<u8> {
        let mut redo = Redo::default();
        redo.put(KEY, &self.encode());
        redo.into_bytes()
    }

    fn encode(&self) -> Vec<u8> {
        let numbers = self.last.iter().flat_map(|position| [position.file_number, position.offset]);
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    /// Of fewer engines than there are now, the others were never written; `None` for anything else.
    fn decode(bytes: &[u8], engines: usize) -> Option<BinlogNote> {
        if !bytes.len().is_multiple_of(ENTRY_BYTES) || bytes.len() > engines * ENTRY_BYTES {
            return None;
        }
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let entries = bytes.chunks_exact(ENTRY_BYTES);
        let mut last: Vec<BinlogPosition> = entries
            .map(|entry| BinlogPosition { file_number: number(&entry[..8]), offset: number(&entry[8..]) })
            .collect();
        last.resize(engines, BinlogPosition::default());
        Some(BinlogNote { last })
    }

    fn read(engine: &dyn TwoPhase, engines: usize) -> Result<BinlogNote, RecoverError> {
        let mut value = Vec::new();
        if !engine.get(KEY, &mut value)? {
            return Ok(BinlogNote::everywhere(engines, BinlogPosition::default()));
        }
        BinlogNote::decode(&value, engines).ok_or_else(|| RecoverError::BinlogNote { engine: engine.name() })
    }
}

/// Leaves the same note in every engine, durably.
pub(super) fn leave(note: &BinlogNote, engines: &[Arc<dyn TwoPhase>]) -> Result<(), RecoverError> {
    let redo = note.redo();
    for engine in engines {
        engine.commit_unprepared(&redo)?;
        engine.flush_log()?;
    }
    Ok(())
}

/// In what binlog and engines differ; `logged` are the transactions of the last binlog file, which ends at
/// `end`.
pub(super) fn divergences(
    engines: &[Arc<dyn TwoPhase>],
    logged: &[LoggedTransaction],
    end: BinlogPosition,
) -> Result<Vec<String>, RecoverError> {
    let notes: Result<Vec<BinlogNote>, RecoverError> =
        engines.iter().map(|engine| BinlogNote::read(&**engine, engines.len())).collect();
    let notes = notes?;
    let mut found = Vec::new();
    for (at, engine) in engines.iter().enumerate() {
        let (own, name) = (notes[at].last[at], engine.name());
        let known = notes.iter().map(|note| note.last[at]).max().unwrap_or_default();
        if own < known {
            let lost = gtids(logged.iter().filter(|one| one.end > own && one.end <= known));
            found.push(format!(
                "{name} ends at binlog position {own}, another engine knows of a change of it at {known}{lost}"
            ));
        }
    }
    let newest = notes.iter().flat_map(|note| note.last.iter().copied()).max().unwrap_or_default();
    let behind: Vec<&LoggedTransaction> = logged.iter().filter(|one| one.end > newest).collect();
    if !behind.is_empty() {
        let (count, lost) = (behind.len(), gtids(behind.into_iter()));
        found.push(format!("the binlog has {count} transactions behind {newest} that no engine has{lost}"));
    }
    if newest > end {
        found.push(format!("the engines have transactions up to binlog position {newest}, the binlog ends at {end}"));
    }
    Ok(found)
}

/// Names the transactions, as far as the binlog does.
fn gtids<'l>(transactions: impl Iterator<Item = &'l LoggedTransaction>) -> String {
    let mut set = GtidSet::new();
    transactions.for_each(|one| set.insert(one.gtid));
    match set.to_string() {
        empty if empty.is_empty() => empty,
        named => format!(": {named}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let at = |file_number, offset| BinlogPosition { file_number, offset };
        let mut note = BinlogNote::everywhere(2, at(3, 400));
        note.set(1, at(3, 900));
        let bytes = note.encode();
        assert_eq!(BinlogNote::decode(&bytes, 2), Some(note));
        let wider = BinlogNote::decode(&bytes, 3).expect("an engine was added");
        assert_eq!(wider.last, [at(3, 400), at(3, 900), at(0, 0)]);
        assert_eq!(BinlogNote::decode(&bytes, 1), None);
        for cut in (1..bytes.len()).filter(|cut: &usize| !cut.is_multiple_of(ENTRY_BYTES)) {
            assert_eq!(BinlogNote::decode(&bytes[..cut], 2), None, "cut to {cut} bytes");
        }
    }
}
