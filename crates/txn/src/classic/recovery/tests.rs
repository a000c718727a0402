use cohort_binlog::BinlogOptions;
use cohort_engine::Redo;
use cohort_engine::logged::LoggedEngine;
use cohort_io::SimDisk;

use super::*;
use crate::classic::binlog_note::BinlogNote;
use crate::classic::internal_xid;
use crate::tests::{Machine, key};

fn at(file_number: u64, offset: u64) -> BinlogPosition {
    BinlogPosition { file_number, offset }
}

fn engine(disk: &SimDisk) -> Arc<dyn TwoPhase> {
    Arc::new(LoggedEngine::open(disk, Path::new("/data"), "one").expect("an engine"))
}

/// Prepares a transaction that writes one row, which has the key `row`.
fn prepare(engine: &dyn TwoPhase, xid: &Xid, row: u8) {
    let mut redo = Redo::default();
    redo.put(&key(row.into()), b"row");
    engine.prepare(xid, &redo.into_bytes()).expect("a prepare");
}

fn rows(engine: &dyn TwoPhase) -> Vec<u8> {
    (0..10).filter(|row| engine.get(&key((*row).into()), &mut Vec::new()).expect("a read")).collect()
}

/// Durably: the engine has it also after a power cut.
#[test]
fn prepared_transactions_are_decided_by_the_log_and_those_of_clients_are_left() {
    let disk = SimDisk::new(1);
    let end = at(3, 700);
    let engines = [engine(&disk)];
    (1..=5).for_each(|number| prepare(&*engines[0], &internal_xid(1, number), number as u8));
    let foreign = [b"a".as_slice(), b"b"].map(|name| Xid::new(name).expect("a name"));
    foreign.iter().zip(7..).for_each(|(xid, row)| prepare(&*engines[0], xid, row));
    let mut state = EngineState::read_all(&engines).expect("a state").remove(0);
    let note = state.note.raise(0, end);
    let report = decide(state, &[9, 4, 2, 1], note).expect("a decision");
    let decided = (report.prepared, report.committed, report.rolled_back, report.left);
    assert_eq!((report.name, decided), ("one", (7, 3, 2, 2)));
    let after = engine(&disk.crash());
    assert_eq!(rows(&*after), [1, 2, 4]);
    let mut left = after.prepared();
    left.sort();
    assert_eq!(left, foreign);
    assert_eq!(BinlogNote::read(&*after, 1).expect("a note").last, [end]);
}

#[test]
fn an_engine_that_gets_nothing_is_left_no_note() {
    let disk = SimDisk::new(1);
    let engines = [engine(&disk)];
    prepare(&*engines[0], &internal_xid(1, 1), 1);
    let mut state = EngineState::read_all(&engines).expect("a state").remove(0);
    let note = state.note.raise(0, at(3, 700));
    decide(state, &[2], note).expect("a decision");
    let after = engine(&disk.crash());
    assert_eq!((rows(&*after), after.prepared()), (vec![], vec![]));
    assert_eq!(BinlogNote::read(&*after, 1).expect("a note").last, [at(0, 0)]);
}

/// Only what `tc.log` decides needs it: neither a client's transaction nor one that the binlog decides.
#[test]
fn a_missing_tc_log_is_missed_where_only_it_can_decide() {
    let others = Xid::new(b"a").expect("a name");
    for (xid, missed) in [(internal_xid(1, UNLOGGED | 7), true), (internal_xid(1, 7), false), (others, false)] {
        let disk = SimDisk::new(1);
        let engines = [engine(&disk)];
        prepare(&*engines[0], &xid, 1);
        let path = Path::new("/data/tc.log");
        match read_tc_log(&disk, path, &engines) {
            Err(RecoverError::NoTcLog { path: named }) => assert!(missed && named == path, "{xid:?}"),
            found => assert_eq!((found.expect("nothing is missed"), missed), (vec![], false), "{xid:?}"),
        }
        let log = TcLog::create(&disk, path, 1).expect("a log");
        let _place = log.log_xid(UNLOGGED | 7).expect("room");
        assert_eq!(read_tc_log(&disk, path, &engines).expect("a log"), [UNLOGGED | 7], "{xid:?}");
    }
}

fn files(disk: &SimDisk) -> BinlogFiles {
    BinlogFiles::open(Arc::new(disk.clone()), Machine::options(1).binlog).expect("files")
}

/// Damage before the place up to which the binlog was synced is refused, and cut only at the place that was named.
#[test]
fn what_was_synced_is_cut_only_where_the_operator_says() {
    let files = files(&SimDisk::new(1));
    let refuse =
        |whole, cut_at| refuse_rot(&files, &CoordinatorLog { whole, ..CoordinatorLog::default() }, at(3, 500), cut_at);
    for whole in [at(3, 500), at(3, 501), at(4, 0)] {
        assert!(!refuse(whole, None).expect("nothing is lost"), "{whole}");
        assert!(!refuse(whole, Some(whole)).expect("nothing is lost"), "{whole}: no operator's cut");
    }
    let position = |text: &str| Machine::options(1).binlog.position(text).ok();
    // A binlog that has no file at all begins where the synced one did.
    for (whole, damaged) in [(at(3, 499), at(3, 499)), (at(2, 900), at(2, 900)), (at(0, 0), at(3, 0))] {
        for cut_at in [None, Some(at(3, 500)), Some(at(damaged.file_number, damaged.offset + 1))] {
            let error = refuse(whole, cut_at).expect_err("it was synced");
            let RecoverError::BinlogRot { path, offset, what, synced, cut_at } = error else { panic!("{error}") };
            assert_eq!((path, offset), (files.path(damaged.file_number), damaged.offset), "{whole}");
            assert_eq!(position(&cut_at), Some(damaged), "{whole}");
            assert_eq!((what.as_str(), position(&synced)), ("it ends here", Some(at(3, 500))));
        }
        assert!(refuse(whole, Some(damaged)).expect("the operator chose"), "{whole}");
    }
}

#[test]
fn a_file_was_not_begun_where_it_has_no_header_and_not_where_the_disk_fails() {
    let disk = SimDisk::new(1);
    let options: BinlogOptions = Machine::options(1).binlog;
    let path = options.directory.join("binlog.000001");
    let index = options.directory.join("binlog.index");
    let write = |path: &Path, bytes: &[u8]| {
        let file = disk.open(path, &cohort_io::OpenOptions::buffered(cohort_io::Create::IfMissing)).expect("a file");
        file.write_at(0, bytes).expect("a write");
    };
    drop(files(&disk));
    write(&index, b"./binlog.000001\n");
    for content in [None, Some(&b""[..]), Some(b"\xfebi"), Some(b"no binlog at all")] {
        if let Some(content) = content {
            write(&path, content);
        }
        let found = files(&disk).reader(1, ReaderOptions::default()).map(drop);
        let error = found.and_then(|()| begin_file(&files(&disk), 1).map(drop)).expect_err("no header");
        assert!(was_not_begun(&error), "{content:?}: {error}");
        let log = read_coordinator_log(&files(&disk)).expect("a log").expect("a file");
        assert_eq!((log.whole, log.torn.is_some(), log.end), (at(1, 0), true, at(0, 0)), "{content:?}");
    }
    let broken = ReadError::Io(cohort_io::IoError::new("read", &path, std::io::Error::other("a sector")));
    assert!(!was_not_begun(&broken));
}

/// An index without a line is that of a binlog that never was, unless a file says otherwise.
#[test]
fn an_empty_index_is_believed_where_no_file_has_anything() {
    for (commits, rotations, believed) in [(0, 0, true), (1, 0, false), (0, 1, false), (1, 1, false)] {
        let disk = SimDisk::new(1);
        let (store, _) = crate::classic::tests::open(&disk, CommitProtocol::Mysql57).expect("a new store");
        (1..=commits).for_each(|id| assert!(crate::tests::insert(&store, id).is_ok()));
        (0..rotations).for_each(|_| assert!(store.rotate_binlog().is_ok()));
        drop(store);
        let index = Machine::options(1).binlog.directory.join("binlog.index");
        let options = cohort_io::OpenOptions::buffered(cohort_io::Create::Never);
        disk.open(&index, &options).and_then(|file| file.set_len(0)).expect("an index");
        let log = read_coordinator_log(&files(&disk)).expect("a log");
        assert_eq!(log.is_some(), believed, "{commits} commits, {rotations} rotations");
    }
}

/// A file that another server wrote is none that a crash left without its header: nothing of it is cut.
#[test]
fn a_file_without_checksums_stops_the_start() {
    let disk = SimDisk::new(1);
    let (store, _) = crate::classic::tests::open(&disk, CommitProtocol::Mysql57).expect("a new store");
    crate::tests::insert(&store, 1).expect("a commit");
    store.rotate_binlog().expect("another file");
    let path = store.binlog().path(store.binlog().end().expect("a file").file_number);
    drop(store);
    let bytes = cohort_io::read_whole(&disk, &path, 1 << 20).expect("a file");
    let first = u64::from(u32::from_le_bytes(bytes[4 + 9..4 + 13].try_into().expect("its length")));
    // The algorithm stands before the checksum of the first event; 1 is that of the server.
    disk.corrupt(&path, 4 + first - 5, 1);
    let found = read_coordinator_log(&files(&disk)).map(drop);
    assert!(matches!(found, Err(RecoverError::BinlogRead(ReadError::NoChecksums { .. }))), "{found:?}");
}
