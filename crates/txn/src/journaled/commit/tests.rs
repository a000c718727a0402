//! Commits and recoveries on the simulated disk: crashed and failed at every operation in turn.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use cohort_binlog::{
    BinlogOptions, BinlogReader, ColumnMeta, EventBody, FieldType, ReaderOptions, ServerIdentity, TableMap, Value,
};
use cohort_engine::memory::MemoryEngine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine::{Direction, EngineId, KeyRange, OpenError};
use cohort_io::{Fault, FileSystem, SimClock, SimDisk};
use cohort_journal::JournalOptions;
use parking_lot::Mutex;

use super::*;
use crate::commit_protocol::CommitProtocol;
use crate::journaled::recovery::RecoveryReport;
use crate::open::{Engines, Recovered, StartReport, StartupEvent};
use crate::options::StoreOptions;
use crate::rests_on::RestsOn;
use crate::store::Store;
use crate::transaction::Read;
use crate::{CommitSettings, DurabilitySettings, Isolation, LockMode};

pub(crate) const ENGINES: [EngineId; 2] = [EngineId(0), EngineId(1)];
const COUNTER: &[u8] = b"counter";
pub(crate) const BINLOG: &str = "/data";
/// A transaction whose record reaches over several segments.
const LARGE: u64 = 8;

/// A server's disk and engines: what a power cut takes down together.
pub(crate) struct Machine {
    disk: SimDisk,
    first: Arc<MemoryEngine>,
    second: Second,
}

/// The second engine: one that is durable apart from the disk, or one whose writes are crashed as well.
#[derive(Clone)]
enum Second {
    Memory(Arc<MemoryEngine>),
    OnDisk,
}

impl Machine {
    pub(crate) fn new(seed: u64) -> Self {
        let second = Second::Memory(Arc::new(MemoryEngine::new()));
        Machine { disk: SimDisk::new(seed), first: Arc::new(MemoryEngine::new()), second }
    }

    /// A machine whose second engine is a tree on its disk.
    fn with_tree(seed: u64) -> Self {
        Machine { second: Second::OnDisk, ..Machine::new(seed) }
    }

    pub(crate) fn disk(&self) -> &SimDisk {
        &self.disk
    }

    /// The machine when power is back.
    fn crash(&self) -> Machine {
        self.restarted(self.disk.crash())
    }

    /// The same machine once more, after its server was killed.
    pub(crate) fn copy(&self) -> Machine {
        self.restarted(self.disk.kill_copy())
    }

    /// The machine after a crash; after every other one it is crashed once more, on its way up.
    fn crash_again_and_again(&self, operation: u64) -> Machine {
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

    fn recover_with(&self, options: StoreOptions) -> Result<(Arc<Store>, RecoveryReport), Box<dyn std::error::Error>> {
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
    };
    TableMap::new(7, "bank", "transfers", &[id], &[])
}

pub(crate) fn key(id: u64) -> Vec<u8> {
    [b"transfer", &id.to_be_bytes()[..]].concat()
}

fn number(bytes: &[u8]) -> u64 {
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

fn write_transfer(store: &Arc<Store>, id: u64) -> Transaction {
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

/// Runs transfers one after the other, with checkpoints and rotations between; returns the ids that
/// were acknowledged.
fn run(machine: &Machine, first: u64, last: u64) -> Vec<u64> {
    run_with(machine, Machine::options(1), first, last)
}

fn run_with(machine: &Machine, options: StoreOptions, first: u64, last: u64) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let Ok((store, _)) = machine.recover_with(options) else { return acknowledged };
    for id in first..=last {
        match transfer(&store, id) {
            Ok(_) => acknowledged.push(id),
            // Rolled back, nothing ordered: the server goes on.
            Err(CommitError::NoSpace(_)) => break,
            Err(_) => break,
        }
        if id % 5 == 0 && checkpoint::take(store.path::<Coordinator>()).is_err() {
            break;
        }
        if id % 3 == 0 {
            checkpoint::prepare_ahead(store.path::<Coordinator>());
        }
    }
    acknowledged
}

/// Everything a recovered machine says about which transfers there are, from each side.
#[derive(Debug)]
pub(crate) struct Found {
    pub rows: [Vec<u64>; 2],
    pub counter: u64,
    pub binlog: Vec<u64>,
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
        gtids: store.executed().1.to_string(),
        log_bin: store.log_bin(),
    }
}

pub(crate) fn binlog_ids(disk: &SimDisk, store: &Store) -> Vec<u64> {
    let mut ids = Vec::new();
    for file in store.binlog().list() {
        let path = Path::new(BINLOG).join(&file.name);
        let mut reader = BinlogReader::open(disk, &path, ReaderOptions::default()).expect("a binlog file");
        let mut map = None;
        while let Some(event) = reader.next_event().expect("a whole event") {
            match event.decode().expect("a known event") {
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
            }
        }
    }
    ids
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
    let gtids = match there {
        0 => String::new(),
        1 => "11111111-2222-3333-4444-555555555555:1".to_owned(),
        _ => format!("11111111-2222-3333-4444-555555555555:1-{there}"),
    };
    assert_eq!(found.gtids, gtids, "{context}");
}

/// The transfers in the binlog, where there is one, else in the first engine; lowest first.
pub(crate) fn committed(found: &Found) -> Vec<u64> {
    let mut ids = if found.log_bin { found.binlog.clone() } else { found.rows[0].clone() };
    ids.sort_unstable();
    ids
}

const TRANSFERS: u64 = 17;

/// Sessions that come one by one share a write when the operator says that it waits for them.
#[test]
fn a_delay_holds_a_cohort_back_until_there_are_enough() {
    let machine = Machine::new(1);
    // Without log writers: one of them might have begun to lead before there was a delay.
    let (store, _) = machine.recover().expect("a new store");
    insert(&store, 1).expect("nobody to wait for");
    let delay = &store.settings().sync_delay;
    delay.max_us.store(3_600_000_000, Ordering::Relaxed);
    delay.enough.store(4, Ordering::Relaxed);
    let before = store.commit_stats().cohort_size.count();
    thread::scope(|scope| {
        for id in 2..=5 {
            let store = &store;
            scope.spawn(move || insert(store, id).expect("a commit"));
        }
    });
    assert_eq!(store.commit_stats().cohort_size.count() - before, 1);
    delay.max_us.store(0, Ordering::Relaxed);
    store.close().expect("a clean stop");
}

#[test]
fn a_run_without_faults_commits_everything() {
    let machine = Machine::new(1);
    let acknowledged = run(&machine, 1, TRANSFERS);
    assert_eq!(acknowledged.len() as u64, TRANSFERS);
    let machine = machine.crash();
    let (store, report) = machine.recover().expect("a recovery");
    check(&found(&machine.disk, &store), &acknowledged, "no fault");
    assert!(report.transactions_kept > 0, "the last checkpoint does not hold everything");
    assert!(store.binlog().list().len() > 3, "rotations happened");
}

#[test]
fn a_crash_at_any_operation_loses_nothing_acknowledged() {
    crash_at_every_operation(Machine::new);
}

#[test]
fn a_crash_at_any_operation_of_log_or_tree_loses_nothing_acknowledged() {
    crash_at_every_operation(Machine::with_tree);
}

/// Crashes at operation 0, 1, 2 … until a run ends without reaching it. Every other recovery is itself
/// crashed on the way, and must come to the same.
fn crash_at_every_operation(machine: fn(u64) -> Machine) {
    let mut seed = 0;
    for operation in 0.. {
        seed += 1;
        let machine = machine(seed);
        machine.disk.set_fault(operation, Fault::PowerCut);
        let acknowledged = run(&machine, 1, TRANSFERS);
        let finished = machine.disk.operations() <= operation;
        let machine = machine.crash_again_and_again(operation);
        let context = format!("crash at operation {operation}");
        let (store, _) = machine.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
        let there = found(&machine.disk, &store);
        check(&there, &acknowledged, &context);
        let next = there.counter + 1;
        transfer(&store, next).unwrap_or_else(|error| panic!("{context}: the server does not go on: {error}"));
        check(&found(&machine.disk, &store), &[next], &context);
        if finished {
            assert_eq!(acknowledged.len() as u64, TRANSFERS);
            assert!(operation > 60, "the sweep reached the log's writes");
            return;
        }
    }
}

#[test]
fn an_error_at_any_operation_loses_nothing_acknowledged() {
    fail_every_operation(Machine::new);
}

#[test]
fn an_error_at_any_operation_of_log_or_tree_loses_nothing_acknowledged() {
    fail_every_operation(Machine::with_tree);
}

/// I6 and I8: whatever fails, no acknowledged transaction is lost and none is half there; a full disk
/// fails the statement that needs room and nothing else.
fn fail_every_operation(machine: fn(u64) -> Machine) {
    for fault in [Fault::Error, Fault::NoSpace] {
        for operation in 0.. {
            let machine = machine(operation + 1);
            machine.disk.set_fault(operation, fault);
            let acknowledged = run(&machine, 1, TRANSFERS);
            let finished = machine.disk.operations() <= operation;
            let machine = machine.crash();
            let context = format!("{fault:?} at operation {operation}");
            let (store, _) = machine.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
            check(&found(&machine.disk, &store), &acknowledged, &context);
            if finished {
                break;
            }
        }
    }
}

/// Where records are only flushed, a checkpoint syncs them before it makes an engine durable. When that fails, no
/// engine may come to hold what a power cut takes from the journal.
#[test]
fn a_failed_sync_of_the_journal_holds_every_engine_back() {
    let mut held_back = 0;
    for operation in 0.. {
        for seed in 0..4 {
            let machine = Machine::with_tree(100 * operation + seed);
            let (store, _) = machine.recover_with(Machine::options(0)).expect("a new store");
            for id in 1..=3 {
                transfer(&store, id).expect("a commit");
            }
            let before = machine.disk.operations();
            machine.disk.set_fault(before + operation, Fault::Error);
            let taken = checkpoint::take(store.path::<Coordinator>());
            let finished = machine.disk.operations() <= before + operation;
            held_back += u32::from(matches!(taken, Err(checkpoint::CheckpointError::Engine(_))));
            let after = machine.crash();
            drop(store);
            let context = format!("error at operation {operation} of a checkpoint, seed {seed}");
            let (store, _) = after.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
            let kept: &[u64] = if taken.is_ok() { &[1, 2, 3] } else { &[] };
            check(&found(&after.disk, &store), kept, &context);
            if finished {
                assert!(taken.is_ok() && held_back > 0, "{context}: no engine met the failed sync");
                return;
            }
        }
    }
}

/// Whatever step of a commit fails once its order is fixed: the journal's write, or the binlog file after it.
#[test]
fn after_a_failed_write_nothing_is_acknowledged_until_restart() {
    let mut failed_steps = 0;
    for skipped in 0.. {
        let machine = Machine::new(3);
        let (store, _) = machine.recover().expect("a new store");
        transfer(&store, 1).expect("a commit");
        let fault_at = machine.disk.operations() + skipped;
        machine.disk.set_fault(fault_at, Fault::Error);
        let outcome = transfer(&store, 2);
        if machine.disk.operations() <= fault_at {
            break;
        }
        // The first operations may prepare a segment: then the transaction is refused, and nothing was ordered.
        if !matches!(outcome, Err(CommitError::Unknown(_))) {
            continue;
        }
        failed_steps += 1;
        assert!(matches!(transfer(&store, 3), Err(CommitError::Sealed(_))), "operation {skipped}");
        let mut reader = store.begin();
        let mut value = Vec::new();
        assert!(reader.get(ENGINES[0], Read::Snapshot, &key(1), &mut value).expect("reads go on"));
        assert!(!reader.get(ENGINES[0], Read::Current, &key(2), &mut value).expect("reads go on"));
    }
    assert!(failed_steps >= 2, "{failed_steps} steps failed");
}

/// What snapshots show while sessions commit side by side is a prefix of the binlog, in each of them (I2, I5).
pub(crate) fn check_snapshots_are_prefixes(disk: &SimDisk, store: &Arc<Store>, context: &str) {
    const WRITERS: u64 = 6;
    const EACH: u64 = 20;
    let range = KeyRange { lower: key(0), upper: key(u64::MAX) };
    let done = std::sync::atomic::AtomicBool::new(false);
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
            }
            seen
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    crate::lock_profile::perturb::this_thread(writer + 1);
                    for id in (writer * EACH..).take(EACH as usize) {
                        insert_into(store, ENGINES[(id % 2) as usize], id).expect("a commit");
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

#[test]
fn snapshots_are_prefixes_of_the_binlog() {
    let machine = Machine::new(12);
    let store = machine.open();
    check_snapshots_are_prefixes(&machine.disk, &store, "journal");
    let profile = store.lock_profile();
    let used = |lock| profile.iter().any(|line| line.lock == lock && line.cost.count > 0);
    assert!(["queue", "section", "finish"].into_iter().all(used), "{profile:?}");
}

#[test]
fn a_full_disk_fails_the_statement_and_not_the_server() {
    let machine = Machine::new(4);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("room for one");
    machine.disk.set_capacity(100_000);
    let mut id = 2;
    let error = loop {
        match transfer(&store, id) {
            Ok(_) => id += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CommitError::NoSpace(_)), "{error}");
    machine.disk.set_capacity(u64::MAX);
    transfer(&store, id).expect("room again");
    check(&found(&machine.disk, &store), &[id], "after the disk was full");
}

/// Many sessions at once with log writers and checkpoints; the power goes at some moment.
#[test]
fn concurrent_sessions_lose_nothing_acknowledged() {
    for round in 0..30 {
        let machine = if round % 2 == 0 { Machine::new(round) } else { Machine::with_tree(round) };
        let store = machine.open();
        machine.disk.set_fault(machine.disk.operations() + 20 + round * 3, Fault::PowerCut);
        let acknowledged = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..30 {
                        // The id is the counter's new value: it is only known under the lock.
                        let mut transaction = store.begin();
                        transaction.lock(ENGINES[0], COUNTER, LockMode::Exclusive).expect("a lock");
                        let mut value = Vec::new();
                        let there = transaction
                            .get(ENGINES[0], Read::Current, COUNTER, &mut value)
                            .expect("memory can be read");
                        let id = if there { number(&value) + 1 } else { 1 };
                        transaction.put(ENGINES[0], COUNTER, &id.to_le_bytes());
                        for engine in ENGINES {
                            transaction.put(engine, &key(id), b"row");
                        }
                        let image = [&[0u8][..], &(id as i64).to_le_bytes()].concat();
                        transaction.events().write_row(&table(), &image);
                        transaction.events().end_statement();
                        match store.commit_and_wait(transaction) {
                            Ok(_) => acknowledged.lock().push(id),
                            Err(_) => return,
                        }
                        store.want_checkpoint();
                    }
                });
            }
        });
        let machine = machine.crash();
        drop(store.close());
        let context = format!("round {round}");
        let (store, _) = machine.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
        check(&found(&machine.disk, &store), &acknowledged.into_inner(), &context);
    }
}

#[test]
fn a_clean_stop_leaves_nothing_to_replay() {
    let machine = Machine::new(5);
    let store = machine.open();
    for id in 1..=5 {
        transfer(&store, id).expect("a commit");
    }
    store.close().expect("a last checkpoint");
    assert!(matches!(transfer(&store, 6), Err(CommitError::ShuttingDown)));
    let machine = machine.crash();
    let (store, report) = machine.recover().expect("a recovery");
    assert!(report.is_clean(), "{report}");
    check(&found(&machine.disk, &store), &[1, 2, 3, 4, 5], "clean stop");
}

#[test]
fn a_snapshot_is_what_was_durable_when_it_was_taken() {
    let machine = Machine::new(6);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    let (mut repeatable, mut committed) = (store.begin(), store.begin());
    committed.set_isolation(Isolation::ReadCommitted);
    let mut value = Vec::new();
    let mut sees = |reader: &mut Transaction, id| {
        reader.start_statement();
        reader.get(ENGINES[1], Read::Snapshot, &key(id), &mut value).expect("a read")
    };
    assert!(sees(&mut repeatable, 1) && sees(&mut committed, 1));
    transfer(&store, 2).expect("a commit");
    assert!(!sees(&mut repeatable, 2), "REPEATABLE READ keeps its snapshot");
    assert!(sees(&mut committed, 2), "READ COMMITTED sees what is committed when the statement begins");
}

#[test]
fn locks_go_at_ordering_and_current_reads_see_the_ordered_version() {
    let machine = Machine::new(7);
    let (store, _) = machine.recover().expect("a new store");
    let first = write_transfer(&store, 1);
    let mut queue = store.path::<Coordinator>().queue.lock("test");
    // Another commit on the way: the next committer is a follower and returns before its record is written.
    queue.unfinished = 1;
    drop(queue);
    let outcome: Arc<Mutex<Option<Result<Committed, CommitError>>>> = Arc::default();
    struct Keep(Arc<Mutex<Option<Result<Committed, CommitError>>>>);
    impl Reply for Keep {
        fn send(self: Box<Self>, outcome: Result<Committed, CommitError>) {
            *self.0.lock() = Some(outcome);
        }
    }
    store.commit(first, Box::new(Keep(outcome.clone())));
    assert!(outcome.lock().is_none(), "not written, not acknowledged");

    let mut second = store.begin();
    second.lock(ENGINES[0], COUNTER, LockMode::Exclusive).expect("the lock is free");
    let mut value = Vec::new();
    assert!(second.get(ENGINES[0], Read::Current, COUNTER, &mut value).expect("a read"));
    assert_eq!(number(&value), 1, "the ordered version");
    assert!(!second.get(ENGINES[0], Read::Snapshot, COUNTER, &mut value).expect("a read"), "I4: not durable");
    let range = KeyRange { lower: key(0), upper: key(9) };
    let mut scan = second.scan(ENGINES[0], Read::Current, &range, Direction::Forward).expect("a scan");
    assert_eq!(scan.next().expect("an entry").map(|entry| entry.key.to_vec()), Some(key(1)));
    drop(second);

    store.path::<Coordinator>().queue.lock("test").writes_in_flight += 1;
    store.path::<Coordinator>().lead();
    assert!(matches!(*outcome.lock(), Some(Ok(_))), "written, applied, acknowledged");
}

/// Keeps the outcome of a commit.
#[derive(Clone, Default)]
pub(crate) struct Kept(pub Arc<Mutex<Option<Result<Committed, CommitError>>>>);

impl Reply for Kept {
    fn send(self: Box<Self>, outcome: Result<Committed, CommitError>) {
        *self.0.lock() = Some(outcome);
    }
}

/// Locks the counter, reads it and commits: what it saw may not be durable.
fn commit_reader(store: &Arc<Store>) -> (u64, Kept) {
    let mut reader = store.begin();
    reader.lock(ENGINES[0], COUNTER, LockMode::Shared).expect("the lock is free");
    let mut value = Vec::new();
    reader.get(ENGINES[0], Read::Current, COUNTER, &mut value).expect("a read");
    let kept = Kept::default();
    store.commit(reader, Box::new(kept.clone()));
    (number(&value), kept)
}

#[test]
fn a_transaction_that_only_read_receives_its_end_when_what_it_saw_is_durable() {
    let machine = Machine::new(13);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    let (seen, before) = commit_reader(&store);
    assert!(seen == 1 && matches!(*before.0.lock(), Some(Ok(_))), "nothing in flight");
    store.hold_commits(true);
    let writer = Kept::default();
    store.commit(write_transfer(&store, 2), Box::new(writer.clone()));
    let (seen, reader) = commit_reader(&store);
    assert!(seen == 2 && reader.0.lock().is_none(), "it saw what is not durable");
    let cohort = store.take_cohort().expect("the writer");
    let written = cohort.write();
    assert!(reader.0.lock().is_none(), "durable, and not known to be");
    written.finish();
    assert!(matches!(*reader.0.lock(), Some(Ok(_))) && matches!(*writer.0.lock(), Some(Ok(_))));

    store.commit(write_transfer(&store, 3), Box::new(Kept::default()));
    let (_, early) = commit_reader(&store);
    let mut late = store.begin();
    late.lock(ENGINES[0], COUNTER, LockMode::Shared).expect("the lock is free");
    late.get(ENGINES[0], Read::Current, COUNTER, &mut Vec::new()).expect("a read");
    let cohort = store.take_cohort().expect("the writer");
    machine.disk.set_fault(machine.disk.operations(), Fault::Error);
    cohort.write().finish();
    assert!(matches!(*early.0.lock(), Some(Err(CommitError::Unknown(_)))), "what it saw may be lost");
    let outcome = store.commit_and_wait(late);
    assert!(matches!(outcome, Err(CommitError::Unknown(_))), "{outcome:?}");
}

/// What an answer rests on that says what the counter is, from a transaction that is rolled back.
fn look_at_counter(store: &Arc<Store>) -> RestsOn {
    let mut reader = store.begin();
    reader.lock(ENGINES[0], COUNTER, LockMode::Shared).expect("the lock is free");
    reader.get(ENGINES[0], Read::Current, COUNTER, &mut Vec::new()).expect("a read");
    reader.rests_on().clone()
}

#[test]
fn what_a_transaction_saw_is_withheld_though_it_is_rolled_back() {
    let machine = Machine::new(14);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    assert!(store.is_durable(&look_at_counter(&store)), "nothing in flight");
    store.hold_commits(true);
    store.commit(write_transfer(&store, 2), Box::new(Kept::default()));
    let (seen, forgotten, answer) = (look_at_counter(&store), look_at_counter(&store), Kept::default());
    let unasked = look_at_counter(&store);
    assert!(!store.is_durable(&seen) && !store.is_durable(&forgotten) && !store.is_durable(&unasked));
    forgotten.forget();
    assert!(store.is_durable(&forgotten), "nothing is noted");
    store.when_durable(&seen, Box::new(answer.clone()));
    let written = store.take_cohort().expect("the writer").write();
    assert!(answer.0.lock().is_none(), "durable, and not known to be");
    written.finish();
    assert!(matches!(*answer.0.lock(), Some(Ok(_))));
    assert!(store.is_durable(&seen), "an answer waits once");
    assert!(store.is_durable(&unasked));

    let cohorts = [3, 4].map(|id| {
        store.commit(write_transfer(&store, id), Box::new(Kept::default()));
        let answer = Kept::default();
        store.when_durable(&look_at_counter(&store), Box::new(answer.clone()));
        (store.take_cohort().expect("the writer").write(), answer)
    });
    let [(first, of_first), (second, of_second)] = cohorts;
    first.finish();
    assert!(matches!(*of_first.0.lock(), Some(Ok(_))) && of_second.0.lock().is_none(), "another cohort");
    second.finish();
    assert!(matches!(*of_second.0.lock(), Some(Ok(_))));

    store.commit(write_transfer(&store, 5), Box::new(Kept::default()));
    let (early, late) = (look_at_counter(&store), look_at_counter(&store));
    store.when_durable(&early, Box::new(answer.clone()));
    let cohort = store.take_cohort().expect("the writer");
    machine.disk.set_fault(machine.disk.operations(), Fault::Error);
    cohort.write().finish();
    assert!(matches!(*answer.0.lock(), Some(Err(CommitError::Unknown(_)))), "what it saw may be lost");
    let outcome = store.wait_until_durable(&late);
    assert!(matches!(outcome, Err(CommitError::Unknown(_))), "{outcome:?}");
}

#[test]
fn members_of_a_cohort_depend_on_each_other_only_where_they_wrote_the_same_key() {
    let machine = Machine::new(8);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    store.path::<Coordinator>().queue.lock("test").unfinished = 1;
    struct Ignore;
    impl Reply for Ignore {
        fn send(self: Box<Self>, _: Result<Committed, CommitError>) {}
    }
    for key in [b"independent 1", b"independent 2", b"independent 1"] {
        let mut transaction = store.begin();
        transaction.put(ENGINES[0], key, b"value");
        transaction.events().write_row(&table(), &[0; 9]);
        transaction.events().end_statement();
        store.commit(transaction, Box::new(Ignore));
    }
    store.path::<Coordinator>().queue.lock("test").writes_in_flight += 1;
    store.path::<Coordinator>().lead();
    let file = store.binlog().list().last().expect("a file").name.clone();
    let path = Path::new(BINLOG).join(file);
    let mut reader = BinlogReader::open(&machine.disk, &path, ReaderOptions::default()).expect("a file");
    let mut clocks = Vec::new();
    while let Some(event) = reader.next_event().expect("an event") {
        if let EventBody::Gtid(gtid) = event.decode().expect("a known event") {
            clocks.push((gtid.last_committed, gtid.sequence_number));
        }
    }
    assert_eq!(clocks, [(0, 1), (1, 2), (1, 3), (2, 4)]);
}

#[test]
fn damage_in_the_middle_of_the_journal_stops_the_start() {
    let machine = Machine::new(9);
    run(&machine, 1, 4);
    let machine = machine.crash();
    let dir = Path::new("/data/journal");
    let names = machine.disk.list(dir).expect("a directory");
    let segment = names.iter().find(|name| name.starts_with("journal.")).expect("a segment");
    machine.disk.corrupt(&dir.join(segment), 4096 + 200, 0x40);
    let error = machine.recover().expect_err("damage is found").to_string();
    assert!(error.contains(segment.as_str()) && error.contains("byte"), "{error}");
}

/// A checkpoint knows how far each engine was: one that has lost what the journal no longer has stops the start.
#[test]
fn an_engine_older_than_the_checkpoint_stops_the_start() {
    for stopped_cleanly in [true, false] {
        let machine = Machine::with_tree(13);
        let acknowledged = run(&machine, 1, 4);
        let machine = machine.crash();
        let (store, _) = machine.recover().expect("a recovery, which takes a checkpoint");
        if stopped_cleanly {
            store.close().expect("a last checkpoint");
        }
        drop(store);
        let older = Machine { first: Arc::new(MemoryEngine::new()), ..machine.crash() };
        let error = older.recover().expect_err("the engine lost its changes").to_string();
        assert!(error.contains("holds changes up to lsn 0 only"), "{error}");
        let machine = Machine { first: Arc::new(machine.first.crash()), ..older.crash() };
        let (store, _) = machine.recover().expect("nothing was changed");
        check(&found(&machine.disk, &store), &acknowledged, "with the engine back");
    }
}

/// The file of the journal's last record and where it begins there.
fn last_record(machine: &Machine) -> (std::path::PathBuf, u64, u64) {
    let dir = Path::new("/data/journal");
    let options = Machine::options(1).journal;
    let (_, mut scan) = Journal::open(Arc::new(machine.disk.clone()), dir, options).expect("a journal");
    let mut last = None;
    while let Some(record) = scan.next().expect("a whole record") {
        last = Some(record.lsn().0);
    }
    let lsn = last.expect("a record");
    let data = 3 * 4096;
    (dir.join(format!("journal.{:06}", lsn / data + 1)), lsn % data + 4096, lsn)
}

#[test]
fn the_last_record_cannot_rot_unseen_because_the_binlog_has_its_events() {
    let machine = Machine::new(11);
    let acknowledged = run(&machine, 1, 4);
    let machine = machine.crash();
    let (segment, offset, lsn) = last_record(&machine);
    for at in [0, 8, 30, 45, 64, 68, 72, 300] {
        machine.disk.corrupt(&segment, offset + at, 0x10);
        let error = machine.copy().recover().expect_err("the damage is found").to_string();
        let place = format!("{} is damaged at byte {offset} (lsn {lsn})", segment.display());
        assert!(error.starts_with(&place), "byte {at}: {error}");
        assert!(error.contains(&format!("--journal-cut-at={lsn}")), "byte {at}: {error}");
        machine.disk.corrupt(&segment, offset + at, 0x10);
    }
    let (store, _) = machine.recover().expect("nothing was changed");
    check(&found(&machine.disk, &store), &acknowledged, "after the flips were taken back");
}

#[test]
fn the_operator_may_give_up_a_rotten_last_record() {
    let machine = Machine::new(12);
    let acknowledged = run(&machine, 1, 4);
    let machine = machine.crash();
    let (segment, offset, lsn) = last_record(&machine);
    machine.disk.corrupt(&segment, offset + 100, 1);
    let cut_at = |lsn| {
        let mut options = Machine::options(1);
        options.journal.cut_at = Some(cohort_journal::Lsn(lsn));
        options
    };
    assert!(machine.copy().recover_with(cut_at(lsn + 4096)).is_err(), "only the damaged place can be cut");
    let (store, report) = machine.recover_with(cut_at(lsn)).expect("the operator chose");
    assert!(report.cut_by_operator && report.binlog_bytes_cut > 0, "{report}");
    check(&found(&machine.disk, &store), &acknowledged[..3], "after the cut");
    transfer(&store, 4).expect("the store goes on");
    drop(store);
    let machine = machine.crash();
    let (store, _) = machine.recover().expect("the cut is final");
    check(&found(&machine.disk, &store), &[1, 2, 3, 4], "after the next crash");
}

/// Power cuts take what was only flushed, from the journal more than from the binlog at times. That is no
/// damage, whatever start it is found by. No checkpoint here: memory engines do not lose power with the disk.
#[test]
fn a_power_cut_under_weaker_durability_is_not_taken_for_damage() {
    for operation in 0.. {
        let machine = Machine::new(operation + 1);
        machine.disk.set_fault(operation, Fault::PowerCut);
        run_with(&machine, Machine::options(0), 1, 4);
        let finished = machine.disk.operations() <= operation;
        let machine = machine.crash_again_and_again(operation);
        let context = format!("crash at operation {operation}");
        let (store, _) = machine.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
        check(&found(&machine.disk, &store), &[], &context);
        if finished {
            return;
        }
    }
}

#[test]
fn sync_binlog_says_nothing_where_there_is_no_binlog() {
    for (log_bin, synced) in [(true, true), (false, false)] {
        let options = StoreOptions { log_bin, ..Machine::options(1) };
        options.settings.durability.flush_log_at_trx_commit.store(2, Ordering::Relaxed);
        let (store, _) = Machine::new(15).recover_with(options).expect("a new store");
        let journal = store.journal().expect("a journal");
        let before = journal.stats();
        insert(&store, 1).expect("a commit");
        let after = journal.stats();
        assert!(after.next_lsn > before.next_lsn, "it has a record");
        assert_eq!(after.durable_lsn == after.next_lsn, synced, "log_bin {log_bin}");
    }
}

#[test]
fn a_view_that_an_open_transaction_does_not_read_is_given_up() {
    let machine = Machine::new(16);
    let (store, _) = machine.recover().expect("a new store");
    transfer(&store, 1).expect("a commit");
    let finds = |transaction: &mut Transaction, engine: usize, id: u64| {
        transaction.get(ENGINES[engine], Read::Snapshot, &key(id), &mut Vec::new())
    };
    let open = || {
        let mut transaction = store.begin();
        assert!(finds(&mut transaction, 0, 1).expect("a read"));
        transaction
    };
    let (mut idle, mut early, mut backup) = (open(), open(), open());
    backup.pin_snapshot();
    [&mut idle, &mut early, &mut backup].into_iter().for_each(Transaction::stay_open);
    let view = Arc::downgrade(&store.published().views()[1]);
    store.shared.held_snapshots.give_up_unused(Duration::ZERO);
    assert!(early.pin_view(ENGINES[1]), "nothing has changed there");
    transfer(&store, 2).expect("a commit");
    assert!(!idle.pin_view(ENGINES[1]) && finds(&mut idle, 1, 1).is_err(), "what was there is gone");
    assert!(finds(&mut idle, 0, 1).expect("a read") && !finds(&mut idle, 0, 2).expect("a read"), "what it read stays");
    for whole in [&mut early, &mut backup] {
        assert!(whole.pin_view(ENGINES[1]));
        assert!(finds(whole, 1, 1).expect("a read") && !finds(whole, 1, 2).expect("a read"));
    }
    assert!(view.upgrade().is_some());
    drop((early, backup));
    assert!(view.upgrade().is_none(), "nobody pins it");
}

#[test]
fn a_sync_that_takes_long_does_not_hold_the_sync_up() {
    let machine = Machine::new(17);
    let (store, _) = machine.recover_with(Machine::options(0)).expect("a new store");
    store.start_threads();
    let closed = machine.first.gate().lock();
    let before = machine.first.gate_reached();
    store.want_checkpoint();
    let until = |what: &str, condition: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(60);
        while !condition() {
            assert!(Instant::now() < end, "{what}");
            thread::sleep(Duration::from_millis(5));
        }
    };
    until("no engine is synced", &|| machine.first.gate_reached() > before);
    insert(&store, 1).expect("a commit");
    let journal = store.journal().expect("a journal");
    until("nothing is synced", &|| journal.stats().durable_lsn == journal.stats().next_lsn);
    drop(closed);
    store.close().expect("a clean stop");
}

#[test]
fn a_checkpoint_is_taken_when_enough_is_written_or_somebody_wants_one() {
    for (checkpoint_bytes, wants) in [(4 * 4096, false), (1 << 40, true)] {
        let options = StoreOptions { checkpoint_bytes, ..Machine::options(1) };
        let (store, _) = Machine::new(19).recover_with(options).expect("a new store");
        let journal = store.journal().expect("a journal");
        let before = journal.stats().checkpoint_lsn;
        store.start_threads();
        if wants {
            store.want_checkpoint();
        }
        let end = Instant::now() + Duration::from_secs(60);
        for id in 1.. {
            insert(&store, id).expect("a commit");
            if journal.stats().checkpoint_lsn > before {
                break;
            }
            assert!(Instant::now() < end, "no checkpoint, wanted: {wants}");
            thread::sleep(Duration::from_millis(5));
        }
        let written = journal.stats().checkpoint_lsn - before;
        assert!(wants || written >= checkpoint_bytes, "a checkpoint after {written} bytes");
    }
}

#[test]
fn a_stop_waits_for_everyone_who_joined() {
    let (store, _) = Machine::new(20).recover().expect("a new store");
    store.hold_commits(true);
    let kept = Kept::default();
    store.commit(write_transfer(&store, 1), Box::new(kept.clone()));
    thread::scope(|scope| {
        let stop = scope.spawn(|| {
            store.drain();
            kept.0.lock().is_some()
        });
        while store.path::<Coordinator>().closed().is_none() {
            thread::yield_now();
        }
        // Time for a stop that does not wait.
        thread::sleep(Duration::from_millis(20));
        store.take_cohort().expect("it had joined").write().finish();
        assert!(stop.join().expect("no panic"), "the stop was over first");
    });
    assert!(matches!(*kept.0.lock(), Some(Ok(_))));
}

#[test]
fn an_engine_that_refuses_its_sync_holds_up_itself_and_not_the_disk() {
    let machine = Machine::new(18);
    let Second::Memory(second) = &machine.second else { panic!("an engine in memory") };
    let (store, _) =
        machine.recover_with(StoreOptions { checkpoint_bytes: 4096, ..Machine::options(1) }).expect("a new store");
    transfer(&store, 1).expect("a commit");
    (1000..1020).for_each(|id| assert!(insert(&store, id).is_ok()));
    store.take_checkpoint().expect("nobody refuses");
    transfer(&store, 2).expect("a commit");
    *machine.first.gate().lock() = true;
    let before = second.durable_position();
    store.take_checkpoint().expect_err("an engine refuses");
    assert!(second.durable_position() > before, "the other one is synced");
    assert!(store.checkpoint_refusal().is_some_and(|refusal| refusal.contains("the gate is closed")));
    let growth = || store.journal().map(|journal| journal.stats()).map(|now| now.next_lsn - now.checkpoint_lsn);
    let refused = (3..100).find_map(|id| {
        let too_far = growth() > Some(8 * 4096);
        let refused = insert(&store, id).err();
        assert_eq!(refused.is_some(), too_far, "{refused:?}");
        refused
    });
    let refusal = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(refusal.contains("bytes since the last checkpoint") && refusal.contains("the gate is closed"), "{refusal}");
    let stats = store.journal().expect("a journal").stats();
    assert!(stats.next_lsn - stats.checkpoint_lsn < 20 * 4096, "{stats:?}");
    *machine.first.gate().lock() = false;
    store.take_checkpoint().expect("nobody refuses");
    assert_eq!(store.checkpoint_refusal(), None);
    insert(&store, 200).expect("a commit");
}

#[test]
fn a_lock_wait_is_bounded_by_its_timeout() {
    let machine = Machine::new(10);
    let (store, _) = machine.recover().expect("a new store");
    let (mut holder, mut waiter) = (store.begin(), store.begin());
    holder.lock(ENGINES[0], b"row", LockMode::Exclusive).expect("a free lock");
    waiter.set_lock_wait(Duration::from_millis(10));
    let waited = waiter.lock(ENGINES[0], b"row", LockMode::Exclusive);
    assert_eq!(waited, Err(crate::LockError::Timeout));
    drop(holder);
    waiter.lock(ENGINES[0], b"row", LockMode::Exclusive).expect("dropping a transaction frees its locks");
}
