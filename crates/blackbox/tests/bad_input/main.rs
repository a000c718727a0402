//! What must not get in, and what must be said about it.

mod deep;
mod doors;
mod limits;
mod memory;
mod messages;

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, Server, binlog_end, wire};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::wire::{Answer, Wire};

fn server(folder: &tempfile::TempDir) -> Result<Server> {
    Launch::new(folder.path().join("data")).option("--max-allowed-packet=1048576").start()
}

/// The server still serves, and no thread of it has panicked.
fn serves_on(server: &Server) -> Result<()> {
    assert_eq!(server.connect()?.query_first::<i32, _>("SELECT 1 + 1")?, Some(2));
    let log = server.log()?;
    assert!(!log.contains("panicked"), "{log}");
    Ok(())
}

#[test]
fn wrong_passwords_and_unknown_accounts_are_1045() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    let mut admin = server.connect()?;
    admin.query_drop("CREATE USER 'ann'@'%' IDENTIFIED WITH mysql_native_password BY 'secret'")?;
    admin.query_drop("CREATE USER 'bob'@'%' IDENTIFIED WITH caching_sha2_password BY 'secret'")?;
    for user in ["ann", "bob"] {
        let mut conn = Conn::new(server.options_as(user, "secret"))?;
        assert_eq!(conn.query_first::<i32, _>("SELECT 1")?, Some(1));
        // A second login may take the short way that a cache allows.
        Conn::new(server.options_as(user, "secret"))?;
    }
    for (user, password) in
        [("ann", "wrong"), ("bob", "wrong"), ("ann", ""), ("bob", ""), ("root", "x"), ("nobody", "")]
    {
        match Conn::new(server.options_as(user, password)) {
            Err(mysql::Error::MySqlError(error)) => assert_eq!((error.code, error.state.as_str()), (1045, "28000")),
            other => panic!("{user}: {other:?}"),
        }
    }
    // No password is kept as it was typed, in any file of the data directory.
    let launch = server.kill()?;
    for file in walk(launch.datadir())? {
        let bytes = fs::read(&file)?;
        let found = bytes.windows(6).any(|window| window == b"secret");
        assert!(!found, "{} holds a password", file.display());
    }
    Ok(())
}

#[test]
fn garbage_in_place_of_a_login_ends_that_connection_only() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    let mut rng = Rng::new(rng::seed());
    for round in 0..40 {
        let bytes: Vec<u8> = (0..rng.below(300)).map(|_| rng.bits() as u8).collect();
        let mut wire = Wire::connect(server.port())?;
        if round % 2 == 0 {
            wire.send_raw(&bytes)?; // even the packet header is noise
        } else {
            wire.send(1, &bytes)?;
        }
        wire.end_of_input()?;
        assert!(!matches!(wire.answer(), Ok(Answer::Ok)), "let in: {bytes:?}");
    }
    serves_on(&server)
}

#[test]
fn malformed_commands_get_an_error_and_never_an_ok() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    let commands: &[(&str, &[u8])] = &[
        ("an empty packet", b""),
        ("an unknown command", b"\xf0"),
        ("a command that is inside of a server only", b"\x00"),
        ("execute without an id", b"\x17\x01"),
        ("execute of an unknown statement", b"\x17\x99\0\0\0\0\x01\0\0\0"),
        ("a database that is not there", b"\x02nosuch"),
        ("no statement", b"\x03"),
        ("no UTF-8", b"\x03SELECT '\xff\xfe' FROM \xc3\x28"),
        ("a zero byte", b"\x03SELECT \0 1"),
        ("prepare of nothing", b"\x16"),
        ("fetch without a cursor", b"\x1c\x01\0\0\0\x01\0\0\0"),
        ("set option, cut short", b"\x1b\x01"),
        ("binlog dump, cut short", b"\x12\x04\0"),
    ];
    for (what, command) in commands {
        let mut wire = Wire::log_in(server.port())?;
        wire.send(0, command)?;
        match wire.answer() {
            Ok(Answer::Error(code)) => assert!(code >= 1000, "{what}: {code}"),
            Ok(Answer::Closed) => {}
            other => panic!("{what}: {other:?}"),
        }
    }
    // These have no answer at all; the next command must get its own.
    for silent in [b"\x19\x99\0\0\0".as_slice(), b"\x18\x99\0\0\0\0\0x"] {
        let mut wire = Wire::log_in(server.port())?;
        wire.send(0, silent)?;
        wire.send(0, b"\x0e")?;
        assert!(matches!(wire.answer()?, Answer::Ok), "{silent:?}");
    }
    serves_on(&server)
}

#[test]
fn parameters_of_a_prepared_statement_that_are_cut_short_are_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    let mut rng = Rng::new(rng::seed());
    let mut wire = Wire::log_in(server.port())?;
    let id = wire.prepare("SELECT ?, ?, ?")?;
    let mut whole = vec![0x17];
    whole.extend(id.to_le_bytes());
    whole.extend([0, 1, 0, 0, 0, 0, 1, 0x08, 0, 0xfd, 0, 0x0c, 0]);
    whole.extend(7_u64.to_le_bytes());
    whole.extend(b"\x05hello\x07\xe8\x07\x02\x1d\x0c\x22\x38");
    wire.send(0, &whole)?;
    assert!(matches!(wire.answer()?, Answer::Rows), "the whole packet is good");
    for cut in 10..whole.len() {
        let mut wire = Wire::log_in(server.port())?;
        let id = wire.prepare("SELECT ?, ?, ?")?;
        let mut packet = whole[..cut].to_vec();
        packet[1..5].copy_from_slice(&id.to_le_bytes());
        wire.send(0, &packet)?;
        let answer = wire.answer()?;
        assert!(matches!(answer, Answer::Error(_) | Answer::Closed), "cut at {cut}: {answer:?}");
    }
    for _ in 0..200 {
        let mut wire = Wire::log_in(server.port())?;
        let id = wire.prepare("SELECT ?, ?, ?")?;
        let mut packet = whole.clone();
        packet[1..5].copy_from_slice(&id.to_le_bytes());
        for _ in 0..3 {
            let at = 5 + rng.below(packet.len() as u64 - 5) as usize;
            packet[at] = rng.bits() as u8;
        }
        wire.send(0, &packet)?;
        wire.answer()?; // anything, as long as it is an answer
    }
    serves_on(&server)
}

#[test]
fn a_packet_over_the_limit_is_1153_and_takes_no_memory() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    let before = server.usage()?.resident_bytes;
    let mut wire = Wire::log_in(server.port())?;
    // 16 MB are announced, far over max_allowed_packet; they are never sent.
    wire.send_raw(&[0xff, 0xff, 0xff, 0, 3])?;
    wire.end_of_input()?;
    let answer = wire.answer()?;
    assert!(matches!(answer, Answer::Error(1153) | Answer::Closed), "{answer:?}");
    let mut wire = Wire::log_in(server.port())?;
    let mut statement = b"\x03SELECT '".to_vec();
    statement.resize(2 << 20, b'x');
    // The server may close before it has read all of it.
    let sent = wire.send(0, &statement);
    let answer = wire.answer();
    assert!(matches!(answer, Ok(Answer::Error(1153) | Answer::Closed)) || sent.is_err(), "{answer:?}");
    assert!(server.usage()?.resident_bytes < before + (32 << 20));
    serves_on(&server)
}

#[test]
fn connections_that_say_nothing_are_ended_and_hold_up_nobody() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let launch = Launch::new(folder.path().join("data"));
    let silent = |server: &Server| -> Result<Vec<Wire>> { (0..20).map(|_| Wire::connect(server.port())).collect() };

    // They stay for longer than anybody would wait for an answer.
    let server = launch.clone().option("--connect-timeout=3600").start()?;
    let held = silent(&server)?;
    serves_on(&server)?;
    drop(held);
    server.stop()?;

    let server = launch.option("--connect-timeout=2").start()?;
    for mut wire in silent(&server)? {
        let answer = wire.answer()?;
        assert!(matches!(answer, Answer::Closed | Answer::Error(_)), "{answer:?}");
    }
    serves_on(&server)
}

#[test]
fn one_connection_too_many_is_1040_and_a_place_comes_free() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("data")).option("--max-connections=3").start()?;
    server.connect()?.query_drop("CREATE USER ann IDENTIFIED BY 'secret'")?;
    let deadline = Instant::now() + Duration::from_secs(60);
    let password = |user: &str| if user == "ann" { "secret" } else { "" };
    let connect = |user| loop {
        match Conn::new(server.options_as(user, password(user))) {
            // The connections from before may still be about to end.
            Err(mysql::Error::MySqlError(error)) if error.code == 1040 && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => break other,
        }
    };
    let mut held: Vec<Conn> = (0..3).map(|_| connect("ann")).collect::<Result<_, _>>()?;
    let refused = |user: &str| match Conn::new(server.options_as(user, password(user))) {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1040),
        other => panic!("{user}: {other:?}"),
    };
    refused("ann");
    // One more place is kept for the administrator; just one.
    let administrator = connect("root")?;
    refused("root");
    refused("ann");
    drop(administrator);
    held.pop();
    while Conn::new(server.options_as("ann", "secret")).is_err() {
        assert!(Instant::now() < deadline, "no place came free");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[test]
fn statements_that_are_wrong_or_not_supported_name_mysqls_errors() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(3) NOT NULL)")?;
    let deep = format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000));
    let long = format!("SELECT * FROM d.t WHERE id IN ({}0)", "1 + 1, ".repeat(20_000));
    for (sql, codes) in [
        ("SELEC 1", &[1064][..]),
        ("SELECT * FROM d.nosuch", &[1146]),
        ("SELECT nosuch FROM d.t", &[1054]),
        ("SELECT * FROM nosuch.t", &[1049, 1146]),
        ("SELECT * FROM t", &[1046]),
        ("USE nosuch", &[1049]),
        ("INSERT INTO d.t VALUES (1)", &[1136]),
        ("INSERT INTO d.t VALUES (1, NULL)", &[1048]),
        ("INSERT INTO d.t VALUES (1, 'four')", &[1406]),
        ("INSERT INTO d.t VALUES (99999999999, 'a')", &[1264]),
        ("INSERT INTO d.t VALUES ('x', 'a')", &[1366]),
        ("CREATE TABLE d.t (id INT)", &[1050]),
        ("CREATE DATABASE d", &[1007]),
        ("DROP TABLE d.nosuch", &[1051]),
        ("DROP DATABASE nosuch", &[1008]),
        ("SELECT @@nosuch", &[1193]),
        ("SET GLOBAL port = 1", &[1238]),
        ("CREATE TRIGGER a BEFORE INSERT ON d.t FOR EACH ROW SET @x = 1", &[1064, 1235]),
        ("CREATE PROCEDURE p() SELECT 1", &[1064, 1235]),
        ("LOAD DATA INFILE '/etc/passwd' INTO TABLE d.t", &[1064, 1235]),
        (&deep, &[1064, 1235, 1436]),
        ("SET optimizer_switch = REPEAT('x', 70000)", &[1231]),
    ] {
        match conn.query_drop(sql) {
            Err(mysql::Error::MySqlError(error)) => {
                let shown: String = sql.chars().take(60).collect();
                assert!(codes.contains(&error.code), "{shown}: {error:?}");
                assert_eq!(error.state.len(), 5);
            }
            other => panic!("{}: {other:?}", &sql[..sql.len().min(60)]),
        }
    }
    let many = format!("SELECT 1 IN (?{})", ", ?".repeat(65_535));
    match conn.prep(many) {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1390),
        other => panic!("more parameters than the protocol can count: {:?}", other.map(|statement| statement.id())),
    }
    let _ = conn.query_drop(&long); // taken or refused, but answered
    serves_on(&server)
}

#[test]
fn a_data_directory_in_use_by_another_process_is_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let launch = Launch::new(folder.path().join("data"));
    let server = launch.start()?;
    server.connect()?.query_drop("CREATE DATABASE d")?;
    let second = launch.clone().option("--socket=/tmp/cohort-unused.sock").start_refused()?;
    let said = second.log.to_lowercase();
    assert!(said.contains("in use") || said.contains("another"), "{said}");
    assert!(second.log.contains(&server.datadir().display().to_string()), "{said}");
    server.connect()?.query_drop("CREATE TABLE d.t (id INT)")?;
    serves_on(&server)
}

#[test]
fn a_foreign_or_unwritable_data_directory_is_refused_and_left_as_it_was() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let foreign = folder.path().join("foreign");
    fs::create_dir(&foreign)?;
    fs::write(foreign.join("ibdata1"), b"someone else's")?;
    fs::create_dir(foreign.join("mysql"))?;
    let refusal = Launch::new(&foreign).start_refused()?;
    assert!(refusal.log.contains(&foreign.display().to_string()), "{}", refusal.log);
    let mut left: Vec<_> =
        fs::read_dir(&foreign)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
    left.sort();
    assert_eq!(left, ["ibdata1", "mysql"]);

    let file = folder.path().join("file");
    fs::write(&file, b"no directory")?;
    for place in [file.clone(), file.join("below")] {
        let log = Launch::new(&place);
        let refusal = match place.parent() {
            Some(parent) if parent.is_dir() => log.start_refused()?,
            _ => continue, // the harness itself cannot put a log beside it
        };
        assert!(refusal.log.contains(&place.display().to_string()), "{}", refusal.log);
        assert!(!refusal.log.contains("panicked"), "{}", refusal.log);
    }
    Ok(())
}

/// A stopped or killed server's directory with `commits` rows in `d.t`, written one after another.
fn with_rows(folder: &tempfile::TempDir, commits: u32) -> Result<Server> {
    let server = Launch::new(folder.path().join("data")).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(100))")?;
    for id in 0..commits {
        conn.query_drop(format!("INSERT INTO d.t VALUES ({id}, REPEAT('v', 60))"))?;
    }
    Ok(server)
}

const RECORD: &[u8] = b"COHJREC\x01";
const RECORD_HEADER_BYTES: u64 = 72;

/// Where journal records begin: file and offset, in the order they were written.
fn records(datadir: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut segments: Vec<PathBuf> = walk(&datadir.join("journal"))?;
    segments.retain(|file| file.extension().is_some_and(|number| number.len() == 6));
    segments.sort();
    let mut found = Vec::new();
    for segment in segments {
        let bytes = fs::read(&segment)?;
        let starts = (0..bytes.len()).step_by(4096).filter(|&at| bytes[at..].starts_with(RECORD));
        found.extend(starts.map(|at| (segment.clone(), at as u64)));
    }
    Ok(found)
}

fn flip(file: &Path, offset: u64) -> Result<()> {
    let mut file = fs::File::options().read(true).write(true).open(file)?;
    let mut byte = [0];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut byte)?;
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(&[byte[0] ^ 0x40])?;
    Ok(())
}

#[test]
fn damage_in_the_middle_of_the_journal_stops_the_start_and_is_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let launch = with_rows(&folder, 20)?.kill()?;
    let records = records(launch.datadir())?;
    let (file, offset) = &records[records.len() - 10];
    for damage in [offset + 20, offset + RECORD_HEADER_BYTES + 5] {
        flip(file, damage)?;
        let refusal = launch.start_refused()?;
        assert!(refusal.log.contains(&file.display().to_string()), "{}", refusal.log);
        assert!(refusal.log.contains(&offset.to_string()), "no offset {offset}: {}", refusal.log);
        assert!(!refusal.log.contains("panicked"), "{}", refusal.log);
        flip(file, damage)?;
    }
    let server = launch.start()?;
    let count: Option<i32> = server.connect()?.query_first("SELECT COUNT(*) FROM d.t")?;
    assert_eq!(count, Some(20), "nothing was changed by the refusals");
    Ok(())
}

#[test]
fn a_torn_tail_of_the_journal_is_cut_and_reported() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = with_rows(&folder, 19)?;
    let mut conn = server.connect()?;
    let (binlog, end) = binlog_end(&mut conn)?;
    conn.query_drop("INSERT INTO d.t VALUES (19, 'torn')")?;
    let launch = server.kill()?;
    let records = records(launch.datadir())?;
    let (file, offset) = records.last().context("no record")?;
    flip(file, offset + RECORD_HEADER_BYTES + 5)?;
    // A record whose write was torn never reached the binlog file; while that has it, the start refuses.
    let refusal = launch.start_refused()?;
    assert!(refusal.log.contains(&file.display().to_string()) && refusal.log.contains(&binlog), "{}", refusal.log);
    fs::File::options().write(true).open(launch.datadir().join(&binlog))?.set_len(end)?;
    let server = launch.start()?;
    let log = server.log()?.to_lowercase();
    assert!(log.contains("cut") || log.contains("torn"), "{log}");
    let ids: Vec<i32> = server.connect()?.query("SELECT id FROM d.t ORDER BY id")?;
    assert_eq!(ids, (0..19).collect::<Vec<_>>());
    serves_on(&server)?;
    // What was cut stays cut, and new commits follow.
    server.connect()?.query_drop("INSERT INTO d.t VALUES (50, 'new')")?;
    let server = server.kill_and_restart()?;
    let last: Option<i32> = server.connect()?.query_first("SELECT MAX(id) FROM d.t")?;
    assert_eq!(last, Some(50));
    Ok(())
}

#[test]
fn a_journal_of_a_newer_version_is_refused_by_its_version() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let launch = with_rows(&folder, 3)?.stop()?;
    let (segment, _) = records(launch.datadir())?.pop().context("no record")?;
    for file in [segment, launch.datadir().join("journal/checkpoint")] {
        let whole = fs::read(&file)?;
        let mut newer = whole.clone();
        newer[8..12].copy_from_slice(&2_u32.to_le_bytes());
        fs::write(&file, &newer)?;
        let refusal = launch.start_refused()?;
        assert!(refusal.log.contains("version"), "{}", refusal.log);
        assert!(refusal.log.contains(&file.display().to_string()), "{}", refusal.log);
        assert_eq!(fs::read(&file)?, newer, "it was changed");
        fs::write(&file, &whole)?;
    }
    serves_on(&launch.start()?)
}

#[test]
fn a_binlog_of_a_newer_version_is_refused_by_its_version() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let launch = with_rows(&folder, 3)?.stop()?;
    let file = launch.datadir().join("binlog.000001");
    let whole = fs::read(&file)?;
    // The format version follows the magic and the event header; the event ends with its CRC.
    let end = u32::from_le_bytes(whole[4 + 9..4 + 13].try_into()?) as usize + 4;
    let mut newer = whole.clone();
    newer[4 + 19] = 5;
    let crc = crc32(&newer[4..end - 4]);
    newer[end - 4..end].copy_from_slice(&crc.to_le_bytes());
    fs::write(&file, &newer)?;
    let refusal = launch.start_refused()?;
    assert!(refusal.log.contains("format 5"), "{}", refusal.log);
    assert!(refusal.log.contains(&file.display().to_string()), "{}", refusal.log);
    assert_eq!(fs::read(&file)?, newer, "it was changed");
    fs::write(&file, &whole)?;
    serves_on(&launch.start()?)
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1)))
    };
    !bytes.iter().fold(!0, step)
}

/// Every file below a folder.
fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(walk(&path)?);
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}
