use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use cohort_engine::OpenError;
use cohort_engine::conformance::{self, Rig};

/// Small memtables, so that RocksDB flushes and compacts by itself while a rule runs.
fn small() -> RocksDbOptions {
    RocksDbOptions { cache_bytes: 1 << 20, write_buffer_bytes: 64 << 10, background_jobs: 2 }
}

/// A crash copies the directory as it is while the engine runs and goes on with the copy.
struct DirectoryRig {
    dir: TempDir,
    open: Option<Arc<RocksDb>>,
}

impl DirectoryRig {
    fn new() -> DirectoryRig {
        DirectoryRig { dir: TempDir::new().expect("a directory"), open: None }
    }
}

impl Rig for DirectoryRig {
    fn open(&mut self) -> Arc<dyn Engine> {
        self.open = None;
        let engine = Arc::new(RocksDb::open(self.dir.path(), &small()).expect("open"));
        self.open = Some(engine.clone());
        engine
    }

    fn crash(&mut self, engine: Arc<dyn Engine>) {
        let running = self.open.take().expect("an open engine");
        running.db.pause_background_work().expect("pause");
        let after = TempDir::new().expect("a directory");
        copy_directory(self.dir.path(), after.path());
        running.db.continue_background_work().expect("continue");
        drop((engine, running));
        self.dir = after;
    }
}

fn copy_directory(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("read the directory") {
        let entry = entry.expect("an entry");
        let copy = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir(&copy).expect("create");
            copy_directory(&entry.path(), &copy);
        } else {
            // RocksDB removes files that it no longer needs while we look.
            match fs::copy(entry.path(), copy) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                copied => drop(copied.expect("copy")),
            }
        }
    }
}

cohort_engine::engine_conformance!(conformance, DirectoryRig::new());

#[test]
fn stays_behind_a_log_that_cannot_be_synced() {
    conformance::stays_behind_a_log_that_cannot_be_synced(&mut DirectoryRig::new());
}

/// The engine with a log of its own. A crash is a close: with its log on, RocksDB writes nothing then, so
/// that the next open finds what a kill would leave.
mod with_its_own_log {
    use super::*;
    use cohort_engine::{TwoPhase, Xid};

    struct LoggedRig(TempDir);

    impl LoggedRig {
        fn new() -> LoggedRig {
            LoggedRig(TempDir::new().expect("a directory"))
        }

        fn reopen(&mut self) -> Arc<RocksDbTwoPhase> {
            Arc::new(RocksDbTwoPhase::open(self.0.path(), &small()).expect("open"))
        }

        fn kill<E: ?Sized>(&mut self, engine: Arc<E>) {
            assert_eq!(Arc::strong_count(&engine), 1, "a reader keeps the engine open");
            drop(engine);
        }
    }

    impl Rig for LoggedRig {
        fn open(&mut self) -> Arc<dyn Engine> {
            self.reopen()
        }

        fn crash(&mut self, engine: Arc<dyn Engine>) {
            self.kill(engine);
        }
    }

    impl conformance::two_phase::Rig for LoggedRig {
        fn open(&mut self) -> Arc<dyn TwoPhase> {
            self.reopen()
        }

        fn crash(&mut self, engine: Arc<dyn TwoPhase>) {
            self.kill(engine);
        }
    }

    cohort_engine::engine_conformance!(conformance, LoggedRig::new());
    mod two_phase {
        use super::*;
        cohort_engine::engine_conformance!(two_phase conformance::two_phase, LoggedRig::new());
    }

    #[test]
    fn a_directory_closed_cleanly_opens_with_and_without_the_log() {
        let dir = TempDir::new().expect("a directory");
        let plain = RocksDb::open(dir.path(), &small()).expect("open");
        plain.apply(&[&put(&row(20, 1), b"plain")], Position(10)).expect("apply");
        plain.sync().expect("sync");
        drop(plain);
        let logged = RocksDbTwoPhase::open(dir.path(), &small()).expect("open");
        logged.commit_unprepared(&put(&row(20, 2), b"logged")).expect("commit");
        logged.sync().expect("sync");
        drop(logged);
        let plain = RocksDb::open(dir.path(), &small()).expect("open");
        assert_eq!(plain.durable_position(), Position(10));
        let mut value = Vec::new();
        for (number, expected) in [(1, &b"plain"[..]), (2, b"logged")] {
            assert!(plain.get(&row(20, number), &mut value).expect("get"));
            assert_eq!(value, expected);
        }
    }

    /// The keys that are there, of `0..limit`.
    fn there(engine: &RocksDbTwoPhase, limit: u32) -> Vec<u32> {
        let mut value = Vec::new();
        (0..limit).filter(|number| engine.get(&row(20, *number), &mut value).expect("get")).collect()
    }

    /// RocksDB reads files of its log again for as long as something is prepared in them. A tear in one of them neither
    /// stops later opens nor takes what was written since.
    #[test]
    fn a_torn_log_is_cut_for_good() {
        let whole = TempDir::new().expect("a directory");
        let engine = RocksDbTwoPhase::open(whole.path(), &small()).expect("open");
        let xid = Xid::new(b"undecided").expect("a name");
        engine.prepare(&xid, &put(&row(21, 1), b"prepared")).expect("prepare");
        for number in 0..12 {
            // Some cross the blocks of the log, some of them several.
            let value = vec![number as u8; if number % 4 == 3 { 70_000 } else { 9_000 }];
            engine.commit_unprepared(&put(&row(20, number), &value)).expect("commit");
        }
        engine.sync_log().expect("sync");
        drop(engine);
        let len = |path: &Path| fs::metadata(path).expect("a file").len();
        let largest = torn_log::files(whole.path()).expect("files").into_iter().max_by_key(|path| len(path));
        let log = largest.expect("a log");
        let mut cuts = 0;
        for tear in (1024..len(&log)).step_by(3001) {
            let dir = TempDir::new().expect("a directory");
            copy_directory(whole.path(), dir.path());
            let log = dir.path().join(log.file_name().expect("a name"));
            let mut bytes = fs::read(&log).expect("read");
            let sector = tear as usize / 512 * 512;
            let end = bytes.len().min(sector + 512);
            bytes[sector..end].fill(0);
            fs::write(&log, bytes).expect("write");

            let mut engine = RocksDbTwoPhase::open(dir.path(), &small()).expect("open after a tear");
            let kept = there(&engine, 100);
            assert!(kept.iter().copied().eq(0..kept.len() as u32), "tear at {tear}: {kept:?}");
            assert_eq!(engine.prepared(), std::slice::from_ref(&xid), "tear at {tear}");
            cuts += u64::from(engine.log_bytes_cut() > 0);
            let mut expected = kept;
            for later in 50..53 {
                engine.commit_unprepared(&put(&row(20, later), b"later")).expect("commit");
                engine.sync_log().expect("sync");
                drop(engine);
                expected.push(later);
                engine = RocksDbTwoPhase::open(dir.path(), &small()).expect("open once more");
                assert_eq!(there(&engine, 100), expected, "tear at {tear}");
                assert_eq!((engine.prepared(), engine.log_bytes_cut()), (vec![xid.clone()], 0), "tear at {tear}");
            }
        }
        assert!(cuts > 20, "{cuts}");
    }
}

fn row(index: u32, number: u32) -> Vec<u8> {
    [index.to_be_bytes(), number.to_be_bytes()].concat()
}

fn put(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut redo = Redo::default();
    redo.put(key, value);
    redo.into_bytes()
}

fn open_error(dir: &Path) -> OpenError {
    RocksDb::open(dir, &small()).err().expect("an error")
}

#[test]
fn a_directory_in_use_is_refused_and_free_again_after_a_drop() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    assert!(matches!(open_error(dir.path()), OpenError::InUse { .. }));
    drop(engine);
    RocksDb::open(dir.path(), &small()).unwrap();
}

#[test]
fn a_missing_directory_is_created() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(&dir.path().join("a/b"), &small()).unwrap();
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
fn a_database_of_another_program_is_foreign() {
    let dir = TempDir::new().unwrap();
    let db = DB::open_default(dir.path()).unwrap();
    db.put(b"key", b"value").unwrap();
    drop(db);
    let error = open_error(dir.path());
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
}

#[test]
fn a_later_format_is_refused_as_newer() {
    let dir = TempDir::new().unwrap();
    drop(RocksDb::open(dir.path(), &small()).unwrap());
    let db = DB::open_default(dir.path()).unwrap();
    db.put(POSITION_KEY, [FORMAT_VERSION + 1, 0, 0]).unwrap();
    drop(db);
    let error = open_error(dir.path());
    assert!(matches!(error, OpenError::Newer { .. }), "{error}");
}

/// A directory at position 10, then 20, and its manifest: where the records of the second flush begin, the first of them
/// one of several sectors.
fn manifest_of_several_sectors() -> (TempDir, PathBuf, usize) {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    let current = fs::read_to_string(dir.path().join("CURRENT")).unwrap();
    let manifest = PathBuf::from(current.trim_end());
    let mut begin = 0;
    for position in [10, 20] {
        begin = fs::metadata(dir.path().join(&manifest)).unwrap().len() as usize;
        let key = [&row(position, 1)[..], &[7; 700]].concat();
        engine.apply(&[&put(&key, b"value")], Position(u64::from(position))).unwrap();
        engine.sync().unwrap();
    }
    let copy = TempDir::new().unwrap();
    copy_directory(dir.path(), copy.path());
    (copy, manifest, begin)
}

/// A copy of a directory with other bytes in a file of it.
fn with_file(dir: &Path, name: &Path, bytes: &[u8]) -> TempDir {
    let copy = TempDir::new().unwrap();
    copy_directory(dir, copy.path());
    fs::write(copy.path().join(name), bytes).unwrap();
    copy
}

#[test]
fn a_manifest_that_a_power_cut_tore_is_cut() {
    let (whole, manifest, begin) = manifest_of_several_sectors();
    let bytes = fs::read(whole.path().join(&manifest)).unwrap();
    let mut tears: Vec<Vec<u8>> = (begin..bytes.len()).step_by(97).map(|end| bytes[..end].to_vec()).collect();
    for sector in (begin / 512 * 512..bytes.len()).step_by(512) {
        let mut torn = bytes.clone();
        torn[sector.max(begin)..bytes.len().min(sector + 512)].fill(0);
        tears.push(torn);
    }
    let mut behind = 0;
    for (number, torn) in tears.into_iter().enumerate() {
        let dir = with_file(whole.path(), &manifest, &torn);
        match RocksDb::open_read_only(dir.path(), &small()) {
            Ok(engine) => assert!([10, 20].contains(&engine.durable_position().0)),
            Err(OpenError::Torn { detail, .. }) => assert!(detail.contains("MANIFEST-"), "{detail}"),
            Err(error) => panic!("tear {number}: {error}"),
        }
        let logged = with_file(whole.path(), &manifest, &torn);
        let logged = RocksDbTwoPhase::open(logged.path(), &small()).unwrap_or_else(|e| panic!("tear {number}: {e}"));
        let mut engine = RocksDb::open(dir.path(), &small()).unwrap();
        let position = engine.durable_position();
        assert!([10, 20].contains(&position.0), "tear {number}: {position:?}");
        assert_eq!(logged.durable_position(), position, "tear {number}");
        behind += u32::from(position.0 == 10);
        engine.apply(&[&put(&row(20, 2), b"later")], Position(30)).unwrap();
        engine.sync().unwrap();
        drop(engine);
        engine = RocksDb::open(dir.path(), &small()).unwrap();
        assert_eq!(engine.durable_position(), Position(30), "tear {number}");
        assert!(engine.get(&row(20, 2), &mut Vec::new()).unwrap());
    }
    assert!(behind > 10, "{behind}");
}

/// A rotten byte is reported with its record's place; but where it makes the last record look like one that the file's end
/// cut short, the engine opens as it was before that record.
#[test]
fn a_damaged_manifest_is_named() {
    let (whole, manifest, begin) = manifest_of_several_sectors();
    let bytes = fs::read(whole.path().join(&manifest)).unwrap();
    let (mut reported, mut opened) = (0, 0);
    for at in (0..begin).step_by(3).chain(begin..bytes.len()) {
        let mut rotten = bytes.clone();
        rotten[at] ^= 0x40;
        let dir = with_file(whole.path(), &manifest, &rotten);
        match RocksDb::open(dir.path(), &small()) {
            Err(OpenError::Damaged { detail, .. }) => {
                let place = detail.split_once("MANIFEST-").and_then(|(_, place)| place.split_whitespace().nth(3));
                let offset: usize =
                    place.and_then(|place| place.trim_end_matches(':').parse().ok()).expect("an offset");
                assert!(offset <= at && at - offset < 2000, "byte {at}: {detail}");
                reported += 1;
            }
            Err(error) => panic!("byte {at}: {error}"),
            Ok(_) => {
                assert!(at >= begin, "byte {at} of the manifest");
                opened += 1;
            }
        }
    }
    // Its length has two bytes.
    assert!(reported > 1000 && opened <= 2, "{reported} reported, {opened} opened");
}

/// A record as the manifest has it.
fn record(payload: &[u8]) -> Vec<u8> {
    let body = [&[1][..], payload].concat();
    let sum = log_format::masked(crc32c::crc32c(&body));
    [&sum.to_le_bytes()[..], &(payload.len() as u16).to_le_bytes(), &body].concat()
}

#[test]
fn a_rotten_length_does_not_make_a_tear_of_the_next_record_s_zeros() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("CURRENT"), "MANIFEST-000001\n").unwrap();
    let manifest = dir.path().join("MANIFEST-000001");
    // The second byte of the next record's length begins a sector, and is 0.
    let mut bytes = [record(&[7; 500]), record(&[8; 100])].concat();
    fs::write(&manifest, &bytes).unwrap();
    torn_manifest::make_whole(dir.path()).unwrap();
    bytes[4..6].copy_from_slice(&506_u16.to_le_bytes());
    fs::write(&manifest, &bytes).unwrap();
    let error = torn_manifest::make_whole(dir.path()).unwrap_err();
    assert!(matches!(&error, OpenError::Damaged { detail, .. } if detail.contains("at byte 0")), "{error}");
    assert_eq!(fs::read(&manifest).unwrap(), bytes);
}

#[test]
fn a_damaged_row_file_is_an_error_of_the_read() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    engine.apply(&[&put(&row(20, 1), &[7; 3000])], Position(1)).unwrap();
    drop(engine);
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "sst") {
            let mut bytes = fs::read(&path).unwrap();
            bytes[20] ^= 0x40;
            fs::write(&path, bytes).unwrap();
        }
    }
    let outcome = RocksDb::open(dir.path(), &small()).map(|engine| engine.get(&row(20, 1), &mut Vec::new()));
    match outcome {
        Ok(Err(ReadError { detail, .. })) => {
            assert!(detail.contains("Corruption") && detail.contains(".sst"), "{detail}")
        }
        Ok(Ok(found)) => panic!("damage was not found; row: {found}"),
        Err(error) => assert!(matches!(error, OpenError::Damaged { .. }), "{error}"),
    }
}

#[test]
fn files_of_an_unfinished_load_are_removed_at_open() {
    let dir = TempDir::new().unwrap();
    drop(RocksDb::open(dir.path(), &small()).unwrap());
    fs::create_dir_all(dir.path().join("loading/3")).unwrap();
    fs::write(dir.path().join("loading/3/0.sst"), "half").unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    assert!(!dir.path().join("loading").exists());
    engine.load(&mut [(row(20, 1), b"value".to_vec())].into_iter()).unwrap();
    engine.sync().unwrap();
    assert_eq!(fs::read_dir(dir.path().join("loading")).unwrap().count(), 0);
}

/// RocksDB removes the files of a load after a manifest that could not be written, and may still name them there.
#[test]
fn files_of_a_load_that_the_manifest_may_name_are_kept_until_the_next_manifest() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    let tables = || fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let tables = || tables().filter(|path| path.extension().is_some_and(|kind| kind == "sst")).collect::<Vec<_>>();
    engine.load(&mut [(row(20, 1), b"settled".to_vec())].into_iter()).unwrap();
    let settled = tables();
    engine.load(&mut [(row(20, 2), b"value".to_vec())].into_iter()).unwrap();
    let loaded: Vec<_> = tables().into_iter().filter(|path| !settled.contains(path)).collect();
    let kept = dir.path().join("loading/kept");
    let keep = || {
        fs::hard_link(&loaded[0], dir.path().join("loading/built.sst")).unwrap();
        upkeep::keep_files(dir.path());
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 1, "only what is being loaded");
    };
    keep();
    engine.sync().unwrap();
    assert!(!kept.exists(), "the manifest is good, and their room given back");

    fs::remove_file(dir.path().join("loading/built.sst")).unwrap();
    fs::create_dir(&kept).unwrap();
    keep();
    drop(engine);
    fs::remove_file(&loaded[0]).unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    let mut value = Vec::new();
    assert!(engine.get(&row(20, 2), &mut value).unwrap() && value == b"value");
    assert!(!kept.exists());
}

#[test]
fn files_of_erased_ranges_are_given_back() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    let rows = (0..20_000u32).map(|n| (row(20, n), n.to_be_bytes().map(|byte| byte.wrapping_mul(97)).repeat(30)));
    engine.load(&mut rows.into_iter()).unwrap();
    let bytes = |name| engine.stats().into_iter().find(|(stat, _)| *stat == name).unwrap().1;
    assert!(bytes("sst_bytes") > 300_000, "{}", bytes("sst_bytes"));
    let view = engine.snapshot();
    engine.erase(&KeyRange { lower: row(20, 0), upper: row(21, 0) }).unwrap();
    engine.sync().unwrap();
    assert_eq!(bytes("erased_ranges_waiting"), 1, "a snapshot may still read them");
    drop(view);
    engine.sync().unwrap();
    assert_eq!(bytes("erased_ranges_waiting"), 0);
    assert!(bytes("live_sst_bytes") < 100_000, "{}", bytes("live_sst_bytes"));
}

#[test]
fn a_file_that_ends_with_the_next_index_is_kept() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    let next = 21u32.to_be_bytes().to_vec();
    let rows = (0..5000u32).map(|n| (row(20, n), vec![1; 40])).chain([(next.clone(), b"kept".to_vec())]);
    engine.load(&mut rows.into_iter()).unwrap();
    engine.erase(&KeyRange { lower: 20u32.to_be_bytes().to_vec(), upper: next.clone() }).unwrap();
    engine.sync().unwrap();
    let mut value = Vec::new();
    assert!(engine.get(&next, &mut value).unwrap());
    assert!(!engine.get(&row(20, 7), &mut value).unwrap());
}

#[test]
fn stats_count_flushes_and_memory() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    let stat = |name| engine.stats().into_iter().find(|(stat, _)| *stat == name).unwrap().1;
    let flushes = stat("flushes");
    engine.apply(&[&put(&row(20, 1), &[7; 30_000])], Position(77)).unwrap();
    assert!(stat("memtable_bytes") > 30_000);
    assert_eq!((stat("applied_position"), stat("durable_position")), (77, 0));
    engine.sync().unwrap();
    assert_eq!(stat("flushes"), flushes + 1);
    assert_eq!(stat("durable_position"), 77);
    assert_eq!(stat("write_stopped"), 0);
}

#[test]
fn scans_over_many_old_versions_begin_a_flush() {
    let dir = TempDir::new().expect("a directory");
    let engine = RocksDb::open(dir.path(), &RocksDbOptions::default()).expect("open");
    let (rows, versions) = (10, 2000u64);
    for version in 1..=versions {
        let cohort: Vec<_> = (0..rows).map(|number| put(&row(1, number), &version.to_be_bytes())).collect();
        let cohort: Vec<&[u8]> = cohort.iter().map(Vec::as_slice).collect();
        engine.apply(&cohort, Position(version)).expect("apply");
    }
    let flushes =
        || engine.stats().into_iter().find(|(name, _)| *name == "flushes").expect("a statistic of this name").1;
    let before = flushes();
    let range = KeyRange { lower: row(1, 0), upper: row(2, 0) };
    let deadline = Instant::now() + Duration::from_secs(60);
    while flushes() == before {
        let mut cursor = engine.cursor(&range, Direction::Forward).expect("a cursor");
        let mut seen = 0;
        while let Some(entry) = cursor.next().expect("an entry") {
            assert_eq!(entry.value, versions.to_be_bytes());
            seen += 1;
        }
        assert_eq!(seen, rows);
        assert!(Instant::now() < deadline, "nothing was flushed");
    }
}

#[test]
fn scans_over_young_files_begin_a_compaction() {
    const ROWS: u32 = 2000;
    let dir = TempDir::new().expect("a directory");
    let engine = RocksDb::open(dir.path(), &RocksDbOptions::default()).expect("open");
    // The engine's first position has a file of its own, and with four RocksDB compacts by itself.
    for round in 1..=2u8 {
        let rows: Vec<_> = (0..ROWS).map(|number| put(&row(1, number), &[round; 20])).collect();
        let cohort: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        engine.apply(&cohort, Position(round.into())).expect("apply");
        engine.sync().expect("sync");
    }
    let young = || engine.db.handle.live_files().expect("files").iter().filter(|file| file.level == 0).count();
    let before = young();
    assert_eq!(before, 3);
    let range = KeyRange { lower: row(1, 0), upper: row(2, 0) };
    let deadline = Instant::now() + Duration::from_secs(120);
    while young() > 0 {
        assert!(Instant::now() < deadline, "{} young files of {before}", young());
        let mut cursor = engine.cursor(&range, Direction::Forward).expect("a cursor");
        let mut seen = 0;
        while let Some(entry) = cursor.next().expect("an entry") {
            assert_eq!(entry.value, [2; 20]);
            seen += 1;
        }
        assert_eq!(seen, ROWS);
    }
}

/// Rows that are many blocks of a walk that reads ahead, two of them too large for that.
fn many_rows() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut state = 1_u64;
    let mut bytes = |len: usize| -> Vec<u8> {
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    };
    let length = |number: u32| match number {
        25_000 | 25_001 => 3 << 20,
        _ => number as usize % 300,
    };
    (0..50_000).map(|number| (row(20, number), bytes(length(number)))).collect()
}

fn everything() -> KeyRange {
    KeyRange { lower: row(20, 0), upper: row(21, 0) }
}

#[test]
fn a_long_walk_gives_the_entries_of_its_view() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &RocksDbOptions::default()).unwrap();
    let mut rows = many_rows();
    engine.load(&mut rows.clone().into_iter()).unwrap();
    let view = engine.snapshot();
    engine.apply(&[&put(&row(20, 45_000), b"later")], Position(1)).unwrap();
    let threads = || engine.db.threads.left();
    let all_threads = threads();
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut walks = [(); 3].map(|()| view.cursor(&everything(), direction).unwrap());
        let mut least_left = all_threads;
        for (key, value) in &rows {
            for walk in &mut walks {
                let entry = walk.next().unwrap().expect("an entry");
                assert!(entry.key == key && entry.value == value, "{key:?}");
            }
            least_left = least_left.min(threads());
        }
        assert!(walks.iter_mut().all(|walk| walk.next().unwrap().is_none() && walk.next().unwrap().is_none()));
        assert_eq!(least_left, all_threads.saturating_sub(walks.len()));
        assert_eq!(threads(), all_threads, "{direction:?}");
        rows.reverse();
    }
    // One that is left in the middle.
    let mut walk = view.cursor(&everything(), Direction::Forward).unwrap();
    for (key, _) in &rows[..20_000] {
        assert_eq!(walk.next().unwrap().expect("an entry").key, key);
    }
    drop(walk);
    assert_eq!(threads(), all_threads);
}

/// Keys that lie together in places far apart, so that where a stride ends is guessed badly.
#[test]
fn a_long_walk_gives_entries_that_lie_anywhere() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &RocksDbOptions::default()).unwrap();
    let near = |number: u32| [row(20, 0), number.to_be_bytes().to_vec()].concat();
    let far = |number: u32| [row(20, 1 << (number % 20)), vec![7; 40], number.to_be_bytes().to_vec()].concat();
    let beyond = |number: u32| row(20, u32::MAX - number * number);
    let keys = (0..30_000).map(near).chain((0..30_000).map(far)).chain((0..30_000).map(beyond));
    let rows: BTreeMap<Vec<u8>, Vec<u8>> = keys.map(|key| (key, vec![5; 90])).collect();
    engine.load(&mut rows.clone().into_iter()).unwrap();
    let view = engine.snapshot();
    let mut rows: Vec<_> = rows.into_iter().collect();
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut walk = view.cursor(&everything(), direction).unwrap();
        for (key, value) in &rows {
            let entry = walk.next().unwrap().expect("an entry");
            assert!(entry.key == key && entry.value == value, "{key:?}");
        }
        assert!(walk.next().unwrap().is_none());
        rows.reverse();
    }
}

#[test]
fn a_long_walk_ends_where_a_file_is_damaged() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &RocksDbOptions::default()).unwrap();
    let rows = many_rows();
    engine.load(&mut rows[..25_000].iter().cloned()).unwrap();
    drop(engine);
    let is_table = |path: &PathBuf| path.extension().is_some_and(|end| end == "sst");
    for path in fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).filter(is_table) {
        let mut bytes = fs::read(&path).unwrap();
        if bytes.len() > 100_000 {
            let at = bytes.len() / 6 * 5;
            bytes[at] ^= 0x40;
            fs::write(&path, bytes).unwrap();
        }
    }
    let engine = RocksDb::open(dir.path(), &RocksDbOptions::default()).unwrap();
    let mut walk = engine.snapshot().cursor(&everything(), Direction::Forward).unwrap();
    let mut given = 0;
    let error = loop {
        match walk.next() {
            Ok(Some(entry)) => assert_eq!((entry.key, entry.value), (&rows[given].0[..], &rows[given].1[..])),
            Ok(None) => panic!("damage was not found"),
            Err(error) => break error,
        }
        given += 1;
    };
    assert!(error.detail.contains("Corruption") && given > 17_000, "{given}: {error}");
    assert!(walk.next().unwrap().is_none());
}

#[test]
#[should_panic(expected = "applied after")]
fn a_position_that_does_not_rise_is_a_defect() {
    let dir = TempDir::new().unwrap();
    let engine = RocksDb::open(dir.path(), &small()).unwrap();
    engine.apply(&[], Position(5)).unwrap();
    let _ = engine.apply(&[], Position(5));
}

/// A small file system of its own, if this user may have one.
struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    fn mount(mebibytes: u32) -> Option<SmallDisk> {
        let dir = TempDir::new().unwrap();
        let size = format!("size={mebibytes}m");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir.path()).output().ok()?;
        mounted.status.success().then_some(SmallDisk { dir })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.dir.path()).status();
    }
}

#[test]
fn a_full_disk_refuses_cohorts_until_there_is_room() {
    let Some(disk) = SmallDisk::mount(24) else {
        println!("NOT RUN: this user may not mount a file system");
        return;
    };
    let filler = disk.dir.path().join("filler");
    fs::write(&filler, vec![0; 12 << 20]).unwrap();
    let options = RocksDbOptions { write_buffer_bytes: 1 << 20, ..RocksDbOptions::default() };
    let engine = RocksDb::open(&disk.dir.path().join("db"), &options).unwrap();
    let noise: Vec<u8> = (0..50_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let cohort = |position: u64| put(&row(20, position as u32), &noise[..(20_000 + position as usize)]);

    let mut position = 0;
    let refused = loop {
        position += 1;
        assert!(position < 2000, "the disk is never full");
        if let Err(error) = engine.apply(&[&cohort(position)], Position(position)) {
            break error;
        }
    };
    assert!(matches!(refused, WriteError::NoSpace { .. }), "{refused}");
    assert!(matches!(engine.ready(), Err(WriteError::NoSpace { .. })));
    assert!(engine.durable_position().0 < position);
    for applied in 1..position {
        let mut value = Vec::new();
        assert!(engine.get(&row(20, applied as u32), &mut value).unwrap(), "cohort {applied} is not readable");
    }

    fs::remove_file(&filler).unwrap();
    let since = Instant::now();
    while let Err(error) = engine.apply(&[&cohort(position)], Position(position)) {
        assert!(since.elapsed() < Duration::from_secs(30), "still refused: {error}");
        thread::sleep(Duration::from_millis(100));
    }
    engine.ready().unwrap();
    assert_eq!(engine.sync().unwrap(), Position(position));
}
