//! Statistics: when tables are looked at, and what outlives the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cohort_txn::Transaction;

use super::Database;
use crate::catalog::table::Table;
use crate::error::{ER_QUERY_INTERRUPTED, SqlError};
use crate::exec::failure::read_failed;
use crate::statistics::collect::{CollectError, collect};
use crate::statistics::histogram::Histogram;
use crate::statistics::sample::sample;
use crate::statistics::stored::Kept;

impl Database {
    /// Looks at every table that has changed enough since it was last looked at. Says of how many tables there is something
    /// new to keep: of those, and of those whose histograms have changed. It asks now and then whether to go on. For a thread
    /// that gives way to others.
    pub fn collect_statistics(&self, goes_on: &dyn Fn() -> bool) -> usize {
        let now = now_s();
        let catalog = self.catalog.current();
        let due: Vec<Arc<Table>> =
            catalog.tables().filter(|table| table.counters.statistics.is_due(now)).cloned().collect();
        let mut new = catalog.tables().filter(|table| table.counters.statistics.has_unkept()).count();
        drop(catalog);
        for table in due {
            if !goes_on() {
                break;
            }
            // A table that cannot be read now is looked at the next time.
            let still = || goes_on() && table.is_current();
            new += usize::from(self.analyze(&table, false, &still).is_ok());
        }
        new
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

    /// A histogram of a column, with at most so many buckets, from what `transaction` reads. `goes_on` is told how many bytes
    /// more are kept meanwhile; its error ends the work.
    pub(crate) fn histogram(
        &self,
        table: &Table,
        column: usize,
        buckets: u16,
        transaction: &mut Transaction,
        goes_on: &dyn Fn(usize) -> Result<(), SqlError>,
    ) -> Result<Histogram, SqlError> {
        let statistics = &table.counters.statistics;
        if statistics.rows().is_none() {
            self.analyze(table, true, &|| goes_on(0).is_ok())?;
        }
        let sample = sample(table, column, statistics.rows().unwrap_or_default(), transaction, goes_on)?;
        Ok(Histogram::of(table.def.columns[column].column_type.clone(), sample, buckets, now_us()))
    }

    /// The statistics of all tables, to be kept for the next start.
    pub fn statistics_to_keep(&self) -> Vec<u8> {
        let catalog = self.catalog.current();
        let known = catalog.tables().map(|table| (table.def.id, table.counters.statistics.now()));
        let known: BTreeMap<_, _> = known.filter(|(_, collected)| collected.rows.is_some()).collect();
        let histograms = catalog.tables().map(|table| (table.def.id, table.counters.statistics.histograms_to_keep()));
        let histograms = histograms.filter(|(_, of_table)| !of_table.is_empty());
        Kept::of(known, histograms.map(|(id, of_table)| (id, (*of_table).clone())).collect()).to_bytes()
    }

    /// Takes statistics that were kept. What is damaged, or of tables and columns that are gone, counts for nothing: false
    /// if it is damaged.
    pub fn restore_statistics(&self, kept: &[u8]) -> bool {
        let Some(mut kept) = Kept::from_bytes(kept) else { return false };
        for table in self.catalog.current().tables() {
            if let Some(collected) = kept.tables.remove(&table.def.id) {
                table.counters.statistics.restore(collected);
            }
            if let Some(mut histograms) = kept.histograms.remove(&table.def.id) {
                histograms.retain(|name, histogram| {
                    let mut columns = table.def.columns.iter();
                    columns.any(|column| column.name == *name && histogram.is_of(&column.column_type))
                });
                table.counters.statistics.restore_histograms(histograms);
            }
        }
        true
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn now_s() -> u64 {
    since_1970().as_secs()
}

fn now_us() -> i64 {
    i64::try_from(since_1970().as_micros()).unwrap_or(i64::MAX)
}
