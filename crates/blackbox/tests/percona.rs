//! Tools of Percona's toolkit, unmodified.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, MariaDb, Server, tool, wait_until};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// Runs pt-heartbeat on the server at `port`.
fn heartbeat(port: u16, more: &[&str]) -> Result<String> {
    let login = format!("h=127.0.0.1,P={port},u=root");
    let fixed = ["--database=beats", "--utc"];
    Ok(tool("pt-heartbeat", fixed.iter().chain(more).copied().chain([login.as_str()]))?.success()?.text())
}

/// The time of the last beat and the position of the source at it.
fn beat(conn: &mut Conn) -> Result<Option<(String, String, u64)>> {
    Ok(conn.query_first("SELECT ts, file, position FROM beats.heartbeat")?)
}

fn follows(server: &Server, replica: &MariaDb) -> Result<()> {
    let mut source = server.connect()?;
    let status: Row = source.query_first("SHOW MASTER STATUS")?.context("no binlog")?;
    let (file, position): (String, u64) = (status.get(0).context("a file")?, status.get(1).context("a position")?);
    replica
        .follow(server.port(), &format!("MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}, MASTER_USE_GTID=no"))?;
    source.query_drop("CREATE DATABASE beats")?;
    heartbeat(server.port(), &["--update", "--create-table", "--interval=0.1", "--run-time=2"])?;
    let last = beat(&mut source)?.context("no beat")?;
    ensure!(last.1 == file && last.2 > position, "the last beat says {last:?}");
    wait_until("the last beat arrives", || {
        // The table may not be there yet.
        Ok(beat(&mut replica.connect()?).is_ok_and(|there| there.as_ref() == Some(&last)))
    })?;
    let id: u32 = source.query_first("SELECT server_id FROM beats.heartbeat")?.context("an id")?;
    let id = format!("--master-server-id={id}");
    let lag = heartbeat(replica.port(), &["--check", &id])?;
    ensure!(lag.trim().parse::<f64>().is_ok_and(|seconds| seconds >= 0.0), "the lag is {lag:?}");
    Ok(())
}

#[test]
fn pt_heartbeat_beats_here_and_is_read_on_a_replica() -> Result<()> {
    if MariaDb::installed().is_none() || Command::new("pt-heartbeat").arg("--version").output().is_err() {
        println!("NOT RUN: pt-heartbeat or mariadb-server is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let server = Launch::new(folder.path().join("source")).start()?;
    let replica = MariaDb::start_replica(&folder.path().join("replica"), &["--server-id=77", "--relay-log=relay"])?;
    follows(&server, &replica)?;
    replica.stop()?;
    server.stop().map(drop)
}
