//! Everybody who follows Cohort follows one load, while followers are killed and the server crashes: replicas end with
//! the same rows, and what others decoded is what was done, in its order.
//!
//! `make test` has four of them and a short load, `make follow` all of them and a long one.

mod copies;
mod judge;
mod kafka;
mod load;
mod program;
mod replicas;
mod shown;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::Result;
use cohort_blackbox::rng::{Rng, seed};
use cohort_blackbox::{Launch, MariaDb, Server, binlog_end, fetched, free_port};
use mysql::prelude::Queryable;

use crate::copies::Copies;
use crate::judge::History;
use crate::load::{Load, tokens};
use crate::program::{Kept, Program};
use crate::replicas::{By, Replica};

/// Rows of a million bytes in the last transaction of a long load.
const LARGE_ROWS: u64 = 1074;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/followers");

/// How many transactions a long load has; `None` for a short one.
fn long() -> Option<usize> {
    std::env::var("COHORT_FOLLOW").ok().and_then(|text| text.parse().ok())
}

/// Whether `COHORT_FOLLOWERS` names this one, or nobody: `COHORT_FOLLOWERS="MariaDB 11.4,canal"`.
fn wants(name: &str) -> bool {
    let names = std::env::var("COHORT_FOLLOWERS").unwrap_or_default();
    names.is_empty() || names.split(',').any(|wanted| name.contains(wanted.trim()))
}

/// What can be killed; of a program one of its parts.
enum Target {
    Replica(usize),
    Part(usize, usize),
    Copies(usize),
}

#[derive(Default)]
struct Followers {
    replicas: Vec<Replica>,
    programs: Vec<Program>,
    copies: Vec<Copies>,
}

impl Followers {
    fn targets(&self) -> Vec<Target> {
        let replicas = (0..self.replicas.len()).map(Target::Replica);
        let programs = self.programs.iter().enumerate();
        let parts = programs.flat_map(|(at, program)| (0..program.parts.len()).map(move |part| Target::Part(at, part)));
        replicas.chain(parts).chain((0..self.copies.len()).map(Target::Copies)).collect()
    }

    /// Waits until a program that is to be killed has gone on since the last time: a start takes a Java program longer than
    /// a round takes the load.
    fn wait_until_gone_on(&self, target: &Target) -> Result<()> {
        match target {
            Target::Part(at, _) => self.programs[*at].wait_until_gone_on(),
            Target::Replica(_) | Target::Copies(_) => Ok(()),
        }
    }

    /// Kills one of them, which goes on.
    fn kill(&mut self, target: Target, load: &Load, source: &Server) -> Result<()> {
        match target {
            Target::Replica(at) => self.replicas[at].kill_and_restart(load, source),
            Target::Part(at, part) => self.programs[at].kill_and_restart(part),
            Target::Copies(at) => self.copies[at].kill_and_restart(),
        }
    }

    fn judge(self, server: Server, load: Load, scratch: &Path) -> Result<()> {
        let done = load.finish()?;
        let history = History::new(done, tokens(server.options())?)?;
        for program in &self.programs {
            program.judge(&history)?;
            println!("{}: {} transactions as they were done", program.name, history.len());
        }
        for replica in &self.replicas {
            replica.judge(&server)?;
            println!("{}: all tables are equal", replica.name);
        }
        for copies in &self.copies {
            copies.judge(&server, &scratch.join("again"))?;
            println!("mariadb-binlog: all files are equal");
        }
        self.replicas.into_iter().try_for_each(Replica::stop)?;
        server.stop().map(drop)
    }
}

fn launch(scratch: &Path) -> Result<Launch> {
    let launch = Launch::new(scratch.join("source")).port(free_port()?);
    // Files end in the middle of the load.
    Ok(launch.option("--binlog-row-metadata=FULL").option("--max-binlog-size=2000000"))
}

fn python(folder: PathBuf, server: &Server, first: &str) -> Result<Option<Program>> {
    let Some(library) = fetched("drivers/mysql-replication", "scripts/drivers.sh") else { return Ok(None) };
    let (library, port) = (library.display().to_string(), server.port().to_string());
    let environment = [("PYTHONPATH", library.as_str()), ("TZ", "UTC")];
    let script = format!("{FOLDER}/python_follower.py");
    let parts = vec![Kept::start(folder, &environment, &["python3", &script, &port, first, "."])?];
    // It takes the fraction of a negative TIME for that of a positive one, and an empty SET for NULL.
    Ok(Some(Program { unjudged: &["t3", "t6", "s"], ..Program::new("mysql-replication", parts) }))
}

fn zongji(folder: PathBuf, server: &Server, first: &str) -> Result<Option<Program>> {
    let Some(library) = fetched("drivers/zongji", "scripts/drivers.sh") else { return Ok(None) };
    // Modules are found from where the script is.
    std::fs::create_dir_all(&folder)?;
    std::fs::copy(format!("{FOLDER}/zongji_follower.mjs"), folder.join("follower.mjs"))?;
    std::os::unix::fs::symlink(library.join("node_modules"), folder.join("node_modules"))?;
    let port = server.port().to_string();
    let parts = vec![Kept::start(folder, &[("TZ", "UTC")], &["node", "follower.mjs", &port, first, "."])?];
    // A Date has milliseconds.
    Ok(Some(Program { unjudged: &["dt6", "ts6"], ..Program::new("zongji", parts) }))
}

fn connector(home: &Path, folder: PathBuf, server: &Server, first: &str) -> Result<Program> {
    let (port, path) = (server.port().to_string(), format!("{0}/classes:{0}/jars/*", home.display()));
    let parts =
        vec![Kept::start(folder, &[], &["java", "-Xmx1g", "-cp", &path, "ConnectorFollower", &port, first, "."])?];
    // It does not know the sign of a TIME, and takes a DATE before 1582 for one of Julius Caesar's calendar.
    Ok(Program { unjudged: &["t", "t3", "t6"], ..Program::new("mysql-binlog-connector-java", parts) })
}

fn canal(home: &Path, folder: PathBuf, server: &Server, first: &str) -> Result<Program> {
    server.connect()?.query_drop(
        "SET sql_log_bin = 0; CREATE USER canal@'%' IDENTIFIED WITH mysql_native_password BY 'a secret'; \
         GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO canal@'%'",
    )?;
    let (port, path) = (server.port().to_string(), format!("{0}/classes:{0}/jars/*", home.display()));
    let command = ["java", "-Xmx1g", "-Duser.timezone=UTC", "-cp", &path, "CanalFollower", &port, first, "."];
    let parts = vec![Kept::start(folder, &[], &command)?];
    // It takes every text for UTF-8.
    Ok(Program { unjudged: &["cl", "vl", "tl"], ..Program::new("canal", parts) })
}

/// Runs the load, kills followers and the server `kills` times each, and judges.
fn follow(
    scratch: &Path,
    launch: &Launch,
    transactions: usize,
    kills: usize,
    start: impl FnOnce(&Server) -> Result<Followers>,
    late: impl FnOnce(&Server, &mut Followers) -> Result<()>,
) -> Result<()> {
    let seed = seed();
    let mut rng = Rng::stream(seed, 1 << 40);
    let mut server = launch.start()?;
    let mut followers = start(&server)?;
    let load = Load::begin(server.options(), seed, 4)?;
    load.run(0, |wait| {
        wait(transactions / 10)?;
        // Debezium's snapshot reads tables by name, one after another: one that has another name by then ends it.
        load.without_definitions(|| {
            late(&server, &mut followers)?;
            followers.programs.iter().try_for_each(Program::wait_until_live)
        })
    })?;
    let part = transactions / (2 * kills);
    let mut targets = Vec::new();
    for round in 0..kills {
        if targets.is_empty() {
            targets = followers.targets();
        }
        let target = targets.swap_remove(rng.below(targets.len() as u64) as usize);
        followers.wait_until_gone_on(&target)?;
        load.run(1 + round as u64, |wait| {
            wait(part)?;
            followers.kill(target, &load, &server)?;
            wait(part)?;
            server.signal_kill()?;
            server.wait_until_dead()?;
            server = launch.start()?;
            wait(1)
        })?;
    }
    if long().is_some() {
        load.one(2, |session| {
            session.conn.query_drop("SET SESSION max_execution_time = 0")?;
            (0..LARGE_ROWS).try_for_each(|id| {
                session.insert("large", id, &format!("({id}, REPEAT(X'{:02x}', 1000000))", id % 256))
            })
        })?;
    }
    followers.judge(server, load, scratch)
}

#[test]
fn replicas_and_readers_have_what_was_done() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (folder, home) = (scratch.path(), fetched("peers/mysql-5.6.24", "scripts/peers.sh"));
    let start = |server: &Server| {
        let (first, _) = binlog_end(&mut server.connect()?)?;
        let mut followers = Followers::default();
        if wants("mysql-replication") {
            followers.programs.extend(python(folder.join("python"), server, &first)?);
        }
        match MariaDb::installed() {
            Some(_) if wants("MariaDB 10.11") => {
                followers.replicas.push(Replica::mariadb("MariaDB 10.11", None, &folder.join("10.11"), server)?);
            }
            Some(_) => {}
            None => println!("NOT RUN: mariadb-server is not installed"),
        }
        for (name, by) in [("MySQL 5.6 by position", By::Position), ("MySQL 5.6 by GTID", By::Gtid)] {
            if let Some(home) = home.as_ref().filter(|_| wants(name)) {
                followers.replicas.push(Replica::mysql(name, home, &folder.join(name), server, by)?);
            }
        }
        if long().is_some() {
            others(folder, server, &first, &mut followers)?;
        }
        Ok(followers)
    };
    let late = |server: &Server, followers: &mut Followers| match fetched("followers/debezium", "scripts/followers.sh")
    {
        // It begins with a snapshot while the load goes on.
        Some(home) if long().is_some() => {
            kafka::grant(server)?;
            if wants("Debezium's engine") {
                followers.programs.push(kafka::engine(&home, folder.join("engine"), server)?);
            }
            if wants("Kafka") {
                followers.programs.push(kafka::kafka(&home, &folder.join("kafka"), server)?);
            }
            Ok(())
        }
        _ => Ok(()),
    };
    let (transactions, kills) = long().map_or((300, 2), |transactions| (transactions, 12));
    follow(folder, &launch(folder)?, transactions, kills, start, late)
}

/// Those that only `make follow` has.
fn others(folder: &Path, server: &Server, first: &str, followers: &mut Followers) -> Result<()> {
    if wants("zongji") {
        followers.programs.extend(zongji(folder.join("zongji"), server, first)?);
    }
    let connector_home = || fetched("followers/connector", "scripts/followers.sh");
    if let Some(home) = wants("mysql-binlog-connector-java").then(connector_home).flatten() {
        followers.programs.push(connector(&home, folder.join("connector"), server, first)?);
    }
    let canal_home = || fetched("followers/canal", "scripts/followers.sh");
    if let Some(home) = wants("canal").then(canal_home).flatten() {
        followers.programs.push(canal(&home, folder.join("canal"), server, first)?);
    }
    let mariadb = || fetched("peers/mariadb-11.4.5", "scripts/peers.sh DIRECTORY mariadb-11.4.5");
    if let Some(home) = wants("MariaDB 11.4").then(mariadb).flatten() {
        followers.replicas.push(Replica::mariadb("MariaDB 11.4", Some(&home), &folder.join("11.4"), server)?);
    }
    Ok(())
}

#[test]
fn mariadb_binlog_has_the_files() -> Result<()> {
    if !wants("mariadb-binlog") {
        return Ok(());
    }
    let scratch = tempfile::tempdir()?;
    let start = |server: &Server| {
        let copies = vec![Copies::start(scratch.path().join("copies"), server)?];
        Ok(Followers { copies, ..Followers::default() })
    };
    // It does not read from a MySQL of 8.0.
    let launch = launch(scratch.path())?.option("--version=5.7.44");
    let (transactions, kills) = long().map_or((300, 2), |transactions| (transactions / 4, 12));
    follow(scratch.path(), &launch, transactions, kills, start, |_, _| Ok(()))
}
