//! One protocol after another on the same disk, and the binlog files that both need.

use super::*;

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

/// Releases from before the mark had the journal only: what it wrote is recovered, with a binlog beside it or without.
#[test]
fn a_directory_without_a_mark_was_written_by_the_journal() {
    for (log_bin, next) in [(true, CommitProtocol::Mysql57), (false, CommitProtocol::TcMmap)] {
        let disk = SimDisk::new(1);
        let options = || StoreOptions { log_bin, ..Machine::options(1) };
        let (store, _) = hand_over_with(&disk, CommitProtocol::Journal, &options).expect("a new store");
        insert_all(&store, 1..=3);
        drop(store);
        let disk = disk.crash();
        disk.remove(Path::new(MARK)).expect("it was there");
        let (store, report) = hand_over_with(&disk, next, &options).expect("a start");
        assert!(matches!(&report, StartReport::Journal(report) if report.records > 0), "{next}: {report}");
        assert_eq!(found(&disk, &store).rows[0], [1, 2, 3], "{next}");
    }
}

/// Nor is a directory new that has lost mark and journal, and still has a binlog.
#[test]
fn a_directory_with_a_binlog_alone_is_not_new() {
    let disk = SimDisk::new(1);
    let (store, _) = hand_over(&disk, CommitProtocol::Journal).expect("a new store");
    insert_all(&store, 1..=3);
    store.close().expect("a clean stop");
    let alone = SimDisk::new(2);
    alone.create_dir_all(Path::new(BINLOG)).expect("made");
    let names = disk.list(Path::new(BINLOG)).expect("a directory");
    for name in names.iter().filter(|name| name.starts_with("binlog.")) {
        let path = Path::new(BINLOG).join(name);
        let bytes = cohort_io::read_whole(&disk, &path, 1 << 20).expect("a file");
        let file = alone.open(&path, &OpenOptions::buffered(Create::New)).expect("made");
        file.write_at(0, &bytes).expect("written");
    }
    let refused = hand_over(&alone, CommitProtocol::Mysql57).map(drop);
    assert!(matches!(refused, Err(OpenError::Journaled(_))), "{refused:?}");
}

/// The journal knows nothing of what an engine has prepared for a client; another classic protocol keeps it.
#[test]
fn what_a_client_prepared_in_an_engine_keeps_the_journal_out() {
    for (next, refused) in [(CommitProtocol::Journal, true), (CommitProtocol::Mysql57, false)] {
        let disk = SimDisk::new(1);
        let (store, _) = hand_over(&disk, CommitProtocol::Mysql56).expect("a new store");
        insert_all(&store, 1..=2);
        store.close().expect("a clean stop");
        drop(store);
        let [one, _] = Source(&disk).engines().expect("engines");
        let mut redo = Redo::default();
        redo.put(&key(9), b"a client's");
        one.prepare(&cohort_engine::Xid::new(b"a client's").expect("a name"), &redo.into_bytes()).expect("prepared");
        one.sync_log().expect("synced");
        drop(one);
        match hand_over(&disk, next) {
            Ok((store, report)) => {
                let StartReport::Classic(report) = &report else { panic!("{report}") };
                assert_eq!((refused, report.engines[0].left), (false, 1));
                insert_all(&store, 3..=3);
            }
            Err(error) => assert!(refused && matches!(error, OpenError::PreparedLeft(1)), "{next}: {error}"),
        }
    }
}

/// What the operator reads of a start is the report of the protocol that wrote the logs.
#[test]
fn a_start_reports_as_the_protocol_that_was_recovered() {
    for protocol in [CommitProtocol::Journal, CommitProtocol::Mysql57] {
        let disk = SimDisk::new(1);
        let (store, report) = hand_over(&disk, protocol).expect("a new store");
        assert!(report.is_clean() && report.to_string().starts_with("recovery: "), "{report}");
        insert_all(&store, 1..=2);
        drop(store);
        let (_, report) = hand_over(&disk.crash(), protocol).expect("a start");
        assert!(!report.is_clean(), "{report}");
        let inner = match &report {
            StartReport::Journal(report) => report.to_string(),
            StartReport::Classic(report) => report.to_string(),
        };
        assert_eq!(report.to_string(), inner);
    }
}
