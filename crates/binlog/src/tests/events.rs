//! How rows are grouped into events, and taken back.

use super::*;

/// The transaction in words: one item an event.
fn outline(events: &mut TransactionEvents) -> Vec<String> {
    let mut file = FileUnderTest::new();
    file.commit(events);
    let (_directory, path) = file.write();
    let mut maps = std::collections::BTreeMap::new();
    let mut words = Vec::new();
    for event in &read_events(&path)[2..] {
        words.push(match event.decode() {
            EventBody::Gtid(event) => format!("gtid {}", event.gtid.expect("it has one").gno),
            EventBody::Query(query) => String::from_utf8_lossy(query.sql).into_owned(),
            EventBody::Xid(_) => "xid".to_owned(),
            EventBody::TableMap(map) => {
                let word = format!("map {}", map.table);
                maps.insert(map.table_id, map);
                word
            }
            EventBody::Rows(rows) => {
                let ids: Vec<String> = rows
                    .rows(&maps[&rows.table_id])
                    .map(|row| {
                        let row = row.expect("a row");
                        row.after.or(row.before).expect("an image")[0].to_string()
                    })
                    .collect();
                let end = if rows.statement_end { " end" } else { "" };
                format!("{} t{} {}{end}", rows.kind.name(), rows.table_id, ids.join(","))
            }
            other => format!("{other:?}"),
        });
    }
    words
}

#[test]
fn rows_of_one_table_and_kind_share_an_event() {
    let (one, two) = (simple_table(1), simple_table(2));
    let mut events = new_events();
    events.write_row(&one, &simple_row(1, b"a"));
    events.write_row(&one, &simple_row(2, b"b"));
    events.end_statement();
    events.update_row(&one, &simple_row(1, b"a"), &simple_row(3, b"c"));
    events.delete_row(&one, &simple_row(2, b"b"));
    events.end_statement();
    events.end_statement();
    events.write_row(&two, &simple_row(4, b""));
    let expected = [
        "gtid 1",
        "BEGIN",
        "map t1",
        "Write_rows t1 1,2 end",
        "map t1",
        "Update_rows t1 3",
        "Delete_rows t1 2 end",
        "map t2",
        "Write_rows t2 4 end",
        "xid",
    ];
    assert_eq!(outline(&mut events), expected);
}

#[test]
fn a_table_that_comes_late_is_announced_in_front_of_the_statement() {
    let (one, two) = (simple_table(1), simple_table(2));
    let mut events = new_events();
    events.write_row(&one, &simple_row(1, b"a"));
    events.write_row(&two, &simple_row(2, b"b"));
    events.write_row(&one, &simple_row(3, b"c"));
    events.write_row(&two, &simple_row(4, &[b'x'; 900]));
    let expected = [
        "gtid 1",
        "BEGIN",
        "map t1",
        "map t2",
        "Write_rows t1 1",
        "Write_rows t2 2",
        "Write_rows t1 3",
        "Write_rows t2 4 end",
        "xid",
    ];
    assert_eq!(outline(&mut events), expected);
}

#[test]
fn an_event_is_full_at_its_limit_and_takes_a_longer_row_alone() {
    let table = simple_table(1);
    let mut events = new_events();
    (0..30).for_each(|i| events.write_row(&table, &simple_row(i, &[b'x'; 900])));
    let mut file = FileUnderTest::new();
    file.commit(&mut events);
    let (_directory, path) = file.write();
    let sizes: Vec<u32> = read_events(&path)
        .iter()
        .filter(|event| event.header.event_type == EventType::WRITE_ROWS)
        .map(|event| event.header.event_bytes)
        .collect();
    assert_eq!(sizes.len(), 4);
    assert!(sizes.iter().all(|size| *size <= 8192), "{sizes:?}");
}

#[test]
fn what_was_taken_back_leaves_no_trace() {
    let (one, two) = (simple_table(1), simple_table(2));
    let big = [b'x'; 900];
    let mut events = new_events();
    events.write_row(&one, &simple_row(1, b"a"));
    events.end_statement();
    let between = events.mark();
    for i in 0..40 {
        events.write_row(&two, &simple_row(i, &big));
    }
    events.end_statement();
    events.update_row(&one, &simple_row(1, b"a"), &simple_row(2, b"b"));
    events.truncate(between.clone());
    events.write_row(&two, &simple_row(7, b""));
    events.end_statement();
    events.truncate(between);
    events.write_row(&two, &simple_row(8, b""));
    let expected = ["gtid 1", "BEGIN", "map t1", "Write_rows t1 1 end", "map t2", "Write_rows t2 8 end", "xid"];
    assert_eq!(outline(&mut events), expected);
}

#[test]
fn a_mark_within_a_statement_brings_its_open_event_back() {
    let (one, two) = (simple_table(1), simple_table(2));
    let big = [b'x'; 900];
    let mut events = new_events();
    (0..3).for_each(|i| events.write_row(&one, &simple_row(i, &big)));
    let within = events.mark();
    (3..30).for_each(|i| events.write_row(&one, &simple_row(i, &big)));
    events.delete_row(&two, &simple_row(5, b""));
    (30..50).for_each(|i| events.write_row(&one, &simple_row(i, &big)));
    events.truncate(within);
    events.write_row(&one, &simple_row(99, b""));
    events.delete_row(&two, &simple_row(6, b""));
    let expected = ["gtid 1", "BEGIN", "map t1", "map t2", "Write_rows t1 0,1,2,99", "Delete_rows t2 6 end", "xid"];
    assert_eq!(outline(&mut events), expected);
}

#[test]
fn everything_taken_back_is_no_transaction() {
    let table = simple_table(1);
    let mut events = new_events();
    let start = events.mark();
    events.write_row(&table, &simple_row(1, b"a"));
    assert!(!events.is_empty());
    events.truncate(start.clone());
    assert!(events.is_empty());
    events.query("shop", "DROP TABLE t1");
    events.truncate(start);
    events.write_row(&table, &simple_row(2, b"a"));
    assert_eq!(outline(&mut events), ["gtid 1", "BEGIN", "map t1", "Write_rows t1 2 end", "xid"]);
}

#[test]
fn the_same_events_can_be_laid_out_twice() {
    let table = simple_table(1);
    let mut events = new_events();
    (0..40).for_each(|i| events.write_row(&table, &simple_row(i, &[b'y'; 800])));
    let mut first = FileUnderTest::new().bytes;
    let at = first.len() as u64;
    events.lay_out(&mut first, at, &stamp(1));
    let mut elsewhere = Vec::new();
    events.lay_out(&mut elsewhere, 3_000_000_000, &stamp(2));
    let mut second = FileUnderTest::new().bytes;
    events.lay_out(&mut second, at, &stamp(1));
    assert!(first == second, "the position left a trace");
}

#[test]
fn header_says_in_use_and_its_checksum_is_of_a_closed_file() {
    let mut previous = GtidSet::new();
    (1..=9).for_each(|gno| previous.insert(Gtid { uuid: UUID, gno }));
    let bytes = file_header(&identity(), FileStart::Rotation, 1_700_000_000, &previous);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("binlog.000002");
    let mut closed = bytes.clone();
    closed[21..23].fill(0);
    for bytes in [bytes, closed] {
        std::fs::write(&path, &bytes).expect("written");
        let events = read_events(&path);
        let EventBody::FormatDescription(description) = events[0].decode() else { panic!("no description") };
        assert_eq!(description.server_version, "8.0.40-cohort");
        assert_eq!((description.binlog_version, description.created_s), (4, 0));
        assert_eq!(events[1].decode(), EventBody::PreviousGtids(previous.clone()));
        let mut reader = BinlogReader::open(&RealFs, &path, ReaderOptions::default()).expect("opens");
        assert_eq!(reader.previous_gtids().expect("there"), previous);
    }
}

/// A table map as a file holds it and our reader decodes it.
fn written_map(table: &TableMap, metadata: RowMetadata) -> TableMapEvent {
    let mut file = FileUnderTest::new();
    let mut events = new_events_with(metadata);
    events.write_row(table, &vec![0xff; table.columns().div_ceil(8)]);
    file.commit(&mut events);
    let (_directory, path) = file.write();
    let events = read_events(&path);
    let map = events.iter().find_map(|event| match event.decode() {
        EventBody::TableMap(map) => Some(map),
        _ => None,
    });
    map.expect("a table map")
}

#[test]
fn optional_metadata_names_columns_keys_and_character_sets() {
    let binary = ColumnMeta { charset: 63, ..column("data", 15, &[200, 0]) };
    let mut columns = vec![
        ColumnMeta { unsigned: true, nullable: false, ..column("id", 8, &[]) },
        column("name", 15, &[200, 0]),
        binary,
        ColumnMeta { charset: 46, ..column("code", 254, &[0xfe, 40]) },
        column("price", 246, &[10, 2]),
    ];
    for prefix in [None, Some(300)] {
        if prefix.is_some() {
            columns.truncate(3);
            columns.extend((0..9).map(|i| ColumnMeta { charset: 45 + i, ..column(&format!("c{i}"), 252, &[2]) }));
        }
        let key = [KeyColumn { column: 2, prefix: None }, KeyColumn { column: 0, prefix }];
        let table = TableMap::new(77, "shop", "goods", &columns, &key);
        let minimal = written_map(&table, RowMetadata::Minimal);
        assert!(minimal.primary_key.is_empty() && minimal.columns.iter().all(|column| column.name.is_none()));
        let map = written_map(&table, RowMetadata::Full);
        assert_eq!(map.primary_key, key);
        assert_eq!((map.table_id, map.schema.as_str(), map.table.as_str()), (77, "shop", "goods"));
        for (found, given) in map.columns.iter().zip(&columns) {
            assert_eq!(found.name.as_ref(), Some(&given.name));
            assert_eq!(found.unsigned, given.unsigned);
            assert_eq!(found.nullable, given.nullable);
            let character = matches!(given.field as u8, 15 | 252 | 254);
            assert_eq!(found.charset, character.then_some(u64::from(given.charset)), "{}", given.name);
        }
    }
}
