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
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;

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

fn errno<T>(result: mysql::Result<T>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

/// The password that a server has logged for root.
fn logged_password(log: &str) -> Option<String> {
    let (_, rest) = log.split_once("logged this once: ")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

#[test]
fn root_needs_a_password_but_over_the_unix_socket() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).root_needs_password().start()?;
    let log = server.log()?;
    let password = logged_password(&log).context("no password in the log")?;
    assert!(password.len() >= 16, "{password}");
    assert_eq!(errno(Conn::new(server.options_as("root", ""))), 1045);
    assert_eq!(errno(Conn::new(server.options_as("root", "wrong"))), 1045);
    let mut conn = Conn::new(server.options_as("root", &password))?;
    assert_eq!(conn.query_first::<String, _>("SELECT CURRENT_USER()")?.as_deref(), Some("root@127.0.0.1"));
    let mut local = over_socket(&server)?;
    assert_eq!(local.query_first::<String, _>("SELECT CURRENT_USER()")?.as_deref(), Some("root@localhost"));
    // Logged once, and kept.
    let server = server.stop()?.start()?;
    Conn::new(server.options_as("root", &password))?;
    assert_eq!(server.log()?.matches("logged this once").count(), 1);
    // For other hosts nobody goes without.
    let mut local = over_socket(&server)?;
    for sql in [
        "CREATE USER ann",
        "CREATE USER ann@'127.0.0.1' IDENTIFIED BY ''",
        "CREATE USER ann@'local%'",
        "ALTER USER root@'127.0.0.1' IDENTIFIED BY ''",
        "SET PASSWORD FOR root@'127.0.0.1' = ''",
    ] {
        assert_eq!(errno(local.query_drop(sql)), 1819, "{sql}");
    }
    // An account of this machine without a password is for the Unix socket.
    local.query_drop("CREATE USER ann@localhost")?;
    assert_eq!(errno(Conn::new(server.options_as("ann", ""))), 1045);
    let ann = OptsBuilder::from_opts(server.socket_options()).user(Some("ann"));
    Conn::new(ann.clone())?;
    local.query_drop("ALTER USER ann@localhost IDENTIFIED BY 'secret'")?;
    Conn::new(server.options_as("ann", "secret"))?;
    assert_eq!(errno(Conn::new(ann)), 1045);
    Ok(())
}

#[test]
fn dropped_accounts_stay_dropped() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).root_needs_password().start()?;
    let mut root = over_socket(&server)?;
    root.query_drop("DROP USER root@localhost, root@'127.0.0.1', root@'::1'")?;
    assert_eq!(errno(over_socket(&server)), 1045);
    root.query_drop("SHUTDOWN")?;
    let mut server = server;
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.ended()?.is_none() {
        assert!(Instant::now() < deadline, "it does not end");
        thread::sleep(Duration::from_millis(20));
    }
    let server = launch(&folder).root_needs_password().spawn()?;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !server.log()?.contains("nobody can log in") || over_socket(&server).is_err_and(|error| !is_denied(&error)) {
        assert!(Instant::now() < deadline, "{}", server.log()?);
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(errno(over_socket(&server)), 1045);
    // Who may start the server gets in.
    let server = server.kill()?.option("--reset-root").start()?;
    over_socket(&server)?.query_drop("SELECT 1")?;
    assert_eq!(errno(Conn::new(server.options_as("root", ""))), 1045);
    Ok(())
}

fn is_denied(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::MySqlError(error) if error.code == 1045)
}

/// The packets that a server sends to somebody who guesses `password`, or nothing a password gives, but for what is
/// random in them.
fn exchange(server: &Server, user: &str, password: Option<&str>) -> Result<Vec<Vec<u8>>> {
    let mut wire = Wire::connect(server.port())?;
    let mut packets = Vec::new();
    let mut sequence = 1;
    let mut next = login_as(user, &[7; 20]);
    loop {
        wire.send(sequence, &next)?;
        let answer = wire.packet()?;
        sequence += 2;
        match answer.first() {
            Some(0xfe) => {
                let (asked, challenge) = answer.split_at(answer.len() - 21);
                packets.push(asked.to_vec());
                let challenge = challenge[..20].try_into()?;
                let proof = password.and_then(|password| scramble_sha256(challenge, password.as_bytes()));
                next = proof.map_or(vec![7; 32], |proof| proof.to_vec());
            }
            Some(1) => {
                packets.push(answer);
                // No password in any form: a wrong one.
                next = vec![9; 256];
            }
            _ => {
                // The error's number; its text names the user.
                packets.push(answer[..3].to_vec());
                return Ok(packets);
            }
        }
    }
}

#[test]
fn unknown_users_are_asked_as_known_ones() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--connection-control-failed-connections-threshold=0").start()?;
    server.connect()?.query_drop("CREATE USER ann IDENTIFIED BY 'secret'")?;
    let known = exchange(&server, "ann", None)?;
    assert_eq!(known.len(), 3, "{known:?}");
    assert_eq!(known[2], [0xff, 0x15, 0x04], "1045");
    assert_eq!(exchange(&server, "nobody", None)?, known);
    // Neither a login nor a restart makes a difference.
    Conn::new(server.options_as("ann", "secret"))?;
    assert_eq!(exchange(&server, "ann", None)?, known);
    let server = server.stop()?.start()?;
    assert_eq!(exchange(&server, "ann", None)?, known);
    Ok(())
}

#[test]
fn a_locked_account_answers_right_guesses_as_wrong_ones() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--connection-control-failed-connections-threshold=0").start()?;
    server
        .connect()?
        .query_drop("CREATE USER ann IDENTIFIED BY 'secret' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 1")?;
    // From here on the short exchange would do.
    Conn::new(server.options_as("ann", "secret"))?;
    for password in ["x", "y"] {
        assert!(Conn::new(server.options_as("ann", password)).is_err());
    }
    let wrong = exchange(&server, "ann", Some("z"))?;
    assert_eq!(wrong.last().map(Vec::as_slice), Some(&[0xff, 0x73, 0x0f][..]), "3955");
    assert_eq!(exchange(&server, "ann", Some("secret"))?, wrong);
    Ok(())
}

#[test]
fn an_owner_gets_in_while_others_guess() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    server.connect()?.query_drop("CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'secret'")?;
    Conn::new(server.options_as("ann", "secret"))?;
    // Many at a time, and names that nobody has.
    let guess = |user: &str| -> Result<Wire> {
        let mut wire = Wire::connect(server.port())?;
        wire.send(1, &login_as(user, &[7; 20]))?;
        Ok(wire)
    };
    let mut guesses = Vec::new();
    for round in 0..40 {
        guesses.push(guess("ann")?);
        guesses.push(guess(&format!("junk{round}"))?);
    }
    let (_, waiting): (String, u64) =
        server.connect()?.query_first("SHOW STATUS LIKE 'Cohort_logins_waiting'")?.context("a row")?;
    let options = OptsBuilder::from_opts(server.options_as("ann", "secret"));
    let options = options.read_timeout(Some(Duration::from_secs(30)));
    Conn::new(options).with_context(|| format!("{waiting} wait"))?;
    drop(guesses);
    crate::serves_on(&server)
}

fn entries(path: &Path) -> Result<Vec<serde_json::Value>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?)
}

#[test]
fn the_audit_log_has_logins_account_changes_and_statements_where_they_are_wanted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--audit-log-file=audit.log").start()?;
    let path = server.datadir().join("audit.log");
    let mut root = server.connect()?;
    root.query_drop("CREATE USER ann IDENTIFIED BY 'hush1'")?;
    root.query_drop("SELECT 'not entered'")?;
    assert_eq!(errno(Conn::new(server.options_as("ann", "hush2"))), 1045);
    assert_eq!(errno(Conn::new(server.options_as("no\nbody", "hush3"))), 1045);
    assert_eq!(errno(root.query_drop("DROP USER nobody")), 1396);
    root.query_drop("SET GLOBAL audit_log_policy = 'ALL'")?;
    root.query_drop("SELECT 'entered'")?;
    root.exec_drop("SELECT ?", ("hush4",))?;
    root.query_drop("ALTER USER ann IDENTIFIED BY 'hush5'")?;
    // Renamed, and begun anew.
    fs::rename(&path, folder.path().join("moved"))?;
    root.query_drop("FLUSH LOGS")?;
    root.query_drop("SELECT 'last'")?;
    let moved = entries(&folder.path().join("moved"))?;
    let of = |event: &str| moved.iter().filter(|entry| entry["event"] == event).collect::<Vec<_>>();
    let refused: Vec<_> =
        of("connect").iter().filter(|entry| entry["errno"] == 1045).map(|entry| &entry["user"]).collect();
    assert_eq!(refused, ["ann@127.0.0.1", "no\nbody@127.0.0.1"]);
    assert!(of("connect").iter().any(|entry| entry["errno"] == 0 && entry["account"] == "root@localhost"), "{moved:?}");
    let accounts: Vec<_> = of("account").iter().map(|entry| (&entry["sql"], &entry["errno"])).collect();
    assert_eq!(accounts[0], (&"CREATE USER ann IDENTIFIED BY <secret>".into(), &0.into()));
    assert_eq!(accounts[1], (&"DROP USER nobody".into(), &1396.into()));
    let statements: Vec<_> = of("statement").iter().filter_map(|entry| entry["sql"].as_str()).collect();
    assert!(
        statements.contains(&"SELECT 'entered'") && !statements.contains(&"SELECT 'not entered'"),
        "{statements:?}"
    );
    assert_eq!(of("prepare").len(), 1);
    assert_eq!(of("execute")[0]["sql"], "SELECT ?");
    assert!(!format!("{moved:?}").contains("hush"));
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o640);
    let last = entries(&path)?;
    assert_eq!(last.last().map(|entry| &entry["sql"]), Some(&"SELECT 'last'".into()));
    drop(root);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !entries(&path)?.iter().any(|entry| entry["event"] == "disconnect") {
        assert!(Instant::now() < deadline, "no end of the connection");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
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
