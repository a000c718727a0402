//! The classic protocols on the simulated disk: crashed and failed at every operation in turn.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
use std::thread;

use cohort_binlog::BinlogPosition;
use cohort_engine::logged::LoggedEngine;
use cohort_engine::redb::{Redb, RedbOptions};
use cohort_engine::{Engine, Redo, TwoPhase, WriteError};
use cohort_io::{Create, Fault, FileSystem, OpenOptions, SimClock, SimDisk};

use super::recovery::DecidedReport;
use super::*;
use crate::journaled::commit::tests::{
    ENGINES, Machine, check, check_snapshots_are_prefixes, committed, found, insert, insert_into, key, log_only, table,
    transfer,
};
use crate::open::{
    DataDirectory, EngineSource, EngineSourceError, Engines, OpenError, Recovered, StartReport, StartupEvent,
};
use crate::store::Store;
use crate::transaction::Read;

fn those(has: impl Fn(CommitProtocol) -> bool) -> Vec<CommitProtocol> {
    CommitProtocol::ALL.into_iter().filter(|protocol| has(*protocol)).collect()
}

static CONSISTENT: LazyLock<Vec<CommitProtocol>> =
    LazyLock::new(|| those(|protocol| protocol.prepares() && protocol.has_binlog()));
/// Those that keep two engines together, with a binlog or without.
static COORDINATED: LazyLock<Vec<CommitProtocol>> = LazyLock::new(|| those(CommitProtocol::prepares));
static DIVERGING: LazyLock<Vec<CommitProtocol>> = LazyLock::new(|| those(CommitProtocol::may_diverge));
const TRANSFERS: u64 = 11;

/// Two engines of different kinds: one with a log beside its map, one whose tree is its log.
fn engines(disk: &SimDisk) -> Result<Vec<Arc<dyn TwoPhase>>, WriteError> {
    let logged = LoggedEngine::open(disk, Path::new("/data"), "one")?;
    let redb = Redb::open(Arc::new(disk.clone()), Path::new("/data/redb"), &RedbOptions::default())
        .map_err(|error| WriteError::Failed { engine: "redb", detail: error.to_string() })?;
    Ok(vec![Arc::new(logged), Arc::new(redb)])
}

pub(super) fn open(disk: &SimDisk, protocol: CommitProtocol) -> Result<(Arc<Store>, ClassicReport), OpenError> {
    open_with(disk, protocol, protocol != CommitProtocol::TcMmap)
}

fn open_with(
    disk: &SimDisk,
    protocol: CommitProtocol,
    log_bin: bool,
) -> Result<(Arc<Store>, ClassicReport), OpenError> {
    open_as(disk, protocol, StoreOptions { log_bin, ..Machine::options(1) })
}

fn open_as(
    disk: &SimDisk,
    protocol: CommitProtocol,
    options: StoreOptions,
) -> Result<(Arc<Store>, ClassicReport), OpenError> {
    let mut report = None;
    let store = open_listening(disk, protocol, options, &mut |found| report = Some(found))?;
    Ok((store, report.expect("a start reports what it found")))
}

fn open_listening(
    disk: &SimDisk,
    protocol: CommitProtocol,
    options: StoreOptions,
    listener: &mut dyn FnMut(ClassicReport),
) -> Result<Arc<Store>, OpenError> {
    recover_with(disk, protocol, options, engines(disk).map_err(RecoverError::from)?, listener)
}

fn recover_with(
    disk: &SimDisk,
    protocol: CommitProtocol,
    options: StoreOptions,
    engines: Vec<Arc<dyn TwoPhase>>,
    listener: &mut dyn FnMut(ClassicReport),
) -> Result<Arc<Store>, OpenError> {
    let (fs, clock) = (Arc::new(disk.clone()), Arc::new(SimClock::new(1_700_000_000_000_000)));
    let listener = &mut |event: StartupEvent<'_>| {
        if let StartupEvent::Report(StartReport::Classic(report)) = event {
            listener(report);
        }
    };
    let engines = Engines::Classic(engines);
    Recovered::from_logs(options, protocol, fs, clock, engines, listener)?.start_stepped(listener)
}

fn insert_all(store: &Arc<Store>, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        insert(store, id).expect("a commit");
    }
}

/// Runs transfers one after the other, with rotations between; returns the ids that were acknowledged.
fn run(disk: &SimDisk, protocol: CommitProtocol) -> Vec<u64> {
    run_with(disk, protocol, protocol != CommitProtocol::TcMmap)
}

fn run_with(disk: &SimDisk, protocol: CommitProtocol, log_bin: bool) -> Vec<u64> {
    let Ok((store, _)) = open_with(disk, protocol, log_bin) else { return Vec::new() };
    let mut acknowledged = Vec::new();
    for id in 1..=TRANSFERS {
        match transfer(&store, id) {
            Ok(_) => acknowledged.push(id),
            Err(_) => break,
        }
        if id % 3 == 0 {
            store.prepare_ahead();
        }
    }
    acknowledged
}

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
fn snapshots_are_prefixes_of_the_binlog() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING) {
        let disk = SimDisk::new(12);
        let (store, _) = open(&disk, *protocol).expect("a new store");
        check_snapshots_are_prefixes(&disk, &store, &format!("{protocol:?}"));
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
        let acknowledged = run_with(&disk, protocol, log_bin);
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

/// Up to where the engines know that the binlog is durable.
fn synced(disk: &SimDisk) -> BinlogPosition {
    let engines = engines(&disk.kill_copy()).expect("engines");
    binlog_note::synced(engines.iter().map(|engine| &**engine as &dyn Engine)).expect("notes")
}

/// A few transfers in one binlog file, and where each ends.
fn run_in_one_file(disk: &SimDisk, protocol: CommitProtocol) -> (Arc<Store>, Vec<BinlogPosition>) {
    let (store, _) = open(disk, protocol).expect("a new store");
    store.settings().max_binlog_size.store(1 << 20, Ordering::Relaxed);
    let ends = (1..=6).map(|id| transfer(&store, id).expect("a commit").position).collect();
    (store, ends)
}

/// A byte that rots while the server is down is no torn end: the start refuses, names the place and takes the
/// operator's word for it. After the place that the engines vouch for it may be one, and the cut is reported.
#[test]
fn what_was_durable_in_the_binlog_does_not_rot_unseen() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING).copied() {
        let disk = SimDisk::new(1);
        let (_store, ends) = run_in_one_file(&disk, protocol);
        for (disk, how) in [(disk.kill_copy(), "kill"), (disk.crash(), "power cut")] {
            let synced = synced(&disk);
            assert!(synced >= ends[ends.len() - 2], "{protocol}, {how}: {synced} of {ends:?}");
            let last = *ends.last().expect("some");
            let path = Path::new("/data").join(format!("binlog.{:06}", last.file_number));
            let length = disk.open(&path, &OpenOptions::read()).and_then(|file| file.len()).expect("a file");
            let (mut refused, mut cut) = (0, 0);
            let edges = [synced.offset - 1, synced.offset, last.offset - 1, length - 1];
            for at in (0..last.offset).step_by(23).chain(edges).filter(|at| *at < length) {
                let context = format!("{protocol}, {how}, byte {at} of {last}, synced to {synced}");
                let disk = disk.kill_copy();
                disk.corrupt(&path, at, 0x40);
                let opened = open(&disk.kill_copy(), protocol);
                if at >= synced.offset {
                    let (_, report) = opened.unwrap_or_else(|error| panic!("{context}: {error}"));
                    let said = report.to_string().contains("binlog bytes cut");
                    assert!(report.binlog_bytes_cut > 0 && said && !report.cut_by_operator, "{context}: {report}");
                    cut += 1;
                    continue;
                }
                let error = opened.map(|(_, report)| report.to_string()).expect_err(&context);
                refused += 1;
                let OpenError::Classic(RecoverError::BinlogRot { path: named, offset, cut_at, .. }) = &error else {
                    assert!(at < 126, "{context}: {error}");
                    continue;
                };
                assert!(*named == path && *offset <= at, "{context}: {error}");
                let mut options = Machine::options(1);
                let place = options.binlog.position(cut_at).expect("a place");
                let beside = BinlogPosition { offset: place.offset + 1, ..place };
                options.binlog_cut_at = Some(beside);
                assert!(open_as(&disk.kill_copy(), protocol, options).is_err(), "{context}: cut elsewhere");
                let options = StoreOptions { binlog_cut_at: Some(place), ..Machine::options(1) };
                let (store, report) = open_as(&disk, protocol, options).expect("the operator chose");
                assert!(report.cut_by_operator && report.to_string().contains("as the operator asked"), "{context}");
                let kept = ends.iter().filter(|end| end.offset <= at).count() as u64;
                assert_eq!(found(&disk, &store).binlog, (1..=kept).collect::<Vec<_>>(), "{context}");
                drop(store);
                open(&disk.crash(), protocol).unwrap_or_else(|error| panic!("{context}, once more: {error}"));
            }
            let vouched_for_all = synced.offset == length;
            assert!(refused > 10 && (cut > 0 || vouched_for_all), "{protocol}, {how}: {refused} refused, {cut} cut");
        }
    }
}

/// Nor is a file that became shorter, or that is gone.
#[test]
fn a_binlog_file_that_was_durable_is_missed() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING).copied() {
        let disk = SimDisk::new(1);
        let (_store, ends) = run_in_one_file(&disk, protocol);
        let disk = disk.crash();
        let file = Path::new("/data/binlog.000001");
        let shorter = disk.kill_copy();
        let opened = shorter.open(file, &OpenOptions::buffered(Create::Never));
        opened.and_then(|file| file.set_len(ends[1].offset)).expect("a file");
        let error = open(&shorter, protocol).map(drop).expect_err("transactions are missing");
        let OpenError::Classic(RecoverError::BinlogRot { offset, .. }) = &error else { panic!("{protocol}: {error}") };
        assert_eq!(*offset, ends[1].offset, "{protocol}: {error}");
        let gone = disk.kill_copy();
        gone.remove(file).expect("a file");
        open(&gone, protocol).map(drop).expect_err("the file is missing");
        gone.remove(Path::new("/data/binlog.index")).expect("an index");
        open(&gone, protocol).map(drop).expect_err("everything is missing");
    }
}

/// Commit records that no commit syncs are synced by and by, and the binlog is vouched for up to its end; so it is
/// after a clean stop, however rarely it was synced.
#[test]
fn an_idle_or_stopped_server_has_vouched_for_all_of_its_binlog() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING).copied() {
        let disk = SimDisk::new(1);
        let (store, ends) = run_in_one_file(&disk, protocol);
        let mut seen = Vec::new();
        (0..2).for_each(|_| store.path::<ClassicCoordinator>().sync_left(&mut seen).expect("a sync"));
        assert_eq!(Some(&synced(&disk.kill_copy().crash())), ends.last(), "{protocol}");
        store.settings().durability.sync_binlog.store(0, Ordering::Relaxed);
        let end = transfer(&store, 7).expect("a commit").position;
        assert!(synced(&disk.kill_copy().crash()) < end, "{protocol}: it was not synced");
        store.close().expect("a clean stop");
        assert_eq!(synced(&disk.kill_copy().crash()), end, "{protocol}");
    }
}

/// With `sync_binlog` other than 1 a power cut may take from the binlog what the engines have. The server starts, and
/// says so.
#[test]
fn a_binlog_that_was_not_synced_may_lose_its_end_and_the_start_says_so() {
    for (protocol, every) in CONSISTENT.iter().chain(&*DIVERGING).flat_map(|protocol| [(*protocol, 0), (*protocol, 3)])
    {
        let mut reported = 0;
        for operation in (0..).step_by(3) {
            let disk = SimDisk::new(operation + 1);
            let (store, _) = open(&disk, protocol).expect("a new store");
            store.settings().durability.sync_binlog.store(every, Ordering::Relaxed);
            let fault = disk.operations() + operation;
            disk.set_fault(fault, Fault::PowerCut);
            let done = (1..=TRANSFERS).take_while(|id| transfer(&store, *id).is_ok()).count();
            drop(store);
            let disk = disk.crash();
            let context = format!("{protocol}, sync_binlog={every}, power cut at operation {operation}");
            let (store, report) = open(&disk, protocol).unwrap_or_else(|error| panic!("{context}: {error}"));
            let there = found(&disk, &store);
            let lacks = there.rows.iter().flatten().any(|id| !there.binlog.contains(id));
            assert!(!lacks || !report.divergences.is_empty(), "{context}: {there:?}: {report}");
            reported += u64::from(lacks);
            if done as u64 == TRANSFERS {
                break;
            }
        }
        assert!(reported > 0, "{protocol}, sync_binlog={every}: the binlog never lost its end");
    }
}

#[test]
fn a_start_says_whether_the_stop_was_clean_and_what_it_found() {
    for protocol in CONSISTENT.iter().copied() {
        let disk = SimDisk::new(21);
        let (store, report) = open(&disk, protocol).expect("a new store");
        assert!(report.clean_stop && report.is_clean() && report.in_binlog == 0, "{protocol}: {report}");
        (1..=2).for_each(|id| assert!(transfer(&store, id).is_ok()));
        let killed = disk.kill_copy();
        store.close().expect("a clean stop");
        drop(store);
        let (_, report) = open(&disk, protocol).expect("a start");
        assert_eq!((report.protocol.clone(), report.clean_stop, report.is_clean()), (protocol.to_string(), true, true));
        let (_, report) = open(&killed, protocol).expect("a start");
        let found = (report.clean_stop, report.is_clean(), report.in_binlog, report.in_tc_log);
        assert_eq!(found, (false, false, 2, 0), "{protocol}");
    }
}

#[test]
fn a_report_is_clean_if_and_only_if_there_was_nothing_to_do() {
    let engine = DecidedReport {
        name: "redb",
        prepared: 0,
        committed: 0,
        rolled_back: 0,
        left: 0,
        log_bytes_cut: 0,
        decide_us: 2_500,
    };
    let clean = ClassicReport {
        protocol: "mysql57".to_owned(),
        clean_stop: true,
        in_binlog: 4,
        binlog_us: 1_500,
        engines: vec![engine.clone()],
        ..ClassicReport::default()
    };
    assert!(clean.is_clean());
    let said = "recovery: mysql57, 4 transactions in the last binlog file, 0 in tc.log; redb: 0 prepared, of them 0 \
                committed, 0 rolled back, 0 left; 1.5 ms for the binlog, 2.5 ms for redb";
    assert_eq!(clean.to_string(), said);
    let prepared = DecidedReport { prepared: 1, committed: 1, ..engine.clone() };
    let torn = DecidedReport { log_bytes_cut: 9, ..engine };
    let cases = [
        (ClassicReport { clean_stop: false, ..clean.clone() }, ""),
        (ClassicReport { binlog_bytes_cut: 7, ..clean.clone() }, "; 7 binlog bytes cut (space set aside)"),
        (ClassicReport { divergences: vec!["that".to_owned()], ..clean.clone() }, "; DIVERGED: that"),
        (ClassicReport { engines: vec![prepared], ..clean.clone() }, "1 prepared, of them 1 committed"),
        (ClassicReport { engines: vec![torn], ..clean.clone() }, "0 left, 9 bytes cut off its log; 1.5"),
    ];
    for (report, says) in cases {
        assert!(!report.is_clean() && report.to_string().contains(says), "{report}");
    }
    let waiting = ClassicReport { xa_prepared: 3, ..clean };
    assert!(waiting.is_clean(), "somebody else decides");
    assert_eq!(waiting.to_string(), format!("{said}; 3 XA transactions wait for their decision"));
}

/// The engines of a disk in either form.
struct Source<'d>(&'d SimDisk);

impl Source<'_> {
    fn engines(&self) -> Result<[Arc<LoggedEngine>; 2], WriteError> {
        let open = |name| LoggedEngine::open(self.0, Path::new("/data"), name).map(Arc::new);
        Ok([open("one")?, open("two")?])
    }
}

impl EngineSource for Source<'_> {
    fn journaled(&self) -> Result<Vec<Arc<dyn Engine>>, EngineSourceError> {
        let [one, two] = self.engines()?;
        Ok(vec![one, two])
    }

    fn two_phase(&self) -> Result<Vec<Arc<dyn TwoPhase>>, EngineSourceError> {
        let [one, two] = self.engines()?;
        Ok(vec![one, two])
    }
}

/// Opens with any protocol, after whichever wrote the logs.
fn hand_over(disk: &SimDisk, protocol: CommitProtocol) -> Result<(Arc<Store>, StartReport), OpenError> {
    let (fs, clock) = (Arc::new(disk.clone()), Arc::new(SimClock::new(1_700_000_000_000_000)));
    let options = || Machine::options(1);
    let (mark, engines) = ("/data/mark".into(), Source(disk));
    let directory = DataDirectory { fs: fs.clone(), clock: clock.clone(), mark, options: &options, engines: &engines };
    let mut report = None;
    let store = directory.open_stepped(protocol, &mut |reported| match reported {
        StartupEvent::Progress(_) => {}
        StartupEvent::Report(found) => assert!(report.replace(found).is_none(), "reported once"),
    })?;
    Ok((store, report.expect("a start reports what it found")))
}

/// Rotations and a purge between inserts, whatever fails; returns the ids that were acknowledged.
fn run_with_purge(disk: &SimDisk, protocol: CommitProtocol) -> Vec<u64> {
    let Ok((store, _)) = hand_over(disk, protocol) else { return Vec::new() };
    let mut acknowledged = Vec::new();
    for id in 1..=6 {
        if id == 3 || id == 5 {
            let _ = store.rotate_binlog();
        }
        if id == 4 || id == 6 {
            // The checkpoint lies in a file that is purged, or in one before.
            let _ = store.purge_binlog(u64::MAX);
        }
        acknowledged.extend(insert(&store, id).is_ok().then_some(id));
    }
    acknowledged
}

/// A recovery needs files from before the current one, and an index that could not be replaced for certain is not
/// written any more.
#[test]
fn a_purge_takes_nothing_that_a_recovery_needs() {
    for (protocol, fault) in [
        (CommitProtocol::Journal, Fault::PowerCut),
        (CommitProtocol::Journal, Fault::Error),
        (CommitProtocol::Mysql57, Fault::PowerCut),
        (CommitProtocol::Mysql57, Fault::Error),
    ] {
        for operation in 0.. {
            let disk = SimDisk::new(operation + 1);
            disk.set_fault(operation, fault);
            let acknowledged = run_with_purge(&disk, protocol);
            let finished = disk.operations() <= operation;
            for (disk, how) in [(disk.kill_copy(), "kill"), (disk.crash(), "power cut")] {
                let context = format!("{protocol}, {fault:?} at operation {operation}, {how}");
                if fault == Fault::PowerCut && how == "kill" {
                    continue;
                }
                let (store, _) = hand_over(&disk, protocol).unwrap_or_else(|error| panic!("{context}: {error}"));
                let rows = &found(&disk, &store).rows[0];
                assert!(acknowledged.iter().all(|id| rows.contains(id)), "{context}: {rows:?} of {acknowledged:?}");
                insert(&store, 7).unwrap_or_else(|error| panic!("{context}: the server does not go on: {error}"));
            }
            if finished {
                assert_eq!(acknowledged.len(), 6, "{protocol}");
                break;
            }
        }
    }
}

/// The room of a binlog file is set aside before a rotation is ordered: without, nothing is harmed (I8).
#[test]
fn a_rotation_without_room_is_refused_and_the_server_goes_on() {
    for protocol in [CommitProtocol::Journal, CommitProtocol::Mysql57] {
        let disk = SimDisk::new(1);
        let (store, _) = hand_over(&disk, protocol).expect("a new store");
        insert(&store, 1).expect("a commit");
        disk.set_capacity(disk.used_bytes());
        let refused = (0..3).find_map(|_| store.rotate_binlog().err()).expect("no room for three files");
        assert!(matches!(refused, CommitError::NoSpace(_)), "{protocol}: {refused}");
        let full = insert(&store, 2).map(drop);
        assert!(matches!(full, Ok(()) | Err(CommitError::NoSpace(_))), "{protocol}: {full:?}");
        disk.set_capacity(u64::MAX);
        let before = store.executed().0.file_number;
        store.rotate_binlog().expect("room");
        assert!(store.executed().0.file_number > before, "{protocol}");
        insert(&store, 3).expect("a commit");
        drop(store);
        let disk = disk.crash();
        let (store, _) = hand_over(&disk, protocol).expect("a recovery");
        let expected: &[u64] = if full.is_ok() { &[1, 2, 3] } else { &[1, 3] };
        assert_eq!(found(&disk, &store).binlog, expected, "{protocol}");
    }
}

/// Every protocol that keeps binlog and engines together, and the journal before, between and after them.
const RELAY: [CommitProtocol; 6] = [
    CommitProtocol::Journal,
    CommitProtocol::Mysql50 { support_xa: true },
    CommitProtocol::Mysql56,
    CommitProtocol::Journal,
    CommitProtocol::Mariadb { commit_flush: false },
    CommitProtocol::Journal,
];

/// A few transfers under each protocol of the relay, with clean stops between; returns the ids that were
/// acknowledged.
fn run_relay(disk: &SimDisk) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    for (leg, protocol) in RELAY.into_iter().enumerate() {
        let Ok((store, _)) = hand_over(disk, protocol) else { return acknowledged };
        for id in 1..=2 {
            let id = leg as u64 * 2 + id;
            match transfer(&store, id) {
                Ok(_) => acknowledged.push(id),
                Err(_) => return acknowledged,
            }
        }
        if store.close().is_err() {
            return acknowledged;
        }
    }
    acknowledged
}

#[test]
fn protocols_hand_over_to_each_other() {
    let disk = SimDisk::new(1);
    let acknowledged = run_relay(&disk);
    assert_eq!(acknowledged.len(), RELAY.len() * 2);
    let disk = disk.crash();
    let (store, report) = hand_over(&disk, CommitProtocol::Mysql41).expect("a start");
    assert!(matches!(report, StartReport::Journal(report) if report.is_clean()));
    check(&found(&disk, &store), &acknowledged, "the relay");
}

/// Crashes at operation 0, 1, 2 … of the relay; another protocol than the one that was at work takes over, and is
/// crashed itself every other time.
#[test]
fn a_crash_on_the_way_from_one_protocol_to_another_loses_nothing() {
    let mut recovered = [0, 0];
    for operation in 0.. {
        let disk = SimDisk::new(operation + 1);
        disk.set_fault(operation, Fault::PowerCut);
        let acknowledged = run_relay(&disk);
        let finished = disk.operations() <= operation;
        let next = |salt: u64| RELAY[(operation + salt) as usize % RELAY.len()];
        let mut disk = disk.crash();
        if operation % 2 == 1 {
            disk.set_fault(operation / 2 % 40, Fault::PowerCut);
            drop(hand_over(&disk, next(1)));
            disk = disk.crash();
        }
        let context = format!("crash at operation {operation}");
        let (store, report) = hand_over(&disk, next(2)).unwrap_or_else(|error| panic!("{context}: {error}"));
        match report {
            StartReport::Journal(report) => recovered[0] += u64::from(!report.is_clean()),
            StartReport::Classic(report) => recovered[1] += u64::from(!report.is_clean()),
        }
        let there = found(&disk, &store);
        check(&there, &acknowledged, &context);
        let next = there.counter + 1;
        transfer(&store, next).unwrap_or_else(|error| panic!("{context}: the server does not go on: {error}"));
        check(&found(&disk, &store), &[next], &context);
        if finished {
            break;
        }
    }
    assert!(recovered[0] > 0 && recovered[1] > 0, "{recovered:?}: each kind recovered what the other asked for");
}

/// What the journal left in the last binlog file is in the engines, and none of it is reported as lost when a protocol
/// that takes over is cut short.
#[test]
fn nothing_of_the_journal_looks_lost_to_the_protocol_after_it() {
    for protocol in CONSISTENT.iter().chain(&*DIVERGING) {
        for operation in 0.. {
            let disk = SimDisk::new(operation + 1);
            let (store, _) = hand_over(&disk, CommitProtocol::Journal).expect("a new store");
            insert_all(&store, 1..=2);
            store.close().expect("a clean stop");
            let fault = disk.operations() + operation;
            disk.set_fault(fault, Fault::PowerCut);
            drop(hand_over(&disk, *protocol));
            let finished = disk.operations() <= fault;
            let (_, report) = hand_over(&disk.crash(), *protocol).expect("a start");
            if let StartReport::Classic(report) = report {
                assert!(report.divergences.is_empty(), "{protocol}, crash at operation {operation}: {report}");
            }
            if finished {
                break;
            }
        }
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
