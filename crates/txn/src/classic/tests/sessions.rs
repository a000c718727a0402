//! Sessions side by side, and the settings that change how they commit.

use super::*;

#[test]
fn snapshots_are_prefixes_of_the_binlog() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING) {
        let disk = SimDisk::new(12);
        let (store, _) = open(&disk, *protocol).expect("a new store");
        check_snapshots_are_prefixes(&disk, &store, &format!("{protocol:?}"));
    }
}

/// Sessions side by side: everything is committed once, and the binlog's order is that of the engines.
#[test]
fn concurrent_sessions_are_committed_in_one_order() {
    for protocol in COORDINATED.iter().chain(&*DIVERGING) {
        let disk = SimDisk::new(1);
        let (store, _) = open(&disk, *protocol).expect("a new store");
        thread::scope(|scope| {
            for session in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    for round in 0..10 {
                        transfer(store, 1 + session * 10 + round).expect("a commit");
                    }
                });
            }
        });
        let there = found(&disk, &store);
        let ids = committed(&there);
        let all: Vec<u64> = (1..=40).collect();
        assert_eq!((&ids, &there.rows[0], &there.rows[1], there.counter), (&all, &all, &all, 40), "{protocol:?}");
        let locks = store.lock_profile();
        assert!(locks.iter().any(|line| line.cost.count > 0 && line.cost.hold_ns > 0), "{protocol:?}: {locks:?}");
        let own = locks.iter().any(|line| !["binlog order", "showing"].contains(&line.lock));
        assert_eq!(own, store.log_bin(), "{protocol:?}: {locks:?}");
        store.close().expect("a clean stop");
        let disk = disk.crash();
        let (store, report) = open(&disk, *protocol).expect("a start after a clean stop");
        assert_eq!(found(&disk, &store).rows[0], all, "{protocol:?}");
        assert_eq!(report.binlog_bytes_cut, 0, "{protocol:?}");
    }
}

/// Sessions that commit one by one share a sync when the operator says that it waits for them.
#[test]
fn a_delay_holds_the_sync_back_until_there_are_enough() {
    for protocol in
        [CommitProtocol::Mysql57, CommitProtocol::MariadbNaive, CommitProtocol::Mariadb { commit_flush: true }]
    {
        let disk = SimDisk::new(1);
        let (store, _) = open(&disk, protocol).expect("a new store");
        let delay = &store.settings().sync_delay;
        delay.max_us.store(3_600_000_000, Ordering::Relaxed);
        delay.enough.store(4, Ordering::Relaxed);
        let before = store.binlog().stats().syncs;
        thread::scope(|scope| {
            for id in 1..=4 {
                let store = &store;
                scope.spawn(move || insert(store, id).expect("a commit"));
            }
        });
        assert_eq!(store.binlog().stats().syncs - before, 1, "{protocol}");
    }
}

/// `sync_binlog=N`: every N-th group is synced, and one that is not due waits for nobody.
#[test]
fn every_nth_group_is_synced() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING) {
        let disk = SimDisk::new(1);
        let (store, _) = open(&disk, *protocol).expect("a new store");
        store.settings().durability.sync_binlog.store(3, Ordering::Relaxed);
        let before = store.binlog().stats().syncs;
        insert_all(&store, 1..=12);
        let syncs = store.binlog().stats().syncs - before;
        assert_eq!(syncs, 4, "{protocol}");
    }
}

/// `binlog_order_commits=OFF`: sessions commit in no order, and everything is committed.
#[test]
fn sessions_may_commit_in_any_order() {
    for protocol in [CommitProtocol::Mysql56, CommitProtocol::Mysql57] {
        let disk = SimDisk::new(1);
        let (store, _) = open(&disk, protocol).expect("a new store");
        store.settings().order_commits.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            for session in 0..4 {
                let store = &store;
                scope.spawn(move || insert_all(store, session * 10 + 1..=session * 10 + 10));
            }
        });
        let locks = store.lock_profile();
        assert!(locks.iter().all(|line| line.lock != "LOCK_commit"), "{protocol} has a COMMIT stage: {locks:?}");
        drop(store);
        let disk = disk.crash();
        let (store, _) = open(&disk, protocol).expect("a recovery");
        let there = found(&disk, &store);
        let mut ids = there.binlog.clone();
        ids.sort_unstable();
        let all: Vec<u64> = (1..=40).collect();
        assert_eq!((&ids, &there.rows[0]), (&all, &all), "{protocol}");
    }
}

/// Without a binlog nothing is written to it, and a commit that was synced is there after a crash.
#[test]
fn without_a_binlog_commits_are_in_the_engines_alone() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING) {
        let disk = SimDisk::new(1);
        let (store, _) = open_with(&disk, *protocol, false).expect("a new store");
        insert_all(&store, 1..=5);
        store.rotate_binlog().expect("nothing to do");
        assert_eq!((store.binlog().list().len(), store.binlog().stats().bytes), (0, 0), "{protocol}");
        drop(store);
        let disk = disk.crash();
        let (store, _) = open(&disk, *protocol).expect("a recovery");
        let there = found(&disk, &store);
        assert_eq!((there.rows[0].len(), there.binlog.len()), (5, 0), "{protocol}");
        insert(&store, 6).expect("a commit");
        assert_eq!(found(&disk, &store).binlog, [6], "{protocol}");
    }
}

/// A commit that is refused keeps no room in the binlog: the disk is not asked for more.
#[test]
fn a_refused_commit_gives_its_room_back() {
    for protocol in [CommitProtocol::Journal, CommitProtocol::Mysql56] {
        let disk = SimDisk::new(1);
        let (store, _) = hand_over(&disk, protocol).expect("a new store");
        let refuse = || {
            let refused = insert(&store, 1).expect_err("the server stops");
            assert!(matches!(refused, CommitError::ShuttingDown), "{protocol}: {refused}");
        };
        store.drain();
        refuse();
        let operations = disk.operations();
        (0..100).for_each(|_| refuse());
        assert_eq!(disk.operations(), operations, "{protocol}");
    }
}

/// Some protocols show what they have not synced. Where that sync fails, nothing is said of it: neither of the newest
/// version nor of a snapshot.
#[test]
fn what_was_seen_before_its_sync_is_withheld() {
    let unsynced = DIVERGING.iter().chain(&[CommitProtocol::TcMmap]);
    for protocol in unsynced {
        let mut seen = 0;
        for operation in 0..20 {
            let disk = SimDisk::new(operation);
            let (store, _) = open(&disk, *protocol).expect("a new store");
            insert(&store, 1).expect("a commit");
            disk.set_fault(disk.operations() + operation, Fault::Error);
            let with_snapshot = || {
                let mut reader = store.begin();
                assert!(reader.get(ENGINES[0], Read::Snapshot, &key(1), &mut Vec::new()).expect("a read"));
                reader
            };
            let (mut old, both) = (with_snapshot(), with_snapshot());
            let failed = insert(&store, 2).is_err();
            let found = old.get(ENGINES[0], Read::Snapshot, &key(2), &mut Vec::new()).expect("a read");
            let answer = store.wait_until_durable(old.rests_on());
            assert!(!found && answer.is_ok(), "{protocol:?} {operation}: it saw nothing of it: {answer:?}");
            for (read, mut reader) in
                [(Read::Snapshot, store.begin()), (Read::Current, store.begin()), (Read::Current, both)]
            {
                let found = reader.get(ENGINES[0], read, &key(2), &mut Vec::new()).expect("a read");
                let answer = store.wait_until_durable(reader.rests_on());
                assert!(!found || failed == answer.is_err(), "{protocol:?} {operation} {read:?}: {answer:?}");
                seen += u64::from(found && failed);
            }
        }
        assert!(seen > 0, "{protocol:?}: nothing was seen too early");
    }
}

/// A reader of the binlog gets a transaction when the sync is done that its commit waits for, and at once where commits
/// wait for none (I4).
#[test]
fn readers_of_the_binlog_get_what_a_crash_does_not_take_back() {
    for protocol in CONSISTENT.iter().copied() {
        let (store, _) = open(&SimDisk::new(1), protocol).expect("a new store");
        for every in [1, 0] {
            store.settings().durability.sync_binlog.store(every, Ordering::Relaxed);
            insert(&store, 1 + u64::from(every)).expect("a commit");
            assert_eq!(Some(store.binlog().tail().durable()), store.binlog().end(), "{protocol}, sync_binlog={every}");
        }
        for operation in 0.. {
            let disk = SimDisk::new(operation + 1);
            let (store, _) = open(&disk, protocol).expect("a new store");
            insert(&store, 1).expect("a commit");
            let fault = disk.operations() + operation;
            disk.set_fault(fault, Fault::PowerCut);
            let finished = insert(&store, 2).is_ok();
            let announced = store.binlog().tail().durable();
            let file = disk.crash().open(&store.binlog().path(announced.file_number), &OpenOptions::read());
            let whole = file.and_then(|file| file.len()).expect("it is durable");
            assert!(announced.offset <= whole, "{protocol}, operation {operation}: {announced} of {whole} bytes");
            if finished {
                break;
            }
        }
    }
}
