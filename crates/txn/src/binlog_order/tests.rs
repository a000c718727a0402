use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cohort_binlog::{Followed, GtidSet, ReaderOptions};
use cohort_io::SimDisk;

use super::*;
use crate::classic::tests::open;
use crate::commit_protocol::CommitProtocol;
use crate::store::Store;
use crate::tests::*;

/// A new store under the journal, and one under a protocol that begins files itself.
fn stores() -> [Arc<Store>; 2] {
    let (journaled, _) = Machine::new(1).recover().expect("a new store");
    let (classic, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    [journaled, classic]
}

/// Whether no room is set aside in the binlog: then there is none to give back.
fn nothing_is_set_aside(store: &Store) -> bool {
    catch_unwind(AssertUnwindSafe(|| store.binlog().release(1))).is_err()
}

/// Every commit sets room aside for a rotation, which most of them do not make: that goes back (I8).
#[test]
fn room_for_a_rotation_that_does_not_come_is_given_back() {
    for store in stores() {
        store.settings().max_binlog_size.store(u64::MAX, Ordering::Relaxed);
        (1..=3).for_each(|id| assert!(insert(&store, id).is_ok()));
        assert!(nothing_is_set_aside(&store));
    }
}

/// The room for a rotation that a commit makes is used once, and what is left of it goes back.
#[test]
fn a_rotation_uses_the_room_of_the_commit_that_makes_it() {
    for store in stores() {
        let first = store.binlog().end().expect("a file").file_number;
        for id in 1..=20 {
            insert(&store, id).expect("a commit");
            store.prepare_ahead();
        }
        let files = store.binlog().end().expect("a file").file_number - first;
        assert!(files > 5, "{files} rotations");
        assert!(nothing_is_set_aside(&store));
    }
}

fn member(store: &Arc<Store>, id: u64, logged: bool) -> Member {
    let mut transaction = store.begin();
    transaction.set_binlog(logged);
    transaction.put(ENGINES[0], &key(id), b"value");
    transaction.events().write_row(&table(), &[0; 9]);
    transaction.events().end_statement();
    let (writes, events) = transaction.take_changes();
    store.shared.admit(&writes, events).expect("there is room").expect("it writes")
}

/// A classic protocol begins a file when everybody in the one before is decided, which members of one group are not; and
/// only who has events has set room aside for a rotation.
#[test]
fn only_a_logged_member_begins_a_file_and_only_where_that_is_asked_for() {
    for (rotate, logged, files) in [(false, true, 1), (true, false, 1), (true, true, 2)] {
        let (store, _) = Machine::new(2).recover().expect("a new store");
        store.prepare_ahead();
        store.settings().max_binlog_size.store(1, Ordering::Relaxed);
        let mut order = BinlogOrder::after(&store.shared.frontier().note);
        assert!(order.file_is_full(&store.shared));
        let mut members = [member(&store, 1, logged), member(&store, 2, logged)];
        let stats = store.commit_stats();
        let before = [&stats.binlog_commits, &stats.binlog_group_commits].map(|count| count.load(Ordering::Relaxed));
        let chunks = order.lay_out(&store.shared, members.iter_mut(), rotate);
        assert_eq!(chunks.len(), files, "rotate: {rotate}, logged: {logged}");
        let after = [&stats.binlog_commits, &stats.binlog_group_commits].map(|count| count.load(Ordering::Relaxed));
        let counted = if logged { [2, 1] } else { [0, 0] };
        assert_eq!([after[0] - before[0], after[1] - before[1]], counted, "transactions, cohorts with some");
    }
}

#[test]
fn a_files_header_has_the_time_at_which_the_file_began() {
    for store in stores() {
        let number = store.binlog().end().expect("a file").file_number;
        let mut reader = store.binlog().reader(number, ReaderOptions::default()).expect("it is there");
        let first = reader.next_event().expect("whole").expect("a header");
        assert_eq!(u64::from(first.header.timestamp_s), store.shared.clock.now_us() / 1_000_000);
    }
}

/// A point for readers costs memory, and saves them little where the file is small.
#[test]
fn points_for_readers_are_no_closer_than_it_takes_to_read_in_between() {
    let begins_with_a_point = |store: &Store| {
        store.binlog().tail().announce(store.executed().0);
        let known = GtidSet::of_range(store.server_uuid(), 1, 2);
        let mut follower = store.binlog().follow_after(&known).expect("nothing was purged");
        loop {
            match follower.next().expect("whole events") {
                Followed::Known(_) => return true,
                Followed::UpToDate => return false,
                Followed::Event { .. } | Followed::NextFile => {}
            }
        }
    };
    let machine = Machine::new(1);
    let (store, _) = machine.recover().expect("a new store");
    (1..=3).for_each(|id| assert!(insert(&store, id).is_ok()));
    assert!(!begins_with_a_point(&store));
    let (store, _) = machine.copy().recover().expect("a start");
    assert!(!begins_with_a_point(&store), "the points of a file from before the start");
}
