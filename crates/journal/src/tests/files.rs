//! What the files say: it comes back as it was written, and what contradicts itself is refused.

use cohort_io::{Create, File, OpenOptions};

use super::*;
use crate::control::{Control, NOTE_BYTES_MAX};

/// Bytes of a segment's header, and of the checkpoint before its note.
const SEGMENT_HEADER: usize = 48;
const NOTE_AT: usize = 64;

fn control(note: Vec<u8>) -> Control {
    Control {
        journal_id: 0x8877_6655_4433_2211,
        epoch: 0x1122_3344_5566_7788,
        epoch_start: Lsn(0x0100_2000_3000_4000),
        start: Lsn(0x0005_0000_6000_7000),
        durable: Lsn(0x0800_0900_0a00_b000),
        clean: false,
        flushed: false,
        note,
    }
}

fn write(disk: &SimDisk, control: &Control) {
    control.write(disk, Path::new(DIR), &Arc::default()).unwrap();
}

fn file(disk: &SimDisk, name: &str) -> Arc<dyn File> {
    disk.open(&Path::new(DIR).join(name), &OpenOptions::buffered(Create::Never)).unwrap()
}

#[test]
fn a_checkpoint_comes_back_as_it_was_written() {
    let disk = SimDisk::new(1);
    for (clean, flushed) in [(false, false), (true, false), (false, true), (true, true)] {
        let written = Control { clean, flushed, ..control(b"note".to_vec()) };
        write(&disk, &written);
        assert_eq!(Control::read(&disk, Path::new(DIR)).unwrap(), written);
    }
}

#[test]
fn the_longest_note_comes_back_and_no_longer_file_is_read() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    let note = payload(1, NOTE_BYTES_MAX);
    journal.checkpoint(Lsn(0), &note).unwrap();
    assert!(open(&disk).unwrap().1.note == note);
    let checkpoint = file(&disk, "checkpoint");
    checkpoint.write_at(checkpoint.len().unwrap(), &[0]).unwrap();
    assert!(matches!(open(&disk), Err(OpenError::Io(_))), "its memory is bounded");
}

#[test]
#[should_panic(expected = "the note of a checkpoint has a limit")]
fn a_longer_note_is_refused() {
    let (journal, _) = open(&SimDisk::new(1)).unwrap();
    let _ = journal.checkpoint(Lsn(0), &vec![0; NOTE_BYTES_MAX + 1]);
}

/// Changes the checkpoint, and puts its checksum right.
fn forged_checkpoint(change: impl FnOnce(&mut Vec<u8>)) -> Result<Control, OpenError> {
    let disk = SimDisk::new(1);
    write(&disk, &control(b"note".to_vec()));
    let path = Path::new(DIR).join("checkpoint");
    let mut bytes = cohort_io::read_whole(&disk, &path, 1000).unwrap();
    bytes.truncate(bytes.len() - 4);
    change(&mut bytes);
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    cohort_io::replace_whole(&disk, &path, &bytes, None).unwrap();
    Control::read(&disk, Path::new(DIR))
}

#[test]
fn a_checkpoint_that_contradicts_itself_is_damage() {
    let what = |change: &dyn Fn(&mut Vec<u8>)| match forged_checkpoint(change) {
        Err(OpenError::Damaged { offset, what, lsn: None, .. }) => (offset, what),
        other => panic!("{other:?}"),
    };
    for len in 0..NOTE_AT - 4 {
        assert_eq!(what(&|bytes| bytes.truncate(len)), (0, "it is cut short".to_owned()), "{len}");
    }
    for len in NOTE_AT - 4..NOTE_AT + 4 {
        assert_eq!(what(&|bytes| bytes.truncate(len)).0, 56, "{len}");
    }
    assert_eq!(what(&|bytes| bytes.push(0)), (56, "its length is wrong".to_owned()));
    for place in [32, 40, 48] {
        let between = what(&|bytes| bytes[place] += 1);
        assert_eq!(between, (32, "it names a place between two blocks".to_owned()), "{place}");
    }
    assert_eq!(forged_checkpoint(|_| ()).unwrap(), control(b"note".to_vec()));
}

/// A journal of three segments, whose second one's header was changed and has the right checksum.
fn forged_segment(change: impl FnOnce(&mut [u8; SEGMENT_HEADER])) -> Result<(), OpenError> {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, &payload(1, 80_000), Durability::Sync);
    let file = file(&disk, "journal.000002");
    let mut header = [0; SEGMENT_HEADER];
    file.read_at(0, &mut header).unwrap();
    change(&mut header);
    header[12..16].fill(0);
    let checksum = crc32c::crc32c(&header);
    header[12..16].copy_from_slice(&checksum.to_le_bytes());
    file.write_at(0, &header).unwrap();
    open(&disk).map(drop)
}

#[test]
fn a_segment_whose_header_cannot_be_is_damage() {
    let second = Path::new(DIR).join("journal.000002");
    let forged = |at: usize, number: u64| match forged_segment(|header| {
        header[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }) {
        Err(OpenError::Damaged { path, offset, what, lsn: None }) if path == second => (offset, what),
        other => panic!("{at}, {number}: {other:?}"),
    };
    let (first, data) = (7 * BLOCK as u64, 7 * BLOCK as u64);
    let impossible = (0, "its header has impossible numbers".to_owned());
    for number in [first + 1, 0u64.wrapping_sub(BLOCK as u64)] {
        assert_eq!(forged(32, number), impossible);
    }
    for number in [0, data - 1, 0u64.wrapping_sub(BLOCK as u64)] {
        assert_eq!(forged(40, number), impossible);
    }
    let whole = data + BLOCK as u64;
    for longer in [whole, 1 << 40] {
        assert_eq!(forged(40, longer), (whole, "it is cut short".to_owned()));
    }
    assert_eq!(forged(16, 78), (16, "it belongs to another journal".to_owned()));
    assert_eq!(forged(24, 3), (24, "it is segment 3 by its content".to_owned()));
    forged_segment(|_| ()).unwrap();
}

/// The first segment's numbers, so that file and header add up to all there is.
#[test]
fn a_segment_as_long_as_the_whole_journal_is_cut_short() {
    let disk = SimDisk::new(1);
    drop(open(&disk).unwrap().0.reserve(1).unwrap());
    let file = file(&disk, "journal.000001");
    let mut header = [0; SEGMENT_HEADER];
    file.read_at(0, &mut header).unwrap();
    header[40..48].copy_from_slice(&0u64.wrapping_sub(BLOCK as u64).to_le_bytes());
    header[12..16].fill(0);
    let checksum = crc32c::crc32c(&header);
    header[12..16].copy_from_slice(&checksum.to_le_bytes());
    file.write_at(0, &header).unwrap();
    let error = open(&disk).err().unwrap();
    assert!(error.to_string().contains("cut short"), "{error}");
}

#[test]
fn a_segment_that_does_not_continue_the_one_before_it_is_damage() {
    let damaged = forged_segment(|header| header[32..40].copy_from_slice(&(8 * BLOCK as u64).to_le_bytes()));
    let third = Path::new(DIR).join("journal.000003");
    match damaged {
        Err(OpenError::Damaged { path, offset: 32, what, .. }) if path == third => {
            assert_eq!(what, "it does not continue segment 2");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_segment_that_ends_while_it_is_read_is_an_error_with_its_place() {
    let disk = SimDisk::new(1);
    let (journal, _) = open(&disk).unwrap();
    append(&journal, &payload(1, 40_000), Durability::Sync);
    let (_, mut scan) = Journal::open(Arc::new(disk.clone()), Path::new(DIR), small()).unwrap();
    file(&disk, "journal.000002").set_len(9000).unwrap();
    match scan.next() {
        Err(OpenError::Io(error)) => {
            assert_eq!((error.path, error.offset), (Path::new(DIR).join("journal.000002"), Some(9000)))
        }
        other => panic!("{other:?}"),
    }
}
