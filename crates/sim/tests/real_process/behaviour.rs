//! What clients receive when the log fails, when they vanish or are killed in the middle of a commit, and
//! what a server does that is stopped or cannot write at all.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{bytes_on_the_way, wait_until};
use cohort_io::Fault;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::rig::Rig;

const ER_DISK_FULL: u16 = 1021;
const ER_ERROR_ON_WRITE: u16 = 1026;
const ER_ERROR_DURING_COMMIT: u16 = 1180;
const PATIENCE: Duration = Duration::from_secs(120);

fn number_of(error: &mysql::Error) -> Option<u16> {
    match error {
        mysql::Error::MySqlError(refusal) => Some(refusal.code),
        _ => None,
    }
}

fn rig() -> Result<Option<Rig>> {
    let Some(rig) = Rig::new(1)? else { return Ok(None) };
    let mut conn = rig.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)")?;
    Ok(Some(rig))
}

fn ids(conn: &mut Conn) -> Result<Vec<i32>> {
    Ok(conn.query("SELECT id FROM d.t ORDER BY id")?)
}

/// The id of each session, and what it is doing.
fn sessions(control: &mut Conn) -> Result<BTreeMap<u32, String>> {
    let rows: Vec<mysql::Row> = control.query("SHOW PROCESSLIST")?;
    let session = |row: &mysql::Row| Some((row.get("Id")?, row.get::<Option<String>, _>("State")?.unwrap_or_default()));
    rows.iter().map(|row| session(row).context("a session")).collect()
}

/// Returns when the commits of `ids` are in the queue, and their sessions read on.
fn until_handed_over(control: &mut Conn, ids: &[u32]) -> Result<()> {
    wait_until("commits in the queue", || {
        let sessions = sessions(control)?;
        Ok(ids.iter().all(|id| sessions.get(id).is_some_and(|state| state == "waiting for handler commit")))
    })
}

/// Runs a statement in its own thread and connection, and gives what the client receives.
fn send(rig: &Rig, sql: &'static str) -> Result<(u32, thread::JoinHandle<mysql::Result<()>>)> {
    let mut conn = rig.connect()?;
    let id = conn.connection_id();
    Ok((id, thread::spawn(move || conn.query_drop(sql))))
}

fn joined<T>(thread: thread::JoinHandle<T>) -> T {
    thread.join().expect("a client panicked")
}

/// I6, with the client's eyes: a leader and its follower wait for a write that fails. Neither gets an OK, nor
/// does anyone later; reads go on; after a restart what was acknowledged before is there.
#[test]
fn a_failed_log_write_is_no_ok_for_leader_follower_or_anyone_later() -> Result<()> {
    let Some(mut rig) = rig()? else { return Ok(()) };
    let mut control = rig.connect()?;
    control.query_drop("INSERT INTO d.t VALUES (1, 1)")?;
    rig.mounted.hold_writes();
    let (_, leader) = send(&rig, "INSERT INTO d.t VALUES (2, 2)")?;
    wait_until("the leader's write", || Ok(rig.mounted.held_writes() >= 1))?;
    let (first, follower) = send(&rig, "INSERT INTO d.t VALUES (3, 3)")?;
    let (second, another) = send(&rig, "INSERT INTO d.t VALUES (4, 4)")?;
    until_handed_over(&mut control, &[first, second])?;
    let disk = rig.mounted.disk();
    disk.set_fault(disk.operations(), Fault::Error);
    rig.mounted.release_writes();
    for client in [leader, follower, another] {
        let answer = joined(client).expect_err("no OK");
        ensure!(number_of(&answer) == Some(ER_ERROR_DURING_COMMIT), "{answer}");
    }
    let mut conn = rig.connect()?;
    // This one was rolled back, and its client knows.
    let answer = conn.query_drop("INSERT INTO d.t VALUES (5, 5)").expect_err("the log is closed");
    ensure!(number_of(&answer) == Some(ER_ERROR_ON_WRITE), "{answer}");
    ensure!(ids(&mut conn)? == [1], "reads show what was acknowledged, and nothing else");
    // The only setting there is: nothing is ever acknowledged without its log.
    let answer = conn.query_drop("SET GLOBAL binlog_error_action = IGNORE_ERROR").expect_err("there is no other");
    ensure!(number_of(&answer).is_some(), "{answer}");
    rig.mounted.power_off();
    rig.restart()?;
    let there = ids(&mut rig.connect()?)?;
    ensure!(there.contains(&1) && !there.contains(&5), "{there:?}");
    rig.connect()?.query_drop("INSERT INTO d.t VALUES (6, 6)")?;
    Ok(())
}

/// A client that vanishes while its commit is being written: the commit is whole, its locks are free, and the
/// server serves on.
#[test]
fn a_client_that_vanishes_in_the_middle_of_its_commit_leaves_it_whole() -> Result<()> {
    let Some(rig) = rig()? else { return Ok(()) };
    let server = rig.server.as_ref().context("a server")?;
    rig.connect()?.query_drop("INSERT INTO d.t VALUES (1, 1)")?;
    let mut socket = login(server.port())?;
    query(&mut socket, "BEGIN")?;
    query(&mut socket, "UPDATE d.t SET v = 2 WHERE id = 1")?;
    query(&mut socket, "INSERT INTO d.t VALUES (2, 2)")?;
    rig.mounted.hold_writes();
    write_command(&mut socket, "COMMIT")?;
    wait_until("the commit's write", || Ok(rig.mounted.held_writes() >= 1))?;
    drop(socket);
    rig.mounted.release_writes();
    let mut conn = rig.connect()?;
    conn.query_drop("UPDATE d.t SET v = v + 1 WHERE id = 1")?;
    let rows: Vec<(i32, i32)> = conn.query("SELECT id, v FROM d.t ORDER BY id")?;
    ensure!(rows == [(1, 3), (2, 2)], "{rows:?}");
    Ok(())
}

/// A commit that is in the queue cannot be taken back: KILL ends its connection, and not the commit.
#[test]
fn a_committer_killed_in_the_queue_is_committed_whole() -> Result<()> {
    for how in ["KILL QUERY", "KILL"] {
        let Some(rig) = rig()? else { return Ok(()) };
        let mut control = rig.connect()?;
        rig.mounted.hold_writes();
        let (_, leader) = send(&rig, "INSERT INTO d.t VALUES (1, 1)")?;
        wait_until("the leader's write", || Ok(rig.mounted.held_writes() >= 1))?;
        let (id, follower) = send(&rig, "INSERT INTO d.t VALUES (2, 2)")?;
        until_handed_over(&mut control, &[id])?;
        control.query_drop(format!("{how} {id}"))?;
        rig.mounted.release_writes();
        joined(leader)?;
        let answer = joined(follower);
        let there = ids(&mut control)?;
        match answer {
            Ok(()) => ensure!(there == [1, 2], "{how}: acknowledged and not there: {there:?}"),
            // The connection went before its answer: the client knows nothing, the commit is whole.
            Err(error) => {
                let refused = number_of(&error) == Some(1317);
                ensure!(there == [1, 2] || refused && there == [1], "{how}: {error}, and there is {there:?}");
            }
        }
        control.query_drop("UPDATE d.t SET v = 9")?;
    }
    Ok(())
}

/// The command after that commit does not begin, though it came before the kill.
#[test]
fn a_command_after_the_commit_of_a_killed_session_does_not_begin() -> Result<()> {
    let Some(rig) = rig()? else { return Ok(()) };
    let mut control = rig.connect()?;
    let mut socket = login(rig.server.as_ref().context("a server")?.port())?;
    let killed = sessions(&mut control)?.into_keys().max().context("the newest session")?;
    rig.mounted.hold_writes();
    let (_, leader) = send(&rig, "INSERT INTO d.t VALUES (1, 1)")?;
    wait_until("the leader's write", || Ok(rig.mounted.held_writes() >= 1))?;
    write_command(&mut socket, "INSERT INTO d.t VALUES (2, 2)")?;
    until_handed_over(&mut control, &[killed])?;
    write_command(&mut socket, "SELECT SLEEP(100000)")?;
    let port = rig.server.as_ref().context("a server")?.port();
    wait_until("a command that is read", || Ok(bytes_on_the_way(port)?.1 == 0))?;
    control.query_drop(format!("KILL {killed}"))?;
    rig.mounted.release_writes();
    joined(leader)?;
    wait_until("the end of its session", || Ok(!sessions(&mut control)?.contains_key(&killed)))?;
    ensure!(ids(&mut control)? == [1, 2], "the commits");
    Ok(())
}

#[test]
fn sigterm_under_load_loses_nothing_and_the_next_start_has_nothing_to_do() -> Result<()> {
    let Some(mut rig) = Rig::new(2)? else { return Ok(()) };
    for _ in 0..2 {
        let server = rig.server.take().context("a server")?;
        let pid = server.pid();
        rig.server = Some(server);
        rig.run(|_| {
            thread::sleep(Duration::from_millis(500));
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid)?).context("a process id")?;
            Ok(rustix::process::kill_process(pid, rustix::process::Signal::TERM)?)
        })?;
        let begin = Instant::now();
        let mut server = rig.server.take().context("a server")?;
        wait_until("the end of the process", || Ok(server.ended()?.is_some()))?;
        let status = server.ended()?.context("it ended")?;
        ensure!(status.success(), "{status}: {}", server.log()?);
        println!("stopped within {:?}", begin.elapsed());
        drop(server);
        rig.mounted.power_off();
        rig.mounted.power_on()?;
        let server = rig.launch.start()?;
        let report: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(server.datadir().join("recovery.json"))?)?;
        ensure!(report["transactions_kept"] == 0, "a clean stop left something to do: {report}");
        rig.server = Some(server);
        println!("{}", rig.check()?);
    }
    Ok(())
}

#[test]
fn a_data_directory_that_cannot_be_written_stops_the_start_with_its_name() -> Result<()> {
    let Some(mut rig) = rig()? else { return Ok(()) };
    rig.server.take().context("a server")?.stop()?;
    rig.mounted.remount_read_only()?;
    let refusal = rig.launch.start_refused()?;
    let name = rig.launch.datadir().display().to_string();
    ensure!(refusal.log.contains(&name), "{}", refusal.log);
    ensure!(refusal.log.contains("Read-only file system"), "{}", refusal.log);
    ensure!(!refusal.log.contains("panicked"), "{}", refusal.log);
    rig.mounted.power_on()?;
    rig.server = Some(rig.launch.start()?);
    Ok(())
}

/// A full disk, seen by one client: a statement that needs room fails with 1021, or waits where its log has room
/// and its engine has not; reads go on; and once there is room the same connection goes on writing.
#[test]
fn a_full_disk_fails_or_holds_the_statement_and_room_cures_it() -> Result<()> {
    let Some(rig) = rig()? else { return Ok(()) };
    rig.connect()?.query_drop("CREATE TABLE d.wide (id INT PRIMARY KEY, v LONGTEXT)")?;
    rig.mounted.disk().set_capacity(rig.mounted.disk().used_bytes() + (32 << 10));
    let mut writer = rig.connect()?;
    let acknowledged = Arc::new(AtomicI32::new(0));
    let count = acknowledged.clone();
    let filling = thread::spawn(move || {
        let text = "x".repeat(60_000);
        let answer = loop {
            let id = count.load(Ordering::SeqCst);
            match writer.exec_drop("INSERT INTO d.wide VALUES (?, ?)", (id, &text)) {
                Ok(()) if id < 10_000 => count.fetch_add(1, Ordering::SeqCst),
                outcome => break outcome,
            };
        };
        (writer, answer)
    });
    let mut before = -1;
    wait_until("a disk that is full", || {
        // Nothing more for a second, or an error.
        let now = acknowledged.load(Ordering::SeqCst);
        let stands = std::mem::replace(&mut before, now) == now;
        thread::sleep(Duration::from_secs(1));
        Ok(stands || filling.is_finished())
    })?;
    let held = !filling.is_finished();
    let seen: Option<i32> = rig.connect()?.query_first("SELECT COUNT(*) FROM d.wide")?;
    ensure!(seen.is_some_and(|seen| seen >= acknowledged.load(Ordering::SeqCst)), "{seen:?} can be read");
    rig.mounted.disk().set_capacity(u64::MAX);
    let mut writer = if held {
        // What was held goes on, and so do those after it, until we have seen enough.
        let full = acknowledged.load(Ordering::SeqCst);
        wait_until("commits that go on", || Ok(acknowledged.load(Ordering::SeqCst) > full + 3))?;
        rig.connect()?
    } else {
        let (writer, answer) = joined(filling);
        let answer = answer.expect_err("the disk is full");
        ensure!(number_of(&answer) == Some(ER_DISK_FULL), "{answer}");
        writer
    };
    wait_until("room", || Ok(writer.query_drop("INSERT INTO d.wide VALUES (-1, 'room')").is_ok()))?;
    Ok(())
}

/// A connection of root that can be dropped without a word.
fn login(port: u16) -> Result<TcpStream> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    read_packet(&mut socket)?;
    // PROTOCOL_41 and SECURE_CONNECTION, no password.
    let mut response = Vec::from(0x8200_u32.to_le_bytes());
    response.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    response.push(45);
    response.extend_from_slice(&[0; 23]);
    response.extend_from_slice(b"root\0\0");
    write_packet(&mut socket, 1, &response)?;
    let mut answer = read_packet(&mut socket)?;
    if answer.first() == Some(&0xfe) {
        write_packet(&mut socket, 3, &[])?;
        answer = read_packet(&mut socket)?;
    }
    ensure!(answer.first() == Some(&0), "the login was refused: {}", answer.escape_ascii());
    Ok(socket)
}

fn query(socket: &mut TcpStream, sql: &str) -> Result<()> {
    write_command(socket, sql)?;
    let answer = read_packet(socket)?;
    ensure!(answer.first() == Some(&0), "{sql}: {}", answer.escape_ascii());
    Ok(())
}

fn write_command(socket: &mut TcpStream, sql: &str) -> Result<()> {
    write_packet(socket, 0, &[&[3], sql.as_bytes()].concat())
}

fn write_packet(socket: &mut TcpStream, sequence: u8, payload: &[u8]) -> Result<()> {
    let [a, b, c, _] = u32::try_from(payload.len())?.to_le_bytes();
    Ok(socket.write_all(&[&[a, b, c, sequence], payload].concat())?)
}

fn read_packet(socket: &mut TcpStream) -> Result<Vec<u8>> {
    let mut header = [0; 4];
    socket.read_exact(&mut header)?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    socket.read_exact(&mut payload)?;
    Ok(payload)
}
