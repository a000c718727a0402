//! What a reader got before its source crashed.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::Launch;
use cohort_txn::CommitProtocol;
use mysql::prelude::Queryable;

use crate::reader::*;

#[test]
fn a_reader_got_nothing_that_a_crash_takes_back() -> Result<()> {
    for protocol in CommitProtocol::ALL.into_iter().filter(|protocol| protocol.has_binlog()) {
        let scratch = tempfile::tempdir()?;
        let launch = Launch::new(scratch.path().join("data")).protocol(protocol).option("--max-binlog-size=4096");
        let mut server = launch.start()?;
        server.connect()?.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(200))")?;
        let (name, position) = status(&server)?;
        let mut reader = Reader::log_in(&server)?;
        reader.dump(&name, position, 0, 7)?;
        let stop = AtomicBool::new(false);
        let mut files = vec![(name, position, Vec::new())];
        std::thread::scope(|scope| -> Result<()> {
            for session in 0..3 {
                let (options, stop) = (server.options(), &stop);
                scope.spawn(move || {
                    let Ok(mut conn) = mysql::Conn::new(options) else { return };
                    for id in 0.. {
                        let sql = format!("INSERT INTO d.t VALUES ({}, REPEAT('x', 100))", id * 3 + session);
                        // The server is killed in between.
                        if stop.load(Ordering::Relaxed) || conn.query_drop(sql).is_err() {
                            return;
                        }
                    }
                });
            }
            let mut transactions = 0;
            while transactions < 40 {
                let event = reader.event()?;
                transactions += u64::from(event.event_type() == XID);
                take(&mut files, event);
            }
            let killed = server.signal_kill();
            stop.store(true, Ordering::Relaxed);
            killed
        })?;
        server.wait_until_dead()?;
        while let Ok(Next::Event(event)) = reader.next() {
            take(&mut files, event);
        }
        let server = server.launch().clone().start()?;
        for (name, from, bytes) in &files {
            let there = file(&server, name, u32::MAX)?;
            let there = there.get(*from as usize..).unwrap_or_default();
            ensure!(
                there.starts_with(bytes),
                "{protocol}: {} bytes of {name} from {from} on are not there",
                bytes.len()
            );
        }
        // It goes on where it was.
        let (name, from, bytes) = files.pop().context("there is one")?;
        let mut reader = Reader::log_in(&server)?;
        reader.dump(&name, from + bytes.len() as u32, NON_BLOCK, 7)?;
        reader.events_to_end().with_context(|| format!("{protocol}"))?;
        server.stop()?;
    }
    Ok(())
}

/// Adds an event to what a reader got, by file.
fn take(files: &mut Vec<(String, u32, Vec<u8>)>, event: Event) {
    match (event.event_type(), event.flags()) {
        (ROTATE, 0x20) => {
            let name = String::from_utf8_lossy(&event.body()[8..event.body().len() - 4]).into_owned();
            if files.last().is_none_or(|(last, ..)| *last != name) {
                files.push((name, 4, Vec::new()));
            }
        }
        // Of a file that the reader began within.
        (FORMAT_DESCRIPTION, _) if event.log_pos() == 0 => {}
        _ => files.last_mut().expect("a file has begun").2.extend(event.0),
    }
}
