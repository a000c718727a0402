//! The servers that run against each other.

use std::path::{Path, PathBuf};

use anyhow::Result;
use cohort_blackbox::{Launch, MariaDb, Server, SystemTables, Usage};
use mysql::Conn;
use mysql::prelude::Queryable;
use serde::{Deserialize, Serialize};

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Name {
    Cohort,
    /// MariaDB of the system's packages.
    MariaDb,
}

impl Name {
    /// As people write it.
    pub fn title(self) -> &'static str {
        match self {
            Name::Cohort => "Cohort",
            Name::MariaDb => "MariaDB",
        }
    }
}

/// How a server is started.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Options of our server besides those of full durability.
    pub cohort_options: &'a [String],
    /// Where strace writes what the server asks of the kernel, if it is to be traced.
    pub trace: Option<&'a Path>,
    /// Whether MariaDB gets its system tables, which take some seconds.
    pub system_tables: SystemTables,
}

/// A running server of either kind, durable at every commit.
#[derive(Debug)]
pub enum Contender {
    Cohort(Server),
    /// MariaDB of the system's packages.
    MariaDb(MariaDb),
}

impl Contender {
    /// Starts a server on a new data directory under `folder`.
    pub fn start(name: Name, folder: &Path, start: &Start<'_>) -> Result<Contender> {
        match name {
            Name::Cohort => {
                let mut launch = Launch::new(folder.join("cohort"));
                launch = launch.option("--sync-binlog=1").option("--innodb-flush-log-at-trx-commit=1");
                launch = start.cohort_options.iter().fold(launch, |launch, option| launch.option(option));
                if let Some(file) = start.trace {
                    launch = launch.traced(file);
                }
                Ok(Contender::Cohort(launch.start()?))
            }
            Name::MariaDb => {
                let folder = folder.join("mariadb");
                let options = MariaDb::full_durability(&folder);
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                Ok(Contender::MariaDb(MariaDb::start(&folder, start.system_tables, &options, start.trace)?))
            }
        }
    }

    /// Which server this is.
    pub fn name(&self) -> Name {
        match self {
            Contender::Cohort(_) => Name::Cohort,
            Contender::MariaDb(_) => Name::MariaDb,
        }
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        match self {
            Contender::Cohort(server) => server.socket(),
            Contender::MariaDb(server) => server.socket().to_owned(),
        }
    }

    /// The TCP port it listens on, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        match self {
            Contender::Cohort(server) => server.port(),
            Contender::MariaDb(server) => server.port(),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        match self {
            Contender::Cohort(server) => server.pid(),
            Contender::MariaDb(server) => server.pid(),
        }
    }

    /// CPU time and memory it has used.
    pub fn usage(&self) -> Result<Usage> {
        match self {
            Contender::Cohort(server) => server.usage(),
            Contender::MariaDb(server) => server.usage(),
        }
    }

    /// A connection of `root`.
    pub fn connect(&self) -> Result<Conn> {
        match self {
            Contender::Cohort(server) => server.connect(),
            Contender::MariaDb(server) => server.connect(),
        }
    }

    /// What it answers to `SELECT VERSION()`.
    pub fn version(&self) -> Result<String> {
        Ok(self.connect()?.query_first("SELECT VERSION()")?.unwrap_or_default())
    }

    /// Creates an empty database, in place of an older one.
    pub fn new_database(&self, name: &str) -> Result<()> {
        let mut conn = self.connect()?;
        conn.query_drop(format!("DROP DATABASE IF EXISTS `{name}`"))?;
        conn.query_drop(format!("CREATE DATABASE `{name}`"))?;
        Ok(())
    }

    /// Ends it and waits until it is gone.
    pub fn stop(self) -> Result<()> {
        match self {
            Contender::Cohort(server) => server.stop().map(drop),
            Contender::MariaDb(server) => server.stop(),
        }
    }
}
