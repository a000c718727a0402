//! What a server says about itself: syncs of each log, and the locks of its commit path.

use std::collections::HashMap;

use anyhow::{Context, Result};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use crate::history::result::{LockUse, Syncs};

/// Reads the counters of syncs, ours and InnoDB's; MySQL and MariaDB do not count those of the binlog.
pub fn syncs(conn: &mut Conn) -> Result<Syncs> {
    let rows: Vec<(String, String)> = conn.query("SHOW GLOBAL STATUS")?;
    Ok(syncs_of(&rows.into_iter().collect()))
}

fn syncs_of(status: &HashMap<String, String>) -> Syncs {
    let of = |name: &str| status.get(name)?.parse::<u64>().ok();
    let engines = ["RocksDB_log_syncs", "redb_log_syncs", "Innodb_os_log_fsyncs"];
    let engines: Vec<u64> = engines.iter().filter_map(|name| of(name)).collect();
    Syncs {
        // An engine that the journal makes durable has no log.
        engine: (!engines.is_empty()).then(|| engines.iter().sum()),
        binlog: of("Binlog_file_syncs"),
        coordinator: of("Coordinator_log_syncs"),
        journal: of("Journal_syncs"),
    }
}

/// Reads the profile of the commit path's locks, those that were waited for longest first; empty if the server
/// refuses to report.
pub fn locks(conn: &mut Conn) -> Result<Vec<LockUse>> {
    let rows: Vec<Row> = match conn.query("SHOW ENGINE COMMIT MUTEX") {
        Err(mysql::Error::MySqlError(_)) => Vec::new(),
        answer => answer?,
    };
    rows.iter().map(|row| lock(row).context("SHOW ENGINE COMMIT MUTEX lacks a column")).collect()
}

fn lock(row: &Row) -> Option<LockUse> {
    let number = |name: &str| row.get::<u64, _>(name);
    Some(LockUse {
        lock: row.get("LOCK_NAME")?,
        caller: row.get("CALLER")?,
        count: number("COUNT")?,
        waits: number("WAITS")?,
        wait_ns: number("WAIT_SUM_NS")?,
        wait_max_ns: number("WAIT_MAX_NS")?,
        hold_ns: number("HOLD_SUM_NS")?,
        hold_max_ns: number("HOLD_MAX_NS")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_of_either_engine_counts() {
        let status = [("RocksDB_log_syncs", "7"), ("redb_log_syncs", "2"), ("Binlog_file_syncs", "1")];
        let status = status.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
        assert_eq!(syncs_of(&status), Syncs { engine: Some(9), binlog: Some(1), ..Syncs::default() });
    }

    #[test]
    fn what_a_server_does_not_count_is_unknown() {
        let status = [("Innodb_os_log_fsyncs", "7"), ("Uptime", "3")];
        let status = status.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
        let syncs = syncs_of(&status);
        assert_eq!(syncs, Syncs { engine: Some(7), ..Syncs::default() });
        assert_eq!(syncs.of_commits(), Some(7));
        assert_eq!(Syncs::default().of_commits(), None);
    }
}
