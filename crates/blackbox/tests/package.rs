//! The service and the Debian package of `packaging/`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cohort_blackbox::{Launch, free_port, server, tool, tool::tool_within};
use mysql::prelude::Queryable;

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/cohort.service");

/// The most that `systemd-analyze security` may say: 10 is no protection at all, and what listens to a network is 1.0.
const EXPOSURE: f64 = 1.5;

/// Whether a program is there; a word where it is not.
fn has(program: &str) -> bool {
    let found = tool(program, ["--version"]).is_ok();
    if !found {
        println!("NOT RUN: {program} is not installed");
    }
    found
}

#[test]
fn a_service_manager_gets_to_know_when_clients_can_connect() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path)?;
    manager.set_read_timeout(Some(Duration::from_secs(90)))?;
    let next = || -> Result<String> {
        let mut bytes = [0; 1000];
        let length = manager.recv(&mut bytes).context("no report")?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    };
    let server = Launch::new(folder.path().join("data")).environment("NOTIFY_SOCKET", &path).spawn()?;
    ensure!(next()?.starts_with("STATUS="));
    let ready = next()?;
    ensure!(ready.starts_with("READY=1\n"), "{ready}");
    // At once, without a second attempt.
    server.connect()?.query_drop("DO 1")?;
    mysql::Conn::new(server.socket_options())?.query_drop("DO 1")?;
    let launch = server.stop()?;
    let stopping = next()?;
    ensure!(stopping.starts_with("STOPPING=1\n"), "{stopping}");
    // A manager that has gone stops nothing.
    drop(manager);
    launch.start()?.stop()?;
    Ok(())
}

#[test]
fn the_unit_is_sound_and_closed() -> Result<()> {
    if !has("systemd-analyze") {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let unit = folder.path().join("cohort.service");
    // Where the package would put the program.
    let text = fs::read_to_string(UNIT)?.replace("/usr/bin/cohort", &server::binary()?.display().to_string());
    fs::write(&unit, text)?;
    let unit = unit.to_str().context("a path")?;
    let said = tool("systemd-analyze", ["verify", "--man=no", unit])?.success()?.complaints();
    // It may complain of other units of this machine.
    ensure!(!said.contains("cohort.service"), "{said}");
    let said = tool("systemd-analyze", ["security", "--offline=true", "--no-pager", unit])?.success()?.text();
    let overall = said.lines().last().and_then(|line| line.split_once("cohort.service: ")).context(said.clone())?;
    let exposure: f64 = overall.1.split(' ').next().context("a number")?.parse()?;
    println!("exposure {exposure}");
    ensure!(exposure <= EXPOSURE, "{said}");
    Ok(())
}

/// The system calls of a group such as `@system-service`, groups within it included.
fn group(name: &str, calls: &mut BTreeSet<String>) -> Result<()> {
    if !name.starts_with('@') {
        calls.insert(name.to_owned());
        return Ok(());
    }
    let said = tool("systemd-analyze", ["syscall-filter", "--no-pager", name])?.success()?.text();
    for line in said.lines().skip(1).map(str::trim) {
        match line.chars().next() {
            Some('@') => group(line, calls)?,
            Some('#') | None => {}
            Some(_) => drop(calls.insert(line.to_owned())),
        }
    }
    Ok(())
}

#[test]
fn the_server_makes_no_system_call_that_the_unit_forbids() -> Result<()> {
    if !has("systemd-analyze") || !has("strace") {
        return Ok(());
    }
    let mut allowed = BTreeSet::new();
    let text = fs::read_to_string(UNIT)?;
    for filter in text.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let mut named = BTreeSet::new();
        for name in filter.trim_start_matches('~').split(' ') {
            group(name, &mut named)?;
        }
        match filter.starts_with('~') {
            false => allowed.append(&mut named),
            true => allowed.retain(|call| !named.contains(call)),
        }
    }
    ensure!(allowed.len() > 100, "{allowed:?}");
    // Every thread writes into a file of its own: commits in both engines, an index, a checkpoint, TLS, a stop.
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    let trace = folder.path().join("trace");
    fs::create_dir(&trace)?;
    let program = server::binary()?.display().to_string();
    let wrapper = folder.path().join("traced");
    let prefix = trace.join("calls").display().to_string();
    fs::write(&wrapper, format!("#!/bin/sh\nexec strace -D -q -ff -s 0 -o '{prefix}' '{program}' \"$@\"\n"))?;
    fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let server = Launch::new(&datadir).program(&wrapper).start()?;
    let mut conn = server.connect()?;
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(100))",
        "CREATE TABLE d.u (id INT PRIMARY KEY) ENGINE=redb",
        "BEGIN",
        "INSERT INTO d.t VALUES (1, 'x')",
        "INSERT INTO d.u VALUES (1)",
        "COMMIT",
        "CREATE INDEX v ON d.t (v)",
        "FLUSH LOGS",
        "CREATE USER ann IDENTIFIED BY 'secret'",
        "ALTER INSTANCE RELOAD TLS",
        "DROP TABLE d.u",
    ] {
        conn.query_drop(sql)?;
    }
    let port = format!("--port={}", server.port());
    tool("mariadb", ["--no-defaults", "-h127.0.0.1", &port, "-uroot", "--ssl", "-e", "SELECT 1"])?.success()?;
    server.stop()?;
    let mut refused = BTreeSet::new();
    let mut seen = 0;
    for file in fs::read_dir(&trace)? {
        for line in fs::read_to_string(file?.path())?.lines() {
            let Some((call, _)) = line.split_once('(') else { continue };
            seen += 1;
            // The one that replaces strace by the server is systemd's own.
            if call.chars().all(|letter| letter.is_alphanumeric() || letter == '_') && !allowed.contains(call) {
                refused.insert(call.to_owned());
            }
        }
    }
    ensure!(seen > 1000, "{seen} calls");
    ensure!(refused.is_empty(), "not allowed: {refused:?}");
    Ok(())
}

/// The package to be tested; a word where none is.
fn package() -> Result<Option<PathBuf>> {
    let package = std::env::var_os("COHORT_DEB");
    if package.is_none() {
        println!("NOT RUN: COHORT_DEB names no package; make package builds one");
    }
    Ok(package.map(|path| Path::new(&path).canonicalize()).transpose()?)
}

/// Runs a script of `testdata/package`, which makes a copy of this machine's system for itself: an overlay in namespaces of
/// its own, so that nothing of it stays.
fn in_a_copy(script: &str, arguments: &[&Path]) -> Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/package").join(script);
    let arguments = [&script].into_iter().map(PathBuf::as_path).chain(arguments.iter().copied());
    let said = tool_within(Duration::from_secs(300), "sh", arguments)?;
    print!("{}", said.text());
    match said.status.code() {
        Some(0) => Ok(()),
        Some(77) => {
            println!("NOT RUN: this system cannot be copied: it needs root, overlays and namespaces");
            Ok(())
        }
        _ => bail!("{}\n{}", said.text(), said.complaints()),
    }
}

#[test]
fn the_package_can_be_installed_used_and_taken_off() -> Result<()> {
    let Some(package) = package()? else { return Ok(()) };
    let (root, port) = (tempfile::tempdir()?, free_port()?.to_string());
    in_a_copy("install.sh", &[root.path(), &package, Path::new(&port)])
}

#[test]
fn systemd_runs_the_service_in_its_sandbox() -> Result<()> {
    let Some(package) = package()? else { return Ok(()) };
    let root = tempfile::tempdir()?;
    in_a_copy("systemd.sh", &[root.path(), &package])
}
