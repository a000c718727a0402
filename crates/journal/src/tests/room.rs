//! Segments, reservations and buffers: what is set aside, used again and given back.

use std::path::PathBuf;

use cohort_io::Fault;

use super::*;

const BLOCKS: u64 = BLOCK as u64;

/// Payload of a record that takes so many blocks.
fn blocks(count: usize) -> Vec<u8> {
    payload(count, count * BLOCK - HEADER_BYTES)
}

fn end(journal: &Journal) -> Lsn {
    Lsn(journal.stats().next_lsn)
}

/// The segment files and their lengths.
fn segments(disk: &SimDisk) -> Vec<(PathBuf, u64)> {
    let names = disk.list(Path::new(DIR)).unwrap().into_iter().filter(|name| name.starts_with("journal."));
    let length = |path: &Path| disk.open(path, &cohort_io::OpenOptions::read()).unwrap().len().unwrap();
    names.map(|name| Path::new(DIR).join(name)).map(|path| (path.clone(), length(&path))).collect()
}

#[test]
fn statistics_count_what_there_is() {
    for segment_bytes in [8 * BLOCKS, (5 << 20) / 2] {
        let disk = SimDisk::new(1);
        let options = || JournalOptions { segment_bytes, spare_segments: 3, ..small() };
        let (journal, _) = read_on(Arc::new(disk.clone()), Path::new(DIR), options()).unwrap();
        let made = journal.stats().upkeep;
        for number in 0..3 {
            append(&journal, &blocks(number + 1), Durability::Sync);
        }
        journal.prepare_segments().unwrap();
        let stats = journal.stats();
        assert_eq!((stats.records, stats.next_lsn, stats.durable_lsn), (3, 6 * BLOCKS, 6 * BLOCKS));
        assert_eq!((stats.segments, stats.spare_segments, stats.checkpoint_lsn), (4, 3, 0));
        let files = segments(&disk);
        assert!(files.iter().all(|(_, bytes)| *bytes == segment_bytes), "{files:?}");
        assert_eq!((files.len(), stats.disk_bytes), (4, 4 * segment_bytes));
        // A file's bytes and its name are synced.
        assert_eq!(stats.upkeep.bytes - made.bytes, 4 * segment_bytes);
        assert_eq!(stats.upkeep.syncs - made.syncs, 8);
        journal.prepare_segments().unwrap();
        assert_eq!(journal.stats(), stats);
        journal.checkpoint(Lsn(BLOCKS), b"").unwrap();
        assert_eq!(journal.stats().checkpoint_lsn, BLOCKS);
        let (journal, _) = read_on(Arc::new(disk.crash()), Path::new(DIR), options()).unwrap();
        let stats = journal.stats();
        assert_eq!((stats.records, stats.checkpoint_lsn, stats.next_lsn), (0, BLOCKS, 6 * BLOCKS));
    }
}

#[test]
fn a_checkpoint_uses_segments_again_and_writes_only_their_headers() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    for _ in 0..3 {
        append(&journal, &blocks(7), Durability::Sync);
    }
    let before = journal.stats();
    assert_eq!((before.segments, before.spare_segments), (3, 0));
    journal.checkpoint(end(&journal), b"").unwrap();
    let after = journal.stats();
    assert_eq!((after.segments, after.spare_segments), (3, 3));
    let checkpoint = 64 + 4;
    assert_eq!(after.upkeep.bytes - before.upkeep.bytes, 3 * BLOCKS + checkpoint);
    let names: Vec<PathBuf> = segments(&disk).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["journal.000004", "journal.000005", "journal.000006"].map(|name| Path::new(DIR).join(name)));
    // They take records, and what stands in them is not taken for any.
    let lsn = append(&journal, &blocks(3), Durability::Sync);
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!((read.start, read.records, read.end), (lsn, vec![(lsn, blocks(3))], ScanEnd::Clean));
}

#[test]
fn a_checkpoint_keeps_no_more_segments_than_asked_for() {
    let disk = SimDisk::new(1);
    let options = JournalOptions { keep_segments: 2, ..small() };
    let (journal, _) = read_on(Arc::new(disk.clone()), Path::new(DIR), options).unwrap();
    for _ in 0..6 {
        append(&journal, &blocks(7), Durability::Sync);
    }
    journal.checkpoint(Lsn(5 * 7 * BLOCKS), b"").unwrap();
    assert_eq!((journal.stats().segments, segments(&disk).len()), (2, 2));
    // The segment with the checkpoint stays however few are asked for.
    let (journal, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records, [(Lsn(5 * 7 * BLOCKS), blocks(7))]);
    assert_eq!(journal.stats().segments, 2);
}

#[test]
fn a_reservation_is_as_large_as_the_limit_and_no_larger() {
    let options = JournalOptions { reservation_bytes_max: 3 * BLOCKS, ..small() };
    let (journal, _) = read_on(Arc::new(SimDisk::new(1)), Path::new(DIR), options).unwrap();
    let most = blocks(3).len() as u64;
    assert_eq!(journal.reserve(most).unwrap().bytes(), 3 * BLOCKS);
    match journal.reserve(most + 1) {
        Err(ReserveError::TooLarge { needed, max }) => assert_eq!((needed, max), (4 * BLOCKS, 3 * BLOCKS)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn room_is_taken_once_and_given_back_once() {
    let (journal, _) = open(&SimDisk::new(1)).unwrap();
    let room = |journal: &Journal| journal.inner.space.take(7 * BLOCKS).is_some();
    let mut first = journal.reserve(1).unwrap();
    assert!(!room(&journal), "a block is taken");
    first.release();
    assert_eq!(first.bytes(), 0);
    drop(first);
    assert!(room(&journal) && room(&journal), "it came back, and what was dropped did");
    assert!(journal.inner.space.take(7 * BLOCKS + 1).is_none(), "and no more than that");
    append(&journal, &blocks(1), Durability::Sync);
    assert!(!room(&journal), "a record keeps its room");
    assert!(journal.inner.space.take(6 * BLOCKS).is_some());
}

#[test]
fn a_record_takes_what_is_prepared_and_no_block_more() {
    let (journal, _) = open(&SimDisk::new(1)).unwrap();
    append(&journal, &blocks(1), Durability::Sync);
    match journal.layout(&[&blocks(7)]) {
        Err(JournalError::NotReserved { needed, left }) => assert_eq!((needed, left), (7 * BLOCKS, 6 * BLOCKS)),
        other => panic!("{:?}", other.map(|record| record.lsn())),
    }
    assert_eq!(append(&journal, &blocks(6), Durability::Sync), Lsn(BLOCKS));
    assert_eq!((journal.stats().segments, journal.stats().next_lsn), (1, 7 * BLOCKS));
}

#[test]
fn buffers_are_used_again_and_those_kept_are_few_and_small() {
    let options = JournalOptions { segment_bytes: 16 << 20, ..small() };
    let (journal, _) = read_on(Arc::new(SimDisk::new(1)), Path::new(DIR), options).unwrap();
    let kept = || journal.inner.pool.lock().iter().map(|buffer| buffer.capacity()).collect::<Vec<_>>();
    drop(lay_out(&journal, &payload(1, POOLED_BYTES_MAX)));
    assert_eq!(kept(), [], "too large by its header");
    let records: Vec<LaidOut> = (0..6).map(|_| lay_out(&journal, b"small")).collect();
    drop(records);
    assert_eq!(kept(), [BLOCK; POOLED_BUFFERS_MAX], "as large as the record, wherever it lies");
    let record = lay_out(&journal, b"small");
    assert_eq!(kept().len(), POOLED_BUFFERS_MAX - 1);
    drop(record);
    drop(lay_out(&journal, &payload(1, POOLED_BYTES_MAX - HEADER_BYTES)));
    assert_eq!(kept().iter().max(), Some(&(4 << 20)));
    assert_eq!(POOLED_BUFFERS_MAX, kept().len());
}

#[test]
fn only_segments_with_flushed_bytes_are_synced() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    journal.prepare_segments().unwrap();
    for segment in 0..3 {
        append(&journal, &blocks(7), Durability::Flush);
        journal.prepare_segments().unwrap();
        let before = journal.stats().log.syncs;
        journal.sync().unwrap();
        assert_eq!(journal.stats().log.syncs - before, 1, "segment {segment}");
    }
}

#[test]
fn what_a_caller_has_made_something_of_is_made_durable() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"flushed", Durability::Flush);
    assert!(journal.durable_lsn() < end(&journal));
    journal.sync_completed().unwrap();
    assert_eq!(journal.durable_lsn(), end(&journal));
    let lost = lay_out(&journal, b"lost");
    disk.set_fault(disk.operations(), Fault::Error);
    journal.write(&lost, Durability::Sync).unwrap_err();
    journal.sync_completed().expect("what was completed is durable, though the journal is sealed");

    let (journal, _) = open(&disk.crash()).unwrap();
    append(&journal, b"flushed", Durability::Flush);
    let disk = SimDisk::new(2);
    drop(journal);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"flushed", Durability::Flush);
    disk.set_fault(disk.operations(), Fault::Error);
    journal.sync().unwrap_err();
    assert!(matches!(journal.sync_completed(), Err(JournalError::Sealed(_))));
}

/// A sync that fails leaves bytes that can be read and are not on the disk: a later one succeeds without them.
#[test]
fn an_opening_makes_durable_what_a_failed_sync_left_readable() {
    for bytes in [100, 3 << 20] {
        let disk = SimDisk::new(1);
        let options = || JournalOptions { segment_bytes: 2 << 20, ..small() };
        let (journal, _) = read_on(Arc::new(disk.clone()), Path::new(DIR), options()).unwrap();
        append(&journal, &blocks(2), Durability::Sync);
        let begin = append(&journal, &payload(1, bytes), Durability::Flush);
        let flushed = end(&journal).0 - begin.0;
        disk.set_fault(disk.operations(), Fault::Error);
        disk.set_fault(disk.operations() + 1, Fault::Error);
        journal.sync().unwrap_err();
        let disk = disk.kill();
        let (journal, read) = read_on(Arc::new(disk.clone()), Path::new(DIR), options()).unwrap();
        assert_eq!(read.records.len(), 2);
        assert_eq!(journal.stats().log.bytes, flushed, "nothing else is written again");
        let (_, read) = read_on(Arc::new(disk.crash()), Path::new(DIR), options()).unwrap();
        assert_eq!(read.records[1].1, payload(1, bytes));
    }
}

#[test]
fn a_journal_that_was_closed_is_opened_without_a_write_or_sync_of_its_records() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, &blocks(3), Durability::Flush);
    journal.close(end(&journal), b"").unwrap();
    let (journal, read) = open(&disk.crash()).unwrap();
    assert_eq!((read.end, journal.stats().log), (ScanEnd::Clean, SyncStats::default()));
}

#[test]
fn a_closed_journal_ends_where_it_was_closed_whatever_was_written_after() {
    for reached in [false, true] {
        let disk = SimDisk::new(1);
        let (journal, _) = open(&disk).unwrap();
        append(&journal, b"one", Durability::Sync);
        let closed = end(&journal);
        let next = lay_out(&journal, b"never completed");
        let after = lay_out(&journal, b"nor this");
        journal.write(&after, Durability::Sync).unwrap();
        if reached {
            journal.write(&next, Durability::Sync).unwrap();
        }
        journal.close(closed, b"").unwrap();
        let (journal, read) = open(&disk.crash()).unwrap();
        assert_eq!((read.records.len(), read.end), (0, ScanEnd::Clean));
        assert_eq!(append(&journal, b"instead", Durability::Sync), closed);
    }
}

#[test]
#[should_panic(expected = "only looked at")]
fn who_only_looks_writes_nothing() {
    let disk = SimDisk::new(1);
    open(&disk).unwrap().0.close(Lsn(0), b"").unwrap();
    let mut scan = Journal::read(Arc::new(disk), Path::new(DIR)).unwrap();
    assert!(scan.next().unwrap().is_none());
    let _ = scan.finish();
}

#[test]
fn a_journal_says_whether_synced_writes_are_direct() {
    let disk: Arc<dyn FileSystem> = Arc::new(SimDisk::new(1));
    let (journal, _) = read_on(Arc::clone(&disk), Path::new(DIR), small()).unwrap();
    append(&journal, b"one", Durability::Sync);
    assert!(journal.is_direct());
    let (inner, _) = upkeep::open(disk, Path::new(DIR), small(), Purpose::Read).unwrap();
    assert!(!Journal { inner: Arc::new(inner) }.is_direct(), "it was opened to be read");
}

#[test]
fn whether_records_may_have_been_flushed_only_is_known_of_the_last_opening() {
    let disk = SimDisk::new(1);
    for (durability, always_synced) in [(Durability::Sync, true), (Durability::Flush, false), (Durability::Sync, true)]
    {
        let (journal, _) = open(&disk).unwrap();
        append(&journal, b"one", durability);
        append(&journal, b"two", durability);
        let scan = Journal::read(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
        assert_eq!(scan.was_always_synced(), always_synced, "{durability:?}");
    }
}

#[test]
fn segments_of_another_size_stay_until_there_is_one_that_goes_on_from_them() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, &blocks(7), Durability::Sync);
    append(&journal, &blocks(7), Durability::Sync);
    let options = JournalOptions { segment_bytes: 4 * BLOCKS, ..small() };
    let (journal, _) = read_on(Arc::new(disk.clone()), Path::new(DIR), options).unwrap();
    journal.checkpoint(end(&journal), b"").unwrap();
    let names = || segments(&disk).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(names(), ["journal.000001", "journal.000002"].map(|name| Path::new(DIR).join(name)));
    let lsn = append(&journal, &blocks(1), Durability::Sync);
    assert_eq!(lsn, Lsn(14 * BLOCKS));
    journal.checkpoint(lsn, b"").unwrap();
    assert_eq!(names(), [Path::new(DIR).join("journal.000003")]);
}
