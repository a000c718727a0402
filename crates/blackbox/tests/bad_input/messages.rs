//! Messages for the operator that nobody takes.

use std::fs::File;
use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cohort_blackbox::{Launch, Server};
use mysql::Conn;
use mysql::prelude::Queryable;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

/// A server that writes its messages to `fd`, and whose commits and checkpoints give it some to write.
fn launch(folder: &tempfile::TempDir, fd: OwnedFd) -> Result<Server> {
    Launch::new(folder.path().join("data")).messages(fd).start()
}

/// New connections and commits while the server has something to say on every path.
fn is_served(server: &Server) -> Result<()> {
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    for number in 0..200 {
        // Each of these warns.
        conn.query_drop(format!("SET GLOBAL sync_binlog = {}", number % 2))?;
        conn.query_drop(format!("INSERT INTO d.t VALUES ({number})"))?;
    }
    // Without a file descriptor for the next connection, the thread that accepts it says so.
    let pid = Pid::from_raw(server.pid() as i32).context("a process id")?;
    let none = Rlimit { current: Some(1), ..getrlimit(Resource::Nofile) };
    let before = prlimit(Some(pid), Resource::Nofile, none)?;
    let options = mysql::OptsBuilder::from_opts(server.options()).read_timeout(Some(Duration::from_millis(300)));
    // The one that is being accepted has its descriptor already.
    let held: Vec<Conn> = (0..4).map_while(|_| Conn::new(options.clone()).ok()).collect();
    assert!(held.len() < 4, "there is no room for them");
    prlimit(Some(pid), Resource::Nofile, before)?;
    drop(held);
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut last = loop {
        match server.connect() {
            Ok(conn) => break conn,
            Err(error) => assert!(Instant::now() < deadline, "nobody accepts: {error}"),
        }
    };
    assert_eq!(last.query_first::<u64, _>("SELECT COUNT(*) FROM d.t")?, Some(200));
    Ok(())
}

#[test]
fn a_broken_pipe_for_messages_stops_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    is_served(&launch(&folder, writer.into())?)
}

#[test]
fn a_full_disk_for_messages_stops_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    is_served(&launch(&folder, File::options().write(true).open("/dev/full")?.into())?)
}

#[test]
fn a_pipe_that_nobody_reads_stops_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (reader, writer) = std::io::pipe()?;
    let fd = OwnedFd::from(writer);
    fill(&fd)?;
    let server = launch(&folder, fd)?;
    is_served(&server)?;
    server.stop()?;
    drop::<PipeReader>(reader);
    Ok(())
}

/// Fills a pipe to its last byte.
fn fill(fd: &OwnedFd) -> Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?;
    while rustix::io::write(fd, &[b'\n'; 4096]).is_ok() {}
    while rustix::io::write(fd, b"\n").is_ok() {}
    Ok(rustix::fs::fcntl_setfl(fd, flags)?)
}
