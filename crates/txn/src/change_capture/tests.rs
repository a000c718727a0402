use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::thread;

use cohort_engine::Direction;
use cohort_io::{SimDisk, splitmix64};

use super::*;
use crate::classic::tests::open;
use crate::commit_protocol::CommitProtocol;
use crate::outcome::{CommitError, Committed, Reply};
use crate::store::Store;
use crate::tests::{ENGINES, Machine, insert, insert_into, key, transfer};
use crate::transaction::{Isolation, Read, Transaction};

fn all() -> KeyRange {
    KeyRange { lower: key(0), upper: key(u64::MAX) }
}

fn changed(capture: &ChangeCapture) -> Vec<ChangedKey> {
    capture.until(|| ()).expect("few keys").0
}

#[test]
fn changes_of_its_range_are_captured_once_and_no_others() {
    let store = Machine::new(71).open();
    insert(&store, 1).expect("a commit");
    let range = KeyRange { lower: key(2), upper: key(5) };
    let capture = store.capture_changes(ENGINES[0], range);
    assert!(changed(&capture).is_empty());
    for id in [1, 2, 4, 5, 2] {
        insert(&store, id).expect("a commit");
    }
    insert_into(&store, ENGINES[1], 3).expect("a commit");
    let mut undone = store.begin();
    undone.put(ENGINES[0], &key(3), b"never");
    undone.rollback();
    let keys: Vec<ChangedKey> = vec![key(2).into(), key(4).into()];
    assert_eq!(changed(&capture), keys);
    assert!(changed(&capture).is_empty());
    drop(capture);
    assert_eq!(store.shared.captures.count.load(Ordering::SeqCst), 0);
    assert!(store.shared.captures.logs.read().is_empty());
}

struct Nobody;

impl Reply for Nobody {
    fn send(self: Box<Self>, _outcome: Result<Committed, CommitError>) {}
}

#[test]
fn what_is_in_flight_is_given_until_readers_see_it() {
    let (store, _) = Machine::new(72).recover().expect("a new store");
    let capture = store.capture_changes(ENGINES[0], all());
    store.hold_commits(true);
    let mut writer = store.begin();
    writer.put(ENGINES[0], &key(1), b"one");
    store.commit(writer, Box::new(Nobody));
    let keys: Vec<ChangedKey> = vec![key(1).into()];
    assert_eq!(changed(&capture), keys, "a snapshot that is taken now does not see it, one that is taken soon does");
    let written = store.take_cohort().expect("the writer").write();
    assert_eq!(changed(&capture), keys);
    let finished = capture.until(|| written.finish()).expect("few keys");
    assert_eq!(finished.0, keys, "it became visible before the snapshot");
    assert_eq!(changed(&capture), keys, "which the capture could not know");
    assert!(changed(&capture).is_empty());
}

#[test]
fn a_capture_beyond_its_bound_says_so_and_keeps_nothing() {
    let store = Machine::new(73).open();
    store.settings().capture_bytes_max.store(3 * bytes(&key(1).into()), Ordering::Relaxed);
    let capture = store.capture_changes(ENGINES[0], all());
    for id in [1, 2, 2, 1, 1] {
        insert(&store, id).expect("a commit");
        assert!(!capture.has_overflowed(), "a key counts once");
    }
    assert_eq!(changed(&capture).len(), 2);
    for id in [3, 4, 5] {
        insert(&store, id).expect("a commit");
        assert!(!capture.has_overflowed(), "what was given does not count any more");
    }
    insert(&store, 6).expect("a commit");
    assert!(capture.has_overflowed());
    insert(&store, 1).expect("a commit");
    assert_eq!(capture.until(|| ()), Err(CaptureOverflow));
}

fn snapshot(store: &Arc<Store>) -> Transaction {
    let mut transaction = store.begin();
    transaction.set_isolation(Isolation::RepeatableRead);
    assert!(transaction.pin_view(ENGINES[0]));
    transaction
}

fn rows(transaction: &mut Transaction) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut scan = transaction.scan(ENGINES[0], Read::Snapshot, &all(), Direction::Forward).expect("a scan");
    let mut rows = BTreeMap::new();
    while let Some(entry) = scan.next().expect("an entry") {
        rows.insert(entry.key.to_vec(), entry.value.to_vec());
    }
    rows
}

/// Writers change rows while rounds bring a copy up to each snapshot by the keys of the capture alone.
fn rounds_follow(store: &Arc<Store>) {
    for id in 0..20 {
        transfer(store, id).expect("a commit");
    }
    let stop = AtomicBool::new(false);
    let capture = store.capture_changes(ENGINES[0], all());
    let mut copy = rows(&mut snapshot(store));
    thread::scope(|scope| {
        for writer in 0..4_u64 {
            let (stop, store) = (&stop, store.clone());
            scope.spawn(move || {
                let mut state = writer;
                while !stop.load(Ordering::Relaxed) {
                    let mut transaction = store.begin();
                    transaction.set_binlog(splitmix64(&mut state).is_multiple_of(2));
                    for _ in 0..3 {
                        // Each its own keys, so that no locks are needed.
                        let key = key(writer + 4 * (splitmix64(&mut state) % 5));
                        let random = splitmix64(&mut state);
                        match random.is_multiple_of(3) {
                            true => transaction.delete(ENGINES[0], &key),
                            false => transaction.put(ENGINES[0], &key, &random.to_le_bytes()),
                        }
                    }
                    store.commit_and_wait(transaction).expect("a commit");
                }
            });
        }
        for _ in 0..50 {
            follow(store, &capture, &mut copy);
        }
        stop.store(true, Ordering::Relaxed);
    });
    follow(store, &capture, &mut copy);
}

fn follow(store: &Arc<Store>, capture: &ChangeCapture, copy: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
    let (keys, mut now) = capture.until(|| snapshot(store)).expect("few keys");
    for key in keys {
        let mut value = Vec::new();
        match now.get(ENGINES[0], Read::Snapshot, &key, &mut value).expect("a read") {
            true => copy.insert(key.to_vec(), value),
            false => copy.remove(&*key),
        };
    }
    assert_eq!(*copy, rows(&mut now));
}

#[test]
fn rounds_follow_under_the_journal() {
    rounds_follow(&Machine::new(74).open());
}

#[test]
fn rounds_follow_under_each_classic_protocol() {
    for protocol in CommitProtocol::ALL.into_iter().filter(|protocol| *protocol != CommitProtocol::Journal) {
        let (store, _) = open(&SimDisk::new(75), protocol).expect("a new store");
        println!("{protocol}");
        rounds_follow(&store);
    }
}
