//! A private MariaDB from the system's packages: the peer to be measured against, and the empty
//! server that a binlog is applied to. Servers of its family in other versions start the same way.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};
use rustix::process::Signal;

use crate::process::{Process, Usage, free_port};
use crate::strace;
use crate::tool::tool;

const START_PATIENCE: Duration = Duration::from_secs(240);

/// A running mariadbd of its own data directory, port and socket, reading no configuration file.
#[derive(Debug)]
pub struct MariaDb {
    process: Process,
    command: Command,
    log: PathBuf,
    port: u16,
    socket: PathBuf,
}

/// Whether a server gets the tables of its own schema, which take some seconds to install.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemTables {
    /// As on a real installation, with table statistics: for measurements.
    Installed,
    /// None: enough to take and give rows.
    Absent,
}

impl MariaDb {
    /// Where Debian puts the server, if it is installed.
    pub fn installed() -> Option<PathBuf> {
        let places = ["/usr/sbin/mariadbd", "/usr/bin/mariadbd", "/usr/sbin/mysqld"];
        places.iter().map(PathBuf::from).find(|path| path.is_file())
    }

    /// Creates a data directory under `folder` and starts a server on it with these `options`
    /// besides its own; anyone may connect as root. With `trace` it runs under strace.
    pub fn start(folder: &Path, tables: SystemTables, options: &[&str], trace: Option<&Path>) -> Result<MariaDb> {
        let binary = MariaDb::installed().context("mariadb-server is not installed")?;
        let datadir = folder.join("data");
        std::fs::create_dir_all(&datadir)?;
        if tables == SystemTables::Installed {
            let datadir = format!("--datadir={}", datadir.display());
            tool("mariadb-install-db", ["--no-defaults", "--user=root", datadir.as_str()])?.success()?;
        }
        MariaDb::launch(traced(&binary, trace), folder, options)
    }

    /// As [`MariaDb::start`], and ready to be the replica of another server.
    pub fn start_replica(folder: &Path, options: &[&str]) -> Result<MariaDb> {
        MariaDb::start(folder, SystemTables::Absent, options, None)?.ready_to_follow()
    }

    /// As [`MariaDb::start_unpacked`] with a MariaDB, and ready to be the replica of another server.
    pub fn start_unpacked_replica(home: &Path, folder: &Path, options: &[&str]) -> Result<MariaDb> {
        MariaDb::start_unpacked(home, folder, options, None)?.ready_to_follow()
    }

    fn ready_to_follow(self) -> Result<MariaDb> {
        // The one table of its own schema that it needs for this.
        self.connect()?.query_drop(
            "CREATE DATABASE IF NOT EXISTS mysql; CREATE TABLE mysql.gtid_slave_pos (domain_id INT UNSIGNED NOT NULL, \
             sub_id BIGINT UNSIGNED NOT NULL, server_id INT UNSIGNED NOT NULL, seq_no BIGINT UNSIGNED NOT NULL, \
             PRIMARY KEY (domain_id, sub_id)) ENGINE=InnoDB",
        )?;
        Ok(self)
    }

    /// As [`MariaDb::start_unpacked`] with a MySQL 5.6 that has a binlog and GTIDs of its own, and ready to be the replica of
    /// another server, with parallel workers. It does not follow by itself when it is started.
    pub fn start_mysql_replica(home: &Path, folder: &Path, options: &[&str]) -> Result<MariaDb> {
        let own = [
            "--slave-parallel-workers=4",
            "--skip-slave-start",
            "--relay-log=relay",
            "--log-bin=binlog",
            "--log-slave-updates",
            "--binlog-format=ROW",
            "--gtid-mode=ON",
            "--enforce-gtid-consistency",
        ];
        let server = MariaDb::start_unpacked(home, folder, &[&own[..], options].concat(), None)?;
        // The package's own tables of replication are of another engine's files.
        let text = "TEXT CHARACTER SET utf8 COLLATE utf8_bin NOT NULL";
        server.connect()?.query_drop(format!(
            "SET sql_log_bin = 0; CREATE TABLE mysql.slave_worker_info (Id INT UNSIGNED NOT NULL PRIMARY KEY, \
             Relay_log_name {text}, Relay_log_pos BIGINT UNSIGNED NOT NULL, Master_log_name {text}, \
             Master_log_pos BIGINT UNSIGNED NOT NULL, Checkpoint_relay_log_name {text}, \
             Checkpoint_relay_log_pos BIGINT UNSIGNED NOT NULL, Checkpoint_master_log_name {text}, \
             Checkpoint_master_log_pos BIGINT UNSIGNED NOT NULL, Checkpoint_seqno INT UNSIGNED NOT NULL, \
             Checkpoint_group_size INT UNSIGNED NOT NULL, Checkpoint_group_bitmap BLOB NOT NULL)"
        ))?;
        Ok(server)
    }

    /// Waits until it has applied what its source has before a place of its binlog; whether it came there within so many
    /// seconds.
    pub fn comes_to(&self, (file, position): (&str, u64), seconds: u32) -> Result<bool> {
        let wait = format!("SELECT MASTER_POS_WAIT('{file}', {position}, {seconds})");
        let waited: Option<i64> = self.connect()?.query_first(wait)?.flatten();
        Ok(waited.is_some_and(|events| events >= 0))
    }

    /// Replicates from root at `port` of 127.0.0.1, beginning where these further parts of CHANGE MASTER TO say.
    pub fn follow(&self, port: u16, place: &str) -> Result<()> {
        let mut conn = self.connect()?;
        conn.query_drop(format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='root', MASTER_CONNECT_RETRY=1, \
             {place}"
        ))?;
        Ok(conn.query_drop("START SLAVE")?)
    }

    /// Starts a server of another version, as `scripts/peers.sh` unpacks them into `home`, on a copy of
    /// the empty data directory that came with it. Otherwise as [`MariaDb::start`].
    pub fn start_unpacked(home: &Path, folder: &Path, options: &[&str], trace: Option<&Path>) -> Result<MariaDb> {
        std::fs::create_dir_all(folder)?;
        let copy = [Path::new("-r"), &home.join("seed"), &folder.join("data")];
        tool("cp", copy)?.success()?;
        let mut command = traced(&home.join("mysqld"), trace);
        // Libraries that the archive brought along.
        command.env("LD_LIBRARY_PATH", home);
        let own = [
            format!("--basedir={}", home.display()),
            format!("--lc-messages-dir={}", home.join("share").display()),
            format!("--log-error={}", folder.join("log").display()),
        ];
        let options: Vec<&str> = own.iter().map(String::as_str).chain(options.iter().copied()).collect();
        MariaDb::launch(command, folder, &options)
    }

    fn launch(mut command: Command, folder: &Path, options: &[&str]) -> Result<MariaDb> {
        let (port, socket) = (free_port()?, folder.join("s.sock"));
        command.args(["--no-defaults", "--user=root", "--skip-grant-tables", "--bind-address=127.0.0.1"]);
        command.arg(format!("--datadir={}", folder.join("data").display()));
        command.arg(format!("--tmpdir={}", folder.display()));
        command.arg(format!("--port={port}"));
        command.arg(format!("--socket={}", socket.display()));
        command.arg(format!("--pid-file={}", folder.join("pid").display()));
        command.args(options);
        let log = folder.join("log");
        let process = Process::start("mysqld", &mut command, &log, None)?;
        let mut server = MariaDb { process, command, log, port, socket };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let opts = self.options();
        self.process.wait_until(START_PATIENCE, || {
            Conn::new(opts.clone())?.query_drop("SELECT 1")?;
            Ok(())
        })
    }

    /// Ends the process with SIGKILL and starts it again on its data directory and port. A new data directory is not
    /// ready for this before its first clean stop.
    pub fn kill_and_restart(&mut self) -> Result<()> {
        self.end_and_restart(Signal::KILL)
    }

    /// Ends the process with SIGTERM and starts it again on its data directory and port.
    pub fn restart(&mut self) -> Result<()> {
        self.end_and_restart(Signal::TERM)
    }

    fn end_and_restart(&mut self, signal: Signal) -> Result<()> {
        self.process.signal(signal)?;
        self.process.wait(Duration::from_secs(60))?;
        self.process = Process::start("mysqld", &mut self.command, &self.log, None)?;
        self.wait_until_ready()
    }

    /// The options of a server that must lose nothing: one sync of each log per commit group, row
    /// events, memory enough for the benchmark's tables, and the character set that Debian's configuration gives it.
    pub fn full_durability(folder: &Path) -> Vec<String> {
        let mut options: Vec<String> = [
            "--binlog-format=ROW",
            "--sync-binlog=1",
            "--server-id=1",
            "--innodb-flush-log-at-trx-commit=1",
            "--character-set-server=utf8mb4",
            "--innodb-buffer-pool-size=2G",
            "--innodb-log-file-size=512M",
            "--innodb-flush-method=O_DIRECT",
            "--max-connections=1024",
            "--table-open-cache=1024",
        ]
        .map(String::from)
        .to_vec();
        options.push(format!("--log-bin={}", folder.join("data/binlog").display()));
        options
    }

    /// The TCP port it listens on, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The Unix socket it listens on.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// CPU time and memory it has used.
    pub fn usage(&self) -> Result<Usage> {
        self.process.usage()
    }

    /// Connection options of `root` over TCP.
    pub fn options(&self) -> Opts {
        OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port)
            .prefer_socket(false)
            .user(Some("root"))
            .into()
    }

    /// A connection of `root`.
    pub fn connect(&self) -> Result<Conn> {
        Ok(Conn::new(self.options())?)
    }

    /// Ends the process with SIGTERM and waits for it.
    pub fn stop(mut self) -> Result<()> {
        self.process.signal(Signal::TERM)?;
        self.process.wait(Duration::from_secs(60))?;
        Ok(())
    }
}

/// A command that runs `binary`, traced if there is a file for it.
fn traced(binary: &Path, trace: Option<&Path>) -> Command {
    match trace {
        Some(file) => strace::traced(binary, file),
        None => Command::new(binary),
    }
}
