mod replicas;

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use cohort_binlog::{Followed, ServerIdentity, gtid_of_event};
use cohort_io::{Randomness, SeededRandom, SimDisk};
use cohort_journal::JournalOptions;

use super::*;
use crate::classic::tests::open;
use crate::commit_protocol::CommitProtocol;
use crate::options::StoreOptions;
use crate::tests::{ENGINES, Machine, key, transfer, until, write_transfer};

fn files(store: &Store) -> Vec<u64> {
    store.binlog().list().into_iter().map(|file| file.number).collect()
}

/// A purge takes what was asked for, but for what somebody reads and what the next start needs.
fn purge(store: &Arc<Store>) {
    for id in 1..=4 {
        transfer(store, id).expect("a commit");
        store.rotate_binlog().expect("another file");
    }
    let all = files(store);
    let begin = BinlogPosition { file_number: all[1], offset: 4 };
    let reader = store.binlog().follow(begin).expect("a file that is there");
    assert_eq!(store.purge_binlog(all[3]).expect("a purge").len(), 1);
    assert_eq!(files(store), all[1..]);
    drop(reader);
    assert_eq!(store.purge_binlog(all[3]).expect("a purge").len(), 2);
    assert_eq!(files(store), all[3..]);
    store.purge_binlog(u64::MAX).expect("a purge");
    assert_eq!(files(store).last(), all.last(), "the current file stays");
    let gtids = store.binlog().executed_gtids().expect("a file that is whole");
    assert_eq!(gtids.to_string(), format!("{}:1-4", store.server_uuid()));
}

#[test]
fn a_purge_under_the_journal_keeps_what_is_needed() {
    let machine = Machine::new(3);
    let store = machine.open();
    purge(&store);
    let machine = machine.crash();
    drop(store);
    let (store, _) = machine.recover().expect("a recovery");
    transfer(&store, 5).expect("a commit");
}

#[test]
fn a_purge_under_a_classic_protocol_keeps_what_is_needed() {
    let disk = SimDisk::new(3);
    let (store, _) = open(&disk, CommitProtocol::Mysql57).expect("a new store");
    purge(&store);
    drop(store);
    let (store, _) = open(&disk.crash(), CommitProtocol::Mysql57).expect("a recovery");
    transfer(&store, 5).expect("a commit");
}

#[test]
fn a_store_that_was_closed_says_so() {
    let store = Machine::new(4).open();
    assert!(store.closed().is_none());
    transfer(&store, 1).expect("a commit");
    store.close().expect("a clean stop");
    assert!(store.closed().is_some());
}

#[test]
fn a_store_that_was_sealed_says_why_when_it_is_closed() {
    let store = Machine::new(4).open();
    store.path::<Coordinator>().seal("a log write failed");
    assert_eq!(store.close(), Err("a log write failed".to_owned()));
}

#[test]
fn who_waits_for_gtids_goes_on_when_they_are_executed_or_when_the_time_is_over() {
    let store = Machine::new(5).open();
    let both: GtidSet = format!("{}:1-2", store.server_uuid()).parse().expect("a set");
    let far = Instant::now() + Duration::from_secs(600);
    assert!(!store.wait_until_executed(&both, Some(Instant::now()), &|| false), "there is no more time");
    assert!(!store.wait_until_executed(&both, Some(far), &|| true), "it was ended");
    let asked = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            store.wait_until_executed(&both, Some(far), &|| {
                asked.store(true, Ordering::SeqCst);
                false
            })
        });
        until("a wait", || asked.load(Ordering::SeqCst));
        transfer(&store, 1).expect("a commit");
        transfer(&store, 2).expect("a commit");
        assert!(waiting.join().expect("no panic"));
    });
    assert!(store.wait_until_executed(&both, Some(Instant::now()), &|| true), "they are executed already");
}

#[test]
fn events_carry_the_servers_number_and_as_much_of_the_columns_as_is_set() {
    let identity = ServerIdentity { server_id: 7, server_version: "8.0.40-test".to_owned() };
    let (store, _) =
        Machine::new(6).recover_with(StoreOptions { identity, ..Machine::options(1) }).expect("a new store");
    assert_eq!(store.server_id(), 7);
    let [minimal, full] = [false, true].map(|full| {
        store.settings().full_row_metadata.store(full, Ordering::Relaxed);
        write_transfer(&store, 1).events().byte_len()
    });
    assert!(full > minimal, "{full} bytes with the columns' names, {minimal} without");
}

/// `tc.log` is written by transactions that the binlog does not have; the journal has no log beside it.
#[test]
fn the_coordinators_log_counts_its_writes() {
    let disk = SimDisk::new(7);
    let (store, _) = open(&disk, CommitProtocol::Mysql57).expect("a new store");
    let syncs = || store.coordinator_log().expect("it has one").syncs;
    let before = syncs();
    let mut transaction = store.begin();
    transaction.set_binlog(false);
    ENGINES.iter().for_each(|engine| transaction.put(*engine, &key(1), b"in both engines"));
    store.commit_and_wait(transaction).expect("a commit");
    assert!(syncs() > before);
    let (store, _) = Machine::new(7).recover().expect("a new store");
    assert_eq!(store.coordinator_log(), None);
}

/// Readers that have some transactions get every other one, and little of what they have before the first.
fn attach(store: &Store, seed: u64) {
    let random = SeededRandom::new(seed);
    let uuid = store.server_uuid();
    let last = store.executed().1.last_gno(uuid);
    store.binlog().tail().announce(store.executed().0);
    for round in 0..300 {
        let mut known = GtidSet::of_range(uuid, 1, random.next_u64() % (last + 1));
        for _ in 0..random.next_u64() % 3 {
            let first = random.next_u64() % last + 1;
            known.subtract(&GtidSet::of_range(uuid, first, first + random.next_u64() % 5));
        }
        known.union(&GtidSet::of_range(ServerUuid::from_bytes([1; 16]), 1, 1 + round));
        let mut follower = store.binlog().follow_after(&known).expect("nothing was purged");
        let waits = |follower: &cohort_binlog::Follower<'_>| !follower.wait(std::time::Instant::now(), || false);
        assert!(!waits(&follower), "there is a file's header at least");
        let (mut unknown, mut in_vain) = (GtidSet::new(), 0);
        loop {
            match follower.next().expect("whole events") {
                Followed::Event { bytes, .. } => match gtid_of_event(bytes) {
                    Some(gtid) if !known.contains(gtid) => unknown.insert(gtid),
                    _ if unknown.is_empty() => in_vain += bytes.len(),
                    _ => {}
                },
                // After the file's header, without which a reader cannot read on.
                Followed::Known(_) => assert!(unknown.is_empty() && in_vain > 0, "seed {seed}: it is the beginning"),
                Followed::NextFile => {}
                Followed::UpToDate => break,
            }
        }
        assert!(waits(&follower), "it has everything");
        let mut expected = GtidSet::of_range(uuid, 1, last);
        expected.subtract(&known);
        assert_eq!(unknown, expected, "seed {seed}, known {known}");
        assert!(in_vain < 1_300_000, "seed {seed}, known {known}: {in_vain} bytes were read in vain");
    }
}

#[test]
fn readers_by_gtid_begin_where_something_new_is() {
    let seed =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let options = || StoreOptions {
        journal: JournalOptions { segment_bytes: 1 << 20, ..Machine::options(1).journal },
        settings: CommitSettings::durable(4 << 20),
        checkpoint_bytes: 64 << 20,
        ..Machine::options(1)
    };
    let machine = Machine::new(5);
    let store = machine.open_with(options());
    let random = SeededRandom::new(seed);
    for _ in 0..260 {
        let mut transaction = store.begin();
        let text = "x".repeat(random.next_u64() as usize % 150_000);
        transaction.events().query("", format!("/* {text} */ DO 1"));
        store.commit_and_wait(transaction).expect("a commit");
        store.prepare_ahead();
    }
    assert!(files(&store).len() > 3, "there are several files");
    attach(&store, seed);
    store.close().expect("a clean stop");
    drop(store);
    let (store, _) = machine.copy().recover_with(options()).expect("a start");
    attach(&store, seed);
    store.purge_binlog(files(&store)[2]).expect("a purge");
    let executed = store.executed().1;
    assert!(store.binlog().follow_after(&executed).is_ok());
}
