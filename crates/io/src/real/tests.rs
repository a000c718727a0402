use super::*;
use crate::{AlignedBuf, BLOCK, read_whole, replace_whole};

fn direct_round_trip(dir: &Path) -> bool {
    let path = dir.join("direct");
    let counters = Arc::new(SyncCounters::default());
    RealFs.open(&path, &OpenOptions::buffered(Create::New)).unwrap().set_len(8192).unwrap();
    let file = RealFs.open(&path, &OpenOptions::direct_sync().counted(&counters)).unwrap();
    let mut block = AlignedBuf::new();
    block.resize(BLOCK);
    block.fill(7);
    file.write_at(BLOCK as u64, &block).unwrap();
    let content = read_whole(&RealFs, &path, 1 << 20).unwrap();
    assert!(content[..BLOCK].iter().all(|byte| *byte == 0));
    assert!(content[BLOCK..].iter().all(|byte| *byte == 7));
    let stats = counters.stats();
    assert_eq!((stats.writes, stats.bytes, stats.syncs), (1, 4096, 1));
    file.is_direct()
}

#[test]
fn a_direct_write_reads_back() {
    direct_round_trip(tempfile::tempdir().unwrap().path());
}

#[test]
fn a_file_system_in_memory_takes_direct_opening_with_or_without_the_flag() {
    if Path::new("/dev/shm").is_dir() {
        direct_round_trip(tempfile::tempdir_in("/dev/shm").unwrap().path());
    }
}

#[test]
fn the_lock_of_a_directory_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let held = RealFs.lock_exclusive(&path).unwrap();
    assert!(RealFs.lock_exclusive(&path).unwrap_err().is_locked());
    drop(held);
    let _again = RealFs.lock_exclusive(&path).unwrap();
}

#[test]
fn errors_name_operation_path_and_offset() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("missing");
    let error = RealFs.open(&path, &OpenOptions::read()).err().unwrap();
    assert!(error.is_not_found());
    assert!(error.to_string().starts_with(&format!("cannot open {}: ", path.display())));
    fs::write(&path, b"x").unwrap();
    let error = RealFs.open(&path, &OpenOptions::read()).unwrap().write_at(3, b"y").unwrap_err();
    assert!(error.to_string().contains("at byte 3"));
}

#[test]
fn replacing_leaves_only_the_new_content() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole");
    let counters = Arc::new(SyncCounters::default());
    replace_whole(&RealFs, &path, b"old", Some(&counters)).unwrap();
    fs::write(dir.path().join("whole.new"), b"left by a crash").unwrap();
    replace_whole(&RealFs, &path, b"new", None).unwrap();
    assert_eq!(read_whole(&RealFs, &path, 3).unwrap(), b"new");
    assert!(read_whole(&RealFs, &path, 2).is_err());
    assert_eq!(RealFs.list(dir.path()).unwrap(), ["whole"]);
    assert_eq!(counters.stats().syncs, 2);
}

#[test]
fn reserving_keeps_the_length_and_directories_are_made_with_those_above() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b/c");
    RealFs.create_dir_all(&deep).unwrap();
    RealFs.create_dir_all(&deep).unwrap();
    let file = RealFs.open(&deep.join("f"), &OpenOptions::buffered(Create::New)).unwrap();
    file.reserve(0, 1 << 16).unwrap();
    assert!(file.is_empty().unwrap());
    assert!(RealFs.available_bytes(&deep).unwrap() > 0);
}
