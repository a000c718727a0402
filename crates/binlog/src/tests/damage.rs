//! Files cut off and bits turned: an error that names file and offset, never a panic, never a wrong event.

use super::*;

fn some_file() -> FileUnderTest {
    let table = simple_table(1);
    let mut file = FileUnderTest::new();
    let mut events = new_events();
    events.query("shop", "CREATE TABLE t1 (id INT, text VARCHAR(250))");
    file.commit(&mut events);
    for i in 0..3 {
        events.write_row(&table, &simple_row(i, b"text"));
        events.update_row(&table, &simple_row(i, b"text"), &simple_row(i, b"other"));
        file.commit(&mut events);
    }
    file
}

/// Reads to the first error or the end; decodes everything it is given.
fn read_all(path: &Path) -> Result<usize, ReadError> {
    let mut reader = BinlogReader::open(&RealFs, path, ReaderOptions::default())?;
    let mut count = 0;
    let mut table = None;
    while let Some(event) = reader.next_event()? {
        count += 1;
        match event.decode() {
            Ok(EventBody::TableMap(map)) => table = Some(map),
            Ok(EventBody::Rows(rows)) => {
                if let Some(table) = &table {
                    rows.rows(table).for_each(drop);
                }
            }
            _ => {}
        }
    }
    Ok(count)
}

#[test]
fn a_file_cut_off_anywhere_says_where() {
    let file = some_file();
    let (_directory, path) = file.write();
    let whole = read_events(&path);
    let boundaries: Vec<u64> = whole.iter().map(|event| u64::from(event.header.log_pos)).collect();
    for len in 0..file.bytes.len() {
        std::fs::write(&path, &file.bytes[..len]).expect("written");
        let result = read_all(&path);
        if let Some(events) = boundaries.iter().position(|end| *end == len as u64) {
            assert_eq!(result.expect("whole events"), events + 1);
            continue;
        }
        let error = result.expect_err("a cut-off event");
        match error {
            ReadError::NotBinlog { .. } => assert!(len < 4),
            ReadError::CutOff { offset, .. } => {
                let expected = boundaries.iter().rev().find(|end| **end <= len as u64).unwrap_or(&4);
                assert_eq!(offset, *expected);
            }
            other => panic!("cut at {len}: {other}"),
        }
    }
}

#[test]
fn every_turned_bit_is_found() {
    let file = some_file();
    let (_directory, path) = file.write();
    let mut bytes = file.bytes.clone();
    for at in 0..bytes.len() {
        // Every bit of the first events, where the rules are, and one of each later byte.
        for bit in (0..8).filter(|bit| at < 60 || at % 8 == *bit) {
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, &bytes).expect("written");
            bytes[at] ^= 1 << bit;
            let in_use_mark = at == 21 && bit == 0;
            match read_all(&path) {
                Ok(_) => assert!(in_use_mark, "bit {bit} of byte {at} was not noticed"),
                Err(error) => {
                    assert!(!in_use_mark);
                    assert!(error.to_string().contains("binlog.000001"), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_body_that_passes_the_checksum_is_still_not_believed() {
    let file = some_file();
    let (_directory, path) = file.write();
    let events = read_events(&path);
    let map = events.iter().find_map(|event| match event.decode() {
        EventBody::TableMap(map) => Some(map),
        _ => None,
    });
    let map = map.expect("a table map");
    for event in &events {
        for at in 0..event.body.len() {
            for value in [0, 1, 0x7f, 0x80, 0xfc, 0xfe, 0xff] {
                let mut body = event.body.clone();
                body[at] = value;
                decode_all(event, &body, &map);
            }
            decode_all(event, &event.body[..at], &map);
        }
    }
}

fn decode_all(event: &OwnedEvent, body: &[u8], map: &TableMapEvent) {
    let event = Event { offset: event.offset, header: event.header, body };
    if let Ok(EventBody::Rows(rows)) = event.decode() {
        assert!(rows.rows(map).count() <= body.len() + 1);
    }
}

#[test]
fn an_event_longer_than_allowed_is_refused_before_memory_is_asked_for() {
    let file = some_file();
    let (_directory, path) = file.write();
    let options = ReaderOptions { event_bytes_max: 60, end: None };
    let error = BinlogReader::open(&RealFs, &path, options).expect_err("too long");
    assert!(error.to_string().contains("more than the 60 allowed"), "{error}");
}

#[test]
fn a_live_file_is_read_up_to_the_given_end() {
    let file = some_file();
    let (_directory, path) = file.write();
    let whole = read_events(&path);
    let end = u64::from(whole[5].header.log_pos);
    let options = ReaderOptions { end: Some(end), ..ReaderOptions::default() };
    let mut reader = BinlogReader::open(&RealFs, &path, options).expect("opens");
    let mut count = 0;
    while reader.next_event().expect("whole events").is_some() {
        count += 1;
    }
    assert_eq!(count, 6);
    reader.extend_to(file.bytes.len() as u64);
    while reader.next_event().expect("whole events").is_some() {
        count += 1;
    }
    assert_eq!(count, whole.len());
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_refused_or_read_without_a_panic(
        kind in 0u8..40,
        body in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
    ) {
        let header = EventHeader {
            timestamp_s: 0, event_type: EventType(kind), server_id: 0, event_bytes: 0, log_pos: 0, flags: 0,
        };
        let event = Event { offset: 0, header, body: &body };
        let _ = event.decode();
        let _ = GtidSet::decode(&body);
    }
}
