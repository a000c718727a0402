//! What a session has locked beside its transactions: LOCK TABLES, FLUSH TABLES WITH READ LOCK, GET_LOCK and the like.

use std::sync::Arc;
use std::time::Duration;

use crate::locks::{HeldLocks, KillHandle, LockError, MetadataMode, MetadataName, TransactionId};
use crate::shared::Shared;

/// Metadata locks that no transaction owns; dropping them releases them.
pub struct SessionLocks {
    shared: Arc<Shared>,
    locks: HeldLocks,
}

/// One metadata lock, as `performance_schema.metadata_locks` shows it.
#[derive(Clone, Debug)]
pub struct MetadataLock {
    /// The number of the transaction, or of the session's locks, that has it.
    pub owner: u64,
    /// What is locked.
    pub name: MetadataName,
    /// How.
    pub mode: MetadataMode,
    /// Held, not awaited.
    pub granted: bool,
}

impl std::fmt::Debug for SessionLocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SessionLocks").field(&self.locks).finish()
    }
}

impl SessionLocks {
    /// None as yet.
    pub(crate) fn new(shared: Arc<Shared>) -> SessionLocks {
        let locks = shared.new_locks();
        SessionLocks { shared, locks }
    }

    /// Takes a lock, waiting for at most `timeout`; false if it was held. `transaction` is the number of the session's open
    /// one ([`Transaction::owner`](crate::Transaction::owner)).
    pub fn lock(
        &mut self,
        name: &MetadataName,
        mode: MetadataMode,
        timeout: Duration,
        transaction: Option<u64>,
    ) -> Result<bool, LockError> {
        self.locks.set_partner(transaction.map(TransactionId));
        self.shared.locks.lock_metadata(&mut self.locks, name, mode, timeout)
    }

    /// Gives one lock up.
    pub fn unlock(&mut self, name: &MetadataName, mode: MetadataMode) {
        self.shared.locks.unlock_metadata(&mut self.locks, name, mode);
    }

    /// What is held, and how.
    pub fn held(&self) -> &[(MetadataName, MetadataMode)] {
        self.locks.metadata()
    }

    /// Who holds a strong mode of a name: [`MetadataLock::owner`].
    pub fn holder(&self, name: &MetadataName) -> Option<u64> {
        self.shared.locks.strong_holder(name).map(|id| id.0)
    }

    /// Their number: [`MetadataLock::owner`].
    pub fn owner(&self) -> u64 {
        self.id().0
    }

    /// A handle that ends a wait for one of them.
    pub fn kill_handle(&self) -> KillHandle {
        self.locks.kill_handle()
    }

    pub(crate) fn id(&self) -> TransactionId {
        self.locks.id()
    }
}

impl Drop for SessionLocks {
    fn drop(&mut self) {
        self.shared.locks.release_all(&mut self.locks);
    }
}

#[cfg(test)]
mod tests;
