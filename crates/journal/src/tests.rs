//! Tests of the journal. `crash` sweeps every call of a workload with power cuts and errors, `damage`
//! flips bytes, `files` forges headers, `room` counts what is taken and given back, `real` runs on the
//! machine's file system.

mod crash;
mod damage;
mod files;
mod real;
mod room;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cohort_io::{BLOCK, FileSystem, SimDisk};

use super::*;

const DIR: &str = "/data/journal";

/// Segments of seven blocks, so that records cross their ends all the time.
fn small() -> JournalOptions {
    JournalOptions {
        segment_bytes: 8 * BLOCK as u64,
        spare_segments: 1,
        keep_segments: 4,
        journal_id: Some(77),
        ..JournalOptions::default()
    }
}

/// What a scan found.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    start: Lsn,
    note: Vec<u8>,
    records: Vec<(Lsn, Vec<u8>)>,
    end: ScanEnd,
}

fn read_on(fs: Arc<dyn FileSystem>, dir: &Path, options: JournalOptions) -> Result<(Journal, Read), OpenError> {
    let (journal, mut scan) = Journal::open(fs, dir, options)?;
    let mut records = Vec::new();
    while let Some(record) = scan.next()? {
        records.push((record.lsn(), record.payload().to_vec()));
    }
    assert!(scan.next()?.is_none());
    scan.finish()?;
    let read = Read { start: scan.start(), note: scan.checkpoint_note().to_vec(), records, end: scan.end().clone() };
    Ok((journal, read))
}

fn open(disk: &SimDisk) -> Result<(Journal, Read), OpenError> {
    read_on(Arc::new(disk.clone()), Path::new(DIR), small())
}

fn payload(number: usize, bytes: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..251).map(|at| (number * 31 + at * 7) as u8).collect();
    let mut payload = pattern.repeat(bytes / pattern.len() + 1);
    payload.truncate(bytes);
    payload
}

/// Lays out, with a reservation that goes back at once.
fn lay_out(journal: &Journal, payload: &[u8]) -> LaidOut {
    let mut room = journal.reserve(payload.len() as u64).unwrap();
    let (front, back) = payload.split_at(payload.len() / 2);
    let record = journal.layout(&[front, back]).unwrap();
    room.release();
    record
}

fn append(journal: &Journal, payload: &[u8], durability: Durability) -> Lsn {
    let record = lay_out(journal, payload);
    journal.write(&record, durability).unwrap();
    journal.mark_durable(record.end());
    record.lsn()
}

#[test]
fn records_of_every_size_come_back_in_order() {
    let disk = SimDisk::new(1);
    let (journal, read) = open(&disk).unwrap();
    assert_eq!((read.records.len(), read.end), (0, ScanEnd::Clean));
    let sizes = [0, 1, 4023, 4024, 4025, 8192, 100_000, 5, 28_600, 28_601, 4096 * 7];
    let laid_out: Vec<(Lsn, Vec<u8>)> = sizes
        .iter()
        .enumerate()
        .map(|(number, bytes)| {
            let payload = payload(number, *bytes);
            (append(&journal, &payload, Durability::Sync), payload)
        })
        .collect();
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records, laid_out);
    assert_eq!(read.end, ScanEnd::Clean);
}

#[test]
fn a_lone_small_record_is_one_block_and_one_synced_write() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    journal.prepare_segments().unwrap();
    let before = journal.stats();
    append(&journal, &[1; 1000], Durability::Sync);
    let after = journal.stats();
    assert_eq!(after.log.writes - before.log.writes, 1);
    assert_eq!(after.log.bytes - before.log.bytes, BLOCK as u64);
    assert_eq!(after.log.syncs - before.log.syncs, 1);
    assert_eq!(after.upkeep, before.upkeep);
    assert_eq!(after.durable_lsn, after.next_lsn);
}

#[test]
fn the_scan_must_end_before_anything_is_laid_out() {
    let disk = SimDisk::new(1);
    let (journal, mut scan) = Journal::open(Arc::new(disk.clone()), Path::new(DIR), small()).unwrap();
    assert!(matches!(journal.layout(&[]), Err(JournalError::NotRecovered)));
    assert!(journal.reserve(1).is_err());
    assert!(scan.next().unwrap().is_none());
    assert!(journal.reserve(1).is_err());
    scan.finish().unwrap();
    append(&journal, b"x", Durability::Sync);
}

#[test]
fn a_checkpoint_moves_the_start_and_its_note_and_bounds_the_disk() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    let mut most = 0;
    for number in 0..200 {
        let lsn = append(&journal, &payload(number, 5000), Durability::Sync);
        if number % 5 == 4 {
            journal.checkpoint(lsn, format!("at {number}").as_bytes()).unwrap();
        }
        most = most.max(journal.stats().segments);
    }
    assert!(most <= 5, "{most} segments at once");
    let names = disk.list(Path::new(DIR)).unwrap();
    assert!(names.len() <= 6, "{names:?}");
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.note, b"at 199");
    assert_eq!(read.records.len(), 1);
    assert_eq!(read.records[0], (read.start, payload(199, 5000)));
}

#[test]
fn what_an_earlier_run_left_after_the_end_is_not_taken_for_a_record() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"kept", Durability::Sync);
    let torn = lay_out(&journal, b"never written");
    let ghost = lay_out(&journal, b"ghost");
    journal.write(&ghost, Durability::Sync).unwrap();
    let disk = disk.crash();
    let (journal, read) = open(&disk).unwrap();
    assert_eq!(read.records.len(), 1);
    assert!(matches!(&read.end, ScanEnd::TornTail { bytes: 8192, .. }), "{:?}", read.end);
    // The new record ends exactly where the ghost begins.
    assert_eq!(append(&journal, b"in its place", Durability::Sync), torn.lsn());
    let (journal, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records.last().unwrap().1, b"in its place");
    assert_eq!((read.records.len(), read.end), (2, ScanEnd::Clean));
    drop(journal);
}

#[test]
fn a_second_record_in_flight_does_not_make_the_first_ones_hole_damage() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"one", Durability::Sync);
    let _first = lay_out(&journal, b"two");
    let second = lay_out(&journal, b"three");
    journal.write(&second, Durability::Sync).unwrap();
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records.len(), 1);
}

#[test]
fn a_flushed_record_is_durable_after_sync_and_the_mark_waits_for_it() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"one", Durability::Sync);
    let first = journal.durable_lsn();
    append(&journal, b"two", Durability::Flush);
    assert_eq!(journal.durable_lsn(), first);
    journal.sync().unwrap();
    assert_eq!(journal.durable_lsn().0, journal.stats().next_lsn);
    let syncs = journal.stats().log.syncs;
    journal.sync().unwrap();
    assert_eq!(journal.stats().log.syncs, syncs);
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records.len(), 2);
}

#[test]
fn a_synced_record_syncs_the_flushed_ones_before_it() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let (journal, _) = open(&disk).unwrap();
        append(&journal, b"flushed", Durability::Flush);
        append(&journal, &payload(1, 40_000), Durability::Flush);
        append(&journal, b"synced", Durability::Sync);
        assert_eq!(journal.durable_lsn().0, journal.stats().next_lsn);
        let (_, read) = open(&disk.crash()).unwrap();
        assert_eq!(read.records.len(), 3);
    }
}

#[test]
fn a_flushed_write_after_a_synced_one_is_synced_too() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let (journal, _) = open(&disk).unwrap();
        let first = lay_out(&journal, b"asked for flush");
        let second = lay_out(&journal, b"synced");
        journal.write(&second, Durability::Sync).unwrap();
        journal.write(&first, Durability::Flush).unwrap();
        journal.mark_durable(second.end());
        assert_eq!(journal.durable_lsn(), second.end());
        let (_, read) = open(&disk.crash()).unwrap();
        assert_eq!(read.records.len(), 2);
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_flushed() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"flushed", Durability::Flush);
    let disk = disk.kill();
    let (_, read) = open(&disk).unwrap();
    assert_eq!(read.records.len(), 1);
    // The opening made it durable: a power cut does not take it back.
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records.len(), 1);
}

#[test]
fn a_full_disk_fails_the_reservation_and_nothing_else() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    journal.prepare_segments().unwrap();
    disk.set_capacity(disk_bytes(&disk));
    let left = journal.stats().disk_bytes - BLOCK as u64;
    let error = journal.reserve(left + 1).unwrap_err();
    assert!(matches!(&error, ReserveError::NoSpace { .. }), "{error}");
    assert!(matches!(journal.prepare_segments(), Ok(())));
    append(&journal, b"still takes small ones", Durability::Sync);
    disk.set_capacity(u64::MAX);
    append(&journal, &payload(1, 50_000), Durability::Sync);
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records.len(), 2);
}

fn disk_bytes(disk: &SimDisk) -> u64 {
    u64::MAX - disk.available_bytes(Path::new("/")).unwrap()
}

#[test]
fn reservations_share_the_room_and_give_it_back() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    let first = journal.reserve(1).unwrap();
    assert_eq!((first.bytes(), journal.stats().segments), (BLOCK as u64, 1));
    let others: Vec<Reservation> = (0..6).map(|_| journal.reserve(4000).unwrap()).collect();
    assert_eq!(journal.stats().segments, 1);
    let eighth = journal.reserve(1).unwrap();
    assert_eq!(journal.stats().segments, 2);
    drop((first, others, eighth));
    let _all = journal.reserve(14 * BLOCK as u64 - 72).unwrap();
    assert_eq!(journal.stats().segments, 2);
    assert!(matches!(journal.reserve(u64::MAX), Err(ReserveError::TooLarge { .. })));
}

#[test]
fn what_was_not_reserved_is_refused_without_harm() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"one", Durability::Sync);
    assert!(matches!(journal.layout(&[&[0; 100_000]]), Err(JournalError::NotReserved { .. })));
    append(&journal, b"two", Durability::Sync);
}

#[test]
fn a_closed_journal_takes_nothing_and_opens_where_it_was_closed() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"one", Durability::Flush);
    let end = Lsn(journal.stats().next_lsn);
    journal.close(end, b"bye").unwrap();
    assert!(matches!(journal.layout(&[b"x"]), Err(JournalError::Sealed(_))));
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!((read.start, &read.note[..], read.end), (end, &b"bye"[..], ScanEnd::Clean));
}

#[test]
fn a_reader_goes_back_to_the_oldest_record_on_the_disk() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    let mut written = Vec::new();
    for number in 0..40 {
        let payload = payload(number, number * 997 % 20_000);
        written.push((append(&journal, &payload, Durability::Sync), payload));
        if number == 33 {
            journal.checkpoint(written[30].0, b"note").unwrap();
            journal.prepare_segments().unwrap();
        }
    }
    let mut scan = Journal::read(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    assert!(!scan.was_closed());
    let (start, bytes_max) = (scan.start(), scan.bytes_max());
    assert_eq!(start, written[30].0);
    let on_disk = |lsn: u64| scan.place(Lsn(lsn)).is_some();
    assert!(on_disk(start.0 + bytes_max - 1) && !on_disk(start.0 + bytes_max));
    let expected: Vec<_> = written.iter().filter(|(lsn, _)| on_disk(lsn.0)).cloned().collect();
    assert!((11..40).contains(&expected.len()), "some that the checkpoint has passed are left: {}", expected.len());
    scan.rewind().unwrap();
    let mut records = Vec::new();
    while let Some(record) = scan.next().unwrap() {
        records.push((record.lsn(), record.payload().to_vec()));
    }
    assert_eq!((scan.records(), scan.end()), (expected.len() as u64, &ScanEnd::Clean));
    assert!(records == expected);
    drop(scan);
    journal.close(Lsn(journal.stats().next_lsn), b"bye").unwrap();
    assert!(Journal::read(Arc::new(disk.clone()), Path::new(DIR)).unwrap().was_closed());
}

#[test]
fn another_segment_size_takes_over_at_the_next_start() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, &payload(1, 50_000), Durability::Sync);
    for segment_blocks in [3, 20, 2] {
        let options = JournalOptions { segment_bytes: segment_blocks * BLOCK as u64, ..small() };
        let fs = Arc::new(disk.clone());
        let (journal, read) = read_on(fs, Path::new(DIR), options).unwrap();
        assert_eq!(read.records.last().unwrap().1, payload(1, 50_000));
        let lsn = append(&journal, &payload(1, 50_000), Durability::Sync);
        journal.checkpoint(lsn, b"").unwrap();
    }
    let disk = disk.crash();
    let (journal, read) = open(&disk).unwrap();
    assert_eq!(read.records.len(), 1);
    journal.checkpoint(Lsn(journal.stats().next_lsn), b"").unwrap();
    for number in 0..30 {
        append(&journal, &payload(number, 3000), Durability::Sync);
    }
    journal.checkpoint(Lsn(journal.stats().next_lsn), b"").unwrap();
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records.len(), 0);
}

#[test]
fn many_threads_write_and_every_acknowledged_record_comes_back() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    let order = Mutex::new(Vec::new());
    let turn = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (journal, order, turn) = (&journal, &order, &turn);
            scope.spawn(move || {
                for round in 0..100 {
                    let payload = payload(thread * 1000 + round, 1 + round * 97);
                    let mut room = journal.reserve(payload.len() as u64).unwrap();
                    let record = {
                        let mut order = order.lock();
                        order.push(payload.clone());
                        journal.layout(&[&payload]).unwrap()
                    };
                    room.release();
                    let durability = if round % 3 == 0 { Durability::Flush } else { Durability::Sync };
                    journal.write(&record, durability).unwrap();
                    let deadline = Instant::now() + Duration::from_secs(60);
                    while turn.load(Ordering::SeqCst) != record.lsn().0 {
                        assert!(Instant::now() < deadline, "the records before are not durable");
                        std::thread::yield_now();
                    }
                    journal.mark_durable(record.end());
                    turn.store(record.end().0, Ordering::SeqCst);
                }
            });
        }
    });
    journal.sync().unwrap();
    let (_, read) = open(&disk.crash()).unwrap();
    let found: Vec<Vec<u8>> = read.records.into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(found, order.into_inner());
}
