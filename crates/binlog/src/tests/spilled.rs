//! Events that go to a file while their transaction runs are the same as those that stay in memory.

use cohort_io::{FileSystem, SeededRandom, SimDisk};

use super::*;

const DIRECTORY: &str = "/binlogs";

fn files(disk: &SimDisk) -> BinlogFiles {
    let files = BinlogFiles::open(Arc::new(disk.clone()), BinlogOptions::new(DIRECTORY)).expect("opens");
    files.finish_recovery(None).expect("nothing to recover");
    files.append(BinlogPosition { file_number: 1, offset: 0 }, &header()).expect("the first file");
    files
}

fn header() -> Vec<u8> {
    file_header(&identity(), FileStart::Rotation, 1_700_000_000, &GtidSet::new())
}

/// The rows in a file, each as text, after a check that every event of a table follows its map and that statements end.
fn rows_of(disk: &SimDisk, path: &Path) -> Vec<String> {
    let mut reader = BinlogReader::open(disk, path, ReaderOptions::default()).expect("opens");
    let mut rows = Vec::new();
    let mut maps = std::collections::BTreeMap::new();
    let mut within = false;
    while let Some(event) = reader.next_event().expect("an undamaged event") {
        let kind = event.header.event_type;
        match event.decode().expect("a known event") {
            EventBody::TableMap(map) => {
                assert!(!within, "a table map among the rows of a statement");
                maps.insert(map.table_id, map);
            }
            EventBody::Rows(event) => {
                within = !event.statement_end;
                let map = maps.get(&event.table_id).expect("its table map precedes it");
                rows.extend(event.rows(map).map(|row| format!("{kind:?} {:?}", row.expect("a row"))));
                if event.statement_end {
                    maps.clear();
                }
            }
            _ => {}
        }
    }
    assert!(!within, "the last statement ends");
    rows
}

/// Does the same with events that stay in memory and with events that are spilled now and then.
fn compare(seed: u64) {
    let random = SeededRandom::new(seed);
    let disk = SimDisk::new(seed);
    let files = files(&disk);
    let open = || files.new_events_file(seed, 4096);
    let [mut kept, mut spilled] = [new_events(), new_events()];
    let tables = [simple_table(1), simple_table(2), simple_table(3)];
    let mut marks = Vec::new();
    for statement in 0..40 {
        if random.below(4) == 0 {
            marks.push([kept.mark(), spilled.mark()]);
        }
        if random.below(5) == 0 && !marks.is_empty() {
            marks.truncate(random.below(marks.len() as u64) as usize + 1);
            let [one, other] = marks.last().expect("one is left").clone();
            kept.truncate(one);
            spilled.truncate(other);
        }
        let of_tables = 1 + random.below(8).saturating_sub(5) as usize;
        let mut row_marks = Vec::new();
        for row in 0..random.below(60) {
            let table = &tables[random.below(of_tables as u64) as usize];
            let image = simple_row(statement * 100 + row as i32, &vec![b'x'; random.below(600) as usize]);
            if random.below(6) == 0 {
                row_marks.push([kept.mark(), spilled.mark()]);
            }
            for events in [&mut kept, &mut spilled] {
                match row % 3 {
                    0 => events.write_row(table, &image),
                    1 => events.update_row(table, &image, &simple_row(row as i32, b"after")),
                    _ => events.delete_row(table, &image),
                }
            }
            if random.below(8) == 0 {
                spilled.spill(open).expect("room");
            }
            if random.below(9) == 0 && !row_marks.is_empty() {
                row_marks.truncate(random.below(row_marks.len() as u64) as usize + 1);
                let [one, other] = row_marks.last().expect("one is left").clone();
                kept.truncate(one);
                spilled.truncate(other);
            }
        }
        kept.end_statement();
        spilled.end_statement();
        assert_eq!(kept.is_empty(), spilled.is_empty(), "seed {seed}");
    }
    if kept.is_empty() {
        return;
    }
    let mut bytes = header();
    let at = bytes.len() as u64;
    kept.lay_out(&mut bytes, at, &stamp(1));
    let other = SimDisk::new(1);
    let path = Path::new("/kept");
    let file = other.open(path, &cohort_io::OpenOptions::buffered(cohort_io::Create::New)).expect("made");
    file.write_at(0, &bytes).expect("written");

    let large = spilled.finish_spilled(open).expect("room");
    let mut head = header();
    large.push_head(&mut head, &stamp(1));
    files.admit_large(&large).expect("room");
    files.append_large(2, &head, &large).expect("appended");
    let close = large.close(&stamp(1));
    files.append(BinlogPosition { file_number: 2, offset: large.end() }, &close).expect("appended");
    assert_eq!(rows_of(&disk, &files.path(2)), rows_of(&other, path), "seed {seed}");
    let gtids = files.executed_gtids().expect("readable");
    assert_eq!(gtids.count(), 1);
}

#[test]
fn spilled_events_are_those_that_stay_in_memory() {
    (0..150).for_each(compare);
}

/// The room in front of the events is filled, whatever the header takes of it, and the GTID event gives the whole length.
#[test]
fn the_room_in_front_of_the_events_is_filled() {
    let disk = SimDisk::new(1);
    let files = files(&disk);
    let mut events = new_events();
    (0..500).for_each(|id| events.write_row(&simple_table(1), &simple_row(id, &[b'x'; 100])));
    let large = events.finish_spilled(|| files.new_events_file(9, 8192)).expect("room");
    let most = large.header_bytes_max() as usize - header().len();
    for more in [0, 1, 300, 7000, most - 1, most] {
        let mut head = vec![0; header().len() + more];
        let begin = head.len();
        large.push_head(&mut head, &stamp(5));
        assert_eq!(head.len(), 8192);
        let events: Vec<Event<'_>> =
            events_of(&head[begin..], begin as u64).map(|event| event.expect("a whole one")).collect();
        let kinds = [EventType::GTID, EventType::QUERY, EventType::ROWS_QUERY];
        assert!(events.iter().map(|event| event.header.event_type).eq(kinds), "{events:?}");
        let event = &events[0];
        let Ok(EventBody::Gtid(gtid)) = event.decode() else { panic!("no GTID event") };
        let end = large.end() + LargeEvents::CLOSE_BYTES_MAX;
        assert_eq!((gtid.gtid, gtid.transaction_bytes), (stamp(5).gtid, end - begin as u64));
    }
    // As it was never given a place, it goes.
    let is_there = || files.open_large_file(9, "events").is_ok();
    assert!(is_there());
    drop(large);
    assert!(!is_there());
}

/// After a failed sync nobody knows what the file holds.
#[test]
fn a_file_whose_write_failed_is_not_committed() {
    for fault in 0..3 {
        let disk = SimDisk::new(fault);
        let files = files(&disk);
        let mut events = new_events();
        let open = || files.new_events_file(1, 4096);
        events.write_row(&simple_table(1), &simple_row(1, b"a"));
        events.end_statement();
        events.spill(open).expect("room");
        events.write_row(&simple_table(1), &simple_row(2, b"b"));
        events.end_statement();
        disk.set_fault(disk.operations() + fault, cohort_io::Fault::Error);
        let failed = events.spill(open).is_err();
        assert_eq!(failed, fault == 0);
        let committed = events.finish_spilled(open);
        assert!(committed.is_err(), "fault {fault}");
    }
}
