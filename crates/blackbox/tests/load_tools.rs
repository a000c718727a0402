//! mysqlslap and sysbench, unmodified: every load they can generate runs without an error.

use anyhow::{Result, ensure};
use cohort_blackbox::{Launch, Server, tool};

fn server(folder: &tempfile::TempDir) -> Result<Server> {
    Launch::new(folder.path().join("data")).start()
}

fn slap(server: &Server, more: &[&str]) -> Result<()> {
    let socket = format!("--socket={}", server.socket().display());
    let fixed = ["--no-defaults", "--user=root", &socket, "--auto-generate-sql", "--concurrency=4"];
    let output = tool("mariadb-slap", fixed.iter().chain(more))?.success()?;
    let (said, complaints) = (output.text(), output.complaints());
    ensure!(said.contains("Average number of seconds"), "mysqlslap {more:?}: {said}{complaints}");
    // mysqlslap reports refused statements on standard error and goes on.
    ensure!(complaints.trim().is_empty(), "mysqlslap {more:?}: {complaints}");
    Ok(())
}

#[test]
fn mysqlslap_runs_every_generated_load() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    for load in ["write", "read", "mixed", "update", "key"] {
        let load = format!("--auto-generate-sql-load-type={load}");
        let few = ["--number-of-queries=200", "--auto-generate-sql-write-number=50"];
        let keyed = "--auto-generate-sql-add-autoincrement";
        // Updates and key reads need a key to find rows by.
        if !load.ends_with("update") && !load.ends_with("key") {
            slap(&server, &[&load, few[0], few[1]])?;
        }
        slap(&server, &[&load, few[0], few[1], keyed])?;
        slap(&server, &[&load, few[1], keyed, "--auto-generate-sql-execute-number=20", "--iterations=2"])?;
    }
    slap(
        &server,
        &[
            "--auto-generate-sql-guid-primary",
            "--auto-generate-sql-secondary-indexes=2",
            "--auto-generate-sql-load-type=mixed",
            "--number-int-cols=3",
            "--number-char-cols=3",
            "--commit=5",
            "--number-of-queries=200",
        ],
    )?;
    server.stop()?;
    Ok(())
}

fn sysbench(server: &Server, script: &str, command: &str, more: &[&str]) -> Result<String> {
    let socket = format!("--mysql-socket={}", server.socket().display());
    let fixed = [script, "--db-driver=mysql", "--mysql-user=root", "--mysql-db=sbtest", &socket, "--threads=4"];
    let arguments = fixed.iter().chain(more).chain([&command]);
    let said = tool("sysbench", arguments)?.success()?.text();
    ensure!(!said.contains("FATAL") && !said.contains("ALERT"), "sysbench {script} {command}:\n{said}");
    Ok(said)
}

/// Prepares, runs and cleans up a script, with statements prepared by the server and without.
fn sysbench_script(server: &Server, script: &str) -> Result<()> {
    let tables = ["--tables=1", "--table-size=500", "--time=1"];
    for prepared in ["--db-ps-mode=auto", "--db-ps-mode=disable"] {
        sysbench(server, script, "prepare", &tables)?;
        let more: Vec<&str> = tables.iter().copied().chain([prepared]).collect();
        let said = sysbench(server, script, "run", &more)?;
        let done = said.lines().find_map(|line| line.trim().strip_prefix("transactions:"));
        let done = done.and_then(|rest| rest.split_whitespace().next());
        let some = script == "bulk_insert" || done.is_some_and(|count| count != "0");
        ensure!(some, "sysbench {script} did nothing:\n{said}");
        sysbench(server, script, "cleanup", &tables)?;
    }
    Ok(())
}

#[test]
fn sysbench_runs_every_oltp_script() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    mysql::prelude::Queryable::query_drop(&mut server.connect()?, "CREATE DATABASE sbtest")?;
    for script in [
        "oltp_delete",
        "oltp_insert",
        "oltp_point_select",
        "oltp_read_only",
        "oltp_read_write",
        "oltp_update_index",
        "oltp_update_non_index",
        "oltp_write_only",
        "select_random_points",
        "select_random_ranges",
        "bulk_insert",
    ] {
        sysbench_script(&server, script)?;
    }
    server.stop()?;
    Ok(())
}

#[test]
fn sysbench_runs_with_a_secondary_index_and_without_auto_increment() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = server(&folder)?;
    mysql::prelude::Queryable::query_drop(&mut server.connect()?, "CREATE DATABASE sbtest")?;
    for more in [["--auto_inc=off", "--create_secondary=off"], ["--secondary=on", "--skip_trx=on"]] {
        let options: Vec<&str> = ["--tables=1", "--table-size=300", "--time=1"].into_iter().chain(more).collect();
        for command in ["prepare", "run", "cleanup"] {
            sysbench(&server, "oltp_read_write", command, &options)?;
        }
    }
    Ok(())
}
