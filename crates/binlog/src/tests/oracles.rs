//! Readers that others wrote must see what was written.

use std::path::Path;
use std::process::Command;

use mysql_common::binlog::consts::BinlogVersion;
use mysql_common::binlog::events::{EventData, RowsEventData};
use mysql_common::binlog::row::BinlogRow;
use mysql_common::binlog::value::BinlogValue;
use mysql_common::value::Value;

use cohort_types::Collation;
use cohort_types::temporal::SECOND_US;

use super::super::Value as Ours;
use super::columns::{Cell, image, rows, samples, values};
use super::*;

/// What `mariadb-binlog -vv --verify-binlog-checksum` prints of a file; it must accept it.
fn mariadb_binlog(path: &Path) -> String {
    let output = Command::new("mariadb-binlog")
        .args(["--no-defaults", "-vv", "--verify-binlog-checksum"])
        .arg(path)
        .env("TZ", "UTC")
        .output()
        .expect("mariadb-binlog runs (Debian package mariadb-client)");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "mariadb-binlog: {errors}");
    assert_eq!(errors, "", "mariadb-binlog complains");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A change as `mysql_common` sees it: table, row before, row after.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    table: String,
    before: Option<Vec<Value>>,
    after: Option<Vec<Value>>,
}

/// Everything `mysql_common` finds in a file: the rows, and the other events in words.
pub(super) fn mysql_common(path: &Path) -> (Vec<Change>, Vec<String>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("opens"));
    let mut binlog = mysql_common::binlog::BinlogFile::new(BinlogVersion::Version4, file).expect("a binlog");
    let (mut changes, mut others) = (Vec::new(), Vec::new());
    while let Some(event) = binlog.next() {
        let event = event.expect("an event");
        if let Some(EventData::TransactionPayloadEvent(payload)) = event.read_data().expect("known data") {
            let mut payload = payload.decompressed().expect("zstd");
            while let Some(event) = binlog.reader_mut().read_decompressed(&mut payload).expect("an event") {
                read_one(&event, &binlog, &mut changes, &mut others);
            }
            continue;
        }
        let description = binlog.reader().get_fde();
        if let Ok(Some(algorithm)) = description.footer().get_checksum_alg() {
            let flags = event.header().flags_raw();
            if flags == 0 || event.header().event_type_raw() != 15 {
                assert_eq!(event.checksum(), Some(event.calc_checksum(algorithm).to_le_bytes()));
            }
        }
        read_one(&event, &binlog, &mut changes, &mut others);
    }
    (changes, others)
}

fn read_one<T: std::io::BufRead>(
    event: &mysql_common::binlog::events::Event,
    binlog: &mysql_common::binlog::BinlogFile<T>,
    changes: &mut Vec<Change>,
    others: &mut Vec<String>,
) {
    match event.read_data().expect("known data").expect("known data") {
        EventData::RowsEvent(data) => changes.extend(rows_of(&data, binlog)),
        EventData::GtidEvent(gtid) => others.push(format!(
            "gtid {} {} {} {} {} {}",
            gtid.gno(),
            gtid.last_committed(),
            gtid.sequence_number(),
            gtid.immediate_commit_timestamp(),
            gtid.tx_length(),
            gtid.immediate_server_version()
        )),
        EventData::QueryEvent(query) => {
            query.status_vars().iter().for_each(|var| {
                var.get_value().expect("a known status variable");
            });
            others.push(format!("query {} {}", query.schema(), query.query()));
        }
        EventData::XidEvent(xid) => others.push(format!("xid {}", xid.xid)),
        EventData::RotateEvent(rotate) => others.push(format!("rotate {} {}", rotate.name(), rotate.position())),
        EventData::FormatDescriptionEvent(fde) => {
            others.push(format!("server {}", fde.server_version().trim_end_matches('\0')))
        }
        EventData::PreviousGtidsEvent(_) => others.push("previous".to_owned()),
        EventData::TableMapEvent(_) => {}
        EventData::UserVarEvent(variable) => {
            others.push(format!("variable {} {:?}", variable.name(), variable.value()))
        }
        EventData::IntvarEvent(number) => others.push(format!("number {:?} {}", number.subtype(), number.value())),
        other => panic!("unexpected event {other:?}"),
    }
}

fn rows_of<T: std::io::BufRead>(data: &RowsEventData<'_>, binlog: &mysql_common::binlog::BinlogFile<T>) -> Vec<Change> {
    let map = binlog.reader().get_tme(data.table_id()).expect("a table map in front of the rows");
    data.rows(map)
        .map(|row| {
            let (before, after) = row.expect("a row");
            Change {
                table: format!("{}.{}", map.database_name(), map.table_name()),
                before: before.map(plain),
                after: after.map(plain),
            }
        })
        .collect()
}

fn plain(row: BinlogRow) -> Vec<Value> {
    let values = row.unwrap();
    values
        .into_iter()
        .map(|value| match value {
            BinlogValue::Value(value) => value,
            other => panic!("unexpected value {other:?}"),
        })
        .collect()
}

/// Our value as `mysql_common` gives it.
fn as_theirs(value: &Ours) -> Value {
    match value {
        Ours::Null => Value::NULL,
        Ours::Int(value) => Value::Int(*value),
        Ours::UInt(value) => match i64::try_from(*value) {
            Ok(value) => Value::Int(value),
            Err(_) => Value::UInt(*value),
        },
        Ours::Float(value) => Value::Float(*value),
        Ours::Double(value) => Value::Double(*value),
        Ours::Decimal(decimal) => Value::Bytes(decimal.to_string().into_bytes()),
        Ours::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        Ours::Date(date) => Value::Date(date.year, date.month, date.day, 0, 0, 0, 0),
        Ours::DateTime(value) => {
            let (date, (hour, minute, second, micros)) = (value.date(), value.clock());
            Value::Date(date.year, date.month, date.day, hour, minute, second, micros)
        }
        Ours::Timestamp(_) | Ours::Time(_) | Ours::Text(_) | Ours::Hex(_) | Ours::Member(_) | Ours::Json(_) => {
            unreachable!("no sample has it")
        }
    }
}

fn same(theirs: &Value, ours: &Ours) -> bool {
    match (theirs, ours) {
        (Value::UInt(theirs), Ours::UInt(ours)) => theirs == ours,
        // BIT, whose first byte is the highest, and SET, whose first byte is the lowest.
        (Value::Bytes(theirs), Ours::UInt(ours)) => {
            let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
            [theirs.iter().fold(0, push), theirs.iter().rev().fold(0, push)].contains(ours)
        }
        (Value::Bytes(theirs), Ours::Timestamp(ours)) => {
            let text = String::from_utf8_lossy(theirs);
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
            whole.parse() == Ok(ours.micros / SECOND_US)
                && format!("{fraction:0<6}").parse() == Ok(ours.micros % SECOND_US)
        }
        // mysql_common 0.38 does not carry the sign of a MEDIUMINT on.
        (Value::Int(theirs), Ours::Int(ours)) => {
            theirs == ours || (*ours < 0 && *ours >= -(1 << 23) && *theirs == ours + (1 << 24))
        }
        _ => *theirs == as_theirs(ours),
    }
}

fn assert_same(theirs: &Option<Vec<Value>>, ours: &[Option<Cell>]) {
    let theirs = theirs.as_ref().expect("the image is there");
    let ours = values(ours);
    assert_eq!(theirs.len(), ours.len());
    for (i, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        assert!(same(theirs, ours), "column {i}: {theirs:?} is not {ours:?}");
    }
}

#[test]
fn every_type_reads_the_same_everywhere() {
    let samples = samples();
    let rows = rows(&samples);
    let columns: Vec<ColumnMeta> = samples.iter().map(|sample| sample.column.clone()).collect();
    for metadata in [RowMetadata::Minimal, RowMetadata::Full] {
        let table = TableMap::new(5, "shop", "every_type", &columns, &[KeyColumn { column: 0, prefix: None }]);
        let mut file = FileUnderTest::new();
        let mut events = new_events_with(metadata);
        rows.iter().for_each(|row| events.write_row(&table, &image(row)));
        events.end_statement();
        rows.iter().zip(rows.iter().rev()).for_each(|(a, b)| events.update_row(&table, &image(a), &image(b)));
        events.end_statement();
        rows.iter().for_each(|row| events.delete_row(&table, &image(row)));
        file.commit(&mut events);
        let (_directory, path) = file.write();
        our_reader_agrees(&path, &rows);
        let (changes, others) = mysql_common(&path);
        assert_eq!(changes.len(), rows.len() * 3);
        for (i, row) in rows.iter().enumerate() {
            assert_same(&changes[i].after, row);
            let update = &changes[rows.len() + i];
            assert_same(&update.before, row);
            assert_same(&update.after, &rows[rows.len() - 1 - i]);
            assert_same(&changes[rows.len() * 2 + i].before, row);
        }
        assert_eq!(others.last().map(String::as_str), Some("xid 1001"));
        mariadb_prints(&mariadb_binlog(&path), &rows);
    }
}

fn our_reader_agrees(path: &Path, expected: &[Vec<Option<Cell>>]) {
    let events = read_events(path);
    let mut table = None;
    let mut found = Vec::new();
    for event in &events {
        match event.decode() {
            EventBody::TableMap(map) => table = Some(map),
            EventBody::Rows(rows) => {
                let table = table.as_ref().expect("a table map in front of the rows");
                found.extend(rows.rows(table).map(|row| row.expect("a row")));
            }
            _ => {}
        }
    }
    assert_eq!(found.len(), expected.len() * 3);
    for (i, row) in expected.iter().enumerate() {
        assert_eq!(found[i], Row { before: None, after: Some(values(row)) });
        let other = values(&expected[expected.len() - 1 - i]);
        assert_eq!(found[expected.len() + i], Row { before: Some(values(row)), after: Some(other) });
        assert_eq!(found[expected.len() * 2 + i], Row { before: Some(values(row)), after: None });
    }
}

/// The lines `###   @n=value` of the inserts must be what the samples say.
fn mariadb_prints(output: &str, rows: &[Vec<Option<Cell>>]) {
    let mut lines = output.lines().filter_map(|line| line.strip_prefix("###   @"));
    for row in rows {
        for (i, cell) in row.iter().enumerate() {
            let line = lines.next().expect("a line per value");
            let (number, printed) = line.split_once('=').expect("a value");
            assert_eq!(number, (i + 1).to_string());
            let printed = printed.split(" /*").next().unwrap_or_default();
            match cell {
                None => assert_eq!(printed, "NULL", "@{number}"),
                Some(cell) if cell.printed.is_empty() => {}
                Some(cell) => assert!(
                    printed.starts_with(&cell.printed),
                    "@{number}: mariadb-binlog prints {printed}, not {}",
                    cell.printed
                ),
            }
        }
    }
}

#[test]
fn rows_of_several_megabytes_are_one_event_each() {
    let columns = [column("id", 3, &[]), column("body", 252, &[4])];
    let table = TableMap::new(9, "shop", "large", &columns, &[]);
    let row = |id: i32, bytes: usize| {
        let mut image = vec![0];
        image.extend_from_slice(&id.to_le_bytes());
        image.extend_from_slice(&(bytes as u32).to_le_bytes());
        image.extend((0..bytes).map(|i| (i * 31 % 251) as u8));
        image
    };
    let mut events = new_events();
    events.write_row(&table, &row(1, 5 << 20));
    events.write_row(&table, &row(2, 3));
    events.write_row(&table, &row(3, 20 << 20));
    events.end_statement();
    events.update_row(&table, &row(2, 3), &row(2, 9_000_001));
    let mut file = FileUnderTest::new();
    file.commit(&mut events);
    let (_directory, path) = file.write();
    let (changes, others) = mysql_common(&path);
    let lengths: Vec<usize> = changes
        .iter()
        .map(|change| match change.after.as_ref().map(|row| &row[1]) {
            Some(Value::Bytes(bytes)) => bytes.len(),
            other => panic!("no row: {other:?}"),
        })
        .collect();
    assert_eq!(lengths, [5 << 20, 3, 20 << 20, 9_000_001]);
    assert!(others.contains(&"xid 1001".to_owned()));
    let printed = mariadb_binlog(&path);
    assert_eq!(printed.matches("### INSERT INTO `shop`.`large`").count(), 3);
    assert_eq!(printed.matches("### UPDATE `shop`.`large`").count(), 1);
    let rows_events = read_events(&path)
        .iter()
        .filter(|event| event.header.event_type.0 >= 30 && event.header.event_type.0 <= 32)
        .count();
    assert_eq!(rows_events, 4);
}

#[test]
fn transactions_statements_and_rotation_read_the_same_everywhere() {
    let table = simple_table(3);
    let mut file = FileUnderTest::new();
    let mut events = new_events();
    events.query("", "CREATE DATABASE shop");
    file.commit(&mut events);
    events.query("shop", "CREATE TABLE t3 (id INT, text VARCHAR(250)) /* grüße */");
    file.commit(&mut events);
    events.write_row(&table, &simple_row(1, b"one"));
    file.commit(&mut events);
    let rotate = rotate_event(7, 1_700_000_001, file.bytes.len() as u64, "binlog.000002");
    assert_eq!(rotate.len() as u64, rotate_event_len("binlog.000002"));
    file.bytes.extend_from_slice(&rotate);
    let (_directory, path) = file.write();
    let (changes, others) = mysql_common(&path);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].table, "shop.t3");
    let texts: Vec<&str> = others.iter().map(String::as_str).collect();
    let [server, previous, _, create_database, gtid, create_table, _, begin, xid, rotate] = texts[..] else {
        panic!("other events: {texts:?}")
    };
    assert_eq!([server, previous], ["server 8.0.40-cohort", "previous"]);
    assert_eq!(create_database, "query  CREATE DATABASE shop");
    assert!(gtid.starts_with("gtid 2 1 2 1700000000123456 ") && gtid.ends_with(" 80040"), "{gtid}");
    assert_eq!(create_table, "query shop CREATE TABLE t3 (id INT, text VARCHAR(250)) /* grüße */");
    assert_eq!([begin, xid], ["query shop BEGIN", "xid 1003"]);
    assert_eq!(rotate, "rotate binlog.000002 4");
    let printed = mariadb_binlog(&path);
    for expected in
        ["CREATE DATABASE shop", "use `shop`", "CREATE TABLE t3", "BEGIN", "Rotate to binlog.000002", "COMMIT"]
    {
        assert!(printed.contains(expected), "{expected} is missing in\n{printed}");
    }
}

#[test]
fn transaction_length_is_that_of_its_bytes() {
    let table = simple_table(3);
    for rows in [1, 2, 400, 3000] {
        let mut file = FileUnderTest::new();
        let header = file.bytes.len();
        let mut events = new_events();
        (0..rows).for_each(|i| events.write_row(&table, &simple_row(i, &[b'x'; 150])));
        file.commit(&mut events);
        let (_directory, path) = file.write();
        let (_, others) = mysql_common(&path);
        let length = others[2].split(' ').nth(5).expect("a length");
        assert_eq!(length, (file.bytes.len() - header).to_string());
    }
}

#[test]
fn statements_are_read_with_what_they_use() {
    let mut file = FileUnderTest::new();
    let mut events = new_events();
    let variables = [
        ("n", Ours::Int(-5)),
        ("u", Ours::UInt(u64::MAX)),
        ("d", Ours::Decimal(cohort_types::decimal::Decimal::parse("12.50").expect("a number"))),
        ("r", Ours::Double(0.5)),
        ("t", Ours::text("it's")),
        ("b", Ours::Bytes(vec![0, 255].into())),
        ("none", Ours::Null),
    ];
    let inputs = StatementInputs {
        last_insert_id: Some(42),
        insert_id: Some(7),
        user_variables: variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value, Collation::DEFAULT))
            .collect(),
    };
    events.set_context(&QueryContext { time_zone: "+02:00".to_owned(), ..QueryContext::default() }, "shop");
    events.statement(b"INSERT INTO t1 SELECT @n, LAST_INSERT_ID()", &inputs);
    events.write_row(&simple_table(1), &simple_row(1, b"a row"));
    events.end_statement();
    let savepoint = events.mark();
    events.statement(b"DELETE FROM t1", &StatementInputs::default());
    events.truncate(savepoint);
    assert!(events.is_serial());
    file.commit(&mut events);
    let (_directory, path) = file.write();
    let (changes, others) = mysql_common(&path);
    assert_eq!(changes.len(), 1);
    let expected = [
        "query shop BEGIN",
        "number LAST_INSERT_ID_EVENT 42",
        "number INSERT_ID_EVENT 7",
        "variable n [251, 255, 255, 255, 255, 255, 255, 255]",
        "variable u [255, 255, 255, 255, 255, 255, 255, 255]",
        "variable d [4, 2, 140, 50]",
        "variable r [0, 0, 0, 0, 0, 0, 224, 63]",
        "variable t [105, 116, 39, 115]",
        "variable b [0, 255]",
        "variable none []",
        "query shop INSERT INTO t1 SELECT @n, LAST_INSERT_ID()",
        "xid 1001",
    ];
    let from = others.iter().position(|other| other == "query shop BEGIN").expect("a transaction");
    assert_eq!(others[from..], expected);
    let printed = mariadb_binlog(&path);
    let lines = [
        "SET LAST_INSERT_ID=42",
        "SET @`n`:=-5",
        "SET @`u`:=18446744073709551615",
        "SET @`d`:=12.50",
        "SET @`r`:=0.5",
        "SET @`t`:=_utf8mb4 X'69742773' COLLATE `utf8mb4_general_ci`",
        "SET @`b`:=_binary X'00FF' COLLATE `binary`",
        "SET @`none`:=NULL",
        "SET @@session.time_zone='+02:00'",
        "INSERT INTO t1 SELECT @n, LAST_INSERT_ID()",
    ];
    for line in lines {
        assert!(printed.contains(line), "no {line} in\n{printed}");
    }
    assert!(!printed.contains("DELETE FROM"), "{printed}");
}
