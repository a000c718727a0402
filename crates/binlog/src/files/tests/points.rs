//! Points that an earlier server has left beside a file.

use super::*;
use crate::Followed;

const TRANSACTIONS: u64 = 20;

/// A disk with a file that has some points, and another one, and what is in them. The first reader wanted the points, and they
/// were stored.
fn stored() -> (SimDisk, Chunks) {
    let disk = SimDisk::new(1);
    let mut chunks = Chunks::default();
    chunks.begin_file();
    (0..TRANSACTIONS).for_each(|_| chunks.commit(300_000));
    chunks.begin_file();
    chunks.commit(10);
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    begin(&files, &chunks, 9);
    files.store_points();
    assert!(disk.exists(&points_path(&files)).expect("looked up"));
    (disk, chunks)
}

fn points_path(files: &BinlogFiles) -> PathBuf {
    files.path(1).with_extension("000001.points")
}

/// The offset at which a reader goes on that has the first `known` transactions.
fn begin(files: &BinlogFiles, chunks: &Chunks, known: u64) -> Option<u64> {
    files.tail().announce(chunks.end().expect("a file"));
    let mut follower = files.follow_after(&GtidSet::of_range(UUID, 1, known)).expect("nothing was purged");
    for _ in 0..3 {
        if let Followed::Known(offset) = follower.next().expect("whole events") {
            return Some(offset);
        }
    }
    None
}

/// Where readers begin on this disk, after a restart.
fn begins(disk: &SimDisk, chunks: &Chunks) -> Vec<Option<u64>> {
    let disk = disk.kill_copy();
    let (files, _) = recover(&disk, &chunks.chunks[chunks.chunks.len() - 2..]).expect("a start");
    (1..TRANSACTIONS).map(|known| begin(&files, chunks, known)).collect()
}

#[test]
fn a_reader_after_a_restart_begins_without_reading_the_file() {
    let (disk, chunks) = stored();
    let found = begins(&disk, &chunks);
    let points: std::collections::BTreeSet<u64> = found.iter().flatten().copied().collect();
    assert!(points.len() > 3, "{found:?}");
    // What is not at a point is not read: not even what would be an error.
    let damaged = disk.kill_copy();
    let between = chunks.chunks.iter().find(|(at, _)| at.offset > 200 && !points.contains(&at.offset));
    let path = open(&disk).expect("opens").path(1);
    damaged.corrupt(&path, between.expect("not each is a point").0.offset + 9, 0xff);
    assert_eq!(begins(&damaged, &chunks), found);
    damaged.remove(&points_path(&open(&damaged).expect("opens"))).expect("removed");
    let (files, _) = recover(&damaged, &chunks.chunks[chunks.chunks.len() - 2..]).expect("a start");
    files.tail().announce(chunks.end().expect("a file"));
    assert!(files.follow_after(&GtidSet::of_range(UUID, 1, 9)).is_err(), "the file is read without them");
}

/// Whatever is beside a file, a reader gets what it lacks.
#[test]
fn wrong_points_beside_a_file_are_passed_over() {
    let (disk, chunks) = stored();
    let found = begins(&disk, &chunks);
    let path = points_path(&open(&disk).expect("opens"));
    let whole = cohort_io::read_whole(&disk, &path, 1 << 20).expect("a file");
    let with = |bytes: &[u8], what: &str| {
        let disk = disk.kill_copy();
        let file = disk.open(&path, &OpenOptions::buffered(Create::IfMissing)).expect("opens");
        file.set_len(0).and_then(|()| file.write_at(0, bytes)).expect("written");
        assert_eq!(begins(&disk, &chunks), found, "{what}");
    };
    let with_checksum = |content: &[u8]| [content, &crc32fast::hash(content).to_le_bytes()[..]].concat();
    let content = &whole[..whole.len() - 4];
    for at in 0..content.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x11;
        with(&flipped, &format!("byte {at}"));
        // As if somebody had meant it.
        with(&with_checksum(&flipped[..content.len()]), &format!("byte {at}, with a checksum"));
        with(&whole[..at], &format!("cut to {at} bytes"));
    }
    // Those of a file whose transactions are longer.
    let mut other = Chunks::default();
    other.begin_file();
    (0..TRANSACTIONS).for_each(|_| other.commit(400_000));
    other.begin_file();
    let (files, _) = recover(&SimDisk::new(2), &[]).expect("a new binlog");
    append_all(&files, &other.chunks).expect("appended");
    begin(&files, &other, 9);
    let mut points = files.points().take_unstored(1);
    with(&super::super::super::points::encode(&points.remove(0).1), "another file's");
}

#[test]
fn points_go_with_their_file() {
    let (disk, chunks) = stored();
    let (files, _) = recover(&disk.kill_copy(), &chunks.chunks[chunks.chunks.len() - 2..]).expect("a start");
    let path = points_path(&files);
    files.purge_before(2).expect("purged");
    assert!(!files.fs.exists(&path).expect("looked up"));
    // Also where a crash left them.
    let disk = disk.kill();
    let (files, _) = recover(&disk, &chunks.chunks[chunks.chunks.len() - 2..]).expect("a start");
    files
        .names
        .lock()
        .index
        .replace(&*files.fs, [2].into_iter(), &files.counters)
        .map_err(BinlogError::from)
        .expect("replaced");
    drop(files);
    let disk = disk.kill();
    recover(&disk, &chunks.chunks[chunks.chunks.len() - 2..]).expect("a start");
    assert_eq!(disk.list(Path::new(DIRECTORY)).expect("listed"), ["binlog.000002", "binlog.index"]);
}

#[test]
fn the_points_of_the_last_file_come_from_the_start() {
    let disk = SimDisk::new(3);
    let mut chunks = Chunks::default();
    chunks.begin_file();
    (0..TRANSACTIONS).for_each(|_| chunks.commit(300_000));
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    drop(files);
    let (files, _) = recover(&disk, &chunks.chunks[chunks.chunks.len() - 1..]).expect("a start");
    assert_eq!(files.executed_gtids().expect("whole events"), chunks.executed);
    // The file is not read again: not even what would be an error.
    disk.corrupt(&files.path(1), chunks.chunks[1].0.offset + 9, 0xff);
    assert!(begin(&files, &chunks, 9).is_some());
}
