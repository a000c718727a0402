//! What a session locks beside its transactions: tables (LOCK TABLES), the server (FLUSH TABLES WITH READ LOCK and the
//! like), names (GET_LOCK).
//!
//! The locks are one owner, the partner of each transaction of the session: neither is in the other's way.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cohort_txn::{LockError, MetadataMode, MetadataName, SessionLocks, Store};

use super::SessionState;
use crate::ast::BackupStage;
use crate::error::{
    ER_BACKUP_LOCK_IS_ACTIVE, ER_CANT_UPDATE_WITH_READLOCK, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT,
    ER_USER_LOCK_DEADLOCK, SqlError,
};
use crate::exec::failure::lock_failed;

/// What a name of GET_LOCK takes in memory, its text included, bytes: at most 64 characters, three times.
const NAME_BYTES: usize = 1024;

/// The locks of a session.
#[derive(Default)]
pub(crate) struct OwnLocks {
    /// `None` before the first statement.
    locks: RefCell<Option<SessionLocks>>,
    /// How often each name of GET_LOCK was taken.
    names: RefCell<HashMap<Arc<str>, u64>>,
    /// LOCK INSTANCE FOR BACKUP
    instance: Cell<bool>,
    /// BACKUP STAGE
    stage: Cell<Option<BackupStage>>,
    /// BACKUP LOCK
    backup_table: RefCell<Option<MetadataName>>,
}

/// What a change of definitions or accounts excludes while it runs: whoever locks all changes of the server, or those of
/// definitions. The latter first, since a backup locks them first.
const CHANGE: [MetadataName; 2] = [MetadataName::Backup, MetadataName::Global];

impl OwnLocks {
    /// Whether one of these is held.
    pub(crate) fn hold(&self, name: &MetadataName, mode: MetadataMode) -> bool {
        let locks = self.locks.borrow();
        locks.as_ref().is_some_and(|locks| locks.held().iter().any(|(held, with)| held == name && *with == mode))
    }

    /// Gives one lock up.
    pub(crate) fn unlock(&self, name: &MetadataName, mode: MetadataMode) {
        self.locks.borrow_mut().iter_mut().for_each(|locks| locks.unlock(name, mode));
    }

    /// Gives up the tables with these ids.
    pub(crate) fn unlock_tables(&self, is_meant: impl Fn(u64) -> bool) {
        for locks in self.locks.borrow_mut().iter_mut() {
            for (name, mode) in locks.held().to_vec() {
                if matches!(name, MetadataName::Table(id) if is_meant(id)) {
                    locks.unlock(&name, mode);
                }
            }
        }
    }

    /// The change is over for which [`SessionState::begin_change`] took these.
    pub(crate) fn end_change(&self, taken: Vec<MetadataName>) {
        taken.iter().for_each(|name| self.unlock(name, MetadataMode::IntentionExclusive));
    }

    /// Whether the session has locked all changes of the server.
    pub(crate) fn hold_server(&self) -> bool {
        self.hold(&MetadataName::Global, MetadataMode::Shared)
    }

    /// Whether LOCK INSTANCE FOR BACKUP is in force.
    pub(crate) fn is_instance_locked(&self) -> bool {
        self.instance.get()
    }

    /// LOCK INSTANCE FOR BACKUP, UNLOCK INSTANCE.
    pub(crate) fn set_instance_locked(&self, locked: bool) {
        self.instance.set(locked);
    }

    /// Where the session is between BACKUP STAGE START and END.
    pub(crate) fn stage(&self) -> Option<BackupStage> {
        self.stage.get()
    }

    /// BACKUP STAGE
    pub(crate) fn set_stage(&self, stage: Option<BackupStage>) {
        self.stage.set(stage);
    }

    /// Whether BACKUP LOCK has locked a table.
    pub(crate) fn has_backup_table(&self) -> bool {
        self.backup_table.borrow().is_some()
    }

    /// BACKUP LOCK has locked this.
    pub(crate) fn set_backup_table(&self, name: MetadataName) {
        self.backup_table.replace(Some(name));
    }

    /// BACKUP UNLOCK
    pub(crate) fn give_up_backup_table(&self) {
        self.backup_table.take().iter().for_each(|name| self.unlock(name, MetadataMode::SharedHighPriority));
    }

    /// Gives everything up.
    pub(crate) fn end(&mut self) {
        *self = OwnLocks::default();
    }
}

impl SessionState {
    /// A statement begins, which may lock something.
    pub(crate) fn have_locks(&self, store: &Arc<Store>) {
        let mut locks = self.locks.locks.borrow_mut();
        if locks.is_none() {
            let own = store.session_locks();
            self.interrupt.set_session(own.owner());
            *locks = Some(own);
        }
    }

    /// Makes the session's locks the partner of `transaction`.
    pub(crate) fn adopt(&self, transaction: &mut cohort_txn::Transaction) {
        self.locks.locks.borrow().iter().for_each(|locks| transaction.belongs_to(locks));
    }

    /// Takes a lock beside the session's open transaction, which has the number `transaction`; false if it was held.
    /// KILL and `max_execution_time` end the wait.
    pub(crate) fn lock_beside(
        &self,
        name: &MetadataName,
        mode: MetadataMode,
        timeout: Duration,
        transaction: Option<u64>,
    ) -> Result<bool, LockError> {
        let mut locks = self.locks.locks.borrow_mut();
        let locks = locks.as_mut().expect("every statement makes sure of them");
        let handle = locks.kill_handle();
        // The locks outlive statements: an earlier one may have been killed.
        handle.reset();
        let before = self.interrupt.replace(Some(handle));
        let locked = locks.lock(name, mode, timeout, transaction);
        self.interrupt.watch(before);
        locked
    }

    /// The error of a change for a session that has locked all changes of the server itself.
    pub(crate) fn may_change(&self) -> Result<(), SqlError> {
        if self.locks.stage().is_some() {
            return Err(SqlError::new(ER_BACKUP_LOCK_IS_ACTIVE, &[]));
        }
        if self.locks.hold_server() { Err(SqlError::new(ER_CANT_UPDATE_WITH_READLOCK, &[])) } else { Ok(()) }
    }

    /// Begins a change of definitions or accounts, which waits while others have locked the server against it. Returns what
    /// [`OwnLocks::end_change`] gives up; nothing is taken after an error.
    pub(crate) fn begin_change(&self) -> Result<Vec<MetadataName>, SqlError> {
        self.may_change()?;
        if self.locks.has_backup_table() {
            return Err(SqlError::new(ER_CANT_UPDATE_WITH_READLOCK, &[]));
        }
        self.intend(&CHANGE)
    }

    /// Takes intentions of these names; returns those that were not held.
    pub(crate) fn intend(&self, names: &[MetadataName]) -> Result<Vec<MetadataName>, SqlError> {
        let (mode, mut taken) = (MetadataMode::IntentionExclusive, Vec::new());
        for name in names {
            match self.lock_beside(name, mode, self.table_lock_timeout, None) {
                Ok(true) => taken.push(name.clone()),
                Ok(false) => {}
                Err(error) => {
                    self.locks.end_change(taken);
                    return Err(lock_failed(error));
                }
            }
        }
        Ok(taken)
    }

    /// GET_LOCK; false after `timeout`. 3058 if waiting would close a circle, 1317 if it is killed.
    pub(crate) fn lock_name(&self, name: &str, timeout: Duration, transaction: Option<u64>) -> Result<bool, SqlError> {
        if let Some(count) = self.locks.names.borrow_mut().get_mut(name) {
            *count += 1;
            return Ok(true);
        }
        self.memory.keep(NAME_BYTES)?;
        let name: Arc<str> = Arc::from(name);
        let lock = MetadataName::User(name.clone());
        let locked = self.lock_beside(&lock, MetadataMode::Exclusive, timeout, transaction);
        let Err(error) = locked.map_err(lock_failed) else {
            self.locks.names.borrow_mut().insert(name, 1);
            return Ok(true);
        };
        self.memory.release(NAME_BYTES);
        if error.is(ER_LOCK_WAIT_TIMEOUT) {
            return Ok(false);
        }
        Err(if error.is(ER_LOCK_DEADLOCK) { SqlError::new(ER_USER_LOCK_DEADLOCK, &[]) } else { error })
    }

    /// RELEASE_LOCK; false if the session does not hold the name.
    pub(crate) fn unlock_name(&self, name: &str) -> bool {
        let mut names = self.locks.names.borrow_mut();
        let Some(count) = names.get_mut(name) else { return false };
        *count -= 1;
        if *count == 0
            && let Some((name, _)) = names.remove_entry(name)
        {
            self.locks.unlock(&MetadataName::User(name), MetadataMode::Exclusive);
            self.memory.release(NAME_BYTES);
        }
        true
    }

    /// RELEASE_ALL_LOCKS: how often those given up were taken.
    pub(crate) fn unlock_names(&self) -> u64 {
        let names = std::mem::take(&mut *self.locks.names.borrow_mut());
        for name in names.keys() {
            self.locks.unlock(&MetadataName::User(name.clone()), MetadataMode::Exclusive);
            self.memory.release(NAME_BYTES);
        }
        names.values().sum()
    }

    /// Who holds a name of GET_LOCK: the number of its locks, and whether they are the session's own.
    pub(crate) fn name_holder(&self, name: &str) -> Option<(u64, bool)> {
        let locks = self.locks.locks.borrow();
        let locks = locks.as_ref()?;
        let owner = locks.holder(&MetadataName::User(Arc::from(name)))?;
        Some((owner, owner == locks.owner()))
    }
}
