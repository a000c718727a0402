use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cohort_binlog::{EventBody, GtidSet, ReaderOptions};
use cohort_io::SimDisk;

use super::*;
use crate::classic::tests::open;
use crate::commit_protocol::CommitProtocol;
use crate::outcome::Committed;
use crate::shared::ROTATION_BYTES_MAX;
use crate::store::Store;
use crate::tests::{Machine, transfer, until, write_transfer};

const OTHER: ServerUuid = ServerUuid::from_bytes([0xee; 16]);

/// A new store under the journal, and one under a protocol that recovers from the binlog.
fn stores() -> [Arc<Store>; 2] {
    let (journaled, _) = Machine::new(1).recover().expect("a new store");
    let (classic, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    [journaled, classic]
}

fn own(store: &Store, uuid: ServerUuid, gno: u64) -> OwnedGtid {
    match store.claim_gtid(Gtid { uuid, gno }, 7, &|| false) {
        GtidClaim::Owned(owned) => owned,
        other => panic!("{uuid}:{gno}: {other:?}"),
    }
}

fn commit_as(store: &Arc<Store>, id: Option<u64>, gtid: OwnedGtid) -> Committed {
    let mut transaction = id.map_or_else(|| store.begin(), |id| write_transfer(store, id));
    transaction.set_gtid(gtid);
    store.commit_and_wait(transaction).expect("a commit")
}

fn executed(store: &Store) -> String {
    store.executed().1.to_string().replace('\n', "")
}

#[test]
fn a_transaction_has_the_gtid_that_was_chosen_for_it() {
    for store in stores() {
        let committed = commit_as(&store, Some(1), own(&store, OTHER, 7));
        assert_eq!(committed.gtid, Some(Gtid { uuid: OTHER, gno: 7 }));
        assert_eq!(executed(&store), format!("{OTHER}:7"));
        assert!(store.owned_gtids().is_empty());
        let again = store.claim_gtid(Gtid { uuid: OTHER, gno: 7 }, 7, &|| false);
        assert!(matches!(again, GtidClaim::Executed), "{again:?}");
    }
}

#[test]
fn who_chooses_none_gets_the_lowest_number_that_is_free() {
    for store in stores() {
        let uuid = store.server_uuid();
        commit_as(&store, Some(1), own(&store, uuid, 3));
        let second = own(&store, uuid, 2);
        let numbers = [2, 3].map(|id| transfer(&store, id).expect("a commit").gtid.expect("it is logged").gno);
        assert_eq!(numbers, [1, 4], "3 is executed, 2 is owned");
        assert_eq!(store.owned_gtids(), [(Gtid { uuid, gno: 2 }, 7)]);
        drop(second);
        assert_eq!(transfer(&store, 4).expect("a commit").gtid.expect("it is logged").gno, 2);
        assert_eq!(executed(&store), format!("{uuid}:1-4"));
    }
}

#[test]
fn a_transaction_that_changes_nothing_is_logged_for_its_gtid() {
    for store in stores() {
        commit_as(&store, None, own(&store, OTHER, 1));
        assert_eq!(executed(&store), format!("{OTHER}:1"));
        let file = store.binlog().end().expect("a file").file_number;
        let mut reader = store.binlog().reader(file, ReaderOptions::default()).expect("it is there");
        let mut events = Vec::new();
        while let Some(event) = reader.next_event().expect("whole") {
            match event.decode().expect("known") {
                EventBody::Gtid(gtid) => events.push(gtid.gtid_text()),
                EventBody::Query(query) => events.push(String::from_utf8_lossy(query.sql).into_owned()),
                EventBody::Xid(_) => events.push("XID".to_owned()),
                _ => {}
            }
        }
        assert_eq!(events, [format!("{OTHER}:1"), "BEGIN".to_owned(), "COMMIT".to_owned()]);
    }
}

#[test]
fn a_rollback_frees_the_gtid_and_who_waits_for_it_gets_it() {
    for store in stores() {
        let mut transaction = write_transfer(&store, 1);
        transaction.set_gtid(own(&store, OTHER, 1));
        let gtid = Gtid { uuid: OTHER, gno: 1 };
        assert!(matches!(store.claim_gtid(gtid, 8, &|| true), GtidClaim::Ended));
        let asked = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                store.claim_gtid(gtid, 8, &|| {
                    asked.store(true, Ordering::SeqCst);
                    false
                })
            });
            until("a wait", || asked.load(Ordering::SeqCst));
            drop(transaction);
            assert!(matches!(waiting.join().expect("no panic"), GtidClaim::Owned(_)));
        });
        assert_eq!(executed(&store), "");
    }
}

/// Each owner has a number of another server, which is what takes the most bytes.
#[test]
fn room_is_set_aside_for_the_set_of_all_that_is_owned_and_of_the_first_of_this_server() {
    for store in stores() {
        let owned = [1, 2, 3].map(|byte| own(&store, ServerUuid::from_bytes([byte; 16]), 7));
        let room = store.shared.given_gtids.header_bytes_max();
        assert_eq!(store.shared.rotation_room(), ROTATION_BYTES_MAX + room);
        transfer(&store, 1).expect("a commit");
        for (id, owned) in (2..).zip(owned) {
            commit_as(&store, Some(id), owned);
        }
        // There is room for one that is added as well, which is empty.
        assert_eq!(store.executed().1.encoded_len() + GtidSet::new().encoded_len(), room);
        let later = store.shared.given_gtids.header_bytes_max();
        assert_eq!(later, room + BYTES_EACH, "nobody owns one, and another interval may come");
    }
}

#[test]
fn a_restart_finds_chosen_gtids_again_and_a_file_has_room_for_a_set_with_many_holes() {
    let machine = Machine::new(3);
    let (store, _) = machine.recover().expect("a disk without faults");
    for id in 1..=300 {
        commit_as(&store, None, own(&store, OTHER, 2 * id));
    }
    commit_as(&store, Some(1), own(&store, OTHER, 700));
    let before = executed(&store);
    store.rotate_binlog().expect("another file");
    let machine = machine.crash();
    let (store, _) = machine.recover().expect("a disk without faults");
    assert_eq!(executed(&store), before);
    let last = store.binlog().end().expect("a file").file_number;
    assert_eq!(store.binlog().previous_gtids(last).expect("a header").to_string(), before);
    assert_eq!(transfer(&store, 2).expect("a commit").gtid.expect("it is logged").uuid, store.server_uuid());
}
