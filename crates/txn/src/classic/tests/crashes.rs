//! Crashed and failed at every operation in turn.

use super::*;

#[test]
fn a_run_without_faults_commits_everything() {
    for protocol in COORDINATED.iter().chain(&*DIVERGING) {
        let disk = SimDisk::new(1);
        let acknowledged = run(&disk, *protocol);
        assert_eq!(acknowledged.len() as u64, TRANSFERS, "{protocol:?}");
        let disk = disk.crash();
        let (store, _) = open(&disk, *protocol).unwrap_or_else(|error| panic!("{protocol:?}: {error}"));
        check(&found(&disk, &store), &acknowledged, &format!("{protocol:?}"));
        assert!(!store.log_bin() || store.binlog().list().len() > 3, "{protocol:?}: rotations happened");
    }
}

#[test]
fn a_crash_at_any_operation_keeps_binlog_and_engines_together() {
    for protocol in COORDINATED.iter().copied() {
        crash_at_every_operation(protocol, protocol != CommitProtocol::TcMmap);
    }
}

/// Whatever a protocol does with its binlog: what is not in it is kept together by `tc.log`. A binlog file of an
/// earlier run has no say in that.
#[test]
fn a_crash_at_any_operation_keeps_the_engines_together_without_a_binlog() {
    for protocol in [CommitProtocol::Mysql57, CommitProtocol::Mysql41] {
        crash_at_every_operation(protocol, false);
    }
}

/// A run with a binlog, whose last file goes on to be the last one.
fn leave_numbers_in_the_binlog(disk: &SimDisk, protocol: CommitProtocol) {
    let (store, _) = open_with(disk, protocol, true).expect("a new store");
    for id in 1..=TRANSFERS {
        log_only(&store, id).expect("a commit");
    }
    store.close().expect("a clean stop");
}

/// Crashes at operation 0, 1, 2 … until a run ends without reaching it; the recovery is crashed too.
fn crash_at_every_operation(protocol: CommitProtocol, log_bin: bool) {
    let (mut committed, mut rolled_back) = (0, 0);
    for operation in 0.. {
        let disk = SimDisk::new(operation + 1);
        if !log_bin && protocol != CommitProtocol::TcMmap {
            leave_numbers_in_the_binlog(&disk, protocol);
        }
        let fault = disk.operations() + operation;
        disk.set_fault(fault, Fault::PowerCut);
        let options = StoreOptions { log_bin, gtid_mode: mode_of(operation), ..Machine::options(1) };
        let acknowledged = run_with(&disk, protocol, options);
        let finished = disk.operations() <= fault;
        let mut disk = disk.crash();
        if operation % 2 == 1 {
            disk.set_fault(operation / 2 % 20, Fault::PowerCut);
            drop(open_with(&disk, protocol, log_bin));
            disk = disk.crash();
        }
        let context = format!("{protocol:?}, crash at operation {operation}");
        let (store, report) = open_with(&disk, protocol, log_bin).unwrap_or_else(|error| panic!("{context}: {error}"));
        let there = found(&disk, &store);
        check(&there, &acknowledged, &context);
        let next = there.counter + 1;
        transfer(&store, next).unwrap_or_else(|error| panic!("{context}: the server does not go on: {error}"));
        check(&found(&disk, &store), &[next], &context);
        committed += report.engines.iter().map(|engine| engine.committed).sum::<u64>();
        rolled_back += report.engines.iter().map(|engine| engine.rolled_back).sum::<u64>();
        if finished {
            assert!(operation > 60, "the sweep reached the logs' writes");
            break;
        }
    }
    assert!(committed > 0 && rolled_back > 0, "{protocol:?}: recovery decided both ways");
}

/// I6: after an error anywhere nothing acknowledged is lost, and nothing is there twice or by half. A restarted server
/// reads what a failed sync left in the system's cache, and the power goes later.
#[test]
fn what_a_failed_sync_left_readable_is_made_durable_before_it_decides() {
    for protocol in COORDINATED.iter().copied() {
        for operation in 0.. {
            let disk = SimDisk::new(operation + 1);
            disk.set_fault(operation, Fault::Error);
            let acknowledged = run(&disk, protocol);
            let finished = disk.operations() <= operation;
            let disk = disk.kill();
            let context = format!("{protocol:?}, error at operation {operation}");
            drop(open(&disk, protocol).unwrap_or_else(|error| panic!("{context}: {error}")));
            let disk = disk.crash();
            let (store, _) = open(&disk, protocol).unwrap_or_else(|error| panic!("{context}: {error}"));
            check(&found(&disk, &store), &acknowledged, &context);
            if finished {
                break;
            }
        }
    }
}

/// A row in both engines and an event; no lock is shared with other transactions.
fn insert_in_both(store: &Arc<Store>, id: u64) -> Result<Committed, CommitError> {
    let mut transaction = store.begin();
    ENGINES.iter().for_each(|engine| transaction.put(*engine, &key(id), b"row"));
    let image = [&[0u8][..], &(id as i64).to_le_bytes()].concat();
    transaction.events().write_row(&table(), &image);
    transaction.events().end_statement();
    store.commit_and_wait(transaction)
}

/// What one session relies on is not lost by what another one does meanwhile.
#[test]
fn a_crash_under_concurrent_sessions_keeps_binlog_and_engines_together() {
    for protocol in COORDINATED.iter().copied() {
        for seed in 0..60 {
            let disk = SimDisk::new(seed);
            let (store, _) = open(&disk, protocol).expect("a new store");
            disk.set_fault(disk.operations() + 20 + 5 * seed, Fault::PowerCut);
            let acknowledged: Vec<u64> = thread::scope(|scope| {
                let sessions: Vec<_> = (0..4)
                    .map(|session| {
                        let store = &store;
                        let ids = (1..=50).map(move |round| session * 50 + round);
                        scope.spawn(move || ids.take_while(|id| insert_in_both(store, *id).is_ok()).collect::<Vec<_>>())
                    })
                    .collect();
                sessions.into_iter().flat_map(|session| session.join().expect("no panic")).collect()
            });
            drop(store);
            let disk = disk.crash();
            let context = format!("{protocol:?}, seed {seed}");
            let (store, _) = open(&disk, protocol).unwrap_or_else(|error| panic!("{context}: {error}"));
            let there = found(&disk, &store);
            let ids = committed(&there);
            assert_eq!((&ids, &ids), (&there.rows[0], &there.rows[1]), "{context}");
            let lost = acknowledged.iter().find(|id| !ids.contains(id));
            assert_eq!(lost, None, "{context}: acknowledged and lost");
        }
    }
}

/// Without its log the coordinator cannot decide: it says so instead of guessing.
#[test]
fn a_missing_tc_log_stops_the_start() {
    let refused = (60..400).find_map(|operation| {
        let disk = SimDisk::new(1);
        disk.set_fault(operation, Fault::PowerCut);
        run(&disk, CommitProtocol::TcMmap);
        let disk = disk.crash();
        let prepared = engines(&disk).expect("engines").iter().any(|engine| !engine.prepared().is_empty());
        disk.remove(Path::new("/data/tc.log")).expect("a coordinator's log");
        prepared.then(|| open(&disk, CommitProtocol::TcMmap).map(drop))
    });
    let refused = refused.expect("a crash with prepared transactions").expect_err("nobody can decide");
    assert!(matches!(refused, OpenError::Classic(RecoverError::NoTcLog { .. })), "{refused}");
}

/// No follower gets an OK because its leader's sync failed, and none is left waiting.
#[test]
fn a_failed_sync_fails_the_whole_group() {
    for protocol in COORDINATED.iter().copied() {
        for skipped in 0..30 {
            let disk = SimDisk::new(skipped + 1);
            let (store, _) = open(&disk, protocol).expect("a new store");
            disk.set_fault(disk.operations() + 40 + skipped, Fault::Error);
            let outcomes: Vec<(u64, bool)> = thread::scope(|scope| {
                let sessions: Vec<_> = (0..4)
                    .map(|session| {
                        let store = &store;
                        let ids = (0..10).map(move |round| 1 + session * 10 + round);
                        scope.spawn(move || ids.map(|id| (id, transfer(store, id).is_ok())).collect::<Vec<_>>())
                    })
                    .collect();
                sessions.into_iter().flat_map(|session| session.join().expect("no panic")).collect()
            });
            let failed = outcomes.iter().filter(|(_, ok)| !ok).count();
            assert!(failed > 0, "{protocol:?}: the fault was not reached");
            drop(store);
            let disk = disk.crash();
            let (store, _) = open(&disk, protocol).expect("a recovery");
            let there = found(&disk, &store);
            for (id, _) in outcomes.iter().filter(|(_, ok)| *ok) {
                assert!(committed(&there).contains(id), "{protocol:?}: {id} was acknowledged and is lost");
            }
            let ids = committed(&there);
            assert_eq!((&ids, &ids), (&there.rows[0], &there.rows[1]), "{protocol:?}");
        }
    }
}
