//! What a start misses in the binlog, and what it reports.

use super::*;

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

/// Numbers in `tc.log`, and what was cut off the binlog and why.
#[test]
fn a_start_says_what_it_found_in_the_coordinators_logs() {
    let disk = SimDisk::new(22);
    let (store, _) = open(&disk, CommitProtocol::Mysql57).expect("a new store");
    insert(&store, 1).expect("a commit");
    let end = store.binlog().end().expect("a file");
    let path = store.binlog().path(end.file_number);
    store.close().expect("a clean stop");
    drop(store);
    let log = TcLog::create(&disk, Path::new("/data/tc.log"), 9).expect("a log");
    let _places = [1, 2].map(|number| log.log_xid(UNLOGGED | number).expect("room"));
    let file = disk.open(&path, &OpenOptions::buffered(Create::Never)).expect("a file");
    file.write_at(end.offset, &[7; 40]).expect("a torn write");
    let (_, report) = open(&disk, CommitProtocol::Mysql57).expect("a start");
    assert_eq!((report.in_binlog, report.in_tc_log, report.binlog_bytes_cut), (1, 2, 40), "{report}");
    assert!(report.cut_reason.is_some() && !report.cut_by_operator, "{report}");
    // A file that the index lists and that was not begun has nothing to cut.
    let disk = SimDisk::new(23);
    let (store, _) = open(&disk, CommitProtocol::Mysql57).expect("a new store");
    insert(&store, 1).expect("a commit");
    let next = store.binlog().end().expect("a file").file_number + 1;
    store.close().expect("a clean stop");
    let index = disk.open(Path::new("/data/binlog.index"), &OpenOptions::buffered(Create::Never)).expect("an index");
    let line = format!("./{}\n", store.binlog().file_name(next));
    index.write_at(index.len().expect("known"), line.as_bytes()).expect("a line");
    drop(store);
    let (_, report) = open(&disk, CommitProtocol::Mysql57).expect("a start");
    assert_eq!((report.in_binlog, report.binlog_bytes_cut, report.cut_reason), (1, 0, None));
}

/// What is committed is durable in its engine, prepared at least, unless that is only to hand it to the operating system.
#[test]
fn an_engines_log_is_synced_where_that_is_asked_for() {
    for (flush_log_at_trx_commit, may_lose) in [(1, false), (0, true), (2, true)] {
        let loses = |seed: &u64| {
            let disk = SimDisk::new(*seed);
            let (store, _) = open(&disk, CommitProtocol::Mysql57).expect("a new store");
            store.settings().durability.flush_log_at_trx_commit.store(flush_log_at_trx_commit, Ordering::Relaxed);
            insert(&store, 1).expect("a commit");
            let engine = LoggedEngine::open(&disk.crash(), Path::new("/data"), "one").expect("an engine");
            !engine.get(&key(1), &mut Vec::new()).expect("a read") && engine.prepared().is_empty()
        };
        let lost = (1..=20).filter(loses).count();
        assert_eq!(lost > 0, may_lose, "flush_log_at_trx_commit={flush_log_at_trx_commit}: lost {lost} times of 20");
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
