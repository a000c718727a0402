//! What a reader gives out, and the bounds of what it takes.

use super::*;
use crate::events::format_description;
use crate::wire::{CRC_BYTES, Origin, begin_event, end_event, place_event};

/// A file of several of the reader's buffers, with an event that is longer than one.
fn large_file() -> FileUnderTest {
    let table = Arc::new(TableMap::new(1, "shop", "large", &[column("id", 3, &[]), column("text", 252, &[3])], &[]));
    let mut file = FileUnderTest::new();
    let mut events = new_events();
    for (id, bytes) in [(0, 10), (1, 200 << 10), (2, 10), (3, 700 << 10), (4, 10), (5, 100 << 10), (6, 200 << 10)] {
        let mut image = vec![0];
        image.extend_from_slice(&i32::to_le_bytes(id));
        image.extend_from_slice(&u32::to_le_bytes(bytes)[..3]);
        image.extend(std::iter::repeat_n(b'x', bytes as usize));
        events.write_row(&table, &image);
        file.commit(&mut events);
    }
    file
}

fn reader(path: &Path) -> BinlogReader {
    BinlogReader::open(&RealFs, path, ReaderOptions::default()).expect("opens")
}

/// Offset, length and the body's checksum.
fn seen(event: &Event<'_>) -> (u64, u32, u32) {
    (event.offset, event.header.event_bytes, crc32fast::hash(event.body))
}

#[test]
fn files_longer_than_a_buffer_are_read_forwards_and_backwards() {
    let file = large_file();
    let (_directory, path) = file.write();
    let in_memory: Vec<_> = events_of(&file.bytes, 0).map(|event| seen(&event.expect("whole"))).collect();
    let mut reader = reader(&path);
    let mut read = Vec::new();
    while let Some(event) = reader.next_event().expect("whole") {
        read.push(seen(&event));
        let end = event.offset + u64::from(event.header.event_bytes);
        assert_eq!(reader.offset(), end);
    }
    assert_eq!(read, in_memory);
    for event in in_memory.iter().rev() {
        reader.seek(event.0);
        let found = reader.next_event().expect("whole").map(|event| seen(&event));
        assert_eq!(found, Some(*event));
    }
}

#[test]
fn events_in_memory_are_whole_and_at_their_place_or_an_error_ends_them() {
    let mut file = FileUnderTest::new();
    let mut events = new_events();
    (1..3).for_each(|id| {
        events.write_row(&simple_table(1), &simple_row(id, b"text"));
        file.commit(&mut events);
    });
    let bytes = &file.bytes;
    let whole: Vec<_> = events_of(bytes, 0).map(|event| seen(&event.expect("whole"))).collect();
    for from in whole.iter().map(|event| event.0) {
        let rest: Vec<_> = events_of(&bytes[from as usize..], from).map(|event| seen(&event.expect("whole"))).collect();
        assert_eq!(rest, whole[whole.iter().position(|event| event.0 == from).expect("one")..]);
        let elsewhere: Vec<_> = events_of(&bytes[from as usize..], from + 1).collect();
        assert!(matches!(&elsewhere[..], [Err((at, what))] if *at == from + 1 && what.contains("ends at")), "{from}");
    }
    for size in [0, 15, HEADER_BYTES + CRC_BYTES - 1] {
        let mut short = bytes[4..].to_vec();
        short[9..13].copy_from_slice(&(size as u32).to_le_bytes());
        let found: Vec<_> = events_of(&short, 4).collect();
        assert!(matches!(&found[..], [Err((4, what))] if what == "the event is cut off"), "{size}: {found:?}");
    }
    for len in 0..bytes.len() {
        let found: Vec<_> = events_of(&bytes[..len], 0).collect();
        let given = whole.iter().take_while(|event| event.0 + u64::from(event.1) <= len as u64).count();
        // Less than the magic number is no file.
        let next = if len < 4 { 0 } else { whole.get(given).map_or(len as u64, |event| event.0) };
        assert_eq!(found.iter().filter(|event| event.is_ok()).count(), given, "{len}");
        let error = (next < len as u64).then(|| (next, "the event is cut off".to_owned()));
        assert_eq!(found.into_iter().find_map(Result::err), error, "{len}");
    }
}

/// A file whose first event was changed, with its position and checksum put right, and one more event.
fn forged(change: impl FnOnce(&mut Vec<u8>), more: &[(EventType, &[u8])]) -> Vec<u8> {
    let origin = Origin { timestamp_s: 5, server_id: 7 };
    let mut event = Vec::new();
    format_description::push(&mut event, "8.0.40-cohort", 0, origin);
    event[17] = 0;
    change(&mut event);
    let mut bytes = vec![0xfe, b'b', b'i', b'n'];
    let end = 4 + event.len() as u32;
    place_event(&mut event, end);
    bytes.extend_from_slice(&event);
    for (event_type, body) in more {
        let start = bytes.len();
        begin_event(&mut bytes, *event_type, 0, origin);
        bytes.extend_from_slice(body);
        end_event(&mut bytes, start);
        let end = bytes.len() as u32;
        place_event(&mut bytes[start..], end);
    }
    bytes
}

fn open_forged(bytes: &[u8], options: ReaderOptions) -> Result<BinlogReader, ReadError> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("binlog.000001");
    std::fs::write(&path, bytes).expect("written");
    BinlogReader::open(&RealFs, &path, options)
}

#[test]
fn a_beginning_of_another_kind_is_called_what_it_is() {
    let error = |change: &dyn Fn(&mut Vec<u8>)| match open_forged(&forged(change, &[]), ReaderOptions::default()) {
        Ok(_) => String::new(),
        Err(error) => error.to_string().split_once("binlog.000001 ").expect("the file").1.to_owned(),
    };
    assert_eq!(error(&|_| ()), "");
    assert!(error(&|event| event[19] = 3).starts_with("has binlog format 3 of server 8.0.40-cohort"));
    assert_eq!(error(&|event| event[4] = 16), "is not a binlog file");
    let algorithm = |event: &mut Vec<u8>, value| {
        let at = event.len() - CRC_BYTES - 1;
        event[at] = value;
    };
    assert_eq!(error(&|event| algorithm(event, 0)), "has no checksums");
    assert!(error(&|event| event[19 + 2 + 50 + 4] = 18).contains("unknown length of event headers"));
    // Only a header: nothing says what it is.
    let header = |event: &mut Vec<u8>| {
        event.truncate(HEADER_BYTES + CRC_BYTES);
        event[9..13].copy_from_slice(&((HEADER_BYTES + CRC_BYTES) as u32).to_le_bytes());
    };
    assert!(error(&header).starts_with("is damaged at byte 4: bytes cut off"), "{}", error(&header));
}

#[test]
fn an_event_may_be_as_long_as_allowed_and_as_short_as_its_frame() {
    let bytes = forged(|_| (), &[(EventType(200), &[]), (EventType(200), &[0; 200])]);
    let description = u32::from_le_bytes(bytes[13..17].try_into().expect("four bytes"));
    let lengths = |event_bytes_max| {
        let options = ReaderOptions { event_bytes_max, end: None };
        open_forged(&bytes, options).map(|mut reader| {
            let mut lengths = Vec::new();
            loop {
                match reader.next_event() {
                    Ok(Some(event)) => lengths.push(event.body.len()),
                    Ok(None) => break (lengths, None),
                    Err(error) => break (lengths, Some(error.to_string())),
                }
            }
        })
    };
    let whole = vec![description as usize - 23, 0, 200];
    assert_eq!(lengths(223).expect("opens"), (whole.clone(), None));
    let (read, error) = lengths(222).expect("opens");
    assert_eq!(read, whole[..2]);
    assert!(error.is_some_and(|error| error.contains("has 223 bytes, more than the 222 allowed")));
    assert!(lengths(description).is_ok() && lengths(description - 1).is_err());
    let mut short = bytes.clone();
    let at = short.len() - 223;
    short[at + 9..at + 13].copy_from_slice(&22u32.to_le_bytes());
    let mut reader = open_forged(&short, ReaderOptions::default()).expect("opens");
    reader.seek(at as u64);
    let error = reader.next_event().expect_err("too short").to_string();
    assert!(error.ends_with(&format!("byte {at}: the event is shorter than its header")), "{error}");
}

#[test]
fn gtids_of_a_file_are_read_from_its_second_event_on() {
    let uuid = |byte| ServerUuid::from_bytes([byte; 16]);
    let mut previous = GtidSet::new();
    previous.insert(Gtid { uuid: uuid(1), gno: 4 });
    let mut set = Vec::new();
    previous.encode(&mut set);
    let gtid = |gno: u64| [&[0][..], &[2; 16], &gno.to_le_bytes(), &[2], &[0; 16]].concat();
    let (first, second) = (gtid(1), gtid(2));
    let file =
        |events: &[(EventType, &[u8])]| open_forged(&forged(|_| (), events), ReaderOptions::default()).expect("opens");
    let events = [
        (EventType::PREVIOUS_GTIDS, &set[..]),
        (EventType::GTID, &first),
        (EventType::XID, &[1; 8]),
        (EventType::GTID, &second),
    ];
    let mut reader = file(&events);
    assert_eq!(reader.previous_gtids().expect("there"), previous);
    assert_eq!(reader.next_event().expect("whole").map(|event| event.header.event_type), Some(EventType::GTID));
    let mut executed = previous.clone();
    (1..3).for_each(|gno| executed.insert(Gtid { uuid: uuid(2), gno }));
    assert_eq!(file(&events).executed_gtids().expect("there"), executed);
    for missing in [&events[1..], &[]] {
        let error = file(missing).previous_gtids().expect_err("missing").to_string();
        assert!(error.contains("the GTIDs of the files before is missing"), "{error}");
    }
    let error = file(&[(EventType::PREVIOUS_GTIDS, &set[1..])]).previous_gtids().expect_err("damaged").to_string();
    assert!(error.contains("not a GTID set"), "{error}");
    let error = file(&[events[0], (EventType::GTID, &first[..9])]).executed_gtids().expect_err("damaged").to_string();
    assert!(error.contains("bytes cut off"), "{error}");
}

#[test]
fn the_end_of_a_file_moves_on_only() {
    let file = large_file();
    let (_directory, path) = file.write();
    let mut reader = reader(&path);
    reader.extend_to(10);
    let mut count = 0;
    while reader.next_event().expect("whole").is_some() {
        count += 1;
    }
    assert_eq!(count, events_of(&file.bytes, 0).count());
    assert!(format!("{reader:?}").contains("binlog.000001"));
    let error = reader.damaged(9, DecodeError { what: "odd", at: 3 }).to_string();
    assert!(error.ends_with("is damaged at byte 9: odd at byte 3 of the event's body"), "{error}");
}

#[test]
fn what_lies_after_the_end_is_read_when_the_end_has_moved() {
    let file = large_file();
    let (_directory, path) = file.write();
    let whole = read_events(&path);
    let end = u64::from(whole[23].header.log_pos);
    let mut unwritten = file.bytes.clone();
    unwritten[end as usize..].fill(0xff);
    std::fs::write(&path, &unwritten).expect("written");
    let options = ReaderOptions { end: Some(end), ..ReaderOptions::default() };
    let mut reader = BinlogReader::open(&RealFs, &path, options).expect("opens");
    let mut count = 0;
    while reader.next_event().expect("whole").is_some() {
        count += 1;
    }
    std::fs::write(&path, &file.bytes).expect("written");
    reader.extend_to(file.bytes.len() as u64);
    while reader.next_event().expect("whole").is_some() {
        count += 1;
    }
    assert_eq!(count, whole.len());
    for after in [1, 5, 100, 1 << 40] {
        let at = file.bytes.len() as u64 + after;
        reader.seek(at);
        assert!(matches!(reader.next_event(), Err(ReadError::CutOff { offset, .. }) if offset == at), "{after}");
    }
}

#[test]
fn a_header_has_its_fields_in_their_places() {
    let bytes: [u8; HEADER_BYTES] = std::array::from_fn(|at| at as u8 + 1);
    let header = EventHeader {
        timestamp_s: 0x0403_0201,
        event_type: EventType(5),
        server_id: 0x0908_0706,
        event_bytes: 0x0d0c_0b0a,
        log_pos: 0x1110_0f0e,
        flags: 0x1312,
    };
    assert_eq!(EventHeader::decode(&bytes), header);
}

#[test]
fn lengths_are_written_as_they_are_read() {
    let edges =
        [(0, 1), (0xfa, 1), (0xfb, 3), (0xffff, 3), (0x1_0000, 4), (0xff_ffff, 4), (0x100_0000, 9), (u64::MAX, 9)];
    for (value, len) in edges {
        let mut bytes = Vec::new();
        crate::wire::push_lenenc(&mut bytes, value);
        assert_eq!((bytes.len(), crate::wire::lenenc_len(value)), (len, len), "{value:#x}");
        assert_eq!(crate::fields::Fields::new(&bytes).lenenc(), Ok(value));
    }
}
