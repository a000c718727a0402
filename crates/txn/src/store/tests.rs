use cohort_io::SimDisk;

use super::*;
use crate::classic::tests::open;
use crate::commit_protocol::CommitProtocol;
use crate::tests::{Machine, transfer};

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
