//! The layer: what was applied, prepared or decided and is not in the tree yet.

use crate::redo::{Redo, RedoError, RedoOp};
use crate::version::{Bytes, Map};
use crate::{Position, WriteError, Xid};

/// The newest value of a key, `None` where it was deleted; the redo of a transaction by its name, `None`
/// where it was decided.
pub(super) type Change = Option<Bytes>;

/// What an entry takes beside the bytes of key and value: node, pair, and the counts of all four, bytes.
const ENTRY_BYTES: usize = 128;

/// A version of the changes up to a number. Copies share what they have in common.
#[derive(Clone, Default)]
pub(super) struct Layer {
    map: Map<Change>,
    prepared: Map<Change>,
    bytes: usize,
    /// How many changes there were since the engine was opened, up to here.
    pub(super) number: u64,
    pub(super) position: Position,
}

impl Layer {
    /// A layer without changes, in an engine that was opened at `position`.
    pub(super) fn at_open(position: Position) -> Layer {
        Layer { position, ..Layer::default() }
    }

    /// A layer without changes, for those after this one's.
    pub(super) fn next(&self) -> Layer {
        Layer { number: self.number, position: self.position, ..Layer::default() }
    }

    pub(super) fn map(&self) -> &Map<Change> {
        &self.map
    }

    /// What became of prepared transactions, by name.
    pub(super) fn prepared(&self) -> &Map<Change> {
        &self.prepared
    }

    /// Entries it changes in the tree.
    pub(super) fn entries(&self) -> usize {
        self.map.size() + self.prepared.size()
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
        self.number += 1;
        self.position = position;
        Ok(())
    }

    /// Keeps `redo` as a prepared transaction.
    pub(super) fn prepare(&mut self, xid: &Xid, redo: Bytes) {
        self.number += 1;
        self.name(xid, Some(redo));
    }

    /// Applies the redo of a prepared transaction, or takes the transaction back.
    pub(super) fn decide(&mut self, xid: &Xid, committed: Option<&[u8]>) -> Result<(), RedoError> {
        committed.map_or(Ok(()), |redo| self.change(redo))?;
        self.number += 1;
        self.name(xid, None);
        Ok(())
    }

    /// Applies the redo of a transaction that has no name.
    pub(super) fn commit(&mut self, redo: &[u8]) -> Result<(), RedoError> {
        self.change(redo)?;
        self.number += 1;
        Ok(())
    }

    fn name(&mut self, xid: &Xid, change: Change) {
        set(&mut self.prepared, &mut self.bytes, xid.as_bytes(), change);
    }

    fn change(&mut self, redo: &[u8]) -> Result<(), RedoError> {
        for op in Redo::callers_ops(redo) {
            let (key, change) = match op? {
                RedoOp::Put { key, value } => (key, Some(Bytes::from(value))),
                RedoOp::Delete { key } => (key, None),
            };
            set(&mut self.map, &mut self.bytes, key, change);
        }
        Ok(())
    }
}

fn set(map: &mut Map<Change>, bytes: &mut usize, key: &[u8], change: Change) {
    *bytes += change.as_ref().map_or(0, |value| value.len());
    match map.get(key) {
        Some(replaced) => *bytes -= replaced.as_ref().map_or(0, |value| value.len()),
        None => *bytes += key.len() + ENTRY_BYTES,
    }
    map.insert_mut(key.into(), change);
}
