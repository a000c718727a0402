//! The layer: what was applied and is not in the tree yet.

use crate::redo::{Redo, RedoError, RedoOp};
use crate::version::{Bytes, Map};
use crate::{Position, WriteError};

/// The newest value of a key, `None` where it was deleted.
pub(super) type Change = Option<Bytes>;

/// What an entry takes beside the bytes of key and value: node, pair, and the counts of all four, bytes.
const ENTRY_BYTES: usize = 128;

/// A version of the changes up to a position. Copies share what they have in common.
#[derive(Clone, Default)]
pub(super) struct Layer {
    map: Map<Change>,
    bytes: usize,
    pub(super) position: Position,
}

impl Layer {
    /// A layer without changes, for those after `position`.
    pub(super) fn after(position: Position) -> Layer {
        Layer { position, ..Layer::default() }
    }

    pub(super) fn map(&self) -> &Map<Change> {
        &self.map
    }

    /// Memory it takes, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn apply(&mut self, cohort: &[&[u8]], position: Position) -> Result<(), WriteError> {
        let applied = self.position;
        assert!(position > applied, "cohort at {} applied after {}", position.0, applied.0);
        for redo in cohort {
            self.change(redo)?;
        }
        self.position = position;
        Ok(())
    }

    fn change(&mut self, redo: &[u8]) -> Result<(), RedoError> {
        for op in Redo::callers_ops(redo) {
            let (key, change) = match op? {
                RedoOp::Put { key, value } => (key, Some(Bytes::from(value))),
                RedoOp::Delete { key } => (key, None),
            };
            self.bytes += change.as_ref().map_or(0, |value| value.len());
            match self.map.get(key) {
                Some(replaced) => self.bytes -= replaced.as_ref().map_or(0, |value| value.len()),
                None => self.bytes += key.len() + ENTRY_BYTES,
            }
            self.map.insert_mut(key.into(), change);
        }
        Ok(())
    }
}
