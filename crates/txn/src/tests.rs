//! What the tests of this crate share: a machine that loses power, transactions to run on it, and what must hold then.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cohort_binlog::{
    BinlogOptions, BinlogReader, ColumnMeta, EventBody, FieldType, ReaderOptions, ServerIdentity, TableMap, Value,
};
use cohort_engine::memory::MemoryEngine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine::{Direction, Engine, EngineId, KeyRange, OpenError};
use cohort_io::sync::Mutex;
use cohort_io::{Fault, SimClock, SimDisk};
use cohort_journal::JournalOptions;

use crate::commit_protocol::CommitProtocol;
use crate::journaled::recovery::RecoveryReport;
use crate::open::{Engines, Recovered, StartReport, StartupEvent};
use crate::options::{GtidMode, StoreOptions};
use crate::outcome::{CommitError, Committed, Reply};
use crate::store::Store;
use crate::transaction::{Read, Transaction};
use crate::{CommitSettings, DurabilitySettings, LockMode};

pub(crate) const ENGINES: [EngineId; 2] = [EngineId(0), EngineId(1)];
pub(crate) const COUNTER: &[u8] = b"counter";
pub(crate) const BINLOG: &str = "/data";
/// A transaction whose record reaches over several segments.
const LARGE: u64 = 8;

/// Returns when `holds` does, and fails where that takes longer than anything that is not broken.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        thread::yield_now();
    }
}

/// A server's disk and engines: what a power cut takes down together.
pub(crate) struct Machine {
    pub disk: SimDisk,
    pub first: Arc<MemoryEngine>,
    pub second: Second,
}

/// The second engine: one that is durable apart from the disk, or one whose writes are crashed as well.
#[derive(Clone)]
pub(crate) enum Second {
    Memory(Arc<MemoryEngine>),
    OnDisk,
}

impl Machine {
    pub(crate) fn new(seed: u64) -> Self {
        let second = Second::Memory(Arc::new(MemoryEngine::new()));
        Machine { disk: SimDisk::new(seed), first: Arc::new(MemoryEngine::new()), second }
    }

    /// A machine whose second engine is a tree on its disk.
    pub(crate) fn with_tree(seed: u64) -> Self {
        Machine { second: Second::OnDisk, ..Machine::new(seed) }
    }

    /// The machine when power is back.
    pub(crate) fn crash(&self) -> Machine {
        self.restarted(self.disk.crash())
    }

    /// The same machine once more, after its server was killed.
    pub(crate) fn copy(&self) -> Machine {
        self.restarted(self.disk.kill_copy())
    }

    /// The machine after a crash; after every other one it is crashed once more, on its way up.
    pub(crate) fn crash_again_and_again(&self, operation: u64) -> Machine {
        let machine = self.crash();
        if operation.is_multiple_of(2) {
            return machine;
        }
        machine.disk.set_fault(operation / 2 % 40, Fault::PowerCut);
        drop(machine.recover());
        machine.crash()
    }

    fn restarted(&self, disk: SimDisk) -> Machine {
        let second = match &self.second {
            Second::Memory(engine) => Second::Memory(Arc::new(engine.crash())),
            Second::OnDisk => Second::OnDisk,
        };
        Machine { disk, first: Arc::new(self.first.crash()), second }
    }

    pub(crate) fn options(durability: u32) -> StoreOptions {
        StoreOptions {
            journal_dir: "/data/journal".into(),
            journal: JournalOptions {
                segment_bytes: 4 * 4096,
                spare_segments: 1,
                keep_segments: 3,
                ..JournalOptions::default()
            },
            binlog: BinlogOptions { reserve_step_bytes: 8192, ..BinlogOptions::new(BINLOG) },
            binlog_cut_at: None,
            log_bin: true,
            tc_log: "/data/tc.log".into(),
            identity: ServerIdentity { server_id: 1, server_version: "8.0.40-test".to_owned() },
            gtid_mode: GtidMode::On,
            server_uuid: "11111111-2222-3333-4444-555555555555".parse().expect("a UUID"),
            settings: CommitSettings {
                durability: DurabilitySettings {
                    sync_binlog: AtomicU32::new(durability),
                    flush_log_at_trx_commit: AtomicU32::new(durability),
                },
                ..CommitSettings::durable(700)
            },
            checkpoint_bytes: 1 << 20,
        }
    }

    pub(crate) fn engines(&self) -> Result<Vec<Arc<dyn Engine>>, OpenError> {
        let second: Arc<dyn Engine> = match &self.second {
            Second::Memory(engine) => engine.clone(),
            Second::OnDisk => {
                let fs = Arc::new(self.disk.clone());
                Arc::new(Redb::open(fs, Path::new("/data/redb"), &RedbOptions::default())?)
            }
        };
        Ok(vec![self.first.clone(), second])
    }

    pub(crate) fn recover(&self) -> Result<(Arc<Store>, RecoveryReport), Box<dyn std::error::Error>> {
        self.recover_with(Machine::options(1))
    }

    pub(crate) fn recover_with(
        &self,
        options: StoreOptions,
    ) -> Result<(Arc<Store>, RecoveryReport), Box<dyn std::error::Error>> {
        let (disk, clock) = (Arc::new(self.disk.clone()), Arc::new(SimClock::new(1_700_000_000_000_000)));
        let engines = Engines::Journaled(self.engines()?);
        let recovered = Recovered::from_logs(options, CommitProtocol::Journal, disk, clock, engines, &mut |_| ())?;
        let mut report = RecoveryReport::default();
        let store = recovered.start_stepped(&mut |event| {
            if let StartupEvent::Report(StartReport::Journal(found)) = event {
                report = found;
            }
        })?;
        Ok((store, report))
    }

    pub(crate) fn open(&self) -> Arc<Store> {
        self.open_with(Machine::options(1))
    }

    pub(crate) fn open_with(&self, options: StoreOptions) -> Arc<Store> {
        let (store, _) = self.recover_with(options).expect("a disk without faults");
        store.start_threads();
        store
    }
}

pub(crate) fn table() -> TableMap {
    let id = ColumnMeta {
        field: FieldType::LongLong,
        meta: Vec::new(),
        nullable: false,
        unsigned: false,
        charset: 63,
        name: "id".to_owned(),
        members: Vec::new(),
    };
    TableMap::new(7, "bank", "transfers", &[id], &[])
}

pub(crate) fn key(id: u64) -> Vec<u8> {
    [b"transfer", &id.to_be_bytes()[..]].concat()
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// One transaction: a row in both engines, an event with its id, and one more in the counter.
pub(crate) fn transfer(store: &Arc<Store>, id: u64) -> Result<Committed, CommitError> {
    store.commit_and_wait(write_transfer(store, id))
}

/// One transaction that is in the binlog alone.
pub(crate) fn log_only(store: &Arc<Store>, id: u64) -> Result<Committed, CommitError> {
    let mut transaction = store.begin();
    transaction.events().write_row(&table(), &[&[0u8][..], &(id as i64).to_le_bytes()].concat());
    transaction.events().end_statement();
    store.commit_and_wait(transaction)
}

/// One transaction that waits for no other's locks: a row and an event with its id.
pub(crate) fn insert(store: &Arc<Store>, id: u64) -> Result<Committed, CommitError> {
    insert_into(store, ENGINES[0], id)
}

/// The same in an engine of the caller's choice.
pub(crate) fn insert_into(store: &Arc<Store>, engine: EngineId, id: u64) -> Result<Committed, CommitError> {
    let mut transaction = store.begin();
    transaction.put(engine, &key(id), b"alone");
    transaction.events().write_row(&table(), &[&[0u8][..], &(id as i64).to_le_bytes()].concat());
    transaction.events().end_statement();
    store.commit_and_wait(transaction)
}

pub(crate) fn write_transfer(store: &Arc<Store>, id: u64) -> Transaction {
    let mut transaction = store.begin();
    transaction.lock(ENGINES[0], COUNTER, LockMode::Exclusive).expect("a lock that everyone gives back");
    let mut value = Vec::new();
    let there = transaction.get(ENGINES[0], Read::Current, COUNTER, &mut value).expect("memory can be read");
    let count = if there { number(&value) } else { 0 };
    transaction.put(ENGINES[0], COUNTER, &(count + 1).to_le_bytes());
    let payload = vec![id as u8; if id == LARGE { 40_000 } else { 10 }];
    for engine in ENGINES {
        transaction.put(engine, &key(id), &payload);
    }
    let image = [&[0u8][..], &(id as i64).to_le_bytes()].concat();
    transaction.events().write_row(&table(), &image);
    transaction.events().end_statement();
    transaction
}

/// Everything a recovered machine says about which transfers there are, from each side.
#[derive(Debug)]
pub(crate) struct Found {
    pub rows: [Vec<u64>; 2],
    pub counter: u64,
    pub binlog: Vec<u64>,
    /// The number of each GTID in the binlog, where a transaction has one.
    numbers: Vec<Option<u64>>,
    gtids: String,
    log_bin: bool,
}

pub(crate) fn found(disk: &SimDisk, store: &Store) -> Found {
    let published = store.published();
    let mut rows = [Vec::new(), Vec::new()];
    for (engine, rows) in ENGINES.iter().zip(&mut rows) {
        let range = KeyRange { lower: key(0), upper: key(u64::MAX) };
        let mut cursor = published.engine(*engine).cursor(&range, Direction::Forward).expect("a cursor");
        while let Some(entry) = cursor.next().expect("an entry") {
            rows.push(u64::from_be_bytes(entry.key[8..].try_into().expect("a key")));
        }
    }
    let mut value = Vec::new();
    let there = published.engine(ENGINES[0]).get(COUNTER, &mut value).expect("a read");
    Found {
        rows,
        counter: if there { number(&value) } else { 0 },
        binlog: binlog_ids(disk, store),
        numbers: numbers_in_binlog(disk, store),
        gtids: store.executed().1.to_string(),
        log_bin: store.log_bin(),
    }
}

pub(crate) fn binlog_ids(disk: &SimDisk, store: &Store) -> Vec<u64> {
    let (mut ids, mut map) = (Vec::new(), None);
    each_event(disk, store, |event| match event {
        EventBody::TableMap(table) => map = Some(table),
        EventBody::Rows(rows) => {
            for row in rows.rows(map.as_ref().expect("a table map comes first")) {
                match row.expect("a row").after.as_deref() {
                    Some([Value::Int(id)]) => ids.push(*id as u64),
                    other => panic!("unexpected row {other:?}"),
                }
            }
        }
        _ => {}
    });
    ids
}

/// The number of each transaction's GTID, where it has one.
pub(crate) fn numbers_in_binlog(disk: &SimDisk, store: &Store) -> Vec<Option<u64>> {
    let mut numbers = Vec::new();
    each_event(disk, store, |event| {
        if let EventBody::Gtid(event) = event {
            numbers.push(event.gtid.map(|gtid| gtid.gno));
        }
    });
    numbers
}

fn each_event(disk: &SimDisk, store: &Store, mut take: impl FnMut(EventBody<'_>)) {
    for file in store.binlog().list() {
        let path = Path::new(BINLOG).join(&file.name);
        let mut reader = BinlogReader::open(disk, &path, ReaderOptions::default()).expect("a binlog file");
        while let Some(event) = reader.next_event().expect("a whole event") {
            take(event.decode().expect("a known event"));
        }
    }
}

/// The mode of a run that is crashed at this operation.
pub(crate) fn mode_of(operation: u64) -> GtidMode {
    if operation.is_multiple_of(3) { GtidMode::Off } else { GtidMode::On }
}

/// I1 to I3 and I5: what is there is a prefix of the order, the same prefix in both engines, the
/// counter, the binlog and the GTIDs, and it has everything acknowledged.
pub(crate) fn check(found: &Found, acknowledged: &[u64], context: &str) {
    let there = found.rows[0].len() as u64;
    let prefix: Vec<u64> = (1..=there).collect();
    assert_eq!(found.rows[0], prefix, "{context}: a hole in engine 0");
    assert_eq!(found.rows[1], prefix, "{context}: the engines differ");
    assert_eq!(found.counter, there, "{context}: a half transaction");
    let lost = acknowledged.iter().find(|id| **id > there);
    assert_eq!(lost, None, "{context}: acknowledged and lost");
    if !found.log_bin {
        return;
    }
    assert_eq!(found.binlog, prefix, "{context}: binlog and engines differ");
    let named = found.numbers.iter().flatten().count() as u64;
    let gtids = match named {
        0 => String::new(),
        1 => "11111111-2222-3333-4444-555555555555:1".to_owned(),
        _ => format!("11111111-2222-3333-4444-555555555555:1-{named}"),
    };
    assert_eq!(found.gtids, gtids, "{context}");
    assert!(found.numbers.iter().flatten().copied().eq(1..=named), "{context}: {:?}", found.numbers);
    assert_eq!(found.numbers.len() as u64, there, "{context}: transactions of the binlog");
}

/// The transfers in the binlog, where there is one, else in the first engine; lowest first.
pub(crate) fn committed(found: &Found) -> Vec<u64> {
    let mut ids = if found.log_bin { found.binlog.clone() } else { found.rows[0].clone() };
    ids.sort_unstable();
    ids
}

/// What snapshots show while sessions commit side by side is a prefix of the binlog, in each of them (I2, I5).
pub(crate) fn check_snapshots_are_prefixes(disk: &SimDisk, store: &Arc<Store>, context: &str) {
    const WRITERS: u64 = 6;
    const EACH: u64 = 20;
    let range = KeyRange { lower: key(0), upper: key(u64::MAX) };
    let done = std::sync::atomic::AtomicBool::new(false);
    let looks = AtomicU64::new(0);
    let seen = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = Vec::new();
            while !done.load(Ordering::SeqCst) {
                let mut reader = store.begin();
                let mut ids = std::collections::BTreeSet::new();
                for engine in ENGINES {
                    let mut scan = reader.scan(engine, Read::Snapshot, &range, Direction::Forward).expect("a scan");
                    while let Some(entry) = scan.next().expect("an entry") {
                        let id = entry.key.last_chunk().expect("keys end with a number");
                        ids.insert(u64::from_be_bytes(*id));
                    }
                }
                seen.push(ids);
                looks.fetch_add(1, Ordering::SeqCst);
            }
            seen
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let looks = &looks;
                scope.spawn(move || {
                    crate::lock_profile::perturb::this_thread(writer + 1);
                    for id in (writer * EACH..).take(EACH as usize) {
                        insert_into(store, ENGINES[(id % 2) as usize], id).expect("a commit");
                        if id % 2 == 0 {
                            // Else all is committed before the reader has had a processor.
                            let before = looks.load(Ordering::SeqCst);
                            until("a look", || looks.load(Ordering::SeqCst) > before);
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        done.store(true, Ordering::SeqCst);
        reader.join().expect("no panic")
    });
    let order = binlog_ids(disk, store);
    assert_eq!(order.len() as u64, WRITERS * EACH, "{context}");
    let mut states: Vec<usize> = seen.iter().map(|ids| ids.len()).collect();
    states.dedup();
    assert!(states.len() > 3, "{context}: {} states seen", states.len());
    for ids in seen {
        let prefix = order[..ids.len()].iter().copied().collect();
        assert_eq!(ids, prefix, "{context}: a snapshot is no prefix of {order:?}");
    }
}

/// Keeps the outcome of a commit.
#[derive(Clone, Default)]
pub(crate) struct Kept(pub Arc<Mutex<Option<Result<Committed, CommitError>>>>);

impl Reply for Kept {
    fn send(self: Box<Self>, outcome: Result<Committed, CommitError>) {
        *self.0.lock() = Some(outcome);
    }
}
