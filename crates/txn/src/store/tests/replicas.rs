//! Commits that wait until replicas have them.

use cohort_binlog::AckOptions;

use super::*;
use crate::tests::{Kept, insert};

/// A new store under the journal, and one under a classic protocol; commits wait for one replica, longer than any
/// acknowledgement takes.
fn stores() -> [Arc<Store>; 2] {
    let (journaled, _) = Machine::new(1).recover().expect("a new store");
    let (classic, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    let stores = [journaled, classic];
    stores.iter().for_each(|store| wait_for_a_replica(store));
    stores
}

fn wait_for_a_replica(store: &Store) {
    let timeout = Duration::from_secs(60);
    store.binlog().acks().configure(AckOptions { enabled: true, timeout, ..AckOptions::default() });
}

fn is_seen(store: &Store, id: u64) -> bool {
    store.published().engine(ENGINES[0]).get(&key(id), &mut Vec::new()).expect("memory can be read")
}

#[test]
fn a_transaction_goes_out_and_is_seen_when_a_replica_has_it() {
    for store in stores() {
        let acks = store.binlog().acks();
        let replica = acks.join();
        let before = store.binlog().tail().durable();
        thread::scope(|scope| {
            let commit = scope.spawn(|| insert(&store, 1));
            until("a wait", || acks.stats().waiting == 1 || commit.is_finished());
            let end = store.binlog().tail().durable();
            assert!(end > before, "replicas may read it");
            assert!(!commit.is_finished() && !is_seen(&store, 1) && store.executed().1.is_empty());
            acks.acknowledge(replica, BinlogPosition { offset: end.offset - 1, ..end });
            assert_eq!(acks.stats().waiting, 1);
            acks.acknowledge(replica, end);
            commit.join().expect("no panic").expect("a commit");
        });
        assert!(is_seen(&store, 1) && store.executed().1 == GtidSet::of_range(store.server_uuid(), 1, 1));
        assert_eq!((acks.stats().acknowledged, acks.stats().waits), (1, 1));
    }
}

#[test]
fn what_is_no_transaction_of_the_binlog_waits_for_no_replica() {
    for store in stores() {
        store.rotate_binlog().expect("another file");
        let mut transaction = store.begin();
        transaction.set_binlog(false);
        transaction.put(ENGINES[0], &key(1), b"not logged");
        store.commit_and_wait(transaction).expect("a commit");
        assert!(is_seen(&store, 1));
        assert_eq!(store.binlog().acks().stats().waits, 0);
    }
}

/// Cohorts that are written while one before them waits are sent at once, and whoever brings the acknowledgement finishes
/// all that it serves.
#[test]
fn cohorts_are_sent_while_one_before_them_waits() {
    let (store, _) = Machine::new(1).recover().expect("a new store");
    wait_for_a_replica(&store);
    store.hold_commits(true);
    let (mut cohorts, mut replies) = (Vec::new(), Vec::new());
    for members in 1..=3 {
        for _ in 0..members {
            replies.push(Kept::default());
            let transaction = write_transfer(&store, replies.len() as u64);
            store.commit(transaction, Box::new(replies[replies.len() - 1].clone()));
        }
        cohorts.push(store.take_cohort().expect("they have joined").write());
    }
    let acks = store.binlog().acks();
    let replica = acks.join();
    let [first, second, third] = cohorts.try_into().ok().expect("three cohorts");
    let sent_to = || store.binlog().tail().durable();
    // Not before the one that is before it.
    let before = sent_to();
    third.finish();
    assert!(sent_to() == before);
    first.finish();
    let first_end = sent_to();
    assert!(first_end > before);
    // Sends the third one as well.
    second.finish();
    let end = sent_to();
    assert!(end > first_end);
    let finished = || replies.iter().filter(|reply| matches!(*reply.0.lock(), Some(Ok(_)))).count();
    assert_eq!((finished(), acks.stats().waiting), (0, 1));
    acks.acknowledge(replica, first_end);
    assert_eq!((finished(), acks.stats().waiting), (1, 1));
    acks.acknowledge(replica, end);
    assert_eq!((finished(), acks.stats().waiting), (6, 0));
    assert_eq!((acks.stats().acknowledged, acks.stats().waits), (6, 2));
}

/// Cohorts for which nobody waits on a thread.
#[test]
fn cohorts_are_finished_when_their_time_is_over_and_when_replicas_are_waited_for_no_more() {
    let [short, long] = [Duration::from_millis(20), Duration::from_secs(60)].map(|timeout| {
        let store = Machine::new(1).open();
        store.binlog().acks().configure(AckOptions { enabled: true, timeout, ..AckOptions::default() });
        store.hold_commits(true);
        let reply = Kept::default();
        store.commit(write_transfer(&store, 1), Box::new(reply.clone()));
        store.take_cohort().expect("it has joined").write().finish();
        (store, reply)
    });
    let is_finished = |reply: &Kept| matches!(*reply.0.lock(), Some(Ok(_)));
    until("the timeout", || is_finished(&short.1));
    let stats = short.0.binlog().acks().stats();
    assert_eq!((stats.unacknowledged, stats.times_off, stats.waiting, stats.on), (1, 1, 0, false));
    assert!(!is_finished(&long.1));
    long.0.binlog().acks().configure(AckOptions::default());
    until("a commit without replicas", || is_finished(&long.1));
    assert_eq!(long.0.binlog().acks().stats().waiting, 0);
}

/// A cohort before it may have failed: replicas would have what the server will not.
#[test]
fn a_server_that_was_sealed_sends_nothing_to_replicas() {
    let (store, _) = Machine::new(1).recover().expect("a new store");
    wait_for_a_replica(&store);
    store.hold_commits(true);
    let reply = Kept::default();
    store.commit(write_transfer(&store, 1), Box::new(reply.clone()));
    let cohort = store.take_cohort().expect("it has joined").write();
    let before = store.binlog().tail().durable();
    store.path::<Coordinator>().seal("a log write failed");
    cohort.finish();
    assert!(matches!(*reply.0.lock(), Some(Err(_))));
    assert_eq!(store.binlog().tail().durable(), before);
}

/// Recovery under a classic protocol looks for what is undecided in the last file only.
#[test]
fn a_file_begins_when_all_of_the_one_before_is_decided() {
    let [_, store] = stores();
    let acks = store.binlog().acks();
    let file = || files(&store).last().copied();
    let before = file();
    thread::scope(|scope| {
        let first = scope.spawn(|| insert(&store, 1));
        until("a wait", || acks.stats().waiting == 1 || first.is_finished());
        let rotation = scope.spawn(|| store.rotate_binlog());
        // Time for one that does not wait.
        thread::sleep(Duration::from_millis(20));
        let waits = file() == before && !rotation.is_finished();
        // The rotation is in its way: it must not be what the rotation waits for.
        let second = scope.spawn(|| insert(&store, 2));
        thread::sleep(Duration::from_millis(20));
        acks.configure(AckOptions::default());
        for commit in [first, rotation, second] {
            commit.join().expect("no panic").expect("it goes on");
        }
        assert!(waits);
    });
    assert!(file() > before && is_seen(&store, 1) && is_seen(&store, 2));
}
