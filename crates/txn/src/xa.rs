//! XA transactions: from XA START to the decision, across disconnects and restarts.
//!
//! A prepare is a transaction of its own. It writes one entry into engine 0, with the changes and the locks
//! of the prepared transaction, together with that one's events in the binlog. A decision is another one: it
//! removes the entry and, if it is a commit, makes the changes. Both are as atomic and as durable as every
//! commit, whatever the protocol; checkpoints and recovery need not know of them.
//!
//! Format of an entry, integers little-endian unless noted:
//!
//! ```text
//! key    `\0\0\0\0xa` | length of gtrid u8 | gtrid | length of bqual u8 | bqual
//!        | format id, 4 bytes big-endian
//! value  version u8 = 2 | in the binlog u8
//!        | locks u32, per lock: exclusive u8, length u32, name; of a table: 0, 9, 0xff, its id, 8 bytes big-endian
//!        | claims u32, per claim: length u32, name, length u32, name of the row's lock; not there in version 1
//!        | engines u8, per engine: id u8, length u32, redo
//! ```
//!
//! Invariants
//! 1. There is an entry exactly for each prepared transaction that wrote something.
//! 2. A prepared transaction's locks are held until its decision is durable; after a restart they are taken
//!    before the first commit. Its range locks do not survive a restart, as in InnoDB.
//! 3. A name is decided once: whoever decides has the branch locked until the outcome is known.
//!
//! A prepared transaction that wrote nothing has nothing to lose: it is in memory only.

pub(crate) mod registry;

use std::sync::Arc;
use std::time::Duration;

use cohort_binlog::{EventOptions, TransactionEvents, XaId};
use cohort_engine::{Direction, EngineId, KeyRange, Redo, RedoOp};

use crate::blocking_hook::blocking;
use crate::journaled::record::{CohortRecordError, Reader};
use crate::locks::{HeldLocks, LockManager, LockMode, MetadataMode, MetadataName};
use crate::outcome::CommitError;
use crate::store::Store;
use crate::sync::Mutex;
use crate::transaction::Transaction;
use crate::write_set::WriteSet;
pub use registry::ActiveXa;
use registry::{Prepared, Use};

/// The engine that has the entries.
const ENGINE: EngineId = EngineId(0);
/// What the entries' keys begin with: keys that begin with four zeros are the store's own.
const PREFIX: &[u8; 6] = b"\0\0\0\0xa";
const VERSION: u8 = 2;
/// Without claims.
const VERSION_WITHOUT_CLAIMS: u8 = 1;

/// Why an XA transaction was not decided.
#[derive(Debug, thiserror::Error)]
pub enum XaError {
    /// No prepared transaction has the name.
    #[error("no prepared transaction is called {0}")]
    Unknown(XaId),
    /// The decision could not be made durable; the transaction is still prepared.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Store {
    /// Takes `xid` for a new XA transaction; `None` when it is in use.
    pub fn start_xa(&self, xid: &XaId) -> Option<ActiveXa> {
        let registry = &self.shared.xa;
        let mut names = registry.names.lock();
        if names.contains_key(xid) {
            return None;
        }
        names.insert(xid.clone(), Use::Active);
        Some(ActiveXa { registry: registry.clone(), xid: Some(xid.clone()) })
    }

    /// Prepares `transaction`, whose events were started as those of `active`, and waits until that is
    /// durable. After an error it is rolled back.
    pub fn prepare_xa(self: &Arc<Self>, active: ActiveXa, mut transaction: Transaction) -> Result<(), CommitError> {
        transaction.events.end_xa();
        let logged = transaction.is_logged() && !transaction.events.is_empty();
        let stored = transaction.has_writes();
        if stored {
            let mut prepare = self.begin();
            prepare.set_binlog(logged);
            let empty = TransactionEvents::new(EventOptions::default());
            prepare.events = std::mem::replace(&mut transaction.events, empty);
            let mut locks = self.shared.locks.modes(&transaction.locks);
            locks.extend(transaction.locks.tables().map(|table| (table_lock(table), LockMode::Shared)));
            let entry = encode(logged, &locks, &transaction.locks, &transaction.writes);
            self.change_entry(&mut prepare, active.xid(), Some(&entry));
            self.commit_and_wait(prepare)?;
        } else {
            self.wait_until_durable(transaction.rests_on())?;
        }
        let (mut locks, writes) = transaction.into_parts();
        self.shared.locks.keep_tables_only(&mut locks);
        active.become_prepared(Prepared { locks, writes, logged, stored });
        Ok(())
    }

    /// Commits or rolls back the prepared transaction called `xid` and waits until that is durable;
    /// `set_context` may say what the binlog says about the session.
    pub fn decide_xa(
        self: &Arc<Self>,
        xid: &XaId,
        commit: bool,
        set_context: impl FnOnce(&mut TransactionEvents),
    ) -> Result<(), XaError> {
        let unknown = || XaError::Unknown(xid.clone());
        let branch = self.shared.xa.find(xid).ok_or_else(unknown)?;
        let mut branch = blocking(|| branch.lock());
        let prepared = branch.as_mut().ok_or_else(unknown)?;
        if prepared.stored {
            let mut decision = self.begin();
            if commit {
                decision.writes = prepared.writes.copy();
            }
            self.change_entry(&mut decision, xid, None);
            decision.set_binlog(prepared.logged);
            set_context(decision.events());
            decision.events().decide_xa(xid, commit);
            self.commit_and_wait(decision)?;
        }
        self.shared.locks.release_all(&mut prepared.locks);
        *branch = None;
        self.shared.xa.names.lock().remove(xid);
        Ok(())
    }

    /// The names of the prepared transactions, in order.
    pub fn prepared_xa(&self) -> Vec<XaId> {
        self.shared.xa.prepared().into_iter().map(|(xid, _)| xid).collect()
    }

    /// Sets or removes the entry of `xid` as part of `transaction`.
    fn change_entry(&self, transaction: &mut Transaction, xid: &XaId, value: Option<&[u8]>) {
        let key = encode_key(xid);
        let locked = transaction.try_lock(ENGINE, &key, LockMode::Exclusive);
        assert!(locked.is_some(), "the name is in nobody else's hands");
        match value {
            Some(value) => transaction.put(ENGINE, &key, value),
            None => transaction.delete(ENGINE, &key),
        }
    }

    /// Takes the locks of those that were prepared when the server stopped; returns how many there are.
    pub(crate) fn restore_xa(&self) -> Result<u64, XaRestoreError> {
        let range = KeyRange { lower: PREFIX.to_vec(), upper: b"\0\0\0\0xb".to_vec() };
        let mut cursor = self.shared.engine(ENGINE).cursor(&range, Direction::Forward)?;
        let mut count = 0;
        while let Some(entry) = cursor.next()? {
            let (xid, prepared) = self.restore(entry.key, entry.value).map_err(|error| XaRestoreError::Entry {
                key: entry.key.escape_ascii().to_string(),
                detail: error.to_string(),
            })?;
            self.shared.xa.names.lock().insert(xid, Use::Prepared(Arc::new(Mutex::new(Some(prepared)))));
            count += 1;
        }
        Ok(count)
    }

    fn restore(&self, key: &[u8], value: &[u8]) -> Result<(XaId, Prepared), EntryError> {
        let xid = decode_key(key)?;
        let mut reader = Reader::new(value);
        let [version, logged] = reader.array()?;
        if version != VERSION && version != VERSION_WITHOUT_CLAIMS {
            return Err(EntryError::Version(version));
        }
        let mut locks = self.shared.new_locks();
        for _ in 0..reader.u32()? {
            let [exclusive] = reader.array()?;
            let mode = if exclusive == 0 { LockMode::Shared } else { LockMode::Exclusive };
            let len = reader.u32()? as usize;
            let name = reader.take(len)?;
            let locked = match table_of(name) {
                Some(table) => {
                    let (name, mode) = (MetadataName::Table(table), MetadataMode::SharedWrite);
                    self.shared.locks.lock_metadata(&mut locks, &name, mode, Duration::ZERO).is_ok()
                }
                None => self.shared.locks.try_lock(&mut locks, name, mode).is_some(),
            };
            if !locked {
                return Err(EntryError::Locked);
            }
        }
        let claims = if version == VERSION { reader.u32()? } else { 0 };
        for _ in 0..claims {
            let len = reader.u32()? as usize;
            let name = reader.take(len)?;
            let len = reader.u32()? as usize;
            self.shared.locks.claim_entry(&mut locks, name, reader.take(len)?);
        }
        let mut writes = WriteSet::default();
        let [engines] = reader.array()?;
        for _ in 0..engines {
            let [engine] = reader.array()?;
            if usize::from(engine) >= self.engines().len() {
                return Err(EntryError::Engine(engine));
            }
            let len = reader.u32()? as usize;
            for op in Redo::ops(reader.take(len)?) {
                match op? {
                    RedoOp::Put { key, value } => writes.set(EngineId(engine), key, Some(value.into())),
                    RedoOp::Delete { key } => writes.set(EngineId(engine), key, None),
                }
            }
        }
        writes.forget_undo();
        Ok((xid, Prepared { locks, writes, logged: logged != 0, stored: true }))
    }
}

/// Prepared XA transactions cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum XaRestoreError {
    /// An engine could not be read.
    #[error(transparent)]
    Read(#[from] cohort_engine::ReadError),
    /// One that was written by a newer version, or damaged.
    #[error("the prepared XA transaction at key {key} cannot be read: {detail}")]
    Entry {
        /// Its key, escaped.
        key: String,
        detail: String,
    },
}

/// What is wrong with an entry.
#[derive(Debug, thiserror::Error)]
enum EntryError {
    #[error(transparent)]
    Record(#[from] CohortRecordError),
    #[error(transparent)]
    Redo(#[from] cohort_engine::RedoError),
    #[error("version {0} is not known here")]
    Version(u8),
    #[error("no engine has the number {0}")]
    Engine(u8),
    #[error("another prepared transaction holds one of its locks")]
    Locked,
    #[error("its key is no name")]
    Name,
}

/// In an entry, a table's lock is a name that begins with this byte, which no engine's number is.
const TABLE: u8 = 0xff;

fn table_lock(table: u64) -> Arc<[u8]> {
    let mut name = vec![TABLE];
    name.extend_from_slice(&table.to_be_bytes());
    name.into()
}

fn table_of(name: &[u8]) -> Option<u64> {
    let (TABLE, id) = name.split_first().map(|(space, id)| (*space, id))? else { return None };
    id.try_into().ok().map(u64::from_be_bytes)
}

fn encode_key(xid: &XaId) -> Vec<u8> {
    let mut key = PREFIX.to_vec();
    for part in [xid.gtrid(), xid.bqual()] {
        // At most 64 bytes.
        key.push(part.len() as u8);
        key.extend_from_slice(part);
    }
    key.extend_from_slice(&xid.format_id().to_be_bytes());
    key
}

fn decode_key(key: &[u8]) -> Result<XaId, EntryError> {
    let mut reader = Reader::new(key);
    reader.take(PREFIX.len())?;
    let [gtrid] = reader.array()?;
    let gtrid = reader.take(gtrid.into())?;
    let [bqual] = reader.array()?;
    let bqual = reader.take(bqual.into())?;
    XaId::new(gtrid, bqual, u32::from_be_bytes(reader.array()?)).ok_or(EntryError::Name)
}

fn encode(logged: bool, locks: &[(Arc<[u8]>, LockMode)], held: &HeldLocks, writes: &WriteSet) -> Vec<u8> {
    let length = |len: usize| u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = vec![VERSION, u8::from(logged)];
    bytes.extend_from_slice(&length(locks.len()));
    for (name, mode) in locks {
        bytes.push(u8::from(*mode == LockMode::Exclusive));
        bytes.extend_from_slice(&length(name.len()));
        bytes.extend_from_slice(name);
    }
    let claims = LockManager::claimed(held);
    bytes.extend_from_slice(&length(claims.len()));
    for name in claims.flat_map(|(name, row)| [name, row]) {
        bytes.extend_from_slice(&length(name.len()));
        bytes.extend_from_slice(name);
    }
    bytes.push(writes.engines().count() as u8);
    for (engine, keys) in writes.engines() {
        let redo = WriteSet::redo(keys);
        bytes.push(engine.0);
        bytes.extend_from_slice(&length(redo.len()));
        bytes.extend_from_slice(&redo);
    }
    bytes
}

#[cfg(test)]
mod tests;
