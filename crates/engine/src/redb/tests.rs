use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cohort_io::{Fault, RealFs, SimDisk};
use tempfile::TempDir;

use super::*;
use crate::conformance::{self, Rig};
use crate::{Change, Changes, OpenError, ReadError, Redo, TwoPhase};

const DIR: &str = "/data/redb";

/// A small layer, so that it is written by itself while a rule runs.
fn small() -> RedbOptions {
    RedbOptions { cache_bytes: 1 << 20, layer_bytes: 16 << 10 }
}

/// An engine on a simulated disk, and how a crash leaves the disk.
struct DiskRig {
    disk: SimDisk,
    crash: fn(&SimDisk) -> SimDisk,
}

impl Rig for DiskRig {
    fn open(&mut self) -> Arc<dyn Engine> {
        Arc::new(on_disk(&self.disk, &small()).expect("open"))
    }

    fn crash(&mut self, engine: Arc<dyn Engine>) {
        self.disk = (self.crash)(&self.disk);
        drop(engine);
    }
}

/// A crash copies the directory as it is while the engine runs and goes on with the copy.
struct DirectoryRig {
    dir: TempDir,
    open: Option<Arc<Redb>>,
}

impl Rig for DirectoryRig {
    fn open(&mut self) -> Arc<dyn Engine> {
        self.open = None;
        let engine = Arc::new(in_directory(self.dir.path()).expect("open"));
        self.open = Some(engine.clone());
        engine
    }

    fn crash(&mut self, engine: Arc<dyn Engine>) {
        let running = self.open.take().expect("an open engine");
        let after = TempDir::new().expect("a directory");
        let between_writes = running.inner.upkeep.lock();
        for entry in fs::read_dir(self.dir.path()).expect("read the directory") {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), after.path().join(entry.file_name())).expect("copy");
        }
        drop(between_writes);
        drop((engine, running));
        self.dir = after;
    }
}

mod power_cut {
    use super::*;
    crate::engine_conformance!(conformance, DiskRig { disk: SimDisk::new(7), crash: SimDisk::crash });
}

mod kill {
    use super::*;
    crate::engine_conformance!(conformance, DiskRig { disk: SimDisk::new(7), crash: SimDisk::kill });
}

impl conformance::two_phase::Rig for DiskRig {
    fn open(&mut self) -> Arc<dyn TwoPhase> {
        Arc::new(on_disk(&self.disk, &small()).expect("open"))
    }

    fn crash(&mut self, engine: Arc<dyn TwoPhase>) {
        self.disk = (self.crash)(&self.disk);
        drop(engine);
    }
}

mod two_phase_power_cut {
    use super::*;
    crate::engine_conformance!(two_phase conformance::two_phase, DiskRig { disk: SimDisk::new(7), crash: SimDisk::crash });
}

mod two_phase_kill {
    use super::*;
    crate::engine_conformance!(two_phase conformance::two_phase, DiskRig { disk: SimDisk::new(7), crash: SimDisk::kill });
}

mod copied_directory {
    use super::*;
    crate::engine_conformance!(conformance, DirectoryRig { dir: TempDir::new().expect("a directory"), open: None });
}

fn on_disk(disk: &SimDisk, options: &RedbOptions) -> Result<Redb, OpenError> {
    Redb::open(Arc::new(disk.clone()), Path::new(DIR), options)
}

fn in_directory(dir: &Path) -> Result<Redb, OpenError> {
    Redb::open(Arc::new(RealFs::new()), dir, &small())
}

fn open_error(dir: &Path) -> OpenError {
    in_directory(dir).err().expect("an error")
}

fn row(index: u32, number: u32) -> Vec<u8> {
    [index.to_be_bytes(), number.to_be_bytes()].concat()
}

fn index(index: u32) -> KeyRange {
    KeyRange { lower: index.to_be_bytes().to_vec(), upper: (index + 1).to_be_bytes().to_vec() }
}

fn put(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut redo = Redo::default();
    redo.put(key, value);
    redo.into_bytes()
}

fn get(engine: &Redb, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    engine.get(key, &mut value).expect("get").then_some(value)
}

fn count(view: &dyn Snapshot, range: &KeyRange) -> usize {
    let mut cursor = view.cursor(range, Direction::Forward).expect("a cursor");
    std::iter::from_fn(|| cursor.next().expect("next").map(|_| ())).count()
}

fn stat(engine: &Redb, name: &str) -> u64 {
    engine.stats().into_iter().find(|(stat, _)| *stat == name).expect("a statistic of this name").1
}

#[test]
fn a_directory_in_use_is_refused_and_free_again_after_a_drop() {
    let dir = TempDir::new().unwrap();
    let engine = in_directory(dir.path()).unwrap();
    assert!(matches!(open_error(dir.path()), OpenError::InUse { .. }));
    let view = engine.snapshot();
    drop(engine);
    assert!(matches!(open_error(dir.path()), OpenError::InUse { .. }), "a reader has it open");
    // Whoever has it is about to give the file its name.
    let (path, aside) = (dir.path().join("rows.redb"), dir.path().join("rows.redb.renewed"));
    fs::rename(&path, &aside).unwrap();
    assert!(matches!(open_error(dir.path()), OpenError::InUse { .. }));
    assert!(aside.exists() && !path.exists());
    drop(view);
    in_directory(dir.path()).unwrap();
    assert!(path.exists());
}

#[test]
fn a_missing_directory_is_created() {
    let dir = TempDir::new().unwrap();
    let engine = in_directory(&dir.path().join("a/b")).unwrap();
    assert_eq!(engine.durable_position(), Position(0));
}

#[test]
fn files_of_somebody_else_are_left_alone() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    let error = open_error(dir.path());
    assert!(matches!(&error, OpenError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("letter.txt"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_file_of_another_program_is_foreign() {
    for content in ["", "dear", &"no tree at all\n".repeat(1000)] {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("rows.redb"), content).unwrap();
        let error = open_error(dir.path());
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
        assert_eq!(fs::read_to_string(dir.path().join("rows.redb")).unwrap(), content);
    }
}

#[test]
fn a_database_of_another_program_is_foreign() {
    const NUMBERS: TableDefinition<u64, u64> = TableDefinition::new("rows");
    const OTHER: TableDefinition<&[u8], &[u8]> = TableDefinition::new("other");
    let with = |fill: fn(&::redb::WriteTransaction)| {
        let dir = TempDir::new().unwrap();
        let db = Database::create(dir.path().join("rows.redb")).unwrap();
        let transaction = db.begin_write().unwrap();
        fill(&transaction);
        transaction.commit().unwrap();
        drop(db);
        open_error(dir.path())
    };
    let errors = [
        with(|_| ()),
        with(|transaction| drop(transaction.open_table(OTHER).unwrap())),
        with(|transaction| drop(transaction.open_table(NUMBERS).unwrap())),
        with(|transaction| drop(transaction.open_table(ROWS).unwrap().insert(&b"key"[..], &b"value"[..]).unwrap())),
    ];
    for error in errors {
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    }
}

#[test]
fn a_later_format_is_refused_as_newer() {
    let dir = TempDir::new().unwrap();
    drop(in_directory(dir.path()).unwrap());
    let db = Database::open(dir.path().join("rows.redb")).unwrap();
    let later = [FORMAT_VERSION + 1, 0, 0];
    upkeep::transaction(&db, |transaction| {
        Ok(transaction.open_table(ROWS)?.insert(crate::stored::POSITION_KEY, later.as_slice()).map(drop)?)
    })
    .unwrap();
    drop(db);
    let error = open_error(dir.path());
    assert!(matches!(error, OpenError::Newer { .. }), "{error}");
}

#[test]
fn a_damaged_head_is_named_or_mended() {
    let dir = TempDir::new().unwrap();
    let engine = in_directory(dir.path()).unwrap();
    engine.apply(&[&put(&row(20, 1), b"value")], Position(9)).unwrap();
    engine.sync().unwrap();
    let file = dir.path().join("rows.redb");
    let bytes = fs::read(&file).unwrap();
    drop(engine);
    let mut damaged = 0;
    for at in 0..320 {
        let dir = TempDir::new().unwrap();
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x40;
        fs::write(dir.path().join("rows.redb"), bytes).unwrap();
        match in_directory(dir.path()) {
            Ok(engine) => {
                assert_eq!(engine.durable_position(), Position(9), "byte {at}");
                assert_eq!(get(&engine, &row(20, 1)).as_deref(), Some(&b"value"[..]), "byte {at}");
            }
            Err(OpenError::Damaged { .. }) => damaged += 1,
            Err(error) => assert!(matches!(error, OpenError::Foreign { .. }) && at < 9, "byte {at}: {error}"),
        }
    }
    assert!(damaged > 50, "{damaged}");
}

#[test]
fn a_file_cut_short_is_damaged() {
    let dir = TempDir::new().unwrap();
    let engine = in_directory(dir.path()).unwrap();
    for position in 1..200 {
        engine.apply(&[&put(&row(20, position), &[7; 3000])], Position(u64::from(position))).unwrap();
    }
    engine.sync().unwrap();
    drop(engine);
    let file = fs::OpenOptions::new().write(true).open(dir.path().join("rows.redb")).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let error = open_error(dir.path());
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
}

#[test]
fn damaged_pages_are_errors_and_never_panics() {
    let disk = SimDisk::new(5);
    let engine = on_disk(&disk, &small()).unwrap();
    engine.load(&mut (0..2000).map(|number| (row(20, number), vec![7; 100]))).unwrap();
    drop(engine);
    let path = Path::new(DIR).join("rows.redb");
    let file = disk.open(&path, &cohort_io::OpenOptions::read()).unwrap();
    let mut found = 0;
    for page in 1..file.len().unwrap() / 4096 {
        let disk = disk.kill_copy();
        for byte in 0..4 {
            disk.corrupt(&path, page * 4096 + byte, 0x11);
        }
        let Ok(engine) = on_disk(&disk, &small()) else {
            found += 1;
            continue;
        };
        let read = engine.cursor(&index(20), Direction::Forward).and_then(|mut cursor| {
            while cursor.next()?.is_some() {}
            Ok(())
        });
        let got: Result<Vec<_>, _> = (0..2000).map(|number| engine.get(&row(20, number), &mut Vec::new())).collect();
        let rows: Vec<_> = (0..2000).map(|number| put(&row(20, number), b"new")).collect();
        engine.apply(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), Position(5)).unwrap();
        let written = engine.sync();
        found += u32::from(read.is_err() || got.is_err() || written.is_err());
        assert!(written.is_ok() || matches!(engine.ready(), Err(WriteError::Failed { .. })), "page {page}");
    }
    assert!(found > 20, "{found} damaged pages were found");
}

#[test]
fn a_flip_is_found_by_checksum_or_changes_nothing() {
    let disk = SimDisk::new(6);
    let engine = on_disk(&disk, &small()).unwrap();
    let rows: Vec<_> = (0..500).map(|number| (row(20, number), vec![7; 100])).collect();
    engine.load(&mut rows.iter().cloned()).unwrap();
    drop(engine);
    let path = Path::new(DIR).join("rows.redb");
    let verify = |disk: &SimDisk| Redb::verify_checksums(disk, Path::new(DIR), &small());
    verify(&disk.kill_copy()).unwrap();
    let bytes = disk.open(&path, &cohort_io::OpenOptions::read()).unwrap().len().unwrap();
    let mut found = 0;
    for at in (0..bytes).step_by(509) {
        let disk = disk.kill_copy();
        disk.corrupt(&path, at, 0x04);
        match verify(&disk.kill_copy()) {
            Err(OpenError::Damaged { .. }) => found += 1,
            Err(error) => assert!(at < 9, "byte {at}: {error}"),
            Ok(()) => {
                let engine = on_disk(&disk, &small()).unwrap();
                for (key, value) in &rows {
                    assert_eq!(get(&engine, key).as_ref(), Some(value), "byte {at}");
                }
            }
        }
    }
    assert!(found > 50, "{found} flips were found");
}

#[test]
fn a_first_start_cut_short_is_begun_again() {
    for operation in 0.. {
        let disk = SimDisk::new(operation);
        disk.set_fault(operation, Fault::PowerCut);
        let first = on_disk(&disk, &small());
        let done = first.is_ok() && disk.operations() <= operation;
        drop(first);
        let engine = on_disk(&disk.crash(), &small()).unwrap_or_else(|error| panic!("operation {operation}: {error}"));
        assert_eq!(engine.durable_position(), Position(0));
        if done {
            assert!(operation > 5, "the sweep ends at {operation}");
            return;
        }
    }
}

/// What a crash may interrupt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Flush,
    Load,
    Erase,
}

/// Does `work` on an engine at position 1 with index 20 in its tree and a cohort at 2 in its layer.
fn work_on(disk: &SimDisk, work: Work, fault: Option<(u64, Fault)>) -> (Redb, Result<(), WriteError>, u64) {
    let options = RedbOptions::default();
    let engine = on_disk(disk, &options).expect("open");
    let rows: Vec<_> = (0..400).map(|number| put(&row(20, number), &[1; 100])).collect();
    engine.apply(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), Position(1)).expect("apply");
    engine.sync().expect("sync");
    let rows: Vec<_> = (0..400).step_by(7).map(|number| put(&row(20, number), &[2; 300])).collect();
    engine.apply(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), Position(2)).expect("apply");
    let before = disk.operations();
    if let Some((operation, fault)) = fault {
        disk.set_fault(before + operation, fault);
    }
    let done = match work {
        Work::Flush => engine.sync().map(drop),
        Work::Load => engine.load(&mut (0..3000).map(|number| (row(30, number), vec![3; 50]))),
        Work::Erase => engine.erase(&index(20)),
    };
    let operations = disk.operations() - before;
    (engine, done, operations)
}

/// The engine holds the cohorts up to its durable position and nothing else, but for a range that was
/// being loaded or erased.
fn check_recovered(engine: &Redb, work: Work, done: bool, context: &str) {
    let durable = engine.durable_position().0;
    assert!(durable == 1 || durable == 2, "{context}: {durable}");
    assert!(!done || work != Work::Flush || durable == 2, "{context}");
    let gone = work == Work::Erase && get(engine, &row(20, 1)).is_none();
    for number in 0..400 {
        let expected = if durable == 2 && number % 7 == 0 { vec![2; 300] } else { vec![1; 100] };
        assert_eq!(get(engine, &row(20, number)), (!gone).then_some(expected), "{context}: row {number}");
    }
    let loaded = count(&*engine.snapshot(), &index(30));
    assert!(loaded == 3000 || !(done && work == Work::Load), "{context}: {loaded} loaded");
}

#[test]
fn a_power_cut_at_any_write_leaves_whole_cohorts() {
    for work in [Work::Flush, Work::Load, Work::Erase] {
        for seed in 0..4 {
            for operation in 0.. {
                let disk = SimDisk::new(seed);
                let (engine, done, operations) = work_on(&disk, work, Some((operation, Fault::PowerCut)));
                let context = format!("{work:?}, seed {seed}, operation {operation}");
                let after = disk.crash();
                drop(engine);
                let engine = on_disk(&after, &small()).unwrap_or_else(|error| panic!("{context}: {error}"));
                check_recovered(&engine, work, done.is_ok(), &context);
                drop(engine);
                // What the first start repaired stays repaired.
                let engine = on_disk(&after.crash(), &small()).unwrap_or_else(|error| panic!("{context}: {error}"));
                check_recovered(&engine, work, done.is_ok(), &context);
                if operations <= operation {
                    assert!(operation > 5 && done.is_ok(), "{context}: the sweep ends early");
                    break;
                }
            }
        }
    }
}

#[test]
fn after_a_failed_write_nothing_is_taken_and_all_is_readable() {
    for operation in 0.. {
        let disk = SimDisk::new(operation);
        let (engine, done, operations) = work_on(&disk, Work::Flush, Some((operation, Fault::Error)));
        if operations <= operation {
            assert!(operation > 5 && done.is_ok(), "the sweep ends at {operation}");
            return;
        }
        let refused = matches!(done, Err(WriteError::Failed { .. }));
        if refused {
            assert!(matches!(engine.ready(), Err(WriteError::Failed { .. })), "operation {operation}");
            assert!(engine.apply(&[], Position(3)).is_err(), "operation {operation}");
            assert!(engine.sync().is_err(), "operation {operation}");
            assert_eq!(engine.durable_position(), Position(1));
        }
        assert_eq!(get(&engine, &row(20, 7)), Some(vec![2; 300]), "operation {operation}");
        let after = disk.kill();
        drop(engine);
        let engine = on_disk(&after, &small()).unwrap_or_else(|error| panic!("operation {operation}: {error}"));
        check_recovered(&engine, Work::Flush, !refused, &format!("operation {operation}"));
    }
}

/// After the switch of the root its sync fails: the file's new head is in the system's cache, and perhaps nowhere
/// else.
#[test]
fn a_failed_sync_of_the_head_is_no_sync_and_what_the_next_open_shows_stays() {
    let mut switched = 0;
    for operation in 0.. {
        for seed in 0..4 {
            let disk = SimDisk::new(100 * operation + seed);
            let (engine, done, operations) = work_on(&disk, Work::Flush, Some((operation, Fault::Error)));
            let context = format!("operation {operation}, seed {seed}");
            if operations <= operation {
                assert!(switched > 0, "no sync after the switch failed");
                return;
            }
            if done.is_ok() {
                continue;
            }
            assert!(engine.sync().is_err() && engine.apply(&[], Position(3)).is_err(), "{context}: it went on");
            assert_eq!(engine.durable_position(), Position(1), "{context}");
            let killed = disk.kill_copy();
            let cut = disk.crash();
            drop(engine);
            let engine = on_disk(&cut, &small()).unwrap_or_else(|error| panic!("{context}: {error}"));
            check_recovered(&engine, Work::Flush, false, &context);
            drop(engine);
            // The next start reads the cache; what it calls durable must outlast a power cut.
            let engine = on_disk(&killed, &small()).unwrap_or_else(|error| panic!("{context}: {error}"));
            let shown = engine.durable_position();
            switched += u32::from(shown == Position(2));
            check_recovered(&engine, Work::Flush, false, &context);
            let cut = killed.crash();
            drop(engine);
            let engine = on_disk(&cut, &small()).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(engine.durable_position(), shown, "{context}: it was not durable");
            check_recovered(&engine, Work::Flush, false, &context);
        }
    }
}

#[test]
fn a_full_disk_refuses_cohorts_until_there_is_room() {
    let disk = SimDisk::new(1);
    let options = RedbOptions { layer_bytes: 200_000, ..RedbOptions::default() };
    let engine = on_disk(&disk, &options).unwrap();
    disk.set_capacity(2 << 20);
    let mut position = 0;
    let refused = loop {
        position += 1;
        assert!(position < 2000, "the disk is never full");
        if let Err(error) = engine.apply(&[&put(&row(20, position), &[7; 20_000])], Position(u64::from(position))) {
            break error;
        }
    };
    assert!(matches!(refused, WriteError::NoSpace { .. }), "{refused}");
    assert!(matches!(engine.ready(), Err(WriteError::NoSpace { .. })));
    assert!(engine.durable_position().0 < u64::from(position));
    for applied in 1..position {
        assert!(get(&engine, &row(20, applied)).is_some(), "cohort {applied} is not readable");
    }
    disk.set_capacity(1 << 30);
    let cohort = put(&row(20, position), &[7; 20_000]);
    let since = Instant::now();
    while let Err(error) = engine.apply(&[&cohort], Position(u64::from(position))) {
        assert!(since.elapsed() < Duration::from_secs(60), "still refused: {error}");
        thread::sleep(Duration::from_millis(50));
    }
    engine.ready().unwrap();
    assert_eq!(engine.sync().unwrap(), Position(u64::from(position)));
}

/// One change.
struct One(bool);

impl Changes for One {
    fn next(&mut self) -> Result<Option<Change<'_>>, ReadError> {
        let has_it = std::mem::take(&mut self.0);
        Ok(has_it.then_some(Change { key: b"a key of a row", value: Some(&[7; 1000]) }))
    }

    fn bytes_max(&self) -> u64 {
        2000
    }
}

/// What was refused for want of room, and is applied at last, refuses nobody else.
#[test]
fn a_large_transaction_that_found_room_leaves_no_refusal() {
    let disk = SimDisk::new(1);
    let engine = on_disk(&disk, &RedbOptions::default()).unwrap();
    disk.set_capacity(disk.used_bytes() + 1000);
    let refused = engine.apply_large(&mut One(true), Position(1));
    assert!(matches!(refused, Err(WriteError::NoSpace { .. })), "{refused:?}");
    assert!(engine.inner.state.read().refusal.is_some());
    disk.set_capacity(1 << 30);
    engine.apply_large(&mut One(true), Position(1)).unwrap();
    assert!(engine.inner.state.read().refusal.is_none());
}

/// Logs and other engines write to the same device.
#[test]
fn room_that_was_found_is_not_taken_by_others() {
    let disk = SimDisk::new(1);
    let engine = on_disk(&disk, &RedbOptions::default()).unwrap();
    disk.set_capacity(disk.used_bytes() + (8 << 20));
    let others = disk.clone();
    engine.sync_callers_log_first(Box::new(move || {
        others.set_capacity(others.used_bytes());
        Ok(())
    }));
    engine.apply(&[&put(&row(20, 1), &[7; 20_000])], Position(1)).unwrap();
    assert_eq!(engine.sync().unwrap(), Position(1));
}

#[test]
fn a_full_layer_is_written_without_a_sync() {
    let dir = TempDir::new().unwrap();
    let engine = in_directory(dir.path()).unwrap();
    let view = engine.snapshot();
    let cohorts = 2000;
    for position in 1..=cohorts {
        engine.apply(&[&put(&row(20, position % 50), &[7; 1000])], Position(u64::from(position))).unwrap();
    }
    let since = Instant::now();
    while engine.durable_position().0 < u64::from(cohorts) / 2 {
        assert!(since.elapsed() < Duration::from_secs(60), "not written: {:?}", engine.stats());
        thread::sleep(Duration::from_millis(5));
    }
    assert!(stat(&engine, "layers_written") > 0);
    assert!(stat(&engine, "layer_bytes") < 3 * (16 << 10), "{:?}", engine.stats());
    assert_eq!((count(&*view, &index(20)), count(&*engine.snapshot(), &index(20))), (0, 50));
}

#[test]
fn pages_of_old_versions_are_used_again() {
    let dir = TempDir::new().unwrap();
    let engine = in_directory(dir.path()).unwrap();
    let mut position = 0;
    let mut write = |times| {
        for _ in 0..times {
            position += 1;
            let rows: Vec<_> = (0..500).map(|number| put(&row(20, number), &[position as u8; 200])).collect();
            engine.apply(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), Position(position)).unwrap();
            engine.sync().unwrap();
        }
    };
    write(10);
    let before = stat(&engine, "file_bytes");
    write(100);
    assert!(stat(&engine, "file_bytes") <= 2 * before, "{} then {}", before, stat(&engine, "file_bytes"));
}

#[test]
fn stays_behind_a_log_that_cannot_be_synced() {
    for crash in [SimDisk::crash, SimDisk::kill] {
        let mut rig = DiskRig { disk: SimDisk::new(7), crash };
        conformance::stays_behind_a_log_that_cannot_be_synced(&mut rig);
    }
}

#[test]
fn an_erase_waits_for_the_log() {
    let disk = SimDisk::new(3);
    let engine = on_disk(&disk, &small()).unwrap();
    let synced = Arc::new(AtomicU64::new(0));
    let counted = synced.clone();
    engine.load(&mut (0..10).map(|number| (row(20, number), vec![1]))).unwrap();
    let sync_callers_log = move || {
        counted.store(1, Ordering::SeqCst);
        Ok(())
    };
    engine.sync_callers_log_first(Box::new(sync_callers_log));
    engine.erase(&index(20)).unwrap();
    assert_eq!(synced.load(Ordering::SeqCst), 1, "rows are gone that the log does not say are dropped");
    assert_eq!(count(&*engine.snapshot(), &index(20)), 0);
}

#[test]
#[should_panic(expected = "applied after")]
fn a_position_that_does_not_rise_is_a_defect() {
    let engine = on_disk(&SimDisk::new(1), &small()).unwrap();
    engine.apply(&[], Position(5)).unwrap();
    let _ = engine.apply(&[], Position(5));
}

/// A process that could not make the file's name durable is followed by one that finds it.
#[test]
fn a_file_whose_name_was_never_synced_is_not_lost_with_what_came_later() {
    for operation in 0.. {
        let disk = SimDisk::new(operation + 1);
        disk.set_fault(operation, Fault::Error);
        let failed = on_disk(&disk, &small()).is_err();
        let disk = disk.kill();
        let engine = on_disk(&disk, &small()).expect("a start after the error");
        engine.apply(&[&put(b"later", b"value")], Position(1)).expect("apply");
        engine.sync().expect("sync");
        let after = disk.crash();
        drop(engine);
        let engine = on_disk(&after, &small()).expect("a start after a power cut");
        assert_eq!(engine.durable_position(), Position(1), "error at operation {operation}");
        if !failed {
            assert!(operation > 5, "the file was made");
            return;
        }
    }
}
