mod following;
mod places;
mod points;
mod recovery;

use std::path::Path;

use cohort_io::{Fault, RealFs, SimDisk};

use super::super::{
    EventOptions, FileStart, Gtid, ServerIdentity, ServerUuid, Stamp, TransactionEvents, file_header, rotate_event,
};
use super::*;

const DIRECTORY: &str = "/binlogs";
const UUID: ServerUuid = ServerUuid::from_bytes([7; 16]);

/// What a journal would hold: every chunk of bytes with its place, in order.
#[derive(Clone, Default)]
struct Chunks {
    chunks: Vec<(BinlogPosition, Vec<u8>)>,
    executed: GtidSet,
    /// Of the last transaction of the file.
    sequence_number: u64,
}

impl Chunks {
    fn end(&self) -> Option<BinlogPosition> {
        end_of(&self.chunks)
    }

    fn identity() -> ServerIdentity {
        ServerIdentity { server_id: 1, server_version: "8.0.40-cohort".to_owned() }
    }

    fn begin_file(&mut self) {
        let file_number = match self.end() {
            None => 1,
            Some(end) => {
                let rotate = rotate_event(1, 5, end.offset, &file_name("binlog", end.file_number + 1));
                self.chunks.push((end, rotate));
                end.file_number + 1
            }
        };
        let header = file_header(&Chunks::identity(), FileStart::Rotation, 5, &self.executed);
        self.chunks.push((BinlogPosition { file_number, offset: 0 }, header));
        self.sequence_number = 0;
    }

    fn commit(&mut self, bytes: usize) {
        let end = self.end().expect("a file has begun");
        let gtid = Gtid { uuid: UUID, gno: self.executed.count() + 1 };
        let mut events = TransactionEvents::new(EventOptions::default());
        events.query("", format!("/* {} */ DO 1", "x".repeat(bytes)));
        self.sequence_number += 1;
        let sequence_number = self.sequence_number;
        let stamp = Stamp { gtid: Some(gtid), last_committed: 0, sequence_number, xid: gtid.gno, commit_time_us: 9 };
        let mut laid_out = Vec::new();
        events.lay_out(&mut laid_out, end.offset, &stamp);
        self.executed.insert(gtid);
        self.chunks.push((end, laid_out));
    }

    /// Bytes of each file, by number.
    fn files(&self) -> Vec<(u64, Vec<u8>)> {
        let mut files: Vec<(u64, Vec<u8>)> = Vec::new();
        for (at, bytes) in &self.chunks {
            if at.offset == 0 {
                files.push((at.file_number, Vec::new()));
            }
            files.last_mut().expect("a file begins at 0").1.extend_from_slice(bytes);
        }
        let last = files.len().saturating_sub(1);
        files.iter_mut().take(last).for_each(|(_, bytes)| bytes[IN_USE_AT as usize] = 0);
        files
    }
}

fn three_files() -> Chunks {
    let mut chunks = Chunks::default();
    for file in 0..3 {
        chunks.begin_file();
        (0..6).for_each(|i| chunks.commit(300 * i + 100 * file));
    }
    chunks
}

fn options() -> BinlogOptions {
    BinlogOptions { reserve_step_bytes: 64 << 10, ..BinlogOptions::new(DIRECTORY) }
}

fn open(disk: &SimDisk) -> Result<BinlogFiles, BinlogError> {
    BinlogFiles::open(Arc::new(disk.clone()), options())
}

/// Opens and recovers from `chunks`.
fn recover(disk: &SimDisk, chunks: &[(BinlogPosition, Vec<u8>)]) -> Result<(BinlogFiles, RecoveredFiles), BinlogError> {
    let files = open(disk)?;
    chunks.iter().try_for_each(|(at, bytes)| files.replay(*at, bytes))?;
    let recovered = files.finish_recovery(end_of(chunks))?;
    Ok((files, recovered))
}

fn end_of(chunks: &[(BinlogPosition, Vec<u8>)]) -> Option<BinlogPosition> {
    let (at, bytes) = chunks.last()?;
    Some(BinlogPosition { offset: at.offset + bytes.len() as u64, ..*at })
}

fn append_all(files: &BinlogFiles, chunks: &[(BinlogPosition, Vec<u8>)]) -> Result<(), BinlogError> {
    for (at, bytes) in chunks {
        files.reserve(bytes.len() as u64)?;
        files.append(*at, bytes)?;
    }
    Ok(())
}

fn assert_holds(disk: &SimDisk, files: &BinlogFiles, expected: &Chunks) {
    let expected_files = expected.files();
    let listed: Vec<(u64, u64)> = files.list().iter().map(|file| (file.number, file.bytes)).collect();
    let lengths: Vec<(u64, u64)> = expected_files.iter().map(|(n, bytes)| (*n, bytes.len() as u64)).collect();
    assert_eq!(listed, lengths);
    for (number, bytes) in &expected_files {
        let path = files.path(*number);
        let found = cohort_io::read_whole(disk, &path, 1 << 30).expect("readable");
        assert!(found == *bytes, "{} differs", path.display());
    }
    let index = cohort_io::read_whole(disk, Path::new("/binlogs/binlog.index"), 1 << 20).expect("readable");
    let names: String = lengths.iter().map(|(n, _)| format!("./{}\n", file_name("binlog", *n))).collect();
    assert_eq!(String::from_utf8_lossy(&index), names);
    let others: Vec<String> = disk
        .list(Path::new(DIRECTORY))
        .expect("listed")
        .into_iter()
        .filter(|name| name != "binlog.index" && !lengths.iter().any(|(n, _)| *name == file_name("binlog", *n)))
        .collect();
    assert_eq!(others, Vec::<String>::new());
    assert_eq!(files.executed_gtids().expect("readable"), expected.executed);
}

#[test]
fn what_is_appended_is_listed_and_read_back() {
    let disk = SimDisk::new(1);
    let chunks = three_files();
    let (files, recovered) = recover(&disk, &[]).expect("a new binlog");
    assert_eq!((files.end(), recovered), (None, RecoveredFiles::default()));
    append_all(&files, &chunks.chunks).expect("appended");
    assert_eq!(files.end(), chunks.end());
    assert_holds(&disk, &files, &chunks);
    assert_eq!(files.previous_gtids(1).expect("readable"), GtidSet::new());
    assert_eq!(files.previous_gtids(3).expect("readable").count(), 12);
}

#[test]
fn a_rotation_to_a_prepared_file_is_a_rename_and_no_sync() {
    let disk = SimDisk::new(1);
    let mut chunks = Chunks::default();
    chunks.begin_file();
    chunks.commit(100);
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    files.prepare_next().expect("prepared");
    assert!(files.next_is_ready(2));
    let before = files.stats().syncs;
    let done = chunks.chunks.len();
    chunks.begin_file();
    chunks.commit(100);
    append_all(&files, &chunks.chunks[done..]).expect("appended");
    assert!(!files.next_is_ready(3));
    assert_eq!(files.stats().syncs, before);
    assert_eq!(files.sync_all().expect("synced"), chunks.end());
    assert_holds(&disk, &files, &chunks);
    let disk = disk.crash();
    let (files, recovered) = recover(&disk, &chunks.chunks).expect("recovered");
    assert_eq!(recovered.rewritten_bytes, 0);
    assert_holds(&disk, &files, &chunks);
}

#[test]
fn a_closed_file_is_synced_once() {
    let disk = SimDisk::new(1);
    let chunks = three_files();
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    let syncs = |sync: &dyn Fn()| {
        let before = files.stats().syncs;
        sync();
        files.stats().syncs - before
    };
    assert_eq!(syncs(&|| files.sync_closed().expect("synced")), 2);
    assert_eq!(syncs(&|| files.sync_closed().expect("synced")), 0);
    // The current file, the index and the directory.
    assert_eq!(syncs(&|| assert_eq!(files.sync_all().expect("synced"), chunks.end())), 3);
}

/// Appends everything, as a server with a journal does. The journal is a chunk ahead of the binlog, and knows up
/// to which chunk the binlog was synced.
fn run(disk: &SimDisk, chunks: &Chunks, journalled: &mut usize, synced: &mut usize) -> Result<(), BinlogError> {
    let (files, _) = recover(disk, &[])?;
    for (i, (at, bytes)) in chunks.chunks.iter().enumerate() {
        *journalled = i + 1;
        if i % 5 == 3 {
            files.prepare_next()?;
        }
        files.reserve(bytes.len() as u64)?;
        files.append(*at, bytes)?;
        if i % 3 == 2 {
            files.sync_closed()?;
        }
        if i % 7 == 6 {
            files.sync_all()?;
            *synced = i + 1;
        }
    }
    files.close()?;
    *synced = chunks.chunks.len();
    Ok(())
}

#[test]
fn a_power_cut_at_every_write_leaves_what_the_journal_can_complete() {
    let chunks = three_files();
    for seed in 0..8 {
        for operation in 0.. {
            let disk = SimDisk::new(seed * 1000 + operation);
            disk.set_fault(operation, Fault::PowerCut);
            let (mut journalled, mut synced) = (0, 0);
            let finished = run(&disk, &chunks, &mut journalled, &mut synced).is_ok();
            let mut known = chunks.clone();
            known.chunks.truncate(journalled);
            known.executed = executed_in(&known.chunks);
            if journalled > 0 {
                check_after_power_cut(&disk.crash(), &known, synced)
                    .unwrap_or_else(|error| panic!("power cut at {operation}, seed {seed}: {error}"));
            }
            if finished {
                assert!(operation > 60, "only {operation} operations were tried");
                break;
            }
        }
    }
}

fn check_after_power_cut(disk: &SimDisk, known: &Chunks, synced: usize) -> Result<(), BinlogError> {
    for round in 0..2 {
        let disk = if round == 0 { disk.clone() } else { disk.crash() };
        let files = open(&disk)?;
        known.chunks[synced..].iter().try_for_each(|(at, bytes)| files.replay(*at, bytes))?;
        let recovered = files.finish_recovery(known.end())?;
        assert_eq!(recovered.cut_bytes, 0);
        assert!(round == 0 || recovered.rewritten_bytes == 0, "the first recovery was not durable");
        assert_holds(&disk, &files, known);
    }
    Ok(())
}

fn executed_in(chunks: &[(BinlogPosition, Vec<u8>)]) -> GtidSet {
    let mut set = GtidSet::new();
    let transactions = chunks.iter().filter(|(at, bytes)| at.offset > 0 && bytes[4] == 33).count();
    (1..=transactions as u64).for_each(|gno| set.insert(Gtid { uuid: UUID, gno }));
    set
}

#[test]
fn a_power_cut_during_recovery_is_recovered_from() {
    let chunks = three_files();
    for operation in 0.. {
        let disk = SimDisk::new(operation);
        let (files, _) = recover(&disk, &[]).expect("a new binlog");
        append_all(&files, &chunks.chunks).expect("appended");
        let disk = disk.crash();
        disk.set_fault(operation, Fault::PowerCut);
        let finished = recover(&disk, &chunks.chunks).is_ok();
        let disk = disk.crash();
        let (files, _) = recover(&disk, &chunks.chunks).unwrap_or_else(|error| panic!("at {operation}: {error}"));
        assert_holds(&disk, &files, &chunks);
        if finished {
            assert!(operation > 5);
            break;
        }
    }
}

#[test]
fn after_a_failed_write_or_sync_nothing_more_is_written() {
    let chunks = three_files();
    for operation in 0.. {
        let disk = SimDisk::new(operation);
        let (files, _) = recover(&disk, &[]).expect("a new binlog");
        let first = disk.operations();
        disk.set_fault(first + operation, Fault::Error);
        let written = append_all(&files, &chunks.chunks).and_then(|()| files.sync_closed());
        let written = written.and_then(|()| files.sync_all());
        let Err(error) = written else { break };
        if !matches!(&error, BinlogError::Io(error) if error.op.starts_with("reserve")) {
            let sealed = files.append(chunks.chunks[0].0, &chunks.chunks[0].1);
            assert!(matches!(sealed, Err(BinlogError::Sealed)), "operation {operation}: {error}");
            assert!(matches!(files.sync_all(), Err(BinlogError::Sealed)));
            assert!(files.sync_closed().is_ok(), "there is nothing that it could sync");
            assert!(matches!(files.close(), Err(BinlogError::Sealed)));
        }
    }
}

#[test]
fn bytes_after_the_end_and_files_never_reached_are_cut() {
    let disk = SimDisk::new(1);
    let chunks = three_files();
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    files.sync_all().expect("synced");
    let mut known = chunks.clone();
    known.chunks.truncate(11);
    known.executed = executed_in(&known.chunks);
    let total: usize = chunks.files().iter().map(|(_, bytes)| bytes.len()).sum();
    let kept: usize = known.files().iter().map(|(_, bytes)| bytes.len()).sum();
    let disk = disk.kill();
    let (files, recovered) = recover(&disk, &known.chunks).expect("recovered");
    assert_eq!(recovered.cut_bytes, (total - kept) as u64);
    assert_eq!(recovered.removed_files, ["binlog.000003"]);
    assert_holds(&disk, &files, &known);
    append_all(&files, &chunks.chunks[11..]).expect("goes on");
    assert_holds(&disk, &files, &chunks);
}

#[test]
fn another_byte_than_the_journals_is_damage_and_is_named() {
    let disk = SimDisk::new(1);
    let chunks = three_files();
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    files.sync_all().expect("synced");
    let disk = disk.kill();
    let path = Path::new("/binlogs/binlog.000002");
    let byte = chunks.files()[1].1.iter().rposition(|byte| *byte == b'x').expect("text");
    disk.corrupt(path, byte as u64, 0x11);
    let error = recover(&disk, &chunks.chunks).expect_err("damage");
    let BinlogError::Damaged { path: named, offset, .. } = &error else { panic!("{error}") };
    assert_eq!((named.as_path(), *offset), (path, byte as u64));
}

#[test]
fn missing_files_and_an_odd_index_are_damage() {
    let chunks = three_files();
    let damaged = |damage: fn(&SimDisk), replayed: usize| {
        let disk = SimDisk::new(1);
        let (files, _) = recover(&disk, &[]).expect("a new binlog");
        append_all(&files, &chunks.chunks).expect("appended");
        files.sync_all().expect("synced");
        let disk = disk.kill();
        damage(&disk);
        recover(&disk, &chunks.chunks[replayed..]).expect_err("damage").to_string()
    };
    let index = "/binlogs/binlog.index";
    let all = chunks.chunks.len();
    let missing = damaged(|disk| disk.remove(Path::new("/binlogs/binlog.000001")).expect("removed"), all - 1);
    assert!(missing.contains("binlog.000001") && missing.contains("missing"), "{missing}");
    let emptied = damaged(|disk| set_index(disk, b""), all - 1);
    assert!(emptied.contains("the index does not list this file"), "{emptied}");
    let unknown = damaged(|disk| set_index(disk, b""), all);
    assert!(unknown.contains("neither index nor journal"), "{unknown}");
    let odd = damaged(|disk| set_index(disk, b"./binlog.000002\n./binlog.000001\n"), all);
    assert!(odd.contains(index) && odd.contains("at byte 16"), "{odd}");
    let short = damaged(|disk| cut_file(disk, "/binlogs/binlog.000003", 200), all - 1);
    assert!(short.contains("binlog.000003") && short.contains("at byte 200"), "{short}");
}

fn set_index(disk: &SimDisk, text: &[u8]) {
    cohort_io::replace_whole(disk, Path::new("/binlogs/binlog.index"), text, None).expect("written");
}

fn cut_file(disk: &SimDisk, path: &str, len: u64) {
    let file = disk.open(Path::new(path), &OpenOptions::buffered(Create::Never)).expect("opens");
    file.set_len(len).expect("cut");
}

#[test]
fn purging_keeps_the_rest_and_survives_a_crash() {
    let chunks = three_files();
    for operation in 0.. {
        let disk = SimDisk::new(operation);
        let (files, _) = recover(&disk, &[]).expect("a new binlog");
        append_all(&files, &chunks.chunks).expect("appended");
        files.sync_all().expect("synced");
        assert!(matches!(files.purge_before(9), Err(BinlogError::UnknownFile(9))));
        let first = disk.operations();
        disk.set_fault(first + operation, Fault::PowerCut);
        let purged = files.purge_before(3);
        let finished = purged.is_ok();
        if let Ok(names) = purged {
            assert_eq!(names, ["binlog.000001", "binlog.000002"]);
            assert_eq!(files.list().len(), 1);
        }
        let disk = disk.crash();
        let last = chunks.chunks.last().cloned();
        let (files, _) = recover(&disk, last.as_slice()).unwrap_or_else(|error| panic!("at {operation}: {error}"));
        let listed = files.list().len();
        assert!(listed == 1 || (listed == 3 && !finished), "{listed} files");
        let on_disk = disk.list(Path::new(DIRECTORY)).expect("listed");
        assert_eq!(on_disk.iter().filter(|name| name.starts_with("binlog.0")).count(), listed);
        assert_eq!(files.executed_gtids().expect("readable"), chunks.executed);
        if finished {
            break;
        }
    }
}

#[test]
fn a_full_disk_refuses_the_reservation_and_not_the_append() {
    let disk = SimDisk::new(1);
    let mut chunks = Chunks::default();
    chunks.begin_file();
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    files.reserve(20_000).expect("there is room");
    files.prepare_next().expect("there is room");
    let used = u64::MAX - disk.available_bytes(Path::new(DIRECTORY)).expect("known");
    disk.set_capacity(used);
    let refused = files.reserve(1 << 20).expect_err("the disk is full");
    assert!(refused.is_no_space(), "{refused}");
    let done = chunks.chunks.len();
    chunks.commit(9_000);
    chunks.begin_file();
    chunks.commit(9_000);
    for (at, bytes) in &chunks.chunks[done..] {
        files.append(*at, bytes).expect("room was set aside");
    }
    let appended: usize = chunks.chunks[done..].iter().map(|(_, bytes)| bytes.len()).sum();
    files.release(20_000 - appended as u64);
    assert_eq!(files.space.lock().promised(), 0);
    disk.set_capacity(u64::MAX);
    files.reserve(1 << 20).expect("there is room again");
    assert_holds(&disk, &files, &chunks);
}

#[test]
fn a_closed_binlog_is_not_in_use_and_goes_on_at_the_next_start() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = BinlogOptions::new(directory.path());
    let chunks = three_files();
    let files = BinlogFiles::open(Arc::new(RealFs), options.clone()).expect("opens");
    files.finish_recovery(None).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    files.close().expect("closed");
    for (number, mut bytes) in chunks.files() {
        bytes[IN_USE_AT as usize] = 0;
        let found = std::fs::read(files.path(number)).expect("readable");
        assert!(found == bytes, "file {number} differs");
    }
    drop(files);
    let files = BinlogFiles::open(Arc::new(RealFs), options).expect("opens");
    assert_eq!(files.found_end(), chunks.end());
    let recovered = files.finish_recovery(chunks.end()).expect("nothing to do");
    assert_eq!(recovered, RecoveredFiles::default());
    assert_eq!(files.end(), chunks.end());
    let found = std::fs::read(files.path(3)).expect("readable");
    assert_eq!(found[IN_USE_AT as usize], 1);
}

#[test]
fn a_torn_last_line_of_the_index_is_written_again() {
    let chunks = three_files();
    for kept in 15 * 2..15 * 3 + 2 {
        let disk = SimDisk::new(1);
        let (files, _) = recover(&disk, &[]).expect("a new binlog");
        append_all(&files, &chunks.chunks).expect("appended");
        files.sync_all().expect("synced");
        let disk = disk.kill();
        let mut text = b"./binlog.000001\n./binlog.000002\n./binlog.000003\n"[..kept].to_vec();
        text.resize(100, 0);
        set_index(&disk, &text);
        let (files, _) = recover(&disk, &chunks.chunks).expect("recovered");
        assert_holds(&disk, &files, &chunks);
    }
}
