//! Statistics: when tables are looked at, and what outlives the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Database;
use crate::catalog::table::Table;
use crate::error::{ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::failure::read_failed;
use crate::statistics::collect::{CollectError, collect};
use crate::statistics::stored;

impl Database {
    /// Looks at every table that has changed enough since it was last looked at, and says how many those are. It asks
    /// now and then whether to go on. For a thread that gives way to others.
    pub fn collect_statistics(&self, goes_on: &dyn Fn() -> bool) -> usize {
        let now = now_s();
        let due: Vec<Arc<Table>> =
            self.catalog.current().tables().filter(|table| table.counters.statistics.is_due(now)).cloned().collect();
        let mut looked_at = 0;
        for table in due {
            if !goes_on() {
                break;
            }
            // A table that cannot be read now is looked at the next time.
            let still = || goes_on() && table.is_current();
            looked_at += usize::from(self.analyze(&table, false, &still).is_ok());
        }
        looked_at
    }

    /// Looks at one table; with `counts`, its rows are counted anew.
    pub(crate) fn analyze(&self, table: &Table, counts: bool, goes_on: &dyn Fn() -> bool) -> Result<(), SqlError> {
        let statistics = &table.counters.statistics;
        let rows = statistics.rows().filter(|_| !counts);
        statistics.collect(|| collect(table, &self.store, rows, now_s(), goes_on)).map_err(|error| match error {
            CollectError::Read(error) => read_failed(error),
            CollectError::Stopped => SqlError::new(ER_QUERY_INTERRUPTED, &[]),
        })
    }

    /// The statistics of all tables, to be kept for the next start.
    pub fn statistics_to_keep(&self) -> Vec<u8> {
        let catalog = self.catalog.current();
        let known = catalog.tables().map(|table| (table.def.id, table.counters.statistics.now()));
        let known: BTreeMap<_, _> = known.filter(|(_, collected)| collected.rows.is_some()).collect();
        stored::to_bytes(known)
    }

    /// Takes statistics that were kept. What is damaged, or of tables that are gone, counts for nothing: false if it is
    /// damaged.
    pub fn restore_statistics(&self, kept: &[u8]) -> bool {
        let Some(mut kept) = stored::from_bytes(kept) else { return false };
        for table in self.catalog.current().tables() {
            if let Some(collected) = kept.remove(&table.def.id) {
                table.counters.statistics.restore(collected);
            }
        }
        true
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
