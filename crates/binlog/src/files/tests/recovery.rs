//! What a start finds, counts, writes again and removes.

use super::*;

/// Everything appended and synced by a server that was killed.
fn synced(chunks: &Chunks) -> SimDisk {
    let disk = SimDisk::new(1);
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    files.sync_all().expect("synced");
    disk.kill()
}

fn file(disk: &SimDisk, number: u64) -> Arc<dyn File> {
    let path = Path::new(DIRECTORY).join(file_name("binlog", number));
    disk.open(&path, &OpenOptions::buffered(Create::Never)).expect("opens")
}

fn total(chunks: &Chunks) -> u64 {
    chunks.chunks.iter().map(|(_, bytes)| bytes.len() as u64).sum()
}

#[test]
fn a_file_of_another_version_is_refused_before_anything_is_changed() {
    let chunks = three_files();
    for number in 1..=3 {
        let disk = synced(&chunks);
        let file = file(&disk, number);
        let mut event = vec![0; crate::wire::u32_at(&chunks.files()[0].1, 4 + 9) as usize];
        file.read_at(4, &mut event).expect("read");
        event[17..21].copy_from_slice(&[0, 0, 3, 0]);
        crate::wire::place_event(&mut event, 4 + chunks.files()[0].1[13] as u32);
        file.write_at(4, &event).expect("written");
        let operations = disk.operations();
        match open(&disk) {
            Err(BinlogError::OtherVersion(error)) => {
                assert!(error.to_string().contains(&file_name("binlog", number)), "{error}");
            }
            other => panic!("{number}: {other:?}"),
        }
        assert_eq!(disk.operations(), operations);
    }
}

#[test]
fn names_in_the_middle_of_being_renewed_are_restored_if_they_are_ours() {
    let chunks = three_files();
    let disk = synced(&chunks);
    let path = |name: &str| Path::new(DIRECTORY).join(name);
    for name in ["binlog.000002", "binlog.index"] {
        disk.rename(&path(name), &path(&format!("{name}.renewed"))).expect("renamed");
    }
    let others = ["other.000001.renewed", "other.index.renewed", "binlog.x.renewed"];
    for name in others {
        disk.open(&path(name), &OpenOptions::buffered(Create::New)).expect("opens");
    }
    let (files, _) = recover(&disk, &chunks.chunks).expect("recovered");
    for name in others {
        disk.remove(&path(name)).expect("it is there still");
    }
    assert_holds(&disk, &files, &chunks);
}

#[test]
fn a_beginning_that_cannot_be_read_is_written_from_the_journal() {
    let chunks = three_files();
    let disk = synced(&chunks);
    file(&disk, 2).write_at(0, &[0; 60]).expect("written");
    let (files, recovered) = recover(&disk, &chunks.chunks).expect("recovered");
    let header = &chunks.files()[1].1;
    assert!(recovered.rewritten_bytes >= header.len().min(60) as u64);
    assert_holds(&disk, &files, &chunks);
}

#[test]
fn the_first_whole_event_after_an_end_is_found_in_any_file() {
    let chunks = three_files();
    let places: Vec<BinlogPosition> = chunks.chunks.iter().map(|(at, _)| *at).collect();
    let found =
        |disk: &SimDisk, end| open(disk).expect("opens").whole_event_after(end).map_err(|error| error.to_string());
    let disk = synced(&chunks);
    let first_of = |file_number| Some(BinlogPosition { file_number, offset: 4 });
    for at in places.iter().filter(|at| at.offset > 0) {
        assert_eq!(found(&disk, *at), Ok(Some(*at)), "the next event is there");
    }
    let ends = [1, 2].map(|number| BinlogPosition {
        file_number: number,
        offset: chunks.files()[number as usize - 1].1.len() as u64,
    });
    assert_eq!(found(&disk, ends[0]), Ok(first_of(2)));
    assert_eq!(found(&disk, ends[1]), Ok(first_of(3)));
    assert_eq!(found(&disk, chunks.end().expect("an end")), Ok(None));
    assert_eq!(found(&disk, BinlogPosition { file_number: 0, offset: 0 }), Ok(first_of(1)));
    // What a crash leaves of bytes that were not synced is no event.
    let torn = ends[0].offset - 3;
    file(&disk, 1).set_len(torn).expect("cut");
    file(&disk, 2).write_at(0, &[0; 200]).expect("written");
    let last = *places.iter().rfind(|at| at.file_number == 1).expect("a place");
    assert_eq!(found(&disk, last), Ok(first_of(3)));
    // A name may be lost with its line in the index kept.
    disk.remove(&Path::new(DIRECTORY).join("binlog.000002")).expect("removed");
    assert_eq!(found(&disk, last), Ok(first_of(3)));
    // The file that has the end must be there, and be a binlog.
    assert!(found(&disk, ends[1]).is_err_and(|error| error.contains("binlog.000002")));
    file(&disk, 1).write_at(0, &[0; 4]).expect("written");
    assert!(found(&disk, last).is_err_and(|error| error.contains("binlog.000001")));
}

#[test]
fn an_error_of_the_disk_is_not_taken_for_a_file_without_events() {
    let chunks = three_files();
    let disk = synced(&chunks);
    let files = open(&disk).expect("opens");
    let cut = disk.crash();
    drop(cut);
    let end = BinlogPosition { file_number: 0, offset: 0 };
    assert!(files.whole_event_after(end).is_err());
}

#[test]
fn a_recovery_counts_what_it_compared_wrote_and_cut() {
    let chunks = three_files();
    let disk = synced(&chunks);
    let lengths: Vec<u64> = chunks.files().iter().map(|(_, bytes)| bytes.len() as u64).collect();
    // The first file has 7 bytes too many, the second has lost 5, and the last 11 of its last transaction.
    file(&disk, 1).write_at(lengths[0], &[1; 7]).expect("written");
    file(&disk, 2).set_len(lengths[1] - 5).expect("cut");
    file(&disk, 3).set_len(lengths[2] - 11).expect("cut");
    let (files, recovered) = recover(&disk, &chunks.chunks).expect("recovered");
    let expected = RecoveredFiles {
        replayed_bytes: total(&chunks),
        rewritten_bytes: 5 + 11,
        cut_bytes: 7,
        removed_files: Vec::new(),
    };
    assert_eq!(recovered, expected);
    assert_holds(&disk, &files, &chunks);
    let disk = disk.crash();
    let (files, _) = recover(&disk, &chunks.chunks).expect("recovered");
    assert_holds(&disk, &files, &chunks);
}

#[test]
fn files_cut_off_count_with_all_their_bytes() {
    let chunks = three_files();
    let disk = synced(&chunks);
    let lengths: Vec<u64> = chunks.files().iter().map(|(_, bytes)| bytes.len() as u64).collect();
    let files = open(&disk).expect("opens");
    let recovered = files.finish_recovery(Some(BinlogPosition { file_number: 1, offset: lengths[0] - 3 }));
    let recovered = recovered.expect("recovered");
    assert_eq!(recovered.cut_bytes, 3 + lengths[1] + lengths[2]);
    assert_eq!(recovered.removed_files, ["binlog.000002", "binlog.000003"]);
    assert_eq!(files.list(), [BinlogFile { number: 1, name: "binlog.000001".to_owned(), bytes: lengths[0] - 3 }]);
}

/// A sync that fails leaves bytes that can be read and are not on the disk: a later one succeeds without them.
#[test]
fn what_a_failed_sync_left_readable_is_made_durable_by_the_next_start() {
    for large in [0, 5 << 19] {
        let mut chunks = three_files();
        chunks.commit(large);
        let known = 5;
        for failing in 0.. {
            let disk = SimDisk::new(failing);
            let (files, _) = recover(&disk, &[]).expect("a new binlog");
            append_all(&files, &chunks.chunks[..known]).expect("appended");
            files.sync_all().expect("synced");
            append_all(&files, &chunks.chunks[known..]).expect("appended");
            let first = disk.operations();
            (failing..failing + 9).for_each(|at| disk.set_fault(first + at, Fault::Error));
            if files.sync_all().is_ok() {
                break;
            }
            disk.clear_faults();
            let disk = disk.kill();
            let files = open(&disk).expect("opens");
            let end = chunks.end().expect("an end");
            // The journal has the bytes of the closed files; of the last one it is known how far it was synced.
            chunks.chunks[known..].iter().filter(|(at, _)| at.file_number < end.file_number).for_each(|(at, bytes)| {
                files.replay(*at, bytes).expect("replayed");
            });
            files.write_again(0, end).expect("written");
            files.finish_recovery(Some(end)).expect("recovered");
            let disk = disk.crash();
            let files = open(&disk).expect("opens");
            let recovered = files.finish_recovery(Some(end)).expect("recovered");
            assert_eq!(recovered, RecoveredFiles::default(), "sync {failing}");
            assert_holds(&disk, &files, &chunks);
        }
    }
}

#[test]
fn what_is_written_again_is_the_part_asked_for() {
    let mut chunks = three_files();
    chunks.commit(5 << 19);
    let disk = synced(&chunks);
    let files = open(&disk).expect("opens");
    let end = chunks.end().expect("an end");
    file(&disk, 3).write_at(end.offset, &[1; 100]).expect("written");
    let written = |from| {
        let before = files.stats().bytes;
        files.write_again(from, end).map(|()| files.stats().bytes - before)
    };
    assert_eq!(written(end.offset - 100).expect("written"), 100);
    assert_eq!(written(end.offset).expect("nothing to do"), 0);
    assert_eq!(written(end.offset + 1).expect("nothing to do"), 0);
    assert_eq!(written(0).expect("written"), end.offset);
    file(&disk, 3).set_len(end.offset - 1).expect("cut");
    match written(0) {
        Err(BinlogError::Damaged { path, offset, .. }) => assert_eq!((path, offset), (files.path(3), end.offset - 1)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_start_after_a_clean_stop_writes_the_index_and_the_mark() {
    let chunks = three_files();
    let disk = SimDisk::new(1);
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    files.close().expect("closed");
    let disk = disk.crash();
    let files = open(&disk).expect("opens");
    assert_eq!(files.finish_recovery(chunks.end()).expect("recovered"), RecoveredFiles::default());
    let stats = files.stats();
    let index = 3 * "./binlog.000001\n".len() as u64;
    assert_eq!((stats.writes, stats.bytes, stats.syncs), (2, index + 2, 3));
    // A rotation that a crash interrupted leaves the mark in a closed file: it is taken away.
    file(&disk, 1).write_at(IN_USE_AT, &[1]).expect("written");
    let files = open(&disk).expect("opens");
    files.finish_recovery(chunks.end()).expect("recovered");
    let stats = files.stats();
    assert_eq!((stats.writes, stats.bytes, stats.syncs), (3, index + 4, 4));
    assert_holds(&disk, &files, &chunks);
}

#[test]
fn what_a_purge_left_goes_without_a_journal_too() {
    let chunks = three_files();
    let disk = synced(&chunks);
    set_index(&disk, b"./binlog.000003\n");
    let files = open(&disk).expect("opens");
    let recovered = files.finish_recovery(None).expect("recovered");
    assert_eq!(recovered.removed_files, ["binlog.000001", "binlog.000002"]);
    assert_eq!(files.end(), chunks.end());
    // A file after the last one is nobody's to remove.
    let disk = synced(&chunks);
    set_index(&disk, b"./binlog.000001\n./binlog.000002\n");
    let error = open(&disk).expect("opens").finish_recovery(None).expect_err("unknown");
    assert!(error.to_string().contains("binlog.000003"), "{error}");
}

#[test]
fn a_purge_seals_the_binlog_only_where_the_index_is_in_doubt() {
    let chunks = three_files();
    let (mut sealed, mut unharmed) = (0, 0);
    for operation in 0.. {
        let disk = SimDisk::new(operation);
        let (files, _) = recover(&disk, &[]).expect("a new binlog");
        append_all(&files, &chunks.chunks).expect("appended");
        files.sync_all().expect("synced");
        disk.set_fault(disk.operations() + operation, Fault::Error);
        if files.purge_before(2).is_ok() {
            break;
        }
        disk.clear_faults();
        match files.sync_all() {
            Err(BinlogError::Sealed) => sealed += 1,
            other => {
                assert_eq!(other.expect("synced"), chunks.end());
                unharmed += 1;
            }
        }
        let disk = disk.crash();
        let files = open(&disk).expect("opens");
        files.finish_recovery(chunks.end()).expect("recovered");
        assert!(files.list().len() >= 2);
    }
    assert_eq!((sealed, unharmed), (2, 4), "the rename and its sync; before and after them");
}

#[test]
fn what_is_longer_than_one_comparison_is_compared_to_its_end() {
    let mut chunks = Chunks::default();
    chunks.begin_file();
    chunks.commit(5 << 19);
    let (begin, end) = (chunks.chunks[1].0.offset, chunks.end().expect("an end").offset);
    let recovered = |damage: &dyn Fn(&dyn File)| {
        let disk = synced(&chunks);
        damage(&*file(&disk, 1));
        recover(&disk, &chunks.chunks).map(|(files, recovered)| {
            assert_holds(&disk, &files, &chunks);
            recovered.rewritten_bytes
        })
    };
    assert_eq!(recovered(&|_| ()).expect("recovered"), 0);
    for lost in [1, 9, (1 << 20) + 5, (2 << 20) + 5] {
        assert_eq!(recovered(&|file| file.set_len(end - lost).expect("cut")).expect("recovered"), lost);
    }
    let hole = |file: &dyn File| file.write_at(begin + 5000, &[0; 512]).expect("written");
    assert_eq!(recovered(&hole).expect("recovered"), end - begin - 5000);
    // A byte that is neither the journal's nor lost, after a hole in what was compared before.
    for at in [begin + (1 << 20), begin + (1 << 20) + 7, end - 20_000] {
        let error = recovered(&|file| {
            hole(file);
            file.write_at(at, b"y").expect("written");
        });
        assert!(matches!(error, Err(BinlogError::Damaged { offset, .. }) if offset == at), "{at}: {error:?}");
    }
}
