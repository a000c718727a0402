//! Transactions that are in files while they run.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use cohort_binlog::{Gtid, ServerUuid};
use cohort_engine::EngineId;
use cohort_engine::memory::MemoryEngine;

use super::*;
use crate::given_gtids::GtidClaim;
use crate::transaction::Transaction;
use crate::{GtidMode, SpillSettings};

const TRANSFERS: u64 = 9;

/// Everything that may go to files does.
fn options() -> StoreOptions {
    let mut options = Machine::options(1);
    options.settings.spill = SpillSettings { events_bytes: AtomicU64::new(0), writes_bytes: AtomicU64::new(0) };
    options
}

/// A transfer of which a part is in files, and a part that was taken back.
fn large_transfer(store: &Arc<Store>, id: u64) -> Result<Committed, CommitError> {
    let mut transaction = write_transfer(store, id);
    transaction.spill()?;
    let before = transaction.savepoint();
    for engine in ENGINES {
        transaction.put(engine, &key(id + 1000), &[7; 50]);
        transaction.delete(engine, &key(id));
    }
    transaction.events().write_row(&table(), &[&[0u8][..], &77_i64.to_le_bytes()].concat());
    transaction.spill()?;
    if id.is_multiple_of(2) {
        transaction.put(ENGINES[0], &key(id + 2000), b"more");
    }
    transaction.rollback_to(&before);
    for engine in ENGINES {
        transaction.put(engine, &key(id), b"the last one");
    }
    if id.is_multiple_of(3) {
        transaction.spill()?;
    }
    store.commit_and_wait(transaction)
}

/// Large transfers and others by turns, with checkpoints between; those that were acknowledged.
fn run_large(machine: &Machine, gtid_mode: GtidMode) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let options = StoreOptions { gtid_mode, ..options() };
    let Ok((store, _)) = machine.recover_with(options) else { return acknowledged };
    for id in 1..=TRANSFERS {
        let committed = if id % 4 == 0 { transfer(&store, id) } else { large_transfer(&store, id) };
        match committed {
            Ok(_) => acknowledged.push(id),
            Err(_) => break,
        }
        if id == 5 && checkpoint::take(store.path::<Coordinator>()).is_err() {
            break;
        }
        if id % 3 == 0 {
            checkpoint::prepare_ahead(store.path::<Coordinator>());
        }
    }
    acknowledged
}

fn large_files(disk: &cohort_io::SimDisk) -> Vec<String> {
    let mut names = disk.list(Path::new(BINLOG)).expect("a directory");
    names.retain(|name| name.contains("large"));
    names
}

#[test]
fn large_transactions_are_committed_in_files_of_their_own() {
    let machine = Machine::new(1);
    assert_eq!(run_large(&machine, GtidMode::On).len() as u64, TRANSFERS);
    let machine = machine.crash();
    let (store, report) = machine.recover_with(options()).expect("a recovery");
    let acknowledged: Vec<u64> = (1..=TRANSFERS).collect();
    check(&found(&machine.disk, &store), &acknowledged, "no fault");
    assert!(report.transactions_kept > 0, "the last checkpoint does not hold everything");
    assert_eq!(large_files(&machine.disk), Vec::<String>::new());
    // A clean stop needs none of the files.
    large_transfer(&store, TRANSFERS + 1).expect("a commit");
    assert!(!large_files(&machine.disk).is_empty());
    store.close().expect("a clean stop");
    assert_eq!(large_files(&machine.disk), Vec::<String>::new());
}

fn crash_at_every_operation(machine: fn(u64) -> Machine) {
    let mut seed = 0;
    for operation in 0.. {
        seed += 1;
        let machine = machine(seed);
        machine.disk.set_fault(operation, Fault::PowerCut);
        let acknowledged = run_large(&machine, mode_of(operation));
        let finished = machine.disk.operations() <= operation;
        let machine = machine.crash_again_and_again(operation);
        let context = format!("crash at operation {operation}");
        let (store, _) = machine.recover_with(options()).unwrap_or_else(|error| panic!("{context}: {error}"));
        let there = found(&machine.disk, &store);
        check(&there, &acknowledged, &context);
        assert_eq!(large_files(&machine.disk), Vec::<String>::new(), "{context}");
        let next = there.counter + 1;
        large_transfer(&store, next).unwrap_or_else(|error| panic!("{context}: the server does not go on: {error}"));
        check(&found(&machine.disk, &store), &[next], &context);
        if finished {
            assert_eq!(acknowledged.len() as u64, TRANSFERS);
            return;
        }
    }
}

#[test]
fn a_crash_at_any_operation_of_large_transactions_loses_nothing_acknowledged() {
    crash_at_every_operation(Machine::new);
}

/// A machine whose first engine keeps parts of large transactions.
fn staging(seed: u64) -> Machine {
    Machine { first: Arc::new(MemoryEngine::staging()), ..Machine::new(seed) }
}

#[test]
fn a_crash_at_any_operation_of_staged_transactions_loses_nothing_acknowledged() {
    crash_at_every_operation(staging);
}

#[test]
fn what_engines_keep_of_large_transactions_goes_when_it_is_not_needed() {
    let machine = staging(1);
    let store = machine.recover_with(options()).expect("a new store").0;
    let mut transaction = write_transfer(&store, 1);
    transaction.spill().expect("room");
    assert_eq!(machine.first.staged_parts(), 1);
    drop(transaction);
    assert_eq!(machine.first.staged_parts(), 0);
    for id in 1..=3 {
        large_transfer(&store, id).expect("a commit");
    }
    assert!(machine.first.staged_parts() > 0, "recovery may need them");
    checkpoint::take(store.path::<Coordinator>()).expect("a checkpoint");
    assert_eq!(machine.first.staged_parts(), 0);
    large_transfer(&store, 4).expect("a commit");
    let machine = machine.crash();
    let store = machine.recover_with(options()).expect("a recovery").0;
    check(&found(&machine.disk, &store), &[1, 2, 3, 4], "staged");
    assert_eq!(machine.first.staged_parts(), 0);
}

#[test]
fn a_crash_at_any_operation_of_large_transactions_in_a_tree_loses_nothing_acknowledged() {
    crash_at_every_operation(Machine::with_tree);
}

#[test]
fn an_error_at_any_operation_of_large_transactions_loses_nothing_acknowledged() {
    for fault in [Fault::Error, Fault::NoSpace, Fault::ShortWrite] {
        for operation in 0.. {
            let machine = Machine::new(operation + 1);
            machine.disk.set_fault(operation, fault);
            let acknowledged = run_large(&machine, GtidMode::On);
            let finished = machine.disk.operations() <= operation;
            let machine = machine.crash();
            let context = format!("{fault:?} at operation {operation}");
            let (store, _) = machine.recover_with(options()).unwrap_or_else(|error| panic!("{context}: {error}"));
            check(&found(&machine.disk, &store), &acknowledged, &context);
            if finished {
                break;
            }
        }
    }
}

/// I8: what is refused for want of room leaves nothing, and the server goes on.
#[test]
fn a_full_disk_fails_the_large_transaction_and_nothing_else() {
    let machine = Machine::new(9);
    let store = machine.recover_with(options()).expect("a new store").0;
    large_transfer(&store, 1).expect("a commit");
    checkpoint::take(store.path::<Coordinator>()).expect("a checkpoint");
    checkpoint::prepare_ahead(store.path::<Coordinator>());
    let mut refused = 0;
    for more in (0..900_000).step_by(11_000) {
        machine.disk.set_capacity(machine.disk.used_bytes() + more);
        match large_transfer(&store, 2) {
            Ok(_) => break,
            Err(CommitError::NoSpace(_)) => refused += 1,
            Err(error) => panic!("with {more} bytes left: {error}"),
        }
        machine.disk.set_capacity(u64::MAX);
    }
    assert!(refused > 2, "refused {refused} times");
    machine.disk.set_capacity(u64::MAX);
    transfer(&store, 3).expect("a commit");
    let machine = machine.crash();
    let store = machine.recover_with(options()).expect("a recovery").0;
    check(&found(&machine.disk, &store), &[1, 2, 3], "a full disk");
}

/// What a transaction reads of its own writes is the same wherever they are.
#[test]
fn own_writes_are_read_back_from_files() {
    let mut random = 17_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let machine = Machine::new(3);
    let store = machine.recover_with(options()).expect("a new store").0;
    let mut base = store.begin();
    (0..40).for_each(|id| base.put(ENGINES[0], &key(id), &[1]));
    store.commit_and_wait(base).expect("a commit");

    let mut large = store.begin();
    let mut model: std::collections::BTreeMap<u64, Vec<u8>> = (0..40).map(|id| (id, vec![1])).collect();
    let mut savepoints = vec![(large.savepoint(), model.clone())];
    for step in 0..2000_u64 {
        let id = next(60);
        match next(10) {
            0 => {
                large.delete(ENGINES[0], &key(id));
                model.remove(&id);
            }
            1 if step > 100 => large.spill().expect("room"),
            2 => savepoints.push((large.savepoint(), model.clone())),
            3 if next(3) == 0 => {
                let at = next(savepoints.len() as u64) as usize;
                savepoints.truncate(at + 1);
                large.rollback_to(&savepoints[at].0);
                model.clone_from(&savepoints[at].1);
            }
            _ => {
                let value = step.to_le_bytes().repeat(1 + next(40) as usize);
                large.put(ENGINES[0], &key(id), &value);
                model.insert(id, value);
            }
        }
        if step % 7 == 0 {
            let mut value = Vec::new();
            let there = large.get(ENGINES[0], Read::Current, &key(id), &mut value).expect("a read");
            assert_eq!(there.then_some(value), model.get(&id).cloned(), "step {step}, key {id}");
        }
        if step % 50 == 0 {
            let (low, high) = (next(60), next(60));
            for direction in [Direction::Forward, Direction::Reverse] {
                let mut expected: Vec<_> = model.iter().filter(|(id, _)| (low..high).contains(*id)).collect();
                if direction == Direction::Reverse {
                    expected.reverse();
                }
                let found = scan(&mut large, ENGINES[0], low, high, direction);
                assert!(found.iter().map(|(id, value)| (id, value)).eq(expected), "step {step}");
            }
        }
    }
    store.commit_and_wait(large).expect("a commit");
    let machine = machine.crash();
    let store = machine.recover_with(options()).expect("a recovery").0;
    let found = scan(&mut store.begin(), ENGINES[0], 0, 100, Direction::Forward);
    assert_eq!(found, model.into_iter().collect::<Vec<_>>());
}

fn scan(
    transaction: &mut Transaction,
    engine: EngineId,
    low: u64,
    high: u64,
    direction: Direction,
) -> Vec<(u64, Vec<u8>)> {
    let range = KeyRange { lower: key(low), upper: key(high) };
    let mut scan = transaction.scan(engine, Read::Current, &range, direction).expect("a scan");
    let mut found = Vec::new();
    while let Some(entry) = scan.next().expect("an entry") {
        found.push((u64::from_be_bytes(*entry.key.last_chunk().expect("a number")), entry.value.to_vec()));
    }
    found
}

/// A transaction that was rolled back, or dropped, leaves no files.
#[test]
fn what_is_given_up_leaves_no_files() {
    let machine = Machine::new(4);
    let store = machine.recover_with(options()).expect("a new store").0;
    let mut transaction = write_transfer(&store, 1);
    transaction.spill().expect("room");
    assert!(!large_files(&machine.disk).is_empty());
    drop(transaction);
    assert_eq!(large_files(&machine.disk), Vec::<String>::new());
    // All of it taken back, nothing is committed, in no file.
    let before = store.executed();
    let mut transaction = store.begin();
    let begin = transaction.savepoint();
    transaction.put(ENGINES[0], &key(5), b"x");
    transaction.events().write_row(&table(), &[&[0u8][..], &5_i64.to_le_bytes()].concat());
    transaction.spill().expect("room");
    transaction.rollback_to(&begin);
    assert!(!transaction.has_writes());
    store.commit_and_wait(transaction).expect("nothing to do");
    assert_eq!(store.executed(), before);
    assert_eq!(large_files(&machine.disk), Vec::<String>::new());
}

/// Others who want its rows get them when it can be seen.
#[test]
fn locks_of_a_large_transaction_are_held_until_it_is_seen() {
    let machine = Machine::new(6);
    let store = machine.recover_with(options()).expect("a new store").0;
    store.hold_commits(true);
    let mut transaction = store.begin();
    transaction.lock(ENGINES[0], &key(1), LockMode::Exclusive).expect("nobody has it");
    transaction.put(ENGINES[0], &key(1), b"large");
    transaction.spill().expect("room");
    let kept = Kept::default();
    store.commit(transaction, Box::new(kept.clone()));
    let mut other = store.begin();
    assert!(other.try_lock(ENGINES[0], &key(1), LockMode::Exclusive).is_none());
    let cohort = store.take_cohort().expect("one waits").write();
    assert!(other.try_lock(ENGINES[0], &key(1), LockMode::Exclusive).is_none());
    cohort.finish();
    assert!(kept.0.lock().take().expect("an outcome").is_ok());
    assert!(other.try_lock(ENGINES[0], &key(1), LockMode::Exclusive).is_some());
    let mut value = Vec::new();
    assert!(other.get(ENGINES[0], Read::Current, &key(1), &mut value).expect("a read"));
    assert_eq!(value, b"large");
}

/// Each is a cohort of its own, in the order of the queue.
#[test]
fn a_large_transaction_shares_its_record_with_none() {
    let machine = Machine::new(7);
    let store = machine.recover_with(options()).expect("a new store").0;
    store.hold_commits(true);
    let outcomes: Vec<Kept> = (1..=5).map(|_| Kept::default()).collect();
    for (id, kept) in (1..).zip(&outcomes) {
        let mut transaction = store.begin();
        for engine in ENGINES {
            transaction.put(engine, &key(id), b"row");
        }
        transaction.events().write_row(&table(), &[&[0u8][..], &(id as i64).to_le_bytes()].concat());
        transaction.events().end_statement();
        if id == 2 || id == 3 {
            transaction.spill().expect("room");
        }
        store.commit(transaction, Box::new(kept.clone()));
    }
    let mut cohorts = Vec::new();
    while let Some(cohort) = store.take_cohort() {
        cohorts.push(cohort.members());
        cohort.write().finish();
    }
    assert_eq!(cohorts, [1, 1, 1, 2]);
    assert!(outcomes.iter().all(|kept| matches!(*kept.0.lock(), Some(Ok(_)))));
    assert_eq!(binlog_ids(&machine.disk, &store), [1, 2, 3, 4, 5]);
}

/// What ALTER TABLE has to look at again has the keys of a large transaction too.
#[test]
fn captures_note_the_keys_of_large_transactions() {
    let machine = Machine::new(8);
    let store = machine.recover_with(options()).expect("a new store").0;
    let capture = store.capture_changes(ENGINES[0], KeyRange { lower: key(10), upper: key(20) });
    let mut transaction = store.begin();
    (0..15).for_each(|id| transaction.put(ENGINES[0], &key(id), b"x"));
    transaction.spill().expect("room");
    let before = transaction.savepoint();
    transaction.put(ENGINES[0], &key(17), b"taken back");
    transaction.spill().expect("room");
    transaction.rollback_to(&before);
    transaction.put(ENGINES[0], &key(18), b"the last");
    transaction.put(ENGINES[1], &key(19), b"in another engine");
    store.commit_and_wait(transaction).expect("a commit");
    let (keys, ()) = capture.until(|| ()).expect("few keys");
    let ids: Vec<u64> = keys.iter().map(|key| u64::from_be_bytes(*key.last_chunk().expect("a number"))).collect();
    assert_eq!(ids, [10, 11, 12, 13, 14, 18]);
    store.settings().capture_bytes_max.store(100, Ordering::Relaxed);
    let mut transaction = store.begin();
    (10..20).for_each(|id| transaction.put(ENGINES[0], &key(id), b"x"));
    transaction.spill().expect("room");
    store.commit_and_wait(transaction).expect("a commit");
    assert!(capture.has_overflowed());
}

/// GTIDs that an operator adds lengthen the header of a file until its place in the order is fixed.
#[test]
fn a_header_that_outgrew_its_room_refuses_the_transaction_and_nothing_else() {
    let machine = Machine::new(10);
    let store = machine.recover_with(options()).expect("a new store").0;
    let coordinator = store.path::<Coordinator>();
    let mut transaction = write_transfer(&store, 1);
    transaction.spill().expect("room");
    let admitted = coordinator.admit_large(&mut transaction).expect("room").expect("something to commit");
    let added: Vec<String> = (0..1000).map(|server| format!("{server:08x}-1111-1111-1111-111111111111:1-7")).collect();
    store.add_purged_gtids(&added.join(",").parse().expect("a set")).expect("they are nobody's");
    let kept = Kept::default();
    coordinator.run(admitted, Box::new(kept.clone()), || ());
    let outcome = kept.0.lock().take();
    assert!(matches!(outcome, Some(Err(CommitError::Spill(_)))), "{outcome:?}");
    drop(transaction);
    assert_eq!(large_files(&machine.disk), Vec::<String>::new());
    large_transfer(&store, 1).expect("its file has the room");
    assert_eq!(binlog_ids(&machine.disk, &store), [1]);
}

/// Its outcome goes out when its locks are released.
struct Late(Arc<AtomicBool>);

impl Reply for Late {
    fn send(self: Box<Self>, outcome: Result<Committed, CommitError>) {
        thread::sleep(Duration::from_millis(100));
        self.0.store(outcome.is_ok(), Ordering::SeqCst);
    }
}

/// Whoever stops the server waits for outcomes that another thread is to send.
#[test]
fn a_stop_waits_until_the_outcome_of_a_large_transaction_has_gone_out() {
    let store = Machine::new(11).recover_with(options()).expect("a new store").0;
    let mut transaction = write_transfer(&store, 1);
    for id in 0.. {
        transaction.lock(ENGINES[0], &key(id), LockMode::Exclusive).expect("nobody has it");
        if id % 1000 == 0 && transaction.memory_bytes() > 4 << 20 {
            break;
        }
    }
    transaction.spill().expect("room");
    let gone_out = Arc::<AtomicBool>::default();
    store.commit(transaction, Box::new(Late(gone_out.clone())));
    store.drain();
    assert!(gone_out.load(Ordering::SeqCst));
}

/// A transaction that logs nothing and has a GTID is in the binlog all the same.
#[test]
fn a_chosen_gtid_is_executed_by_a_large_transaction_without_events() {
    for machine in [Machine::new(12), staging(12)] {
        let store = machine.recover_with(options()).expect("a new store").0;
        let gtid = Gtid { uuid: ServerUuid::from_bytes([0xee; 16]), gno: 7 };
        let GtidClaim::Owned(owned) = store.claim_gtid(gtid, 1, &|| false) else { panic!("it is nobody's") };
        let mut transaction = store.begin();
        transaction.set_gtid(owned);
        transaction.put(ENGINES[0], &key(5), b"not logged");
        transaction.spill().expect("room");
        let committed = store.commit_and_wait(transaction).expect("a commit");
        assert_eq!(committed.gtid, Some(gtid));
        transfer(&store, 1).expect("a commit");
        let machine = machine.crash();
        let store = machine.recover_with(options()).expect("a recovery").0;
        assert!(store.executed().1.contains(gtid));
        let mut value = Vec::new();
        assert!(store.begin().get(ENGINES[0], Read::Current, &key(5), &mut value).expect("a read"));
    }
}
