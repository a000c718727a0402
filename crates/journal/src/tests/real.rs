//! The journal on the machine's own file systems.

use cohort_io::RealFs;

use super::*;

fn round_trip(dir: &Path) {
    let dir = dir.join("deep/journal");
    let options = || JournalOptions { segment_bytes: 1 << 20, journal_id: None, ..small() };
    let mut laid_out = Vec::new();
    for _ in 0..3 {
        let (journal, read) = read_on(Arc::new(RealFs), &dir, options()).unwrap();
        assert_eq!((&read.records, read.end), (&laid_out, ScanEnd::Clean));
        for (number, bytes) in [10, 5_000, 3 << 20, 1, 4 << 20].into_iter().enumerate() {
            let durability = if number == 3 { Durability::Flush } else { Durability::Sync };
            let payload = payload(number, bytes);
            laid_out.push((append(&journal, &payload, durability), payload));
        }
        let keep_from = laid_out[laid_out.len() - 2].0;
        journal.checkpoint(keep_from, b"note").unwrap();
        laid_out.retain(|(lsn, _)| *lsn >= keep_from);
        journal.prepare_segments().unwrap();
        assert_eq!(journal.stats().durable_lsn, journal.stats().next_lsn);
    }
    let entries = std::fs::read_dir(&dir).unwrap().count();
    assert!(entries <= 14, "{entries} files");
}

#[test]
fn round_trip_on_a_disk() {
    round_trip(tempfile::tempdir().unwrap().path());
}

#[test]
fn round_trip_where_direct_writes_may_be_refused() {
    if Path::new("/dev/shm").is_dir() {
        round_trip(tempfile::tempdir_in("/dev/shm").unwrap().path());
    }
}

#[test]
fn a_read_only_directory_is_an_error_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, b"").unwrap();
    let error = read_on(Arc::new(RealFs), &path, small()).err().unwrap();
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
}
