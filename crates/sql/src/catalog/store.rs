//! Where definitions are kept, and the version of them that statements read.
//!
//! Format: keys in engine 0 under index ids below 16, which no table uses.
//!
//! ```text
//! 1 | database name                        -> JSON { collation }
//! 2 | table id, 8 bytes big-endian         -> TableDef::to_bytes
//! 3                                        -> JSON { next_table_id, next_index_id }
//! 4 | table id, 8 bytes big-endian         -> least AUTO_INCREMENT value, 8 bytes big-endian
//! 5 | key of the system area               -> its value
//! 6 | table id, 8 bytes big-endian         -> JSON { database, name }: announced, see `announce_table`
//! 0                                        -> the store's own
//! ```
//!
//! Invariants
//! 1. Table and index ids are never used again: those taken by a DDL statement are counted in the same
//!    transaction as its change. Ids taken by one that did not commit are used again only after a restart that
//!    finds nothing under them: what a restart erases may go later than what is written meanwhile comes.
//!
//! Concurrency: readers take the current version without a lock; DDL holds [`CatalogStore::change`] while it commits and
//! publishes, after the locks of its tables. Whether a table is still what it was, it says itself ([`Table::is_current`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use cohort_binlog::QueryContext;
use cohort_engine::{Direction, Engine, EngineId, KeyRange};
use cohort_io::sync::{Condvar, Mutex};
use cohort_txn::blocking_hook::blocking;
use cohort_txn::{MetadataLock, Read, Store, Transaction};
use rpds::RedBlackTreeMapSync;
use serde::{Deserialize, Serialize};

use super::definition::TableDef;
use super::system;
use super::table::{Counters, Table, prefix_range};
use crate::collation::Collation;
use crate::error::{
    ER_BAD_DB_ERROR, ER_LOCK_WAIT_TIMEOUT, ER_NO_DB_ERROR, ER_NO_SUCH_TABLE, ER_QUERY_INTERRUPTED,
    ER_UNKNOWN_STORAGE_ENGINE, SqlError,
};
use crate::exec::failure::{commit_failed, read_failed};
use crate::session::{SessionState, clock_us};
use crate::statistics::TableStatistics;

/// The engine that the catalog is in.
pub(crate) const CATALOG_ENGINE: EngineId = EngineId(0);

const DATABASES: u32 = 1;
const TABLES: u32 = 2;
const COUNTERS: u32 = 3;
const AUTO_INCREMENT_FLOORS: u32 = 4;
const SYSTEM: u32 = 5;
const ANNOUNCED: u32 = 6;
/// The first index id that a table may have.
const FIRST_INDEX_ID: u32 = 16;

/// A map whose versions share what they have in common: a change of one table does not copy the others.
type Names<V> = RedBlackTreeMapSync<String, V>;

/// All databases by their names.
pub(crate) type Databases = Names<DatabaseEntry>;

/// One version of all definitions.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) databases: Databases,
}

/// A database.
#[derive(Clone)]
pub(crate) struct DatabaseEntry {
    pub(crate) collation: Collation,
    pub(crate) tables: Names<Arc<Table>>,
}

impl DatabaseEntry {
    /// A database without tables.
    pub(crate) fn new(collation: Collation) -> DatabaseEntry {
        DatabaseEntry { collation, tables: Names::default() }
    }
}

#[derive(Serialize, Deserialize)]
struct DatabaseDoc {
    collation: Collation,
}

/// A table that the binlog has, and the server has not yet.
#[derive(Clone, Serialize, Deserialize)]
struct AnnouncedDoc {
    database: String,
    name: String,
}

/// The ids that are taken next.
#[derive(Serialize, Deserialize)]
pub(crate) struct CountersDoc {
    next_table_id: u64,
    next_index_id: u32,
}

impl Catalog {
    /// The database `name`, 1049 if there is none.
    pub(crate) fn database(&self, name: &str) -> Result<&DatabaseEntry, SqlError> {
        let found = self.databases.get(name).or_else(|| system::database(name));
        found.ok_or_else(|| SqlError::new(ER_BAD_DB_ERROR, &[&name]))
    }

    /// The table `name` of `database`; 1049, 1146.
    pub(crate) fn table(&self, database: &str, name: &str) -> Result<&Arc<Table>, SqlError> {
        let entry = self.database(database)?;
        let found = entry.tables.get(name).or_else(|| system::table_of(entry, name));
        found.ok_or_else(|| SqlError::new(ER_NO_SUCH_TABLE, &[&database, &name]))
    }

    /// Whether a database of this name is made by users, and not the server's own.
    pub(crate) fn is_stored(&self, database: &str) -> bool {
        self.databases.contains_key(database)
    }

    /// Every table that is stored.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.databases.values().flat_map(|database| database.tables.values())
    }

    /// The ranges of an engine's keys, but for the catalog's own, under ids that no table names.
    pub(crate) fn unnamed(&self, engine: EngineId) -> Vec<KeyRange> {
        let of_engine = self.tables().filter(|table| table.engine == engine);
        let ids = |table: &Arc<Table>| -> Vec<u32> {
            table.indexes.iter().map(|index| index.id).chain([table.def.row_index_id]).collect()
        };
        let mut named: Vec<u32> = of_engine.flat_map(ids).collect();
        named.sort_unstable();
        let mut gaps = Vec::new();
        let mut lower = FIRST_INDEX_ID;
        for end in named.into_iter().chain([u32::MAX]) {
            if lower < end {
                gaps.push(KeyRange { lower: lower.to_be_bytes().to_vec(), upper: end.to_be_bytes().to_vec() });
            }
            lower = end.saturating_add(1);
        }
        gaps
    }
}

/// Reads the catalog through `entries`, which gives all of a range, and the ids to go on with.
pub(crate) fn read(
    engines: &[Arc<dyn Engine>],
    entries: &mut dyn FnMut(&KeyRange) -> Result<Vec<KeyValue>, SqlError>,
) -> Result<(Catalog, CountersDoc), SqlError> {
    let mut all_of = |kind: u32| entries(&prefix_range(&kind.to_be_bytes()));
    let mut catalog = Catalog::default();
    for (key, value) in all_of(DATABASES)? {
        let name = String::from_utf8(key[4..].to_vec()).map_err(|_| unreadable("list of databases"))?;
        let doc: DatabaseDoc = serde_json::from_slice(&value).map_err(|_| unreadable("list of databases"))?;
        catalog.databases.insert_mut(name, DatabaseEntry::new(doc.collation));
    }
    let mut floors = BTreeMap::new();
    for (key, value) in all_of(AUTO_INCREMENT_FLOORS)? {
        let id = key[4..].try_into().map(u64::from_be_bytes);
        let floor = value.as_slice().try_into().map(u64::from_be_bytes);
        let (Ok(id), Ok(floor)) = (id, floor) else { return Err(unreadable("list of counters")) };
        floors.insert(id, floor);
    }
    let next = match all_of(COUNTERS)?.first() {
        Some((_, stored)) => serde_json::from_slice(stored).map_err(|_| unreadable("list of ids"))?,
        None => CountersDoc { next_table_id: 1, next_index_id: FIRST_INDEX_ID },
    };
    for (_, value) in all_of(TABLES)? {
        let def = TableDef::from_bytes(&value)?;
        let engine = engine_called(engines, &def.engine)?;
        let floor = floors.get(&def.id).copied().unwrap_or(1);
        let counters = Arc::new(Counters::starting_at(floor, Arc::new(TableStatistics::unknown())));
        let database = catalog.databases.get_mut(&def.database).ok_or_else(|| unreadable("list of tables"))?;
        let table = Arc::new(Table::new(def, engine, counters, 0));
        database.tables.insert_mut(table.def.name.clone(), table);
    }
    Ok((catalog, next))
}

fn engine_called(engines: &[Arc<dyn Engine>], name: &str) -> Result<EngineId, SqlError> {
    let found = engines.iter().position(|engine| engine.name().eq_ignore_ascii_case(name));
    if let Some(number) = found {
        return Ok(EngineId(u8::try_from(number).map_err(SqlError::internal)?));
    }
    if is_known_elsewhere(name) {
        return Ok(CATALOG_ENGINE);
    }
    Err(SqlError::new(ER_UNKNOWN_STORAGE_ENGINE, &[&name]))
}

/// The catalog of a store.
pub(crate) struct CatalogStore {
    store: Arc<Store>,
    current: ArcSwap<Catalog>,
    /// Whether somebody changes it.
    changing: Mutex<bool>,
    changed: Condvar,
    next_table_id: AtomicU64,
    next_index_id: AtomicU32,
    /// Tables to be withdrawn, with the keys of their notes.
    owed: Mutex<Vec<(Vec<u8>, AnnouncedDoc)>>,
}

/// The right to change the catalog; dropping it ends the change.
pub(crate) struct Change<'a> {
    catalog: &'a CatalogStore,
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        *self.catalog.changing.lock() = false;
        self.catalog.changed.notify_one();
    }
}

/// A key with its value.
pub type KeyValue = (Vec<u8>, Vec<u8>);

fn catalog_key(kind: u32, rest: &[u8]) -> Vec<u8> {
    let mut key = kind.to_be_bytes().to_vec();
    key.extend_from_slice(rest);
    key
}

/// The key of the system area's `key`.
pub(crate) fn system_key(key: &[u8]) -> Vec<u8> {
    catalog_key(SYSTEM, key)
}

fn entries(transaction: &mut Transaction, range: &KeyRange) -> Result<Vec<KeyValue>, SqlError> {
    let mut scan = transaction.scan(CATALOG_ENGINE, Read::Current, range, Direction::Forward).map_err(read_failed)?;
    let mut entries = Vec::new();
    while let Some(entry) = scan.next().map_err(read_failed)? {
        entries.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    Ok(entries)
}

fn unreadable(what: &str) -> SqlError {
    SqlError::internal(format_args!("the catalog's {what} is damaged"))
}

impl CatalogStore {
    /// Reads the catalog, and erases what lies under ids it does not name.
    pub(crate) fn open(store: Arc<Store>) -> Result<CatalogStore, SqlError> {
        let mut transaction = store.begin();
        let (catalog, next) = read(store.engines(), &mut |range| entries(&mut transaction, range))?;
        drop(transaction);
        let catalog_store = CatalogStore {
            store,
            current: ArcSwap::default(),
            changing: Mutex::new(false),
            changed: Condvar::new(),
            next_table_id: AtomicU64::new(next.next_table_id),
            next_index_id: AtomicU32::new(next.next_index_id),
            owed: Mutex::default(),
        };
        catalog_store.erase_unnamed(&catalog)?;
        catalog_store.withdraw_announced(&catalog)?;
        catalog_store.current.store(Arc::new(catalog));
        Ok(catalog_store)
    }

    /// Erases what a crash left under ids that no table names.
    fn erase_unnamed(&self, catalog: &Catalog) -> Result<(), SqlError> {
        for number in 0..self.store.engines().len() {
            let engine = EngineId(u8::try_from(number).map_err(SqlError::internal)?);
            for gap in catalog.unnamed(engine) {
                if let Some(last) = self.erase_if_used(engine, &gap)? {
                    self.next_index_id.fetch_max(last.saturating_add(1), Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    /// Erases what a gap has; gives the last index id that was used there. Nothing beyond that id is erased: the engine may
    /// drop what lies in an erased range at any later time, and new ids lie in the last gap.
    fn erase_if_used(&self, engine: EngineId, range: &KeyRange) -> Result<Option<u32>, SqlError> {
        let mut transaction = self.store.begin();
        let mut scan = transaction.scan(engine, Read::Current, range, Direction::Reverse).map_err(read_failed)?;
        let Some(entry) = scan.next().map_err(read_failed)? else { return Ok(None) };
        let last = entry.key.first_chunk().ok_or_else(|| unreadable("index id of a key"))?;
        let last = u32::from_be_bytes(*last);
        drop(scan);
        drop(transaction);
        let used = KeyRange { lower: range.lower.clone(), upper: prefix_range(&last.to_be_bytes()).upper };
        self.store.erase(engine, &used).map_err(SqlError::internal)?;
        // The entries must not come back with the next crash.
        self.store.engines()[usize::from(engine.0)].sync().map_err(SqlError::internal)?;
        Ok(Some(last))
    }

    /// The next value of a table's AUTO_INCREMENT column, if it has one and it can be read.
    pub(crate) fn next_auto_increment(&self, table: &Table) -> Option<u64> {
        table.auto_increment?;
        table.peek_auto_increment(&mut self.store.begin()).ok()
    }

    /// Takes back the tables that the binlog has and nobody else, because the server stopped before their rows were
    /// committed: whoever follows the binlog drops them.
    fn withdraw_announced(&self, catalog: &Catalog) -> Result<(), SqlError> {
        let mut transaction = self.store.begin();
        let announced = entries(&mut transaction, &prefix_range(&ANNOUNCED.to_be_bytes()))?;
        drop(transaction);
        for (key, value) in announced {
            let table: AnnouncedDoc = serde_json::from_slice(&value).map_err(|_| unreadable("list of new tables"))?;
            let entry = catalog.database(&table.database);
            let transaction = if entry.is_ok_and(|entry| entry.tables.contains_key(&table.name)) {
                // Another one has the name by now: only the note goes.
                let mut transaction = self.store.begin();
                transaction.delete(CATALOG_ENGINE, &key);
                transaction
            } else {
                withdrawal(self.store.begin(), key, &table)
            };
            self.store.commit_and_wait(transaction).map_err(SqlError::internal)?;
        }
        Ok(())
    }

    /// Withdraws what is owed, by whoever has the right to change the catalog.
    fn pay(&self) -> Result<(), SqlError> {
        loop {
            let Some((key, table)) = self.owed.lock().first().cloned() else { return Ok(()) };
            let withdrawn = self.store.commit_and_wait(withdrawal(self.store.begin(), key, &table));
            withdrawn.map_err(|error| commit_failed(&error))?;
            self.owed.lock().remove(0);
        }
    }

    /// Every metadata lock of the store.
    pub(crate) fn metadata_locks(&self) -> Vec<MetadataLock> {
        self.store.metadata_locks()
    }

    /// The current version.
    pub(crate) fn current(&self) -> arc_swap::Guard<Arc<Catalog>> {
        self.current.load()
    }

    /// The engine called `name`; the names MySQL knows stand for the first engine. 1286 for others.
    pub(crate) fn engine(&self, name: &str) -> Result<EngineId, SqlError> {
        engine_called(self.store.engines(), name)
    }

    /// The engine's own name.
    pub(crate) fn engine_name(&self, engine: EngineId) -> &'static str {
        self.store.engines()[usize::from(engine.0)].name()
    }

    /// Waits for the right to change the catalog: for another statement's commit, no longer; 1317 if the session is
    /// killed, 1205 after its `lock_wait_timeout`. Nothing is changed before what is owed is withdrawn: whoever follows the
    /// binlog has those tables.
    pub(crate) fn change(&self, session: &SessionState) -> Result<Change<'_>, SqlError> {
        let deadline = Instant::now().checked_add(session.table_lock_timeout);
        let mut changing = self.changing.lock();
        if *changing {
            blocking(|| {
                while *changing {
                    if session.interrupt_ref().is_killed() {
                        return Err(SqlError::new(ER_QUERY_INTERRUPTED, &[]));
                    }
                    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        return Err(SqlError::new(ER_LOCK_WAIT_TIMEOUT, &[]));
                    }
                    self.changed.wait_for(&mut changing, LOOK_EVERY);
                }
                Ok(())
            })?;
        }
        *changing = true;
        drop(changing);
        let change = Change { catalog: self };
        self.pay()?;
        Ok(change)
    }

    /// A table id never used before.
    pub(crate) fn take_table_id(&self) -> u64 {
        self.next_table_id.fetch_add(1, Ordering::Relaxed)
    }

    /// An index id never used before.
    pub(crate) fn take_index_id(&self) -> u32 {
        self.next_index_id.fetch_add(1, Ordering::Relaxed)
    }
}

/// How often a wait looks whether its session was killed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Engines of MySQL and MariaDB that this server stands in for.
pub(crate) fn is_known_elsewhere(name: &str) -> bool {
    const KNOWN: [&str; 11] =
        ["InnoDB", "MyISAM", "Aria", "MEMORY", "HEAP", "RocksDB", "TokuDB", "XtraDB", "ARCHIVE", "NDB", "NDBCLUSTER"];
    KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl Change<'_> {
    /// Stores a database.
    pub(crate) fn put_database(
        &self,
        transaction: &mut Transaction,
        name: &str,
        collation: Collation,
    ) -> Result<(), SqlError> {
        let doc = serde_json::to_vec(&DatabaseDoc { collation }).map_err(SqlError::internal)?;
        transaction.put(CATALOG_ENGINE, &catalog_key(DATABASES, name.as_bytes()), &doc);
        Ok(())
    }

    /// Removes a database.
    pub(crate) fn delete_database(&self, transaction: &mut Transaction, name: &str) {
        transaction.delete(CATALOG_ENGINE, &catalog_key(DATABASES, name.as_bytes()));
    }

    /// Stores a table, with the ids taken so far.
    pub(crate) fn put_table(&self, transaction: &mut Transaction, def: &TableDef) -> Result<(), SqlError> {
        transaction.put(CATALOG_ENGINE, &catalog_key(TABLES, &def.id.to_be_bytes()), &def.to_bytes());
        self.put_counters(transaction)
    }

    /// Stores the ids taken so far: no later statement takes them, whatever becomes of those that did.
    pub(crate) fn put_counters(&self, transaction: &mut Transaction) -> Result<(), SqlError> {
        let next = CountersDoc {
            next_table_id: self.catalog.next_table_id.load(Ordering::Relaxed),
            next_index_id: self.catalog.next_index_id.load(Ordering::Relaxed),
        };
        let next = serde_json::to_vec(&next).map_err(SqlError::internal)?;
        transaction.put(CATALOG_ENGINE, &catalog_key(COUNTERS, b""), &next);
        Ok(())
    }

    /// Notes that the binlog has the definition of a table whose rows are in a transaction that follows. Until that is
    /// committed, with [`Change::put_table`] and [`Change::settle_table`], nobody sees the table; if it never is,
    /// [`Change::withdraw_table`] or the next start writes to the binlog that the table is dropped.
    pub(crate) fn announce_table(&self, transaction: &mut Transaction, def: &TableDef) -> Result<(), SqlError> {
        let doc = AnnouncedDoc { database: def.database.clone(), name: def.name.clone() };
        let doc = serde_json::to_vec(&doc).map_err(SqlError::internal)?;
        transaction.put(CATALOG_ENGINE, &catalog_key(ANNOUNCED, &def.id.to_be_bytes()), &doc);
        self.put_counters(transaction)
    }

    /// Removes the note of [`Change::announce_table`].
    pub(crate) fn settle_table(&self, transaction: &mut Transaction, def: &TableDef) {
        transaction.delete(CATALOG_ENGINE, &catalog_key(ANNOUNCED, &def.id.to_be_bytes()));
    }

    /// The same, in a transaction of its own by which whoever follows the binlog drops the table. Where that fails, it is
    /// owed: it is tried again before the next change of the catalog, and at the next start.
    pub(crate) fn withdraw_table(&self, def: &TableDef) {
        let table = AnnouncedDoc { database: def.database.clone(), name: def.name.clone() };
        self.catalog.owed.lock().push((catalog_key(ANNOUNCED, &def.id.to_be_bytes()), table));
        let _ = self.catalog.pay();
    }

    /// Removes a table.
    pub(crate) fn delete_table(&self, transaction: &mut Transaction, id: u64) {
        transaction.delete(CATALOG_ENGINE, &catalog_key(TABLES, &id.to_be_bytes()));
        transaction.delete(CATALOG_ENGINE, &catalog_key(AUTO_INCREMENT_FLOORS, &id.to_be_bytes()));
    }

    /// Stores the least AUTO_INCREMENT value of a table.
    pub(crate) fn put_floor(&self, transaction: &mut Transaction, id: u64, floor: u64) {
        transaction.put(CATALOG_ENGINE, &catalog_key(AUTO_INCREMENT_FLOORS, &id.to_be_bytes()), &floor.to_be_bytes());
    }

    /// Makes a changed copy of the current version the current one. Call it when the change is durable, and before the
    /// locks of `retired` go: the tables, in their former form, that are no longer what they were.
    pub(crate) fn publish(&self, retired: &[Arc<Table>], change: impl FnOnce(&mut Databases)) {
        let mut databases = self.catalog.current.load().databases.clone();
        change(&mut databases);
        self.catalog.current.store(Arc::new(Catalog { databases }));
        // Whoever finds one retired finds the new version.
        retired.iter().for_each(|table| table.retire());
    }
}

/// See [`Change::withdraw_table`].
fn withdrawal(mut transaction: Transaction, key: Vec<u8>, table: &AnnouncedDoc) -> Transaction {
    transaction.delete(CATALOG_ENGINE, &key);
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let name = format!("{}.{}", quoted(&table.database), quoted(&table.name));
    let events = transaction.events();
    events.set_timestamp(u32::try_from(clock_us() / 1_000_000).unwrap_or(u32::MAX));
    events.set_context(&QueryContext::default(), "");
    events.query("", format!("DROP TABLE IF EXISTS {name} /* generated by server */"));
    transaction
}

/// The database a name without one means: the session's, 1046 if it has none.
pub(crate) fn database_or<'a>(named: Option<&'a str>, default: Option<&'a str>) -> Result<&'a str, SqlError> {
    named.or(default).ok_or_else(|| SqlError::new(ER_NO_DB_ERROR, &[]))
}
