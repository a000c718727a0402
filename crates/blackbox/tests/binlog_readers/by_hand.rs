//! What a reader gets, byte by byte.

use std::time::Duration;

use anyhow::{Context, Result};
use cohort_blackbox::Launch;
use mysql::prelude::Queryable;

use crate::reader::*;

#[test]
fn a_reader_gets_the_file_and_then_every_transaction_as_it_is_committed() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(2000))")?;
    let (name, end) = status(&server)?;
    let mut reader = Reader::log_in(&server)?;
    reader.dump(&name, 4, 0, 7)?;
    let begin = reader.event()?;
    assert_eq!((begin.event_type(), begin.timestamp(), begin.log_pos(), begin.flags()), (ROTATE, 0, 0, 0x20));
    assert_eq!(begin.body()[..begin.body().len() - 4], [&[4, 0, 0, 0, 0, 0, 0, 0], name.as_bytes()].concat());
    assert!(begin.has_valid_checksum());
    let mut read = file(&server, &name, 4)?;
    while (read.len() as u32) < end {
        read.extend(reader.event()?.0);
    }
    assert_eq!(read, file(&server, &name, end)?);
    for number in 0..20 {
        conn.query_drop(format!("INSERT INTO d.t VALUES ({number}, REPEAT('x', {}))", 100 * number))?;
        reader.events_to(XID)?.into_iter().for_each(|event| read.extend(event.0));
        assert_eq!(read, file(&server, &name, status(&server)?.1)?, "transaction {number}");
    }
    conn.query_drop("FLUSH BINARY LOGS")?;
    let ending = reader.event()?;
    assert_eq!((ending.event_type(), ending.flags()), (ROTATE, 0), "the file's own");
    read.extend(ending.0);
    assert_eq!(read, file(&server, &name, u32::MAX)?);
    let begin = reader.event()?;
    assert_eq!((begin.event_type(), begin.log_pos(), begin.flags()), (ROTATE, 0, 0x20));
    let (next, end) = status(&server)?;
    assert_ne!(next, name);
    let header: Vec<Event> = reader.events_to(PREVIOUS_GTIDS)?;
    let mut read = file(&server, &next, 4)?;
    header.into_iter().for_each(|event| read.extend(event.0));
    assert_eq!(read, file(&server, &next, end)?);
    server.stop().map(drop)
}

#[test]
fn a_reader_that_begins_within_a_file_gets_its_format_first() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    let (name, begin) = status(&server)?;
    conn.query_drop("CREATE DATABASE e")?;
    let (_, end) = status(&server)?;
    let mut reader = Reader::log_in(&server)?;
    reader.dump(&name, begin, NON_BLOCK, 0)?;
    let rotate = reader.event()?;
    assert_eq!(rotate.body()[..8], u64::from(begin).to_le_bytes());
    let format = reader.event()?;
    assert_eq!((format.event_type(), format.log_pos(), format.flags()), (FORMAT_DESCRIPTION, 0, 0));
    assert!(format.has_valid_checksum());
    assert_eq!(format.body()[52..56], [0; 4], "the server did not just start");
    let rest: Vec<u8> = reader.events_to_end()?.into_iter().flat_map(|event| event.0).collect();
    assert_eq!(rest, file(&server, &name, end)?[begin as usize..]);
    assert!(reader.is_closed(), "a dump is the last command");
    server.stop().map(drop)
}

#[test]
fn a_reader_by_gtid_gets_what_it_has_not() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    let uuid: String = conn.query_first("SELECT @@server_uuid")?.context("a uuid")?;
    for number in 1..=9 {
        conn.query_drop(format!("CREATE DATABASE d{number}"))?;
        if number % 3 == 0 {
            conn.query_drop("FLUSH BINARY LOGS")?;
        }
    }
    let gnos = |events: &[Event]| -> Vec<u64> {
        let gtids = events.iter().filter(|event| event.event_type() == GTID);
        gtids.map(|event| u64::from_le_bytes(event.body()[17..25].try_into().expect("8 bytes"))).collect()
    };
    for (known, expected) in [
        (&[][..], (1..=9).collect::<Vec<u64>>()),
        (&[(1, 4)], vec![5, 6, 7, 8, 9]),
        (&[(1, 1), (3, 3), (8, 9)], vec![2, 4, 5, 6, 7]),
        (&[(1, 9)], vec![]),
    ] {
        let mut reader = Reader::log_in(&server)?;
        reader.dump_gtid(&uuid, known, NON_BLOCK, 7)?;
        let events = reader.events_to_end()?;
        assert_eq!(gnos(&events), expected, "{known:?}");
        let transactions = events.iter().filter(|event| event.event_type() == QUERY).count();
        assert_eq!(transactions, expected.len(), "all of a transaction or nothing of it: {known:?}");
    }
    // What is left out moves the position.
    let mut reader = Reader::log_in(&server)?;
    reader.dump_gtid(&uuid, &[(1, 5)], NON_BLOCK, 7)?;
    let events = reader.events_to_end()?;
    let first = events.iter().position(|event| event.event_type() == GTID).context("transactions follow")?;
    assert_eq!(events[first - 1].event_type(), HEARTBEAT);
    let begin = events[first].log_pos() - events[first].size();
    assert_eq!(events[first - 1].log_pos(), begin, "up to where the next transaction begins");
    // New ones come as they are committed.
    let mut reader = Reader::log_in(&server)?;
    reader.dump_gtid(&uuid, &[(1, 9)], 0, 7)?;
    conn.query_drop("CREATE DATABASE d10")?;
    assert_eq!(gnos(&reader.events_to(QUERY)?), [10]);
    server.stop().map(drop)
}

#[test]
fn an_idle_reader_gets_heartbeats_if_it_wants_them() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let (name, end) = status(&server)?;
    for variable in ["@master_heartbeat_period", "@source_heartbeat_period"] {
        let mut reader = Reader::log_in(&server)?;
        reader.query(&format!("SET {variable} = 100000000"))?;
        reader.dump(&name, end, 0, 0)?;
        reader.events_to(FORMAT_DESCRIPTION)?;
        for _ in 0..3 {
            let beat = reader.event()?;
            assert_eq!((beat.event_type(), beat.log_pos(), beat.timestamp()), (HEARTBEAT, end, 0));
            assert_eq!(&beat.body()[..beat.body().len() - 4], name.as_bytes());
            assert!(beat.has_valid_checksum());
        }
    }
    let mut reader = Reader::log_in(&server)?;
    reader.dump(&name, end, 0, 0)?;
    reader.events_to(FORMAT_DESCRIPTION)?;
    reader.0.set_patience(Duration::from_millis(500))?;
    assert!(reader.event().is_err(), "nothing was asked for");
    server.stop().map(drop)
}

#[test]
fn the_first_event_has_the_checksum_that_the_reader_knows() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let (name, end) = status(&server)?;
    for (variable, value, with_checksum) in
        [("@master_binlog_checksum", "NONE", false), ("@source_binlog_checksum", "CRC32", true)]
    {
        let mut reader = Reader::unaware(&server)?;
        reader.query(&format!("SET {variable} = '{value}'"))?;
        reader.dump(&name, 4, NON_BLOCK, 0)?;
        let events = reader.events_to_end()?;
        let length = 19 + 8 + name.len() + if with_checksum { 4 } else { 0 };
        assert_eq!(events[0].0.len(), length, "{value}");
        // The file's events are as they were logged, which the format description says.
        let read: Vec<u8> = events[1..].iter().flat_map(|event| event.0.clone()).collect();
        assert_eq!(read, file(&server, &name, end)?[4..], "{value}");
    }
    server.stop().map(drop)
}
