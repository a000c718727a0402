//! Flipped bits: an error that names file and offset, or a tail cut where only a tail can be cut.

use cohort_io::{Create, OpenOptions};

use super::*;
use crate::record::{self, Found, HEADER_BYTES, Header};

/// A journal of several segments whose records are all durable, with a checkpoint after the first.
fn journal_on_disk() -> (SimDisk, Vec<(Lsn, Vec<u8>)>) {
    let disk = SimDisk::new(3);
    let (journal, _) = open(&disk).unwrap();
    let mut records = Vec::new();
    for number in 0..12 {
        let payload = payload(number, 1 + number * 900);
        records.push((append(&journal, &payload, Durability::Sync), payload));
        if number == 1 {
            records.remove(0);
            journal.checkpoint(records[0].0, b"note").unwrap();
        }
    }
    journal.prepare_segments().unwrap();
    (disk.crash(), records)
}

/// The file and offset of a place, by the layout of [`small`] segments.
fn place(lsn: Lsn) -> (std::path::PathBuf, u64) {
    let data = 7 * BLOCK as u64;
    let path = Path::new(DIR).join(format!("journal.{:06}", lsn.0 / data + 1));
    (path, lsn.0 % data + BLOCK as u64)
}

#[test]
fn a_flip_in_a_record_that_a_later_one_vouches_for_stops_with_file_and_offset() {
    let (disk, records) = journal_on_disk();
    let flips: Vec<u64> = (0..72).chain([72, 73, 100]).collect();
    for (lsn, payload) in &records[..records.len() - 1] {
        for at in flips.iter().filter(|at| **at < 72 + payload.len() as u64) {
            let (path, offset) = place(Lsn(lsn.0 + at));
            disk.corrupt(&path, offset, 0x10);
            let error = open(&disk.kill_copy()).err().unwrap_or_else(|| panic!("lsn {lsn} byte {at} passed"));
            let (named, named_offset) = place(*lsn);
            match &error {
                OpenError::Damaged { path, offset, lsn: Some(found), .. } => {
                    assert_eq!((path, *offset, found), (&named, named_offset, lsn), "{error}");
                }
                other => panic!("lsn {lsn} byte {at}: {other}"),
            }
            assert!(error.to_string().contains(&format!("--journal-cut-at={lsn}")), "{error}");
            disk.corrupt(&path, offset, 0x10);
        }
    }
    assert_eq!(open(&disk).unwrap().1.records, records);
}

#[test]
fn a_flip_in_the_last_record_cuts_it_and_says_so() {
    let (disk, records) = journal_on_disk();
    let (lsn, payload) = records.last().unwrap();
    for at in [0, 8, 20, 30, 50, 60, 64, 68, 72, 71 + payload.len() as u64] {
        let (path, offset) = place(Lsn(lsn.0 + at));
        disk.corrupt(&path, offset, 1);
        let (_, read) = open(&disk.kill_copy()).unwrap();
        assert_eq!(read.records, records[..records.len() - 1], "byte {at}");
        if at >= 64 || at == 8 {
            assert!(matches!(read.end, ScanEnd::TornTail { .. }), "byte {at}: {:?}", read.end);
        }
        disk.corrupt(&path, offset, 1);
    }
}

#[test]
fn what_a_checkpoint_or_an_earlier_start_knew_is_not_cut() {
    let (disk, records) = journal_on_disk();
    let (lsn, _) = *records.last().unwrap();
    let (path, offset) = place(lsn);
    let (journal, _) = open(&disk).unwrap();
    disk.corrupt(&path, offset + 64, 1);
    assert!(matches!(open(&disk.kill_copy()), Err(OpenError::Damaged { .. })));
    disk.corrupt(&path, offset + 64, 1);
    let last = append(&journal, b"newest", Durability::Sync);
    journal.checkpoint(records[3].0, b"").unwrap();
    let (path, offset) = place(last);
    disk.corrupt(&path, offset + 64, 1);
    assert!(matches!(open(&disk.kill_copy()), Err(OpenError::Damaged { lsn: Some(lsn), .. }) if lsn == last));
}

#[test]
fn the_operator_may_cut_at_the_damage_and_only_there() {
    let (disk, records) = journal_on_disk();
    let (lsn, _) = records[4];
    let (path, offset) = place(lsn);
    disk.corrupt(&path, offset + 100, 1);
    let with = |cut_at| {
        let options = JournalOptions { cut_at: Some(cut_at), ..small() };
        read_on(Arc::new(disk.clone()), Path::new(DIR), options)
    };
    assert!(matches!(with(records[5].0), Err(OpenError::Damaged { .. })));
    let (journal, read) = with(lsn).unwrap();
    assert_eq!(read.records, records[..4]);
    assert!(matches!(read.end, ScanEnd::CutByOperator { .. }));
    append(&journal, b"instead", Durability::Sync);
    drop(journal);
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!((read.records.len(), read.end), (5, ScanEnd::Clean));
}

#[test]
fn every_flip_in_segment_headers_and_the_checkpoint_is_found() {
    let (disk, _) = journal_on_disk();
    for (name, bytes) in [("journal.000001", 48), ("journal.000003", 48), ("checkpoint", 64 + 4 + 4)] {
        let path = Path::new(DIR).join(name);
        for at in 0..bytes {
            disk.corrupt(&path, at, 0x20);
            let error = open(&disk.kill_copy()).err().unwrap_or_else(|| panic!("{name} byte {at} passed"));
            assert!(error.to_string().contains(name), "{error}");
            disk.corrupt(&path, at, 0x20);
        }
    }
    assert!(open(&disk).is_ok());
}

#[test]
fn a_newer_format_is_named_as_such() {
    let (disk, _) = journal_on_disk();
    for name in ["journal.000002", "checkpoint"] {
        let path = Path::new(DIR).join(name);
        disk.corrupt(&path, 8, 3);
        let error = open(&disk.kill_copy()).err().unwrap();
        assert!(matches!(&error, OpenError::Newer { found: 2, supported: 1, .. }), "{error}");
        disk.corrupt(&path, 8, 3);
    }
}

#[test]
fn a_missing_file_is_named() {
    let (disk, _) = journal_on_disk();
    for name in ["journal.000001", "journal.000002", "checkpoint"] {
        let disk = disk.kill_copy();
        disk.remove(&Path::new(DIR).join(name)).unwrap();
        let error = open(&disk).err().unwrap();
        assert!(matches!(&error, OpenError::Missing { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_missing_last_segment_is_named() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, &payload(1, 60_000), Durability::Sync);
    drop(open(&disk).unwrap());
    for last in [3, 2] {
        let path = Path::new(DIR).join(format!("journal.{last:06}"));
        disk.remove(&path).unwrap();
        match open(&disk) {
            Err(OpenError::Missing { path: missing, .. }) => assert_eq!(missing, path),
            other => panic!("{:?}", other.map(|(_, read)| read)),
        }
    }
}

#[test]
fn a_segment_that_is_cut_short_is_damage() {
    let (disk, _) = journal_on_disk();
    let path = Path::new(DIR).join("journal.000002");
    for (len, offset) in [(0, 0), (47, 0), (48, 48), (8 * BLOCK as u64 - 1, 8 * BLOCK as u64 - 1)] {
        let disk = disk.kill_copy();
        disk.open(&path, &OpenOptions::buffered(Create::Never)).unwrap().set_len(len).unwrap();
        match open(&disk) {
            Err(OpenError::Damaged { path: named, offset: at, what, .. }) => {
                assert_eq!((named, at, what.as_str()), (path.clone(), offset, "it is cut short"), "{len}");
            }
            other => panic!("{len}: {:?}", other.map(|(_, read)| read)),
        }
    }
}

#[test]
fn a_segment_that_was_not_complete_is_removed() {
    let (disk, records) = journal_on_disk();
    let [half, other] = ["journal.000009.new", "journal.9.new"].map(|name| Path::new(DIR).join(name));
    for path in [&half, &other] {
        disk.open(path, &OpenOptions::buffered(Create::New)).unwrap();
    }
    assert_eq!(open(&disk).unwrap().1.records, records);
    assert!(!disk.exists(&half).unwrap() && disk.exists(&other).unwrap(), "what is not the journal's stays");
}

#[test]
fn random_garbage_never_panics() {
    let random = cohort_io::SeededRandom::new(9);
    let (clean, records) = journal_on_disk();
    for _ in 0..500 {
        let disk = clean.kill_copy();
        for _ in 0..1 + random.below(3) {
            let lsn = Lsn(random.below(records.last().unwrap().0.0 + 3 * BLOCK as u64));
            let (path, offset) = place(lsn);
            disk.corrupt(&path, offset, 1 << random.below(8));
        }
        if let Ok((_, read)) = open(&disk) {
            assert_eq!(read.records, records[..read.records.len()]);
            assert!(read.records.len() >= records.len() - 1);
        }
    }
}

#[test]
fn a_payload_that_imitates_a_record_is_not_believed() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, b"first", Durability::Sync);
    let imitation = Header {
        flags: 0,
        previous: 0,
        journal_id: 78,
        epoch: 1,
        lsn: Lsn(3 * BLOCK as u64),
        sequence: 9,
        durable: Lsn(3 * BLOCK as u64),
        payload_bytes: 10,
    };
    let mut payload = vec![0; 2 * BLOCK - HEADER_BYTES];
    payload.extend_from_slice(&imitation.encode().0);
    payload.resize(3 * BLOCK, 0);
    let record = lay_out(&journal, &payload);
    assert_eq!(record.lsn(), Lsn(BLOCK as u64));
    journal.write(&record, Durability::Sync).unwrap();
    disk.corrupt(&place(record.lsn()).0, place(record.lsn()).1 + 80, 1);
    let (_, read) = open(&disk.crash()).unwrap();
    assert_eq!(read.records.len(), 1);
}

/// Changes the header of the record at `lsn`, which fits a block, and puts the checksums right.
fn forge(disk: &SimDisk, lsn: Lsn, change: impl FnOnce(&mut Header)) {
    let (path, offset) = place(lsn);
    let mut found = vec![0; BLOCK];
    disk.open(&path, &OpenOptions::read()).unwrap().read_at(offset, &mut found).unwrap();
    let Found::Header { mut header, .. } = Header::decode(found.first_chunk().unwrap(), 77, lsn) else {
        panic!("no record at lsn {lsn}")
    };
    change(&mut header);
    let mut forged = found.clone();
    forged[..HEADER_BYTES].copy_from_slice(&header.encode().0);
    record::seal_payload(&mut forged, header.payload_bytes as usize);
    for (at, (old, new)) in (offset..).zip(found.iter().zip(&forged)) {
        disk.corrupt(&path, at, old ^ new);
    }
}

/// A record is one of the journal's if and only if it continues the one before it: its checksums may be right all the
/// same, as those of a record are that another use of the disk left there.
#[test]
fn a_record_that_does_not_continue_the_one_before_it_is_not_read() {
    let disk = SimDisk::new(5);
    let mut records = Vec::new();
    for (epoch, payloads) in [&[b"one"][..], &[b"two"], &[b"six", b"ten"]].into_iter().enumerate() {
        let (journal, read) = open(&disk).unwrap();
        assert_eq!(read.records.len(), epoch);
        records.extend(payloads.iter().map(|payload| append(&journal, *payload, Durability::Sync)));
    }
    let [_, second, third, last] = records[..] else { panic!("four records") };
    let forged = |lsn, change: &dyn Fn(&mut Header)| {
        let disk = disk.kill_copy();
        forge(&disk, lsn, change);
        open(&disk).map(|(_, read)| (read.records.len(), read.end))
    };
    let is_cut = |lsn, records, change: &dyn Fn(&mut Header)| {
        let (found, end) = forged(lsn, change).unwrap();
        assert_eq!(found, records);
        assert!(matches!(&end, ScanEnd::TornTail { reason, .. } if reason.contains("does not continue")), "{end:?}");
    };
    is_cut(last, 3, &|header| header.sequence = 2);
    is_cut(last, 3, &|header| header.sequence = 0);
    is_cut(last, 3, &|header| header.previous ^= 1);
    // Without the record that knew it to be durable.
    forge(&disk, last, |header| header.journal_id = 78);
    is_cut(third, 2, &|header| header.sequence = 1);
    is_cut(third, 2, &|header| header.previous ^= 1);
    // An earlier start found the second one: what is there now is damage.
    let is_damage = |change: &dyn Fn(&mut Header)| match forged(second, change) {
        Err(OpenError::Damaged { lsn: Some(lsn), .. }) => assert_eq!(lsn, second),
        other => panic!("{other:?}"),
    };
    is_damage(&|header| header.sequence = 1);
    is_damage(&|header| header.epoch = 0);
    is_damage(&|header| header.epoch += 1);
    assert_eq!(forged(second, &|_| ()).unwrap().0, 3);
}
