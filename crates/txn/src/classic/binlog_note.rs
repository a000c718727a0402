//! Where the binlog ends and up to where it is durable, as the classic protocols leave it in the engines.
//!
//! Each commit record is in an engine's log after a note of the binlog position of its transaction, as InnoDB's
//! header had it, of the last one that is known of in every other engine, and of the place up to which the binlog
//! was synced by then. After a crash that shows two things.
//!
//! *Rot from a torn end.* The note is written when the sync has returned: the file was whole up to there, and a
//! crash does not change that. Damage before it is another's, and stops the start.
//!
//! *Which log lost its end*, where nothing keeps them together: without prepare, or when the binlog is not synced
//! with each group. Nothing can be done about it then, but it can be said.
//!
//! Protocols without prepare have the note in the same write as the changes. The others write it once a group into
//! each engine that the group changed, unsynced: whatever makes the commit record durable makes the note durable
//! before.
//!
//! Format: under the key [`KEY`], the synced position, and for each engine in the order of their ids the last one;
//! each as file number and offset, `u64`, little-endian.

use std::sync::Arc;

use cohort_binlog::BinlogPosition;
use cohort_engine::{Engine, Redo, TwoPhase};

use super::recovery::RecoverError;

/// Keys that begin with four zeros are the store's own.
const KEY: &[u8] = b"\0\0\0\0note";
const ENTRY_BYTES: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BinlogNote {
    /// The binlog is durable up to here.
    pub synced: BinlogPosition,
    /// By engine, the binlog position after the last transaction that wrote it.
    pub last: Vec<BinlogPosition>,
}

impl BinlogNote {
    /// Binlog and engines all end at `position`, durably.
    pub fn everywhere(engines: usize, position: BinlogPosition) -> BinlogNote {
        BinlogNote { synced: position, last: vec![position; engines] }
    }

    /// A transaction that ends at `position` writes `engine`; the binlog is durable up to `synced`.
    pub fn set(&mut self, engine: usize, position: BinlogPosition, synced: BinlogPosition) {
        self.synced = synced;
        self.last[engine] = position;
    }

    /// The same of a prepared transaction that will be committed; the change that leaves it in the engine, unless
    /// what was left there covers it. One covers all that was synced.
    pub fn cover(&mut self, engine: usize, position: BinlogPosition, synced: BinlogPosition) -> Option<Vec<u8>> {
        if self.last[engine] >= position {
            return None;
        }
        self.set(engine, position.max(synced), synced);
        Some(self.redo())
    }

    /// A recovery commits all that is left of what `engine` was to get up to `position`; the change that leaves that in
    /// the engine, unless more is left there.
    pub fn raise(&mut self, engine: usize, position: BinlogPosition) -> Option<Vec<u8>> {
        (self.last[engine] < position).then(|| {
            self.last[engine] = position;
            self.redo()
        })
    }

    /// The change that leaves the note in an engine.
    pub fn redo(&self) -> Vec<u8> {
        let mut redo = Redo::default();
        redo.put(KEY, &self.encode());
        redo.into_bytes()
    }

    /// Leaves in each engine that it ends as the note says, unless that is there, to be synced by the caller; says
    /// whether there were such.
    ///
    /// What an engine knows of the others does not move forward: if only one of them has its note after a crash, it
    /// must not name changes that the others would seem to have lost.
    pub fn leave(&self, engines: &[Arc<dyn TwoPhase>]) -> Result<bool, RecoverError> {
        let mut changed = false;
        for (at, engine) in engines.iter().enumerate() {
            let found = BinlogNote::read(&**engine, engines.len())?;
            let mut last: Vec<BinlogPosition> =
                found.last.iter().zip(&self.last).map(|(found, end)| *found.min(end)).collect();
            last[at] = self.last[at];
            let note = BinlogNote { synced: self.synced, last };
            if note != found {
                engine.commit_unprepared(&note.redo())?;
                changed = true;
            }
        }
        Ok(changed)
    }

    fn encode(&self) -> Vec<u8> {
        let positions = std::iter::once(&self.synced).chain(&self.last);
        let numbers = positions.flat_map(|position| [position.file_number, position.offset]);
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    /// Of fewer engines than there are now, the others were never written; `None` for anything else.
    fn decode(bytes: &[u8], engines: usize) -> Option<BinlogNote> {
        if !bytes.len().is_multiple_of(ENTRY_BYTES) || bytes.len() > (1 + engines) * ENTRY_BYTES {
            return None;
        }
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let entries = bytes.chunks_exact(ENTRY_BYTES);
        let mut positions =
            entries.map(|entry| BinlogPosition { file_number: number(&entry[..8]), offset: number(&entry[8..]) });
        let synced = positions.next()?;
        let mut last: Vec<BinlogPosition> = positions.collect();
        last.resize(engines, BinlogPosition::default());
        Some(BinlogNote { synced, last })
    }

    /// What is left in `engine`, which is one of `engines`.
    pub fn read(engine: &dyn Engine, engines: usize) -> Result<BinlogNote, RecoverError> {
        let mut value = Vec::new();
        if !engine.get(KEY, &mut value)? {
            return Ok(BinlogNote::everywhere(engines, BinlogPosition::default()));
        }
        BinlogNote::decode(&value, engines).ok_or_else(|| RecoverError::BinlogNote { engine: engine.name() })
    }
}

/// Up to where the binlog was synced, by whichever engine knows most.
pub(crate) fn synced<'e>(
    engines: impl ExactSizeIterator<Item = &'e dyn Engine>,
) -> Result<BinlogPosition, RecoverError> {
    let count = engines.len();
    let mut synced = BinlogPosition::default();
    for engine in engines {
        synced = synced.max(BinlogNote::read(engine, count)?.synced);
    }
    Ok(synced)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file_number: u64, offset: u64) -> BinlogPosition {
        BinlogPosition { file_number, offset }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let mut note = BinlogNote::everywhere(2, at(3, 400));
        note.set(1, at(3, 900), at(3, 700));
        let bytes = note.encode();
        assert_eq!(BinlogNote::decode(&bytes, 2), Some(note));
        let wider = BinlogNote::decode(&bytes, 3).expect("an engine was added");
        assert_eq!((wider.synced, &wider.last[..]), (at(3, 700), &[at(3, 400), at(3, 900), at(0, 0)][..]));
        assert_eq!(BinlogNote::decode(&bytes, 1), None);
        assert_eq!(BinlogNote::decode(&[], 1), None);
        for cut in (1..bytes.len()).filter(|cut: &usize| !cut.is_multiple_of(ENTRY_BYTES)) {
            assert_eq!(BinlogNote::decode(&bytes[..cut], 2), None, "cut to {cut} bytes");
        }
    }

    #[test]
    fn one_note_is_left_for_all_that_was_synced_together() {
        let mut note = BinlogNote::everywhere(2, at(1, 100));
        assert!(note.cover(0, at(1, 200), at(1, 400)).is_some());
        assert_eq!(note.cover(0, at(1, 300), at(1, 400)), None);
        assert_eq!(note.cover(0, at(1, 400), at(1, 400)), None);
        assert!(note.cover(1, at(1, 400), at(1, 400)).is_some(), "the other engine knows nothing of it");
        assert!(note.cover(0, at(1, 500), at(1, 400)).is_some(), "not synced");
        assert_eq!(note, BinlogNote { synced: at(1, 400), last: vec![at(1, 500), at(1, 400)] });
    }

    #[test]
    fn a_recovery_leaves_where_it_ends_unless_more_is_left() {
        let mut note = BinlogNote { synced: at(1, 300), last: vec![at(1, 100), at(2, 200)] };
        assert_eq!(note.raise(0, at(1, 100)), None);
        assert_eq!(note.raise(1, at(1, 900)), None);
        let raised = BinlogNote { last: vec![at(1, 101), at(2, 200)], ..note.clone() };
        assert_eq!(note.raise(0, at(1, 101)), Some(raised.redo()));
        assert_eq!(note, raised);
    }
}
