//! Errors of readers, each MySQL's; the server goes on.

use anyhow::{Context, Result};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;

use crate::reader::*;

/// Skips events up to an error, which must be 1236.
fn fatal(reader: &mut Reader) -> Result<String> {
    loop {
        match reader.next()? {
            Next::Event(_) => {}
            Next::Error(1236, text) => {
                assert!(reader.is_closed());
                return Ok(text);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn places_where_nothing_can_be_read_are_refused() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    server.connect()?.query_drop("CREATE DATABASE d")?;
    let (name, end) = status(&server)?;
    for (file, offset, expected) in [
        ("binlog.999999", 4, "Could not find first log file name in binary log index file"),
        ("../auto.cnf", 4, "Could not find first log file name in binary log index file"),
        (name.as_str(), 3, "Client requested source to start replication from position < 4"),
        (name.as_str(), end + 1, "Client requested source to start replication from position > file size"),
        (name.as_str(), u32::MAX, "Client requested source to start replication from position > file size"),
        (name.as_str(), end - 1, "binlog truncated in the middle of event"),
        (name.as_str(), 5, "the first event '"),
    ] {
        let mut reader = Reader::log_in(&server)?;
        reader.dump(file, offset, 0, 7)?;
        let text = fatal(&mut reader)?;
        assert!(text.contains(expected), "{file}:{offset}: {text}");
    }
    let mut reader = Reader::unaware(&server)?;
    reader.dump(&name, 4, 0, 7)?;
    let text = fatal(&mut reader)?;
    assert!(text.starts_with("Replica can not handle replication events with the checksum"), "{text}");
    server.stop().map(drop)
}

#[test]
fn sets_that_the_binlog_cannot_complete_are_refused() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    let uuid: String = conn.query_first("SELECT @@server_uuid")?.context("a uuid")?;
    for number in 1..=3 {
        conn.query_drop(format!("CREATE DATABASE d{number}"))?;
        conn.query_drop("FLUSH BINARY LOGS")?;
    }
    let (last, _) = status(&server)?;
    conn.query_drop(format!("PURGE BINARY LOGS TO '{last}'"))?;
    let refused = |intervals: &[(u64, u64)]| -> Result<String> {
        let mut reader = Reader::log_in(&server)?;
        reader.dump_gtid(&uuid, intervals, 0, 7)?;
        fatal(&mut reader)
    };
    let text = refused(&[(1, 1)])?;
    assert!(text.starts_with("Cannot replicate because the source purged required binary logs."), "{text}");
    let available = format!(
        "the missing transactions are '{uuid}:2-3'; the first available file is '{last}', and gtid_purged is '{uuid}:1-3'"
    );
    assert!(text.contains(&available), "{text}");
    let text = refused(&[(1, 4)])?;
    assert!(text.starts_with("Replica has more GTIDs than the source has, using the source's SERVER_UUID."), "{text}");
    // Somebody else's transactions are no harm.
    let mut reader = Reader::log_in(&server)?;
    reader.dump_gtid(&uuid, &[(1, 3)], NON_BLOCK, 7)?;
    reader.events_to_end()?;
    for set in [&[][..], &[1, 0, 0, 0, 0, 0, 0, 0], &[0xff; 40]] {
        let mut reader = Reader::log_in(&server)?;
        reader.dump_set(set, 0, 7)?;
        assert_eq!(fatal(&mut reader)?, "The GTID set of the replica is malformed");
    }
    server.stop().map(drop)
}

#[test]
fn transactions_that_were_added_and_never_written_are_refused_to_who_lacks_them() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut server = Launch::new(scratch.path().join("data")).start()?;
    let mut conn = server.connect()?;
    let uuid: String = conn.query_first("SELECT @@server_uuid")?.context("a uuid")?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop(format!("SET GLOBAL gtid_purged = '+{uuid}:50-60'"))?;
    conn.query_drop("CREATE DATABASE e")?;
    for _ in 0..2 {
        for known in [&[][..], &[(1, 1)], &[(1, 2), (50, 59)]] {
            let mut reader = Reader::log_in(&server)?;
            reader.dump_gtid(&uuid, known, 0, 7)?;
            let text = fatal(&mut reader)?;
            let missing = if known.len() == 2 { "60" } else { "50-60" };
            assert!(text.contains(&format!("the missing transactions are '{uuid}:{missing}'")), "{known:?}: {text}");
        }
        let mut reader = Reader::log_in(&server)?;
        reader.dump_gtid(&uuid, &[(1, 1), (50, 60)], NON_BLOCK, 7)?;
        reader.events_to_end()?;
        server = server.kill_and_restart()?;
    }
    let mut reader = Reader::log_in(&server)?;
    reader.dump_gtid(&uuid, &[(1, 2), (50, 60)], 0, 7)?;
    wait_for_process(&server, |dumps| dumps.len() == 1)?;
    let refused = server.connect()?.query_drop("RESET MASTER").expect_err("somebody reads");
    assert!(refused.to_string().contains("3190"), "{refused}");
    drop(reader);
    server.stop().map(drop)
}

/// A source sends transactions of its own mode only, and to a reader by GTID only such as have one.
#[test]
fn transactions_of_the_other_gtid_mode_are_refused() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let launch = Launch::new(scratch.path().join("data"));
    let server = launch.start()?;
    server.connect()?.query_drop("CREATE DATABASE d")?;
    let uuid: String = server.connect()?.query_first("SELECT @@server_uuid")?.context("a uuid")?;
    let (with_gtids, _) = status(&server)?;
    server.stop()?;
    let by_position = |server: &Server, file: &str| -> Result<String> {
        let mut reader = Reader::log_in(server)?;
        reader.dump(file, 4, 0, 7)?;
        fatal(&mut reader)
    };
    let by_gtid = |server: &Server, intervals: &[(u64, u64)]| -> Result<String> {
        let mut reader = Reader::log_in(server)?;
        reader.dump_gtid(&uuid, intervals, 0, 7)?;
        fatal(&mut reader)
    };
    let server = launch.clone().option("--gtid-mode=OFF").start()?;
    server.connect()?.query_drop("CREATE DATABASE e")?;
    let (without, _) = status(&server)?;
    assert_eq!(
        by_gtid(&server, &[(1, 1)])?,
        "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = OFF instead of ON."
    );
    let text = by_position(&server, &with_gtids)?;
    let expected = format!(
        "Cannot replicate GTID-transaction when @@GLOBAL.GTID_MODE = OFF, at file {with_gtids}, position 157.; the first \
         event '{with_gtids}' at 4, "
    );
    assert!(text.starts_with(&expected), "{text}");
    let mut reader = Reader::log_in(&server)?;
    reader.dump(&without, 4, NON_BLOCK, 7)?;
    let types: Vec<u8> = reader.events_to_end()?.iter().map(Event::event_type).collect();
    assert_eq!(types, [ROTATE, FORMAT_DESCRIPTION, PREVIOUS_GTIDS, ANONYMOUS_GTID, QUERY]);
    server.stop()?;
    let server = launch.start()?;
    let text = by_position(&server, &without)?;
    assert!(
        text.starts_with("Cannot replicate anonymous transaction when @@GLOBAL.GTID_MODE = ON, at file "),
        "{text}"
    );
    let text = by_gtid(&server, &[])?;
    assert!(text.starts_with("Cannot replicate anonymous transaction when AUTO_POSITION = 1, at file "), "{text}");
    // Who has all before the last file begins there.
    let mut reader = Reader::log_in(&server)?;
    reader.dump_gtid(&uuid, &[(1, 1)], NON_BLOCK, 7)?;
    reader.events_to_end()?;
    server.stop().map(drop)
}

#[test]
fn a_server_without_a_binlog_says_so() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).option("--skip-log-bin").start()?;
    let mut reader = Reader::unaware(&server)?;
    reader.query("SET @master_binlog_checksum = 'NONE'")?;
    reader.dump("", 4, 0, 7)?;
    assert_eq!(fatal(&mut reader)?, "Binary log is not open");
    server.stop().map(drop)
}

#[test]
fn commands_that_are_cut_off_or_not_allowed_are_refused() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let commands: [(&[u8], u16); 6] = [
        (&[0x12], 1835),
        (&[0x12, 4, 0, 0, 0, 0, 0, 7, 0, 0], 1835),
        (&[0x1e, 0, 0], 1835),
        (&[0x1e, 0, 0, 7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], 1835),
        (&[0x15], 1105),
        (&[0x15, 7, 0, 0, 0, 200, 1, 2], 1105),
    ];
    for (command, errno) in commands {
        let mut reader = Reader::log_in(&server)?;
        reader.0.send(0, command)?;
        match reader.next()? {
            Next::Error(number, _) if number == errno => {}
            other => panic!("{command:?}: {other:?}"),
        }
    }
    let mut conn = server.connect()?;
    conn.query_drop("CREATE USER reader IDENTIFIED WITH mysql_native_password BY 'secret'")?;
    let refused = |command: &[u8]| -> Result<u16> {
        let mut reader = Reader::log_in_as(&server, "reader", "secret")?;
        reader.0.send(0, command)?;
        loop {
            match reader.next()? {
                Next::Error(errno, _) => return Ok(errno),
                Next::Event(_) => {}
                Next::End => panic!("{command:?} was allowed"),
            }
        }
    };
    let dump = [&[0x12, 4, 0, 0, 0, 0, 0, 7, 0, 0, 0][..], b"binlog.000001"].concat();
    assert_eq!(refused(&dump)?, 1227);
    let register = [&[0x15, 7, 0, 0, 0][..], &[0; 13]].concat();
    assert_eq!(refused(&register)?, 1045);
    conn.query_drop("GRANT REPLICATION SLAVE ON *.* TO reader")?;
    assert_eq!(refused(&dump)?, 1236, "it does not know of checksums");
    server.stop().map(drop)
}
