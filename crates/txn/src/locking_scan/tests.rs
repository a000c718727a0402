use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::*;
use crate::locks::Claim;
use crate::store::Store;
use crate::tests::{Machine, key, until};
use crate::transaction::Isolation;

const ROWS: EngineId = EngineId(0);

/// A store with rows 10, 20, 30, 40.
fn store() -> (Machine, Arc<Store>) {
    let machine = Machine::new(1);
    let store = machine.open();
    insert(&store, &[10, 20, 30, 40]);
    (machine, store)
}

fn begin(store: &Arc<Store>, isolation: Isolation) -> Transaction {
    let mut transaction = store.begin();
    transaction.set_binlog(false);
    transaction.set_isolation(isolation);
    transaction.set_lock_wait(Duration::from_secs(30));
    transaction
}

fn put(transaction: &mut Transaction, id: u64) -> Claim {
    let claim = transaction.claim(ROWS, &key(id));
    if matches!(claim, Claim::Granted { .. }) {
        transaction.put(ROWS, &key(id), b"row");
    }
    claim
}

fn insert(store: &Arc<Store>, ids: &[u64]) {
    let mut transaction = begin(store, Isolation::RepeatableRead);
    for id in ids {
        assert!(matches!(put(&mut transaction, *id), Claim::Granted { .. }), "{id}");
    }
    store.commit_and_wait(transaction).unwrap();
}

fn walk(direction: Direction, obstructed: Obstructed) -> LockingScan {
    let range = KeyRange { lower: key(5), upper: key(45) };
    LockingScan::new(ROWS, range, direction, LockMode::Exclusive, obstructed)
}

fn id(entry: Option<Entry<'_>>) -> Option<u64> {
    (10..50).find(|id| entry.as_ref().is_some_and(|entry| entry.key == key(*id)))
}

fn rest(scan: &mut LockingScan, transaction: &mut Transaction) -> Vec<u64> {
    std::iter::from_fn(|| id(scan.next(transaction).unwrap())).collect()
}

/// Runs `wait` in a thread of its own until it waits for a lock, then `meanwhile`.
fn while_waiting<T: Send>(store: &Arc<Store>, wait: impl FnOnce() -> T + Send, meanwhile: impl FnOnce()) -> T {
    let before = store.shared.locks.stats()[0];
    thread::scope(|scope| {
        let waiting = scope.spawn(wait);
        until("a wait", || waiting.is_finished() || store.shared.locks.stats()[0] > before);
        assert!(!waiting.is_finished(), "it did not wait");
        meanwhile();
        waiting.join().unwrap()
    })
}

#[test]
fn entries_come_in_order_from_either_end() {
    let (_machine, store) = store();
    let mut transaction = begin(&store, Isolation::RepeatableRead);
    assert_eq!(rest(&mut walk(Direction::Forward, Obstructed::Wait), &mut transaction), [10, 20, 30, 40]);
    assert_eq!(rest(&mut walk(Direction::Reverse, Obstructed::Wait), &mut transaction), [40, 30, 20, 10]);
}

#[test]
fn what_nobody_changed_is_not_read_again() {
    let (_machine, store) = store();
    let change = |transaction: &mut Transaction, id| {
        transaction.lock(ROWS, &key(id), LockMode::Exclusive).unwrap();
        transaction.put(ROWS, &key(id), b"new");
    };
    let mut transaction = begin(&store, Isolation::ReadCommitted);
    let mut scan = walk(Direction::Forward, Obstructed::Wait);
    let mut newest = |transaction: &mut Transaction, wanted| {
        assert_eq!(id(scan.next(transaction).unwrap()), Some(wanted));
        let granted = transaction.lock(ROWS, &key(wanted), LockMode::Exclusive).unwrap();
        (scan.is_newest(&granted, transaction).unwrap(), scan.value().to_vec())
    };
    assert_eq!(newest(&mut transaction, 10), (true, b"row".to_vec()));
    let mut other = begin(&store, Isolation::ReadCommitted);
    change(&mut other, 20);
    store.commit_and_wait(other).unwrap();
    change(&mut transaction, 30);
    assert_eq!(newest(&mut transaction, 20), (false, b"row".to_vec()), "another transaction has changed it");
    assert_eq!(newest(&mut transaction, 30), (false, b"row".to_vec()), "the transaction has changed it");
}

#[test]
fn what_was_walked_is_locked_against_inserts_and_nothing_more() {
    for (direction, walked, ahead) in [(Direction::Forward, 15, 35), (Direction::Reverse, 35, 15)] {
        let (_machine, store) = store();
        let mut transaction = begin(&store, Isolation::RepeatableRead);
        let mut scan = walk(direction, Obstructed::Wait);
        let first = [id(scan.next(&mut transaction).unwrap()), id(scan.next(&mut transaction).unwrap())];
        let mut other = begin(&store, Isolation::RepeatableRead);
        assert_eq!(put(&mut other, walked), Claim::Covered, "after {first:?}");
        assert!(matches!(put(&mut other, ahead), Claim::Granted { .. }));
        drop(scan);
        assert_eq!(put(&mut other, walked), Claim::Covered, "to the end of the transaction");
        drop(transaction);
        assert!(matches!(put(&mut other, walked), Claim::Granted { .. }));
    }
}

#[test]
fn read_committed_locks_no_ranges() {
    let (_machine, store) = store();
    let mut transaction = begin(&store, Isolation::ReadCommitted);
    assert_eq!(rest(&mut walk(Direction::Forward, Obstructed::Wait), &mut transaction), [10, 20, 30, 40]);
    insert(&store, &[15]);
}

#[test]
fn the_key_given_last_is_free_until_it_is_covered() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let (_machine, store) = store();
        let mut transaction = begin(&store, Isolation::RepeatableRead);
        let mut scan = walk(direction, Obstructed::Wait);
        let given = id(scan.next(&mut transaction).unwrap()).unwrap();
        let mut other = begin(&store, Isolation::RepeatableRead);
        assert!(matches!(put(&mut other, given), Claim::Granted { .. }), "who has its row's lock may put it again");
        drop(other);
        scan.cover(&mut transaction);
        assert_eq!(put(&mut begin(&store, Isolation::RepeatableRead), given), Claim::Covered);
        assert_eq!(rest(&mut scan, &mut transaction).len(), 3);
    }
}

#[test]
fn read_committed_does_not_wait_for_what_is_put_where_it_has_been() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let (_machine, store) = store();
        let mut transaction = begin(&store, Isolation::ReadCommitted);
        transaction.set_lock_wait(Duration::from_millis(20));
        let mut scan = walk(direction, Obstructed::Wait);
        let given = id(scan.next(&mut transaction).unwrap()).unwrap();
        let mut other = begin(&store, Isolation::RepeatableRead);
        assert!(matches!(put(&mut other, given), Claim::Granted { .. }));
        assert_eq!(rest(&mut scan, &mut transaction).len(), 3);
    }
}

#[test]
fn what_is_committed_ahead_of_the_walk_is_found() {
    for (direction, ahead, expected) in
        [(Direction::Forward, 25, [25, 30, 40].to_vec()), (Direction::Reverse, 25, [25, 20, 10].to_vec())]
    {
        let (_machine, store) = store();
        let mut transaction = begin(&store, Isolation::RepeatableRead);
        let mut scan = walk(direction, Obstructed::Wait);
        scan.next(&mut transaction).unwrap();
        scan.next(&mut transaction).unwrap();
        insert(&store, &[ahead]);
        assert_eq!(rest(&mut scan, &mut transaction), expected);
    }
}

/// After others' inserts the view is opened anew, and knows no more than what was locked by then: what lies further on is
/// locked as the walk comes there.
#[test]
fn what_comes_after_the_place_that_was_looked_at_again_is_locked_too() {
    for (direction, order, left_free) in
        [(Direction::Forward, [20, 30, 40], [27, 37]), (Direction::Reverse, [30, 20, 10], [23, 13])]
    {
        let (_machine, store) = store();
        let mut transaction = begin(&store, Isolation::RepeatableRead);
        let mut scan = walk(direction, Obstructed::Wait);
        scan.next(&mut transaction).unwrap();
        let mut taken_back = begin(&store, Isolation::RepeatableRead);
        assert!(matches!(put(&mut taken_back, 25), Claim::Granted { .. }));
        drop(taken_back);
        assert_eq!(id(scan.next(&mut transaction).unwrap()), Some(order[0]));
        for (next, between) in order[1..].iter().zip(left_free) {
            let mut other = begin(&store, Isolation::RepeatableRead);
            assert!(matches!(put(&mut other, between), Claim::Granted { .. }), "{between} is ahead");
            drop(other);
            assert_eq!(id(scan.next(&mut transaction).unwrap()), Some(*next));
            assert_eq!(put(&mut begin(&store, Isolation::RepeatableRead), between), Claim::Covered, "{next}");
        }
    }
}

/// The first insert of all in a key space is found as any other.
#[test]
fn the_first_insert_that_ends_ahead_of_a_walk_is_found() {
    let store = Machine::new(1).open();
    let mut loaded = begin(&store, Isolation::RepeatableRead);
    [10, 20].iter().for_each(|id| loaded.put(ROWS, &key(*id), b"not claimed"));
    store.commit_and_wait(loaded).unwrap();
    let mut transaction = begin(&store, Isolation::RepeatableRead);
    let mut scan = walk(Direction::Forward, Obstructed::Wait);
    assert_eq!(id(scan.next(&mut transaction).unwrap()), Some(10));
    insert(&store, &[15]);
    assert_eq!(rest(&mut scan, &mut transaction), [15, 20]);
}

/// A caller that has waited for a row's lock looks again from there on.
#[test]
fn a_walk_that_looks_again_finds_what_was_changed_ahead_of_it() {
    let (_machine, store) = store();
    let mut transaction = begin(&store, Isolation::ReadCommitted);
    let mut scan = walk(Direction::Forward, Obstructed::Wait);
    assert_eq!(id(scan.next(&mut transaction).unwrap()), Some(10));
    let mut other = begin(&store, Isolation::ReadCommitted);
    other.lock(ROWS, &key(30), LockMode::Exclusive).unwrap();
    other.delete(ROWS, &key(30));
    store.commit_and_wait(other).unwrap();
    insert(&store, &[25]);
    scan.look_again();
    assert_eq!(rest(&mut scan, &mut transaction), [20, 25, 40]);
}

#[test]
fn an_insert_that_is_not_committed_is_waited_for() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        for (commit, expected) in [(true, vec![10, 20, 25, 30, 40]), (false, vec![10, 20, 30, 40])] {
            let (_machine, store) = store();
            let mut other = begin(&store, Isolation::RepeatableRead);
            put(&mut other, 25);
            let found = while_waiting(
                &store,
                || {
                    let mut transaction = begin(&store, isolation);
                    let found = rest(&mut walk(Direction::Forward, Obstructed::Wait), &mut transaction);
                    let mut third = begin(&store, isolation);
                    third.set_lock_wait(Duration::ZERO);
                    third.lock(ROWS, &key(25), LockMode::Exclusive).expect("the walk locks no rows");
                    found
                },
                || match commit {
                    true => store.commit_and_wait(other).map(|_| ()).unwrap(),
                    false => drop(other),
                },
            );
            assert_eq!(found, expected, "{isolation:?}, commit: {commit}");
        }
    }
}

#[test]
fn an_insert_that_is_not_committed_is_passed_over_or_refused_if_asked() {
    let (_machine, store) = store();
    let mut other = begin(&store, Isolation::RepeatableRead);
    put(&mut other, 25);
    let mut transaction = begin(&store, Isolation::RepeatableRead);
    assert_eq!(rest(&mut walk(Direction::Forward, Obstructed::PassOver), &mut transaction), [10, 20, 30, 40]);
    let mut scan = walk(Direction::Reverse, Obstructed::Refuse);
    scan.next(&mut transaction).unwrap();
    scan.next(&mut transaction).unwrap();
    assert!(matches!(scan.next(&mut transaction), Err(LockingScanError::WouldWait)));
}

#[test]
fn own_inserts_do_not_stop_a_walk() {
    let (_machine, store) = store();
    let mut transaction = begin(&store, Isolation::RepeatableRead);
    put(&mut transaction, 25);
    assert_eq!(rest(&mut walk(Direction::Forward, Obstructed::Wait), &mut transaction), [10, 20, 25, 30, 40]);
    put(&mut transaction, 26);
    assert_eq!(rest(&mut walk(Direction::Reverse, Obstructed::Wait), &mut transaction), [40, 30, 26, 25, 20, 10]);
}

#[test]
fn concurrent_inserts_never_slip_into_what_was_walked() {
    // Two walks over the same range in one transaction find the same keys, whatever others insert meanwhile.
    let (_machine, store) = store();
    thread::scope(|scope| {
        for thread in 0..2_u64 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..150 {
                    let mut other = begin(store, Isolation::RepeatableRead);
                    other.set_lock_wait(Duration::from_secs(60));
                    let id = 11 + (thread + round * 7) % 29;
                    match put(&mut other, id) {
                        Claim::Covered | Claim::Locked => thread::yield_now(),
                        Claim::Granted { .. } => {
                            store.commit_and_wait(other).unwrap();
                            let mut other = begin(store, Isolation::RepeatableRead);
                            if other.try_lock(ROWS, &key(id), LockMode::Exclusive).is_some() {
                                other.delete(ROWS, &key(id));
                                store.commit_and_wait(other).unwrap();
                            }
                        }
                    }
                }
            });
        }
        for round in 0..150 {
            let mut transaction = begin(&store, Isolation::RepeatableRead);
            let direction = if round % 2 == 0 { Direction::Forward } else { Direction::Reverse };
            let walked = |transaction: &mut Transaction| {
                let mut scan = walk(direction, Obstructed::Wait);
                let mut ids = Vec::new();
                while let Some(entry) = scan.next(transaction).unwrap() {
                    let entry = entry.key.to_vec();
                    transaction.lock(ROWS, &entry, LockMode::Exclusive).unwrap();
                    let mut value = Vec::new();
                    if transaction.get(ROWS, Read::Current, &entry, &mut value).unwrap() {
                        ids.push(entry);
                    }
                }
                ids
            };
            let first = walked(&mut transaction);
            assert_eq!(walked(&mut transaction), first);
        }
    });
}
