//! Servers that replicate.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{MariaDb, Server, binlog_end};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use crate::load::Load;
use crate::shown::shown;

/// How a replica knows where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum By {
    Position,
    Gtid,
}

pub struct Replica {
    pub name: &'static str,
    server: MariaDb,
    by: By,
    source: u16,
    /// What CHANGE MASTER TO says besides a position.
    more: &'static str,
    /// It may have a transaction that comes again after it was killed: it is a MySQL, and knows them by their GTIDs.
    by_gtid_too: bool,
}

/// No character set: latin1 is the default, in which they connect again when their source has crashed.
const OPTIONS: [&str; 3] = ["--relay-log=relay", "--slave-net-timeout=10", "--replicate-ignore-table=follow.documents"];

impl Replica {
    /// MariaDB knows its place by a file that is written after each commit: killed in between, it takes a transaction
    /// again, which these options let it do.
    pub fn mariadb(name: &'static str, home: Option<&Path>, folder: &Path, source: &Server) -> Result<Replica> {
        let own = [
            // Readers of one source differ in it.
            if home.is_some() { "--server-id=78" } else { "--server-id=77" },
            "--slave-parallel-threads=4",
            "--slave-exec-mode=IDEMPOTENT",
            // Of definitions that are there, or gone, already.
            "--slave-skip-errors=1007,1008,1050,1051,1060,1061,1091,1146",
        ];
        let options = [&OPTIONS[..], &own].concat();
        let server = match home {
            Some(home) => MariaDb::start_unpacked_replica(home, folder, &options)?,
            None => MariaDb::start_replica(folder, &options)?,
        };
        let more = match home {
            // It wants TLS if nothing is said.
            Some(_) => "MASTER_USE_GTID=no, MASTER_SSL=0, MASTER_SSL_VERIFY_SERVER_CERT=0",
            None => "MASTER_USE_GTID=no",
        };
        Replica { name, server, by: By::Position, source: source.port(), more, by_gtid_too: false }.follow(source)
    }

    pub fn mysql(name: &'static str, home: &Path, folder: &Path, source: &Server, by: By) -> Result<Replica> {
        let id = if by == By::Position { "--server-id=56" } else { "--server-id=57" };
        // A column of JSON is a syntax error there.
        let options = [&OPTIONS[..], &[id, "--slave-skip-errors=1064"]].concat();
        let server = MariaDb::start_mysql_replica(home, folder, &options)?;
        let more = "MASTER_AUTO_POSITION=0";
        Replica { name, server, by, source: source.port(), more, by_gtid_too: true }.follow(source)
    }

    /// Begins at the end of a source.
    fn follow(mut self, source: &Server) -> Result<Replica> {
        self.server.restart()?;
        let place = self.place(binlog_end(&mut source.connect()?)?);
        self.server.follow(self.source, &place)?;
        Ok(self)
    }

    /// As `kill -9` does.
    pub fn kill_and_restart(&mut self, load: &Load, source: &Server) -> Result<()> {
        if self.by_gtid_too {
            return self.kill_mysql_and_restart(load, source);
        }
        self.server.kill_and_restart()?;
        Ok(self.server.connect()?.query_drop("START SLAVE")?)
    }

    /// While it changes rows only: killed in a definition, MySQL 5.6 has done it without a trace, or has lost the table of a
    /// TRUNCATE (WL#6501, WL#9536). What its parallel workers have left undone comes again: from its GTIDs, or from the place
    /// before which nothing is missing.
    fn kill_mysql_and_restart(&mut self, load: &Load, source: &Server) -> Result<()> {
        let held = load.hold_definitions();
        let (file, position) = binlog_end(&mut source.connect()?)?;
        ensure!(
            self.server.comes_to((&file, position), 900)?,
            "{} does not come to {file}, {position}: {}",
            self.name,
            self.status()?
        );
        self.server.kill_and_restart()?;
        drop(held);
        let mut conn = self.server.connect()?;
        let row: Row = conn.query_first("SHOW SLAVE STATUS")?.context("no replica")?;
        let file: String = row.get("Relay_Master_Log_File").context("a file")?;
        let place = self.place((file, row.get("Exec_Master_Log_Pos").context("a position")?));
        conn.query_drop("STOP SLAVE; RESET SLAVE")?;
        self.server.follow(self.source, &place)
    }

    /// What CHANGE MASTER TO says of a place of its source.
    fn place(&self, (file, position): (String, u64)) -> String {
        match self.by {
            By::Gtid => "MASTER_AUTO_POSITION=1".to_owned(),
            By::Position => format!("MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}, {}", self.more),
        }
    }

    fn status(&self) -> Result<String> {
        let row: Row = self.server.connect()?.query_first("SHOW SLAVE STATUS")?.context("no replica")?;
        let wanted = [
            "Slave_IO_Running",
            "Slave_SQL_Running",
            "Master_Log_File",
            "Exec_Master_Log_Pos",
            "Last_Error",
            "Last_IO_Error",
        ];
        let cell = |name: &&str| format!("{name}: {:?}", row.get::<Option<String>, _>(*name).flatten());
        Ok(wanted.iter().map(cell).collect::<Vec<_>>().join(", "))
    }

    /// Waits until it has everything of its source, and compares all tables.
    pub fn judge(&self, source: &Server) -> Result<()> {
        let last = |conn: &mut Conn| conn.query_first::<u64, _>("SELECT MAX(token) FROM follow.begun");
        let wanted = last(&mut source.connect()?)?;
        let (deadline, mut conn) = (Instant::now() + Duration::from_secs(900), self.server.connect()?);
        while !last(&mut conn).is_ok_and(|there| there == wanted) {
            ensure!(Instant::now() < deadline, "{} does not come to the end: {}", self.name, self.status()?);
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut ours = source.connect()?;
        let tables: Vec<String> = ours.query("SHOW TABLES FROM follow")?;
        let theirs: Vec<String> = conn.query("SHOW TABLES FROM follow")?;
        let judged: Vec<&String> = tables.iter().filter(|table| *table != "documents").collect();
        ensure!(
            judged == theirs.iter().filter(|table| *table != "documents").collect::<Vec<_>>(),
            "{tables:?}, {theirs:?}"
        );
        for table in judged {
            let (here, there) = (rows(&mut ours, table)?, rows(&mut conn, table)?);
            let differ = here.iter().zip(&there).find(|(here, there)| here != there);
            ensure!(
                here == there,
                "{}: {table}: {} rows here, {} there, {differ:?}",
                self.name,
                here.len(),
                there.len()
            );
        }
        Ok(())
    }

    pub fn stop(self) -> Result<()> {
        self.server.stop()
    }
}

fn rows(conn: &mut Conn, table: &str) -> Result<Vec<String>> {
    conn.query_drop("SET time_zone = '+00:00', NAMES utf8mb4")?;
    let columns = if table == "large" { "id, LENGTH(b), CRC32(b)" } else { "*" };
    conn.query_iter(format!("SELECT {columns} FROM follow.{table} ORDER BY 1"))?.map(|row| shown(&row?)).collect()
}
