//! How dumps end, and that nobody waits for those who read them.

use std::io::Read;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::Launch;
use mysql::prelude::Queryable;

use crate::reader::*;

const UP_TO_DATE: &str = "Source has sent all binlog to replica; waiting for more updates";

#[test]
fn a_dump_shows_in_the_process_list_and_ends_with_a_kill() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let (name, end) = status(&server)?;
    let mut conn = server.connect()?;
    for (by_gtid, kill) in [(false, "KILL"), (true, "KILL QUERY"), (false, "KILL CONNECTION")] {
        let mut reader = Reader::log_in(&server)?;
        let command = if by_gtid {
            reader.dump_gtid("", &[], 0, 7)?;
            "Binlog Dump GTID"
        } else {
            reader.dump(&name, end, 0, 7)?;
            "Binlog Dump"
        };
        let mut id = 0;
        wait_for_process(
            &server,
            |dumps| matches!(dumps, [(_, shown, state)] if shown == command && state == UP_TO_DATE),
        )?;
        let rows: Vec<mysql::Row> = conn.query("SHOW PROCESSLIST")?;
        for row in rows {
            if row.get::<String, _>(4).context("a command")? == command {
                id = row.get(0).context("an id")?;
            }
        }
        let killed = Instant::now();
        conn.query_drop(format!("{kill} {id}"))?;
        assert_eq!(reader.events_to_end()?.last().context("it has begun")?.log_pos(), if by_gtid { end } else { 0 });
        assert!(reader.is_closed());
        assert!(killed.elapsed() < Duration::from_secs(20), "it was not woken");
        wait_for_process(&server, <[_]>::is_empty)?;
    }
    server.stop().map(drop)
}

#[test]
fn a_replica_that_comes_back_ends_the_dump_that_it_lost() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let (name, end) = status(&server)?;
    let dump = |uuid: &str, server_id: u32| -> Result<Reader> {
        let mut reader = Reader::log_in(&server)?;
        if !uuid.is_empty() {
            reader.query(&format!("SET @replica_uuid = '{uuid}', @slave_uuid = '{uuid}'"))?;
        }
        reader.dump(&name, end, 0, server_id)?;
        reader.events_to(FORMAT_DESCRIPTION)?;
        Ok(reader)
    };
    let uuid = "11111111-2222-3333-4444-555555555555";
    let mut old = dump(uuid, 7)?;
    let (_other, _tools) = (dump("another", 7)?, [dump("", 0)?, dump("", 0)?]);
    let (mut unnamed, _same) = (dump("", 8)?, dump("", 8)?);
    let _new = dump(uuid, 9)?;
    for lost in [&mut old, &mut unnamed] {
        match lost.next()? {
            Next::Error(1236, text) => assert!(
                text.starts_with(
                    "A replica with the same server_uuid/server_id as this replica has connected to the source"
                ),
                "{text}"
            ),
            other => panic!("{other:?}"),
        }
    }
    wait_for_process(&server, |dumps| dumps.len() == 5)?;
    server.stop().map(drop)
}

#[test]
fn replicas_that_register_are_shown_while_they_are_connected() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    let mut replicas = |sql: &str| -> Result<Vec<String>> {
        let rows: Vec<mysql::Row> = conn.query(sql)?;
        let names = |row: &mysql::Row| row.columns_ref().iter().map(|c| c.name_str().into_owned()).collect::<Vec<_>>();
        let texts = rows.iter().map(|row| {
            let cells = (0..row.len()).map(|at| row.get::<String, _>(at).unwrap_or_default());
            names(row).into_iter().zip(cells).map(|(name, cell)| format!("{name}={cell}")).collect::<Vec<_>>().join(" ")
        });
        Ok(texts.collect())
    };
    assert!(replicas("SHOW REPLICAS")?.is_empty());
    let mut first = Reader::log_in(&server)?;
    first.query("SET @slave_uuid = 'a-uuid'")?;
    assert_eq!(first.register(7, "h1", 3307)?, Next::End);
    let mut second = Reader::log_in(&server)?;
    assert_eq!(second.register(5, "", 0)?, Next::End);
    let one = "Server_Id=5 Host= Port=0 Source_Id=1 Replica_UUID=";
    let two = "Server_Id=7 Host=h1 Port=3307 Source_Id=1 Replica_UUID=a-uuid";
    assert_eq!(replicas("SHOW REPLICAS")?, [one, two]);
    let old = "Server_id=5 Host= Port=0 Master_id=1 Slave_UUID=";
    assert_eq!(replicas("SHOW SLAVE HOSTS")?[0], old);
    drop(second);
    let deadline = Instant::now() + Duration::from_secs(30);
    while replicas("SHOW REPLICAS")? != [two] {
        ensure!(Instant::now() < deadline, "a replica that has gone is still shown");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.stop().map(drop)
}

#[test]
fn a_reader_that_does_not_read_is_given_up_and_holds_no_commit_up() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)")?;
    let (name, _) = status(&server)?;
    let mut reader = Reader::log_in(&server)?;
    reader.query("SET net_write_timeout = 2")?;
    reader.dump(&name, 4, 0, 7)?;
    for _ in 0..40 {
        conn.query_drop("INSERT INTO d.t (v) VALUES (REPEAT('x', 1000000))")?;
    }
    wait_for_process(&server, <[_]>::is_empty)?;
    let mut rest = Vec::new();
    let _ = reader.0.stream().read_to_end(&mut rest);
    assert!(rest.len() < 40_000_000, "it cannot have got everything");
    server.stop().map(drop)
}

#[test]
fn a_reader_whose_client_has_gone_ends_without_anything_to_send() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let (name, end) = status(&server)?;
    let mut reader = Reader::log_in(&server)?;
    reader.dump(&name, end, 0, 7)?;
    wait_for_process(&server, |dumps| dumps.len() == 1)?;
    drop(reader);
    wait_for_process(&server, <[_]>::is_empty)?;
    server.stop().map(drop)
}

#[test]
fn files_that_are_read_are_not_purged() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)")?;
    for _ in 0..30 {
        conn.query_drop("INSERT INTO d.t (v) VALUES (REPEAT('x', 1000000))")?;
    }
    let (first, _) = status(&server)?;
    conn.query_drop("FLUSH BINARY LOGS")?;
    let (last, _) = status(&server)?;
    let mut reader = Reader::log_in(&server)?;
    reader.dump(&first, 4, 0, 7)?;
    // It is in the middle of the first file, and waits for its client.
    reader.events_to(PREVIOUS_GTIDS)?;
    let mut files =
        |sql: &str| -> Result<Vec<String>> { Ok(conn.query_map(sql, |(name, _, _): (String, u64, String)| name)?) };
    for purge in [format!("TO '{last}'"), "BEFORE NOW() + INTERVAL 1 HOUR".to_owned()] {
        let mut conn = server.connect()?;
        conn.query_drop(format!("PURGE BINARY LOGS {purge}"))?;
        let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS")?;
        let [(_, 1867, message)] = &warnings[..] else { panic!("{purge}: {warnings:?}") };
        let read =
            format!("file {first} was not purged because it was being read by 1 thread(s), purged only 0 out of 1");
        assert!(message.starts_with(&read), "{message}");
    }
    assert!(files("SHOW BINARY LOGS")?.contains(&first));
    while reader.events_to(ROTATE)?.last().context("it was asked for")?.flags() == 0x20 {}
    reader.events_to(PREVIOUS_GTIDS)?;
    server.connect()?.query_drop(format!("PURGE BINARY LOGS TO '{last}'"))?;
    assert_eq!(files("SHOW BINARY LOGS")?, [last]);
    server.stop().map(drop)
}

#[test]
fn a_hundred_readers_get_what_one_commits_and_end_with_the_server() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server = Launch::new(scratch.path()).start()?;
    let (name, end) = status(&server)?;
    let mut readers = Vec::new();
    for _ in 0..100 {
        let mut reader = Reader::log_in(&server)?;
        reader.dump(&name, end, 0, 0)?;
        reader.events_to(FORMAT_DESCRIPTION)?;
        readers.push(reader);
    }
    server.connect()?.query_drop("CREATE DATABASE d")?;
    for reader in &mut readers {
        let event = reader.events_to(QUERY)?.pop().context("the statement")?;
        assert!(String::from_utf8_lossy(event.body()).contains("CREATE DATABASE"));
    }
    server.stop()?;
    for reader in &mut readers {
        assert_eq!(reader.next()?, Next::End);
        assert!(reader.is_closed());
    }
    Ok(())
}
