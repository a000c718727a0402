//! Followers see every event once, in order, whatever they read it from, and nothing that was not announced.

use super::*;
use crate::{FollowError, Followed, Follower};

fn at(file_number: u64, offset: u64) -> BinlogPosition {
    BinlogPosition { file_number, offset }
}

fn end(chunk: &(BinlogPosition, Vec<u8>)) -> BinlogPosition {
    at(chunk.0.file_number, chunk.0.offset + chunk.1.len() as u64)
}

/// Appends, shares and announces as a commit path does.
fn commit(files: &BinlogFiles, chunk: &(BinlogPosition, Vec<u8>)) {
    append_all(files, std::slice::from_ref(chunk)).expect("a disk without faults");
    files.tail().push(chunk.0, chunk.1.clone());
    files.tail().announce(end(chunk));
}

fn begun(chunks: &Chunks) -> BinlogFiles {
    let (files, _) = recover(&SimDisk::new(1), &chunks.chunks).expect("a new disk");
    files.tail().announce(chunks.end().unwrap_or_default());
    files
}

/// Everything there is now; each file's events in a row.
fn read_on(follower: &mut Follower<'_>) -> Vec<(u64, Vec<u8>)> {
    let mut read = vec![(follower.position().file_number, Vec::new())];
    loop {
        let number = follower.position().file_number;
        match follower.next().expect("whole events") {
            Followed::Known(_) => panic!("it follows by position"),
            Followed::UpToDate => return read,
            Followed::NextFile => read.push((number + 1, Vec::new())),
            Followed::Event { bytes, .. } => read.last_mut().expect("a file").1.extend_from_slice(bytes),
        }
    }
}

/// The files without their first four bytes and the mark that a file in use has.
fn events_of(chunks: &Chunks) -> Vec<(u64, Vec<u8>)> {
    chunks.files().into_iter().map(|(number, bytes)| (number, unmarked(bytes[4..].to_vec()))).collect()
}

fn unmarked(mut events: Vec<u8>) -> Vec<u8> {
    events[IN_USE_AT as usize - 4] = 0;
    events
}

#[test]
fn a_follower_reads_files_to_the_end_and_goes_on_with_what_is_shared() {
    let old = three_files();
    let files = begun(&old);
    let mut follower = files.follow(at(1, 4)).expect("the first file");
    let mut read: Vec<_> = read_on(&mut follower).into_iter().map(|(n, bytes)| (n, unmarked(bytes))).collect();
    assert_eq!(read, events_of(&old));
    assert_eq!(follower.next().expect("readable"), Followed::UpToDate);

    let mut all = old.clone();
    (0..3).for_each(|i| all.commit(100 * i));
    all.begin_file();
    all.commit(70_000);
    all.chunks[old.chunks.len()..].iter().for_each(|chunk| commit(&files, chunk));
    let mut more = read_on(&mut follower).into_iter();
    let last = read.last_mut().expect("three files");
    last.1.extend(more.next().expect("the third file").1);
    read.extend(more.map(|(number, bytes)| (number, unmarked(bytes))));
    assert_eq!(read, events_of(&all));
}

#[test]
fn nothing_is_read_before_it_is_announced() {
    let mut chunks = Chunks::default();
    chunks.begin_file();
    let files = begun(&chunks);
    let mut follower = files.follow(at(1, 4)).expect("the only file");
    read_on(&mut follower);
    chunks.commit(10);
    let chunk = chunks.chunks.last().expect("a transaction");
    append_all(&files, std::slice::from_ref(chunk)).expect("a disk without faults");
    files.tail().push(chunk.0, chunk.1.clone());
    assert_eq!(follower.next().expect("readable"), Followed::UpToDate);
    let mut late = files.follow(at(1, 4)).expect("the only file");
    read_on(&mut late);
    assert_eq!(late.position(), chunk.0);
    assert!(matches!(files.follow(end(chunk)), Err(FollowError::BeyondEnd)), "it may be gone after a crash");
    files.tail().announce(end(chunk));
    assert_eq!(read_on(&mut follower)[0].1, chunk.1);
}

#[test]
fn positions_without_an_event_are_refused() {
    let chunks = three_files();
    let files = begun(&chunks);
    let last = chunks.end().expect("there is an end");
    for (position, refused) in [
        (at(1, 3), "Impossible"),
        (at(4, 4), "UnknownFile"),
        (at(9, 4), "UnknownFile"),
        (at(3, last.offset + 1), "BeyondEnd"),
        (at(1, u64::MAX), "BeyondEnd"),
    ] {
        let error = files.follow(position).expect_err("no event begins there");
        assert_eq!(format!("{error:?}"), refused, "{position}");
    }
    for offset in [5, 100, last.offset - 1] {
        let mut follower = files.follow(at(3, offset)).expect("a place in the file");
        // What is shared must not be taken for an event either.
        files.tail().push(at(3, 0), chunks.files()[2].1.clone());
        assert!(follower.next().is_err(), "inside of an event: {offset}");
    }
    assert_eq!(files.tail().followers(), 0, "whoever was refused does not hold a purge up");
}

#[test]
fn a_set_of_gtids_leads_to_the_last_file_that_has_everything_after_it() {
    let chunks = three_files();
    let files = begun(&chunks);
    let set = |last: u64| GtidSet::of_range(UUID, 1, last);
    let file = |known: &GtidSet| files.follow_after(known).map(|follower| follower.position().file_number);
    for (last, expected) in [(1, 1), (5, 1), (6, 2), (11, 2), (12, 3), (18, 3)] {
        assert_eq!(file(&set(last)).expect("nothing was purged"), expected, "{last}");
    }
    assert_eq!(file(&GtidSet::new()).expect("nothing was purged"), 1);
    files.purge_before(3).expect("two files");
    match file(&set(3)) {
        Err(FollowError::Purged(missing)) => assert_eq!(missing, GtidSet::of_range(UUID, 4, 12)),
        other => panic!("{other:?}"),
    }
    assert_eq!(file(&set(12)).expect("its files are there"), 3);
}

#[test]
fn what_a_follower_reads_is_not_purged() {
    let chunks = three_files();
    let files = begun(&chunks);
    assert_eq!(files.tail().oldest_followed(), None);
    let mut second = files.follow(at(2, 4)).expect("the second file");
    let _third = files.follow(at(3, 4)).expect("the third file");
    assert_eq!(files.tail().oldest_followed(), Some(2));
    read_on(&mut second);
    assert_eq!(files.tail().oldest_followed(), Some(3));
    drop(second);
    assert_eq!(files.tail().followers(), 1);
}
