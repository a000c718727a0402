//! The engine below a protocol that prepares: the tree is its log.
//!
//! A prepare puts the redo into the layer under the transaction's name; a commit replaces that by the
//! changes themselves, a rollback by nothing. [`TwoPhase::sync_log`] writes the layer into the tree, so
//! one durable transaction of redb, with its two syncs, makes everything durable that was prepared or
//! decided until then, for all who wait.
//!
//! On crash: the tree is as the last sync, or the last full layer, left it; names in `prepared` are
//! undecided.

use std::collections::BTreeMap;

use ::redb::{Error, ReadableDatabase, ReadableTable, StorageError, TableError};

use super::{NAME, OpenFile, PREPARED, Redb};
use crate::redo::Redo;
use crate::version::Bytes;
use crate::{TwoPhase, WriteError, Xid};

/// The undecided transactions in the tree.
pub(super) fn stored(db: &OpenFile) -> Result<BTreeMap<Xid, Bytes>, Error> {
    let table = match db.begin_read()?.open_table(PREPARED) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(BTreeMap::new()),
        opened => opened?,
    };
    let mut prepared = BTreeMap::new();
    for entry in table.iter()? {
        let (name, redo) = entry?;
        let xid = Xid::new(name.value()).map_err(|error| StorageError::Corrupted(error.to_string()))?;
        prepared.insert(xid, redo.value().into());
    }
    Ok(prepared)
}

impl Redb {
    fn decide(&self, xid: &Xid, commits: bool) -> Result<(), WriteError> {
        self.inner.change(|layer| {
            let mut prepared = self.inner.prepared.lock();
            let redo = prepared.get(xid).ok_or_else(|| misused(xid, "is not prepared"))?;
            layer.decide(xid, commits.then_some(redo))?;
            prepared.remove(xid);
            Ok(())
        })
    }
}

fn misused(xid: &Xid, what: &str) -> WriteError {
    WriteError::Failed { engine: NAME, detail: format!("{xid:?} {what}") }
}

impl TwoPhase for Redb {
    fn prepare(&self, xid: &Xid, redo: &[u8]) -> Result<(), WriteError> {
        Redo::callers_ops(redo).try_for_each(|op| op.map(drop))?;
        self.inner.change(|layer| {
            let mut prepared = self.inner.prepared.lock();
            if prepared.contains_key(xid) {
                return Err(misused(xid, "is prepared already"));
            }
            let redo = Bytes::from(redo);
            layer.prepare(xid, redo.clone());
            prepared.insert(xid.clone(), redo);
            Ok(())
        })
    }

    fn commit_prepared(&self, xid: &Xid) -> Result<(), WriteError> {
        self.decide(xid, true)
    }

    fn rollback_prepared(&self, xid: &Xid) -> Result<(), WriteError> {
        self.decide(xid, false)
    }

    fn commit_unprepared(&self, redo: &[u8]) -> Result<(), WriteError> {
        self.inner.change(|layer| Ok(layer.commit(redo)?))
    }

    fn prepared(&self) -> Vec<Xid> {
        self.inner.prepared.lock().keys().cloned().collect()
    }

    fn sync_log(&self) -> Result<(), WriteError> {
        self.inner.log.sync(NAME, || self.inner.write_layers())
    }

    fn flush_log(&self) -> Result<(), WriteError> {
        Ok(())
    }

    fn log_syncs(&self) -> u64 {
        self.inner.syncs.stats().syncs
    }
}
