//! What a crash can leave in one log only, and that recovery says so.

use super::*;

/// What the sources warn of: without prepare there is a moment at which a crash leaves a transaction in
/// one log only. Recovery says so where it is so, and only there; one that is cut short says so, or the next does.
#[test]
fn without_prepare_a_crash_can_leave_binlog_and_engines_different_and_recovery_says_so() {
    for protocol in DIVERGING.iter().copied() {
        let (mut diverged, mut reported_by_second) = (0, 0);
        for operation in 0.. {
            let disk = SimDisk::new(operation + 1);
            disk.set_fault(operation, Fault::PowerCut);
            run(&disk, protocol);
            let finished = disk.operations() <= operation;
            let disk = disk.crash();
            let mut reported = Vec::new();
            disk.set_fault(operation * 7 % 97, Fault::PowerCut);
            let listener = &mut |report: ClassicReport| reported.extend(report.divergences);
            drop(open_listening(&disk, protocol, Machine::options(1), listener));
            let reported_by_first = reported.len();
            let disk = disk.crash();
            let (store, report) = open(&disk, protocol).expect("a recovery");
            reported.extend(report.divergences);
            let there = found(&disk, &store);
            let differ = there.binlog != there.rows[0] || there.rows[0] != there.rows[1];
            let context =
                format!("{protocol}, crash at operation {operation}: binlog {:?}, rows {:?}", there.binlog, there.rows);
            assert_eq!(!reported.is_empty(), differ, "{context}: {reported:?}");
            diverged += u64::from(differ);
            reported_by_second += u64::from(reported_by_first < reported.len());
            drop(store);
            let (_, report) = open(&disk.crash(), protocol).expect("another recovery");
            assert!(report.divergences.is_empty(), "{context}: reported again: {report}");
            if finished {
                break;
            }
        }
        assert!(
            diverged > reported_by_second && reported_by_second > 0,
            "{protocol}: {reported_by_second} of {diverged}"
        );
    }
}

/// A statement that changes no engine is in the binlog alone, and an engine notes that. A crash right after it, or
/// after a commit in another engine, does not make it look lost.
#[test]
fn what_is_in_the_binlog_alone_is_not_reported_as_lost() {
    for (protocol, seed) in DIVERGING.iter().copied().flat_map(|protocol| (0..20).map(move |seed| (protocol, seed))) {
        let disk = SimDisk::new(seed);
        let (store, _) = open(&disk, protocol).expect("a new store");
        log_only(&store, 1).expect("a commit");
        let alone = disk.kill_copy().crash();
        insert_into(&store, ENGINES[1], 2).expect("a commit");
        for disk in [alone, disk.crash()] {
            let (_, report) = open(&disk, protocol).expect("a recovery");
            assert!(report.divergences.is_empty(), "{protocol}, seed {seed}: {report}");
        }
    }
}

/// Recovers after two power cuts, one of them in the first recovery; what both reported, and the rows then.
fn recover_twice(disk: SimDisk, protocol: CommitProtocol, cut: u64) -> (Vec<String>, [Vec<u64>; 2]) {
    let mut reported = Vec::new();
    let disk = disk.crash();
    disk.set_fault(cut, Fault::PowerCut);
    let listener = &mut |report: ClassicReport| reported.extend(report.divergences);
    drop(open_listening(&disk, protocol, Machine::options(1), listener));
    let disk = disk.crash();
    let (store, report) = open(&disk, protocol).expect("a recovery");
    reported.extend(report.divergences);
    (reported, found(&disk, &store).rows)
}

/// What an engine lost is reported, and nothing else, also where the first recovery decides something in the binlog after
/// it and is cut short.
#[test]
fn what_an_engine_lost_is_reported_beside_what_recovery_commits() {
    // Some sync every engine with each group: beside what they commit nothing is lost.
    let mut committed = 0;
    for protocol in CONSISTENT.iter().copied() {
        for (operation, cut) in (0..16).flat_map(|operation| (0..40).map(move |cut| (operation, cut))) {
            let disk = SimDisk::new(operation);
            let (store, _) = open(&disk, protocol).expect("a new store");
            let flush = &store.settings().durability.flush_log_at_trx_commit;
            flush.store(0, Ordering::Relaxed);
            insert_into(&store, ENGINES[0], 1).expect("a commit");
            flush.store(1, Ordering::Relaxed);
            disk.set_fault(disk.operations() + operation, Fault::PowerCut);
            let _ = insert_into(&store, ENGINES[1], 2);
            drop(store);
            let (reported, rows) = recover_twice(disk, protocol, cut);
            let context = format!("{protocol}, power cuts at {operation} and {cut}: {rows:?}");
            assert_eq!(reported.is_empty(), rows[0] == [1], "{context}: {reported:?}");
            assert!(reported.iter().all(|reported| reported.ends_with(":1")), "{context}: {reported:?}");
            committed += u64::from(rows == [vec![], vec![2]]);
        }
    }
    assert!(committed > 0, "recovery never committed anything beside a loss");
}

/// The same of what recovery commits that is not in the binlog, by a protocol without prepare.
#[test]
fn what_an_engine_lost_is_reported_beside_what_tc_log_has() {
    for protocol in DIVERGING.iter().copied() {
        let mut committed = 0;
        for (seed, cut) in (0..10).flat_map(|seed| (0..40).map(move |cut| (seed, cut))) {
            let disk = SimDisk::new(seed);
            let engines = engines(&disk).expect("engines");
            let options = Machine::options(1);
            let tc_log = options.tc_log.clone();
            let store = recover_with(&disk, protocol, options, engines.clone(), &mut |_| {});
            let store = store.expect("a new store");
            let (mut unlogged, xid) = (Redo::default(), internal_xid(1, UNLOGGED | 7));
            unlogged.put(&key(3), b"row");
            let unlogged = unlogged.into_bytes();
            let prepared = engines.iter().try_for_each(|engine| engine.prepare(&xid, &unlogged));
            prepared.and_then(|()| engines.iter().try_for_each(|engine| engine.sync_log())).expect("a prepare");
            let logged = TcLog::create(&disk, &tc_log, 1).map(|log| log.log_xid(UNLOGGED | 7).is_ok());
            assert!(logged.expect("a coordinator's log"));
            let flush = &store.settings().durability.flush_log_at_trx_commit;
            flush.store(0, Ordering::Relaxed);
            insert_into(&store, ENGINES[0], 1).expect("a commit");
            flush.store(1, Ordering::Relaxed);
            insert_into(&store, ENGINES[1], 2).expect("a commit");
            drop(store);
            let (reported, rows) = recover_twice(disk, protocol, cut);
            let context = format!("{protocol}, seed {seed}, power cut at {cut}: {rows:?}");
            assert!(rows == [vec![1, 3], vec![2, 3]] || rows == [vec![3], vec![2, 3]], "{context}");
            assert_eq!(reported.is_empty(), rows[0] == [1, 3], "{context}: {reported:?}");
            assert!(reported.iter().all(|reported| reported.ends_with(":1")), "{context}: {reported:?}");
            committed += u64::from(!reported.is_empty());
        }
        assert!(committed > 0, "{protocol}: nothing was ever lost");
    }
}
