//! [`RocksDbTwoPhase`]: the engine on RocksDB with its own write-ahead log, for protocols that prepare.
//!
//! Same keys, values and directory as [`crate::RocksDb`], so that a directory that was closed cleanly may
//! be opened as either. Prepare and commit are RocksDB's own (`TransactionDB`, policy "write committed"):
//! the prepare record holds the changes, the commit record names them, and only then they enter the
//! memtable. Its locks are off: row locks are the caller's.
//!
//! Invariants
//! 1. Records gather in RocksDB's buffer of the log, as in InnoDB's; one call hands those of everybody to the
//!    operating system. [`TwoPhase::sync_log`] is the only sync.
//! 2. A transaction leaves `prepared` when its commit or rollback record is in the log.
//!
//! Concurrency: any number of callers; a name is used by one of them at a time.
//!
//! On crash: the log is read at open, up to the first record that is not whole, where it is cut (`torn_log.rs`).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use cohort_io::sync::Mutex;
use ouroboros::self_referencing;
use rust_rocksdb::{
    DBRecoveryMode, FlushOptions, ReadOptions, Transaction, TransactionDBOptions, TransactionOptions,
    WriteBatchWithTransaction, WriteOptions,
};

use crate::handle::Transactional;
use crate::open::{self, RocksDbOptions};
use crate::positions::Positions;
use crate::read::{self, RangeCursor, Shared};
use crate::stats::Events;
use crate::{FORMAT_VERSION, NAME, fill, torn_log, torn_manifest, upkeep, write_error};
use cohort_engine::stored::{self, POSITION_KEY};
use cohort_engine::{
    Cursor, Direction, Engine, GroupSync, KeyRange, MIN_KEY_LEN, OpenError, Position, ReadError, Snapshot,
    SyncCallersLog, TwoPhase, WriteError, Xid,
};

type Batch = WriteBatchWithTransaction<true>;
type Undecided<'db> = Transaction<'db, Transactional>;

/// A batch of a load or an erase is written when it has grown to this, bytes.
const BATCH_BYTES: usize = 1 << 20;

/// One prepared transaction.
#[self_referencing]
struct Prepared {
    shared: Arc<Shared<Transactional>>,
    #[borrows(shared)]
    #[not_covariant]
    transaction: Option<Undecided<'this>>,
}

/// Those that were found at open.
#[self_referencing]
struct Recovered {
    shared: Arc<Shared<Transactional>>,
    #[borrows(shared)]
    #[not_covariant]
    transactions: HashMap<Xid, Undecided<'this>>,
}

/// An ordered map in a RocksDB directory with a log of its own; see the module.
pub struct RocksDbTwoPhase {
    db: Arc<Shared<Transactional>>,
    read: ReadOptions,
    write: WriteOptions,
    unlocked: TransactionOptions,
    prepared: Mutex<HashMap<Xid, Prepared>>,
    recovered: Mutex<Recovered>,
    log: GroupSync,
    positions: Positions,
    events: Arc<Events>,
    log_bytes_cut: u64,
}

impl RocksDbTwoPhase {
    /// Opens the engine's directory, creating it if it is missing or empty. The caller sees to it that nobody else has
    /// it open: log and manifest are cut and written before RocksDB takes its lock.
    pub fn open(dir: &Path, options: &RocksDbOptions) -> Result<RocksDbTwoPhase, OpenError> {
        open::check_directory(dir)?;
        torn_manifest::make_whole(dir)?;
        let failed = |e| open::io_error(dir, &e);
        let log_bytes_cut = torn_log::make_whole(dir).map_err(failed)?;
        upkeep::bring_kept_files_back(dir).map_err(failed)?;
        let events = Arc::new(Events::default());
        let mut built = open::build(options);
        built.add_event_listener(events.listener(dir));
        built.set_manual_wal_flush(true);
        built.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
        let mut transactions = TransactionDBOptions::default();
        transactions.set_skip_concurrency_control(true);
        let db = Transactional::open(&built, &transactions, dir).map_err(|e| open::open_error(dir, &e))?;
        let db = Shared::new(db);
        let opened = open::position_at_open(&db.handle, dir)?;
        upkeep::clear_unfinished_loads(dir).map_err(failed)?;
        let recovered = Recovered::new(db.clone(), |db| {
            let named = db.handle.prepared_transactions().into_iter();
            named.filter_map(|found| Some((Xid::new(&found.get_name()?).ok()?, found))).collect()
        });
        let mut unlocked = TransactionOptions::default();
        unlocked.set_skip_concurrency_control(true);
        Ok(RocksDbTwoPhase {
            db,
            read: ReadOptions::default(),
            write: WriteOptions::default(),
            unlocked,
            prepared: Mutex::default(),
            recovered: Mutex::new(recovered),
            log: GroupSync::default(),
            positions: Positions::at_open(opened),
            events,
            log_bytes_cut,
        })
    }

    fn write_batch(&self, batch: &Batch) -> Result<(), WriteError> {
        self.db.handle.write_opt(batch, &self.write).map_err(|e| write_error(&e))
    }

    /// Ends a prepared transaction, whenever it was prepared.
    fn decide(
        &self,
        xid: &Xid,
        decision: impl FnOnce(Undecided<'_>) -> Result<(), rust_rocksdb::Error>,
    ) -> Result<(), WriteError> {
        let live = self.prepared.lock().remove(xid);
        let outcome = match live {
            Some(mut live) => live.with_transaction_mut(|transaction| transaction.take().map(decision)),
            None => self.recovered.lock().with_transactions_mut(|transactions| transactions.remove(xid).map(decision)),
        };
        let unknown = || WriteError::Failed { engine: NAME, detail: format!("{xid:?} is not prepared") };
        outcome.ok_or_else(unknown)?.map_err(|e| write_error(&e))
    }
}

impl TwoPhase for RocksDbTwoPhase {
    fn prepare(&self, xid: &Xid, redo: &[u8]) -> Result<(), WriteError> {
        let mut batch = Batch::default();
        fill(&mut batch, redo)?;
        let prepared = Prepared::try_new(self.db.clone(), |db| {
            let transaction = db.handle.transaction_opt(&self.write, &self.unlocked);
            transaction.set_name(xid.as_bytes())?;
            transaction.rebuild_from_writebatch(&batch)?;
            transaction.prepare()?;
            Ok(Some(transaction))
        });
        self.prepared.lock().insert(xid.clone(), prepared.map_err(|e| write_error(&e))?);
        Ok(())
    }

    fn commit_prepared(&self, xid: &Xid) -> Result<(), WriteError> {
        self.decide(xid, |transaction| transaction.commit())
    }

    fn rollback_prepared(&self, xid: &Xid) -> Result<(), WriteError> {
        self.decide(xid, |transaction| transaction.rollback())
    }

    fn commit_unprepared(&self, redo: &[u8]) -> Result<(), WriteError> {
        let mut batch = Batch::default();
        fill(&mut batch, redo)?;
        self.write_batch(&batch)
    }

    fn prepared(&self) -> Vec<Xid> {
        let mut names: Vec<Xid> = self.prepared.lock().keys().cloned().collect();
        self.recovered.lock().with_transactions(|transactions| names.extend(transactions.keys().cloned()));
        names
    }

    fn sync_log(&self) -> Result<(), WriteError> {
        self.log.sync(NAME, || self.db.handle.flush_wal(true).map_err(|e| write_error(&e)))
    }

    fn flush_log(&self) -> Result<(), WriteError> {
        self.db.handle.flush_wal(false).map_err(|e| write_error(&e))
    }

    fn log_syncs(&self) -> u64 {
        self.log.count()
    }

    fn log_bytes_cut(&self) -> u64 {
        self.log_bytes_cut
    }
}

impl Engine for RocksDbTwoPhase {
    fn name(&self) -> &'static str {
        NAME
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(read::View::new(self.db.clone()))
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        read::get(&self.db.handle, &self.read, key, value)
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        Ok(Box::new(RangeCursor::latest(self.db.clone(), range, direction)))
    }

    fn apply(&self, cohort: &[&[u8]], position: Position) -> Result<(), WriteError> {
        if !self.positions.is_new(position) {
            return Ok(());
        }
        let mut batch = Batch::default();
        for redo in cohort {
            fill(&mut batch, redo)?;
        }
        batch.put(POSITION_KEY, stored::encode(FORMAT_VERSION, position));
        self.write_batch(&batch)?;
        self.positions.set_applied(position);
        Ok(())
    }

    fn durable_position(&self) -> Position {
        self.positions.durable()
    }

    /// Flushes the memtables, so that the directory can be opened without the log too.
    fn sync(&self) -> Result<Position, WriteError> {
        let applied = self.positions.applied();
        self.sync_log()?;
        self.db.handle.flush_opt(&FlushOptions::default()).map_err(|e| write_error(&e))?;
        Ok(self.positions.set_durable(applied))
    }

    fn ready(&self) -> Result<(), WriteError> {
        self.events.ready()
    }

    fn sync_callers_log_first(&self, sync_callers_log: SyncCallersLog) {
        self.events.sync_callers_log_first(sync_callers_log);
    }

    fn load(&self, entries: &mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<(), WriteError> {
        let mut batch = Batch::default();
        for (key, value) in entries {
            assert!(key.len() >= MIN_KEY_LEN, "a loaded key has {} bytes", key.len());
            batch.put(key, value);
            if batch.size_in_bytes() >= BATCH_BYTES {
                self.write_batch(&batch)?;
                batch.clear();
            }
        }
        self.write_batch(&batch)?;
        self.sync_log()
    }

    fn erase(&self, range: &KeyRange) -> Result<(), WriteError> {
        let mut cursor = RangeCursor::latest(self.db.clone(), range, Direction::Forward);
        let mut batch = Batch::default();
        loop {
            let entry = cursor.next().map_err(|error| WriteError::Failed { engine: NAME, detail: error.detail })?;
            let full = batch.size_in_bytes() >= BATCH_BYTES;
            if full || entry.is_none() {
                self.write_batch(&batch)?;
                batch.clear();
            }
            match entry {
                Some(entry) => batch.delete(entry.key),
                None => return Ok(()),
            }
        }
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("log_syncs", self.log_syncs()),
            ("prepared", self.prepared().len() as u64),
            ("applied_position", self.positions.applied().0),
            ("durable_position", self.positions.durable().0),
        ]
    }
}
