//! What an open transaction says of itself, and what a savepoint takes back.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::*;
use crate::tests::{ENGINES, Machine, key, table, until};
use crate::write_set::WriteSet;

const ROWS: EngineId = ENGINES[0];

fn put(transaction: &mut Transaction, id: u64, value: &[u8]) {
    transaction.put(ROWS, &key(id), value);
    log(transaction, id);
}

fn log(transaction: &mut Transaction, id: u64) {
    transaction.events().write_row(&table(), &[&[0u8][..], &(id as i64).to_le_bytes()].concat());
}

fn value(transaction: &mut Transaction, read: Read, id: u64) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    transaction.get(ROWS, read, &key(id), &mut value).unwrap().then_some(value)
}

fn redo_len(transaction: &Transaction) -> u64 {
    transaction.writes.engines().map(|(_, keys)| WriteSet::redo(keys).len() as u64).sum()
}

#[test]
fn a_savepoint_takes_back_changes_events_and_claims() {
    let machine = Machine::new(1);
    let store = machine.open();
    let mut transaction = store.begin();
    put(&mut transaction, 1, b"first");
    put(&mut transaction, 2, b"kept");
    let sizes = |transaction: &mut Transaction| {
        (transaction.memory_bytes(), transaction.writes.redo_bytes(), transaction.events().byte_len())
    };
    let before = sizes(&mut transaction);
    let claims = transaction.claims();
    let savepoint = transaction.savepoint();
    for value in [&b"a longer value"[..], b"", b"first"] {
        put(&mut transaction, 1, value);
    }
    transaction.delete(ROWS, &key(2));
    transaction.delete(ENGINES[1], &key(2));
    put(&mut transaction, 3, b"new");
    assert!(matches!(transaction.claim(ROWS, &key(4)), Claim::Granted { .. }));
    put(&mut transaction, 4, b"claimed");
    assert_eq!(transaction.claims(), claims + 1);
    transaction.rollback_to(&savepoint);
    assert_eq!(sizes(&mut transaction), before);
    assert_eq!(transaction.claims(), claims);
    assert!(matches!(store.begin().claim(ROWS, &key(4)), Claim::Granted { .. }));
    let rows = |transaction: &mut Transaction| [1, 2, 3, 4].map(|id| value(transaction, Read::Current, id));
    let expected = [Some(b"first".to_vec()), Some(b"kept".to_vec()), None, None];
    assert_eq!(rows(&mut transaction), expected);
    // A second time, from the same point.
    put(&mut transaction, 1, b"second");
    transaction.rollback_to(&savepoint);
    store.commit_and_wait(transaction).unwrap();
    assert_eq!(rows(&mut store.begin()), expected);
}

#[test]
fn the_redo_of_a_transaction_is_no_longer_than_it_says_and_hardly_shorter() {
    let store = Machine::new(1).open();
    let mut transaction = store.begin();
    let mut savepoint = None;
    for id in 1..=40 {
        transaction.put(ENGINES[(id % 2) as usize], &key(id % 7), &vec![b'x'; id as usize * 10]);
        if id % 3 == 0 {
            transaction.delete(ROWS, &key(id % 5));
        }
        match &savepoint {
            None if id % 4 == 1 => savepoint = Some(transaction.savepoint()),
            Some(point) if id % 4 == 3 => {
                transaction.rollback_to(point);
                savepoint = None;
            }
            _ => {}
        }
        let changes: usize = transaction.writes.engines().map(|(_, keys)| keys.len()).sum();
        let (said, is) = (transaction.writes.redo_bytes(), redo_len(&transaction));
        assert!((is..=is + 11 * changes as u64).contains(&said), "{said} said, {is} is, after {id}");
    }
}

#[test]
fn memory_counts_changes_events_and_locks() {
    let store = Machine::new(1).open();
    let mut transaction = store.begin();
    assert_eq!(transaction.memory_bytes(), 0);
    let mut last = 0;
    let mut grown = |transaction: &Transaction| {
        let before = std::mem::replace(&mut last, transaction.memory_bytes());
        last - before
    };
    transaction.put(ROWS, &key(1), &[b'x'; 10_000]);
    // Itself, its redo, and that in the engine.
    assert!((30_000..31_000).contains(&grown(&transaction)));
    // The version that was replaced is still there, for savepoints.
    transaction.put(ROWS, &key(1), &[b'y'; 10_000]);
    assert!((10_000..11_000).contains(&grown(&transaction)));
    transaction.delete(ROWS, &key(2));
    assert!((16..1000).contains(&grown(&transaction)));
    log(&mut transaction, 1);
    let events = transaction.events().byte_len();
    assert_eq!(grown(&transaction), 3 * events, "a buffer with room for more, and the log's record");
    let mut of_a_lock = 0;
    for id in 0..10 {
        transaction.lock(ROWS, &key(100 + id), LockMode::Shared).unwrap();
        of_a_lock = grown(&transaction);
        assert!((16..1000).contains(&of_a_lock));
    }
    // A claim is more than its lock.
    assert!(matches!(transaction.claim(ROWS, &key(200)), Claim::Granted { .. }));
    assert!((of_a_lock + 16..1000).contains(&grown(&transaction)));
    transaction.lock_absent(ROWS, &key(300));
    assert!((16..1000).contains(&grown(&transaction)));
}

#[test]
fn a_transaction_is_too_large_when_redo_and_events_together_are() {
    let store = Machine::new(1).open();
    store.settings().spill.writes_bytes.store(u64::MAX, Ordering::Relaxed);
    let mut transaction = store.begin();
    put(&mut transaction, 1, &[b'x'; 3000]);
    let whole = transaction.writes.redo_bytes() + transaction.events().byte_len();
    let is_too_large = |transaction: &Transaction, max: u64| {
        store.settings().transaction_bytes_max.store(max, Ordering::Relaxed);
        matches!(transaction.check_size(), Err(CommitError::TooLarge { .. }))
    };
    assert!(!is_too_large(&transaction, whole));
    assert!(is_too_large(&transaction, whole - 1));
    // Events that are not written take no room, nor does the frame of none.
    let redo = transaction.writes.redo_bytes();
    transaction.set_binlog(false);
    assert!(!is_too_large(&transaction, redo));
    assert!(is_too_large(&transaction, redo - 1));
    let mut bare = store.begin();
    assert!(!is_too_large(&bare, 0));
    bare.put(ROWS, &key(1), b"");
    let redo = bare.writes.redo_bytes();
    assert!(!is_too_large(&bare, redo));
}

#[test]
fn what_there_is_to_commit_and_to_log() {
    let store = Machine::new(1).open();
    let mut transaction = store.begin();
    assert!(transaction.is_logged() && !transaction.has_writes());
    transaction.delete(ROWS, &key(1));
    assert!(transaction.has_writes());
    let mut transaction = store.begin();
    log(&mut transaction, 1);
    assert!(transaction.has_writes());
    transaction.set_binlog(false);
    assert!(!transaction.is_logged());
    transaction.set_binlog(true);
    assert!(transaction.is_logged());
    let options = crate::StoreOptions { log_bin: false, ..Machine::options(1) };
    let store = Machine::new(2).open_with(options);
    let mut transaction = store.begin();
    transaction.set_binlog(true);
    assert!(!transaction.is_logged());
}

#[test]
fn the_last_key_is_that_of_what_is_there_and_own() {
    let store = Machine::new(1).open();
    let mut transaction = store.begin();
    for id in [3, 5, 8] {
        put(&mut transaction, id, b"row");
    }
    store.commit_and_wait(transaction).unwrap();
    let mut transaction = store.begin();
    let mut last = |change: &dyn Fn(&mut Transaction), upper: u64| {
        change(&mut transaction);
        transaction.last_key(ROWS, &KeyRange { lower: key(0), upper: key(upper) }).unwrap()
    };
    assert_eq!(last(&|_| (), 100), Some(key(8)));
    assert_eq!(last(&|_| (), 8), Some(key(5)));
    assert_eq!(last(&|_| (), 3), None);
    assert_eq!(last(&|own| own.delete(ROWS, &key(8)), 100), Some(key(5)));
    assert_eq!(last(&|own| own.put(ROWS, &key(9), b"own"), 100), Some(key(9)));
}

#[test]
fn a_snapshot_is_named_by_the_last_commit_that_it_has() {
    let store = Machine::new(1).open();
    let mut reader = store.begin();
    let mut orders = vec![reader.take_snapshot()];
    for id in 1..=3 {
        let mut writer = store.begin();
        put(&mut writer, id, b"row");
        store.commit_and_wait(writer).unwrap();
        orders.push(store.begin().take_snapshot());
        assert_eq!(reader.take_snapshot(), orders[0], "the snapshot stays");
        assert_eq!(value(&mut reader, Read::Snapshot, id), None);
    }
    assert!(orders.is_sorted_by(|earlier, later| earlier < later), "{orders:?}");
}

#[test]
fn a_lock_that_is_given_up_or_weakened_lets_others_in() {
    let store = Machine::new(1).open();
    let (mut one, mut other) = (store.begin(), store.begin());
    let granted = one.lock(ROWS, &key(1), LockMode::Exclusive).unwrap();
    for mode in [LockMode::Shared, LockMode::Exclusive] {
        assert!(other.would_wait(ROWS, &key(1), mode) && !one.would_wait(ROWS, &key(1), mode));
        assert!(!other.would_wait(ROWS, &key(2), mode) && !other.would_wait(ENGINES[1], &key(1), mode));
    }
    one.downgrade(ROWS, &key(1));
    assert!(!other.would_wait(ROWS, &key(1), LockMode::Shared));
    assert!(other.would_wait(ROWS, &key(1), LockMode::Exclusive));
    let upgraded = one.lock(ROWS, &key(1), LockMode::Exclusive).unwrap();
    assert!(other.would_wait(ROWS, &key(1), LockMode::Shared));
    let again = one.lock(ROWS, &key(1), LockMode::Exclusive).unwrap();
    one.give_back(ROWS, &key(1), again);
    assert!(other.would_wait(ROWS, &key(1), LockMode::Shared), "it was exclusive before");
    one.give_back(ROWS, &key(1), upgraded);
    assert!(!other.would_wait(ROWS, &key(1), LockMode::Shared));
    assert!(other.would_wait(ROWS, &key(1), LockMode::Exclusive), "it was shared before");
    one.give_back(ROWS, &key(1), granted);
    assert!(!other.would_wait(ROWS, &key(1), LockMode::Exclusive));
    assert!(
        other
            .try_lock(ROWS, &key(1), LockMode::Exclusive)
            .is_some_and(|granted| granted.before.is_none() && !granted.waited)
    );
}

#[test]
fn whoever_changes_a_table_waits_for_those_who_use_it() {
    let store = Machine::new(1).open();
    let (mut user, mut changer) = (store.begin(), store.begin());
    let [one, two] = [1, 2].map(MetadataName::Table);
    user.lock_metadata(&one, MetadataMode::SharedWrite, Duration::ZERO).unwrap();
    assert_eq!(changer.lock_metadata(&one, MetadataMode::Exclusive, Duration::ZERO), Err(LockError::Timeout));
    changer.lock_metadata(&two, MetadataMode::Exclusive, Duration::ZERO).unwrap();
    user.rollback();
    changer.lock_metadata(&one, MetadataMode::Exclusive, Duration::ZERO).unwrap();
}

#[test]
fn an_entry_of_a_range_that_another_has_locked_waits_for_it() {
    let store = Machine::new(1).open();
    let (mut reader, mut writer) = (store.begin(), store.begin());
    reader.lock_absent(ROWS, &key(5));
    writer.set_lock_wait(Duration::ZERO);
    writer.lock(ROWS, &key(1), LockMode::Exclusive).unwrap();
    assert_eq!(writer.await_ranges(ROWS, &key(5)), Err(LockError::Timeout));
    assert_eq!(writer.claim_entry(ROWS, &key(5), &key(1)), Err(LockError::Timeout));
    writer.claim_entry(ROWS, &key(6), &key(1)).unwrap();
    assert_eq!(writer.claims(), 1);
    writer.set_lock_wait(Duration::from_secs(30));
    thread::scope(|scope| {
        let before = store.shared.locks.stats()[0];
        let waiting = scope.spawn(move || writer.claim_entry(ROWS, &key(5), &key(1)).map(|()| writer.claims()));
        until("a wait", || waiting.is_finished() || store.shared.locks.stats()[0] > before);
        assert!(!waiting.is_finished(), "it did not wait");
        reader.rollback();
        assert_eq!(waiting.join().unwrap(), Ok(2));
    });
}

#[test]
fn claims_that_are_taken_back_are_free() {
    let store = Machine::new(1).open();
    let mut transaction = store.begin();
    for id in 1..=3 {
        assert!(matches!(transaction.claim(ROWS, &key(id)), Claim::Granted { .. }));
    }
    let free = |id| matches!(store.begin().claim(ROWS, &key(id)), Claim::Granted { .. });
    // The claim goes, its lock stays.
    transaction.disclaim();
    assert_eq!(transaction.claims(), 2);
    assert!(!free(3));
    transaction.take_back_claims(1);
    assert_eq!(transaction.claims(), 1);
    assert!(free(2) && !free(1));
}

#[test]
fn the_last_key_is_also_what_an_xa_transaction_prepared_will_put() {
    let store = Machine::new(1).open();
    let last = |upper| {
        store.begin().last_key(ROWS, &KeyRange { lower: key(0), upper: key(upper) }).expect("memory can be read")
    };
    let prepare = |name: &[u8], change: &dyn Fn(&mut Transaction)| {
        let name = cohort_binlog::XaId::new(name, b"", 1).expect("a short name");
        let active = store.start_xa(&name).expect("a free name");
        let mut transaction = store.begin();
        transaction.events().start_xa(name.clone());
        change(&mut transaction);
        store.prepare_xa(active, transaction).expect("a disk without faults");
        name
    };
    let first = prepare(b"first", &|rows| [3, 5].into_iter().for_each(|id| put(rows, id, b"row")));
    assert_eq!((last(100), last(5), last(3)), (Some(key(5)), Some(key(3)), None));
    store.decide_xa(&first, true, |_| ()).expect("it is prepared");
    let higher = prepare(b"higher", &|rows| put(rows, 7, b"row"));
    prepare(b"deletes", &|rows| rows.delete(ROWS, &key(5)));
    assert_eq!((last(100), last(7)), (Some(key(7)), Some(key(5))), "a delete is no key, and hides none yet");
    store.decide_xa(&higher, false, |_| ()).expect("it is prepared");
    assert_eq!(last(100), Some(key(5)));
}

#[test]
fn what_is_loaded_is_there_and_what_is_erased_is_not() {
    let store = Machine::new(1).open();
    let there = || [1, 2, 3].map(|id| value(&mut store.begin(), Read::Current, id).is_some());
    store.load(ROWS, &mut [1, 2, 3].map(|id| (key(id), b"row".to_vec())).into_iter()).expect("memory takes it");
    assert_eq!(there(), [true; 3]);
    store.erase(ROWS, &KeyRange { lower: key(2), upper: key(3) }).expect("memory takes it");
    assert_eq!(there(), [true, false, true]);
}

#[test]
fn a_lock_wait_is_bounded_by_its_timeout() {
    let store = Machine::new(10).open();
    let (mut holder, mut waiter) = (store.begin(), store.begin());
    holder.lock(ROWS, b"row", LockMode::Exclusive).expect("a free lock");
    waiter.set_lock_wait(Duration::from_millis(10));
    let waited = waiter.lock(ROWS, b"row", LockMode::Exclusive);
    assert_eq!(waited, Err(crate::LockError::Timeout));
    drop(holder);
    waiter.lock(ROWS, b"row", LockMode::Exclusive).expect("dropping a transaction frees its locks");
}
