use std::thread;

use cohort_io::SimDisk;

use super::*;
use crate::classic::tests::open;
use crate::commit_protocol::CommitProtocol;
use crate::tests::{Kept, transfer};

/// I9: an answer goes out if and only if everything up to what it rests on is durable, in whatever order flushes end.
#[test]
fn answers_wait_for_the_oldest_flush_and_for_none_after_what_they_saw() {
    let (store, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    let coordinator = store.path::<ClassicCoordinator>();
    let member = |order| Member { order, ..Member::new(Vec::new(), None, 0) };
    for orders in [[3, 5, 7], [3, 7, 5], [5, 3, 7], [5, 7, 3], [7, 3, 5], [7, 5, 3]] {
        orders.iter().for_each(|order| coordinator.begin_undurable(&member(*order)));
        let seen = [None, Some(2), Some(3), Some(4), Some(5), Some(7), Some(8)];
        let answers = seen.map(|seen| {
            let kept = Kept::default();
            coordinator.when_durable(seen, Box::new(kept.clone()));
            kept
        });
        let mut left = BTreeSet::from(orders);
        for ended in [None].into_iter().chain(orders.map(Some)) {
            if let Some(ended) = ended {
                coordinator.end_undurable(&member(ended));
                left.remove(&ended);
            }
            for (seen, answer) in seen.iter().zip(&answers) {
                let durable = seen.is_none_or(|seen| left.first().is_none_or(|oldest| seen < *oldest));
                let context = format!("flushes end as {orders:?}, {left:?} are left, {seen:?} was seen");
                assert_eq!(matches!(*answer.0.lock(), Some(Ok(_))), durable, "{context}");
                assert!(seen.is_none_or(|seen| coordinator.is_durable(seen) == durable), "{context}");
            }
        }
    }
}

fn wait_until(reached: impl Fn() -> bool) {
    let began = Instant::now();
    while !reached() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never comes");
        thread::yield_now();
    }
}

#[test]
fn the_locks_that_a_commit_passes_are_profiled() {
    for protocol in CommitProtocol::ALL.into_iter().filter(|protocol| *protocol != CommitProtocol::Journal) {
        let own: &[&str] = match protocol {
            CommitProtocol::Mysql41 | CommitProtocol::MariadbNaive => &["LOCK_log"],
            CommitProtocol::Mysql50 { .. } | CommitProtocol::Plugin104 => &["prepare_commit_mutex"],
            CommitProtocol::Mysql56 | CommitProtocol::Mysql57 => &["LOCK_commit", "LOCK_log", "LOCK_sync"],
            CommitProtocol::Mariadb { .. } => &["LOCK_commit_ordered", "LOCK_log"],
            CommitProtocol::TcMmap | CommitProtocol::Journal => &[],
        };
        let (store, _) = open(&SimDisk::new(1), protocol).expect("a new store");
        (1..=2).for_each(|id| assert!(transfer(&store, id).is_ok(), "{protocol}"));
        let profile = store.lock_profile();
        let locks: BTreeSet<&str> = profile.iter().map(|line| line.lock).collect();
        let log_bin = protocol.has_binlog().then_some("binlog order");
        let all: BTreeSet<&str> = own.iter().copied().chain(log_bin).chain(["showing"]).collect();
        assert_eq!(locks, all, "{protocol}");
        for lock in own {
            let taken: u64 = profile.iter().filter(|line| line.lock == *lock).map(|line| line.cost.count).sum();
            assert!(taken >= 2, "{protocol}, {lock}: {profile:?}");
        }
    }
}

/// The first reason stays: what fails after it fails because of it.
#[test]
fn a_log_that_failed_closes_the_coordinator_and_the_first_reason_is_kept() {
    let (store, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    let coordinator = store.path::<ClassicCoordinator>();
    assert!(coordinator.closed().is_none() && coordinator.check_open().is_ok());
    coordinator.begin_undurable(&Member { order: 3, ..Member::new(Vec::new(), None, 0) });
    let kept = Kept::default();
    coordinator.when_durable(Some(3), Box::new(kept.clone()));
    for later in ["first", "second"] {
        let error = coordinator.seal_for(later.to_owned());
        assert!(matches!(&error, CommitError::Unknown(reason) if reason == "first"), "{error}");
        let under_way = coordinator.check_open().expect_err("it is closed");
        assert!(matches!(&under_way, CommitError::Unknown(reason) if reason == "first"), "{under_way}");
        let closed = coordinator.closed().expect("it is closed");
        assert!(matches!(&closed, CommitError::Sealed(reason) if reason == "first"), "{closed}");
        assert!(matches!(*kept.0.lock(), Some(Err(CommitError::Unknown(_)))), "what it saw may be lost");
        let refused = transfer(&store, 1).expect_err("it is closed");
        assert!(matches!(&refused, CommitError::Sealed(reason) if reason == "first"), "{refused}");
    }
}

/// A server that stops lets those finish that have begun, and refuses the rest.
#[test]
fn a_stop_refuses_what_comes_and_not_what_is_under_way() {
    let (store, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    let coordinator = store.path::<ClassicCoordinator>();
    coordinator.enter().expect("it is open");
    thread::scope(|scope| {
        let stopping = scope.spawn(|| coordinator.drain());
        wait_until(|| coordinator.closed().is_some());
        assert!(!stopping.is_finished(), "somebody commits");
        assert!(coordinator.check_open().is_ok() && coordinator.enter().is_err());
        coordinator.leave();
        stopping.join().expect("no panic");
    });
    assert!(matches!(coordinator.closed(), Some(CommitError::ShuttingDown)));
}

/// Its thread has the next file ready and what no commit synced durable, and ends where commits are refused.
#[test]
fn upkeep_syncs_what_no_commit_synced_and_ends_with_the_server() {
    let disk = SimDisk::new(1);
    let (store, _) = open(&disk, CommitProtocol::Mysql57).expect("a new store");
    let coordinator = store.path::<ClassicCoordinator>();
    store.settings().durability.flush_log_at_trx_commit.store(0, Ordering::Relaxed);
    transfer(&store, 1).expect("a commit");
    let unsynced =
        || coordinator.records.iter().any(|at| at.synced.load(Ordering::Acquire) < at.written.load(Ordering::Acquire));
    assert!(unsynced(), "no commit syncs");
    thread::scope(|scope| {
        let upkeep = scope.spawn(|| coordinator.run_upkeep());
        wait_until(|| !unsynced());
        assert!(!upkeep.is_finished(), "it ended before the server");
        coordinator.drain();
        upkeep.join().expect("no panic");
    });
}

/// The next binlog file is ready again some time after a rotation took it, as often as that happens.
#[test]
fn a_running_server_has_the_next_file_ready_again_and_again() {
    let (store, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    assert_eq!(store.checkpoint_refusal(), None, "it takes none");
    store.start_threads();
    for id in 1..=3 {
        let current = store.binlog().end().expect("a file").file_number;
        wait_until(|| store.binlog().next_is_ready(current + 1));
        store.begin_file(FileStart::Rotation).expect("it was ready");
        transfer(&store, id).expect("a commit");
    }
    store.close().expect("a clean stop");
}

/// The order of a snapshot is that of the last transaction in it, and a file is none.
#[test]
fn a_rotation_takes_no_place_in_the_order_of_snapshots() {
    let (store, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    transfer(&store, 1).expect("a commit");
    let order = store.published().order;
    store.rotate_binlog().expect("another file");
    assert_eq!(store.published().order, order);
    transfer(&store, 2).expect("a commit");
    assert_eq!(store.published().order, order + 1);
}
