//! Names of places, and how far a file goes.

use super::*;

#[test]
fn a_place_is_a_file_and_an_offset() {
    let position = |text: &str| options().position(text).map_err(|InvalidPosition(text)| text);
    let expected = BinlogPosition { file_number: 3, offset: 4711 };
    assert_eq!(position("binlog.000003:4711"), Ok(expected));
    assert_eq!(expected.to_string(), "000003:4711");
    assert_eq!(position("binlog.1234567:0"), Ok(BinlogPosition { file_number: 1_234_567, offset: 0 }));
    let odd = ["", ":", "binlog.000003", "binlog.000003:", ":4", "binlog.3:4", "binlog.000000:4", "bin.000003:4"];
    for text in odd.into_iter().chain(["binlog.000003:-1", "binlog.000003:4:5", "binlog000003:4", "binlog.00000x:4"]) {
        assert_eq!(position(text), Err(text.to_owned()));
    }
}

#[test]
fn what_freeing_space_cures_is_said_so() {
    let io = |number| IoError::new("write", Path::new("/x"), std::io::Error::from_raw_os_error(number));
    assert!(BinlogError::Io(io(28)).is_no_space());
    assert!(BinlogError::FileFull.is_no_space());
    for other in [BinlogError::Io(io(5)), BinlogError::Sealed, BinlogError::UnknownFile(1)] {
        assert!(!other.is_no_space(), "{other}");
    }
}

#[test]
fn nothing_is_promised_that_would_pass_the_end_of_a_file() {
    let chunks = three_files();
    let (files, _) = recover(&SimDisk::new(1), &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    let left = FILE_BYTES_MAX - files.space.lock().end_with(0);
    assert!(left > FILE_BYTES_MAX - (1 << 20), "{left}");
    for promised in [0, 1, 1000] {
        files.reserve(promised).expect("fits");
        assert!(matches!(files.reserve(left - promised + 1), Err(BinlogError::FileFull)), "{promised}");
        files.reserve(left - promised).expect("just fits");
        files.release(left);
    }
}

#[test]
fn the_current_file_is_read_up_to_its_end_or_the_one_given() {
    let disk = SimDisk::new(1);
    let chunks = three_files();
    let (files, _) = recover(&disk, &[]).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    let events = |number, options| {
        let mut reader = files.reader(number, options).expect("opens");
        let mut ends = Vec::new();
        while let Some(event) = reader.next_event().expect("whole events") {
            ends.push(u64::from(event.header.log_pos));
        }
        (ends, reader.is_in_use())
    };
    let end = chunks.end().expect("a file").offset;
    // What a reader must not see yet.
    let file = disk.open(&files.path(3), &OpenOptions::buffered(Create::Never)).expect("opens");
    file.write_at(end, &[0xff; 100]).expect("written");
    let (current, in_use) = events(3, ReaderOptions::default());
    assert_eq!((current.last(), in_use), (Some(&end), true));
    let part = ReaderOptions { end: Some(current[3]), ..ReaderOptions::default() };
    assert_eq!(events(3, part), (current[..4].to_vec(), true));
    let (closed, in_use) = events(1, ReaderOptions::default());
    assert_eq!((closed.last().copied(), in_use), (Some(files.list()[0].bytes), false));
}

#[test]
fn a_rotation_on_a_full_disk_needs_no_promise() {
    let disk = SimDisk::new(1);
    let mut chunks = Chunks::default();
    chunks.begin_file();
    let files = BinlogFiles::open(Arc::new(disk.clone()), BinlogOptions { reserve_step_bytes: 1, ..options() });
    let files = files.expect("opens");
    files.finish_recovery(None).expect("a new binlog");
    append_all(&files, &chunks.chunks).expect("appended");
    let first = chunks.chunks.len();
    chunks.commit(1000);
    files.reserve(chunks.chunks[first].1.len() as u64).expect("there is room");
    files.prepare_next().expect("there is room");
    disk.set_capacity(disk.used_bytes());
    chunks.begin_file();
    for (at, bytes) in &chunks.chunks[first..] {
        files.append(*at, bytes).expect("a rotate event and a header have their room");
    }
    assert_holds(&disk, &files, &chunks);
}
