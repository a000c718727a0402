//! Who comes in, and what of the server's own others get to see.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::wire::{Answer, Wire, login_as};

fn launch(folder: &tempfile::TempDir) -> Launch {
    Launch::new(folder.path().join("data"))
}

fn over_socket(server: &Server) -> mysql::Result<Conn> {
    let options = OptsBuilder::new().socket(Some(server.socket().display().to_string())).user(Some("root"));
    Conn::new(options.read_timeout(Some(Duration::from_secs(30))))
}

#[test]
fn who_says_nothing_takes_no_place_of_those_who_log_in() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--connect-timeout=600").start()?;
    let mut silent = Vec::new();
    for _ in 0..1025 {
        // Those beyond the places of their host are turned away, or take that of an older one.
        if let Ok(wire) = Wire::connect_from([127, 0, 0, 1], server.port()) {
            silent.push(wire);
        }
    }
    assert_eq!(over_socket(&server)?.query_first::<i32, _>("SELECT 1")?, Some(1));
    // From another host, and soon from the same one.
    let other = OptsBuilder::from_opts(server.options()).bind_address(Some(([127, 0, 0, 2], 0)));
    Conn::new(other)?.query_drop("SELECT 1")?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while let Err(error) = server.connect() {
        assert!(Instant::now() < deadline, "{error}");
        thread::sleep(Duration::from_millis(50));
    }
    // Nor can the Unix socket be held.
    let held: Vec<UnixStream> =
        (0..600).map(|_| UnixStream::connect(server.socket())).collect::<std::io::Result<_>>()?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while let Err(error) = over_socket(&server) {
        assert!(Instant::now() < deadline, "{error}");
        thread::sleep(Duration::from_millis(50));
    }
    drop((silent, held));
    crate::serves_on(&server)
}

#[test]
fn character_sets_that_break_escaping_are_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    for collation in [28, 13, 1, 95, 248] {
        let mut wire = Wire::connect(server.port())?;
        let mut login = login_as("root", b"");
        login[8] = collation;
        wire.send(1, &login)?;
        assert!(matches!(wire.answer()?, Answer::Error(1115)), "{collation}");
    }
    for collation in [8, 33, 45, 46, 63, 255] {
        let mut wire = Wire::connect(server.port())?;
        let mut login = login_as("root", b"");
        login[8] = collation;
        wire.send(1, &login)?;
        let answer = wire.answer()?;
        assert!(!matches!(answer, Answer::Error(_)), "{collation}: {answer:?}");
    }
    crate::serves_on(&server)
}

/// The rights of everything in a directory, by path.
fn rights(path: &Path, found: &mut Vec<(String, u32)>) -> Result<()> {
    let mode = fs::symlink_metadata(path)?.permissions().mode() & 0o7777;
    found.push((path.display().to_string(), mode));
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            rights(&entry?.path(), found)?;
        }
    }
    Ok(())
}

#[test]
fn the_data_directory_is_closed_to_others() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("data"))?;
    fs::set_permissions(folder.path().join("data"), fs::Permissions::from_mode(0o755))?;
    let server = launch(&folder).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=redb")?;
    conn.query_drop("CREATE INDEX i ON d.t (id)")?;
    conn.query_drop("FLUSH BINARY LOGS")?;
    let mut found = Vec::new();
    rights(server.datadir(), &mut found)?;
    assert!(found.len() > 10);
    for (path, mode) in found {
        assert_eq!(mode & 0o027, 0, "{path}: {mode:o}");
    }
    // Others connect as before.
    assert_eq!(fs::metadata(server.socket())?.permissions().mode() & 0o777, 0o777);
    Ok(())
}

#[test]
fn only_a_socket_is_replaced_by_the_socket_and_no_link_is_followed_to_the_pid_file() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let precious = folder.path().join("data.sock");
    fs::write(&precious, "precious")?;
    let refused = launch(&folder).start_refused()?;
    assert!(refused.log.contains("Unix socket"), "{}", refused.log);
    assert_eq!(fs::read_to_string(&precious)?, "precious");
    fs::remove_file(&precious)?;
    let (link, target) = (folder.path().join("pid"), folder.path().join("target"));
    fs::write(&target, "precious")?;
    std::os::unix::fs::symlink(&target, &link)?;
    let refused = launch(&folder).option(format!("--pid-file={}", link.display())).start_refused()?;
    assert!(refused.log.contains("pid file"), "{}", refused.log);
    assert_eq!(fs::read_to_string(&target)?, "precious");
    // A socket that a dead server has left is.
    let server = launch(&folder).start()?.kill_and_restart()?;
    over_socket(&server)?;
    Ok(())
}

#[test]
fn passwords_are_seen_by_nobody() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let (mut conn, mut admin) = (server.connect()?, server.connect()?);
    for sql in [
        "CREATE USER ann IDENTIFIED BY 'hush1' garbage",
        "CREATE USR ann IDENTIFIED BY 'hush2'",
        "ALTER USER nobody IDENTIFIED BY 'hush3'",
        "SET PASSWORD FOR nobody = 'hush4' 5",
    ] {
        let error = conn.query_drop(sql).expect_err(sql);
        let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS")?;
        assert!(!format!("{error} {warnings:?}").contains("hush"), "{error} {warnings:?}");
    }
    // A table's lock holds the statement up for the process list.
    let id: u64 = conn.query_first("SELECT CONNECTION_ID()")?.context("an id")?;
    let waits = thread::spawn(move || conn.query_drop("SET PASSWORD = 'hush5', @a = SLEEP(0)"));
    for _ in 0..50 {
        let list: Vec<mysql::Row> = admin.query("SHOW FULL PROCESSLIST")?;
        assert!(!format!("{list:?}").contains("hush"), "{id}: {list:?}");
    }
    // Refused or not, it was not seen.
    let _ = waits.join();
    assert!(!server.log()?.contains("hush"));
    Ok(())
}
